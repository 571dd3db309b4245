// Generics of an algorithm used in a codec: the type of the edge above fixes those in its result, written types of
// edges below fix those in its streams, defaults the rest.
#include "frontend/spec/codec.h"

static uint32_t generic_index(const zf_ast_algorithm *algorithm, zf_name name) {
    uint32_t index = 0;
    const zf_ast_generic *generic = algorithm->generics;
    while (generic != NULL && generic->name != name) {
        generic = generic->next;
        index++;
    }
    return generic == NULL ? UINT32_MAX : index;
}

static const zf_ast_generic *generic_at(const zf_ast_algorithm *algorithm, uint32_t index) {
    const zf_ast_generic *generic = algorithm->generics;
    while (index-- > 0) generic = generic->next;
    return generic;
}

/// unsigned(T), signed(T): the sign, and T's number when T is a generic.
static bool as_sign_of(const zf_ast_algorithm *algorithm, const zf_ast_type *type, bool *is_signed, uint32_t *index) {
    if (type->kind != ZF_AT_APPLY || type->args == NULL || type->args->name == NULL || type->args->kind != ZF_AT_NAME)
        return false;
    if (type->name[0] != 'u' && type->name[0] != 's') return false; // decimal is the only other function of types
    *is_signed = type->name[0] == 's';
    *index = generic_index(algorithm, type->args->name);
    return *index != UINT32_MAX;
}

typedef struct binding {
    zf_spec *spec;
    const zf_source_module *module; ///< of the algorithm: its types are written there
    const zf_ast_algorithm *algorithm;
    zf_type *types;
    bool *bound;
} binding;

/// Solves for T so that unsigned(T) or signed(T) is `type`: known only from T's bound.
static bool solve_sign(const binding *b, uint32_t index, zf_type type, zf_type *out) {
    const zf_name bound = generic_at(b->algorithm, index)->bound;
    if (bound == NULL || !zf_kind_is_integer(type.kind)) return false;
    if (bound[0] == 'u')
        *out = zf_type_of(zf_kind_unsigned(type.kind)); // `unsigned`
    else if (bound[0] == 's' && bound[1] == 'i')
        *out = zf_type_of(zf_kind_signed(type.kind)); // `signed`, not `scalar`
    else
        return false;
    return true;
}

/// Makes the written type `pattern` equal `type` by binding generics that are still free. False when it cannot be.
/// `last`: nothing more is coming, so unsigned(T) may bind T by T's bound.
static bool unify(binding *b, const zf_ast_type *pattern, zf_type type, bool last) {
    switch (pattern->kind) {
    case ZF_AT_ARRAY: return unify(b, pattern->element, type, last);
    case ZF_AT_LIST: return false; // no stream holds lists
    case ZF_AT_OPTION: return type.nullable && unify(b, pattern->element, zf_type_value(type), last);
    case ZF_AT_NAME: {
        uint32_t index = generic_index(b->algorithm, pattern->name);
        if (index == UINT32_MAX) break;
        if (b->bound[index]) return zf_type_equal(b->types[index], type);
        b->types[index] = type;
        b->bound[index] = true;
        return true;
    }
    case ZF_AT_APPLY: {
        bool is_signed;
        uint32_t index;
        if (!as_sign_of(b->algorithm, pattern, &is_signed, &index)) break;
        if (type.nullable || !(is_signed ? zf_kind_is_signed(type.kind) : zf_kind_is_unsigned(type.kind))) return false;
        if (!b->bound[index]) {
            if (last && solve_sign(b, index, type, &b->types[index])) b->bound[index] = true;
            return true; // another place may tell what T is
        }
        zf_kind of = b->types[index].kind;
        return zf_kind_is_integer(of) && type.kind == (is_signed ? zf_kind_signed(of) : zf_kind_unsigned(of));
    }
    }
    zf_type written = zf_resolve_type(b->spec, b->module, pattern, b->algorithm->generics, b->types);
    return written.kind == ZF_K_ERROR || zf_type_equal(zf_type_strip(written), type);
}

static const char *written_text(const zf_ast_type *type) {
    return type->span.source == NULL ? "" : type->span.source->text + type->span.begin;
}

static int written_length(const zf_ast_type *type) {
    return type->span.source == NULL ? 0 : (int)(type->span.end - type->span.begin);
}

static bool report_edge(const zf_codec_use *use, zf_span span, const zf_ast_type *gives, const char *name, zf_type type,
                        const char *what, zf_span declared) {
    zf_diags *diags = &use->work->spec->diags;
    if (type.kind == ZF_K_ERROR) return false;
    zf_diag *diag = zf_diag_error(diags, ZF_D_EDGE_TYPE, span, "%s holds %s, `%s` has %.*s", what,
                                  zf_type_name(use->work->spec->arena, type), name, written_length(gives), written_text(gives));
    zf_diag_remark(diags, diag, gives->span, "`%s` is declared here", use->algorithm->name);
    if (declared.source != NULL) zf_diag_remark(diags, diag, declared, "the type of %s comes from here", what);
    return false;
}

