// A query over the rows of a table: its statements are run row by row, its results are kept as docs/queries.md says.
#include <string.h>

#include "tests/interp/interp_internal.h"

enum { LANES = 32, TILE = 1024, MOST_ELEMENTS = 1 << 20 };

/// A result while rows are run.
typedef struct interp_held {
    const zf_query_result *result;
    uint64_t lengths[ZF_QUERY_DIMENSIONS], count; ///< elements; of masks and selections those so far
    uint64_t *bits;
    uint8_t *touched;       ///< a row gave the element a value
    double (*lanes)[LANES]; ///< f64 sums: of the tile, an element after the other
    interp_stream *rows;    ///< MASK, SELECT
} interp_held;

typedef struct interp_querying {
    const interp_query_call *call;
    interp_held *held;
    uint64_t row;
} interp_querying;

static double float_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return value != value ? UINT64_C(0x7ff8000000000000) : bits;
}

static bool is_float_sum(const zf_query_result *result) { return result->kind == ZF_Q_SUM && result->type.kind == ZF_K_F64; }

static void begin(interp_env *env, interp_held *held) {
    interp *in = env->in;
    held->count = 1;
    for (uint32_t d = 0; d < held->result->dimensions; d++) {
        held->lengths[d] = interp_eval_bits(env, held->result->lengths[d]);
        if (held->lengths[d] == 0 || held->lengths[d] > MOST_ELEMENTS / held->count)
            interp_stop(in, INTERP_LIMIT, "an array of results without elements, or with too many");
        held->count *= held->lengths[d];
    }
    held->bits = ZF_NEW_ARRAY(in->arena, uint64_t, held->count);
    held->touched = ZF_NEW_ARRAY(in->arena, uint8_t, held->count);
    if (is_float_sum(held->result)) held->lanes = zf_arena_alloc(in->arena, held->count * sizeof *held->lanes);
    if (held->lanes != NULL) memset(held->lanes, 0, held->count * sizeof *held->lanes);
    for (uint64_t k = 0; k < held->count; k++) held->bits[k] = held->result->kind == ZF_Q_ALL;
    bool by_row = held->result->kind == ZF_Q_MASK || held->result->kind == ZF_Q_SELECT;
    if (by_row) held->rows = interp_stream_new(in, held->result->type);
}

// For d = 16, 8, 4, 2, 1: lane l below d adds lane l + d.
static void end_tile(interp_held *held) {
    for (uint64_t k = 0; held->lanes != NULL && k < held->count; k++) {
        double *lanes = held->lanes[k];
        for (unsigned d = LANES / 2; d > 0; d /= 2)
            for (unsigned l = 0; l < d; l++) lanes[l] += lanes[l + d];
        held->bits[k] = bits_of(float_of(held->bits[k]) + lanes[0]);
        memset(lanes, 0, sizeof *held->lanes);
    }
}

// Whether a is the smaller for `min`: -0.0 is below 0.0.
static bool is_below(zf_kind kind, uint64_t a, uint64_t b) {
    if (kind == ZF_K_F64 && float_of(a) == float_of(b)) return a >> 63 > b >> 63;
    return interp_value_less(kind, a, b);
}

static void give_value(interp_env *env, interp_held *held, uint64_t at, uint64_t bits, const zf_stmt *stmt) {
    zf_kind kind = held->result->type.kind;
    uint64_t *now = &held->bits[at];
    bool nan = kind == ZF_K_F64 && float_of(bits) != float_of(bits), first = !held->touched[at];
    switch (held->result->kind) {
    case ZF_Q_SUM:
        if (held->lanes != NULL)
            held->lanes[at][env->query->row % LANES] += float_of(bits);
        else
            *now += bits;
        break;
    case ZF_Q_MIN:
        if (nan) return;
        if (first || is_below(kind, bits, *now)) *now = bits;
        break;
    case ZF_Q_MAX:
        if (nan) return;
        if (first || is_below(kind, *now, bits)) *now = bits;
        break;
    case ZF_Q_XOR: *now ^= bits; break;
    case ZF_Q_ANY: *now |= bits; break;
    case ZF_Q_ALL: *now &= bits; break;
    case ZF_Q_SET:
        if (!first) interp_env_violate(env, 28, stmt->span, "a second value of an element");
        *now = kind == ZF_K_F64 ? bits_of(float_of(bits)) : bits;
        break;
    default: break;
    }
    held->touched[at] = 1;
}

void interp_exec_result(interp_env *env, const zf_stmt *stmt) {
    interp_held *held = &env->query->held[stmt->result->index];
    uint64_t at = 0;
    for (uint32_t d = 0; d < stmt->value_count; d++) {
        uint64_t index = interp_eval_bits(env, stmt->values[d]);
        if (index >= held->lengths[d]) interp_env_violate(env, 1, stmt->values[d]->span, "index of a result");
        at = at * held->lengths[d] + index;
    }
    uint64_t bits = interp_eval_bits(env, stmt->value);
    if (held->result->kind == ZF_Q_MASK)
        interp_stream_set(held->rows, env->query->row - env->query->call->first_row, of_bits(bits));
    else
        give_value(env, held, at, bits, stmt);
}

