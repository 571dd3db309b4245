// Writing a container: blocks as they come, then the index and the footer, then the name.
#include <pthread.h>
#include <stdlib.h>
#include <xxhash.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/output_file.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_index.h"
#include "runtime/container/element.h"

typedef unsigned long long ull;

/// The room that a column has left.
typedef struct column_room {
    uint32_t shapes;
    uint64_t blocks;
} column_room;

struct zf_writer {
    zf_output_file *file;
    zf_arena *arena;      ///< shapes and texts of the index
    pthread_mutex_t lock; ///< guards everything below
    zf_index index;
    column_room *room;
    uint64_t end; ///< where the next block goes
    bool failed;  ///< a write failed: the file will not be finished
    bool finished;
};

// ---- Start ----------------------------------------------------------------------------------------------------

static bool text_valid(const char *text) {
    size_t length = strlen(text);
    return length <= ZF_TEXT_MOST && zf_text_fault(text, length) == NULL;
}

/// Whether a column is one that a reader names after the lists that it belongs to.
static bool is_part(const zf_writer_column *column) { return column->part == ZF_LIST_VALIDITY || column->part == ZF_LIST_VALUES; }

/// No two columns may have one name. Sorted, because there may be 2^20. `full`: full names; else identifiers.
static zf_status check_names(const zf_writer_column *columns, size_t count, bool full, zf_error *error) {
    const char **names = malloc(count * sizeof *names);
    if (names == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the names of columns");
    size_t named = 0;
    for (size_t c = 0; c < count; c++)
        if (!is_part(&columns[c])) names[named++] = full && columns[c].full_name != NULL ? columns[c].full_name : columns[c].name;
    const char *twice = zf_twice(names, named);
    free(names);
    return twice == NULL ? ZF_OK : zf_raise(error, ZF_E_WRITER_INPUT, "two columns are called %.128s", twice);
}

/// Whether a column has a name besides its identifier.
static bool has_full_name(const zf_writer_column *column) {
    return !is_part(column) && column->full_name != NULL && strcmp(column->full_name, column->name) != 0;
}

/// Returns the first thing for which version 1 has no place, or NULL.
static const char *newer_of(const zf_writer_table *table) {
    for (size_t c = 0; c < table->column_count; c++) {
        if (has_full_name(&table->columns[c])) return "names of columns that are not their identifiers";
        if (table->columns[c].rows_per_block == 0) return "blocks of any number of rows";
        if (table->columns[c].zoned) return "zones";
        if (table->columns[c].part != ZF_LIST_NONE) return "columns of lists";
    }
    if (table->schema != NULL) return "a schema";
    if (table->programs != NULL) return "identities of programs";
    return table->metadata_count > 0 ? "metadata" : NULL;
}

static zf_status check_table(const zf_writer_table *table, zf_error *error) {
    const char *fault = table->version == 1 ? newer_of(table) : NULL;
    if (table->version != 0 && (table->version < ZF_FORMAT_OLDEST || table->version > ZF_FORMAT_VERSION))
        return zf_raise(error, ZF_E_WRITER_INPUT, "this build does not write version %u", table->version);
    if (fault != NULL) return zf_raise(error, ZF_E_WRITER_INPUT, "version 1 of the format has no place for %s", fault);
    if (table->schema != NULL) fault = zf_schema_fault(table->schema, table->schema_bytes);
    if (fault == NULL) fault = zf_metadata_fault(table->metadata, table->metadata_count);
    return fault == NULL ? ZF_OK : zf_raise(error, ZF_E_WRITER_INPUT, "a table with %s", fault);
}

static zf_status check_column(const zf_writer_column *column, zf_error *error) {
    const char *fault = zf_column_type_fault(column->type);
    if (!is_part(column) && !zf_identifier_valid(column->name, strlen(column->name))) {
        return zf_raise(error, ZF_E_WRITER_INPUT, "a column whose name is not an identifier of at most %d bytes",
                        ZF_IDENTIFIER_MOST);
    }
    if (fault != NULL) return zf_raise(error, ZF_E_WRITER_INPUT, "column %.128s has %s", column->name, fault);
    if (!zf_name_valid(column->type_name, strlen(column->type_name)) || !text_valid(column->codec)) {
        return zf_raise(error, ZF_E_WRITER_INPUT, "column %.128s has a type or codec that is too long or no text", column->name);
    }
    if (has_full_name(column) && (column->full_name[0] == 0 || !zf_name_valid(column->full_name, strlen(column->full_name)))) {
        return zf_raise(error, ZF_E_WRITER_INPUT, "column %.128s has a name that is empty, too long or no text of one line",
                        column->name);
    }
    if (column->rows_per_block % ZF_ROWS_MULTIPLE != 0 || column->rows_per_block > ZF_ROWS_PER_BLOCK_MOST) {
        return zf_raise(error, ZF_E_WRITER_INPUT, "column %.128s cannot have %llu rows per block: a multiple of %d, at most 2^31",
                        column->name, (ull)column->rows_per_block, ZF_ROWS_MULTIPLE);
    }
    return ZF_OK;
}

/// Checks that the parts of columns of lists follow each other.
static zf_status check_parts(const zf_writer_table *table, zf_error *error) {
    zf_list_part before = ZF_LIST_NONE;
    for (size_t c = 0; c <= table->column_count; c++) {
        bool end = c == table->column_count;
        const zf_writer_column *column = &table->columns[end ? c - 1 : c];
        const char *fault = zf_list_part_fault(before, column->part, column->type, end);
        if (fault != NULL) return zf_raise(error, ZF_E_WRITER_INPUT, "column %.128s: %s", column->name, fault);
        before = column->part;
    }
    return ZF_OK;
}

static zf_status check_columns(const zf_writer_table *table, zf_error *error) {
    size_t count = table->column_count;
    if (count == 0 || count > ZF_COLUMNS_MOST) {
        return zf_raise(error, ZF_E_WRITER_INPUT, "a container cannot have %zu columns", count);
    }
    if (!zf_identifier_valid(table->name, strlen(table->name))) {
        return zf_raise(error, ZF_E_WRITER_INPUT, "a table whose name is not an identifier of at most %d bytes",
                        ZF_IDENTIFIER_MOST);
    }
    if (!text_valid(table->unit)) return zf_raise(error, ZF_E_WRITER_INPUT, "a table whose codecs are too long or no text");
    for (size_t c = 0; c < count; c++) ZF_TRY(check_column(&table->columns[c], error));
    ZF_TRY(check_parts(table, error));
    ZF_TRY(check_table(table, error));
    ZF_TRY(check_names(table->columns, count, false, error));
    for (size_t c = 0; c < count; c++)
        if (has_full_name(&table->columns[c])) return check_names(table->columns, count, true, error);
    return ZF_OK;
}

static const char *copy_text(zf_arena *arena, const char *text) { return zf_arena_copy(arena, text, strlen(text)); }

static void set(uint64_t *features, unsigned bit) { *features |= UINT64_C(1) << bit; }

static bool copy_columns(zf_writer *writer, const zf_writer_table *table) {
    const zf_writer_column *columns = table->columns;
    size_t count = table->column_count, lists = 0;
    writer->index.columns = ZF_NEW_ARRAY(writer->arena, zf_index_column, count);
    writer->room = ZF_NEW_ARRAY(writer->arena, column_room, count);
    if (writer->index.columns == NULL || writer->room == NULL) return false;
    writer->index.column_count = (uint32_t)count;
    for (size_t c = 0; c < count; c++) {
        zf_index_column *column = &writer->index.columns[c];
        column->part = columns[c].part;
        if (column->part == ZF_LIST_ENDS) lists = c;
        if (column->part != ZF_LIST_NONE) set(&writer->index.required, ZF_REQUIRED_LISTS);
        column->name = is_part(&columns[c]) ? zf_list_part_name(writer->arena, columns[lists].name, column->part)
                                            : copy_text(writer->arena, columns[c].name);
        column->type_name = copy_text(writer->arena, columns[c].type_name);
        column->codec = copy_text(writer->arena, columns[c].codec);
        column->type = columns[c].type;
        column->rows_per_block = columns[c].rows_per_block;
        column->full_name = has_full_name(&columns[c]) ? copy_text(writer->arena, columns[c].full_name) : column->name;
        column->shown = column->full_name;
        if (has_full_name(&columns[c])) set(&writer->index.optional, ZF_OPTIONAL_NAMES);
        if (column->rows_per_block == 0) set(&writer->index.required, ZF_REQUIRED_UNEVEN_BLOCKS);
        column->zoned = columns[c].zoned;
        if (column->zoned) set(&writer->index.optional, ZF_OPTIONAL_ZONES);
        if (column->name == NULL || column->full_name == NULL || column->type_name == NULL || column->codec == NULL) return false;
    }
    return true;
}

static bool copy_metadata(zf_writer *writer, const zf_writer_table *table) {
    zf_index *index = &writer->index;
    if (table->schema != NULL) {
        set(&index->optional, ZF_OPTIONAL_SCHEMA);
        index->schema = zf_arena_copy(writer->arena, table->schema, table->schema_bytes);
        index->schema_bytes = table->schema_bytes;
        if (index->schema == NULL) return false;
    }
    if (table->metadata_count == 0) return true;
    set(&index->optional, ZF_OPTIONAL_METADATA);
    zf_metadata *metadata = ZF_NEW_ARRAY(writer->arena, zf_metadata, table->metadata_count);
    for (size_t k = 0; metadata != NULL && k < table->metadata_count; k++) {
        const zf_metadata *from = &table->metadata[k];
        metadata[k] = (zf_metadata){copy_text(writer->arena, from->key), zf_arena_copy(writer->arena, from->value, from->bytes),
                                    from->bytes};
        if (metadata[k].key == NULL || metadata[k].value == NULL) return false;
    }
    index->metadata = metadata;
    index->metadata_count = table->metadata_count;
    return metadata != NULL;
}

static bool copy_programs(zf_writer *writer, const zf_writer_table *table) {
    zf_index *index = &writer->index;
    if (table->programs == NULL) return true;
    set(&index->optional, ZF_OPTIONAL_PROGRAMS);
    zf_stated_program *programs = ZF_NEW_ARRAY(writer->arena, zf_stated_program, (size_t)table->program_count + 1);
    for (uint32_t k = 0; programs != NULL && k < table->program_count; k++) {
        programs[k] = table->programs[k];
        programs[k].name = copy_text(writer->arena, table->programs[k].name);
        if (programs[k].name == NULL) return false;
    }
    index->programs = programs;
    index->program_count = table->program_count;
    return programs != NULL;
}

static zf_status write_header(zf_writer *writer, zf_error *error) {
    uint8_t header[ZF_FORMAT_HEADER_BYTES] = {0};
    memcpy(header, ZF_FORMAT_MAGIC, 8);
    zf_store32(header + 8, writer->index.version);
    writer->end = sizeof header;
    return zf_output_write(writer->file, 0, header, sizeof header, error);
}

zf_status zf_writer_create(const char *path, bool overwrite, const zf_writer_table *table, zf_writer **out, zf_error *error) {
    *out = NULL;
    zf_status given = check_columns(table, error);
    if (given != ZF_OK) return zf_fail_place(error, given, "%s", path);
    zf_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container");
    pthread_mutex_init(&writer->lock, NULL);
    writer->arena = zf_arena_create();
    zf_status status = ZF_OK;
    if (writer->arena != NULL) {
        writer->index.version = table->version != 0 ? table->version : ZF_FORMAT_VERSION;
        writer->index.table = copy_text(writer->arena, table->name);
        writer->index.unit = copy_text(writer->arena, table->unit);
        writer->index.unit_length = strlen(table->unit);
    }
    if (writer->arena == NULL || writer->index.table == NULL || writer->index.unit == NULL || !copy_columns(writer, table) ||
        !copy_metadata(writer, table) || !copy_programs(writer, table)) {
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container");
    }
    if (status == ZF_OK) status = zf_output_create(path, (zf_output_options){.overwrite = overwrite}, &writer->file, error);
    if (status == ZF_OK) status = write_header(writer, error);
    if (status != ZF_OK) {
        zf_writer_free(writer);
        return status;
    }
    *out = writer;
    return ZF_OK;
}

// ---- Shapes ---------------------------------------------------------------------------------------------------

/// A deep copy in the arena. False when there is no memory.
static bool copy_shape(zf_arena *arena, const zf_shape *from, zf_index_shape *out) {
    uint8_t *branches = zf_arena_alloc(arena, (size_t)from->branch_count + 1);
    zf_shape_param *params = ZF_NEW_ARRAY(arena, zf_shape_param, (size_t)from->param_count + 1);
    zf_shape_edge *edges = ZF_NEW_ARRAY(arena, zf_shape_edge, from->edge_count);
    zf_shape_tree *trees = ZF_NEW_ARRAY(arena, zf_shape_tree, (size_t)from->tree_count + 1);
    out->most = ZF_NEW_ARRAY(arena, uint64_t, from->edge_count);
    if (branches == NULL || params == NULL || edges == NULL || trees == NULL || out->most == NULL) return false;
    if (from->branch_count > 0) memcpy(branches, from->branches, from->branch_count);
    for (uint32_t p = 0; p < from->param_count; p++) {
        params[p] = (zf_shape_param){copy_text(arena, from->params[p].path), from->params[p].type};
        if (params[p].path == NULL) return false;
    }
    for (uint32_t e = 0; e < from->edge_count; e++) {
        edges[e] = from->edges[e];
        edges[e].path = copy_text(arena, from->edges[e].path);
        edges[e].algorithm = copy_text(arena, from->edges[e].algorithm);
        if (edges[e].path == NULL || edges[e].algorithm == NULL) return false;
    }
    for (uint32_t t = 0; t < from->tree_count; t++) {
        zf_shape_field *fields = ZF_NEW_ARRAY(arena, zf_shape_field, (size_t)from->trees[t].field_count + 1);
        if (fields == NULL) return false;
        for (uint32_t f = 0; f < from->trees[t].field_count; f++) {
            fields[f] = from->trees[t].fields[f];
            fields[f].name = copy_text(arena, fields[f].name);
            if (fields[f].name == NULL) return false;
        }
        trees[t] = from->trees[t];
        trees[t].fields = fields;
        trees[t].interval = 0; // its first block says
    }
    out->shape = *from;
    out->shape.branches = branches;
    out->shape.params = params;
    out->shape.edges = edges;
    out->shape.trees = trees;
    return true;
}

/// Makes room for one more entry of an array in the arena. False when there is no memory.
static bool grow(zf_arena *arena, void **array, size_t element, uint64_t count, uint64_t *room) {
    if (count < *room) return true;
    uint64_t more = *room == 0 ? 8 : *room * 2;
    void *bigger = zf_arena_alloc(arena, element * more);
    if (bigger == NULL) return false;
    if (count > 0) memcpy(bigger, *array, element * count);
    *array = bigger;
    *room = more;
    return true;
}

static zf_status add_shape(zf_writer *writer, size_t column, const zf_shape *shape, uint32_t *number, zf_error *error) {
    zf_index_column *entry = &writer->index.columns[column];
    for (uint32_t s = 0; s < entry->shape_count; s++) {
        const zf_shape *known = &entry->shapes[s].shape;
        if (!zf_shape_has_branches(known, shape->branches, shape->branch_count)) continue;
        *number = s;
        if (zf_shape_matches(known, shape)) return ZF_OK;
        return zf_raise(error, ZF_E_INTERNAL, "two shapes of column %.128s for the same branches", entry->name);
    }
    if (zf_block_features(shape) != 0) {
        if (writer->index.version < 2)
            return zf_raise(error, ZF_E_INTERNAL, "column %.128s has uneven chunks, which version 1 lacks", entry->name);
        set(&writer->index.required, ZF_REQUIRED_UNEVEN_CHUNKS);
    }
    void *shapes = entry->shapes;
    uint64_t room = writer->room[column].shapes;
    bool memory = grow(writer->arena, &shapes, sizeof *entry->shapes, entry->shape_count, &room);
    entry->shapes = shapes;
    writer->room[column].shapes = (uint32_t)room;
    if (!memory || !copy_shape(writer->arena, shape, &entry->shapes[entry->shape_count])) {
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a shape");
    }
    *number = entry->shape_count++;
    return ZF_OK;
}

/// Returns a name of a shape that an index has no place for, or NULL.
static const char *name_too_long(const zf_shape *shape) {
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        if (strlen(shape->edges[e].algorithm) > ZF_NAME_MOST) return shape->edges[e].algorithm;
        if (strlen(shape->edges[e].path) > ZF_NAME_MOST) return shape->edges[e].path;
    }
    for (uint32_t p = 0; p < shape->param_count; p++) {
        if (strlen(shape->params[p].path) > ZF_NAME_MOST) return shape->params[p].path;
    }
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_shape_tree *tree = &shape->trees[t];
        for (uint32_t f = 0; f < tree->field_count; f++)
            if (strlen(tree->fields[f].name) > ZF_NAME_MOST) return tree->fields[f].name;
    }
    return NULL;
}

