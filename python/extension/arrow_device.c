#include "python/extension/arrow_device.h"

#include <stdlib.h>

static void release_storage(void *storage) { zf_py_device_storage_release(storage); }

static bool has_nulls(const zf_py_device_storage *storage) { return atomic_load(&storage->null_count) > 0; }

bool zf_py_device_fits_arrow(const zf_py_device_storage *storage) {
    if (storage->child != NULL) return zf_py_device_fits_arrow(storage->child);
    return storage->element != ZF_BOOL || !has_nulls(storage) ||
           storage->parts[ZF_PY_VALUES].bit == storage->parts[ZF_PY_VALIDITY].bit;
}

bool zf_py_device_fill_array(ArrowArray *out, zf_py_device_storage *storage) {
    const zf_py_device_part *values = &storage->parts[ZF_PY_VALUES], *offsets = &storage->parts[ZF_PY_OFFSETS],
                            *validity = &storage->parts[ZF_PY_VALIDITY];
    if (!zf_py_array_hold(out, zf_py_device_storage_hold(storage), release_storage)) return false;
    bool nulls = has_nulls(storage);
    // Elements before the first row lie in the memory, as far as a byte of validity reaches (gpu_read.c).
    uint64_t before = storage->element == ZF_BOOL ? values->bit : nulls ? validity->bit : 0;
    uint64_t width = storage->element == ZF_STRING ? 0 : values->width; // of strings the offsets begin earlier
    out->length = storage->rows;
    out->null_count = atomic_load(&storage->null_count);
    out->offset = (int64_t)before;
    zf_py_array_add(out, nulls ? (const void *)(uintptr_t)validity->at : NULL);
    if (offsets->allocated != 0) zf_py_array_add(out, (const void *)(uintptr_t)(offsets->at - before * sizeof(int64_t)));
    if (storage->child == NULL) {
        zf_py_array_add(out, (const void *)(uintptr_t)(values->at - before * width));
        return true;
    }
    if (zf_py_device_fill_array(zf_py_array_child(out), storage->child)) return true;
    out->release(out);
    return false;
}

static void free_array_capsule(PyObject *capsule) {
    ArrowDeviceArray *array = PyCapsule_GetPointer(capsule, "arrow_device_array");
    Py_BEGIN_ALLOW_THREADS // without pools a GPU's memory goes back when its stream has passed
        if (array->array.release != NULL) array->array.release(&array->array);
    Py_END_ALLOW_THREADS free(array);
}

PyObject *zf_py_device_array_wrap(const ArrowDeviceArray *from) {
    ArrowDeviceArray *array = malloc(sizeof *array);
    PyObject *capsule = NULL;
    if (array == NULL) {
        PyErr_NoMemory();
    } else {
        *array = *from;
        capsule = PyCapsule_New(array, "arrow_device_array", free_array_capsule);
    }
    if (capsule != NULL) return capsule;
    ArrowDeviceArray refused = *from;
    refused.array.release(&refused.array);
    free(array);
    return NULL;
}

PyObject *zf_py_device_array_capsule(zf_py_device_storage *storage) {
    ArrowDeviceArray array = {.device_type = ZF_ARROW_CUDA, .device_id = storage->gpu->number};
    if (!zf_py_device_fill_array(&array.array, storage)) return PyErr_NoMemory();
    return zf_py_device_array_wrap(&array);
}
