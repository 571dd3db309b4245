// Measuring one column. Its stored blocks are put into the device's memory as often as fills the buffers, each copy in memory
// of its own, so that no round finds in a cache what the one before it left there. Then copying and decoding take turns.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure.h"
#include "measure/measure_compare.h"
#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/container/element.h"
#include "runtime/decode/block_run.h"
#include "runtime/device/accelerator.h"

typedef unsigned long long ull;

enum { STEP = 4 << 20 }; // bytes compared at once

typedef struct session {
    const zf_measure_device *device;
    void *self;     ///< the device's
    void *prepared; ///< the device's, too
    zf_measure_work work;
    zf_measure_block *blocks; ///< what work.blocks points at
    uint64_t plain_bytes;     ///< of one copy
    uint64_t read_bytes;      ///< of one copy
    uint8_t *source;          ///< of the device: what is copied
    unsigned comparers;       ///< threads that compare
    zf_host_pages landing;    ///< STEP bytes for each of them
} session;

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// ---- Before the clock starts ------------------------------------------------------------------------------------

/// Bytes that kernels read of a block, each once: streams and seek states. With checksums all of it is read.
static uint64_t bytes_read(const zf_block_view *view, bool checksums) {
    if (checksums) return view->bytes;
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < view->shape->stored_count; s++) bytes += view->streams[s].bytes;
    for (uint32_t t = 0; t < view->shape->tree_count; t++) {
        for (uint32_t f = 0; f < view->shape->trees[t].field_count; f++) {
            bytes += view->seeks[t].entries * view->seeks[t].widths[f];
        }
    }
    return bytes;
}

/// Reads and checks every block of the column.
static zf_status read_blocks(session *s, zf_error *error) {
    zf_measure_work *w = &s->work;
    s->blocks = calloc(w->info.blocks + 1, sizeof *s->blocks);
    if (s->blocks == NULL) return zf_raise_no_memory(error);
    w->blocks = s->blocks;
    unsigned bits = zf_element_bits(w->info.type.element);
    uint64_t characters = 0;
    for (uint64_t i = 0; i < w->info.blocks; i++) {
        zf_measure_block *b = &s->blocks[i];
        ZF_TRY(zf_container_block(w->container, w->column, i, true, &b->view, error));
        w->block_count++;
        b->stored = w->stored_stride;
        w->stored_stride += round_up(b->view.bytes + 16, 256); // kernels may read 16 bytes past a stream
        b->plain = w->info.type.element == ZF_STRING ? characters : b->view.first_row * bits / 8; // booleans begin at a byte
        characters += zf_characters(w->info.type.nullable, b->view.rows, b->view.plain_bytes);
        s->read_bytes += bytes_read(&b->view, w->options->checksums);
    }
    return ZF_OK;
}

/// Puts copies of the blocks, and of the plain data, into the device's memory.
static zf_status place(session *s, const zf_measure_plain *plain, zf_error *error) {
    zf_measure_work *w = &s->work;
    uint64_t wanted = w->options->bytes / plain->bytes + (w->options->bytes % plain->bytes != 0);
    w->copies = wanted < ZF_MEASURE_COPIES_MOST ? wanted : ZF_MEASURE_COPIES_MOST;
    w->plain_stride = round_up(plain->bytes, 256);
    s->plain_bytes = plain->bytes;
    void *memory[3] = {NULL};
    const uint64_t sizes[3] = {w->stored_stride * w->copies, plain->bytes * w->copies, w->plain_stride * w->copies};
    zf_status status = ZF_OK;
    for (int i = s->device->own_blocks ? 1 : 0; i < 3 && status == ZF_OK; i++)
        status = s->device->allocate(s->self, sizes[i], &memory[i], error);
    w->stored = memory[0];
    s->source = memory[1];
    w->out = memory[2];
    if (status != ZF_OK) return status;
    unsigned cores = zf_usable_cores();
    s->comparers = cores < s->device->comparers ? cores : s->device->comparers;
    ZF_TRY(s->device->land(s->self, (size_t)s->comparers * STEP, &s->landing, error));
    for (uint64_t c = 0; c < w->copies; c++) {
        for (uint64_t i = 0; i < w->block_count && w->stored != NULL; i++) {
            const zf_measure_block *b = &s->blocks[i];
            uint8_t *to = w->stored + c * w->stored_stride + b->stored;
            ZF_TRY(s->device->upload(s->self, to, b->view.base, b->view.bytes, error));
        }
        uint8_t *to = s->source + c * plain->bytes; // the device has it already but for the first time
        ZF_TRY(c == 0 ? s->device->upload(s->self, to, plain->values, plain->bytes, error)
                      : s->device->copy_bytes(s->self, to, s->source, plain->bytes, error));
    }
    return ZF_OK;
}

