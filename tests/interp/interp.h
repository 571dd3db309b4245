// The interpreter: the language's executable meaning. It evaluates the checked spec (frontend/spec/spec.h) literally, one
// value at a time, and is the oracle for everything generated. It shares no arithmetic with the compiler.
//
// An `interp` owns everything that its functions return: results live until `interp_destroy`. One interp belongs to one
// thread.
#ifndef ZF_TESTS_INTERP_H
#define ZF_TESTS_INTERP_H

#include "frontend/spec/spec.h"

typedef struct interp interp;
typedef struct interp_stream interp_stream;
typedef struct interp_tree interp_tree;

typedef enum interp_status {
    INTERP_OK,
    INTERP_VIOLATION,  ///< decode: a check failed (report->violation). Encode: `encode` itself left its bounds
    INTERP_REFUSED,    ///< encode: no alternative took the data (report->message)
    INTERP_NO_EXTERN,  ///< encode: `encode extern` of a function that was not given
    INTERP_UNVERIFIED, ///< encode: what was written does not decode to what was given
    INTERP_LIMIT,      ///< more work, elements or nesting than the options allow: no statement about the data
    INTERP_MEMORY,
    INTERP_MISUSE, ///< the call itself is wrong: too few params, an unknown branch
} interp_status;

const char *interp_status_name(interp_status status);

/// A failed check.
typedef struct interp_violation {
    unsigned number;   ///< 1 for V01; 0: none
    const char *path;  ///< of the node in its codec: "", "values.counts"
    uint64_t position; ///< output index within that node's stream (of a chunk: where it stood)
    zf_span span;
    const char *what; ///< "index", "emit", ...
} interp_violation;

/// The details of a call beside its status.
typedef struct interp_report {
    interp_violation violation; ///< INTERP_VIOLATION: the first by position
    uint64_t root_position;     ///< output index of the column that it was reached from
    bool unreached;             ///< decode: something violates a check, but no element that was pulled: generated code may
                                ///< report it or not
    interp_violation hidden;    ///< the first of those
    const char *message;        ///< one line, or ""
} interp_report;

/// The evaluator's findings about the front end's claims. Each is NULL, or the first expression for which a claim was false.
typedef struct interp_claims {
    const zf_expr *range;  ///< a value outside `zf_expr.range`
    const zf_expr *proved; ///< a violation at an expression marked `proved`
    const char *where;     ///< instance and value, for a person
} interp_claims;

// ---- Streams --------------------------------------------------------------------------------------------------

/// A new empty stream of elements of `type`.
interp_stream *interp_stream_new(interp *in, zf_type type);
/// A stream over a copy of plain bytes: little-endian elements, `count` of them; bool: bits, least significant first.
interp_stream *interp_stream_raw(interp *in, zf_type type, const void *bytes, uint64_t count);
void interp_stream_push(interp_stream *stream, uint64_t bits);
void interp_stream_push_string(interp_stream *stream, const void *bytes, uint64_t length);
void interp_stream_push_null(interp_stream *stream);
zf_type interp_stream_type(const interp_stream *stream);
uint64_t interp_stream_count(const interp_stream *stream);
/// Bytes of a stream of scalars: (count * bits + 7) / 8 of them at `interp_stream_bytes`.
const uint8_t *interp_stream_bytes(const interp_stream *stream);
uint64_t interp_stream_size(const interp_stream *stream);
/// Element `index` of a stream of scalars, as 64 bits; *null (may be NULL) tells a null.
uint64_t interp_stream_bits(const interp_stream *stream, uint64_t index, bool *null);
const uint8_t *interp_stream_string(const interp_stream *stream, uint64_t index, uint64_t *length, bool *null);
/// Bit-wise equality of type, count and elements. *first (may be NULL) gets the first index that differs.
bool interp_stream_equal(const interp_stream *a, const interp_stream *b, uint64_t *first);

// ---- Options --------------------------------------------------------------------------------------------------

/// The view of an `encode extern` function. It pushes to `streams` and sets `params`, both by slot. For a non_parallel
/// algorithm it calls `interp_extern_chunk` before the elements of each chunk.
typedef struct interp_extern_call {
    interp *in;
    const zf_inst *inst;
    uint64_t chunk_size; ///< of the codec node; 0 unless NON_PARALLEL
    const interp_stream *x;
    uint64_t *params;
    interp_stream **streams;
    interp_stream *permuted; ///< empty; filled when the rows come back in another order
    const char *refused;     ///< set it to refuse the block
} interp_extern_call;

