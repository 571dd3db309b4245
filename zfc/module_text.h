// The content of a module as text: `zfc inspect FILE.zfm`.
#ifndef ZF_ZFC_MODULE_TEXT_H
#define ZF_ZFC_MODULE_TEXT_H

#include "zfc/report.h"

/// Returns whether a file begins as a module (a container). False also where it cannot be read: opening it reports why.
bool zf_is_module(const char *path);
bool zf_is_container(const char *path);

/// Prints a module in the form of the options `json` and `verbose`.
zf_status zf_show_module(const char *path, const zf_arguments *arguments, zf_error *error);

#endif
