#include "python/extension/compile/query_object.h"

#include <unistd.h>

#include "python/extension/compile/program_object.h"
#include "python/extension/container_object.h"
#include "zipflow/compile.h"

typedef struct query_object {
    PyObject_HEAD PyObject *program, *hold, *make_error;
    zf_prepared_query *query;
    long process; ///< that prepared it: a forked child neither uses nor frees it
} query_object;

// ---- Preparation ----------------------------------------------------------------------------------------------

PyObject *zf_py_query_table(const zf_py_compile *types, PyObject *arguments) {
    PyObject *program;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "O!z", types->program, &program, &name)) return NULL;
    const char *table = zf_program_query_table(zf_py_program_of(program), name);
    return table != NULL ? PyUnicode_FromString(table) : Py_NewRef(Py_None);
}

PyObject *zf_py_query_new(const zf_py_compile *types, PyObject *arguments) {
    PyObject *program, *hold;
    const char *name;
    unsigned long long begin, count;
    zf_query_options options = {ZF_INIT(zf_query_options), .some_rows = true};
    unsigned long long unit;
    int from_host;
    if (!PyArg_ParseTuple(arguments, "O!zOyKKIpK", types->program, &program, &name, &hold, &options.device, &begin, &count,
                          &options.threads, &from_host, &unit))
        return NULL;
    options.from_host = from_host != 0;
    options.unit_bytes = unit;
    zf_container *container = hold != Py_None ? PyCapsule_GetPointer(hold, ZF_PY_CONTAINER_CAPSULE) : NULL;
    if (container == NULL && hold != Py_None) return NULL;
    options.some_rows = container != NULL;
    options.row_begin = begin;
    options.row_count = count;
    allocfunc allocate = __extension__(allocfunc) PyType_GetSlot(types->query, Py_tp_alloc);
    query_object *self = (query_object *)allocate(types->query, 0);
    if (self == NULL) return NULL;
    self->program = Py_NewRef(program);
    self->hold = Py_NewRef(hold);
    self->make_error = Py_NewRef(types->make_error);
    self->process = (long)getpid();
    zf_error error;
    zf_status status;
    zf_program *loaded = zf_py_program_of(program);
    Py_BEGIN_ALLOW_THREADS status = zf_query_prepare(loaded, name, container, &options, &self->query, &error);
    Py_END_ALLOW_THREADS if (status == ZF_OK) return (PyObject *)self;
    Py_DECREF(self);
    return zf_py_raise(types->make_error, &error);
}

static void free_query(query_object *q) {
    zf_prepared_query *query = q->query;
    q->query = NULL;
    if (q->process == (long)getpid()) {
        Py_BEGIN_ALLOW_THREADS zf_query_free(query);
        Py_END_ALLOW_THREADS
    }
    Py_CLEAR(q->hold); // which may close the container
}

static PyObject *query_close(PyObject *self, PyObject *none) {
    (void)none;
    free_query((query_object *)self);
    return Py_NewRef(Py_None);
}

