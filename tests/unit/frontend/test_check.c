// Links: zipflow-frontend
// The checker, by the trees it makes of small programs: types, ranges, what is proved, what a body looks like when
// functions are inlined; and how long it takes.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frontend/spec/spec_internal.h"
#include "tests/support/find_algorithm.h"
#include "tests/unit/check.h"

/// An algorithm `a` of a text, checked for the given kinds. NULL with its diagnostics printed.
static zf_inst *instance(zf_spec *spec, const char *text, const zf_kind *kinds) {
    bool ok = zf_spec_add_text(spec, "t.zf", text, strlen(text)) && zf_spec_check(spec);
    const zf_algorithm *algorithm = ok ? find_algorithm(spec, "a") : NULL;
    zf_inst *inst = NULL;
    if (algorithm != NULL) {
        zf_type bindings[4] = {0};
        for (uint32_t k = 0; k < algorithm->generic_count && k < 4; k++) bindings[k] = zf_type_of(kinds[k]);
        inst = zf_spec_instantiate(spec, algorithm, bindings, (zf_span){0});
    }
    if (inst == NULL) {
        zf_text out = {0};
        zf_diags_render(zf_spec_diags(spec), ZF_DIAG_LINE, false, &out);
        printf("%s\n%s", text, out.data == NULL ? "" : out.data);
        zf_text_free(&out);
    }
    return inst;
}

static zf_spec *create(void) { return zf_spec_create(&(zf_spec_options){.no_std = true}); }

// ---- Values ---------------------------------------------------------------------------------------------------

#define PORTS                                                                                                                    \
    "s: u32[], t: i64[], b: u8[], n8: u8[] in 0..=8, fixed: u32[16], tab: u32[1 << w], param p: u32 in 1..=10, param "           \
    "q: u64, param w: u8 in 2..=12, param z: u8"
#define MAP(body)                                                                                                                \
    "const T: u8[4] = [3, 9, 5, 7];\nfn twice(v: u32) -> u32 = v * 2;\nalgorithm a(" PORTS                                       \
    ") -> u64[] fully_parallel { decode(i) " body " encode extern \"none\"; }"
#define LET(type, e) MAP("{ let v" type " = " e "; return 0; }")

