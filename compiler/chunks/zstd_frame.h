// Headers of frames of Zstandard and of their blocks (RFC 8878, sections 3.1.1.1 to 3.1.2).
#ifndef ZF_COMPILER_ZSTD_FRAME_H
#define ZF_COMPILER_ZSTD_FRAME_H

#include "compiler/chunks/zstd_reader.h"

enum { ZF_ZSTD_BLOCK_MOST = 128 << 10 }; ///< bytes that a block makes

/// How a part of a chunk or file begins.
typedef enum zf_zstd_begin { ZF_ZSTD_OTHER, ZF_ZSTD_FRAME, ZF_ZSTD_SKIPPED } zf_zstd_begin;

/// Whether a number of four bytes begins a frame, one that is to be skipped, or something else.
zf_zstd_begin zf_zstd_begin_of(uint64_t magic);
/// Passes a frame that is to be skipped, behind its first four bytes. Where it is cut, `r->bad` is set.
void zf_zstd_pass_skipped(zf_zstd_reader *r);

/// A frame's header.
typedef struct zf_zstd_head {
    bool known, checked;
    bool reserved;           ///< a bit that must be 0 is not: no more was read
    bool too_wide;           ///< the exponent of its window is above 31
    uint64_t rows;           ///< if they are known
    uint64_t most;           ///< bytes of a block, both ways
    uint64_t dictionary;     ///< its number; 0: none is needed
    const uint8_t *named_at; ///< where the number is
} zf_zstd_head;

/// Reads a header, behind the frame's first four bytes. Where it is cut, `r->bad` is set.
zf_zstd_head zf_zstd_take_head(zf_zstd_reader *r);

typedef enum zf_zstd_block_kind { ZF_ZSTD_STORED, ZF_ZSTD_REPEATED, ZF_ZSTD_PACKED } zf_zstd_block_kind;

/// A block of a frame.
typedef struct zf_zstd_block {
    zf_zstd_block_kind kind;
    bool last;
    bool wrong;          ///< no block of the frame begins so: the reader is behind the header
    uint64_t size;       ///< PACKED: bytes that it has; else those that it makes
    const uint8_t *from; ///< its bytes, up to where the reader is
} zf_zstd_block;

/// Takes a block's header and bytes; `most` is that of the frame's header. Where they are cut, `r->bad` is set.
zf_zstd_block zf_zstd_take_block(zf_zstd_reader *r, uint64_t most);

#endif