// ---- A round ----------------------------------------------------------------------------------------------------

typedef struct comparison {
    const session *session;
    const zf_measure_plain *plain;
    uint64_t pieces; ///< of a copy, STEP bytes each but the last
} comparison;

static zf_status compare_piece(void *user, uint64_t index, unsigned worker, zf_error *error) {
    const comparison *c = user;
    const session *s = c->session;
    const zf_measure_work *w = &s->work;
    const zf_measure_plain *plain = c->plain;
    uint64_t copy = index / c->pieces, at = index % c->pieces * STEP;
    uint64_t bytes = plain->bytes - at < STEP ? plain->bytes - at : STEP;
    uint8_t *landing = s->landing.at + (size_t)worker * STEP;
    ZF_TRY(s->device->download(s->self, landing, w->out + copy * w->plain_stride + at, bytes, error));
    uint64_t k = zf_measure_difference(landing, plain->values + at, bytes);
    if (k == bytes) return ZF_OK;
    zf_status status =
        zf_fail(error, ZF_ERR_INTERNAL, ZFM_DIFFERS, "the timed output is wrong: byte %llu is %02x, and %02x in %s",
                (ull)(at + k), landing[k], plain->values[at + k], plain->origin);
    return zf_fail_place(error, status, "column %s, copy %llu of %llu", w->info.name, (ull)copy + 1, (ull)w->copies);
}

/// Compares every copy that was decoded with the plain data. Reports the first of several differences.
static zf_status compare(const session *s, const zf_measure_plain *plain, zf_error *error) {
    comparison c = {s, plain, (plain->bytes + STEP - 1) / STEP};
    return zf_parallel_try(s->comparers, s->work.copies * c.pieces, compare_piece, &c, error);
}

/// Stops the clock, also after a failure of the timed work, whose error takes precedence.
static zf_status stop_after(session *s, zf_status status, zf_measure_clock *clock, double *seconds, zf_error *error) {
    zf_error later;
    zf_status stopped = s->device->stop(s->self, clock, seconds, status == ZF_OK ? error : &later);
    return status == ZF_OK ? stopped : status;
}

/// Copies, then decodes, each to poisoned memory; what was decoded is compared. Untimed runs of the same before, where the
/// device wants them, go to the same memory: it is poisoned behind them.
static zf_status run_round(session *s, const zf_measure_plain *plain, double *copy, double *decode, zf_error *error) {
    const zf_measure_device *d = s->device;
    zf_measure_work *w = &s->work;
    zf_measure_clock clock = {0};
    for (unsigned k = 0; k < d->warm; k++) ZF_TRY(d->copy_bytes(s->self, w->out, s->source, s->plain_bytes * w->copies, error));
    ZF_TRY(d->fill(s->self, w->out, ZF_POISON_COPY, w->plain_stride * w->copies, error));
    ZF_TRY(d->start(s->self, &clock, error));
    zf_status status = d->copy_bytes(s->self, w->out, s->source, s->plain_bytes * w->copies, error);
    ZF_TRY(stop_after(s, status, &clock, copy, error));
    for (unsigned k = 0; k < d->warm; k++) ZF_TRY(d->decode(s->self, s->prepared, error));
    ZF_TRY(d->fill(s->self, w->out, ZF_POISON_RESULT, w->plain_stride * w->copies, error));
    ZF_TRY(d->start(s->self, &clock, error));
    status = d->decode(s->self, s->prepared, error);
    ZF_TRY(stop_after(s, status, &clock, decode, error));
    return compare(s, plain, error);
}

static zf_status run_rounds(session *s, const zf_measure_plain *plain, zf_measure_result *out, zf_error *error) {
    unsigned repeats = s->work.options->repeats;
    double copies[ZF_MEASURE_REPEATS_MOST + 1], decodes[ZF_MEASURE_REPEATS_MOST + 1];
    for (unsigned r = 0; r <= repeats; r++) { // the first warms up and does not count
        ZF_TRY(run_round(s, plain, &copies[r], &decodes[r], error));
    }
    out->copy = zf_measure_times_of(copies + 1, repeats);
    out->decode = zf_measure_times_of(decodes + 1, repeats);
    return ZF_OK;
}

