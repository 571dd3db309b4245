// Getting code for decodes to come: what columns need is found in their blocks, and is compiled and loaded side by side.
#include "runtime/module/code_obtain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/passes.h"
#include "runtime/base/pool.h"
#include "runtime/base/sized.h"
#include "runtime/context/context.h"
#include "runtime/decode/selection.h"
#include "runtime/device/accelerator.h"
#include "runtime/device/device.h"
#include "runtime/device/kept_codes.h"

/// Blocks of a column that are looked at, evenly spread: a block that is not may want code that is got later.
enum { MOST_BLOCKS = 256 };

/// Code that somebody wants.
typedef struct piece {
    size_t request;
    const zf_abi_plan *plan;
    const zf_abi_provider *provider;
    uint64_t *values;            ///< NULL: the general form
    const zf_abi_code *code;     ///< that was loaded
    zf_accelerator_code *loaded; ///< NULL: it was not loaded
    struct piece *next;
} piece;

/// The time in which any thread does something.
typedef struct gauge {
    unsigned running;
    double since, seconds;
} gauge;

typedef struct obtaining {
    zf_context *context;
    zf_abi_device device;
    zf_accelerator *accelerator; ///< NULL: the host decodes
    const zf_code_request *requests;
    const zf_abi_provider *providers; ///< per request; NULL: the context's
    zf_selection *selections;         ///< of each request, made or empty
    piece **pieces;                   ///< in the order of requests and blocks
    pthread_mutex_t lock;             ///< of what follows
    zf_code_stats *each, all;
    gauge compiling, loading;
} obtaining;

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a list of code"); }

// ---- The code that requests need ------------------------------------------------------------------------------

/// Whether there is such a piece from `first` on; how many tuples of the plan there are.
static bool is_known(const piece *first, const zf_abi_plan *plan, const uint64_t *values, uint32_t *tuples) {
    *tuples = 0;
    for (const piece *p = first; p != NULL; p = p->next) {
        if (p->plan != plan) continue;
        if (p->values != NULL) ++*tuples;
        if ((p->values == NULL) != (values == NULL)) continue;
        if (values == NULL || memcmp(p->values, values, plan->shaping_count * sizeof *values) == 0) return true;
    }
    return false;
}

static zf_status add_piece(piece ***last, size_t request, const zf_selection *s, uint32_t shape, uint64_t *values,
                           zf_error *error) {
    piece *new = malloc(sizeof *new);
    if (new == NULL) {
        free(values);
        return no_memory(error);
    }
    *new = (piece){.request = request, .plan = s->plans[shape], .provider = &s->providers[shape], .values = values};
    **last = new;
    *last = &new->next;
    return ZF_OK;
}

/// Adds the code of block `number`, if it is new. Skips a block that cannot be read: its decode reports that.
static zf_status look_at(size_t request, const zf_selection *s, uint64_t number, piece *const *first, piece ***last,
                         zf_error *error) {
    uint32_t shape = s->column->blocks[number].shape, tuples;
    const zf_abi_plan *plan = s->plans[shape];
    uint32_t most = s->providers[shape].tuples != 0 ? s->providers[shape].tuples : ZF_TUPLES_DEFAULT;
    zf_block_view view;
    zf_error damage;
    ZF_TRY(zf_selection_go_on(s, error));
    if (zf_container_block_header(s->container, s->column_number, number, &view, &damage) != ZF_OK) return ZF_OK;
    uint64_t *values = malloc((plan->shaping_count + (size_t)1) * sizeof *values);
    for (uint32_t i = 0; values != NULL && i < plan->shaping_count; i++) values[i] = view.params[plan->shaping[i]];
    zf_block_view_free(&view);
    if (values == NULL) return no_memory(error);
    bool known = is_known(*first, plan, values, &tuples);
    if (!known && tuples == most) {
        free(values);
        values = NULL;
        known = is_known(*first, plan, NULL, &tuples);
    }
    if (!known) return add_piece(last, request, s, shape, values, error);
    free(values);
    return ZF_OK;
}

static zf_status find_pieces(size_t request, const zf_selection *s, piece ***last, zf_error *error) {
    uint64_t blocks = s->last_block - s->first_block, looked = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    piece **begin = *last;                // tuples of one column are compared with each other
    for (uint64_t i = 0; i < looked; i++) // the first and the last among them
        ZF_TRY(look_at(request, s, s->first_block + (looked > 1 ? i * (blocks - 1) / (looked - 1) : 0), begin, last, error));
    return ZF_OK;
}

