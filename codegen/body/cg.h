// The base of all lowerings: the context in which LLVM IR is built, values, sequences, and the environment that gives a body
// everything that depends on its surroundings. Only cg_expr.c, cg_bits.c and cg_stmt.c lower a body (frontend/spec/spec.h), for
// every target and for encoders; a kernel, or the encoder, gives it an environment.
//
// Builder. Every emitter appends at the builder's position and leaves it at the end of an unterminated block, maybe a new
// one. Allocas go to the entry block (zf_cg_alloca). Names: v_ values, bb_ blocks, ty_ types.
//
// Errors. An emitter that cannot go on reports (zf_cg_unsupported), sets cg->failed and yields zeroes, so that callers need not
// look at every step; whoever builds a module looks once, at the end.
#ifndef ZF_CODEGEN_CG_H
#define ZF_CODEGEN_CG_H

#include <llvm-c/Core.h>

#include "frontend/spec/spec.h"

typedef struct zf_cg zf_cg;
typedef struct zf_cg_env zf_cg_env;
typedef struct zf_cg_frame zf_cg_frame;
typedef struct zf_cg_bit_place zf_cg_bit_place;
typedef struct zf_cg_target zf_cg_target; ///< operations of a target family: codegen/target/codegen_target.h

struct zf_cg {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;      ///< being built
    const zf_cg_target *target; ///< NULL while an encoder is built
    zf_arena *arena;            ///< of this code generation
    zf_diags *diags;            ///< where ZF0804 goes; may be NULL: only `failed` is set then
    bool failed;
    bool aligned_loads; ///< the target wants loads aligned to their size
    bool halves;      ///< the host's vectors are two halves of 128 bits, and words move between them slowly: AVX2 without AVX-512
    bool narrows;     ///< indices of 32 bits are compared with counts by so many: kernels that take bits at places that data say
    bool same_again;  ///< what is loaded from global memory does not change while the kernel runs: LLVM may not load it twice
    unsigned compact; ///< reductions of more terms are loops; 0: of very many (zf_jit_request.build)
    bool unchecked;   ///< kernels believe what a file says: to measure what checks cost (zf_plan_request.unchecked)
    bool shared_given; ///< SIMT: launches give the kernel's shared memory (zf_abi_simt_kernel.dynamic_bytes), the code has none
    unsigned wave;     ///< lanes of a warp of the kernel being built: a wave of the target, or half of one; 0: none
    struct zf_fault_sites *sites; ///< counts what could be left out (cg_fault_sites.h); NULL: nothing is
    const char *sites_in;         ///< the part of the kernel that is being built, for the names of sites; NULL: none
    zf_span sites_at;             ///< the statement of a program that is being built, for the same; no source: none
    LLVMTypeRef ty_void, ty_i1, ty_i8, ty_i16, ty_i32, ty_i64, ty_i128, ty_f32, ty_f64, ty_ptr;
    /// The condition under which the emitted code counts, or NULL: always. Both arms of a conditional may be evaluated and one
    /// selected (that vectorises); checks inside an arm then matter only under its condition, and divisors are made harmless.
    LLVMValueRef v_guard;
    LLVMValueRef v_required; ///< v_guard where all it says is that a requirement holds, for the names of sites
    uint32_t depth;          ///< of nested expressions and inlined bodies, and expressions emitted so far: limits
    uint64_t emitted;        ///< against hostile input (ZF0805)
    uint64_t unrolled;       ///< times that what is being emitted is emitted, by reductions around it that are unrolled; 0: once
    uint64_t stack;          ///< bytes of local arrays of the function being built; zf_cg_begin_function resets it
    struct zf_cg_array *arrays;         ///< SIMT: the function's local arrays, which bodies use one after the other
    struct zf_cg_together *together;    ///< SIMT: local arrays of a warp's lanes together (cg_together.h); NULL: each has its own
    struct zf_cg_put_off *put_off;      ///< SIMT: checks that leave later (cg_put_off.h); NULL: each leaves at once
    uint32_t nested;                    ///< bodies that are being evaluated, one within the other
    struct zf_cg_table_entry *tables;   ///< constant tables of the module (zf_cg_table)
    uint32_t meetings;                  ///< emulator: barriers and shuffles emitted into the module; each has its number
    struct zf_cg_neighbour *neighbours; ///< of the function being built (zf_cg_neighbour)
    struct zf_cg_lines *lines;          ///< places in the `.zf` text (cg_lines.h); NULL: none
};

