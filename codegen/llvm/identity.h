// Which build of the code generator this is: what it makes from the same text may differ from build to build, so cached code is
// kept apart.
#ifndef ZF_CODEGEN_IDENTITY_H
#define ZF_CODEGEN_IDENTITY_H

#include "runtime/base/text.h"

/// Appends the linker's build id of the file that this library lies in; without one, that file's path, size and time.
void zf_build_identity(zf_text *out);

#endif
