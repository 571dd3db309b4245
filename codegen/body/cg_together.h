// Local arrays that the lanes of a warp have together, where they run a body alike (zf_cg.together).
#ifndef ZF_CODEGEN_CG_TOGETHER_H
#define ZF_CODEGEN_CG_TOGETHER_H

#include "codegen/body/cg.h"

typedef struct zf_cg_together zf_cg_together;
struct zf_cg_together {
    /// Returns memory for an array, aligned to 16, or NULL: each lane has its own.
    LLVMValueRef (*memory)(zf_cg *cg, zf_cg_together *together, uint64_t bytes);
    /// Makes the `bytes` of an array zero.
    void (*clear)(zf_cg *cg, zf_cg_together *together, LLVMValueRef v_slot, uint64_t bytes);
    /// Stores an element, which all lanes have.
    void (*store)(zf_cg *cg, zf_cg_together *together, LLVMValueRef v, LLVMValueRef v_at, unsigned size);
};

#endif
