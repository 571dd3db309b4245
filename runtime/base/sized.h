// Structs of the public interface that begin with their size, so that a caller of another version can pass its own.
//
// A size of 0 stands for the struct of version 0.1, and no size is below that one's. A smaller struct is an older caller's: what
// it lacks is 0. A larger one is a newer caller's: what this version does not know must be 0. struct_sizes.def has the sizes of
// both versions. A new member stands behind all others and makes the struct larger, also where it would fit into padding.
#ifndef ZF_RUNTIME_SIZED_H
#define ZF_RUNTIME_SIZED_H

#include "runtime/base/private.h"
#include "zipflow/zipflow.h"

/// The sizes of version 0.1. Those of other rooms' structs are in their headers.
enum {
#define ZF_STRUCT(type, first, now) ZF_FIRST_##type = first,
#include "runtime/base/struct_sizes.def"
};

/// Fails to compile where a struct has other bytes than its row: a new member changes the last number of the row, and no other.
#define ZF_CHECK_SIZE(type, first, now) _Static_assert(sizeof(type) == (now), #type " has a new size: change its row");

/// No struct is as large: a greater size is a caller's mistake, as a rule an uninitialised struct.
enum { ZF_SIZED_MOST = 4096 };

/// Copies a caller's struct to `own`, the same struct of this version, which has `now` bytes, and had `first` in 0.1. NULL is a
/// struct of zeroes. ZF_ERR_USAGE (ZF1119) where its size is impossible, or it sets what this version does not know.
ZF_PRIVATE_API zf_status zf_sized_take(void *own, size_t first, size_t now, const void *given, const char *name, zf_error *error);
/// Checks the size of a struct that zf_sized_give will fill: ZF_ERR_USAGE (ZF1119) as above.
ZF_PRIVATE_API zf_status zf_sized_check(const void *given, size_t first, const char *name, zf_error *error);
/// Checks the size of a struct that contains others by value, which only a caller of this layout can fill: it is `now`.
///
/// 0 stands for `first`, the size in 0.1, so it is accepted while the struct has not grown. ZF_ERR_USAGE (ZF1119) as above.
ZF_PRIVATE_API zf_status zf_sized_exact(const void *given, size_t first, size_t now, const char *name, zf_error *error);
/// Copies a struct of this version to a caller's, as far as that reaches, and fills the rest with 0. Keeps the caller's size.
ZF_PRIVATE_API void zf_sized_give(void *given, size_t first, size_t now, const void *own);
/// The same for element `index` of a caller's array, whose elements are as large as its first one says; they all get that size.
ZF_PRIVATE_API void zf_sized_give_at(void *array, size_t index, size_t first, size_t now, const void *own);

/// The same by the type's name, `own` and `given` being pointers.
#define ZF_TAKE(type, own, given, error) zf_sized_take((own), ZF_FIRST_##type, sizeof(type), (given), #type, (error))
#define ZF_CHECK_GIVEN(type, given, error) zf_sized_check((given), ZF_FIRST_##type, #type, (error))
#define ZF_EXACT(type, given, error) zf_sized_exact((given), ZF_FIRST_##type, sizeof(type), #type, (error))
#define ZF_GIVE(type, given, own) zf_sized_give((given), ZF_FIRST_##type, sizeof(type), (own))
#define ZF_GIVE_AT(type, array, index, own) zf_sized_give_at((array), (index), ZF_FIRST_##type, sizeof(type), (own))

#endif
