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
enum { DIFF_CHUNK_TRIALS = 18 };

typedef struct diff_chunk_trial {
    data_shape shape;
    uint64_t rows, seed;
    bool every; ///< damaged in every way, else at random
} diff_chunk_trial;

/// Whether something of the column is encoded by a C function, which only the interpreter has in these tests.
bool diff_chunk_foreign(const zf_column *column);
/// Trial k of column `number`: sizes are around those of its chunks. False: it has no such trial.
bool diff_chunk_trial_of(const zf_column *column, unsigned number, unsigned k, diff_chunk_trial *out);
/// Ways to damage the block that the trial encoded.
unsigned diff_chunk_damages(const diff_chunk_trial *t, const interp_block *block);
/// Damages it in way d. False: it has nothing of the kind. Some blocks are still valid afterwards.
bool diff_chunk_damage(interp *in, const zf_column *column, const diff_chunk_trial *t, unsigned d, interp_block *block);

#endif
