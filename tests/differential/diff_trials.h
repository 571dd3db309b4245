// The trials of a column of the library: the blocks of the ordinary suite (test_std.c), which also judge code that has a fault
// (faults.c).
#ifndef ZF_TESTS_DIFF_TRIALS_H
#define ZF_TESTS_DIFF_TRIALS_H

#include "patterns/graph/graph.h"
#include "tests/differential/diff_case.h"
#include "tests/interp/data.h"

/// The random trials of a column come first, then one of each kind, three of DIFF_STAGES; of DIFF_LAST, DIFF_ALONE; of
/// DIFF_TIGHT, DIFF_CUTS. Then DIFF_WILDS that are wild, with DIFF_WILD_DAMAGES each.
enum {
    DIFF_RANDOM_TRIALS = 24,
    DIFF_ALONE = 64,
    DIFF_CUTS = 12,
    DIFF_WILDS = 40,
    DIFF_TRIALS = 39 + DIFF_ALONE + DIFF_CUTS + DIFF_WILDS,
    DIFF_WILD_DAMAGES = 12,
    DIFF_DAMAGES = 768
}; ///< of a column; of a trial, at most

typedef enum diff_trial_kind {
    DIFF_RANDOM,  ///< every distribution and size comes by, and random damage
    DIFF_LANES,   ///< a tile and a bit, damaged at every place that a thread knows one by one
    DIFF_STEPS,   ///< groups: every tile begins with one, and on each lane of a thread
    DIFF_SLOPES,  ///< the same, with values that rise within a group
    DIFF_WIDE,    ///< the same, with sizes that are packed without any saving
    DIFF_DEEP,    ///< nests: so many elements on every edge that each tree has states, all of which lie; every edge is shortened
    DIFF_FLOOD,   ///< one tile, which damage gives more groups than 32 bits can add up
    DIFF_PATCHES, ///< the groups of DIFF_STEPS, each of which ends with an exception
    DIFF_EQUAL, ///< numbers that are packed in no bits: the same number or gap, or the same ramp over and over, or all that there
                ///< are; nulls, or empty strings
    DIFF_HUGE,  ///< strings of a megabyte
    DIFF_STAGES, ///< nests: so many groups in a tile that threads inside it take only groups of the tile; sizes without saving
    DIFF_LAST,   ///< one row is the last that has something, be it a value or characters: on each lane of a thread
    DIFF_SWEPT,  ///< tiles and a bit, an element of each stream in turn damaged on each lane of a thread (diff_wild.h)
    DIFF_TIGHT,  ///< streams that have more than the rows need have nothing more: the last row is on each lane of a thread
} diff_trial_kind;

enum { DIFF_LONE_ROWS = 2 };

typedef struct diff_trial {
    diff_trial_kind kind;
    data_shape shape;
    uint64_t rows, seed;
    bool wild;     ///< the block that the data make is shaped and damaged by chance (diff_wild.h)
    bool narrow;   ///< with seek states every 256 rows, where the column has any
    bool lines;    ///< the data are straight lines that rise, whatever the shape says
    bool bends;    ///< they rise faster and faster, whatever the shape says
    bool numbered; ///< they are texts of one form with a number, whatever the shape says
    uint64_t last; ///< DIFF_LAST: that row. DIFF_TIGHT: what the data are. DIFF_STAGES: 0: short groups, for tiles of 1024 rows;
                   ///< 1: longer ones, for tiles of 4096; DIFF_LONE_ROWS: of these the first row alone has something
} diff_trial;

/// Trial k of column `number`: sizes are around those of tiles and blocks. False: the column has no such trial.
bool diff_trial_of(const zf_column *column, unsigned number, unsigned k, diff_trial *out);
/// Makes the trial another, whose data more algorithms take. False: there is no further one. `k`: how often it was asked before.
bool diff_trial_milder(diff_trial *t, zf_type type, unsigned k);
/// A wild trial by a seed, of at least one row.
void diff_trial_wild(const zf_column *column, unsigned number, uint64_t seed, diff_trial *out);
interp_stream *diff_trial_data(interp *in, const diff_trial *t, zf_type type);
/// Cuts the streams that have more than the rows need. False: none has.
bool diff_cut_streams(interp *in, const zf_column *column, interp_block *block);
/// Whether no group of the column is empty in its blocks.
bool diff_trial_full_groups(const zf_column *column, const diff_trial *t);
/// Whether its blocks are compared thoroughly (diff_case).
bool diff_trial_thorough(const diff_trial *t);
/// Packs the sizes of a block's groups anew without any saving. False: they are not packed.
bool diff_widen_sizes(interp *in, const zf_column *column, interp_block *block);
/// The block to decode for the block that the trial encoded: itself, or the same in another form. False: there is none.
bool diff_trial_settle(interp *in, const zf_column *column, const diff_trial *t, interp_block *block);

