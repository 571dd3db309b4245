// The forms of a plan's kernels on GPUs, for `zfc explain` and `zfc check`.
#ifndef ZF_ZFC_KERNEL_FORMS_H
#define ZF_ZFC_KERNEL_FORMS_H

#include "patterns/plan/explain.h"

/// Returns the form of each kernel, in the plan's arena; NULL for a plan of the host.
const zf_explain_form *zf_kernel_forms(const zf_plan *plan);

#endif
