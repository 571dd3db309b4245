// Elements of a fused column: the block of a tile by its descriptor, and the body of the column's last kernel at an index.
#include "codegen/query/query_fused.h"

#include "codegen/body/cg_frame.h"

enum { WORD = sizeof(uint64_t) };

static void begin(zf_query_fused *fused, zf_cg *cg, const zf_query_source *source, const zf_simt_state *simt,
                  LLVMValueRef v_any) {
    const zf_plan *plan = source->plan;
    fused->input = (zf_kernel_input){.plan = plan, .shaping = source->shaping};
    fused->simt = *simt;
    zf_kernel_build *lower = &fused->lower;
    zf_lower_init(lower, cg, &fused->input, zf_plan_last_kernel(plan));
    lower->simt = &fused->simt;
    lower->ops = &zf_simt_kernel_ops;
    lower->type = zf_simt_type_of(plan, lower->kernel);
    lower->one_by_one = true;
    lower->v_body = cg->function;
    lower->v_any = v_any;
}

void zf_query_fused_open(zf_query_fused *fused, zf_cg *cg, const zf_query_source *source, const zf_simt_state *simt,
                         LLVMValueRef v_any, const zf_query_fused_place *place) {
    const zf_plan *plan = source->plan;
    begin(fused, cg, source, simt, v_any);
    zf_kernel_build *lower = &fused->lower;
    LLVMValueRef v_narrow = zf_cg_low_half(cg, place->v_tile), v_each = zf_cg_low_half(cg, place->v_block_tiles);
    LLVMValueRef v_block = zf_cg_wide(cg, LLVMBuildUDiv(cg->builder, v_narrow, v_each, ""));
    fused->v_tile = zf_cg_sub(cg, place->v_tile, zf_cg_mul(cg, v_block, place->v_block_tiles));
    fused->v_begin = zf_cg_mul(cg, fused->v_tile, zf_cg_i64(cg, place->tile_rows));
    uint64_t words = ZF_SIMT_HEAD + plan->slot_count + (uint64_t)plan->work_count;
    LLVMValueRef v_head = zf_cg_at(cg, cg->ty_i64, place->v_table, zf_cg_mul(cg, v_block, zf_cg_i64(cg, words)));
    LLVMValueRef v_base = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_head, WORD * (uint64_t)ZF_SIMT_BASE), WORD);
    lower->v_base = zf_cg_at(cg, cg->ty_i8, place->v_stored, LLVMBuildShl(cg->builder, v_base, zf_cg_i64(cg, 8), ""));
    lower->v_slots = zf_cg_byte_at(cg, v_head, WORD * (uint64_t)ZF_SIMT_HEAD);
    lower->v_works = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, plan->work_count + 1);
    for (uint32_t w = 0; w < plan->work_count; w++) {
        LLVMValueRef v_at = zf_cg_byte_at(cg, v_head, WORD * (ZF_SIMT_HEAD + (uint64_t)plan->slot_count + w));
        lower->v_works[w] = zf_cg_at(cg, cg->ty_i8, place->v_work, zf_cg_load(cg, cg->ty_i64, v_at, WORD));
    }
}

zf_cg_value zf_query_fused_one(zf_query_fused *fused, LLVMValueRef v_index) {
    zf_kernel_env env = zf_lower_env_make(&fused->lower, fused->lower.kernel->root);
    env.v_i = v_index;
    return zf_cg_eval_body(fused->lower.cg, &env.env, &env.env.inst->decode);
}

static zf_simt_lanes lanes_begin(zf_query_fused *fused, LLVMValueRef v_near, unsigned count, zf_query_loads loads) {
    zf_cg *cg = fused->lower.cg;
    if (loads.tied != NULL) return zf_simt_lanes_tied(&fused->lower, loads.tied, fused->v_begin, v_near, count);
    LLVMValueRef v_small = zf_cg_low_half(cg, v_near), v_first = zf_cg_add(cg, fused->v_begin, v_near);
    zf_simt_lanes lanes = zf_simt_lanes_begin(&fused->lower, v_first, count);
    lanes.v_base = fused->v_begin;
    lanes.v_near = v_small;
    lanes.ahead = loads.ahead;
    return lanes;
}

