// Finds indices that never decrease along a domain. Their bounds check is made once per block instead of once per element.
#ifndef ZF_PATTERNS_AFFINE_H
#define ZF_PATTERNS_AFFINE_H

#include "patterns/graph/graph.h"

/// The variables that an index depends on besides params, lengths and constants.
enum { ZF_USES_I = 1, ZF_USES_G = 2, ZF_USES_BINDER = 4 };

/// An integer expression that never decreases when i, g or an enclosing binder grows, and never wraps.
typedef struct zf_affine {
    zf_interval range;
    unsigned uses;
} zf_affine;

/// The reductions around an expression, outermost first.
typedef struct zf_around {
    const zf_reduce *const *reduces;
    uint32_t count;
} zf_around;

/// Largest counts of a block (V25): elements of an edge, and groups. The host checks them before any kernel runs.
#define ZF_MOST_ELEMENTS (UINT64_C(1) << 32)
#define ZF_MOST_GROUPS (UINT64_C(1) << 48)

/// Returns whether `expr` of an instance's body is of the form c1 * d + c0 with c1 and c0 over params, lengths and constants, or
/// otherwise known never to decrease (a division, a shift, min and max of such), with binders whose ranges begin at a constant
/// and end at such an expression.
bool zf_affine_of(const zf_inst *inst, zf_around around, const zf_expr *expr, zf_affine *out);

/// Returns whether every enclosing binder has such a range, so that all of them reach their last values together.
bool zf_affine_around(const zf_inst *inst, zf_around around);

#endif
