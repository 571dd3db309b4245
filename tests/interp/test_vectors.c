// Hand-made vectors and files made by others: the four examples of the ORC specification for RLE version 2 and small blocks
// written out by hand; with the argument `files`, LZ4, Snappy and Deflate streams of other encoders, from the directory that
// ZF_TEST_DATA names. Without one that is skipped.
#include <stdlib.h>
#include <string.h>

#include "tests/interp/interp.h"
#include "tests/interp/load.h"
#include "tests/unit/check.h"

static zf_spec *spec;

// One column over one stored stream of bytes, one chunk.
static interp_status decode_bytes(interp *in, zf_type type, const char *codec, const uint64_t *params, uint32_t param_count,
                                  const void *bytes, uint64_t size, uint64_t elements, interp_stream **out,
                                  interp_report *report) {
    const zf_column *column = zf_spec_resolve_codec(spec, "vector", type, codec);
    CHECK(column != NULL, "%s is resolved", codec);
    if (!column) return INTERP_MISUSE;
    uint64_t counts[2] = {elements, size}, start = 0;
    interp_stored stream = {.bytes = bytes, .size = size, .elements = size};
    interp_directory directories[2] = {{0}, {.starts = &start, .count = elements > 0}};
    interp_block block = {.params = params,
                          .param_count = param_count,
                          .streams = &stream,
                          .stream_count = 1,
                          .counts = counts,
                          .directories = directories,
                          .edge_count = 2};
    return interp_decode_stored(in, column, &block, out, report);
}

// ---- ORC RLE version 2 ----------------------------------------------------------------------------------------

