// A compilation: its life, what is added to it, the order of checking, and finding things in it.
#include <stdlib.h>
#include <string.h>

#include "frontend/spec/spec_internal.h"

zf_spec *zf_spec_create(const zf_spec_options *options) {
    zf_arena *arena = zf_arena_create();
    if (arena == NULL) return NULL;
    zf_spec *spec = ZF_NEW(arena, zf_spec);
    zf_diag *memory_diag = ZF_NEW(arena, zf_diag);
    struct zf_name_table *names = zf_name_table_create(arena);
    if (spec == NULL || memory_diag == NULL || names == NULL) {
        zf_arena_destroy(arena);
        return NULL;
    }
    *memory_diag = (zf_diag){.severity = ZF_ERROR, .code = ZF_D_TOO_LARGE, .message = "out of memory"};
    spec->arena = arena;
    spec->names = names;
    spec->memory_diag = memory_diag;
    if (options != NULL) spec->options = *options;
    zf_diags_init(&spec->diags, arena);
    return spec;
}

void zf_spec_destroy(zf_spec *spec) {
    if (spec == NULL) return;
    if (spec->c_locale != (locale_t)0) freelocale(spec->c_locale);
    zf_arena_destroy(spec->arena);
}

zf_arena *zf_spec_arena(zf_spec *spec) { return spec->arena; }
zf_diags *zf_spec_diags(zf_spec *spec) { return &spec->diags; }

/// Guarded, and noted as a pass.
static bool timed(zf_spec *spec, zf_pass name, bool (*work)(zf_spec *spec, void *data), void *data) {
    unsigned pass = zf_pass_begin(spec->options.passes, name);
    bool good = zf_guarded(spec, work, data);
    zf_pass_end(spec->options.passes, pass);
    return good;
}

void zf_spec_out_of_memory(zf_spec *spec) {
    if (spec->memory_diag == NULL) return;
    spec->diags.muted = false;
    *spec->diags.last = spec->memory_diag;
    spec->diags.last = &spec->memory_diag->next;
    spec->diags.errors++;
    spec->memory_diag = NULL;
}

bool zf_spec_guard(zf_spec *spec, zf_arena *other, bool (*work)(zf_spec *spec, void *data), void *data) {
    bool nested = spec->escape != NULL;
    jmp_buf here;
    volatile bool ok = false;
    if (!nested) {
        spec->escape = &here;
        zf_arena_set_escape(spec->arena, &here);
    }
    if (other != NULL) zf_arena_set_escape(other, spec->escape);
    if (nested)
        ok = work(spec, data);
    else if (setjmp(here) == 0)
        ok = work(spec, data);
    else
        zf_spec_out_of_memory(spec);
    if (other != NULL) zf_arena_set_escape(other, NULL);
    if (nested) return ok;
    spec->escape = NULL;
    zf_arena_set_escape(spec->arena, NULL);
    return ok;
}

bool zf_guarded(zf_spec *spec, bool (*work)(zf_spec *spec, void *data), void *data) {
    return zf_spec_guard(spec, NULL, work, data);
}

// ---- Adding ---------------------------------------------------------------------------------------------------

typedef struct addition {
    const char *name, *text; ///< text NULL: a file
    size_t length;
} addition;

static bool add(zf_spec *spec, void *data) {
    const addition *what = data;
    uint32_t errors = spec->diags.errors;
    zf_source_module *module =
        what->text == NULL ? zf_load_file(spec, what->name) : zf_load_text(spec, what->name, what->text, what->length);
    return module != NULL && spec->diags.errors == errors;
}

bool zf_spec_add_file(zf_spec *spec, const char *path) { return timed(spec, ZF_PASS_PARSE, add, &(addition){.name = path}); }

bool zf_spec_add_text(zf_spec *spec, const char *name, const char *text, size_t length) {
    return timed(spec, ZF_PASS_PARSE, add, &(addition){.name = name, .text = text, .length = length});
}

// ---- Syntax alone ---------------------------------------------------------------------------------------------

typedef struct formatting {
    const char *path;
    zf_text *out;
    bool changed;
} formatting;

static bool format(zf_spec *spec, void *data) {
    formatting *what = data;
    const zf_source *source = zf_read_source(spec, what->path);
    const zf_ast_unit *unit = source == NULL ? NULL : zf_parse(spec, source);
    if (unit == NULL || spec->diags.errors > 0) return false;
    zf_format_unit(unit, what->out);
    if (what->out->failed) {
        zf_spec_out_of_memory(spec);
        return false;
    }
    what->changed =
        what->out->length != source->length || (source->length > 0 && memcmp(what->out->data, source->text, source->length) != 0);
    return true;
}

