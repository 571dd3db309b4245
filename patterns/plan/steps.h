// How much work an element can be, whatever the data: what bounds the time that a small block may ask for.
#ifndef ZF_SCHEDULER_STEPS_H
#define ZF_SCHEDULER_STEPS_H

#include "patterns/plan/plan.h"

/// Where counting stops: more is not told apart.
#define ZF_STEPS_MOST (UINT64_C(1) << 48)
/// Steps that a block may ask for, beside ZF_STEPS_EACH for each element that a kernel makes and each stored byte.
#define ZF_STEPS_BLOCK (UINT64_C(1) << 36)
#define ZF_STEPS_EACH 1024
/// Turns of counted loops that any chunk may take (V10).
#define ZF_CHUNK_WORK 65536

/// Most iterations of the loops and reductions that one evaluation of a body may run, those of the elements that it pulls from
/// children without a buffer included; at least 1.
typedef struct zf_steps {
    uint64_t decode, size, groups;
} zf_steps;

/// Of every node of the plan's graph.
zf_steps *zf_plan_steps(zf_arena *arena, const zf_plan *plan);

#endif
