// The plan: a graph cut into kernels. A kernel is a domain (elements, groups, chunks), tile steps and a sink. Codegen has
// one lowering per domain and target family; it reads this and the graph, and decides nothing about fusion itself.
#ifndef ZF_PATTERNS_PLAN_H
#define ZF_PATTERNS_PLAN_H

#include "patterns/graph/graph.h"
#include "patterns/plan/choices.h"
#include "patterns/plan/plan_target.h"
#include "runtime/base/abi.h"

typedef enum zf_domain { ZF_DOMAIN_ELEMENTS, ZF_DOMAIN_GROUPS, ZF_DOMAIN_CHUNKS } zf_domain;

/// The paper's <L,S,C>: see language.md section 5, "Targets". Data, with a default per domain and target; the tuner's subject.
typedef struct zf_geometry {
    uint32_t l, s, c;
} zf_geometry;

/// One field of a tree's seek state.
typedef enum zf_seek_kind {
    ZF_SEEK_GROUP,  ///< g of a group node
    ZF_SEEK_OFFSET, ///< o, the offset in g
    ZF_SEEK_SCAN,   ///< accumulator of scan `reduce` of a node
    ZF_SEEK_CHUNK,  ///< of a directory: where a chunk of a node starts in its stream `stream`
    ZF_SEEK_BYTES,  ///< bytes of the strings before; of the node that makes a column of strings
    ZF_SEEK_OUTPUT, ///< of an uneven directory: the output of a node with which a chunk starts
    ZF_SEEK_LENGTH, ///< of an uneven directory: the elements of a chunk of a node in its stream `stream`
} zf_seek_kind;

typedef struct zf_seek_field {
    zf_seek_kind kind;
    uint32_t node;
    uint32_t reduce; ///< SCAN: zf_reduce.index
    uint32_t stream; ///< CHUNK, LENGTH: slot
    zf_kind type;    ///< of the accumulator; u64 for the others
} zf_seek_field;

/// An access that is checked once per block, on the host, before any kernel runs (V01). Its index (and count of bits) never
/// decreases along the domain, so its value at the last element of the node's whole domain is the largest, and that element is
/// pulled whenever any is. To make the check: i = elements of the node's output - 1, or g = groups - 1 (nothing to check when
/// there are none); then each of `reduces`, outermost first, binds its binders to their last values (hi - 1, or hi where
/// inclusive; nothing to check where the range is empty); then compare the index, or index + bits, with the stream's length.
/// Nothing in it wraps for domains and lengths up to 2^32 elements (2^48 groups).
typedef struct zf_hoisted {
    uint32_t kernel, node;     ///< kernel: the first that evaluates the node
    const zf_expr *access;     ///< INDEX or BITS of a stream of the node
    uint32_t check;            ///< number in `checks`
    const zf_body *body;       ///< of the node's instance, in which the access stands
    const zf_reduce **reduces; ///< that enclose the access
    uint32_t reduce_count;
} zf_hoisted;

/// A check that a kernel makes, or that was hoisted. Its number goes into the failure word. One per node, violation and span:
/// an expression that inlining has copied is one check. Spans: V01, V07, V08: the expression's; V06: the statement's; V05: the
/// port's (node: the consumer); V09: the codec node's (node: the kernel's root).
typedef struct zf_check {
    uint32_t violation; ///< 1 for V01
    uint32_t node;
    zf_span span;
    bool hoisted;     ///< all accesses at this span are in `hoisted`
    const char *text; ///< "index of packed"
} zf_check;

typedef enum zf_step_kind { ZF_STEP_EXPAND, ZF_STEP_SCAN, ZF_STEP_MAP } zf_step_kind;

/// A kernel's steps run along *levels*: what is indexed alike is one level. Level 0 are the kernel's outputs; every group
/// algorithm that the kernel runs opens another one, the groups that it walks. A step stands behind those whose elements it
/// takes.
typedef struct zf_step {
    zf_step_kind kind;
    uint32_t node;
    const zf_reduce *reduce; ///< SCAN
    uint32_t level;          ///< along which it runs
    uint32_t groups;         ///< EXPAND: the level of its groups
} zf_step;

