// The tuner object: a device, what is known of its kernels, and the results of the columns that were tuned.
#include "tuner/tuner.h"

#include <stdlib.h>
#include <string.h>

#include "measure/measure_codes.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/output_file.h"
#include "tuner/tune_json.h"
#include "tuner/tune_sized.h"
#include "tuner/tuner_codes.h"

#define ZF_STRUCT ZF_CHECK_SIZE
#include "tuner/tune_structs.def"
// Callbacks read these, and compare the size that the library sets with that of their version.
_Static_assert(sizeof(zf_tuner_probe) == 64, "a new member goes behind all others");
_Static_assert(sizeof(zf_tuner_replayed) == 64, "a new member goes behind all others");

enum {
    WARM = 4, // untimed runs: an idle GPU takes a while to reach its clock
    RUNS = 7,
    COPY_LEAST = 16 << 20,
    COPY_MOST = 1 << 30,
    EMULATED_ROWS = 8192,
};
static const uint64_t BYTES = UINT64_C(512) << 20;

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for tuned kernels"); }

static zf_status argument(zf_error *error, const char *needs) { return zf_raise(error, ZF_E_ARGUMENT, "%s", needs); }

// ---- Creating ---------------------------------------------------------------------------------------------------

static zf_status add_all(zf_tuned *to, const zf_tuned_device *from, const char *description, zf_error *error) {
    for (size_t k = 0; from != NULL && k < from->count; k++) {
        if (!zf_tuned_set(to, description, &from->kernels[k])) return no_memory(error);
    }
    return ZF_OK;
}

/// Reads earlier results: those in the cache, and over them those of a file. A damaged file in the cache is only logged, since a
/// search does without it.
static zf_status read_known(zf_tuner *t, const char *path, zf_error *error) {
    const char *description = t->options.info.description;
    if (!zf_tuned_kept(t->options.context, description, &t->known, &t->known_fault))
        zf_context_log(t->options.context, ZF_LOG_WARNING, "%s",
                       t->known_fault.data != NULL ? t->known_fault.data : "no memory for tuned kernels");
    if (path == NULL) return ZF_OK;
    zf_tuned shipped;
    ZF_TRY(zf_tuned_read(path, &shipped, error));
    zf_status status = add_all(&t->known, zf_tuned_find(&shipped, description), description, error);
    zf_tuned_free(&shipped);
    return status;
}

static zf_status open_device(zf_tune_options *o, const char *name, uint64_t bytes, zf_error *error) {
    zf_device device;
    ZF_TRY(zf_device_find(o->context, name != NULL ? name : "auto", &device, error));
    if (device.ops->start == NULL)
        return zf_fail(error, ZF_ERR_USAGE, ZFM_NOT_MEASURED, "kernels of device `%s` have no choices: GPUs' have",
                       device.ops->name);
    ZF_TRY(zf_device_get(o->context, device.entry, &o->info, error));
    ZF_TRY(zf_device_accelerator(o->context, &device, &o->accelerator, error));
    const zf_accelerator_ops *ops = o->accelerator->ops;
    if (ops->multiprocessor_facts != NULL) ZF_TRY(ops->multiprocessor_facts(o->accelerator, &o->processor, error));
    ZF_TRY(ops->stream_open(o->accelerator, &o->stream, error));
    bool emulated = o->info.emulated;
    o->warm = emulated ? 0 : WARM;
    o->runs = emulated ? 1 : RUNS;
    o->rows = emulated ? EMULATED_ROWS : UINT64_MAX;
    o->bytes = bytes > 0 ? bytes : emulated ? 1 : BYTES;
    return ZF_OK;
}