// ---- Values ---------------------------------------------------------------------------------------------------

typedef enum zf_cg_seq_kind {
    ZF_CG_NO_SEQ,
    ZF_CG_SEQ_PORT,   ///< a stream of the instance (`port`): elements and bits come from the environment
    ZF_CG_SEQ_OUT,    ///< `out`: from the environment
    ZF_CG_SEQ_MEMORY, ///< elements at v_data, one after the other; bool: a byte each; nullable: v_validity beside it
    ZF_CG_SEQ_TEXTS,  ///< strings: string k is the bytes offsets[k]..offsets[k + 1] of v_data; offsets (i64) at v_offsets
} zf_cg_seq_kind;

/// A sequence, or a slice of one. Index k of it is element v_start + k of what lies below.
typedef struct zf_cg_seq {
    zf_cg_seq_kind kind;
    zf_type type;             ///< of an element
    const zf_port *port;      ///< PORT; MEMORY: the stream that encode writes, when it is one
    LLVMValueRef v_data;      ///< MEMORY, TEXTS: pointer to what lies below
    LLVMValueRef v_validity;  ///< MEMORY of nullable elements: pointer to one byte each
    LLVMValueRef v_offsets;   ///< TEXTS
    LLVMValueRef v_start;     ///< i64, NULL: 0
    LLVMValueRef v_length;    ///< i64, elements; NULL only for PORT and OUT taken whole: ask the environment
    LLVMValueRef v_handle;    ///< MEMORY, all of a string that an accelerator loaded from a work buffer: the handle that has its
                              ///< bytes (simt_handles.h); NULL: any other
    LLVMValueRef v_handle_at; ///< of v_handle: where it lies (i64)
    bool constant;            ///< a constant table: loads from it do not change
    bool padded;              ///< MEMORY: 16 bytes behind the last element can be read
    bool together;            ///< MEMORY: a local array that a warp's lanes have together
    bool column_rows;         ///< encode: its elements are rows of the block, row v_start first (what a refusal names)
} zf_cg_seq;

/// A value, or a sequence. Registers hold bool as i1, integers as iN, floats as float or double.
typedef struct zf_cg_value {
    zf_type type;         ///< of the value, or of an element
    bool is_seq;          ///< seq is the value
    LLVMValueRef v;       ///< scalars; of nullable ones the value, 0 when null
    LLVMValueRef v_valid; ///< nullable: i1
    zf_cg_seq seq;        ///< sequences; also a string, as bytes (is_seq false, type string)
} zf_cg_value;

// ---- The environment ------------------------------------------------------------------------------------------

/// How a body reaches what surrounds it. One per activation: a kernel that inlines a producer makes another for it. The
/// callbacks get the environment itself, so an owner embeds this struct in its own. A callback that is NULL is never reached
/// by the bodies that this environment runs; when it is, that is reported as ZF0804.
struct zf_cg_env {
    const zf_inst *inst;
    /// Prefers straight code: conditionals with pure arms become selects, checks in them count under cg->v_guard. For tiles.
    bool straight;
    /// `work` counts as the language does (V10): iterations of unbounded loops and terms of plain reductions, each on its own.
    /// If false, it counts everything that takes time.
    bool counts_as_written;
    bool counts_all; ///< of loops it counts every turn, also where the language needs no count
    /// Not NULL: the condition of this COND is known, and the other arm is never taken.
    const zf_expr *decided;
    bool decided_so; ///< which it is
    /// A thread makes several elements together, all of which count, and this is not its last (zf_fault_site).
    bool precedes;

