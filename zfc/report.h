// Messages of all verbs: errors, diagnostics, JSON.
#ifndef ZF_ZFC_REPORT_H
#define ZF_ZFC_REPORT_H

#include <jansson.h>

#include "frontend/diag/diag.h"
#include "zfc/verbs/verbs.h"
#include "zipflow/compile.h"

/// Prints an error to standard error and returns its exit status.
int zf_report(const char *verb, const zf_error *error);

/// Prints that an output exists, and returns the exit status. The hint differs where it is not a regular file.
int zf_report_exists(const char *verb, const char *path);

/// Prints a usage error (ZF2014) of a verb, and where its help is. Returns EXIT_BAD_USAGE.
int zf_report_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Prints a line, which gets its line feed here. Characters in it that could drive a terminal become `?`: users' words may hold
/// them.
void zf_print_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Fills an error of missing memory (ZF2015) and returns its status.
zf_status zf_fail_no_memory(zf_error *error);

/// Prints diagnostics of a verb in the form of `--format`: JSON to standard output, other forms to standard error.
/// Returns false after an error where there is no memory for all of them; JSON is then not printed.
bool zf_report_diagnostics(const char *verb, const zf_diags *diags, zf_diag_form form);

/// Prints a file's name, or a line with one. Characters that could drive a terminal become `?`, as in errors.
void zf_print_path(FILE *out, const char *path);

/// Returns true if errors may be coloured.
bool zf_colour(FILE *stream);

/// Writes a size as "12.3 MB" or "999 B" to `out`, and returns it.
const char *zf_bytes_text(uint64_t bytes, char out[32]);

/// Writes "1 row" or "2 rows" to `out`, and returns it.
const char *zf_rows_text(uint64_t rows, char out[32]);

/// Appends an item to a report and takes it over. NULL is an item that could not be made: an error.
zf_status zf_json_append(json_t *list, json_t *item, zf_error *error);
/// Prints a report to standard output. NULL is a report that could not be made: an error.
zf_status zf_json_print(const json_t *report, zf_error *error);
/// The same with every bit of floats.
zf_status zf_json_print_exact(const json_t *report, zf_error *error);

#endif
