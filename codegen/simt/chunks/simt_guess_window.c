// The window of guesses: bytes from the cursor on in shared memory (simt_records.h). They are two halves of the stream, counted
// from the 16 bytes in which the chunk begins, and in registers the half behind them, so that nobody waits for it. A step may
// read what lies there; what else it took, it read wrong. Wider elements have no window: each is read once, or few times, and
// lanes read neighbours.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/simt/chunks/simt_records.h"

enum { LOADED = ZF_RECORD_LOADED, HALVES = 2 };
#define NOT_LOADED (UINT32_MAX - 1) // in place of a half of the stream

bool zf_record_has_window(const zf_record_program *program) { return program->cursor.port->type.kind == ZF_K_U8; }

uint32_t zf_record_window_bytes(const zf_record_program *program, uint32_t wave) {
    return zf_record_has_window(program) ? HALVES * LOADED * wave : 0;
}

static LLVMTypeRef loaded_type(zf_cg *cg) { return LLVMVectorType(cg->ty_i32, LOADED / 4); }

static LLVMValueRef load_half(zf_records *r, const zf_chunk_stream *s, LLVMValueRef v_half) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_at = zf_cg_add(cg, zf_cg_mul(cg, v_half, zf_cg_i32(cg, cg->wave)), r->v_lane); // in pieces of a lane
    LLVMValueRef v_last = zf_cg_last(cg, zf_cg_add(cg, s->v_total, zf_cg_wide(cg, s->v_skew)));
    v_last = LLVMBuildLShr(cg->builder, v_last, zf_cg_i64(cg, 4), "");
    v_at = zf_cg_clamp(cg, zf_cg_wide(cg, v_at), v_last, "bytes of a window");
    LLVMValueRef v_first = LLVMBuildLShr(cg->builder, s->v_bit, zf_cg_i64(cg, 3), "");
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i8, s->v_bytes, zf_cg_and(cg, v_first, zf_cg_i64(cg, ~(uint64_t)(LOADED - 1))));
    return zf_cg_load(cg, loaded_type(cg), zf_cg_at(cg, loaded_type(cg), v_from, v_at), LOADED);
}

static void store_half(zf_records *r, LLVMValueRef v_half, LLVMValueRef v) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_at = zf_cg_mul(cg, zf_cg_and(cg, v_half, zf_cg_i32(cg, HALVES - 1)), zf_cg_i32(cg, cg->wave));
    v_at = zf_cg_add(cg, v_at, r->v_lane);
    zf_cg_store(cg, v, zf_cg_at(cg, loaded_type(cg), r->v_window, zf_cg_wide(cg, v_at)), LOADED);
}

void zf_records_window_begin(zf_records *r) {
    zf_cg *cg = r->cg;
    zf_chunk_stream *s = &r->chunk->streams[r->program.cursor.port->slot];
    if (!zf_record_has_window(&r->program)) return;
    LLVMValueRef v_first = LLVMBuildLShr(cg->builder, s->v_bit, zf_cg_i64(cg, 3), "");
    s->v_skew = zf_cg_and(cg, zf_cg_resize(cg, v_first, cg->ty_i32, false), zf_cg_i32(cg, LOADED - 1));
    s->window_bytes = zf_record_window_bytes(&r->program, cg->wave);
    r->v_loaded = zf_cg_alloca(cg, cg->ty_i32, "loaded");
    r->v_ahead = zf_cg_alloca(cg, loaded_type(cg), "ahead");
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, NOT_LOADED), r->v_loaded);
    LLVMBuildStore(cg->builder, LLVMConstNull(loaded_type(cg)), r->v_ahead);
}

void zf_records_window_anew(zf_records *r) {
    if (r->v_loaded != NULL) LLVMBuildStore(r->cg->builder, zf_cg_i32(r->cg, NOT_LOADED), r->v_loaded);
}

LLVMValueRef zf_records_move_window(zf_records *r, const zf_chunk_stream *s, LLVMValueRef v_at) {
    zf_cg *cg = r->cg;
    if (!zf_record_has_window(&r->program)) return zf_cg_resize(cg, s->v_total, cg->ty_i32, false);
    uint32_t half = LOADED * cg->wave;
    LLVMBasicBlockRef bb_move = zf_cg_block(cg, "window"), bb_far = zf_cg_block(cg, "window_far"),
                      bb_near = zf_cg_block(cg, "window_near"), bb_moved = zf_cg_block(cg, "window_moved"),
                      bb_there = zf_cg_block(cg, "window_there");
    LLVMValueRef v_one = zf_cg_i32(cg, 1),
                 v_half = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_at, s->v_skew), zf_cg_i32(cg, half), "");
    LLVMValueRef v_behind = zf_cg_add(cg, v_half, v_one), v_loaded = zf_cg_get(cg, r->v_loaded);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_half, v_loaded), bb_move, bb_there);
    zf_cg_enter(cg, bb_move);
    zf_simt_barrier_warp(r->lower, "bytes of a window that are read before those in their place");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_half, zf_cg_add(cg, v_loaded, v_one)), bb_near, bb_far);
    zf_cg_enter(cg, bb_near);
    store_half(r, v_behind, zf_cg_get(cg, r->v_ahead));
    zf_cg_br(cg, bb_moved);
    zf_cg_enter(cg, bb_far);
    store_half(r, v_half, load_half(r, s, v_half));
    store_half(r, v_behind, load_half(r, s, v_behind));
    zf_cg_br(cg, bb_moved);
    zf_cg_enter(cg, bb_moved);
    LLVMBuildStore(cg->builder, load_half(r, s, zf_cg_add(cg, v_behind, v_one)), r->v_ahead);
    LLVMBuildStore(cg->builder, v_half, r->v_loaded);
    zf_simt_barrier_warp(r->lower, "bytes of a window before those who read them");
    zf_cg_br(cg, bb_there);
    zf_cg_enter(cg, bb_there);
    LLVMValueRef v_end = zf_cg_mul(cg, zf_cg_add(cg, v_behind, v_one), zf_cg_i32(cg, half));
    return zf_cg_sub(cg, v_end, s->v_skew);
}