zf_status zf_writer_shape(zf_writer *writer, size_t column, const zf_shape *shape, uint32_t *number, zf_error *error) {
    const char *fault = zf_shape_fault(shape);
    if (column >= writer->index.column_count) return zf_raise(error, ZF_E_INTERNAL, "a shape for column %zu", column);
    const zf_index_column *entry = &writer->index.columns[column];
    if (fault != NULL) return zf_raise(error, ZF_E_INTERNAL, "column %.128s has a shape with %s", entry->name, fault);
    if (shape->edges[0].type != entry->type.element || shape->edges[0].nullable != entry->type.nullable) {
        return zf_raise(error, ZF_E_INTERNAL, "column %.128s has a shape of another type", entry->name);
    }
    const char *too_long = name_too_long(shape);
    if (too_long != NULL) {
        return zf_raise(error, ZF_E_WRITER_INPUT,
                        "column %.128s has an algorithm, stream or seek field whose name has more than %d bytes: %.64s...",
                        entry->name, ZF_NAME_MOST, too_long);
    }
    pthread_mutex_lock(&writer->lock);
    zf_status status = add_shape(writer, column, shape, number, error);
    pthread_mutex_unlock(&writer->lock);
    return status;
}

// ---- Blocks ---------------------------------------------------------------------------------------------------

