// A map of few bits reads little beside its stores, and its loads wait behind the stores of all resident threads: memory that
// turns from stores to a few loads and back does neither at full speed. Therefore one thread block of many prefetches the words
// of as many later tiles, side by side, into the second-level cache. These tiles begin when all resident ones are done. If they
// are not of this block they are of a later one, by the number of this block's tiles: launches mostly have blocks of one size.
#include "codegen/simt/memory/simt_prefetch_distant.h"

#include "codegen/body/cg_frame.h"
#include "codegen/simt/memory/simt_lookup.h"
#include "codegen/simt/memory/simt_memory.h"
#include "codegen/simt/memory/simt_staging.h"
#include "codegen/simt/simt_choices.h"

enum {
    ROUNDS = 4,         // pieces that a thread asks for of an edge where several tiles are asked for, at most
    UNDER_WAY = 2048,   // threads of a multiprocessor,
    PROCESSORS = 160,   // of which GPUs of compute capability 8.0 to 10.3 have 108 to 160
    MOST_TOGETHER = 64, // tiles that are asked for together
};

bool zf_simt_distant_fits(const zf_plan *plan, const zf_kernel *kernel) {
    return zf_simt_takes_bits(plan, kernel) && !zf_simt_looks_up(plan, kernel) && !zf_simt_takes_places(plan, kernel);
}

zf_simt_distant zf_simt_distant_begin(zf_kernel_build *lower, const zf_simt_shape *shape) {
    bool asks = shape->prefetch && zf_simt_distant_fits(lower->plan, lower->kernel);
    return (zf_simt_distant){.lower = lower, .asks = asks, .threads = shape->threads};
}

void zf_simt_distant_edge(zf_simt_distant *later, uint32_t edge, uint64_t stride) {
    if (later == NULL || !later->asks || stride == 0 || later->edge_count == ZF_DISTANT_EDGES) return;
    if (later->lower->graph->edges[edge].stored < 0) return; // a work buffer, whose place another word says
    for (uint32_t k = 0; k < later->edge_count; k++) {
        if (later->edges[k] == edge) return;
    }
    later->edges[later->edge_count] = edge;
    later->strides[later->edge_count++] = stride;
}

// Tiles to prefetch: the words of their block's descriptor, the base of its streams' counts, and the first of them.
typedef struct wanted {
    LLVMValueRef v_slots, v_base, v_tile;
    uint32_t together;
} wanted;

static LLVMValueRef word_of(const zf_kernel_build *lower, LLVMValueRef v_slots, zf_abi_slot_kind kind, uint32_t of) {
    uint64_t slot = (uint64_t)zf_plan_slot(lower->plan, kind, of, 0);
    return zf_cg_load(lower->cg, lower->cg->ty_i64, zf_cg_byte_at(lower->cg, v_slots, 8 * slot), 8);
}

static LLVMValueRef base_of(zf_cg *cg, LLVMValueRef v_slots) { // bytes from the launch's base on
    LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i64, v_slots, zf_cg_i64(cg, (uint64_t)ZF_SIMT_BASE - ZF_SIMT_HEAD));
    return LLVMBuildShl(cg->builder, zf_cg_load(cg, cg->ty_i64, v_at, 8), zf_cg_i64(cg, 8), "");
}

// Prefetches the part of an edge's stream that `together` tiles read, at most `bytes`.
static void ask_for(const zf_simt_distant *later, uint32_t edge, uint64_t each, const wanted *w) {
    zf_kernel_build *lower = later->lower;
    zf_cg *cg = lower->cg;
    uint64_t bytes = each * w->together;
    LLVMValueRef v_bits = zf_cg_i64(cg, zf_kind_bits(lower->graph->edges[edge].type.kind));
    LLVMValueRef v_all = zf_cg_mul(cg, word_of(lower, w->v_slots, ZF_SLOT_COUNT, edge), v_bits);
    v_all = LLVMBuildLShr(cg->builder, v_all, zf_cg_i64(cg, 3), "");
    LLVMValueRef v_first = zf_cg_umin(cg, zf_cg_mul(cg, w->v_tile, zf_cg_i64(cg, each)), v_all);
    LLVMValueRef v_end = zf_cg_umin(cg, zf_cg_sub(cg, v_all, v_first), zf_cg_i64(cg, bytes));
    LLVMValueRef v_mine = zf_cg_resize(cg, lower->simt->v_thread, cg->ty_i64, false);
    v_mine = zf_cg_mul(cg, v_mine, zf_cg_i64(cg, ZF_SIMT_PREFETCH_PIECE));
    LLVMValueRef v_offset = word_of(lower, w->v_slots, ZF_SLOT_OFFSET, (uint32_t)lower->graph->edges[edge].stored);
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i8, w->v_base, zf_cg_add(cg, v_offset, zf_cg_add(cg, v_first, v_mine)));
    zf_simt_prefetch_pieces(cg, v_from, v_mine, v_end, bytes, later->threads, zf_simt_prefetch_within);
}

