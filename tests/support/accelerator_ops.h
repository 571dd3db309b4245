// The functions that every accelerator made for a test offers, in one table.
#ifndef ZF_TESTS_ACCELERATOR_OPS_H
#define ZF_TESTS_ACCELERATOR_OPS_H

#include "runtime/device/accelerator.h"

/// The entries of a zf_accelerator_ops that are functions called `kind`_OPERATION, those of streams and events left out.
#define ACCELERATOR_OPS(kind)                                                                                                    \
    .name = #kind, .target = kind##_target, .allocate = kind##_allocate, .release = kind##_release,                              \
    .host_allocate = kind##_host_allocate, .host_release = kind##_host_release, .copy_in = kind##_in, .copy_out = kind##_out,    \
    .fill = kind##_fill, .load = kind##_load, .launch = kind##_launch

#endif
