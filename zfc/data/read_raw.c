// Raw little-endian files and .npy arrays into columns.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zfc/data/file_kind.h"
#include "zfc/data/npy_times.h"
#include "zfc/data/table_data.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"

/// A file's bytes, which a column takes over.
typedef struct bytes {
    char *data;
    size_t length, capacity;
    size_t offset;    ///< byte of the file where the elements begin; `data` begins there, too
    bool is_array;    ///< of a .npy file
    zf_npy_time time; ///< of an array of times
} bytes;

static zf_status cannot_read(const char *path, int reason, zf_error *error) {
    return zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "cannot read %s: %s", path, strerror(reason));
}

// Reads all of it into one buffer: of a regular file one of its size.
static zf_status read_open(int file, const char *path, zf_input_memory *memory, bytes *out, zf_error *error) {
    struct stat facts;
    if (fstat(file, &facts) != 0) return cannot_read(path, errno, error);
    size_t first = S_ISREG(facts.st_mode) && facts.st_size > 0 ? (size_t)facts.st_size + 1 : 1 << 16;
    for (;;) {
        if (out->length == out->capacity) {
            size_t wish = out->capacity ? 2 * out->capacity : first;
            char *data =
                zf_input_grow(memory, path, out->data, &out->capacity, out->capacity ? out->capacity + 1 : first, wish, error);
            if (!data) return ZF_ERR_MEMORY;
            out->data = data;
        }
        ssize_t count = read(file, out->data + out->length, out->capacity - out->length);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return cannot_read(path, errno, error);
        if (count == 0) return ZF_OK;
        out->length += (size_t)count;
    }
}

static zf_status read_whole(const char *path, zf_input_memory *memory, bytes *out, zf_error *error) {
    int file = open(path, O_RDONLY | O_CLOEXEC); // which may be a pipe
    if (file < 0) return cannot_read(path, errno, error);
    zf_status status = read_open(file, path, memory, out, error);
    close(file);
    return status;
}

// ---- .npy: "\x93NUMPY", version, length of the header, a Python dictionary as text ----

enum { NPY_HEADER_MOST = 65536 }; ///< bytes

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
    if (type.logical == ZF_LOGICAL_TIMESTAMP)
        return zf_fail_hint(error, status, "times of the units D, h, m, s, ms, us and ns are taken: a.astype('datetime64[us]')");
    return type.logical == ZF_LOGICAL_DATE32 ? zf_fail_hint(error, status, "dates are a.astype('datetime64[D]')") : status;
}

// `shape` is Python's tuple, as far as the header has it.
static zf_status wrong_npy_shape(zf_error *error, const char *path, const char *shape) {
    size_t length = strcspn(shape, ")");
    if (!shape[length]) return bad_npy(error, path, "the header ends within the shape");
    if (strspn(shape, "(0123456789, ") < length) {
        char what[160], shown[4 * 24 + 1];
        zf_printable(shape, length < 24 ? length + 1 : 24, shown);
        snprintf(what, sizeof what, "a shape that cannot be read: %s", shown);
        return bad_npy(error, path, what);
    }
    unsigned dimensions = 0;
    bool number = false;
    for (; *shape != ')'; shape++) {
        bool digit = *shape >= '0' && *shape <= '9';
        dimensions += digit && !number;
        number = digit;
    }
    if (dimensions == 0) {
        zf_status status = bad_npy(error, path, "a single value (an array without a dimension), but a column has one dimension");
        return zf_fail_hint(error, status, "of one row: a.reshape(1)");
    }
    char what[96];
    snprintf(what, sizeof what, "an array of %u dimensions, but a column has one", dimensions);
    zf_status status = bad_npy(error, path, what);
    return zf_fail_hint(error, status, "give each column as an array of its own, such as a[:, 0]");
}

