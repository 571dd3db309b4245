// Steps that lanes guess: how simt_guess.c, which begins and ends a window of them, builds and follows them. For files of chunks
// only.
#ifndef ZF_CODEGEN_SIMT_GUESS_H
#define ZF_CODEGEN_SIMT_GUESS_H

#include "codegen/simt/chunks/simt_cursors.h"
#include "codegen/simt/chunks/simt_records.h"

enum {
    ZF_GUESS_TURNS = 4,          ///< of a step's loops together, its own included
    ZF_GUESS_REQUIRES = 4,       ///< statements that wait
    ZF_GUESS_REQUIRE_LOCALS = 8, ///< that such a statement takes
};
#define ZF_GUESS_ENTERS UINT32_C(0x40000000)    ///< above the distance to the inner turns that follow
#define ZF_GUESS_UNDECIDED UINT32_C(0x80000000) ///< in place of the distance to the next step
#define ZF_GUESS_LAST UINT32_C(0xc0000000)      ///< likewise: no step follows

/// A site of the step: slots.
typedef struct zf_guess_site {
    LLVMValueRef v_some;                   ///< i1: it is come to, and emits something
    LLVMValueRef v_before;                 ///< i32: elements of the step before it
    LLVMValueRef v_distance;               ///< i32, of a copy of the output
    LLVMValueRef v_words[ZF_RECORD_WORDS]; ///< i64, of others
} zf_guess_site;

/// A `require` that waits: slots.
typedef struct zf_guess_waiting {
    const zf_stmt *stmt;
    LLVMValueRef v_met;    ///< i1: it is come to
    LLVMValueRef v_before; ///< i32
    const zf_local *locals[ZF_GUESS_REQUIRE_LOCALS];
    LLVMValueRef v_locals[ZF_GUESS_REQUIRE_LOCALS];
    uint32_t local_count;
    bool fits;
} zf_guess_waiting;

struct zf_guess {
    zf_records *r;
    bool inner;      ///< steps are turns of the inner loop
    uint32_t stride; ///< elements from a lane's step to the next lane's
    bool sketches;   ///< only lengths count, of steps whose checks hold
    zf_record_cursors others;
    LLVMValueRef v_turns;    ///< slot (i32): inner turns that follow the step
    LLVMValueRef v_elements; ///< slot (i32): of the step so far
    LLVMValueRef v_site;     ///< slot (i32), where a step comes to one site at most, and all share their slots: its number
    zf_guess_site sites[ZF_RECORD_SITES];
    zf_guess_waiting waits[ZF_GUESS_REQUIRES];
    uint32_t wait_count;
};

/// The steps of the first lane.
typedef struct zf_guess_chain {
    LLVMValueRef v_steps;    ///< set of lanes
    LLVMValueRef v_next;     ///< i32: as a step's, of the last
    LLVMValueRef v_elements; ///< i32: of all
    LLVMValueRef v_true;     ///< i1: this lane's step is one of them, and decided
    LLVMValueRef v_begin;    ///< i32: where its elements begin
    LLVMValueRef v_taken;    ///< set of lanes, of inner turns: those that are made
    LLVMValueRef v_last;     ///< i32: the last lane of the steps
    LLVMValueRef v_away;     ///< i32: where that step begins
} zf_guess_chain;

// ---- simt_guess_step.c ----
/// Begins the slots of a step that is built next.
void zf_guess_begin_slots(struct zf_guess *guess);
/// Builds the step v_away (i32) from v_at on, by the lanes apart; the window has bytes up to v_known. Returns the distance from
/// v_at to the next step (i32), ZF_GUESS_UNDECIDED or ZF_GUESS_LAST.
LLVMValueRef zf_guess_build_step(struct zf_guess *guess, LLVMValueRef v_at, LLVMValueRef v_away, LLVMValueRef v_known);
/// Whether 32 bits of a local are kept for a `require` that waits: where it has more, the step is undecided.
bool zf_guess_keeps_32_bits(const zf_local *local);

// ---- simt_guess_chain.c ----
/// Builds steps from v_at on, and follows those of the first lane.
zf_guess_chain zf_guess_follow(struct zf_guess *guess, LLVMValueRef v_at, LLVMValueRef v_known);
/// The lanes up to the first that does not go on (i1), which is *v_last. The last lane must not.
LLVMValueRef zf_guess_lanes_that_go_on(zf_records *records, LLVMValueRef v_goes_on, LLVMValueRef *v_last);
/// For every lane the steps that follow its own among the elements of as many lanes (a set), where v_goes_on (i1) says whether
/// its own is followed by the one at v_next (i32, a lane). *v_last: the last of them.
LLVMValueRef zf_guess_steps_behind(zf_records *records, LLVMValueRef v_next, LLVMValueRef v_goes_on, uint32_t least,
                                   LLVMValueRef *v_last);
/// Whether this lane is in a set (i1).
LLVMValueRef zf_guess_is_among(struct zf_guess *guess, LLVMValueRef v_steps);
/// Finds where the elements of the true steps begin.
void zf_guess_place_elements(const struct zf_guess *guess, zf_guess_chain *chain);

// ---- simt_guess_wide.c ----
/// The same as zf_guess_follow where lanes look for steps at several places each.
zf_guess_chain zf_guess_follow_wide(struct zf_guess *guess, LLVMValueRef v_at, LLVMValueRef v_known);

#endif
