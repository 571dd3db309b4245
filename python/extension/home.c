#include "python/extension/home.h"

#include <unistd.h>

#include "python/extension/gpu.h"

typedef struct home_object {
    PyObject_HEAD zf_py_home home;
} home_object;

zf_py_home *zf_py_home_of(PyObject *home) { return &((home_object *)home)->home; }

PyObject *zf_py_home_new(PyTypeObject *type, PyObject *make_error) {
    zf_error error;
    const zf_context_options options = {ZF_INIT(zf_context_options)};
    allocfunc allocate = __extension__(allocfunc) PyType_GetSlot(type, Py_tp_alloc);
    home_object *self = (home_object *)allocate(type, 0);
    if (self == NULL) return NULL;
    self->home = (zf_py_home){.version = ZF_PY_HOME_VERSION, .process = (long)getpid()};
    pthread_mutex_init(&self->home.lock, NULL);
    zf_status status;
    Py_BEGIN_ALLOW_THREADS status = zf_context_create(&options, &self->home.context, &error);
    Py_END_ALLOW_THREADS if (status == ZF_OK) return (PyObject *)self;
    Py_DECREF(self);
    return zf_py_raise(make_error, &error);
}

static void home_dealloc(PyObject *self) {
    zf_py_home *home = zf_py_home_of(self);
    if (home->process == (long)getpid()) {                  // else threads of the parent may have held locks
        Py_BEGIN_ALLOW_THREADS if (zf_py_gpus_free(home)) { // else columns in their memory need the context: it stays
            if (home->compiler != NULL) home->free_compiler(home->compiler);
            zf_context_free(home->context);
        }
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
