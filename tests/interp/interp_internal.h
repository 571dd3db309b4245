// The interface between the parts of the interpreter.
#ifndef ZF_TESTS_INTERP_INTERNAL_H
#define ZF_TESTS_INTERP_INTERNAL_H

#include <setjmp.h>

#include "tests/interp/interp.h"

typedef struct interp_piece {
    uint64_t start, length;
} interp_piece;

/// A sequence of elements: a stream, an array, a table. Elements lie at `index * width` bits of `bytes`; strings are
/// pieces of `chars`.
struct interp_stream {
    interp *in;
    zf_type type;
    unsigned width; ///< bits an element; 1 for strings, so that a position counts elements
    uint64_t count;
    uint64_t bit_length; ///< bits written; the last element may be partly written
    uint8_t *bytes;      ///< zero beyond bit_length
    uint64_t byte_capacity;
    uint8_t *nulls;       ///< nullable: one byte an element
    interp_piece *rows;   ///< strings
    interp_stream *chars; ///< strings: u8
    uint64_t row_capacity;
    interp_piece *parts; ///< what was appended piece by piece; elements
    uint64_t part_count, part_capacity;
    uint64_t *starts; ///< encode: first element of each chunk
    uint64_t start_count, start_capacity;
    const interp_violation **poison; ///< decode: per element the violation that its pull meets, or NULL; NULL: none at all
    uint32_t *index;                 ///< intern: hash table of element numbers + 1
    uint64_t index_size, indexed;    ///< slots, elements entered so far
    uint64_t index_from;             ///< first element that takes part (start of the chunk)
};

/// Part of a stream. `port` is set where elements are subject to the port's declared range.
typedef struct interp_seq {
    interp_stream *base;
    const zf_port *port;
    uint64_t start, length;
} interp_seq;

/// A value: bits (integers modulo 2^w, zero-extended), or a string, or a sequence.
typedef struct interp_value {
    uint64_t bits;
    bool null;
    interp_seq seq;
} interp_value;

static inline interp_value of_bits(uint64_t bits) { return (interp_value){.bits = bits}; }

typedef struct interp_table_cache {
    const zf_table_const *table;
    interp_stream *stream;
    struct interp_table_cache *next;
} interp_table_cache;

struct interp {
    zf_arena *arena;
    interp_options options;
    jmp_buf *violated;          ///< innermost handler of violations and refusals
    jmp_buf *stopped;           ///< outermost handler of everything else
    interp_violation violation; ///< what was raised
    const char *refused;        ///< or the reason of a refusal
    interp_status stop_status;
    const char *stop_message;
    uint64_t fuel;
    unsigned depth;
    interp_claims claims;
    interp_table_cache *tables;
};

// ---- interp.c: running, failing ----

/// Runs `work`; false when it raised a violation or refused.
bool interp_try(interp *in, void (*work)(void *), void *argument);
/// Runs `work` as an outermost call: limits and memory end it.
interp_status interp_enter(interp *in, void (*work)(void *), void *argument);
_Noreturn void interp_raise(interp *in, const interp_violation *violation);
_Noreturn void interp_refuse(interp *in, const char *reason);
_Noreturn void interp_stop(interp *in, interp_status status, const char *message);

// ---- interp_stream.c ----
uint64_t interp_stream_bit_read(const interp_stream *stream, uint64_t bit,
                                unsigned count); ///< in range; least significant first
uint64_t interp_stream_bit_read_msb(const interp_stream *stream, uint64_t bit, unsigned count);
interp_value interp_stream_get(const interp_stream *stream, uint64_t index); ///< index < count
void interp_stream_set(interp_stream *stream, uint64_t index, interp_value value);
void interp_push_value(interp_stream *stream, interp_value value); ///< aligns first
void interp_push_bits(interp_stream *stream, uint64_t bits, unsigned count);
void interp_stream_resize(interp_stream *stream, uint64_t count); ///< new elements are 0
void interp_stream_clear(interp_stream *stream);
void interp_stream_append(interp_stream *stream, interp_seq seq); ///< one part
uint32_t interp_stream_intern(interp_stream *stream, interp_value value);
void interp_stream_reverse(interp_stream *stream, uint64_t from);
void interp_stream_sort(interp_stream *stream);
void interp_stream_start_chunk(interp_stream *stream);
bool interp_value_equal(zf_type type, interp_value a, interp_value b); ///< of bits, bytes, nulls
int interp_value_compare(zf_type type, interp_value a, interp_value b);
interp_seq interp_stream_all(interp_stream *stream);

// ---- interp_value.c: arithmetic ----
uint64_t interp_value_mask(zf_kind kind, uint64_t bits);
int64_t interp_value_signed(zf_kind kind, uint64_t bits);
/// a op b of kind `kind` (shifts: b is a plain number). False: division by zero.
bool interp_value_binary(zf_op op, zf_kind kind, uint64_t a, uint64_t b, uint64_t *out);
uint64_t interp_value_unary(zf_op op, zf_kind kind, uint64_t a);
uint64_t interp_value_cast(zf_kind from, zf_kind to, uint64_t a);
bool interp_value_less(zf_kind kind, uint64_t a, uint64_t b);
/// False: nth_bit has no such bit.
bool interp_value_prim(zf_prim prim, zf_kind kind, uint64_t a, uint64_t b, uint64_t *out);
void interp_package_merge(interp *in, const uint64_t *counts, uint64_t n, unsigned limit, uint8_t *lengths);

// ---- A body being run ----

typedef struct interp_slot {
    interp_value value;
    interp_stream *array;
} interp_slot;

