#include "python/extension/dlpack.h"

#include <stdlib.h>
#include <string.h>

/// A tensor of either version, with its shape and what it holds.
typedef struct held_tensor {
    union {
        DLManagedTensor plain;
        DLManagedTensorVersioned versioned;
    } tensor;
    int64_t shape, stride;
    zf_py_storage *storage; ///< NULL: the copy
    void *copy;
} held_tensor;

static void free_held(held_tensor *held) {
    zf_py_storage_release(held->storage);
    free(held->copy);
    free(held);
}

static void delete_plain(DLManagedTensor *tensor) { free_held(tensor->manager_ctx); }
static void delete_versioned(DLManagedTensorVersioned *tensor) { free_held(tensor->manager_ctx); }

// A consumer renames the capsule that it took: then the tensor is its own.
static void free_capsule(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *tensor = PyCapsule_GetPointer(capsule, "dltensor");
        tensor->deleter(tensor);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *tensor = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        tensor->deleter(tensor);
    }
}

static bool fits_device(PyObject *device) {
    if (device == NULL || device == Py_None) return true;
    int type, id;
    if (!PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii", &type, &id)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "dl_device must be a tuple of two integers");
        return false;
    }
    if (type == ZF_DL_CPU) return true;
    PyErr_SetString(PyExc_BufferError, "the column is in host memory, and zipflow copies it to no other device");
    return false;
}

PyObject *zf_py_dlpack(const zf_py_tensor *from, PyObject *arguments, PyObject *keywords) {
    static char name[4][16] = {"stream", "max_version", "dl_device", "copy"};
    static char *names[] = {name[0], name[1], name[2], name[3], NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO:__dlpack__", names, &stream, &version, &device, &copy))
        return NULL;
    if (stream != Py_None) {
        PyErr_SetString(PyExc_BufferError, "host memory has no streams: stream must be None");
        return NULL;
    }
    if (!fits_device(device)) return NULL;
    int major = 0, minor = 0;
    if (version != Py_None) {
        if (!PyTuple_Check(version)) {
            PyErr_SetString(PyExc_TypeError, "max_version must be a tuple of two integers");
            return NULL;
        }
        if (!PyArg_ParseTuple(version, "ii", &major, &minor)) return NULL;
    }
    int copied = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    if (copied < 0) return NULL;
    held_tensor *held = calloc(1, sizeof *held);
    if (held == NULL) return PyErr_NoMemory();
    void *data = from->data;
    if (copied) {
        size_t bytes = (size_t)from->count * from->type.bits / 8;
        held->copy = aligned_alloc(64, (bytes / 64 + 1) * 64);
        if (held->copy == NULL) {
            free(held);
            return PyErr_NoMemory();
        }
        memcpy(held->copy, data, bytes);
        data = held->copy;
    } else {
        held->storage = zf_py_storage_hold(from->storage);
    }
    held->shape = from->count;
    held->stride = 1;
    const DLTensor tensor = {.data = data,
                             .device = {.device_type = ZF_DL_CPU},
                             .ndim = 1,
                             .dtype = from->type,
                             .shape = &held->shape,
                             .strides = &held->stride};
    PyObject *capsule;
    if (major >= 1) {
        held->tensor.versioned = (DLManagedTensorVersioned){.version = {1, 0},
                                                            .manager_ctx = held,
                                                            .deleter = delete_versioned,
                                                            .flags = copied ? ZF_DL_IS_COPIED : ZF_DL_READ_ONLY,
                                                            .dl_tensor = tensor};
        capsule = PyCapsule_New(&held->tensor.versioned, "dltensor_versioned", free_capsule);
    } else {
        held->tensor.plain = (DLManagedTensor){.dl_tensor = tensor, .manager_ctx = held, .deleter = delete_plain};
        capsule = PyCapsule_New(&held->tensor.plain, "dltensor", free_capsule);
    }
    if (capsule == NULL) free_held(held);
    return capsule;
}