/// Damages the block that trial k encoded, in one of DIFF_DAMAGES ways: a param, an element, a stream, the sizes of groups.
/// False: there is nothing of the kind. Some blocks are still valid afterwards.
bool diff_trial_damage(interp *in, const zf_column *column, unsigned number, unsigned k, const diff_trial *t, unsigned d,
                       interp_block *block);

/// A copy that lives as long as `in`.
void *diff_copy(interp *in, const void *from, size_t size);
/// Sets a count or a param of the block, whose others are shared with the one that it was copied from.
void diff_set_count(interp *in, interp_block *block, uint32_t edge, uint64_t count);
void diff_set_param(interp *in, interp_block *block, uint32_t p, uint64_t value);

/// Whether such damage stays within one tile of a kernel with the default seek interval.
bool diff_trial_beside(const diff_trial *t, unsigned d);
/// Rows of the tile that such damage is in and of its neighbour, which shares a thread's groups with it and has nothing of the
/// damage: the one behind their border is the first there. False: that is not known.
bool diff_trial_neighbour(const diff_trial *t, unsigned d, uint64_t *guilty, uint64_t *innocent);

/// Whether such damage may be in several places.
bool diff_trial_several(const diff_trial *t, unsigned d);
/// How code reports such damage.
diff_demand diff_trial_demand(const diff_trial *t, unsigned d);

// ---- Sizes of groups, and damage to those of stages (diff_damage.c, diff_steps.c) ------------------------------

/// Whether groups make so many elements; else lengths of strings may add up to them, whose sum no tile checks.
bool diff_are_grouped(const zf_graph *graph, const interp_block *block, uint64_t elements);
/// The sizes of groups that add up to `rows`, or would with an element more for each group but the last, of `least` groups at
/// least: a copy that is the block's. Packed ones are packed anew without any saving. NULL: the block has none.
uint32_t *diff_sizes_of(interp *in, const zf_graph *graph, uint64_t rows, interp_block *block, uint64_t least, uint64_t *count);
/// The elements of the groups that have these sizes: numbers of 32 bits, which become the block's. NULL: it has none.
uint32_t *diff_values_of(interp *in, const zf_graph *graph, const uint32_t *sizes, uint64_t count, interp_block *block);
/// The rows of group g: it ends with a row that no group begins at.
uint32_t diff_stage_rows(const diff_trial *t, uint64_t g);
bool diff_stage_damage(interp *in, const zf_graph *graph, const diff_trial *t, unsigned d, interp_block *block);
bool diff_stage_neighbour(const diff_trial *t, unsigned d, uint64_t *guilty, uint64_t *innocent);
diff_demand diff_stage_demand(const diff_trial *t, unsigned d);
/// Packs the sizes of all stages, and the values of their groups, anew without any saving. With DIFF_LONE_ROWS values that are
/// sizes of others' groups are made alike. False: there are none.
bool diff_stages_widen(interp *in, const zf_column *column, const diff_trial *t, interp_block *block);
/// Whether the interpreter decodes a block, and nothing in it is wrong.
bool diff_decodes(interp *in, const zf_column *column, const interp_block *block);

// ---- Groups that are made to measure (diff_steps.c) ------------------------------------------------------------

enum { DIFF_STEP_TILES = 6, DIFF_STEP_ROWS = 4096, DIFF_STEP_GROUPS = 195 }; ///< tiles; rows of each but the last; groups

/// The first group of each tile; of tile DIFF_STEP_TILES: all groups.
extern const uint32_t diff_step_groups[DIFF_STEP_TILES + 1];
/// A size for each group.
void diff_step_sizes(uint64_t seed, uint32_t *sizes);

#endif
