// Parts of a query's rows in an accelerator's memory.
#include <stdlib.h>
#include <string.h>

#include "compiler/query/query_device.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_open.h"

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the parts of a query"); }

// ---- Making ---------------------------------------------------------------------------------------------------

static zf_status place_part(zf_query_parts *parts, zf_query_part *part, zf_error *error) {
    part->head = parts->heads;
    for (uint32_t c = 0; c < parts->columns; c++) {
        ZF_TRY(zf_query_column_place(&part->columns[c], &part->bytes, &parts->heads, error));
        part->launches = part->launches || zf_query_column_launches(&part->columns[c]);
    }
    part->head_end = parts->heads;
    if (part->bytes > parts->most) parts->most = part->bytes;
    if (__builtin_add_overflow(parts->all, part->bytes, &parts->all))
        return zf_raise(error, ZF_E_TOO_LARGE, "the columns of a query are larger than can be addressed");
    return ZF_OK;
}

static zf_status keep_stored(const zf_query_parts *parts, zf_query_part *part, zf_accelerator *accelerator, zf_error *error) {
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < parts->columns; c++) bytes += part->columns[c].sizes.stored;
    ZF_TRY(accelerator->ops->host_allocate(accelerator, bytes + 1, &part->stored, error));
    uint8_t *at = part->stored;
    for (uint32_t c = 0; c < parts->columns; c++) {
        zf_units_move_blocks(part->columns[c].units, at);
        at += part->columns[c].sizes.stored;
    }
    return ZF_OK;
}

static zf_status make_part(const zf_query_running *running, const zf_abi_provider *provider, zf_accelerator *accelerator,
                           zf_query_parts *parts, zf_query_part *part, zf_error *error) {
    part->wanted = true;
    part->columns = calloc((size_t)parts->columns + 1, sizeof *part->columns);
    if (part->columns == NULL) return no_memory(error);
    for (uint32_t c = 0; c < parts->columns; c++)
        ZF_TRY(zf_query_column_make(running, c, part->rows, provider, accelerator, &part->columns[c], error));
    ZF_TRY(place_part(parts, part, error));
    bool there = !running->request->from_host || running->container->loaded;
    return there ? ZF_OK : keep_stored(parts, part, accelerator, error);
}

static zf_status write_heads(zf_query_parts *parts, zf_accelerator *accelerator, zf_error *error) {
    void *image;
    ZF_TRY(accelerator->ops->host_allocate(accelerator, parts->heads + 1, &image, error));
    parts->image = image;
    memset(parts->image, 0, parts->heads);
    for (size_t p = 0; p < parts->count; p++)
        for (uint32_t c = 0; c < parts->columns; c++) {
            const zf_query_device_state *state = &parts->items[p].columns[c];
            zf_units_write_head(state->units, parts->image + state->places.head);
        }
    return ZF_OK;
}

zf_status zf_query_parts_make(const zf_query_running *running, zf_query_range rows, const zf_query_cut *cut,
                              const zf_abi_provider *provider, zf_accelerator *accelerator, zf_query_parts *out,
                              zf_error *error) {
    zf_query_range *ranges;
    size_t count;
    ZF_TRY(zf_query_cut_rows(running, rows, cut, &ranges, &count, error));
    out->columns = running->query->column_count;
    out->items = calloc(count + 1, sizeof *out->items);
    if (out->items != NULL) out->count = count;
    for (size_t p = 0; p < out->count; p++) out->items[p].rows = ranges[p];
    free(ranges);
    if (out->items == NULL) return no_memory(error);
    for (size_t p = 0; p < count; p++) ZF_TRY(make_part(running, provider, accelerator, out, &out->items[p], error));
    return write_heads(out, accelerator, error);
}

void zf_query_parts_free(zf_query_parts *parts, zf_accelerator *accelerator) {
    for (size_t p = 0; p < parts->count; p++) {
        for (uint32_t c = 0; parts->items[p].columns != NULL && c < parts->columns; c++)
            zf_query_column_free(&parts->items[p].columns[c]);
        free(parts->items[p].columns);
        if (parts->items[p].stored != NULL) accelerator->ops->host_release(accelerator, parts->items[p].stored);
    }
    free(parts->items);
    if (parts->image != NULL) accelerator->ops->host_release(accelerator, parts->image);
    *parts = (zf_query_parts){0};
}

// ---- Work -----------------------------------------------------------------------------------------------------

zf_status zf_query_parts_copy_heads(const zf_query_parts *parts, zf_accelerator *accelerator, void *stream, uint64_t at,
                                    zf_error *error) {
    for (size_t p = 0; p < parts->count; p++)
        for (uint32_t c = 0; c < parts->columns; c++) {
            const zf_query_device_state *state = &parts->items[p].columns[c];
            memset(parts->image + state->places.head, 0xff, zf_units_words(state->units) * sizeof(uint64_t));
        }
    if (parts->heads == 0) return ZF_OK;
    return accelerator->ops->copy_in(accelerator, stream, at, parts->image, parts->heads, error);
}

void zf_query_part_move(const zf_query_parts *parts, zf_query_part *part, uint64_t at, uint64_t heads) {
    for (uint32_t c = 0; c < parts->columns; c++) zf_query_column_move(&part->columns[c], at, heads);
}

zf_status zf_query_part_copy(const zf_query_parts *parts, const zf_query_part *part, void *stream, zf_error *error) {
    for (uint32_t c = 0; c < parts->columns; c++) ZF_TRY(zf_query_column_copy(&part->columns[c], stream, error));
    return ZF_OK;
}

zf_status zf_query_part_again(const zf_query_parts *parts, zf_query_part *part, void *stream, zf_error *error) {
    for (uint32_t c = 0; part->launches && c < parts->columns; c++)
        ZF_TRY(zf_query_column_launch(&part->columns[c], stream, error));
    return ZF_OK;
}

zf_status zf_query_part_decode(const zf_query_parts *parts, zf_query_part *part, zf_accelerator *accelerator, void *stream,
                               uint64_t heads, zf_error *error) {
    if (!part->launches) return ZF_OK;
    ZF_TRY(zf_query_part_again(parts, part, stream, error));
    ZF_TRY(accelerator->ops->copy_out(accelerator, stream, parts->image + part->head, heads + part->head,
                                      part->head_end - part->head, error));
    ZF_TRY(accelerator->ops->wait(accelerator, stream, error));
    for (uint32_t c = 0; c < parts->columns; c++) {
        const void *words = parts->image + part->columns[c].places.head;
        ZF_TRY(zf_query_column_status(&part->columns[c], words, error));
    }
    return ZF_OK;
}
