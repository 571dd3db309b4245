#include "python/extension/dlpack.h"

#include <stdlib.h>
#include <string.h>

/// A tensor of either version, with its shape and what it holds.
typedef struct held_tensor {
    union {
        DLManagedTensor plain;
        DLManagedTensorVersioned versioned;
    } tensor;
    int64_t shape[2], strides[2];
    void *storage; ///< NULL: the copy
    const zf_py_sharing *sharing;
    void *copy;
} held_tensor;

static void free_held(held_tensor *held) {
    if (held->storage != NULL) held->sharing->release(held->storage);
    free(held->copy);
    free(held);
}

static void delete_plain(DLManagedTensor *tensor) { free_held(tensor->manager_ctx); }
static void delete_versioned(DLManagedTensorVersioned *tensor) { free_held(tensor->manager_ctx); }

// A consumer renames the capsule that it took: then the tensor is its own.
static void free_capsule(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *tensor = PyCapsule_GetPointer(capsule, "dltensor");
        Py_BEGIN_ALLOW_THREADS tensor->deleter(tensor);
        Py_END_ALLOW_THREADS
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *tensor = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        Py_BEGIN_ALLOW_THREADS tensor->deleter(tensor);
        Py_END_ALLOW_THREADS
    }
}

/// The device of a `dl_device`; that of the tensor for None. False with an exception set.
static bool wanted_device(const zf_py_tensor *from, PyObject *device, DLDevice *out) {
    *out = from->device;
    if (device == NULL || device == Py_None) return true;
    int type, id;
    if (!PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii", &type, &id)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "dl_device must be a tuple of two integers");
        return false;
    }
    *out = (DLDevice){type, type == ZF_DL_CPU ? 0 : id};
    if (type == ZF_DL_CPU || (type == from->device.device_type && id == from->device.device_id)) return true;
    PyErr_Format(PyExc_BufferError, "the column is in %s memory, and zipflow copies it to no other device than the host",
                 from->device.device_type == ZF_DL_CPU ? "host" : "a GPU's");
    return false;
}

/// The consumer's stream; NULL for none: -1 says that it needs no order.
static bool take_stream(const zf_py_tensor *from, PyObject *stream, void **out) {
    *out = NULL;
    if (stream == Py_None) {
        if (from->device.device_type != ZF_DL_CPU) *out = (void *)(uintptr_t)1; // the default stream, as DLPack has it
        return true;
    }
    if (from->device.device_type == ZF_DL_CPU) {
        PyErr_SetString(PyExc_BufferError, "host memory has no streams: stream must be None");
        return false;
    }
    long long number = PyLong_AsLongLong(stream);
    if (number == -1 && PyErr_Occurred()) return false;
    if (number != 0 && number >= -1) {
        if (number != -1) *out = (void *)(uintptr_t)number;
        return true;
    }
    PyErr_SetString(PyExc_BufferError, "stream must be None, -1, 1, 2, or the address of a stream");
    return false;
}

/// Copies the elements to memory of the host, without the GIL; NULL with an exception set.
static void *copy_to_host(const zf_py_tensor *from) {
    size_t bytes = (size_t)(from->width > 0 ? from->count * from->width : from->count) * from->type.bits / 8;
    void *copy = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (copy == NULL) return PyErr_NoMemory();
    zf_error error;
    zf_status status;
    Py_BEGIN_ALLOW_THREADS status = from->sharing->copy(from->storage, copy, from->data, bytes, &error);
    Py_END_ALLOW_THREADS if (status == ZF_OK) return copy;
    free(copy);
    return zf_py_raise(from->make_error, &error);
}

