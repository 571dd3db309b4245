// The canonical text of a codec.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/spec/codec.h"

typedef struct printing {
    zf_spec *spec;
    zf_codec_namer namer;
    void *user;
    zf_text *out;
} printing;

static void print_choice(const printing *p, const zf_codec_choice *choice);

/// A value as the literal that gives it back.
static void print_literal(zf_text *out, zf_type type, uint64_t bits) {
    if (type.kind == ZF_K_BOOL) {
        zf_text_puts(out, bits != 0 ? "true" : "false");
        return;
    }
    if (!zf_kind_is_float(type.kind)) {
        if (zf_kind_is_signed(type.kind))
            zf_text_printf(out, "%" PRId64, (int64_t)zf_value_of_bits(type.kind, bits));
        else
            zf_text_printf(out, "%" PRIu64, (uint64_t)zf_value_of_bits(type.kind, bits));
        return;
    }
    double value;
    if (type.kind == ZF_K_F32) {
        uint32_t low = (uint32_t)bits;
        float single;
        memcpy(&single, &low, sizeof single);
        value = (double)single;
    } else {
        memcpy(&value, &bits, sizeof value);
    }
    // The fewest digits that give the value back; seventeen always do.
    char text[64];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    for (char *c = text; *c != '\0'; c++) {
        if (*c == ',') *c = '.'; // the program's locale is not ours
    }
    bool has_mark = strpbrk(text, ".e") != NULL;
    zf_text_puts(out, text);
    if (!has_mark) zf_text_puts(out, ".0");
}

static bool param_is_default(const zf_codec_node *node, uint32_t slot) {
    const zf_port *param = node->inst->params[slot];
    if (!node->param_given[slot]) return true;
    return param->given != NULL && param->given->kind == ZF_X_CONST && param->given->bits == node->param_bits[slot];
}

static void print_node(const printing *p, const zf_codec_node *node) {
    const zf_inst *inst = node->inst;
    const char *name = p->namer != NULL ? p->namer(p->user, inst->algorithm) : NULL;
    zf_text_puts(p->out, name != NULL ? name : inst->algorithm->name);
    const char *before = "(";
    for (uint32_t slot = 0; slot < inst->stream_count; slot++) {
        if (node->streams[slot] == NULL) continue;
        zf_text_printf(p->out, "%s%s: ", before, inst->streams[slot]->name);
        before = ", ";
        if (zf_codec_edge_is_typed(p->spec, inst, slot)) {
            zf_text_printf(p->out, "%s[] = ", zf_type_name(p->spec->arena, inst->streams[slot]->type));
        }
        print_choice(p, node->streams[slot]);
    }
    for (uint32_t slot = 0; slot < inst->param_count; slot++) {
        if (param_is_default(node, slot)) continue;
        zf_text_printf(p->out, "%s%s: ", before, inst->params[slot]->name);
        before = ", ";
        print_literal(p->out, inst->params[slot]->type, node->param_bits[slot]);
    }
    if (inst->pattern == ZF_NON_PARALLEL && node->chunk_size != inst->chunk_size) {
        zf_text_printf(p->out, "%schunk: %" PRIu64, before, node->chunk_size);
        before = ", ";
    }
    if (*before == ',') zf_text_puts(p->out, ")");
}

static void print_choice(const printing *p, const zf_codec_choice *choice) {
    for (uint32_t k = 0; k < choice->count; k++) {
        if (k > 0) zf_text_puts(p->out, " | ");
        print_node(p, choice->alternatives[k]);
    }
}

void zf_codec_print_as(zf_spec *spec, const zf_codec_choice *choice, zf_codec_namer namer, void *user, zf_text *out) {
    printing p = {.spec = spec, .namer = namer, .user = user, .out = out};
    print_choice(&p, choice);
}

void zf_codec_print_one(zf_spec *spec, const zf_codec_choice *choice, uint32_t alternative, zf_text *out) {
    printing p = {.spec = spec, .out = out};
    print_node(&p, choice->alternatives[alternative]);
}

void zf_codec_print(zf_spec *spec, const zf_codec_choice *choice, zf_text *out) {
    zf_codec_print_as(spec, choice, NULL, NULL, out);
}
