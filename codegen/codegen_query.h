// Code generation for queries on a CPU, as other rooms see it: a function that runs rows, and the frame that it runs on.
#ifndef ZF_CODEGEN_CODEGEN_QUERY_H
#define ZF_CODEGEN_CODEGEN_QUERY_H

#include "codegen/llvm/jit.h"
#include "frontend/spec/spec.h"

/// Lanes of a sum of floats, and rows of the table whose sums are added together (docs/queries.md).
enum { ZF_QUERY_LANES = 32, ZF_QUERY_TILE = 1024 };

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

enum { ZF_QUERY_NO_MEMORY = 1000 }; ///< zf_query_frame.violation: there was none for what `select` appends

typedef struct zf_query_frame {
    const zf_query_stream *streams; ///< by slot: inputs, columns
    const uint64_t *params;         ///< by slot, as 64 bits
    zf_query_held *held;            ///< by result
    zf_query_selected *selected;
    uint64_t begin, end; ///< rows of the columns' streams; with sums of floats within one tile of the table
    uint64_t first_row;  ///< number of the streams' first row in the table
    uint64_t violation;  ///< 0: none; else of `row`, at `place`
    uint64_t place;      ///< as zf_codegen_query_place has it
    uint64_t row;        ///< in the table
} zf_query_frame;

typedef void (*zf_query_fn)(zf_query_frame *frame);

/// Builds, or finds in the disk cache, the function of a query. Unload `*code` with zf_jit_unload. `budget`: NULL: no limit.
/// ZF_ERR_UNSUPPORTED with the diagnostic where a form is not lowered. Any thread.
zf_status zf_codegen_query_build(zf_jit *jit, const zf_query *query, zf_compile_budget *budget, zf_query_fn *out,
                                 zf_jit_code **code, zf_error *error);
/// Fills `out` (may be NULL) with the C functions that queries call, for zf_jit_options.symbols, and returns their number.
size_t zf_codegen_query_symbols(zf_jit_symbol *out);
/// A place in a text as a frame has it.
uint64_t zf_codegen_query_place(zf_span span);

#endif
