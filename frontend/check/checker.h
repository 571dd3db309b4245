// The checker of bodies: its state, and the calls between its files. Only for frontend/check_*.c, instantiate.c,
// constant.c.
//
// A checker makes one instance (or one constant). Expressions are built bottom up; a literal, and an expression of literals
// only, is "untyped" until it meets a type (zf_ck_convert) or has to settle for u64 or i64 (zf_ck_settle). Untyped nodes never
// leave the checker. An environment holds the facts that are known at a place; control flow saves, kills and joins them.
#ifndef ZF_FRONTEND_CHECKER_H
#define ZF_FRONTEND_CHECKER_H

#include "frontend/spec/spec_internal.h"

enum {
    ZF_NODE_LIMIT = 200000,            ///< nodes of one instance, inlined functions included (ZF0805)
    ZF_LONE_NODE_LIMIT = 20000,        ///< nodes of a function that is checked by itself
    ZF_MEMORY_LIMIT = 512 << 20,       ///< bytes of a compilation (ZF0805)
    ZF_CALL_DEPTH_LIMIT = 32,          ///< inlined calls within each other (ZF0805)
    ZF_TREE_DEPTH_LIMIT = 1000,        ///< levels of the typed tree (ZF0112)
    ZF_DECODE_ARRAYS_LIMIT = 64 << 10, ///< bytes of local arrays of a decode body (ZF0802)
    ZF_ENCODE_ARRAYS_LIMIT = 64 << 20,
    ZF_LOOP_TRIP_LIMIT = 65536, ///< iterations of the loops of a body that need no work counter: nests multiplied, the rest added
    ZF_TABLE_LIMIT = 65536,     ///< elements of a constant array
    ZF_CHUNK_LIMIT = 1 << 24,   ///< elements of a chunk
    ZF_LANES_LIMIT = 32,
    ZF_PORTS_LIMIT = 1024,     ///< streams and params of an algorithm: they are looked for one by one (ZF0805)
    ZF_FUNCTIONS_LIMIT = 1024, ///< local functions of an algorithm, likewise
    ZF_NAMES_LIMIT = 4096,     ///< names that are visible at once: they are looked for one by one (ZF0805)
};

#define ZF_STREAM_LENGTH_MAX ((zf_int128)1 << 32)

// ---- Untyped values: kinds of literals that have not met a type yet ----
typedef enum zf_untyped { ZF_UNTYPED_NOT, ZF_UNTYPED_INT, ZF_UNTYPED_FLOAT, ZF_UNTYPED_NULL, ZF_UNTYPED_CHAR } zf_untyped;

/// Such types are ZF_K_NONE with the sort in `opaque`.
static inline zf_type zf_untyped_type(zf_untyped sort) { return (zf_type){.kind = ZF_K_NONE, .opaque = (uint8_t)sort}; }
static inline zf_untyped zf_untyped_of(zf_type type) { return type.kind == ZF_K_NONE ? (zf_untyped)type.opaque : ZF_UNTYPED_NOT; }

/// Which body is being checked; it decides what may stand there.
typedef enum zf_body_kind {
    ZF_IN_CONST, ///< constants, ranges and lengths of ports, options
    ZF_IN_GROUPS,
    ZF_IN_SIZE,
    ZF_IN_ELEMENT, ///< decode of fully_parallel and group_parallel
    ZF_IN_STATE,   ///< initialiser of a state
    ZF_IN_LANES,   ///< decode(i) with lanes
    ZF_IN_CHUNK,   ///< decode of a chunk
    ZF_IN_ENCODE,
    ZF_IN_FUNCTION, ///< a function that nothing calls: what its place decides stays open
} zf_body_kind;

/// A name of a body: a local, or an expression that it stands for (arrays, streams and `var` scalars given to
/// functions).
typedef struct zf_bound {
    zf_name name;
    zf_span span;
    uint32_t level;  ///< of its block
    zf_local *local; ///< or
    zf_expr *alias;
    bool writable; ///< of an alias, or an ARRAY, GROWING: may be changed through this name
    struct zf_bound *next;
    uint32_t count; ///< of the names that are visible with it
} zf_bound;

