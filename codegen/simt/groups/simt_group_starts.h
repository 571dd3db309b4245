// The groups of one expansion that a tile touches, and where they begin in it (their *starts*): what is found before elements are
// made.
#ifndef ZF_CODEGEN_SIMT_GROUP_STARTS_H
#define ZF_CODEGEN_SIMT_GROUP_STARTS_H

#include "codegen/simt/memory/simt_prefetch_tile.h"

/// Indices and counts are i64 values, places in the tile i32.
typedef struct zf_simt_group_starts {
    zf_kernel_build *lower;
    const zf_simt_shape *shape;
    struct zf_simt_tree *tree; ///< the kernel's other stages
    const zf_step *step;
    struct zf_simt_ring *ring; ///< its elements for the root's outputs; NULL: each output makes its own
    uint32_t node;
    uint32_t tile;                         ///< elements that the tables below have room for
    bool never_empty;                      ///< groups have elements: their sizes' range says so
    bool never_large;                      ///< or no more than twice what a tile has
    unsigned group_bytes;                  ///< of an entry of v_start_groups
    unsigned each;                         ///< groups that a thread takes together, a power of two
    uint32_t room;                         ///< less than this is any place's group; UINT32_MAX: that needs not be made sure of
    bool near_offsets;                     ///< v_o0 is less than 2^30, or no group has 2^32 elements
    bool counted;                          ///< zf_simt_group_starts_count was asked for: elements can be found
    bool pulls_sizes;                      ///< of another stage
    bool uses_j;                           ///< a body asks for the place in the group
    LLVMValueRef v_groups;                 ///< of the block
    LLVMValueRef v_g0, v_o0;               ///< where the tile begins
    LLVMValueRef v_end;                    ///< behind the last group that the tile touches
    LLVMValueRef v_o1;                     ///< the offset that the file has for the tile's end
    LLVMValueRef v_stop;                   ///< elements of the last group that belong to this tile or those before it; 0: all
    LLVMValueRef v_length;                 ///< elements of the tile (i32)
    LLVMValueRef v_begin;                  ///< the group where a walk begins: g0, or a few before
    LLVMValueRef v_skew, v_number, v_rest; ///< counted from there, as i32 where a tile has few: g0, v_end, and what is behind
                                           ///< the block's last group
    LLVMValueRef v_words;  ///< shared: of each word of bits, one per element, the bits and what stands before them: the number of
                           ///< starts less one; or the place of the last one, where groups may be empty
    LLVMValueRef v_places; ///< shared: the last start before each word, where groups are never empty and a body asks for it
    LLVMValueRef v_start_groups;  ///< shared: the group of each start, counted from g0; only where groups may be empty
    LLVMValueRef v_sums;          ///< shared: of warps, two sets
    LLVMValueRef v_bad;           ///< slot (i1): the states lie
    zf_simt_prefetch_tile *fetch; ///< of the tile's groups; NULL: none
    LLVMBasicBlockRef bb_places;  ///< where zf_simt_group_starts_count_places belongs; NULL: it is elsewhere
    LLVMBasicBlockRef bb_placed;  ///< behind it
} zf_simt_group_starts;

/// One element: its place in the tile and its group (counted from g0), both i32, and what is in front of it in its group (i64, or
/// i32 of near_offsets).
typedef struct zf_simt_place {
    LLVMValueRef v_q, v_rank, v_offset;
} zf_simt_place;

/// Groups that a thread takes together, usually and at most.
enum { ZF_SIMT_GROUPS_EACH = 4, ZF_SIMT_GROUPS_MOST = 8 };
enum { ZF_SIMT_SUMS = 256 }; ///< bytes of v_sums, which the stages of a kernel use one after the other
/// Groups that a tile may have in a stage of several, where they may be empty: their numbers take ZF_SIMT_NARROW_BYTES each.
enum { ZF_SIMT_MOST_GROUPS = 65535, ZF_SIMT_NARROW_BYTES = 2 };
/// Bytes of shared memory that the tables of a stage take beside. `group_bytes`: 0 where groups are never empty.
uint32_t zf_simt_group_starts_bytes(uint32_t tile, unsigned group_bytes);
/// Sets the tables up from byte `at` of shared memory.
void zf_simt_group_starts_tables(zf_simt_group_starts *t, uint32_t at);
/// Evaluates the number of the block's groups.
void zf_simt_group_starts_count_groups(zf_simt_group_starts *t);
/// Reads the states at both ends. `v_pulled` (i1, or NULL: no): the element at which the tile ends is made, too, since its
/// consumer ends inside the group that has it; `v_exists` (i1): the stage has that element.
void zf_simt_group_starts_ends(zf_simt_group_starts *t, LLVMValueRef v_pulled, LLVMValueRef v_exists);
void zf_simt_group_starts_clear(zf_simt_group_starts *t);
/// Visits `each` groups from v_first on (i64), of which the tile has v_sizes elements (i32), the first of them at place v_at.
typedef void (*zf_simt_visit)(zf_simt_group_starts *t, const void *context, LLVMValueRef v_first, const LLVMValueRef *v_sizes,
                              LLVMValueRef v_at);
/// Walks the tile's groups; the sum of their sizes, which all threads know (i32). Meets at barriers before any visit.
LLVMValueRef zf_simt_group_starts_walk(zf_simt_group_starts *t, zf_simt_visit visit, const void *context);
/// Walks them and marks their starts.
LLVMValueRef zf_simt_group_starts_mark(zf_simt_group_starts *t);
/// Whether the sum of the sizes is the tile's elements (i1); notes the failure where it is not.
LLVMValueRef zf_simt_group_starts_fit(zf_simt_group_starts *t, LLVMValueRef v_total);
/// Counts what stands before each word, when all starts are marked.
void zf_simt_group_starts_count(zf_simt_group_starts *t);
/// And the last start before each word, where a body asks for the place in a group.
void zf_simt_group_starts_count_places(zf_simt_group_starts *t);
/// Returns an element's offset in its group, as i64.
LLVMValueRef zf_simt_group_starts_offset(const zf_simt_group_starts *t, const zf_simt_place *place);
/// The places of `count` elements from v_q on, which lie in one word of bits.
void zf_simt_group_starts_find(zf_simt_group_starts *t, LLVMValueRef v_q, unsigned count, zf_simt_place *places);
/// The same of place v_in (i32) in a row that begins `v_words` (i32) words of bits behind the tile's first: of rows that are made
/// one after the other all but the words is the same.
void zf_simt_group_starts_find_row(zf_simt_group_starts *t, LLVMValueRef v_words, LLVMValueRef v_in, unsigned count,
                                   zf_simt_place *places);

#endif
