// Calls that encode for long: the main thread waits for them, and looks for interrupts meanwhile.
#ifndef ZF_PYTHON_INTERRUPTIBLE_H
#define ZF_PYTHON_INTERRUPTIBLE_H

#include "python/extension/extension.h"

/// Runs `work` without the GIL, and returns true when it returned ZF_OK. False with an exception set: that of its error, which
/// `make_error` makes, or that of an interrupt, which sets `*interrupted`; `work` must then end soon. The caller has the GIL.
///
/// `work` runs on a thread of its own where the main thread calls, since no other thread hears of interrupts.
bool zf_py_run_interruptible(zf_status (*work)(void *user, zf_error *error), void *user, atomic_bool *interrupted,
                             PyObject *make_error);
/// `progress` of encodings (zf_encode_options): goes on until there was an interrupt. `interrupted`: an atomic_bool. Any thread.
bool zf_py_not_interrupted(void *interrupted, uint64_t done, uint64_t blocks);

#endif
