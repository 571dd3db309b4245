// The interface between the parts of the program generator.
#ifndef ZF_TESTS_GEN_INTERNAL_H
#define ZF_TESTS_GEN_INTERNAL_H

#include "tests/differential/generator/gen_program.h"
#include "tests/interp/data.h"

enum { GEN_NAMES = 48, GEN_ALGORITHMS = 4 };

/// A value or a stream that an expression may name.
typedef struct gen_name {
    char name[16];
    zf_kind kind;
    bool stream;       ///< indexed by `index`
    const char *index; ///< "i", "g": aligned
    bool fixed;        ///< a stream of 8 elements
} gen_name;

typedef struct gen_algorithm {
    char name[16];
    zf_kind result;
    uint32_t stream_count, param_count;
    zf_kind streams[4];
    bool nulls[4]; ///< streams that may be null
    bool chunks;
    bool nullable; ///< the result
} gen_algorithm;

typedef struct gen {
    data_random random;
    unsigned features, depth, nest;
    zf_text *out;
    gen_name names[GEN_NAMES];
    uint32_t name_count, fresh;
    bool leaves_only;    ///< streams may not be read: in bounds of reductions
    unsigned reductions; ///< open ones
    gen_algorithm algorithms[GEN_ALGORITHMS];
    uint32_t algorithm_count;
    bool has_function;
    char at_stream[16]; ///< what the algorithm's own function `at` reads; "": it has none
    zf_kind at_kind;
} gen;

bool gen_has(const gen *g, gen_feature feature);
uint64_t gen_below(gen *g, uint64_t bound);
bool gen_chance(gen *g, unsigned percent);
zf_kind gen_integer(gen *g);
zf_kind gen_kind(gen *g); ///< of an element
gen_name *gen_declare(gen *g, const char *prefix, zf_kind kind);

void gen_literal(gen *g, zf_kind kind);
void gen_expr(gen *g, zf_kind kind, unsigned depth); ///< gen_expr.c
bool gen_form(gen *g, zf_kind kind, unsigned depth); ///< gen_forms.c; false: take another form
void gen_statement(gen *g, unsigned number, zf_kind result);
void gen_stream_function(gen *g);
void gen_declare_local(gen *g, unsigned number, zf_kind kind); ///< "v7"
void gen_algorithm_text(gen *g, uint32_t number);              ///< gen_algorithm.c
void gen_functions(gen *g);
void gen_declare_index(gen *g, const char *index);
void gen_stream_port(gen *g, gen_algorithm *made, zf_kind kind, const char *index, const char *extra);
void gen_params(gen *g, gen_algorithm *made);
void gen_codec(gen *g, zf_kind kind, unsigned depth); ///< gen_codec.c
/// ", NAME: CODEC", or nothing where the stream is to be stored.
void gen_argument(gen *g, const char *name, zf_kind kind, bool typed, unsigned depth, bool *first);
void gen_made_codec(gen *g, const gen_algorithm *made, unsigned depth);
void gen_text_codec(gen *g, unsigned depth); ///< gen_delivered.c
void gen_delivered_codec(gen *g, zf_kind kind, bool nullable, unsigned depth);
void gen_delivered_algorithm(gen *g, uint32_t number, zf_kind kind, bool nullable);
/// A program of std's algorithms that makes strings or nulls. False: it is to be an ordinary one.
bool gen_delivered_program(gen *g, uint64_t seed);

#endif
