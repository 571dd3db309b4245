// The functions of nvCOMP that bench/peers calls, over the memory of fake_cuda.c: chunks are "compressed" as runs of bytes. The
// environment says what goes wrong: FAKE_NVCOMP="Zstd:refuse,Snappy:status,LZ4:wrong,Bitcomp:die,Deflate:hang", separated by
// commas. With `odd-` before die, status or beside (a byte behind an output) it does where a chunk has an odd size, which none
// has that was compressed here; with `empty-` before hang where one has none.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_VALUE = 10, NOT_SUPPORTED = 11, CANNOT_DECOMPRESS = 12 };

/// All options have this size, and their first two fields are `int`s.
typedef struct options {
    int32_t first, second;
    uint64_t rest[7];
} options;

static int faulty(const char *codec, const char *fault) {
    const char *given = getenv("FAKE_NVCOMP");
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%s:%s", codec, fault);
    return given != NULL && strstr(given, wanted) != NULL;
}

static size_t shrink(const uint8_t *from, size_t bytes, uint8_t *to) {
    size_t out = 0;
    for (size_t at = 0; at < bytes;) {
        size_t run = 1;
        while (run < 255 && at + run < bytes && from[at + run] == from[at]) run++;
        to[out++] = (uint8_t)run;
        to[out++] = from[at];
        at += run;
    }
    return out;
}

static size_t grow(const uint8_t *from, size_t bytes, uint8_t *to, size_t room) {
    size_t out = 0;
    for (size_t at = 0; at + 1 < bytes && out + from[at] <= room; at += 2) {
        memset(to + out, from[at + 1], from[at]);
        out += from[at];
    }
    return out;
}

static int known(const char *codec, options o, int compress) {
    if (faulty(codec, "refuse")) return NOT_SUPPORTED;
    if (strcmp(codec, "Cascaded") == 0 && compress) return o.second == 1 || o.second == 2 ? SUCCESS : INVALID_VALUE;
    if (strcmp(codec, "Cascaded") == 0) return o.first == 0 ? SUCCESS : INVALID_VALUE; // the backend
    if (strcmp(codec, "LZ4") == 0 && compress) return o.first < 6 ? SUCCESS : NOT_SUPPORTED;
    return SUCCESS;
}

static int compress(const char *codec, const void *const *from, const size_t *bytes, size_t count, void *const *to, size_t *sizes,
                    options o, int32_t *statuses) {
    int result = known(codec, o, 1);
    for (size_t k = 0; k < count && result == SUCCESS; k++) {
        sizes[k] = shrink(from[k], bytes[k], to[k]);
        statuses[k] = SUCCESS;
    }
    return result;
}

static int decompress(const char *codec, const void *const *from, const size_t *bytes, const size_t *rooms, size_t *sizes,
                      size_t count, void *const *to, options o, int32_t *statuses) {
    int result = known(codec, o, 0);
    if (faulty(codec, "die")) _exit(9);
    if (faulty(codec, "hang")) sleep(1000);
    for (size_t k = 0; k < count && result == SUCCESS; k++) {
        sizes[k] = grow(from[k], bytes[k], to[k], rooms[k]);
        bool odd = bytes[k] % 2 != 0;
        if (odd && faulty(codec, "odd-die")) _exit(9);
        if (bytes[k] == 0 && faulty(codec, "empty-hang")) sleep(1000);
        if (odd && faulty(codec, "odd-beside")) ((uint8_t *)to[k])[rooms[k]] ^= 1;
        bool bad = (k == count / 2 && faulty(codec, "status")) || (odd && faulty(codec, "odd-status"));
        statuses[k] = bad ? CANNOT_DECOMPRESS : SUCCESS;
        if (k == count - 1 && faulty(codec, "wrong")) ((uint8_t *)to[k])[sizes[k] - 1] ^= 1;
    }
    return result;
}

#define CODEC(name)                                                                                                              \
    EXPORT int nvcompBatched##name##CompressGetMaxOutputChunkSize(size_t chunk, options o, size_t *out);                         \
    int nvcompBatched##name##CompressGetMaxOutputChunkSize(size_t chunk, options o, size_t *out) {                               \
        *out = 2 * chunk + 8;                                                                                                    \
        return known(#name, o, 1);                                                                                               \
    }                                                                                                                            \
    EXPORT int nvcompBatched##name##CompressGetTempSize(size_t count, size_t chunk, options o, size_t *out, size_t all,          \
                                                        void *stream);                                                           \
    int nvcompBatched##name##CompressGetTempSize(size_t count, size_t chunk, options o, size_t *out, size_t all, void *stream) { \
        (void)chunk, (void)all, (void)stream;                                                                                    \
        *out = count;                                                                                                            \
        return known(#name, o, 1);                                                                                               \
    }                                                                                                                            \
    EXPORT int nvcompBatched##name##DecompressGetTempSize(size_t count, size_t chunk, options o, size_t *out, size_t all,        \
                                                          void *stream);                                                         \
    int nvcompBatched##name##DecompressGetTempSize(size_t count, size_t chunk, options o, size_t *out, size_t all,               \
                                                   void *stream) {                                                               \
        (void)count, (void)chunk, (void)all, (void)stream;                                                                       \
        *out = 0;                                                                                                                \
        return known(#name, o, 0);                                                                                               \
    }                                                                                                                            \
    EXPORT int nvcompBatched##name##CompressAsync(const void *const *from, const size_t *bytes, size_t chunk, size_t count,      \
                                                  void *work, size_t work_bytes, void *const *to, size_t *sizes, options o,      \
                                                  int32_t *statuses, void *stream);                                              \
    int nvcompBatched##name##CompressAsync(const void *const *from, const size_t *bytes, size_t chunk, size_t count, void *work, \
                                           size_t work_bytes, void *const *to, size_t *sizes, options o, int32_t *statuses,      \
                                           void *stream) {                                                                       \
        (void)chunk, (void)work, (void)work_bytes, (void)stream;                                                                 \
        return compress(#name, from, bytes, count, to, sizes, o, statuses);                                                      \
    }                                                                                                                            \
    EXPORT int nvcompBatched##name##DecompressAsync(const void *const *from, const size_t *bytes, const size_t *rooms,           \
                                                    size_t *sizes, size_t count, void *work, size_t work_bytes, void *const *to, \
                                                    options o, int32_t *statuses, void *stream);                                 \
    int nvcompBatched##name##DecompressAsync(const void *const *from, const size_t *bytes, const size_t *rooms, size_t *sizes,   \
                                             size_t count, void *work, size_t work_bytes, void *const *to, options o,            \
                                             int32_t *statuses, void *stream) {                                                  \
        (void)work, (void)work_bytes, (void)stream;                                                                              \
        return decompress(#name, from, bytes, rooms, sizes, count, to, o, statuses);                                             \
    }

CODEC(ANS)
CODEC(Cascaded)
CODEC(Bitcomp)
CODEC(LZ4)
CODEC(Snappy)
CODEC(Zstd)
CODEC(Deflate)
CODEC(Gdeflate)

EXPORT const char *nvcompGetStatusString(int status);
const char *nvcompGetStatusString(int status) { return status == NOT_SUPPORTED ? "not supported" : "an error"; }

EXPORT int nvcompGetProperties(uint32_t *out);
int nvcompGetProperties(uint32_t *out) {
    out[0] = 6000;
    out[1] = 13000;
    return SUCCESS;
}
