// Kernels of chunks on the host: a tile is a chunk (or a few, where booleans would share a byte), walked from its streams'
// starts, which the directory says, to its last output. Lanes are one after the other here: that is what the language means by
// them.
#include "codegen/kernel/kernel_chunks.h"

#include <string.h>

// ---- Failing --------------------------------------------------------------------------------------------------

void zf_chunk_stop_unless(zf_kernel_build *lower, LLVMValueRef v_ok, uint32_t number) {
    zf_cg *cg = lower->cg;
    if (LLVMIsAConstantInt(v_ok) && LLVMConstIntGetZExtValue(v_ok) != 0) return;
    if (cg->put_off != NULL) { // whoever puts checks off does not ask which failed
        zf_cg_put_off_check(cg, v_ok);
        return;
    }
    LLVMBasicBlockRef bb_on = zf_cg_block(cg, "on"), bb_fail = zf_cg_block(cg, "fail");
    zf_cg_cond_br(cg, v_ok, bb_on, bb_fail);
    if (lower->host != NULL) zf_cg_expect(cg, true);
    LLVMMoveBasicBlockAfter(bb_on, zf_cg_here(cg));
    zf_cg_enter(cg, bb_fail);
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, number), lower->v_fail);
    zf_cg_br(cg, lower->chunk->bb_stop);
    zf_cg_enter(cg, bb_on);
}

void zf_chunk_note(zf_chunk *chunk, LLVMValueRef v_ok) {
    zf_cg *cg = chunk->env.lower->cg;
    LLVMValueRef v_failed = LLVMBuildLoad2(cg->builder, cg->ty_i1, chunk->notes->v_failed, "");
    LLVMBuildStore(cg->builder, zf_cg_or(cg, v_failed, zf_cg_not(cg, v_ok)), chunk->notes->v_failed);
    chunk->notes->some = true;
}

static LLVMValueRef note_check(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_ok, unsigned violation, zf_span span,
                               const zf_expr *at) {
    (void)cg, (void)violation, (void)span, (void)at;
    zf_chunk_note(zf_chunk_of(env), v_ok);
    return v_ok;
}

void zf_chunk_notes_begin(zf_chunk *chunk, zf_chunk_notes *notes) {
    zf_cg *cg = chunk->env.lower->cg;
    *notes = (zf_chunk_notes){.v_failed = zf_cg_alloca(cg, cg->ty_i1, "noted"),
                              .check = chunk->env.env.check,
                              .v_guard = cg->v_guard,
                              .outer = chunk->notes};
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), notes->v_failed);
    chunk->notes = notes;
    chunk->env.env.check = note_check;
}

void zf_chunk_notes_end(zf_chunk *chunk) {
    chunk->env.env.check = chunk->notes->check;
    chunk->env.lower->cg->v_guard = chunk->notes->v_guard;
    chunk->notes = chunk->notes->outer;
}

// A number (i64) in a slot of 32 or 64 bits.
static LLVMValueRef number_in(const zf_chunk *chunk, LLVMValueRef v_slot) {
    zf_cg *cg = chunk->env.lower->cg;
    return zf_cg_resize(cg, LLVMBuildLoad2(cg->builder, LLVMGetAllocatedType(v_slot), v_slot, ""), cg->ty_i64, false);
}

static void set_number(const zf_chunk *chunk, LLVMValueRef v_slot, LLVMValueRef v) {
    zf_cg *cg = chunk->env.lower->cg;
    LLVMBuildStore(cg->builder, zf_cg_resize(cg, v, LLVMGetAllocatedType(v_slot), false), v_slot);
}

LLVMValueRef zf_chunk_work_left(const zf_chunk *chunk) { return number_in(chunk, chunk->v_work); }

void zf_chunk_set_work_left(const zf_chunk *chunk, LLVMValueRef v) { set_number(chunk, chunk->v_work, v); }

