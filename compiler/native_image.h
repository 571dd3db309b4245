// One flat piece of native code from many object files, which runs wherever it is put: for modules. What the code calls outside
// itself it reaches through a table of addresses, a page before the code, that whoever loads it fills
// (runtime/module/module_native.c).
#ifndef ZF_COMPILER_NATIVE_IMAGE_H
#define ZF_COMPILER_NATIVE_IMAGE_H

#include "runtime/base/error.h"
#include "runtime/base/text.h"

/// Starts with a stub for each import that generated code may have (zf_imports), so that calls have somewhere to go. Zeroes mean
/// that nothing was added yet. Free `code` with zf_text_free.
typedef struct zf_native_image {
    zf_text code;
} zf_native_image;

/// Adds the code and constants of an x86-64 ELF object and resolves what is between them. `places` gets, per symbol, where its
/// function stands in the image, or UINT64_MAX where the object has none. ZF_ERR_INTERNAL where the object wants what an image
/// cannot have: data that is written, symbols from elsewhere, addresses that are not relative.
zf_status zf_native_image_add(zf_native_image *image, const char *object, size_t bytes, const char *const *symbols, size_t count,
                              uint64_t *places, zf_error *error);

#endif
