// Links: zipflow-compiler zipflow-emu
// zf_wrap: chunks go to a file as they are and decode on every device; arguments and chunks that are wrong leave no file.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

// Runs of numbers: a count and a number of two bytes. Booleans: a byte each. No encoder is registered.
static const char text[] =
    "algorithm runs(src: u8[] per chunk) -> u16[] non_parallel(chunk = 500) {\n"
    "    decode { while !src.at_end() { let n = src.u8(); let v = src.u16(); emit k in 0..n: v; } }\n"
    "    encode extern \"nobody\";\n"
    "}\n"
    "algorithm flags(src: u8[] per chunk) -> bool[] non_parallel(chunk = 64) {\n"
    "    decode { while out.pos < out.len { emit src.u8() != 0; } }\n"
    "    encode extern \"nobody\";\n"
    "}\n"
    "algorithm zeros(src: u8[] per chunk) -> u8[] non_parallel(chunk = 100) {\n"
    "    decode { emit k in 0..out.len: 0; }\n"
    "    encode extern \"nobody\";\n"
    "}\n"
    "algorithm texts(src: u8[] per chunk) -> string[] non_parallel(chunk = 500) {\n"
    "    decode { while out.pos < out.len { emit src[0..2]; } }\n"
    "    encode extern \"nobody\";\n"
    "}\n"
    "algorithm gaps(src: u8[] per chunk) -> u8?[] non_parallel(chunk = 500) {\n"
    "    decode { while out.pos < out.len { let n = src.u8(); if n == 0 { emit null; } else { emit n; } } }\n"
    "    encode extern \"nobody\";\n"
    "}\n"
    "table numbers { c: u16 = runs; }\n"
    "table booleans { c: bool = flags; }\n"
    "table nothing { c: u8 = zeros; }\n"
    "table strings { c: string = texts; }\n"
    "table nulls { c: u8? = gaps; }\n"
    "table frames { c: u8 = zstd_split(steps: zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes)); }\n"
    "table two { a: u16 = runs; b: u8 = zeros; }\n";

enum { CHUNKS = 300, MOST = 500 };

static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;
static uint8_t packed[CHUNKS][8];
static zf_wrapped_chunk chunks[CHUNKS];
static uint16_t rows[CHUNKS * MOST];
static uint64_t row_count;

/// Chunks of 1 to 500 rows, in one or two runs.
static void fill(void) {
    for (unsigned k = 0; k < CHUNKS; k++) {
        unsigned first = 1 + k * 37 % 255, second = k % 3 == 0 ? 0 : 1 + k * 101 % 245;
        uint16_t values[2] = {(uint16_t)(k * 7), (uint16_t)(k * 11 + 1)};
        packed[k][0] = (uint8_t)first;
        memcpy(packed[k] + 1, &values[0], 2);
        packed[k][3] = (uint8_t)second;
        memcpy(packed[k] + 4, &values[1], 2);
        chunks[k] = (zf_wrapped_chunk){packed[k], second > 0 ? 6 : 3, first + second};
        for (unsigned i = 0; i < first + second; i++) rows[row_count++] = values[i >= first];
    }
}

static zf_status wrap(const char *table, const zf_wrapped_column *columns, size_t count, const zf_encode_options *options,
                      zf_encode_stats *stats, zf_error *error) {
    *error = (zf_error){0};
    return zf_wrap(program, table, columns, count, options, place("t.zfd"), stats, error);
}

static zf_status decode(const char *device, uint64_t begin, uint64_t count, void *out, size_t bytes, zf_error *error) {
    zf_container *container = NULL;
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_decode_options options = {ZF_INIT(zf_decode_options), .some_rows = true, .row_begin = begin, .row_count = count};
    zf_status status = zf_container_open(context, place("t.zfd"), &container, error);
    if (status == ZF_OK) status = zf_decode_size(container, 0, &options, &sizes, error);
    if (status != ZF_OK) return status;
    uint8_t *values = aligned_alloc(64, sizes.values / 64 * 64 + 64), *work = aligned_alloc(64, sizes.workspace / 64 * 64 + 64);
    memset(values, 0xa5, sizes.values / 64 * 64 + 64);
    zf_decode_buffers to = {ZF_INIT(zf_decode_buffers), .values = values, .workspace = work, ZF_DECODE_BYTES(sizes)};
    status = zf_decode(container, 0, device, &options, &to, NULL, error);
    memcpy(out, values, bytes);
    free(values);
    free(work);
    zf_container_close(container);
    return status;
}

