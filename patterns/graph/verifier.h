// How the verifiers of graphs and plans report the first property that does not hold.
#ifndef ZF_PATTERNS_VERIFIER_H
#define ZF_PATTERNS_VERIFIER_H

#include "runtime/base/text.h"

/// Returns false from a function with a `zf_text *reason`, and appends the reason there if it is not NULL.
#define DEMAND(condition, ...)                                                                                                   \
    do {                                                                                                                         \
        if (!(condition)) {                                                                                                      \
            if (reason != NULL) zf_text_printf(reason, __VA_ARGS__);                                                             \
            return false;                                                                                                        \
        }                                                                                                                        \
    } while (0)

#endif
