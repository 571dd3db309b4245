// The trust of `zfc bench`: a device that decodes wrongly, or not at all, is caught in whatever round and copy it does so; and
// its figures are those of the device's clock. The device here is the CPU's with faults and with a clock that returns given
// times.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/measure.h"
#include "runtime/device/accelerator.h"
#include "tests/support/emulated.h"
#include "tests/unit/check.h"

enum { ROWS = 1060000, BLOCK = 110 * 4096, COPIES = 3, REPEATS = 6, PIECE = 4 << 20 }; // a copy is compared in two pieces

static uint32_t values[ROWS];
static char file[128];

typedef enum fault { NONE, FLIP, FLIPS, NOTHING, FAIL, CLOCK } fault;

/// The device's task, and its progress.
static struct {
    void *cpu;
    const zf_measure_work *work;
    fault fault;
    unsigned fault_round, round, clock;
    int running; ///< clocks that were started and not stopped
    uint64_t at; ///< byte of the last copy
} fake;

static zf_status open_fake(zf_context *context, const zf_device *device, unsigned threads, void **self, zf_error *error) {
    fake.round = fake.clock = 0;
    *self = &fake;
    return zf_measure_device_cpu.open(context, device, threads, &fake.cpu, error);
}

static void close_fake(void *self) {
    (void)self;
    zf_measure_device_cpu.close(fake.cpu);
}

static zf_status prepare_fake(void *self, const zf_measure_work *work, void **prepared, uint64_t *kernels, zf_error *error) {
    (void)self;
    fake.work = work;
    return zf_measure_device_cpu.prepare(fake.cpu, work, prepared, kernels, error);
}

static zf_status decode_fake(void *self, void *prepared, zf_error *error) {
    (void)self;
    bool now = fake.round++ == fake.fault_round;
    if (fake.fault == NOTHING && now) return ZF_OK;
    if (fake.fault == FAIL && now) return zf_fail(error, ZF_ERR_DEVICE, "ZF1105", "it fails");
    ZF_TRY(zf_measure_device_cpu.decode(fake.cpu, prepared, error));
    const zf_measure_work *w = fake.work;
    bool flips = fake.fault == FLIPS && now;
    if (flips || (fake.fault == FLIP && now)) w->out[(w->copies - 1) * w->plain_stride + fake.at] ^= 0x10;
    if (flips) w->out[w->plain_stride + fake.at] ^= 0x10;
    if (flips) w->out[w->plain_stride + sizeof values - 1] ^= 0x10;
    return ZF_OK;
}

static void finish_fake(void *self, void *prepared) {
    (void)self;
    zf_measure_device_cpu.finish(fake.cpu, prepared);
}

/// Copy and decode in turn, then the kernel alone; the first of each is the warm-up.
static const double times[3 * (REPEATS + 1)] = {100, 900, 5, 30, 1, 80, 6, 20, 2, 10, 9, 70, 4, 60, 700, 13, 18, 11, 16, 12, 19};

static zf_status start_fake(void *self, zf_measure_clock *clock, zf_error *error) {
    (void)self;
    fake.running++;
    return zf_measure_device_cpu.start(fake.cpu, clock, error);
}

static zf_status stop_fake(void *self, zf_measure_clock *clock, double *seconds, zf_error *error) {
    (void)self, (void)clock;
    fake.running--;
    if (fake.fault == CLOCK && fake.clock / 2 == fake.fault_round) return zf_fail(error, ZF_ERR_DEVICE, "ZF1104", "it stopped");
    *seconds = times[fake.clock++];
    return ZF_OK;
}

static zf_status decode_kernels_fake(void *self, void *prepared, uint32_t count, double *seconds, zf_error *error) {
    CHECK(count == 1, "%u kernels, of one", count);
    *seconds = times[fake.clock++];
    return decode_fake(self, prepared, error);
}

static void write_file(void) {
    char directory[] = "/tmp/zfc-test-bench-XXXXXX", source[128];
    CHECK(mkdtemp(directory) != NULL, "no directory");
    snprintf(source, sizeof source, "%s/t.zf", directory);
    snprintf(file, sizeof file, "%s/t.zfd", directory);
    FILE *f = fopen(source, "w");
    fputs("table t { a: u32 = bitpack; }\n", f);
    fclose(f);
    for (uint32_t k = 0; k < ROWS; k++) values[k] = k * 2654435761u >> 19;
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_load(compiler, source, &program, &error) == ZF_OK, "%s", error.message);
    zf_encode_column column = {.name = "a", .values = values};
    zf_encode_options encode = {.rows_per_block = BLOCK};
    CHECK(zf_encode(program, NULL, &column, 1, ROWS, &encode, file, NULL, &error) == ZF_OK, "%s", error.message);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    remove(source);
}

