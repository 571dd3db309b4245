// Checking a block: every number of its header against its size and shape, before anything is read at an offset from it.
// The header is copied first, so that what was checked is what is used, even where a mapped file changes.
#include <stdlib.h>

#include "runtime/base/checksum.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_index.h"
#include "runtime/container/element.h"

typedef unsigned long long ull;

/// One check of a block: where it is, and where its complaints go.
typedef struct check {
    const zf_shape *shape;
    const char *place;
    zf_error *error;
    const char *subject; ///< path of what is looked at, where that is in the codec
} check;

#define REFUSE(c, code, ...) zf_fail_place((c)->error, zf_raise((c)->error, code, __VA_ARGS__), "%s", (c)->place)
#define REFUSE_AT(c, code, byte, ...)                                                                                            \
    zf_fail_place((c)->error, zf_raise((c)->error, code, __VA_ARGS__), "%s, byte %llu of the block", (c)->place, (ull)(byte))

/// The plain bytes of so many rows, where the type decides them.
static bool plain_bytes_fit(const zf_shape_edge *edge, uint64_t rows, uint64_t plain_bytes) {
    unsigned bits = zf_element_bits(edge->type);
    uint64_t bytes = 0, validity = 0;
    if (bits == 0) return true; // strings: see zf_text_bytes_fit
    if (!zf_elements_bytes(rows, bits, &bytes)) return false;
    if (edge->nullable) zf_elements_bytes(rows, 1, &validity);
    return !__builtin_add_overflow(bytes, validity, &bytes) && plain_bytes == bytes;
}

/// The part of the header that says what the rest is.
static zf_status check_version(check *c, const uint8_t *header, zf_block_view *out) {
    uint32_t version = zf_load32(header + 60);
    if (zf_load32(header + 8) != ZF_BLOCK_MAGIC) return REFUSE_AT(c, ZF_E_BLOCK_HEADER, 8, "no block starts here");
    out->version = version == 0 ? 1 : version;
    if (out->version == 1 && zf_block_features(c->shape) != 0)
        return REFUSE_AT(c, ZF_E_BLOCK_HEADER, 60, "a block of version 1, which has no uneven chunks, of a shape with some");
    if (version != 1 && out->version <= ZF_FORMAT_VERSION) return ZF_OK;
    return REFUSE_AT(c, ZF_E_CONTAINER_VERSION, 60, "a block of version %u; this build reads 0 (the first) and 2", version);
}

/// The end of a header, which version 2 has behind the tables.
static zf_status check_end(check *c, const uint8_t *end, uint64_t at, zf_block_view *out) {
    uint64_t has = zf_load64(end), wanted = zf_block_features(c->shape), known = UINT64_C(1) << ZF_REQUIRED_UNEVEN_CHUNKS;
    if ((has & ~known) != 0) {
        return REFUSE_AT(c, ZF_E_CONTAINER_VERSION, at, "a block with features %#llx, which this build does not know",
                         (ull)(has & ~known));
    }
    if (has != wanted) {
        const char *name = zf_feature_name(true, ZF_REQUIRED_UNEVEN_CHUNKS);
        if (has == 0) return REFUSE_AT(c, ZF_E_BLOCK_HEADER, at, "a block without the feature `%s`, which its shape has", name);
        return REFUSE_AT(c, ZF_E_BLOCK_HEADER, at, "a block with the feature `%s`, which its shape lacks", name);
    }
    out->first_row = zf_load64(end + 16);
    if (zf_load64(end + 24) != 0) return REFUSE_AT(c, ZF_E_BLOCK_HEADER, at + 24, "the header has bytes that are not 0");
    return ZF_OK;
}

