// LLVM's vectoriser makes one load of 16 adjacent bytes, with the alignment of a byte. Here it becomes loads of words that are
// aligned, and shifts; where words around the bytes may not be read, loads of as many bytes as are aligned.
#include "codegen/target/nvptx_loads.h"

#include <stddef.h>

#include "codegen/simt/simt_order.h"
#include "codegen/target/nvptx_asm.h"

enum { BYTES = 16, WORD = 4, WORDS = BYTES / WORD };

typedef struct mending {
    LLVMBuilderRef builder;
    LLVMTypeRef ty_i8, ty_i32, ty_i64;
    LLVMValueRef v_at;
} mending;

static LLVMValueRef at(const mending *m, LLVMValueRef v_pointer, uint64_t bytes) {
    LLVMValueRef v_bytes = LLVMConstInt(m->ty_i64, bytes, 0);
    return LLVMBuildGEP2(m->builder, m->ty_i8, v_pointer, &v_bytes, 1, "");
}

static LLVMValueRef load(const mending *m, LLVMTypeRef ty, LLVMValueRef v_pointer, uint64_t offset, unsigned align) {
    LLVMValueRef v = LLVMBuildLoad2(m->builder, ty, at(m, v_pointer, offset), "");
    LLVMSetAlignment(v, align);
    return v;
}

/// A vector of `count` elements, as 16 bytes.
static LLVMValueRef joined(const mending *m, LLVMTypeRef ty, LLVMValueRef *v_elements, unsigned count) {
    LLVMValueRef v = LLVMGetPoison(LLVMVectorType(ty, count));
    for (unsigned k = 0; k < count; k++)
        v = LLVMBuildInsertElement(m->builder, v, v_elements[k], LLVMConstInt(m->ty_i32, k, 0), "");
    return LLVMBuildBitCast(m->builder, v, LLVMVectorType(m->ty_i8, BYTES), "");
}

/// By elements of `size` bytes, to which the address is aligned.
static LLVMValueRef in_elements(const mending *m, unsigned size) {
    LLVMTypeRef ty = LLVMIntTypeInContext(LLVMGetTypeContext(m->ty_i8), size * 8);
    LLVMValueRef v[BYTES];
    for (unsigned k = 0; k < BYTES / size; k++) v[k] = load(m, ty, m->v_at, (uint64_t)k * size, size);
    return joined(m, ty, v, BYTES / size);
}

/// By the words in which the bytes lie. The last one ends at most four bytes behind them: of a block 16 bytes more can be read.
static LLVMValueRef in_words(const mending *m) {
    LLVMValueRef v_address = LLVMBuildPtrToInt(m->builder, m->v_at, m->ty_i64, "");
    LLVMValueRef v_over = LLVMBuildAnd(m->builder, v_address, LLVMConstInt(m->ty_i64, WORD - 1, 0), "");
    LLVMValueRef v_back = LLVMBuildNeg(m->builder, v_over, "");
    LLVMValueRef v_from = LLVMBuildGEP2(m->builder, m->ty_i8, m->v_at, &v_back, 1, "");
    LLVMValueRef v_bits = LLVMBuildTrunc(m->builder, v_over, m->ty_i32, "");
    v_bits = LLVMBuildShl(m->builder, v_bits, LLVMConstInt(m->ty_i32, 3, 0), "");
    LLVMValueRef v_words[WORDS + 1], v[WORDS];
    for (unsigned k = 0; k <= WORDS; k++) v_words[k] = load(m, m->ty_i32, v_from, (uint64_t)k * WORD, WORD);
    for (unsigned k = 0; k < WORDS; k++) v[k] = zf_nvptx_funnel(m->builder, false, v_words[k + 1], v_words[k], v_bits);
    return joined(m, m->ty_i32, v, WORDS);
}

static bool is_wrong(LLVMValueRef v) {
    if (!zf_simt_is_plain_load(v)) return false;
    LLVMTypeRef ty = LLVMTypeOf(v);
    if (LLVMGetTypeKind(ty) != LLVMVectorTypeKind || LLVMGetVectorSize(ty) != BYTES || LLVMGetAlignment(v) >= BYTES) return false;
    LLVMTypeRef ty_element = LLVMGetElementType(ty);
    return LLVMGetTypeKind(ty_element) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(ty_element) == 8;
}

static void mend(mending *m, LLVMValueRef v_load) {
    LLVMPositionBuilderBefore(m->builder, v_load);
    m->v_at = LLVMGetOperand(v_load, 0);
    unsigned align = LLVMGetAlignment(v_load);
    bool by_words = align < WORD && zf_simt_is_constant_memory(m->v_at);
    LLVMValueRef v = by_words ? in_words(m) : in_elements(m, align < WORD ? align : WORD);
    LLVMReplaceAllUsesWith(v_load, v);
    LLVMInstructionEraseFromParent(v_load);
}

void zf_nvptx_mend_loads(LLVMModuleRef module) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    mending m = {.builder = LLVMCreateBuilderInContext(context),
                 .ty_i8 = LLVMInt8TypeInContext(context),
                 .ty_i32 = LLVMInt32TypeInContext(context),
                 .ty_i64 = LLVMInt64TypeInContext(context)};
    for (LLVMValueRef v_function = LLVMGetFirstFunction(module); v_function != NULL;
         v_function = LLVMGetNextFunction(v_function)) {
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(v_function); bb != NULL; bb = LLVMGetNextBasicBlock(bb)) {
            for (LLVMValueRef v = LLVMGetFirstInstruction(bb), v_next; v != NULL; v = v_next) {
                v_next = LLVMGetNextInstruction(v);
                if (is_wrong(v)) mend(&m, v);
            }
        }
    }
    LLVMDisposeBuilder(m.builder);
}
