#ifndef ZF_RUNTIME_BASE_IMPORTS_H
#define ZF_RUNTIME_BASE_IMPORTS_H
// The functions of this library that generated native code calls without naming them: memcpy and its kin, which LLVM makes of
// loops.

#include <stddef.h>

#include "runtime/base/private.h"

typedef struct zf_import {
    const char *name;
    const void *address;
} zf_import;

/// Returns all of them; sets their number. The table is constant.
ZF_PRIVATE_API const zf_import *zf_imports(size_t *count);

#endif
