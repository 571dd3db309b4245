// zfc tune: times the kernels of columns on a GPU under other choices, and keeps, ships or shows the fastest.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "tuner/tune_json.h"
#include "tuner/tuner_codes.h"
#include "zfc/data/column_options.h"
#include "zfc/driver_codes.h"
#include "zfc/output.h"
#include "zfc/report.h"
#include "zfc/scratch.h"
#include "zfc/session.h"
#include "zfc/signals.h"
#include "zfc/verbs/tune_operands.h"
#include "zfc/verbs/tune_report.h"

enum { MADE_ROWS = 1 << 21 }; // of programs without data: a block of 16 MiB where an element has 8 bytes

static const double NEARLY_NONE = 1e-6; // seconds, where 0 is no limit

typedef struct tune_session {
    zf_session session;
    zf_tune_operands operands;
    zf_open_options opening; ///< of containers that are operands
    zf_tuner *tuner;
    zf_outputs outputs; ///< the file that --output names
    zf_sink output;
    zf_tune_run run;
    double budget; ///< seconds for all; 0: no limit
} tune_session;

static int usage(const char *message) { return zf_report_usage("tune", "%s", message); }

// ---- Results ----------------------------------------------------------------------------------------------------

/// Opens the output before anything is measured, so that a path that cannot be written is an error at once.
static zf_status open_output(tune_session *t, const char *path, bool overwrite, zf_error *error) {
    if (path == NULL) return ZF_OK;
    t->outputs.overwrite = overwrite;
    zf_signals_remove_outputs(&t->outputs);
    return zf_outputs_open(&t->outputs, path, &t->output, error);
}

static void close_all(tune_session *t) {
    zf_outputs_free(&t->outputs);
    zf_signals_remove_outputs(NULL);
    zf_tuner_free(t->tuner);
    json_decref(t->run.left_out);
    json_decref(t->run.empty);
    zf_tune_operands_free(&t->operands);
    zf_session_close(&t->session);
}

static zf_status write_output(tune_session *t, zf_error *error) {
    zf_tuned found;
    zf_text text = {0};
    if (zf_tuner_table(t->tuner, &found, error) != ZF_OK) {
        if (strcmp(error->code, ZFT_NO_RESULTS) != 0) return error->status;
        fprintf(stderr, "zfc tune: nothing was found, so no file is written\n");
        return ZF_OK;
    }
    zf_tuned_print(&found, &text);
    zf_tuned_free(&found);
    zf_status status = text.failed ? zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for tuned kernels")
                                   : zf_sink_write(&t->output, text.data, text.length, error);
    zf_text_free(&text);
    return status == ZF_OK ? zf_outputs_commit(&t->outputs, error) : status;
}

/// Keeps the results in the cache, where they can be kept, and writes those that --output asks for.
static zf_status keep(tune_session *t, zf_error *error) {
    zf_error failure;
    if (zf_tuner_keep(t->tuner, &failure) != ZF_OK && strcmp(failure.code, ZFT_NOT_KEPT) == 0 && t->output.file == NULL)
        fprintf(stderr, "zfc tune: %s (-v prints the reason; -o FILE writes a file)\n", failure.message);
    return t->output.file != NULL ? write_output(t, error) : ZF_OK;
}

// ---- Tuning -----------------------------------------------------------------------------------------------------

/// Notes a column for which no time was left. `vectors`: combinations of its alternatives, where others were measured; 0: the
/// whole column.
static zf_status leave_out(tune_session *t, const zf_container *container, size_t column, size_t vectors, zf_error *error) {
    zf_column_info info = {0};
    ZF_TRY(zf_container_column(container, column, &info, error));
    zf_text text = {0};
    zf_text_printf(&text, "%s", info.name);
    if (vectors > 0) zf_text_printf(&text, " (%zu of its vectors of alternatives)", vectors);
    zf_status status = zf_json_append(t->run.left_out, text.failed ? NULL : zf_json_text(text.data), error);
    zf_text_free(&text);
    return status;
}

