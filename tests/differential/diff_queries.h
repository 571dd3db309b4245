// Random queries, and random rows for them: a table of columns of all types, and programs that change results of all kinds.
#ifndef ZF_TESTS_DIFF_QUERIES_H
#define ZF_TESTS_DIFF_QUERIES_H

#include "frontend/spec/spec.h"

/// Rows of a table, and of a long one; elements of an input; columns of the table; results of a query.
enum {
    DIFF_QUERY_ROWS = 9000,
    DIFF_QUERY_LONG = 140000,
    DIFF_QUERY_INPUT = 16,
    DIFF_QUERY_COLUMNS = 12,
    DIFF_QUERY_RESULTS = 14
};

/// Random numbers, the same for a seed.
void diff_query_seed(uint64_t seed);
uint64_t diff_query_next(void);
unsigned diff_query_below(unsigned count);

/// Returns the text of a program: a table `t`, and a query `random` over it with params p, q and n2 and inputs `bytes` and
/// `bits`. `codecs`: columns have random codecs; else the plainest. `ordered`: there are results that depend on the order of
/// rows, `select` and sums of floats. `of_pairs`: the query is one of pairs. Free it.
char *diff_query_program(bool codecs, bool ordered, bool of_pairs);

/// Whether a program is refused as it may be: for an index that is always outside, a divisor that is always 0, a literal beyond
/// 64 bits, or a place of a result whose index stands twice and names a number of a loop.
bool diff_query_may_refuse(const char *diagnostics);

/// A stream's elements in memory.
typedef struct diff_query_stream {
    uint64_t values[DIFF_QUERY_LONG + 1]; ///< numbers side by side
    uint8_t bits[DIFF_QUERY_LONG / 8 + 1], valid[DIFF_QUERY_LONG / 8 + 1];
    uint8_t text[DIFF_QUERY_LONG * 4 + 1];
    uint8_t bytes[DIFF_QUERY_LONG + 1]; ///< booleans, as bytes
    int64_t offsets[DIFF_QUERY_LONG + 1];
} diff_query_stream;

/// Makes `count` random elements.
void diff_query_make(diff_query_stream *stream, zf_type type, uint64_t count);
/// Returns where they lie as queries take them: numbers, bits or bytes of strings.
const void *diff_query_values(const diff_query_stream *stream, zf_type type);

#endif
