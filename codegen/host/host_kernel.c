// A kernel's functions and arguments on the host.
#include "codegen/host/host.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/abi.h"

static void string_load(zf_kernel_build *lower, uint32_t edge, LLVMValueRef v_at, zf_cg_seq *out) {
    zf_cg *cg = lower->cg;
    (void)edge;
    out->v_data = zf_cg_load(cg, cg->ty_ptr, v_at, 8);
    out->v_length = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_at, 8), 8);
}

static void string_store(zf_kernel_build *lower, LLVMValueRef v_source, LLVMValueRef v_length, LLVMValueRef v_at) {
    zf_cg_store(lower->cg, v_source, v_at, 8);
    zf_cg_store(lower->cg, v_length, zf_cg_byte_at(lower->cg, v_at, 8), 8);
}

static const zf_kernel_ops ops = {.env = zf_host_env_make,
                                  .string_load = string_load,
                                  .string_store = string_store,
                                  .region = zf_host_copy_region,
                                  .row = zf_host_lanes_row};

static void attribute(zf_kernel_build *lower, LLVMValueRef v_function, unsigned argument, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(v_function, argument + 1, LLVMCreateEnumAttribute(lower->cg->context, kind, value));
}

// ---- Functions ------------------------------------------------------------------------------------------------

// Arguments of the body, then one pointer per work buffer.
enum {
    ARG_BASE,
    ARG_SLOTS,
    ARG_OUT,
    ARG_VALIDITY,
    ARG_OFFSETS,
    ARG_RECORD,
    ARG_FAILURE,
    ARG_TILES,
    ARG_MODE,
    ARG_OFFSET_BASE,
    ARG_BYTE_BEGIN,
    ARG_BYTE_END,
    ARG_BEGIN,
    ARG_END,
    ARG_WORKS
};

static LLVMValueRef make_body(zf_kernel_build *lower, const char *name) {
    zf_cg *cg = lower->cg;
    uint32_t count = ARG_WORKS + lower->plan->work_count;
    LLVMTypeRef *types = ZF_NEW_ARRAY(cg->arena, LLVMTypeRef, count);
    for (uint32_t k = 0; k < count; k++) types[k] = cg->ty_ptr;
    types[ARG_TILES] = types[ARG_BEGIN] = types[ARG_END] = cg->ty_i64;
    types[ARG_OFFSET_BASE] = types[ARG_BYTE_BEGIN] = types[ARG_BYTE_END] = cg->ty_i64;
    types[ARG_MODE] = cg->ty_i32;
    LLVMValueRef v_body = LLVMAddFunction(cg->module, name, LLVMFunctionType(cg->ty_void, types, count, 0));
    LLVMSetLinkage(v_body, LLVMInternalLinkage);
    for (uint32_t k = 0; k < count; k++) {
        if (types[k] != cg->ty_ptr) continue;
        attribute(lower, v_body, k, "noalias", 0);
        if (k == ARG_BASE) attribute(lower, v_body, k, "align", 256);
        if (k >= ARG_WORKS) attribute(lower, v_body, k, "align", 64);
        bool written = k == ARG_OUT || k == ARG_VALIDITY || k == ARG_OFFSETS || k == ARG_RECORD || k == ARG_FAILURE ||
                       (k >= ARG_WORKS && lower->kernel->sink == (int32_t)(k - ARG_WORKS));
        if (!written) attribute(lower, v_body, k, "readonly", 0);
    }
    lower->v_base = LLVMGetParam(v_body, ARG_BASE);
    lower->v_slots = LLVMGetParam(v_body, ARG_SLOTS);
    lower->host->v_out = LLVMGetParam(v_body, ARG_OUT);
    lower->v_validity = LLVMGetParam(v_body, ARG_VALIDITY);
    lower->v_offsets = LLVMGetParam(v_body, ARG_OFFSETS);
    lower->v_offset_base = LLVMGetParam(v_body, ARG_OFFSET_BASE);
    lower->v_byte_begin = LLVMGetParam(v_body, ARG_BYTE_BEGIN);
    lower->v_byte_end = LLVMGetParam(v_body, ARG_BYTE_END);
    lower->v_place_begin = lower->v_byte_begin;
    lower->v_place_end = lower->v_byte_end;
    lower->v_record = LLVMGetParam(v_body, ARG_RECORD);
    lower->v_failure = LLVMGetParam(v_body, ARG_FAILURE);
    lower->v_tiles = LLVMGetParam(v_body, ARG_TILES);
    lower->v_mode = LLVMGetParam(v_body, ARG_MODE);
    lower->v_begin = LLVMGetParam(v_body, ARG_BEGIN);
    lower->v_end = LLVMGetParam(v_body, ARG_END);
    lower->v_works = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, lower->plan->work_count + 1);
    for (uint32_t w = 0; w < lower->plan->work_count; w++) lower->v_works[w] = LLVMGetParam(v_body, ARG_WORKS + w);
    return v_body;
}

