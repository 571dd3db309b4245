// Links: zipflow-compiler
// zf_chunks_find: chunks of a file are found and are all of it; files that are cut, changed or lie are refused with the byte.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

static const uint8_t gzip[] = {
    // a block of BGZF without bytes: 28 bytes
    0x1f,
    0x8b,
    0x08,
    0x04,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0xff,
    0x06,
    0x00,
    0x42,
    0x43,
    0x02,
    0x00,
    0x1b,
    0x00,
    0x03,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    // a block of 12 bytes: 33 bytes
    0x1f,
    0x8b,
    0x08,
    0x04,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0xff,
    0x06,
    0x00,
    0x42,
    0x43,
    0x02,
    0x00,
    0x20,
    0x00,
    0x4b,
    0x4c,
    0x4a,
    0x4e,
    0x84,
    0x21,
    0x00,
    0x34,
    0x2a,
    0x6e,
    0x5a,
    0x0c,
    0x00,
    0x00,
    0x00,
    // 30 bytes, with another extra field, a name, a comment, and a check of the header: 43 bytes
    0x1f,
    0x8b,
    0x08,
    0x1e,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0xff,
    0x05,
    0x00,
    0x41,
    0x42,
    0x01,
    0x00,
    0x7a,
    0x61,
    0x20,
    0x6e,
    0x61,
    0x6d,
    0x65,
    0x00,
    0x77,
    0x68,
    0x79,
    0x00,
    0xbd,
    0x8b,
    0xab,
    0xa8,
    0xc0,
    0x07,
    0x00,
    0x60,
    0x85,
    0x8f,
    0x39,
    0x1e,
    0x00,
    0x00,
    0x00,
    // no bytes: 20 bytes
    0x1f,
    0x8b,
    0x08,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0xff,
    0x03,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    // a block of 4 bytes, whose field is behind another one: 36 bytes
    0x1f,
    0x8b,
    0x08,
    0x04,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0xff,
    0x0a,
    0x00,
    0x58,
    0x59,
    0x00,
    0x00,
    0x42,
    0x43,
    0x02,
    0x00,
    0x23,
    0x00,
    0x33,
    0x30,
    0x34,
    0x32,
    0x06,
    0x00,
    0x7d,
    0x9d,
    0x66,
    0xa6,
    0x04,
    0x00,
    0x00,
    0x00,
    // 3 bytes: 23 bytes
    0x1f,
    0x8b,
    0x08,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0xff,
    0xab,
    0x4c,
    0x2d,
    0x06,
    0x00,
    0xa9,
    0x35,
    0xe7,
    0x75,
    0x03,
    0x00,
    0x00,
    0x00,
    // the end of a file of BGZF: 28 bytes
    0x1f,
    0x8b,
    0x08,
    0x04,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0xff,
    0x06,
    0x00,
    0x42,
    0x43,
    0x02,
    0x00,
    0x1b,
    0x00,
    0x03,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
};

static const uint8_t zstd[] = {
    // skipped: 11 bytes
    0x50,
    0x2a,
    0x4d,
    0x18,
    0x03,
    0x00,
    0x00,
    0x00,
    0x61,
    0x62,
    0x63,
    // 120 bytes, which it tells: 19 bytes
    0x28,
    0xb5,
    0x2f,
    0xfd,
    0x20,
    0x78,
    0x55,
    0x00,
    0x00,
    0x18,
    0x61,
    0x62,
    0x63,
    0x01,
    0x00,
    0xd2,
    0xd4,
    0x0d,
    0x01,
    // 160 bytes, which it does not tell, with a checksum: 24 bytes
    0x28,
    0xb5,
    0x2f,
    0xfd,
    0x04,
    0x58,
    0x5d,
    0x00,
    0x00,
    0x20,
    0x61,
    0x62,
    0x63,
    0x64,
    0x01,
    0x00,
    0x99,
    0x29,
    0x47,
    0x04,
    0xf8,
    0xef,
    0x77,
    0xac,
    // 7 bytes of blocks that are not packed; the frame does not tell: 15 bytes
    0x28,
    0xb5,
    0x2f,
    0xfd,
    0x00,
    0x58,
    0x10,
    0x00,
    0x00,
    0x61,
    0x62,
    0x2b,
    0x00,
    0x00,
    0x63,
    // no bytes: 9 bytes
    0x28,
    0xb5,
    0x2f,
    0xfd,
    0x20,
    0x00,
    0x01,
    0x00,
    0x00,
    // 300 bytes, in two bytes of the header: 11 bytes
    0x28,
    0xb5,
    0x2f,
    0xfd,
    0x60,
    0x2c,
    0x00,
    0x63,
    0x09,
    0x00,
    0x7a,
    // skipped: 8 bytes
    0x5f,
    0x2a,
    0x4d,
    0x18,
    0x00,
    0x00,
    0x00,
    0x00,
};

