#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/measure_decoded.h"
#include "zfc/compiling_line.h"
#include "zfc/data/column_options.h"
#include "zfc/data/write_columns.h"
#include "zfc/decode_ahead.h"
#include "zfc/driver_codes.h"
#include "zfc/first_byte.h"
#include "zfc/output.h"
#include "zfc/report.h"
#include "zfc/session.h"
#include "zfc/signals.h"

typedef struct job {
    zf_context *context;
    zf_container *container;
    const char *directory, *device, *format;
    const zf_decode_options *options;
    const size_t *columns;
    size_t count;
    const zf_files_read *read; ///< the container, the modules, and what --tuned names
    bool overwrite, json, quiet, verbose;
    json_t *report;
    zf_before before;
} job;

/// Returns the time before a column's first byte: that of the run, and that of its own decode.
static zf_waited waited_for(const job *j, size_t index, const zf_decoded *column) {
    zf_waited w = column->waited;
    w.device += index == 0 ? j->before.device : 0;
    w.compile += j->before.each[index].compile_seconds;
    w.load += j->before.each[index].load_seconds;
    return w;
}

/// Prints what decoding column number `index` of the job took.
static zf_status print_column(const job *j, size_t index, const zf_decoded *column, zf_error *error) {
    char bytes[32], temper[64];
    uint64_t size = column->info.part == ZF_LIST_ENDS ? column->sizes.offsets : column->sizes.values;
    double gigabytes = column->seconds > 0 ? (double)size / column->seconds / 1e9 : 0;
    const zf_waited waited = waited_for(j, index, column), *w = &waited;
    const zf_code_stats code = {.codes = column->stats.codes, .compiled = column->stats.compiled, .cached = column->stats.cached};
    double all = w->device + w->compile + w->load + w->decode;
    if (j->json) {
        return zf_json_append(
            j->report,
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:{s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I}}", "column",
                      column->info.name, "type", column->info.type_name, "rows", (json_int_t)column->rows, "bytes",
                      (json_int_t)size, "kernels", (json_int_t)column->stats.kernels, "launches",
                      (json_int_t)column->stats.launches, "kernel_variants", (json_int_t)column->stats.kernel_variants,
                      "blocks_read", (json_int_t)column->stats.blocks_read, "bytes_read", (json_int_t)column->stats.bytes_read,
                      "seconds", column->seconds, "waited", "all", all, "device", w->device, "compile", w->compile, "load",
                      w->load, "decode", w->decode, "codes", (json_int_t)code.codes, "compiled", (json_int_t)code.compiled,
                      "cached", (json_int_t)code.cached),
            error);
    }
    if (!j->quiet) {
        zf_compiling_line_pause(); // the next column may be under way
        printf("%-18s %12llu %-4s %10s  %llu kernel%s  %.2f GB/s\n", column->info.name, (unsigned long long)column->rows,
               column->rows == 1 ? "row" : "rows", zf_bytes_text(size, bytes), (unsigned long long)column->stats.kernels,
               column->stats.kernels == 1 ? "" : "s", gigabytes);
        if (j->verbose) {
            printf("%-18s waited %.3f s: %.3f for the device to start, %.3f compiling (%s), %.3f for it to load the code, %.3f "
                   "decoding\n",
                   "", all, w->device, w->compile, zf_code_temper(&code, temper), w->load, w->decode);
        }
        zf_compiling_line_resume();
    }
    return ZF_OK;
}

/// Bytes of two columns that are in memory at once: while one is written, the next is decoded. Larger ones follow each other.
static const uint64_t AHEAD_MOST = UINT64_C(1) << 30;

static uint64_t bytes_of(const zf_decode_sizes *sizes) { return (uint64_t)sizes->values + sizes->offsets + sizes->validity; }

/// A decode to files.
typedef struct run {
    const job *j;
    zf_ahead ahead;
    zf_outputs outputs;
    zf_decode_options values; ///< of the values of the lists that were decoded last
    bool begun;               ///< the next column is being decoded
} run;