/// Prefixes of one reduction: after[k] is the reduction over the first k terms.
typedef struct interp_memo {
    const zf_reduce *reduce;
    bool closed;     ///< the term depends on its binder and on nothing that varies
    uint64_t serial; ///< of the emit statement that it belongs to
    uint64_t *after;
    uint64_t terms, capacity;
    struct {
        uint64_t at;
        const interp_violation *violation;
    } *bad; ///< terms that violate, ascending
    uint64_t bad_count, bad_capacity;
    struct interp_memo *next;
} interp_memo;

typedef enum interp_flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN } interp_flow;

typedef struct interp_range {
    bool has_lo, has_hi;
    zf_int128 lo, hi;
} interp_range;

typedef struct interp_env {
    interp *in;
    const zf_inst *inst;
    const char *path;
    bool encoding;
    bool finished; ///< decode: its elements are asked for up to the last
    uint64_t *params;
    interp_stream **streams; ///< by slot
    interp_range *ranges;    ///< by slot, decode: declared ranges
    interp_slot *slots;      ///< locals by id
    uint32_t slot_count;
    uint64_t i, g, j, lane, chunk;
    uint64_t position;                       ///< where a violation is said to be
    interp_value *states;                    ///< [state * lanes + lane]
    interp_stream *out;                      ///< decode
    uint64_t out_start, out_length, out_pos; ///< of the chunk; of the whole stream in other patterns
    uint64_t *first, *length;                ///< by slot: the chunk's elements of per-chunk streams
    uint64_t *cursor;                        ///< by slot: bits from the chunk's start
    uint64_t work, work_limit;               ///< V10
    interp_stream *input;                    ///< encode
    uint64_t chunk_size;
    bool in_chunks;        ///< encode: inside `for c in chunks(x)`
    const zf_reduce *emit; ///< the emit region being run
    uint64_t emit_serial;
    interp_memo *memos;
    interp_value result;           ///< of RETURN
    struct interp_querying *query; ///< of a query; NULL
} interp_env;

_Noreturn void interp_env_violate(interp_env *env, unsigned number, zf_span span, const char *what);
/// The same at an expression, which may claim to be proved.
_Noreturn void interp_env_violate_at(interp_env *env, unsigned number, const zf_expr *expr, const char *what);
void interp_env_work(interp_env *env, uint64_t amount, zf_span span);
interp_slot *interp_env_slot(interp_env *env, const zf_local *local);

interp_value interp_eval(interp_env *env, const zf_expr *expr);   // interp_eval.c
uint64_t interp_eval_bits(interp_env *env, const zf_expr *expr);  ///< its bits alone: of a number, a bool
interp_seq interp_eval_seq(interp_env *env, const zf_expr *expr); ///< of a sequence, a string
interp_value interp_seq_get(interp_env *env, interp_seq seq, uint64_t index, zf_span span, const zf_expr *expr);
void interp_seq_check_range(interp_env *env, interp_seq seq, uint64_t from, uint64_t count);
interp_seq interp_env_stream(interp_env *env, const zf_port *port);
void interp_env_check_port(interp_env *env, const zf_port *port, uint64_t bits, zf_span span); ///< of an element that is no null
interp_value interp_eval_cursor(interp_env *env, const zf_expr *expr);                         // interp_cursor.c
interp_value interp_eval_reduce(interp_env *env, const zf_expr *expr);                         // interp_reduce.c
bool interp_binder_bounds(interp_env *env, const zf_binder *binder, uint64_t *lo,
                          uint64_t *count); ///< false: 2^64 values
interp_memo *interp_memo_of(interp_env *env, const zf_expr *expr);
void interp_memo_extend(interp_env *env, interp_memo *memo, const zf_expr *expr, uint64_t terms);
interp_flow interp_exec(interp_env *env, const zf_stmt *stmts); // interp_exec.c
interp_value interp_run_body(interp_env *env, const zf_body *body);
void interp_exec_emit_region(interp_env *env, const zf_stmt *stmt); // interp_emit.c
void interp_exec_result(interp_env *env, const zf_stmt *stmt);      // interp_query.c
void interp_exec_select(interp_env *env, const zf_stmt *stmt);
uint64_t interp_query_row(const interp_env *env);

// ---- Nodes of a block ----

typedef struct interp_node {
    const zf_codec_node *codec;
    const char *path;
    uint32_t edge; ///< its output
    uint32_t first_param;
    uint32_t *inputs; ///< edge by slot
    uint64_t *params; ///< by slot, with given ones
} interp_node;

typedef struct interp_graph {
    interp_node *nodes;
    uint32_t node_count, edge_count, stored_count, param_count;
    zf_type *types;     ///< by edge
    int32_t *stored;    ///< by edge: number of the stored stream, or -1
    const char **paths; ///< by edge
} interp_graph;

/// Numbers the codec below `choice` (alternative `root` of it) for `branches`. Stops on an unknown branch.
interp_graph *interp_graph_of(interp *in, const zf_codec_choice *choice, uint32_t root, zf_type type, const uint8_t *branches,
                              uint32_t branch_count);
/// Decodes; raises nothing, reports.
interp_status interp_decode_graph(interp *in, interp_graph *graph, const interp_block *block, interp_stream **out,
                                  interp_report *report);
/// For makers of blocks: how many elements the groups of a node add up to, as far as that is at most `limit`.
/// Everything below the node must be filled in.
uint64_t interp_group_total(interp *in, interp_graph *graph, const interp_block *block, uint32_t number, uint64_t limit);
interp_block *interp_flatten_tree(interp *in, const zf_column *column, const interp_tree *tree);

#endif
