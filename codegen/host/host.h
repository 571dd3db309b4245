// Loops over tiles, which LLVM vectorises: kernels of the host. One thread of a GPU runs the same loops, element by element,
// where no form fits (zf_kernel_build.one_by_one).
//
// A kernel is two functions: the entry of runtime/base/abi.h, which only unpacks its arguments, and a body with every buffer as a
// `noalias` argument, so that loops need no tests for overlap.
#ifndef ZF_CODEGEN_HOST_H
#define ZF_CODEGEN_HOST_H

#include "codegen/kernel/kernel.h"

typedef struct zf_strip zf_strip;

/// The state that only loops over tiles add to a kernel.
typedef struct zf_host_state {
    LLVMValueRef v_out;          ///< argument: where the column goes
    bool is_out;                 ///< the sink is `v_out`: of a whole block nothing reads the elements
    LLVMValueRef v_limit;        ///< slot (i64): strips that begin below may read their bits in whole vectors
    bool tables_are_small;       ///< what is being built may take streams for tables of a register (host_lookup.c), which
    LLVMValueRef v_small_tables; ///< i1: they then are; NULL: there are none
} zf_host_state;

/// Creates the functions of a kernel.
void zf_lower_kernel(zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel);

// ---- By domain: the bodies of tiles (host_elements.c, host_groups.c); of chunks: kernel_chunks.h ----
void zf_lower_elements(zf_kernel_build *lower);
void zf_lower_groups(zf_kernel_build *lower);
void zf_lower_prefix(zf_kernel_build *lower); ///< prefix sums, from zf_lower_elements (host_prefix.c)

/// A region that copies from a stream or from the chunk's output, by vectors (zf_kernel_ops; host_copy.c).
bool zf_host_copy_region(struct zf_chunk_region *region);

/// A row of the lanes of a chunk, by vectors (zf_kernel_ops; host_lanes.c).
bool zf_host_lanes_row(struct zf_chunk *chunk, LLVMValueRef v_from, LLVMBasicBlockRef bb_singly);

/// The environment of bodies (host_env.c).
zf_kernel_env zf_host_env_make(zf_kernel_build *lower, uint32_t node);

// ---- Functions (host_kernel.c) ----
/// Begins the body of function `name` (its arguments, the open block), and ends it, making the entry that calls it.
LLVMBasicBlockRef zf_lower_open(zf_kernel_build *lower, const char *name);
void zf_lower_close(zf_kernel_build *lower, const char *name, LLVMBasicBlockRef bb_first);

/// Begins code that only makes elements of the column: it is passed over where states alone are wanted (ZF_ABI_STATES). Returns
/// the block behind it, or NULL where it is never passed over; zf_lower_made goes there.
LLVMBasicBlockRef zf_lower_make(zf_kernel_build *lower);
void zf_lower_made(zf_kernel_build *lower, LLVMBasicBlockRef bb_behind);

/// Strips of a tile of elements that are whole and may be unpacked, without the block's last element where scans run.
LLVMValueRef zf_lower_whole_strips(zf_kernel_build *lower, const zf_lower_tiles *tiles);
/// Within a group of the kernel's root: the element that an access pulls at g, if a strip can hold those of 64 groups
/// (host_groups.c).
bool zf_lower_pulled(zf_kernel_env *env, const zf_graph_edge *edge, const zf_expr *access, zf_cg_value *out);
/// True when `access` is answered by those buffers; its range was checked when they were filled.
bool zf_lower_pulled_here(const zf_kernel_env *env, const zf_expr *access);

// ---- Vectors (host_vector.c) ----
/// Lane k of the result is lane v_indices[k] of v_from, of as many lanes. Back ends know its form, and may have an instruction
/// for it.
LLVMValueRef zf_host_permute(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_indices);
/// A constant table of the module: rows are vectors of at most 64 lanes. At most 256 rows.
typedef struct zf_host_table_shape {
    const char *name; ///< of the module's
    unsigned bits, lanes, rows;
    uint32_t (*entry)(unsigned row, unsigned lane);
} zf_host_table_shape;
LLVMValueRef zf_host_table(zf_cg *cg, const zf_host_table_shape *shape); ///< where row 0 is
/// Loads a row, so that it can be the indices of a permutation.
LLVMValueRef zf_host_table_row(zf_cg *cg, const zf_host_table_shape *shape, LLVMValueRef v_row);
/// Has LLVM make a loop, after its end, by vectors of so many elements, and so many of them at once. Its iterations do not depend
/// on each other.
void zf_host_loop_by_vectors(zf_cg *cg, const zf_cg_loop *loop, unsigned lanes, unsigned at_once);
/// Has LLVM leave a short loop, after its end, as it is.
void zf_host_keep_loop(zf_cg *cg, const zf_cg_loop *loop);

// ---- Strips (host_strip.c) ----

/// 64 consecutive indices from v_start, a multiple of 64. Bits that lie at constant distances are unpacked for all of them at
/// once, by vectors with constant shuffles and shifts, into a buffer that the loops over the strip read: that is what makes any
/// expression over them vectorise.
struct zf_strip {
    LLVMValueRef v_start;
    LLVMValueRef v_k;           ///< 0..64, in the loop that is being built
    LLVMBasicBlockRef bb_stage; ///< runs before those loops; open while they are built
    bool unpacks;               ///< false: bits are read one by one
    LLVMBasicBlockRef bb_loops; ///< where the stage goes on to
    struct zf_staged *staged;
    LLVMBasicBlockRef bb_first_ahead,
        bb_ahead; ///< NULL, or they run between the stage and those loops; the last is open likewise
    struct zf_looked_up *looked_up;
    struct zf_walk *walk; ///< not NULL: elements at g come from the buffers of host_groups.c
};

/// Starts a strip: branches to a new stage block, and continues in a block that follows it.
zf_strip zf_strip_begin(zf_kernel_build *lower, LLVMValueRef v_start, bool unpacks);
void zf_strip_end(zf_kernel_build *lower, zf_strip *strip); ///< closes the stage
/// Goes to where loops stand that run ahead of the strip's own; keep where they end in strip->bb_ahead.
void zf_strip_ahead(zf_cg *cg, zf_strip *strip);
/// The element of an access whose index is another than the strip's, made for all of the strip ahead; false: not of this kind
/// (host_lookup.c).
bool zf_lower_look_up(zf_cg *cg, zf_cg_frame *frame, const zf_expr *access, zf_cg_value *out);
/// The bits of an access for element v_k, if they can be unpacked by vectors: at = index * stride + from, `count` of them.
LLVMValueRef zf_strip_bits(zf_kernel_build *lower, zf_strip *strip, uint32_t edge, uint64_t stride, uint64_t from,
                           uint64_t count);

/// Fills the buffers of the scans along the kernel's outputs for a strip of 64, none of which is the last one; accumulators go
/// on.
void zf_lower_scans_strip(zf_kernel_build *lower, zf_strip *strip);

#endif
