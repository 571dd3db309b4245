#include "runtime/base/imports.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

/// LLVM replaces loops whose sum has a closed form by a division of 128 bits, which no machine has.
static uint128 divide(uint128 a, uint128 b) { return a / b; }

const zf_import *zf_imports(size_t *count) {
    static const zf_import imports[] = {
        {"memcpy", (const void *)(uintptr_t)memcpy},    {"memmove", (const void *)(uintptr_t)memmove},
        {"memset", (const void *)(uintptr_t)memset},    {"memcmp", (const void *)(uintptr_t)memcmp},
        {"__udivti3", (const void *)(uintptr_t)divide}, {"fma", (const void *)(uintptr_t)(double (*)(double, double, double))fma},
    };
    *count = sizeof imports / sizeof imports[0];
    return imports;
}
