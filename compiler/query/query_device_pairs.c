// The pairs of a query on an accelerator: its kernels know a pair by its number among all.
#include <pthread.h>
#include <stdlib.h>

#include "compiler/compiler.h"
#include "compiler/program.h"
#include "compiler/query/query_device.h"
#include "runtime/base/error_codes.h"

enum { PAIRS_AT_ONCE = 1 << 27 }; // of a launch with squares: each has a sum of 8 bytes

static zf_status make(zf_query_pairs *p, const zf_query_running *r, zf_error *error) {
    if (p->function != NULL) return ZF_OK;
    pthread_mutex_lock(&r->program->lock);
    zf_status status = zf_codegen_query_bounds(zf_compiler_jit(r->program->compiler), r->query, &p->function, &p->code, error);
    pthread_mutex_unlock(&r->program->lock);
    return status;
}

static zf_status refuse_many(const zf_query_running *r, zf_error *error) {
    return zf_raise(error, ZF_E_TOO_LARGE, "`%s` has more pairs than a device runs: 2^26 first numbers, 2^62 pairs",
                    r->query->name);
}

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the pairs of a query"); }

// A row behind the last one, which has all pairs before it.
static bool end_rows(zf_query_domain *domain) {
    if (domain->count == domain->room) {
        zf_query_pair_row *grown = realloc(domain->rows, (domain->room + 1) * sizeof *grown);
        if (grown == NULL) return false;
        domain->rows = grown;
        domain->room++;
    }
    domain->rows[domain->count] = (zf_query_pair_row){domain->pairs, 0};
    return true;
}

// ---- Squares --------------------------------------------------------------------------------------------------

// The least second number of rows from..to - 1, and how many squares reach from there to the largest. UINT64_MAX: too many.
static uint64_t squares_of(const zf_query_domain *domain, uint64_t from, uint64_t to, uint64_t *lo) {
    uint64_t hi = 0;
    *lo = UINT64_MAX;
    for (uint64_t k = from; k < to; k++) {
        const zf_query_pair_row *row = &domain->rows[k];
        uint64_t pairs = row[1].before - row->before, last = row->lo + pairs - 1;
        if (pairs == 0) continue;
        if (last < row->lo) return UINT64_MAX;
        if (row->lo < *lo) *lo = row->lo;
        if (last > hi) hi = last;
    }
    return *lo > hi ? 0 : (hi - *lo) / ZF_QUERY_SQUARE + 1;
}

static bool list_groups(zf_query_pairs *p) {
    const zf_query_domain *domain = &p->domain;
    p->group_count = (domain->count + ZF_QUERY_SQUARE - 1) / ZF_QUERY_SQUARE;
    if (p->group_count > p->group_room) {
        free(p->groups);
        p->groups = calloc(p->group_count, sizeof *p->groups);
        p->group_room = p->groups != NULL ? p->group_count : 0;
    }
    return p->group_count == 0 || p->groups != NULL;
}

// Squares are worth their pairs where one of 16 exists.
static bool choose_squares(zf_query_pairs *p) {
    enum { FEWEST = ZF_QUERY_SQUARE * ZF_QUERY_SQUARE / 16 };
    const zf_query_domain *domain = &p->domain;
    uint64_t most = domain->pairs / FEWEST;
    p->square_count = 0;
    for (uint64_t g = 0; g < p->group_count; g++) {
        uint64_t from = g * ZF_QUERY_SQUARE, to = from + ZF_QUERY_SQUARE, lo;
        uint64_t squares = squares_of(domain, from, to < domain->count ? to : domain->count, &lo);
        uint64_t pairs = domain->rows[to < domain->count ? to : domain->count].before - domain->rows[from].before;
        if (squares > most - p->square_count || pairs > PAIRS_AT_ONCE) return false; // a launch has a group at least
        p->groups[g] = (zf_query_pair_row){p->square_count, lo};
        p->square_count += squares;
    }
    return p->square_count > 0;
}

