// Reading a .zf file for a test, with its diagnostics on standard output when there are errors.
#ifndef ZF_TESTS_LOAD_H
#define ZF_TESTS_LOAD_H

#include "frontend/spec/spec.h"

/// The checked spec of a file, or of a text under a name; NULL when there was an error.
zf_spec *load_file(const char *path);
zf_spec *load_text(const char *name, const char *text);
/// A whole file in memory that the caller frees; NULL when it cannot be read.
void *load_bytes(const char *path, size_t *size);

#endif
