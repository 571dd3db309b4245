// Names behind a dot: members (.len, .pos, .value), cursors (.next(), .read(n)), bits, and the statements of encode (.push(v),
// .append(s)). There is a table for each; one row to add one.
#include <string.h>

#include "frontend/check/checker.h"
#include "frontend/check/synonyms.h"

// ---- Cursors --------------------------------------------------------------------------------------------------

typedef enum cursor_result { GIVES_ELEMENT, GIVES_TYPE, GIVES_BYTES, GIVES_BITS, GIVES_NOTHING } cursor_result;

static const struct {
    const char *name;
    bool advances, has_argument, is_property, of_bytes;
    cursor_result result;
    zf_kind kind; ///< GIVES_TYPE, GIVES_BYTES, GIVES_BITS
} cursors[ZF_C_COUNT] = {
    [ZF_C_NEXT] = {"next", true, false, false, false, GIVES_ELEMENT, ZF_K_ERROR},
    [ZF_C_U8] = {"u8", true, false, false, true, GIVES_TYPE, ZF_K_U8},
    [ZF_C_U16] = {"u16", true, false, false, true, GIVES_TYPE, ZF_K_U16},
    [ZF_C_U32] = {"u32", true, false, false, true, GIVES_TYPE, ZF_K_U32},
    [ZF_C_U64] = {"u64", true, false, false, true, GIVES_TYPE, ZF_K_U64},
    [ZF_C_I8] = {"i8", true, false, false, true, GIVES_TYPE, ZF_K_I8},
    [ZF_C_I16] = {"i16", true, false, false, true, GIVES_TYPE, ZF_K_I16},
    [ZF_C_I32] = {"i32", true, false, false, true, GIVES_TYPE, ZF_K_I32},
    [ZF_C_I64] = {"i64", true, false, false, true, GIVES_TYPE, ZF_K_I64},
    [ZF_C_LE] = {"le", true, true, false, true, GIVES_BYTES, ZF_K_U64},
    [ZF_C_BE] = {"be", true, true, false, true, GIVES_BYTES, ZF_K_U64},
    [ZF_C_VARINT] = {"varint", true, false, false, true, GIVES_TYPE, ZF_K_U64},
    [ZF_C_READ] = {"read", true, true, false, false, GIVES_BITS, ZF_K_U64},
    [ZF_C_READ_MSB] = {"read_msb", true, true, false, false, GIVES_BITS, ZF_K_U64},
    [ZF_C_PEEK] = {"peek", false, true, false, false, GIVES_BITS, ZF_K_U64},
    [ZF_C_SKIP] = {"skip", true, true, false, false, GIVES_NOTHING, ZF_K_NONE},
    [ZF_C_ALIGN] = {"align", true, false, false, false, GIVES_NOTHING, ZF_K_NONE},
    [ZF_C_AT_END] = {"at_end", false, false, false, false, GIVES_TYPE, ZF_K_BOOL},
    [ZF_C_POS] = {"pos", false, false, true, false, GIVES_TYPE, ZF_K_U64},
    [ZF_C_BIT_POS] = {"bit_pos", false, false, true, false, GIVES_TYPE, ZF_K_U64},
};

const char *zf_cursor_name(zf_cursor cursor) { return cursors[cursor].name; }
bool zf_cursor_advances(zf_cursor cursor) { return cursors[cursor].advances; }
bool zf_cursor_is_checked(zf_cursor cursor) { return cursors[cursor].advances && cursor != ZF_C_ALIGN; }
bool zf_cursor_has_argument(zf_cursor cursor) { return cursors[cursor].has_argument; }

static zf_cursor cursor_of_name(zf_name name) {
    int k = 0;
    while (k < ZF_C_COUNT && strcmp(cursors[k].name, name) != 0) k++;
    return (zf_cursor)k;
}

/// How to say that a number is at most `most`, in the words of the program.
static void hint_at_most(zf_checker *ck, zf_diag *diag, const zf_expr *count, zf_int128 most) {
    const char *limit = zf_ck_range_text(ck, zf_interval_const(most));
    if (count->range.lo > most) return; // it never is
    const zf_expr *told = zf_expr_uncast(count);
    if (told->kind == ZF_X_PARAM && told->span.begin == count->span.begin && told->span.end == count->span.end) {
        zf_ck_hint(ck, diag, "say so where it is declared: `param %s: %s in 0..=%s`", told->port->name,
                   zf_type_name(ck->arena, told->type), limit);
        return;
    }
    enum { LONG = 40 };
    size_t length = count->span.end - count->span.begin;
    const char *text = count->span.source == NULL ? NULL : count->span.source->text + count->span.begin;
    bool shown = text != NULL && length > 0 && length <= LONG && memchr(text, '\n', length) == NULL;
    zf_ck_hint(ck, diag, "say so before: `require %.*s <= %s;`", shown ? (int)length : 1, shown ? text : "n", limit);
}