zf_query_segment zf_query_pairs_launch(zf_query_pairs *p, const zf_query_running *r, uint64_t begin) {
    const zf_query_domain *domain = &p->domain;
    uint64_t limit = r->request->pairs_at_once != 0 ? r->request->pairs_at_once : PAIRS_AT_ONCE;
    zf_query_segment segment = {.begin = begin, .end = domain->pairs};
    if (!p->squares) return segment;
    uint64_t g = 0, next;
    while (g + 1 < p->group_count && domain->rows[(g + 1) * ZF_QUERY_SQUARE].before <= begin) g++;
    segment.first_square = p->groups[g].before;
    for (segment.end = begin; g < p->group_count; g++, segment.end = next) {
        uint64_t row = (g + 1) * ZF_QUERY_SQUARE;
        next = domain->rows[row < domain->count ? row : domain->count].before;
        if (segment.end > begin && next - begin > limit) break;
    }
    segment.squares = (g < p->group_count ? p->groups[g].before : p->square_count) - segment.first_square;
    if (segment.end - begin > p->sums) p->sums = segment.end - begin;
    return segment;
}

// ---- Runs -----------------------------------------------------------------------------------------------------

zf_status zf_query_pairs_find(zf_query_pairs *p, const zf_query_running *r, bool *failed, zf_error *error) {
    ZF_TRY(make(p, r, error));
    p->domain.first = p->domain.count = p->domain.pairs = 0;
    zf_query_frame frame = {.streams = r->streams, .params = r->params, .held = r->holding.held, .domain = &p->domain};
    p->function(&frame);
    *failed = frame.violation != 0;
    if (frame.violation == ZF_QUERY_TOO_MANY) return refuse_many(r, error);
    if (frame.violation == ZF_QUERY_NO_MEMORY || !end_rows(&p->domain)) return no_memory(error);
    bool squares = zf_codegen_query_squares(r->query);
    if (squares && !list_groups(p)) return no_memory(error);
    p->squares = squares && choose_squares(p);
    p->sums = 0;
    return ZF_OK;
}

static uint64_t row_bytes(const zf_query_pairs *p) {
    return p->domain.rows == NULL ? 0 : (p->domain.count + 1) * sizeof *p->domain.rows;
}

static uint64_t group_bytes(const zf_query_pairs *p) { return p->squares ? p->group_count * sizeof *p->groups : 0; }

zf_status zf_query_pairs_place(zf_query_pairs *p, uint64_t *next, zf_error *error) {
    ZF_TRY(zf_query_place(next, row_bytes(p), &p->at, error));
    return zf_query_place(next, group_bytes(p), &p->groups_at, error);
}

uint64_t zf_query_pairs_sum_bytes(const zf_query_pairs *p) { return p->squares ? p->sums * sizeof(uint64_t) : 0; }

zf_status zf_query_pairs_place_sums(zf_query_pairs *p, uint64_t *next, zf_error *error) {
    return zf_query_place(next, zf_query_pairs_sum_bytes(p), &p->sums_at, error);
}

zf_status zf_query_pairs_copy(const zf_query_pairs *p, zf_accelerator *accelerator, void *stream, uint64_t base,
                              zf_error *error) {
    const zf_accelerator_ops *ops = accelerator->ops;
    if (row_bytes(p) > 0) ZF_TRY(ops->copy_in(accelerator, stream, base + p->at, p->domain.rows, row_bytes(p), error));
    if (group_bytes(p) == 0) return ZF_OK;
    return ops->copy_in(accelerator, stream, base + p->groups_at, p->groups, group_bytes(p), error);
}

void zf_query_pairs_frame(const zf_query_pairs *p, const zf_query_segment *segment, uint64_t base, zf_query_launch *launch) {
    launch->firsts = base + p->at;
    launch->first_count = p->domain.count;
    launch->first = p->domain.first;
    launch->groups = base + p->groups_at;
    launch->group_count = p->group_count;
    launch->first_square = segment->first_square;
    launch->squares = segment->squares;
    launch->sums = p->sums_at;
}

uint64_t zf_query_pairs_first(const zf_query_pairs *p, uint64_t number) {
    uint64_t low = 0, high = p->domain.count;
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;
        if (p->domain.rows[middle].before <= number)
            low = middle;
        else
            high = middle;
    }
    return p->domain.first + low;
}

void zf_query_pairs_free(zf_query_pairs *p, zf_program *program) {
    if (p->code != NULL) zf_jit_unload(zf_compiler_jit(program->compiler), p->code);
    free(p->domain.rows);
    free(p->groups);
}
