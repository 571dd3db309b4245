// Elements of the column that a coder's kernel stores in place of its own, which hold them (zf_plan_unpacks): one after the
// other. Lanes that have several of the coder's elements side by side: simt_unpack.c.
#include "codegen/body/cg_frame.h"
#include "codegen/kernel/kernel.h"

static const zf_kernel *columns_kernel(const zf_kernel_build *lower) {
    return &lower->plan->kernels[lower->plan->kernel_count - 1];
}

uint32_t zf_lower_unpacked_width(const zf_kernel_build *lower) { return zf_kind_bits(lower->type.kind) / lower->unpacks; }

zf_cg_value zf_lower_unpacked(zf_kernel_build *lower, LLVMValueRef v_bits, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    struct zf_chunk *chunk = lower->chunk;
    LLVMValueRef v_guard = cg->v_guard;
    cg->v_guard = NULL;  // what the coder required is not what these need
    lower->chunk = NULL; // a check that fails is noted
    lower->v_unpacked = v_bits;
    zf_kernel_env env = zf_lower_env_make(lower, columns_kernel(lower)->root);
    env.v_i = v_index;
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    lower->chunk = chunk;
    cg->v_guard = v_guard;
    return value;
}

void zf_lower_unpack(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    uint32_t width = zf_lower_unpacked_width(lower);
    zf_type type = lower->graph->edges[0].type;
    LLVMValueRef v_failure = lower->v_failure,
                 v_word = zf_cg_resize(cg, zf_lower_memory_form(lower, lower->type, value), cg->ty_i64, false);
    LLVMValueRef v_each = zf_cg_i64(cg, lower->unpacks), v_first = zf_cg_mul(cg, v_index, v_each);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_each, "unpack");
    LLVMValueRef v_at = zf_cg_add(cg, v_first, loop.v_i);
    LLVMBasicBlockRef bb_make = zf_cg_block(cg, "unpack_wanted");
    zf_cg_cond_br(cg, zf_lower_row_wanted(lower, v_at, lower->v_row_end), bb_make, loop.bb_next);
    zf_cg_enter(cg, bb_make);
    LLVMValueRef v_bits = LLVMBuildLShr(cg->builder, v_word, zf_cg_mul(cg, loop.v_i, zf_cg_i64(cg, width)), "");
    v_bits = zf_cg_mask(cg, v_bits, zf_cg_low_mask(cg, zf_cg_i64(cg, width), 64), "bits of an element");
    zf_cg_value element = zf_lower_unpacked(lower, v_bits, v_at);
    LLVMValueRef v_to = zf_cg_at_sink(cg, zf_cg_memory_type(cg, type), lower->v_sink, v_at);
    zf_cg_store(cg, zf_lower_memory_form(lower, type, element), v_to, zf_kind_size(type.kind));
    if (lower->v_any == NULL) {
        int64_t away = (int64_t)columns_kernel(lower)->index - lower->kernel->index;
        lower->v_failure = zf_cg_at_sink(cg, cg->ty_i64, v_failure, zf_cg_i64(cg, (uint64_t)away));
        zf_lower_report(lower, v_at);
        zf_lower_clear(lower);
        lower->v_failure = v_failure;
    }
    zf_cg_loop_end(cg, &loop);
}