/// Tunes columns of a container. `later`: columns of the operands behind this one.
static zf_status tune_columns(tune_session *t, zf_container *container, const size_t *columns, size_t count, size_t later,
                              zf_error *error) {
    zf_status status = ZF_OK;
    for (size_t k = 0; k < count && status == ZF_OK; k++) {
        double left = t->run.begin + t->budget - zf_clock_seconds(), seconds = 0;
        size_t vectors = 0;
        if (t->budget > 0 && left <= 0 && zf_tuner_result_count(t->tuner) > 0) { // something is measured in any case
            status = leave_out(t, container, columns[k], 0, error);
            continue;
        }
        if (t->budget > 0) seconds = (left > NEARLY_NONE ? left : NEARLY_NONE) / (double)(count - k + later);
        zf_column_info info = {0};
        status = zf_container_column(container, columns[k], &info, error);
        if (status == ZF_OK && t->session.verbose && seconds > 0) fprintf(stderr, "%s: at most %.3f s\n", info.name, seconds);
        if (status == ZF_OK) status = zf_tuner_column(t->tuner, container, columns[k], seconds, &vectors, error);
        if (vectors > 0) status = leave_out(t, container, columns[k], vectors, error);
    }
    return status;
}

static zf_status tune_container(tune_session *t, const char *path, const zf_open_options *opening, const char *names,
                                size_t later, zf_error *error) {
    zf_container *container = NULL;
    size_t count = 0;
    ZF_TRY(zf_container_open_file(t->session.context, path, opening, &container, error));
    size_t *selected = zf_selected_columns(container, names, &count, error);
    zf_status status = selected != NULL ? ZF_OK : error->status;
    if (status == ZF_OK && zf_container_rows(container) == 0) status = zf_json_append(t->run.empty, zf_json_text(path), error);
    if (status == ZF_OK) status = tune_columns(t, container, selected, count, later, error);
    free(selected);
    zf_container_close(container);
    return status;
}

/// Tunes a program by generated columns, in a file that is removed again.
static zf_status tune_program(tune_session *t, const zf_tune_operand *operand, const char *names, size_t later, zf_error *error) {
    const zf_table *table = zf_tune_operand_table(operand, error);
    if (table == NULL) return error->status;
    zf_scratch scratch;
    ZF_TRY(zf_scratch_make(&scratch, "tune", error));
    uint64_t rows = t->tuner->options.rows < MADE_ROWS ? t->tuner->options.rows : MADE_ROWS;
    zf_status status = zf_tune_make(operand->program, table, rows, scratch.container, error);
    if (status == ZF_OK) status = tune_container(t, scratch.container, NULL, names, later, error);
    zf_scratch_remove(&scratch);
    return status;
}

static zf_status tune_operands(tune_session *t, const char *names, zf_error *error) {
    const zf_tune_operands *all = &t->operands;
    size_t later = 0, *columns = calloc(all->count + 1, sizeof *columns);
    if (columns == NULL) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for the operands");
    for (size_t k = 0; k < all->count && t->budget > 0; k++)
        later += columns[k] = zf_tune_operand_columns(t->session.context, &all->items[k]);
    zf_status status = ZF_OK;
    for (size_t k = 0; k < all->count && status == ZF_OK; k++) {
        const zf_tune_operand *operand = &all->items[k];
        later -= columns[k];
        status = operand->is_program ? tune_program(t, operand, names, later, error)
                                     : tune_container(t, operand->text, &t->opening, names, later, error);
    }
    free(columns);
    return status;
}

/// Results that took minutes to measure are kept, and shown, also where something fails later.
static zf_status tune_all(tune_session *t, const zf_arguments *arguments, zf_error *error) {
    zf_error later = {0};
    ZF_TRY(open_output(t, zf_argument(arguments, "output"), zf_argument(arguments, "force") != NULL, error));
    zf_status status = tune_operands(t, zf_argument(arguments, "columns"), error);
    bool measured = status == ZF_OK;
    zf_status kept = keep(t, measured ? error : &later);
    if (measured) status = kept;
    if (!measured && zf_tuner_result_count(t->tuner) == 0) return status;
    if (zf_argument(arguments, "json") == NULL) {
        zf_tune_print_table(&t->run);
        return status;
    }
    zf_status printed = zf_tune_print_json(&t->run, status == ZF_OK ? error : &later);
    return status == ZF_OK ? printed : status;
}

// ---- The verb -------------------------------------------------------------------------------------------------

