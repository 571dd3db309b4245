// A block's kernels lowered as is chosen: containers of their own, each with a plan for its choices; and code that is got before
// it is measured, side by side, since a compiler takes longer for a combination than the device.
#include <stdlib.h>
#include <string.h>

#include "compiler/decoder.h"
#include "runtime/context/context.h"
#include "tuner/tune.h"
#include "zfc/watch.h"

zf_status zf_tune_block_open(const zf_tune_block *b, const zf_choices *choices, zf_container **out, zf_error *error) {
    const zf_tune_options *o = b->options;
    zf_abi_provider provider;
    const zf_abi_plan *plan = NULL;
    ZF_TRY(zf_container_open(o->context, b->path, out, error));
    zf_watch_container(*out);
    zf_compiler_set_choices(o->compiler, choices->count > 0 ? choices : NULL);
    zf_status status = zf_context_plan(o->context, *out, b->column, b->view.shape->branches, b->view.shape->branch_count,
                                       o->accelerator->ops->target(o->accelerator), &provider, &plan, error);
    zf_compiler_set_choices(o->compiler, NULL);
    if (status == ZF_OK) return ZF_OK;
    zf_tune_block_close(*out);
    *out = NULL;
    return status;
}

void zf_tune_block_close(zf_container *container) {
    if (container == NULL) return;
    zf_watch_no_more(container);
    zf_container_close(container);
}

static bool same_choices(const zf_choices *a, const zf_choices *b) {
    if (a->count != b->count) return false;
    for (uint32_t k = 0; k < a->count; k++) {
        if (a->kernels[k] != b->kernels[k] || memcmp(&a->of[k], &b->of[k], sizeof a->of[k]) != 0) return false;
    }
    return true;
}

// ---- Ahead ------------------------------------------------------------------------------------------------------

zf_container *zf_tune_block_take_ahead(zf_tune_block *b, const zf_choices *choices) {
    uint32_t at = b->ahead_used;
    while (at < b->ahead_count && !same_choices(&b->ahead[at].choices, choices)) at++;
    if (at == b->ahead_count) return NULL;
    zf_container *container = b->ahead[at].container;
    b->ahead[at].container = NULL;
    b->ahead_used = at + 1;
    return container;
}

bool zf_tune_block_is_ahead(const zf_tune_block *b) { return b->ahead_used < b->ahead_count; }

static void drop(zf_tune_block *b) {
    for (uint32_t k = 0; k < b->ahead_count; k++) zf_tune_block_close(b->ahead[k].container);
    free(b->ahead);
    b->ahead = NULL;
    b->ahead_count = b->ahead_used = 0;
}

void zf_tune_block_get_ahead(zf_tune_block *b, const zf_choices *choices, uint32_t count) {
    drop(b);
    if (count == 0) return;
    b->waited = true;
    zf_code_request *requests = calloc(count, sizeof *requests);
    b->ahead = calloc(count, sizeof *b->ahead);
    size_t request_count = 0;
    for (uint32_t k = 0; b->ahead != NULL && requests != NULL && k < count; k++) {
        zf_tune_lowered *lowered = &b->ahead[b->ahead_count++];
        lowered->choices = choices[k];
        if (zf_tune_block_open(b, &choices[k], &lowered->container, NULL) != ZF_OK) continue;
        requests[request_count++] = (zf_code_request){.container = lowered->container, .column = b->column, .options = b->rows};
    }
    if (request_count > 0)
        zf_code_obtain(b->options->context, b->options->info.name, requests, request_count, 0, NULL, NULL, NULL);
    free(requests);
}
