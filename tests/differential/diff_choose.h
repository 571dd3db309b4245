// Choices for the kernels of a plan, one legal combination after the other, so that all values of a form come by where it has
// enough kernels.
#ifndef ZF_TESTS_DIFF_CHOOSE_H
#define ZF_TESTS_DIFF_CHOOSE_H

#include "codegen/simt/simt_choices.h"

typedef struct diff_choosing diff_choosing;

/// Others for each `seed`. Release with free.
diff_choosing *diff_choosing_make(uint64_t seed);
/// Chooses for every kernel of a plan made with none. REGISTERS are left: what they change only an assembler sees.
void diff_choose(diff_choosing *choosing, const zf_plan *plan, zf_choices *out);
/// Chooses WARPS for the kernels of a plan that may have as many, nothing else.
void diff_choose_warps(const zf_plan *plan, uint32_t warps, zf_choices *out);
/// Lists the choices of forms that have several values, and how often each was chosen.
void diff_choosing_list(const diff_choosing *choosing, zf_text *out);

#endif
