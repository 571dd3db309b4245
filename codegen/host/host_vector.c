// Vectors: permutations, tables of them, and loops that are to become them.
#include "codegen/host/host.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

LLVMValueRef zf_host_permute(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_indices) {
    LLVMTypeRef ty = LLVMTypeOf(v_from);
    LLVMValueRef v = LLVMGetPoison(ty);
    for (unsigned k = 0; k < LLVMGetVectorSize(ty); k++) {
        LLVMValueRef v_lane = zf_cg_i64(cg, k), v_index = LLVMBuildExtractElement(cg->builder, v_indices, v_lane, "");
        v = LLVMBuildInsertElement(cg->builder, v, LLVMBuildExtractElement(cg->builder, v_from, v_index, ""), v_lane, "");
    }
    return v;
}

LLVMValueRef zf_host_table(zf_cg *cg, const zf_host_table_shape *shape) {
    enum { ROWS = 256, LANES = 64 };
    LLVMTypeRef ty = LLVMVectorType(LLVMIntTypeInContext(cg->context, shape->bits), shape->lanes);
    LLVMValueRef v_global = LLVMGetNamedGlobal(cg->module, shape->name), v_rows[ROWS], v_row[LANES];
    if (v_global != NULL) return v_global;
    for (unsigned r = 0; r < shape->rows; r++) {
        for (unsigned k = 0; k < shape->lanes; k++) v_row[k] = LLVMConstInt(LLVMGetElementType(ty), shape->entry(r, k), 0);
        v_rows[r] = LLVMConstVector(v_row, shape->lanes);
    }
    LLVMValueRef v_init = LLVMConstArray2(ty, v_rows, shape->rows);
    v_global = LLVMAddGlobal(cg->module, LLVMTypeOf(v_init), shape->name);
    LLVMSetInitializer(v_global, v_init);
    LLVMSetGlobalConstant(v_global, 1);
    LLVMSetLinkage(v_global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(v_global, LLVMGlobalUnnamedAddr);
    return v_global;
}

LLVMValueRef zf_host_table_row(zf_cg *cg, const zf_host_table_shape *shape, LLVMValueRef v_row) {
    LLVMTypeRef ty = LLVMVectorType(LLVMIntTypeInContext(cg->context, shape->bits), shape->lanes);
    LLVMValueRef v = zf_cg_load(cg, ty, zf_cg_at(cg, ty, zf_host_table(cg, shape), v_row), shape->bits / 8 * shape->lanes);
    LLVMSetVolatile(v, 1); // seen through, a permutation by it would be taken apart
    return v;
}

// A wish about a loop, with a value where `ty` is not NULL.
static LLVMMetadataRef wish(zf_cg *cg, const char *name, LLVMTypeRef ty, uint64_t value) {
    LLVMMetadataRef parts[2] = {LLVMMDStringInContext2(cg->context, name, strlen(name))};
    if (ty != NULL) parts[1] = LLVMValueAsMetadata(LLVMConstInt(ty, value, 0));
    return LLVMMDNodeInContext2(cg->context, parts, ty != NULL ? 2 : 1);
}

static void tell_loop(zf_cg *cg, const zf_cg_loop *loop, LLVMMetadataRef *wishes, unsigned count) {
    LLVMMetadataRef self = wishes[0] = LLVMTemporaryMDNode(cg->context, NULL, 0);
    LLVMMetadataRef node = LLVMMDNodeInContext2(cg->context, wishes, count);
    LLVMMetadataReplaceAllUsesWith(self, node); // names itself: so it is this loop's alone
    unsigned kind = LLVMGetMDKindIDInContext(cg->context, "llvm.loop", 9);
    LLVMSetMetadata(LLVMGetBasicBlockTerminator(loop->bb_next), kind, LLVMMetadataAsValue(cg->context, node));
}

void zf_host_loop_by_vectors(zf_cg *cg, const zf_cg_loop *loop, unsigned lanes, unsigned at_once) {
    LLVMMetadataRef wishes[5] = {NULL, wish(cg, "llvm.loop.vectorize.enable", cg->ty_i1, 1),
                                 wish(cg, "llvm.loop.vectorize.width", cg->ty_i32, lanes),
                                 wish(cg, "llvm.loop.interleave.count", cg->ty_i32, at_once),
                                 wish(cg, "llvm.loop.unroll.disable", NULL, 0)}; // before it became vectors
    tell_loop(cg, loop, wishes, 5);
}

void zf_host_keep_loop(zf_cg *cg, const zf_cg_loop *loop) {
    LLVMMetadataRef wishes[3] = {NULL, wish(cg, "llvm.loop.vectorize.enable", cg->ty_i1, 0),
                                 wish(cg, "llvm.loop.unroll.disable", NULL, 0)};
    tell_loop(cg, loop, wishes, 3);
}