static void check_rows(uint64_t begin, uint64_t end) {
    static uint16_t got[CHUNKS * MOST];
    static const char *const devices[] = {"cpu", "emu"};
    zf_error error = {0};
    for (unsigned d = 0; d < 2; d++) {
        memset(got, 0, sizeof got);
        zf_status status = decode(devices[d], begin, end - begin, got, (end - begin) * sizeof *got, &error);
        CHECK(status == ZF_OK && memcmp(got, rows + begin, (end - begin) * sizeof *got) == 0, "rows %llu..%llu on %s: %s at %s",
              (ull)begin, (ull)end, devices[d], error.message, error.place);
    }
}

/// A block ends with the chunk with which it has so many rows; 0: there is one block.
static uint64_t blocks_of(uint64_t rows_per_block) {
    uint64_t blocks = 1, in_block = 0;
    for (unsigned k = 0; k < CHUNKS && rows_per_block > 0; k++) {
        if (in_block >= rows_per_block) blocks++, in_block = 0;
        in_block += chunks[k].rows;
    }
    return blocks;
}

static void test_numbers(void) {
    static const uint64_t rows_per_block[] = {0, 1, 700, 30000};
    const zf_wrapped_column column = {.name = "c", .chunks = chunks, .chunk_count = CHUNKS};
    for (unsigned k = 0; k < 4; k++) {
        zf_error error;
        zf_encode_stats stats = {ZF_INIT(zf_encode_stats)};
        zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = rows_per_block[k], .overwrite = true,
                                     .threads = 2, .zones = k % 2};
        zf_status status = wrap("numbers", &column, 1, &options, &stats, &error);
        CHECK(status == ZF_OK, "%s at %s", error.message, error.place);
        uint64_t blocks = blocks_of(rows_per_block[k]);
        CHECK(stats.plain_bytes == 2 * row_count && stats.blocks == blocks, "%llu bytes in %llu blocks, not %llu",
              (ull)stats.plain_bytes, (ull)stats.blocks, (ull)blocks);
        check_rows(0, row_count);
        check_rows(chunks[0].rows - 1, chunks[0].rows + 1);
        check_rows(row_count / 2, row_count / 2 + 999);
    }
}

static void test_others(void) {
    zf_error error;
    uint8_t bits[200] = {0}, got[200];
    zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true};
    for (unsigned k = 0; k < 200; k++) bits[k] = k % 3 == 0;
    zf_wrapped_chunk flags[] = {{bits, 64, 64}, {bits + 64, 8, 8}, {bits + 72, 40, 40}, {bits + 112, 61, 61}};
    zf_wrapped_column column = {.name = "c", .chunks = flags, .chunk_count = 4};
    CHECK(wrap("booleans", &column, 1, &options, NULL, &error) == ZF_OK, "%s at %s", error.message, error.place);
    for (unsigned d = 0; d < 2; d++) {
        CHECK(decode(d == 0 ? "cpu" : "emu", 0, 173, got, 22, &error) == ZF_OK, "%s", error.message);
        for (unsigned k = 0; k < 173; k++) CHECK((got[k / 8] >> k % 8 & 1) == bits[k], "boolean %u", k);
    }
    flags[1].rows = flags[1].size = 7;
    CHECK(wrap("booleans", &column, 1, &options, NULL, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1322") == 0, "%s %s",
          error.code, error.message);
    // Chunks of no bytes.
    const zf_wrapped_chunk empty[] = {{NULL, 0, 100}, {NULL, 0, 1}};
    column = (zf_wrapped_column){.name = "c", .chunks = empty, .chunk_count = 2};
    CHECK(wrap("nothing", &column, 1, &options, NULL, &error) == ZF_OK, "%s at %s", error.message, error.place);
    CHECK(decode("cpu", 0, 101, got, 101, &error) == ZF_OK && got[0] == 0 && got[100] == 0, "%s", error.message);
    // No chunks.
    column.chunk_count = 0;
    CHECK(wrap("nothing", &column, 1, &options, NULL, &error) == ZF_OK, "%s at %s", error.message, error.place);
    CHECK(decode("cpu", 0, 0, got, 0, &error) == ZF_OK, "%s", error.message);
    unlink(place("t.zfd"));
}

