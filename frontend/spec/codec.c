// Codecs and tables: from what is written to trees of instances.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/check/walk.h"
#include "frontend/spec/codec.h"

/// The alternatives of one choice, as they are found.
typedef struct alternatives {
    zf_codec_node **nodes;
    uint32_t count, capacity;
} alternatives;

static zf_codec_choice *resolve_choice(zf_codec_work *work, const zf_source_module *module, const zf_ast_codec *ast,
                                       zf_codec_edge edge);

// ---- Arguments ------------------------------------------------------------------------------------------------

static uint32_t port_count(const zf_ast_algorithm *algorithm) {
    uint32_t count = 0;
    for (const zf_ast_port *port = algorithm->ports; port != NULL; port = port->next) count++;
    return count;
}

static const zf_ast_port *find_port(const zf_ast_algorithm *algorithm, zf_name name, uint32_t *index) {
    *index = 0;
    const zf_ast_port *port = algorithm->ports;
    while (port != NULL && port->name != name) {
        port = port->next;
        ++*index;
    }
    return port;
}

static void report_no_such(const zf_codec_use *use, const zf_ast_codec_arg *arg) {
    zf_spec *spec = use->work->spec;
    zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_NO_SUCH_STREAM, arg->label_span, "`%s` has no stream or param `%s`",
                                  use->algorithm->name, arg->label);
    zf_diag_remark(&spec->diags, diag, use->algorithm->decl->name_span, "declared here");
    const char **names = ZF_NEW_ARRAY(spec->arena, const char *, port_count(use->declared) + 1);
    size_t count = 0;
    for (const zf_ast_port *port = use->declared->ports; port != NULL; port = port->next) names[count++] = port->name;
    const char *nearest = zf_nearest_name(arg->label, names, count);
    if (nearest != NULL) zf_diag_hint(&spec->diags, diag, "did you mean `%s`?", nearest);
}

static bool report_twice(const zf_codec_use *use, const zf_ast_codec_arg *arg, const zf_ast_codec_arg *first, const char *name) {
    zf_diags *diags = &use->work->spec->diags;
    zf_diag *diag = zf_diag_error(diags, ZF_D_GIVEN_TWICE, arg->span, "`%s` of `%s` is given twice", name, use->algorithm->name);
    zf_diag_remark(diags, diag, first->span, "first given here");
    return false;
}

/// Gives each argument to its port: labelled ones by name, the others to the streams in order.
static bool assign_arguments(zf_codec_use *use) {
    zf_spec *spec = use->work->spec;
    bool ok = true;
    uint32_t count = port_count(use->declared);
    use->by_port = ZF_NEW_ARRAY(spec->arena, const zf_ast_codec_arg *, count + 1);
    const zf_ast_port *next = use->declared->ports;
    uint32_t next_index = 0;
    for (const zf_ast_codec_arg *arg = use->ast->args; arg != NULL; arg = arg->next) {
        const zf_ast_port *port;
        uint32_t index;
        if (arg->label != NULL) {
            port = find_port(use->declared, arg->label, &index);
            if (port == NULL && strcmp(arg->label, "chunk") == 0) {
                if (use->chunk != NULL) ok = report_twice(use, arg, use->chunk, "chunk");
                use->chunk = arg;
                continue;
            }
            if (port == NULL) {
                report_no_such(use, arg);
                ok = false;
                continue;
            }
        } else if (arg->value->kind == ZF_AC_LITERAL) {
            zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_LITERAL_FOR_STREAM, arg->span, "a constant without a label");
            zf_diag_hint(&spec->diags, diag, "write `name: constant`: only streams are given by their order");
            ok = false;
            continue;
        } else {
            while (next != NULL && next->is_param) {
                next = next->next;
                next_index++;
            }
            if (next == NULL) {
                zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_TOO_MANY_ARGUMENTS, arg->span,
                                              "more codecs than `%s` has streams", use->algorithm->name);
                zf_diag_remark(&spec->diags, diag, use->algorithm->decl->name_span, "declared here");
                return false;
            }
            port = next;
            index = next_index++;
            next = next->next;
        }
        if (use->by_port[index] != NULL) {
            ok = report_twice(use, arg, use->by_port[index], port->name);
        } else {
            use->by_port[index] = arg;
        }
        if (port->is_param && arg->type != NULL) {
            zf_diag_error(&spec->diags, ZF_D_LITERAL_FOR_STREAM, arg->span, "`%s` is a param: it has no codec", port->name);
            ok = false;
        } else if (!port->is_param && arg->value->kind == ZF_AC_LITERAL) {
            zf_diag *diag =
                zf_diag_error(&spec->diags, ZF_D_LITERAL_FOR_STREAM, arg->span, "a constant for the stream `%s`", port->name);
            zf_diag_remark(&spec->diags, diag, port->name_span, "declared here");
            ok = false;
        }
    }
    return ok;
}

