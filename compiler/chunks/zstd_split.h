// Frames of Zstandard taken apart into the streams of `zstd_split` (dsl/std/zstd_split.zf).
#ifndef ZF_COMPILER_ZSTD_SPLIT_H
#define ZF_COMPILER_ZSTD_SPLIT_H

#include "compiler/chunks/chunk_parts.h"
#include "compiler/chunks/zstd_dictionary.h"
#include "patterns/graph/graph.h"
#include "runtime/base/error.h"

/// Edges of the codec, by number. `dictionary`: UINT32_MAX: it has none.
typedef struct zf_zstd_edges {
    uint32_t steps, steps_src, tables, tables_src;
    uint32_t literals, literals_src, codes, codes_src, which;
    uint32_t dictionary;
} zf_zstd_edges;

/// Whether a column's codec has these streams and chunks, whatever its algorithms are called: then `*out` has their edges.
bool zf_zstd_split_edges(const zf_graph *graph, zf_zstd_edges *out);

/// A dictionary, and its parts in a block of the container.
typedef struct zf_zstd_dictionary_parts {
    const zf_zstd_dictionary *from;
    uint32_t code, tables; ///< numbers; UINT32_MAX: no frame of the block took them
} zf_zstd_dictionary_parts;

/// Puts the dictionary's bytes into the parts of a block that begins.
zf_zstd_dictionary_parts zf_zstd_split_begin(const zf_zstd_dictionary *dictionary, const zf_zstd_edges *edges,
                                             zf_chunk_parts *parts);

/// A chunk: frames, one behind the other, and frames to be skipped; with a dictionary one frame.
typedef struct zf_zstd_chunk {
    const uint8_t *bytes;
    uint64_t size, rows;
    size_t number; ///< among the chunks of the block
} zf_zstd_chunk;

/// The checksum of a frame that makes `rows` rows from `row` of the block on.
typedef struct zf_zstd_sum {
    size_t chunk; ///< its number
    uint64_t row, rows;
    uint32_t sum; ///< the low half of XXH64
} zf_zstd_sum;

/// Checksums of a block's frames. The caller frees `sums`.
typedef struct zf_zstd_frames {
    zf_zstd_sum *sums;
    size_t count, room;
} zf_zstd_frames;

/// Appends the parts of a chunk that makes the rows from `row` on of its block, and its checksums. `dictionary`: NULL: none.
/// Sequences are read, since a block must know the distances of the one before; literals are not. Errors: ZF1508 with the byte of
/// the chunk for what is no frame, or makes another number of rows.
zf_status zf_zstd_split(const zf_zstd_edges *edges, zf_zstd_dictionary_parts *dictionary, const zf_zstd_chunk *chunk,
                        uint64_t row, zf_chunk_parts *parts, zf_zstd_frames *frames, zf_error *error);
/// Whether rows of the block are those of a checksum.
bool zf_zstd_sum_holds(const zf_zstd_sum *sum, const uint8_t *rows);

#endif