static zf_status check_fixed(check *c, const uint8_t *header, uint64_t size, zf_block_view *out) {
    const zf_shape *shape = c->shape;
    if (zf_load64(header + 16) != size) {
        return REFUSE_AT(c, ZF_E_BLOCK_HEADER, 16, "the header of a block of %llu bytes says %llu bytes", (ull)size,
                         (ull)zf_load64(header + 16));
    }
    const struct {
        uint32_t at, wanted;
        const char *what;
    } counts[] = {
        {40, shape->param_count, "params"},          {44, shape->edge_count, "edges"},
        {48, shape->stored_count, "streams"},        {52, shape->tree_count, "seek trees"},
        {56, zf_shape_fields(shape), "seek fields"},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (zf_load32(header + counts[i].at) != counts[i].wanted) {
            return REFUSE_AT(c, ZF_E_BLOCK_HEADER, counts[i].at, "%u %s; the shape has %u", zf_load32(header + counts[i].at),
                             counts[i].what, counts[i].wanted);
        }
    }
    out->rows = zf_load64(header + 24);
    out->plain_bytes = zf_load64(header + 32);
    if (out->rows > ZF_ROWS_PER_BLOCK_MOST) {
        return REFUSE_AT(c, ZF_E_BLOCK_HEADER, 24, "%llu rows are more than a block may have", (ull)out->rows);
    }
    if (!plain_bytes_fit(&shape->edges[0], out->rows, out->plain_bytes)) {
        c->subject = "";
        return REFUSE_AT(c, ZF_E_V23, 32, "V23: %llu plain bytes for %llu rows of %s", (ull)out->plain_bytes, (ull)out->rows,
                         zf_element_name(shape->edges[0].type));
    }
    return ZF_OK;
}

static zf_status check_numbers(check *c, const zf_block_view *view) {
    const zf_shape *shape = c->shape;
    for (uint32_t p = 0; p < shape->param_count; p++) {
        c->subject = shape->params[p].path;
        if (!zf_element_holds(shape->params[p].type, view->params[p])) {
            return REFUSE(c, ZF_E_V20, "V20: param `%s` is %#llx, which is not a value of %s", shape->params[p].path,
                          (ull)view->params[p], zf_element_name(shape->params[p].type));
        }
    }
    c->subject = "";
    if (view->counts[0] != view->rows) {
        return REFUSE(c, ZF_E_V23, "V23: %llu elements for %llu rows", (ull)view->counts[0], (ull)view->rows);
    }
    if (!zf_text_bytes_fit(shape, view->counts, view->rows, view->plain_bytes)) {
        return REFUSE_AT(c, ZF_E_V23, 32,
                         "V23: %llu plain bytes are more than %llu strings can have, or fewer than their nulls take",
                         (ull)view->plain_bytes, (ull)view->rows);
    }
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        c->subject = shape->edges[e].path;
        if (view->counts[e] > ZF_EDGE_ELEMENTS_MOST) {
            return REFUSE(c, ZF_E_V25, "V25: %llu elements on edge `%s` are more than 2^32", (ull)view->counts[e],
                          shape->edges[e].path);
        }
    }
    c->subject = NULL;
    return ZF_OK;
}

/// Places the next part. False where it is not inside the block: what is read before all parts are placed must be.
static bool placed_inside(zf_placing *placing, uint64_t alignment, uint64_t bytes, uint64_t size, uint64_t *offset) {
    return zf_placing_add(placing, alignment, bytes, offset) && bytes <= size && *offset <= size - bytes;
}