    /// Value of a param.
    zf_cg_value (*param)(zf_cg *cg, zf_cg_env *env, const zf_port *port);
    /// Value of a domain index, lane or chunk number: u64.
    LLVMValueRef (*domain)(zf_cg *cg, zf_cg_env *env, const zf_local *local);
    /// Element `v_index` (u64) of a stream. The index was checked, as far as `access` wanted it. `access` is the INDEX
    /// expression, or NULL when a loop over the stream asks.
    zf_cg_value (*element)(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef v_index, const zf_expr *access);
    /// `v_count` (u64, 0..64) bits of a stored stream from bit `v_at`, as u64, checked likewise. `access` is the BITS expression.
    LLVMValueRef (*bits)(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef v_at, LLVMValueRef v_count,
                         const zf_expr *access);
    /// The same at a place that begins with a word of 32 bits. It was checked, and where `moves` it may lie outside of the stream
    /// all the same: zf_cg_bit_place_clamp moves it. May be NULL.
    LLVMValueRef (*bits_near)(zf_cg *cg, zf_cg_env *env, const zf_port *port, zf_cg_bit_place *place, bool moves,
                              LLVMValueRef v_count, const zf_expr *access);
    /// The same, not yet checked: bits that are known to lie in the stream without, or NULL, with nothing emitted. May be NULL.
    LLVMValueRef (*bits_beside)(zf_cg *cg, zf_cg_env *env, const zf_port *port, const zf_cg_bit_place *place,
                                LLVMValueRef v_count, const zf_expr *access);
    /// Where the elements of a stream of u8 lie, one after the other: strings are slices of it. *v_from and *v_to (u64), checked,
    /// are the slice's ends; where the environment stands for nothing they become 0.
    LLVMValueRef (*slice)(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef *v_from, LLVMValueRef *v_to);
    /// Elements of a stream; NULL port: of `out`. u64.
    LLVMValueRef (*length)(zf_cg *cg, zf_cg_env *env, const zf_port *port);
    /// Element of `out`.
    zf_cg_value (*out)(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_index, const zf_expr *access);

    /// A check that `v_ok` (i1) must hold, violation `violation` (1 for V01) when not. `at` is the expression that wants it, or
    /// NULL for a statement. Two ways to answer: leave the straight path when it does not hold and return NULL (what follows may
    /// rely on it), or note the failure and return v_ok; the caller then substitutes a harmless operand. NULL with nothing
    /// emitted: it was hoisted. v_ok is already true where cg->v_guard does not hold. V05 (element outside its port's range):
    /// `at` is the pulling expression and span its; V20 (param): span is the port's.
    LLVMValueRef (*check)(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at);
    /// True when `check` would emit nothing for this access, because it was hoisted: spares computing its operand. May be NULL.
    bool (*hoisted)(zf_cg *cg, zf_cg_env *env, unsigned violation, zf_span span, const zf_expr *at);

    /// An element, and the check of its index, that the environment makes in its own way; else false. May be NULL.
    bool (*look_up)(zf_cg *cg, zf_cg_frame *frame, const zf_expr *access, zf_cg_value *out);
    /// Whether a check has failed (i1) in the reduction that is being built, after which its loops end; NULL: the function leaves
    /// then. Around a reduction: `failed_begin` says that none has, and returns what was said before, `failed_end` says both.
    LLVMValueRef (*failed)(zf_cg *cg, zf_cg_env *env);
    LLVMValueRef (*failed_begin)(zf_cg *cg, zf_cg_env *env);
    void (*failed_end)(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_before);
    /// Value of a reduction that the environment has; else false. May be NULL.
    bool (*reduced)(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out);
    /// Value of a matched reduction (SCAN, SEGMENTED, PREFIX). The environment may lower it as a plain loop by returning false.
    bool (*reduce)(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out);
    /// Builds the end of each turn of a loop, also of those that `continue` ends; may be NULL.
    void (*end_turn)(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *loop);
    /// Expressions and statements that only this environment knows (cursors, pushes, emits, ...): false when it does not.
    bool (*expr)(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out);
    bool (*stmt)(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);
    /// Takes `v_count` iterations (u64) from what the body may still do (V10). NULL: nothing to count.
    void (*work)(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_count, zf_span span);
    /// Assignment to a param or a state (`place`).
    bool (*assign)(zf_cg *cg, zf_cg_frame *frame, const zf_expr *place, const zf_cg_value *value);
};

