// Streams, arrays and strings: elements, slices, lengths, bits; binders and the reductions over them.
#include <string.h>

#include "frontend/check/checker.h"

// ---- Facts about sequences ------------------------------------------------------------------------------------

bool zf_is_sequence(const zf_expr *expr) { return expr->is_seq || (expr->type.kind == ZF_K_STRING && !expr->type.nullable); }

zf_type zf_element_type(const zf_expr *seq) { return seq->is_seq ? seq->type : zf_type_of(ZF_K_U8); }

zf_interval zf_element_range(const zf_checker *ck, const zf_expr *seq) {
    zf_interval all = zf_range_all(zf_element_type(seq));
    if (!seq->is_seq) return all;
    switch (seq->kind) {
    case ZF_X_STREAM: return ck->body == ZF_IN_ENCODE ? all : seq->port->range;
    case ZF_X_TABLE: return seq->table->range;
    case ZF_X_SLICE: return zf_element_range(ck, seq->a);
    case ZF_X_LOCAL: return seq->local->is_seq ? seq->local->range : all;
    default: return all;
    }
}

zf_interval zf_length_range(const zf_checker *ck, const zf_expr *seq) {
    zf_interval any = {0, ZF_STREAM_LENGTH_MAX};
    switch (seq->kind) {
    case ZF_X_STREAM: // while it is being written it has what was pushed so far
        return seq->port->fixed && seq->port->length != NULL && ck->body != ZF_IN_ENCODE ? seq->port->length->range : any;
    case ZF_X_TABLE: return zf_interval_const((zf_int128)seq->table->length);
    case ZF_X_SLICE: {
        zf_interval r = {seq->c->range.lo - seq->b->range.hi, seq->c->range.hi - seq->b->range.lo};
        // A slice whose check failed is empty where that is only noted: nothing is proved with how long it should be.
        if (!seq->proved) r.lo = 0;
        return zf_interval_meet((zf_interval){r.lo < 0 ? 0 : r.lo, r.hi < 0 ? 0 : r.hi}, any);
    }
    case ZF_X_LOCAL:
        if (seq->local->kind == ZF_L_ARRAY) return zf_interval_const((zf_int128)seq->local->length);
        if ((seq->local->kind == ZF_L_LET || seq->local->kind == ZF_L_FORMAL) && seq->local->init != NULL &&
            zf_is_sequence(seq->local->init)) {
            return zf_length_range(ck, seq->local->init);
        }
        return any;
    default: return any;
    }
}

zf_expr *zf_ck_length(zf_checker *ck, zf_expr *seq, zf_span span) {
    zf_expr *length = zf_ck_node(ck, ZF_X_LEN, zf_type_of(ZF_K_U64), span);
    length->a = seq;
    length->effect = seq->effect;
    return zf_ck_finish(ck, length, zf_length_range(ck, seq));
}

/// The bound of an index: the declared length of E[n], else `.len`.
static zf_expr *length_to_prove(zf_checker *ck, zf_expr *seq) {
    if (seq->kind == ZF_X_STREAM && seq->port->fixed && seq->port->length != NULL && ck->body != ZF_IN_ENCODE)
        return seq->port->length;
    return zf_ck_length(ck, seq, seq->span);
}

/// True when `index` is below the length for certain.
static bool is_inside(zf_checker *ck, zf_expr *seq, const zf_expr *index, bool strict) {
    zf_expr *length = length_to_prove(ck, seq);
    if (zf_facts_below(ck, index, length, strict)) return true;
    if (length->kind == ZF_X_LEN) return false;
    return zf_facts_below(ck, index, zf_ck_length(ck, seq, seq->span), strict);
}

const char *zf_sequence_name(const zf_expr *seq) {
    switch (seq->kind) {
    case ZF_X_STREAM: return seq->port->name;
    case ZF_X_TABLE: return seq->table->name;
    case ZF_X_LOCAL: return seq->local->name;
    case ZF_X_OUT: return "out";
    default: return NULL;
    }
}

static const char *name_of(const zf_expr *seq) {
    const char *name = zf_sequence_name(seq);
    return name != NULL ? name : seq->kind == ZF_X_INPUT ? "the input" : "the sequence";
}

