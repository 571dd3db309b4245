// `zfc wrap`: chunks that other programs compressed into a container. Their sizes are in lists, or are found in `.gz` and `.zst`
// files.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/program.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/read_whole.h"
#include "runtime/container/container_format.h"
#include "zfc/data/files_read.h"
#include "zfc/data/input_memory.h"
#include "zfc/driver_codes.h"
#include "zfc/program_operand.h"
#include "zfc/report.h"
#include "zfc/session.h"
#include "zfc/verbs/encode_report.h"
#include "zfc/verbs/found_chunks.h"

typedef unsigned long long ull;

static int usage(const char *message) { return zf_report_usage("wrap", "%s", message); }

/// A column's files.
typedef struct input {
    char *name;             ///< of the column
    const char *path;       ///< of the chunks
    char *list;             ///< path of their sizes
    bool listed;            ///< by --sizes
    bool found;             ///< there is no list
    const char *dictionary; ///< path; NULL: none
    zf_text bytes, text, dictionary_bytes;
    zf_wrapped_chunk *chunks;
    size_t count, room;
} input;

static void free_inputs(input *inputs, size_t count) {
    for (size_t k = 0; inputs != NULL && k < count; k++) {
        free(inputs[k].name);
        free(inputs[k].list);
        if (inputs[k].found)
            zf_chunks_free(inputs[k].chunks);
        else
            free(inputs[k].chunks);
        zf_text_free(&inputs[k].bytes);
        zf_text_free(&inputs[k].text);
        zf_text_free(&inputs[k].dictionary_bytes);
    }
    free(inputs);
}

// ---- Lists of sizes -------------------------------------------------------------------------------------------

static zf_status read_file(const char *path, zf_text *out, zf_error *error) {
    const char *reason = NULL;
    int file = zf_regular_open(path, &reason);
    if (file < 0) return zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_READ, "cannot read %s: %s", path, reason);
    int number = zf_read_whole(file, zf_input_memory_most(), out);
    close(file);
    if (number == 0) return ZF_OK;
    return zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_READ, "cannot read %s: %s", path, strerror(number));
}

static zf_status bad_line(const input *in, size_t line, const char *why, zf_error *error) {
    zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_CHUNK_LIST, "%s", why);
    zf_fail_place(error, ZF_ERR_INPUT, "%s:%zu", in->list, line);
    return zf_fail_hint(error, ZF_ERR_INPUT, "a line is BYTES ROWS, or BYTES ROWS OFFSET; `#` begins a comment");
}

/// A number of a line. LARGE: of more digits than any file needs.
typedef enum field { FIELD_NUMBER, FIELD_NONE, FIELD_WRONG, FIELD_LARGE } field;

/// Reads a number of a line, if there is one.
static field read_number(const char **at, uint64_t *out) {
    *at += strspn(*at, " \t");
    size_t digits = strspn(*at, "0123456789");
    char behind = (*at)[digits];
    if (behind != 0 && behind != ' ' && behind != '\t') return FIELD_WRONG;
    if (digits == 0) return FIELD_NONE;
    if (digits > 18) return FIELD_LARGE;
    *out = strtoull(*at, NULL, 10);
    *at += digits;
    return FIELD_NUMBER;
}

static zf_status add_chunk(input *in, uint64_t offset, uint64_t bytes, uint64_t rows, size_t line, zf_error *error) {
    if (offset > in->bytes.length || bytes > in->bytes.length - offset)
        return bad_line(in, line, "a chunk that is not inside the file of chunks", error);
    if (rows == 0) return bad_line(in, line, "a chunk without rows", error);
    if (in->count == in->room) {
        size_t room = 2 * in->room + 64;
        zf_wrapped_chunk *grown = realloc(in->chunks, room * sizeof *grown);
        if (grown == NULL) return zf_fail_no_memory(error);
        in->chunks = grown;
        in->room = room;
    }
    in->chunks[in->count++] = (zf_wrapped_chunk){in->bytes.data + offset, bytes, rows};
    return ZF_OK;
}

