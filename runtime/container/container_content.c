// The content of an open container: its table, columns, zones and shapes, and its blocks. Blocks are used where the source has
// them in memory, or read into memory of their own, and checked before they are used.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/sized.h"
#include "runtime/base/text.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_open.h"

typedef unsigned long long ull;

// ---- The contents ---------------------------------------------------------------------------------------------

const char *zf_container_path(const zf_container *c) { return c != NULL ? c->path : NULL; }
uint64_t zf_container_serial(const zf_container *c) { return c->serial; }
const char *zf_container_short_path(const zf_container *c) {
    size_t length = strlen(c->path), most = 96;
    if (length <= most) return c->path;
    const char *tail = c->path + length - most;
    while (((unsigned char)*tail & 0xc0) == 0x80) tail++; // not within a character
    return tail;
}
const char *zf_container_table(const zf_container *c) { return c != NULL ? c->index.table : NULL; }
uint64_t zf_container_rows(const zf_container *c) { return c != NULL ? c->index.rows : 0; }
uint64_t zf_container_fetched(const zf_container *c) {
    return c == NULL ? 0 : atomic_load_explicit(&c->fetched, memory_order_relaxed);
}
uint64_t zf_container_bytes(const zf_container *c) { return c != NULL ? c->source.size : 0; }
size_t zf_container_columns(const zf_container *c) { return c != NULL ? c->index.column_count : 0; }

zf_status zf_container_column(const zf_container *c, size_t index, zf_column_info *out, zf_error *error) {
    if (c == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_container_column needs a container and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_column_info, out, error));
    if (index >= c->index.column_count) {
        return zf_raise(error, ZF_E_UNKNOWN_COLUMN, "there is no column %zu: the container has %u", index, c->index.column_count);
    }
    const zf_index_column *column = &c->index.columns[index];
    zf_column_info info = {
        .name = column->name,
        .type = column->type,
        .type_name = column->type_name,
        .codec = column->codec,
        .rows = column->rows,
        .blocks = column->block_count,
        .rows_per_block = column->rows_per_block,
        .plain_bytes = column->plain_bytes,
        .stored_bytes = column->block_bytes + (column->at_end - column->at),
        .full_name = column->full_name,
        .part = column->part,
    };
    ZF_GIVE(zf_column_info, out, &info);
    return ZF_OK;
}

size_t zf_container_metadata_count(const zf_container *c) { return c != NULL ? c->index.metadata_count : 0; }

zf_status zf_container_metadata(const zf_container *c, size_t index, zf_metadata *out, zf_error *error) {
    if (c == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_container_metadata needs a container and a place");
    if (index >= c->index.metadata_count) {
        return zf_raise(error, ZF_E_ARGUMENT, "there is no key %zu: the metadata has %zu", index, c->index.metadata_count);
    }
    *out = c->index.metadata[index];
    return ZF_OK;
}

uint64_t zf_container_zones(const zf_container *c, size_t column) {
    return c != NULL && column < c->index.column_count ? c->index.columns[column].zone_count : 0;
}

zf_status zf_container_zone(const zf_container *c, size_t column, uint64_t index, zf_zone *out, zf_error *error) {
    if (c == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_container_zone needs a container and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_zone, out, error));
    uint64_t zones = zf_container_zones(c, column), low = 0;
    if (index >= zones)
        return zf_raise(error, ZF_E_ARGUMENT, "there is no zone %llu: column %zu has %llu", (ull)index, column, (ull)zones);
    const zf_index_block *blocks = c->index.columns[column].blocks;
    for (uint64_t high = c->index.columns[column].block_count; high - low > 1;) { // `low` begins at or before the zone
        uint64_t middle = low + (high - low) / 2;
        *(blocks[middle].first_zone <= index ? &low : &high) = middle;
    }
    zf_zone zone = blocks[low].zones[index - blocks[low].first_zone];
    ZF_GIVE(zf_zone, out, &zone);
    return ZF_OK;
}

const void *zf_container_schema(const zf_container *c, size_t *bytes) {
    if (bytes != NULL) *bytes = c != NULL ? c->index.schema_bytes : 0;
    return c != NULL ? c->index.schema : NULL;
}