/// The part that column number `index` of the job is of lists that the job has; ZF_LIST_NONE where it decodes alone.
static zf_list_part part_of(const job *j, size_t index) {
    zf_column_info info = {0}, before = {0};
    if (zf_container_column(j->container, j->columns[index], &info, NULL) != ZF_OK) return ZF_LIST_NONE;
    if (info.part == ZF_LIST_ENDS || info.part == ZF_LIST_NONE) return info.part;
    bool follows = index > 0 && j->columns[index - 1] + 1 == j->columns[index] &&
                   zf_container_column(j->container, j->columns[index - 1], &before, NULL) == ZF_OK &&
                   (before.part == ZF_LIST_ENDS || (before.part == ZF_LIST_VALIDITY && part_of(j, index - 1) != ZF_LIST_NONE));
    return follows ? info.part : ZF_LIST_NONE;
}

/// Returns whether column number `next` may be decoded while `column` is still in memory. True if its size is unknown: decoding
/// it reports why.
static bool goes_ahead(const job *j, const zf_decoded *column, size_t next) {
    zf_decode_sizes sizes = {0};
    zf_error error;
    if (zf_decode_size(j->container, j->columns[next], j->options, &sizes, &error) != ZF_OK) return true;
    return bytes_of(&column->sizes) <= AHEAD_MOST && bytes_of(&sizes) <= AHEAD_MOST - bytes_of(&column->sizes);
}

static zf_status begin(run *r, size_t index, zf_error *error) {
    r->ahead.options = part_of(r->j, index) == ZF_LIST_VALUES ? &r->values : r->j->options;
    r->begun = true;
    return zf_ahead_begin(&r->ahead, r->j->columns[index], error);
}

static zf_status write_column(run *r, size_t index, const zf_decoded *column, zf_error *error) {
    const job *j = r->j;
    ZF_TRY(strcmp(j->format, "npy") == 0 ? zf_write_npy(j->directory, column, &r->outputs, error)
                                         : zf_write_raw(j->directory, column, &r->outputs, error));
    return print_column(j, index, column, error);
}

/// Decodes and writes the offsets and the validity of lists, which say which values follow.
static zf_status decode_lists(run *r, size_t index, zf_error *error) {
    const job *j = r->j;
    zf_decoded column;
    zf_status status =
        zf_decode_lists_of(j->context, j->container, j->columns[index], j->device, j->options, &column, &r->values, error);
    if (status == ZF_OK) status = write_column(r, index, &column, error);
    zf_decoded_free(&column);
    return status;
}

/// Waits for column number `index`, begins with the next one if that decodes alone, and writes it.
static zf_status decode_next(run *r, size_t index, zf_error *error) {
    const job *j = r->j;
    zf_decoded column;
    zf_error failure;
    zf_list_part part = part_of(j, index);
    if (part == ZF_LIST_ENDS) return decode_lists(r, index, error);
    if (part == ZF_LIST_VALIDITY) return ZF_OK; // came with the offsets
    if (!r->begun) ZF_TRY(begin(r, index, error));
    r->begun = false;
    zf_status status = zf_ahead_end(&r->ahead, &column, error), next = ZF_OK;
    bool alone = index + 1 < j->count && part_of(j, index + 1) == ZF_LIST_NONE;
    if (status == ZF_OK && alone && goes_ahead(j, &column, index + 1)) next = begin(r, index + 1, &failure);
    if (status == ZF_OK) status = write_column(r, index, &column, error);
    zf_decoded_free(&column);
    if (status != ZF_OK || next == ZF_OK) return status;
    *error = failure;
    return next;
}

/// A part of lists alone has other rows than the table, or means nothing without the lists.
static zf_status check_parts(const job *j, zf_error *error) {
    for (size_t i = 0; i < j->count && j->options->some_rows; i++) {
        zf_column_info info = {0};
        ZF_TRY(zf_container_column(j->container, j->columns[i], &info, error));
        if (info.part == ZF_LIST_NONE || part_of(j, i) != ZF_LIST_NONE) continue;
        zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--rows are those of the table, and `%s` is a part of lists", info.name);
        return zf_fail_hint(error, ZF_ERR_USAGE, "--columns %.*s decodes the lists with their parts",
                            (int)strcspn(info.name, "."), info.name);
    }
    return ZF_OK;
}

