// Random algorithms, functions, constants.
#include <stdio.h>
#include <string.h>

#include "tests/differential/generator/gen_internal.h"

#define PUT(...) zf_text_printf(g->out, __VA_ARGS__)

// ---- Names ----------------------------------------------------------------------------------------------------

gen_name *gen_declare(gen *g, const char *prefix, zf_kind kind) {
    if (g->name_count == GEN_NAMES) g->name_count--;
    gen_name *name = &g->names[g->name_count++];
    *name = (gen_name){.kind = kind};
    snprintf(name->name, sizeof name->name, "%s%u", prefix, g->fresh++);
    return name;
}

void gen_declare_index(gen *g, const char *index) {
    gen_name *name = gen_declare(g, "", ZF_K_U64);
    snprintf(name->name, sizeof name->name, "%s", index);
}

void gen_functions(gen *g) {
    PUT("const TAB: i32[8] = [");
    for (int k = 0; k < 8; k++) PUT("%s%d", k ? ", " : "", (int)gen_below(g, 2000) - 1000);
    PUT("];\n");
    if (!gen_has(g, GEN_FUNCTIONS)) return;
    bool leaves = g->leaves_only;
    g->leaves_only = true;
    g->at_stream[0] = 0;
    g->name_count = 0;
    *gen_declare(g, "a", ZF_K_U32) = (gen_name){.name = "a", .kind = ZF_K_U32};
    *gen_declare(g, "b", ZF_K_I64) = (gen_name){.name = "b", .kind = ZF_K_I64};
    PUT("fn f0(a: u32, b: i64) -> i64 ");
    if (gen_chance(g, 50)) {
        PUT("= ");
        gen_expr(g, ZF_K_I64, g->depth - 1);
        PUT(";\n");
    } else {
        PUT("{\n    if ");
        gen_expr(g, ZF_K_BOOL, 2);
        PUT(" { return ");
        gen_expr(g, ZF_K_I64, 2);
        PUT("; }\n    return ");
        gen_expr(g, ZF_K_I64, g->depth - 1);
        PUT(";\n}\n");
    }
    g->leaves_only = leaves;
    g->has_function = true;
}

// ---- Ports ----------------------------------------------------------------------------------------------------

void gen_stream_port(gen *g, gen_algorithm *made, zf_kind kind, const char *index, const char *extra) {
    made->streams[made->stream_count] = kind;
    gen_name *name = gen_declare(g, "", kind);
    snprintf(name->name, sizeof name->name, "s%u", made->stream_count++);
    name->stream = true;
    name->index = index;
    PUT("%s: %s[]%s", name->name, zf_kind_name(kind), extra);
}

static void param_port(gen *g, gen_algorithm *made) {
    zf_kind kind = gen_integer(g);
    gen_name *name = gen_declare(g, "", kind);
    snprintf(name->name, sizeof name->name, "p%u", made->param_count++);
    PUT(", param %s: %s", name->name, zf_kind_name(kind));
    if (gen_chance(g, 60)) PUT(" in 0..=%u", (unsigned)(1 + gen_below(g, 100)));
    if (gen_chance(g, 12)) PUT(" = 1");
}

static const char *range_of(gen *g, zf_kind kind) {
    if (!zf_kind_is_integer(kind) || !gen_chance(g, 30)) return "";
    return gen_chance(g, 50) ? " in 0..=100" : " in 1..=60";
}

// ---- Bodies ---------------------------------------------------------------------------------------------------

void gen_declare_local(gen *g, unsigned number, zf_kind kind) {
    gen_name *name = gen_declare(g, "", kind);
    snprintf(name->name, sizeof name->name, "v%u", number);
}

