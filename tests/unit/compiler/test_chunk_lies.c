// Links: zipflow-compiler
// A file of chunks that lies: directories, streams, header. Each lie has its violation with block, row, path and line, whatever
// the number of threads; chunks beside it still decode.
#include <stdlib.h>
#include <string.h>

#include "runtime/container/container.h"
#include "tests/hostile/mutate.h"
#include "zipflow/compile.h"

// Runs, in chunks of 100. `stop` is 1, or the first loop goes on for ever.
static const char text[] = "algorithm pieces(src: u8[] per chunk, stop: u8[1] per chunk) -> u8[] non_parallel(chunk = 100) {\n"
                           "    decode {\n"
                           "        var turns: u64 = 0;\n"
                           "        while stop[0] == 0 || turns < 3 { turns += 1; }\n"
                           "        while !src.at_end() {\n"
                           "            let n = src.u8();\n"
                           "            require n != 77;\n"
                           "            let v = src.u8();\n"
                           "            emit k in 0..n: v;\n"
                           "        }\n"
                           "    }\n"
                           "    encode(x) {\n"
                           "        for c in chunks(x) {\n"
                           "            stop.push(1);\n"
                           "            for i in 0..c.len { if i % 10 == 0 { src.push(10); src.push(c[i]); } }\n"
                           "        }\n"
                           "    }\n"
                           "}\n"
                           "table t { c: u8 = pieces; }\n"
                           "algorithm idle(turns: u64[1]) -> u8[] non_parallel(chunk = 1) {\n"
                           "    decode { var n: u64 = 0; while n != turns[0] { n += 1; } emit 0; }\n"
                           "    encode(x) { turns.push(0); }\n"
                           "}\n"
                           "table many { c: u8 = idle; }\n"
                           "algorithm waits(src: u8[] per chunk) -> u8[] non_parallel(chunk = 1) {\n"
                           "    decode { var n: u64 = 0; while n != src.len { n += 1; } for v in src { emit v; } }\n"
                           "    encode(x) { for c in chunks(x) { src.append(c); } }\n"
                           "}\n"
                           "table placed { c: u8 = waits; }\n"
                           "algorithm sums(src: u8[] per chunk) -> u8[] non_parallel(chunk = 3) {\n"
                           "    decode {\n"
                           "        require sum(k in 0..src.len: src[k] as u32) < 1000;\n"
                           "        for n in 0..src.len { for k in n..src.len { if k == n { emit src[k]; } } }\n"
                           "    }\n"
                           "    encode(x) { for c in chunks(x) { src.append(c); } }\n"
                           "}\n"
                           "table looped { c: u8 = sums; }\n"
                           "table nested { c: u8 = sums(dictionary(bitpack)); }\n"
                           "algorithm slow(s: u8[]) -> u8[] fully_parallel {\n"
                           "    decode(i) { var t: u8 = 0; for k in 0..60000 { t = t * 3 + s[i]; } return s[i] + (t ^ t); }\n"
                           "    encode(x) { s.append(x); }\n"
                           "}\n"
                           "table pulled { c: u8 = sums(slow); }\n";
enum { ROWS = 250, RUN = 10 };

static char path[64], source[80];
static uint8_t rows[ROWS];
static _Alignas(64) uint8_t made[ROWS];
static uint64_t src_at, stop_at, directory_at, tree_at;
static zf_context *context;

static void note_part(void *user, const zf_container_part *part) {
    (void)user;
    if (strcmp(part->kind, "directory") == 0) directory_at = part->offset;
    if (strcmp(part->name, "src") == 0 && strcmp(part->kind, "stream") == 0) src_at = part->offset;
    if (strcmp(part->name, "stop") == 0 && strcmp(part->kind, "stream") == 0) stop_at = part->offset;
}

static zf_status decode(uint64_t begin, uint64_t count, unsigned threads, zf_error *error) {
    zf_container *container = NULL;
    zf_decode_sizes sizes = {0};
    *error = (zf_error){0};
    memset(made, 0xa5, sizeof made);
    zf_status status = zf_container_open(context, path, &container, error);
    if (status != ZF_OK) return status;
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count, .threads = threads};
    status = zf_decode_size(container, 0, &options, &sizes, error);
    void *work = aligned_alloc(64, sizes.workspace / 64 * 64 + 64);
    zf_decode_buffers buffers = {.values = made, .workspace = work, ZF_DECODE_BYTES(sizes)};
    if (status == ZF_OK) status = zf_decode(container, 0, "cpu", &options, &buffers, NULL, error);
    free(work);
    zf_container_close(container);
    return status;
}