void zf_query_fused_lanes(zf_query_fused *fused, LLVMValueRef v_near, unsigned count, zf_query_loads loads, zf_cg_value *values) {
    zf_kernel_build *lower = &fused->lower;
    zf_cg *cg = lower->cg;
    zf_simt_lanes lanes = lanes_begin(fused, v_near, count, loads);
    for (unsigned k = 0; k < count; k++) {
        zf_kernel_env env = zf_simt_lane_env(lower, lower->kernel->root, &lanes, k);
        values[k] = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
        cg->v_guard = NULL;
    }
    zf_simt_lanes_end(lower, &lanes);
}

// ---- Entries --------------------------------------------------------------------------------------------------

// The column's last step as `entries[codes[i]]`, of which it makes one.
static zf_kernel_env entry_env(zf_query_fused *fused) { return zf_lower_env_make(&fused->lower, fused->lower.kernel->root); }

bool zf_query_fused_has_entries(const zf_plan *plan) {
    const zf_kernel *last = zf_plan_last_kernel(plan);
    if (last == NULL) return false;
    const zf_graph_node *node = &plan->graph->nodes[last->root];
    const zf_expr *of = node->inst->decode.stmts == NULL ? node->inst->decode.value : NULL;
    if (of == NULL || of->kind != ZF_X_INDEX || of->a->kind != ZF_X_STREAM) return false;
    bool in_memory = zf_lower_has_in_memory(plan, node->inputs[of->a->port->slot]);
    return in_memory && of->type.kind == ZF_K_STRING && !of->type.nullable;
}

static zf_cg_seq entries_of(zf_cg *cg, zf_kernel_env *env) {
    zf_cg_frame frame = zf_cg_frame_make(cg, &env->env, &env->env.inst->decode);
    return zf_cg_expr(cg, &frame, env->env.inst->decode.value->a).seq;
}

void zf_query_fused_codes(zf_query_fused *fused, LLVMValueRef v_near, unsigned count, zf_query_loads loads,
                          LLVMValueRef *v_codes) {
    zf_kernel_build *lower = &fused->lower;
    zf_cg *cg = lower->cg;
    zf_simt_lanes lanes = lanes_begin(fused, v_near, count, loads);
    for (unsigned k = 0; k < count; k++) {
        zf_kernel_env env = zf_simt_lane_env(lower, lower->kernel->root, &lanes, k);
        const zf_expr *of = env.env.inst->decode.value;
        zf_cg_frame frame = zf_cg_frame_make(cg, &env.env, &env.env.inst->decode);
        LLVMValueRef v = zf_cg_resize(cg, zf_cg_expr(cg, &frame, of->b).v, cg->ty_i64, zf_kind_is_signed(of->b->type.kind));
        zf_cg_seq entries = entries_of(cg, &env);
        LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULT, v, zf_cg_seq_length(cg, &env.env, &entries));
        zf_cg_check(cg, &env.env, v_ok, 1, of->span, of);
        cg->v_guard = NULL;
        v_codes[k] = zf_cg_select(cg, v_ok, v, zf_cg_i64(cg, 0));
    }
    zf_simt_lanes_end(lower, &lanes);
}

LLVMValueRef zf_query_fused_entries(zf_query_fused *fused) {
    zf_kernel_env env = entry_env(fused);
    zf_cg_seq entries = entries_of(fused->lower.cg, &env);
    return zf_cg_seq_length(fused->lower.cg, &env.env, &entries);
}

zf_cg_value zf_query_fused_entry(zf_query_fused *fused, LLVMValueRef v_code) {
    zf_kernel_env env = entry_env(fused);
    zf_cg_seq entries = entries_of(fused->lower.cg, &env);
    return zf_cg_seq_element(fused->lower.cg, &env.env, &entries, v_code, env.env.inst->decode.value);
}

zf_type zf_query_fused_type(const zf_plan *plan) { return zf_simt_type_of(plan, zf_plan_last_kernel(plan)); }

bool zf_codegen_query_fuses(const zf_plan *plan, const uint64_t *shaping) {
    const zf_kernel *last = zf_plan_last_kernel(plan);
    if (last == NULL || plan->target->wave == 0) return false;
    return zf_form_makes_elements(plan, last) && !zf_form_steps_of(plan, last).scans && !last->store_first &&
           !zf_plan_leaves_out(plan, shaping, last->index);
}
