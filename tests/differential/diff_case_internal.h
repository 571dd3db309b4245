// One comparison inside: the block's forms (diff_case.c), and states that lie about it (diff_lies.c).
#ifndef ZF_TESTS_DIFF_CASE_INTERNAL_H
#define ZF_TESTS_DIFF_CASE_INTERNAL_H

#include "tests/differential/diff_case.h"
#include "tests/interp/data.h"

typedef struct diff_comparing {
    diff_case *c;
    const interp_block *block;
    const interp_report *report;
    const interp_stream *wanted; // NULL: a violation
    bool may_violate;
    data_random random;
    zf_text *message;
    // what the forms did
    bool same_number, reported;
    char *block_error; // of a check that is made once per block, "" where none fails; NULL: no form has run yet
    // the form at hand
    unsigned level;
    bool general;
    zf_decoder *decoder;
    const zf_abi_code *code;
    uint64_t order; // of threads on the emulated GPU
    // what recorded last, for forms that cannot
    zf_decoder *recorder;
    const zf_abi_code *recorder_code;
} diff_comparing;

/// DIFF_DISAGREE, with a message.
diff_verdict diff_differ(diff_comparing *k, const char *what, const char *detail);
/// All rows of a block in the form at hand.
diff_call diff_call_of(diff_comparing *k, const diff_laid *laid);
/// Tells lies about states that were recorded.
diff_verdict diff_check_lies(diff_comparing *k, const diff_records *records);

#endif
