// Code generation for queries, as other rooms see it: a function that runs rows on a CPU and the frame that it runs on, and
// kernels for accelerators.
#ifndef ZF_CODEGEN_CODEGEN_QUERY_H
#define ZF_CODEGEN_CODEGEN_QUERY_H

#include "codegen/codegen.h"
#include "frontend/spec/spec.h"

/// Lanes of a sum of floats, rows of the table whose sums are added together (docs/queries.md), and elements of an array of such
/// sums, at most.
enum { ZF_QUERY_LANES = 32, ZF_QUERY_TILE = 1024, ZF_QUERY_FLOAT_SUMS = 64 };

/// Whether a result is a sum of floats, which lanes make in the order that docs/queries.md says.
static inline bool zf_query_sums_floats(const zf_query_result *result) {
    return result->kind == ZF_Q_SUM && result->type.kind == ZF_K_F64;
}

/// A stream of a query in memory: numbers side by side, bools as bits, strings as bytes and where they begin and end.
typedef struct zf_query_stream {
    const void *values;
    const uint8_t *validity; ///< a bit for each element, of nullable types; others do not read it
    const int64_t *offsets;  ///< strings: one more than elements
    uint64_t length;
} zf_query_stream;

/// A result while rows run.
typedef struct zf_query_held {
    uint64_t *words;  ///< elements, with 64 bits each
    uint8_t *touched; ///< of each element, whether a row gave it a value; of `mask` the value of each row of the frame
    double *lanes;    ///< sums of floats: ZF_QUERY_LANES for each element, of the rows of a tile
    uint64_t lengths[ZF_QUERY_DIMENSIONS];
} zf_query_held;

/// The rows that `select` appended, of `columns` words each.
typedef struct zf_query_selected {
    uint64_t *words;
    uint64_t rows, room;
    uint32_t columns;
} zf_query_selected;

/// Values of zf_query_frame.violation that are none of a check: no memory for what is appended; too many numbers of pairs.
enum { ZF_QUERY_NO_MEMORY = 1000, ZF_QUERY_TOO_MANY = 1001 };

/// The pairs of one first number.
typedef struct zf_query_pair_row {
    uint64_t before; ///< pairs of smaller first numbers
    uint64_t lo;     ///< the second number of the first of them
} zf_query_pair_row;

#define ZF_QUERY_FIRSTS_MOST (UINT64_C(1) << 26) ///< first numbers on an accelerator
#define ZF_QUERY_PAIRS_MOST (UINT64_C(1) << 62)  ///< pairs there

/// All pairs of a query in the order of its rows: those of `first`, first + 1 and so on.
typedef struct zf_query_domain {
    zf_query_pair_row *rows;
    uint64_t first, count, room; ///< count: rows
    uint64_t pairs;
} zf_query_domain;

typedef struct zf_query_frame {
    const zf_query_stream *streams; ///< by slot: inputs, columns
    const uint64_t *params;         ///< by slot, as 64 bits
    zf_query_held *held;            ///< by result
    zf_query_selected *selected;
    zf_query_domain *domain; ///< pairs: where the function of bounds appends; else unused
    /// Rows of the columns' streams; with sums of floats within one tile of the table. For pairs `begin` is the least first
    /// number.
    uint64_t begin, end;
    uint64_t first_row; ///< number of the streams' first row in the table
    uint64_t violation; ///< 0: none; else of `row`, at `place`
    uint64_t place;     ///< as zf_codegen_query_place has it
    uint64_t row;       ///< in the table; of pairs the number of those before, after the last one that of all
    uint64_t pair[2];   ///< of pairs: the one with the violation; unchanged numbers are not known yet, where bounds fail
} zf_query_frame;

typedef void (*zf_query_fn)(zf_query_frame *frame);

