// How far a step moves the cursor of a stream, on every way through its statements (simt_records.h).
#include "codegen/simt/chunks/simt_records.h"
#include "frontend/check/walk.h"

enum { MANY = 1 << 20 }; // elements: no bound; the least of a way that leads out of the step

/// Elements of the stream that ways take: from the least of them to the most.
typedef struct span {
    uint32_t least, most;
} span;

static const span none = {0, 0}, any = {0, MANY}, nowhere = {MANY, 0};

static uint32_t sum(uint32_t a, uint32_t b) { return a + b < MANY ? a + b : MANY; }

static span plus(span a, span b) { return (span){sum(a.least, b.least), sum(a.most, b.most)}; }

static span either(span a, span b) { return (span){a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most}; }

// ---- Whether anything moves it --------------------------------------------------------------------------------

typedef struct search {
    const zf_port *port;
    bool found;
} search;

static bool moves(const zf_expr *expr, const zf_port *port) {
    return expr->kind == ZF_X_CURSOR && expr->port == port && expr->effect;
}

static bool see_move(zf_visitor *visitor, zf_expr *expr) {
    search *s = visitor->user;
    s->found = s->found || moves(expr, s->port);
    return !s->found;
}

// Elements that a statement takes, of which it is only asked whether there are any.
static span vague_of(const zf_stmt *stmt, const zf_port *port) {
    search s = {.port = port};
    zf_visitor visitor = {.user = &s, .expr = see_move};
    zf_stmt alone = *stmt;
    alone.next = NULL;
    zf_visit_stmts(&visitor, &alone);
    return s.found ? any : none;
}

// ---- Expressions ----------------------------------------------------------------------------------------------

static span counted(const zf_expr *count) {
    zf_interval range = count->range;
    return (span){range.lo > 0 ? (range.lo < MANY ? (uint32_t)range.lo : MANY) : 0,
                  range.lo >= 0 && range.hi < MANY ? (uint32_t)range.hi : MANY};
}

static span of_read(const zf_expr *expr) {
    switch (expr->cursor) {
    case ZF_C_NEXT:
    case ZF_C_U8:
    case ZF_C_I8: return (span){1, 1};
    case ZF_C_U16:
    case ZF_C_I16: return (span){2, 2};
    case ZF_C_U32:
    case ZF_C_I32: return (span){4, 4};
    case ZF_C_U64:
    case ZF_C_I64: return (span){8, 8};
    case ZF_C_VARINT: return (span){1, MANY};
    case ZF_C_LE:
    case ZF_C_BE:
    case ZF_C_SKIP: return counted(expr->a);
    default: return any;
    }
}

static span of_expr(const zf_expr *expr, const zf_port *port) {
    if (expr == NULL || !expr->effect) return none;
    span all = moves(expr, port) ? of_read(expr) : none;
    if (expr->kind == ZF_X_COND) return plus(of_expr(expr->a, port), either(of_expr(expr->b, port), of_expr(expr->c, port)));
    if (expr->kind == ZF_X_BINARY && (expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR))
        return plus(of_expr(expr->a, port), either(none, of_expr(expr->b, port)));
    if (expr->kind == ZF_X_REDUCE) return any;
    if (expr->kind == ZF_X_CALL) {
        for (uint32_t k = 0; k < expr->call->formal_count; k++) all = plus(all, of_expr(expr->call->formals[k]->init, port));
        return plus(all, expr->call->body == NULL ? of_expr(expr->call->value, port) : any);
    }
    return plus(all, plus(of_expr(expr->a, port), plus(of_expr(expr->b, port), of_expr(expr->c, port))));
}

// ---- Statements -----------------------------------------------------------------------------------------------

// Ways to the end of the statements; *next: ways that end the step in their middle.
static span of_stmts(const zf_stmt *stmts, const zf_port *port, span before, span *next) {
    for (const zf_stmt *stmt = stmts; stmt != NULL; stmt = stmt->next) {
        switch (stmt->kind) {
        case ZF_S_LET:
        case ZF_S_VAR:
            if (stmt->local != NULL) before = plus(before, of_expr(stmt->local->init, port));
            break;
        case ZF_S_EXPR:
        case ZF_S_EMIT:
        case ZF_S_REQUIRE: before = plus(before, of_expr(stmt->value, port)); break;
        case ZF_S_IF:
            before = plus(before, of_expr(stmt->value, port));
            before = either(of_stmts(stmt->body, port, before, next), of_stmts(stmt->else_part, port, before, next));
            break;
        case ZF_S_CONTINUE: *next = either(*next, before); return nowhere;
        case ZF_S_BREAK:
        case ZF_S_RETURN: return nowhere;
        case ZF_S_ASSIGN:
            before = plus(before, stmt->place->effect ? any : none);
            before = plus(before, of_expr(stmt->value, port));
            break;
        default: before = plus(before, vague_of(stmt, port)); break;
        }
    }
    return before;
}

zf_record_cursor zf_record_cursor_of(const zf_expr *condition, const zf_stmt *stmts, const zf_port *port) {
    span next = nowhere, all = of_stmts(stmts, port, of_expr(condition, port), &next);
    all = either(all, next);
    bool bounded = all.most < MANY;
    return (zf_record_cursor){.port = port, .least = all.least < MANY ? all.least : 0, .fixed = bounded && all.least == all.most};
}
