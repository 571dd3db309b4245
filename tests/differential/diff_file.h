// A column through the public interface: encoded to a file, decoded from it.
#ifndef ZF_TESTS_DIFF_FILE_H
#define ZF_TESTS_DIFF_FILE_H

#include "tests/differential/diff_encode.h"

/// Rows of a column as zf_encode takes them.
typedef struct diff_plain {
    uint8_t *values;   ///< booleans: a byte each; strings: the characters; 0 for nulls
    int64_t *offsets;  ///< strings: rows + 1; else NULL
    uint8_t *validity; ///< nullable columns: a bit a row; else NULL
} diff_plain;

diff_plain diff_plain_of(const interp_stream *plain);
void diff_plain_free(diff_plain *plain);

/// The result of a file.
typedef struct diff_file {
    uint8_t *bytes; ///< decoded: (rows * bits + 7) / 8 of them
    uint64_t size;
    uint8_t *validity; ///< nullable columns: (rows + 7) / 8
    int64_t *offsets;  ///< strings: rows + 1; `bytes` are then the characters
    zf_decode_stats stats;
    uint8_t *stored; ///< of the file: its blocks, without what the index says in words
    uint64_t stored_size;
} diff_file;

/// Encodes the rows of the only column of table `table`, opens the file anew and decodes it. False with *message.
bool diff_file_run(const diff_program *p, const diff_machine *m, unsigned level, const char *table, const char *column,
                   const interp_stream *plain, uint64_t rows_per_block, diff_file *out, zf_text *message);
/// Whether that is the column, bit for bit, with 0 for nulls and spare bits.
bool diff_file_same(const diff_file *file, const interp_stream *plain);
void diff_file_free(diff_file *file);

#endif
