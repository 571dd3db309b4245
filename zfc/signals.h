// Signals that end zfc remove half-written files first. The libraries leave signals alone.
#ifndef ZF_ZFC_SIGNALS_H
#define ZF_ZFC_SIGNALS_H

#include <signal.h>

#include "zfc/output.h"
#include "zipflow/zipflow.h"

/// Starts handling signals. Call it once, on the main thread, before anything is written.
void zf_signals_start(void);
/// Sets what SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE remove: temporary names of outputs, a directory (if it is
/// empty), and two files, which may not exist yet. NULL: none.
void zf_signals_remove_outputs(const zf_outputs *outputs);
void zf_signals_remove_directory(const char *directory);
void zf_signals_remove_files(const char *first, const char *second);
/// Blocks those signals while the main thread changes what they would remove.
void zf_signals_pause(sigset_t *before);
void zf_signals_resume(const sigset_t *before);

#endif
