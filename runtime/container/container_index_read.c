// Reading the index. Its bytes are input: every length is compared with what is left before anything is allocated or read,
// so that memory is bounded by a small multiple of the index's size.
#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_index.h"
#include "runtime/container/element.h"

typedef unsigned long long ull;

#define IDENTIFIER_FAULT "a table or column whose name is not an identifier"

/// Where reading stands. The first failure sticks: later reads give 0, and `left` is 0.
typedef struct reader {
    const uint8_t *bytes;
    uint64_t at, size;
    zf_arena *arena;
    const char *fault; ///< one phrase, or NULL
    uint64_t fault_at;
    bool no_memory;
    const char *unknown; ///< the name of a feature that this build does not know; NULL: none
} reader;

static void fail_at(reader *r, const char *fault, uint64_t at) {
    if (r->fault == NULL) {
        r->fault = fault;
        r->fault_at = at;
    }
    r->at = r->size;
}

static void fail_memory(reader *r) {
    r->no_memory = true;
    fail_at(r, "no memory", r->at);
}

static const uint8_t *take(reader *r, uint64_t count) {
    if (count > r->size - r->at) {
        fail_at(r, "it ends too early", r->at);
        return NULL;
    }
    const uint8_t *bytes = r->bytes + r->at;
    r->at += count;
    return bytes;
}

static uint8_t read8(reader *r) {
    const uint8_t *bytes = take(r, 1);
    return bytes != NULL ? *bytes : 0;
}

static uint32_t read32(reader *r) {
    const uint8_t *bytes = take(r, 4);
    return bytes != NULL ? zf_load32(bytes) : 0;
}

static uint64_t read64(reader *r) {
    const uint8_t *bytes = take(r, 8);
    return bytes != NULL ? zf_load64(bytes) : 0;
}

static const char *read_string(reader *r, uint32_t most, size_t *length) {
    uint64_t at = r->at;
    uint32_t size = read32(r);
    *length = 0;
    if (size > most) fail_at(r, "a text that is too long", at);
    const uint8_t *bytes = take(r, size);
    if (bytes == NULL || r->fault != NULL) return "";
    const char *fault = zf_text_fault((const char *)bytes, size);
    if (fault != NULL) {
        fail_at(r, fault, at);
        return "";
    }
    *length = size;
    if (size == 0) return "";
    const char *copy = zf_arena_copy(r->arena, (const char *)bytes, size);
    if (copy == NULL) fail_memory(r);
    return copy != NULL ? copy : "";
}

static const char *read_valid(reader *r, bool (*valid)(const char *text, size_t length), const char *fault) {
    uint64_t at = r->at;
    size_t length;
    const char *name = read_string(r, ZF_NAME_MOST, &length);
    if (!valid(name, length)) fail_at(r, fault, at);
    return name;
}

static const char *read_name(reader *r) { return read_valid(r, zf_name_valid, "a name with control characters"); }

/// The name of a table or column. It becomes part of paths.
static const char *read_identifier(reader *r) { return read_valid(r, zf_identifier_valid, IDENTIFIER_FAULT); }

static zf_element read_element(reader *r) {
    uint64_t at = r->at;
    uint8_t element = read8(r);
    if (element >= ZF_ELEMENT_COUNT) {
        fail_at(r, "an element type that does not exist", at);
        return ZF_U8;
    }
    return (zf_element)element;
}

static bool read_bool(reader *r) {
    uint64_t at = r->at;
    uint8_t value = read8(r);
    if (value > 1) fail_at(r, "a flag that is neither 0 nor 1", at);
    return value == 1;
}

/// An array of `count` entries, each of which takes at least `least` bytes of the index.
static void *new_array(reader *r, uint64_t count, uint64_t least, size_t element) {
    if (r->fault == NULL && count > (r->size - r->at) / least) fail_at(r, "more entries than it has bytes for", r->at);
    if (r->fault != NULL) return NULL;
    void *array = zf_arena_alloc(r->arena, (size_t)(count == 0 ? 1 : count) * element);
    if (array == NULL) fail_memory(r);
    return array;
}

