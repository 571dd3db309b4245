#include "zfc/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/error_codes.h"
#include "zfc/driver_codes.h"

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

static void print_line(FILE *out, const char *format, va_list arguments) {
    zf_text text = {0};
    zf_text_vprintf(&text, format, arguments);
    zf_print_path(out, text.data && !text.failed ? text.data : "no memory for this message");
    putc('\n', out);
    zf_text_free(&text);
}

void zf_print_line(FILE *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(out, format, arguments);
    va_end(arguments);
}

int zf_report_usage(const char *verb, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "zfc %s: error[%s]: ", verb, ZFC_BAD_ARGUMENT);
    va_start(arguments, format);
    print_line(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "  see: zfc %s --help\n", verb);
    return EXIT_BAD_USAGE;
}

zf_status zf_json_append(json_t *list, json_t *item, zf_error *error) {
    if (json_array_append_new(list, item) == 0) return ZF_OK;
    return zf_fail(error, ZF_ERR_MEMORY, ZFC_CANNOT_WRITE, "no report: a text in it is not UTF-8, or there is no memory");
}

static zf_status print_json(const json_t *report, size_t digits, zf_error *error) {
    if (!report)
        return zf_fail(error, ZF_ERR_MEMORY, ZFC_CANNOT_WRITE, "no report: a text in it is not UTF-8, or there is no memory");
    if (json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(digits)) == 0 && putchar('\n') != EOF &&
        fflush(stdout) == 0)
        return ZF_OK;
    return zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_WRITE, "the report cannot be written");
}

zf_status zf_json_print(const json_t *report, zf_error *error) { return print_json(report, 9, error); }

zf_status zf_json_print_exact(const json_t *report, zf_error *error) { return print_json(report, 17, error); }

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

zf_status zf_fail_no_memory(zf_error *error) { return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory"); }

bool zf_report_diagnostics(const char *verb, const zf_diags *diags, zf_diag_form form) {
    zf_text text = {0};
    zf_diags_render(diags, form, zf_colour(stderr), &text);
    bool whole = !text.failed;
    if (text.length > 0 && (whole || form != ZF_DIAG_JSON))
        fwrite(text.data, 1, text.length, form == ZF_DIAG_JSON ? stdout : stderr);
    zf_error error;
    if (!whole) {
        zf_raise(&error, ZF_E_NO_MEMORY, "no memory to print all diagnostics");
        zf_report(verb, &error);
    }
    zf_text_free(&text);
    return whole;
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

const char *zf_rows_text(uint64_t rows, char out[32]) {
    snprintf(out, 32, "%llu row%s", (unsigned long long)rows, rows == 1 ? "" : "s");
    return out;
}
