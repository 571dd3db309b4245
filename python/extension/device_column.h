// DeviceColumn: the rows of one column in a GPU's memory. DeviceBuffer: one of its three buffers.
#ifndef ZF_PYTHON_DEVICE_COLUMN_H
#define ZF_PYTHON_DEVICE_COLUMN_H

#include "python/extension/arrow_export.h"
#include "python/extension/gpu_read.h"

extern PyType_Spec zf_py_device_column_spec, zf_py_device_buffer_spec, zf_py_reading_spec;

/// Returns a new Reading: columns that are on their way to a GPU. Takes over `read`, which was started and lies on the heap, with
/// its columns, also after an error (NULL, with an exception set). `columns`: the arguments of `decode_gpu`, for names and types;
/// `hold` goes when the read has ended: it keeps the container.
PyObject *zf_py_reading_new(PyTypeObject *const types[3], PyObject *make_error, zf_py_gpu_read *read, PyObject *columns,
                            PyObject *hold);

/// Returns a new DeviceColumn. Takes over the reference to `storage` and the field, also after an error (NULL, with an exception
/// set).
PyObject *zf_py_device_column_new(PyTypeObject *type, PyTypeObject *buffer_type, PyObject *make_error, zf_py_field *field,
                                  zf_py_device_storage *storage);
/// Copies the field of a DeviceColumn, and holds its storage, whose nulls are counted; false with an exception set, also for an
/// object of another type than `type`, and for a column that Arrow has no place for.
bool zf_py_device_column_take(PyTypeObject *type, PyObject *object, zf_py_field *field, zf_py_device_storage **storage);
/// Copies the field of a DeviceColumn; false with an exception set.
bool zf_py_device_column_field(PyObject *object, zf_py_field *field);

#endif
