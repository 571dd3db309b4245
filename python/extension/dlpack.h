// Columns of numbers as DLPack tensors of one dimension, lists of one length as those of two.
#ifndef ZF_PYTHON_DLPACK_H
#define ZF_PYTHON_DLPACK_H

#include <stdbool.h>

#include "python/extension/dlpack_abi.h"
#include "python/extension/extension.h"

/// How tensors share a storage. The functions need no GIL.
typedef struct zf_py_sharing {
    void (*hold)(void *storage);
    void (*release)(void *storage);
    /// Copies memory of the storage to the host, and waits for it.
    zf_status (*copy)(const void *storage, void *to, const void *from, size_t bytes, zf_error *error);
    /// Lets a stream of the consumer see the rows, and remembers it, with the GIL. NULL: there are none.
    zf_status (*use)(void *storage, void *stream, zf_error *error);
} zf_py_sharing;

/// A tensor to be: `count` rows at `data`, which lie in `storage`, on `device`.
typedef struct zf_py_tensor {
    void *storage;
    const zf_py_sharing *sharing;
    void *data;
    int64_t count;
    int64_t width; ///< elements of a row; 0: one, and one dimension
    DLDataType type;
    DLDevice device;
    PyObject *make_error; ///< for errors of `copy` and `use`; borrowed
} zf_py_tensor;

/// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) of an object with this tensor.
///
/// With max_version of (1, 0) or later the capsule is "dltensor_versioned"; else "dltensor". Versioned capsules of host memory
/// are read-only unless they were copied. `stream` may be None for host memory; for a GPU None or one of its streams, which the
/// storage lets see the rows and remembers (`use`). `dl_device`: that of the memory, or the host's: then the rows
/// are copied, unless `copy` is False. BufferError for other streams and devices, for a version below 0, and for a copy within a
/// GPU. The capsule holds the storage; its deleter needs no GIL.
PyObject *zf_py_dlpack(const zf_py_tensor *tensor, PyObject *arguments, PyObject *keywords);
/// Returns (address, type of the device, code, bits, lanes, shape, contiguous, read-only) of a capsule that nobody took, whose
/// tensor lives as long as it; NULL with an exception set.
PyObject *zf_py_describe_tensor(PyObject *capsule);

#endif
