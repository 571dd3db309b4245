// The index as bytes.
#include "runtime/container/container_format.h"
#include "runtime/container/container_index.h"

static void add8(zf_text *out, unsigned value) {
    char byte = (char)value;
    zf_text_add(out, &byte, 1);
}

static void add32(zf_text *out, uint32_t value) {
    uint8_t bytes[4];
    zf_store32(bytes, value);
    zf_text_add(out, (const char *)bytes, sizeof bytes);
}

static void add64(zf_text *out, uint64_t value) {
    uint8_t bytes[8];
    zf_store64(bytes, value);
    zf_text_add(out, (const char *)bytes, sizeof bytes);
}

static void add_string(zf_text *out, const char *string, size_t length) {
    add32(out, (uint32_t)length);
    zf_text_add(out, string, length);
}

static void add_shape(zf_text *out, const zf_index_shape *entry) {
    const zf_shape *shape = &entry->shape;
    add32(out, shape->branch_count);
    add32(out, shape->param_count);
    add32(out, shape->edge_count);
    add32(out, shape->stored_count);
    add32(out, shape->tree_count);
    zf_text_add(out, (const char *)shape->branches, shape->branch_count);
    for (uint32_t p = 0; p < shape->param_count; p++) {
        add_string(out, shape->params[p].path, strlen(shape->params[p].path));
        add8(out, shape->params[p].type);
    }
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        const zf_shape_edge *edge = &shape->edges[e];
        add_string(out, edge->path, strlen(edge->path));
        add_string(out, edge->algorithm, strlen(edge->algorithm));
        add8(out, edge->type);
        add8(out, edge->nullable);
        add32(out, (uint32_t)edge->stored);
        add64(out, entry->most[e]);
    }
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_shape_tree *tree = &shape->trees[t];
        add32(out, tree->edge);
        add32(out, zf_tree_word(tree, tree->interval));
        add32(out, tree->field_count);
        for (uint32_t f = 0; f < tree->field_count; f++) {
            add_string(out, tree->fields[f].name, strlen(tree->fields[f].name));
            add8(out, tree->fields[f].bytes);
            if (tree->directory) add32(out, tree->fields[f].edge);
        }
    }
}

static void add_column(zf_text *out, const zf_index_column *column) {
    bool is_part = column->part == ZF_LIST_VALIDITY || column->part == ZF_LIST_VALUES;
    add_string(out, column->name, is_part ? 0 : strlen(column->name));
    add_string(out, column->type_name, strlen(column->type_name));
    add_string(out, column->codec, strlen(column->codec));
    add8(out, column->type.element);
    add8(out, column->type.logical);
    add8(out, column->type.precision);
    add8(out, column->type.scale);
    add8(out, column->type.nullable);
    add8(out, column->part);
    for (int i = 0; i < 2; i++) add8(out, 0);
    add64(out, column->rows_per_block);
    add64(out, column->block_count);
    add32(out, column->shape_count);
    add32(out, 0);
    for (uint32_t s = 0; s < column->shape_count; s++) add_shape(out, &column->shapes[s]);
    for (uint64_t b = 0; b < column->block_count; b++) {
        const zf_index_block *block = &column->blocks[b];
        add64(out, block->offset);
        add64(out, block->bytes);
        add64(out, block->rows);
        add64(out, block->plain_bytes);
        add64(out, block->checksum);
        add32(out, block->shape);
        add32(out, 0);
    }
}

/// The names of features, required ones first, in order of bits.
static void add_features(zf_text *out, const zf_index *index) {
    add64(out, index->required);
    add64(out, index->optional);
    for (unsigned b = 0; b < 128; b++) {
        bool required = b < 64;
        if (!zf_index_has(index, required, b % 64)) continue;
        const char *name = zf_feature_name(required, b % 64);
        add_string(out, name, strlen(name));
    }
}

static void add_names(zf_text *out, const zf_index *index) {
    for (uint32_t c = 0; c < index->column_count; c++) {
        const zf_index_column *column = &index->columns[c];
        bool other = strcmp(column->full_name, column->name) != 0;
        add_string(out, column->full_name, other ? strlen(column->full_name) : 0);
    }
}

static void add_metadata(zf_text *out, const zf_index *index) {
    add32(out, (uint32_t)index->metadata_count);
    for (size_t k = 0; k < index->metadata_count; k++) {
        add_string(out, index->metadata[k].key, strlen(index->metadata[k].key));
        add_string(out, index->metadata[k].value, index->metadata[k].bytes);
    }
}

static void add_zone(zf_text *out, const zf_zone *zone) {
    uint32_t flags = (zone->has_values ? ZF_ZONE_VALUES : 0) | (zone->has_nan ? ZF_ZONE_NAN : 0) |
                     (zone->minimum_exact ? ZF_ZONE_MINIMUM : 0) | (zone->maximum_exact ? ZF_ZONE_MAXIMUM : 0);
    add32(out, (uint32_t)zone->nulls);
    add32(out, flags);
    add64(out, zone->minimum);
    add64(out, zone->maximum);
}

static void add_zones(zf_text *out, const zf_index *index) {
    for (uint32_t c = 0; c < index->column_count; c++) {
        const zf_index_column *column = &index->columns[c];
        add8(out, column->zoned);
        for (uint64_t b = 0; column->zoned && b < column->block_count; b++) {
            for (uint64_t z = 0; z < zf_zones_of(column->blocks[b].rows); z++) add_zone(out, &column->blocks[b].zones[z]);
        }
    }
}

static void add_programs(zf_text *out, const zf_index *index) {
    add32(out, index->program_count);
    for (uint32_t k = 0; k < index->program_count; k++) {
        const zf_stated_program *program = &index->programs[k];
        add_string(out, program->name, strlen(program->name));
        zf_text_add(out, (const char *)program->identity, sizeof program->identity);
    }
}

/// The section of an optional feature: its bytes, and their number before them.
static void add_section(zf_text *out, const zf_index *index, unsigned feature) {
    zf_text section = {0};
    if (feature == ZF_OPTIONAL_NAMES) add_names(&section, index);
    if (feature == ZF_OPTIONAL_SCHEMA) zf_text_add(&section, index->schema, index->schema_bytes);
    if (feature == ZF_OPTIONAL_METADATA) add_metadata(&section, index);
    if (feature == ZF_OPTIONAL_ZONES) add_zones(&section, index);
    if (feature == ZF_OPTIONAL_PROGRAMS) add_programs(&section, index);
    out->failed = out->failed || section.failed;
    add64(out, section.length);
    zf_text_add(out, section.data, section.length);
    zf_text_free(&section);
}

void zf_index_write(const zf_index *index, zf_text *out) {
    add64(out, index->rows);
    add32(out, index->column_count);
    add32(out, 0);
    if (index->version >= 2) add_features(out, index);
    add_string(out, index->table, strlen(index->table));
    add_string(out, index->unit, index->unit_length);
    for (uint32_t c = 0; c < index->column_count; c++) add_column(out, &index->columns[c]);
    for (unsigned b = 0; b < ZF_OPTIONAL_COUNT; b++) {
        if (zf_index_has(index, false, b)) add_section(out, index, b);
    }
    while (!out->failed && out->length % 8 != 0) add8(out, 0);
}
