// NVIDIA GPUs: threads and warps by intrinsics of LLVM's NVPTX back end, shared memory in address space 3.
#include <llvm-c/Target.h>
#include <stdio.h>
#include <string.h>

#include "codegen/body/cg_emit.h"
#include "codegen/host/host.h"
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/simt/simt.h"
#include "codegen/target/codegen_target.h"
#include "codegen/target/nvptx_asm.h"
#include "codegen/target/nvptx_loads.h"
#include "runtime/base/error_codes.h"

enum { GLOBAL = 1, SHARED = 3 };

static zf_status machine(unsigned level, zf_abi_target target, LLVMTargetMachineRef *out, zf_error *error) {
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelAggressive};
    *out = NULL;
    if (target.arch < 80) {
        zf_status status = zf_raise(error, ZF_E_NO_CODE_GENERATOR, "GPUs of compute capability %u.%u are not supported",
                                    target.arch / 10, target.arch % 10);
        return zf_fail_hint(error, status, "the oldest supported one is 8.0");
    }
    // PTX for 9.0 runs on everything later: the driver translates it.
    const char *cpu = target.arch >= 90 ? "sm_90" : "sm_80", *triple = "nvptx64-nvidia-cuda";
    LLVMTargetRef family;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(triple, &family, &message)) {
        zf_status status = zf_raise(error, ZF_E_NO_CODE_GENERATOR, "LLVM has no code generator for %s: %s", triple, message);
        LLVMDisposeMessage(message);
        return status;
    }
    // PTX 7.8 is the first for sm_90; drivers since CUDA 11.8 take it.
    *out = LLVMCreateTargetMachine(family, triple, cpu, "+ptx78", levels[level > 3 ? 3 : level], LLVMRelocDefault,
                                   LLVMCodeModelDefault);
    return *out != NULL ? ZF_OK : zf_raise(error, ZF_E_NO_CODE_GENERATOR, "LLVM cannot generate code for %s", cpu);
}

// With lines LLVM sets labels for sections of debug information that it then does not write. Nothing refers to them, but a label
// begins a block for ptxas, which schedules, and counts registers, by blocks.
static bool is_debug_label(const char *line, size_t length) {
    static const char *const names[] = {"$L__tmp", "$L__func_begin", "$L__func_end"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t name = strlen(names[k]);
        if (length > name && memcmp(line, names[k], name) == 0) return line[name] >= '0' && line[name] <= '9';
    }
    static const char section[] = "\t.section\t.debug_";
    return length >= sizeof section && memcmp(line, section, sizeof section - 1) == 0;
}

static void tidy(const char *assembly, size_t length, zf_text *out) {
    for (size_t at = 0, next; at < length; at = next) {
        const char *end = memchr(assembly + at, '\n', length - at);
        next = end == NULL ? length : (size_t)(end - assembly) + 1;
        if (!is_debug_label(assembly + at, next - at)) zf_text_add(out, assembly + at, next - at);
    }
}

static LLVMValueRef metadata(zf_cg *cg, LLVMMetadataRef node) { return LLVMMetadataAsValue(cg->context, node); }

static void annotate(zf_cg *cg, LLVMValueRef v_function, const char *name, uint32_t value) {
    size_t length = 0;
    while (name[length] != 0) length++;
    LLVMMetadataRef parts[3] = {LLVMValueAsMetadata(v_function), LLVMMDStringInContext2(cg->context, name, length),
                                LLVMValueAsMetadata(zf_cg_i32(cg, value))};
    LLVMAddNamedMetadataOperand(cg->module, "nvvm.annotations", metadata(cg, LLVMMDNodeInContext2(cg->context, parts, 3)));
}

static void kernel(zf_cg *cg, LLVMValueRef v_function, unsigned threads, unsigned registers) {
    LLVMSetFunctionCallConv(v_function, 71); // LLVM's PTX_Kernel
    annotate(cg, v_function, "kernel", 1);
    annotate(cg, v_function, "maxntidx", threads);
    annotate(cg, v_function, "maxntidy", 1);
    annotate(cg, v_function, "maxntidz", 1);
    if (registers > 0) annotate(cg, v_function, "maxnreg", registers);
}

static LLVMValueRef thread(zf_cg *cg) { return zf_cg_intrinsic(cg, "llvm.nvvm.read.ptx.sreg.tid.x", NULL, 0, NULL, 0); }
static LLVMValueRef group(zf_cg *cg) { return zf_cg_intrinsic(cg, "llvm.nvvm.read.ptx.sreg.ctaid.x", NULL, 0, NULL, 0); }

