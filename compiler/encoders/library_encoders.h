// The encoders that a compiler has without registration: LZ4, Snappy, Deflate and Zstandard by the libraries of these formats.
#ifndef ZF_COMPILER_LIBRARY_ENCODERS_H
#define ZF_COMPILER_LIBRARY_ENCODERS_H

#include "zipflow/compile.h"

/// The libraries, opened when an encoder first needs them.
typedef struct zf_library_set zf_library_set;

enum { ZF_LIBRARY_ENCODERS = 6 };

/// Creates a set; NULL: no memory. Free it with zf_library_set_free, when no encoder runs any more.
zf_library_set *zf_library_set_create(void);
void zf_library_set_free(zf_library_set *set);
/// Fills `out` with the encoders, which use the set.
void zf_library_encoders(zf_library_set *set, zf_extern_encoder out[ZF_LIBRARY_ENCODERS]);

#endif
