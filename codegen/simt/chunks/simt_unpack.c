// Elements of the column out of a coder's elements that hold them (zf_plan_unpacks): a lane has some of the latter side by side,
// and stores what they become. Sums of 1 or 2 bytes are made side by side in words, what follows from few bits alone is looked up
// (simt_nibbles.c), and other elements are made one by one.
#include "codegen/body/cg_frame.h"
#include "codegen/simt/chunks/simt_rows.h"

enum { MOST_WORDS = 128 };

static zf_type column_type(const zf_kernel_build *lower) { return lower->graph->edges[0].type; }

/// Whether an expression is bits of the stream, of which conversions leave the low `bits` bits as they are.
static bool is_bits(const zf_expr *e, uint32_t bits) {
    while (e->kind == ZF_X_CAST && zf_kind_is_integer(e->type.kind) && (zf_kind_bits(e->type.kind) >= bits || zf_cast_keeps(e)))
        e = e->a;
    return e->kind == ZF_X_BITS;
}

const zf_expr *zf_simt_sum_of(const zf_plan *plan, bool *is_sum) {
    const zf_kernel *last = &plan->kernels[plan->kernel_count - 1];
    const zf_body *body = &plan->graph->nodes[last->root].inst->decode;
    const zf_expr *value = body->value;
    *is_sum = false;
    if (last->node_count > 1 || body->stmts != NULL || value == NULL || !zf_kind_is_integer(value->type.kind)) return NULL;
    uint32_t bits = zf_kind_bits(value->type.kind);
    *is_sum = is_bits(value, bits);
    if (*is_sum || value->kind != ZF_X_BINARY || value->op != ZF_OP_ADD) return NULL;
    bool first = is_bits(value->a, bits);
    const zf_expr *other = first ? value->b : value->a;
    *is_sum = (first || is_bits(value->b, bits)) && (other->kind == ZF_X_PARAM || other->kind == ZF_X_CONST);
    return *is_sum ? other : NULL;
}

static LLVMValueRef fields(zf_cg *cg, LLVMValueRef v, uint32_t shift, uint32_t mask) {
    if (shift > 0) v = LLVMBuildLShr(cg->builder, v, zf_cg_i32(cg, shift), "");
    return zf_cg_mask(cg, v, zf_cg_i32(cg, mask), "bits of elements");
}

/// Bytes k of four words, next to each other.
static LLVMValueRef across(zf_kernel_build *lower, const LLVMValueRef v_planes[4], unsigned k) {
    LLVMValueRef v_pair = zf_cg_i32(lower->cg, k | (4 + k) << 4);
    LLVMValueRef v_low = zf_simt_permute(lower, v_planes[0], v_planes[1], v_pair);
    LLVMValueRef v_high = zf_simt_permute(lower, v_planes[2], v_planes[3], v_pair);
    return zf_simt_permute(lower, v_low, v_high, zf_cg_i32(lower->cg, 0x5410));
}

/// Groups of `width` bits (1, 2, 4 or 8) of the low `bytes` bytes of a word become bytes: returns how many words they make.
static unsigned spread(zf_kernel_build *lower, LLVMValueRef v, unsigned bytes, uint32_t width, LLVMValueRef *v_words) {
    zf_cg *cg = lower->cg;
    if (width == 8) {
        v_words[0] = v;
        return 1;
    }
    if (width == 4) {
        LLVMValueRef v_low = fields(cg, v, 0, 0x0f0f0f0f), v_high = fields(cg, v, 4, 0x0f0f0f0f);
        v_words[0] = zf_simt_permute(lower, v_low, v_high, zf_cg_i32(cg, 0x5140));
        if (bytes > 2) v_words[1] = zf_simt_permute(lower, v_low, v_high, zf_cg_i32(cg, 0x7362));
        return bytes > 2 ? 2 : 1;
    }
    LLVMValueRef v_planes[4];
    if (width == 2) {
        for (unsigned k = 0; k < 4; k++) v_planes[k] = fields(cg, v, 2 * k, 0x03030303);
        for (unsigned k = 0; k < bytes; k++) v_words[k] = across(lower, v_planes, k);
        return bytes;
    }
    for (unsigned half = 0; 2 * half < bytes; half++) { // four bits of each byte, as of two
        LLVMValueRef v_twice = zf_simt_permute(lower, v, v, zf_cg_i32(cg, half == 0 ? 0x1100 : 0x3322));
        LLVMValueRef v_four =
            zf_cg_or(cg, zf_cg_and(cg, v_twice, zf_cg_i32(cg, 0x00ff00ff)),
                     zf_cg_and(cg, LLVMBuildLShr(cg->builder, v_twice, zf_cg_i32(cg, 4), ""), zf_cg_i32(cg, 0xff00ff00)));
        for (unsigned k = 0; k < 4; k++) v_planes[k] = fields(cg, v_four, k, 0x01010101);
        for (unsigned k = 0; k < 4 && 2 * half + k / 2 < bytes; k++) v_words[4 * half + k] = across(lower, v_planes, k);
    }
    return 2 * bytes;
}