static bool bind_defaults(zf_codec_use *use, binding *b) {
    zf_spec *spec = use->work->spec;
    uint32_t index = 0;
    for (const zf_ast_generic *generic = use->declared->generics; generic != NULL; generic = generic->next, index++) {
        if (!b->bound[index] && generic->given != NULL) {
            zf_type given = zf_resolve_type(spec, b->module, generic->given, use->declared->generics, b->types);
            if (given.kind == ZF_K_ERROR) return false;
            b->types[index] = zf_type_strip(given);
            b->bound[index] = true;
        }
        if (b->bound[index]) continue;
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_GENERIC_NOT_BOUND, use->ast->span,
                                      "nothing determines `%s` of `%s` here", generic->name, use->algorithm->name);
        zf_diag_remark(&spec->diags, diag, generic->span, "declared here");
        for (const zf_ast_port *port = use->declared->ports; port != NULL; port = port->next) {
            if (port->is_param || port->type->kind != ZF_AT_ARRAY || port->type->element->kind != ZF_AT_NAME ||
                port->type->element->name != generic->name)
                continue;
            zf_diag_hint(&spec->diags, diag, "say the type on an edge: `%s: u32[] = ...`", port->name);
            break;
        }
        return false;
    }
    return true;
}

static bool check_bounds(zf_codec_use *use, const binding *b) {
    zf_spec *spec = use->work->spec;
    uint32_t index = 0;
    for (const zf_ast_generic *generic = use->declared->generics; generic != NULL; generic = generic->next, index++) {
        if (generic->bound == NULL || zf_bound_met(generic->bound, b->types[index])) continue;
        if (b->types[index].kind == ZF_K_ERROR) return false;
        zf_diag *diag =
            zf_diag_error(&spec->diags, ZF_D_BOUND_NOT_MET, use->ast->span, "`%s` of `%s` would be %s, which is not `%s`",
                          generic->name, use->algorithm->name, zf_type_name(spec->arena, b->types[index]), generic->bound);
        zf_remark_bound(spec, diag, generic->bound);
        zf_diag_remark(&spec->diags, diag, generic->span, "the bound is declared here");
        if (b->types[index].kind == ZF_K_BOOL && !b->types[index].nullable)
            zf_diag_hint(&spec->diags, diag,
                         "bool is stored as bits already: leave the stream without a codec, or write `plain`");
        if (use->edge.declared.source != NULL) {
            zf_diag_remark(&spec->diags, diag, use->edge.declared, "%s holds %s", use->edge.what,
                           zf_type_name(spec->arena, use->edge.type));
        }
        return false;
    }
    return true;
}

bool zf_codec_bind(zf_codec_use *use, zf_type *bindings) {
    zf_spec *spec = use->work->spec;
    binding b = {.spec = spec, .module = use->algorithm->module, .algorithm = use->declared, .types = bindings};
    b.bound = ZF_NEW_ARRAY(spec->arena, bool, use->algorithm->generic_count + 1);
    for (uint32_t k = 0; k < use->algorithm->generic_count; k++) bindings[k] = zf_type_of(ZF_K_ERROR);

    // Twice: unsigned(T) may stand before what tells T.
    for (int round = 0; round < 2; round++) {
        bool last = round == 1;
        if (!unify(&b, use->declared->result, use->edge.type, last)) {
            return report_edge(use, use->ast->span, use->declared->result, use->algorithm->name, use->edge.type, use->edge.what,
                               use->edge.declared);
        }
        uint32_t index = 0;
        for (const zf_ast_port *port = use->declared->ports; port != NULL; port = port->next, index++) {
            const zf_ast_codec_arg *arg = use->by_port[index];
            if (port->is_param || arg == NULL || arg->type == NULL) continue;
            zf_type written = zf_type_strip(
                zf_resolve_type(spec, use->module, arg->type->kind == ZF_AT_ARRAY ? arg->type->element : arg->type, NULL, NULL));
            if (written.kind == ZF_K_ERROR) return false;
            if (!unify(&b, port->type, written, last)) {
                return report_edge(use, arg->type->span, port->type, port->name, written, "the edge", (zf_span){0});
            }
        }
    }
    return bind_defaults(use, &b) && check_bounds(use, &b);
}

// ---- Which edges need a type in text --------------------------------------------------------------------------

static bool mentions(const zf_ast_type *type, zf_name name) {
    for (; type != NULL; type = type->element) {
        if ((type->kind == ZF_AT_NAME || type->kind == ZF_AT_APPLY) && type->name == name) return true;
        for (const zf_ast_type *arg = type->kind == ZF_AT_APPLY ? type->args : NULL; arg != NULL; arg = arg->next) {
            if (arg->name != NULL && mentions(arg, name)) return true;
        }
    }
    return false;
}

/// The type of the edge above fixes the generic, without any help from below.
static bool result_determines(const zf_ast_algorithm *algorithm, uint32_t index) {
    const zf_ast_type *result = algorithm->result;
    while (result->kind == ZF_AT_ARRAY || result->kind == ZF_AT_OPTION) result = result->element;
    bool is_signed;
    uint32_t of;
    if (result->kind == ZF_AT_NAME) return generic_index(algorithm, result->name) == index;
    zf_type solved;
    const binding b = {.algorithm = algorithm};
    return as_sign_of(algorithm, result, &is_signed, &of) && of == index && solve_sign(&b, index, zf_type_of(ZF_K_U8), &solved);
}

bool zf_codec_edge_is_typed(zf_spec *spec, const zf_inst *inst, uint32_t slot) {
    const zf_ast_algorithm *algorithm = inst->algorithm->decl->algorithm;
    const zf_ast_port *port = algorithm->ports;
    for (uint32_t k = 0; k < inst->streams[slot]->index; k++) port = port->next;
    uint32_t index = 0;
    for (const zf_ast_generic *generic = algorithm->generics; generic != NULL; generic = generic->next, index++) {
        if (!mentions(port->type, generic->name) || result_determines(algorithm, index)) continue;
        if (generic->given == NULL) return true;
        zf_type given = zf_resolve_type(spec, inst->algorithm->module, generic->given, algorithm->generics, inst->bindings);
        if (!zf_type_equal(zf_type_strip(given), inst->bindings[index])) return true;
    }
    return false;
}
