#include "zfc/verbs/tune_report.h"

#include <stdio.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "tuner/tune_json.h"
#include "zfc/commit.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"

// ---- Results ----------------------------------------------------------------------------------------------------

void zf_tune_print_probe(void *user, const zf_tuner_probe *probe) {
    (void)user;
    fprintf(stderr, "%s kernel %u: %-32s ", probe->column, probe->kernel, probe->choice);
    if (probe->ran)
        fprintf(stderr, "%10.2f us", probe->seconds * 1e6);
    else
        fprintf(stderr, "cannot run");
    if (probe->registers > 0) fprintf(stderr, "  %u registers, %u blocks at once", probe->registers, probe->blocks);
    fprintf(stderr, "  (%s)\n", probe->reason);
}

void zf_tune_print_table(const zf_tune_run *t) {
    printf("%s: %s\n", t->tuner->options.info.name, t->tuner->options.info.description);
    printf("%-20s %-34s %12s %12s %7s %7s %9s  %s\n", "column, kernel", "choice", "default us", "tuned us", "faster", "probes",
           "of copy", "ended because");
    for (size_t k = 0; k < t->tuner->record.count; k++) {
        const zf_tune_kernel *kernel = &t->tuner->record.kernels[k];
        const zf_search_result *r = &kernel->result;
        zf_text choice = {0};
        char name[64], of_copy[16] = "-";
        snprintf(name, sizeof name, "%.40s %u", kernel->column, kernel->number);
        zf_tune_point_text(&kernel->space, &r->best, &choice);
        if (r->found && kernel->space.least_seconds > 0)
            snprintf(of_copy, sizeof of_copy, "%.0f%%", 100 * kernel->space.least_seconds / r->seconds);
        if (r->found)
            printf("%-20s %-34s %12.2f %12.2f %6.2fx %7u %9s  %s\n", name, choice.failed ? "no memory" : choice.data,
                   r->default_seconds * 1e6, r->seconds * 1e6, r->default_seconds / r->seconds, r->probes, of_copy, r->ended);
        else if (r->probes == 0)
            printf("%-20s nothing was found: %s\n", name, r->ended);
        else
            printf("%-20s nothing was measured: the code has no such kernel, or it cannot run\n", name);
        zf_text_free(&choice);
    }
    for (size_t k = 0; k < json_array_size(t->left_out); k++)
        printf("%s%s", k == 0 ? "skipped, no more time: " : ", ", json_string_value(json_array_get(t->left_out, k)));
    if (json_array_size(t->left_out) > 0) printf("\n");
    for (size_t k = 0; k < json_array_size(t->empty); k++) {
        zf_print_path(stdout, json_string_value(json_array_get(t->empty, k)));
        printf(" has no rows: there is nothing to measure\n");
    }
    if (t->tuner->options.info.emulated && t->tuner->record.count > 0)
        printf("these are times of an emulator: they say nothing of a GPU, and are not kept\n");
}

zf_status zf_tune_print_json(const zf_tune_run *t, zf_error *error) {
    char date[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) != NULL) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    const zf_device_info *info = &t->tuner->options.info;
    json_t *report = json_pack(
        "{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:b, s:i, s:I}, s:b, s:f, s:I, s:i, s:f, s:s, s:o, s:O, s:O}", "tune", "kernels",
        "date", date, "version", zf_version(), "commit", ZF_COMMIT, "device", "name", info->name, "description",
        info->description, "emulated", (int)info->emulated, "cores", (int)info->cores, "memory", (json_int_t)info->memory,
        "exhaustive", (int)t->tuner->options.exhaustive, "copy_bytes_per_second", t->tuner->record.copy_rate, "bytes",
        (json_int_t)t->tuner->options.bytes, "runs", (int)t->tuner->options.runs, "total_seconds", zf_clock_seconds() - t->begin,
        "counted",
        "`seconds`: of one launch of the kernel alone, a median of `runs`, over copies of a block's rows; `least_seconds`: its "
        "bytes, "
        "each once, at the speed of a copy; `total_seconds`: all that the command took, compiling included",
        "kernels", zf_tune_record_json(&t->tuner->record), "left_out", t->left_out, "without_rows", t->empty);
    zf_status status = zf_json_print(report, error);
    json_decref(report);
    return status;
}

// ---- Earlier results ----------------------------------------------------------------------------------------------

