// The printer of a syntax tree, shared by format.c and format_expr.c.
#ifndef ZF_FRONTEND_FORMAT_TREE_H
#define ZF_FRONTEND_FORMAT_TREE_H

#include "frontend/syntax/ast.h"
#include "frontend/syntax/format_layout.h"

typedef struct zf_printer {
    const zf_ast_unit *unit;
    zf_arena *arena; ///< of documents: goes when printing is done
    zf_layout layout;
    const zf_ast_comment *pending; ///< the first comment not printed yet; comments keep their order
    uint32_t last_end;             ///< where the thing printed last ends in the source
} zf_printer;

// Makers of documents for both files.
static inline zf_doc *text(zf_printer *printer, const char *string) { return zf_doc_text(printer->arena, string); }
static inline zf_doc *list_of(zf_printer *printer) { return zf_doc_new(printer->arena, ZF_DOC_LIST); }
static inline zf_doc *line(zf_printer *printer) { return zf_doc_new(printer->arena, ZF_DOC_LINE); }
static inline zf_doc *soft(zf_printer *printer) { return zf_doc_new(printer->arena, ZF_DOC_SOFT); }
static inline zf_doc *nest(zf_printer *printer, zf_doc *child) { return zf_doc_nest(printer->arena, ZF_FORMAT_INDENT, child); }
static inline zf_doc *group(zf_printer *printer, zf_doc *child) { return zf_doc_group(printer->arena, child); }

/// Every comment before `offset` that is still pending, or NULL.
zf_doc *zf_format_lead(zf_printer *printer, uint32_t offset);
/// The first pending comment, if it is before `offset` and stands behind code on its line, else NULL.
zf_doc *zf_format_trail(zf_printer *printer, uint32_t offset);

/// A text in its quotes, with escapes.
zf_doc *zf_format_text(zf_printer *printer, const char *string);
zf_doc *zf_format_type(zf_printer *printer, const zf_ast_type *type);
zf_doc *zf_format_expr(zf_printer *printer, const zf_ast_expr *expr);
zf_doc *zf_format_range(zf_printer *printer, const zf_ast_range *range);
/// `k in 0..n, j in 0..m`.
zf_doc *zf_format_binders(zf_printer *printer, const zf_ast_binder *binders);
zf_doc *zf_format_codec(zf_printer *printer, const zf_ast_codec *codec);
/// A column's codec, and the parts of a column of lists behind it.
zf_doc *zf_format_parts(zf_printer *printer, const zf_ast_codec *codec, const zf_ast_codec_arg *parts);
/// `[a, b, ...]`, as many in a line as fit.
zf_doc *zf_format_elements(zf_printer *printer, const zf_ast_expr *elements);
/// Appends ` = value` to a list, which stands at `indent`.
void zf_format_assigned(zf_printer *printer, zf_doc *list, unsigned indent, const zf_ast_expr *value);

#endif
