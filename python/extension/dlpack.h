// Columns of numbers as DLPack tensors of one dimension in host memory.
#ifndef ZF_PYTHON_DLPACK_H
#define ZF_PYTHON_DLPACK_H

#include "python/extension/dlpack_abi.h"
#include "python/extension/extension.h"
#include "python/extension/storage.h"

/// A tensor to be: `count` elements at `data`, which lie in `storage`.
typedef struct zf_py_tensor {
    zf_py_storage *storage;
    void *data;
    int64_t count;
    DLDataType type;
} zf_py_tensor;

/// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) of an object with this tensor.
///
/// With max_version of (1, 0) or later the capsule is "dltensor_versioned", and read-only unless it was copied; else "dltensor".
/// BufferError for a stream, another device, or a version below 0. The capsule holds the storage; its deleter needs no GIL.
PyObject *zf_py_dlpack(const zf_py_tensor *tensor, PyObject *arguments, PyObject *keywords);

#endif
