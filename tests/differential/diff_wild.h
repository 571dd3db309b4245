// Shapes and damages blocks at random, in the ways that noticed the most faults (faults.c).
#ifndef ZF_TESTS_DIFF_WILD_H
#define ZF_TESTS_DIFF_WILD_H

#include "patterns/graph/graph.h"
#include "tests/interp/data.h"
#include "tests/interp/interp.h"

/// A stream of elements in a block: stored as they are, or packed by `bitpack`.
typedef struct diff_leaf {
    uint32_t stored; ///< stream
    uint32_t edge;   ///< that has the elements
    int32_t node;    ///< of the `bitpack`; -1: none
    unsigned bits;   ///< of an element's type
    uint64_t count;
    uint64_t *values;
    int32_t sums_to; ///< edge: the elements are sizes of groups that add up to its elements; -1: they are none
} diff_leaf;

/// How packed numbers are packed: as the encoder did, as wide as their type, or a few bits narrower.
typedef enum diff_packing { DIFF_PACKED, DIFF_FULL, DIFF_NARROWER } diff_packing;

/// A block that is valid, and what is known of it. It lives as long as its interpreter.
typedef struct diff_wild {
    interp *in;
    const zf_column *column;
    const zf_graph *graph;
    interp_block block;
    diff_leaf *leaves;
    uint32_t leaf_count;
} diff_wild;

/// Looks at a block that is valid.
void diff_wild_open(interp *in, const zf_column *column, const interp_block *block, diff_wild *out);
/// How a seed packs.
diff_packing diff_wild_packing(uint64_t seed);
/// Packs its numbers so, and makes every stream alike where it stays valid if `alike`.
void diff_wild_pack(diff_wild *wild, diff_packing packing, bool alike);
/// Makes every stream that may have more elements than it has so many bytes long: the same once more and again. False: none may.
bool diff_wild_inflate(diff_wild *wild, uint64_t bytes);
/// Shapes it: packs its numbers so, and makes some stream alike where it stays valid.
void diff_wild_shape(diff_wild *wild, diff_packing packing, uint64_t seed);
/// Damages it. `said`, which may be NULL: what was done, with classes of places and values. False: nothing was.
bool diff_wild_damage(const diff_wild *wild, uint64_t seed, interp_block *block, zf_text *said);
/// Whether it has sizes of groups.
bool diff_wild_has_sizes(const diff_wild *wild);
/// Damage d of a sweep: an element of each leaf in turn, at each lane of a thread in whole rows, at a tile's ends, and at the end
/// of all. Sizes keep their sum. False: there is none such.
bool diff_wild_sweep(const diff_wild *wild, unsigned d, interp_block *block);
/// How many places such damage has at most.
unsigned diff_wild_places(uint64_t seed);

#endif
