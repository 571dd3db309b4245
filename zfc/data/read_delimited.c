// Delimited text into columns, read by libcsv.
#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "zfc/data/table_data.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"

enum { MOST_FIELDS = 4096, BUFFER = 1 << 18 };

typedef struct reader {
    const char *path;
    zf_table_data *data;
    zf_error *error;
    zf_status status;
    zf_column_data *fields[MOST_FIELDS]; // by position; NULL: skipped
    unsigned field_count, at;            // of the header; of the row being read
    bool in_header;
    const char *header;      // what --header says, or NULL: it is the first row
    uint64_t line, row_line; // from 1: where the reader is, and where its row began
    uint64_t blank_line;     // of the first blank line since the last row; 0: none
    int ended_by;            // the character that ended the last row, until a field follows
} reader;

static void fail(reader *r, const char *code, const char *message, const char *column) {
    if (r->status != ZF_OK) return;
    r->status = zf_fail(r->error, ZF_ERR_INPUT, code, "%s", message);
    if (column)
        zf_fail_place(r->error, r->status, "%s: line %llu, field %u (%s)", r->path, (unsigned long long)r->row_line, r->at + 1,
                      column);
    else
        zf_fail_place(r->error, r->status, "%s: line %llu, field %u", r->path, (unsigned long long)r->row_line, r->at + 1);
}