typedef struct zf_kernel {
    uint32_t index;
    zf_domain domain;
    uint32_t root;           ///< node whose output it makes
    uint32_t edge;           ///< that output: its count is the number of elements
    int32_t sink;            ///< -1: the column; else number of a work buffer
    const zf_reduce *prefix; ///< not NULL: it makes the prefix sums of this reduction of `root` instead of its output
    zf_step *steps;
    uint32_t step_count;
    uint32_t level_count;
    uint32_t *nodes; ///< all nodes that it evaluates, root first, in pre-order
    uint32_t node_count;
    int32_t tree;         ///< number of the seek tree, or -1 when it needs no state
    uint32_t tile;        ///< outputs a tile: A for ordered ones, whole chunks for those of chunks; of uneven chunks the most
    zf_geometry geometry; ///< the default but for what was chosen
    zf_choice choice;     ///< of an accelerator
    bool store_first;     ///< the body reads `out`
    bool by_warp;      ///< of chunks, on accelerators: a warp walks each, and its lanes share what an `emit` over a range makes
    int32_t end_check; ///< number of its V09, or -1: `tree` is -1
} zf_kernel;

/// A tree with a state: what the file keeps every A outputs of `edge`. Its fields are those of the kernel's nodes, in pre-order.
/// Or the directory of a non_parallel kernel: what it keeps for every chunk. Its fields all are CHUNK, where chunks are even;
/// else OUTPUT, and then CHUNK and LENGTH of each stream.
typedef struct zf_seek_tree {
    uint32_t edge;
    zf_seek_field *fields;
    uint32_t field_count;
} zf_seek_tree;

static inline bool zf_tree_is_uneven(const zf_seek_tree *tree) {
    return tree->field_count > 0 && tree->fields[0].kind == ZF_SEEK_OUTPUT;
}

/// A buffer between kernels. Prefix sums are those of the term over the elements of `edge`, an input of the kernel's root:
/// entry k is the reduction over 0..k. (Instances are shared, so look for `prefix` together with the kernel's root.)
typedef struct zf_work {
    uint32_t edge; ///< whose elements it holds
    zf_type type;
    uint32_t kernel;         ///< that makes it
    const zf_reduce *prefix; ///< not NULL: prefix sums, count(edge) + 1 of them
    /// Not NULL: these bytes are the column's characters, in their order, and this scan of node 0 gives the begin of each row,
    /// which is the state of the column's bytes there. The kernel of the bytes stores into the column, and the column's kernel
    /// only stores offsets: on accelerators always (none whose body reads `out` is so), on the host if all characters of a block
    /// are decoded.
    const zf_reduce *start;
    /// Not NULL, on accelerators: its elements hold the column's, packed, with as many bits each as this param of the edge's
    /// consumer says. Code that knows the param may store the column's elements as it makes the buffer's (zf_plan_unpacks).
    const zf_port *packed;
    /// Strings, on accelerators: a short string lies in its handle, since groups or the column's rows are made of such strings.
    bool short_strings;
} zf_work;

typedef struct zf_plan {
    zf_arena *arena;
    const zf_graph *graph;
    const zf_target *target;
    zf_kernel *kernels; ///< in the order in which they run
    zf_work *works;
    zf_seek_tree *trees;
    zf_hoisted *hoisted;
    zf_check *checks;
    const struct zf_block_checks *block_checks; ///< made once per block (block_checks.h); NULL in a plan that was read
    zf_abi_slot *slots;                         ///< the words of a block's descriptor
    uint32_t *shaping;                          ///< numbers of the params that shape code, ascending
    int32_t *edge_work;                         ///< per edge: work buffer that holds it, or -1
    const char **edge_reason;                   ///< per edge: what was done with it and why, for `explain`
    uint32_t kernel_count, work_count, tree_count, hoisted_count, check_count, slot_count, shaping_count;
} zf_plan;

#define ZF_UNFUSED_ALL "all"

typedef struct zf_plan_options {
    const char *target;        ///< name (plan_target.h); NULL: "host"
    uint32_t chunk_threads;    ///< of an accelerator, that walk a chunk without lanes: 1, or more: a warp where it can; 0: as its
                               ///< emits suggest
    const zf_choices *choices; ///< of kernels of accelerators; NULL: none. zf_codegen_choices_check says whether they are legal
    uint32_t seek_interval;    ///< A; 0: what is usual (plan_internal.h)
    bool materialise_all;      ///< fuse nothing that may be materialised: for tests, and to see what fusing is worth
    /// Ordered stages that are kernels of their own, with a seek tree each, where they could be steps of what reads them: a
    /// choice when a file is written. The streams that they make, as paths within the column ("values.start") between commas, or
    /// "all"; NULL: none. And those that a file says to be, edges with a tree.
    const char *unfused;
    const uint32_t *tree_edges;
    uint32_t tree_edge_count;
    const uint32_t *uneven_edges; ///< edges whose chunks a file says to be uneven
    uint32_t uneven_edge_count;
} zf_plan_options;

