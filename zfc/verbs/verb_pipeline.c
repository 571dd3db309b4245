#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/context/context.h"
#include "zfc/data/column_options.h"
#include "zfc/driver_codes.h"
#include "zfc/output.h"
#include "zfc/pipeline/pipelining.h"
#include "zfc/report.h"
#include "zfc/session.h"
#include "zfc/signals.h"

typedef struct piping {
    const zf_arguments *arguments;
    zf_session session;
    // options
    const char *device, *order, *names, *trace, *svg;
    bool force, load, plan, verify, on_device;
    uint64_t repeat; ///< 0: one run, which counts
    zf_pipeline_options pipeline_options;
    zf_decode_options decode_options;
    // what there is
    zf_files_read read;
    zf_container **containers;
    size_t container_count;
    zf_piped *columns;
    size_t count;
    zf_pipeline *pipeline;
    zf_pipe_memory memory;
    zf_pipeline_request *requests;
    const zf_piped **of_request;
    size_t request_count;
    zf_batch *batch;
    zf_before before;
    double *runs;
    size_t run_count;
    int exit_status;
} piping;

static int usage(const char *message) { return zf_report_usage("pipeline", "%s", message); }

/// Reports an error, which makes the exit status.
static void fail(piping *p, const zf_error *failure) {
    int status = zf_report("pipeline", failure);
    if (p->exit_status != EXIT_BAD_DEVICE) p->exit_status = status;
}

// ---- Options --------------------------------------------------------------------------------------------------

static bool read_sizes(const zf_arguments *arguments, zf_pipeline_options *out) {
    const uint64_t most = UINT64_C(1) << 40;
    uint64_t readers, streams;
    if (!zf_argument_bytes(arguments, "device-staging", most, 0, &out->device_staging) ||
        !zf_argument_bytes(arguments, "host-staging", most, 0, &out->host_staging) ||
        !zf_argument_bytes(arguments, "unit", most, 0, &out->unit_bytes) ||
        !zf_argument_number(arguments, "readers", 1, 64, 0, &readers) ||
        !zf_argument_number(arguments, "streams", 1, 8, 0, &streams))
        return false;
    out->readers = (unsigned)readers;
    out->streams = (unsigned)streams;
    return true;
}

/// Reads the options; prints what is wrong and returns EXIT_BAD_USAGE.
static int read_options(const zf_arguments *arguments, piping *p) {
    const char *rows = zf_argument(arguments, "rows"), *wrong = rows ? zf_rows_option(rows, &p->decode_options) : NULL;
    if (wrong) {
        return zf_report_usage("pipeline", "%s, not `%s`", wrong, rows);
    }
    if (!read_sizes(arguments, &p->pipeline_options)) return EXIT_BAD_USAGE;
    if (!zf_argument_number(arguments, "repeat", 1, 1000, 0, &p->repeat)) return EXIT_BAD_USAGE;
    p->arguments = arguments;
    p->device = zf_argument(arguments, "device");
    p->order = zf_argument(arguments, "order");
    p->names = zf_argument(arguments, "columns");
    p->trace = zf_argument(arguments, "trace");
    p->svg = zf_argument(arguments, "svg");
    p->force = zf_argument(arguments, "force") != NULL;
    p->load = zf_argument(arguments, "load") != NULL;
    p->plan = zf_argument(arguments, "plan") != NULL;
    p->verify = zf_argument(arguments, "verify") != NULL;
    if (p->plan && (p->trace || p->verify || p->repeat))
        return usage("--plan decodes nothing: it goes without --trace, --verify and --repeat");
    if (!p->device) p->device = "auto";
    if (!p->order) p->order = "johnson";
    p->pipeline_options.order = strcmp(p->order, "given") == 0   ? ZF_PIPELINE_GIVEN
                                : strcmp(p->order, "apart") == 0 ? ZF_PIPELINE_APART
                                                                 : ZF_PIPELINE_JOHNSON;
    return EXIT_GOOD;
}

// ---- Files ----------------------------------------------------------------------------------------------------

