#include "python/extension/compile/arrow_import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum arrow_layout {
    FIXED,      ///< elements as they are
    BITS,       ///< booleans
    OFFSETS_32, ///< strings
    OFFSETS_64,
    VIEWS,
    DECIMAL, ///< of 32, 64, 128 or 256 bits
    LISTS_32,
    LISTS_64,
    LISTS_FIXED, ///< `width` values in each
    NOTHING,     ///< Arrow's type null
    STRINGS_FIXED,
    PRESENCE, ///< whether rows of a struct are there
} arrow_layout;

/// Memory that grows.
typedef struct room {
    void *data;
    size_t bytes;
} room;

struct zf_py_input {
    const char *name;
    arrow_layout layout;
    size_t width; ///< bytes of an element in Arrow's array
    int digits;   ///< of decimals: the most that a row may have
    size_t index; ///< bytes of an index of a dictionary; 0: there is none
    bool index_signed, ordered;
    size_t out_width; ///< bytes of an element for the encoder; 0: strings
    bool nullable;
    bool hides_nulls; ///< rows of null lists: their values are left out, so they may be null
    const ArrowArray *array;
    const uint8_t *there; ///< rows of the structs around it, from row `there_at` of the array on; NULL: all
    int64_t there_at;
    bool strict; ///< within structs: rows that are there are not null
    room values, offsets, validity;
    zf_encode_column entries; ///< of the dictionary
    zf_py_input *dictionary;
    zf_py_input *child;     ///< of lists: their values
    zf_encode_column items; ///< those of the rows that were converted last
    char *child_name;
};

static bool grow(room *r, size_t bytes) {
    if (bytes <= r->bytes) return true;
    size_t more = bytes + bytes / 2;
    void *data = realloc(r->data, more);
    if (data == NULL) return false;
    *r = (room){data, more};
    return true;
}

static zf_status no_memory(const zf_py_input *input, zf_error *error) {
    return zf_py_fail(error, ZF_ERR_MEMORY, input->name, "no memory for a column's rows");
}

// ---- Types ----------------------------------------------------------------------------------------------------

static bool read_width(const char *digits, size_t *width) {
    char *end;
    long length = strtol(digits, &end, 10);
    *width = (size_t)length;
    return end > digits && *end == 0 && length >= 0 && length <= INT32_MAX;
}

/// The layout of lists, and of those of one length how long they are; false: no lists.
static bool lists_of(const char *format, arrow_layout *out, size_t *width) {
    if (strcmp(format, "+l") == 0 || strcmp(format, "+L") == 0) {
        *out = format[1] == 'l' ? LISTS_32 : LISTS_64;
        return true;
    }
    if (strncmp(format, "+w:", 3) != 0) return false;
    *out = LISTS_FIXED;
    return read_width(format + 3, width);
}

/// The layout of a format, and bytes of its elements; false: none of these.
static bool layout_of(const char *format, arrow_layout *out, size_t *width) {
    static const struct {
        const char *format;
        arrow_layout layout;
        size_t width;
    } rows[] = {
        {"c", FIXED, 1},      {"C", FIXED, 1},   {"s", FIXED, 2},      {"S", FIXED, 2},      {"i", FIXED, 4},
        {"I", FIXED, 4},      {"l", FIXED, 8},   {"L", FIXED, 8},      {"e", FIXED, 2},      {"f", FIXED, 4},
        {"g", FIXED, 8},      {"b", BITS, 0},    {"u", OFFSETS_32, 0}, {"z", OFFSETS_32, 0}, {"U", OFFSETS_64, 0},
        {"Z", OFFSETS_64, 0}, {"vu", VIEWS, 16}, {"vz", VIEWS, 16},    {"tdD", FIXED, 4},    {"tdm", FIXED, 8},
        {"tts", FIXED, 4},    {"ttm", FIXED, 4}, {"ttu", FIXED, 8},    {"ttn", FIXED, 8},    {"tDs", FIXED, 8},
        {"tDm", FIXED, 8},    {"tDu", FIXED, 8}, {"tDn", FIXED, 8},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (strcmp(rows[k].format, format) != 0) continue;
        *out = rows[k].layout;
        *width = rows[k].width;
        return true;
    }
    if (strncmp(format, "ts", 2) == 0 && format[2] != 0 && strchr("smun", format[2]) != NULL && format[3] == ':') {
        *out = FIXED;
        *width = 8;
        return true;
    }
    if (strcmp(format, "n") == 0 || strcmp(format, "+s") == 0) {
        *out = format[0] == 'n' ? NOTHING : PRESENCE;
        *width = 1;
        return true;
    }
    if (strncmp(format, "w:", 2) == 0) {
        *out = STRINGS_FIXED;
        return read_width(format + 2, width);
    }
    int precision, scale, bits = 128;
    if (sscanf(format, "d:%d,%d,%d", &precision, &scale, &bits) < 2) return false;
    *out = DECIMAL;
    *width = (size_t)bits / 8;
    return bits == 32 || bits == 64 || bits == 128 || bits == 256;
}

