// The tuner as applications have it: results, files, records, and what it refuses. On the emulated GPU.
// Links: zipflow-tuner zipflow-emu
#include "zipflow/tune.h"

#include <stddef.h>
#include <string.h>

#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/pipeline.h"

enum { ROWS = 9000 };

static zf_context *context;
static zf_compiler *compiler;

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "%s cannot be written", path);
}

static void write_container(void) {
    static uint32_t values[ROWS];
    for (uint32_t k = 0; k < ROWS; k++) values[k] = k / 5;
    write_text(place("t.zf"), "table t { a: u32 = delta(bitpack); b: u32 = bitpack; }\n");
    zf_error error = {0};
    zf_program *program = NULL;
    CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s", error.message);
    const zf_encode_column columns[] = {{.name = "a", .values = values}, {.name = "b", .values = values}};
    CHECK(zf_encode(program, NULL, columns, 2, ROWS, NULL, place("t.zfd"), NULL, &error) == ZF_OK, "%s", error.message);
    zf_program_free(program);
}

/// The calls of the callback.
static struct {
    unsigned probes, defaults, first;
    double default_seconds;
} told;

static void count_probe(void *user, const zf_tuner_probe *probe) {
    CHECK(user == &told && probe->size == sizeof *probe, "another user, or a struct of %zu bytes", probe->size);
    CHECK(strcmp(probe->column, "a") == 0 && probe->kernel == 0, "%s %u", probe->column, probe->kernel);
    CHECK(probe->ran == (probe->seconds > 0) && probe->reason[0] != 0, "%s: %g s", probe->choice, probe->seconds);
    bool by_default = strcmp(probe->choice, "default") == 0;
    if (told.probes == 0) told.first = by_default;
    told.probes++;
    told.defaults += by_default;
}

static size_t lines_with(const char *path, const char *begin) {
    char line[4096];
    size_t count = 0;
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        count += strncmp(line + strspn(line, " "), begin, strlen(begin)) == 0;
    if (f != NULL) fclose(f);
    return count;
}

static bool is_usage(zf_status status, const zf_error *error, zf_error_code number) {
    return status == ZF_ERR_USAGE && error->status == status && error->number == number;
}

/// Results and devices of callers that are newer than the library, or that set no possible size.
static void test_outputs(const zf_tuner *tuner) {
    struct {
        zf_tuner_result now;
        uint64_t more;
    } later;
    zf_error error = {0};
    zf_tuner_result older = {.size = offsetof(zf_tuner_result, seconds), .seconds = -1}; // no version had so few bytes
    CHECK(is_usage(zf_tuner_result_get(tuner, 0, &older, &error), &error, ZF_ERROR_STRUCT_SIZE) && older.seconds == -1,
          "older: %g s", older.seconds);
    memset(&later, 0xa5, sizeof later);
    later.now.size = sizeof later;
    CHECK(zf_tuner_result_get(tuner, 0, &later.now, &error) == ZF_OK && later.now.seconds > 0 && later.more == 0, "newer: %s",
          error.message);
    memset(&later, 0xa5, sizeof later);
    CHECK(is_usage(zf_tuner_result_get(tuner, 0, &later.now, &error), &error, ZF_ERROR_STRUCT_SIZE), "%s", error.message);
    zf_tuner_result r = {ZF_INIT(zf_tuner_result)};
    CHECK(is_usage(zf_tuner_result_get(tuner, 1, &r, &error), &error, ZF_ERROR_ARGUMENT), "result 1: %s", error.message);
    CHECK(is_usage(zf_tuner_result_get(tuner, SIZE_MAX, &r, &error), &error, ZF_ERROR_ARGUMENT), "%s", error.message);
    zf_device_info device = {.size = sizeof device, .memory = 77};
    CHECK(zf_tuner_device(tuner, &device, &error) == ZF_OK && device.emulated && device.memory != 77, "a device of %zu bytes",
          device.size);
    device.size = offsetof(zf_device_info, memory);
    CHECK(is_usage(zf_tuner_device(tuner, &device, &error), &error, ZF_ERROR_STRUCT_SIZE), "%s", error.message);
}

