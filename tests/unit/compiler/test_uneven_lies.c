// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Directories of uneven chunks that lie, byte by byte: each lie is refused before anything is decoded, with its place, or the
// rows are right.
#include "tests/hostile/mutate.h"
#include "tests/support/emulated.h"
#include "tests/support/uneven_chunks.h"

typedef unsigned long long ull;

// Runs of bytes. The encoder gives each chunk a part of at least two bytes.
static const char imports[] = "algorithm pieces(src: u8[] per chunk, more: u16[] per chunk) -> u8[] non_parallel(chunk = 64) {\n"
                              "    decode {\n"
                              "        while !src.at_end() {\n"
                              "            let n = src.u8();\n"
                              "            let v = src.u8();\n"
                              "            emit k in 0..n: v + more[0] as u8;\n"
                              "        }\n"
                              "    }\n"
                              "    encode(x) {\n"
                              "        for c in chunks(x) {\n"
                              "            more.push(3);\n"
                              "            for v in c { src.push(1); src.push(v - 3); }\n"
                              "        }\n"
                              "    }\n"
                              "}\n";
static const char bits[] = "algorithm flips(src: u8[] per chunk) -> bool[] non_parallel(chunk = 64) {\n"
                           "    decode { while out.pos < out.len { emit src.u8() != 0; } }\n"
                           "    encode(x) { for c in chunks(x) { for v in c { src.push(v ? 1 : 0); } } }\n"
                           "}\n";

enum { ROWS = 100, INSIDE = 3 };
static const unsigned sizes[UNEVEN_SIZES] = {64, 16, 4, 2}, bytes_of_bits[UNEVEN_SIZES] = {64, 16, 8};

static zf_context *context;
static zf_compiler *compiler;
static uint8_t rows[ROWS];
static uneven_file made;
static uint64_t directory_at[8], header_at; ///< of the fields in their order; of the tree's row in the block's header
static unsigned field_count;

/// `count` rows from `begin` on.
static zf_status decode(const mutated *m, const char *device, uint64_t begin, uint64_t count, uint8_t *out, zf_error *error) {
    zf_container *container = NULL;
    zf_decode_sizes sizes_of = {ZF_INIT(zf_decode_sizes)};
    zf_open_options open = {ZF_INIT(zf_open_options), .copy = true};
    zf_decode_options options = {ZF_INIT(zf_decode_options), .some_rows = true, .row_begin = begin, .row_count = count};
    *error = (zf_error){0};
    zf_status status = zf_container_open_memory(context, m->bytes, m->size, &open, &container, error);
    if (status != ZF_OK) return status;
    static _Alignas(64) uint8_t values[4096];
    memset(values, 0xa5, sizeof values);
    status = zf_decode_size(container, 0, &options, &sizes_of, error);
    uint8_t *work = aligned_alloc(64, sizes_of.workspace / 64 * 64 + 64);
    zf_decode_buffers to = {ZF_INIT(zf_decode_buffers), .values = values, .workspace = work, ZF_DECODE_BYTES(sizes_of)};
    if (status == ZF_OK) status = zf_decode(container, 0, device, &options, &to, NULL, error);
    memcpy(out, values, count);
    free(work);
    zf_container_close(container);
    return status;
}

static void note_part(void *user, const zf_container_part *part) {
    (void)user;
    if (strcmp(part->kind, "directory") == 0 && field_count < 8) directory_at[field_count++] = part->offset;
}

static void make(mutated *m, const char *text, const uneven_codec *codec, const unsigned *of, unsigned gap) {
    zf_encode_column column = {.name = "c", .values = rows};
    zf_error error = {0};
    zf_container *container = NULL;
    made.path = place("lies.zfd");
    uneven_make(context, compiler, text, codec, of, 0, gap, &column, ROWS, &made);
    CHECK(mutate_read(made.path, m), "the file cannot be read");
    CHECK(zf_container_open(context, made.path, &container, &error) == ZF_OK, "%s at %s", error.message, error.place);
    field_count = 0;
    CHECK(zf_container_account(container, note_part, NULL, &error) == ZF_OK, "%s", error.message);
    const zf_shape *shape = zf_container_shape(container, 0, 0);
    header_at = m->blocks[0] + zf_block_header_bytes(shape, 2) - ZF_BLOCK_END_BYTES -
                (uint64_t)ZF_BLOCK_FIELD_BYTES * zf_shape_fields(shape) - ZF_BLOCK_TREE_BYTES;
    zf_container_close(container);
    uneven_close(&made);
}

