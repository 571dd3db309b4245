#include "zfc/data/table_batches.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/error_codes.h"
#include "zfc/data/raw_column.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"

/// Bytes of a batch of all sources, and of one, which takes fewer under a low limit of memory; rows of a text's batch.
enum { ALL_BYTES = 32 << 20, MOST_BYTES = 4 << 20, LEAST_BYTES = 64 << 10, TINY_BYTES = 4096, MOST_ROWS = 1 << 18 };

/// Columns whose rows come together: of texts one after the other, or one of raw files.
typedef struct source {
    zf_raw_column *raw;    ///< NULL: texts
    zf_raw_column *values; ///< of lists; NULL: `raw` has none
    const char **texts;
    size_t text_count, text_next;
    zf_text_reader *reader; ///< of text `text_next` - 1; NULL: none
    uint64_t ready, taken;  ///< rows in the columns; of them, those that were in a batch
    uint64_t total;         ///< rows so far
    bool ended;
} source;

struct zf_table_batches {
    const zf_delimited_options *options;
    zf_table_data *data;
    zf_raw_column *raws; ///< by column
    source *sources;
    size_t source_count;
    size_t *of;      ///< by column: its source
    uint8_t **moved; ///< by column: its validity, if the batch does not begin at a byte of it
    size_t *moved_bytes;
    size_t most_bytes; ///< of a source's batch
};

