// Sites: barriers, masks, guards at edges and checks. They keep a kernel right, and a missing one is often not noticed. All of
// them are emitted through the functions below, each with a word about its purpose.
//
// They are counted while a module is built, in the order in which they are emitted, and one of them can be left out, or all whose
// purpose begins alike: the fault switch (docs/internals/fault-switch.md), by which tests are judged. Without a switch
// (`zf_cg.sites` is NULL) the functions are the instructions that they are named after.
#ifndef ZF_CODEGEN_CG_FAULT_SITES_H
#define ZF_CODEGEN_CG_FAULT_SITES_H

#include "codegen/body/cg_emit.h"

typedef enum zf_fault_site_kind {
    ZF_SITE_BARRIER,
    ZF_SITE_MASK,  ///< of bits, lanes, or of checks that do not count
    ZF_SITE_GUARD, ///< at the edge of a tile, a row range, a block, a stream
    ZF_SITE_CHECK, ///< of what a file says
    ZF_SITE_KINDS,
} zf_fault_site_kind;

typedef struct zf_fault_site {
    zf_fault_site_kind kind;
    const char *what;  ///< static
    const char *in;    ///< static: the part of the kernel; NULL: not known
    char of[24];       ///< the stream that it is about; empty: not known
    char line[48];     ///< of a program, which it is in: how the statement begins; empty: none
    bool precedes;     ///< of a check: the thread makes further elements, which have the same one (zf_cg_env)
    char function[40]; ///< that it was emitted into
} zf_fault_site;

/// The sites of one module. It belongs to the caller.
typedef struct zf_fault_sites {
    uint32_t left_out;    ///< number of the site to leave out, from 1; 0: none
    const char *all_of;   ///< begins the purposes of sites that are all left out; NULL: none
    uint32_t all_count;   ///< of these, sites met
    uint32_t count;       ///< sites met
    zf_fault_site *noted; ///< the first `room` of them; may be NULL
    uint32_t room;
} zf_fault_sites;

/// Counts a site. True: it is to be left out. Without checks (`zf_cg.unchecked`) all of their kind are, and none is counted. In
/// release builds nothing else is left out: the switch is not in them (tests/arch/no_fault_switch.sh). `of`, which may be NULL,
/// and `precedes`: see zf_fault_site.
#ifdef NDEBUG
static inline bool zf_cg_site_of(const zf_cg *cg, zf_fault_site_kind kind, const char *what, const char *of, bool precedes) {
    (void)what;
    (void)of;
    (void)precedes;
    return cg->unchecked && kind == ZF_SITE_CHECK;
}
#else
bool zf_cg_site_of(zf_cg *cg, zf_fault_site_kind kind, const char *what, const char *of, bool precedes);
#endif
static inline bool zf_cg_site(zf_cg *cg, zf_fault_site_kind kind, const char *what) {
    return zf_cg_site_of(cg, kind, what, NULL, false);
}

/// A condition under which something is done, counts or is used; left out it always holds.
static inline LLVMValueRef zf_cg_holds_of(zf_cg *cg, zf_fault_site_kind kind, LLVMValueRef v_if, const char *what, const char *of,
                                          bool precedes) {
    if (LLVMIsAConstantInt(v_if) && LLVMConstIntGetZExtValue(v_if) != 0) return v_if; // proved: nothing can be left out
    return zf_cg_site_of(cg, kind, what, of, precedes) ? zf_cg_i1(cg, true) : v_if;
}
static inline LLVMValueRef zf_cg_holds(zf_cg *cg, zf_fault_site_kind kind, LLVMValueRef v_if, const char *what) {
    return zf_cg_holds_of(cg, kind, v_if, what, NULL, false);
}

/// A condition that something lies inside an edge.
static inline LLVMValueRef zf_cg_within(zf_cg *cg, LLVMValueRef v_if, const char *what) {
    return zf_cg_holds(cg, ZF_SITE_GUARD, v_if, what);
}
/// A condition for something that takes no part; left out it never holds.
static inline LLVMValueRef zf_cg_apart(zf_cg *cg, zf_fault_site_kind kind, LLVMValueRef v_if, const char *what) {
    return zf_cg_site(cg, kind, what) ? zf_cg_i1(cg, false) : v_if;
}

/// A condition for treating an edge in a way of its own.
static inline LLVMValueRef zf_cg_edge(zf_cg *cg, LLVMValueRef v_if, const char *what) {
    return zf_cg_apart(cg, ZF_SITE_GUARD, v_if, what);
}
/// The smaller of two unsigned values, the second of which is a limit.
static inline LLVMValueRef zf_cg_clamp_of(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_most, const char *what, const char *of) {
    return zf_cg_site_of(cg, ZF_SITE_GUARD, what, of, false) ? v : zf_cg_umin(cg, v, v_most);
}
static inline LLVMValueRef zf_cg_clamp(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_most, const char *what) {
    return zf_cg_clamp_of(cg, v, v_most, what, NULL);
}
/// The bits of v that v_mask has.
static inline LLVMValueRef zf_cg_mask(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_mask, const char *what) {
    return zf_cg_site(cg, ZF_SITE_MASK, what) ? v : zf_cg_and(cg, v, v_mask);
}

#endif
