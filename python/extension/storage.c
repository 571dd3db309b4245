#include "python/extension/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/extension/arrow_export.h"
#include "python/extension/entries.h"
#include "python/extension/file_reader.h"
#include "python/extension/gpu.h"
#include "python/extension/tensor_type.h"
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

/// Frees one of the three buffers, or lets go of its owner.
static void drop_part(zf_py_storage *s, int part) {
    void **const parts[ZF_PY_PARTS] = {
        [ZF_PY_VALUES] = &s->values, [ZF_PY_OFFSETS] = &s->offsets, [ZF_PY_VALIDITY] = &s->validity};
    if (s->owners[part] != NULL)
        zf_py_drop_later(s->owners[part]);
    else
        free(*parts[part]);
    *parts[part] = s->owners[part] = NULL;
}

void zf_py_storage_release(zf_py_storage *storage) {
    if (storage == NULL || atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) != 1) return;
    for (int part = 0; part < ZF_PY_PARTS; part++) drop_part(storage, part);
    free(storage->views);
    free(storage->view_sizes);
    zf_py_storage_release(storage->child);
    zf_py_storage_release(storage->dictionary);
    free(storage);
    went();
}

void *zf_py_storage_memory(size_t bytes) {
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

// ---- Decoding -------------------------------------------------------------------------------------------------

static bool is_text(const char *format) {
    return strcmp(format, "u") == 0 || strcmp(format, "U") == 0 || strcmp(format, "vu") == 0;
}

/// Refuses strings that are not UTF-8.
static zf_status check_text(const zf_py_decode *d, const zf_py_storage *s, zf_error *error) {
    int64_t row = zf_py_utf8_fault(s->values, s->offsets, s->rows);
    if (row < 0) return ZF_OK;
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

/// Says which rows are read next, of the decode's column and those behind it.
static void expect(const zf_py_decode *d, size_t columns, uint64_t rows) {
    uint64_t first = d->options.some_rows ? d->options.row_begin : 0;
    if (d->reader != NULL) zf_py_reader_expect(d->reader, d->container, d->column, columns, first, rows);
}

static zf_status decode_into(zf_py_decode *d, const zf_decode_sizes *sizes, void *workspace, zf_error *error) {
    zf_py_storage *s = d->out;
    const zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .values = s->values,    .offsets = s->offsets,
                                       .validity = s->validity,    .workspace = workspace, ZF_DECODE_BYTES(*sizes)};
    expect(d, 1, (uint64_t)s->rows);
    ZF_TRY_PY(zf_decode(d->container, d->column, "cpu", &d->options, &buffers, NULL, error));
    if (s->validity != NULL) s->null_count = zf_py_count_nulls(s->validity, s->rows);
    if (s->element != ZF_STRING) return ZF_OK;
    s->values_bytes = (size_t)((const int64_t *)s->offsets)[s->rows]; // `values` of a range is an upper bound
    return is_text((d->field->dictionary != NULL ? d->field->dictionary : d->field)->format) ? check_text(d, s, error) : ZF_OK;
}

zf_py_storage *zf_py_storage_new(uint64_t rows, zf_element element) {
    zf_py_storage *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    atomic_init(&s->references, 1);
    came();
    s->rows = (int64_t)rows;
    s->element = element;
    return s;
}

/// Memory for a part of a column: what the caller gave, or new memory.
static zf_status take_part(zf_py_decode *d, zf_py_storage *s, int part, size_t bytes, const char *name, void **out,
                           zf_error *error) {
    zf_py_given *given = &d->given[part];
    if (given->owner == NULL) {
        *out = zf_py_storage_memory(bytes);
        if (*out != NULL) return ZF_OK;
        return zf_py_fail(error, ZF_ERR_MEMORY, name, "no memory for %lld rows: %zu bytes", (long long)s->rows, bytes);
    }
    if (given->bytes < bytes)
        return zf_py_fail(error, ZF_ERR_USAGE, name, "out has %zu bytes for a part of the column, and %zu are needed",
                          given->bytes, bytes);
    *out = given->at;
    s->owners[part] = given->owner;
    given->owner = NULL;
    return ZF_OK;
}

/// Refuses lists whose values have no place in memory that is given: null ones, and those of another length than `width`.
static zf_status check_given(const zf_py_decode *d, const zf_py_storage *s, int64_t width, zf_error *error);
static zf_status decode_rows(zf_py_decode *d, zf_error *error);

/// Decodes lists: their offsets and validity, then the values that they have.
static zf_status decode_lists(zf_py_decode *d, uint64_t rows, zf_error *error) {
    zf_column_info next = {ZF_INIT(zf_column_info)};
    zf_list_values of = {ZF_INIT(zf_list_values)};
    ZF_TRY_PY(zf_container_column(d->container, d->column + 1, &next, error));
    bool nullable = next.part == ZF_LIST_VALIDITY;
    zf_py_storage *s = d->out;
    s->offset_width = 8;
    s->offsets_bytes = ((size_t)rows + 1) * 8;
    s->offsets = rows < SIZE_MAX / 16 ? zf_py_storage_memory(s->offsets_bytes) : NULL;
    s->validity_bytes = nullable ? ((size_t)rows + 7) / 8 : 0;
    if (nullable && s->offsets != NULL) s->validity = zf_py_storage_memory(s->validity_bytes);
    if (s->offsets == NULL || (nullable && s->validity == NULL))
        return zf_py_fail(error, ZF_ERR_MEMORY, next.full_name, "no memory for %llu rows: %zu bytes", (unsigned long long)rows,
                          s->offsets_bytes + s->validity_bytes);
    const zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .offsets = s->offsets, .validity = s->validity,
                                       .offsets_bytes = s->offsets_bytes, .validity_bytes = s->validity_bytes};
    expect(d, nullable ? 2 : 1, rows);
    ZF_TRY_PY(zf_decode_lists(d->container, d->column, "cpu", &d->options, &buffers, &of, NULL, error));
    if (nullable) s->null_count = zf_py_count_nulls(s->validity, s->rows);
    if (d->given[ZF_PY_VALUES].owner != NULL) ZF_TRY_PY(check_given(d, s, strtol(d->field->format + 3, NULL, 10), error));
    zf_py_decode values = *d;
    values.field = d->field->child;
    values.column += nullable ? 2 : 1;
    values.options.some_rows = true;
    values.options.row_begin = of.row_begin;
    values.options.row_count = of.row_count;
    zf_status status = decode_rows(&values, error);
    memcpy(d->given, values.given, sizeof d->given);
    s->child = values.out;
    return status;
}

