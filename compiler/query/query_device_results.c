// Results of a query in an accelerator's memory, and how they come from there.
#include <stdlib.h>
#include <string.h>

#include "compiler/query/query_device_inside.h"
#include "runtime/base/error_codes.h"

// ---- Results --------------------------------------------------------------------------------------------------

static zf_status place_one(zf_query_device *d, size_t k, uint64_t *next, zf_error *error) {
    const zf_query_answer *answer = &d->running->holding.answers->items[k];
    const zf_query_result *result = &d->running->query->results[k];
    zf_query_placed *at = &d->placed[k];
    bool selects = answer->kind == ZF_Q_SELECT, mask = answer->kind == ZF_Q_MASK;
    uint64_t elements = selects ? d->selected : zf_query_sums_floats(result) ? answer->count * d->tiles : answer->count;
    at->word_bytes = mask ? 0 : elements * sizeof(uint64_t);
    at->touched_bytes = selects ? 0 : mask ? d->end - d->first : answer->count * sizeof(uint32_t);
    ZF_TRY(zf_query_place(next, at->word_bytes, &at->words, error));
    return zf_query_place(next, at->touched_bytes, &at->touched, error);
}

// Elements that do not begin as 0.
static zf_status begin_words(zf_query_device *d, size_t k, zf_error *error) {
    const zf_query_answer *answer = &d->running->holding.answers->items[k];
    bool is_signed = answer->type.element == ZF_I64, least = answer->kind == ZF_Q_MIN;
    uint64_t word = answer->kind == ZF_Q_ALL ? 1 : is_signed ? (uint64_t)INT64_MAX : UINT64_MAX;
    if (answer->kind == ZF_Q_MAX) word = is_signed ? (uint64_t)INT64_MIN : 0;
    if (!least && answer->kind != ZF_Q_MAX && answer->kind != ZF_Q_ALL) return ZF_OK;
    uint64_t *words = malloc(answer->count * sizeof *words + 1);
    if (words == NULL) return zf_query_device_no_memory(error);
    for (uint64_t e = 0; e < answer->count; e++) words[e] = word;
    zf_status status = d->ops->copy_in(d->accelerator, d->stream, d->results.address + d->placed[k].words, words,
                                       answer->count * sizeof *words, error);
    if (status == ZF_OK) status = d->ops->wait(d->accelerator, d->stream, error);
    free(words);
    return status;
}

zf_status zf_query_results_clear(zf_query_device *d, zf_error *error) {
    uint64_t behind = d->pairs.sums_at + zf_query_pairs_sum_bytes(&d->pairs), all = d->results.bytes;
    if (all > behind) ZF_TRY(d->ops->fill(d->accelerator, d->stream, d->results.address + behind, 0, all - behind, error));
    for (size_t k = 0; k < d->running->query->result_count; k++) ZF_TRY(begin_words(d, k, error));
    uint64_t bytes = d->running->query->selected_count > 0 ? d->tiles * sizeof(uint64_t) : 0;
    if (bytes == 0) return ZF_OK;
    ZF_TRY(d->ops->copy_in(d->accelerator, d->stream, d->results.address + d->prefix, d->tile_counts, bytes, error));
    return d->ops->wait(d->accelerator, d->stream, error);
}

// Makes room for all results. Keeps what squares left while rows of `select` were counted: their failures, and behind these
// their sums.
static zf_status grow_results(zf_query_device *d, uint64_t bytes, zf_error *error) {
    zf_query_memory old = d->results;
    if (old.room >= bytes) return zf_query_device_room(d, &d->results, bytes, error);
    uint64_t kept = d->pairs.sums_at + zf_query_pairs_sum_bytes(&d->pairs);
    d->results = (zf_query_memory){0};
    zf_status status = zf_query_device_room(d, &d->results, bytes, error);
    if (status == ZF_OK) status = d->ops->copy_within(d->accelerator, d->stream, d->results.address, old.address, kept, error);
    if (status == ZF_OK) status = d->ops->wait(d->accelerator, d->stream, error);
    d->ops->release(d->accelerator, old.address);
    return status;
}

static zf_status clear_failures(zf_query_device *d, zf_error *error) {
    return d->ops->fill(d->accelerator, d->stream, d->results.address, 0xff, sizeof d->failures, error);
}

zf_status zf_query_results_begin(zf_query_device *d, zf_error *error) {
    uint64_t next = sizeof d->failures, tile_bytes = d->tiles * sizeof(uint64_t);
    size_t count = d->running->query->result_count;
    ZF_TRY(zf_query_pairs_place_sums(&d->pairs, &next, error));
    for (size_t k = 0; k < count; k++) ZF_TRY(place_one(d, k, &next, error));
    bool selects = d->running->query->selected_count > 0;
    ZF_TRY(zf_query_place(&next, selects ? tile_bytes : 0, &d->prefix, error));
    ZF_TRY(zf_query_place(&next, selects ? tile_bytes : 0, &d->counts, error)); // which a repetition counts again
    bool keeps = zf_query_device_keeps_sums(d);
    ZF_TRY(keeps ? grow_results(d, next, error) : zf_query_device_room(d, &d->results, next, error));
    if (!keeps) ZF_TRY(clear_failures(d, error));
    return zf_query_results_clear(d, error);
}

