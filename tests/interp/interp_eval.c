// Expressions.
#include <stdio.h>

#include "tests/interp/interp_internal.h"

enum { DEPTH_LIMIT = 4000 }; // nested evaluations; the parser's limit on nesting is far below

// ---- Failing --------------------------------------------------------------------------------------------------

void interp_env_violate(interp_env *env, unsigned number, zf_span span, const char *what) {
    interp_violation violation = {.number = number, .path = env->path, .position = env->position, .span = span, .what = what};
    interp_raise(env->in, &violation);
}

static const char *describe(interp_env *env, const zf_expr *expr, const char *what) {
    zf_text text = {0};
    zf_expr_print(expr, &text);
    zf_position place = {0};
    if (expr->span.source) place = zf_source_position(expr->span.source, expr->span.begin);
    const char *result =
        zf_arena_printf(env->in->arena, "%s %s, line %u:%u: %s: %s", env->inst->name, env->encoding ? "encode" : "decode",
                        place.line, place.column, text.data ? text.data : "?", what);
    zf_text_free(&text);
    return result;
}

void interp_env_violate_at(interp_env *env, unsigned number, const zf_expr *expr, const char *what) {
    if (expr->proved && !env->in->claims.proved && !env->in->options.no_claims) {
        env->in->claims.proved = expr;
        env->in->claims.where = describe(env, expr, what);
    }
    interp_env_violate(env, number, expr->span, what);
}

static void check_claim(interp_env *env, const zf_expr *expr, uint64_t bits) {
    bool known = zf_kind_is_integer(expr->type.kind) || expr->type.kind == ZF_K_BOOL;
    if (!known || expr->type.nullable || env->in->claims.range) return;
    zf_int128 number = zf_kind_is_signed(expr->type.kind) ? interp_value_signed(expr->type.kind, bits) : (zf_int128)bits;
    if (number >= expr->range.lo && number <= expr->range.hi) return;
    char text[64];
    snprintf(text, sizeof text, "value 0x%llx outside %s", (unsigned long long)bits,
             zf_interval_text(env->in->arena, expr->range));
    env->in->claims.range = expr;
    env->in->claims.where = describe(env, expr, zf_arena_printf(env->in->arena, "%s", text));
}

void interp_env_work(interp_env *env, uint64_t amount, zf_span span) {
    env->work = env->work + amount < amount ? UINT64_MAX : env->work + amount;
    if (env->work > env->work_limit) interp_env_violate(env, 10, span, "work");
}

// ---- Sequences ------------------------------------------------------------------------------------------------

interp_slot *interp_env_slot(interp_env *env, const zf_local *local) {
    if (local->id >= env->slot_count) interp_stop(env->in, INTERP_MISUSE, "a local outside its body's list");
    return &env->slots[local->id];
}

// The elements of a port that a body sees: of a chunk's stream, the chunk's.
interp_seq interp_env_stream(interp_env *env, const zf_port *port) {
    interp_stream *stream = env->streams[port->slot];
    interp_seq seq = {.base = stream, .length = stream->count};
    if (env->encoding) {
        if (port->per_chunk && stream->start_count) seq.start = stream->starts[stream->start_count - 1];
        seq.length = stream->count - seq.start;
        return seq;
    }
    if (port->has_range) seq.port = port;
    if (port->per_chunk) {
        seq.start = env->first[port->slot];
        seq.length = env->length[port->slot];
    }
    return seq;
}

void interp_env_check_port(interp_env *env, const zf_port *port, uint64_t bits, zf_span span) {
    const interp_range *range = &env->ranges[port->slot];
    zf_int128 number = zf_kind_is_signed(port->type.kind) ? interp_value_signed(port->type.kind, bits) : (zf_int128)bits;
    if ((range->has_lo && number < range->lo) || (range->has_hi && number > range->hi))
        interp_env_violate(env, 5, span, port->name);
}

// Elements that are about to be used: the violation of the first that has one is met.
void interp_seq_check_range(interp_env *env, interp_seq seq, uint64_t from, uint64_t count) {
    if (!seq.base || !seq.base->poison) return;
    for (uint64_t k = 0; k < count; k++) {
        const interp_violation *met = seq.base->poison[seq.start + from + k];
        if (met) interp_raise(env->in, met);
    }
}

static void check_index(interp_env *env, interp_seq seq, uint64_t index, zf_span span, const zf_expr *expr) {
    if (index >= seq.length) {
        if (expr) interp_env_violate_at(env, 1, expr, "index");
        interp_env_violate(env, 1, span, "index");
    }
    interp_seq_check_range(env, seq, index, 1);
}

