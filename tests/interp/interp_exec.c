// Statements.
#include "tests/interp/interp_internal.h"

// ---- Locals and places ----------------------------------------------------------------------------------------

static void declare(interp_env *env, const zf_local *local) {
    interp_slot *slot = interp_env_slot(env, local);
    if (local->kind == ZF_L_ARRAY || local->kind == ZF_L_GROWING) {
        if (!slot->array) slot->array = interp_stream_new(env->in, local->type);
        interp_stream_clear(slot->array); // zeroed each time that the declaration runs
        if (local->kind == ZF_L_ARRAY) interp_stream_resize(slot->array, local->length);
        return;
    }
    interp_value value = local->init ? interp_eval(env, local->init) : (interp_value){0};
    interp_env_slot(env, local)->value = value;
}

static interp_value operate(interp_env *env, const zf_stmt *stmt, interp_value old, interp_value value) {
    if (!stmt->has_op) return value;
    zf_kind kind = stmt->place->type.kind;
    interp_value out = {0};
    if (stmt->op == ZF_OP_OROR || stmt->op == ZF_OP_ANDAND) kind = ZF_K_BOOL;
    if (!interp_value_binary(stmt->op, kind, old.bits, value.bits, &out.bits))
        interp_env_violate(env, 7, stmt->span, "division by zero");
    return out;
}

static void assign(interp_env *env, const zf_stmt *stmt) {
    const zf_expr *place = stmt->place;
    switch (place->kind) {
    case ZF_X_LOCAL: {
        interp_value value = interp_eval(env, stmt->value);
        interp_slot *slot = interp_env_slot(env, place->local);
        slot->value = operate(env, stmt, slot->value, value);
        return;
    }
    case ZF_X_PARAM: {
        interp_value value = interp_eval(env, stmt->value), old = {.bits = env->params[place->port->slot]};
        env->params[place->port->slot] = operate(env, stmt, old, value).bits;
        return;
    }
    case ZF_X_STATE: {
        interp_value value = interp_eval(env, stmt->value);
        interp_value *state = &env->states[place->state->index * env->inst->lanes + env->lane];
        *state = operate(env, stmt, *state, value);
        return;
    }
    case ZF_X_INDEX: {
        // The place comes first, once; then the value, which may not change the array (it is an expression).
        interp_seq seq = interp_eval_seq(env, place->a);
        uint64_t index = interp_eval_bits(env, place->b);
        if (index >= seq.length) interp_env_violate_at(env, 1, place, "index");
        interp_value value = interp_eval(env, stmt->value);
        interp_stream_set(seq.base, seq.start + index, operate(env, stmt, interp_stream_get(seq.base, seq.start + index), value));
        return;
    }
    default: interp_stop(env->in, INTERP_MISUSE, "an assignment to something that cannot change");
    }
}

// ---- Loops ----------------------------------------------------------------------------------------------------

static void count_iteration(interp_env *env, const zf_stmt *stmt) {
    interp *in = env->in;
    if (in->fuel-- == 0) interp_stop(in, INTERP_LIMIT, "more work than the options allow");
    if (!env->encoding && !stmt->bounded) interp_env_work(env, 1, stmt->span);
}

// The end of an iteration that ended with `*flow`: true to stop the loop, which itself then ends with *flow.
static bool leaves(interp_flow *flow) {
    if (*flow == FLOW_RETURN) return true;
    bool stop = *flow == FLOW_BREAK;
    *flow = FLOW_ON;
    return stop;
}

static interp_flow run_while(interp_env *env, const zf_stmt *stmt) {
    interp_flow flow = FLOW_ON;
    while (stmt->kind == ZF_S_LOOP || interp_eval_bits(env, stmt->value)) {
        count_iteration(env, stmt);
        flow = interp_exec(env, stmt->body);
        if (leaves(&flow)) break;
    }
    return flow;
}

static interp_flow run_for_range(interp_env *env, const zf_stmt *stmt) {
    interp_flow flow = FLOW_ON;
    uint64_t lo, count;
    bool bounded = interp_binder_bounds(env, &stmt->binder, &lo, &count);
    for (uint64_t k = 0; !bounded || k < count; k++) {
        count_iteration(env, stmt);
        interp_env_slot(env, stmt->binder.local)->value = (interp_value){.bits = lo + k};
        flow = interp_exec(env, stmt->body);
        if (leaves(&flow)) break;
    }
    return flow;
}

