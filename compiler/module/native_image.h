// The native code of a module: one position-independent image of many object files. It calls functions outside of itself through
// a table of addresses, one page before the code, which the loader fills (runtime/module/module_native.c).
#ifndef ZF_COMPILER_NATIVE_IMAGE_H
#define ZF_COMPILER_NATIVE_IMAGE_H

#include "runtime/base/error.h"
#include "runtime/base/text.h"

/// An image. It begins with a stub for each import that generated code may have (zf_imports). Zeroes are an empty one. Free
/// `code` with zf_text_free.
typedef struct zf_native_image {
    zf_text code;
} zf_native_image;

/// Adds the code and constants of an x86-64 ELF object, and resolves the references between them.
/// `places` receives for each symbol the offset of its function in the image, or UINT64_MAX if the object has none.
/// Errors: ZF_ERR_INTERNAL where the object has writable data, unknown symbols or absolute addresses.
zf_status zf_native_image_add(zf_native_image *image, const char *object, size_t bytes, const char *const *symbols, size_t count,
                              uint64_t *places, zf_error *error);

#endif
