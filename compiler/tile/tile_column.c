// Which codes a tile loader of a column is made for: those of all of its blocks in a file.
#include "compiler/tile/tile_column.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/decoder/decoder.h"
#include "runtime/base/error_codes.h"

static const zf_abi_device device = {.target = {ZF_TARGET_NVPTX, 80}};

static zf_status refuse(zf_error *error, const char *why, const char *hint) {
    zf_raise(error, ZF_E_NO_TILES, "%s", why);
    return zf_fail_hint(error, ZF_ERR_UNSUPPORTED, "%s", hint);
}

static zf_status refuse_form(const zf_decoder *decoder, zf_error *error) {
    static const char hint[] =
        "decode it to the device's memory first (zf_decode_async), or encode it with a codec that is a map";
    const zf_plan *plan = decoder->plan;
    zf_codegen_form_info form;
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        if (plan->kernels[k].sink >= 0 || !zf_codegen_form(plan, &plan->kernels[k], &form)) continue;
        if (zf_codegen_stored_type(plan, &plan->kernels[k]).kind == ZF_K_STRING)
            return refuse(error, "strings have no tiles that a thread keeps in registers", hint);
        zf_raise(error, ZF_E_NO_TILES, "its codec is not a map: the last kernel is of the form `%s`", form.name);
        return zf_fail_hint(error, ZF_ERR_UNSUPPORTED, "%s", hint);
    }
    return refuse(error, "another kernel stores the column", hint);
}

// The shaping values of a block; `*same` becomes false where they are others than those before.
static void take_params(const zf_abi_plan *plan, const zf_block_view *view, uint64_t block, uint64_t *shaping, bool *same) {
    for (uint32_t i = 0; i < plan->shaping_count; i++) {
        uint64_t value = view->params[plan->shaping[i]];
        if (block == 0) shaping[i] = value;
        *same = *same && shaping[i] == value;
    }
}

static zf_status look_at_block(zf_container *container, size_t column, const zf_abi_provider *provider, uint64_t block,
                               bool *same, zf_tile_column_codes *out, zf_error *error) {
    zf_block_view view;
    zf_status status = zf_container_block_header(container, column, block, &view, error);
    if (status != ZF_OK) return status;
    if (block == 0) {
        out->shape = view.shape;
        status = provider->plan(provider->self, container, column, view.shape->branches, view.shape->branch_count, device,
                                &out->plan, error);
        if (status == ZF_OK) out->shaping = calloc((size_t)out->plan->shaping_count + 1, sizeof *out->shaping);
        if (status == ZF_OK && out->shaping == NULL) status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a column's params");
    } else if (view.shape != out->shape) {
        status =
            refuse(error, "its blocks took different alternatives of the codec", "encode it with a codec of one alternative");
    }
    if (status == ZF_OK) take_params(out->plan, &view, block, out->shaping, same);
    zf_block_view_free(&view);
    return status;
}

zf_status zf_tile_column_find(zf_container *container, size_t column, const zf_abi_provider *provider, zf_tile_column_codes *out,
                              zf_error *error) {
    zf_column_info info = {ZF_INIT(zf_column_info)};
    uint32_t block_tiles;
    bool same = true;
    *out = (zf_tile_column_codes){0};
    ZF_TRY(zf_container_column(container, column, &info, error));
    ZF_TRY(zf_tile_blocks(container, column, &block_tiles, error));
    if (info.blocks == 0)
        return refuse(error, "it has no rows, so nothing says which codes it will have", "take a file with rows");
    for (uint64_t b = 0; b < info.blocks; b++) ZF_TRY(look_at_block(container, column, provider, b, &same, out, error));
    out->general = !same;
    if (out->general || out->plan->shaping_count == 0) {
        free(out->shaping);
        out->shaping = NULL;
    }
    const zf_decoder *decoder = out->plan->provider_data;
    bool loads = info.type.element != ZF_STRING && zf_codegen_query_fuses(decoder->plan, out->shaping);
    return loads ? ZF_OK : refuse_form(decoder, error);
}

void zf_tile_column_free(zf_tile_column_codes *codes) { free(codes->shaping); }
