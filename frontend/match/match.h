// The parts of the matcher. It decides, from the typed tree alone, how an instance uses its streams and which
// reductions are scans: what fusion stands on. Everything it accepts is a row in one of four tables, each row with a
// test of its name in tests/unit/frontend/test_match.c:
//
//   index_forms   match_index.c   what an index or a bound is: constant, d + c, start of d's segment
//   bound_forms   match_index.c   how a trip count is bounded
//   reduce_forms  match.c          UNROLLED, SCAN, SEGMENTED, PREFIX, LOOP
//   use_forms     match_access.c   how one place uses a stream; their join is the port's access
#ifndef ZF_FRONTEND_MATCH_H
#define ZF_FRONTEND_MATCH_H

#include "frontend/spec/spec_internal.h"

// ---- Points (match_index.c) ----------------------------------------------------------------------------------

typedef enum zf_index_kind { ZF_INDEX_OTHER, ZF_INDEX_CONST, ZF_INDEX_LOCAL, ZF_INDEX_SEGMENT } zf_index_kind;

/// The form of an unsigned expression, seen through locals, calls and casts that keep the value.
typedef struct zf_index_form {
    zf_index_kind kind;
    zf_local *local; ///< LOCAL, SEGMENT: d
    uint64_t offset; ///< CONST: the value; LOCAL: d + offset; SEGMENT: d / segment * segment + offset
    uint64_t segment;
} zf_index_form;

zf_index_form zf_index_form_of(zf_expr *expr);
/// The expression that a value comes from: immutable locals, calls without statements and casts that keep it looked
/// through.
zf_expr *zf_match_view(zf_expr *expr);
/// At most how many values lo..hi has; UINT64_MAX when nothing bounds it.
uint64_t zf_trip_bound(const zf_binder *binder);

/// True when both always have one value: the same expression up to names of locals, looked through. Gives up (false) on
/// trees beyond a fixed size.
bool zf_match_same(zf_expr *a, zf_expr *b);
bool zf_match_same_reduce(const zf_reduce *a, const zf_reduce *b);

// ---- One instance being matched (match.c) ---------------------------------------------------------------------

/// The reductions around a place, innermost first.
typedef struct zf_enclosing {
    zf_reduce *reduce;
    const struct zf_enclosing *outer;
} zf_enclosing;

typedef enum zf_use { ZF_USE_I, ZF_USE_G, ZF_USE_GATHER, ZF_USE_CURSOR, ZF_USE_COUNT } zf_use;

/// All uses of one stream so far.
typedef struct zf_uses {
    bool found[ZF_USE_COUNT];
    bool beyond_next; ///< something that only bytes in memory can serve: all but `next` and [ ]
    bool bitwise, whole;
    bool neighbour; ///< an element at a constant distance from the domain's index
    bool elsewhere; ///< anything else that gathers
} zf_uses;

typedef struct zf_match {
    zf_spec *spec;
    zf_inst *inst;
    bool counts_groups;         ///< in `groups`, where no domain index exists yet
    const zf_enclosing *around; ///< reductions whose term is being visited
    zf_reduce *emit;            ///< the emit region whose term is being visited; NULL outside
    zf_reduce **numbered;       ///< distinct scans, segmented scans and prefix sums of the instance, by index
    uint32_t numbered_count, numbered_capacity;
    uint32_t body_first; ///< the count when the body began
    zf_uses *uses;       ///< by stream slot
    uint32_t *stamps;    ///< by local of the body: the last dependence test that saw it
    uint32_t stamp, stamp_count;
} zf_match;

// ---- Access (match_access.c) ----------------------------------------------------------------------------------

/// Notes the use of a stream that `expr` is, if it is one. True when its operand `a` is thereby done with.
bool zf_note_use(zf_match *match, zf_expr *expr);
/// Joins all uses into each port's access.
void zf_join_uses(zf_match *match);

// ---- Params (match_shapes.c), lanes (match_lanes.c) -----------------------------------------------------------

void zf_match_shapes(zf_spec *spec, zf_inst *inst);
/// Reports ZF0512.
void zf_match_lanes(zf_spec *spec, zf_inst *inst);

#endif
