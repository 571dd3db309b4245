// Code for containers. A container carries the canonical text of its codecs; a `.zf` file or std as it is today does not matter.
// Texts and decoders are the cache's (decoder_cache.c), which shares them between containers; a container holds those that it
// uses until it is closed.
//
// Locks: the provider's guards the table of containers, a container's its list of decoders. Code is compiled under neither
// (decoder_code.c).
#include "compiler/provider.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/decoder/decoder_cache.h"
#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"

typedef struct known_decoder {
    size_t column;
    zf_abi_target target;
    const zf_tuned_device *tuned; ///< results for its kernels: two models of one target have others; NULL: none
    zf_cached_decoder *held;
    struct known_decoder *next;
} known_decoder;

typedef struct known_container {
    uint64_t serial; ///< of the container: another one may come to lie at its address
    zf_container *container;
    pthread_mutex_t lock; ///< of what follows
    zf_codec_text *text;  ///< held; NULL: nobody asked for a plan, or it is damaged
    known_decoder *decoders;
    struct known_container *next; ///< in its bucket
} known_container;

enum { FIRST_BUCKETS = 64 };

struct zf_provider {
    zf_compiler *compiler;
    zf_plan_request request;
    zf_choices choices;        ///< the memory of request.choices
    pthread_mutex_t lock;      ///< of what follows
    known_container **buckets; ///< by the container's serial
    size_t bucket_count, container_count;
};

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a decoder"); }

// ---- Containers ---------------------------------------------------------------------------------------------------

static void free_container(zf_provider *p, known_container *known) {
    while (known->decoders != NULL) {
        known_decoder *entry = known->decoders;
        known->decoders = entry->next;
        zf_cached_decoder_release(p->compiler->cache, entry->held);
        free(entry);
    }
    zf_codec_text_release(p->compiler->cache, known->text);
    zf_decoder_cache_sweep(p->compiler->cache);
    pthread_mutex_destroy(&known->lock);
    free(known);
}

/// The place where a container's entry is, or NULL would be. With the provider's lock held.
static known_container **place_of(const zf_provider *p, uint64_t serial) {
    known_container **at = &p->buckets[serial % p->bucket_count];
    while (*at != NULL && (*at)->serial != serial) at = &(*at)->next;
    return at;
}

/// Gives the table so many buckets. Without memory it stays as it is, and is slower. With the provider's lock held.
static void grow(zf_provider *p, size_t count) {
    known_container **old = p->buckets, **made = calloc(count, sizeof *made);
    size_t old_count = p->bucket_count;
    if (made == NULL) return;
    p->buckets = made;
    p->bucket_count = count;
    for (size_t k = 0; k < old_count; k++) {
        for (known_container *known = old[k], *next; known != NULL; known = next) {
            next = known->next;
            known->next = NULL;
            *place_of(p, known->serial) = known;
        }
    }
    free(old);
}

static known_container *know(zf_provider *p, zf_container *container) {
    pthread_mutex_lock(&p->lock);
    if (p->container_count >= p->bucket_count) grow(p, 2 * p->bucket_count);
    known_container **at = place_of(p, zf_container_serial(container));
    if (*at == NULL) {
        *at = calloc(1, sizeof **at);
        if (*at != NULL) {
            (*at)->serial = zf_container_serial(container);
            (*at)->container = container;
            pthread_mutex_init(&(*at)->lock, NULL);
            p->container_count++;
        }
    }
    known_container *known = *at;
    pthread_mutex_unlock(&p->lock);
    return known;
}

static zf_status find_column(const known_container *known, size_t number, const zf_column **out, zf_error *error) {
    zf_column_info info = {0};
    ZF_TRY(zf_container_column(known->container, number, &info, error));
    const char *path = zf_container_path(known->container);
    for (const zf_column *column = known->text->table->columns; column != NULL; column = column->next) {
        if (strcmp(column->name, info.name) != 0) continue;
        if (column->part != info.part || !zf_column_type_same(zf_column_type_of(column->type), info.type)) {
            zf_raise(error, ZF_E_INDEX_CONTENT, "the type of column `%s` in the file's text differs from the index", info.name);
            return zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
        }
        *out = column;
        return ZF_OK;
    }
    zf_raise(error, ZF_E_INDEX_CONTENT, "the file's text has no column `%s`", info.name);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
}

static zf_decoder *find(const known_container *known, size_t column, const uint8_t *branches, size_t count, zf_abi_target target,
                        const zf_tuned_device *tuned) {
    for (const known_decoder *entry = known->decoders; entry != NULL; entry = entry->next) {
        if (entry->column != column || entry->tuned != tuned || entry->target.family != target.family ||
            entry->target.arch != target.arch)
            continue;
        if (zf_shape_has_branches(&entry->held->decoder->shape, branches, count)) return entry->held->decoder;
    }
    return NULL;
}

