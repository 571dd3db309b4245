// Home: a context and, once something is decoded or encoded, its compiler. Shared by files, programs and the two extension
// modules.
#ifndef ZF_PYTHON_HOME_H
#define ZF_PYTHON_HOME_H

#include <pthread.h>
#include <stdatomic.h>

#include "python/extension/extension.h"

#define ZF_PY_HOME_CAPSULE "zipflow._runtime.home"

/// Lines of the library's log that wait for a thread with the GIL: the library's threads never take it.
typedef struct zf_py_log {
    pthread_mutex_t lock;
    atomic_int most; ///< the last level that is kept; -1: none
    size_t first, count, dropped;
    struct {
        zf_log_level level;
        char *text;
    } lines[1024];
} zf_py_log;

/// The contents of a Home, which _compile finds through the capsule that `Home._capsule` returns. Holders of the object only.
typedef struct zf_py_home {
    unsigned version; ///< ZF_PY_HOME_VERSION, of both modules
    zf_context *context;
    void *compiler;                        ///< zf_compiler; NULL: none yet
    void (*free_compiler)(void *compiler); ///< of _compile, which stays loaded
    long process;                          ///< that made it: a forked child neither uses nor frees it
    struct zf_py_gpu *gpus;                ///< that were used
    pthread_mutex_t lock;                  ///< of `gpus`
    zf_py_log *log;                        ///< lives as long as the context, which may outlive the Home
} zf_py_home;

enum { ZF_PY_HOME_VERSION = 4 };

extern PyType_Spec zf_py_home_spec;

/// Returns a new Home, whose context has the default options; NULL with an exception set.
PyObject *zf_py_home_new(PyTypeObject *type, PyObject *make_error);
/// Returns the contents of an object that is a Home.
zf_py_home *zf_py_home_of(PyObject *home);

#endif