static bool stop(void *user, uint64_t done, uint64_t blocks) {
    unsigned *calls = user;
    CHECK(blocks == CHUNKS && done == ++*calls, "block %llu of %llu", (ull)done, (ull)blocks);
    return done < 5;
}

static void refuse(const char *table, const zf_wrapped_column *columns, size_t count, const zf_encode_options *options,
                   zf_status wanted, const char *code, const char *says) {
    zf_error error;
    zf_status status = wrap(table, columns, count, options, NULL, &error);
    CHECK(status == wanted && strcmp(error.code, code) == 0, "%s: %d %s %s", says, status, error.code, error.message);
    CHECK(strstr(error.message, says) != NULL || strstr(error.place, says) != NULL, "not `%s` but `%s`", says, error.message);
    CHECK(access(place("t.zfd"), F_OK) != 0, "%s: a file is there", says);
}

static void test_refusals(void) {
    zf_error error;
    unsigned calls = 0;
    zf_wrapped_chunk wrong[3] = {chunks[0], chunks[1], chunks[2]};
    zf_wrapped_column column = {.name = "c", .chunks = chunks, .chunk_count = CHUNKS},
                      lies = {.name = "c", .chunks = wrong, .chunk_count = 3};
    zf_wrapped_column both[] = {{.name = "a", .chunks = chunks, .chunk_count = 2},
                                {.name = "b", .chunks = chunks, .chunk_count = 1}},
                      same[] = {both[0], both[0]};
    refuse("numbers", NULL, 1, NULL, ZF_ERR_USAGE, "ZF1101", "columns");
    refuse("numbers", &column, 0, NULL, ZF_ERR_USAGE, "ZF1101", "`c` is missing");
    refuse("none", &column, 1, NULL, ZF_ERR_USAGE, "ZF1101", "`none`");
    refuse("two", both, 1, NULL, ZF_ERR_USAGE, "ZF1101", "`b` is missing");
    refuse("two", same, 2, NULL, ZF_ERR_USAGE, "ZF1101", "given twice");
    refuse("two", both, 2, NULL, ZF_ERR_INPUT, "ZF1508", "column `b` has");
    refuse("two", &column, 1, NULL, ZF_ERR_USAGE, "ZF1101", "no column `c`");
    refuse("numbers", &(zf_wrapped_column){.name = "c", .chunk_count = 1}, 1, NULL, ZF_ERR_USAGE, "ZF1101", "no array");
    refuse("numbers", &(zf_wrapped_column){.chunks = chunks, .chunk_count = 1}, 1, NULL, ZF_ERR_USAGE, "ZF1101",
           "without a name");
    refuse("strings", &column, 1, NULL, ZF_ERR_USAGE, "ZF1509", "its rows are strings");
    refuse("nulls", &column, 1, NULL, ZF_ERR_USAGE, "ZF1509", "its rows may be null");
    refuse("numbers", &column, 1, &(zf_encode_options){ZF_INIT(zf_encode_options), .format = 1}, ZF_ERR_USAGE, "ZF1101",
           "version 1");
    refuse("numbers", &column, 1, &(zf_encode_options){ZF_INIT(zf_encode_options), .unfused = "all"}, ZF_ERR_USAGE, "ZF1101",
           "seek states");
    refuse("numbers", &column, 1, &(zf_encode_options){ZF_INIT(zf_encode_options), .seek_interval = 1024}, ZF_ERR_USAGE, "ZF1101",
           "seek states");
    wrong[1].bytes = NULL;
    refuse("numbers", &lies, 1, NULL, ZF_ERR_USAGE, "ZF1101", "has no bytes");
    refuse("numbers", &lies, 1, NULL, ZF_ERR_USAGE, "ZF1101", "column c, chunk 1");
    wrong[1] = chunks[1];
    wrong[2].rows = 0;
    refuse("numbers", &lies, 1, NULL, ZF_ERR_INPUT, "ZF1508", "chunk 2 of column `c` has no rows");
    refuse("numbers", &lies, 1, NULL, ZF_ERR_INPUT, "ZF1508", "column c, chunk 2");
    wrong[2].rows = MOST + 1;
    refuse("numbers", &lies, 1, NULL, ZF_ERR_INPUT, "ZF1508", "`runs` has at most 500");
    wrong[2].rows = chunks[2].rows + 1;
    refuse("numbers", &lies, 1, NULL, ZF_ERR_INPUT, "ZF1304", "chunk 2");
    wrong[2].rows = chunks[2].rows - 1;
    refuse("numbers", &lies, 1, NULL, ZF_ERR_INPUT, "ZF1303", "chunk 2");
    wrong[2] = chunks[2];
    wrong[1].size--;
    refuse("numbers", &lies, 1, NULL, ZF_ERR_INPUT, "ZF1302", "chunk 1");
    wrong[1].size = UINT64_C(1) << 33;
    refuse("numbers", &lies, 1, NULL, ZF_ERR_INPUT, "ZF1508", "more bytes than a block");
    zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = 1, .progress = stop, .progress_user = &calls};
    refuse("numbers", &column, 1, &options, ZF_ERR_CANCELLED, "ZF1115", "after 5 of 300 blocks");
    CHECK(calls == 5, "%u calls", calls);
    CHECK(wrap("numbers", &column, 1, NULL, NULL, &error) == ZF_OK, "%s", error.message);
    CHECK(wrap("numbers", &column, 1, NULL, NULL, &error) == ZF_ERR_IO && strcmp(error.code, "ZF1501") == 0, "%s", error.message);
    CHECK(zf_wrap(NULL, NULL, &column, 1, NULL, place("t.zfd"), NULL, &error) == ZF_ERR_USAGE, "no program");
    CHECK(zf_wrap(program, "numbers", &column, 1, NULL, NULL, NULL, &error) == ZF_ERR_USAGE, "no path");
}

