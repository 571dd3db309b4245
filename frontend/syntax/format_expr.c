// Documents of types, expressions and codecs.
#include "frontend/syntax/format_tree.h"

static const struct {
    const char *text;
    unsigned level; // operators of one level form one chain
} operators[ZF_OP_COUNT] = {
    [ZF_OP_NEG] = {"-", 0},     [ZF_OP_BITNOT] = {"~", 0}, [ZF_OP_NOT] = {"!", 0},  [ZF_OP_OROR] = {"||", 1},
    [ZF_OP_ANDAND] = {"&&", 2}, [ZF_OP_EQ] = {"==", 3},    [ZF_OP_NE] = {"!=", 3},  [ZF_OP_LT] = {"<", 3},
    [ZF_OP_LE] = {"<=", 3},     [ZF_OP_GT] = {">", 3},     [ZF_OP_GE] = {">=", 3},  [ZF_OP_OR] = {"|", 4},
    [ZF_OP_XOR] = {"^", 5},     [ZF_OP_AND] = {"&", 6},    [ZF_OP_SHL] = {"<<", 7}, [ZF_OP_SHR] = {">>", 7},
    [ZF_OP_ADD] = {"+", 8},     [ZF_OP_SUB] = {"-", 8},    [ZF_OP_MUL] = {"*", 9},  [ZF_OP_DIV] = {"/", 9},
    [ZF_OP_REM] = {"%", 9},
};

const char *zf_op_text(zf_op op) { return operators[op].text; }

// The source's own bytes: numbers keep their base and their `_`.
static zf_doc *source_text(zf_printer *printer, zf_span span) {
    return zf_doc_bytes(printer->arena, printer->unit->source->text + span.begin, span.end - span.begin);
}

// The first comment that is pending, as a document.
static zf_doc *take_comment(zf_printer *printer) {
    zf_span span = printer->pending->span;
    zf_doc *doc = zf_doc_comment(printer->arena, printer->unit->source->text + span.begin, span.end - span.begin,
                                 printer->pending->own_line);
    printer->last_end = span.end;
    printer->pending = printer->pending->next;
    return doc;
}

zf_doc *zf_format_lead(zf_printer *printer, uint32_t offset) {
    zf_doc *list = NULL;
    while (printer->pending && printer->pending->span.begin < offset) {
        if (!list) list = list_of(printer);
        zf_doc_add(list, take_comment(printer));
    }
    return list;
}

// One at most: a second one cannot stand on the same line, so it goes with what follows.
zf_doc *zf_format_trail(zf_printer *printer, uint32_t offset) {
    const zf_ast_comment *comment = printer->pending;
    return comment && comment->span.begin < offset && !comment->own_line ? take_comment(printer) : NULL;
}

// A document with the comments before it in the source.
static zf_doc *after_comments(zf_printer *printer, uint32_t offset, zf_doc *doc) {
    zf_doc *comments = zf_format_lead(printer, offset);
    if (!comments) return doc;
    zf_doc_add(comments, doc);
    return comments;
}

static void add_text(zf_printer *printer, zf_doc *list, const char *string) { zf_doc_add(list, text(printer, string)); }

zf_doc *zf_format_text(zf_printer *printer, const char *string) {
    zf_doc *list = list_of(printer);
    add_text(printer, list, "\"");
    for (const char *s = string; *s; s++) {
        unsigned char byte = (unsigned char)*s;
        const char *escape = byte == '"' ? "\\\"" : byte == '\\' ? "\\\\" : byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : NULL;
        if (byte == '\r') escape = "\\r";
        if (escape)
            add_text(printer, list, escape);
        else if (byte < 0x20 || byte == 0x7f)
            add_text(printer, list, zf_arena_printf(printer->arena, "\\x%02x", byte));
        else
            zf_doc_add(list, zf_doc_bytes(printer->arena, s, 1));
    }
    add_text(printer, list, "\"");
    return list;
}

// ---- Types ----------------------------------------------------------------------------------------------------

