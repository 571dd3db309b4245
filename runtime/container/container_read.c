// Opening a container, and its blocks. Header, footer and index are read into memory; blocks are used where the source has them
// in memory, or read into memory of their own. Nothing that the file says is used before it was compared with the file's size and
// with the rest of what it says.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/sized.h"
#include "runtime/base/text.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_open.h"
#include "runtime/context/context.h"
#include "runtime/module/module_format.h"

typedef unsigned long long ull;

#define REFUSE(c, code, byte, ...)                                                                                               \
    zf_fail_place(error, zf_raise(error, code, __VA_ARGS__), "%s: byte %llu", (c)->path, (ull)(byte))

// ---- Opening --------------------------------------------------------------------------------------------------

enum { TAIL_BYTES = 65536 };

/// The end of a container whose reader may be far away: it is requested once, and the rest of the index once more.
typedef struct file_end {
    uint8_t *bytes; ///< NULL: none, the source is near
    uint64_t at;    ///< in the file, whose end it reaches
} file_end;

static zf_status read_tail(const zf_container *c, file_end *out, zf_error *error) {
    *out = (file_end){0};
    if (c->source.reader.read == NULL || c->source.size == 0) return ZF_OK;
    uint64_t bytes = c->source.size < TAIL_BYTES ? c->source.size : TAIL_BYTES;
    out->at = c->source.size - bytes;
    out->bytes = malloc(bytes);
    if (out->bytes == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the end of a container");
    return c->source.ops->read(&c->source, out->at, bytes, out->bytes, NULL, error);
}

/// Reads bytes of the file: from the tail what it has.
static zf_status read_opening(const zf_container *c, const file_end *end, uint64_t offset, uint64_t bytes, uint8_t *to,
                              zf_error *error) {
    uint64_t before = bytes;
    if (end->bytes != NULL && offset + bytes > end->at) {
        before = offset < end->at ? end->at - offset : 0;
        memcpy(to + before, end->bytes + (offset + before - end->at), bytes - before);
    }
    return before == 0 ? ZF_OK : c->source.ops->read(&c->source, offset, before, to, NULL, error);
}

static zf_status check_version(zf_container *c, uint64_t at, uint32_t version, zf_error *error) {
    c->index.version = version;
    if (version >= ZF_FORMAT_OLDEST && version <= ZF_FORMAT_VERSION) return ZF_OK;
    zf_status status = REFUSE(c, ZF_E_CONTAINER_VERSION, at, "a container of version %u; this build reads versions %u to %u",
                              version, ZF_FORMAT_OLDEST, ZF_FORMAT_VERSION);
    return zf_fail_hint(error, status, "read it with the zipflow that wrote it, or a newer one");
}

static zf_status read_header(zf_container *c, const file_end *end, zf_error *error) {
    uint8_t header[ZF_FORMAT_HEADER_BYTES];
    uint64_t size = c->source.size < sizeof header ? c->source.size : sizeof header;
    ZF_TRY(read_opening(c, end, 0, size, header, error));
    if (size >= 8 && memcmp(header, ZF_MODULE_MAGIC, 8) == 0) {
        zf_status status = REFUSE(c, ZF_E_NOT_A_CONTAINER, 0, "%.256s is a module, not a container", c->path);
        return zf_fail_hint(error, status, "zfc takes modules with --module, beside the .zfd file that they decode");
    }
    if (size < 8 || memcmp(header, ZF_FORMAT_MAGIC, 8) != 0) {
        zf_status status = REFUSE(c, ZF_E_NOT_A_CONTAINER, 0, "%.256s is not a zipflow container", c->path);
        if (size == 0) return zf_fail_hint(error, status, "the file is empty");
        return status;
    }
    if (size < sizeof header) return REFUSE(c, ZF_E_CONTAINER_CUT, size, "the file ends within its header");
    ZF_TRY(check_version(c, 8, zf_load32(header + 8), error));
    for (size_t i = 12; i < sizeof header; i++) {
        if (header[i] != 0) return REFUSE(c, ZF_E_CONTAINER_FOOTER, i, "the header has bytes that are not 0");
    }
    return ZF_OK;
}

/// Finds the index by the footer.
static zf_status read_footer(zf_container *c, const file_end *end, uint64_t *checksum, zf_error *error) {
    uint8_t footer[ZF_FORMAT_FOOTER_BYTES];
    if (c->source.size < ZF_FORMAT_HEADER_BYTES + sizeof footer) {
        return REFUSE(c, ZF_E_CONTAINER_CUT, c->source.size, "the file ends before its footer");
    }
    uint64_t at = c->source.size - sizeof footer;
    ZF_TRY(read_opening(c, end, at, sizeof footer, footer, error));
    if (memcmp(footer + 56, ZF_FORMAT_END_MAGIC, 8) != 0) {
        return REFUSE(c, ZF_E_CONTAINER_CUT, c->source.size - 8, "the file was cut short, or has bytes behind its end");
    }
    if (zf_load64(footer + 48) != XXH3_64bits(footer, 48)) {
        return REFUSE(c, ZF_E_CONTAINER_FOOTER, at, "the footer's checksum does not match");
    }
    if (c->index.version == 0) ZF_TRY(check_version(c, at + 32, zf_load32(footer + 32), error));
    if (zf_load32(footer + 32) != c->index.version || zf_load32(footer + 36) != 0 || zf_load64(footer + 40) != 0) {
        return REFUSE(c, ZF_E_CONTAINER_VERSION, at + 32, "the footer is of another version than the header");
    }
    c->index_offset = zf_load64(footer);
    c->index_bytes = zf_load64(footer + 8);
    *checksum = zf_load64(footer + 16);
    if (zf_load64(footer + 24) != c->source.size) {
        return REFUSE(c, ZF_E_CONTAINER_CUT, at + 24, "the file has %llu bytes and was written with %llu", (ull)c->source.size,
                      (ull)zf_load64(footer + 24));
    }
    if (c->index_offset < ZF_FORMAT_HEADER_BYTES || c->index_offset % ZF_FORMAT_ALIGNMENT != 0 || c->index_offset > at ||
        c->index_bytes != at - c->index_offset) {
        return REFUSE(c, ZF_E_CONTAINER_FOOTER, at, "the index cannot have %llu bytes at byte %llu", (ull)c->index_bytes,
                      (ull)c->index_offset);
    }
    return ZF_OK;
}

/// Whether the end of a file that is far away shows that it is a container, so that its header need not be read.
static bool ends_as_container(const zf_container *c, const file_end *end) {
    if (end->bytes == NULL || end->at == 0) return false;
    return memcmp(end->bytes + (c->source.size - end->at) - 8, ZF_FORMAT_END_MAGIC, 8) == 0;
}

static zf_status read_index(zf_container *c, const file_end *end, uint64_t checksum, zf_error *error) {
    uint8_t *bytes = malloc(c->index_bytes == 0 ? 1 : c->index_bytes); // at most the file's size
    c->arena = zf_arena_create();
    zf_status status = ZF_OK;
    if (bytes == NULL || c->arena == NULL) status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for the index");
    if (status == ZF_OK) status = read_opening(c, end, c->index_offset, c->index_bytes, bytes, error);
    if (status == ZF_OK && XXH3_64bits(bytes, c->index_bytes) != checksum) {
        status = REFUSE(c, ZF_E_INDEX_CHECKSUM, c->index_offset, "the index's checksum does not match");
    }
    if (status == ZF_OK)
        status = zf_index_read(c->arena, c->index.version, bytes, c->index_bytes, c->index_offset, c->path, &c->index, error);
    if (status == ZF_OK) c->identity = zf_unit_identify(c->index.unit, c->index.unit_length);
    free(bytes);
    return status;
}

// ---- The three ways to open it --------------------------------------------------------------------------------

/// A container without a source, whose name is copied.
static zf_status new_container(zf_context *context, const char *name, zf_container **out, zf_error *error) {
    zf_container *c = calloc(1, sizeof *c);
    if (c != NULL) c->path = strdup(name);
    if (c == NULL || c->path == NULL) {
        free(c);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container");
    }
    c->context = context;
    c->serial = zf_context_container_serial(context);
    *out = c;
    return ZF_OK;
}

/// Reads what is not blocks of a container whose source is open. Copies or maps the source if `how` says so, once its size is
/// known to be right. Closes the container after a failure.
static zf_status open_all(zf_container *c, zf_status opened, const zf_open_options *how, zf_container **out, zf_error *error) {
    uint64_t checksum = 0;
    file_end end = {0};
    zf_status status = opened;
    if (status == ZF_OK) status = read_tail(c, &end, error);
    if (status == ZF_OK && !ends_as_container(c, &end)) status = read_header(c, &end, error);
    if (status == ZF_OK) status = read_footer(c, &end, &checksum, error);
    if (status == ZF_OK && how->copy) status = zf_byte_source_copy(&c->source, error);
    if (status == ZF_OK) status = read_index(c, &end, checksum, error);
    free(end.bytes);
    if (status == ZF_OK && how->map != 0) status = zf_byte_source_map_file(&c->source, error);
    if (status != ZF_OK) {
        zf_container_close(c);
        return status;
    }
    c->open = true;
    zf_context_log(c->context, ZF_LOG_DEBUG, "opened %s: %llu rows, %u columns", c->path, (ull)c->index.rows,
                   c->index.column_count);
    *out = c;
    return ZF_OK;
}

/// `function`: what the caller called.
static zf_status open_file(zf_context *context, const char *path, const zf_open_options *options, const char *function,
                           zf_container **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    if (context == NULL || path == NULL || out == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT, "%s needs a context, a path and a place for the container", function);
    }
    zf_container *c = NULL;
    zf_open_options how;
    ZF_TRY(ZF_TAKE(zf_open_options, &how, options, error));
    if (how.name != NULL) return zf_raise(error, ZF_E_ARGUMENT, "the name of a file is its path: leave `name` NULL");
    if (how.copy && how.map != 0) return zf_raise(error, ZF_E_ARGUMENT, "a file is copied or mapped, not both");
    ZF_TRY(new_container(context, path, &c, error));
    return open_all(c, zf_byte_source_open_file(&c->source, c->path, error), &how, out, error);
}

