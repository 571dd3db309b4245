#ifndef ZF_RUNTIME_IMPORTS_H
#define ZF_RUNTIME_IMPORTS_H
// Functions that generated native code calls without naming them, such as memcpy, which LLVM makes of loops.

#include <stddef.h>

#include "runtime/base/private.h"

typedef struct zf_import {
    const char *name;
    const void *address;
} zf_import;

/// Returns the constant table and sets its length.
ZF_PRIVATE_API const zf_import *zf_imports(size_t *count);

#endif