// ---- Constants ------------------------------------------------------------------------------------------------

/// The bits of a constant that a codec gives: a literal, or the name of a declared constant.
static bool constant_bits(zf_codec_use *use, const zf_ast_codec *value, zf_type type, uint64_t *bits) {
    zf_spec *spec = use->work->spec;
    if (value->kind == ZF_AC_LITERAL) return zf_literal_bits(spec, value->literal, type, bits);
    zf_symbol *symbol = value->kind == ZF_AC_NAME && !value->has_args ? zf_find_symbol(spec, use->module, value->name) : NULL;
    if (symbol == NULL || symbol->decl->kind != ZF_AD_CONST) {
        if (value->kind == ZF_AC_NAME && symbol == NULL && !value->has_args) {
            zf_report_unknown(spec, use->module, value->name, value->span, ZF_AD_CONST, "constant");
        } else {
            zf_diag_error(&spec->diags, ZF_D_LITERAL_FOR_STREAM, value->span, "a codec where a constant is wanted");
        }
        return false;
    }
    const zf_constant *constant = zf_resolve_constant(spec, symbol);
    if (constant == NULL) return false;
    zf_type from = constant->table.type;
    bool fits = !constant->is_array && zf_type_equal(zf_type_strip(from), zf_type_strip(type));
    if (!fits && !constant->is_array && zf_kind_is_integer(from.kind) && zf_kind_is_integer(type.kind) && !type.nullable) {
        zf_int128 number = zf_value_of_bits(from.kind, constant->table.bits[0]);
        fits = zf_interval_within(zf_interval_const(number), zf_interval_of_kind(type.kind));
    }
    double real = 0;
    if (fits && from.kind == ZF_K_F64) memcpy(&real, constant->table.bits, sizeof real);
    if (fits && from.kind == ZF_K_F32) {
        float single;
        memcpy(&single, constant->table.bits, sizeof single);
        real = (double)single;
    }
    // Canonical text says every constant as a literal, and a codec has none for these.
    fits = fits && !signbit(real) && isfinite(real);
    if (!fits) {
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_CANNOT_CONVERT, value->span, "`%s` cannot be used as %s", value->name,
                                      zf_type_name(spec->arena, type));
        zf_diag_remark(&spec->diags, diag, symbol->decl->name_span, "declared here as %s%s", zf_type_name(spec->arena, from),
                       constant->is_array ? "[..]" : "");
        return false;
    }
    *bits = zf_kind_is_integer(type.kind) ? zf_bits_of_value(type.kind, zf_value_of_bits(from.kind, constant->table.bits[0]))
                                          : constant->table.bits[0];
    return true;
}

static bool names_unknown(zf_visitor *visitor, zf_expr *expr) {
    const zf_codec_node *node = visitor->user;
    if (expr->kind == ZF_X_PARAM && !node->param_given[expr->port->slot]) visitor->user = NULL;
    return visitor->user != NULL;
}

/// The value of an end of a param's range, when the params it names are given.
static bool range_end(const zf_codec_node *node, zf_expr *end, zf_kind kind, zf_int128 *out) {
    if (end == NULL) return false;
    zf_visitor visitor = {.user = (void *)(uintptr_t)node, .expr = names_unknown};
    zf_visit_expr(&visitor, end);
    uint64_t bits;
    if (visitor.user == NULL || !zf_expr_evaluate(end, node->param_bits, &bits)) return false;
    *out = zf_value_of_bits(zf_kind_is_integer(end->type.kind) ? end->type.kind : kind, bits);
    return true;
}

