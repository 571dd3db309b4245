// Canonical text: a unit that stands alone. It has every constant, function and algorithm that is used, in the order of use,
// each as its tokens with one fixed spacing; named codecs are expanded. Files keep this text. A declaration's identity is the
// SHA-256 of its own text in which it is called `$`, and each declaration that it uses by that one's identity. Identities
// depend on no other text, and not on names; all of a text take time in proportion to it.
#include <string.h>

#include <sha256.h>

#include "frontend/check/references.h"
#include "frontend/spec/codec.h"
#include "frontend/syntax/canonical_tokens.h"

_Static_assert(SHA256_DIGEST_LENGTH == ZF_IDENTITY_BYTES, "identities are SHA-256");

/// A declaration of the unit.
typedef struct entry {
    struct unit *unit;
    zf_symbol *symbol;
    const char *name; ///< under which it appears
    zf_references references;
    uint32_t next_reference; ///< while its uses are being gathered
    struct entry *user;      ///< whose use is being gathered
    struct entry *next;      ///< in the unit, those that are used before their users
    uint8_t identity[ZF_IDENTITY_BYTES];
} entry;

typedef struct unit {
    zf_spec *spec;
    entry *first, **last;
    const char **made_up; ///< names given by renaming
    uint32_t made_up_count, made_up_capacity;
    zf_name table; ///< the table's name, which nothing else may have
} unit;

// ---- Text -----------------------------------------------------------------------------------------------------

static void print_hex(const uint8_t *bytes, size_t count, zf_text *out) {
    for (size_t k = 0; k < count; k++) zf_text_printf(out, "%02x", bytes[k]);
}

/// Prints a declaration under its name in the unit, or as its identity takes it.
static void print_declaration(const entry *e, bool for_identity, zf_text *out) {
    const zf_ast_decl *decl = e->symbol->decl;
    const char *source = decl->span.source->text;
    const char *at = source + decl->span.begin, *end = source + decl->span.end;
    zf_spacing spacing = {.generic_name = decl->kind == ZF_AD_ALGORITHM ? source + decl->name_span.begin : NULL};
    zf_canonical_token now, after;
    bool more = zf_next_token(&at, end, &now);
    for (uint32_t k = 0; more; now = after) {
        more = zf_next_token(&at, end, &after);
        if (zf_space_before(&spacing, &now, more ? &after : NULL)) zf_text_puts(out, " ");
        uint32_t place = (uint32_t)(now.text - source);
        while (k < e->references.count && e->references.items[k].at < place) k++;
        bool uses = k < e->references.count && e->references.items[k].at == place;
        const entry *used = uses ? e->references.items[k].symbol->canonical : NULL;
        if (place == decl->name_span.begin) {
            zf_text_puts(out, for_identity ? "$" : e->name);
        } else if (uses && for_identity) {
            zf_text_puts(out, "$");
            print_hex(used->identity, sizeof used->identity, out);
        } else if (uses) {
            zf_text_puts(out, used->name);
        } else {
            zf_text_add(out, now.text, now.length);
        }
    }
    zf_text_puts(out, "\n");
}

// ---- Names ----------------------------------------------------------------------------------------------------

static entry *entry_of(const unit *u, const zf_symbol *symbol) {
    entry *e = symbol->canonical;
    return e != NULL && e->unit == u ? e : NULL;
}

static bool name_taken(const unit *u, zf_name name) {
    if (name == u->table) return true;
    for (const zf_symbol *other = zf_symbols_named(name); other != NULL; other = other->same_name) {
        const entry *e = entry_of(u, other);
        if (e != NULL && e->name == name) return true;
    }
    return false;
}

static bool made_up(const unit *u, const char *name) {
    for (uint32_t k = 0; k < u->made_up_count; k++) {
        if (strcmp(u->made_up[k], name) == 0) return true;
    }
    return false;
}

