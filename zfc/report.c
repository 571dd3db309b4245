#include "zfc/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/compiler.h"
#include "runtime/base/error.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/context/context.h"
#include "zfc/driver_codes.h"
#include "zipflow/emulator.h"

bool zf_colour(FILE *stream) {
    const char *no_colour = getenv("NO_COLOR");
    return isatty(fileno(stream)) && !(no_colour && *no_colour);
}

int zf_report(const char *verb, const zf_error *error) {
    bool colour = zf_colour(stderr);
    fprintf(stderr, "zfc %s: %serror[%s]%s: %s\n", verb, colour ? "\033[1;31m" : "", error->code, colour ? "\033[0m" : "",
            error->message);
    if (error->place[0]) fprintf(stderr, "  at: %s\n", error->place);
    if (error->hint[0]) fprintf(stderr, "  hint: %s\n", error->hint);
    switch (error->status) {
    case ZF_ERR_USAGE: return EXIT_BAD_USAGE;
    case ZF_ERR_DEVICE: return EXIT_BAD_DEVICE;
    default: return EXIT_BAD_INPUT;
    }
}

void zf_print_path(FILE *out, const char *path) {
    for (size_t left = strlen(path); left > 0;) {
        size_t unshown = zf_utf8_unshown(path, left), step = unshown > 0 ? unshown : 1;
        putc(unshown > 0 ? '?' : *path, out);
        path += step;
        left -= step;
    }
}

zf_status zf_json_append(json_t *list, json_t *item, zf_error *error) {
    if (json_array_append_new(list, item) == 0) return ZF_OK;
    return zf_fail(error, ZF_ERR_MEMORY, ZFC_CANNOT_WRITE, "no report: a text in it is not UTF-8, or there is no memory");
}

zf_status zf_json_print(const json_t *report, zf_error *error) {
    if (!report)
        return zf_fail(error, ZF_ERR_MEMORY, ZFC_CANNOT_WRITE, "no report: a text in it is not UTF-8, or there is no memory");
    if (json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0 && putchar('\n') != EOF && fflush(stdout) == 0)
        return ZF_OK;
    return zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_WRITE, "the report cannot be written");
}

int zf_report_exists(const char *verb, const char *path) {
    zf_error error;
    struct stat facts;
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        zf_raise(&error, ZF_E_EXISTS, "%.256s is %s", path, S_ISDIR(facts.st_mode) ? "a directory" : "no regular file");
        zf_fail_hint(&error, ZF_ERR_IO, "name the file to write");
    } else {
        zf_raise(&error, ZF_E_EXISTS, "%.256s exists already", path);
        zf_fail_hint(&error, ZF_ERR_IO, "-f overwrites it");
    }
    return zf_report(verb, &error);
}

void zf_report_diagnostics(const zf_diags *diags, zf_diag_form form) {
    zf_text text = {0};
    zf_diags_render(diags, form, zf_colour(stderr), &text);
    if (text.length > 0) fwrite(text.data, 1, text.length, form == ZF_DIAG_JSON ? stdout : stderr);
    zf_text_free(&text);
}

static void log_line(void *user, zf_log_level level, const char *line) {
    (void)level;
    fprintf(stderr, "zfc %s: ", (const char *)user);
    zf_print_path(stderr, line);
    putc('\n', stderr);
}

static zf_status load_modules(const zf_arguments *arguments, zf_session *session, zf_error *error) {
    for (int i = 0; i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, "module") != 0) continue;
        if (session->module_count == ZF_SESSION_MODULES)
            return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--module can be given at most %d times", ZF_SESSION_MODULES);
        ZF_TRY(zf_module_load(session->context, arguments->given[i].value, &session->modules[session->module_count], error));
        session->module_count++;
    }
    return ZF_OK;
}

unsigned zf_chunk_threads(const zf_arguments *arguments) {
    const char *text = zf_argument(arguments, "chunk-threads");
    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static zf_status make_compiler(const zf_arguments *arguments, const zf_plan_request *request, zf_session *session,
                               zf_error *error) {
    zf_compiler_options options = {.chunk_threads = zf_chunk_threads(arguments),
                                   .choices = zf_argument(arguments, "choose"),
                                   .untuned = zf_argument(arguments, "untuned") != NULL};
    if (strcmp(arguments->verb->name, "tune") == 0)
        options.untuned = true; // what is measured beside others is what is so by default
    else
        options.tuned = zf_argument(arguments, "tuned");
#ifdef ZF_SANITIZE
    options.sanitize = true; // this build has the sanitizer's runtime, so generated code is watched too
#endif
    const char *level = getenv("ZIPFLOW_OPTIMISE");
    if (level && *level) {
        if (level[0] < '0' || level[0] > '3' || level[1]) {
            zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "ZIPFLOW_OPTIMISE is `%.64s`, which is no level", level);
            return zf_fail_hint(error, ZF_ERR_USAGE, "0 to 3; nothing is what the compiler takes by itself, 3");
        }
        options.optimise = (unsigned)(level[0] - '0') + 1;
    }
    return zf_compiler_create_with(session->context, &options, request, &session->compiler, error);
}

bool zf_session_open(const zf_arguments *arguments, zf_session *session, int *status) {
    return zf_session_open_with(arguments, NULL, session, status);
}

bool zf_session_open_with(const zf_arguments *arguments, const zf_plan_request *request, zf_session *session, int *status) {
    *session =
        (zf_session){.quiet = zf_argument(arguments, "quiet") != NULL, .verbose = zf_argument(arguments, "verbose") != NULL};
    uint64_t threads;
    if (!zf_argument_number(arguments, "threads", 1, ZF_THREADS_MOST, 0, &threads)) {
        *status = EXIT_BAD_USAGE;
        return false;
    }
    session->threads = (unsigned)threads;
    zf_context_options options = {.threads = session->threads};
    if (session->verbose) {
        options.log = log_line;
        options.log_user = (void *)(uintptr_t)arguments->verb->name;
    }
    if (zf_argument(arguments, "no-cache")) options.cache_dir = "";
    zf_error error;
    if (zf_context_create(&options, &session->context, &error) != ZF_OK ||
        zf_emulator_register(session->context, &error) != ZF_OK) {
        *status = zf_report(arguments->verb->name, &error);
        return false;
    }
    zf_context_set_passes(session->context, arguments->passes);
    zf_status opened = load_modules(arguments, session, &error);
    if (opened == ZF_OK && session->module_count > 0 && zf_argument(arguments, "choose") != NULL)
        opened =
            zf_fail(&error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--choose is for the compiler: a module's code is as it was made");
    if (opened == ZF_OK && session->module_count > 0 && zf_argument(arguments, "tuned") != NULL)
        opened =
            zf_fail(&error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--tuned is for the compiler: a module's code is as it was made");
    if (opened == ZF_OK && session->module_count == 0) opened = make_compiler(arguments, request, session, &error);
    if (opened == ZF_OK) return true;
    *status = zf_report(arguments->verb->name, &error);
    zf_session_close(session);
    return false;
}

void zf_session_close(zf_session *session) {
    while (session->module_count > 0) zf_module_free(session->modules[--session->module_count]);
    zf_compiler_free(session->compiler);
    zf_context_free(session->context);
    *session = (zf_session){0};
}

const char *zf_bytes_text(uint64_t bytes, char out[32]) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1000 && unit < 4) {
        value /= 1000;
        unit++;
    }
    snprintf(out, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return out;
}
