// Interned identifiers, declarations under their names, and hints for unknown names.
#include <stddef.h>
#include <string.h>

#include "frontend/check/synonyms.h"
#include "frontend/spec/spec_internal.h"

/// An interned identifier. A `zf_name` points at `text`, so the entry of a name is found without a search.
typedef struct name_entry {
    struct name_entry *next;
    zf_symbol *symbols; ///< all declarations of this name, newest first, linked by same_name
    uint32_t hash;
    size_t length;
    char text[];
} name_entry;

struct zf_name_table {
    zf_arena *arena;
    name_entry **buckets;
    size_t bucket_count, count; ///< bucket_count is a power of two
};

/// FNV-1a: identifiers are short, and the table only has to spread them.
static uint32_t hash_text(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t k = 0; k < length; k++) hash = (hash ^ (unsigned char)text[k]) * 16777619u;
    return hash;
}

static name_entry *entry_of(zf_name name) { return (name_entry *)(uintptr_t)(name - offsetof(name_entry, text)); }

struct zf_name_table *zf_name_table_create(zf_arena *arena) {
    struct zf_name_table *table = ZF_NEW(arena, struct zf_name_table);
    if (table == NULL) return NULL;
    *table = (struct zf_name_table){.arena = arena, .bucket_count = 1024};
    table->buckets = ZF_NEW_ARRAY(arena, name_entry *, table->bucket_count);
    return table->buckets == NULL ? NULL : table;
}

static name_entry *find_entry(const struct zf_name_table *table, const char *text, size_t length, uint32_t hash) {
    for (name_entry *entry = table->buckets[hash & (table->bucket_count - 1)]; entry != NULL; entry = entry->next) {
        if (entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0) return entry;
    }
    return NULL;
}

static void grow(struct zf_name_table *table) {
    size_t bucket_count = table->bucket_count * 4;
    name_entry **buckets = ZF_NEW_ARRAY(table->arena, name_entry *, bucket_count);
    for (size_t k = 0; k < table->bucket_count; k++) {
        for (name_entry *entry = table->buckets[k], *next; entry != NULL; entry = next) {
            next = entry->next;
            name_entry **bucket = &buckets[entry->hash & (bucket_count - 1)];
            entry->next = *bucket;
            *bucket = entry;
        }
    }
    table->buckets = buckets;
    table->bucket_count = bucket_count;
}

zf_name zf_intern_name(zf_spec *spec, const char *text, size_t length) {
    struct zf_name_table *table = spec->names;
    uint32_t hash = hash_text(text, length);
    name_entry *entry = find_entry(table, text, length, hash);
    if (entry != NULL) return entry->text;
    if (table->count >= table->bucket_count * 2) grow(table);
    entry = zf_arena_alloc(table->arena, sizeof *entry + length + 1);
    entry->hash = hash;
    entry->length = length;
    memcpy(entry->text, text, length);
    name_entry **bucket = &table->buckets[hash & (table->bucket_count - 1)];
    entry->next = *bucket;
    *bucket = entry;
    table->count++;
    return entry->text;
}

zf_name zf_interned_name(const zf_spec *spec, const char *text, size_t length) {
    const name_entry *entry = find_entry(spec->names, text, length, hash_text(text, length));
    return entry == NULL ? NULL : entry->text;
}

zf_symbol *zf_symbols_named(zf_name name) { return entry_of(name)->symbols; }

// ---- Declarations ---------------------------------------------------------------------------------------------

bool zf_name_is_type(zf_name name) {
    static const char *const types[] = {
        "u8",     "u16",    "u32",       "u64",     "i8",  "i16",  "i32",  "i64",  "f32",      "f64",    "bool",
        "string", "date32", "timestamp", "decimal", "f16", "bf16", "u128", "i128", "unsigned", "signed",
    };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        if (strcmp(types[k], name) == 0) return true;
    }
    return false;
}

bool zf_name_is_reserved(zf_name name) {
    static const char *const reserved[] = {
        // reductions and primitives that are called without a dot
        "sum", "min",     "max",   "xor",     "any",      "all",    "bit_width", "popcount", "clz",
        "ctz", "nth_bit", "round", "bits_of", "value_of", "sizeof", "chunks",    "sort",     "code_lengths",
    };
    for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++) {
        if (strcmp(reserved[k], name) == 0) return true;
    }
    return zf_name_is_type(name);
}

/// Names that every body has: locals may take them, declarations that every body sees may not.
static bool is_name_of_bodies(zf_name name) {
    return strcmp(name, "out") == 0 || strcmp(name, "chunk") == 0 || strcmp(name, "lane") == 0;
}