/// v_base (an integer of 1 or 2 bytes) plus each of the numbers side by side in a word, which wrap alone.
static LLVMValueRef add_each(zf_kernel_build *lower, LLVMValueRef v_word, LLVMValueRef v_base, uint32_t size, bool full) {
    zf_cg *cg = lower->cg;
    uint32_t ones = size == 1 ? 0x01010101 : 0x00010001, tops = ones << (8 * size - 1);
    LLVMValueRef v_bases = zf_cg_mul(cg, zf_cg_resize(cg, v_base, cg->ty_i32, false), zf_cg_i32(cg, ones));
    LLVMValueRef v_tops = zf_cg_and(cg, v_bases, zf_cg_i32(cg, tops));
    LLVMValueRef v_rest = zf_cg_and(cg, v_bases, zf_cg_i32(cg, ~tops));
    if (full) {
        v_tops = LLVMBuildXor(cg->builder, v_tops, zf_cg_and(cg, v_word, zf_cg_i32(cg, tops)), "");
        v_word = zf_cg_and(cg, v_word, zf_cg_i32(cg, ~tops));
    }
    return LLVMBuildXor(cg->builder, zf_cg_add(cg, v_word, v_rest), v_tops, "");
}

/// Words of elements of 1 or 2 bytes that are sums, made side by side. Returns their number, or 0 where elements are another
/// thing.
static unsigned make_words(zf_kernel_build *lower, LLVMValueRef v, unsigned bytes, LLVMValueRef *v_words) {
    zf_cg *cg = lower->cg;
    uint32_t width = zf_lower_unpacked_width(lower), size = zf_kind_size(column_type(lower).kind);
    bool is_sum;
    const zf_expr *other = zf_simt_sum_of(lower->plan, &is_sum);
    if (!is_sum || size > 2 || width > 8 || bytes > 4 || bytes * 8 / width < 4) return 0;
    v = zf_cg_resize(cg, v, cg->ty_i32, false);
    LLVMValueRef v_bytes[8];
    unsigned count = spread(lower, v, bytes, width, v_bytes);
    for (unsigned k = 0; k < count; k++) {
        if (size == 1) {
            v_words[k] = v_bytes[k];
        } else {
            v_words[2 * k] = zf_simt_permute(lower, v_bytes[k], zf_cg_i32(cg, 0), zf_cg_i32(cg, 0x4140));
            v_words[2 * k + 1] = zf_simt_permute(lower, v_bytes[k], zf_cg_i32(cg, 0), zf_cg_i32(cg, 0x4342));
        }
    }
    count *= size;
    if (other == NULL) return count;
    zf_kernel_env env = zf_lower_env_make(lower, lower->plan->kernels[lower->plan->kernel_count - 1].root);
    LLVMValueRef v_base = zf_cg_eval_expr(cg, &env.env, &env.env.inst->decode, other, NULL, 0).v;
    for (unsigned k = 0; k < count; k++) v_words[k] = add_each(lower, v_words[k], v_base, size, width == 8 * size);
    return count;
}