/// A name for a declaration whose own another one of the unit has: with the beginning of a hash of its tokens behind
/// it, so that it does not depend on files. Nothing else in the compilation has that name, so it captures nothing.
static const char *make_name(unit *u, const entry *e) {
    zf_text text = {0};
    const char *source = e->symbol->decl->span.source->text;
    const char *at = source + e->symbol->decl->span.begin, *end = source + e->symbol->decl->span.end;
    for (zf_canonical_token t; zf_next_token(&at, end, &t);) {
        zf_text_add(&text, t.text, t.length);
        zf_text_puts(&text, " ");
    }
    uint8_t digest[SHA256_DIGEST_LENGTH] = {0};
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)text.data, text.length);
    SHA256Final(digest, &context);
    zf_text_free(&text);

    const char *name = NULL;
    for (unsigned k = 1; name == NULL; k++) {
        char *candidate =
            zf_arena_printf(u->spec->arena, "%s_%02x%02x%02x%02x", e->symbol->name, digest[0], digest[1], digest[2], digest[3]);
        if (k > 1) candidate = zf_arena_printf(u->spec->arena, "%s_%u", candidate, k);
        if (zf_interned_name(u->spec, candidate, strlen(candidate)) == NULL && !made_up(u, candidate)) name = candidate;
    }
    if (u->made_up_count == u->made_up_capacity) {
        u->made_up_capacity = u->made_up_capacity == 0 ? 8 : u->made_up_capacity * 2;
        const char **names = ZF_NEW_ARRAY(u->spec->arena, const char *, u->made_up_capacity);
        for (uint32_t k = 0; k < u->made_up_count; k++) names[k] = u->made_up[k];
        u->made_up = names;
    }
    u->made_up[u->made_up_count++] = name;
    return name;
}

// ---- Gathering ------------------------------------------------------------------------------------------------

static entry *start_entry(unit *u, zf_symbol *symbol, entry *user) {
    entry *e = ZF_NEW(u->spec->arena, entry);
    *e = (entry){.unit = u, .symbol = symbol, .user = user, .references = zf_find_references(u->spec, symbol)};
    symbol->canonical = e;
    return e;
}

/// Adds a declaration behind all that it uses. Without recursion: how long a chain of uses is, the input decides.
static void gather(unit *u, zf_symbol *symbol) {
    if (entry_of(u, symbol) != NULL) return;
    entry *e = start_entry(u, symbol, NULL);
    while (e != NULL) {
        if (e->next_reference < e->references.count) {
            zf_symbol *used = e->references.items[e->next_reference++].symbol;
            if (entry_of(u, used) == NULL) e = start_entry(u, used, e);
            continue;
        }
        e->name = name_taken(u, e->symbol->name) ? make_name(u, e) : e->symbol->name;
        *u->last = e;
        u->last = &e->next;
        e = e->user;
    }
}

static zf_symbol *symbol_of(const zf_algorithm *algorithm) {
    zf_symbol *symbol = zf_symbols_named(algorithm->name);
    while (symbol != NULL && symbol->module != algorithm->module) symbol = symbol->same_name;
    return symbol;
}

static void gather_choice(unit *u, const zf_codec_choice *choice) {
    for (uint32_t k = 0; k < choice->count; k++) {
        const zf_codec_node *node = choice->alternatives[k];
        gather(u, symbol_of(node->inst->algorithm));
        for (uint32_t slot = 0; slot < node->inst->stream_count; slot++) {
            if (node->streams[slot] != NULL) gather_choice(u, node->streams[slot]);
        }
    }
}

static void print_unit(const unit *u, zf_text *out) {
    for (const entry *e = u->first; e != NULL; e = e->next) print_declaration(e, false, out);
}

static const char *name_in_unit(void *user, const zf_algorithm *algorithm) {
    const entry *e = entry_of(user, symbol_of(algorithm));
    return e == NULL ? algorithm->name : e->name;
}

// ---- Identities -----------------------------------------------------------------------------------------------

static void hash(const zf_text *text, uint8_t out[ZF_IDENTITY_BYTES]) {
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)text->data, text->length);
    SHA256Final(out, &context);
}

/// Computes the identities of a unit: what a declaration uses is before it. False: no memory.
static bool identify(unit *u) {
    zf_text text = {0};
    for (entry *e = u->first; e != NULL && !text.failed; e = e->next) {
        text.length = 0;
        print_declaration(e, true, &text);
        if (!text.failed) hash(&text, e->identity);
    }
    bool good = !text.failed;
    zf_text_free(&text);
    return good;
}

static const char *kind_name(zf_ast_decl_kind kind) {
    return kind == ZF_AD_ALGORITHM ? "algorithm" : kind == ZF_AD_FUNC ? "function" : "constant";
}

