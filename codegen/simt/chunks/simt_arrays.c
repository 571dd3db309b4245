// All lanes of a warp walk the program alike, so what they write to a local array is the same. One array for all, in shared
// memory, leaves the multiprocessor's cache to what they read. The first lane writes, once all have read what they needed, and
// all meet before anything is read.
#include "codegen/simt/chunks/simt_arrays.h"

#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_lines.h"
#include "codegen/body/cg_together.h"
#include "frontend/check/walk.h"

enum {
    PIECE = 16,
    LARGEST = 14 << 10, // of a warp: 16 warps of a multiprocessor still run at once
};

static uint32_t rounded(uint64_t bytes) { return (uint32_t)((bytes + PIECE - 1) / PIECE * PIECE); }

static bool see_array(zf_visitor *visitor, zf_stmt *stmt) {
    uint32_t *bytes = visitor->user;
    if (stmt->kind == ZF_S_EMIT_REGION) return false; // lanes make its elements apart
    if ((stmt->kind == ZF_S_VAR || stmt->kind == ZF_S_LET) && stmt->local != NULL && stmt->local->kind == ZF_L_ARRAY) {
        uint64_t each = stmt->local->length * zf_kind_size(stmt->local->type.kind);
        if (each <= LARGEST && *bytes + rounded(each + PIECE) <= LARGEST) *bytes += rounded(each + PIECE);
    }
    return true;
}

uint32_t zf_simt_arrays_bytes(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t bytes = 0;
    zf_visitor visitor = {.user = &bytes, .stmt = see_array};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&plan->graph->nodes[kernel->root].inst->decode); // only looks
    return bytes;
}

/// The arrays of a kernel.
typedef struct arrays {
    zf_cg_together together; ///< first: callbacks get a pointer to it
    zf_kernel_build *lower;
    LLVMValueRef v_all; ///< the warp's bytes
    uint32_t used, room;
} arrays;

static LLVMValueRef memory(zf_cg *cg, zf_cg_together *together, uint64_t bytes) {
    arrays *a = (arrays *)together;
    if (bytes > LARGEST || a->used + rounded(bytes) > a->room) return NULL;
    a->used += rounded(bytes);
    // Another body may have the array next, where this place is not come to.
    LLVMBasicBlockRef bb_here = zf_cg_here(cg);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(cg->builder);
    bool apart = LLVMIsAInstruction(a->v_all) != NULL && LLVMGetNextInstruction(a->v_all) != NULL;
    if (apart) LLVMPositionBuilderBefore(cg->builder, LLVMGetNextInstruction(a->v_all));
    LLVMValueRef v_slot = zf_cg_byte_at(cg, a->v_all, a->used - rounded(bytes));
    if (apart) {
        zf_cg_enter(cg, bb_here);
        zf_cg_lines_leave(cg, line);
    }
    return v_slot;
}

static void store(zf_cg *cg, zf_cg_together *together, LLVMValueRef v, LLVMValueRef v_at, unsigned size) {
    arrays *a = (arrays *)together;
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "store_together"), bb_stored = zf_cg_block(cg, "stored_together");
    zf_simt_barrier_warp(a->lower, "elements of an array that are read before others in their place");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, zf_simt_lane(a->lower), zf_cg_i32(cg, 0)), bb_store, bb_stored);
    zf_cg_enter(cg, bb_store);
    zf_cg_store(cg, v, v_at, size);
    zf_cg_br(cg, bb_stored);
    LLVMMoveBasicBlockAfter(bb_stored, zf_cg_here(cg));
    zf_cg_enter(cg, bb_stored);
    zf_simt_barrier_warp(a->lower, "elements of an array before those who read them");
}

static void clear(zf_cg *cg, zf_cg_together *together, LLVMValueRef v_slot, uint64_t bytes) {
    arrays *a = (arrays *)together;
    LLVMTypeRef ty = LLVMVectorType(cg->ty_i32, PIECE / 4);
    uint32_t pieces = rounded(bytes) / PIECE;
    zf_simt_barrier_warp(a->lower, "elements of an array that are read before it begins anew");
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "clear"), bb_piece = zf_cg_block(cg, "clear_piece"),
                      bb_done = zf_cg_block(cg, "cleared");
    LLVMValueRef v_at = zf_cg_alloca(cg, cg->ty_i32, "piece");
    LLVMBuildStore(cg->builder, zf_simt_lane(a->lower), v_at);
    zf_cg_br(cg, bb_head);
    zf_cg_enter(cg, bb_head);
    LLVMValueRef v_piece = LLVMBuildLoad2(cg->builder, cg->ty_i32, v_at, "");
    LLVMValueRef v_is = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_piece, zf_cg_i32(cg, pieces)), "pieces of an array");
    zf_cg_cond_br(cg, v_is, bb_piece, bb_done);
    zf_cg_enter(cg, bb_piece);
    LLVMValueRef v_to = zf_cg_at(cg, ty, v_slot, zf_cg_resize(cg, v_piece, cg->ty_i64, false));
    zf_cg_store(cg, LLVMConstNull(ty), v_to, PIECE);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_piece, zf_cg_i32(cg, cg->wave)), v_at);
    zf_cg_br(cg, bb_head);
    zf_simt_keep_loop(cg, zf_cg_here(cg));
    LLVMMoveBasicBlockAfter(bb_done, zf_cg_here(cg));
    zf_cg_enter(cg, bb_done);
    zf_simt_barrier_warp(a->lower, "zeros of an array before those who read them");
}

uint32_t zf_simt_arrays_offset(const zf_simt_shape *shape) { return shape->shared_bytes - shape->tiles * shape->array_bytes; }

void zf_simt_arrays_begin(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    uint32_t each = shape->array_bytes;
    if (each == 0) return;
    arrays *a = ZF_NEW(cg->arena, arrays);
    *a = (arrays){.together = {memory, clear, store}, .lower = lower, .room = each};
    a->v_all = cg->target->simt->shared(cg, zf_simt_arrays_offset(shape), shape->tiles * each);
    a->v_all = zf_cg_at(cg, cg->ty_i8, a->v_all, zf_cg_mul(cg, zf_simt_warp(lower), zf_cg_i64(cg, each)));
    cg->together = &a->together;
}

void zf_simt_arrays_end(zf_kernel_build *lower) { lower->cg->together = NULL; }
