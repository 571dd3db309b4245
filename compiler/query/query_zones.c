#include "compiler/query/query_zones.h"

#include <stdlib.h>

#include "runtime/base/error_codes.h"

// ---- Making ---------------------------------------------------------------------------------------------------

zf_status zf_query_zones_make(const zf_query *query, const zf_container *container, const uint64_t *params,
                              const zf_query_stream *inputs, bool all, zf_query_zones *out, zf_error *error) {
    *out = (zf_query_zones){.container = container, .all = all};
    size_t room = (size_t)query->column_count + 1;
    out->columns = calloc(room, sizeof *out->columns);
    out->zones = calloc(room, sizeof *out->zones);
    out->counted = calloc(room, sizeof *out->counted);
    bool opened = zf_query_effect_open(query, params, inputs, &out->effect);
    if (!opened || out->columns == NULL || out->zones == NULL || out->counted == NULL)
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the zones of a query");
    for (uint32_t k = 0; k < query->column_count; k++)
        ZF_TRY(zf_container_find(container, query->columns[k]->name, &out->columns[k], error));
    return ZF_OK;
}

void zf_query_zones_free(zf_query_zones *zones) {
    zf_query_effect_close(&zones->effect);
    free(zones->columns);
    free(zones->zones);
    free(zones->counted);
    *zones = (zf_query_zones){0};
}

// ---- Rows -----------------------------------------------------------------------------------------------------

static const zf_index_column *column_of(const zf_query_zones *zones, uint32_t k) {
    return &zones->container->index.columns[zones->columns[k]];
}

// The zone that has a row of a column; NULL: the file has none.
static const zf_zone *zone_at(const zf_index_column *column, uint64_t row) {
    if (!column->zoned || row >= column->rows) return NULL;
    const zf_index_block *block = &column->blocks[zf_index_block_of(column, row)];
    return &block->zones[(row - block->first_row) / ZF_ZONE_ROWS];
}

bool zf_query_zones_at(zf_query_zones *zones, uint64_t row, uint64_t *end) {
    const zf_query *query = zones->effect.query;
    *end = UINT64_MAX;
    if (zones->all) return true;
    if (query->row != NULL) *end = (row / ZF_ZONE_ROWS + 1) * ZF_ZONE_ROWS; // conditions may ask for the row's number
    for (uint32_t k = 0; k < query->column_count; k++) {
        const zf_zone *zone = zones->zones[k] = zone_at(column_of(zones, k), row);
        if (zone != NULL && zone->first_row + zone->rows < *end) *end = zone->first_row + zone->rows;
    }
    return zf_query_may_matter(&zones->effect, row, *end, zones->zones);
}

bool zf_query_zones_any(zf_query_zones *zones, uint64_t begin, uint64_t end) {
    bool any = false;
    for (uint64_t row = begin, next; !any && row < end; row = next) any = zf_query_zones_at(zones, row, &next);
    return any;
}

bool zf_query_zones_narrow(zf_query_zones *zones, uint64_t *begin, uint64_t *end) {
    uint64_t first = UINT64_MAX, last = 0, next;
    for (uint64_t row = *begin; row < *end; row = next) {
        if (!zf_query_zones_at(zones, row, &next)) continue;
        if (first == UINT64_MAX) first = row;
        last = next;
    }
    if (first == UINT64_MAX) return false;
    *begin = first;
    if (last < *end) *end = last;
    return true;
}

// ---- Bytes ----------------------------------------------------------------------------------------------------

uint64_t zf_query_stored_bytes(const zf_index_column *column, uint64_t begin, uint64_t end) {
    uint64_t bytes = 0, row = begin;
    while (row < end && row < column->rows) {
        const zf_index_block *block = &column->blocks[zf_index_block_of(column, row)];
        bytes += block->bytes;
        row = block->first_row + block->rows;
    }
    return bytes;
}

uint64_t zf_query_block_end(const zf_index_column *column, uint64_t row) {
    if (row >= column->rows) return column->rows;
    const zf_index_block *block = &column->blocks[zf_index_block_of(column, row)];
    return block->first_row + block->rows;
}

void zf_query_zones_note(zf_query_zones *zones, uint64_t begin, uint64_t end) {
    zones->rows_read += end - begin;
    for (uint32_t k = 0; begin < end && k < zones->effect.query->column_count; k++) {
        const zf_index_column *column = column_of(zones, k);
        uint64_t from = zones->counted[k] > begin ? zones->counted[k] : begin;
        if (from >= end) continue;
        zones->bytes_counted += zf_query_stored_bytes(column, from, end);
        zones->counted[k] = zf_query_block_end(column, end - 1);
    }
}

uint64_t zf_query_zones_skipped_bytes(const zf_query_zones *zones, uint64_t begin, uint64_t end) {
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < zones->effect.query->column_count; k++)
        bytes += zf_query_stored_bytes(column_of(zones, k), begin, end);
    return bytes - zones->bytes_counted;
}