static zf_status check_streams(check *c, const uint8_t *rows, uint64_t size, zf_placing *placing, zf_block_view *view) {
    const zf_shape *shape = c->shape;
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        const zf_shape_edge *edge = &shape->edges[e];
        if (edge->stored < 0) continue;
        c->subject = edge->path;
        const uint8_t *row = rows + ZF_BLOCK_STREAM_BYTES * (size_t)edge->stored;
        zf_stream_view *stream = &view->streams[edge->stored];
        *stream = (zf_stream_view){zf_load64(row), zf_load64(row + 8), zf_load64(row + 16)};
        uint64_t bytes = 0, offset = 0;
        if (stream->elements != view->counts[e]) {
            return REFUSE(c, ZF_E_V23, "V23: stream `%s` has %llu elements, its edge %llu", edge->path, (ull)stream->elements,
                          (ull)view->counts[e]);
        }
        if (!zf_elements_bytes(stream->elements, zf_element_bits(edge->type), &bytes) || bytes != stream->bytes) {
            return REFUSE(c, ZF_E_V23, "V23: stream `%s` has %llu bytes for %llu elements of %s", edge->path, (ull)stream->bytes,
                          (ull)stream->elements, zf_element_name(edge->type));
        }
        if (!placed_inside(placing, ZF_FORMAT_ALIGNMENT, bytes, size, &offset) || offset != stream->offset) {
            return REFUSE(c, ZF_E_BLOCK_HEADER, "stream `%s` of %llu bytes cannot be at byte %llu of the block", edge->path,
                          (ull)bytes, (ull)stream->offset);
        }
    }
    c->subject = NULL;
    return ZF_OK;
}

static const char *edge_name(const zf_shape *shape, uint32_t edge) {
    return shape->edges[edge].path[0] != 0 ? shape->edges[edge].path : "(column)";
}

/// Chunks stand in order and inside their stream: kernels rely on it.
static zf_status check_directory(check *c, const zf_block_view *view, uint32_t t, uint32_t f) {
    const zf_shape_field *field = &c->shape->trees[t].fields[f];
    const zf_seek_view *seek = &view->seeks[t];
    uint64_t before = 0, count = view->counts[field->edge], width = seek->widths[f];
    const uint8_t *at = view->base + seek->offsets[f];
    c->subject = c->shape->edges[field->edge].path;
    for (uint64_t e = 0; width > 0 && e < seek->entries; e++, at += width) {
        uint64_t start = 0;
        memcpy(&start, at, width); // little-endian
        if (start < before || start > count) {
            return REFUSE_AT(c, ZF_E_V22, at - view->base,
                             "V22: chunk %llu of `%s` starts at element %llu of stream `%s`, %s %llu", (ull)(e + 1),
                             edge_name(c->shape, c->shape->trees[t].edge), (ull)start, edge_name(c->shape, field->edge),
                             start < before ? "the one before at" : "which has", (ull)(start < before ? before : count));
        }
        before = start;
    }
    return ZF_OK;
}

/// Entry `e` of a field, and the byte at which it stands.
static uint64_t entry_of(const zf_block_view *view, uint32_t t, uint32_t f, uint64_t e, uint64_t *at) {
    const zf_seek_view *seek = &view->seeks[t];
    uint64_t value = 0, width = seek->widths[f];
    *at = seek->offsets[f] + e * width;
    memcpy(&value, view->base + *at, width); // little-endian
    return value;
}

/// Chunks fill the outputs without gaps, each with as many as the codec allows.
static zf_status check_outputs(check *c, const zf_block_view *view, uint32_t t) {
    const zf_shape_tree *tree = &c->shape->trees[t];
    const char *name = edge_name(c->shape, tree->edge);
    uint64_t chunks = view->seeks[t].entries, count = view->counts[tree->edge], most = view->seeks[t].interval, at = 0;
    uint64_t start = chunks > 0 ? entry_of(view, t, 0, 0, &at) : 0;
    c->subject = c->shape->edges[tree->edge].path;
    if (start != 0) return REFUSE_AT(c, ZF_E_V22, at, "V22: chunk 0 of `%s` starts at output %llu", name, (ull)start);
    for (uint64_t k = 0; k < chunks; k++) {
        // Errors of the last chunk report the place of the last entry.
        uint64_t end = k + 1 < chunks ? entry_of(view, t, 0, k + 1, &at) : count;
        if (end <= start || end > count) {
            return REFUSE_AT(c, ZF_E_V22, at, "V22: chunk %llu of `%s` starts at output %llu and ends at %llu of %llu", (ull)k,
                             name, (ull)start, (ull)end, (ull)count);
        }
        if (end - start > most) {
            return REFUSE_AT(c, ZF_E_V22, at, "V22: chunk %llu of `%s` has %llu outputs; its codec has chunks of at most %llu",
                             (ull)k, name, (ull)(end - start), (ull)most);
        }
        if (c->shape->edges[tree->edge].type == ZF_BOOL && k + 1 < chunks && end % 8 != 0) {
            return REFUSE_AT(c, ZF_E_V22, at, "V22: chunk %llu of `%s` starts at output %llu, inside a byte of bits",
                             (ull)(k + 1), name, (ull)end);
        }
        start = end;
    }
    return ZF_OK;
}

