// A pipeline: its memory, streams and threads.
#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/sized.h"
#include "runtime/base/thread.h"
#include "runtime/context/context.h"
#include "runtime/pipeline/pipeline_internal.h"

typedef unsigned long long ull;

#define MIB (UINT64_C(1) << 20)

/// Fills in what was left at 0, and checks the rest.
static zf_status resolve(zf_pipeline *p, const zf_pipeline_options *given, zf_error *error) {
    zf_pipeline_options *o = &p->options;
    ZF_TRY(ZF_TAKE(zf_pipeline_options, o, given, error));
    if ((unsigned)o->order > ZF_PIPELINE_APART) return zf_raise(error, ZF_E_ARGUMENT, "unknown order %d", (int)o->order);
    if (o->streams > ZF_PIPELINE_MOST_STREAMS)
        return zf_raise(error, ZF_E_ARGUMENT, "%u streams are too many: the limit is %d", o->streams, ZF_PIPELINE_MOST_STREAMS);
    if (o->readers > ZF_PIPELINE_MOST_READERS)
        return zf_raise(error, ZF_E_ARGUMENT, "%u readers are too many: the limit is %d", o->readers, ZF_PIPELINE_MOST_READERS);
    ZF_TRY(zf_allocator_check(&o->allocator, error));
    if (o->device_staging == 0) o->device_staging = 512 * MIB;
    if (o->host_staging == 0) o->host_staging = 256 * MIB;
    if (o->unit_bytes == 0) o->unit_bytes = 32 * MIB;
    if (o->streams == 0) o->streams = 2;
    o->readers = zf_context_threads(p->context, o->readers);
    if (o->readers > ZF_PIPELINE_MOST_READERS) o->readers = ZF_PIPELINE_MOST_READERS;
    return ZF_OK;
}

/// Copies from the host's memory to the device's, timed: the link's rate.
static zf_status measure_link(zf_pipeline *p, zf_error *error) {
    const zf_accelerator_ops *ops = p->accelerator->ops;
    uint64_t bytes = 16 * MIB;
    double seconds = 0;
    void *events[2] = {NULL, NULL};
    bool known;
    zf_rates_link(p->rates, &known);
    if (known) return ZF_OK;
    if (bytes > p->options.host_staging) bytes = p->options.host_staging;
    if (bytes > p->options.device_staging) bytes = p->options.device_staging;
    zf_status status = ops->event_open(p->accelerator, true, &events[0], error);
    if (status == ZF_OK) status = ops->event_open(p->accelerator, true, &events[1], error);
    for (int i = 0; i < 2 && status == ZF_OK; i++) { // the first may wait for what was never used
        status = ops->event_note(p->accelerator, p->copies, events[0], error);
        if (status == ZF_OK) status = ops->copy_in(p->accelerator, p->copies, p->staging.address, p->host.at, bytes, error);
        if (status == ZF_OK) status = ops->event_note(p->accelerator, p->copies, events[1], error);
        if (status == ZF_OK) status = ops->event_seconds(p->accelerator, events[0], events[1], &seconds, error);
    }
    if (status != ZF_OK) ops->wait(p->accelerator, p->copies, NULL); // a copy may be under way to memory that will be given back
    for (int i = 0; i < 2; i++) {
        if (events[i] != NULL) ops->event_close(p->accelerator, events[i]);
    }
    if (status == ZF_OK && seconds > 0) zf_rates_link_seen(p->rates, (double)bytes / seconds);
    return status;
}

static zf_status open_accelerator(zf_pipeline *p, zf_error *error) {
    zf_accelerator *a = p->accelerator;
    if (p->options.host_staging < ZF_PIPELINE_ALIGNMENT || p->options.device_staging < ZF_PIPELINE_DEVICE_ALIGNMENT)
        return zf_raise(error, ZF_E_ARGUMENT, "a pipeline needs at least %d bytes of host staging and %d of device staging",
                        (int)ZF_PIPELINE_ALIGNMENT, (int)ZF_PIPELINE_DEVICE_ALIGNMENT);
    const zf_pipeline_allocator *allocator = &p->options.allocator;
    ZF_TRY(zf_pinned_part_take(a, allocator, p->options.host_staging, "a pipeline's staging", &p->host, error));
    ZF_TRY(zf_device_part_take(a, allocator, p->options.device_staging, "a pipeline's staging", &p->staging, error));
    p->host_ring.bytes = p->options.host_staging;
    p->device_ring.bytes = p->options.device_staging;
    ZF_TRY(a->ops->stream_open(a, &p->copies, error));
    ZF_TRY(a->ops->stream_open(a, &p->clock, error));
    ZF_TRY(a->ops->stream_open(a, &p->delivery, error));
    for (unsigned s = 0; s < p->options.streams; s++) ZF_TRY(a->ops->stream_open(a, &p->decodes[s], error));
    return measure_link(p, error);
}

