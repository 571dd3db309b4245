// Each encoder makes one stream `u8[] per chunk` of the bytes of its elements, and takes its level from a param `level`, where
// the algorithm has one. The prototypes are those of the libraries' documents: LZ4 1.9 (lz4.h, lz4hc.h), Snappy 1.1 (snappy-c.h),
// zlib 1.2 (its manual) and Zstandard 1.4 (zstd_manual.html). These are stable interfaces of the SONAMEs below.
#include "compiler/encoders/library_encoders.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/encoders/shared_library.h"
#include "compiler/encoders/zlib_stream.h"
#include "frontend/check/type.h"
#include "runtime/base/error.h"

enum { LZ4, SNAPPY, ZLIB, ZSTD, LIBRARIES };

typedef int lz4_default_fn(const char *from, char *to, int bytes, int room);
typedef int lz4_hc_fn(const char *from, char *to, int bytes, int room, int level);
typedef int snappy_fn(const char *from, size_t bytes, char *to, size_t *room);
typedef size_t zstd_fn(void *to, size_t room, const void *from, size_t bytes, int level);
typedef unsigned zstd_is_error_fn(size_t result);
typedef const char *zstd_error_name_fn(size_t result);
typedef int zstd_level_fn(void);

typedef int zlib_init_fn(zf_zlib_stream *stream, int level, int method, int window_bits, int memory, int strategy,
                         const char *version, int stream_bytes);
typedef int zlib_deflate_fn(zf_zlib_stream *stream, int flush);
typedef int zlib_end_fn(zf_zlib_stream *stream);

enum { LZ4_DEFAULT, LZ4_HC };
enum { SNAPPY_COMPRESS };
enum { ZLIB_INIT, ZLIB_DEFLATE, ZLIB_END };
enum { ZSTD_COMPRESS, ZSTD_IS_ERROR, ZSTD_ERROR_NAME, ZSTD_MIN_LEVEL, ZSTD_MAX_LEVEL };

static const char *const lz4_symbols[] = {[LZ4_DEFAULT] = "LZ4_compress_default", [LZ4_HC] = "LZ4_compress_HC"};
static const char *const snappy_symbols[] = {[SNAPPY_COMPRESS] = "snappy_compress"};
static const char *const zlib_symbols[] = {[ZLIB_INIT] = "deflateInit2_", [ZLIB_DEFLATE] = "deflate", [ZLIB_END] = "deflateEnd"};
static const char *const zstd_symbols[] = {[ZSTD_COMPRESS] = "ZSTD_compress",
                                           [ZSTD_IS_ERROR] = "ZSTD_isError",
                                           [ZSTD_ERROR_NAME] = "ZSTD_getErrorName",
                                           [ZSTD_MIN_LEVEL] = "ZSTD_minCLevel",
                                           [ZSTD_MAX_LEVEL] = "ZSTD_maxCLevel"};

#define LIBRARY(name, of, from) {.file = name, .package = from, .symbols = of, .count = sizeof of / sizeof of[0]}

static const zf_shared_library library_rows[LIBRARIES] = {
    [LZ4] = LIBRARY("liblz4.so.1", lz4_symbols, "liblz4-1"),
    [SNAPPY] = LIBRARY("libsnappy.so.1", snappy_symbols, "libsnappy1v5"),
    [ZLIB] = LIBRARY("libz.so.1", zlib_symbols, "zlib1g"),
    [ZSTD] = LIBRARY("libzstd.so.1", zstd_symbols, "libzstd1"),
};

struct zf_library_set {
    pthread_mutex_t lock;
    zf_shared_library of[LIBRARIES];
};

zf_library_set *zf_library_set_create(void) {
    zf_library_set *set = calloc(1, sizeof *set);
    if (set == NULL) return NULL;
    memcpy(set->of, library_rows, sizeof library_rows);
    if (pthread_mutex_init(&set->lock, NULL) == 0) return set;
    free(set);
    return NULL;
}

void zf_library_set_free(zf_library_set *set) {
    if (set == NULL) return;
    for (size_t k = 0; k < LIBRARIES; k++) zf_shared_library_close(&set->of[k]);
    pthread_mutex_destroy(&set->lock);
    free(set);
}

// ---- Parts of all encoders ------------------------------------------------------------------------------------

/// One call: input, output, and where the reason of a refusal goes.
typedef struct job {
    const zf_shared_library *library;
    const uint8_t *from;
    uint8_t *to;
    size_t bytes, room, made;
    char *reason;
    size_t reason_bytes;
} job;

