// Programs as the command line names them: FILE.zf, FILE.zf:TABLE, FILE.zf:TABLE.COLUMN, FILE.zf:CODEC.
#ifndef ZF_ZFC_PROGRAM_OPERAND_H
#define ZF_ZFC_PROGRAM_OPERAND_H

#include "compiler/program.h"
#include "frontend/spec/spec.h"
#include "zfc/data/files_read.h"
#include "zfc/report.h"

/// A file's path, and the name behind its last colon.
typedef struct zf_program_name {
    char path[4096];
    const char *name; ///< NULL: none
} zf_program_name;

/// Splits an operand. ZF_ERR_USAGE where the path is empty or too long.
zf_status zf_program_name_split(const char *text, zf_program_name *out, zf_error *error);
/// Splits an operand. ZF_ERR_USAGE where the path is empty or too long, or the file is a container or a module.
zf_status zf_program_name_check(const char *verb, const char *text, zf_program_name *out, zf_error *error);
/// The same, but prints the error and returns false.
bool zf_program_name_read(const char *verb, const char *text, zf_program_name *out);

/// Prints the begin of the message that the program in file `path` has no such table or codec.
void zf_report_no_such(const char *verb, const char *path);
/// Finds a table of the program in file `path`. Returns NULL after printing an error with the nearest name.
const zf_table *zf_find_table_or_report(const char *verb, zf_spec *spec, const char *path, const char *name);

/// Loads a program and finds its table. Returns NULL, and sets `*status` to that of the process, after printing what is wrong.
/// The caller frees `*program` in any case.
const zf_table *zf_load_table_or_report(const char *verb, zf_compiler *compiler, const zf_program_name *name,
                                        zf_program **program, int *status);

/// Checks that the output `path` is neither a file of the program nor one of `inputs` (may be NULL): ZF2014.
zf_status zf_guard_output(const zf_spec *spec, const zf_files_read *inputs, const char *path, zf_error *error);

/// Prints the hint to name a codec instead of an algorithm. False: `name` is no algorithm.
bool zf_report_algorithm(const zf_spec *spec, const char *name);

/// Prints up to 32 names, each on a line, to standard error.
void zf_print_names(const char *const *names, size_t count);
/// Prints the name that may have been meant, if one is near, and up to 32 of the existing names, to standard error.
void zf_report_names(const char *name, const char *const *names, size_t count);

#endif
