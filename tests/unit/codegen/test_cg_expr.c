// Links: zf_llvm_headers zipflow-compiler zf-interp
// Expressions of bodies in generated code, against the interpreter's arithmetic: every operator, cast and primitive of every type
// at its edge values, when a failed check leaves and when it is only noted.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <llvm-c/Analysis.h>

#include "codegen/body/cg_emit.h"
#include "codegen/llvm/jit.h"
#include "tests/interp/interp_internal.h"
#include "tests/unit/check.h"

// ---- Trees made by hand ---------------------------------------------------------------------------------------

enum { PARAMS = 4, CASES = 1200 };

static zf_arena *arena;

static zf_expr *node(zf_expr_kind kind, zf_kind type) {
    zf_expr *expr = ZF_NEW(arena, zf_expr);
    expr->kind = kind;
    expr->type = zf_type_of(type);
    if (zf_kind_is_integer(type) || type == ZF_K_BOOL) expr->range = zf_interval_of_kind(type);
    return expr;
}

static zf_expr *param(unsigned slot, zf_kind type) {
    zf_port *port = ZF_NEW(arena, zf_port);
    *port = (zf_port){.index = slot, .slot = slot, .name = "p", .is_param = true, .type = zf_type_of(type)};
    zf_expr *expr = node(ZF_X_PARAM, type);
    expr->port = port;
    return expr;
}

static zf_expr *constant(zf_kind type, uint64_t bits) {
    zf_expr *expr = node(ZF_X_CONST, type);
    expr->bits = bits;
    if (zf_kind_is_integer(type)) expr->range = zf_interval_const(zf_value_of_bits(type, bits));
    return expr;
}

static zf_expr *binary(zf_op op, zf_kind type, zf_expr *a, zf_expr *b) {
    zf_expr *expr = node(ZF_X_BINARY, type);
    expr->op = op;
    expr->a = a;
    expr->b = b;
    return expr;
}

static zf_expr *unary_of(zf_expr_kind kind, zf_kind type, zf_expr *a) {
    zf_expr *expr = node(kind, type);
    expr->a = a;
    return expr;
}

// ---- Cases: functions of a module -----------------------------------------------------------------------------

typedef struct test_case {
    const char *what;
    zf_expr *expr;
    bool noted; ///< failed checks are noted, not left at
    zf_kind of; ///< of the operands
    zf_op op;
    zf_prim prim;
    char kind; ///< 'b'inary, 'u'nary, 'c'ast, 'p'rimitive
} test_case;

static test_case cases[CASES];
static unsigned case_count;

typedef struct test_env {
    zf_cg_env env;
    LLVMValueRef v_in, v_fail;
    LLVMBasicBlockRef bb_stop;
} test_env;

static zf_cg_value get_param(zf_cg *cg, zf_cg_env *env, const zf_port *port) {
    test_env *e = (test_env *)env;
    LLVMValueRef v = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, e->v_in, port->slot * 8u), 8);
    return zf_cg_scalar(port->type, zf_cg_from_word(cg, port->type, v));
}

static LLVMValueRef check(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at) {
    test_env *e = (test_env *)env;
    (void)span;
    (void)at;
    LLVMValueRef v_code = zf_cg_i64(cg, violation);
    if (env->straight) {
        LLVMValueRef v_old = zf_cg_load(cg, cg->ty_i64, e->v_fail, 8);
        zf_cg_store(cg, zf_cg_select(cg, v_ok, v_old, v_code), e->v_fail, 8);
        return v_ok;
    }
    LLVMBasicBlockRef bb_on = zf_cg_block(cg, "on"), bb_fail = zf_cg_block(cg, "fail");
    zf_cg_cond_br(cg, v_ok, bb_on, bb_fail);
    zf_cg_enter(cg, bb_fail);
    zf_cg_store(cg, v_code, e->v_fail, 8);
    zf_cg_br(cg, e->bb_stop);
    zf_cg_enter(cg, bb_on);
    return NULL;
}

