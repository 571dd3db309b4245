// Results of `zfc bench`, as a table and as JSON.
#include "zfc/verbs/bench_report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "patterns/plan/explain.h"
#include "runtime/base/text.h"
#include "runtime/decode/block_run.h"
#include "tuner/tune_json.h"
#include "zfc/commit.h"
#include "zfc/first_byte.h"

static double per_second(uint64_t bytes, double seconds) { return seconds > 0 ? (double)bytes / seconds / 1e9 : 0; }

zf_bench_figures zf_bench_figures_of(const zf_measure_result *r) {
    zf_bench_figures f = {0};
    if (r->info.stored_bytes > 0) f.ratio = (double)r->info.plain_bytes / (double)r->info.stored_bytes;
    f.gigabytes = per_second(r->plain_bytes, r->decode.median);
    f.copy_gigabytes = per_second(r->plain_bytes, r->copy.median);
    if (r->decode.median > 0) f.percent_of_copy = 100 * r->copy.median / r->decode.median;
    double limit = 2 * f.copy_gigabytes; // a copy reads and writes
    if (limit > 0) f.fraction = per_second(r->read_bytes + r->plain_bytes, r->decode.median) / limit;
    return f;
}

static zf_device_info device_info(const zf_measure_options *options) {
    zf_device_info info = {0};
    if (zf_device_get(options->context, options->chosen.entry, &info, NULL) == ZF_OK) return info;
    return (zf_device_info){.name = options->device->name, .description = ""};
}

void zf_bench_print_head(const zf_measure_options *o) {
    zf_device_info info = device_info(o);
    printf("%s: %s, %u core%s\n", info.name, info.description, info.cores, info.cores == 1 ? "" : "s");
    if (o->unfused) printf("every stage has a kernel of its own: decodes do not use these kernels\n");
    if (o->unchecked) printf("kernels do not check their streams: decodes do not use these kernels\n");
    printf("%u thread%s, checksums %s, medians of %u; copy is %s, limit the bytes that a copy reads and writes a second\n\n",
           o->threads, o->threads == 1 ? "" : "s", o->checksums ? "included" : "left out", o->repeats, o->device->copy);
    printf("%-20s %11s %9s %8s %8s %8s %7s %9s  %s\n", "column", "rows", "plain MB", "ratio", "GB/s", "copy", "% copy",
           "of limit", "codec");
}

void zf_bench_print_row(const char *name, const zf_measure_result *r) {
    zf_bench_figures f = zf_bench_figures_of(r);
    printf("%-20s %11llu %9.1f %8.2f %8.2f %8.2f %7.1f %9.2f  %s\n", name, (unsigned long long)r->info.rows,
           (double)r->plain_bytes / (double)r->copies / 1e6, f.ratio, f.gigabytes, f.copy_gigabytes, f.percent_of_copy,
           f.fraction, r->info.codec);
    zf_text text = {0};
    zf_explain_tuples_text(&r->tuples, &text);
    if (text.failed)
        printf("  no memory for the tuples of params\n");
    else if (text.length > 0)
        printf("  %s", text.data);
    zf_text_free(&text);
    fflush(stdout);
}

// ---- JSON -----------------------------------------------------------------------------------------------------

static json_t *what_is_counted(void) {
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "seconds",
        "of a round: the blocks of the column decoded `repeated` times, each time from stored bytes and to a place of its own; "
        "one "
        "round warms up, then copy and decode take turns",
        "decode", "the device's kernels and the checks before them; stored bytes and outputs are in its memory and touched",
        "copy", "of as many plain bytes, within the device's memory", "gb_per_second",
        "plain bytes written, in units of 1e9, by the median time; of strings offsets, too", "characters_gb_per_second",
        "of strings: their characters alone, by the same time", "percent_of_copy", "the copy's median time by decoding's",
        "fraction_of_limit",
        "(read_bytes + plain_bytes) a second by the copy's bytes a second, of which it reads one half and writes the other; work "
        "buffers between kernels do not count",
        "kernel_seconds",
        "with --unfused: of each kernel of a round, in rounds of their own, from the end of the one before it: the host, which "
        "queues "
        "all of them first, has no part in it",
        "read_bytes", "streams and seek states of a round, each byte once; with checksums whole blocks", "tuples",
        "of shaping values: `occur` in the column; `limit` of them get code of their own, for each vector of alternatives (0: "
        "those "
        "of the module); the others run general code",
        "verified", "every byte of every round was compared with `compared_with`; buffers are poisoned before each");
}

/// The command line, options first.
static void add_command(zf_text *text, const zf_arguments *arguments) {
    zf_text_printf(text, "zfc %s", arguments->verb->name);
    for (int i = 0; i < arguments->given_count; i++) {
        const zf_option *option = arguments->given[i].option;
        zf_text_printf(text, " --%s%s%s", option->name, option->argument ? "=" : "", arguments->given[i].value);
    }
    for (int i = 0; i < arguments->operand_count; i++) zf_text_printf(text, " %s", arguments->operands[i]);
}

