// An encode body as a function: its input, params and streams, its failures, and the statements that only it has.
#include "codegen/encode/cg_encode.h"

#include <stddef.h>
#include <string.h>

#include "codegen/body/cg_emit.h"
#include "frontend/check/walk.h"

uint64_t zf_encode_place(zf_span span) { return span.source == NULL ? UINT64_MAX : (uint64_t)span.source->id << 32 | span.begin; }

uint32_t zf_encode_locals(const zf_inst *inst, const zf_local **out) {
    uint32_t count = 0;
    for (const zf_local *local = inst->encode.locals; local != NULL; local = local->next) {
        if (local->kind != ZF_L_GROWING) continue;
        if (out != NULL) out[count] = local;
        count++;
    }
    return count;
}

LLVMValueRef zf_cg_frame_field(zf_cg *cg, zf_cg_encode_env *e, size_t offset) { return zf_cg_byte_at(cg, e->v_frame, offset); }

#define FRAME(member) zf_cg_frame_field(cg, e, offsetof(zf_encode_frame, member))

// ---- Failing --------------------------------------------------------------------------------------------------

static void stop(zf_cg *cg, zf_cg_encode_env *e, zf_encode_outcome outcome, unsigned violation, zf_span span,
                 LLVMValueRef v_row) {
    // A call that failed has set the outcome itself.
    if (outcome != ZF_ENCODE_DONE) zf_cg_store(cg, zf_cg_i64(cg, outcome), FRAME(outcome), 8);
    if (violation != 0) zf_cg_store(cg, zf_cg_i64(cg, violation), FRAME(violation), 8);
    zf_cg_store(cg, zf_cg_i64(cg, zf_encode_place(span)), FRAME(span), 8);
    zf_cg_store(cg, v_row == NULL ? zf_cg_i64(cg, ZF_ENCODE_NO_ROW) : v_row, FRAME(row), 8);
    zf_cg_br(cg, e->bb_stop);
}

void zf_cg_encode_stop_unless(zf_cg *cg, zf_cg_encode_env *e, LLVMValueRef v_ok, zf_encode_outcome outcome, unsigned violation,
                              zf_span span, LLVMValueRef v_row) {
    if (LLVMIsAConstantInt(v_ok) && LLVMConstIntGetZExtValue(v_ok) != 0) return;
    LLVMBasicBlockRef bb_on = zf_cg_block(cg, "on"), bb_fail = zf_cg_block(cg, "fail");
    zf_cg_cond_br(cg, v_ok, bb_on, bb_fail);
    zf_cg_enter(cg, bb_fail);
    stop(cg, e, outcome, violation, span, v_row);
    zf_cg_enter(cg, bb_on);
}

static LLVMValueRef check(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at) {
    (void)at;
    zf_cg_encode_stop_unless(cg, (zf_cg_encode_env *)env, v_ok, ZF_ENCODE_FAILED, violation, span, NULL);
    return NULL;
}

static void work(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_count, zf_span span) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)env;
    LLVMValueRef v_left = LLVMBuildLoad2(cg->builder, cg->ty_i64, e->v_work, "");
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntUGE, v_left, v_count);
    zf_cg_encode_stop_unless(cg, e, v_ok, ZF_ENCODE_LIMIT, 10, span, NULL);
    LLVMBuildStore(cg->builder, zf_cg_sub(cg, v_left, v_count), e->v_work);
}

// ---- Values ---------------------------------------------------------------------------------------------------

static zf_cg_value param(zf_cg *cg, zf_cg_env *env, const zf_port *port) {
    return zf_cg_variable_load(cg, &((zf_cg_encode_env *)env)->params[port->slot]);
}

static LLVMValueRef stream_length(zf_cg *cg, zf_cg_env *env, const zf_port *port) {
    if (port == NULL) return zf_cg_i64(cg, 0);
    return zf_cg_buffer_length(cg, &((zf_cg_encode_env *)env)->streams[port->slot]);
}