static bool apart;         ///< kernels are timed alone, too
static unsigned comparers; ///< threads that compare

static zf_status measure(fault what, unsigned round, uint64_t at, const zf_measure_plain *plain, zf_measure_result *result,
                         zf_error *error) {
    zf_measure_device device = zf_measure_device_cpu;
    device.open = open_fake;
    device.close = close_fake;
    device.prepare = prepare_fake;
    device.decode = decode_fake;
    device.finish = finish_fake;
    device.decode_kernels = decode_kernels_fake;
    device.start = start_fake;
    device.stop = stop_fake;
    device.comparers = comparers;
    fake.fault = what;
    fake.fault_round = round;
    fake.at = at;
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_container *container = NULL;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, error) == ZF_OK, "%s", error->message);
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &compile, &compiler, error) == ZF_OK, "%s", error->message);
    CHECK(zf_container_open(context, file, &container, error) == ZF_OK, "%s", error->message);
    zf_measure_options options = {.context = context, .device = &device, .bytes = COPIES * sizeof values - 1, .repeats = REPEATS};
    CHECK(zf_device_find(context, "cpu", &options.chosen, error) == ZF_OK, "%s", error->message);
    options.threads = 2;
    options.unfused = apart;
    zf_status status = zf_measure_column(container, 0, &options, plain, result, error);
    CHECK(fake.running == 0, "%d clocks are left", fake.running);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return status;
}

static void test_figures(const zf_measure_plain *plain) {
    zf_error error = {0};
    zf_measure_result r;
    CHECK(measure(NONE, 0, 0, plain, &r, &error) == ZF_OK, "%s", error.message);
    CHECK(r.copy.median == 4.5 && r.copy.least == 1 && r.copy.most == 9, "%f %f %f", r.copy.median, r.copy.least, r.copy.most);
    CHECK(r.decode.median == 45 && r.decode.least == 10 && r.decode.most == 80, "%f", r.decode.median);
    CHECK(r.copies == COPIES && r.blocks == 3 && r.kernels == 1, "%d copies", (int)r.copies);
    CHECK(r.plain_bytes == COPIES * sizeof values, "%d", (int)r.plain_bytes);
    // Blocks of values of 13 bits, in words of 32.
    CHECK(r.timed_kernels == 0, "%u kernels are timed alone", r.timed_kernels);
    uint64_t last = ((ROWS - 2 * BLOCK) * UINT64_C(13) + 31) / 32 * 4;
    CHECK(r.read_bytes == COPIES * (2 * (BLOCK / 32 * UINT64_C(52)) + last), "%d", (int)r.read_bytes);
}

static void test_faults(const zf_measure_plain *plain) {
    zf_error error;
    zf_measure_result r;
    const uint64_t places[] = {0, 16383, PIECE - 1, PIECE, sizeof values - 1};
    for (unsigned round = 0; round <= REPEATS; round++) {
        for (size_t k = 0; k < 5; k++) {
            comparers = round % 2 == 0 ? 8 : 1;
            CHECK(measure(FLIP, round, places[k], plain, &r, &error) == ZF_ERR_INTERNAL, "round %u is not compared", round);
            char byte[32];
            snprintf(byte, sizeof byte, "byte %d is", (int)places[k]);
            CHECK(strcmp(error.code, "ZF2019") == 0 && strstr(error.message, byte) != NULL, "%s", error.message);
            CHECK(strstr(error.place, "copy 3 of 3") != NULL, "%s", error.place);
        }
        comparers = 8; // of several differences the first is told
        CHECK(measure(FLIPS, round, PIECE - 1, plain, &r, &error) == ZF_ERR_INTERNAL, "round %u is not compared", round);
        CHECK(strstr(error.message, "byte 4194303 is") != NULL && strstr(error.place, "copy 2 of 3") != NULL, "%s",
              error.message);
        // Bytes that the copy before it left there must not pass for decoded.
        CHECK(measure(NOTHING, round, 0, plain, &r, &error) == ZF_ERR_INTERNAL, "round %u decodes nothing", round);
        CHECK(strcmp(error.code, "ZF2019") == 0, "%s", error.message);
        CHECK(measure(FAIL, round, 0, plain, &r, &error) == ZF_ERR_DEVICE, "round %u", round);
        CHECK(strcmp(error.code, "ZF1105") == 0, "%s", error.code);
        CHECK(measure(CLOCK, round, 0, plain, &r, &error) == ZF_ERR_DEVICE, "round %u", round);
    }
    zf_measure_plain shorter = {plain->values, plain->bytes - 4, "a test"};
    CHECK(measure(NONE, 0, 0, &shorter, &r, &error) == ZF_ERR_INTERNAL && strcmp(error.code, "ZF2019") == 0, "%s", error.message);
}

