// Reads of neighbours near a known index: the bits of several are loaded together.
#include "codegen/simt/memory/simt_load_stage.h"
#include "codegen/simt/memory/simt_prefetch_tile.h"

// Where element v_base + v_rank begins: the word, and *v_at its bit, of which the lower five bits count.
static LLVMValueRef near_word(zf_kernel_build *lower, LLVMValueRef v_base, LLVMValueRef v_rank, const zf_simt_window *like,
                              LLVMValueRef *v_at) {
    zf_cg *cg = lower->cg;
    LLVMBuilderRef builder = cg->builder;
    LLVMValueRef v_bit = zf_cg_add(cg, zf_cg_mul(cg, v_base, zf_cg_i64(cg, like->stride)), zf_cg_i64(cg, like->from));
    LLVMValueRef v_start =
        zf_cg_at(cg, cg->ty_i32, zf_lower_pointer(lower, like->edge), LLVMBuildLShr(builder, v_bit, zf_cg_i64(cg, 5), ""));
    *v_at = zf_cg_and(cg, zf_cg_resize(cg, v_bit, cg->ty_i32, false), zf_cg_i32(cg, 31));
    *v_at = zf_cg_add(cg, *v_at, zf_cg_mul(cg, v_rank, zf_cg_i32(cg, (uint32_t)like->stride)));
    LLVMValueRef v_word = zf_cg_resize(cg, LLVMBuildLShr(builder, *v_at, zf_cg_i32(cg, 5), ""), cg->ty_i64, false);
    return zf_cg_at(cg, cg->ty_i32, v_start, v_word);
}

void zf_simt_neighbours_begin(zf_kernel_build *lower, zf_simt_neighbours *neighbours) {
    zf_simt_stage_begin(lower->cg, &neighbours->stage, "neighbours_load", "neighbours");
}

void zf_simt_neighbours_end(zf_kernel_build *lower, zf_simt_neighbours *neighbours) {
    zf_simt_stage_end(lower->cg, &neighbours->stage);
}

// `span` bits (at most 64) from where neighbour `first` begins, as i32 or i64.
static LLVMValueRef load_span(zf_kernel_build *lower, const zf_simt_relative *relative, const zf_simt_window *like,
                              unsigned first, uint64_t span) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_before = zf_simt_to_loads(cg, &relative->neighbours->stage);
    LLVMValueRef v_at, v_from = near_word(lower, relative->v_base, relative->neighbours->v_ranks[first], like, &v_at);
    LLVMValueRef v = zf_cg_words_span(cg, v_from, v_at, span > 32);
    zf_simt_from_loads(cg, &relative->neighbours->stage, bb_before);
    return v;
}

// The bits of one of several neighbours: as many as 64 bits hold are loaded together, and each shifts by how far its rank is
// from the first's.
static LLVMValueRef neighbour_bits(zf_kernel_build *lower, const zf_simt_relative *relative, const zf_simt_window *like,
                                   unsigned together) {
    zf_cg *cg = lower->cg;
    zf_simt_neighbours *all = relative->neighbours;
    unsigned first = relative->k / together * together;
    zf_simt_window *w = zf_simt_window_find(&all->stage, like);
    if (w == NULL) w = zf_simt_window_add(cg, &all->stage, like, ZF_NEIGHBOURS);
    if (w->v_words[first] == NULL) {
        w->v_words[first] = load_span(lower, relative, like, first, (together - 1) * like->stride + like->count);
    }
    LLVMValueRef v = w->v_words[first];
    LLVMTypeRef ty = LLVMTypeOf(v);
    if (relative->k != first) {
        bool placed = all->v_places[first] != NULL;
        LLVMValueRef v_away = placed ? zf_cg_sub(cg, all->v_places[relative->k], all->v_places[first])
                                     : zf_cg_sub(cg, relative->v_rank, all->v_ranks[first]);
        v_away = zf_cg_mul(cg, v_away, zf_cg_i32(cg, (uint32_t)like->stride));
        v = LLVMBuildLShr(cg->builder, v, zf_cg_resize(cg, v_away, ty, false), "");
    }
    uint64_t mask = like->count == 64 ? UINT64_MAX : (UINT64_C(1) << like->count) - 1;
    return zf_cg_resize(cg, zf_cg_and(cg, v, LLVMConstInt(ty, mask, 0)), cg->ty_i64, false);
}

LLVMValueRef zf_simt_relative_bits(zf_kernel_build *lower, const zf_simt_relative *relative, uint32_t edge, uint64_t stride,
                                   uint64_t from, uint64_t count) {
    zf_cg *cg = lower->cg;
    if (count == 0) return zf_cg_i64(cg, 0);
    if (count > 64 || stride > 512) return NULL;
    zf_simt_prefetch_tile_edge(relative->fetch, edge, zf_lower_pointer(lower, edge), stride, true);
    zf_simt_window like = {.edge = edge, .stride = stride, .from = from, .count = count};
    unsigned together = relative->neighbours == NULL ? 1 : relative->neighbours->count;
    while (together > 1 && (together - 1) * stride + count > 64) together /= 2;
    if (together > 1) return neighbour_bits(lower, relative, &like, together);
    LLVMValueRef v_at, v_from = near_word(lower, relative->v_base, relative->v_rank, &like, &v_at);
    return zf_cg_words_bits(cg, v_from, v_at, zf_cg_i64(cg, count), count, false);
}

zf_cg_value zf_simt_relative_element(zf_kernel_build *lower, const zf_simt_relative *relative, uint32_t edge) {
    zf_cg *cg = lower->cg;
    zf_type type = zf_type_strip(lower->graph->edges[edge].type);
    LLVMTypeRef ty = zf_cg_type(cg, type);
    LLVMValueRef v_start = zf_cg_at(cg, ty, zf_lower_pointer(lower, edge), relative->v_base);
    zf_simt_prefetch_tile_edge(relative->fetch, edge, zf_lower_pointer(lower, edge), 8 * (uint64_t)zf_kind_size(type.kind),
                               false);
    LLVMValueRef v_at = zf_cg_at(cg, ty, v_start, zf_cg_resize(cg, relative->v_rank, cg->ty_i64, false));
    return zf_cg_scalar(type, zf_cg_load(cg, ty, v_at, zf_kind_size(type.kind)));
}