static void start_chunk(interp_env *env) {
    for (uint32_t s = 0; s < env->inst->stream_count; s++)
        if (env->inst->streams[s]->per_chunk) interp_stream_start_chunk(env->streams[s]);
}

static interp_flow run_for_chunks(interp_env *env, const zf_stmt *stmt) {
    interp_flow flow = FLOW_ON;
    uint64_t total = env->input->count, size = env->chunk_size;
    env->in_chunks = true;
    for (uint64_t from = 0; from < total; from += size, env->chunk++) {
        start_chunk(env);
        interp_seq chunk = {.base = env->input, .start = from, .length = total - from < size ? total - from : size};
        interp_env_slot(env, stmt->local)->value = (interp_value){.seq = chunk};
        flow = interp_exec(env, stmt->body);
        if (leaves(&flow)) break;
    }
    env->in_chunks = false;
    return flow;
}

// The pieces by which the input was appended; a stretch that was pushed between two of them is a piece, too.
static interp_flow run_for_parts(interp_env *env, const zf_stmt *stmt) {
    interp_flow flow = FLOW_ON;
    interp_stream *x = env->input;
    uint64_t at = 0;
    for (uint64_t p = 0; p < x->part_count || at < x->count;) {
        interp_piece part = {.start = at, .length = x->count - at};
        if (p < x->part_count) {
            if (x->parts[p].start > at)
                part.length = x->parts[p].start - at;
            else
                part = x->parts[p++];
        }
        at = part.start + part.length;
        interp_env_slot(env, stmt->local)->value = (interp_value){.seq = {.base = x, .start = part.start, .length = part.length}};
        flow = interp_exec(env, stmt->body);
        if (leaves(&flow)) break;
    }
    return flow;
}

static interp_flow run_for_each(interp_env *env, const zf_stmt *stmt) {
    if (stmt->value->kind == ZF_X_CHUNKS) return run_for_chunks(env, stmt);
    if (stmt->value->kind == ZF_X_PARTS) return run_for_parts(env, stmt);
    interp_flow flow = FLOW_ON;
    interp_seq seq = interp_eval_seq(env, stmt->value);
    for (uint64_t k = 0; k < seq.length; k++) {
        count_iteration(env, stmt);
        interp_value value = interp_seq_get(env, seq, k, stmt->span, NULL);
        interp_env_slot(env, stmt->local)->value = value;
        flow = interp_exec(env, stmt->body);
        if (leaves(&flow)) break;
    }
    return flow;
}

// ---- Effects of encode on streams -----------------------------------------------------------------------------

static interp_stream *target_of(interp_env *env, const zf_stmt *stmt) {
    if (stmt->target->kind == ZF_X_STREAM) return env->streams[stmt->target->port->slot];
    return interp_eval_seq(env, stmt->target).base;
}

static uint64_t target_start(interp_env *env, const zf_stmt *stmt) {
    return stmt->target->kind == ZF_X_STREAM ? interp_env_stream(env, stmt->target->port).start : 0;
}

static void push_bits(interp_env *env, const zf_stmt *stmt) {
    uint64_t value = interp_eval_bits(env, stmt->value), count = interp_eval_bits(env, stmt->count);
    if (count > 64) interp_env_violate(env, 1, stmt->span, "push_bits of more than 64 bits");
    interp_push_bits(target_of(env, stmt), value, (unsigned)count);
}

static void push_varint(interp_env *env, const zf_stmt *stmt) {
    interp_stream *target = target_of(env, stmt);
    uint64_t value = interp_eval_bits(env, stmt->value);
    for (; value >= 128; value >>= 7) interp_stream_push(target, (value & 127) | 128);
    interp_stream_push(target, value);
}

static void set_code_lengths(interp_env *env, const zf_stmt *stmt) {
    interp *in = env->in;
    interp_seq counts = interp_eval_seq(env, stmt->value);
    interp_stream *lengths = target_of(env, stmt);
    uint64_t limit = interp_eval_bits(env, stmt->count);
    if (counts.length != lengths->count) interp_env_violate(env, 1, stmt->span, "code_lengths of arrays of unequal length");
    uint64_t *numbers = ZF_NEW_ARRAY(in->arena, uint64_t, (size_t)counts.length);
    uint8_t *bytes = ZF_NEW_ARRAY(in->arena, uint8_t, (size_t)counts.length);
    for (uint64_t k = 0; k < counts.length; k++) numbers[k] = interp_stream_get(counts.base, counts.start + k).bits;
    interp_package_merge(in, numbers, counts.length, limit > 64 ? 64 : (unsigned)limit, bytes);
    for (uint64_t k = 0; k < counts.length; k++) interp_stream_set(lengths, k, (interp_value){.bits = bytes[k]});
}