/// A number of bits or bytes that is at most `most`: in decode for certain, so that no target has to ask.
static bool check_count(zf_checker *ck, zf_expr **number, zf_int128 most, const char *unit) {
    zf_expr *count = *number;
    if (zf_is_poison(count)) return false;
    bool certain = ck->body != ZF_IN_ENCODE && ck->body != ZF_IN_FUNCTION;
    if ((certain ? count->range.hi : count->range.lo) <= most) return true;
    if (ck->env.dead) { // never computed, so any number will do; one that is allowed keeps the promise
        *number = zf_ck_int(ck, zf_type_of(ZF_K_U64), most, count->span);
        return true;
    }
    zf_diag *diag = zf_ck_error(ck, ZF_D_BITS_WIDTH, count->span, "the number of %s may be %s, and %s is the most", unit,
                                zf_ck_range_text(ck, count->range), zf_ck_range_text(ck, zf_interval_const(most)));
    zf_ck_remark_facts(ck, diag, count);
    if (certain) hint_at_most(ck, diag, count, most);
    return false;
}

static bool may_use_cursor(zf_checker *ck, const zf_expr *seq, zf_cursor cursor, zf_span span) {
    const char *name = cursors[cursor].name;
    bool place = ck->body == ZF_IN_STATE || ck->body == ZF_IN_LANES || ck->body == ZF_IN_CHUNK || ck->body == ZF_IN_FUNCTION;
    if (!place || seq->kind != ZF_X_STREAM) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_WRONG_PLACE, span,
                                    "`%s` reads on in a chunk: only decode of non_parallel has a cursor, on its streams", name);
        if (seq->kind == ZF_X_STREAM && ck->body == ZF_IN_ELEMENT) zf_ck_hint(ck, diag, "index the stream: `s[i]`");
        return false;
    }
    if (!seq->port->per_chunk) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_BLOCK_CURSOR, span, "`%s` belongs to the whole block and has no cursor", seq->port->name);
        zf_ck_remark(ck, diag, seq->port->span, "declared here");
        zf_ck_hint(ck, diag, "declare it `per chunk`: then each chunk reads its own part from its beginning");
        return false;
    }
    zf_type type = seq->type;
    bool bytes = type.kind == ZF_K_U8 && !type.nullable, bits = zf_kind_is_integer(type.kind) && !type.nullable;
    bool wants_bits = cursors[cursor].result == GIVES_BITS || cursor == ZF_C_ALIGN || cursor == ZF_C_BIT_POS;
    if ((cursors[cursor].of_bytes && !bytes) || (wants_bits && !bits)) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_OPERAND, span, "`%s` reads a stream of %s, and `%s` is one of %s", name,
                                    cursors[cursor].of_bytes ? "u8" : "integers", seq->port->name, zf_type_name(ck->arena, type));
        zf_ck_hint(ck, diag, "`%s.next()` gives its next element", seq->port->name);
        return false;
    }
    return true;
}

static zf_expr *check_cursor(zf_checker *ck, zf_expr *seq, zf_cursor cursor, const zf_ast_expr *argument, zf_span span) {
    zf_expr *count = NULL;
    if (cursors[cursor].has_argument) {
        count = zf_ck_index(ck, zf_ck_scalar(ck, argument));
        zf_cursor c = cursor;
        if (cursors[c].result == GIVES_BITS && !check_count(ck, &count, 64, "bits")) return zf_ck_poison(ck, span);
        if (cursors[c].result == GIVES_BYTES && !check_count(ck, &count, 8, "bytes")) return zf_ck_poison(ck, span);
        if (zf_is_poison(count)) return count;
    }
    if (!may_use_cursor(ck, seq, cursor, span)) return zf_ck_poison(ck, span);
    zf_type type = cursors[cursor].result == GIVES_ELEMENT ? seq->type : zf_type_of(cursors[cursor].kind);
    zf_expr *expr = zf_ck_node(ck, ZF_X_CURSOR, type, span);
    expr->cursor = cursor;
    expr->port = seq->port;
    expr->a = count;
    expr->effect = cursors[cursor].advances || (count != NULL && count->effect);
    if (cursors[cursor].advances) zf_ck_effect(ck, NULL);
    switch (cursors[cursor].result) {
    case GIVES_ELEMENT: expr->range = seq->port->range; break;
    case GIVES_BITS: expr->range = zf_range_bits(count->range); break;
    case GIVES_BYTES: expr->range = zf_range_bits(zf_range_exact(ZF_OP_MUL, count->range, zf_interval_const(8), 128)); break;
    case GIVES_TYPE:
        if (cursor == ZF_C_POS) expr->range = (zf_interval){0, ZF_STREAM_LENGTH_MAX};
        if (cursor == ZF_C_BIT_POS) expr->range = (zf_interval){0, ZF_STREAM_LENGTH_MAX * 64};
        break;
    case GIVES_NOTHING: break;
    }
    return expr;
}

