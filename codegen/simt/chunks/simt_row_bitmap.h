// Rows of an `emit` over two ranges, kept in shared memory until all of the region are known (simt_row_bitmap.c).
#ifndef ZF_CODEGEN_SIMT_ROW_BITMAP_H
#define ZF_CODEGEN_SIMT_ROW_BITMAP_H

#include "codegen/kernel/kernel_chunks.h"
#include "codegen/simt/simt.h"

/// Bytes of shared memory that a warp needs to keep the rows of its chunk; 0: they are not kept.
uint32_t zf_simt_row_bitmap_bytes(const zf_plan *plan, const zf_kernel *kernel);

/// The rows of the warp's chunk.
typedef struct zf_simt_row_bitmap {
    zf_chunk *chunk;
    zf_kernel_build *lower;
    uint32_t places;       ///< outputs of a chunk, at most
    LLVMValueRef v_words;  ///< for each 32 places {bit p: a row begins at place p, rows that begin before}, i32 both
    LLVMValueRef v_values; ///< an element for each row
    LLVMValueRef v_rows;   ///< slot (i32): rows so far
    LLVMValueRef v_lane;   ///< i32
} zf_simt_row_bitmap;

/// Where the kernel keeps none: false, and nothing is emitted.
bool zf_simt_row_bitmap_begin(zf_simt_row_bitmap *marks, zf_chunk *chunk);
/// The lanes' next rows, of which those with elements (v_some, i1) begin at v_place (i32) of the chunk.
void zf_simt_row_bitmap_add(zf_simt_row_bitmap *marks, LLVMValueRef v_some, LLVMValueRef v_place, LLVMValueRef v_value);
/// Stores places v_from..v_to (i64) of the chunk, which the rows make, as far as they are wanted.
void zf_simt_row_bitmap_store(zf_simt_row_bitmap *marks, LLVMValueRef v_from, LLVMValueRef v_to);

#endif