static void statements(gen *g, zf_kind result) {
    for (uint64_t n = gen_below(g, 4); n > 0; n--) {
        zf_kind kind = gen_kind(g);
        unsigned v = g->fresh++; // the number of what is declared here
        switch (gen_below(g, 8)) {
        case 0:
        case 1: {
            PUT("        let v%u = (", v);
            gen_expr(g, kind, g->depth - 1);
            PUT(" == ");
            gen_expr(g, kind, 1);
            PUT(");\n");
            gen_declare_local(g, v, ZF_K_BOOL);
            break;
        }
        case 2: {
            kind = gen_integer(g);
            PUT("        let v%u: %s = ", v, zf_kind_name(kind));
            gen_expr(g, kind, g->depth - 1);
            PUT(";\n");
            gen_declare_local(g, v, kind);
            break;
        }
        case 3: {
            kind = gen_integer(g);
            PUT("        var v%u: %s = ", v, zf_kind_name(kind));
            gen_expr(g, kind, 2);
            PUT(";\n        if ");
            gen_expr(g, ZF_K_BOOL, 2);
            PUT(" { v%u += ", v);
            gen_expr(g, kind, 2);
            PUT("; }");
            if (gen_chance(g, 50)) {
                PUT(" else { v%u = ", v);
                gen_expr(g, kind, 2);
                PUT("; }");
            }
            PUT("\n");
            gen_declare_local(g, v, kind);
            break;
        }
        case 4: {
            kind = gen_integer(g);
            PUT("        var v%u: %s = 1;\n        for n%u in 0..%u { v%u = ", v, zf_kind_name(kind), v,
                1 + (unsigned)gen_below(g, 5), v);
            gen_declare_local(g, v, kind);
            gen_name *round = gen_declare(g, "n", ZF_K_U64);
            snprintf(round->name, sizeof round->name, "n%u", v);
            gen_expr(g, kind, 2);
            g->name_count--;
            PUT("; }\n");
            break;
        }
        case 5:
        case 6: gen_statement(g, v, result); break;
        default:
            PUT("        require ");
            if (gen_has(g, GEN_WILD) && gen_chance(g, 30))
                gen_expr(g, ZF_K_BOOL, 2);
            else {
                PUT("(");
                gen_expr(g, ZF_K_U32, 2);
                PUT(" != 0x%llx)", (unsigned long long)(data_next(&g->random) & 0xffffffff));
            }
            PUT(";\n");
        }
    }
    PUT("        return ");
    gen_expr(g, result, g->depth);
    PUT(";\n");
}

static void body(gen *g, const char *head, zf_kind result) {
    PUT("    %s", head);
    if (gen_has(g, GEN_STATEMENTS) && gen_chance(g, 40)) {
        PUT(" {\n");
        statements(g, result);
        PUT("    }\n");
    } else {
        PUT(" = ");
        gen_expr(g, result, g->depth);
        PUT(";\n");
    }
}

void gen_params(gen *g, gen_algorithm *made) {
    for (uint64_t n = gen_below(g, 3); n > 0; n--) param_port(g, made);
}

// A table of 8 elements.
static void fixed_port(gen *g, gen_algorithm *made) {
    if (!gen_has(g, GEN_GATHERS) || !gen_chance(g, 15)) return;
    zf_kind kind = gen_kind(g);
    gen_name *name = gen_declare(g, "", kind);
    made->streams[made->stream_count] = kind;
    snprintf(name->name, sizeof name->name, "s%u", made->stream_count++);
    name->stream = name->fixed = true;
    PUT(", %s: %s[8]", name->name, zf_kind_name(kind));
}

static void fully_parallel(gen *g, gen_algorithm *made) {
    for (uint64_t n = 1 + gen_below(g, 3), k = 0; k < n; k++) {
        zf_kind kind = gen_kind(g);
        if (k) PUT(", ");
        gen_stream_port(g, made, kind, "i", range_of(g, kind));
    }
    fixed_port(g, made);
    gen_params(g, made);
    PUT(") -> %s[] fully_parallel {\n", zf_kind_name(made->result));
    gen_stream_function(g);
    gen_declare_index(g, "i");
    body(g, "decode(i)", made->result);
}

// Elements that groups do not decide, but for the last of each.
static void exceptions(gen *g, zf_kind result) {
    gen_name all[GEN_NAMES];
    uint32_t count = g->name_count;
    memcpy(all, g->names, sizeof all);
    g->name_count = 0;
    for (uint32_t k = 0; k < count; k++) {
        bool of_group = all[k].stream ? all[k].fixed || strcmp(all[k].index, "i") != 0
                                      : strcmp(all[k].name, "g") == 0 || strcmp(all[k].name, "j") == 0;
        if (!of_group) g->names[g->name_count++] = all[k];
    }
    static const char *const from[] = {"s0[g]", "s0[g] / 2", "g % 3"};
    const char *begins = from[gen_below(g, 3)];
    zf_kind kind = gen_integer(g);
    unsigned v = g->fresh++;
    bool regular = gen_chance(g, 60), leaves = g->leaves_only;
    PUT("    decode(g, j, i) {\n        let v%u: %s = ", v, zf_kind_name(kind));
    gen_expr(g, kind, g->depth - 1);
    gen_declare_local(g, v, kind);
    gen_name own = g->names[g->name_count - 1];
    PUT(";\n        return j %s %s ? ", regular ? "<" : ">=", begins);
    for (unsigned arm = 0; arm < 2; arm++) {
        if ((arm == 0) == regular) {
            g->leaves_only = true;
            gen_expr(g, result, 2);
            g->leaves_only = leaves;
        } else {
            gen_name some[GEN_NAMES];
            uint32_t few = g->name_count;
            memcpy(some, g->names, sizeof some);
            memcpy(g->names, all, sizeof all);
            g->name_count = count;
            if (count < GEN_NAMES) g->names[g->name_count++] = own;
            gen_expr(g, result, g->depth);
            memcpy(g->names, some, sizeof some);
            g->name_count = few;
        }
        PUT(arm == 0 ? " : " : ";\n    }\n");
    }
    memcpy(g->names, all, sizeof all);
    g->name_count = count;
}