/// Reports failures that are certain before anything is decoded.
static zf_status check_output(const piping *p, const char *path, zf_error *error) {
    zf_output_file *file = NULL;
    if (path == NULL) return ZF_OK;
    ZF_TRY(zf_files_guard(&p->read, path, error));
    zf_status status = zf_output_create(path, (zf_output_options){.overwrite = p->force}, &file, error);
    zf_output_free(file);
    return status;
}

static zf_status open_files(piping *p, zf_error *error) {
    const zf_arguments *arguments = p->arguments;
    p->containers = calloc((size_t)arguments->operand_count + 1, sizeof *p->containers);
    if (p->containers == NULL) return zf_fail_no_memory(error);
    for (int i = 0; i < arguments->given_count; i++) {
        const char *option = arguments->given[i].option->name;
        if (strcmp(option, "module") == 0 || strcmp(option, "tuned") == 0)
            ZF_TRY(zf_files_note(&p->read, arguments->given[i].value, error));
    }
    for (int i = 0; i < arguments->operand_count; i++) {
        zf_container **container = &p->containers[p->container_count];
        ZF_TRY(zf_files_note(&p->read, arguments->operands[i], error));
        ZF_TRY(zf_open_container(arguments, p->session.context, arguments->operands[i], container, error));
        p->container_count++;
    }
    if (p->trace && p->svg && zf_files_same(p->trace, p->svg))
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--trace and --svg name the same file");
    ZF_TRY(check_output(p, p->trace, error));
    return check_output(p, p->svg, error);
}

static bool has_column(const zf_container *container, const char *name) {
    size_t index;
    return zf_container_find(container, name, &index, NULL) == ZF_OK;
}

/// Those of the names that a container has, in their order; `wanted` has room for all.
static zf_status names_within(const char *names, const zf_container *container, char *wanted, zf_error *error) {
    char name[ZF_NAME_ROOM], *out = wanted;
    while (names != NULL) {
        const char *begin = names;
        ZF_TRY(zf_next_name(&names, name, error));
        if (!has_column(container, name)) continue;
        if (out != wanted) *out++ = ',';
        size_t length = names != NULL ? (size_t)(names - 1 - begin) : strlen(begin);
        memcpy(out, begin, length);
        out += length;
    }
    *out = 0;
    return ZF_OK;
}

/// With several containers: a name must be that of a column of one of them at least.
static zf_status check_names(const piping *p, zf_error *error) {
    char name[ZF_NAME_ROOM];
    for (const char *at = p->container_count > 1 ? p->names : NULL; at != NULL;) {
        size_t c = 0;
        ZF_TRY(zf_next_name(&at, name, error));
        while (c < p->container_count && !has_column(p->containers[c], name)) c++;
        if (c == p->container_count)
            return zf_fail(error, ZF_ERR_USAGE, ZFC_NO_SUCH_COLUMN, "--columns: no container has a column `%.64s`", name);
    }
    return ZF_OK;
}

static zf_status add_columns(piping *p, zf_container *container, const size_t *selected, size_t count, zf_error *error) {
    zf_piped *grown = realloc(p->columns, (p->count + count + 1) * sizeof *grown);
    if (grown == NULL) return zf_fail_no_memory(error);
    p->columns = grown;
    for (size_t i = 0; i < count; i++) {
        zf_piped *c = &p->columns[p->count++];
        *c = (zf_piped){.container = container, .column = selected[i], .ready = NAN};
        ZF_TRY(zf_container_column(container, selected[i], &c->info, error));
        c->rows = c->info.rows;
        if (p->decode_options.some_rows && c->info.part == ZF_LIST_VALUES) {
            zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--rows are those of the table, and `%s` is a part of lists",
                    c->info.name);
            return zf_fail_hint(error, ZF_ERR_USAGE, "`zfc decode` decodes some rows of lists; name other columns by --columns");
        }
        uint64_t begin = p->decode_options.row_begin, behind = c->info.rows > begin ? c->info.rows - begin : 0;
        if (p->decode_options.some_rows) c->rows = behind < p->decode_options.row_count ? behind : p->decode_options.row_count;
        if (p->container_count > 1)
            snprintf(c->label, sizeof c->label, "%s.%s", zf_container_table(container), c->info.name);
        else
            snprintf(c->label, sizeof c->label, "%s", c->info.name);
    }
    return ZF_OK;
}

