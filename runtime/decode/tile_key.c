// The key of a tile loader: which column and codes it is made for, as text.
//
//   zf-tile-1 UNIT PLAN PARAMS COLUMN
//
// UNIT is the identity of the program that files carry, PLAN a hash of all that the loader takes from descriptors, PARAMS `*`
// (any) or the values of the shaping params with commas between (`-`: there are none).
#include "runtime/decode/tiles.h"

#include <inttypes.h>
#include <xxhash.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_open.h"

static void add_plan(zf_text *text, const zf_abi_plan *plan, const zf_shape *shape, const zf_column_info *info) {
    zf_text_printf(text, "abi %d tile %d column %s %d %d slots", ZF_ABI_VERSION, ZF_TILE_ROWS, info->codec,
                   (int)info->type.element, (int)info->type.nullable);
    for (uint32_t s = 0; s < plan->slot_count; s++)
        zf_text_printf(text, " %d:%u:%u", (int)plan->slots[s].kind, plan->slots[s].a, plan->slots[s].b);
    zf_text_puts(text, " works");
    for (uint32_t w = 0; w < plan->work_count; w++) {
        const zf_abi_work *work = &plan->works[w];
        zf_text_printf(text, " %u:%u:%u:%u:%u", work->edge, work->element, work->extra, work->nullable, work->characters);
    }
    zf_text_puts(text, " shaping");
    for (uint32_t p = 0; p < plan->shaping_count; p++) zf_text_printf(text, " %u", plan->shaping[p]);
    zf_text_puts(text, " branches");
    for (uint32_t b = 0; b < shape->branch_count; b++) zf_text_printf(text, " %u", shape->branches[b]);
}

static void add_params(zf_text *out, const zf_tile_codes *codes) {
    uint32_t count = codes->plan->shaping_count;
    if (count == 0) zf_text_puts(out, "-");
    if (count > 0 && codes->shaping == NULL) zf_text_puts(out, "*");
    for (uint32_t p = 0; p < count && codes->shaping != NULL; p++)
        zf_text_printf(out, "%s%" PRIu64, p > 0 ? "," : "", codes->shaping[p]);
}

zf_status zf_tile_key(const zf_container *container, size_t column, const zf_tile_codes *codes, zf_text *out, zf_error *error) {
    zf_column_info info = {ZF_INIT(zf_column_info)};
    zf_text plan = {0};
    ZF_TRY(zf_container_column(container, column, &info, error));
    zf_unit_identity unit = zf_container_unit_identity(container);
    add_plan(&plan, codes->plan, codes->shape, &info);
    bool failed = plan.failed;
    if (!failed)
        zf_text_printf(out, "zf-tile-1 %016" PRIx64 "%016" PRIx64 " %016" PRIx64 " ", unit.hash[1], unit.hash[0],
                       (uint64_t)XXH3_64bits(plan.data, plan.length));
    zf_text_free(&plan);
    add_params(out, codes);
    zf_text_printf(out, " %s", info.name);
    return failed || out->failed ? zf_raise(error, ZF_E_NO_MEMORY, "no memory for the key of a column") : ZF_OK;
}

zf_status zf_tile_blocks(zf_container *container, size_t column, uint32_t *block_tiles, zf_error *error) {
    const zf_index_column *of = &container->index.columns[column];
    if (zf_index_first_row(of, of->block_count) / ZF_TILE_ROWS >= UINT32_MAX)
        return zf_raise(error, ZF_E_TOO_LARGE, "column %s has more than 2^32 tiles", of->shown);
    *block_tiles = of->block_count > 0 ? (uint32_t)((of->blocks[0].rows + ZF_TILE_ROWS - 1) / ZF_TILE_ROWS) : 0;
    for (uint64_t b = 0; b < of->block_count; b++) {
        bool last = b + 1 == of->block_count, fits = b == 0 || of->blocks[b].rows == of->blocks[0].rows;
        if (last) fits = of->blocks[b].rows <= of->blocks[0].rows;
        if (fits && (last || of->blocks[b].rows % ZF_TILE_ROWS == 0)) continue;
        zf_raise(error, ZF_E_NO_TILES, "it has %" PRIu64 " rows, and tiles need blocks of the same number, a multiple of %d",
                 of->blocks[b].rows, ZF_TILE_ROWS);
        zf_fail_hint(error, ZF_ERR_UNSUPPORTED, "encode the table with `--rows-per-block` of a multiple of %d", ZF_TILE_ROWS);
        return zf_fail_place(error, ZF_ERR_UNSUPPORTED, "%s: column %s, block %" PRIu64, zf_container_path(container), of->shown,
                             b);
    }
    return ZF_OK;
}
