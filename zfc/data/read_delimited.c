// Delimited text into columns.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "zfc/data/delimited_scan.h"
#include "zfc/data/file_kind.h"
#include "zfc/data/table_data.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"

enum { MOST_FIELDS = 4096 };

struct zf_text_reader {
    const char *path;
    const zf_delimited_options *options;
    zf_table_data *data;
    zf_error *error;
    zf_delimited_scan scan;
    zf_column_data *fields[MOST_FIELDS]; // by position; NULL: skipped
    unsigned field_count, at;            // of the header; of the row being read
    uint64_t rows, row_line;             // rows of data begun; the line, from 1, where the row begins
    double shown;                        // seconds: when progress was
    uint64_t shown_bytes;                // bytes read then
};
typedef struct zf_text_reader reader;

static zf_status fail(reader *r, const char *code, const char *message, const char *column) {
    zf_fail(r->error, ZF_ERR_INPUT, code, "%s", message);
    if (!column)
        return zf_fail_place(r->error, ZF_ERR_INPUT, "%s: line %llu, field %u", r->path, (unsigned long long)r->row_line,
                             r->at + 1);
    return zf_fail_place(r->error, ZF_ERR_INPUT, "%s: line %llu, field %u (%s)", r->path, (unsigned long long)r->row_line,
                         r->at + 1, column);
}

// Takes the next field. False at the end of the text, or after a fault, which `status` has.
static bool next_field(reader *r, zf_field *out, zf_status *status) {
    switch (zf_delimited_next(&r->scan, out, r->error)) {
    case ZF_DELIMITED_FIELD:
        if (r->at == 0) r->row_line = out->line;
        *status = ZF_OK;
        return true;
    case ZF_DELIMITED_END: *status = ZF_OK; return false;
    case ZF_DELIMITED_FAILED: *status = r->error->status; return false;
    case ZF_DELIMITED_BAD: break;
    }
    r->row_line = r->scan.bad_line;
    *status = fail(r, ZFC_BAD_TEXT, r->scan.message, NULL);
    return false;
}

// ---- The header ----

