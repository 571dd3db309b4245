// The index of a container in memory: what the writer gathers and the reader finds.
#ifndef ZF_RUNTIME_CONTAINER_INDEX_H
#define ZF_RUNTIME_CONTAINER_INDEX_H

#include "runtime/base/arena.h"
#include "runtime/container/container.h"
#include "runtime/container/zone.h"

typedef struct zf_index_block {
    uint64_t offset, bytes; ///< in the file
    uint64_t rows, first_row;
    uint64_t plain_bytes;
    uint64_t checksum; ///< as in the block's header
    uint32_t shape;
    const zf_zone *zones; ///< zf_zones_of its rows; NULL: the file has none of the column
    uint64_t first_zone;  ///< of the column
    bool sound;           ///< its bytes in memory were compared with the checksum (zf_container_load)
} zf_index_block;

/// A shape with what holds for all blocks of it.
typedef struct zf_index_shape {
    zf_shape shape;
    uint64_t *most; ///< per edge: the largest count
} zf_index_shape;

typedef struct zf_index_column {
    const char *name, *type_name, *codec; ///< the name of a part of lists is made of that of the ends
    const char *full_name;                ///< `name`, unless the file has another
    const char *shown; ///< the full name as errors have it: of at most 64 bytes, or those of a part's suffix more
    zf_column_type type;
    zf_list_part part;
    uint64_t rows;           ///< the table's; those of its blocks in the values of lists. A reader's alone
    uint64_t rows_per_block; ///< 0: any number, from 1 on
    zf_index_shape *shapes;
    zf_index_block *blocks;
    uint32_t shape_count;
    uint64_t block_count;
    bool zoned; ///< its blocks have zones
    uint64_t zone_count;
    uint64_t plain_bytes, block_bytes; ///< sums over its blocks
    uint64_t at, at_blocks, at_end;    ///< its part of the index, from the index's start; its rows of blocks end it
} zf_index_column;

typedef struct zf_index {
    unsigned version;            ///< of the format
    uint64_t required, optional; ///< features
    uint64_t rows;
    const char *table, *unit;
    size_t unit_length;
    zf_index_column *columns;
    uint32_t column_count;
    const void *schema; ///< the table's Arrow schema; NULL: none
    size_t schema_bytes;
    const zf_metadata *metadata;
    size_t metadata_count;
    const zf_stated_program *programs; ///< with ZF_OPTIONAL_PROGRAMS
    uint32_t program_count;
    /// From the index's start. Sections of optional features follow the columns, and padding at_end.
    uint64_t at_table, at_unit, at_columns, at_sections, at_end;
} zf_index;

/// Returns the block that has row `row`, which exists: a search, since blocks may have any number of rows.
ZF_PRIVATE_API uint64_t zf_index_block_of(const zf_index_column *column, uint64_t row);
/// The first row of block `block`; of `block_count`: the rows of the column.
static inline uint64_t zf_index_first_row(const zf_index_column *of, uint64_t block) {
    if (block < of->block_count) return of->blocks[block].first_row;
    return block == 0 ? 0 : of->blocks[block - 1].first_row + of->blocks[block - 1].rows;
}

/// Whether the file has a feature: a required or an optional one, by its bit.
static inline bool zf_index_has(const zf_index *index, bool required, unsigned bit) {
    return ((required ? index->required : index->optional) >> bit & 1) != 0;
}

/// Appends the bytes of the index to `out`, padded to a multiple of 8.
void zf_index_write(const zf_index *index, zf_text *out);

/// Reads an index and checks what it says about itself and about a file whose blocks fill [256, index_offset). All memory
/// comes from `arena`. `path` is for errors.
zf_status zf_index_read(zf_arena *arena, unsigned version, const uint8_t *bytes, uint64_t size, uint64_t index_offset,
                        const char *path, zf_index *out, zf_error *error);

/// Returns the name of a feature, or NULL for a bit that has none.
ZF_PRIVATE_API const char *zf_feature_name(bool required, unsigned bit);
/// Returns the fault of a schema, or NULL: it must be an IPC message of Arrow, as far as its frame tells.
const char *zf_schema_fault(const void *schema, size_t bytes);
/// Returns the fault of keys and values, or NULL.
const char *zf_metadata_fault(const zf_metadata *metadata, size_t count);
/// Sorts names and returns one that occurs twice, or NULL.
const char *zf_twice(const char **names, size_t count);

/// Returns a name as errors have it: of more than 64 bytes the first characters and "...". NULL: no memory.
const char *zf_name_shown(zf_arena *arena, const char *name);
/// Returns the name of a part of the lists that are called `lists`; NULL: no memory.
const char *zf_list_part_name(zf_arena *arena, const char *lists, zf_list_part part);
/// Returns the fault of a column that follows `before` (ZF_LIST_NONE for the first), or NULL. Without a column: `end`, where the
/// last one of the table was `before`.
const char *zf_list_part_fault(zf_list_part before, zf_list_part part, zf_column_type type, bool end);
/// Returns the fault of a column's type, or NULL.
const char *zf_column_type_fault(zf_column_type type);
/// Whether a table or column can have this name: [A-Za-z_][A-Za-z0-9_]*, at most ZF_IDENTIFIER_MOST bytes.
bool zf_identifier_valid(const char *name, size_t length);
/// Returns the fault of a text, or NULL: it must be UTF-8 without control characters but line feeds and tabs.
const char *zf_text_fault(const char *text, size_t length);
/// Whether a name that is no identifier (a path, a type) can stand in a container: a text of one line, not too long.
ZF_PRIVATE_API bool zf_name_valid(const char *name, size_t length);

#endif
