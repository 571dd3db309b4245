// The prototypes are those of the libraries' documents: LZ4 1.9 (lz4.h, lz4hc.h), Snappy 1.1 (snappy-c.h), zlib 1.2 (its manual),
// Zstandard 1.4 (zstd_manual.html).
#include "tests/gpu/foreign_library.h"

#include <pthread.h>
#include <string.h>

#include "compiler/encoders/shared_library.h"
#include "compiler/encoders/zlib_stream.h"
#include "compiler/encoders/zstd_buffers.h"

typedef int lz4_fast_fn(const char *from, char *to, int bytes, int room);
typedef int lz4_hc_fn(const char *from, char *to, int bytes, int room, int level);
typedef int snappy_fn(const char *from, size_t bytes, char *to, size_t *room);
typedef int deflate_init_fn(zf_zlib_stream *stream, int level, int method, int window_bits, int memory, int strategy,
                            const char *version, int stream_bytes);
typedef int inflate_init_fn(zf_zlib_stream *stream, int window_bits, const char *version, int stream_bytes);
typedef int stream_fn(zf_zlib_stream *stream, int flush);
typedef int stream_end_fn(zf_zlib_stream *stream);
typedef void *zstd_create_fn(void);
typedef size_t zstd_free_fn(void *context);
typedef size_t zstd_set_fn(void *context, int parameter, int value);
typedef size_t zstd_size_fn(void *context, unsigned long long bytes);
typedef size_t zstd_pack_fn(void *context, zf_zstd_out *to, zf_zstd_in *from, int end);
typedef size_t zstd_load_fn(void *context, const void *dictionary, size_t size);
typedef size_t zstd_unpack_fn(void *to, size_t room, const void *from, size_t bytes);

enum { LZ4_FAST, LZ4_SLOW, LZ4_UNPACK };
enum { SNAPPY_PACK, SNAPPY_UNPACK };
enum { DEFLATE_INIT, DEFLATE, DEFLATE_END, INFLATE_INIT, INFLATE, INFLATE_END };
enum { ZSTD_CREATE, ZSTD_FREE, ZSTD_SET, ZSTD_SIZE, ZSTD_LOAD, ZSTD_PACK, ZSTD_UNPACK };

static const char *const lz4_symbols[] = {"LZ4_compress_default", "LZ4_compress_HC", "LZ4_decompress_safe"};
static const char *const snappy_symbols[] = {"snappy_compress", "snappy_uncompress"};
static const char *const zlib_symbols[] = {"deflateInit2_", "deflate", "deflateEnd", "inflateInit2_", "inflate", "inflateEnd"};
static const char *const zstd_symbols[] = {
    "ZSTD_createCCtx",          "ZSTD_freeCCtx",        "ZSTD_CCtx_setParameter", "ZSTD_CCtx_setPledgedSrcSize",
    "ZSTD_CCtx_loadDictionary", "ZSTD_compressStream2", "ZSTD_decompress"};

#define LIBRARY(name, of) {.file = name, .package = "", .symbols = of, .count = sizeof of / sizeof of[0]}
static zf_shared_library lz4 = LIBRARY("liblz4.so.1", lz4_symbols), snappy = LIBRARY("libsnappy.so.1", snappy_symbols),
                         zlib = LIBRARY("libz.so.1", zlib_symbols), zstd = LIBRARY("libzstd.so.1", zstd_symbols);

static const struct {
    const char *name;
    zf_shared_library *library;
    int window_bits; ///< zlib's
} formats[FOREIGN_FORMATS] = {
    [FOREIGN_LZ4] = {"lz4", &lz4, 0},     [FOREIGN_SNAPPY] = {"snappy", &snappy, 0}, [FOREIGN_DEFLATE] = {"deflate", &zlib, -15},
    [FOREIGN_ZLIB] = {"zlib", &zlib, 15}, [FOREIGN_GZIP] = {"gzip", &zlib, 31},      [FOREIGN_ZSTD] = {"zstd", &zstd, 0}};

#define FUNCTION(library, type, number) ((type *)(library).functions[number])

const char *foreign_name(foreign_format format) { return formats[format].name; }

bool foreign_open(foreign_format format, const char **why) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    zf_shared_library *library = formats[format].library;
    bool opened = zf_shared_library_open(library, &lock);
    *why = library->why;
    return opened;
}

static size_t zlib_pack(int window_bits, unsigned way, const uint8_t *from, size_t bytes, uint8_t *to, size_t room) {
    enum { METHOD_DEFLATED = 8, STRATEGIES = 5, FULL_FLUSH = 3, FINISH = 4 };
    zf_zlib_stream stream = {.next_in = from, .next_out = to, .avail_out = (unsigned)room};
    int level = (int)(way % 10), strategy = (int)(way / 10 % STRATEGIES), memory = 1 + (int)(way % 9);
    if (FUNCTION(zlib, deflate_init_fn, DEFLATE_INIT)(&stream, level, METHOD_DEFLATED, window_bits, memory, strategy, "1.2.11",
                                                      (int)sizeof stream) != 0)
        return 0;
    stream.avail_in = (unsigned)(way % 3 == 0 ? bytes / 2 : 0); // two blocks
    FUNCTION(zlib, stream_fn, DEFLATE)(&stream, FULL_FLUSH);
    stream.avail_in = (unsigned)(bytes - stream.total_in);
    FUNCTION(zlib, stream_fn, DEFLATE)(&stream, FINISH);
    FUNCTION(zlib, stream_end_fn, DEFLATE_END)(&stream);
    return stream.total_out;
}

