// Delimited text, cut into fields: CSV as in RFC 4180, with any delimiter, and lines that end in LF or CRLF.
#ifndef ZF_ZFC_DELIMITED_SCAN_H
#define ZF_ZFC_DELIMITED_SCAN_H

#include <stdio.h>

#include "zfc/data/input_memory.h"

/// A field, valid until the next one is read.
typedef struct zf_field {
    const char *text; ///< without its quotes
    size_t length;
    bool quoted;
    bool ends_row;
    uint64_t line; ///< from 1: where it begins
} zf_field;

typedef enum zf_delimited_result {
    ZF_DELIMITED_FIELD,
    ZF_DELIMITED_END,
    ZF_DELIMITED_BAD,    ///< no delimited text; `message` and `line` say why and where
    ZF_DELIMITED_FAILED, ///< memory or the file; the error is filled
} zf_delimited_result;

/// The text of a file. Fill `file`, `path`, `delimiter` and `memory`, call zf_delimited_start, and free with zf_delimited_free.
typedef struct zf_delimited_scan {
    FILE *file;
    const char *path;
    char delimiter;
    zf_input_memory *memory;
    bool lenient; ///< quotes that do not enclose a field are characters: for rows that are skipped

    char *buffer;
    size_t begin, end, capacity; ///< bytes of `buffer` that are read and not yet taken
    size_t seen;                 ///< of them, those in which the field at `begin` was already found not to end
    bool at_end;                 ///< of the file
    bool in_row;                 ///< the last field did not end its row
    uint64_t line, total;        ///< lines from 1; bytes read
    uint64_t bad_line;           ///< of ZF_DELIMITED_BAD
    char message[128];
    bool stops[256]; ///< characters that end a field without quotes
} zf_delimited_scan;

/// Reads the first bytes, which are at `buffer + begin`.
zf_status zf_delimited_start(zf_delimited_scan *scan, zf_error *error);
/// Takes the next field.
zf_delimited_result zf_delimited_next(zf_delimited_scan *scan, zf_field *out, zf_error *error);
void zf_delimited_free(zf_delimited_scan *scan);

#endif
