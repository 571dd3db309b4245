// The builder of modules, inside: module_build.c lists the code that a module gets, module_link.c compiles and links it.
#ifndef ZF_COMPILER_MODULE_BUILD_H
#define ZF_COMPILER_MODULE_BUILD_H

#include "compiler/decoder/decoder_cache.h"
#include "compiler/module/native_image.h"
#include "runtime/module/module_format.h"

/// A piece of code to compile.
typedef struct zf_module_piece {
    zf_decoder *decoder;
    zf_module_code *code; ///< where it is described; its form is set
    zf_exported_code exported;
    uint64_t *places; ///< host: of the kernels in the native image
    zf_status status;
    zf_error error;
    struct zf_module_piece *next;
} zf_module_piece;

/// A decoder that the builder holds.
typedef struct zf_module_decoder {
    zf_cached_decoder *held;
    struct zf_module_decoder *next;
} zf_module_decoder;

typedef struct zf_module_builder {
    zf_compiler *compiler;
    zf_module_options options;
    const char *cpu;
    zf_arena *arena; ///< of content and pieces
    zf_module_content content;
    zf_module_piece *pieces, **last; ///< in order
    size_t piece_count;
    zf_module_decoder *decoders;
    zf_native_image native;
    zf_text images;
} zf_module_builder;

enum { ZF_MODULE_TARGET_ROOM = 64 };
/// Writes the name of a target to `out`, and returns it: "host", or "nvptx of compute capability 8.0".
const char *zf_module_target_name(zf_abi_target target, char out[ZF_MODULE_TARGET_ROOM]);
/// Passes a line about code that is left out to the caller (zf_module_options.note).
void zf_module_note(const zf_module_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Compiles all pieces over threads, and fills the codes of the content.
/// Plans whose general form is not lowered are removed, with a note. If several pieces fail with other errors, the first
/// piece's error is returned.
zf_status zf_module_link(zf_module_builder *builder, zf_error *error);

#endif
