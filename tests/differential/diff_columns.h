// Programs of the library's algorithms, as texts: a table with a column `c` for each codec, so that each can have a file of its
// own.
#ifndef ZF_TESTS_DIFF_COLUMNS_H
#define ZF_TESTS_DIFF_COLUMNS_H

#include <stdbool.h>

#include "runtime/base/text.h"
#include "tests/support/sample.h"

/// Every algorithm with every type that it takes, and nests of two and more.
void diff_columns_families(zf_text *out);
/// Whether a sample has the column of this number, of all that a program of families, then others, has: of each family at least
/// one type, so that no algorithm is left out; the types rotate from family to family, and from turn to turn.
bool diff_columns_sampled(unsigned number, sample wanted);
/// The columns of examples/tpch/tpch.zf, of those with one type and codec the first; gives how many there are.
unsigned diff_columns_tpch(zf_text *out);
/// Strings whose characters a program makes that reads what it emitted, which the library has none of.
void diff_columns_reading(zf_text *out);
/// Random nests, always the same.
void diff_columns_nests(unsigned count, zf_text *out);

#endif