/// Builds, or finds in the disk cache, the function of a query. Unload `*code` with zf_jit_unload.
/// ZF_ERR_UNSUPPORTED with the diagnostic where a form is not lowered. Any thread.
zf_status zf_codegen_query_build(zf_jit *jit, const zf_query *query, zf_query_fn *out, zf_jit_code **code, zf_error *error);
/// Builds the function of a query of pairs that evaluates the bounds of all of them, and appends to the frame's `domain`. As
/// zf_codegen_query_build. It reads `params` alone.
zf_status zf_codegen_query_bounds(zf_jit *jit, const zf_query *query, zf_query_fn *out, zf_jit_code **code, zf_error *error);

// ---- Kernels of accelerators ----------------------------------------------------------------------------------
//
// A launch runs rows of a table in tiles (zf_codegen_query_tile). Within a launch all blocks of a fused column have the same
// rows, whole tiles, but for the last one, and the same code. Arguments are those of all kernels (runtime/base/abi.h): `base` is
// where offsets begin, `blocks` the frame, `out` where offsets of results begin, `failure` the two words below, `even` the thread
// blocks.
//
// A launch of pairs runs them in tiles, too: rows are the numbers of pairs, in the order of A, then of B. Where squares make a
// sum of each pair, their kernel runs before each of the others, over the same pairs.

/// A column as a query's kernel reads it.
typedef struct zf_query_source {
    const zf_plan *plan;     ///< the kernel makes its elements itself (fused); NULL: they lie decoded in memory
    const uint64_t *shaping; ///< as zf_codegen_request has it
} zf_query_source;

/// Words of the frame, from these on: params, inputs, columns and results, a struct of words each, in their order.
typedef struct zf_query_launch {
    uint64_t first_tile, tiles;   ///< first_tile: of the table
    uint64_t row_begin, row_end;  ///< rows of the table that count
    uint64_t first_row;           ///< that masks begin with, and decoded columns
    uint64_t counts, prefix;      ///< select: offsets, from `out`, of a u64 for each tile: its rows, and those before
    uint64_t firsts, first_count; ///< pairs: offset, from `base`, of zf_query_domain's rows, and how many there are
    uint64_t first;               ///< pairs: the first number of the first of these rows
    /// Squares: offset, from `base`, of a zf_query_pair_row for each ZF_QUERY_SQUARE first numbers, and how many there are.
    /// `before` counts squares, `lo` is the least second number.
    uint64_t groups, group_count;
    uint64_t first_square, squares; ///< of the launch
    uint64_t sums;                  ///< squares: offset, from `out`, of a u64 for each pair of the launch
} zf_query_launch;

#define ZF_QUERY_INPUT_MOST (UINT64_C(1) << 31) ///< elements of an input

/// Offsets are from `base`, in bytes, modulo 2^64.
typedef struct zf_query_device_input {
    uint64_t values, length;
} zf_query_device_input;

typedef struct zf_query_device_column {
    uint64_t values;      ///< decoded: the elements, or the bytes of strings; fused: the unit's blocks
    uint64_t validity;    ///< decoded: bits; fused: descriptors of the launch's first block
    uint64_t offsets;     ///< decoded: i64; fused: work buffers
    uint64_t skip;        ///< decoded: elements before those of first_row; fused: the table's tile with which that block begins
    uint64_t block_tiles; ///< decoded: bits of validity before that of first_row; fused: tiles of a block
} zf_query_device_column;

/// Offsets are from `out`. Elements of 64 bits; those of min and max of floats are ordered as numbers (zf_query_float_key).
typedef struct zf_query_device_result {
    uint64_t words;   ///< sums of floats: for each tile of the launch its elements; select: its column; mask: unused
    uint64_t touched; ///< u32 for each element; mask: a byte for each row
} zf_query_device_result;

/// Words of the frame at which its parts begin, and all of them.
typedef struct zf_query_frame_places {
    uint32_t params, inputs, columns, results, words;
} zf_query_frame_places;

