// Files as modules: reading, parsing, imports, and the clashes that imports can bring.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/spec/spec_internal.h"
#include "runtime/base/read_whole.h"

/// Imports nest at most this deep: loading recurses.
enum { IMPORT_DEPTH = 64 };

// ---- Reading --------------------------------------------------------------------------------------------------

/// Reads a file whole. NULL, or the reason why it cannot be read. Where there is no memory `out` says so.
static const char *read_file(const char *path, zf_text *out) {
    const char *reason;
    int file = zf_regular_open(path, &reason); // an import is found in a text, which may be anyone's: nothing may make us wait
    if (file < 0) return reason;
    int failed = zf_read_whole(file, ZF_SOURCE_LIMIT, out);
    close(file);
    if (failed == 0 || out->failed) return NULL;
    return failed == EFBIG ? "it is larger than 16 MiB" : strerror(failed);
}

/// Copies a text into the arena. `owned` is freed whether or not there is memory.
static zf_source *make_source(zf_spec *spec, const char *path, const char *text, size_t length, zf_text *owned) {
    zf_source *source = NULL;
    char *copy = NULL;
    zf_line_mark *marks = NULL;
    if (owned == NULL || !owned->failed) {
        zf_arena_set_escape(spec->arena, NULL);
        source = ZF_NEW(spec->arena, zf_source);
        copy = zf_arena_alloc(spec->arena, length + 1);
        marks = ZF_NEW_ARRAY(spec->arena, zf_line_mark, zf_line_mark_count(length));
        zf_arena_set_escape(spec->arena, spec->escape);
        if (copy != NULL && length > 0) memcpy(copy, text, length);
    }
    if (owned != NULL) zf_text_free(owned);
    if (source == NULL || copy == NULL || marks == NULL) longjmp(*spec->escape, 1);
    *source = (zf_source){.path = zf_arena_copy(spec->arena, path, strlen(path)),
                          .in_file = owned != NULL,
                          .text = copy,
                          .length = length,
                          .id = spec->source_count++,
                          .marks = marks};
    zf_line_marks_fill(source, marks);
    return source;
}

/// Reads the file at `real_path`, which diagnostics call `path`. NULL after reporting.
static zf_source *read_source(zf_spec *spec, const char *path, const char *real_path, zf_span at) {
    zf_text bytes = {0};
    unsigned pass = zf_pass_begin(spec->options.passes, ZF_PASS_READ);
    const char *reason = read_file(real_path, &bytes);
    zf_pass_end(spec->options.passes, pass);
    if (reason == NULL) return make_source(spec, path, bytes.data, bytes.length, &bytes);
    zf_text_free(&bytes);
    zf_diag_error(&spec->diags, ZF_D_IMPORT_FAILED, at, "cannot read `%s`: %s", path, reason);
    return NULL;
}

zf_source *zf_read_source(zf_spec *spec, const char *path) { return read_source(spec, path, path, (zf_span){0}); }

// ---- Loading --------------------------------------------------------------------------------------------------

static zf_source_module *load(zf_spec *spec, const char *path, zf_source_module *importer, zf_span at, bool is_std);

static zf_source_module *add_module(zf_spec *spec, const zf_source *source, const char *real_path) {
    zf_source_module *module = ZF_NEW(spec->arena, zf_source_module);
    module->source = source;
    module->real_path = real_path;
    zf_source_module **last = &spec->modules;
    while (*last != NULL) last = &(*last)->next;
    *last = module;
    return module;
}

static zf_source_module *loaded_already(const zf_spec *spec, const char *real_path) {
    for (zf_source_module *module = spec->modules; module != NULL; module = module->next) {
        if (module->real_path != NULL && strcmp(module->real_path, real_path) == 0) return module;
    }
    return NULL;
}

/// An import names a `.zf` file, and nothing else is read for one: diagnostics quote what was read, and the text may be anyone's.
static bool is_zf_file(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t length = strlen(slash == NULL ? path : slash + 1);
    return length > 3 && strcmp(path + strlen(path) - 3, ".zf") == 0;
}

/// The path that an import names, as seen from the importing file.
static char *beside_file(zf_arena *arena, const char *file, const char *path) {
    const char *slash = strrchr(file, '/');
    if (*path == '/' || slash == NULL) return zf_arena_copy(arena, path, strlen(path));
    return zf_arena_printf(arena, "%.*s/%s", (int)(slash - file), file, path);
}

static void report_cycle(zf_spec *spec, const zf_source_module *importer, zf_span at, const zf_source_module *again) {
    zf_diag *diag =
        zf_diag_error(&spec->diags, ZF_D_IMPORT_CYCLE, at, "`%s` is imported while it is being read", again->source->path);
    for (const zf_source_module *module = importer; module != NULL && module != again; module = module->importer) {
        zf_diag_remark(&spec->diags, diag, module->imported_at, "`%s` is imported here", module->source->path);
    }
}

