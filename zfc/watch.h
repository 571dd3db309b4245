// A container is mapped: when somebody cuts the file while it is read, the operating system sends a signal where a byte that is
// gone is touched. The libraries leave signals alone; zfc turns this one into the error that it is. What is half written when a
// signal ends zfc is cleaned up, too.
#ifndef ZF_DRIVER_WATCH_H
#define ZF_DRIVER_WATCH_H

#include <signal.h>

#include "zfc/output.h"
#include "zipflow/zipflow.h"

/// Once, before anything is read. `verb` stands in the message.
void zf_watch_start(const char *verb);
/// From now on a fault within this container's file, too, ends zfc with ZF1208 and the exit status 1. NULL: of none any more,
/// before they are closed and while nothing reads them.
void zf_watch_container(const zf_container *container);
/// Not of this one any more, which is about to be closed. Nobody reads it. NULL, or one that is not watched: nothing.
void zf_watch_no_more(const zf_container *container);
/// What an end by such a fault, by SIGINT, SIGTERM, SIGHUP, SIGQUIT or SIGPIPE must clean up: outputs that may have temporary
/// names, a directory that was made for them (it goes if it is empty), and files of no use to anybody else, which may not be
/// there yet. NULL: none.
void zf_watch_outputs(const zf_outputs *outputs);
void zf_watch_directory(const char *directory);
void zf_watch_files(const char *first, const char *second);
/// On the main thread: those signals, and threads that meet a fault, wait in between, since what they clean up is being
/// changed.
void zf_watch_pause(sigset_t *before);
void zf_watch_resume(const sigset_t *before);

#endif
