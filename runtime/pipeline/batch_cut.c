// Columns cut into transfer units.
#include <math.h>
#include <stdlib.h>

#include "runtime/container/container_format.h"
#include "runtime/decode/decode_unit_internal.h"
#include "runtime/pipeline/batch_parts.h"

typedef unsigned long long ull;

/// Sums over a unit's blocks.
typedef struct span {
    uint64_t blocks;
    zf_batch_unit described;
    uint64_t offset, bytes;
    zf_units_bounds bounds;
} span;

static uint64_t whole_pages(uint64_t bytes) { return zf_align_up(bytes, ZF_PIPELINE_ALIGNMENT, &bytes) ? bytes : UINT64_MAX; }

static uint64_t ring_bytes(const zf_requested *request, const span *s) {
    uint64_t file = request->given.container->loaded ? 0 : s->offset % ZF_PIPELINE_ALIGNMENT + s->bytes; // whole pages
    return whole_pages(s->bounds.head) + whole_pages(file);
}

static zf_status too_large(const zf_requested *request, uint64_t block, const char *memory, uint64_t bytes, uint64_t all,
                           zf_error *error) {
    zf_status status =
        zf_raise(error, ZF_E_STAGING, "a block needs %llu bytes of %s, and the pipeline has %llu", (ull)bytes, memory, (ull)all);
    zf_fail_place(error, status, "%s: column %s, block %llu", zf_container_short_path(request->given.container),
                  zf_requested_column(request)->shown, (ull)block);
    return zf_fail_hint(error, status, "make the pipeline with more staging memory");
}

/// Whether the unit stays within the pipeline's sizes; a single block need only fit at all.
static bool fits(const zf_pipeline *p, const zf_requested *request, const span *s) {
    if (s->bytes > p->options.unit_bytes) return false;
    if (p->accelerator == NULL) return true;
    // A third of the memory: one is copied while one is decoded, and the next one read.
    return s->bounds.workspace <= p->options.device_staging / 3 && ring_bytes(request, s) <= p->options.host_staging / 3;
}

static zf_status check_single(const zf_pipeline *p, const zf_requested *request, uint64_t block, const span *s, zf_error *error) {
    if (p->accelerator == NULL) return ZF_OK;
    if (s->bounds.workspace > p->options.device_staging)
        return too_large(request, block, "device memory", s->bounds.workspace, p->options.device_staging, error);
    if (ring_bytes(request, s) > p->options.host_staging)
        return too_large(request, block, "pinned host memory", ring_bytes(request, s), p->options.host_staging, error);
    return ZF_OK;
}

/// `s` with one more block.
static zf_status extend(const zf_requested *request, const zf_index_block *block, uint64_t index, span *s, zf_error *error) {
    if (request->column != NULL) {
        zf_units_bounds more;
        ZF_TRY(zf_units_block_bounds(request->column, index, &more, error));
        if (__builtin_add_overflow(s->bounds.workspace, more.workspace, &s->bounds.workspace)) s->bounds.workspace = UINT64_MAX;
        s->bounds.head += more.head;
        s->bounds.words += more.words;
    }
    if (s->blocks++ == 0) {
        s->offset = block->offset;
        s->described.first_row = block->first_row;
    }
    s->bytes = block->offset + block->bytes - s->offset;
    s->described.rows += block->rows;
    s->described.stored_bytes += block->bytes;
    s->described.plain_bytes += block->plain_bytes;
    return ZF_OK;
}

static zf_status add_transfer(zf_batch *batch, size_t *room, uint32_t request, uint64_t first, const span *s, zf_error *error) {
    if (batch->count == *room) {
        size_t more = *room == 0 ? 64 : *room * 2;
        zf_transfer *grown = realloc(batch->transfers, more * sizeof *grown);
        if (grown == NULL) return zf_batch_no_memory(error);
        batch->transfers = grown;
        *room = more;
    }
    zf_transfer *transfer = &batch->transfers[batch->count++];
    *transfer = (zf_transfer){.batch = batch, .request = request, .first = first, .last = first + s->blocks};
    transfer->file_offset = s->offset;
    transfer->file_bytes = s->bytes;
    transfer->host_bytes = ring_bytes(&batch->requests[request], s);
    if (transfer->host_bytes == 0) transfer->host_bytes = ZF_PIPELINE_ALIGNMENT;
    transfer->head_bytes = whole_pages(s->bounds.head);
    transfer->device_bytes = s->blocks > 0 ? s->bounds.workspace : ZF_PIPELINE_DEVICE_ALIGNMENT; // without blocks: a gap
    transfer->word_room = (uint32_t)s->bounds.words;
    transfer->described = s->described;
    transfer->described.request = request;
    transfer->described.blocks = s->blocks;
    transfer->described.device_bytes = transfer->device_bytes;
    transfer->measured = (zf_unit_times){NAN, NAN, NAN, NAN, NAN, NAN};
    batch->requests[request].units++;
    batch->info.stored_bytes += s->described.stored_bytes;
    batch->info.plain_bytes += s->described.plain_bytes;
    return ZF_OK;
}

/// The blocks of the container's column that have rows wanted.
static void blocks_of(const zf_requested *request, uint64_t *first, uint64_t *last) {
    const zf_decode_options *options = &request->given.options;
    const zf_index_column *column = zf_requested_column(request);
    uint64_t rows = column->rows, begin = 0, end = rows;
    if (options->some_rows) {
        begin = options->row_begin;
        if (options->row_count != UINT64_MAX) end = begin + options->row_count;
    }
    *first = *last = 0;
    if (begin == end) return;
    *first = zf_index_block_of(column, begin);
    *last = zf_index_block_of(column, end - 1) + 1;
}

zf_status zf_batch_cut(zf_batch *batch, size_t *room, uint32_t number, zf_error *error) {
    const zf_pipeline *p = batch->pipeline;
    zf_requested *request = &batch->requests[number];
    const zf_index_column *column = zf_requested_column(request);
    uint64_t first, last, begin = 0;
    span whole = {0};
    blocks_of(request, &first, &last);
    request->first_block = first;
    for (uint64_t b = first; b < last; b++) {
        const zf_index_block *block = &column->blocks[b];
        span more = whole, single = {0};
        bool follows = whole.blocks > 0 && whole.offset + whole.bytes == block->offset;
        if (follows) ZF_TRY(extend(request, block, b - first, &more, error));
        if (follows && fits(p, request, &more)) {
            whole = more;
            continue;
        }
        if (whole.blocks > 0) ZF_TRY(add_transfer(batch, room, number, begin, &whole, error));
        begin = b - first;
        ZF_TRY(extend(request, block, begin, &single, error));
        ZF_TRY(check_single(p, request, b, &single, error));
        whole = single;
    }
    return add_transfer(batch, room, number, begin, &whole, error);
}
