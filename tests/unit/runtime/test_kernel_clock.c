// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Timing kernels: the whole output is poisoned before any of them runs, so that what one leaves out shows. Timing copies: each is
// of all bytes, the median counts, and what was allocated is released, also after a failure. Then nothing that was queued is
// under way any more.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/emu.h"
#include "runtime/decode/kernel_clock.h"
#include "tests/support/emulated.h"
#include "tests/support/late_accelerator.h"
#include "tests/support/null_accelerator.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

enum { ROWS = 1003 };

static const char program[] = "table t {\n    s: string? = nullable(values: strings(lengths: bitpack));\n}\n";
static char text[] = "aabbcc";

static void check_poison(zf_accelerator *emu, const char *what, uint64_t at, uint64_t bytes, uint8_t poison) {
    zf_error error = {0};
    uint8_t *seen = calloc(bytes + 1, 1);
    CHECK(at != 0 && bytes > 0, "there are no %s", what);
    CHECK(emu->ops->copy_out(emu, NULL, seen, at, bytes, &error) == ZF_OK, "%s", error.message);
    CHECK(emu->ops->wait(emu, NULL, &error) == ZF_OK, "%s", error.message);
    uint64_t others = 0;
    for (uint64_t k = 0; k < bytes; k++) others += seen[k] != poison;
    CHECK(others == 0, "%s: %llu bytes of %llu are not poisoned", what, (unsigned long long)others, (unsigned long long)bytes);
    free(seen);
}

/// No kernel is timed, so that none stores.
static void test_poison(zf_container *container, uint8_t poison) {
    zf_error error = {0};
    zf_accelerator *emu = NULL;
    zf_units *units = NULL;
    zf_units_memory memory = {0};
    CHECK(zf_emu_create(1, 32, &emu, &error) == ZF_OK, "%s", error.message);
    zf_units_options options = {.resident = true};
    bool good = zf_units_make(container, 0, NULL, &options, emu, &units, &error) == ZF_OK &&
                zf_units_allocate(units, &memory, &error) == ZF_OK && zf_units_upload(units, NULL, &memory, &error) == ZF_OK;
    CHECK(good, "%s (%s)", error.message, error.place);
    if (!good) exit(check_result());
    zf_kernel_time none;
    CHECK(zf_units_time_kernels(units, NULL, &memory, poison, 0, 1, &none, 0, &error) == ZF_OK, "%s", error.message);
    zf_units_sizes sizes = zf_units_sizes_of(units);
    check_poison(emu, "values", memory.values, sizes.values, poison);
    check_poison(emu, "offsets", memory.offsets, sizes.offsets, poison);
    check_poison(emu, "validity", memory.validity, sizes.validity, poison);
    CHECK(zf_units_time_kernels(units, NULL, &memory, poison, 0, 16, &none, 0, &error) == ZF_ERR_USAGE, "16 runs");
    zf_units_release(emu, &memory);
    zf_units_free(units);
    zf_emu_free(emu);
}

// ---- Kernels ------------------------------------------------------------------------------------------------------

enum { RUNS = 3, BEHIND = 2 };

/// The queue of a kernel that runs three times behind two that do not count, and then, if it is short, in three rounds of
/// several launches each.
static struct {
    zf_accelerator_ops ops;
    double told[2][RUNS]; ///< seconds of the rounds of one launch, and of those of several
    unsigned several;     ///< launches of a round of those; 0: there are none
    bool again;           ///< they are under way
    unsigned fills;       ///< since something was launched, of large memory
    unsigned launches, notes, reads, kernels;
} queued;