interp_value interp_seq_get(interp_env *env, interp_seq seq, uint64_t index, zf_span span, const zf_expr *expr) {
    check_index(env, seq, index, span, expr);
    interp_value value = interp_stream_get(seq.base, seq.start + index);
    if (seq.port && !value.null) interp_env_check_port(env, seq.port, value.bits, span);
    return value;
}

// The bits of an element: 0 of a null.
static uint64_t seq_bits(interp_env *env, interp_seq seq, uint64_t index, zf_span span, const zf_expr *expr) {
    const interp_stream *base = seq.base;
    if (base->type.nullable || base->type.kind == ZF_K_STRING) return interp_seq_get(env, seq, index, span, expr).bits;
    check_index(env, seq, index, span, expr);
    uint64_t bits = interp_stream_bit_read(base, (seq.start + index) * base->width, base->width);
    if (seq.port) interp_env_check_port(env, seq.port, bits, span);
    return bits;
}

static interp_seq table_of(interp_env *env, const zf_table_const *table) {
    interp *in = env->in;
    for (interp_table_cache *c = in->tables; c; c = c->next)
        if (c->table == table) return interp_stream_all(c->stream);
    interp_table_cache *c = ZF_NEW(in->arena, interp_table_cache);
    *c = (interp_table_cache){.table = table, .stream = interp_stream_new(in, table->type), .next = in->tables};
    for (uint64_t k = 0; k < table->length; k++) interp_stream_push(c->stream, table->bits[k]);
    in->tables = c;
    return interp_stream_all(c->stream);
}

static interp_seq out_seq(interp_env *env) {
    // The elements emitted so far; in other patterns the whole result (only its length is used there).
    bool chunk = env->inst->pattern == ZF_NON_PARALLEL;
    return (interp_seq){.base = env->out, .start = env->out_start, .length = chunk ? env->out_pos : env->out_length};
}

static interp_value of_seq(interp_seq seq) { return (interp_value){.seq = seq}; }

static uint64_t local_bits(interp_env *env, const zf_local *local) {
    switch (local->kind) {
    case ZF_L_DOMAIN_I: return env->i;
    case ZF_L_DOMAIN_G: return env->g;
    case ZF_L_DOMAIN_J: return env->j;
    case ZF_L_LANE: return env->lane;
    case ZF_L_CHUNK: return env->chunk;
    case ZF_L_ROW: return interp_query_row(env);
    default: return interp_env_slot(env, local)->value.bits;
    }
}

static interp_value eval_local(interp_env *env, const zf_local *local) {
    switch (local->kind) {
    case ZF_L_DOMAIN_I:
    case ZF_L_DOMAIN_G:
    case ZF_L_DOMAIN_J:
    case ZF_L_LANE:
    case ZF_L_CHUNK:
    case ZF_L_ROW: return of_bits(local_bits(env, local));
    case ZF_L_ARRAY:
    case ZF_L_GROWING: {
        interp_slot *slot = interp_env_slot(env, local);
        if (!slot->array) interp_stop(env->in, INTERP_MISUSE, "an array is used before its declaration ran");
        return of_seq(interp_stream_all(slot->array));
    }
    default: return interp_env_slot(env, local)->value;
    }
}

static interp_value eval_slice(interp_env *env, const zf_expr *expr) {
    interp_seq seq = interp_eval_seq(env, expr->a);
    uint64_t from = expr->b ? interp_eval_bits(env, expr->b) : 0;
    uint64_t to = expr->c ? interp_eval_bits(env, expr->c) : seq.length;
    if (from > to || to > seq.length) interp_env_violate_at(env, 1, expr, "slice");
    const zf_port *port = expr->is_seq ? seq.port : NULL; // a string is a value: its bytes are no longer pulled from the port
    return of_seq((interp_seq){.base = seq.base, .port = port, .start = seq.start + from, .length = to - from});
}

static uint64_t eval_index(interp_env *env, const zf_expr *expr) {
    interp_seq seq = interp_eval_seq(env, expr->a);
    return seq_bits(env, seq, interp_eval_bits(env, expr->b), expr->span, expr);
}

static uint64_t eval_length(interp_env *env, const zf_expr *expr) {
    return expr->a->kind == ZF_X_OUT ? env->out_length : interp_eval_seq(env, expr->a).length;
}

static uint64_t eval_bit_length(interp_env *env, const zf_expr *expr) {
    interp_seq seq = expr->port ? interp_env_stream(env, expr->port) : interp_eval_seq(env, expr->a);
    return seq.base->bit_length - seq.start * seq.base->width;
}

