// A query on a CPU: its columns are decoded in batches of rows, and its function runs over each; or it runs over pairs.
#include "compiler/query/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/program.h"
#include "compiler/query/query_running.h"
#include "compiler/query/query_threads.h"
#include "frontend/check/walk.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container.h"

typedef unsigned long long ull;

enum { LEAST_BATCH = 1 << 17, MOST_BATCH = 1 << 20, ALIGNMENT = 64 }; // rows decoded at a time: whole tiles
#define NO_NUMBER UINT64_MAX                                          // of a pair, where a bound failed before there was one

typedef zf_query_batch_column column;
typedef zf_query_running running;

// ---- Columns --------------------------------------------------------------------------------------------------

static zf_status refuse_type(const zf_query *query, const zf_column *wanted, const zf_column_info *info, zf_error *error) {
    zf_arena *arena = zf_arena_create();
    if (arena == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a message");
    zf_status status = zf_raise(error, ZF_E_UNKNOWN_COLUMN, "`%s` reads the column `%s` as %s, and the container has it as %s",
                                query->name, wanted->name, zf_type_name(arena, wanted->type), info->type_name);
    zf_arena_destroy(arena);
    return status;
}

zf_status zf_query_find_columns(running *r, uint64_t *rows, zf_error *error) {
    const zf_query *query = r->query;
    for (uint32_t k = 0; k < query->column_count; k++) {
        const zf_column *wanted = query->columns[k];
        zf_column_info info = {ZF_INIT(zf_column_info)};
        zf_error none;
        if (zf_container_find(r->container, wanted->name, &r->columns[k].index, &none) != ZF_OK)
            return zf_raise(error, ZF_E_UNKNOWN_COLUMN, "`%s` reads a column `%s`, which the container does not have",
                            query->name, wanted->name);
        ZF_TRY(zf_container_column(r->container, r->columns[k].index, &info, error));
        if (info.part != ZF_LIST_NONE || !zf_column_type_same(info.type, zf_column_type_of(wanted->type)))
            return refuse_type(query, wanted, &info, error);
        *rows = info.rows;
    }
    for (size_t k = 0; query->column_count == 0 && k < zf_container_columns(r->container); k++) {
        zf_column_info info = {ZF_INIT(zf_column_info)};
        ZF_TRY(zf_container_column(r->container, k, &info, error));
        if (info.part == ZF_LIST_VALUES) continue;
        *rows = info.rows;
        break;
    }
    return ZF_OK;
}

// Rows of the longest block of strings, or of other elements. 0: there is none of whole tiles.
static uint64_t longest_block(const running *r, bool strings) {
    uint64_t rows = 0;
    for (uint32_t k = 0; k < r->query->column_count; k++) {
        zf_column_info info = {ZF_INIT(zf_column_info)};
        if (zf_container_column(r->container, r->columns[k].index, &info, NULL) != ZF_OK) continue;
        bool fits = (info.type.element == ZF_STRING) == strings && info.rows_per_block % ZF_QUERY_TILE == 0;
        if (fits && info.rows_per_block > rows) rows = info.rows_per_block;
    }
    return rows;
}

// Blocks are read whole for any of their rows, those of strings once more for where the rows begin and end: batches are blocks.
void zf_query_choose_batch(running *r) {
    uint64_t rows = longest_block(r, true);
    if (rows == 0) rows = longest_block(r, false);
    r->batch = rows < LEAST_BATCH ? LEAST_BATCH : rows > MOST_BATCH ? MOST_BATCH : rows;
}

static bool grow(void *pointer, size_t *have, size_t need) {
    void **at = pointer;
    if (need <= *have && *at != NULL) return true;
    free(*at);
    size_t bytes = (need + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    *at = aligned_alloc(ALIGNMENT, bytes);
    *have = *at != NULL ? bytes : 0;
    return *at != NULL;
}

static zf_status decode_column(running *r, uint32_t k, uint64_t begin, uint64_t count, zf_error *error) {
    column *c = &r->columns[k];
    zf_decode_options options = {ZF_INIT(zf_decode_options), .some_rows = true, .row_begin = begin, .row_count = count,
                                 .threads = r->request->threads};
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    ZF_TRY(zf_decode_size(r->container, c->index, &options, &sizes, error));
    bool room = grow(&c->values, &c->sizes.values, sizes.values) && grow(&c->workspace, &c->sizes.workspace, sizes.workspace) &&
                grow(&c->offsets, &c->sizes.offsets, sizes.offsets) && grow(&c->validity, &c->sizes.validity, sizes.validity);
    if (!room) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the rows of a query");
    zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .values = c->values,       .offsets = c->offsets,
                                 .validity = c->validity,    .workspace = c->workspace, ZF_DECODE_BYTES(c->sizes)};
    ZF_TRY(zf_decode(r->container, c->index, "cpu", &options, &buffers, NULL, error));
    r->streams[r->query->input_count + k] =
        (zf_query_stream){.values = c->values, .validity = c->validity, .offsets = c->offsets, .length = count};
    return ZF_OK;
}

// ---- Rows -----------------------------------------------------------------------------------------------------

typedef struct place {
    uint64_t wanted;
    zf_span found;
} place;

static bool look_at_expr(zf_visitor *visitor, zf_expr *expr) {
    place *p = visitor->user;
    if (zf_codegen_query_place(expr->span) == p->wanted) p->found = expr->span;
    return p->found.source == NULL;
}

static bool look_at_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    place *p = visitor->user;
    if (zf_codegen_query_place(stmt->span) == p->wanted) p->found = stmt->span;
    return p->found.source == NULL;
}