void zf_chunk_work(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_count, zf_span span) {
    zf_chunk *chunk = zf_chunk_of(env);
    LLVMValueRef v_left = zf_chunk_work_left(chunk);
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntUGE, v_left, v_count);
    if (cg->put_off != NULL && cg->put_off->of_loop)
        zf_cg_put_off_turns(cg, zf_cg_holds(cg, ZF_SITE_CHECK, v_ok, "turns of a walk"));
    else
        zf_cg_check(cg, env, v_ok, 10, span, NULL);
    zf_chunk_set_work_left(chunk, zf_cg_sub(cg, v_left, v_count));
    chunk->counted = true;
}

// ---- The environment ------------------------------------------------------------------------------------------

static LLVMValueRef domain(zf_cg *cg, zf_cg_env *env, const zf_local *local) {
    const zf_chunk *chunk = zf_chunk_of(env);
    LLVMValueRef v = local->kind == ZF_L_CHUNK      ? chunk->v_number
                     : local->kind == ZF_L_LANE     ? chunk->v_lane
                     : local->kind == ZF_L_DOMAIN_I ? chunk->env.v_i
                                                    : NULL;
    if (v != NULL) return v;
    zf_cg_unsupported(cg, local->span, "`%s` has no value here", local->name);
    return zf_cg_i64(cg, 0);
}

static LLVMValueRef length(zf_cg *cg, zf_cg_env *env, const zf_port *port) {
    zf_chunk *chunk = zf_chunk_of(env);
    if (port == NULL) return chunk->v_count;
    return port->per_chunk ? chunk->streams[port->slot].v_length : chunk->block_length(cg, env, port);
}

static zf_cg_value element(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef v_index, const zf_expr *access) {
    zf_chunk *chunk = zf_chunk_of(env);
    (void)access; // an index of the chunk's is none of the block's
    if (port->per_chunk) v_index = zf_cg_add(cg, chunk->streams[port->slot].v_first, v_index);
    return chunk->block_element(cg, env, port, v_index, NULL);
}

static LLVMValueRef bits(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef v_at, LLVMValueRef v_count,
                         const zf_expr *access) {
    zf_chunk *chunk = zf_chunk_of(env);
    if (port->per_chunk) {
        uint64_t width = port->type.kind == ZF_K_BOOL ? 1 : zf_kind_bits(port->type.kind);
        v_at = zf_cg_add(cg, v_at, zf_cg_mul(cg, chunk->streams[port->slot].v_first, zf_cg_i64(cg, width)));
    }
    return chunk->block_bits(cg, env, port, v_at, v_count, access);
}

// ---- Emitted elements -----------------------------------------------------------------------------------------

LLVMValueRef zf_chunk_emitted(const zf_chunk *chunk) { return number_in(chunk, chunk->v_pos); }

void zf_chunk_set_emitted(const zf_chunk *chunk, LLVMValueRef v_pos) { set_number(chunk, chunk->v_pos, v_pos); }

static bool stores_bits(const zf_chunk *chunk) { return chunk->env.lower->type.kind == ZF_K_BOOL; }

/// `out`: elements in memory; booleans are bits there, which go through `out_bit`.
static zf_cg_value out_sequence(zf_cg *cg, const zf_chunk *chunk) {
    const zf_kernel_build *lower = chunk->env.lower;
    zf_type type = zf_type_strip(lower->type);
    zf_cg_value value = {.type = type, .is_seq = true};
    value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_OUT, .type = type, .v_length = zf_chunk_emitted(chunk)};
    if (!stores_bits(chunk)) {
        value.seq.kind = ZF_CG_SEQ_MEMORY;
        value.seq.v_data = zf_cg_at_sink(cg, zf_cg_memory_type(cg, type), lower->v_sink, chunk->v_start);
    }
    return value;
}

static zf_cg_value out_bit(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_index, const zf_expr *access) {
    (void)access;
    const zf_chunk *chunk = zf_chunk_of(env);
    LLVMValueRef v_bit = zf_cg_add(cg, chunk->v_start, v_index);
    LLVMValueRef v_at = LLVMBuildLShr(cg->builder, v_bit, zf_cg_i64(cg, 3), "");
    LLVMValueRef v_byte = zf_cg_load(cg, cg->ty_i8, zf_cg_at_sink(cg, cg->ty_i8, chunk->env.lower->v_sink, v_at), 1);
    LLVMValueRef v_shift = zf_cg_resize(cg, zf_cg_and(cg, v_bit, zf_cg_i64(cg, 7)), cg->ty_i8, false);
    v_byte = LLVMBuildLShr(cg->builder, v_byte, v_shift, "");
    return zf_cg_scalar(chunk->env.lower->type, zf_cg_resize(cg, v_byte, cg->ty_i1, false));
}

