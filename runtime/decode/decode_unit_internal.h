// Inside units: wanted rows of a column (decode_column.c), units of blocks (decode_unit.c), their launches (decode_unit_run.c).
#ifndef ZF_RUNTIME_DECODE_UNIT_INTERNAL_H
#define ZF_RUNTIME_DECODE_UNIT_INTERNAL_H

#include "runtime/base/passes.h"
#include "runtime/container/text_extent.h"
#include "runtime/decode/decode_unit.h"
#include "runtime/decode/selection.h"
#include "runtime/decode/side_streams.h"
#include "runtime/module/code_book.h"

/// The tiles of a block that a kernel makes.
typedef struct zf_unit_tiles {
    uint64_t first, count;
} zf_unit_tiles;

/// A block that the host has checked.
typedef struct zf_unit_block {
    const zf_abi_plan *plan;
    const zf_abi_code *code;
    const uint8_t *stored; ///< its bytes
    void *owned;           ///< its bytes, if they were read for this unit; NULL: the container's or the caller's
    uint64_t bytes;        ///< a multiple of 256
    uint64_t at;           ///< in parts: offset of its bytes from those of the first block
    uint64_t first_row;
    uint64_t work_bytes; ///< a multiple of 256
    uint64_t aside_values,
        aside_validity; ///< bytes of the block's own place for them, multiples of 256; 0: straight to the column
    zf_bit_run move_values, move_validity; ///< from that place to the column's
    uint64_t *words;      ///< ZF_SIMT_HEAD, the plan's slots, an offset a work buffer (from the block's workspace)
    zf_unit_tiles *tiles; ///< per kernel
    uint64_t backwards;   ///< failure word of the first tile that ends before it begins; it and later tiles are not run
    uint32_t backwards_kernel;
} zf_unit_block;

typedef struct zf_unit {
    const zf_abi_plan *plan;
    const zf_abi_code *code;
    zf_accelerator_code *loaded;
    uint64_t *blocks; ///< indices into zf_units.blocks, in order
    uint32_t block_count, block_room;
    uint64_t stored_bytes, work_bytes;
    uint64_t aside_values, aside_validity;     ///< bytes; 0: its blocks go straight to the column
    uint64_t longest_values, longest_validity; ///< bits of a move
    uint64_t base_bytes;                       ///< that the unit's kernels may read: its own, or the whole part's
    uint64_t *tiles;                           ///< per kernel, of all blocks
    bool full;
    uint32_t first_word; ///< of its failure words
    // Layout: tables in host memory, and offsets from the workspace's start.
    uint8_t *tables;
    uint64_t table_bytes;
    uint64_t *firsts;                    ///< per kernel: byte of the tables where its first tiles stand
    uint32_t *even;                      ///< per kernel
    uint64_t move_values, move_validity; ///< bytes of the tables where the runs stand
    uint64_t at_tables, at_stored, at_work, at_values, at_validity;
    uint64_t staged_tables, staged_blocks; ///< offsets in the staging memory
} zf_unit;

struct zf_units_column {
    zf_selection selection;
    bool is_text, nullable;
    bool whole;          ///< blocks are stored whole: of bits, and where a kernel reads its output
    bool moves;          ///< a block is decoded aside, and moved
    zf_text_extent text; ///< strings
    zf_units_options options;
    zf_accelerator *accelerator;
    zf_code_book book;
    zf_units_sizes sizes; ///< of the output
    uint64_t out_bytes;   ///< of the rows wanted, from `skip` on; booleans: of whole blocks
    // For a block in memory, which no index describes.
    zf_index_column own_column;
    zf_index_shape own_shape;
    zf_index_block own_block;
};

/// A zone of rows that are wanted whole.
typedef struct zf_unit_zone {
    uint64_t block, zone; ///< `block`: of the units
} zf_unit_zone;

/// As the accelerator needs it: rows from the first wanted one on.
typedef struct zf_unit_zone_span {
    uint64_t first, rows;
} zf_unit_zone_span;

