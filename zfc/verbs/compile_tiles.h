// zfc compile --device-functions: a header of CUDA C++ whose functions load tiles of a container's columns.
#ifndef ZF_ZFC_COMPILE_TILES_H
#define ZF_ZFC_COMPILE_TILES_H

#include "zfc/session.h"

/// Writes the header for the container of the operand to `path`. Returns the exit status, after printing errors or the report.
int zf_compile_tiles(const zf_session *session, const zf_arguments *arguments, const char *path);

#endif
