#include "zfc/decode_ahead.h"

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t within(uint64_t value, uint64_t least, uint64_t most) {
    return value < least ? least : value > most ? most : value;
}

/// Memory for some units of the largest column; of large ones as much as keeps a link busy.
static zf_status open_pipeline(zf_ahead *ahead, zf_error *error) {
    uint64_t stored = within(ahead->stored_most, 0, UINT64_C(1) << 40), plain = within(ahead->plain_most, 0, UINT64_C(1) << 40);
    zf_pipeline_options options = {.order = ZF_PIPELINE_GIVEN, // a column a batch
                                   .device_staging = within(8 * (stored + plain), 16 * MIB, 256 * MIB),
                                   .host_staging = within(4 * stored, 8 * MIB, 64 * MIB)};
    return zf_pipeline_create(ahead->context, ahead->device, &options, &ahead->pipeline, error);
}

static zf_status start_device(zf_ahead *ahead, zf_error *error) {
    double begin = zf_clock_seconds(), starting;
    if (ahead->pipeline != NULL) return ZF_OK;
    ZF_TRY(zf_start_device(ahead->context, ahead->device, &starting, error));
    ZF_TRY(open_pipeline(ahead, error));
    ahead->decoded.waited.device = zf_clock_seconds() - begin;
    return ZF_OK;
}

zf_status zf_ahead_begin(zf_ahead *ahead, size_t column, zf_error *error) {
    ahead->column = column;
    ahead->begun = zf_clock_seconds();
    ZF_TRY(zf_decoded_describe(ahead->container, column, ahead->options, &ahead->decoded, error));
    ZF_TRY(start_device(ahead, error));
    ZF_TRY(zf_decoded_allocate(&ahead->decoded, error));
    zf_pipeline_request request = {
        .container = ahead->container, .column = column, .options = *ahead->options, .host = ahead->decoded.buffers};
    ahead->made = zf_clock_seconds();
    zf_status status = zf_batch_create(ahead->pipeline, &request, 1, &ahead->batch, error);
    // A block that is too large for the pipeline goes to memory made for it.
    if (status != ZF_OK) return zf_error_is(error, ZF_E_STAGING) ? ZF_OK : status;
    ahead->started = zf_clock_seconds();
    return zf_batch_start(ahead->batch, error);
}

/// Returns the time that the user waited: parallel parts count once.
static void take_times(zf_ahead *ahead) {
    zf_decoded *d = &ahead->decoded;
    double ready = ahead->started + zf_batch_ready_seconds(ahead->batch, 0), left = ready - ahead->begun - d->waited.device;
    d->seconds = ready - ahead->made;
    d->waited.compile = d->stats.compile_seconds < left ? d->stats.compile_seconds : left;
    left -= d->waited.compile;
    d->waited.load = d->stats.load_seconds < left ? d->stats.load_seconds : left;
    d->waited.decode = left - d->waited.load;
}

static zf_status decode_alone(zf_ahead *ahead, zf_decoded *out, zf_error *error) {
    double device = ahead->decoded.waited.device;
    zf_decoded_free(&ahead->decoded);
    zf_status status =
        zf_decode_column(ahead->context, ahead->container, ahead->column, ahead->device, ahead->options, 1, out, error);
    out->waited.device += device;
    return status;
}

zf_status zf_ahead_end(zf_ahead *ahead, zf_decoded *out, zf_error *error) {
    if (ahead->batch == NULL) return decode_alone(ahead, out, error);
    zf_status status = zf_batch_wait(ahead->batch, 0, error);
    if (status == ZF_OK) status = zf_batch_stats(ahead->batch, 0, &ahead->decoded.stats, error);
    if (status == ZF_OK) take_times(ahead);
    zf_batch_free(ahead->batch);
    ahead->batch = NULL;
    *out = ahead->decoded;
    ahead->decoded = (zf_decoded){0};
    return status;
}

void zf_ahead_close(zf_ahead *ahead) {
    zf_batch_free(ahead->batch);
    zf_decoded_free(&ahead->decoded);
    zf_pipeline_free(ahead->pipeline);
    ahead->batch = NULL;
    ahead->pipeline = NULL;
}
