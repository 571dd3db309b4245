// Recognises regions (`emit k in a..b: e`) that are copies. By their form, whatever the algorithm is called.
#ifndef ZF_CODEGEN_KERNEL_REGION_H
#define ZF_CODEGEN_KERNEL_REGION_H

#include "frontend/spec/spec.h"

typedef enum zf_region_kind {
    ZF_REGION_TERM,   ///< any expression
    ZF_REGION_STREAM, ///< elements of a stream that follow each other: `stream[from + k]`
    ZF_REGION_BACK,   ///< elements of the chunk's own output that follow each other, a distance before the new ones
} zf_region_kind;

/// The form of a region over one binder.
typedef struct zf_region_form {
    zf_region_kind kind;
    const zf_port *port;     ///< STREAM
    const zf_expr *from;     ///< STREAM: the index where k is 0; NULL: 0
    const zf_expr *distance; ///< BACK: `out[out.pos - distance + k]`, or with `k % distance`
    bool repeats;            ///< BACK: by `k % distance`, so that it may reach its own elements
} zf_region_form;

zf_region_form zf_region_form_of(const zf_reduce *region);

/// Whether an expression names the local, or one that stands for it.
bool zf_region_uses(const zf_expr *expr, const zf_local *local);

#endif