static zf_status build(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)user, (void)compact;
    zf_cg cg;
    zf_diags diags;
    zf_diags_init(&diags, arena);
    zf_cg_init(&cg, module, arena, &diags);
    static zf_inst inst = {.name = "test"};
    for (unsigned k = 0; k < case_count; k++) {
        char name[16];
        snprintf(name, sizeof name, "case%u", k);
        LLVMTypeRef types[3] = {cg.ty_ptr, cg.ty_ptr, cg.ty_ptr};
        cg.function = LLVMAddFunction(module, name, LLVMFunctionType(cg.ty_void, types, 3, 0));
        cg.v_guard = NULL;
        zf_cg_enter(&cg, zf_cg_block(&cg, "entry"));
        LLVMBasicBlockRef bb_start = zf_cg_block(&cg, "start"), bb_stop = zf_cg_block(&cg, "stop");
        zf_cg_br(&cg, bb_start);
        zf_cg_enter(&cg, bb_start);
        test_env env = {.env = {.inst = &inst, .straight = cases[k].noted, .param = get_param, .check = check},
                        .v_in = LLVMGetParam(cg.function, 0),
                        .v_fail = LLVMGetParam(cg.function, 2),
                        .bb_stop = bb_stop};
        zf_body body = {.present = true, .local_count = 1};
        zf_cg_value value = zf_cg_eval_expr(&cg, &env.env, &body, cases[k].expr, NULL, 0);
        zf_cg_store(&cg, zf_cg_to_word(&cg, value.type, value.v), LLVMGetParam(cg.function, 1), 8);
        zf_cg_br(&cg, bb_stop);
        zf_cg_enter(&cg, bb_stop);
        LLVMBuildRetVoid(cg.builder);
    }
    bool failed = cg.failed;
    if (failed && diags.first != NULL) printf("%s\n", diags.first->message);
    zf_cg_dispose(&cg);
    return failed ? zf_fail(error, ZF_ERR_INTERNAL, "ZF1901", "code generation failed") : ZF_OK;
}

// ---- Values ---------------------------------------------------------------------------------------------------

static const zf_kind INTEGERS[] = {ZF_K_U8, ZF_K_U16, ZF_K_U32, ZF_K_U64, ZF_K_I8, ZF_K_I16, ZF_K_I32, ZF_K_I64};
static const zf_kind FLOATS[] = {ZF_K_F32, ZF_K_F64};

/// Edge values of a kind, as words.
static unsigned edges(zf_kind kind, uint64_t out[40]) {
    unsigned n = 0;
    if (kind == ZF_K_BOOL) {
        out[n++] = 0;
        out[n++] = 1;
        return n;
    }
    if (zf_kind_is_float(kind)) {
        static const double values[] = {0.0,
                                        -0.0,
                                        1.0,
                                        -1.0,
                                        0.5,
                                        -0.5,
                                        1.5,
                                        2.5,
                                        -2.5,
                                        0.49999999999999994,
                                        1e10,
                                        -1e10,
                                        1e300,
                                        255.0,
                                        256.0,
                                        -128.5,
                                        65535.9,
                                        2147483647.0,
                                        2147483648.0,
                                        -2147483648.0,
                                        4294967296.0,
                                        9223372036854775808.0,
                                        -9223372036854775808.0,
                                        18446744073709551616.0,
                                        4503599627370497.5,
                                        1e-310,
                                        3.4e38};
        for (unsigned k = 0; k < sizeof values / sizeof values[0]; k++) {
            float f = (float)values[k];
            uint64_t word = 0;
            if (kind == ZF_K_F64)
                memcpy(&word, &values[k], 8);
            else
                memcpy(&word, &f, 4);
            out[n++] = word;
        }
        bool wide = kind == ZF_K_F64;
        out[n++] = wide ? 0x7ff0000000000000u : 0x7f800000u;
        out[n++] = wide ? 0xfff0000000000000u : 0xff800000u;
        out[n++] = wide ? 0x7ff8000000000000u : 0x7fc00000u;
        return n;
    }
    unsigned bits = zf_kind_bits(kind);
    const uint64_t top = 1ull << (bits - 1), all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    const uint64_t values[] = {0,
                               1,
                               2,
                               3,
                               7,
                               8,
                               10,
                               31,
                               32,
                               33,
                               63,
                               64,
                               65,
                               100,
                               top - 1,
                               top,
                               top + 1,
                               all,
                               all - 1,
                               all - 6,
                               0x5555555555555555u & all,
                               0xdeadbeefcafef00du & all,
                               all >> 1};
    for (unsigned k = 0; k < sizeof values / sizeof values[0]; k++) {
        if (values[k] <= all) out[n++] = values[k];
    }
    return n;
}

