// Column: the rows of one column in memory. Buffer: one of its three buffers.
#ifndef ZF_PYTHON_COLUMN_OBJECT_H
#define ZF_PYTHON_COLUMN_OBJECT_H

#include "python/extension/arrow_export.h"

extern PyType_Spec zf_py_column_spec, zf_py_buffer_spec;

/// Returns a new Column of class `type`. Takes over the reference to `storage` and the field, also after an error (NULL, with an
/// exception set).
PyObject *zf_py_column_new(PyTypeObject *type, PyTypeObject *buffer_type, zf_py_field *field, zf_py_storage *storage);
/// Arguments (column, field): a Column of the same class whose rows are copied to another layout. NULL with an exception set.
PyObject *zf_py_column_convert(PyTypeObject *type, PyObject *make_error, PyObject *arguments);
/// Copies the field of a Column, and holds its storage; false with an exception set, also for an object of another type than
/// `type`.
bool zf_py_column_take(PyTypeObject *type, PyObject *object, zf_py_field *field, zf_py_storage **storage);

#endif
