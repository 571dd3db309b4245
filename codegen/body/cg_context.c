// The context of code generation: types, constants, tables, loops, calls.
#include <setjmp.h>
#include <string.h>

#include "codegen/body/cg_emit.h"
#include "codegen/body/cg_frame.h"
#include "codegen/body/cg_lines.h"
#include "codegen/target/codegen_target.h"
#include "frontend/diag/diag_status.h"
#include "runtime/base/error_codes.h"

struct zf_cg_table_entry {
    const zf_table_const *table;
    LLVMValueRef v_global;
    struct zf_cg_table_entry *next;
};

void zf_cg_init(zf_cg *cg, LLVMModuleRef module, zf_arena *arena, zf_diags *diags) {
    memset(cg, 0, sizeof *cg);
    cg->module = module;
    cg->context = LLVMGetModuleContext(module);
    cg->builder = LLVMCreateBuilderInContext(cg->context);
    cg->arena = arena;
    cg->diags = diags;
    cg->ty_void = LLVMVoidTypeInContext(cg->context);
    cg->ty_i1 = LLVMInt1TypeInContext(cg->context);
    cg->ty_i8 = LLVMInt8TypeInContext(cg->context);
    cg->ty_i16 = LLVMInt16TypeInContext(cg->context);
    cg->ty_i32 = LLVMInt32TypeInContext(cg->context);
    cg->ty_i64 = LLVMInt64TypeInContext(cg->context);
    cg->ty_i128 = LLVMInt128TypeInContext(cg->context);
    cg->ty_f32 = LLVMFloatTypeInContext(cg->context);
    cg->ty_f64 = LLVMDoubleTypeInContext(cg->context);
    cg->ty_ptr = LLVMPointerTypeInContext(cg->context, 0);
}

void zf_cg_dispose(zf_cg *cg) {
    zf_cg_lines_end(cg, true);
    if (cg->builder != NULL) LLVMDisposeBuilder(cg->builder);
    cg->builder = NULL;
}

zf_status zf_cg_build(LLVMModuleRef module, zf_arena *arena, unsigned compact, void (*add)(zf_cg *cg, void *user), void *user,
                      zf_error *error) {
    jmp_buf escape;
    zf_diags diags;
    zf_cg cg;
    zf_diags_init(&diags, arena);
    zf_cg_init(&cg, module, arena, &diags);
    cg.compact = compact;
    if (setjmp(escape) != 0) {
        zf_arena_set_escape(arena, NULL);
        zf_cg_dispose(&cg);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code");
    }
    zf_arena_set_escape(arena, &escape);
    add(&cg, user);
    zf_arena_set_escape(arena, NULL);
    zf_cg_dispose(&cg);
    return cg.failed ? zf_diag_status(zf_diags_first_error(&diags), ZF_ERR_UNSUPPORTED, error) : ZF_OK;
}