/// The columns that there are, as far as a hint has room.
static zf_status hint_columns(const zf_container *c, zf_status status, zf_error *error) {
    char list[200] = "";
    size_t used = 0;
    uint32_t k = 0;
    for (; k < c->index.column_count && k < 32; k++) {
        const char *name = c->index.columns[k].full_name;
        if (used + strlen(name) + 3 > sizeof list) break;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", k > 0 ? ", " : "", name);
    }
    if (k == c->index.column_count) return zf_fail_hint(error, status, "there is: %s", list);
    return zf_fail_hint(error, status, "there is: %s and %u more", list, c->index.column_count - k);
}

zf_status zf_container_find(const zf_container *c, const char *name, size_t *index, zf_error *error) {
    if (c == NULL || name == NULL || index == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT, "zf_container_find needs a container, a name and a place");
    }
    const char *nearest = c->index.columns[0].name;
    size_t least = ZF_EDIT_LENGTH;
    bool found = false;
    for (uint32_t k = 0; k < c->index.column_count; k++) {
        const char *const names[] = {c->index.columns[k].full_name, c->index.columns[k].name};
        bool part = c->index.columns[k].part == ZF_LIST_VALIDITY || c->index.columns[k].part == ZF_LIST_VALUES;
        if (!part && strcmp(names[0], name) == 0) { // parts have identifiers alone
            *index = k;
            return ZF_OK;
        }
        if (strcmp(names[1], name) == 0) {
            *index = k; // the full name of another column comes first
            found = true;
        }
        for (size_t n = 0; n < 2; n++) {
            size_t distance = zf_edit_distance(name, names[n], least);
            if (distance >= least) continue;
            least = distance;
            nearest = names[n];
        }
    }
    if (found) return ZF_OK;
    zf_status status = zf_raise(error, ZF_E_UNKNOWN_COLUMN, "no column is called \"%.128s\"", name);
    zf_fail_place(error, status, "%s", c->path);
    size_t length = strlen(name);
    if (least <= length / 3) return zf_fail_hint(error, status, "did you mean %.128s?", nearest);
    return hint_columns(c, status, error);
}

const char *zf_container_unit(const zf_container *c, size_t *length) {
    if (length != NULL) *length = c->index.unit_length;
    return c->index.unit;
}

zf_unit_identity zf_unit_identify(const char *unit, size_t length) {
    XXH128_hash_t hash = XXH3_128bits(unit, length);
    return (zf_unit_identity){.bytes = length, .hash = {hash.low64, hash.high64}};
}

bool zf_container_known_only(const zf_container *c) { return c->known_only; }
const zf_stated_program *zf_container_stated(const zf_container *c, uint32_t *count) {
    *count = c->index.program_count;
    return zf_index_has(&c->index, false, ZF_OPTIONAL_PROGRAMS) ? c->index.programs : NULL;
}
zf_unit_identity zf_container_unit_identity(const zf_container *c) { return c->identity; }

size_t zf_container_shapes(const zf_container *c, size_t column) {
    return column < c->index.column_count ? c->index.columns[column].shape_count : 0;
}

const zf_shape *zf_container_shape(const zf_container *c, size_t column, size_t index) {
    if (index >= zf_container_shapes(c, column)) return NULL;
    return &c->index.columns[column].shapes[index].shape;
}

