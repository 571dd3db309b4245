// Which global declarations a declaration uses, found in the syntax tree by the rules of scope.
#ifndef ZF_FRONTEND_REFERENCES_H
#define ZF_FRONTEND_REFERENCES_H

#include "frontend/spec/spec_internal.h"

/// One use: the identifier that begins at byte `at` of the declaration's source names `symbol`, a constant or a
/// function.
typedef struct zf_reference {
    zf_symbol *symbol;
    uint32_t at;
} zf_reference;

typedef struct zf_references {
    zf_reference *items; ///< by place in the text
    uint32_t count, capacity;
} zf_references;

/// All uses in a constant, function or algorithm.
zf_references zf_find_references(zf_spec *spec, const zf_symbol *symbol);

#endif
