// The checked spec: what the front end hands over. Algorithms instantiated with concrete types, bodies as typed trees with
// every function inlined, codecs as trees of instances. It is plain data; nothing later changes it.
//
// Inlining. A call of a user's function is checked again at every call site (as a template is), with the facts known there. An
// array or stream given to a function is an alias: the formal's uses are the argument itself. A scalar formal is a local with
// `init`. Therefore a body never refers to anything outside its instance.
//
// Purity. An expression has effects only where it contains a CURSOR that advances, an INTERN, or a CALL whose body does;
// `zf_expr.effect` says so. Immutable locals (LET, FORMAL) with a pure `init` may be looked through.
#ifndef ZF_FRONTEND_SPEC_H
#define ZF_FRONTEND_SPEC_H

#include "frontend/check/type.h"
#include "frontend/diag/diag.h"
#include "frontend/syntax/ast.h"
#include "runtime/base/passes.h"

typedef struct zf_expr zf_expr;
typedef struct zf_stmt zf_stmt;
typedef struct zf_local zf_local;
typedef struct zf_port zf_port;
typedef struct zf_state zf_state;
typedef struct zf_inst zf_inst;
typedef struct zf_spec zf_spec;

// ---- Locals ---------------------------------------------------------------------------------------------------

typedef enum zf_local_kind {
    ZF_L_DOMAIN_I, ///< index of the output element
    ZF_L_DOMAIN_G, ///< group index
    ZF_L_DOMAIN_J, ///< index within the group
    ZF_L_LANE,
    ZF_L_ROW, ///< of a query: the number of the row in its table
    ZF_L_CHUNK,
    ZF_L_LET,     ///< immutable; value `init`
    ZF_L_FORMAL,  ///< immutable; bound at a CALL, value `init`
    ZF_L_VAR,     ///< mutable scalar; starts as `init`, or 0
    ZF_L_ARRAY,   ///< E[n], zeroed; `length` elements
    ZF_L_GROWING, ///< E[] in encode; empty at first
    ZF_L_BINDER,  ///< of a reduction, an emit region, `for k in a..b`; immutable inside
    ZF_L_ELEMENT, ///< of `for v in seq`; immutable inside; a sequence when it runs over chunks or parts
} zf_local_kind;

struct zf_local {
    zf_local_kind kind;
    uint32_t id; ///< unique within its body, dense from 0
    const char *name;
    zf_span span;
    zf_type type;      ///< of the value, or of an element
    bool is_seq;       ///< the value is a sequence (a slice kept in a `let` or given to a function, a chunk, a part)
    zf_expr *init;     ///< LET, FORMAL, VAR; NULL for a zeroed VAR
    uint64_t length;   ///< ARRAY
    zf_interval range; ///< what is known of an integer wherever it is visible (a VAR: its type's)
    zf_local *next;    ///< all locals of a body
};

// ---- Expressions ----------------------------------------------------------------------------------------------

typedef enum zf_expr_kind {
    // values
    ZF_X_CONST,   ///< `bits`: integers modulo 2^w, floats by their IEEE bits of `type`, bool 0 or 1
    ZF_X_NULL,    ///< null of the nullable `type`
    ZF_X_LOCAL,   ///< `local`; a sequence when local is an ARRAY, GROWING or is_seq
    ZF_X_PARAM,   ///< `port`
    ZF_X_STATE,   ///< `state` of the element's lane
    ZF_X_UNARY,   ///< op a (NEG, BITNOT, NOT)
    ZF_X_BINARY,  ///< a op b, both of one type (shifts: b unsigned of any width); ANDAND, OROR are lazy
    ZF_X_COND,    ///< a ? b : c, lazy
    ZF_X_CAST,    ///< a as type (explicit or implied)
    ZF_X_SOME,    ///< a as a nullable value
    ZF_X_IS_NULL, ///< a == null
    ZF_X_VALUE,   ///< a.value; 0 when null
    ZF_X_PRIM,    ///< `prim` of a, b
    ZF_X_CALL,    ///< `call`: an inlined function
    ZF_X_REDUCE,  ///< `reduce`
    ZF_X_INDEX,   ///< a[b]: element b of sequence (or string) a
    ZF_X_LEN,     ///< a.len, u64
    ZF_X_BITS,    ///< a.bits(b, c); `msb`: bits_msb. u64
    ZF_X_BIT_LEN, ///< stream.bit_len (encode)
    ZF_X_OUT_POS, ///< out.pos
    ZF_X_CURSOR,  ///< `cursor` of `port`, argument a where it has one
    ZF_X_INTERN,  ///< port.intern(a), u32; an effect
    ZF_X_MINMAX,  ///< min(seq) or max(seq) over a (op: `prim` MIN or MAX); 0 when empty
    // sequences (is_seq; `type` is the element's)
    ZF_X_STREAM, ///< `port`
    ZF_X_OUT,    ///< out: the instance's result; per chunk in non_parallel
    ZF_X_INPUT,  ///< the formal of encode(x)
    ZF_X_TABLE,  ///< `table`: a constant array
    ZF_X_SLICE,  ///< a[b..c] of sequence or string a. If a is a u8 sequence: a string value (is_seq false, type string)
    ZF_X_PARTS,  ///< x.parts: a sequence of sequences (only in `for`)
    ZF_X_CHUNKS, ///< chunks(x) (only in `for`)
} zf_expr_kind;

