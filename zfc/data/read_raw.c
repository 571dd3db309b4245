// Raw little-endian files and .npy arrays into columns.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/read_whole.h"
#include "zfc/data/table_data.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"

/// A file's bytes; elements begin at `offset`.
typedef struct bytes {
    zf_text text;
    size_t offset;
    bool is_array; ///< of a .npy file
} bytes;

static zf_status read_whole(const char *path, bytes *out, zf_error *error) {
    *out = (bytes){0};
    int file = open(path, O_RDONLY | O_CLOEXEC); // which may be a pipe
    if (file < 0) return zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "cannot read %s: %s", path, strerror(errno));
    int failed = zf_read_whole(file, SIZE_MAX, &out->text);
    close(file);
    if (failed == 0) return ZF_OK;
    zf_text_free(&out->text);
    if (failed == ENOMEM) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to read %s", path);
    return zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_READ, "cannot read %s: %s", path, strerror(failed));
}

// ---- .npy: "\x93NUMPY", version, length of the header, a Python dictionary as text ----

static zf_status bad_npy(zf_error *error, const char *path, const char *what) {
    zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_NPY, "%s", what);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s: header of the .npy file", path);
}

// Returns the text behind `key` and a colon in the header's dictionary, or NULL.
static const char *npy_value(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':') at++;
    return at;
}

// The type's code in a .npy header, without the sign of byte order.
static const char *npy_code(zf_column_type type) {
    static const char *const codes[] = {"u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8", "b1", ""};
    return codes[type.element];
}

// The requested part, and the type of its array: that which `zfc decode --format npy` writes.
typedef struct wanted_array {
    const char *what;
    zf_column_type type;
} wanted_array;

static wanted_array wanted_of(const zf_column_data *column, zf_column_part part) {
    if (part == ZF_PART_OFFSETS) return (wanted_array){"offsets need", {.element = ZF_I64}};
    if (part == ZF_PART_VALIDITY) return (wanted_array){"validity needs", {.element = ZF_BOOL}};
    if (column->type.element == ZF_STRING) return (wanted_array){"the bytes of strings need", {.element = ZF_U8}};
    return (wanted_array){"the column needs", column->type};
}

// `code` is the array's type as numpy writes it, such as <i8.
static zf_status wrong_npy_type(zf_error *error, const char *path, const wanted_array *array, const char *code, size_t length) {
    zf_column_type type = array->type;
    const char *wanted = npy_code(type);
    char what[160], shown[4 * 24 + 1];
    zf_printable(code, length < 24 ? length : 24, shown);
    snprintf(what, sizeof what, "elements of type %s, but %s %c%s", shown, array->what, wanted[1] == '1' ? '|' : '<', wanted);
    zf_status status = bad_npy(error, path, what);
    if (length < 3 || memcmp(code + 1, "M8", 2) != 0) return status;
    if (type.logical == ZF_LOGICAL_DATE32)
        return zf_fail_hint(error, status, "dates are days since 1970: a.astype('datetime64[D]').astype('int32')");
    return zf_fail_hint(error, status, "timestamps are microseconds since 1970: a.astype('datetime64[us]').astype('int64')");
}

static zf_status skip_npy_header(const char *path, const wanted_array *array, bytes *file, zf_error *error) {
    if (file->text.length < 12) return bad_npy(error, path, "the file is cut short");
    unsigned char major = (unsigned char)file->text.data[6];
    const unsigned char *at = (const unsigned char *)file->text.data + 8;
    size_t length = major == 1 ? at[0] + 256u * at[1] : at[0] + 256u * at[1] + 65536u * at[2] + 16777216u * at[3];
    size_t begin = major == 1 ? 10 : 12;
    if (major < 1 || major > 3) return bad_npy(error, path, "an unknown version of the .npy format");
    if (length > file->text.length - begin || length > 65536) return bad_npy(error, path, "the file is cut short");
    char header[65537];
    memcpy(header, file->text.data + begin, length);
    header[length] = 0;
    const char *order = npy_value(header, "'fortran_order'"), *shape = npy_value(header, "'shape'"),
               *descr = npy_value(header, "'descr'");
    if (!order || !shape || !descr) return bad_npy(error, path, "the dictionary lacks descr, fortran_order or shape");
    if (strncmp(descr, "'>", 2) == 0) return bad_npy(error, path, "big-endian elements");
    if (*descr != '\'') return bad_npy(error, path, "an array of records; give each column a file of its own");
    size_t code = strcspn(descr + 1, "'");
    if (code != 3 || strncmp(descr + 2, npy_code(array->type), 2) != 0)
        return wrong_npy_type(error, path, array, descr + 1, code);
    char *end;
    unsigned long long count = *shape == '(' ? strtoull(shape + 1, &end, 10) : 0;
    if (*shape != '(' || (end[0] != ',' && end[0] != ')') || (end[0] == ',' && end[1] != ')')) {
        return bad_npy(error, path, "an array that has not one dimension");
    }
    file->offset = begin + length;
    if (count != (file->text.length - file->offset) / zf_element_size(array->type.element))
        return bad_npy(error, path, "shape and size of the file differ");
    return ZF_OK;
}

// ---- Columns ----

static bool ends_with(const char *name, size_t length, const char *end) {
    size_t part = strlen(end);
    return length > part && memcmp(name + length - part, end, part) == 0;
}

