// The container (`.zfd`), inside: what the encoder gives to the writer, and what a reader's block looks like once it was
// checked. The bytes are in docs/format.md; numbering of params, edges, streams and trees is the graph's
// (patterns/graph/graph.h).
#ifndef ZF_RUNTIME_CONTAINER_H
#define ZF_RUNTIME_CONTAINER_H

#include "runtime/base/abi.h"
#include "runtime/base/error.h"
#include "runtime/base/private.h"
#include "runtime/base/text.h"

// ---- Shapes: the structure of a column under one vector of branches, so that the runtime can check and show a block without
// ---- the compiler. Written once per vector that occurs.

typedef struct zf_shape_param {
    const char *path; ///< "counts.width"
    zf_element type;
} zf_shape_param;

typedef struct zf_shape_edge {
    const char *path;      ///< "" for the column, "counts.packed"
    const char *algorithm; ///< of its producer, "bitpack<u32, u32>"; "" when stored
    zf_element type;
    bool nullable;
    int32_t stored; ///< number of the stored stream, or -1
} zf_shape_edge;

typedef struct zf_shape_field {
    const char *name; ///< "group", "offset", "scan 0", after the node's path
    uint32_t bytes;   ///< widest entry
    uint32_t edge;    ///< of a directory: the stream whose chunks begin there; of an uneven one's first field: the tree's edge
} zf_shape_field;

typedef struct zf_shape_tree {
    uint32_t edge;
    uint32_t field_count;
    const zf_shape_field *fields;
    uint32_t interval; ///< A, when read from a file; a writer takes it from the shape's first block. Or the outputs of a chunk
    /// NONE: it has seek states. An uneven one is of chunks of 1 to `interval` outputs. Its fields: the output with
    /// which a chunk begins; then for each stream the element with which its part begins, and the elements of the part.
    zf_abi_directory directory;
} zf_shape_tree;

typedef struct zf_shape {
    const uint8_t *branches;
    uint32_t branch_count, param_count, edge_count, stored_count, tree_count;
    const zf_shape_param *params;
    const zf_shape_edge *edges;
    const zf_shape_tree *trees;
} zf_shape;

/// The interval of its seek states; 0 where it has none, or no block has the shape.
ZF_PRIVATE_API uint32_t zf_shape_interval(const zf_shape *shape);
/// Whether the shape is that of blocks that took these branches.
ZF_PRIVATE_API bool zf_shape_has_branches(const zf_shape *shape, const uint8_t *branches, size_t count);
/// Whether branches are a vector of a codec of so many choices, of which `alternatives` says how many each one has.
ZF_PRIVATE_API bool zf_branches_exist(const uint8_t *branches, size_t count, const uint8_t *alternatives, size_t choice_count);
/// Whether two shapes have the same branches, params, edges and trees (names of algorithms and intervals of seek states aside;
/// the size of chunks is the codec's). A source of code must demand it of a file's shape and its own: element types and numbers
/// of streams in code come from its own.
ZF_PRIVATE_API bool zf_shape_matches(const zf_shape *a, const zf_shape *b);
/// Whether two shapes are alike in all that a codec and its branches decide: params, edges and chunk directories. Their seek
/// states may differ, because an encoder chooses which stages have some.
ZF_PRIVATE_API bool zf_shape_same_codec(const zf_shape *a, const zf_shape *b);

/// The message for a column with a vector that does not exist.
#define ZF_NO_SUCH_BRANCHES "the index says that blocks of column `%s` took alternatives that its codec does not have"

// ---- Writing --------------------------------------------------------------------------------------------------

typedef struct zf_stream_data {
    const void *data;
    uint64_t bytes; ///< (elements * bits + 7) / 8
    uint64_t elements;
} zf_stream_data;

