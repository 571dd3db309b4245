#include "patterns/plan/steps.h"

#include "frontend/check/checker.h"
#include "frontend/check/walk.h"
#include "frontend/match/match.h"

typedef struct counting {
    const zf_plan *plan;
    const zf_graph_node *node;
    const zf_steps *known; ///< of the nodes behind it
    bool chunk;            ///< a body of a chunk: its long loops are counted as they run (V10), or use up the chunk
    uint64_t times;        ///< how often the place at hand is reached, without those loops
    uint64_t pulls;        ///< the same with them
    uint64_t total;
} counting;

typedef struct around {
    uint64_t times, pulls;
} around;

static uint64_t product(uint64_t a, uint64_t b) {
    uint64_t out;
    return __builtin_mul_overflow(a, b, &out) || out > ZF_STEPS_MOST ? ZF_STEPS_MOST : out;
}

static void add_steps(counting *c, uint64_t times, uint64_t steps) {
    c->total += product(times, steps);
    if (c->total > ZF_STEPS_MOST) c->total = ZF_STEPS_MOST;
}

static void add(counting *c, uint64_t steps) { add_steps(c, c->times, steps); }

/// Begins a part that runs at most `trips` times.
static around enter(counting *c, uint64_t trips, bool counted) {
    around before = {c->times, c->pulls};
    c->pulls = product(before.pulls, trips);
    if (counted) return before;
    add(c, trips);
    c->times = product(before.times, trips);
    return before;
}

static void leave(counting *c, around before) {
    c->times = before.times;
    c->pulls = before.pulls;
}

/// Adds the steps of an element of a stream that is made where it is read.
static void add_pull(counting *c, uint64_t steps) {
    enum { SHORT = 64 }; // hardly a loop, but code of nodes behind each other: a part of the iteration that reads it
    add_steps(c, steps > SHORT ? c->pulls : c->times, steps);
}

/// Elements of a sequence; those of which only the checker knows that they are few enough for a loop.
static uint64_t length_of(const zf_expr *sequence) {
    if (sequence->kind == ZF_X_TABLE) return sequence->table->length;
    if (sequence->kind == ZF_X_LOCAL && sequence->local->kind == ZF_L_ARRAY) return sequence->local->length;
    return ZF_LOOP_TRIP_LIMIT;
}

/// How often a loop may run, at most. A stream without a length of its own has as many elements as a file says.
static uint64_t trips_of(const zf_stmt *loop) {
    if (loop->kind == ZF_S_FOR_RANGE) return zf_trip_bound(&loop->binder);
    bool any = loop->value->kind == ZF_X_STREAM && !loop->value->port->fixed;
    return any ? UINT64_MAX : length_of(loop->value);
}

static bool count_expr(zf_visitor *visitor, zf_expr *expr) {
    counting *c = visitor->user;
    if (expr->kind == ZF_X_LEN) return expr->a->kind != ZF_X_STREAM;
    if (expr->kind == ZF_X_STREAM) {
        uint32_t edge = c->node->inputs[expr->port->slot];
        int32_t producer = c->plan->graph->edges[edge].producer;
        if (producer >= 0 && c->plan->edge_work[edge] < 0) add_pull(c, c->known[producer].decode);
        return true;
    }
    if (expr->kind == ZF_X_MINMAX) add(c, length_of(expr->a));
    if (expr->reduce == NULL) return true;
    // Scans go on from the element before, prefix sums are looked up: a term an element.
    uint64_t trips = 1;
    bool loop = expr->reduce->form == ZF_R_UNROLLED || expr->reduce->form == ZF_R_LOOP;
    for (uint32_t b = 0; b < expr->reduce->binder_count; b++) {
        zf_visit_expr(visitor, expr->reduce->binders[b].lo);
        zf_visit_expr(visitor, expr->reduce->binders[b].hi);
        if (loop) trips = product(trips, zf_trip_bound(&expr->reduce->binders[b]));
    }
    around before = enter(c, trips, c->chunk && expr->reduce->form == ZF_R_LOOP);
    zf_visit_expr(visitor, expr->reduce->term);
    leave(c, before);
    return false;
}

static bool count_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    enum { CLEARED = 64 }; // bytes of an array that are cleared in a step
    counting *c = visitor->user;
    if (stmt->kind == ZF_S_VAR && stmt->local->kind == ZF_L_ARRAY) {
        add(c, stmt->local->length * zf_kind_size(stmt->local->type.kind) / CLEARED);
    }
    if (stmt->kind != ZF_S_FOR_RANGE && stmt->kind != ZF_S_FOR_EACH) return true;
    uint64_t trips = trips_of(stmt);
    zf_visit_expr(visitor, stmt->value);
    zf_visit_expr(visitor, stmt->binder.lo);
    zf_visit_expr(visitor, stmt->binder.hi);
    // Longer loops are refused where elements are decoded.
    bool counted = c->chunk && product(c->times, trips) > ZF_LOOP_TRIP_LIMIT;
    around before = enter(c, trips < ZF_LOOP_TRIP_LIMIT ? trips : ZF_LOOP_TRIP_LIMIT, counted);
    zf_visit_stmts(visitor, stmt->body);
    leave(c, before);
    return false;
}

static uint64_t steps_of(const zf_plan *plan, uint32_t node, const zf_body *body, const zf_steps *known) {
    const zf_graph_node *at = &plan->graph->nodes[node];
    bool chunk = at->inst->pattern == ZF_NON_PARALLEL && at->inst->lanes == 0;
    counting c = {.plan = plan, .node = at, .known = known, .chunk = chunk, .times = 1, .pulls = 1, .total = 1};
    zf_visitor visitor = {.user = &c, .expr = count_expr, .stmt = count_stmt};
    if (body->present) zf_visit_body(&visitor, (zf_body *)(uintptr_t)body); // only looks
    return c.total;
}

zf_steps *zf_plan_steps(zf_arena *arena, const zf_plan *plan) {
    const zf_graph *graph = plan->graph;
    zf_steps *steps = ZF_NEW_ARRAY(arena, zf_steps, graph->node_count + 1);
    for (uint32_t n = graph->node_count; n-- > 0;) { // children have higher numbers
        const zf_inst *inst = graph->nodes[n].inst;
        steps[n].decode = steps_of(plan, n, &inst->decode, steps);
        steps[n].size = steps_of(plan, n, &inst->size, steps);
        steps[n].groups = steps_of(plan, n, &inst->groups, steps);
    }
    return steps;
}