static bool give_param(zf_codec_use *use, zf_codec_node *node, const zf_port *param, const zf_ast_codec_arg *arg) {
    zf_spec *spec = use->work->spec;
    uint64_t bits;
    if (!constant_bits(use, arg->value, param->type, &bits)) return false;
    if (param->assigned) {
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_PARAM_CHOSEN, arg->span, "`%s` is chosen by the encoder of `%s`",
                                      param->name, use->algorithm->name);
        zf_diag_remark(&spec->diags, diag, param->span, "declared here");
        return false;
    }
    if (zf_kind_is_integer(param->type.kind)) {
        zf_int128 value = zf_value_of_bits(param->type.kind, bits);
        zf_interval range = param->has_range ? param->range : zf_interval_of_kind(param->type.kind);
        zf_int128 end;
        if (param->has_range && range_end(node, param->lo, param->type.kind, &end) && end > range.lo) range.lo = end;
        if (param->has_range && range_end(node, param->hi, param->type.kind, &end) && end < range.hi) range.hi = end;
        if (value < range.lo || value > range.hi) {
            zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_CONSTANT_RANGE, arg->span, "`%s` of `%s` cannot be %" PRId64,
                                          param->name, use->algorithm->name, (int64_t)value);
            zf_diag_remark(&spec->diags, diag, param->span, "`%s` is in %s", param->name, zf_interval_text(spec->arena, range));
            return false;
        }
    }
    node->param_given[param->slot] = true;
    node->param_bits[param->slot] = bits;
    return true;
}

static bool give_chunk(zf_codec_use *use, zf_codec_node *node) {
    zf_spec *spec = use->work->spec;
    if (use->chunk == NULL) return true;
    if (node->inst->pattern != ZF_NON_PARALLEL) {
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_BAD_CHUNK, use->chunk->span, "`%s` has no chunks", use->algorithm->name);
        zf_diag_remark(&spec->diags, diag, use->declared->pattern_span, "only `non_parallel` algorithms have");
        return false;
    }
    uint64_t bits;
    if (!constant_bits(use, use->chunk->value, zf_type_of(ZF_K_U64), &bits)) return false;
    if (bits < 1 || bits > ZF_CODEC_CHUNK_MAX) {
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_BAD_CHUNK, use->chunk->span, "a chunk of %" PRIu64 " elements", bits);
        zf_diag_remark(&spec->diags, diag, (zf_span){0}, "a chunk has 1..=%d elements", ZF_CODEC_CHUNK_MAX);
        return false;
    }
    node->chunk_size = bits;
    return true;
}

// ---- Nodes ----------------------------------------------------------------------------------------------------

static bool count_node(zf_codec_work *work, zf_span span) {
    if (work->spec->codec_nodes++ < ZF_CODEC_ALL_NODES && work->nodes++ < ZF_CODEC_NODES) return true;
    if (!work->too_large) {
        zf_diag_error(&work->spec->diags, ZF_D_TOO_LARGE, span,
                      "this codec uses more than %d algorithms once the codecs it names are "
                      "expanded",
                      ZF_CODEC_NODES);
    }
    work->too_large = true;
    return false;
}

