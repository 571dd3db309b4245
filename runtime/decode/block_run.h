// Preparing a plan to run on a block: whether it fits a shape, its workspace, its descriptor words.
#ifndef ZF_RUNTIME_BLOCK_RUN_H
#define ZF_RUNTIME_BLOCK_RUN_H

#include "runtime/container/container.h"

enum {
    ZF_WORK_ALIGNMENT = 64,
    ZF_TILE_MOST = 1 << 28, ///< elements a tile: one of the longest uneven chunks; eight of the longest even ones are fewer
};

/// Returns ZF1901 unless every number of a plan fits a shape, so that a fault of a provider is no stray access.
///
/// Block checks are verified where a plan is made or read (zf_block_check_fault), not here: this runs for every block.
zf_status zf_plan_fits(const zf_abi_plan *plan, const zf_shape *shape, zf_error *error);

/// Returns whether exactly one kernel of an accelerator's code stores the column, and the others store what the plan says.
bool zf_one_stores_column(const zf_abi_plan *plan, const zf_abi_simt_kernel *kernels);

/// Returns whether a kernel of an accelerator's plan reads characters that it stored, of which not all have a place.
bool zf_characters_reread(const zf_abi_plan *plan);

/// Computes the bytes of workspace for a block with these element counts per edge.
///
/// They hold descriptor words, work buffers and the two tiles that a range of rows may cut.
zf_status zf_plan_work_bytes(const zf_abi_plan *plan, const zf_shape *shape, const uint64_t *counts, uint64_t *bytes,
                             zf_error *error);

/// Returns the bytes of a work buffer whose edge has `count` elements, or UINT64_MAX if they cannot be addressed.
///
/// Kernels may read 16 bytes past its last element.
uint64_t zf_work_buffer_bytes(const zf_abi_work *work, uint64_t count);

/// Returns the bytes of the strings in `rows` rows of `plain_bytes` plain bytes.
uint64_t zf_characters(bool nullable, uint64_t rows, uint64_t plain_bytes);

/// Returns a word of a block's descriptor.
uint64_t zf_slot_value(const zf_abi_slot *slot, const zf_block_view *view);

/// Returns the tiles of a kernel in a block: at least 1, so that an empty block's states are checked too.
uint64_t zf_tile_count(const zf_abi_kernel *kernel, const zf_block_view *view);

/// Returns the element with which a tile of a kernel begins, and of a tile that does not exist the number of elements.
///
/// The block's bytes are there, and its plan fits it.
uint64_t zf_tile_begin(const zf_abi_kernel *kernel, const zf_block_view *view, uint64_t tile);

/// Returns the tile of a kernel that has an element, which exists: a search where chunks are uneven.
uint64_t zf_tile_of(const zf_abi_kernel *kernel, const zf_block_view *view, uint64_t element);

/// Returns an error unless a block has the seek intervals that the code was made for and, with `states`, all its states.
zf_status zf_seeks_fit(const zf_abi_plan *plan, const zf_block_view *view, bool states, const char *where, zf_error *error);

#endif
