// A batch: columns cut into transfer units, started, waited for.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/container_format.h"
#include "runtime/container_open.h"
#include "runtime/decode_host.h"
#include "runtime/decode_unit_internal.h"
#include "runtime/error_codes.h"
#include "runtime/pipeline/pipeline_internal.h"

typedef unsigned long long ull;

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a batch"); }

static const zf_index_column *column_of(const zf_requested *request) {
    return &request->given.container->index.columns[request->given.column];
}

static zf_status name_column(const zf_requested *request, zf_status status, zf_error *error) {
    return zf_fail_place(error, status, "%s: column %s", zf_container_short_path(request->given.container),
                         column_of(request)->name);
}

// ---- What a column needs --------------------------------------------------------------------------------------

static zf_status check_request(const zf_pipeline *p, const zf_pipeline_request *request, zf_error *error) {
    if (request->container == NULL) return zf_raise(error, ZF_E_ARGUMENT, "a request of a batch has no container");
    if (request->container->context != p->context)
        return zf_raise(error, ZF_E_ARGUMENT, "%.256s was opened in another context than the pipeline's",
                        request->container->path);
    if (request->on_device && p->accelerator == NULL)
        return zf_raise(error, ZF_E_NO_STREAMS, "device `%s` has no memory of its own", p->device.ops->name);
    return ZF_OK;
}

static zf_status make_column(const zf_pipeline *p, const zf_pipeline_request *request, zf_units_column **out, zf_error *error) {
    zf_units_options options = {.resident = true}; // units of a part lie side by side
    return zf_units_column_make(request->container, request->column, &request->options, &options, p->accelerator, out, error);
}

zf_status zf_pipeline_request_sizes(zf_pipeline *p, const zf_pipeline_request *request, zf_pipeline_sizes *out, zf_error *error) {
    if (p == NULL || request == NULL || out == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_pipeline_request_sizes needs a pipeline, a request and a place");
    *out = (zf_pipeline_sizes){0};
    ZF_TRY(check_request(p, request, error));
    if (!request->on_device) {
        ZF_TRY(zf_decode_size(request->container, request->column, &request->options, &out->host, error));
        if (p->accelerator != NULL) out->host.workspace = 0;
        return ZF_OK;
    }
    zf_units_column *column;
    ZF_TRY(make_column(p, request, &column, error));
    zf_units_sizes sizes = zf_units_column_sizes(column);
    zf_units_column_free(column);
    out->device = (zf_device_sizes){.values = sizes.values,
                                    .skip = sizes.skip,
                                    .offsets = sizes.offsets,
                                    .validity = sizes.validity,
                                    .validity_skip = sizes.validity_skip};
    return ZF_OK;
}

static zf_status check_buffers(const zf_requested *request, zf_error *error) {
    zf_units_sizes sizes = zf_units_column_sizes(request->column);
    const zf_device_buffers *device = &request->given.device;
    const zf_decode_buffers *host = &request->given.host;
    bool on_device = request->given.on_device;
    const struct {
        const char *name;
        uint64_t at, bytes;
    } needed[] = {{"values", on_device ? device->values : (uint64_t)(uintptr_t)host->values, sizes.values},
                  {"offsets", on_device ? device->offsets : (uint64_t)(uintptr_t)host->offsets, sizes.offsets},
                  {"validity", on_device ? device->validity : (uint64_t)(uintptr_t)host->validity, sizes.validity}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (needed[i].bytes == 0 || (needed[i].at != 0 && (!on_device || needed[i].at % 256 == 0))) continue;
        zf_status status = zf_raise(error, ZF_E_BUFFER, "the buffer `%s` is missing%s", needed[i].name,
                                    on_device ? ", or not aligned to 256 bytes" : "");
        return name_column(request, status, error);
    }
    return ZF_OK;
}

/// Memory of the device for rows that go to the host.
static zf_status take_rows(zf_requested *request, zf_error *error) {
    const zf_pipeline *p = request->batch->pipeline;
    zf_units_sizes sizes = zf_units_column_sizes(request->column);
    const struct {
        const char *what;
        bool wanted;
        uint64_t bytes, *to;
    } parts[] = {{"values", true, sizes.values, &request->memory.values},
                 {"offsets", request->column->is_text, sizes.offsets, &request->memory.offsets},
                 {"validity", request->column->nullable, sizes.validity, &request->memory.validity}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].wanted) continue;
        zf_status status =
            zf_device_part_take(p->accelerator, &p->options.allocator, parts[i].bytes, parts[i].what, &request->rows[i], error);
        if (status != ZF_OK) return name_column(request, status, error);
        *parts[i].to = request->rows[i].address;
    }
    return ZF_OK;
}