static zf_status queued_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                               const zf_simt_args *args, zf_error *error) {
    if (queued.again && queued.launches == 0)
        CHECK(queued.fills > queued.several * RUNS / 20, "%u fills before %u launches", queued.fills, queued.several * RUNS);
    queued.launches++;
    return queued.ops.launch(self, stream, code, kernel, groups, args, error);
}
static zf_status queued_fill(zf_accelerator *self, void *stream, uint64_t to, uint8_t byte, uint64_t bytes, zf_error *error) {
    if (bytes < 1 << 28) return queued.ops.fill(self, stream, to, byte, bytes, error);
    CHECK(queued.again && queued.launches == 0 && queued.notes == 0, "the device is kept busy behind what is timed");
    queued.fills++;
    return ZF_OK;
}
static zf_status queued_facts(zf_accelerator *self, zf_accelerator_code *code, uint32_t kernel, zf_kernel_facts *out,
                              zf_error *error) {
    (void)self, (void)code, (void)kernel, (void)out, (void)error;
    return ZF_OK; // as devices do on which what is queued runs later
}
static unsigned expected_launches(unsigned notes) { return queued.again ? notes * queued.several : BEHIND + notes; }
static zf_status queued_note(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    CHECK(queued.launches == expected_launches(queued.notes) && queued.reads == 0, "%u launches, then event %u", queued.launches,
          queued.notes);
    queued.notes++;
    return queued.ops.event_note(self, stream, event, error);
}
static zf_status queued_seconds(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error) {
    CHECK(queued.launches == expected_launches(RUNS) && queued.notes == RUNS + 1, "a time is read when all is queued");
    zf_status status = queued.ops.event_seconds(self, from, to, seconds, error);
    *seconds = queued.told[queued.again][queued.reads++];
    if (queued.reads == RUNS) {
        bool more = !queued.again && queued.several > 0;
        queued.launches = queued.notes = queued.reads = queued.fills = 0;
        queued.again = more;
        queued.kernels += !more;
    }
    return status;
}

/// Kernels of which a round of one launch has a median of `one` seconds, and those of several, if there are any, of `round`.
static void test_kernels(zf_container *container, double one, unsigned several, double round, double expected) {
    zf_error error = {0};
    zf_accelerator *emu = NULL;
    zf_units *units = NULL;
    zf_units_memory memory = {0};
    zf_kernel_time times[8] = {{0}};
    CHECK(zf_emu_create(1, 32, &emu, &error) == ZF_OK, "%s", error.message);
    const zf_accelerator_ops *before = emu->ops;
    zf_accelerator_ops ops = *before;
    memset(&queued, 0, sizeof queued);
    queued.ops = *before;
    queued.several = several;
    const double rounds[2] = {one, round};
    for (int k = 0; k < 2; k++)
        queued.told[k][0] = 9 * rounds[k], queued.told[k][1] = rounds[k] / 9, queued.told[k][2] = rounds[k];
    ops.fill = queued_fill, ops.kernel_facts = queued_facts;
    ops.launch = queued_launch, ops.event_note = queued_note, ops.event_seconds = queued_seconds;
    zf_units_options options = {.resident = true};
    bool good = zf_units_make(container, 0, NULL, &options, emu, &units, &error) == ZF_OK &&
                zf_units_allocate(units, &memory, &error) == ZF_OK && zf_units_upload(units, NULL, &memory, &error) == ZF_OK;
    CHECK(good, "%s (%s)", error.message, error.place);
    if (!good) exit(check_result());
    uint32_t kernels = (uint32_t)zf_units_stats(units).kernels;
    emu->ops = &ops;
    CHECK(zf_units_time_kernels(units, NULL, &memory, 0x5a, BEHIND, RUNS, times, kernels, &error) == ZF_OK, "%s", error.message);
    emu->ops = before;
    CHECK(queued.kernels > 0 && !queued.again, "no kernel was timed");
    for (uint32_t k = 0; k < kernels; k++)
        CHECK(times[k].facts.threads == 0 || times[k].seconds == expected, "kernel %u: %g, not %g", k, times[k].seconds,
              expected);
    zf_units_release(emu, &memory);
    zf_units_free(units);
    zf_emu_free(emu);
}

// ---- Copies ---------------------------------------------------------------------------------------------------

