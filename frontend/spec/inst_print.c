// The typed tree as text. Everything that later stages read is shown: types of constants and casts, the number of each
// local where a name alone would be ambiguous, `?` behind an access or division that is still to be checked.
#include <string.h>

#include "frontend/check/checker.h"

typedef struct printer {
    zf_text *out;
    unsigned indent;
    unsigned depth; ///< of expressions: what is deeper than PRINT_DEPTH is cut
} printer;

enum { PRINT_DEPTH = 4000 };

static void print_expr(printer *p, const zf_expr *expr);
static void print_stmts(printer *p, const zf_stmt *stmt);

static void put_type(printer *p, zf_type type) {
    zf_text_puts(p->out, zf_kind_name(type.kind));
    if (type.kind == ZF_K_OPAQUE) zf_text_printf(p->out, " %u", type.opaque);
    if (type.nullable) zf_text_puts(p->out, "?");
}

static void new_line(printer *p) {
    zf_text_puts(p->out, "\n");
    for (unsigned k = 0; k < p->indent; k++) zf_text_puts(p->out, "  ");
}

static void put_number(printer *p, zf_int128 value) {
    if (value < 0) {
        zf_text_puts(p->out, "-");
        value = -value;
    }
    char digits[48];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value != 0);
    zf_text_puts(p->out, digits + at);
}

static void put_range(printer *p, zf_interval range) {
    put_number(p, range.lo);
    if (range.lo == range.hi) return;
    zf_text_puts(p->out, "..=");
    put_number(p, range.hi);
}

static bool is_counted(zf_type type) { return !type.nullable && zf_kind_is_integer(type.kind); }

static void put_local(printer *p, const zf_local *local) {
    if (local == NULL)
        zf_text_puts(p->out, "<no local>");
    else if (local->id == UINT32_MAX)
        zf_text_puts(p->out, local->name);
    else
        zf_text_printf(p->out, "%s#%u", local->name, local->id);
}

static void put_const(printer *p, const zf_expr *expr) {
    zf_type type = expr->type;
    if (type.kind == ZF_K_BOOL) {
        zf_text_puts(p->out, expr->bits != 0 ? "true" : "false");
    } else if (zf_kind_is_float(type.kind)) {
        double value;
        if (type.kind == ZF_K_F32) {
            uint32_t bits = (uint32_t)expr->bits;
            float narrow;
            memcpy(&narrow, &bits, sizeof narrow);
            value = (double)narrow;
        } else {
            memcpy(&value, &expr->bits, sizeof value);
        }
        zf_text_printf(p->out, "%.17g:%s", value, zf_kind_name(type.kind));
    } else if (zf_kind_is_integer(type.kind)) {
        put_number(p, zf_value_of_bits(type.kind, expr->bits));
        zf_text_printf(p->out, ":%s", zf_kind_name(type.kind));
    } else {
        zf_text_printf(p->out, "<const of %s>", zf_kind_name(type.kind));
    }
}

static void put_binder(printer *p, const zf_binder *binder) {
    put_local(p, binder->local);
    zf_text_puts(p->out, " in ");
    print_expr(p, binder->lo);
    zf_text_puts(p->out, binder->inclusive ? " ..= " : " .. ");
    print_expr(p, binder->hi);
}

static void put_binders(printer *p, const zf_reduce *reduce) {
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        if (k > 0) zf_text_puts(p->out, ", ");
        put_binder(p, &reduce->binders[k]);
    }
}

static void put_form(printer *p, const zf_reduce *reduce) {
    switch (reduce->form) {
    case ZF_R_LOOP: break;
    case ZF_R_UNROLLED: zf_text_printf(p->out, " unrolled %u", reduce->trip); break;
    case ZF_R_SCAN: zf_text_printf(p->out, " scan %u%s", reduce->index, reduce->inclusive ? " inclusive" : ""); break;
    case ZF_R_SEGMENTED:
        zf_text_printf(p->out, " segmented %u by %llu skip %llu%s", reduce->index, (unsigned long long)reduce->segment,
                       (unsigned long long)reduce->skip, reduce->inclusive ? " inclusive" : "");
        break;
    case ZF_R_PREFIX: zf_text_printf(p->out, " prefix %u", reduce->index); break;
    }
}

