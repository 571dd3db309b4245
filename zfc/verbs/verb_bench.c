#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/measure_generate.h"
#include "runtime/container/element.h"
#include "zfc/data/column_options.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"
#include "zfc/scratch.h"
#include "zfc/session.h"
#include "zfc/verbs/bench_report.h"

typedef struct benching {
    zf_session session;
    zf_measure_options options;
    const zf_arguments *arguments;
    json_t *report;     ///< NULL: a table is printed
    zf_scratch scratch; ///< of generated containers
    int exit_status;
} benching;

static int usage(const char *message) { return zf_report_usage("bench", "%s", message); }

/// Reports an error, which makes the exit status, and goes on.
static void fail(benching *b, const char *source, const char *name, const zf_error *failure) {
    int status = zf_report("bench", failure);
    if (b->exit_status != EXIT_BAD_DEVICE) b->exit_status = status;
    zf_error error;
    if (b->report != NULL && zf_bench_json_fail(b->report, source, name, failure, &error) != ZF_OK) zf_report("bench", &error);
}

static void measure(benching *b, zf_container *container, size_t column, const char *source, const char *name,
                    const zf_measure_plain *plain) {
    zf_measure_result result;
    zf_error error;
    zf_status status = zf_measure_column(container, column, &b->options, plain, &result, &error);
    if (status == ZF_OK && b->report != NULL) status = zf_bench_json_add(b->report, source, name, &result, plain, &error);
    if (status != ZF_OK)
        fail(b, source, name, &error);
    else if (b->report == NULL)
        zf_bench_print_row(name, &result);
}

// ---- Containers -----------------------------------------------------------------------------------------------

static void run_columns(benching *b, zf_container *container, zf_measure_reference *reference, const char *path,
                        const size_t *columns, size_t count) {
    for (size_t i = 0; i < count && b->exit_status != EXIT_BAD_DEVICE; i++) {
        zf_error error;
        zf_column_info info = {.name = ""};
        zf_measure_plain plain = {0};
        zf_status status = zf_container_column(container, columns[i], &info, &error);
        if (status == ZF_OK) status = zf_measure_reference_column(reference, columns[i], &plain, &error);
        if (status == ZF_OK)
            measure(b, container, columns[i], path, info.name, &plain);
        else
            fail(b, path, info.name, &error);
        free(plain.values);
    }
}

static void run_container(benching *b, const char *path, const char *names) {
    zf_error error;
    zf_container *container = NULL;
    zf_measure_reference *reference = NULL;
    size_t count = 0, *selected = NULL;
    zf_open_options opening = zf_opening(b->arguments);
    zf_status status = zf_container_open_file(b->session.context, path, &opening, &container, &error);
    if (status == ZF_OK) {
        selected = zf_selected_columns(container, names, &count, &error);
        status = selected != NULL ? zf_measure_reference_open(path, &opening, &reference, &error) : error.status;
    }
    if (status == ZF_OK) {
        run_columns(b, container, reference, path, selected, count);
    } else {
        fail(b, path, "", &error);
    }
    free(selected);
    zf_measure_reference_close(reference);
    zf_container_close(container);
}

// ---- Generators -----------------------------------------------------------------------------------------------

static bool run_generator(void *user, const zf_generator *generator) {
    benching *b = user;
    const char *name = generator->name;
    zf_error error;
    zf_measure_plain plain = {0};
    zf_container *container = NULL;
    zf_status status =
        zf_generate(generator, b->session.compiler, b->options.bytes, b->scratch.program, b->scratch.container, &plain, &error);
    if (status == ZF_OK) status = zf_container_open(b->session.context, b->scratch.container, &container, &error);
    if (status == ZF_OK)
        measure(b, container, 0, "generated", name, &plain);
    else
        fail(b, "generated", name, &error);
    zf_container_close(container);
    free(plain.values);
    return b->exit_status != EXIT_BAD_DEVICE;
}

static void run_generators(benching *b, const char *names) {
    const char *unknown;
    zf_error error;
    if (zf_scratch_make(&b->scratch, "bench", &error) != ZF_OK) {
        fail(b, "generated", "", &error);
        return;
    }
    zf_generators_select(names, run_generator, b, &unknown);
    zf_scratch_remove(&b->scratch);
}

// ---- The verb -------------------------------------------------------------------------------------------------