static zf_cg_value input(const zf_cg_encode_env *e, const zf_expr *expr) {
    zf_cg_value value = {.type = expr->type, .is_seq = true};
    value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = expr->type, .column_rows = true};
    value.seq.v_data = e->v_values;
    value.seq.v_length = e->v_rows;
    if (expr->type.nullable) value.seq.v_validity = e->v_validity;
    if (expr->type.kind == ZF_K_STRING) {
        value.seq.kind = ZF_CG_SEQ_TEXTS;
        value.seq.v_offsets = e->v_offsets;
    }
    return value;
}

const zf_cg_buffer *zf_cg_encode_buffer_of(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    if (expr->kind == ZF_X_STREAM) return &e->streams[expr->port->slot];
    if (expr->kind != ZF_X_LOCAL || expr->local->kind != ZF_L_GROWING) return NULL;
    zf_cg_slot *slot = zf_cg_slot_of(cg, frame, expr->local);
    return slot->kind == ZF_CG_GROWING ? slot->growing : NULL;
}

static zf_cg_value intern(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    const zf_cg_buffer *buffer = expr->port != NULL ? &((zf_cg_encode_env *)frame->env)->streams[expr->port->slot] : NULL;
    if (buffer == NULL) {
        zf_cg_unsupported(cg, expr->span, "intern into this is not lowered");
        return zf_cg_zero_value(cg, expr->type);
    }
    zf_cg_value value = zf_cg_expr(cg, frame, expr->a);
    if (expr->a->kind == ZF_X_LOCAL && expr->a->local == frame->each.local) {
        zf_cg_buffer_intern_prefetch(cg, frame, buffer, &frame->each);
    }
    LLVMValueRef v_number = zf_cg_buffer_intern(cg, frame, buffer, &value, expr->span);
    return zf_cg_scalar(expr->type, zf_cg_resize(cg, v_number, zf_cg_type(cg, expr->type), false));
}

static bool expression(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    const zf_cg_buffer *buffer;
    switch (expr->kind) {
    case ZF_X_INPUT: *out = input(e, expr); return true;
    case ZF_X_STREAM: *out = zf_cg_buffer_sequence(cg, &e->streams[expr->port->slot]); return true;
    case ZF_X_LOCAL:
        buffer = zf_cg_encode_buffer_of(cg, frame, expr);
        if (buffer == NULL) return false;
        *out = zf_cg_buffer_sequence(cg, buffer);
        return true;
    case ZF_X_LEN: // pending bits need not go to memory for it
        buffer = zf_cg_encode_buffer_of(cg, frame, expr->a);
        if (buffer == NULL) return false;
        *out = zf_cg_scalar(expr->type, zf_cg_buffer_length(cg, buffer));
        return true;
    case ZF_X_BIT_LEN:
        buffer = expr->port != NULL ? &e->streams[expr->port->slot] : zf_cg_encode_buffer_of(cg, frame, expr->a);
        if (buffer == NULL) return false;
        *out = zf_cg_scalar(expr->type, zf_cg_buffer_bit_length(cg, buffer));
        return true;
    case ZF_X_INTERN: *out = intern(cg, frame, expr); return true;
    default: return false;
    }
}

// ---- Assignments to params ------------------------------------------------------------------------------------

/// The range that a param is declared with holds from the assignment on: what follows was proved with it.
static void check_param(zf_cg *cg, zf_cg_frame *frame, const zf_expr *place, LLVMValueRef v) {
    const zf_port *port = place->port;
    if (!port->has_range || !zf_kind_is_integer(port->type.kind)) return;
    zf_interval all = zf_interval_of_kind(port->type.kind);
    bool is_signed = zf_kind_is_signed(port->type.kind);
    LLVMValueRef v_ok = zf_cg_i1(cg, true);
    if (port->range.lo > all.lo) {
        LLVMValueRef v_lo = zf_cg_const(cg, port->type, zf_bits_of_value(port->type.kind, port->range.lo));
        v_ok = zf_cg_icmp(cg, is_signed ? LLVMIntSGE : LLVMIntUGE, v, v_lo);
    }
    if (port->range.hi < all.hi) {
        LLVMValueRef v_hi = zf_cg_const(cg, port->type, zf_bits_of_value(port->type.kind, port->range.hi));
        v_ok = zf_cg_and(cg, v_ok, zf_cg_icmp(cg, is_signed ? LLVMIntSLE : LLVMIntULE, v, v_hi));
    }
    zf_cg_encode_stop_unless(cg, (zf_cg_encode_env *)frame->env, v_ok, ZF_ENCODE_FAILED, 20, place->span, frame->v_row);
}