/// Primitives on values, ZF_P_MIN and so on.
typedef enum zf_prim {
#define ZF_PRIMITIVE(id, name, parameters, least, most, operands, checker, meaning) ZF_P_##id,
#define ZF_CALL(name, parameters, least, most, checker, meaning)
#include "frontend/check/primitives.def"
    ZF_P_COUNT
} zf_prim;

/// The types that a primitive's node has: of its operands a and b, and its own.
typedef enum zf_prim_operands {
    ZF_PRIM_INTEGERS,   ///< two integers of one type; that type
    ZF_PRIM_BITS,       ///< an unsigned integer; u8
    ZF_PRIM_BIT_NUMBER, ///< an unsigned integer and a u64; u8
    ZF_PRIM_FLOAT,      ///< a float; its type
    ZF_PRIM_TO_BITS,    ///< a float; the unsigned integer as wide
    ZF_PRIM_FROM_BITS,  ///< an unsigned integer; the float as wide
} zf_prim_operands;

const char *zf_prim_name(zf_prim prim); ///< as it is written
zf_prim_operands zf_prim_operands_of(zf_prim prim);

typedef enum zf_cursor {
    ZF_C_NEXT, ///< next element, of the stream's type
    ZF_C_U8,
    ZF_C_U16,
    ZF_C_U32,
    ZF_C_U64,
    ZF_C_I8,
    ZF_C_I16,
    ZF_C_I32,
    ZF_C_I64, ///< little-endian bytes
    ZF_C_LE,
    ZF_C_BE,     ///< a bytes. u64
    ZF_C_VARINT, ///< LEB128, at most 10 bytes. u64
    ZF_C_READ,
    ZF_C_READ_MSB, ///< a bits. u64
    ZF_C_PEEK,     ///< a bits without advancing, zeros past the end. u64
    ZF_C_SKIP,     ///< a elements; no value
    ZF_C_ALIGN,    ///< to the next whole element; no value
    ZF_C_AT_END,
    ZF_C_POS,
    ZF_C_BIT_POS,
    ZF_C_COUNT
} zf_cursor;

/// The forms of a reduction, as the matcher (frontend/match/match.c) finds them. Only decode bodies are matched.
typedef enum zf_reduce_form {
    ZF_R_LOOP,      ///< encode, or a chunk: a plain loop
    ZF_R_UNROLLED,  ///< trip count at most `trip` <= 64
    ZF_R_SCAN,      ///< op over 0..d, or 0..=d (`inclusive`), d = `domain`, or the binder of a one-binder emit
    ZF_R_SEGMENTED, ///< op over d / n * n + `skip` .. d, n = `segment`
    ZF_R_PREFIX,    ///< sum or xor over a..b of a term that a scan could make: the difference of two prefix sums
} zf_reduce_form;

typedef enum zf_reduce_op { ZF_RED_SUM, ZF_RED_MIN, ZF_RED_MAX, ZF_RED_XOR, ZF_RED_ANY, ZF_RED_ALL } zf_reduce_op;

