// Random expressions of a wanted type, fully parenthesised.
#include <stdio.h>

#include "tests/differential/generator/gen_internal.h"

#define PUT(...) zf_text_printf(g->out, __VA_ARGS__)

static const char *name_of(zf_kind kind) { return zf_kind_name(kind); }

// ---- Leaves ---------------------------------------------------------------------------------------------------

void gen_literal(gen *g, zf_kind kind) {
    static const int64_t corners[] = {0, 1, 2, 3, 5, 7, 8, 10, 31, 63, 100, 127};
    if (kind == ZF_K_BOOL)
        PUT("%s", gen_chance(g, 50) ? "true" : "false");
    else if (zf_kind_is_float(kind))
        PUT("%u.%u", (unsigned)gen_below(g, 50), (unsigned)gen_below(g, 100));
    else if (zf_kind_is_signed(kind) && gen_chance(g, 25))
        PUT("(-%u)", (unsigned)(1 + gen_below(g, 127)));
    else if (gen_chance(g, 15)) {
        unsigned bits = zf_kind_bits(kind) - (zf_kind_is_signed(kind) ? 1 : 0);
        PUT("0x%llx", (unsigned long long)(UINT64_MAX >> (64 - bits) >> gen_below(g, 4)));
    } else
        PUT("%d", (int)corners[gen_below(g, sizeof corners / sizeof corners[0])]);
}

static void converted_name(gen *g, const gen_name *name, zf_kind kind) {
    const char *open = name->stream ? "[" : "", *index = name->stream ? name->index : "", *close = name->stream ? "]" : "";
    if (name->kind == kind)
        PUT("%s%s%s%s", name->name, open, index, close);
    else if (kind == ZF_K_BOOL)
        PUT("(%s%s%s%s != %s)", name->name, open, index, close, zf_kind_is_float(name->kind) ? "0.0" : "0");
    else
        PUT("(%s%s%s%s as %s)", name->name, open, index, close, name_of(kind));
}

static void leaf(gen *g, zf_kind kind) {
    for (int tries = 0; tries < 6 && g->name_count > 0; tries++) {
        const gen_name *name = &g->names[gen_below(g, g->name_count)];
        if (name->stream && (g->leaves_only || !name->index)) continue;
        if (name->kind == ZF_K_BOOL && zf_kind_is_float(kind)) continue;
        if (name->kind != kind && tries < 3) continue; // of the very type first
        converted_name(g, name, kind);
        return;
    }
    gen_literal(g, kind);
}

// ---- Gathers, bits, reductions --------------------------------------------------------------------------------

static const gen_name *some_stream(gen *g) {
    for (int tries = 0; tries < 8 && g->name_count > 0; tries++) {
        const gen_name *name = &g->names[gen_below(g, g->name_count)];
        if (name->stream) return name;
    }
    return NULL;
}

static void open_cast(gen *g, zf_kind from, zf_kind to) {
    if (from != to) PUT("(");
}

static void close_cast(gen *g, zf_kind from, zf_kind to) {
    if (from == to) return;
    if (to == ZF_K_BOOL)
        PUT(" != %s)", zf_kind_is_float(from) ? "0.0" : "0");
    else
        PUT(" as %s)", name_of(to));
}

static bool castable(zf_kind from, zf_kind to) { return !(from == ZF_K_BOOL && zf_kind_is_float(to)); }

static bool gather(gen *g, zf_kind kind, unsigned depth) {
    const gen_name *stream = some_stream(g);
    if (!stream || !castable(stream->kind, kind)) return false;
    open_cast(g, stream->kind, kind);
    PUT("%s[", stream->name);
    if (gen_has(g, GEN_WILD) && gen_chance(g, 20)) {
        PUT("(");
        gen_expr(g, ZF_K_U64, depth - 1);
        PUT(" & 15)");
    } else if (gen_chance(g, 50)) {
        gen_expr(g, ZF_K_U64, depth - 1);
        PUT(" %% %s.len", stream->name);
    } else {
        PUT("min(");
        gen_expr(g, ZF_K_U64, depth - 1);
        PUT(", %s.len - 1)", stream->name);
    }
    PUT("]");
    close_cast(g, stream->kind, kind);
    return true;
}