static bool no_libraries;

void *__real_dlopen(const char *file, int flags);
void *__wrap_dlopen(const char *file, int flags);
void *__wrap_dlopen(const char *file, int flags) { return no_libraries ? NULL : __real_dlopen(file, flags); }

typedef struct sizes {
    uint64_t bytes, rows;
} sizes;

/// Searches a copy that has no byte behind it. Chunks that are found follow each other, are all bytes, and have rows.
static zf_status search(const uint8_t *bytes, size_t size, const sizes *wanted, size_t count, zf_error *error) {
    zf_wrapped_chunk *chunks = NULL;
    size_t found = 0;
    uint8_t *copy = malloc(size > 0 ? size : 1), *at = copy;
    memcpy(copy, bytes, size);
    *error = (zf_error){0};
    zf_status status = zf_chunks_find("t", copy, size, NULL, 0, &chunks, &found, error);
    CHECK((status == ZF_OK) == (chunks != NULL) && (status == ZF_OK) == (found > 0), "status %d, %zu chunks", status, found);
    for (size_t k = 0; k < found; k++) {
        CHECK(chunks[k].bytes == at && chunks[k].size > 0 && chunks[k].rows > 0, "chunk %zu", k);
        at += chunks[k].size;
        if (wanted == NULL) continue;
        bool same = k < count && chunks[k].size == wanted[k].bytes && chunks[k].rows == wanted[k].rows;
        CHECK(same, "chunk %zu has %llu bytes, %llu rows", k, (ull)chunks[k].size, (ull)chunks[k].rows);
    }
    CHECK(status != ZF_OK || at == copy + size, "%zu bytes belong to no chunk", (size_t)(copy + size - at));
    CHECK(status != ZF_OK || wanted == NULL || found == count, "%zu chunks: %s", found, error->message);
    zf_chunks_free(chunks);
    free(copy);
    return status;
}

static void test_whole(void) {
    static const sizes of_gzip[] = {{61, 12}, {43, 30}, {56, 4}, {51, 3}}, of_zstd[] = {{30, 120}, {24, 160}, {15, 7}, {28, 300}};
    zf_error error;
    CHECK(search(gzip, sizeof gzip, of_gzip, 4, &error) == ZF_OK, "%s", error.message);
    CHECK(search(zstd, sizeof zstd, of_zstd, 4, &error) == ZF_OK, "%s", error.message);
}

/// Cuts a file at every byte. The rest is good where a part ends, once there was one with rows. It is refused at its end, but
/// where the format is not seen (`least` bytes), or parts have no rows (`empty`).
static void cut(const uint8_t *bytes, size_t size, size_t least, size_t empty, const size_t *borders) {
    char place[32];
    zf_error error;
    for (size_t n = 0; n < size; n++) {
        zf_status status = search(bytes, n, NULL, 0, &error);
        bool good = n == *borders;
        borders += n == *borders;
        CHECK(status == (good ? ZF_OK : ZF_ERR_INPUT), "%zu bytes: %d %s", n, status, error.message);
        if (good) continue;
        snprintf(place, sizeof place, "t, byte %zu", n >= least && n != empty ? n : 0);
        bool fits = error.number == ZF_ERROR_CHUNK_FILE && strcmp(error.place, place) == 0;
        CHECK(fits, "%zu bytes: %s, %s", n, error.place, error.message);
    }
}

