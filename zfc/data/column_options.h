// The options `--columns` and `--rows`.
#ifndef ZF_ZFC_COLUMN_OPTIONS_H
#define ZF_ZFC_COLUMN_OPTIONS_H

#include "zipflow/zipflow.h"

/// Finds the columns that `--columns` names (NULL: all columns), in its order; of lists their parts behind them. Returns `*count`
/// columns in memory that the caller frees, or NULL, and no columns, after filling `error`.
size_t *zf_selected_columns(zf_container *container, const char *names, size_t *count, zf_error *error);

/// Reads `--rows`: "A..B", either end open. Returns NULL, or a static text that says what is wrong.
const char *zf_rows_option(const char *text, zf_decode_options *out);

#endif
