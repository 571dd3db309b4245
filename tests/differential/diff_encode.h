// Encoding: the interpreter's `encode` against compiled ones, stream by stream.
#ifndef ZF_TESTS_DIFF_ENCODE_H
#define ZF_TESTS_DIFF_ENCODE_H

#include "compiler/program.h"
#include "tests/differential/diff_case.h"

typedef enum diff_encoded {
    DIFF_ENCODED,        ///< both took the data, and stored the same
    DIFF_REFUSED,        ///< both refused it
    DIFF_OTHER_BRANCH,   ///< both took it; one counted seek states when it chose, so the alternatives differ
    DIFF_ENCODE_LIMITED, ///< the interpreter gave up
    DIFF_ENCODE_DIFFERS,
    DIFF_ENCODE_VERDICTS,
} diff_encoded;

const char *diff_encoded_name(diff_encoded verdict);

/// Programs loaded by each compiler; the first one's spec is the interpreter's.
typedef struct diff_program {
    zf_program *programs[DIFF_LEVELS];
} diff_program;

/// Loads a text. False when the program has errors (or *message says what else is wrong).
bool diff_program_open(const diff_machine *m, const char *text, diff_program *out, zf_text *message);
bool diff_program_open_file(const diff_machine *m, const char *path, diff_program *out, zf_text *message);
void diff_program_close(diff_program *p);
zf_spec *diff_program_spec(const diff_program *p);

/// Encodes `plain` with `column` (of the first program's spec) by all; with DIFF_ENCODED *block is the interpreter's block, with
/// DIFF_OTHER_BRANCH the compiled one's. The block lives as long as `in`.
diff_encoded diff_check_encode(const diff_program *p, const zf_column *column, interp *in, const interp_stream *plain,
                               interp_block *block, zf_text *message);

#endif