// Reads the header, which becomes no part of the data.
static zf_status skip_npy_header(const char *path, const wanted_array *array, bytes *file, zf_error *error) {
    if (file->length < 12) return bad_npy(error, path, "the file is cut short");
    unsigned char major = (unsigned char)file->data[6];
    const unsigned char *at = (const unsigned char *)file->data + 8;
    size_t length = major == 1 ? at[0] + 256u * at[1] : at[0] + 256u * at[1] + 65536u * at[2] + 16777216u * at[3];
    size_t begin = major == 1 ? 10 : 12;
    if (major < 1 || major > 3) return bad_npy(error, path, "an unknown version of the .npy format");
    if (length > file->length - begin) return bad_npy(error, path, "the file is cut short");
    if (length > NPY_HEADER_MOST) return bad_npy(error, path, "a header of more than 65536 bytes");
    char header[NPY_HEADER_MOST + 1];
    memcpy(header, file->data + begin, length);
    header[length] = 0;
    const char *order = npy_value(header, "'fortran_order'"), *shape = npy_value(header, "'shape'"),
               *descr = npy_value(header, "'descr'");
    if (!order || !shape || !descr) return bad_npy(error, path, "the dictionary lacks descr, fortran_order or shape");
    if (strncmp(descr, "'>", 2) == 0) return bad_npy(error, path, "big-endian elements");
    if (*descr != '\'') return bad_npy(error, path, "an array of records; give each column a file of its own");
    size_t code = strcspn(descr + 1, "'");
    unsigned size = zf_element_size(array->type.element);
    file->time = zf_npy_time_of(array->type, descr + 1, code);
    if (file->time.unit)
        size = sizeof(int64_t);
    else if (code != 3 || strncmp(descr + 2, npy_code(array->type), 2) != 0)
        return wrong_npy_type(error, path, array, descr + 1, code);
    char *end;
    unsigned long long count = *shape == '(' ? strtoull(shape + 1, &end, 10) : 0;
    if (*shape != '(') return bad_npy(error, path, "a shape that is no tuple");
    if (end == shape + 1 || shape[1] == '-' || shape[1] == '+' || (end[0] != ',' && end[0] != ')') ||
        (end[0] == ',' && end[1] != ')'))
        return wrong_npy_shape(error, path, shape);
    file->offset = begin + length;
    file->length -= file->offset;
    if (count != file->length / size || file->length % size != 0) {
        char what[160];
        snprintf(what, sizeof what,
                 "shape and size of the file differ: %llu elements of %u bytes, but %zu bytes behind the header", count, size,
                 file->length);
        return bad_npy(error, path, what);
    }
    memmove(file->data, file->data + file->offset, file->length);
    return ZF_OK;
}

// ---- Columns ----

static bool ends_with(const char *name, size_t length, const char *end) {
    size_t part = strlen(end);
    return length > part && memcmp(name + length - part, end, part) == 0;
}

// A bitmap whose bytes are all 0 or 1 would be read as an eighth of its rows, so the name decides.
static zf_status refuse_bitmap(const char *path, zf_error *error) {
    zf_fail(error, ZF_ERR_INPUT, ZFC_OTHER_FORMAT, "a bitmap, as `zfc decode` writes `.bool` files, not a byte for each boolean");
    zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
    return zf_fail_hint(error, ZF_ERR_INPUT,
                        "what `decode --format npy` and `csv` write can be encoded; --raw takes the file as bytes, 0 or 1");
}

// Leaves the elements alone in `file`, without the header of a .npy file.
static zf_status find_elements(const zf_column_data *column, zf_column_part part, const char *path, bool any_format, bytes *file,
                               zf_error *error) {
    if (file->length >= 6 && memcmp(file->data, "\x93NUMPY", 6) == 0) {
        wanted_array array = wanted_of(column, part);
        file->is_array = true;
        return skip_npy_header(path, &array, file, error);
    }
    const zf_file_kind *kind = any_format ? NULL : zf_file_kind_of(file->data, file->length, true);
    if (kind) return zf_file_kind_refuse(kind, path, "raw elements", "; --raw takes files of any format as raw elements", error);
    bool is_boolean = column->type.element == ZF_BOOL && part == ZF_PART_VALUES;
    if (!any_format && is_boolean && ends_with(path, strlen(path), ".bool")) return refuse_bitmap(path, error);
    if (any_format || !ends_with(path, strlen(path), ".npy")) return ZF_OK;
    bad_npy(error, path, "the file is called .npy and does not begin as one");
    return zf_fail_hint(error, ZF_ERR_INPUT, "--raw takes files of any format as raw elements");
}

static zf_status check_booleans(const zf_column_data *column, const char *path, const bytes *file, zf_error *error) {
    for (size_t i = 0; i < file->length; i++) {
        if ((unsigned char)file->data[i] <= 1) continue;
        zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_FIELD, "a boolean of column `%s` that is %u, not 0 or 1", column->name,
                (unsigned char)file->data[i]);
        zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %zu", path, file->offset + i);
        return zf_fail_hint(error, ZF_ERR_INPUT,
                            "a raw boolean is a byte here, not a bit as `zfc decode` writes it; what "
                            "`--format npy` and `csv` write can be encoded");
    }
    return ZF_OK;
}

static zf_status take_values(zf_column_data *column, const char *what, const char *path, bytes *file, zf_error *error) {
    size_t size = zf_element_size(column->type.element);
    if (file->time.unit) {
        uint8_t **validity = NULL;
        if (column->type.nullable) { // NaT is null, so the array gives both
            ZF_TRY(zf_column_claim(column, ZF_PART_VALIDITY, what, false, error));
            size_t capacity = 0;
            column->raw_valid_bytes = (file->length / sizeof(int64_t) + 7) / 8;
            column->validity = zf_input_grow(column->memory, path, NULL, &capacity, column->raw_valid_bytes + 1,
                                             column->raw_valid_bytes + 1, error);
            if (!column->validity) return ZF_ERR_MEMORY;
            validity = &column->validity;
        }
        size_t rows = file->length / sizeof(int64_t);
        ZF_TRY(zf_npy_times_convert(&file->time, path, column->name, rows, file->data, validity ? *validity : NULL, error));
        file->length = rows * size;
    }
    if (size > 0 && file->length % size != 0) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_SIZE, "%zu bytes hold no whole number of elements of %zu bytes", file->length, size);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %zu", path, file->length / size * size);
    }
    if (column->type.element == ZF_BOOL) ZF_TRY(check_booleans(column, path, file, error));
    column->values = file->data;
    column->used = file->length;
    column->capacity = file->capacity;
    if (size > 0) column->rows = file->length / size;
    *file = (bytes){0};
    return ZF_OK;
}

