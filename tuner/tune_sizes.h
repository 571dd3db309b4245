// The structs of zipflow/tune.h that begin with their size (runtime/base/sized.h): their bytes in version 0.1, and now.
#ifndef ZF_TUNER_TUNE_SIZES_H
#define ZF_TUNER_TUNE_SIZES_H

#include "runtime/base/sized.h"
#include "zipflow/tune.h"

enum {
    ZF_FIRST_zf_tuner_options = 56,
    ZF_FIRST_zf_tuner_result = 336,
    ZF_FIRST_zf_tuner_replay_stats = 48,
};
_Static_assert(sizeof(zf_tuner_options) == 56, "a new member changes this size, and no other");
_Static_assert(sizeof(zf_tuner_result) == 336, "a new member changes this size, and no other");
_Static_assert(sizeof(zf_tuner_replay_stats) == 48, "a new member changes this size, and no other");
// Callbacks read these, and compare the size that the library sets with that of their version.
_Static_assert(sizeof(zf_tuner_probe) == 64, "a new member goes behind all others");
_Static_assert(sizeof(zf_tuner_replayed) == 64, "a new member goes behind all others");

#endif