typedef struct zf_binder {
    zf_local *local;
    zf_expr *lo, *hi; ///< u64; half open, `..=` was turned into hi + 1 with its overflow proved or checked away
    bool inclusive;   ///< hi is the last value (kept so that hi + 1 never wraps); otherwise one past
} zf_binder;

typedef struct zf_reduce {
    zf_reduce_op op;
    zf_binder binders[2];
    uint32_t binder_count; ///< 1 or 2 in emit regions; reductions: 1 or 2
    zf_expr *term;         ///< of the result's type; any, all: bool
    zf_reduce_form form;
    uint32_t trip;          ///< UNROLLED
    zf_local *domain;       ///< SCAN, SEGMENTED: d
    bool inclusive;         ///< SCAN, SEGMENTED: d itself belongs to it
    uint64_t segment, skip; ///< SEGMENTED
    uint32_t index;         ///< SCAN, SEGMENTED, PREFIX: number within the instance, dense from 0. Equal reductions of a body
                            ///< (a function called twice) share one number, and with it one accumulator
} zf_reduce;

typedef struct zf_call {
    const char *name;
    zf_local **formals; ///< scalar formals; their `init` are the arguments, evaluated in order
    uint32_t formal_count;
    zf_stmt *body;       ///< NULL for `= expr` functions
    zf_expr *value;      ///< result when control reaches the end of body; NULL when it may not (returns inside)
    bool returns_inside; ///< body contains RETURN statements, which leave this call
} zf_call;

typedef struct zf_table_const {
    const char *name;
    zf_type type;
    uint64_t length;
    const uint64_t *bits; ///< one word an element, as CONST
    zf_interval range;    ///< of integers
} zf_table_const;

struct zf_expr {
    zf_expr_kind kind;
    zf_type type; ///< of the value, or of an element of the sequence
    bool is_seq;
    bool effect;
    bool proved;           ///< INDEX, SLICE, BITS, DIV, REM, NTH_BIT, SLICE: cannot be violated, whatever the data
    bool nonzero_overflow; ///< DIV, REM: MIN / -1 cannot occur, so no guard is needed
    bool msb;
    zf_span span;      ///< where it was written
    zf_interval range; ///< integers and bool: all values it can have; others: unused
    zf_op op;
    zf_prim prim;
    zf_cursor cursor;
    uint64_t bits;
    zf_expr *a, *b, *c;
    zf_local *local;
    zf_port *port;
    zf_state *state;
    zf_call *call;
    zf_reduce *reduce;
    const zf_table_const *table;
};

/// Returns the operand below all conversions, which may change the number.
static inline const zf_expr *zf_expr_uncast(const zf_expr *expr) {
    while (expr->kind == ZF_X_CAST) expr = expr->a;
    return expr;
}

/// Whether a conversion (CAST) of an integer or a bool leaves every value that can come to it there as it is.
static inline bool zf_cast_keeps(const zf_expr *cast) {
    zf_kind from = cast->a->type.kind;
    return zf_kind_is_integer(cast->type.kind) && (zf_kind_is_integer(from) || from == ZF_K_BOOL) &&
           zf_interval_within(cast->a->range, zf_interval_of_kind(cast->type.kind));
}

/// Returns the operand below the conversions that keep it: the same number. The ranges depend on the facts of a place, so it
/// may be another number where a guard does not hold.
static inline const zf_expr *zf_expr_kept(const zf_expr *expr) {
    while (expr->kind == ZF_X_CAST && zf_cast_keeps(expr)) expr = expr->a;
    return expr;
}

// ---- Statements -----------------------------------------------------------------------------------------------

