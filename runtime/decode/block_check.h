// The checks of a whole block (zf_abi_check_program in runtime/base/abi.h), made by an interpreter before kernels run.
#ifndef ZF_RUNTIME_BLOCK_CHECK_H
#define ZF_RUNTIME_BLOCK_CHECK_H

#include <stdbool.h>

#include "runtime/base/abi.h"
#include "runtime/base/private.h"

#define ZF_CHECKS_HOLD UINT32_MAX

/// Returns why a program must not run, or NULL if it may.
///
/// It may run if every operand is in range, its stack neither underflows nor overflows and every jump leads forward.
/// `slots` and `checks`: how many descriptor words and checks its plan has. The text is static.
ZF_PRIVATE_API const char *zf_block_check_fault(const zf_abi_check_program *program, uint32_t slots, uint32_t checks);

/// Runs a program that has no fault on the descriptor words of a block.
///
/// Returns the smallest number of a check that failed, or ZF_CHECKS_HOLD. Any thread; allocates nothing.
ZF_PRIVATE_API uint32_t zf_block_check_run(const zf_abi_check_program *program, const uint64_t *slots);

/// Returns the amounts that a failed check compared, where it asks for `has` <= `most` alone. False: it asks for something else.
ZF_PRIVATE_API bool zf_block_check_compared(const zf_abi_check_program *program, const uint64_t *slots, uint32_t check,
                                            uint64_t *has, uint64_t *most);

#endif
