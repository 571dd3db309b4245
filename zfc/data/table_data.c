#include "zfc/data/table_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/container/element.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"

static zf_status no_memory(zf_error *error) { return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for the columns"); }

zf_status zf_table_data_create(const zf_table *table, zf_table_data *out, zf_error *error) {
    *out = (zf_table_data){0};
    out->columns = calloc(table->column_count ? table->column_count : 1, sizeof *out->columns);
    if (!out->columns) return no_memory(error);
    for (const zf_column *column = table->columns; column; column = column->next) {
        zf_type type = column->type;
        if (column->part == ZF_LIST_VALIDITY) continue; // the lists' own
        type.nullable = type.nullable || (column->part == ZF_LIST_ENDS && zf_lists_validity(column) != NULL);
        out->columns[out->count++] = (zf_column_data){
            .name = column->name,
            .field = column->name,
            .part = column->part,
            .memory = &out->memory,
            .type = {(zf_element)type.kind, type.logical, type.precision, type.scale, type.nullable},
        };
    }
    return ZF_OK;
}

void zf_table_data_free(zf_table_data *data) {
    for (size_t i = 0; i < data->count; i++) {
        free(data->columns[i].values);
        free(data->columns[i].offsets);
        free(data->columns[i].validity);
    }
    free(data->columns);
    *data = (zf_table_data){0};
}

zf_column_data *zf_table_data_find(zf_table_data *data, const char *name, size_t length) {
    for (size_t i = 0; i < data->count; i++) {
        if (strlen(data->columns[i].name) == length && memcmp(data->columns[i].name, name, length) == 0) return &data->columns[i];
    }
    return NULL;
}

zf_column_data *zf_table_data_find_field(zf_table_data *data, const char *field, size_t length) {
    for (size_t i = 0; i < data->count; i++) {
        if (strlen(data->columns[i].field) == length && memcmp(data->columns[i].field, field, length) == 0)
            return &data->columns[i];
    }
    return NULL;
}

const char *zf_table_data_nearest(const zf_table_data *data, const char *name) {
    const char *names[256];
    size_t count = 0;
    for (; count < data->count && count < 256; count++) names[count] = data->columns[count].name;
    return zf_nearest_name(name, names, count);
}

zf_status zf_table_data_map(zf_table_data *data, const char *mapping, zf_error *error) {
    size_t length = strcspn(mapping, "=");
    if (!mapping[length] || length == 0) {
        zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--field needs COLUMN=FIELD, not `%.64s`", mapping);
        return zf_fail_hint(error, ZF_ERR_USAGE, "the column's name, and that of its field in the header");
    }
    zf_column_data *column = zf_table_data_find(data, mapping, length);
    if (!column) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)(length < 255 ? length : 255), mapping);
        const char *nearest = zf_table_data_nearest(data, name);
        zf_fail(error, ZF_ERR_USAGE, ZFC_NO_SUCH_COLUMN, "--field: the table has no column `%.64s`", name);
        return nearest ? zf_fail_hint(error, ZF_ERR_USAGE, "did you mean `%s`?", nearest) : ZF_ERR_USAGE;
    }
    if (column->part != ZF_LIST_NONE) {
        zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--field: column `%s` is of lists, which no field of a text gives",
                column->name);
        return zf_fail_hint(error, ZF_ERR_USAGE, ZF_LISTS_HINT);
    }
    if (column->field != column->name)
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--field gives column `%s` twice: `%.64s` and `%.64s`",
                       column->name, column->field, mapping + length + 1);
    column->field = mapping + length + 1;
    return ZF_OK;
}

zf_status zf_table_data_check_fields(const zf_table_data *data, zf_error *error) {
    for (size_t i = 0; i < data->count; i++) {
        const zf_column_data *mapped = &data->columns[i];
        for (size_t k = 0; k < data->count && mapped->field != mapped->name; k++) {
            const zf_column_data *other = &data->columns[k];
            if (k == i || strcmp(other->field, mapped->field) != 0) continue;
            zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--field: the field `%.64s` is for columns `%s` and `%s`",
                    mapped->field, mapped->name, other->name);
            return zf_fail_hint(error, ZF_ERR_USAGE, "a field gives one column; --field %s=FIELD names another", other->name);
        }
    }
    return ZF_OK;
}