/// Replaces bytes that drive a terminal, are invisible, or are not text by question marks.
static void make_shown(char *text) {
    char *out = text;
    for (size_t left = strlen(text); left > 0;) {
        size_t length = zf_utf8_length(text, left), step = length > 0 ? length : 1;
        bool shown = length > 0 && zf_utf8_unshown(text, left) == 0;
        if (shown)
            memmove(out, text, step);
        else
            *out = '?';
        out += shown ? step : 1;
        text += step;
        left -= step;
    }
    *out = 0;
}

/// Distinguishes columns of one name, in tables of one name, by their files: by name, or by path where names are the same. The
/// end of a long path is shown.
static zf_status tell_apart(piping *p, zf_error *error) {
    bool *same = calloc(p->count + 1, sizeof *same);
    if (same == NULL) return zf_fail_no_memory(error);
    for (unsigned whole = 0; whole < 2; whole++) {
        for (size_t i = 0; i < p->count; i++) {
            same[i] = false;
            for (size_t k = 0; k < p->count && !same[i]; k++)
                same[i] =
                    p->columns[k].container != p->columns[i].container && strcmp(p->columns[k].label, p->columns[i].label) == 0;
        }
        for (size_t i = 0; i < p->count; i++) {
            zf_piped *c = &p->columns[i];
            const char *path = zf_container_path(c->container), *name = strrchr(path, '/');
            if (whole == 0 && name != NULL) path = name + 1;
            size_t length = strlen(path), most = sizeof c->label / 2;
            if (!same[i]) continue;
            snprintf(c->label, sizeof c->label, "%s%s:%s", length > most ? "..." : "",
                     length > most ? path + length - most : path, c->info.name);
            make_shown(c->label);
        }
    }
    free(same);
    return ZF_OK;
}

static zf_status select_columns(piping *p, zf_error *error) {
    ZF_TRY(check_names(p, error));
    char *wanted = p->names != NULL ? malloc(strlen(p->names) + 2) : NULL;
    zf_status status = p->names != NULL && wanted == NULL ? zf_fail_no_memory(error) : ZF_OK;
    for (size_t c = 0; c < p->container_count && status == ZF_OK; c++) {
        size_t count;
        const char *names = p->names;
        if (names != NULL && p->container_count > 1) { // of one, what it lacks is told of with what it has
            status = names_within(p->names, p->containers[c], wanted, error);
            if (status != ZF_OK || *wanted == 0) continue;
            names = wanted;
        }
        size_t *selected = zf_selected_columns(p->containers[c], names, &count, error);
        status = selected != NULL ? add_columns(p, p->containers[c], selected, count, error) : error->status;
        free(selected);
    }
    free(wanted);
    return status == ZF_OK ? tell_apart(p, error) : status;
}

// ---- The batch ------------------------------------------------------------------------------------------------

static zf_status open_device(piping *p, zf_error *error) {
    const char *to = zf_argument(p->arguments, "to");
    ZF_TRY(zf_pipe_memory_open(p->session.context, p->device, &p->memory, error));
    p->device = p->memory.name;
    p->on_device = to != NULL ? strcmp(to, "device") == 0 : p->memory.accelerator != NULL;
    if (p->on_device && p->memory.accelerator == NULL)
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--to device: device `%s` has no memory of its own", p->device);
    for (size_t c = 0; c < p->container_count && p->load; c++) ZF_TRY(zf_container_load(p->containers[c], p->device, error));
    return zf_pipeline_create(p->session.context, p->device, &p->pipeline_options, &p->pipeline, error);
}

/// Notes what is wrong with a column, and tells it. Other columns go on.
static void fail_column(piping *p, zf_piped *column, const zf_error *failure) {
    column->failed = true;
    column->error = *failure;
    fail(p, failure);
}

