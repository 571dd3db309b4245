// Learns from a run: the times of its units, and the rates of the device.
#include <math.h>
#include <stdlib.h>

#include "runtime/decode/decode_unit_internal.h"
#include "runtime/pipeline/batch_parts.h"

/// A copy says something of the link's rate, a decode of its codec's, where it takes this many times as long as any costs.
static const double TELLING = 4;
/// Copies that are shorter than this many times their cost on the mean say no more than that the link is at least so fast: what
/// they wait for besides is not known well enough.
static const double LONG = 20;
/// Bytes from which on reading or decoding them says something: of fewer, what any unit costs is most.
static const double LEAST_BYTES = 1024;

static double later(double a, double b) { return a > b || isnan(b) ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

/// Since when a unit's decode was all that was waited for. In a run that gets code, launches wait for the driver while other
/// threads load: that was no decoding.
static double decoding_since(const zf_transfer *transfer, bool first) {
    const zf_unit_times *t = &transfer->measured;
    double begin = first ? later(t->decode_begin, transfer->launched_at) : t->decode_begin;
    return begin < t->decode_end ? begin : t->decode_end;
}

typedef struct interval {
    double begin, end;
} interval;

static int by_begin(const void *a, const void *b) {
    const interval *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/// The part of the summed time of decodes in which the device was decoding at all: several run concurrently.
static double share(const zf_batch *batch, bool first) {
    interval *decodes = calloc(batch->count + 1, sizeof *decodes);
    size_t count = 0;
    double sum = 0, covered = 0, end = -INFINITY;
    if (decodes == NULL) return 1;
    for (size_t i = 0; i < batch->count; i++) {
        const zf_transfer *transfer = &batch->transfers[i];
        if (isnan(transfer->measured.decode_end)) continue;
        decodes[count++] = (interval){decoding_since(transfer, first), transfer->measured.decode_end};
    }
    qsort(decodes, count, sizeof *decodes, by_begin);
    for (size_t i = 0; i < count; i++) {
        double begin = decodes[i].begin;
        sum += decodes[i].end - begin;
        if (begin < end) begin = end;
        if (decodes[i].end > begin) covered += decodes[i].end - begin;
        if (decodes[i].end > end) end = decodes[i].end;
    }
    free(decodes);
    return sum > 0 ? covered / sum : 1;
}

static double event_seconds(const zf_pipeline *p, const zf_transfer *transfer, unsigned event) {
    double seconds;
    zf_status status =
        p->accelerator->ops->event_seconds(p->accelerator, transfer->batch->base, transfer->events[event], &seconds, NULL);
    if (status != ZF_OK) return NAN;  // the device is gone, which who waited was told
    return seconds > 0 ? seconds : 0; // a copy may go before the device notes the batch's start, on another stream
}

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

/// Decodes of a column's units.
typedef struct seen_decodes {
    double bytes, seconds; ///< all of them
    unsigned count;
} seen_decodes;

/// On an accelerator: the seconds that a unit takes whatever its bytes. Compares small units, of at most half of the most
/// bytes, with large ones. 0: there are none of either, or the large ones took no longer, so their times do not show it.
static double decode_cost(const seen_decodes *small, const seen_decodes *large) {
    if (small->count == 0 || large->count == 0) return 0;
    double few = small->bytes / small->count, short_time = small->seconds / small->count;
    double many = large->bytes / large->count, long_time = large->seconds / large->count;
    if (long_time <= short_time) return 0;
    double cost = short_time - (long_time - short_time) / (many - few) * few;
    return cost > ZF_DECODE_COST ? cost : ZF_DECODE_COST;
}

/// Copies of a batch's units that say something.
typedef struct seen_copies {
    double bytes, seconds; ///< all of them, without what any costs
    unsigned count;
} seen_copies;

/// Learns the rate of a column's codec from its decodes; its copies are added to `copies`. Units that take little more than the
/// fixed cost of a unit are ignored, unless they take less than predicted.
static void learn_column(const zf_batch *batch, const zf_requested *request, double part, bool first, seen_copies *copies) {
    const zf_pipeline *p = batch->pipeline;
    bool host = p->accelerator == NULL;
    double most = 0, known;
    seen_decodes all = {0}, small = {0}, large = {0};
    for (size_t u = 0; u < request->units; u++) {
        double bytes = (double)request->transfers[u].described.plain_bytes;
        most = bytes > most ? bytes : most;
    }
    for (size_t u = 0; u < request->units; u++) {
        const zf_transfer *transfer = &request->transfers[u];
        const zf_unit_times *t = &transfer->measured;
        if (isnan(t->decode_end) || transfer->described.blocks == 0) continue;
        double copy = t->copy_end - t->copy_begin, bytes = (double)transfer->described.plain_bytes;
        if (copy > TELLING * ZF_COPY_COST) {
            copies->bytes += (double)transfer->described.stored_bytes;
            copies->seconds += copy - ZF_COPY_COST;
            copies->count++;
        }
        seen_decodes *kinds[] = {&all, bytes <= most / 2 ? &small : bytes > most * 3 / 4 ? &large : NULL};
        for (unsigned k = 0; k < 2 && kinds[k] != NULL; k++) {
            kinds[k]->bytes += bytes;
            kinds[k]->seconds += (t->decode_end - decoding_since(transfer, first)) * part;
            kinds[k]->count++;
        }
    }
    double thought = zf_rates_decode(p->rates, request->codec, 0, &known);
    double cost = host || first ? 0 : decode_cost(&small, &large), mean = all.count > 0 ? all.seconds / all.count : 0;
    if (cost == 0 && !host && !first && known > mean) cost = mean / 2; // no unit costs more than it takes
    double besides = host ? 0 : cost > 0 ? cost : known > 0 && !first ? known : ZF_DECODE_COST;
    double decoding = all.seconds - besides * all.count;
    if (decoding < all.seconds / 10) decoding = all.seconds / 10;
    // Decodes show a rate if they take long compared with the fixed cost of a unit, as far as that is known, or if they are
    // faster than predicted.
    double usual = host ? 0 : larger((TELLING + 1) * ZF_DECODE_COST, 2 * known);
    bool tells = all.seconds > usual * all.count;
    bool faster = !first && thought > 0 && all.bytes > thought * decoding;
    if ((tells || faster || cost > 0) && all.bytes >= LEAST_BYTES)
        zf_rates_decode_seen(p->rates, request->codec, request->codec_name, tells || faster ? all.bytes / decoding : 0, cost,
                             first);
}

/// Learns the rate of the link from a batch's copies. Copies of a run that gets code wait for the driver, too: they do not
/// replace a known rate.
static void learn_link(const zf_batch *batch, const seen_copies *copies, bool first) {
    const zf_pipeline *p = batch->pipeline;
    bool known;
    if (p->accelerator == NULL || !(copies->seconds > 0)) return;
    double thought = zf_rates_link(p->rates, &known), seen = copies->bytes / copies->seconds;
    bool brief = copies->seconds < LONG * ZF_COPY_COST * copies->count;
    if (known && (first || (brief && seen < thought))) return;
    zf_rates_link_seen(p->rates, seen);
}

/// Learns rates from the batch's times. Columns that failed or were cancelled are skipped: they did only a part of their work.
static void learn(const zf_batch *batch) {
    zf_pipeline *p = batch->pipeline;
    bool first = waited_for_code(batch);
    double read = 0, reading = 0, part = share(batch, first);
    seen_copies copies = {0};
    for (size_t r = 0; r < batch->request_count; r++) {
        const zf_requested *request = &batch->requests[r];
        if (request->status != ZF_OK) continue;
        learn_column(batch, request, part, first, &copies);
        for (size_t u = 0; u < request->units && !request->given.container->loaded; u++) {
            const zf_transfer *transfer = &request->transfers[u];
            if (isnan(transfer->measured.read_end)) continue;
            read += (double)transfer->file_bytes;
            reading += transfer->measured.read_end - transfer->measured.read_begin;
        }
    }
    learn_link(batch, &copies, first);
    // On an accelerator all readers read blocks of one unit; on the CPU each reader reads a unit.
    double at_once = p->accelerator == NULL ? p->options.readers : 1;
    if (reading > 0 && read >= LEAST_BYTES) zf_rates_read_seen(p->rates, read * at_once / reading, first);
}

void zf_pipeline_learn(zf_pipeline *p) {
    pthread_mutex_lock(&p->lock);
    while (p->unlearned != NULL) {
        zf_batch *batch = p->unlearned;
        p->unlearned = batch->next_unlearned;
        batch->unlearned = false;
        batch->in_hand = true;
        pthread_mutex_unlock(&p->lock);
        if (p->accelerator != NULL) take_times(batch);
        learn(batch);
        pthread_mutex_lock(&p->lock);
        batch->in_hand = false;
        zf_pipeline_wake_all(p, ZF_WORK_ANY);
    }
    pthread_mutex_unlock(&p->lock);
}

void zf_batch_lock_learnt(const zf_batch *batch) {
    zf_pipeline *p = batch->pipeline;
    for (;;) {
        zf_pipeline_learn(p);
        pthread_mutex_lock(&p->lock);
        while (batch->in_hand) zf_pipeline_sleep(p, ZF_WORK_ANY); // another thread has it
        if (!batch->unlearned) return;
        pthread_mutex_unlock(&p->lock); // it has ended in between
    }
}
