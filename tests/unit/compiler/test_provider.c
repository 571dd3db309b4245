// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime
// Code for containers: a kernel per tuple of shaping values up to eight, then one for all; many threads that want the same code
// at once; containers that come and go; the disk cache between compilers.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/compiler.h"
#include "runtime/context/context.h"
#include "tests/unit/check.h"

enum { ROWS_PER_BLOCK = 4096, WIDTHS = 13, ROWS = ROWS_PER_BLOCK * WIDTHS };

static int32_t values[ROWS];
static char directory[64], file[128], cache[128];

static zf_context *make_context(const char *cache_dir, unsigned threads) {
    zf_context *context = NULL;
    zf_context_options options = {.cache_dir = cache_dir, .threads = threads};
    zf_error error = {0};
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    return context;
}

static zf_compiler *compiler_of(zf_context *context, bool general_only, size_t tuples) {
    zf_compiler *compiler = NULL;
    zf_compiler_options options = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std",
                                   .general_only = general_only, .shaping_tuples = tuples};
    zf_error error = {0};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s %s", error.code, error.message);
    return compiler;
}

static zf_compiler *make_compiler(zf_context *context, bool general_only) { return compiler_of(context, general_only, 0); }

/// Encodes the values by a program of two columns.
static void encode_values(const char *text, const char *path) {
    char source[128];
    snprintf(source, sizeof(source), "%s/t.zf", directory);
    FILE *f = fopen(source, "w");
    fputs(text, f);
    fclose(f);
    zf_context *context = make_context("", 2);
    zf_compiler *compiler = make_compiler(context, false);
    zf_program *program = NULL;
    zf_error error = {0};
    CHECK(zf_program_load(compiler, source, &program, &error) == ZF_OK, "%s", error.message);
    zf_encode_column columns[2] = {{.name = "a", .values = values}, {.name = "b", .values = values}};
    zf_encode_options options = {.rows_per_block = ROWS_PER_BLOCK, .overwrite = true};
    CHECK(zf_encode(program, "t", columns, 2, ROWS, &options, path, NULL, &error) == ZF_OK, "%s %s", error.code, error.message);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
}

/// Blocks of 1, 2, 3, ... bits.
static void write_file(unsigned widths) {
    for (uint64_t k = 0; k < ROWS; k++) {
        unsigned width = (unsigned)(k / ROWS_PER_BLOCK) % widths + 1;
        values[k] =
            (int32_t)(k % ROWS_PER_BLOCK == 0 ? (1u << width) - 1 : (uint32_t)(k * 2654435761u >> 7) & ((1u << width) - 1));
        if (k % ROWS_PER_BLOCK == 1) values[k] = 0;
    }
    encode_values("table t { a: i32 = bitpack; b: i32 = delta(bitpack); }\n", file);
}

/// Decodes a column; returns how many kernels it took, 0 when anything is wrong.
static uint64_t decode(zf_container *container, size_t column, uint64_t begin, uint64_t count) {
    int32_t *out = aligned_alloc(64, (4 * ROWS + 63) / 64 * 64);
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count};
    zf_decode_sizes sizes = {0};
    zf_decode_stats stats = {0};
    zf_error error = {0};
    zf_status status = zf_decode_size(container, column, &options, &sizes, &error);
    void *work = sizes.workspace > 0 ? aligned_alloc(64, (sizes.workspace + 63) / 64 * 64) : NULL;
    zf_decode_buffers buffers = {.values = out, .workspace = work, ZF_DECODE_BYTES(sizes)};
    if (status == ZF_OK) status = zf_decode(container, column, "cpu", &options, &buffers, &stats, &error);
    if (status != ZF_OK) printf("%s %s (%s)\n", error.code, error.message, error.place);
    bool same = status == ZF_OK && memcmp(out, values + begin, 4 * count) == 0;
    free(out);
    free(work);
    return same ? stats.kernel_variants : 0;
}

static zf_container *open_path(zf_context *context, const char *path) {
    zf_container *container = NULL;
    zf_error error = {0};
    CHECK(zf_container_open(context, path, &container, &error) == ZF_OK, "%s", error.message);
    return container;
}

static zf_container *open_file(zf_context *context) { return open_path(context, file); }

static void test_variants(void) {
    for (unsigned widths = 3; widths <= WIDTHS; widths += 10) {
        write_file(widths);
        for (int general = 0; general < 2; general++) {
            zf_context *context = make_context("", 2);
            zf_compiler *compiler = make_compiler(context, general);
            zf_container *container = open_file(context);
            uint64_t wanted = general ? 1 : widths <= 8 ? widths : 9; // the ninth is the general form
            for (int again = 0; again < 2; again++) {
                uint64_t variants = decode(container, 0, 0, ROWS);
                CHECK(variants == wanted, "%llu variants of %u widths", (unsigned long long)variants, widths);
                CHECK(zf_jit_get_stats(zf_compiler_jit(compiler)).compiled == wanted, "%llu compiled for %u widths%s",
                      (unsigned long long)zf_jit_get_stats(zf_compiler_jit(compiler)).compiled, widths,
                      general ? ", general" : "");
            }
            CHECK(decode(container, 1, 0, ROWS) > 0, "column b");
            zf_container_close(container);
            zf_compiler_free(compiler);
            zf_context_free(context);
        }
    }
}