typedef struct zf_seek_data {
    uint32_t interval;      ///< A, or the outputs of a chunk
    uint64_t entries;       ///< tiles (chunks) - 1, or 0; of an uneven directory chunks. States may be left out, a directory not
    const uint64_t *values; ///< entry e of field f at [f * entries + e]
    uint64_t most_groups;   ///< that any tile touches; 0 when it has no groups
} zf_seek_data;

typedef struct zf_block_data {
    uint64_t rows;
    uint64_t plain_bytes;
    uint32_t shape;         ///< number of its shape, as zf_writer_shape gave it
    const uint64_t *params; ///< shape's param_count
    const uint64_t *counts; ///< elements per edge
    const zf_stream_data *streams;
    const zf_seek_data *seeks; ///< per tree
    unsigned version;          ///< of the format; 0: the newest
    uint64_t first_row;        ///< of the column; from version 2 on
    const zf_zone *zones;      ///< zf_zones_of(rows), where the column has zones
} zf_block_data;

typedef struct zf_writer zf_writer;

typedef struct zf_writer_column {
    const char *name;
    zf_column_type type;
    const char *type_name, *codec;
    uint64_t rows_per_block; ///< of every block but the last; 0: any number, from version 2 on
    const char *full_name;   ///< NULL: `name`. Another from version 2 on
    bool zoned;              ///< its blocks have zones; from version 2 on
    zf_list_part part;       ///< of a column of lists, whose parts follow each other in the order of zf_list_part; version 2 on.
                             ///< `name` of the validity and of the values is for errors alone: the file has none
} zf_writer_column;

enum { ZF_PROGRAM_IDENTITY_BYTES = 32 };

/// A statement of an index about an algorithm, function or constant of its unit.
typedef struct zf_stated_program {
    const char *name;
    uint8_t identity[ZF_PROGRAM_IDENTITY_BYTES];
} zf_stated_program;

typedef struct zf_writer_table {
    const char *name, *unit; ///< `unit`: the canonical text of the table
    const zf_writer_column *columns;
    size_t column_count;
    unsigned version;   ///< of the format; 0: the newest
    const void *schema; ///< NULL: none. It and metadata from version 2 on
    size_t schema_bytes;
    const zf_metadata *metadata;
    size_t metadata_count;
    const zf_stated_program *programs; ///< all that the unit declares, in its order; NULL: not stated. From version 2 on
    uint32_t program_count;
} zf_writer_table;

/// Starts a file under a temporary name in the directory of `path`. Copies all that `table` has.
ZF_PRIVATE_API zf_status zf_writer_create(const char *path, bool overwrite, const zf_writer_table *table, zf_writer **out,
                                          zf_error *error);
/// The number of a shape for a column; an equal one (same branches) is kept once. Thread-safe.
ZF_PRIVATE_API zf_status zf_writer_shape(zf_writer *writer, size_t column, const zf_shape *shape, uint32_t *number,
                                         zf_error *error);
/// Lays out a block exactly as it will stand in the file, in memory that the caller frees: for verification and for writing.
ZF_PRIVATE_API zf_status zf_block_layout(const zf_shape *shape, const zf_block_data *block, void **bytes, uint64_t *size,
                                         zf_error *error);
/// Writes a laid-out block. Blocks of one column must come in order; columns may interleave. Thread-safe. Reads only rows,
/// plain_bytes and zones of `block`, and copies the zones: the rest is in the bytes. Where blocks are even, one with fewer rows
/// is the column's last.
ZF_PRIVATE_API zf_status zf_writer_block(zf_writer *writer, size_t column, uint32_t shape, const void *bytes, uint64_t size,
                                         const zf_block_data *block, zf_error *error);
/// Changes the rows per block of a column: before its first block, or to 0, from where on its blocks are uneven. Version 1 has no
/// such blocks. No block may be written meanwhile.
ZF_PRIVATE_API void zf_writer_rows_per_block(zf_writer *writer, size_t column, uint64_t rows);
/// Writes the index, syncs, renames. Each column must have `rows` rows, but for values of lists. On any failure the temporary
/// file is gone.
ZF_PRIVATE_API zf_status zf_writer_finish(zf_writer *writer, uint64_t rows, zf_error *error);
/// Removes the temporary file if it was not finished, and frees.
ZF_PRIVATE_API void zf_writer_free(zf_writer *writer);

