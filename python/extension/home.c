#include "python/extension/home.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python/extension/gpu.h"

typedef struct home_object {
    PyObject_HEAD zf_py_home home;
} home_object;

zf_py_home *zf_py_home_of(PyObject *home) { return &((home_object *)home)->home; }

// ---- The log --------------------------------------------------------------------------------------------------

enum { LINES = sizeof((zf_py_log *)0)->lines / sizeof *((zf_py_log *)0)->lines };

/// On any thread of the library, without the GIL, which it must not take: others wait for the log, and may hold the GIL.
static void keep_line(void *user, zf_log_level level, const char *line) {
    zf_py_log *log = user;
    if ((int)level > atomic_load(&log->most)) return;
    char *text = strdup(line);
    pthread_mutex_lock(&log->lock);
    bool kept = text != NULL && log->count < LINES;
    if (kept) {
        size_t at = (log->first + log->count++) % LINES;
        log->lines[at].level = level;
        log->lines[at].text = text;
    } else {
        log->dropped++;
    }
    pthread_mutex_unlock(&log->lock);
    if (!kept) free(text);
}

/// The oldest line, to be freed; NULL: there is none.
static char *next_line(zf_py_log *log, zf_log_level *level) {
    char *text = NULL;
    pthread_mutex_lock(&log->lock);
    if (log->count > 0) {
        *level = log->lines[log->first].level;
        text = log->lines[log->first].text;
        log->first = (log->first + 1) % LINES;
        log->count--;
    }
    pthread_mutex_unlock(&log->lock);
    return text;
}

/// Arguments (most): keeps lines of levels up to `most` from now on (-1: none), and returns ([(level, line)], dropped lines).
static PyObject *home_log(PyObject *self, PyObject *argument) {
    zf_py_log *log = zf_py_home_of(self)->log;
    long most = PyLong_AsLong(argument);
    if (most == -1 && PyErr_Occurred()) return NULL;
    atomic_store(&log->most, (int)most);
    PyObject *lines = PyList_New(0);
    zf_log_level level;
    for (char *text; lines != NULL && (text = next_line(log, &level)) != NULL; free(text)) {
        PyObject *line = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
        PyObject *pair = line != NULL ? Py_BuildValue("(iN)", (int)level, line) : NULL;
        if (pair == NULL || PyList_Append(lines, pair) != 0) Py_CLEAR(lines);
        Py_XDECREF(pair);
    }
    pthread_mutex_lock(&log->lock);
    size_t dropped = log->dropped;
    log->dropped = 0;
    pthread_mutex_unlock(&log->lock);
    return lines != NULL ? Py_BuildValue("(Nn)", lines, (Py_ssize_t)dropped) : NULL;
}

// ---- The object -----------------------------------------------------------------------------------------------

PyObject *zf_py_home_new(PyTypeObject *type, PyObject *make_error) {
    zf_error error;
    allocfunc allocate = __extension__(allocfunc) PyType_GetSlot(type, Py_tp_alloc);
    home_object *self = (home_object *)allocate(type, 0);
    if (self == NULL) return NULL;
    self->home = (zf_py_home){.version = ZF_PY_HOME_VERSION, .process = (long)getpid(), .log = calloc(1, sizeof(zf_py_log))};
    pthread_mutex_init(&self->home.lock, NULL);
    if (self->home.log == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    pthread_mutex_init(&self->home.log->lock, NULL);
    atomic_init(&self->home.log->most, -1);
    const zf_context_options options = {ZF_INIT(zf_context_options), .log = keep_line, .log_user = self->home.log};
    zf_status status;
    Py_BEGIN_ALLOW_THREADS status = zf_context_create(&options, &self->home.context, &error);
    Py_END_ALLOW_THREADS if (status == ZF_OK) return (PyObject *)self;
    Py_DECREF(self);
    return zf_py_raise(make_error, &error);
}

static void free_log(zf_py_log *log) {
    zf_log_level level;
    if (log == NULL) return;
    for (char *text; (text = next_line(log, &level)) != NULL;) free(text);
    pthread_mutex_destroy(&log->lock);
    free(log);
}

/// Columns in a GPU's memory need the context, which then stays, and logs.
static void free_contents(zf_py_home *home) {
    if (!zf_py_gpus_free(home)) {
        if (home->log != NULL) atomic_store(&home->log->most, -1); // nobody will hear it
        return;
    }
    if (home->compiler != NULL) home->free_compiler(home->compiler);
    zf_context_free(home->context);
    free_log(home->log);
}

static void home_dealloc(PyObject *self) {
    zf_py_home *home = zf_py_home_of(self);
    if (home->process == (long)getpid()) { // else threads of the parent may have held locks
        Py_BEGIN_ALLOW_THREADS free_contents(home);
        Py_END_ALLOW_THREADS pthread_mutex_destroy(&home->lock);
    }
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = __extension__(freefunc) PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *home_capsule(PyObject *self, PyObject *none) {
    (void)none;
    return PyCapsule_New(zf_py_home_of(self), ZF_PY_HOME_CAPSULE, NULL);
}

static PyMethodDef methods[] = {
    {"log", home_log, METH_O, "log(most): ([(level, line)], dropped lines) since the last call; keeps levels up to `most`."},
    {"_capsule", home_capsule, METH_NOARGS, "The contents, for zipflow._compile; valid as long as the Home."},
    {0},
};

static PyType_Slot slots[] = {
    ZF_SLOT(Py_tp_dealloc, home_dealloc),
    {Py_tp_methods, methods},
    {Py_tp_doc, (char[]){"A context of the library, and its compiler."}},
    {0},
};

PyType_Spec zf_py_home_spec = {.name = "zipflow._runtime.Home",
                               .basicsize = sizeof(home_object),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                               .slots = slots};
