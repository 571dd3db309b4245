// An accelerator that does things late, as a GPU does: calls are queued on streams, each of which is a thread that runs them in
// order, after random delays, on another accelerator (the emulator). Copies read and write the host's memory when they run, so
// memory that is used again too soon shows as wrong data. As with CUDA, a stream that is closed still runs what is queued there,
// and an event that is closed may still be followed. It counts what is allocated, and can fail a call.
#ifndef ZF_TESTS_LATE_ACCELERATOR_H
#define ZF_TESTS_LATE_ACCELERATOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/base/error.h"
#include "tests/support/accelerator_ops.h"

typedef struct late_event {
    uint64_t noted, done;
    struct timespec at;
    struct late_event *next; ///< of those that were closed
} late_event;

typedef enum late_kind { LATE_IN, LATE_OUT, LATE_FILL, LATE_LAUNCH, LATE_MOVE, LATE_NOTE, LATE_FOLLOW, LATE_END } late_kind;

typedef struct late_call {
    late_kind kind;
    uint64_t device, bytes, ticket;
    void *host;
    uint8_t byte;
    zf_accelerator_code *code;
    uint32_t kernel, groups;
    zf_simt_args args;
    zf_move_args move;
    late_event *event;
    struct late_call *next;
} late_call;

typedef struct late {
    zf_accelerator base;
    zf_accelerator_ops ops;
    zf_accelerator *inner;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned delay;               ///< most microseconds before every fourth call or so runs; 0: none
    atomic_uint copy_delay;       ///< microseconds before each copy runs
    atomic_uint allocated;        ///< calls that allocate: memory, streams, events
    atomic_uint waited;           ///< calls that wait for a stream
    atomic_long fail_in;          ///< so many calls that queue until one fails; negative: none
    atomic_uint failed_inside;    ///< calls that failed when they ran, which they must not
    atomic_uint copies, launches; ///< calls that queue these, since somebody set them to 0
    atomic_uint ahead;            ///< of the copies, those before the first launch
    struct late_stream *standard; ///< what NULL names
    struct late_stream *closed;   ///< streams, until the end
    late_event *closed_events;    ///< the same: streams may still follow them
} late;

typedef struct late_stream {
    late *owner;
    pthread_t thread;
    pthread_cond_t queued;
    late_call *first, *last;
    unsigned seed;
    struct late_stream *next; ///< of those that were closed
} late_stream;

static inline void late_sleep(unsigned microseconds) {
    struct timespec pause = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};
    if (microseconds > 0) nanosleep(&pause, NULL);
}

static inline void late_run(late *l, const late_call *call) {
    zf_error error;
    zf_accelerator *inner = l->inner;
    zf_status status = ZF_OK;
    switch (call->kind) {
    case LATE_IN: status = inner->ops->copy_in(inner, NULL, call->device, call->host, call->bytes, &error); break;
    case LATE_OUT: status = inner->ops->copy_out(inner, NULL, call->host, call->device, call->bytes, &error); break;
    case LATE_FILL: status = inner->ops->fill(inner, NULL, call->device, call->byte, call->bytes, &error); break;
    case LATE_LAUNCH:
        status = inner->ops->launch(inner, NULL, call->code, call->kernel, call->groups, &call->args, &error);
        break;
    case LATE_MOVE: status = inner->ops->move_bits(inner, NULL, &call->move, &error); break;
    case LATE_NOTE:
        pthread_mutex_lock(&l->lock);
        call->event->done = call->ticket;
        clock_gettime(CLOCK_MONOTONIC, &call->event->at);
        pthread_cond_broadcast(&l->changed);
        pthread_mutex_unlock(&l->lock);
        break;
    case LATE_FOLLOW:
        pthread_mutex_lock(&l->lock);
        while (call->event->done < call->ticket) pthread_cond_wait(&l->changed, &l->lock);
        pthread_mutex_unlock(&l->lock);
        break;
    case LATE_END: break;
    }
    if (status != ZF_OK) atomic_fetch_add(&l->failed_inside, 1);
}

