#include "zfc/data/write_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/container/element.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"
#include "zfc/output.h"

static uint64_t string_bytes(const zf_decoded *column) {
    return column->rows > 0 ? (uint64_t)column->buffers.offsets[column->rows] : 0;
}

// DIRECTORY/NAME<ending>. A container's names are identifiers, which its reader checks; here, where they become paths, a
// separator is refused again.
zf_status zf_output_path(const char *directory, const char *name, const char *ending, char *path, size_t size, zf_error *error) {
    if (!*name || *name == '.' || strchr(name, '/')) {
        return zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_WRITE, "`%.64s` is not a name for a file", name);
    }
    if ((size_t)snprintf(path, size, "%s/%s%s", directory, name, ending) >= size) {
        return zf_fail(error, ZF_ERR_USAGE, ZFC_CANNOT_WRITE, "the path of `%.64s` is too long", name);
    }
    return ZF_OK;
}

/// Whether it is the offsets of lists, and not their ends, which are numbers.
static bool is_lists(const zf_decoded *column) { return column->info.part == ZF_LIST_ENDS && column->buffers.offsets != NULL; }

// ---- Raw ----

static zf_status write_part(const char *directory, const char *name, const char *ending, const void *bytes, size_t length,
                            zf_outputs *outputs, zf_error *error) {
    char path[4096], dotted[32];
    snprintf(dotted, sizeof dotted, ".%s", ending);
    ZF_TRY(zf_output_path(directory, name, dotted, path, sizeof path, error));
    zf_sink sink;
    ZF_TRY(zf_outputs_open(outputs, path, &sink, error));
    ZF_TRY(zf_sink_write(&sink, bytes, length, error));
    return zf_outputs_finished(outputs, error);
}

zf_status zf_write_raw(const char *directory, const zf_decoded *column, zf_outputs *outputs, zf_error *error) {
    const zf_column_info *info = &column->info;
    size_t length = column->sizes.values;
    if (is_lists(column)) {
        ZF_TRY(write_part(directory, info->name, "offsets", column->buffers.offsets, column->sizes.offsets, outputs, error));
        if (column->buffers.validity == NULL) return ZF_OK;
        return write_part(directory, info->name, "valid", column->buffers.validity, column->sizes.validity, outputs, error);
    }
    if (info->type.element == ZF_STRING) {
        length = string_bytes(column);
        ZF_TRY(write_part(directory, info->name, "offsets", column->buffers.offsets, (column->rows + 1) * 8, outputs, error));
    }
    ZF_TRY(write_part(directory, info->name, zf_raw_ending(info->type), column->buffers.values, length, outputs, error));
    if (!info->type.nullable) return ZF_OK;
    return write_part(directory, info->name, "valid", column->buffers.validity, (column->rows + 7) / 8, outputs, error);
}

// ---- .npy, format 1.0: a header of a multiple of 64 bytes, then the elements ----

static zf_status write_array(const char *directory, const char *name, const char *ending, const char *code, const void *elements,
                             uint64_t count, size_t length, zf_outputs *outputs, zf_error *error) {
    char text[256];
    int used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%llu,), }", code,
                        (unsigned long long)count);
    int padded = (10 + used + 1 + 63) / 64 * 64 - 10;
    memset(text + used, ' ', (size_t)(padded - used));
    text[padded - 1] = '\n';
    char path[4096], whole[32];
    snprintf(whole, sizeof whole, "%s.npy", ending);
    ZF_TRY(zf_output_path(directory, name, whole, path, sizeof path, error));
    zf_sink sink;
    ZF_TRY(zf_outputs_open(outputs, path, &sink, error));
    const unsigned char head[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(padded & 255), (unsigned char)(padded >> 8)};
    ZF_TRY(zf_sink_write(&sink, head, sizeof head, error));
    ZF_TRY(zf_sink_write(&sink, text, (size_t)padded, error));
    ZF_TRY(zf_sink_write(&sink, elements, length, error));
    return zf_outputs_finished(outputs, error);
}

// A bitmap as one byte a row.
static zf_status write_bits(const char *directory, const char *name, const char *ending, const void *bitmap, uint64_t rows,
                            zf_outputs *outputs, zf_error *error) {
    uint8_t *bytes = malloc(rows + 1);
    if (!bytes) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to write column `%s`", name);
    for (uint64_t i = 0; i < rows; i++) bytes[i] = zf_bit_at(bitmap, i);
    zf_status status = write_array(directory, name, ending, "|b1", bytes, rows, rows, outputs, error);
    free(bytes);
    return status;
}

zf_status zf_write_npy(const char *directory, const zf_decoded *column, zf_outputs *outputs, zf_error *error) {
    static const char *const codes[] = {"|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8"};
    const zf_column_info *info = &column->info;
    if (info->type.nullable || (is_lists(column) && column->buffers.validity != NULL))
        ZF_TRY(write_bits(directory, info->name, ".valid", column->buffers.validity, column->rows, outputs, error));
    if (is_lists(column))
        return write_array(directory, info->name, ".offsets", "<i8", column->buffers.offsets, column->rows + 1,
                           column->sizes.offsets, outputs, error);
    if (info->type.element == ZF_BOOL)
        return write_bits(directory, info->name, "", column->buffers.values, column->rows, outputs, error);
    if (info->type.element == ZF_STRING) {
        uint64_t bytes = string_bytes(column);
        ZF_TRY(write_array(directory, info->name, ".offsets", "<i8", column->buffers.offsets, column->rows + 1,
                           (column->rows + 1) * 8, outputs, error));
        return write_array(directory, info->name, ".bytes", "|u1", column->buffers.values, bytes, bytes, outputs, error);
    }
    return write_array(directory, info->name, "", codes[info->type.element], column->buffers.values, column->rows,
                       column->sizes.values, outputs, error);
}

// ---- Delimited text ----

void zf_print_field(const char *text, size_t length, zf_text *out) {
    bool plain = length > 0;
    for (size_t i = 0; i < length && plain; i++) plain = text[i] != ',' && text[i] != '"' && text[i] != '\n' && text[i] != '\r';
    if (plain) {
        zf_text_add(out, text, length);
        return;
    }
    zf_text_puts(out, "\"");
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"') zf_text_puts(out, "\"");
        zf_text_add(out, text + i, 1);
    }
    zf_text_puts(out, "\"");
}

static void print_one(const zf_decoded *column, uint64_t row, zf_text *out) {
    zf_column_type type = column->info.type;
    const char *values = column->buffers.values;
    if (type.nullable && !zf_bit_at(column->buffers.validity, row)) return; // null: an empty field without quotes
    if (type.element == ZF_STRING) {
        int64_t begin = column->buffers.offsets[row];
        zf_print_field(values + begin, (size_t)(column->buffers.offsets[row + 1] - begin), out);
    } else if (type.element == ZF_BOOL) {
        uint8_t value = zf_bit_at(values, row);
        zf_print_value(type, &value, out);
    } else {
        zf_print_value(type, values + row * zf_element_size(type.element), out);
    }
}

void zf_print_rows(const zf_decoded *columns, size_t count, zf_text *out) {
    for (uint64_t row = 0; count > 0 && row < columns[0].rows; row++) {
        for (size_t i = 0; i < count; i++) {
            if (i > 0) zf_text_add(out, ",", 1);
            print_one(&columns[i], row, out);
        }
        zf_text_add(out, "\n", 1);
    }
}
