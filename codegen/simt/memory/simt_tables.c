// Streams that many threads read by index, in shared memory: made anew by every thread block, which is worth it where that makes
// much more than it reads for them.
#include "codegen/simt/memory/simt_tables.h"

#include "codegen/body/cg_frame.h"

enum {
    MOST_BYTES = 16384, ///< of one
    MOST = 2,           ///< in a kernel
};

/// Whether an unused element may be made: it lies in memory, or is an expression in which nothing is checked.
static bool can_be_made(const zf_plan *plan, uint32_t edge) {
    int32_t producer = plan->graph->edges[edge].producer;
    if (producer < 0 || plan->edge_work[edge] >= 0) return true;
    const zf_graph_node *node = &plan->graph->nodes[producer];
    for (uint32_t c = 0; c < plan->check_count; c++) {
        if (plan->checks[c].node == node->index && !plan->checks[c].hoisted) return false;
    }
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        if (!can_be_made(plan, node->inputs[s])) return false;
    }
    return true;
}

/// Bytes that a stream takes as a table, at most, or 0 where it can be none.
static uint32_t bytes_of(const zf_plan *plan, const zf_graph_node *node, uint32_t slot) {
    const zf_port *port = node->inst->streams[slot];
    if (port->per_chunk || !port->fixed || !zf_type_storable(port->type) || port->type.kind == ZF_K_BOOL) return 0;
    if (!can_be_made(plan, node->inputs[slot])) return 0;
    zf_interval length = port->length->range;
    uint32_t size = zf_kind_size(port->type.kind);
    if (length.lo < 0 || length.hi > MOST_BYTES / size) return 0;
    return (uint32_t)((uint64_t)length.hi * size + 15) / 16 * 16;
}

/// Which streams of a kernel's root are tables, and what each takes.
typedef struct tables {
    uint32_t count, bytes; ///< of all
    uint32_t slots[MOST], sizes[MOST];
} tables;

/// The room of a thread block for tables. Chunks have the memory that lanes leave. Other forms manage with the memory that two
/// tables leave.
static uint32_t room_of(const zf_plan *plan, const zf_kernel *kernel) {
    if (kernel->domain != ZF_DOMAIN_CHUNKS) return MOST * MOST_BYTES;
    return plan->target->shared_bytes - zf_simt_lanes_bytes(plan, kernel);
}

static tables tables_of(const zf_plan *plan, const zf_kernel *kernel) {
    const zf_graph_node *node = &plan->graph->nodes[kernel->root];
    tables found = {0};
    uint32_t room = room_of(plan, kernel);
    for (uint32_t s = 0; s < node->inst->stream_count && found.count < MOST; s++) {
        uint32_t bytes = bytes_of(plan, node, s);
        if (bytes == 0 || found.bytes + bytes > room) continue;
        found.slots[found.count] = s;
        found.sizes[found.count++] = bytes;
        found.bytes += bytes;
    }
    return found;
}

uint32_t zf_simt_tables_bytes(const zf_plan *plan, const zf_kernel *kernel) { return tables_of(plan, kernel).bytes; }

/// A loop over a table's elements, of which each of `threads` threads has every `threads`th.
typedef struct entries {
    zf_cg_loop loop;
    LLVMValueRef v_at; // i64, by 32 bits: it is below MOST_BYTES
} entries;

// Whether each thread has as many elements: a table has 1 << n, at least as many as there are threads.
static bool is_shared_evenly(const zf_port *port, unsigned threads) {
    const zf_expr *length = zf_expr_kept(port->length);
    bool shifts = length->kind == ZF_X_BINARY && length->op == ZF_OP_SHL;
    const zf_expr *one = shifts ? zf_expr_kept(length->a) : NULL;
    return shifts && one->kind == ZF_X_CONST && one->bits == 1 && (threads & (threads - 1)) == 0 && length->range.lo >= threads;
}

// Goes on where there is an element v_at; `v_mine` (i32) is the thread's first.
static void entries_begin(entries *e, zf_kernel_build *lower, const zf_kernel_env *env, const zf_port *port, uint32_t bytes,
                          LLVMValueRef v_mine, unsigned threads, const char *name) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_threads = zf_cg_i32(cg, threads);
    LLVMValueRef v_count = zf_lower_count(lower, zf_lower_edge(lower, env->node, port)->index);
    v_count = zf_cg_clamp(cg, v_count, zf_cg_i64(cg, bytes / zf_kind_size(port->type.kind)), "room of a table");
    v_count = zf_cg_low_half(cg, v_count);
    LLVMValueRef v_turns = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_count, zf_cg_i32(cg, threads - 1)), v_threads, "");
    zf_cg_loop_begin(cg, &e->loop, zf_cg_i32(cg, 0), v_turns, name);
    LLVMValueRef v_at = zf_cg_add(cg, zf_cg_mul(cg, e->loop.v_i, v_threads), v_mine);
    e->v_at = zf_cg_resize(cg, v_at, cg->ty_i64, false);
    LLVMBasicBlockRef bb_entry = zf_cg_block(cg, "entry");
    if (is_shared_evenly(port, threads)) {
        zf_cg_br(cg, bb_entry);
    } else {
        LLVMValueRef v_is = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_at, v_count), "elements of a table");
        zf_cg_cond_br(cg, v_is, bb_entry, e->loop.bb_next);
    }
    zf_cg_enter(cg, bb_entry);
}