/// An accelerator whose clock says what it is told. Memory that it gives is poisoned.
typedef struct copying {
    null_accelerator null;
    unsigned notes, copies, filled, waited; ///< calls so far
    void *noted[10];                        ///< events, as they were noted
    unsigned read;                          ///< times that were read
    unsigned open, held;                    ///< events, and memory, that are not given back
    unsigned fail_at, calls;                ///< the call that fails, of those that may, from 1; 0: none
    uint64_t bytes;
} copying;

static const double TIMES[9] = {9, 1, 8, 2, 5, 3, 7, 4, 6};

static zf_status may_fail(copying *c, zf_error *error) {
    return ++c->calls == c->fail_at ? zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "a call that was to fail") : ZF_OK;
}
static zf_status copying_allocate(zf_accelerator *self, uint64_t bytes, uint64_t *address, zf_error *error) {
    copying *c = (copying *)self;
    ZF_TRY(may_fail(c, error));
    c->held++;
    return null_allocate(self, bytes, address, error);
}
static void copying_release(zf_accelerator *self, uint64_t address) {
    ((copying *)self)->held--;
    null_release(self, address);
}
static zf_status copying_fill(zf_accelerator *self, void *stream, uint64_t to, uint8_t byte, uint64_t bytes, zf_error *error) {
    copying *c = (copying *)self;
    c->filled++;
    CHECK(bytes == c->bytes && c->copies == 0, "%llu bytes are filled", (unsigned long long)bytes);
    ZF_TRY(may_fail(c, error));
    return null_fill(self, stream, to, byte, bytes, error);
}
static zf_status copying_within(zf_accelerator *self, void *stream, uint64_t to, uint64_t from, uint64_t bytes, zf_error *error) {
    copying *c = (copying *)self;
    CHECK(bytes == c->bytes && to != from && c->filled == 2, "a copy of %llu bytes", (unsigned long long)bytes);
    c->copies++;
    ZF_TRY(may_fail(c, error));
    return null_in(self, stream, to, (const void *)(uintptr_t)from, bytes, error);
}
static zf_status copying_event_open(zf_accelerator *self, bool timed, void **event, zf_error *error) {
    copying *c = (copying *)self;
    CHECK(timed, "its time is wanted");
    ZF_TRY(may_fail(c, error));
    *event = malloc(1);
    c->open++;
    return ZF_OK;
}
static void copying_event_close(zf_accelerator *self, void *event) {
    ((copying *)self)->open--;
    free(event);
}
static zf_status copying_event_note(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    copying *c = (copying *)self;
    (void)stream;
    CHECK(c->copies == c->notes + 1 && c->notes < 10, "a copy lies between two events, and one before all");
    CHECK(c->read == 0, "what is waited for was queued before");
    c->noted[c->notes++ % 10] = event;
    return may_fail(c, error);
}
static zf_status copying_event_seconds(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error) {
    copying *c = (copying *)self;
    CHECK(c->notes == 10 && c->read < 9, "a time is read when all is queued");
    CHECK(from == c->noted[c->read % 9] && to == c->noted[c->read % 9 + 1], "time %u is that of a copy", c->read);
    *seconds = TIMES[c->read++ % 9];
    return may_fail(c, error);
}
static zf_status copying_wait(zf_accelerator *self, void *stream, zf_error *error) {
    (void)stream;
    ((copying *)self)->waited++;
    return may_fail((copying *)self, error);
}

static zf_status copy_rate(copying *c, unsigned fail_at, double *rate) {
    zf_error error = {0};
    *c = (copying){.bytes = 4096 * 3, .fail_at = fail_at};
    c->null.ops = (zf_accelerator_ops){.name = "copying",
                                       .allocate = copying_allocate,
                                       .release = copying_release,
                                       .fill = copying_fill,
                                       .copy_within = copying_within,
                                       .wait = copying_wait,
                                       .event_open = copying_event_open,
                                       .event_close = copying_event_close,
                                       .event_note = copying_event_note,
                                       .event_seconds = copying_event_seconds};
    c->null.base.ops = &c->null.ops;
    zf_status status = zf_accelerator_copy_rate(&c->null.base, NULL, c->bytes, rate, &error);
    CHECK((status == ZF_OK) == (error.status == ZF_OK), "an error is told of as one");
    CHECK(c->open == 0 && c->held == 0, "%u events and %u pieces of memory are left", c->open, c->held);
    return status;
}

