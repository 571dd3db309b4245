// Laying out a block: header, streams, seek fields, exactly as they stand in the file.
#include <stdlib.h>

#include "runtime/base/checksum.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"

/// Bytes an entry of a seek field: as few as its largest entry needs. 0 when all entries are 0.
static uint32_t field_width(const uint64_t *values, uint64_t entries) {
    uint64_t all = 0;
    for (uint64_t e = 0; e < entries; e++) all |= values[e];
    if (all == 0) return 0;
    if (all <= UINT8_MAX) return 1;
    if (all <= UINT16_MAX) return 2;
    return all <= UINT32_MAX ? 4 : 8;
}

static void store_field(uint8_t *to, const uint64_t *values, uint64_t entries, uint32_t width) {
    for (uint64_t e = 0; e < entries; e++) memcpy(to + e * width, &values[e], width); // little-endian: the low bytes first
}

/// Checks that the encoder's data meets the demands of a reader.
static zf_status check_data(const zf_shape *shape, const zf_block_data *block, zf_error *error) {
    const char *fault = zf_shape_fault(shape);
    if (fault != NULL) return zf_raise(error, ZF_E_INTERNAL, "the shape of a block has %s", fault);
    if (block->version == 1 && zf_block_features(shape) != 0)
        return zf_raise(error, ZF_E_INTERNAL, "a block of version 1 with uneven chunks");
    if (block->counts[0] != block->rows) {
        return zf_raise(error, ZF_E_INTERNAL, "a block of %llu rows whose column has %llu elements",
                        (unsigned long long)block->rows, (unsigned long long)block->counts[0]);
    }
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        const zf_shape_edge *edge = &shape->edges[e];
        if (block->counts[e] > ZF_EDGE_ELEMENTS_MOST) {
            return zf_raise(error, ZF_E_V25, "V25: %llu elements on edge `%s` are more than 2^32",
                            (unsigned long long)block->counts[e], edge->path);
        }
        if (edge->stored < 0) continue;
        const zf_stream_data *stream = &block->streams[edge->stored];
        uint64_t bytes = 0;
        if (stream->elements != block->counts[e] || !zf_elements_bytes(stream->elements, zf_element_bits(edge->type), &bytes) ||
            bytes != stream->bytes) {
            return zf_raise(error, ZF_E_INTERNAL, "stream `%s` has %llu bytes for %llu elements of %s", edge->path,
                            (unsigned long long)stream->bytes, (unsigned long long)stream->elements, zf_element_name(edge->type));
        }
    }
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_seek_data *seek = &block->seeks[t];
        zf_abi_directory directory = shape->trees[t].directory;
        if (!zf_tree_interval_valid(directory, seek->interval)) {
            return zf_raise(error, ZF_E_INTERNAL, "a seek interval of %u", seek->interval);
        }
        uint64_t count = block->counts[shape->trees[t].edge], entries = zf_seek_entries(count, seek->interval);
        if (directory == ZF_DIRECTORY_UNEVEN) {
            if (seek->entries <= count && (seek->entries == 0) == (count == 0)) continue;
            return zf_raise(error, ZF_E_INTERNAL, "%llu chunks of %llu outputs", (unsigned long long)seek->entries,
                            (unsigned long long)count);
        }
        if ((directory == ZF_DIRECTORY_EVEN || seek->entries != 0) && seek->entries != entries) {
            return zf_raise(error, ZF_E_INTERNAL, "%llu seek states; the tiles need %llu", (unsigned long long)seek->entries,
                            (unsigned long long)entries);
        }
    }
    return ZF_OK;
}

