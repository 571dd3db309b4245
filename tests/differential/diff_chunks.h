// The trials of a column of chunks.zf: the blocks of test_chunks.c, which also judge code that has a fault (faults.c).
#ifndef ZF_TESTS_DIFF_CHUNKS_H
#define ZF_TESTS_DIFF_CHUNKS_H

#include "tests/interp/data.h"

#define DIFF_CHUNKS_FILE ZF_SOURCE_DIR "/tests/differential/chunks.zf"

#ifdef ZF_SANITIZE
enum { DIFF_CHUNK_STEP = 3, DIFF_CHUNK_RANDOM = 2 }; ///< one size in so many; random damages of each block
#else
enum { DIFF_CHUNK_STEP = 1, DIFF_CHUNK_RANDOM = 3 };
#endif
/// The trials by size come first, then one of each other kind. Wild ones are like one of these. Then blocks that are written by
/// hand, of columns that have many.
enum {
    DIFF_CHUNK_SIZES = 18,
    DIFF_CHUNK_HANDS = 5,
    DIFF_CHUNK_WILDS = 24,
    DIFF_CHUNK_MORE_HANDS = 8,
    DIFF_CHUNK_TRIALS = DIFF_CHUNK_SIZES + 4 + DIFF_CHUNK_HANDS + DIFF_CHUNK_WILDS + DIFF_CHUNK_MORE_HANDS
};

typedef enum diff_chunk_kind {
    DIFF_CHUNK_SIZED,   ///< sizes around a chunk's
    DIFF_CHUNK_PIECES,  ///< pieces of every distribution, in whole chunks, damaged and cut at each element
    DIFF_CHUNK_SEVERAL, ///< three chunks of a program whose chunks are large, damaged here and there
    DIFF_CHUNK_BY_HAND, ///< a block that is written byte by byte, damaged and cut at each element, and in each bit
    DIFF_CHUNK_RINGS,   ///< lanes: chunks that read at different rates, so that their rings go on in each row of a batch
} diff_chunk_kind;

typedef struct diff_chunk_trial {
    diff_chunk_kind kind;
    data_shape shape;
    uint64_t rows, seed;
    bool wild;     ///< damaged by chance (diff_wild.h)
    bool every;    ///< damaged in every way, else at random
    unsigned hand; ///< BY_HAND: which of the column's
    unsigned tame; ///< PIECES, SEVERAL: 1: of small numbers alone, since the encoder refuses others; 2: of one number
} diff_chunk_trial;

/// Whether something of the column is encoded by a C function, which only the interpreter has in these tests.
bool diff_chunk_foreign(const zf_column *column);
/// Trial k of column `number`: sizes are around those of its chunks. False: it has no such trial.
bool diff_chunk_trial_of(const zf_column *column, unsigned number, unsigned k, diff_chunk_trial *out);
/// A wild trial by a seed, of at least one row where it is not written by hand.
void diff_chunk_wild(const zf_column *column, unsigned number, uint64_t seed, diff_chunk_trial *out);
interp_stream *diff_chunk_data(interp *in, const zf_column *column, const diff_chunk_trial *t);
/// Makes other data for a trial that the encoder refuses. False: there are none.
bool diff_chunk_tame(diff_chunk_trial *t);
/// The block to decode for the one that the trial encoded: itself, or one that is written by hand.
bool diff_chunk_settle(interp *in, const zf_column *column, const diff_chunk_trial *t, interp_block *block);
/// Whether such damage may be in several places.
bool diff_chunk_several(const diff_chunk_trial *t, unsigned d);
/// Whether the block is compared thoroughly (diff_case).
bool diff_chunk_thorough(const diff_chunk_trial *t);
/// Ways to damage the block that the trial encoded.
unsigned diff_chunk_damages(const diff_chunk_trial *t, const interp_block *block);
/// Damages it in way d. False: it has nothing of the kind. Some blocks are still valid afterwards.
bool diff_chunk_damage(interp *in, const zf_column *column, const diff_chunk_trial *t, unsigned d, interp_block *block);

#endif
