// The structs of zipflow.h and pipeline.h that begin with their size (runtime/base/sized.h).
#ifndef ZF_RUNTIME_STRUCT_SIZES_H
#define ZF_RUNTIME_STRUCT_SIZES_H

#include "runtime/base/sized.h"
#include "zipflow/pipeline.h"

/// Their sizes in version 0.1.
enum {
#define X(type, first, now) ZF_FIRST_##type = first,
#include "runtime/context/struct_sizes.def"
#undef X
};
#define X(type, first, now) _Static_assert(sizeof(type) == (now), "a new member changes this size in the table, and no other");
#include "runtime/context/struct_sizes.def"
#undef X

#endif