void zf_chunk_store(zf_chunk *chunk, zf_cg_value value, LLVMValueRef v_index) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_stored = NULL;
    if (chunk->retraces) return;
    v_index = zf_cg_add(cg, chunk->v_start, v_index);
    if (lower->v_is_leader != NULL && chunk->v_share == NULL) { // all threads of a warp have it
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "leads");
        bb_stored = zf_cg_block(cg, "led");
        zf_cg_cond_br(cg, lower->v_is_leader, bb_store, bb_stored);
        zf_cg_enter(cg, bb_store);
    }
    if (chunk->v_byte != NULL)
        zf_lower_store_bit(lower, value, v_index, chunk->v_byte);
    else if (lower->unpacks > 0)
        zf_lower_unpack(lower, value, v_index);
    else
        zf_lower_store(lower, value, lower->v_sink, v_index);
    if (bb_stored == NULL) return;
    zf_cg_br(cg, bb_stored);
    LLVMMoveBasicBlockAfter(bb_stored, zf_cg_here(cg));
    zf_cg_enter(cg, bb_stored);
}

// ---- States ---------------------------------------------------------------------------------------------------

static LLVMValueRef state_at(zf_cg *cg, const zf_chunk *chunk, const zf_state *state) {
    if (chunk->together) return chunk->v_states[state->index];
    if (chunk->in_row) return chunk->v_own[state->index];
    return zf_cg_at(cg, zf_cg_memory_type(cg, state->type), chunk->v_states[state->index], chunk->v_lane);
}

static zf_cg_value state_load(zf_cg *cg, const zf_chunk *chunk, const zf_state *state) {
    LLVMTypeRef ty = zf_cg_memory_type(cg, state->type);
    LLVMValueRef v = zf_cg_load(cg, ty, state_at(cg, chunk, state), zf_kind_size(state->type.kind));
    if (state->type.kind == ZF_K_BOOL) v = zf_cg_icmp(cg, LLVMIntNE, v, LLVMConstNull(ty));
    return zf_cg_scalar(state->type, v);
}

void zf_chunk_state_store(zf_cg *cg, const zf_chunk *chunk, const zf_state *state, LLVMValueRef v) {
    if (state->type.kind == ZF_K_BOOL) v = zf_cg_resize(cg, v, cg->ty_i8, false);
    zf_cg_store(cg, v, state_at(cg, chunk, state), zf_kind_size(state->type.kind));
}

static bool assign(zf_cg *cg, zf_cg_frame *frame, const zf_expr *place, const zf_cg_value *value) {
    if (place->kind != ZF_X_STATE || value->v == NULL) return false;
    zf_chunk_state_store(cg, zf_chunk_of(zf_cg_frame_env(frame)), place->state, value->v);
    return true;
}

// ---- Expressions and statements that only chunks have ---------------------------------------------------------

static bool expression(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(frame));
    switch (expr->kind) {
    case ZF_X_CURSOR: *out = zf_chunk_cursor(cg, frame, expr); return true;
    case ZF_X_STATE: *out = state_load(cg, chunk, expr->state); return true;
    case ZF_X_OUT: *out = out_sequence(cg, chunk); return true;
    case ZF_X_OUT_POS: *out = zf_cg_scalar(expr->type, zf_chunk_emitted(chunk)); return true;
    case ZF_X_LEN: // the chunk's; how much of it can be read, its index asks
        if (expr->a->kind != ZF_X_OUT) return false;
        *out = zf_cg_scalar(expr->type, chunk->v_count);
        return true;
    default: return false;
    }
}

