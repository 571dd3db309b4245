// Links: zipflow-patterns zipflow-runtime
// Programs of block checks as a plan makes them: values of expressions, checks within them, what each check refuses and in which
// order, and which expressions are refused.
#include "patterns/plan/block_checks.h"
#include "runtime/decode/block_check.h"
#include "tests/unit/compositions.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/// A column `c` of table `t`, planned, and its checks.
typedef struct planned {
    zf_spec *spec;
    zf_arena *arena;
    zf_diags diags;
    const zf_plan *plan;
    const zf_block_checks *checks;
} planned;

static planned plan_text(const char *text) {
    planned p = {.spec = zf_spec_create(&(zf_spec_options){.std_dir = ZF_STD}), .arena = zf_arena_create()};
    zf_diags_init(&p.diags, p.arena);
    bool good = zf_spec_add_text(p.spec, "t.zf", text, strlen(text)) && zf_spec_check(p.spec);
    CHECK(good, "%s", text);
    if (!good) show_diagnostics(p.spec);
    const zf_column *column = good ? find_column(p.spec, "t", "c") : NULL;
    zf_graph *graph = column != NULL ? zf_graph_build(p.arena, column, NULL) : NULL;
    if (graph != NULL) p.plan = zf_plan_build(p.arena, graph, NULL, &p.diags);
    if (p.plan == NULL) return p;
    p.checks = p.plan->block_checks;
    const char *fault = zf_block_check_fault(&p.checks->program, p.plan->slot_count, p.plan->check_count + p.checks->count);
    CHECK(fault == NULL, "%s: %s", text, fault);
    return p;
}

static void drop(planned *p) {
    zf_spec_destroy(p->spec);
    zf_arena_destroy(p->arena);
}

/// The violation that a block with these params and counts (of edges) is refused for; 0: none.
static uint32_t violation(const planned *p, const uint64_t *params, const uint64_t *counts) {
    uint64_t slots[32];
    if (p->checks == NULL || p->plan->slot_count > COUNT(slots)) {
        CHECK(false, "no checks");
        return UINT32_MAX;
    }
    for (uint32_t s = 0; s < p->plan->slot_count; s++) {
        const zf_abi_slot *slot = &p->plan->slots[s];
        slots[s] = slot->kind == ZF_SLOT_PARAM ? params[slot->a] : slot->kind == ZF_SLOT_COUNT ? counts[slot->a] : 0;
    }
    uint32_t number = zf_block_check_run(&p->checks->program, slots);
    if (number == ZF_CHECKS_HOLD) return 0;
    bool own = number < p->plan->check_count;
    return own ? p->plan->checks[number].violation : p->checks->checks[number - p->plan->check_count].violation;
}

// ---- Values ---------------------------------------------------------------------------------------------------

enum { P, Q, R, B, X, PARAMS };

/// As many groups as no block may have, unless the expression is x.
static planned plan_groups(const char *expression) {
    zf_text text = {0};
    zf_text_printf(
        &text,
        "const T: i16[4] = [3, -7, 40, 9];\n"
        "fn both(a: u32, b: i32) -> i64 { let c = a as i64 + b as i64; let d = c * c; return d - c; }\n"
        "fn turns(a: u32) -> u32 { var t = a; for k in 0..3 { t = t * 2; } return t; }\n"
        "fn twice(a: u32) = a + a;\n"
        "algorithm a(param p: u32, param q: i32, param r: u8, param b: bool, param x: u64, s: u32[]) -> u32[] group_parallel {\n"
        "  groups = (%s) as u64 == x ? 0 : 100000;\n"
        "  size(g) = 1; decode(g, j) = s[0];\n"
        "  encode(v) { for e in v { s.push(e); } p = 1; q = 1; r = 1; b = false; x = 0; } }\n"
        "table t { c: u32 = a; }\n",
        expression);
    planned p = plan_text(text.data);
    zf_text_free(&text);
    return p;
}