/// Everything of a request but its units.
static zf_status open_request(zf_batch *batch, zf_requested *request, zf_error *error) {
    zf_pipeline *p = batch->pipeline;
    ZF_TRY(check_request(p, &request->given, error));
    request->batch = batch;
    if (p->accelerator == NULL) {
        zf_decode_sizes sizes; // says whether there are such rows
        ZF_TRY(zf_decode_size(request->given.container, request->given.column, &request->given.options, &sizes, error));
        zf_status status = zf_decode_check_buffers(&sizes, &request->given.host, error);
        if (status != ZF_OK) return name_column(request, status, error);
    } else {
        ZF_TRY(make_column(p, &request->given, &request->column, error));
        ZF_TRY(check_buffers(request, error));
        if (request->given.on_device) {
            request->memory = (zf_units_memory){.values = request->given.device.values,
                                                .offsets = request->given.device.offsets,
                                                .validity = request->given.device.validity};
        } else {
            ZF_TRY(take_rows(request, error));
        }
    }
    const zf_index_column *column = column_of(request);
    zf_text key = {0};
    zf_text_printf(&key, "%s: %s", column->type_name, column->codec);
    request->codec_name = key.data;
    if (key.failed) return no_memory(error);
    request->codec = XXH3_64bits(key.data, key.length);
    return ZF_OK;
}

// ---- Cutting --------------------------------------------------------------------------------------------------

/// What is added up of a unit's blocks.
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
    zf_status status = zf_raise(error, ZF_E_STAGING, "a block needs %llu bytes of the %s, and the pipeline has %llu", (ull)bytes,
                                memory, (ull)all);
    zf_fail_place(error, status, "%s: column %.64s, block %llu", zf_container_short_path(request->given.container),
                  column_of(request)->name, (ull)block);
    return zf_fail_hint(error, status, "make the pipeline with more of it");
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
        return too_large(request, block, "device's memory", s->bounds.workspace, p->options.device_staging, error);
    if (ring_bytes(request, s) > p->options.host_staging)
        return too_large(request, block, "host's pinned memory", ring_bytes(request, s), p->options.host_staging, error);
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
        if (grown == NULL) return no_memory(error);
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
    const zf_index_column *column = column_of(request);
    uint64_t rows = request->given.container->index.rows, begin = 0, end = rows;
    if (options->some_rows) {
        begin = options->row_begin;
        if (options->row_count != UINT64_MAX) end = begin + options->row_count;
    }
    *first = *last = 0;
    if (begin == end) return;
    *first = begin / column->rows_per_block;
    *last = (end - 1) / column->rows_per_block + 1;
}