// `a, b`.
static zf_doc *several(zf_printer *printer, const zf_ast_expr *exprs) {
    zf_doc *list = list_of(printer);
    for (const zf_ast_expr *expr = exprs; expr; expr = expr->next) {
        zf_doc_add(list, group(printer, zf_format_expr(printer, expr)));
        if (!expr->next) break;
        add_text(printer, list, ",");
        zf_doc_add(list, zf_format_trail(printer, expr->next->span.begin));
        zf_doc_add(list, line(printer));
    }
    return list;
}

// `open`, the inside on lines of its own when it does not fit, `close`. `end` is the place of the closing bracket.
static zf_doc *bracketed(zf_printer *printer, const char *open, zf_doc *inside, const char *close, uint32_t end) {
    zf_doc *content = list_of(printer), *list = list_of(printer);
    zf_doc_add(content, soft(printer));
    zf_doc_add(content, inside);
    zf_doc_add(content, zf_format_lead(printer, end));
    zf_doc_add(list, text(printer, open));
    zf_doc_add(list, nest(printer, content));
    zf_doc_add(list, soft(printer));
    zf_doc_add(list, text(printer, close));
    return group(printer, list);
}

static zf_doc *type_number(zf_printer *printer, const zf_ast_type *type) { return source_text(printer, type->span); }

zf_doc *zf_format_type(zf_printer *printer, const zf_ast_type *type) {
    zf_doc *list = list_of(printer);
    switch (type->kind) {
    case ZF_AT_NAME:
        zf_doc_add(list, zf_format_lead(printer, type->span.begin));
        zf_doc_add(list, type->name ? text(printer, type->name) : type_number(printer, type));
        break;
    case ZF_AT_APPLY:
        zf_doc_add(list, zf_format_lead(printer, type->span.begin));
        zf_doc_add(list, text(printer, type->name));
        zf_doc_add(list, text(printer, "("));
        for (const zf_ast_type *arg = type->args; arg; arg = arg->next) {
            if (arg != type->args) zf_doc_add(list, text(printer, ", "));
            zf_doc_add(list, zf_format_type(printer, arg));
        }
        zf_doc_add(list, text(printer, ")"));
        break;
    case ZF_AT_LIST:
        zf_doc_add(list, zf_format_lead(printer, type->span.begin));
        zf_doc_add(list, text(printer, type->name));
        zf_doc_add(list, text(printer, "<"));
        zf_doc_add(list, zf_format_type(printer, type->element));
        zf_doc_add(list, text(printer, ">"));
        break;
    case ZF_AT_OPTION:
        zf_doc_add(list, zf_format_type(printer, type->element));
        zf_doc_add(list, text(printer, "?"));
        break;
    case ZF_AT_ARRAY:
        zf_doc_add(list, zf_format_type(printer, type->element));
        if (type->length && type->length->next) {
            zf_doc_add(list, bracketed(printer, "[", group(printer, several(printer, type->length)), "]", type->span.end - 1));
            break;
        }
        zf_doc_add(list, text(printer, "["));
        if (type->length) zf_doc_add(list, group(printer, zf_format_expr(printer, type->length)));
        zf_doc_add(list, text(printer, "]"));
        break;
    }
    return list;
}

// ---- Expressions ----------------------------------------------------------------------------------------------

// True when the expression is printed with a space in it, so that a range after it needs spaces too.
static bool has_spaces(const zf_ast_expr *expr) {
    switch (expr->kind) {
    case ZF_AE_BINARY:
    case ZF_AE_COND:
    case ZF_AE_CAST: return true;
    case ZF_AE_UNARY: return has_spaces(expr->a);
    default: return false;
    }
}

zf_doc *zf_format_range(zf_printer *printer, const zf_ast_range *range) {
    zf_doc *list = list_of(printer);
    bool spaced = range->lo && has_spaces(range->lo);
    if (range->lo) zf_doc_add(list, group(printer, zf_format_expr(printer, range->lo)));
    if (spaced) zf_doc_add(list, text(printer, " "));
    zf_doc_add(list, text(printer, range->inclusive ? "..=" : ".."));
    if (spaced && range->hi) zf_doc_add(list, text(printer, " "));
    if (range->hi) zf_doc_add(list, group(printer, zf_format_expr(printer, range->hi)));
    return list;
}

