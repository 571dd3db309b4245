// The order of loads in the code of a kernel, after it is optimised.
//
// Layouts whose data give the places of their bits make loads that wait for loads: the begin of a block, its widths, its words.
// ptxas leaves such chains in the order in which it finds them, so a thread that makes several rows would wait for all of one
// before it loads for the next. Here the loads of a straight piece of code that nothing in the kernel can change go first:
// those that wait for none, then those that wait for one, and so on, each with the computation of its address.
#include "codegen/simt/simt_order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/DebugInfo.h>

typedef struct instruction {
    LLVMValueRef v;
    bool is_free;   ///< may stand anywhere behind its operands, and so may those in its block
    bool is_load;   ///< of what the kernel does not change
    bool is_early;  ///< a free load, or what such a one waits for
    unsigned waits; ///< for how many loads of its block, one after the other
} instruction;

typedef struct block {
    instruction *all;
    size_t count;
    size_t *places; ///< by hash of the value: 1 + number; 0: none
    size_t mask;
} block;

static size_t *place_of(const block *b, LLVMValueRef v) {
    size_t at = ((uintptr_t)v >> 4) * 0x9e3779b97f4a7c15u >> 20 & b->mask;
    while (b->places[at] != 0 && b->all[b->places[at] - 1].v != v) at = (at + 1) & b->mask;
    return &b->places[at];
}

static instruction *find(const block *b, LLVMValueRef v) {
    if (LLVMIsAInstruction(v) == NULL) return NULL;
    size_t place = *place_of(b, v);
    return place == 0 ? NULL : &b->all[place - 1];
}

static bool has_attribute(LLVMValueRef argument, const char *name) {
    LLVMValueRef function = LLVMGetParamParent(argument);
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    for (unsigned k = 0; k < LLVMCountParams(function); k++) {
        if (LLVMGetParam(function, k) == argument) return LLVMGetEnumAttributeAtIndex(function, k + 1, kind) != NULL;
    }
    return false;
}

bool zf_simt_is_constant_memory(LLVMValueRef v_pointer) {
    while (LLVMIsAGetElementPtrInst(v_pointer) != NULL) v_pointer = LLVMGetOperand(v_pointer, 0);
    if (LLVMIsAArgument(v_pointer) == NULL || !has_attribute(v_pointer, "noalias")) return false;
    return has_attribute(v_pointer, "readonly");
}

bool zf_simt_is_plain_load(LLVMValueRef v) {
    return LLVMIsALoadInst(v) != NULL && !LLVMGetVolatile(v) && LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic;
}

static bool is_stable_load(LLVMValueRef v) {
    return zf_simt_is_plain_load(v) && zf_simt_is_constant_memory(LLVMGetOperand(v, 0));
}

/// Calls of LLVM's functions that only compute.
static bool is_pure_call(LLVMValueRef v) {
    static const char *const names[] = {"llvm.umin.",  "llvm.umax.", "llvm.smin.", "llvm.smax.",
                                        "llvm.ctpop.", "llvm.fshl.", "llvm.fshr."};
    LLVMValueRef callee = LLVMGetCalledValue(v);
    size_t length;
    if (LLVMIsAFunction(callee) == NULL) return false;
    const char *name = LLVMGetValueName2(callee, &length);
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (strncmp(name, names[k], strlen(names[k])) == 0) return true;
    }
    return false;
}

static bool is_pure(LLVMValueRef v) {
    if (LLVMIsABinaryOperator(v) != NULL) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(v); // a division may trap
        return opcode != LLVMUDiv && opcode != LLVMSDiv && opcode != LLVMURem && opcode != LLVMSRem;
    }
    if (LLVMIsACallInst(v) != NULL) return is_pure_call(v);
    return LLVMIsACastInst(v) || LLVMIsAICmpInst(v) || LLVMIsASelectInst(v) || LLVMIsAGetElementPtrInst(v) ||
           LLVMIsAFreezeInst(v) || LLVMIsAInsertElementInst(v) || LLVMIsAExtractElementInst(v);
}