struct zf_units {
    zf_units_column *column;
    bool owns_column; ///< no other units use the column
    bool enqueued;    ///< launches may be in progress: none was seen to end since the last one
    zf_accelerator *accelerator;
    uint64_t first_block;  ///< of the container's column
    zf_unit_block *blocks; ///< of all copies
    uint64_t block_count;
    zf_unit *units;
    uint32_t unit_count, unit_room, words;
    zf_unit_zone *zones;      ///< that are compared; behind the kernels' failure words there is a zf_zone_found for each
    zf_unit_zone_span *spans; ///< the same
    uint64_t zone_count, zone_word, at_spans, staged_spans;
    zf_side_streams side; ///< for units that have memory of their own
    zf_units_sizes sizes;
    zf_decode_stats stats;
};

// ---- Blocks that are decoded aside (decode_move.c) ----
//
// Kernels store whole vectors of elements and whole bytes of bits. Blocks that do not begin and end at multiples of 4096 rows of
// their column may have no place for these: they are decoded to a place of their own and moved. Strings need that for their
// validity alone.

/// Returns whether a block of the container's column is decoded aside.
bool zf_block_is_aside(const zf_units_column *column, uint64_t number);
/// Returns the row whose bit or element is the first one of outputs that have a place for whole blocks.
uint64_t zf_units_origin(const zf_units_column *column);
/// Computes the bytes of a block's own places. False if they cannot be addressed.
bool zf_aside_bytes(const zf_units_column *column, uint64_t rows, uint64_t *values, uint64_t *validity);
/// Gives block `number` of the container's column, which is decoded aside, its places and runs.
zf_status zf_aside_describe(const zf_units_column *column, zf_unit_block *block, uint64_t number, zf_error *error);
/// Returns the bytes of the runs of `blocks` blocks in a unit's tables.
uint64_t zf_aside_table_bytes(const zf_units_column *column, uint64_t blocks);
/// Enters block `index` of a unit, whose places begin `values` and `validity` bytes behind the unit's, into its tables.
void zf_aside_enter(const zf_units *units, zf_unit *unit, uint32_t index, uint64_t values, uint64_t validity);
/// Enqueues the moves of a unit behind its kernels.
zf_status zf_aside_move(const zf_units *units, const zf_unit *unit, void *stream, const zf_units_memory *memory, zf_error *error);

// ---- Zones (decode_zones.c) ----

/// Returns the words, and the bytes of spans, that the zones of a block of so many rows need at most.
uint64_t zf_units_zone_words(const zf_units_column *column, uint64_t rows);
uint64_t zf_units_span_bytes(const zf_units_column *column, uint64_t rows);
/// Lists the zones of all blocks, and gives them words behind those of kernels, all of which are known.
zf_status zf_units_list_zones(zf_units *units, zf_error *error);
/// Enqueues the copy of the spans. Not for parts: those have them in their head.
zf_status zf_units_upload_zones(const zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error);
/// Enqueues the search behind all kernels and moves.
zf_status zf_units_find_zones(const zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error);
/// Compares what was found with the index. Not where a kernel failed: then nothing was found.
zf_status zf_units_check_zones(const zf_units *units, const uint64_t *words, zf_error *error);

// ---- Others ----

/// Returns the words of a block's descriptor.
uint64_t zf_unit_words(const zf_abi_plan *plan);
/// Returns where a unit's failure words and tables lie.
static inline uint64_t zf_units_head(const zf_units_memory *memory) {
    return memory->head != 0 ? memory->head : memory->workspace;
}
/// Takes the next piece of a unit's memory, with a gap behind it. False if it cannot be addressed.
bool zf_unit_place(uint64_t *next, uint64_t bytes, uint64_t *at);

/// Makes a column of a block in memory, for given code.
zf_status zf_units_column_of_block(const zf_block_view *view, const zf_abi_plan *plan, uint64_t begin, uint64_t end,
                                   zf_accelerator *accelerator, zf_units_column **out, zf_error *error);

/// Returns where to note time; NULL for blocks without a container.
zf_passes *zf_units_passes(const zf_units *units);

#endif
