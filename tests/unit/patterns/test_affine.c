// Links: zipflow-patterns
// Indices that only grow: which expressions are recognised, with which range, and which are not because they might wrap or turn
// back. The expressions are made by hand, so that no front end stands between.
#include "patterns/plan/affine.h"

#include "tests/unit/check.h"

static zf_arena *arena;

static zf_expr *node(zf_expr_kind kind, zf_kind type) {
    zf_expr *e = ZF_NEW(arena, zf_expr);
    e->kind = kind;
    e->type = zf_type_of(type);
    e->range = zf_interval_of_kind(type);
    return e;
}

static zf_expr *number(uint64_t value) {
    zf_expr *e = node(ZF_X_CONST, ZF_K_U64);
    e->bits = value;
    e->range = zf_interval_const((zf_int128)value);
    return e;
}

static zf_expr *local(zf_local *of) {
    zf_expr *e = node(ZF_X_LOCAL, ZF_K_U64);
    e->local = of;
    return e;
}

static zf_expr *param(zf_port *port) {
    zf_expr *e = node(ZF_X_PARAM, port->type.kind);
    e->port = port;
    e->range = port->range;
    return e;
}

static zf_expr *binary(zf_op op, zf_expr *a, zf_expr *b) {
    zf_expr *e = node(ZF_X_BINARY, a->type.kind);
    e->op = op;
    e->a = a;
    e->b = b;
    return e;
}

static zf_expr *cast(zf_expr *a, zf_kind to) {
    zf_expr *e = node(ZF_X_CAST, to);
    e->a = a;
    return e;
}

static zf_expr *prim(zf_prim which, zf_expr *a, zf_expr *b) {
    zf_expr *e = node(ZF_X_PRIM, a->type.kind);
    e->prim = which;
    e->a = a;
    e->b = b;
    return e;
}

static zf_expr *length_of(zf_port *port) {
    zf_expr *stream = node(ZF_X_STREAM, ZF_K_U32), *e = node(ZF_X_LEN, ZF_K_U64);
    stream->port = port;
    e->a = stream;
    return e;
}

static zf_inst inst;
static zf_around nothing;

static void is(const char *what, zf_around around, zf_expr *e, unsigned uses, zf_int128 lo, zf_int128 hi) {
    zf_affine out;
    bool found = zf_affine_of(&inst, around, e, &out);
    CHECK(found, "%s is not recognised", what);
    if (!found) return;
    CHECK(out.uses == uses, "%s: uses %u, not %u", what, out.uses, uses);
    CHECK(out.range.lo == lo && out.range.hi == hi, "%s: %s, not %s", what, zf_interval_text(arena, out.range),
          zf_interval_text(arena, (zf_interval){lo, hi}));
}

static void is_not(const char *what, zf_around around, zf_expr *e) {
    zf_affine out;
    CHECK(!zf_affine_of(&inst, around, e, &out), "%s is recognised", what);
}

