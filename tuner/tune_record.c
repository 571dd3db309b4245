// Measurements of kernels as JSON: the space of each, and the seconds of each combination that was tried. With every
// combination (zf_tuner_options.exhaustive) a record says how good a search is: it can be searched again without a GPU.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/read_whole.h"
#include "tuner/tune_json.h"
#include "tuner/tuner.h"
#include "tuner/tuner_codes.h"

// ---- Writing --------------------------------------------------------------------------------------------------

json_t *zf_json_text(const char *text) {
    zf_text clean = {0};
    for (size_t length, left = strlen(text); left > 0; text += length ? length : 1, left -= length ? length : 1) {
        length = zf_utf8_length(text, left);
        zf_text_add(&clean, length ? text : "\xef\xbf\xbd", length ? length : 3);
    }
    json_t *json = clean.failed ? NULL : json_stringn(clean.data ? clean.data : "", clean.length);
    zf_text_free(&clean);
    return json;
}

static json_t *point_json(const zf_search_space *space, const zf_search_point *point) {
    json_t *out = json_object();
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const zf_search_axis *axis = &space->axes[k];
        if (axis->count > 0) json_object_set_new(out, zf_choice_names[k], json_integer(axis->values[point->at[k]]));
    }
    return out;
}

json_t *zf_tune_choice_json(const zf_choice *choice) {
    json_t *out = json_object();
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        if (zf_is_chosen(choice, (zf_choice_kind)k))
            json_object_set_new(out, zf_choice_names[k], json_integer(choice->values[k]));
    }
    return out;
}

static json_t *axes_json(const zf_search_space *space) {
    json_t *out = json_object();
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const zf_search_axis *axis = &space->axes[k];
        if (axis->count == 0) continue;
        json_t *values = json_array();
        for (uint32_t v = 0; v < axis->count; v++) json_array_append_new(values, json_integer(axis->values[v]));
        json_object_set_new(out, zf_choice_names[k], values);
    }
    return out;
}

static json_t *try_json(const zf_search_space *space, const zf_search_try *seen) {
    json_t *seconds = json_array();
    for (uint32_t r = 0; r < seen->count; r++) json_array_append_new(seconds, json_real(seen->seconds[r]));
    const zf_search_reading *is = &seen->reading;
    return json_pack("{s:o, s:b, s:o, s:i, s:i, s:i, s:i, s:I, s:s}", "choice", point_json(space, &seen->point), "runs",
                     (int)is->ran, "seconds", seconds, "registers", (int)is->registers, "local_bytes", (int)is->local,
                     "shared_bytes", (int)is->shared, "blocks_at_once", (int)is->blocks, "thread_blocks", (json_int_t)is->groups,
                     "why", seen->why != NULL ? seen->why : "");
}

static json_t *kernel_json(const zf_tune_kernel *kernel) {
    const zf_search_space *space = &kernel->space;
    const zf_search_result *result = &kernel->result;
    zf_search_point first = zf_search_default(space);
    json_t *tries = json_array();
    for (uint32_t t = 0; t < kernel->count; t++) json_array_append_new(tries, try_json(space, &kernel->tries[t]));
    return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:f, s:o, s:o, s:f, s:f, s:i, s:i, s:s}",
                     "column", zf_json_text(kernel->column), "kernel", (int)kernel->number, "shape", zf_json_text(kernel->shape),
                     "space", axes_json(space), "default", point_json(space, &first), "known",
                     space->has_known ? point_json(space, &space->known) : json_null(), "multiprocessor", "registers",
                     (int)space->machine.registers, "threads", (int)space->machine.threads, "blocks", (int)space->machine.blocks,
                     "shared_bytes", (int)space->machine.shared_bytes, "warp", (int)space->machine.warp, "count",
                     (int)space->machine.count, "least_seconds", space->least_seconds, "measured", tries, "best",
                     point_json(space, &result->best), "seconds", result->seconds, "default_seconds", result->default_seconds,
                     "probes", (int)result->probes, "readings", (int)result->readings, "ended", result->ended);
}

json_t *zf_tune_record_json(const zf_tune_record *record) {
    json_t *kernels = json_array();
    for (size_t k = 0; k < record->count; k++) json_array_append_new(kernels, kernel_json(&record->kernels[k]));
    return kernels;
}

// ---- Reading --------------------------------------------------------------------------------------------------

// More than any GPU has, or takes.
enum { COUNT_MOST = 1 << 16, WARP_MOST = 1 << 10, REGISTERS_MOST = 1 << 20, BYTES_MOST = 1 << 30 };
static const double SECONDS_LEAST = 1e-12, SECONDS_MOST = 1e6;

/// Where it is in a record, and what is wrong there.
typedef struct reading {
    char where[64]; ///< of a kernel: "", or "measured 3: "
    char what[160]; ///< "" where all is well
} reading;