/// No file gets its name before the last column was decoded: a name in the directory stands for a whole decode.
static zf_status decode_files(const job *j, zf_error *error) {
    run r = {.j = j,
             .outputs = {.overwrite = j->overwrite, .read = j->read},
             .ahead = {.context = j->context, .container = j->container, .device = j->device, .options = j->options}};
    ZF_TRY(check_parts(j, error));
    zf_status status = ZF_OK;
    for (size_t i = 0; i < j->count && status == ZF_OK; i++) {
        zf_column_info info = {0};
        status = zf_container_column(j->container, j->columns[i], &info, error);
        if (status == ZF_OK && info.stored_bytes > r.ahead.stored_most) r.ahead.stored_most = info.stored_bytes;
        if (status == ZF_OK && info.plain_bytes > r.ahead.plain_most) r.ahead.plain_most = info.plain_bytes;
    }
    zf_signals_remove_outputs(&r.outputs);
    zf_allow_many_files();
    for (size_t i = 0; i < j->count && status == ZF_OK; i++) status = decode_next(&r, i, error);
    zf_ahead_close(&r.ahead);
    if (status == ZF_OK) status = zf_outputs_commit(&r.outputs, error);
    zf_outputs_free(&r.outputs);
    zf_signals_remove_outputs(NULL);
    return status;
}

// Rows come in slices, so that memory does not grow with the table.
enum { SLICE = 1 << 18 };

static zf_status decode_slice(const job *j, const zf_decode_options *slice, zf_decoded *columns, zf_sink *sink, zf_error *error) {
    zf_status status = ZF_OK;
    for (size_t i = 0; i < j->count && status == ZF_OK; i++)
        status = zf_decode_column(j->context, j->container, j->columns[i], j->device, slice, 1, &columns[i], error);
    zf_text text = {0};
    if (status == ZF_OK) zf_print_rows(columns, j->count, &text);
    if (status == ZF_OK && text.failed) status = zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to print rows");
    if (status == ZF_OK) status = zf_sink_write(sink, text.data, text.length, error);
    zf_text_free(&text);
    for (size_t i = 0; i < j->count; i++) zf_decoded_free(&columns[i]);
    return status;
}

static zf_status no_text(const zf_column_info *info, zf_error *error) {
    zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--format csv: column `%s` is of lists, which have no form in delimited text",
            info->name);
    return zf_fail_hint(error, ZF_ERR_USAGE, "--format raw and npy write lists; --columns leaves columns out");
}

static zf_status decode_text(const job *j, zf_error *error) {
    char path[4096];
    ZF_TRY(zf_output_path(j->directory, zf_container_table(j->container), ".csv", path, sizeof path, error));
    uint64_t rows = zf_container_rows(j->container), end = rows;
    if (j->options->some_rows && j->options->row_count != UINT64_MAX) end = j->options->row_begin + j->options->row_count;
    if (j->options->row_begin > rows || end > rows) {
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--rows goes beyond the table, which has %s",
                       zf_rows_text(rows, (char[32]){0}));
    }
    zf_decoded *columns = calloc(j->count + 1, sizeof *columns);
    if (!columns) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory");
    zf_sink sink;
    zf_outputs outputs = {.overwrite = j->overwrite, .read = j->read};
    zf_signals_remove_outputs(&outputs);
    zf_status status = zf_outputs_open(&outputs, path, &sink, error);
    zf_text names = {0};
    for (size_t i = 0; i < j->count && status == ZF_OK; i++) {
        zf_column_info info = {0};
        status = zf_container_column(j->container, j->columns[i], &info, error);
        if (status == ZF_OK && info.part != ZF_LIST_NONE) status = no_text(&info, error);
        if (i > 0) zf_text_puts(&names, ",");
        if (status == ZF_OK) zf_print_field(info.full_name, strlen(info.full_name), &names);
    }
    zf_text_puts(&names, "\n");
    if (status == ZF_OK && names.failed) status = zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to print a header");
    if (status == ZF_OK) status = zf_sink_write(&sink, names.data, names.length, error);
    zf_text_free(&names);
    for (uint64_t row = j->options->row_begin; row < end && status == ZF_OK; row += SLICE) {
        zf_decode_options slice = *j->options;
        slice.some_rows = true;
        slice.row_begin = row;
        slice.row_count = end - row < SLICE ? end - row : SLICE;
        status = decode_slice(j, &slice, columns, &sink, error);
    }
    free(columns);
    if (status == ZF_OK) status = zf_outputs_commit(&outputs, error);
    zf_outputs_free(&outputs);
    zf_signals_remove_outputs(NULL);
    if (status == ZF_OK && !j->quiet && !j->json) {
        zf_print_path(stdout, path);
        printf(": %s\n", zf_rows_text(end - j->options->row_begin, (char[32]){0}));
    }
    return status;
}

