// What things of this language are called elsewhere: for hints, where no name is near.
#ifndef ZF_FRONTEND_SYNONYMS_H
#define ZF_FRONTEND_SYNONYMS_H

#include "runtime/base/arena.h"

typedef enum zf_synonym_kind { ZF_SYNONYM_TYPE, ZF_SYNONYM_FUNCTION, ZF_SYNONYM_MEMBER } zf_synonym_kind;

/// A hint for a `name` that is not declared, in `arena` or static; NULL when it is known from nowhere.
const char *zf_synonym_hint(zf_arena *arena, zf_synonym_kind kind, const char *name);

#endif