static zf_status show_json(const zf_tuner *t, const zf_tuned_device *device, const char *name, zf_error *error) {
    const zf_device_info *info = &t->options.info;
    json_t *kernels = json_array();
    for (size_t k = 0; device != NULL && k < device->count; k++) {
        const zf_tuned_kernel *kernel = &device->kernels[k];
        json_array_append_new(kernels, json_pack("{s:o, s:o, s:f, s:f, s:i}", "shape", zf_json_text(kernel->shape), "choice",
                                                 zf_tune_choice_json(&kernel->choice), "seconds", kernel->seconds,
                                                 "default_seconds", kernel->default_seconds, "probes", (int)kernel->probes));
    }
    json_t *report =
        json_pack("{s:s, s:{s:s, s:o, s:b}, s:s, s:o}", "tune", "known", "device", "name", info->name, "description",
                  zf_json_text(info->description), "emulated", (int)info->emulated, "file", name, "kernels", kernels);
    zf_status status = zf_json_print(report, error);
    json_decref(report);
    return status;
}

zf_status zf_tune_show(const zf_tuner *t, bool as_json, zf_error *error) {
    char name[40];
    const char *description = t->options.info.description;
    zf_tuned_file_name(description, name);
    if (t->known_fault.length > 0) return zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "%.900s", t->known_fault.data);
    if (as_json) return show_json(t, zf_tuned_find(&t->known, description), name, error);
    printf("%s: %s\n", t->options.info.name, description);
    const zf_tuned_device *device = zf_tuned_find(&t->known, description);
    if (device == NULL) {
        if (t->options.info.emulated)
            printf("nothing is known of its kernels: results of an emulator are not kept (-o FILE writes them to a file)\n");
        else
            printf("nothing is known of its kernels: `zfc tune FILE.zfd` finds it, in tuned/%s of the cache\n", name);
        return ZF_OK;
    }
    zf_text text = {0};
    zf_tuned only = {.devices = (zf_tuned_device *)(uintptr_t)device, .count = 1};
    zf_tuned_print(&only, &text);
    bool good = !text.failed && fwrite(text.data, 1, text.length, stdout) == text.length;
    zf_text_free(&text);
    return good ? ZF_OK : zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_WRITE, "the table cannot be written");
}

// ---- Replaying --------------------------------------------------------------------------------------------------

static void print_replayed(void *user, const zf_tuner_replayed *k) {
    (void)user;
    printf("%-20s %u  %5.1f%% of the best of %u with %s, %u probes: %s\n", k->column, k->kernel, 100 * k->share, k->recorded,
           k->choice, k->probes, k->ended);
}

static void add_replayed(void *user, const zf_tuner_replayed *k) {
    json_array_append_new(user, json_pack("{s:o, s:i, s:s, s:f, s:f, s:i, s:i}", "column", zf_json_text(k->column), "kernel",
                                          (int)k->kernel, "choice", k->choice, "part_of_best", k->share, "default_part_of_best",
                                          k->default_share, "probes", (int)k->probes, "combinations", (int)k->recorded));
}

zf_status zf_tune_print_replay(const char *path, uint32_t probes, bool as_json, zf_error *error) {
    zf_tuner_replay_stats stats = {ZF_INIT(zf_tuner_replay_stats)};
    json_t *kernels = json_array();
    zf_status status = zf_tuner_replay(path, probes, as_json ? add_replayed : print_replayed, kernels, &stats, error);
    if (status == ZF_OK && as_json) {
        json_t *report =
            json_pack("{s:o, s:i, s:f, s:f, s:f, s:f, s:O}", "replayed", zf_json_text(path), "count", (int)stats.kernels,
                      "mean_part_of_best", stats.mean_share, "least_part_of_best", stats.least_share, "default_mean_part_of_best",
                      stats.mean_default_share, "mean_probes", stats.mean_probes, "kernels", kernels);
        status = zf_json_print(report, error);
        json_decref(report);
    } else if (status == ZF_OK) {
        printf("%u kernel%s: %.1f%% of the best on the mean, %.1f%% at least, %.1f probes on the mean\n", stats.kernels,
               stats.kernels == 1 ? "" : "s", 100 * stats.mean_share, 100 * stats.least_share, stats.mean_probes);
    }
    json_decref(kernels);
    return status;
}
