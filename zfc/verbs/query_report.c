#include "zfc/verbs/query_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zfc/data/values.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"

typedef unsigned long long ull;

enum { LINES_MOST = 1000 }; // of a result on a terminal

// A word as an element of its type: little-endian; f32 from the f64 that it is.
static void element_of(const zf_query_answer *answer, uint64_t at, uint8_t out[8]) {
    uint64_t word = answer->words[at];
    if (answer->type.element == ZF_F32) {
        double wide;
        memcpy(&wide, &word, sizeof wide);
        float narrow = (float)wide;
        memcpy(out, &narrow, sizeof narrow);
        return;
    }
    memcpy(out, &word, sizeof word);
}

// Whether an element is not as it began. Rows that change nothing, such as those that add 0, are not told apart from none.
static bool has_changed(const zf_query_answer *answer, uint64_t at) {
    bool given = answer->kind == ZF_Q_MIN || answer->kind == ZF_Q_MAX || answer->kind == ZF_Q_SET;
    if (given) return answer->touched[at] != 0;
    return answer->words[at] != (answer->kind == ZF_Q_ALL ? 1 : 0);
}

// No row gave the element a value, and its kind has none of its own.
static bool is_nothing(const zf_query_answer *answer, uint64_t at) {
    return answer->touched != NULL && !answer->touched[at] && (answer->kind == ZF_Q_MIN || answer->kind == ZF_Q_MAX);
}

static void put_element(const zf_query_answer *answer, uint64_t at, zf_text *text) {
    uint8_t bytes[8];
    element_of(answer, at, bytes);
    if (is_nothing(answer, at))
        zf_text_puts(text, "null");
    else if (answer->type.element == ZF_BOOL)
        zf_text_puts(text, answer->words[at] != 0 ? "true" : "false");
    else
        zf_print_value(answer->type, bytes, text);
}

static void put_index(const zf_query_answer *answer, uint64_t at, zf_text *text) {
    uint64_t below = answer->count;
    for (uint32_t d = 0; d < answer->dimensions; d++) {
        below /= answer->lengths[d];
        zf_text_printf(text, "%s%llu", d == 0 ? "[" : ", ", (ull)(at / below % answer->lengths[d]));
    }
    if (answer->dimensions > 0) zf_text_puts(text, "]");
}

static void put_elements(const zf_query_answer *answer, zf_text *text) {
    uint64_t lines = 0, more = 0;
    for (uint64_t at = 0; at < answer->count; at++) {
        if (answer->dimensions > 0 && !has_changed(answer, at)) continue;
        if (lines++ >= LINES_MOST) {
            more++;
            continue;
        }
        zf_text_puts(text, answer->name);
        put_index(answer, at, text);
        zf_text_puts(text, " ");
        put_element(answer, at, text);
        zf_text_puts(text, "\n");
    }
    if (more > 0) zf_text_printf(text, "%s: %llu elements more; -o writes all\n", answer->name, (ull)more);
    if (lines == 0) zf_text_printf(text, "%s: no row changed an element\n", answer->name);
}

static void put_selected(const zf_query_answers *answers, zf_text *text) {
    uint64_t rows = 0;
    bool any = false;
    for (size_t k = 0; k < answers->count; k++) {
        if (answers->items[k].kind != ZF_Q_SELECT) continue;
        zf_text_printf(text, "%s%s", any ? "," : "", answers->items[k].name);
        rows = answers->items[k].count;
        any = true;
    }
    if (!any) return;
    zf_text_puts(text, "\n");
    for (uint64_t r = 0; r < rows && r < LINES_MOST; r++) {
        bool first = true;
        for (size_t k = 0; k < answers->count; k++) {
            if (answers->items[k].kind != ZF_Q_SELECT) continue;
            if (!first) zf_text_puts(text, ",");
            put_element(&answers->items[k], r, text);
            first = false;
        }
        zf_text_puts(text, "\n");
    }
    if (rows > LINES_MOST) zf_text_printf(text, "%llu rows more; -o writes all\n", (ull)(rows - LINES_MOST));
}

static void put_mask(const zf_query_answer *answer, zf_text *text) {
    uint64_t set = 0;
    for (uint64_t r = 0; r < answer->count; r++) set += answer->words[r];
    zf_text_printf(text, "%s: %llu of %llu rows\n", answer->name, (ull)set, (ull)answer->count);
}

zf_status zf_print_answers(const zf_query_answers *answers, zf_error *error) {
    zf_text text = {0};
    for (size_t k = 0; k < answers->count; k++) {
        const zf_query_answer *answer = &answers->items[k];
        if (answer->kind == ZF_Q_MASK)
            put_mask(answer, &text);
        else if (answer->kind != ZF_Q_SELECT)
            put_elements(answer, &text);
    }
    put_selected(answers, &text);
    bool good = !text.failed;
    if (good && text.length > 0) fwrite(text.data, 1, text.length, stdout);
    zf_text_free(&text);
    return good ? ZF_OK : zf_fail_no_memory(error);
}

// ---- JSON -----------------------------------------------------------------------------------------------------

