// How fast bytes are copied to a device in units, while streams wait for them: what sizes of units, numbers of decode streams and
// depths of queues cost the link.
//
//   link_copies [--device D] [--bytes BYTES] [--repeats N]
//
// Units go on one stream. A decode stream waits for each by an event, and then fills memory of the device, as a decode would
// write its rows; streams take turns. `ahead` is how many units are queued before the first of them has ended; 0: all. JSON goes
// to standard output. Bytes are compared with their source after each case; memory is poisoned before.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure_compare.h"
#include "measure/measure_times.h"
#include "runtime/base/clock.h"
#include "runtime/device/device.h"
#include "zipflow/compile.h"
#include "zipflow/emulator.h"

enum { MOST_UNITS = 4096, MOST_STREAMS = 8, MOST_REPEATS = 100, GROWS = 5 };

typedef struct bench {
    zf_accelerator *accelerator;
    const zf_accelerator_ops *ops;
    uint64_t bytes;
    unsigned repeats;
    uint8_t *source, *landing; ///< pinned
    uint64_t to, out;          ///< memory of the device: for all bytes; for each stream GROWS times the largest unit
    void *copies, *decodes[MOST_STREAMS], *events[MOST_UNITS];
} bench;

/// A measurement.
typedef struct measured_case {
    uint64_t unit_bytes;
    unsigned streams; ///< 0: copies alone
    unsigned ahead;
} measured_case;

static uint64_t largest_unit(const bench *b) { return b->bytes < (UINT64_C(32) << 20) ? b->bytes : UINT64_C(32) << 20; }

/// Queues everything. `seconds`: from the first call to the end of the last copy.
static zf_status run(const bench *b, const measured_case *c, double *seconds, zf_error *error) {
    zf_status status = ZF_OK;
    double begin = zf_clock_seconds();
    for (uint64_t at = 0, k = 0; at < b->bytes && status == ZF_OK; at += c->unit_bytes, k++) {
        uint64_t bytes = b->bytes - at < c->unit_bytes ? b->bytes - at : c->unit_bytes;
        if (c->ahead > 0 && k >= c->ahead) status = b->ops->event_wait(b->accelerator, b->events[k - c->ahead], error);
        if (status == ZF_OK) status = b->ops->copy_in(b->accelerator, b->copies, b->to + at, b->source + at, bytes, error);
        if (status == ZF_OK) status = b->ops->event_note(b->accelerator, b->copies, b->events[k], error);
        if (status != ZF_OK || c->streams == 0) continue;
        void *stream = b->decodes[k % c->streams];
        uint64_t grown = bytes < largest_unit(b) ? bytes : largest_unit(b);
        status = b->ops->stream_follow(b->accelerator, stream, b->events[k], error);
        if (status == ZF_OK)
            status =
                b->ops->fill(b->accelerator, stream, b->out + k % c->streams * GROWS * largest_unit(b), 1, GROWS * grown, error);
    }
    if (status == ZF_OK) status = b->ops->wait(b->accelerator, b->copies, error);
    *seconds = zf_clock_seconds() - begin;
    for (unsigned s = 0; s < c->streams && status == ZF_OK; s++) status = b->ops->wait(b->accelerator, b->decodes[s], error);
    return status;
}

static zf_status poison(const bench *b, zf_error *error) {
    zf_status status = b->ops->fill(b->accelerator, b->copies, b->to, ZF_POISON_COPY, b->bytes, error);
    return status == ZF_OK ? b->ops->wait(b->accelerator, b->copies, error) : status;
}

static zf_status compare(const bench *b, zf_error *error) {
    zf_status status = b->ops->copy_out(b->accelerator, b->copies, b->landing, b->to, b->bytes, error);
    if (status == ZF_OK) status = b->ops->wait(b->accelerator, b->copies, error);
    if (status != ZF_OK || zf_measure_difference(b->landing, b->source, b->bytes) == b->bytes) return status;
    *error = (zf_error){.status = ZF_ERR_INTERNAL, .code = "bench", .message = "what was copied differs from its source"};
    return error->status;
}

/// A row of the report.
static zf_status measure(const bench *b, const measured_case *c, bool first, zf_error *error) {
    double times[MOST_REPEATS], unused;
    zf_status status = poison(b, error);
    if (status == ZF_OK) status = run(b, c, &unused, error); // does not count
    for (unsigned r = 0; r < b->repeats && status == ZF_OK; r++) status = run(b, c, &times[r], error);
    if (status == ZF_OK) status = compare(b, error);
    if (status != ZF_OK) return status;
    zf_measure_times t = zf_measure_times_of(times, b->repeats);
    printf("%s\n  {\"unit_bytes\": %" PRIu64
           ", \"streams\": %u, \"ahead\": %u, \"gb_per_second\": %.3f, \"least\": %.3f, \"most\": %.3f}",
           first ? "" : ",", c->unit_bytes, c->streams, c->ahead, (double)b->bytes / t.median / 1e9,
           (double)b->bytes / t.most / 1e9, (double)b->bytes / t.least / 1e9);
    fflush(stdout);
    return ZF_OK;
}