// clang-format off
/// `want`: the value of v as printed, its type, its range.
static const struct {
    const char *text, *want;
} values[] = {
    // ranges of names
    {LET("", "p"), "p u32 1..=10"},
    {LET("", "i"), "i#0 u64 0..=4294967295"},
    {LET("", "n8[i]"), "n8[i#0]? u8 0..=8"},
    {LET("", "T[i & 3]"), "T[(i#0 & 3:u64)] u8 3..=9"},
    {LET("", "s.len"), "s.len u64 0..=4294967296"},
    {LET("", "fixed.len"), "fixed.len u64 16"},
    {LET("", "tab.len"), "tab.len u64 4..=4096"},
    {LET("", "out.len"), "out.len u64 0..=4294967296"},
    // arithmetic
    {LET("", "p + 1"), "(p + 1:u32) u32 2..=11"},
    {LET("", "p - 1"), "(p - 1:u32) u32 0..=9"},
    {LET("", "p - 2"), "(p - 2:u32) u32 0..=4294967295"},
    {LET("", "p * 3 / 2 % 4"), "(((p * 3:u32) / 2:u32) % 4:u32) u32 0..=3"},
    {LET("", "1 << w"), "(1:u64 << w) u64 4..=4096"},
    {LET("", "q >> 60"), "(q >> 60:u64) u64 0..=15"},
    {LET("", "b[i] | 1"), "(b[i#0]? | 1:u8) u8 1..=255"},
    {LET("", "b[i] as u32 + 1"), "((b[i#0]? as u32) + 1:u32) u32 1..=256"},
    {LET("", "b[i] + 1"), "(b[i#0]? + 1:u8) u8 0..=255"},
    {LET("", "q as u8"), "(q as u8) u8 0..=255"},
    {LET("", "p as u8"), "(p as u8) u8 1..=10"},
    {LET("", "t[i] as u64"), "(t[i#0]? as u64) u64 0..=18446744073709551615"},
    {LET("", "-(p as i64)"), "(-(p as i64)) i64 -10..=-1"},
    {LET("", "~n8[i]"), "(~n8[i#0]?) u8 247..=255"},
    {LET("", "min(q, 7) + max(p, 5)"), "(min(q, 7:u64) + (max(p, 5:u32) as u64)) u64 5..=17"},
    {LET("", "bit_width(p)"), "bit_width(p) u8 1..=4"},
    {LET("", "s.bits(q, n8[i])"), "s.bits(q, (n8[i#0]? as u64))? u64 0..=255"},
    {LET("", "sum(k in 0..3: n8[k])"), "sum(k#1 in 0:u64 .. 3:u64: n8[k#1]? unrolled 3) u8 0..=24"},
    {LET("", "sum(k in 0..40: n8[k])"), "sum(k#1 in 0:u64 .. 40:u64: n8[k#1]? unrolled 40) u8 0..=255"},
    {LET("", "p > 10"), "(p > 10:u32) bool 0"},
    {LET("", "p == 3"), "(p == 3:u32) bool 0..=1"},
    {LET("", "p < 11 && q < 3"), "((p < 11:u32) && (q < 3:u64)) bool 0..=1"},
    // literals
    {LET("", "8 * sizeof(u32) - 1"), "31:u64 u64 31"},
    {LET("", "p > 3 ? 1 : 0"), "((p > 3:u32) ? 1:u64 : 0:u64) u64 0..=1"},
    {LET("", "p > 3 ? 1 : -1"), "((p > 3:u32) ? 1:i64 : -1:i64) i64 -1..=1"},
    {LET("", "t[i] * (p > 3 ? 1 : -1)"), "(t[i#0]? * ((p > 3:u32) ? 1:i64 : -1:i64)) i64 -9223372036854775808..=9223372036854775807"},
    {LET("", "p + (1 << w)"), "(p + (1:u32 << w)) u32 5..=4106"},
    {LET("", "-1 as u8"), "255:u8 u8 255"},
    {LET("", "'a'"), "97:u8 u8 97"},
    {LET(": i8", "-(1 << 7)"), "-128:i8 i8 -128"},
    {LET(": f32", "3"), "3:f32 f32 0"},
    {LET("", "1.5 + 2"), "(1.5:f64 + 2:f64) f64 0"},
    // facts
    {MAP("{ require q < 5; let v = q + 1; return v; }"), "(q + 1:u64) u64 1..=5"},
    {MAP("{ require 5 > q && q != 0; let v = q; return v; }"), "q u64 1..=4"},
    {MAP("{ if q >= 100 { return 0; } let v = q; return v; }"), "q u64 0..=99"},
    {MAP("{ if q == 0 { return 0; } if q == 1 { return 0; } let v = q; return v; }"), "q u64 2..=18446744073709551615"},
    {MAP("{ let v = q < 10 ? q : 9; return v; }"), "((q < 10:u64) ? q : 9:u64) u64 0..=9"},
    {MAP("{ require q < 10 || q == 20; let v = q; return v; }"), "q u64 0..=20"},
    {MAP("{ require !(q >= 10); let v = q; return v; }"), "q u64 0..=9"},
    {MAP("{ require s[i] as u64 + 3 <= 10; let v = s[i]; return v; }"), "s[i#0]? u32 0..=7"},
    {MAP("{ require s[i] >> 4 == 3; let v = s[i]; return v; }"), "s[i#0]? u32 48..=63"},
    {MAP("{ require p <= z; let v = z - p; return v; }"), "((z as u32) - p) u32 0..=254"},
    {MAP("{ let small = q < 8; if small { let v = q; return v; } return 0; }"), "q u64 0..=7"},
    {MAP("{ if q < 8 { require z == 1; } else { require z == 3; } let v = z; return 0; }"), "z u8 1..=3"},
    {MAP("{ var x = p; x += 1; let v = x; return v; }"), "x#1 u32 2..=11"},
    {MAP("{ var x = p; if q > 3 { x = 20; } let v = x; return v; }"), "x#1 u32 1..=20"},
    {MAP("{ var x: u32 = 0; for k in 0..3 { x += 1; } let v = x; return v; }"), "x#1 u32 0..=4294967295"},
    {MAP("{ var x: u32 = 5; for k in 0..3 { x = 7; break; } let v = x; return v; }"), "x#1 u32 0..=4294967295"},
    {MAP("{ for k in 2..=5 { let v = k; } return 0; }"), "k#1 u64 2..=5"},
    {MAP("{ for k in 0..p { let v = k; } return 0; }"), "k#1 u64 0..=9"},
    // facts that must not be there
    {MAP("{ if q < 10 { require true; } let v = q; return v; }"), "q u64 0..=18446744073709551615"},
    {MAP("{ if q >= 1 && q <= z { require true; } let v = q; return v; }"), "q u64 0..=18446744073709551615"},
    {MAP("{ let c = q < 10 && q > 3; let v = q; return v; }"), "q u64 0..=18446744073709551615"},
    {MAP("{ var x = q; require x < 10; x = s.len; let v = x; return v; }"), "x#1 u64 0..=4294967296"},
    {"fn f(b: u64) -> u64 { if b != 0 { return 1; } return b; } algorithm a(param q: u64) -> u64[] fully_parallel { decode(i) { let c = f(q); let v = q; return v + c; } encode extern \"none\"; }", "q u64 0..=18446744073709551615"},
    // functions
    {LET("", "twice(p)"), "(p * 2:u32) u32 2..=20"},
    {LET("", "twice(s[i] & 7)"), "twice(v#1 = (s[i#0]? & 7:u32)) { (v#1 * 2:u32) } u32 0..=14"},
};