// Shared memory that launches give. All arrays without a length begin where it does; one for each offset, so that LLVM takes
// those at different ones for different memory.
static LLVMValueRef given(zf_cg *cg, const char *name, uint32_t offset) {
    LLVMValueRef v = LLVMGetNamedGlobal(cg->module, name);
    if (v == NULL) {
        v = LLVMAddGlobalInAddressSpace(cg->module, LLVMArrayType2(cg->ty_i8, 0), name, SHARED);
        LLVMSetLinkage(v, LLVMExternalLinkage);
        LLVMSetAlignment(v, 16);
    }
    return zf_cg_byte_at(cg, v, offset);
}

// Static shared memory, which the image says itself: one array for calls of the same place and size. (Kernels that share one have
// each their own.)
static LLVMValueRef shared(zf_cg *cg, uint32_t offset, uint32_t bytes) {
    char name[32];
    snprintf(name, sizeof(name), "shared_%u", offset);
    if (cg->shared_given) return given(cg, name, offset);
    LLVMTypeRef ty = LLVMArrayType2(cg->ty_i8, bytes);
    LLVMValueRef v = LLVMGetNamedGlobal(cg->module, name);
    if (v != NULL && LLVMGlobalGetValueType(v) == ty) return v;
    v = LLVMAddGlobalInAddressSpace(cg->module, ty, name, SHARED);
    LLVMSetInitializer(v, LLVMGetUndef(ty));
    LLVMSetLinkage(v, LLVMInternalLinkage);
    LLVMSetAlignment(v, 16);
    return v;
}

static void barrier(zf_cg *cg) { zf_cg_intrinsic(cg, "llvm.nvvm.barrier0", NULL, 0, NULL, 0); }

static void warp_barrier(zf_cg *cg) {
    LLVMValueRef v_all = zf_cg_i32(cg, UINT32_MAX);
    zf_cg_intrinsic(cg, "llvm.nvvm.bar.warp.sync", NULL, 0, &v_all, 1);
}

static LLVMValueRef shuffle(zf_cg *cg, LLVMValueRef v_value, LLVMValueRef v_lane) {
    LLVMValueRef v_args[4] = {zf_cg_i32(cg, UINT32_MAX), v_value, v_lane, zf_cg_i32(cg, 31)};
    return zf_cg_intrinsic(cg, "llvm.nvvm.shfl.sync.idx.i32", NULL, 0, v_args, 4);
}

static LLVMValueRef funnel(zf_cg *cg, bool left, LLVMValueRef v_high, LLVMValueRef v_low, LLVMValueRef v_shift) {
    return zf_nvptx_funnel(cg->builder, left, v_high, v_low, v_shift);
}

static LLVMValueRef ballot(zf_cg *cg, LLVMValueRef v_value) {
    LLVMValueRef v_args[2] = {zf_cg_i32(cg, UINT32_MAX), v_value};
    return zf_cg_intrinsic(cg, "llvm.nvvm.vote.ballot.sync", NULL, 0, v_args, 2);
}

static LLVMValueRef join(zf_cg *cg, LLVMValueRef v_value) {
    LLVMValueRef v_args[2] = {v_value, zf_cg_i32(cg, UINT32_MAX)};
    return zf_cg_intrinsic(cg, "llvm.nvvm.redux.sync.or", NULL, 0, v_args, 2);
}

