// Dictionaries of Zstandard (RFC 8878, section 5): bytes that copies may reach before a frame. Where one was made for frames like
// these, it has what their first blocks may take as well: a code of literals, three tables and distances.
#ifndef ZF_COMPILER_ZSTD_DICTIONARY_H
#define ZF_COMPILER_ZSTD_DICTIONARY_H

#include "compiler/chunks/zstd_described.h"

typedef struct zf_zstd_dictionary {
    const uint8_t *content; ///< in the caller's memory
    uint64_t size;
    uint32_t recent[3]; ///< distances in front of a frame
    // ---- of one that was made for frames
    bool made;
    uint32_t id;
    const uint8_t *code; ///< its description
    uint64_t code_bytes;
    zf_zstd_described tables;
} zf_zstd_dictionary;

/// Reads a dictionary as the program zstd makes them, or any other bytes. They stay the caller's. Errors: ZF1512 with the byte.
zf_status zf_zstd_dictionary_read(const uint8_t *bytes, uint64_t size, zf_zstd_dictionary *out, zf_error *error);

#endif
