// A plan request: everything that decides how a column is planned and its kernels are lowered, and that its text does not say.
#ifndef ZF_COMPILER_PLAN_REQUEST_H
#define ZF_COMPILER_PLAN_REQUEST_H

#include "patterns/plan/choices.h"
#include "runtime/base/abi.h"

/// The states that a file has, or that an encoder is to write. A decoder has the same ones.
typedef struct zf_decoder_states {
    uint32_t seek_interval; ///< outputs between two states, a power of two; 0: the default of the plan
    /// Ordered stages with states and a kernel of their own: paths of their streams within the column, separated by commas, or
    /// "all". NULL: none.
    const char *unfused;
    const uint32_t *tree_edges; ///< the same by number: edges that have a seek tree in a file. May be NULL
    uint32_t tree_edge_count;
    const uint32_t *uneven_edges; ///< by number: edges whose chunks are uneven in a file. May be NULL
    uint32_t uneven_edge_count;
} zf_decoder_states;

/// Zeroes are the defaults: checked, fused kernels for the host. Pointers are the caller's; a decoder copies what it keeps.
typedef struct zf_plan_request {
    zf_abi_target target;
    zf_decoder_states states;
    const zf_choices *choices; ///< for kernels of accelerators; NULL: none
    /// Materialises every edge that may be, so that each stage has a kernel. Measures what fusing is worth. Such plans have a
    /// seek tree for each ordered stage; they fit files written for fused plans where at most one stage is ordered.
    bool unfused;
    /// Leaves checks of stream contents out of kernels. Measures what checks cost. Such a kernel reads and writes out of bounds
    /// if its file lies: use it only for files that this process decoded with checks before. Checks that run once a block stay,
    /// and so do all checks in modules.
    bool unchecked;
    struct zf_fault_sites *sites; ///< the fault switch of tests (codegen/body/cg_fault_sites.h); NULL: none
} zf_plan_request;

#endif
