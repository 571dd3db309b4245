// Container: an open file of the library, as Python has it.
#ifndef ZF_PYTHON_CONTAINER_OBJECT_H
#define ZF_PYTHON_CONTAINER_OBJECT_H

#include "python/extension/extension.h"

#define ZF_PY_CONTAINER_CAPSULE "zipflow._runtime.container" ///< of Container.hold: a zf_container

/// The types of the module, and how it makes exceptions. Objects that use it hold the module.
typedef struct zf_py_types {
    PyTypeObject *home, *container, *column, *buffer, *device_column, *device_buffer, *reading;
    PyObject *make_error;
} zf_py_types;

extern PyType_Spec zf_py_container_spec;

/// Arguments (home, source, name, kind): opens a container. `kind`: 0: `source` is a path as bytes; 1: bytes-like data, which is
/// held; 2: a tuple (read, size), see file_reader.h. `name` stands for the path in errors.
PyObject *zf_py_container_open(const zf_py_types *types, PyObject *arguments);

#endif
