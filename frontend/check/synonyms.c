// One row a name. Case does not count.
#include "frontend/check/synonyms.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const struct {
    zf_synonym_kind kind;
    const char *name, *here; ///< what it is called here, or with a blank in it a whole hint
} rows[] = {
    {ZF_SYNONYM_TYPE, "int", "`i32` or `i64` is meant"},
    {ZF_SYNONYM_TYPE, "integer", "`i32` or `i64` is meant"},
    {ZF_SYNONYM_TYPE, "uint", "`u32` or `u64` is meant"},
    {ZF_SYNONYM_TYPE, "unsigned", "`u32` or `u64` is meant; `unsigned(T)` is as wide as T"},
    {ZF_SYNONYM_TYPE, "byte", "u8"},
    {ZF_SYNONYM_TYPE, "uchar", "u8"},
    {ZF_SYNONYM_TYPE, "char", "u8"},
    {ZF_SYNONYM_TYPE, "tinyint", "i8"},
    {ZF_SYNONYM_TYPE, "int8", "i8"},
    {ZF_SYNONYM_TYPE, "int8_t", "i8"},
    {ZF_SYNONYM_TYPE, "uint8", "u8"},
    {ZF_SYNONYM_TYPE, "uint8_t", "u8"},
    {ZF_SYNONYM_TYPE, "short", "i16"},
    {ZF_SYNONYM_TYPE, "smallint", "i16"},
    {ZF_SYNONYM_TYPE, "int16", "i16"},
    {ZF_SYNONYM_TYPE, "int16_t", "i16"},
    {ZF_SYNONYM_TYPE, "uint16", "u16"},
    {ZF_SYNONYM_TYPE, "uint16_t", "u16"},
    {ZF_SYNONYM_TYPE, "int32", "i32"},
    {ZF_SYNONYM_TYPE, "int32_t", "i32"},
    {ZF_SYNONYM_TYPE, "uint32", "u32"},
    {ZF_SYNONYM_TYPE, "uint32_t", "u32"},
    {ZF_SYNONYM_TYPE, "long", "i64"},
    {ZF_SYNONYM_TYPE, "bigint", "i64"},
    {ZF_SYNONYM_TYPE, "int64", "i64"},
    {ZF_SYNONYM_TYPE, "int64_t", "i64"},
    {ZF_SYNONYM_TYPE, "uint64", "u64"},
    {ZF_SYNONYM_TYPE, "uint64_t", "u64"},
    {ZF_SYNONYM_TYPE, "size_t", "u64"},
    {ZF_SYNONYM_TYPE, "usize", "u64"},
    {ZF_SYNONYM_TYPE, "float", "f32"},
    {ZF_SYNONYM_TYPE, "real", "f32"},
    {ZF_SYNONYM_TYPE, "float32", "f32"},
    {ZF_SYNONYM_TYPE, "double", "f64"},
    {ZF_SYNONYM_TYPE, "float64", "f64"},
    {ZF_SYNONYM_TYPE, "boolean", "bool"},
    {ZF_SYNONYM_TYPE, "str", "string"},
    {ZF_SYNONYM_TYPE, "text", "string"},
    {ZF_SYNONYM_TYPE, "varchar", "string"},
    {ZF_SYNONYM_TYPE, "utf8", "string"},
    {ZF_SYNONYM_TYPE, "date", "date32"},
    {ZF_SYNONYM_TYPE, "datetime", "timestamp"},
    {ZF_SYNONYM_TYPE, "numeric", "write `decimal(15, 2)`: so many digits, so many of them behind the point"},
    {ZF_SYNONYM_FUNCTION, "leading_zeros", "clz"},
    {ZF_SYNONYM_FUNCTION, "lzcnt", "clz"},
    {ZF_SYNONYM_FUNCTION, "clzll", "clz"},
    {ZF_SYNONYM_FUNCTION, "trailing_zeros", "ctz"},
    {ZF_SYNONYM_FUNCTION, "tzcnt", "ctz"},
    {ZF_SYNONYM_FUNCTION, "ctzll", "ctz"},
    {ZF_SYNONYM_FUNCTION, "ffs", "ctz"},
    {ZF_SYNONYM_FUNCTION, "popcnt", "popcount"},
    {ZF_SYNONYM_FUNCTION, "count_ones", "popcount"},
    {ZF_SYNONYM_FUNCTION, "bit_count", "popcount"},
    {ZF_SYNONYM_FUNCTION, "select", "`nth_bit(v, k)` is the place of the k-th set bit of one integer"},
    {ZF_SYNONYM_FUNCTION, "log2", "`bit_width(v)` is the number of bits that v needs"},
    {ZF_SYNONYM_FUNCTION, "bit_length", "bit_width"},
    {ZF_SYNONYM_FUNCTION, "abs", "write `v < 0 ? -v : v`"},
    {ZF_SYNONYM_FUNCTION, "len", "write `s.len`"},
    {ZF_SYNONYM_FUNCTION, "length", "write `s.len`"},
    {ZF_SYNONYM_FUNCTION, "count", "a count is a sum: `sum(k in a..b: (s[k] == v) as u64)`"},
    {ZF_SYNONYM_FUNCTION, "floor", "`v as i64` truncates, `round(v)` rounds"},
    {ZF_SYNONYM_FUNCTION, "ceil", "`v as i64` truncates, `round(v)` rounds"},
    {ZF_SYNONYM_FUNCTION, "bitcast", "`bits_of(v)` and `value_of(T, bits)` change the type and not the bits"},
    {ZF_SYNONYM_FUNCTION, "decode",
     "no element can ask for another: write a sum over those before, `sum(k in 0..i: s[k])`, or a "
     "non_parallel algorithm"},
    {ZF_SYNONYM_MEMBER, "length", ".len"},
    {ZF_SYNONYM_MEMBER, "size", ".len"},
    {ZF_SYNONYM_MEMBER, "count", ".len"},
    {ZF_SYNONYM_MEMBER, "read_bits", ".read"},
    {ZF_SYNONYM_MEMBER, "get_bits", "`.read(n)` reads the next n bits, `.bits(at, n)` those from bit `at` on"},
    {ZF_SYNONYM_MEMBER, "read_byte", ".u8"},
    {ZF_SYNONYM_MEMBER, "peek_bits", ".peek"},
    {ZF_SYNONYM_MEMBER, "eof", ".at_end"},
    {ZF_SYNONYM_MEMBER, "is_empty", "write `.len == 0`, of a cursor `.at_end()`"},
    {ZF_SYNONYM_MEMBER, "push_bits_msb",
     "`push_bits` writes the least significant bit first; for the other order put whole bytes together "
     "and push them"},
    {ZF_SYNONYM_MEMBER, "write", ".push"},
    {ZF_SYNONYM_MEMBER, "put", ".push"},
    {ZF_SYNONYM_MEMBER, "add", ".push"},
    {ZF_SYNONYM_MEMBER, "insert", ".push"},
    {ZF_SYNONYM_MEMBER, "push_back", ".push"},
    {ZF_SYNONYM_MEMBER, "extend", ".append"},
    {ZF_SYNONYM_MEMBER, "concat", ".append"},
};

const char *zf_synonym_hint(zf_arena *arena, zf_synonym_kind kind, const char *name) {
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (rows[k].kind != kind || strcasecmp(rows[k].name, name) != 0) continue;
        bool whole = strchr(rows[k].here, ' ') != NULL;
        return whole ? rows[k].here : zf_arena_printf(arena, "it is called `%s` here", rows[k].here);
    }
    return NULL;
}
