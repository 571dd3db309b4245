// Forms that name a stream in a particular way: indices that are affine in the domain's, which are checked once per block;
// streams of a fixed length; functions over streams; bits of values.
#include <string.h>

#include "tests/differential/generator/gen_internal.h"

#define PUT(...) zf_text_printf(g->out, __VA_ARGS__)

// "i" or "g", where it may be named.
static const char *domain(const gen *g) {
    for (uint32_t k = g->name_count; k-- > 0;) {
        const gen_name *name = &g->names[k];
        if (!name->stream && (strcmp(name->name, "i") == 0 || strcmp(name->name, "g") == 0)) return name->name;
    }
    return NULL;
}

static const gen_name *some_name(gen *g, bool stream, char first) {
    for (int tries = 0; tries < 8 && g->name_count > 0; tries++) {
        const gen_name *name = &g->names[gen_below(g, g->name_count)];
        if (name->stream == stream && name->name[0] == first && !name->fixed) return name;
    }
    return NULL;
}

static void as(gen *g, zf_kind from, zf_kind to) {
    if (to == from)
        PUT(")");
    else if (to == ZF_K_BOOL)
        PUT(" != %s)", zf_kind_is_float(from) ? "0.0" : "0");
    else
        PUT(" as %s)", zf_kind_name(to));
}

static void affine_index(gen *g, const char *d) {
    unsigned c = 1 + (unsigned)gen_below(g, 7);
    bool wild = gen_has(g, GEN_WILD) && gen_chance(g, 25);
    switch (gen_below(g, 6)) {
    case 0: PUT("%s / %u", d, c); return;
    case 1: PUT("%s / %u * %u", d, c, c); return;
    case 2:
        if (*d == 'i')
            PUT("out.len - 1 - i");
        else
            PUT("g");
        return;
    case 3:
        if (wild)
            PUT("%s * %u", d, c);
        else
            PUT("%s", d);
        return;
    default: PUT("%s + %u", d, (unsigned)gen_below(g, wild ? 5 : 2)); return;
    }
}

static bool affine_element(gen *g, zf_kind kind) {
    const char *d = domain(g);
    const gen_name *stream = some_name(g, true, 's');
    if (!d || !stream || (stream->kind == ZF_K_BOOL && zf_kind_is_float(kind))) return false;
    PUT("(%s[", stream->name);
    affine_index(g, d);
    PUT("]");
    as(g, stream->kind, kind);
    return true;
}

static bool affine_bits(gen *g, zf_kind kind) {
    const char *d = domain(g);
    const gen_name *stream = some_name(g, true, 's'), *param = some_name(g, false, 'p');
    if (!d || !stream || !zf_kind_is_unsigned(stream->kind) || zf_kind_is_float(kind)) return false;
    unsigned width = (unsigned)gen_below(g, 40);
    if (param && zf_kind_is_unsigned(param->kind) && gen_chance(g, 50))
        PUT("(%s.bits(%s * (%s & 15), (%s & 15))", stream->name, d, param->name, param->name);
    else
        PUT("(%s.bits(%s * %u + %u, %u)", stream->name, d, width, (unsigned)gen_below(g, 24), width);
    as(g, ZF_K_U64, kind);
    return true;
}

static bool fixed_element(gen *g, zf_kind kind, unsigned depth) {
    const gen_name *stream = NULL;
    for (uint32_t k = 0; k < g->name_count; k++)
        if (g->names[k].stream && g->names[k].fixed) stream = &g->names[k];
    if (!stream || (stream->kind == ZF_K_BOOL && zf_kind_is_float(kind))) return false;
    PUT("(%s[", stream->name);
    gen_expr(g, ZF_K_U32, depth - 1);
    PUT(" %s]", gen_has(g, GEN_WILD) && gen_chance(g, 10) ? "& 15" : gen_chance(g, 50) ? "& 7" : "% 8");
    as(g, stream->kind, kind);
    return true;
}

static bool call(gen *g, zf_kind kind, unsigned depth) {
    const char *d = domain(g);
    if (!g->at_stream[0] || !d || g->reductions || (g->at_kind == ZF_K_BOOL && zf_kind_is_float(kind))) return false;
    PUT("(at(");
    if (gen_chance(g, 50))
        affine_index(g, d);
    else {
        PUT("min(");
        gen_expr(g, ZF_K_U64, depth - 1);
        PUT(", %s.len - 1)", g->at_stream);
    }
    PUT(")");
    as(g, g->at_kind, kind);
    return true;
}

