// The function of a query: rows, what they read, and what they give to results.
#include "codegen/query/cg_query.h"

#include <stddef.h>

#include "codegen/body/cg_emit.h"

// A stream's pointers and length, which hold for the whole function.
typedef struct stream {
    LLVMValueRef v_values, v_validity, v_offsets, v_length;
} stream;

typedef struct held {
    LLVMValueRef v_words, v_touched, v_lanes, v_lengths[ZF_QUERY_DIMENSIONS];
} held;

typedef struct query_env {
    zf_cg_env env; ///< first: callbacks get a pointer to it
    const zf_query *query;
    LLVMValueRef v_frame, v_first_row;
    LLVMValueRef v_i;       ///< of the row, in the streams; of pairs the number of those before
    LLVMValueRef v_pair[2]; ///< of pairs: the values of both binders; NULL: not there yet
    stream *streams;
    LLVMValueRef *v_params;
    held *held;
    LLVMBasicBlockRef bb_stop; ///< leaves at once
} query_env;

#define FIELD(member) zf_cg_byte_at(cg, e->v_frame, offsetof(zf_query_frame, member))

static LLVMValueRef load_at(zf_cg *cg, LLVMTypeRef ty, LLVMValueRef v_struct, size_t offset) {
    return zf_cg_load(cg, ty, zf_cg_byte_at(cg, v_struct, offset), 8);
}

static LLVMValueRef row_of_table(zf_cg *cg, const query_env *e) {
    return e->query->pairs != NULL ? e->v_i : zf_cg_add(cg, e->v_first_row, e->v_i);
}

// ---- Failing --------------------------------------------------------------------------------------------------

static void stop_unless(zf_cg *cg, query_env *e, LLVMValueRef v_ok, unsigned violation, zf_span span) {
    if (LLVMIsAConstantInt(v_ok) && LLVMConstIntGetZExtValue(v_ok) != 0) return;
    LLVMBasicBlockRef bb_on = zf_cg_block(cg, "on"), bb_fail = zf_cg_block(cg, "fail");
    zf_cg_cond_br(cg, v_ok, bb_on, bb_fail);
    zf_cg_enter(cg, bb_fail);
    zf_cg_store(cg, zf_cg_i64(cg, violation), FIELD(violation), 8);
    zf_cg_store(cg, zf_cg_i64(cg, zf_codegen_query_place(span)), FIELD(place), 8);
    zf_cg_store(cg, row_of_table(cg, e), FIELD(row), 8);
    for (unsigned k = 0; k < 2 && e->v_pair[k] != NULL; k++) zf_cg_store(cg, e->v_pair[k], FIELD(pair[k]), 8);
    zf_cg_br(cg, e->bb_stop);
    zf_cg_enter(cg, bb_on);
}

static LLVMValueRef check(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at) {
    (void)at;
    stop_unless(cg, (query_env *)env, v_ok, violation, span);
    return NULL;
}

// ---- Columns, inputs, params -------------------------------------------------------------------------------------------

static zf_cg_value param(zf_cg *cg, zf_cg_env *env, const zf_port *port) {
    LLVMValueRef v_word = ((query_env *)env)->v_params[port->slot];
    return zf_cg_scalar(port->type, zf_cg_from_word(cg, port->type, v_word));
}

static LLVMValueRef domain(zf_cg *cg, zf_cg_env *env, const zf_local *local) {
    const query_env *e = (query_env *)env;
    return local->kind == ZF_L_ROW ? row_of_table(cg, e) : e->v_i;
}

static LLVMValueRef length(zf_cg *cg, zf_cg_env *env, const zf_port *port) {
    return port == NULL ? zf_cg_i64(cg, 0) : ((query_env *)env)->streams[port->slot].v_length;
}

static zf_cg_value element(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef v_index, const zf_expr *access) {
    (void)access;
    const stream *s = &((query_env *)env)->streams[port->slot];
    zf_cg_value value = {.type = port->type};
    if (port->type.kind == ZF_K_STRING) {
        LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i64, s->v_offsets, v_index);
        LLVMValueRef v_begin = zf_cg_load(cg, cg->ty_i64, v_at, 8);
        LLVMValueRef v_end = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_at, 8), 8);
        value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = zf_type_of(ZF_K_U8), .v_data = s->v_values};
        value.seq.v_start = v_begin;
        value.seq.v_length = zf_cg_sub(cg, v_end, v_begin);
    } else if (port->type.kind == ZF_K_BOOL) {
        value.v = zf_cg_bit_at(cg, s->v_values, v_index);
    } else {
        LLVMTypeRef ty = zf_cg_memory_type(cg, port->type);
        value.v = zf_cg_load(cg, ty, zf_cg_at(cg, ty, s->v_values, v_index), zf_kind_size(port->type.kind));
    }
    if (port->type.nullable) value.v_valid = zf_cg_bit_at(cg, s->v_validity, v_index);
    return value;
}

