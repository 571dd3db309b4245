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

static void check_claim(interp_env *env, const zf_expr *expr, interp_value value) {
    bool known = zf_kind_is_integer(expr->type.kind) || expr->type.kind == ZF_K_BOOL;
    if (!known || expr->type.nullable || env->in->claims.range) return;
    zf_int128 number =
        zf_kind_is_signed(expr->type.kind) ? interp_value_signed(expr->type.kind, value.bits) : (zf_int128)value.bits;
    if (number >= expr->range.lo && number <= expr->range.hi) return;
    char text[64];
    snprintf(text, sizeof text, "value 0x%llx outside %s", (unsigned long long)value.bits,
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

void interp_env_check_port(interp_env *env, const zf_port *port, interp_value value, zf_span span) {
    const interp_range *range = &env->ranges[port->slot];
    zf_int128 number =
        zf_kind_is_signed(port->type.kind) ? interp_value_signed(port->type.kind, value.bits) : (zf_int128)value.bits;
    if (value.null) return;
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

interp_value interp_seq_get(interp_env *env, interp_seq seq, uint64_t index, zf_span span, const zf_expr *expr) {
    if (index >= seq.length) {
        if (expr) interp_env_violate_at(env, 1, expr, "index");
        interp_env_violate(env, 1, span, "index");
    }
    interp_seq_check_range(env, seq, index, 1);
    interp_value value = interp_stream_get(seq.base, seq.start + index);
    if (seq.port) interp_env_check_port(env, seq.port, value, span);
    return value;
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
static interp_value of_bits(uint64_t bits) { return (interp_value){.bits = bits}; }

static interp_value eval_local(interp_env *env, const zf_local *local) {
    switch (local->kind) {
    case ZF_L_DOMAIN_I: return of_bits(env->i);
    case ZF_L_DOMAIN_G: return of_bits(env->g);
    case ZF_L_DOMAIN_J: return of_bits(env->j);
    case ZF_L_LANE: return of_bits(env->lane);
    case ZF_L_CHUNK: return of_bits(env->chunk);
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
    interp_seq seq = interp_eval(env, expr->a).seq;
    uint64_t from = expr->b ? interp_eval(env, expr->b).bits : 0;
    uint64_t to = expr->c ? interp_eval(env, expr->c).bits : seq.length;
    if (from > to || to > seq.length) interp_env_violate_at(env, 1, expr, "slice");
    const zf_port *port = expr->is_seq ? seq.port : NULL; // a string is a value: its bytes are no longer pulled from the port
    return of_seq((interp_seq){.base = seq.base, .port = port, .start = seq.start + from, .length = to - from});
}

static interp_value eval_bits(interp_env *env, const zf_expr *expr) {
    interp_seq seq = interp_eval(env, expr->a).seq;
    uint64_t at = interp_eval(env, expr->b).bits, count = interp_eval(env, expr->c).bits;
    unsigned width = seq.base->width;
    uint64_t total = seq.length * width;
    if (count > 64 || at > total || count > total - at) interp_env_violate_at(env, 1, expr, "bits");
    if (count == 0) return of_bits(0);
    interp_seq_check_range(env, seq, at / width, (at + count - 1) / width - at / width + 1);
    uint64_t bit = seq.start * width + at;
    return of_bits(expr->msb ? interp_stream_bit_read_msb(seq.base, bit, (unsigned)count)
                             : interp_stream_bit_read(seq.base, bit, (unsigned)count));
}

static interp_value eval_minmax(interp_env *env, const zf_expr *expr) {
    interp_seq seq = interp_eval(env, expr->a).seq;
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

static interp_value eval_binary(interp_env *env, const zf_expr *expr) {
    interp_value a = interp_eval(env, expr->a);
    if (expr->op == ZF_OP_ANDAND) return a.bits ? interp_eval(env, expr->b) : of_bits(0);
    if (expr->op == ZF_OP_OROR) return a.bits ? of_bits(1) : interp_eval(env, expr->b);
    interp_value b = interp_eval(env, expr->b);
    zf_type type = expr->a->type;
    if (type.kind == ZF_K_STRING || type.nullable) { // compared as a whole, by bits
        interp_seq_check_range(env, a.seq, 0, a.seq.length);
        interp_seq_check_range(env, b.seq, 0, b.seq.length);
        int order = interp_value_compare(type, a, b);
        bool equal = interp_value_equal(type, a, b);
        switch (expr->op) {
        case ZF_OP_EQ: return of_bits(equal);
        case ZF_OP_NE: return of_bits(!equal);
        case ZF_OP_LT: return of_bits(order < 0);
        case ZF_OP_LE: return of_bits(order <= 0);
        case ZF_OP_GT: return of_bits(order > 0);
        default: return of_bits(order >= 0);
        }
    }
    interp_value out = {0};
    if (!interp_value_binary(expr->op, type.kind, a.bits, b.bits, &out.bits))
        interp_env_violate_at(env, 7, expr, "division by zero");
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

static interp_value eval_prim(interp_env *env, const zf_expr *expr) {
    interp_value a = interp_eval(env, expr->a), out = {0};
    uint64_t b = expr->b ? interp_eval(env, expr->b).bits : 0;
    if (expr->prim == ZF_P_VALUE_OF)
        a.bits = expr->type.kind == ZF_K_BOOL ? a.bits != 0 : interp_value_mask(expr->type.kind, a.bits);
    if (!interp_value_prim(expr->prim, expr->a->type.kind, a.bits, b, &out.bits)) interp_env_violate_at(env, 8, expr, "nth_bit");
    return out;
}

static interp_value eval_intern(interp_env *env, const zf_expr *expr) {
    interp_value value = interp_eval(env, expr->a);
    return of_bits(interp_stream_intern(env->streams[expr->port->slot], value));
}

static interp_value evaluate(interp_env *env, const zf_expr *expr) {
    switch (expr->kind) {
    case ZF_X_CONST: return of_bits(expr->bits);
    case ZF_X_NULL: return (interp_value){.null = true};
    case ZF_X_LOCAL: return eval_local(env, expr->local);
    case ZF_X_PARAM: return of_bits(env->params[expr->port->slot]);
    case ZF_X_STATE: return env->states[expr->state->index * env->inst->lanes + env->lane];
    case ZF_X_UNARY: return of_bits(interp_value_unary(expr->op, expr->type.kind, interp_eval(env, expr->a).bits));
    case ZF_X_BINARY: return eval_binary(env, expr);
    case ZF_X_COND: return interp_eval(env, interp_eval(env, expr->a).bits ? expr->b : expr->c);
    case ZF_X_CAST: return of_bits(interp_value_cast(expr->a->type.kind, expr->type.kind, interp_eval(env, expr->a).bits));
    case ZF_X_SOME: return interp_eval(env, expr->a);
    case ZF_X_IS_NULL: return of_bits(interp_eval(env, expr->a).null);
    case ZF_X_VALUE: {
        interp_value value = interp_eval(env, expr->a);
        value.null = false;
        return value;
    }
    case ZF_X_PRIM: return eval_prim(env, expr);
    case ZF_X_CALL: return eval_call(env, expr->call);
    case ZF_X_REDUCE: return interp_eval_reduce(env, expr);
    case ZF_X_INDEX: {
        interp_seq seq = interp_eval(env, expr->a).seq;
        return interp_seq_get(env, seq, interp_eval(env, expr->b).bits, expr->span, expr);
    }
    case ZF_X_LEN:
        if (expr->a->kind == ZF_X_OUT) return of_bits(env->out_length);
        return of_bits(interp_eval(env, expr->a).seq.length);
    case ZF_X_BITS: return eval_bits(env, expr);
    case ZF_X_BIT_LEN: {
        interp_seq seq = expr->port ? interp_env_stream(env, expr->port) : interp_eval(env, expr->a).seq;
        return of_bits(seq.base->bit_length - seq.start * seq.base->width);
    }
    case ZF_X_OUT_POS: return of_bits(env->out_pos);
    case ZF_X_CURSOR: return interp_eval_cursor(env, expr);
    case ZF_X_INTERN: return eval_intern(env, expr);
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

interp_value interp_eval(interp_env *env, const zf_expr *expr) {
    interp *in = env->in;
    if (in->fuel-- == 0) interp_stop(in, INTERP_LIMIT, "more work than the options allow");
    if (++in->depth > DEPTH_LIMIT) interp_stop(in, INTERP_LIMIT, "nesting too deep to evaluate");
    interp_value value = evaluate(env, expr);
    in->depth--;
    if (!expr->is_seq && !in->options.no_claims) check_claim(env, expr, value);
    return value;
}