static bool is_among(const char *name, const char *const *names) {
    while (*names != NULL && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

/// Whether all options are of those that say something beside --`name`.
static bool goes_with(const char *name, const char *const *others, const zf_arguments *arguments) {
    for (int k = 0; k < arguments->given_count; k++) {
        const char *given = arguments->given[k].option->name;
        if (strcmp(given, name) == 0 || is_among(given, others)) continue;
        zf_report_usage("tune", "--%s measures nothing: --%s does not go with it", name, given);
        return false;
    }
    return true;
}

/// Checks which options go together, and reads those that are not the tuner's; prints what is wrong and returns EXIT_BAD_USAGE.
static int read_options(const zf_arguments *arguments, tune_session *t) {
    static const char *const shown[] = {"device", "tuned", "json", "threads", "verbose", "time-passes", "no-cache", NULL};
    static const char *const replayed[] = {"probes", "json", "verbose", "time-passes", NULL};
    const char *budget = zf_argument(arguments, "budget");
    bool shows = zf_argument(arguments, "show") != NULL, replays = zf_argument(arguments, "replay") != NULL;
    if (budget != NULL && !zf_read_seconds(budget, &t->budget)) return usage("--budget needs a time, such as 5s, 500ms or 2m");
    if (!shows && !replays && arguments->operand_count == 0)
        return usage("nothing to measure: give containers or programs, or --show or --replay");
    if ((shows || replays) && arguments->operand_count > 0)
        return usage("--show and --replay measure nothing: give no containers");
    if (shows && !goes_with("show", shown, arguments)) return EXIT_BAD_USAGE;
    if (replays && !goes_with("replay", replayed, arguments)) return EXIT_BAD_USAGE;
    if (zf_argument(arguments, "columns") && arguments->operand_count != 1)
        return usage("--columns goes with one container or program");
    if (zf_argument(arguments, "exhaustive") && zf_argument(arguments, "probes"))
        return usage("--exhaustive measures every combination: --probes does not go with it");
    return EXIT_GOOD;
}

static zf_status run(tune_session *t, const zf_arguments *arguments, const zf_tuner_options *options, zf_error *error) {
    const char *output = zf_argument(arguments, "output");
    ZF_TRY(zf_tune_operands_read(t->session.compiler, arguments, &t->operands, error));
    bool any_container = false;
    for (size_t k = 0; k < t->operands.count; k++) any_container = any_container || !t->operands.items[k].is_program;
    if (zf_argument(arguments, "programs") != NULL && !any_container)
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--programs is for files that are encoded, and no operand is one");
    t->opening = zf_opening(arguments);
    if (output != NULL) ZF_TRY(zf_tune_operands_guard(&t->operands, options->known, output, error));
    zf_status status = zf_tuner_create(t->session.compiler, options, &t->tuner, error);
    if (status == ZF_ERR_USAGE) zf_fail_hint(error, status, "name a GPU by --device; `zfc devices` lists them");
    if (status != ZF_OK) return status;
    t->run.tuner = t->tuner;
    if (zf_argument(arguments, "show") != NULL) return zf_tune_show(t->tuner, zf_argument(arguments, "json") != NULL, error);
    return tune_all(t, arguments, error);
}

int zf_run_tune(zf_arguments *arguments) {
    tune_session t = {.run.begin = zf_clock_seconds()};
    zf_tuner_options options = {ZF_INIT(zf_tuner_options), .device = zf_argument(arguments, "device"),
                                .known = zf_argument(arguments, "tuned"),
                                .exhaustive = zf_argument(arguments, "exhaustive") != NULL};
    zf_error error = {0};
    uint64_t probes;
    int status = read_options(arguments, &t);
    if (status != EXIT_GOOD) return status;
    if (!zf_argument_number(arguments, "probes", 1, ZF_SEARCH_PROBES_MOST, 0, &probes)) return EXIT_BAD_USAGE;
    if (!zf_argument_bytes(arguments, "bytes", UINT64_C(1) << 40, 0, &options.bytes)) return EXIT_BAD_USAGE;
    options.probes = (uint32_t)probes;
    const char *record = zf_argument(arguments, "replay");
    if (record != NULL) {
        bool as_json = zf_argument(arguments, "json") != NULL;
        return zf_tune_print_replay(record, options.probes, as_json, &error) == ZF_OK ? EXIT_GOOD : zf_report("tune", &error);
    }
    zf_plan_request request = {.unfused = zf_argument(arguments, "unfused") != NULL};
    if (!zf_session_open_with(arguments, &request, &t.session, &status)) return status;
    if (t.session.verbose) options.progress = zf_tune_print_probe;
    t.run.left_out = json_array();
    t.run.empty = json_array();
    status = run(&t, arguments, &options, &error) == ZF_OK ? EXIT_GOOD : zf_report("tune", &error);
    close_all(&t);
    return status;
}