// Statements whose elements lanes may make apart, each with local arrays of its own.
static bool statement_apart(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(frame));
    struct zf_cg_together *together = cg->together;
    zf_chunk_sum sum;
    bool sums = chunk->ops != NULL && chunk->ops->share_sums != NULL && !chunk->walks_sums && zf_chunk_sum_of(stmt, &sum);
    if (!sums && stmt->kind != ZF_S_EMIT_REGION) return false;
    cg->together = NULL;
    if (sums)
        chunk->ops->share_sums(chunk, frame, stmt, &sum);
    else
        zf_chunk_emit_region(cg, frame, stmt);
    cg->together = together;
    return true;
}

static bool statement(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    if (statement_apart(cg, frame, stmt)) return true;
    if (stmt->kind == ZF_S_IF) return zf_chunk_row_reads(cg, frame, stmt) || zf_chunk_light_if(cg, frame, stmt);
    if (stmt->kind == ZF_S_EXPR) return zf_chunk_read_nothing(cg, frame, stmt->value);
    if (stmt->kind != ZF_S_EMIT) return false;
    zf_chunk_emit(cg, frame, stmt);
    return true;
}

// ---- A chunk --------------------------------------------------------------------------------------------------

/// Entry v_entry of a field of the directory where there is one (v_has), else v_else. Threads that walk a chunk alike load all
/// entries of all fields side by side.
static LLVMValueRef directory_entry(const zf_chunk *chunk, uint32_t field, LLVMValueRef v_has, LLVMValueRef v_entry,
                                    LLVMValueRef v_else) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    if (chunk->ops != NULL && chunk->ops->entry != NULL) {
        LLVMValueRef v = chunk->ops->entry(lower, field, zf_cg_select(cg, v_has, v_entry, zf_cg_i64(cg, 0)));
        return zf_cg_select(cg, v_has, v, v_else);
    }
    LLVMValueRef v_slot = zf_cg_alloca(cg, cg->ty_i64, "first");
    LLVMBasicBlockRef bb_entry = zf_cg_block(cg, "directory"), bb_known = zf_cg_block(cg, "placed");
    LLVMBuildStore(cg->builder, v_else, v_slot);
    zf_cg_cond_br(cg, v_has, bb_entry, bb_known);
    zf_cg_enter(cg, bb_entry);
    LLVMBuildStore(cg->builder, zf_lower_seek_entry(lower, field, v_entry), v_slot);
    zf_cg_br(cg, bb_known);
    zf_cg_enter(cg, bb_known);
    return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, "");
}

/// The field of an uneven directory that says where chunks begin in a stream; the next one says how long they are there.
static uint32_t field_of_stream(const zf_kernel_build *lower, const zf_port *port) {
    const zf_seek_tree *tree = &lower->plan->trees[lower->kernel->tree];
    uint32_t field = 1;
    while (field + 2 < tree->field_count && tree->fields[field].stream != port->slot) field += 2;
    return field;
}