/// Cuts a graph. NULL with diagnostics (ZF08xx) where the target does not lower a form or a limit is passed.
zf_plan *zf_plan_build(zf_arena *arena, const zf_graph *graph, const zf_plan_options *options, zf_diags *diags);
void zf_plan_print(const zf_plan *plan, zf_text *out);
zf_plan *zf_plan_read(zf_arena *arena, const zf_graph *graph, const char *text, zf_text *message);
bool zf_plan_verify(const zf_plan *plan, zf_text *reason);
/// The geometry of a kernel for which nothing was chosen.
zf_geometry zf_kernel_default_geometry(const zf_plan *plan, const zf_kernel *kernel);
/// Whether the lanes of a warp can share what a kernel of chunks emits.
bool zf_kernel_can_be_shared(const zf_plan *plan, const zf_kernel *kernel);
/// Whether they do where nobody says who walks a chunk.
bool zf_kernel_is_shared_by_default(const zf_plan *plan, const zf_kernel *kernel);

/// Whether it is one of chunks whose directory says how long each is.
static inline bool zf_kernel_is_uneven(const zf_plan *plan, const zf_kernel *kernel) {
    return kernel->domain == ZF_DOMAIN_CHUNKS && kernel->tree >= 0 && zf_tree_is_uneven(&plan->trees[kernel->tree]);
}

/// Index of a descriptor word, or -1 when the plan has none of that kind.
int32_t zf_plan_slot(const zf_plan *plan, zf_abi_slot_kind kind, uint32_t a, uint32_t b);
/// Number of the check for this expression (or statement's span) of this node, or -1. A span without a source: the first of
/// that violation.
int32_t zf_plan_check(const zf_plan *plan, uint32_t node, zf_span span, uint32_t violation);
/// True when `access` of `node` is checked before the kernels run.
bool zf_plan_is_hoisted(const zf_plan *plan, uint32_t node, const zf_expr *access);
/// The access to the one stream that the term of prefix sums takes at its binder; of several the first that is not proved.
/// NULL when there is no such stream, or more than one.
const zf_expr *zf_prefix_access(const zf_reduce *prefix);
/// The kernel that makes the column, which is the last one; NULL: the plan has none.
static inline const zf_kernel *zf_plan_last_kernel(const zf_plan *plan) {
    return plan->kernel_count > 0 ? &plan->kernels[plan->kernel_count - 1] : NULL;
}
/// The work buffer whose bytes are the column's characters, or NULL.
const zf_work *zf_plan_characters(const zf_plan *plan);
/// Whether what would go into work buffer `work` (-1: none) goes into the column at once: its characters. On the host only where
/// all of a block's are wanted.
bool zf_plan_may_go_to_column(const zf_plan *plan, int32_t work);
/// Elements of the column that each element made by `kernel` holds, where code for these shaping values (NULL: the general form)
/// has it store those, in place of what it makes; 0: it stores what it makes. At most one kernel of a plan does so.
uint32_t zf_plan_unpacks(const zf_plan *plan, const uint64_t *shaping, uint32_t kernel);
/// Whether code for them has no such kernel, since another one stores what it would make.
bool zf_plan_leaves_out(const zf_plan *plan, const uint64_t *shaping, uint32_t kernel);
/// Whether an element of the column follows from its bits in such a buffer alone: its index has no part in it.
bool zf_plan_packs_alone(const zf_plan *plan, int32_t work);
/// The same for a buffer whose `packed` has the value `width`: elements of the column in each of its own, or 0.
uint32_t zf_work_unpacks(const zf_work *work, uint64_t width);
/// The known value of a param: given by the codec, or among `shaping`. False where code does not know it.
bool zf_plan_param_known(const zf_plan *plan, const uint64_t *shaping, uint32_t node, const zf_port *port, uint64_t *bits);
/// The work buffer with the prefix sums of a reduction of a node, or -1.
int32_t zf_plan_prefix_work(const zf_plan *plan, uint32_t node, const zf_reduce *prefix);

// ---- Groups of bytes (group_bytes.c) ----
/// The access by which element j of every group is byte j of a string that the group alone says; NULL for other bodies of groups.
const zf_expr *zf_group_string(const zf_plan *plan, const zf_kernel *kernel);
/// Whether groups have at most eight bytes each, and element j of a group is byte j, the lowest first, of a number that the group
/// alone says, or the same byte for all j; conditions of the group may choose between such.
bool zf_group_is_number(const zf_plan *plan, const zf_kernel *kernel);
/// The number of which an expression is byte j; NULL for others.
const zf_expr *zf_group_byte_of_number(const zf_expr *expr);

#endif
