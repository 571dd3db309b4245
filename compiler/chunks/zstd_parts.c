// Frames of Zstandard (RFC 8878). Headers of their blocks tell where they end. Most tell in their own header how many bytes they
// make; where one does not, its blocks do, or libzstd decodes it.
#include <stdlib.h>

#include "compiler/chunks/chunk_finder.h"
#include "compiler/encoders/zstd_buffers.h"

typedef unsigned long long ull;

typedef void *create_fn(void);
typedef size_t context_fn(void *context);
typedef size_t reset_fn(void *context, int what);
typedef size_t set_fn(void *context, int param, int value);
typedef size_t load_fn(void *context, const void *dictionary, size_t size);
typedef size_t decode_fn(void *context, zf_zstd_out *to, zf_zstd_in *from);
typedef unsigned is_error_fn(size_t result);
typedef const char *error_name_fn(size_t result);

enum { CREATE, FREE, RESET, SET, LOAD, DECODE, IS_ERROR, ERROR_NAME };
static const char *const symbols[] = {
    [CREATE] = "ZSTD_createDStream",  [FREE] = "ZSTD_freeDStream",         [RESET] = "ZSTD_DCtx_reset",
    [SET] = "ZSTD_DCtx_setParameter", [LOAD] = "ZSTD_DCtx_loadDictionary", [DECODE] = "ZSTD_decompressStream",
    [IS_ERROR] = "ZSTD_isError",      [ERROR_NAME] = "ZSTD_getErrorName"};
#define FUNCTION(type, number) ((type *)finder->library.functions[number])

enum { BLOCK_MOST = 128 << 10 }; ///< bytes that a block makes

/// A frame, as its headers tell.
typedef struct frame {
    uint64_t rows; ///< if they are known
    bool known, checked;
    uint64_t made; ///< by blocks that are stored, or repeat a byte
    uint64_t most; ///< that all blocks make
    bool packed;   ///< there are other blocks
} frame;

static bool is_skipped(const uint8_t *bytes) { return zf_chunk_number(bytes, 4) >> 4 == 0x184d2a5; }
static bool is_frame(const uint8_t *bytes) { return zf_chunk_number(bytes, 4) == 0xfd2fb528; }

static bool begins(const uint8_t *bytes, uint64_t size) { return size >= 4 && (is_skipped(bytes) || is_frame(bytes)); }

static zf_status cut(const zf_chunk_finder *finder, const zf_chunk_part *part, zf_error *error) {
    return zf_chunk_finder_refuse(finder, finder->size, error, "the file ends inside the frame that begins at byte %llu",
                                  (ull)part->begin);
}

/// Moves the end of a part over so many bytes, if the file has them.
static bool take(const zf_chunk_finder *finder, zf_chunk_part *part, uint64_t bytes) {
    if (bytes > finder->size - part->end) return false;
    part->end += bytes;
    return true;
}

/// Takes a number of `bytes` bytes.
static bool take_number(const zf_chunk_finder *finder, zf_chunk_part *part, unsigned bytes, uint64_t *out) {
    const uint8_t *at = finder->bytes + part->end;
    if (!take(finder, part, bytes)) return false;
    *out = zf_chunk_number(at, bytes);
    return true;
}

// ---- Headers --------------------------------------------------------------------------------------------------

/// Reads the header of a frame behind its first four bytes.
static zf_status read_header(const zf_chunk_finder *finder, zf_chunk_part *part, frame *f, zf_error *error) {
    uint64_t form, window, dictionary;
    if (!take_number(finder, part, 1, &form)) return cut(finder, part, error);
    if ((form & 8) != 0)
        return zf_chunk_finder_refuse(finder, part->end - 1, error, "a frame has a bit in its header that must be 0");
    bool single = (form >> 5 & 1) != 0;
    if (!single && !take_number(finder, part, 1, &window)) return cut(finder, part, error);
    uint64_t place = part->end;
    if (!take_number(finder, part, (form & 3) == 3 ? 4 : (unsigned)(form & 3), &dictionary)) return cut(finder, part, error);
    if (dictionary != 0 && finder->dictionary == NULL) {
        zf_status status = zf_chunk_finder_refuse(finder, place, error, "a frame needs the dictionary %llu", (ull)dictionary);
        return zf_fail_hint(
            error, status,
            "give it by --dictionary (in Python `dictionaries`), to a codec that has one: `zstd_split_dictionary`");
    }
    unsigned bytes = 1u << (form >> 6);
    f->known = form >> 6 > 0 || single;
    f->checked = (form & 4) != 0;
    if (f->known && !take_number(finder, part, bytes, &f->rows)) return cut(finder, part, error);
    if (f->known && bytes == 2) f->rows += 256;
    return ZF_OK;
}