__attribute__((format(printf, 2, 3))) static bool wrong(reading *r, const char *format, ...) {
    va_list arguments;
    if (r->what[0] != 0) return false; // the first is told
    int length = snprintf(r->what, sizeof r->what, "%s", r->where);
    va_start(arguments, format);
    vsnprintf(r->what + length, sizeof r->what - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

/// An integer that an object must have.
static uint32_t number(reading *r, const json_t *from, const char *name, json_int_t most) {
    const json_t *is = json_object_get(from, name);
    json_int_t value = json_integer_value(is);
    if (!json_is_integer(is) || value < 0 || value > most) {
        wrong(r, "`%s` is not a number from 0 to %lld", name, (long long)most);
        return 0;
    }
    return (uint32_t)value;
}

/// One that older records do not have; 0 there.
static uint32_t later_number(reading *r, const json_t *from, const char *name, json_int_t most) {
    return json_object_get(from, name) != NULL ? number(r, from, name, most) : 0;
}

static bool are_seconds(const json_t *is) {
    return json_is_number(is) && json_number_value(is) >= SECONDS_LEAST && json_number_value(is) <= SECONDS_MOST;
}

/// A text without what would move a terminal's cursor.
static char *name_of(reading *r, const json_t *from, const char *name) {
    const char *text = json_string_value(json_object_get(from, name));
    bool plain = text != NULL;
    for (const char *c = text; plain && *c != 0; c++) plain = (unsigned char)*c >= ' ' && *c != 0x7f;
    if (plain) return strdup(text);
    wrong(r, "`%s` is not a string, or has control characters", name);
    return NULL;
}

static bool are_choices(reading *r, const json_t *from, const char *name) {
    const char *key;
    json_t *value;
    if (!json_is_object(from)) return wrong(r, "`%s` is not an object", name);
    json_object_foreach((json_t *)(uintptr_t)from, key, value) {
        unsigned k = 0;
        while (k < ZF_CHOICE_KINDS && strcmp(key, zf_choice_names[k]) != 0) k++;
        if (k == ZF_CHOICE_KINDS) return wrong(r, "`%s`: there is no choice `%.32s`", name, key);
    }
    return true;
}

static bool read_axis(reading *r, const char *name, const json_t *values, const json_t *by_default, zf_search_axis *out) {
    size_t count = json_array_size(values);
    if (!json_is_array(values) || count == 0 || count > ZF_SEARCH_VALUES)
        return wrong(r, "`space`: %s has no values, or too many", name);
    out->count = (uint32_t)count;
    for (size_t v = 0; v < count; v++) {
        const json_t *is = json_array_get(values, v);
        json_int_t value = json_integer_value(is);
        if (!json_is_integer(is) || value < 0 || value > ZF_CHOICE_MOST || (v > 0 && value <= out->values[v - 1]))
            return wrong(r, "`space`: value %zu of %s is not a number above those before it", v, name);
        out->values[v] = (uint32_t)value;
    }
    if (!json_is_integer(by_default)) return wrong(r, "`default` says nothing of %s", name);
    while (out->default_index < count && out->values[out->default_index] != json_integer_value(by_default)) out->default_index++;
    return out->default_index < count ||
           wrong(r, "`default`: %s has no value %lld", name, (long long)json_integer_value(by_default));
}

static bool read_axes(reading *r, const json_t *from, const json_t *defaults, zf_search_space *out) {
    if (!are_choices(r, from, "space") || !are_choices(r, defaults, "default")) return false;
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const json_t *values = json_object_get(from, zf_choice_names[k]);
        if (values != NULL &&
            !read_axis(r, zf_choice_names[k], values, json_object_get(defaults, zf_choice_names[k]), &out->axes[k]))
            return false;
    }
    return true;
}

static bool read_point(reading *r, const zf_search_space *space, const json_t *from, const char *name, zf_search_point *out) {
    *out = (zf_search_point){{0}};
    if (!are_choices(r, from, name)) return false;
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const zf_search_axis *axis = &space->axes[k];
        const json_t *value = json_object_get(from, zf_choice_names[k]);
        if (axis->count == 0) continue;
        while (out->at[k] < axis->count && axis->values[out->at[k]] != json_integer_value(value)) out->at[k]++;
        if (!json_is_integer(value) || out->at[k] == axis->count)
            return wrong(r, "`%s`: %s is not in `space`", name, zf_choice_names[k]);
    }
    return true;
}