/// Reads one line, which has no line end: where a chunk without an offset begins is `*next`.
static zf_status read_line(input *in, char *text, size_t line, uint64_t *next, bool *offsets, zf_error *error) {
    uint64_t numbers[4] = {0, 0, *next, 0}; // bytes, rows, offset; a fourth is wrong
    const char *at = text;
    text[strcspn(text, "#\r")] = 0;
    size_t count = 0;
    field last = FIELD_NUMBER;
    while (count < 4 && (last = read_number(&at, &numbers[count])) == FIELD_NUMBER) count++;
    if (last == FIELD_LARGE) return bad_line(in, line, "a number that is too large", error);
    if (last == FIELD_WRONG) return bad_line(in, line, "a line that is not of numbers", error);
    if (count == 0) return ZF_OK;
    if (count == 1 || count == 4) return bad_line(in, line, "a line that is no chunk", error);
    *offsets = *offsets || count == 3;
    ZF_TRY(add_chunk(in, numbers[2], numbers[0], numbers[1], line, error));
    *next = numbers[2] + numbers[0];
    return ZF_OK;
}

static zf_status read_list(input *in, zf_files_read *files, zf_error *error) {
    uint64_t next = 0;
    bool offsets = false;
    ZF_TRY(zf_files_note(files, in->list, error));
    ZF_TRY(read_file(in->list, &in->text, error));
    char *at = in->text.data;
    if (at != NULL && strlen(at) != in->text.length) return bad_line(in, 1, "a list with a zero byte", error);
    for (size_t line = 1; at != NULL && *at != 0; line++) {
        char *end = at + strcspn(at, "\n"), *behind = *end == 0 ? end : end + 1;
        *end = 0;
        ZF_TRY(read_line(in, at, line, &next, &offsets, error));
        at = behind;
    }
    if (offsets || next == in->bytes.length) return ZF_OK;
    zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_CHUNK_LIST, "the sizes add up to %llu bytes, but %s has %llu", (ull)next, in->path,
            (ull)in->bytes.length);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s", in->list);
}

// ---- Files without a list -------------------------------------------------------------------------------------

static zf_found_chunks found_in(const input *in) {
    return (zf_found_chunks){in->path, in->bytes.data, in->name, in->chunks, in->count};
}

/// Its bytes; NULL: none.
static const void *dictionary_of(const input *in) {
    if (in->dictionary == NULL) return NULL;
    return in->dictionary_bytes.data != NULL ? in->dictionary_bytes.data : "";
}

static bool has_column(const zf_table *table, const char *name) {
    const zf_column *column = table->columns;
    while (column != NULL && strcmp(column->name, name) != 0) column = column->next;
    return column != NULL;
}

/// Names the file in an error about the column's dictionary.
static void name_dictionary(const input *in, zf_error *error) {
    if (in->dictionary == NULL || error->number != ZF_ERROR_CHUNK_DICTIONARY) return;
    zf_fail_place(error, error->status, "column %.128s, the dictionary %.100s", in->name, in->dictionary);
}

static zf_status find_chunks(input *in, const zf_table *table, bool quiet, zf_error *error) {
    if (!has_column(table, in->name)) return ZF_OK; // zf_wrap says it, whatever the file is
    in->found = true;
    zf_status status = zf_chunks_find(in->path, in->bytes.data, in->bytes.length, dictionary_of(in), in->dictionary_bytes.length,
                                      &in->chunks, &in->count, error);
    if (status != ZF_OK) {
        name_dictionary(in, error);
        return status;
    }
    zf_found_chunks found = found_in(in);
    return zf_found_check(&found, table, quiet, error);
}