static void group_parallel(gen *g, gen_algorithm *made) {
    bool indexed = gen_chance(g, 30);
    gen_stream_port(g, made, gen_chance(g, 50) ? ZF_K_U32 : ZF_K_U8, "g", gen_chance(g, 50) ? " in 0..=12" : " in 1..=9");
    for (uint64_t n = gen_below(g, 3); n > 0; n--) {
        zf_kind kind = gen_kind(g);
        PUT(", ");
        gen_stream_port(g, made, kind, indexed && gen_chance(g, 50) ? "i" : "g", range_of(g, kind));
    }
    fixed_port(g, made);
    gen_params(g, made);
    PUT(") -> %s[] group_parallel {\n    groups = s0.len;\n", zf_kind_name(made->result));
    gen_stream_function(g);
    switch (gen_below(g, 5)) {
    case 0: PUT("    size(g) = s0[g] + (g & 1);\n"); break;
    case 1: PUT("    size(g) = (s0[g] %% 7) as u64;\n"); break;
    case 2: PUT("    size(g) = popcount(s0[g]);\n"); break;
    default: PUT("    size(g) = s0[g];\n");
    }
    gen_declare_index(g, "g");
    gen_declare_index(g, "j");
    if (indexed) gen_declare_index(g, "i");
    if (indexed && gen_chance(g, 50)) {
        exceptions(g, made->result);
        return;
    }
    body(g, indexed ? "decode(g, j, i)" : "decode(g, j)", made->result);
}

static void non_parallel(gen *g, gen_algorithm *made) {
    made->chunks = true;
    g->at_stream[0] = 0;
    bool lanes = gen_chance(g, 40);
    gen_stream_port(g, made, lanes ? ZF_K_U16 : ZF_K_U8, NULL, " per chunk");
    zf_kind kind = gen_integer(g);
    PUT(", ");
    gen_stream_port(g, made, kind, NULL, "");
    gen_params(g, made);
    g->names[0] = g->names[--g->name_count]; // the cursor's stream has no other use
    PUT(") -> %s[] non_parallel(chunk = %u%s) {\n", zf_kind_name(made->result), 20 + (unsigned)gen_below(g, 300),
        lanes ? ", lanes = 4" : "");
    if (lanes) {
        PUT("    state x: u32 = lane as u32 + 1;\n    decode(i) {\n        let c = src_next();\n        x = x * 5 + "
            "c;\n        return ");
        *gen_declare(g, "", ZF_K_U16) = (gen_name){.name = "c", .kind = ZF_K_U16};
        *gen_declare(g, "", ZF_K_U32) = (gen_name){.name = "x", .kind = ZF_K_U32};
        gen_expr(g, made->result, g->depth - 1);
        PUT(";\n    }\n    fn src_next() -> u16 = s0.next();\n");
        return;
    }
    PUT("    decode {\n        while out.pos < out.len {\n            let c = s0.u8();\n            emit k in "
        "0..min((c & 7) as u64, out.len - out.pos): ");
    *gen_declare(g, "", ZF_K_U8) = (gen_name){.name = "c", .kind = ZF_K_U8};
    *gen_declare(g, "", ZF_K_U64) = (gen_name){.name = "k", .kind = ZF_K_U64};
    gen_expr(g, made->result, g->depth - 1);
    PUT(";\n            if out.pos < out.len { emit ");
    g->name_count--; // k
    gen_expr(g, made->result, 2);
    PUT("; }\n        }\n    }\n");
}

void gen_algorithm_text(gen *g, uint32_t number) {
    gen_algorithm *made = &g->algorithms[number];
    *made = (gen_algorithm){.result = gen_kind(g)};
    snprintf(made->name, sizeof made->name, "made%u", number);
    g->name_count = 0;
    PUT("algorithm %s(", made->name);
    if (gen_has(g, GEN_CHUNKS) && gen_chance(g, 15))
        non_parallel(g, made);
    else if (gen_has(g, GEN_GROUPS) && gen_chance(g, 40))
        group_parallel(g, made);
    else
        fully_parallel(g, made);
    PUT("    encode extern \"none\";\n}\n");
}
