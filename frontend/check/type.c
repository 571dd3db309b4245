#include "frontend/check/type.h"

#include <stdio.h>
#include <string.h>

enum { INTEGER = 1, SIGNED = 2, FLOAT = 4 };

// One row a kind.
static const struct {
    const char *name;
    uint8_t size, traits;
    zf_kind as_unsigned, as_signed;
} kinds[] = {
    [ZF_K_U8] = {"u8", 1, INTEGER, ZF_K_U8, ZF_K_I8},
    [ZF_K_U16] = {"u16", 2, INTEGER, ZF_K_U16, ZF_K_I16},
    [ZF_K_U32] = {"u32", 4, INTEGER, ZF_K_U32, ZF_K_I32},
    [ZF_K_U64] = {"u64", 8, INTEGER, ZF_K_U64, ZF_K_I64},
    [ZF_K_I8] = {"i8", 1, INTEGER | SIGNED, ZF_K_U8, ZF_K_I8},
    [ZF_K_I16] = {"i16", 2, INTEGER | SIGNED, ZF_K_U16, ZF_K_I16},
    [ZF_K_I32] = {"i32", 4, INTEGER | SIGNED, ZF_K_U32, ZF_K_I32},
    [ZF_K_I64] = {"i64", 8, INTEGER | SIGNED, ZF_K_U64, ZF_K_I64},
    [ZF_K_F32] = {"f32", 4, FLOAT, ZF_K_U32, ZF_K_I32},
    [ZF_K_F64] = {"f64", 8, FLOAT, ZF_K_U64, ZF_K_I64},
    [ZF_K_BOOL] = {"bool", 1, 0, ZF_K_U8, ZF_K_I8},
    [ZF_K_STRING] = {"string", 0, 0, ZF_K_ERROR, ZF_K_ERROR},
    [ZF_K_OPAQUE] = {"any type", 0, 0, ZF_K_ERROR, ZF_K_ERROR},
    [ZF_K_NONE] = {"nothing", 0, 0, ZF_K_ERROR, ZF_K_ERROR},
    [ZF_K_ERROR] = {"an error", 0, 0, ZF_K_ERROR, ZF_K_ERROR},
};

zf_type zf_type_of(zf_kind kind) { return (zf_type){.kind = kind}; }

zf_type zf_type_strip(zf_type type) {
    type.logical = ZF_LOGICAL_NONE;
    type.precision = type.scale = 0;
    return type;
}

zf_type zf_type_value(zf_type type) {
    type.nullable = false;
    return type;
}

bool zf_type_storable(zf_type type) { return !type.nullable && type.kind != ZF_K_STRING; }

bool zf_type_equal(zf_type a, zf_type b) {
    return a.kind == b.kind && a.logical == b.logical && a.nullable == b.nullable && a.precision == b.precision &&
           a.scale == b.scale && a.opaque == b.opaque;
}

bool zf_kind_is_integer(zf_kind kind) { return (kinds[kind].traits & INTEGER) != 0; }
bool zf_kind_is_signed(zf_kind kind) { return (kinds[kind].traits & SIGNED) != 0; }
bool zf_kind_is_unsigned(zf_kind kind) { return (kinds[kind].traits & (INTEGER | SIGNED)) == INTEGER; }
bool zf_kind_is_float(zf_kind kind) { return (kinds[kind].traits & FLOAT) != 0; }
unsigned zf_kind_size(zf_kind kind) { return kinds[kind].size; }
unsigned zf_kind_bits(zf_kind kind) { return kind == ZF_K_BOOL ? 1 : 8u * kinds[kind].size; }
zf_kind zf_kind_unsigned(zf_kind kind) { return kinds[kind].as_unsigned; }
zf_kind zf_kind_signed(zf_kind kind) { return kinds[kind].as_signed; }
const char *zf_kind_name(zf_kind kind) { return kinds[kind].name; }

const char *zf_type_name(zf_arena *arena, zf_type type) {
    const char *mark = type.nullable ? "?" : "";
    switch (type.logical) {
    case ZF_LOGICAL_DATE32: return type.nullable ? "date32?" : "date32";
    case ZF_LOGICAL_TIMESTAMP: return type.nullable ? "timestamp?" : "timestamp";
    case ZF_LOGICAL_DECIMAL: return zf_arena_printf(arena, "decimal(%u, %u)%s", type.precision, type.scale, mark);
    case ZF_LOGICAL_NONE: break;
    }
    return type.nullable ? zf_arena_printf(arena, "%s?", kinds[type.kind].name) : kinds[type.kind].name;
}

// ---- Intervals ----

zf_interval zf_interval_of_kind(zf_kind kind) {
    if (!zf_kind_is_integer(kind)) return (zf_interval){0, 1};
    unsigned bits = zf_kind_bits(kind);
    zf_int128 one = 1;
    if (zf_kind_is_signed(kind)) return (zf_interval){-(one << (bits - 1)), (one << (bits - 1)) - 1};
    return (zf_interval){0, (one << bits) - 1};
}

zf_interval zf_interval_const(zf_int128 value) { return (zf_interval){value, value}; }

zf_interval zf_interval_hull(zf_interval a, zf_interval b) {
    return (zf_interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

zf_interval zf_interval_meet(zf_interval a, zf_interval b) {
    return (zf_interval){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

bool zf_interval_within(zf_interval inner, zf_interval outer) {
    return inner.lo > inner.hi || (inner.lo >= outer.lo && inner.hi <= outer.hi);
}

bool zf_interval_is_const(zf_interval interval) { return interval.lo == interval.hi; }

// Decimal text of a 128-bit integer at the end of `buffer`.
static const char *decimal(zf_int128 value, char buffer[48]) {
    bool negative = value < 0;
    char *p = buffer + 47;
    *p = 0;
    do {
        int digit = (int)(value % 10);
        *--p = (char)('0' + (digit < 0 ? -digit : digit));
        value /= 10;
    } while (value != 0);
    if (negative) *--p = '-';
    return p;
}

const char *zf_interval_text(zf_arena *arena, zf_interval interval) {
    char lo[48], hi[48];
    if (interval.lo == interval.hi) return zf_arena_printf(arena, "%s", decimal(interval.lo, lo));
    return zf_arena_printf(arena, "%s..=%s", decimal(interval.lo, lo), decimal(interval.hi, hi));
}

zf_int128 zf_value_of_bits(zf_kind kind, uint64_t bits) {
    switch (kind) {
    case ZF_K_I8: return (int8_t)bits;
    case ZF_K_I16: return (int16_t)bits;
    case ZF_K_I32: return (int32_t)bits;
    case ZF_K_I64: return (int64_t)bits;
    case ZF_K_U8: return (uint8_t)bits;
    case ZF_K_U16: return (uint16_t)bits;
    case ZF_K_U32: return (uint32_t)bits;
    case ZF_K_BOOL: return bits != 0;
    default: return bits;
    }
}

uint64_t zf_bits_of_value(zf_kind kind, zf_int128 value) {
    uint64_t bits = (uint64_t)value;
    unsigned width = zf_kind_is_integer(kind) ? zf_kind_bits(kind) : 64;
    return width >= 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
}
