// Links: zipflow-compiler zipflow-emu
// Where characters go on a CPU: to the column at once where all of a block's are wanted and it has no more of them, else by way
// of a buffer. The memory that a decode works in tells: it has none of the rows in the first case. On an accelerator code that
// would read characters back from the column, as older modules may have it, is refused.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/context/context.h"
#include "tests/support/emulated.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

enum { ROWS = 3 * 4096 + 5, BYTES = 6, POISON = 0xcd };

static const char program_text[] =
    "algorithm padded(lengths: u32[], bytes: u8[]) -> string[] fully_parallel {\n"
    "    fn start(i) = sum(k in 0..i: lengths[k] as u64);\n"
    "    decode(i) = bytes[start(i) .. start(i) + lengths[i]];\n"
    "    encode(x) { for s in x { lengths.push(s.len as u32); bytes.append(s); } bytes.push(0); }\n"
    "}\n"
    "table t { alone: string = strings(lengths: bitpack, bytes: bitpack); more: string = padded(bytes: bitpack); }\n";

static char text[ROWS * BYTES + 1]; // s00000, s00001, ...
static int64_t offsets[ROWS + 1];
static char directory[] = "/tmp/zipflow-test-XXXXXX", source[64], file[64];
static zf_context *context;
static zf_compiler *compiler; // it serves the decodes, too

static void write_file(void) {
    for (int k = 0; k < ROWS; k++) snprintf(text + k * BYTES, BYTES + 1, "s%05d", k);
    for (int k = 0; k <= ROWS; k++) offsets[k] = (int64_t)k * BYTES;
    zf_error error = {0};
    zf_program *program = NULL;
    CHECK(mkdtemp(directory) != NULL, "a directory");
    snprintf(source, sizeof source, "%s/t.zf", directory);
    snprintf(file, sizeof file, "%s/t.zfd", directory);
    FILE *f = fopen(source, "w");
    fputs(program_text, f);
    fclose(f);
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_load(compiler, source, &program, &error) == ZF_OK, "%s", error.message);
    zf_encode_column columns[2] = {{.name = "alone", .values = text, .offsets = offsets},
                                   {.name = "more", .values = text, .offsets = offsets}};
    CHECK(zf_encode(program, NULL, columns, 2, ROWS, &(zf_encode_options){0}, file, NULL, &error) == ZF_OK, "%s at %s",
          error.message, error.place);
    zf_program_free(program);
}

/// Decodes rows and says whether the last of them lies in the memory that was worked in.
static bool lies_in_between(zf_container *container, size_t column, uint64_t begin, uint64_t count, unsigned threads) {
    zf_error error = {0};
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count, .threads = threads};
    zf_decode_sizes sizes = {0};
    CHECK(zf_decode_size(container, column, &options, &sizes, &error) == ZF_OK, "%s", error.message);
    zf_decode_buffers to = {.values = aligned_alloc(64, (sizes.values + 64) / 64 * 64),
                            .offsets = aligned_alloc(64, (sizes.offsets + 64) / 64 * 64),
                            .workspace = aligned_alloc(64, (sizes.workspace + 64) / 64 * 64),
                            ZF_DECODE_BYTES(sizes)};
    memset(to.values, POISON, sizes.values);
    memset(to.offsets, POISON, sizes.offsets);
    memset(to.workspace, POISON, sizes.workspace);
    CHECK(zf_decode(container, column, "cpu", &options, &to, NULL, &error) == ZF_OK, "%s at %s", error.message, error.place);
    CHECK(memcmp(to.values, text + begin * BYTES, count * BYTES) == 0, "column %zu, rows from %d: other characters", column,
          (int)begin);
    CHECK(memcmp(to.offsets, offsets, (count + 1) * sizeof *offsets) == 0, "column %zu: other offsets", column);
    bool lies = memmem(to.workspace, sizes.workspace, text + (begin + count - 1) * BYTES, BYTES) != NULL;
    free(to.values);
    free(to.offsets);
    free(to.workspace);
    return lies;
}

// ---- Code that reads characters back --------------------------------------------------------------------------

static zf_abi_provider compiled;
static const zf_abi_plan *honest;
static zf_abi_plan rereading; ///< `honest`, but that the kernel of the characters reads them

static zf_status plan(void *self, zf_container *container, size_t column, const uint8_t *branches, size_t count,
                      zf_abi_device device, const zf_abi_plan **out, zf_error *error) {
    static zf_abi_kernel kernels[8];
    zf_status status = compiled.plan(compiled.self, container, column, branches, count, device, out, error);
    (void)self;
    if (status != ZF_OK || device.target.family != ZF_TARGET_EMU) return status;
    honest = *out;
    rereading = *honest;
    CHECK(rereading.kernel_count <= 8, "%u kernels", rereading.kernel_count);
    memcpy(kernels, honest->kernels, rereading.kernel_count * sizeof *kernels);
    for (uint32_t k = 0; k < rereading.kernel_count; k++)
        kernels[k].rereads = kernels[k].sink >= 0 && rereading.works[kernels[k].sink].characters != 0;
    rereading.kernels = kernels;
    *out = &rereading;
    return ZF_OK;
}

static zf_status code(void *self, const zf_abi_plan *of, const uint64_t *shaping, const zf_abi_code **out, zf_error *error) {
    (void)self;
    return compiled.code(compiled.self, of == &rereading ? honest : of, shaping, out, error);
}

static void forget(void *self, zf_container *container) {
    (void)self;
    compiled.forget(compiled.self, container);
}

static void test_rereading(zf_container *container) {
    static uint64_t values[ROWS * BYTES / 8 + 8] __attribute__((aligned(64)));
    static int64_t ends[ROWS + 1];
    zf_decode_buffers to = {.values = values, .offsets = ends, .values_bytes = sizeof values, .offsets_bytes = sizeof ends};
    zf_abi_provider own = {.plan = plan, .code = code, .forget = forget};
    zf_error error = {0};
    CHECK(zf_decode(container, 0, "emu", NULL, &to, NULL, &error) == ZF_OK, "%s", error.message);
    CHECK(memcmp(values, text, ROWS * BYTES) == 0, "other characters");
    CHECK(zf_context_provider(context, &compiled), "no provider");
    CHECK(zf_context_set_provider(context, &own, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_decode(container, 0, "emu", NULL, &to, NULL, &error) == ZF_ERR_INTERNAL && strstr(error.message, "no place") != NULL,
          "%s: %s", error.code, error.message);
    CHECK(zf_context_set_provider(context, &compiled, &error) == ZF_OK, "%s", error.message);
}

int main(void) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    write_file();
    CHECK(zf_container_open(context, file, &container, &error) == ZF_OK, "%s", error.message);
    for (unsigned threads = 1; threads <= 2; threads++) {
        CHECK(!lies_in_between(container, 0, 0, ROWS, threads), "all characters, and a buffer");
        CHECK(lies_in_between(container, 0, 1, ROWS - 1, threads), "some rows, and no buffer");
        CHECK(lies_in_between(container, 0, 0, ROWS - 1, threads), "some rows, and no buffer");
        CHECK(lies_in_between(container, 1, 0, ROWS, threads), "more characters than the column has, and no buffer");
    }
    test_rereading(container);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    unlink(source);
    unlink(file);
    CHECK(rmdir(directory) == 0, "something was left in %s", directory);
    return check_result();
}
