// In which order a batch's units go, by estimates.
#include <math.h>
#include <stdlib.h>

#include "runtime/pipeline/batch_parts.h"
#include "scheduler/order/order.h"

/// Plain bytes a second of a codec that was never run: on an accelerator, on the CPU by a thread.
static const double UNKNOWN_DEVICE = 600e9, UNKNOWN_HOST = 2e9;

// ---- Estimates ------------------------------------------------------------------------------------------------

static double decode_seconds(const zf_transfer *transfer) {
    const zf_pipeline *p = transfer->batch->pipeline;
    double fallback = UNKNOWN_DEVICE, cost;
    if (p->accelerator == NULL) fallback = UNKNOWN_HOST * zf_context_threads(p->context, 0);
    double rate = zf_rates_decode(p->rates, zf_transfer_request(transfer)->codec, fallback, &cost);
    if (p->accelerator == NULL)
        cost = 0;
    else if (cost == 0)
        cost = ZF_DECODE_COST;
    return cost + (double)transfer->described.plain_bytes / rate;
}

/// On the CPU what comes before decoding is reading: it takes the link's place.
static void estimate(const zf_batch *batch, zf_order_job *jobs) {
    const zf_pipeline *p = batch->pipeline;
    bool host = p->accelerator == NULL;
    double read = zf_rates_read(p->rates), link = zf_rates_link(p->rates, NULL);
    for (size_t i = 0; i < batch->count; i++) {
        const zf_transfer *t = &batch->transfers[i];
        const zf_requested *request = &batch->requests[t->request];
        bool in_memory = request->given.container->loaded;
        double reading = in_memory ? 0 : (double)t->file_bytes / read;
        jobs[i] = (zf_order_job){.read = host ? 0 : reading,
                                 .copy = host ? reading : ZF_COPY_COST + (double)t->described.stored_bytes / link,
                                 .decode = decode_seconds(t),
                                 .staging = host ? t->file_bytes : t->device_bytes,
                                 .ring = host ? 0 : t->host_bytes,
                                 .group = t->request};
    }
}

static zf_order_problem problem_of(const zf_batch *batch, const zf_order_job *jobs) {
    const zf_pipeline *p = batch->pipeline;
    bool host = p->accelerator == NULL;
    return (zf_order_problem){.jobs = jobs,
                              .count = (uint32_t)batch->count,
                              .groups = (uint32_t)batch->request_count,
                              .staging = host ? ZF_ORDER_UNBOUNDED : p->options.device_staging,
                              .ring = host ? ZF_ORDER_UNBOUNDED : p->options.host_staging,
                              .readers = 1,  // that stands for all: their rate is that of all together
                              .streams = 1}; // decodes share the device: side by side they are no faster
}

// ---- Order ----------------------------------------------------------------------------------------------------

/// Jobs that the search for an order may simulate: a third of a millisecond.
enum { STEPS = 20000 };

/// On the CPU columns are decoded one behind the other.
static zf_order_status choose(const zf_batch *batch, const zf_order_problem *problem, void *scratch, size_t bytes,
                              uint32_t *order, uint32_t *bad) {
    zf_order_found found;
    if (batch->pipeline->options.order != ZF_PIPELINE_JOHNSON) {
        zf_order_fifo(problem->count, order);
        return ZF_ORDER_OK;
    }
    if (batch->pipeline->accelerator == NULL) return zf_order_columns(problem, scratch, bytes, order, bad);
    return zf_order_find(problem, STEPS, scratch, bytes, order, &found, bad);
}

/// The times without overlap: one unit after the other.
static void apart(const zf_order_problem *problem, const uint32_t *order, zf_order_times *times, zf_order_summary *summary) {
    double now = 0;
    for (uint32_t k = 0; k < problem->count; k++) {
        const zf_order_job *job = &problem->jobs[order[k]];
        zf_order_times *t = &times[order[k]];
        t->read_begin = now;
        t->read_end = t->copy_begin = now += job->read;
        t->copy_end = t->decode_begin = now += job->copy;
        t->decode_end = now += job->decode;
    }
    summary->makespan = now;
}

static void put_in_order(zf_batch *batch, const uint32_t *order, const zf_order_times *times) {
    bool host = batch->pipeline->accelerator == NULL;
    for (size_t k = 0; k < batch->count; k++) {
        zf_transfer *transfer = &batch->transfers[order[k]];
        const zf_order_times *t = &times[order[k]];
        zf_unit_times *predicted = &transfer->described.predicted;
        *predicted = (zf_unit_times){t->read_begin, t->read_end, t->copy_begin, t->copy_end, t->decode_begin, t->decode_end};
        if (host) {
            predicted->read_begin = t->copy_begin;
            predicted->read_end = predicted->copy_begin = t->copy_end;
        }
        batch->order[k] = transfer;
    }
}

zf_status zf_batch_order(zf_batch *batch, zf_error *error) {
    if (batch->count > UINT32_MAX / 2) return zf_raise(error, ZF_E_TOO_LARGE, "%zu units are too many", batch->count);
    size_t bytes = zf_order_scratch_bytes((uint32_t)batch->count);
    void *scratch = bytes != SIZE_MAX ? malloc(bytes + 8) : NULL;
    zf_order_job *jobs = calloc(batch->count + 1, sizeof *jobs);
    zf_order_times *times = calloc(batch->count + 1, sizeof *times);
    uint32_t *order = calloc(batch->count + 1, sizeof *order), bad = 0;
    zf_status status = ZF_OK;
    if (scratch == NULL || jobs == NULL || times == NULL || order == NULL) {
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for the order of a batch");
    } else {
        zf_order_summary summary = {0};
        zf_order_bounds bounds = {0};
        estimate(batch, jobs);
        zf_order_problem problem = problem_of(batch, jobs);
        zf_order_status ordered = choose(batch, &problem, scratch, bytes, order, &bad);
        if (ordered == ZF_ORDER_OK && batch->pipeline->options.order == ZF_PIPELINE_APART)
            apart(&problem, order, times, &summary);
        else if (ordered == ZF_ORDER_OK)
            ordered = zf_order_simulate(&problem, order, scratch, bytes, times, &summary, &bad);
        if (ordered == ZF_ORDER_OK) ordered = zf_order_bound(&problem, scratch, bytes, &bounds, &bad);
        if (ordered !=
            ZF_ORDER_OK) // sizes were compared, of units without blocks with the pipeline's least; estimates are finite
            status = zf_raise(error, ZF_E_INTERNAL, "unit %u of a batch cannot be ordered (%d)", bad, (int)ordered);
        batch->info.predicted_seconds = summary.makespan;
        batch->info.bound_seconds = bounds.makespan;
        batch->info.link_rate = zf_rates_link(batch->pipeline->rates, NULL);
        if (status == ZF_OK) put_in_order(batch, order, times);
    }
    free(scratch);
    free(jobs);
    free(times);
    free(order);
    return status;
}
