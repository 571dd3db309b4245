// Links: zf_llvm_headers zipflow-compiler
// Loads of 16 bytes that may not be aligned: none is left for LLVM's NVPTX back end, which would make an aligned one of it.
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <string.h>

#include "codegen/target/nvptx_loads.h"
#include "tests/unit/check.h"

enum { CONSTANT, WRITTEN, SHARED, KINDS };
static const char *const kind_names[KINDS] = {"constant memory", "memory that the kernel writes", "shared memory"};

typedef struct loads {
    unsigned vectors, words, halves, bytes; ///< by type
    unsigned misaligned;                    ///< whose alignment is less than their size
} loads;

/// A function that loads 16 bytes with an alignment and stores them.
static LLVMModuleRef module_of(LLVMContextRef context, int kind, unsigned align) {
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("loads", context);
    LLVMTypeRef ty = LLVMVectorType(LLVMInt8TypeInContext(context), 16);
    LLVMTypeRef types[2] = {LLVMPointerTypeInContext(context, kind == SHARED ? 3 : 1), LLVMPointerTypeInContext(context, 1)};
    LLVMValueRef v_function = LLVMAddFunction(module, "f", LLVMFunctionType(LLVMVoidTypeInContext(context), types, 2, 0));
    static const char *const names[] = {"noalias", "readonly"};
    for (int k = 0; kind == CONSTANT && k < 2; k++) {
        unsigned attribute = LLVMGetEnumAttributeKindForName(names[k], strlen(names[k]));
        LLVMAddAttributeAtIndex(v_function, 1, LLVMCreateEnumAttribute(context, attribute, 0));
    }
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, v_function, ""));
    LLVMValueRef v = LLVMBuildLoad2(builder, ty, LLVMGetParam(v_function, 0), "");
    LLVMSetAlignment(v, align);
    LLVMSetAlignment(LLVMBuildStore(builder, v, LLVMGetParam(v_function, 1)), 16);
    LLVMBuildRetVoid(builder);
    LLVMDisposeBuilder(builder);
    return module;
}

static loads count(LLVMModuleRef module) {
    loads found = {0};
    LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(LLVMGetNamedFunction(module, "f"));
    for (LLVMValueRef v = LLVMGetFirstInstruction(bb); v != NULL; v = LLVMGetNextInstruction(v)) {
        if (LLVMIsALoadInst(v) == NULL) continue;
        LLVMTypeRef ty = LLVMTypeOf(v);
        unsigned size = LLVMGetTypeKind(ty) == LLVMVectorTypeKind ? 16 : LLVMGetIntTypeWidth(ty) / 8;
        found.vectors += size == 16;
        found.words += size == 4;
        found.halves += size == 2;
        found.bytes += size == 1;
        found.misaligned += LLVMGetAlignment(v) < size;
    }
    return found;
}

int main(void) {
    LLVMContextRef context = LLVMContextCreate();
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned align = 1; align <= 16; align *= 2) {
            LLVMModuleRef module = module_of(context, kind, align);
            zf_nvptx_mend_loads(module);
            char *message = NULL;
            CHECK(!LLVMVerifyModule(module, LLVMReturnStatusAction, &message), "%s, aligned to %u: %s", kind_names[kind], align,
                  message);
            LLVMDisposeMessage(message);
            loads found = count(module);
            loads wanted = {.words = 4};
            if (align == 16) wanted = (loads){.vectors = 1};
            if (align < 4 && kind == CONSTANT) wanted = (loads){.words = 5};
            if (align < 4 && kind != CONSTANT) wanted = (loads){.halves = align == 2 ? 8 : 0, .bytes = align == 1 ? 16 : 0};
            CHECK(memcmp(&found, &wanted, sizeof found) == 0,
                  "%s, aligned to %u: %u vectors, %u words, %u halves, %u bytes, %u misaligned", kind_names[kind], align,
                  found.vectors, found.words, found.halves, found.bytes, found.misaligned);
            LLVMDisposeModule(module);
        }
    }
    LLVMContextDispose(context);
    return check_result();
}