static zf_status read_input(input *in, zf_files_read *files, const zf_table *table, bool quiet, zf_error *error) {
    ZF_TRY(zf_files_note(files, in->path, error));
    ZF_TRY(read_file(in->path, &in->bytes, error));
    if (in->dictionary != NULL) {
        ZF_TRY(zf_files_note(files, in->dictionary, error));
        ZF_TRY(read_file(in->dictionary, &in->dictionary_bytes, error));
    }
    bool listed = in->listed || access(in->list, F_OK) == 0 || errno != ENOENT;
    return listed ? read_list(in, files, error) : find_chunks(in, table, quiet, error);
}

// ---- Operands -------------------------------------------------------------------------------------------------

static int no_memory(void) {
    zf_error error;
    zf_fail_no_memory(&error);
    return zf_report("wrap", &error);
}

/// Finds the column that COLUMN=FILE of an option names. NULL: there is none, which is reported.
static input *column_of(const zf_arguments *arguments, input *inputs, const char *option, const char *text) {
    const char *equals = strchr(text, '=');
    size_t length = equals != NULL ? (size_t)(equals - text) : 0;
    for (int k = 0; equals != NULL && equals[1] != 0 && k < arguments->operand_count; k++) {
        if (strlen(inputs[k].name) == length && memcmp(inputs[k].name, text, length) == 0) return &inputs[k];
    }
    zf_report_usage("wrap", "--%s needs COLUMN=FILE with a column among the operands, not `%.64s`", option, text);
    return NULL;
}

/// Reads --sizes or --dictionary. Returns the exit status.
static int read_option(const zf_arguments *arguments, input *inputs, const char *option, const char *text) {
    bool sizes = strcmp(option, "sizes") == 0;
    input *in = column_of(arguments, inputs, option, text);
    if (in == NULL) return EXIT_BAD_USAGE;
    if (sizes ? in->listed : in->dictionary != NULL) return zf_report_usage("wrap", "--%s names `%.64s` twice", option, in->name);
    const char *path = strchr(text, '=') + 1;
    if (!sizes) {
        in->dictionary = path;
        return EXIT_GOOD;
    }
    char *list = strdup(path);
    if (list == NULL) return no_memory();
    in->listed = true;
    free(in->list);
    in->list = list;
    return EXIT_GOOD;
}

/// Reads the operands and the options of columns. Returns the exit status, after printing what is wrong.
static int read_operands(const zf_arguments *arguments, input *inputs) {
    for (int i = 0; i < arguments->operand_count; i++) {
        const char *text = arguments->operands[i], *equals = strchr(text, '=');
        if (equals == NULL || equals == text || equals[1] == 0)
            return zf_report_usage("wrap", "an operand is COLUMN=CHUNKS, not `%.64s`", text);
        size_t length = strlen(equals + 1);
        inputs[i].name = strndup(text, (size_t)(equals - text));
        inputs[i].path = equals + 1;
        inputs[i].list = malloc(length + sizeof ".sizes");
        if (inputs[i].name == NULL || inputs[i].list == NULL) return no_memory();
        memcpy(inputs[i].list, equals + 1, length);
        memcpy(inputs[i].list + length, ".sizes", sizeof ".sizes");
    }
    for (int i = 0; i < arguments->given_count; i++) {
        const char *option = arguments->given[i].option->name;
        if (strcmp(option, "sizes") != 0 && strcmp(option, "dictionary") != 0) continue;
        int status = read_option(arguments, inputs, option, arguments->given[i].value);
        if (status != EXIT_GOOD) return status;
    }
    return EXIT_GOOD;
}

// ---- The file -------------------------------------------------------------------------------------------------

typedef struct wrapping {
    const zf_arguments *arguments;
    input *inputs;
    size_t count;
    const zf_encode_options *options;
    const char *path;
} wrapping;

/// Says where in its file a chunk is that zf_wrap refused, and which file a dictionary that it refused.
static void explain(const wrapping *w, zf_error *error) {
    for (size_t k = 0; k < w->count; k++) {
        char place[160];
        snprintf(place, sizeof place, "column %.128s", w->inputs[k].name);
        if (strcmp(error->place, place) == 0) name_dictionary(&w->inputs[k], error);
        zf_found_chunks found = found_in(&w->inputs[k]);
        if (w->inputs[k].found) zf_found_explain(&found, error);
    }
}