static uint64_t eval_bits(interp_env *env, const zf_expr *expr) {
    interp_seq seq = interp_eval_seq(env, expr->a);
    uint64_t at = interp_eval_bits(env, expr->b), count = interp_eval_bits(env, expr->c);
    unsigned width = seq.base->width;
    uint64_t total = seq.length * width;
    if (count > 64 || at > total || count > total - at) interp_env_violate_at(env, 1, expr, "bits");
    if (count == 0) return 0;
    interp_seq_check_range(env, seq, at / width, (at + count - 1) / width - at / width + 1);
    uint64_t bit = seq.start * width + at;
    return expr->msb ? interp_stream_bit_read_msb(seq.base, bit, (unsigned)count)
                     : interp_stream_bit_read(seq.base, bit, (unsigned)count);
}

static interp_value eval_minmax(interp_env *env, const zf_expr *expr) {
    interp_seq seq = interp_eval_seq(env, expr->a);
    interp_value best = {0};
    for (uint64_t k = 0; k < seq.length; k++) {
        interp_value value = interp_seq_get(env, seq, k, expr->span, NULL);
        if (k == 0)
            best = value;
        else
            interp_value_prim(expr->prim, expr->type.kind, best.bits, value.bits, &best.bits);
    }
    return best;
}

// ---- Values ---------------------------------------------------------------------------------------------------

// Strings and nullable values are compared as a whole, by bits.
static uint64_t compare(interp_env *env, const zf_expr *expr) {
    zf_type type = expr->a->type;
    interp_value a = interp_eval(env, expr->a), b = interp_eval(env, expr->b);
    interp_seq_check_range(env, a.seq, 0, a.seq.length);
    interp_seq_check_range(env, b.seq, 0, b.seq.length);
    int order = interp_value_compare(type, a, b);
    bool equal = interp_value_equal(type, a, b);
    switch (expr->op) {
    case ZF_OP_EQ: return equal;
    case ZF_OP_NE: return !equal;
    case ZF_OP_LT: return order < 0;
    case ZF_OP_LE: return order <= 0;
    case ZF_OP_GT: return order > 0;
    default: return order >= 0;
    }
}

static uint64_t eval_binary(interp_env *env, const zf_expr *expr) {
    zf_type type = expr->a->type;
    if (type.kind == ZF_K_STRING || type.nullable) return compare(env, expr);
    uint64_t a = interp_eval_bits(env, expr->a), out = 0;
    if (expr->op == ZF_OP_ANDAND) return a ? interp_eval_bits(env, expr->b) : 0;
    if (expr->op == ZF_OP_OROR) return a ? 1 : interp_eval_bits(env, expr->b);
    uint64_t b = interp_eval_bits(env, expr->b);
    if (!interp_value_binary(expr->op, type.kind, a, b, &out)) interp_env_violate_at(env, 7, expr, "division by zero");
    return out;
}

static interp_value eval_call(interp_env *env, const zf_call *call) {
    for (uint32_t k = 0; k < call->formal_count; k++) {
        const zf_local *formal = call->formals[k];
        if (formal->init) {
            interp_value value = interp_eval(env, formal->init);
            interp_env_slot(env, formal)->value = value;
        }
    }
    if (call->body && interp_exec(env, call->body) == FLOW_RETURN) return env->result;
    return call->value ? interp_eval(env, call->value) : (interp_value){0};
}

static uint64_t eval_prim(interp_env *env, const zf_expr *expr) {
    uint64_t a = interp_eval_bits(env, expr->a), out = 0;
    uint64_t b = expr->b ? interp_eval_bits(env, expr->b) : 0;
    if (expr->prim == ZF_P_VALUE_OF) a = expr->type.kind == ZF_K_BOOL ? a != 0 : interp_value_mask(expr->type.kind, a);
    if (!interp_value_prim(expr->prim, expr->a->type.kind, a, b, &out)) interp_env_violate_at(env, 8, expr, "nth_bit");
    return out;
}

static interp_value evaluate(interp_env *env, const zf_expr *expr);

