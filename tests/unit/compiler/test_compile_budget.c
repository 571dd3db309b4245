// Links: zipflow-compiler zipflow-emu
// The budget of compiling a column: what spends it, the error, and that everything works afterwards. Building code takes as long
// as the test says.
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

enum { BLOCK = 4096, WIDTHS = 3, ROWS = WIDTHS * BLOCK };

static const double NOTHING = 1e-9; ///< seconds: building a module takes longer

static const char text[] = "table t {\n    a: i32 = bitpack | plain;\n    b: i32 = delta(bitpack);\n}\n";
static int32_t values[ROWS];
static const zf_encode_column columns[] = {{.name = "a", .values = values}, {.name = "b", .values = values}};

typedef struct world {
    zf_context *context;
    zf_compiler *compiler;
} world;

static world begin(double budget, const char *cache) {
    world w = {0};
    zf_error error = {0};
    zf_compiler_options options = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std", .compile_budget = budget};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = cache, .threads = 1}, &w.context, &error), &error);
    demand(zf_compiler_create(w.context, &options, &w.compiler, &error), &error);
    return w;
}

static void end(world *w) {
    zf_compiler_free(w->compiler);
    zf_context_free(w->context);
}

static zf_program *load(const world *w) {
    zf_program *program = NULL;
    zf_error error = {0};
    FILE *f = fopen(place("t.zf"), "w");
    fputs(text, f);
    fclose(f);
    demand(zf_program_load(w->compiler, place("t.zf"), &program, &error), &error);
    return program;
}

static zf_status encode(zf_program *program, const char *path, zf_error *error) {
    zf_encode_options options = {.rows_per_block = BLOCK, .overwrite = true};
    return zf_encode(program, "t", columns, 2, ROWS, &options, path, NULL, error);
}

static zf_container *open_file(const world *w) {
    zf_container *container = NULL;
    zf_error error = {0};
    demand(zf_container_open(w->context, place("t.zfd"), &container, &error), &error);
    return container;
}

static zf_status decode(zf_container *container, size_t column, const char *device, uint64_t first, uint64_t count,
                        zf_error *error) {
    zf_decode_options options = {.threads = 1, .some_rows = true, .row_begin = first, .row_count = count};
    zf_decode_sizes sizes = {0};
    ZF_TRY(zf_decode_size(container, column, &options, &sizes, error));
    int32_t *out = aligned_alloc(64, (4 * ROWS + 63) / 64 * 64);
    void *work = aligned_alloc(64, (sizes.workspace + 64) / 64 * 64);
    zf_decode_buffers buffers = {.values = out, .workspace = work, ZF_DECODE_BYTES(sizes)};
    zf_status status = zf_decode(container, column, device, &options, &buffers, NULL, error);
    if (status == ZF_OK) CHECK(memcmp(out, values + first, 4 * count) == 0, "wrong rows on %s", device);
    free(out);
    free(work);
    return status;
}

static unsigned count_kept(const char *cache) {
    char path[256];
    snprintf(path, sizeof path, "%s/kernels", cache);
    DIR *d = opendir(path);
    unsigned count = 0;
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) count += strstr(e->d_name, ".zfo") != NULL;
    if (d != NULL) closedir(d);
    return count;
}

static void check_error(zf_status status, const zf_error *error, const char *column, const char *at, const char *of) {
    CHECK(status == ZF_ERR_UNSUPPORTED && strcmp(error->code, "ZF1411") == 0, "%s: %d %s %s", of, (int)status, error->code,
          error->message);
    CHECK(strstr(error->message, column) != NULL && strstr(error->place, at) != NULL, "%s: %s at %s", of, error->message,
          error->place);
    CHECK(strstr(error->hint, "zf_compiler_options.compile_budget") != NULL, "%s: %s", of, error->hint);
}

// ---- A budget of nothing ----------------------------------------------------------------------------------------

static char notes[4096];

static void note(void *user, const char *line) {
    (void)user;
    strncat(notes, line, sizeof notes - strlen(notes) - 1);
}

/// Everything that compiles ends with the error. A compiler with more time then works in the same process, with the same cache.
static void test_nothing(void) {
    static const char *const devices[] = {"cpu", "emu"};
    const char *cache = place("cache");
    zf_error error = {0};
    world w = begin(NOTHING, cache);
    zf_program *program = load(&w);
    check_error(encode(program, place("x.zfd"), &error), &error, "column `a`", "t.zf:2:5", "encode");
    CHECK(fopen(place("x.zfd"), "r") == NULL, "a file is there");
    zf_module_options options = {ZF_INIT(zf_module_options), .note = note};
    zf_status status = zf_module_compile(program, "t", &options, place("x.zfm"), NULL, &error);
    CHECK(status == ZF_ERR_UNSUPPORTED && strstr(notes, "column `b`") != NULL, "%d %s: %s", (int)status, error.message, notes);
    zf_program_free(program);
    zf_container *container = open_file(&w);
    for (size_t d = 0; d < 2; d++) {
        for (int again = 0; again < 2; again++) {
            check_error(decode(container, 0, devices[d], 0, ROWS, &error), &error, "column `a`", "t.zf:", devices[d]);
            check_error(decode(container, 1, devices[d], 0, ROWS, &error), &error, "column `b`", "t.zf:", devices[d]);
        }
    }
    zf_container_close(container);
    CHECK(count_kept(cache) == 0, "%u entries in the cache", count_kept(cache));
    end(&w);
    w = begin(INFINITY, cache);
    container = open_file(&w);
    for (size_t d = 0; d < 2; d++) {
        for (size_t column = 0; column < 2; column++) demand(decode(container, column, devices[d], 0, ROWS, &error), &error);
    }
    CHECK(count_kept(cache) > 0, "no entries in the cache");
    zf_container_close(container);
    end(&w);
}