// Where v_ok (slot: i1) is not NULL it says whether the thread's elements lie in the stream's range, if that is to be checked.
static void make_table(zf_kernel_build *lower, zf_kernel_env *env, const zf_port *port, LLVMValueRef v_table, uint32_t bytes,
                       unsigned threads, LLVMValueRef v_ok) {
    zf_cg *cg = lower->cg;
    bool checked = v_ok != NULL && port->has_range && zf_plan_check(lower->plan, env->node, port->span, 5) >= 0;
    entries e;
    entries_begin(&e, lower, env, port, bytes, lower->simt->v_thread, threads, "table");
    LLVMValueRef v = env->env.element(cg, &env->env, port, e.v_at, NULL).v, v_safe;
    zf_cg_store(cg, v, zf_cg_at(cg, zf_cg_type(cg, port->type), v_table, e.v_at), zf_kind_size(port->type.kind));
    LLVMValueRef v_in = checked ? zf_cg_in_range(cg, &env->env, port, zf_cg_scalar(port->type, v), &v_safe) : NULL;
    if (v_in != NULL) LLVMBuildStore(cg->builder, zf_cg_and(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, v_ok, ""), v_in), v_ok);
    zf_cg_loop_end(cg, &e.loop);
}

static void make_tables(zf_kernel_build *lower, unsigned threads, LLVMValueRef v_ok) {
    zf_cg *cg = lower->cg;
    const zf_graph_node *node = &lower->graph->nodes[lower->kernel->root];
    LLVMValueRef *v_tables = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, lower->graph->edge_count + 1);
    tables found = tables_of(lower->plan, lower->kernel);
    for (uint32_t k = 0, offset = 0; k < found.count; offset += found.sizes[k++]) {
        zf_kernel_env env = zf_lower_env_make(lower, node->index);
        LLVMValueRef v_table = cg->target->simt->shared(cg, offset, found.sizes[k]);
        make_table(lower, &env, node->inst->streams[found.slots[k]], v_table, found.sizes[k], threads, v_ok);
        v_tables[node->inputs[found.slots[k]]] = v_table;
    }
    if (found.count > 0) lower->simt->v_tables = v_tables;
}

static void meet(zf_kernel_build *lower) {
    if (!zf_cg_site(lower->cg, ZF_SITE_BARRIER, "tables before what reads them")) lower->cg->target->simt->barrier(lower->cg);
}

void zf_simt_tables_make(zf_kernel_build *lower, unsigned threads) {
    make_tables(lower, threads, NULL);
    if (lower->simt->v_tables != NULL) meet(lower);
}

LLVMValueRef zf_simt_tables_make_checked(zf_kernel_build *lower, unsigned threads, LLVMValueRef v_warps) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_ok = zf_cg_alloca(cg, cg->ty_i1, "in_range");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), v_ok);
    bool unchecked = zf_cg_site(cg, ZF_SITE_CHECK, "V05, of a table");
    make_tables(lower, threads, unchecked ? NULL : v_ok);
    lower->simt->tables_checked = true;
    if (lower->simt->v_tables == NULL || unchecked) {
        if (lower->simt->v_tables != NULL) meet(lower);
        return zf_cg_i1(cg, true);
    }
    // Each warp says for its elements what all others ask behind the barrier.
    LLVMValueRef v_wrong = zf_simt_ballot(lower, zf_cg_not(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, v_ok, "")));
    LLVMBasicBlockRef bb_say = zf_cg_block(cg, "say"), bb_said = zf_cg_block(cg, "said");
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, zf_simt_lane(lower), zf_cg_i32(cg, 0));
    zf_cg_cond_br(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_first, "the lane that says what its warp found"), bb_say, bb_said);
    zf_cg_enter(cg, bb_say);
    if (LLVMTypeOf(v_wrong) == cg->ty_i64) v_wrong = zf_cg_or(cg, zf_cg_low_half(cg, v_wrong), zf_cg_high_half(cg, v_wrong));
    zf_cg_store(cg, v_wrong, zf_cg_at(cg, cg->ty_i32, v_warps, zf_simt_warp(lower)), 4);
    zf_cg_br(cg, bb_said);
    zf_cg_enter(cg, bb_said);
    meet(lower);
    LLVMValueRef v_any = zf_cg_i32(cg, 0);
    for (unsigned w = 0; w < threads / cg->wave; w++)
        v_any = zf_cg_or(cg, v_any, zf_cg_load(cg, cg->ty_i32, zf_cg_byte_at(cg, v_warps, 4 * (uint64_t)w), 4));
    return zf_cg_icmp(cg, LLVMIntEQ, v_any, zf_cg_i32(cg, 0));
}
