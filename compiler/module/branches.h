// The vectors of alternatives that a column can take.
#ifndef ZF_COMPILER_BRANCHES_H
#define ZF_COMPILER_BRANCHES_H

#include "frontend/spec/spec.h"
#include "runtime/base/error.h"

/// Turns a vector of alternatives (column->choice_count bytes; all 0 is the first) into the next one.
/// Choices that the vector does not reach are 0, as in files. `*more` is false after the last vector, which becomes all 0 again.
/// Errors: ZF_ERR_MEMORY. Any thread.
zf_status zf_branches_next(const zf_column *column, uint8_t *branches, bool *more, zf_error *error);

#endif
