// The bytes of a container: sizes, places and limits, as docs/format.md describes them, for the files that write and read it.
#ifndef ZF_RUNTIME_CONTAINER_FORMAT_H
#define ZF_RUNTIME_CONTAINER_FORMAT_H

#include <string.h>

#include "runtime/container/container.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "containers are read in place, and they are little-endian");
_Static_assert(sizeof(size_t) == 8, "sizes of files and of memory are 64 bits");

#define ZF_FORMAT_VERSION 2u ///< the newest
#define ZF_FORMAT_OLDEST 1u

/// The first 8 bytes of a file. The first is no ASCII and the line ends show transfers that changed them.
#define ZF_FORMAT_MAGIC "\x89ZFD\r\n\x1a\n"
/// The last 8 bytes of a file.
#define ZF_FORMAT_END_MAGIC "zfd.end\n"
/// The magic of a block, at byte 8.
#define ZF_BLOCK_MAGIC 0x424466a5u // a5 'f' 'D' 'B'

enum {
    ZF_FORMAT_HEADER_BYTES = 256,
    ZF_FORMAT_FOOTER_BYTES = 64,
    ZF_FORMAT_ALIGNMENT = 256, ///< of blocks in the file and of streams in a block
    ZF_FORMAT_FIELD_ALIGNMENT = 16,
    ZF_FORMAT_PADDING = 16, ///< bytes that can be read behind the last of a stream or field

    // A block's header: a fixed part, then tables whose lengths the shape gives.
    ZF_BLOCK_FIXED_BYTES = 64,
    ZF_BLOCK_STREAM_BYTES = 24, ///< offset, bytes, elements
    ZF_BLOCK_TREE_BYTES = 24,   ///< interval, fields, entries, most groups
    ZF_BLOCK_FIELD_BYTES = 16,  ///< offset, width
    ZF_BLOCK_END_BYTES = 32,    ///< behind the tables, from version 2 on: required and optional features, first row, zero

    ZF_INDEX_BLOCK_BYTES = 48, ///< a row of the index's table of blocks

    ZF_ROWS_MULTIPLE = 4096, ///< rows per block are a multiple of it
    ZF_INTERVAL_LEAST = 256,
    ZF_INTERVAL_MOST = 65536,
    ZF_UNEVEN_CHUNK_MOST = 1 << 28, ///< outputs of a chunk of an uneven directory
    ZF_NAME_MOST = 4096,            ///< bytes of a path or type's name
    ZF_IDENTIFIER_MOST = 255,       ///< bytes of a table's or column's name: what a file's name can hold
};
/// Set in the interval of a tree that is a directory of chunks; the other bits are the outputs of a chunk.
#define ZF_FORMAT_DIRECTORY UINT32_C(0x80000000)
/// Set beside it where the directory is uneven; the other bits are the outputs that a chunk may have.
#define ZF_FORMAT_UNEVEN UINT32_C(0x40000000)
#define ZF_ROWS_PER_BLOCK_MOST (UINT64_C(1) << 31)
#define ZF_TEXT_BYTES_MOST (UINT64_C(1) << 32) ///< bytes of a block's strings: as an edge's elements
#define ZF_CONSTANT_MOST UINT64_C(65536)       ///< bytes of a program's constant, of which strings may be parts
#define ZF_COLUMNS_MOST (UINT32_C(1) << 20)
#define ZF_TEXT_MOST (UINT32_C(1) << 28)
#define ZF_SECTION_MOST (UINT32_C(1) << 24)     ///< bytes of a schema, or of all keys and values
#define ZF_METADATA_MOST (UINT32_C(1) << 16)    ///< keys
#define ZF_SHAPE_PARTS_MOST (UINT32_C(1) << 16) ///< params, edges, streams, trees, fields or branches of a shape

static inline uint32_t zf_load32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}
static inline uint64_t zf_load64(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}
static inline void zf_store32(uint8_t *bytes, uint32_t value) { memcpy(bytes, &value, sizeof value); }
static inline void zf_store64(uint8_t *bytes, uint64_t value) { memcpy(bytes, &value, sizeof value); }

/// `value` rounded up to a multiple of a power of two. False when that does not fit.
static inline bool zf_align_up(uint64_t value, uint64_t alignment, uint64_t *out) {
    uint64_t sum;
    if (__builtin_add_overflow(value, alignment - 1, &sum)) return false;
    *out = sum & ~(alignment - 1);
    return true;
}

/// Features that a reader must know, by their bits.
enum {
    ZF_REQUIRED_UNEVEN_BLOCKS, ///< a column without rows per block: its blocks have any number of rows
    ZF_REQUIRED_UNEVEN_CHUNKS, ///< a directory that says how long each of its chunks is. Also a feature of a block
    ZF_REQUIRED_LISTS,         ///< columns of lists, of which each is several
    ZF_REQUIRED_COUNT,
};
/// Features that a reader may skip, by their bits. Each has a section of the index.
enum {
    ZF_OPTIONAL_NAMES,    ///< names of columns that are no identifiers
    ZF_OPTIONAL_SCHEMA,   ///< the table's Arrow schema
    ZF_OPTIONAL_METADATA, ///< keys and values of the table
    ZF_OPTIONAL_ZONES,    ///< what 65,536 rows of a block hold
    ZF_OPTIONAL_PROGRAMS, ///< identities of what the unit declares
    ZF_OPTIONAL_COUNT,
};