static void add_import(zf_spec *spec, zf_source_module *module, zf_source_module *import, zf_span at) {
    for (uint32_t k = 0; k < module->import_count; k++) {
        if (module->imports[k] == import) return;
    }
    // Capacities are powers of two: the count alone tells when one is full.
    if ((module->import_count & (module->import_count - 1)) == 0) {
        size_t capacity = module->import_count == 0 ? 1 : (size_t)module->import_count * 2;
        zf_source_module **imports = ZF_NEW_ARRAY(spec->arena, zf_source_module *, capacity);
        zf_span *spans = ZF_NEW_ARRAY(spec->arena, zf_span, capacity);
        for (uint32_t k = 0; k < module->import_count; k++) {
            imports[k] = module->imports[k];
            spans[k] = module->import_spans[k];
        }
        module->imports = imports;
        module->import_spans = spans;
    }
    module->imports[module->import_count] = import;
    module->import_spans[module->import_count++] = at;
}

static void load_import(zf_spec *spec, zf_source_module *module, const zf_ast_decl *decl) {
    if (spec->options.no_std) {
        zf_diag_error(&spec->diags, ZF_D_IMPORT_FAILED, decl->span, "a text that stands alone cannot import `%s`", decl->text);
        return;
    }
    if (*decl->text == '\0') {
        zf_diag_error(&spec->diags, ZF_D_IMPORT_FAILED, decl->span, "an import without a path");
        return;
    }
    if (!is_zf_file(decl->text)) {
        zf_diag_error(&spec->diags, ZF_D_IMPORT_NAME, decl->span, "an import must name a `.zf` file, and `%s` is not one",
                      decl->text);
        return;
    }
    char *path = beside_file(spec->arena, module->source->path, decl->text);
    if (access(path, F_OK) != 0 && *decl->text != '/' && spec->std_dir != NULL) {
        char *in_std = zf_arena_printf(spec->arena, "%s/%s", spec->std_dir, decl->text);
        if (access(in_std, F_OK) == 0) path = in_std;
    }
    zf_source_module *import = load(spec, path, module, decl->span, module->is_std);
    if (import != NULL && import != module) add_import(spec, module, import, decl->span);
}

static void declare_all(zf_spec *spec, zf_source_module *module) {
    zf_symbol **last = &module->symbols;
    for (const zf_ast_decl *decl = module->unit->decls; decl != NULL; decl = decl->next) {
        if (decl->kind == ZF_AD_IMPORT || decl->name == NULL) continue;
        zf_symbol *symbol = zf_declare(spec, module, decl);
        if (symbol == NULL) continue;
        *last = symbol;
        last = &symbol->next;
        if (decl->kind != ZF_AD_ALGORITHM) continue;
        zf_algorithm *algorithm = ZF_NEW(spec->arena, zf_algorithm);
        *algorithm = (zf_algorithm){.name = decl->name, .decl = decl, .module = module};
        for (const zf_ast_generic *generic = decl->algorithm->generics; generic != NULL; generic = generic->next)
            algorithm->generic_count++;
        symbol->resolved = algorithm;
        if (spec->algorithm_count == spec->algorithm_capacity) {
            size_t capacity = spec->algorithm_capacity == 0 ? 64 : spec->algorithm_capacity * 2;
            const zf_algorithm **algorithms = ZF_NEW_ARRAY(spec->arena, const zf_algorithm *, capacity);
            for (size_t k = 0; k < spec->algorithm_count; k++) algorithms[k] = spec->algorithms[k];
            spec->algorithms = algorithms;
            spec->algorithm_capacity = capacity;
        }
        spec->algorithms[spec->algorithm_count++] = algorithm;
    }
}

/// The place of `import` among a module's imports, or import_count.
static uint32_t import_index(const zf_source_module *module, const zf_source_module *import) {
    uint32_t index = 0;
    while (index < module->import_count && module->imports[index] != import) index++;
    return index;
}

/// A module's own declarations against what it sees: imports may not clash with them, std may be hidden.
static void check_own_names(zf_spec *spec, const zf_source_module *module) {
    for (const zf_symbol *symbol = module->symbols; symbol != NULL; symbol = symbol->next) {
        for (const zf_symbol *other = zf_symbols_named(symbol->name); other != NULL; other = other->same_name) {
            if (other->module == module) continue;
            zf_span at = symbol->decl->name_span;
            uint32_t index = import_index(module, other->module);
            if (other->module->is_std && !module->is_std) {
                zf_diag *diag = zf_diag_add(&spec->diags, ZF_NOTE, ZF_D_HIDES_STD, at,
                                            "`%s` hides the one of the standard library", symbol->name);
                zf_diag_remark(&spec->diags, diag, other->decl->name_span, "declared here");
            } else if (index < module->import_count) {
                zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_DECLARED_TWICE, at,
                                              "`%s` is declared here and in an imported file", symbol->name);
                zf_diag_remark(&spec->diags, diag, other->decl->name_span, "first declared here");
                zf_diag_remark(&spec->diags, diag, module->import_spans[index], "imported here");
            }
        }
    }
}

