// Resolving codecs: shared by codec*.c only.
#ifndef ZF_FRONTEND_CODEC_H
#define ZF_FRONTEND_CODEC_H

#include "frontend/spec/spec_internal.h"

enum {
    ZF_CODEC_DEPTH = 64,          ///< levels of a codec, named ones expanded
    ZF_CODEC_NODES = 4096,        ///< uses of algorithms in one column, all alternatives counted
    ZF_CODEC_ALL_NODES = 1 << 20, ///< of a compilation
    ZF_CODEC_ALTERNATIVES = 255,  ///< of one choice: a block records the branch in a byte
    ZF_CODEC_CHUNK_MAX = 1 << 28, ///< elements of a chunk; those above 2^24 are wrapped, not encoded
    ZF_CODEC_NAME_MOST = 255,     ///< bytes of a table's or column's name: what a container holds (docs/format.md)
};

/// One column being resolved.
typedef struct zf_codec_work {
    zf_spec *spec;
    uint32_t nodes;
    uint32_t depth;
    bool too_large; ///< reported already
} zf_codec_work;

/// The edge that a codec stands on, for diagnostics and for its type.
typedef struct zf_codec_edge {
    zf_type type;     ///< without logical names
    const char *what; ///< "column 'l_tax'", "stream 'values' of 'rle'"
    zf_span declared; ///< where its type comes from; source NULL: nowhere to show
} zf_codec_edge;

/// A use of an algorithm with its generics bound (codec_bind.c).
typedef struct zf_codec_use {
    zf_codec_work *work;
    const zf_source_module *module; ///< where the codec is written
    const zf_ast_codec *ast;
    const zf_algorithm *algorithm;
    const zf_ast_algorithm *declared;
    zf_codec_edge edge;
    const zf_ast_codec_arg **by_port; ///< the argument for each port as declared; NULL: none
    const zf_ast_codec_arg *chunk;    ///< `chunk: N`
} zf_codec_use;

/// Binds all generics of a use: outside in, then by the edges' types, then by default. Reports ZF0310, ZF0311, ZF0703.
bool zf_codec_bind(zf_codec_use *use, zf_type *bindings);
/// True when the type of a stream has to be written on its edge, because neither the result nor a default determines
/// it.
bool zf_codec_edge_is_typed(zf_spec *spec, const zf_inst *inst, uint32_t slot);

/// The canonical text of a choice: labels everywhere, named codecs expanded, what the defaults say left out.
void zf_codec_print(zf_spec *spec, const zf_codec_choice *choice, zf_text *out);

/// The canonical text of one alternative of a choice.
void zf_codec_print_one(zf_spec *spec, const zf_codec_choice *choice, uint32_t alternative, zf_text *out);

/// How an algorithm is called in canonical text; NULL: by its own name. (canonical.c renames where names clash.)
typedef const char *(*zf_codec_namer)(void *user, const zf_algorithm *algorithm);
void zf_codec_print_as(zf_spec *spec, const zf_codec_choice *choice, zf_codec_namer namer, void *user, zf_text *out);

#endif
