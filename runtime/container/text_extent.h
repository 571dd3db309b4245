// Where the bytes of a string column's rows lie: in the blocks, and in the caller's buffer.
#ifndef ZF_RUNTIME_TEXT_EXTENT_H
#define ZF_RUNTIME_TEXT_EXTENT_H

#include "runtime/decode/failure.h"
#include "runtime/decode/selection.h"

/// The tiles that hold the wanted rows, block by block. Their bytes stand in the caller's buffer as they do in the column, from
/// the first such tile on.
typedef struct zf_text_extent {
    uint64_t first_byte; ///< of the first block: where its first tile begins
    uint64_t last_byte;  ///< of the last block: where its last tile ends
    uint64_t total;      ///< bytes of all those tiles
    uint64_t *bases;     ///< per block of the selection: the place of its first byte from that of `first_byte` (modulo 2^64)
} zf_text_extent;

/// Reads the seek states at both ends, after checking their blocks. A block whose shape has no plan is taken whole.
///
/// Free with zf_text_extent_free, also after a failure.
zf_status zf_text_extent_make(const zf_selection *selection, zf_text_extent *out, zf_error *error);
/// The same for rows begin..end of one block in memory, which is all of the selection, and which the plan fits.
zf_status zf_text_extent_block_make(const zf_abi_plan *plan, const zf_block_view *view, uint64_t begin, uint64_t end,
                                    zf_text_extent *out, zf_error *error);
void zf_text_extent_free(zf_text_extent *extent);
/// Takes the bytes before those of the first of `rows` rows, which its tile made, away: offsets[0] becomes 0.
void zf_text_cut(uint8_t *values, int64_t *offsets, uint64_t rows);
/// Where in a block's bytes the tile with row `row` (of the block) begins, or (`behind`) the one with row - 1 ends, by the file's
/// states. The plan of `block` fits, and its states are there; its kernel and shape are not read. A state that cannot be is a
/// violation of the tile.
zf_status zf_text_state(const zf_failure *block, const zf_block_view *view, uint64_t row, bool behind, uint64_t *out,
                        zf_error *error);
/// Bytes of a block of the selection that have a place.
void zf_text_extent_block(const zf_selection *selection, const zf_text_extent *extent, uint64_t block, uint64_t *begin,
                          uint64_t *end);

#endif