static void assembly(zf_cg *cg, const char *text, const char *constraints, LLVMTypeRef *types, LLVMValueRef *v_args,
                     unsigned count) {
    LLVMTypeRef ty = LLVMFunctionType(cg->ty_void, types, count, 0);
    LLVMValueRef v_asm =
        LLVMGetInlineAsm(ty, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMBuildCall2(cg->builder, ty, v_asm, v_args, count, "");
}

static void publish(zf_cg *cg, LLVMValueRef v_counter, LLVMValueRef v_value) {
    LLVMTypeRef types[2] = {cg->ty_i32, cg->ty_i32};
    LLVMValueRef v_args[2] = {LLVMBuildPtrToInt(cg->builder, v_counter, cg->ty_i32, ""), v_value};
    assembly(cg, "st.release.cta.shared.u32 [$0], $1;", "r,r,~{memory}", types, v_args, 2);
}

// The warp goes on together: assemblers before Hopper take it to part where each lane decides.
static void await(zf_cg *cg, LLVMValueRef v_counter, LLVMValueRef v_value) {
    static const char text[] = "ld.acquire.cta.shared.u32 $0, [$1];", constraints[] = "=r,r,~{memory}";
    LLVMBasicBlockRef bb_wait = zf_cg_block(cg, "await"), bb_done = zf_cg_block(cg, "awaited");
    LLVMTypeRef ty = LLVMFunctionType(cg->ty_i32, &cg->ty_i32, 1, 0);
    LLVMValueRef v_asm =
        LLVMGetInlineAsm(ty, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef v_at = LLVMBuildPtrToInt(cg->builder, v_counter, cg->ty_i32, "");
    zf_cg_br(cg, bb_wait);
    zf_cg_enter(cg, bb_wait);
    LLVMValueRef v_seen = LLVMBuildCall2(cg->builder, ty, v_asm, &v_at, 1, "");
    LLVMValueRef v_waits = ballot(cg, zf_cg_icmp(cg, LLVMIntULT, v_seen, v_value));
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_waits, zf_cg_i32(cg, 0)), bb_wait, bb_done);
    zf_cg_enter(cg, bb_done);
}

static void copy_ahead(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from) {
    LLVMTypeRef types[2] = {cg->ty_i32, cg->ty_i64};
    LLVMValueRef v_args[2] = {LLVMBuildPtrToInt(cg->builder, v_to, cg->ty_i32, ""),
                              LLVMBuildPtrToInt(cg->builder, v_from, cg->ty_i64, "")};
    assembly(cg, "cp.async.cg.shared.global [$0], [$1], 16;", "r,l,~{memory}", types, v_args, 2);
}

static void await_copies(zf_cg *cg, uint32_t pending) {
    char text[64];
    snprintf(text, sizeof text, "cp.async.commit_group; cp.async.wait_group %u;", pending);
    assembly(cg, text, "~{memory}", NULL, NULL, 0);
}