// ---- Bits -----------------------------------------------------------------------------------------------------

static zf_expr *check_bits(zf_checker *ck, zf_expr *seq, const zf_ast_expr *ast, bool msb) {
    zf_expr *at = zf_ck_index(ck, zf_ck_scalar(ck, ast->args)), *count = zf_ck_index(ck, zf_ck_scalar(ck, ast->args->next));
    if (zf_is_poison(at) || !check_count(ck, &count, 64, "bits")) return zf_ck_poison(ck, ast->span);
    bool integers = seq->is_seq && !seq->type.nullable && (zf_kind_is_integer(seq->type.kind) || seq->type.kind == ZF_K_BOOL);
    if (!integers || seq->kind == ZF_X_OUT || ck->body == ZF_IN_GROUPS) {
        zf_ck_error(ck, ZF_D_BAD_OPERAND, ast->span, "bits are taken from streams and arrays of integers or bool, not from %s",
                    seq->kind == ZF_X_OUT ? "out" : zf_ck_type_name(ck, seq));
        return zf_ck_poison(ck, ast->span);
    }
    if (seq->kind == ZF_X_STREAM && ck->body != ZF_IN_ENCODE) seq->port->bitwise = true;
    zf_interval end = zf_range_exact(ZF_OP_ADD, at->range, count->range, 128);
    zf_interval bits = zf_range_exact(ZF_OP_MUL, zf_length_range(ck, seq), zf_interval_const(zf_kind_bits(seq->type.kind)), 128);
    if (end.lo > bits.hi && !ck->env.dead) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_OUT_OF_RANGE, ast->span, "these bits always lie outside");
        zf_ck_remark(ck, diag, (zf_span){0}, "they end at %s, and there are %s bits", zf_ck_range_text(ck, end),
                     zf_ck_range_text(ck, bits));
        return zf_ck_poison(ck, ast->span);
    }
    zf_expr *expr = zf_ck_node(ck, ZF_X_BITS, zf_type_of(ZF_K_U64), ast->span);
    expr->a = seq;
    expr->b = at;
    expr->c = count;
    expr->msb = msb;
    expr->effect = seq->effect || at->effect || count->effect;
    expr->proved = end.hi <= bits.lo && count->range.hi <= 64;
    if (!expr->proved) zf_ck_note_check(ck, expr, at, "these bits may lie outside: a check stays");
    return zf_ck_finish(ck, expr, zf_range_bits(count->range));
}

// ---- Members --------------------------------------------------------------------------------------------------

static zf_expr *report_no_member(zf_checker *ck, const zf_expr *of, zf_name name, zf_span span) {
    zf_diag *diag = zf_ck_error(ck, ZF_D_UNKNOWN_MEMBER, span, "%s has no member `%s`", zf_ck_type_name(ck, of), name);
    static const char *const members[] = {
        "len",  "pos",  "bit_pos", "bit_len", "value", "parts",     "bits",        "bits_msb", "next",   "u8",      "u16",
        "u32",  "u64",  "i8",      "i16",     "i32",   "i64",       "le",          "be",       "varint", "read",    "read_msb",
        "peek", "skip", "align",   "at_end",  "push",  "push_bits", "push_varint", "append",   "intern", "reverse",
    };
    const char *synonym = zf_synonym_hint(ck->arena, ZF_SYNONYM_MEMBER, name);
    const char *nearest = synonym != NULL ? NULL : zf_nearest_name(name, members, sizeof members / sizeof *members);
    if (synonym != NULL) zf_ck_hint(ck, diag, "%s", synonym);
    if (nearest != NULL) zf_ck_hint(ck, diag, "did you mean `.%s`?", nearest);
    return zf_ck_poison(ck, span);
}

