// Sums of stored bits along the outputs of a tile that a warp makes.
#ifndef ZF_CODEGEN_SIMT_POPCOUNT_H
#define ZF_CODEGEN_SIMT_POPCOUNT_H

#include "codegen/simt/simt.h"

typedef struct zf_simt_popcount {
    const zf_running *running;
    uint32_t edge;                ///< of the bits
    unsigned lanes;               ///< contiguous outputs of a lane in a row
    LLVMValueRef v_word, v_below; ///< i32: this lane's bits of the outputs, and how many are set before them
    LLVMValueRef v_total;         ///< i32: how many are set
} zf_simt_popcount;
/// False where the scan is no sum of the bits of one stored stream, each at its output's index.
bool zf_simt_popcount_of(zf_kernel_build *lower, const zf_running *running, unsigned lanes, zf_simt_popcount *popcount);
/// Outputs whose bits a warp of so many lanes counts at once: a word of each lane.
static inline uint32_t zf_simt_popcount_outputs(uint32_t wave) { return wave * 32; }
/// Counts the bits of so many outputs from v_begin on (i64, a multiple of that). All lanes take part, as in what follows.
void zf_simt_popcount_begin(zf_kernel_build *lower, zf_simt_popcount *popcount, LLVMValueRef v_lane, LLVMValueRef v_begin);
/// The bits of this lane's outputs in row v_row (i32) of these, as i32 from bit 0 on, and how many are set before them.
LLVMValueRef zf_simt_popcount_row(zf_kernel_build *lower, const zf_simt_popcount *popcount, LLVMValueRef v_lane,
                                  LLVMValueRef v_row, LLVMValueRef *v_before);
/// The scan's values at the lane's outputs, of which `lanes` has the bits.
void zf_simt_popcount_values(zf_kernel_build *lower, const zf_simt_popcount *popcount, zf_simt_lanes *lanes,
                             LLVMValueRef v_before, LLVMValueRef *v_values);
/// Moves the running value behind the outputs that were counted.
void zf_simt_popcount_end(zf_kernel_build *lower, const zf_simt_popcount *popcount);

#endif