static bool assign(zf_cg *cg, zf_cg_frame *frame, const zf_expr *place, const zf_cg_value *value) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    if (place->kind != ZF_X_PARAM || value->v == NULL) return false;
    check_param(cg, frame, place, value->v);
    zf_cg_variable_store(cg, &e->params[place->port->slot], value);
    return true;
}

// ---- Statements -----------------------------------------------------------------------------------------------

static void declare_growing(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    zf_cg_slot *slot = zf_cg_slot_of(cg, frame, stmt->local);
    if (slot->kind != ZF_CG_GROWING) {
        for (uint32_t k = 0; k < e->local_count; k++) {
            if (e->local_of[k] != stmt->local) continue;
            memset(slot, 0, sizeof *slot);
            slot->kind = ZF_CG_GROWING;
            slot->growing = &e->locals[k];
        }
    }
    if (slot->kind == ZF_CG_GROWING)
        zf_cg_buffer_reset(cg, slot->growing);
    else
        zf_cg_unsupported(cg, stmt->span, "this declaration is not lowered here");
}

static void sort(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    const zf_cg_buffer *buffer = zf_cg_encode_buffer_of(cg, frame, stmt->target);
    zf_cg_value target = zf_cg_expr(cg, frame, stmt->target);
    const zf_cg_seq *seq = &target.seq;
    if (seq->kind != ZF_CG_SEQ_MEMORY || seq->constant || seq->type.nullable) {
        zf_cg_unsupported(cg, stmt->span, "a sort of this is not lowered");
        return;
    }
    uint64_t kind = zf_kind_size(seq->type.kind);
    kind |= zf_kind_is_signed(seq->type.kind) ? ZF_SORT_SIGNED : zf_kind_is_float(seq->type.kind) ? ZF_SORT_FLOAT : 0;
    LLVMValueRef v_data = seq->v_data;
    if (seq->v_start != NULL) v_data = zf_cg_at(cg, zf_cg_memory_type(cg, seq->type), v_data, seq->v_start);
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    LLVMValueRef v_args[4] = {e->v_frame, v_data, seq->v_length, zf_cg_i64(cg, kind)};
    LLVMValueRef v = zf_cg_call(cg, "zf_cg_sort", cg->ty_i64, v_args, 4);
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntNE, v, zf_cg_i64(cg, 0));
    zf_cg_encode_stop_unless(cg, e, v_ok, ZF_ENCODE_DONE, 0, stmt->span, NULL);
    if (buffer != NULL) zf_cg_buffer_reread(cg, buffer);
}

static LLVMValueRef start_of(zf_cg *cg, const zf_cg_seq *seq) {
    return seq->v_start == NULL ? seq->v_data : zf_cg_at(cg, zf_cg_memory_type(cg, seq->type), seq->v_data, seq->v_start);
}

