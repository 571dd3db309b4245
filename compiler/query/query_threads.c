#include "compiler/query/query_threads.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/program.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/context/context.h"

enum { OWN_MOST = 1 << 22 }; // elements that all workers have for themselves, together

// A run of whole tiles of a batch: one for each worker, whichever thread runs it.
typedef struct slice {
    uint64_t begin, end; ///< rows of the table
    zf_query_selected selected;
} slice;

struct zf_query_workers {
    zf_query_running *running;
    unsigned threads;
    zf_query_held **held; ///< by worker and result; masks are those of the query
    slice *slices;
    uint64_t slice_count;
    uint64_t first; ///< row of the batch
    double **sums;  ///< by result, sums of floats: those of each tile of the batch
    uint64_t *room; ///< by result: tiles that `sums` has room for
    bool sums_floats;
};

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the threads of a query"); }

static size_t results_of(const zf_query_workers *w) { return w->running->holding.answers->count; }

static const zf_query_answer *answer_of(const zf_query_workers *w, size_t k) { return &w->running->holding.answers->items[k]; }

// ---- Making ---------------------------------------------------------------------------------------------------

static bool may_split(const zf_query_running *r, unsigned threads) {
    uint64_t own = 0;
    for (size_t k = 0; k < r->holding.answers->count; k++) {
        const zf_query_answer *answer = &r->holding.answers->items[k];
        if (answer->kind != ZF_Q_MASK) own += answer->count;
    }
    return own <= OWN_MOST / threads;
}

static bool make_held(const zf_query_workers *w, size_t k, zf_query_held *held) {
    const zf_query_answer *answer = answer_of(w, k);
    const zf_query_held *all = &w->running->holding.held[k];
    *held = *all; // lengths; of masks also where they are, which zf_query_hold_rows moves
    held->words = NULL;
    held->lanes = NULL;
    if (answer->kind == ZF_Q_SELECT || answer->kind == ZF_Q_MASK) return true;
    held->touched = calloc(answer->count + 1, 1);
    held->words = malloc((answer->count + 1) * sizeof *held->words);
    if (held->touched == NULL || held->words == NULL) return false;
    memcpy(held->words, all->words, answer->count * sizeof *held->words); // as they begin
    if (all->lanes == NULL) return true;
    held->lanes = calloc(answer->count * ZF_QUERY_LANES, sizeof *held->lanes);
    return held->lanes != NULL;
}

static zf_status make(zf_query_workers *w, zf_error *error) {
    size_t results = results_of(w);
    w->held = calloc(w->threads, sizeof *w->held);
    w->slices = calloc(w->threads, sizeof *w->slices);
    w->sums = calloc(results + 1, sizeof *w->sums);
    w->room = calloc(results + 1, sizeof *w->room);
    if (w->held == NULL || w->slices == NULL || w->sums == NULL || w->room == NULL) return no_memory(error);
    for (unsigned t = 0; t < w->threads; t++) {
        w->held[t] = calloc(results + 1, sizeof **w->held);
        if (w->held[t] == NULL) return no_memory(error);
        for (size_t k = 0; k < results; k++)
            if (!make_held(w, k, &w->held[t][k])) return no_memory(error);
    }
    return ZF_OK;
}

zf_status zf_query_workers_open(zf_query_running *running, zf_query_workers **out, zf_error *error) {
    zf_context *context = zf_compiler_context(running->program->compiler);
    unsigned threads = zf_context_threads(context, running->request->threads);
    *out = NULL;
    if (threads < 2 || !may_split(running, threads)) return ZF_OK;
    zf_query_workers *w = *out = calloc(1, sizeof *w);
    if (w == NULL) return no_memory(error);
    w->running = running;
    w->threads = threads;
    w->sums_floats = running->holding.sums_floats;
    return make(w, error);
}