// ---- Results --------------------------------------------------------------------------------------------------

static void give_number(zf_cg *cg, const zf_query_result *result, LLVMValueRef v_at, LLVMValueRef v_touched, LLVMValueRef v) {
    bool is_signed = result->type.kind == ZF_K_I64;
    LLVMValueRef v_old = zf_cg_load(cg, cg->ty_i64, v_at, 8), v_new = v;
    switch (result->kind) {
    case ZF_Q_SUM: v_new = zf_cg_add(cg, v_old, v); break;
    case ZF_Q_XOR: v_new = LLVMBuildXor(cg->builder, v_old, v, ""); break;
    case ZF_Q_ANY: v_new = zf_cg_or(cg, v_old, v); break;
    case ZF_Q_ALL: v_new = zf_cg_and(cg, v_old, v); break;
    case ZF_Q_MIN:
    case ZF_Q_MAX: {
        LLVMIntPredicate below = is_signed ? LLVMIntSLT : LLVMIntULT, above = is_signed ? LLVMIntSGT : LLVMIntUGT;
        LLVMValueRef v_better = zf_cg_icmp(cg, result->kind == ZF_Q_MIN ? below : above, v, v_old);
        LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_load(cg, cg->ty_i8, v_touched, 1), LLVMConstNull(cg->ty_i8));
        v_new = zf_cg_select(cg, zf_cg_or(cg, v_first, v_better), v, v_old);
        break;
    }
    default: break;
    }
    zf_cg_store(cg, v_new, v_at, 8);
}

// Gives element v_at of a result a row's value.
static void give(zf_cg *cg, query_env *e, const zf_stmt *stmt, LLVMValueRef v_at, const zf_cg_value *value) {
    const zf_query_result *result = stmt->result;
    const held *h = &e->held[result->index];
    LLVMValueRef v_touched = zf_cg_at(cg, cg->ty_i8, h->v_touched, v_at), v_word = zf_cg_at(cg, cg->ty_i64, h->v_words, v_at);
    if (result->type.kind == ZF_K_F64 && (result->kind == ZF_Q_MIN || result->kind == ZF_Q_MAX)) {
        LLVMValueRef v_args[3] = {v_word, v_touched, value->v};
        zf_cg_call(cg, result->kind == ZF_Q_MIN ? "zf_cg_query_min" : "zf_cg_query_max", cg->ty_void, v_args, 3);
        return;
    }
    if (result->type.kind == ZF_K_F64 && result->kind == ZF_Q_SUM) {
        LLVMValueRef v_lane = zf_cg_and(cg, row_of_table(cg, e), zf_cg_i64(cg, ZF_QUERY_LANES - 1));
        LLVMValueRef v_first = zf_cg_mul(cg, v_at, zf_cg_i64(cg, ZF_QUERY_LANES));
        LLVMValueRef v_sum = zf_cg_at(cg, cg->ty_f64, h->v_lanes, zf_cg_add(cg, v_first, v_lane));
        zf_cg_store(cg, LLVMBuildFAdd(cg->builder, zf_cg_load(cg, cg->ty_f64, v_sum, 8), value->v, ""), v_sum, 8);
    } else {
        if (result->kind == ZF_Q_SET) {
            LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_load(cg, cg->ty_i8, v_touched, 1), LLVMConstNull(cg->ty_i8));
            stop_unless(cg, e, v_none, 28, stmt->span);
        }
        give_number(cg, result, v_word, v_touched, zf_cg_to_word(cg, result->type, value->v));
    }
    zf_cg_store(cg, LLVMConstInt(cg->ty_i8, 1, 0), v_touched, 1);
}

static void give_result(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    query_env *e = (query_env *)frame->env;
    const held *h = &e->held[stmt->result->index];
    LLVMValueRef v_at = zf_cg_i64(cg, 0);
    for (uint32_t d = 0; d < stmt->value_count; d++) {
        LLVMValueRef v_index = zf_cg_expr(cg, frame, stmt->values[d]).v;
        stop_unless(cg, e, zf_cg_icmp(cg, LLVMIntULT, v_index, h->v_lengths[d]), 1, stmt->values[d]->span);
        v_at = d == 0 ? v_index : zf_cg_add(cg, zf_cg_mul(cg, v_at, h->v_lengths[d]), v_index);
    }
    zf_cg_value value = zf_cg_expr(cg, frame, stmt->value);
    if (stmt->result->kind == ZF_Q_MASK)
        zf_cg_store(cg, zf_cg_resize(cg, value.v, cg->ty_i8, false), zf_cg_at(cg, cg->ty_i8, h->v_touched, e->v_i), 1);
    else
        give(cg, e, stmt, v_at, &value);
}

