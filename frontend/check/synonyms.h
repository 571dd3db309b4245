// Names that other languages use for things of this one, for hints about unknown names.
#ifndef ZF_FRONTEND_SYNONYMS_H
#define ZF_FRONTEND_SYNONYMS_H

#include "runtime/base/arena.h"

typedef enum zf_synonym_kind { ZF_SYNONYM_TYPE, ZF_SYNONYM_FUNCTION, ZF_SYNONYM_MEMBER } zf_synonym_kind;

/// Returns a hint for an undeclared `name`, static or in `arena`; NULL when no language uses it.
const char *zf_synonym_hint(zf_arena *arena, zf_synonym_kind kind, const char *name);

#endif
