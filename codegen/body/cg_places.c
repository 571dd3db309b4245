// Where bits lie that a GPU reads: the word at which many begin, and how far behind it some do.
//
// `data.bits(32 * (start + 2) + k * width, width)`, with a start that data say and a small k, takes 64 bits where it is computed
// as it stands, for every element anew. Apart, the start is a word, the same for all neighbours, and what is added to it 32 bits.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "frontend/check/walk.h"

enum { WORD_BITS = 32, NEAR_LIMIT = 1 << 24, MOST_ADDENDS = 8 };
static const zf_int128 word_limit = (zf_int128)1 << 40;

/// factor * value.
typedef struct addend {
    const zf_expr *value; ///< NULL: 1
    uint64_t factor;
    bool is_near;
} addend;

typedef struct addends {
    addend each[MOST_ADDENDS];
    unsigned count;
} addends;

static bool is_constant(const zf_expr *expr, uint64_t *value) {
    *value = expr->bits;
    return expr->kind == ZF_X_CONST && expr->range.lo >= 0 && expr->range.hi < NEAR_LIMIT;
}

// Whether an operation of naturals has a result that its type holds, whatever the operands are.
static bool is_exact(const zf_expr *expr) {
    zf_int128 a = expr->a->range.hi, b = expr->b->range.hi, most = zf_interval_of_kind(expr->type.kind).hi;
    if (expr->a->range.lo < 0 || expr->b->range.lo < 0 || a > word_limit || b > word_limit) return false;
    return (expr->op == ZF_OP_ADD ? a + b : a * b) <= most;
}

static bool add_one(addends *sum, const zf_expr *value, uint64_t factor) {
    zf_int128 most = value == NULL ? 1 : value->range.hi;
    if (sum->count == MOST_ADDENDS || most > word_limit || factor > (uint64_t)word_limit) return false;
    bool is_near = most * factor < NEAR_LIMIT;
    if (!is_near && (factor % WORD_BITS != 0 || most * (factor / WORD_BITS) > word_limit)) return false;
    sum->each[sum->count++] = (addend){.value = value, .factor = factor, .is_near = is_near};
    return true;
}

// Splits `expr` (a natural) times a factor into addends.
static bool find(addends *sum, const zf_expr *expr, uint64_t factor) {
    uint64_t constant;
    if (!zf_kind_is_integer(expr->type.kind) || expr->range.lo < 0) return false;
    while (expr->kind == ZF_X_CAST && zf_cast_keeps(expr) && zf_kind_is_integer(expr->a->type.kind)) expr = expr->a;
    if (is_constant(expr, &constant)) return add_one(sum, NULL, factor * constant);
    if (expr->kind == ZF_X_BINARY && expr->op == ZF_OP_ADD && is_exact(expr))
        return find(sum, expr->a, factor) && find(sum, expr->b, factor);
    if (expr->kind == ZF_X_BINARY && expr->op == ZF_OP_MUL && is_exact(expr)) {
        if (is_constant(expr->a, &constant) && factor * constant < NEAR_LIMIT) return find(sum, expr->b, factor * constant);
        if (is_constant(expr->b, &constant) && factor * constant < NEAR_LIMIT) return find(sum, expr->a, factor * constant);
    }
    return add_one(sum, expr, factor);
}

static bool has_parts(addends *sum, const zf_expr *at) {
    bool some_near = false, some_far = false;
    if (!find(sum, at, 1)) return false;
    for (unsigned k = 0; k < sum->count; k++) {
        some_near = some_near || sum->each[k].is_near;
        some_far = some_far || !sum->each[k].is_near;
    }
    return some_near && some_far;
}

static bool see_bits(zf_visitor *visitor, zf_expr *expr) {
    bool *found = visitor->user;
    addends sum = {.count = 0};
    *found = *found || (expr->kind == ZF_X_BITS && has_parts(&sum, expr->b));
    return !*found;
}

bool zf_cg_bit_place_in(const zf_expr *expr) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .expr = see_bits};
    zf_visit_expr(&visitor, (zf_expr *)(uintptr_t)expr); // only looks
    return found;
}

bool zf_cg_bit_place_of(zf_cg *cg, zf_cg_frame *frame, const zf_expr *at, zf_cg_bit_place *out) {
    addends sum = {.count = 0};
    if (!has_parts(&sum, at)) return false;
    *out = (zf_cg_bit_place){.v_word = zf_cg_i64(cg, 0), .v_near = zf_cg_i32(cg, 0)};
    for (unsigned k = 0; k < sum.count; k++) {
        const addend *each = &sum.each[k];
        LLVMTypeRef ty = each->is_near ? cg->ty_i32 : cg->ty_i64;
        LLVMValueRef v = LLVMConstInt(ty, 1, 0);
        if (each->value != NULL) {
            zf_cg_value value = zf_cg_expr(cg, frame, each->value);
            v = value.v == NULL ? LLVMConstNull(ty) : zf_cg_resize(cg, value.v, ty, zf_kind_is_signed(value.type.kind));
        }
        v = zf_cg_mul(cg, v, LLVMConstInt(ty, each->is_near ? each->factor : each->factor / WORD_BITS, 0));
        if (each->is_near)
            out->v_near = zf_cg_add(cg, out->v_near, v);
        else
            out->v_word = zf_cg_add(cg, out->v_word, v);
    }
    return true;
}

// A block's streams have at most 2^32 elements, so 32 bits identify a word once it is known to be the stream's.
LLVMValueRef zf_cg_bit_place_fits(zf_cg *cg, zf_cg_bit_place *place, LLVMValueRef v_total, LLVMValueRef v_count) {
    LLVMValueRef v_last = zf_cg_umin(cg, LLVMBuildLShr(cg->builder, v_total, zf_cg_i64(cg, 5), ""), zf_cg_i64(cg, UINT32_MAX));
    LLVMValueRef v_within = zf_cg_below(cg, place->v_word, zf_cg_add(cg, v_last, zf_cg_i64(cg, 1))), v_five = zf_cg_i32(cg, 5);
    v_last = zf_cg_resize(cg, v_last, cg->ty_i32, false);
    LLVMValueRef v_word = zf_cg_umin(cg, zf_cg_resize(cg, place->v_word, cg->ty_i32, false), v_last);
    LLVMValueRef v_room = zf_cg_umin(cg, zf_cg_sub(cg, v_last, v_word), zf_cg_i32(cg, NEAR_LIMIT));
    LLVMValueRef v_rest = zf_cg_and(cg, zf_cg_resize(cg, v_total, cg->ty_i32, false), zf_cg_i32(cg, WORD_BITS - 1));
    place->v_last = v_last;
    place->v_room = zf_cg_or(cg, LLVMBuildShl(cg->builder, v_room, v_five, ""), v_rest);
    v_count = zf_cg_resize(cg, v_count, cg->ty_i32, false);
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, v_count, place->v_room);
    LLVMValueRef v_near = zf_cg_icmp(cg, LLVMIntULE, place->v_near, zf_cg_sub(cg, place->v_room, v_count));
    return zf_cg_and(cg, zf_cg_and(cg, v_within, v_fits), v_near);
}

void zf_cg_bit_place_clamp(zf_cg *cg, zf_cg_bit_place *place) {
    LLVMValueRef v_word = zf_cg_resize(cg, place->v_word, cg->ty_i32, false);
    v_word = zf_cg_clamp(cg, v_word, place->v_last, "operands of failed checks");
    place->v_word = zf_cg_resize(cg, v_word, cg->ty_i64, false);
    place->v_near = zf_cg_clamp(cg, place->v_near, place->v_room, "operands of failed checks");
}