/// Decodes a column as the library has it: offsets and decimals are 64 bits.
static zf_status decode_rows(zf_py_decode *d, zf_error *error) {
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_column_info info = {ZF_INIT(zf_column_info)};
    d->out = NULL;
    ZF_TRY_PY(zf_container_column(d->container, d->column, &info, error));
    ZF_TRY_PY(zf_decode_size(d->container, d->column, &d->options, &sizes, error));
    uint64_t rows = d->options.some_rows ? d->options.row_count : info.rows;
    zf_py_storage *s = zf_py_storage_new(rows, info.type.element);
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
    s->values_bytes = sizes.values;
    s->offsets_bytes = s->element == ZF_STRING ? sizes.offsets : 0;
    s->validity_bytes = info.type.nullable ? sizes.validity : 0;
    d->out = s;
    zf_status status = take_part(d, s, ZF_PY_VALUES, sizes.values, info.full_name, &s->values, error);
    if (status == ZF_OK && s->element == ZF_STRING)
        status = take_part(d, s, ZF_PY_OFFSETS, sizes.offsets, info.full_name, &s->offsets, error);
    if (status == ZF_OK && info.type.nullable)
        status = take_part(d, s, ZF_PY_VALIDITY, sizes.validity, info.full_name, &s->validity, error);
    void *workspace = sizes.workspace > 0 && status == ZF_OK ? zf_py_storage_memory(sizes.workspace) : NULL;
    if (status == ZF_OK)
        status = workspace != NULL || sizes.workspace == 0
                     ? decode_into(d, &sizes, workspace, error)
                     : zf_py_fail(error, ZF_ERR_MEMORY, info.full_name, "no memory for %llu rows: %zu bytes",
                                  (unsigned long long)rows, sizes.workspace);
    free(workspace);
    if (status == ZF_OK) return ZF_OK;
    zf_py_storage_release(s);
    d->out = NULL;
    return status;
}

// ---- Arrow's layouts of decoded rows --------------------------------------------------------------------------

int64_t zf_py_view_pieces(int64_t bytes) { return bytes / ZF_PY_VIEW_PIECE + (bytes % ZF_PY_VIEW_PIECE != 0); }

static bool is_valid(const zf_py_storage *s, int64_t row) { return s->validity == NULL || zf_py_bit(s->validity, row); }

static zf_status no_memory(const zf_py_storage *s, zf_error *error) {
    return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for %lld rows", (long long)s->rows);
}

/// A file may carry any schema: rows that its types do not have are refused, by the row's number or -1.
static zf_status lies(const zf_py_decode *d, const char *format, int64_t row, zf_error *error) {
    char place[256], number[40] = "";
    zf_column_info info = {ZF_INIT(zf_column_info)};
    if (d->container == NULL)
        return zf_py_fail(error, ZF_ERR_INPUT, d->field->name, "the rows do not fit into Arrow's type `%.64s`", format);
    ZF_TRY_PY(zf_container_column(d->container, d->column, &info, error));
    if (row >= 0 && d->options.row_begin != UINT64_MAX)
        snprintf(number, sizeof number, ", row %llu", (unsigned long long)(d->options.row_begin + (uint64_t)row));
    snprintf(place, sizeof place, "%.80s, column %.80s%s", zf_container_path(d->container), info.full_name, number);
    return zf_py_fail(error, ZF_ERR_INPUT, place,
                      "the file's Arrow schema gives the column the type `%.64s`, which the rows do not have", format);
}