static void test_lies(mutated *m) {
    const struct {
        uint64_t at;
        uint8_t value;
        const char *code, *place, *says;
    } lies[] = {
        {src_at, 200, "ZF1303", "block 0, row 0, the column's codec (pieces)", "emit"},
        {src_at, 9, "ZF1304", "block 0, row 99, the column's codec (pieces)", "elements that a chunk emits"},
        {src_at + 38, 11, "ZF1303", "block 0, row 190, ", "emit"},
        {src_at + 20, 77, "ZF1306", "block 0, row 100, ", "does not hold: `n != 77`"},
        {stop_at + 1, 0, "ZF1310", "block 0, row 100, ", "iterations of a loop"},
        {directory_at, 19, "ZF1302", "block 0, row 90, ", "u8 of src"},
        {directory_at, 41, "ZF1322", "column c, block 0, byte ",
         "chunk 2 of `(column)` starts at element 40 of stream `src`, the one before"},
        {directory_at + 1, 51, "ZF1322", "column c, block 0, byte ",
         "chunk 2 of `(column)` starts at element 51 of stream `src`, which has 50"},
        {tree_at + 3, 0, "ZF1209", "block 0", "seek tree 0"},
        {tree_at + 8, 3, "ZF1322", "block 0", "3 entries for 250 elements in chunks of 100"},
        {tree_at, 50, "ZF1322", "block 0", "in chunks of 50"},
        {tree_at, 0, "ZF1209", "block 0", "chunk directory 0"},
    };
    for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
        memcpy(m->bytes, m->original, m->size);
        m->bytes[lies[k].at] = lies[k].value;
        mutate_repair(m);
        mutate_write(path, m->bytes, m->size);
        for (unsigned threads = 1; threads <= 4; threads += 3) {
            zf_error error;
            zf_status status = decode(0, ROWS, threads, &error);
            CHECK(status == ZF_ERR_INPUT && strcmp(error.code, lies[k].code) == 0, "lie %zu: %s %s", k, error.code,
                  error.message);
            CHECK(strstr(error.place, lies[k].place) != NULL, "lie %zu: at %s", k, error.place);
            CHECK(strstr(error.message, lies[k].says) != NULL, "lie %zu: %s", k, error.message);
            bool in_kernel = strncmp(error.code, "ZF130", 5) == 0 || strcmp(error.code, "ZF1310") == 0;
            CHECK(!in_kernel || strstr(error.place, ".zfd:") != NULL || strstr(error.place, path) != NULL, "lie %zu: %s", k,
                  error.place);
        }
    }
    // A chunk that is not asked for says nothing.
    memcpy(m->bytes, m->original, m->size);
    m->bytes[src_at] = 200;
    mutate_repair(m);
    mutate_write(path, m->bytes, m->size);
    zf_error error;
    CHECK(decode(100, 150, 1, &error) == ZF_OK && memcmp(made, rows + 100, 150) == 0, "%s %s", error.code, error.message);
    CHECK(decode(99, 2, 1, &error) == ZF_ERR_INPUT, "the lying chunk");
}

static void store64(uint8_t *to, uint64_t value) { memcpy(to, &value, sizeof value); } // little-endian, as all that runs this

