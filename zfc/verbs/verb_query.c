// `zfc query`: a query over the rows of a container, or over pairs.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/query/query.h"
#include "runtime/base/clock.h"
#include "runtime/base/read_whole.h"
#include "zfc/data/column_options.h"
#include "zfc/data/files_read.h"
#include "zfc/data/input_memory.h"
#include "zfc/driver_codes.h"
#include "zfc/program_operand.h"
#include "zfc/report.h"
#include "zfc/session.h"
#include "zfc/signals.h"
#include "zfc/verbs/query_report.h"

enum { MOST_REPEATS = 10000 };

typedef unsigned long long ull;

// The request that the options make.
typedef struct given {
    zf_query_request request;
    zf_query_param *params;
    zf_query_array *arrays;
    zf_text *files; ///< of arrays
    char **names;   ///< of both
    size_t name_count;
    zf_files_read read;
    uint64_t memory; ///< that files may still take
} given;

static void free_given(given *g) {
    for (size_t k = 0; g->files != NULL && k < g->request.array_count; k++) zf_text_free(&g->files[k]);
    for (size_t k = 0; g->names != NULL && k < g->name_count; k++) free(g->names[k]);
    free(g->params);
    free(g->arrays);
    free(g->files);
    free(g->names);
    zf_files_free(&g->read);
}

// A file may be a device without an end.
static zf_status read_file(given *g, const char *path, zf_text *out, zf_error *error) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int number = file >= 0 ? zf_read_whole(file, g->memory, out) : errno;
    if (file >= 0) close(file);
    if (number == EFBIG) {
        zf_fail(error, ZF_ERR_MEMORY, ZFC_INPUT_LIMIT, "%s has more bytes than inputs may take", path);
        return zf_fail_hint(error, ZF_ERR_MEMORY, "--input-memory BYTES sets the limit");
    }
    if (number == 0) g->memory -= out->length;
    return number == 0 ? ZF_OK : zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_READ, "cannot read %s: %s", path, strerror(number));
}

// Splits NAME=VALUE; the name is kept in `g`.
static zf_status split(given *g, const char *option, const char *text, const char **name, const char **value, zf_error *error) {
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--%s needs NAME=%s, not `%s`", option,
                       strcmp(option, "param") == 0 ? "VALUE" : "FILE", text);
    *value = equals + 1;
    *name = g->names[g->name_count] = strndup(text, (size_t)(equals - text));
    if (*name == NULL) return zf_fail_no_memory(error);
    g->name_count++;
    return ZF_OK;
}

// Params and inputs are named apart: a query without an input of a param's name then says so itself.
static zf_status check_once(const given *g, bool param, const char *name, zf_error *error) {
    size_t count = param ? g->request.param_count : g->request.array_count;
    for (size_t k = 0; k < count; k++)
        if (strcmp(param ? g->params[k].name : g->arrays[k].name, name) == 0)
            return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "the %s `%s` is given twice", param ? "param" : "input", name);
    return ZF_OK;
}

static zf_status read_given(const zf_arguments *arguments, given *g, zf_error *error) {
    size_t room = (size_t)arguments->given_count + 1;
    g->params = calloc(room, sizeof *g->params);
    g->arrays = calloc(room, sizeof *g->arrays);
    g->files = calloc(room, sizeof *g->files);
    g->names = calloc(room, sizeof *g->names);
    if (g->params == NULL || g->arrays == NULL || g->files == NULL || g->names == NULL) return zf_fail_no_memory(error);
    g->request.params = g->params;
    g->request.arrays = g->arrays;
    for (int i = 0; i < arguments->given_count; i++) {
        const char *option = arguments->given[i].option->name, *name = NULL, *value = NULL;
        bool param = strcmp(option, "param") == 0;
        if (!param && strcmp(option, "input") != 0) continue;
        ZF_TRY(split(g, option, arguments->given[i].value, &name, &value, error));
        ZF_TRY(check_once(g, param, name, error));
        if (param) {
            g->params[g->request.param_count++] = (zf_query_param){.name = name, .text = value};
            continue;
        }
        size_t k = g->request.array_count++;
        ZF_TRY(zf_files_note(&g->read, value, error));
        ZF_TRY(read_file(g, value, &g->files[k], error));
        g->arrays[k] = (zf_query_array){.name = name, .values = g->files[k].data, .bytes = g->files[k].length};
    }
    return ZF_OK;
}

static zf_status write_files(const char *directory, const zf_arguments *arguments, const given *g,
                             const zf_query_answers *answers, zf_error *error) {
    bool made = false;
    ZF_TRY(zf_output_directory(directory, &made, error));
    zf_outputs outputs = {.overwrite = zf_argument(arguments, "force") != NULL, .read = &g->read};
    zf_status status = zf_write_answers(directory, answers, &outputs, error);
    if (status == ZF_OK) status = zf_outputs_commit(&outputs, error);
    zf_outputs_free(&outputs);
    if (status != ZF_OK && made) rmdir(directory); // only if it is empty
    if (made) zf_signals_remove_directory(NULL);
    return status;
}

