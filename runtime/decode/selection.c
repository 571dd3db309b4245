#include "runtime/decode/selection.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/context/context.h"
#include "runtime/decode/block_run.h"
#include "runtime/decode/failure.h"

typedef unsigned long long ull;

static zf_status refuse_range(const zf_selection *s, uint64_t begin, uint64_t count, zf_error *error) {
    zf_status status;
    if (count < 2 || count == UINT64_MAX) {
        status = zf_raise(error, ZF_E_ROW_RANGE, "rows from %llu are wanted, but the column has %llu", (ull)begin, (ull)s->rows);
    } else {
        uint64_t last = begin <= UINT64_MAX - count ? begin + count - 1 : UINT64_MAX;
        status = zf_raise(error, ZF_E_ROW_RANGE, "rows %llu to %llu are wanted, but the column has %llu", (ull)begin, (ull)last,
                          (ull)s->rows);
    }
    zf_fail_place(error, status, "%s: column %s", s->container->path, s->column->shown);
    return zf_fail_hint(error, status, "rows count from 0; `--rows BEGIN..` and a row_count of UINT64_MAX end at the last row");
}

static zf_status choose_rows(zf_selection *s, const zf_decode_options *options, zf_error *error) {
    uint64_t rows = s->rows;
    s->begin = 0;
    s->end = rows;
    if (options != NULL && options->some_rows) {
        bool fits = options->row_begin <= rows;
        if (fits && options->row_count != UINT64_MAX) fits = options->row_count <= rows - options->row_begin;
        if (!fits) {
            return refuse_range(s, options->row_begin, options->row_count, error);
        }
        s->begin = options->row_begin;
        if (options->row_count != UINT64_MAX) s->end = options->row_begin + options->row_count;
    }
    s->first_block = s->last_block = 0;
    if (s->begin < s->end) {
        s->first_block = zf_index_block_of(s->column, s->begin);
        s->last_block = zf_index_block_of(s->column, s->end - 1) + 1;
    }
    return ZF_OK;
}

/// Names file and column where an error has no place yet, and the block if the file is at fault.
static zf_status place(const zf_selection *s, uint64_t block, zf_status status, zf_error *error) {
    if (error == NULL || error->place[0] != 0) return status;
    if (status != ZF_ERR_INPUT) return zf_fail_place(error, status, "%s: column %s", s->container->path, s->column->shown);
    char where[ZF_WHERE_BYTES];
    zf_selection_where(s, block, where);
    return zf_fail_place(error, status, "%s", where);
}

/// There is no code for the index's seek states: the index may be wrong of them, which the block shows.
static zf_status check_states(const zf_selection *s, uint64_t block, zf_status status, zf_error *error) {
    zf_block_view view;
    zf_error contradiction = {0};
    if (zf_container_block_header(s->container, s->column_number, block, &view, &contradiction) == ZF_OK) {
        zf_block_view_free(&view);
        return status;
    }
    *error = contradiction;
    return contradiction.status;
}

/// Gets the plan of a shape, which is not NULL, and who gave it.
static zf_status get_plan(zf_selection *s, const zf_shape *shape, zf_abi_device device, const zf_abi_provider *provider,
                          zf_abi_provider *from, const zf_abi_plan **out, zf_error *error) {
    zf_container *container = s->container;
    if (provider == NULL)
        return zf_context_plan(container->context, container, s->column_number, shape->branches, shape->branch_count, device,
                               from, out, error);
    *from = *provider;
    return provider->plan(provider->self, container, s->column_number, shape->branches, shape->branch_count, device, out, error);
}

/// Refuses chunks that are too long for a GPU, of which a warp would decode each alone.
static zf_status check_chunks(const zf_selection *s, uint64_t block, const zf_shape *shape, zf_abi_device device,
                              zf_error *error) {
    for (uint32_t t = 0; device.target.family != ZF_TARGET_HOST && t < shape->tree_count; t++) {
        const zf_shape_tree *tree = &shape->trees[t];
        if (tree->directory != ZF_DIRECTORY_UNEVEN || tree->interval <= ZF_CHUNK_MOST) continue;
        char where[ZF_WHERE_BYTES];
        zf_selection_where(s, block, where);
        zf_status status = zf_raise(error, ZF_E_LONG_CHUNKS,
                                    "`%.64s` has chunks of up to %u elements; a GPU, of which one warp decodes a chunk, takes %d",
                                    shape->edges[tree->edge].algorithm, tree->interval, ZF_CHUNK_MOST);
        zf_fail_place(error, status, "%s", where);
        return zf_fail_hint(
            error, status,
            "decode it on the CPU, or wrap shorter chunks: `bgzip` and `split --filter` make many members or frames");
    }
    return ZF_OK;
}

