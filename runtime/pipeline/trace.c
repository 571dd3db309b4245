// A run as Chrome's trace events.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/output_file.h"
#include "runtime/base/text.h"
#include "runtime/container/container_open.h"
#include "runtime/pipeline/pipeline_internal.h"

/// Seconds as microseconds with three digits behind the point, which the process's locale has no say in.
static void put_time(zf_text *out, const char *name, double seconds) {
    long long ns = llround(seconds * 1e9), size = ns < 0 ? -ns : ns;
    zf_text_printf(out, ",\"%s\":%s%lld.%03lld", name, ns < 0 ? "-" : "", size / 1000, size % 1000);
}

/// Tracks; one whose slices may overlap has lanes, since viewers drop slices that begin within another and end behind it.
enum { TRACK_READ = 1, TRACK_COPY = 100, TRACK_DECODE = 200, TRACK_READY = 300, MOST_LANES = 64 };

typedef struct lanes {
    int track;
    const char *name;
    unsigned count;
    double ends[MOST_LANES];
} lanes;

/// One slice; microseconds, as the format wants.
static void put_slice(zf_text *out, const zf_batch *batch, const zf_transfer *transfer, size_t number, int track,
                      const char *what, double begin, double end) {
    const zf_requested *request = &batch->requests[transfer->request];
    const zf_index_column *column = &request->given.container->index.columns[request->given.column];
    if (isnan(begin) || isnan(end) || end < begin) return;
    zf_text_printf(out, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d", track);
    put_time(out, "ts", begin);
    put_time(out, "dur", end - begin);
    zf_text_printf(out, ",\"cat\":\"%s\",\"name\":", what);
    zf_text_json(out, column->name);
    zf_text_puts(out, ",\"args\":{\"file\":");
    zf_text_json(out, request->given.container->path);
    zf_text_printf(out, ",\"unit\":%zu,\"first_row\":%llu,\"rows\":%llu,\"stored_bytes\":%llu,\"plain_bytes\":%llu}}", number,
                   (unsigned long long)transfer->described.first_row, (unsigned long long)transfer->described.rows,
                   (unsigned long long)transfer->described.stored_bytes, (unsigned long long)transfer->described.plain_bytes);
}

static void put_track(zf_text *out, int track, const char *name) {
    zf_text_printf(out, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}", track,
                   name);
    zf_text_printf(out, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}",
                   track, track);
}

/// The track of a slice: the first lane that is free when it begins; where none is, the last one.
static int lane_of(zf_text *out, lanes *of, double begin, double end) {
    unsigned lane = 0;
    if (isnan(begin) || isnan(end)) return of->track;
    while (lane < of->count && of->ends[lane] > begin) lane++;
    if (lane == of->count && lane < MOST_LANES) {
        char name[64];
        snprintf(name, sizeof name, lane == 0 ? "%s" : "%s, %u", of->name, lane + 1);
        put_track(out, of->track + (int)lane, name);
        of->count++;
    }
    if (lane == MOST_LANES) lane--;
    of->ends[lane] = end;
    return of->track + (int)lane;
}

static void put_all(zf_text *out, const zf_batch *batch) {
    bool host = batch->pipeline->accelerator == NULL;
    zf_text_puts(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    zf_text_puts(out, "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"zipflow pipeline\"}}");
    if (!host) put_track(out, TRACK_COPY, "copy");
    put_track(out, TRACK_READY, "columns done");
    lanes reads = {.track = TRACK_READ, .name = host ? "read" : "read and check"},
          decodes = {.track = TRACK_DECODE, .name = "decode"};
    for (size_t k = 0; k < batch->count; k++) {
        const zf_transfer *t = batch->order[k];
        const zf_unit_times *m = &t->measured;
        put_slice(out, batch, t, k, lane_of(out, &reads, m->read_begin, m->read_end), "read", m->read_begin, m->read_end);
        if (!host) put_slice(out, batch, t, k, TRACK_COPY, "copy", m->copy_begin, m->copy_end);
        put_slice(out, batch, t, k, lane_of(out, &decodes, m->decode_begin, m->decode_end), "decode", m->decode_begin,
                  m->decode_end);
    }
    for (size_t r = 0; r < batch->request_count; r++) {
        const zf_requested *request = &batch->requests[r];
        zf_text_printf(out, ",\n{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%d", TRACK_READY);
        put_time(out, "ts", request->ready - batch->begun);
        zf_text_puts(out, ",\"name\":");
        zf_text_json(out, request->given.container->index.columns[request->given.column].name);
        zf_text_puts(out, "}");
    }
    zf_text_puts(out, "\n]}\n");
}

/// Writes all of a batch that is over, and keeps it from being started meanwhile. False: it is not over.
static bool put_times(zf_text *out, const zf_batch *batch) {
    zf_pipeline *p = batch->pipeline;
    zf_batch *held = (zf_batch *)(uintptr_t)batch; // as it is for its caller, but not for who starts it
    bool over = zf_batch_lock_over(batch);
    if (over) held->in_hand = true;
    pthread_mutex_unlock(&p->lock);
    if (!over) return false;
    put_all(out, batch);
    pthread_mutex_lock(&p->lock);
    held->in_hand = false;
    zf_pipeline_wake_all(p, ZF_WORK_ANY);
    pthread_mutex_unlock(&p->lock);
    return true;
}

zf_status zf_batch_write_trace(const zf_batch *batch, const char *path, zf_error *error) {
    if (batch == NULL || path == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_write_trace needs a batch and a path");
    zf_text text = {0};
    zf_output_file *file = NULL;
    if (!put_times(&text, batch)) return zf_raise(error, ZF_E_ARGUMENT, "a batch has a trace after its run");
    zf_status status = text.failed ? zf_raise(error, ZF_E_NO_MEMORY, "no memory for a trace") : ZF_OK;
    if (status == ZF_OK) status = zf_output_create(path, (zf_output_options){.overwrite = true}, &file, error);
    if (status == ZF_OK) status = zf_output_write(file, 0, text.data, text.length, error);
    if (status == ZF_OK) status = zf_output_commit(file, error);
    zf_output_free(file);
    zf_text_free(&text);
    return status;
}