static void query_dealloc(PyObject *self) {
    query_object *q = (query_object *)self;
    free_query(q);
    Py_XDECREF(q->make_error);
    Py_XDECREF(q->program); // after the query: it keeps the compiler
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = __extension__(freefunc) PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

// ---- Members --------------------------------------------------------------------------------------------------

/// The role of members: [(name, number of the element's type, whether it has a default, kind, dimensions)].
static PyObject *query_members(PyObject *self, PyObject *argument) {
    query_object *q = (query_object *)self;
    long role = PyLong_AsLong(argument);
    if (role == -1 && PyErr_Occurred()) return NULL;
    PyObject *list = PyList_New(0);
    for (size_t k = 0; list != NULL && k < zf_query_members(q->query, (zf_query_role)role); k++) {
        zf_query_member member = {ZF_INIT(zf_query_member)};
        zf_error error;
        zf_status status = zf_query_describe(q->query, (zf_query_role)role, k, &member, &error);
        PyObject *row = status != ZF_OK ? zf_py_raise(q->make_error, &error)
                                        : Py_BuildValue("(siOiI)", member.name, (int)member.type.element,
                                                        member.has_default ? Py_True : Py_False, (int)member.kind,
                                                        (unsigned)member.dimensions);
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

// ---- Runs -----------------------------------------------------------------------------------------------------

// A run's arguments. Strings belong to the tuples of the call, memory to whoever called.
typedef struct running {
    zf_query_param *params;
    zf_query_array *arrays;
    size_t param_count, array_count;
} running;

static bool take_params(running *r, PyObject *params) {
    for (size_t k = 0; k < r->param_count; k++) {
        zf_query_param *to = &r->params[k];
        if (!PyArg_ParseTuple(PyTuple_GetItem(params, (Py_ssize_t)k), "yy", &to->name, &to->text)) return false;
    }
    return true;
}

static bool take_arrays(running *r, PyObject *arrays) {
    for (size_t k = 0; k < r->array_count; k++) {
        zf_query_array *to = &r->arrays[k];
        unsigned long long address, bytes;
        int there;
        if (!PyArg_ParseTuple(PyTuple_GetItem(arrays, (Py_ssize_t)k), "yKKp", &to->name, &address, &bytes, &there)) return false;
        to->bytes = (size_t)bytes;
        to->address = there ? address : 0;
        to->values = there ? NULL : (const void *)(uintptr_t)address;
    }
    return true;
}

/// Arguments (((name, text), ...), ((name, address, bytes, whether it is the device's), ...), stream): runs the query. Memory
/// must stay during the call.
static PyObject *query_run(PyObject *self, PyObject *arguments) {
    query_object *q = (query_object *)self;
    PyObject *params, *arrays;
    unsigned long long stream;
    if (!PyArg_ParseTuple(arguments, "O!O!K", &PyTuple_Type, &params, &PyTuple_Type, &arrays, &stream)) return NULL;
    running r = {.param_count = (size_t)PyTuple_Size(params), .array_count = (size_t)PyTuple_Size(arrays)};
    r.params = PyMem_Calloc(r.param_count + 1, sizeof *r.params);
    r.arrays = PyMem_Calloc(r.array_count + 1, sizeof *r.arrays);
    bool room = r.params != NULL && r.arrays != NULL;
    if (!room) PyErr_NoMemory();
    bool taken = room && take_params(&r, params) && take_arrays(&r, arrays);
    zf_error error;
    zf_status status = ZF_OK;
    if (taken) {
        Py_BEGIN_ALLOW_THREADS status =
            zf_query_run(q->query, r.params, r.param_count, r.arrays, r.array_count, (void *)(uintptr_t)stream, &error);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(r.params);
    PyMem_Free(r.arrays);
    if (!taken) return NULL;
    return status == ZF_OK ? Py_NewRef(Py_None) : zf_py_raise(q->make_error, &error);
}

/// Arguments: the number of a result: ((length, ...), bytes of values, bytes of the validity).
static PyObject *query_size(PyObject *self, PyObject *argument) {
    query_object *q = (query_object *)self;
    size_t result = PyLong_AsSize_t(argument);
    if (PyErr_Occurred()) return NULL;
    zf_query_sizes sizes = {ZF_INIT(zf_query_sizes)};
    zf_error error;
    if (zf_query_result_size(q->query, result, &sizes, &error) != ZF_OK) return zf_py_raise(q->make_error, &error);
    PyObject *lengths = PyTuple_New((Py_ssize_t)sizes.dimensions);
    for (uint32_t d = 0; lengths != NULL && d < sizes.dimensions; d++) {
        PyObject *length = PyLong_FromUnsignedLongLong(sizes.lengths[d]);
        if (length == NULL || PyTuple_SetItem(lengths, (Py_ssize_t)d, length) != 0) Py_CLEAR(lengths);
    }
    if (lengths == NULL) return NULL;
    return Py_BuildValue("(NKK)", lengths, (unsigned long long)sizes.values, (unsigned long long)sizes.validity);
}

/// Arguments (number of a result, address, bytes, whether it is the device's, address of the validity or 0, bytes, stream):
/// copies a result of the last run.
static PyObject *query_take(PyObject *self, PyObject *arguments) {
    query_object *q = (query_object *)self;
    unsigned long long result, address, bytes, validity, validity_bytes, stream;
    int there;
    if (!PyArg_ParseTuple(arguments, "KKKpKKK", &result, &address, &bytes, &there, &validity, &validity_bytes, &stream))
        return NULL;
    zf_query_buffers buffers = {ZF_INIT(zf_query_buffers), .values_bytes = bytes, .validity_bytes = validity_bytes};
    buffers.validity = (void *)(uintptr_t)validity;
    if (there)
        buffers.address = address;
    else
        buffers.values = (void *)(uintptr_t)address;
    zf_error error;
    zf_status status;
    Py_BEGIN_ALLOW_THREADS status = zf_query_take(q->query, (size_t)result, &buffers, (void *)(uintptr_t)stream, &error);
    Py_END_ALLOW_THREADS if (status == ZF_OK) return Py_NewRef(Py_None);
    return zf_py_raise(q->make_error, &error);
}

static PyMethodDef methods[] = {
    {"close", query_close, METH_NOARGS, "Frees the query."},
    {"members", query_members, METH_O, "The params (0), inputs (1) or results (2)."},
    {"run", query_run, METH_VARARGS, "Runs the query."},
    {"size", query_size, METH_O, "The shape and the bytes of a result."},
    {"take", query_take, METH_VARARGS, "Copies a result."},
    {0},
};

static PyType_Slot slots[] = {
    ZF_SLOT(Py_tp_dealloc, query_dealloc),
    {Py_tp_methods, methods},
    {Py_tp_doc, (char[]){"A prepared query."}},
    {0},
};

PyType_Spec zf_py_query_spec = {.name = "zipflow._compile.Query",
                                .basicsize = sizeof(query_object),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                                .slots = slots};