static void test_copy_rate(void) {
    copying c;
    double rate = -1;
    CHECK(copy_rate(&c, 0, &rate) == ZF_OK, "it is measured");
    CHECK(rate == 2 * 4096 * 3 / 5.0, "%g bytes a second: read and written ones, in the median of the times", rate);
    CHECK(c.copies == 10 && c.read == 9 && c.waited == 1, "%u copies, %u times", c.copies, c.read);
    for (unsigned k = 1, calls = c.calls; k <= calls; k++) CHECK(copy_rate(&c, k, &rate) == ZF_ERR_DEVICE, "call %u fails", k);
}

// ---- Work in progress when a call fails -------------------------------------------------------------------------

/// Microseconds that whatever was queued takes to begin, long after the call behind it has failed.
enum { SLOW = 3000 };

static struct {
    zf_accelerator_ops ops; ///< of the accelerator on which what was queued runs
    atomic_uint gone;       ///< what the memory was for is over, or some of it was given back
    atomic_uint too_late;   ///< calls that ran behind that
} slow;

static void look_whether_gone(void) {
    late_sleep(SLOW);
    atomic_fetch_add(&slow.too_late, atomic_load(&slow.gone) > 0);
}
static zf_status slow_fill(zf_accelerator *self, void *stream, uint64_t to, uint8_t byte, uint64_t bytes, zf_error *error) {
    look_whether_gone();
    return atomic_load(&slow.gone) > 0 ? ZF_OK : slow.ops.fill(self, stream, to, byte, bytes, error);
}
static zf_status slow_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes, zf_error *error) {
    look_whether_gone();
    return atomic_load(&slow.gone) > 0 ? ZF_OK : slow.ops.copy_in(self, stream, to, from, bytes, error);
}
static zf_status slow_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                             const zf_simt_args *args, zf_error *error) {
    look_whether_gone();
    return atomic_load(&slow.gone) > 0 ? ZF_OK : slow.ops.launch(self, stream, code, kernel, groups, args, error);
}
static void slow_release(zf_accelerator *self, uint64_t address) {
    atomic_store(&slow.gone, 1);
    slow.ops.release(self, address);
}
static zf_status late_within(zf_accelerator *self, void *stream, uint64_t to, uint64_t from, uint64_t bytes, zf_error *error) {
    return late_in(self, stream, to, (const void *)(uintptr_t)from, bytes, error); // the memory is the host's
}

/// Each call that queues fails in turn: what was queued before has run when the memory is given back.
static void test_late_copies(void) {
    bool whole = false;
    unsigned failed = 0;
    for (long call = 0; !whole && call < 60; call++) {
        null_accelerator null = {0};
        late l;
        double rate;
        zf_error error = {0};
        null.ops = (zf_accelerator_ops){ACCELERATOR_OPS(null)};
        null.base.ops = &null.ops;
        slow.ops = null.ops;
        null.ops.fill = slow_fill, null.ops.copy_in = slow_in, null.ops.release = slow_release;
        atomic_store(&slow.gone, 0);
        late_begin(&l, &null.base, 0);
        l.ops.copy_within = late_within;
        atomic_store(&l.fail_in, call);
        whole = zf_accelerator_copy_rate(&l.base, NULL, 4096, &rate, &error) == ZF_OK;
        CHECK(whole || strcmp(error.code, "ZF1110") == 0, "call %ld: %s %s", call, error.code, error.message);
        failed += !whole;
        late_end(&l); // what was queued has run
        CHECK(atomic_exchange(&slow.too_late, 0) == 0, "call %ld fails: its memory is given back too soon", call);
    }
    CHECK(whole && failed == 2 + 1 + 10 + 9, "%u calls failed", failed); // fills, a copy, notes, what lies between
}

