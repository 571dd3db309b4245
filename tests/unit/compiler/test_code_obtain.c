// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Code ahead of decodes: what is got, once each, over threads; that decodes then ask for nothing more; that what cannot be had is
// told of by the decode that wants it, with the error that it would give anyway.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/compiler.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/passes.h"
#include "runtime/context/context.h"
#include "tests/support/emulated.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { ROWS_PER_BLOCK = 4096, WIDTHS = 11, ROWS = ROWS_PER_BLOCK * WIDTHS, COLUMNS = 3 };

static int32_t values[COLUMNS][ROWS];
static char directory[] = "/tmp/zipflow-test-XXXXXX", file[128], cache[128];

typedef struct world {
    zf_passes *passes;
    zf_context *context;
    zf_compiler *compiler;
    zf_container *container;
} world;

static world open_world(const char *cache_dir, const char *path) {
    world w = {.passes = zf_passes_create()};
    zf_error error = {0};
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = cache_dir, .threads = 3}, &w.context, &error) == ZF_OK, "%s",
          error.message);
    zf_context_set_passes(w.context, w.passes);
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1};
    CHECK(zf_compiler_create(w.context, &options, &w.compiler, &error) == ZF_OK, "%s", error.message);
    if (path != NULL) CHECK(zf_container_open(w.context, path, &w.container, &error) == ZF_OK, "%s", error.message);
    return w;
}

static void close_world(world *w) {
    zf_container_close(w->container);
    zf_compiler_free(w->compiler);
    zf_context_free(w->context);
    zf_passes_free(w->passes);
}

static zf_jit_stats made(const world *w) { return zf_jit_get_stats(zf_compiler_jit(w->compiler)); }

/// `a` has blocks of 1 to 11 bits, `b` of one width, `c` of three.
static void write_file(void) {
    static const unsigned widths[COLUMNS] = {WIDTHS, 1, 3};
    char source[128];
    snprintf(source, sizeof source, "%s/t.zf", directory);
    FILE *f = fopen(source, "w");
    fputs("table t { a: i32 = bitpack; b: i32 = bitpack; c: i32 = bitpack; }\n", f);
    fclose(f);
    for (unsigned c = 0; c < COLUMNS; c++) {
        for (uint64_t k = 0; k < ROWS; k++) {
            unsigned width = (unsigned)(k / ROWS_PER_BLOCK) % widths[c] + 1;
            uint32_t mask = (1u << width) - 1, value = (uint32_t)(k * 2654435761u >> 7) & mask;
            values[c][k] = (int32_t)(k % ROWS_PER_BLOCK == 0 ? mask : k % ROWS_PER_BLOCK == 1 ? 0 : value);
        }
    }
    world w = open_world("", NULL);
    zf_program *program = NULL;
    zf_error error = {0};
    CHECK(zf_program_load(w.compiler, source, &program, &error) == ZF_OK, "%s", error.message);
    zf_encode_column columns[] = {
        {.name = "a", .values = values[0]}, {.name = "b", .values = values[1]}, {.name = "c", .values = values[2]}};
    zf_encode_options options = {.rows_per_block = ROWS_PER_BLOCK, .overwrite = true};
    CHECK(zf_encode(program, "t", columns, COLUMNS, ROWS, &options, file, NULL, &error) == ZF_OK, "%s", error.message);
    zf_program_free(program);
    close_world(&w);
}

static zf_status decode(const world *w, size_t column, const char *device, const zf_decode_options *options,
                        zf_decode_stats *stats, zf_error *error) {
    uint64_t count = options->some_rows ? options->row_count : ROWS, begin = options->some_rows ? options->row_begin : 0;
    zf_decode_sizes sizes = {0};
    zf_status status = zf_decode_size(w->container, column, options, &sizes, error);
    if (status != ZF_OK) return status;
    int32_t *out = aligned_alloc(64, (sizes.values + 127) / 64 * 64);
    void *work = aligned_alloc(64, (sizes.workspace + 127) / 64 * 64);
    memset(out, 0xa5, sizes.values);
    zf_decode_buffers buffers = {.values = out, .workspace = work, ZF_DECODE_BYTES(sizes)};
    status = zf_decode(w->container, column, device, options, &buffers, stats, error);
    if (status == ZF_OK) CHECK(memcmp(out, values[column] + begin, 4 * count) == 0, "column %zu of %s", column, device);
    free(out);
    free(work);
    return status;
}