// ---- Getting it -----------------------------------------------------------------------------------------------

static double begin(obtaining *o, gauge *g) {
    pthread_mutex_lock(&o->lock);
    double now = zf_clock_seconds();
    if (g->running++ == 0) g->since = now;
    pthread_mutex_unlock(&o->lock);
    return now;
}

/// With the lock held: how long it took.
static double end(gauge *g, double began) {
    double now = zf_clock_seconds();
    if (--g->running == 0) g->seconds += now - g->since;
    return now - began;
}

static void count(zf_code_stats *stats, const zf_abi_code *code) {
    stats->codes++;
    stats->compiled += code->origin == ZF_CODE_COMPILED;
    stats->cached += code->origin == ZF_CODE_CACHED;
}

static zf_status get(void *user, uint64_t index, unsigned worker, zf_error *error) {
    (void)worker;
    obtaining *o = user;
    piece *p = o->pieces[index];
    const zf_abi_code *code = NULL;
    zf_error reason;
    ZF_TRY(zf_selection_go_on(&o->selections[p->request], error));
    double began = begin(o, &o->compiling);
    // The provider keeps a failure, and the decode that needs the code reports it.
    bool good = p->provider->code(p->provider->self, p->plan, p->values, &code, &reason) == ZF_OK && code != NULL;
    pthread_mutex_lock(&o->lock);
    o->each[p->request].compile_seconds += end(&o->compiling, began);
    if (good) count(&o->each[p->request], code);
    if (good) count(&o->all, code);
    pthread_mutex_unlock(&o->lock);
    if (!good || o->accelerator == NULL || code->simt == NULL) return ZF_OK;
    unsigned pass = zf_pass_begin(zf_context_passes(o->context), ZF_PASS_LOAD);
    began = begin(o, &o->loading);
    p->code = code;
    o->accelerator->ops->load(o->accelerator, p->plan, code, &p->loaded, &reason);
    pthread_mutex_lock(&o->lock);
    o->each[p->request].load_seconds += end(&o->loading, began);
    pthread_mutex_unlock(&o->lock);
    zf_pass_end(zf_context_passes(o->context), pass);
    return ZF_OK;
}

static zf_status obtain_all(obtaining *o, size_t requests, unsigned threads, piece **first, zf_error *error) {
    size_t pieces = 0;
    double began = begin(o, &o->compiling);
    piece **last = first;
    zf_status status = ZF_OK;
    for (size_t r = 0; r < requests && status == ZF_OK; r++) {
        zf_decode_options options = o->requests[r].options;
        options.skip_checksums = true; // only params are read
        double since = zf_clock_seconds();
        zf_selection *s = &o->selections[r];
        zf_error reason;
        // The decode of a column without plans reports that, too.
        if (zf_selection_make(o->requests[r].container, o->requests[r].column, &options, o->device,
                              o->providers != NULL ? &o->providers[r] : NULL, s, &reason) == ZF_OK)
            status = find_pieces(r, s, &last, error);
        o->each[r].compile_seconds += zf_clock_seconds() - since;
    }
    end(&o->compiling, began);
    if (status != ZF_OK) return status;
    for (const piece *p = *first; p != NULL; p = p->next) pieces++;
    o->pieces = calloc(pieces + 1, sizeof(piece *));
    if (o->pieces == NULL) return no_memory(error);
    pieces = 0;
    for (piece *p = *first; p != NULL; p = p->next) o->pieces[pieces++] = p;
    return zf_parallel_try(zf_context_threads(o->context, threads), pieces, get, o, error);
}

static zf_status check(const zf_context *context, const zf_code_request *requests, size_t request_count, zf_error *error) {
    if (context == NULL || (requests == NULL && request_count > 0))
        return zf_raise(error, ZF_E_ARGUMENT, "zf_code_obtain needs a context and requests");
    for (size_t r = 0; r < request_count; r++) {
        ZF_TRY(ZF_EXACT(zf_code_request, &requests[r], error));
        if (requests[r].container == NULL) return zf_raise(error, ZF_E_ARGUMENT, "a request of code has no container");
        if (requests[r].container->context != context)
            return zf_raise(error, ZF_E_ARGUMENT, "%.256s was opened in another context", requests[r].container->path);
    }
    return ZF_OK;
}

