// Random codecs for a type, and whole programs.
#include "tests/differential/generator/gen_internal.h"

#define PUT(...) zf_text_printf(g->out, __VA_ARGS__)

bool gen_has(const gen *g, gen_feature feature) { return (g->features & (unsigned)feature) != 0; }
uint64_t gen_below(gen *g, uint64_t bound) { return data_below(&g->random, bound); }
bool gen_chance(gen *g, unsigned percent) { return gen_below(g, 100) < percent; }

zf_kind gen_integer(gen *g) {
    static const zf_kind kinds[] = {ZF_K_U8, ZF_K_U16, ZF_K_U32, ZF_K_U64, ZF_K_I8, ZF_K_I16, ZF_K_I32, ZF_K_I64};
    return kinds[gen_below(g, 8)];
}

zf_kind gen_kind(gen *g) {
    uint64_t k = gen_below(g, 12);
    if (k == 0) return ZF_K_BOOL;
    if (k <= 2 && gen_has(g, GEN_FLOATS)) return k == 1 ? ZF_K_F32 : ZF_K_F64;
    return gen_integer(g);
}

// ---- Codecs ---------------------------------------------------------------------------------------------------

enum { ANY = 1, INTEGERS = 2, SIGNED = 4, FLOATS = 8, BOOLS = 16, ONLY_I32 = 32, ONLY_U32 = 64, NUMBERS = INTEGERS | FLOATS };
enum { SAME, UNSIGNED, AS_U8, AS_U32, AS_I64, WORDS };

// Algorithms of std that a nest is made of, with their streams.
static const struct {
    const char *name;
    int takes;
    struct {
        const char *name;
        int type;
    } streams[3];
} std_algorithms[] = {
    {"plain", ANY, {{"values", SAME}}},
    {"constant", ANY, {{NULL, SAME}}},
    {"bitpack", INTEGERS, {{"packed", WORDS}}},
    {"zigzag", SIGNED, {{"codes", UNSIGNED}}},
    {"delta", INTEGERS, {{"deltas", SAME}}},
    {"rle", ANY, {{"values", SAME}, {"counts", AS_U32}}},
    {"delta_stride", INTEGERS, {{"start", SAME}, {"stride", SAME}, {"count", AS_U32}}},
    {"dictionary", ANY, {{"codes", AS_U32}, {"entries", SAME}}},
    {"byte_stream_split", NUMBERS, {{"bytes", AS_U8}}},
    {"split", INTEGERS, {{"high", AS_U8}, {"low", UNSIGNED}}},
    {"interleave", ANY, {{"values", SAME}}},
    {"float2int", FLOATS, {{"ints", AS_I64}}},
    {"alp", FLOATS, {{"ints", AS_I64}, {"gaps", AS_U32}, {"exceptions", SAME}}},
    {"pfor", INTEGERS, {{"values", SAME}, {"gaps", AS_U32}, {"exceptions", SAME}}},
    {"set_gaps", BOOLS, {{"gaps", AS_U32}}},
    {"members", ONLY_U32, {{"words", WORDS}}},
    {"gpu_for", ONLY_I32, {{"block_starts", AS_U32}, {"data", AS_U32}}},
    {"gpu_dfor", ONLY_I32, {{"block_starts", AS_U32}, {"data", AS_U32}}},
};

static bool takes(int set, zf_kind kind) {
    if (set & ANY) return true;
    if (set & (BOOLS | ONLY_I32 | ONLY_U32)) return kind == (set & BOOLS ? ZF_K_BOOL : set & ONLY_I32 ? ZF_K_I32 : ZF_K_U32);
    if (zf_kind_is_float(kind)) return (set & FLOATS) != 0;
    if (set & SIGNED) return zf_kind_is_signed(kind);
    return (set & INTEGERS) && zf_kind_is_integer(kind);
}

static void one_codec(gen *g, zf_kind kind, unsigned depth);

void gen_codec(gen *g, zf_kind kind, unsigned depth) {
    one_codec(g, kind, depth);
    if (!gen_has(g, GEN_CHOICES) || !gen_chance(g, 10)) return;
    PUT(" | ");
    one_codec(g, kind, depth > 1 ? 1 : depth);
}

void gen_argument(gen *g, const char *name, zf_kind kind, bool typed, unsigned depth, bool *first) {
    if (depth == 0 || !gen_has(g, GEN_NESTS) || gen_chance(g, 35)) return; // stored
    PUT("%s%s: ", *first ? "(" : ", ", name);
    if (typed) PUT("%s[] = ", zf_kind_name(kind));
    gen_codec(g, kind, depth - 1);
    *first = false;
}