const char *zf_column_type_fault(zf_column_type type) {
    static const zf_element carriers[] = {
        [ZF_LOGICAL_DATE32] = ZF_I32, [ZF_LOGICAL_TIMESTAMP] = ZF_I64, [ZF_LOGICAL_DECIMAL] = ZF_I64};
    if ((unsigned)type.element >= ZF_ELEMENT_COUNT) return "an element type that does not exist";
    if ((unsigned)type.logical > ZF_LOGICAL_DECIMAL) return "a logical type that does not exist";
    if (type.logical != ZF_LOGICAL_NONE && type.element != carriers[type.logical]) return "a logical type of another width";
    if (type.logical == ZF_LOGICAL_DECIMAL) {
        return type.precision == 0 || type.precision > 18 || type.scale > type.precision ? "an impossible decimal" : NULL;
    }
    return type.precision != 0 || type.scale != 0 ? "a precision though it is not a decimal" : NULL;
}

static void read_shape(reader *r, const zf_index *index, const zf_index_column *column, zf_index_shape *out) {
    uint64_t at = r->at;
    zf_shape *shape = &out->shape;
    shape->branch_count = read32(r);
    shape->param_count = read32(r);
    shape->edge_count = read32(r);
    shape->stored_count = read32(r);
    shape->tree_count = read32(r);
    const uint8_t *branches = take(r, shape->branch_count);
    if (branches != NULL) {
        shape->branches = (const uint8_t *)zf_arena_copy(r->arena, (const char *)branches, shape->branch_count);
        if (shape->branches == NULL) fail_memory(r);
    }
    zf_shape_param *params = new_array(r, shape->param_count, 5, sizeof *params);
    for (uint32_t p = 0; r->fault == NULL && p < shape->param_count; p++) {
        params[p].path = read_name(r);
        params[p].type = read_element(r);
    }
    zf_shape_edge *edges = new_array(r, shape->edge_count, 22, sizeof *edges);
    out->most = new_array(r, shape->edge_count, 22, sizeof *out->most);
    for (uint32_t e = 0; r->fault == NULL && e < shape->edge_count; e++) {
        edges[e].path = read_name(r);
        edges[e].algorithm = read_name(r);
        edges[e].type = read_element(r);
        edges[e].nullable = read_bool(r);
        edges[e].stored = (int32_t)read32(r);
        out->most[e] = read64(r);
        if (out->most[e] > ZF_EDGE_ELEMENTS_MOST) fail_at(r, "an edge of more than 2^32 elements", r->at);
    }
    zf_shape_tree *trees = new_array(r, shape->tree_count, 12, sizeof *trees);
    for (uint32_t t = 0; r->fault == NULL && t < shape->tree_count; t++) {
        trees[t].edge = read32(r);
        trees[t].interval = zf_tree_unpack(read32(r), &trees[t].directory);
        trees[t].field_count = read32(r);
        if (trees[t].interval != 0 && !zf_tree_interval_valid(trees[t].directory, trees[t].interval))
            fail_at(r, "an impossible seek interval", r->at);
        if (trees[t].directory == ZF_DIRECTORY_UNEVEN && !zf_index_has(index, true, ZF_REQUIRED_UNEVEN_CHUNKS))
            fail_at(r, "uneven chunks, but not the feature of this name", r->at);
        zf_shape_field *fields = new_array(r, trees[t].field_count, 5, sizeof *fields);
        for (uint32_t f = 0; r->fault == NULL && f < trees[t].field_count; f++) {
            fields[f].name = read_name(r);
            fields[f].bytes = read8(r);
            fields[f].edge = trees[t].directory ? read32(r) : 0;
        }
        trees[t].fields = fields;
    }
    if (r->fault != NULL) return;
    shape->params = params;
    shape->edges = edges;
    shape->trees = trees;
    const char *fault = zf_shape_fault(shape);
    if (fault != NULL) {
        fail_at(r, fault, at);
    } else if (edges[0].type != column->type.element || edges[0].nullable != column->type.nullable) {
        fail_at(r, "a shape of another type than its column", at);
    }
}

