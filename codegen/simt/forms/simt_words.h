// Tiles of groups that are strings: a warp makes several of them together (simt_words.c).
#ifndef ZF_CODEGEN_SIMT_WORDS_H
#define ZF_CODEGEN_SIMT_WORDS_H

#include "codegen/simt/simt.h"

/// Shared memory that a warp takes.
uint32_t zf_simt_words_bytes(uint32_t tile);
/// Tiles of that many bytes that a warp makes together; 0: one is too large.
uint32_t zf_simt_words_span(uint32_t tile);

#endif