static void put_call(printer *p, const zf_expr *expr) {
    const zf_call *call = expr->call;
    zf_text_printf(p->out, "%s(", call->name);
    for (uint32_t k = 0; k < call->formal_count; k++) {
        if (k > 0) zf_text_puts(p->out, ", ");
        put_local(p, call->formals[k]);
        zf_text_puts(p->out, " = ");
        print_expr(p, call->formals[k]->init);
    }
    zf_text_puts(p->out, ") {");
    p->indent++;
    print_stmts(p, call->body);
    if (call->value != NULL) {
        if (call->body != NULL)
            new_line(p);
        else
            zf_text_puts(p->out, " ");
        print_expr(p, call->value);
    }
    p->indent--;
    if (call->body != NULL)
        new_line(p);
    else
        zf_text_puts(p->out, " ");
    zf_text_puts(p->out, "}");
}

static void put_method(printer *p, const zf_expr *of, const char *name, const zf_expr *a, const zf_expr *b) {
    print_expr(p, of);
    zf_text_printf(p->out, ".%s(", name);
    if (a != NULL) print_expr(p, a);
    if (b != NULL) {
        zf_text_puts(p->out, ", ");
        print_expr(p, b);
    }
    zf_text_puts(p->out, ")");
}

static void put_kind(printer *p, const zf_expr *expr) {
    zf_text *out = p->out;
    switch (expr->kind) {
    case ZF_X_CONST: put_const(p, expr); break;
    case ZF_X_NULL: zf_text_puts(out, "null"); break;
    case ZF_X_LOCAL: put_local(p, expr->local); break;
    case ZF_X_PARAM:
    case ZF_X_STREAM: zf_text_puts(out, expr->port->name); break;
    case ZF_X_STATE: zf_text_puts(out, expr->state->name); break;
    case ZF_X_UNARY:
        zf_text_printf(out, "(%s", zf_op_text(expr->op));
        print_expr(p, expr->a);
        zf_text_puts(out, ")");
        break;
    case ZF_X_BINARY:
        zf_text_puts(out, "(");
        print_expr(p, expr->a);
        zf_text_printf(out, " %s", zf_op_text(expr->op));
        if ((expr->op == ZF_OP_DIV || expr->op == ZF_OP_REM) && !expr->proved) zf_text_puts(out, "?");
        zf_text_puts(out, " ");
        print_expr(p, expr->b);
        zf_text_puts(out, ")");
        break;
    case ZF_X_COND:
        zf_text_puts(out, "(");
        print_expr(p, expr->a);
        zf_text_puts(out, " ? ");
        print_expr(p, expr->b);
        zf_text_puts(out, " : ");
        print_expr(p, expr->c);
        zf_text_puts(out, ")");
        break;
    case ZF_X_CAST:
        zf_text_puts(out, "(");
        print_expr(p, expr->a);
        zf_text_puts(out, " as ");
        put_type(p, expr->type);
        zf_text_puts(out, ")");
        break;
    case ZF_X_SOME:
        zf_text_puts(out, "some(");
        print_expr(p, expr->a);
        zf_text_puts(out, ")");
        break;
    case ZF_X_IS_NULL:
        zf_text_puts(out, "(");
        print_expr(p, expr->a);
        zf_text_puts(out, " == null)");
        break;
    case ZF_X_VALUE:
        print_expr(p, expr->a);
        zf_text_puts(out, ".value");
        break;
    case ZF_X_PRIM:
    case ZF_X_MINMAX:
        zf_text_puts(out, zf_prim_name(expr->prim));
        if (expr->prim == ZF_P_NTH_BIT && !expr->proved) zf_text_puts(out, "?");
        zf_text_puts(out, "(");
        if (expr->prim == ZF_P_VALUE_OF) {
            put_type(p, expr->type);
            zf_text_puts(out, ", ");
        }
        print_expr(p, expr->a);
        if (expr->b != NULL) {
            zf_text_puts(out, ", ");
            print_expr(p, expr->b);
        }
        zf_text_puts(out, ")");
        break;
    case ZF_X_CALL: put_call(p, expr); break;
    case ZF_X_REDUCE:
        zf_text_printf(out, "%s(", zf_reduce_name(expr->reduce->op));
        put_binders(p, expr->reduce);
        zf_text_puts(out, ": ");
        print_expr(p, expr->reduce->term);
        put_form(p, expr->reduce);
        zf_text_puts(out, ")");
        break;
    case ZF_X_INDEX:
    case ZF_X_SLICE:
        print_expr(p, expr->a);
        zf_text_puts(out, "[");
        print_expr(p, expr->b);
        if (expr->kind == ZF_X_SLICE) {
            zf_text_puts(out, " .. ");
            print_expr(p, expr->c);
        }
        zf_text_puts(out, expr->proved ? "]" : "]?");
        break;
    case ZF_X_LEN:
        print_expr(p, expr->a);
        zf_text_puts(out, ".len");
        break;
    case ZF_X_BITS:
        put_method(p, expr->a, expr->msb ? "bits_msb" : "bits", expr->b, expr->c);
        if (!expr->proved) zf_text_puts(out, "?");
        break;
    case ZF_X_BIT_LEN:
        print_expr(p, expr->a);
        zf_text_puts(out, ".bit_len");
        break;
    case ZF_X_OUT_POS: zf_text_puts(out, "out.pos"); break;
    case ZF_X_CURSOR:
        zf_text_printf(out, "%s.%s(", expr->port->name, zf_cursor_name(expr->cursor));
        if (expr->a != NULL) print_expr(p, expr->a);
        zf_text_puts(out, ")");
        break;
    case ZF_X_INTERN:
        zf_text_printf(out, "%s.intern(", expr->port->name);
        print_expr(p, expr->a);
        zf_text_puts(out, ")");
        break;
    case ZF_X_OUT: zf_text_puts(out, "out"); break;
    case ZF_X_INPUT: zf_text_puts(out, "input"); break;
    case ZF_X_TABLE: zf_text_puts(out, expr->table->name); break;
    case ZF_X_PARTS:
        print_expr(p, expr->a);
        zf_text_puts(out, ".parts");
        break;
    case ZF_X_CHUNKS:
        zf_text_puts(out, "chunks(");
        print_expr(p, expr->a);
        zf_text_puts(out, ")");
        break;
    }
}