typedef enum zf_fact_kind { ZF_FACT_RANGE, ZF_FACT_NOT, ZF_FACT_LESS, ZF_FACT_LESS_EQUAL } zf_fact_kind;

/// One thing known: a within range; a != value; a < b; a <= b. All are about expressions that zf_fact_stable admits.
typedef struct zf_fact {
    zf_fact_kind kind;
    const zf_expr *a, *b;
    zf_interval range; ///< NOT: the value
    uint32_t count;    ///< of this and those behind it
    const struct zf_fact *next;
} zf_fact;

/// The facts that are known at a place.
typedef struct zf_env {
    const zf_fact *facts;
    bool dead; ///< control cannot get here
} zf_env;

/// A body or an inlined function.
typedef struct zf_frame {
    const char *name;
    const zf_ast_func *func;        ///< NULL: a member's body
    const zf_source_module *module; ///< where its text stands
    bool local;                     ///< sees the algorithm's ports, states and functions
    zf_span call;
    struct zf_frame *outer;
    zf_type result;    ///< NONE: no value
    bool result_known; ///< false: taken from the first return
    zf_interval result_range;
    bool has_result_range;
    uint32_t returns;    ///< RETURN statements in it
    zf_env returned;     ///< what is known where it was left by one of them
    bool has_effect;     ///< seen from its caller
    uint32_t loops;      ///< loops around the current place
    uint32_t chunk_loop; ///< the value of `loops` inside `for c in chunks(x)`; 0: none
    uint32_t depth;
} zf_frame;

/// A local of the checker: what later stages see, and where it was declared.
typedef struct zf_checked_local {
    zf_local local;
    const zf_frame *frame;
    bool in_chunks;   ///< declared within `for c in chunks(x)`
    bool conditional; ///< more was known there than holds for every element
} zf_checked_local;

typedef struct zf_checker {
    zf_spec *spec;
    zf_arena *arena;
    zf_inst *inst; ///< NULL for constants and functions
    const zf_ast_algorithm *algorithm;
    zf_query *query; ///< NULL: an algorithm is checked; else its body is that of an element
    const zf_ast_query *query_ast;
    const zf_source_module *module; ///< of the algorithm
    const zf_ast_generic *generics;
    const zf_type *bindings;
    zf_span wanted_at; ///< who asked for the instance

    zf_body_kind body;
    zf_local *locals; ///< of the body, newest first
    uint32_t local_count;
    zf_bound *scope; ///< names of the current frame, innermost first
    uint32_t level;  ///< of the current block
    zf_frame *frame;
    zf_env env;
    zf_stmt **tail; ///< where the next statement goes; NULL where none may stand
    uint64_t array_bytes;
    uint64_t trip_product; ///< iterations of the constant loops around the current place, multiplied
    uint64_t rounds;       ///< iterations of the body's constant loops so far; in a counted loop, of one of its iterations
    uint32_t depth;        ///< of the tree being built
    uint32_t nodes;
    bool in_chunks; ///< within `for c in chunks(x)`
    bool failed, too_large, rounds_refused;

    // Terms that are computed apart from their place (check_hoist.c).
    const zf_fact *universal; ///< facts that hold for every element of the body, or of the emit region
    uint32_t universal_first; ///< locals from this number on belong to a place in it
    bool in_region;           ///< within an emit region
    bool hoisting;            ///< within the term of such a reduction
    uint32_t hoist_first;     ///< the term's own locals begin with this number
} zf_checker;

