// Canonical text: a unit that stands alone. It has every constant, function and algorithm that is used, in the order of use,
// each as its tokens with one fixed spacing; named codecs are expanded. Files keep this text, and an algorithm's identity is
// its hash.
#include <string.h>

#include <sha256.h>

#include "frontend/check/references.h"
#include "frontend/spec/codec.h"
#include "frontend/syntax/canonical_tokens.h"

/// A declaration of the unit.
typedef struct entry {
    struct unit *unit;
    zf_symbol *symbol;
    const char *name; ///< under which it appears
    zf_references references;
    uint32_t next_reference; ///< while its uses are being gathered
    struct entry *user;      ///< whose use is being gathered
    struct entry *next;      ///< in the unit, those that are used before their users
} entry;

typedef struct unit {
    zf_spec *spec;
    entry *first, **last;
    const char **made_up; ///< names given by renaming
    uint32_t made_up_count, made_up_capacity;
    zf_name table; ///< the table's name, which nothing else may have
} unit;

// ---- Text -----------------------------------------------------------------------------------------------------

static void print_declaration(const entry *e, zf_text *out) {
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
        if (place == decl->name_span.begin) {
            zf_text_puts(out, e->name);
        } else if (k < e->references.count && e->references.items[k].at == place) {
            zf_text_puts(out, ((entry *)e->references.items[k].symbol->canonical)->name);
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
    for (const entry *e = u->first; e != NULL; e = e->next) print_declaration(e, out);
}

static const char *name_in_unit(void *user, const zf_algorithm *algorithm) {
    const entry *e = entry_of(user, symbol_of(algorithm));
    return e == NULL ? algorithm->name : e->name;
}

// ---- The request ----------------------------------------------------------------------------------------------

typedef struct request {
    const zf_algorithm *algorithm; ///< or
    const zf_table *table;
    zf_text *out;
    uint8_t *sha256;
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
    request *r = data;
    unit *u = make_unit(spec);
    gather(u, symbol_of(r->algorithm));
    size_t before = r->out->length;
    print_unit(u, r->out);
    if (r->out->failed) return false;
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)r->out->data + before, r->out->length - before);
    SHA256Final(r->sha256, &context);
    return true;
}

static bool make_table(zf_spec *spec, void *data) {
    request *r = data;
    unit *u = make_unit(spec);
    u->table = r->table->name;
    for (const zf_column *column = r->table->columns; column != NULL; column = column->next) gather_choice(u, column->codec);
    zf_text_puts(r->out, "zf 1;\n");
    print_unit(u, r->out);
    zf_text_printf(r->out, "table %s {\n", r->table->name);
    for (const zf_column *column = r->table->columns; column != NULL; column = column->next) {
        zf_text_printf(r->out, "    %s: %s = ", column->name, zf_type_name(spec->arena, column->type));
        zf_codec_print_as(spec, column->codec, name_in_unit, u, r->out);
        zf_text_puts(r->out, ";\n");
    }
    zf_text_puts(r->out, "}\n");
    return !r->out->failed;
}

bool zf_canonical_algorithm(zf_spec *spec, const zf_algorithm *algorithm, zf_text *out, uint8_t sha256[32]) {
    uint8_t unused[SHA256_DIGEST_LENGTH];
    request r = {.algorithm = algorithm, .out = out, .sha256 = sha256 == NULL ? unused : sha256};
    return zf_guarded(spec, make_algorithm, &r);
}

bool zf_canonical_table(zf_spec *spec, const zf_table *table, zf_text *out) {
    request r = {.table = table, .out = out};
    return zf_guarded(spec, make_table, &r);
}