static void print_expr(printer *p, const zf_expr *expr) {
    if (expr == NULL || p->depth >= PRINT_DEPTH) {
        zf_text_puts(p->out, expr == NULL ? "<none>" : "...");
        return;
    }
    p->depth++;
    put_kind(p, expr);
    p->depth--;
}

void zf_expr_print(const zf_expr *expr, zf_text *out) {
    printer p = {.out = out};
    print_expr(&p, expr);
}

// ---- Statements -----------------------------------------------------------------------------------------------

static void put_block(printer *p, const zf_stmt *body) {
    zf_text_puts(p->out, " {");
    p->indent++;
    print_stmts(p, body);
    p->indent--;
    new_line(p);
    zf_text_puts(p->out, "}");
}

static void put_declared(printer *p, const zf_local *local) {
    put_local(p, local);
    zf_text_puts(p->out, ": ");
    put_type(p, local->type);
    if (local->kind == ZF_L_ARRAY) zf_text_printf(p->out, "[%llu]", (unsigned long long)local->length);
    if (local->kind == ZF_L_GROWING || local->is_seq) zf_text_puts(p->out, "[]");
    zf_interval all = zf_range_all(local->type);
    if (is_counted(local->type) && (local->range.lo != all.lo || local->range.hi != all.hi)) {
        zf_text_puts(p->out, " in ");
        put_range(p, local->range);
    }
}

static void put_write(printer *p, const zf_stmt *stmt, const char *name) {
    print_expr(p, stmt->target);
    zf_text_printf(p->out, ".%s(", name);
    if (stmt->value != NULL) print_expr(p, stmt->value);
    if (stmt->count != NULL) {
        zf_text_puts(p->out, ", ");
        print_expr(p, stmt->count);
    }
    zf_text_puts(p->out, ")");
}

static void put_head(printer *p, const char *word, const zf_expr *value) {
    zf_text_puts(p->out, word);
    if (value == NULL) return;
    zf_text_puts(p->out, " ");
    print_expr(p, value);
}

static void put_values(printer *p, const zf_stmt *stmt) {
    for (uint32_t k = 0; k < stmt->value_count; k++) {
        zf_text_puts(p->out, k == 0 ? "[" : ", ");
        print_expr(p, stmt->values[k]);
    }
    if (stmt->value_count > 0) zf_text_puts(p->out, "]");
}