static inline zf_query_frame_places zf_query_frame_places_of(const zf_query *query) {
    enum { WORD_BYTES = sizeof(uint64_t) };
    zf_query_frame_places at = {.params = sizeof(zf_query_launch) / WORD_BYTES};
    at.inputs = at.params + query->inst->param_count;
    at.columns = at.inputs + query->input_count * (uint32_t)(sizeof(zf_query_device_input) / WORD_BYTES);
    at.results = at.columns + query->column_count * (uint32_t)(sizeof(zf_query_device_column) / WORD_BYTES);
    at.words = at.results + query->result_count * (uint32_t)(sizeof(zf_query_device_result) / WORD_BYTES);
    return at;
}

/// A result as code knows it.
typedef struct zf_query_shape {
    uint64_t lengths[ZF_QUERY_DIMENSIONS];
    /// A sum of integers whose elements each thread block adds in shared memory first: many rows may give to few elements.
    bool shared;
} zf_query_shape;

/// Warps of a thread block, each of which makes a tile at a time. Thread blocks of the small form share a multiprocessor. One of
/// the large form has it for itself: only queries whose rows are made together have this form, without pairs
/// (zf_codegen_query_has_large).
enum { ZF_QUERY_WARPS = 8, ZF_QUERY_LARGE_WARPS = 28 };

/// Bytes of shared memory of a thread block: single numbers take ZF_QUERY_SHARED_WARP of each warp, one result after another,
/// rows that wait zf_codegen_query_queues, and an element of a sum 8. Inputs are copied there before the first row, in pieces of
/// ZF_QUERY_SHARED_PIECE, the last of which can be read whole. Each sum and input has up to ZF_QUERY_SHARED_EACH more. Code
/// declares up to ZF_QUERY_SHARED. Where there is more, launches give all of it.
enum { ZF_QUERY_SHARED = 49152, ZF_QUERY_SHARED_EACH = 16, ZF_QUERY_SHARED_WARP = 8, ZF_QUERY_SHARED_PIECE = 16 };

enum {
    ZF_QUERY_FAILED_ROW,  ///< first row of tiles that a warp made as one, in which a check failed; UINT64_MAX: none
    ZF_QUERY_FAILED_SET,  ///< 0: a second value for an element of `set`
    ZF_QUERY_FAILED_LONG, ///< 0: a sum has too many terms for a kernel of squares
    ZF_QUERY_FAILURES
};
/// Kernels. COUNT: only of a query with select, and before GIVE. SQUARES: where a request has them. The number of each in its
/// code is zf_query_kernel_number.
enum { ZF_QUERY_KERNEL_GIVE, ZF_QUERY_KERNEL_COUNT, ZF_QUERY_KERNEL_SQUARES, ZF_QUERY_KERNELS };

/// Codes have no gaps between their kernels.
static inline uint32_t zf_query_kernel_number(const zf_query *query, uint32_t kernel) {
    return kernel == ZF_QUERY_KERNEL_SQUARES && query->selected_count == 0 ? kernel - 1 : kernel;
}

/// A double's bits as a number that is ordered as they are, with -0.0 below 0.0; and back.
static inline uint64_t zf_query_float_key(uint64_t bits) { return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63; }
static inline uint64_t zf_query_float_bits(uint64_t key) { return key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key; }

/// Whether a query of pairs has a sum that squares of pairs can make (codegen/query/query_square.h), and their side.
bool zf_codegen_query_squares(const zf_query *query);
enum { ZF_QUERY_SQUARE = 64 };

