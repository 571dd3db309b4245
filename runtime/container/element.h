// Properties of element types in the runtime.
#ifndef ZF_RUNTIME_ELEMENT_H
#define ZF_RUNTIME_ELEMENT_H

#include "runtime/base/private.h"
#include "zipflow/zipflow.h"

#define ZF_ELEMENT_COUNT ((unsigned)ZF_STRING + 1)

/// Bits of an element in a buffer: 8 to 64; 1 for booleans; 0 for strings, which have no fixed size.
ZF_PRIVATE_API unsigned zf_element_bits(zf_element element);

/// "u8", "bool", "string".
const char *zf_element_name(zf_element element);

/// Bit k of a bitmap, least significant first.
static inline bool zf_bit_at(const void *bitmap, uint64_t k) { return ((const uint8_t *)bitmap)[k / 8] >> (k % 8) & 1; }

/// Bytes of `count` elements of so many bits, rounded up. False when that does not fit 64 bits.
bool zf_elements_bytes(uint64_t count, unsigned bits, uint64_t *bytes);

/// Whether the 64 bits of a param can be a value of the type: integers zero- or sign-extended, floats and booleans zero-extended.
bool zf_element_holds(zf_element element, uint64_t value);

#endif
