// The bridge between the two extension modules. Each exports one symbol, so `_compile` does not find the runtime's functions by
// their names: `_runtime` has a table of them, and `_compile` has a stub for each, which jumps where the table says.
#ifndef ZF_PYTHON_LIBRARY_H
#define ZF_PYTHON_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define ZF_PY_LIBRARY_CAPSULE "zipflow._runtime.library"

typedef void (*zf_py_function)(void);

/// The table. Its text names the version and each function, so that tables of equal texts have equal functions.
typedef struct zf_py_library {
    const char *text; ///< "VERSION: NAME NAME ..."; library_text.h
    size_t count;
    const zf_py_function *functions;
} zf_py_library;

/// Returns the table of this module, constant for the life of the process.
const zf_py_library *zf_py_library_table(void);

/// Lets the stubs jump into `library`. Returns false, and changes nothing, where its text is another than that of the stubs.
/// Called at import, before any function of the library is.
bool zf_py_library_bind(const zf_py_library *library);

#endif
