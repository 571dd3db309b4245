// The structs of tune.h for the functions of sized.h.
#ifndef ZF_TUNER_TUNE_SIZED_H
#define ZF_TUNER_TUNE_SIZED_H

#include "runtime/base/sized.h"

/// The sizes of version 0.1.
enum {
#define ZF_STRUCT(type, first, now) ZF_FIRST_##type = first,
#include "tuner/tune_structs.def"
};

#endif