zf_expr *zf_ck_member(zf_checker *ck, const zf_ast_expr *ast) {
    zf_expr *of = zf_ck_expr(ck, ast->a);
    if (zf_is_poison(of)) return of;
    if (strcmp(ast->name, "len") == 0 && zf_is_sequence(of)) return zf_ck_length(ck, of, ast->span);
    if (strcmp(ast->name, "value") == 0 && !of->is_seq && of->type.nullable) {
        zf_expr *expr = zf_ck_node(ck, ZF_X_VALUE, zf_type_value(of->type), ast->span);
        expr->a = of;
        expr->effect = of->effect;
        return zf_ck_finish(ck, expr, zf_range_all(expr->type));
    }
    if (strcmp(ast->name, "pos") == 0 && of->kind == ZF_X_OUT) {
        if (ck->body != ZF_IN_CHUNK) {
            zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "only the decoder of a chunk knows `out.pos`");
            return zf_ck_poison(ck, ast->span);
        }
        return zf_ck_finish(ck, zf_ck_node(ck, ZF_X_OUT_POS, zf_type_of(ZF_K_U64), ast->span),
                            (zf_interval){0, ZF_STREAM_LENGTH_MAX});
    }
    zf_cursor cursor = cursor_of_name(ast->name);
    if (cursor != ZF_C_COUNT && of->is_seq && cursors[cursor].is_property) return check_cursor(ck, of, cursor, NULL, ast->span);
    if (strcmp(ast->name, "bit_len") == 0 && of->kind == ZF_X_STREAM) {
        if (ck->body != ZF_IN_ENCODE) {
            zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`bit_len` belongs to encode");
            return zf_ck_poison(ck, ast->span);
        }
        zf_expr *expr = zf_ck_node(ck, ZF_X_BIT_LEN, zf_type_of(ZF_K_U64), ast->span);
        expr->a = of;
        return zf_ck_finish(ck, expr, (zf_interval){0, ZF_STREAM_LENGTH_MAX * 64});
    }
    if (strcmp(ast->name, "parts") == 0 && of->kind == ZF_X_INPUT) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`parts` can stand only in `for p in x.parts`");
        return zf_ck_poison(ck, ast->span);
    }
    static const char *const methods[] = {"bits", "bits_msb", "intern", "push", "push_bits", "push_varint", "append", "reverse"};
    bool method = cursor != ZF_C_COUNT;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) method = method || strcmp(methods[k], ast->name) == 0;
    if (method && of->is_seq) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_UNKNOWN_MEMBER, ast->name_span, "`%s` is called with parentheses", ast->name);
        zf_ck_hint(ck, diag, "write `.%s(...)`", ast->name);
        return zf_ck_poison(ck, ast->span);
    }
    return report_no_member(ck, of, ast->name, ast->name_span);
}

// ---- Writing --------------------------------------------------------------------------------------------------

bool zf_ck_write_target(zf_checker *ck, zf_expr *target, zf_span span, const char *how) {
    if (target->kind == ZF_X_STREAM && ck->body == ZF_IN_ENCODE) {
        zf_port *port = target->port;
        port->written = true;
        if (ck->in_chunks && !port->per_chunk) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_BLOCK_WIDE_WRITE, span,
                                        "`%s` belongs to the whole block and cannot be written in `chunks`", port->name);
            zf_ck_remark(ck, diag, port->span, "declared here");
            zf_ck_hint(ck, diag, "chunks are encoded side by side: write it before or after, or declare it `per chunk`");
            return false;
        }
        if (!ck->in_chunks && port->per_chunk) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_WRONG_PLACE, span,
                                        "`%s` is `per chunk`: it is written in `for c in chunks(x)` only", port->name);
            zf_ck_remark(ck, diag, port->span, "declared here");
            return false;
        }
        zf_ck_effect(ck, NULL);
        return true;
    }
    if (target->kind == ZF_X_LOCAL) {
        const zf_checked_local *local = (const zf_checked_local *)target->local;
        if (ck->in_chunks && !local->in_chunks) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_BLOCK_WIDE_WRITE, span,
                                        "`%s` is declared outside of `chunks` and cannot be changed in it", local->local.name);
            zf_ck_remark(ck, diag, local->local.span, "declared here");
            zf_ck_hint(ck, diag, "chunks are encoded side by side: declare it inside");
            return false;
        }
        zf_ck_effect(ck, local->frame);
        return true;
    }
    zf_ck_error(ck, ZF_D_NOT_ASSIGNABLE, span, "this cannot be %s", how);
    return false;
}

