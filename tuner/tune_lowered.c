// A block's kernels under chosen values: a source of code for each combination; and code that is compiled before it is measured,
// in parallel, since a compiler takes longer for a combination than the device.
#include <stdlib.h>
#include <string.h>

#include "runtime/context/context.h"
#include "tuner/tuner.h"

zf_status zf_tune_block_open(const zf_tune_block *b, const zf_choices *choices, zf_provider **out, zf_error *error) {
    const zf_tune_options *o = b->options;
    const zf_abi_plan *plan = NULL;
    zf_plan_request request = *zf_compiler_request(o->compiler);
    request.choices = choices->count > 0 ? choices : NULL;
    ZF_TRY(zf_provider_create(o->compiler, &request, out, error));
    zf_abi_provider provider = zf_provider_abi(*out);
    zf_status status = provider.plan(provider.self, b->container, b->column, b->view.shape->branches, b->view.shape->branch_count,
                                     zf_accelerator_device(o->accelerator), &plan, error);
    if (status == ZF_OK) return ZF_OK;
    zf_provider_free(*out);
    *out = NULL;
    return status;
}

static bool same_choices(const zf_choices *a, const zf_choices *b) {
    if (a->count != b->count) return false;
    for (uint32_t k = 0; k < a->count; k++) {
        if (a->kernels[k] != b->kernels[k] || memcmp(&a->of[k], &b->of[k], sizeof a->of[k]) != 0) return false;
    }
    return true;
}

// ---- Ahead ------------------------------------------------------------------------------------------------------

zf_provider *zf_tune_block_take_ahead(zf_tune_block *b, const zf_choices *choices) {
    uint32_t at = b->ahead_used;
    while (at < b->ahead_count && !same_choices(&b->ahead[at].choices, choices)) at++;
    if (at == b->ahead_count) return NULL;
    zf_provider *provider = b->ahead[at].provider;
    b->ahead[at].provider = NULL;
    b->ahead_used = at + 1;
    return provider;
}

bool zf_tune_block_is_ahead(const zf_tune_block *b) { return b->ahead_used < b->ahead_count; }

static void drop(zf_tune_block *b) {
    zf_loaded_codes_unload(&b->loaded);
    for (uint32_t k = 0; k < b->ahead_count; k++) zf_provider_free(b->ahead[k].provider);
    free(b->ahead);
    b->ahead = NULL;
    b->ahead_count = b->ahead_used = 0;
}

void zf_tune_block_get_ahead(zf_tune_block *b, const zf_choices *choices, uint32_t count) {
    drop(b);
    if (count == 0) return;
    b->waited = true;
    zf_code_request *requests = calloc(count, sizeof *requests);
    zf_abi_provider *providers = calloc(count, sizeof *providers);
    b->ahead = calloc(count, sizeof *b->ahead);
    size_t request_count = 0;
    for (uint32_t k = 0; b->ahead != NULL && requests != NULL && providers != NULL && k < count; k++) {
        zf_tune_lowered *lowered = &b->ahead[b->ahead_count++];
        lowered->choices = choices[k];
        if (zf_tune_block_open(b, &choices[k], &lowered->provider, NULL) != ZF_OK) continue;
        providers[request_count] = zf_provider_abi(lowered->provider);
        requests[request_count++] = (zf_code_request){.container = b->container, .column = b->column, .options = b->rows};
    }
    if (request_count > 0)
        zf_code_obtain_from(b->options->context, b->options->info.name, requests, providers, request_count, 0, NULL, NULL,
                            &b->loaded, NULL);
    free(providers);
    free(requests);
}
