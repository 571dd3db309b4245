// Links: zipflow-compiler
// Where characters go on a CPU: to the column at once where all of a block's are wanted and it has no more of them, else by way
// of a buffer. The memory that a decode works in tells: it has none of the rows in the first case.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int main(void) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    write_file();
    CHECK(zf_container_open(context, file, &container, &error) == ZF_OK, "%s", error.message);
    for (unsigned threads = 1; threads <= 2; threads++) {
        CHECK(!lies_in_between(container, 0, 0, ROWS, threads), "all characters, and a buffer");
        CHECK(lies_in_between(container, 0, 1, ROWS - 1, threads), "some rows, and no buffer");
        CHECK(lies_in_between(container, 0, 0, ROWS - 1, threads), "some rows, and no buffer");
        CHECK(lies_in_between(container, 1, 0, ROWS, threads), "more characters than the column has, and no buffer");
    }
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    unlink(source);
    unlink(file);
    CHECK(rmdir(directory) == 0, "something was left in %s", directory);
    return check_result();
}