static void all_requests(const world *w, zf_code_request out[COLUMNS]) {
    for (size_t c = 0; c < COLUMNS; c++) out[c] = (zf_code_request){.container = w->container, .column = c};
}

/// Cold, then from the cache, on every number of threads: eight tuples and the general form of `a`, one code of `b`, three of
/// `c`.
static void test_all(const char *device, unsigned threads) {
    static const uint64_t wanted[COLUMNS] = {9, 1, 3};
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", cache);
    CHECK(system(command) == 0, "the cache stays");
    for (int turn = 0; turn < 2; turn++) {
        world w = open_world(cache, file);
        zf_code_request requests[COLUMNS] = {0};
        zf_code_stats each[COLUMNS] = {0}, all = {0};
        zf_error error = {0};
        all_requests(&w, requests);
        CHECK(zf_code_obtain(w.context, device, requests, COLUMNS, threads, each, &all, &error) == ZF_OK, "%s", error.message);
        uint64_t sum = 0;
        for (size_t c = 0; c < COLUMNS; c++) {
            CHECK(each[c].codes == wanted[c], "%s, %u threads: %llu codes of column %zu", device, threads, (ull)each[c].codes, c);
            CHECK(each[c].compiled + each[c].cached == each[c].codes, "of column %zu", c);
            CHECK(each[c].compile_seconds > 0 && each[c].load_seconds >= 0, "%g", each[c].compile_seconds);
            sum += each[c].codes;
        }
        CHECK(all.codes == sum && all.compiled + all.cached == sum && (turn == 0 ? all.compiled >= wanted[0] : all.cached == sum),
              "%llu compiled, %llu cached", (ull)all.compiled,
              (ull)all.cached); // columns of one codec share code, once it is there
        CHECK((strcmp(device, "cpu") == 0) == (all.load_seconds == 0), "%g s of loading", all.load_seconds);
        zf_jit_stats before = made(&w), after;
        for (size_t c = 0; c < COLUMNS; c++) {
            zf_decode_stats stats = {0};
            CHECK(decode(&w, c, device, &(zf_decode_options){0}, &stats, &error) == ZF_OK, "%s", error.message);
            CHECK(stats.codes == wanted[c] && stats.compiled + stats.cached == stats.codes, "%llu codes", (ull)stats.codes);
            CHECK(turn == 0 || stats.compiled == 0, "%llu compiled", (ull)stats.compiled);
        }
        after = made(&w);
        CHECK(after.compiled == before.compiled && after.cached == before.cached, "%s, %u threads: decodes asked for more",
              device, threads);
        close_world(&w);
    }
}

static void test_rows(void) {
    world w = open_world("", file);
    zf_error error = {0};
    zf_code_stats all = {0};
    zf_code_request request = {.container = w.container,
                               .options = {.some_rows = true, .row_begin = 2 * ROWS_PER_BLOCK, .row_count = ROWS_PER_BLOCK}};
    CHECK(zf_code_obtain(w.context, "cpu", &request, 1, 0, NULL, &all, &error) == ZF_OK && all.codes == 1,
          "one block has one width");
    request.options.row_count = 0;
    CHECK(zf_code_obtain(w.context, "cpu", &request, 1, 0, NULL, &all, &error) == ZF_OK && all.codes == 0,
          "no rows want no code");
    CHECK(zf_code_obtain(w.context, "cpu", NULL, 0, 0, NULL, &all, &error) == ZF_OK && all.codes == 0, "nothing is wanted");
    zf_code_request twice[] = {{.container = w.container, .column = 1}, {.container = w.container, .column = 1}};
    zf_code_stats each[2] = {0};
    CHECK(zf_code_obtain(w.context, "cpu", twice, 2, 0, each, &all, &error) == ZF_OK && each[0].codes == 1 &&
              each[1].codes == 1 && all.codes == 2,
          "counted request by request: %llu", (ull)all.codes);
    CHECK(zf_code_obtain(w.context, "cpu", &request, 1, 0, NULL, NULL, NULL) == ZF_OK, "nobody asks what it took");
    close_world(&w);
}