/// Code of their own have as many tuples as the option says, decoded as they come or obtained before.
static void test_limits(void) {
    static const size_t limits[] = {1, 2, 12, 13, ZF_TUPLES_MOST};
    write_file(WIDTHS);
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        uint64_t wanted = limits[k] < WIDTHS ? limits[k] + 1 : WIDTHS; // the general form is one more
        for (int obtained = 0; obtained < 2; obtained++) {
            zf_context *context = make_context("", 2);
            zf_compiler *compiler = compiler_of(context, false, limits[k]);
            zf_container *container = open_file(context);
            zf_code_request request = {.container = container};
            zf_code_stats stats = {0};
            zf_error error = {0};
            if (obtained) {
                CHECK(zf_code_obtain(context, "cpu", &request, 1, 2, NULL, &stats, &error) == ZF_OK, "%s", error.message);
                CHECK(stats.codes == wanted, "%llu codes obtained for a limit of %zu", (unsigned long long)stats.codes,
                      limits[k]);
            }
            uint64_t variants = decode(container, 0, 0, ROWS), compiled = zf_jit_get_stats(zf_compiler_jit(compiler)).compiled;
            CHECK(variants == wanted && compiled == wanted, "%llu variants, %llu compiled for a limit of %zu",
                  (unsigned long long)variants, (unsigned long long)compiled, limits[k]);
            zf_container_close(container);
            zf_compiler_free(compiler);
            zf_context_free(context);
        }
    }
}

// ---- Threads --------------------------------------------------------------------------------------------------

typedef struct worker {
    zf_container *container;
    unsigned number;
    bool good;
} worker;

static void *work(void *user) {
    worker *w = user;
    w->good = true;
    for (unsigned k = 0; k < 6; k++) {
        uint64_t begin = (w->number * 5003 + k * 7919) % (ROWS - 9000);
        if (decode(w->container, (w->number + k) % 2, begin, 9000) == 0) w->good = false;
    }
    return NULL;
}

static void test_threads(void) {
#ifdef ZF_SANITIZE
    int rounds = 1; // compiling is slow there
#else
    int rounds = 3;
#endif
    for (int round = 0; round < rounds; round++) {
        zf_context *context = make_context("", 2);
        zf_compiler *compiler = make_compiler(context, false);
        zf_container *container = open_file(context), *other = open_file(context);
        pthread_t threads[8];
        worker workers[8];
        for (unsigned k = 0; k < 8; k++) {
            workers[k] = (worker){.container = k % 4 == 3 ? other : container, .number = k};
            pthread_create(&threads[k], NULL, work, &workers[k]);
        }
        for (unsigned k = 0; k < 8; k++) {
            pthread_join(threads[k], NULL);
            CHECK(workers[k].good, "thread %u", k);
        }
        // Two columns of two containers, eight tuples and the general form each at most: no code was made twice.
        uint64_t compiled = zf_jit_get_stats(zf_compiler_jit(compiler)).compiled;
        CHECK(compiled <= 4 * 9, "%llu compiled", (unsigned long long)compiled);
        zf_container_close(other);
        CHECK(decode(container, 0, 100, 5000) > 0, "after another container was closed");
        zf_container_close(container);
        zf_compiler_free(compiler);
        zf_context_free(context);
    }
}

// ---- Lifetimes and the cache ----------------------------------------------------------------------------------

static void test_lifetimes(void) {
    // One thread: which eight tuples come first decides what is compiled.
    zf_context *context = make_context(cache, 1);
    zf_compiler *compiler = make_compiler(context, false);
    for (int round = 0; round < 4; round++) {
        zf_container *container = open_file(context);
        CHECK(decode(container, 0, 0, ROWS) > 0 && decode(container, 1, 1, ROWS - 1) > 0, "round %d", round);
        zf_container_close(container);
    }
    zf_jit_stats stats = zf_jit_get_stats(zf_compiler_jit(compiler));
    CHECK(stats.compiled > 0 && stats.cached == 0, "%llu compiled, %llu cached: decoders outlive the container",
          (unsigned long long)stats.compiled, (unsigned long long)stats.cached);
    zf_compiler_free(compiler);
    zf_context_free(context);

    context = make_context(cache, 1); // another compiler finds what the first one kept
    compiler = make_compiler(context, false);
    zf_container *container = open_file(context);
    CHECK(decode(container, 0, 0, ROWS) > 0, "from the cache");
    stats = zf_jit_get_stats(zf_compiler_jit(compiler));
    CHECK(stats.compiled == 0 && stats.cached > 0, "%llu compiled, %llu cached", (unsigned long long)stats.compiled,
          (unsigned long long)stats.cached);
    zf_container_close(container);
    zf_compiler_free(compiler);

    // Without a compiler there is no code, and that is said.
    container = open_file(context);
    int32_t *out = aligned_alloc(64, 4 * ROWS);
    zf_decode_buffers buffers = {.values = out, .values_bytes = 4 * ROWS};
    zf_error error = {0};
    CHECK(zf_decode(container, 0, "cpu", NULL, &buffers, NULL, &error) == ZF_ERR_UNSUPPORTED, "%s", error.message);
    CHECK(strcmp(error.code, "ZF1401") == 0, "%s", error.code);
    free(out);
    zf_container_close(container);
    zf_context_free(context);
}