/// Units of 1 to 64 MiB alone; of 4 and 32 MiB with 1 to 8 streams and queues of three depths.
static zf_status measure_all(const bench *b, zf_error *error) {
    static const uint64_t mib = 1 << 20, sizes[] = {1, 2, 4, 8, 16, 32, 64}, waited[] = {4, 32};
    static const unsigned streams[] = {1, 2, 3, 4, 8}, depths[] = {0, 8, 2};
    zf_status status = ZF_OK;
    bool first = true;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && status == ZF_OK; i++, first = false)
        status = measure(b, &(measured_case){.unit_bytes = sizes[i] * mib}, first, error);
    for (size_t i = 0; i < sizeof waited / sizeof waited[0]; i++) {
        for (size_t s = 0; s < sizeof streams / sizeof streams[0]; s++) {
            for (size_t d = 0; d < sizeof depths / sizeof depths[0] && status == ZF_OK; d++) {
                measured_case one = {.unit_bytes = waited[i] * mib, .streams = streams[s], .ahead = depths[d]};
                status = measure(b, &one, false, error);
            }
        }
    }
    return status;
}

static zf_status open_all(bench *b, zf_error *error) {
    void *source, *landing;
    zf_status status = b->ops->host_allocate(b->accelerator, b->bytes, &source, error);
    if (status != ZF_OK) return status;
    b->source = source;
    status = b->ops->host_allocate(b->accelerator, b->bytes, &landing, error);
    if (status != ZF_OK) return status;
    b->landing = landing;
    for (uint64_t i = 0, x = 88172645463325252; i < b->bytes; i++) {
        if (i % 8 == 0) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        b->source[i] = (uint8_t)(x >> i % 8 * 8);
    }
    status = b->ops->allocate(b->accelerator, b->bytes, &b->to, error);
    if (status == ZF_OK) status = b->ops->allocate(b->accelerator, MOST_STREAMS * GROWS * largest_unit(b), &b->out, error);
    if (status == ZF_OK) status = b->ops->stream_open(b->accelerator, &b->copies, error);
    for (unsigned s = 0; s < MOST_STREAMS && status == ZF_OK; s++)
        status = b->ops->stream_open(b->accelerator, &b->decodes[s], error);
    for (unsigned e = 0; e < MOST_UNITS && status == ZF_OK; e++)
        status = b->ops->event_open(b->accelerator, false, &b->events[e], error);
    return status;
}

static void close_all(bench *b) {
    zf_accelerator *a = b->accelerator;
    for (unsigned e = 0; e < MOST_UNITS; e++) {
        if (b->events[e] != NULL) b->ops->event_close(a, b->events[e]);
    }
    for (unsigned s = 0; s < MOST_STREAMS; s++) {
        if (b->decodes[s] != NULL) b->ops->stream_close(a, b->decodes[s]);
    }
    if (b->copies != NULL) b->ops->stream_close(a, b->copies);
    if (b->out != 0) b->ops->release(a, b->out);
    if (b->to != 0) b->ops->release(a, b->to);
    if (b->landing != NULL) b->ops->host_release(a, b->landing);
    if (b->source != NULL) b->ops->host_release(a, b->source);
}

int main(int argc, char **argv) {
    bench b = {.bytes = UINT64_C(1) << 30, .repeats = 7};
    const char *name = "cuda";
    bool good = argc % 2 == 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        unsigned long long number = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--device") == 0)
            name = argv[i + 1];
        else if (strcmp(argv[i], "--bytes") == 0)
            b.bytes = number;
        else if (strcmp(argv[i], "--repeats") == 0)
            b.repeats = (unsigned)number;
        else
            good = false;
    }
    if (!good || b.bytes == 0 || b.bytes > ((uint64_t)MOST_UNITS << 20) || b.repeats == 0 || b.repeats > MOST_REPEATS) {
        fprintf(stderr, "usage: link_copies [--device D] [--bytes 1 to %llu] [--repeats 1 to %d]\n",
                (unsigned long long)MOST_UNITS << 20, MOST_REPEATS);
        return 2;
    }
    zf_error error = {0};
    zf_context *context = NULL;
    zf_device device;
    zf_status status = zf_context_create(NULL, &context, &error);
    if (status == ZF_OK) status = zf_emulator_register(context, &error);
    if (status == ZF_OK) status = zf_device_find(context, name, &device, &error);
    if (status == ZF_OK && device.ops->start == NULL) {
        error = (zf_error){.status = ZF_ERR_USAGE, .code = "bench", .message = "the device has no link"};
        status = error.status;
    }
    if (status == ZF_OK) status = zf_device_accelerator(context, &device, &b.accelerator, &error);
    if (status == ZF_OK) {
        b.ops = b.accelerator->ops;
        status = open_all(&b, &error);
        printf("{\"bench\": \"copies in units beside streams that wait for them\", \"version\": \"%s\", \"device\": \"%s\", "
               "\"bytes\": %" PRIu64 ",\n \"repeats\": %u, \"counted\": \"bytes by seconds of the host's clock, from the first "
               "call to the end of the last copy; medians\",\n"
               " \"rows\": [",
               zf_version(), name, b.bytes, b.repeats);
        if (status == ZF_OK) status = measure_all(&b, &error);
        printf("\n ], \"verified\": %s}\n", status == ZF_OK ? "true" : "false");
        close_all(&b);
    }
    if (status != ZF_OK) fprintf(stderr, "link_copies: %s: %s\n", error.code, error.message);
    zf_context_free(context);
    return (int)status;
}
