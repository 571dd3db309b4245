// Program: a loaded program of the library, as Python has it.
#ifndef ZF_PYTHON_PROGRAM_OBJECT_H
#define ZF_PYTHON_PROGRAM_OBJECT_H

#include "python/extension/extension.h"
#include "zipflow/compile.h"

extern PyType_Spec zf_py_program_spec;

/// Arguments (home, capsule of it, name, text): a Program. Its Home has a compiler. NULL with an exception set.
PyObject *zf_py_program_new(PyTypeObject *type, PyObject *make_error, PyObject *arguments);
/// Returns the program of an object that is a Program.
zf_program *zf_py_program_of(PyObject *program);

#endif
