// The stage of loads: its blocks are open while bodies are built, and bodies ask for windows of an edge by what they read.
#include "codegen/simt/memory/simt_load_stage.h"

void zf_simt_stage_begin(zf_cg *cg, zf_simt_stage *stage, const char *loads, const char *bodies) {
    *stage = (zf_simt_stage){.bb_loads = zf_cg_block(cg, loads), .bb_bodies = zf_cg_block(cg, bodies)};
    zf_cg_br(cg, stage->bb_loads);
    zf_cg_enter(cg, stage->bb_bodies);
}

void zf_simt_stage_end(zf_cg *cg, const zf_simt_stage *stage) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, stage->bb_loads);
    zf_cg_br(cg, stage->bb_bodies);
    zf_cg_enter(cg, bb_before);
}

LLVMBasicBlockRef zf_simt_to_loads(zf_cg *cg, zf_simt_stage *stage) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    stage->bb_open = stage->tied != NULL ? &stage->tied->bb_loads : &stage->bb_loads;
    zf_cg_enter(cg, *stage->bb_open);
    return bb_before;
}

void zf_simt_from_loads(zf_cg *cg, zf_simt_stage *stage, LLVMBasicBlockRef bb_before) {
    *stage->bb_open = zf_cg_here(cg);
    zf_cg_enter(cg, bb_before);
}

// ---- Tied loads -----------------------------------------------------------------------------------------------

void zf_simt_tied_begin(zf_cg *cg, zf_simt_tied *tied) {
    *tied = (zf_simt_tied){.bb_loads = zf_cg_block(cg, "tied_load"),
                           .bb_words = zf_cg_block(cg, "tied_words"),
                           .bb_bodies = zf_cg_block(cg, "tied")};
    tied->bb_shifts = tied->bb_words;
    zf_cg_br(cg, tied->bb_loads);
    zf_cg_enter(cg, tied->bb_bodies);
}

void zf_simt_tied_end(zf_cg *cg, zf_simt_tied *tied) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    LLVMValueRef v_loaded[ZF_SIMT_TIED_MOST];
    zf_cg_enter(cg, tied->bb_loads);
    for (unsigned k = 0; k < tied->count; k++) v_loaded[k] = zf_cg_get(cg, tied->v_slots[k]);
    if (cg->target->simt->tie != NULL && tied->count > 1) cg->target->simt->tie(cg, v_loaded, tied->count);
    for (unsigned k = 0; k < tied->count; k++) LLVMBuildStore(cg->builder, v_loaded[k], tied->v_slots[k]);
    zf_cg_br(cg, tied->bb_words);
    zf_cg_enter(cg, tied->bb_shifts);
    zf_cg_br(cg, tied->bb_bodies);
    zf_cg_enter(cg, bb_before);
}

void zf_simt_wait_for_all(zf_cg *cg, zf_simt_stage *stage, LLVMValueRef *v_loaded, unsigned count) {
    zf_simt_tied *tied = stage->tied;
    if (tied == NULL || tied->count + count > ZF_SIMT_TIED_MOST) return;
    if (LLVMGetTypeKind(LLVMTypeOf(v_loaded[0])) != LLVMIntegerTypeKind) return;
    LLVMValueRef *v_slots = &tied->v_slots[tied->count];
    tied->count += count;
    for (unsigned k = 0; k < count; k++) {
        v_slots[k] = zf_cg_alloca(cg, LLVMTypeOf(v_loaded[k]), "loaded");
        LLVMBuildStore(cg->builder, v_loaded[k], v_slots[k]);
    }
    tied->bb_loads = zf_cg_here(cg);
    stage->bb_open = &tied->bb_shifts;
    zf_cg_enter(cg, tied->bb_shifts);
    for (unsigned k = 0; k < count; k++) v_loaded[k] = zf_cg_get(cg, v_slots[k]);
}

zf_simt_window *zf_simt_window_find(const zf_simt_stage *stage, const zf_simt_window *like) {
    for (zf_simt_window *w = stage->windows; w != NULL; w = w->next) {
        bool same = w->edge == like->edge && w->elements == like->elements && w->stride == like->stride && w->port == like->port;
        if (same && w->from == like->from && w->count == like->count) return w;
    }
    return NULL;
}

zf_simt_window *zf_simt_window_add(zf_cg *cg, zf_simt_stage *stage, const zf_simt_window *like, unsigned words) {
    zf_simt_window *w = ZF_NEW(cg->arena, zf_simt_window);
    *w = *like;
    w->v_words = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, words);
    w->next = stage->windows;
    stage->windows = w;
    return w;
}