/// Values of lists have as many rows as their blocks, other columns those of the table.
static void read_blocks(reader *r, const zf_index *index, zf_index_column *column) {
    bool own = column->part == ZF_LIST_VALUES;
    uint64_t row = 0, rows = own ? UINT64_MAX : index->rows;
    column->blocks = new_array(r, column->block_count, ZF_INDEX_BLOCK_BYTES, sizeof *column->blocks);
    for (uint64_t b = 0; r->fault == NULL && b < column->block_count; b++) {
        uint64_t at = r->at;
        zf_index_block *block = &column->blocks[b];
        block->offset = read64(r);
        block->bytes = read64(r);
        block->rows = read64(r);
        block->plain_bytes = read64(r);
        block->checksum = read64(r);
        block->shape = read32(r);
        block->first_row = row;
        if (read32(r) != 0) fail_at(r, "a block with features that this build does not know", at);
        if (block->shape >= column->shape_count) {
            fail_at(r, "a block of a shape that does not exist", at);
            return;
        }
        uint64_t left = rows - row;
        uint64_t even = left < column->rows_per_block ? left : column->rows_per_block;
        bool last = own && b + 1 == column->block_count;
        bool fits = column->rows_per_block == 0 ? block->rows <= ZF_ROWS_PER_BLOCK_MOST
                    : last                      ? block->rows <= even
                                                : block->rows == even;
        if (block->rows == 0 || block->rows > left || !fits) {
            fail_at(r, "a block with another number of rows than its place needs", at);
        }
        const zf_index_shape *shape = &column->shapes[block->shape];
        if (!zf_text_bytes_fit(&shape->shape, shape->most, block->rows, block->plain_bytes))
            fail_at(r, "a block with more bytes than its strings can have", at);
        row += block->rows;
        // Sums cannot overflow silently: a sum that wraps is smaller than its part.
        column->plain_bytes += block->plain_bytes;
        column->block_bytes += block->bytes;
        if (column->plain_bytes < block->plain_bytes || column->block_bytes < block->bytes) {
            fail_at(r, "sizes that add up to more than 64 bits", at);
        }
    }
    if (r->fault == NULL && !own && row != rows) fail_at(r, "a column without all its rows", r->at);
    if (r->fault == NULL && own && row > 0 && index->rows == 0) fail_at(r, "values of lists in a table without rows", r->at);
    column->rows = row;
}

/// Whether a column is named after the lists that it belongs to.
static bool is_part(const zf_index_column *column) { return column->part == ZF_LIST_VALIDITY || column->part == ZF_LIST_VALUES; }

/// The name of a part of lists is made of that of the ends, and is not in the file.
static void name_part(reader *r, const char *lists, zf_index_column *column, uint64_t at) {
    if (column->name[0] != 0) fail_at(r, "a part of lists that has a name", at);
    column->name = column->full_name = zf_list_part_name(r->arena, lists, column->part);
    if (column->name == NULL) fail_memory(r);
}