static bool read_block(block *b, LLVMBasicBlockRef bb) {
    LLVMValueRef v = LLVMGetFirstInstruction(bb);
    while (v != NULL && LLVMIsAPHINode(v) != NULL) v = LLVMGetNextInstruction(v);
    for (LLVMValueRef v_next = v; v_next != NULL; v_next = LLVMGetNextInstruction(v_next)) b->count++;
    if (b->count < 2) return false;
    b->count--; // but for the terminator
    for (b->mask = 16; b->mask < 2 * b->count;) b->mask *= 2;
    b->all = calloc(b->count, sizeof(instruction));
    b->places = calloc(b->mask--, sizeof(size_t));
    if (b->all == NULL || b->places == NULL) return false;
    for (size_t k = 0; k < b->count; k++, v = LLVMGetNextInstruction(v)) {
        b->all[k].v = v;
        *place_of(b, v) = k + 1;
    }
    return true;
}

/// Which loads may go first, and how deep they are. Returns the depth of the deepest.
static unsigned weigh(block *b) {
    unsigned deepest = 0;
    for (size_t k = 0; k < b->count; k++) {
        instruction *each = &b->all[k];
        each->is_load = is_stable_load(each->v);
        each->is_free = each->is_load || is_pure(each->v);
        for (int o = 0; o < LLVMGetNumOperands(each->v); o++) {
            const instruction *operand = find(b, LLVMGetOperand(each->v, (unsigned)o));
            if (operand == NULL) continue;
            unsigned waits = operand->waits + operand->is_load;
            if (waits > each->waits) each->waits = waits;
            each->is_free = each->is_free && operand->is_free;
        }
        each->is_early = each->is_free && each->is_load;
        if (each->is_early && each->waits > deepest) deepest = each->waits;
    }
    for (size_t k = b->count; k-- > 0;) {
        if (!b->all[k].is_early) continue;
        for (int o = 0; o < LLVMGetNumOperands(b->all[k].v); o++) {
            instruction *operand = find(b, LLVMGetOperand(b->all[k].v, (unsigned)o));
            if (operand != NULL) operand->is_early = true;
        }
    }
    return deepest;
}

static void move_up(block *b, LLVMBuilderRef builder, unsigned deepest) {
    LLVMValueRef v_before = NULL; // the first one that stays
    for (size_t k = 0; k < b->count && v_before == NULL; k++) {
        if (!b->all[k].is_early) v_before = b->all[k].v;
    }
    if (v_before == NULL) v_before = LLVMGetNextInstruction(b->all[b->count - 1].v);
    for (unsigned waits = 0; waits <= deepest; waits++) {
        for (size_t k = 0; k < b->count; k++) {
            instruction *each = &b->all[k];
            if (!each->is_early || each->waits != waits) continue;
            LLVMMetadataRef place = LLVMInstructionGetDebugLoc(each->v);
            LLVMInstructionRemoveFromParent(each->v);
            LLVMPositionBuilderBefore(builder, v_before);
            LLVMSetCurrentDebugLocation2(builder, place);
            LLVMInsertIntoBuilder(builder, each->v);
        }
    }
}

static void order(LLVMValueRef v_function) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(LLVMGetGlobalParent(v_function)));
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(v_function); bb != NULL; bb = LLVMGetNextBasicBlock(bb)) {
        block b = {0};
        if (read_block(&b, bb)) {
            unsigned deepest = weigh(&b);
            if (deepest > 0) move_up(&b, builder, deepest);
        }
        free(b.all);
        free(b.places);
    }
    LLVMDisposeBuilder(builder);
}

static const char wish[] = "zf-loads-first";

void zf_simt_order_wish(LLVMValueRef v_function) {
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(v_function));
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(context, wish, sizeof wish - 1, "", 0);
    LLVMAddAttributeAtIndex(v_function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

void zf_simt_order_loads(LLVMModuleRef module) {
    for (LLVMValueRef v = LLVMGetFirstFunction(module); v != NULL; v = LLVMGetNextFunction(v)) {
        if (LLVMGetStringAttributeAtIndex(v, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, wish, sizeof wish - 1) != NULL)
            order(v);
    }
}
