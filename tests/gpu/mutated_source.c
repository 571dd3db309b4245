#include "tests/gpu/mutated_source.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/pool.h"
#include "tests/gpu/state_columns.h"

enum {
    BLOCK = 4096,
    ROWS = 2 * BLOCK + 500,
    POISON = 0xa5,
};

// ---- Outcomes -------------------------------------------------------------------------------------------------

void outcome_free(outcome *o) {
    free(o->values);
    free(o->offsets);
    free(o->validity);
    *o = (outcome){0};
}

static uint8_t *bits_from(const uint8_t *bitmap, uint64_t skip, uint64_t count) {
    uint8_t *out = calloc(1, count / 8 + 1);
    for (uint64_t k = 0, at = skip; k < count; k++, at++) out[k / 8] |= (uint8_t)((bitmap[at / 8] >> (at % 8) & 1) << k % 8);
    return out;
}

/// The output of a decode as a device left it.
typedef struct raw_output {
    const uint8_t *values, *validity;
    const int64_t *offsets;
    uint64_t skip, validity_skip, room; ///< of `values`, bytes
} raw_output;

static void keep(const zf_column_info *info, const zf_decode_sizes *sizes, const raw_output *raw, outcome *o) {
    o->bytes = sizes->values;
    if (info->type.element == ZF_STRING) {
        const int64_t *offsets = raw->offsets, first = offsets[0];
        bool within = first >= 0 && offsets[o->rows] >= first && (uint64_t)offsets[o->rows] <= raw->room;
        CHECK(within, "offsets of column %s lead out of its bytes", info->name);
        o->bytes = within ? (size_t)(offsets[o->rows] - first) : 0;
        o->offsets = malloc((o->rows + 1) * sizeof *offsets);
        for (uint64_t k = 0; k <= o->rows; k++) o->offsets[k] = offsets[k] - first;
        o->values = malloc(o->bytes + 1);
        if (within) memcpy(o->values, raw->values + first, o->bytes);
    } else if (info->type.element == ZF_BOOL) {
        o->values = bits_from(raw->values, raw->skip, o->rows);
    } else {
        o->values = malloc(o->bytes + 1);
        memcpy(o->values, raw->values + raw->skip, o->bytes);
    }
    if (info->type.nullable) o->validity = bits_from(raw->validity, raw->validity_skip, o->rows);
}

bool outcome_same(const outcome *a, const outcome *b) {
    if (a->rows != b->rows || a->bytes != b->bytes || memcmp(a->values, b->values, a->bytes) != 0) return false;
    if (a->validity != NULL && (b->validity == NULL || memcmp(a->validity, b->validity, (a->rows + 7) / 8) != 0)) return false;
    return a->offsets == NULL || (b->offsets != NULL && memcmp(a->offsets, b->offsets, (a->rows + 1) * 8) == 0);
}

static uint64_t rows_of(const zf_container *container, const zf_decode_options *options) {
    return options->some_rows ? options->row_count : zf_container_rows(container);
}

void outcome_here(zf_container *container, size_t column, const zf_decode_options *options, const zf_decode_sizes *sizes,
                  outcome *o) {
    const size_t bytes[] = {sizes->values, sizes->offsets, sizes->validity, sizes->workspace};
    zf_column_info info = {0};
    uint8_t *maps[4];
    *o = (outcome){.rows = rows_of(container, options)};
    for (int k = 0; k < 4; k++) {
        maps[k] = aligned_alloc(64, (2 * HOST_CANARY + bytes[k] + 63) / 64 * 64);
        memset(maps[k], GPU_CANARY, 2 * HOST_CANARY + bytes[k]);
        memset(maps[k] + HOST_CANARY, POISON, bytes[k]);
    }
    zf_decode_buffers buffers = {.values = maps[0] + HOST_CANARY,
                                 .offsets = (int64_t *)(void *)(maps[1] + HOST_CANARY),
                                 .validity = maps[2] + HOST_CANARY,
                                 .workspace = maps[3] + HOST_CANARY,
                                 ZF_DECODE_BYTES(*sizes)};
    o->status = zf_container_column(container, column, &info, &o->error);
    if (o->status == ZF_OK) o->status = zf_decode(container, column, "cpu", options, &buffers, NULL, &o->error);
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < HOST_CANARY; i++)
            o->outside |= maps[k][i] != GPU_CANARY || maps[k][HOST_CANARY + bytes[k] + i] != GPU_CANARY;
    }
    raw_output raw = {.values = buffers.values, .validity = buffers.validity, .offsets = buffers.offsets, .room = sizes->values};
    if (o->status == ZF_OK) keep(&info, sizes, &raw, o);
    for (int k = 0; k < 4; k++) free(maps[k]);
}

