// Checks that are put off (zf_cg.put_off), where all lanes of a warp run the same code. A branch that leaves the regions in which
// lanes may part takes a GPU an instruction for each of them, so failed checks leave by as few branches as there can be.
//
// Checks are joined to one condition until something may rely on it: a load, a store, a division, or any branch. These *settle*
// it: they leave where it does not hold. Until then code runs whose operands may be impossible. It must have no effect but on
// values of the chunk that is given up; and a value that LLVM calls poison does not reach the branch, since a check counts only
// where those before it hold.
//
// Turns of loops that statements are, too, are counted. Nothing relies on their number, so it is settled with the next condition,
// or else at the end of the turn. Other counts, as of the terms of a reduction, are checks like others.
#ifndef ZF_CODEGEN_CG_PUT_OFF_H
#define ZF_CODEGEN_CG_PUT_OFF_H

#include "codegen/body/cg.h"

typedef struct zf_cg_put_off {
    LLVMValueRef v_ok;                ///< i1: what is to be settled, in the block that is being built; NULL: nothing
    LLVMValueRef v_turns;             ///< slot (i1): there were turns left whenever one began
    bool of_loop;                     ///< what is counted now is a turn of a loop, whose end settles it
    const LLVMBasicBlockRef *bb_stop; ///< where to leave to; what is not settled when it changes leaves by the new one
} zf_cg_put_off;

/// Makes the slot. Checks are put off while cg->put_off is `checks`.
void zf_cg_put_off_begin(zf_cg *cg, zf_cg_put_off *checks, const LLVMBasicBlockRef *bb_stop);
/// Puts a check (i1) off.
void zf_cg_put_off_check(zf_cg *cg, LLVMValueRef v_ok);
/// Puts off that there are turns left (i1).
void zf_cg_put_off_turns(zf_cg *cg, LLVMValueRef v_left);
/// Returns what is to be settled, the turns as well (i1), for the caller to leave by; NULL: there are no checks.
LLVMValueRef zf_cg_put_off_take(zf_cg *cg);
/// Settles the checks, and the turns. To be called at the end of each turn of a loop.
void zf_cg_settle_turns(zf_cg *cg);

#endif