// Generated code takes element types and numbering from the text, the runtime checks blocks by the file's shape: a file in
// which the two differ must not be decoded.
static zf_status check_shape(const zf_provider *p, const known_container *known, size_t number, const zf_column *column,
                             const zf_decoder *decoder, zf_error *error) {
    const zf_shape *own = &decoder->shape;
    const zf_shape *shape = zf_container_shape_for(known->container, number, own->branches, own->branch_count);
    if (shape != NULL) {
        if (zf_shape_matches(shape, own)) return ZF_OK;
        if (p->request.unfused) {
            zf_raise(error, ZF_E_ARGUMENT, "column `%s` cannot be decoded by a kernel a stage: more than one keeps a state",
                     column->name);
            zf_fail_hint(error, ZF_ERR_USAGE, "encode it with `--unfused all`: each has states of its own then");
            return zf_fail_place(error, ZF_ERR_USAGE, "%s: column %s", zf_container_path(known->container), column->name);
        }
        zf_raise(error, ZF_E_INDEX_CONTENT, "the index describes other streams of column `%s` than its codec", column->name);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s: column %s", zf_container_path(known->container), column->name);
    }
    zf_raise(error, ZF_E_INDEX_CONTENT, "the index has no shape for these branches of column `%s`", column->name);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s", zf_container_path(known->container));
}

// ---- Tuned results ----------------------------------------------------------------------------------------------

/// Finds what was tuned for the kernels of a plan, for blocks like the first one of the shape.
static bool find_tuned(const zf_tuned_device *tuned, zf_container *container, size_t column, const zf_shape *shape,
                       const zf_decoder *decoder, zf_choices *out) {
    uint64_t number;
    zf_block_view block;
    if (shape == NULL || !zf_container_first_block(container, column, shape, &number)) return false;
    if (zf_container_block_header(container, column, number, &block, NULL) != ZF_OK) return false;
    bool same = block.shape->param_count == decoder->graph->param_count && block.shape->edge_count == decoder->graph->edge_count;
    bool found = same && zf_tuned_choose(tuned, decoder->plan, &block, out);
    zf_block_view_free(&block);
    return found;
}

/// Replaces a held decoder by one with tuned kernels, if there are results for them. A result that cannot be used changes
/// nothing.
static void apply_tuned(zf_compiler *compiler, const known_container *known, size_t number, const zf_column *column,
                        const zf_shape *shape, const zf_tuned_device *tuned, zf_plan_request request, zf_cached_decoder **held) {
    const zf_decoder *decoder = (*held)->decoder;
    zf_cached_decoder *chosen;
    zf_choices choices;
    if (tuned == NULL || !find_tuned(tuned, known->container, number, shape, decoder, &choices)) return;
    request.choices = &choices;
    if (zf_cached_decoder_hold(compiler->cache, known->text, column, decoder->shape.branches, decoder->shape.branch_count,
                               &request, &chosen, NULL) != ZF_OK) {
        zf_compiler_note(compiler, ZF_LOG_DEBUG,
                         "column %s: its kernels cannot be lowered as was found best on %s: they are as by default", column->name,
                         tuned->description);
        return;
    }
    zf_compiler_note(compiler, ZF_LOG_DEBUG, "column %s: %u of %u kernels are lowered as was found best on %s", column->name,
                     choices.count, chosen->decoder->plan->kernel_count, tuned->description);
    zf_cached_decoder_release(compiler->cache, *held);
    *held = chosen;
}

static bool has_column(const known_container *known, size_t number) {
    const known_decoder *entry = known->decoders;
    while (entry != NULL && entry->column != number) entry = entry->next;
    return entry != NULL;
}

/// Holds the decoder of a column under branches; with the container's lock held. Each file has its columns' whole budgets.
static zf_status hold_decoder(zf_provider *p, const known_container *known, size_t number, const uint8_t *branches,
                              size_t branch_count, zf_abi_target target, const zf_tuned_device *tuned, zf_cached_decoder **out,
                              zf_error *error) {
    zf_decoder_cache *cache = p->compiler->cache;
    const zf_column *column = NULL;
    ZF_TRY(find_column(known, number, &column, error));
    if (!zf_branches_exist(branches, branch_count, column->alternatives, column->choice_count))
        return zf_raise(error, ZF_E_INDEX_CONTENT, ZF_NO_SUCH_BRANCHES, column->name);
    const zf_shape *shape = zf_container_shape_for(known->container, number, branches, branch_count);
    if (!has_column(known, number) && zf_codec_text_renew_budget(cache, known->text, column) == NULL) return out_of_memory(error);
    uint32_t *edges = NULL;
    zf_plan_request request = p->request;
    request.target = target;
    if (!zf_decoder_states_of(shape, &edges, &request.states)) return out_of_memory(error);
    zf_status status = zf_cached_decoder_hold(cache, known->text, column, branches, branch_count, &request, out, error);
    if (status != ZF_OK) zf_container_spec_place(known->container, known->text->name, error);
    if (status == ZF_OK) apply_tuned(p->compiler, known, number, column, shape, tuned, request, out);
    free(edges);
    if (status != ZF_OK) return status;
    status = check_shape(p, known, number, column, (*out)->decoder, error);
    if (status != ZF_OK) zf_cached_decoder_release(cache, *out);
    return status;
}

