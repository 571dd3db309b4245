// What the compiler and its users ask of code generation about a plan.
#ifndef ZF_CODEGEN_H
#define ZF_CODEGEN_H

#include "patterns/plan/plan.h"

/// How a kernel runs on a GPU. All texts are static, without a full stop.
typedef struct zf_codegen_form_info {
    const char *name; ///< of the form: "map"
    const char *use;  ///< what the form runs: "elements that do not depend on each other"
    const char *tile; ///< who makes a tile: "a thread block; each thread makes up to 16 contiguous bytes at a time"
    bool parallel;    ///< false: the form is `sequential`, where one thread makes a whole tile or chunk
    uint32_t node;    ///< graph node that keeps the kernel from being parallel; the kernel's root where it is parallel
    const char
        *why; ///< not parallel: the reason, with the algorithm of `node` as its subject ("adds floats in order, ..."); else NULL
    const char *hint; ///< a rewrite that would make it parallel, in the imperative mood; NULL: none is known
} zf_codegen_form_info;

/// Describes how a kernel of a plan for a GPU runs. Returns false for a plan of the host, whose kernels are loops over tiles.
/// Depends on nothing but the plan and its choices.
bool zf_codegen_form(const zf_plan *plan, const zf_kernel *kernel, zf_codegen_form_info *out);

#endif