static void test_cut(void) {
    static const size_t none[] = {SIZE_MAX};
    static const size_t of_gzip[] = {61, 104, 124, 160, 183, SIZE_MAX}, of_zstd[] = {30, 54, 69, 78, 89, SIZE_MAX};
    cut(gzip + 28, 33, 2, 0, none); // a single part
    cut(gzip + 61, 43, 2, 0, none);
    cut(zstd + 11, 19, 4, 0, none);
    cut(zstd + 30, 24, 4, 0, none);
    cut(gzip, sizeof gzip, 2, 28, of_gzip);
    cut(zstd, sizeof zstd, 4, 11, of_zstd);
}

/// Changes every byte in several ways: chunks are all of the file, or it is refused.
static void change(const uint8_t *bytes, size_t size) {
    static const uint8_t ways[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
    zf_error error;
    uint8_t *copy = malloc(size);
    size_t refused = 0;
    for (size_t n = 0; n < size; n++) {
        for (size_t w = 0; w < sizeof ways; w++) {
            memcpy(copy, bytes, size);
            copy[n] ^= ways[w];
            zf_status status = search(copy, size, NULL, 0, &error);
            CHECK(status == ZF_OK || (status == ZF_ERR_INPUT && strncmp(error.place, "t, byte ", 8) == 0), "byte %zu: %d %s", n,
                  status, error.message);
            refused += status != ZF_OK;
        }
    }
    CHECK(refused > size, "%zu changes were noticed", refused);
    free(copy);
}

typedef struct lie {
    const uint8_t *bytes;
    size_t size, at;
    uint64_t value;
    unsigned width;
    const char *place, *says;
} lie;

static void test_lies(void) {
    static const lie lies[] = {
        {gzip, sizeof gzip, 28, 0, 1, "t, byte 28", "no member of gzip begins"},
        {gzip, sizeof gzip, 2, 7, 1, "t, byte 2", "has method 7"},
        {gzip, sizeof gzip, 31, 0x24, 1, "t, byte 31", "flags without meaning: 0x24"},
        {gzip, sizeof gzip, 44, 16, 2, "t, byte 28", "says that it has 17 bytes"},
        {gzip, sizeof gzip, 44, 33, 2, "t, byte 58", "says that it makes 520093696 bytes"},
        {gzip, sizeof gzip, 44, 0xffff, 2, "t, byte 211", "ends inside the member that begins at byte 28"},
        {gzip, sizeof gzip, 57, 65537, 4, "t, byte 57", "says that it makes 65537 bytes"},
        {gzip, sizeof gzip, 100, 31, 4, "t, byte 104",
         "the member that begins at byte 61 cannot be inflated: incorrect length check"},
        {gzip, sizeof gzip, 85, 0, 2, "t, byte 88", "cannot be inflated: header crc mismatch"},
        {zstd, sizeof zstd, 4, 0xffff, 4, "t, byte 97", "ends inside the frame that begins at byte 0"},
        {zstd, sizeof zstd, 11, 0, 1, "t, byte 11", "no frame of zstd begins"},
        {zstd, sizeof zstd, 15, 0x28, 1, "t, byte 15", "must be 0"},
        {zstd, sizeof zstd, 15, 0x21, 1, "t, byte 16", "needs the dictionary 120"},
        {zstd, sizeof zstd, 17, 7, 1, "t, byte 17", "no block can begin like this in the frame at byte 11"},
        {zstd, sizeof zstd, 17, 121 << 3 | 3, 2, "t, byte 17", "no block can begin like this in the frame at byte 11"},
        {zstd, sizeof zstd, 35, 22 << 3, 1, "t, byte 35", "the exponent of a frame's window is above 31"},
        {zstd, sizeof zstd, 50, 0, 4, "t, byte 30", "the frame that begins at byte 30 cannot be decoded: "},
        {zstd, sizeof zstd, 83, 45, 2, "t, byte 78", "says that it makes 301 bytes; its blocks make 300"},
        {zstd + 11, 19, 5, 0, 1, "t, byte 6", "no block can begin like this in the frame at byte 0"},
    };
    for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
        const lie *l = &lies[k];
        zf_error error;
        uint8_t *copy = malloc(l->size);
        memcpy(copy, l->bytes, l->size);
        memcpy(copy + l->at, &l->value, l->width); // of a machine whose least significant byte is first
        zf_status status = search(copy, l->size, NULL, 0, &error);
        bool fits =
            status == ZF_ERR_INPUT && strncmp(error.place, l->place, strlen(l->place)) == 0 && strstr(error.message, l->says);
        CHECK(fits, "lie %zu: %s: %s", k, error.place, error.message);
        free(copy);
    }
}