zf_status zf_container_open(zf_context *context, const char *path, zf_container **out, zf_error *error) {
    return open_file(context, path, NULL, "zf_container_open", out, error);
}

zf_status zf_container_open_file(zf_context *context, const char *path, const zf_open_options *options, zf_container **out,
                                 zf_error *error) {
    return open_file(context, path, options, "zf_container_open_file", out, error);
}

/// Takes the options of a source that is not a file.
static zf_status take_options(const zf_open_options *options, zf_open_options *out, zf_error *error) {
    ZF_TRY(ZF_TAKE(zf_open_options, out, options, error));
    return out->map == 0 ? ZF_OK : zf_raise(error, ZF_E_ARGUMENT, "`map` is for files: zf_container_open_file");
}

zf_status zf_container_open_memory(zf_context *context, const void *bytes, uint64_t size, const zf_open_options *options,
                                   zf_container **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    if (context == NULL || (bytes == NULL && size > 0) || out == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT,
                        "zf_container_open_memory needs a context, the bytes and a place for the container");
    }
    if (size > INT64_MAX || size > UINTPTR_MAX - (uintptr_t)bytes)
        return zf_raise(error, ZF_E_ARGUMENT, "a container of %llu bytes: no memory is as large", (ull)size);
    zf_container *c = NULL;
    zf_open_options how;
    ZF_TRY(take_options(options, &how, error));
    ZF_TRY(new_container(context, how.name != NULL ? how.name : "(memory)", &c, error));
    zf_byte_source_open_memory(&c->source, c->path, bytes, size);
    return open_all(c, ZF_OK, &how, out, error);
}

