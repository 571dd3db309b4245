// Decoding rows of a column on an accelerator.
//
// Blocks of the range that share plan and code form a *unit*. A kernel is launched once per unit, so the number of launches does
// not depend on the number of blocks. Units with memory of their own run concurrently, on streams that fork from the caller's and
// join it. The host checks blocks while units are made. Kernels report violations in failure words, one per kernel and unit.
//
// Making units allocates and runs on the host. Work that is enqueued later neither allocates nor blocks if there is staging
// memory: all memory is the caller's.
#ifndef ZF_RUNTIME_DECODE_UNIT_H
#define ZF_RUNTIME_DECODE_UNIT_H

#include "runtime/base/passes.h"
#include "runtime/device/accelerator.h"

typedef struct zf_units zf_units;
typedef struct zf_units_column zf_units_column; ///< rows of a column, whose units can be made in parts

/// Zeroes mean the defaults.
typedef struct zf_units_options {
    /// Most stored bytes and workspace of a unit; 0: 1 GiB. A larger block is a unit of its own. Units that together need no
    /// more have memory of their own; others follow each other and share it.
    uint64_t unit_bytes;
    uint32_t unit_blocks; ///< most blocks of a unit; 0: ZF_SIMT_MOST_BLOCKS
    bool resident;        ///< units always have memory of their own: uploaded once, launched many times
    bool general;         ///< use the general form of code
    /// For measurements: copies of the blocks (0: 1), each with bytes and workspace of its own. Values, offsets and validity of
    /// a copy lie `copy_stride` bytes (a multiple of 256) behind those of the copy before.
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
    uint64_t staging;       ///< host: bytes to upload, and the failure words that come back
    uint64_t head;          ///< parts: failure words and tables, before the blocks in the workspace
    uint64_t stored;        ///< bytes of blocks to upload
} zf_units_sizes;

/// The caller's memory for units, of these sizes.
typedef struct zf_units_memory {
    uint64_t values, workspace; ///< addresses of the device
    uint64_t offsets, validity; ///< where the column has them
    uint64_t head;              ///< parts: where failure words and tables lie; 0: at the workspace's start
    void *staging;              ///< NULL: copies read the file's pages, and may block
} zf_units_memory;

/// Selects rows of a column and gets plans for their blocks, without reading them (of strings: the first and the last one).
///
/// All its units store into one output. The container must outlive it. Options may be NULL.
ZF_PRIVATE_API zf_status zf_units_column_make(zf_container *container, size_t column, const zf_decode_options *options,
                                              const zf_units_options *unit_options, zf_accelerator *accelerator,
                                              zf_units_column **out, zf_error *error);
ZF_PRIVATE_API void zf_units_column_free(zf_units_column *column);
/// Returns the sizes of the output; workspace and staging are 0.
ZF_PRIVATE_API zf_units_sizes zf_units_column_sizes(const zf_units_column *column);
/// Enqueues zeros for the words of the output in which moved blocks meet, and which moves join. Nothing where no block is moved.
///
/// Before the first launch of a part; `zf_units_start` does it for units without parts.
ZF_PRIVATE_API zf_status zf_units_column_clear(const zf_units_column *column, void *stream, const zf_units_memory *memory,
                                               zf_error *error);
/// Returns whether blocks are decoded aside and moved, so that zf_units_column_clear writes to the rows.
ZF_PRIVATE_API bool zf_units_column_moves(const zf_units_column *column);
/// Returns how many blocks hold wanted rows.
ZF_PRIVATE_API uint64_t zf_units_column_blocks(const zf_units_column *column);

/// Upper bounds of what units of some blocks need.
typedef struct zf_units_bounds {
    uint64_t workspace, head; ///< as in zf_units_sizes
    uint64_t words;
} zf_units_bounds;
/// Computes the bounds of block `block`, from 0 at the first wanted one. Those of several blocks add up. ZF1404 where they are
/// too large.
ZF_PRIVATE_API zf_status zf_units_block_bounds(const zf_units_column *column, uint64_t block, zf_units_bounds *out,
                                               zf_error *error);