static void close_accelerator(zf_pipeline *p) {
    zf_accelerator *a = p->accelerator;
    if (a == NULL) return;
    for (unsigned s = 0; s < ZF_PIPELINE_MOST_STREAMS; s++) {
        if (p->decodes[s] != NULL) a->ops->stream_close(a, p->decodes[s]);
    }
    void *streams[] = {p->copies, p->clock, p->delivery};
    for (unsigned s = 0; s < 3; s++) {
        if (streams[s] != NULL) a->ops->stream_close(a, streams[s]);
    }
    zf_pinned_part_give(&p->options.allocator, &p->spare);
    zf_pinned_part_give(&p->options.allocator, &p->host);
    zf_device_part_give(a, &p->options.allocator, &p->staging);
}

static zf_status start(zf_pipeline *p, void *(*body)(void *), zf_error *error) {
    if (!zf_thread_start(&p->threads[p->thread_count], ZF_STACK_DEFAULT, body, p))
        return zf_raise(error, ZF_E_NO_MEMORY, "cannot start a thread for a pipeline");
    p->thread_count++;
    return ZF_OK;
}

static zf_status start_all(zf_pipeline *p, zf_error *error) {
    void *(*const accelerator[])(void *) = {zf_pipeline_feeder, zf_pipeline_releaser, zf_pipeline_finisher,
                                            zf_pipeline_deliverer};
    bool host = p->accelerator == NULL;
    if (host) ZF_TRY(start(p, zf_pipeline_host_decoder, error));
    for (unsigned i = 0; !host && i < sizeof accelerator / sizeof *accelerator; i++) ZF_TRY(start(p, accelerator[i], error));
    for (unsigned i = 0; i < p->options.readers; i++)
        ZF_TRY(start(p, host ? zf_pipeline_host_reader : zf_pipeline_reader, error));
    return ZF_OK;
}

static zf_status create(zf_context *context, const char *device, zf_accelerator *accelerator, const zf_pipeline_options *options,
                        zf_pipeline **out, zf_error *error) {
    zf_pipeline *p = calloc(1, sizeof *p);
    if (p == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a pipeline");
    p->context = context;
    p->accelerator = accelerator;
    p->large = ZF_PIPELINE_BYTES_AHEAD;
    pthread_mutex_init(&p->lock, NULL);
    for (unsigned w = 0; w < ZF_WORKS; w++) pthread_cond_init(&p->work[w], NULL);
    zf_status status = resolve(p, options, error);
    if (status == ZF_OK) status = zf_device_find(context, device != NULL ? device : "auto", &p->device, error);
    if (status == ZF_OK && (p->rates = zf_device_rates(context, &p->device)) == NULL)
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a pipeline");
    if (status == ZF_OK && accelerator == NULL && p->device.ops->start != NULL)
        status = zf_device_accelerator(context, &p->device, &p->accelerator, error);
    if (status == ZF_OK && p->accelerator != NULL) status = open_accelerator(p, error);
    if (status == ZF_OK) status = start_all(p, error);
    if (status == ZF_OK)
        *out = p;
    else
        zf_pipeline_free(p);
    return status;
}

zf_status zf_pipeline_create_on(zf_context *context, const char *device, zf_accelerator *accelerator,
                                const zf_pipeline_options *options, zf_pipeline **out, zf_error *error) {
    *out = NULL;
    return create(context, device, accelerator, options, out, error);
}

zf_status zf_pipeline_create(zf_context *context, const char *device, const zf_pipeline_options *options, zf_pipeline **out,
                             zf_error *error) {
    if (out != NULL) *out = NULL;
    if (context == NULL || out == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_pipeline_create needs a context and a place for the pipeline");
    return create(context, device, NULL, options, out, error);
}

void zf_pipeline_free(zf_pipeline *p) {
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    for (unsigned w = 0; w < ZF_WORKS; w++) zf_pipeline_wake_all(p, w);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->thread_count; i++) pthread_join(p->threads[i], NULL);
    close_accelerator(p);
    if (p->rates != NULL) zf_rates_keep(p->rates, true);
    for (unsigned w = 0; w < ZF_WORKS; w++) pthread_cond_destroy(&p->work[w]);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
