// The table of targets, from targets.def.
#include "patterns/plan/plan_target.h"

#include <string.h>

#define TARGET(identifier, ...) const zf_target zf_target_##identifier = {__VA_ARGS__};
#include "patterns/plan/targets.def"
#undef TARGET

static const zf_target *const table[] = {
#define TARGET(identifier, ...) &zf_target_##identifier,
#include "patterns/plan/targets.def"
#undef TARGET
};
enum { COUNT = sizeof table / sizeof *table };

const zf_target *const *zf_targets(size_t *count) {
    *count = COUNT;
    return table;
}

const zf_target *zf_target_find(const char *name) {
    for (size_t k = 0; k < COUNT; k++) {
        if (strcmp(table[k]->name, name) == 0) return table[k];
    }
    return NULL;
}

const zf_target *zf_target_of_image(zf_abi_image_kind image) {
    for (size_t k = 0; k < COUNT; k++) {
        if (table[k]->image == image) return table[k];
    }
    return NULL;
}

const zf_target *zf_target_for(zf_abi_target device) {
    const zf_target *first = NULL;
    for (size_t k = 0; k < COUNT; k++) {
        if (table[k]->family != device.family) continue;
        if (table[k]->arch == device.arch) return table[k];
        if (first == NULL) first = table[k];
    }
    return first;
}