zf_status zf_cg_build_alone(LLVMModuleRef module, unsigned compact, void (*add)(zf_cg *cg, void *user), void *user,
                            zf_error *error) {
    zf_arena *arena = zf_arena_create();
    if (arena == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code");
    zf_status status = zf_cg_build(module, arena, compact, add, user, error);
    zf_arena_destroy(arena);
    return status;
}

void zf_cg_unsupported(zf_cg *cg, zf_span span, const char *format, ...) {
    cg->failed = true;
    if (cg->diags == NULL) return;
    va_list arguments;
    va_start(arguments, format);
    const char *text = zf_arena_vprintf(cg->arena, format, arguments);
    va_end(arguments);
    zf_diag_error(cg->diags, ZF_D_NOT_LOWERED, span, "%s", text == NULL ? "a form that this target does not lower" : text);
}

static LLVMTypeRef integer_type(zf_cg *cg, unsigned bits) {
    switch (bits) {
    case 8: return cg->ty_i8;
    case 16: return cg->ty_i16;
    case 32: return cg->ty_i32;
    default: return cg->ty_i64;
    }
}

LLVMTypeRef zf_cg_type(zf_cg *cg, zf_type type) {
    if (type.kind == ZF_K_BOOL) return cg->ty_i1;
    if (type.kind == ZF_K_F32) return cg->ty_f32;
    if (type.kind == ZF_K_F64) return cg->ty_f64;
    if (zf_kind_is_integer(type.kind)) return integer_type(cg, zf_kind_bits(type.kind));
    return cg->ty_i64; // strings and poisoned types: never in one register, but callers may ask before they look
}

LLVMTypeRef zf_cg_memory_type(zf_cg *cg, zf_type type) { return type.kind == ZF_K_BOOL ? cg->ty_i8 : zf_cg_type(cg, type); }

LLVMValueRef zf_cg_zero(zf_cg *cg, zf_type type) { return LLVMConstNull(zf_cg_type(cg, type)); }

LLVMValueRef zf_cg_const(zf_cg *cg, zf_type type, uint64_t bits) {
    LLVMTypeRef ty = zf_cg_type(cg, type);
    if (type.kind == ZF_K_F32) return LLVMConstBitCast(LLVMConstInt(cg->ty_i32, (uint32_t)bits, 0), ty);
    if (type.kind == ZF_K_F64) return LLVMConstBitCast(LLVMConstInt(cg->ty_i64, bits, 0), ty);
    return LLVMConstInt(ty, bits, 0); // truncates to the width
}

zf_cg_value zf_cg_scalar(zf_type type, LLVMValueRef v) {
    zf_cg_value value = {.type = type, .v = v};
    return value;
}

zf_cg_value zf_cg_zero_value(zf_cg *cg, zf_type type) {
    zf_cg_value value = {.type = type};
    if (type.nullable) value.v_valid = zf_cg_i1(cg, false);
    if (type.kind == ZF_K_STRING) {
        value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY,
                                .type = zf_type_of(ZF_K_U8),
                                .v_data = LLVMConstNull(cg->ty_ptr),
                                .v_length = zf_cg_i64(cg, 0)};
    } else if (type.kind != ZF_K_NONE) {
        value.v = zf_cg_zero(cg, type);
    }
    return value;
}