zf_doc *zf_format_binders(zf_printer *printer, const zf_ast_binder *binders) {
    zf_doc *list = list_of(printer);
    for (const zf_ast_binder *binder = binders; binder; binder = binder->next) {
        zf_doc_add(list, zf_format_lead(printer, binder->span.begin));
        zf_doc_add(list, text(printer, binder->name));
        zf_doc_add(list, text(printer, " in "));
        zf_doc_add(list, zf_format_range(printer, &binder->range));
        if (!binder->next) continue;
        zf_doc_add(list, text(printer, ","));
        zf_doc_add(list, zf_format_trail(printer, binder->next->span.begin));
        zf_doc_add(list, line(printer));
    }
    return list;
}

static zf_doc *arguments(zf_printer *printer, const zf_ast_expr *args) {
    zf_doc *list = list_of(printer);
    for (const zf_ast_expr *arg = args; arg; arg = arg->next) {
        zf_doc_add(list, group(printer, zf_format_expr(printer, arg)));
        if (!arg->next) continue;
        zf_doc_add(list, text(printer, ","));
        zf_doc_add(list, zf_format_trail(printer, arg->next->span.begin));
        zf_doc_add(list, line(printer));
    }
    return list;
}

// Operators of one level are one chain, broken before each operator or nowhere.
static zf_doc *chain(zf_printer *printer, const zf_ast_expr *expr, unsigned level) {
    if (expr->kind != ZF_AE_BINARY || operators[expr->op].level != level) {
        zf_doc *operand = zf_format_expr(printer, expr);
        return expr->kind == ZF_AE_BINARY ? group(printer, nest(printer, operand)) : operand;
    }
    zf_doc *list = list_of(printer);
    zf_doc_add(list, chain(printer, expr->a, level));
    zf_doc_add(list, line(printer));
    zf_doc_add(list, text(printer, operators[expr->op].text));
    zf_doc_add(list, text(printer, " "));
    // The right operand is of a higher level: the grammar is left associative.
    zf_doc *right = zf_format_expr(printer, expr->b);
    zf_doc_add(list, expr->b->kind == ZF_AE_BINARY ? group(printer, nest(printer, right)) : right);
    return list;
}

static zf_doc *conditional(zf_printer *printer, const zf_ast_expr *expr) {
    zf_doc *list = list_of(printer), *branches = list_of(printer);
    zf_doc_add(list, group(printer, zf_format_expr(printer, expr->a)));
    zf_doc_add(branches, line(printer));
    zf_doc_add(branches, text(printer, "? "));
    zf_doc_add(branches, group(printer, nest(printer, zf_format_expr(printer, expr->b))));
    zf_doc_add(branches, line(printer));
    zf_doc_add(branches, text(printer, ": "));
    // A chain of choices stays at one indentation.
    zf_doc *else_part = zf_format_expr(printer, expr->c);
    zf_doc_add(branches, group(printer, expr->c->kind == ZF_AE_COND ? else_part : nest(printer, else_part)));
    zf_doc_add(list, nest(printer, branches));
    return list;
}

static zf_doc *reduction(zf_printer *printer, const zf_ast_expr *expr) {
    zf_doc *list = list_of(printer), *inside = list_of(printer);
    zf_doc_add(list, zf_format_expr(printer, expr->a));
    zf_doc_add(inside, zf_format_binders(printer, expr->binders));
    zf_doc_add(inside, text(printer, ":"));
    zf_doc_add(inside, zf_format_trail(printer, expr->b->span.begin));
    zf_doc_add(inside, line(printer));
    zf_doc_add(inside, group(printer, zf_format_expr(printer, expr->b)));
    zf_doc_add(list, bracketed(printer, "(", inside, ")", expr->span.end - 1));
    return list;
}