zf_status zf_block_layout(const zf_shape *shape, const zf_block_data *block, void **bytes, uint64_t *size, zf_error *error) {
    *bytes = NULL;
    *size = 0;
    ZF_TRY(check_data(shape, block, error));
    unsigned version = block->version != 0 ? block->version : ZF_FORMAT_VERSION;
    uint64_t header = zf_block_header_bytes(shape, version);
    uint8_t *table = calloc(1, header); // the header, built before the block's size is known
    uint8_t *out = NULL;
    zf_status status = ZF_OK;
    if (table == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a block's header");
    zf_placing placing = zf_placing_start(header);
    uint8_t *params = table + ZF_BLOCK_FIXED_BYTES, *counts = params + UINT64_C(8) * shape->param_count;
    uint8_t *streams = counts + UINT64_C(8) * shape->edge_count;
    uint8_t *trees = streams + (uint64_t)ZF_BLOCK_STREAM_BYTES * shape->stored_count;
    uint8_t *fields = trees + (uint64_t)ZF_BLOCK_TREE_BYTES * shape->tree_count;
    for (uint32_t p = 0; p < shape->param_count; p++) zf_store64(params + 8 * (size_t)p, block->params[p]);
    for (uint32_t e = 0; e < shape->edge_count; e++) zf_store64(counts + 8 * (size_t)e, block->counts[e]);
    bool fits = true;
    for (uint32_t s = 0; s < shape->stored_count; s++) {
        uint8_t *row = streams + ZF_BLOCK_STREAM_BYTES * (size_t)s;
        uint64_t offset = 0;
        fits = fits && zf_placing_add(&placing, ZF_FORMAT_ALIGNMENT, block->streams[s].bytes, &offset);
        zf_store64(row, offset);
        zf_store64(row + 8, block->streams[s].bytes);
        zf_store64(row + 16, block->streams[s].elements);
    }
    uint8_t *field = fields;
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_seek_data *seek = &block->seeks[t];
        uint8_t *row = trees + ZF_BLOCK_TREE_BYTES * (size_t)t;
        zf_store32(row, zf_tree_word(&shape->trees[t], seek->interval));
        zf_store32(row + 4, shape->trees[t].field_count);
        zf_store64(row + 8, seek->entries);
        zf_store64(row + 16, seek->most_groups);
        for (uint32_t f = 0; f < shape->trees[t].field_count; f++, field += ZF_BLOCK_FIELD_BYTES) {
            uint32_t width = seek->entries == 0 ? 0 : field_width(seek->values + f * seek->entries, seek->entries);
            if (width > shape->trees[t].fields[f].bytes) {
                status = zf_raise(error, ZF_E_INTERNAL, "seek state %s does not fit its %u bytes", shape->trees[t].fields[f].name,
                                  shape->trees[t].fields[f].bytes);
                goto done;
            }
            uint64_t offset = 0; // a field without bytes is never loaded; 0 keeps a load inside all the same
            if (width > 0) {
                fits = fits && zf_placing_add(&placing, ZF_FORMAT_FIELD_ALIGNMENT, seek->entries * width, &offset);
            }
            zf_store64(field, offset);
            zf_store64(field + 8, width);
        }
    }
    uint64_t total = 0;
    if (!fits || !zf_placing_size(&placing, &total) || (out = aligned_alloc(ZF_FORMAT_ALIGNMENT, total)) == NULL) {
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a block of %llu bytes", (unsigned long long)total);
        goto done;
    }
    zf_store32(table + 8, ZF_BLOCK_MAGIC);
    zf_store32(table + 12, block->shape);
    zf_store64(table + 16, total);
    zf_store64(table + 24, block->rows);
    zf_store64(table + 32, block->plain_bytes);
    zf_store32(table + 40, shape->param_count);
    zf_store32(table + 44, shape->edge_count);
    zf_store32(table + 48, shape->stored_count);
    zf_store32(table + 52, shape->tree_count);
    zf_store32(table + 56, zf_shape_fields(shape));
    zf_store32(table + 60, version >= 2 ? version : 0);
    if (version >= 2) {
        zf_store64(table + header - ZF_BLOCK_END_BYTES, zf_block_features(shape));
        zf_store64(table + header - ZF_BLOCK_END_BYTES + 16, block->first_row);
    }
    memcpy(out, table, header);
    uint64_t position = header; // everything below it is written
    for (uint32_t s = 0; s < shape->stored_count; s++) {
        if (block->streams[s].bytes == 0) continue;
        uint64_t offset = zf_load64(streams + ZF_BLOCK_STREAM_BYTES * (size_t)s);
        memset(out + position, 0, offset - position);
        memcpy(out + offset, block->streams[s].data, block->streams[s].bytes);
        position = offset + block->streams[s].bytes;
    }
    memset(out + position, 0, total - position);
    field = fields;
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_seek_data *seek = &block->seeks[t];
        for (uint32_t f = 0; f < shape->trees[t].field_count; f++, field += ZF_BLOCK_FIELD_BYTES) {
            uint32_t width = (uint32_t)zf_load64(field + 8);
            if (width > 0) store_field(out + zf_load64(field), seek->values + f * seek->entries, seek->entries, width);
        }
    }
    zf_store64(out, zf_checksum(out + 8, total - 8));
    *bytes = out;
    *size = total;
    out = NULL;
done:
    free(out);
    free(table);
    return status;
}