void zf_query_workers_close(zf_query_workers *w) {
    if (w == NULL) return;
    for (unsigned t = 0; w->held != NULL && t < w->threads; t++) {
        for (size_t k = 0; w->held[t] != NULL && k < results_of(w); k++) {
            if (answer_of(w, k)->kind == ZF_Q_MASK) continue; // the query's
            free(w->held[t][k].words);
            free(w->held[t][k].touched);
            free(w->held[t][k].lanes);
        }
        free(w->held[t]);
    }
    for (size_t k = 0; w->sums != NULL && k < results_of(w); k++) free(w->sums[k]);
    for (size_t s = 0; w->slices != NULL && s < w->threads; s++) free(w->slices[s].selected.words);
    free(w->held);
    free(w->slices);
    free(w->sums);
    free(w->room);
    free(w);
}

// ---- Rows -----------------------------------------------------------------------------------------------------

static uint64_t tile_of(uint64_t row) { return row / ZF_QUERY_TILE; }

static void keep_tile(zf_query_workers *w, uint64_t worker, uint64_t tile) {
    for (size_t k = 0; k < results_of(w); k++) {
        double *lanes = w->held[worker][k].lanes;
        uint64_t count = answer_of(w, k)->count;
        if (lanes != NULL) zf_query_fold_lanes(lanes, count, w->sums[k] + (tile - tile_of(w->first)) * count);
    }
}

static zf_status run_slice(void *user, uint64_t worker, unsigned thread, zf_error *error) {
    zf_query_workers *w = user;
    (void)thread;
    zf_query_running *r = w->running;
    slice *s = &w->slices[worker];
    zf_query_frame frame = {
        .streams = r->streams, .params = r->params, .held = w->held[worker], .selected = &s->selected, .first_row = w->first};
    for (uint64_t row = s->begin, stop; row < s->end; row = stop) {
        uint64_t tile_end = (tile_of(row) + 1) * ZF_QUERY_TILE;
        stop = w->sums_floats && tile_end < s->end ? tile_end : s->end;
        frame.begin = row - w->first;
        frame.end = stop - w->first;
        r->function(&frame);
        if (frame.violation != 0) return zf_query_name_violation(r, &frame, error);
        if (w->sums_floats) keep_tile(w, worker, tile_of(row));
    }
    return ZF_OK;
}

static void cut_slices(zf_query_workers *w, uint64_t begin, uint64_t end) {
    uint64_t tile = tile_of(begin), tiles = tile_of(end - 1) + 1 - tile;
    w->slice_count = tiles < w->threads ? tiles : w->threads;
    for (uint64_t s = 0; s < w->slice_count; s++) {
        uint64_t from = (tile + s * tiles / w->slice_count) * ZF_QUERY_TILE;
        uint64_t to = (tile + (s + 1) * tiles / w->slice_count) * ZF_QUERY_TILE;
        w->slices[s].begin = from > begin ? from : begin;
        w->slices[s].end = to < end ? to : end;
        w->slices[s].selected.rows = 0;
        w->slices[s].selected.columns = w->running->holding.selected.columns;
    }
}

static zf_status make_sums(zf_query_workers *w, uint64_t tiles, zf_error *error) {
    for (size_t k = 0; k < results_of(w); k++) {
        if (w->running->holding.held[k].lanes == NULL || tiles <= w->room[k]) continue;
        free(w->sums[k]);
        w->sums[k] = calloc(tiles * answer_of(w, k)->count, sizeof **w->sums);
        w->room[k] = w->sums[k] != NULL ? tiles : 0;
        if (w->sums[k] == NULL) return no_memory(error);
    }
    return ZF_OK;
}

