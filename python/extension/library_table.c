// The table of `_runtime`. No header of the library is included: here its functions have no types.
#include "python/extension/library.h"
#include "python/extension/library_text.h"

#define ZF_BRIDGE(name) extern void name(void);
#include "python/extension/library.def"
#undef ZF_BRIDGE

#define ZF_BRIDGE(name) name,
static const zf_py_function functions[] = {
#include "python/extension/library.def"
};
#undef ZF_BRIDGE

static const zf_py_library library = {library_text, sizeof functions / sizeof *functions, functions};

const zf_py_library *zf_py_library_table(void) { return &library; }
