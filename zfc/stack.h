// The stack of the main thread.
#ifndef ZF_ZFC_STACK_H
#define ZF_ZFC_STACK_H

#include <stdbool.h>

/// Takes the memory of the main thread's stack, which the system gives page by page as calls go deeper: where it has none left,
/// a call, also one that reports missing memory, ends in SIGSEGV. Returns whether there was memory. On the main thread.
bool zf_stack_take(void);

#endif
