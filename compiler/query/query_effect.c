#include "compiler/query/query_effect.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/query/query_values.h"
#include "frontend/check/checker.h"

enum { MOST_ELEMENTS = 2048 };                   // of an input that are looked at for a range of rows
enum { MOST_STEPS = 1 << 16, MOST_DEPTH = 400 }; // of a walk; rows that take more may matter

typedef struct zf_effect_local {
    zf_values values;
    bool known;
    uint32_t present; ///< conditions around the place that say that it is not null
} zf_effect_local;

typedef struct walk {
    zf_query_effect *effect;
    uint64_t begin, end; ///< rows of the table
    const zf_zone *const *zones;
    zf_values *returned; ///< what the innermost call has returned so far; `some` and `null` false: nothing
    uint32_t steps, depth;
    bool matters; ///< found: a result changes or a check may fail. Then nothing else is of interest
} walk;

static zf_values eval(walk *w, const zf_expr *expr);
static void walk_stmts(walk *w, const zf_stmt *stmt);

static zf_values give_up(walk *w, zf_type type) {
    w->matters = true;
    return zf_values_all(type);
}

static void fails_unless(walk *w, bool good) { w->matters = w->matters || !good; }

// ---- Nulls ----------------------------------------------------------------------------------------------------

static bool is_column(const walk *w, const zf_expr *expr) {
    return expr->kind == ZF_X_INDEX && expr->a->kind == ZF_X_STREAM && expr->a->port->slot >= w->effect->query->input_count;
}

static uint32_t column_of(const walk *w, const zf_expr *expr) { return expr->a->port->slot - w->effect->query->input_count; }

static uint32_t *presence_of(const walk *w, const zf_expr *expr) {
    bool constant = expr->kind == ZF_X_LOCAL && (expr->local->kind == ZF_L_LET || expr->local->kind == ZF_L_FORMAL);
    if (constant) return &w->effect->locals[expr->local->id].present;
    return is_column(w, expr) ? &w->effect->present[column_of(w, expr)] : NULL;
}

// Notes what is not null where a condition has a value (`by` 1), and forgets it behind that place (-1).
static void assume(const walk *w, const zf_expr *condition, bool truth, int by) {
    bool wrapped = condition->kind == ZF_X_CALL && condition->call->body == NULL && condition->call->value != NULL;
    bool both = condition->kind == ZF_X_BINARY && condition->op == (truth ? ZF_OP_ANDAND : ZF_OP_OROR);
    if (wrapped) assume(w, condition->call->value, truth, by);
    if (condition->kind == ZF_X_UNARY && condition->op == ZF_OP_NOT) assume(w, condition->a, !truth, by);
    if (both) {
        assume(w, condition->a, truth, by);
        assume(w, condition->b, truth, by);
    }
    if (condition->kind != ZF_X_IS_NULL || truth) return;
    const zf_expr *value = condition->a;
    uint32_t *presence = presence_of(w, value);
    if (presence != NULL) *presence += (uint32_t)by;
    bool made = value->kind == ZF_X_COND && value->b->kind == ZF_X_NULL; // null where its condition holds
    if (made) assume(w, value->a, false, by);
}

static zf_values eval_where(walk *w, const zf_expr *condition, bool truth, const zf_expr *expr) {
    assume(w, condition, truth, 1);
    zf_values values = eval(w, expr);
    assume(w, condition, truth, -1);
    return values;
}

static zf_values present_only(zf_values values, uint32_t present) {
    if (present > 0 && values.some) values.null = false;
    return values;
}

// ---- Names ----------------------------------------------------------------------------------------------------

static void set_local(const walk *w, const zf_local *local, zf_values values) {
    w->effect->locals[local->id].values = values;
    w->effect->locals[local->id].known = true;
}