/// Literals of frames that are taken apart are a stage of their own: its failures name the frame that the literals are of.
static void test_stages(void) {
    // Ten bytes as they are, then a literal of one bit, of whose stream the damaged frame has two.
    static const uint8_t good[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 11,  0,    0, 0, 0x50, 0,    0, '0',  '1',  '2', '3',
                                   '4',  '5',  '6',  '7',  '8',  '9', 0x3d, 0, 0, 0x12, 0xc0, 0, 0x80, 0x10, 2,   0};
    uint8_t wrong[sizeof good], got[44];
    zf_wrapped_chunk frames[4] = {
        {good, sizeof good, 11}, {good, sizeof good, 11}, {good, sizeof good, 11}, {good, sizeof good, 11}};
    const zf_wrapped_column column = {.name = "c", .chunks = frames, .chunk_count = 4};
    zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true};
    zf_error error;
    memcpy(wrong, good, sizeof good);
    wrong[30] = 6;
    CHECK(wrap("frames", &column, 1, &options, NULL, &error) == ZF_OK, "%s at %s", error.message, error.place);
    CHECK(decode("cpu", 0, 44, got, 44, &error) == ZF_OK && memcmp(got + 33, "0123456789", 11) == 0, "%s", error.message);
    unlink(place("t.zfd"));
    frames[2].bytes = wrong;
    refuse("frames", &column, 1, NULL, ZF_ERR_INPUT, "ZF1306", "column c, block 0, chunk 2, element 10 of literals");
    options.rows_per_block = 22;
    refuse("frames", &column, 1, &options, ZF_ERR_INPUT, "ZF1306", "column c, block 1, chunk 2, element 10 of literals");
}

int main(void) {
    zf_error error = {0};
    fill();
    CHECK(scratch_begin("wrap"), "no directory");
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, NULL, &compiler, &error) == ZF_OK, "%s", error.message);
    zf_status status = zf_program_load_text(compiler, "w.zf", text, sizeof text - 1, &program, &error);
    CHECK(status == ZF_OK, "%s at %s", error.message, error.place);
    if (status != ZF_OK) return check_result();
    test_numbers();
    test_others();
    test_refusals();
    test_stages();
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
