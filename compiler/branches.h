// The vectors of alternatives that a column can take.
#ifndef ZF_COMPILER_BRANCHES_H
#define ZF_COMPILER_BRANCHES_H

#include "frontend/spec/spec.h"
#include "runtime/base/error.h"

/// Turns a vector (column->choice_count bytes; all 0 is the first) into the next one. Choices that it does not reach are 0, as in
/// files. `*more`: there was one; else the vector is all 0 again.
zf_status zf_branches_next(const zf_column *column, uint8_t *branches, bool *more, zf_error *error);

#endif