/// The same of any elements: of less than 4 bytes as words.
static unsigned make_elements(zf_kernel_build *lower, LLVMValueRef v, unsigned count, LLVMValueRef v_first,
                              LLVMValueRef *v_words) {
    zf_cg *cg = lower->cg;
    uint32_t width = zf_lower_unpacked_width(lower), size = zf_kind_size(column_type(lower).kind), each = size < 4 ? 4 / size : 1;
    v = zf_cg_resize(cg, v, LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 32 ? cg->ty_i64 : cg->ty_i32, false);
    for (unsigned k = 0; k < count; k++) {
        LLVMTypeRef ty = LLVMTypeOf(v);
        LLVMValueRef v_bits = LLVMBuildLShr(cg->builder, v, LLVMConstInt(ty, (uint64_t)k * width, 0), "");
        uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        if (width < LLVMGetIntTypeWidth(ty)) v_bits = zf_cg_mask(cg, v_bits, LLVMConstInt(ty, mask, 0), "bits of an element");
        v_bits = zf_cg_resize(cg, v_bits, cg->ty_i64, false);
        zf_cg_value value = zf_lower_unpacked(lower, v_bits, zf_cg_add(cg, v_first, zf_cg_i64(cg, k)));
        LLVMValueRef v_element = zf_lower_memory_form(lower, column_type(lower), value);
        if (each > 1) v_element = zf_cg_resize(cg, v_element, cg->ty_i32, false);
        if (k % each == 0)
            v_words[k / each] = v_element;
        else
            v_words[k / each] =
                zf_cg_or(cg, v_words[k / each], LLVMBuildShl(cg->builder, v_element, zf_cg_i32(cg, k % each * 8 * size), ""));
    }
    return (count + each - 1) / each;
}

/// A lane's elements of the column: `bytes` of them altogether at v_to, which is aligned to 16 or as many as there are.
static void store_words(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef *v_words, unsigned count, unsigned bytes) {
    if (bytes < 4) {
        LLVMTypeRef ty_all = LLVMIntTypeInContext(cg->context, 8 * bytes);
        zf_cg_store(cg, zf_cg_resize(cg, v_words[0], ty_all, false), v_to, bytes);
        return;
    }
    LLVMTypeRef ty = LLVMTypeOf(v_words[0]);
    unsigned size = bytes / count, together = 16 / size < count ? 16 / size : count;
    for (unsigned k = 0; k < count; k += together) {
        LLVMValueRef v = LLVMGetPoison(LLVMVectorType(ty, together));
        for (unsigned e = 0; e < together; e++) v = LLVMBuildInsertElement(cg->builder, v, v_words[k + e], zf_cg_i32(cg, e), "");
        zf_cg_store(cg, v, zf_cg_byte_at(cg, v_to, (uint64_t)k * size), together * size);
    }
}

void zf_simt_unpack(zf_kernel_build *lower, LLVMValueRef v, unsigned rows, LLVMValueRef v_from, LLVMValueRef v_place) {
    zf_cg *cg = lower->cg;
    unsigned count = rows * lower->unpacks, size = zf_kind_size(column_type(lower).kind);
    LLVMValueRef v_each = zf_cg_i64(cg, lower->unpacks), v_words[MOST_WORDS];
    LLVMTypeRef ty = zf_cg_memory_type(cg, column_type(lower));
    LLVMValueRef v_to = zf_cg_at_sink(cg, ty, lower->v_sink, zf_cg_mul(cg, v_from, v_each));
    v_to = zf_cg_at_sink(cg, ty, v_to, zf_cg_mul(cg, v_place, v_each));
    LLVMValueRef v_first = zf_cg_mul(cg, zf_cg_add(cg, v_from, v_place), v_each);
    unsigned words = make_words(lower, v, rows * zf_kind_size(lower->type.kind), v_words);
    if (words == 0) words = zf_simt_nibbles_words(lower, v, rows * zf_kind_bits(lower->type.kind), v_words);
    if (words == 0) words = make_elements(lower, v, count, v_first, v_words);
    store_words(cg, v_to, v_words, words, count * size);
}