static zf_status check_given(const zf_py_decode *d, const zf_py_storage *s, int64_t width, zf_error *error) {
    const int64_t *offsets = s->offsets;
    if (s->null_count > 0)
        return zf_py_fail(error, ZF_ERR_UNSUPPORTED, d->field->name,
                          "%lld rows are null, and lists are decoded into memory of the caller only where none is",
                          (long long)s->null_count);
    for (int64_t k = 0; k < s->rows; k++) {
        if (offsets[k + 1] - offsets[k] != width) return lies(d, d->field->format, k, error);
    }
    return ZF_OK;
}

/// Refuses decimals of more digits than the type of a schema has, where it has fewer than the column's own.
static zf_status check_digits(const zf_py_decode *d, const zf_py_storage *s, const char *format, int digits, zf_error *error) {
    zf_column_info info = {ZF_INIT(zf_column_info)};
    if (d->container == NULL) return ZF_OK; // another layout of the same digits
    ZF_TRY_PY(zf_container_column(d->container, d->column, &info, error));
    if (digits >= (int)info.type.precision) return ZF_OK; // at most 18
    const int64_t *values = s->values;
    int64_t limit = 1;
    for (int digit = 0; digit < digits; digit++) limit *= 10;
    for (int64_t k = 0; k < s->rows; k++) {
        if (is_valid(s, k) && (values[k] <= -limit || values[k] >= limit)) return lies(d, format, k, error);
    }
    return ZF_OK;
}