// The bits of a value. Most values are nothing else, and travel without the rest of an interp_value.
static uint64_t evaluate_bits(interp_env *env, const zf_expr *expr) {
    switch (expr->kind) {
    case ZF_X_CONST: return expr->bits;
    case ZF_X_LOCAL: return local_bits(env, expr->local);
    case ZF_X_PARAM: return env->params[expr->port->slot];
    case ZF_X_STATE: return env->states[expr->state->index * env->inst->lanes + env->lane].bits;
    case ZF_X_UNARY: return interp_value_unary(expr->op, expr->type.kind, interp_eval_bits(env, expr->a));
    case ZF_X_BINARY: return eval_binary(env, expr);
    case ZF_X_COND: return interp_eval_bits(env, interp_eval_bits(env, expr->a) ? expr->b : expr->c);
    case ZF_X_CAST: return interp_value_cast(expr->a->type.kind, expr->type.kind, interp_eval_bits(env, expr->a));
    case ZF_X_SOME:
    case ZF_X_VALUE: return interp_eval_bits(env, expr->a);
    case ZF_X_PRIM: return eval_prim(env, expr);
    case ZF_X_INDEX: return eval_index(env, expr);
    case ZF_X_LEN: return eval_length(env, expr);
    case ZF_X_BITS: return eval_bits(env, expr);
    case ZF_X_BIT_LEN: return eval_bit_length(env, expr);
    case ZF_X_OUT_POS: return env->out_pos;
    default: return evaluate(env, expr).bits;
    }
}

static interp_value evaluate(interp_env *env, const zf_expr *expr) {
    switch (expr->kind) {
    case ZF_X_CONST:
    case ZF_X_PARAM:
    case ZF_X_UNARY:
    case ZF_X_BINARY:
    case ZF_X_CAST:
    case ZF_X_PRIM:
    case ZF_X_LEN:
    case ZF_X_BITS:
    case ZF_X_BIT_LEN:
    case ZF_X_OUT_POS: return of_bits(evaluate_bits(env, expr));
    case ZF_X_NULL: return (interp_value){.null = true};
    case ZF_X_LOCAL: return eval_local(env, expr->local);
    case ZF_X_STATE: return env->states[expr->state->index * env->inst->lanes + env->lane];
    case ZF_X_COND: return interp_eval(env, interp_eval_bits(env, expr->a) ? expr->b : expr->c);
    case ZF_X_SOME: return interp_eval(env, expr->a);
    case ZF_X_IS_NULL: return of_bits(interp_eval(env, expr->a).null);
    case ZF_X_VALUE: {
        interp_value value = interp_eval(env, expr->a);
        value.null = false;
        return value;
    }
    case ZF_X_CALL: return eval_call(env, expr->call);
    case ZF_X_REDUCE: return interp_eval_reduce(env, expr);
    case ZF_X_INDEX: {
        interp_seq seq = interp_eval_seq(env, expr->a);
        return interp_seq_get(env, seq, interp_eval_bits(env, expr->b), expr->span, expr);
    }
    case ZF_X_CURSOR: return interp_eval_cursor(env, expr);
    case ZF_X_INTERN: return of_bits(interp_stream_intern(env->streams[expr->port->slot], interp_eval(env, expr->a)));
    case ZF_X_MINMAX: return eval_minmax(env, expr);
    case ZF_X_STREAM: return of_seq(interp_env_stream(env, expr->port));
    case ZF_X_OUT: return of_seq(out_seq(env));
    case ZF_X_INPUT: return of_seq(interp_stream_all(env->input));
    case ZF_X_TABLE: return of_seq(table_of(env, expr->table));
    case ZF_X_SLICE: return eval_slice(env, expr);
    case ZF_X_PARTS:
    case ZF_X_CHUNKS: break; // only in `for`, which looks at them itself
    }
    interp_stop(env->in, INTERP_MISUSE, "an expression that cannot be evaluated here");
}

// ---- Entering and leaving an expression -----------------------------------------------------------------------

static void enter(interp *in) {
    if (in->fuel-- == 0) interp_stop(in, INTERP_LIMIT, "more work than the options allow");
    if (++in->depth > DEPTH_LIMIT) interp_stop(in, INTERP_LIMIT, "nesting too deep to evaluate");
}

static void leave(interp_env *env, const zf_expr *expr, uint64_t bits) {
    env->in->depth--;
    if (!expr->is_seq && !env->in->options.no_claims) check_claim(env, expr, bits);
}

interp_value interp_eval(interp_env *env, const zf_expr *expr) {
    enter(env->in);
    interp_value value = evaluate(env, expr);
    leave(env, expr, value.bits);
    return value;
}

uint64_t interp_eval_bits(interp_env *env, const zf_expr *expr) {
    enter(env->in);
    uint64_t bits = evaluate_bits(env, expr);
    leave(env, expr, bits);
    return bits;
}

interp_seq interp_eval_seq(interp_env *env, const zf_expr *expr) {
    if (expr->kind != ZF_X_STREAM) return interp_eval(env, expr).seq;
    enter(env->in);
    interp_seq seq = interp_env_stream(env, expr->port);
    env->in->depth--;
    return seq;
}