static bool bits(gen *g, zf_kind kind, unsigned depth) {
    const gen_name *stream = some_stream(g);
    if (!stream || !zf_kind_is_unsigned(stream->kind)) return false;
    unsigned width = 1 + (unsigned)gen_below(g, 24), word = zf_kind_bits(stream->kind);
    if (width > word) width = word;
    const char *form = gen_chance(g, 20) ? "bits_msb" : "bits";
    open_cast(g, ZF_K_U64, kind);
    if (gen_chance(g, 60) && stream->index)
        PUT("%s.%s(%s * %u, %u)", stream->name, form, stream->index, width, width);
    else {
        PUT("%s.%s(", stream->name, form);
        gen_expr(g, ZF_K_U64, depth - 1);
        if (width < word)
            PUT(" %% (%s.len * %u - %u), %u)", stream->name, word, width, width);
        else
            PUT(" %% %s.len * %u, %u)", stream->name, word, width);
    }
    close_cast(g, ZF_K_U64, kind);
    return true;
}

// The domain index of an aligned stream, or NULL.
static const char *domain_of(gen *g) {
    const gen_name *stream = some_stream(g);
    return stream ? stream->index : NULL;
}

static void term(gen *g, const char *binder, zf_kind kind, unsigned depth) {
    // Within the term, only the binder and streams at it may be named: all else changes from one result to the next.
    gen saved = *g;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < saved.name_count; k++) {
        if (!saved.names[k].stream && saved.names[k].name[0] != 'p') continue;
        g->names[kept] = saved.names[k];
        if (g->names[kept].stream && g->names[kept].index) g->names[kept].index = binder;
        kept++;
    }
    g->name_count = kept;
    if (kept < GEN_NAMES) {
        g->names[kept] = (gen_name){.kind = ZF_K_U64};
        snprintf(g->names[kept].name, sizeof g->names[kept].name, "%s", binder);
        g->name_count++;
    }
    g->reductions++;
    if (gen_chance(g, 60))
        leaf(g, kind);
    else
        gen_expr(g, kind, depth > 2 ? 2 : depth - 1);
    saved.random = g->random;
    saved.fresh = g->fresh;
    *g = saved;
}

static bool reduction(gen *g, zf_kind kind, unsigned depth) {
    static const char *const ops[] = {"sum", "sum", "sum", "xor", "min", "max"};
    if (g->reductions >= 2) return false;
    bool boolean = kind == ZF_K_BOOL;
    if (zf_kind_is_float(kind)) return false;
    const char *op = boolean ? gen_chance(g, 50) ? "any" : "all" : ops[gen_below(g, 6)], *d = domain_of(g);
    char binder[16];
    snprintf(binder, sizeof binder, "k%u", g->fresh++);
    unsigned form = (unsigned)gen_below(g, 4);
    bool scans = gen_has(g, GEN_SCANS) && d && g->reductions == 0;
    if (form == 0 && scans)
        PUT("%s(%s in 0..%s%s: ", op, binder, gen_chance(g, 30) ? "=" : "", d);
    else if (form == 1 && scans) {
        unsigned n = 4u << gen_below(g, 6);
        PUT("%s(%s in %s / %u * %u%s..%s%s: ", op, binder, d, n, n, gen_chance(g, 20) ? " + 1" : "", gen_chance(g, 50) ? "=" : "",
            d);
    } else if (form == 2 && gen_has(g, GEN_PREFIXES) && !boolean && g->reductions == 0) {
        const gen_name *stream = some_stream(g);
        if (!stream || !castable(stream->kind, kind)) return false;
        PUT("%s(%s in ", gen_chance(g, 70) ? "sum" : "xor", binder);
        gen_expr(g, ZF_K_U64, depth > 2 ? 2 : depth - 1);
        PUT(" %% (%s.len + 1)..", stream->name);
        gen_expr(g, ZF_K_U64, depth > 2 ? 2 : depth - 1);
        PUT(" %% (%s.len + 1): ", stream->name);
        gen_name at = *stream;
        at.index = binder;
        converted_name(g, &at, kind);
        PUT(")");
        return true;
    } else { // unrolled
        PUT("%s(%s in 0..%u: ", op, binder, 1 + (unsigned)gen_below(g, 6));
        gen_name *name = &g->names[g->name_count];
        if (g->name_count == GEN_NAMES) return false;
        *name = (gen_name){.kind = ZF_K_U64};
        snprintf(name->name, sizeof name->name, "%s", binder);
        g->name_count++;
        g->reductions++;
        gen_expr(g, kind, depth - 1);
        g->reductions--;
        g->name_count--;
        PUT(")");
        return true;
    }
    term(g, binder, kind, depth);
    PUT(")");
    return true;
}

