// Accounting for every byte of a file: which part of the container it is.
#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_open.h"

/// Tells parts in order, and names what lies between them padding.
typedef struct reporter {
    void (*part)(void *user, const zf_container_part *part);
    void *user;
    uint64_t next; ///< everything below was reported
} reporter;

static void report(reporter *t, uint64_t offset, uint64_t bytes, const char *kind, int64_t column, int64_t block,
                   const char *name) {
    zf_container_part part = {offset, bytes, kind, column, block, name};
    if (offset > t->next) {
        zf_container_part padding = {t->next, offset - t->next, "padding", column, block, ""};
        t->part(t->user, &padding);
    }
    if (bytes > 0) t->part(t->user, &part);
    t->next = offset + bytes;
}

/// A block and its place among all.
typedef struct placed {
    uint64_t offset;
    uint32_t column;
    uint64_t block;
} placed;

static int compare(const void *a, const void *b) {
    const placed *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static zf_status report_block(reporter *t, zf_container *c, const placed *where, zf_error *error) {
    zf_block_view view;
    int64_t column = where->column, block = (int64_t)where->block;
    ZF_TRY(zf_container_block_header(c, where->column, where->block, &view, error));
    const zf_shape *shape = view.shape;
    report(t, where->offset, zf_block_header_bytes(shape, view.version), "block header", column, block, "");
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        if (shape->edges[e].stored < 0 || view.streams[shape->edges[e].stored].bytes == 0) continue;
        const zf_stream_view *stream = &view.streams[shape->edges[e].stored];
        report(t, where->offset + stream->offset, stream->bytes, "stream", column, block, shape->edges[e].path);
    }
    for (uint32_t k = 0; k < shape->tree_count; k++) {
        const zf_seek_view *seek = &view.seeks[k];
        for (uint32_t f = 0; f < shape->trees[k].field_count; f++) {
            if (seek->widths[f] == 0) continue;
            report(t, where->offset + seek->offsets[f], seek->entries * seek->widths[f],
                   shape->trees[k].directory ? "directory" : "seek", column, block, shape->trees[k].fields[f].name);
        }
    }
    report(t, where->offset + view.bytes, 0, "", column, block, "");
    zf_block_view_free(&view);
    return ZF_OK;
}

static zf_status report_blocks(reporter *t, zf_container *c, zf_error *error) {
    uint64_t count = 0, n = 0;
    for (uint32_t k = 0; k < c->index.column_count; k++) count += c->index.columns[k].block_count;
    placed *blocks = malloc((count == 0 ? 1 : count) * sizeof *blocks);
    if (blocks == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a list of blocks");
    for (uint32_t k = 0; k < c->index.column_count; k++) {
        for (uint64_t b = 0; b < c->index.columns[k].block_count; b++) {
            blocks[n++] = (placed){c->index.columns[k].blocks[b].offset, k, b};
        }
    }
    qsort(blocks, count, sizeof *blocks, compare);
    zf_status status = ZF_OK;
    for (uint64_t i = 0; i < count && status == ZF_OK; i++) status = report_block(t, c, &blocks[i], error);
    free(blocks);
    return status;
}

zf_status zf_container_account(zf_container *c, void (*part)(void *user, const zf_container_part *part), void *user,
                               zf_error *error) {
    reporter t = {part, user, 0};
    const zf_index *index = &c->index;
    uint64_t base = c->index_offset;
    report(&t, 0, ZF_FORMAT_HEADER_BYTES, "header", -1, -1, "");
    ZF_TRY(report_blocks(&t, c, error));
    report(&t, base, index->at_unit, "index", -1, -1, "");
    report(&t, base + index->at_unit, index->at_columns - index->at_unit, "text", -1, -1, "");
    for (uint32_t k = 0; k < index->column_count; k++) {
        const zf_index_column *column = &index->columns[k];
        report(&t, base + column->at, column->at_blocks - column->at, "index", k, -1, "column");
        report(&t, base + column->at_blocks, column->at_end - column->at_blocks, "index", k, -1, "blocks");
    }
    report(&t, base + index->at_sections, index->at_end - index->at_sections, "index", -1, -1, "sections");
    report(&t, base + c->index_bytes, 0, "", -1, -1, "");
    report(&t, base + c->index_bytes, ZF_FORMAT_FOOTER_BYTES, "footer", -1, -1, "");
    return ZF_OK;
}
