// The programs that are the library's: algorithms, functions and constants of dsl/std, by their identities
// (frontend/spec/spec.h).
#ifndef ZF_COMPILER_KNOWN_H
#define ZF_COMPILER_KNOWN_H

#include "frontend/spec/spec.h"
#include "runtime/base/private.h"
#include "runtime/container/container.h"

/// A declaration of the library.
typedef struct zf_known_program {
    uint8_t identity[ZF_IDENTITY_BYTES];
    const char *name; ///< in the library; of several equal ones, one
    bool earlier;     ///< of an earlier release, and not of this build's library
} zf_known_program;

/// Finds a declaration of the library by its identity. NULL: the library has none. Any thread.
const zf_known_program *zf_known_find(const uint8_t identity[ZF_IDENTITY_BYTES]);

/// Refuses a container that was opened with ZF_PROGRAMS_KNOWN, if its index states a program that is not the library's. The index
/// cannot admit anything: zf_known_check decides. Any thread.
zf_status zf_known_check_stated(const zf_container *container, zf_error *error);
/// Compares the text of a container with the identities that its index states, and refuses programs that are not the library's,
/// if the container was opened with ZF_PROGRAMS_KNOWN. `declared`: all that the text declares. Errors: ZF_ERR_INPUT (ZF1207,
/// ZF1218). Any thread.
zf_status zf_known_check(const zf_container *container, const zf_declarations *declared, zf_error *error);

#endif
