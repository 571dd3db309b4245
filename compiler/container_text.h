// The text of codecs that a container carries, read for the compiler and for makers of modules alike: lines and columns that
// errors name must not depend on who made the code.
#ifndef ZF_CODEGEN_CONTAINER_TEXT_H
#define ZF_CODEGEN_CONTAINER_TEXT_H

#include "frontend/spec/spec.h"
#include "runtime/base/private.h"
#include "runtime/container/container.h"

/// Lays out a canonical text, parses and checks it, without std, and finds its table. `path` names it in errors, whose status is
/// ZF_ERR_INPUT where it is damaged. `passes`: where time is noted, or NULL. The caller destroys `*spec`, also after a failure,
/// if it is not NULL.
zf_status zf_container_text_read(const char *text, size_t length, const char *path, const char *table_name, zf_passes *passes,
                                 zf_spec **spec, const zf_table **table, zf_error *error);

/// A type of a program as containers have it.
ZF_PRIVATE_API zf_column_type zf_column_type_of(zf_type type);

#endif
