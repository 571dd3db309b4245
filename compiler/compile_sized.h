// The structs of compile.h for the functions of sized.h.
#ifndef ZF_COMPILER_COMPILE_SIZED_H
#define ZF_COMPILER_COMPILE_SIZED_H

#include "runtime/base/sized.h"

/// The sizes of version 0.1.
enum {
#define ZF_STRUCT(type, first, now) ZF_FIRST_##type = first,
#include "compiler/compile_structs.def"
};

#endif
