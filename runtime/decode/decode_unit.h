// Decoding (rows of) a column on an accelerator, whichever it is.
//
// The blocks of the range are grouped into *units*: blocks that share plan and code. A kernel is launched once a unit, so the
// number of launches does not depend on the number of blocks. Units that have memory of their own run side by side, on streams
// that fork from the caller's and join it again: none waits for the last tiles of another. What the host can check is checked
// while units are made; what kernels find lies in failure words, one a kernel and unit, read at the end.
//
// Making units is the host's work, and allocates. What is queued later on a stream neither allocates nor waits, as long as
// there is staging memory: all memory is the caller's.
#ifndef ZF_RUNTIME_DECODE_UNIT_H
#define ZF_RUNTIME_DECODE_UNIT_H

#include "runtime/base/passes.h"
#include "runtime/device/accelerator.h"

typedef struct zf_units zf_units;
typedef struct zf_units_column zf_units_column; ///< rows of a column, of whose blocks units can be made apart

/// Zeroes mean the defaults.
typedef struct zf_units_options {
    /// Stored bytes and work memory of a unit; 0: 1 GiB. A block that is larger is a unit of its own. Units that need no more
    /// together have memory of their own; others follow each other and share it.
    uint64_t unit_bytes;
    uint32_t unit_blocks; ///< most blocks of a unit; 0: ZF_SIMT_MOST_BLOCKS
    bool resident;        ///< each unit has memory of its own in any case: uploaded once, launched many times
    bool general;         ///< the general form of code, whatever the shaping values
    /// For measurements: the blocks of the range count this often (0: once), each time with bytes and work memory of their own,
    /// and with their values, offsets and validity `copy_stride` (a multiple of 256) behind those of the time before.
    uint32_t copies;
    uint64_t copy_stride;
    const zf_abi_provider *provider; ///< source of plans and code; NULL: the context's. It must outlive the units
} zf_units_options;

typedef struct zf_units_sizes {
    uint64_t values;   ///< device: the output, aligned to 256; of strings the bytes of all tiles that have rows wanted
    uint64_t skip;     ///< bytes of `values` before the first row wanted; booleans: bits. They keep blocks aligned to 256, or
                       ///< are rows of the first block, where blocks are stored whole
    uint64_t offsets;  ///< device, strings: rows + 1 of 8 bytes; the first says where the first row begins in `values`
    uint64_t validity; ///< device, nullable columns: a bit a row
    uint64_t validity_skip; ///< bits before the first row wanted
    uint64_t workspace;     ///< device: all else, aligned to 256
    uint64_t staging;       ///< host: what goes in, and the failure words that come out
    uint64_t head;          ///< parts: what lies before their blocks in the workspace, failure words and tables
    uint64_t stored;        ///< bytes of blocks among what goes in
} zf_units_sizes;

/// Memory for units, the caller's, of these sizes.
typedef struct zf_units_memory {
    uint64_t values, workspace; ///< addresses of the device
    uint64_t offsets, validity; ///< where the column has them
    uint64_t head;              ///< parts: where failure words and tables lie; 0: at the workspace's start
    void *staging;              ///< NULL: copies come from the file's pages, and may wait
} zf_units_memory;

/// Selects the rows and gets plans for their blocks, which are not read (of strings two are: where wanted rows begin and end).
/// Its units store into one output. The container must stay open as long as it is used. Options may be NULL.
ZF_PRIVATE_API zf_status zf_units_column_make(zf_container *container, size_t column, const zf_decode_options *options,
                                              const zf_units_options *unit_options, zf_accelerator *accelerator,
                                              zf_units_column **out, zf_error *error);
ZF_PRIVATE_API void zf_units_column_free(zf_units_column *column);
/// Of what comes out alone: workspace and staging are 0.
ZF_PRIVATE_API zf_units_sizes zf_units_column_sizes(const zf_units_column *column);
/// How many blocks have rows wanted.
ZF_PRIVATE_API uint64_t zf_units_column_blocks(const zf_units_column *column);

/// What units of some blocks of a column need at most.
typedef struct zf_units_bounds {
    uint64_t workspace, head; ///< as in zf_units_sizes
    uint64_t words;
} zf_units_bounds;
/// Of block `block`, the first wanted being 0; those of several blocks are at most their sums. ZF1404 where they are too large.
ZF_PRIVATE_API zf_status zf_units_block_bounds(const zf_units_column *column, uint64_t block, zf_units_bounds *out,
                                               zf_error *error);
/// Units of blocks first..last of those, a *part*, to be freed by zf_units_free, also where one of the next two fails. The column
/// must outlive it.
ZF_PRIVATE_API zf_status zf_units_part_begin(zf_units_column *column, uint64_t first, uint64_t last, zf_units **out,
                                             zf_error *error);
/// Checks a block of a part, the first being 0: each must be, once, and they must follow each other in the file. Several threads
/// may check different ones, of one part and of others. `stored`, where not NULL, is where the bytes of the part's first block
/// are, and behind them those of the others as in the file: memory that must live as long as the part may be uploaded.
ZF_PRIVATE_API zf_status zf_units_part_check(zf_units *units, uint64_t index, const uint8_t *stored, zf_error *error);
/// Arranges a part, when its blocks are checked.
ZF_PRIVATE_API zf_status zf_units_part_end(zf_units *units, zf_error *error);

