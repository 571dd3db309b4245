// Arrow arrays as the library's encoder takes them: 64-bit offsets, a byte for each boolean, decimals of 64 bits, bitmaps from
// bit 0. Buffers that are so already are used in place.
#ifndef ZF_PYTHON_ARROW_IMPORT_H
#define ZF_PYTHON_ARROW_IMPORT_H

#include "python/extension/arrow_abi.h"
#include "python/extension/extension.h"
#include "zipflow/compile.h"

/// How a column's arrays are converted: by its type in Arrow and in the table.
typedef struct zf_py_input zf_py_input;

/// Makes the conversion of a column; ZF_ERR_USAGE for a type that the table's column does not take. `values`: the type of the
/// values of a column of lists, which then may be null if `type` says so; NULL: it is of none. A schema of a struct becomes
/// booleans: which rows are there. `name`: for errors; it and the schema must live as long as the conversion. Free with
/// zf_py_input_free.
zf_status zf_py_input_new(const ArrowSchema *schema, const char *name, const zf_column_type *type, const zf_column_type *values,
                          zf_py_input **out, zf_error *error);
/// NULL: nothing.
void zf_py_input_free(zf_py_input *input);

/// Begins an array: its dictionary is converted once. It must not be released while it is converted.
zf_status zf_py_input_begin(zf_py_input *input, const ArrowArray *array, zf_error *error);
/// The array that was begun lies within structs: row `first` of it is there if bit 0 of `there` is 1, and so on; else it is null.
/// NULL: all are. `strict`: rows that are there are not null. Valid until another array is begun.
void zf_py_input_within(zf_py_input *input, const uint8_t *there, int64_t first, bool strict);
/// The entries of the dictionary of the array that was begun.
typedef struct zf_py_entries {
    const zf_encode_column *rows;
    int64_t count;
    size_t width; ///< bytes of an entry; 0: strings
} zf_py_entries;

/// Finds the entries of the array that was begun, or of the values of its lists; false: it has no dictionary. They are valid
/// until another array is begun. `ordered`: whether the type says that their order means something.
bool zf_py_input_entries(const zf_py_input *input, zf_py_entries *out, bool *ordered);
/// Returns how many rows from `first` on are converted at once: `rows`, or fewer where their lists have many values.
int64_t zf_py_input_fit(const zf_py_input *input, int64_t first, int64_t rows);
/// Converts `rows` rows of the array from `first` on, its offset aside. `*out` is valid until the next call. `row`: the number of
/// the first row in the table, for errors.
zf_status zf_py_input_rows(zf_py_input *input, int64_t first, int64_t rows, uint64_t row, zf_encode_column *out, zf_error *error);

#endif
