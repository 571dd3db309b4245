// Links: zipflow-compiler zipflow-emu
// A thread with a stack as small as those of musl and of some JVMs reads text of the deepest nesting, encodes, compiles and
// decodes.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/text.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"
#include "zipflow/emulator.h"

#ifdef ZF_SANITIZE
enum { STACK_BYTES = 512 << 10 }; // whose frames are several times as large
#else
enum { STACK_BYTES = 128 << 10 };
#endif
enum { ROWS = 5000, NESTING = 100, TOO_DEEP = 5000 };

static char directory[] = "/tmp/zf-small-stack-XXXXXX";

static const char *write_file(const char *name, unsigned nesting) {
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (file == NULL) exit(1);
    fputs("algorithm nested(a: i64[]) -> i64[] fully_parallel {\n    decode(i) = ", file);
    for (unsigned k = 0; k < nesting; k++) fputs("(1 + ", file);
    fputs("a[i]", file);
    for (unsigned k = 0; k < nesting; k++) fputs(")", file);
    fprintf(file,
            ";\n    encode(x) { for v in x { a.push(v - %u); } }\n}\ntable t { c: i64 = nested(delta(zigzag(bitpack))); }\n",
            nesting);
    fclose(file);
    return path;
}

static void decode(zf_context *context, const char *path, const char *device, const int64_t *rows) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(zf_container_open(context, path, &container, &error) == ZF_OK, "%s", error.message);
    if (container == NULL) return;
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    CHECK(zf_decode_size(container, 0, NULL, &sizes, &error) == ZF_OK, "%s", error.message);
    int64_t *out = aligned_alloc(64, (size_t)sizes.values / 64 * 64 + 64);
    void *workspace = aligned_alloc(64, sizes.workspace / 64 * 64 + 64);
    zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .values = out, .workspace = workspace, ZF_DECODE_BYTES(sizes)};
    zf_status status = zf_decode(container, 0, device, NULL, &buffers, NULL, &error);
    CHECK(status == ZF_OK, "%s: %s %s", device, error.code, error.message);
    CHECK(status != ZF_OK || memcmp(out, rows, ROWS * sizeof *out) == 0, "%s: rows", device);
    free(out);
    free(workspace);
    zf_container_close(container);
}

static void *small(void *unused) {
    (void)unused;
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    static int64_t rows[ROWS];
    for (int k = 0; k < ROWS; k++) rows[k] = (int64_t)k * k;
    CHECK(zf_context_create(&(zf_context_options){ZF_INIT(zf_context_options), .cache_dir = "", .threads = 2}, &context,
                            &error) == ZF_OK,
          "%s", error.message);
    zf_emulator_register(context, NULL);
    zf_compiler_options options = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    if (compiler == NULL) return NULL;

    zf_status status = zf_program_load(compiler, write_file("deep.zf", TOO_DEEP), &program, &error);
    CHECK(status == ZF_ERR_INPUT, "%s %s", error.code, error.message);
    zf_program_free(program);

    status = zf_program_load(compiler, write_file("t.zf", NESTING), &program, &error);
    CHECK(status == ZF_OK, "%s %s (%s)", error.code, error.message, error.place);
    char path[64];
    snprintf(path, sizeof path, "%s/t.zfd", directory);
    zf_encode_column column = {.name = "c", .values = rows};
    if (status == ZF_OK) {
        CHECK(zf_encode(program, NULL, &column, 1, ROWS, NULL, path, NULL, &error) == ZF_OK, "%s %s", error.code, error.message);
        decode(context, path, "cpu", rows);
        decode(context, path, "emu", rows);
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return NULL;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    if (mkdtemp(directory) == NULL) return 1;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0, "a stack of that size");
    CHECK(pthread_create(&thread, &attributes, small, NULL) == 0, "a thread");
    pthread_join(thread, NULL);
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command) == 0 ? check_result() : 1;
}
