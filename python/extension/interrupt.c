#include "python/extension/extension.h"

#include <time.h>

zf_py_interrupt zf_py_interrupt_begin(void) { return (zf_py_interrupt){.main_thread = zf_py_on_main_thread()}; }

bool zf_py_interrupted(void *user) {
    zf_py_interrupt *i = user;
    const double every = 0.05;
    struct timespec now;
    if (atomic_load(&i->came) || !i->main_thread || !zf_py_on_main_thread()) return atomic_load(&i->came);
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (i->looked > 0 && seconds - i->looked < every) return false;
    i->looked = seconds;
    PyGILState_STATE state = PyGILState_Ensure();
    bool came = PyErr_CheckSignals() != 0;
    if (came) PyErr_Fetch(&i->type, &i->value, &i->trace);
    PyGILState_Release(state);
    if (came) atomic_store(&i->came, true);
    return came;
}

bool zf_py_interrupt_raise(zf_py_interrupt *interrupt) {
    if (!atomic_load(&interrupt->came)) return false;
    PyErr_Restore(interrupt->type, interrupt->value, interrupt->trace); // the call's own goes
    return true;
}
