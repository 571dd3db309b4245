// The options `--columns` and `--rows`.
#ifndef ZF_ZFC_COLUMN_OPTIONS_H
#define ZF_ZFC_COLUMN_OPTIONS_H

#include "zipflow/zipflow.h"

/// Room for a name of `--columns`: a full name (ZF_NAME_MOST), or that of a part of lists.
enum { ZF_NAME_ROOM = 4096 + 64 };

/// Reads the next name of the list `*list` into `name`, which has ZF_NAME_ROOM bytes, and sets `*list` to what follows its comma;
/// NULL at the end. Names with commas or quotes stand in double quotes, and a quote inside is doubled, as in CSV.
zf_status zf_next_name(const char **list, char *name, zf_error *error);

/// Finds the columns that `--columns` names (NULL: all columns), in its order; of lists their parts behind them. Returns `*count`
/// columns in memory that the caller frees, or NULL, and no columns, after filling `error`.
size_t *zf_selected_columns(zf_container *container, const char *names, size_t *count, zf_error *error);

/// Reads `--rows`: "A..B", either end open. Returns NULL, or a static text that says what is wrong.
const char *zf_rows_option(const char *text, zf_decode_options *out);

#endif
