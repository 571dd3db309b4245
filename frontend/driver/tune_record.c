// What was measured of kernels, as JSON: the space of each, and the seconds of each combination that was tried. With every
// combination (`zfc tune --exhaustive --json`) a record says how good a search is: it can be searched again without a GPU.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/driver/driver_codes.h"
#include "frontend/driver/tune.h"
#include "runtime/base/read_whole.h"

// ---- Writing --------------------------------------------------------------------------------------------------

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
    return json_pack("{s:o, s:b, s:o, s:i, s:i, s:i, s:i, s:s}", "choice", point_json(space, &seen->point), "runs", (int)is->ran,
                     "seconds", seconds, "registers", (int)is->registers, "local_bytes", (int)is->local, "shared_bytes",
                     (int)is->shared, "blocks_at_once", (int)is->blocks, "why", seen->why != NULL ? seen->why : "");
}

static json_t *kernel_json(const zf_tune_kernel *kernel) {
    const zf_search_space *space = &kernel->space;
    const zf_search_result *result = &kernel->result;
    zf_search_point first = zf_search_default(space);
    json_t *tries = json_array();
    for (uint32_t t = 0; t < kernel->count; t++) json_array_append_new(tries, try_json(space, &kernel->tries[t]));
    return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:{s:i, s:i, s:i, s:i, s:i}, s:f, s:o, s:o, s:f, s:f, s:i, s:i, s:s}",
                     "column", zf_json_text(kernel->column), "kernel", (int)kernel->number, "shape", zf_json_text(kernel->shape),
                     "space", axes_json(space), "default", point_json(space, &first), "known",
                     space->has_known ? point_json(space, &space->known) : json_null(), "multiprocessor", "registers",
                     (int)space->machine.registers, "threads", (int)space->machine.threads, "blocks", (int)space->machine.blocks,
                     "shared_bytes", (int)space->machine.shared_bytes, "warp", (int)space->machine.warp, "least_seconds",
                     space->least_seconds, "measured", tries, "best", point_json(space, &result->best), "seconds",
                     result->seconds, "default_seconds", result->default_seconds, "probes", (int)result->probes, "readings",
                     (int)result->readings, "ended", result->ended);
}

json_t *zf_tune_record_json(const zf_tune_record *record) {
    json_t *kernels = json_array();
    for (size_t k = 0; k < record->count; k++) json_array_append_new(kernels, kernel_json(&record->kernels[k]));
    return kernels;
}

// ---- Reading --------------------------------------------------------------------------------------------------

static bool read_axes(const json_t *from, const json_t *defaults, zf_search_space *out) {
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const json_t *values = json_object_get(from, zf_choice_names[k]);
        size_t count = json_array_size(values);
        if (values == NULL) continue;
        if (!json_is_array(values) || count == 0 || count > ZF_SEARCH_VALUES) return false;
        zf_search_axis *axis = &out->axes[k];
        axis->count = (uint32_t)count;
        for (size_t v = 0; v < count; v++) {
            json_int_t value = json_integer_value(json_array_get(values, v));
            if (value < 0 || value > ZF_CHOICE_MOST || (v > 0 && value <= axis->values[v - 1])) return false;
            axis->values[v] = (uint32_t)value;
        }
        json_int_t by_default = json_integer_value(json_object_get(defaults, zf_choice_names[k]));
        while (axis->otherwise < count && axis->values[axis->otherwise] != by_default) axis->otherwise++;
        if (axis->otherwise == count) return false;
    }
    return true;
}

static bool read_point(const zf_search_space *space, const json_t *from, zf_search_point *out) {
    *out = (zf_search_point){{0}};
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const zf_search_axis *axis = &space->axes[k];
        const json_t *value = json_object_get(from, zf_choice_names[k]);
        if (axis->count == 0) continue;
        while (out->at[k] < axis->count && axis->values[out->at[k]] != json_integer_value(value)) out->at[k]++;
        if (!json_is_integer(value) || out->at[k] == axis->count) return false;
    }
    return true;
}

// More than any GPU has.
enum { COUNT_MOST = 1 << 16, WARP_MOST = 1 << 10, REGISTERS_MOST = 1 << 20, BYTES_MOST = 1 << 30 };

/// What an object says of a name, 0 where it says nothing; nothing is good that is below 0 or above `most`.
static uint32_t number(const json_t *from, const char *name, json_int_t most, bool *good) {
    json_int_t value = json_integer_value(json_object_get(from, name));
    *good = *good && value >= 0 && value <= most;
    return *good ? (uint32_t)value : 0;
}

static bool read_try(zf_tune_kernel *kernel, const json_t *from) {
    zf_search_point point;
    const json_t *seconds = json_object_get(from, "seconds");
    if (!read_point(&kernel->space, json_object_get(from, "choice"), &point) || !json_is_array(seconds)) return false;
    bool good = true;
    zf_search_reading reading = {.registers = number(from, "registers", COUNT_MOST, &good),
                                 .local = number(from, "local_bytes", BYTES_MOST, &good),
                                 .shared = number(from, "shared_bytes", BYTES_MOST, &good),
                                 .blocks = number(from, "blocks_at_once", COUNT_MOST, &good)};
    if (!good) return false;
    reading.ran = json_is_true(json_object_get(from, "runs"));
    if (reading.ran && json_array_size(seconds) == 0) return false;
    for (size_t r = 0; r == 0 || r < json_array_size(seconds); r++) {
        reading.seconds = json_number_value(json_array_get(seconds, r));
        if (reading.ran && !(reading.seconds > 0)) return false;
        if (zf_tune_note(kernel, &point, &reading, "", NULL) != ZF_OK) return false;
    }
    return true;
}

