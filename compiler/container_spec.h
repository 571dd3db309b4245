// Reads the text of codecs that a container carries, for the compiler and for modules: both give errors the same lines and
// columns.
#ifndef ZF_COMPILER_CONTAINER_SPEC_H
#define ZF_COMPILER_CONTAINER_SPEC_H

#include "frontend/spec/spec.h"
#include "runtime/base/private.h"
#include "runtime/container/container.h"

/// Lays out, parses and checks a canonical text, without std, finds its table, and lists what it declares.
/// `path` names the text in errors. `passes` takes the time (NULL: nobody). The caller destroys `*spec` if it is not NULL, also
/// after a failure. Errors: ZF_ERR_INPUT where the text is damaged. Any thread.
zf_status zf_container_spec_read(const char *text, size_t length, const char *path, const char *table_name, zf_passes *passes,
                                 zf_spec **spec, const zf_table **table, zf_declarations *declared, zf_error *error);

/// Turns a place in the text `name` into the same place in a container, where containers share the text. NULL error: nothing.
void zf_container_spec_place(const zf_container *container, const char *name, zf_error *error);

/// Returns a type of a program as containers have it.
ZF_PRIVATE_API zf_column_type zf_column_type_of(zf_type type);

#endif
