#include "tests/differential/diff_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/container/element.h"
#include "tests/differential/diff_text.h"
#include "tests/interp/interp_internal.h"
#include "tests/interp/load.h"

void diff_file_free(diff_file *file) {
    free(file->bytes);
    free(file->validity);
    free(file->offsets);
    free(file->stored);
    *file = (diff_file){0};
}

static uint8_t *values_of(const interp_stream *plain) {
    zf_type type = interp_stream_type(plain);
    uint64_t rows = interp_stream_count(plain);
    size_t size = type.kind == ZF_K_BOOL ? 1 : zf_kind_size(type.kind);
    if (type.kind == ZF_K_STRING) {
        uint8_t *bytes = calloc(diff_characters(plain) + 1, 1);
        free(diff_texts(plain, bytes));
        return bytes;
    }
    uint8_t *values = calloc(rows + 1, size);
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t bits = interp_stream_bits(plain, r, NULL);
        memcpy(values + r * size, &bits, size);
    }
    return values;
}

static int64_t *offsets_of(const interp_stream *plain) {
    if (interp_stream_type(plain).kind != ZF_K_STRING) return NULL;
    uint8_t *bytes = malloc(diff_characters(plain) + 1);
    uint64_t *offsets = diff_texts(plain, bytes);
    free(bytes);
    return (int64_t *)(void *)offsets;
}

static uint8_t *validity_of(const interp_stream *plain) {
    uint64_t rows = interp_stream_count(plain);
    if (!interp_stream_type(plain).nullable) return NULL;
    uint8_t *validity = calloc(rows / 8 + 1, 1);
    for (uint64_t r = 0; r < rows; r++) {
        if (!interp_stream_get(plain, r).null) validity[r / 8] |= (uint8_t)(1u << (r % 8));
    }
    return validity;
}

diff_plain diff_plain_of(const interp_stream *plain) {
    return (diff_plain){.values = values_of(plain), .offsets = offsets_of(plain), .validity = validity_of(plain)};
}

void diff_plain_free(diff_plain *plain) {
    free(plain->values);
    free(plain->offsets);
    free(plain->validity);
    *plain = (diff_plain){0};
}

bool diff_file_same(const diff_file *file, const interp_stream *plain) {
    uint64_t rows = interp_stream_count(plain);
    int64_t *offsets = offsets_of(plain);
    uint8_t *validity = validity_of(plain), *characters = offsets != NULL ? values_of(plain) : NULL;
    const uint8_t *values = offsets != NULL ? characters : interp_stream_bytes(plain);
    bool same = file->size == (offsets != NULL ? diff_characters(plain) : interp_stream_size(plain));
    same = same && (file->size == 0 || memcmp(file->bytes, values, file->size) == 0);
    if (offsets != NULL) same = same && memcmp(file->offsets, offsets, (rows + 1) * sizeof *offsets) == 0;
    free(characters);
    free(offsets);
    if (validity != NULL) same = same && memcmp(file->validity, validity, (rows + 7) / 8) == 0;
    free(validity);
    return same;
}

typedef struct collecting {
    const uint8_t *file;
    diff_file *out;
} collecting;

static void collect(void *user, const zf_container_part *part) {
    collecting *c = user;
    if (part->block < 0) return;
    c->out->stored = realloc(c->out->stored, c->out->stored_size + part->bytes + 1);
    memcpy(c->out->stored + c->out->stored_size, c->file + part->offset, part->bytes);
    c->out->stored_size += part->bytes;
}

static zf_status collect_blocks(zf_container *container, diff_file *out, zf_error *error) {
    size_t size = 0;
    collecting c = {.file = load_bytes(zf_container_path(container), &size), .out = out};
    if (c.file == NULL) return zf_fail(error, ZF_ERR_IO, "ZF1210", "the file cannot be read");
    zf_status status = zf_container_account(container, collect, &c, error);
    free((void *)(uintptr_t)c.file);
    return status;
}

static zf_status decode(zf_context *context, const char *path, const char *column, diff_file *out, zf_error *error) {
    zf_container *container = NULL;
    size_t index = 0;
    zf_decode_sizes sizes = {0};
    zf_decode_buffers buffers = {0};
    zf_status status = zf_container_open(context, path, &container, error);
    if (status == ZF_OK) status = zf_container_find(container, column, &index, error);
    if (status == ZF_OK) status = zf_decode_size(container, index, NULL, &sizes, error);
    if (status == ZF_OK) {
        out->size = sizes.values;
        out->bytes = aligned_alloc(64, sizes.values / 64 * 64 + 128);
        memset(out->bytes, 0xa5, sizes.values / 64 * 64 + 128);
        out->validity = aligned_alloc(64, sizes.validity / 64 * 64 + 64);
        memset(out->validity, 0xa5, sizes.validity / 64 * 64 + 64);
        out->offsets = aligned_alloc(64, sizes.offsets / 64 * 64 + 64);
        memset(out->offsets, 0xa5, sizes.offsets / 64 * 64 + 64);
        zf_column_info info = {0};
        zf_container_column(container, index, &info, NULL);
        size_t least = info.type.element == ZF_STRING ? 1 : (zf_element_bits(info.type.element) + 7) / 8; // aligned no more
        buffers = (zf_decode_buffers){.offsets = out->offsets,
                                      .values = out->bytes + least,
                                      .validity = out->validity,
                                      .workspace = aligned_alloc(64, sizes.workspace / 64 * 64 + 64),
                                      ZF_DECODE_BYTES(sizes)};
        status = zf_decode(container, index, "cpu", NULL, &buffers, &out->stats, error);
        free(buffers.workspace);
        if (status == ZF_OK && (out->bytes[least - 1] != 0xa5 || out->bytes[least + sizes.values] != 0xa5))
            status = zf_fail(error, ZF_ERR_INTERNAL, "", "bytes beside the values were written");
        memmove(out->bytes, out->bytes + least, sizes.values);
    }
    if (status == ZF_OK) status = collect_blocks(container, out, error);
    zf_container_close(container);
    return status;
}

bool diff_file_run(const diff_program *p, const diff_machine *m, unsigned level, const char *table, const char *column,
                   const interp_stream *plain, uint64_t rows_per_block, diff_file *out, zf_text *message) {
    char path[] = "/tmp/zf_differential_XXXXXX.zfd";
    zf_error error = {0};
    int file = mkstemps(path, 4);
    *out = (diff_file){0};
    if (file < 0) {
        zf_text_puts(message, "no temporary file");
        return false;
    }
    close(file);
    diff_plain data = diff_plain_of(plain);
    zf_encode_column source = {.name = column, .values = data.values, .offsets = data.offsets, .validity = data.validity};
    zf_encode_options options = {.rows_per_block = rows_per_block, .threads = 1, .overwrite = true};
    zf_status status = zf_encode(p->programs[level], table, &source, 1, interp_stream_count(plain), &options, path, NULL, &error);
    if (status == ZF_OK) status = decode(m->contexts[level], path, column, out, &error);
    if (status != ZF_OK) {
        zf_text_printf(message, "%s: %s (%s)", error.code, error.message, error.place);
    }
    unlink(path);
    diff_plain_free(&data);
    return status == ZF_OK;
}
