// The search for chunks in a file, part by part. A part is what a format can repeat in a file: a member, a frame.
#ifndef ZF_COMPILER_CHUNK_FINDER_H
#define ZF_COMPILER_CHUNK_FINDER_H

#include <stdbool.h>

#include "compiler/encoders/shared_library.h"
#include "runtime/base/error_codes.h"
#include "zipflow/compile.h"

typedef struct zf_chunk_format zf_chunk_format;

typedef struct zf_chunk_finder {
    const char *name; ///< of the file
    const uint8_t *bytes;
    uint64_t size;
    const uint8_t *dictionary; ///< of frames; NULL: none
    uint64_t dictionary_size;
    const zf_chunk_format *format;
    zf_shared_library library;
    void *decoder;  ///< of the library; NULL: none yet
    uint8_t *plain; ///< ZF_CHUNK_FINDER_ROOM bytes for what it makes, which nobody reads; NULL: none yet
} zf_chunk_finder;

enum { ZF_CHUNK_FINDER_ROOM = 1 << 18 };

/// A part of a file.
typedef struct zf_chunk_part {
    uint64_t begin, end; ///< bytes of the file
    uint64_t rows;       ///< bytes that it decodes to
} zf_chunk_part;

struct zf_chunk_format {
    bool (*begins)(const uint8_t *bytes, uint64_t size); ///< whether a file does as one of the format
    /// Finds the end of the part that begins at `part->begin`, which is inside the file.
    zf_status (*find)(zf_chunk_finder *finder, zf_chunk_part *part, zf_error *error);
    void (*release)(zf_chunk_finder *finder); ///< the decoder, if there is one
    zf_shared_library library;
};

extern const zf_chunk_format zf_chunks_of_gzip, zf_chunks_of_zstd;

/// Raises ZF1510 with the byte at which the file is wrong.
zf_status zf_chunk_finder_refuse(const zf_chunk_finder *finder, uint64_t byte, zf_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/// Opens the format's library and makes room for what it decodes. `why`: what it is needed for.
zf_status zf_chunk_finder_open(zf_chunk_finder *finder, const char *why, zf_error *error);

/// A number of `bytes` bytes, least significant first.
static inline uint64_t zf_chunk_number(const uint8_t *at, unsigned bytes) {
    uint64_t number = 0;
    for (unsigned k = bytes; k > 0; k--) number = number << 8 | at[k - 1];
    return number;
}

#endif