static void test_values(void) {
    static const uint64_t none[] = {0, 0, 0};
    static const struct {
        const char *expression;
        uint64_t p, q, r, b, wanted;
    } cases[] = {
        {"p + 5", UINT32_MAX, 0, 0, 0, 4},
        {"p - 5", 4, 0, 0, 0, UINT32_MAX},
        {"p * p", 65537, 0, 0, 0, 131073},
        {"p as u64 * p as u64", 65537, 0, 0, 0, UINT64_C(65537) * 65537},
        {"q", 0, (uint32_t)-3, 0, 0, (uint64_t)-3}, // a narrow signed param is stored without its sign's copies
        {"-q", 0, (uint32_t)INT32_MIN, 0, 0, (uint64_t)(int64_t)INT32_MIN},
        {"q / 2", 0, (uint32_t)-7, 0, 0, (uint64_t)-3},
        {"q % 4", 0, (uint32_t)-7, 0, 0, (uint64_t)-3},
        {"q >> 1", 0, (uint32_t)-7, 0, 0, (uint64_t)-4},
        {"q >> 40", 0, (uint32_t)-7, 0, 0, (uint64_t)-1},
        {"q as u32 >> 1", 0, (uint32_t)-2, 0, 0, INT32_MAX},
        {"q as u8", 0, (uint32_t)-2, 0, 0, 254},
        {"r as i8", 0, 0, 254, 0, (uint64_t)-2},
        {"p << 31", 3, 0, 0, 0, UINT64_C(1) << 31},
        {"p << 32", 3, 0, 0, 0, 0},
        {"~r", 0, 0, 1, 0, 254},
        {"~q", 0, 5, 0, 0, (uint64_t)-6},
        {"p & 12 | p ^ 3", 10, 0, 0, 0, 9},
        {"p > 4 ? p : 9", 5, 0, 0, 0, 5},
        {"p > 4 ? p : 9", 4, 0, 0, 0, 9},
        {"p >= 4 && q < 0 ? 1 : 2", 4, (uint32_t)-1, 0, 0, 1},
        {"p >= 4 && q < 0 ? 1 : 2", 3, (uint32_t)-1, 0, 0, 2},
        {"p <= 4 || q != 1 ? 1 : 2", 5, 1, 0, 0, 2},
        {"p <= 4 || q != 1 ? 1 : 2", 4, 1, 0, 0, 1},
        {"b", 0, 0, 0, 7, 1}, // any word but 0
        {"!b ? 3 : 4", 0, 0, 0, 1, 4},
        {"min(q, 3)", 0, (uint32_t)-1, 0, 0, (uint64_t)-1},
        {"max(q, 3)", 0, (uint32_t)-1, 0, 0, 3},
        {"max(p, 3)", UINT32_MAX, 0, 0, 0, UINT32_MAX},
        {"min(p, 3)", UINT32_MAX, 0, 0, 0, 3},
        {"popcount(q)", 0, (uint32_t)-1, 0, 0, 32},
        {"bit_width(p)", 1000, 0, 0, 0, 10},
        {"clz(r)", 0, 0, 1, 0, 7},
        {"ctz(r)", 0, 0, 0, 0, 8},
        {"ctz(p)", 40, 0, 0, 0, 3},
        {"T[p & 3]", 1, 0, 0, 0, (uint64_t)-7},
        {"T.len", 0, 0, 0, 0, 4},
        {"both(p, q)", 10, (uint32_t)-3, 0, 0, 42},
        {"twice(twice(p + 1))", 4, 0, 0, 0, 20},
        {"both(twice(p), q) - both(p, q)", 10, 1, 0, 0, 310},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        planned p = plan_groups(cases[k].expression);
        for (uint64_t wrong = 0; wrong < 2; wrong++) {
            uint64_t params[PARAMS] = {cases[k].p, cases[k].q, cases[k].r, cases[k].b, cases[k].wanted ^ wrong};
            CHECK(violation(&p, params, none) == (wrong ? 25 : 0), "%s is not %llu", cases[k].expression,
                  (unsigned long long)cases[k].wanted);
        }
        drop(&p);
    }
}

/// Checks within the number of groups are those of the language; an arm that is not taken is not checked.
static void test_within(void) {
    static const uint64_t none[] = {0, 0, 0};
    static const struct {
        const char *expression;
        uint64_t q, r;
        uint32_t wanted;
    } cases[] = {
        {"100 / r", 0, 0, 7},
        {"100 / r", 0, 7, 25},
        {"100 % r", 0, 0, 7},
        {"100 / q", (uint32_t)-1, 0, 25},
        {"T[r]", 0, 4, 1},
        {"T[r]", 0, 3, 25},
        {"q > 0 ? 100 / r : 9", 1, 0, 7},
        {"q > 0 ? 100 / r : 9", 0, 0, 25},
        {"q > 0 && 100 / r > 1", 1, 0, 7},
        {"q > 0 && 100 / r > 1", 0, 0, 25},
        {"q > 0 || 100 / r > 1", 0, 0, 7},
        {"q > 0 || 100 / r > 1", 1, 0, 25},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        planned p = plan_groups(cases[k].expression);
        const uint64_t params[PARAMS] = {0, cases[k].q, cases[k].r, 0, 12345};
        uint32_t got = violation(&p, params, none);
        CHECK(got == cases[k].wanted, "%s: V%02u, not V%02u", cases[k].expression, got, cases[k].wanted);
        drop(&p);
    }
}

// ---- Checks ---------------------------------------------------------------------------------------------------

typedef struct block {
    uint64_t params[4], counts[4];
    uint32_t wanted;
} block;

