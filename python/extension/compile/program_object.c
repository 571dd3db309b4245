#include "python/extension/compile/program_object.h"

#include <string.h>
#include <unistd.h>

#include "python/extension/home.h"

typedef struct program_object {
    PyObject_HEAD PyObject *home;
    PyObject *make_error;
    zf_program *program;
    long process;
} program_object;

zf_program *zf_py_program_of(PyObject *program) { return ((program_object *)program)->program; }

PyObject *zf_py_program_new(PyTypeObject *type, PyObject *make_error, PyObject *arguments) {
    PyObject *home, *capsule;
    const char *name, *text;
    Py_ssize_t bytes;
    if (!PyArg_ParseTuple(arguments, "OOyy#", &home, &capsule, &name, &text, &bytes)) return NULL;
    const zf_py_home *contents = PyCapsule_GetPointer(capsule, ZF_PY_HOME_CAPSULE);
    if (contents == NULL) return NULL;
    allocfunc allocate = __extension__(allocfunc) PyType_GetSlot(type, Py_tp_alloc);
    program_object *self = (program_object *)allocate(type, 0);
    if (self == NULL) return NULL;
    self->home = Py_NewRef(home);
    self->make_error = Py_NewRef(make_error);
    self->process = (long)getpid();
    zf_error error;
    zf_status status;
    Py_BEGIN_ALLOW_THREADS status = zf_program_load_text(contents->compiler, name, text, (size_t)bytes, &self->program, &error);
    Py_END_ALLOW_THREADS if (status == ZF_OK) return (PyObject *)self;
    Py_DECREF(self);
    return zf_py_raise(make_error, &error);
}

static void program_dealloc(PyObject *self) {
    program_object *p = (program_object *)self;
    if (p->process == (long)getpid()) {
        Py_BEGIN_ALLOW_THREADS zf_program_free(p->program);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(p->make_error);
    Py_XDECREF(p->home); // after the program: it has the compiler
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = __extension__(freefunc) PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

/// Arguments (table or None): [(name, type, nullable, codec)]. Parts of lists are left out.
static PyObject *program_columns(PyObject *self, PyObject *arguments) {
    const char *table;
    if (!PyArg_ParseTuple(arguments, "z", &table)) return NULL;
    zf_program *program = zf_py_program_of(self);
    PyObject *list = PyList_New(0);
    for (size_t k = 0; list != NULL && k < zf_program_columns(program, table); k++) {
        zf_column_info info = {ZF_INIT(zf_column_info)}, next = {ZF_INIT(zf_column_info)};
        zf_error error;
        zf_status status = zf_program_column(program, table, k, &info, &error);
        if (status == ZF_OK && (info.part == ZF_LIST_VALIDITY || info.part == ZF_LIST_VALUES)) continue;
        if (status == ZF_OK && info.part == ZF_LIST_ENDS) status = zf_program_column(program, table, k + 1, &next, &error);
        bool nullable = info.type.nullable || next.part == ZF_LIST_VALIDITY;
        PyObject *row = status == ZF_OK
                            ? Py_BuildValue("(ssOs)", info.name, info.type_name, nullable ? Py_True : Py_False, info.codec)
                            : zf_py_raise(((program_object *)self)->make_error, &error);
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_DECREF(list);
            list = NULL;
        }
        Py_XDECREF(row);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"columns", program_columns, METH_VARARGS, "The columns of a table."},
    {0},
};

static PyType_Slot slots[] = {
    ZF_SLOT(Py_tp_dealloc, program_dealloc),
    {Py_tp_methods, methods},
    {Py_tp_doc, (char[]){"A loaded program."}},
    {0},
};

PyType_Spec zf_py_program_spec = {.name = "zipflow._compile.Program",
                                  .basicsize = sizeof(program_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                                  .slots = slots};
