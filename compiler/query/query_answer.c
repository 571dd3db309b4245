// Results of a query: their memory while rows run, and what they are in the end.
#include <stdlib.h>
#include <string.h>

#include "compiler/container_spec.h"
#include "compiler/query/query_given.h"
#include "runtime/base/error_codes.h"

void zf_query_answers_free(zf_query_answers *answers) {
    for (size_t k = 0; answers->items != NULL && k < answers->count; k++) {
        free(answers->items[k].words);
        free(answers->items[k].touched);
    }
    free(answers->items);
    free(answers->device.seconds);
    *answers = (zf_query_answers){0};
}

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the results of a query"); }

static bool is_float_sum(const zf_query_answer *answer) { return answer->kind == ZF_Q_SUM && answer->type.element == ZF_F64; }

static zf_status measure(const zf_query *query, const zf_query_result *result, const uint64_t *params, zf_query_answer *answer,
                         uint64_t *left, zf_error *error) {
    answer->count = 1;
    for (uint32_t d = 0; d < result->dimensions; d++) {
        uint64_t length = 0;
        bool known = zf_expr_evaluate(result->lengths[d], params, &length);
        if (length > INT64_MAX) // lengths are u64 here, whatever type was negative
            return zf_raise(error, ZF_E_ARGUMENT, "a length of the result `%s` of `%s` is negative or above 2^63 - 1",
                            result->name, query->name);
        if (!known || length == 0 || length > *left / answer->count)
            return zf_raise(error, ZF_E_ARGUMENT,
                            "a length of the result `%s` of `%s` is %llu: all results together have 1 to %d elements",
                            result->name, query->name, (unsigned long long)length, ZF_QUERY_ELEMENTS);
        answer->lengths[d] = length;
        answer->count *= length;
    }
    if (answer->count > *left) // one element, as it has no lengths
        return zf_raise(error, ZF_E_ARGUMENT,
                        "there is no room for the result `%s` of `%s`: all results together have %d elements", result->name,
                        query->name, ZF_QUERY_ELEMENTS);
    *left -= answer->count;
    if (is_float_sum(answer) && answer->count > ZF_QUERY_FLOAT_SUMS)
        return zf_raise(error, ZF_E_ARGUMENT, "`%s` has %llu sums of floats, more than %d", result->name,
                        (unsigned long long)answer->count, ZF_QUERY_FLOAT_SUMS);
    return ZF_OK;
}

static zf_status make_room(zf_query_answer *answer, zf_query_held *held, uint64_t rows, zf_error *error) {
    if (answer->kind == ZF_Q_SELECT) {
        answer->count = 0;
        return ZF_OK;
    }
    bool mask = answer->kind == ZF_Q_MASK;
    if (mask) answer->count = rows;
    answer->touched = calloc(answer->count + 1, 1);
    if (!mask) answer->words = calloc(answer->count + 1, sizeof(uint64_t));
    if (answer->touched == NULL || (!mask && answer->words == NULL)) return no_memory(error);
    held->words = answer->words;
    held->touched = answer->touched;
    memcpy(held->lengths, answer->lengths, sizeof held->lengths);
    for (uint64_t k = 0; answer->kind == ZF_Q_ALL && k < answer->count; k++) answer->words[k] = 1;
    if (!is_float_sum(answer)) return ZF_OK;
    held->lanes = calloc(answer->count * ZF_QUERY_LANES, sizeof(double));
    return held->lanes != NULL ? ZF_OK : no_memory(error);
}

zf_status zf_query_hold(const zf_query *query, const uint64_t *params, uint64_t rows, zf_query_answers *answers,
                        zf_query_holding *out, zf_error *error) {
    *out = (zf_query_holding){.query = query, .answers = answers, .selected.columns = query->selected_count};
    answers->rows = rows;
    answers->items = calloc(query->result_count, sizeof *answers->items);
    out->held = calloc(query->result_count, sizeof *out->held);
    if (answers->items == NULL || out->held == NULL) return no_memory(error);
    answers->count = query->result_count;
    uint64_t left = ZF_QUERY_ELEMENTS;
    for (uint32_t k = 0; k < query->result_count; k++) {
        const zf_query_result *result = &query->results[k];
        zf_query_answer *answer = &answers->items[k];
        *answer = (zf_query_answer){.name = result->name,
                                    .type = zf_column_type_of(result->type),
                                    .kind = result->kind,
                                    .dimensions = result->dimensions};
        ZF_TRY(measure(query, result, params, answer, &left, error));
        ZF_TRY(make_room(answer, &out->held[k], rows, error));
        out->sums_floats = out->sums_floats || is_float_sum(answer);
    }
    return ZF_OK;
}