zf_status zf_container_open_reader(zf_context *context, const zf_byte_reader *reader, const zf_open_options *options,
                                   zf_container **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    zf_byte_reader own;
    ZF_TRY(ZF_TAKE(zf_byte_reader, &own, reader, error));
    if (context == NULL || own.read == NULL || out == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT,
                        "zf_container_open_reader needs a context, a reader with a function and a place for the container");
    }
    if (own.bytes > INT64_MAX)
        return zf_raise(error, ZF_E_ARGUMENT, "a reader of %llu bytes: offsets are below 2^63", (ull)own.bytes);
    zf_container *c = NULL;
    zf_open_options how;
    ZF_TRY(take_options(options, &how, error));
    ZF_TRY(new_container(context, how.name != NULL ? how.name : "(reader)", &c, error));
    zf_byte_source_open_reader(&c->source, c->path, &own);
    return open_all(c, ZF_OK, &how, out, error);
}

void zf_container_close(zf_container *c) {
    if (c == NULL) return;
    if (c->open) zf_context_forget(c->context, c);
    zf_byte_source_close(&c->source);
    if (c->loaded) zf_container_unload(c);
    if (c->arena != NULL) zf_arena_destroy(c->arena);
    free(c->path);
    free(c);
}

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
        .rows = c->index.rows,
        .blocks = column->block_count,
        .rows_per_block = column->rows_per_block,
        .plain_bytes = column->plain_bytes,
        .stored_bytes = column->block_bytes + (column->at_end - column->at),
        .full_name = column->full_name,
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
        size_t length = strlen(c->index.columns[k].name);
        if (used + length + 3 > sizeof list) break;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", k > 0 ? ", " : "", c->index.columns[k].name);
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
    bool full = false;
    for (uint32_t k = 0; k < c->index.column_count; k++) {
        if (strcmp(c->index.columns[k].name, name) == 0) {
            *index = k;
            return ZF_OK;
        }
        if (strcmp(c->index.columns[k].full_name, name) == 0) {
            *index = k; // an identifier of another column comes first
            full = true;
        }
        size_t distance = zf_edit_distance(name, c->index.columns[k].name, least);
        if (distance < least) {
            least = distance;
            nearest = c->index.columns[k].name;
        }
    }
    if (full) return ZF_OK;
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
        if (seek->entries == zf_seek_entries(view->counts[tree->edge], seek->interval)) continue;
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
    snprintf(place, 256, "%s: column %.80s, block %llu", zf_container_short_path(c), c->index.columns[column].name, (ull)block);
}

/// ZF1208 where the file changed, so that the change is not reported as damage.
static zf_status check_unchanged(const zf_container *c, const zf_index_block *block, const char *place, zf_error *error) {
    zf_status status = zf_container_unchanged(c, error);
    return status == ZF_OK ? ZF_OK : zf_byte_source_place(&c->source, block->offset, place, status, error);
}

zf_status zf_container_read_block(const zf_container *c, const zf_index_block *block, uint64_t bytes, uint64_t room,
                                  const char *place, uint8_t **memory, zf_error *error) {
    uint64_t rounded;
    if (*memory == NULL && zf_align_up(room, ZF_FORMAT_ALIGNMENT, &rounded))
        *memory = aligned_alloc(ZF_FORMAT_ALIGNMENT, rounded);
    if (*memory == NULL) {
        zf_status status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for %llu bytes of a block", (ull)room);
        return zf_fail_place(error, status, "%s", place);
    }
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
    if (stored == NULL && c->source.map != NULL)
        stored = c->source.map + at->offset;
    else if (stored == NULL)
        status = zf_container_read_block(c, at, at->bytes, at->bytes, place, &own, error);
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