static zf_values eval_local(walk *w, const zf_expr *expr) {
    const zf_local *local = expr->local;
    if (local->kind == ZF_L_ROW)
        return zf_values_of_range(local->type, (zf_interval){(zf_int128)w->begin, (zf_int128)w->end - 1});
    const zf_effect_local *known = &w->effect->locals[local->id];
    if (!known->known) return zf_values_all(expr->type); // one that changes never is
    return present_only(known->values, known->present);
}

static zf_values eval_column(walk *w, const zf_expr *expr) {
    uint32_t column = column_of(w, expr);
    const zf_zone *zone = w->zones[column];
    zf_values values = zone != NULL ? zf_values_of_zone(expr->type, zone) : zf_values_all(expr->type);
    return present_only(values, w->effect->present[column]);
}

// ---- Sequences ------------------------------------------------------------------------------------------------

// How many elements a sequence has, at least.
static uint64_t least_length(const walk *w, const zf_expr *seq) {
    if (seq->kind == ZF_X_STREAM && seq->port->slot < w->effect->query->input_count)
        return w->effect->inputs[seq->port->slot].length;
    if (seq->kind == ZF_X_TABLE) return seq->table->length;
    return seq->kind == ZF_X_LOCAL && seq->local->kind == ZF_L_ARRAY ? seq->local->length : 0;
}

// The name of a sequence has no effect, and a string may be any expression.
static void eval_sequence(walk *w, const zf_expr *seq) {
    bool named = seq->kind == ZF_X_STREAM || seq->kind == ZF_X_TABLE || (seq->kind == ZF_X_LOCAL && seq->is_seq);
    if (!named) eval(w, seq);
}

static zf_values element_of(const zf_query_stream *input, zf_type type, uint64_t at) {
    const uint8_t *bytes = input->values;
    uint64_t bits = 0;
    size_t size = zf_kind_size(type.kind);
    if (type.kind == ZF_K_BOOL)
        bits = bytes[at / 8] >> at % 8 & 1;
    else
        memcpy(&bits, bytes + at * size, size); // little-endian
    return zf_values_of_bits(type, bits);
}

// The elements of an input that an index within it can choose, if they are few.
static zf_values eval_elements(const walk *w, const zf_port *port, zf_interval index) {
    const zf_query_stream *input = &w->effect->inputs[port->slot];
    if (input->values == NULL || index.hi - index.lo >= MOST_ELEMENTS) return zf_values_all(port->type);
    zf_values all = element_of(input, port->type, (uint64_t)index.lo);
    for (uint64_t at = (uint64_t)index.lo + 1; at <= (uint64_t)index.hi; at++)
        all = zf_values_join(all, element_of(input, port->type, at));
    return all;
}

static zf_values eval_index(walk *w, const zf_expr *expr) {
    if (is_column(w, expr)) return eval_column(w, expr);
    eval_sequence(w, expr->a);
    zf_values index = eval(w, expr->b);
    bool inside = index.range.lo >= 0 && index.range.hi < (zf_int128)least_length(w, expr->a);
    fails_unless(w, expr->proved || inside);
    if (inside && expr->a->kind == ZF_X_STREAM) return eval_elements(w, expr->a->port, index.range);
    bool table = expr->a->kind == ZF_X_TABLE && zf_kind_is_integer(expr->type.kind);
    return table ? zf_values_of_range(expr->type, expr->a->table->range) : zf_values_all(expr->type);
}

static zf_values eval_length(walk *w, const zf_expr *expr) {
    eval_sequence(w, expr->a);
    uint64_t length = least_length(w, expr->a);
    bool fixed = expr->a->kind == ZF_X_STREAM || expr->a->kind == ZF_X_TABLE;
    return fixed ? zf_values_of_bits(expr->type, length) : zf_values_all(expr->type);
}

