// Types of elements and intervals of integers.
#ifndef ZF_FRONTEND_TYPE_H
#define ZF_FRONTEND_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "zipflow/zipflow.h"

__extension__ typedef __int128 zf_int128;

/// Kinds of values: the elements of zipflow.h, and what only the compiler knows.
typedef enum zf_kind {
    ZF_K_U8 = ZF_U8,
    ZF_K_U16 = ZF_U16,
    ZF_K_U32 = ZF_U32,
    ZF_K_U64 = ZF_U64,
    ZF_K_I8 = ZF_I8,
    ZF_K_I16 = ZF_I16,
    ZF_K_I32 = ZF_I32,
    ZF_K_I64 = ZF_I64,
    ZF_K_F32 = ZF_F32,
    ZF_K_F64 = ZF_F64,
    ZF_K_BOOL = ZF_BOOL,
    ZF_K_STRING = ZF_STRING,
    ZF_K_OPAQUE, ///< an unbounded generic while its algorithm is checked: moved, compared, interned, nothing else
    ZF_K_NONE,   ///< no value: a statement-like call
    ZF_K_ERROR,  ///< poisoned: already reported, everything that touches it stays quiet
} zf_kind;

/// A type of an element, by value. Algorithms are instantiated with `logical` stripped; columns keep it.
typedef struct zf_type {
    zf_kind kind;
    zf_logical logical;
    uint8_t precision, scale;
    bool nullable;
    uint8_t opaque; ///< which generic, for OPAQUE
} zf_type;

zf_type zf_type_of(zf_kind kind);
zf_type zf_type_strip(zf_type type);      ///< without its logical name
zf_type zf_type_value(zf_type type);      ///< E of E?
bool zf_type_storable(zf_type type);      ///< whether a file can hold a stream of it as it is: numbers and booleans
bool zf_type_equal(zf_type a, zf_type b); ///< logical names count
bool zf_kind_is_integer(zf_kind kind);
bool zf_kind_is_unsigned(zf_kind kind);
bool zf_kind_is_signed(zf_kind kind);
bool zf_kind_is_float(zf_kind kind);
unsigned zf_kind_size(zf_kind kind); ///< bytes; bool 1; string, opaque, none: 0
unsigned zf_kind_bits(zf_kind kind);
zf_kind zf_kind_unsigned(zf_kind kind); ///< the unsigned integer as wide
zf_kind zf_kind_signed(zf_kind kind);
const char *zf_kind_name(zf_kind kind);                  ///< "u8"
const char *zf_type_name(zf_arena *arena, zf_type type); ///< "decimal(15, 2)?"

/// All integers lo..=hi. Empty when lo > hi.
typedef struct zf_interval {
    zf_int128 lo, hi;
} zf_interval;

zf_interval zf_interval_of_kind(zf_kind kind); ///< all values of an integer kind; bool: 0..=1
zf_interval zf_interval_const(zf_int128 value);
zf_interval zf_interval_hull(zf_interval a, zf_interval b);
zf_interval zf_interval_meet(zf_interval a, zf_interval b);
bool zf_interval_within(zf_interval inner, zf_interval outer);
bool zf_interval_is_const(zf_interval interval);
const char *zf_interval_text(zf_arena *arena, zf_interval interval); ///< "0..=64"

/// The value of an integer constant of kind `kind` held in 64 bits, and back (modulo its width).
zf_int128 zf_value_of_bits(zf_kind kind, uint64_t bits);
uint64_t zf_bits_of_value(zf_kind kind, zf_int128 value);

#endif
