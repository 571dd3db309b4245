// Links: zipflow-compiler zipflow-emu
// The buffers of decodes with a module that has code for GPUs only: as large as with the compiler, without workspace.
#include <stdlib.h>
#include <string.h>

#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"

enum { BLOCK = 4096, ROWS = 2 * BLOCK + 1000, LENGTH_MOST = 20, COLUMNS = 2 };

static const char text[] = "table t { names: string? = nullable(values: strings); numbers: i64 = bitpack; }\n";

static zf_context *context; ///< with the compiler

/// Writes t.zfd and a module without code for CPUs.
static void start(zf_compiler **compiler, zf_program **program) {
    static int64_t offsets[ROWS + 1], numbers[ROWS];
    static char characters[ROWS * LENGTH_MOST];
    static uint8_t validity[(ROWS + 7) / 8];
    zf_error error = {0};
    for (int64_t i = 0; i < ROWS; i++) {
        bool valid = i % 5 != 3;
        if (valid) validity[i / 8] |= (uint8_t)(1 << i % 8);
        offsets[i + 1] = offsets[i] + (valid ? i * 7 % LENGTH_MOST : 0);
        numbers[i] = i * 31 % 1000;
    }
    memset(characters, 'a', sizeof characters);
    const zf_encode_column columns[COLUMNS] = {{.name = "names", .values = characters, .offsets = offsets, .validity = validity},
                                               {.name = "numbers", .values = numbers}};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error), &error);
    demand(zf_compiler_create(context, &options, compiler, &error), &error);
    FILE *source = fopen(place("t.zf"), "w");
    CHECK(source != NULL && fputs(text, source) >= 0 && fclose(source) == 0, "t.zf");
    demand(zf_program_load(*compiler, place("t.zf"), program, &error), &error);
    demand(zf_encode(*program, "t", columns, COLUMNS, ROWS, &(zf_encode_options){.rows_per_block = BLOCK}, place("t.zfd"), NULL,
                     &error),
           &error);
    demand(zf_module_compile(*program, "t", &(zf_module_options){.no_host = true}, place("gpu.zfm"), NULL, &error), &error);
}

static zf_decode_sizes size(zf_container *container, size_t column, const zf_decode_options *options) {
    zf_error error = {0};
    zf_decode_sizes sizes = {0};
    demand(zf_decode_size(container, column, options, &sizes, &error), &error);
    return sizes;
}

static void compare(zf_container *with, zf_container *without) {
    static const struct {
        uint64_t begin, count;
        bool exact; ///< whole blocks
    } ranges[] = {{0, UINT64_MAX, true}, {BLOCK, BLOCK, true}, {100, 5000, false}, {BLOCK + 5, 3, false}, {ROWS, 0, true}};
    for (size_t column = 0; column < COLUMNS; column++) {
        for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
            zf_decode_options options = {.some_rows = true, .row_begin = ranges[r].begin, .row_count = ranges[r].count};
            zf_decode_sizes cpu = size(with, column, &options), gpu = size(without, column, &options);
            bool exact = ranges[r].exact || column == 1;
            CHECK(exact ? gpu.values == cpu.values : gpu.values >= cpu.values, "column %zu, range %zu: %zu bytes, %zu with code",
                  column, r, gpu.values, cpu.values);
            CHECK(gpu.offsets == cpu.offsets && gpu.validity == cpu.validity, "column %zu, range %zu: %zu bytes of offsets, %zu",
                  column, r, gpu.offsets, gpu.validity);
            CHECK(gpu.workspace == 0, "column %zu, range %zu: %zu bytes of workspace", column, r, gpu.workspace);
        }
    }
    CHECK(size(with, 0, NULL).workspace > 0, "a CPU needs no workspace");
}

int main(void) {
    if (!scratch_begin("decode-size")) return 2;
    zf_error error = {0};
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_context *bare = NULL;
    zf_module *module = NULL;
    zf_container *with = NULL, *without = NULL;
    start(&compiler, &program);
    demand(zf_container_open(context, place("t.zfd"), &with, &error), &error);
    demand(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &bare, &error), &error);
    demand(zf_module_load(bare, place("gpu.zfm"), &module, &error), &error);
    demand(zf_container_open(bare, place("t.zfd"), &without, &error), &error);
    compare(with, without);
    zf_container_close(without);
    zf_module_free(module);
    zf_context_free(bare);
    zf_container_close(with);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