// clang-format on

static const zf_local *find_let(const zf_stmt *stmt) {
    for (; stmt != NULL; stmt = stmt->next) {
        if (stmt->kind == ZF_S_LET && strcmp(stmt->local->name, "v") == 0) return stmt->local;
        const zf_local *inner = find_let(stmt->body);
        if (inner == NULL) inner = find_let(stmt->else_part);
        if (inner != NULL) return inner;
    }
    return NULL;
}

static void check_values(void) {
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        zf_spec *spec = create();
        zf_inst *inst = instance(spec, values[k].text, NULL);
        const zf_local *v = inst == NULL ? NULL : find_let(inst->decode.stmts);
        CHECK(v != NULL, "row %zu has no v", k);
        if (v != NULL) {
            zf_text out = {0};
            zf_expr_print(v->init, &out);
            bool counted = zf_kind_is_integer(v->type.kind) || v->type.kind == ZF_K_BOOL;
            zf_text_printf(&out, " %s %s", zf_type_name(spec->arena, v->type),
                           counted ? zf_interval_text(spec->arena, v->init->range) : "0");
            CHECK(strcmp(out.data, values[k].want) == 0, "%s\n  got  %s\n  want %s", values[k].text, out.data, values[k].want);
            zf_text_free(&out);
        }
        zf_spec_destroy(spec);
    }
}

// ---- Proofs ---------------------------------------------------------------------------------------------------

#define GROUP(ports, size, decode)                                                                                               \
    "algorithm a(" ports ") -> u64[] group_parallel { groups = n.len; size(g) = " size "; decode(g, j) " decode                  \
    " encode extern \"none\"; }"
#define CHUNK(decode)                                                                                                            \
    "algorithm a(src: u8[] per chunk, f: u8[4] per chunk in 1..=9) -> u8[] non_parallel(chunk = 64) { decode "                   \
    "{ " decode " } encode extern \"none\"; }"
#define ENCODE(encode)                                                                                                           \
    "algorithm a(s: u32[], f: u32[4]) -> u32[] fully_parallel { decode(i) = s[i]; encode(x) { " encode                           \
    " s.append(x); if f.len < 4 { f.push(0); } } }"

