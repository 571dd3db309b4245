// The stubs of `_compile`: each has the name of a function of the runtime, and jumps to its address in the table. The registers
// and the stack of the caller stay as they are, so one kind of stub serves every type. The addresses are the module's only state.
#include <string.h>

#include "python/extension/library.h"
#include "python/extension/library_text.h"

#if defined(__x86_64__)
#define ZF_JUMP(address) "jmp *" address "(%rip)\n"
#elif defined(__aarch64__)
#define ZF_JUMP(address) "adrp x16, " address "\nldr x16, [x16, :lo12:" address "]\nbr x16\n"
#else
#error "this machine has no stub yet: a jump to what a variable holds, without a change to registers of arguments"
#endif

#define ZF_BRIDGE(name)                                                                                                          \
    extern zf_py_function zf_py_to_##name;                                                                                       \
    zf_py_function zf_py_to_##name;                                                                                              \
    __asm__(".pushsection .text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name            \
            ":\n" ZF_JUMP("zf_py_to_" #name) ".size " #name ", . - " #name "\n.popsection\n");
#include "python/extension/library.def"
#undef ZF_BRIDGE

#define ZF_BRIDGE(name) &zf_py_to_##name,
static zf_py_function *const addresses[] = {
#include "python/extension/library.def"
};
#undef ZF_BRIDGE

bool zf_py_library_bind(const zf_py_library *library) {
    if (library->count != sizeof addresses / sizeof *addresses || strcmp(library->text, library_text) != 0) return false;
    for (size_t k = 0; k < library->count; k++) *addresses[k] = library->functions[k];
    return true;
}