/// Integers of `bits` bits in place of 64-bit ones: Arrow's decimals.
static zf_status resize_decimals(const zf_py_decode *d, zf_py_storage *s, const char *format, int bits, zf_error *error) {
    size_t width = (size_t)bits / 8;
    if (bits == 64) return ZF_OK;
    if ((size_t)s->rows > SIZE_MAX / 64) return no_memory(s, error);
    char *to = zf_py_storage_memory((size_t)s->rows * width);
    if (to == NULL) return no_memory(s, error);
    const int64_t *from = s->values;
    for (int64_t k = 0; k < s->rows; k++) {
        int64_t limbs[4] = {from[k]};
        for (int limb = 1; limb < 4; limb++) limbs[limb] = from[k] < 0 ? -1 : 0;
        if (bits == 32 && from[k] != (int32_t)from[k]) {
            free(to);
            return lies(d, format, k, error);
        }
        memcpy(to + (size_t)k * width, limbs, width); // the lowest byte first
    }
    drop_part(s, ZF_PY_VALUES);
    s->values = to;
    s->values_bytes = (size_t)s->rows * width;
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

static void drop_offsets(zf_py_storage *s) {
    drop_part(s, ZF_PY_OFFSETS);
    s->offset_width = 0;
    s->offsets_bytes = 0;
}

static zf_status make_views(const zf_py_decode *d, zf_py_storage *s, const char *format, zf_error *error) {
    enum { INLINE = 12 };
    int64_t pieces = zf_py_view_pieces((int64_t)s->values_bytes);
    const int64_t *offsets = s->offsets;
    if ((size_t)s->rows > SIZE_MAX / 32) return no_memory(s, error);
    s->views = zf_py_storage_memory((size_t)s->rows * 16);
    s->view_sizes = calloc((size_t)pieces + 1, sizeof *s->view_sizes);
    if (s->views == NULL || s->view_sizes == NULL) return no_memory(s, error);
    for (int64_t k = 0; k < pieces; k++) s->view_sizes[k] = (int64_t)s->values_bytes - k * ZF_PY_VIEW_PIECE;
    for (int64_t k = 0; k < s->rows; k++) {
        struct {
            int32_t size, prefix, piece, offset;
        } view = {0};
        int64_t size = offsets[k + 1] - offsets[k];
        const char *from = (const char *)s->values + offsets[k];
        char *to = (char *)s->views + 16 * k;
        if (size > INT32_MAX) return lies(d, format, k, error);
        view.size = (int32_t)size;
        if (size > INLINE) {
            memcpy(&view.prefix, from, sizeof view.prefix);
            view.piece = (int32_t)(offsets[k] / ZF_PY_VIEW_PIECE);
            view.offset = (int32_t)(offsets[k] % ZF_PY_VIEW_PIECE);
        }
        memcpy(to, &view, sizeof view);
        if (size <= INLINE) memcpy(to + 4, from, (size_t)size);
    }
    return ZF_OK;
}

/// Strings of one length, those of nulls too, behind each other.
static zf_status pack_strings(const zf_py_decode *d, zf_py_storage *s, const char *format, int64_t width, zf_error *error) {
    const int64_t *offsets = s->offsets;
    for (int64_t k = 0; k < s->rows; k++) {
        if (is_valid(s, k) && offsets[k + 1] - offsets[k] != width) return lies(d, format, k, error);
    }
    if (s->null_count > 0) {
        if (width > 0 && s->rows > INT64_MAX / 2 / width) return no_memory(s, error);
        char *to = zf_py_storage_memory((size_t)(s->rows * width));
        if (to == NULL) return no_memory(s, error);
        for (int64_t k = 0; k < s->rows; k++) {
            if (is_valid(s, k))
                memcpy(to + k * width, (const char *)s->values + offsets[k], (size_t)width);
            else
                memset(to + k * width, 0, (size_t)width);
        }
        drop_part(s, ZF_PY_VALUES);
        s->values = to;
        s->values_bytes = (size_t)(s->rows * width);
    }
    drop_offsets(s);
    s->width = width;
    return ZF_OK;
}

static zf_status make_nothing(const zf_py_decode *d, zf_py_storage *s, const char *format, zf_error *error) {
    if (s->null_count != s->rows) return lies(d, format, -1, error);
    drop_part(s, ZF_PY_VALUES);
    drop_part(s, ZF_PY_VALIDITY);
    s->values_bytes = s->validity_bytes = 0;
    s->nothing = true;
    return ZF_OK;
}

/// The bytes of a type's element; 0 for booleans and strings.
static size_t element_bytes(zf_element element) {
    return element == ZF_BOOL || element == ZF_STRING ? 0 : zf_py_type_of(element).bits / 8;
}

/// The bytes of a row; 0 for booleans and strings with offsets.
static size_t row_bytes(const zf_py_storage *s) {
    return s->element == ZF_STRING && s->offsets == NULL ? (size_t)s->width : element_bytes(s->element);
}

/// Copies row `from` of `s` to row `to` of `out`, which has offsets up to there.
static void copy_row(zf_py_storage *out, int64_t to, const zf_py_storage *s, int64_t from) {
    size_t bytes = row_bytes(s);
    if (s->element == ZF_BOOL) {
        ((uint8_t *)out->values)[to / 8] |= (uint8_t)(zf_py_bit(s->values, from) << to % 8);
    } else if (s->offsets != NULL) {
        const int64_t *offsets = s->offsets;
        ((int64_t *)out->offsets)[to + 1] = offsets[from + 1];
    } else {
        memcpy((char *)out->values + (size_t)to * bytes, (const char *)s->values + (size_t)from * bytes, bytes);
    }
    if (out->validity != NULL) ((uint8_t *)out->validity)[to / 8] |= (uint8_t)(is_valid(s, from) << to % 8);
}

/// Gives null lists of one length values, which are null or 0: Arrow has them.
static zf_status fill_null_lists(zf_py_storage *lists, zf_error *error) {
    zf_py_storage *s = lists->child;
    int64_t width = lists->width;
    if (width > 0 && lists->rows > INT64_MAX / 32 / width) return no_memory(lists, error);
    int64_t rows = lists->rows * width;
    zf_py_storage *out = zf_py_storage_new((uint64_t)rows, s->element);
    if (out == NULL) return no_memory(lists, error);
    lists->child = out;
    bool text = s->offsets != NULL;
    bool nullable = s->validity != NULL || s->dictionary != NULL; // a dictionary may have no entry for them
    out->width = s->width;
    out->dictionary = s->dictionary;
    s->dictionary = NULL;
    if (text)
        out->values_bytes = s->values_bytes;
    else
        out->values_bytes = s->element == ZF_BOOL ? ((size_t)rows + 7) / 8 : (size_t)rows * row_bytes(s);
    out->validity_bytes = nullable ? ((size_t)rows + 7) / 8 : 0;
    out->offsets_bytes = text ? ((size_t)rows + 1) * 8 : 0;
    out->offset_width = text ? 8 : 0;
    if (text) {
        out->values = s->values;
        s->values = NULL;
        out->offsets = zf_py_storage_memory(out->offsets_bytes);
    } else {
        out->values = zf_py_storage_memory(out->values_bytes);
    }
    if (nullable) out->validity = zf_py_storage_memory(out->validity_bytes);
    bool made = out->values != NULL && (out->offsets != NULL || !text) && (out->validity != NULL || !nullable);
    if (made) {
        if (!text) memset(out->values, 0, out->values_bytes);
        if (out->validity != NULL) memset(out->validity, 0, out->validity_bytes);
        if (text) memset(out->offsets, 0, 8);
    }
    for (int64_t list = 0, from = 0, to = 0; made && list < lists->rows; list++) {
        for (int64_t k = 0; k < width; k++, to++) {
            if (is_valid(lists, list))
                copy_row(out, to, s, from++);
            else if (text)
                ((int64_t *)out->offsets)[to + 1] = ((int64_t *)out->offsets)[to];
        }
    }
    if (made && out->validity != NULL) out->null_count = zf_py_count_nulls(out->validity, rows);
    zf_py_storage_release(s);
    return made ? ZF_OK : no_memory(lists, error);
}

static zf_status pack_lists(const zf_py_decode *d, zf_py_storage *s, const char *format, int64_t width, zf_error *error) {
    const int64_t *offsets = s->offsets;
    for (int64_t k = 0; k < s->rows; k++) {
        if (offsets[k + 1] - offsets[k] != (is_valid(s, k) ? width : 0)) return lies(d, format, k, error);
    }
    drop_offsets(s);
    s->width = width;
    return s->null_count > 0 ? fill_null_lists(s, error) : ZF_OK;
}

// ---- Dictionaries ---------------------------------------------------------------------------------------------

/// Adds the entries that the file keeps.
static zf_status take_kept(const zf_py_decode *d, const zf_py_storage *s, zf_py_entry_table *t, zf_error *error) {
    const char *at = d->entries;
    size_t left = d->entries_bytes, bytes = s->element == ZF_BOOL ? 1 : element_bytes(s->element);
    uint64_t count = 0;
    bool good = left >= 8;
    if (good) memcpy(&count, at, 8);
    const char *offsets = at + 8, *values = offsets;
    left -= good ? 8 : 0;
    if (s->element == ZF_STRING) {
        good = good && count < left / 8;
        values += good ? (count + 1) * 8 : 0;
        left -= good ? (size_t)(count + 1) * 8 : 0;
    } else {
        good = good && count <= left / bytes && left == count * bytes;
    }
    int64_t begin = 0, end = 0;
    for (uint64_t k = 0; good && k < count; k++) {
        if (s->element == ZF_STRING) {
            memcpy(&begin, offsets + k * 8, 8);
            memcpy(&end, offsets + k * 8 + 8, 8);
            good = begin >= 0 && end >= begin && (uint64_t)end <= left;
        } else {
            begin = (int64_t)(k * bytes);
            end = begin + (int64_t)bytes;
        }
        if (good && !zf_py_entries_add(t, values + begin, (size_t)(end - begin))) return no_memory(s, error);
    }
    return good ? ZF_OK
                : zf_py_fail(error, ZF_ERR_INPUT, zf_container_path(d->container),
                             "the entries of a dictionary that the file keeps are damaged");
}

/// The entries as rows of the dictionary, in the library's layout.
static zf_py_storage *rows_of_entries(zf_py_entry_table *t, zf_element element) {
    zf_py_storage *out = zf_py_storage_new(t->count, element);
    if (out == NULL) return NULL;
    size_t used = (size_t)t->offsets[t->count];
    out->values_bytes = element == ZF_BOOL ? (t->count + 7) / 8 : used;
    out->values = zf_py_storage_memory(out->values_bytes);
    bool made = out->values != NULL;
    if (made && element == ZF_BOOL) {
        memset(out->values, 0, out->values_bytes);
        for (size_t k = 0; k < t->count; k++) ((uint8_t *)out->values)[k / 8] |= (uint8_t)((t->bytes[k] != 0) << k % 8);
    } else if (made) {
        memcpy(out->values, t->bytes, used);
    }
    if (made && element == ZF_STRING) {
        out->offset_width = 8;
        out->offsets_bytes = (t->count + 1) * 8;
        out->offsets = zf_py_storage_memory(out->offsets_bytes);
        made = out->offsets != NULL;
        if (made) memcpy(out->offsets, t->offsets, out->offsets_bytes);
    }
    if (made) return out;
    zf_py_storage_release(out);
    return NULL;
}

/// The type of indices into `count` entries: that of the format, or a wider one.
static zf_element index_element(const char *format, size_t count) {
    static const char letters[] = "CSILcsil";
    const char *found = strchr(letters, format[0]);
    int number = found != NULL && format[0] != 0 ? (int)(found - letters) : ZF_I32;
    bool is_signed = number >= ZF_I8;
    while (number % 4 < 3 && count > (UINT64_C(1) << ((8 << number % 4) - is_signed))) number++;
    return (zf_element)number;
}

static zf_status find_indices(const zf_py_storage *s, zf_py_entry_table *t, uint32_t *codes, zf_error *error) {
    size_t bytes = element_bytes(s->element);
    const int64_t *offsets = s->offsets;
    for (int64_t k = 0; k < s->rows; k++) {
        codes[k] = 0;
        if (!is_valid(s, k)) continue;
        char flag = s->element == ZF_BOOL && zf_py_bit(s->values, k);
        const char *at =
            s->element == ZF_BOOL ? &flag : (const char *)s->values + (s->element == ZF_STRING ? offsets[k] : k * (int64_t)bytes);
        size_t size = s->element == ZF_BOOL ? 1 : s->element == ZF_STRING ? (size_t)(offsets[k + 1] - offsets[k]) : bytes;
        uint32_t number = zf_py_entries_find(t, at, size);
        codes[k] = number == 0 ? (uint32_t)t->count : number - 1;
        if (number == 0 && !zf_py_entries_add(t, at, size)) return no_memory(s, error);
    }
    return ZF_OK;
}

static zf_status encode_rows(const zf_py_decode *d, zf_py_storage *s, const char *format, zf_py_entry_table *t, uint32_t *codes,
                             zf_error *error) {
    if (d->entries != NULL) ZF_TRY_PY(take_kept(d, s, t, error));
    ZF_TRY_PY(find_indices(s, t, codes, error));
    zf_element element = index_element(format, t->count);
    size_t width = element_bytes(element);
    char *indices = zf_py_storage_memory((size_t)s->rows * width);
    if (indices == NULL) return no_memory(s, error);
    for (int64_t k = 0; k < s->rows; k++) {
        uint64_t index = codes[k];
        memcpy(indices + (size_t)k * width, &index, width); // the lowest byte first
    }
    s->dictionary = rows_of_entries(t, s->element);
    drop_part(s, ZF_PY_VALUES);
    drop_offsets(s);
    s->values = indices;
    s->values_bytes = (size_t)s->rows * width;
    s->element = element;
    return s->dictionary != NULL ? ZF_OK : no_memory(s, error);
}

/// Indices into a dictionary in place of rows: entries that the file keeps first, then others in the order in which rows have
/// them.
static zf_status encode_dictionary(const zf_py_decode *d, zf_py_storage *s, const char *format, zf_error *error) {
    zf_py_entry_table t;
    uint32_t *codes = (size_t)s->rows < SIZE_MAX / 8 ? malloc((size_t)s->rows * sizeof *codes + 1) : NULL;
    zf_status status =
        zf_py_entries_begin(&t) && codes != NULL ? encode_rows(d, s, format, &t, codes, error) : no_memory(s, error);
    zf_py_entries_free(&t);
    free(codes);
    return status;
}

/// Refuses entries that are not UTF-8. Those of rows were looked at with them, and no row may use others that the file keeps.
static zf_status check_entries(const zf_py_decode *d, const zf_py_storage *entries, zf_error *error) {
    int64_t number = zf_py_utf8_fault(entries->values, entries->offsets, entries->rows);
    if (number < 0) return ZF_OK;
    char place[256];
    zf_column_info info = {ZF_INIT(zf_column_info)};
    ZF_TRY_PY(zf_container_column(d->container, d->column, &info, error));
    snprintf(place, sizeof place, "%.80s, column %.80s", zf_container_path(d->container), info.full_name);
    zf_py_fail(error, ZF_ERR_INPUT, place, "entry %lld of the column's dictionary is not UTF-8", (long long)number);
    snprintf(error->hint, sizeof error->hint, "`binary=True` of `read` takes strings as bytes");
    return ZF_ERR_INPUT;
}

// ---- All layouts ----------------------------------------------------------------------------------------------

/// Gives rows the layout of their field.
static zf_status lay_out(const zf_py_decode *d, zf_py_storage *s, const zf_py_field *field, zf_error *error) {
    const char *format = field->format;
    int precision, scale, bits = 128;
    if (s->child != NULL) {
        zf_py_decode values = *d;
        values.column += field->flags & ZF_ARROW_NULLABLE ? 2 : 1;
        values.options.row_begin = UINT64_MAX; // unknown
        // Rows that null lists get are no strings of that length, and no entries.
        bool first = field->child->dictionary != NULL || field->child->format[0] == 'w';
        if (first) ZF_TRY_PY(lay_out(&values, s->child, field->child, error));
        if (format[1] == 'w')
            ZF_TRY_PY(pack_lists(d, s, format, strtol(format + 3, NULL, 10), error));
        else if (format[1] == 'l' && ((const int64_t *)s->offsets)[s->rows] <= INT32_MAX)
            narrow_offsets(s);
        return first ? ZF_OK : lay_out(&values, s->child, field->child, error);
    }
    if (field->dictionary != NULL) {
        ZF_TRY_PY(encode_dictionary(d, s, format, error));
        if (d->entries != NULL && is_text(field->dictionary->format)) ZF_TRY_PY(check_entries(d, s->dictionary, error));
        zf_py_decode entries = *d;
        entries.options.row_begin = UINT64_MAX; // an entry is no row
        return lay_out(&entries, s->dictionary, field->dictionary, error);
    }
    switch (format[0]) {
    case 'u':
    case 'z':
        if (s->owners[ZF_PY_OFFSETS] == NULL && ((const int64_t *)s->offsets)[s->rows] <= INT32_MAX) narrow_offsets(s);
        return ZF_OK;
    case 'v': return make_views(d, s, format, error);
    case 'w': return pack_strings(d, s, format, strtol(format + 2, NULL, 10), error);
    case 'n': return make_nothing(d, s, format, error);
    case 'd':
        if (sscanf(format, "d:%d,%d,%d", &precision, &scale, &bits) < 2) return ZF_OK;
        ZF_TRY_PY(check_digits(d, s, format, precision, error));
        return resize_decimals(d, s, format, bits, error);
    default: return ZF_OK;
    }
}

zf_status zf_py_decode_run(zf_py_decode *d, zf_error *error) {
    ZF_TRY_PY(decode_rows(d, error));
    zf_status status = lay_out(d, d->out, d->field, error);
    if (status == ZF_OK) return ZF_OK;
    zf_py_storage_release(d->out);
    d->out = NULL;
    return status;
}

// ---- Other layouts of rows that were decoded ------------------------------------------------------------------

/// A copy of `bytes` bytes, NULL for NULL. Whether there was memory.
static bool copy_memory(void **out, const void *from, size_t bytes) {
    *out = from != NULL ? zf_py_storage_memory(bytes) : NULL;
    if (*out != NULL) memcpy(*out, from, bytes);
    return *out != NULL || from == NULL;
}

static bool copy_offsets(zf_py_storage *out, const zf_py_storage *from) {
    out->offset_width = 8;
    out->offsets_bytes = ((size_t)from->rows + 1) * 8;
    out->offsets = zf_py_storage_memory(out->offsets_bytes);
    for (int64_t k = 0; out->offsets != NULL && k <= from->rows; k++) {
        int64_t wide = k * from->width; // of strings of one length
        int32_t narrow;
        if (from->offset_width == 8) memcpy(&wide, (const char *)from->offsets + 8 * k, 8);
        if (from->offset_width == 4) memcpy(&narrow, (const char *)from->offsets + 4 * k, 4);
        ((int64_t *)out->offsets)[k] = from->offset_width == 4 ? narrow : wide;
    }
    return out->offsets != NULL;
}

/// Decimals of 64 bits, which each fits into.
static bool copy_decimals(zf_py_storage *out, const zf_py_storage *from, size_t width) {
    out->values_bytes = (size_t)from->rows * 8;
    out->values = zf_py_storage_memory(out->values_bytes);
    for (int64_t k = 0; out->values != NULL && k < from->rows; k++) {
        int32_t half;
        const char *at = (const char *)from->values + (size_t)k * width;
        if (width == 4)
            memcpy(&half, at, 4);
        else
            memcpy((int64_t *)out->values + k, at, 8);
        if (width == 4) ((int64_t *)out->values)[k] = half;
    }
    return out->values != NULL;
}

/// Rows in the library's layout, from those of a plain field. Whether there was memory.
static bool copy_plain(zf_py_storage *out, const zf_py_storage *from, const char *format) {
    out->null_count = from->null_count;
    out->validity_bytes = from->validity_bytes;
    if (!copy_memory(&out->validity, from->validity, from->validity_bytes)) return false;
    if (format[0] == 'd' && from->rows > 0) return copy_decimals(out, from, from->values_bytes / (size_t)from->rows);
    out->values_bytes = from->values_bytes;
    if (!copy_memory(&out->values, from->values, from->values_bytes)) return false;
    return from->element != ZF_STRING || copy_offsets(out, from);
}

/// Entries in place of the indices of `from`; `entries` has them in the library's layout. Whether there was memory.
static bool copy_entries(zf_py_storage *out, const zf_py_storage *from, const zf_py_storage *entries) {
    size_t width = element_bytes(from->element), bytes = row_bytes(entries), end = 0;
    const int64_t *offsets = entries->offsets;
    bool made = copy_memory(&out->validity, from->validity, from->validity_bytes);
    out->validity_bytes = from->validity_bytes;
    out->null_count = from->null_count;
    if (offsets != NULL) {
        out->offset_width = 8;
        out->offsets_bytes = ((size_t)from->rows + 1) * 8;
        out->offsets = zf_py_storage_memory(out->offsets_bytes);
        made = made && out->offsets != NULL;
    }
    for (int pass = offsets != NULL ? 0 : 1; made && pass < 2; pass++) { // sizes of strings, then bytes
        if (pass == 1) {
            out->values_bytes = offsets != NULL               ? end
                                : entries->element == ZF_BOOL ? ((size_t)from->rows + 7) / 8
                                                              : (size_t)from->rows * bytes;
            out->values = zf_py_storage_memory(out->values_bytes);
            made = out->values != NULL;
            if (made) memset(out->values, 0, out->values_bytes);
        }
        end = 0;
        for (int64_t k = 0; made && k < from->rows; k++) {
            uint64_t index = 0;
            memcpy(&index, (const char *)from->values + (size_t)k * width, width);
            bool valid = is_valid(from, k);
            size_t size = valid && offsets != NULL ? (size_t)(offsets[index + 1] - offsets[index]) : 0;
            if (pass == 1 && offsets != NULL)
                memcpy((char *)out->values + end, (const char *)entries->values + (valid ? offsets[index] : 0), size);
            else if (pass == 1 && valid && entries->element == ZF_BOOL)
                ((uint8_t *)out->values)[k / 8] |= (uint8_t)(zf_py_bit(entries->values, (int64_t)index) << k % 8);
            else if (pass == 1 && valid)
                memcpy((char *)out->values + (size_t)k * bytes, (const char *)entries->values + (size_t)index * bytes, bytes);
            if (offsets != NULL) ((int64_t *)out->offsets)[k] = (int64_t)end;
            end += size;
        }
        if (made && offsets != NULL) ((int64_t *)out->offsets)[from->rows] = (int64_t)end;
    }
    return made;
}

/// Rows in the library's layout, with one reference; NULL: no memory.
static zf_py_storage *undo_layout(const zf_py_storage *from, const zf_py_field *field) {
    zf_py_storage *out = NULL;
    bool made;
    if (from->dictionary != NULL) {
        zf_py_storage *entries = undo_layout(from->dictionary, field->dictionary);
        out = entries != NULL ? zf_py_storage_new((uint64_t)from->rows, entries->element) : NULL;
        made = out != NULL && copy_entries(out, from, entries);
        zf_py_storage_release(entries);
    } else {
        out = zf_py_storage_new((uint64_t)from->rows, from->element);
        made = out != NULL && copy_plain(out, from, field->format);
    }
    if (made) return out;
    zf_py_storage_release(out);
    return NULL;
}

/// Indices of another width, as wide as the entries need, and the entries in another layout: all of them, in their order.
static zf_status convert_dictionary(const zf_py_storage *from, const zf_py_field *field, const zf_py_field *wanted,
                                    zf_py_storage **out, zf_error *error) {
    zf_py_storage *s = zf_py_storage_new((uint64_t)from->rows, index_element(wanted->format, (size_t)from->dictionary->rows));
    *out = s;
    if (s == NULL) return no_memory(from, error);
    size_t width = element_bytes(from->element), wide = element_bytes(s->element);
    s->null_count = from->null_count;
    s->validity_bytes = from->validity_bytes;
    s->values_bytes = (size_t)from->rows * wide;
    s->values = zf_py_storage_memory(s->values_bytes);
    if (s->values == NULL || !copy_memory(&s->validity, from->validity, from->validity_bytes)) return no_memory(from, error);
    for (int64_t k = 0; k < from->rows; k++) {
        uint64_t index = 0;
        memcpy(&index, (const char *)from->values + (size_t)k * width, width); // the lowest byte first
        memcpy((char *)s->values + (size_t)k * wide, &index, wide);
    }
    return zf_py_storage_convert(from->dictionary, field->dictionary, wanted->dictionary, &s->dictionary, error);
}

zf_status zf_py_storage_convert(const zf_py_storage *from, const zf_py_field *field, const zf_py_field *wanted,
                                zf_py_storage **out, zf_error *error) {
    const zf_py_decode d = {.options = {ZF_INIT(zf_decode_options), .row_begin = UINT64_MAX}, .field = wanted};
    zf_status status = ZF_OK;
    if (from->child != NULL) { // the lists are as they were
        *out = zf_py_storage_new((uint64_t)from->rows, from->element);
        if (*out == NULL) return no_memory(from, error);
        zf_py_storage *s = *out;
        s->null_count = from->null_count;
        s->width = from->width;
        s->offset_width = from->offset_width;
        s->offsets_bytes = from->offsets_bytes;
        s->validity_bytes = from->validity_bytes;
        status = copy_memory(&s->offsets, from->offsets, from->offsets_bytes) &&
                         copy_memory(&s->validity, from->validity, from->validity_bytes)
                     ? zf_py_storage_convert(from->child, field->child, wanted->child, &s->child, error)
                     : no_memory(from, error);
    } else if (from->dictionary != NULL && wanted->dictionary != NULL) {
        status = convert_dictionary(from, field, wanted, out, error);
    } else {
        *out = undo_layout(from, field);
        status = *out != NULL ? lay_out(&d, *out, wanted, error) : no_memory(from, error);
    }
    if (status == ZF_OK) return ZF_OK;
    zf_py_storage_release(*out);
    *out = NULL;
    return status;
}