static inline void *late_work(void *user) {
    late_stream *stream = user;
    late *l = stream->owner;
    for (;;) {
        pthread_mutex_lock(&l->lock);
        while (stream->first == NULL) pthread_cond_wait(&stream->queued, &l->lock);
        late_call *call = stream->first;
        pthread_mutex_unlock(&l->lock);
        if (call->kind == LATE_END) break;
        if (l->delay > 0 && rand_r(&stream->seed) % 4 == 0) late_sleep((unsigned)rand_r(&stream->seed) % l->delay);
        if (call->kind == LATE_IN || call->kind == LATE_OUT) late_sleep(atomic_load(&l->copy_delay));
        late_run(l, call);
        pthread_mutex_lock(&l->lock);
        stream->first = call->next;
        if (stream->first == NULL) stream->last = NULL;
        pthread_mutex_unlock(&l->lock);
        free(call);
    }
    free(stream->first);
    return NULL;
}

/// Queues a call; with `may_fail` it may be the one that fails.
static inline zf_status late_queue(late *l, void *on, const late_call *what, bool may_fail, zf_error *error) {
    if (may_fail && atomic_load(&l->fail_in) >= 0 && atomic_fetch_sub(&l->fail_in, 1) == 0)
        return zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "a call that was to fail");
    late_stream *stream = on != NULL ? on : l->standard;
    late_call *call = malloc(sizeof *call);
    *call = *what;
    call->next = NULL;
    pthread_mutex_lock(&l->lock);
    if (call->kind == LATE_NOTE) call->ticket = ++call->event->noted;
    if (call->kind == LATE_FOLLOW) call->ticket = call->event->noted;
    if (stream->last != NULL)
        stream->last->next = call;
    else
        stream->first = call;
    stream->last = call;
    pthread_cond_signal(&stream->queued);
    pthread_mutex_unlock(&l->lock);
    return ZF_OK;
}