// clang-format off
/// `proved`: of the checks in the body, in order of the text: y or n.
static const struct {
    const char *text, *proved;
} proofs[] = {
    {MAP("= fixed[i & 15];"), "y"},
    {MAP("= fixed[i & 16];"), "n"},
    {MAP("= fixed[i % 16];"), "y"},
    {MAP("= fixed[n8[i]];"), "yn"},
    {MAP("= T[n8[i] & 3];"), "yn"},
    {MAP("= tab[q & (1 << w) - 1];"), "y"},
    {MAP("= tab[q & (1 << w)];"), "n"},
    {MAP("= tab[q % (1 << w)];"), "yy"},
    {MAP("= tab[s[i] & (1 << w) - 1];"), "yn"},
    {MAP("= s[i];"), "n"},
    {MAP("{ require q < s.len; return s[q]; }"), "y"},
    {MAP("{ require q <= s.len; return s[q]; }"), "n"},
    {MAP("{ require q < s.len && s.len <= t.len; return t[q] as u64; }"), "y"},
    {MAP("{ if q < s.len { return s[q]; } return s[q]; }"), "yn"},
    {MAP("{ return q < s.len ? s[q] : 0; }"), "y"},
    {MAP("{ return q < s.len && s[q] == 3 ? 1 : 0; }"), "y"},
    {MAP("{ return q >= s.len || s[q] == 3 ? 1 : 0; }"), "y"},
    {MAP("{ require q < s.len; return s[q / 2] + s[q >> 1] + s[q - q % 4]; }"), "yyy"},
    {MAP("{ require s.len > 0; return s[min(q, s.len - 1)]; }"), "y"},
    {MAP("{ require s.len > 0; return s[q % s.len]; }"), "yy"},
    {MAP("{ require q < s.len; return s[q - z]; }"), "n"},
    {MAP("{ require q < s.len && z <= q; return s[q - z]; }"), "y"},
    {MAP("{ return q / p + q % p; }"), "yy"},
    {MAP("{ return q / z; }"), "n"},
    {MAP("{ return z != 0 ? q / z : 0; }"), "y"},
    {MAP("{ require z > 0 && q % z == 0; return q / z; }"), "yy"},
    {MAP("{ let v = fixed[2..5]; return v[i % 3] + v[i % 4]; }"), "yyn"},
    {MAP("{ require q <= s.len; let v = s[0..q]; return v.len; }"), "y"},
    {MAP("{ return fixed.bits(i % 32, 32) + fixed.bits(i % 500, 32); }"), "yn"},
    {MAP("{ return nth_bit(q, i % 64) + nth_bit(q | 1, 0); }"), "ny"},
    {MAP("{ var t4: u32[4]; t4[i & 3] = 1; return t4[i & 3] + t4[i & 7]; }"), "yyn"},
    // indices
    {GROUP("n: u32[], s: u32[]", "n[g]", "= n[g] + s[g];"), "yyn"},
    {GROUP("n: u32[]", "popcount(n[g])", "= nth_bit(n[g], j);"), "yyy"},
    {GROUP("n: u32[]", "n[g] & 3", "= n[j];"), "yn"},
    {GROUP("n: u32[], s: u32[4]", "n[g] & 3", "= s[j];"), "yy"},
    // terms of scans are computed for every element, whatever stands before them
    {MAP("{ require q < s.len; return sum(k in 0..i: s[q] as u64); }"), "n"},
    {MAP("{ return q < s.len ? sum(k in 0..i: s[q] as u64) : 0; }"), "n"},
    {MAP("{ return q < s.len ? sum(k in 0..4: s[q] as u64) : 0; }"), "y"},
    {MAP("{ return sum(k in 0..i: fixed[k & 15] as u64); }"), "y"},
    {GROUP("n: u32[]", "n[g]", "= sum(k in 0..g: n[k] as u64);"), "yy"},
    // chunks
    {CHUNK("while out.pos < out.len { let c = src.u8(); emit f[c & 3]; }"), "y"},
    {CHUNK("let d = src.u8(); require d > 0 && d <= out.pos; emit k in 0..4: out[out.pos - d + k % d];"), "yy"},
    {CHUNK("let d = src.u8(); require d <= out.pos; emit k in 0..4: out[out.pos - d + k % d];"), "nn"},
    {CHUNK("let d = src.u8(); require d > 0 && d <= out.pos; emit 1; emit k in 0..4: out[out.pos - d + k % d];"), "ny"},
    {CHUNK("var k: u64 = 0; while k < 4 { emit f[k]; k += 1; emit f[k]; }"), "yn"},
    {CHUNK("var k: u64 = 0; loop { emit f[k]; k += 1; if k == 4 { break; } }"), "n"},
    {CHUNK("emit src.u8() / f[0];"), "yy"},
    // encode
    {ENCODE("for k in 0..x.len { let v = x[k]; }"), "ny"},
    {ENCODE("for k in 1..x.len { let v = x[k - 1]; }"), "ny"},
    {ENCODE("for k in 0..x.len { let v = x[k + 1]; }"), "nn"},
    {ENCODE("let v = f[3];"), "nn"},
    {ENCODE("var k: u64 = 0; while k < x.len { let v = x[k]; k += 1; let w = x[k]; }"), "nyn"},
    {ENCODE("var k: u64 = 0; while k < x.len { k += 1; let v = x[k]; }"), "nn"},
    {ENCODE("var t: u32[4]; var m: u64 = x.len; for k in 0..m { if m <= 4 { let v = t[k]; } m = 0; }"), "nn"},
    {ENCODE("var t: u32[4]; var m: u64 = x.len; for k in 0..m { if m <= 4 { let v = t[k]; } }"), "ny"},
};

