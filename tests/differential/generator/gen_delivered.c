// Columns that are more than their elements: strings and nulls, by std's algorithms and by ones with random bodies.
#include <stdio.h>

#include "tests/differential/generator/gen_internal.h"

#define PUT(...) zf_text_printf(g->out, __VA_ARGS__)

// ---- Codecs ---------------------------------------------------------------------------------------------------

static bool made_for(gen *g, zf_kind kind, bool nullable, unsigned depth) {
    for (uint32_t k = 0; k < g->algorithm_count; k++) {
        if (g->algorithms[k].result != kind || g->algorithms[k].nullable != nullable || !gen_chance(g, 60)) continue;
        gen_made_codec(g, &g->algorithms[k], depth);
        return true;
    }
    return false;
}

// At the leaves of strings there is always `strings`, since no stream holds any.
void gen_text_codec(gen *g, unsigned depth) {
    static const struct {
        const char *name, *numbers, *texts; // streams
    } forms[] = {{"dictionary", "codes", "entries"}, {"rle", "counts", "values"}, {"plain", NULL, "values"}};
    if (depth > 0 && made_for(g, ZF_K_STRING, false, depth)) return;
    size_t count = sizeof forms / sizeof forms[0], form = depth == 0 ? count : gen_below(g, 5);
    bool first = true;
    if (form < count) {
        PUT("%s", forms[form].name);
        if (forms[form].numbers != NULL) gen_argument(g, forms[form].numbers, ZF_K_U32, false, depth, &first);
        PUT("%s%s: ", first ? "(" : ", ", forms[form].texts);
        gen_text_codec(g, depth - 1);
        PUT(")");
        return;
    }
    PUT("strings");
    gen_argument(g, "lengths", ZF_K_U32, false, depth, &first);
    if (depth > 0 && gen_chance(g, 30)) {
        bool inner = true;
        PUT("%sbytes: words", first ? "(" : ", ");
        gen_argument(g, "tokens", ZF_K_U32, false, depth - 1, &inner);
        PUT("%sentries: ", inner ? "(" : ", ");
        gen_text_codec(g, depth - 1);
        PUT(")");
        first = false;
    } else {
        gen_argument(g, "bytes", ZF_K_U8, false, depth, &first);
    }
    if (!first) PUT(")");
}

static void std_nullable(gen *g, zf_kind kind, unsigned depth) {
    bool first = true;
    PUT("nullable");
    gen_argument(g, "validity", ZF_K_BOOL, false, depth, &first);
    if (kind == ZF_K_STRING) {
        PUT("%svalues: ", first ? "(" : ", ");
        gen_text_codec(g, depth);
        first = false;
    } else {
        gen_argument(g, "values", kind, false, depth, &first);
    }
    if (!first) PUT(")");
}

// At the leaves of nulls there is always `nullable`.
static void nullable_codec(gen *g, zf_kind kind, unsigned depth) {
    if (depth > 0 && made_for(g, kind, true, depth)) return;
    bool first = true;
    switch (depth > 0 ? gen_below(g, 6) : 3) {
    case 0: PUT("rle(values: "); break;
    case 1:
        PUT("dictionary");
        gen_argument(g, "codes", ZF_K_U32, false, depth, &first);
        PUT("%sentries: ", first ? "(" : ", ");
        break;
    default: std_nullable(g, kind, depth > 0 ? depth - 1 : 0); return;
    }
    nullable_codec(g, kind, depth - 1);
    PUT(")");
}

void gen_delivered_codec(gen *g, zf_kind kind, bool nullable, unsigned depth) {
    if (nullable)
        nullable_codec(g, kind, depth);
    else
        gen_text_codec(g, depth);
}

// ---- Programs of std ------------------------------------------------------------------------------------------

bool gen_delivered_program(gen *g, uint64_t seed) {
    data_random own = {.state = seed ^ UINT64_C(0x5bd1e995)}; // the others stay as they are
    uint64_t form = data_below(&own, 8);
    unsigned depth = gen_has(g, GEN_NESTS) ? (unsigned)data_below(&own, g->nest + 1) : 0;
    if (form > 3) return false;
    bool nullable = form > 0, text = form < 2, runs = form == 3 && depth > 0;
    zf_kind kind = text ? ZF_K_STRING : gen_kind(g);
    PUT("table t {\n    c: %s%s = ", zf_kind_name(kind), nullable ? "?" : "");
    if (runs) PUT("rle(values: ");
    if (nullable)
        std_nullable(g, kind, depth);
    else
        gen_text_codec(g, depth);
    PUT("%s;\n}\n", runs ? ")" : "");
    return true;
}

// ---- Algorithms with random bodies ----------------------------------------------------------------------------

/// The names that the body may use besides numbers; "": none.
typedef struct ports {
    const char *index;
    char bytes[8], texts[8], nulls[8]; ///< streams: of u8, of strings, of what may be null
    zf_kind null_kind;
    unsigned from, to; ///< numbers of the locals between which bytes are taken
} ports;

static void other_port(gen *g, gen_algorithm *made, zf_kind kind, bool nullable, char name[8]) {
    made->streams[made->stream_count] = kind;
    made->nulls[made->stream_count] = nullable;
    snprintf(name, 8, "s%u", made->stream_count);
    PUT("%ss%u: %s%s[]", made->stream_count > 0 ? ", " : "", made->stream_count, zf_kind_name(kind), nullable ? "?" : "");
    made->stream_count++;
}

