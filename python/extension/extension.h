// Shared by the sources of an extension module: Python's limited interface, and how errors become exceptions.
#ifndef ZF_PYTHON_EXTENSION_H
#define ZF_PYTHON_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>

#include "python/extension/arrow_abi.h"
#include "zipflow/zipflow.h"

/// A function or a constant as the `void *` of a slot, which ISO C has no conversion for.
#define ZF_SLOT(id, function) {id, __extension__(void *)(function)}

/// Sets the exception of an error: `make` is zipflow._errors.make. Returns NULL. Holds the GIL.
PyObject *zf_py_raise(PyObject *make, const zf_error *error);
/// Fills `*error` with a failure that has no code of the library, and returns `status`. No Python object is touched.
zf_status zf_py_fail(zf_error *error, zf_status status, const char *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/// Returns a status that is not ZF_OK from the function around it.
#define ZF_TRY_PY(call)                                                                                                          \
    do {                                                                                                                         \
        zf_status zf_py_status = (call);                                                                                         \
        if (zf_py_status != ZF_OK) return zf_py_status;                                                                          \
    } while (0)

/// Returns (format, name, flags, metadata or None, (child, ...), dictionary or None) of a schema, children and dictionaries
/// alike; NULL with an exception set.
PyObject *zf_py_describe_schema(const ArrowSchema *schema);
/// Imports zipflow._errors.make; NULL with an exception set.
PyObject *zf_py_make_error(void);

/// Bit `at` of a bitmap, lowest bit of a byte first.
static inline bool zf_py_bit(const uint8_t *bits, int64_t at) { return (bits[at / 8] >> at % 8 & 1) != 0; }
/// Whether this is the main thread, the only one that hears of interrupts.
bool zf_py_on_main_thread(void);

// ---- Interrupts, which end calls that the main thread waits in ------------------------------------------------

/// A call of the library that an interrupt may end. Its members are interrupt.c's.
typedef struct zf_py_interrupt {
    bool main_thread; ///< it called: no other thread hears of interrupts
    double looked;    ///< the time in seconds at which it looked last; 0: never
    atomic_bool came;
    PyObject *type, *value, *trace; ///< of the interrupt's exception
} zf_py_interrupt;

/// Begins a call, on the thread that makes it.
zf_py_interrupt zf_py_interrupt_begin(void);
/// Whether an interrupt has come: `cancelled` of calls, whose user is a zf_py_interrupt. Any thread, without the GIL: the main
/// thread takes it, but not often, since another thread may have it.
bool zf_py_interrupted(void *user);
/// Sets the exception of the interrupt in place of the call's own, and returns true, if one has come. With the GIL, once.
bool zf_py_interrupt_raise(zf_py_interrupt *interrupt);

#endif
