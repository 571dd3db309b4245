// Work of LLVM on threads of its own. Where LLVM does not come back, the thread is left behind, and its caller goes on.
//
// An object on LLVM's stack may be in a list of the process: a group of timers is. The stack of an end without destructors
// therefore stays as it is, for ever.
#ifndef ZF_CODEGEN_APART_H
#define ZF_CODEGEN_APART_H

#include <stdbool.h>

#include "runtime/base/error.h"

typedef enum zf_apart_end {
    ZF_APART_RETURNED,  ///< the work did
    ZF_APART_LANDED,    ///< zf_apart_land was called. The thread sleeps for ever
    ZF_APART_STUCK,     ///< the work does nothing for two seconds, or has used more than five of a processor, and was given up
    ZF_APART_NO_THREAD, ///< there was no memory for one: the work did not run
} zf_apart_end;

typedef struct zf_apart_result {
    zf_apart_end end;
    zf_status status; ///< of work that returned
    bool no_memory;   ///< of a landing
    char reason[400];
} zf_apart_result;

/// Runs `work` on a thread with a deep stack (runtime/base/deep.h), and returns when it has ended. Any thread may call it.
///
/// `gives_up`: it also ends as ZF_APART_STUCK, and the work may go on then: `user` and `error` are NULL or are never freed.
/// `error` may be NULL, and is passed on.
zf_apart_result zf_run_apart(zf_status (*work)(void *user, zf_error *error), void *user, bool gives_up, zf_error *error);

/// Whether this thread runs such work.
bool zf_is_apart(void);

/// Has `landed` called if this work lands, on its thread, before its caller goes on. It does not call LLVM.
void zf_apart_at_landing(void (*landed)(void *user), void *user);

/// Ends this thread's work, and does not return. Where there is none, it does nothing.
void zf_apart_land(const char *reason, bool no_memory);

#endif
