// Which rows of which column a decode wants: its blocks, and the plan of every shape among them.
#ifndef ZF_RUNTIME_SELECTION_H
#define ZF_RUNTIME_SELECTION_H

#include "runtime/container/container_open.h"

typedef struct zf_selection {
    zf_container *container; ///< NULL: a block in memory
    uint64_t rows;           ///< of the column
    const zf_index_column *column;
    size_t column_number;
    unsigned bits;                    ///< of an element
    uint64_t begin, end;              ///< rows
    uint64_t first_block, last_block; ///< first .. last - 1
    bool checksums;
    const zf_abi_plan **plans;     ///< per shape; NULL where no block of the range has it
    zf_abi_provider *providers;    ///< per shape: which gave the plan
    double plan_seconds;           ///< that getting them took
    bool (*cancelled)(void *user); ///< the caller's; NULL: never
    void *cancelled_user;
} zf_selection;

/// Finds all that, with plans for a target: those of `provider`, or the context's for NULL. Free with zf_selection_free, also
/// after a failure.
zf_status zf_selection_make(zf_container *container, size_t column, const zf_decode_options *options, zf_abi_target target,
                            const zf_abi_provider *provider, zf_selection *out, zf_error *error);
void zf_selection_free(zf_selection *selection);

/// ZF_ERR_CANCELLED where the caller cancels the decode. Any thread.
zf_status zf_selection_go_on(const zf_selection *selection, zf_error *error);

/// "lines.zfd: column a, block 3": how errors name a block.
enum { ZF_WHERE_BYTES = 256 };
void zf_selection_where(const zf_selection *selection, uint64_t block, char where[ZF_WHERE_BYTES]);
/// Such a block, checked, whose bytes are at `stored`, or, with NULL, where the container has or reads them. What is wrong with
/// it is told with the line of the program, where it has one.
zf_status zf_selection_block(const zf_selection *selection, uint64_t block, const uint8_t *stored, zf_block_view *out,
                             zf_error *error);
/// What the text of the codecs is called there, or NULL.
const char *zf_selection_file(const zf_selection *selection);

#endif