typedef enum zf_stmt_kind {
    ZF_S_LET,    ///< local (LET)
    ZF_S_VAR,    ///< local (VAR, ARRAY, GROWING)
    ZF_S_ASSIGN, ///< place = value; with has_op: place = place op value, place evaluated once, value already converted
    ZF_S_EXPR,   ///< value, for its effects
    ZF_S_IF,     ///< value ? body : else_part
    ZF_S_WHILE,
    ZF_S_LOOP,
    ZF_S_FOR_RANGE, ///< binder, body
    ZF_S_FOR_EACH,  ///< local (ELEMENT) over the sequence `value`, PARTS and CHUNKS included; the length is read once
    ZF_S_BREAK,
    ZF_S_CONTINUE,
    ZF_S_RETURN,      ///< value or NULL; leaves the innermost CALL, else the body
    ZF_S_EMIT,        ///< value
    ZF_S_EMIT_REGION, ///< reduce->binders, reduce->term
    ZF_S_REQUIRE,     ///< value; V06 when false
    ZF_S_REFUSE,      ///< text
    ZF_S_PUSH,        ///< target.push(value)
    ZF_S_PUSH_BITS,   ///< target.push_bits(value, count)
    ZF_S_PUSH_VARINT,
    ZF_S_APPEND,       ///< target.append(value: a sequence, or a string)
    ZF_S_REVERSE,      ///< target.reverse(): of the current chunk where target is per chunk
    ZF_S_SORT,         ///< sort(target): a local array or growing one, ascending
    ZF_S_RESULT,       ///< result `result`, its element at `values` (an index for each dimension): its kind takes `value`
    ZF_S_SELECT,       ///< `values`: one for each result of this kind, by `column`
    ZF_S_CODE_LENGTHS, ///< code_lengths(counts = value, lengths = target, limit = count)
} zf_stmt_kind;

struct zf_stmt {
    zf_stmt_kind kind;
    zf_span span;
    zf_local *local;
    zf_expr *place; ///< ASSIGN: LOCAL (VAR), INDEX of a local array or of a growing one, PARAM, STATE
    bool has_op;
    zf_op op;
    zf_expr *value, *count;
    zf_expr *target;   ///< PUSH..: STREAM or LOCAL (GROWING)
    zf_binder binder;  ///< FOR_RANGE
    zf_reduce *reduce; ///< EMIT_REGION
    zf_stmt *body, *else_part;
    struct zf_query_result *result; ///< RESULT
    zf_expr **values;               ///< RESULT, SELECT
    uint32_t value_count;
    bool bounded; ///< WHILE, LOOP, FOR: needs no work counter (V10)
    const char *text;
    zf_stmt *next;
};

/// A body: statements, then a value. A block whose only `return` is its last statement is held this way, too.
typedef struct zf_body {
    bool present;
    zf_stmt *stmts;
    zf_expr *value; ///< NULL: the value comes from RETURNs inside, or there is none
    bool returns_inside;
    zf_local *locals; ///< all, linked by next, formals of inlined calls included
    uint32_t local_count;
    uint32_t reduce_count; ///< distinct scans, segmented scans and prefix sums
} zf_body;

// ---- Instances ------------------------------------------------------------------------------------------------

/// How decode (with groups and size) uses a stream: all uses joined. See language.md section 5.
typedef enum zf_access {
    ZF_ACCESS_NONE,
    ZF_ACCESS_ALIGNED_I, ///< s[i] only, also inside scans over i
    ZF_ACCESS_ALIGNED_G, ///< s[g] only
    ZF_ACCESS_GATHER,
    ZF_ACCESS_CURSOR,
} zf_access;

struct zf_port {
    uint32_t index; ///< among all ports of the instance, as declared
    uint32_t slot;  ///< among its streams, or among its params
    const char *name;
    zf_span span;
    bool is_param;
    zf_type type; ///< element, or value
    bool per_chunk;
    bool fixed;      ///< E[n]
    zf_expr *length; ///< fixed: n, over params and constants; u64
    bool has_range;
    zf_expr *lo, *hi;  ///< `in`: over constants and earlier params; hi inclusive; NULL: open end
    zf_interval range; ///< the widest that lo, hi admit; the type's without `in`
    // params
    zf_expr *given; ///< default, a CONST; NULL: chosen by encode unless the codec gives it
    bool shapes;    ///< occurs in a width, shift, index, size, length or condition
    bool assigned;  ///< encode assigns it
    // streams
    zf_access access;
    bool uses_next_only; ///< CURSOR: only next and [ ]
    bool written;        ///< encode writes it
    bool bitwise;        ///< decode uses bits on it
    bool neighbours;     ///< GATHER: only because of elements at a constant distance, s[g - 1]
    bool whole;          ///< decode takes slices of it, or walks over all of it
};