bool zf_spec_format_file(zf_spec *spec, const char *path, zf_text *out, bool *changed) {
    formatting what = {.path = path, .out = out};
    bool ok = zf_guarded(spec, format, &what);
    *changed = what.changed;
    return ok;
}

typedef struct laying_out {
    const char *text;
    size_t length;
    zf_text *out;
} laying_out;

static bool lay_out(zf_spec *spec, void *data) {
    laying_out *what = data;
    const zf_source source = {.path = "", .text = what->text, .length = what->length};
    const zf_ast_unit *unit = what->length > ZF_SOURCE_LIMIT ? NULL : zf_parse(spec, &source);
    if (unit == NULL || spec->diags.errors > 0) return false;
    zf_format_unit(unit, what->out);
    if (what->out->failed) zf_spec_out_of_memory(spec);
    return !what->out->failed && what->out->length <= ZF_SOURCE_LIMIT;
}

void zf_lay_out_text(const char *text, size_t length, zf_text *out) {
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.no_std = true});
    zf_text laid = {0};
    bool good = spec != NULL && zf_guarded(spec, lay_out, &(laying_out){text, length, &laid});
    bool memory = spec != NULL && spec->memory_diag != NULL;
    if (memory)
        zf_text_add(out, good ? laid.data : text, good ? laid.length : length);
    else
        out->failed = true;
    zf_text_free(&laid);
    if (spec != NULL) zf_spec_destroy(spec);
}

void zf_spec_print_ast(const zf_spec *spec, zf_text *out) {
    for (const zf_source_module *module = spec->modules; module != NULL; module = module->next) {
        if (!module->is_std && module->unit != NULL) zf_ast_print(module->unit, out);
    }
}

// ---- Checking -------------------------------------------------------------------------------------------------

static void check_constant(zf_spec *spec, zf_symbol *symbol) { zf_resolve_constant(spec, symbol); }
static void check_algorithm(zf_spec *spec, zf_symbol *symbol) { zf_check_algorithm(spec, symbol); }
static void check_codec(zf_spec *spec, zf_symbol *symbol) { zf_check_codec(spec, symbol); }
static void check_table(zf_spec *spec, zf_symbol *symbol) { zf_check_table(spec, symbol); }

/// The kinds of declarations in the order of their checks: each kind may use those before it.
static const struct {
    zf_ast_decl_kind kind;
    void (*check)(zf_spec *spec, zf_symbol *symbol);
} passes[] = {
    {ZF_AD_CONST, check_constant}, {ZF_AD_FUNC, zf_check_function}, {ZF_AD_ALGORITHM, check_algorithm},
    {ZF_AD_CODEC, check_codec},    {ZF_AD_TABLE, check_table},      {ZF_AD_QUERY, zf_check_query},
};

static bool check_all(zf_spec *spec, void *data) {
    (void)data;
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        for (zf_source_module *module = spec->modules; module != NULL; module = module->next) {
            if (!module->wanted) continue;
            for (zf_symbol *symbol = module->symbols; symbol != NULL; symbol = symbol->next) {
                if (symbol->decl->kind == passes[k].kind) passes[k].check(spec, symbol);
            }
        }
    }
    return spec->diags.errors == 0;
}

bool zf_spec_check(zf_spec *spec) { return timed(spec, ZF_PASS_CHECK, check_all, NULL); }

// ---- Finding --------------------------------------------------------------------------------------------------

const zf_table *zf_spec_tables(const zf_spec *spec) { return spec->tables; }
const zf_codec *zf_spec_codecs(const zf_spec *spec) { return spec->codecs; }

const zf_query *zf_spec_queries(const zf_spec *spec) { return spec->queries; }

const zf_query *zf_spec_find_query(const zf_spec *spec, const char *name) {
    if (name == NULL) return spec->queries != NULL && spec->queries->next == NULL ? spec->queries : NULL;
    const zf_query *query = spec->queries;
    while (query != NULL && strcmp(query->name, name) != 0) query = query->next;
    return query;
}

static const zf_ast_algorithm *find_algorithm(const zf_spec *spec, const char *name) {
    for (const zf_source_module *module = spec->modules; module != NULL; module = module->next) {
        for (const zf_symbol *symbol = module->symbols; symbol != NULL; symbol = symbol->next) {
            if (symbol->decl->kind == ZF_AD_ALGORITHM && strcmp(symbol->name, name) == 0) return symbol->decl->algorithm;
        }
    }
    return NULL;
}

/// A type within a generic's bound; NULL: `name` is no generic.
static const char *type_within(const zf_ast_algorithm *algorithm, zf_name name) {
    static const char *const types[][2] = {{"signed", "i32"}, {"float", "f64"}};
    for (const zf_ast_generic *generic = algorithm->generics; generic != NULL; generic = generic->next) {
        if (generic->name != name) continue;
        for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
            if (generic->bound != NULL && strcmp(generic->bound, types[k][0]) == 0) return types[k][1];
        }
        return "u32";
    }
    return NULL;
}