static LLVMValueRef load_field(zf_cg *cg, LLVMValueRef v_args, size_t offset, LLVMTypeRef ty, unsigned align) {
    return zf_cg_load(cg, ty, zf_cg_byte_at(cg, v_args, offset), align);
}

// The entry: reads zf_abi_args and calls the body.
static void make_entry(zf_kernel_build *lower, const char *name) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef types[3] = {cg->ty_ptr, cg->ty_i64, cg->ty_i64};
    LLVMValueRef v_entry = LLVMAddFunction(cg->module, name, LLVMFunctionType(cg->ty_void, types, 3, 0));
    cg->function = v_entry;
    zf_cg_enter(cg, zf_cg_block(cg, "entry"));
    LLVMValueRef v_args = LLVMGetParam(v_entry, 0);
    uint32_t count = ARG_WORKS + lower->plan->work_count;
    LLVMValueRef *v = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, count);
    v[ARG_BASE] = load_field(cg, v_args, offsetof(zf_abi_args, base), cg->ty_ptr, 8);
    v[ARG_SLOTS] = load_field(cg, v_args, offsetof(zf_abi_args, slots), cg->ty_ptr, 8);
    v[ARG_OUT] = load_field(cg, v_args, offsetof(zf_abi_args, out), cg->ty_ptr, 8);
    v[ARG_VALIDITY] = load_field(cg, v_args, offsetof(zf_abi_args, validity), cg->ty_ptr, 8);
    v[ARG_OFFSETS] = load_field(cg, v_args, offsetof(zf_abi_args, offsets), cg->ty_ptr, 8);
    v[ARG_OFFSET_BASE] = load_field(cg, v_args, offsetof(zf_abi_args, offset_base), cg->ty_i64, 8);
    v[ARG_BYTE_BEGIN] = load_field(cg, v_args, offsetof(zf_abi_args, byte_begin), cg->ty_i64, 8);
    v[ARG_BYTE_END] = load_field(cg, v_args, offsetof(zf_abi_args, byte_end), cg->ty_i64, 8);
    v[ARG_RECORD] = load_field(cg, v_args, offsetof(zf_abi_args, record), cg->ty_ptr, 8);
    v[ARG_FAILURE] = load_field(cg, v_args, offsetof(zf_abi_args, failure), cg->ty_ptr, 8);
    v[ARG_TILES] = load_field(cg, v_args, offsetof(zf_abi_args, tiles), cg->ty_i64, 8);
    v[ARG_MODE] = load_field(cg, v_args, offsetof(zf_abi_args, mode), cg->ty_i32, 4);
    v[ARG_BEGIN] = LLVMGetParam(v_entry, 1);
    v[ARG_END] = LLVMGetParam(v_entry, 2);
    if (lower->plan->work_count > 0) {
        LLVMValueRef v_work = load_field(cg, v_args, offsetof(zf_abi_args, work), cg->ty_ptr, 8);
        for (uint32_t w = 0; w < lower->plan->work_count; w++) v[ARG_WORKS + w] = load_field(cg, v_work, 8 * w, cg->ty_ptr, 8);
    }
    LLVMBuildCall2(cg->builder, LLVMGlobalGetValueType(lower->v_body), lower->v_body, v, count, "");
    LLVMBuildRetVoid(cg->builder);
}

