// Random well-typed `.zf` programs with random blocks for them, as text, and a reducer for those that show a fault.
//
// A case is two texts. The program declares `table t { c: TYPE = CODEC; }`. The block says branches, params, element
// counts, chunk directories and the bytes of stored streams (gen_block_print). Both are made from one seed, so a seed
// repeats a case.
#ifndef ZF_TESTS_GEN_PROGRAM_H
#define ZF_TESTS_GEN_PROGRAM_H

#include "tests/interp/interp.h"

typedef enum gen_feature {
    GEN_GROUPS = 1,   ///< group_parallel
    GEN_SCANS = 2,    ///< running and segmented reductions
    GEN_PREFIXES = 4, ///< sums between two places
    GEN_GATHERS = 8,  ///< indices other than the domain's, bits
    GEN_FLOATS = 16,
    GEN_STATEMENTS = 32, ///< bodies with let, var, if, for, require
    GEN_NESTS = 64,      ///< codecs over codecs: std's and made ones
    GEN_CHOICES = 128,   ///< alternatives
    GEN_CHUNKS = 256,    ///< non_parallel, with and without lanes
    GEN_FUNCTIONS = 512,
    GEN_WILD = 1024, ///< accesses and divisions without the guards that keep most blocks valid
    GEN_ALL = 2047,
    GEN_DELIVERED = 2048, ///< columns of strings, and nullable ones (not in GEN_ALL)
} gen_feature;

typedef struct gen_options {
    unsigned features;     ///< of gen_feature
    unsigned depth;        ///< of expressions; 0: 4
    unsigned nest;         ///< of codecs; 0: 3
    uint64_t max_elements; ///< of a stored stream; 0: 5000
    bool std_only;         ///< algorithms of the library alone: all can encode
    unsigned faults;       ///< per cent of blocks that are damaged on purpose: bytes, params, counts, directories
    const uint8_t *bytes;  ///< decide before the seed does, where there are any
    size_t byte_count;
} gen_options;

/// The text of a program. Nearly all are accepted by the checker; one that is not is no fault of anything.
void gen_program(uint64_t seed, const gen_options *options, zf_text *out);

/// A block for the column: random branches, params within their ranges, elements within theirs; lengths such that
/// aligned reads end where streams do and groups add up. Lives as long as `in`. False when the interpreter's limits
/// were met.
bool gen_block(interp *in, const zf_column *column, uint64_t seed, const gen_options *options, interp_block *out);
/// The same by encoding made data, where every algorithm of the column can encode. False when it refuses or cannot.
bool gen_encoded_block(interp *in, const zf_column *column, uint64_t seed, const gen_options *options, interp_block *out);
/// Damages a block in one random place: a bit, a run of bytes, a param, a count, a directory entry.
void gen_damage(interp *in, uint64_t seed, interp_block *block);

void gen_block_print(const interp_block *block, zf_text *out);
/// Reads what gen_block_print wrote. False with a message on an error.
bool gen_block_read(interp *in, const char *text, interp_block *out, zf_text *message);

/// Smaller texts for which `still_fails` holds. It is asked for the texts given first and must say yes. Tries at most
/// `tries`.
typedef bool (*gen_fails_fn)(void *user, const char *program, const char *block);
void gen_reduce(const char *program, const char *block, gen_fails_fn still_fails, void *user, unsigned tries,
                zf_text *out_program, zf_text *out_block);

#endif