zf_status zf_column_claim(zf_column_data *column, zf_column_part part, const char *source, bool is_text, zf_error *error) {
    static const char *const parts[] = {"column `%s` is", "the offsets of column `%s` are", "the validity of column `%s` is"};
    zf_part_giver *giver = &column->givers[part];
    if (giver->source && !(giver->is_text && is_text)) {
        char what[160];
        snprintf(what, sizeof what, parts[part], column->name);
        return zf_fail(error, ZF_ERR_INPUT, ZFC_GIVEN_TWICE, "%s given twice: by %s and by %s", what, giver->source, source);
    }
    if (!giver->source) *giver = (zf_part_giver){source, is_text};
    return ZF_OK;
}

// For columns whose parts all come from texts.
static zf_status reserve_rows(zf_column_data *column, zf_error *error) {
    bool is_string = column->type.element == ZF_STRING;
    if (!is_string && !column->type.nullable) return ZF_OK;
    if (column->rows < column->row_capacity) return ZF_OK;
    const char *source = column->givers[ZF_PART_VALUES].source ? column->givers[ZF_PART_VALUES].source : column->name;
    uint64_t before = column->row_capacity, rows = before ? 2 * before : 4096;
    if (is_string) {
        size_t held = before ? (before + 1) * sizeof(int64_t) : 0, size = (rows + 1) * sizeof(int64_t);
        int64_t *offsets = zf_input_grow(column->memory, source, column->offsets, &held, size, size, error);
        if (!offsets) return ZF_ERR_MEMORY;
        if (!column->offsets) offsets[0] = 0;
        column->offsets = offsets;
    }
    if (column->type.nullable) {
        size_t held = (before + 7) / 8, from = held, size = (rows + 7) / 8;
        uint8_t *validity = zf_input_grow(column->memory, source, column->validity, &held, size, size, error);
        if (!validity) return ZF_ERR_MEMORY;
        memset(validity + from, 0, size - from);
        column->validity = validity;
    }
    column->row_capacity = rows;
    return ZF_OK;
}

zf_status zf_column_reserve(zf_column_data *column, size_t bytes, bool row, zf_error *error) {
    if (bytes > column->capacity - column->used) {
        const char *source = column->givers[ZF_PART_VALUES].source ? column->givers[ZF_PART_VALUES].source : column->name;
        size_t least = column->used + bytes, wish = 2 * column->capacity > 65536 ? 2 * column->capacity : 65536;
        char *values =
            zf_input_grow(column->memory, source, column->values, &column->capacity, least, wish > least ? wish : least, error);
        if (!values) return ZF_ERR_MEMORY;
        column->values = values;
    }
    return row ? reserve_rows(column, error) : ZF_OK;
}

zf_status zf_column_append_text(zf_column_data *column, const char *text, size_t length, bool null, const char **reason,
                                zf_error *error) {
    *reason = NULL;
    bool is_string = column->type.element == ZF_STRING;
    unsigned size = zf_element_size(column->type.element);
    ZF_TRY(zf_column_reserve(column, is_string ? length : size, true, error));
    if (is_string) {
        if (length > 0 && !null) memcpy(column->values + column->used, text, length);
        if (!null) column->used += length;
        column->offsets[column->rows + 1] = (int64_t)column->used;
    } else {
        if (null)
            memset(column->values + column->used, 0, size);
        else if (!zf_parse_value(column->type, text, length, column->values + column->used, reason))
            return *reason ? ZF_ERR_INPUT : no_memory(error);
        column->used += size;
    }
    if (column->type.nullable && !null) column->validity[column->rows / 8] |= (uint8_t)(1u << (column->rows % 8));
    column->rows++;
    return ZF_OK;
}

// ---- Checks ----

/// The name of the things that offsets count.
static const char *unit_of(const zf_column_data *column) { return column->part == ZF_LIST_ENDS ? "values" : "bytes"; }

zf_status zf_column_check_offsets(const zf_column_data *column, const int64_t *offsets, uint64_t first, uint64_t count,
                                  int64_t before, size_t bytes, zf_error *error) {
    for (uint64_t i = 0; i < count; i++) {
        int64_t offset = offsets[i];
        if ((first + i == 0 && offset != 0) || offset < before || (uint64_t)offset > bytes) {
            zf_fail(error, ZF_ERR_INPUT, ZFC_OFFSETS, "offset %llu of column `%s` is %lld: offsets ascend from 0 to the %zu %s",
                    (unsigned long long)(first + i), column->name, (long long)offset, bytes, unit_of(column));
            return zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %llu", column->givers[ZF_PART_OFFSETS].source,
                                 column->raw_offsets_at + (unsigned long long)(first + i) * sizeof offset);
        }
        before = offset;
    }
    return ZF_OK;
}