/// Cuts a request into units: runs of blocks that follow each other in the file. A request without rows has one without blocks.
static zf_status cut(zf_batch *batch, size_t *room, uint32_t number, zf_error *error) {
    const zf_pipeline *p = batch->pipeline;
    zf_requested *request = &batch->requests[number];
    const zf_index_column *column = column_of(request);
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

// ---- Making ---------------------------------------------------------------------------------------------------

/// What units need of an accelerator: events, and memory for their failure words.
static zf_status open_transfers(zf_batch *batch, zf_error *error) {
    zf_accelerator *a = batch->pipeline->accelerator;
    const zf_pipeline_allocator *allocator = &batch->pipeline->options.allocator;
    uint64_t words = 0;
    if (a == NULL) return ZF_OK;
    for (size_t i = 0; i < batch->count; i++) words += batch->transfers[i].word_room;
    ZF_TRY(zf_pinned_part_take(a, allocator, (words + 1) * sizeof(uint64_t), "a batch's failure words", &batch->words, error));
    uint64_t heads = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const zf_transfer *transfer = &batch->transfers[i];
        if (batch->requests[transfer->request].given.container->loaded) heads += transfer->head_bytes;
    }
    if (heads > 0) ZF_TRY(zf_device_part_take(a, allocator, heads, "a batch's tables", &batch->heads, error));
    heads = 0;
    ZF_TRY(a->ops->event_open(a, true, &batch->base, error));
    words = 0;
    for (size_t i = 0; i < batch->count; i++) {
        zf_transfer *transfer = &batch->transfers[i];
        transfer->words = (uint64_t *)(void *)batch->words.at + words;
        words += transfer->word_room;
        if (batch->requests[transfer->request].given.container->loaded && transfer->first != transfer->last) {
            transfer->head_at = batch->heads.address + heads;
            heads += transfer->head_bytes;
        }
        for (unsigned e = 0; e < ZF_TRANSFER_EVENTS; e++) ZF_TRY(a->ops->event_open(a, true, &transfer->events[e], error));
    }
    return ZF_OK;
}

static zf_status make(zf_batch *batch, const zf_pipeline_request *requests, size_t count, zf_error *error) {
    size_t room = 0;
    batch->requests = calloc(count + 1, sizeof *batch->requests);
    if (batch->requests == NULL) return no_memory(error);
    for (size_t r = 0; r < count; r++) {
        batch->requests[r].given = requests[r];
        batch->request_count++;
        ZF_TRY(open_request(batch, &batch->requests[r], error));
        ZF_TRY(cut(batch, &room, (uint32_t)r, error));
    }
    batch->info.units = batch->count;
    batch->info.measured_seconds = NAN;
    batch->order = calloc(batch->count + 1, sizeof *batch->order);
    if (batch->order == NULL) return no_memory(error);
    for (size_t i = 0, r = 0; i < batch->count; i++) { // units of a request lie together
        for (; r <= batch->transfers[i].request; r++) batch->requests[r].of_blocks = &batch->transfers[i];
        batch->order[i] = &batch->transfers[i];
    }
    ZF_TRY(open_transfers(batch, error));
    return zf_batch_order(batch, error);
}

zf_status zf_batch_create(zf_pipeline *pipeline, const zf_pipeline_request *requests, size_t count, zf_batch **out,
                          zf_error *error) {
    if (out != NULL) *out = NULL;
    if (pipeline == NULL || out == NULL || (requests == NULL && count > 0))
        return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_create needs a pipeline, requests and a place for the batch");
    if (count > UINT32_MAX / 2) return zf_raise(error, ZF_E_ARGUMENT, "%zu requests are too many", count);
    zf_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return no_memory(error);
    batch->pipeline = pipeline;
    zf_pipeline_learn(pipeline);
    zf_status status = make(batch, requests, count, error);
    if (status == ZF_OK)
        *out = batch;
    else
        zf_batch_free(batch);
    return status;
}

void zf_batch_free(zf_batch *batch) {
    if (batch == NULL) return;
    zf_pipeline *p = batch->pipeline;
    zf_accelerator *a = p->accelerator;
    const zf_pipeline_allocator *allocator = &p->options.allocator;
    pthread_mutex_lock(&p->lock);
    batch->cancelled = true;
    zf_pipeline_wake_all(p, ZF_WORK_READ);
    zf_pipeline_wake_all(p, ZF_WORK_ANY);
    while (batch->requests_left > 0) zf_pipeline_sleep(p, ZF_WORK_ANY);
    pthread_mutex_unlock(&p->lock);
    zf_pipeline_learn(p);
    pthread_mutex_lock(&p->lock);
    while (batch->learning) zf_pipeline_sleep(p, ZF_WORK_ANY);
    pthread_mutex_unlock(&p->lock);
    zf_rates_keep(p->rates, false);
    for (size_t i = 0; a != NULL && i < batch->count; i++) {
        for (unsigned e = 0; e < ZF_TRANSFER_EVENTS; e++) {
            if (batch->transfers[i].events[e] != NULL) a->ops->event_close(a, batch->transfers[i].events[e]);
        }
    }
    for (size_t i = 0; i < batch->count; i++) zf_units_free(batch->transfers[i].units);
    zf_device_part_give(a, allocator, &batch->heads);
    if (batch->base != NULL) a->ops->event_close(a, batch->base);
    zf_pinned_part_give(allocator, &batch->words);
    for (size_t r = 0; r < batch->request_count; r++) {
        zf_requested *request = &batch->requests[r];
        for (unsigned i = 0; i < sizeof request->rows / sizeof *request->rows; i++)
            zf_device_part_give(a, allocator, &request->rows[i]);
        zf_units_column_free(request->column);
        free(request->codec_name);
    }
    free(batch->requests);
    free(batch->transfers);
    free(batch->order);
    free(batch);
}