LLVMValueRef zf_cg_table(zf_cg *cg, const zf_table_const *table) {
    for (const struct zf_cg_table_entry *e = cg->tables; e != NULL; e = e->next) {
        if (e->table == table) return e->v_global;
    }
    LLVMTypeRef ty = zf_cg_memory_type(cg, table->type);
    LLVMValueRef *v_elements = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, table->length == 0 ? 1 : table->length);
    for (uint64_t k = 0; k < table->length; k++) {
        v_elements[k] = table->type.kind == ZF_K_BOOL ? LLVMConstInt(ty, table->bits[k] != 0, 0)
                                                      : zf_cg_const(cg, table->type, table->bits[k]);
    }
    // Two words of zeroes behind it, so that 16 bytes can be read at any element.
    LLVMValueRef v_fields[2] = {LLVMConstArray2(ty, v_elements, table->length), LLVMConstNull(LLVMArrayType2(cg->ty_i64, 2))};
    LLVMValueRef v_init = LLVMConstStructInContext(cg->context, v_fields, 2, 0);
    LLVMValueRef v_global = LLVMAddGlobal(cg->module, LLVMTypeOf(v_init), "table");
    LLVMSetInitializer(v_global, v_init);
    LLVMSetGlobalConstant(v_global, 1);
    LLVMSetLinkage(v_global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(v_global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(v_global, 64);
    struct zf_cg_table_entry *entry = ZF_NEW(cg->arena, struct zf_cg_table_entry);
    *entry = (struct zf_cg_table_entry){table, v_global, cg->tables};
    cg->tables = entry;
    return v_global;
}

LLVMValueRef zf_cg_from_word(zf_cg *cg, zf_type type, LLVMValueRef v_word) {
    switch (type.kind) {
    case ZF_K_BOOL: return zf_cg_icmp(cg, LLVMIntNE, v_word, zf_cg_i64(cg, 0));
    case ZF_K_F64: return LLVMBuildBitCast(cg->builder, v_word, cg->ty_f64, "");
    case ZF_K_F32: return LLVMBuildBitCast(cg->builder, LLVMBuildTrunc(cg->builder, v_word, cg->ty_i32, ""), cg->ty_f32, "");
    default: return zf_cg_resize(cg, v_word, zf_cg_type(cg, type), false);
    }
}

LLVMValueRef zf_cg_to_word(zf_cg *cg, zf_type type, LLVMValueRef v) {
    if (type.kind == ZF_K_F64) return LLVMBuildBitCast(cg->builder, v, cg->ty_i64, "");
    if (type.kind == ZF_K_F32) v = LLVMBuildBitCast(cg->builder, v, cg->ty_i32, "");
    return zf_cg_resize(cg, v, cg->ty_i64, false);
}

void zf_cg_mark_same(zf_cg *cg, LLVMValueRef v_load, LLVMValueRef v_pointer) {
    unsigned space = cg->target != NULL && cg->target->simt != NULL ? cg->target->simt->global_space : 0;
    if (space == 0 || LLVMGetPointerAddressSpace(LLVMTypeOf(v_pointer)) != space) return;
    LLVMMetadataRef node = LLVMMDNodeInContext2(cg->context, NULL, 0);
    LLVMSetMetadata(v_load, LLVMGetMDKindIDInContext(cg->context, "invariant.load", 14), LLVMMetadataAsValue(cg->context, node));
}

void zf_cg_begin_function(zf_cg *cg, LLVMValueRef v_function) {
    cg->function = v_function;
    cg->v_guard = cg->v_required = NULL;
    cg->stack = 0;
    cg->arrays = NULL;
    cg->together = NULL;
    cg->neighbours = NULL;
    cg->nested = 0;
}

LLVMValueRef zf_cg_alloca(zf_cg *cg, LLVMTypeRef ty, const char *name) {
    LLVMBasicBlockRef bb_here = zf_cg_here(cg);
    LLVMMetadataRef place = LLVMGetCurrentDebugLocation2(cg->builder); // the builder takes over that of what it stands before
    LLVMBasicBlockRef bb_entry = LLVMGetEntryBasicBlock(cg->function);
    LLVMValueRef v_first = LLVMGetFirstInstruction(bb_entry);
    if (v_first != NULL)
        LLVMPositionBuilderBefore(cg->builder, v_first);
    else
        zf_cg_enter(cg, bb_entry);
    LLVMValueRef v_slot = LLVMBuildAlloca(cg->builder, ty, name);
    zf_cg_enter(cg, bb_here);
    zf_cg_lines_leave(cg, place);
    return v_slot;
}

LLVMValueRef zf_cg_intrinsic(zf_cg *cg, const char *name, LLVMTypeRef *types, size_t type_count, LLVMValueRef *arguments,
                             unsigned argument_count) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef v_function = LLVMGetIntrinsicDeclaration(cg->module, id, types, type_count);
    LLVMTypeRef ty = LLVMIntrinsicGetType(cg->context, id, types, type_count);
    return LLVMBuildCall2(cg->builder, ty, v_function, arguments, argument_count, "");
}

LLVMValueRef zf_cg_call(zf_cg *cg, const char *name, LLVMTypeRef returns, LLVMValueRef *arguments, unsigned argument_count) {
    LLVMTypeRef *types = ZF_NEW_ARRAY(cg->arena, LLVMTypeRef, argument_count + 1);
    for (unsigned k = 0; k < argument_count; k++) types[k] = LLVMTypeOf(arguments[k]);
    LLVMTypeRef ty = LLVMFunctionType(returns, types, argument_count, 0);
    LLVMValueRef v_function = LLVMGetNamedFunction(cg->module, name);
    if (v_function == NULL) {
        v_function = LLVMAddFunction(cg->module, name, ty);
        unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
        LLVMAddAttributeAtIndex(v_function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(cg->context, nounwind, 0));
    }
    return LLVMBuildCall2(cg->builder, ty, v_function, arguments, argument_count, "");
}

