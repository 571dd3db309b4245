// Query: a query that was prepared for a file and a device.
#ifndef ZF_PYTHON_QUERY_OBJECT_H
#define ZF_PYTHON_QUERY_OBJECT_H

#include "python/extension/compile/stream_object.h"

extern PyType_Spec zf_py_query_spec;

/// Arguments (program, name or None, hold, device as bytes, begin, count, threads): prepares a query of a Program. `hold`: a
/// capsule of Container.hold, which the Query keeps; None: the query is of pairs. NULL with an exception set.
PyObject *zf_py_query_new(const zf_py_compile *types, PyObject *arguments);
/// Arguments (program, name or None): the name of the table over which a query runs; None: there is no such query.
PyObject *zf_py_query_table(const zf_py_compile *types, PyObject *arguments);

#endif
