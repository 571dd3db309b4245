// How many tuples of shaping values a column has, and which of its blocks have general code.
#ifndef ZF_RUNTIME_TUPLE_COUNT_H
#define ZF_RUNTIME_TUPLE_COUNT_H

#include "runtime/base/abi.h"
#include "runtime/base/private.h"

/// Counts the tuples of a column, from the headers of its blocks.
///
/// `made`: the context has all code of the column for `device`, which is asked whether it is general. Otherwise nothing is
/// compiled: the first tuples in the order of blocks count as those with code of their own. Errors: those of plans, and
/// ZF_ERR_INPUT for a damaged block. Any thread.
ZF_PRIVATE_API zf_status zf_tuples_count(zf_container *container, size_t column, zf_abi_device device, bool made,
                                         zf_tuple_count *out, zf_error *error);

#endif