PyObject *zf_py_dlpack(const zf_py_tensor *from, PyObject *arguments, PyObject *keywords) {
    static char name[4][16] = {"stream", "max_version", "dl_device", "copy"};
    static char *names[] = {name[0], name[1], name[2], name[3], NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO:__dlpack__", names, &stream, &version, &device, &copy))
        return NULL;
    DLDevice to;
    void *user;
    if (!take_stream(from, stream, &user) || !wanted_device(from, device, &to)) return NULL;
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
    if (to.device_type != from->device.device_type) {
        if (copy != Py_None && !copied) {
            PyErr_SetString(PyExc_BufferError,
                            "the column is in a GPU's memory: the host needs a copy, which copy=False refuses");
            return NULL;
        }
        copied = 1;
    } else if (copied && to.device_type != ZF_DL_CPU) {
        PyErr_SetString(PyExc_BufferError, "zipflow copies no columns within a GPU's memory: take the column, and clone it");
        return NULL;
    }
    held_tensor *held = calloc(1, sizeof *held);
    if (held == NULL) return PyErr_NoMemory();
    if (copied) {
        held->copy = copy_to_host(from);
        if (held->copy == NULL) {
            free(held);
            return NULL;
        }
    } else {
        zf_error error;
        if (user != NULL && from->sharing->use(from->storage, user, &error) != ZF_OK) {
            free(held);
            return zf_py_raise(from->make_error, &error);
        }
        from->sharing->hold(from->storage);
        held->storage = from->storage;
        held->sharing = from->sharing;
    }
    held->shape[0] = from->count;
    held->shape[1] = from->width;
    held->strides[0] = from->width > 0 ? from->width : 1;
    held->strides[1] = 1;
    const DLTensor tensor = {.data = copied ? held->copy : from->data,
                             .device = to,
                             .ndim = from->width > 0 ? 2 : 1,
                             .dtype = from->type,
                             .shape = held->shape,
                             .strides = held->strides};
    PyObject *capsule;
    if (major >= 1) {
        // Consumers on GPUs know no read-only tensors, and refuse or ignore the flag.
        uint64_t flags = copied ? ZF_DL_IS_COPIED : to.device_type == ZF_DL_CPU ? ZF_DL_READ_ONLY : 0;
        held->tensor.versioned = (DLManagedTensorVersioned){
            .version = {1, 0}, .manager_ctx = held, .deleter = delete_versioned, .flags = flags, .dl_tensor = tensor};
        capsule = PyCapsule_New(&held->tensor.versioned, "dltensor_versioned", free_capsule);
    } else {
        held->tensor.plain = (DLManagedTensor){.dl_tensor = tensor, .manager_ctx = held, .deleter = delete_plain};
        capsule = PyCapsule_New(&held->tensor.plain, "dltensor", free_capsule);
    }
    if (capsule == NULL) free_held(held);
    return capsule;
}

// ---- Tensors of others ----------------------------------------------------------------------------------------

/// Whether elements follow each other, the last dimension first.
static bool is_contiguous(const DLTensor *t) {
    int64_t step = 1;
    for (int32_t k = t->ndim; t->strides != NULL && k-- > 0; step *= t->shape[k]) {
        if (t->shape[k] == 0) return true;
        if (t->shape[k] > 1 && t->strides[k] != step) return false;
    }
    return true;
}

PyObject *zf_py_describe_tensor(PyObject *capsule) {
    const DLTensor *t;
    bool read_only = false;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const DLManagedTensorVersioned *held = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (held->version.major != 1) {
            PyErr_Format(PyExc_BufferError, "the tensor has version %u of DLPack", (unsigned)held->version.major);
            return NULL;
        }
        t = &held->dl_tensor;
        read_only = (held->flags & ZF_DL_READ_ONLY) != 0;
    } else {
        const DLManagedTensor *held = PyCapsule_GetPointer(capsule, "dltensor");
        if (held == NULL) return NULL;
        t = &held->dl_tensor;
    }
    PyObject *shape = PyTuple_New(t->ndim);
    for (int32_t k = 0; shape != NULL && k < t->ndim; k++) {
        PyObject *extent = PyLong_FromLongLong(t->shape[k]);
        if (extent == NULL || PyTuple_SetItem(shape, k, extent) != 0) Py_CLEAR(shape);
    }
    if (shape == NULL) return NULL;
    return Py_BuildValue("(KiiiiNNN)", (unsigned long long)((uintptr_t)t->data + t->byte_offset), (int)t->device.device_type,
                         (int)t->dtype.code, (int)t->dtype.bits, (int)t->dtype.lanes, shape, PyBool_FromLong(is_contiguous(t)),
                         PyBool_FromLong(read_only));
}