// Opens the body: a first block that stays open, and one to go on in.
LLVMBasicBlockRef zf_lower_open(zf_kernel_build *lower, const char *name) {
    zf_cg *cg = lower->cg;
    char body_name[32];
    snprintf(body_name, sizeof(body_name), "%s.body", name);
    lower->ops = &ops;
    lower->host = ZF_NEW(cg->arena, zf_host_state);
    lower->v_body = make_body(lower, body_name);
    zf_cg_begin_function(cg, lower->v_body);
    lower->bb_setup = zf_cg_block(cg, "setup");
    zf_cg_enter(cg, lower->bb_setup);
    lower->v_fail = zf_cg_alloca(cg, cg->ty_i32, "fail");
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, ZF_NO_FAILURE), lower->v_fail);
    lower->host->v_limit = zf_cg_alloca(cg, cg->ty_i64, "limit");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, UINT64_MAX), lower->host->v_limit);
    LLVMBasicBlockRef bb_first = zf_cg_block(cg, "first");
    zf_cg_enter(cg, bb_first);
    return bb_first;
}

void zf_lower_close(zf_kernel_build *lower, const char *name, LLVMBasicBlockRef bb_first) {
    zf_cg *cg = lower->cg;
    LLVMBuildRetVoid(cg->builder);
    zf_cg_enter(cg, lower->bb_setup);
    zf_cg_br(cg, bb_first);
    make_entry(lower, name);
}

LLVMBasicBlockRef zf_lower_make(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    if (lower->host == NULL || !lower->host->is_out || lower->kernel->tree < 0) return NULL;
    LLVMBasicBlockRef bb_make = zf_cg_block(cg, "make"), bb_behind = zf_cg_block(cg, "made");
    LLVMValueRef v_states = zf_cg_icmp(cg, LLVMIntEQ, lower->v_mode, zf_cg_i32(cg, ZF_ABI_STATES));
    zf_cg_cond_br(cg, v_states, bb_behind, bb_make);
    zf_cg_enter(cg, bb_make);
    return bb_behind;
}

void zf_lower_made(zf_kernel_build *lower, LLVMBasicBlockRef bb_behind) {
    if (bb_behind == NULL) return;
    zf_cg_br(lower->cg, bb_behind);
    zf_cg_enter(lower->cg, bb_behind);
}

void zf_lower_kernel(zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel) {
    zf_kernel_build lower;
    zf_lower_init(&lower, cg, input, kernel);
    const zf_cg_target *target = cg->target;
    if (kernel->domain > ZF_DOMAIN_CHUNKS || target->lower[kernel->domain] == NULL) {
        zf_cg_unsupported(cg, input->plan->graph->column->span, "target `%s` does not lower this pattern",
                          input->plan->target->name);
        return;
    }
    char name[24];
    zf_lower_kernel_name(kernel->index, name);
    LLVMBasicBlockRef bb_first = zf_lower_open(&lower, name);
    // Characters go to a buffer, or to the column at once: `out` is either.
    bool is_out = kernel->sink < 0 || zf_plan_may_go_to_column(input->plan, kernel->sink);
    lower.host->is_out = is_out;
    lower.v_sink = is_out ? lower.host->v_out : lower.v_works[kernel->sink];
    lower.type = kernel->prefix != NULL ? kernel->prefix->term->type : input->plan->graph->edges[kernel->edge].type;
    lower.one_by_one = lower.type.kind == ZF_K_STRING; // each begins where the one before ends
    target->lower[kernel->domain](&lower);
    zf_lower_close(&lower, name, bb_first);
}
