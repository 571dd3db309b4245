// Raw little-endian files and .npy arrays into columns, whole: pipes, too.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zfc/data/raw_file.h"
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

// ---- Columns ----

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
        ZF_TRY(zf_npy_times_convert(&file->time, path, column->name, 0, rows, file->data, validity ? *validity : NULL, error));
        file->length = rows * size;
    }
    if (size > 0 && file->length % size != 0) return zf_raw_bad_size(path, file->length, size, error);
    if (column->type.element == ZF_BOOL)
        ZF_TRY(zf_raw_check_booleans(column, path, file->data, file->length, file->offset, error));
    column->values = file->data;
    column->used = file->length;
    column->capacity = file->capacity;
    if (size > 0) column->rows = file->length / size;
    *file = (bytes){0};
    return ZF_OK;
}

static zf_status take_offsets(zf_column_data *column, const char *path, bytes *file, zf_error *error) {
    if (file->length % 8 != 0 || file->length == 0) return zf_raw_bad_offsets(path, file->length, error);
    column->rows = file->length / 8 - 1;
    column->raw_offsets_at = file->offset;
    column->offsets = (int64_t *)(void *)file->data;
    *file = (bytes){0};
    return ZF_OK;
}

// A bitmap is kept, with its memory; an array of booleans becomes one, in place.
static zf_status take_validity(zf_column_data *column, const char *path, bytes *file, zf_error *error) {
    if (file->is_array) {
        column->valid_is_array = true;
        column->valid_rows = file->length;
        ZF_TRY(zf_raw_pack_validity(column, path, (uint8_t *)file->data, file->length, file->offset, error));
        file->length = (file->length + 7) / 8;
    }
    column->validity = (uint8_t *)file->data;
    column->raw_valid_bytes = file->length;
    *file = (bytes){0};
    return ZF_OK;
}

zf_status zf_read_raw(const char *what, size_t name_length, const char *path, bool any_format, zf_table_data *data,
                      zf_error *error) {
    zf_column_data *column;
    zf_column_part part;
    ZF_TRY(zf_raw_claim(what, name_length, path, data, &column, &part, error));
    bytes file = {0};
    zf_raw_elements elements;
    zf_status status = read_whole(path, &data->memory, &file, error);
    if (status == ZF_OK) {
        const zf_raw_head head = {file.data, file.length, file.data + file.length, file.length};
        status = zf_raw_find_elements(column, part, path, any_format, &head, &elements, error);
    }
    if (status == ZF_OK) {
        file.offset = elements.offset;
        file.length = elements.length;
        file.is_array = elements.is_array;
        file.time = elements.time;
        if (file.offset > 0) memmove(file.data, file.data + file.offset, file.length);
    }
    if (status == ZF_OK && part == ZF_PART_OFFSETS)
        status = take_offsets(column, path, &file, error);
    else if (status == ZF_OK && part == ZF_PART_VALIDITY)
        status = take_validity(column, path, &file, error);
    else if (status == ZF_OK)
        status = take_values(column, what, path, &file, error);
    zf_input_release(&data->memory, file.data, file.capacity);
    return status;
}