static void test_kernels(const zf_measure_plain *plain) {
    zf_error error = {0};
    zf_measure_result r;
    apart = true;
    CHECK(measure(NONE, 0, 0, plain, &r, &error) == ZF_OK, "%s", error.message);
    CHECK(r.timed_kernels == 1 && r.decode.median == 45, "%u kernels", r.timed_kernels);
    CHECK(r.kernel_times[0].median == 14.5 && r.kernel_times[0].least == 11 && r.kernel_times[0].most == 19, "%f %f %f",
          r.kernel_times[0].median, r.kernel_times[0].least, r.kernel_times[0].most);
    for (unsigned round = REPEATS + 1; round < 2 * (REPEATS + 1); round++) {
        CHECK(measure(FLIP, round, 7, plain, &r, &error) == ZF_ERR_INTERNAL, "round %u is not compared", round);
        CHECK(measure(NOTHING, round, 0, plain, &r, &error) == ZF_ERR_INTERNAL, "round %u decodes nothing", round);
    }
    apart = false;
}

// ---- The clock of an accelerator ----

static zf_accelerator_ops failing; ///< the emulator's, of which something fails
static const zf_accelerator_ops *own;
static int events, events_most;

static zf_status open_event(zf_accelerator *accelerator, bool timed, void **event, zf_error *error) {
    if (events == events_most) return zf_fail(error, ZF_ERR_DEVICE, "ZF1105", "no more events");
    events++;
    return own->event_open(accelerator, timed, event, error);
}

static void close_event(zf_accelerator *accelerator, void *event) {
    events--;
    own->event_close(accelerator, event);
}

static zf_status note_failing(zf_accelerator *accelerator, void *stream, void *event, zf_error *error) {
    (void)accelerator, (void)stream, (void)event;
    return zf_fail(error, ZF_ERR_DEVICE, "ZF1105", "it fails");
}

/// A clock that cannot be started leaves no events, whatever fails; one that was is stopped.
static void test_events(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_device device;
    zf_accelerator *accelerator = NULL;
    void *self = NULL;
    const zf_measure_device *emu = &zf_measure_device_emu;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &accelerator, &error) == ZF_OK, "%s", error.message);
    own = accelerator->ops;
    failing = *own;
    failing.event_open = open_event;
    failing.event_close = close_event;
    accelerator->ops = &failing;
    CHECK(emu->open(context, &device, 1, &self, &error) == ZF_OK, "%s", error.message);
    for (int k = 0; k <= 3; k++) {
        zf_measure_clock clock = {0};
        double seconds;
        events_most = k < 2 ? k : 2;
        failing.event_note = k == 2 ? note_failing : own->event_note;
        bool started = emu->start(self, &clock, &error) == ZF_OK;
        CHECK(started == (k == 3), "fault %d", k);
        if (started) CHECK(emu->stop(self, &clock, &seconds, &error) == ZF_OK, "%s", error.message);
        CHECK(events == 0, "fault %d leaves %d events", k, events);
    }
    emu->close(self);
    accelerator->ops = own;
    zf_context_free(context);
}

static void test_reference(void) {
    zf_error error = {0};
    zf_measure_reference *reference = NULL;
    zf_measure_plain plain = {0};
    CHECK(zf_measure_reference_open(file, NULL, &reference, &error) == ZF_OK, "%s", error.message);
    for (int k = 0; k < 2; k++) {
        CHECK(zf_measure_reference_column(reference, 0, &plain, &error) == ZF_OK, "%s", error.message);
        CHECK(plain.bytes == sizeof values && memcmp(plain.values, values, sizeof values) == 0, "another reference");
        free(plain.values);
    }
    CHECK(zf_measure_reference_column(reference, 1, &plain, &error) == ZF_ERR_USAGE, "%s", error.message);
    zf_measure_reference_close(reference);
    CHECK(zf_measure_reference_open("/nowhere.zfd", NULL, &reference, &error) == ZF_ERR_IO && reference == NULL, "%s",
          error.message);
    zf_measure_reference_close(reference);
}

int main(void) {
    write_file();
    comparers = 1;
    zf_measure_plain plain = {(uint8_t *)values, sizeof values, "a test"};
    test_figures(&plain);
    test_faults(&plain);
    test_kernels(&plain);
    test_events();
    test_reference();
    remove(file);
    *strrchr(file, '/') = 0;
    rmdir(file);
    return check_result();
}