static bool may_read_elements(zf_checker *ck, const zf_expr *seq, zf_span span) {
    if (ck->body == ZF_IN_GROUPS && seq->kind == ZF_X_STREAM) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_WRONG_PLACE, span, "`groups` is made of lengths and params only");
        zf_ck_hint(ck, diag, "`%s.len` may stand here, its elements may not", name_of(seq));
        return false;
    }
    if (seq->kind == ZF_X_OUT && ck->body != ZF_IN_CHUNK) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_WRONG_PLACE, span, "only the decoder of a chunk can read `out`");
        if (ck->body == ZF_IN_ELEMENT)
            zf_ck_hint(ck, diag, "what lies before is reached by a sum, `sum(k in 0..=i: s[k])`, or by a non_parallel algorithm");
        return false;
    }
    return true;
}

static zf_expr *report_outside(zf_checker *ck, zf_span span, const zf_expr *seq, const zf_expr *index, zf_interval length,
                               const char *what) {
    zf_diag *diag = zf_ck_error(ck, ZF_D_OUT_OF_RANGE, span, "%s is always outside `%s`", what, name_of(seq));
    zf_ck_remark(ck, diag, (zf_span){0}, "it is %s, and the length is %s", zf_ck_range_text(ck, index->range),
                 zf_ck_range_text(ck, length));
    zf_ck_remark_facts(ck, diag, index);
    return zf_ck_poison(ck, span);
}

// ---- Elements and slices --------------------------------------------------------------------------------------

static zf_expr *make_index(zf_checker *ck, zf_expr *seq, zf_expr *index, zf_span span) {
    if (zf_is_poison(seq) || zf_is_poison(index) || !may_read_elements(ck, seq, span)) return zf_ck_poison(ck, span);
    zf_interval length = zf_length_range(ck, seq);
    if (seq->kind != ZF_X_OUT && index->range.lo >= length.hi && !ck->env.dead)
        return report_outside(ck, span, seq, index, length, "this index");
    zf_expr *expr = zf_ck_node(ck, ZF_X_INDEX, zf_element_type(seq), span);
    expr->a = seq;
    expr->b = index;
    expr->effect = seq->effect || index->effect;
    if (seq->kind == ZF_X_OUT) {
        ck->inst->reads_out = true;
        zf_expr pos = {.kind = ZF_X_OUT_POS, .type = zf_type_of(ZF_K_U64), .range = {0, ZF_STREAM_LENGTH_MAX}};
        expr->proved = zf_facts_below(ck, index, &pos, true);
        if (!expr->proved) zf_ck_note_check(ck, expr, index, "the index may not lie before `out.pos`: a check stays");
        return zf_ck_finish(ck, expr, zf_range_all(expr->type));
    }
    expr->proved = is_inside(ck, seq, index, true);
    if (!expr->proved) {
        zf_ck_note_check(ck, expr, index, "the index may be %s, `%s` has %s elements: a check stays",
                         zf_ck_range_text(ck, index->range), name_of(seq), zf_ck_range_text(ck, length));
    }
    return zf_ck_finish(ck, expr, zf_element_range(ck, seq));
}

zf_expr *zf_ck_index_expr(zf_checker *ck, const zf_ast_expr *ast) {
    if (ast->b->next != NULL) {
        zf_ck_error(ck, ZF_D_BAD_OPERAND, ast->span, "an element has one index here: only results of queries have several");
        return zf_ck_poison(ck, ast->span);
    }
    zf_expr *seq = zf_ck_sequence(ck, ast->a);
    zf_expr *index = zf_ck_scalar(ck, ast->b), *present = NULL;
    zf_kept kept = {0};
    if (ck->query != NULL && !zf_is_poison(index) && zf_untyped_of(index->type) == ZF_UNTYPED_NOT && index->type.nullable)
        present = zf_ck_present(ck, zf_ck_keep(ck, &kept, index), &index);
    zf_expr *element = make_index(ck, seq, zf_ck_index(ck, index), ast->span);
    // An input has its own type in the data, and 64 bits in the text. A null chooses no element.
    if (seq->kind == ZF_X_STREAM && ck->query != NULL) element = zf_ck_widen(ck, element);
    if (present != NULL) element = zf_ck_null_unless(ck, present, element, ast->span);
    return zf_ck_with_kept(ck, &kept, element, ast->span);
}