// ---- Operations -----------------------------------------------------------------------------------------------

static void two(gen *g, const char *before, const char *between, const char *after, zf_kind kind, unsigned depth) {
    PUT("%s", before);
    gen_expr(g, kind, depth - 1);
    PUT("%s", between);
    gen_expr(g, kind, depth - 1);
    PUT("%s", after);
}

static void boolean(gen *g, unsigned depth) {
    static const char *const comparisons[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};
    switch (gen_below(g, 5)) {
    case 0: two(g, "(", " && ", ")", ZF_K_BOOL, depth); return;
    case 1: two(g, "(", " || ", ")", ZF_K_BOOL, depth); return;
    case 2:
        PUT("(!");
        gen_expr(g, ZF_K_BOOL, depth - 1);
        PUT(")");
        return;
    default:
        two(g, "(", comparisons[gen_below(g, 6)], ")",
            gen_kind(g) == ZF_K_F64 && gen_has(g, GEN_FLOATS) ? ZF_K_F64 : gen_integer(g), depth);
    }
}

static void division(gen *g, zf_kind kind, unsigned depth) {
    PUT("(");
    gen_expr(g, kind, depth - 1);
    zf_text_puts(g->out, gen_chance(g, 50) ? " / " : " % ");
    if (gen_has(g, GEN_WILD) && gen_chance(g, 15))
        gen_expr(g, kind, depth - 1);
    else if (gen_chance(g, 40))
        PUT("%u", 1 + (unsigned)gen_below(g, 100));
    else {
        PUT("(");
        gen_expr(g, kind, depth - 1);
        PUT(" | 1)");
    }
    PUT(")");
}

static void shift(gen *g, zf_kind kind, unsigned depth) {
    PUT("(");
    gen_expr(g, kind, depth - 1);
    PUT("%s", gen_chance(g, 50) ? " << " : " >> ");
    if (gen_chance(g, 50))
        PUT("%u", (unsigned)gen_below(g, 70));
    else
        gen_expr(g, gen_chance(g, 50) ? ZF_K_U8 : ZF_K_U64, depth - 1);
    PUT(")");
}

static void counting(gen *g, zf_kind kind, unsigned depth) {
    static const char *const names[] = {"bit_width", "popcount", "clz", "ctz"};
    static const zf_kind kinds[] = {ZF_K_U8, ZF_K_U16, ZF_K_U32, ZF_K_U64};
    open_cast(g, ZF_K_U8, kind);
    PUT("%s(", names[gen_below(g, 4)]);
    gen_expr(g, kinds[gen_below(g, 4)], depth - 1);
    PUT(")");
    close_cast(g, ZF_K_U8, kind);
}

