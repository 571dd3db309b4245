// The table of element types.
#include "runtime/container/element.h"

typedef struct element_row {
    const char *name;
    unsigned bits;
    bool is_signed;
} element_row;

static const element_row rows[ZF_ELEMENT_COUNT] = {
    [ZF_U8] = {"u8", 8, false},    [ZF_U16] = {"u16", 16, false},  [ZF_U32] = {"u32", 32, false},
    [ZF_U64] = {"u64", 64, false}, [ZF_I8] = {"i8", 8, true},      [ZF_I16] = {"i16", 16, true},
    [ZF_I32] = {"i32", 32, true},  [ZF_I64] = {"i64", 64, true},   [ZF_F32] = {"f32", 32, false},
    [ZF_F64] = {"f64", 64, false}, [ZF_BOOL] = {"bool", 1, false}, [ZF_STRING] = {"string", 0, false},
};

unsigned zf_element_bits(zf_element element) { return (unsigned)element < ZF_ELEMENT_COUNT ? rows[element].bits : 0; }

const char *zf_element_name(zf_element element) {
    return (unsigned)element < ZF_ELEMENT_COUNT ? rows[element].name : "unknown type";
}

bool zf_elements_bytes(uint64_t count, unsigned bits, uint64_t *bytes) {
    if (bits == 1) {
        *bytes = count / 8 + (count % 8 != 0);
        return true;
    }
    return !__builtin_mul_overflow(count, (uint64_t)(bits / 8), bytes);
}

bool zf_element_holds(zf_element element, uint64_t value) {
    unsigned bits = zf_element_bits(element);
    if (bits == 0) return false;
    if (bits == 64) return true;
    if (value >> bits == 0) return true;
    // Sign-extended: all bits above the type's, and its own highest, are set.
    return rows[element].is_signed && value >> (bits - 1) == UINT64_MAX >> (bits - 1);
}