static void print_stmt(printer *p, const zf_stmt *stmt) {
    zf_text *out = p->out;
    switch (stmt->kind) {
    case ZF_S_LET:
    case ZF_S_VAR:
        zf_text_puts(out, stmt->kind == ZF_S_LET ? "let " : "var ");
        put_declared(p, stmt->local);
        if (stmt->local->init != NULL) {
            zf_text_puts(out, " = ");
            print_expr(p, stmt->local->init);
        }
        break;
    case ZF_S_ASSIGN:
        print_expr(p, stmt->place);
        zf_text_printf(out, " %s= ", stmt->has_op ? zf_op_text(stmt->op) : "");
        print_expr(p, stmt->value);
        break;
    case ZF_S_EXPR: print_expr(p, stmt->value); break;
    case ZF_S_IF:
        put_head(p, "if", stmt->value);
        put_block(p, stmt->body);
        if (stmt->else_part != NULL) {
            zf_text_puts(out, " else");
            put_block(p, stmt->else_part);
        }
        break;
    case ZF_S_WHILE:
    case ZF_S_LOOP:
        put_head(p, stmt->kind == ZF_S_WHILE ? "while" : "loop", stmt->value);
        zf_text_puts(out, stmt->bounded ? "" : " counted");
        put_block(p, stmt->body);
        break;
    case ZF_S_FOR_RANGE:
        zf_text_puts(out, "for ");
        put_binder(p, &stmt->binder);
        zf_text_puts(out, stmt->bounded ? "" : " counted");
        put_block(p, stmt->body);
        break;
    case ZF_S_FOR_EACH:
        zf_text_puts(out, "for ");
        put_local(p, stmt->local);
        zf_text_puts(out, " in ");
        print_expr(p, stmt->value);
        zf_text_puts(out, stmt->bounded ? "" : " counted");
        put_block(p, stmt->body);
        break;
    case ZF_S_BREAK: zf_text_puts(out, "break"); break;
    case ZF_S_CONTINUE: zf_text_puts(out, "continue"); break;
    case ZF_S_RETURN: put_head(p, "return", stmt->value); break;
    case ZF_S_EMIT: put_head(p, "emit", stmt->value); break;
    case ZF_S_EMIT_REGION:
        zf_text_puts(out, "emit ");
        put_binders(p, stmt->reduce);
        zf_text_puts(out, ": ");
        print_expr(p, stmt->reduce->term);
        break;
    case ZF_S_REQUIRE: put_head(p, "require", stmt->value); break;
    case ZF_S_REFUSE:
        zf_text_puts(out, "refuse ");
        zf_text_json(out, stmt->text == NULL ? "" : stmt->text);
        break;
    case ZF_S_PUSH: put_write(p, stmt, "push"); break;
    case ZF_S_PUSH_BITS: put_write(p, stmt, "push_bits"); break;
    case ZF_S_PUSH_VARINT: put_write(p, stmt, "push_varint"); break;
    case ZF_S_APPEND: put_write(p, stmt, "append"); break;
    case ZF_S_REVERSE: put_write(p, stmt, "reverse"); break;
    case ZF_S_SORT: put_head(p, "sort", stmt->target); break;
    case ZF_S_RESULT:
        zf_text_printf(out, "%s %s", zf_result_kind_name(stmt->result->kind), stmt->result->name);
        put_values(p, stmt);
        put_head(p, ":", stmt->value);
        break;
    case ZF_S_SELECT:
        zf_text_puts(out, "select");
        put_values(p, stmt);
        break;
    case ZF_S_CODE_LENGTHS:
        put_head(p, "code_lengths", stmt->value);
        put_head(p, " ->", stmt->target);
        put_head(p, " limit", stmt->count);
        break;
    }
}

static void print_stmts(printer *p, const zf_stmt *stmt) {
    for (; stmt != NULL; stmt = stmt->next) {
        new_line(p);
        print_stmt(p, stmt);
    }
}

// ---- Instances ------------------------------------------------------------------------------------------------

static void print_body(printer *p, const char *head, const zf_body *body) {
    if (!body->present) return;
    new_line(p);
    zf_text_puts(p->out, head);
    zf_text_puts(p->out, " {");
    p->indent++;
    print_stmts(p, body->stmts);
    if (body->value != NULL) {
        new_line(p);
        put_head(p, "value", body->value);
    }
    p->indent--;
    new_line(p);
    zf_text_puts(p->out, "}");
}