void zf_cg_loop_begin(zf_cg *cg, zf_cg_loop *loop, LLVMValueRef v_begin, LLVMValueRef v_end, const char *name) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    loop->bb_body = zf_cg_block(cg, name);
    loop->bb_next = zf_cg_block(cg, "next");
    loop->bb_end = zf_cg_block(cg, "end");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_begin, v_end), loop->bb_body, loop->bb_end);
    zf_cg_enter(cg, loop->bb_next);
    zf_cg_enter(cg, loop->bb_body);
    LLVMTypeRef ty = LLVMTypeOf(v_begin);
    LLVMValueRef v_phi = LLVMBuildPhi(cg->builder, ty, "i");
    LLVMAddIncoming(v_phi, &v_begin, &bb_before, 1);
    loop->v_i = v_phi;
    zf_cg_enter(cg, loop->bb_next);
    LLVMValueRef v_next = LLVMBuildNUWAdd(cg->builder, v_phi, LLVMConstInt(ty, 1, 0), "");
    LLVMAddIncoming(v_phi, &v_next, &loop->bb_next, 1);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, v_end), loop->bb_body, loop->bb_end);
    zf_cg_enter(cg, loop->bb_body);
}

void zf_cg_loop_end(zf_cg *cg, zf_cg_loop *loop) {
    zf_cg_br(cg, loop->bb_next);
    LLVMMoveBasicBlockAfter(loop->bb_next, zf_cg_here(cg));
    LLVMMoveBasicBlockAfter(loop->bb_end, loop->bb_next);
    zf_cg_enter(cg, loop->bb_end);
}

void zf_cg_unreachable_block(zf_cg *cg) { zf_cg_enter(cg, zf_cg_block(cg, "dead")); }

void zf_cg_expect(zf_cg *cg, bool holds) {
    enum { OFTEN = 2000 };
    LLVMMetadataRef parts[3] = {LLVMMDStringInContext2(cg->context, "branch_weights", strlen("branch_weights")),
                                LLVMValueAsMetadata(zf_cg_i32(cg, holds ? OFTEN : 1)),
                                LLVMValueAsMetadata(zf_cg_i32(cg, holds ? 1 : OFTEN))};
    LLVMValueRef v_weights = LLVMMetadataAsValue(cg->context, LLVMMDNodeInContext2(cg->context, parts, 3));
    LLVMSetMetadata(LLVMGetBasicBlockTerminator(zf_cg_here(cg)), LLVMGetMDKindIDInContext(cg->context, "prof", 4), v_weights);
}

// ---- Variables ------------------------------------------------------------------------------------------------

zf_cg_variable zf_cg_variable_make(zf_cg *cg, zf_type type, const char *name) {
    zf_cg_variable variable = {.type = type};
    if (type.kind == ZF_K_NONE) return variable;
    variable.v_slot = zf_cg_alloca(cg, type.kind == ZF_K_STRING ? cg->ty_ptr : zf_cg_type(cg, type), name);
    if (type.kind == ZF_K_STRING) variable.v_length_slot = zf_cg_alloca(cg, cg->ty_i64, "length");
    if (type.nullable) variable.v_valid_slot = zf_cg_alloca(cg, cg->ty_i1, "valid");
    return variable;
}

zf_cg_value zf_cg_variable_load(zf_cg *cg, const zf_cg_variable *variable) {
    zf_cg_value value = {.type = variable->type};
    if (variable->type.kind == ZF_K_NONE) return value;
    if (variable->type.kind == ZF_K_STRING) {
        value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY,
                                .type = zf_type_of(ZF_K_U8),
                                .v_data = LLVMBuildLoad2(cg->builder, cg->ty_ptr, variable->v_slot, ""),
                                .v_length = LLVMBuildLoad2(cg->builder, cg->ty_i64, variable->v_length_slot, "")};
    } else {
        value.v = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, variable->type), variable->v_slot, "");
    }
    if (variable->type.nullable) value.v_valid = LLVMBuildLoad2(cg->builder, cg->ty_i1, variable->v_valid_slot, "");
    return value;
}

void zf_cg_variable_store(zf_cg *cg, const zf_cg_variable *variable, const zf_cg_value *value) {
    if (variable->type.kind == ZF_K_NONE) return;
    if (variable->type.kind == ZF_K_STRING) {
        LLVMBuildStore(cg->builder, zf_cg_text_pointer(cg, &value->seq), variable->v_slot);
        LLVMBuildStore(cg->builder, value->seq.v_length, variable->v_length_slot);
    } else {
        LLVMBuildStore(cg->builder, value->v, variable->v_slot);
    }
    if (variable->type.nullable) LLVMBuildStore(cg->builder, value->v_valid, variable->v_valid_slot);
}