static bool print_generator(void *user, const zf_generator *generator) {
    (void)user;
    fprintf(stderr, "  %-22s %-5s %s\n", generator->name, zf_element_name(generator->element), generator->codec);
    return true;
}

/// Reads the options; prints what is wrong and returns EXIT_BAD_USAGE.
static int read_options(const zf_arguments *arguments, zf_measure_options *out) {
    const char *generate = zf_argument(arguments, "generate"), *unknown;
    if (arguments->operand_count == 0 && !generate) return usage("nothing to measure: give containers, or --generate NAMES");
    if (generate && zf_argument(arguments, "module")) return usage("--generate compiles its columns: use it without --module");
    if (zf_argument(arguments, "columns") && arguments->operand_count != 1) return usage("--columns goes with one container");
    if (zf_argument(arguments, "programs") && arguments->operand_count == 0)
        return usage("--programs is for files that are encoded");
    if (generate && !zf_generators_select(generate, NULL, NULL, &unknown)) {
        zf_print_line(stderr, "zfc bench: error[%s]: no generator `%.*s`; there are", ZFC_BAD_ARGUMENT,
                      (int)strcspn(unknown, ","), unknown);
        zf_generators_select("all", print_generator, NULL, &unknown);
        return EXIT_BAD_USAGE;
    }
    uint64_t repeats;
    if (!zf_argument_number(arguments, "repeats", 1, ZF_MEASURE_REPEATS_MOST, 9, &repeats)) return EXIT_BAD_USAGE;
    if (repeats < ZF_MEASURE_REPEATS_LEAST) return usage("--repeats needs at least 5: a median of fewer is unreliable");
    if (!zf_argument_bytes(arguments, "bytes", UINT64_C(1) << 40, 256 << 20, &out->bytes)) return EXIT_BAD_USAGE;
    out->repeats = (unsigned)repeats;
    out->checksums = zf_argument(arguments, "checksums") != NULL;
    out->general = zf_argument(arguments, "general") != NULL;
    out->unchecked = zf_argument(arguments, "unchecked") != NULL;
    out->unfused = zf_argument(arguments, "unfused") != NULL;
    if (out->unfused && zf_argument(arguments, "module")) return usage("--unfused compiles: a module's kernels cannot be split");
    if (out->unchecked && zf_argument(arguments, "module")) return usage("--unchecked compiles: a module's code has its checks");
    return EXIT_GOOD;
}

static zf_status find_device(benching *b, const char *name, zf_error *error) {
    ZF_TRY(zf_device_find(b->session.context, name ? name : "auto", &b->options.chosen, error));
    b->options.device = zf_measure_device_for(&b->options.chosen, error);
    if (b->options.device == NULL) return error->status;
    if (!b->options.checksums || b->options.device->checksums) return ZF_OK;
    return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--checksums: the host computes them, not device `%s`",
                   b->options.device->name);
}

int zf_run_bench(zf_arguments *arguments) {
    benching b = {.arguments = arguments, .exit_status = EXIT_GOOD};
    int status = read_options(arguments, &b.options);
    zf_plan_request request = {.unfused = b.options.unfused, .unchecked = b.options.unchecked};
    if (status != EXIT_GOOD || !zf_session_open_with(arguments, &request, &b.session, &status)) return status;
    zf_error error;
    b.options.context = b.session.context;
    b.options.threads = b.session.threads != 0 ? b.session.threads : 1;
    bool as_json = zf_argument(arguments, "json") != NULL;
    const char *device = zf_argument(arguments, "device");
    if (find_device(&b, device, &error) != ZF_OK || zf_session_check_choose(arguments, &b.session, device, &error) != ZF_OK) {
        b.exit_status = zf_report("bench", &error);
    } else {
        if (as_json)
            b.report = zf_bench_json(&b.options, arguments);
        else
            zf_bench_print_head(&b.options);
        for (int i = 0; i < arguments->operand_count && b.exit_status != EXIT_BAD_DEVICE; i++) {
            run_container(&b, arguments->operands[i], zf_argument(arguments, "columns"));
        }
        const char *generate = zf_argument(arguments, "generate");
        if (generate && b.exit_status != EXIT_BAD_DEVICE) run_generators(&b, generate);
        if (as_json && zf_bench_json_finish(b.report, &error) != ZF_OK) b.exit_status = zf_report("bench", &error);
    }
    json_decref(b.report);
    zf_session_close(&b.session);
    return b.exit_status;
}