static bool value_bits(gen *g, zf_kind kind) {
    const gen_name *stream = some_name(g, true, 's');
    if (!stream || !stream->index || !zf_kind_is_float(stream->kind) || kind == ZF_K_BOOL || zf_kind_is_float(kind)) return false;
    PUT("(bits_of(%s[%s]) as %s)", stream->name, stream->index, zf_kind_name(kind));
    return true;
}

static bool set_bit(gen *g, zf_kind kind, unsigned depth) {
    static const zf_kind kinds[] = {ZF_K_U8, ZF_K_U16, ZF_K_U32, ZF_K_U64};
    if (kind == ZF_K_BOOL || zf_kind_is_float(kind)) return false;
    PUT("(nth_bit((");
    gen_expr(g, kinds[gen_below(g, 4)], depth - 1);
    if (gen_has(g, GEN_WILD) && gen_chance(g, 20))
        PUT("), %u)", (unsigned)gen_below(g, 3));
    else
        PUT(" | 5), %u)", (unsigned)gen_below(g, 2));
    PUT(" as %s)", zf_kind_name(kind));
    return true;
}

bool gen_form(gen *g, zf_kind kind, unsigned depth) {
    switch (gen_below(g, 8)) {
    case 0:
    case 1:
    case 2: return !g->reductions && affine_element(g, kind);
    case 3: return !g->reductions && affine_bits(g, kind);
    case 4: return fixed_element(g, kind, depth);
    case 5: return call(g, kind, depth);
    case 6: return value_bits(g, kind);
    default: return set_bit(g, kind, depth);
    }
}

// ---- Statements -----------------------------------------------------------------------------------------------

static void local_array(gen *g, unsigned v, zf_kind kind) {
    PUT("        var a%u: %s[4];\n        for n%u in 0..4 { a%u[n%u] = ", v, zf_kind_name(kind), v, v, v);
    gen_expr(g, kind, 2);
    PUT("; }\n        a%u[", v);
    gen_expr(g, ZF_K_U32, 1);
    PUT(" & 3] = ");
    gen_expr(g, kind, 2);
    PUT(";\n        let v%u: %s = a%u[", v, zf_kind_name(kind), v);
    gen_expr(g, ZF_K_U64, 2);
    PUT(" %% 4];\n");
}

static void counted_loop(gen *g, unsigned v, zf_kind kind) {
    PUT("        var v%u: %s = 3;\n        for n%u in 0..((", v, zf_kind_name(kind), v);
    gen_expr(g, ZF_K_U32, 2);
    PUT(" & 7) as u64) {\n            if ");
    gen_expr(g, ZF_K_BOOL, 2);
    PUT(" { %s; }\n            v%u = v%u * 3 + ", gen_chance(g, 50) ? "break" : "continue", v, v);
    gen_expr(g, kind, 2);
    PUT(";\n        }\n");
}

static void halving_loop(gen *g, unsigned v, zf_kind kind) {
    PUT("        var v%u: %s = ", v, zf_kind_name(kind));
    gen_expr(g, kind, 2);
    PUT(";\n        for n%u in 0..%u { if v%u == 0 { break; } v%u = v%u / 2; }\n", v, 1 + (unsigned)gen_below(g, 9), v, v, v);
}

void gen_statement(gen *g, unsigned number, zf_kind result) {
    zf_kind kind = gen_integer(g);
    switch (gen_below(g, 4)) {
    case 0: local_array(g, number, kind); break;
    case 1: counted_loop(g, number, kind); break;
    case 2: halving_loop(g, number, kind); break;
    default:
        PUT("        if ");
        gen_expr(g, ZF_K_BOOL, 2);
        PUT(" { return ");
        gen_expr(g, result, 2);
        PUT("; }\n");
        return;
    }
    gen_declare_local(g, number, kind);
}

void gen_stream_function(gen *g) {
    const gen_name *stream = some_name(g, true, 's');
    g->at_stream[0] = 0;
    if (!stream || !gen_has(g, GEN_GATHERS) || !gen_chance(g, 25)) return;
    strcpy(g->at_stream, stream->name);
    g->at_kind = stream->kind;
    PUT("    fn at(k) -> %s = %s[k];\n", zf_kind_name(stream->kind), stream->name);
}
