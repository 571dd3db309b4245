#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/program.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_index.h"
#include "runtime/container/element.h"
#include "zfc/compiling_line.h"
#include "zfc/data/files_read.h"
#include "zfc/data/table_batches.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"
#include "zfc/program_operand.h"
#include "zfc/report.h"
#include "zfc/session.h"
#include "zfc/verbs/encode_report.h"

static int usage(const char *message) { return zf_report_usage("encode", "%s", message); }

/// NULL, or what is wrong.
static const char *delimiter_of(const zf_arguments *arguments, char *out) {
    const char *text = zf_argument(arguments, "delimiter");
    *out = ',';
    if (!text) return NULL;
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0)
        *out = '\t';
    else if (text[0] && !text[1])
        *out = text[0];
    else
        return "--delimiter needs one character, or `tab`";
    if (*out == '"') return "--delimiter cannot be a quote: quotes stand around fields";
    return *out == '\n' || *out == '\r' ? "--delimiter cannot be the end of a line: that ends a row" : NULL;
}

// `COLUMN=FILE` when what stands before the first `=` looks like a name, and no file has the whole as its name.
static const char *equals_sign(const char *input) {
    size_t length = strspn(input, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    if (length == 0 || input[length] != '=' || access(input, F_OK) == 0) return NULL;
    return input + length;
}

static const char *file_of(const char *input) {
    const char *equals = equals_sign(input);
    return equals ? equals + 1 : input;
}

// Reports certain failures before much is read: an output that exists, or is the program or one of the inputs.
static int check_output(const char *path, bool overwrite) {
    if (overwrite || access(path, F_OK) != 0) return EXIT_GOOD;
    return zf_report_exists("encode", path);
}

static bool show_progress(void *user, uint64_t done, uint64_t all) {
    (void)user;
    zf_compiling_line_pause();
    fprintf(stderr, "\rencoding: block %llu", (unsigned long long)done);
    if (all > 0) fprintf(stderr, " of %llu", (unsigned long long)all);
    fprintf(stderr, "\033[K");
    if (done == all) fprintf(stderr, "\r\033[K");
    zf_compiling_line_resume();
    return true;
}

/// The options that say how inputs are read.
typedef struct input_options {
    zf_delimited_options text;
    const char *null_words[MOST_GIVEN];
    uint64_t memory; ///< bytes that inputs may take
    bool any_format; ///< raw files may be of any format
} input_options;

static bool is_given(const zf_arguments *arguments, int i, const char *name) {
    return strcmp(arguments->given[i].option->name, name) == 0;
}

/// Refuses options that no input would use.
static const char *unused_option(const zf_arguments *arguments) {
    static const char *const of_text[][2] = {
        {"header", "--header is for delimited text, and no input is text"},
        {"skip-rows", "--skip-rows is for delimited text, and no input is text"},
        {"field", "--field is for delimited text, and no input is text"},
        {"delimiter", "--delimiter is for delimited text, and no input is text"},
        {"null", "--null is for delimited text, and no input is text"},
    };
    bool text = false, raw = false;
    for (int i = 0; i < arguments->operand_count; i++) {
        bool is_raw = equals_sign(arguments->operands[i]) != NULL;
        raw = raw || is_raw;
        text = text || !is_raw;
    }
    for (size_t i = 0; !text && i < sizeof of_text / sizeof *of_text; i++) {
        if (zf_argument(arguments, of_text[i][0])) return of_text[i][1];
    }
    return raw || !zf_argument(arguments, "raw") ? NULL : "--raw is for inputs COLUMN=FILE, and there is none";
}

/// Reads the options for inputs. False after printing what is wrong.
static bool read_intake(const zf_arguments *arguments, input_options *out) {
    *out = (input_options){.text = {.header = zf_argument(arguments, "header")},
                           .any_format = zf_argument(arguments, "raw") != NULL};
    const char *wrong = delimiter_of(arguments, &out->text.delimiter);
    if (!wrong) wrong = unused_option(arguments);
    const char *skip = zf_argument(arguments, "skip-rows");
    if (!wrong && skip) {
        size_t digits = strspn(skip, "0123456789");
        out->text.skip = true;
        if (skip[digits] || digits > 18) wrong = "--skip-rows needs a number of rows, such as 1";
        out->text.skip_rows = strtoull(skip, NULL, 10);
    }
    if (wrong) {
        usage(wrong);
        return false;
    }
    out->text.null_words = out->null_words;
    for (int i = 0; i < arguments->given_count; i++) {
        if (!is_given(arguments, i, "null")) continue;
        const char *word = arguments->given[i].value, never[] = {'"', '\n', '\r', out->text.delimiter, 0};
        if (word[strcspn(word, never)]) {
            usage("--null: no field without quotes has a quote, the delimiter or the end of a line, so this word never matches");
            return false;
        }
        out->null_words[out->text.null_count++] = word;
    }
    return zf_argument_bytes(arguments, "input-memory", INT64_MAX, zf_input_memory_most(), &out->memory);
}

static zf_status map_fields(const zf_arguments *arguments, zf_table_data *data, zf_error *error) {
    for (int i = 0; i < arguments->given_count; i++) {
        if (is_given(arguments, i, "field")) ZF_TRY(zf_table_data_map(data, arguments->given[i].value, error));
    }
    return zf_table_data_check_fields(data, error);
}

static zf_status read_inputs(const zf_arguments *arguments, const input_options *intake, const zf_files_read *files,
                             zf_table_data *data, zf_error *error) {
    data->memory.most = intake->memory;
    ZF_TRY(map_fields(arguments, data, error));
    for (int i = 0; i < arguments->operand_count; i++) {
        const char *input = arguments->operands[i], *equals = equals_sign(input);
        if (equals)
            ZF_TRY(zf_read_raw(input, (size_t)(equals - input), equals + 1, intake->any_format, data, error));
        else
            ZF_TRY(zf_read_delimited(input, &intake->text, data, error));
    }
    ZF_TRY(zf_files_unchanged(files, error)); // from here on all of it is in memory
    return zf_table_data_finish(data, error);
}

/// Reads the options `--metadata` into `out`, which has room for all. False after printing what is wrong.
static bool read_metadata(const zf_arguments *arguments, zf_metadata *out, size_t *count) {
    *count = 0;
    for (int i = 0; i < arguments->given_count; i++) {
        if (!is_given(arguments, i, "metadata")) continue;
        const char *text = arguments->given[i].value, *equals = strchr(text, '=');
        char *key = equals != NULL && equals > text ? strndup(text, (size_t)(equals - text)) : NULL;
        if (key == NULL) {
            zf_report_usage("encode", "--metadata needs KEY=VALUE, not `%.64s`", text);
            return false;
        }
        out[(*count)++] = (zf_metadata){key, equals + 1, strlen(equals + 1)};
        for (size_t k = 0; k + 1 < *count; k++) {
            if (strcmp(out[k].key, key) != 0) continue;
            zf_report_usage("encode", "--metadata names `%.64s` twice", key);
            return false;
        }
    }
    return true;
}

static void free_metadata(zf_metadata *metadata, size_t count) {
    for (size_t k = 0; k < count; k++) free((char *)(uintptr_t)metadata[k].key);
}

/// The name of the column's field, which the file keeps; NULL: it is the column's, or cannot be kept.
static const char *kept_name(const zf_column_data *column, const zf_encode_options *options) {
    size_t length = strlen(column->field);
    return options->format != 1 && length > 0 && zf_name_valid(column->field, length) ? column->field : NULL;
}

/// The inputs of a table, and its file.
typedef struct encoding {
    const zf_arguments *arguments;
    zf_program *program;
    const zf_table *table;
    const input_options *intake;
    const zf_encode_options *options;
    const char *path;
    zf_files_read files;
    zf_table_data data;
    zf_encode_column *columns; ///< one for each of `data`
    zf_encode_column *given;   ///< of them those that the encoder is given
    zf_encode_stats *stats;
    uint64_t rows; ///< of the result
} encoding;

/// Whether all inputs are regular files, which are read in batches. Others are read whole, one after the other, as far as
/// `--input-memory` allows: they may have no end, and who writes them may wait for one after the other. A missing file is an
/// error either way.
static bool all_regular(const zf_arguments *arguments) {
    struct stat facts;
    for (int i = 0; i < arguments->operand_count; i++) {
        if (stat(file_of(arguments->operands[i]), &facts) == 0 && !S_ISREG(facts.st_mode)) return false;
    }
    return true;
}

/// Copies the columns that the encoder is given to `out`: the values of lists come with their lists. Returns their number.
static size_t given_columns(const encoding *e, zf_encode_column *out) {
    size_t count = 0;
    for (size_t i = 0; i < e->data.count; i++)
        if (e->data.columns[i].part != ZF_LIST_VALUES) out[count++] = e->columns[i];
    return count;
}

static zf_status encode_whole(encoding *e, zf_error *error) {
    ZF_TRY(read_inputs(e->arguments, e->intake, &e->files, &e->data, error));
    for (size_t i = 0; i < e->data.count; i++) {
        const zf_column_data *column = &e->data.columns[i];
        e->columns[i] =
            (zf_encode_column){.name = column->name,
                               .values = column->part == ZF_LIST_ENDS ? (const void *)&e->columns[i + 1] : column->values,
                               .offsets = column->offsets,
                               .validity = column->validity,
                               .full_name = kept_name(column, e->options)};
    }
    e->rows = e->data.rows;
    size_t count = given_columns(e, e->given);
    return zf_encode(e->program, e->table->name, e->given, count, e->data.rows, e->options, e->path, e->stats, error);
}

/// Starts the file after the first batch, so that faults of small inputs are reported before any code is compiled.
static zf_status append_batches(encoding *e, zf_table_batches *batches, zf_table_writer **writer, zf_error *error) {
    for (uint64_t rows = 1; rows > 0;) {
        ZF_TRY(zf_table_batches_next(batches, e->columns, &rows, error));
        for (size_t i = 0; i < e->data.count && !*writer; i++) {
            e->columns[i].name = e->data.columns[i].name;
            e->columns[i].full_name = kept_name(&e->data.columns[i], e->options);
        }
        size_t count = given_columns(e, e->given);
        if (!*writer)
            ZF_TRY(zf_table_writer_create(e->program, e->table->name, e->given, count, e->options, e->path, writer, error));
        ZF_TRY(zf_table_writer_append(*writer, e->given, count, rows, error));
    }
    ZF_TRY(zf_files_unchanged(&e->files, error)); // nothing is read any more
    e->rows = zf_table_writer_rows(*writer);
    return zf_table_writer_finish(*writer, e->stats, error);
}

static zf_status encode_batches(encoding *e, zf_error *error) {
    zf_table_batches *batches;
    zf_table_writer *writer = NULL;
    zf_encode_options options = *e->options;
    const zf_arguments *arguments = e->arguments;
    size_t count = (size_t)arguments->operand_count;
    e->data.memory.most = e->intake->memory;
    ZF_TRY(map_fields(arguments, &e->data, error));
    zf_table_input *inputs = calloc(count, sizeof *inputs);
    if (!inputs) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for the inputs");
    for (size_t i = 0; i < count; i++) {
        inputs[i] = (zf_table_input){arguments->operands[i], equals_sign(arguments->operands[i])};
        if (!inputs[i].equals) options.progress = NULL; // what is read of texts is shown
    }
    e->options = &options;
    zf_status status = zf_table_batches_open(inputs, count, &e->intake->text, e->intake->any_format, &e->data, &batches, error);
    if (status == ZF_OK) status = append_batches(e, batches, &writer, error);
    zf_table_writer_free(writer);
    zf_table_batches_free(batches);
    free(inputs);
    return status;
}

static int encode(encoding *e, zf_session *session) {
    zf_error error;
    const zf_arguments *arguments = e->arguments;
    if (zf_table_data_create(e->table, &e->data, &error) != ZF_OK) return zf_report("encode", &error);
    e->columns = calloc(e->data.count + 1, sizeof *e->columns);
    e->given = calloc(e->data.count + 1, sizeof *e->given);
    e->stats = calloc(e->table->column_count + 1, sizeof *e->stats);
    zf_status status = e->columns && e->given && e->stats ? ZF_OK : zf_fail(&error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory");
    for (int i = 0; i < arguments->operand_count && status == ZF_OK; i++)
        status = zf_files_note(&e->files, file_of(arguments->operands[i]), &error);
    if (status == ZF_OK) status = zf_guard_output(zf_program_spec(e->program), &e->files, e->path, &error);
    if (status == ZF_OK) status = all_regular(arguments) ? encode_batches(e, &error) : encode_whole(e, &error);
    bool json = zf_argument(arguments, "json") != NULL, reports = json || !session->quiet;
    if (status == ZF_OK && reports) status = zf_stored_sizes(session->context, e->path, e->table->column_count, e->stats, &error);
    if (status == ZF_OK && json)
        status = zf_encoded_json(e->table, e->stats, false, e->rows, e->path, &error);
    else if (status == ZF_OK && reports)
        zf_encoded_table(e->table, e->stats, false);
    zf_files_free(&e->files);
    free(e->columns);
    free(e->given);
    free(e->stats);
    zf_table_data_free(&e->data);
    return status == ZF_OK ? EXIT_GOOD : zf_report("encode", &error);
}

static void print_missing(void *user, const char *reason) {
    (void)user;
    fprintf(stderr, "zfc encode: note: ");
    zf_print_path(stderr, reason);
    fprintf(stderr, "; other alternatives were taken\n");
}

/// Encodes with options that were read.
static int encode_with(const zf_arguments *arguments, const zf_program_name *name, input_options *intake,
                       zf_encode_options *options, const char *path) {
    int status;
    zf_session session;
    if (!zf_session_open(arguments, &session, &status)) return status;
    options->threads = session.threads;
    bool terminal = isatty(STDERR_FILENO) && !session.quiet;
    intake->text.progress = terminal;
    if (terminal) options->progress = show_progress;
    zf_program *program;
    const zf_table *table = zf_load_table_or_report("encode", session.compiler, name, &program, &status);
    encoding e = {.arguments = arguments, .program = program, .table = table, .intake = intake, .options = options, .path = path};
    if (table) status = encode(&e, &session);
    if (status == EXIT_GOOD && !session.quiet && !session.verbose)
        zf_program_missing(program, print_missing, NULL); // else in the log
    zf_program_free(program);
    zf_session_close(&session);
    return status;
}

int zf_run_encode(zf_arguments *arguments) {
    const char *codec = zf_argument(arguments, "codec"), *path = zf_argument(arguments, "output");
    if (!codec) return usage("which program? Give -c FILE.zf[:TABLE]");
    if (!path) return usage("where to? Give -o OUT.zfd");
    zf_program_name name;
    if (!zf_program_name_read("encode", codec, &name)) return EXIT_BAD_USAGE;
    input_options intake;
    if (!read_intake(arguments, &intake)) return EXIT_BAD_USAGE;
    zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = zf_argument(arguments, "force") != NULL};
    if (!zf_argument_number(arguments, "rows-per-block", 1, ZF_ROWS_PER_BLOCK_MOST, 0, &options.rows_per_block))
        return EXIT_BAD_USAGE;
    const char *interval = zf_argument(arguments, "seek-interval"); // one of those that the option takes
    if (interval) options.seek_interval = (unsigned)strtoul(interval, NULL, 10);
    options.unfused = zf_argument(arguments, "unfused");
    const char *format = zf_argument(arguments, "format");
    if (format) options.format = (unsigned)strtoul(format, NULL, 10);
    options.zones = zf_argument(arguments, "zones") != NULL;
    zf_metadata metadata[MOST_GIVEN];
    options.metadata = metadata;
    int status = check_output(path, options.overwrite);
    if (status == EXIT_GOOD && !read_metadata(arguments, metadata, &options.metadata_count)) status = EXIT_BAD_USAGE;
    if (status == EXIT_GOOD && options.format == 1 && zf_argument(arguments, "field") && !zf_argument(arguments, "quiet"))
        fprintf(stderr, "zfc encode: note: version 1 keeps the names of columns, not those of --field\n");
    if (status == EXIT_GOOD) status = encode_with(arguments, &name, &intake, &options, path);
    free_metadata(metadata, options.metadata_count);
    return status;
}
