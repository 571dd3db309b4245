// Builds programs of block checks from expressions. Not for other directories: block_checks.c uses it.
#ifndef ZF_PATTERNS_CHECK_PROGRAM_H
#define ZF_PATTERNS_CHECK_PROGRAM_H

#include "patterns/plan/plan.h"

enum { ZF_CP_BOUND_MOST = 32 }; ///< binders of the reductions around an access

/// A program that is being built. Stops at its first failure: `failed` is set, and the diagnostic reported.
typedef struct zf_check_builder {
    zf_arena *arena;
    const zf_plan *plan;
    zf_diags *diags;
    zf_abi_check_step *steps;
    uint64_t *constants;
    uint32_t step_count, step_room, constant_count, constant_room;
    uint32_t depth;               ///< words on the stack
    uint32_t locals, most_locals; ///< in use now; in use at most
    uint32_t nested;              ///< expressions around the one at hand
    uint32_t choices;             ///< conditions around it
    bool failed;
} zf_check_builder;

/// Where the expressions of a body stand.
typedef struct zf_check_scope {
    uint32_t node;
    int32_t groups;      ///< local that holds the number of groups, or -1
    bool uses_i, uses_g; ///< set when an index is read
    uint32_t bound_count;
    struct {
        const zf_local *local; ///< a binder, or a name whose value is kept
        uint32_t kept;         ///< local of the program
    } bound[ZF_CP_BOUND_MOST];
} zf_check_scope;

void zf_check_emit(zf_check_builder *b, zf_abi_check_op op, uint32_t a, uint32_t extra);
void zf_check_constant(zf_check_builder *b, uint64_t value);
/// Pushes the number of elements of an edge.
void zf_check_count(zf_check_builder *b, uint32_t edge);
/// Pushes how many chunks a tree has, which is an uneven directory.
void zf_check_chunks(zf_check_builder *b, uint32_t tree);
/// A fresh local of the program. Give all back by restoring `b->locals`.
uint32_t zf_check_local(zf_check_builder *b, zf_span span);
/// From here on `local` has the value of a local of the program.
void zf_check_bind(zf_check_builder *b, zf_check_scope *scope, const zf_local *local, uint32_t kept);
/// Pushes a param's value.
void zf_check_param(zf_check_builder *b, uint32_t node, const zf_port *port);
/// Pushes the value of an integer or boolean expression. DOMAIN_I is the last element of the node's output, DOMAIN_G the last
/// group, DOMAIN_J 0.
void zf_check_expr(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr);

#endif