/// Begins a *part*: the units of blocks first..last. Free it with zf_units_free, also if a call below fails.
///
/// The column must outlive it.
ZF_PRIVATE_API zf_status zf_units_part_begin(zf_units_column *column, uint64_t first, uint64_t last, zf_units **out,
                                             zf_error *error);
/// Checks block `index` of a part, from 0. Check each block once; with `stored` they follow each other in the file.
///
/// Threads may check different blocks at once. `stored`: the bytes of the part's first block, with those of the others behind
/// them as in the file; they must live until the part was uploaded. NULL: the container's bytes.
ZF_PRIVATE_API zf_status zf_units_part_check(zf_units *units, uint64_t index, const uint8_t *stored, zf_error *error);
/// Arranges a part once its blocks are checked.
ZF_PRIVATE_API zf_status zf_units_part_end(zf_units *units, zf_error *error);
/// Makes a part at once, on `threads` host threads (0: the context's): its blocks are where the container has or reads them, and
/// need not follow each other.
ZF_PRIVATE_API zf_status zf_units_part_make(zf_units_column *column, uint64_t first, uint64_t last, unsigned threads,
                                            zf_units **out, zf_error *error);

/// Copies a part's blocks to `to`, `sizes.stored` bytes, from where they are uploaded from now on: memory that must live until
/// then.
ZF_PRIVATE_API void zf_units_move_blocks(zf_units *units, uint8_t *to);
/// Writes a part's initial failure words and its tables to `to`: `sizes.head` bytes, for the start of the workspace.
///
/// Once uploaded they replace zf_units_start.
ZF_PRIVATE_API void zf_units_write_head(const zf_units *units, uint8_t *to);
/// Resets the statistics of a part before it is launched again.
ZF_PRIVATE_API void zf_units_restart(zf_units *units);
/// Enqueues the copy of a part's blocks to their place, `sizes.head` bytes behind the workspace's start.
///
/// If the blocks follow each other in the host's memory and the head was written right before the first, one copy of `sizes.head
/// + sizes.stored` bytes uploads both.
ZF_PRIVATE_API zf_status zf_units_upload_blocks(const zf_units *units, void *stream, const zf_units_memory *memory,
                                                zf_error *error);

/// Makes the units of a column at once: selects rows, checks every block, gets and loads code.
///
/// The container must outlive the units. `options` and `unit_options` may be NULL.
ZF_PRIVATE_API zf_status zf_units_make(zf_container *container, size_t column, const zf_decode_options *options,
                                       const zf_units_options *unit_options, zf_accelerator *accelerator, zf_units **out,
                                       zf_error *error);
/// Makes the units of rows begin..end of one block in memory, with given code: to compare codes.
///
/// The block is a column of its own, so its first_row must be 0. Block, shape and code must outlive the units.
ZF_PRIVATE_API zf_status zf_units_make_block(const zf_block_view *view, const zf_abi_plan *plan, const zf_abi_code *code,
                                             uint64_t begin, uint64_t end, zf_accelerator *accelerator, zf_units **out,
                                             zf_error *error);
/// Frees units. Retires their code unless launches may be in progress: the device then holds it until it ends.
ZF_PRIVATE_API void zf_units_free(zf_units *units);
/// Notes that the caller waited for all launches. Units that are freed afterwards retire their code.
ZF_PRIVATE_API void zf_units_ended(zf_units *units);
/// Gives back the units' references to their code, after their launches have ended and before they are freed.
///
/// Code without other references is unloaded, where the device can.
ZF_PRIVATE_API void zf_units_unload(zf_units *units);
/// Hands the units' references to the device, under the same conditions: the code stays there until it is freed on the host.
ZF_PRIVATE_API void zf_units_retire(zf_units *units);