/// Two imports may not bring one name; an import may hide std's.
static void check_imported_names(zf_spec *spec, const zf_source_module *module) {
    for (uint32_t k = 1; k < module->import_count; k++) {
        for (const zf_symbol *symbol = module->imports[k]->symbols; symbol != NULL; symbol = symbol->next) {
            for (const zf_symbol *other = zf_symbols_named(symbol->name); other != NULL; other = other->same_name) {
                if (other->module == symbol->module || other->module->is_std != symbol->module->is_std) continue;
                if (import_index(module, other->module) >= k) continue;
                zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_DECLARED_TWICE, module->import_spans[k],
                                              "two imports declare `%s`", symbol->name);
                zf_diag_remark(&spec->diags, diag, other->decl->name_span, "first declared here");
                zf_diag_remark(&spec->diags, diag, symbol->decl->name_span, "and here");
            }
        }
    }
}

static void read_module(zf_spec *spec, zf_source_module *module) {
    module->loading = true;
    module->unit = zf_parse(spec, module->source);
    if (module->unit != NULL) {
        for (const zf_ast_decl *decl = module->unit->decls; decl != NULL; decl = decl->next) {
            if (decl->kind == ZF_AD_IMPORT && decl->text != NULL) load_import(spec, module, decl);
        }
        declare_all(spec, module);
        check_own_names(spec, module);
        check_imported_names(spec, module);
    }
    module->loading = false;
}

/// Returns why the path leads to no file, or NULL. A pipe has no path of its own (/dev/stdin leads to `pipe:[7]`).
static const char *find_file(const char *path, char *resolved) {
    struct stat facts;
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))
        return "it is not a regular file; programs are read from files, not from pipes";
    return realpath(path, resolved) == NULL ? strerror(errno) : NULL;
}

static zf_source_module *load(zf_spec *spec, const char *path, zf_source_module *importer, zf_span at, bool is_std) {
    char resolved[PATH_MAX];
    const char *reason = find_file(path, resolved);
    if (reason == NULL && importer != NULL && !is_zf_file(resolved)) { // nor through a link
        zf_diag_error(&spec->diags, ZF_D_IMPORT_NAME, at, "`%s` leads to a file that is not a `.zf` file", path);
        return NULL;
    }
    if (reason == NULL) {
        zf_source_module *known = loaded_already(spec, resolved);
        if (known != NULL && known->loading) {
            report_cycle(spec, importer, at, known);
            return NULL;
        }
        if (known != NULL) return known;
        uint32_t depth = 0;
        for (const zf_source_module *m = importer; m != NULL; m = m->importer) depth++;
        if (depth > IMPORT_DEPTH) {
            zf_diag_error(&spec->diags, ZF_D_TOO_DEEP, at, "imports nest deeper than %d", IMPORT_DEPTH);
            return NULL;
        }
    }
    if (reason != NULL) {
        zf_diag_error(&spec->diags, ZF_D_IMPORT_FAILED, at, "cannot read `%s`: %s", path, reason);
        return NULL;
    }
    zf_source *source = read_source(spec, path, resolved, at);
    if (source == NULL) return NULL;
    zf_source_module *module = add_module(spec, source, zf_arena_copy(spec->arena, resolved, strlen(resolved)));
    module->is_std = is_std;
    module->importer = importer;
    module->imported_at = at;
    if (is_std && importer == NULL) spec->std = module;
    read_module(spec, module);
    return module;
}

void zf_load_std(zf_spec *spec) {
    if (spec->std_tried || spec->options.no_std) return;
    spec->std_tried = true;
    spec->std_dir = zf_find_std(spec->arena, spec->options.std_dir);
    if (spec->std_dir == NULL) {
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_IMPORT_FAILED, (zf_span){0},
                                      "the standard library was not found beside the program");
        zf_diag_hint(&spec->diags, diag, "set `ZIPFLOW_STD` to the directory that holds `std.zf`");
        return;
    }
    load(spec, zf_arena_printf(spec->arena, "%s/std.zf", spec->std_dir), NULL, (zf_span){0}, true);
}

/// Marks a module and what it imports to be checked whole.
static void want(zf_source_module *module) {
    if (module->wanted) return;
    module->wanted = true;
    for (uint32_t k = 0; k < module->import_count; k++) {
        if (module->is_std || !module->imports[k]->is_std) want(module->imports[k]);
    }
}

zf_source_module *zf_load_file(zf_spec *spec, const char *path) {
    zf_load_std(spec);
    zf_source_module *module = load(spec, path, NULL, (zf_span){0}, false);
    if (module != NULL) want(module);
    return module;
}

zf_source_module *zf_load_text(zf_spec *spec, const char *name, const char *text, size_t length) {
    zf_load_std(spec);
    if (length > ZF_SOURCE_LIMIT) {
        zf_diag_error(&spec->diags, ZF_D_IMPORT_FAILED, (zf_span){0}, "cannot read `%s`: it is larger than 16 MiB", name);
        return NULL;
    }
    zf_source_module *module = add_module(spec, make_source(spec, name, text, length, NULL), NULL);
    read_module(spec, module);
    want(module);
    return module;
}
