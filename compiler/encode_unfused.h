// Which ordered stages of a column get kernels and seek states of their own where others would have them as steps.
#ifndef ZF_COMPILER_ENCODE_UNFUSED_H
#define ZF_COMPILER_ENCODE_UNFUSED_H

#include "frontend/spec/spec.h"
#include "runtime/base/text.h"
#include "zipflow/zipflow.h"

/// What zf_encode_options.unfused says of one column of a table, as zf_plan_options.unfused has it, into `out`; nothing where it
/// says nothing of that column.
void zf_unfused_of_column(const char *list, const zf_column *column, zf_text *out);
/// ZF_ERR_USAGE where it names a column that the table does not have, or a stream that no ordered stage of its codec makes: with
/// those that there are, as a hint.
zf_status zf_unfused_check(const char *list, const zf_table *table, zf_error *error);

#endif