// clang-format on

typedef struct proof_list {
    char letters[64];
    size_t count;
    uint32_t order[64]; ///< where in the text
} proof_list;

static void note(proof_list *list, const zf_expr *expr) {
    if (list->count >= 60) return;
    size_t at = list->count++;
    while (at > 0 && list->order[at - 1] > expr->span.begin) {
        list->order[at] = list->order[at - 1];
        list->letters[at] = list->letters[at - 1];
        at--;
    }
    list->order[at] = expr->span.begin;
    list->letters[at] = expr->proved ? 'y' : 'n';
}

static void collect_stmts(proof_list *list, const zf_stmt *stmt);

static void collect(proof_list *list, const zf_expr *expr) {
    if (expr == NULL) return;
    bool divides = expr->kind == ZF_X_BINARY && (expr->op == ZF_OP_DIV || expr->op == ZF_OP_REM) && expr->b->kind != ZF_X_CONST;
    bool bit = expr->kind == ZF_X_PRIM && expr->prim == ZF_P_NTH_BIT;
    if (expr->kind == ZF_X_INDEX || expr->kind == ZF_X_SLICE || expr->kind == ZF_X_BITS || divides || bit) note(list, expr);
    collect(list, expr->a);
    collect(list, expr->b);
    collect(list, expr->c);
    if (expr->reduce != NULL) collect(list, expr->reduce->term);
}

static void collect_stmts(proof_list *list, const zf_stmt *stmt) {
    for (; stmt != NULL; stmt = stmt->next) {
        if (stmt->local != NULL) collect(list, stmt->local->init);
        collect(list, stmt->place);
        collect(list, stmt->value);
        if (stmt->reduce != NULL) collect(list, stmt->reduce->term);
        collect_stmts(list, stmt->body);
        collect_stmts(list, stmt->else_part);
    }
}

static void check_proofs(void) {
    for (size_t k = 0; k < sizeof proofs / sizeof *proofs; k++) {
        zf_spec *spec = create();
        zf_inst *inst = instance(spec, proofs[k].text, NULL);
        CHECK(inst != NULL, "row %zu", k);
        if (inst != NULL) {
            proof_list list = {0};
            collect_stmts(&list, inst->size.stmts);
            collect(&list, inst->size.value);
            collect_stmts(&list, inst->decode.stmts);
            collect(&list, inst->decode.value);
            collect_stmts(&list, inst->encode.stmts);
            list.letters[list.count] = 0;
            CHECK(strcmp(list.letters, proofs[k].proved) == 0, "%s\n  got  %s\n  want %s", proofs[k].text, list.letters,
                  proofs[k].proved);
        }
        zf_spec_destroy(spec);
    }
}

// ---- Bodies ---------------------------------------------------------------------------------------------------

static void check_generic(void) {
    static const char text[] =
        "algorithm a<T: scalar, W: unsigned = u16>(s: T[], w: W[], param base: T) -> T[] fully_parallel {"
        " decode(i) = s[i] == base ? base : value_of(T, w[i] as unsigned(T)); encode(x) { s.append(x); w.push(8 * "
        "sizeof(T)); if x.len > 0 { base = x[0]; } } }";
    zf_spec *spec = create();
    zf_inst *inst = instance(spec, text, (zf_kind[]){ZF_K_F32, ZF_K_U8});
    CHECK(inst != NULL, "instance");
    if (inst != NULL) {
        zf_text out = {0};
        zf_expr_print(inst->decode.value, &out);
        CHECK(strcmp(out.data, "((bits_of(s[i#0]?) == bits_of(base)) ? base : value_of(f32, (w[i#0]? as u32)))") == 0, "%s",
              out.data);
        zf_text_free(&out);
        CHECK(strcmp(inst->name, "a<f32, u8>") == 0, "%s", inst->name);
        CHECK(inst->params[0]->assigned && inst->streams[0]->written && inst->streams[1]->written, "what encode writes");
        zf_type same[2] = {zf_type_of(ZF_K_F32), zf_type_of(ZF_K_U8)};
        CHECK(zf_spec_instantiate(spec, inst->algorithm, same, (zf_span){0}) == inst, "made once");
        zf_type date = {.kind = ZF_K_I32, .logical = ZF_LOGICAL_DATE32};
        zf_type named[2] = {date, zf_type_of(ZF_K_U8)}, plain[2] = {zf_type_strip(date), zf_type_of(ZF_K_U8)};
        zf_inst *of_dates = zf_spec_instantiate(spec, inst->algorithm, named, (zf_span){0});
        CHECK(of_dates != NULL && of_dates == zf_spec_instantiate(spec, inst->algorithm, plain, (zf_span){0}),
              "a date is an i32");
        zf_type string[2] = {zf_type_of(ZF_K_STRING), zf_type_of(ZF_K_U8)};
        CHECK(zf_spec_instantiate(spec, inst->algorithm, string, (zf_span){0}) == NULL, "no scalar");
    }
    zf_spec_destroy(spec);
}