/// One past an inclusive end, without wrapping: nothing is as long as 2^64 - 1.
static zf_expr *past(zf_checker *ck, zf_expr *last) {
    zf_type u64 = zf_type_of(ZF_K_U64);
    zf_int128 most = zf_interval_of_kind(ZF_K_U64).hi - 1;
    if (last->range.hi > most) {
        zf_expr *least = zf_ck_node(ck, ZF_X_PRIM, u64, last->span);
        least->prim = ZF_P_MIN;
        least->a = last;
        least->b = zf_ck_int(ck, u64, most, last->span);
        least->effect = last->effect;
        last = zf_ck_finish(ck, least, zf_interval_meet(last->range, (zf_interval){0, most}));
    }
    return zf_ck_binary(ck, ZF_OP_ADD, last, zf_ck_int(ck, u64, 1, last->span), last->span);
}

zf_expr *zf_ck_slice_expr(zf_checker *ck, const zf_ast_expr *ast) {
    zf_expr *seq = zf_ck_sequence(ck, ast->a);
    const zf_ast_range *range = ast->range;
    zf_expr *lo =
        range->lo == NULL ? zf_ck_int(ck, zf_type_of(ZF_K_U64), 0, range->span) : zf_ck_index(ck, zf_ck_scalar(ck, range->lo));
    zf_expr *hi = range->hi == NULL ? NULL : zf_ck_index(ck, zf_ck_scalar(ck, range->hi));
    if (zf_is_poison(seq) || zf_is_poison(lo) || (hi != NULL && zf_is_poison(hi))) return zf_ck_poison(ck, ast->span);
    if (!may_read_elements(ck, seq, ast->span)) return zf_ck_poison(ck, ast->span);
    if (seq->kind == ZF_X_OUT) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`out` has no slices: read its elements");
        return zf_ck_poison(ck, ast->span);
    }
    if (hi == NULL && seq->effect) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_EFFECT, seq->span, "an effect in a sequence that is sliced to its end");
        zf_ck_hint(ck, diag, "keep it in a `let` before");
        return zf_ck_poison(ck, ast->span);
    }
    if (hi == NULL)
        hi = zf_ck_length(ck, seq, range->span);
    else if (range->inclusive)
        hi = past(ck, hi);
    if (zf_is_poison(hi)) return hi;
    zf_interval length = zf_length_range(ck, seq);
    if (!ck->env.dead && lo->range.lo > hi->range.hi) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_OUT_OF_RANGE, range->span, "this slice always ends before it begins");
        zf_ck_remark(ck, diag, (zf_span){0}, "it begins at %s and ends before %s", zf_ck_range_text(ck, lo->range),
                     zf_ck_range_text(ck, hi->range));
        return zf_ck_poison(ck, ast->span);
    }
    if (!ck->env.dead && hi->range.lo > length.hi)
        return report_outside(ck, range->span, seq, hi, length, "the end of this slice");
    zf_type element = zf_element_type(seq);
    bool is_string = element.kind == ZF_K_U8 && !element.nullable;
    zf_expr *expr = zf_ck_node(ck, ZF_X_SLICE, is_string ? zf_type_of(ZF_K_STRING) : element, ast->span);
    expr->is_seq = !is_string;
    expr->a = seq;
    expr->b = lo;
    expr->c = hi;
    expr->effect = seq->effect || lo->effect || hi->effect;
    expr->proved = zf_facts_below(ck, lo, hi, false) && is_inside(ck, seq, hi, false);
    if (!expr->proved)
        zf_ck_note_check(ck, expr, hi, "the slice may end at %s, `%s` has %s elements: a check stays",
                         zf_ck_range_text(ck, hi->range), name_of(seq), zf_ck_range_text(ck, length));
    return expr;
}

// ---- Binders and reductions -----------------------------------------------------------------------------------

// A bound in a query, where integers have signs.
static zf_expr *settled_bound(zf_checker *ck, const zf_ast_expr *ast) {
    zf_expr *expr = zf_ck_scalar(ck, ast);
    return ck->query == NULL || expr->is_seq ? expr : zf_ck_settle(ck, expr);
}

static bool may_be_negative(const zf_checker *ck, const zf_expr *expr) {
    bool plain = !zf_is_poison(expr) && !expr->is_seq && !expr->type.nullable;
    return ck->query != NULL && plain && zf_kind_is_signed(expr->type.kind) && expr->range.lo < 0;
}

