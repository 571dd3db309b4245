// Searches for a way to notice a fault that no trial notices: one wild block after the other, of a column or a chunk program.
#ifndef ZF_TESTS_FAULTS_SEARCH_H
#define ZF_TESTS_FAULTS_SEARCH_H

#include "tests/differential/diff_case.h"

/// Elements that the interpreter makes of a block at most: a damaged count is no fact about the data.
enum { FAULT_SEARCH_ELEMENTS = 1 << 22 };

typedef struct fault_search fault_search;

fault_search *fault_search_open(const zf_column *column, unsigned number, bool chunks);
void fault_search_close(fault_search *search);

/// Makes the next block. NULL: the column takes no data of that kind; go on. It belongs to the search, until the next.
const interp_block *fault_search_next(fault_search *search);
/// Asks the interpreter about it, and sets how it is to be compared. False: the interpreter gives up.
bool fault_search_expect(fault_search *search, diff_case *c, diff_expected *out);
/// The seed of its ranges and lies.
uint64_t fault_search_seed(const fault_search *search);
/// How many blocks were asked for, and expected.
unsigned fault_search_made(const fault_search *search);
unsigned fault_search_compared(const fault_search *search);
/// Prints what it is: its data, and its damage with classes of places and values.
void fault_search_say(const fault_search *search, char *to, size_t room);

#endif
