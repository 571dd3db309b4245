// A query over a container: its columns are decoded in batches of rows, and its function runs over each.
#include "compiler/query/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/program.h"
#include "compiler/query/query_running.h"
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

static zf_status find_columns(running *r, uint64_t *rows, zf_error *error) {
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
static void choose_batch(running *r) {
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

static zf_status report(const running *r, const zf_query_frame *frame, zf_error *error) {
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

static zf_status run_batch(running *r, uint64_t begin, uint64_t end, zf_error *error) {
    zf_query_frame frame = {.streams = r->streams,
                            .params = r->params,
                            .held = r->holding.held,
                            .selected = &r->holding.selected,
                            .first_row = begin};
    zf_query_hold_rows(&r->holding, begin - r->first);
    uint64_t row = begin;
    while (row < end) {
        uint64_t tile_end = (row / ZF_QUERY_TILE + 1) * ZF_QUERY_TILE;
        uint64_t stop = r->holding.sums_floats && tile_end < end ? tile_end : end;
        frame.begin = row - begin;
        frame.end = stop - begin;
        r->function(&frame);
        if (frame.violation != 0) return report(r, &frame, error);
        if (r->holding.sums_floats) zf_query_hold_tile(&r->holding);
        row = stop;
    }
    return ZF_OK;
}

static zf_status begin_zones(running *r, zf_error *error) {
    zf_query_zones_free(&r->zones);
    return zf_query_zones_make(r->query, r->container, r->params, r->streams, r->request->no_skip, &r->zones, error);
}

static void count_skipped(const running *r) {
    r->holding.answers->rows_skipped = r->end - r->first - r->zones.rows_read;
    r->holding.answers->bytes_skipped = zf_query_zones_skipped_bytes(&r->zones, r->first, r->end);
}

static zf_status run_pairs(running *r, zf_error *error) {
    zf_query_frame frame = {.streams = r->streams,
                            .params = r->params,
                            .held = r->holding.held,
                            .selected = &r->holding.selected,
                            .pair = {NO_NUMBER, NO_NUMBER}};
    r->function(&frame);
    r->holding.answers->rows = frame.row;
    return frame.violation == 0 ? ZF_OK : report(r, &frame, error);
}

static zf_status run_rows(running *r, zf_error *error) {
    uint64_t next;
    ZF_TRY(begin_zones(r, error));
    for (uint64_t row = r->first; row < r->end; row = next) {
        next = (row / r->batch + 1) * r->batch;
        if (next > r->end) next = r->end;
        uint64_t begin = row, end = next;
        if (!zf_query_zones_narrow(&r->zones, &begin, &end)) continue;
        zf_query_zones_note(&r->zones, begin, end);
        for (uint32_t k = 0; k < r->query->column_count; k++) ZF_TRY(decode_column(r, k, begin, end - begin, error));
        ZF_TRY(run_batch(r, begin, end, error));
    }
    count_skipped(r);
    return ZF_OK;
}

// ---- The whole ------------------------------------------------------------------------------------------------

static zf_status choose_rows(running *r, uint64_t rows, zf_error *error) {
    const zf_query_request *request = r->request;
    r->end = rows;
    if (!request->some_rows) return ZF_OK;
    if (request->row_begin > rows || (request->row_count != UINT64_MAX && request->row_count > rows - request->row_begin))
        return zf_raise(error, ZF_E_ROW_RANGE, "rows from %llu on are beyond the %llu of the table", (ull)request->row_begin,
                        (ull)rows);
    r->first = request->row_begin;
    if (request->row_count != UINT64_MAX) r->end = r->first + request->row_count;
    return ZF_OK;
}

static zf_status run_on_cpu(running *r, zf_error *error) {
    zf_jit_code *code = NULL;
    zf_jit *jit = zf_compiler_jit(r->program->compiler);
    ZF_TRY(zf_codegen_query_build(jit, r->query, NULL, &r->function, &code, error));
    zf_status status = r->query->pairs != NULL ? run_pairs(r, error) : run_rows(r, error);
    zf_jit_unload(jit, code);
    return status;
}

// Runs the rows again of which one failed on a device, from the batch of that row on, for the error that a CPU gives.
static zf_status explain_failure(running *r, uint64_t row, zf_error *error) {
    if (row / r->batch * r->batch > r->first) r->first = row / r->batch * r->batch;
    zf_query_answers none = {0};
    zf_query_hold_end(&r->holding, false, error);
    zf_status status = zf_query_hold(r->query, r->params, r->end - r->first, &none, &r->holding, error);
    if (status == ZF_OK) status = run_on_cpu(r, error);
    zf_query_hold_end(&r->holding, false, error);
    r->holding = (zf_query_holding){0};
    zf_query_answers_free(&none);
    if (status != ZF_OK) return status;
    return zf_raise(error, ZF_E_INTERNAL, "a device reported a failure of `%s` that a CPU does not find", r->query->name);
}

// Lets masks begin `by` rows later, and have `rows` of them.
static void cut_masks(const running *r, int64_t by, uint64_t rows) {
    for (size_t k = 0; k < r->holding.answers->count; k++) {
        zf_query_answer *answer = &r->holding.answers->items[k];
        if (answer->kind != ZF_Q_MASK) continue;
        answer->touched += by;
        answer->count = rows;
    }
}

// Runs the rows from the first to the last that may matter on an accelerator.
static zf_status run_on_device(running *r, zf_accelerator *accelerator, zf_query_failure *failure, zf_error *error) {
    uint64_t first = r->first, end = r->end;
    zf_status status = ZF_OK;
    ZF_TRY(begin_zones(r, error));
    if (first < end && zf_query_zones_narrow(&r->zones, &r->first, &r->end)) {
        zf_query_zones_note(&r->zones, r->first, r->end);
        cut_masks(r, (int64_t)(r->first - first), r->end - r->first);
        status = zf_query_run_device(r, accelerator, failure, error);
        cut_masks(r, -(int64_t)(r->first - first), end - first);
    }
    r->first = first;
    r->end = end;
    count_skipped(r);
    return status;
}

static zf_status run_held(running *r, zf_accelerator *accelerator, zf_error *error) {
    zf_query_failure failure = {0};
    if (accelerator == NULL) return run_on_cpu(r, error);
    ZF_TRY(run_on_device(r, accelerator, &failure, error));
    return failure.failed ? explain_failure(r, failure.row, error) : ZF_OK;
}

// The accelerator that the request names; NULL: it names the CPU.
static zf_status find_accelerator(const running *r, zf_accelerator **out, zf_error *error) {
    zf_context *context = zf_compiler_context(r->program->compiler);
    zf_device device;
    *out = NULL;
    if (r->request->device == NULL) return ZF_OK;
    ZF_TRY(zf_device_find(context, r->request->device, &device, error));
    return device.ops->start == NULL ? ZF_OK : zf_device_accelerator(context, &device, out, error);
}

static zf_status run(running *r, zf_query_answers *out, zf_error *error) {
    uint64_t rows = 0;
    zf_accelerator *accelerator = NULL;
    ZF_TRY(find_accelerator(r, &accelerator, error));
    ZF_TRY(zf_query_params(r->query, r->request, r->params, error));
    ZF_TRY(zf_query_inputs(r->query, r->request, r->streams, error));
    if (r->query->pairs != NULL && accelerator != NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "`%s` is a query of pairs, which runs on a CPU only", r->query->name);
    if (r->query->pairs == NULL) {
        ZF_TRY(find_columns(r, &rows, error));
        ZF_TRY(choose_rows(r, rows, error));
        choose_batch(r);
    }
    zf_status status = zf_query_hold(r->query, r->params, r->end - r->first, out, &r->holding, error);
    uint64_t fetched = zf_container_fetched(r->container);
    if (status == ZF_OK) status = run_held(r, accelerator, error);
    out->bytes_read = zf_container_fetched(r->container) - fetched;
    zf_status ended = zf_query_hold_end(&r->holding, status == ZF_OK, error);
    return status != ZF_OK ? status : ended;
}

static void free_columns(running *r) {
    zf_query_zones_free(&r->zones);
    for (uint32_t k = 0; r->columns != NULL && k < r->query->column_count; k++) {
        free(r->columns[k].values);
        free(r->columns[k].workspace);
        free(r->columns[k].offsets);
        free(r->columns[k].validity);
    }
    free(r->columns);
    free(r->streams);
    free(r->params);
}

zf_status zf_query_run(zf_program *program, const char *name, zf_container *container, const zf_query_request *request,
                       zf_query_answers *out, zf_error *error) {
    *out = (zf_query_answers){0};
    const zf_query *query = program->checked ? zf_spec_find_query(program->spec, name) : NULL;
    if (query == NULL && name == NULL) return zf_raise(error, ZF_E_ARGUMENT, "name a query: the program has none, or several");
    if (query == NULL) return zf_raise(error, ZF_E_ARGUMENT, "the program has no query `%s`", name);
    if (query->pairs != NULL && (container != NULL || request->some_rows))
        return zf_raise(error, ZF_E_ARGUMENT, "`%s` is a query of pairs, which reads no container and no rows", query->name);
    if (query->pairs == NULL && container == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "`%s` reads rows of the table `%s`: give it a container", query->name,
                        query->table->name);
    running r = {.program = program, .query = query, .container = container, .request = request};
    r.columns = calloc(query->column_count + 1, sizeof *r.columns);
    r.streams = calloc((size_t)query->inst->stream_count + 1, sizeof *r.streams);
    r.params = calloc(query->inst->param_count + 1, sizeof *r.params);
    bool room = r.columns != NULL && r.streams != NULL && r.params != NULL;
    zf_status status = room ? run(&r, out, error) : zf_raise(error, ZF_E_NO_MEMORY, "no memory for a query");
    free_columns(&r);
    if (status != ZF_OK) zf_query_answers_free(out);
    return status;
}