static LLVMValueRef hold(zf_cg *cg, LLVMValueRef v, bool stays) {
    LLVMTypeRef ty = LLVMTypeOf(v), ty_function = LLVMFunctionType(ty, &ty, 1, 0);
    const char *constraints = ty == cg->ty_i64 ? "=l,0" : "=r,0";
    LLVMValueRef v_asm =
        LLVMGetInlineAsm(ty_function, "", 0, constraints, strlen(constraints), stays, 0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(cg->builder, ty_function, v_asm, &v, 1, "");
}

// Where few registers are left ptxas takes the load of a second value behind all that is made of the first, though both stand
// before it in the text. It cannot where each depends on all others. No thread block has 1 MiB of shared memory, which neither
// LLVM nor ptxas knows.
static void tie(zf_cg *cg, LLVMValueRef *v_values, unsigned count) {
    static const char text[] = "mov.u32 $0, %dynamic_smem_size;", constraints[] = "=r";
    LLVMTypeRef ty = LLVMFunctionType(cg->ty_i32, NULL, 0, 0);
    LLVMValueRef v_asm =
        LLVMGetInlineAsm(ty, text, strlen(text), constraints, strlen(constraints), 0, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef v_bytes = LLVMBuildCall2(cg->builder, ty, v_asm, NULL, 0, "");
    zf_cg_tie(cg, LLVMBuildLShr(cg->builder, v_bytes, zf_cg_i32(cg, 20), ""), v_values, count);
}

static void prefetch(zf_cg *cg, LLVMValueRef v_from) {
    LLVMTypeRef type = cg->ty_i64;
    LLVMValueRef v_arg = LLVMBuildPtrToInt(cg->builder, v_from, cg->ty_i64, "");
    assembly(cg, "prefetch.global.L2 [$0];", "l", &type, &v_arg, 1);
}

static LLVMValueRef permute(zf_cg *cg, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_selector) {
    LLVMValueRef v_args[3] = {v_low, v_high, v_selector};
    return zf_cg_intrinsic(cg, "llvm.nvvm.prmt", NULL, 0, v_args, 3);
}

// A shuffle says which lanes got something, so that nothing else decides whether to add.
static LLVMValueRef add_up(zf_cg *cg, LLVMValueRef v_value, uint32_t distance) {
    static const char narrow[] = "{ .reg .b32 t; .reg .pred p; shfl.sync.up.b32 t|p, $1, $2, 0, -1; @p add.u32 t, t, $1; "
                                 "mov.b32 $0, t; }";
    static const char wide[] = "{ .reg .b32 l, h; .reg .b64 t; .reg .pred p; mov.b64 {l, h}, $1; "
                               "shfl.sync.up.b32 l, l, $2, 0, -1; shfl.sync.up.b32 h|p, h, $2, 0, -1; mov.b64 t, {l, h}; "
                               "@p add.u64 t, t, $1; mov.b64 $0, t; }";
    LLVMTypeRef ty = LLVMTypeOf(v_value), types[2] = {ty, cg->ty_i32};
    bool is_wide = LLVMGetIntTypeWidth(ty) == 64;
    const char *text = is_wide ? wide : narrow, *constraints = is_wide ? "=l,l,n" : "=r,r,n";
    LLVMTypeRef ty_function = LLVMFunctionType(ty, types, 2, 0);
    LLVMValueRef v_asm =
        LLVMGetInlineAsm(ty_function, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef v_args[2] = {v_value, zf_cg_i32(cg, distance)};
    LLVMValueRef v_call = LLVMBuildCall2(cg->builder, ty_function, v_asm, v_args, 2, "");
    unsigned kind = LLVMGetEnumAttributeKindForName("convergent", 10);
    LLVMAddCallSiteAttribute(v_call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(cg->context, kind, 0));
    return v_call;
}

static LLVMValueRef hide(zf_cg *cg, LLVMValueRef v_value) {
    static const char text[] = "mov.b32 $0, $1;", constraints[] = "=r,r";
    LLVMTypeRef ty = LLVMFunctionType(cg->ty_i32, &cg->ty_i32, 1, 0);
    LLVMValueRef v_asm =
        LLVMGetInlineAsm(ty, text, strlen(text), constraints, strlen(constraints), 0, 0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(cg->builder, ty, v_asm, &v_value, 1, "");
}

// A predicate, where ptxas would make a region in which lanes part.
static void store_where(zf_cg *cg, LLVMValueRef v_if, const LLVMValueRef *v_words, uint32_t count, LLVMValueRef v_pointer) {
    bool wide = LLVMGetIntTypeWidth(LLVMTypeOf(v_words[0])) == 64;
    char text[64], constraints[32];
    snprintf(text, sizeof text, "@$1 st.shared%s.b%s [$0], %s;", count == 2 ? ".v2" : "", wide ? "64" : "32",
             count == 2 ? "{$2, $3}" : "$2");
    snprintf(constraints, sizeof constraints, "r,b,%s%s~{memory}", wide ? "l," : "r,", count < 2 ? "" : wide ? "l," : "r,");
    LLVMTypeRef types[4] = {cg->ty_i32, cg->ty_i1};
    LLVMValueRef v_args[4] = {LLVMBuildPtrToInt(cg->builder, v_pointer, cg->ty_i32, ""), v_if};
    for (uint32_t k = 0; k < count; k++) {
        types[2 + k] = LLVMTypeOf(v_words[k]);
        v_args[2 + k] = v_words[k];
    }
    assembly(cg, text, constraints, types, v_args, 2 + count);
}

static const zf_simt_ops operations = {
    .global_space = GLOBAL,
    .kernel = kernel,
    .thread = thread,
    .group = group,
    .shared = shared,
    .barrier = barrier,
    .warp_barrier = warp_barrier,
    .publish = publish,
    .await = await,
    .shuffle = shuffle,
    .funnel = funnel,
    .ballot = ballot,
    .join = join,
    .permute = permute,
    .hold = hold,
    .tie = tie,
    .copy_ahead = copy_ahead,
    .await_copies = await_copies,
    .prefetch = prefetch,
    .prefetch_within = prefetch,
    .keeps_lines = true,
    .add_up = add_up,
    .store_where = store_where,
    .hide = hide,
};

const zf_cg_target zf_cg_target_nvptx = {
    .is = &zf_target_nvptx,
    .machine = machine,
    .mend = zf_nvptx_mend_loads,
    .tidy = tidy,
    .kernel = zf_simt_kernel,
    .simt = &operations,
    .aligned_loads = true,
    .lower =
        {[ZF_DOMAIN_ELEMENTS] = zf_lower_elements, [ZF_DOMAIN_GROUPS] = zf_lower_groups, [ZF_DOMAIN_CHUNKS] = zf_lower_chunks},
};