// ---- Reading --------------------------------------------------------------------------------------------------

typedef struct zf_stream_view {
    uint64_t offset; ///< from the block's base
    uint64_t bytes, elements;
} zf_stream_view;

typedef struct zf_seek_view {
    uint32_t interval;
    uint64_t entries;
    uint64_t most_groups;
    const uint64_t *offsets; ///< per field, from the block's base
    const uint8_t *widths;   ///< per field
} zf_seek_view;

/// A block whose header was checked against its size and shape. Everything points into the container's memory or into memory
/// that `zf_block_view_free` releases.
typedef struct zf_block_view {
    const uint8_t *base;
    uint64_t bytes;
    uint64_t file_offset;
    uint64_t rows, first_row, plain_bytes;
    unsigned version; ///< of the format
    const zf_shape *shape;
    const uint64_t *params;
    const uint64_t *counts;
    zf_stream_view *streams;
    zf_seek_view *seeks;
    void *memory;
    void *owned;         ///< the block's bytes, where they were read for this view alone; NULL: `base` is somebody else's
    const char *refused; ///< of a block that broke a rule: the path of the stream, param or edge in question; NULL: of none
} zf_block_view;

/// Checks a block in memory (read, mapped, or just laid out). `place` names it in errors: "lines.zfd: column a, block 3".
ZF_PRIVATE_API zf_status zf_block_check(const zf_shape *shape, const void *bytes, uint64_t size, bool checksum, const char *place,
                                        zf_block_view *out, zf_error *error);
/// Checks the header of a block of `size` bytes, without the rest, which is not read. The view has no base.
zf_status zf_block_check_header(const zf_shape *shape, const void *header, uint64_t size, const char *place, zf_block_view *out,
                                zf_error *error);
ZF_PRIVATE_API void zf_block_view_free(zf_block_view *view);

/// Returns the container's number among those of its context. It is never used again, unlike the container's address.
ZF_PRIVATE_API uint64_t zf_container_serial(const zf_container *container);

/// Returns the bytes of blocks that decodes and checks have read since the container was opened, each time that they read them;
/// where it has its bytes in memory, those that they used. Pipelines and moves to devices count their own. Any thread.
ZF_PRIVATE_API uint64_t zf_container_fetched(const zf_container *container);

/// Block `block` of a column, checked.
ZF_PRIVATE_API zf_status zf_container_block(zf_container *container, size_t column, uint64_t block, bool checksum,
                                            zf_block_view *out, zf_error *error);
/// The same for a block, which exists, whose bytes are at `stored`; NULL: where the container has them, or reads them.
zf_status zf_container_block_at(zf_container *container, size_t column, uint64_t block, const uint8_t *stored, bool checksum,
                                zf_block_view *out, zf_error *error);
/// The header of a block, which exists. Reads no stream, seek state or checksum; the view has no base.
ZF_PRIVATE_API zf_status zf_container_block_header(zf_container *container, size_t column, uint64_t block, zf_block_view *out,
                                                   zf_error *error);
/// The canonical unit that the file carries.
ZF_PRIVATE_API const char *zf_container_unit(const zf_container *container, size_t *length);

/// Whether only programs of the library are admitted (zf_open_options.programs).
ZF_PRIVATE_API bool zf_container_known_only(const zf_container *container);
/// Returns what the index states about the programs of the unit, and their number; NULL: nothing. It may be a lie.
ZF_PRIVATE_API const zf_stated_program *zf_container_stated(const zf_container *container, uint32_t *count);

