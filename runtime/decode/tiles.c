// Columns in a device's memory for tile loaders: blocks as they are stored, one table of their descriptors, and what kernels of
// the column's own make for all of its tiles.
#include "runtime/decode/tiles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"
#include "runtime/decode/decode_unit_internal.h"
#include "runtime/device/device.h"

struct zf_prepared_tiles {
    zf_accelerator *accelerator;
    uint64_t workspace, table; ///< addresses
    zf_tile_column column;
};

// A call of zf_tiles_prepare.
typedef struct preparing {
    zf_container *container;
    const char *key;
    size_t column;
    bool general; ///< the loader is for any params
    zf_units *units;
    zf_prepared_tiles *out;
} preparing;

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the tiles of a column"); }

static const char *shown(const preparing *p) { return p->container->index.columns[p->column].shown; }

// ---- The key --------------------------------------------------------------------------------------------------

// Word `index` of a key; the last one, 4, goes to the end.
static const char *word_of(const char *key, unsigned index) {
    for (; index > 0 && key != NULL; index--) {
        key = strchr(key, ' ');
        if (key != NULL) key++;
    }
    return key;
}

static zf_status read_key(preparing *p, zf_error *error) {
    enum { PARAMS = 3, NAME };
    static const char version[] = "zf-tile-1 ";
    const char *name = word_of(p->key, NAME);
    if (strncmp(p->key, version, sizeof version - 1) != 0 || name == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "`%.80s` is no key of a tile loader", p->key);
    p->general = *word_of(p->key, PARAMS) == '*';
    return zf_container_find(p->container, name, &p->column, error);
}

static zf_status refuse(const preparing *p, zf_status status, zf_error *error) {
    zf_fail_hint(error, status, "write the header for this file: `zfc compile --device-functions`");
    return zf_fail_place(error, status, "%s: column %s", zf_container_path(p->container), shown(p));
}

// Compares the key with that of a block, which says what the loader must be made for.
static zf_status compare_block(const preparing *p, uint64_t block, const zf_abi_plan *plan, const zf_block_view *view,
                               const uint64_t *shaping, zf_error *error) {
    enum { PLAN = 2, PARAMS };
    zf_text key = {0};
    zf_tile_codes codes = {.plan = plan, .shape = view->shape, .shaping = p->general ? NULL : shaping};
    zf_status status = zf_tile_key(p->container, p->column, &codes, &key, error);
    if (status == ZF_OK && strcmp(key.data, p->key) != 0) {
        size_t same = (size_t)(word_of(p->key, PARAMS) - p->key);
        bool params = strncmp(key.data, p->key, same) == 0;
        const char *has = word_of(key.data, PARAMS), *wants = word_of(p->key, PARAMS);
        status =
            params
                ? zf_raise(error, ZF_E_TILE_CODES, "block %" PRIu64 " has the params %.*s, and the tile loader is for %.*s",
                           block, (int)strcspn(has, " "), has, (int)strcspn(wants, " "), wants)
                : zf_raise(error, ZF_E_TILE_CODES, "block %" PRIu64 " has other codes than the tile loader was made for", block);
        status = refuse(p, status, error);
    }
    zf_text_free(&key);
    return status;
}

static zf_status compare_blocks(const preparing *p, zf_error *error) {
    for (uint64_t b = 0; b < p->units->block_count; b++) {
        const zf_abi_plan *plan = p->units->blocks[b].plan;
        zf_block_view view;
        uint64_t *shaping = calloc((size_t)plan->shaping_count + 1, sizeof *shaping);
        if (shaping == NULL) return no_memory(error);
        zf_status status = zf_container_block_header(p->container, p->column, b, &view, error);
        if (status == ZF_OK) {
            for (uint32_t i = 0; i < plan->shaping_count; i++) shaping[i] = view.params[plan->shaping[i]];
            status = compare_block(p, b, plan, &view, shaping, error);
            zf_block_view_free(&view);
        }
        free(shaping);
        ZF_TRY(status);
    }
    return ZF_OK;
}

// A kernel that stores the column in place of a work buffer leaves nothing for a loader.
static zf_status check_kernels(const preparing *p, zf_error *error) {
    for (uint32_t u = 0; u < p->units->unit_count; u++) {
        const zf_unit *unit = &p->units->units[u];
        for (uint32_t k = 0; k < unit->plan->kernel_count; k++)
            if (unit->code->simt[k].to_column)
                return refuse(p, zf_raise(error, ZF_E_TILE_CODES, "the code of the context stores the column without a loader"),
                              error);
    }
    return ZF_OK;
}

// ---- Memory ---------------------------------------------------------------------------------------------------

// One table for all blocks, whatever their units: their places are counted from the workspace's start.
static uint64_t *make_table(const zf_units *units, uint64_t words) {
    uint64_t *table = calloc(units->block_count * words + 1, sizeof *table);
    for (uint32_t u = 0; table != NULL && u < units->unit_count; u++) {
        const zf_unit *unit = &units->units[u];
        for (uint32_t b = 0; b < unit->block_count; b++) {
            uint64_t *to = table + unit->blocks[b] * words;
            memcpy(to, unit->tables + b * words * sizeof *to, words * sizeof *to);
            to[ZF_SIMT_BASE] += unit->at_stored / 256;
            for (uint32_t w = 0; w < unit->plan->work_count; w++) to[words - unit->plan->work_count + w] += unit->at_work;
        }
    }
    return table;
}