// ---- Diagnostics (check_report.c) ----
/// An error that names the generics' types and the calls that led here. Marks the instance as failed.
zf_diag *zf_ck_error(zf_checker *ck, zf_diag_code code, zf_span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
zf_diag *zf_ck_warning(zf_checker *ck, zf_diag_code code, zf_span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void zf_ck_remark(zf_checker *ck, zf_diag *diag, zf_span span, const char *format, ...) __attribute__((format(printf, 4, 5)));
void zf_ck_hint(zf_checker *ck, zf_diag *diag, const char *format, ...) __attribute__((format(printf, 3, 4)));
/// Adds the hint to bound the generic that the OPAQUE `type` stands for.
void zf_ck_hint_bound(zf_checker *ck, zf_diag *diag, zf_type type, const char *bound);
/// Remarks on what is known of the names in an expression, a few at most.
void zf_ck_remark_facts(zf_checker *ck, zf_diag *diag, const zf_expr *expr);
/// A note (ZF0490) that a check stays in a decode body, where options ask for notes.
void zf_ck_note_check(zf_checker *ck, const zf_expr *expr, const zf_expr *about, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/// The type as shown: "integer literal", "u8[]".
const char *zf_ck_type_name(zf_checker *ck, const zf_expr *expr);
const char *zf_ck_range_text(zf_checker *ck, zf_interval range);

// ---- Types (resolve_type.c) ----
zf_type zf_ck_type(zf_checker *ck, const zf_ast_type *type);
/// A type written where an expression stands: sizeof(T), value_of(unsigned(T), u).
zf_type zf_ck_type_of_expr(zf_checker *ck, const zf_ast_expr *expr);
/// A name that may be declared here: reports ZF0206.
bool zf_ck_declarable(zf_checker *ck, zf_name name, zf_span span);

// ---- Nodes and conversions (check_convert.c) ----
zf_expr *zf_ck_node(zf_checker *ck, zf_expr_kind kind, zf_type type, zf_span span);
zf_expr *zf_ck_poison(zf_checker *ck, zf_span span);
bool zf_is_poison(const zf_expr *expr);
zf_expr *zf_ck_int(zf_checker *ck, zf_type type, zf_int128 value, zf_span span); ///< a CONST, modulo the type's width
zf_expr *zf_ck_literal(zf_checker *ck, zf_int128 value, zf_span span);           ///< untyped
zf_expr *zf_ck_bool(zf_checker *ck, bool value, zf_span span);
/// An untyped expression takes its own default type; others stay.
zf_expr *zf_ck_settle(zf_checker *ck, zf_expr *expr);
/// Implicit conversion: only where no value can change. `what` completes "... is used as".
zf_expr *zf_ck_convert(zf_checker *ck, zf_expr *expr, zf_type type);
bool zf_converts(zf_type from, zf_type to);
/// x as T.
zf_expr *zf_ck_cast(zf_checker *ck, zf_expr *expr, zf_type type, zf_span span);
/// Brings both to one type, where there is one; reports ZF0303.
bool zf_ck_common(zf_checker *ck, zf_expr **a, zf_expr **b, zf_span span);
/// An index, a length, a number of bits: unsigned, as u64.
zf_expr *zf_ck_index(zf_checker *ck, zf_expr *expr);
/// The range of a node that was just completed, narrowed by the facts known.
zf_expr *zf_ck_finish(zf_checker *ck, zf_expr *expr, zf_interval range);

// ---- Expressions (check_expr.c, check_operator.c, check_sequence.c) ----
/// True, once with ZF0112, where the typed tree would nest beyond ZF_TREE_DEPTH_LIMIT.
bool zf_ck_too_deep(zf_checker *ck, zf_span span);
zf_expr *zf_ck_expr(zf_checker *ck, const zf_ast_expr *ast);   ///< may be untyped, or a sequence
zf_expr *zf_ck_scalar(zf_checker *ck, const zf_ast_expr *ast); ///< a value, maybe untyped; not a sequence
zf_expr *zf_ck_to_scalar(zf_checker *ck, zf_expr *expr);       ///< the same for a checked expression
/// Reports a sequence where a value is expected; `hint` NULL: how to take an element or the length. Returns poison.
zf_expr *zf_ck_refuse_sequence(zf_checker *ck, const zf_expr *seq, const char *hint);
zf_expr *zf_ck_value(zf_checker *ck, const zf_ast_expr *ast); ///< a settled value
zf_expr *zf_ck_value_as(zf_checker *ck, const zf_ast_expr *ast, zf_type type);
zf_expr *zf_ck_condition(zf_checker *ck, const zf_ast_expr *ast); ///< bool
zf_expr *zf_ck_sequence(zf_checker *ck, const zf_ast_expr *ast);  ///< a sequence or string, else poison
zf_expr *zf_ck_unary(zf_checker *ck, zf_op op, zf_expr *a, zf_span span);
zf_expr *zf_ck_binary(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span);
/// Proves for a division of integers with its type and operands that the divisor is not 0 and that the quotient fits. Notes the
/// check that stays.
void zf_ck_judge_division(zf_checker *ck, zf_expr *expr);
zf_expr *zf_ck_name(zf_checker *ck, const zf_ast_expr *ast);
zf_expr *zf_ck_use(zf_checker *ck, const zf_bound *bound, zf_span span);
zf_bound *zf_ck_lookup(zf_checker *ck, zf_name name);
zf_expr *zf_ck_index_expr(zf_checker *ck, const zf_ast_expr *ast);
zf_expr *zf_ck_slice_expr(zf_checker *ck, const zf_ast_expr *ast);
zf_expr *zf_ck_length(zf_checker *ck, zf_expr *seq, zf_span span);
const char *zf_sequence_name(const zf_expr *seq); ///< as the text calls it; NULL: it has no name
bool zf_is_sequence(const zf_expr *expr);         ///< a string value is one of u8
zf_type zf_element_type(const zf_expr *seq);
zf_interval zf_element_range(const zf_checker *ck, const zf_expr *seq);
zf_interval zf_length_range(const zf_checker *ck, const zf_expr *seq);
/// Fills a binder's bounds and makes its local; the bound name is entered by the caller.
bool zf_ck_binder(zf_checker *ck, zf_binder *binder, zf_name name, zf_span span, const zf_ast_range *range);
zf_bound *zf_ck_enter(zf_checker *ck, zf_name name, zf_span span, zf_local *local, zf_expr *alias, bool writable);
zf_local *zf_ck_local(zf_checker *ck, zf_local_kind kind, const char *name, zf_span span, zf_type type);
/// The lane and chunk numbers, made when first named.
zf_expr *zf_ck_domain(zf_checker *ck, zf_local **slot, zf_local_kind kind, const char *name, zf_int128 max, zf_span span);

// ---- Calls (check_call.c, check_method.c, primitives.c) ----
zf_expr *zf_ck_call(zf_checker *ck, const zf_ast_expr *ast, bool as_statement);
/// The function that a name means here, or NULL. Reports nothing.
const zf_ast_func *zf_ck_find_function(zf_checker *ck, zf_name name);
zf_expr *zf_ck_method(zf_checker *ck, const zf_ast_expr *ast, bool as_statement);
zf_expr *zf_ck_member(zf_checker *ck, const zf_ast_expr *ast);
zf_expr *zf_ck_reduce(zf_checker *ck, const zf_ast_expr *ast);
zf_expr *zf_ck_primitive(zf_checker *ck, const zf_ast_expr *ast, bool *known); ///< *known false: no primitive's name
/// `sort(x)`, `code_lengths(..)`: statements that look like calls. NULL when it is none of them.
bool zf_ck_statement_call(zf_checker *ck, const zf_ast_stmt *ast);
/// True for the words of reductions.
bool zf_reduce_of_name(zf_name name, zf_reduce_op *op);
const char *zf_reduce_name(zf_reduce_op op);
const char *zf_cursor_name(zf_cursor cursor);
bool zf_cursor_advances(zf_cursor cursor);
/// Whether it can leave the chunk (V02).
bool zf_cursor_is_checked(zf_cursor cursor);
bool zf_cursor_has_argument(zf_cursor cursor);
/// The first node with an effect, for diagnostics.
const zf_expr *zf_find_effect(const zf_expr *expr);
void zf_ck_refuse_effect(zf_checker *ck, const zf_expr *expr, zf_span around, const char *where);
/// An effect that outlives `home` (NULL: the whole body) happens here: marks the frames it is visible from.
void zf_ck_effect(zf_checker *ck, const zf_frame *home);
/// Writing to a stream or param, or to a local declared outside, within `chunks`.
bool zf_ck_write_target(zf_checker *ck, zf_expr *target, zf_span span, const char *how);

// ---- Statements (check_stmt.c, check_loop.c) ----
/// Checks the statements of a block into *out. True when control cannot leave at its end.
bool zf_ck_block(zf_checker *ck, const zf_ast_block *block, zf_stmt **out);
zf_stmt *zf_ck_stmt(zf_checker *ck, zf_stmt_kind kind, zf_span span); ///< appended at ck->tail
/// The statements of a body or function with its value: `= expr` or a block.
typedef struct zf_checked_body {
    zf_stmt *stmts;
    zf_expr *value;
    bool returns_inside;
} zf_checked_body;
zf_checked_body zf_ck_function_body(zf_checker *ck, const zf_ast_expr *value, const zf_ast_block *block, zf_span span);
bool zf_ck_loop_stmt(zf_checker *ck, const zf_ast_stmt *ast); ///< WHILE, LOOP, FOR; true: never ends
bool zf_loop_progresses(const zf_stmt *body);                 ///< every path reads or emits
/// Counts the terms of an unrolled reduction like the iterations of a loop, and those of reductions within its term. Returns what
/// zf_ck_leave_terms takes.
uint64_t zf_ck_enter_terms(zf_checker *ck, const zf_reduce *reduce, zf_span span);
void zf_ck_leave_terms(zf_checker *ck, uint64_t entered);
/// Forgets what the statements of a loop's body (or its condition, by calls) may change (check_invalidate.c).
void zf_ck_invalidate_assigned(zf_checker *ck, const zf_ast_block *body);
void zf_ck_invalidate_in_condition(zf_checker *ck, const zf_ast_expr *condition);

// ---- Ranges and facts (check_range.c, check_facts.c) ----
zf_interval zf_range_all(zf_type type);
zf_interval zf_range_wrap(zf_interval exact, zf_kind kind);
zf_interval zf_range_exact(zf_op op, zf_interval a, zf_interval b, unsigned bits); ///< arithmetic without a width
zf_interval zf_range_prim(zf_prim prim, zf_kind kind, zf_interval a, zf_interval b);
zf_interval zf_range_bits(zf_interval count); ///< of a value of so many bits
/// -1 unknown, 0 false, 1 true.
int zf_range_compare(zf_op op, zf_interval a, zf_interval b);
bool zf_expr_same(const zf_expr *a, const zf_expr *b);
/// Equal values for certain, although the types may differ.
bool zf_expr_same_value(const zf_expr *a, const zf_expr *b);
bool zf_fact_stable(const zf_checker *ck, const zf_expr *expr);
zf_interval zf_facts_refine(const zf_checker *ck, const zf_expr *expr, zf_interval range);
void zf_facts_assume(zf_checker *ck, const zf_expr *condition, bool truth);
void zf_facts_learn(zf_checker *ck, const zf_expr *expr, zf_interval range);
void zf_facts_relate(zf_checker *ck, const zf_expr *a, const zf_expr *b, bool strict);
bool zf_facts_below(const zf_checker *ck, const zf_expr *a, const zf_expr *b,
                    bool strict); ///< a < b (or a <= b) is certain
void zf_facts_kill(zf_checker *ck, const zf_local *local, const zf_port *port, const zf_state *state, bool out_pos);
zf_env zf_facts_join(zf_checker *ck, zf_env a, zf_env b);
/// True when every name in it is immutable in this body.
bool zf_expr_immutable(const zf_checker *ck, const zf_expr *expr);

// ---- Terms computed apart from their place (check_hoist.c) ----
typedef struct zf_hoist {
    bool hoisting;
    uint32_t hoist_first;
} zf_hoist;

/// Before the term of a reduction whose bounds are there: keeps only what holds wherever its terms may be computed.
zf_hoist zf_ck_hoist_begin(zf_checker *ck, const zf_reduce *reduce, uint32_t first_local);
void zf_ck_hoist_end(zf_checker *ck, zf_hoist saved);
/// False, with ZF0504, when a value from outside of such a term was proved by what stands before it.
bool zf_ck_may_hoist(zf_checker *ck, const zf_local *local, zf_span span);
/// The range of a value without the facts of its place.
zf_interval zf_plain_range(const zf_checker *ck, const zf_expr *expr);

// ---- Queries (check_query.c, check_query_result.c, check_pairs.c, check_nulls.c) ----
/// A name within a query: a param, an input, a column of its row, the row's number. NULL: none of them.
zf_expr *zf_ck_query_name(zf_checker *ck, zf_name name, zf_span span);
/// In the text of a query a number has 64 bits: an integer is i64 unless it is u64, a float f64. Others stay.
zf_expr *zf_ck_widen(zf_checker *ck, zf_expr *expr);
/// The binders of `each` in a query of pairs, which its statements see. Reports those of other queries (check_pairs.c).
void zf_ck_pairs(zf_checker *ck, const zf_ast_query_member *each);
/// Refuses the result that was checked last if it is of a kind that pairs do not have.
void zf_ck_result_of_pairs(zf_checker *ck, zf_span type);
/// The text of a string, as a value.
zf_expr *zf_ck_text(zf_checker *ck, const zf_ast_expr *ast);
/// A call of a function that queries bring (check_query_call.c). False: it is none, or the program has a function of this name.
bool zf_ck_query_call(zf_checker *ck, const zf_ast_expr *ast, zf_expr **out);
/// The result that a place names, or NULL.
zf_query_result *zf_ck_result_of(zf_checker *ck, const zf_ast_expr *place);
void zf_ck_result_stmt(zf_checker *ck, const zf_ast_stmt *ast, zf_query_result *result);
void zf_ck_select(zf_checker *ck, const zf_ast_stmt *ast);
/// A bool, false where it was null.
zf_expr *zf_ck_truth(zf_checker *ck, zf_expr *expr);
/// Operations on values of which some may be null, in a query: null where one is; a comparison then is false. NULL: none may be.
zf_expr *zf_ck_lift_binary(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span);
zf_expr *zf_ck_lift_unary(zf_checker *ck, zf_op op, zf_expr *a, zf_span span);
zf_expr *zf_ck_lift_cast(zf_checker *ck, zf_expr *expr, zf_type type, zf_span span);
/// Values that an operation looks at more than once, or that have an effect: each is evaluated once, in this order, before it.
typedef struct zf_kept {
    zf_local *formals[2];
    uint32_t count;
    bool effect;
} zf_kept;

/// The name under which `expr` is kept, or `expr` itself where that may stand in the tree twice.
zf_expr *zf_ck_keep(zf_checker *ck, zf_kept *kept, zf_expr *expr);
/// The same for a value of any type that is no name.
zf_expr *zf_ck_keep_unnamed(zf_checker *ck, zf_kept *kept, zf_expr *expr);
/// The operation after the values that it looks at.
zf_expr *zf_ck_with_kept(zf_checker *ck, const zf_kept *kept, zf_expr *value, zf_span span);
/// As zf_ck_keep, by a statement before those that follow.
zf_expr *zf_ck_keep_before(zf_checker *ck, zf_expr *expr);
/// Takes a kept value apart: what it is where it is not null, and the condition that it is not. NULL: it never is.
zf_expr *zf_ck_present(zf_checker *ck, zf_expr *expr, zf_expr **value);
/// The value where `present` holds, else null.
zf_expr *zf_ck_null_unless(zf_checker *ck, zf_expr *present, zf_expr *value, zf_span span);
/// Warns of a function of an algorithm or a query that nothing calls (instantiate.c).
void zf_warn_unused(zf_spec *spec, const zf_ast_func *func);

// ---- Constants (constant.c) ----
zf_expr *zf_ck_constant_use(zf_checker *ck, zf_symbol *symbol, zf_span span);
/// A checked expression's value when it depends on constants only; reports ZF0312 otherwise.
bool zf_ck_constant_value(zf_checker *ck, const zf_expr *expr, uint64_t *bits);

// ---- Instances (instantiate.c, check_ports.c, check_members.c) ----
zf_checker zf_checker_make(zf_spec *spec, const zf_source_module *module);
/// Ports of an instance: params, then streams, whose lengths may name any param.
void zf_ck_ports(zf_checker *ck);
/// Options, states and bodies of an instance whose ports are there.
void zf_ck_members(zf_checker *ck);
/// Remembers that a function was inlined somewhere, so that it needs no check of its own.
void zf_note_function_used(zf_spec *spec, const zf_ast_func *func);
/// Notes that the compilation passed its limit on memory. True when that was noted before, so that it is reported once.
bool zf_note_out_of_room(zf_spec *spec);

#endif