static void name_domain(const running *r, const zf_query_frame *frame, char *out, size_t room) {
    if (r->query->pairs == NULL)
        snprintf(out, room, "row %llu", (ull)frame->row);
    else if (frame->pair[0] == NO_NUMBER)
        snprintf(out, room, "before the first pair");
    else if (frame->pair[1] == NO_NUMBER)
        snprintf(out, room, "pairs of %llu", (ull)frame->pair[0]);
    else
        snprintf(out, room, "pair %llu, %llu", (ull)frame->pair[0], (ull)frame->pair[1]);
}

zf_status zf_query_name_violation(const running *r, const zf_query_frame *frame, zf_error *error) {
    if (frame->violation == ZF_QUERY_NO_MEMORY)
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the rows that a query selects");
    place p = {.wanted = frame->place};
    zf_visitor visitor = {.user = &p, .expr = look_at_expr, .stmt = look_at_stmt};
    zf_visit_body(&visitor, &r->query->inst->decode);
    for (uint32_t k = 0; r->query->pairs != NULL && k < 2; k++) {
        zf_visit_expr(&visitor, r->query->pairs[k].lo);
        zf_visit_expr(&visitor, r->query->pairs[k].hi);
    }
    unsigned violation = (unsigned)frame->violation;
    zf_runtime_code code = zf_violation_code(violation);
    zf_status status = zf_raise(error, code, "V%02u in the query `%s`", violation, r->query->name);
    char domain[80];
    name_domain(r, frame, domain, sizeof domain);
    if (p.found.source == NULL) return zf_fail_place(error, status, "%s", domain);
    zf_position at = zf_source_position(p.found.source, p.found.begin);
    return zf_fail_place(error, status, "%s, %s:%u:%u", domain, p.found.source->path, at.line, at.column);
}

static zf_status run_batch(running *r, zf_query_workers *workers, uint64_t begin, uint64_t end, zf_error *error) {
    zf_query_hold_rows(&r->holding, begin - r->first);
    if (workers != NULL) return zf_query_workers_run(workers, begin, end, error);
    zf_query_frame frame = {.streams = r->streams,
                            .params = r->params,
                            .held = r->holding.held,
                            .selected = &r->holding.selected,
                            .first_row = begin};
    uint64_t row = begin;
    while (row < end) {
        uint64_t tile_end = (row / ZF_QUERY_TILE + 1) * ZF_QUERY_TILE;
        uint64_t stop = r->holding.sums_floats && tile_end < end ? tile_end : end;
        frame.begin = row - begin;
        frame.end = stop - begin;
        r->function(&frame);
        if (frame.violation != 0) return zf_query_name_violation(r, &frame, error);
        if (r->holding.sums_floats) zf_query_hold_tile(&r->holding);
        row = stop;
    }
    return ZF_OK;
}

