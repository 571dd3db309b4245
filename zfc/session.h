// A session of a verb with the library: a context, and a compiler or modules, as the options say.
#ifndef ZF_ZFC_SESSION_H
#define ZF_ZFC_SESSION_H

#include "compiler/decoder/plan_request.h"
#include "zfc/verbs/verbs.h"
#include "zipflow/compile.h"

enum { ZF_SESSION_MODULES = 16 };

/// A context and its source of code: a compiler, or the modules of `--module`.
typedef struct zf_session {
    zf_context *context;
    zf_compiler *compiler; ///< NULL with modules
    zf_module *modules[ZF_SESSION_MODULES];
    size_t module_count;
    bool quiet, verbose;
    unsigned threads;      ///< of `--threads`; 0: the default
    size_t shaping_tuples; ///< of `--shaping-tuples`, or the default
} zf_session;

/// Returns the number of `--chunk-threads`, or 0 where it is not given.
unsigned zf_chunk_threads(const zf_arguments *arguments);

/// Opens a session. Returns false after printing an error, and sets `*status` to the exit status.
bool zf_session_open(const zf_arguments *arguments, zf_session *session, int *status);
/// Opens a session whose compiler starts its plans from `request`.
bool zf_session_open_with(const zf_arguments *arguments, const zf_plan_request *request, zf_session *session, int *status);
/// Refuses `--choose`, and beside `--device` also `--tuned` and `--chunk-threads`, where `device` (NULL: the first choice) has no
/// kernels of GPUs: ZF2014.
zf_status zf_session_check_choose(const zf_arguments *arguments, const zf_session *session, const char *device, zf_error *error);
/// How `--programs` says that containers are opened.
zf_open_options zf_opening(const zf_arguments *arguments);
/// Opens a container as `--programs` says. Close it with zf_container_close.
zf_status zf_open_container(const zf_arguments *arguments, zf_context *context, const char *path, zf_container **out,
                            zf_error *error);
void zf_session_close(zf_session *session);

#endif
