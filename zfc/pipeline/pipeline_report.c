// The report of `zfc pipeline`: a table, or JSON.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/median.h"
#include "tuner/tune_json.h"
#include "zfc/pipeline/pipelining.h"

// ---- Figures --------------------------------------------------------------------------------------------------

zf_pipe_seconds zf_pipe_seconds_of(const zf_pipe_view *view) {
    zf_pipe_seconds seconds = {NAN, NAN, NAN};
    size_t count = view->run_count;
    double *sorted = malloc((count + 1) * sizeof *sorted);
    if (count == 0 || sorted == NULL) {
        free(sorted);
        return seconds;
    }
    memcpy(sorted, view->runs, count * sizeof *sorted);
    double median = zf_median(sorted, count);
    seconds = (zf_pipe_seconds){view->runs[count - 1], sorted[0], median};
    free(sorted);
    return seconds;
}

size_t zf_pipe_totals(const zf_pipe_view *view, uint64_t *stored, uint64_t *plain) {
    size_t good = 0;
    *stored = *plain = 0;
    for (size_t i = 0; i < view->count; i++) {
        if (view->columns[i].failed) continue;
        *stored += view->columns[i].stored_bytes;
        *plain += view->columns[i].plain_bytes;
        good++;
    }
    return good;
}

static double ratio_of(uint64_t plain, uint64_t stored) { return stored > 0 ? (double)plain / (double)stored : 0; }

// ---- The table ------------------------------------------------------------------------------------------------

static void print_sizes(int width, const char *label, uint64_t stored, uint64_t plain) {
    char bytes[2][32];
    printf("%-*s %10s %10s %7.2f", width, label, zf_bytes_text(stored, bytes[0]), zf_bytes_text(plain, bytes[1]),
           ratio_of(plain, stored));
}

static void print_times(const zf_pipe_view *view, int width, uint64_t stored, uint64_t plain) {
    print_sizes(width, "all that are ready", stored, plain);
    zf_pipe_seconds seconds = zf_pipe_seconds_of(view);
    printf(" %9.3f ms\n", seconds.last * 1e3);
    if (view->run_count > 1)
        printf("of %zu runs: best %.3f ms, median %.3f ms, last %.3f ms\n", view->run_count, seconds.best * 1e3,
               seconds.median * 1e3, seconds.last * 1e3);
    if (plain > 0 && seconds.median > 0) printf("%.2f GB/s of plain bytes; ", (double)plain / seconds.median / 1e9);
    printf("predicted %.3f ms, at least %.3f ms in any order\n", view->info.predicted_seconds * 1e3,
           view->info.bound_seconds * 1e3);
}

void zf_pipe_print_table(const zf_pipe_view *view) {
    int width = 18;
    uint64_t stored, plain;
    char text[32];
    for (size_t i = 0; i < view->count; i++) {
        if ((int)strlen(view->columns[i].label) > width) width = (int)strlen(view->columns[i].label);
    }
    printf("%-*s %10s %10s %7s %12s\n", width, "column", "stored", "plain", "ratio", "ready at");
    for (size_t i = 0; i < view->count; i++) {
        const zf_piped *c = &view->columns[i];
        print_sizes(width, c->label, c->stored_bytes, c->plain_bytes);
        if (c->failed)
            printf(" %12s\n", "failed");
        else
            printf(" %9.3f ms\n", c->ready * 1e3);
    }
    size_t good = zf_pipe_totals(view, &stored, &plain);
    if (good > 0)
        print_times(view, width, stored, plain);
    else
        printf("no column is ready: there is no rate\n");
    if (view->verified && good > 0)
        printf("verified: %zu column%s, decoded alone as well, of the same bytes\n", good, good == 1 ? "" : "s");
    printf("device %s, to memory of the %s, order %s, %zu unit%s", view->device, view->on_device ? "device" : "host", view->order,
           view->info.units, view->info.units == 1 ? "" : "s");
    if (view->has_link) printf(", link %s/s", zf_bytes_text((uint64_t)view->info.link_rate, text));
    putchar('\n');
    zf_before_print(view->before);
}