/// A local that already has a value when a body or an expression is evaluated: the binder of a scan's term.
typedef struct zf_cg_binding {
    const zf_local *local;
    zf_cg_value value;
} zf_cg_binding;

// ---- Bodies (cg_stmt.c, cg_expr.c) ----------------------------------------------------------------------------

/// Evaluates a body: its statements, then its value (none: type ZF_K_NONE). A failed check that was only noted leaves
/// cg->v_guard stricter than before; whoever goes on to something unrelated (the next element) restores it.
zf_cg_value zf_cg_eval_body(zf_cg *cg, zf_cg_env *env, const zf_body *body);
/// Evaluates one expression of a body on its own, with bindings; immutable locals are looked through.
zf_cg_value zf_cg_eval_expr(zf_cg *cg, zf_cg_env *env, const zf_body *body, const zf_expr *expr, const zf_cg_binding *bindings,
                            size_t binding_count);
/// The same within a body that is being evaluated: for callbacks.
zf_cg_value zf_cg_expr(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr);
void zf_cg_bind(zf_cg *cg, zf_cg_frame *frame, const zf_local *local, const zf_cg_value *value);
void zf_cg_stmts(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmts);
zf_cg_env *zf_cg_frame_env(zf_cg_frame *frame);

/// `a op b` of one type as the language defines it, without checks of its own: the combination of a reduction.
LLVMValueRef zf_cg_reduce_combine(zf_cg *cg, zf_reduce_op op, zf_type type, LLVMValueRef v_a, LLVMValueRef v_b);
/// Returns the result of a reduction without terms; for min and max this is 0 as well, so the first element must be treated
/// apart.
LLVMValueRef zf_cg_reduce_empty(zf_cg *cg, zf_reduce_op op, zf_type type);

/// Tells that v (i64) is v_base + v_k, where v_base is a multiple of `count` and v_k less than that: divided by a multiple of
/// `count` all such v are the same, and so it is lowered.
void zf_cg_neighbour(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_base, LLVMValueRef v_k, uint64_t count);
/// v / v_by or v % v_by, of naturals.
LLVMValueRef zf_cg_quotient(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_by);
LLVMValueRef zf_cg_remainder(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_by);

/// Element `v_index` of a sequence. No check.
zf_cg_value zf_cg_seq_element(zf_cg *cg, zf_cg_env *env, const zf_cg_seq *seq, LLVMValueRef v_index, const zf_expr *access);
LLVMValueRef zf_cg_seq_length(zf_cg *cg, zf_cg_env *env, const zf_cg_seq *seq);

// ---- Bits (cg_bits.c) -----------------------------------------------------------------------------------------

/// `v_count` (u64, at most `count_limit` <= 64) bits from bit `v_at` (u64) of little-endian words that begin at v_pointer: the
/// same bits for words of 8, 16, 32 and 64. `msb`: bits_msb: bit k is bit 7 - k % 8 of byte k / 8, the first bit the highest of
/// the result. Reads at most 16 bytes from the byte that holds the first bit. Constant operands fold. Nothing is checked.
LLVMValueRef zf_cg_load_bits(zf_cg *cg, LLVMValueRef v_pointer, LLVMValueRef v_at, LLVMValueRef v_count, uint64_t count_limit,
                             bool msb);
/// Whether the target has an instruction for it that LLVM does not find by itself.
bool zf_cg_has_funnel(const zf_cg *cg);
/// The low word of (v_high : v_low) >> v_shift % 32, or `left` the high word of (v_high : v_low) << v_shift % 32, all i32.
LLVMValueRef zf_cg_funnel(zf_cg *cg, bool left, LLVMValueRef v_high, LLVMValueRef v_low, LLVMValueRef v_shift);
/// 32 bits, or `is_wide` 64, from bit v_shift % 32 of the word at v_from: reads two words, or three.
LLVMValueRef zf_cg_words_span(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_shift, bool is_wide);
/// `v_count` (u64, at most `count_limit` <= 64) bits from bit v_shift % 32 (i32) of aligned words of 32 bits at v_from: two of
/// them are read for up to 32 bits, three for more.
LLVMValueRef zf_cg_words_bits(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_shift, LLVMValueRef v_count, uint64_t count_limit,
                              bool msb);