/// `c`: the column's number; those before it were read.
static void read_column(reader *r, zf_index *index, uint32_t c) {
    uint64_t at = r->at;
    size_t length;
    bool lists = zf_index_has(index, true, ZF_REQUIRED_LISTS);
    zf_index_column *column = &index->columns[c];
    column->at = at;
    column->name = column->full_name = lists ? read_name(r) : read_identifier(r);
    column->type_name = read_name(r);
    column->codec = read_string(r, ZF_TEXT_MOST, &length);
    column->type.element = read_element(r);
    column->type.logical = (zf_logical)read8(r);
    column->type.precision = read8(r);
    column->type.scale = read8(r);
    column->type.nullable = read_bool(r);
    const char *fault = zf_column_type_fault(column->type);
    if (fault != NULL) fail_at(r, fault, at);
    uint8_t part = read8(r);
    if (read8(r) != 0 || read8(r) != 0 || (part != 0 && !lists))
        fail_at(r, "a column with features that this build does not know", at);
    column->part = (zf_list_part)part;
    fault = zf_list_part_fault(c > 0 ? column[-1].part : ZF_LIST_NONE, column->part, column->type, false);
    if (fault != NULL) fail_at(r, fault, at);
    if (r->fault == NULL && is_part(column))
        name_part(r, column->part == ZF_LIST_VALUES && column[-1].part == ZF_LIST_VALIDITY ? column[-2].name : column[-1].name,
                  column, at);
    else if (!zf_identifier_valid(column->name, strlen(column->name)))
        fail_at(r, IDENTIFIER_FAULT, at);
    column->rows_per_block = read64(r);
    column->block_count = read64(r);
    column->shape_count = read32(r);
    if (read32(r) != 0) fail_at(r, "a column with features that this build does not know", at);
    bool uneven = column->rows_per_block == 0 && zf_index_has(index, true, ZF_REQUIRED_UNEVEN_BLOCKS);
    if (!uneven && (column->rows_per_block == 0 || column->rows_per_block % ZF_ROWS_MULTIPLE != 0 ||
                    column->rows_per_block > ZF_ROWS_PER_BLOCK_MOST)) {
        fail_at(r, "an impossible number of rows per block", at);
    }
    column->shapes = new_array(r, column->shape_count, 20, sizeof *column->shapes);
    for (uint32_t s = 0; r->fault == NULL && s < column->shape_count; s++) read_shape(r, index, column, &column->shapes[s]);
    column->at_blocks = r->at;
    read_blocks(r, index, column);
    column->at_end = r->at;
}