zf_doc *zf_format_expr(zf_printer *printer, const zf_ast_expr *expr) {
    zf_doc *list;
    uint32_t last = expr->span.end > 0 ? expr->span.end - 1 : 0;
    switch (expr->kind) {
    case ZF_AE_NAME: return after_comments(printer, expr->span.begin, text(printer, expr->name));
    case ZF_AE_INT:
    case ZF_AE_FLOAT:
    case ZF_AE_CHAR: return after_comments(printer, expr->span.begin, source_text(printer, expr->span));
    case ZF_AE_TRUE: return after_comments(printer, expr->span.begin, text(printer, "true"));
    case ZF_AE_FALSE: return after_comments(printer, expr->span.begin, text(printer, "false"));
    case ZF_AE_NULL: return after_comments(printer, expr->span.begin, text(printer, "null"));
    case ZF_AE_TEXT: return after_comments(printer, expr->span.begin, zf_format_text(printer, expr->text));
    case ZF_AE_PAREN: {
        zf_doc *comments = zf_format_lead(printer, expr->span.begin);
        zf_doc *inside = group(printer, zf_format_expr(printer, expr->a));
        zf_doc *doc = bracketed(printer, "(", inside, ")", last);
        if (!comments) return doc;
        zf_doc_add(comments, doc);
        return comments;
    }
    case ZF_AE_MEMBER:
        list = list_of(printer);
        zf_doc_add(list, zf_format_expr(printer, expr->a));
        zf_doc_add(list, zf_format_lead(printer, expr->name_span.begin));
        zf_doc_add(list, text(printer, "."));
        zf_doc_add(list, text(printer, expr->name));
        return list;
    case ZF_AE_INDEX:
        list = list_of(printer);
        zf_doc_add(list, zf_format_expr(printer, expr->a));
        zf_doc_add(list, bracketed(printer, "[", group(printer, several(printer, expr->b)), "]", last));
        return list;
    case ZF_AE_SLICE:
        list = list_of(printer);
        zf_doc_add(list, zf_format_expr(printer, expr->a));
        zf_doc_add(list, bracketed(printer, "[", group(printer, zf_format_range(printer, expr->range)), "]", last));
        return list;
    case ZF_AE_CALL:
        list = list_of(printer);
        zf_doc_add(list, zf_format_expr(printer, expr->a));
        if (expr->args)
            zf_doc_add(list, bracketed(printer, "(", arguments(printer, expr->args), ")", last));
        else
            zf_doc_add(list, text(printer, "()"));
        return list;
    case ZF_AE_REDUCE: return reduction(printer, expr);
    case ZF_AE_UNARY:
        list = list_of(printer);
        zf_doc_add(list, zf_format_lead(printer, expr->span.begin));
        zf_doc_add(list, text(printer, operators[expr->op].text));
        zf_doc_add(list, zf_format_expr(printer, expr->a));
        return list;
    case ZF_AE_BINARY: return chain(printer, expr, operators[expr->op].level);
    case ZF_AE_COND: return conditional(printer, expr);
    case ZF_AE_CAST:
        list = list_of(printer);
        zf_doc_add(list, zf_format_expr(printer, expr->a));
        zf_doc_add(list, text(printer, " as "));
        zf_doc_add(list, zf_format_type(printer, expr->type));
        return list;
    }
    return text(printer, "");
}

zf_doc *zf_format_elements(zf_printer *printer, const zf_ast_expr *elements) {
    zf_doc *list = list_of(printer);
    for (const zf_ast_expr *element = elements; element; element = element->next) {
        zf_doc *value = group(printer, zf_format_expr(printer, element));
        if (element == elements) {
            zf_doc_add(list, value);
        } else {
            zf_doc *item = list_of(printer);
            zf_doc_add(item, line(printer));
            zf_doc_add(item, value);
            zf_doc_add(list, group(printer, item));
        }
        if (!element->next) continue;
        zf_doc_add(list, text(printer, ","));
        zf_doc_add(list, zf_format_trail(printer, element->next->span.begin));
    }
    return bracketed(printer, "[", list, "]", 0);
}