static void cast(gen *g, zf_kind kind, unsigned depth) {
    zf_kind from = gen_kind(g);
    if (from == kind || !castable(from, kind)) from = kind == ZF_K_I32 ? ZF_K_U16 : ZF_K_I32;
    PUT("(");
    gen_expr(g, from, depth - 1);
    PUT(" as %s)", name_of(kind));
}

static void conditional(gen *g, zf_kind kind, unsigned depth) {
    PUT("(");
    gen_expr(g, ZF_K_BOOL, depth - 1);
    two(g, " ? ", " : ", ")", kind, depth);
}

static void integer(gen *g, zf_kind kind, unsigned depth) {
    static const char *const ops[] = {" + ", " - ", " * ", " & ", " | ", " ^ "};
    switch (gen_below(g, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: two(g, "(", ops[gen_below(g, 6)], ")", kind, depth); return;
    case 5: division(g, kind, depth); return;
    case 6:
    case 14: shift(g, kind, depth); return;
    case 7: counting(g, kind, depth); return;
    case 8: two(g, gen_chance(g, 50) ? "min(" : "max(", ", ", ")", kind, depth); return;
    case 9:
        PUT("(%s", gen_chance(g, 50) ? "-" : "~");
        gen_expr(g, kind, depth - 1);
        PUT(")");
        return;
    case 10: cast(g, kind, depth); return;
    case 11: conditional(g, kind, depth); return;
    case 12:
        if (g->has_function && g->reductions == 0) {
            open_cast(g, ZF_K_I64, kind);
            PUT("f0(");
            gen_expr(g, ZF_K_U32, depth - 1);
            PUT(", ");
            gen_expr(g, ZF_K_I64, depth - 1);
            PUT(")");
            close_cast(g, ZF_K_I64, kind);
            return;
        }
        break;
    case 13:
        if (gen_has(g, GEN_GATHERS)) {
            open_cast(g, ZF_K_I32, kind);
            PUT("TAB[(");
            gen_expr(g, ZF_K_U32, depth - 1);
            PUT(" & 7)]");
            close_cast(g, ZF_K_I32, kind);
            return;
        }
        break;
    default: break;
    }
    leaf(g, kind);
}

static void real(gen *g, zf_kind kind, unsigned depth) {
    static const char *const ops[] = {" + ", " - ", " * ", " / "};
    switch (gen_below(g, 8)) {
    case 0:
    case 1:
    case 2: two(g, "(", ops[gen_below(g, 4)], ")", kind, depth); return;
    case 3:
    case 4:
        PUT("round(");
        gen_expr(g, kind, depth - 1);
        PUT(")");
        return;
    case 5: cast(g, kind, depth); return;
    case 6: conditional(g, kind, depth); return;
    default: leaf(g, kind);
    }
}

void gen_expr(gen *g, zf_kind kind, unsigned depth) {
    if (depth == 0 || gen_chance(g, 12)) {
        leaf(g, kind);
        return;
    }
    size_t mark = g->out->length;
    if (!g->leaves_only && gen_has(g, GEN_GATHERS) && gen_chance(g, 10)) {
        if (gather(g, kind, depth)) return;
    } else if (!g->leaves_only && gen_has(g, GEN_GATHERS) && gen_chance(g, 5)) {
        if (kind != ZF_K_BOOL && bits(g, kind, depth)) return;
    } else if (!g->leaves_only && gen_chance(g, 12)) {
        if (reduction(g, kind, depth)) return;
    } else if (!g->leaves_only && gen_has(g, GEN_GATHERS) && gen_chance(g, 12)) {
        if (gen_form(g, kind, depth)) return;
    }
    g->out->length = mark; // what was begun and given up
    if (kind == ZF_K_BOOL)
        boolean(g, depth);
    else if (zf_kind_is_float(kind))
        real(g, kind, depth);
    else
        integer(g, kind, depth);
}
