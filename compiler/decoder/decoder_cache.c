#include "compiler/decoder/decoder_cache.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/known/known.h"
#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"

enum { BUCKETS = 1024 }; ///< of each table: several times as many as are kept

/// The budget of a column.
typedef struct budget {
    zf_compile_budget of;
    struct budget *next;
} budget;

typedef struct text {
    zf_codec_text base; ///< first
    zf_unit_identity identity;
    char *unit, *table_name; ///< NULL: a program's, which is in no bucket
    size_t length;
    char *name;
    pthread_mutex_t lock; ///< of parsing and planning, and of budgets
    budget *budgets;
    uint64_t references; ///< holders and decoders
    struct text *next;   ///< in its bucket
} text;

typedef struct entry {
    zf_cached_decoder base; ///< first
    text *text;             ///< one reference
    uint64_t hash;
    char *key;
    size_t key_length;
    uint64_t references;          ///< holders; 0: it is in the list of idle ones
    struct entry *next;           ///< in its bucket; or among those that are gone
    struct entry *older, *recent; ///< idle neighbours
} entry;

struct zf_decoder_cache {
    zf_compiler *compiler;
    pthread_mutex_t lock; ///< of what follows, and of references
    text *texts[BUCKETS];
    entry *entries[BUCKETS];
    entry *oldest, *newest; ///< idle ones
    entry *gone;            ///< evicted, to be freed without locks
    zf_decoder_cache_stats stats;
};

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a decoder"); }

zf_decoder_cache *zf_decoder_cache_create(zf_compiler *compiler) {
    zf_decoder_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) return NULL;
    cache->compiler = compiler;
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

// ---- Texts ------------------------------------------------------------------------------------------------------