static bool list_entries(const unit *u, zf_declarations *out) {
    *out = (zf_declarations){0};
    uint32_t count = 0;
    for (const entry *e = u->first; e != NULL; e = e->next) count++;
    out->items = ZF_NEW_ARRAY(u->spec->arena, zf_declaration, count + 1u);
    for (const entry *e = u->first; e != NULL; e = e->next) {
        zf_declaration *item = &out->items[out->count++];
        *item = (zf_declaration){.name = e->name, .kind = kind_name(e->symbol->decl->kind)};
        memcpy(item->identity, e->identity, sizeof item->identity);
    }
    return true;
}

// ---- The request ----------------------------------------------------------------------------------------------

typedef struct request {
    const zf_algorithm *algorithm;
    const zf_table *table; ///< NULL: all that is declared in std, or beside it
    bool std;
    zf_text *out;
    zf_declarations *declarations;
} request;

/// A unit at an address of its own: symbols keep pointing at the entry of the last unit that used them, and must not take a
/// later one for it.
static unit *make_unit(zf_spec *spec) {
    unit *u = ZF_NEW(spec->arena, unit);
    u->spec = spec;
    u->last = &u->first;
    return u;
}

static bool make_algorithm(zf_spec *spec, void *data) {
    const request *r = data;
    unit *u = make_unit(spec);
    gather(u, symbol_of(r->algorithm));
    print_unit(u, r->out);
    return !r->out->failed;
}

static unit *unit_of_table(zf_spec *spec, const zf_table *table) {
    unit *u = make_unit(spec);
    u->table = table->name;
    for (const zf_column *column = table->columns; column != NULL; column = column->next) gather_choice(u, column->codec);
    return u;
}

static bool make_table(zf_spec *spec, void *data) {
    request *r = data;
    unit *u = unit_of_table(spec, r->table);
    zf_text_puts(r->out, "zf 1;\n");
    print_unit(u, r->out);
    zf_text_printf(r->out, "table %s {\n", r->table->name);
    for (const zf_column *column = r->table->columns; column != NULL; column = column->next) {
        bool is_part = column->part == ZF_LIST_VALIDITY || column->part == ZF_LIST_VALUES;
        bool more = column->part == ZF_LIST_ENDS || column->part == ZF_LIST_VALIDITY;
        if (is_part)
            zf_text_printf(r->out, ", %s: ", column->part == ZF_LIST_VALUES ? "values" : "validity");
        else
            zf_text_printf(r->out, "    %s: %s = ", column->name, zf_column_type_text(spec->arena, column));
        zf_codec_print_as(spec, column->codec, name_in_unit, u, r->out);
        if (!more) zf_text_puts(r->out, ";\n");
    }
    zf_text_puts(r->out, "}\n");
    return !r->out->failed;
}

static bool is_declaration(const zf_ast_decl *decl) {
    return decl->kind == ZF_AD_CONST || decl->kind == ZF_AD_FUNC || decl->kind == ZF_AD_ALGORITHM;
}

static unit *unit_of_texts(zf_spec *spec, bool std) {
    unit *u = make_unit(spec);
    for (const zf_source_module *module = spec->modules; module != NULL; module = module->next) {
        if (module->is_std != std || module->unit == NULL) continue;
        for (const zf_ast_decl *decl = module->unit->decls; decl != NULL; decl = decl->next) {
            zf_symbol *symbol = is_declaration(decl) ? zf_find_symbol(spec, module, decl->name) : NULL;
            if (symbol != NULL && symbol->decl == decl) gather(u, symbol);
        }
    }
    return u;
}

static bool make_declarations(zf_spec *spec, void *data) {
    const request *r = data;
    unit *u = r->table != NULL ? unit_of_table(spec, r->table) : unit_of_texts(spec, r->std);
    if (identify(u)) return list_entries(u, r->declarations);
    longjmp(*spec->escape, 1);
}

bool zf_canonical_algorithm(zf_spec *spec, const zf_algorithm *algorithm, zf_text *out) {
    return zf_guarded(spec, make_algorithm, &(request){.algorithm = algorithm, .out = out});
}

bool zf_canonical_table(zf_spec *spec, const zf_table *table, zf_text *out) {
    request r = {.table = table, .out = out};
    return zf_guarded(spec, make_table, &r);
}

bool zf_table_declarations(zf_spec *spec, const zf_table *table, zf_declarations *out) {
    return zf_guarded(spec, make_declarations, &(request){.table = table, .declarations = out});
}

bool zf_text_declarations(zf_spec *spec, bool std, zf_declarations *out) {
    return zf_guarded(spec, make_declarations, &(request){.std = std, .declarations = out});
}
