// Source text and places in it. A place is a span of byte offsets; lines and columns are computed only when one is shown.
#ifndef ZF_FRONTEND_SOURCE_H
#define ZF_FRONTEND_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/text.h"

/// The line of a byte of a text: its number, and its first byte.
typedef struct zf_line_mark {
    uint32_t line, begin;
} zf_line_mark;

enum { ZF_LINE_MARK_STEP = 4096 };

typedef struct zf_source {
    const char *path;          ///< as shown in diagnostics
    bool in_file;              ///< the path is of a file that holds this text and nothing else
    const char *text;          ///< `length` bytes and a 0
    size_t length;             ///< at most ZF_SOURCE_LIMIT
    uint32_t id;               ///< index in the compilation's list of sources
    const zf_line_mark *marks; ///< one for every ZF_LINE_MARK_STEP bytes, the first at 0; NULL: places are found from the start
} zf_source;

enum { ZF_SOURCE_LIMIT = 16 << 20 };

/// Bytes begin..end of a source. `source` is NULL in nodes that the compiler made up.
typedef struct zf_span {
    const zf_source *source;
    uint32_t begin, end;
} zf_span;

typedef struct zf_position {
    uint32_t line, column; ///< both from 1; the column counts bytes
} zf_position;

zf_position zf_source_position(const zf_source *source, uint32_t offset);

/// How many marks a text of this length has; filling them, in one pass.
size_t zf_line_mark_count(size_t length);
void zf_line_marks_fill(const zf_source *source, zf_line_mark *marks);

#endif