static void test_options(void) {
    world w = {0};
    zf_error error = {0};
    demand(zf_context_create(&(zf_context_options){.cache_dir = ""}, &w.context, &error), &error);
    const double wrong[] = {-1, -INFINITY, NAN};
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        zf_compiler_options options = {ZF_INIT(zf_compiler_options), .compile_budget = wrong[k]};
        CHECK(zf_compiler_create(w.context, &options, &w.compiler, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1101") == 0,
              "%g: %s", wrong[k], error.message);
    }
    zf_context_free(w.context);
}

// ---- Spending it ------------------------------------------------------------------------------------------------

static double cost; ///< seconds of each code that is built; 0: as long as it takes
static unsigned builds;

zf_status __real_zf_codegen_build(zf_jit *jit, const zf_codegen_request *request, zf_codegen_code *out, zf_error *error);
zf_status __wrap_zf_codegen_build(zf_jit *jit, const zf_codegen_request *request, zf_codegen_code *out, zf_error *error);

static double now;
static double told(void) { return now; }

zf_status __wrap_zf_codegen_build(zf_jit *jit, const zf_codegen_request *request, zf_codegen_code *out, zf_error *error) {
    builds++;
    if (cost == 0) return __real_zf_codegen_build(jit, request, out, error);
    request->budget->clock = told; // so that time stands while LLVM runs
    zf_status status = __real_zf_codegen_build(jit, request, out, error);
    zf_compile_charge charge = zf_compile_charge_begin(request->budget);
    now += cost;
    zf_compile_charge_is_in_time(&charge);
    return status;
}

/// All codes of a column of a file share its budget; other columns, and other files with the same decoders, have their own.
static void test_sum(void) {
    zf_error error = {0};
    world w = begin(0, "");
    zf_container *first = open_file(&w), *second = open_file(&w);
    cost = 15;
    demand(decode(first, 0, "cpu", 0, BLOCK, &error), &error);
    demand(decode(first, 0, "cpu", BLOCK, BLOCK, &error), &error); // 15 seconds were spent
    check_error(decode(first, 0, "cpu", 2 * BLOCK, BLOCK, &error), &error, "column `a`", "t.zf:", "30 of 20 seconds");
    check_error(decode(first, 0, "emu", 0, BLOCK, &error), &error, "column `a`", "t.zf:", "on another device");
    demand(decode(first, 0, "cpu", 0, 2 * BLOCK, &error), &error); // what is made stays
    demand(decode(first, 1, "cpu", 0, BLOCK, &error), &error);
    unsigned before = builds;
    demand(decode(second, 0, "cpu", 0, ROWS, &error), &error);
    CHECK(builds == before + 1, "%u builds", builds - before);
    demand(decode(first, 0, "cpu", 0, ROWS, &error), &error);
    cost = 0;
    zf_container_close(first);
    zf_container_close(second);
    end(&w);
}

static bool ends_between_passes;
bool __wrap_zf_jit_ends_between_passes(void);
bool __wrap_zf_jit_ends_between_passes(void) { return ends_between_passes; }

static void count_line(void *user, zf_log_level level, const char *line) {
    if (level == ZF_LOG_WARNING && strstr(line, "compile budget") != NULL) ++*(unsigned *)user;
}

/// Where LLVM cannot be made to end early, a compiler with a budget says so once.
static void test_missing_gate(void) {
    static const struct {
        bool ends;
        double budget;
        unsigned lines;
    } rows[] = {{true, 0, 0}, {false, 0, 1}, {false, 3, 1}, {false, INFINITY, 0}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        unsigned lines = 0;
        zf_error error = {0};
        zf_context *context = NULL;
        zf_compiler *compiler = NULL;
        zf_compiler_options options = {ZF_INIT(zf_compiler_options), .compile_budget = rows[k].budget};
        ends_between_passes = rows[k].ends;
        demand(zf_context_create(&(zf_context_options){.cache_dir = "", .log = count_line, .log_user = &lines}, &context, &error),
               &error);
        demand(zf_compiler_create(context, &options, &compiler, &error), &error);
        CHECK(lines == rows[k].lines, "row %zu: %u lines", k, lines);
        zf_compiler_free(compiler);
        zf_context_free(context);
    }
    ends_between_passes = true;
}

int main(void) {
    if (!scratch_begin("compile-budget")) return 1;
    for (uint64_t k = 0; k < ROWS; k++) values[k] = (int32_t)(k * 2654435761u >> 7) & ((2 << 4 * (k / BLOCK)) - 1);
    for (uint64_t k = 0; k < ROWS; k += BLOCK) values[k] = (2 << 4 * (k / BLOCK)) - 1, values[k + 1] = 0;
    world w = begin(0, "");
    zf_program *program = load(&w);
    zf_error error = {0};
    demand(encode(program, place("t.zfd"), &error), &error);
    zf_program_free(program);
    end(&w);
    test_options();
    test_nothing();
    test_sum();
    test_missing_gate();
    scratch_remove(scratch);
    return check_result();
}