zf_status zf_query_results_fetch(zf_query_device *d, uint64_t at, void *to, uint64_t bytes, zf_error *error) {
    if (bytes == 0) return ZF_OK;
    ZF_TRY(d->ops->copy_out(d->accelerator, d->stream, to, d->results.address + at, bytes, error));
    return d->ops->wait(d->accelerator, d->stream, error);
}

static void add_tiles(const zf_query_device *d, const double *tiles, zf_query_answer *answer) {
    for (uint64_t e = 0; e < answer->count; e++) {
        double sum = 0;
        for (uint64_t t = 0; t < d->tiles; t++) sum += tiles[t * answer->count + e];
        memcpy(&answer->words[e], &sum, sizeof sum);
    }
}

// Elements that no row gave a value have none of the result's own.
static void take_touched(zf_query_answer *answer, const uint32_t *touched) {
    bool keyed = answer->kind != ZF_Q_SET && answer->type.element == ZF_F64;
    for (uint64_t e = 0; e < answer->count; e++) {
        answer->touched[e] = touched[e] != 0;
        if (keyed) answer->words[e] = zf_query_float_bits(answer->words[e]);
        if (touched[e] == 0) answer->words[e] = 0;
    }
}

static zf_status take_column(zf_query_device *d, size_t k, zf_error *error) {
    zf_query_answer *answer = &d->running->holding.answers->items[k];
    free(answer->words); // of a fetch that failed
    answer->words = malloc((answer->count + 1) * sizeof *answer->words);
    if (answer->words == NULL) return zf_query_device_no_memory(error);
    return zf_query_results_fetch(d, d->placed[k].words, answer->words, d->placed[k].word_bytes, error);
}

static zf_status take_result(zf_query_device *d, size_t k, zf_error *error) {
    zf_query_answer *answer = &d->running->holding.answers->items[k];
    const zf_query_placed *at = &d->placed[k];
    uint64_t before = d->first - d->running->first; // rows that are not here are false
    if (answer->kind == ZF_Q_MASK)
        return zf_query_results_fetch(d, at->touched, answer->touched + before, at->touched_bytes, error);
    if (answer->kind == ZF_Q_SELECT) return take_column(d, k, error);
    bool given = answer->kind == ZF_Q_MIN || answer->kind == ZF_Q_MAX || answer->kind == ZF_Q_SET;
    bool floats = zf_query_sums_floats(&d->running->query->results[k]);
    void *other = malloc((floats ? at->word_bytes : at->touched_bytes) + 1);
    if (other == NULL) return zf_query_device_no_memory(error);
    zf_status status = zf_query_results_fetch(d, at->words, floats ? other : answer->words, at->word_bytes, error);
    if (status == ZF_OK && given) status = zf_query_results_fetch(d, at->touched, other, at->touched_bytes, error);
    if (status == ZF_OK && given) take_touched(answer, other);
    if (status == ZF_OK && floats) add_tiles(d, other, answer);
    free(other);
    return status;
}

zf_status zf_query_device_fetch(zf_query_device *d, size_t result, zf_error *error) {
    ZF_TRY(take_result(d, result, error));
    return zf_query_answer_finish(&d->running->holding.answers->items[result], d->running->query->results[result].type, error);
}

// The kernel that makes the elements of a result, or its validity; ZF_QUERY_FINALS: its words are the elements.
static zf_query_final final_of(const zf_query_answer *answer, bool validity) {
    static const zf_query_final forms[] = {
        [ZF_U8] = ZF_QUERY_FINAL_8,   [ZF_I8] = ZF_QUERY_FINAL_8,   [ZF_U16] = ZF_QUERY_FINAL_16,   [ZF_I16] = ZF_QUERY_FINAL_16,
        [ZF_U32] = ZF_QUERY_FINAL_32, [ZF_I32] = ZF_QUERY_FINAL_32, [ZF_F32] = ZF_QUERY_FINAL_F32,  [ZF_F64] = ZF_QUERY_FINAL_F64,
        [ZF_U64] = ZF_QUERY_FINALS,   [ZF_I64] = ZF_QUERY_FINALS,   [ZF_BOOL] = ZF_QUERY_FINAL_BITS};
    bool extreme = answer->kind == ZF_Q_MIN || answer->kind == ZF_Q_MAX;
    if (validity) return ZF_QUERY_FINAL_TOUCHED;
    if (answer->kind == ZF_Q_MASK) return ZF_QUERY_FINAL_BYTE_BITS;
    if (extreme) return answer->type.element == ZF_F64 ? ZF_QUERY_FINAL_EXTREME_F64 : ZF_QUERY_FINAL_EXTREME;
    return forms[answer->type.element];
}

bool zf_query_device_puts(const zf_query_device *d, size_t result) {
    return !zf_query_sums_floats(&d->running->query->results[result]);
}

zf_status zf_query_device_put(zf_query_device *d, size_t result, bool validity, uint64_t to, uint64_t bytes, void *stream,
                              zf_error *error) {
    const zf_query_answer *answer = &d->running->holding.answers->items[result];
    const zf_query_placed *at = &d->placed[result];
    zf_query_final form = final_of(answer, validity);
    if (form != ZF_QUERY_FINALS) {
        zf_query_final_frame frame = {.words = at->words, .touched = at->touched, .count = answer->count};
        return zf_query_final_run(&d->finals, d->running->program, d->accelerator, stream, &d->results, form, &frame, to, bytes,
                                  error);
    }
    ZF_TRY(d->ops->copy_within(d->accelerator, stream, to, d->results.address + at->words, bytes, error));
    return d->ops->wait(d->accelerator, stream, error);
}
