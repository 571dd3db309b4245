// What things of this language are called elsewhere: for hints, where no name is near.
#ifndef ZF_FRONTEND_FAMILIAR_H
#define ZF_FRONTEND_FAMILIAR_H

#include "runtime/base/arena.h"

typedef enum zf_familiar { ZF_FAMILIAR_TYPE, ZF_FAMILIAR_FUNCTION, ZF_FAMILIAR_MEMBER } zf_familiar;

/// A hint for a `name` that is not declared, in `arena` or static; NULL when it is known from nowhere.
const char *zf_familiar_hint(zf_arena *arena, zf_familiar kind, const char *name);

#endif
