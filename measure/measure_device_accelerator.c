// Measuring on an accelerator: its memory, its clock, its copy. All copies of the column are decoded by the same launches, as one
// column as large as all of them would be; resetting and launching are within the time, reading the failure words is not. The
// timed run is enqueued behind untimed runs and the poison, without waiting for them. The device is busy until it begins, so its
// time includes none of the host's.
#include <stdlib.h>

#include "measure/measure.h"
#include "runtime/base/error_codes.h"
#include "runtime/decode/decode_unit.h"

typedef struct measured {
    zf_accelerator *accelerator;
    const zf_accelerator_ops *ops;
    void *stream;
    zf_units *units; ///< while a column is prepared
    zf_units_memory memory;
    uint64_t *words;
    bool decoding; ///< the clock runs for a decode
} measured;

static zf_status open_device(zf_context *context, const zf_device *device, unsigned threads, void **self, zf_error *error) {
    (void)threads;
    measured *m = calloc(1, sizeof *m);
    *self = m;
    if (m == NULL) return zf_raise_no_memory(error);
    zf_status status = zf_device_accelerator(context, device, &m->accelerator, error);
    if (status == ZF_OK) {
        m->ops = m->accelerator->ops;
        status = m->ops->stream_open(m->accelerator, &m->stream, error);
    }
    if (status != ZF_OK) free(m);
    return status;
}

static void close_device(void *self) {
    measured *m = self;
    m->ops->stream_close(m->accelerator, m->stream);
    free(m);
}

// ---- Memory and clock -----------------------------------------------------------------------------------------

static zf_status allocate(void *self, size_t bytes, void **out, zf_error *error) {
    measured *m = self;
    uint64_t address = 0;
    zf_status status = m->ops->allocate(m->accelerator, bytes, &address, error);
    *out = (void *)(uintptr_t)address;
    return status != ZF_OK ? status : m->ops->fill(m->accelerator, m->stream, address, 1, bytes, error);
}

static void release(void *self, void *memory) {
    measured *m = self;
    if (memory != NULL) m->ops->release(m->accelerator, (uint64_t)(uintptr_t)memory);
}

static zf_status upload(void *self, void *to, const void *from, size_t bytes, zf_error *error) {
    measured *m = self;
    zf_status status = m->ops->copy_in(m->accelerator, m->stream, (uint64_t)(uintptr_t)to, from, bytes, error);
    return status != ZF_OK ? status : m->ops->wait(m->accelerator, m->stream, error);
}

static zf_status download(void *self, void *to, const void *from, size_t bytes, zf_error *error) {
    measured *m = self;
    zf_status status = m->ops->copy_out(m->accelerator, m->stream, to, (uint64_t)(uintptr_t)from, bytes, error);
    return status != ZF_OK ? status : m->ops->wait(m->accelerator, m->stream, error);
}

static zf_status land(void *self, size_t bytes, zf_host_pages *out, zf_error *error) {
    measured *m = self;
    return zf_host_pages_allocate(m->accelerator, bytes, out, error);
}

static zf_status fill(void *self, void *at, int byte, size_t bytes, zf_error *error) {
    measured *m = self;
    return m->ops->fill(m->accelerator, m->stream, (uint64_t)(uintptr_t)at, (uint8_t)byte, bytes, error);
}

static void close_events(measured *m, zf_measure_clock *clock, int count) {
    for (int i = 0; i < count; i++) m->ops->event_close(m->accelerator, clock->own[i]);
}

static zf_status start(void *self, zf_measure_clock *clock, zf_error *error) {
    measured *m = self;
    m->decoding = false;
    int opened = 0;
    zf_status status = ZF_OK;
    while (status == ZF_OK && opened < 2) {
        status = m->ops->event_open(m->accelerator, true, &clock->own[opened], error);
        opened += status == ZF_OK;
    }
    if (status == ZF_OK) status = m->ops->event_note(m->accelerator, m->stream, clock->own[0], error);
    if (status != ZF_OK) close_events(m, clock, opened);
    return status;
}

/// Reads the failure words of a round.
static zf_status read_words(measured *m, zf_error *error) {
    ZF_TRY(zf_units_end(m->units, m->stream, &m->memory, m->words, error));
    ZF_TRY(m->ops->wait(m->accelerator, m->stream, error));
    return zf_units_status(m->units, m->words, error);
}

static zf_status stop(void *self, zf_measure_clock *clock, double *seconds, zf_error *error) {
    measured *m = self;
    zf_status status = m->ops->event_note(m->accelerator, m->stream, clock->own[1], error);
    if (status == ZF_OK) status = m->ops->event_seconds(m->accelerator, clock->own[0], clock->own[1], seconds, error);
    close_events(m, clock, 2);
    return status != ZF_OK || !m->decoding ? status : read_words(m, error);
}