void zf_query_hold_rows(zf_query_holding *holding, uint64_t row) {
    for (size_t k = 0; k < holding->answers->count; k++) {
        const zf_query_answer *answer = &holding->answers->items[k];
        if (answer->kind == ZF_Q_MASK) holding->held[k].touched = answer->touched + row;
    }
}

static double float_of(uint64_t word) {
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static uint64_t word_of(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

void zf_query_fold_lanes(double *lanes, uint64_t count, double *sums) {
    for (uint64_t at = 0; at < count; at++, lanes += ZF_QUERY_LANES) {
        for (unsigned d = ZF_QUERY_LANES / 2; d > 0; d /= 2)
            for (unsigned l = 0; l < d; l++) lanes[l] += lanes[l + d];
        sums[at] = lanes[0];
        memset(lanes, 0, ZF_QUERY_LANES * sizeof *lanes);
    }
}

void zf_query_add_sums(uint64_t *words, const double *sums, uint64_t count) {
    for (uint64_t at = 0; at < count; at++) words[at] = word_of(float_of(words[at]) + sums[at]);
}

void zf_query_hold_tile(zf_query_holding *holding) {
    for (size_t k = 0; k < holding->answers->count; k++) {
        double sums[ZF_QUERY_FLOAT_SUMS];
        uint64_t count = holding->answers->items[k].count;
        if (holding->held[k].lanes == NULL) continue;
        zf_query_fold_lanes(holding->held[k].lanes, count, sums);
        zf_query_add_sums(holding->answers->items[k].words, sums, count);
    }
}

// A column of what `select` appended.
static zf_status spread_column(const zf_query_holding *holding, size_t k, zf_error *error) {
    zf_query_answer *answer = &holding->answers->items[k];
    const zf_query_selected *selected = &holding->selected;
    uint32_t column = holding->query->results[k].column;
    answer->count = selected->rows;
    answer->words = malloc((answer->count + 1) * sizeof(uint64_t));
    if (answer->words == NULL) return no_memory(error);
    for (uint64_t r = 0; r < answer->count; r++) answer->words[r] = selected->words[r * selected->columns + column];
    return ZF_OK;
}

static zf_status spread_mask(zf_query_answer *answer, zf_error *error) {
    answer->words = malloc((answer->count + 1) * sizeof(uint64_t));
    if (answer->words == NULL) return no_memory(error);
    for (uint64_t r = 0; r < answer->count; r++) answer->words[r] = answer->touched[r];
    free(answer->touched);
    answer->touched = NULL;
    return ZF_OK;
}

zf_status zf_query_answer_finish(zf_query_answer *answer, zf_type type, zf_error *error) {
    const uint64_t nan = UINT64_C(0x7ff8000000000000);
    if (answer->kind == ZF_Q_MASK) ZF_TRY(spread_mask(answer, error));
    unsigned unused = zf_kind_is_signed(type.kind) ? 64 - zf_kind_bits(type.kind) : 0;
    for (uint64_t k = 0; k < answer->count; k++) {
        uint64_t *word = &answer->words[k];
        if (type.kind == ZF_K_F32) {
            float narrow;
            uint32_t bits = (uint32_t)*word;
            memcpy(&narrow, &bits, sizeof narrow);
            *word = word_of((double)narrow);
        }
        if (zf_kind_is_float(type.kind) && float_of(*word) != float_of(*word)) *word = nan;
        if (unused > 0) *word = (uint64_t)((int64_t)(*word << unused) >> unused);
    }
    answer->final = true;
    return ZF_OK;
}

zf_status zf_query_hold_finish(const zf_query_holding *holding, zf_error *error) {
    for (size_t k = 0; k < holding->answers->count; k++) {
        zf_query_answer *answer = &holding->answers->items[k];
        if (answer->kind == ZF_Q_SELECT) ZF_TRY(spread_column(holding, k, error));
        ZF_TRY(zf_query_answer_finish(answer, holding->query->results[k].type, error));
    }
    return ZF_OK;
}

void zf_query_hold_free(zf_query_holding *holding) {
    for (size_t k = 0; holding->held != NULL && k < holding->query->result_count; k++) free(holding->held[k].lanes);
    free(holding->held);
    free(holding->selected.words);
    *holding = (zf_query_holding){0};
}
