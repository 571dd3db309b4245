// Values of columns as text: parsing fields, printing elements.
#ifndef ZF_ZFC_VALUES_H
#define ZF_ZFC_VALUES_H

#include "runtime/base/text.h"
#include "zipflow/zipflow.h"

/// Returns the bytes of an element in a plain buffer: 1 of bool, 0 of string.
unsigned zf_element_size(zf_element element);

/// Parses one field as an element of `type` (not a string) into `out` (its size in bytes, little-endian; bool one byte).
/// Returns false with a reason ("not a date", "outside its type") if it does not parse, and with NULL without memory.
bool zf_parse_value(zf_column_type type, const char *text, size_t length, void *out, const char **reason);

/// Returns 10^precision, the limit of a decimal.
uint64_t zf_decimal_limit(zf_column_type type);

/// Appends an element as text: the shortest decimal that reads back to the same bits, dates as YYYY-MM-DD (years beyond 0..9999
/// with a sign).
void zf_print_value(zf_column_type type, const void *value, zf_text *out);

/// Writes a field as errors show it: bytes that a terminal would obey (zf_utf8_unshown) as \xNN. `out` has room for
/// 4 * length + 1 characters.
void zf_printable(const char *text, size_t length, char *out);

/// Returns "i32", "date32", "decimal": the ending of raw files and the kind of .npy arrays.
const char *zf_raw_ending(zf_column_type type);

#endif
