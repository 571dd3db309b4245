// A query over the rows of a container.
#ifndef ZF_COMPILER_QUERY_H
#define ZF_COMPILER_QUERY_H

#include "frontend/spec/spec.h"
#include "patterns/plan/plan.h"
#include "runtime/base/private.h"
#include "zipflow/compile.h"

/// Elements that all arrays of results of a query have together, at most.
enum { ZF_QUERY_ELEMENTS = 1 << 27 };

/// Everything that a query is prepared with, and one run of it.
typedef struct zf_query_request {
    const zf_query_param *params;
    size_t param_count;
    const zf_query_array *arrays;
    size_t array_count;
    bool some_rows; ///< only rows row_begin .. row_begin + row_count - 1
    uint64_t row_begin, row_count;
    unsigned threads;    ///< that decode, and run rows on a CPU; 0: the context's number
    const char *device;  ///< that runs it; NULL: the CPU
    bool decode_first;   ///< on an accelerator: its kernels read decoded columns alone
    bool from_host;      ///< on an accelerator: columns stay in the host's memory, and come with every run, in units
    uint64_t unit_bytes; ///< stored bytes of a unit that comes with a run; 0: 32 MiB
    unsigned repeat;     ///< on an accelerator: runs whose time is taken, with inputs in its memory, and columns unless they come
    uint64_t thread_blocks; ///< on an accelerator: of a launch, at most; 0: as many as it runs at once
    uint32_t warps; ///< on an accelerator: of a thread block, if ZF_QUERY_LARGE_WARPS and possible; 0: as many as are good
    uint64_t pairs_at_once; ///< on an accelerator: of a launch that makes squares of pairs, about; 0: as many as are good
    bool no_skip;           ///< run also rows that cannot matter by the zones of the container
} zf_query_request;

/// A result. Elements have 64 bits each: integers extended by their sign, floats as the bits of an f64, bools 0 or 1.
typedef struct zf_query_answer {
    const char *name; ///< lives as long as the program
    zf_column_type type;
    zf_result_kind kind;
    uint32_t dimensions; ///< 0: one element; of `mask` and `select` the elements follow each other
    uint64_t lengths[ZF_QUERY_DIMENSIONS];
    uint64_t count;   ///< elements
    bool final;       ///< what follows is; an accelerator's results are when they were fetched
    uint64_t *words;  ///< `count` of them
    uint8_t *touched; ///< of each element of `min`, `max` and `set`: a row gave it a value; NULL: of `mask` and `select`
} zf_query_answer;

/// How an accelerator ran a query.
typedef struct zf_query_device_use {
    uint32_t fused, decoded;  ///< columns whose elements its kernels make, and others
    uint64_t launches, codes; ///< of the query's kernels for all rows, and different codes among them
    uint64_t units;           ///< runs of rows whose columns were brought together
    uint64_t stored_bytes;    ///< of the columns' blocks
    uint64_t squares;         ///< of pairs, whose sums a kernel of theirs made
    uint32_t warps;           ///< of a thread block
    uint64_t shared_bytes;    ///< of inputs in its shared memory
    double *seconds;          ///< of each repetition, by the device's clock: all kernels, those of decoded columns included
    unsigned repeated;
} zf_query_device_use;

typedef struct zf_query_answers {
    zf_query_answer *items;
    size_t count;
    uint64_t rows;          ///< of the request; of pairs their number
    uint64_t rows_skipped;  ///< of them, since zones exclude them
    uint64_t bytes_read;    ///< stored bytes that were read, each time that they were
    uint64_t bytes_skipped; ///< stored bytes of blocks of the query's columns of which no row was read
    zf_query_device_use device;
} zf_query_answers;

/// Prepares query `name` of a program for a container (NULL: of pairs), as zf_query_prepare does, but for the columns of an
/// accelerator: the first run brings those of the rows from the first to the last that may matter to it. Params, arrays and
/// `repeat` of the request are ignored; `device` is read during the call alone.
zf_status zf_query_prepare_request(zf_program *program, const char *name, zf_container *container,
                                   const zf_query_request *request, zf_prepared_query **out, zf_error *error);
/// Prepares a query, runs it once, and returns all results, on the host.
///
/// Free `*out` with zf_query_answers_free, also after an error. Errors: those of zf_query_prepare and zf_query_run.
ZF_PRIVATE_API zf_status zf_query_run_once(zf_program *program, const char *name, zf_container *container,
                                           const zf_query_request *request, zf_query_answers *out, zf_error *error);
ZF_PRIVATE_API void zf_query_answers_free(zf_query_answers *answers);

// ---- For `zfc explain` (query_device_columns.c) ----

/// Whether an accelerator's kernel of a query makes the elements of a column with this plan, in its general form.
ZF_PRIVATE_API bool zf_query_fuses(const zf_plan *plan);
/// Whether they can evaluate conditions on strings of column number `column` once for each entry.
ZF_PRIVATE_API bool zf_query_by_entries(const zf_query *query, uint32_t column, const zf_plan *plan);
/// Rows of a tile of a query over a table, which a warp has at a time.
ZF_PRIVATE_API uint32_t zf_query_tile(const zf_query *query);
/// Whether a lane has one row at a time, since results depend on the order of rows.
ZF_PRIVATE_API bool zf_query_keeps_order(const zf_query *query);

#endif