/// Parts of a stream stand in its order, do not overlap, and are inside it. Between them there may be elements of no chunk.
static zf_status check_parts(check *c, const zf_block_view *view, uint32_t t, uint32_t f) {
    const zf_shape_tree *tree = &c->shape->trees[t];
    uint32_t edge = tree->fields[f].edge;
    const char *name = edge_name(c->shape, tree->edge), *stream = edge_name(c->shape, edge);
    uint64_t count = view->counts[edge], behind = 0, at, length_at;
    c->subject = c->shape->edges[edge].path;
    for (uint64_t k = 0; k < view->seeks[t].entries; k++) {
        uint64_t start = entry_of(view, t, f, k, &at), length = entry_of(view, t, f + 1, k, &length_at);
        if (start < behind || start > count) {
            return REFUSE_AT(c, ZF_E_V22, at, "V22: chunk %llu of `%s` starts at element %llu of stream `%s`, %s %llu", (ull)k,
                             name, (ull)start, stream, start < behind ? "the one before ends at" : "which has",
                             (ull)(start < behind ? behind : count));
        }
        if (length > count - start) {
            return REFUSE_AT(c, ZF_E_V22, length_at,
                             "V22: chunk %llu of `%s` has %llu elements from %llu on of stream `%s`, which has %llu", (ull)k,
                             name, (ull)length, (ull)start, stream, (ull)count);
        }
        behind = start + length;
    }
    return ZF_OK;
}

static zf_status check_uneven(check *c, const zf_block_view *view, uint32_t t) {
    ZF_TRY(check_outputs(c, view, t));
    for (uint32_t f = 1; f < c->shape->trees[t].field_count; f += 2) ZF_TRY(check_parts(c, view, t, f));
    return ZF_OK;
}

/// The number of chunks of a directory, or of states of a tree.
static zf_status check_entries(check *c, const zf_block_view *view, uint32_t t) {
    const zf_shape_tree *tree = &c->shape->trees[t];
    const zf_seek_view *seek = &view->seeks[t];
    uint64_t count = view->counts[tree->edge], entries = zf_seek_entries(count, seek->interval);
    if (tree->directory == ZF_DIRECTORY_UNEVEN && ((seek->entries == 0) != (count == 0) || seek->entries > count)) {
        return REFUSE(c, ZF_E_V22, "V22: the chunk directory of `%s` has %llu chunks for %llu elements",
                      edge_name(c->shape, tree->edge), (ull)seek->entries, (ull)count);
    }
    if (tree->directory == ZF_DIRECTORY_EVEN && seek->entries != entries) {
        return REFUSE(c, ZF_E_V22, "V22: the chunk directory of `%s` has %llu entries for %llu elements in chunks of %u",
                      edge_name(c->shape, tree->edge), (ull)seek->entries, (ull)count, seek->interval);
    }
    if (tree->directory == ZF_DIRECTORY_NONE && seek->entries != 0 && seek->entries != entries) {
        return REFUSE(c, ZF_E_V23, "V23: seek tree %u has %llu states; its edge needs %llu", t, (ull)seek->entries, (ull)entries);
    }
    return ZF_OK;
}

