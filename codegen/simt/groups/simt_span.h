// Spans: what a warp makes of several tiles of groups together, whose elements are bytes. Where they lie among the groups, the
// states between them, and the groups of a row, 32 lanes of `each` groups, one row after the other.
#ifndef ZF_CODEGEN_SIMT_SPAN_H
#define ZF_CODEGEN_SIMT_SPAN_H

#include "codegen/simt/simt.h"

enum {
    ZF_SPAN_EACH = 8,   ///< groups that a lane takes in a row, at most
    ZF_SPAN_TILES = 16, ///< tiles of a span, at most
    ZF_SPAN_CHUNK = 16, ///< bytes that a lane stores at once
};

/// A span: the form's settings, the results of zf_simt_span_begin and zf_simt_span_rows_begin, and the destination of a row's
/// groups.
typedef struct zf_simt_span zf_simt_span;
struct zf_simt_span {
    // ---- Set by the form
    zf_kernel_build *lower;
    unsigned each;         ///< groups that a lane takes in a row, a power of two
    uint32_t tiles;        ///< of the span
    LLVMTypeRef ty_length; ///< of lengths: i64, or i32 where a group has so few elements
    bool by_words;         ///< what groups read of small elements is loaded by words
    uint64_t longest;      ///< elements of a group; a state further inside one is bad
    /// Stores a group's v_sources[k] and v_lengths[k], or what `length` makes them of; `env` says which.
    void (*take)(zf_simt_span *, zf_kernel_env *env, unsigned k);
    /// A group's elements (ty_length); NULL: v_lengths[k] has them.
    LLVMValueRef (*length)(zf_simt_span *, unsigned k);
    /// Leaves of a group its v_left elements from v_from on (of ty_length).
    void (*cut)(zf_simt_span *, unsigned k, LLVMValueRef v_from, LLVMValueRef v_left);
    struct zf_simt_prefetch_tile *fetch; ///< of what the tiles' groups read; NULL: none
    LLVMValueRef v_kept;                 ///< shared memory of the warp, zf_simt_span_kept_bytes
    LLVMValueRef v_refused;              ///< i1, the same for all lanes: no group may be taken; NULL: they may

    // ---- Found by zf_simt_span_begin
    LLVMValueRef v_lane;
    LLVMValueRef v_groups;     ///< i64: of the block
    LLVMValueRef v_number;     ///< i64: tiles that the span has
    LLVMValueRef v_lo, v_size; ///< their first byte (i64), and bytes (i32)
    LLVMValueRef v_lead;       ///< i32: bytes of the first chunk before them, so that chunks are aligned where they go
    LLVMValueRef v_stop;       ///< i32: v_lead + v_size
    LLVMValueRef v_g0, v_end;  ///< i64: groups g0..end,
    LLVMValueRef v_o0, v_o1;   ///< i64: of the first from o0 on, of the last up to o1 (0: all)
    LLVMValueRef v_base;       ///< i64: the first row's first group, of which v_g0 is one of the first lane's
    LLVMValueRef v_skew;       ///< i32: v_g0 - v_base
    LLVMValueRef v_touched;    ///< i32: v_end - v_base, or 0 where the tiles have no group
    LLVMValueRef v_between;    ///< i32: first groups of lanes all of whose groups lie between the first and the last
    LLVMValueRef v_mark_g;     ///< i32: groups of the states between the tiles, one a lane, counted from v_base

    // ---- Found by zf_simt_span_rows_begin
    zf_turns rows;       ///< v_i: the row's first group, counted from v_base
    LLVMValueRef v_left; ///< i32: groups of the block from v_base on

    // ---- Slots
    LLVMValueRef v_bad;                   ///< i1: something is wrong
    LLVMValueRef v_here;                  ///< i32: bytes so far, behind v_lead
    LLVMValueRef v_marks;                 ///< i32: negative where the row may have a state between tiles; all lanes the same
    LLVMValueRef v_sources[ZF_SPAN_EACH]; ///< i64: where strings lie, or the numbers
    LLVMValueRef v_lengths[ZF_SPAN_EACH]; ///< ty_length: their bytes
};

/// The bytes of shared memory that a span of so many tiles keeps.
uint32_t zf_simt_span_kept_bytes(uint32_t tiles);
/// Finds where the tiles from lower->simt->v_tile on lie; none of their groups is taken where the states cannot be.
void zf_simt_span_begin(zf_simt_span *span);
/// Notes that something is wrong where v_bad (i1) holds.
void zf_simt_span_note(zf_simt_span *span, LLVMValueRef v_bad, const char *what);

/// A row's groups, lane by lane, and what follows from their lengths.
typedef struct zf_span_row {
    LLVMValueRef v_sources[ZF_SPAN_EACH], v_lengths[ZF_SPAN_EACH]; ///< i64, i32
    LLVMValueRef v_before, v_total;                                ///< i32: bytes before the lane's, of all
} zf_span_row;
/// Loop over the rows.
void zf_simt_span_rows_begin(zf_simt_span *span);
/// Takes the groups of the row: v_sources and v_lengths of the span, cut to what the tiles have.
void zf_simt_span_take(zf_simt_span *span);
/// With lengths and sums in hand: compares the states between the tiles, and goes on where the row fits into the tiles (all lanes
/// the same), else behind the rows. Returns the bytes so far, behind v_lead (i32).
LLVMValueRef zf_simt_span_fits(zf_simt_span *span, const zf_span_row *row);
/// Counts the row's bytes, and ends the loop.
void zf_simt_span_rows_end(zf_simt_span *span, const zf_span_row *row, LLVMValueRef v_here);
/// Behind the rows: goes on in *bb_well where all is as it should be, and has one thread make the tiles where it is not. Both go
/// to *bb_made.
void zf_simt_span_end(zf_simt_span *span, LLVMBasicBlockRef *bb_made);

/// Bytes of the span that have a place: v_begin..v_end (i32), counted from its first chunk's begin, which goes to v_base.
typedef struct zf_span_wanted {
    LLVMValueRef v_begin, v_end, v_base;
} zf_span_wanted;
zf_span_wanted zf_simt_span_wanted(zf_simt_span *span);
/// Stores the chunk at v_chunk (shared memory, aligned), whose first byte is number v_at (i32) as these are counted: what of it
/// is wanted.
void zf_simt_span_store(zf_simt_span *span, const zf_span_wanted *wanted, LLVMValueRef v_chunk, LLVMValueRef v_at);

/// Tiles of the block that spans are made of (i64): a column's up to the last that is wanted, so that the rest may be damaged.
LLVMValueRef zf_simt_span_tiles(zf_kernel_build *lower);

/// Behind the last of the tiles from lower->simt->v_tile on that one thread makes where they are not as they should be: up to the
/// first that ends in a group before the one that it begins in, which the launcher has left out, and all behind it.
LLVMValueRef zf_simt_span_stop(zf_kernel_build *lower, uint32_t tiles);

#endif