static zf_codec_node *resolve_node(zf_codec_work *work, const zf_source_module *module, const zf_ast_codec *ast,
                                   const zf_algorithm *algorithm, zf_codec_edge edge) {
    zf_spec *spec = work->spec;
    if (algorithm->broken || !count_node(work, ast->span)) return NULL;
    zf_codec_use use = {
        .work = work, .module = module, .ast = ast, .algorithm = algorithm, .declared = algorithm->decl->algorithm, .edge = edge};
    if (edge.type.kind == ZF_K_ERROR || !assign_arguments(&use)) return NULL;
    zf_type *bindings = ZF_NEW_ARRAY(spec->arena, zf_type, algorithm->generic_count + 1);
    if (!zf_codec_bind(&use, bindings)) return NULL;
    zf_inst *inst = zf_spec_instantiate(spec, algorithm, bindings, ast->span);
    if (inst == NULL) return NULL;

    zf_codec_node *node = ZF_NEW(spec->arena, zf_codec_node);
    *node = (zf_codec_node){.inst = inst, .span = ast->span, .chunk_size = inst->chunk_size};
    node->streams = ZF_NEW_ARRAY(spec->arena, zf_codec_choice *, inst->stream_count + 1);
    node->param_given = ZF_NEW_ARRAY(spec->arena, bool, inst->param_count + 1);
    node->param_bits = ZF_NEW_ARRAY(spec->arena, uint64_t, inst->param_count + 1);
    bool ok = give_chunk(&use, node);
    for (uint32_t slot = 0; slot < inst->param_count; slot++) {
        const zf_port *param = inst->params[slot];
        if (use.by_port[param->index] != NULL) {
            ok = give_param(&use, node, param, use.by_port[param->index]) && ok;
        } else if (param->given != NULL) {
            node->param_given[slot] = true;
            node->param_bits[slot] = param->given->bits;
        }
    }
    for (uint32_t slot = 0; slot < inst->stream_count; slot++) {
        const zf_port *stream = inst->streams[slot];
        const zf_ast_codec_arg *arg = use.by_port[stream->index];
        if (arg == NULL) continue;
        zf_codec_edge below = {.type = zf_type_strip(stream->type),
                               .declared = arg->type != NULL ? arg->type->span : stream->span};
        below.what = zf_arena_printf(spec->arena, "stream `%s` of `%s`", stream->name, algorithm->name);
        node->streams[slot] = resolve_choice(work, module, arg->value, below);
        ok = ok && node->streams[slot] != NULL;
    }
    return ok ? node : NULL;
}

// ---- Choices --------------------------------------------------------------------------------------------------

static bool add_alternative(zf_codec_work *work, alternatives *found, zf_codec_node *node, zf_span span) {
    if (found->count == ZF_CODEC_ALTERNATIVES) {
        zf_diag_error(&work->spec->diags, ZF_D_TOO_LARGE, span, "more than %d alternatives", ZF_CODEC_ALTERNATIVES);
        return false;
    }
    if (found->count == found->capacity) {
        found->capacity = found->capacity == 0 ? 1 : found->capacity * 4;
        zf_codec_node **nodes = ZF_NEW_ARRAY(work->spec->arena, zf_codec_node *, found->capacity);
        for (uint32_t k = 0; k < found->count; k++) nodes[k] = found->nodes[k];
        found->nodes = nodes;
    }
    found->nodes[found->count++] = node;
    return true;
}

static bool collect(zf_codec_work *work, const zf_source_module *module, const zf_ast_codec *ast, zf_codec_edge edge,
                    alternatives *found);

/// A codec that is named: what it stands for takes its place, alternatives and all.
static bool collect_named(zf_codec_work *work, const zf_ast_codec *ast, zf_symbol *symbol, zf_codec_edge edge,
                          alternatives *found) {
    zf_spec *spec = work->spec;
    if (ast->has_args) {
        zf_diag *diag =
            zf_diag_error(&spec->diags, ZF_D_TOO_MANY_ARGUMENTS, ast->span, "`%s` is a codec: it takes no arguments", ast->name);
        zf_diag_remark(&spec->diags, diag, symbol->decl->name_span, "declared here");
        return false;
    }
    if (symbol->resolving) {
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_CODEC_CYCLE, ast->span, "`%s` contains itself", ast->name);
        zf_diag_remark(&spec->diags, diag, symbol->decl->name_span, "declared here");
        return false;
    }
    zf_type declared = zf_resolve_type(spec, symbol->module, symbol->decl->type, NULL, NULL);
    if (declared.kind == ZF_K_ERROR || edge.type.kind == ZF_K_ERROR) return false;
    if (!zf_type_equal(zf_type_strip(declared), edge.type)) {
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_EDGE_TYPE, ast->span, "%s holds %s, `%s` is a codec for %s", edge.what,
                                      zf_type_name(spec->arena, edge.type), ast->name, zf_type_name(spec->arena, declared));
        zf_diag_remark(&spec->diags, diag, symbol->decl->type->span, "declared here");
        return false;
    }
    symbol->resolving = true;
    bool ok = collect(work, symbol->module, symbol->decl->codec, edge, found);
    symbol->resolving = false;
    return ok;
}