/// Changes bytes of a file that is otherwise right, and says what its decode gives.
static void check_lie(mutated *m, uint64_t at, uint64_t value, unsigned width, const char *code, const char *says) {
    static const char *const devices[] = {"cpu", "emu"};
    uint8_t out[ROWS];
    memcpy(m->bytes, m->original, m->size);
    memcpy(m->bytes + at, &value, width);
    mutate_repair(m);
    for (unsigned d = 0; d < 4; d++) { // all rows, and some that begin and end inside chunks
        zf_error error;
        uint64_t begin = d < 2 ? 0 : INSIDE;
        zf_status status = decode(m, devices[d % 2], begin, ROWS - 2 * begin, out, &error);
        CHECK(status == ZF_ERR_INPUT && strcmp(error.code, code) == 0, "%llu at byte %llu on %s: %s %s", (ull)value, (ull)at,
              devices[d % 2], error.code, error.message);
        CHECK(strstr(error.message, says) != NULL, "%llu at byte %llu: not `%s` but `%s`", (ull)value, (ull)at, says,
              error.message);
        CHECK(strstr(error.place, "block 0") != NULL, "%s at %s", error.message, error.place);
    }
}

static void test_lies(void) {
    static const uneven_codec codec = {"u8", "pieces(chunk: %u)"};
    mutated m;
    make(&m, imports, &codec, sizes, 3);
    CHECK(field_count == 5, "%u fields", field_count);
    // One of the largest, then smaller ones.
    CHECK(made.starts[0] == 0 && made.starts[1] == 64 && made.starts[2] == 80 && made.starts[3] == 84,
          "chunks at %llu, %llu, %llu", (ull)made.starts[1], (ull)made.starts[2], (ull)made.starts[3]);
    uint64_t made_at = m.blocks[0], out = directory_at[0], src = directory_at[1], length = directory_at[2];
    check_lie(&m, out, 1, 1, "ZF1322", "chunk 0 of `(column)` starts at output 1");
    check_lie(&m, out + 1, 0, 1, "ZF1322", "chunk 0 of `(column)` starts at output 0 and ends at 0 of 100");
    check_lie(&m, out + 1, 65, 1, "ZF1322", "chunk 0 of `(column)` has 65 outputs; its codec has chunks of at most 64");
    check_lie(&m, out + 2, 63, 1, "ZF1322", "chunk 1 of `(column)` starts at output 64 and ends at 63");
    check_lie(&m, out + 2, 64, 1, "ZF1322", "chunk 1 of `(column)` starts at output 64 and ends at 64");
    check_lie(&m, out + 2, 101, 1, "ZF1322", "chunk 1 of `(column)` starts at output 64 and ends at 101 of 100");
    check_lie(&m, out + made.chunks - 1, 100, 1, "ZF1322", "starts at output 100 and ends at 100 of 100");
    check_lie(&m, src + 1, 0, 1, "ZF1322", "chunk 1 of `(column)` starts at element 0 of stream `src`, the one before ends at");
    check_lie(&m, src + made.chunks - 1, 255, 1, "ZF1322", "of stream `src`, which has");
    check_lie(&m, length + 1, 255, 1, "ZF1322", "of stream `src`, which has");
    check_lie(&m, length, 255, 1, "ZF1322", "of stream `src`, which has");
    check_lie(&m, directory_at[4] + 1, 9, 1, "ZF1322", "of stream `more`, the one before ends at 1");
    // The tree's row: interval, fields, entries.
    check_lie(&m, header_at, 63, 1, "ZF1322", "has 64 outputs; its codec has chunks of at most 63");
    check_lie(&m, header_at, 65, 1, "ZF1207", "an entry every 64 elements, the block every 65");
    check_lie(&m, header_at + 3, 0x80, 1, "ZF1209", "chunk directory 0");
    check_lie(&m, header_at + 3, 0, 1, "ZF1209", "seek tree 0");
    check_lie(&m, header_at + 4, 4, 1, "ZF1209", "4 fields");
    check_lie(&m, header_at + 8, 0, 1, "ZF1322", "has 0 chunks for 100 elements");
    check_lie(&m, header_at + 8, 101, 1, "ZF1322", "has 101 chunks for 100 elements");
    uint64_t end = header_at + ZF_BLOCK_TREE_BYTES + 5 * ZF_BLOCK_FIELD_BYTES;
    check_lie(&m, end, 0, 1, "ZF1209", "a block without the feature `uneven chunks`, which its shape has");
    check_lie(&m, end, 3, 1, "ZF1203", "features 0x1");
    check_lie(&m, m.blocks[0] + 60, 0, 1, "ZF1209", "version 1");
    mutate_free(&m);
    // A file of the same rows with even chunks: its directory has a field for each stream.
    CHECK(mutate_read(place("even_0.zfd"), &m), "the file cannot be read");
    end = header_at + ZF_BLOCK_TREE_BYTES + 2 * ZF_BLOCK_FIELD_BYTES - made_at + m.blocks[0];
    check_lie(&m, end, 2, 1, "ZF1209", "a block with the feature `uneven chunks`, which its shape lacks");
    mutate_free(&m);
}