static zf_status copy_bytes(void *self, void *to, const void *from, size_t bytes, zf_error *error) {
    measured *m = self;
    return m->ops->copy_within(m->accelerator, m->stream, (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes, error);
}

// ---- Decoding -------------------------------------------------------------------------------------------------

static zf_status prepare(void *self, const zf_measure_work *work, void **prepared, uint64_t *kernels, zf_error *error) {
    measured *m = self;
    *prepared = m; // also after a failure: `finish` frees what there is
    zf_decode_options options = {.skip_checksums = true};
    zf_units_options unit_options = {.unit_bytes = UINT64_C(1) << 60, // one unit: what is measured is not cut
                                     .resident = true,
                                     .general = work->options->general,
                                     .copies = (uint32_t)work->copies,
                                     .copy_stride = work->plain_stride};
    ZF_TRY(zf_units_make(work->container, work->column, &options, &unit_options, m->accelerator, &m->units, error));
    m->words = malloc(((size_t)zf_units_words(m->units) + 1) * sizeof *m->words);
    if (m->words == NULL) return zf_raise_no_memory(error);
    m->memory.offsets = (uint64_t)(uintptr_t)work->out;
    m->memory.values = m->memory.offsets + work->values_at;
    m->memory.validity = m->memory.offsets + work->validity_at;
    ZF_TRY(m->ops->allocate(m->accelerator, zf_units_sizes_of(m->units).workspace, &m->memory.workspace, error));
    ZF_TRY(zf_units_upload(m->units, m->stream, &m->memory, error));
    *kernels = zf_units_stats(m->units).kernels;
    return m->ops->wait(m->accelerator, m->stream, error);
}

static zf_status decode(void *self, void *prepared, zf_error *error) {
    measured *m = self;
    (void)prepared;
    m->decoding = true;
    ZF_TRY(zf_units_start(m->units, m->stream, &m->memory, error));
    return zf_units_launch(m->units, m->stream, &m->memory, error);
}

/// Notes events around each kernel: nothing is waited for in between, so a kernel's time has none of the host's in it as long as
/// what was queued before keeps the device busy while these are.
static zf_status queue_kernels(measured *m, void **events, uint32_t count, zf_error *error) {
    ZF_TRY(zf_units_start(m->units, m->stream, &m->memory, error));
    ZF_TRY(m->ops->event_note(m->accelerator, m->stream, events[0], error));
    for (uint32_t k = 0; k < count; k++) {
        ZF_TRY(zf_units_launch_kernel(m->units, k, m->stream, &m->memory, error));
        ZF_TRY(m->ops->event_note(m->accelerator, m->stream, events[k + 1], error));
    }
    return ZF_OK;
}

static zf_status decode_kernels(void *self, void *prepared, uint32_t count, double *seconds, zf_error *error) {
    measured *m = self;
    (void)prepared;
    void *events[ZF_MEASURE_KERNELS_MOST + 1];
    uint32_t opened = 0;
    zf_status status = ZF_OK;
    while (opened <= count && status == ZF_OK) {
        status = m->ops->event_open(m->accelerator, true, &events[opened], error);
        if (status == ZF_OK) opened++;
    }
    if (status == ZF_OK) status = queue_kernels(m, events, count, error);
    for (uint32_t k = 0; k < count && status == ZF_OK; k++)
        status = m->ops->event_seconds(m->accelerator, events[k], events[k + 1], &seconds[k], error);
    if (status == ZF_OK) status = read_words(m, error);
    for (uint32_t k = 0; k < opened; k++) m->ops->event_close(m->accelerator, events[k]);
    return status;
}

static void finish(void *self, void *prepared) {
    measured *m = self;
    if (prepared == NULL) return;
    m->ops->wait(m->accelerator, m->stream, NULL); // kernels may still use what is freed here
    if (m->memory.workspace != 0) m->ops->release(m->accelerator, m->memory.workspace);
    zf_units_retire(m->units);
    zf_units_free(m->units);
    free(m->words);
    m->units = NULL;
    m->words = NULL;
    m->memory = (zf_units_memory){0};
}

#define ROW(device_name, warm_runs, threads)                                                                                     \
    {                                                                                                                            \
        .name = device_name,                                                                                                     \
        .warm = warm_runs,                                                                                                       \
        .copy = "a copy within the device's memory",                                                                             \
        .own_blocks = true,                                                                                                      \
        .comparers = threads,                                                                                                    \
        .open = open_device,                                                                                                     \
        .close = close_device,                                                                                                   \
        .allocate = allocate,                                                                                                    \
        .release = release,                                                                                                      \
        .upload = upload,                                                                                                        \
        .download = download,                                                                                                    \
        .land = land,                                                                                                            \
        .fill = fill,                                                                                                            \
        .start = start,                                                                                                          \
        .stop = stop,                                                                                                            \
        .copy_bytes = copy_bytes,                                                                                                \
        .prepare = prepare,                                                                                                      \
        .decode = decode,                                                                                                        \
        .decode_kernels = decode_kernels,                                                                                        \
        .finish = finish,                                                                                                        \
    }
const zf_measure_device zf_measure_device_cuda = ROW("cuda", 8, 8);
const zf_measure_device zf_measure_device_emu = ROW("emu", 0, 1);
