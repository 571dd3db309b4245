// Containers that a Python object reads: a function of the caller, called by the thread that waits for the library.
//
// The library reads on its own threads, which never take the GIL. They leave a request here and wait. The thread that called the
// library runs it on a thread of its own, and meanwhile serves requests with the GIL.
#ifndef ZF_PYTHON_FILE_READER_H
#define ZF_PYTHON_FILE_READER_H

#include "python/extension/extension.h"

typedef struct zf_py_reader zf_py_reader;

/// Makes a reader that calls `read(offset, bytes)`, which returns bytes-like data of at most `bytes` bytes; b"": the end. Holds
/// `read`. NULL with an exception set.
zf_py_reader *zf_py_reader_new(PyObject *read);
/// No call is in progress. NULL: nothing.
void zf_py_reader_free(zf_py_reader *reader);
/// For tp_traverse and tp_clear.
PyObject *zf_py_reader_function(const zf_py_reader *reader);

/// The `read` of zf_byte_reader, with a zf_py_reader as `user`. Any thread, without the GIL.
int64_t zf_py_reader_read(void *user, uint64_t offset, void *to, uint64_t bytes, zf_error *error);

/// Says which rows the call in progress decodes next, of columns `column` to `column` + `columns` - 1: blocks that lie side by
/// side, of up to 8 MiB together, are then read at once. Any thread, without the GIL; no request is waiting.
void zf_py_reader_expect(zf_py_reader *reader, const zf_container *container, size_t column, size_t columns, uint64_t first,
                         uint64_t rows);

/// Runs `call(user, error)` on a thread of its own, and serves requests until it returns. With the GIL, which it releases.
///
/// Calls of several threads wait for each other. Each serves its own requests alone, and has its own exceptions.
/// ZF_ERR_USAGE in a `read` that such a call serves: it would wait for itself.
/// `*failed`: the first exception of `read` while the call ran, a reference; NULL: none.
zf_status zf_py_reader_run(zf_py_reader *reader, zf_status (*call)(void *user, zf_error *error), void *user, PyObject **failed,
                           zf_error *error);

#endif