// Takes the next name of the header. A name that the table lacks is a field to skip.
static void add_name(reader *r, const char *name, size_t length) {
    if (r->field_count == MOST_FIELDS) {
        fail(r, ZFC_FIELD_COUNT, "more than 4096 fields", NULL);
        return;
    }
    zf_column_data *column = zf_table_data_find(r->data, name, length);
    for (unsigned i = 0; column && i < r->field_count; i++) {
        if (r->fields[i] == column) {
            r->at = r->field_count;
            if (r->header)
                r->status = zf_fail(r->error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--header names `%s` twice", column->name);
            else
                fail(r, ZFC_GIVEN_TWICE, "the header names this column twice", column->name);
            return;
        }
    }
    r->fields[r->field_count++] = column;
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
    if (r->header) {
        zf_status status = zf_fail(r->error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "no name of --header is a column of the table");
        return zf_fail_hint(r->error, status, "the names are separated by commas, whatever the delimiter");
    }
    zf_fail(r->error, ZF_ERR_INPUT, ZFC_BAD_TEXT, "no field of the header is a column of the table");
    zf_fail_place(r->error, ZF_ERR_INPUT, "%s: line 1", r->path);
    return zf_fail_hint(r->error, ZF_ERR_INPUT,
                        "is the delimiter right (--delimiter)? Text without a header row needs --header NAMES");
}

// A field is handed over at its end; it began as many lines before.
static uint64_t newlines(const char *text, size_t length) {
    uint64_t count = 0;
    for (size_t i = 0; i < length; i++) count += text[i] == '\n';
    return count;
}

static void on_field(void *bytes, size_t length, void *user) {
    reader *r = user;
    if (r->status != ZF_OK) return;
    bool unquoted_empty = bytes == NULL;
    const char *text = bytes ? bytes : "";
    if (r->at == 0) r->row_line = r->line - newlines(text, length);
    r->ended_by = 0;
    if (r->blank_line > 0) {
        // Blank lines may end a file. Before more rows of a table of one field they would be rows that went missing.
        r->row_line = r->blank_line;
        r->blank_line = 0;
        if (r->field_count == 1)
            fail(r, ZFC_NULL, "a blank line: an empty field, but the column is not nullable",
                 r->fields[0] ? r->fields[0]->name : NULL);
        if (r->status != ZF_OK) return;
        r->row_line = r->line - newlines(text, length);
    }
    if (r->in_header) {
        add_name(r, text, length);
        r->at++;
        return;
    }
    if (r->at >= r->field_count) {
        // One empty field more is the delimiter at the end of a line, as TPC-H's own files have it.
        if (r->at > r->field_count || length > 0) fail(r, ZFC_FIELD_COUNT, "more fields than the header names", NULL);
        r->at++;
        return;
    }
    zf_column_data *column = r->fields[r->at];
    if (column) {
        const char *reason = NULL;
        zf_status status = zf_column_append_text(column, text, length, unquoted_empty, &reason, r->error);
        if (status != ZF_OK && !reason) {
            r->status = status;
        } else if (status != ZF_OK) {
            char message[512];
            char shown[4 * 60 + 1];
            zf_printable(text, length > 60 ? 60 : length, shown);
            bool null = length == 0 && !column->type.nullable;
            if (null)
                snprintf(message, sizeof message, "an empty field, but the column is not nullable");
            else if (length == 0)
                snprintf(message, sizeof message, "an empty field in quotes is %s", reason);
            else
                snprintf(message, sizeof message, "`%s%s` is %s", shown, length > 60 ? "..." : "", reason);
            fail(r, null ? ZFC_NULL : ZFC_BAD_FIELD, message, column->name);
            if (length == 0 && !null) zf_fail_hint(r->error, r->status, "null is an empty field without quotes");
        }
    }
    r->at++;
}

// In a table of one nullable column a blank line is a row: that is how a null is written.
static void on_blank_line(reader *r) {
    if (r->in_header) return;
    if (r->field_count == 1 && r->fields[0] && r->fields[0]->type.nullable) {
        const char *reason = NULL;
        r->status = zf_column_append_text(r->fields[0], "", 0, true, &reason, r->error);
    } else if (r->blank_line == 0) {
        r->blank_line = r->line;
    }
}

static void on_row(int terminator, void *user) {
    reader *r = user;
    if (r->status != ZF_OK) return;
    int before = r->ended_by;
    r->ended_by = terminator;
    if (r->at == 0) {
        if (!(before == '\r' && terminator == '\n')) on_blank_line(r); // the two characters of one line's end are no line
        return;
    }
    if (r->in_header) {
        r->in_header = false;
        r->status = claim(r);
    } else if (r->at < r->field_count) {
        char message[96];
        snprintf(message, sizeof message, "the row has %u field%s, the header %u", r->at, r->at == 1 ? "" : "s", r->field_count);
        fail(r, ZFC_FIELD_COUNT, message, NULL);
    }
    r->at = 0;
}

static int keep_spaces(unsigned char c) {
    (void)c;
    return 0; // spaces belong to the field
}

// Recognises files of other kinds by their first bytes.
static void refuse_binary(reader *r, const char *bytes, size_t count) {
    static const struct {
        const char *begin, *what;
    } kinds[] = {{"PAR1", "Parquet"}, {"ARROW1", "Arrow"},   {"\x1f\x8b", "gzip"},  {"\x28\xb5\x2f\xfd", "zstd"},
                 {"PK\x03", "zip"},   {"\x93NUMPY", ".npy"}, {"\x89ZFD", "zipflow"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && r->status == ZF_OK; i++) {
        const char *begin = kinds[i].begin;
        size_t length = strlen(begin);
        if (count <= length || memcmp(bytes, begin, length) != 0) continue;
        // A column may be called PAR1; what follows a name is no control character but the end of the line or a tab.
        if (begin[0] >= 'A' && begin[0] <= 'Z' &&
            ((unsigned char)bytes[length] >= ' ' || (bytes[length] && strchr("\t\r\n", bytes[length]))))
            continue;
        char message[64];
        snprintf(message, sizeof message, "a %s file, not delimited text", kinds[i].what);
        fail(r, ZFC_BAD_TEXT, message, NULL);
        zf_fail_hint(r->error, r->status,
                     strcmp(kinds[i].what, ".npy") == 0 ? "give it as COLUMN=FILE" : "unpack it, or convert it to text first");
    }
}

// Bytes of a UTF-8 mark at the start of a file, which is no part of the first name. UTF-16 is refused by its own.
static size_t byte_order_mark(reader *r, const char *bytes, size_t count) {
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) return 3;
    if (count >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0)) {
        fail(r, ZFC_BAD_TEXT, "the text is UTF-16; convert it to UTF-8", NULL);
    }
    refuse_binary(r, bytes, count);
    return 0;
}