static zf_status print(const zf_query_answers *answers, const zf_arguments *arguments, bool quiet, double seconds,
                       zf_error *error) {
    if (zf_argument(arguments, "json") != NULL) {
        bool none = zf_argument(arguments, "no-results") != NULL;
        json_t *device, *results = none ? NULL : zf_answers_json(answers);
        if ((results == NULL && !none) || !zf_query_device_json(answers, &device)) {
            json_decref(results);
            return zf_fail_no_memory(error);
        }
        json_t *report =
            json_pack("{s:I, s:I, s:I, s:I, s:f, s:o*, s:o*}", "rows", (json_int_t)answers->rows, "rows_skipped",
                      (json_int_t)answers->rows_skipped, "bytes_read", (json_int_t)answers->bytes_read, "bytes_skipped",
                      (json_int_t)answers->bytes_skipped, "seconds", seconds, "results", results, "device", device);
        zf_status status = zf_json_print_exact(report, error);
        json_decref(report);
        return status;
    }
    return quiet || zf_argument(arguments, "output") != NULL ? ZF_OK : zf_print_answers(answers, error);
}

static void print_work(const zf_query_answers *answers, double seconds) {
    fprintf(stderr, "%llu rows in %.3f s, %llu of them skipped; %llu stored bytes read, %llu skipped\n", (ull)answers->rows,
            seconds, (ull)answers->rows_skipped, (ull)answers->bytes_read, (ull)answers->bytes_skipped);
}

static zf_status query(const zf_arguments *arguments, const zf_session *session, zf_program *program, const char *name, given *g,
                       zf_error *error) {
    zf_container *container = NULL;
    zf_query_answers answers = {0};
    if (arguments->operand_count > 1) {
        ZF_TRY(zf_files_note(&g->read, arguments->operands[1], error));
        ZF_TRY(zf_open_container(arguments, session->context, arguments->operands[1], &container, error));
    }
    double begin = zf_clock_seconds();
    zf_status status = zf_query_run_once(program, name, container, &g->request, &answers, error);
    double seconds = zf_clock_seconds() - begin;
    if (status == ZF_OK && session->verbose) print_work(&answers, seconds);
    const char *directory = zf_argument(arguments, "output");
    if (status == ZF_OK && directory != NULL) status = write_files(directory, arguments, g, &answers, error);
    if (status == ZF_OK) status = print(&answers, arguments, session->quiet, seconds, error);
    zf_query_answers_free(&answers);
    zf_container_close(container);
    return status;
}

static int load_and_query(const zf_arguments *arguments, const zf_session *session, const zf_program_name *name, given *g) {
    zf_error error;
    zf_program *program = NULL;
    zf_status status = zf_program_load(session->compiler, name->path, &program, &error);
    int exit_status = EXIT_GOOD;
    if (status != ZF_OK && program != NULL) {
        zf_report_diagnostics("query", zf_spec_diags(zf_program_spec(program)), ZF_DIAG_HUMAN);
        exit_status = EXIT_BAD_INPUT;
    } else if (status != ZF_OK || (status = query(arguments, session, program, name->name, g, &error)) != ZF_OK) {
        exit_status = zf_report("query", &error);
    }
    zf_program_free(program);
    return exit_status;
}

int zf_run_query(zf_arguments *arguments) {
    zf_program_name name;
    if (!zf_program_name_read("query", arguments->operands[0], &name)) return EXIT_BAD_USAGE;
    zf_decode_options rows = {0};
    const char *text = zf_argument(arguments, "rows"), *wrong = text != NULL ? zf_rows_option(text, &rows) : NULL;
    if (wrong != NULL) return zf_report_usage("query", "%s, not `%s`", wrong, text);
    uint64_t repeat;
    if (!zf_argument_number(arguments, "repeat", 1, MOST_REPEATS, 0, &repeat)) return EXIT_BAD_USAGE;
    uint64_t unit, memory;
    if (!zf_argument_bytes(arguments, "unit", UINT64_C(1) << 40, 0, &unit)) return EXIT_BAD_USAGE;
    if (!zf_argument_bytes(arguments, "input-memory", INT64_MAX, zf_input_memory_most(), &memory)) return EXIT_BAD_USAGE;
    zf_session session;
    int exit_status = EXIT_GOOD;
    if (!zf_session_open(arguments, &session, &exit_status)) return exit_status;
    given g = {.request = {.some_rows = rows.some_rows,
                           .row_begin = rows.row_begin,
                           .row_count = rows.row_count,
                           .threads = session.threads,
                           .device = zf_argument(arguments, "device"),
                           .decode_first = zf_argument(arguments, "decode-first") != NULL,
                           .from_host = zf_argument(arguments, "from-host") != NULL,
                           .unit_bytes = unit,
                           .repeat = (unsigned)repeat,
                           .no_skip = zf_argument(arguments, "no-skip") != NULL},
               .memory = memory};
    zf_error error;
    if (read_given(arguments, &g, &error) != ZF_OK)
        exit_status = zf_report("query", &error);
    else
        exit_status = load_and_query(arguments, &session, &name, &g);
    free_given(&g);
    zf_session_close(&session);
    return exit_status;
}