static bool is_writable_name(zf_checker *ck, const zf_ast_expr *ast) {
    if (ast->kind != ZF_AE_NAME) return false;
    const zf_bound *bound = zf_ck_lookup(ck, ast->name);
    return bound == NULL || bound->writable;
}

typedef enum method_kind { PUSH, PUSH_BITS, PUSH_VARINT, APPEND, REVERSE, METHODS } method_kind;

static const struct {
    const char *name;
    uint8_t arguments;
    zf_stmt_kind stmt;
} methods[METHODS] = {
    [PUSH] = {"push", 1, ZF_S_PUSH},
    [PUSH_BITS] = {"push_bits", 2, ZF_S_PUSH_BITS},
    [PUSH_VARINT] = {"push_varint", 1, ZF_S_PUSH_VARINT},
    [APPEND] = {"append", 1, ZF_S_APPEND},
    [REVERSE] = {"reverse", 0, ZF_S_REVERSE},
};

static method_kind method_of_name(zf_name name) {
    int k = 0;
    while (k < METHODS && strcmp(methods[k].name, name) != 0) k++;
    return (method_kind)k;
}

static uint32_t argument_count(const zf_ast_expr *ast) {
    uint32_t count = 0;
    for (const zf_ast_expr *argument = ast->args; argument != NULL; argument = argument->next) count++;
    return count;
}

static bool wants_arguments(zf_checker *ck, const zf_ast_expr *ast, const char *name, uint32_t wanted) {
    uint32_t count = argument_count(ast);
    if (count == wanted) return true;
    zf_ck_error(ck, ZF_D_ARGUMENTS, ast->span, "`%s` takes %u argument%s, and %u %s given", name, wanted, wanted == 1 ? "" : "s",
                count, count == 1 ? "is" : "are");
    return false;
}

static zf_expr *appended(zf_checker *ck, const zf_ast_expr *argument, const zf_expr *target) {
    zf_expr *value = zf_ck_sequence(ck, argument);
    if (zf_is_poison(value)) return value;
    zf_type element = zf_element_type(value);
    if (zf_type_equal(zf_type_strip(element), zf_type_strip(target->type))) return value;
    zf_diag *diag = zf_ck_error(ck, ZF_D_CANNOT_CONVERT, argument->span, "cannot append %s to %s", zf_ck_type_name(ck, value),
                                zf_ck_type_name(ck, target));
    if (!value->is_seq && target->type.kind == ZF_K_STRING) zf_ck_hint(ck, diag, "push it: it is one element");
    return zf_ck_poison(ck, argument->span);
}

static void check_write(zf_checker *ck, const zf_ast_expr *ast, method_kind kind, zf_expr *target) {
    const char *name = methods[kind].name;
    const zf_ast_expr *base = ast->a->a;
    if (ck->body != ZF_IN_ENCODE && ck->body != ZF_IN_FUNCTION) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`%s` belongs to encode", name);
        return;
    }
    if (!wants_arguments(ck, ast, name, methods[kind].arguments)) return;
    bool growing = target->kind == ZF_X_LOCAL && target->local->kind == ZF_L_GROWING;
    if ((target->kind != ZF_X_STREAM && !growing) || !is_writable_name(ck, base)) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_NOT_ASSIGNABLE, base->span, "`%s` writes to a stream or a growing array, by its name", name);
        const zf_bound *bound = base->kind == ZF_AE_NAME ? zf_ck_lookup(ck, base->name) : NULL;
        if (bound != NULL && (target->kind == ZF_X_STREAM || growing))
            zf_ck_hint(ck, diag, "mark the formal: `var %s: ...`", base->name);
        return;
    }
    bool integers = !target->type.nullable && zf_kind_is_integer(target->type.kind);
    bool bytes = target->type.kind == ZF_K_U8 && !target->type.nullable;
    bool bools = target->type.kind == ZF_K_BOOL && !target->type.nullable;
    if ((kind == PUSH_BITS && !integers && !bools) || (kind == PUSH_VARINT && !bytes)) {
        zf_ck_error(ck, ZF_D_BAD_OPERAND, ast->span, "`%s` writes to %s, not to %s", name,
                    kind == PUSH_VARINT ? "u8[]" : "integers", zf_ck_type_name(ck, target));
        return;
    }
    zf_expr *value = NULL, *count = NULL;
    switch (kind) {
    case PUSH: value = zf_ck_value_as(ck, ast->args, target->type); break;
    case APPEND: value = appended(ck, ast->args, target); break;
    case PUSH_VARINT: value = zf_ck_index(ck, zf_ck_scalar(ck, ast->args)); break;
    case PUSH_BITS:
        value = zf_ck_index(ck, zf_ck_scalar(ck, ast->args));
        count = zf_ck_index(ck, zf_ck_scalar(ck, ast->args->next));
        if (!check_count(ck, &count, 64, "bits")) return;
        break;
    default: break;
    }
    if (value != NULL && zf_is_poison(value)) return;
    if (ck->body != ZF_IN_FUNCTION && !zf_ck_write_target(ck, target, ast->span, "written")) return;
    zf_stmt *stmt = zf_ck_stmt(ck, methods[kind].stmt, ast->span);
    stmt->target = target;
    stmt->value = value;
    stmt->count = count;
}

