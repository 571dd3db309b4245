#include "zfc/first_byte.h"

#include <stdlib.h>

#include "measure/measure_decoded.h"
#include "runtime/base/error.h"
#include "zfc/driver_codes.h"

typedef unsigned long long ull;

zf_status zf_before_get(zf_context *context, const char *device, const zf_code_request *requests, size_t count, unsigned threads,
                        zf_before *out, zf_error *error) {
    *out = (zf_before){.each = calloc(count + 1, sizeof *out->each)};
    if (!out->each) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory");
    ZF_TRY(zf_start_device(context, device, &out->device, error));
    return zf_code_obtain(context, device, requests, count, threads, out->each, &out->all, error);
}

zf_status zf_before_columns(zf_context *context, zf_container *container, const size_t *columns, size_t count, const char *device,
                            const zf_decode_options *options, zf_before *out, zf_error *error) {
    *out = (zf_before){0};
    zf_code_request *requests = calloc(count + 1, sizeof *requests);
    if (!requests) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory");
    for (size_t i = 0; i < count; i++)
        requests[i] = (zf_code_request){.container = container, .column = columns[i], .options = *options};
    zf_status status = zf_before_get(context, device, requests, count, options->threads, out, error);
    free(requests);
    return status;
}

void zf_before_free(zf_before *before) {
    free(before->each);
    *before = (zf_before){0};
}

const char *zf_code_temper(const zf_code_stats *stats, char out[64]) {
    if (stats->compiled == 0)
        snprintf(out, 64, "%s", stats->cached > 0 ? "cached" : "at hand");
    else if (stats->cached == 0)
        snprintf(out, 64, "cold");
    else
        snprintf(out, 64, "%llu of %llu cached", (ull)stats->cached, (ull)stats->codes);
    return out;
}

void zf_before_print(const zf_before *before) {
    char temper[64];
    printf("before the first byte: device %.1f ms, code %.1f ms (%s), loading it %.1f ms\n", before->device * 1e3,
           before->all.compile_seconds * 1e3, zf_code_temper(&before->all, temper), before->all.load_seconds * 1e3);
}

json_t *zf_before_json(double device, const zf_code_stats *stats) {
    return json_pack("{s:f, s:f, s:f, s:I, s:I, s:I}", "device", device, "compile", stats->compile_seconds, "load",
                     stats->load_seconds, "codes", (json_int_t)stats->codes, "compiled", (json_int_t)stats->compiled, "cached",
                     (json_int_t)stats->cached);
}