static bool collect(zf_codec_work *work, const zf_source_module *module, const zf_ast_codec *ast, zf_codec_edge edge,
                    alternatives *found) {
    zf_spec *spec = work->spec;
    if (work->too_large || ast->cut) return false;
    if (ast->kind == ZF_AC_ALT) {
        bool ok = true;
        for (const zf_ast_codec *alt = ast->alts; alt != NULL; alt = alt->next)
            ok = collect(work, module, alt, edge, found) && ok;
        return ok;
    }
    if (ast->kind == ZF_AC_LITERAL) {
        zf_diag_error(&spec->diags, ZF_D_LITERAL_FOR_STREAM, ast->span, "a constant where a codec is wanted");
        return false;
    }
    zf_symbol *symbol = zf_find_symbol(spec, module, ast->name);
    if (symbol == NULL) {
        zf_span name = ast->span; // without its arguments
        name.end = name.begin + (uint32_t)strlen(ast->name);
        zf_report_unknown(spec, module, ast->name, name, ZF_AD_CODEC, "codec");
        return false;
    }
    if (symbol->decl->kind == ZF_AD_CODEC) return collect_named(work, ast, symbol, edge, found);
    if (symbol->decl->kind != ZF_AD_ALGORITHM) {
        zf_diag *diag =
            zf_diag_error(&spec->diags, ZF_D_NOT_THAT_KIND, ast->span, "`%s` is neither an algorithm nor a codec", ast->name);
        zf_diag_remark(&spec->diags, diag, symbol->decl->name_span, "declared here");
        return false;
    }
    zf_codec_node *node = resolve_node(work, module, ast, symbol->resolved, edge);
    return node != NULL && add_alternative(work, found, node, ast->span);
}

static zf_codec_choice *resolve_choice(zf_codec_work *work, const zf_source_module *module, const zf_ast_codec *ast,
                                       zf_codec_edge edge) {
    if (ast == NULL) return NULL;
    if (work->depth == ZF_CODEC_DEPTH) {
        zf_diag_error(&work->spec->diags, ZF_D_TOO_DEEP, ast->span, "a codec nests deeper than %d", ZF_CODEC_DEPTH);
        return NULL;
    }
    work->depth++;
    alternatives found = {0};
    bool ok = collect(work, module, ast, edge, &found);
    work->depth--;
    if (!ok) return NULL;
    zf_codec_choice *choice = ZF_NEW(work->spec->arena, zf_codec_choice);
    *choice = (zf_codec_choice){.count = found.count, .alternatives = found.nodes, .index = UINT32_MAX, .span = ast->span};
    return choice;
}

/// Numbers the choices with several alternatives, in pre-order.
static void number_choices(zf_codec_choice *choice, zf_column *column) {
    if (choice->count > 1) {
        choice->index = column->choice_count++;
        column->alternatives[choice->index] = (uint8_t)choice->count; // at most ZF_CODEC_ALTERNATIVES
    }
    for (uint32_t k = 0; k < choice->count; k++) {
        const zf_codec_node *node = choice->alternatives[k];
        for (uint32_t slot = 0; slot < node->inst->stream_count; slot++) {
            if (node->streams[slot] != NULL) number_choices(node->streams[slot], column);
        }
    }
}

// ---- Columns --------------------------------------------------------------------------------------------------

/// Text of the arena from a text that is freed.
static const char *keep_text(zf_spec *spec, zf_text *text) {
    if (text->failed) longjmp(*spec->escape, 1);
    zf_arena_set_escape(spec->arena, NULL);
    const char *kept = zf_arena_copy(spec->arena, text->data == NULL ? "" : text->data, text->length);
    zf_arena_set_escape(spec->arena, spec->escape);
    zf_text_free(text);
    if (kept == NULL) longjmp(*spec->escape, 1);
    return kept;
}

static zf_column *resolve_column(zf_spec *spec, const zf_source_module *module, const char *name, zf_span span, zf_type type,
                                 zf_span type_span, const zf_ast_codec *codec, const char *what) {
    if (type.kind == ZF_K_ERROR) return NULL;
    zf_codec_work work = {.spec = spec};
    zf_codec_edge edge = {.type = zf_type_strip(type), .declared = type_span};
    edge.what = zf_arena_printf(spec->arena, "%s `%s`", what, name);
    zf_codec_choice *choice = resolve_choice(&work, module, codec, edge);
    if (choice == NULL) return NULL;
    zf_column *column = ZF_NEW(spec->arena, zf_column);
    *column = (zf_column){.name = name, .span = span, .type = type, .codec = choice};
    column->alternatives = ZF_NEW_ARRAY(spec->arena, uint8_t, work.nodes + 1u); // each is a node, so choices are fewer
    number_choices(choice, column);
    zf_text text = {0};
    zf_codec_print(spec, choice, &text);
    column->codec_text = keep_text(spec, &text);
    return column;
}