static void code_lengths(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    zf_cg_value counts = zf_cg_expr(cg, frame, stmt->value), lengths = zf_cg_expr(cg, frame, stmt->target);
    LLVMValueRef v_limit = zf_cg_resize(cg, zf_cg_expr(cg, frame, stmt->count).v, cg->ty_i64, false);
    if (counts.seq.kind != ZF_CG_SEQ_MEMORY || lengths.seq.kind != ZF_CG_SEQ_MEMORY || lengths.seq.constant ||
        !zf_kind_is_integer(counts.seq.type.kind) || !zf_kind_is_integer(lengths.seq.type.kind)) {
        zf_cg_unsupported(cg, stmt->span, "code_lengths of these is not lowered");
        return;
    }
    LLVMValueRef v_args[8] = {e->v_frame,
                              start_of(cg, &counts.seq),
                              zf_cg_i64(cg, zf_kind_size(counts.seq.type.kind)),
                              counts.seq.v_length,
                              start_of(cg, &lengths.seq),
                              zf_cg_i64(cg, zf_kind_size(lengths.seq.type.kind)),
                              lengths.seq.v_length,
                              v_limit};
    LLVMValueRef v = zf_cg_call(cg, "zf_cg_code_lengths", cg->ty_i64, v_args, 8);
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntNE, v, zf_cg_i64(cg, 0));
    zf_cg_encode_stop_unless(cg, e, v_ok, ZF_ENCODE_DONE, 0, stmt->span, NULL);
}

static void reverse(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    const zf_cg_buffer *buffer = zf_cg_encode_buffer_of(cg, frame, stmt->target);
    if (buffer == NULL || buffer->type.kind == ZF_K_STRING) {
        zf_cg_unsupported(cg, stmt->span, "this reverse is not lowered");
        return;
    }
    LLVMValueRef v_from = zf_cg_i64(cg, 0);
    if (buffer->port != NULL && buffer->port->per_chunk) {
        v_from = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, buffer->v_struct, offsetof(zf_encode_buffer, chunk_start)), 8);
    }
    zf_cg_buffer_call(cg, frame, buffer, "zf_cg_reverse", &v_from, 1, stmt->span);
}

static void for_chunks(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    const zf_expr *x = stmt->value->a != NULL ? stmt->value->a : stmt->value;
    zf_cg_value rows = input(e, &(zf_expr){.kind = ZF_X_INPUT, .type = frame->env->inst->input->type, .span = x->span});
    LLVMValueRef v_size = zf_cg_load(cg, cg->ty_i64, FRAME(chunk_size), 8), v_rows = rows.seq.v_length;
    LLVMValueRef v_last = zf_cg_sub(cg, v_size, zf_cg_i64(cg, 1));
    LLVMValueRef v_count = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_rows, v_last), v_size, "");
    zf_cg_range range = {.v_lo = zf_cg_i64(cg, 0), .v_hi = v_count};
    zf_cg_range_loop loop;
    LLVMValueRef v_outer = frame->v_row;
    zf_cg_range_begin(cg, &loop, &range, "chunk");
    for (uint32_t s = 0; s < frame->env->inst->stream_count; s++) {
        const zf_cg_buffer *buffer = &e->streams[s];
        if (buffer->port->per_chunk) zf_cg_buffer_call(cg, frame, buffer, "zf_cg_start_chunk", NULL, 0, stmt->span);
    }
    zf_cg_value chunk = rows;
    chunk.seq.v_start = zf_cg_mul(cg, loop.v_i, v_size);
    chunk.seq.v_length = zf_cg_umin(cg, v_size, zf_cg_sub(cg, v_rows, chunk.seq.v_start));
    zf_cg_bind(cg, frame, stmt->local, &chunk);
    zf_cg_loop_body(cg, frame, stmt, loop.bb_end, loop.bb_next);
    frame->v_row = v_outer;
    zf_cg_range_end(cg, &loop);
}

