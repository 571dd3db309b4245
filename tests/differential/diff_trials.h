// What a column of the library is tried on: the blocks of the ordinary suite (test_std.c), which also judge code that has a fault
// (faults.c).
#ifndef ZF_TESTS_DIFFERENTIAL_DIFF_TRIALS_H
#define ZF_TESTS_DIFFERENTIAL_DIFF_TRIALS_H

#include "tests/interp/data.h"

enum { DIFF_TRIALS = 24, DIFF_DAMAGES = 11 }; ///< of a column; of a trial

typedef struct diff_trial {
    data_shape shape;
    uint64_t rows, seed;
    bool narrow; ///< with seek states every 256 rows, where the column has any
    bool lines;  ///< the data are straight lines, whatever the shape says
} diff_trial;

/// Trial k of column `number`: every distribution and size comes by; sizes are around those of tiles and blocks.
diff_trial diff_trial_of(unsigned number, unsigned k, zf_type type);
interp_stream *diff_trial_data(interp *in, const diff_trial *t, zf_type type);

/// Damages the block that trial k encoded, in one of DIFF_DAMAGES ways: a param, an element, a stream, the sizes of groups.
/// False: there is nothing of the kind. Some blocks are still valid afterwards.
bool diff_trial_damage(interp *in, const zf_column *column, unsigned number, unsigned k, unsigned d, interp_block *block);

/// Whether such damage stays within one tile of a kernel with the default seek interval.
bool diff_trial_beside(const diff_trial *t, unsigned d);

#endif
