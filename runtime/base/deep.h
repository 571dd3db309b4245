// Work that recurses as deep as a text is nested: it runs on a stack of a known size, whatever the caller's is.
#ifndef ZF_RUNTIME_DEEP_H
#define ZF_RUNTIME_DEEP_H

#include "zipflow/zipflow.h"

/// Runs `work` on a thread of its own, and returns its status when it is done. Any thread may call it, also within such work.
///
/// Its stack has 16 MiB (with sanitizers 64), of which memory takes what is used. ZF_ERR_MEMORY (ZF1102): there is no thread, and
/// `work` did not run. `error` may be NULL, and is passed on.
zf_status zf_run_deep(zf_status (*work)(void *user, zf_error *error), void *user, zf_error *error);

#endif
