#include "zfc/data/raw_column.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/error_codes.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"

// ---- Files ----

static zf_status cannot_read(const char *path, zf_error *error) {
    return zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "cannot read %s: %s", path, strerror(errno));
}

static zf_status read_open(int file, const char *path, size_t offset, void *to, size_t bytes, zf_error *error) {
    for (size_t have = 0; have < bytes;) {
        ssize_t count = pread(file, (char *)to + have, bytes - have, (off_t)(offset + have));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return cannot_read(path, error);
        if (count == 0) {
            zf_raise(error, ZF_E_FILE_CHANGED, "the file changed while it was read");
            return zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
        }
        have += (size_t)count;
    }
    return ZF_OK;
}

static zf_status read_at(const char *path, size_t offset, void *to, size_t bytes, zf_error *error) {
    if (bytes == 0) return ZF_OK;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return cannot_read(path, error);
    zf_status status = read_open(file, path, offset, to, bytes, error);
    close(file);
    return status;
}

/// Reads the beginning and the end of a file, and finds its elements.
static zf_status read_ends(const zf_column_data *column, zf_column_part part, const char *path, bool any_format,
                           zf_raw_elements *out, zf_error *error) {
    char *data = malloc(ZF_RAW_HEAD + ZF_RAW_TAIL);
    if (!data) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to read %s", path);
    struct stat facts;
    zf_status status = ZF_OK;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &facts) != 0) status = cannot_read(path, error);
    if (status == ZF_OK) {
        size_t total = (size_t)facts.st_size, count = total < ZF_RAW_HEAD ? total : ZF_RAW_HEAD;
        size_t tail = total < ZF_RAW_TAIL ? total : ZF_RAW_TAIL;
        const zf_raw_head head = {data, count, data + ZF_RAW_HEAD + tail, total};
        status = read_open(file, path, 0, data, count, error);
        if (status == ZF_OK) status = read_open(file, path, total - tail, data + ZF_RAW_HEAD, tail, error);
        if (status == ZF_OK) status = zf_raw_find_elements(column, part, path, any_format, &head, out, error);
    }
    if (file >= 0) close(file);
    free(data);
    return status;
}

// ---- Columns ----

/// The size of a value in its file: that of a time in an array is the array's.
static size_t element_size(const zf_raw_column *raw) {
    return raw->parts[ZF_PART_VALUES].elements.time.unit ? sizeof(int64_t) : zf_element_size(raw->column->type.element);
}

/// Rows that a part has, and what zf_table_data_check_rows compares with them.
static zf_status take_size(zf_raw_column *raw, zf_column_part part, const char *what, zf_error *error) {
    zf_column_data *column = raw->column;
    const zf_raw_part *file = &raw->parts[part];
    size_t length = file->elements.length;
    if (part == ZF_PART_OFFSETS) {
        if (length % 8 != 0 || length == 0) return zf_raw_bad_offsets(file->path, length, error);
        column->raw_offsets_at = file->elements.offset;
        raw->rows = length / 8 - 1;
    } else if (part == ZF_PART_VALIDITY) {
        column->valid_is_array = file->elements.is_array;
        column->valid_rows = length;
        column->raw_valid_bytes = file->elements.is_array ? (length + 7) / 8 : length;
    } else if (column->type.element != ZF_STRING) {
        size_t size = element_size(raw);
        if (length % size != 0) return zf_raw_bad_size(file->path, length, size, error);
        raw->rows = length / size;
        if (file->elements.time.unit && column->type.nullable) { // NaT is null, so the array gives both
            ZF_TRY(zf_column_claim(column, ZF_PART_VALIDITY, what, false, error));
            column->raw_valid_bytes = (raw->rows + 7) / 8;
        }
    }
    column->rows = raw->rows;
    return ZF_OK;
}

zf_status zf_raw_column_add(zf_raw_column *columns, const char *what, size_t name_length, const char *path, bool any_format,
                            zf_table_data *data, zf_error *error) {
    zf_column_data *column;
    zf_column_part part;
    ZF_TRY(zf_raw_claim(what, name_length, path, data, &column, &part, error));
    zf_raw_column *raw = &columns[column - data->columns];
    raw->column = column;
    ZF_TRY(read_ends(column, part, path, any_format, &raw->parts[part].elements, error));
    raw->parts[part].path = path;
    return take_size(raw, part, what, error);
}

// ---- Batches ----

static zf_status hold(const zf_raw_column *raw, void **buffer, size_t *capacity, size_t bytes, zf_error *error) {
    if (*buffer && bytes <= *capacity) return ZF_OK;
    const char *source = raw->column->givers[ZF_PART_VALUES].source;
    void *grown = zf_input_grow(raw->column->memory, source, *buffer, capacity, bytes, bytes, error);
    if (!grown) return ZF_ERR_MEMORY;
    *buffer = grown;
    return ZF_OK;
}

