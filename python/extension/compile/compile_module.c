// zipflow._compile: the compiler, which calls the runtime inside zipflow._runtime (library.h). It loads LLVM, so the package
// imports it at the first decode or encode.
#include <stdio.h>
#include <string.h>

#include "python/extension/compile/program_object.h"
#include "python/extension/compile/query_object.h"
#include "python/extension/compile/stream_object.h"
#include "python/extension/compile/wrap_call.h"
#include "python/extension/home.h"
#include "python/extension/library.h"
#include "zfc/command.h"
#include "zipflow/compile.h"
#include "zipflow/emulator.h"

static zf_py_compile *state_of(PyObject *module) { return PyModule_GetState(module); }

static void free_compiler(void *compiler) { zf_compiler_free(compiler); }

/// The contents of a Home by its capsule; NULL with an exception set.
static zf_py_home *home_of(PyObject *capsule) {
    zf_py_home *home = PyCapsule_GetPointer(capsule, ZF_PY_HOME_CAPSULE);
    if (home == NULL || home->version == ZF_PY_HOME_VERSION) return home;
    PyErr_SetString(PyExc_ImportError, "zipflow._compile and zipflow._runtime are of different versions");
    return NULL;
}

/// Arguments (capsule of a Home, directory of std.zf as bytes; empty: the default): makes the Home's compiler, once. One thread
/// at a time.
static PyObject *attach(PyObject *module, PyObject *arguments) {
    PyObject *capsule;
    const char *std_dir;
    if (!PyArg_ParseTuple(arguments, "Oy", &capsule, &std_dir)) return NULL;
    zf_py_home *home = home_of(capsule);
    if (home == NULL) return NULL;
    if (home->compiler != NULL) return Py_NewRef(Py_None);
    zf_error error;
    zf_compiler *compiler = NULL;
    const zf_compiler_options options = {ZF_INIT(zf_compiler_options), .std_dir = *std_dir != 0 ? std_dir : NULL};
    zf_status status;
    // The emulated GPUs first: code links their functions. An attach that failed may have registered them.
    Py_BEGIN_ALLOW_THREADS status = zf_emulator_register(home->context, &error);
    if (status == ZF_OK || status == ZF_ERR_USAGE) status = zf_compiler_create(home->context, &options, &compiler, &error);
    Py_END_ALLOW_THREADS if (status != ZF_OK) return zf_py_raise(state_of(module)->make_error, &error);
    home->free_compiler = free_compiler;
    home->compiler = compiler;
    return Py_NewRef(Py_None);
}

static PyObject *load_program(PyObject *module, PyObject *arguments) {
    return zf_py_program_new(state_of(module)->program, state_of(module)->make_error, arguments);
}

static PyObject *take_stream(PyObject *module, PyObject *capsule) { return zf_py_stream_new(state_of(module), capsule); }

static PyObject *wrap(PyObject *module, PyObject *arguments) { return zf_py_wrap(state_of(module), arguments); }

static PyObject *find_chunks(PyObject *module, PyObject *arguments) { return zf_py_find_chunks(state_of(module), arguments); }

static PyObject *prepare_query(PyObject *module, PyObject *arguments) { return zf_py_query_new(state_of(module), arguments); }

static PyObject *query_table(PyObject *module, PyObject *arguments) { return zf_py_query_table(state_of(module), arguments); }

/// Runs zfc with words, a sequence of bytes; returns its exit status. Once in a process.
static PyObject *run_command(PyObject *module, PyObject *sequence) {
    (void)module;
    Py_ssize_t count = PySequence_Size(sequence);
    if (count < 0) return NULL;
    PyObject **held = count == 0 ? NULL : PyMem_Calloc((size_t)count, sizeof *held);
    char **words = PyMem_Calloc((size_t)count + 1, sizeof *words);
    bool good = words != NULL && (held != NULL || count == 0);
    if (!good) PyErr_NoMemory();
    for (Py_ssize_t k = 0; good && k < count; k++) {
        held[k] = PySequence_GetItem(sequence, k);
        good = held[k] != NULL && PyBytes_AsStringAndSize(held[k], &words[k], NULL) == 0;
    }
    int status = 0;
    if (good) {
        Py_BEGIN_ALLOW_THREADS status = zf_command((int)count, words);
        Py_END_ALLOW_THREADS
    }
    for (Py_ssize_t k = 0; held != NULL && k < count; k++) Py_XDECREF(held[k]);
    PyMem_Free(held);
    PyMem_Free(words);
    return good ? PyLong_FromLong(status) : NULL;
}

