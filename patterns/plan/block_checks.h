// The checks of a whole block: which a plan makes, and the program that makes them (zf_abi_check_program in runtime/base/abi.h).
#ifndef ZF_PATTERNS_BLOCK_CHECKS_H
#define ZF_PATTERNS_BLOCK_CHECKS_H

#include "patterns/plan/plan.h"

/// The program checks, in this order, and stops behind each that fails:
///
/// 1. ranges of params (V20), one by one: later checks divide and shift by params;
/// 2. lengths of fixed streams (V21), steps of all elements together (V10), numbers of groups (V25);
/// 3. the accesses that the plan hoisted (V01).
typedef struct zf_block_checks {
    zf_check *checks; ///< V20, V21, V10, V25. Check k has the number plan->check_count + k
    uint32_t count;
    zf_abi_check_program program;
} zf_block_checks;

/// Builds the checks of a plan. Everything belongs to `arena`.
///
/// NULL with a diagnostic (ZF0804, ZF0805) where an expression has a form that a program cannot compute, or grows too large.
const zf_block_checks *zf_plan_block_checks(zf_arena *arena, const zf_plan *plan, zf_diags *diags);

#endif