static void test_no_rows(void) {
    zf_error error;
    CHECK(search(gzip + 183, 28, NULL, 0, &error) == ZF_ERR_INPUT && strstr(error.message, "no bytes"), "%s", error.message);
    CHECK(search(zstd, 11, NULL, 0, &error) == ZF_ERR_INPUT && strstr(error.message, "no bytes"), "%s", error.message);
    CHECK(search(gzip, 0, NULL, 0, &error) == ZF_ERR_INPUT && strstr(error.message, "is empty"), "%s", error.message);
    CHECK(search((const uint8_t *)"PAR1", 4, NULL, 0, &error) == ZF_ERR_INPUT && strstr(error.message, "neither"), "%s",
          error.message);
    CHECK(strcmp(error.place, "t, byte 0") == 0, "%s", error.place);
}

/// Blocks of BGZF, and frames that tell what they make, need no library.
static void test_no_libraries(void) {
    zf_error error;
    no_libraries = true;
    CHECK(search(gzip, 61, NULL, 0, &error) == ZF_OK, "%s", error.message);
    CHECK(search(zstd, 30, NULL, 0, &error) == ZF_OK, "%s", error.message);
    CHECK(search(zstd + 54, 43, NULL, 0, &error) == ZF_OK, "%s", error.message);
    CHECK(search(gzip, sizeof gzip, NULL, 0, &error) == ZF_ERR_UNSUPPORTED, "%s", error.message);
    CHECK(error.number == ZF_ERROR_CHUNK_LIBRARY && strstr(error.message, "libz.so.1") && strstr(error.hint, "zlib1g"), "%s",
          error.hint);
    CHECK(search(zstd, sizeof zstd, NULL, 0, &error) == ZF_ERR_UNSUPPORTED, "%s", error.message);
    CHECK(strstr(error.message, "libzstd.so.1") && strstr(error.hint, "libzstd1"), "%s", error.hint);
    no_libraries = false;
}

static void test_usage(void) {
    zf_error error;
    size_t count;
    zf_wrapped_chunk *chunks;
    CHECK(zf_chunks_find(NULL, gzip, 9, NULL, 0, &chunks, &count, &error) == ZF_ERR_USAGE, "a name");
    CHECK(zf_chunks_find("t", NULL, 9, NULL, 0, &chunks, &count, &error) == ZF_ERR_USAGE, "bytes");
    CHECK(zf_chunks_find("t", gzip, 9, NULL, 0, NULL, &count, &error) == ZF_ERR_USAGE, "chunks");
    CHECK(zf_chunks_find("t", gzip, 9, NULL, 0, &chunks, NULL, &error) == ZF_ERR_USAGE, "a count");
    CHECK(zf_chunks_find("t", gzip, 9, NULL, 0, &chunks, &count, NULL) == ZF_ERR_INPUT && chunks == NULL && count == 0,
          "no error to fill");
    zf_chunks_free(NULL);
}

int main(void) {
    test_whole();
    test_cut();
    change(gzip, sizeof gzip);
    change(zstd, sizeof zstd);
    test_lies();
    test_no_rows();
    test_no_libraries();
    test_usage();
    return check_result();
}
