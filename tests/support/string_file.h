// A container of short strings and nulls in the test's directory, and its rows.
#ifndef ZF_TESTS_STRING_FILE_H
#define ZF_TESTS_STRING_FILE_H

#include "tests/support/scratch_directory.h"
#include "tests/support/short_strings.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

/// Fills the arrays with `rows` rows (short_strings.h) and encodes them as column `s` of t.zfd, the program being t.zf.
/// `rows_per_block`: 0 is the default.
static inline void string_file_write(zf_compiler *compiler, uint64_t rows, uint64_t rows_per_block, char *characters,
                                     int64_t *offsets, uint8_t *validity) {
    short_strings_fill(rows, characters, offsets, validity);
    FILE *source = fopen(place("t.zf"), "w");
    fputs("table t { s: string? = nullable(values: strings); }\n", source);
    fclose(source);
    zf_error error = {0};
    zf_program *program = NULL;
    CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s %s", error.message, error.place);
    zf_encode_column column = {.name = "s", .values = characters, .offsets = offsets, .validity = validity};
    zf_encode_options options = {.rows_per_block = rows_per_block};
    CHECK(zf_encode(program, "t", &column, 1, rows, &options, place("t.zfd"), NULL, &error) == ZF_OK, "%s %s", error.message,
          error.place);
    zf_program_free(program);
}

#endif