/// The pieces by which the input was appended; without a list of them, all rows are one.
static void for_parts(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    zf_cg_value rows = input(e, &(zf_expr){.kind = ZF_X_INPUT, .type = frame->env->inst->input->type, .span = stmt->span});
    LLVMValueRef v_parts = zf_cg_load(cg, cg->ty_ptr, FRAME(parts), 8);
    zf_cg_range range = {.v_lo = zf_cg_i64(cg, 0), .v_hi = zf_cg_load(cg, cg->ty_i64, FRAME(part_count), 8)};
    LLVMValueRef v_from = zf_cg_alloca(cg, cg->ty_i64, "from"), v_outer = frame->v_row;
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), v_from);
    zf_cg_range_loop loop;
    zf_cg_range_work(cg, frame, &range, stmt->span);
    zf_cg_range_begin(cg, &loop, &range, "part");
    LLVMValueRef v_start = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_from, "");
    LLVMValueRef v_end = zf_cg_load(cg, cg->ty_i64, zf_cg_at(cg, cg->ty_i64, v_parts, loop.v_i), 8);
    LLVMBuildStore(cg->builder, v_end, v_from);
    zf_cg_value part = rows;
    part.seq.v_start = v_start;
    part.seq.v_length = zf_cg_sub(cg, v_end, v_start);
    zf_cg_bind(cg, frame, stmt->local, &part);
    zf_cg_loop_body(cg, frame, stmt, loop.bb_end, loop.bb_next);
    frame->v_row = v_outer;
    zf_cg_range_end(cg, &loop);
}

static bool push(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    const zf_cg_buffer *buffer = zf_cg_encode_buffer_of(cg, frame, stmt->target);
    if (buffer == NULL) {
        zf_cg_unsupported(cg, stmt->span, "a push to this is not lowered");
        return true;
    }
    zf_cg_value value = zf_cg_expr(cg, frame, stmt->value);
    LLVMValueRef v_word;
    switch (stmt->kind) {
    case ZF_S_PUSH: zf_cg_buffer_push(cg, frame, buffer, &value, stmt->span); break;
    case ZF_S_PUSH_BITS: {
        LLVMValueRef v_count = zf_cg_resize(cg, zf_cg_expr(cg, frame, stmt->count).v, cg->ty_i64, false);
        v_word = zf_cg_to_word(cg, value.type, value.v);
        zf_cg_buffer_push_bits(cg, frame, buffer, v_word, v_count, stmt->count->range, stmt->span);
        break;
    }
    case ZF_S_PUSH_VARINT:
        v_word = zf_cg_to_word(cg, value.type, value.v);
        zf_cg_buffer_call(cg, frame, buffer, "zf_cg_push_varint", &v_word, 1, stmt->span);
        break;
    default: zf_cg_buffer_append(cg, frame, buffer, &value, stmt->span); break;
    }
    return true;
}

static bool statement(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    const zf_cg_buffer *buffer;
    switch (stmt->kind) {
    case ZF_S_VAR:
        if (stmt->local->kind != ZF_L_GROWING) return false;
        declare_growing(cg, frame, stmt);
        return true;
    case ZF_S_ASSIGN:
        // An element that is only in the pending bits: memory is written, and the bits are read back.
        buffer = stmt->place->kind == ZF_X_INDEX ? zf_cg_encode_buffer_of(cg, frame, stmt->place->a) : NULL;
        if (buffer == NULL || !buffer->bitwise) return false;
        zf_cg_assign(cg, frame, stmt);
        zf_cg_buffer_reread(cg, buffer);
        return true;
    case ZF_S_FOR_EACH:
        if (stmt->value->kind == ZF_X_CHUNKS)
            for_chunks(cg, frame, stmt);
        else if (stmt->value->kind == ZF_X_PARTS)
            for_parts(cg, frame, stmt);
        else
            return zf_cg_encode_loop(cg, frame, stmt);
        return true;
    case ZF_S_FOR_RANGE: return zf_cg_encode_loop(cg, frame, stmt);
    case ZF_S_IF: return zf_cg_encode_if(cg, frame, stmt);
    case ZF_S_PUSH:
    case ZF_S_PUSH_BITS:
    case ZF_S_PUSH_VARINT:
    case ZF_S_APPEND: return push(cg, frame, stmt);
    case ZF_S_REVERSE: reverse(cg, frame, stmt); return true;
    case ZF_S_SORT: sort(cg, frame, stmt); return true;
    case ZF_S_CODE_LENGTHS: code_lengths(cg, frame, stmt); return true;
    case ZF_S_REFUSE:
        stop(cg, e, ZF_ENCODE_REFUSED, 0, stmt->span, frame->v_row);
        zf_cg_unreachable_block(cg);
        return true;
    default: return false;
    }
}

