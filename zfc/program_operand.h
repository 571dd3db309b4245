// Programs as the command line names them: FILE.zf, FILE.zf:TABLE, FILE.zf:TABLE.COLUMN, FILE.zf:CODEC.
#ifndef ZF_DRIVER_PROGRAM_H
#define ZF_DRIVER_PROGRAM_H

#include "frontend/spec/spec.h"
#include "zfc/data/files_read.h"
#include "zfc/report.h"

/// A file's path and what is named behind its last colon; `name` NULL when nothing is.
typedef struct zf_program_name {
    char path[4096];
    const char *name;
} zf_program_name;

/// False after printing what is wrong.
bool zf_program_name_read(const char *verb, const char *text, zf_program_name *out);

/// Begins the message that the program in file `path` has no such table or codec.
void zf_report_no_such(const char *verb, const char *path);
/// Finds a table of the program in file `path`, with a hint of the nearest name. NULL after printing.
const zf_table *zf_find_table_or_report(const char *verb, const zf_spec *spec, const char *path, const char *name);

/// ZF2014 where `path`, which is to be written, is a file of the program or one of `inputs` (may be NULL).
zf_status zf_guard_output(const zf_spec *spec, const zf_files_read *inputs, const char *path, zf_error *error);

/// To standard error: the name that may have been meant, when one is near, and those that there are (32 at most).
void zf_report_names(const char *name, const char *const *names, size_t count);

#endif