static void select_row(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    query_env *e = (query_env *)frame->env;
    LLVMValueRef v_words = zf_cg_alloca(cg, LLVMArrayType2(cg->ty_i64, stmt->value_count), "selected");
    for (uint32_t k = 0; k < stmt->value_count; k++) {
        zf_cg_value value = zf_cg_expr(cg, frame, stmt->values[k]);
        zf_cg_store(cg, zf_cg_to_word(cg, value.type, value.v), zf_cg_byte_at(cg, v_words, 8 * k), 8);
    }
    LLVMValueRef v_args[2] = {e->v_frame, v_words};
    LLVMValueRef v_done = zf_cg_call(cg, "zf_cg_query_select", cg->ty_i64, v_args, 2);
    stop_unless(cg, e, zf_cg_icmp(cg, LLVMIntNE, v_done, zf_cg_i64(cg, 0)), ZF_QUERY_NO_MEMORY, stmt->span);
}

static bool statement(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    if (stmt->kind == ZF_S_RESULT)
        give_result(cg, frame, stmt);
    else if (stmt->kind == ZF_S_SELECT)
        select_row(cg, frame, stmt);
    else
        return false;
    return true;
}

// ---- The function ---------------------------------------------------------------------------------------------

static void load_frame(zf_cg *cg, query_env *e) {
    const zf_inst *inst = e->query->inst;
    e->streams = ZF_NEW_ARRAY(cg->arena, stream, inst->stream_count + 1);
    e->v_params = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, inst->param_count + 1);
    e->held = ZF_NEW_ARRAY(cg->arena, held, e->query->result_count + 1);
    LLVMValueRef v_streams = zf_cg_load(cg, cg->ty_ptr, FIELD(streams), 8),
                 v_params = zf_cg_load(cg, cg->ty_ptr, FIELD(params), 8);
    LLVMValueRef v_held = zf_cg_load(cg, cg->ty_ptr, FIELD(held), 8);
    e->v_first_row = zf_cg_load(cg, cg->ty_i64, FIELD(first_row), 8);
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        LLVMValueRef v_at = zf_cg_byte_at(cg, v_streams, s * sizeof(zf_query_stream));
        e->streams[s] = (stream){.v_values = load_at(cg, cg->ty_ptr, v_at, offsetof(zf_query_stream, values)),
                                 .v_validity = load_at(cg, cg->ty_ptr, v_at, offsetof(zf_query_stream, validity)),
                                 .v_offsets = load_at(cg, cg->ty_ptr, v_at, offsetof(zf_query_stream, offsets)),
                                 .v_length = load_at(cg, cg->ty_i64, v_at, offsetof(zf_query_stream, length))};
    }
    for (uint32_t p = 0; p < inst->param_count; p++) e->v_params[p] = load_at(cg, cg->ty_i64, v_params, 8 * (size_t)p);
    for (uint32_t k = 0; k < e->query->result_count; k++) {
        LLVMValueRef v_at = zf_cg_byte_at(cg, v_held, k * sizeof(zf_query_held));
        held *h = &e->held[k];
        h->v_words = load_at(cg, cg->ty_ptr, v_at, offsetof(zf_query_held, words));
        h->v_touched = load_at(cg, cg->ty_ptr, v_at, offsetof(zf_query_held, touched));
        h->v_lanes = load_at(cg, cg->ty_ptr, v_at, offsetof(zf_query_held, lanes));
        for (uint32_t d = 0; d < e->query->results[k].dimensions; d++)
            h->v_lengths[d] = load_at(cg, cg->ty_i64, v_at, offsetof(zf_query_held, lengths) + 8 * (size_t)d);
    }
}

static void run_rows(zf_cg *cg, query_env *e) {
    LLVMValueRef v_begin = zf_cg_load(cg, cg->ty_i64, FIELD(begin), 8), v_end = zf_cg_load(cg, cg->ty_i64, FIELD(end), 8);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_begin, v_end, "row");
    e->v_i = loop.v_i;
    zf_cg_eval_body(cg, &e->env, &e->query->inst->decode);
    zf_cg_loop_end(cg, &loop);
}