static void text_value(gen *g, const ports *p, unsigned depth) {
    bool bytes = p->bytes[0] != 0 && (p->texts[0] == 0 || gen_chance(g, 50));
    if (depth > 0 && gen_chance(g, 30)) {
        PUT("(");
        gen_expr(g, ZF_K_BOOL, 2);
        PUT(" ? ");
        text_value(g, p, depth - 1);
        PUT(" : ");
        text_value(g, p, depth - 1);
        PUT(")");
    } else if (bytes) {
        PUT("%s[v%u..v%u]", p->bytes, p->from, p->to);
    } else if (gen_chance(g, 40)) {
        PUT("%s[min(", p->texts);
        gen_expr(g, ZF_K_U64, 2);
        PUT(", %s.len - 1)]", p->texts);
    } else if (gen_chance(g, 30)) {
        const char *at = p->index;
        PUT("%s[%s][min(", p->texts, at);
        gen_expr(g, ZF_K_U64, 1);
        PUT(", %s[%s].len)..%s[%s].len]", p->texts, at, p->texts, at);
    } else {
        PUT("%s[%s]", p->texts, p->index);
    }
}

static void value(gen *g, const ports *p, zf_kind kind, bool of_null) {
    if (kind == ZF_K_STRING) {
        text_value(g, p, 2);
    } else if (of_null && p->null_kind == kind) {
        PUT("%s[%s].value", p->nulls, p->index);
    } else {
        gen_expr(g, kind, g->depth - 1);
    }
}

static void nullable_value(gen *g, const ports *p, zf_kind kind) {
    bool given = p->nulls[0] != 0 && gen_chance(g, 70), turned = gen_chance(g, 50);
    if (given && p->null_kind == kind && gen_chance(g, 30)) {
        PUT("%s[%s]", p->nulls, p->index);
        return;
    }
    PUT("(");
    if (given)
        PUT("%s[%s] %s null", p->nulls, p->index, turned ? "==" : "!=");
    else
        gen_expr(g, ZF_K_BOOL, 2);
    PUT(" ? ");
    if (turned) PUT("null : ");
    value(g, p, kind, given);
    if (!turned) PUT(" : null");
    PUT(")");
}

static void locals(gen *g, ports *p) {
    p->from = g->fresh++;
    p->to = g->fresh++;
    bool wild = gen_has(g, GEN_WILD) && gen_chance(g, 15);
    PUT("        let v%u = min(", p->from);
    gen_expr(g, ZF_K_U64, g->depth - 1);
    PUT(", %s.len);\n        let v%u = %s(v%u + (", p->bytes, p->to, wild ? "" : "min", p->from);
    gen_expr(g, ZF_K_U64, 2);
    PUT(" & 15)");
    if (!wild) PUT(", %s.len", p->bytes);
    PUT(");\n");
}

void gen_delivered_algorithm(gen *g, uint32_t number, zf_kind kind, bool nullable) {
    gen_algorithm *made = &g->algorithms[number];
    bool groups = gen_has(g, GEN_GROUPS) && gen_chance(g, 30), text = kind == ZF_K_STRING;
    ports p = {.index = groups ? "g" : "i"};
    *made = (gen_algorithm){.result = kind, .nullable = nullable};
    snprintf(made->name, sizeof made->name, "made%u", number);
    g->name_count = 0;
    g->at_stream[0] = 0;
    PUT("algorithm %s(", made->name);
    if (groups) gen_stream_port(g, made, ZF_K_U32, "g", gen_chance(g, 50) ? " in 0..=9" : " in 1..=6");
    if (made->stream_count == 0 || gen_chance(g, 50)) {
        if (made->stream_count > 0) PUT(", ");
        gen_stream_port(g, made, gen_integer(g), p.index, "");
    }
    if (text && gen_chance(g, 60)) other_port(g, made, ZF_K_U8, false, p.bytes);
    if (text && (p.bytes[0] == 0 || gen_chance(g, 30))) other_port(g, made, ZF_K_STRING, false, p.texts);
    if (nullable && made->stream_count < 4 && gen_chance(g, 40)) {
        p.null_kind = text || gen_chance(g, 50) ? gen_integer(g) : kind;
        other_port(g, made, p.null_kind, true, p.nulls);
    }
    gen_params(g, made);
    PUT(") -> %s%s[] %s {\n", zf_kind_name(kind), nullable ? "?" : "", groups ? "group_parallel" : "fully_parallel");
    if (groups) PUT("    groups = s0.len;\n    size(g) = s0[g];\n");
    gen_declare_index(g, p.index);
    if (groups) gen_declare_index(g, "j");
    PUT("    decode(%s) {\n", groups ? "g, j" : "i");
    if (p.bytes[0] != 0) locals(g, &p);
    if (nullable && gen_chance(g, 20)) {
        PUT("        if ");
        gen_expr(g, ZF_K_BOOL, 2);
        PUT(" { return null; }\n");
    }
    PUT("        return ");
    if (nullable)
        nullable_value(g, &p, kind);
    else
        text_value(g, &p, 2);
    PUT(";\n    }\n    encode extern \"none\";\n}\n");
}
