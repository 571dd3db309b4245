// Columns in a GPU's memory as Arrow's device arrays and streams. Each array holds a reference to its storage; releases need no
// GIL.
#ifndef ZF_PYTHON_ARROW_DEVICE_H
#define ZF_PYTHON_ARROW_DEVICE_H

#include "python/extension/arrow_export.h"
#include "python/extension/gpu.h"

/// Fills an array without a copy. Its nulls must have been counted (zf_py_device_nulls). Where rows begin inside a byte of a
/// bitmap the array has an offset. False: no memory.
bool zf_py_device_fill_array(ArrowArray *out, zf_py_device_storage *storage);
/// Whether Arrow has a place for the column: an array has one offset for its bits of validity and of booleans.
bool zf_py_device_fits_arrow(const zf_py_device_storage *storage);
/// Returns a capsule "arrow_device_array" that takes over an array; NULL with an exception set, and the array is released.
PyObject *zf_py_device_array_wrap(const ArrowDeviceArray *from);
/// Returns a capsule "arrow_device_array" of one column; NULL with an exception set.
PyObject *zf_py_device_array_capsule(zf_py_device_storage *storage);

#endif
