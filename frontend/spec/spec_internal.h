// The interface between the parts of the front end: modules, names, and the calls from one part to another. Not for other
// directories.
#ifndef ZF_FRONTEND_SPEC_INTERNAL_H
#define ZF_FRONTEND_SPEC_INTERNAL_H

#include <locale.h>
#include <setjmp.h>

#include "frontend/spec/spec.h"

typedef struct zf_source_module zf_source_module;

/// A declaration under its name in a module. `resolved` is filled on first use by whoever resolves that kind.
typedef struct zf_symbol {
    zf_name name;
    const zf_ast_decl *decl;
    zf_source_module *module;
    void *resolved;              ///< CONST: zf_constant; ALGORITHM: zf_algorithm; CODEC: zf_codec; TABLE: zf_table;
                                 ///< QUERY: zf_query
    bool resolving;              ///< being resolved: a second visit is a cycle
    struct zf_symbol *next;      ///< of the same module
    struct zf_symbol *same_name; ///< the next of the same name in any module: what zf_find_symbol walks
    void *canonical;             ///< its place in the canonical text being made (canonical.c)
} zf_symbol;

/// One source file, parsed.
struct zf_source_module {
    const zf_source *source;
    zf_ast_unit *unit;
    zf_symbol *symbols;
    zf_source_module **imports; ///< modules whose declarations are visible here, transitively for std.zf only
    uint32_t import_count;
    bool is_std;                ///< std.zf or reached through it
    bool loading;               ///< for import cycles
    bool wanted;                ///< to be checked whole: everything but what only std brought in
    const char *real_path;      ///< of a file: two paths to one file are one module; NULL of a text
    zf_span *import_spans;      ///< of the imports
    zf_source_module *importer; ///< while loading: who asked for it, and where
    zf_span imported_at;
    zf_source_module *next;
};

/// A constant: a scalar (table->length 1, is_array false) or an array.
typedef struct zf_constant {
    zf_table_const table;
    bool is_array;
} zf_constant;

struct zf_spec {
    zf_arena *arena;
    zf_diags diags;
    zf_spec_options options;
    const char *std_dir;
    zf_source_module *modules; ///< all, in order of loading
    zf_source_module *std;     ///< std.zf, or NULL when it could not be loaded
    uint32_t source_count;
    struct zf_name_table *names;    ///< interned identifiers
    struct zf_inst_table *insts;    ///< instances made so far (frontend/spec/instantiate.c)
    zf_table *tables, **tables_end; ///< where the next goes; NULL: at the front
    zf_codec *codecs, **codecs_end;
    zf_query *queries, **queries_end;
    uint32_t constant_depth; ///< constants being resolved within each other
    uint32_t codec_nodes;    ///< uses of algorithms in all codecs: what bounds their expansion
    const zf_algorithm **algorithms;
    size_t algorithm_count;
    size_t algorithm_capacity;
    jmp_buf *escape;      ///< where to go when memory runs out; set while a zf_guarded runs
    zf_diag *memory_diag; ///< made beforehand, given when memory runs out
    bool std_tried;       ///< std.zf was looked for
    locale_t c_locale;    ///< for the scanner's numbers; 0 until the first one
};

/// Interns an identifier: equal texts give equal pointers.
zf_name zf_intern_name(zf_spec *spec, const char *text, size_t length);
/// The interned identifier if there is one already, else NULL. Adds nothing.
zf_name zf_interned_name(const zf_spec *spec, const char *text, size_t length);

/// zf_spec_guard for the spec's arena alone. Every public entry that allocates goes through here.
bool zf_guarded(zf_spec *spec, bool (*work)(zf_spec *spec, void *data), void *data);

// ---- Syntax (lexer.l, parser.y, parse.c) ----
/// Parses a source. Diagnostics go to spec->diags; the unit is returned even after errors (what could be parsed), or NULL.
zf_ast_unit *zf_parse(zf_spec *spec, const zf_source *source);
/// Prints a unit in the one canonical layout, comments kept: parse, print, parse is the identity.
void zf_format_unit(const zf_ast_unit *unit, zf_text *out);
/// `--emit=ast`.
void zf_ast_print(const zf_ast_unit *unit, zf_text *out);

