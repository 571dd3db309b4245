// Members of gzip (RFC 1952). A block of BGZF (the SAM/BAM specification) is a member that says in its header how long it is;
// where another one ends, only inflating it tells.
#include <stdlib.h>
#include <string.h>

#include "compiler/chunks/chunk_finder.h"
#include "compiler/encoders/zlib_stream.h"

typedef unsigned long long ull;
typedef int init_fn(zf_zlib_stream *stream, int window_bits, const char *version, int stream_bytes);
typedef int inflate_fn(zf_zlib_stream *stream, int flush);
typedef int stream_fn(zf_zlib_stream *stream);

enum { INIT, INFLATE, RESET, END };
static const char *const symbols[] = {
    [INIT] = "inflateInit2_", [INFLATE] = "inflate", [RESET] = "inflateReset", [END] = "inflateEnd"};
#define FUNCTION(type, number) ((type *)finder->library.functions[number])

enum {
    HEADER = 10,         // bytes, without fields
    TRAILER = 8,         // the checksum, and the bytes made
    BGZF_MOST = 1 << 16, // bytes that a block of BGZF makes
    HEADER_CHECK = 2,    // flags: a field of that kind follows
    EXTRA = 4,
    NAME = 8,
    COMMENT = 16,
    RESERVED = 0xe0
};

