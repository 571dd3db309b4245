// `zfc tune --replay`: the kernels of a record searched again, which asks the record in place of a GPU, and how good that is.
#include <stdio.h>
#include <stdlib.h>

#include "tuner/tune.h"
#include "zfc/driver_codes.h"

typedef struct replay {
    const zf_tune_kernel *kernel;
    uint32_t *asked; ///< readings of each try that were given
} replay;

/// What was measured of a combination, or of one with the same code.
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
        // What was known is what an earlier search found, in a record of all combinations. It is needed where the default cannot
        // run.
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

int zf_tune_replay_record(const char *path, uint32_t probes, bool as_json) {
    zf_tune_record record;
    zf_error error = {0};
    zf_status status = zf_tune_record_read(path, &record, &error);
    double all_probes = 0, parts = 0, least = 1, by_default = 0;
    uint32_t counted = 0;
    json_t *kernels = json_array();
    for (size_t k = 0; status == ZF_OK && k < record.count; k++) {
        const zf_tune_kernel *kernel = &record.kernels[k];
        double best;
        zf_search_result r = search_again(kernel, probes, &best);
        if (!r.found) continue;
        double part = best / r.seconds, first = r.default_seconds > 0 ? best / r.default_seconds : 0; // 0: it cannot run
        counted++;
        all_probes += r.probes;
        parts += part;
        by_default += first;
        if (part < least) least = part;
        zf_text choice = {0};
        zf_tune_point_text(&kernel->space, &r.best, &choice);
        if (!as_json)
            printf("%-20s %u  %5.1f%% of the best of %u with %s, %u probes: %s\n", kernel->column, kernel->number, 100 * part,
                   kernel->count, choice.data, r.probes, r.ended);
        json_array_append_new(kernels,
                              json_pack("{s:o, s:i, s:s, s:f, s:f, s:i, s:i}", "column", zf_json_text(kernel->column), "kernel",
                                        (int)kernel->number, "choice", choice.data, "part_of_best", part, "default_part_of_best",
                                        first, "probes", (int)r.probes, "combinations", (int)kernel->count));
        zf_text_free(&choice);
    }
    if (status == ZF_OK && counted == 0)
        status = zf_fail(&error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "%.256s: of no kernel is there a combination that runs", path);
    double n = counted > 0 ? counted : 1;
    if (status == ZF_OK && as_json) {
        json_t *report = json_pack("{s:o, s:i, s:f, s:f, s:f, s:f}", "replayed", zf_json_text(path), "count", (int)counted,
                                   "mean_part_of_best", parts / n, "least_part_of_best", least, "default_mean_part_of_best",
                                   by_default / n, "mean_probes", all_probes / n);
        json_object_set(report, "kernels", kernels);
        status = zf_json_print(report, &error);
        json_decref(report);
    } else if (status == ZF_OK) {
        printf("%u kernel%s: %.1f%% of the best on the mean, %.1f%% at least, %.1f probes on the mean\n", counted,
               counted == 1 ? "" : "s", 100 * parts / n, 100 * least, all_probes / n);
    }
    json_decref(kernels);
    zf_tune_record_free(&record);
    return status == ZF_OK ? EXIT_GOOD : zf_report("tune", &error);
}
