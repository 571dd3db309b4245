// The table of C functions that generated code reaches by name: what encoders call.
#include "codegen/encode/encode_support.h"
#include "compiler/compiler.h"

size_t zf_encode_symbols(zf_jit_symbol *out) {
    size_t count = 0;
#define X(name, returns, arguments)                                                                                              \
    if (out != NULL) out[count] = (zf_jit_symbol){#name, (const void *)(uintptr_t)name};                                         \
    count++;
    ZF_ENCODE_FUNCTIONS(X)
#undef X
    return count;
}