void interp_extern_chunk(interp_extern_call *call);

typedef struct interp_extern {
    const char *name;
    void (*encode)(interp_extern_call *call);
} interp_extern;

typedef struct interp_options {
    const interp_extern *externs;
    size_t extern_count;
    uint64_t max_elements; ///< of any stream; 0: 2^26
    uint64_t fuel;         ///< evaluated nodes of one call; 0: 2^34
    bool no_claims;        ///< do not compare values with the ranges that the checker inferred
    bool no_verify;        ///< interp_encode does not decode what it wrote
} interp_options;

interp *interp_create(const interp_options *options);
void interp_destroy(interp *in);
zf_arena *interp_arena(interp *in);
const interp_claims *interp_claims_of(const interp *in);

// ---- Encoding and decoding ------------------------------------------------------------------------------------

/// A stream as a block stores it.
typedef struct interp_stored {
    const uint8_t *bytes; ///< scalars: (elements * bits + 7) / 8 bytes. strings: their characters, one after the other
    uint64_t size;
    uint64_t elements;
    const uint64_t *offsets; ///< strings: elements + 1 offsets into bytes; else NULL
    const uint8_t *nulls;    ///< nullable: one byte an element, 1 is null; else NULL
} interp_stored;

/// Where each chunk of a `per chunk` stream starts, in elements. Absent (NULL) when its type is E[n].
typedef struct interp_directory {
    const uint64_t *starts;
    uint64_t count;
} interp_directory;

/// A block, numbered in pre-order as in patterns/graph/graph.h.
typedef struct interp_block {
    const uint8_t *branches; ///< per choice of the column
    uint32_t branch_count;
    const uint64_t *params; ///< given ones included (the codec's constant counts, not what stands here)
    uint32_t param_count;
    const interp_stored *streams; ///< stored streams
    uint32_t stream_count;
    const uint64_t *counts;              ///< elements of every edge
    const interp_directory *directories; ///< per edge; NULL when no stream is `per chunk`
    uint32_t edge_count;
    uint64_t characters; ///< bytes of all strings of a string column: a container says so; the interpreter does not need it
} interp_block;

/// One node of what was encoded.
struct interp_tree {
    const zf_codec_node *node;
    uint32_t branch; ///< which alternative of its choice
    const zf_codec_choice *choice;
    const interp_stream *plain; ///< what it decodes to
    uint64_t *params;           ///< by slot
    interp_stream **streams;    ///< by slot: what was pushed
    interp_tree **children;     ///< by slot; NULL: stored as it is
    uint64_t stored_bytes;      ///< of its subtree: streams, and 8 bytes an entry of chunk directories
};

/// Encodes a block. On anything but INTERP_OK *out is NULL.
interp_status interp_encode(interp *in, const zf_column *column, const interp_stream *plain, interp_tree **out,
                            interp_report *report);
/// The numbered form of a tree.
interp_status interp_flatten(interp *in, const zf_column *column, const interp_tree *tree, interp_block *out);
/// Decodes a block: bit-exact output, or the first violation.
interp_status interp_decode_stored(interp *in, const zf_column *column, const interp_block *block, interp_stream **out,
                                   interp_report *report);
/// Where chunk `chunk` of a stream that was encoded starts.
const uint64_t *interp_stream_chunks(const interp_stream *stream, uint64_t *count);

// ---- Queries --------------------------------------------------------------------------------------------------

/// The rows that a query runs over.
typedef struct interp_query_call {
    const zf_query *query;
    const interp_stream *const *streams; ///< by slot: inputs, then columns of `rows` elements each
    const uint64_t *params;              ///< by slot
    uint64_t first_row, rows;            ///< `first_row` is a multiple of 1,024
} interp_query_call;

/// A result: elements and which of them rows gave a value, or, of `mask` and `select`, a stream.
typedef struct interp_answer {
    uint64_t count;
    const uint64_t *bits;
    const uint8_t *touched;
    const interp_stream *rows;
} interp_answer;

/// Runs a query; `answers` has room for all of its results. INTERP_VIOLATION: of the first row that violates a check.
interp_status interp_query(interp *in, const interp_query_call *call, interp_answer *answers, interp_report *report);

/// "V06 at 12 of values.counts (file.zf:3:5): require".
void interp_violation_text(const interp_violation *violation, zf_text *out);

#endif