static void test_bits(void) {
    static const uneven_codec codec = {"bool", "flips(chunk: %u)"};
    mutated m;
    for (unsigned k = 0; k < ROWS; k++) rows[k] = k % 3 == 0;
    make(&m, bits, &codec, bytes_of_bits, 0);
    check_lie(&m, directory_at[0] + 2, made.starts[2] - 1, 1, "ZF1322", "inside a byte of bits");
    mutate_free(&m);
}

/// Every byte of the block's header, of the directory and of the index, in two ways: an error with its place, or the same rows.
/// (Where a part of a stream begins is for the file to say: elements of no chunk may be read then, and give other rows.)
static void test_bytes(void) {
    static const uneven_codec codec = {"u8", "pieces(chunk: %u)"};
    mutated m;
    unsigned refused = 0, right = 0, directory = 0;
    for (unsigned k = 0; k < ROWS; k++) rows[k] = (uint8_t)(k / 9);
    make(&m, imports, &codec, sizes, 3);
    for (uint64_t at = 0; at < m.size; at++) {
        bool in_directory = at >= directory_at[0] && at < directory_at[4] + made.chunks;
        bool in_header = at >= m.blocks[0] + 8 && at < m.blocks[0] + 512;
        if (!in_directory && !in_header && at < m.index) continue;
        if (m.bytes[at] == 0 && m.original[at] == 0 && at % 3 != 0) continue;
        for (unsigned way = 0; way < 2; way++) {
            zf_error error;
            uint8_t out[ROWS];
            memcpy(m.bytes, m.original, m.size);
            m.bytes[at] = (uint8_t)(way == 0 ? ~m.bytes[at] : m.bytes[at] + 1);
            mutate_repair(&m);
            const char *device = (at + way) % 2 == 0 ? "cpu" : "emu";
            uint64_t begin = (at / 2 + way) % 2 * INSIDE, count = ROWS - 2 * begin;
            zf_status status = decode(&m, device, begin, count, out, &error);
            if (status == ZF_OK) {
                bool moved = at >= directory_at[1] && in_directory;
                CHECK(moved || memcmp(out, rows + begin, count) == 0, "byte %llu, way %u, on %s: other rows", (ull)at, way,
                      device);
                right++;
            } else {
                CHECK(error.place[0] != 0 || error.message[0] != 0, "byte %llu: an error without a word", (ull)at);
                refused++;
                directory += in_directory;
            }
        }
    }
    printf("%u refused, %u of them in directories, %u right\n", refused, directory, right);
    CHECK(refused > 500 && directory > 20, "too few were refused");
    mutate_free(&m);
}

int main(void) {
    zf_error error = {0};
    for (unsigned k = 0; k < ROWS; k++) rows[k] = (uint8_t)(k / 9);
    CHECK(scratch_begin("lies"), "no directory");
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, NULL, &compiler, &error) == ZF_OK, "%s", error.message);
    test_lies();
    test_bits();
    test_bytes();
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
