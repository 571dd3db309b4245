// The vectors of alternatives that a column can take.
#ifndef ZF_CODEGEN_BRANCHES_H
#define ZF_CODEGEN_BRANCHES_H

#include "frontend/spec.h"

/// Turns a vector (column->choice_count bytes; all 0 is the first) into the next one. Choices that it does not reach are 0, as in
/// files. False when there are no more, or the codec is too large to look at.
bool zf_branches_next(const zf_column *column, uint8_t *branches);

#endif