static zf_status check_seeks(check *c, const uint8_t *trees, const uint8_t *fields, uint64_t size, zf_placing *placing,
                             zf_block_view *view, uint64_t *offsets, uint8_t *widths) {
    const zf_shape *shape = c->shape;
    for (uint32_t t = 0; t < shape->tree_count; t++, trees += ZF_BLOCK_TREE_BYTES) {
        const zf_shape_tree *tree = &shape->trees[t];
        zf_seek_view *seek = &view->seeks[t];
        c->subject = shape->edges[tree->edge].path;
        zf_abi_directory directory;
        uint32_t interval = zf_tree_unpack(zf_load32(trees), &directory);
        *seek = (zf_seek_view){interval, zf_load64(trees + 8), zf_load64(trees + 16), offsets, widths};
        if (directory != tree->directory || zf_load32(trees + 4) != tree->field_count ||
            !zf_tree_interval_valid(directory, interval)) {
            return REFUSE(c, ZF_E_BLOCK_HEADER, "%s %u has %u fields and %s every %u elements",
                          directory ? "chunk directory" : "seek tree", t, zf_load32(trees + 4), directory ? "a chunk" : "a state",
                          interval);
        }
        ZF_TRY(check_entries(c, view, t));
        for (uint32_t f = 0; f < tree->field_count; f++, fields += ZF_BLOCK_FIELD_BYTES, offsets++, widths++) {
            uint64_t offset = zf_load64(fields), width = zf_load64(fields + 8), bytes = 0, wanted = 0;
            bool known = width == 0 || width == 1 || width == 2 || width == 4 || width == 8;
            if (!known || width > tree->fields[f].bytes || (width > 0 && seek->entries == 0)) {
                return REFUSE(c, ZF_E_BLOCK_HEADER, "seek field %s has %llu bytes an entry", tree->fields[f].name, (ull)width);
            }
            // entries are at most 2^32, so that this product cannot overflow
            bytes = seek->entries * width;
            if (width > 0 && !placed_inside(placing, ZF_FORMAT_FIELD_ALIGNMENT, bytes, size, &wanted)) {
                return REFUSE(c, ZF_E_BLOCK_HEADER, "seek field %s leaves the block", tree->fields[f].name);
            }
            if (offset != wanted) {
                return REFUSE(c, ZF_E_BLOCK_HEADER, "seek field %s of %llu bytes cannot be at byte %llu of the block",
                              tree->fields[f].name, (ull)bytes, (ull)offset);
            }
            *offsets = offset;
            *widths = (uint8_t)width;
            if (directory == ZF_DIRECTORY_EVEN && view->base != NULL) ZF_TRY(check_directory(c, view, t, f));
        }
        if (directory == ZF_DIRECTORY_UNEVEN && view->base != NULL) ZF_TRY(check_uneven(c, view, t));
    }
    c->subject = NULL;
    return ZF_OK;
}

