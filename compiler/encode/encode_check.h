// The arguments of functions that encode.
#ifndef ZF_COMPILER_ENCODE_CHECK_H
#define ZF_COMPILER_ENCODE_CHECK_H

#include "frontend/spec/spec.h"
#include "zipflow/compile.h"

/// Fills `error` with a wrong argument (ZF1101). `format` has one %s, for `name`.
zf_status zf_encode_usage(zf_error *error, const char *format, const char *name);
zf_status zf_encode_check_options(const zf_encode_options *options, zf_error *error);
/// Checks `rows` rows of a column: that it has the arrays of its type, that offsets do not decrease, and that booleans are 0
/// or 1; of a column of lists also those of its values that the rows have. `before`: rows of the column before these, for
/// messages.
zf_status zf_encode_check_data(const zf_column *column, const zf_encode_column *data, uint64_t before, uint64_t rows,
                               zf_error *error);

#endif
