// Ends LLVM's work early: a function of ours is asked before each pass.
#ifndef ZF_CODEGEN_PASS_GATE_H
#define ZF_CODEGEN_PASS_GATE_H

#include <llvm-c/Core.h>
#include <stdbool.h>

/// LLVM takes a gate for a C++ object. It lives as long as its context is used.
typedef struct zf_pass_gate {
    const void *functions; ///< first: its virtual functions
    bool (*may_run)(void *user);
    void *user;
} zf_pass_gate;

/// Has LLVM ask `may_run(user)` before each pass that it can do without, over any module of the context. Where the answer is no,
/// the pass is left out: the module stays valid, and LLVM ends as soon as the pass that runs does. Passes that code cannot be
/// made without are not asked about: instruction selection, which is the fast one after a no, and register allocation.
///
/// LLVM's C interface has no such function. Where the C++ one is hidden (zf_cg_has_gate), nothing is asked.
void zf_cg_gate(LLVMContextRef context, zf_pass_gate *gate, bool (*may_run)(void *user), void *user);
/// Whether LLVM asks. Else a budget of time ends between two stages of a compilation only (budget.h).
bool zf_cg_has_gate(void);

#endif
