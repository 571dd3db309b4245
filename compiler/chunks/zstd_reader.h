// Bytes of a frame or a dictionary of Zstandard that are not read yet.
#ifndef ZF_COMPILER_ZSTD_READER_H
#define ZF_COMPILER_ZSTD_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/chunks/chunk_finder.h"

/// `bad`: more were asked for than there are.
typedef struct zf_zstd_reader {
    const uint8_t *begin, *at, *end;
    bool bad;
    bool of_dictionary; ///< else of a chunk, for errors
} zf_zstd_reader;

static inline const uint8_t *zf_zstd_take(zf_zstd_reader *r, uint64_t bytes) {
    const uint8_t *from = r->at;
    if (bytes > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return r->at;
    }
    r->at += bytes;
    return from;
}

/// A number of `bytes` bytes; 0 where there are fewer.
static inline uint64_t zf_zstd_take_number(zf_zstd_reader *r, unsigned bytes) {
    const uint8_t *from = zf_zstd_take(r, bytes);
    return r->bad ? 0 : zf_chunk_number(from, bytes);
}

/// Raises ZF1508, of a dictionary ZF1512, with the byte at which the reader is.
static inline zf_status zf_zstd_refuse(const zf_zstd_reader *r, const char *why, zf_error *error) {
    unsigned long long at = (unsigned long long)(r->at - r->begin);
    if (r->of_dictionary) return zf_raise(error, ZF_E_CHUNK_DICTIONARY, "the dictionary is wrong: %s, at byte %llu", why, at);
    return zf_raise(error, ZF_E_WRAPPED_CHUNK, "its frames cannot be taken apart: %s, at byte %llu", why, at);
}

static inline zf_status zf_zstd_cut(const zf_zstd_reader *r, zf_error *error) {
    return zf_zstd_refuse(r, r->of_dictionary ? "it ends too early" : "it ends inside a frame", error);
}

#endif