/// A request and its memory for each column that has code.
static zf_status make_requests(piping *p, zf_error *error) {
    p->requests = calloc(p->count + 1, sizeof *p->requests);
    p->of_request = calloc(p->count + 1, sizeof *p->of_request);
    if (p->requests == NULL || p->of_request == NULL) return zf_fail_no_memory(error);
    for (size_t i = 0; i < p->count; i++) {
        zf_piped *c = &p->columns[i];
        zf_pipeline_request *request = &p->requests[p->request_count];
        *request = (zf_pipeline_request){
            .container = c->container, .column = c->column, .options = p->decode_options, .on_device = p->on_device};
        if (zf_pipeline_request_sizes(p->pipeline, request, &c->sizes, error) != ZF_OK) {
            fail_column(p, c, error);
            continue;
        }
        c->asked = true;
        c->request = p->request_count;
        p->of_request[p->request_count++] = c;
        ZF_TRY(zf_pipe_allocate(&p->memory, &c->sizes, request, error));
    }
    return ZF_OK;
}

/// Code of all columns, side by side, before anything is timed.
static zf_status get_code(piping *p, zf_error *error) {
    zf_code_request *requests = calloc(p->count + 1, sizeof *requests);
    if (requests == NULL) return zf_fail_no_memory(error);
    for (size_t i = 0; i < p->count; i++)
        requests[i] =
            (zf_code_request){.container = p->columns[i].container, .column = p->columns[i].column, .options = p->decode_options};
    const char *device = p->device != NULL ? p->device : "auto";
    zf_status status = zf_before_get(p->session.context, device, requests, p->count, p->session.threads, &p->before, error);
    free(requests);
    return status;
}

static zf_status make_batch(piping *p, zf_error *error) {
    zf_batch_free(p->batch);
    p->batch = NULL;
    ZF_TRY(zf_batch_create(p->pipeline, p->requests, p->request_count, &p->batch, error));
    zf_batch_info info = {0};
    ZF_TRY(zf_batch_describe(p->batch, &info, error));
    for (size_t i = 0; i < p->count; i++) p->columns[i].stored_bytes = p->columns[i].plain_bytes = 0;
    for (size_t i = 0; i < info.units; i++) {
        zf_batch_unit unit = {0};
        ZF_TRY(zf_batch_unit_get(p->batch, i, &unit, error));
        zf_piped *c = &p->columns[p->of_request[unit.request] - p->columns];
        c->stored_bytes += unit.stored_bytes;
        c->plain_bytes += unit.plain_bytes;
    }
    return ZF_OK;
}

// ---- Running --------------------------------------------------------------------------------------------------

/// One run: waits for every column. Failures are those of columns, and each is reported once.
static zf_status run(piping *p, double *seconds, zf_error *error) {
    ZF_TRY(zf_batch_start(p->batch, error));
    for (size_t i = 0; i < p->count; i++) {
        zf_piped *c = &p->columns[i];
        if (!c->asked) continue;
        zf_status status = zf_batch_wait(p->batch, c->request, error);
        c->ready = zf_batch_ready_seconds(p->batch, c->request);
        if (status != ZF_OK && !c->failed) fail_column(p, c, error);
    }
    zf_batch_info info = {0};
    ZF_TRY(zf_batch_describe(p->batch, &info, error));
    *seconds = info.measured_seconds;
    return ZF_OK;
}

static bool some_failed(const piping *p) {
    for (size_t i = 0; i < p->count; i++) {
        if (p->columns[i].asked && p->columns[i].failed) return true;
    }
    return false;
}

static bool some_are_good(const piping *p) {
    size_t i = 0;
    while (i < p->count && p->columns[i].failed) i++;
    return i < p->count;
}

static zf_status spoil(piping *p, zf_error *error) {
    for (size_t r = 0; r < p->request_count; r++)
        ZF_TRY(zf_pipe_spoil(&p->memory, &p->of_request[r]->sizes, &p->requests[r], error));
    return ZF_OK;
}

