// Signals. A container is mapped: when another process truncates the file, reading a lost byte raises SIGBUS. The libraries leave
// signals alone; zfc turns this one into error ZF1208. Signals that end zfc also remove half-written files.
#ifndef ZF_ZFC_WATCH_H
#define ZF_ZFC_WATCH_H

#include <signal.h>

#include "zfc/output.h"
#include "zipflow/zipflow.h"

/// Starts watching. Call it once, before anything is read. `verb` is part of the message.
void zf_watch_start(const char *verb);
/// Adds a container: a fault within its file ends zfc with ZF1208 and exit status 1. NULL removes all containers; call it before
/// they are closed, while no thread reads them.
void zf_watch_container(const zf_container *container);
/// Sets what a fault, SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE remove: temporary names of outputs, a directory (if it is
/// empty), and two files, which may not exist yet. NULL: none.
void zf_watch_outputs(const zf_outputs *outputs);
void zf_watch_directory(const char *directory);
void zf_watch_files(const char *first, const char *second);
/// Blocks those signals, and threads that meet a fault, while the main thread changes what they would remove.
void zf_watch_pause(sigset_t *before);
void zf_watch_resume(const sigset_t *before);

#endif
