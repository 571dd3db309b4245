#include "codegen/llvm/pass_gate.h"

#include <llvm-c/Target.h> // LLVM_VERSION_MAJOR
#include <stddef.h>

#if LLVM_VERSION_MAJOR != 19
#error "compare function_table with llvm/IR/OptBisect.h of this LLVM, and name its version here"
#endif

// llvm::LLVMContext::setOptPassGate(llvm::OptPassGate &), weak: what LLVM is linked to may hide it.
__attribute__((weak)) void
zf_llvm_set_pass_gate(LLVMContextRef context,
                      zf_pass_gate *gate) __asm__("_ZN4llvm11LLVMContext14setOptPassGateERNS_11OptPassGateE");

/// llvm::StringRef: it is passed as two words.
typedef struct string_ref {
    const char *text;
    size_t length;
} string_ref;

/// The table of virtual functions of llvm::OptPassGate of LLVM 19, in the order of its header (llvm/IR/OptBisect.h), as the C++
/// interface of Linux (Itanium) lays it out. Objects point to `end`.
typedef struct function_table {
    ptrdiff_t offset;
    const void *type;
    void (*end)(zf_pass_gate *gate), (*end_and_free)(zf_pass_gate *gate);
    bool (*may_run)(zf_pass_gate *gate, string_ref pass, string_ref over);
    bool (*is_enabled)(const zf_pass_gate *gate);
} function_table;

static void end(zf_pass_gate *gate) { (void)gate; } // LLVM owns no gate, and ends none

static bool may_run(zf_pass_gate *gate, string_ref pass, string_ref over) {
    (void)pass, (void)over;
    return gate->may_run(gate->user);
}

static bool is_enabled(const zf_pass_gate *gate) {
    (void)gate;
    return true;
}

static const function_table functions = {.end = end, .end_and_free = end, .may_run = may_run, .is_enabled = is_enabled};

bool zf_cg_has_gate(void) { return zf_llvm_set_pass_gate != NULL; }

void zf_cg_gate(LLVMContextRef context, zf_pass_gate *gate, bool (*asked)(void *user), void *user) {
    *gate = (zf_pass_gate){.functions = &functions.end, .may_run = asked, .user = user};
    if (zf_llvm_set_pass_gate != NULL) zf_llvm_set_pass_gate(context, gate);
}
