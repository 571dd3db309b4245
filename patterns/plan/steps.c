#include "patterns/plan/steps.h"

#include "frontend/check/checker.h"
#include "frontend/check/walk.h"
#include "frontend/match/match.h"

typedef struct counting {
    const zf_plan *plan;
    const zf_graph_node *node;
    const zf_steps *known; ///< of the nodes behind it
    uint64_t times;        ///< how often the place at hand is reached
    uint64_t total;
} counting;

static uint64_t product(uint64_t a, uint64_t b) {
    uint64_t out;
    return __builtin_mul_overflow(a, b, &out) || out > ZF_STEPS_MOST ? ZF_STEPS_MOST : out;
}

static void add(counting *c, uint64_t steps) {
    c->total += product(c->times, steps);
    if (c->total > ZF_STEPS_MOST) c->total = ZF_STEPS_MOST;
}

/// Begins a part that runs `trips` times; returns the previous `times`.
static uint64_t enter(counting *c, uint64_t trips) {
    uint64_t before = c->times;
    add(c, trips);
    c->times = product(before, trips);
    return before;
}

/// Elements of a sequence; those of which only the checker knows that they are few enough for a loop.
static uint64_t length_of(const zf_expr *sequence) {
    if (sequence->kind == ZF_X_TABLE) return sequence->table->length;
    if (sequence->kind == ZF_X_LOCAL && sequence->local->kind == ZF_L_ARRAY) return sequence->local->length;
    return ZF_LOOP_TRIP_LIMIT;
}

static bool count_expr(zf_visitor *visitor, zf_expr *expr) {
    counting *c = visitor->user;
    if (expr->kind == ZF_X_LEN) return expr->a->kind != ZF_X_STREAM;
    if (expr->kind == ZF_X_STREAM) {
        uint32_t edge = c->node->inputs[expr->port->slot];
        int32_t producer = c->plan->graph->edges[edge].producer;
        if (producer >= 0 && c->plan->edge_work[edge] < 0) add(c, c->known[producer].decode);
        return true;
    }
    if (expr->kind == ZF_X_MINMAX) add(c, length_of(expr->a));
    if (expr->reduce == NULL) return true;
    // Scans go on from the element before, prefix sums are looked up: a term an element.
    uint64_t trips = 1, before;
    bool loop = expr->reduce->form == ZF_R_UNROLLED || expr->reduce->form == ZF_R_LOOP;
    for (uint32_t b = 0; b < expr->reduce->binder_count; b++) {
        zf_visit_expr(visitor, expr->reduce->binders[b].lo);
        zf_visit_expr(visitor, expr->reduce->binders[b].hi);
        if (loop) trips = product(trips, zf_trip_bound(&expr->reduce->binders[b]));
    }
    before = enter(c, trips);
    zf_visit_expr(visitor, expr->reduce->term);
    c->times = before;
    return false;
}

static bool count_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    enum { CLEARED = 64 }; // bytes of an array that are cleared in a step
    counting *c = visitor->user;
    if (stmt->kind == ZF_S_VAR && stmt->local->kind == ZF_L_ARRAY) {
        add(c, stmt->local->length * zf_kind_size(stmt->local->type.kind) / CLEARED);
    }
    if (stmt->kind != ZF_S_FOR_RANGE && stmt->kind != ZF_S_FOR_EACH) return true;
    uint64_t trips = stmt->kind == ZF_S_FOR_RANGE ? zf_trip_bound(&stmt->binder) : length_of(stmt->value);
    zf_visit_expr(visitor, stmt->value);
    zf_visit_expr(visitor, stmt->binder.lo);
    zf_visit_expr(visitor, stmt->binder.hi);
    // Longer loops are refused where elements are decoded.
    uint64_t before = enter(c, trips < ZF_LOOP_TRIP_LIMIT ? trips : ZF_LOOP_TRIP_LIMIT);
    zf_visit_stmts(visitor, stmt->body);
    c->times = before;
    return false;
}

static uint64_t steps_of(const zf_plan *plan, uint32_t node, const zf_body *body, const zf_steps *known) {
    counting c = {.plan = plan, .node = &plan->graph->nodes[node], .known = known, .times = 1, .total = 1};
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
