// Finds an algorithm of a checked spec by its name.
#ifndef ZF_TESTS_FIND_ALGORITHM_H
#define ZF_TESTS_FIND_ALGORITHM_H

#include <string.h>

#include "frontend/spec/spec_internal.h"

/// A user's own hides std's. NULL: there is none.
static inline const zf_algorithm *find_algorithm(const zf_spec *spec, const char *name) {
    zf_name interned = zf_interned_name(spec, name, strlen(name));
    if (interned == NULL) return NULL;
    const zf_algorithm *found = NULL;
    for (size_t k = 0; k < spec->algorithm_count; k++) {
        if (spec->algorithms[k]->name == interned && (found == NULL || found->module->is_std)) found = spec->algorithms[k];
    }
    return found;
}

#endif