static void free_text(text *t) {
    if (t == NULL) return;
    for (budget *b = t->budgets, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    if (t->base.spec != NULL) zf_spec_destroy(t->base.spec);
    pthread_mutex_destroy(&t->lock);
    free(t->unit);
    free(t->table_name);
    free(t->name);
    free(t);
}

/// Takes a reference away; with the cache's lock held. Returns the text if it was the last one: the caller frees it without lock.
static text *release_text(zf_decoder_cache *cache, text *t) {
    if (--t->references > 0) return NULL;
    if (t->unit != NULL) {
        text **at = &cache->texts[t->identity.hash[0] % BUCKETS];
        while (*at != t) at = &(*at)->next;
        *at = t->next;
        cache->stats.texts--;
    }
    return t;
}

static text *new_text(void) {
    text *t = calloc(1, sizeof *t);
    if (t == NULL) return NULL;
    pthread_mutex_init(&t->lock, NULL);
    t->references = 1;
    return t;
}

/// A canonical text that somebody else owns.
typedef struct unit {
    const char *text, *table;
    size_t length;
    zf_unit_identity identity;
} unit;

static text *make_text(const unit *of) {
    text *t = new_text();
    zf_text name = {0};
    if (t == NULL) return NULL;
    zf_text_printf(&name, "%s.zf", of->table);
    t->identity = of->identity;
    t->unit = malloc(of->length + 1);
    t->length = of->length;
    t->table_name = strdup(of->table);
    t->base.name = t->name = name.data;
    if (t->unit == NULL || t->table_name == NULL || name.failed) {
        free_text(t);
        return NULL;
    }
    memcpy(t->unit, of->text, of->length);
    return t;
}

static bool is_text_of(const text *t, const unit *of) {
    return t->length == of->length && memcmp(t->unit, of->text, of->length) == 0 && strcmp(t->table_name, of->table) == 0;
}

/// Finds a text, or puts `made` there (NULL: nothing); holds it. With the cache's lock held.
static text *find_text(zf_decoder_cache *cache, const unit *of, text *made) {
    text **bucket = &cache->texts[of->identity.hash[0] % BUCKETS], *t = *bucket;
    while (t != NULL && !is_text_of(t, of)) t = t->next;
    if (t != NULL) {
        t->references++;
    } else if (made != NULL) {
        t = made;
        t->next = *bucket;
        *bucket = t;
        cache->stats.texts++;
    }
    return t;
}

/// Parses a text unless that is done. A text that failed is parsed again for the next holder, whose error names its own file.
static zf_status parse(zf_decoder_cache *cache, text *t, zf_error *error) {
    zf_status status = ZF_OK;
    pthread_mutex_lock(&t->lock);
    if (t->base.spec == NULL) {
        status = zf_container_spec_read(t->unit, t->length, t->name, t->table_name,
                                        zf_context_passes(zf_compiler_context(cache->compiler)), &t->base.spec, &t->base.table,
                                        &t->base.declared, error);
        if (status != ZF_OK && t->base.spec != NULL) {
            zf_spec_destroy(t->base.spec);
            t->base.spec = NULL;
        }
        pthread_mutex_lock(&cache->lock);
        cache->stats.parsed++;
        pthread_mutex_unlock(&cache->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return status;
}

/// `container`: whose text it is, for the place of an error; NULL: nobody's.
static zf_status hold_text(zf_decoder_cache *cache, const unit *of, const zf_container *container, zf_codec_text **out,
                           zf_error *error) {
    *out = NULL;
    pthread_mutex_lock(&cache->lock);
    text *t = find_text(cache, of, NULL);
    pthread_mutex_unlock(&cache->lock);
    if (t == NULL) {
        text *made = make_text(of);
        if (made == NULL) return out_of_memory(error);
        pthread_mutex_lock(&cache->lock);
        t = find_text(cache, of, made);
        pthread_mutex_unlock(&cache->lock);
        if (t != made) free_text(made);
    }
    zf_status status = parse(cache, t, error);
    if (status == ZF_OK) {
        *out = &t->base;
    } else {
        if (container != NULL) zf_container_spec_place(container, t->name, error);
        zf_codec_text_release(cache, &t->base);
    }
    return status;
}

zf_status zf_codec_text_hold(zf_decoder_cache *cache, const zf_container *container, zf_codec_text **out, zf_error *error) {
    unit of = {.table = zf_container_table(container), .identity = zf_container_unit_identity(container)};
    of.text = zf_container_unit(container, &of.length);
    *out = NULL;
    ZF_TRY(zf_known_check_stated(container, error));
    ZF_TRY(hold_text(cache, &of, container, out, error));
    zf_status status = zf_known_check(container, &(*out)->declared, error);
    if (status == ZF_OK) return ZF_OK;
    zf_codec_text_release(cache, *out);
    *out = NULL;
    return status;
}

zf_status zf_codec_text_hold_canonical(zf_decoder_cache *cache, const char *canonical, size_t length, const char *table,
                                       zf_codec_text **out, zf_error *error) {
    unit of = {.text = canonical, .length = length, .table = table, .identity = zf_unit_identify(canonical, length)};
    return hold_text(cache, &of, NULL, out, error);
}

zf_codec_text *zf_codec_text_adopt(zf_spec *spec) {
    text *t = new_text();
    if (t == NULL) return NULL;
    t->base.spec = spec;
    return &t->base;
}

void zf_codec_text_release(zf_decoder_cache *cache, zf_codec_text *held) {
    if (held == NULL) return;
    pthread_mutex_lock(&cache->lock);
    text *last = release_text(cache, (text *)held);
    pthread_mutex_unlock(&cache->lock);
    free_text(last);
}

// ---- Budgets ------------------------------------------------------------------------------------------------------

/// Finds or makes the budget of a column. With the text's lock held. NULL: no memory.
static zf_compile_budget *budget_of(const zf_decoder_cache *cache, text *t, const zf_column *column) {
    budget *b = t->budgets;
    while (b != NULL && b->of.column != column) b = b->next;
    if (b != NULL) return &b->of;
    b = calloc(1, sizeof *b);
    if (b == NULL) return NULL;
    zf_compile_budget_init(&b->of, column, zf_compiler_options_of(cache->compiler)->compile_budget);
    b->next = t->budgets;
    t->budgets = b;
    return &b->of;
}

zf_compile_budget *zf_codec_text_renew_budget(zf_decoder_cache *cache, zf_codec_text *held, const zf_column *column) {
    text *t = (text *)held;
    pthread_mutex_lock(&t->lock);
    zf_compile_budget *of = budget_of(cache, t, column);
    if (of != NULL) zf_compile_budget_renew(of);
    pthread_mutex_unlock(&t->lock);
    return of;
}

// ---- Identities ---------------------------------------------------------------------------------------------------

static void add(zf_text *key, const void *bytes, size_t size) { zf_text_add(key, bytes, size); }
static void add_word(zf_text *key, uint64_t word) { add(key, &word, sizeof word); }

/// Adds bytes with their number, so that no two identities have the same bytes.
static void add_counted(zf_text *key, const void *bytes, size_t size) {
    add_word(key, size);
    if (size > 0) add(key, bytes, size);
}

/// Texts and columns are compared by their addresses: equal texts are one, and a decoder holds its text.
static void identify(const text *t, const zf_column *column, const uint8_t *branches, size_t branch_count,
                     const zf_plan_request *r, zf_text *key) {
    const zf_decoder_states *states = &r->states;
    add_word(key, (uintptr_t)t);
    add_word(key, (uintptr_t)column);
    add_word(key, (uintptr_t)r->sites);
    add_word(key, (uint64_t)r->target.family << 32 | r->target.arch);
    add_word(key, (uint64_t)r->unfused << 1 | r->unchecked);
    add_word(key, states->seek_interval);
    add_word(key, states->unfused != NULL);
    add_counted(key, states->unfused, states->unfused != NULL ? strlen(states->unfused) : 0);
    add_counted(key, states->tree_edges, states->tree_edge_count * sizeof *states->tree_edges);
    add_counted(key, states->uneven_edges, states->uneven_edge_count * sizeof *states->uneven_edges);
    add_counted(key, branches, branch_count);
    uint32_t choices = r->choices != NULL ? r->choices->count : 0;
    add_word(key, choices);
    for (uint32_t k = 0; k < choices; k++) {
        add_word(key, r->choices->kernels[k]);
        add(key, &r->choices->of[k], sizeof r->choices->of[k]);
    }
}

// ---- Decoders -----------------------------------------------------------------------------------------------------

/// Frees an entry that was taken out. Without locks: a device that unloads its code may wait for a decode.
static void free_entry(zf_decoder_cache *cache, entry *e) {
    zf_decoder_free(e->base.decoder);
    zf_codec_text_release(cache, &e->text->base);
    free(e->key);
    free(e);
}

static void free_entries(zf_decoder_cache *cache, entry *first) {
    for (entry *next; first != NULL; first = next) {
        next = first->next;
        free_entry(cache, first);
    }
}

static void leave_idle(zf_decoder_cache *cache, entry *e) {
    *(e->older != NULL ? &e->older->recent : &cache->oldest) = e->recent;
    *(e->recent != NULL ? &e->recent->older : &cache->newest) = e->older;
    e->older = e->recent = NULL;
}

static void become_idle(zf_decoder_cache *cache, entry *e) {
    e->older = cache->newest;
    *(e->older != NULL ? &e->older->recent : &cache->oldest) = e;
    cache->newest = e;
}

/// Takes an idle entry out, which the caller frees. With the cache's lock held.
static void take_out(zf_decoder_cache *cache, entry *e) {
    entry **at = &cache->entries[e->hash % BUCKETS];
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    leave_idle(cache, e);
    cache->stats.decoders--;
}

/// Finds an entry and holds it; with the cache's lock held.
static entry *find_entry(zf_decoder_cache *cache, uint64_t hash, const zf_text *key) {
    entry *e = cache->entries[hash % BUCKETS];
    while (e != NULL && (e->hash != hash || e->key_length != key->length || memcmp(e->key, key->data, key->length) != 0))
        e = e->next;
    if (e == NULL) return NULL;
    if (e->references++ == 0) {
        leave_idle(cache, e);
        cache->stats.held++;
    }
    cache->stats.found++;
    return e;
}

/// Evicts the least recently used decoders until there are no more than are kept, or no idle ones. With the cache's lock held.
static void evict(zf_decoder_cache *cache) {
    while (cache->stats.decoders > ZF_DECODERS_MOST && cache->oldest != NULL) {
        entry *e = cache->oldest;
        take_out(cache, e);
        cache->stats.evicted++;
        e->next = cache->gone;
        cache->gone = e;
    }
}

void zf_decoder_cache_sweep(zf_decoder_cache *cache) {
    pthread_mutex_lock(&cache->lock);
    entry *gone = cache->gone;
    cache->gone = NULL;
    pthread_mutex_unlock(&cache->lock);
    free_entries(cache, gone);
}

/// Puts a new decoder in, held once; it takes the key.
static entry *insert(zf_decoder_cache *cache, text *t, zf_decoder *decoder, uint64_t hash, zf_text *key) {
    entry *e = calloc(1, sizeof *e);
    if (e == NULL) return NULL;
    *e = (entry){.base = {decoder}, .text = t, .hash = hash, .key = key->data, .key_length = key->length, .references = 1};
    *key = (zf_text){0};
    pthread_mutex_lock(&cache->lock);
    t->references++;
    e->next = cache->entries[hash % BUCKETS];
    cache->entries[hash % BUCKETS] = e;
    cache->stats.decoders++;
    cache->stats.held++;
    cache->stats.planned++;
    evict(cache);
    pthread_mutex_unlock(&cache->lock);
    return e;
}

static entry *look_up(zf_decoder_cache *cache, uint64_t hash, const zf_text *key) {
    pthread_mutex_lock(&cache->lock);
    entry *e = find_entry(cache, hash, key);
    pthread_mutex_unlock(&cache->lock);
    return e;
}

zf_status zf_cached_decoder_hold(zf_decoder_cache *cache, zf_codec_text *held, const zf_column *column, const uint8_t *branches,
                                 size_t branch_count, const zf_plan_request *request, zf_cached_decoder **out, zf_error *error) {
    text *t = (text *)held;
    zf_text key = {0};
    zf_status status = ZF_OK;
    *out = NULL;
    identify(t, column, branches, branch_count, request, &key);
    if (key.failed) {
        zf_text_free(&key);
        return out_of_memory(error);
    }
    uint64_t hash = XXH3_64bits(key.data, key.length);
    entry *e = look_up(cache, hash, &key);
    if (e == NULL) {
        pthread_mutex_lock(&t->lock);
        e = look_up(cache, hash, &key); // another thread may have made it meanwhile
        zf_decoder *decoder = NULL;
        zf_compile_budget *of = e == NULL ? budget_of(cache, t, column) : NULL;
        if (e == NULL && of == NULL) status = out_of_memory(error);
        if (of != NULL) status = zf_decoder_create(cache->compiler, column, branches, branch_count, request, &decoder, error);
        if (decoder != NULL) {
            decoder->budget = of;
            e = insert(cache, t, decoder, hash, &key);
            if (e == NULL) {
                zf_decoder_free(decoder);
                status = out_of_memory(error);
            }
        }
        pthread_mutex_unlock(&t->lock);
    }
    zf_text_free(&key);
    if (e != NULL) *out = &e->base;
    return status;
}

void zf_cached_decoder_release(zf_decoder_cache *cache, zf_cached_decoder *held) {
    entry *e = (entry *)held;
    if (e == NULL) return;
    pthread_mutex_lock(&cache->lock);
    if (--e->references == 0) {
        become_idle(cache, e);
        cache->stats.held--;
        evict(cache);
    }
    pthread_mutex_unlock(&cache->lock);
}

void zf_codec_text_drop(zf_decoder_cache *cache, zf_codec_text *held) {
    entry *gone = NULL;
    if (held == NULL) return;
    pthread_mutex_lock(&cache->lock);
    for (entry *e = cache->oldest, *recent; e != NULL; e = recent) {
        recent = e->recent;
        if (e->text != (text *)held) continue;
        take_out(cache, e);
        e->next = gone;
        gone = e;
    }
    pthread_mutex_unlock(&cache->lock);
    free_entries(cache, gone);
    zf_codec_text_release(cache, held);
}

void zf_decoder_cache_free(zf_decoder_cache *cache) {
    if (cache == NULL) return;
    zf_decoder_cache_sweep(cache);
    while (cache->oldest != NULL) {
        entry *e = cache->oldest;
        take_out(cache, e);
        free_entry(cache, e);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

zf_decoder_cache_stats zf_decoder_cache_stats_of(zf_decoder_cache *cache) {
    pthread_mutex_lock(&cache->lock);
    zf_decoder_cache_stats stats = cache->stats;
    pthread_mutex_unlock(&cache->lock);
    return stats;
}
