#include "python/extension/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/extension/extension.h"
#include "python/extension/utf8.h"

#ifdef ZF_PY_COUNT_STORAGES
static atomic_size_t alive;

static void came(void) { atomic_fetch_add(&alive, 1); }
static void went(void) { atomic_fetch_sub(&alive, 1); }
size_t zf_py_storage_count(void) { return atomic_load(&alive); }
#else
static void came(void) {}
static void went(void) {}
#endif

zf_py_storage *zf_py_storage_hold(zf_py_storage *storage) {
    atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
    return storage;
}

void zf_py_storage_release(zf_py_storage *storage) {
    if (storage == NULL || atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) != 1) return;
    free(storage->values);
    free(storage->offsets);
    free(storage->validity);
    zf_py_storage_release(storage->child);
    free(storage);
    went();
}

/// Memory for `bytes` bytes, at least 64, a multiple of 64, whose last 64 bytes are zero: consumers may read whole vectors.
static void *take(size_t bytes) {
    if (bytes > SIZE_MAX - 64) return NULL;
    size_t room = (bytes / 64 + (bytes % 64 != 0 || bytes == 0)) * 64;
    char *memory = aligned_alloc(64, room);
    if (memory != NULL) memset(memory + room - 64, 0, 64);
    return memory;
}

int64_t zf_py_count_nulls(const uint8_t *validity, int64_t rows) {
    int64_t valid = 0;
    for (int64_t k = 0; k < rows / 8; k++) valid += __builtin_popcount(validity[k]);
    if (rows % 8 != 0) valid += __builtin_popcount(validity[rows / 8] & ((1u << rows % 8) - 1));
    return rows - valid;
}

/// 128-bit integers in place of 64-bit ones: Arrow's decimal128.
static zf_status widen(zf_py_storage *s, zf_error *error) {
    if ((size_t)s->rows > SIZE_MAX / 32) return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for decimals");
    int64_t *to = take((size_t)s->rows * 16);
    if (to == NULL) return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for decimals");
    const int64_t *from = s->values;
    for (int64_t k = 0; k < s->rows; k++) {
        to[2 * k] = from[k];
        to[2 * k + 1] = from[k] < 0 ? -1 : 0;
    }
    free(s->values);
    s->values = to;
    s->values_bytes = (size_t)s->rows * 16;
    return ZF_OK;
}

/// Offsets of 32 bits, in place: each is stored below where it was read.
static void narrow_offsets(zf_py_storage *s) {
    int32_t *narrow = s->offsets;
    for (int64_t k = 0; k <= s->rows; k++) {
        int64_t offset;
        memcpy(&offset, (const char *)s->offsets + 8 * k, 8);
        int32_t less = (int32_t)offset;
        memcpy(narrow + k, &less, 4);
    }
    s->offset_width = 4;
    s->offsets_bytes = ((size_t)s->rows + 1) * 4;
}

static zf_status finish_strings(zf_py_decode *d, zf_error *error) {
    zf_py_storage *s = d->out;
    const int64_t *wide = s->offsets;
    int64_t end = wide[s->rows];
    s->values_bytes = (size_t)end; // `values` of a range is an upper bound
    if (!d->bytes) {
        int64_t row = zf_py_utf8_fault(s->values, wide, s->rows);
        if (row >= 0) {
            zf_column_info info = {ZF_INIT(zf_column_info)};
            ZF_TRY_PY(zf_container_column(d->container, d->column, &info, error));
            uint64_t number = (d->options.some_rows ? d->options.row_begin : 0) + (uint64_t)row;
            char place[256];
            snprintf(place, sizeof place, "%.80s, column %.80s, row %llu", zf_container_path(d->container), info.full_name,
                     (unsigned long long)number);
            zf_py_fail(error, ZF_ERR_INPUT, place, "a string is not UTF-8");
            snprintf(error->hint, sizeof error->hint, "`binary=True` of `read` takes strings as bytes");
            return ZF_ERR_INPUT;
        }
    }
    if (end <= INT32_MAX) narrow_offsets(s);
    return ZF_OK;
}

