// Links: zipflow-compiler
// Kernels with large arrays, one and four of them fused, decode for callers whose stacks are as small as memory.md promises, and
// in a pipeline whose threads would be as small by default.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"
#include "zipflow/pipeline.h"

#ifdef ZF_SANITIZE
enum { STACK_BYTES = 512 << 10 }; // whose frames are several times as large
#else
enum { STACK_BYTES = 128 << 10 };
#endif
#ifdef __x86_64__
enum { WAYS = 2 };
#else
enum { WAYS = 1 }; // modules hold code for x86-64
#endif
enum { ROWS = 40, COLUMNS = 2 };

// `same` gives its argument back, by an array of 64 KB that no optimisation sees through.
static const char program_text[] = "algorithm big(s: u64[]) -> u64[] fully_parallel {\n"
                                   "    fn same(v: u64) -> u64 {\n"
                                   "        var a: u64[8000];\n"
                                   "        for k in 0..8000 { a[k] = v + k ^ v; }\n"
                                   "        let at = v * 31 % 8000;\n"
                                   "        return (a[at] ^ v) - at;\n"
                                   "    }\n"
                                   "    decode(i) = same(s[i]);\n"
                                   "    encode(x) { for v in x { s.push(v); } }\n"
                                   "}\n"
                                   "table t { one: u64 = big; four: u64 = big(big(big(big))); }\n";

static uint64_t rows[ROWS], decoded[COLUMNS][ROWS] __attribute__((aligned(64)));
static zf_context *context;
static zf_container *container;

static void check_rows(size_t column, const char *way) {
    CHECK(memcmp(decoded[column], rows, sizeof rows) == 0, "%s, column %zu: rows", way, column);
    memset(decoded[column], 0xa5, sizeof rows);
}

static zf_decode_buffers buffers_for(size_t column) {
    zf_error error = {0};
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    CHECK(zf_decode_size(container, column, NULL, &sizes, &error) == ZF_OK, "%s", error.message);
    return (zf_decode_buffers){ZF_INIT(zf_decode_buffers), .values = decoded[column],
                               .workspace = aligned_alloc(64, sizes.workspace / 64 * 64 + 64), ZF_DECODE_BYTES(sizes)};
}

static void by_decode(unsigned threads) {
    for (size_t column = 0; column < COLUMNS; column++) {
        zf_error error = {0};
        zf_decode_buffers buffers = buffers_for(column);
        zf_decode_options options = {ZF_INIT(zf_decode_options), .threads = threads};
        zf_status status = zf_decode(container, column, "cpu", &options, &buffers, NULL, &error);
        CHECK(status == ZF_OK, "%s %s", error.code, error.message);
        check_rows(column, "decode");
        free(buffers.workspace);
    }
}

static void by_pipeline(void) {
    zf_error error = {0};
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    zf_pipeline_request requests[COLUMNS];
    CHECK(zf_pipeline_create(context, "cpu", NULL, &pipeline, &error) == ZF_OK, "%s", error.message);
    for (size_t column = 0; column < COLUMNS; column++)
        requests[column] = (zf_pipeline_request){ZF_INIT(zf_pipeline_request), .container = container, .column = column,
                                                 .host = buffers_for(column)};
    CHECK(zf_batch_create(pipeline, requests, COLUMNS, &batch, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
    for (size_t column = 0; column < COLUMNS; column++) {
        CHECK(zf_batch_wait(batch, column, &error) == ZF_OK, "%s %s", error.code, error.message);
        check_rows(column, "pipeline");
    }
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
    for (size_t column = 0; column < COLUMNS; column++) free(requests[column].host.workspace);
}

/// With the compiler's code, then with that of a module.
static void *small(void *unused) {
    (void)unused;
    zf_error error = {0};
    const char *path = place("t.zfd"), *module = place("t.zfm");
    for (int by_module = 0; by_module < WAYS; by_module++) {
        zf_compiler *compiler = NULL;
        zf_module *loaded = NULL;
        zf_context_options options = {ZF_INIT(zf_context_options), .cache_dir = scratch, .threads = 2};
        CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
        if (by_module == 0) {
            zf_compiler_options compiling = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std"};
            zf_program *program = NULL;
            CHECK(zf_compiler_create(context, &compiling, &compiler, &error) == ZF_OK, "%s", error.message);
            CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s %s", error.message, error.place);
            zf_encode_column columns[COLUMNS] = {{.name = "one", .values = rows}, {.name = "four", .values = rows}};
            zf_status status = zf_encode(program, NULL, columns, COLUMNS, ROWS, NULL, path, NULL, &error);
            CHECK(status == ZF_OK, "%s %s", error.code, error.message);
            zf_module_options host = {ZF_INIT(zf_module_options), .no_nvptx = true};
            status = zf_module_compile(program, NULL, &host, module, NULL, &error);
            CHECK(status == ZF_OK, "%s %s", error.code, error.message);
            zf_program_free(program);
        } else {
            CHECK(zf_module_load(context, module, &loaded, &error) == ZF_OK, "%s %s", error.code, error.message);
        }
        CHECK(zf_container_open(context, path, &container, &error) == ZF_OK, "%s", error.message);
        if (container == NULL) return NULL;
        by_decode(1);
        by_decode(2);
        by_pipeline();
        zf_container_close(container);
        zf_module_free(loaded);
        zf_compiler_free(compiler);
        zf_context_free(context);
    }
    return NULL;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    if (!scratch_begin("kernel-stacks")) return 1;
    FILE *file = fopen(place("t.zf"), "w");
    if (file == NULL || fputs(program_text, file) < 0 || fclose(file) != 0) return 1;
    for (uint64_t k = 0; k < ROWS; k++) rows[k] = k * k * 0x9e3779b97f4a7c15;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0, "a stack of that size");
    CHECK(pthread_setattr_default_np(&attributes) == 0, "a default of that size");
    CHECK(pthread_create(&thread, &attributes, small, NULL) == 0, "a thread");
    pthread_join(thread, NULL);
    scratch_remove(scratch);
    CHECK(access(scratch, F_OK) != 0, "something is left in %s", scratch);
    return check_result();
}