static bool begins(const uint8_t *bytes, uint64_t size) { return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

static zf_status cut(const zf_chunk_finder *finder, const zf_chunk_part *part, zf_error *error) {
    return zf_chunk_finder_refuse(finder, finder->size, error, "the file ends inside the member that begins at byte %llu",
                                  (ull)part->begin);
}

/// The bytes of the member by the field of BGZF among its extra fields, or 0.
static uint64_t block_bytes(const uint8_t *fields, uint64_t bytes) {
    while (bytes >= 4) {
        uint64_t length = zf_chunk_number(fields + 2, 2);
        if (length > bytes - 4) return 0;
        if (fields[0] == 'B' && fields[1] == 'C' && length == 2) return zf_chunk_number(fields + 4, 2) + 1;
        fields += 4 + length;
        bytes -= 4 + length;
    }
    return 0;
}

/// Reads the header of a member. `*end`: where it ends. `*block`: bytes of the member, if it is a block of BGZF, else 0.
static zf_status read_header(const zf_chunk_finder *finder, const zf_chunk_part *part, uint64_t *end, uint64_t *block,
                             zf_error *error) {
    const uint8_t *at = finder->bytes + part->begin, *stop = finder->bytes + finder->size;
    uint64_t left = finder->size - part->begin;
    if (at[0] != 0x1f || (left > 1 && at[1] != 0x8b)) {
        zf_status status =
            zf_chunk_finder_refuse(finder, part->begin, error, "no member of gzip begins where the one before it ends");
        return zf_fail_hint(error, status, "something was appended to the file, or a size in the header before is wrong");
    }
    if (left < HEADER) return cut(finder, part, error);
    unsigned flags = at[3];
    if (at[2] != 8)
        return zf_chunk_finder_refuse(finder, part->begin + 2, error, "a member has method %u; gzip has 8, Deflate, alone",
                                      at[2]);
    if ((flags & RESERVED) != 0)
        return zf_chunk_finder_refuse(finder, part->begin + 3, error, "a member has flags without meaning: 0x%02x", flags);
    at += HEADER;
    if ((flags & EXTRA) != 0) {
        if (stop - at < 2) return cut(finder, part, error);
        uint64_t bytes = zf_chunk_number(at, 2);
        at += 2;
        if ((uint64_t)(stop - at) < bytes) return cut(finder, part, error);
        *block = block_bytes(at, bytes);
        at += bytes;
    }
    for (unsigned flag = NAME; flag <= COMMENT; flag *= 2) {
        if ((flags & flag) == 0) continue;
        const uint8_t *zero = at < stop ? memchr(at, 0, (size_t)(stop - at)) : NULL;
        if (zero == NULL) return cut(finder, part, error);
        at = zero + 1;
    }
    if ((flags & HEADER_CHECK) != 0 && stop - at < 2) return cut(finder, part, error);
    *end = (uint64_t)(at - finder->bytes) + ((flags & HEADER_CHECK) != 0 ? 2 : 0);
    return ZF_OK;
}

// ---- Blocks of BGZF -------------------------------------------------------------------------------------------

static zf_status find_block(const zf_chunk_finder *finder, zf_chunk_part *part, uint64_t header_end, uint64_t bytes,
                            zf_error *error) {
    if (bytes < header_end - part->begin + TRAILER + 2) // the shortest stream of Deflate has two bytes
        return zf_chunk_finder_refuse(finder, part->begin, error,
                                      "a block of BGZF says that it has %llu bytes, which its header and its end do not leave",
                                      (ull)bytes);
    if (bytes > finder->size - part->begin) return cut(finder, part, error);
    part->end = part->begin + bytes;
    part->rows = zf_chunk_number(finder->bytes + part->end - 4, 4);
    if (part->rows <= BGZF_MOST) return ZF_OK;
    return zf_chunk_finder_refuse(finder, part->end - 4, error, "a block of BGZF says that it makes %llu bytes, above 65536",
                                  (ull)part->rows);
}

// ---- Other members --------------------------------------------------------------------------------------------

static zf_status begin_inflating(zf_chunk_finder *finder, zf_error *error) {
    enum { WINDOW_AND_GZIP = 15 + 16 };
    if (finder->decoder != NULL) {
        FUNCTION(stream_fn, RESET)(finder->decoder);
        return ZF_OK;
    }
    ZF_TRY(zf_chunk_finder_open(finder, "where members of gzip end that are no blocks of BGZF", error));
    zf_zlib_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return zf_raise_no_memory(error);
    // zlib compares the first digit of the version and the bytes of the stream with its own.
    int status = FUNCTION(init_fn, INIT)(stream, WINDOW_AND_GZIP, "1.2.11", (int)sizeof *stream);
    if (status != 0) {
        free(stream);
        return status == -4 ? zf_raise_no_memory(error)
                            : zf_raise(error, ZF_E_CHUNK_LIBRARY, "%s refuses to begin: status %d", finder->library.file, status);
    }
    finder->decoder = stream;
    return ZF_OK;
}

static zf_status find_end(zf_chunk_finder *finder, zf_chunk_part *part, zf_error *error) {
    enum { ENOUGH = 1 << 30, OK = 0, STREAM_END = 1, NO_MEMORY = -4, NO_PROGRESS = -5 };
    ZF_TRY(begin_inflating(finder, error));
    zf_zlib_stream *stream = finder->decoder;
    uint64_t given = part->begin; // up to this byte
    stream->avail_in = 0;
    for (int status = OK; status != STREAM_END;) {
        if (stream->avail_in == 0) {
            uint64_t left = finder->size - given;
            stream->next_in = finder->bytes + given;
            stream->avail_in = left < ENOUGH ? (unsigned)left : ENOUGH;
            given += stream->avail_in;
        }
        stream->next_out = finder->plain;
        stream->avail_out = ZF_CHUNK_FINDER_ROOM;
        status = FUNCTION(inflate_fn, INFLATE)(stream, 0);
        part->rows += ZF_CHUNK_FINDER_ROOM - stream->avail_out;
        part->end = given - stream->avail_in;
        if (status == NO_MEMORY) return zf_raise_no_memory(error);
        if (status == NO_PROGRESS) return cut(finder, part, error); // there is room, so bytes are missing
        if (status != OK && status != STREAM_END)
            return zf_chunk_finder_refuse(finder, part->end, error, "the member that begins at byte %llu cannot be inflated: %s",
                                          (ull)part->begin, stream->message != NULL ? stream->message : "it is damaged");
    }
    return ZF_OK;
}

static void release(zf_chunk_finder *finder) {
    FUNCTION(stream_fn, END)(finder->decoder);
    free(finder->decoder);
}

static zf_status find(zf_chunk_finder *finder, zf_chunk_part *part, zf_error *error) {
    uint64_t header_end = 0, block = 0;
    ZF_TRY(read_header(finder, part, &header_end, &block, error));
    return block > 0 ? find_block(finder, part, header_end, block, error) : find_end(finder, part, error);
}

const zf_chunk_format zf_chunks_of_gzip = {
    begins,
    find,
    release,
    {.file = "libz.so.1", .package = "zlib1g", .symbols = symbols, .count = sizeof symbols / sizeof symbols[0]},
};
