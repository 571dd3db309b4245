// In which order a batch's units go, by estimates; and what a run shows of them.
#include <math.h>
#include <stdlib.h>

#include "runtime/container_open.h"
#include "runtime/decode_unit_internal.h"
#include "runtime/error_codes.h"
#include "runtime/pipeline/pipeline_internal.h"
#include "scheduler/order/order.h"

typedef unsigned long long ull;

/// Seconds that a copy, or the launches of a unit, take whatever its size (an H200: what queueing them takes the host).
static const double COPY_COST = 5e-6, DECODE_COST = 12e-6;
/// A copy says something of the link's rate, a decode of its codec's, where it takes this many times as long.
static const double TELLING = 4;
/// Bytes from which on reading or decoding them says something: of fewer, what any unit costs is most.
static const double LEAST_BYTES = 1024;
/// Plain bytes a second of a codec that was never run: on an accelerator, on the CPU by a thread.
static const double UNKNOWN_DEVICE = 600e9, UNKNOWN_HOST = 2e9;

// ---- Estimates ------------------------------------------------------------------------------------------------

static double decode_rate(const zf_batch *batch, const zf_requested *request) {
    const zf_pipeline *p = batch->pipeline;
    double otherwise = UNKNOWN_DEVICE;
    if (p->accelerator == NULL) otherwise = UNKNOWN_HOST * zf_context_threads(p->context, 0);
    return zf_rates_decode(p->rates, request->codec, otherwise);
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
        jobs[i] =
            (zf_order_job){.read = host ? 0 : reading,
                           .copy = host ? reading : COPY_COST + (double)t->described.stored_bytes / link,
                           .decode = (host ? 0 : DECODE_COST) + (double)t->described.plain_bytes / decode_rate(batch, request),
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

/// What would be without overlap: one unit behind the other.
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
        if (ordered != ZF_ORDER_OK) // sizes were compared when units were cut, and estimates are finite
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

// ---- What a run shows -----------------------------------------------------------------------------------------

static int by_decode_begin(const void *a, const void *b) {
    const zf_unit_times *x = *(const zf_unit_times *const *)a, *y = *(const zf_unit_times *const *)b;
    return x->decode_begin < y->decode_begin ? -1 : x->decode_begin > y->decode_begin;
}

/// How much of the time that decodes took, added up, the device was decoding at all: several run side by side.
static double share(const zf_batch *batch) {
    const zf_unit_times **times = calloc(batch->count + 1, sizeof *times);
    size_t count = 0;
    double sum = 0, covered = 0, end = -INFINITY;
    if (times == NULL) return 1;
    for (size_t i = 0; i < batch->count; i++) {
        if (!isnan(batch->transfers[i].measured.decode_end)) times[count++] = &batch->transfers[i].measured;
    }
    qsort(times, count, sizeof *times, by_decode_begin);
    for (size_t i = 0; i < count; i++) {
        double begin = times[i]->decode_begin;
        sum += times[i]->decode_end - begin;
        if (begin < end) begin = end;
        if (times[i]->decode_end > begin) covered += times[i]->decode_end - begin;
        if (times[i]->decode_end > end) end = times[i]->decode_end;
    }
    free(times);
    return sum > 0 ? covered / sum : 1;
}

static double event_seconds(const zf_pipeline *p, const zf_transfer *transfer, unsigned event) {
    double seconds;
    zf_status status =
        p->accelerator->ops->event_seconds(p->accelerator, transfer->batch->base, transfer->events[event], &seconds, NULL);
    if (status != ZF_OK) return NAN;  // the device is gone, which who waited was told
    return seconds > 0 ? seconds : 0; // a copy may go before the device notes the batch's start, on another stream
}

static double later(double a, double b) { return a > b || isnan(b) ? a : b; }

/// When the events of all units happened, since the batch's start. A copy begins behind the one before it, when it was queued, or
/// where it has an event; a decode behind its copy and the decode before it on its stream.
static void take_times(const zf_batch *batch) {
    const zf_pipeline *p = batch->pipeline;
    double copied = NAN, decoded[ZF_PIPELINE_MOST_STREAMS];
    for (unsigned s = 0; s < ZF_PIPELINE_MOST_STREAMS; s++) decoded[s] = NAN;
    for (size_t k = 0; k < batch->count; k++) {
        zf_transfer *transfer = batch->order[k];
        zf_unit_times *times = &transfer->measured;
        double *before = &decoded[transfer->stream];
        if (!transfer->queued) continue;
        times->copy_end = event_seconds(p, transfer, ZF_COPY_END);
        times->decode_end = event_seconds(p, transfer, ZF_DECODE_END);
        times->copy_begin = transfer->waited ? event_seconds(p, transfer, ZF_COPY_BEGIN) : later(transfer->queued_at, copied);
        times->decode_begin = later(times->copy_end, *before);
        if (times->copy_begin > times->copy_end) times->copy_begin = times->copy_end; // two clocks
        if (times->decode_begin > times->decode_end) times->decode_begin = times->decode_end;
        copied = times->copy_end;
        *before = times->decode_end;
    }
}

/// Whether the run spent much of its time on getting code, for which readers and decoders wait.
static bool waited_for_code(const zf_batch *batch) {
    double seconds = 0;
    if (batch->runs > 1) return false;
    for (size_t r = 0; r < batch->request_count; r++) {
        const zf_requested *request = &batch->requests[r];
        double compiling = request->stats.compile_seconds; // plans of accelerators were made with the batch
        if (request->column != NULL) compiling -= request->column->selection.plan_seconds;
        seconds += request->stats.load_seconds + (compiling > 0 ? compiling : 0);
    }
    return seconds > (batch->ended - batch->begun) / 16;
}

/// What a column's copies and decodes say of rates. Units that take little more than what any of them costs say nothing.
static void learn_device(const zf_batch *batch, const zf_requested *request, double part, bool first) {
    const zf_pipeline *p = batch->pipeline;
    bool host = p->accelerator == NULL;
    double copied = 0, copying = 0, decoded = 0, decoding = 0, least = 0;
    for (size_t u = 0; u < request->units; u++) {
        const zf_transfer *transfer = &request->of_blocks[u];
        const zf_unit_times *t = &transfer->measured;
        if (isnan(t->decode_end) || transfer->described.blocks == 0) continue;
        double copy = t->copy_end - t->copy_begin;
        if (copy > TELLING * COPY_COST) {
            copied += (double)transfer->described.stored_bytes;
            copying += copy - COPY_COST;
        }
        decoded += (double)transfer->described.plain_bytes;
        decoding += (t->decode_end - t->decode_begin) * part - (host ? 0 : DECODE_COST);
        least += host ? 0 : TELLING * DECODE_COST;
    }
    if (decoding > least && decoded >= LEAST_BYTES)
        zf_rates_decode_seen(p->rates, request->codec, request->codec_name, decoded / decoding, first);
    if (copying > 0 && !host) zf_rates_link_seen(p->rates, copied / copying);
}

/// What the batch's times say of rates. Columns that failed or were cancelled did not do all that was asked of them.
static void learn(const zf_batch *batch) {
    zf_pipeline *p = batch->pipeline;
    double read = 0, reading = 0, part = share(batch);
    bool first = waited_for_code(batch);
    for (size_t r = 0; r < batch->request_count; r++) {
        const zf_requested *request = &batch->requests[r];
        if (request->status != ZF_OK) continue;
        learn_device(batch, request, part, first);
        for (size_t u = 0; u < request->units && !request->given.container->loaded; u++) {
            const zf_transfer *transfer = &request->of_blocks[u];
            if (isnan(transfer->measured.read_end)) continue;
            read += (double)transfer->file_bytes;
            reading += transfer->measured.read_end - transfer->measured.read_begin;
        }
    }
    // Of an accelerator's unit all readers read blocks, on the CPU each one reads a unit.
    double at_once = p->accelerator == NULL ? p->options.readers : 1;
    if (reading > 0 && read >= LEAST_BYTES) zf_rates_read_seen(p->rates, read * at_once / reading, first);
}

void zf_pipeline_learn(zf_pipeline *p) {
    pthread_mutex_lock(&p->lock);
    while (p->unlearned != NULL) {
        zf_batch *batch = p->unlearned;
        p->unlearned = batch->next_unlearned;
        batch->learning = true;
        pthread_mutex_unlock(&p->lock);
        if (p->accelerator != NULL) take_times(batch);
        learn(batch);
        pthread_mutex_lock(&p->lock);
        batch->learning = false;
        zf_pipeline_wake_all(p, ZF_WORK_ANY);
    }
    pthread_mutex_unlock(&p->lock);
}
