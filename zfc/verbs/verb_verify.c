#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure_decoded.h"
#include "runtime/device/device.h"
#include "tuner/tune_json.h"
#include "zfc/data/column_options.h"
#include "zfc/first_byte.h"
#include "zfc/report.h"
#include "zfc/session.h"

static zf_status tell(const zf_decoded *column, bool as_json, bool quiet, json_t *report, zf_error *error) {
    const zf_column_info *info = &column->info;
    double gigabytes = column->seconds > 0 ? (double)info->plain_bytes / column->seconds / 1e9 : 0;
    double ratio = info->stored_bytes ? (double)info->plain_bytes / (double)info->stored_bytes : 0;
    if (as_json) {
        return zf_json_append(report,
                              json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:b}", "column", info->name,
                                        "type", info->type_name, "codec", info->codec, "rows", (json_int_t)info->rows,
                                        "plain_bytes", (json_int_t)info->plain_bytes, "stored_bytes",
                                        (json_int_t)info->stored_bytes, "kernels", (json_int_t)column->stats.kernels, "launches",
                                        (json_int_t)column->stats.launches, "ratio", ratio, "seconds", column->seconds,
                                        "gb_per_second", gigabytes, "good", 1),
                              error);
    }
    if (!quiet) {
        printf("%-18s %12llu %-4s  ratio %8.2f  %llu kernel%s  %7.2f GB/s  good\n", info->name, (unsigned long long)info->rows,
               info->rows == 1 ? "row" : "rows", ratio, (unsigned long long)column->stats.kernels,
               column->stats.kernels == 1 ? " " : "s", gigabytes);
    }
    return ZF_OK;
}

/// Only input can be bad: of what has no code, no memory or no device nothing is known.
static bool is_bad(const zf_error *failure) { return failure->status == ZF_ERR_INPUT; }

static zf_status tell_failed(zf_container *container, size_t index, const zf_error *failure, json_t *report, zf_error *error) {
    zf_column_info info = {0};
    ZF_TRY(zf_container_column(container, index, &info, error));
    return zf_json_append(report,
                          json_pack("{s:s, s:s, s:s, s:o, s:{s:s, s:o, s:o, s:o}}", "column", info.name, "type", info.type_name,
                                    "codec", info.codec, "good", is_bad(failure) ? json_false() : json_null(), "error", "code",
                                    failure->code, "message", zf_json_text(failure->message), "place",
                                    zf_json_text(failure->place), "hint", zf_json_text(failure->hint)),
                          error);
}

static void sum_up(const char *path, size_t count, size_t bad, size_t failed) {
    zf_print_path(stdout, path);
    printf(": %zu column%s, ", count, count == 1 ? "" : "s");
    if (bad > 0) fputs("NOT GOOD", stdout);
    if (failed > bad) printf("%s%zu not checked", bad > 0 ? ", " : "", failed - bad);
    puts(failed == 0 ? "all good" : "");
}

/// Opens the files. A device that is absent or does not start is reported first, because it is no fact about the file.
static zf_status open_all(const zf_arguments *arguments, const zf_session *session, const char *device, zf_container **container,
                          size_t **selected, size_t *count, zf_error *error) {
    zf_device found;
    ZF_TRY(zf_device_find(session->context, device, &found, error));
    ZF_TRY(zf_open_container(arguments, session->context, arguments->operands[0], container, error));
    ZF_TRY(zf_session_check_choose(arguments, session, device, error));
    size_t *columns = zf_selected_columns(*container, zf_argument(arguments, "columns"), count, error);
    if (columns == NULL) return error->status;
    double seconds;
    zf_status status = zf_start_device(session->context, device, &seconds, error);
    if (status != ZF_OK) {
        free(columns);
        *count = 0;
        return status;
    }
    *selected = columns;
    return ZF_OK;
}

/// Checks that the ends of lists fit each other, their validity and their values.
static zf_status check_lists(const zf_session *session, zf_container *container, size_t column, const char *device,
                             const zf_decode_options *options, zf_error *error) {
    zf_decoded lists;
    zf_decode_options values;
    zf_status status = zf_decode_lists_of(session->context, container, column, device, options, &lists, &values, error);
    zf_decoded_free(&lists);
    return status;
}

// Every column is tried, so that one run tells all that is wrong.
int zf_run_verify(zf_arguments *arguments) {
    const char *device = zf_argument(arguments, "device");
    uint64_t repeat;
    if (!zf_argument_number(arguments, "repeat", 1, 1000, 1, &repeat)) return EXIT_BAD_USAGE;
    zf_session session;
    int exit_status = EXIT_GOOD;
    if (!zf_session_open(arguments, &session, &exit_status)) return exit_status;
    bool as_json = zf_argument(arguments, "json") != NULL;
    json_t *report = json_array();
    zf_error error;
    zf_container *container = NULL;
    size_t count = 0, looked = 0, bad = 0, failed = 0, *selected = NULL;
    if (!device) device = "auto";
    if (open_all(arguments, &session, device, &container, &selected, &count, &error) != ZF_OK)
        exit_status = zf_report("verify", &error);
    zf_decode_options options = {.threads = session.threads};
    zf_before before = {0};
    if (selected && zf_before_columns(session.context, container, selected, count, device, &options, &before, &error) != ZF_OK)
        exit_status = zf_report("verify", &error);
    zf_before_free(&before);
    for (; looked < count && exit_status != EXIT_BAD_DEVICE; looked++) {
        zf_decoded column;
        zf_status status =
            zf_decode_column(session.context, container, selected[looked], device, &options, repeat, &column, &error);
        if (status == ZF_OK && column.info.part == ZF_LIST_ENDS)
            status = check_lists(&session, container, selected[looked], device, &options, &error);
        if (status == ZF_OK) {
            status = tell(&column, as_json, session.quiet, report, &error);
            if (status != ZF_OK) exit_status = zf_report("verify", &error);
        } else {
            zf_error failure = error;
            exit_status = zf_report("verify", &failure);
            failed++;
            bad += is_bad(&failure);
            if (as_json && tell_failed(container, selected[looked], &failure, report, &error) != ZF_OK)
                zf_report("verify", &error);
        }
        zf_decoded_free(&column);
    }
    if (as_json && selected) {
        if (zf_json_print(report, &error) != ZF_OK) exit_status = zf_report("verify", &error);
    } else if (selected && !session.quiet && exit_status == EXIT_BAD_DEVICE) {
        zf_print_path(stdout, arguments->operands[0]);
        printf(": the device failed at column %zu of %zu: the rest was not looked at\n", looked, count);
    } else if (selected && !session.quiet) {
        sum_up(arguments->operands[0], count, bad, failed);
    }
    json_decref(report);
    free(selected);
    zf_container_close(container);
    zf_session_close(&session);
    return exit_status;
}