void outcome_there(gpu_machine *machine, zf_container *container, size_t column, const zf_decode_options *options,
                   const zf_decode_sizes *sizes, uint64_t canary, bool changed, outcome *o) {
    gpu_decode d;
    zf_decode_stats stats = {0};
    zf_column_info info = {0};
    *o = (outcome){.rows = rows_of(container, options)};
    o->status = zf_container_column(container, column, &info, &o->error);
    if (o->status != ZF_OK) return;
    o->status = gpu_decode_open(machine, container, column, options, canary, NULL, &d, &o->error);
    o->seconds = d.prepare_seconds;
    d.poisons |= changed;
    if (o->status == ZF_OK) {
        double begin = gpu_work_seconds(machine);
        o->status = gpu_decode_queue(&d, &o->error);
        zf_error waited;
        zf_status status = gpu_decode_wait(&d, &stats, &waited);
        if (o->status == ZF_OK) o->status = status, o->error = waited;
        o->seconds += gpu_work_seconds(machine) - begin;
        o->launches = stats.launches;
        const char *touched = gpu_decode_touched(&d);
        CHECK(touched == NULL, "column %s: a canary of %s was touched", info.name, touched);
        o->outside = touched != NULL;
        if (o->status == ZF_OK) o->status = gpu_decode_fetch(&d, &o->error);
        raw_output raw = {.values = d.copy,
                          .validity = d.copy_validity,
                          .offsets = (int64_t *)(void *)d.copy_offsets,
                          .skip = d.sizes.skip,
                          .validity_skip = d.sizes.validity_skip,
                          .room = d.sizes.values};
        if (o->status == ZF_OK) keep(&info, sizes, &raw, o);
    }
    gpu_decode_close(&d);
}

// ---- Files ----------------------------------------------------------------------------------------------------

static zf_status encode(gpu_machine *machine, const char *path, mutated_source *s, zf_error *error) {
    size_t count = 0;
    if (strcmp(s->table, "states") == 0) return state_encode(machine, ROWS, BLOCK, path, &count, error);
    if (strcmp(s->table, "library") == 0) return library_encode(machine, ROWS, BLOCK, path, error);
    if (strcmp(s->table, "forms") != 0) return zf_fail(error, ZF_ERR_USAGE, "", "the tables are forms, states and library");
    s->columns = gpu_columns(&count);
    return gpu_encode(machine, "forms", ROWS, BLOCK, 0, path, error);
}

static void note_part(void *user, const zf_container_part *part) {
    mutated_source *s = user;
    if (part->bytes > 0 && s->part_count < SOURCE_PARTS_MOST) s->parts[s->part_count++] = *part;
}

typedef struct warming {
    gpu_machine *machine;
    mutated_source *source;
} warming;

/// Compiles for both devices.
static void warm(void *user, uint64_t column, unsigned worker) {
    warming *w = user;
    (void)worker;
    zf_error error = {0};
    zf_prepared *prepared = NULL;
    zf_decode_sizes sizes = {0};
    zf_decode_options options = {.threads = 1};
    outcome *wanted = &w->source->wanted[column];
    zf_status status = zf_decode_size(w->source->good, column, &options, &sizes, &error);
    if (status == ZF_OK) {
        outcome_here(w->source->good, column, &options, &sizes, wanted);
        status = wanted->status, error = wanted->error;
    }
    if (status == ZF_OK) status = zf_decode_prepare(w->source->good, column, w->machine->device, &options, &prepared, &error);
    CHECK(status == ZF_OK, "%s, column %d: %s %s (%s)", w->source->table, (int)column, error.code, error.message, error.place);
    zf_prepared_free(prepared);
}

bool source_open(gpu_machine *machine, const char *table, mutated_source *s) {
    char path[400], name[64];
    zf_error error = {0};
    *s = (mutated_source){.table = table};
    snprintf(name, sizeof name, "%.40s.zfd", table);
    snprintf(path, sizeof path, "%s", gpu_machine_path(machine, name));
    zf_status status = encode(machine, path, s, &error);
    CHECK(status == ZF_OK, "%s: %s %s (%s)", table, error.code, error.message, error.place);
    if (status != ZF_OK || !mutate_read(path, &s->file)) return false;
    s->good = gpu_model_open(machine, path);
    s->column_count = zf_container_columns(s->good);
    status = zf_container_account(s->good, note_part, s, &error);
    CHECK(status == ZF_OK && s->part_count < SOURCE_PARTS_MOST && s->column_count <= SOURCE_COLUMNS_MOST, "%s", error.message);
    if (check_failures > 0) return false;
    zf_parallel_for(machine->threads, s->column_count, warm, &(warming){machine, s});
    for (size_t c = 0; s->columns != NULL && c < s->column_count && check_failures == 0; c++) {
        uint64_t wrong = gpu_column_wrong(&s->columns[c], 0, ROWS, 0, s->wanted[c].values, 0, 1);
        CHECK(wrong == 0, "the file as it was: %d rows of column %s are wrong", (int)wrong, s->columns[c].name);
    }
    return check_failures == 0;
}

void source_close(mutated_source *s) {
    for (size_t c = 0; c < s->column_count; c++) outcome_free(&s->wanted[c]);
    mutate_free(&s->file);
    *s = (mutated_source){0};
}
