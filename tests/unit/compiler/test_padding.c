// Links: zipflow-compiler zipflow-emu
// The work buffers behind whose elements nothing is cleared (zf_abi_work): of nullable elements; of elements that hold the
// column's; of the column's characters. On the emulated GPUs no kernel reads there.
#include <stdlib.h>
#include <string.h>

#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

enum { COLUMNS = 3, CHARACTERS = 2, ROWS_MOST = 4097 };

static const char text[] =
    "algorithm backwards<T: integer>(values: T?[]) -> T[] fully_parallel {\n"
    "    decode(i) = values[values.len - 1 - i].value;\n"
    "    encode(x) {\n"
    "        for k in 0..x.len { values.push(x[x.len - 1 - k]); }\n"
    "    }\n"
    "}\n"
    "table t {\n"
    "    nulls:      u8     = backwards(nullable(plain, plain));\n"
    "    unpacked:   u8     = bitpack(packed: u8[] = tans(slots: tans_slots(tans_symbols), chunk: 1000));\n"
    "    characters: string = strings(lengths: bitpack, bytes: rans(slots: rans_slots, chunk: 1000));\n"
    "}\n";
static uint8_t values[ROWS_MOST];
static int64_t offsets[ROWS_MOST + 1];

static void decode(zf_container *container, size_t column, uint64_t rows, const char *device) {
    zf_error error = {0};
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    demand(zf_decode_size(container, column, NULL, &sizes, &error), &error);
    uint8_t *out = aligned_alloc(64, sizes.values / 64 * 64 + 64);
    int64_t *ends = aligned_alloc(64, sizes.offsets / 64 * 64 + 64);
    void *workspace = aligned_alloc(64, sizes.workspace / 64 * 64 + 64);
    zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .values = out, .offsets = column == CHARACTERS ? ends : NULL,
                                 .workspace = workspace, ZF_DECODE_BYTES(sizes)};
    zf_status status = zf_decode(container, column, device, NULL, &buffers, NULL, &error);
    CHECK(status == ZF_OK, "%s, column %zu, %d rows: %s %s", device, column, (int)rows, error.code, error.message);
    uint64_t bytes = column == CHARACTERS ? (uint64_t)offsets[rows] : rows;
    CHECK(status != ZF_OK || memcmp(out, values, bytes) == 0, "%s, column %zu, %d rows: bytes", device, column, (int)rows);
    free(out);
    free(ends);
    free(workspace);
}

int main(void) {
    static const uint64_t sizes[] = {1, 31, 32, 33, 127, 255, 257, 999, 1000, 1001, 4095, 4096, ROWS_MOST};
    static const zf_encode_column columns[COLUMNS] = {{.name = "nulls", .values = values},
                                                      {.name = "unpacked", .values = values},
                                                      {.name = "characters", .values = values, .offsets = offsets}};
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    if (!scratch_begin("padding")) return 1;
    for (uint64_t i = 0; i < ROWS_MOST; i++) {
        values[i] = (uint8_t)(i * i % 15 + 1); // four bits: of eight, whose coder stores the column
        offsets[i + 1] = offsets[i] + (i % 3 != 0);
    }
    demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error), &error);
    zf_compiler_options options = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1};
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    FILE *file = fopen(place("t.zf"), "w");
    fputs(text, file);
    fclose(file);
    demand(zf_program_load(compiler, place("t.zf"), &program, &error), &error);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        zf_container *container = NULL;
        zf_encode_options encoding = {.overwrite = true};
        demand(zf_encode(program, "t", columns, COLUMNS, sizes[k], &encoding, place("t.zfd"), NULL, &error), &error);
        demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
        for (size_t column = 0; column < COLUMNS; column++) {
            decode(container, column, sizes[k], "emu");
            if (k % 4 == 0) decode(container, column, sizes[k], "emu64");
        }
        zf_container_close(container);
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
