// The rows that a decode wants: their blocks, and a plan for each shape among them.
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
    bool zones;                    ///< compare rows with the column's zones
    const zf_abi_plan **plans;     ///< per shape; NULL where no block of the range has it
    zf_abi_provider *providers;    ///< per shape: of its plan
    double plan_seconds;           ///< wall time of getting the plans
    bool (*cancelled)(void *user); ///< the caller's; NULL: never
    void *cancelled_user;
} zf_selection;

/// Selects rows of a column and gets plans for a device, from `provider` or, if NULL, from the context's providers.
///
/// Free with zf_selection_free, also after a failure.
zf_status zf_selection_make(zf_container *container, size_t column, const zf_decode_options *options, zf_abi_device device,
                            const zf_abi_provider *provider, zf_selection *out, zf_error *error);
void zf_selection_free(zf_selection *selection);

/// Returns ZF_ERR_CANCELLED if the caller cancelled the decode. Any thread.
zf_status zf_selection_go_on(const zf_selection *selection, zf_error *error);

/// Finds the wanted rows of a block of the range, *begin .. *end - 1, counted from its first one.
void zf_selection_rows(const zf_selection *selection, uint64_t block, uint64_t *begin, uint64_t *end);

enum { ZF_WHERE_BYTES = 256 };
/// Prints how errors name a block: "lines.zfd: column a, block 3".
void zf_selection_where(const zf_selection *selection, uint64_t block, char where[ZF_WHERE_BYTES]);
/// Checks a block and makes a view of it. Errors name the line of the program, where there is one.
///
/// `stored`: its bytes; NULL: the container's.
zf_status zf_selection_block(const zf_selection *selection, uint64_t block, const uint8_t *stored, zf_block_view *out,
                             zf_error *error);
/// Finds the zones of a block that lie within its rows begin..end: *first .. *last - 1. None where zones are not compared.
void zf_selection_zones(const zf_selection *selection, uint64_t block, uint64_t begin, uint64_t end, uint64_t *first,
                        uint64_t *last);
/// Compares zone `zone` of a block with what its rows hold. ZF1326 where they differ.
zf_status zf_selection_check_zone(const zf_selection *selection, uint64_t block, uint64_t zone, const zf_zone_found *found,
                                  zf_error *error);
/// Returns the name of the text of the codecs in errors, or NULL.
const char *zf_selection_file(const zf_selection *selection);

#endif