bool zf_check_codec(zf_spec *spec, zf_symbol *symbol) {
    if (symbol->resolved != NULL) return true;
    const zf_ast_decl *decl = symbol->decl;
    zf_type type = zf_resolve_type(spec, symbol->module, decl->type, NULL, NULL);
    symbol->resolving = true;
    zf_column *column =
        resolve_column(spec, symbol->module, decl->name, decl->name_span, type, decl->type->span, decl->codec, "codec");
    symbol->resolving = false;
    if (column == NULL) return false;
    zf_codec *codec = ZF_NEW(spec->arena, zf_codec);
    *codec = (zf_codec){.name = decl->name, .column = column};
    if (spec->codecs_end == NULL) spec->codecs_end = &spec->codecs;
    *spec->codecs_end = codec;
    spec->codecs_end = &codec->next;
    symbol->resolved = codec;
    return true;
}

static int by_name(const void *a, const void *b) {
    const zf_ast_column *x = *(const zf_ast_column *const *)a, *y = *(const zf_ast_column *const *)b;
    if (x->name != y->name) return (uintptr_t)x->name < (uintptr_t)y->name ? -1 : 1;
    return x->name_span.begin < y->name_span.begin ? -1 : x->name_span.begin > y->name_span.begin;
}

/// Names are interned, so equal ones lie side by side when sorted by address.
static bool check_column_names(zf_spec *spec, const zf_ast_decl *decl) {
    size_t count = 0;
    for (const zf_ast_column *column = decl->columns; column != NULL; column = column->next) count++;
    const zf_ast_column **sorted = ZF_NEW_ARRAY(spec->arena, const zf_ast_column *, count + 1);
    count = 0;
    for (const zf_ast_column *column = decl->columns; column != NULL; column = column->next) sorted[count++] = column;
    qsort(sorted, count, sizeof *sorted, by_name);
    bool ok = true;
    for (size_t k = 1; k < count; k++) {
        if (sorted[k]->name != sorted[k - 1]->name) continue;
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_DECLARED_TWICE, sorted[k]->name_span, "column `%s` is declared twice",
                                      sorted[k]->name);
        zf_diag_remark(&spec->diags, diag, sorted[k - 1]->name_span, "first declared here");
        ok = false;
    }
    return ok;
}

static bool check_name_length(zf_spec *spec, const char *what, const char *name, zf_span span) {
    size_t length = strlen(name);
    if (length <= ZF_CODEC_NAME_MOST) return true;
    zf_diag_error(&spec->diags, ZF_D_NAME_LENGTH, span, "the name of a %s has at most %d bytes, and this has %zu", what,
                  ZF_CODEC_NAME_MOST, length);
    return false;
}

/// Whether an error was reported within the declaration: what the parser passed over is not known to be missing.
static bool has_error(const zf_spec *spec, const zf_ast_decl *decl) {
    for (const zf_diag *diag = spec->diags.first; diag != NULL; diag = diag->next) {
        bool within =
            diag->span.source == decl->span.source && diag->span.begin >= decl->span.begin && diag->span.end <= decl->span.end;
        if (diag->severity == ZF_ERROR && within) return true;
    }
    return false;
}

static bool check_table_names(zf_spec *spec, const zf_ast_decl *decl) {
    bool ok = check_name_length(spec, "table", decl->name, decl->name_span);
    for (const zf_ast_column *column = decl->columns; column != NULL; column = column->next)
        ok = check_name_length(spec, "column", column->name, column->name_span) && ok;
    if (decl->columns == NULL) {
        if (has_error(spec, decl)) return false;
        zf_diag_error(&spec->diags, ZF_D_NO_COLUMNS, decl->name_span, "the table `%s` has no columns", decl->name);
        ok = false;
    }
    return check_column_names(spec, decl) && ok;
}

// ---- Columns of lists -----------------------------------------------------------------------------------------

