// Stream: an Arrow stream that was taken from a capsule. Its batches are encoded to a file, one after the other.
#ifndef ZF_PYTHON_STREAM_OBJECT_H
#define ZF_PYTHON_STREAM_OBJECT_H

#include "python/extension/extension.h"

/// The types of the module, and how it makes exceptions.
typedef struct zf_py_compile {
    PyTypeObject *program, *stream, *query;
    PyObject *make_error;
} zf_py_compile;

extern PyType_Spec zf_py_stream_spec;

/// Returns a Stream of a capsule "arrow_array_stream", whose stream it takes, and reads its schema. NULL with an exception set.
PyObject *zf_py_stream_new(const zf_py_compile *types, PyObject *capsule);

/// Takes a tuple of pairs (key, value), all text bytes, which hold it, into `to`, which has room for them. False with an
/// exception set.
bool zf_py_take_metadata(PyObject *pairs, zf_metadata *to);

#endif
