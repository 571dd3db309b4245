// The plan as text: a line a unit, in the order of transfers.
#include <string.h>

#include "zfc/pipeline/pipelining.h"

/// Three columns of the same width; nothing where nothing is to be done.
static void print_span(double begin, double end, bool last) {
    char text[48] = "";
    if (end > begin) snprintf(text, sizeof text, "%9.3f..%.3f", begin * 1e3, end * 1e3);
    printf("  %-*s", last ? 0 : 20, text);
}

void zf_pipe_print_plan(const zf_pipe_view *view) {
    int width = 6;
    zf_error error;
    char rows[64], bytes[32];
    for (size_t r = 0; r < view->requests; r++) {
        if ((int)strlen(view->of_request[r]->label) > width) width = (int)strlen(view->of_request[r]->label);
    }
    printf("%5s  %-*s  %-21s %10s  %-20s  %-20s  %s\n", "", width, "column", "rows", "stored", "     read, ms", "     copy, ms",
           "   decode, ms");
    for (size_t i = 0; i < view->info.units; i++) {
        zf_batch_unit unit = {0};
        if (zf_batch_unit_get(view->batch, i, &unit, &error) != ZF_OK) return; // there are as many
        const zf_unit_times *t = &unit.predicted;
        snprintf(rows, sizeof rows, "%llu..%llu", (unsigned long long)unit.first_row,
                 (unsigned long long)(unit.first_row + unit.rows));
        printf("%5zu  %-*s  %-21s %10s", i + 1, width, view->of_request[unit.request]->label, rows,
               zf_bytes_text(unit.stored_bytes, bytes));
        print_span(t->read_begin, t->read_end, false);
        print_span(t->copy_begin, t->copy_end, false);
        print_span(t->decode_begin, t->decode_end, true);
        putchar('\n');
    }
    printf("predicted %.3f ms, at least %.3f ms in any order\n", view->info.predicted_seconds * 1e3,
           view->info.bound_seconds * 1e3);
}
