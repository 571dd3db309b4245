// Columns as Arrow arrays, schemas and streams. Each array holds a reference to its storage, so that it outlives the Python
// objects and the file; releases need no GIL.
#ifndef ZF_PYTHON_ARROW_EXPORT_H
#define ZF_PYTHON_ARROW_EXPORT_H

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
    struct zf_py_field *child;      ///< of lists: their values; NULL: none
    struct zf_py_field *dictionary; ///< its entries; NULL: none
} zf_py_field;

/// Copies a tuple (name, format, flags, metadata, child, dictionary) to `*out`: bytes in Arrow's encoding or None, and of lists
/// and dictionaries the same of their values and entries, or None. False with an exception set. Free with zf_py_field_clear.
bool zf_py_field_set(zf_py_field *out, PyObject *tuple);
/// A copy; false with an exception set.
bool zf_py_field_copy(zf_py_field *out, const zf_py_field *from);
void zf_py_field_clear(zf_py_field *field);

/// The format of a column's storage: that of its field, but for strings of more than 2 GiB of characters and lists of more than
/// 2^31 - 1 values, whose offsets are 64 bits, and for dictionaries that have more entries than the field's indices count.
void zf_py_format_of(const zf_py_field *field, const zf_py_storage *storage, char out[ZF_PY_FORMAT]);

/// Returns a capsule "arrow_schema" of one field; NULL with an exception set.
PyObject *zf_py_schema_capsule(const zf_py_field *field, const zf_py_storage *storage);
/// Begins an array without buffers, which holds a storage until it is released. Takes over the reference to `storage`, also where
/// there is no memory: then false.
bool zf_py_array_hold(ArrowArray *out, void *storage, void (*release)(void *storage));
/// Adds the next of at most three buffers to an array of zf_py_array_hold; NULL: there is none.
void zf_py_array_add(ArrowArray *array, const void *buffer);
/// Gives an array of zf_py_array_hold its child, or its dictionary, to be filled, and returns it: one of them. It is released
/// with the array.
ArrowArray *zf_py_array_child(ArrowArray *array);
ArrowArray *zf_py_array_dictionary(ArrowArray *array);
/// Returns a capsule "arrow_array" of one column; NULL with an exception set.
PyObject *zf_py_array_capsule(zf_py_storage *storage);

/// Arguments (fields, metadata): a capsule "arrow_schema" of a struct. `fields`: tuples as zf_py_field_set takes them, or objects
/// of `column_type` or `device_type`; `metadata`: bytes in Arrow's encoding, or None.
PyObject *zf_py_export_schema(PyTypeObject *column_type, PyTypeObject *device_type, PyObject *arguments);
/// Arguments (columns, rows, metadata): a capsule "arrow_array_stream" of one batch. `columns`: objects of `column_type`, of
/// `rows` rows.
PyObject *zf_py_export_stream(PyTypeObject *column_type, PyObject *arguments);
/// Where the batches of a stream come from. The functions are called on any thread, one at a time, with or without the GIL.
typedef struct zf_py_batches {
    void *user;
    int64_t first, rows; ///< of the stream
    /// Decodes the rows of a column from `first` on to `*out`: as many as belong together, at least one.
    zf_status (*decode)(void *user, size_t column, const zf_py_field *field, int64_t first, zf_py_storage **out, zf_error *error);
    void (*release)(void *user);
} zf_py_batches;

/// Returns a capsule "arrow_array_stream" of the batches of `batches`, each as long as all columns have it decoded; NULL with an
/// exception set. `fields`: a tuple, as zf_py_field_set takes each. Takes over `batches`, also after an error.
PyObject *zf_py_export_batches(const zf_py_batches *batches, PyObject *fields, PyObject *metadata);
/// Arguments (columns, rows, metadata, number of the GPU): a capsule "arrow_device_array_stream" of one batch. `columns`: objects
/// of `column_type`, a DeviceColumn.
PyObject *zf_py_export_device_stream(PyTypeObject *column_type, PyObject *arguments);

#endif