/// With the container's lock held.
static zf_status plan_locked(zf_provider *p, known_container *known, size_t number, const uint8_t *branches, size_t branch_count,
                             zf_abi_target target, const zf_tuned_device *tuned, zf_decoder **out, zf_error *error) {
    if (known->text == NULL) ZF_TRY(zf_codec_text_hold(p->compiler->cache, known->container, &known->text, error));
    *out = find(known, number, branches, branch_count, target, tuned);
    if (*out != NULL) return ZF_OK;
    known_decoder *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) return out_of_memory(error);
    entry->column = number;
    entry->target = target;
    entry->tuned = tuned;
    zf_status status = hold_decoder(p, known, number, branches, branch_count, target, tuned, &entry->held, error);
    if (status != ZF_OK) {
        free(entry);
        return status;
    }
    entry->next = known->decoders;
    known->decoders = entry;
    *out = entry->held->decoder;
    return ZF_OK;
}

// ---- The provider ---------------------------------------------------------------------------------------------

static zf_status plan(void *self, zf_container *container, size_t column, const uint8_t *branches, size_t branch_count,
                      zf_abi_device device, const zf_abi_plan **out, zf_error *error) {
    zf_provider *p = self;
    *out = NULL;
    known_container *known = know(p, container);
    if (known == NULL) return out_of_memory(error);
    zf_decoder *decoder = NULL;
    const zf_tuned_device *tuned = p->request.choices == NULL ? zf_compiler_tuned(p->compiler, device) : NULL;
    pthread_mutex_lock(&known->lock);
    zf_status status = plan_locked(p, known, column, branches, branch_count, device.target, tuned, &decoder, error);
    pthread_mutex_unlock(&known->lock);
    zf_decoder_cache_sweep(p->compiler->cache);
    zf_compiler_log_noted(p->compiler);
    if (status == ZF_OK) *out = &decoder->abi;
    return status;
}

static zf_status code(void *self, const zf_abi_plan *abi, const uint64_t *shaping, const zf_abi_code **out, zf_error *error) {
    (void)self;
    return zf_decoder_code_for(abi->provider_data, shaping, out, error);
}

static void forget(void *self, zf_container *container) {
    zf_provider *p = self;
    pthread_mutex_lock(&p->lock);
    known_container **at = place_of(p, zf_container_serial(container)), *known = *at;
    if (known != NULL) {
        *at = known->next;
        p->container_count--;
    }
    pthread_mutex_unlock(&p->lock);
    if (known != NULL) free_container(p, known);
}

zf_abi_provider zf_provider_abi(zf_provider *p) {
    return (zf_abi_provider){.self = p, .plan = plan, .code = code, .forget = forget, .tuples = zf_compiler_tuples(p->compiler)};
}

zf_status zf_provider_create(zf_compiler *compiler, const zf_plan_request *request, zf_provider **out, zf_error *error) {
    zf_provider *p = *out = calloc(1, sizeof *p);
    if (p != NULL) p->buckets = calloc(FIRST_BUCKETS, sizeof(known_container *));
    if (p == NULL || p->buckets == NULL) {
        free(p);
        *out = NULL;
        return out_of_memory(error);
    }
    p->bucket_count = FIRST_BUCKETS;
    p->compiler = compiler;
    p->request = *request;
    if (request->choices != NULL) {
        p->choices = *request->choices;
        p->request.choices = &p->choices;
    }
    pthread_mutex_init(&p->lock, NULL);
    return ZF_OK;
}

void zf_provider_free(zf_provider *p) {
    if (p == NULL) return;
    zf_context *context = p->compiler->context;
    zf_abi_provider current;
    if (zf_context_provider(context, &current) && current.self == p) zf_context_set_provider(context, NULL, NULL);
    for (size_t k = 0; k < p->bucket_count; k++) {
        for (known_container *known = p->buckets[k], *next; known != NULL; known = next) {
            next = known->next;
            free_container(p, known);
        }
    }
    free(p->buckets);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