/// Rounds in which each kernel has a time of its own; what they leave is compared, too.
static zf_status run_kernels(session *s, const zf_measure_plain *plain, zf_measure_result *out, zf_error *error) {
    const zf_measure_device *d = s->device;
    const zf_measure_work *w = &s->work;
    double times[ZF_MEASURE_KERNELS_MOST][ZF_MEASURE_REPEATS_MOST + 1], seconds[ZF_MEASURE_KERNELS_MOST];
    for (unsigned r = 0; r <= w->options->repeats; r++) { // the first warms up and does not count
        for (unsigned k = 0; k < d->warm; k++) ZF_TRY(d->decode(s->self, s->prepared, error));
        ZF_TRY(d->fill(s->self, w->out, ZF_POISON_RESULT, w->plain_stride * w->copies, error));
        ZF_TRY(d->decode_kernels(s->self, s->prepared, (uint32_t)out->kernels, seconds, error));
        for (uint32_t k = 0; k < out->kernels; k++) times[k][r] = seconds[k];
        ZF_TRY(compare(s, plain, error));
    }
    out->timed_kernels = (uint32_t)out->kernels;
    for (uint32_t k = 0; k < out->timed_kernels; k++)
        out->kernel_times[k] = zf_measure_times_of(times[k] + 1, w->options->repeats);
    return ZF_OK;
}

static void release(session *s) {
    s->device->finish(s->self, s->prepared);
    for (uint64_t i = 0; i < s->work.block_count; i++) zf_block_view_free(&s->blocks[i].view);
    free(s->blocks);
    zf_host_pages_free(&s->landing);
    uint8_t *const memory[] = {s->work.stored, s->source, s->work.out};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) s->device->release(s->self, memory[i]);
}

/// Counts the tuples of the column, whose code the device has.
static zf_status count_tuples(const session *s, zf_tuple_count *out, zf_error *error) {
    const zf_measure_options *o = s->work.options;
    zf_abi_device device = {.target = o->chosen.ops->target};
    zf_accelerator *accelerator = NULL;
    if (o->chosen.ops->start != NULL) {
        ZF_TRY(zf_device_accelerator(o->context, &o->chosen, &accelerator, error));
        device = zf_accelerator_device(accelerator);
    }
    ZF_TRY(zf_tuples_count(s->work.container, s->work.column, device, !o->general, out, error));
    if (o->general) out->general_tuples = out->general_blocks = out->general_rows = 0; // by choice, not for want of code
    return ZF_OK;
}

zf_status zf_measure_column(zf_container *container, size_t column, const zf_measure_options *options,
                            const zf_measure_plain *plain, zf_measure_result *out, zf_error *error) {
    *out = (zf_measure_result){0};
    session s = {.device = options->device, .work = {.options = options, .container = container, .column = column}};
    zf_measure_work *w = &s.work;
    ZF_TRY(zf_container_column(container, column, &w->info, error));
    zf_decode_sizes sizes = {0};
    ZF_TRY(zf_decode_size(container, column, NULL, &sizes, error)); // also refuses types that cannot be delivered
    if (w->info.rows == 0) {
        zf_status status = zf_fail(error, ZF_ERR_INPUT, ZFM_NOT_MEASURED, "column `%s` has no rows", w->info.name);
        return zf_fail_place(error, status, "%s", zf_container_path(container));
    }
    w->values_at = sizes.offsets;
    w->validity_at = w->values_at + sizes.values;
    uint64_t bytes = w->validity_at + sizes.validity;
    if (bytes != plain->bytes) {
        return zf_fail(error, ZF_ERR_INTERNAL, ZFM_DIFFERS, "column `%s` has %zu bytes, and %llu in %s", w->info.name,
                       (size_t)bytes, (ull)plain->bytes, plain->origin);
    }
    double begin = zf_clock_seconds();
    ZF_TRY(s.device->open(options->context, &options->chosen, options->threads, &s.self, error));
    out->device_seconds = zf_clock_seconds() - begin;
    zf_status status = read_blocks(&s, error);
    if (status == ZF_OK) status = place(&s, plain, error);
    if (status == ZF_OK && !options->general) { // else `prepare` gets another one
        const zf_code_request request = {.container = container, .column = column};
        zf_device_info device = {0};
        status = zf_device_get(options->context, options->chosen.entry, &device, error);
        if (status == ZF_OK) status = zf_code_obtain(options->context, device.name, &request, 1, 0, NULL, &out->code, error);
    }
    if (status == ZF_OK) status = s.device->prepare(s.self, w, &s.prepared, &out->kernels, error);
    if (status == ZF_OK) status = count_tuples(&s, &out->tuples, error);
    if (status == ZF_OK) status = run_rounds(&s, plain, out, error);
    if (status == ZF_OK && options->unfused && s.device->decode_kernels != NULL && out->kernels <= ZF_MEASURE_KERNELS_MOST)
        status = run_kernels(&s, plain, out, error);
    out->info = w->info;
    out->blocks = w->block_count;
    out->copies = w->copies;
    out->plain_bytes = s.plain_bytes * w->copies;
    out->read_bytes = s.read_bytes * w->copies;
    release(&s);
    s.device->close(s.self);
    return status;
}
