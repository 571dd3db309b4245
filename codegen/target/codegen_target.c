// The table of targets: how code is made for each row of patterns/plan/targets.def.
#include "codegen/target/codegen_target.h"

const zf_cg_target *zf_cg_target_of(const zf_target *target) {
    static const zf_cg_target *const table[] = {
#define TARGET(identifier, ...) &zf_cg_target_##identifier,
#include "patterns/plan/targets.def"
#undef TARGET
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        if (table[k]->is == target) return table[k];
    }
    return NULL;
}

void zf_cg_aim(zf_cg *cg, const zf_target *target) {
    cg->target = zf_cg_target_of(target);
    cg->wave = target->wave;
    cg->aligned_loads = cg->target->aligned_loads;
}