/// A codec for a stream that files cannot hold as it is; NULL: they can.
static const char *codec_of_unstorable(const zf_ast_type *stream) {
    const zf_ast_type *element = stream->kind == ZF_AT_ARRAY ? stream->element : stream;
    const zf_ast_type *value = element->kind == ZF_AT_OPTION ? element->element : element;
    bool text = value->kind == ZF_AT_NAME && value->name != NULL && strcmp(value->name, "string") == 0;
    if (element->kind == ZF_AT_OPTION) return text ? "nullable(values: strings)" : "nullable";
    return text ? "strings" : NULL;
}

bool zf_spec_algorithm_use(const zf_spec *spec, const char *name, zf_text *out) {
    const zf_ast_algorithm *algorithm = find_algorithm(spec, name);
    if (algorithm == NULL) return false;
    const zf_ast_type *type = algorithm->result;
    if (type->kind == ZF_AT_ARRAY) type = type->element;
    const zf_ast_type *value = type->kind == ZF_AT_OPTION ? type->element : type;
    const char *bound =
        type_within(algorithm, value->kind == ZF_AT_APPLY && value->args != NULL ? value->args->name : value->name);
    if (bound != NULL && value->kind == ZF_AT_APPLY) bound = strcmp(value->name, "signed") == 0 ? "i32" : "u32";
    if (bound != NULL)
        zf_text_printf(out, "%s%s", bound, value != type ? "?" : "");
    else
        zf_text_add(out, type->span.source->text + type->span.begin, type->span.end - type->span.begin);
    zf_text_printf(out, " = %s", name);
    bool first = true;
    for (const zf_ast_port *port = algorithm->ports; port != NULL; port = port->next) {
        const char *codec = port->is_param ? NULL : codec_of_unstorable(port->type);
        if (codec == NULL) continue;
        zf_text_printf(out, "%s%s: %s", first ? "(" : ", ", port->name, codec);
        first = false;
    }
    if (!first) zf_text_puts(out, ")");
    return true;
}

const char *zf_spec_file(const zf_spec *spec, size_t index) {
    for (const zf_source_module *module = spec->modules; module != NULL; module = module->next) {
        if (module->real_path != NULL && index-- == 0) return module->real_path;
    }
    return NULL;
}

static bool is_imported(const zf_spec *spec, const zf_source *source) {
    for (const zf_source_module *module = spec->modules; module != NULL; module = module->next) {
        for (uint32_t k = 0; k < module->import_count; k++) {
            if (module->imports[k]->source == source) return true;
        }
    }
    return false;
}

size_t zf_spec_algorithm_names(const zf_spec *spec, const char **names, size_t most) {
    size_t count = 0;
    for (const zf_source_module *module = spec->modules; module != NULL; module = module->next) {
        for (const zf_symbol *symbol = module->symbols; symbol != NULL; symbol = symbol->next) {
            if (symbol->decl->kind == ZF_AD_ALGORITHM && count < most) names[count++] = symbol->name;
        }
    }
    return count;
}

bool zf_algorithm_is_std(const zf_algorithm *algorithm) { return algorithm->module->is_std; }

const char *zf_spec_an_algorithm(const zf_spec *spec) {
    for (const zf_source_module *module = spec->modules; module != NULL; module = module->next) {
        if (module->is_std || is_imported(spec, module->source)) continue;
        for (const zf_symbol *symbol = module->symbols; symbol != NULL; symbol = symbol->next) {
            if (symbol->decl->kind == ZF_AD_ALGORITHM) return symbol->name;
        }
    }
    return NULL;
}

/// The only table, else the only one of the files that were named: what is imported may have tables of its own.
static const zf_table *only_table(const zf_spec *spec) {
    const zf_table *found = spec->tables;
    if (found == NULL || found->next == NULL) return found;
    found = NULL;
    for (const zf_table *table = spec->tables; table != NULL; table = table->next) {
        if (is_imported(spec, table->span.source)) continue;
        if (found != NULL) return NULL;
        found = table;
    }
    return found;
}

const zf_table *zf_spec_find_table(const zf_spec *spec, const char *name) {
    if (name == NULL) return only_table(spec);
    for (const zf_table *table = spec->tables; table != NULL; table = table->next) {
        if (strcmp(table->name, name) == 0) return table;
    }
    return NULL;
}

const zf_codec *zf_spec_find_codec(const zf_spec *spec, const char *name) {
    for (const zf_codec *codec = spec->codecs; codec != NULL; codec = codec->next) {
        if (strcmp(codec->name, name) == 0) return codec;
    }
    return NULL;
}
