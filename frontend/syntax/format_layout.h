// Layout of code: documents that say where a line may break, and the printer that decides. Not for other files than format*.c.
//
// A group is printed on one line when it fits, else every line break that belongs to it directly is taken; groups within decide
// for themselves. A comment ends its line, so a group with a comment inside never fits on one.
#ifndef ZF_FRONTEND_FORMAT_LAYOUT_H
#define ZF_FRONTEND_FORMAT_LAYOUT_H

#include <stdbool.h>

#include "runtime/base/arena.h"
#include "runtime/base/text.h"

enum { ZF_FORMAT_COLUMNS = 120, ZF_FORMAT_INDENT = 4 };

typedef enum zf_doc_kind {
    ZF_DOC_TEXT,
    ZF_DOC_LINE,    ///< a space, or the end of a line
    ZF_DOC_SOFT,    ///< nothing, or the end of a line
    ZF_DOC_COMMENT, ///< at the end of a line, or on one of its own
    ZF_DOC_NEST,    ///< line breaks inside are indented more
    ZF_DOC_GROUP,
    ZF_DOC_LIST, ///< one after the other
} zf_doc_kind;

typedef struct zf_doc {
    zf_doc_kind kind;
    const char *text; ///< TEXT, COMMENT
    size_t length;
    bool own_line;        ///< COMMENT
    unsigned indent;      ///< NEST: columns more
    struct zf_doc *child; ///< NEST, GROUP, LIST: the first
    struct zf_doc *last;  ///< LIST
    struct zf_doc *next;  ///< in a list
} zf_doc;

zf_doc *zf_doc_text(zf_arena *arena, const char *text);
zf_doc *zf_doc_bytes(zf_arena *arena, const char *text, size_t length);
zf_doc *zf_doc_new(zf_arena *arena, zf_doc_kind kind); ///< LINE, SOFT, LIST
zf_doc *zf_doc_nest(zf_arena *arena, unsigned indent, zf_doc *child);
zf_doc *zf_doc_group(zf_arena *arena, zf_doc *child);
zf_doc *zf_doc_comment(zf_arena *arena, const char *text, size_t length, bool own_line);
/// Appends to a LIST. A node belongs to one list only. NULL is left out.
void zf_doc_add(zf_doc *list, zf_doc *item);

/// Columns of a document on one line; more than ZF_FORMAT_COLUMNS when it has a comment.
unsigned zf_doc_width(const zf_doc *doc);

/// Where output stands. Lines are indented when their first text comes, so an empty line has no spaces.
typedef struct zf_layout {
    zf_arena *arena;
    zf_text *out;
    unsigned column;
    bool line_ended; ///< by a comment: whatever comes next starts a line
    bool empty;      ///< nothing was printed yet
    struct zf_line_comment *comments, **last_comment;
    unsigned line; ///< lines ended so far
} zf_layout;

void zf_layout_begin(zf_layout *layout, zf_arena *arena, zf_text *out);
/// Prints a document at an indentation, from where the line stands.
void zf_layout_print(zf_layout *layout, unsigned indent, zf_doc *doc);
/// Ends the line, unless nothing is on it.
void zf_layout_end_line(zf_layout *layout);
/// Leaves one line empty, but not at the start.
void zf_layout_blank(zf_layout *layout);
/// Copies what was printed to `out`, comments at the ends of neighbouring lines aligned.
void zf_layout_finish(zf_layout *layout, zf_text *out);

#endif