// ---- Running --------------------------------------------------------------------------------------------------

/// As before the first start.
static void reset(zf_batch *batch) {
    for (size_t r = 0; r < batch->request_count; r++) {
        zf_requested *request = &batch->requests[r];
        request->left = request->unqueued = request->units;
        request->done = request->left_out = false;
        request->failed = UINT64_MAX;
        request->status = ZF_OK;
        request->error = (zf_error){0};
        request->ready = 0;
        request->stats = (zf_decode_stats){0};
        memset(request->last_on, 0, sizeof request->last_on);
    }
    for (size_t i = 0; i < batch->count; i++) {
        zf_transfer *transfer = &batch->transfers[i];
        transfer->read = transfer->queued = transfer->held = transfer->over = transfer->cut_short = false;
        transfer->host_end = 0;
        transfer->blocks_left = transfer->last - transfer->first;
        transfer->measured = (zf_unit_times){NAN, NAN, NAN, NAN, NAN, NAN};
    }
    batch->requests_left = batch->request_count;
    batch->cancelled = false;
}

zf_status zf_batch_start(zf_batch *batch, zf_error *error) {
    if (batch == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_start needs a batch");
    zf_pipeline *p = batch->pipeline;
    zf_status status = ZF_OK;
    zf_pipeline_learn(p);
    pthread_mutex_lock(&p->lock);
    while (batch->learning) zf_pipeline_sleep(p, ZF_WORK_ANY); // another thread may be
    if (batch->requests_left > 0) {
        status = zf_raise(error, ZF_E_ARGUMENT, "the batch is under way: wait for all of its columns first");
    } else if (batch->request_count > 0 && p->accelerator != NULL) {
        status = p->accelerator->ops->event_note(p->accelerator, p->clock, batch->base, error);
    }
    if (status == ZF_OK) {
        reset(batch);
        batch->started = true;
        batch->runs++;
        batch->begun = batch->ended = zf_clock_seconds();
        const zf_requested *before = NULL;
        for (size_t i = 0; i < batch->count; i++) {
            zf_requested *request = &batch->requests[batch->order[i]->request];
            zf_transfer_push(p, ZF_STAGE_READ, batch->order[i]);
            // On the CPU the units of a column follow each other.
            if (p->accelerator == NULL && request != before) zf_requested_push(&p->to_decode, request);
            before = request;
        }
        if (p->accelerator != NULL) {
            zf_pipeline_begin_kept(p);
            zf_pipeline_feed_now(p);
        }
        if (p->queues[ZF_STAGE_READ].first != NULL) zf_pipeline_wake_all(p, p->accelerator != NULL ? ZF_WORK_READ : ZF_WORK_ANY);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

/// Whether there is such a request, and the batch was started. Under the lock.
static zf_status check_started(const zf_batch *batch, size_t request, zf_error *error) {
    if (request >= batch->request_count)
        return zf_raise(error, ZF_E_ARGUMENT, "there is no request %zu: the batch has %zu", request, batch->request_count);
    return batch->started ? ZF_OK : zf_raise(error, ZF_E_ARGUMENT, "the batch was not started");
}

zf_status zf_batch_wait(zf_batch *batch, size_t request, zf_error *error) {
    if (batch == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_wait needs a batch");
    zf_pipeline *p = batch->pipeline;
    pthread_mutex_lock(&p->lock);
    zf_status status = check_started(batch, request, error);
    if (status == ZF_OK) {
        const zf_requested *r = &batch->requests[request];
        while (!r->done) zf_pipeline_sleep(p, ZF_WORK_ANY);
        status = r->status;
        if (status != ZF_OK && error != NULL) *error = r->error;
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

zf_status zf_batch_follow(zf_batch *batch, size_t request, void *stream, zf_error *error) {
    if (batch == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_follow needs a batch");
    zf_pipeline *p = batch->pipeline;
    pthread_mutex_lock(&p->lock);
    zf_status status = check_started(batch, request, error);
    const zf_requested *r = &batch->requests[request];
    if (status == ZF_OK && !r->given.on_device)
        status = zf_raise(error, ZF_E_ARGUMENT, "a stream can follow requests with `on_device` only");
    while (status == ZF_OK && r->unqueued > 0) zf_pipeline_sleep(p, ZF_WORK_ANY);
    for (unsigned s = 0; status == ZF_OK && s < p->options.streams; s++) {
        if (r->last_on[s] == NULL) continue;
        status = p->accelerator->ops->stream_follow(p->accelerator, stream, r->last_on[s]->events[ZF_DECODE_END], error);
    }
    if (status == ZF_OK && r->status != ZF_OK) {
        status = r->status;
        if (error != NULL) *error = r->error;
    } else if (status == ZF_OK && r->left_out) {
        status = zf_requested_cancelled(r, error);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

void zf_batch_cancel(zf_batch *batch) {
    if (batch == NULL) return;
    pthread_mutex_lock(&batch->pipeline->lock);
    batch->cancelled = true;
    zf_pipeline_wake_all(batch->pipeline, ZF_WORK_READ);
    zf_pipeline_wake_all(batch->pipeline, ZF_WORK_ANY);
    pthread_mutex_unlock(&batch->pipeline->lock);
}

// ---- What is known --------------------------------------------------------------------------------------------

bool zf_batch_is_over(const zf_batch *batch) {
    zf_pipeline_learn(batch->pipeline);
    pthread_mutex_lock(&batch->pipeline->lock);
    while (batch->learning) zf_pipeline_sleep(batch->pipeline, ZF_WORK_ANY);
    bool over = batch->started && batch->requests_left == 0;
    pthread_mutex_unlock(&batch->pipeline->lock);
    return over;
}

zf_status zf_batch_describe(const zf_batch *batch, zf_batch_info *out, zf_error *error) {
    if (batch == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_describe needs a batch and a place");
    *out = batch->info;
    out->measured_seconds = zf_batch_is_over(batch) ? batch->ended - batch->begun : NAN;
    return ZF_OK;
}

zf_status zf_batch_unit_get(const zf_batch *batch, size_t index, zf_batch_unit *out, zf_error *error) {
    if (batch == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_unit_get needs a batch and a place");
    if (index >= batch->count)
        return zf_raise(error, ZF_E_ARGUMENT, "there is no unit %zu: the batch has %zu", index, batch->count);
    bool over = zf_batch_is_over(batch);
    *out = batch->order[index]->described;
    out->measured = over ? batch->order[index]->measured : (zf_unit_times){NAN, NAN, NAN, NAN, NAN, NAN};
    return ZF_OK;
}

zf_status zf_batch_stats(const zf_batch *batch, size_t request, zf_decode_stats *out, zf_error *error) {
    if (batch == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_stats needs a batch and a place");
    pthread_mutex_lock(&batch->pipeline->lock);
    zf_status status = check_started(batch, request, error);
    if (status == ZF_OK && !batch->requests[request].done)
        status = zf_raise(error, ZF_E_ARGUMENT, "request %zu is under way: wait for it first", request);
    if (status == ZF_OK) *out = batch->requests[request].stats;
    pthread_mutex_unlock(&batch->pipeline->lock);
    return status;
}

double zf_batch_ready_seconds(const zf_batch *batch, size_t request) {
    if (batch == NULL || request >= batch->request_count) return NAN;
    pthread_mutex_lock(&batch->pipeline->lock);
    double seconds = batch->requests[request].done ? batch->requests[request].ready - batch->begun : NAN;
    pthread_mutex_unlock(&batch->pipeline->lock);
    return seconds;
}