/// `whole`: the bytes of the block are there, not its header alone.
static zf_status check_block(const zf_shape *shape, const void *bytes, uint64_t size, bool whole, bool checksum,
                             const char *place, zf_block_view *out, zf_error *error) {
    *out = (zf_block_view){.base = whole ? bytes : NULL, .bytes = size, .shape = shape};
    check c = {shape, place, error, NULL};
    const char *fault = zf_shape_fault(shape);
    if (fault != NULL) return REFUSE(&c, ZF_E_INTERNAL, "the shape of a block has %s", fault);
    if ((uintptr_t)bytes % ZF_FORMAT_ALIGNMENT != 0) return REFUSE(&c, ZF_E_INTERNAL, "a block that is not aligned to 256");
    if (size >= ZF_BLOCK_FIXED_BYTES) ZF_TRY(check_version(&c, bytes, out));
    uint64_t header_bytes = zf_block_header_bytes(shape, out->version);
    if (size < header_bytes || size % ZF_FORMAT_ALIGNMENT != 0) {
        return REFUSE(&c, ZF_E_BLOCK_HEADER, "a block of %llu bytes cannot hold its header of %llu", (ull)size,
                      (ull)header_bytes);
    }
    // One piece of memory: the header's copy, then the views, then the seek fields' offsets and widths.
    uint32_t field_count = zf_shape_fields(shape);
    size_t at_streams = (header_bytes + 7) / 8 * 8;
    size_t at_seeks = at_streams + shape->stored_count * sizeof(zf_stream_view);
    size_t at_offsets = at_seeks + shape->tree_count * sizeof(zf_seek_view);
    size_t at_widths = at_offsets + field_count * sizeof(uint64_t);
    uint8_t *memory = malloc(at_widths + field_count);
    if (memory == NULL) return REFUSE(&c, ZF_E_NO_MEMORY, "no memory for a block's header");
    memcpy(memory, bytes, header_bytes);
    const uint8_t *params = memory + ZF_BLOCK_FIXED_BYTES, *counts = params + UINT64_C(8) * shape->param_count;
    const uint8_t *streams = counts + UINT64_C(8) * shape->edge_count;
    const uint8_t *trees = streams + (uint64_t)ZF_BLOCK_STREAM_BYTES * shape->stored_count;
    const uint8_t *fields = trees + (uint64_t)ZF_BLOCK_TREE_BYTES * shape->tree_count;
    out->memory = memory;
    out->params = (const uint64_t *)(const void *)params; // the fixed part is a multiple of 8, and so is every table
    out->counts = (const uint64_t *)(const void *)counts;
    out->streams = (zf_stream_view *)(void *)(memory + at_streams);
    out->seeks = (zf_seek_view *)(void *)(memory + at_seeks);
    zf_placing placing = zf_placing_start(header_bytes);
    uint64_t placed = 0;
    zf_status status = check_fixed(&c, memory, size, out);
    if (status == ZF_OK && checksum) {
        uint64_t sum = zf_checksum((const uint8_t *)bytes + 8, size - 8);
        if (sum != zf_load64(memory)) {
            status = REFUSE(&c, ZF_E_V24, "V24: the block's checksum is %016llx, its bytes give %016llx", (ull)zf_load64(memory),
                            (ull)sum);
        }
    }
    uint64_t at_end = header_bytes - ZF_BLOCK_END_BYTES;
    if (status == ZF_OK && out->version >= 2) status = check_end(&c, memory + at_end, at_end, out);
    if (status == ZF_OK) status = check_numbers(&c, out);
    if (status == ZF_OK) status = check_streams(&c, streams, size, &placing, out);
    if (status == ZF_OK) {
        status =
            check_seeks(&c, trees, fields, size, &placing, out, (uint64_t *)(void *)(memory + at_offsets), memory + at_widths);
    }
    if (status == ZF_OK && (!zf_placing_size(&placing, &placed) || placed != size)) {
        status = REFUSE(&c, ZF_E_BLOCK_HEADER, "the parts of the block fill %llu of its %llu bytes", (ull)placed, (ull)size);
    }
    if (status != ZF_OK) {
        zf_block_view_free(out);
        out->refused = c.subject;
    }
    return status;
}

zf_status zf_block_check(const zf_shape *shape, const void *bytes, uint64_t size, bool checksum, const char *place,
                         zf_block_view *out, zf_error *error) {
    return check_block(shape, bytes, size, true, checksum, place, out, error);
}

zf_status zf_block_check_header(const zf_shape *shape, const void *header, uint64_t size, const char *place, zf_block_view *out,
                                zf_error *error) {
    return check_block(shape, header, size, false, false, place, out, error);
}

void zf_block_view_free(zf_block_view *view) {
    if (view == NULL) return;
    free(view->memory);
    free(view->owned);
    *view = (zf_block_view){0};
}
