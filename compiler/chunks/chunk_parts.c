#include "compiler/chunks/chunk_parts.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/container/element.h"

bool zf_chunk_parts_begin(zf_chunk_parts *parts, const zf_shape *shape) {
    *parts = (zf_chunk_parts){.shape = shape};
    parts->streams = calloc(shape->stored_count + 1, sizeof *parts->streams);
    parts->directories = calloc(shape->tree_count + 1, sizeof *parts->directories);
    parts->counts = calloc(shape->edge_count + 1, sizeof *parts->counts);
    parts->stream_data = calloc(shape->stored_count + 1, sizeof *parts->stream_data);
    parts->seeks = calloc(shape->tree_count + 1, sizeof *parts->seeks);
    parts->no_memory = parts->streams == NULL || parts->directories == NULL || parts->counts == NULL ||
                       parts->stream_data == NULL || parts->seeks == NULL;
    for (uint32_t e = 0; !parts->no_memory && e < shape->edge_count; e++) {
        if (shape->edges[e].stored < 0) continue;
        zf_chunk_stream_part *stream = &parts->streams[shape->edges[e].stored];
        stream->edge = e;
        stream->width = zf_element_bits(shape->edges[e].type) / 8;
    }
    return !parts->no_memory;
}

void zf_chunk_parts_free(zf_chunk_parts *parts) {
    for (uint32_t s = 0; parts->streams != NULL && s < parts->shape->stored_count; s++) free(parts->streams[s].bytes);
    for (uint32_t t = 0; parts->directories != NULL && t < parts->shape->tree_count; t++) free(parts->directories[t].fields);
    free(parts->streams);
    free(parts->directories);
    free(parts->counts);
    free(parts->stream_data);
    free(parts->seeks);
    free(parts->values);
    *parts = (zf_chunk_parts){0};
}

// Makes room for `wanted` things of `size` bytes.
static bool grow(zf_chunk_parts *parts, void **memory, uint64_t *room, uint64_t wanted, uint64_t size) {
    if (parts->no_memory || wanted <= *room) return !parts->no_memory;
    uint64_t more = wanted < 64 ? 64 : wanted + wanted / 2;
    void *larger = realloc(*memory, more * size);
    if (larger == NULL) {
        parts->no_memory = true;
        return false;
    }
    *memory = larger;
    *room = more;
    return true;
}

void zf_chunk_parts_reserve(zf_chunk_parts *parts, uint32_t stream, uint64_t count) {
    zf_chunk_stream_part *to = &parts->streams[stream];
    to->room = count * to->width;
    to->bytes = malloc(to->room + 1);
    parts->no_memory = parts->no_memory || to->bytes == NULL;
}

void zf_chunk_parts_append(zf_chunk_parts *parts, uint32_t stream, const void *elements, uint64_t count) {
    if (parts->no_memory || count == 0) return;
    zf_chunk_stream_part *to = &parts->streams[stream];
    uint64_t bytes = count * to->width;
    void *memory = to->bytes;
    if (!grow(parts, &memory, &to->room, to->size + bytes, 1)) return;
    to->bytes = memory;
    memcpy(to->bytes + to->size, elements, bytes);
    to->size += bytes;
    to->elements += count;
}

void zf_chunk_parts_enter(zf_chunk_parts *parts, uint32_t tree, const uint64_t *fields) {
    if (parts->no_memory) return;
    zf_chunk_directory_part *to = &parts->directories[tree];
    uint32_t count = parts->shape->trees[tree].field_count;
    void *memory = to->fields;
    if (!grow(parts, &memory, &to->room, to->entries + 1, count * sizeof *fields)) return;
    to->fields = memory;
    memcpy(to->fields + to->entries * count, fields, count * sizeof *fields);
    to->entries++;
}

uint32_t zf_chunk_parts_tree(const zf_shape *shape, uint32_t edge) {
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        if (shape->trees[t].edge == edge) return t;
    }
    return UINT32_MAX;
}

void zf_chunk_parts_data(zf_chunk_parts *parts, zf_block_data *out) {
    const zf_shape *shape = parts->shape;
    uint64_t all = 1;
    for (uint32_t t = 0; !parts->no_memory && t < shape->tree_count; t++)
        all += parts->directories[t].entries * shape->trees[t].field_count;
    if (!parts->no_memory) parts->values = malloc(all * sizeof *parts->values);
    parts->no_memory = parts->no_memory || parts->values == NULL;
    if (parts->no_memory) return;
    for (uint32_t s = 0; s < shape->stored_count; s++) {
        const zf_chunk_stream_part *from = &parts->streams[s];
        parts->stream_data[s] = (zf_stream_data){from->bytes, from->size, from->elements};
        parts->counts[from->edge] = from->elements;
    }
    uint64_t *at = parts->values;
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_chunk_directory_part *from = &parts->directories[t];
        uint32_t count = shape->trees[t].field_count;
        parts->seeks[t] = (zf_seek_data){.interval = shape->trees[t].interval, .entries = from->entries, .values = at};
        for (uint32_t f = 0; f < count; f++) {
            for (uint64_t e = 0; e < from->entries; e++) *at++ = from->fields[e * count + f];
        }
    }
    out->counts = parts->counts;
    out->streams = parts->stream_data;
    out->seeks = parts->seeks;
}
