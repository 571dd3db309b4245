// zfc compile: a module of a program's tables, or of the table that a file holds.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/program.h"
#include "patterns/plan/plan_target.h"
#include "runtime/base/clock.h"
#include "tuner/tune_json.h"
#include "zfc/driver_codes.h"
#include "zfc/module_text.h"
#include "zfc/program_operand.h"
#include "zfc/report.h"
#include "zfc/session.h"
#include "zfc/verbs/compile_tiles.h"

typedef unsigned long long ull;

static int usage(const char *message) { return zf_report_usage("compile", "%s", message); }

/// Reports columns that are left out, also under --quiet: users of the module meet them.
static void print_note(void *user, const char *line) {
    json_t *left_out = user;
    fprintf(stderr, "zfc compile: note: %s\n", line);
    json_array_append_new(left_out, zf_json_text(line));
}

/// "host,nvptx". False for anything else.
static bool read_targets(const char *text, zf_module_options *out) {
    if (!text) return true;
    out->no_host = out->no_nvptx = true;
    for (;;) {
        size_t length = strcspn(text, ",");
        char name[16] = "";
        if (length < sizeof name) memcpy(name, text, length);
        const zf_target *target = zf_target_find(name);
        bool host = target && target->family == ZF_TARGET_HOST, nvptx = target && target->family == ZF_TARGET_NVPTX;
        if ((host && out->no_host) || (nvptx && out->no_nvptx)) { // each once
            out->no_host = out->no_host && !host;
            out->no_nvptx = out->no_nvptx && !nvptx;
        } else {
            return false;
        }
        if (text[length] == 0) return true;
        text += length + 1;
    }
}

enum { MOST_STATES = 16 }; ///< besides the default, or the file's

/// Makes every combination of the intervals and the lists of stages that are given, each with its default, without the one that
/// is always there. Those beyond the room are counted only.
static size_t read_states(const zf_arguments *arguments, zf_module_states out[MOST_STATES]) {
    size_t count = 0;
    for (int i = -1; i < arguments->given_count; i++) {
        if (i >= 0 && strcmp(arguments->given[i].option->name, "seek-interval") != 0) continue;
        for (int u = -1; u < arguments->given_count; u++) {
            if ((u >= 0 && strcmp(arguments->given[u].option->name, "unfused") != 0) || (i < 0 && u < 0)) continue;
            zf_module_states states = {.unfused = u >= 0 ? arguments->given[u].value : NULL};
            if (i >= 0) states.seek_interval = (unsigned)strtoul(arguments->given[i].value, NULL, 10);
            if (count < MOST_STATES) out[count] = states;
            count++;
        }
    }
    return count;
}

static zf_status print_stats(const char *path, const zf_module_stats *stats, json_t *left_out, double seconds, bool as_json,
                             bool quiet, zf_error *error) {
    if (as_json) {
        json_t *object = json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:O}", "file", zf_json_text(path), "columns",
                                   (json_int_t)stats->columns, "general", (json_int_t)stats->general, "specialised",
                                   (json_int_t)stats->specialised, "native_bytes", (json_int_t)stats->native_bytes, "ptx_bytes",
                                   (json_int_t)stats->image_bytes, "bytes", (json_int_t)stats->bytes, "seconds", seconds,
                                   "left_out", left_out);
        zf_status status = zf_json_print(object, error);
        json_decref(object);
        return status;
    }
    char native[32], ptx[32];
    if (!quiet) {
        zf_print_path(stdout, path);
        printf(": %llu column%s, %llu codes in the general form, %llu specialised; %s of native code, %s of PTX\n",
               (ull)stats->columns, stats->columns == 1 ? "" : "s", (ull)stats->general, (ull)stats->specialised,
               zf_bytes_text(stats->native_bytes, native), zf_bytes_text(stats->image_bytes, ptx));
    }
    return ZF_OK;
}

static zf_status compile_file(const zf_session *session, const zf_arguments *arguments, const zf_module_options *options,
                              const char *path, zf_module_stats *stats, zf_error *error) {
    const char *input = arguments->operands[0];
    zf_files_read read = {0};
    zf_container *container = NULL;
    zf_status status = zf_files_note(&read, input, error);
    if (status == ZF_OK) status = zf_files_guard(&read, path, error);
    if (status == ZF_OK) status = zf_open_container(arguments, session->context, input, &container, error);
    if (status == ZF_OK) status = zf_module_compile_for(session->compiler, container, options, path, stats, error);
    zf_container_close(container);
    zf_files_free(&read);
    return status;
}