/// Moves the pieces' references to the caller's list. Without memory for it they are given back: nothing was launched.
static void give_loaded(const obtaining *o, const piece *first, zf_loaded_codes *loaded) {
    size_t count = 0;
    for (const piece *p = first; p != NULL; p = p->next) count += p->loaded != NULL;
    *loaded = (zf_loaded_codes){.accelerator = o->accelerator, .codes = malloc((count + 1) * sizeof *loaded->codes)};
    for (const piece *p = first; p != NULL; p = p->next) {
        if (p->loaded == NULL) continue;
        if (loaded->codes != NULL)
            loaded->codes[loaded->count++] = p->loaded;
        else if (o->accelerator->ops->unload != NULL)
            o->accelerator->ops->unload(o->accelerator, p->loaded);
    }
}

void zf_loaded_codes_unload(zf_loaded_codes *loaded) {
    for (size_t k = 0; k < loaded->count && loaded->accelerator->ops->unload != NULL; k++)
        loaded->accelerator->ops->unload(loaded->accelerator, loaded->codes[k]);
    free(loaded->codes);
    *loaded = (zf_loaded_codes){0};
}

zf_status zf_code_obtain(zf_context *context, const char *device, const zf_code_request *requests, size_t request_count,
                         unsigned threads, zf_code_stats *each, zf_code_stats *all, zf_error *error) {
    return zf_code_obtain_from(context, device, requests, NULL, request_count, threads, each, all, NULL, error);
}

zf_status zf_code_obtain_from(zf_context *context, const char *device, const zf_code_request *requests,
                              const zf_abi_provider *providers, size_t request_count, unsigned threads, zf_code_stats *each,
                              zf_code_stats *all, zf_loaded_codes *loaded, zf_error *error) {
    const zf_code_stats none = {0};
    if (all != NULL) ZF_TRY(ZF_CHECK_GIVEN(zf_code_stats, all, error));
    if (each != NULL && request_count > 0) ZF_TRY(ZF_CHECK_GIVEN(zf_code_stats, each, error));
    if (all != NULL) ZF_GIVE(zf_code_stats, all, &none);
    for (size_t r = 0; r < request_count && each != NULL; r++) ZF_GIVE_AT(zf_code_stats, each, r, &none);
    ZF_TRY(check(context, requests, request_count, error));
    zf_device chosen;
    obtaining o = {.context = context, .requests = requests, .providers = providers};
    ZF_TRY(zf_device_find(context, device != NULL ? device : "auto", &chosen, error));
    o.device.target = chosen.ops->target;
    if (chosen.ops->start != NULL) ZF_TRY(zf_device_accelerator(context, &chosen, &o.accelerator, error));
    if (o.accelerator != NULL) o.device = zf_accelerator_device(o.accelerator);
    piece *first = NULL;
    o.selections = calloc(request_count + 1, sizeof *o.selections);
    o.each = calloc(request_count + 1, sizeof *o.each);
    pthread_mutex_init(&o.lock, NULL);
    zf_status status = o.selections != NULL && o.each != NULL ? ZF_OK : no_memory(error);
    if (status == ZF_OK) status = obtain_all(&o, request_count, threads, &first, error);
    o.all.compile_seconds = o.compiling.seconds;
    o.all.load_seconds = o.loading.seconds;
    for (size_t r = 0; r < request_count && each != NULL && o.each != NULL; r++) ZF_GIVE_AT(zf_code_stats, each, r, &o.each[r]);
    if (all != NULL) ZF_GIVE(zf_code_stats, all, &o.all);
    if (loaded != NULL) give_loaded(&o, first, loaded);
    while (first != NULL) {
        piece *next = first->next;
        if (loaded == NULL && o.accelerator != NULL) zf_accelerator_keep(o.accelerator, first->code, first->loaded);
        free(first->values);
        free(first);
        first = next;
    }
    for (size_t r = 0; r < request_count && o.selections != NULL; r++) zf_selection_free(&o.selections[r]);
    pthread_mutex_destroy(&o.lock);
    free(o.pieces);
    free(o.selections);
    free(o.each);
    return status;
}