static zf_expr *lower_bound(zf_checker *ck, const zf_ast_expr *ast) {
    zf_expr *lo = settled_bound(ck, ast);
    if (!may_be_negative(ck, lo)) return zf_ck_index(ck, lo);
    zf_diag *diag = zf_ck_error(ck, ZF_D_INDEX_UNSIGNED, lo->span, "a range begins at 0 or above");
    zf_ck_remark_facts(ck, diag, lo);
    zf_ck_hint(ck, diag, "write `max(..., 0)`");
    return zf_ck_poison(ck, lo->span);
}

// A range that ends below 0 is empty, as one that ends at 0 is.
static zf_expr *upper_bound(zf_checker *ck, const zf_ast_expr *ast, bool *inclusive) {
    zf_expr *hi = settled_bound(ck, ast);
    if (!may_be_negative(ck, hi)) return zf_ck_index(ck, hi);
    if (*inclusive) hi = zf_ck_binary(ck, ZF_OP_ADD, hi, zf_ck_int(ck, hi->type, 1, hi->span), hi->span);
    *inclusive = false;
    zf_expr *bound = zf_ck_node(ck, ZF_X_PRIM, hi->type, hi->span);
    bound->prim = ZF_P_MAX;
    bound->a = hi;
    bound->b = zf_ck_int(ck, hi->type, 0, hi->span);
    bound->effect = hi->effect;
    return zf_ck_index(ck, zf_ck_finish(ck, bound, zf_range_prim(ZF_P_MAX, hi->type.kind, hi->range, bound->b->range)));
}

bool zf_ck_binder(zf_checker *ck, zf_binder *binder, zf_name name, zf_span span, const zf_ast_range *range) {
    bool inclusive = range->inclusive;
    zf_expr *lo = lower_bound(ck, range->lo);
    zf_expr *hi = upper_bound(ck, range->hi, &inclusive);
    zf_local *local = zf_ck_local(ck, ZF_L_BINDER, name, span, zf_type_of(ZF_K_U64));
    *binder = (zf_binder){.local = local, .lo = lo, .hi = hi, .inclusive = inclusive};
    if (zf_is_poison(lo) || zf_is_poison(hi)) return true;
    zf_int128 last = inclusive ? hi->range.hi : hi->range.hi - 1;
    if (last < lo->range.lo) { // no iteration at all
        local->range = zf_interval_const(lo->range.lo);
        ck->env.dead = true;
        bool backwards = zf_interval_is_const(lo->range) && zf_interval_is_const(hi->range) && lo->range.lo > hi->range.lo;
        if (backwards && ck->generics == NULL && lo->kind == ZF_X_CONST && hi->kind == ZF_X_CONST) {
            zf_ck_error(ck, ZF_D_EMPTY_RANGE, range->span, "this range has no elements");
        }
        return false;
    }
    local->range = (zf_interval){lo->range.lo, last};
    zf_bound bound = {.local = local};
    zf_expr *use = zf_ck_use(ck, &bound, span);
    zf_facts_relate(ck, use, hi, !inclusive);
    zf_facts_relate(ck, lo, use, false);
    return true;
}

static const struct {
    const char *name;
    zf_reduce_op op;
} reductions[] = {
    {"sum", ZF_RED_SUM}, {"min", ZF_RED_MIN}, {"max", ZF_RED_MAX}, {"xor", ZF_RED_XOR}, {"any", ZF_RED_ANY}, {"all", ZF_RED_ALL},
};

bool zf_reduce_of_name(zf_name name, zf_reduce_op *op) {
    for (size_t k = 0; k < sizeof reductions / sizeof *reductions; k++) {
        if (strcmp(reductions[k].name, name) != 0) continue;
        *op = reductions[k].op;
        return true;
    }
    return false;
}

const char *zf_reduce_name(zf_reduce_op op) { return reductions[op].name; }