static int compare_offsets(const void *a, const void *b) {
    const zf_index_block *x = *(const zf_index_block *const *)a, *y = *(const zf_index_block *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int compare_branches(const void *a, const void *b) {
    const zf_shape *x = &(*(const zf_index_shape *const *)a)->shape, *y = &(*(const zf_index_shape *const *)b)->shape;
    if (x->branch_count != y->branch_count) return x->branch_count < y->branch_count ? -1 : 1;
    return x->branch_count == 0 ? 0 : memcmp(x->branches, y->branches, x->branch_count);
}

/// Two shapes of a column must have different branches: code is made for branches.
static void check_shapes(reader *r, const zf_index_column *column) {
    if (column->shape_count < 2) return;
    const zf_index_shape **shapes = malloc(column->shape_count * sizeof *shapes);
    if (shapes == NULL) {
        fail_memory(r);
        return;
    }
    for (uint32_t s = 0; s < column->shape_count; s++) shapes[s] = &column->shapes[s];
    qsort(shapes, column->shape_count, sizeof *shapes, compare_branches);
    for (uint32_t s = 1; s < column->shape_count; s++) {
        if (compare_branches(&shapes[s - 1], &shapes[s]) == 0) fail_at(r, "two shapes for the same branches", column->at);
    }
    free(shapes);
}

/// The blocks of all columns must fill the file up to the index, without overlap or gap.
static void check_tiling(reader *r, const zf_index *index, uint64_t index_offset) {
    uint64_t count = 0, next = ZF_FORMAT_HEADER_BYTES, n = 0;
    for (uint32_t c = 0; c < index->column_count; c++) count += index->columns[c].block_count;
    const zf_index_block **blocks = malloc((count == 0 ? 1 : count) * sizeof(zf_index_block *));
    if (blocks == NULL) {
        fail_memory(r);
        return;
    }
    for (uint32_t c = 0; c < index->column_count; c++) {
        for (uint64_t b = 0; b < index->columns[c].block_count; b++) blocks[n++] = &index->columns[c].blocks[b];
    }
    qsort(blocks, count, sizeof(zf_index_block *), compare_offsets);
    for (uint64_t b = 0; b < count && r->fault == NULL; b++) {
        if (blocks[b]->offset != next || blocks[b]->bytes < ZF_FORMAT_ALIGNMENT || blocks[b]->bytes % ZF_FORMAT_ALIGNMENT != 0 ||
            blocks[b]->bytes > index_offset - next) {
            fail_at(r, "blocks that overlap, leave gaps or leave the file", r->at);
            break;
        }
        next += blocks[b]->bytes;
    }
    if (r->fault == NULL && next != index_offset) fail_at(r, "blocks that do not fill the file", r->at);
    free(blocks);
}

/// `full`: the full names; else the identifiers.
static void check_names(reader *r, const zf_index *index, bool full) {
    const char **names = malloc(index->column_count * sizeof *names);
    if (names == NULL) {
        fail_memory(r);
        return;
    }
    size_t count = 0;
    for (uint32_t c = 0; c < index->column_count; c++) {
        const zf_index_column *column = &index->columns[c];
        if (!is_part(column)) names[count++] = full ? column->full_name : column->name;
    }
    if (zf_twice(names, count) != NULL) fail_at(r, "two columns of one name", r->at);
    free(names);
}

// ---- Features and sections (version 2) ------------------------------------------------------------------------

/// The names of the features stand behind their bits, so that an error can name one that is unknown.
static void read_features(reader *r, zf_index *out) {
    out->required = read64(r);
    out->optional = read64(r);
    for (unsigned b = 0; b < 128 && r->fault == NULL; b++) {
        bool required = b < 64;
        uint64_t at = r->at;
        if (!zf_index_has(out, required, b % 64)) continue;
        const char *name = read_name(r), *known = zf_feature_name(required, b % 64);
        if (r->fault != NULL) return;
        if (known != NULL && strcmp(known, name) != 0) fail_at(r, "a feature of another name", at);
        if (known != NULL || !required) continue;
        fail_at(r, "an unknown feature", at);
        r->unknown = name;
    }
}

static void read_full_names(reader *r, zf_index *out) {
    for (uint32_t c = 0; c < out->column_count && r->fault == NULL; c++) {
        uint64_t at = r->at;
        const char *name = read_name(r);
        if (name[0] != 0 && is_part(&out->columns[c])) fail_at(r, "a full name of a part of lists", at);
        if (name[0] != 0) out->columns[c].full_name = name;
    }
    if (r->fault == NULL) check_names(r, out, true);
}

static void read_schema(reader *r, zf_index *out, uint64_t bytes) {
    uint64_t at = r->at;
    const uint8_t *schema = take(r, bytes);
    const char *fault = schema != NULL ? zf_schema_fault(schema, bytes) : NULL;
    if (fault != NULL) fail_at(r, fault, at);
    if (r->fault != NULL) return;
    out->schema = zf_arena_copy(r->arena, (const char *)schema, bytes);
    out->schema_bytes = bytes;
    if (out->schema == NULL) fail_memory(r);
}

static void read_metadata(reader *r, zf_index *out) {
    uint64_t at = r->at;
    uint32_t count = read32(r);
    zf_metadata *metadata = new_array(r, count, 8, sizeof *metadata);
    for (uint32_t k = 0; k < count && r->fault == NULL; k++) {
        metadata[k].key = read_name(r);
        metadata[k].bytes = read32(r);
        const uint8_t *value = take(r, metadata[k].bytes);
        if (r->fault != NULL) return;
        metadata[k].value = zf_arena_copy(r->arena, (const char *)value, metadata[k].bytes);
        if (metadata[k].value == NULL) fail_memory(r);
    }
    if (r->fault != NULL) return;
    out->metadata = metadata;
    out->metadata_count = count;
    const char *fault = zf_metadata_fault(metadata, count);
    if (fault != NULL) fail_at(r, fault, at);
}

static void read_zone(reader *r, zf_zone *zone, zf_column_type type) {
    uint64_t at = r->at;
    zone->nulls = read32(r);
    uint32_t flags = read32(r);
    zone->minimum = read64(r);
    zone->maximum = read64(r);
    if (flags > ZF_ZONE_FLAGS) fail_at(r, "a zone with flags that this build does not know", at);
    zone->has_values = (flags & ZF_ZONE_VALUES) != 0;
    zone->has_nan = (flags & ZF_ZONE_NAN) != 0;
    zone->minimum_exact = (flags & ZF_ZONE_MINIMUM) != 0;
    zone->maximum_exact = (flags & ZF_ZONE_MAXIMUM) != 0;
    const char *fault = zf_zone_fault(zone, type);
    if (fault != NULL) fail_at(r, fault, at);
}

static void read_zones(reader *r, zf_index *out) {
    for (uint32_t c = 0; c < out->column_count && r->fault == NULL; c++) {
        zf_index_column *column = &out->columns[c];
        column->zoned = read_bool(r);
        for (uint64_t b = 0; column->zoned && b < column->block_count && r->fault == NULL; b++) {
            zf_index_block *block = &column->blocks[b];
            uint64_t count = zf_zones_of(block->rows); // at most 2^15
            zf_zone *zones = new_array(r, count, ZF_INDEX_ZONE_BYTES, sizeof *zones);
            for (uint64_t z = 0; z < count && r->fault == NULL; z++) {
                uint64_t first = z * ZF_ZONE_ROWS, left = block->rows - first;
                zones[z].first_row = block->first_row + first;
                zones[z].rows = left < ZF_ZONE_ROWS ? left : ZF_ZONE_ROWS;
                read_zone(r, &zones[z], column->type);
            }
            block->zones = zones;
            block->first_zone = column->zone_count;
            column->zone_count += count;
        }
    }
}

/// Whether a program can have this name: an identifier of any length, since none becomes part of a path.
static bool program_name_valid(const char *name, size_t length) {
    for (size_t k = 0; k < length; k++) {
        bool letter = (name[k] >= 'a' && name[k] <= 'z') || (name[k] >= 'A' && name[k] <= 'Z') || name[k] == '_';
        if (!letter && (k == 0 || name[k] < '0' || name[k] > '9')) return false;
    }
    return length > 0;
}

static void read_programs(reader *r, zf_index *out) {
    uint32_t count = read32(r);
    zf_stated_program *programs = new_array(r, count, 4 + 1 + ZF_PROGRAM_IDENTITY_BYTES, sizeof *programs);
    for (uint32_t k = 0; k < count && r->fault == NULL; k++) {
        uint64_t at = r->at;
        size_t length;
        programs[k].name = read_string(r, ZF_TEXT_MOST, &length);
        if (!program_name_valid(programs[k].name, length)) fail_at(r, "a program whose name is not an identifier", at);
        const uint8_t *identity = take(r, sizeof programs[k].identity);
        if (r->fault == NULL) memcpy(programs[k].identity, identity, sizeof programs[k].identity);
    }
    if (r->fault != NULL) return;
    out->programs = programs;
    out->program_count = count;
}

/// Reads the sections of optional features, each of which says its bytes. Skips those that are unknown.
static void read_sections(reader *r, zf_index *out) {
    for (unsigned b = 0; b < 64 && r->fault == NULL; b++) {
        if (!zf_index_has(out, false, b)) continue;
        uint64_t bytes = read64(r), size = r->size, end = r->at + bytes;
        if (r->fault == NULL && bytes > size - r->at) fail_at(r, "a section that is longer than the index", r->at);
        if (r->fault != NULL) return;
        r->size = end;
        if (b == ZF_OPTIONAL_NAMES) read_full_names(r, out);
        if (b == ZF_OPTIONAL_SCHEMA) read_schema(r, out, bytes);
        if (b == ZF_OPTIONAL_METADATA) read_metadata(r, out);
        if (b == ZF_OPTIONAL_ZONES) read_zones(r, out);
        if (b == ZF_OPTIONAL_PROGRAMS) read_programs(r, out);
        if (b < ZF_OPTIONAL_COUNT && r->fault == NULL && r->at != end) fail_at(r, "a section with bytes behind its end", r->at);
        r->size = size;
        r->at = r->fault == NULL ? end : size;
    }
}

/// Parts of lists are shown with the name of their lists.
static void show_names(reader *r, zf_index *out) {
    const char *lists = "";
    for (uint32_t c = 0; c < out->column_count && r->fault == NULL; c++) {
        zf_index_column *column = &out->columns[c];
        if (is_part(column))
            column->shown = zf_list_part_name(r->arena, lists, column->part);
        else
            column->shown = lists = zf_name_shown(r->arena, column->full_name);
        if (column->shown == NULL) fail_memory(r);
    }
}

static bool has_lists(const zf_index *index) {
    for (uint32_t c = 0; c < index->column_count; c++)
        if (index->columns[c].part != ZF_LIST_NONE) return true;
    return false;
}

zf_status zf_index_read(zf_arena *arena, unsigned version, const uint8_t *bytes, uint64_t size, uint64_t index_offset,
                        const char *path, zf_index *out, zf_error *error) {
    *out = (zf_index){.version = version};
    reader r = {.bytes = bytes, .size = size, .arena = arena};
    out->rows = read64(&r);
    out->column_count = read32(&r);
    if (read32(&r) != 0) fail_at(&r, "features that this build does not know", 12);
    if (version >= 2) read_features(&r, out);
    out->at_table = r.at;
    out->table = read_identifier(&r);
    out->at_unit = r.at;
    out->unit = read_string(&r, ZF_TEXT_MOST, &out->unit_length);
    out->at_columns = r.at;
    if (out->column_count == 0 || out->column_count > ZF_COLUMNS_MOST) fail_at(&r, "an impossible number of columns", 8);
    out->columns = new_array(&r, out->column_count, 52, sizeof *out->columns);
    for (uint32_t c = 0; r.fault == NULL && c < out->column_count; c++) read_column(&r, out, c);
    if (r.fault == NULL &&
        zf_list_part_fault(out->columns[out->column_count - 1].part, ZF_LIST_NONE, out->columns->type, true) != NULL)
        fail_at(&r, "lists without a column of their values", r.at);
    if (r.fault == NULL && zf_index_has(out, true, ZF_REQUIRED_LISTS) != has_lists(out))
        fail_at(&r, "the feature `lists`, but no column of lists", r.at);
    out->at_sections = r.at;
    read_sections(&r, out);
    show_names(&r, out);
    out->at_end = r.at;
    if (r.fault == NULL && r.size - r.at > 7) fail_at(&r, "bytes behind its end", r.at);
    for (uint64_t i = out->at_end; r.fault == NULL && i < size; i++) {
        if (bytes[i] != 0) fail_at(&r, "padding that is not 0", i);
    }
    for (uint32_t c = 0; r.fault == NULL && c < out->column_count; c++) check_shapes(&r, &out->columns[c]);
    if (r.fault == NULL) check_names(&r, out, false);
    if (r.fault == NULL) check_tiling(&r, out, index_offset);
    if (r.fault == NULL) return ZF_OK;
    if (r.unknown != NULL) {
        zf_status status = zf_raise(error, ZF_E_CONTAINER_VERSION,
                                    "the file needs the feature `%.64s`, which this build does not know", r.unknown);
        zf_fail_hint(error, status, "read it with a newer zipflow");
        return zf_fail_place(error, status, "%s: byte %llu", path, (ull)(index_offset + r.fault_at));
    }
    zf_status status = r.no_memory ? zf_raise(error, ZF_E_NO_MEMORY, "no memory for the index")
                                   : zf_raise(error, ZF_E_INDEX_CONTENT, "the index is wrong: %s", r.fault);
    return zf_fail_place(error, status, "%s: byte %llu (%llu of the index)", path, (ull)(index_offset + r.fault_at),
                         (ull)r.fault_at);
}