int main(void) {
    arena = zf_arena_create();
    zf_local i = {.kind = ZF_L_DOMAIN_I, .name = "i"}, g = {.kind = ZF_L_DOMAIN_G, .name = "g"},
             j = {.kind = ZF_L_DOMAIN_J, .name = "j"};
    zf_local k = {.kind = ZF_L_BINDER, .name = "k"}, v = {.kind = ZF_L_VAR, .name = "v"};
    zf_port width = {.name = "width", .type = {.kind = ZF_K_U64}, .range = {0, 64}};
    zf_port wide = {.name = "wide", .type = {.kind = ZF_K_U64}, .range = {0, ((zf_int128)1 << 64) - 1}};
    zf_port stream = {.name = "s"};
    zf_int128 last = ((zf_int128)1 << 32) - 1;

    is("7", nothing, number(7), 0, 7, 7);
    is("i", nothing, local(&i), ZF_USES_I, 0, last);
    is("g", nothing, local(&g), ZF_USES_G, 0, ((zf_int128)1 << 48) - 1);
    is_not("j", nothing, local(&j));
    is_not("a variable", nothing, local(&v));
    is("i * width", nothing, binary(ZF_OP_MUL, local(&i), param(&width)), ZF_USES_I, 0, last * 64);
    is("width * i", nothing, binary(ZF_OP_MUL, param(&width), local(&i)), ZF_USES_I, 0, last * 64);
    is_not("i * wide, which may wrap", nothing, binary(ZF_OP_MUL, local(&i), param(&wide)));
    is_not("i * i", nothing, binary(ZF_OP_MUL, local(&i), local(&i)));
    is("i + 1", nothing, binary(ZF_OP_ADD, local(&i), number(1)), ZF_USES_I, 1, last + 1);
    is_not("i + wide, which may wrap", nothing, binary(ZF_OP_ADD, local(&i), param(&wide)));
    is_not("i - 1, which wraps at 0", nothing, binary(ZF_OP_SUB, local(&i), number(1)));
    is("i + 1 - 1", nothing, binary(ZF_OP_SUB, binary(ZF_OP_ADD, local(&i), number(1)), number(1)), ZF_USES_I, 0, last);
    is_not("7 - i, which falls", nothing, binary(ZF_OP_SUB, number(UINT64_MAX), local(&i)));
    is("i << 3", nothing, binary(ZF_OP_SHL, local(&i), number(3)), ZF_USES_I, 0, last * 8);
    is_not("i << 40, which may wrap", nothing, binary(ZF_OP_SHL, local(&i), number(40)));
    is_not("1 << i", nothing, binary(ZF_OP_SHL, number(1), local(&i)));
    is("i >> 5", nothing, binary(ZF_OP_SHR, local(&i), number(5)), ZF_USES_I, 0, last >> 5);
    is("i / 128", nothing, binary(ZF_OP_DIV, local(&i), number(128)), ZF_USES_I, 0, last / 128);
    is_not("i / width, which may be 0", nothing, binary(ZF_OP_DIV, local(&i), param(&width)));
    is_not("128 / i", nothing, binary(ZF_OP_DIV, number(128), local(&i)));
    is_not("i % 128, which turns back", nothing, binary(ZF_OP_REM, local(&i), number(128)));
    is_not("i & 127", nothing, binary(ZF_OP_AND, local(&i), number(127)));
    is_not("i ^ 1", nothing, binary(ZF_OP_XOR, local(&i), number(1)));
    is("i as u32", nothing, cast(local(&i), ZF_K_U32), ZF_USES_I, 0, last);
    is_not("i as u16", nothing, cast(local(&i), ZF_K_U16));
    is("min(i, 9)", nothing, prim(ZF_P_MIN, local(&i), number(9)), ZF_USES_I, 0, 9);
    is("max(i, 9)", nothing, prim(ZF_P_MAX, local(&i), number(9)), ZF_USES_I, 9, last);
    is_not("popcount(i)", nothing, prim(ZF_P_POPCOUNT, local(&i), NULL));
    is("s.len", nothing, length_of(&stream), 0, 0, last + 1);
    is("i + s.len", nothing, binary(ZF_OP_ADD, local(&i), length_of(&stream)), ZF_USES_I, 0, 2 * last + 1);
    is("g + i", nothing, binary(ZF_OP_ADD, local(&g), local(&i)), ZF_USES_I | ZF_USES_G, 0, ((zf_int128)1 << 48) - 1 + last);

    // Names in between are looked through, when nothing can change them.
    zf_local let = {.kind = ZF_L_LET, .name = "at", .init = binary(ZF_OP_MUL, local(&i), number(3))};
    is("let at = i * 3", nothing, local(&let), ZF_USES_I, 0, last * 3);
    zf_expr *effect = node(ZF_X_CURSOR, ZF_K_U64);
    effect->effect = true;
    zf_local read = {.kind = ZF_L_LET, .name = "c", .init = effect};
    is_not("let c = s.next()", nothing, local(&read));

    // Binders: k in 0..8, k in 0..i, k in i..i + 3 (whose beginning moves).
    zf_reduce eight = {.binder_count = 1, .binders = {{.local = &k, .lo = number(0), .hi = number(8)}}};
    zf_reduce scan = {.binder_count = 1, .binders = {{.local = &k, .lo = number(0), .hi = local(&i)}}};
    zf_reduce closed = {.binder_count = 1, .binders = {{.local = &k, .lo = number(0), .hi = local(&i), .inclusive = true}}};
    zf_reduce moving = {.binder_count = 1,
                        .binders = {{.local = &k, .lo = local(&i), .hi = binary(ZF_OP_ADD, local(&i), number(3))}}};
    const zf_reduce *reduces[] = {&eight, &scan, &closed, &moving};
    zf_expr *bytes = binary(ZF_OP_ADD, binary(ZF_OP_MUL, local(&k), length_of(&stream)), local(&i));
    is("k * s.len + i, k below 8", (zf_around){&reduces[0], 1}, bytes, ZF_USES_I | ZF_USES_BINDER, 0, 7 * (last + 1) + last);
    is("k of a scan", (zf_around){&reduces[1], 1}, local(&k), ZF_USES_I | ZF_USES_BINDER, 0, last - 1);
    is("k of an inclusive scan", (zf_around){&reduces[2], 1}, local(&k), ZF_USES_I | ZF_USES_BINDER, 0, last);
    is_not("k from i", (zf_around){&reduces[3], 1}, local(&k));
    is_not("k of no reduction around", nothing, local(&k));

    // Deep nesting ends in "not recognised", not in a crash.
    zf_expr *deep = local(&i);
    for (int d = 0; d < 100000; d++) deep = binary(ZF_OP_ADD, deep, number(0));
    is_not("100000 additions", nothing, deep);

    // Locals that double the expression at each step: 2^30 additions.
    zf_local *last_let = &let;
    for (int d = 0; d < 30; d++) {
        zf_local *next = ZF_NEW(arena, zf_local);
        zf_expr *none = binary(ZF_OP_MUL, local(last_let), number(0));
        *next = (zf_local){.kind = ZF_L_LET, .name = "d", .init = binary(ZF_OP_ADD, local(last_let), none)};
        last_let = next;
    }
    is_not("locals that double", nothing, local(last_let));

    zf_arena_destroy(arena);
    return check_result();
}