// A text is a slice of a table that has all of it.
static zf_values eval_slice(walk *w, const zf_expr *expr) {
    bool of_string = expr->a->type.kind == ZF_K_STRING && !expr->a->is_seq;
    zf_values string = {0};
    if (of_string)
        string = eval(w, expr->a);
    else
        eval_sequence(w, expr->a);
    zf_values begin = eval(w, expr->b), end = eval(w, expr->c);
    if (of_string && begin.range.hi == 0 && end.range.lo == end.range.hi) {
        fails_unless(w, expr->proved);
        return zf_values_beginning(string, (uint64_t)end.range.lo);
    }
    const zf_table_const *table = expr->a->kind == ZF_X_TABLE ? expr->a->table : NULL;
    bool whole = table != NULL && begin.range.hi == 0 && end.range.lo == (zf_int128)table->length;
    fails_unless(w, expr->proved || whole);
    bool text = whole && end.range.hi == end.range.lo && expr->type.kind == ZF_K_STRING;
    return text ? zf_values_of_text(table->bits, table->length) : zf_values_all(expr->type);
}

// ---- Operators ------------------------------------------------------------------------------------------------

static zf_values eval_logical(walk *w, const zf_expr *expr) {
    bool both = expr->op == ZF_OP_ANDAND;
    zf_values a = eval(w, expr->a);
    if (both ? !zf_values_may_hold(&a) : !zf_values_may_fail(&a)) return a;
    zf_values b = eval_where(w, expr->a, both, expr->b);
    if (both) return zf_values_truth(zf_values_may_fail(&a) || zf_values_may_fail(&b), zf_values_may_hold(&b));
    return zf_values_truth(zf_values_may_fail(&b), zf_values_may_hold(&a) || zf_values_may_hold(&b));
}

static bool may_divide_by_zero(zf_op op, const zf_values *divisor) {
    bool divides = (op == ZF_OP_DIV || op == ZF_OP_REM) && zf_kind_is_integer(divisor->type.kind);
    return divides && divisor->range.lo <= 0 && divisor->range.hi >= 0;
}

static zf_values eval_binary(walk *w, const zf_expr *expr) {
    if (expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR) return eval_logical(w, expr);
    zf_values a = eval(w, expr->a), b = eval(w, expr->b);
    fails_unless(w, expr->proved || !may_divide_by_zero(expr->op, &b));
    return zf_values_binary(expr->op, a, b);
}

static zf_values eval_cond(walk *w, const zf_expr *expr) {
    zf_values condition = eval(w, expr->a);
    if (!zf_values_may_hold(&condition)) return eval_where(w, expr->a, false, expr->c);
    zf_values first = eval_where(w, expr->a, true, expr->b);
    if (!zf_values_may_fail(&condition)) return first;
    return zf_values_join(first, eval_where(w, expr->a, false, expr->c));
}

static zf_values eval_prim(walk *w, const zf_expr *expr) {
    zf_values a = eval(w, expr->a), b = a;
    if (expr->b != NULL) b = eval(w, expr->b);
    fails_unless(w, expr->prim != ZF_P_NTH_BIT || expr->proved);
    bool extreme = expr->prim == ZF_P_MIN || expr->prim == ZF_P_MAX;
    if (!extreme || !zf_kind_is_integer(expr->type.kind)) return zf_values_all(expr->type);
    return zf_values_of_range(expr->type, zf_range_prim(expr->prim, expr->type.kind, a.range, b.range));
}

// ---- Calls and loops ------------------------------------------------------------------------------------------

static zf_values eval_call(walk *w, const zf_expr *expr) {
    const zf_call *call = expr->call;
    for (uint32_t k = 0; k < call->formal_count; k++) {
        const zf_local *formal = call->formals[k];
        if (formal->init != NULL) set_local(w, formal, eval(w, formal->init));
    }
    zf_values returned = {.type = expr->type}, *outer = w->returned;
    w->returned = &returned;
    walk_stmts(w, call->body);
    w->returned = outer;
    if (call->value == NULL) return returned.some || returned.null ? returned : zf_values_all(expr->type);
    zf_values value = eval(w, call->value);
    return returned.some || returned.null ? zf_values_join(returned, value) : value;
}