void gen_made_codec(gen *g, const gen_algorithm *made, unsigned depth) {
    bool first = true;
    PUT("%s", made->name);
    for (uint32_t s = 0; s < made->stream_count; s++) {
        char name[16] = {'s', (char)('0' + s)};
        if (made->nulls[s] || made->streams[s] == ZF_K_STRING) { // stored nowhere
            PUT("%s%s: ", first ? "(" : ", ", name);
            gen_delivered_codec(g, made->streams[s], made->nulls[s], depth > 0 ? depth - 1 : 0);
            first = false;
            continue;
        }
        gen_argument(g, name, made->streams[s], false, depth, &first);
    }
    for (uint32_t p = 0; p < made->param_count; p++) {
        if (!gen_chance(g, 12)) continue;
        PUT("%sp%u: %u", first ? "(" : ", ", p, (unsigned)gen_below(g, 2));
        first = false;
    }
    if (!first) PUT(")");
}

static void std_codec(gen *g, zf_kind kind, unsigned depth) {
    size_t count = sizeof std_algorithms / sizeof std_algorithms[0], at;
    do at = gen_below(g, count);
    while (!takes(std_algorithms[at].takes, kind));
    bool first = true;
    PUT("%s", std_algorithms[at].name);
    for (int s = 0; s < 3 && std_algorithms[at].streams[s].name; s++) {
        static const zf_kind words[] = {ZF_K_U8, ZF_K_U16, ZF_K_U32, ZF_K_U64};
        zf_kind inner = kind;
        bool typed = false;
        switch (std_algorithms[at].streams[s].type) {
        case UNSIGNED: inner = zf_kind_unsigned(kind); break;
        case AS_U8: inner = ZF_K_U8; break;
        case AS_U32: inner = ZF_K_U32; break;
        case AS_I64: inner = ZF_K_I64; break;
        case WORDS:
            inner = words[gen_below(g, 4)];
            typed = true;
            break;
        default: break;
        }
        gen_argument(g, std_algorithms[at].streams[s].name, inner, typed, depth, &first);
    }
    if (!first) PUT(")");
}

static void one_codec(gen *g, zf_kind kind, unsigned depth) {
    for (uint32_t k = 0; k < g->algorithm_count; k++) {
        if (g->algorithms[k].result != kind || g->algorithms[k].nullable || !gen_chance(g, 70)) continue;
        gen_made_codec(g, &g->algorithms[k], depth);
        return;
    }
    std_codec(g, kind, depth);
}

void gen_program(uint64_t seed, const gen_options *options, zf_text *out) {
    gen state = {.random = {.state = seed, .bytes = options->bytes, .left = options->byte_count},
                 .features = options->features,
                 .depth = options->depth ? options->depth : 4,
                 .nest = options->nest ? options->nest : 3,
                 .out = out};
    gen *g = &state;
    if (options->std_only && gen_has(g, GEN_DELIVERED) && gen_delivered_program(g, seed)) return;
    if (!options->std_only) {
        gen_functions(g);
        g->algorithm_count = gen_chance(g, 15) ? 0 : 1 + (uint32_t)gen_below(g, 2);
    }
    for (uint32_t k = 0; k < g->algorithm_count; k++) gen_algorithm_text(g, k);
    data_random own = {.state = seed ^ UINT64_C(0xc2b2ae35)}; // programs without strings and nulls stay as they are
    bool delivered = !options->std_only && gen_has(g, GEN_DELIVERED) && data_below(&own, 3) == 0;
    bool nullable = delivered && gen_chance(g, 55), text = delivered && (!nullable || gen_chance(g, 40));
    zf_kind kind = text ? ZF_K_STRING : g->algorithm_count && gen_chance(g, 80) ? g->algorithms[0].result : gen_kind(g);
    if (delivered) {
        gen_delivered_algorithm(g, g->algorithm_count, kind, nullable);
        g->algorithm_count++;
    }
    PUT("table t {\n    c: %s%s = ", zf_kind_name(kind), nullable ? "?" : "");
    unsigned depth = gen_has(g, GEN_NESTS) ? (unsigned)gen_below(g, g->nest + 1) : 0;
    if (delivered)
        gen_delivered_codec(g, kind, nullable, depth > 0 ? depth : 1);
    else
        gen_codec(g, kind, depth);
    PUT(";\n}\n");
}