zf_symbol *zf_declare(zf_spec *spec, zf_source_module *module, const zf_ast_decl *decl) {
    if (zf_name_is_reserved(decl->name) || is_name_of_bodies(decl->name)) {
        zf_diag *diag =
            zf_diag_error(&spec->diags, ZF_D_RESERVED_NAME, decl->name_span, "`%s` cannot be declared again", decl->name);
        zf_diag_remark(&spec->diags, diag, (zf_span){0}, "it is the name of a type, of a primitive, or of what every body has");
        return NULL;
    }
    name_entry *entry = entry_of(decl->name);
    for (zf_symbol *other = entry->symbols; other != NULL; other = other->same_name) {
        if (other->module != module) continue;
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_DECLARED_TWICE, decl->name_span, "`%s` is declared twice", decl->name);
        zf_diag_remark(&spec->diags, diag, other->decl->name_span, "first declared here");
        return NULL;
    }
    zf_symbol *symbol = ZF_NEW(spec->arena, zf_symbol);
    symbol->name = decl->name;
    symbol->decl = decl;
    symbol->module = module;
    symbol->same_name = entry->symbols;
    entry->symbols = symbol;
    return symbol;
}

/// How near a declaration is to a module: 0 not visible, 1 through std, 2 imported, 3 its own.
static int visibility(const zf_spec *spec, const zf_source_module *module, const zf_symbol *symbol) {
    if (symbol->module == module) return 3;
    for (uint32_t k = 0; k < module->import_count; k++) {
        if (module->imports[k] == symbol->module) return symbol->module->is_std ? 1 : 2;
    }
    return symbol->module->is_std && spec->std != NULL ? 1 : 0;
}

zf_symbol *zf_find_symbol(zf_spec *spec, const zf_source_module *module, zf_name name) {
    zf_symbol *best = NULL;
    int nearest = 0;
    for (zf_symbol *symbol = entry_of(name)->symbols; symbol != NULL; symbol = symbol->same_name) {
        int near = visibility(spec, module, symbol);
        if (near > nearest) {
            nearest = near;
            best = symbol;
        }
    }
    return best;
}

/// A codec may be named wherever an algorithm may, so a search for one also takes the other.
static bool kind_fits(int kind, zf_ast_decl_kind found) {
    return kind < 0 || kind == (int)found || (kind == ZF_AD_CODEC && found == ZF_AD_ALGORITHM);
}

void zf_report_unknown(zf_spec *spec, const zf_source_module *module, zf_name name, zf_span span, int kind, const char *what) {
    if (spec->std == NULL && spec->std_tried) return; // that it was not found is told, and most likely all there is to tell
    zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_UNKNOWN_NAME, span, "unknown %s `%s`", what == NULL ? "name" : what, name);
    for (const zf_symbol *symbol = entry_of(name)->symbols; symbol != NULL; symbol = symbol->same_name) {
        if (visibility(spec, module, symbol) > 0 || !kind_fits(kind, symbol->decl->kind)) continue;
        zf_diag_remark(&spec->diags, diag, symbol->decl->name_span, "declared here, in a file that this one does not import");
        zf_diag_hint(&spec->diags, diag,
                     "import that file here, too: an import does not pass on the declarations of its own imports");
        return;
    }
    const char *synonym = kind == ZF_AD_FUNC ? zf_synonym_hint(spec->arena, ZF_SYNONYM_FUNCTION, name) : NULL;
    if (synonym != NULL) {
        zf_diag_hint(&spec->diags, diag, "%s", synonym);
        return;
    }
    if (spec->diags.errors > spec->diags.limit) return; // it is not shown
    size_t count = 0;
    for (const zf_source_module *m = spec->modules; m != NULL; m = m->next) {
        for (const zf_symbol *symbol = m->symbols; symbol != NULL; symbol = symbol->next) count++;
    }
    if (count == 0 || count > 10000) return; // a hint is not worth a search through everything
    const char **names = ZF_NEW_ARRAY(spec->arena, const char *, count);
    count = 0;
    for (const zf_source_module *m = spec->modules; m != NULL; m = m->next) {
        for (const zf_symbol *symbol = m->symbols; symbol != NULL; symbol = symbol->next) {
            if (kind_fits(kind, symbol->decl->kind) && visibility(spec, module, symbol) > 0) names[count++] = symbol->name;
        }
    }
    const char *nearest = zf_nearest_name(name, names, count);
    if (nearest != NULL) zf_diag_hint(&spec->diags, diag, "did you mean `%s`?", nearest);
}