zf_status zf_tuner_create(zf_compiler *compiler, const zf_tuner_options *options, zf_tuner **out, zf_error *error) {
    zf_tuner_options own;
    if (out != NULL) *out = NULL;
    if (compiler == NULL || out == NULL) return argument(error, "zf_tuner_create needs a compiler and a place");
    ZF_TRY(ZF_TAKE(zf_tuner_options, &own, options, error));
    zf_tuner *t = calloc(1, sizeof *t);
    if (t == NULL) return no_memory(error);
    t->options = (zf_tune_options){.context = zf_compiler_context(compiler),
                                   .compiler = compiler,
                                   .known = &t->known,
                                   .probes = own.probes,
                                   .exhaustive = own.exhaustive,
                                   .progress = own.progress,
                                   .progress_user = own.progress_user};
    zf_status status = open_device(&t->options, own.device, own.bytes, error);
    if (status == ZF_OK) status = read_known(t, own.known, error);
    if (status == ZF_OK)
        *out = t;
    else
        zf_tuner_free(t);
    return status;
}

void zf_tuner_free(zf_tuner *tuner) {
    if (tuner == NULL) return;
    const zf_tune_options *o = &tuner->options;
    if (o->stream != NULL) o->accelerator->ops->stream_close(o->accelerator, o->stream);
    zf_tuned_free(&tuner->known);
    zf_text_free(&tuner->known_fault);
    zf_tune_record_free(&tuner->record);
    free(tuner);
}