static json_t *element_json(const zf_query_answer *answer, uint64_t at) {
    uint64_t word = answer->words[at];
    if (is_nothing(answer, at)) return json_null();
    if (answer->type.element == ZF_BOOL) return json_boolean(word != 0);
    if (answer->type.element == ZF_F32 || answer->type.element == ZF_F64) {
        double value;
        memcpy(&value, &word, sizeof value);
        if (isfinite(value)) return json_real(value);
        return json_string(isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"); // JSON has no numbers for them
    }
    if (answer->type.element == ZF_U64 && word > INT64_MAX) { // larger than readers keep exactly
        char digits[24];
        snprintf(digits, sizeof digits, "%llu", (ull)word);
        return json_string(digits);
    }
    return json_integer((json_int_t)word);
}

static json_t *answer_json(const zf_query_answer *answer) {
    bool one = answer->dimensions == 0 && answer->kind != ZF_Q_MASK && answer->kind != ZF_Q_SELECT;
    if (one) return element_json(answer, 0);
    json_t *values = json_array();
    for (uint64_t at = 0; at < answer->count; at++)
        if (json_array_append_new(values, element_json(answer, at)) != 0) {
            json_decref(values);
            return NULL;
        }
    if (answer->dimensions < 2) return values;
    json_t *shape = json_array();
    for (uint32_t d = 0; d < answer->dimensions; d++) json_array_append_new(shape, json_integer((json_int_t)answer->lengths[d]));
    return json_pack("{s:o, s:o}", "shape", shape, "values", values);
}

bool zf_query_device_json(const zf_query_answers *answers, json_t **out) {
    const zf_query_device_use *use = &answers->device;
    *out = NULL;
    if (use->fused + use->decoded + use->launches == 0) return true;
    json_t *seconds = json_array();
    bool good = seconds != NULL;
    for (unsigned k = 0; good && k < use->repeated; k++) good = json_array_append_new(seconds, json_real(use->seconds[k])) == 0;
    if (!good) {
        json_decref(seconds);
        return false;
    }
    *out = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "fused", (json_int_t)use->fused, "decoded",
                     (json_int_t)use->decoded, "units", (json_int_t)use->units, "launches", (json_int_t)use->launches, "codes",
                     (json_int_t)use->codes, "stored_bytes", (json_int_t)use->stored_bytes, "squares", (json_int_t)use->squares,
                     "warps", (json_int_t)use->warps, "shared_bytes", (json_int_t)use->shared_bytes, "seconds", seconds);
    return *out != NULL;
}

json_t *zf_answers_json(const zf_query_answers *answers) {
    json_t *all = json_object();
    for (size_t k = 0; k < answers->count; k++) {
        json_t *one = answer_json(&answers->items[k]);
        if (one == NULL || json_object_set_new(all, answers->items[k].name, one) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

// ---- Files ----------------------------------------------------------------------------------------------------

static zf_status write_bytes(const char *directory, const char *name, const char *ending, const void *bytes, size_t length,
                             zf_outputs *outputs, zf_error *error) {
    zf_text path = {0};
    zf_text_printf(&path, "%s/%s.%s", directory, name, ending);
    zf_sink sink;
    zf_status status = path.failed ? zf_fail_no_memory(error) : zf_outputs_open(outputs, path.data, &sink, error);
    if (status == ZF_OK) status = zf_sink_write(&sink, bytes, length, error);
    zf_text_free(&path);
    return status == ZF_OK ? zf_outputs_finished(outputs, error) : status;
}

static zf_status write_bits(const char *directory, const zf_query_answer *answer, bool touched, zf_outputs *outputs,
                            zf_error *error) {
    size_t length = (size_t)((answer->count + 7) / 8);
    uint8_t *bits = calloc(length + 1, 1);
    if (bits == NULL) return zf_fail_no_memory(error);
    for (uint64_t at = 0; at < answer->count; at++)
        bits[at / 8] |= (uint8_t)((touched ? answer->touched[at] != 0 : answer->words[at] != 0) << at % 8);
    zf_status status = write_bytes(directory, answer->name, touched ? "valid" : "bool", bits, length, outputs, error);
    free(bits);
    return status;
}

static zf_status write_elements(const char *directory, const zf_query_answer *answer, zf_outputs *outputs, zf_error *error) {
    size_t size = zf_element_size(answer->type.element);
    uint8_t *bytes = malloc(answer->count * size + 8);
    if (bytes == NULL) return zf_fail_no_memory(error);
    for (uint64_t at = 0; at < answer->count; at++)
        element_of(answer, at, bytes + at * size); // the next overwrites what is too much
    const char *ending = zf_raw_ending(answer->type);
    zf_status status = write_bytes(directory, answer->name, ending, bytes, answer->count * size, outputs, error);
    free(bytes);
    return status;
}

zf_status zf_write_answers(const char *directory, const zf_query_answers *answers, zf_outputs *outputs, zf_error *error) {
    zf_status status = ZF_OK;
    for (size_t k = 0; k < answers->count && status == ZF_OK; k++) {
        const zf_query_answer *answer = &answers->items[k];
        bool bits = answer->type.element == ZF_BOOL;
        status = bits ? write_bits(directory, answer, false, outputs, error) : write_elements(directory, answer, outputs, error);
        bool open = answer->kind == ZF_Q_MIN || answer->kind == ZF_Q_MAX;
        if (status == ZF_OK && open) status = write_bits(directory, answer, true, outputs, error);
    }
    return status;
}