// ---- Calls with a dot -----------------------------------------------------------------------------------------

static zf_expr *check_intern(zf_checker *ck, zf_expr *seq, const zf_ast_expr *ast) {
    if (ck->body != ZF_IN_ENCODE && ck->body != ZF_IN_FUNCTION) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`intern` belongs to encode");
        return zf_ck_poison(ck, ast->span);
    }
    if (seq->kind != ZF_X_STREAM) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_OPERAND, ast->span, "values are interned in a stream");
        if (seq->kind == ZF_X_LOCAL)
            zf_ck_hint(ck, diag, "to count how often each occurs, `sort` a copy: equal ones lie together");
        return zf_ck_poison(ck, ast->span);
    }
    zf_expr *value = zf_ck_value_as(ck, ast->args, seq->type);
    if (zf_is_poison(value)) return value;
    if (ck->body == ZF_IN_ENCODE && !zf_ck_write_target(ck, seq, ast->span, "written")) return zf_ck_poison(ck, ast->span);
    zf_expr *expr = zf_ck_node(ck, ZF_X_INTERN, zf_type_of(ZF_K_U32), ast->span);
    expr->port = seq->port;
    expr->a = value;
    expr->effect = true;
    return expr;
}

zf_expr *zf_ck_method(zf_checker *ck, const zf_ast_expr *ast, bool as_statement) {
    const zf_ast_expr *member = ast->a;
    zf_expr *of = zf_ck_expr(ck, member->a);
    if (zf_is_poison(of)) return of;
    zf_name name = member->name;
    method_kind method = method_of_name(name);
    if (method != METHODS && of->is_seq) {
        if (!as_statement) {
            zf_ck_error(ck, ZF_D_NO_VALUE, ast->span, "`%s` is a statement and has no value", name);
            return zf_ck_poison(ck, ast->span);
        }
        check_write(ck, ast, method, of);
        return zf_ck_node(ck, ZF_X_CONST, zf_type_of(ZF_K_NONE), ast->span);
    }
    bool msb = strcmp(name, "bits_msb") == 0;
    if ((msb || strcmp(name, "bits") == 0) && zf_is_sequence(of)) {
        return wants_arguments(ck, ast, name, 2) ? check_bits(ck, of, ast, msb) : zf_ck_poison(ck, ast->span);
    }
    if (strcmp(name, "intern") == 0 && of->is_seq) {
        return wants_arguments(ck, ast, name, 1) ? check_intern(ck, of, ast) : zf_ck_poison(ck, ast->span);
    }
    zf_cursor cursor = cursor_of_name(name);
    if (cursor != ZF_C_COUNT && of->is_seq) {
        if (cursors[cursor].is_property) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_UNKNOWN_MEMBER, member->name_span, "`%s` is written without parentheses", name);
            zf_ck_hint(ck, diag, "write .%s", name);
            return zf_ck_poison(ck, ast->span);
        }
        if (!wants_arguments(ck, ast, name, cursors[cursor].has_argument)) return zf_ck_poison(ck, ast->span);
        return check_cursor(ck, of, cursor, ast->args, ast->span);
    }
    if ((strcmp(name, "len") == 0 && zf_is_sequence(of)) || (strcmp(name, "value") == 0 && of->type.nullable)) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_UNKNOWN_MEMBER, member->name_span, "`%s` is written without parentheses", name);
        zf_ck_hint(ck, diag, "write .%s", name);
        return zf_ck_poison(ck, ast->span);
    }
    return report_no_member(ck, of, name, member->name_span);
}
