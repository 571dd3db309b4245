// Parts of a query's rows that come from the host's memory while the query runs: a part's kernels begin when it has arrived, and
// copies go on meanwhile.
//
// The host waits for a part before it enqueues the kernels. Kernels that waited in a GPU's queues made copies slower on an H200
// (runtime/pipeline/README.md). The link has work meanwhile, since copies are enqueued as far ahead as there are places.
#include <stdlib.h>

#include "compiler/query/query_device.h"
#include "runtime/base/error_codes.h"

static zf_status open_events(zf_accelerator *accelerator, void **events, size_t count, zf_error *error) {
    for (size_t k = 0; k < count; k++) ZF_TRY(accelerator->ops->event_open(accelerator, false, &events[k], error));
    return ZF_OK;
}

zf_status zf_query_feed_open(zf_query_feed *feed, zf_accelerator *accelerator, size_t parts, size_t slots, zf_error *error) {
    feed->accelerator = accelerator;
    feed->slots = slots;
    feed->part_count = parts;
    feed->arrived = calloc(parts + 1, sizeof *feed->arrived);
    feed->left = calloc(slots + 1, sizeof *feed->left);
    feed->user = calloc(slots + 1, sizeof *feed->user);
    if (feed->arrived == NULL || feed->left == NULL || feed->user == NULL)
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the parts of a query");
    ZF_TRY(open_events(accelerator, &feed->begun, 1, error));
    ZF_TRY(open_events(accelerator, feed->arrived, parts, error));
    ZF_TRY(open_events(accelerator, feed->left, slots, error));
    return accelerator->ops->stream_open(accelerator, &feed->copies, error);
}

static void close_events(zf_accelerator *accelerator, void **events, size_t count) {
    for (size_t k = 0; events != NULL && k < count; k++)
        if (events[k] != NULL) accelerator->ops->event_close(accelerator, events[k]);
}

void zf_query_feed_close(zf_query_feed *feed) {
    if (feed->accelerator == NULL) return;
    if (feed->copies != NULL) feed->accelerator->ops->stream_close(feed->accelerator, feed->copies);
    close_events(feed->accelerator, &feed->begun, 1);
    close_events(feed->accelerator, feed->arrived, feed->part_count);
    close_events(feed->accelerator, feed->left, feed->slots);
    free(feed->arrived);
    free(feed->left);
    free(feed->user);
    *feed = (zf_query_feed){0};
}

void zf_query_feed_place(const zf_query_feed *feed, const zf_query_parts *parts) {
    size_t next = 0;
    for (size_t p = 0; p < parts->count; p++)
        if (parts->items[p].wanted) parts->items[p].slot = next++ % feed->slots;
}

// Enqueues copies behind those of `*next` - 1 parts, before part `now` runs: as many as have a place that no part needs which
// has yet to run.
static zf_status copy_ahead(zf_query_feed *feed, const zf_query_parts *parts, size_t now, size_t *next, zf_error *error) {
    const zf_accelerator_ops *ops = feed->accelerator->ops;
    for (; *next < parts->count; ++*next) {
        const zf_query_part *part = &parts->items[*next];
        if (!part->wanted) continue;
        size_t user = feed->user[part->slot];
        if (user > now) break;
        if (user != 0) ZF_TRY(ops->stream_follow(feed->accelerator, feed->copies, feed->left[part->slot], error));
        ZF_TRY(zf_query_part_copy(parts, part, feed->copies, error));
        ZF_TRY(ops->event_note(feed->accelerator, feed->copies, feed->arrived[*next], error));
        feed->user[part->slot] = *next + 1;
    }
    return ZF_OK;
}

static zf_status run_parts(zf_query_feed *feed, const zf_query_parts *parts, void *stream, zf_query_feed_fn run, void *user,
                           zf_error *error) {
    zf_accelerator *a = feed->accelerator;
    size_t next = 0;
    ZF_TRY(a->ops->event_note(a, stream, feed->begun, error));
    ZF_TRY(a->ops->stream_follow(a, feed->copies, feed->begun, error));
    for (size_t s = 0; s < feed->slots; s++) feed->user[s] = 0;
    for (size_t p = 0; p < parts->count; p++) {
        zf_query_part *part = &parts->items[p];
        if (!part->wanted) continue;
        ZF_TRY(copy_ahead(feed, parts, p, &next, error));
        ZF_TRY(a->ops->event_wait(a, feed->arrived[p], error));
        ZF_TRY(run(user, part, error));
        ZF_TRY(a->ops->event_note(a, stream, feed->left[part->slot], error));
    }
    return ZF_OK;
}

zf_status zf_query_feed_run(zf_query_feed *feed, const zf_query_parts *parts, void *stream, zf_query_feed_fn run, void *user,
                            zf_error *error) {
    zf_error ignored;
    zf_status status = run_parts(feed, parts, stream, run, user, error);
    zf_status waited = feed->accelerator->ops->wait(feed->accelerator, feed->copies, status == ZF_OK ? error : &ignored);
    return status == ZF_OK ? waited : status;
}
