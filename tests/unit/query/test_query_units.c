// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Queries whose columns come from the host's memory with every run, in units: on the emulated GPU, and on one that does
// everything late, so that a copy to a place that is still read, or kernels before their bytes, show as other results than those
// of a CPU. Units that cannot matter stay away. A call of the device that fails ends the run, and the next one is good.
#include <stdlib.h>
#include <string.h>

#include "compiler/query/query_prepared.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/late_accelerator.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

enum { ROWS = 12001, BLOCK = 1024, MOST = 8 * ROWS, DELAY = 100 };

static const char *const text =
    "table t { s: i32 = bitpack; v: i64 = bitpack; d: i64 = delta(bitpack); x: f64 = plain; k: string = "
    "dictionary(bitpack, strings(bitpack)); }\n"
    "query sums(t) { param low: i64; param high: i64; result n: i64 = sum; result f: f64 = sum; result by: i64[16] = sum;\n"
    "    result least: i64 = min;\n"
    "    each { if s >= low && s < high { n += v * d; f += x; if k != \"b\" { by[v & 15] += 1; } least = min(least, d); } } }\n"
    "query rows(t) { param low: i64; param high: i64; result hit: bool = mask; result id: i64 = select; result w: f64 = select;\n"
    "    each { hit = s >= low && s < high; if s >= low && s < high && v > 100 { select id = row, w = x; } } }\n"
    "query endless(t) { param low: i64; param high: i64; input few: u8[]; result id: u64 = select;\n"
    "    each { let s = sum(k in 0..(v + 1) * 4611686018427387: few[k]); if s > 0 { select id = row as u64; } } }\n"
    "query checked(t) { param low: i64; param high: i64; input few: u8[]; result n: i64 = sum;\n"
    "    each { if s >= low && s < high { n += few[v - 200]; } } }\n";

static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;
static zf_container *container;
static late slow;
static zf_accelerator *below;

static void describe_late(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason) {
    (void)shared, (void)index, (void)reason;
    zf_text_puts(description, "late");
    info->present = info->emulated = true;
}

static zf_status start_late(zf_context *of, void *shared, unsigned index, zf_accelerator **out, zf_error *error) {
    (void)of, (void)shared, (void)index;
    ZF_TRY(zf_emu_create(1, 32, &below, error));
    zf_emu_check_unwritten(below, true);
    late_begin(&slow, below, DELAY);
    *out = &slow.base;
    return ZF_OK;
}

static void stop_late(zf_accelerator *accelerator) {
    late_end((late *)accelerator);
    CHECK(atomic_load(&slow.failed_inside) == 0, "%u calls failed when they ran", atomic_load(&slow.failed_inside));
    zf_emu_free(below);
}

static void encode(void) {
    static int32_t s[ROWS];
    static int64_t v[ROWS], d[ROWS], offsets[ROWS + 1];
    static double x[ROWS];
    static char letters[ROWS];
    for (unsigned r = 0; r < ROWS; r++) {
        s[r] = (int32_t)r / 3;
        v[r] = (int64_t)(r * 40503u >> 7 & 255);
        d[r] = (r > 0 ? d[r - 1] : 0) + r % 7;
        x[r] = (double)(r % 977) / 7 - 40;
        letters[r] = (char)('a' + r % 3);
        offsets[r + 1] = r + 1;
    }
    zf_encode_column columns[] = {{.name = "s", .values = s},
                                  {.name = "v", .values = v},
                                  {.name = "d", .values = d},
                                  {.name = "x", .values = x},
                                  {.name = "k", .values = letters, .offsets = offsets}};
    zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = BLOCK, .overwrite = true, .zones = true};
    zf_error error = {0};
    demand(zf_encode(program, "t", columns, 5, ROWS, &options, place("t.zfd"), NULL, &error), &error);
}