/// The lowest v_count (0..=64) bits set.
LLVMValueRef zf_cg_low_mask(zf_cg *cg, LLVMValueRef v_count, uint64_t count_limit);
/// The low half of an i64, and whether that is all of it (i1).
LLVMValueRef zf_cg_narrow(zf_cg *cg, LLVMValueRef v, LLVMValueRef *v_fits);
/// The halves of an i64, as i32; the low one of any integer.
LLVMValueRef zf_cg_low_half(zf_cg *cg, LLVMValueRef v);
LLVMValueRef zf_cg_high_half(zf_cg *cg, LLVMValueRef v);
/// Bit `v_index` (i64) of bits in memory, as an i1.
LLVMValueRef zf_cg_bit_at(zf_cg *cg, LLVMValueRef v_bits, LLVMValueRef v_index);
/// The byte that holds it (i32), shifted so that the bit is the lowest.
LLVMValueRef zf_cg_byte_of_bit(zf_cg *cg, LLVMValueRef v_bits, LLVMValueRef v_index);
/// The i64 of two i32.
LLVMValueRef zf_cg_both_halves(zf_cg *cg, LLVMValueRef v_low, LLVMValueRef v_high);
/// A mask of the lowest v_count bytes (i32, 0 to 8) of eight.
LLVMValueRef zf_cg_low_bytes(zf_cg *cg, LLVMValueRef v_count);

// ---- Context (cg_context.c) -----------------------------------------------------------------------------------

/// Prepares a context for building into `module`; target stays NULL.
void zf_cg_init(zf_cg *cg, LLVMModuleRef module, zf_arena *arena, zf_diags *diags);
void zf_cg_dispose(zf_cg *cg);
/// Has `add` build code into `module`, with a context of its own whose memory is the arena's. ZF_ERR_UNSUPPORTED with the
/// diagnostic where `add` sets cg->failed, ZF_ERR_MEMORY where the arena has no memory; the context is disposed in any case.
zf_status zf_cg_build(LLVMModuleRef module, zf_arena *arena, unsigned compact, void (*add)(zf_cg *cg, void *user), void *user,
                      zf_error *error);
/// As zf_cg_build, with an arena of its own.
zf_status zf_cg_build_alone(LLVMModuleRef module, unsigned compact, void (*add)(zf_cg *cg, void *user), void *user,
                            zf_error *error);
/// Makes the code that is built from now on a part of `v_function`.
void zf_cg_begin_function(zf_cg *cg, LLVMValueRef v_function);
/// Reports ZF0804 and sets cg->failed.
void zf_cg_unsupported(zf_cg *cg, zf_span span, const char *format, ...) __attribute__((format(printf, 3, 4)));

LLVMTypeRef zf_cg_type(zf_cg *cg, zf_type type);        ///< in registers (bool: i1)
LLVMTypeRef zf_cg_memory_type(zf_cg *cg, zf_type type); ///< in arrays (bool: i8)
LLVMValueRef zf_cg_zero(zf_cg *cg, zf_type type);
/// A scalar from its bits, as ZF_X_CONST has them.
LLVMValueRef zf_cg_const(zf_cg *cg, zf_type type, uint64_t bits);
/// A zero of a type, nullable ones and strings included.
zf_cg_value zf_cg_zero_value(zf_cg *cg, zf_type type);
zf_cg_value zf_cg_scalar(zf_type type, LLVMValueRef v);
/// A constant array in the module, made once: the bytes of a table.
LLVMValueRef zf_cg_table(zf_cg *cg, const zf_table_const *table);
/// A word of 64 bits as a value of `type` (integers truncated, floats by their bits, bool: not 0), and back (zero extended bits).
LLVMValueRef zf_cg_from_word(zf_cg *cg, zf_type type, LLVMValueRef v_word);
LLVMValueRef zf_cg_to_word(zf_cg *cg, zf_type type, LLVMValueRef v);

#endif
