// The GPUs that a Home uses: a pipeline for each, made at its first use; and columns in their memory.
#ifndef ZF_PYTHON_GPU_H
#define ZF_PYTHON_GPU_H

#include <stdatomic.h>

#include "python/extension/extension.h"
#include "python/extension/home.h"
#include "zipflow/pipeline.h"

/// A GPU of a Home, which owns it.
typedef struct zf_py_gpu {
    struct zf_py_gpu *next;
    zf_context *context;
    zf_pipeline *pipeline;
    atomic_size_t columns; ///< in its memory, that somebody holds: the context stays as long
    long process;          ///< of the Home
    int number;            ///< N of cuda:N
    char name[24];         ///< "cuda:0"
} zf_py_gpu;

/// Finds a GPU of a Home by its name, "cuda:0", and makes its pipeline at the first call. Without the GIL; any thread.
///
/// Errors: those of zf_pipeline_create.
zf_status zf_py_gpu_find(zf_py_home *home, const char *name, zf_py_gpu **out, zf_error *error);
/// Frees the GPUs of a Home, unless somebody holds a column in their memory: then false, and the context must stay.
bool zf_py_gpus_free(zf_py_home *home);

/// Memory of a column: its values, offsets or validity.
typedef struct zf_py_device_part {
    uint64_t allocated, room; ///< address and bytes of the whole; 0: none
    PyObject *owner;          ///< of the caller's allocator; NULL: the memory is of zf_device_allocate
    uint64_t at, bytes;       ///< address and bytes of the rows
    unsigned bit;             ///< of bits: those before the first row, in the word of 32 bits at `at`
    unsigned width;           ///< bytes of an element of values; 0 for bits
} zf_py_device_part;

enum { ZF_PY_VALUES, ZF_PY_OFFSETS, ZF_PY_VALIDITY, ZF_PY_PARTS };

/// A decoded column in a GPU's memory. Counted; whoever releases it last gives the memory back in the order of `stream`, on any
/// thread and without the GIL.
typedef struct zf_py_device_storage {
    atomic_size_t references;
    zf_py_gpu *gpu;
    void *stream;           ///< the caller's
    PyObject *stream_owner; ///< keeps it; NULL: nobody
    void **users;           ///< other streams that consumers named: memory goes back behind their work, too. They may be gone
    size_t user_count;
    int64_t rows;
    _Atomic int64_t null_count; ///< -1: not counted yet
    zf_element element;
    int64_t width; ///< lists of one length: values of each, and no offsets; else 0
    bool checked;  ///< the rows are there, for all streams; else they come in the order of `stream`. Once shared: with the GIL
    zf_py_device_part parts[ZF_PY_PARTS];
    struct zf_py_device_storage *child; ///< lists: the values, with a reference; NULL: none
} zf_py_device_storage;

/// Returns a storage without memory, with one reference; NULL: no memory.
zf_py_device_storage *zf_py_device_storage_new(zf_py_gpu *gpu, void *stream);
zf_py_device_storage *zf_py_device_storage_hold(zf_py_device_storage *storage);
/// NULL: nothing.
void zf_py_device_storage_release(zf_py_device_storage *storage);
/// Lets a stream see the rows, and remembers it, as one on which somebody uses the memory: it goes back behind the work that is
/// on it then, for which the release waits unless it is the default stream. With the GIL and a reference. Errors: ZF_ERR_MEMORY;
/// of rows that are not checked those of zf_device_follow, and ZF_ERR_DEVICE in a forked child.
zf_status zf_py_device_storage_use(zf_py_device_storage *storage, void *stream, zf_error *error);
/// The rows are there, and checked. `end`: where the characters of strings end; -1: there are none. With the GIL, or before
/// anybody shares the storage.
void zf_py_device_storage_check(zf_py_device_storage *storage, int64_t end);
/// Copies memory of a storage to the host. Without the GIL; waits for the storage's stream. ZF_ERR_DEVICE in a forked child.
zf_status zf_py_device_copy(const zf_py_device_storage *storage, void *to, uint64_t from, uint64_t bytes, zf_error *error);
/// Counts the nulls, once: copies the validity to the host. Without the GIL; waits for the storage's stream.
zf_status zf_py_device_nulls(zf_py_device_storage *storage, int64_t *nulls, zf_error *error);

/// Drops a reference later, on a thread with the GIL. Any thread, with or without the GIL. NULL: nothing.
void zf_py_drop_later(PyObject *object);
/// Drops owners whose storages were released. With the GIL; the interpreter calls it, too, when it comes to it.
void zf_py_drop_owners(void);

#endif