/// The chunk's part of a stream. The directory was checked on the host; that it is so again costs nothing beside a chunk, and
/// then nothing outside the stream is read whatever became of the file since.
static void place_stream(zf_chunk *chunk, zf_chunk_stream *s, LLVMValueRef v_chunks) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_all = zf_lower_count(lower, s->edge), v_zero = zf_cg_i64(cg, 0), v_one = zf_cg_i64(cg, 1), v_end;
    if (s->port->fixed) {
        zf_cg_value each = zf_cg_eval_expr(cg, &chunk->env.env, NULL, s->port->length, NULL, 0);
        LLVMValueRef v_each = zf_cg_resize(cg, each.v, cg->ty_i64, zf_kind_is_signed(each.type.kind));
        s->v_first = zf_cg_mul(cg, chunk->v_number, v_each);
        v_end = zf_cg_add(cg, s->v_first, v_each);
    } else if (zf_kernel_is_uneven(lower->plan, lower->kernel)) {
        LLVMValueRef v_is = zf_cg_i1(cg, true);
        uint32_t field = field_of_stream(lower, s->port);
        s->v_first = directory_entry(chunk, field, v_is, chunk->v_number, v_zero);
        LLVMValueRef v_length = directory_entry(chunk, field + 1, v_is, chunk->v_number, v_zero);
        s->v_first = zf_cg_umin(cg, s->v_first, v_all);
        v_end = zf_cg_add(cg, s->v_first, zf_cg_umin(cg, v_length, zf_cg_sub(cg, v_all, s->v_first)));
    } else {
        const zf_seek_tree *tree = &lower->plan->trees[lower->kernel->tree];
        uint32_t field = 0;
        while (field + 1 < tree->field_count && tree->fields[field].stream != s->port->slot) field++;
        LLVMValueRef v_after = zf_cg_add(cg, chunk->v_number, v_one); // entry c - 1 is where chunk c starts
        LLVMValueRef v_later = zf_cg_icmp(cg, LLVMIntNE, chunk->v_number, v_zero);
        LLVMValueRef v_inner = zf_cg_icmp(cg, LLVMIntULT, v_after, v_chunks);
        s->v_first = directory_entry(chunk, field, v_later, zf_cg_sub(cg, chunk->v_number, v_one), v_zero);
        v_end = directory_entry(chunk, field, v_inner, chunk->v_number, v_all);
    }
    s->v_first = zf_cg_umin(cg, s->v_first, v_all);
    v_end = zf_cg_umin(cg, v_end, v_all);
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntULT, s->v_first, v_end);
    s->v_length = zf_cg_select(cg, v_some, zf_cg_sub(cg, v_end, s->v_first), v_zero);
    if (s->narrow) s->v_length = zf_cg_umin(cg, s->v_length, zf_cg_i64(cg, UINT32_MAX));
    s->v_total = s->v_length;
    unsigned width = zf_kind_bits(s->port->type.kind);
    if (s->by_bits) s->v_total = zf_cg_mul(cg, s->v_length, zf_cg_i64(cg, width));
    if (zf_lower_in_memory(lower, s->edge) && s->port->type.kind != ZF_K_BOOL) {
        s->v_bytes = zf_lower_pointer(lower, s->edge);
        if (cg->aligned_loads) // of words from the stream's begin
            s->v_bit = zf_cg_mul(cg, s->v_first, zf_cg_i64(cg, width));
        else
            s->v_bytes = zf_cg_at(cg, cg->ty_i8, s->v_bytes, zf_cg_mul(cg, s->v_first, zf_cg_i64(cg, width / 8)));
    }
    LLVMBuildStore(cg->builder, LLVMConstNull(LLVMGetAllocatedType(s->v_at)), s->v_at);
}

/// Bytes of a chunk's part of a stream.
LLVMValueRef zf_chunk_bytes(zf_cg *cg, const zf_chunk_stream *s) {
    if (s->port->type.kind != ZF_K_BOOL) return zf_cg_mul(cg, s->v_length, zf_cg_i64(cg, zf_kind_size(s->port->type.kind)));
    return LLVMBuildLShr(cg->builder, zf_cg_add(cg, s->v_length, zf_cg_i64(cg, 7)), zf_cg_i64(cg, 3), "");
}

/// The outputs of an uneven chunk: no more than a chunk may have, and than have a place. The bytes may have changed since the
/// directory was checked.
static void place_outputs(zf_chunk *chunk, LLVMValueRef v_most) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_start = zf_lower_chunk_start(lower, chunk->v_number);
    LLVMValueRef v_end = zf_lower_chunk_start(lower, zf_cg_add(cg, chunk->v_number, zf_cg_i64(cg, 1)));
    if (lower->v_place_begin != NULL) {
        LLVMValueRef v_before = zf_cg_icmp(cg, LLVMIntULT, v_start, lower->v_place_begin);
        v_start = zf_cg_select(cg, v_before, lower->v_place_begin, v_start);
        v_end = zf_cg_umin(cg, v_end, lower->v_place_end);
    }
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntULT, v_start, v_end);
    chunk->v_start = v_start;
    chunk->v_count = zf_cg_select(cg, v_some, zf_cg_umin(cg, zf_cg_sub(cg, v_end, v_start), v_most), zf_cg_i64(cg, 0));
}

