// The code of a column's plan for tuples of shaping values: which tuples have code, and who compiles it.
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "codegen/codegen_tile.h"
#include "compiler/compiler.h"
#include "compiler/decoder/decoder_internal.h"
#include "runtime/base/error_codes.h"
#include "runtime/device/device.h"

typedef enum code_state { CODE_BUILDING, CODE_READY, CODE_FAILED } code_state;

struct zf_decoder_code {
    uint64_t *shaping; ///< NULL: the general form
    code_state state;
    zf_error error; ///< FAILED
    zf_codegen_code made;
    struct zf_decoder_code *next;
};

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code"); }

/// `own`: the memory of a budget, for a decoder that has none.
static zf_codegen_request request_for(const decoder *d, const uint64_t *shaping, zf_compile_budget *own) {
    zf_compile_budget_init(own, d->base.graph->column, zf_compiler_options_of(d->compiler)->compile_budget);
    return (zf_codegen_request){.plan = d->base.plan,
                                .target = d->request.target,
                                .shaping = shaping,
                                .unchecked = d->request.unchecked,
                                .sites = d->request.sites,
                                .budget = d->base.budget != NULL ? d->base.budget : own};
}

static void free_code(decoder *d, struct zf_decoder_code *code) {
    if (code->state == CODE_READY) zf_context_drop_code(zf_compiler_context(d->compiler), &code->made.abi);
    zf_codegen_free(zf_compiler_jit(d->compiler), &code->made);
    free(code->shaping);
    free(code);
}

void zf_decoder_codes_free(zf_decoder *base) {
    while (base->codes != NULL) {
        struct zf_decoder_code *code = base->codes;
        base->codes = code->next;
        free_code((decoder *)base, code);
    }
}

static struct zf_decoder_code *find(decoder *d, const uint64_t *shaping) {
    size_t bytes = sizeof(*shaping) * d->base.plan->shaping_count;
    for (struct zf_decoder_code *code = d->base.codes; code != NULL; code = code->next) {
        if ((code->shaping == NULL) != (shaping == NULL)) continue;
        if (shaping == NULL || memcmp(code->shaping, shaping, bytes) == 0) return code;
    }
    return NULL;
}

// Adds an entry that is being built. With the lock held.
static struct zf_decoder_code *add(decoder *d, const uint64_t *shaping) {
    size_t bytes = sizeof(*shaping) * d->base.plan->shaping_count;
    struct zf_decoder_code *code = calloc(1, sizeof(*code));
    if (code == NULL) return NULL;
    if (shaping != NULL) {
        code->shaping = malloc(bytes + 1);
        if (code->shaping == NULL) {
            free(code);
            return NULL;
        }
        memcpy(code->shaping, shaping, bytes);
        d->tuples++;
    }
    code->next = d->base.codes;
    d->base.codes = code;
    return code;
}

// The entry for a tuple, in any state; after the compiler's number of tuples that of the general form, and `*shaping` says so.
// With the lock held.
static struct zf_decoder_code *look_up(decoder *d, const uint64_t **shaping) {
    struct zf_decoder_code *code = find(d, *shaping);
    if (code != NULL || *shaping == NULL || d->tuples < zf_compiler_tuples(d->compiler)) return code;
    *shaping = NULL;
    return find(d, NULL);
}

/// Whether the same request fails again whenever it is made: other failures depend on the state of the machine or of LLVM, or on
/// what is left of a budget.
static bool is_permanent(const zf_error *failure) {
    if (zf_error_is(failure, ZF_E_COMPILE_BUDGET)) return false;
    return failure->status == ZF_ERR_UNSUPPORTED || failure->status == ZF_ERR_INPUT;
}

// Compiles what an entry stands for. After a failure that may pass the entry is dropped: the next call tries again.
static zf_status fill(decoder *d, struct zf_decoder_code *code, zf_error *error) {
    zf_error failure = {0};
    zf_compile_budget own;
    zf_codegen_request request = request_for(d, code->shaping, &own);
    zf_status status =
        zf_codegen_build(zf_compiler_jit(d->compiler), &request, &code->made, &failure); // with no lock held: others go on
    if (status != ZF_OK && error != NULL) *error = failure;
    pthread_mutex_lock(&d->lock);
    code->error = failure;
    code->state = status == ZF_OK ? CODE_READY : CODE_FAILED;
    if (status != ZF_OK && !is_permanent(&failure)) {
        struct zf_decoder_code **at = &d->base.codes;
        while (*at != code) at = &(*at)->next;
        *at = code->next;
        if (code->shaping != NULL) d->tuples--;
        free_code(d, code);
    }
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return status;
}

zf_status zf_decoder_code_for(zf_decoder *base, const uint64_t *shaping, const zf_abi_code **out, zf_error *error) {
    decoder *d = (decoder *)base;
    *out = NULL;
    if (base->plan->shaping_count == 0 || zf_compiler_options_of(d->compiler)->general_only) shaping = NULL;
    pthread_mutex_lock(&d->lock);
    struct zf_decoder_code *code = look_up(d, &shaping);
    while (code != NULL && code->state == CODE_BUILDING) {
        pthread_cond_wait(&d->changed, &d->lock);
        code = look_up(d, &shaping); // it may have been dropped
    }
    bool ours = code == NULL;
    if (ours) code = add(d, shaping);
    pthread_mutex_unlock(&d->lock);
    if (code == NULL) return out_of_memory(error);
    if (ours) {
        ZF_TRY(fill(d, code, error));
    } else if (code->state == CODE_FAILED) {
        if (error != NULL) *error = code->error;
        return code->error.status;
    }
    *out = &code->made.abi;
    return ZF_OK;
}

const uint64_t *zf_decoder_shaping(zf_decoder *base, const zf_abi_code *code) {
    decoder *d = (decoder *)base;
    const uint64_t *shaping = NULL;
    pthread_mutex_lock(&d->lock);
    for (const struct zf_decoder_code *at = d->base.codes; at != NULL; at = at->next)
        if (&at->made.abi == code) shaping = at->shaping;
    pthread_mutex_unlock(&d->lock);
    return shaping;
}

zf_status zf_decoder_export(zf_decoder *base, const uint64_t *shaping, const char *cpu, zf_exported_code *out, zf_error *error) {
    decoder *d = (decoder *)base;
    zf_compile_budget own;
    zf_codegen_request request = request_for(d, shaping, &own);
    request.unchecked = false; // modules keep all checks
    request.budget = &own;     // a module has code for many more tuples than a file needs
    return zf_codegen_export(zf_compiler_jit(d->compiler), &request, cpu, out, error);
}

zf_status zf_decoder_tile_loader(zf_decoder *base, const uint64_t *shaping, zf_tile_loader *out, zf_error *error) {
    decoder *d = (decoder *)base;
    zf_compile_budget own;
    zf_codegen_request request = request_for(d, shaping, &own);
    zf_tile_request tile = {.source = {base->plan, shaping}, .target = request.target, .budget = request.budget};
    return zf_codegen_tile_loader(zf_compiler_jit(d->compiler), &tile, out, error);
}

zf_status zf_decoder_print(zf_decoder *base, const uint64_t *shaping, zf_jit_stage stage, bool lines, zf_text *out,
                           zf_error *error) {
    decoder *d = (decoder *)base;
    zf_compile_budget own;
    zf_codegen_request request = request_for(d, shaping, &own);
    request.no_lines = !lines;
    return zf_codegen_print(zf_compiler_jit(d->compiler), &request, stage, out, error);
}
