// Frames of Zstandard (RFC 8878). Headers of their blocks tell where they end. Most tell in their own header how many bytes they
// make; where one does not, its blocks do, or libzstd decodes it.
#include <stdlib.h>

#include "compiler/chunks/zstd_frame.h"
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

/// A frame, as the headers of its blocks tell.
typedef struct blocks {
    uint64_t made; ///< by those that are stored, or repeat a byte
    uint64_t most; ///< that all of them make
    bool packed;   ///< there are others
} blocks;

static bool begins(const uint8_t *bytes, uint64_t size) {
    return size >= 4 && zf_zstd_begin_of(zf_chunk_number(bytes, 4)) != ZF_ZSTD_OTHER;
}

static zf_status cut(const zf_chunk_finder *finder, const zf_chunk_part *part, zf_error *error) {
    return zf_chunk_finder_refuse(finder, finder->size, error, "the file ends inside the frame that begins at byte %llu",
                                  (ull)part->begin);
}

static uint64_t place_of(const zf_zstd_reader *r, const uint8_t *at) { return (uint64_t)(at - r->begin); }

// ---- Headers --------------------------------------------------------------------------------------------------

/// Reads the header of a frame behind its first four bytes.
static zf_status read_header(const zf_chunk_finder *finder, const zf_chunk_part *part, zf_zstd_reader *r, zf_zstd_head *head,
                             zf_error *error) {
    *head = zf_zstd_take_head(r);
    if (r->bad) return cut(finder, part, error);
    if (head->reserved)
        return zf_chunk_finder_refuse(finder, place_of(r, r->at) - 1, error, "a frame has a bit in its header that must be 0");
    if (head->too_wide)
        return zf_chunk_finder_refuse(finder, place_of(r, head->named_at) - 1, error,
                                      "the exponent of a frame's window is above 31");
    if (head->dictionary == 0 || finder->dictionary != NULL) return ZF_OK;
    zf_status status = zf_chunk_finder_refuse(finder, place_of(r, head->named_at), error, "a frame needs the dictionary %llu",
                                              (ull)head->dictionary);
    return zf_fail_hint(error, status,
                        "give it by --dictionary (in Python `dictionaries`), to a codec that has one: `zstd_split_dictionary`");
}

/// Passes the blocks of a frame, and the checksum behind them.
static zf_status pass_blocks(const zf_chunk_finder *finder, const zf_chunk_part *part, zf_zstd_reader *r,
                             const zf_zstd_head *head, blocks *b, zf_error *error) {
    for (zf_zstd_block block = {0}; !block.last;) {
        block = zf_zstd_take_block(r, head->most);
        if (r->bad) return cut(finder, part, error);
        if (block.wrong)
            return zf_chunk_finder_refuse(finder, place_of(r, r->at) - 3, error,
                                          "no block can begin like this in the frame at byte %llu", (ull)part->begin);
        bool packed = block.kind == ZF_ZSTD_PACKED;
        b->packed = b->packed || packed;
        b->made += packed ? 0 : block.size;
        b->most += packed ? head->most : block.size;
    }
    zf_zstd_take(r, head->checked ? 4 : 0);
    return r->bad ? cut(finder, part, error) : ZF_OK;
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

/// Passes a frame behind its first four bytes.
static zf_status find_frame(zf_chunk_finder *finder, zf_chunk_part *part, zf_zstd_reader *r, zf_error *error) {
    zf_zstd_head head;
    blocks b = {0};
    ZF_TRY(read_header(finder, part, r, &head, error));
    ZF_TRY(pass_blocks(finder, part, r, &head, &b, error));
    part->end = place_of(r, r->at);
    if (!head.known && b.packed) return count_rows(finder, part, error);
    part->rows = head.known ? head.rows : b.made;
    if (part->rows <= b.most && (b.packed || part->rows == b.made)) return ZF_OK;
    return zf_chunk_finder_refuse(finder, part->begin, error, "a frame says that it makes %llu bytes; its blocks make %s%llu",
                                  (ull)part->rows, b.packed ? "at most " : "", (ull)b.most);
}

static zf_status find(zf_chunk_finder *finder, zf_chunk_part *part, zf_error *error) {
    zf_zstd_reader r = {.begin = finder->bytes, .at = finder->bytes + part->begin, .end = finder->bytes + finder->size};
    zf_zstd_begin begin = zf_zstd_begin_of(zf_zstd_take_number(&r, 4));
    if (r.bad) return cut(finder, part, error);
    if (begin == ZF_ZSTD_FRAME) return find_frame(finder, part, &r, error);
    if (begin == ZF_ZSTD_OTHER) {
        zf_status status =
            zf_chunk_finder_refuse(finder, part->begin, error, "no frame of zstd begins where the one before it ends");
        return zf_fail_hint(error, status, "something was appended to the file");
    }
    zf_zstd_pass_skipped(&r);
    part->end = place_of(&r, r.at);
    return r.bad ? cut(finder, part, error) : ZF_OK;
}

const zf_chunk_format zf_chunks_of_zstd = {
    begins,
    find,
    release,
    {.file = "libzstd.so.1", .package = "libzstd1", .symbols = symbols, .count = sizeof symbols / sizeof symbols[0]},
};
