// Loads of a thread's bodies that stand before all of them: their blocks, and what was loaded.
#ifndef ZF_CODEGEN_SIMT_LOAD_STAGE_H
#define ZF_CODEGEN_SIMT_LOAD_STAGE_H

#include "codegen/simt/simt.h"

/// Bits or elements of an edge that bodies read.
typedef struct zf_simt_window {
    uint32_t edge;
    bool elements; ///< else bits
    uint64_t stride, from, count;
    const zf_port *port;   ///< not NULL: stride and count are this param's value
    unsigned at;           ///< bit of v_words at which lane 0 begins
    LLVMValueRef *v_words; ///< bits: i32 each; elements: one each
    struct zf_simt_window *next;
} zf_simt_window;

/// Opens the block of the loads before the bodies, where the caller goes on.
void zf_simt_stage_begin(zf_cg *cg, zf_simt_stage *stage, const char *loads, const char *bodies);
void zf_simt_stage_end(zf_cg *cg, const zf_simt_stage *stage);
/// From the bodies to the loads, and back to the block that it returns.
LLVMBasicBlockRef zf_simt_to_loads(zf_cg *cg, zf_simt_stage *stage);
void zf_simt_from_loads(zf_cg *cg, zf_simt_stage *stage, LLVMBasicBlockRef bb_before);
/// Where loads of the stage are tied: goes on behind all of them, with the integers that were loaded.
void zf_simt_wait_for_all(zf_cg *cg, zf_simt_stage *stage, LLVMValueRef *v_loaded, unsigned count);
/// A window like this one that was loaded; NULL: none.
zf_simt_window *zf_simt_window_find(const zf_simt_stage *stage, const zf_simt_window *like);
/// Adds a window with room for `words` values, which the caller loads.
zf_simt_window *zf_simt_window_add(zf_cg *cg, zf_simt_stage *stage, const zf_simt_window *like, unsigned words);

#endif