void zf_chunk_begin(zf_chunk *chunk, LLVMValueRef v_outputs, LLVMValueRef v_chunks) {
    enum { WORK_EACH = 64 }; // iterations for every byte read and element made
    zf_cg *cg = chunk->env.lower->cg;
    LLVMValueRef v_size = zf_cg_i64(cg, chunk->env.lower->graph->nodes[chunk->env.node].codec->chunk_size);
    if (zf_kernel_is_uneven(chunk->env.lower->plan, chunk->env.lower->kernel)) {
        place_outputs(chunk, v_size);
    } else {
        chunk->v_start = zf_cg_mul(cg, chunk->v_number, v_size);
        chunk->v_count = zf_cg_umin(cg, v_size, zf_cg_sub(cg, v_outputs, chunk->v_start));
    }
    zf_chunk_set_emitted(chunk, zf_cg_i64(cg, 0));
    LLVMValueRef v_work = chunk->v_count;
    for (uint32_t s = 0; s < chunk->inst->stream_count; s++) {
        if (chunk->streams[s].port == NULL) continue;
        place_stream(chunk, &chunk->streams[s], v_chunks);
        v_work = zf_cg_add(cg, v_work, zf_chunk_bytes(cg, &chunk->streams[s]));
    }
    for (uint32_t s = 0; s < chunk->inst->stream_count; s++) {
        if (chunk->streams[s].port == NULL || chunk->ops == NULL || chunk->ops->prefetch == NULL) continue;
        chunk->ops->prefetch(chunk, &chunk->streams[s]);
    }
    v_work = zf_cg_add(cg, zf_cg_mul(cg, v_work, zf_cg_i64(cg, WORK_EACH)), zf_cg_i64(cg, ZF_CHUNK_WORK));
    if (chunk->narrow) v_work = zf_cg_umin(cg, v_work, zf_cg_i64(cg, UINT32_MAX)); // where they end, another form counts again
    zf_chunk_set_work_left(chunk, v_work);
}

static void run_body(zf_chunk *chunk) {
    zf_cg *cg = chunk->env.lower->cg;
    zf_cg_eval_body(cg, &chunk->env.env, &chunk->inst->decode);
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntEQ, zf_chunk_emitted(chunk), chunk->v_count);
    zf_cg_check(cg, &chunk->env.env, v_ok, 4, chunk->inst->algorithm->decl->name_span, NULL);
}

static void make_slots(zf_chunk *chunk) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    const zf_inst *inst = chunk->inst;
    chunk->v_pos = zf_cg_alloca(cg, chunk->narrow ? cg->ty_i32 : cg->ty_i64, "pos");
    chunk->v_work = zf_cg_alloca(cg, chunk->narrow ? cg->ty_i32 : cg->ty_i64, "work");
    if (stores_bits(chunk)) chunk->v_byte = zf_cg_alloca(cg, cg->ty_i8, "byte");
    chunk->streams = ZF_NEW_ARRAY(cg->arena, zf_chunk_stream, inst->stream_count + 1);
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_port *port = inst->streams[s];
        if (!port->per_chunk) continue;
        chunk->streams[s] = (zf_chunk_stream){.port = port, .edge = lower->graph->nodes[chunk->env.node].inputs[s]};
        chunk->streams[s].by_bits = chunk->narrow ? zf_chunk_reads_bits(inst, port) : zf_chunk_counts_bits(inst, port);
        // A block's streams have at most 2^32 elements; of bits `narrow` promises as few.
        bool narrow = chunk->narrow || (chunk->together && !chunk->streams[s].by_bits);
        chunk->streams[s].narrow = chunk->narrow;
        chunk->streams[s].v_at = zf_cg_alloca(cg, narrow ? cg->ty_i32 : cg->ty_i64, port->name);
    }
    chunk->v_states = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, inst->state_count + 1);
    for (uint32_t s = 0; s < inst->state_count; s++) {
        LLVMTypeRef ty = zf_cg_memory_type(cg, inst->states[s].type);
        chunk->v_states[s] = zf_cg_alloca(cg, chunk->together ? ty : LLVMArrayType2(ty, inst->lanes), inst->states[s].name);
    }
}

LLVMValueRef zf_lower_chunk_start(zf_kernel_build *lower, LLVMValueRef v_chunk) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_count = zf_lower_count(lower, lower->kernel->edge);
    LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntULT, v_chunk, zf_lower_chunk_count(lower, lower->kernel->root));
    LLVMValueRef v = zf_lower_seek_entry(lower, 0, zf_cg_select(cg, v_is, v_chunk, zf_cg_i64(cg, 0)));
    return zf_cg_umin(cg, zf_cg_select(cg, v_is, v, v_count), v_count);
}