/// Of a part: writes its failure words, as they are at first, and its tables, `sizes.head` bytes. They go to the workspace's
/// start, and need not be followed by zf_units_start then.
ZF_PRIVATE_API void zf_units_write_head(const zf_units *units, uint8_t *to);
/// Before a part is launched once more: what it did and took is counted anew.
ZF_PRIVATE_API void zf_units_restart(zf_units *units);
/// Queues the copy of a part's blocks from where they are, behind each other as in the file: so they lie on the device too, right
/// behind the head. Where the head was written right before the first one, one copy of `sizes.head + sizes.stored` bytes brings
/// both.
ZF_PRIVATE_API zf_status zf_units_upload_blocks(const zf_units *units, void *stream, const zf_units_memory *memory,
                                                zf_error *error);

/// All of that at once: selects the rows, checks every block on the host, gets its code and loads it. The container must stay
/// open as long as the units are used. `options` and `unit_options` may be NULL.
ZF_PRIVATE_API zf_status zf_units_make(zf_container *container, size_t column, const zf_decode_options *options,
                                       const zf_units_options *unit_options, zf_accelerator *accelerator, zf_units **out,
                                       zf_error *error);
/// The same for rows begin..end of one block in memory, with code that is at hand: what compares code with other code uses it.
/// The block is a column of its own, so its first_row must be 0. It, its shape and the code must live as long as the units.
ZF_PRIVATE_API zf_status zf_units_make_block(const zf_block_view *view, const zf_abi_plan *plan, const zf_abi_code *code,
                                             uint64_t begin, uint64_t end, zf_accelerator *accelerator, zf_units **out,
                                             zf_error *error);
ZF_PRIVATE_API void zf_units_free(zf_units *units);
/// Has the device unload the code of units that are about to be freed and are done, where it can. No others may have that code.
ZF_PRIVATE_API void zf_units_unload(zf_units *units);

ZF_PRIVATE_API zf_units_sizes zf_units_sizes_of(const zf_units *units);
ZF_PRIVATE_API uint32_t zf_units_count(const zf_units *units);
/// Launches are counted as they are queued.
ZF_PRIVATE_API zf_decode_stats zf_units_stats(const zf_units *units);

/// Queue, in this order: the start (resets the failure words); the bytes and tables of all units; their kernels; the end (copies
/// the failure words to the staging memory, or to `words`, zf_units_words of them). Start and launches may be repeated. Only with
/// `resident`: other units may share their memory.
ZF_PRIVATE_API zf_status zf_units_start(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error);
ZF_PRIVATE_API zf_status zf_units_upload(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error);
ZF_PRIVATE_API zf_status zf_units_launch(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error);
/// One kernel of each unit that has so many, the first being 0: for measurements. Kernels before it must have run.
ZF_PRIVATE_API zf_status zf_units_launch_kernel(zf_units *units, uint32_t kernel, void *stream, const zf_units_memory *memory,
                                                zf_error *error);
ZF_PRIVATE_API zf_status zf_units_end(zf_units *units, void *stream, const zf_units_memory *memory, uint64_t *words,
                                      zf_error *error);
ZF_PRIVATE_API uint32_t zf_units_words(const zf_units *units);
/// All of it, once, each unit's kernels behind its bytes. After a failure `stream` still waits for all that was queued.
ZF_PRIVATE_API zf_status zf_units_enqueue(zf_units *units, void *stream, const zf_units_memory *memory, uint64_t *words,
                                          zf_error *error);

/// What the failure words say, once the stream was waited for: the first failure of the first block that has one.
ZF_PRIVATE_API zf_status zf_units_status(const zf_units *units, const uint64_t *words, zf_error *error);

// ---- Rows for the host (decode_fetch.c) ----

/// Allocates what the units need on the device, but for `staging`. What there is must be released, also after a failure.
ZF_PRIVATE_API zf_status zf_units_allocate(const zf_units *units, zf_units_memory *memory, zf_error *error);
ZF_PRIVATE_API void zf_units_release(zf_accelerator *accelerator, zf_units_memory *memory);
/// Whether the buffers that the next two fill are there and aligned, as for a decode on the CPU, which has a workspace besides.
ZF_PRIVATE_API zf_status zf_units_column_check(const zf_units_column *column, const zf_decode_buffers *to, zf_error *error);
/// Copies the rows wanted, which were decoded without a failure, to buffers as zf_decode fills them; waits for `stream`. With
/// `copies`, those of the first.
ZF_PRIVATE_API zf_status zf_units_column_fetch(const zf_units_column *column, void *stream, const zf_units_memory *memory,
                                               const zf_decode_buffers *to, zf_error *error);
ZF_PRIVATE_API zf_status zf_units_fetch(const zf_units *units, void *stream, const zf_units_memory *memory,
                                        const zf_decode_buffers *to, zf_error *error);
/// The same of copy `copy`, of 0 to copies - 1.
ZF_PRIVATE_API zf_status zf_units_fetch_copy(const zf_units *units, uint32_t copy, void *stream, const zf_units_memory *memory,
                                             const zf_decode_buffers *to, zf_error *error);

/// Where the time of a copy or a launch is noted if it is the device's first, which `done`, one of its accelerator's, says from
/// then on. NULL: nowhere.
zf_passes *zf_units_first(const zf_units *units, atomic_bool *done);

#endif