/// A container at the address of one that the compiler was not told to forget has code of its own.
static void test_addresses(void) {
    enum { CONTAINERS = 16 };
    static const char algorithm[] = "algorithm add<T: integer>(a: T[]) -> T[] fully_parallel {\n"
                                    "    decode(i) = a[i] + %d;\n"
                                    "    encode(x) { for v in x { a.push(v - %d); } }\n"
                                    "}\n"
                                    "table t { a: i32 = add; b: i32 = bitpack; }\n";
    char paths[2][160], text[512];
    for (int k = 0; k < 2; k++) {
        snprintf(paths[k], sizeof paths[k], "%s/add%d.zfd", directory, k);
        snprintf(text, sizeof text, algorithm, k + 1, k + 1);
        encode_values(text, paths[k]);
    }
    zf_context *context = make_context("", 1);
    zf_compiler *compiler = make_compiler(context, false);
    zf_container *containers[CONTAINERS];
    zf_abi_provider provider;
    zf_error error = {0};
    for (int k = 0; k < CONTAINERS; k++) {
        containers[k] = open_path(context, paths[0]);
        CHECK(decode(containers[k], 0, 0, ROWS) > 0, "container %d of one codec", k);
    }
    CHECK(zf_context_provider(context, &provider), "the compiler is no provider");
    CHECK(zf_context_set_provider(context, NULL, &error) == ZF_OK, "%s", error.message);
    for (int k = 0; k < CONTAINERS; k++) zf_container_close(containers[k]);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    for (int k = 0; k < CONTAINERS; k++) {
        containers[k] = open_path(context, paths[1]);
        CHECK(decode(containers[k], 0, 0, ROWS) > 0, "container %d of another codec", k);
    }
    for (int k = 0; k < CONTAINERS; k++) zf_container_close(containers[k]);
    zf_compiler_free(compiler);
    zf_context_free(context);
}

/// A second compiler of a context is refused, and the first goes on.
static void test_second_compiler(void) {
    zf_context *context = make_context("", 1);
    zf_compiler *first = make_compiler(context, false), *second = NULL;
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &options, &second, &error) == ZF_ERR_USAGE && second == NULL, "a second compiler");
    CHECK(strcmp(error.code, "ZF1101") == 0 && strstr(error.message, "already has a compiler") != NULL && error.hint[0] != 0,
          "%s %s", error.code, error.message);
    zf_container *container = open_file(context);
    CHECK(decode(container, 0, 0, ROWS) > 0, "by the first compiler");
    zf_container_close(container);
    zf_compiler_free(first);
    second = make_compiler(context, false);
    container = open_file(context);
    CHECK(decode(container, 0, 0, ROWS) > 0, "by the second compiler, after the first");
    zf_container_close(container);
    zf_compiler_free(second);
    zf_context_free(context);
}

static void test_usage(void) {
    zf_context *context = make_context("", 2);
    zf_compiler *compiler = NULL;
    zf_error error = {0};
    CHECK(zf_compiler_create(NULL, NULL, &compiler, &error) == ZF_ERR_USAGE && compiler == NULL, "no context");
    zf_compiler_options options = {.optimise = 5};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_ERR_USAGE && compiler == NULL, "level 5");
    options = (zf_compiler_options){.chunk_threads = 16};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_ERR_USAGE && compiler == NULL, "16 threads a chunk");
    options = (zf_compiler_options){ZF_INIT(zf_compiler_options), .shaping_tuples = ZF_TUPLES_MOST + 1};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_ERR_USAGE && compiler == NULL, "257 tuples");
    CHECK(strstr(error.message, "shaping_tuples") != NULL, "%s", error.message);
    CHECK(strncmp(zf_compiler_llvm_version(), "19.", 3) == 0, "%s", zf_compiler_llvm_version());
    CHECK(strcmp(zf_compiler_targets(), "host emu emu64 nvptx") == 0, "%s", zf_compiler_targets());
    zf_compiler_free(NULL);
    zf_context_free(context);
}

int main(void) {
    snprintf(directory, sizeof(directory), "/tmp/zf-test-provider-XXXXXX");
    if (mkdtemp(directory) == NULL) return 1;
    snprintf(file, sizeof(file), "%s/t.zfd", directory);
    snprintf(cache, sizeof(cache), "%s/cache", directory);
    test_usage();
    test_variants();
    test_limits();
    test_threads();
    test_lifetimes();
    test_addresses();
    test_second_compiler();
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    if (system(command) != 0) printf("cannot remove %s\n", directory);
    return check_result();
}