/// Whether a column can have one more block of so many rows: where blocks are even, only the last is short.
static bool rows_follow(const zf_index_column *column, uint64_t rows) {
    uint64_t even = column->rows_per_block, before = zf_index_first_row(column, column->block_count), sum;
    if (rows == 0 || rows > (even != 0 ? even : ZF_ROWS_PER_BLOCK_MOST) || __builtin_add_overflow(before, rows, &sum))
        return false;
    return even == 0 || column->block_count == 0 || column->blocks[column->block_count - 1].rows == even;
}

/// Enters a block in the index and finds its place in the file. Under the lock.
static zf_status enter_block(zf_writer *writer, size_t column, uint32_t shape, const uint8_t *bytes, uint64_t size,
                             const zf_block_data *block, uint64_t *offset, zf_error *error) {
    zf_index_column *entry = &writer->index.columns[column];
    if (writer->failed || writer->finished) {
        return zf_raise(error, ZF_E_WRITER_STOPPED, "the container cannot be written after an earlier failure");
    }
    uint64_t rows = block->rows, first = zf_index_first_row(entry, entry->block_count);
    if (shape >= entry->shape_count || !rows_follow(entry, rows) || zf_load64(bytes + 24) != rows ||
        zf_load32(bytes + 12) != shape || zf_load64(bytes + 32) != block->plain_bytes) {
        return zf_raise(error, ZF_E_INTERNAL, "block %llu of column %.128s is not the next one: %llu rows, shape %u",
                        (ull)entry->block_count, entry->name, (ull)block->rows, shape);
    }
    zf_index_shape *known = &entry->shapes[shape];
    unsigned version = writer->index.version;
    uint64_t header = zf_block_header_bytes(&known->shape, version);
    if (size < header || zf_load32(bytes + 60) != (version >= 2 ? version : 0) ||
        (version >= 2 && zf_load64(bytes + header - ZF_BLOCK_END_BYTES + 16) != first)) {
        return zf_raise(error, ZF_E_INTERNAL, "a block of %llu bytes for column %.128s is not one of version %u from row %llu on",
                        (ull)size, entry->name, version, (ull)first);
    }
    // Counts and intervals as they were laid out: the bytes are what a reader will see.
    const uint8_t *counts = bytes + ZF_BLOCK_FIXED_BYTES + UINT64_C(8) * known->shape.param_count;
    const uint8_t *rows_of_trees =
        counts + UINT64_C(8) * known->shape.edge_count + (uint64_t)ZF_BLOCK_STREAM_BYTES * known->shape.stored_count;
    zf_shape_tree *trees = (zf_shape_tree *)known->shape.trees; // the writer's own copy
    for (uint32_t t = 0; t < known->shape.tree_count; t++) {
        zf_abi_directory directory;
        uint32_t interval = zf_tree_unpack(zf_load32(rows_of_trees + ZF_BLOCK_TREE_BYTES * (size_t)t), &directory);
        if (trees[t].interval == 0) trees[t].interval = interval;
        if (trees[t].interval != interval) {
            return zf_raise(error, ZF_E_INTERNAL, "column %.128s has seek points at two intervals", entry->name);
        }
    }
    const zf_zone *zones = NULL;
    uint64_t zone_count = zf_zones_of(rows);
    if (entry->zoned) {
        zf_zone *copy = ZF_NEW_ARRAY(writer->arena, zf_zone, zone_count);
        if (copy == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the index");
        memcpy(copy, block->zones, zone_count * sizeof *copy);
        zones = copy;
    }
    void *blocks = entry->blocks;
    bool memory = grow(writer->arena, &blocks, sizeof *entry->blocks, entry->block_count, &writer->room[column].blocks);
    entry->blocks = blocks;
    if (!memory) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the index");
    for (uint32_t e = 0; e < known->shape.edge_count; e++) {
        uint64_t count = zf_load64(counts + 8 * (size_t)e);
        if (count > known->most[e]) known->most[e] = count;
    }
    entry->blocks[entry->block_count++] = (zf_index_block){
        .offset = writer->end,
        .bytes = size,
        .rows = rows,
        .first_row = first,
        .plain_bytes = block->plain_bytes,
        .checksum = zf_load64(bytes),
        .shape = shape,
        .zones = zones,
    };
    *offset = writer->end;
    writer->end += size;
    return ZF_OK;
}

zf_status zf_writer_block(zf_writer *writer, size_t column, uint32_t shape, const void *bytes, uint64_t size,
                          const zf_block_data *block, zf_error *error) {
    if (column >= writer->index.column_count || size < ZF_BLOCK_FIXED_BYTES || size % ZF_FORMAT_ALIGNMENT != 0) {
        return zf_raise(error, ZF_E_INTERNAL, "a block of %llu bytes for column %zu", (ull)size, column);
    }
    uint64_t offset = 0;
    pthread_mutex_lock(&writer->lock);
    zf_status status = enter_block(writer, column, shape, bytes, size, block, &offset, error);
    pthread_mutex_unlock(&writer->lock);
    if (status != ZF_OK) return status;
    status = zf_output_write(writer->file, offset, bytes, size, error);
    if (status != ZF_OK) {
        pthread_mutex_lock(&writer->lock);
        writer->failed = true;
        pthread_mutex_unlock(&writer->lock);
    }
    return status;
}

void zf_writer_rows_per_block(zf_writer *writer, size_t column, uint64_t rows) {
    writer->index.columns[column].rows_per_block = rows;
    if (rows == 0) set(&writer->index.required, ZF_REQUIRED_UNEVEN_BLOCKS);
}

// ---- End ------------------------------------------------------------------------------------------------------

static zf_status write_end(zf_writer *writer, zf_error *error) {
    zf_text text = {0};
    zf_index_write(&writer->index, &text);
    if (text.failed) {
        zf_text_free(&text);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the index");
    }
    uint8_t footer[ZF_FORMAT_FOOTER_BYTES] = {0};
    zf_store64(footer, writer->end);
    zf_store64(footer + 8, text.length);
    zf_store64(footer + 16, XXH3_64bits(text.data, text.length));
    zf_store64(footer + 24, writer->end + text.length + sizeof footer);
    zf_store32(footer + 32, writer->index.version);
    zf_store64(footer + 48, XXH3_64bits(footer, 48));
    memcpy(footer + 56, ZF_FORMAT_END_MAGIC, 8);
    zf_status status = zf_output_write(writer->file, writer->end, text.data, text.length, error);
    if (status == ZF_OK) status = zf_output_write(writer->file, writer->end + text.length, footer, sizeof footer, error);
    zf_text_free(&text);
    return status;
}

zf_status zf_writer_finish(zf_writer *writer, uint64_t rows, zf_error *error) {
    zf_status status = ZF_OK;
    writer->index.rows = rows;
    if (writer->failed || writer->finished) {
        status = zf_raise(error, ZF_E_WRITER_STOPPED, "the container cannot be written after an earlier failure");
    }
    for (uint32_t c = 0; status == ZF_OK && c < writer->index.column_count; c++) {
        const zf_index_column *column = &writer->index.columns[c];
        uint64_t has = zf_index_first_row(column, column->block_count);
        if (has == rows || column->part == ZF_LIST_VALUES) continue;
        status = zf_raise(error, ZF_E_INTERNAL, "column %.128s has %llu rows in %llu blocks, not %llu", column->name, (ull)has,
                          (ull)column->block_count, (ull)rows);
    }
    if (status == ZF_OK) status = write_end(writer, error);
    if (status == ZF_OK) status = zf_output_commit(writer->file, error);
    writer->finished = true;
    zf_output_free(writer->file); // removes what was not committed
    writer->file = NULL;
    return status;
}

void zf_writer_free(zf_writer *writer) {
    if (writer == NULL) return;
    zf_output_free(writer->file);
    if (writer->arena != NULL) zf_arena_destroy(writer->arena);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
