// Code for containers. A container carries the canonical text of its codecs, so what a `.zf` file or std says today does not
// matter: the text is parsed once per container, each column and vector of branches gets a decoder when it is first asked for.
//
// Locks: the provider's guards the list of containers, a container's its text and its list of decoders. Code is compiled under
// neither (decoder_code.c).
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/container_text.h"
#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"

typedef struct known_decoder {
    size_t column;
    zf_abi_target target;
    zf_decoder *decoder;
    struct known_decoder *next;
} known_decoder;

typedef struct known_container {
    zf_container *container;
    pthread_mutex_t lock;
    bool parsed;
    zf_status status; ///< of parsing
    zf_error error;
    zf_spec *spec;
    const zf_table *table;
    known_decoder *decoders;
    struct known_container *next;
} known_container;

struct zf_provider {
    zf_compiler *compiler;
    zf_plan_request request;
    zf_choices choices;   ///< the memory of request.choices
    pthread_mutex_t lock; ///< of `containers`
    known_container *containers;
};

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a decoder"); }

static void free_container(known_container *known) {
    while (known->decoders != NULL) {
        known_decoder *entry = known->decoders;
        known->decoders = entry->next;
        zf_decoder_free(entry->decoder);
        free(entry);
    }
    if (known->spec != NULL) zf_spec_destroy(known->spec);
    pthread_mutex_destroy(&known->lock);
    free(known);
}