uint64_t zf_query_input_bytes(const running *r, uint32_t k) {
    zf_kind kind = r->query->inst->streams[k]->type.kind;
    uint64_t length = r->streams[k].length;
    return kind == ZF_K_BOOL ? length / 8 : length * zf_kind_size(kind);
}

zf_status zf_query_begin_zones(running *r, zf_error *error) {
    zf_query_zones_free(&r->zones);
    bool no_skip = r->request->no_skip || r->all_rows;
    return zf_query_zones_make(r->query, r->container, r->params, r->streams, no_skip, &r->zones, error);
}

void zf_query_count_skipped(const running *r) {
    r->holding.answers->rows_skipped = r->end - r->first - r->zones.rows_read;
    r->holding.answers->bytes_skipped = zf_query_zones_skipped_bytes(&r->zones, r->first, r->end);
}

static zf_status run_pairs(running *r, zf_error *error) {
    zf_query_frame frame = {.streams = r->streams,
                            .params = r->params,
                            .held = r->holding.held,
                            .selected = &r->holding.selected,
                            .begin = r->first_pairs,
                            .pair = {NO_NUMBER, NO_NUMBER}};
    r->function(&frame);
    r->holding.answers->rows = frame.row;
    return frame.violation == 0 ? ZF_OK : zf_query_name_violation(r, &frame, error);
}

static zf_status run_batches(running *r, zf_query_workers *workers, zf_error *error) {
    uint64_t next;
    for (uint64_t row = r->first; row < r->end; row = next) {
        next = (row / r->batch + 1) * r->batch;
        if (next > r->end) next = r->end;
        uint64_t begin = row, end = next;
        if (!zf_query_zones_narrow(&r->zones, &begin, &end)) continue;
        zf_query_zones_note(&r->zones, begin, end);
        for (uint32_t k = 0; k < r->query->column_count; k++) ZF_TRY(decode_column(r, k, begin, end - begin, error));
        ZF_TRY(run_batch(r, workers, begin, end, error));
    }
    return ZF_OK;
}

static bool sets(const zf_query *query) {
    bool any = false;
    for (uint32_t k = 0; k < query->result_count; k++) any = any || query->results[k].kind == ZF_Q_SET;
    return any;
}

static zf_status begin_anew(running *r, zf_error *error) {
    zf_query_answers *answers = r->holding.answers;
    zf_query_hold_free(&r->holding);
    zf_query_answers_free(answers);
    ZF_TRY(zf_query_hold(r->query, r->params, r->end - r->first, answers, &r->holding, error));
    return zf_query_begin_zones(r, error);
}

// Workers do not see the values that others give to a `set`. Which row fails first, one thread finds.
static zf_status run_rows(running *r, zf_error *error) {
    zf_query_workers *workers;
    ZF_TRY(zf_query_begin_zones(r, error));
    zf_status status = zf_query_workers_open(r, &workers, error);
    if (status == ZF_OK) status = run_batches(r, workers, error);
    bool joined = status != ZF_OK || workers == NULL || zf_query_workers_join(workers);
    bool alone = workers != NULL && sets(r->query) && (!joined || status == ZF_ERR_INPUT);
    zf_query_workers_close(workers);
    if (alone) status = begin_anew(r, error);
    if (alone && status == ZF_OK) status = run_batches(r, NULL, error);
    if (status == ZF_OK) zf_query_count_skipped(r);
    return status;
}

zf_status zf_query_make_function(running *r, zf_error *error) {
    if (r->function != NULL) return ZF_OK;
    pthread_mutex_lock(&r->program->lock);
    zf_status status = zf_codegen_query_build(zf_compiler_jit(r->program->compiler), r->query, &r->function, &r->code, error);
    pthread_mutex_unlock(&r->program->lock);
    return status;
}

zf_status zf_query_run_cpu(running *r, zf_error *error) {
    ZF_TRY(zf_query_make_function(r, error));
    return r->query->pairs != NULL ? run_pairs(r, error) : run_rows(r, error);
}

void zf_query_free_batches(running *r) {
    zf_query_zones_free(&r->zones);
    for (uint32_t k = 0; r->columns != NULL && k < r->query->column_count; k++) {
        free(r->columns[k].values);
        free(r->columns[k].workspace);
        free(r->columns[k].offsets);
        free(r->columns[k].validity);
    }
}