static zf_interval reduced_range(const zf_reduce *reduce) {
    zf_interval term = reduce->term->range, zero = {0, 0};
    switch (reduce->op) {
    case ZF_RED_ANY:
    case ZF_RED_ALL: return (zf_interval){0, 1};
    case ZF_RED_MIN:
    case ZF_RED_MAX: return zf_interval_hull(term, zero);
    case ZF_RED_XOR: return zf_interval_hull(zf_range_exact(ZF_OP_OR, term, term, zf_kind_bits(reduce->term->type.kind)), zero);
    case ZF_RED_SUM: break;
    }
    zf_interval trips = {0, 1};
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        const zf_binder *binder = &reduce->binders[k];
        zf_int128 most = binder->hi->range.hi - binder->lo->range.lo + (binder->inclusive ? 1 : 0);
        trips = zf_range_exact(ZF_OP_MUL, trips, (zf_interval){0, most < 0 ? 0 : most}, 128);
    }
    return zf_range_wrap(zf_range_exact(ZF_OP_MUL, trips, term, 128), reduce->term->type.kind);
}

static zf_expr *check_reduce(zf_checker *ck, const zf_ast_expr *ast, zf_reduce_op op) {
    if (ck->body == ZF_IN_CONST) {
        zf_ck_error(ck, ZF_D_NOT_CONSTANT, ast->span, "constants and signatures are made without reductions");
        return zf_ck_poison(ck, ast->span);
    }
    zf_reduce *reduce = ZF_NEW(ck->arena, zf_reduce);
    reduce->op = op;
    uint32_t first_local = ck->local_count;
    for (const zf_ast_binder *binder = ast->binders; binder != NULL; binder = binder->next) {
        if (reduce->binder_count == 2) {
            zf_ck_error(ck, ZF_D_ARGUMENTS, binder->span, "a reduction has one binder or two");
            return zf_ck_poison(ck, ast->span);
        }
        zf_binder *made = &reduce->binders[reduce->binder_count++];
        zf_ck_binder(ck, made, binder->name, binder->span, &binder->range);
        zf_ck_enter(ck, binder->name, binder->span, made->local, NULL, false);
    }
    bool logical = op == ZF_RED_ANY || op == ZF_RED_ALL;
    zf_hoist saved = zf_ck_hoist_begin(ck, reduce, first_local);
    uint64_t entered = zf_ck_enter_terms(ck, reduce, ast->span);
    zf_expr *term = logical ? zf_ck_condition(ck, ast->b) : zf_ck_value(ck, ast->b);
    zf_ck_leave_terms(ck, entered);
    zf_ck_hoist_end(ck, saved);
    reduce->term = term;
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        if (zf_is_poison(reduce->binders[k].lo) || zf_is_poison(reduce->binders[k].hi)) return zf_ck_poison(ck, ast->span);
        zf_ck_refuse_effect(ck, reduce->binders[k].lo, ast->span, "the bounds of a reduction");
        zf_ck_refuse_effect(ck, reduce->binders[k].hi, ast->span, "the bounds of a reduction");
    }
    if (zf_is_poison(term)) return term;
    zf_ck_refuse_effect(ck, term, ast->span, "a reduction");
    if (!logical && (term->type.nullable || !zf_kind_is_integer(term->type.kind))) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_OPERAND, term->span, "`%s` runs over integers, not %s", zf_reduce_name(op),
                                    zf_ck_type_name(ck, term));
        if (term->type.kind == ZF_K_BOOL)
            zf_ck_hint(ck, diag, "write `as u64` to count what holds");
        else if (zf_kind_is_float(term->type.kind))
            zf_ck_remark(ck, diag, (zf_span){0}, "sums of floats depend on their order, which is free here");
        return zf_ck_poison(ck, ast->span);
    }
    zf_expr *expr = zf_ck_node(ck, ZF_X_REDUCE, term->type, ast->span);
    expr->reduce = reduce;
    expr->range = reduced_range(reduce);
    return expr;
}

zf_expr *zf_ck_reduce(zf_checker *ck, const zf_ast_expr *ast) {
    zf_reduce_op op;
    if (ast->a->kind != ZF_AE_NAME || !zf_reduce_of_name(ast->a->name, &op)) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_NOT_THAT_KIND, ast->a->span, "only a reduction has binders");
        zf_ck_hint(ck, diag, "reductions are `sum`, `min`, `max`, `xor`, `any` and `all`");
        return zf_ck_poison(ck, ast->span);
    }
    zf_env env = ck->env;
    zf_bound *scope = ck->scope;
    ck->level++;
    zf_expr *expr = check_reduce(ck, ast, op);
    ck->level--;
    ck->scope = scope;
    ck->env = env;
    return expr;
}