// ---- The function ---------------------------------------------------------------------------------------------

typedef struct bit_targets {
    zf_cg_encode_env *e;
} bit_targets;

/// Notes which buffers are written bit by bit; the others need no pending bits.
static bool note_bits(zf_visitor *visitor, zf_stmt *stmt) {
    zf_cg_encode_env *e = ((bit_targets *)visitor->user)->e;
    if (stmt->kind != ZF_S_PUSH_BITS) return true;
    const zf_expr *target = stmt->target;
    if (target->type.kind == ZF_K_BOOL || target->type.kind == ZF_K_STRING) return true;
    if (target->kind == ZF_X_STREAM) e->streams[target->port->slot].bitwise = true;
    for (uint32_t k = 0; target->kind == ZF_X_LOCAL && k < e->local_count; k++) {
        if (e->local_of[k] == target->local) e->locals[k].bitwise = true;
    }
    return true;
}

/// Passes by the target of what writes to a stream without reading it.
static bool pass_target(zf_visitor *visitor, zf_stmt *stmt) {
    bool writes =
        stmt->kind == ZF_S_PUSH || stmt->kind == ZF_S_PUSH_BITS || stmt->kind == ZF_S_PUSH_VARINT || stmt->kind == ZF_S_APPEND;
    if (!writes || stmt->target->kind != ZF_X_STREAM) return true;
    zf_visit_expr(visitor, stmt->value);
    zf_visit_expr(visitor, stmt->count);
    return false;
}

/// Notes which streams are read.
static bool note_reads(zf_visitor *visitor, zf_expr *expr) {
    zf_cg_encode_env *e = ((bit_targets *)visitor->user)->e;
    bool reads = expr->kind == ZF_X_STREAM || expr->kind == ZF_X_INTERN || expr->kind == ZF_X_BIT_LEN;
    if (reads && expr->port != NULL) e->streams[expr->port->slot].only_written = false;
    return true;
}

static void bind_buffers(zf_cg *cg, zf_cg_encode_env *e, const zf_inst *inst) {
    bit_targets targets = {e};
    zf_visitor visitor = {.user = &targets, .stmt = note_bits};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&inst->encode); // only looks
    for (uint32_t s = 0; s < inst->stream_count; s++) e->streams[s].only_written = !inst->streams[s]->per_chunk;
    visitor = (zf_visitor){.user = &targets, .stmt = pass_target, .expr = note_reads};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&inst->encode);
    LLVMValueRef v_streams = zf_cg_load(cg, cg->ty_ptr, FRAME(streams), 8);
    LLVMValueRef v_locals = zf_cg_load(cg, cg->ty_ptr, FRAME(locals), 8);
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        e->streams[s].port = inst->streams[s];
        LLVMValueRef v_struct = zf_cg_byte_at(cg, v_streams, s * sizeof(zf_encode_buffer));
        zf_cg_buffer_bind(cg, &e->streams[s], v_struct, inst->streams[s]->type, inst->streams[s]->name);
        LLVMValueRef v_may = zf_cg_i64(cg, e->streams[s].only_written && !e->streams[s].bitwise);
        zf_cg_store(cg, v_may, zf_cg_byte_at(cg, v_struct, offsetof(zf_encode_buffer, may_lend)), 8);
    }
    for (uint32_t k = 0; k < e->local_count; k++) {
        LLVMValueRef v_struct = zf_cg_byte_at(cg, v_locals, k * sizeof(zf_encode_buffer));
        zf_cg_buffer_bind(cg, &e->locals[k], v_struct, e->local_of[k]->type, e->local_of[k]->name);
    }
}