void interp_exec_select(interp_env *env, const zf_stmt *stmt) {
    const zf_query *query = env->query->call->query;
    for (uint32_t k = 0; k < query->result_count; k++) {
        if (query->results[k].kind != ZF_Q_SELECT) continue;
        uint64_t bits = interp_eval_bits(env, stmt->values[query->results[k].column]);
        if (query->results[k].type.kind == ZF_K_F64) bits = bits_of(float_of(bits));
        interp_stream_push(env->query->held[k].rows, bits);
    }
}

uint64_t interp_query_row(const interp_env *env) { return env->query->row; }

static interp_env env_of(interp *in, interp_querying *querying) {
    const interp_query_call *call = querying->call;
    const zf_inst *inst = call->query->inst;
    interp_env env = {.in = in, .inst = inst, .path = "", .work_limit = UINT64_MAX, .query = querying};
    env.params = ZF_NEW_ARRAY(in->arena, uint64_t, inst->param_count + 1);
    for (uint32_t p = 0; p < inst->param_count; p++)
        env.params[p] = interp_value_mask(inst->params[p]->type.kind, call->params[p]);
    env.streams = (interp_stream **)(uintptr_t)call->streams;
    env.ranges = ZF_NEW_ARRAY(in->arena, interp_range, inst->stream_count + 1);
    env.slot_count = inst->decode.local_count;
    env.slots = ZF_NEW_ARRAY(in->arena, interp_slot, env.slot_count + 1);
    env.out_length = call->rows;
    return env;
}

typedef struct running {
    interp_env *env;
    interp_querying *querying;
} running;

static void run_pairs(running *r) {
    const zf_query *query = r->querying->call->query;
    const zf_binder *first = &query->pairs[0], *second = &query->pairs[1];
    uint64_t from, count, inner_from, inner;
    interp_binder_bounds(r->env, first, &from, &count);
    for (uint64_t k = 0; k < count; k++) {
        interp_env_slot(r->env, first->local)->value = (interp_value){.bits = from + k};
        interp_binder_bounds(r->env, second, &inner_from, &inner);
        for (uint64_t j = 0; j < inner; j++) {
            interp_env_slot(r->env, second->local)->value = (interp_value){.bits = inner_from + j};
            interp_run_body(r->env, &query->inst->decode);
            r->env->i = r->env->position = ++r->querying->row;
        }
    }
}

static void run_rows(void *argument) {
    running *r = argument;
    const interp_query_call *call = r->querying->call;
    if (call->query->pairs != NULL) {
        run_pairs(r);
        return;
    }
    for (uint64_t i = 0; i < call->rows; i++) {
        r->env->i = r->env->position = i;
        r->querying->row = call->first_row + i;
        interp_run_body(r->env, &call->query->inst->decode);
        bool ends = (r->querying->row + 1) % TILE == 0 || i + 1 == call->rows;
        for (uint32_t k = 0; ends && k < call->query->result_count; k++) end_tile(&r->querying->held[k]);
    }
}

typedef struct asked {
    interp *in;
    const interp_query_call *call;
    interp_answer *answers;
    bool good;
} asked;

static void run_query(void *argument) {
    asked *a = argument;
    const zf_query *query = a->call->query;
    interp_querying querying = {.call = a->call};
    querying.held = ZF_NEW_ARRAY(a->in->arena, interp_held, query->result_count + 1);
    interp_env env = env_of(a->in, &querying);
    for (uint32_t k = 0; k < query->result_count; k++) {
        querying.held[k].result = &query->results[k];
        begin(&env, &querying.held[k]);
        if (query->results[k].kind == ZF_Q_MASK) interp_stream_resize(querying.held[k].rows, a->call->rows);
    }
    a->good = interp_try(a->in, run_rows, &(running){&env, &querying});
    for (uint32_t k = 0; k < query->result_count; k++) {
        const interp_held *held = &querying.held[k];
        bool by_row = held->rows != NULL;
        a->answers[k] = (interp_answer){.count = by_row ? interp_stream_count(held->rows) : held->count,
                                        .bits = by_row ? NULL : held->bits,
                                        .touched = by_row ? NULL : held->touched,
                                        .rows = held->rows};
    }
}

interp_status interp_query(interp *in, const interp_query_call *call, interp_answer *answers, interp_report *report) {
    asked a = {.in = in, .call = call, .answers = answers};
    *report = (interp_report){.message = ""};
    interp_status status = interp_enter(in, run_query, &a);
    if (status != INTERP_OK) {
        report->message = in->stop_message;
        return status;
    }
    if (a.good) return INTERP_OK;
    report->violation = in->violation;
    report->root_position = in->violation.position;
    return INTERP_VIOLATION;
}