// Begins the loop over the numbers of a binder.
static void begin_binder(zf_cg *cg, query_env *e, zf_cg_frame *frame, unsigned k, zf_cg_range_loop *loop) {
    zf_cg_range range = zf_cg_range_make(cg, frame, &e->query->pairs[k]);
    LLVMValueRef v_least = zf_cg_load(cg, cg->ty_i64, FIELD(begin), 8);
    if (k == 0) range.v_lo = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, range.v_lo, v_least), v_least, range.v_lo);
    zf_cg_range_begin(cg, loop, &range, "pair");
    zf_cg_value value = zf_cg_scalar(zf_type_of(ZF_K_U64), loop->v_i);
    zf_cg_bind(cg, frame, e->query->pairs[k].local, &value);
    e->v_pair[k] = loop->v_i;
}

static void run_pairs(zf_cg *cg, query_env *e) {
    const zf_body *body = &e->query->inst->decode;
    zf_cg_frame frame = zf_cg_frame_make(cg, &e->env, body);
    LLVMValueRef v_count = zf_cg_alloca(cg, cg->ty_i64, "pairs");
    zf_cg_range_loop loops[2];
    zf_cg_arrays_begin(cg);
    e->v_i = zf_cg_i64(cg, 0);
    LLVMBuildStore(cg->builder, e->v_i, v_count);
    for (unsigned k = 0; k < 2; k++) {
        begin_binder(cg, e, &frame, k, &loops[k]);
        e->v_i = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_count, "");
    }
    zf_cg_run(cg, &frame, body->stmts, NULL, body->returns_inside, zf_type_of(ZF_K_NONE));
    LLVMBuildStore(cg->builder, zf_cg_add(cg, e->v_i, zf_cg_i64(cg, 1)), v_count);
    zf_cg_range_end(cg, &loops[1]);
    zf_cg_range_end(cg, &loops[0]);
    zf_cg_arrays_end(cg);
    zf_cg_store(cg, LLVMBuildLoad2(cg->builder, cg->ty_i64, v_count, ""), FIELD(row), 8);
}

// Says of each number of A which numbers of B there are.
static void run_bounds(zf_cg *cg, query_env *e) {
    zf_cg_frame frame = zf_cg_frame_make(cg, &e->env, &e->query->inst->decode);
    zf_cg_range_loop loop;
    zf_cg_arrays_begin(cg);
    e->v_i = zf_cg_i64(cg, 0);
    begin_binder(cg, e, &frame, 0, &loop);
    zf_cg_range range = zf_cg_range_make(cg, &frame, &e->query->pairs[1]);
    LLVMValueRef v_args[5] = {e->v_frame, loop.v_i, range.v_lo, range.v_hi, zf_cg_i64(cg, range.inclusive)};
    LLVMValueRef v_fault = zf_cg_call(cg, "zf_cg_query_pairs", cg->ty_i64, v_args, 5);
    LLVMBasicBlockRef bb_on = zf_cg_block(cg, "on"), bb_fail = zf_cg_block(cg, "fail");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_fault, zf_cg_i64(cg, 0)), bb_on, bb_fail);
    zf_cg_enter(cg, bb_fail);
    zf_cg_store(cg, v_fault, FIELD(violation), 8);
    zf_cg_br(cg, e->bb_stop);
    zf_cg_enter(cg, bb_on);
    zf_cg_range_end(cg, &loop);
    zf_cg_arrays_end(cg);
}

static void build(zf_cg *cg, const zf_query *query, void (*run)(zf_cg *cg, query_env *e)) {
    LLVMTypeRef ty = LLVMFunctionType(cg->ty_void, &cg->ty_ptr, 1, 0);
    zf_cg_begin_function(cg, LLVMAddFunction(cg->module, ZF_CG_QUERY_NAME, ty));
    query_env env = {.env = {.inst = query->inst,
                             .param = param,
                             .domain = domain,
                             .element = element,
                             .length = length,
                             .check = check,
                             .stmt = statement},
                     .query = query};
    query_env *e = &env;
    e->v_frame = LLVMGetParam(cg->function, 0);
    zf_cg_enter(cg, zf_cg_block(cg, "entry"));
    e->bb_stop = zf_cg_block(cg, "stop");
    LLVMBasicBlockRef bb_rows = zf_cg_block(cg, "rows");
    load_frame(cg, e);
    zf_cg_br(cg, bb_rows);
    zf_cg_enter(cg, bb_rows);
    run(cg, e);
    zf_cg_br(cg, e->bb_stop);
    LLVMMoveBasicBlockAfter(e->bb_stop, zf_cg_here(cg));
    zf_cg_enter(cg, e->bb_stop);
    LLVMBuildRetVoid(cg->builder);
}

void zf_cg_query(zf_cg *cg, const zf_query *query) { build(cg, query, query->pairs != NULL ? run_pairs : run_rows); }
void zf_cg_query_bounds(zf_cg *cg, const zf_query *query) { build(cg, query, run_bounds); }