// Takes the next name of the header. A name that the table lacks is a field to skip.
static zf_status add_name(reader *r, const char *name, size_t length) {
    if (r->field_count == MOST_FIELDS) {
        zf_status status = fail(r, ZFC_FIELD_COUNT, "more than 4096 fields", NULL);
        return zf_fail_hint(r->error, status,
                            "cut the text into several with other columns of the same rows: texts stand side by side");
    }
    zf_column_data *column = zf_table_data_find_field(r->data, name, length);
    if (column && column->part != ZF_LIST_NONE) {
        r->at = r->field_count;
        zf_status status = fail(r, ZFC_NO_SUCH_COLUMN, "lists have no form in delimited text", column->name);
        return zf_fail_hint(r->error, status, ZF_LISTS_HINT);
    }
    for (unsigned i = 0; column && i < r->field_count; i++) {
        if (r->fields[i] != column) continue;
        r->at = r->field_count;
        if (!r->options->header) return fail(r, ZFC_GIVEN_TWICE, "the header names this column twice", column->name);
        return zf_fail(r->error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--header names `%s` twice", column->field);
    }
    r->fields[r->field_count++] = column;
    return ZF_OK;
}

static bool is_field(const reader *r, const zf_column_data *column) {
    for (unsigned i = 0; i < r->field_count; i++) {
        if (r->fields[i] == column) return true;
    }
    return false;
}

// A text that adds to a column adds to all columns that the first text with it gave, and to no others: rows would be torn apart.
// Inputs are told apart by where their names are: one file may be given twice.
static zf_status check_overlap(const reader *r) {
    const zf_column_data *shared = NULL;
    for (unsigned i = 0; i < r->field_count && !shared; i++) {
        const zf_column_data *column = r->fields[i];
        if (column && column->givers[ZF_PART_VALUES].is_text) shared = column;
    }
    if (!shared) return ZF_OK;
    const char *first = shared->givers[ZF_PART_VALUES].source;
    for (size_t i = 0; i < r->data->count; i++) {
        const zf_column_data *column = &r->data->columns[i];
        bool here = is_field(r, column), there = column->givers[ZF_PART_VALUES].source == first;
        if (here == there) continue;
        zf_fail(r->error, ZF_ERR_INPUT, ZFC_GIVEN_TWICE,
                "column `%s` is given twice: by %s and by %s, of which %s alone gives `%s`", shared->name, first, r->path,
                here ? r->path : first, column->name);
        return zf_fail_hint(
            r->error, ZF_ERR_INPUT,
            "text files with the same columns are parts of a table; others stand side by side, without a column in "
            "common");
    }
    return ZF_OK;
}

static zf_status claim(reader *r) {
    bool any = false;
    ZF_TRY(check_overlap(r));
    for (unsigned i = 0; i < r->field_count; i++) {
        zf_column_data *column = r->fields[i];
        if (!column) continue;
        any = true;
        ZF_TRY(zf_column_claim(column, ZF_PART_VALUES, r->path, true, r->error));
        ZF_TRY(zf_column_claim(column, ZF_PART_OFFSETS, r->path, true, r->error));
        ZF_TRY(zf_column_claim(column, ZF_PART_VALIDITY, r->path, true, r->error));
    }
    if (any) return ZF_OK;
    if (r->options->header) {
        zf_status status = zf_fail(r->error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "no name of --header is a column of the table");
        return zf_fail_hint(r->error, status, "the names are separated by commas, whatever the delimiter");
    }
    zf_fail(r->error, ZF_ERR_INPUT, ZFC_BAD_TEXT, "no field of the header is a column of the table");
    zf_fail_place(r->error, ZF_ERR_INPUT, "%s: line %llu", r->path, (unsigned long long)r->row_line);
    return zf_fail_hint(r->error, ZF_ERR_INPUT,
                        "--field COLUMN=FIELD takes a field of another name, --delimiter another character between fields, "
                        "and --header NAMES text without a header row");
}

static zf_status skip_rows(reader *r) {
    zf_field field;
    zf_status status = ZF_OK;
    r->scan.lenient = true;
    for (uint64_t row = 0; row < r->options->skip_rows; row++) {
        do {
            if (next_field(r, &field, &status)) continue;
            if (status != ZF_OK) return status;
            zf_fail(r->error, ZF_ERR_INPUT, ZFC_BAD_TEXT, "--skip-rows %llu, but the text has %s",
                    (unsigned long long)r->options->skip_rows, zf_rows_text(row, (char[32]){0}));
            return zf_fail_place(r->error, ZF_ERR_INPUT, "%s", r->path);
        } while (!field.ends_row);
    }
    r->scan.lenient = false;
    return ZF_OK;
}

static zf_status read_header(reader *r) {
    if (r->options->header) {
        for (const char *name = r->options->header; name;) {
            size_t length = strcspn(name, ",");
            ZF_TRY(add_name(r, name, length));
            name = name[length] ? name + length + 1 : NULL;
        }
        r->at = 0;
        return claim(r);
    }
    zf_field field;
    zf_status status;
    while (next_field(r, &field, &status)) {
        if (r->at == 0 && field.ends_row && field.length == 0 && !field.quoted) continue; // a blank line
        ZF_TRY(add_name(r, field.text, field.length));
        r->at++;
        if (!field.ends_row) continue;
        r->at = 0;
        return claim(r);
    }
    if (status != ZF_OK) return status;
    zf_fail(r->error, ZF_ERR_INPUT, ZFC_BAD_TEXT, "no header row: the file is empty%s",
            r->options->skip_rows > 0 ? " behind the skipped rows" : "");
    return zf_fail_place(r->error, ZF_ERR_INPUT, "%s: line %llu", r->path, (unsigned long long)r->scan.line);
}

// ---- Rows ----

// With --header, a header row whose fields can all be read would become data without a word. It is recognised by a name that
// --header has, too.
static zf_status check_first_row(reader *r, const zf_field *field) {
    if (!r->options->header || r->options->skip || r->rows > 1 || field->length == 0) return ZF_OK;
    for (unsigned i = 0; i < r->field_count; i++) {
        const zf_column_data *column = r->fields[i];
        if (!column || strlen(column->field) != field->length || memcmp(column->field, field->text, field->length) != 0) continue;
        zf_status status =
            fail(r, ZFC_BAD_TEXT, "the first row looks like a header: this field is a name that --header has", column->field);
        return zf_fail_hint(r->error, status, "--skip-rows 1 skips a header row; --skip-rows 0 says that there is none");
    }
    return ZF_OK;
}

static bool is_null_word(const zf_delimited_options *options, const zf_field *field) {
    if (field->quoted) return false;
    for (size_t i = 0; i < options->null_count; i++) {
        if (strlen(options->null_words[i]) == field->length && memcmp(options->null_words[i], field->text, field->length) == 0)
            return true;
    }
    return options->null_count == 0 && field->length == 0;
}

static zf_status fail_value(reader *r, const zf_column_data *column, const zf_field *field, const char *reason, bool blank_line) {
    char message[512], shown[4 * 60 + 1];
    size_t length = field->length < 60 ? field->length : 60;
    zf_printable(field->text, length, shown);
    bool empty = field->length == 0 && !field->quoted, missing = field->length == 0 && !column->type.nullable;
    if (missing)
        snprintf(message, sizeof message, "%san empty field, but the column is not nullable", blank_line ? "a blank line: " : "");
    else if (empty)
        snprintf(message, sizeof message, "%san empty field is %s", blank_line ? "a blank line: " : "", reason);
    else if (field->length == 0)
        snprintf(message, sizeof message, "an empty field in quotes is %s", reason);
    else
        snprintf(message, sizeof message, "`%s%s` is %s", shown, field->length > 60 ? "..." : "", reason);
    zf_status status = fail(r, missing ? ZFC_NULL : ZFC_BAD_FIELD, message, column->name);
    if (r->options->header && !r->options->skip && r->rows == 1)
        return zf_fail_hint(r->error, status, "with --header the first row is data; if it is a header, --skip-rows 1 skips it");
    if (empty && column->type.nullable)
        return zf_fail_hint(r->error, status, "nulls are the words of --null alone; add --null '' for empty fields");
    if (field->length == 0 && column->type.nullable)
        return zf_fail_hint(r->error, status, "null is an empty field without quotes");
    if (column->type.nullable && !field->quoted) return zf_fail_hint(r->error, status, "if this word is null, give it by --null");
    return status;
}

// In a table of one field each line is a row, a blank one too.
static zf_status add_value(reader *r, const zf_field *field) {
    zf_column_data *column = r->fields[r->at];
    ZF_TRY(check_first_row(r, field));
    if (!column) return ZF_OK;
    bool blank_line = r->field_count == 1 && field->length == 0 && !field->quoted;
    bool word = is_null_word(r->options, field), null = word && column->type.nullable;
    if (word && !null && field->length > 0) {
        char message[256], shown[4 * 32 + 1];
        zf_printable(field->text, field->length < 32 ? field->length : 32, shown);
        snprintf(message, sizeof message, "`%s` is null (--null), but the column is not nullable", shown);
        zf_status status = fail(r, ZFC_NULL, message, column->name);
        if (column->type.element != ZF_STRING) return status;
        return zf_fail_hint(r->error, status, "in quotes it is text; `string?` takes nulls");
    }
    const char *reason = NULL;
    zf_status status = zf_column_append_text(column, field->text, field->length, null, &reason, r->error);
    return status == ZF_OK || !reason ? status : fail_value(r, column, field, reason, blank_line);
}

static zf_status fail_count(reader *r, unsigned count) {
    char message[96];
    snprintf(message, sizeof message, "the row has %s%u field%s, the header %u", count > r->field_count ? "at least " : "", count,
             count == 1 ? "" : "s", r->field_count);
    return fail(r, ZFC_FIELD_COUNT, message, NULL);
}

static void show_progress(reader *r) {
    char text[32];
    if (!r->options->progress || r->scan.total == r->shown_bytes || zf_clock_seconds() - r->shown < 0.2) return;
    r->shown = zf_clock_seconds();
    r->shown_bytes = r->scan.total;
    fprintf(stderr, "\rreading ");
    zf_print_path(stderr, r->path);
    fprintf(stderr, ": %s\033[K", zf_bytes_text(r->shown_bytes, text));
}

zf_status zf_text_reader_rows(zf_text_reader *r, uint64_t most_rows, uint64_t most_bytes, uint64_t *rows, zf_error *error) {
    zf_field field;
    zf_status status = ZF_OK;
    uint64_t before = r->rows, bytes = 0;
    r->error = error;
    while (next_field(r, &field, &status)) {
        if (r->at == 0) {
            if (field.ends_row && field.length == 0 && !field.quoted && r->field_count > 1) continue; // a blank line
            r->rows++;
        }
        if (r->at < r->field_count) {
            ZF_TRY(add_value(r, &field));
        } else if (r->at > r->field_count || field.length > 0 || field.quoted || !field.ends_row) {
            // One empty field more is the delimiter at the end of a line, as TPC-H's own files have it.
            return fail_count(r, r->at + 1);
        }
        r->at++;
        bytes += field.length + 1;
        if (!field.ends_row) continue;
        if (r->at < r->field_count) return fail_count(r, r->at);
        r->at = 0;
        show_progress(r);
        if (r->rows - before >= most_rows || bytes >= most_bytes) break;
    }
    *rows = r->rows - before;
    return status;
}

// ---- The file ----

// Passes over a UTF-8 mark at the start of a file, which is no part of the first name. Refuses texts and files of other kinds.
static zf_status check_head(reader *r) {
    const char *bytes = r->scan.buffer + r->scan.begin;
    size_t count = r->scan.end - r->scan.begin;
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        r->scan.begin += 3;
        return ZF_OK;
    }
    r->row_line = 1;
    if (count >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
        return fail(r, ZFC_BAD_TEXT, "the text is UTF-16; convert it to UTF-8", NULL);
    if (count >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0) {
        zf_fail(r->error, ZF_ERR_INPUT, ZFC_OTHER_FORMAT, "a .npy array, not delimited text");
        zf_fail_place(r->error, ZF_ERR_INPUT, "%s", r->path);
        return zf_fail_hint(r->error, ZF_ERR_INPUT, "give it as COLUMN=FILE");
    }
    const zf_file_kind *kind = zf_file_kind_of(bytes, count, NULL, 0);
    return kind ? zf_file_kind_refuse(kind, r->path, "delimited text", "", r->error) : ZF_OK;
}

static zf_status read_beginning(reader *r) {
    ZF_TRY(zf_delimited_start(&r->scan, r->error));
    ZF_TRY(check_head(r));
    ZF_TRY(skip_rows(r));
    r->at = 0;
    ZF_TRY(read_header(r));
    r->shown = zf_clock_seconds();
    r->shown_bytes = r->scan.total;
    return ZF_OK;
}

zf_status zf_text_reader_open(const char *path, const zf_delimited_options *options, zf_table_data *data, zf_text_reader **out,
                              zf_error *error) {
    *out = NULL;
    FILE *file = fopen(path, "rb");
    if (!file) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "cannot read %s: %s", *path ? path : "an input whose name is empty",
                strerror(errno));
        return zf_fail_hint(error, ZF_ERR_INPUT, "inputs are text files, or COLUMN=FILE");
    }
    reader *r = calloc(1, sizeof *r);
    if (!r) {
        fclose(file);
        return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to read %s", path);
    }
    *r = (reader){.path = path, .options = options, .data = data, .error = error, .row_line = 1};
    r->scan = (zf_delimited_scan){.file = file, .path = path, .delimiter = options->delimiter, .memory = &data->memory};
    zf_status status = read_beginning(r);
    if (status != ZF_OK)
        zf_text_reader_free(r);
    else
        *out = r;
    return status;
}

const char *zf_text_reader_first(const zf_text_reader *r) {
    unsigned i = 0;
    while (!r->fields[i]) i++; // some field is a column
    return r->fields[i]->givers[ZF_PART_VALUES].source;
}

void zf_text_reader_free(zf_text_reader *r) {
    if (!r) return;
    if (r->options->progress) fprintf(stderr, "\r\033[K");
    zf_delimited_free(&r->scan);
    fclose(r->scan.file);
    free(r);
}

zf_status zf_read_delimited(const char *path, const zf_delimited_options *options, zf_table_data *data, zf_error *error) {
    reader *r;
    uint64_t rows;
    ZF_TRY(zf_text_reader_open(path, options, data, &r, error));
    zf_status status = zf_text_reader_rows(r, UINT64_MAX, UINT64_MAX, &rows, error);
    zf_text_reader_free(r);
    return status;
}