static zf_status wrap(const wrapping *w, zf_session *session, zf_program *program, const zf_table *table, zf_files_read *files,
                      zf_error *error) {
    zf_status status = ZF_OK;
    uint64_t rows = 0;
    zf_wrapped_column *columns = calloc(w->count + 1, sizeof *columns);
    zf_encode_stats *stats = calloc(w->count + table->column_count + 1u, sizeof *stats);
    if (columns == NULL || stats == NULL) status = zf_fail_no_memory(error);
    for (size_t k = 0; k < w->count && status == ZF_OK; k++) {
        input *in = &w->inputs[k];
        status = read_input(in, files, table, session->quiet, error);
        columns[k] = (zf_wrapped_column){.name = in->name, .chunks = in->chunks, .chunk_count = in->count};
        columns[k].dictionary = dictionary_of(in);
        columns[k].dictionary_size = in->dictionary_bytes.length;
    }
    for (size_t k = 0; status == ZF_OK && w->count > 0 && k < w->inputs[0].count; k++) rows += w->inputs[0].chunks[k].rows;
    if (status == ZF_OK) status = zf_files_unchanged(files, error); // all of it is in memory
    if (status == ZF_OK) status = zf_guard_output(zf_program_spec(program), files, w->path, error);
    if (status == ZF_OK) {
        status = zf_wrap(program, table->name, columns, w->count, w->options, w->path, stats, error);
        if (status == ZF_ERR_INPUT) explain(w, error);
    }
    bool json = zf_argument(w->arguments, "json") != NULL, reports = json || !session->quiet;
    if (status == ZF_OK && reports) status = zf_stored_sizes(session->context, w->path, w->count, stats, error);
    if (status == ZF_OK && json)
        status = zf_encoded_json(table, stats, true, rows, w->path, error);
    else if (status == ZF_OK && reports)
        zf_encoded_table(table, stats, true);
    free(columns);
    free(stats);
    return status;
}

static int wrap_with(const wrapping *w, const zf_program_name *name, zf_encode_options *options) {
    int status;
    zf_session session;
    zf_files_read files = {0};
    if (!zf_session_open(w->arguments, &session, &status)) return status;
    options->threads = session.threads;
    zf_error error;
    zf_program *program;
    const zf_table *table = zf_load_table_or_report("wrap", session.compiler, name, &program, &status);
    if (table) status = wrap(w, &session, program, table, &files, &error) == ZF_OK ? EXIT_GOOD : zf_report("wrap", &error);
    zf_files_free(&files);
    zf_program_free(program);
    zf_session_close(&session);
    return status;
}

int zf_run_wrap(zf_arguments *arguments) {
    const char *codec = zf_argument(arguments, "codec"), *path = zf_argument(arguments, "output");
    if (!codec) return usage("which program? Give -c FILE.zf[:TABLE]");
    if (!path) return usage("where to? Give -o OUT.zfd");
    zf_program_name name;
    if (!zf_program_name_read("wrap", codec, &name)) return EXIT_BAD_USAGE;
    zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = zf_argument(arguments, "force") != NULL,
                                 .zones = zf_argument(arguments, "zones") != NULL};
    if (!zf_argument_number(arguments, "rows-per-block", 1, ZF_ROWS_PER_BLOCK_MOST, 0, &options.rows_per_block))
        return EXIT_BAD_USAGE;
    if (!options.overwrite && access(path, F_OK) == 0) return zf_report_exists("wrap", path);
    size_t count = (size_t)arguments->operand_count;
    input *inputs = calloc(count + 1, sizeof *inputs);
    if (inputs == NULL) return no_memory();
    wrapping w = {arguments, inputs, count, &options, path};
    int status = read_operands(arguments, inputs);
    if (status == EXIT_GOOD) status = wrap_with(&w, &name, &options);
    free_inputs(inputs, count);
    return status;
}