static void test_what_is_no_error_here(void) {
    world w = open_world("", file);
    zf_error error = {0};
    zf_code_stats all = {0};
    zf_code_request requests[] = {
        {.container = w.container, .column = 99},
        {.container = w.container, .options = {.some_rows = true, .row_begin = ROWS + 1, .row_count = 1}},
        {.container = w.container, .column = 1},
    };
    CHECK(zf_code_obtain(w.context, "cpu", requests, 3, 2, NULL, &all, &error) == ZF_OK && all.codes == 1, "the third is good");
    zf_decode_stats stats = {0};
    CHECK(decode(&w, 99, "cpu", &(zf_decode_options){0}, &stats, &error) != ZF_OK, "its decode tells");
    close_world(&w);
    w = open_world("", file); // without a compiler there is no code
    zf_compiler_free(w.compiler);
    w.compiler = NULL;
    CHECK(zf_code_obtain(w.context, "cpu", &(zf_code_request){.container = w.container}, 1, 2, NULL, &all, &error) == ZF_OK &&
              all.codes == 0,
          "nobody gives code");
    CHECK(decode(&w, 0, "cpu", &(zf_decode_options){0}, &stats, &error) == ZF_ERR_UNSUPPORTED &&
              zf_error_is(&error, ZF_E_NO_CODE),
          "%s", error.message);
    close_world(&w);
}

static void test_errors(void) {
    world w = open_world("", file), other = open_world("", NULL);
    zf_code_request request = {.container = w.container};
    zf_error error = {0};
    CHECK(zf_code_obtain(NULL, "cpu", &request, 1, 0, NULL, NULL, &error) == ZF_ERR_USAGE, "%s", error.message);
    CHECK(zf_code_obtain(w.context, "cpu", NULL, 1, 0, NULL, NULL, &error) == ZF_ERR_USAGE, "%s", error.message);
    CHECK(zf_code_obtain(w.context, "cpu", &(zf_code_request){0}, 1, 0, NULL, NULL, &error) == ZF_ERR_USAGE, "%s", error.message);
    CHECK(zf_code_obtain(other.context, "cpu", &request, 1, 0, NULL, NULL, &error) == ZF_ERR_USAGE, "%s", error.message);
    zf_code_stats stats[2], zero = {ZF_INIT(zf_code_stats)}; // each and all
    memset(stats, 0xa5, sizeof stats);
    stats[0].size = stats[1].size = sizeof zero;
    CHECK(zf_code_obtain(w.context, "abacus", &request, 1, 0, &stats[0], &stats[1], &error) != ZF_OK &&
              zf_error_is(&error, ZF_E_UNKNOWN_DEVICE),
          "%s", error.message);
    CHECK(memcmp(&stats[0], &zero, sizeof zero) == 0 && memcmp(&stats[1], &zero, sizeof zero) == 0, "no such device");
    memset(stats, 0xa5, sizeof stats);
    stats[0].size = stats[1].size = sizeof zero;
    CHECK(zf_code_obtain(other.context, "cpu", &request, 1, 0, &stats[0], &stats[1], &error) == ZF_ERR_USAGE, "%s",
          error.message);
    CHECK(memcmp(&stats[0], &zero, sizeof zero) == 0 && memcmp(&stats[1], &zero, sizeof zero) == 0, "another context");
    close_world(&other);
    close_world(&w);
}

int main(void) {
    if (mkdtemp(directory) == NULL) return 77;
    snprintf(file, sizeof file, "%s/t.zfd", directory);
    snprintf(cache, sizeof cache, "%s/cache", directory);
    write_file();
    for (unsigned threads = 1; threads <= 5; threads += 2) test_all("cpu", threads);
    test_all("emu", 3);
    test_rows();
    test_what_is_no_error_here();
    test_errors();
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    CHECK(system(command) == 0, "%s stays", directory);
    return check_result();
}