zf_status zf_tuner_device(const zf_tuner *tuner, zf_device_info *out, zf_error *error) {
    if (tuner == NULL || out == NULL) return argument(error, "zf_tuner_device needs a tuner and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_device_info, out, error));
    ZF_GIVE(zf_device_info, out, &tuner->options.info);
    return ZF_OK;
}

// ---- Columns ----------------------------------------------------------------------------------------------------

/// Measures a copy of as many bytes as a measurement decodes: the GPU is not full at the begin and the end of a copy, 2% of the
/// time of 256 MiB on an H200.
static zf_status measure_copy(zf_tuner *t, zf_error *error) {
    const zf_tune_options *o = &t->options;
    if (t->record.copy_rate > 0 || o->info.emulated) return ZF_OK; // copies of an emulator say nothing of its kernels
    uint64_t bytes = o->bytes < COPY_LEAST ? COPY_LEAST : o->bytes < COPY_MOST ? o->bytes : COPY_MOST;
    return zf_accelerator_copy_rate(o->accelerator, o->stream, bytes, &t->record.copy_rate, error);
}

zf_status zf_tuner_column(zf_tuner *tuner, zf_container *container, size_t column, double seconds, size_t *left,
                          zf_error *error) {
    size_t ignored;
    if (left != NULL) *left = 0;
    if (tuner == NULL || container == NULL) return argument(error, "zf_tuner_column needs a tuner and a container");
    ZF_TRY(measure_copy(tuner, error));
    tuner->options.seconds = seconds;
    return zf_tune_column(&tuner->options, container, column, &tuner->record, left != NULL ? left : &ignored, error);
}

size_t zf_tuner_result_count(const zf_tuner *tuner) { return tuner != NULL ? tuner->record.count : 0; }

zf_status zf_tuner_result_get(const zf_tuner *tuner, size_t index, zf_tuner_result *out, zf_error *error) {
    if (tuner == NULL || out == NULL) return argument(error, "zf_tuner_result_get needs a tuner and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_tuner_result, out, error));
    if (index >= tuner->record.count)
        return zf_raise(error, ZF_E_ARGUMENT, "there is no result %zu: the tuner has %zu", index, tuner->record.count);
    const zf_tune_kernel *kernel = &tuner->record.kernels[index];
    const zf_search_result *r = &kernel->result;
    zf_tuner_result result = {.column = kernel->column,
                              .kernel = kernel->number,
                              .shape = kernel->shape,
                              .found = r->found,
                              .seconds = r->seconds,
                              .default_seconds = r->default_seconds,
                              .copy_seconds = kernel->space.least_seconds,
                              .probes = r->probes,
                              .ended = r->ended};
    zf_text choice = {0};
    zf_tune_point_text(&kernel->space, &r->best, &choice);
    if (choice.length < sizeof result.choice) memcpy(result.choice, choice.data, choice.length);
    zf_text_free(&choice);
    ZF_GIVE(zf_tuner_result, out, &result);
    return ZF_OK;
}

// ---- Results ----------------------------------------------------------------------------------------------------

zf_status zf_tuner_table(const zf_tuner *tuner, zf_tuned *out, zf_error *error) {
    *out = (zf_tuned){0};
    for (size_t k = 0; k < tuner->record.count; k++) {
        const zf_tune_kernel *from = &tuner->record.kernels[k];
        if (!from->result.found) continue;
        zf_tuned_kernel kernel = {.shape = from->shape,
                                  .choice = zf_tune_choice_kept(&from->space, &from->result.best),
                                  .seconds = from->result.seconds,
                                  .default_seconds = from->result.default_seconds,
                                  .probes = from->result.probes};
        if (zf_tuned_set(out, tuner->options.info.description, &kernel)) continue;
        zf_tuned_free(out);
        return no_memory(error);
    }
    return out->count > 0 ? ZF_OK : zf_fail(error, ZF_ERR_USAGE, ZFT_NO_RESULTS, "nothing was found");
}

zf_status zf_tuner_keep(zf_tuner *tuner, zf_error *error) {
    zf_tuned found;
    if (tuner == NULL) return argument(error, "zf_tuner_keep needs a tuner");
    if (tuner->options.info.emulated)
        return zf_fail(error, ZF_ERR_USAGE, ZFT_NO_RESULTS, "times of an emulator are not kept: they say nothing of a GPU");
    ZF_TRY(zf_tuner_table(tuner, &found, error));
    bool kept = zf_tuned_keep(tuner->options.context, &found.devices[0]);
    zf_tuned_free(&found);
    if (kept) return ZF_OK;
    zf_fail(error, ZF_ERR_IO, ZFT_NOT_KEPT, "tuned results are not kept: there is no cache, or it cannot be read or written");
    return zf_fail_hint(error, ZF_ERR_IO, "the log has the reason; results can be written to a file");
}

static zf_status write_text(const char *path, bool overwrite, const char *text, size_t length, zf_error *error) {
    zf_output_file *file = NULL;
    zf_status status = zf_output_create(path, (zf_output_options){.overwrite = overwrite}, &file, error);
    if (status == ZF_OK) status = zf_output_write(file, 0, text, length, error);
    if (status == ZF_OK) status = zf_output_commit(file, error);
    zf_output_free(file);
    return status;
}

zf_status zf_tuner_write(const zf_tuner *tuner, const char *path, bool overwrite, zf_error *error) {
    zf_tuned found;
    zf_text text = {0};
    if (tuner == NULL || path == NULL) return argument(error, "zf_tuner_write needs a tuner and a path");
    ZF_TRY(zf_tuner_table(tuner, &found, error));
    zf_tuned_print(&found, &text);
    zf_tuned_free(&found);
    zf_status status = text.failed ? no_memory(error) : write_text(path, overwrite, text.data, text.length, error);
    zf_text_free(&text);
    return status;
}

zf_status zf_tuner_write_record(const zf_tuner *tuner, const char *path, bool overwrite, zf_error *error) {
    zf_tuned found;
    if (tuner == NULL || path == NULL) return argument(error, "zf_tuner_write_record needs a tuner and a path");
    ZF_TRY(zf_tuner_table(tuner, &found, error));
    zf_tuned_free(&found);
    const zf_device_info *info = &tuner->options.info;
    json_t *record = json_pack("{s:s, s:s, s:{s:s, s:o, s:b}, s:b, s:f, s:o}", "tune", "kernels", "version", zf_version(),
                               "device", "name", info->name, "description", zf_json_text(info->description), "emulated",
                               (int)info->emulated, "exhaustive", (int)tuner->options.exhaustive, "copy_bytes_per_second",
                               tuner->record.copy_rate, "kernels", zf_tune_record_json(&tuner->record));
    char *text = record != NULL ? json_dumps(record, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(record);
    zf_status status = text != NULL ? write_text(path, overwrite, text, strlen(text), error) : no_memory(error);
    free(text);
    return status;
}