/// The type of a column of lists, taken apart; NULL: it is of no lists.
static const zf_ast_type *list_type(const zf_ast_type *written, bool *nullable) {
    *nullable = written->kind == ZF_AT_OPTION && written->element->kind == ZF_AT_LIST;
    const zf_ast_type *list = *nullable ? written->element : written;
    return list->kind == ZF_AT_LIST && strcmp(list->name, "list") == 0 ? list : NULL;
}

/// A part that is written behind a column's codec. False: it is missing, written twice, or none of the type's.
static bool find_parts(zf_spec *spec, const zf_ast_column *written, bool is_list, bool nullable,
                       const zf_ast_codec_arg **validity, const zf_ast_codec_arg **values) {
    bool ok = true;
    *validity = *values = NULL;
    for (const zf_ast_codec_arg *part = written->parts; part != NULL; part = part->next) {
        bool is_validity = strcmp(part->label, "validity") == 0, is_values = strcmp(part->label, "values") == 0;
        const zf_ast_codec_arg **place = is_validity ? validity : values;
        const char *fault = !is_list                     ? "only a column of lists has parts: `%s` is not of lists"
                            : !is_validity && !is_values ? "the parts of `%s` are `validity` and `values`"
                            : is_validity && !nullable   ? "the lists of `%s` are never null: `list<T>?` has a validity"
                            : *place != NULL             ? "a part of `%s` is given twice"
                                                         : NULL;
        if (fault != NULL) {
            zf_diag_error(&spec->diags, ZF_D_LIST_PARTS, part->label_span, "%s",
                          zf_arena_printf(spec->arena, fault, written->name)); // NOLINT: every format takes one string
            ok = false;
        } else {
            *place = part;
        }
    }
    if (!ok || !is_list) return ok;
    bool lacks_validity = nullable && *validity == NULL;
    if (!lacks_validity && *values != NULL) return true;
    zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_LIST_PARTS, written->type->span, "the lists of `%s` have no codec for %s",
                                  written->name, lacks_validity ? "their validity" : "their values");
    zf_diag_hint(&spec->diags, diag, "the codec behind `=` is that of the lists' ends; write%s `, values: CODEC` behind it",
                 nullable ? " `, validity: CODEC` and" : "");
    return false;
}

static void append_column(zf_table *table, zf_column ***last, zf_column *column, zf_list_part part) {
    column->table = table;
    column->part = part;
    **last = column;
    *last = &column->next;
    table->column_count++;
}

/// Appends the columns that a column of lists is.
static bool check_lists(zf_spec *spec, const zf_symbol *symbol, const zf_ast_column *written, const zf_ast_type *list,
                        bool nullable, zf_table *table, zf_column ***last) {
    const zf_ast_codec_arg *validity_part, *values_part;
    const zf_ast_type *element = list->element->kind == ZF_AT_OPTION ? list->element->element : list->element;
    if (element->kind == ZF_AT_LIST) {
        zf_diag_error(&spec->diags, ZF_D_BAD_TYPE, element->span, "the values of a list cannot be lists");
        return false;
    }
    zf_type type = zf_resolve_type(spec, symbol->module, list->element, NULL, NULL);
    bool ok = find_parts(spec, written, true, nullable, &validity_part, &values_part);
    if (!ok || type.kind == ZF_K_ERROR) return false;
    const char *name = written->name;
    zf_column *ends = resolve_column(spec, symbol->module, name, written->name_span, zf_type_of(ZF_K_I64), list->span,
                                     written->codec, "column of ends");
    zf_column *validity =
        !nullable ? NULL
                  : resolve_column(spec, symbol->module, zf_arena_printf(spec->arena, "%s.valid", name), written->name_span,
                                   zf_type_of(ZF_K_BOOL), written->type->span, validity_part->value, "column");
    zf_column *values = resolve_column(spec, symbol->module, zf_arena_printf(spec->arena, "%s.values", name), written->name_span,
                                       type, list->element->span, values_part->value, "column");
    if (ends == NULL || values == NULL || (nullable && validity == NULL)) return false;
    append_column(table, last, ends, ZF_LIST_ENDS);
    if (nullable) append_column(table, last, validity, ZF_LIST_VALIDITY);
    append_column(table, last, values, ZF_LIST_VALUES);
    return true;
}

