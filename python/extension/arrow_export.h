// Columns as Arrow arrays, schemas and streams. Each array holds a reference to its storage, so that it outlives the Python
// objects and the file; releases need no GIL.
#ifndef ZF_PYTHON_ARROW_EXPORT_H
#define ZF_PYTHON_ARROW_EXPORT_H

#include "python/extension/arrow_field.h"

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

/// The columns of a struct are those of its fields, in their order, that of a struct before those of its fields. A struct that is
/// nullable or has no fields has a column of booleans of its own: whether a row is there, with all structs around it.
///
/// Arguments (fields, metadata): a capsule "arrow_schema" of a struct. `fields`: tuples as zf_py_field_set takes them, objects of
/// `column_type` or `device_type`, or of structs (field, columns); `metadata`: bytes in Arrow's encoding, or None.
PyObject *zf_py_export_schema(PyTypeObject *column_type, PyTypeObject *device_type, PyObject *arguments);
/// Arguments (columns, rows, metadata): a capsule "arrow_array_stream" of one batch. `columns`: objects of `column_type`, of
/// `rows` rows, or of structs (field, columns).
PyObject *zf_py_export_stream(PyTypeObject *column_type, PyObject *arguments);
/// Arguments (field, columns, rows): ("arrow_schema", "arrow_array") of a struct, two capsules; InputError for rows that are null
/// where the field is not nullable.
PyObject *zf_py_export_struct(PyTypeObject *column_type, PyObject *make_error, PyObject *arguments);
/// Where the batches of a stream come from. The functions are called on any thread, one at a time, with or without the GIL.
typedef struct zf_py_batches {
    void *user;
    int64_t first, rows; ///< of the stream
    /// Decodes the rows of a column from `first` on to `*out`: as many as belong together, at least one.
    zf_status (*decode)(void *user, size_t column, const zf_py_field *field, int64_t first, zf_py_storage **out, zf_error *error);
    void (*release)(void *user);
} zf_py_batches;

/// Returns a capsule "arrow_array_stream" of the batches of `batches`, each as long as all columns have it decoded; NULL with an
/// exception set. `fields`: a tuple, of each column what zf_py_field_set takes; `tops`: the same of the fields that the stream
/// has, which are those of columns and structs. Takes over `batches`, also after an error.
PyObject *zf_py_export_batches(const zf_py_batches *batches, PyObject *fields, PyObject *tops, PyObject *metadata);
/// Arguments (columns, rows, metadata, number of the GPU): a capsule "arrow_device_array_stream" of one batch. `columns`: objects
/// of `column_type`, a DeviceColumn.
PyObject *zf_py_export_device_stream(PyTypeObject *column_type, PyObject *arguments);
/// As zf_py_export_device_stream, but a tuple of the capsules "arrow_schema" and "arrow_device_array" of a struct of the columns.
PyObject *zf_py_export_device_array(PyTypeObject *column_type, PyObject *arguments);

#endif