static inline zf_abi_target late_target(const zf_accelerator *self) {
    zf_accelerator *inner = ((const late *)self)->inner;
    return inner->ops->target(inner);
}
static inline zf_status late_allocate(zf_accelerator *self, uint64_t bytes, uint64_t *address, zf_error *error) {
    late *l = (late *)self;
    atomic_fetch_add(&l->allocated, 1);
    return l->inner->ops->allocate(l->inner, bytes, address, error);
}
static inline void late_release(zf_accelerator *self, uint64_t address) {
    late *l = (late *)self;
    l->inner->ops->release(l->inner, address);
}
static inline zf_status late_host_allocate(zf_accelerator *self, uint64_t bytes, void **at, zf_error *error) {
    late *l = (late *)self;
    atomic_fetch_add(&l->allocated, 1);
    return l->inner->ops->host_allocate(l->inner, bytes, at, error);
}
static inline void late_host_release(zf_accelerator *self, void *at) {
    late *l = (late *)self;
    l->inner->ops->host_release(l->inner, at);
}
static inline zf_status late_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes,
                                zf_error *error) {
    late_call call = {.kind = LATE_IN, .device = to, .host = (void *)(uintptr_t)from, .bytes = bytes};
    late *l = (late *)self;
    atomic_fetch_add(&l->copies, 1);
    if (atomic_load(&l->launches) == 0) atomic_fetch_add(&l->ahead, 1);
    return late_queue(l, stream, &call, true, error);
}
static inline zf_status late_out(zf_accelerator *self, void *stream, void *to, uint64_t from, uint64_t bytes, zf_error *error) {
    late_call call = {.kind = LATE_OUT, .device = from, .host = to, .bytes = bytes};
    return late_queue((late *)self, stream, &call, true, error);
}
static inline zf_status late_fill(zf_accelerator *self, void *stream, uint64_t to, uint8_t byte, uint64_t bytes,
                                  zf_error *error) {
    late_call call = {.kind = LATE_FILL, .device = to, .byte = byte, .bytes = bytes};
    return late_queue((late *)self, stream, &call, true, error);
}
static inline zf_status late_load(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code,
                                  zf_accelerator_code **out, zf_error *error) {
    late *l = (late *)self;
    return l->inner->ops->load(l->inner, plan, code, out, error);
}
static inline zf_status late_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel,
                                    uint32_t groups, const zf_simt_args *args, zf_error *error) {
    late_call call = {.kind = LATE_LAUNCH, .code = code, .kernel = kernel, .groups = groups, .args = *args};
    atomic_fetch_add(&((late *)self)->launches, 1);
    return late_queue((late *)self, stream, &call, true, error);
}
static inline zf_status late_move(zf_accelerator *self, void *stream, const zf_move_args *args, zf_error *error) {
    late_call call = {.kind = LATE_MOVE, .move = *args};
    return late_queue((late *)self, stream, &call, true, error);
}
static inline zf_status late_event_wait(zf_accelerator *self, void *event, zf_error *error) {
    late *l = (late *)self;
    late_event *e = event;
    (void)error;
    pthread_mutex_lock(&l->lock);
    while (e->done < e->noted) pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
    return ZF_OK;
}
static inline zf_status late_wait(zf_accelerator *self, void *stream, zf_error *error) {
    late *l = (late *)self;
    late_event end = {0};
    late_call call = {.kind = LATE_NOTE, .event = &end};
    atomic_fetch_add(&l->waited, 1);
    late_queue(l, stream, &call, false, error);
    return late_event_wait(self, &end, error);
}
static inline void *late_stream_new(late *l) {
    late_stream *stream = calloc(1, sizeof *stream);
    stream->owner = l;
    stream->seed = (unsigned)rand();
    pthread_cond_init(&stream->queued, NULL);
    if (pthread_create(&stream->thread, NULL, late_work, stream) != 0) abort();
    return stream;
}
static inline zf_status late_stream_open(zf_accelerator *self, void **stream, zf_error *error) {
    late *l = (late *)self;
    (void)error;
    atomic_fetch_add(&l->allocated, 1);
    *stream = late_stream_new(l);
    return ZF_OK;
}
static inline void late_stream_close(zf_accelerator *self, void *stream) {
    late *l = (late *)self;
    late_stream *s = stream;
    late_call end = {.kind = LATE_END};
    late_queue(l, stream, &end, false, NULL);
    pthread_mutex_lock(&l->lock);
    s->next = l->closed;
    l->closed = s;
    pthread_mutex_unlock(&l->lock);
}
static inline zf_status late_event_open(zf_accelerator *self, bool timed, void **event, zf_error *error) {
    (void)timed, (void)error;
    atomic_fetch_add(&((late *)self)->allocated, 1);
    *event = calloc(1, sizeof(late_event));
    return ZF_OK;
}
static inline void late_event_close(zf_accelerator *self, void *event) {
    late *l = (late *)self;
    late_event *e = event;
    pthread_mutex_lock(&l->lock);
    e->next = l->closed_events;
    l->closed_events = e;
    pthread_mutex_unlock(&l->lock);
}
static inline zf_status late_event_note(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    late_call call = {.kind = LATE_NOTE, .event = event};
    return late_queue((late *)self, stream, &call, true, error);
}
static inline zf_status late_follow(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    late_call call = {.kind = LATE_FOLLOW, .event = event};
    return late_queue((late *)self, stream, &call, true, error);
}
static inline zf_status late_seconds(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error) {
    const late_event *a = from, *b = to;
    late_event_wait(self, from, error);
    late_event_wait(self, to, error);
    *seconds = (double)(b->at.tv_sec - a->at.tv_sec) + (double)(b->at.tv_nsec - a->at.tv_nsec) / 1e9;
    return ZF_OK;
}

/// On `inner`, which must live longer. To be given to late_end.
static inline void late_begin(late *l, zf_accelerator *inner, unsigned delay) {
    *l = (late){.inner = inner, .delay = delay};
    atomic_init(&l->fail_in, -1);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    l->ops = (zf_accelerator_ops){ACCELERATOR_OPS(late),
                                  .wait = late_wait,
                                  .move_bits = late_move,
                                  .stream_open = late_stream_open,
                                  .stream_close = late_stream_close,
                                  .event_open = late_event_open,
                                  .event_close = late_event_close,
                                  .event_note = late_event_note,
                                  .event_wait = late_event_wait,
                                  .stream_follow = late_follow,
                                  .event_seconds = late_seconds};
    l->base.ops = &l->ops;
    l->standard = late_stream_new(l);
}

/// Runs what is still queued on streams, all of which must be closed.
static inline void late_end(late *l) {
    late_stream_close(&l->base, l->standard);
    while (l->closed != NULL) {
        late_stream *stream = l->closed;
        l->closed = stream->next;
        pthread_join(stream->thread, NULL);
        pthread_cond_destroy(&stream->queued);
        free(stream);
    }
    while (l->closed_events != NULL) {
        late_event *event = l->closed_events;
        l->closed_events = event->next;
        free(event);
    }
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
}

#endif