json_t *zf_bench_json(const zf_measure_options *o, const zf_arguments *arguments) {
    zf_text command = {0};
    add_command(&command, arguments);
    double load = -1;
    getloadavg(&load, 1);
    char date[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) != NULL) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    zf_device_info info = device_info(o);
    json_t *report =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o*, s:{s:s, s:s, s:i, s:I}, s:f, s:i, s:i, s:I, s:b, s:b, s:b, s:b, s:s, "
                  "s:[]}",
                  "bench", "decode", "date", date, "version", zf_version(), "commit", ZF_COMMIT, "llvm",
                  zf_compiler_llvm_version(), "command", command.failed ? NULL : zf_json_text(command.data), "counted",
                  what_is_counted(), "device", "name", info.name, "description", info.description, "cores", (int)info.cores,
                  "memory", (json_int_t)info.memory, "load_before", load, "threads", (int)o->threads, "repeats", (int)o->repeats,
                  "bytes", (json_int_t)o->bytes, "checksums", (int)o->checksums, "general_kernels", (int)o->general,
                  "unchecked_kernels", (int)o->unchecked, "unfused_kernels", (int)o->unfused, "copy", o->device->copy, "results");
    zf_text_free(&command);
    return report;
}

static json_t *tuples_json(const zf_tuple_count *t) {
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "occur", (json_int_t)t->tuples, "limit", (json_int_t)t->limit, "general_tuples",
                     (json_int_t)t->general_tuples, "general_blocks", (json_int_t)t->general_blocks, "general_rows",
                     (json_int_t)t->general_rows);
}

zf_status zf_bench_json_add(json_t *report, const char *source, const char *name, const zf_measure_result *r,
                            const zf_measure_plain *plain, zf_error *error) {
    zf_bench_figures f = zf_bench_figures_of(r);
    json_t *item = json_pack(
        "{s:o, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:{s:f, s:f, s:f}, s:{s:f, s:f, s:f}, s:f, s:f, s:f, "
        "s:f, s:b, s:s}",
        "source", zf_json_text(source), "column", name, "type", r->info.type_name, "codec", r->info.codec, "rows",
        (json_int_t)r->info.rows, "blocks", (json_int_t)r->blocks, "kernels", (json_int_t)r->kernels, "column_plain_bytes",
        (json_int_t)r->info.plain_bytes, "column_stored_bytes", (json_int_t)r->info.stored_bytes, "ratio", f.ratio, "repeated",
        (json_int_t)r->copies, "plain_bytes", (json_int_t)r->plain_bytes, "read_bytes", (json_int_t)r->read_bytes,
        "decode_seconds", "median", r->decode.median, "least", r->decode.least, "most", r->decode.most, "copy_seconds", "median",
        r->copy.median, "least", r->copy.least, "most", r->copy.most, "gb_per_second", f.gigabytes, "copy_gb_per_second",
        f.copy_gigabytes, "percent_of_copy", f.percent_of_copy, "fraction_of_limit", f.fraction, "verified", 1, "compared_with",
        plain->origin);
    if (item != NULL) json_object_set_new(item, "before_first_byte", zf_before_json(r->device_seconds, &r->code));
    if (item != NULL) json_object_set_new(item, "tuples", tuples_json(&r->tuples));
    if (item != NULL && r->info.type.element == ZF_STRING) {
        uint64_t characters = zf_characters(r->info.type.nullable, r->info.rows, r->info.plain_bytes) * r->copies;
        json_object_set_new(item, "characters_gb_per_second", json_real(per_second(characters, r->decode.median)));
    }
    if (item != NULL && r->timed_kernels > 0) {
        json_t *times = json_array();
        for (uint32_t k = 0; k < r->timed_kernels; k++)
            json_array_append_new(times, json_pack("{s:f, s:f, s:f}", "median", r->kernel_times[k].median, "least",
                                                   r->kernel_times[k].least, "most", r->kernel_times[k].most));
        json_object_set_new(item, "kernel_seconds", times);
    }
    return zf_json_append(json_object_get(report, "results"), item, error);
}

zf_status zf_bench_json_fail(json_t *report, const char *source, const char *name, const zf_error *failure, zf_error *error) {
    json_t *item = json_pack("{s:o, s:s, s:b, s:s, s:o}", "source", zf_json_text(source), "column", name, "verified", 0, "code",
                             failure->code, "message", zf_json_text(failure->message));
    return zf_json_append(json_object_get(report, "results"), item, error);
}

zf_status zf_bench_json_finish(json_t *report, zf_error *error) {
    double load = -1;
    getloadavg(&load, 1);
    if (report != NULL) json_object_set_new(report, "load_after", json_real(load));
    return zf_json_print(report, error);
}