static bool read_kernel(zf_tune_record *record, const json_t *from) {
    zf_tune_kernel *kernel = zf_tune_record_add(record, NULL);
    const char *column = json_string_value(json_object_get(from, "column")),
               *shape = json_string_value(json_object_get(from, "shape"));
    const json_t *tries = json_object_get(from, "measured"), *machine = json_object_get(from, "multiprocessor"),
                 *known = json_object_get(from, "known");
    if (kernel == NULL || column == NULL || shape == NULL || !json_is_array(tries)) return false;
    kernel->column = strdup(column);
    kernel->shape = strdup(shape);
    bool good = true;
    kernel->number = number(from, "kernel", INT32_MAX, &good);
    zf_tune_axes(&(zf_choice_space){0}, &kernel->space);
    if (kernel->column == NULL || kernel->shape == NULL ||
        !read_axes(json_object_get(from, "space"), json_object_get(from, "default"), &kernel->space))
        return false;
    kernel->space.machine =
        (zf_search_machine){number(machine, "registers", REGISTERS_MOST, &good), number(machine, "threads", COUNT_MOST, &good),
                            number(machine, "blocks", COUNT_MOST, &good), number(machine, "shared_bytes", BYTES_MOST, &good),
                            number(machine, "warp", WARP_MOST, &good)};
    if (!good) return false;
    kernel->space.least_seconds = json_number_value(json_object_get(from, "least_seconds"));
    if (json_is_object(known)) kernel->space.has_known = read_point(&kernel->space, known, &kernel->space.known);
    for (size_t t = 0; t < json_array_size(tries); t++) {
        if (!read_try(kernel, json_array_get(tries, t))) return false;
    }
    return kernel->count > 0;
}

/// The JSON of a regular file.
static zf_status load(const char *path, json_t **out, zf_error *error) {
    enum { MOST = 1 << 30 };
    const char *reason;
    json_error_t why;
    zf_text text = {0};
    int file = zf_regular_open(path, &reason);
    if (file < 0) return zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "%.256s cannot be opened: %s", path, reason);
    int failed = zf_read_whole(file, MOST, &text);
    close(file);
    if (failed == 0) *out = json_loadb(text.data, text.length, 0, &why);
    zf_text_free(&text);
    if (failed != 0) return zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "%.256s cannot be read: %s", path, strerror(failed));
    return *out != NULL ? ZF_OK : zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "%.256s: %s (line %d)", path, why.text, why.line);
}

zf_status zf_tune_record_read(const char *path, zf_tune_record *out, zf_error *error) {
    json_t *record = NULL;
    *out = (zf_tune_record){0};
    ZF_TRY(load(path, &record, error));
    const json_t *kernels = json_object_get(record, "kernels"), *kind = json_object_get(record, "tune");
    zf_status status = ZF_OK;
    bool other = json_is_string(kind) && strcmp(json_string_value(kind), "kernels") != 0; // of --show
    if (other || json_array_size(kernels) == 0)
        status = zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "%.256s is no record of `zfc tune`", path);
    for (size_t k = 0; status == ZF_OK && k < json_array_size(kernels); k++) {
        if (!read_kernel(out, json_array_get(kernels, k)))
            status =
                zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "%.256s: kernel %zu of the record contradicts itself", path, k);
    }
    json_decref(record);
    return status;
}

// ---- Replaying ------------------------------------------------------------------------------------------------

typedef struct replay {
    const zf_tune_kernel *kernel;
    uint32_t *asked; ///< readings of each try that were given
} replay;

/// What was measured of a combination: a bound on registers that code does not come to changes nothing.
static const zf_search_try *recorded(const zf_tune_kernel *kernel, const zf_search_point *point) {
    const zf_search_try *seen = zf_tune_find(kernel, point);
    const zf_search_axis *axis = &kernel->space.axes[ZF_CHOICE_REGISTERS];
    if (seen != NULL || axis->count == 0) return seen;
    zf_search_point free = *point;
    free.at[ZF_CHOICE_REGISTERS] = 0;
    seen = zf_tune_find(kernel, &free);
    uint32_t value = axis->values[point->at[ZF_CHOICE_REGISTERS]];
    bool same = seen != NULL && axis->values[0] == 0 && value >= seen->reading.registers;
    return same && seen->reading.registers > 0 ? seen : NULL;
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

zf_search_result zf_tune_replay(const zf_tune_kernel *kernel, uint32_t probes, double *best) {
    static const char nothing[] = "no memory";
    zf_search_result result = {.ended = nothing};
    zf_search *search = malloc(sizeof *search);
    replay r = {.kernel = kernel, .asked = calloc(kernel->count + 1u, sizeof *r.asked)};
    *best = 0;
    for (uint32_t t = 0; t < kernel->count; t++) {
        double seconds = seconds_of(&kernel->tries[t]);
        if (seconds > 0 && (*best == 0 || seconds < *best)) *best = seconds;
    }
    if (search != NULL && r.asked != NULL) {
        zf_search_space space = kernel->space;
        space.legal = is_recorded;
        space.user = &r;
        zf_search_begin(search, &space, &(zf_search_options){.probes = probes});
        result = zf_search_run(search, answer, &r);
        zf_search_point first = zf_search_default(&kernel->space); // the search may have asked for some of the readings alone
        if (result.found) result.seconds = seconds_of(recorded(kernel, &result.best));
        result.default_seconds = seconds_of(recorded(kernel, &first));
    }
    free(search);
    free(r.asked);
    return result;
}