static PyMethodDef functions[] = {
    {"command", run_command, METH_O, "command(words): the exit status of zfc, called with words as bytes. Once in a process."},
    {"attach", attach, METH_VARARGS, "attach(home, std_dir): gives a Home its compiler, unless it has one."},
    {"program", load_program, METH_VARARGS, "program(home, capsule, name, text): a Program."},
    {"stream", take_stream, METH_O, "stream(capsule): a Stream, which takes what the capsule holds."},
    {"wrap", wrap, METH_VARARGS, "wrap(...): writes chunks that others compressed to a file; [(plain bytes, stored bytes)]."},
    {"find_chunks", find_chunks, METH_VARARGS,
     "find_chunks(name, data, dictionary): (sizes, rows) of the chunks of a .gz or .zst file, as u64."},
    {"query", prepare_query, METH_VARARGS, "query(program, name, hold, device, begin, count, threads): a Query."},
    {"query_table", query_table, METH_VARARGS,
     "query_table(program, name): the name of its table; None: there is no such query."},
    {0},
};

/// Sets the exception of a runtime with other functions; NULL: it has none.
static void refuse_runtime(const zf_py_library *library) {
    char version[32] = "an earlier one";
    if (library != NULL) snprintf(version, sizeof version, "%.*s", (int)strcspn(library->text, ":"), library->text);
    if (strcmp(version, ZF_PY_VERSION) == 0)
        PyErr_SetString(PyExc_ImportError,
                        "zipflow-runtime and zipflow-compile are of different builds, both of version " ZF_PY_VERSION
                        ": install both anew, from one place");
    else
        PyErr_Format(
            PyExc_ImportError,
            "zipflow-runtime and zipflow-compile are of different builds: install both in version %s, which the compiler has; "
            "the runtime has %s",
            ZF_PY_VERSION, version);
}

/// Finds the functions of zipflow._runtime; false with an exception set.
static bool bind_runtime(void) {
    // By hand: PyCapsule_Import takes an attribute of the package, which a package under import lacks.
    PyObject *runtime = PyImport_ImportModule("zipflow._runtime");
    if (runtime == NULL) return false;
    PyObject *capsule = PyObject_GetAttrString(runtime, "library");
    const zf_py_library *library = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, ZF_PY_LIBRARY_CAPSULE);
    bool bound = library != NULL && zf_py_library_bind(library);
    if (!bound) {
        PyErr_Clear();
        refuse_runtime(library);
    }
    Py_XDECREF(capsule);
    Py_DECREF(runtime);
    return bound;
}

static int execute(PyObject *module) {
    zf_py_compile *state = state_of(module);
    if (!bind_runtime()) return -1;
    state->program = (PyTypeObject *)PyType_FromModuleAndSpec(module, &zf_py_program_spec, NULL);
    state->stream = (PyTypeObject *)PyType_FromModuleAndSpec(module, &zf_py_stream_spec, NULL);
    state->query = (PyTypeObject *)PyType_FromModuleAndSpec(module, &zf_py_query_spec, NULL);
    state->make_error = zf_py_make_error();
    if (state->program == NULL || state->stream == NULL || state->query == NULL || state->make_error == NULL) return -1;
    return PyModule_AddStringConstant(module, "llvm_version", zf_compiler_llvm_version());
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    const zf_py_compile *state = state_of(module);
    Py_VISIT(state->program);
    Py_VISIT(state->stream);
    Py_VISIT(state->query);
    Py_VISIT(state->make_error);
    return 0;
}

static int clear(PyObject *module) {
    zf_py_compile *state = state_of(module);
    Py_CLEAR(state->program);
    Py_CLEAR(state->stream);
    Py_CLEAR(state->query);
    Py_CLEAR(state->make_error);
    return 0;
}

static void release(void *module) { clear(module); }

static PyModuleDef_Slot slots[] = {ZF_SLOT(Py_mod_exec, execute), {0}};

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "zipflow._compile",
                                        .m_doc = "The compiler. Private: use zipflow.",
                                        .m_size = sizeof(zf_py_compile),
                                        .m_methods = functions,
                                        .m_slots = slots,
                                        .m_traverse = traverse,
                                        .m_clear = clear,
                                        .m_free = release};

PyMODINIT_FUNC PyInit__compile(void);
PyMODINIT_FUNC PyInit__compile(void) { return PyModuleDef_Init(&definition); }
