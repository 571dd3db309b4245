// Headers of CUDA C++ whose functions load tiles of compressed columns, for kernels of others: `zfc compile --device-functions`.
#ifndef ZF_COMPILER_TILE_HEADER_H
#define ZF_COMPILER_TILE_HEADER_H

#include "runtime/base/private.h"
#include "runtime/base/text.h"
#include "zipflow/compile.h"

typedef struct zf_tile_header_options {
    const size_t *columns; ///< numbers of the columns that must be in the header; NULL: all columns whose tiles can be loaded
    size_t column_count;
    void (*note)(void *user, const char *line); ///< gets a line for each column that is left out; NULL: nobody
    void *note_user;
} zf_tile_header_options;

typedef struct zf_tile_header_stats {
    size_t columns, general; ///< in the header; those whose blocks have different params
} zf_tile_header_stats;

/// Appends the header for the columns of a container. Reads the index and the headers of all blocks.
///
/// Errors: ZF_ERR_UNSUPPORTED for a column of `options->columns` whose tiles cannot be loaded (ZF1414 or the diagnostic, with the
/// reason and what to do), and if no column is left; those of zf_decode for the container. Any thread.
ZF_PRIVATE_API zf_status zf_tile_header(zf_compiler *compiler, zf_container *container, const zf_tile_header_options *options,
                                        zf_text *out, zf_tile_header_stats *stats, zf_error *error);

#endif
