#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/driver/decoded.h"
#include "frontend/driver/watch.h"

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
        printf("%-18s %12llu rows  ratio %8.2f  %llu kernel%s  %7.2f GB/s  good\n", info->name, (unsigned long long)info->rows,
               ratio, (unsigned long long)column->stats.kernels, column->stats.kernels == 1 ? " " : "s", gigabytes);
    }
    return ZF_OK;
}

// Every column is tried, so that one run tells all that is wrong.
int zf_run_verify(zf_arguments *arguments) {
    const char *device = zf_argument(arguments, "device");
    uint64_t repeat;
    if (!zf_argument_number(arguments, "repeat", 1000, 1, &repeat)) return EXIT_BAD_USAGE;
    zf_session session;
    int exit_status = EXIT_GOOD;
    if (!zf_session_open(arguments, &session, &exit_status)) return exit_status;
    bool as_json = zf_argument(arguments, "json") != NULL;
    json_t *report = json_array();
    zf_error error;
    zf_container *container = NULL;
    size_t count = 0, *selected = NULL, bad = 0;
    if (zf_container_open(session.context, arguments->operands[0], &container, &error) != ZF_OK ||
        !(selected = zf_selected_columns(container, zf_argument(arguments, "columns"), &count, &error))) {
        exit_status = zf_report("verify", &error);
    }
    zf_watch_container(container);
    for (size_t i = 0; i < count; i++) {
        zf_decode_options options = {.threads = session.threads};
        zf_decoded column;
        zf_status status = zf_decode_column(session.context, container, selected[i], device ? device : "auto", &options, repeat,
                                            &column, &error);
        if (status == ZF_OK) status = tell(&column, as_json, session.quiet, report, &error);
        if (status != ZF_OK) {
            exit_status = zf_report("verify", &error);
            bad++;
        }
        zf_decoded_free(&column);
        if (exit_status == EXIT_BAD_DEVICE) break;
    }
    if (as_json && exit_status == EXIT_GOOD) {
        if (zf_json_print(report, &error) != ZF_OK) exit_status = zf_report("verify", &error);
    } else if (selected && !session.quiet && !as_json) {
        printf("%s: %zu column%s, %s\n", arguments->operands[0], count, count == 1 ? "" : "s",
               bad == 0 && exit_status == EXIT_GOOD ? "all good" : "NOT GOOD");
    }
    json_decref(report);
    free(selected);
    zf_watch_container(NULL);
    zf_container_close(container);
    zf_session_close(&session);
    return exit_status;
}