/// By what a unit is known: modules are for columns of one text, all of it.
typedef struct zf_unit_identity {
    uint64_t bytes, hash[2]; ///< XXH3-128, low word first
} zf_unit_identity;
ZF_PRIVATE_API zf_unit_identity zf_unit_identify(const char *unit, size_t length);
/// Returns the identity of the unit that the file carries.
ZF_PRIVATE_API zf_unit_identity zf_container_unit_identity(const zf_container *container);
/// Number of shapes of a column, and one of them.
ZF_PRIVATE_API size_t zf_container_shapes(const zf_container *container, size_t column);
ZF_PRIVATE_API const zf_shape *zf_container_shape(const zf_container *container, size_t column, size_t index);
/// The first block of a column that has that shape, one of the column's, and rows. False: there is none. Reads no block.
ZF_PRIVATE_API bool zf_container_first_block(const zf_container *container, size_t column, const zf_shape *shape, uint64_t *out);
/// The shape of a column's blocks under these branches, or NULL: there is one for each vector that occurs.
ZF_PRIVATE_API const zf_shape *zf_container_shape_for(const zf_container *container, size_t column, const uint8_t *branches,
                                                      size_t branch_count);
/// Whether two columns have the same type, all of it.
ZF_PRIVATE_API bool zf_column_type_same(zf_column_type a, zf_column_type b);

/// Accounts for every byte of the file: calls `part` for each in order of offset. For `zfc inspect`.
typedef struct zf_container_part {
    uint64_t offset, bytes;
    const char *kind;      ///< "header", "block header", "stream", "seek", "padding", "index", "text", "footer", ...
    int64_t column, block; ///< or -1
    const char *name;      ///< of the stream or field; ""
} zf_container_part;
ZF_PRIVATE_API zf_status zf_container_account(zf_container *container, void (*part)(void *user, const zf_container_part *part),
                                              void *user, zf_error *error);

// ---- Running a block on the CPU -------------------------------------------------------------------------------

/// Runs a plan's kernels on one block: fills the descriptor, runs the hoisted checks, then every kernel (in mode RECORD with
/// `records`, one array per tree as zf_abi_args.record describes). `rows` begin..end of the block go to `out` (element begin at
/// out[0]; for bool bit 0). `work` has zf_block_work_bytes bytes, aligned to 64. `where` goes before violations.
typedef struct zf_block_run {
    const zf_abi_plan *plan;
    const zf_abi_code *code;
    const zf_block_view *view;
    zf_element element;
    bool nullable;
    void *out;
    uint8_t *validity;     ///< nullable: row `begin` is bit `validity_bit` of this byte
    unsigned validity_bit; ///< 0 .. 7. Fast where it is begin % 8
    /// Strings: `out` is the place of the block's first byte, which may lie outside of it all; only the bytes from byte_begin to
    /// byte_end have one, and those of whole tiles are written. Row `begin` + k ends at offsets[k + 1]; offsets[0] is written
    /// only where it is not where a tile begins. An offset is the byte's place in the block and offset_base (modulo 2^64).
    int64_t *offsets;
    uint64_t offset_base, byte_begin, byte_end;
    uint64_t begin, end;
    void *work;
    uint32_t mode;
    uint64_t *const *records;
    const char *where;
    const char *file;  ///< what the text is called that a container carries, where a check stands in it; NULL: the codec
    uint64_t launches; ///< counted up
    unsigned threads;  ///< for tiles of one kernel; 0 and 1: the caller's alone. RECORD always uses one
    bool (*cancelled)(void *user); ///< asked before each kernel and between its tiles; NULL: never
    void *cancelled_user;
} zf_block_run;
ZF_PRIVATE_API zf_status zf_block_work_bytes(const zf_abi_plan *plan, const zf_block_view *view, uint64_t *bytes,
                                             zf_error *error);
ZF_PRIVATE_API zf_status zf_block_run_cpu(zf_block_run *run, zf_error *error);

#endif