static zf_status copy_table(const preparing *p, void *stream, zf_error *error) {
    const zf_accelerator_ops *ops = p->out->accelerator->ops;
    uint64_t words = zf_unit_words(p->units->blocks[0].plan), bytes = p->units->block_count * words * sizeof(uint64_t);
    uint64_t *table = make_table(p->units, words);
    if (table == NULL) return no_memory(error);
    zf_status status = ops->allocate(p->out->accelerator, bytes, &p->out->table, error);
    if (status == ZF_OK) status = ops->copy_in(p->out->accelerator, stream, p->out->table, table, bytes, error);
    zf_status waited = ops->wait(p->out->accelerator, stream, status == ZF_OK ? error : NULL);
    free(table);
    return status == ZF_OK ? waited : status;
}

static zf_status copy_blocks(const preparing *p, void *stream, uint64_t *words, zf_error *error) {
    zf_accelerator *accelerator = p->out->accelerator;
    zf_units_memory memory = {.workspace = p->out->workspace};
    uint64_t bytes = zf_units_words(p->units) * UINT64_C(8);
    ZF_TRY(accelerator->ops->fill(accelerator, stream, memory.workspace, 0xff, bytes, error));
    ZF_TRY(zf_units_upload(p->units, stream, &memory, error));
    ZF_TRY(zf_units_launch_work(p->units, stream, &memory, error));
    return zf_units_end(p->units, stream, &memory, words, error);
}

static zf_status fill(const preparing *p, void *stream, zf_error *error) {
    zf_accelerator *accelerator = p->out->accelerator;
    uint64_t *words = calloc(zf_units_words(p->units) + 1, sizeof *words);
    if (words == NULL) return no_memory(error);
    zf_status status = copy_blocks(p, stream, words, error);
    zf_status waited = accelerator->ops->wait(accelerator, stream, status == ZF_OK ? error : NULL); // also after a failure
    if (status == ZF_OK) status = waited;
    if (status == ZF_OK) status = zf_units_status(p->units, words, error);
    if (status == ZF_OK) status = copy_table(p, stream, error);
    free(words);
    return status;
}

static zf_status place(preparing *p, zf_error *error) {
    const zf_accelerator_ops *ops = p->out->accelerator->ops;
    void *stream = NULL;
    uint32_t block_tiles;
    ZF_TRY(zf_tile_blocks(p->container, p->column, &block_tiles, error));
    if (p->units->block_count == 0) return ZF_OK;
    ZF_TRY(compare_blocks(p, error));
    ZF_TRY(check_kernels(p, error));
    ZF_TRY(ops->allocate(p->out->accelerator, zf_units_sizes_of(p->units).workspace, &p->out->workspace, error));
    ZF_TRY(ops->stream_open(p->out->accelerator, &stream, error));
    zf_status status = fill(p, stream, error);
    ops->stream_close(p->out->accelerator, stream);
    uint64_t rows = zf_index_first_row(&p->container->index.columns[p->column], p->units->block_count);
    p->out->column = (zf_tile_column){.blocks = p->out->workspace,
                                      .table = p->out->table,
                                      .work = p->out->workspace,
                                      .rows = rows,
                                      .tiles = (uint32_t)((rows + ZF_TILE_ROWS - 1) / ZF_TILE_ROWS),
                                      .block_tiles = block_tiles};
    return zf_container_explain(p->container, status, error);
}

// ---- The interface --------------------------------------------------------------------------------------------

static zf_status prepare(preparing *p, zf_error *error) {
    zf_decode_options options = {ZF_INIT(zf_decode_options), .skip_zones = true}; // rows are never in memory to be compared
    zf_units_options unit_options = {.resident = true, .unit_bytes = UINT64_C(1) << 60, .general = p->general};
    ZF_TRY(zf_units_make(p->container, p->column, &options, &unit_options, p->out->accelerator, &p->units, error));
    zf_status status = place(p, error);
    zf_units_retire(p->units);
    zf_units_free(p->units);
    return status;
}

zf_status zf_tiles_prepare(zf_container *container, const char *key, const char *device, zf_prepared_tiles **out,
                           zf_error *error) {
    if (out != NULL) *out = NULL;
    if (container == NULL || key == NULL || out == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_tiles_prepare needs a container, a key and a place for the column");
    preparing p = {.container = container, .key = key};
    zf_device chosen;
    ZF_TRY(read_key(&p, error));
    ZF_TRY(zf_device_find(container->context, device != NULL ? device : "auto", &chosen, error));
    if (chosen.ops->start == NULL)
        return zf_raise(error, ZF_E_NO_STREAMS, "device `%s` has no memory of its own and no streams", chosen.ops->name);
    p.out = calloc(1, sizeof *p.out);
    if (p.out == NULL) return no_memory(error);
    zf_status status = zf_device_accelerator(container->context, &chosen, &p.out->accelerator, error);
    if (status == ZF_OK) status = prepare(&p, error);
    if (status == ZF_OK)
        *out = p.out;
    else
        zf_tiles_free(p.out);
    return status;
}

zf_status zf_tiles_column(const zf_prepared_tiles *tiles, zf_tile_column *out, zf_error *error) {
    if (tiles == NULL || out == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_tiles_column needs a prepared column and a place for what describes it");
    *out = tiles->column;
    return ZF_OK;
}

void zf_tiles_free(zf_prepared_tiles *tiles) {
    if (tiles == NULL) return;
    if (tiles->workspace != 0) tiles->accelerator->ops->release(tiles->accelerator, tiles->workspace);
    if (tiles->table != 0) tiles->accelerator->ops->release(tiles->accelerator, tiles->table);
    free(tiles);
}