static bool read_try(reading *r, zf_tune_kernel *kernel, const json_t *from) {
    zf_search_point point;
    const json_t *seconds = json_object_get(from, "seconds"), *runs = json_object_get(from, "runs");
    if (!read_point(r, &kernel->space, json_object_get(from, "choice"), "choice", &point)) return false;
    zf_search_reading is = {.ran = json_is_true(runs),
                            .registers = number(r, from, "registers", COUNT_MOST),
                            .local = number(r, from, "local_bytes", BYTES_MOST),
                            .shared = number(r, from, "shared_bytes", BYTES_MOST),
                            .blocks = number(r, from, "blocks_at_once", COUNT_MOST),
                            .groups = later_number(r, from, "thread_blocks", INT32_MAX)};
    if (!json_is_boolean(runs)) wrong(r, "`runs` is neither true nor false");
    if (!json_is_array(seconds) || (is.ran && json_array_size(seconds) == 0)) wrong(r, "`seconds` is not a list of readings");
    if (r->what[0] != 0) return false;
    for (size_t s = 0; s == 0 || s < json_array_size(seconds); s++) {
        is.seconds = json_number_value(json_array_get(seconds, s));
        if (is.ran && !are_seconds(json_array_get(seconds, s))) return wrong(r, "`seconds`: reading %zu is not a time", s);
        if (zf_tune_note(kernel, &point, &is, "", NULL) != ZF_OK) return wrong(r, "no memory");
    }
    return true;
}

static bool read_machine(reading *r, const json_t *from, zf_search_machine *out) {
    if (!json_is_object(from)) return wrong(r, "`multiprocessor` is not an object");
    *out = (zf_search_machine){number(r, from, "registers", REGISTERS_MOST), number(r, from, "threads", COUNT_MOST),
                               number(r, from, "blocks", COUNT_MOST),        number(r, from, "shared_bytes", BYTES_MOST),
                               number(r, from, "warp", WARP_MOST),           later_number(r, from, "count", COUNT_MOST)};
    return r->what[0] == 0;
}

static bool read_kernel(reading *r, zf_tune_record *record, const json_t *from) {
    zf_tune_kernel *kernel = zf_tune_record_add(record, NULL);
    const json_t *tries = json_object_get(from, "measured"), *known = json_object_get(from, "known");
    const json_t *least = json_object_get(from, "least_seconds");
    if (kernel == NULL) return wrong(r, "no memory");
    kernel->column = name_of(r, from, "column");
    kernel->shape = name_of(r, from, "shape");
    kernel->number = number(r, from, "kernel", INT32_MAX);
    zf_tune_axes(&(zf_choice_space){0}, &kernel->space);
    if (r->what[0] != 0 || !read_axes(r, json_object_get(from, "space"), json_object_get(from, "default"), &kernel->space) ||
        !read_machine(r, json_object_get(from, "multiprocessor"), &kernel->space.machine))
        return false;
    kernel->space.least_seconds = json_number_value(least); // 0: it was not known
    if (!json_is_number(least) || (kernel->space.least_seconds != 0 && !are_seconds(least)))
        return wrong(r, "`least_seconds` is not a time");
    kernel->space.has_known = json_is_object(known);
    if (kernel->space.has_known && !read_point(r, &kernel->space, known, "known", &kernel->space.known)) return false;
    if (!json_is_array(tries) || json_array_size(tries) == 0) return wrong(r, "`measured` is empty");
    for (size_t t = 0; t < json_array_size(tries); t++) {
        snprintf(r->where, sizeof r->where, "measured %zu: ", t);
        if (!read_try(r, kernel, json_array_get(tries, t))) return false;
    }
    return true;
}

/// Reads the JSON of a regular file.
static zf_status load(const char *path, json_t **out, zf_error *error) {
    enum { MOST = 1 << 30 };
    const char *reason;
    json_error_t why;
    zf_text text = {0};
    int file = zf_regular_open(path, &reason);
    if (file < 0) return zf_raise(error, ZF_E_OPEN_FAILED, "%.256s cannot be opened: %s", path, reason);
    int failed = zf_read_whole(file, MOST, &text);
    close(file);
    if (failed == 0) *out = json_loadb(text.data, text.length, 0, &why);
    zf_text_free(&text);
    if (failed != 0) return zf_raise(error, ZF_E_READ_FAILED, "%.256s cannot be read: %s", path, strerror(failed));
    return *out != NULL ? ZF_OK : zf_fail(error, ZF_ERR_INPUT, ZFT_RECORD, "%.256s: %s (line %d)", path, why.text, why.line);
}

zf_status zf_tune_record_read(const char *path, zf_tune_record *out, zf_error *error) {
    json_t *record = NULL;
    *out = (zf_tune_record){0};
    ZF_TRY(load(path, &record, error));
    const json_t *kernels = json_object_get(record, "kernels"), *kind = json_object_get(record, "tune");
    zf_status status = ZF_OK;
    bool other = json_is_string(kind) && strcmp(json_string_value(kind), "kernels") != 0; // of --show
    if (other || json_array_size(kernels) == 0)
        status = zf_fail(error, ZF_ERR_INPUT, ZFT_RECORD, "%.256s is not a record of the tuner", path);
    for (size_t k = 0; status == ZF_OK && k < json_array_size(kernels); k++) {
        reading r = {.where = ""};
        if (!read_kernel(&r, out, json_array_get(kernels, k)))
            status = zf_fail(error, ZF_ERR_INPUT, ZFT_RECORD, "%.256s: kernel %zu: %s", path, k, r.what);
    }
    json_decref(record);
    return status;
}