static zf_status decode_into(zf_py_decode *d, const zf_decode_sizes *sizes, void *workspace, zf_error *error) {
    zf_py_storage *s = d->out;
    const zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .values = s->values,    .offsets = s->offsets,
                                       .validity = s->validity,    .workspace = workspace, ZF_DECODE_BYTES(*sizes)};
    ZF_TRY_PY(zf_decode(d->container, d->column, "cpu", &d->options, &buffers, NULL, error));
    if (s->validity != NULL) s->null_count = zf_py_count_nulls(s->validity, s->rows);
    if (s->element == ZF_STRING) return finish_strings(d, error);
    return d->wide ? widen(s, error) : ZF_OK;
}

static zf_py_storage *new_storage(uint64_t rows, zf_element element) {
    zf_py_storage *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    atomic_init(&s->references, 1);
    came();
    s->rows = (int64_t)rows;
    s->element = element;
    return s;
}

/// Decodes lists: their offsets and validity, then the values that they have.
static zf_status decode_lists(zf_py_decode *d, uint64_t rows, zf_error *error) {
    zf_column_info next = {ZF_INIT(zf_column_info)};
    zf_list_values of = {ZF_INIT(zf_list_values)};
    ZF_TRY_PY(zf_container_column(d->container, d->column + 1, &next, error));
    bool nullable = next.part == ZF_LIST_VALIDITY;
    zf_py_storage *s = d->out;
    s->offset_width = 8;
    s->offsets_bytes = ((size_t)rows + 1) * 8;
    s->offsets = rows < SIZE_MAX / 16 ? take(s->offsets_bytes) : NULL;
    s->validity_bytes = nullable ? ((size_t)rows + 7) / 8 : 0;
    if (nullable && s->offsets != NULL) s->validity = take(s->validity_bytes);
    if (s->offsets == NULL || (nullable && s->validity == NULL))
        return zf_py_fail(error, ZF_ERR_MEMORY, next.full_name, "no memory for %llu rows", (unsigned long long)rows);
    const zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .offsets = s->offsets, .validity = s->validity,
                                       .offsets_bytes = s->offsets_bytes, .validity_bytes = s->validity_bytes};
    ZF_TRY_PY(zf_decode_lists(d->container, d->column, "cpu", &d->options, &buffers, &of, NULL, error));
    if (nullable) s->null_count = zf_py_count_nulls(s->validity, s->rows);
    if (of.row_count <= INT32_MAX) narrow_offsets(s);
    zf_py_decode values = *d;
    values.column += nullable ? 2 : 1;
    values.options.some_rows = true;
    values.options.row_begin = of.row_begin;
    values.options.row_count = of.row_count;
    ZF_TRY_PY(zf_py_decode_run(&values, error));
    s->child = values.out;
    return ZF_OK;
}

zf_status zf_py_decode_run(zf_py_decode *d, zf_error *error) {
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_column_info info = {ZF_INIT(zf_column_info)};
    d->out = NULL;
    ZF_TRY_PY(zf_container_column(d->container, d->column, &info, error));
    ZF_TRY_PY(zf_decode_size(d->container, d->column, &d->options, &sizes, error));
    uint64_t rows = d->options.some_rows ? d->options.row_count : info.rows;
    zf_py_storage *s = new_storage(rows, info.type.element);
    if (s == NULL) return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for a column");
    if (info.part == ZF_LIST_ENDS) {
        d->out = s;
        zf_status status = decode_lists(d, rows, error);
        if (status == ZF_OK) return ZF_OK;
        zf_py_storage_release(s);
        d->out = NULL;
        return status;
    }
    s->offset_width = s->element == ZF_STRING ? 8 : 0;
    s->values = take(sizes.values);
    s->values_bytes = sizes.values;
    bool made = s->values != NULL;
    if (s->element == ZF_STRING) {
        s->offsets = take(sizes.offsets);
        s->offsets_bytes = sizes.offsets;
        made = made && s->offsets != NULL;
    }
    if (info.type.nullable) {
        s->validity = take(sizes.validity);
        s->validity_bytes = sizes.validity;
        made = made && s->validity != NULL;
    }
    void *workspace = sizes.workspace > 0 && made ? take(sizes.workspace) : NULL;
    d->out = s;
    zf_status status =
        made && (workspace != NULL || sizes.workspace == 0)
            ? decode_into(d, &sizes, workspace, error)
            : zf_py_fail(error, ZF_ERR_MEMORY, info.full_name, "no memory for %llu rows", (unsigned long long)rows);
    free(workspace);
    if (status == ZF_OK) return ZF_OK;
    zf_py_storage_release(s);
    d->out = NULL;
    return status;
}