static void test_null(zf_tuner *tuner, zf_container *container) {
    zf_error error = {0};
    zf_tuner *none = tuner;
    zf_tuner_result r = {ZF_INIT(zf_tuner_result)};
    zf_device_info device = {ZF_INIT(zf_device_info)};
    const zf_status statuses[] = {zf_tuner_create(compiler, NULL, NULL, &error),
                                  zf_tuner_create(NULL, NULL, &none, &error),
                                  zf_tuner_device(NULL, &device, &error),
                                  zf_tuner_device(tuner, NULL, &error),
                                  zf_tuner_column(NULL, container, 0, 0, NULL, &error),
                                  zf_tuner_column(tuner, NULL, 0, 0, NULL, &error),
                                  zf_tuner_result_get(NULL, 0, &r, &error),
                                  zf_tuner_result_get(tuner, 0, NULL, &error),
                                  zf_tuner_keep(NULL, &error),
                                  zf_tuner_write(NULL, place("no.txt"), false, &error),
                                  zf_tuner_write(tuner, NULL, false, &error),
                                  zf_tuner_write_record(NULL, place("no.json"), false, &error),
                                  zf_tuner_write_record(tuner, NULL, false, &error)};
    for (size_t k = 0; k < sizeof statuses / sizeof statuses[0]; k++)
        CHECK(statuses[k] == ZF_ERR_USAGE, "call %zu: %d", k, (int)statuses[k]);
    CHECK(none == NULL && error.number == ZF_ERROR_ARGUMENT, "%s", error.code);
    CHECK(zf_tuner_result_count(NULL) == 0, "results of nothing");
}

