// Bounds the loop iterations of an element for any data, and so the time that a small block may cost.
#ifndef ZF_PATTERNS_STEPS_H
#define ZF_PATTERNS_STEPS_H

#include "patterns/plan/plan.h"

/// Counting stops here.
#define ZF_STEPS_MOST (UINT64_C(1) << 48)
/// Iterations that a block may cost, besides ZF_STEPS_EACH for each element of a kernel and each stored byte.
#define ZF_STEPS_BLOCK (UINT64_C(1) << 36)
#define ZF_STEPS_EACH 1024
/// Rounds of counted loops that any chunk may take (V10), besides 64 for each of its elements and bytes.
#define ZF_CHUNK_WORK 65536

/// Largest number of iterations of loops and reductions in one evaluation of a body, at least 1. Includes the elements that it
/// pulls from children without a buffer. A long loop of a chunk counts as one iteration: its iterations are counted while it
/// runs, or each reads or emits something.
typedef struct zf_steps {
    uint64_t decode, size, groups;
} zf_steps;

/// Returns the bounds of every node of the plan's graph.
zf_steps *zf_plan_steps(zf_arena *arena, const zf_plan *plan);

#endif