const char *zf_column_type_text(zf_arena *arena, const zf_column *column) {
    if (column->part != ZF_LIST_ENDS) return zf_type_name(arena, column->type);
    const char *values = zf_type_name(arena, zf_lists_values(column)->type);
    return values == NULL ? NULL : zf_arena_printf(arena, "list<%s>%s", values, zf_lists_validity(column) != NULL ? "?" : "");
}

bool zf_check_table(zf_spec *spec, zf_symbol *symbol) {
    if (symbol->resolved != NULL) return true;
    const zf_ast_decl *decl = symbol->decl;
    bool ok = check_table_names(spec, decl);
    zf_table *table = ZF_NEW(spec->arena, zf_table);
    *table = (zf_table){.name = decl->name, .span = decl->name_span};
    zf_column **last = &table->columns;
    for (const zf_ast_column *written = decl->columns; written != NULL; written = written->next) {
        bool nullable;
        const zf_ast_type *list = list_type(written->type, &nullable);
        if (list != NULL) {
            ok = check_lists(spec, symbol, written, list, nullable, table, &last) && ok;
            continue;
        }
        const zf_ast_codec_arg *validity, *values;
        zf_type type = zf_resolve_type(spec, symbol->module, written->type, NULL, NULL);
        ok = (type.kind == ZF_K_ERROR || find_parts(spec, written, false, false, &validity, &values)) && ok;
        zf_column *column = resolve_column(spec, symbol->module, written->name, written->name_span, type, written->type->span,
                                           written->codec, "column");
        if (column == NULL)
            ok = false;
        else
            append_column(table, &last, column, ZF_LIST_NONE);
    }
    if (spec->tables_end == NULL) spec->tables_end = &spec->tables;
    *spec->tables_end = table;
    spec->tables_end = &table->next;
    symbol->resolved = table;
    return ok;
}

// ---- Codecs given as text -------------------------------------------------------------------------------------

typedef struct text_codec {
    const char *name, *text;
    zf_type type;
    zf_column *column;
} text_codec;

/// The module that a text given alone sees: everything that the user's own files declare, and std.
static zf_source_module *scratch_module(zf_spec *spec, const zf_source *source) {
    zf_source_module *scratch = ZF_NEW(spec->arena, zf_source_module);
    scratch->source = source;
    uint32_t count = 0;
    for (const zf_source_module *module = spec->modules; module != NULL; module = module->next) count += !module->is_std;
    scratch->imports = ZF_NEW_ARRAY(spec->arena, zf_source_module *, count + 1);
    scratch->import_spans = ZF_NEW_ARRAY(spec->arena, zf_span, count + 1);
    for (zf_source_module *module = spec->modules; module != NULL; module = module->next) {
        if (!module->is_std) scratch->imports[scratch->import_count++] = module;
    }
    return scratch;
}

static bool resolve_text(zf_spec *spec, void *data) {
    text_codec *given = data;
    zf_load_std(spec);
    // A codec is parsed as one of a declaration; the name in front is nobody's.
    zf_source *source = ZF_NEW(spec->arena, zf_source);
    source->path = zf_arena_copy(spec->arena, given->name, strlen(given->name));
    source->text = zf_arena_printf(spec->arena, "codec given: u8 = %s\n;", given->text);
    source->length = strlen(source->text);
    source->id = spec->source_count++;
    uint32_t errors = spec->diags.errors;
    zf_ast_unit *unit = source->length > ZF_SOURCE_LIMIT ? NULL : zf_parse(spec, source);
    if (unit == NULL || spec->diags.errors != errors) return false;
    if (unit->decls == NULL || unit->decls->next != NULL || unit->decls->kind != ZF_AD_CODEC) {
        zf_span span = {source, 0, (uint32_t)source->length};
        zf_diag_error(&spec->diags, ZF_D_UNEXPECTED_TOKEN, span, "more than one codec");
        return false;
    }
    given->column = resolve_column(spec, scratch_module(spec, source), source->path, unit->decls->codec->span, given->type,
                                   (zf_span){0}, unit->decls->codec, "column");
    return given->column != NULL;
}

zf_column *zf_spec_resolve_codec(zf_spec *spec, const char *name, zf_type type, const char *codec_text) {
    text_codec given = {.name = name, .text = codec_text, .type = type};
    return zf_guarded(spec, resolve_text, &given) ? given.column : NULL;
}
