// The printer of a syntax tree, shared by format.c and format_expr.c.
#ifndef ZF_FRONTEND_FORMAT_TREE_H
#define ZF_FRONTEND_FORMAT_TREE_H

#include "frontend/ast.h"
#include "frontend/format_layout.h"

typedef struct zf_printer {
    const zf_ast_unit *unit;
    zf_arena *arena; ///< of documents: goes when printing is done
    zf_layout layout;
    const zf_ast_comment *pending; ///< the first comment not printed yet; comments keep their order
    uint32_t last_end;             ///< where the thing printed last ends in the source
} zf_printer;

/// Every comment before `offset` that is still pending, or NULL.
zf_doc *zf_format_lead(zf_printer *printer, uint32_t offset);
/// The first pending comment, if it is before `offset` and stands behind code on its line, else NULL.
zf_doc *zf_format_trail(zf_printer *printer, uint32_t offset);

zf_doc *zf_format_type(zf_printer *printer, const zf_ast_type *type);
zf_doc *zf_format_expr(zf_printer *printer, const zf_ast_expr *expr);
zf_doc *zf_format_range(zf_printer *printer, const zf_ast_range *range);
/// `k in 0..n, j in 0..m`.
zf_doc *zf_format_binders(zf_printer *printer, const zf_ast_binder *binders);
zf_doc *zf_format_codec(zf_printer *printer, const zf_ast_codec *codec);
/// `[a, b, ...]`, as many in a line as fit.
zf_doc *zf_format_elements(zf_printer *printer, const zf_ast_expr *elements);
/// Appends ` = value` to a list, which stands at `indent`.
void zf_format_assigned(zf_printer *printer, zf_doc *list, unsigned indent, const zf_ast_expr *value);

#endif
