// Random queries of pairs whose sums have the form that squares make, and inputs for them.
#ifndef ZF_TESTS_SQUARE_QUERIES_H
#define ZF_TESTS_SQUARE_QUERIES_H

#include <stdint.h>

#include "compiler/query/query.h"

enum { SQUARE_NUMBERS = 200, SQUARE_WORDS = 4096 };

/// Inputs and params of one run.
typedef struct square_given {
    uint64_t words[SQUARE_WORDS];
    uint32_t start[SQUARE_NUMBERS], size[SQUARE_NUMBERS];
    char n[24], width[24];
    zf_query_param params[2];
    zf_query_array arrays[3];
} square_given;

/// Returns the text of a program with a query `random` of pairs. Seed by diff_query_seed before. Free it.
char *square_query_program(void);
/// Makes inputs for a program of square_query_program, of which some lack elements that the query reads.
void square_query_give(const char *program, square_given *out);

#endif
