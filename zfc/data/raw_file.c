#include "zfc/data/raw_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zfc/data/file_kind.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"

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

// Reads the header, which is no part of the elements.
static zf_status skip_npy_header(const char *path, const wanted_array *array, const zf_raw_head *file, zf_raw_elements *out,
                                 zf_error *error) {
    if (file->total < 12) return bad_npy(error, path, "the file is cut short");
    unsigned char major = (unsigned char)file->data[6];
    const unsigned char *at = (const unsigned char *)file->data + 8;
    size_t length = major == 1 ? at[0] + 256u * at[1] : at[0] + 256u * at[1] + 65536u * at[2] + 16777216u * at[3];
    size_t begin = major == 1 ? 10 : 12;
    if (major < 1 || major > 3) return bad_npy(error, path, "an unknown version of the .npy format");
    if (length > file->total - begin) return bad_npy(error, path, "the file is cut short");
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
    out->time = zf_npy_time_of(array->type, descr + 1, code);
    if (out->time.unit)
        size = sizeof(int64_t);
    else if (code != 3 || strncmp(descr + 2, npy_code(array->type), 2) != 0)
        return wrong_npy_type(error, path, array, descr + 1, code);
    char *end;
    unsigned long long count = *shape == '(' ? strtoull(shape + 1, &end, 10) : 0;
    if (*shape != '(') return bad_npy(error, path, "a shape that is no tuple");
    if (end == shape + 1 || shape[1] == '-' || shape[1] == '+' || (end[0] != ',' && end[0] != ')') ||
        (end[0] == ',' && end[1] != ')'))
        return wrong_npy_shape(error, path, shape);
    out->offset = begin + length;
    out->length = file->total - out->offset;
    if (count != out->length / size || out->length % size != 0) {
        char what[160];
        snprintf(what, sizeof what,
                 "shape and size of the file differ: %llu elements of %u bytes, but %zu bytes behind the header", count, size,
                 out->length);
        return bad_npy(error, path, what);
    }
    return ZF_OK;
}

// ---- Elements ----

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

zf_status zf_raw_find_elements(const zf_column_data *column, zf_column_part part, const char *path, bool any_format,
                               const zf_raw_head *file, zf_raw_elements *out, zf_error *error) {
    *out = (zf_raw_elements){.length = file->total};
    if (file->total >= 6 && memcmp(file->data, "\x93NUMPY", 6) == 0) {
        wanted_array array = wanted_of(column, part);
        out->is_array = true;
        return skip_npy_header(path, &array, file, out, error);
    }
    const zf_file_kind *kind = any_format ? NULL : zf_file_kind_of(file->data, file->count, file->end, file->total);
    if (kind) return zf_file_kind_refuse(kind, path, "raw elements", "; --raw takes files of any format as raw elements", error);
    bool is_boolean = column->type.element == ZF_BOOL && part == ZF_PART_VALUES;
    if (!any_format && is_boolean && ends_with(path, strlen(path), ".bool")) return refuse_bitmap(path, error);
    if (any_format || !ends_with(path, strlen(path), ".npy")) return ZF_OK;
    bad_npy(error, path, "the file is called .npy and does not begin as one");
    return zf_fail_hint(error, ZF_ERR_INPUT, "--raw takes files of any format as raw elements");
}

zf_status zf_raw_check_booleans(const zf_column_data *column, const char *path, const char *values, size_t count, size_t at,
                                zf_error *error) {
    for (size_t i = 0; i < count; i++) {
        if ((unsigned char)values[i] <= 1) continue;
        zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_FIELD, "a boolean of column `%s` that is %u, not 0 or 1", column->name,
                (unsigned char)values[i]);
        zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %zu", path, at + i);
        return zf_fail_hint(error, ZF_ERR_INPUT,
                            "a raw boolean is a byte here, not a bit as `zfc decode` writes it; what "
                            "`--format npy` and `csv` write can be encoded");
    }
    return ZF_OK;
}

// ---- Operands ----

/// The part that `COLUMN[.offsets|.bytes|.valid]` names. The values of lists are a column called COLUMN.values.
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
    bool lists = column->part == ZF_LIST_ENDS;
    if (lists && named->part == ZF_PART_VALUES) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_COLUMN, "column `%s` is of lists: it has no elements of its own", column->name);
        zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
        return zf_fail_hint(error, ZF_ERR_INPUT, ZF_LISTS_HINT);
    }
    if (named->part == ZF_PART_VALIDITY && !column->type.nullable) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_COLUMN, "column `%s` is not nullable: it has no validity", column->name);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
    }
    if ((named->part == ZF_PART_OFFSETS || named->is_bytes) && column->type.element != ZF_STRING && !lists) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_COLUMN, "column `%s` is not of strings: it has no offsets and bytes",
                column->name);
        zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
        return zf_fail_hint(error, ZF_ERR_INPUT, "give its elements, %s=FILE", column->name);
    }
    return ZF_OK;
}

zf_status zf_raw_claim(const char *what, size_t name_length, const char *path, zf_table_data *data, zf_column_data **column,
                       zf_column_part *part, zf_error *error) {
    named_part named = find_part(data, what, name_length);
    if (!named.column) return fail_no_column(data, what, name_length, error);
    ZF_TRY(check_part(&named, what, error));
    if (!*path) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "no file is named behind the `=`");
        zf_fail_place(error, ZF_ERR_INPUT, "%s", what);
        return zf_fail_hint(error, ZF_ERR_INPUT, "give %sFILE", what);
    }
    *column = named.column;
    *part = named.part;
    return zf_column_claim(named.column, named.part, what, false, error);
}

zf_status zf_raw_bad_size(const char *path, size_t bytes, size_t size, zf_error *error) {
    zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_SIZE, "%zu bytes hold no whole number of elements of %zu bytes", bytes, size);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %zu", path, bytes / size * size);
}

zf_status zf_raw_bad_offsets(const char *path, size_t bytes, zf_error *error) {
    zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_SIZE, "%zu bytes are no offsets: those are rows + 1 numbers of 8 bytes", bytes);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
}

zf_status zf_raw_pack_validity(const zf_column_data *column, const char *path, uint8_t *rows, size_t count, size_t at,
                               zf_error *error) {
    uint8_t eight = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i] > 1) {
            zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_FIELD, "the validity of a row of column `%s` that is %u, not 0 or 1",
                    column->name, rows[i]);
            return zf_fail_place(error, ZF_ERR_INPUT, "%s: byte %zu", path, at + i);
        }
        eight = (uint8_t)(eight | rows[i] << (i % 8));
        if (i % 8 < 7 && i + 1 < count) continue;
        rows[i / 8] = eight;
        eight = 0;
    }
    return ZF_OK;
}