// True for expressions that break well inside their last brackets.
static bool breaks_inside(const zf_ast_expr *expr) {
    while (expr->kind == ZF_AE_CAST) expr = expr->a;
    return expr->kind == ZF_AE_CALL || expr->kind == ZF_AE_REDUCE || expr->kind == ZF_AE_PAREN;
}

void zf_format_assigned(zf_printer *printer, zf_doc *list, unsigned indent, const zf_ast_expr *value) {
    zf_doc_add(list, text(printer, " ="));
    zf_doc_add(list, zf_format_trail(printer, value->span.begin));
    zf_doc *doc = group(printer, zf_format_expr(printer, value));
    if (breaks_inside(value) && zf_doc_width(doc) + indent + ZF_FORMAT_INDENT + 1 > ZF_FORMAT_COLUMNS) {
        zf_doc_add(list, text(printer, " "));
        zf_doc_add(list, doc);
        return;
    }
    zf_doc *rest = list_of(printer);
    zf_doc_add(rest, line(printer));
    zf_doc_add(rest, doc);
    zf_doc_add(list, group(printer, nest(printer, rest)));
}

// ---- Codecs ---------------------------------------------------------------------------------------------------

static zf_doc *codec_arguments(zf_printer *printer, const zf_ast_codec_arg *args) {
    zf_doc *list = list_of(printer);
    for (const zf_ast_codec_arg *arg = args; arg; arg = arg->next) {
        zf_doc_add(list, zf_format_lead(printer, arg->span.begin));
        if (arg->label) {
            zf_doc_add(list, text(printer, arg->label));
            zf_doc_add(list, text(printer, ": "));
        }
        if (arg->type) {
            zf_doc_add(list, zf_format_type(printer, arg->type));
            zf_doc_add(list, text(printer, " = "));
        }
        zf_doc_add(list, zf_format_codec(printer, arg->value));
        if (!arg->next) continue;
        zf_doc_add(list, text(printer, ","));
        zf_doc_add(list, zf_format_trail(printer, arg->next->span.begin));
        zf_doc_add(list, line(printer));
    }
    return list;
}

zf_doc *zf_format_codec(zf_printer *printer, const zf_ast_codec *codec) {
    zf_doc *list = list_of(printer);
    switch (codec->kind) {
    case ZF_AC_NAME:
        zf_doc_add(list, zf_format_lead(printer, codec->span.begin));
        zf_doc_add(list, text(printer, codec->name));
        if (codec->args) {
            zf_doc_add(list, bracketed(printer, "(", codec_arguments(printer, codec->args), ")", codec->span.end - 1));
        } else if (codec->has_args) {
            zf_doc_add(list, text(printer, "()"));
        }
        return list;
    case ZF_AC_LITERAL: return zf_format_expr(printer, codec->literal);
    case ZF_AC_ALT: {
        zf_doc *rest = list_of(printer);
        for (const zf_ast_codec *alt = codec->alts; alt; alt = alt->next) {
            if (alt == codec->alts) {
                zf_doc_add(list, zf_format_codec(printer, alt));
                continue;
            }
            zf_doc_add(rest, zf_format_trail(printer, alt->span.begin));
            zf_doc_add(rest, line(printer));
            zf_doc_add(rest, text(printer, "| "));
            zf_doc_add(rest, zf_format_codec(printer, alt));
        }
        zf_doc_add(list, nest(printer, rest));
        return group(printer, list);
    }
    }
    return list;
}

zf_doc *zf_format_parts(zf_printer *printer, const zf_ast_codec *codec, const zf_ast_codec_arg *parts) {
    if (!parts) return zf_format_codec(printer, codec);
    zf_doc *list = list_of(printer), *rest = list_of(printer);
    zf_doc_add(list, zf_format_codec(printer, codec));
    zf_doc_add(list, text(printer, ","));
    zf_doc_add(rest, zf_format_trail(printer, parts->span.begin));
    zf_doc_add(rest, line(printer));
    zf_doc_add(rest, codec_arguments(printer, parts));
    zf_doc_add(list, nest(printer, rest));
    return group(printer, list);
}