static zf_status take_offsets(zf_column_data *column, const char *path, bytes *file, zf_error *error) {
    if (file->length % 8 != 0 || file->length == 0) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_SIZE, "%zu bytes are no offsets: those are rows + 1 numbers of 8 bytes",
                file->length);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
    }
    column->rows = file->length / 8 - 1;
    column->raw_offsets_at = file->offset;
    column->offsets = (int64_t *)(void *)file->data;
    *file = (bytes){0};
    return ZF_OK;
}

// A bitmap is kept, with its memory; an array of booleans becomes one, in place.
static zf_status take_validity(zf_column_data *column, const char *path, bytes *file, zf_error *error) {
    if (file->is_array) {
        uint8_t *rows = (uint8_t *)file->data, eight = 0;
        column->valid_is_array = true;
        column->valid_rows = file->length;
        for (size_t i = 0; i < file->length; i++) {
            if (rows[i] > 1) {
                zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_FIELD, "the validity of a row of column `%s` that is %u, not 0 or 1",
                        column->name, rows[i]);
                return zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %zu", path, file->offset + i);
            }
            eight = (uint8_t)(eight | rows[i] << (i % 8));
            if (i % 8 < 7 && i + 1 < file->length) continue;
            rows[i / 8] = eight;
            eight = 0;
        }
        file->length = (file->length + 7) / 8;
    }
    column->validity = (uint8_t *)file->data;
    column->raw_valid_bytes = file->length;
    *file = (bytes){0};
    return ZF_OK;
}

/// The part that `COLUMN[.offsets|.bytes|.valid]` names.
typedef struct named_part {
    zf_column_data *column; ///< NULL: the table has none of this name
    zf_column_part part;
    bool is_bytes; ///< named with `.bytes`
} named_part;

static named_part find_part(zf_table_data *data, const char *what, size_t length) {
    static const struct {
        const char *end;
        zf_column_part part;
    } ends[] = {{".offsets", ZF_PART_OFFSETS}, {".valid", ZF_PART_VALIDITY}, {".bytes", ZF_PART_VALUES}};
    named_part found = {.column = zf_table_data_find(data, what, length), .part = ZF_PART_VALUES};
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !found.column; i++) {
        if (!ends_with(what, length, ends[i].end)) continue;
        found.column = zf_table_data_find(data, what, length - strlen(ends[i].end));
        found.part = ends[i].part;
        found.is_bytes = ends[i].part == ZF_PART_VALUES;
    }
    return found;
}

static zf_status fail_no_column(const zf_table_data *data, const char *what, size_t length, zf_error *error) {
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(length < 100 ? length : 100), what);
    const char *nearest = zf_table_data_nearest(data, name);
    zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_COLUMN, "the table has no column `%s`", name);
    zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
    return nearest ? zf_fail_hint(error, ZF_ERR_INPUT, "did you mean `%s`?", nearest) : ZF_ERR_INPUT;
}

/// Whether the column has this part.
static zf_status check_part(const named_part *named, const char *what, zf_error *error) {
    const zf_column_data *column = named->column;
    if (named->part == ZF_PART_VALIDITY && !column->type.nullable) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_COLUMN, "column `%s` is not nullable: it has no validity", column->name);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
    }
    if ((named->part == ZF_PART_OFFSETS || named->is_bytes) && column->type.element != ZF_STRING) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_COLUMN, "column `%s` is not of strings: it has no offsets and bytes",
                column->name);
        zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
        return zf_fail_hint(error, ZF_ERR_INPUT, "give its elements, %s=FILE", column->name);
    }
    return ZF_OK;
}

zf_status zf_read_raw(const char *what, size_t name_length, const char *path, bool any_format, zf_table_data *data,
                      zf_error *error) {
    named_part named = find_part(data, what, name_length);
    if (!named.column) return fail_no_column(data, what, name_length, error);
    ZF_TRY(check_part(&named, what, error));
    if (!*path) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "no file is named behind the `=`");
        zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
        return zf_fail_hint(error, ZF_ERR_INPUT, "give %sFILE", what);
    }
    ZF_TRY(zf_column_claim(named.column, named.part, what, false, error));
    bytes file = {0};
    zf_status status = read_whole(path, &data->memory, &file, error);
    if (status == ZF_OK) status = find_elements(named.column, named.part, path, any_format, &file, error);
    if (status == ZF_OK && named.part == ZF_PART_OFFSETS)
        status = take_offsets(named.column, path, &file, error);
    else if (status == ZF_OK && named.part == ZF_PART_VALIDITY)
        status = take_validity(named.column, path, &file, error);
    else if (status == ZF_OK)
        status = take_values(named.column, what, path, &file, error);
    zf_input_release(&data->memory, file.data, file.capacity);
    return status;
}