/// Rows of a tile, a multiple of ZF_QUERY_TILE, or pairs: each warp makes one at a time, or a few that follow each other.
uint32_t zf_codegen_query_tile(const zf_query *query);
/// Bytes of shared memory for rows that wait, of a thread block of so many warps.
uint32_t zf_codegen_query_queues(const zf_query *query, uint32_t warps);
/// Whether a query's kernel has a large form.
bool zf_codegen_query_has_large(const zf_query *query);
/// Whether the kernels of rows and pairs read an input. `squares`: as the request has it; the kernel of squares reads others.
bool zf_codegen_query_reads(const zf_query *query, uint32_t input, bool squares);
/// Whether a query's kernel can make the elements of a column itself, for which a plan has code of these shaping values: strings,
/// too, where they are entries of a dictionary or pieces of a stream, whose bytes stay where they lie.
bool zf_codegen_query_fuses(const zf_plan *plan, const uint64_t *shaping);
/// Whether a query has conditions on strings of a fused column alone that its kernel can evaluate once for each of a block's
/// entries, if these are no more than 1,024.
bool zf_codegen_query_by_entries(const zf_query *query, uint32_t column, const zf_plan *plan);

typedef struct zf_query_kernels_request {
    const zf_query *query;
    zf_abi_target target;
    const zf_query_source *sources; ///< by column
    const zf_query_shape *shapes;   ///< by result
    const uint32_t *shared_inputs;  ///< by input: bytes of its pieces that are copied to shared memory; 0: it is not
    uint32_t warps;                 ///< of a thread block: ZF_QUERY_WARPS or ZF_QUERY_LARGE_WARPS
    bool squares;                   ///< sums of pairs are made in squares, by a kernel that runs before each of the others
} zf_query_kernels_request;

/// Code of a query's kernels. `plan` says no more than loading them needs.
typedef struct zf_query_kernels {
    zf_codegen_code code;
    zf_abi_plan plan;
} zf_query_kernels;

/// Builds, or finds in the disk cache, the kernels of a query. Free `*out` with zf_codegen_free(jit, &out->code), also after an
/// error. ZF_ERR_UNSUPPORTED with the diagnostic where a form is not lowered. Any thread.
zf_status zf_codegen_query_kernels(zf_jit *jit, const zf_query_kernels_request *request, zf_query_kernels *out, zf_error *error);

/// Final forms of a result's elements, which a kernel makes of what the query's kernels left.
typedef enum zf_query_final {
    ZF_QUERY_FINAL_8, ///< integers: the low bits of words
    ZF_QUERY_FINAL_16,
    ZF_QUERY_FINAL_32,
    ZF_QUERY_FINAL_F32,         ///< one NaN
    ZF_QUERY_FINAL_F64,         ///< the same
    ZF_QUERY_FINAL_EXTREME,     ///< of integers: 0 where no row gave a value
    ZF_QUERY_FINAL_EXTREME_F64, ///< zf_query_float_bits; 0 where no row gave a value
    ZF_QUERY_FINAL_BITS,        ///< of words, for bools
    ZF_QUERY_FINAL_BYTE_BITS,   ///< of the bytes of a mask
    ZF_QUERY_FINAL_TOUCHED,     ///< bits of the u32 that say whether a row gave a value
    ZF_QUERY_FINALS
} zf_query_final;

/// The frame of such a launch. Offsets are from `base`; elements go to `out`.
typedef struct zf_query_final_frame {
    uint64_t words, touched, count; ///< count: elements, one at least
} zf_query_final_frame;

/// Builds, or finds in the disk cache, the kernel of a form: kernel 0. Arguments, threads and errors as for
/// zf_codegen_query_kernels.
zf_status zf_codegen_query_final(zf_jit *jit, zf_abi_target target, zf_query_final form, zf_query_kernels *out, zf_error *error);
enum { ZF_QUERY_FINAL_THREADS = ZF_QUERY_WARPS * ZF_QUERY_LANES }; ///< of a thread block

/// Fills `out` (may be NULL) with the C functions that queries call, for zf_jit_options.symbols, and returns their number.
size_t zf_codegen_query_symbols(zf_jit_symbol *out);
/// A place in a text as a frame has it.
uint64_t zf_codegen_query_place(zf_span span);

#endif