static zf_status run_all(piping *p, zf_error *error) {
    uint64_t runs = p->repeat > 0 ? p->repeat : 1;
    double seconds;
    p->runs = calloc(runs, sizeof *p->runs);
    if (p->runs == NULL) return zf_fail_no_memory(error);
    if (p->repeat > 0) { // the first brings code and pages, the second rates, by which the batch that counts is ordered
        ZF_TRY(run(p, &seconds, error));
        ZF_TRY(run(p, &seconds, error));
        ZF_TRY(make_batch(p, error));
    }
    for (uint64_t i = 0; i < runs && p->exit_status != EXIT_BAD_DEVICE; i++) {
        if (p->verify && i + 1 == runs) ZF_TRY(spoil(p, error));
        ZF_TRY(run(p, &p->runs[i], error));
        if (i > 0 && some_failed(p)) break; // its time says nothing
        p->run_count++;
        if (some_failed(p)) break;
    }
    for (size_t i = 0; i < p->count && p->verify; i++) {
        zf_piped *c = &p->columns[i];
        if (!c->asked || c->failed) continue;
        if (zf_pipe_compare(p->session.context, p->device, &p->memory, &p->requests[c->request], error) != ZF_OK)
            fail_column(p, c, error);
    }
    return ZF_OK;
}

// ---- Telling --------------------------------------------------------------------------------------------------

static zf_status write_svg(const piping *p, const zf_pipe_view *view, zf_error *error) {
    zf_text text = {0};
    zf_sink sink;
    zf_outputs outputs = {.overwrite = p->force, .read = &p->read};
    zf_pipe_draw(view, &text);
    zf_signals_remove_outputs(&outputs);
    zf_status status = text.failed ? zf_fail_no_memory(error) : zf_outputs_open(&outputs, p->svg, &sink, error);
    if (status == ZF_OK) status = zf_sink_write(&sink, text.data, text.length, error);
    if (status == ZF_OK) status = zf_outputs_commit(&outputs, error);
    zf_outputs_free(&outputs);
    zf_signals_remove_outputs(NULL);
    zf_text_free(&text);
    return status;
}

static zf_status tell(const piping *p, zf_error *error) {
    zf_pipe_view view = {.batch = p->batch,
                         .columns = p->columns,
                         .count = p->count,
                         .of_request = p->of_request,
                         .requests = p->request_count,
                         .device = p->device,
                         .order = p->order,
                         .on_device = p->on_device,
                         .has_link = p->memory.accelerator != NULL,
                         .loaded = p->load,
                         .planned = p->plan,
                         .verified = p->verify,
                         .before = &p->before,
                         .runs = p->runs,
                         .run_count = some_are_good(p) ? p->run_count : 0};
    ZF_TRY(zf_batch_describe(p->batch, &view.info, error));
    if (zf_argument(p->arguments, "json"))
        ZF_TRY(zf_pipe_print_json(&view, error));
    else if (p->plan)
        zf_pipe_print_plan(&view);
    else if (!p->session.quiet)
        zf_pipe_print_table(&view);
    if (p->trace) ZF_TRY(zf_batch_write_trace(p->batch, p->trace, error));
    return p->svg ? write_svg(p, &view, error) : ZF_OK;
}

static zf_status go(piping *p, zf_error *error) {
    ZF_TRY(zf_session_check_choose(p->arguments, &p->session, p->device, error));
    ZF_TRY(open_files(p, error));
    ZF_TRY(select_columns(p, error));
    if (!p->plan) ZF_TRY(get_code(p, error)); // a plan wants none
    ZF_TRY(open_device(p, error));
    ZF_TRY(make_requests(p, error));
    ZF_TRY(make_batch(p, error));
    if (!p->plan) ZF_TRY(run_all(p, error));
    return tell(p, error);
}

static void close_all(piping *p) {
    zf_batch_free(p->batch);
    for (size_t r = 0; r < p->request_count; r++) zf_pipe_release(&p->memory, &p->requests[r]);
    zf_pipeline_free(p->pipeline);
    zf_pipe_memory_close(&p->memory);
    for (size_t c = 0; c < p->container_count; c++) zf_container_close(p->containers[c]);
    zf_files_free(&p->read);
    zf_before_free(&p->before);
    free(p->containers);
    free(p->columns);
    free(p->requests);
    free(p->of_request);
    free(p->runs);
    zf_session_close(&p->session);
}

int zf_run_pipeline(zf_arguments *arguments) {
    piping p = {.exit_status = EXIT_GOOD};
    zf_error error;
    int status = read_options(arguments, &p);
    if (status != EXIT_GOOD || !zf_session_open(arguments, &p.session, &status)) return status;
    if (go(&p, &error) != ZF_OK) fail(&p, &error);
    close_all(&p);
    return p.exit_status;
}