struct zf_state {
    uint32_t index;
    const char *name;
    zf_type type;
    zf_expr *init; ///< for `lane`
};

/// An algorithm as declared.
typedef struct zf_algorithm {
    zf_name name;
    const zf_ast_decl *decl;
    const struct zf_source_module *module;
    uint32_t generic_count;
    bool broken; ///< had errors; not instantiated again
} zf_algorithm;

struct zf_inst {
    const zf_algorithm *algorithm;
    const char *name;  ///< "bitpack<i64, u32>"
    zf_type *bindings; ///< algorithm->generic_count of them
    zf_pattern pattern;
    zf_port *ports; ///< all, in order
    uint32_t port_count, stream_count, param_count;
    zf_port **streams, **params; ///< by slot
    zf_type result;
    zf_local *domain_i, *domain_g, *domain_j, *lane,
        *chunk;     ///< those that its bodies name; NULL otherwise.
                    ///< size, decode share domain_g; they appear in the lists of both bodies
    zf_body groups; ///< GROUP_PARALLEL: a value, u64, over lengths and params
    zf_body size;   ///< u64
    zf_body decode;
    uint64_t chunk_size; ///< NON_PARALLEL: default chunk
    uint32_t lanes;      ///< 0: none
    zf_state *states;
    uint32_t state_count;
    zf_local *input; ///< not NULL with an encode body
    zf_body encode;
    const char *encode_extern; ///< or NULL
    bool reads_out;            ///< decode reads out[..]
};

// ---- Codecs and tables ----------------------------------------------------------------------------------------

typedef struct zf_codec_node zf_codec_node;

/// The choice on one edge: one codec or several alternatives.
typedef struct zf_codec_choice {
    uint32_t count;
    zf_codec_node **alternatives;
    uint32_t index; ///< number of this choice within its column, in pre-order over all alternatives, counting
                    ///< only choices with count > 1; UINT32_MAX otherwise
    zf_span span;
} zf_codec_choice;

/// One use of an algorithm in a codec.
struct zf_codec_node {
    zf_inst *inst;
    zf_span span;
    zf_codec_choice **streams; ///< by stream slot; NULL: stored as it is
    bool *param_given;         ///< by param slot: default or constant
    uint64_t *param_bits;      ///< the given values
    uint64_t chunk_size;       ///< NON_PARALLEL
};

typedef struct zf_column {
    const char *name; ///< of a part of lists `COLUMN.valid` or `COLUMN.values`
    zf_span span;
    zf_type type;
    zf_list_part part;
    zf_codec_choice *codec;
    uint32_t choice_count;  ///< choices with several alternatives
    uint8_t *alternatives;  ///< by number of such a choice: how many it has
    const char *codec_text; ///< canonical
    const struct zf_table *table;
    struct zf_column *next;
} zf_column;

/// The validity of a column of lists; NULL: they are never null. `lists` is its ends.
static inline const zf_column *zf_lists_validity(const zf_column *lists) {
    return lists->next->part == ZF_LIST_VALIDITY ? lists->next : NULL;
}
/// The values of a column of lists, of which `lists` is the ends.
static inline const zf_column *zf_lists_values(const zf_column *lists) {
    return lists->next->part == ZF_LIST_VALIDITY ? lists->next->next : lists->next;
}
/// The type as it is written: `i64`, or that of a column of lists, `list<string?>?`. NULL: no memory.
const char *zf_column_type_text(zf_arena *arena, const zf_column *column);

typedef struct zf_table {
    zf_name name;
    zf_span span;
    zf_column *columns;
    uint32_t column_count;
    struct zf_table *next;
} zf_table;

/// A named codec with the type it was declared for, resolved as if it were a column of that type.
typedef struct zf_codec {
    zf_name name;
    zf_column *column;
    struct zf_codec *next;
} zf_codec;

// ---- Queries --------------------------------------------------------------------------------------------------

enum { ZF_QUERY_DIMENSIONS = 4 };