uint64_t zf_index_block_of(const zf_index_column *column, uint64_t row) {
    uint64_t low = 0, high = column->block_count; // the block is one of low .. high - 1
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (column->blocks[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/// The block of a column that has a row, for the function `name`, which needs a container and two places.
static zf_status block_with(const char *name, const zf_container *c, size_t column, uint64_t row, const void *one,
                            const void *other, const zf_index_block **out, zf_error *error) {
    if (c == NULL || one == NULL || other == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "%s needs a container and two places", name);
    zf_column_info info = {ZF_INIT(zf_column_info)};
    ZF_TRY(zf_container_column(c, column, &info, error));
    if (row >= info.rows)
        return zf_raise(error, ZF_E_ARGUMENT, "there is no row %llu: column %zu has %llu", (ull)row, column, (ull)info.rows);
    *out = &c->index.columns[column].blocks[zf_index_block_of(&c->index.columns[column], row)];
    return ZF_OK;
}

zf_status zf_container_block_of(const zf_container *c, size_t column, uint64_t row, uint64_t *first, uint64_t *rows,
                                zf_error *error) {
    const zf_index_block *block = NULL; // gcc 12 at -O3 does not see that it is set
    ZF_TRY(block_with("zf_container_block_of", c, column, row, first, rows, &block, error));
    *first = block->first_row;
    *rows = block->rows;
    return ZF_OK;
}

zf_status zf_container_block_place(const zf_container *c, size_t column, uint64_t row, uint64_t *offset, uint64_t *bytes,
                                   zf_error *error) {
    const zf_index_block *block = NULL; // the same
    ZF_TRY(block_with("zf_container_block_place", c, column, row, offset, bytes, &block, error));
    *offset = block->offset;
    *bytes = block->bytes;
    return ZF_OK;
}

bool zf_container_first_block(const zf_container *c, size_t column, const zf_shape *shape, uint64_t *out) {
    const zf_index_column *of = &c->index.columns[column];
    for (uint64_t b = 0; b < of->block_count; b++) {
        if (&of->shapes[of->blocks[b].shape].shape != shape || of->blocks[b].rows == 0) continue;
        *out = b;
        return true;
    }
    return false;
}

const zf_shape *zf_container_shape_for(const zf_container *c, size_t column, const uint8_t *branches, size_t branch_count) {
    for (size_t s = 0; s < zf_container_shapes(c, column); s++) {
        const zf_shape *shape = &c->index.columns[column].shapes[s].shape;
        if (zf_shape_has_branches(shape, branches, branch_count)) return shape;
    }
    return NULL;
}

bool zf_column_type_same(zf_column_type a, zf_column_type b) {
    return a.element == b.element && a.logical == b.logical && a.precision == b.precision && a.scale == b.scale &&
           a.nullable == b.nullable;
}

// ---- Blocks ---------------------------------------------------------------------------------------------------

zf_status zf_container_unchanged(const zf_container *c, zf_error *error) { return zf_byte_source_unchanged(&c->source, error); }

zf_status zf_container_explain(const zf_container *c, zf_status status, zf_error *error) {
    if (status == ZF_ERR_CANCELLED) return status;
    char place[sizeof error->place] = "";
    if (status != ZF_OK && error != NULL) memcpy(place, error->place, sizeof place);
    zf_status changed = zf_container_unchanged(c, error);
    if (changed == ZF_OK) return status;
    const char *file = zf_container_short_path(c); // a place within the file says where the change was met
    return strncmp(place, file, strlen(file)) == 0 ? zf_fail_place(error, changed, "%s", place) : changed;
}

/// Checks that a block agrees with its entry in the index, and that it fits in the size that its shape promises.
static zf_status check_against_index(unsigned version, const zf_index_column *column, const zf_index_block *entry,
                                     const zf_block_view *view, const char *place, zf_error *error) {
    const zf_index_shape *shape = &column->shapes[entry->shape];
    if (zf_load32((const uint8_t *)view->memory + 12) != entry->shape || view->rows != entry->rows ||
        view->plain_bytes != entry->plain_bytes || zf_load64(view->memory) != entry->checksum) {
        zf_status status = zf_raise(error, ZF_E_BLOCK_HEADER, "the block differs from its entry in the index");
        return zf_fail_place(error, status, "%s", place);
    }
    if (view->version != version || (version >= 2 && view->first_row != entry->first_row)) {
        zf_status status =
            zf_raise(error, ZF_E_BLOCK_HEADER, "a block of version %u from row %llu on; the index says %u and row %llu",
                     view->version, (ull)view->first_row, version, (ull)entry->first_row);
        return zf_fail_place(error, status, "%s", place);
    }
    for (uint32_t e = 0; e < shape->shape.edge_count; e++) {
        if (view->counts[e] <= shape->most[e]) continue;
        zf_status status =
            zf_raise(error, ZF_E_V23, "V23: edge `%s` has %llu elements, more than the maximum of %llu in the index",
                     shape->shape.edges[e].path, (ull)view->counts[e], (ull)shape->most[e]);
        return zf_fail_place(error, status, "%s", place);
    }
    for (uint32_t t = 0; t < shape->shape.tree_count; t++) {
        const zf_shape_tree *tree = &shape->shape.trees[t];
        const zf_seek_view *seek = &view->seeks[t];
        if (seek->interval != tree->interval) {
            zf_status status = zf_raise(error, ZF_E_INDEX_CONTENT,
                                        "the index says that %s %u has an entry every %u elements, the block every %u",
                                        tree->directory ? "chunk directory" : "seek tree", t, tree->interval, seek->interval);
            return zf_fail_place(error, status, "%s", place);
        }
        if (tree->directory == ZF_DIRECTORY_UNEVEN || seek->entries == zf_seek_entries(view->counts[tree->edge], seek->interval))
            continue;
        zf_status status = zf_raise(error, ZF_E_V23, "V23: seek tree %u has %llu states, one every %u elements", t,
                                    (ull)seek->entries, seek->interval);
        return zf_fail_place(error, status, "%s", place);
    }
    return ZF_OK;
}

zf_status zf_container_block(zf_container *c, size_t column, uint64_t block, bool checksum, zf_block_view *out, zf_error *error) {
    *out = (zf_block_view){0};
    if (column >= c->index.column_count || block >= c->index.columns[column].block_count) {
        return zf_raise(error, ZF_E_INTERNAL, "block %llu of column %zu does not exist", (ull)block, column);
    }
    return zf_container_block_at(c, column, block, NULL, checksum, out, error);
}

static void place_of(const zf_container *c, size_t column, uint64_t block, char place[256]) {
    snprintf(place, 256, "%s: column %s, block %llu", zf_container_short_path(c), c->index.columns[column].shown, (ull)block);
}

/// ZF1208 where the file changed, so that the change is not reported as damage.
static zf_status check_unchanged(const zf_container *c, const zf_index_block *block, const char *place, zf_error *error) {
    zf_status status = zf_container_unchanged(c, error);
    return status == ZF_OK ? ZF_OK : zf_byte_source_place(&c->source, block->offset, place, status, error);
}

zf_status zf_container_read_block(zf_container *c, const zf_index_block *block, uint64_t bytes, uint64_t room, const char *place,
                                  uint8_t **memory, zf_error *error) {
    uint64_t rounded;
    if (*memory == NULL && zf_align_up(room, ZF_FORMAT_ALIGNMENT, &rounded))
        *memory = aligned_alloc(ZF_FORMAT_ALIGNMENT, rounded);
    if (*memory == NULL) {
        zf_status status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for %llu bytes of a block", (ull)room);
        return zf_fail_place(error, status, "%s", place);
    }
    atomic_fetch_add_explicit(&c->fetched, bytes, memory_order_relaxed);
    return c->source.ops->read(&c->source, block->offset, bytes, *memory, place, error);
}

zf_status zf_container_block_at(zf_container *c, size_t column, uint64_t block, const uint8_t *stored, bool checksum,
                                zf_block_view *out, zf_error *error) {
    *out = (zf_block_view){0};
    const zf_index_column *entry = &c->index.columns[column];
    const zf_index_block *at = &entry->blocks[block];
    uint8_t *own = NULL;
    char place[256];
    place_of(c, column, block, place);
    ZF_TRY(check_unchanged(c, at, place, error));
    zf_status status = ZF_OK;
    if (stored == NULL && c->source.map != NULL) {
        stored = c->source.map + at->offset;
        atomic_fetch_add_explicit(&c->fetched, at->bytes, memory_order_relaxed);
    } else if (stored == NULL) {
        status = zf_container_read_block(c, at, at->bytes, at->bytes, place, &own, error);
    }
    if (own != NULL) stored = own;
    if (status == ZF_OK)
        status = zf_block_check(&entry->shapes[at->shape].shape, stored, at->bytes, checksum && !at->sound, place, out, error);
    if (status != ZF_OK) {
        free(own);
        return status;
    }
    out->owned = own;
    out->file_offset = at->offset;
    out->first_row = at->first_row;
    status = check_against_index(c->index.version, entry, at, out, place, error);
    if (status != ZF_OK) zf_block_view_free(out);
    return status;
}

zf_status zf_container_block_header(zf_container *c, size_t column, uint64_t block, zf_block_view *out, zf_error *error) {
    *out = (zf_block_view){0};
    const zf_index_column *entry = &c->index.columns[column];
    const zf_index_block *at = &entry->blocks[block];
    const zf_shape *shape = &entry->shapes[at->shape].shape;
    uint64_t bytes = zf_block_header_bytes(shape, c->index.version);
    if (bytes > at->bytes) bytes = at->bytes;
    char place[256];
    uint8_t *own = NULL;
    place_of(c, column, block, place);
    ZF_TRY(check_unchanged(c, at, place, error));
    zf_status status = ZF_OK;
    if (c->source.map == NULL) status = zf_container_read_block(c, at, bytes, bytes, place, &own, error);
    const uint8_t *header = own != NULL ? own : c->source.map + at->offset;
    if (status == ZF_OK) status = zf_block_check_header(shape, header, at->bytes, place, out, error);
    free(own);
    if (status != ZF_OK) return status;
    out->file_offset = at->offset;
    out->first_row = at->first_row;
    status = check_against_index(c->index.version, entry, at, out, place, error);
    if (status != ZF_OK) zf_block_view_free(out);
    return status;
}