// The text is no delimited text. The error is where the field that is being read began: a quote that was left open swallows
// lines, and what is wrong shows only at the next quote, or at the end of the file.
static void fail_broken(reader *r, const struct csv_parser *parser, bool at_end) {
    uint64_t found = r->line, began = found - newlines((const char *)parser->entry_buf, parser->entry_pos);
    char message[160];
    if (at_end)
        snprintf(message, sizeof message, "a quoted field that does not end");
    else if (began == found)
        snprintf(message, sizeof message, "a quote in the middle of a field");
    else
        snprintf(message, sizeof message, "a quoted field with a quote in its middle, at line %llu: is its own quote left open?",
                 (unsigned long long)found);
    r->row_line = began;
    fail(r, ZFC_BAD_TEXT, message, NULL);
}

static zf_status read_all(reader *r, struct csv_parser *parser, FILE *file, bool progress) {
    char *buffer = malloc(BUFFER);
    if (!buffer) return zf_fail(r->error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to read %s", r->path);
    uint64_t total = 0;
    double shown = zf_clock_seconds();
    size_t count;
    while (r->status == ZF_OK && (count = fread(buffer, 1, BUFFER, file)) > 0) {
        size_t mark = total == 0 ? byte_order_mark(r, buffer, count) : 0;
        // A line at a time, so that the line of an error is known.
        for (size_t begin = mark; begin < count && r->status == ZF_OK;) {
            const char *newline = memchr(buffer + begin, '\n', count - begin);
            size_t end = newline ? (size_t)(newline - buffer) + 1 : count;
            if (csv_parse(parser, buffer + begin, end - begin, on_field, on_row, r) != end - begin) {
                if (csv_error(parser) == CSV_ENOMEM)
                    r->status = zf_fail(r->error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for a field of %s", r->path);
                else
                    fail_broken(r, parser, false);
            }
            if (newline) r->line++;
            begin = end;
        }
        total += count;
        if (progress && zf_clock_seconds() - shown > 0.2) {
            char text[32];
            shown = zf_clock_seconds();
            fprintf(stderr, "\rreading %s: %s\033[K", r->path, zf_bytes_text(total, text));
        }
    }
    int reason = errno; // of a read that failed: what follows may change it
    if (progress) fprintf(stderr, "\r\033[K");
    free(buffer);
    if (r->status == ZF_OK && ferror(file)) {
        return zf_fail(r->error, ZF_ERR_IO, ZFC_CANNOT_READ, "cannot read %s: %s", r->path, strerror(reason));
    }
    if (r->status == ZF_OK && csv_fini(parser, on_field, on_row, r) != 0) fail_broken(r, parser, true);
    if (r->status == ZF_OK && r->in_header) {
        r->status = zf_fail(r->error, ZF_ERR_INPUT, ZFC_BAD_TEXT, "no header row: the file is empty");
        zf_fail_place(r->error, r->status, "%s: line 1", r->path);
    }
    return r->status;
}

zf_status zf_read_delimited(const char *path, const zf_delimited_options *options, zf_table_data *data, zf_error *error) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "cannot read %s: %s", *path ? path : "an input whose name is empty",
                strerror(errno));
        return zf_fail_hint(error, ZF_ERR_INPUT, "inputs are text files, or COLUMN=FILE");
    }
    reader *r = calloc(1, sizeof *r);
    struct csv_parser parser;
    if (!r || csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL | CSV_REPALL_NL) != 0) {
        free(r);
        fclose(file);
        return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to read %s", path);
    }
    csv_set_delim(&parser, (unsigned char)options->delimiter);
    csv_set_space_func(&parser, keep_spaces);
    *r = (reader){.path = path,
                  .data = data,
                  .error = error,
                  .in_header = !options->header,
                  .header = options->header,
                  .line = 1,
                  .row_line = 1};
    for (const char *name = options->header; name;) {
        size_t length = strcspn(name, ",");
        add_name(r, name, length);
        name = name[length] ? name + length + 1 : NULL;
    }
    r->at = 0;
    if (options->header && r->status == ZF_OK) r->status = claim(r);
    zf_status status = r->status == ZF_OK ? read_all(r, &parser, file, options->progress) : r->status;
    csv_free(&parser);
    free(r);
    fclose(file);
    return status;
}