/// The kinds of results: what one begins as, and what a statement does with a value (docs/queries.md).
typedef enum zf_result_kind {
    ZF_Q_SUM,
    ZF_Q_MIN,
    ZF_Q_MAX,
    ZF_Q_XOR,
    ZF_Q_ANY,
    ZF_Q_ALL,
    ZF_Q_SET,    ///< an array: one row at most gives an element its value
    ZF_Q_MASK,   ///< a bool for each row
    ZF_Q_SELECT, ///< a column of what rows gave, in their order
    ZF_Q_KINDS
} zf_result_kind;
const char *zf_result_kind_name(zf_result_kind kind);

typedef struct zf_query_result {
    uint32_t index;
    zf_name name;
    zf_span span;
    zf_type type; ///< of the value, or of an element
    zf_result_kind kind;
    uint32_t dimensions;                   ///< 0: one value
    zf_expr *lengths[ZF_QUERY_DIMENSIONS]; ///< u64, of constants and params
    uint32_t column;                       ///< SELECT: number among the results of this kind
} zf_query_result;

typedef struct zf_query {
    zf_name name;
    zf_span span;
    const zf_table *table; ///< NULL: its domain are pairs
    zf_binder *pairs;      ///< two; the bounds of the second may name the first. NULL: its domain are the rows of `table`
    /// Its params, and its streams: inputs, then the columns that rows use, read at `domain_i` alone. `decode` has the statements
    /// of a row, and no value.
    zf_inst *inst;
    zf_local *row; ///< ROW; NULL: nobody asks
    uint32_t input_count;
    const zf_column **columns; ///< by slot less `input_count`
    uint32_t column_count;
    zf_query_result *results;
    uint32_t result_count, selected_count;
    struct zf_query *next;
} zf_query;

// ---- The compilation ------------------------------------------------------------------------------------------

typedef struct zf_spec_options {
    const char *std_dir; ///< NULL: beside the program, as zf_find_std found it
    bool notes;          ///< also give notes (ZF0490)
    zf_passes *passes;   ///< where time is noted; NULL: nowhere
    bool no_std;         ///< texts stand alone: std is not visible and `import` is an error (texts found in files)
} zf_spec_options;

/// A compilation in its own arena. NULL when there is no memory.
zf_spec *zf_spec_create(const zf_spec_options *options);
void zf_spec_destroy(zf_spec *spec);
zf_arena *zf_spec_arena(zf_spec *spec);
zf_diags *zf_spec_diags(zf_spec *spec);

/// Runs `work`, which allocates from the spec's arena and from `other` (may be NULL). Returns what `work` returns. Without memory
/// it ends `work` where that is, returns false and adds an error to the spec; what `work` holds outside of the arenas is the
/// caller's to free. Calls may nest: then the outermost one returns. Outside of it the arenas give NULL without memory.
bool zf_spec_guard(zf_spec *spec, zf_arena *other, bool (*work)(zf_spec *spec, void *data), void *data);
/// Adds the error that memory ended, once in a spec's life.
void zf_spec_out_of_memory(zf_spec *spec);

/// Reads and parses a file (or a text under a name) with what it imports. False when anything is wrong; diagnostics tell.
bool zf_spec_add_file(zf_spec *spec, const char *path);
bool zf_spec_add_text(zf_spec *spec, const char *name, const char *text, size_t length);
/// Parses a file, alone, and prints it in the canonical layout; *changed tells whether that differs from the file. False when it
/// does not parse; diagnostics tell.
bool zf_spec_format_file(zf_spec *spec, const char *path, zf_text *out, bool *changed);
/// Lays out a canonical text, which has a line for a whole algorithm, as `zfc fmt` does, where lines are worth naming: places
/// in a container refer to this text. A text that does not parse is given unchanged. `text` ends in a 0. Without memory `*out`
/// has failed.
void zf_lay_out_text(const char *text, size_t length, zf_text *out);
/// Checks everything that was added. True when there was no error.
bool zf_spec_check(zf_spec *spec);