// Sets where the elements begin: behind the header of a .npy file.
static zf_status find_elements(const zf_column_data *column, zf_column_part part, const char *path, bytes *file,
                               zf_error *error) {
    if (file->text.length >= 6 && memcmp(file->text.data, "\x93NUMPY", 6) == 0) {
        wanted_array array = wanted_of(column, part);
        file->is_array = true;
        return skip_npy_header(path, &array, file, error);
    }
    if (!ends_with(path, strlen(path), ".npy")) return ZF_OK;
    bad_npy(error, path, "the file is called .npy and does not begin as one");
    return zf_fail_hint(error, ZF_ERR_INPUT, "raw elements are read from a file of another name");
}

static zf_status take_values(zf_column_data *column, const char *path, const bytes *file, zf_error *error) {
    size_t size = zf_element_size(column->type.element), length = file->text.length - file->offset;
    if (size > 0 && length % size != 0) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_SIZE, "%zu bytes hold no whole number of elements of %zu bytes", length, size);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %zu", path, file->offset + length / size * size);
    }
    const char *data = file->text.data + file->offset;
    for (size_t i = 0; column->type.element == ZF_BOOL && i < length; i++) {
        if ((unsigned char)data[i] > 1) {
            zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_FIELD, "a boolean of column `%s` that is %u, not 0 or 1", column->name,
                    (unsigned char)data[i]);
            zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %zu", path, file->offset + i);
            return zf_fail_hint(error, ZF_ERR_INPUT,
                                "a raw boolean is a byte here, not a bit as `zfc decode` writes it; what "
                                "`--format npy` and `csv` write can be encoded");
        }
    }
    column->used = 0;
    ZF_TRY(zf_column_reserve(column, length + 1, false, error));
    if (length > 0) memcpy(column->values, data, length);
    column->used = length;
    if (size > 0) column->rows = length / size;
    return ZF_OK;
}

static zf_status take_offsets(zf_column_data *column, const char *path, const bytes *file, zf_error *error) {
    size_t length = file->text.length - file->offset;
    if (length % 8 != 0 || length == 0)
        return zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_SIZE, "%s: offsets are rows + 1 numbers of 8 bytes", path);
    column->rows = length / 8 - 1;
    column->raw_offsets_at = file->offset;
    column->offsets = malloc(length);
    if (!column->offsets) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for %s", path);
    memcpy(column->offsets, file->text.data + file->offset, length);
    return ZF_OK;
}

// A bitmap is kept, with its memory; an array of booleans becomes one.
static zf_status take_validity(zf_column_data *column, const char *path, bytes *file, zf_error *error) {
    if (!file->is_array) {
        column->validity = (uint8_t *)file->text.data;
        column->raw_valid_bytes = file->text.length;
        file->text = (zf_text){0};
        return ZF_OK;
    }
    const uint8_t *rows = (const uint8_t *)file->text.data + file->offset;
    size_t count = file->text.length - file->offset;
    column->validity = calloc(count / 8 + 1, 1);
    if (!column->validity) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for %s", path);
    column->raw_valid_bytes = (count + 7) / 8;
    column->valid_is_array = true;
    column->valid_rows = count;
    for (size_t i = 0; i < count; i++) {
        if (rows[i] > 1) {
            zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_FIELD, "the validity of a row of column `%s` that is %u, not 0 or 1",
                    column->name, rows[i]);
            return zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %zu", path, file->offset + i);
        }
        column->validity[i / 8] |= (uint8_t)(rows[i] << (i % 8));
    }
    return ZF_OK;
}

zf_status zf_read_raw(const char *what, size_t name_length, const char *path, zf_table_data *data, zf_error *error) {
    zf_column_data *column = zf_table_data_find(data, what, name_length);
    bool is_offsets = !column && ends_with(what, name_length, ".offsets"),
         is_valid = !column && ends_with(what, name_length, ".valid");
    bool is_bytes = !column && ends_with(what, name_length, ".bytes");
    if (is_offsets)
        column = zf_table_data_find(data, what, name_length - strlen(".offsets"));
    else if (is_bytes)
        column = zf_table_data_find(data, what, name_length - strlen(".bytes"));
    else if (is_valid)
        column = zf_table_data_find(data, what, name_length - strlen(".valid"));
    if (column && is_valid && !column->type.nullable) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_COLUMN, "column `%s` is not nullable: it has no validity", column->name);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
    }
    if (column && (is_offsets || is_bytes) && column->type.element != ZF_STRING) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_COLUMN, "column `%s` is not of strings: it has no offsets and bytes",
                column->name);
        zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
        return zf_fail_hint(error, ZF_ERR_INPUT, "give its elements, %s=FILE", column->name);
    }
    if (!column) {
        const char *names[256];
        size_t count = 0;
        for (; count < data->count && count < 256; count++) names[count] = data->columns[count].name;
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(name_length < 100 ? name_length : 100), what);
        const char *nearest = zf_nearest_name(name, names, count);
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_COLUMN, "the table has no column `%s`", name);
        zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
        return nearest ? zf_fail_hint(error, ZF_ERR_INPUT, "did you mean `%s`?", nearest) : ZF_ERR_INPUT;
    }
    if (!*path) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "no file is named behind the `=`");
        zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
        return zf_fail_hint(error, ZF_ERR_INPUT, "give %sFILE", what);
    }
    zf_column_part part = is_offsets ? ZF_PART_OFFSETS : is_valid ? ZF_PART_VALIDITY : ZF_PART_VALUES;
    ZF_TRY(zf_column_claim(column, part, what, false, error));
    bytes file = {0};
    ZF_TRY(read_whole(path, &file, error));
    zf_status status = find_elements(column, part, path, &file, error);
    if (status == ZF_OK && is_offsets)
        status = take_offsets(column, path, &file, error);
    else if (status == ZF_OK && is_valid)
        status = take_validity(column, path, &file, error);
    else if (status == ZF_OK)
        status = take_values(column, path, &file, error);
    zf_text_free(&file.text);
    return status;
}