static zf_status append(zf_query_selected *to, const zf_query_selected *from, zf_error *error) {
    if (from->rows == 0) return ZF_OK;
    uint64_t rows = to->rows + from->rows, room = rows > 2 * to->room ? rows : 2 * to->room;
    if (rows > to->room) {
        uint64_t *grown = reallocarray(to->words, room, to->columns * sizeof *grown);
        if (grown == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the rows that a query selects");
        to->words = grown;
        to->room = room;
    }
    memcpy(to->words + to->rows * to->columns, from->words, from->rows * to->columns * sizeof *to->words);
    to->rows = rows;
    return ZF_OK;
}

// Joins sums of floats and selected rows, batch by batch.
static zf_status join_batch(zf_query_workers *w, uint64_t tiles, zf_error *error) {
    zf_query_holding *holding = &w->running->holding;
    for (size_t k = 0; k < results_of(w); k++) {
        if (holding->held[k].lanes == NULL) continue;
        uint64_t count = answer_of(w, k)->count;
        for (uint64_t t = 0; t < tiles; t++) zf_query_add_sums(holding->held[k].words, w->sums[k] + t * count, count);
    }
    for (uint64_t s = 0; s < w->slice_count; s++) ZF_TRY(append(&holding->selected, &w->slices[s].selected, error));
    return ZF_OK;
}

static void share_masks(zf_query_workers *w) {
    for (size_t k = 0; k < results_of(w); k++)
        for (unsigned t = 0; answer_of(w, k)->kind == ZF_Q_MASK && t < w->threads; t++)
            w->held[t][k].touched = w->running->holding.held[k].touched;
}

zf_status zf_query_workers_run(zf_query_workers *w, uint64_t begin, uint64_t end, zf_error *error) {
    if (begin == end) return ZF_OK;
    uint64_t tiles = tile_of(end - 1) + 1 - tile_of(begin);
    w->first = begin;
    cut_slices(w, begin, end);
    ZF_TRY(make_sums(w, tiles, error));
    share_masks(w);
    ZF_TRY(zf_parallel_try(w->threads, w->slice_count, run_slice, w, error));
    return join_batch(w, tiles, error);
}

// ---- Joining --------------------------------------------------------------------------------------------------

static bool is_less(zf_element element, uint64_t a, uint64_t b) {
    if (element == ZF_F64) return zf_query_float_key(a) < zf_query_float_key(b);
    return element == ZF_I64 ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t joined(const zf_query_answer *answer, uint64_t a, uint64_t b) {
    switch (answer->kind) {
    case ZF_Q_SUM: return a + b;
    case ZF_Q_XOR: return a ^ b;
    case ZF_Q_ANY: return a | b;
    case ZF_Q_ALL: return a & b;
    case ZF_Q_MIN: return is_less(answer->type.element, b, a) ? b : a;
    case ZF_Q_MAX: return is_less(answer->type.element, a, b) ? b : a;
    default: return a; // kept by slices, or not split
    }
}

// False: an element of a `set` has two values.
static bool join_result(const zf_query_answer *answer, const zf_query_held *from, zf_query_held *to) {
    bool set = answer->kind == ZF_Q_SET, given = set || answer->kind == ZF_Q_MIN || answer->kind == ZF_Q_MAX;
    for (uint64_t e = 0; e < answer->count; e++) {
        if (given && !from->touched[e]) continue;
        if (set && to->touched[e]) return false;
        to->words[e] = given && !to->touched[e] ? from->words[e] : joined(answer, to->words[e], from->words[e]);
        to->touched[e] = to->touched[e] || from->touched[e];
    }
    return true;
}

bool zf_query_workers_join(zf_query_workers *w) {
    zf_query_holding *holding = &w->running->holding;
    bool good = true;
    for (size_t k = 0; good && k < results_of(w); k++) {
        const zf_query_answer *answer = answer_of(w, k);
        if (answer->kind == ZF_Q_MASK || answer->kind == ZF_Q_SELECT || holding->held[k].lanes != NULL) continue;
        for (unsigned t = 0; good && t < w->threads; t++) good = join_result(answer, &w->held[t][k], &holding->held[k]);
    }
    return good;
}
