#include "compiler/query/query_parts.h"

#include <stdlib.h>

#include "runtime/base/error_codes.h"

enum { SKIPS_MOST = 4096 }; ///< parts from which on rows between them are no longer skipped: each part has launches of its own

static const zf_index_column *column_of(const zf_query_running *r, uint32_t k) {
    return &r->container->index.columns[r->columns[k].index];
}

// Where the blocks of all columns end that have row `row` or those behind it: no block goes on there.
static uint64_t common_end(const zf_query_running *r, uint64_t row, uint64_t tile, uint64_t most) {
    uint64_t at = r->query->column_count > 0 ? row + 1 : most;
    while (at < most) {
        uint64_t end = at;
        for (uint32_t k = 0; k < r->query->column_count; k++) {
            uint64_t own = zf_query_block_end(column_of(r, k), at - 1);
            if (own > end) end = own;
        }
        if (end == at && at % tile == 0) return at;
        at = end == at ? at + 1 : end;
    }
    return most;
}

static uint64_t stored_bytes(const zf_query_running *r, uint64_t begin, uint64_t end) {
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < r->query->column_count; k++) bytes += zf_query_stored_bytes(column_of(r, k), begin, end);
    return bytes;
}

typedef struct list {
    zf_query_range *items;
    size_t count, room;
} list;

static bool add(list *parts, zf_query_range range) {
    if (parts->count == parts->room) {
        size_t room = parts->room == 0 ? 16 : 2 * parts->room;
        zf_query_range *grown = realloc(parts->items, room * sizeof *grown);
        if (grown == NULL) return false;
        parts->items = grown;
        parts->room = room;
    }
    parts->items[parts->count++] = range;
    return true;
}

static bool cut_all(const zf_query_running *r, zf_query_range rows, const zf_query_cut *cut, list *parts) {
    uint64_t bytes = 0;
    bool open = false; // the last part may go on
    for (uint64_t row = rows.begin, next; row < rows.end; row = next) {
        next = common_end(r, row, cut->tile, rows.end);
        bool wanted = cut->zones == NULL || parts->count >= SKIPS_MOST || zf_query_zones_any(cut->zones, row, next);
        if (wanted && !open) {
            if (!add(parts, (zf_query_range){row, next})) return false;
            bytes = 0;
        }
        open = wanted;
        if (!wanted) continue;
        parts->items[parts->count - 1].end = next;
        bytes += stored_bytes(r, row, next);
        open = bytes < cut->bytes;
    }
    return true;
}

zf_status zf_query_cut_rows(const zf_query_running *running, zf_query_range rows, const zf_query_cut *cut, zf_query_range **out,
                            size_t *count, zf_error *error) {
    list parts = {0};
    *out = NULL;
    *count = 0;
    if (!cut_all(running, rows, cut, &parts)) {
        free(parts.items);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the parts of a query");
    }
    *out = parts.items;
    *count = parts.count;
    return ZF_OK;
}