// clang-format off
static const struct {
    const char *name;
    uint64_t is_signed;
    uint8_t bytes[64];
    uint64_t size;
    int64_t values[24];
    uint64_t count;
} orc[] = {
    {"short repeat", 0, {0x0a, 0x27, 0x10}, 3, {10000, 10000, 10000, 10000, 10000}, 5},
    {"direct", 0, {0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef}, 10, {23713, 43806, 57005, 48879}, 4},
    {"patched base", 0,
     {0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46,
      0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8},
     28,
     {2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160, 2170, 2180, 2190},
     20},
    {"delta", 0, {0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, 8, {2, 3, 5, 7, 11, 13, 17, 19, 23, 29}, 10},
};
// clang-format on

static void test_orc(void) {
    for (size_t k = 0; k < sizeof orc / sizeof orc[0]; k++) {
        interp *in = interp_create(NULL);
        interp_stream *out;
        interp_report report;
        interp_status status = decode_bytes(in, zf_type_of(ZF_K_I64), "orc_rle2_draft", &orc[k].is_signed, 1, orc[k].bytes,
                                            orc[k].size, orc[k].count, &out, &report);
        CHECK(status == INTERP_OK, "%s: %s, V%02u", orc[k].name, interp_status_name(status), report.violation.number);
        for (uint64_t i = 0; status == INTERP_OK && i < orc[k].count; i++)
            CHECK((int64_t)interp_stream_bits(out, i, NULL) == orc[k].values[i], "%s: element %llu", orc[k].name,
                  (unsigned long long)i);
        interp_destroy(in);
    }
}

// ---- Streams of others ----------------------------------------------------------------------------------------

// The directory of files made by others, if there is one.
static void *read_data(const char *name, size_t *size) {
    const char *directory = getenv("ZF_TEST_DATA");
    char path[1024];
    if (!directory) return NULL;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return load_bytes(path, size);
}

static void check_plain(const char *name, const char *codec, const void *packed, size_t packed_size, const void *plain,
                        size_t size) {
    interp *in = interp_create(NULL);
    interp_stream *out;
    interp_report report;
    zf_text options = {0};
    zf_text_printf(&options, "%s(chunk: %u)", codec, 1u << 24);
    interp_status status = decode_bytes(in, zf_type_of(ZF_K_U8), options.data, NULL, 0, packed, packed_size, size, &out, &report);
    zf_text text = {0};
    if (status == INTERP_VIOLATION) interp_violation_text(&report.violation, &text);
    CHECK(status == INTERP_OK, "%s: %s: %s", name, interp_status_name(status), text.data ? text.data : report.message);
    CHECK(status != INTERP_OK || memcmp(interp_stream_bytes(out), plain, size) == 0, "%s: other bytes", name);
    zf_text_free(&text);
    zf_text_free(&options);
    interp_destroy(in);
}

static uint32_t le32(const uint8_t *b) { return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24; }

// An LZ4 frame: magic, descriptor, blocks. Linked blocks cannot be decoded alone, so one block only.
static bool lz4_block(const uint8_t *frame, size_t size, const uint8_t **block, size_t *block_size) {
    if (size < 11 || le32(frame) != 0x184d2204) return false;
    size_t at = 6 + (frame[4] & 8 ? 8u : 0u) + (frame[4] & 1 ? 4u : 0u) + 1;
    if (at + 4 > size) return false;
    uint32_t length = le32(frame + at);
    if (length >> 31 || at + 4 + length + 4 > size || le32(frame + at + 4 + length) != 0) return false; // stored, or more blocks
    *block = frame + at + 4;
    *block_size = length;
    return true;
}

static bool test_file(const char *kind, const char *packed_name, const char *plain_name) {
    size_t packed_size = 0, plain_size = 0;
    uint8_t *packed = read_data(packed_name, &packed_size), *plain = read_data(plain_name, &plain_size);
    bool done = packed && plain;
    const uint8_t *bytes = packed;
    size_t size = packed_size;
    if (done && strcmp(kind, "lz4") == 0 && !lz4_block(packed, packed_size, &bytes, &size)) done = false;
    if (done) check_plain(packed_name, kind, bytes, size, plain, plain_size);
    free(packed);
    free(plain);
    return done;
}

static const struct {
    const char *kind, *packed, *plain;
} files[] = {
    {"lz4", "lz4/e.txt.lz4", "lz4/e.txt"},
    {"lz4", "lz4/gettysburg.txt.lz4", "lz4/gettysburg.txt"},
    {"lz4", "lz4/repeat.txt.lz4", "lz4/repeat.txt"},
    {"snappy", "snappy/Isaac.Newton-Opticks.txt.rawsnappy", "snappy/Isaac.Newton-Opticks.txt"},
    {"deflate_draft", "deflate/backref-crosses-blocks.deflate", "deflate/backref-crosses-blocks.deflate.decompressed"},
    {"deflate_draft", "deflate/distance-32768.deflate", "deflate/distance-32768.deflate.decompressed"},
    {"deflate_draft", "deflate/romeo.txt.deflate", "deflate/romeo.txt"},
    {"deflate_draft", "deflate/romeo.txt.fixed-huff.deflate", "deflate/romeo.txt"},
};

static void test_files(void) {
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++)
        CHECK(test_file(files[k].kind, files[k].packed, files[k].plain), "%s is missing or not as it should be", files[k].packed);
}