/// Reads the offsets of the next rows, of strings or lists, and checks them against the `all` bytes or values that there are.
static zf_status read_offsets(zf_raw_column *raw, uint64_t rows, size_t all, zf_error *error) {
    zf_column_data *column = raw->column;
    const zf_raw_part *file = &raw->parts[ZF_PART_OFFSETS];
    size_t bytes = (size_t)(rows + 1) * sizeof(int64_t);
    void *held = column->offsets;
    ZF_TRY(hold(raw, &held, &raw->offset_bytes, bytes, error));
    int64_t *offsets = column->offsets = held;
    ZF_TRY(read_at(file->path, file->elements.offset + raw->done * sizeof *offsets, offsets, bytes, error));
    return zf_column_check_offsets(column, offsets, raw->done, rows + 1, raw->last, all, error);
}

/// Reads strings, fewer than `*rows` if they are long.
static zf_status read_strings(zf_raw_column *raw, size_t most_bytes, uint64_t *rows, zf_error *error) {
    zf_column_data *column = raw->column;
    const zf_raw_part *characters = &raw->parts[ZF_PART_VALUES];
    size_t all = characters->elements.length;
    ZF_TRY(read_offsets(raw, *rows, all, error));
    int64_t *offsets = column->offsets;
    uint64_t some = *rows;
    while (some > 1 && (uint64_t)(offsets[some] - offsets[0]) > most_bytes) some = some > 16 ? some / 16 * 8 : some / 2;
    *rows = some;
    int64_t begin = offsets[0];
    raw->last = offsets[some];
    size_t length = (size_t)(raw->last - begin);
    ZF_TRY(zf_column_reserve(column, length + 1, false, error));
    ZF_TRY(read_at(characters->path, characters->elements.offset + (size_t)begin, column->values, length, error));
    for (uint64_t k = 0; k <= some; k++) offsets[k] -= begin;
    column->used = length;
    if (raw->done + some == raw->rows && (size_t)raw->last != all)
        return zf_column_bad_last_offset(column, raw->last, all, error);
    return ZF_OK;
}

zf_status zf_raw_column_check_offsets(const zf_raw_column *raw, const zf_raw_column *values, zf_error *error) {
    enum { SOME = 4096 };
    int64_t offsets[SOME], last = 0;
    const zf_raw_part *file = &raw->parts[ZF_PART_OFFSETS];
    size_t all = values ? values->rows : raw->parts[ZF_PART_VALUES].elements.length;
    for (uint64_t k = 0; k <= raw->rows; k += SOME) {
        uint64_t count = raw->rows + 1 - k < SOME ? raw->rows + 1 - k : SOME;
        ZF_TRY(read_at(file->path, file->elements.offset + k * sizeof *offsets, offsets, count * sizeof *offsets, error));
        ZF_TRY(zf_column_check_offsets(raw->column, offsets, k, count, last, all, error));
        last = offsets[count - 1];
    }
    return (size_t)last == all ? ZF_OK : zf_column_bad_last_offset(raw->column, last, all, error);
}

static zf_status read_values(zf_raw_column *raw, uint64_t rows, zf_error *error) {
    zf_column_data *column = raw->column;
    const zf_raw_part *file = &raw->parts[ZF_PART_VALUES];
    size_t size = element_size(raw), at = file->elements.offset + raw->done * size;
    ZF_TRY(zf_column_reserve(column, rows * size + 1, false, error));
    ZF_TRY(read_at(file->path, at, column->values, rows * size, error));
    column->used = rows * zf_element_size(column->type.element);
    if (column->type.element == ZF_BOOL) return zf_raw_check_booleans(column, file->path, column->values, rows, at, error);
    if (!file->elements.time.unit) return ZF_OK;
    if (column->type.nullable) {
        void *held = column->validity;
        ZF_TRY(hold(raw, &held, &raw->validity_bytes, rows / 8 + 1, error));
        column->validity = held;
    }
    return zf_npy_times_convert(&file->elements.time, file->path, column->name, raw->done, rows, column->values,
                                column->type.nullable ? column->validity : NULL, error);
}