static void begin(void) {
    static const zf_device_ops device = {.name = "late", .describe = describe_late, .start = start_late, .stop = stop_late};
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error), &error);
    demand(zf_context_add_devices(context, &(const zf_device_ops *){&device}, 1, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    demand(zf_program_load_text(compiler, "t.zf", text, strlen(text), &program, &error), &error);
    encode();
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
}

static void end(void) {
    zf_program_free(program);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
}

static zf_prepared_query *prepare(const char *name, const char *device, bool decode_first, uint64_t unit_bytes) {
    zf_error error = {0};
    zf_prepared_query *query = NULL;
    zf_query_options options = {ZF_INIT(zf_query_options),   .device = device,        .threads = 1, .decode_first = decode_first,
                                .from_host = unit_bytes > 0, .unit_bytes = unit_bytes};
    demand(zf_query_prepare(program, name, container, &options, &query, &error), &error);
    return query;
}

static zf_status run(zf_prepared_query *query, int64_t low, int64_t high, zf_error *error) {
    zf_query_param params[] = {{.name = "low", .bits = (uint64_t)low}, {.name = "high", .bits = (uint64_t)high}};
    return zf_query_run(query, params, 2, NULL, 0, NULL, error);
}

// ---- Results --------------------------------------------------------------------------------------------------

typedef struct taken {
    uint64_t bytes;
    _Alignas(8) uint8_t values[MOST];
} taken;

static void take(zf_prepared_query *query, size_t result, taken *to) {
    zf_error error = {0};
    zf_query_sizes sizes = {ZF_INIT(zf_query_sizes)};
    static uint8_t validity[MOST / 8];
    memset(to, 0x5a, sizeof *to);
    demand(zf_query_result_size(query, result, &sizes, &error), &error);
    zf_query_buffers buffers = {ZF_INIT(zf_query_buffers), .values = to->values, .validity = validity, .values_bytes = MOST,
                                .validity_bytes = sizeof validity};
    demand(zf_query_take(query, result, &buffers, NULL, &error), &error);
    to->bytes = sizes.values;
}

static void same(zf_prepared_query *query, zf_prepared_query *cpu, const char *where) {
    static taken one, other;
    for (size_t result = 0; result < zf_query_members(cpu, ZF_QUERY_RESULT); result++) {
        take(query, result, &one);
        take(cpu, result, &other);
        CHECK(one.bytes == other.bytes && memcmp(one.values, other.values, other.bytes) == 0, "%s: result %zu", where, result);
    }
}

// ---- Runs -----------------------------------------------------------------------------------------------------

// Several runs of one prepared query. `all`: units of the table; 0: columns stay.
static void run_often(const char *name, const char *device, bool decode_first, uint64_t unit_bytes) {
    static const int64_t ranges[][2] = {{0, ROWS}, {1000, 1001}, {900, 1500}, {-5, -1}, {0, 1}, {3000, ROWS}, {0, ROWS}};
    zf_prepared_query *query = prepare(name, device, decode_first, unit_bytes), *cpu = prepare(name, "cpu", false, 0);
    uint64_t all = 0;
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        char where[96];
        zf_error error = {0};
        snprintf(where, sizeof where, "%s on %s, decode_first %d, unit %llu, run %zu", name, device, decode_first,
                 (ull)unit_bytes, k);
        demand(run(cpu, ranges[k][0], ranges[k][1], &error), &error);
        zf_status status = run(query, ranges[k][0], ranges[k][1], &error);
        CHECK(status == ZF_OK, "%s: %s", where, error.message);
        if (status != ZF_OK) continue;
        same(query, cpu, where);
        const zf_query_device_use *use = &query->answers.device;
        if (k == 0) all = use->units;
        if (unit_bytes == 1) CHECK(k > 0 || all > 5, "%s: %llu units", where, (ull)all);
        if (unit_bytes == 1 && k == 1) CHECK(use->units == 1, "%s: %llu units", where, (ull)use->units);
        if (unit_bytes == 1 && k == 5) CHECK(use->units < all / 2, "%s: %llu of %llu units", where, (ull)use->units, (ull)all);
        if (k == 3) CHECK(use->units == 0, "%s: %llu units", where, (ull)use->units);
    }
    zf_query_free(query);
    zf_query_free(cpu);
}

// The first row that fails is that of a CPU. A sum of damaged data, which may be long, ends where its check fails.
static void fail_check(const char *name, const char *device) {
    static const uint8_t few[56] = {1};
    zf_query_array arrays[] = {{.name = "few", .values = few, .bytes = sizeof few}};
    zf_query_param params[] = {{.name = "low", .bits = 2000}, {.name = "high", .bits = ROWS}};
    zf_prepared_query *query = prepare(name, device, false, 1), *cpu = prepare(name, "cpu", false, 0);
    zf_error error = {0}, other = {0};
    zf_status status = zf_query_run(query, params, 2, arrays, 1, NULL, &error);
    zf_status expected = zf_query_run(cpu, params, 2, arrays, 1, NULL, &other);
    CHECK(status == ZF_ERR_INPUT && expected == status && strcmp(error.message, other.message) == 0, "%s: %s, on a CPU %s",
          device, error.message, other.message);
    zf_query_free(query);
    zf_query_free(cpu);
}

// Calls that the run queues fail one after the other.
static void fail_calls(const char *name, bool decode_first) {
    zf_prepared_query *query = prepare(name, "late", decode_first, 1), *cpu = prepare(name, "cpu", false, 0);
    zf_error error = {0};
    unsigned failed = 0;
    demand(run(cpu, 100, 2500, &error), &error);
    for (long call = 0;; call += call < 4 ? 1 : 17) {
        atomic_store(&slow.fail_in, call);
        zf_status status = run(query, 100, 2500, &error);
        bool reached = atomic_load(&slow.fail_in) < 0;
        atomic_store(&slow.fail_in, -1);
        if (!reached) break;
        failed++;
        CHECK(status == ZF_ERR_DEVICE, "%s: status %d after call %ld failed", name, status, call);
        demand(run(query, 100, 2500, &error), &error);
        same(query, cpu, "behind a call that failed");
    }
    CHECK(failed > 8, "%s: %u calls failed", name, failed);
    zf_query_free(query);
    zf_query_free(cpu);
}

int main(void) {
    if (!scratch_begin("query-units")) return 1;
    begin();
    static const uint64_t units[] = {0, 1, 20000};
    for (unsigned u = 0; u < 3; u++) {
        for (unsigned decode_first = 0; decode_first < 2; decode_first++) {
            run_often("sums", "late", decode_first, units[u]);
            run_often("rows", "late", decode_first, units[u]);
        }
        run_often("sums", "emu", false, units[u]);
    }
    fail_check("checked", "emu");
    fail_check("checked", "late");
    fail_check("endless", "emu");
    fail_calls("sums", false);
    fail_calls("rows", true);
    zf_error error = {0};
    demand(zf_container_load(container, "late", &error), &error);
    run_often("sums", "late", false, 1);
    end();
    scratch_remove(scratch);
    return check_result();
}