/// gzip alone may have another member behind one.
static bool zlib_judge(int window_bits, const uint8_t *from, size_t bytes, uint8_t *to, size_t rows) {
    enum { FINISH = 4, STREAM_END = 1, GZIP = 31 };
    size_t made = 0;
    while (bytes > 0) {
        zf_zlib_stream stream = {
            .next_in = from, .avail_in = (unsigned)bytes, .next_out = to + made, .avail_out = (unsigned)(rows - made)};
        if (FUNCTION(zlib, inflate_init_fn, INFLATE_INIT)(&stream, window_bits, "1.2.11", (int)sizeof stream) != 0) return false;
        int status = FUNCTION(zlib, stream_fn, INFLATE)(&stream, FINISH);
        FUNCTION(zlib, stream_end_fn, INFLATE_END)(&stream);
        if (status != STREAM_END) return false;
        from += bytes - stream.avail_in;
        bytes = stream.avail_in;
        made += stream.total_out;
        if (window_bits != GZIP) break;
    }
    return bytes == 0 && made == rows;
}

static const uint8_t *dictionary; ///< of frames of Zstandard; NULL: none
static size_t dictionary_size;

void foreign_use_dictionary(const uint8_t *bytes, size_t size) {
    dictionary = bytes;
    dictionary_size = size;
}

/// A frame of up to five blocks. Every second one has a checksum, and tells its size.
static size_t zstd_pack(unsigned way, const uint8_t *from, size_t bytes, uint8_t *to, size_t room) {
    enum { LEVEL = 100, CHECKSUM = 201, FLUSH = 1, END = 2 };
    void *context = FUNCTION(zstd, zstd_create_fn, ZSTD_CREATE)();
    zf_zstd_in input = {from, 0, 0};
    zf_zstd_out output = {to, room, 0};
    size_t blocks = 1 + way / 25 % 5, left = 0;
    FUNCTION(zstd, zstd_set_fn, ZSTD_SET)(context, LEVEL, (int)(way % 25) - 5);
    FUNCTION(zstd, zstd_set_fn, ZSTD_SET)(context, CHECKSUM, (int)(way % 2));
    if (way / 125 % 2 == 0) FUNCTION(zstd, zstd_size_fn, ZSTD_SIZE)(context, bytes);
    if (dictionary != NULL) FUNCTION(zstd, zstd_load_fn, ZSTD_LOAD)(context, dictionary, dictionary_size);
    for (size_t k = 1; k <= blocks; k++) {
        input.size = bytes * k / blocks;
        left |= FUNCTION(zstd, zstd_pack_fn, ZSTD_PACK)(context, &output, &input, k < blocks ? FLUSH : END);
    }
    FUNCTION(zstd, zstd_free_fn, ZSTD_FREE)(context);
    return left == 0 ? output.at : 0; // errors are large numbers
}

size_t foreign_pack(foreign_format format, unsigned way, const uint8_t *from, size_t bytes, uint8_t *to, size_t room) {
    const char *text = (const char *)from;
    switch (format) {
    case FOREIGN_LZ4:
        return (size_t)(way % 2 == 0
                            ? FUNCTION(lz4, lz4_fast_fn, LZ4_FAST)(text, (char *)to, (int)bytes, (int)room)
                            : FUNCTION(lz4, lz4_hc_fn, LZ4_SLOW)(text, (char *)to, (int)bytes, (int)room, 1 + (int)(way % 12)));
    case FOREIGN_SNAPPY: return FUNCTION(snappy, snappy_fn, SNAPPY_PACK)(text, bytes, (char *)to, &room) == 0 ? room : 0;
    case FOREIGN_ZSTD: return zstd_pack(way, from, bytes, to, room);
    default: return zlib_pack(formats[format].window_bits, way, from, bytes, to, room);
    }
}

bool foreign_judge(foreign_format format, const uint8_t *from, size_t bytes, uint8_t *to, size_t rows) {
    const char *text = (const char *)from;
    size_t room = rows;
    switch (format) {
    case FOREIGN_LZ4: return FUNCTION(lz4, lz4_fast_fn, LZ4_UNPACK)(text, (char *)to, (int)bytes, (int)rows) == (int)rows;
    case FOREIGN_SNAPPY: return FUNCTION(snappy, snappy_fn, SNAPPY_UNPACK)(text, bytes, (char *)to, &room) == 0 && room == rows;
    case FOREIGN_ZSTD: return FUNCTION(zstd, zstd_unpack_fn, ZSTD_UNPACK)(to, rows, from, bytes) == rows;
    default: return zlib_judge(formats[format].window_bits, from, bytes, to, rows);
    }
}