static const char *const access_text[] = {
    [ZF_ACCESS_NONE] = "unused",   [ZF_ACCESS_ALIGNED_I] = "aligned i", [ZF_ACCESS_ALIGNED_G] = "aligned g",
    [ZF_ACCESS_GATHER] = "gather", [ZF_ACCESS_CURSOR] = "cursor",
};

static void print_port(printer *p, const zf_port *port) {
    new_line(p);
    zf_text_printf(p->out, "%s %s: ", port->is_param ? "param" : "stream", port->name);
    put_type(p, port->type);
    if (!port->is_param) {
        zf_text_puts(p->out, "[");
        if (port->length != NULL) print_expr(p, port->length);
        zf_text_puts(p->out, port->per_chunk ? "] per chunk" : "]");
    }
    if (port->has_range) {
        zf_text_puts(p->out, " in ");
        put_range(p, port->range);
    }
    if (port->given != NULL) {
        zf_text_puts(p->out, " = ");
        print_expr(p, port->given);
    }
    if (!port->is_param)
        zf_text_printf(p->out, ", %s%s%s", access_text[port->access], port->uses_next_only ? ", next only" : "",
                       port->bitwise ? ", bits" : "");
    else if (port->shapes)
        zf_text_puts(p->out, ", shapes");
}

static const char *const pattern_text[] = {
    [ZF_FULLY_PARALLEL] = "fully_parallel", [ZF_GROUP_PARALLEL] = "group_parallel", [ZF_NON_PARALLEL] = "non_parallel"};

void zf_inst_print(const zf_inst *inst, zf_text *out) {
    printer p = {.out = out};
    zf_text_printf(out, "algorithm %s -> ", inst->name);
    put_type(&p, inst->result);
    zf_text_printf(out, "[] %s", pattern_text[inst->pattern]);
    if (inst->pattern == ZF_NON_PARALLEL)
        zf_text_printf(out, "(chunk = %llu, lanes = %u)", (unsigned long long)inst->chunk_size, inst->lanes);
    zf_text_puts(out, " {");
    p.indent = 1;
    for (uint32_t k = 0; k < inst->port_count; k++) print_port(&p, &inst->ports[k]);
    for (uint32_t k = 0; k < inst->state_count; k++) {
        new_line(&p);
        zf_text_printf(out, "state %s: ", inst->states[k].name);
        put_type(&p, inst->states[k].type);
        zf_text_puts(out, " = ");
        print_expr(&p, inst->states[k].init);
    }
    print_body(&p, "groups", &inst->groups);
    print_body(&p, "size", &inst->size);
    print_body(&p, "decode", &inst->decode);
    print_body(&p, "encode", &inst->encode);
    if (inst->encode_extern != NULL) {
        new_line(&p);
        zf_text_puts(out, "encode extern ");
        zf_text_json(out, inst->encode_extern);
    }
    zf_text_puts(out, "\n}\n");
}

static void print_result(printer *p, const zf_query_result *result) {
    new_line(p);
    zf_text_printf(p->out, "result %s: ", result->name);
    put_type(p, result->type);
    for (uint32_t k = 0; k < result->dimensions; k++) {
        zf_text_puts(p->out, k == 0 ? "[" : ", ");
        print_expr(p, result->lengths[k]);
    }
    zf_text_printf(p->out, "%s = %s", result->dimensions > 0 ? "]" : "", zf_result_kind_name(result->kind));
}

void zf_query_print(const zf_query *query, zf_text *out) {
    printer p = {.out = out};
    zf_text_printf(out, "query %s(%s) {", query->name, query->table == NULL ? "pairs" : query->table->name);
    p.indent = 1;
    for (uint32_t k = 0; k < query->inst->port_count; k++) print_port(&p, &query->inst->ports[k]);
    for (uint32_t k = 0; k < query->result_count; k++) print_result(&p, &query->results[k]);
    for (uint32_t k = 0; query->pairs != NULL && k < 2; k++) {
        new_line(&p);
        zf_text_puts(out, k == 0 ? "first " : "second ");
        put_binder(&p, &query->pairs[k]);
    }
    print_body(&p, "each", &query->inst->decode);
    zf_text_puts(out, "\n}\n");
}
