// Code for containers. A container carries the canonical text of its codecs, so what a `.zf` file or std says today does not
// matter: the text is parsed once per container, each column and vector of branches gets a decoder when it is first asked for.
//
// Locks: the compiler's guards the list of containers, a container's its text and its list of decoders. Code is compiled under
// neither (decoder.c).
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/container_text.h"
#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"

typedef struct known_decoder {
    size_t column;
    zf_decoder *decoder;
    struct known_decoder *next;
} known_decoder;

typedef struct zf_known_container {
    zf_container *container;
    pthread_mutex_t lock;
    bool parsed;
    zf_status status; ///< of parsing
    zf_error error;
    zf_spec *spec;
    const zf_table *table;
    known_decoder *decoders;
    struct zf_known_container *next;
} known_container;

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

static known_container *know(zf_compiler *compiler, zf_container *container) {
    pthread_mutex_lock(&compiler->lock);
    known_container *known = compiler->containers;
    while (known != NULL && known->container != container) known = known->next;
    if (known == NULL) {
        known = calloc(1, sizeof(*known));
        if (known != NULL) {
            known->container = container;
            pthread_mutex_init(&known->lock, NULL);
            known->next = compiler->containers;
            compiler->containers = known;
        }
    }
    pthread_mutex_unlock(&compiler->lock);
    return known;
}

// ---- The container's text -------------------------------------------------------------------------------------

static zf_status parse(const zf_compiler *compiler, known_container *known, zf_error *error) {
    size_t length;
    const char *unit = zf_container_unit(known->container, &length);
    return zf_container_text_read(unit, length, zf_container_path(known->container), zf_container_table(known->container),
                                  zf_context_passes(compiler->context), &known->spec, &known->table, error);
}

static zf_status find_column(known_container *known, size_t number, const zf_column **out, zf_error *error) {
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

static bool same_target(zf_abi_target a, zf_abi_target b) { return a.family == b.family && a.arch == b.arch; }

static zf_decoder *find(const known_container *known, size_t column, const uint8_t *branches, size_t count,
                        zf_abi_target target) {
    for (const known_decoder *entry = known->decoders; entry != NULL; entry = entry->next) {
        if (entry->column != column || !same_target(entry->decoder->abi.target, target)) continue;
        if (zf_shape_has_branches(&entry->decoder->shape, branches, count)) return entry->decoder;
    }
    return NULL;
}

// Generated code takes element types and numbering from the text, the runtime checks blocks by the file's shape: a file in
// which the two differ must not be decoded.
static zf_status check_shape(const zf_compiler *compiler, const known_container *known, size_t number, const zf_column *column,
                             const zf_decoder *decoder, zf_error *error) {
    const zf_shape *own = &decoder->shape;
    const zf_shape *shape = zf_container_shape_for(known->container, number, own->branches, own->branch_count);
    if (shape != NULL) {
        if (zf_shape_matches(shape, own)) return ZF_OK;
        if (zf_compiler_unfused(compiler)) {
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

/// The first block of a shape, which says which kernels that were tuned are its. Only where there are such is a block looked at.
static bool find_block(zf_compiler *compiler, zf_container *container, size_t column, const zf_shape *shape, zf_abi_target target,
                       zf_block_view *out) {
    uint64_t block;
    if (shape == NULL || zf_compiler_tuned(compiler, target) == NULL) return false;
    return zf_container_first_block(container, column, shape, &block) &&
           zf_container_block(container, column, block, false, out, NULL) == ZF_OK;
}

// With the container's lock held.
static zf_status plan_locked(zf_compiler *compiler, known_container *known, size_t number, const uint8_t *branches,
                             size_t branch_count, zf_abi_target target, zf_decoder **out, zf_error *error) {
    if (!known->parsed) {
        known->status = parse(compiler, known, &known->error);
        known->parsed = true;
    }
    if (known->status != ZF_OK) {
        if (error != NULL) *error = known->error;
        return known->status;
    }
    *out = find(known, number, branches, branch_count, target);
    if (*out != NULL) return ZF_OK;
    const zf_column *column = NULL;
    ZF_TRY(find_column(known, number, &column, error));
    if (!zf_branches_exist(branches, branch_count, column->alternatives, column->choice_count))
        return zf_raise(error, ZF_E_INDEX_CONTENT, ZF_NO_SUCH_BRANCHES, column->name);
    const zf_shape *shape = zf_container_shape_for(known->container, number, branches, branch_count);
    known_decoder *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) return out_of_memory(error);
    entry->column = number;
    zf_block_view block;
    bool has_block = find_block(compiler, known->container, number, shape, target, &block);
    zf_status status = zf_decoder_create_for(compiler, known->spec, column, branches, branch_count, target, shape,
                                             has_block ? &block : NULL, &entry->decoder, error);
    if (has_block) zf_block_view_free(&block);
    if (status == ZF_OK) status = check_shape(compiler, known, number, column, entry->decoder, error);
    if (status != ZF_OK) {
        if (entry->decoder != NULL) zf_decoder_free(entry->decoder);
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
    zf_compiler *compiler = self;
    *out = NULL;
    known_container *known = know(compiler, container);
    if (known == NULL) return out_of_memory(error);
    zf_decoder *decoder = NULL;
    pthread_mutex_lock(&known->lock);
    zf_status status = plan_locked(compiler, known, column, branches, branch_count, target, &decoder, error);
    pthread_mutex_unlock(&known->lock);
    zf_compiler_log_noted(compiler);
    if (status == ZF_OK) *out = &decoder->abi;
    return status;
}

static zf_status code(void *self, const zf_abi_plan *abi, const uint64_t *shaping, const zf_abi_code **out, zf_error *error) {
    (void)self;
    return zf_decoder_code_for(abi->provider_data, shaping, out, error);
}

static void forget(void *self, zf_container *container) {
    zf_compiler *compiler = self;
    pthread_mutex_lock(&compiler->lock);
    known_container **at = &compiler->containers;
    while (*at != NULL && (*at)->container != container) at = &(*at)->next;
    known_container *known = *at;
    if (known != NULL) *at = known->next;
    pthread_mutex_unlock(&compiler->lock);
    if (known != NULL) free_container(known);
}

zf_abi_provider zf_provider_of(zf_compiler *compiler) {
    return (zf_abi_provider){.self = compiler, .plan = plan, .code = code, .forget = forget};
}

void zf_provider_free(zf_compiler *compiler) {
    while (compiler->containers != NULL) {
        known_container *known = compiler->containers;
        compiler->containers = known->next;
        free_container(known);
    }
}