// Gives the variable of a loop all of its values. False: there are none.
static bool bind(walk *w, const zf_binder *binder) {
    zf_values low = eval(w, binder->lo), high = eval(w, binder->hi);
    zf_interval range = {low.range.lo, binder->inclusive ? high.range.hi : high.range.hi - 1};
    if (range.lo > range.hi) return false;
    set_local(w, binder->local, zf_values_of_range(binder->local->type, range));
    return true;
}

static zf_values eval_reduce(walk *w, const zf_expr *expr) {
    const zf_reduce *reduce = expr->reduce;
    bool runs = true;
    for (uint32_t k = 0; runs && k < reduce->binder_count; k++) runs = bind(w, &reduce->binders[k]);
    zf_values term = runs ? eval(w, reduce->term) : zf_values_all(expr->type);
    bool any = reduce->op == ZF_RED_ANY, all = reduce->op == ZF_RED_ALL;
    if (any) return zf_values_truth(true, runs && zf_values_may_hold(&term));
    if (all) return zf_values_truth(runs && zf_values_may_fail(&term), true);
    return zf_values_all(expr->type);
}

// ---- Expressions ----------------------------------------------------------------------------------------------

static zf_values eval_null(walk *w, const zf_expr *expr) {
    zf_values a = eval(w, expr->a);
    return zf_values_truth(a.some, a.null);
}

static zf_values eval_some(walk *w, const zf_expr *expr) {
    zf_values a = eval(w, expr->a);
    a.type = expr->type;
    return a;
}

static zf_values eval_kind(walk *w, const zf_expr *expr) {
    switch (expr->kind) {
    case ZF_X_CONST: return zf_values_of_bits(expr->type, expr->bits);
    case ZF_X_NULL: return (zf_values){.type = expr->type, .null = true};
    case ZF_X_LOCAL: return eval_local(w, expr);
    case ZF_X_PARAM: return zf_values_of_bits(expr->type, w->effect->params[expr->port->slot]);
    case ZF_X_UNARY: return zf_values_unary(expr->op, eval(w, expr->a));
    case ZF_X_BINARY: return eval_binary(w, expr);
    case ZF_X_COND: return eval_cond(w, expr);
    case ZF_X_CAST: return zf_values_cast(expr->type, eval(w, expr->a));
    case ZF_X_SOME: return eval_some(w, expr);
    case ZF_X_IS_NULL: return eval_null(w, expr);
    case ZF_X_VALUE: return zf_values_value(eval(w, expr->a));
    case ZF_X_PRIM: return eval_prim(w, expr);
    case ZF_X_CALL: return eval_call(w, expr);
    case ZF_X_REDUCE: return eval_reduce(w, expr);
    case ZF_X_INDEX: return eval_index(w, expr);
    case ZF_X_LEN: return eval_length(w, expr);
    case ZF_X_SLICE: return eval_slice(w, expr);
    default: return give_up(w, expr->type);
    }
}

static zf_values eval(walk *w, const zf_expr *expr) {
    if (w->matters || ++w->steps > MOST_STEPS || w->depth >= MOST_DEPTH) return give_up(w, expr->type);
    w->depth++;
    zf_values values = eval_kind(w, expr);
    w->depth--;
    return values;
}

// ---- Statements -----------------------------------------------------------------------------------------------

static void walk_assign(walk *w, const zf_stmt *stmt) {
    if (stmt->place->kind == ZF_X_INDEX)
        eval(w, stmt->place);
    else if (stmt->place->kind != ZF_X_LOCAL)
        w->matters = true;
    zf_values value = eval(w, stmt->value);
    fails_unless(w, !stmt->has_op || !may_divide_by_zero(stmt->op, &value));
}