ZF_PRIVATE_API zf_units_sizes zf_units_sizes_of(const zf_units *units);
ZF_PRIVATE_API uint32_t zf_units_count(const zf_units *units);
/// A unit as kernels of others read it, once it was uploaded. Offsets are from the start of the workspace.
typedef struct zf_unit_view {
    const zf_abi_plan *plan;
    const zf_abi_code *code;
    uint32_t block_count;
    uint64_t stored, work; ///< of its blocks' bytes, and of its work buffers
    uint64_t tables;       ///< of its descriptors, one after the other
    uint64_t row_bytes;    ///< of a descriptor
} zf_unit_view;
ZF_PRIVATE_API zf_unit_view zf_units_view(const zf_units *units, uint32_t unit);
/// Rows of block `block` of a unit.
typedef struct zf_unit_rows {
    uint64_t first_row, rows;
} zf_unit_rows;
ZF_PRIVATE_API zf_unit_rows zf_units_rows(const zf_units *units, uint32_t unit, uint32_t block);
/// Returns statistics. Launches count when they are enqueued.
ZF_PRIVATE_API zf_decode_stats zf_units_stats(const zf_units *units);

/// The next four enqueue, in this order: the start, which resets the failure words; the upload of all units; their kernels; the
/// end, which copies the failure words to the staging memory or to `words` (zf_units_words of them).
///
/// Start and launches may be repeated. They need `resident`, because other units may share memory.
ZF_PRIVATE_API zf_status zf_units_start(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error);
ZF_PRIVATE_API zf_status zf_units_upload(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error);
ZF_PRIVATE_API zf_status zf_units_launch(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error);
/// Enqueues the kernels of all units that make work buffers, and not those that make the column: kernels of others do. No code
/// may have a kernel that stores the column in place of a work buffer.
ZF_PRIVATE_API zf_status zf_units_launch_work(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error);
/// Enqueues kernel `kernel` of each unit that has it, for measurements. Kernels before it must have run.
ZF_PRIVATE_API zf_status zf_units_launch_kernel(zf_units *units, uint32_t kernel, void *stream, const zf_units_memory *memory,
                                                zf_error *error);
ZF_PRIVATE_API zf_status zf_units_end(zf_units *units, void *stream, const zf_units_memory *memory, uint64_t *words,
                                      zf_error *error);
ZF_PRIVATE_API uint32_t zf_units_words(const zf_units *units);
/// Enqueues all four steps once, the kernels of a unit behind its upload. After a failure `stream` still waits for all work.
ZF_PRIVATE_API zf_status zf_units_enqueue(zf_units *units, void *stream, const zf_units_memory *memory, uint64_t *words,
                                          zf_error *error);

/// Returns the first failure of the first block that has one. Wait for the stream before.
ZF_PRIVATE_API zf_status zf_units_status(const zf_units *units, const uint64_t *words, zf_error *error);

// ---- Rows for the host (decode_fetch.c) ----

/// Allocates the units' memory on the device, without `staging`. Release it also after a failure.
ZF_PRIVATE_API zf_status zf_units_allocate(const zf_units *units, zf_units_memory *memory, zf_error *error);
ZF_PRIVATE_API void zf_units_release(zf_accelerator *accelerator, zf_units_memory *memory);
/// Returns ZF_ERR_USAGE unless the buffers that the next two fill are present and aligned. The workspace is ignored.
ZF_PRIVATE_API zf_status zf_units_column_check(const zf_units_column *column, const zf_decode_buffers *to, zf_error *error);
/// Copies the wanted rows to host buffers, as zf_decode fills them, and waits for `stream`. With `copies`: of the first copy.
///
/// They must have been decoded without a failure.
ZF_PRIVATE_API zf_status zf_units_column_fetch(const zf_units_column *column, void *stream, const zf_units_memory *memory,
                                               const zf_decode_buffers *to, zf_error *error);
ZF_PRIVATE_API zf_status zf_units_fetch(const zf_units *units, void *stream, const zf_units_memory *memory,
                                        const zf_decode_buffers *to, zf_error *error);
/// Copies the rows of copy `copy`, 0 to copies - 1.
ZF_PRIVATE_API zf_status zf_units_fetch_copy(const zf_units *units, uint32_t copy, void *stream, const zf_units_memory *memory,
                                             const zf_decode_buffers *to, zf_error *error);

/// Returns where to note the time of a device's first copy or launch, and marks it `done`; NULL for later ones.
zf_passes *zf_units_first(const zf_units *units, atomic_bool *done);

#endif