static void test_by_hand(void) {
    static const uint8_t lz4[] = {0x12, 'a', 1, 0, 0x50, 'v', 'w', 'x', 'y', 'z'}; // 'a', a match of 6 at 1, five literals
    check_plain("lz4 by hand", "lz4", lz4, sizeof lz4, "aaaaaaavwxyz", 12);
    static const uint8_t snappy[] = {8, 0 << 2, 'a', 1 | 3 << 2, 1}; // a literal, a copy of 7 at 1
    check_plain("snappy by hand", "snappy", snappy, sizeof snappy, "aaaaaaaa", 8);
    static const uint8_t dynamic[] = {
        // codes of its own, matches: the text below as zlib packs it at level 9
        0x85, 0x92, 0x51, 0x0a, 0x03, 0x21, 0x0c, 0x05, 0xaf, 0xe2, 0x11, 0x56, 0x13, 0x8d, 0xd2, 0xd3, 0x6c, 0xbb, 0x96, 0x85,
        0x6e, 0x6b, 0xb1, 0x0b, 0xbd, 0x7e, 0xfd, 0x14, 0x7c, 0x8d, 0x9f, 0x06, 0x46, 0x87, 0x31, 0xb5, 0x7c, 0xcd, 0x62, 0xca,
        0xdd, 0x9c, 0x7b, 0x36, 0xe7, 0x7a, 0x3d, 0xb2, 0xd9, 0xcb, 0xb1, 0x7d, 0xda, 0xf0, 0xbd, 0xde, 0x1e, 0x79, 0x33, 0xdf,
        0x52, 0xdb, 0x71, 0x7d, 0x6d, 0x6d, 0xf4, 0x2c, 0x35, 0x5f, 0x4c, 0x6d, 0x0c, 0x09, 0x82, 0xec, 0x08, 0xd9, 0x0e, 0x12,
        0x46, 0x10, 0x8f, 0x90, 0xeb, 0x20, 0x0b, 0xf5, 0xd2, 0x08, 0x51, 0x07, 0x31, 0xd6, 0x0b, 0x23, 0xc5, 0x1d, 0x15, 0xa1,
        0x9f, 0xf3, 0x23, 0xe5, 0x3b, 0xca, 0x41, 0x41, 0x02, 0x6f, 0x85, 0x8e, 0xf2, 0xd0, 0x90, 0x93, 0x9e, 0x3d, 0x41, 0x43,
        0x3b, 0xe9, 0x4e, 0xd0, 0xd0, 0x45, 0x3d, 0x7c, 0xc0, 0x86, 0xa2, 0x97, 0x27, 0x28, 0xe8, 0xf5, 0xf0, 0x8c, 0x13, 0x46,
        0x3d, 0xbc, 0xe0, 0x4f, 0x5e, 0xf4, 0xf0, 0x16, 0x1a, 0x92, 0xe8, 0xe1, 0x3d, 0x34, 0x6c, 0x77, 0xa9, 0xe1, 0x23, 0x4e,
        0x38, 0xd9, 0x78, 0x07, 0x0d, 0x1d, 0xeb, 0xe1, 0x03, 0x34, 0x9c, 0x6c, 0x7c, 0xc2, 0x82, 0xa4, 0x87, 0x27, 0x2c, 0x98,
        0xf4, 0xf0, 0x82, 0x13, 0x4e, 0xc2, 0x07, 0x04, 0x89, 0x9e, 0x9d, 0xa1, 0x9f, 0x77, 0xff, 0xb3, 0xff, 0x00};
    char text[2048];
    size_t length = 0;
    for (int k = 0; k < 24; k++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "row %d of the table holds %d packed words and %d more; ",
                                   k * 37 % 101, k * k % 53, k % 7);
    }
    check_plain("deflate, dynamic codes", "deflate_draft", dynamic, sizeof dynamic, text, length);
    static const uint8_t deflate[] = {0x01, 3, 0, 0xfc, 0xff, 'x', 'y', 'z'}; // stored
    check_plain("deflate by hand", "deflate_draft", deflate, sizeof deflate, "xyz", 3);
}

int main(int count, char **arguments) {
    bool of_others = count > 1 && strcmp(arguments[1], "files") == 0;
    const char *directory = getenv("ZF_TEST_DATA");
    if (of_others && (directory == NULL || directory[0] == 0)) {
        printf("ZF_TEST_DATA names no directory with files of other encoders\n");
        return 77;
    }
    spec = load_file(ZF_SOURCE_DIR "/tests/interp/roundtrip.zf");
    CHECK(spec != NULL, "roundtrip.zf has errors");
    if (!spec) return check_result();
    if (of_others) {
        test_files();
    } else {
        test_orc();
        test_by_hand();
    }
    zf_spec_destroy(spec);
    return check_result();
}