/// Whether a column of the table has the values of a format.
static bool takes(const zf_column_type *type, const char *format, arrow_layout layout, size_t width) {
    static const size_t widths[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
    static const char own[] = "CSILcsilfg"; // by element
    switch (layout) {
    case BITS: return type->element == ZF_BOOL;
    case OFFSETS_32:
    case OFFSETS_64:
    case VIEWS:
    case STRINGS_FIXED: return type->element == ZF_STRING;
    case NOTHING: return type->element == ZF_BOOL && type->nullable;
    case PRESENCE: return type->element == ZF_BOOL && !type->nullable;
    case DECIMAL: {
        int precision = 0, scale = 0;
        if (sscanf(format, "d:%d,%d", &precision, &scale) != 2) return false;
        // A wider declaration is no wider value: take_decimals looks at each.
        return type->logical == ZF_LOGICAL_DECIMAL && type->scale == scale &&
               (type->precision >= precision || type->precision == 18);
    }
    case FIXED: break;
    case LISTS_32:
    case LISTS_64:
    case LISTS_FIXED: return false;
    }
    if (type->element > ZF_F64 || type->logical == ZF_LOGICAL_DECIMAL || widths[type->element] != width) return false;
    if (type->logical == ZF_LOGICAL_DATE32) return strcmp(format, "tdD") == 0;
    if (type->logical == ZF_LOGICAL_TIMESTAMP) return strncmp(format, "tsu:", 4) == 0;
    if (format[1] == 0 && format[0] != 'e') return own[type->element] == format[0];
    return format[0] == 'e' ? type->element == ZF_U16 : type->element == ZF_I32 || type->element == ZF_I64; // their plain numbers
}

static size_t index_width(const char *format, bool *is_signed) {
    static const char letters[] = "csilCSIL";
    const char *found = format[0] != 0 && format[1] == 0 ? strchr(letters, format[0]) : NULL;
    if (found == NULL) return 0;
    *is_signed = found - letters < 4;
    return (size_t)1 << (found - letters) % 4;
}

static zf_status new_lists(const ArrowSchema *schema, const char *name, const zf_column_type *type, const zf_column_type *values,
                           zf_py_input **out, zf_error *error) {
    zf_py_input own = {.name = name, .nullable = type->nullable};
    if (!lists_of(schema->format, &own.layout, &own.width) || schema->n_children != 1 || schema->dictionary != NULL ||
        strcmp(schema->children[0]->format, "+s") == 0)
        return zf_py_fail(error, ZF_ERR_USAGE, name, "the table's column is of lists, and Arrow's type is `%.64s`",
                          schema->format);
    zf_py_input *input = calloc(1, sizeof *input);
    if (input == NULL) return no_memory(&own, error);
    *input = own;
    input->child_name = malloc(strlen(name) + sizeof ".values");
    zf_status status = input->child_name != NULL ? ZF_OK : no_memory(&own, error);
    if (status == ZF_OK) sprintf(input->child_name, "%s.values", name);
    if (status == ZF_OK) status = zf_py_input_new(schema->children[0], input->child_name, values, NULL, &input->child, error);
    if (status == ZF_OK)
        *out = input;
    else
        zf_py_input_free(input);
    return status;
}

zf_status zf_py_input_new(const ArrowSchema *schema, const char *name, const zf_column_type *type,
                          const zf_column_type *list_values, zf_py_input **out, zf_error *error) {
    *out = NULL;
    if (list_values != NULL) return new_lists(schema, name, type, list_values, out, error);
    const ArrowSchema *values = schema->dictionary != NULL ? schema->dictionary : schema;
    zf_py_input own = {.name = name, .nullable = type->nullable};
    if (!layout_of(values->format, &own.layout, &own.width) || !takes(type, values->format, own.layout, own.width) ||
        values->dictionary != NULL || (own.layout == PRESENCE && schema->dictionary != NULL)) {
        return zf_py_fail(error, ZF_ERR_USAGE, name, "the table's column does not take values of Arrow's type `%.64s`",
                          values->format);
    }
    if (schema->dictionary != NULL) {
        own.index = index_width(schema->format, &own.index_signed);
        own.ordered = (schema->flags & ZF_ARROW_ORDERED) != 0;
        if (own.index == 0) {
            return zf_py_fail(error, ZF_ERR_USAGE, name, "indices of a dictionary have Arrow's type `%.64s`", schema->format);
        }
    }
    if (own.layout == DECIMAL && (sscanf(values->format, "d:%d", &own.digits) != 1 || own.digits > 18)) own.digits = 18;
    static const size_t widths[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1, 0};
    own.out_width = widths[type->element];
    zf_py_input *input = calloc(1, sizeof *input);
    if (input == NULL) return no_memory(&own, error);
    *input = own;
    if (schema->dictionary != NULL) {
        input->dictionary = calloc(1, sizeof *input);
        if (input->dictionary == NULL) {
            zf_py_input_free(input);
            return no_memory(&own, error);
        }
        *input->dictionary = own;
        input->dictionary->index = 0;
        input->dictionary->nullable = true; // entries that nothing uses may be null
    }
    *out = input;
    return ZF_OK;
}

void zf_py_input_free(zf_py_input *input) {
    if (input == NULL) return;
    free(input->values.data);
    free(input->offsets.data);
    free(input->validity.data);
    zf_py_input_free(input->dictionary);
    zf_py_input_free(input->child);
    free(input->child_name);
    free(input);
}

// ---- Rows -----------------------------------------------------------------------------------------------------

/// Whether a row of the array, its offset counted, is there: the structs around it are.
static bool is_there(const zf_py_input *input, int64_t at) {
    return input->there == NULL || zf_py_bit(input->there, at - input->array->offset - input->there_at);
}

void zf_py_input_within(zf_py_input *input, const uint8_t *there, int64_t first, bool strict) {
    input->there = there;
    input->there_at = first;
    input->strict = strict;
}

/// The bitmap of `rows` rows from `at` on, from its bit 0; NULL in `*out` where all are valid.
static zf_status take_validity(zf_py_input *input, int64_t at, int64_t rows, uint64_t row, const uint8_t **out, zf_error *error) {
    const uint8_t *bits = input->array->null_count == 0 ? NULL : input->array->buffers[0];
    *out = NULL;
    if (bits == NULL && input->there == NULL) return ZF_OK;
    size_t bytes = (size_t)(rows + 7) / 8;
    if (!grow(&input->validity, bytes + 1)) return no_memory(input, error);
    uint8_t *to = input->validity.data;
    memset(to, 0, bytes);
    int64_t nulls = 0, first = -1;
    for (int64_t k = 0; k < rows; k++) {
        bool there = is_there(input, at + k);
        if (there && (bits == NULL || zf_py_bit(bits, at + k))) {
            to[k / 8] |= (uint8_t)(1u << k % 8);
        } else {
            nulls++;
            if (first < 0 && (there || !input->strict)) first = k;
        }
    }
    if (nulls == 0) return ZF_OK;
    if (first >= 0 && (input->strict || (!input->nullable && !input->hides_nulls))) {
        return zf_py_fail(error, ZF_ERR_INPUT, input->name, "row %llu is null, and the column's type is not nullable",
                          (unsigned long long)(row + (uint64_t)first));
    }
    *out = to;
    return ZF_OK;
}

static zf_status take_bits(zf_py_input *input, int64_t at, int64_t rows, const void **out, zf_error *error) {
    if (!grow(&input->values, (size_t)rows + 1)) return no_memory(input, error);
    const uint8_t *bits = input->array->buffers[1];
    uint8_t *to = input->values.data;
    for (int64_t k = 0; k < rows; k++) to[k] = zf_py_bit(bits, at + k);
    *out = to;
    return ZF_OK;
}

static zf_status take_offsets(zf_py_input *input, int64_t at, int64_t rows, zf_encode_column *out, zf_error *error) {
    out->values = input->array->buffers[2] != NULL ? input->array->buffers[2] : "";
    if (input->layout == OFFSETS_64 && input->array->buffers[1] != NULL) {
        out->offsets = (const int64_t *)input->array->buffers[1] + at;
        return ZF_OK;
    }
    if (!grow(&input->offsets, ((size_t)rows + 1) * 8)) return no_memory(input, error);
    const int32_t *from = input->array->buffers[1]; // may be NULL where there are no rows
    int64_t *to = input->offsets.data;
    to[0] = 0;
    for (int64_t k = 0; from != NULL && k <= rows; k++) to[k] = from[at + k];
    out->offsets = to;
    return ZF_OK;
}

/// Whether `size` bytes from `offset` on lie in a buffer of an array of views. The array's last buffer has the sizes of the
/// others.
static bool lies_within(const ArrowArray *array, int32_t buffer, int32_t offset, int64_t size) {
    const int64_t *sizes = array->buffers[array->n_buffers - 1];
    return buffer >= 0 && buffer < array->n_buffers - 3 && offset >= 0 && sizes != NULL && array->buffers[2 + buffer] != NULL &&
           offset + size <= sizes[buffer];
}

static zf_status take_views(zf_py_input *input, int64_t at, int64_t rows, const uint8_t *valid, uint64_t row,
                            zf_encode_column *out, zf_error *error) {
    enum { INLINE = 12 };
    // Room for all views that hold their characters, which are then copied whole, and grows for others.
    if (!grow(&input->offsets, ((size_t)rows + 1) * 8) || !grow(&input->values, ((size_t)rows + 1) * INLINE))
        return no_memory(input, error);
    const ArrowArray *array = input->array;
    int64_t *offsets = input->offsets.data;
    char *values = input->values.data;
    size_t used = 0;
    offsets[0] = 0;
    for (int64_t k = 0; k < rows; k++) {
        struct {
            int32_t size, prefix, buffer, offset;
        } view;
        const char *place = (const char *)array->buffers[1] + (at + k) * 16;
        memcpy(&view, place, sizeof view);
        bool null = valid != NULL && !zf_py_bit(valid, k);
        int64_t size = null ? 0 : view.size;
        if (size < 0 || (size > INLINE && !lies_within(array, view.buffer, view.offset, size))) {
            return zf_py_fail(error, ZF_ERR_INPUT, input->name, "row %llu of the Arrow data is an invalid view",
                              (unsigned long long)(row + (uint64_t)k));
        }
        if (size <= INLINE) {
            memcpy(values + used, place + 4, INLINE);
        } else {
            // The rows behind this one find room for their views.
            if (!grow(&input->values, used + (size_t)size + (size_t)(rows - k) * INLINE)) return no_memory(input, error);
            values = input->values.data;
            memcpy(values + used, (const char *)array->buffers[2 + view.buffer] + view.offset, (size_t)size);
        }
        used += (size_t)size;
        offsets[k + 1] = (int64_t)used;
    }
    out->values = values;
    out->offsets = offsets;
    return ZF_OK;
}

static zf_status take_decimals(zf_py_input *input, int64_t at, int64_t rows, const uint8_t *valid, uint64_t row, const void **out,
                               zf_error *error) {
    if (!grow(&input->values, (size_t)rows * 8 + 1)) return no_memory(input, error);
    int64_t *to = input->values.data, limit = 1;
    for (int digit = 0; digit < input->digits; digit++) limit *= 10;
    for (int64_t k = 0; k < rows; k++) {
        int64_t limbs[4] = {0};
        const char *from = (const char *)input->array->buffers[1] + (size_t)(at + k) * input->width;
        memcpy(limbs, from, input->width);
        if (input->width == 4) {
            int32_t less;
            memcpy(&less, from, 4);
            limbs[0] = less;
        }
        bool fits = true;
        for (size_t limb = 1; limb < input->width / 8; limb++) fits = fits && limbs[limb] == (limbs[0] < 0 ? -1 : 0);
        bool null = valid != NULL && !zf_py_bit(valid, k);
        if (!(fits && limbs[0] > -limit && limbs[0] < limit) && !null) {
            return zf_py_fail(error, ZF_ERR_INPUT, input->name, "the decimal in row %llu has more than %d digits",
                              (unsigned long long)(row + (uint64_t)k), input->digits);
        }
        to[k] = null ? 0 : limbs[0];
    }
    *out = to;
    return ZF_OK;
}

/// The offset with which list `at` of the array begins.
static int64_t list_begin(const zf_py_input *input, int64_t at) {
    int32_t narrow;
    int64_t wide;
    if (input->layout == LISTS_FIXED) return at * (int64_t)input->width;
    if (input->layout == LISTS_64) {
        memcpy(&wide, (const char *)input->array->buffers[1] + 8 * at, 8);
        return wide;
    }
    memcpy(&narrow, (const char *)input->array->buffers[1] + 4 * at, 4);
    return narrow;
}

int64_t zf_py_input_fit(const zf_py_input *input, int64_t first, int64_t rows) {
    enum { MOST = 1 << 20 }; // values
    if (input->child == NULL) return rows;
    int64_t at = input->array->offset + first, begin = list_begin(input, at);
    for (int64_t k = 1; k < rows; k++) {
        int64_t end = list_begin(input, at + k + 1);
        if (end < begin || end - begin > MOST) return k; // what is wrong is found when it is converted
    }
    return rows;
}

/// Refuses null values of a list that is not null.
static zf_status check_values(const zf_py_input *input, int64_t first, int64_t count, zf_error *error) {
    const uint8_t *bits = input->array->null_count == 0 ? NULL : input->array->buffers[0];
    for (int64_t k = first; bits != NULL && k < first + count; k++) {
        if (!zf_py_bit(bits, input->array->offset + k))
            return zf_py_fail(error, ZF_ERR_INPUT, input->name, "row %llu is null, and the column's type is not nullable",
                              (unsigned long long)k);
    }
    return ZF_OK;
}

/// Lists: their offsets from 0 on, and the values that they have.
static zf_status take_lists(zf_py_input *input, int64_t at, int64_t rows, uint64_t row, zf_encode_column *out, zf_error *error) {
    if (!grow(&input->offsets, ((size_t)rows + 1) * 8)) return no_memory(input, error);
    int64_t *to = input->offsets.data, begin = list_begin(input, at), end = begin;
    for (int64_t k = 0; k <= rows; k++) {
        int64_t next = list_begin(input, at + k);
        if (next < end || next < 0 || next > input->child->array->length) {
            return zf_py_fail(error, ZF_ERR_INPUT, input->name,
                              "the offsets of row %llu of the Arrow data are negative, decrease, or leave the values",
                              (unsigned long long)(row + (uint64_t)(k > 0 ? k - 1 : 0)));
        }
        to[k] = next - begin;
        end = next;
    }
    out->offsets = to;
    out->values = &input->items;
    input->child->hides_nulls = false;
    if (out->validity != NULL && input->layout == LISTS_FIXED && !input->child->nullable) {
        for (int64_t k = 0; k < rows; k++) {
            if (zf_py_bit(out->validity, k)) ZF_TRY_PY(check_values(input->child, to[k] + begin, to[k + 1] - to[k], error));
        }
        input->child->hides_nulls = true;
    }
    return zf_py_input_rows(input->child, begin, end - begin, (uint64_t)begin, &input->items, error);
}

static zf_status take_fixed_strings(zf_py_input *input, int64_t at, int64_t rows, zf_encode_column *out, zf_error *error) {
    if (!grow(&input->offsets, ((size_t)rows + 1) * 8)) return no_memory(input, error);
    int64_t *to = input->offsets.data;
    for (int64_t k = 0; k <= rows; k++) to[k] = k * (int64_t)input->width;
    out->values = (const char *)input->array->buffers[1] + (size_t)at * input->width;
    out->offsets = to;
    return ZF_OK;
}

/// Rows of Arrow's type null, as booleans.
static zf_status take_nothing(zf_py_input *input, int64_t rows, zf_encode_column *out, zf_error *error) {
    size_t bits = (size_t)(rows + 7) / 8;
    if (!grow(&input->values, (size_t)rows + 1) || !grow(&input->validity, bits + 1)) return no_memory(input, error);
    memset(input->values.data, 0, (size_t)rows);
    memset(input->validity.data, 0, bits);
    out->values = input->values.data;
    out->validity = input->validity.data;
    return ZF_OK;
}

/// Rows of a struct, as booleans.
static zf_status take_presence(zf_py_input *input, int64_t first, int64_t rows, zf_encode_column *out, zf_error *error) {
    if (!grow(&input->values, (size_t)rows + 1)) return no_memory(input, error);
    uint8_t *to = input->values.data;
    for (int64_t k = 0; k < rows; k++) to[k] = is_there(input, input->array->offset + first + k);
    out->values = to;
    return ZF_OK;
}

static zf_status convert_rows(zf_py_input *input, int64_t first, int64_t rows, uint64_t row, zf_encode_column *out,
                              zf_error *error) {
    const ArrowArray *array = input->array;
    int64_t at = array->offset + first;
    static const int64_t zeros[2] = {0};
    bool lists = input->child != NULL;
    *out = (zf_encode_column){.values = lists ? (const void *)&input->items : zeros,
                              .offsets = lists || input->out_width == 0 ? zeros : NULL};
    if (rows == 0) return ZF_OK;
    if (input->layout == NOTHING) return take_nothing(input, rows, out, error);
    if (input->layout == PRESENCE) return take_presence(input, first, rows, out, error);
    ZF_TRY_PY(take_validity(input, at, rows, row, &out->validity, error));
    switch (input->layout) {
    case FIXED: out->values = (const char *)array->buffers[1] + (size_t)at * input->width; return ZF_OK;
    case BITS: return take_bits(input, at, rows, &out->values, error);
    case DECIMAL: return take_decimals(input, at, rows, out->validity, row, &out->values, error);
    case VIEWS: return take_views(input, at, rows, out->validity, row, out, error);
    case OFFSETS_32:
    case OFFSETS_64: return take_offsets(input, at, rows, out, error);
    case LISTS_32:
    case LISTS_64:
    case LISTS_FIXED: return take_lists(input, at, rows, row, out, error);
    case STRINGS_FIXED: return take_fixed_strings(input, at, rows, out, error);
    case NOTHING:
    case PRESENCE: break;
    }
    return ZF_OK;
}

/// Rows of the array itself, without its dictionary.
static zf_status take_rows(zf_py_input *input, int64_t first, int64_t rows, uint64_t row, zf_encode_column *out,
                           zf_error *error) {
    ZF_TRY_PY(convert_rows(input, first, rows, row, out, error));
    if (!input->nullable) out->validity = NULL; // nulls that null lists hide
    return ZF_OK;
}

static int64_t buffers_of(arrow_layout layout) {
    switch (layout) {
    case OFFSETS_32:
    case OFFSETS_64:
    case VIEWS: return 3;
    case PRESENCE:
    case LISTS_FIXED: return 1;
    case NOTHING: return 0;
    default: return 2;
    }
}

/// Whether an array may lack the buffer behind its validity.
static bool lacks_buffer(const zf_py_input *input, const ArrowArray *array) {
    return array->length == 0 || input->layout == LISTS_FIXED || input->layout == PRESENCE ||
           (input->dictionary == NULL && input->layout == NOTHING) ||
           (input->dictionary == NULL && input->layout == STRINGS_FIXED && input->width == 0);
}

/// The offsets of a dictionary's strings. The encoder sees those of the rows alone.
static zf_status check_entries(const zf_py_input *input, int64_t count, zf_error *error) {
    const int64_t *offsets = input->entries.offsets;
    for (int64_t k = 0; k < count; k++) {
        if (offsets[k] < 0 || offsets[k + 1] < offsets[k]) {
            return zf_py_fail(error, ZF_ERR_INPUT, input->name,
                              "the offsets of row %lld of a dictionary of the Arrow data are negative or decrease", (long long)k);
        }
    }
    return ZF_OK;
}

/// Whether an array has as many buffers and children as its type: buffers of another type may be shorter than what is read.
static bool has_parts(const zf_py_input *input, const ArrowArray *array) {
    bool dictionary = input->dictionary != NULL;
    int64_t buffers = dictionary ? 2 : buffers_of(input->layout), children = input->child != NULL;
    bool views = !dictionary && input->layout == VIEWS; // which have any number of buffers of characters
    if (!dictionary && input->layout == NOTHING && array->n_buffers == 1) buffers = 1; // a validity, as Polars gives it
    return (views ? array->n_buffers >= buffers : array->n_buffers == buffers) &&
           (input->layout == PRESENCE || array->n_children == children);
}

zf_status zf_py_input_begin(zf_py_input *input, const ArrowArray *array, zf_error *error) {
    bool dictionary = input->dictionary != NULL;
    if (array->length < 0 || array->offset < 0 || !has_parts(input, array) || dictionary != (array->dictionary != NULL) ||
        (!lacks_buffer(input, array) && array->buffers[1] == NULL) || (input->child != NULL && array->children[0] == NULL)) {
        return zf_py_fail(error, ZF_ERR_INPUT, input->name, "an array of the Arrow data is not of the type that its schema has");
    }
    input->array = array;
    input->there = NULL;
    input->strict = false;
    if (input->child != NULL) return zf_py_input_begin(input->child, array->children[0], error);
    if (!dictionary) return ZF_OK;
    ZF_TRY_PY(zf_py_input_begin(input->dictionary, array->dictionary, error));
    ZF_TRY_PY(take_rows(input->dictionary, 0, array->dictionary->length, 0, &input->entries, error));
    return input->out_width > 0 ? ZF_OK : check_entries(input, array->dictionary->length, error);
}

bool zf_py_input_entries(const zf_py_input *input, zf_py_entries *out, bool *ordered) {
    if (input->child != NULL) input = input->child;
    if (input->dictionary == NULL) return false;
    *out = (zf_py_entries){&input->entries, input->array->dictionary->length, input->out_width};
    *ordered = input->ordered;
    return true;
}

static int64_t index_at(const zf_py_input *input, int64_t at) {
    const char *place = (const char *)input->array->buffers[1] + (size_t)at * input->index;
    uint64_t value = 0;
    memcpy(&value, place, input->index);
    unsigned spare = 64 - 8 * (unsigned)input->index;
    return input->index_signed ? (int64_t)(value << spare) >> spare : value > INT64_MAX ? -1 : (int64_t)value;
}

/// Rows of a dictionary: each index as its entry.
static zf_status gather(zf_py_input *input, int64_t first, int64_t rows, uint64_t row, zf_encode_column *out, zf_error *error) {
    const zf_encode_column *entries = &input->entries;
    int64_t at = input->array->offset + first, count = input->array->dictionary->length;
    const uint8_t *valid;
    bool nullable = input->nullable && !input->strict;
    *out = (zf_encode_column){0};
    ZF_TRY_PY(take_validity(input, at, rows, row, &valid, error));
    if (!grow(&input->validity, (size_t)(rows + 7) / 8 + 1) || !grow(&input->offsets, ((size_t)rows + 1) * 8) ||
        !grow(&input->values, (size_t)rows * input->out_width + 1))
        return no_memory(input, error);
    uint8_t *bits = input->validity.data;
    if (valid == NULL) memset(bits, 0xff, (size_t)(rows + 7) / 8);
    int64_t *offsets = input->offsets.data;
    offsets[0] = 0;
    for (int64_t k = 0; k < rows; k++) {
        int64_t index = zf_py_bit(bits, k) ? index_at(input, at + k) : -1;
        if (zf_py_bit(bits, k) && (index < 0 || index >= count)) {
            return zf_py_fail(error, ZF_ERR_INPUT, input->name,
                              "row %llu of the Arrow data has an index outside of its dictionary",
                              (unsigned long long)(row + (uint64_t)k));
        }
        if (index >= 0 && entries->validity != NULL && !zf_py_bit(entries->validity, index)) {
            if (!nullable) {
                return zf_py_fail(error, ZF_ERR_INPUT, input->name, "row %llu is null, and the column's type is not nullable",
                                  (unsigned long long)(row + (uint64_t)k));
            }
            bits[k / 8] &= (uint8_t)~(1u << k % 8);
            index = -1;
        }
        if (input->out_width > 0) {
            char *to = (char *)input->values.data + (size_t)k * input->out_width;
            memset(to, 0, input->out_width);
            if (index >= 0) memcpy(to, (const char *)entries->values + (size_t)index * input->out_width, input->out_width);
            continue;
        }
        int64_t from = index < 0 ? 0 : entries->offsets[index], size = index < 0 ? 0 : entries->offsets[index + 1] - from;
        if (!grow(&input->values, (size_t)(offsets[k] + size) + 1)) return no_memory(input, error);
        memcpy((char *)input->values.data + offsets[k], (const char *)entries->values + from, (size_t)size);
        offsets[k + 1] = offsets[k] + size;
    }
    out->values = input->values.data;
    out->offsets = input->out_width == 0 ? offsets : NULL;
    out->validity = input->nullable ? bits : NULL;
    return ZF_OK;
}

zf_status zf_py_input_rows(zf_py_input *input, int64_t first, int64_t rows, uint64_t row, zf_encode_column *out,
                           zf_error *error) {
    return input->dictionary == NULL ? take_rows(input, first, rows, row, out, error)
                                     : gather(input, first, rows, row, out, error);
}