static uint64_t bytes_of_tile(const zf_simt_distant *later, uint32_t k) {
    return later->lower->kernel->tile / 8 * later->strides[k];
}

// Tiles whose words the threads prefetch together, a power of two.
static uint32_t tiles_together(const zf_simt_distant *later) {
    uint32_t together = MOST_TOGETHER;
    for (uint32_t k = 0; k < later->edge_count; k++) {
        while (together > 1 && together * bytes_of_tile(later, k) > (uint64_t)ROUNDS * ZF_SIMT_PREFETCH_PIECE * later->threads)
            together /= 2;
    }
    return together;
}

void zf_simt_distant_ask(const zf_simt_distant *later) {
    if (!later->asks || later->edge_count == 0) return;
    zf_kernel_build *lower = later->lower;
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_turn = zf_cg_block(cg, "later_turn"), bb_ask = zf_cg_block(cg, "later_ask"),
                      bb_done = zf_cg_block(cg, "later_done");
    uint32_t together = tiles_together(later);
    uint64_t away = (uint64_t)PROCESSORS * UNDER_WAY / later->threads; // a multiple of `together`
    uint64_t words = ZF_SIMT_HEAD + lower->plan->slot_count + (uint64_t)lower->plan->work_count;
    LLVMValueRef v_none = zf_cg_i64(cg, 0), v_others = zf_cg_i64(cg, together - 1);
    LLVMValueRef v_turn = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_and(cg, lower->simt->v_tile, v_others), v_none);
    zf_cg_cond_br(cg, v_turn, bb_turn, bb_done);
    zf_cg_enter(cg, bb_turn); // a block's turns begin where those of the one before it end
    LLVMValueRef v_turns = zf_cg_and(cg, zf_cg_add(cg, lower->v_tiles, v_others), zf_cg_not(cg, v_others));
    LLVMValueRef v_tile = zf_cg_add(cg, lower->simt->v_tile, zf_cg_i64(cg, away));
    // In 32 bits: a block has at most 2^32 elements and a tile at least 64, so that no sum comes to 2^27.
    LLVMValueRef v_passed =
        LLVMBuildUDiv(cg->builder, zf_cg_resize(cg, v_tile, cg->ty_i32, false), zf_cg_resize(cg, v_turns, cg->ty_i32, false), "");
    v_passed = zf_cg_resize(cg, v_passed, cg->ty_i64, false);
    LLVMValueRef v_block = zf_cg_add(cg, lower->v_block, v_passed);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_block, lower->simt->v_blocks), bb_ask, bb_done);
    zf_cg_enter(cg, bb_ask);
    wanted w = {.together = together, .v_tile = zf_cg_sub(cg, v_tile, zf_cg_mul(cg, v_passed, v_turns))};
    w.v_slots = zf_cg_at(cg, cg->ty_i64, lower->v_slots, zf_cg_mul(cg, v_passed, zf_cg_i64(cg, words)));
    LLVMValueRef v_away = zf_cg_sub(cg, base_of(cg, w.v_slots), base_of(cg, lower->v_slots));
    w.v_base = zf_cg_at(cg, cg->ty_i8, lower->v_base, v_away);
    for (uint32_t k = 0; k < later->edge_count; k++) ask_for(later, later->edges[k], bytes_of_tile(later, k), &w);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}
