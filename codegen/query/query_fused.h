// A fused column: a kernel of others makes its elements, from blocks as they are stored. A query's kernel does
// (query_columns.c), and the tile loader that somebody else's kernel calls (tile_loader.c).
#ifndef ZF_CODEGEN_QUERY_FUSED_H
#define ZF_CODEGEN_QUERY_FUSED_H

#include "codegen/codegen_query.h"
#include "codegen/kernel/kernel.h"
#include "codegen/simt/simt.h"

/// How elements are loaded: a step ahead of their own, or tied to others, or where they are wanted (both NULL).
typedef struct zf_query_loads {
    zf_simt_ahead *ahead;
    zf_simt_tied *tied;
} zf_query_loads;

/// A tile of the column that is being built.
typedef struct zf_query_fused {
    zf_kernel_build lower;
    zf_kernel_input input;
    zf_simt_state simt;
    LLVMValueRef v_tile;  ///< i64: the tile, counted from the block's first
    LLVMValueRef v_begin; ///< i64: element of the tile's first row in its block
} zf_query_fused;

/// Where a column lies, and which tile of it is built.
typedef struct zf_query_fused_place {
    LLVMValueRef v_stored, v_table, v_work; ///< pointers: the unit's blocks, their descriptors, its work buffers
    LLVMValueRef v_tile;        ///< i64: the tile, counted from the one with which the first descriptor's block begins
    LLVMValueRef v_block_tiles; ///< i64: tiles of a block, below 2^32; the last one may have fewer
    uint64_t tile_rows;
} zf_query_fused_place;

/// Finds the tile's block as a kernel of the column does. `simt` is copied. `v_any`: slot (i1) that notes a failed check. The
/// caller sets `lower.bb_setup`, where the block's values go, and closes it at the end. `fused` must not move until then.
void zf_query_fused_open(zf_query_fused *fused, zf_cg *cg, const zf_query_source *source, const zf_simt_state *simt,
                         LLVMValueRef v_any, const zf_query_fused_place *place);
/// Makes the element of index v_index (i64) of the block, which exists.
zf_cg_value zf_query_fused_one(zf_query_fused *fused, LLVMValueRef v_index);
/// Makes `count` elements that follow each other, all of which exist: from v_near (i64), a multiple of `count`, behind the
/// first row.
void zf_query_fused_lanes(zf_query_fused *fused, LLVMValueRef v_near, unsigned count, zf_query_loads loads, zf_cg_value *values);
/// Whether an element is an entry of a stream of strings, which a number says: then it can be made in two steps.
bool zf_query_fused_has_entries(const zf_plan *plan);
/// Makes the numbers (i64) of `count` elements, as zf_query_fused_lanes makes elements. Those of no entry fail, and are 0.
void zf_query_fused_codes(zf_query_fused *fused, LLVMValueRef v_near, unsigned count, zf_query_loads loads,
                          LLVMValueRef *v_codes);
/// How many entries the block has (i64), and the one of number v_code (i64), which there is.
LLVMValueRef zf_query_fused_entries(zf_query_fused *fused);
zf_cg_value zf_query_fused_entry(zf_query_fused *fused, LLVMValueRef v_code);
/// The type of the column's elements.
zf_type zf_query_fused_type(const zf_plan *plan);

#endif