static known_container *know(zf_provider *p, zf_container *container) {
    pthread_mutex_lock(&p->lock);
    known_container *known = p->containers;
    while (known != NULL && known->container != container) known = known->next;
    if (known == NULL) {
        known = calloc(1, sizeof(*known));
        if (known != NULL) {
            known->container = container;
            pthread_mutex_init(&known->lock, NULL);
            known->next = p->containers;
            p->containers = known;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return known;
}

// ---- The container's text -------------------------------------------------------------------------------------

static zf_status parse(const zf_compiler *compiler, known_container *known, zf_error *error) {
    size_t length;
    const char *unit = zf_container_unit(known->container, &length);
    return zf_container_text_read(unit, length, zf_container_path(known->container), zf_container_table(known->container),
                                  zf_context_passes(compiler->context), &known->spec, &known->table, error);
}

static zf_status find_column(const known_container *known, size_t number, const zf_column **out, zf_error *error) {
    zf_column_info info;
    ZF_TRY(zf_container_column(known->container, number, &info, error));
    const char *path = zf_container_path(known->container);
    for (const zf_column *column = known->table->columns; column != NULL; column = column->next) {
        if (strcmp(column->name, info.name) != 0) continue;
        if (!zf_column_type_same(zf_column_type_of(column->type), info.type)) {
            zf_raise(error, ZF_E_INDEX_CONTENT, "the file's text gives column `%s` another type than its index", info.name);
            return zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
        }
        *out = column;
        return ZF_OK;
    }
    zf_raise(error, ZF_E_INDEX_CONTENT, "the file's text has no column `%s`", info.name);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
}

static zf_decoder *find(const known_container *known, size_t column, const uint8_t *branches, size_t count,
                        zf_abi_target target) {
    for (const known_decoder *entry = known->decoders; entry != NULL; entry = entry->next) {
        if (entry->column != column || entry->target.family != target.family || entry->target.arch != target.arch) continue;
        if (zf_shape_has_branches(&entry->decoder->shape, branches, count)) return entry->decoder;
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
        zf_raise(error, ZF_E_INDEX_CONTENT, "the index describes the streams of column `%s` otherwise than its codec does",
                 column->name);
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
    if (zf_container_block(container, column, number, false, &block, NULL) != ZF_OK) return false;
    bool same = block.shape->param_count == decoder->graph->param_count && block.shape->edge_count == decoder->graph->edge_count;
    bool found = same && zf_tuned_choose(tuned, decoder->plan, &block, out);
    zf_block_view_free(&block);
    return found;
}

/// Replaces a decoder by one with tuned kernels, if there are results for them. A result that cannot be used changes nothing.
static void apply_tuned(zf_compiler *compiler, const known_container *known, size_t number, const zf_column *column,
                        const zf_shape *shape, zf_plan_request request, zf_decoder **decoder) {
    const zf_tuned_device *tuned = zf_compiler_tuned(compiler, request.target);
    zf_choices choices;
    if (tuned == NULL || !find_tuned(tuned, known->container, number, shape, *decoder, &choices)) return;
    request.choices = &choices;
    zf_decoder *chosen;
    if (zf_decoder_create(compiler, column, (*decoder)->shape.branches, (*decoder)->shape.branch_count, &request, &chosen,
                          NULL) != ZF_OK) {
        zf_compiler_note(compiler, ZF_LOG_DEBUG,
                         "column %s: its kernels cannot be lowered as was found best on %s: they are as by default", column->name,
                         tuned->description);
        return;
    }
    zf_compiler_note(compiler, ZF_LOG_DEBUG, "column %s: %u of %u kernels are lowered as was found best on %s", column->name,
                     choices.count, chosen->plan->kernel_count, tuned->description);
    zf_decoder_free(*decoder);
    *decoder = chosen;
}

/// Makes the decoder of a column under branches; with the container's lock held.
static zf_status make_decoder(zf_provider *p, const known_container *known, size_t number, const uint8_t *branches,
                              size_t branch_count, zf_abi_target target, zf_decoder **out, zf_error *error) {
    const zf_column *column = NULL;
    *out = NULL;
    ZF_TRY(find_column(known, number, &column, error));
    if (!zf_branches_exist(branches, branch_count, column->alternatives, column->choice_count))
        return zf_raise(error, ZF_E_INDEX_CONTENT, ZF_NO_SUCH_BRANCHES, column->name);
    const zf_shape *shape = zf_container_shape_for(known->container, number, branches, branch_count);
    uint32_t *edges = NULL;
    zf_plan_request request = p->request;
    request.target = target;
    if (!zf_decoder_states_of(shape, &edges, &request.states)) return out_of_memory(error);
    zf_status status = zf_decoder_create(p->compiler, column, branches, branch_count, &request, out, error);
    if (status == ZF_OK && request.choices == NULL) apply_tuned(p->compiler, known, number, column, shape, request, out);
    free(edges);
    if (status == ZF_OK) status = check_shape(p, known, number, column, *out, error);
    if (status != ZF_OK) zf_decoder_free(*out);
    return status;
}

// With the container's lock held.
static zf_status plan_locked(zf_provider *p, known_container *known, size_t number, const uint8_t *branches, size_t branch_count,
                             zf_abi_target target, zf_decoder **out, zf_error *error) {
    if (!known->parsed) {
        known->status = parse(p->compiler, known, &known->error);
        known->parsed = true;
    }
    if (known->status != ZF_OK) {
        if (error != NULL) *error = known->error;
        return known->status;
    }
    *out = find(known, number, branches, branch_count, target);
    if (*out != NULL) return ZF_OK;
    known_decoder *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) return out_of_memory(error);
    entry->column = number;
    entry->target = target;
    zf_status status = make_decoder(p, known, number, branches, branch_count, target, &entry->decoder, error);
    if (status != ZF_OK) {
        free(entry);
        return status;
    }
    entry->next = known->decoders;
    known->decoders = entry;
    *out = entry->decoder;
    return ZF_OK;
}

// ---- The provider ---------------------------------------------------------------------------------------------

static zf_status plan(void *self, zf_container *container, size_t column, const uint8_t *branches, size_t branch_count,
                      zf_abi_target target, const zf_abi_plan **out, zf_error *error) {
    zf_provider *p = self;
    *out = NULL;
    known_container *known = know(p, container);
    if (known == NULL) return out_of_memory(error);
    zf_decoder *decoder = NULL;
    pthread_mutex_lock(&known->lock);
    zf_status status = plan_locked(p, known, column, branches, branch_count, target, &decoder, error);
    pthread_mutex_unlock(&known->lock);
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
    known_container **at = &p->containers;
    while (*at != NULL && (*at)->container != container) at = &(*at)->next;
    known_container *known = *at;
    if (known != NULL) *at = known->next;
    pthread_mutex_unlock(&p->lock);
    if (known != NULL) free_container(known);
}

zf_abi_provider zf_provider_abi(zf_provider *p) {
    return (zf_abi_provider){.self = p, .plan = plan, .code = code, .forget = forget};
}

zf_status zf_provider_create(zf_compiler *compiler, const zf_plan_request *request, zf_provider **out, zf_error *error) {
    zf_provider *p = *out = calloc(1, sizeof *p);
    if (p == NULL) return out_of_memory(error);
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
    while (p->containers != NULL) {
        known_container *known = p->containers;
        p->containers = known->next;
        free_container(known);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}