static zf_status no_memory(zf_error *error) { return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for the inputs"); }

// ---- Opening ----

/// Reads the header of a text, and adds the text to the source of its columns. It is opened again when its rows are read: there
/// may be more texts than a process may have open.
static zf_status add_text(zf_table_batches *b, const char *path, zf_error *error) {
    zf_text_reader *reader;
    ZF_TRY(zf_text_reader_open(path, b->options, b->data, &reader, error));
    const char *first = zf_text_reader_first(reader);
    zf_text_reader_free(reader);
    source *s = b->sources;
    while (s < b->sources + b->source_count && !(s->text_count > 0 && s->texts[0] == first)) s++;
    const char **texts = realloc(s->texts, (s->text_count + 1) * sizeof *texts);
    if (!texts) return no_memory(error);
    s->texts = texts;
    s->texts[s->text_count++] = path;
    if (s == b->sources + b->source_count) b->source_count++;
    return ZF_OK;
}

static void assign_columns(zf_table_batches *b) {
    for (size_t c = 0; c < b->data->count; c++) {
        const zf_column_data *column = &b->data->columns[c];
        const zf_part_giver *giver = &column->givers[ZF_PART_VALUES];
        size_t s = 0;
        if (column->part == ZF_LIST_VALUES) { // they come with their lists
            s = b->of[c - 1];
            b->sources[s].values = &b->raws[c];
        } else if (giver->is_text) {
            while (b->sources[s].text_count == 0 || b->sources[s].texts[0] != giver->source) s++;
        } else {
            s = b->source_count++;
            b->sources[s].raw = &b->raws[c];
        }
        b->of[c] = s;
    }
}

/// Checks a column of raw files before any row is read.
static zf_status check_raw(const zf_raw_column *raw, zf_error *error) {
    bool is_text = raw->column->type.element == ZF_STRING, lists = raw->column->part == ZF_LIST_ENDS;
    if (is_text && !raw->parts[ZF_PART_OFFSETS].path) return zf_column_lacks_offsets(raw->column, error);
    zf_status status = zf_column_check_validity(raw->column, error);
    if (status == ZF_OK || !(is_text || lists)) return status;
    return zf_raw_column_check_offsets(raw, lists ? &raw[1] : NULL, error) != ZF_OK ? error->status : status;
}

static zf_status check_sizes(const zf_table_batches *b, bool texts, zf_error *error) {
    for (size_t c = 0; c < b->data->count; c++) {
        if (b->raws[c].column) ZF_TRY(check_raw(&b->raws[c], error));
    }
    return texts ? ZF_OK : zf_table_data_check_rows(b->data, error);
}

static size_t most_bytes(const zf_table_batches *b) {
    size_t bytes = ALL_BYTES / b->source_count, limit = b->data->memory.most / (8 * b->source_count);
    if (bytes > MOST_BYTES) bytes = MOST_BYTES;
    if (bytes < LEAST_BYTES) bytes = LEAST_BYTES;
    if (b->data->memory.most != 0 && limit < bytes) bytes = limit;
    return bytes < TINY_BYTES ? TINY_BYTES : bytes;
}

static zf_status open_inputs(zf_table_batches *b, const zf_table_input *inputs, size_t count, bool any_format, zf_error *error) {
    bool texts = false;
    for (size_t i = 0; i < count; i++) {
        const char *operand = inputs[i].operand, *equals = inputs[i].equals;
        texts = texts || !equals;
        if (equals)
            ZF_TRY(zf_raw_column_add(b->raws, operand, (size_t)(equals - operand), equals + 1, any_format, b->data, error));
        else
            ZF_TRY(add_text(b, operand, error));
    }
    ZF_TRY(zf_table_data_check_given(b->data, error));
    assign_columns(b);
    ZF_TRY(check_sizes(b, texts, error));
    for (size_t c = 0; c < b->data->count; c++) b->data->columns[c].rows = 0;
    b->most_bytes = most_bytes(b);
    return ZF_OK;
}

zf_status zf_table_batches_open(const zf_table_input *inputs, size_t count, const zf_delimited_options *options, bool any_format,
                                zf_table_data *data, zf_table_batches **out, zf_error *error) {
    *out = NULL;
    zf_table_batches *b = calloc(1, sizeof *b);
    if (!b) return no_memory(error);
    b->options = options;
    b->data = data;
    b->raws = calloc(data->count + 1, sizeof *b->raws);
    b->sources = calloc(data->count + count + 1, sizeof *b->sources);
    b->of = calloc(data->count + 1, sizeof *b->of);
    b->moved = calloc(data->count + 1, sizeof *b->moved);
    b->moved_bytes = calloc(data->count + 1, sizeof *b->moved_bytes);
    bool made = b->raws && b->sources && b->of && b->moved && b->moved_bytes;
    zf_status status = made ? open_inputs(b, inputs, count, any_format, error) : no_memory(error);
    if (status != ZF_OK)
        zf_table_batches_free(b);
    else
        *out = b;
    return status;
}

void zf_table_batches_free(zf_table_batches *b) {
    if (!b) return;
    for (size_t s = 0; b->sources && s < b->source_count; s++) {
        zf_text_reader_free(b->sources[s].reader);
        free(b->sources[s].texts);
    }
    for (size_t c = 0; b->moved && c < b->data->count; c++) free(b->moved[c]);
    free(b->raws);
    free(b->sources);
    free(b->of);
    free(b->moved);
    free(b->moved_bytes);
    free(b);
}

// ---- Reading ----

/// Empties the columns of texts: their buffers stay.
static void empty_columns(const zf_table_batches *b, const source *s) {
    for (size_t c = 0; c < b->data->count; c++) {
        zf_column_data *column = &b->data->columns[c];
        if (&b->sources[b->of[c]] != s) continue;
        if (column->validity) memset(column->validity, 0, (column->rows + 7) / 8);
        column->rows = column->used = 0;
    }
}

static zf_status read_texts(zf_table_batches *b, source *s, uint64_t *rows, zf_error *error) {
    empty_columns(b, s);
    for (*rows = 0; *rows == 0;) {
        if (!s->reader && s->text_next == s->text_count) return ZF_OK;
        if (!s->reader) ZF_TRY(zf_text_reader_open(s->texts[s->text_next++], b->options, b->data, &s->reader, error));
        ZF_TRY(zf_text_reader_rows(s->reader, MOST_ROWS, b->most_bytes, rows, error));
        if (*rows > 0) break;
        zf_text_reader_free(s->reader);
        s->reader = NULL;
    }
    return ZF_OK;
}

/// Reads rows of a source whose rows were all taken.
static zf_status read_source(zf_table_batches *b, source *s, zf_error *error) {
    s->ready = s->taken = 0;
    ZF_TRY(s->values ? zf_raw_lists_read(s->raw, s->values, b->most_bytes, &s->ready, error)
           : s->raw  ? zf_raw_column_read(s->raw, b->most_bytes, &s->ready, error)
                     : read_texts(b, s, &s->ready, error));
    s->total += s->ready;
    s->ended = s->ready == 0;
    return ZF_OK;
}

/// Some source has ended. If others have more rows, those are read and dropped, since the error says how many there are.
static zf_status check_end(zf_table_batches *b, zf_error *error) {
    for (size_t k = 0; k < b->source_count; k++) {
        source *s = &b->sources[k];
        if (s->raw) s->total = s->raw->rows;
        while (!s->raw && !s->ended) ZF_TRY(read_source(b, s, error));
    }
    for (size_t c = 0; c < b->data->count; c++) {
        const source *s = &b->sources[b->of[c]];
        b->data->columns[c].rows = b->data->columns[c].part == ZF_LIST_VALUES ? s->values->rows : s->total;
    }
    return zf_table_data_check_rows(b->data, error);
}

/// The validity of a column from row `taken` on.
static zf_status validity_from(zf_table_batches *b, size_t c, uint64_t taken, uint64_t rows, const uint8_t **out,
                               zf_error *error) {
    const uint8_t *bits = b->data->columns[c].validity;
    *out = bits ? bits + taken / 8 : NULL;
    if (!bits || taken % 8 == 0) return ZF_OK;
    size_t bytes = (rows + 7) / 8;
    if (bytes > b->moved_bytes[c]) {
        uint8_t *moved = realloc(b->moved[c], bytes);
        if (!moved) return no_memory(error);
        b->moved[c] = moved;
        b->moved_bytes[c] = bytes;
    }
    zf_place_bits(b->moved[c], 0, bits, taken, rows);
    *out = b->moved[c];
    return ZF_OK;
}

zf_status zf_table_batches_next(zf_table_batches *b, zf_encode_column *columns, uint64_t *rows, zf_error *error) {
    *rows = UINT64_MAX;
    for (size_t k = 0; k < b->source_count; k++) {
        source *s = &b->sources[k];
        if (s->taken == s->ready && !s->ended) ZF_TRY(read_source(b, s, error));
        if (s->ready - s->taken < *rows) *rows = s->ready - s->taken;
    }
    if (*rows == 0) return check_end(b, error);
    for (size_t c = 0; c < b->data->count; c++) {
        const zf_column_data *column = &b->data->columns[c];
        uint64_t taken = b->sources[b->of[c]].taken;
        bool text = column->type.element == ZF_STRING; // which may have no characters, and no memory for them
        bool lists = column->part == ZF_LIST_ENDS;
        if (column->part == ZF_LIST_VALUES) { // all that the source has: offsets of its lists count them
            columns[c] = (zf_encode_column){
                .name = column->name, .values = column->values, .offsets = column->offsets, .validity = column->validity};
            continue;
        }
        columns[c] = (zf_encode_column){.name = column->name,
                                        .values = lists  ? (const void *)&columns[c + 1]
                                                  : text ? column->values
                                                         : column->values + taken * zf_element_size(column->type.element),
                                        .offsets = text || lists ? column->offsets + taken : NULL};
        ZF_TRY(validity_from(b, c, taken, *rows, &columns[c].validity, error));
    }
    for (size_t k = 0; k < b->source_count; k++) b->sources[k].taken += *rows;
    return ZF_OK;
}