/// A stream as long as its block, and everything behind it placed accordingly: the directory would stand behind the block, where
/// nothing may be read.
static void test_longer(mutated *m) {
    memcpy(m->bytes, m->original, m->size);
    uint8_t *block = m->bytes + m->blocks[0], *counts = block + ZF_BLOCK_FIXED_BYTES;
    uint8_t *src = counts + 8 * 3, *stop = src + ZF_BLOCK_STREAM_BYTES,
            *field = stop + ZF_BLOCK_STREAM_BYTES + ZF_BLOCK_TREE_BYTES;
    uint64_t size = zf_load64(block + 16), offset = 0;
    zf_placing placing = zf_placing_start((uint64_t)(field - block) + ZF_BLOCK_FIELD_BYTES + ZF_BLOCK_END_BYTES);
    CHECK(zf_placing_add(&placing, ZF_FORMAT_ALIGNMENT, size, &offset) && offset == zf_load64(src), "where src stands");
    store64(counts + 8, size);
    store64(src + 8, size);
    store64(src + 16, size);
    CHECK(zf_placing_add(&placing, ZF_FORMAT_ALIGNMENT, zf_load64(stop + 8), &offset), "where stop would stand");
    store64(stop, offset);
    uint64_t bytes = 2 * zf_load64(field + 8); // where src begins in each chunk; stop has no field
    CHECK(zf_placing_add(&placing, ZF_FORMAT_FIELD_ALIGNMENT, bytes, &offset), "where the directory would stand");
    store64(field, offset);
    mutate_repair(m);
    mutate_write(path, m->bytes, m->size);
    zf_error error;
    CHECK(decode(0, ROWS, 1, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1209") == 0, "%s %s", error.code, error.message);
    CHECK(strstr(error.message, "stream `src`") != NULL, "%s", error.message);
}

static void test_ranges(void) {
    zf_error error;
    for (uint64_t begin = 0; begin < ROWS; begin += 7) {
        static const uint64_t lengths[] = {1, 33, 100, 101, 250};
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            uint64_t count = lengths[k] < ROWS - begin ? lengths[k] : ROWS - begin;
            CHECK(decode(begin, count, 1, &error) == ZF_OK, "%s %s", error.code, error.message);
            CHECK(memcmp(made, rows + begin, count) == 0, "rows %llu and %llu more", (unsigned long long)begin,
                  (unsigned long long)count);
            CHECK(count == ROWS || made[count] == 0xa5, "a row too many");
        }
    }
}

/// Chunks that are nothing but rounds of a loop: so many of them that a small file could ask for days are refused. A file has a
/// place for each chunk that has a part of a stream, so any number of those is taken.
static void test_many(zf_program *program) {
    enum { SOME = 900 * 1000, TOO_MANY = 1200 * 1000, TINY = 300 * 1000 };
    uint8_t *zeros = calloc(1, TOO_MANY);
    zf_encode_column column = {.name = "c", .values = zeros};
    zf_encode_options options = {.overwrite = true, .threads = 1, .rows_per_block = 1 << 21};
    zf_error error = {0};
    CHECK(zf_encode(program, "many", &column, 1, SOME, &options, path, NULL, &error) == ZF_OK, "%s %s", error.code,
          error.message);
    CHECK(zf_encode(program, "many", &column, 1, TOO_MANY, &options, path, NULL, &error) == ZF_ERR_INPUT, "they are taken");
    CHECK(strcmp(error.code, "ZF1310") == 0, "%s %s", error.code, error.message);
    CHECK(zf_encode(program, "placed", &column, 1, TOO_MANY, &options, path, NULL, &error) == ZF_OK, "%s %s", error.code,
          error.message);
    CHECK(zf_encode(program, "looped", &column, 1, TINY, &options, path, NULL, &error) == ZF_OK, "100,000 chunks: %s %s",
          error.code, error.message);
    CHECK(zf_encode(program, "nested", &column, 1, TINY, &options, path, NULL, &error) == ZF_OK, "%s %s", error.code,
          error.message);
    CHECK(zf_encode(program, "pulled", &column, 1, TINY, &options, path, NULL, &error) == ZF_ERR_UNSUPPORTED, "slow elements");
    CHECK(strcmp(error.code, "ZF0804") == 0 && strstr(error.message, "with what it pulls") != NULL, "%s %s", error.code,
          error.message);
    free(zeros);
}

int main(void) {
    if (!mutate_path(path, sizeof path)) return 1;
    snprintf(source, sizeof source, "%s.zf", path);
    FILE *file = fopen(source, "wb");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) return 1;
    for (int i = 0; i < ROWS; i++) rows[i] = (uint8_t)(i / RUN * 3);
    zf_error error = {0};
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_container *container = NULL;
    zf_encode_column column = {.name = "c", .values = rows};
    zf_encode_options options = {.overwrite = true, .threads = 1};
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 4}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, NULL, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_load(compiler, source, &program, &error) == ZF_OK, "%s %s", error.message, error.place);
    if (check_failures > 0) return check_result();
    CHECK(zf_encode(program, "t", &column, 1, ROWS, &options, path, NULL, &error) == ZF_OK, "%s %s", error.message, error.place);
    mutated m;
    if (check_failures > 0 || !mutate_read(path, &m)) return check_result();
    CHECK(zf_container_open(context, path, &container, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_account(container, note_part, NULL, &error) == ZF_OK, "%s", error.message);
    zf_container_close(container);
    tree_at = m.blocks[0] + ZF_BLOCK_FIXED_BYTES + 8 * 3 + ZF_BLOCK_STREAM_BYTES * 2; // 3 edges, 2 streams
    CHECK(zf_load32(m.original + tree_at) == (ZF_FORMAT_DIRECTORY | 100), "the directory's row");
    CHECK(m.original[directory_at] == 20 && m.original[directory_at + 1] == 40, "its entries");
    test_ranges();
    test_lies(&m);
    test_longer(&m);
    test_many(program);
    unlink(path);
    unlink(source);
    mutate_free(&m);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