/// Takes the blocks of a frame, and the checksum behind them.
static zf_status take_blocks(const zf_chunk_finder *finder, zf_chunk_part *part, frame *f, zf_error *error) {
    enum { STORED, REPEATED, PACKED };
    for (uint64_t head = 0; (head & 1) == 0;) {
        if (!take_number(finder, part, 3, &head)) return cut(finder, part, error);
        uint64_t kind = head >> 1 & 3, size = head >> 3;
        if (kind > PACKED || size > BLOCK_MOST)
            return zf_chunk_finder_refuse(finder, part->end - 3, error, "no block can begin like this in the frame at byte %llu",
                                          (ull)part->begin);
        if (!take(finder, part, kind == REPEATED ? 1 : size)) return cut(finder, part, error);
        f->packed = f->packed || kind == PACKED;
        f->made += kind == PACKED ? 0 : size;
        f->most += kind == PACKED ? BLOCK_MOST : size;
    }
    return !f->checked || take(finder, part, 4) ? ZF_OK : cut(finder, part, error);
}

// ---- Frames that do not tell ----------------------------------------------------------------------------------

static void release(zf_chunk_finder *finder) { FUNCTION(context_fn, FREE)(finder->decoder); }

static zf_status open_decoder(zf_chunk_finder *finder, zf_error *error) {
    enum { LARGEST_WINDOW = 100, LOG_MOST = 31 };
    ZF_TRY(zf_chunk_finder_open(finder, "how many bytes frames of zstd make that do not tell", error));
    finder->decoder = FUNCTION(create_fn, CREATE)();
    if (finder->decoder == NULL) return zf_raise_no_memory(error);
    FUNCTION(set_fn, SET)(finder->decoder, LARGEST_WINDOW, sizeof(size_t) > 4 ? LOG_MOST : LOG_MOST - 1);
    size_t result = FUNCTION(load_fn, LOAD)(finder->decoder, finder->dictionary, (size_t)finder->dictionary_size);
    if (FUNCTION(is_error_fn, IS_ERROR)(result) == 0) return ZF_OK;
    release(finder);
    finder->decoder = NULL;
    zf_status status = zf_raise(error, ZF_E_CHUNK_DICTIONARY, "%s takes the dictionary for none", finder->library.file);
    return zf_fail_place(error, status, "the dictionary of %.200s", finder->name);
}

/// Makes the decoder ready for a frame. It keeps its window's limit and its dictionary from frame to frame.
static zf_status begin_decoding(zf_chunk_finder *finder, zf_error *error) {
    enum { SESSION_ONLY = 1 };
    if (finder->decoder == NULL) ZF_TRY(open_decoder(finder, error));
    size_t result = FUNCTION(reset_fn, RESET)(finder->decoder, SESSION_ONLY);
    if (FUNCTION(is_error_fn, IS_ERROR)(result) == 0) return ZF_OK;
    return zf_raise(error, ZF_E_CHUNK_LIBRARY, "%s refuses to begin: %s", finder->library.file,
                    FUNCTION(error_name_fn, ERROR_NAME)(result));
}

/// Counts the bytes that a frame makes.
static zf_status count_rows(zf_chunk_finder *finder, zf_chunk_part *part, zf_error *error) {
    ZF_TRY(begin_decoding(finder, error));
    zf_zstd_in from = {finder->bytes + part->begin, (size_t)(part->end - part->begin), 0};
    for (size_t left = 1; left != 0;) {
        zf_zstd_out to = {finder->plain, ZF_CHUNK_FINDER_ROOM, 0};
        size_t before = from.at;
        left = FUNCTION(decode_fn, DECODE)(finder->decoder, &to, &from);
        bool failed = FUNCTION(is_error_fn, IS_ERROR)(left) != 0, stays = left != 0 && to.at == 0 && from.at == before;
        if (failed || stays)
            return zf_chunk_finder_refuse(finder, part->begin + from.at, error,
                                          "the frame that begins at byte %llu cannot be decoded: %s", (ull)part->begin,
                                          failed ? FUNCTION(error_name_fn, ERROR_NAME)(left) : "it is damaged");
        part->rows += to.at;
    }
    return ZF_OK;
}

// ---- Parts ----------------------------------------------------------------------------------------------------

static zf_status find(zf_chunk_finder *finder, zf_chunk_part *part, zf_error *error) {
    const uint8_t *at = finder->bytes + part->begin;
    uint64_t bytes;
    frame f = {0};
    part->end = part->begin;
    if (!take(finder, part, 4)) return cut(finder, part, error);
    if (!is_skipped(at) && !is_frame(at)) {
        zf_status status =
            zf_chunk_finder_refuse(finder, part->begin, error, "no frame of zstd begins where the one before it ends");
        return zf_fail_hint(error, status, "something was appended to the file");
    }
    if (is_skipped(at))
        return take_number(finder, part, 4, &bytes) && take(finder, part, bytes) ? ZF_OK : cut(finder, part, error);
    ZF_TRY(read_header(finder, part, &f, error));
    ZF_TRY(take_blocks(finder, part, &f, error));
    if (!f.known && f.packed) return count_rows(finder, part, error);
    part->rows = f.known ? f.rows : f.made;
    if (part->rows <= f.most && (f.packed || part->rows == f.made)) return ZF_OK;
    return zf_chunk_finder_refuse(finder, part->begin, error, "a frame says that it makes %llu bytes; its blocks make %s%llu",
                                  (ull)part->rows, f.packed ? "at most " : "", (ull)f.most);
}

const zf_chunk_format zf_chunks_of_zstd = {
    begins,
    find,
    release,
    {.file = "libzstd.so.1", .package = "libzstd1", .symbols = symbols, .count = sizeof symbols / sizeof symbols[0]},
};
