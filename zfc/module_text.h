// What a module holds, for people: `zfc inspect FILE.zfm`.
#ifndef ZF_DRIVER_MODULE_TEXT_H
#define ZF_DRIVER_MODULE_TEXT_H

#include "zfc/report.h"

/// Whether a file begins as modules (containers) do. False also where it cannot be read: whoever opens it tells why.
bool zf_is_module(const char *path);
bool zf_is_container(const char *path);

/// Prints it as the options `json` and `verbose` want.
zf_status zf_show_module(const char *path, const zf_arguments *arguments, zf_error *error);

#endif
