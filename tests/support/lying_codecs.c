// In the place of liblz4 and libsnappy for `zfc encode`: LYING_CODEC says how their compressors go wrong.
//
//   none     they fail
//   more     they report a byte more than the room
//   huge     they report 2 GiB, liblz4's largest int
//   behind   they write behind the room, and report a good block
//   other    a good block of other bytes
//   garbage  no block
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static int lies(const char *how) {
    const char *given = getenv("LYING_CODEC");
    return given != NULL && strcmp(given, how) == 0;
}

/// Appends the bytes to a block that is `made` bytes long; with `other` the first one differs.
static size_t literals(const char *from, size_t bytes, char *to, size_t made) {
    memcpy(to + made, from, bytes);
    if (lies("other")) to[made] = (char)(to[made] ^ 1);
    if (lies("garbage")) memset(to, 0xff, made + bytes);
    return made + bytes;
}

static size_t wrong_size(char *to, size_t made, size_t room) {
    if (lies("behind")) to[room + 1] = 0;
    return lies("more") ? room + 1 : lies("huge") ? INT_MAX : made;
}

EXPORT int LZ4_compress_HC(const char *from, char *to, int bytes, int room, int level);
EXPORT int LZ4_compress_HC(const char *from, char *to, int bytes, int room, int level) {
    (void)level;
    size_t made = 0, left = (size_t)bytes;
    if (lies("none")) return 0;
    to[made++] = (char)(left < 15 ? left << 4 : 0xf0);
    if (left >= 15) {
        for (left -= 15; left >= 255; left -= 255) to[made++] = (char)0xff;
        to[made++] = (char)left;
    }
    return (int)wrong_size(to, literals(from, (size_t)bytes, to, made), (size_t)room);
}

EXPORT int LZ4_compress_default(const char *from, char *to, int bytes, int room);
EXPORT int LZ4_compress_default(const char *from, char *to, int bytes, int room) {
    return LZ4_compress_HC(from, to, bytes, room, 0);
}

EXPORT int snappy_compress(const char *from, size_t bytes, char *to, size_t *room);
EXPORT int snappy_compress(const char *from, size_t bytes, char *to, size_t *room) {
    size_t made = 0, left = bytes;
    if (lies("none")) return 2;
    for (; left > 127; left >>= 7) to[made++] = (char)(left | 128);
    to[made++] = (char)left;
    to[made++] = (char)(61 << 2); // literals, their number less one in two bytes
    to[made++] = (char)(bytes - 1);
    to[made++] = (char)((bytes - 1) >> 8);
    *room = wrong_size(to, literals(from, bytes, to, made), *room);
    return 0;
}