zf_status zf_column_bad_last_offset(const zf_column_data *column, int64_t last, size_t bytes, zf_error *error) {
    const zf_column_data *given = column->part == ZF_LIST_ENDS ? &column[1] : column; // that has the bytes, or the values
    return zf_fail(error, ZF_ERR_INPUT, ZFC_OFFSETS,
                   "the last offset of column `%s` (%s) is %lld, but it has %zu %s (%s): offsets ascend from 0 to the %s",
                   column->name, column->givers[ZF_PART_OFFSETS].source, (long long)last, bytes, unit_of(column),
                   given->givers[ZF_PART_VALUES].source, unit_of(column));
}

zf_status zf_column_lacks_offsets(const zf_column_data *column, zf_error *error) {
    zf_fail(error, ZF_ERR_INPUT, ZFC_OFFSETS, "column `%s` has bytes but no offsets; give %s.offsets=FILE", column->name,
            column->name);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s", column->givers[ZF_PART_VALUES].source);
}

// Offsets that came as a file may say anything.
static zf_status check_offsets(zf_column_data *column, zf_error *error) {
    if (!column->offsets) {
        column->offsets = calloc(1, sizeof *column->offsets);
        if (!column->offsets) return no_memory(error);
        if (column->used == 0 && (column->givers[ZF_PART_VALUES].source == NULL || column->givers[ZF_PART_VALUES].is_text))
            return ZF_OK;
        return zf_column_lacks_offsets(column, error);
    }
    ZF_TRY(zf_column_check_offsets(column, column->offsets, 0, column->rows + 1, 0, column->used, error));
    int64_t last = column->offsets[column->rows];
    return (uint64_t)last == column->used ? ZF_OK : zf_column_bad_last_offset(column, last, column->used, error);
}

// Raw decimals may have more digits than their type; of text they were counted when it was read.
zf_status zf_column_check_decimals(const zf_column_data *column, uint64_t before, zf_error *error) {
    if (column->type.logical != ZF_LOGICAL_DECIMAL || column->givers[ZF_PART_VALUES].is_text) return ZF_OK;
    uint64_t limit = zf_decimal_limit(column->type);
    for (uint64_t row = 0; row < column->rows; row++) {
        int64_t value;
        memcpy(&value, column->values + row * sizeof value, sizeof value);
        if ((value < 0 ? 0 - (uint64_t)value : (uint64_t)value) < limit) continue;
        if (column->validity && !zf_bit_at(column->validity, row)) continue; // a null may hold anything
        zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_FIELD, "%lld has more digits than decimal(%u, %u) has", (long long)value,
                column->type.precision, column->type.scale);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s: column %s, row %llu", column->givers[ZF_PART_VALUES].source, column->name,
                             (unsigned long long)(before + row));
    }
    return ZF_OK;
}

/// The first text that gives a column, and could have given others; NULL: all inputs are raw.
static const char *first_text(const zf_table_data *data) {
    for (size_t i = 0; i < data->count; i++) {
        const zf_part_giver *giver = &data->columns[i].givers[ZF_PART_VALUES];
        if (giver->source && giver->is_text) return giver->source;
    }
    return NULL;
}

/// Lists are given by their offsets, and their values by files of their own: texts have no form for them.
static zf_status check_lists_given(const zf_column_data *column, zf_error *error) {
    bool lists = column->part == ZF_LIST_ENDS;
    if (column->givers[lists ? ZF_PART_OFFSETS : ZF_PART_VALUES].source) return ZF_OK;
    bool text = !lists && column->type.element == ZF_STRING;
    zf_fail(error, ZF_ERR_INPUT, ZFC_NOT_GIVEN, "no input gives %s`%s`",
            lists ? "the offsets of the lists of column " : "column ", column->name);
    return zf_fail_hint(error, ZF_ERR_INPUT, "give %s%s=FILE", column->name, lists ? ".offsets" : text ? ".bytes" : "");
}

