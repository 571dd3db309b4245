// Chunks that other programs compressed, in memory of Python's objects, as the library takes them: without a copy.
#ifndef ZF_PYTHON_CHUNK_IMPORT_H
#define ZF_PYTHON_CHUNK_IMPORT_H

#include "python/extension/extension.h"
#include "zipflow/compile.h"

/// The chunks of a column, and the buffers that they lie in.
typedef struct zf_py_chunks {
    zf_wrapped_chunk *chunks;
    size_t count;
    Py_buffer *held; ///< keeps its object, and an object that could move its memory from doing so
    size_t held_count;
} zf_py_chunks;

/// Takes pairs (bytes-like object, rows), of any iterable. `name`: of the column, for errors. `make_error`: zipflow._errors.make.
/// False with an exception set: UsageError, with the chunk in its place, for what is no such pair, or what the objects' own code
/// raised. Free `*out` with zf_py_chunks_free, also then. Holds the GIL.
bool zf_py_chunks_of_pairs(PyObject *pairs, const char *name, PyObject *make_error, zf_py_chunks *out);
/// Takes chunks that lie in one bytes-like object. `sizes`, `rows`, `offsets`: of each chunk its bytes, its rows, and the byte at
/// which it begins; buffers of one dimension, or other iterables, of integers. `offsets` is None: chunks follow each other, and
/// are all of the bytes. Else they may lie anywhere within these. Errors as above.
bool zf_py_chunks_of_buffer(PyObject *bytes, PyObject *sizes, PyObject *rows, PyObject *offsets, const char *name,
                            PyObject *make_error, zf_py_chunks *out);
/// Releases the buffers. Holds the GIL.
void zf_py_chunks_free(zf_py_chunks *chunks);

#endif