static bool is_nan(zf_kind kind, uint64_t word) {
    if (kind == ZF_K_F64) return (word & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
    return kind == ZF_K_F32 && (word & 0x7fffffffu) > 0x7f800000u;
}

static void add(const char *what, char kind, zf_expr *expr, zf_kind of, zf_op op, zf_prim prim) {
    for (unsigned noted = 0; noted < 2 && case_count < CASES; noted++) {
        cases[case_count++] = (test_case){what, expr, noted != 0, of, op, prim, kind};
    }
}

static void make_cases(void) {
    static const zf_op arithmetic[] = {ZF_OP_ADD, ZF_OP_SUB, ZF_OP_MUL, ZF_OP_DIV, ZF_OP_REM, ZF_OP_OR, ZF_OP_XOR, ZF_OP_AND};
    static const zf_op compares[] = {ZF_OP_EQ, ZF_OP_NE, ZF_OP_LT, ZF_OP_LE, ZF_OP_GT, ZF_OP_GE};
    for (unsigned t = 0; t < 8; t++) {
        zf_kind kind = INTEGERS[t];
        for (unsigned o = 0; o < 8; o++) {
            add("arithmetic", 'b', binary(arithmetic[o], kind, param(0, kind), param(1, kind)), kind, arithmetic[o], 0);
        }
        for (unsigned o = 0; o < 6; o++) {
            add("compare", 'b', binary(compares[o], ZF_K_BOOL, param(0, kind), param(1, kind)), kind, compares[o], 0);
        }
        for (unsigned c = 0; c < 4; c++) { // counts of every unsigned width
            add("shift", 's', binary(ZF_OP_SHL, kind, param(0, kind), param(1, INTEGERS[c])), kind, ZF_OP_SHL, 0);
            add("shift", 's', binary(ZF_OP_SHR, kind, param(0, kind), param(1, INTEGERS[c])), kind, ZF_OP_SHR, 0);
        }
        zf_expr *neg = unary_of(ZF_X_UNARY, kind, param(0, kind)), *inv = unary_of(ZF_X_UNARY, kind, param(0, kind));
        neg->op = ZF_OP_NEG;
        inv->op = ZF_OP_BITNOT;
        add("negate", 'u', neg, kind, ZF_OP_NEG, 0);
        add("invert", 'u', inv, kind, ZF_OP_BITNOT, 0);
        static const zf_prim counts[] = {ZF_P_BIT_WIDTH, ZF_P_POPCOUNT, ZF_P_CLZ, ZF_P_CTZ};
        for (unsigned p = 0; p < 4 && t < 4; p++) {
            zf_expr *expr = unary_of(ZF_X_PRIM, ZF_K_U8, param(0, kind));
            expr->prim = counts[p];
            add("count bits", 'p', expr, kind, 0, counts[p]);
        }
        if (t < 4) {
            zf_expr *expr = unary_of(ZF_X_PRIM, ZF_K_U8, param(0, kind));
            expr->prim = ZF_P_NTH_BIT;
            expr->b = param(1, kind);
            add("nth_bit", 'p', expr, kind, 0, ZF_P_NTH_BIT);
        }
        for (unsigned p = 0; p < 2; p++) {
            zf_expr *expr = unary_of(ZF_X_PRIM, kind, param(0, kind));
            expr->prim = p == 0 ? ZF_P_MIN : ZF_P_MAX;
            expr->b = param(1, kind);
            add("min, max", 'p', expr, kind, 0, expr->prim);
        }
    }
    for (unsigned t = 0; t < 2; t++) {
        zf_kind kind = FLOATS[t];
        for (unsigned o = 0; o < 4; o++) {
            add("float", 'b', binary(arithmetic[o], kind, param(0, kind), param(1, kind)), kind, arithmetic[o], 0);
        }
        for (unsigned o = 0; o < 6; o++) {
            add("float compare", 'b', binary(compares[o], ZF_K_BOOL, param(0, kind), param(1, kind)), kind, compares[o], 0);
        }
        zf_expr *neg = unary_of(ZF_X_UNARY, kind, param(0, kind)), *round_of = unary_of(ZF_X_PRIM, kind, param(0, kind));
        neg->op = ZF_OP_NEG;
        add("float negate", 'u', neg, kind, ZF_OP_NEG, 0);
        round_of->prim = ZF_P_ROUND;
        add("round", 'p', round_of, kind, 0, ZF_P_ROUND);
        zf_kind as = kind == ZF_K_F64 ? ZF_K_U64 : ZF_K_U32;
        zf_expr *bits = unary_of(ZF_X_PRIM, as, param(0, kind)), *value = unary_of(ZF_X_PRIM, kind, param(0, as));
        bits->prim = ZF_P_BITS_OF;
        value->prim = ZF_P_VALUE_OF;
        add("bits_of", 'p', bits, kind, 0, ZF_P_BITS_OF);
        add("value_of", 'p', value, as, 0, ZF_P_VALUE_OF);
        for (unsigned p = 0; p < 2; p++) {
            zf_expr *expr = unary_of(ZF_X_PRIM, kind, param(0, kind));
            expr->prim = p == 0 ? ZF_P_MIN : ZF_P_MAX;
            expr->b = param(1, kind);
            add("float min, max", 'p', expr, kind, 0, expr->prim);
        }
    }
    static const zf_kind all[] = {ZF_K_U8,  ZF_K_U16, ZF_K_U32, ZF_K_U64, ZF_K_I8,  ZF_K_I16,
                                  ZF_K_I32, ZF_K_I64, ZF_K_F32, ZF_K_F64, ZF_K_BOOL};
    for (unsigned f = 0; f < 11; f++) {
        for (unsigned t = 0; t < 10; t++) {
            zf_expr *expr = unary_of(ZF_X_CAST, all[t], param(0, all[f]));
            add("cast", 'c', expr, all[f], 0, 0);
        }
    }
}

/// The result of the case; false: a violation, whose number is *violation.
static bool expected(const test_case *c, uint64_t a, uint64_t b, uint64_t *out, unsigned *violation) {
    switch (c->kind) {
    case 'b':
    case 's': *violation = 7; return interp_value_binary(c->op, c->of, a, b, out);
    case 'u': *out = interp_value_unary(c->op, c->of, a); return true;
    case 'c': *out = interp_value_cast(c->of, c->expr->type.kind, a); return true;
    default: *violation = 8; return interp_value_prim(c->prim, c->of, a, b, out);
    }
}

static void run_cases(void **functions) {
    for (unsigned k = 0; k < case_count; k++) {
        const test_case *c = &cases[k];
        void (*function)(const uint64_t *, uint64_t *, uint64_t *) =
            (void (*)(const uint64_t *, uint64_t *, uint64_t *))(uintptr_t)functions[k];
        uint64_t as[40], bs[40];
        bool two = c->expr->b != NULL;
        unsigned a_count = edges(c->of, as);
        unsigned b_count = two ? edges(c->expr->b->type.kind, bs) : 1;
        for (unsigned i = 0; i < a_count; i++) {
            for (unsigned j = 0; j < b_count; j++) {
                uint64_t in[PARAMS] = {as[i], two ? bs[j] : 0}, got = 0x1234, fail = 0, want = 0;
                unsigned violation = 0;
                bool ok = expected(c, in[0], in[1], &want, &violation);
                function(in, &got, &fail);
                zf_kind result = c->expr->type.kind;
                bool same =
                    got == want || (is_nan(result, got) && is_nan(result, want) && c->kind != 'u' && c->prim != ZF_P_VALUE_OF);
                bool right = ok ? fail == 0 && same : fail == violation;
                if (!right) {
                    CHECK(right,
                          "%s (op %d, prim %d) of %s, to %s%s: %#" PRIx64 ", %#" PRIx64 " gave %#" PRIx64 " fail %" PRIu64
                          ", wanted %#" PRIx64 " %s",
                          c->what, (int)c->op, (int)c->prim, zf_kind_name(c->of), zf_kind_name(result), c->noted ? ", noted" : "",
                          in[0], in[1], got, fail, want, ok ? "" : "(violation)");
                    i = a_count;
                    break;
                }
                check_count++;
            }
        }
    }
}

// ---- Composite forms, by hand ---------------------------------------------------------------------------------

static const uint64_t TABLE_BITS[] = {10, 20, 30, 40};
static const zf_table_const TABLE = {.name = "T", .type = {.kind = ZF_K_U32}, .length = 4, .bits = TABLE_BITS};

static zf_expr *table_at(zf_expr *index, bool proved) {
    zf_expr *table = node(ZF_X_TABLE, ZF_K_U32), *at = node(ZF_X_INDEX, ZF_K_U32);
    table->is_seq = true;
    table->table = &TABLE;
    at->a = table;
    at->b = index;
    at->proved = proved;
    return at;
}

static zf_expr *cond(zf_kind type, zf_expr *a, zf_expr *b, zf_expr *c) {
    zf_expr *expr = node(ZF_X_COND, type);
    expr->a = a;
    expr->b = b;
    expr->c = c;
    return expr;
}

typedef struct by_hand {
    const char *what;
    uint64_t a, b, want, violation;
} by_hand;

/// Each is two cases: leaving, and noting.
static unsigned first_by_hand, hand_forms;

static void make_by_hand(void) {
    first_by_hand = case_count;
    // 0: an index that is checked; 1: lazily, so that the index out of range is not met; 2: proved by the condition;
    // 3: a division that && protects; 4: a reduction with an empty range; 5: min over terms.
    add("index", 'h', table_at(param(0, ZF_K_U64), false), ZF_K_U64, 0, 0);
    zf_expr *less = binary(ZF_OP_LT, ZF_K_BOOL, param(0, ZF_K_U64), constant(ZF_K_U64, 4));
    add("lazy index", 'h', cond(ZF_K_U32, less, table_at(param(0, ZF_K_U64), false), constant(ZF_K_U32, 7)), ZF_K_U64, 0, 0);
    add("proved index", 'h', cond(ZF_K_U32, less, table_at(param(0, ZF_K_U64), true), constant(ZF_K_U32, 7)), ZF_K_U64, 0, 0);
    zf_expr *nonzero = binary(ZF_OP_NE, ZF_K_BOOL, param(1, ZF_K_I32), constant(ZF_K_I32, 0));
    zf_expr *divides =
        binary(ZF_OP_EQ, ZF_K_BOOL, binary(ZF_OP_REM, ZF_K_I32, param(0, ZF_K_I32), param(1, ZF_K_I32)), constant(ZF_K_I32, 0));
    add("guarded division", 'h', binary(ZF_OP_ANDAND, ZF_K_BOOL, nonzero, divides), ZF_K_I32, 0, 0);
    for (unsigned m = 0; m < 2; m++) {
        zf_local *k = ZF_NEW(arena, zf_local);
        *k = (zf_local){.kind = ZF_L_BINDER, .id = 0, .name = "k", .type = zf_type_of(ZF_K_U64)};
        zf_expr *local = node(ZF_X_LOCAL, ZF_K_U64);
        local->local = k;
        zf_expr *sum = node(ZF_X_REDUCE, ZF_K_U64);
        sum->reduce = ZF_NEW(arena, zf_reduce);
        *sum->reduce = (zf_reduce){.op = m == 0 ? ZF_RED_SUM : ZF_RED_MIN, .binder_count = 1, .form = ZF_R_UNROLLED, .trip = 8};
        sum->reduce->binders[0] = (zf_binder){.local = k, .lo = param(0, ZF_K_U64), .hi = param(1, ZF_K_U64)};
        zf_expr *square = binary(ZF_OP_MUL, ZF_K_U64, local, local);
        sum->reduce->term = square;
        add("reduction", 'h', sum, ZF_K_U64, 0, 0);
    }
    hand_forms = (case_count - first_by_hand) / 2;
}

static void run_by_hand(void **functions) {
    static const by_hand rows[][5] = {
        {{"index", 0, 0, 10, 0}, {"index", 3, 0, 40, 0}, {"index", 4, 0, 0, 1}, {"index", UINT64_MAX, 0, 0, 1}, {"", 0, 0, 0, 0}},
        {{"lazy", 1, 0, 20, 0}, {"lazy", 4, 0, 7, 0}, {"lazy", UINT64_MAX, 0, 7, 0}, {"lazy", 3, 0, 40, 0}, {"", 0, 0, 0, 0}},
        {{"proved", 1, 0, 20, 0},
         {"proved", 4, 0, 7, 0},
         {"proved", 1ull << 62, 0, 7, 0},
         {"proved", 3, 0, 40, 0},
         {"", 0, 0, 0, 0}},
        {{"guarded", 6, 3, 1, 0},
         {"guarded", 7, 3, 0, 0},
         {"guarded", 6, 0, 0, 0},
         {"guarded", 0x80000000u, 0xffffffffu, 1, 0},
         {"", 0, 0, 0, 0}},
        {{"sum", 0, 4, 14, 0},
         {"sum", 2, 4, 13, 0},
         {"sum", 4, 4, 0, 0},
         {"sum", 5, 4, 0, 0},
         {"sum", 3, 11, 3 * 3 + 16 + 25 + 36 + 49 + 64 + 81 + 100, 0}},
        {{"min", 0, 4, 0, 0}, {"min", 2, 4, 4, 0}, {"min", 4, 4, 0, 0}, {"min", 5, 4, 0, 0}, {"min", 3, 11, 9, 0}},
    };
    for (unsigned f = 0; f < hand_forms; f++) {
        for (unsigned r = 0; r < 5; r++) {
            const by_hand *row = &rows[f][r];
            if (row->what[0] == 0) continue;
            for (unsigned noted = 0; noted < 2; noted++) {
                void (*function)(const uint64_t *, uint64_t *, uint64_t *) =
                    (void (*)(const uint64_t *, uint64_t *, uint64_t *))(uintptr_t)functions[first_by_hand + 2 * f + noted];
                uint64_t in[PARAMS] = {row->a, row->b}, got = 0x1234, fail = 0;
                function(in, &got, &fail);
                bool right = row->violation != 0 ? fail == row->violation : fail == 0 && got == row->want;
                CHECK(right, "%s %" PRIu64 ", %" PRIu64 "%s: gave %" PRIu64 ", fail %" PRIu64, row->what, row->a, row->b,
                      noted ? ", noted" : "", got, fail);
            }
        }
    }
}

/// A call takes as many arguments as there are.
static void test_call(void) {
    enum { MANY = 40 };
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("calls", context);
    zf_diags diags;
    zf_cg cg;
    zf_diags_init(&diags, arena);
    zf_cg_init(&cg, module, arena, &diags);
    cg.function = LLVMAddFunction(module, "caller", LLVMFunctionType(cg.ty_void, NULL, 0, 0));
    zf_cg_enter(&cg, zf_cg_block(&cg, "entry"));
    LLVMValueRef v_args[MANY];
    for (unsigned k = 0; k < MANY; k++) v_args[k] = k % 2 == 0 ? zf_cg_i64(&cg, k) : zf_cg_i1(&cg, true);
    zf_cg_call(&cg, "callee", cg.ty_void, v_args, MANY);
    LLVMBuildRetVoid(cg.builder);
    CHECK(LLVMCountParams(LLVMGetNamedFunction(module, "callee")) == MANY, "arguments");
    CHECK(LLVMVerifyModule(module, LLVMReturnStatusAction, NULL) == 0, "a call of many arguments");
    zf_cg_dispose(&cg);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
}

int main(void) {
    zf_error error = {0};
    zf_jit *jit = NULL;
    arena = zf_arena_create();
    make_cases();
    make_by_hand();
    static char names[CASES][16];
    static const char *symbols[CASES];
    static void *functions[CASES];
    for (unsigned k = 0; k < case_count; k++) {
        snprintf(names[k], sizeof names[k], "case%u", k);
        symbols[k] = names[k];
    }
    for (unsigned level = 0; level <= 3; level += 3) {
        zf_jit_options options = {.optimise = level};
        CHECK(zf_jit_create(&options, &jit, &error) == ZF_OK, "%s", error.message);
        if (jit == NULL) return check_result();
        zf_jit_request request = {.name = "expr", .build = build, .symbols = symbols, .symbol_count = case_count};
        zf_status status = zf_jit_load(jit, &request, functions, NULL, &error);
        CHECK(status == ZF_OK, "%s %s", error.message, error.place);
        unsigned all = case_count;
        case_count = first_by_hand;
        if (status == ZF_OK) run_cases(functions);
        case_count = all;
        if (status == ZF_OK) run_by_hand(functions);
        zf_jit_free(jit);
        jit = NULL;
    }
    test_call();
    zf_arena_destroy(arena);
    return check_result();
}
