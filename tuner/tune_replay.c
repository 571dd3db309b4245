// Searches the kernels of a record again, which answers in place of a GPU, and compares with the fastest that it has.
#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "tuner/tune_sized.h"
#include "tuner/tuner.h"
#include "tuner/tuner_codes.h"

typedef struct replay {
    const zf_tune_kernel *kernel;
    uint32_t *asked; ///< readings of each try that were given
} replay;

/// Returns the measurements of a combination, or of one with the same code.
static const zf_search_try *recorded(const zf_tune_kernel *kernel, const zf_search_point *point) {
    const zf_search_try *seen = zf_tune_find(kernel, point);
    return seen != NULL ? seen : zf_tune_same_code(kernel, point);
}

static bool is_recorded(const void *user, const zf_search_point *point) {
    return recorded(((const replay *)user)->kernel, point) != NULL;
}

static bool answer(void *user, const zf_search_point *point, zf_search_reading *out, double *spent) {
    const replay *r = user;
    const zf_search_try *seen = recorded(r->kernel, point);
    (void)spent;
    if (seen == NULL) return false;
    uint32_t *asked = &r->asked[seen - r->kernel->tries];
    *out = seen->reading;
    if (seen->count > 0) out->seconds = seen->seconds[(*asked)++ % seen->count];
    return true;
}

/// 0: it did not run.
static double seconds_of(const zf_search_try *seen) {
    return seen != NULL && seen->reading.ran && seen->count > 0 ? seen->reading.seconds : 0;
}

/// Searches a recorded kernel again, which asks the record in place of a GPU. `best`: seconds of the fastest combination there.
/// These and the result's are medians of all that the record has of a combination.
static zf_search_result search_again(const zf_tune_kernel *kernel, uint32_t probes, double *best) {
    static const char nothing[] = "no memory";
    zf_search_result result = {.ended = nothing};
    zf_search *search = malloc(sizeof *search);
    replay r = {.kernel = kernel, .asked = calloc(kernel->count + 1u, sizeof *r.asked)};
    zf_search_point first = zf_search_default(&kernel->space);
    *best = seconds_of(zf_tune_fastest(kernel));
    if (search != NULL && r.asked != NULL) {
        zf_search_space space = kernel->space;
        // In a record of all combinations the known point is the result of an earlier search. It is needed where the default
        // cannot run.
        space.has_known = space.has_known && seconds_of(zf_tune_find(kernel, &first)) == 0;
        space.legal = is_recorded;
        space.user = &r;
        zf_search_begin(search, &space, &(zf_search_options){.probes = probes});
        result = zf_search_run(search, answer, &r);
        // The search may have asked for some of the readings alone.
        if (result.found) result.seconds = seconds_of(recorded(kernel, &result.best));
        result.default_seconds = seconds_of(recorded(kernel, &first));
    }
    free(search);
    free(r.asked);
    return result;
}

// ---- All of a record ------------------------------------------------------------------------------------------

typedef void zf_tuner_report(void *user, const zf_tuner_replayed *kernel);

static zf_status replay_kernel(const zf_tune_kernel *kernel, uint32_t probes, zf_tuner_report *report, void *user,
                               zf_tuner_replay_stats *sums, zf_error *error) {
    double best;
    zf_search_result r = search_again(kernel, probes, &best);
    if (!r.found) return ZF_OK;
    zf_text choice = {0};
    zf_tune_point_text(&kernel->space, &r.best, &choice);
    if (choice.failed) {
        zf_text_free(&choice);
        return zf_raise_no_memory(error);
    }
    zf_tuner_replayed one = {ZF_INIT(zf_tuner_replayed),
                             .column = kernel->column,
                             .kernel = kernel->number,
                             .choice = choice.data,
                             .share = best / r.seconds,
                             .default_share = r.default_seconds > 0 ? best / r.default_seconds : 0,
                             .probes = r.probes,
                             .recorded = kernel->count,
                             .ended = r.ended};
    if (sums->kernels == 0 || one.share < sums->least_share) sums->least_share = one.share;
    sums->kernels++;
    sums->mean_share += one.share;
    sums->mean_default_share += one.default_share;
    sums->mean_probes += one.probes;
    if (report != NULL) report(user, &one);
    zf_text_free(&choice);
    return ZF_OK;
}

zf_status zf_tuner_replay(const char *path, uint32_t probes, zf_tuner_report *report, void *user, zf_tuner_replay_stats *out,
                          zf_error *error) {
    zf_tune_record record;
    zf_tuner_replay_stats stats = {0};
    if (path == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_tuner_replay needs a path and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_tuner_replay_stats, out, error));
    ZF_GIVE(zf_tuner_replay_stats, out, &stats);
    zf_status status = zf_tune_record_read(path, &record, error);
    for (size_t k = 0; status == ZF_OK && k < record.count; k++)
        status = replay_kernel(&record.kernels[k], probes, report, user, &stats, error);
    if (status == ZF_OK && stats.kernels == 0)
        status = zf_fail(error, ZF_ERR_INPUT, ZFT_RECORD, "%.256s: no kernel has a choice that runs", path);
    zf_tune_record_free(&record);
    if (status != ZF_OK) return status;
    stats.mean_share /= stats.kernels;
    stats.mean_default_share /= stats.kernels;
    stats.mean_probes /= stats.kernels;
    ZF_GIVE(zf_tuner_replay_stats, out, &stats);
    return ZF_OK;
}