// ---- Names (names.c) ----
struct zf_name_table *zf_name_table_create(zf_arena *arena);
/// Adds a declaration under its name. Reports ZF0202, ZF0206; NULL then.
zf_symbol *zf_declare(zf_spec *spec, zf_source_module *module, const zf_ast_decl *decl);
/// All declarations of a name, in any module, linked by same_name.
zf_symbol *zf_symbols_named(zf_name name);
/// True for names of types, those of later versions included.
bool zf_name_is_type(zf_name name);
/// True for names that cannot be declared: types, and primitives called without a dot.
bool zf_name_is_reserved(zf_name name);
/// Finds a name as seen from a module: its own declarations, its imports, then std. NULL when there is none.
zf_symbol *zf_find_symbol(zf_spec *spec, const zf_source_module *module, zf_name name);
/// Reports ZF0201 for a name, with the nearest visible one (of kind `kind`, or any when negative) as hint.
void zf_report_unknown(zf_spec *spec, const zf_source_module *module, zf_name name, zf_span span, int kind, const char *what);

// ---- Bodies (instantiate.c, check_*.c) ----
/// Resolves a constant declaration. NULL after an error.
const zf_constant *zf_resolve_constant(zf_spec *spec, zf_symbol *symbol);
/// Resolves a written type of an element (generics bound by `bindings`, in the order of `generics`; both may be NULL).
/// Sets *ok; on failure reports and gives ZF_K_ERROR. Array types are not elements.
zf_type zf_resolve_type(zf_spec *spec, const zf_source_module *module, const zf_ast_type *type, const zf_ast_generic *generics,
                        const zf_type *bindings);
/// Checks an algorithm for every type that its bounds admit (opaque types for generics without a bound).
bool zf_check_algorithm(zf_spec *spec, zf_symbol *symbol);
/// Checks a function that nothing has called yet.
void zf_check_function(zf_spec *spec, zf_symbol *symbol);
/// True when a type meets a generic's bound (NULL: any).
bool zf_bound_met(zf_name bound, zf_type type);
/// Adds to a diagnostic which types a bound admits.
void zf_remark_bound(zf_spec *spec, zf_diag *diag, zf_name bound);
/// Bits of a literal of a codec as a value of `type`; reports ZF0304, ZF0305.
bool zf_literal_bits(zf_spec *spec, const zf_ast_expr *literal, zf_type type, uint64_t *bits);

// ---- Modules (modules.c, find_std.c) ----
/// Loads a file given by a user, with what it imports; or a text. NULL after an error in reading; syntax errors are counted only.
zf_source_module *zf_load_file(zf_spec *spec, const char *path);
zf_source_module *zf_load_text(zf_spec *spec, const char *name, const char *text, size_t length);
/// Loads std.zf once, unless the options say not to.
void zf_load_std(zf_spec *spec);
/// The directory with std.zf, in the arena; NULL when there is none.
const char *zf_find_std(zf_arena *arena, const char *given);

/// Reads a file as a source of its own: neither parsed nor anybody's module. NULL after reporting.
zf_source *zf_read_source(zf_spec *spec, const char *path);

// ---- The matcher (match.c) ----
/// Finds the access class of every stream of an instance, the form of every reduction of its decode, groups and size bodies,
/// and which params shape code. Reports ZF0504, ZF0512. Called once, at the end of instantiation.
bool zf_match_inst(zf_spec *spec, zf_inst *inst);

// ---- Codecs and tables (codec.c) ----
bool zf_check_codec(zf_spec *spec, zf_symbol *symbol);
bool zf_check_table(zf_spec *spec, zf_symbol *symbol);

// ---- Queries (check_query.c) ----
void zf_check_query(zf_spec *spec, zf_symbol *symbol);

#endif