static void load_params(zf_cg *cg, zf_cg_encode_env *e, const zf_inst *inst, bool store) {
    LLVMValueRef v_params = zf_cg_load(cg, cg->ty_ptr, FRAME(params), 8);
    for (uint32_t p = 0; p < inst->param_count; p++) {
        zf_type type = inst->params[p]->type;
        LLVMValueRef v_at = zf_cg_byte_at(cg, v_params, p * 8u);
        if (store) {
            zf_cg_value value = zf_cg_variable_load(cg, &e->params[p]);
            zf_cg_store(cg, zf_cg_to_word(cg, type, value.v), v_at, 8);
        } else {
            e->params[p] = zf_cg_variable_make(cg, type, inst->params[p]->name);
            zf_cg_value value = zf_cg_scalar(type, zf_cg_from_word(cg, type, zf_cg_load(cg, cg->ty_i64, v_at, 8)));
            zf_cg_variable_store(cg, &e->params[p], &value);
        }
    }
}

void zf_cg_encode(zf_cg *cg, const zf_inst *inst) {
    LLVMTypeRef ty = LLVMFunctionType(cg->ty_void, &cg->ty_ptr, 1, 0);
    zf_cg_begin_function(cg, LLVMAddFunction(cg->module, ZF_CG_ENCODE_NAME, ty));
    zf_cg_encode_env env = {.env = {.inst = inst,
                                    .param = param,
                                    .length = stream_length,
                                    .check = check,
                                    .work = work,
                                    .expr = expression,
                                    .stmt = statement,
                                    .assign = assign}};
    zf_cg_encode_env *e = &env;
    e->v_frame = LLVMGetParam(cg->function, 0);
    e->local_count = zf_encode_locals(inst, NULL);
    e->streams = ZF_NEW_ARRAY(cg->arena, zf_cg_buffer, inst->stream_count + 1);
    e->params = ZF_NEW_ARRAY(cg->arena, zf_cg_variable, inst->param_count + 1);
    e->locals = ZF_NEW_ARRAY(cg->arena, zf_cg_buffer, e->local_count + 1);
    e->local_of = ZF_NEW_ARRAY(cg->arena, const zf_local *, e->local_count + 1);
    zf_encode_locals(inst, e->local_of);
    zf_cg_enter(cg, zf_cg_block(cg, "entry"));
    e->bb_stop = zf_cg_block(cg, "stop");
    LLVMBasicBlockRef bb_start = zf_cg_block(cg, "start");
    e->v_work = zf_cg_alloca(cg, cg->ty_i64, "work");
    LLVMBuildStore(cg->builder, zf_cg_load(cg, cg->ty_i64, FRAME(work), 8), e->v_work);
    e->v_values = zf_cg_load(cg, cg->ty_ptr, FRAME(values), 8);
    e->v_rows = zf_cg_load(cg, cg->ty_i64, FRAME(rows), 8);
    e->v_validity = zf_cg_load(cg, cg->ty_ptr, FRAME(validity), 8);
    e->v_offsets = zf_cg_load(cg, cg->ty_ptr, FRAME(offsets), 8);
    e->v_hash_a = zf_cg_load(cg, cg->ty_i64, FRAME(hash.a), 8);
    e->v_hash_b = zf_cg_load(cg, cg->ty_i64, FRAME(hash.b), 8);
    bind_buffers(cg, e, inst);
    load_params(cg, e, inst, false);
    zf_cg_br(cg, bb_start);
    zf_cg_enter(cg, bb_start);
    zf_cg_eval_body(cg, &e->env, &inst->encode);
    for (uint32_t s = 0; s < inst->stream_count; s++) zf_cg_buffer_out(cg, &e->streams[s]);
    load_params(cg, e, inst, true);
    zf_cg_br(cg, e->bb_stop);
    LLVMMoveBasicBlockAfter(e->bb_stop, zf_cg_here(cg));
    zf_cg_enter(cg, e->bb_stop);
    LLVMBuildRetVoid(cg->builder);
}