/// Gets the plan of every shape in the range.
static zf_status get_plans(zf_selection *s, zf_abi_device device, const zf_abi_provider *provider, zf_error *error) {
    s->plans = calloc((size_t)s->column->shape_count + 1, sizeof *s->plans);
    s->providers = calloc((size_t)s->column->shape_count + 1, sizeof *s->providers);
    if (s->plans == NULL || s->providers == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for plans");
    double begin = zf_clock_seconds();
    for (uint64_t b = s->first_block; b < s->last_block; b++) {
        uint32_t shape = s->column->blocks[b].shape;
        const zf_index_shape *entry = &s->column->shapes[shape];
        if (s->plans[shape] != NULL) continue;
        const zf_abi_plan *plan = NULL;
        ZF_TRY(check_chunks(s, b, &entry->shape, device, error));
        zf_status status = get_plan(s, &entry->shape, device, provider, &s->providers[shape], &plan, error);
        if (status != ZF_OK && error != NULL &&
            (zf_error_is(error, ZF_E_SEEK_INTERVAL) || zf_error_is(error, ZF_E_NO_CODE_FOR_STAGES)))
            status = check_states(s, b, status, error);
        if (status != ZF_OK) return place(s, b, status, error);
        if (zf_plan_fits(plan, &entry->shape, NULL) != ZF_OK) { // a plan is trusted, what the file says of itself is not
            status = zf_raise(error, ZF_E_INDEX_CONTENT, "the column's shape in the index differs from that of its codec");
            return place(s, b, status, error);
        }
        s->plans[shape] = plan;
    }
    s->plan_seconds = zf_clock_seconds() - begin;
    return ZF_OK;
}

zf_status zf_selection_make(zf_container *container, size_t column, const zf_decode_options *options, zf_abi_device device,
                            const zf_abi_provider *provider, zf_selection *out, zf_error *error) {
    *out = (zf_selection){.container = container, .column_number = column};
    if (container == NULL) return zf_raise(error, ZF_E_ARGUMENT, "decoding needs a container");
    zf_column_info info = {0}; // says whether there is such a column
    ZF_TRY(zf_container_column(container, column, &info, error));
    out->column = &container->index.columns[column];
    out->rows = out->column->rows;
    out->bits = zf_element_bits(out->column->type.element);
    out->checksums = options == NULL || !options->skip_checksums;
    out->zones = out->column->zoned && (options == NULL || !options->skip_zones);
    if (options != NULL) {
        out->cancelled = options->cancelled;
        out->cancelled_user = options->cancelled_user;
    }
    ZF_TRY(choose_rows(out, options, error));
    return get_plans(out, device, provider, error);
}

void zf_selection_free(zf_selection *selection) {
    free(selection->plans);
    free(selection->providers);
    selection->plans = NULL;
    selection->providers = NULL;
}

zf_status zf_selection_go_on(const zf_selection *s, zf_error *error) {
    if (s->cancelled == NULL || !s->cancelled(s->cancelled_user)) return ZF_OK;
    zf_status status = zf_raise(error, ZF_E_CANCELLED, "the decode was cancelled");
    return zf_fail_place(error, status, "%s: column %s", zf_container_short_path(s->container), s->column->shown);
}

void zf_selection_rows(const zf_selection *s, uint64_t block, uint64_t *begin, uint64_t *end) {
    const zf_index_block *entry = &s->column->blocks[block];
    *begin = s->begin > entry->first_row ? s->begin - entry->first_row : 0;
    *end = s->end - entry->first_row < entry->rows ? s->end - entry->first_row : entry->rows;
}

void zf_selection_where(const zf_selection *selection, uint64_t block, char where[ZF_WHERE_BYTES]) {
    if (selection->container == NULL) {
        snprintf(where, ZF_WHERE_BYTES, "block");
        return;
    }
    snprintf(where, ZF_WHERE_BYTES, "%s: column %s, block %llu", zf_container_short_path(selection->container),
             selection->column->shown, (ull)block);
}

const char *zf_selection_file(const zf_selection *selection) {
    return selection->container != NULL ? zf_container_short_path(selection->container) : NULL;
}

zf_status zf_selection_block(const zf_selection *s, uint64_t block, const uint8_t *stored, zf_block_view *out, zf_error *error) {
    zf_status status = zf_container_block_at(s->container, s->column_number, block, stored, s->checksums, out, error);
    if (status == ZF_OK || out->refused == NULL) return status;
    uint32_t shape = s->column->blocks[block].shape;
    zf_failure what = {.plan = s->plans[shape], .file = zf_selection_file(s)};
    zf_place_refused(&what, out->refused, error);
    return status;
}

void zf_selection_zones(const zf_selection *s, uint64_t block, uint64_t begin, uint64_t end, uint64_t *first, uint64_t *last) {
    *first = *last = 0;
    if (!s->zones) return;
    *first = zf_zones_of(begin);
    *last = end == s->column->blocks[block].rows ? zf_zones_of(end) : end / ZF_ZONE_ROWS;
    if (*last < *first) *last = *first;
}

zf_status zf_selection_check_zone(const zf_selection *s, uint64_t block, uint64_t zone, const zf_zone_found *found,
                                  zf_error *error) {
    const zf_zone *stated = &s->column->blocks[block].zones[zone];
    zf_zone true_zone;
    zf_zone_of(s->column->type.element, stated->rows, found, &true_zone);
    const char *lie = zf_zone_lie(stated, &true_zone, s->column->type.element);
    if (lie == NULL) return ZF_OK;
    char where[ZF_WHERE_BYTES];
    zf_selection_where(s, block, where);
    zf_status status = zf_raise(error, ZF_E_V26, "V26: the %s of rows %llu to %llu: their zone in the index says otherwise", lie,
                                (ull)stated->first_row, (ull)(stated->first_row + stated->rows - 1));
    return zf_fail_place(error, status, "%s", where);
}