// ---- JSON -----------------------------------------------------------------------------------------------------

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *times_of(const zf_unit_times *t) {
    return json_pack("{s:[o, o], s:[o, o], s:[o, o]}", "read", number(t->read_begin), number(t->read_end), "copy",
                     number(t->copy_begin), number(t->copy_end), "decode", number(t->decode_begin), number(t->decode_end));
}

static json_t *unit_of(const zf_pipe_view *view, const zf_batch_unit *unit) {
    const zf_piped *c = view->of_request[unit->request];
    return json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "column", (json_int_t)(c - view->columns), "name",
                     c->info.name, "first_row", (json_int_t)unit->first_row, "rows", (json_int_t)unit->rows, "blocks",
                     (json_int_t)unit->blocks, "stored_bytes", (json_int_t)unit->stored_bytes, "plain_bytes",
                     (json_int_t)unit->plain_bytes, "predicted", times_of(&unit->predicted), "measured",
                     view->planned ? json_null() : times_of(&unit->measured));
}

static json_t *column_of(const zf_pipe_view *view, const zf_piped *c) {
    json_t *column = json_pack(
        "{s:o, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:o}", "file", zf_json_text(zf_container_path(c->container)), "table",
        zf_container_table(c->container), "column", c->info.name, "type", c->info.type_name, "codec", c->info.codec, "rows",
        (json_int_t)c->rows, "stored_bytes", (json_int_t)c->stored_bytes, "plain_bytes", (json_int_t)c->plain_bytes, "ratio",
        ratio_of(c->plain_bytes, c->stored_bytes), "ready_seconds", c->failed ? json_null() : number(c->ready));
    json_t *good = c->failed ? json_false() : view->planned ? json_null() : json_true();
    if (column == NULL || json_object_set_new(column, "good", good) != 0) return column;
    if (!c->failed) return column;
    json_object_set_new(column, "error",
                        json_pack("{s:s, s:o, s:o, s:o}", "code", c->error.code, "message", zf_json_text(c->error.message),
                                  "place", zf_json_text(c->error.place), "hint", zf_json_text(c->error.hint)));
    return column;
}

zf_status zf_pipe_print_json(const zf_pipe_view *view, zf_error *error) {
    uint64_t stored, plain;
    zf_pipe_totals(view, &stored, &plain);
    zf_pipe_seconds seconds = zf_pipe_seconds_of(view);
    json_t *columns = json_array(), *units = json_array(), *runs = json_array();
    zf_status status = ZF_OK;
    for (size_t i = 0; i < view->count && status == ZF_OK; i++)
        status = zf_json_append(columns, column_of(view, &view->columns[i]), error);
    for (size_t i = 0; i < view->info.units && status == ZF_OK; i++) {
        zf_batch_unit unit = {0};
        status = zf_batch_unit_get(view->batch, i, &unit, error);
        if (status == ZF_OK) status = zf_json_append(units, unit_of(view, &unit), error);
    }
    for (size_t i = 0; i < view->run_count && status == ZF_OK; i++) status = zf_json_append(runs, number(view->runs[i]), error);
    json_t *report = json_pack("{s:s, s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o}",
                               "device", view->device, "to", view->on_device ? "device" : "host", "order", view->order, "loaded",
                               view->loaded, "verified", view->verified, "seconds", number(seconds.last), "best_seconds",
                               number(seconds.best), "median_seconds", number(seconds.median), "runs", runs, "gb_per_second",
                               number((double)plain / seconds.median / 1e9), "predicted_seconds",
                               number(view->info.predicted_seconds), "bound_seconds", number(view->info.bound_seconds),
                               "link_bytes_per_second", view->has_link ? number(view->info.link_rate) : json_null(),
                               "stored_bytes", (json_int_t)stored, "plain_bytes", (json_int_t)plain, "before_first_byte",
                               view->planned ? json_null() : zf_before_json(view->before->device, &view->before->all), "columns",
                               columns, "units", units);
    if (status == ZF_OK) status = zf_json_print(report, error);
    json_decref(report);
    return status;
}
