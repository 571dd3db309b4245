// A container is mapped: when somebody cuts the file while it is read, the operating system sends a signal where a byte that is
// gone is touched. The libraries leave signals alone; zfc turns this one into the error that it is.
#ifndef ZF_DRIVER_WATCH_H
#define ZF_DRIVER_WATCH_H

#include "frontend/driver/output.h"
#include "zipflow/zipflow.h"

/// Once, before anything is read. `verb` stands in the message.
void zf_watch_start(const char *verb);
/// From now on a fault within this container's file ends zfc with ZF1208 and the exit status 1. NULL: before it is closed.
void zf_watch_container(const zf_container *container);
/// What such an end must clean up: outputs that may have temporary names, and a directory that was made for them. NULL: none.
void zf_watch_outputs(const zf_outputs *outputs);
/// The directory goes, while it is empty, also when SIGINT, SIGTERM or SIGHUP ends zfc.
void zf_watch_directory(const char *directory);

#endif