/// The exit status, after printing what is wrong.
static int compile_program(const zf_session *session, const zf_program_name *name, const zf_module_options *options,
                           const char *path, zf_module_stats *stats) {
    zf_error error;
    zf_program *program = NULL;
    zf_status status = zf_program_load(session->compiler, name->path, &program, &error);
    int exit_status = EXIT_BAD_INPUT;
    if (status != ZF_OK && program) {
        zf_report_diagnostics("compile", zf_spec_diags(zf_program_spec(program)), ZF_DIAG_HUMAN);
    } else if (status != ZF_OK) {
        exit_status = zf_report("compile", &error);
    } else {
        zf_spec *spec = zf_program_spec(program);
        // Without a name all tables are meant, of which there must be one.
        bool found =
            name->name || !zf_spec_tables(spec) ? zf_find_table_or_report("compile", spec, name->path, name->name) != NULL : true;
        if (found) status = zf_guard_output(spec, NULL, path, &error);
        if (found && status == ZF_OK) status = zf_module_compile(program, name->name, options, path, stats, &error);
        if (status != ZF_OK)
            exit_status = zf_report("compile", &error);
        else if (found)
            exit_status = EXIT_GOOD;
    }
    zf_program_free(program);
    return exit_status;
}

static int compile(const zf_session *session, const zf_arguments *arguments, const zf_module_options *options, const char *path) {
    const char *input = arguments->operands[0];
    zf_module_stats stats = {0};
    zf_error error;
    double begin = zf_clock_seconds();
    if (zf_is_container(input)) {
        if (compile_file(session, arguments, options, path, &stats, &error) != ZF_OK) return zf_report("compile", &error);
    } else if (zf_argument(arguments, "programs") != NULL) {
        return usage("--programs is for files that are encoded, and this is a program");
    } else {
        zf_program_name name;
        if (!zf_program_name_read("compile", input, &name)) return EXIT_BAD_USAGE;
        int exit_status = compile_program(session, &name, options, path, &stats);
        if (exit_status != EXIT_GOOD) return exit_status;
    }
    bool as_json = zf_argument(arguments, "json") != NULL;
    zf_status status = print_stats(path, &stats, options->note_user, zf_clock_seconds() - begin, as_json, session->quiet, &error);
    return status == ZF_OK ? EXIT_GOOD : zf_report("compile", &error);
}

int zf_run_compile(zf_arguments *arguments) {
    const char *path = zf_argument(arguments, "output");
    bool tiles = zf_argument(arguments, "device-functions") != NULL;
    zf_module_options options = {ZF_INIT(zf_module_options), .cpu = zf_argument(arguments, "cpu"),
                                 .overwrite = zf_argument(arguments, "force") != NULL};
    if (!path) return usage(tiles ? "where to? Give -o OUT.cuh" : "where to? Give -o OUT.zfm");
    if (!read_targets(zf_argument(arguments, "target"), &options)) return usage("--target needs host, nvptx, or both, each once");
    int given = 0;
    for (int i = 0; i < arguments->given_count; i++) given += strcmp(arguments->given[i].option->name, "target") == 0;
    zf_module_states states[MOST_STATES];
    options.states = states;
    options.state_count = read_states(arguments, states);
    if (options.state_count > MOST_STATES) return usage("--seek-interval and --unfused make more than 17 combinations");
    if (given > 1) return usage("--target is given more than once: both are --target host,nvptx");
    if (options.cpu && options.no_host) return usage("--cpu is for native code: it needs --target host");
    if (!options.overwrite && access(path, F_OK) == 0) {
        return zf_report_exists("compile", path);
    }
    if (tiles && !zf_is_container(arguments->operands[0]))
        return usage("--device-functions needs a file that is encoded: its blocks say which codes the functions are for");
    zf_session session;
    int status = EXIT_GOOD;
    if (!zf_session_open(arguments, &session, &status)) return status;
    if (tiles) {
        status = zf_compile_tiles(&session, arguments, path);
        zf_session_close(&session);
        return status;
    }
    options.threads = session.threads;
    json_t *left_out = json_array();
    options.note = print_note;
    options.note_user = left_out;
    status = compile(&session, arguments, &options, path);
    json_decref(left_out);
    zf_session_close(&session);
    return status;
}