static zf_status read_validity(zf_raw_column *raw, uint64_t rows, zf_error *error) {
    zf_column_data *column = raw->column;
    const zf_raw_part *file = &raw->parts[ZF_PART_VALIDITY];
    bool is_array = file->elements.is_array;
    size_t begin = is_array ? raw->done : raw->done / 8, end = is_array ? raw->done + rows : (raw->done + rows + 7) / 8;
    size_t at = file->elements.offset + begin, bytes = end - begin;
    void *held = column->validity;
    ZF_TRY(hold(raw, &held, &raw->validity_bytes, bytes + 1, error));
    uint8_t *bits = column->validity = held;
    ZF_TRY(read_at(file->path, at, bits, bytes, error));
    if (is_array) return zf_raw_pack_validity(column, file->path, bits, bytes, at, error);
    unsigned shift = raw->done % 8;
    bits[bytes] = 0;
    for (size_t k = 0; shift > 0 && k < bytes; k++) bits[k] = (uint8_t)(bits[k] >> shift | bits[k + 1] << (8 - shift));
    return ZF_OK;
}

/// Reads the next rows, at most `most_rows`.
static zf_status read_some(zf_raw_column *raw, size_t most_bytes, uint64_t most_rows, uint64_t *rows, zf_error *error) {
    zf_column_data *column = raw->column;
    bool is_text = column->type.element == ZF_STRING;
    uint64_t left = raw->rows - raw->done < most_rows ? raw->rows - raw->done : most_rows,
             some = most_bytes / (is_text ? sizeof(int64_t) : element_size(raw)) / 8 * 8;
    if (some < 8) some = 8;
    if (some > left) some = left;
    column->rows = column->used = 0;
    ZF_TRY(is_text ? read_strings(raw, most_bytes, &some, error) : read_values(raw, some, error));
    if (raw->parts[ZF_PART_VALIDITY].path) ZF_TRY(read_validity(raw, some, error));
    column->rows = some;
    ZF_TRY(zf_column_check_decimals(column, raw->done, error));
    raw->done += some;
    *rows = some;
    return ZF_OK;
}

zf_status zf_raw_column_read(zf_raw_column *raw, size_t most_bytes, uint64_t *rows, zf_error *error) {
    return read_some(raw, most_bytes, UINT64_MAX, rows, error);
}

// ---- Lists ----

/// Gives back what was read behind the first `keep` of `rows` rows: it will be read again.
static void give_back(zf_raw_column *raw, uint64_t rows, uint64_t keep) {
    zf_column_data *column = raw->column;
    if (column->type.element == ZF_STRING) {
        raw->last -= column->offsets[rows] - column->offsets[keep];
        column->used = (size_t)column->offsets[keep];
    } else {
        column->used = keep * zf_element_size(column->type.element);
    }
    raw->done -= rows - keep;
    column->rows = keep;
}

/// Reads the values of the first lists whose offsets were read, at least those of one list. `*some`: lists.
static zf_status read_list_values(const zf_column_data *lists, zf_raw_column *values, size_t most_bytes, uint64_t *some,
                                  zf_error *error) {
    const int64_t *offsets = lists->offsets;
    uint64_t have = 0, wanted = (uint64_t)(offsets[*some] - offsets[0]), low = 0, high = *some;
    ZF_TRY(read_some(values, most_bytes, wanted, &have, error));
    if (have < (uint64_t)(offsets[1] - offsets[0])) { // a list that is larger than a batch
        give_back(values, have, 0);
        ZF_TRY(read_some(values, SIZE_MAX, (uint64_t)(offsets[1] - offsets[0]), &have, error));
    }
    while (low < high) { // the lists whose values were all read
        uint64_t middle = high - (high - low) / 2;
        if ((uint64_t)(offsets[middle] - offsets[0]) <= have)
            low = middle;
        else
            high = middle - 1;
    }
    give_back(values, have, (uint64_t)(offsets[low] - offsets[0]));
    *some = low;
    return ZF_OK;
}

zf_status zf_raw_lists_read(zf_raw_column *lists, zf_raw_column *values, size_t most_bytes, uint64_t *rows, zf_error *error) {
    zf_column_data *column = lists->column;
    uint64_t left = lists->rows - lists->done, some = most_bytes / sizeof(int64_t) / 8 * 8;
    if (some > left) some = left;
    ZF_TRY(read_offsets(lists, some, (size_t)values->rows, error));
    if (some > 0) ZF_TRY(read_list_values(column, values, most_bytes, &some, error));
    int64_t begin = column->offsets[0];
    lists->last = column->offsets[some];
    for (uint64_t k = 0; k <= some; k++) column->offsets[k] -= begin;
    if (lists->parts[ZF_PART_VALIDITY].path) ZF_TRY(read_validity(lists, some, error));
    lists->done += some;
    column->rows = some;
    *rows = some;
    if (lists->done == lists->rows && (uint64_t)lists->last != values->rows)
        return zf_column_bad_last_offset(column, lists->last, (size_t)values->rows, error);
    return ZF_OK;
}
