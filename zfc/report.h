// What every verb uses to talk: errors, progress, and a session with the library.
#ifndef ZF_DRIVER_REPORT_H
#define ZF_DRIVER_REPORT_H

#include <jansson.h>

#include "compiler/plan_request.h"
#include "frontend/diag/diag.h"
#include "zfc/verbs/verbs.h"
#include "zipflow/compile.h"

/// Prints an error to standard error and returns the exit status that goes with it.
int zf_report(const char *verb, const zf_error *error);

/// Says that an output exists already, and returns the exit status. What is no file cannot be overwritten: the hint is another.
int zf_report_exists(const char *verb, const char *path);

/// Prints diagnostics to standard error in the form asked for.
void zf_report_diagnostics(const zf_diags *diags, zf_diag_form form);

/// Prints a file's name, or a line with one, for a terminal: characters that might drive it (zf_utf8_unshown) as `?`, as in
/// errors.
void zf_print_path(FILE *out, const char *path);

/// True when errors may be coloured.
bool zf_colour(FILE *stream);

enum { ZF_SESSION_MODULES = 16 };

/// A context and what gives it code, as the verb's options want them: a compiler, or the modules that `--module` names.
typedef struct zf_session {
    zf_context *context;
    zf_compiler *compiler; ///< NULL with modules
    zf_module *modules[ZF_SESSION_MODULES];
    size_t module_count;
    bool quiet, verbose;
    unsigned threads;
} zf_session;

/// What `--chunk-threads` says, of verbs that have it; else 0.
unsigned zf_chunk_threads(const zf_arguments *arguments);

/// Opens a session; prints what failed and gives its exit status in *status.
bool zf_session_open(const zf_arguments *arguments, zf_session *session, int *status);
/// The same; the compiler's plans start from `request`.
bool zf_session_open_with(const zf_arguments *arguments, const zf_plan_request *request, zf_session *session, int *status);
void zf_session_close(zf_session *session);

/// "12.3 MB", "999 B" in a static table of per-call buffers owned by the caller.
const char *zf_bytes_text(uint64_t bytes, char out[32]);

/// Appends `item` (taken over; NULL when it could not be made) to a report.
zf_status zf_json_append(json_t *list, json_t *item, zf_error *error);
/// Prints a report on stdout. `report` (not taken over) is NULL when it could not be made.
zf_status zf_json_print(const json_t *report, zf_error *error);

#endif
