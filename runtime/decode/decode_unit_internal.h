// Units inside: a column's rows wanted (decode_column.c), units of their blocks (decode_unit.c), queued by decode_unit_run.c.
#ifndef ZF_RUNTIME_DECODE_UNIT_INTERNAL_H
#define ZF_RUNTIME_DECODE_UNIT_INTERNAL_H

#include "runtime/base/passes.h"
#include "runtime/container/text_extent.h"
#include "runtime/decode/decode_unit.h"
#include "runtime/decode/selection.h"
#include "runtime/decode/side_streams.h"
#include "runtime/module/code_book.h"

/// The tiles that a kernel makes of a block.
typedef struct zf_unit_tiles {
    uint64_t first, count;
} zf_unit_tiles;

/// A block, checked on the host.
typedef struct zf_unit_block {
    const zf_abi_plan *plan;
    const zf_abi_code *code;
    const uint8_t *stored; ///< its bytes
    void *owned;           ///< the same, where they were read for this unit; NULL: they are the container's, or the caller's
    uint64_t bytes;        ///< a multiple of 256
    uint64_t at;           ///< of a part: how far its bytes are from those of the part's first block
    uint64_t first_row;
    uint64_t work_bytes;  ///< a multiple of 256
    uint64_t *words;      ///< ZF_SIMT_HEAD, the plan's slots, an offset a work buffer (from the block's work memory)
    zf_unit_tiles *tiles; ///< per kernel
    uint64_t backwards;   ///< the failure word of a tile that ends before it begins, which is not run, nor what comes behind it
    uint32_t backwards_kernel;
} zf_unit_block;

typedef struct zf_unit {
    const zf_abi_plan *plan;
    const zf_abi_code *code;
    zf_accelerator_code *loaded;
    uint64_t *blocks; ///< indices into zf_units.blocks, in order
    uint32_t block_count, block_room;
    uint64_t stored_bytes, work_bytes;
    uint64_t base_bytes; ///< that lie where the unit's kernels read: its own, or those of the whole part
    uint64_t *tiles;     ///< per kernel, of all blocks: what a launch counts
    bool full;
    uint32_t first_word; ///< of its failure words
    // Laid out: the tables in host memory, and where things stand from the workspace's start.
    uint8_t *tables;
    uint64_t table_bytes;
    uint64_t *firsts; ///< per kernel: byte of the tables where its first tiles stand
    uint32_t *even;   ///< per kernel
    uint64_t at_tables, at_stored, at_work;
    uint64_t staged_tables, staged_blocks; ///< from the staging memory's start: where they stand before they are copied
} zf_unit;

struct zf_units_column {
    zf_selection selection;
    bool is_text, nullable;
    bool whole;          ///< blocks are stored whole, whatever rows are wanted: bits, and what a kernel reads again
    zf_text_extent text; ///< strings
    zf_units_options options;
    zf_accelerator *accelerator;
    zf_code_book book;
    zf_units_sizes sizes; ///< of what comes out
    uint64_t out_bytes;   ///< of the rows wanted, from `skip` on; booleans: of whole blocks
    // Of a block in memory, which no index describes.
    zf_index_column own_column;
    zf_index_shape own_shape;
    zf_index_block own_block;
};

struct zf_units {
    zf_units_column *column;
    bool owns_column; ///< made for these units alone
    zf_accelerator *accelerator;
    uint64_t first_block;  ///< of the container's column
    zf_unit_block *blocks; ///< as often as there are copies
    uint64_t block_count;
    zf_unit *units;
    uint32_t unit_count, unit_room, words;
    zf_side_streams side; ///< for units that have memory of their own
    zf_units_sizes sizes;
    zf_decode_stats stats;
};

/// Words of a block's descriptor.
uint64_t zf_unit_words(const zf_abi_plan *plan);
/// Takes the next piece of memory of a unit, with a gap behind it; false when it cannot be addressed.
bool zf_unit_place(uint64_t *next, uint64_t bytes, uint64_t *at);

/// The column that a block in memory is, for code that is at hand.
zf_status zf_units_column_of_block(const zf_block_view *view, const zf_abi_plan *plan, uint64_t begin, uint64_t end,
                                   zf_accelerator *accelerator, zf_units_column **out, zf_error *error);

/// Where time is noted; NULL: nowhere, as for blocks of no container.
zf_passes *zf_units_passes(const zf_units *units);

#endif
