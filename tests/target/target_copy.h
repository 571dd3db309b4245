// The work of the copy of the host target.
#ifndef ZF_TESTS_TARGET_COPY_H
#define ZF_TESTS_TARGET_COPY_H

#include <stdatomic.h>

extern atomic_uint copy_kernels; ///< kernels that were lowered

#endif