/// Flags of a zone in the index. Others are 0.
enum {
    ZF_ZONE_VALUES = 1,
    ZF_ZONE_NAN = 2,
    ZF_ZONE_MINIMUM = 4,
    ZF_ZONE_MAXIMUM = 8,
    ZF_ZONE_FLAGS = 15,
    ZF_INDEX_ZONE_BYTES = 24
};

/// The interval of a tree as it stands in a file.
static inline uint32_t zf_tree_word(const zf_shape_tree *tree, uint32_t interval) {
    return interval | (tree->directory != ZF_DIRECTORY_NONE ? ZF_FORMAT_DIRECTORY : 0) |
           (tree->directory == ZF_DIRECTORY_UNEVEN ? ZF_FORMAT_UNEVEN : 0);
}

/// Takes such a word apart: sets what kind of tree it is of, and returns the interval.
static inline uint32_t zf_tree_unpack(uint32_t word, zf_abi_directory *directory) {
    *directory = (word & ZF_FORMAT_DIRECTORY) == 0 ? ZF_DIRECTORY_NONE
                 : (word & ZF_FORMAT_UNEVEN) == 0  ? ZF_DIRECTORY_EVEN
                                                   : ZF_DIRECTORY_UNEVEN;
    return word & ~(*directory != ZF_DIRECTORY_NONE ? ZF_FORMAT_DIRECTORY | ZF_FORMAT_UNEVEN : 0);
}

/// The required features of a block of this shape.
static inline uint64_t zf_block_features(const zf_shape *shape) {
    for (uint32_t t = 0; t < shape->tree_count; t++)
        if (shape->trees[t].directory == ZF_DIRECTORY_UNEVEN) return UINT64_C(1) << ZF_REQUIRED_UNEVEN_CHUNKS;
    return 0;
}

/// The fields of all trees of a shape.
static inline uint32_t zf_shape_fields(const zf_shape *shape) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < shape->tree_count; t++) count += shape->trees[t].field_count;
    return count;
}

/// Bytes of the header of a block of this shape in a file of this version, without padding.
static inline uint64_t zf_block_header_bytes(const zf_shape *shape, unsigned version) {
    return (version >= 2 ? (uint64_t)ZF_BLOCK_END_BYTES : 0) + ZF_BLOCK_FIXED_BYTES + UINT64_C(8) * shape->param_count +
           UINT64_C(8) * shape->edge_count + (uint64_t)ZF_BLOCK_STREAM_BYTES * shape->stored_count +
           (uint64_t)ZF_BLOCK_TREE_BYTES * shape->tree_count + (uint64_t)ZF_BLOCK_FIELD_BYTES * zf_shape_fields(shape);
}

/// Where the parts of a block stand. They follow from the lengths alone, so that a reader computes them again and demands
/// that they are those in the header: then no two overlap and all are inside. `zf_placing_*` return false on overflow.
typedef struct zf_placing {
    uint64_t next; ///< where the next part may start: behind the last that has bytes, and its padding
    uint64_t end;  ///< what must be inside the block
} zf_placing;

static inline zf_placing zf_placing_start(uint64_t header_bytes) { return (zf_placing){header_bytes, header_bytes}; }

/// Places a part of so many bytes. A part without bytes takes no room and stands where the next one will.
static inline bool zf_placing_add(zf_placing *placing, uint64_t alignment, uint64_t bytes, uint64_t *offset) {
    uint64_t end;
    if (!zf_align_up(placing->next, alignment, offset)) return false;
    if (__builtin_add_overflow(*offset, bytes, &end)) return false;
    if (__builtin_add_overflow(end, (uint64_t)ZF_FORMAT_PADDING, &end)) return false;
    // A field may stand before an empty stream, whose place is aligned further.
    if (end > placing->end) placing->end = end;
    if (bytes > 0) placing->next = end;
    return true;
}

/// The size of the block once all parts were placed: 16 bytes can be read behind any of them, also behind empty ones.
static inline bool zf_placing_size(const zf_placing *placing, uint64_t *size) {
    return zf_align_up(placing->end, ZF_FORMAT_ALIGNMENT, size);
}

/// Seek states of a tree with `count` outputs: one per tile but the first. Entries of an even directory: one per chunk but the
/// first.
static inline uint64_t zf_seek_entries(uint64_t count, uint32_t interval) { return count == 0 ? 0 : (count - 1) / interval; }

static inline bool zf_interval_valid(uint32_t interval) {
    return interval >= ZF_INTERVAL_LEAST && interval <= ZF_INTERVAL_MOST && (interval & (interval - 1)) == 0;
}

static inline bool zf_tree_interval_valid(zf_abi_directory directory, uint32_t interval) {
    if (directory == ZF_DIRECTORY_NONE) return zf_interval_valid(interval);
    return interval >= 1 && interval <= (directory == ZF_DIRECTORY_UNEVEN ? ZF_UNEVEN_CHUNK_MOST : ZF_CHUNK_MOST);
}

/// Returns the fault of a shape's own numbers, or NULL: stored streams in order of edges, trees on edges, limits.
const char *zf_shape_fault(const zf_shape *shape);

/// Whether so many rows of the shape's column, if it is one of strings, can have these plain bytes: a string is a part of a
/// stream of bytes, or of a constant. `counts`: the elements of each edge, or the most that it has in any block.
bool zf_text_bytes_fit(const zf_shape *shape, const uint64_t *counts, uint64_t rows, uint64_t plain_bytes);

#endif