// A string appended to bytes is their piece; otherwise elements of a sequence are.
static void append(interp_env *env, const zf_stmt *stmt) {
    interp_seq seq = interp_eval_seq(env, stmt->value);
    interp_stream_append(target_of(env, stmt), seq);
}

// ---- Emit -----------------------------------------------------------------------------------------------------

static void emit_one(interp_env *env, const zf_stmt *stmt) {
    interp_value value = interp_eval(env, stmt->value);
    if (env->out_pos >= env->out_length) interp_env_violate(env, 3, stmt->span, "emit beyond out.len");
    interp_seq_check_range(env, value.seq, 0, value.seq.length);
    interp_stream_set(env->out, env->out_start + env->out_pos, value);
    env->out_pos++;
    env->position = env->out_start + env->out_pos;
}

// ---- One statement --------------------------------------------------------------------------------------------

static interp_flow exec_one(interp_env *env, const zf_stmt *stmt) {
    switch (stmt->kind) {
    case ZF_S_LET:
    case ZF_S_VAR: declare(env, stmt->local); return FLOW_ON;
    case ZF_S_ASSIGN: assign(env, stmt); return FLOW_ON;
    case ZF_S_EXPR: interp_eval(env, stmt->value); return FLOW_ON;
    case ZF_S_IF: return interp_exec(env, interp_eval_bits(env, stmt->value) ? stmt->body : stmt->else_part);
    case ZF_S_WHILE:
    case ZF_S_LOOP: return run_while(env, stmt);
    case ZF_S_FOR_RANGE: return run_for_range(env, stmt);
    case ZF_S_FOR_EACH: return run_for_each(env, stmt);
    case ZF_S_BREAK: return FLOW_BREAK;
    case ZF_S_CONTINUE: return FLOW_CONTINUE;
    case ZF_S_RETURN: env->result = stmt->value ? interp_eval(env, stmt->value) : (interp_value){0}; return FLOW_RETURN;
    case ZF_S_EMIT: emit_one(env, stmt); return FLOW_ON;
    case ZF_S_EMIT_REGION: interp_exec_emit_region(env, stmt); return FLOW_ON;
    case ZF_S_REQUIRE:
        if (!interp_eval_bits(env, stmt->value)) interp_env_violate(env, 6, stmt->span, "require");
        return FLOW_ON;
    case ZF_S_REFUSE: interp_refuse(env->in, stmt->text);
    case ZF_S_PUSH: {
        interp_value value = interp_eval(env, stmt->value);
        interp_push_value(target_of(env, stmt), value);
        return FLOW_ON;
    }
    case ZF_S_PUSH_BITS: push_bits(env, stmt); return FLOW_ON;
    case ZF_S_PUSH_VARINT: push_varint(env, stmt); return FLOW_ON;
    case ZF_S_APPEND: append(env, stmt); return FLOW_ON;
    case ZF_S_REVERSE: interp_stream_reverse(target_of(env, stmt), target_start(env, stmt)); return FLOW_ON;
    case ZF_S_SORT: interp_stream_sort(target_of(env, stmt)); return FLOW_ON;
    case ZF_S_RESULT: interp_exec_result(env, stmt); return FLOW_ON;
    case ZF_S_SELECT: interp_exec_select(env, stmt); return FLOW_ON;
    case ZF_S_CODE_LENGTHS: set_code_lengths(env, stmt); return FLOW_ON;
    }
    interp_stop(env->in, INTERP_MISUSE, "an unknown statement");
}

interp_flow interp_exec(interp_env *env, const zf_stmt *stmts) {
    for (const zf_stmt *stmt = stmts; stmt; stmt = stmt->next) {
        interp_flow flow = exec_one(env, stmt);
        if (flow != FLOW_ON) return flow;
    }
    return FLOW_ON;
}

interp_value interp_run_body(interp_env *env, const zf_body *body) {
    if (interp_exec(env, body->stmts) == FLOW_RETURN) return env->result;
    return body->value ? interp_eval(env, body->value) : (interp_value){0};
}
