// Columns' names and types, as Arrow has them.
#ifndef ZF_PYTHON_ARROW_FIELD_H
#define ZF_PYTHON_ARROW_FIELD_H

#include "python/extension/arrow_abi.h"
#include "python/extension/extension.h"
#include "python/extension/storage.h"

enum { ZF_PY_FORMAT = 128 }; ///< room for a format: those of timestamps hold a zone

/// A column's name and type. It owns all that it points at.
typedef struct zf_py_field {
    char *name;
    char format[ZF_PY_FORMAT]; ///< of dictionaries that of the indices
    int64_t flags;             ///< of an ArrowSchema
    char *metadata;            ///< in Arrow's encoding; NULL: none
    size_t metadata_bytes;
    struct zf_py_field *child; ///< of lists: their values; NULL: none
    struct zf_py_field *parts; ///< of structs: their fields; NULL: none
    size_t part_count;
    struct zf_py_field *dictionary; ///< its entries; NULL: none
} zf_py_field;

/// Copies a tuple (name, format, flags, metadata, child, dictionary) to `*out`: bytes in Arrow's encoding or None, and of lists
/// and dictionaries the same of their values and entries, or None; structs have a list of their fields as child. False with an
/// exception set. Free with zf_py_field_clear.
bool zf_py_field_set(zf_py_field *out, PyObject *tuple);
/// A copy; false with an exception set.
bool zf_py_field_copy(zf_py_field *out, const zf_py_field *from);
void zf_py_field_clear(zf_py_field *field);

/// The format of a column's storage: that of its field, but for strings of more than 2 GiB of characters and lists of more than
/// 2^31 - 1 values, whose offsets are 64 bits, and for dictionaries that have more entries than the field's indices count.
void zf_py_format_of(const zf_py_field *field, const zf_py_storage *storage, char out[ZF_PY_FORMAT]);

#endif