static void test_late_kernels(zf_container *container) {
    bool whole = false;
    unsigned failed = 0;
    for (long call = 0; !whole && call < 60; call++) {
        zf_accelerator *emu = NULL;
        zf_units *units = NULL;
        zf_units_memory memory = {0};
        zf_kernel_time times[8];
        zf_error error = {0};
        late l;
        CHECK(zf_emu_create(1, 32, &emu, &error) == ZF_OK, "%s", error.message);
        const zf_accelerator_ops *before = emu->ops;
        zf_accelerator_ops ops = slow.ops = *before;
        late_begin(&l, emu, 0);
        zf_units_options options = {.resident = true};
        bool good = zf_units_make(container, 0, NULL, &options, &l.base, &units, &error) == ZF_OK &&
                    zf_units_allocate(units, &memory, &error) == ZF_OK &&
                    zf_units_upload(units, NULL, &memory, &error) == ZF_OK && l.ops.wait(&l.base, NULL, &error) == ZF_OK;
        CHECK(good, "%s (%s)", error.message, error.place);
        if (!good) exit(check_result());
        ops.fill = slow_fill, ops.copy_in = slow_in, ops.launch = slow_launch;
        emu->ops = &ops;
        atomic_store(&slow.gone, 0);
        atomic_store(&l.fail_in, call);
        whole = zf_units_time_kernels(units, NULL, &memory, 0x5a, 1, 1, times, 8, &error) == ZF_OK;
        CHECK(whole || strcmp(error.code, "ZF1110") == 0, "call %ld: %s %s", call, error.code, error.message);
        failed += !whole;
        atomic_store(&slow.gone, 1);
        late_end(&l);
        CHECK(atomic_exchange(&slow.too_late, 0) == 0, "call %ld fails, and something is still under way", call);
        CHECK(atomic_load(&l.failed_inside) == 0, "call %ld: %u calls failed when they ran", call, l.failed_inside);
        emu->ops = before;
        zf_units_release(&l.base, &memory);
        zf_units_free(units);
        zf_emu_free(emu);
    }
    CHECK(whole && failed > 8, "%u calls failed", failed); // fills, tables, kernels between two notes, what they report
}

int main(void) {
    test_copy_rate();
    test_late_copies();
    char directory[64] = "/tmp/zf_clock_XXXXXX", source[96], file[96];
    CHECK(mkdtemp(directory) != NULL, "no directory");
    snprintf(source, sizeof source, "%s/t.zf", directory);
    snprintf(file, sizeof file, "%s/t.zfd", directory);
    FILE *f = fopen(source, "w");
    fputs(program, f);
    fclose(f);
    static int64_t offsets[ROWS + 1];
    static uint8_t validity[ROWS / 8 + 1];
    memset(validity, 0x5f, sizeof validity);
    for (uint32_t k = 0; k <= ROWS; k++) offsets[k] = k < sizeof text - 1 ? k : sizeof text - 1;
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *loaded = NULL;
    zf_container *container = NULL;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_encode_column column = {.name = "s", .values = text, .offsets = offsets, .validity = validity};
    bool good = emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK &&
                zf_compiler_create(context, &options, &compiler, &error) == ZF_OK &&
                zf_program_load(compiler, source, &loaded, &error) == ZF_OK &&
                zf_encode(loaded, "t", &column, 1, ROWS, NULL, file, NULL, &error) == ZF_OK &&
                zf_container_open(context, file, &container, &error) == ZF_OK;
    CHECK(good, "%s (%s)", error.message, error.place);
    if (good) {
        test_poison(container, 0x5a);
        test_poison(container, 0xa5);
        test_kernels(container, 5, 0, 0, 5);
        test_kernels(container, 60e-6, 0, 0, 60e-6);
        test_kernels(container, 10.5e-6, 9, 90e-6, 90e-6 / 9); // as many as take 100 us
        test_kernels(container, 1e-7, 64, 6.4e-6, 6.4e-6 / 64);
        test_kernels(container, 0, 0, 0, 0); // its clock says nothing
        test_late_kernels(container);
    }
    zf_program_free(loaded);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    unlink(source);
    unlink(file);
    rmdir(directory);
    return check_result();
}
