// Emit regions: the room is checked once, before; every term sees the chunk as it was when the statement began.
#include "tests/interp/interp_internal.h"

static uint64_t add_room(interp_env *env, const zf_stmt *stmt, uint64_t total, uint64_t more) {
    uint64_t left = env->out_length - env->out_pos;
    if (more > left || total > left - more) interp_env_violate(env, 3, stmt->span, "emit beyond out.len");
    return total + more;
}

// Elements that the region appends.
static uint64_t region_size(interp_env *env, const zf_stmt *stmt, uint64_t lo, uint64_t count) {
    const zf_reduce *reduce = stmt->reduce;
    if (reduce->binder_count == 1) return add_room(env, stmt, 0, count);
    uint64_t total = 0;
    for (uint64_t r = 0; r < count; r++) {
        uint64_t from, inner;
        interp_env_work(env, 1, stmt->span); // inner ranges may all be empty
        interp_env_slot(env, reduce->binders[0].local)->value = (interp_value){.bits = lo + r};
        if (!interp_binder_bounds(env, &reduce->binders[1], &from, &inner)) inner = UINT64_MAX;
        total = add_room(env, stmt, total, inner);
    }
    return total;
}

static void put(interp_env *env, const zf_stmt *stmt, uint64_t at) {
    interp_value value = interp_eval(env, stmt->reduce->term);
    interp_seq_check_range(env, value.seq, 0, value.seq.length);
    interp_stream_set(env->out, env->out_start + env->out_pos + at, value);
}

void interp_exec_emit_region(interp_env *env, const zf_stmt *stmt) {
    const zf_reduce *reduce = stmt->reduce, *outer = env->emit;
    env->emit = reduce;
    env->emit_serial++; // kept prefixes belong to one statement
    uint64_t lo, count;
    if (!interp_binder_bounds(env, &reduce->binders[0], &lo, &count)) count = UINT64_MAX;
    uint64_t total = region_size(env, stmt, lo, count), at = 0;
    for (uint64_t r = 0; r < count; r++) {
        interp_env_slot(env, reduce->binders[0].local)->value = (interp_value){.bits = lo + r};
        if (reduce->binder_count == 1) {
            put(env, stmt, at++);
            continue;
        }
        uint64_t from, inner;
        interp_binder_bounds(env, &reduce->binders[1], &from, &inner);
        for (uint64_t j = 0; j < inner; j++) {
            interp_env_slot(env, reduce->binders[1].local)->value = (interp_value){.bits = from + j};
            put(env, stmt, at++);
        }
    }
    env->emit = outer;
    env->out_pos += total;
    env->position = env->out_start + env->out_pos;
}
