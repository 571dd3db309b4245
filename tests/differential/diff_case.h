// One column, many blocks: whether generated code and the interpreter agree on each.
#ifndef ZF_TESTS_DIFF_CASE_H
#define ZF_TESTS_DIFF_CASE_H

#include "tests/differential/diff_machine.h"

typedef enum diff_verdict {
    DIFF_SAME_BYTES,     ///< both made the same elements
    DIFF_SAME_VIOLATION, ///< both say that something reached is wrong
    DIFF_UNREACHED,   ///< the interpreter made elements, and something that nobody pulls is wrong: any generated code did either
    DIFF_LIMITED,     ///< the interpreter gave up, or code would grow beyond its limit: no statement
    DIFF_UNSUPPORTED, ///< the planner does not lower the form, and says so
    DIFF_DISAGREE,
    DIFF_VERDICTS,
} diff_verdict;

const char *diff_verdict_name(diff_verdict verdict); ///< "same_bytes"

/// Counts of a whole run, for its result file.
typedef struct diff_tally {
    uint64_t verdicts[DIFF_VERDICTS];
    uint64_t runs;           ///< of generated code, ranges and lies included
    uint64_t elements;       ///< compared
    uint64_t violations[32]; ///< same violations by the interpreter's number
    uint64_t same_number;    ///< of those, where all of generated code's numbers were the interpreter's
    uint64_t placed,
        same_place; ///< violations of one number that the column's kernel reported; of those, in the interpreter's row or tile
    uint64_t unreached_reported; ///< unreached ones that some form reported
    uint64_t ranges, lies;       ///< parts of blocks decoded; lying states found
} diff_tally;

typedef struct diff_decoder diff_decoder;

/// How damage is reported.
typedef enum diff_demand {
    DIFF_ANY,   ///< as any violation
    DIFF_FIRST, ///< as the interpreter does: its number and path
    DIFF_SUM,   ///< GPUs: as sizes that do not add up, V09, since such a tile's elements are not made; else as any
} diff_demand;

typedef struct diff_case {
    diff_machine *machine;
    zf_spec *spec;
    const zf_column *column;
    zf_decoder_states states;     ///< zeroes: the usual
    struct zf_fault_sites *sites; ///< the fault switch of decoders that are made; NULL: none
    unsigned tuples;  ///< of shaping values that a decoder gets specialised code for, others are run in the general form
                      ///< alone: compiling is what takes the time. 0: all
    bool gpu_alone;   ///< of the forms only DIFF_GPU, for which the host records
    bool exact_nans;  ///< NaNs keep their bits; otherwise any NaN is as good as another where the column is a float
    bool full_groups; ///< no group of the column is empty
    const interp_block *undamaged; ///< the blocks that are compared are this one, damaged in one place each; NULL: they are not
    bool several;                  ///< or in several places each
    bool beside;                   ///< and the tile behind the damaged place has nothing of it
    diff_demand demand;            ///< and code reports it so
    bool thorough;                 ///< every way to cut a tile, every kind of lie and field, instead of some
    bool neighbour; ///< the damage is in the tile that begins with row `guilty`, and that of row `innocent` has nothing of it
    uint64_t guilty, innocent;
    diff_tally *tally;
    diff_decoder *decoders; ///< made so far
} diff_case;

/// Compares one block. `seed` chooses the ranges and lies that are tried besides. On DIFF_DISAGREE *message says what differs, on
/// DIFF_UNSUPPORTED what is not supported.
diff_verdict diff_check_block(diff_case *c, interp *in, const interp_block *block, uint64_t seed, zf_text *message);
/// A block and what the interpreter says of it: `wanted` is NULL where it met a violation.
typedef struct diff_expected {
    interp_block block;
    interp_stream *wanted;
    interp_report report;
} diff_expected;

/// One form of the code: the emulated GPU's at DIFF_GPU; specialised for the block's shaping values, or general.
typedef struct diff_form {
    unsigned level;
    bool special;
} diff_form;

/// Compares one form alone. States for DIFF_GPU are recorded by the host's at level 0.
diff_verdict diff_check_form(diff_case *c, const diff_expected *expected, const diff_form *form, uint64_t seed, zf_text *message);
/// The decoder of a level for a vector of branches, kept in the case. NULL with *error.
zf_decoder *diff_decoder_for(diff_case *c, unsigned level, const uint8_t *branches, uint32_t branch_count, zf_error *error);
/// Whether any decoder made so far keeps seek states.
bool diff_is_ordered(const diff_case *c);
/// Frees the decoders of a level, so that new ones are made when they are asked for.
void diff_case_forget(diff_case *c, unsigned level);
/// Frees the decoders.
void diff_case_close(diff_case *c);

#endif
