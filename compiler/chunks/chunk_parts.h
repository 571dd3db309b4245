// Chunks of a block on their way: elements of stored streams, entries of chunk directories, counts of edges.
#ifndef ZF_COMPILER_CHUNK_PARTS_H
#define ZF_COMPILER_CHUNK_PARTS_H

#include "runtime/container/container.h"

/// Elements of a stored stream.
typedef struct zf_chunk_stream_part {
    uint8_t *bytes;
    uint64_t size, room; ///< bytes
    uint64_t elements;
    uint32_t edge, width; ///< its edge; bytes of an element
} zf_chunk_stream_part;

/// A directory, entry after entry.
typedef struct zf_chunk_directory_part {
    uint64_t *fields;
    uint64_t entries, room;
} zf_chunk_directory_part;

/// Free it with zf_chunk_parts_free, also where it could not begin. Where memory ends, `no_memory` is set, and what follows is
/// left out.
typedef struct zf_chunk_parts {
    const zf_shape *shape;
    zf_chunk_stream_part *streams;        ///< by number of the stored stream
    zf_chunk_directory_part *directories; ///< by tree
    uint64_t *counts;                     ///< by edge; those of stored streams are set at the end
    zf_stream_data *stream_data;          ///< of zf_chunk_parts_data
    zf_seek_data *seeks;
    uint64_t *values;
    bool no_memory;
} zf_chunk_parts;

/// False: no memory.
bool zf_chunk_parts_begin(zf_chunk_parts *parts, const zf_shape *shape);
void zf_chunk_parts_free(zf_chunk_parts *parts);

/// Makes room for so many elements of a stored stream, when it has none yet.
void zf_chunk_parts_reserve(zf_chunk_parts *parts, uint32_t stream, uint64_t count);
/// Appends elements to a stored stream of numbers.
void zf_chunk_parts_append(zf_chunk_parts *parts, uint32_t stream, const void *elements, uint64_t count);
/// Appends an entry to a directory: all of its fields.
void zf_chunk_parts_enter(zf_chunk_parts *parts, uint32_t tree, const uint64_t *fields);
/// The tree of an edge, or UINT32_MAX.
uint32_t zf_chunk_parts_tree(const zf_shape *shape, uint32_t edge);
/// Puts counts, streams and directories into a block; they stay these parts'.
void zf_chunk_parts_data(zf_chunk_parts *parts, zf_block_data *out);

#endif