static void check_blocks(const char *text, const block *blocks, size_t count) {
    planned p = plan_text(text);
    for (size_t k = 0; k < count; k++) {
        uint32_t got = violation(&p, blocks[k].params, blocks[k].counts);
        CHECK(got == blocks[k].wanted, "block %zu: V%02u, not V%02u, of %s", k, got, blocks[k].wanted, text);
    }
    drop(&p);
}

static void test_checks(void) {
    // Edges: the column, then the streams in order.
    static const block ranges[] = {
        {{5, (uint32_t)-3}, {8, 5, 8}, 0},
        {{0, (uint32_t)-3}, {8, 0, 8}, 20},
        {{6, (uint32_t)-3}, {8, 6, 8}, 20},
        {{5, (uint32_t)-6}, {8, 5, 8}, 20},
        {{5, 6}, {8, 5, 8}, 20},
        {{5, 5}, {8, 5, 8}, 0},
        {{5, (uint32_t)-3}, {8, 4, 8}, 21},
        {{6, 0}, {8, 4, 7}, 20}, // the first that fails
        {{5, 0}, {8, 4, 7}, 21},
        {{5, 0}, {8, 5, 7}, 1},
        {{5, 0}, {0, 5, 0}, 0},
        {{5, 0}, {8, 5, 9}, 0},
    };
    check_blocks(
        "algorithm a(param n: u8 in 1..=5, param m: i32 in -5..=n as i32, t: u32[n as u64], s: u32[]) -> u32[] fully_parallel {\n"
        "  decode(i) = s[i] + t[0];\n"
        "  encode(x) { n = 1; m = 0; t.push(0); for v in x { s.push(v); } } }\n"
        "table t { c: u32 = a; }\n",
        ranges, COUNT(ranges));
    static const block bits[] = {
        {{7}, {32, 7}, 0}, {{7}, {32, 6}, 1}, {{32}, {1, 1}, 0}, {{33}, {1, 2}, 20}, {{7}, {0, 0}, 0}, {{0}, {9, 0}, 0},
    };
    check_blocks("algorithm a(param w: u8 in 0..=32, s: u32[]) -> u32[] fully_parallel {\n"
                 "  decode(i) = s.bits(i * w as u64, w as u64) as u32;\n"
                 "  encode(x) { w = 32; for v in x { s.push_bits(v, 32); } } }\n"
                 "table t { c: u32 = a; }\n",
                 bits, COUNT(bits));
    static const block groups[] = {
        {{65536 + 64 * 9}, {4, 1, 1}, 0},
        {{65536 + 64 * 9 + 1}, {4, 1, 1}, 25}, // 4 elements and 5 bytes
        {{3}, {4, 1, 0}, 1},
        {{0}, {0, 0, 0}, 0},
        {{3}, {4, 1, 1}, 0},
    };
    check_blocks("algorithm a(param n: u64, s: u32[], t: u8[]) -> u32[] group_parallel {\n"
                 "  groups = n; size(g) = 1; decode(g, j) = s[j] + t[g / 100000];\n"
                 "  encode(x) { n = 0; s.push(1); t.push(1); } }\n"
                 "table t { c: u32 = a; }\n",
                 groups, COUNT(groups));
    // A param outside its range is reported alone, also where a later check with a smaller number fails.
    static const block order[] = {{{0, 0}, {0, 1}, 20}, {{1, 0}, {0, 1}, 7}, {{1, 1}, {0, 1}, 0}};
    check_blocks("algorithm a(param n: u8 in 1..=5, param r: u8, s: u32[]) -> u32[] group_parallel {\n"
                 "  groups = (100 / r) as u64; size(g) = 1; decode(g, j) = s[0] + n as u32;\n"
                 "  encode(x) { n = 1; r = 1; for v in x { s.push(v); } } }\n"
                 "table t { c: u32 = a; }\n",
                 order, COUNT(order));
}

// ---- Refusals -------------------------------------------------------------------------------------------------

static void refuse_groups(const char *expression, zf_diag_code code) {
    planned p = plan_groups(expression);
    CHECK(p.checks == NULL && p.diags.first != NULL && p.diags.first->code == code, "%.60s: %s", expression,
          p.diags.first != NULL ? p.diags.first->message : "no diagnostic");
    drop(&p);
}

static void test_refused(void) {
    refuse_groups("(p as f64 * 1.5) as u64", ZF_D_NOT_LOWERED);
    refuse_groups("sum(k in 0..4: T[k] as u64 * p as u64)", ZF_D_NOT_LOWERED);
    refuse_groups("nth_bit(p, 1)", ZF_D_NOT_LOWERED);
    refuse_groups("turns(p)", ZF_D_NOT_LOWERED);
}

int main(void) {
    test_values();
    test_within();
    test_checks();
    test_refused();
    return check_result();
}
