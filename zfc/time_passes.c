#include "zfc/time_passes.h"

#include <jansson.h>
#include <string.h>

enum { MOST = 2 * ZF_PASS_COUNT };

typedef unsigned long long ull;

static void print_table(const zf_pass_time *lines, size_t count, double whole, double other, FILE *out) {
    fprintf(out, "%-30s %11s %6s %12s %12s %7s\n", "pass", "ms", "", "all threads", "processor", "times");
    for (size_t i = 0; i < count; i++) {
        const zf_pass_time *line = &lines[i];
        if (line->count == 0) continue;
        double part = whole > 0 ? 100 * line->wall / whole : 0;
        const char *indent = line->is_group ? "" : "  ";
        fprintf(out, "%s%-*s %11.3f %5.1f%% %12.3f %12.3f %7llu\n", indent, 30 - (int)strlen(indent), line->text,
                line->wall * 1e3, part, line->sum * 1e3, line->busy * 1e3, (ull)line->count);
    }
    fprintf(out, "%-30s %11.3f %5.1f%%\n", "all else", other * 1e3, whole > 0 ? 100 * other / whole : 0);
    fprintf(out, "%-30s %11.3f\n", "whole", whole * 1e3);
}

static void print_json(const zf_pass_time *lines, size_t count, double whole, double other, FILE *out) {
    json_t *passes = json_object();
    for (size_t i = 0; i < count; i++) {
        const zf_pass_time *line = &lines[i];
        json_object_set_new(passes, line->name,
                            json_pack("{s:f, s:f, s:f, s:I}", "wall", line->wall, "sum", line->sum, "busy", line->busy, "count",
                                      (json_int_t)line->count));
    }
    json_t *report = json_pack("{s:{s:f, s:f, s:o}}", "time_passes", "whole", whole, "other", other, "passes", passes);
    json_dumpf(report, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(report);
}

void zf_time_passes_print(zf_passes *passes, bool as_json, FILE *out) {
    if (passes == NULL) return;
    zf_pass_time lines[MOST];
    double whole, other;
    size_t count = zf_passes_read(passes, lines, MOST, &whole, &other);
    if (as_json)
        print_json(lines, count, whole, other, out);
    else
        print_table(lines, count, whole, other, out);
}
