#include "zfc/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/compiler.h"
#include "runtime/base/error.h"
#include "runtime/base/pool.h"
#include "runtime/context/context.h"
#include "runtime/device/device.h"
#include "zfc/compiling_line.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"
#include "zipflow/emulator.h"

static void log_line(void *user, zf_log_level level, const char *line) {
    (void)level;
    zf_compiling_line_pause();
    fprintf(stderr, "zfc %s: ", (const char *)user);
    zf_print_path(stderr, line);
    putc('\n', stderr);
    zf_compiling_line_resume();
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
    zf_compiler_options options = {
        ZF_INIT(zf_compiler_options), .chunk_threads = zf_chunk_threads(arguments), .choices = zf_argument(arguments, "choose"),
        .untuned = zf_argument(arguments, "untuned") != NULL, .shaping_tuples = session->shaping_tuples};
    const char *budget = zf_argument(arguments, "compile-budget");
    if (budget && strcmp(budget, "none") == 0)
        options.compile_budget = INFINITY;
    else if (budget && !zf_read_seconds(budget, &options.compile_budget))
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT,
                       "--compile-budget needs a time, such as 90s, 500ms or 5m, or `none`");
    if (strcmp(arguments->verb->name, "tune") == 0)
        options.untuned = true; // choices are compared with the default
    else
        options.tuned = zf_argument(arguments, "tuned");
#ifdef ZF_SANITIZE
    options.sanitize = true; // this build has the sanitizer's runtime, so generated code is instrumented too
#endif
    const char *level = getenv("ZIPFLOW_OPTIMISE");
    if (level && *level) {
        if (level[0] < '0' || level[0] > '3' || level[1]) {
            zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "ZIPFLOW_OPTIMISE is `%.64s`, which is not a level", level);
            return zf_fail_hint(error, ZF_ERR_USAGE, "give 0 to 3; the default is 3");
        }
        options.optimise = (unsigned)(level[0] - '0') + 1;
    }
    ZF_TRY(zf_compiler_create_with(session->context, &options, request, &session->compiler, error));
    if (!session->quiet && isatty(STDERR_FILENO)) zf_compiling_line_start(session->compiler);
    return ZF_OK;
}

bool zf_session_open(const zf_arguments *arguments, zf_session *session, int *status) {
    return zf_session_open_with(arguments, NULL, session, status);
}

bool zf_session_open_with(const zf_arguments *arguments, const zf_plan_request *request, zf_session *session, int *status) {
    *session =
        (zf_session){.quiet = zf_argument(arguments, "quiet") != NULL, .verbose = zf_argument(arguments, "verbose") != NULL};
    uint64_t threads, tuples;
    if (!zf_argument_number(arguments, "threads", 1, ZF_THREADS_MOST, 0, &threads) ||
        !zf_argument_number(arguments, "shaping-tuples", 1, ZF_TUPLES_MOST, ZF_TUPLES_DEFAULT, &tuples)) {
        *status = EXIT_BAD_USAGE;
        return false;
    }
    session->threads = (unsigned)threads;
    session->shaping_tuples = tuples;
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
        zf_session_close(session);
        return false;
    }
    zf_context_set_passes(session->context, arguments->passes);
    zf_status opened = load_modules(arguments, session, &error);
    if (opened == ZF_OK && session->module_count > 0 && zf_argument(arguments, "choose") != NULL)
        opened = zf_fail(&error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--choose needs the compiler: a module's code is fixed");
    if (opened == ZF_OK && session->module_count > 0 && zf_argument(arguments, "tuned") != NULL)
        opened = zf_fail(&error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--tuned needs the compiler: a module's code is fixed");
    if (opened == ZF_OK && session->module_count == 0) opened = make_compiler(arguments, request, session, &error);
    if (opened == ZF_OK) return true;
    *status = zf_report(arguments->verb->name, &error);
    zf_session_close(session);
    return false;
}

zf_status zf_session_check_choose(const zf_arguments *arguments, const zf_session *session, const char *device, zf_error *error) {
    zf_device found;
    // Tuned results and threads of chunks may be given wherever there is a GPU or not; beside a named CPU they are a mistake.
    bool named = zf_argument(arguments, "device") && strcmp(zf_argument(arguments, "device"), "auto") != 0;
    const char *option = zf_argument(arguments, "choose")                   ? "choose"
                         : named && zf_argument(arguments, "tuned")         ? "tuned"
                         : named && zf_argument(arguments, "chunk-threads") ? "chunk-threads"
                                                                            : NULL;
    if (!option) return ZF_OK;
    ZF_TRY(zf_device_find(session->context, device ? device : "auto", &found, error));
    if (found.ops->start) return ZF_OK;
    zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--%s is for kernels of GPUs, and the device is `%s`", option,
            found.ops->name);
    return zf_fail_hint(error, ZF_ERR_USAGE, "name a GPU by --device; `zfc devices` lists them");
}

zf_open_options zf_opening(const zf_arguments *arguments) {
    const char *programs = zf_argument(arguments, "programs");
    bool known = programs != NULL && strcmp(programs, "known") == 0;
    return (zf_open_options){ZF_INIT(zf_open_options), .programs = known ? ZF_PROGRAMS_KNOWN : ZF_PROGRAMS_ALL};
}

zf_status zf_open_container(const zf_arguments *arguments, zf_context *context, const char *path, zf_container **out,
                            zf_error *error) {
    zf_open_options options = zf_opening(arguments);
    return zf_container_open_file(context, path, &options, out, error);
}

void zf_session_close(zf_session *session) {
    zf_compiling_line_stop();
    while (session->module_count > 0) zf_module_free(session->modules[--session->module_count]);
    zf_compiler_free(session->compiler);
    zf_context_free(session->context);
    *session = (zf_session){0};
}