/// Prints a type and a codec that uses the algorithm `name` for it, such as `i32 = zigzag`. False: no file that was read declares
/// the algorithm.
bool zf_spec_algorithm_use(const zf_spec *spec, const char *name, zf_text *out);
/// Stores the names of all algorithms, at most `most`, the standard library's included. Returns their number.
size_t zf_spec_algorithm_names(const zf_spec *spec, const char **names, size_t most);
/// Whether an algorithm is the standard library's.
bool zf_algorithm_is_std(const zf_algorithm *algorithm);
/// An algorithm of the files that were named; NULL: they declare none.
const char *zf_spec_an_algorithm(const zf_spec *spec);
/// The real path of the index-th file that was read, imports and the standard library's included; NULL beyond the last.
const char *zf_spec_file(const zf_spec *spec, size_t index);

const zf_table *zf_spec_find_table(const zf_spec *spec,
                                   const char *name); ///< NULL name: the only one, of imports aside; else NULL
const zf_table *zf_spec_tables(const zf_spec *spec);
const zf_query *zf_spec_queries(const zf_spec *spec);
/// NULL name: the only one; else NULL.
const zf_query *zf_spec_find_query(const zf_spec *spec, const char *name);
const zf_codec *zf_spec_find_codec(const zf_spec *spec, const char *name);
const zf_codec *zf_spec_codecs(const zf_spec *spec);

/// The instance of an algorithm for these types (one per generic), made once and kept. NULL and diagnostics on an error.
zf_inst *zf_spec_instantiate(zf_spec *spec, const zf_algorithm *algorithm, const zf_type *bindings, zf_span span);

/// Resolves the text of a codec for an element type, as a column named `name`. NULL and diagnostics on an error.
zf_column *zf_spec_resolve_codec(zf_spec *spec, const char *name, zf_type type, const char *codec_text);

/// Appends the canonical text of an algorithm with all that it uses. False: no memory.
bool zf_canonical_algorithm(zf_spec *spec, const zf_algorithm *algorithm, zf_text *out);
/// Prints a table as a unit that stands alone without std or imports, with every algorithm, function and constant that its
/// columns use. False: no memory.
bool zf_canonical_table(zf_spec *spec, const zf_table *table, zf_text *out);

enum { ZF_IDENTITY_BYTES = 32 };

/// An algorithm, function or constant, by its identity (docs/language.md, "Canonical text"), which no name changes.
typedef struct zf_declaration {
    const char *name; ///< in the canonical text of the table, or in the text that has it
    const char *kind; ///< "algorithm", "function", "constant"
    uint8_t identity[ZF_IDENTITY_BYTES];
} zf_declaration;

/// In the arena of the spec.
typedef struct zf_declarations {
    zf_declaration *items;
    uint32_t count;
} zf_declarations;

/// Lists what the canonical text of a table declares, in its order. False: no memory.
bool zf_table_declarations(zf_spec *spec, const zf_table *table, zf_declarations *out);
/// Lists what the texts and files that were added declare, used or not: each behind all that it uses, else in their order.
/// `std`: what the standard library declares. The spec was checked, so nothing uses itself. False: no memory.
bool zf_text_declarations(zf_spec *spec, bool std, zf_declarations *out);

/// Text of the syntax trees of all files that were added, the standard library's aside.
void zf_spec_print_ast(const zf_spec *spec, zf_text *out);
/// Text of the typed tree: `zfc explain --emit=spec`.
void zf_spec_print(zf_spec *spec, zf_text *out);
void zf_inst_print(const zf_inst *inst, zf_text *out);
void zf_query_print(const zf_query *query, zf_text *out);
void zf_expr_print(const zf_expr *expr, zf_text *out);

/// Value of a checked expression over constants and params, given the params' bits by slot (NULL: none known). False when it
/// depends on something else.
bool zf_expr_evaluate(const zf_expr *expr, const uint64_t *param_bits, uint64_t *bits);

/// A fault of an instance. The caller frees the reason.
typedef struct zf_inst_fault {
    zf_text reason;
    zf_span place; ///< no source: the whole instance
} zf_inst_fault;
/// Checks the invariants of an instance that later stages rely on. False with the first fault; `found` begins as zeros.
bool zf_inst_verify(const zf_inst *inst, zf_inst_fault *found);
/// The same for a query.
bool zf_query_verify(const zf_query *query, zf_inst_fault *found);

#endif
