// How units come into the host's pinned memory and are checked: block by block, by all readers, so that the first unit is ready
// soon.

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_open.h"
#include "runtime/decode/decode_unit_internal.h"
#include "runtime/pipeline/pipeline_internal.h"

// ---- A block --------------------------------------------------------------------------------------------------

/// Reads a block to its place in the host's ring, unless it lies in pinned memory, and checks it.
static zf_status read_block(const zf_transfer *transfer, uint64_t index, zf_error *error) {
    const zf_selection *s = &zf_transfer_request(transfer)->column->selection;
    const zf_index_block *block = &s->column->blocks[s->first_block + transfer->first + index];
    if (transfer->stored != NULL) {
        uint8_t *to = (uint8_t *)(uintptr_t)transfer->stored + (block->offset - transfer->file_offset);
        char where[ZF_WHERE_BYTES];
        zf_selection_where(s, s->first_block + transfer->first + index, where);
        zf_status read = zf_byte_source_read_run(&s->container->source, block->offset, block->bytes, to, where, error);
        if (read != ZF_OK) return zf_container_explain(s->container, read, error);
    }
    zf_status status = zf_units_part_check(transfer->units, index, transfer->stored, error);
    return status == ZF_OK ? ZF_OK : zf_container_explain(s->container, status, error);
}

/// When all blocks are checked.
static zf_status end_reading(const zf_pipeline *p, zf_transfer *transfer, zf_error *error) {
    ZF_TRY(zf_units_part_end(transfer->units, error));
    zf_units_sizes sizes = zf_units_sizes_of(transfer->units);
    bool none = transfer->first == transfer->last;
    if (sizes.workspace > transfer->device_bytes || (!none && sizes.head > transfer->head_bytes) ||
        zf_units_words(transfer->units) > transfer->word_room)
        return zf_raise(error, ZF_E_INTERNAL, "a transfer unit needs %llu bytes of memory, more than the estimated %llu",
                        (unsigned long long)sizes.workspace, (unsigned long long)transfer->device_bytes);
    transfer->joined = transfer->stored != NULL;
    transfer->head = transfer->joined ? (uint8_t *)(uintptr_t)transfer->stored - sizes.head : p->host.at + transfer->host_at;
    if (!none) zf_units_write_head(transfer->units, transfer->head);
    return ZF_OK;
}

// ---- A unit ---------------------------------------------------------------------------------------------------

/// Whether the next unit may begin: there is room for it in the host's memory, and, without overlap, no other is under way.
/// Takes the room. Under the lock.
static bool may_begin(zf_pipeline *p, zf_transfer *transfer) {
    transfer->host_end = 0;
    if (p->options.order == ZF_PIPELINE_APART && p->under_way > 0) return false;
    if (transfer->head_there || zf_transfer_unwanted(transfer)) return true;
    return zf_ring_reserve(&p->host_ring, transfer->host_bytes, &transfer->host_at, &transfer->host_end);
}

/// The unit is read, or will not be. Under the lock.
static void end_unit(zf_pipeline *p, zf_transfer *transfer) {
    transfer->read = true;
    zf_pipeline_wake(p, ZF_WORK_QUEUE);
}

/// Ends a unit whose blocks are all read. Leaves the lock, which the caller holds, meanwhile.
static void finish_unit(zf_pipeline *p, zf_transfer *transfer) {
    zf_requested *request = zf_transfer_request(transfer);
    bool failed = request->failed < transfer->last || transfer->cut_short; // a block of it, or one before
    zf_error error;
    zf_status status = ZF_OK;
    pthread_mutex_unlock(&p->lock);
    if (!failed) status = end_reading(p, transfer, &error);
    if (failed || status != ZF_OK) {
        zf_units_free(transfer->units);
        transfer->units = NULL;
    }
    transfer->measured.read_end = zf_clock_seconds() - transfer->batch->begun;
    pthread_mutex_lock(&p->lock);
    if (status != ZF_OK) zf_requested_failed(request, transfer->first, status, &error);
    end_unit(p, transfer);
}

/// Takes a unit in hand. Under the lock, which it leaves meanwhile.
static void begin_unit(zf_pipeline *p, zf_transfer *transfer) {
    zf_requested *request = zf_transfer_request(transfer);
    zf_transfer_pop(p, ZF_STAGE_READ);
    zf_transfer_push(p, ZF_STAGE_QUEUE, transfer);
    p->under_way++;
    double now = zf_clock_seconds() - transfer->batch->begun;
    if (transfer->head_there) { // in memory and on the device nothing of it has changed
        zf_units_restart(transfer->units);
        transfer->measured.read_begin = transfer->measured.read_end = now;
    }
    if (transfer->host_end == 0) { // that, or left out
        end_unit(p, transfer);
        return;
    }
    transfer->measured.read_begin = now;
    bool loaded = request->given.container->loaded || transfer->first == transfer->last;
    // As direct reads want it: as far from a multiple of 4096 as in the file.
    uint8_t *to = p->host.at + transfer->host_at + transfer->head_bytes + transfer->file_offset % ZF_PIPELINE_ALIGNMENT;
    transfer->stored = loaded ? NULL : to;
    transfer->claimed = 0;
    transfer->unchecked = transfer->last - transfer->first;
    zf_error error;
    zf_status status = zf_units_part_begin(request->column, transfer->first, transfer->last, &transfer->units, &error);
    if (status != ZF_OK) {
        zf_requested_failed(request, transfer->first, status, &error);
        end_unit(p, transfer);
    } else if (transfer->unchecked == 0) {
        finish_unit(p, transfer);
    } else {
        zf_transfer_push(p, ZF_STAGE_CHECK, transfer);
        zf_pipeline_wake_all(p, ZF_WORK_READ);
    }
}

void zf_pipeline_begin_kept(zf_pipeline *p) {
    for (;;) {
        zf_transfer *next = p->queues[ZF_STAGE_READ].first;
        if (next == NULL || !next->head_there || !may_begin(p, next)) return;
        begin_unit(p, next);
    }
}

/// Reads and checks a block of the oldest unit that has one left. Under the lock, which it leaves meanwhile.
static void do_block(zf_pipeline *p, zf_transfer *transfer) {
    zf_requested *request = zf_transfer_request(transfer);
    uint64_t index = transfer->claimed++;
    if (transfer->claimed == transfer->last - transfer->first) zf_transfer_pop(p, ZF_STAGE_CHECK);
    // Behind a failed block none is wanted, nor when the batch was cancelled; those before it are.
    bool wanted = !transfer->batch->cancelled && transfer->first + index <= request->failed;
    bool left_out = transfer->batch->cancelled;
    zf_error error;
    zf_status status = ZF_OK;
    pthread_mutex_unlock(&p->lock);
    if (wanted) status = read_block(transfer, index, &error);
    pthread_mutex_lock(&p->lock);
    if (left_out) transfer->cut_short = true;
    if (status != ZF_OK) zf_requested_failed(request, transfer->first + index, status, &error);
    if (--transfer->unchecked == 0) finish_unit(p, transfer);
}

void *zf_pipeline_reader(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        zf_transfer *begun = p->queues[ZF_STAGE_CHECK].first, *next = p->queues[ZF_STAGE_READ].first;
        if (begun != NULL)
            do_block(p, begun);
        else if (next != NULL && may_begin(p, next))
            begin_unit(p, next);
        else if (next == NULL && p->stop)
            break;
        else
            zf_pipeline_sleep(p, ZF_WORK_READ);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}