static zf_status refuse(const job *j, zf_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
static zf_status refuse(const job *j, zf_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(j->reason, j->reason_bytes, format, arguments);
    va_end(arguments);
    return status;
}

static uint64_t bytes_of(const zf_extern_call *call) { return call->count * zf_kind_size((zf_kind)call->type.element); }

/// Checks the form of the algorithm, and opens the library.
static zf_status begin(zf_library_set *set, unsigned library, uint64_t most, zf_extern_call *call, job *j) {
    *j = (job){.library = &set->of[library], .reason = call->reason, .reason_bytes = sizeof call->reason};
    bool fits = call->offsets == NULL && call->validity == NULL && call->stream_count == 1 &&
                call->streams[0].type.element == ZF_U8 && !call->streams[0].type.nullable;
    if (!fits)
        return refuse(j, ZF_ERR_UNSUPPORTED,
                      "it makes one stream of u8, of numbers or booleans, and `%s` has other streams or elements",
                      call->algorithm);
    if (bytes_of(call) > most) return refuse(j, ZF_ERR_INPUT, "it takes at most %" PRIu64 " bytes at once", most);
    if (!zf_shared_library_open(&set->of[library], &set->lock)) return refuse(j, ZF_ERR_UNSUPPORTED, "%s", j->library->why);
    j->from = call->values;
    j->bytes = bytes_of(call);
    j->to = call->streams[0].elements;
    j->room = call->streams[0].capacity;
    return ZF_OK;
}

/// Hands over what was made.
static zf_status end(zf_extern_call *call, const job *j) {
    call->streams[0].count = j->made;
    return ZF_OK;
}

/// Reads the param `level`. Where neither the signature nor the codec gives it, it is set to `usual`.
static zf_status level_of(zf_extern_call *call, const job *j, int least, int most, int usual, int *level) {
    *level = usual;
    for (size_t p = 0; p < call->param_count; p++) {
        zf_extern_param *param = &call->params[p];
        if (strcmp(param->name, "level") != 0) continue;
        zf_kind kind = (zf_kind)param->type.element;
        if (!zf_kind_is_integer(kind)) return refuse(j, ZF_ERR_UNSUPPORTED, "its param `level` must be an integer");
        if (!param->given) {
            param->bits = (uint64_t)(int64_t)usual;
            return ZF_OK;
        }
        zf_int128 value = zf_value_of_bits(kind, param->bits);
        if (value < least || value > most)
            return refuse(j, ZF_ERR_INPUT, "%s has levels %d to %d, and `level` is %" PRId64, j->library->file, least, most,
                          value > INT64_MAX ? INT64_MAX : (int64_t)value);
        *level = (int)value;
    }
    return ZF_OK;
}

/// The function of a library by its symbol's number.
#define FUNCTION(type, number) ((type *)j.library->functions[number])

// ---- LZ4, Snappy ----------------------------------------------------------------------------------------------

static uint64_t lz4_bound(void *user, const zf_extern_call *call, size_t stream) {
    (void)user;
    (void)stream;
    return bytes_of(call) + bytes_of(call) / 255 + 16;
}

/// Level 0 is the fast compressor, 1 to 12 are those of LZ4HC.
static zf_status lz4_encode(void *user, zf_extern_call *call) {
    job j;
    int level;
    ZF_TRY(begin(user, LZ4, 0x7e000000, call, &j));
    ZF_TRY(level_of(call, &j, 0, 12, 9, &level));
    const char *from = (const char *)j.from;
    char *to = (char *)j.to;
    int made = level == 0 ? FUNCTION(lz4_default_fn, LZ4_DEFAULT)(from, to, (int)j.bytes, (int)j.room)
                          : FUNCTION(lz4_hc_fn, LZ4_HC)(from, to, (int)j.bytes, (int)j.room, level);
    if (made <= 0) return refuse(&j, ZF_ERR_INPUT, "%s did not compress %zu bytes", j.library->file, j.bytes);
    j.made = (size_t)made;
    return end(call, &j);
}

static uint64_t snappy_bound(void *user, const zf_extern_call *call, size_t stream) {
    (void)user;
    (void)stream;
    return 32 + bytes_of(call) + bytes_of(call) / 6;
}

static zf_status snappy_encode(void *user, zf_extern_call *call) {
    job j;
    ZF_TRY(begin(user, SNAPPY, UINT32_MAX, call, &j));
    j.made = j.room;
    int status = FUNCTION(snappy_fn, SNAPPY_COMPRESS)((const char *)j.from, j.bytes, (char *)j.to, &j.made);
    if (status != 0)
        return refuse(&j, ZF_ERR_INPUT, "%s did not compress %zu bytes: status %d", j.library->file, j.bytes, status);
    return end(call, &j);
}

// ---- Deflate, zlib, gzip --------------------------------------------------------------------------------------

/// Blocks that are stored, at worst, with the frame of gzip.
static uint64_t zlib_bound(void *user, const zf_extern_call *call, size_t stream) {
    (void)user;
    (void)stream;
    uint64_t bytes = bytes_of(call);
    return bytes + (bytes + 7) / 8 + (bytes + 63) / 64 + 5 + 18;
}

/// `window_bits`: what deflateInit2 takes: -15 for Deflate, 15 for a stream of zlib, 31 for a member of gzip.
static zf_status zlib_encode(zf_library_set *set, zf_extern_call *call, int window_bits) {
    enum { METHOD_DEFLATED = 8, MEMORY = 8, STRATEGY = 0, FINISH = 4, STREAM_END = 1, NO_MEMORY = -4 };
    job j;
    int level;
    ZF_TRY(begin(set, ZLIB, UINT_MAX / 2, call, &j));
    ZF_TRY(level_of(call, &j, 0, 9, 6, &level));
    zf_zlib_stream stream = {.next_in = j.from, .avail_in = (unsigned)j.bytes, .next_out = j.to, .avail_out = (unsigned)j.room};
    // zlib compares the first digit of the version and the bytes of the stream with its own.
    int status = FUNCTION(zlib_init_fn, ZLIB_INIT)(&stream, level, METHOD_DEFLATED, window_bits, MEMORY, STRATEGY, "1.2.11",
                                                   (int)sizeof stream);
    if (status == NO_MEMORY) return ZF_ERR_MEMORY;
    if (status != 0) return refuse(&j, ZF_ERR_UNSUPPORTED, "%s refuses to begin: status %d", j.library->file, status);
    status = FUNCTION(zlib_deflate_fn, ZLIB_DEFLATE)(&stream, FINISH);
    j.made = j.room - stream.avail_out;
    FUNCTION(zlib_end_fn, ZLIB_END)(&stream);
    if (status != STREAM_END)
        return refuse(&j, ZF_ERR_INPUT, "%s did not compress %zu bytes: status %d", j.library->file, j.bytes, status);
    return end(call, &j);
}

static zf_status deflate_encode(void *user, zf_extern_call *call) { return zlib_encode(user, call, -15); }
static zf_status zlib_frame_encode(void *user, zf_extern_call *call) { return zlib_encode(user, call, 15); }
static zf_status gzip_encode(void *user, zf_extern_call *call) { return zlib_encode(user, call, 15 + 16); }

// ---- Zstandard ------------------------------------------------------------------------------------------------

static uint64_t zstd_bound(void *user, const zf_extern_call *call, size_t stream) {
    (void)user;
    (void)stream;
    enum { BLOCK = 128 << 10 }; // of a frame
    uint64_t bytes = bytes_of(call);
    return bytes + bytes / 256 + (bytes < BLOCK ? (BLOCK - bytes) / 2048 : 0) + 64;
}

static zf_status zstd_encode(void *user, zf_extern_call *call) {
    job j;
    int level;
    ZF_TRY(begin(user, ZSTD, UINT32_MAX, call, &j));
    int least = FUNCTION(zstd_level_fn, ZSTD_MIN_LEVEL)(), most = FUNCTION(zstd_level_fn, ZSTD_MAX_LEVEL)();
    ZF_TRY(level_of(call, &j, least, most, 3, &level));
    j.made = FUNCTION(zstd_fn, ZSTD_COMPRESS)(j.to, j.room, j.from, j.bytes, level);
    if (FUNCTION(zstd_is_error_fn, ZSTD_IS_ERROR)(j.made))
        return refuse(&j, ZF_ERR_INPUT, "%s: %s", j.library->file, FUNCTION(zstd_error_name_fn, ZSTD_ERROR_NAME)(j.made));
    return end(call, &j);
}

// ---- The list -------------------------------------------------------------------------------------------------

void zf_library_encoders(zf_library_set *set, zf_extern_encoder out[ZF_LIBRARY_ENCODERS]) {
    static const zf_extern_encoder rows[ZF_LIBRARY_ENCODERS] = {
        {.name = "lz4", .bound = lz4_bound, .encode = lz4_encode},
        {.name = "snappy", .bound = snappy_bound, .encode = snappy_encode},
        {.name = "deflate", .bound = zlib_bound, .encode = deflate_encode},
        {.name = "zlib", .bound = zlib_bound, .encode = zlib_frame_encode},
        {.name = "gzip", .bound = zlib_bound, .encode = gzip_encode},
        {.name = "zstd", .bound = zstd_bound, .encode = zstd_encode},
    };
    for (size_t k = 0; k < ZF_LIBRARY_ENCODERS; k++) {
        out[k] = rows[k];
        out[k].size = sizeof out[k];
        out[k].user = set;
    }
}
