#include "codegen/target/nvptx_asm.h"

#include <string.h>

LLVMValueRef zf_nvptx_funnel(LLVMBuilderRef builder, bool left, LLVMValueRef v_high, LLVMValueRef v_low, LLVMValueRef v_shift) {
    const char *text = left ? "shf.l.wrap.b32 $0, $1, $2, $3;" : "shf.r.wrap.b32 $0, $1, $2, $3;", *constraints = "=r,r,r,r";
    LLVMTypeRef ty_i32 = LLVMTypeOf(v_low), types[3] = {ty_i32, ty_i32, ty_i32}, ty = LLVMFunctionType(ty_i32, types, 3, 0);
    LLVMValueRef v_asm =
        LLVMGetInlineAsm(ty, text, strlen(text), constraints, strlen(constraints), 0, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef v_args[3] = {v_low, v_high, v_shift};
    return LLVMBuildCall2(builder, ty, v_asm, v_args, 3, "");
}
