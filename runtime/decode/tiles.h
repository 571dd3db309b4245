// Columns for tile loaders: code that others' kernels have inline, and that is made for some codes only. A *key* says for which.
#ifndef ZF_RUNTIME_TILES_H
#define ZF_RUNTIME_TILES_H

#include "runtime/container/container.h"

/// The codes that a tile loader is made for.
typedef struct zf_tile_codes {
    const zf_abi_plan *plan; ///< any device's: what it says about descriptors is the same for all
    const zf_shape *shape;   ///< of the column's blocks
    /// Values of the shaping params, in the order of plan->shaping. NULL: the general form, for any values.
    const uint64_t *shaping;
} zf_tile_codes;

/// Appends the key of a column's loader: ASCII of one line. Errors: ZF_ERR_USAGE for a column that the container lacks.
ZF_PRIVATE_API zf_status zf_tile_key(const zf_container *container, size_t column, const zf_tile_codes *codes, zf_text *out,
                                     zf_error *error);
/// Checks that tiles lie in one block: that all blocks of a column begin at whole tiles, and all but the last have as many rows.
/// `*block_tiles` gets the tiles of a block (0: there is no block). ZF1414 names the first block that does not fit.
ZF_PRIVATE_API zf_status zf_tile_blocks(zf_container *container, size_t column, uint32_t *block_tiles, zf_error *error);

#endif
