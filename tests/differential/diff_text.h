// Columns of strings as the interpreter has them: their bytes.
#ifndef ZF_TESTS_DIFF_TEXT_H
#define ZF_TESTS_DIFF_TEXT_H

#include "tests/interp/interp.h"

/// The bytes of a string, or NULL for none.
const uint8_t *diff_text_of(const interp_stream *plain, uint64_t row, uint64_t *length);
/// The bytes of all strings together; 0 of another type.
uint64_t diff_characters(const interp_stream *plain);
/// Puts them one behind the other, and returns where each begins, and the end, in memory that the caller frees.
uint64_t *diff_texts(const interp_stream *plain, uint8_t *bytes);

#endif