static void test_column(zf_container *container) {
    zf_error error = {0};
    zf_tuner *tuner = NULL;
    zf_tuner_options options = {.device = "emu", .probes = 6, .progress = count_probe, .progress_user = &told};
    CHECK(zf_tuner_create(compiler, &options, &tuner, &error) == ZF_OK, "%s", error.message);
    zf_device_info device = {ZF_INIT(zf_device_info)};
    CHECK(zf_tuner_device(tuner, &device, &error) == ZF_OK && strcmp(device.name, "emu") == 0 && device.emulated, "%s",
          device.name);
    CHECK(zf_tuner_result_count(tuner) == 0, "results of nothing");
    CHECK(zf_tuner_write(tuner, place("none.txt"), false, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF2022") == 0, "%s",
          error.code);
    size_t left = 7;
    CHECK(zf_tuner_column(tuner, container, 0, 0, &left, &error) == ZF_OK && left == 0, "%s", error.message);
    CHECK(told.first && told.probes >= 2 && told.defaults >= 1, "%u measurements, %u of the default", told.probes, told.defaults);
    CHECK(zf_tuner_result_count(tuner) == 1, "%zu results", zf_tuner_result_count(tuner));
    zf_tuner_result r = {ZF_INIT(zf_tuner_result)};
    CHECK(zf_tuner_result_get(tuner, 0, &r, &error) == ZF_OK, "%s", error.message);
    CHECK(r.found && strcmp(r.column, "a") == 0 && r.kernel == 0 && r.shape[0] != 0 && r.choice[0] != 0, "%s", r.choice);
    CHECK(r.seconds > 0 && r.seconds <= r.default_seconds && r.probes >= 2 && r.probes <= 6, "%g s, %u probes", r.seconds,
          r.probes);
    CHECK(zf_tuner_column(tuner, container, 0, 0, NULL, &error) == ZF_OK && zf_tuner_result_count(tuner) == 1, "tuned twice");
    CHECK(zf_tuner_column(tuner, container, 2, 0, NULL, &error) == ZF_ERR_USAGE, "column 2: %s", error.message);

    CHECK(zf_tuner_keep(tuner, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF2022") == 0, "an emulator's times are kept");
    CHECK(zf_tuner_write(tuner, place("found.txt"), false, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_tuner_write(tuner, place("found.txt"), false, &error) == ZF_ERR_IO, "it is overwritten");
    CHECK(zf_tuner_write(tuner, place("found.txt"), true, &error) == ZF_OK, "%s", error.message);
    CHECK(lines_with(place("found.txt"), "kernel ") == 1, "%zu kernels", lines_with(place("found.txt"), "kernel "));
    CHECK(zf_tuner_write_record(tuner, place("record.json"), false, &error) == ZF_OK, "%s", error.message);
    test_outputs(tuner);
    test_null(tuner, container);
    zf_tuner_free(tuner);
}

/// A search begins at earlier results behind the default, and a compiler takes the file.
static void test_known(void) {
    zf_error error = {0};
    zf_tuner *tuner = NULL;
    zf_tuner_options options = {.device = "emu", .known = place("t.zf")};
    CHECK(zf_tuner_create(compiler, &options, &tuner, &error) == ZF_ERR_INPUT && tuner == NULL, "a program is no results");
    options.known = place("found.txt");
    CHECK(zf_tuner_create(compiler, &options, &tuner, &error) == ZF_OK, "%s", error.message);
    zf_tuner_free(tuner);
    options.device = "cpu";
    CHECK(zf_tuner_create(compiler, &options, &tuner, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF2018") == 0, "%s",
          error.code);
    options.size = 7;
    CHECK(is_usage(zf_tuner_create(compiler, &options, &tuner, &error), &error, ZF_ERROR_STRUCT_SIZE), "%s", error.code);
    struct {
        zf_tuner_options now;
        uint64_t more;
    } later = {.now = {.size = sizeof later, .device = "emu"}, .more = 1};
    CHECK(is_usage(zf_tuner_create(compiler, &later.now, &tuner, &error), &error, ZF_ERROR_STRUCT_SIZE), "newer: %s", error.code);
    options.size = sizeof options;
    options.device = "nothing";
    CHECK(zf_tuner_create(compiler, &options, &tuner, &error) == ZF_ERR_DEVICE, "%s", error.code);
}

static zf_status run_batch(zf_batch *batch, zf_error *error) {
    zf_status status = zf_batch_start(batch, error);
    return status == ZF_OK ? zf_batch_wait(batch, 0, error) : status;
}

/// A batch keeps its code although the tuner measures, and then unloads, the same code.
static void test_shared_code(zf_container *container) {
    static _Alignas(64) uint32_t values[ROWS];
    zf_error error = {0};
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    zf_tuner *tuner = NULL;
    zf_pipeline_request request = {ZF_INIT(zf_pipeline_request), .container = container,
                                   .host = {.values = values, .values_bytes = sizeof values}};
    zf_pipeline_options staging = {ZF_INIT(zf_pipeline_options), .host_staging = 1 << 20, .device_staging = 1 << 20};
    zf_tuner_options options = {.device = "emu", .probes = 2};
    CHECK(zf_container_load(container, "emu", &error) == ZF_OK, "%s", error.message);
    CHECK(zf_pipeline_create(context, "emu", &staging, &pipeline, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_create(pipeline, &request, 1, &batch, &error) == ZF_OK, "%s", error.message);
    CHECK(run_batch(batch, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_tuner_create(compiler, &options, &tuner, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_tuner_column(tuner, container, 0, 0, NULL, &error) == ZF_OK, "%s", error.message);
    zf_tuner_free(tuner);
    memset(values, 0, sizeof values);
    CHECK(run_batch(batch, &error) == ZF_OK, "%s", error.message);
    for (uint32_t k = 0; k < ROWS; k++) CHECK(values[k] == k / 5, "row %u is %u", k, values[k]);
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
}

static void count_replayed(void *user, const zf_tuner_replayed *kernel) {
    CHECK(kernel->size == sizeof *kernel && strcmp(kernel->column, "a") == 0 && kernel->probes >= 1 && kernel->recorded >= 2,
          "%s", kernel->column);
    CHECK(kernel->share > 0 && kernel->share <= 1 && kernel->choice[0] != 0, "%g of the best", kernel->share);
    ++*(unsigned *)user;
}

static void test_replay(void) {
    zf_error error = {0};
    zf_tuner_replay_stats stats = {ZF_INIT(zf_tuner_replay_stats)};
    unsigned kernels = 0;
    CHECK(zf_tuner_replay(place("record.json"), 0, count_replayed, &kernels, &stats, &error) == ZF_OK, "%s", error.message);
    CHECK(kernels == 1 && stats.kernels == 1 && stats.mean_share == stats.least_share, "%u kernels", stats.kernels);
    CHECK(zf_tuner_replay(place("record.json"), 0, NULL, NULL, &stats, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_tuner_replay(place("found.txt"), 0, NULL, NULL, &stats, &error) == ZF_ERR_INPUT, "%s", error.code);
    CHECK(strcmp(error.code, "ZF2021") == 0, "%s", error.code);
    CHECK(zf_tuner_replay(place("nowhere.json"), 0, NULL, NULL, &stats, &error) == ZF_ERR_IO, "%s", error.code);
    CHECK(stats.size == sizeof stats && stats.kernels == 0 && stats.mean_share == 0, "earlier numbers stay after an error");
    CHECK(is_usage(zf_tuner_replay(NULL, 0, NULL, NULL, &stats, &error), &error, ZF_ERROR_ARGUMENT), "%s", error.code);
    CHECK(is_usage(zf_tuner_replay(place("record.json"), 0, NULL, NULL, NULL, &error), &error, ZF_ERROR_ARGUMENT), "%s",
          error.code);
    stats.size = 3;
    CHECK(is_usage(zf_tuner_replay(place("record.json"), 0, NULL, NULL, &stats, &error), &error, ZF_ERROR_STRUCT_SIZE), "%s",
          error.code);
}

int main(void) {
    zf_error error = {0};
    zf_container *container = NULL;
    if (!scratch_begin("tuner")) return 1;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .untuned = true};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    write_container();
    CHECK(zf_container_open(context, place("t.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    test_column(container);
    test_shared_code(container);
    test_known();
    test_replay();
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