static void walk_if(walk *w, const zf_stmt *stmt) {
    zf_values condition = eval(w, stmt->value);
    if (w->matters) return;
    bool may_hold = zf_values_may_hold(&condition), may_fail = zf_values_may_fail(&condition);
    assume(w, stmt->value, true, 1);
    if (may_hold) walk_stmts(w, stmt->body);
    assume(w, stmt->value, true, -1);
    assume(w, stmt->value, false, 1);
    if (may_fail) walk_stmts(w, stmt->else_part);
    assume(w, stmt->value, false, -1);
}

// Values that leave a result as it is. Elements of arrays are told from those that no row gave a value.
static void walk_result(walk *w, const zf_stmt *stmt) {
    const zf_query_result *result = stmt->result;
    zf_values value = zf_values_all(result->type);
    if (result->dimensions == 0) value = eval(w, stmt->value);
    bool off = result->kind == ZF_Q_MASK || result->kind == ZF_Q_ANY, on = result->kind == ZF_Q_ALL;
    bool same = (off && !zf_values_may_hold(&value)) || (on && !zf_values_may_fail(&value));
    fails_unless(w, same && result->dimensions == 0);
}

static void walk_require(walk *w, const zf_stmt *stmt) {
    zf_values condition = eval(w, stmt->value);
    fails_unless(w, !zf_values_may_fail(&condition));
}

static void walk_return(walk *w, const zf_stmt *stmt) {
    if (stmt->value == NULL) return;
    zf_values value = eval(w, stmt->value);
    if (w->returned == NULL) return;
    bool first = !w->returned->some && !w->returned->null;
    *w->returned = first ? value : zf_values_join(*w->returned, value);
}

static void walk_stmt(walk *w, const zf_stmt *stmt) {
    switch (stmt->kind) {
    case ZF_S_LET: set_local(w, stmt->local, eval(w, stmt->local->init)); break;
    case ZF_S_VAR:
        if (stmt->local->init != NULL) eval(w, stmt->local->init);
        break;
    case ZF_S_ASSIGN: walk_assign(w, stmt); break;
    case ZF_S_EXPR: eval(w, stmt->value); break;
    case ZF_S_IF: walk_if(w, stmt); break;
    case ZF_S_FOR_RANGE:
        if (bind(w, &stmt->binder)) walk_stmts(w, stmt->body);
        break;
    case ZF_S_BREAK:
    case ZF_S_CONTINUE: break;
    case ZF_S_RETURN: walk_return(w, stmt); break;
    case ZF_S_REQUIRE: walk_require(w, stmt); break;
    case ZF_S_RESULT: walk_result(w, stmt); break;
    default: w->matters = true; // SELECT appends a row
    }
}

// A value that changes within a loop is taken as any, so a loop is walked once.
static void walk_stmts(walk *w, const zf_stmt *stmt) {
    if (w->depth >= MOST_DEPTH) w->matters = true;
    w->depth++;
    for (bool left = false; stmt != NULL && !left && !w->matters; stmt = stmt->next) {
        walk_stmt(w, stmt);
        left = stmt->kind == ZF_S_RETURN;
    }
    w->depth--;
}

// ---- The whole ------------------------------------------------------------------------------------------------

bool zf_query_effect_open(const zf_query *query, const uint64_t *params, const zf_query_stream *inputs, zf_query_effect *out) {
    *out = (zf_query_effect){.query = query, .params = params, .inputs = inputs};
    out->locals = calloc((size_t)query->inst->decode.local_count + 1, sizeof *out->locals);
    out->present = calloc((size_t)query->column_count + 1, sizeof *out->present);
    return out->locals != NULL && out->present != NULL;
}

void zf_query_effect_close(zf_query_effect *effect) {
    free(effect->locals);
    free(effect->present);
    *effect = (zf_query_effect){0};
}

bool zf_query_may_matter(zf_query_effect *effect, uint64_t begin, uint64_t end, const zf_zone *const *zones) {
    walk w = {.effect = effect, .begin = begin, .end = end, .zones = zones};
    walk_stmts(&w, effect->query->inst->decode.stmts);
    return w.matters;
}
