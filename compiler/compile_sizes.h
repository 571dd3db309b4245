// The structs of zipflow/compile.h that begin with their size (runtime/base/sized.h): their bytes in version 0.1, and now.
#ifndef ZF_COMPILER_COMPILE_SIZES_H
#define ZF_COMPILER_COMPILE_SIZES_H

#include "runtime/base/sized.h"
#include "zipflow/compile.h"

enum {
    ZF_FIRST_zf_compiler_options = 56,
    ZF_FIRST_zf_encode_options = 56,
    ZF_FIRST_zf_encode_stats = 48,
    ZF_FIRST_zf_module_options = 40,
    ZF_FIRST_zf_module_stats = 56,
};
_Static_assert(sizeof(zf_compiler_options) == 56, "a new member changes this size, and no other");
_Static_assert(sizeof(zf_encode_options) == 56, "a new member changes this size, and no other");
_Static_assert(sizeof(zf_encode_stats) == 48, "a new member changes this size, and no other");
_Static_assert(sizeof(zf_module_options) == 40, "a new member changes this size, and no other");
_Static_assert(sizeof(zf_module_stats) == 56, "a new member changes this size, and no other");

#endif