LLVMValueRef zf_lower_chunk_count(zf_kernel_build *lower, uint32_t n) {
    zf_cg *cg = lower->cg;
    if (zf_kernel_is_uneven(lower->plan, lower->kernel))
        return zf_lower_word(lower, ZF_SLOT_CHUNKS, (uint32_t)lower->kernel->tree, 0);
    const zf_graph_node *node = &lower->graph->nodes[n];
    uint64_t size = node->codec->chunk_size;
    LLVMValueRef v_last = zf_cg_add(cg, zf_lower_count(lower, node->output), zf_cg_i64(cg, size - 1));
    return LLVMBuildUDiv(cg->builder, v_last, zf_cg_i64(cg, size), "");
}

void zf_chunk_open(zf_kernel_build *lower, zf_chunk *chunk) {
    uint32_t node = lower->kernel->root;
    chunk->env = zf_lower_env_make(lower, node);
    chunk->inst = lower->graph->nodes[node].inst;
    zf_cg_env *env = &chunk->env.env;
    env->slice = NULL; // where a chunk begins in a stream is known to its elements alone
    chunk->block_element = env->element;
    chunk->block_bits = env->bits;
    chunk->block_length = env->length;
    env->straight = chunk->together;
    env->counts_as_written = true;
    env->domain = domain;
    env->length = length;
    env->element = element;
    env->bits = bits;
    env->bits_near = NULL; // what a chunk reads begins where its part of the stream does
    env->out = out_bit;
    env->work = zf_chunk_work;
    env->reduce = zf_chunk_reduce;
    env->expr = expression;
    env->stmt = statement;
    env->assign = assign;
    make_slots(chunk);
}

void zf_lower_chunks(zf_kernel_build *lower) { zf_lower_chunks_by(lower, NULL); }

void zf_lower_chunks_by(zf_kernel_build *lower, const zf_chunk_ops *ops) {
    zf_cg *cg = lower->cg;
    const zf_graph_node *node = &lower->graph->nodes[lower->kernel->root];
    uint64_t size = node->codec->chunk_size;
    zf_chunk chunk = {.ops = ops};
    zf_chunk_open(lower, &chunk);
    lower->chunk = &chunk;
    zf_lower_tiles tiles;
    zf_lower_tiles_begin(lower, &tiles, lower->kernel->edge);
    if (chunk.v_byte != NULL) LLVMBuildStore(cg->builder, LLVMConstNull(cg->ty_i8), chunk.v_byte);
    LLVMValueRef v_chunks = zf_lower_chunk_count(lower, node->index);
    LLVMValueRef v_each = zf_cg_i64(cg, lower->kernel->tile / size), v_from = zf_cg_mul(cg, tiles.v_tile, v_each);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_from, zf_cg_umin(cg, zf_cg_add(cg, v_from, v_each), v_chunks), "chunk");
    chunk.v_number = loop.v_i;
    chunk.bb_stop = zf_cg_block(cg, "stop");
    zf_chunk_begin(&chunk, tiles.v_count, v_chunks);
    if (node->inst->lanes > 0)
        zf_chunk_run_lanes(&chunk);
    else
        run_body(&chunk);
    zf_cg_br(cg, chunk.bb_stop);
    LLVMMoveBasicBlockAfter(chunk.bb_stop, zf_cg_here(cg));
    zf_cg_enter(cg, chunk.bb_stop);
    // Where it stood; behind its last output that still is the chunk's.
    LLVMValueRef v_at = zf_cg_umin(cg, zf_chunk_emitted(&chunk), zf_cg_sub(cg, chunk.v_count, zf_cg_i64(cg, 1)));
    zf_lower_report(lower, zf_cg_add(cg, chunk.v_start, v_at));
    zf_lower_clear(lower);
    zf_cg_loop_end(cg, &loop);
    zf_lower_tiles_end(lower, &tiles);
    lower->chunk = NULL;
}