int zf_run_decode(zf_arguments *arguments) {
    job j = {.directory = zf_argument(arguments, "output"),
             .device = zf_argument(arguments, "device"),
             .format = zf_argument(arguments, "format"),
             .overwrite = zf_argument(arguments, "force") != NULL,
             .json = zf_argument(arguments, "json") != NULL};
    if (!j.directory) {
        return zf_report_usage("decode", "where to? Give -o DIR");
    }
    if (!j.device) j.device = "auto";
    if (!j.format) j.format = "raw";
    zf_decode_options options = {0};
    const char *rows = zf_argument(arguments, "rows");
    const char *wrong = rows ? zf_rows_option(rows, &options) : NULL;
    if (wrong) {
        return zf_report_usage("decode", "%s, not `%s`", wrong, rows);
    }
    zf_session session;
    int exit_status = EXIT_GOOD;
    if (!zf_session_open(arguments, &session, &exit_status)) return exit_status;
    options.threads = session.threads;
    j.options = &options;
    j.context = session.context;
    j.quiet = session.quiet;
    j.verbose = session.verbose;
    j.report = json_array();
    zf_error error;
    size_t *selected = NULL;
    zf_files_read read = {0};
    j.read = &read;
    zf_status status = zf_session_check_choose(arguments, &session, j.device, &error);
    if (status == ZF_OK) status = zf_files_note(&read, arguments->operands[0], &error);
    for (int i = 0; i < arguments->given_count && status == ZF_OK; i++) {
        const char *option = arguments->given[i].option->name;
        if (strcmp(option, "module") == 0 || strcmp(option, "tuned") == 0)
            status = zf_files_note(&read, arguments->given[i].value, &error);
    }
    if (status == ZF_OK) status = zf_open_container(arguments, session.context, arguments->operands[0], &j.container, &error);
    if (status == ZF_OK) {
        selected = zf_selected_columns(j.container, zf_argument(arguments, "columns"), &j.count, &error);
        if (!selected) status = error.status;
        j.columns = selected;
    }
    bool made = false;
    if (status == ZF_OK) status = zf_output_directory(j.directory, &made, &error);
    if (status == ZF_OK)
        status = zf_before_columns(j.context, j.container, j.columns, j.count, j.device, &options, &j.before, &error);
    if (status == ZF_OK) status = strcmp(j.format, "csv") == 0 ? decode_text(&j, &error) : decode_files(&j, &error);
    bool listed = !j.quiet && !j.json && strcmp(j.format, "csv") != 0;
    if (status == ZF_OK && listed) zf_before_print(&j.before);
    if (status == ZF_OK && j.json) status = zf_json_print(j.report, &error);
    if (status != ZF_OK) exit_status = zf_report("decode", &error);
    if (status != ZF_OK && made) rmdir(j.directory); // only if it is empty
    if (made) zf_signals_remove_directory(NULL);
    zf_files_free(&read);
    json_decref(j.report);
    zf_before_free(&j.before);
    free(selected);
    zf_container_close(j.container);
    zf_session_close(&session);
    return exit_status;
}