static zf_status check_given(const zf_table_data *data, const zf_column_data *column, zf_error *error) {
    if (column->part != ZF_LIST_NONE) return check_lists_given(column, error);
    if (column->givers[ZF_PART_VALUES].source) return ZF_OK;
    if (column->givers[ZF_PART_OFFSETS].source) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_NOT_GIVEN, "column `%s` has offsets but no bytes; give %s.bytes=FILE", column->name,
                column->name);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s", column->givers[ZF_PART_OFFSETS].source);
    }
    zf_fail(error, ZF_ERR_INPUT, ZFC_NOT_GIVEN, "no input gives column `%s`", column->name);
    const char *text = first_text(data);
    if (text) zf_fail_place(error, ZF_ERR_INPUT, "%s", text);
    if (text && column->field != column->name)
        return zf_fail_hint(error, ZF_ERR_INPUT, "no header has the field `%.64s` of --field", column->field);
    if (!text) return zf_fail_hint(error, ZF_ERR_INPUT, "give %s=FILE, or a text with that field", column->name);
    return zf_fail_hint(error, ZF_ERR_INPUT, "--field %s=FIELD takes a field of another name; or give %s=FILE", column->name,
                        column->name);
}

/// The input that says how many rows a column has.
static const char *source_of(const zf_column_data *column) {
    return column->givers[column->part == ZF_LIST_ENDS ? ZF_PART_OFFSETS : ZF_PART_VALUES].source;
}

static zf_status check_rows(const zf_table_data *data, const zf_column_data *column, zf_error *error) {
    const zf_column_data *first = &data->columns[0];
    if (column->rows == first->rows || column->part == ZF_LIST_VALUES) return ZF_OK;
    return zf_fail(error, ZF_ERR_INPUT, ZFC_ROWS_DIFFER, "column `%s` (%s) has %s, but `%s` (%s) has %llu", column->name,
                   source_of(column), zf_rows_text(column->rows, (char[32]){0}), first->name, source_of(first),
                   (unsigned long long)first->rows);
}

zf_status zf_column_check_validity(const zf_column_data *column, zf_error *error) {
    const zf_part_giver *validity = &column->givers[ZF_PART_VALIDITY];
    if (column->valid_is_array && column->valid_rows != column->rows) {
        return zf_fail(error, ZF_ERR_INPUT, ZFC_ROWS_DIFFER, "the validity of `%s` (%s) has %s, but the column (%s) has %llu",
                       column->name, validity->source, zf_rows_text(column->valid_rows, (char[32]){0}), source_of(column),
                       (unsigned long long)column->rows);
    }
    if (validity->source && !validity->is_text && column->raw_valid_bytes != (column->rows + 7) / 8) {
        return zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_SIZE, "the validity bitmap of `%s` has %zu bytes, but those of %s are %llu",
                       column->name, column->raw_valid_bytes, zf_rows_text(column->rows, (char[32]){0}),
                       (unsigned long long)((column->rows + 7) / 8));
    }
    return ZF_OK;
}

zf_status zf_table_data_check_given(const zf_table_data *data, zf_error *error) {
    for (size_t i = 0; i < data->count; i++) ZF_TRY(check_given(data, &data->columns[i], error));
    return ZF_OK;
}

zf_status zf_table_data_check_rows(const zf_table_data *data, zf_error *error) {
    for (size_t i = 0; i < data->count; i++) {
        ZF_TRY(check_rows(data, &data->columns[i], error));
        ZF_TRY(zf_column_check_validity(&data->columns[i], error));
    }
    return ZF_OK;
}

/// Checks the offsets of lists, whose values are the next column.
static zf_status check_list_offsets(const zf_column_data *column, zf_error *error) {
    uint64_t values = column[1].rows;
    ZF_TRY(zf_column_check_offsets(column, column->offsets, 0, column->rows + 1, 0, values, error));
    int64_t last = column->offsets[column->rows];
    return (uint64_t)last == values ? ZF_OK : zf_column_bad_last_offset(column, last, values, error);
}

zf_status zf_table_data_finish(zf_table_data *data, zf_error *error) {
    for (size_t i = 0; i < data->count; i++) {
        zf_column_data *column = &data->columns[i];
        ZF_TRY(check_given(data, column, error));
        ZF_TRY(check_rows(data, column, error));
        ZF_TRY(zf_column_reserve(column, 1, false, error)); // a pointer that is never NULL, also without rows
        if (column->type.element == ZF_STRING) ZF_TRY(check_offsets(column, error));
        ZF_TRY(zf_column_check_validity(column, error));
    }
    for (size_t i = 0; i < data->count; i++) // once their values are known to be right
        if (data->columns[i].part == ZF_LIST_ENDS) ZF_TRY(check_list_offsets(&data->columns[i], error));
    data->rows = data->count > 0 ? data->columns[0].rows : 0;
    for (size_t i = 0; i < data->count; i++) ZF_TRY(zf_column_check_decimals(&data->columns[i], 0, error));
    return ZF_OK;
}