static void check_shared_domain(void) {
    zf_spec *spec = create();
    zf_inst *inst = instance(spec,
                             "algorithm a(n: u32[]) -> u64[] group_parallel { groups = n.len; size(g) { let v = n[g]; "
                             "return v; } decode(h, j, i) = h + j + i; encode extern \"none\"; }",
                             NULL);
    CHECK(inst != NULL, "instance");
    if (inst != NULL) {
        const zf_local *last = inst->size.locals, *other = inst->decode.locals;
        while (last->next != NULL) last = last->next;
        while (other->next != NULL) other = other->next;
        CHECK(last == inst->domain_g && other == inst->domain_g && last->id == 0, "size and decode share g");
        CHECK(inst->size.local_count == 2 && inst->decode.local_count == 3 && inst->domain_i != NULL, "locals");
    }
    zf_spec_destroy(spec);
}

static void check_evaluate(void) {
    zf_spec *spec = create();
    zf_inst *inst = instance(spec,
                             "const K: u8[3] = [1, 2, 3]; fn f(v: u64) -> u64 = v * 2 + 1; algorithm a(s: u32[2 * (n "
                             "as u64) + f(0) + K[1]], param n: u8, param m: u8) -> u32[] fully_parallel { decode(i) = "
                             "s[0] + n + m; encode extern \"none\"; }",
                             NULL);
    CHECK(inst != NULL, "instance");
    if (inst != NULL) {
        uint64_t params[2] = {20, 0}, bits = 0;
        CHECK(zf_expr_evaluate(inst->streams[0]->length, params, &bits) && bits == 43, "%llu", (unsigned long long)bits);
        CHECK(!zf_expr_evaluate(inst->streams[0]->length, NULL, &bits), "no params known");
        CHECK(!zf_expr_evaluate(inst->decode.value, params, &bits), "a stream is not known");
    }
    zf_spec_destroy(spec);
}

/// Bodies that are long or deep take time in proportion, not more.
static void check_time(void) {
    zf_text text = {0};
    zf_text_puts(&text, "algorithm a(s: u32[], param q: u64) -> u64[] fully_parallel { decode(i) { var x: u64 = 0;\n");
    for (int k = 0; k < 3000; k++) zf_text_printf(&text, "let v%d = q + %d; if v%d < s.len { x += s[v%d]; }\n", k, k, k, k);
    zf_text_puts(&text, "return x; } encode extern \"none\"; }");
    clock_t start = clock();
    zf_spec *spec = create();
    CHECK(instance(spec, text.data, NULL) != NULL, "instance");
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    CHECK(seconds < 5, "%.2f s for 3000 facts", seconds);
    zf_spec_destroy(spec);
    zf_text_free(&text);
}

static void check_drafts_are_quick(void) {
    clock_t start = clock();
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.std_dir = ZF_SOURCE_DIR "/dsl/std"});
    CHECK(zf_spec_add_file(spec, ZF_SOURCE_DIR "/dsl/std/std.zf") && zf_spec_check(spec), "std has errors");
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    CHECK(seconds < 0.5, "%.3f s to check std", seconds); // about 0.005 s; slow machines and sanitizers are forgiven
    zf_spec_destroy(spec);
}

int main(void) {
    check_values();
    check_proofs();
    check_generic();
    check_shared_domain();
    check_evaluate();
    check_time();
    check_drafts_are_quick();
    return check_result();
}
