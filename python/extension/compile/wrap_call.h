// The calls that find chunks which other programs compressed, and that write them.
#ifndef ZF_PYTHON_WRAP_CALL_H
#define ZF_PYTHON_WRAP_CALL_H

#include "python/extension/compile/stream_object.h"

/// Arguments (program, columns, path, overwrite, rows per block, threads, zones, metadata): writes a table to a file, and returns
/// [(plain bytes, stored bytes)] by column of the program's table. `columns`: (identifier, full name, chunks), where chunks are
/// an iterable of pairs (bytes, rows), or a mapping's (bytes, sizes, rows, offsets or None), which then follow the name in place
/// of it. `metadata`: (key, value). All text is bytes. Objects are held until the call ends, and no chunk is copied. NULL with an
/// exception set.
PyObject *zf_py_wrap(const zf_py_compile *types, PyObject *arguments);
/// Arguments (name as bytes, bytes-like data of a `.gz` or `.zst` file): finds its chunks, and returns (sizes, rows), each bytes
/// with a uint64_t for each chunk. NULL with an exception set.
PyObject *zf_py_find_chunks(const zf_py_compile *types, PyObject *arguments);

#endif
