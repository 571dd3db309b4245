// zipflow._runtime: files, columns and their memory. The library's runtime is inside; neither LLVM nor a driver of a GPU is
// loaded.
#include "python/extension/column_object.h"
#include "python/extension/container_object.h"
#include "python/extension/device_column.h"
#include "python/extension/dlpack.h"
#include "python/extension/home.h"
#include "python/extension/library.h"

static zf_py_types *types_of(PyObject *module) { return PyModule_GetState(module); }

static PyObject *open_home(PyObject *module, PyObject *none) {
    (void)none;
    return zf_py_home_new(types_of(module)->home, types_of(module)->make_error);
}

static PyObject *open_container(PyObject *module, PyObject *arguments) {
    PyObject *own = PyTuple_Pack(1, module);
    PyObject *all = own == NULL ? NULL : PySequence_Concat(own, arguments);
    PyObject *container = all == NULL ? NULL : zf_py_container_open(types_of(module), all);
    Py_XDECREF(all);
    Py_XDECREF(own);
    return container;
}

static PyObject *export_stream(PyObject *module, PyObject *arguments) {
    return zf_py_export_stream(types_of(module)->column, arguments);
}

static PyObject *export_struct(PyObject *module, PyObject *arguments) {
    return zf_py_export_struct(types_of(module)->column, types_of(module)->make_error, arguments);
}

static PyObject *export_device_stream(PyObject *module, PyObject *arguments) {
    return zf_py_export_device_stream(types_of(module)->device_column, arguments);
}

static PyObject *export_device_array(PyObject *module, PyObject *arguments) {
    return zf_py_export_device_array(types_of(module)->device_column, arguments);
}

static PyObject *export_schema(PyObject *module, PyObject *arguments) {
    return zf_py_export_schema(types_of(module)->column, types_of(module)->device_column, arguments);
}

static PyObject *convert(PyObject *module, PyObject *arguments) {
    return zf_py_column_convert(types_of(module)->column, types_of(module)->make_error, arguments);
}

static PyObject *describe_schema(PyObject *module, PyObject *capsule) {
    (void)module;
    const ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema != NULL && schema->release != NULL) return zf_py_describe_schema(schema);
    if (schema != NULL) PyErr_SetString(PyExc_ValueError, "the Arrow schema was taken by another consumer");
    return NULL;
}

static PyObject *buffer_address(PyObject *module, PyObject *object) {
    (void)module;
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) != 0) return NULL;
    PyObject *address = PyLong_FromVoidPtr(view.buf);
    PyBuffer_Release(&view);
    return address;
}

static PyObject *describe_tensor(PyObject *module, PyObject *capsule) {
    (void)module;
    return zf_py_describe_tensor(capsule);
}

#ifdef ZF_PY_COUNT_STORAGES
static PyObject *storages(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyLong_FromSize_t(zf_py_storage_count());
}
#endif

static PyMethodDef functions[] = {
    {"home", open_home, METH_NOARGS, "home(): a Home."},
    {"open", open_container, METH_VARARGS, "open(home, source, name, kind, known): a Container."},
    {"export_stream", export_stream, METH_VARARGS,
     "export_stream(columns, rows, metadata): a capsule of Arrow's C stream interface."},
    {"export_struct", export_struct, METH_VARARGS,
     "export_struct(field, columns, rows): capsules of Arrow's C data interface, of a struct."},
    {"export_device_stream", export_device_stream, METH_VARARGS,
     "export_device_stream(columns, rows, metadata, number): a capsule of Arrow's C device stream interface."},
    {"export_device_array", export_device_array, METH_VARARGS,
     "export_device_array(columns, rows, metadata, number): capsules of Arrow's C device data interface, a struct."},
    {"export_schema", export_schema, METH_VARARGS, "export_schema(fields, metadata): a capsule of Arrow's C data interface."},
    {"convert", convert, METH_VARARGS, "convert(column, field): a Column in another layout."},
    {"describe_schema", describe_schema, METH_O,
     "(format, name, flags, metadata, children, dictionary) of a capsule \"arrow_schema\"."},
    {"buffer_address", buffer_address, METH_O, "buffer_address(object): where the memory of its buffer begins."},
    {"describe_tensor", describe_tensor, METH_O,
     "(address, device, code, bits, lanes, shape, contiguous, read-only) of a capsule of DLPack, which keeps the tensor."},
#ifdef ZF_PY_COUNT_STORAGES
    {"storages", storages, METH_NOARGS, "How many columns' memories the process holds."},
#endif
    {0},
};

static bool make_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out) {
    *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out != NULL && PyModule_AddType(module, *out) == 0;
}

static int execute(PyObject *module) {
    zf_py_types *types = types_of(module);
    if (!make_type(module, &zf_py_home_spec, &types->home) || !make_type(module, &zf_py_container_spec, &types->container) ||
        !make_type(module, &zf_py_buffer_spec, &types->buffer) || !make_type(module, &zf_py_column_spec, &types->column) ||
        !make_type(module, &zf_py_device_buffer_spec, &types->device_buffer) ||
        !make_type(module, &zf_py_device_column_spec, &types->device_column) ||
        !make_type(module, &zf_py_reading_spec, &types->reading))
        return -1;
    types->make_error = zf_py_make_error();
    PyObject *library = PyCapsule_New((void *)zf_py_library_table(), ZF_PY_LIBRARY_CAPSULE, NULL);
    int failed = types->make_error == NULL || library == NULL || PyModule_AddObjectRef(module, "library", library) != 0;
    Py_XDECREF(library);
    return failed ? -1 : PyModule_AddStringConstant(module, "library_version", zf_version());
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    const zf_py_types *types = types_of(module);
    Py_VISIT(types->home);
    Py_VISIT(types->container);
    Py_VISIT(types->buffer);
    Py_VISIT(types->column);
    Py_VISIT(types->device_buffer);
    Py_VISIT(types->device_column);
    Py_VISIT(types->reading);
    Py_VISIT(types->make_error);
    return 0;
}

static int clear(PyObject *module) {
    zf_py_types *types = types_of(module);
    Py_CLEAR(types->home);
    Py_CLEAR(types->container);
    Py_CLEAR(types->buffer);
    Py_CLEAR(types->column);
    Py_CLEAR(types->device_buffer);
    Py_CLEAR(types->device_column);
    Py_CLEAR(types->reading);
    Py_CLEAR(types->make_error);
    return 0;
}

static void release(void *module) { clear(module); }

static PyModuleDef_Slot slots[] = {ZF_SLOT(Py_mod_exec, execute), {0}};

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "zipflow._runtime",
                                        .m_doc = "Files, columns and their memory. Private: use zipflow.",
                                        .m_size = sizeof(zf_py_types),
                                        .m_methods = functions,
                                        .m_slots = slots,
                                        .m_traverse = traverse,
                                        .m_clear = clear,
                                        .m_free = release};

PyMODINIT_FUNC PyInit__runtime(void);
PyMODINIT_FUNC PyInit__runtime(void) { return PyModuleDef_Init(&definition); }
