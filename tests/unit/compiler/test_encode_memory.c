// Links: zipflow-compiler
// Memory of encoding and decoding a block, counted by allocations: it follows from the elements of the codec's streams, for every
// type of element, as docs/memory.md says. Memory of wrapping chunks: a block, stored and decoded, as compile.h says.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/program.h"
#include "tests/support/counted_memory.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { ROWS = 1 << 17, CHARACTERS = 12, CONSTANT = 1 << 18 };

// ---- Limits of a codec ------------------------------------------------------------------------------------------

/// Bytes of an element in an encoder's memory: a bool and a validity take one, a string its offset and its characters.
static uint64_t element_bytes(zf_type type) {
    uint64_t bytes = type.kind == ZF_K_STRING ? 8 + 4 * CHARACTERS : zf_kind_size(type.kind);
    return bytes + (type.nullable ? 1 : 0);
}

/// Bytes of the elements of all streams of a codec of such values, one of each stream for a row; of streams of several bytes for
/// a value four times those, since they grow by copies.
static uint64_t row_bytes(const zf_codec_choice *choice, zf_type of) {
    const zf_codec_node *node = choice->alternatives[0];
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        zf_type type = node->inst->streams[s]->type;
        uint64_t several = type.kind != ZF_K_U8 ? 0 : of.kind == ZF_K_STRING ? CHARACTERS : of.kind == ZF_K_F32 ? 4 : 0;
        bytes += several > 0 ? 4 * several : element_bytes(type);
        if (node->streams[s] != NULL) bytes += row_bytes(node->streams[s], type);
    }
    return bytes;
}

static void fill(zf_type type, uint8_t *values, int64_t *offsets) {
    static const char text[] = "the same text once more";
    for (uint64_t k = 0; k < ROWS; k++) {
        uint64_t number = k % 1000 / 5;
        double wide = (double)number / 10;
        float narrow = (float)number / 2;
        if (type.kind == ZF_K_STRING) {
            memcpy(values + k * CHARACTERS, text + number % 10, CHARACTERS);
            offsets[k + 1] = (int64_t)((k + 1) * CHARACTERS);
        } else if (type.kind == ZF_K_BOOL) {
            values[k] = number % 2 == 0;
        } else if (type.kind == ZF_K_F64) {
            memcpy(values + k * 8, &wide, 8);
        } else if (type.kind == ZF_K_F32) {
            memcpy(values + k * 4, &narrow, 4);
        } else {
            memcpy(values + k * zf_kind_size(type.kind), &number, zf_kind_size(type.kind));
        }
    }
}

static void test_decode(zf_context *context, const char *path, const char *name, uint64_t streams) {
    zf_error error = {0};
    zf_container *container = NULL;
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_decode_options options = {ZF_INIT(zf_decode_options), .threads = 1};
    bool good = zf_container_open(context, path, &container, &error) == ZF_OK;
    good = good && zf_decode_size(container, 0, &options, &sizes, &error) == ZF_OK;
    CHECK(good, "%s: %s", name, error.message);
    if (good) {
        // Elements that are materialised, and the tile of a range's end.
        CHECK(sizes.workspace <= ROWS * streams + 65536 * 8, "%s: a workspace of %llu bytes", name, (ull)sizes.workspace);
        void *values = aligned_alloc(64, (sizes.values + 127) / 64 * 64);
        void *work = aligned_alloc(64, (sizes.workspace + 127) / 64 * 64);
        void *offsets = malloc(sizes.offsets + 8), *validity = malloc(sizes.validity + 1);
        zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .values = values,  .offsets = offsets,
                                     .validity = validity,       .workspace = work, ZF_DECODE_BYTES(sizes)};
        for (unsigned turn = 0; turn < 2; turn++) { // the first one compiles
            size_t before = peak = now;
            zf_status status = zf_decode(container, 0, "cpu", &options, &buffers, NULL, &error);
            CHECK(status == ZF_OK, "%s: %s", name, error.message);
            // The stored block, which is read from the file: no more than the plain data of the codecs here, and a page.
            CHECK(turn == 0 || peak - before <= 65536 + ROWS * streams + 4096, "%s: a decode allocates %llu bytes", name,
                  (ull)(peak - before));
        }
        free(values);
        free(work);
        free(offsets);
        free(validity);
    }
    zf_container_close(container);
}

static void test_table(zf_program *program, zf_context *context, const zf_table *table, const char *path) {
    const zf_column *column = table->columns;
    zf_type type = zf_type_strip(column->type);
    bool is_text = type.kind == ZF_K_STRING;
    uint8_t *values = malloc(ROWS * (is_text ? CHARACTERS : 8) + 64), *validity = malloc(ROWS / 8);
    int64_t *offsets = calloc(ROWS + 1, sizeof *offsets);
    fill(type, values, offsets);
    memset(validity, 0xfb, ROWS / 8);
    zf_encode_column data = {
        .name = "c", .values = values, .offsets = is_text ? offsets : NULL, .validity = type.nullable ? validity : NULL};
    zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true, .threads = 1};
    uint64_t streams = row_bytes(column->codec, type);
    uint64_t plain = is_text ? ROWS * (8 + CHARACTERS) : type.kind == ZF_K_BOOL ? ROWS / 8 : ROWS * zf_kind_size(type.kind);
    plain += type.nullable ? ROWS / 8 : 0;
    for (unsigned turn = 0; turn < 2; turn++) { // the first one compiles
        zf_error error = {0};
        size_t before = peak = now;
        zf_status status = zf_encode(program, table->name, &data, 1, ROWS, &options, path, NULL, &error);
        CHECK(status == ZF_OK, "%s: %s (%s)", table->name, error.message, error.place);
        if (turn == 0) continue;
        uint64_t taken = peak - before, most = ROWS * (streams + (type.nullable ? 1 : 0)) + 3 * plain + CONSTANT;
        printf("%s: %.1f of the plain data, %llu of at most %llu bytes\n", table->name, (double)taken / (double)plain, (ull)taken,
               (ull)most);
        CHECK(taken <= most, "%s: %llu bytes", table->name, (ull)taken);
    }
    if (check_failures == 0) test_decode(context, path, table->name, streams);
    free(values);
    free(validity);
    free(offsets);
}

// ---- Wrapped chunks ---------------------------------------------------------------------------------------------

/// Chunks that are as large as what they decode to: any copy of a block besides the two is seen, and so is a second block.
static void test_wrap(zf_compiler *compiler, const char *path) {
    enum { CHUNK = 1 << 16, CHUNKS = 64, BLOCK = 1 << 20 };
    static const char text[] = "algorithm as_is(src: u8[] per chunk) -> u8[] non_parallel(chunk = 65536) {\n"
                               "    decode { let n = src.len; emit k in 0..n: src[k]; src.skip(n); }\n"
                               "    encode extern \"nobody\";\n"
                               "}\n"
                               "table t { c: u8 = as_is; }\n";
    zf_error error = {0};
    zf_program *program = NULL;
    uint8_t *bytes = malloc((size_t)CHUNK * CHUNKS);
    zf_wrapped_chunk chunks[CHUNKS];
    for (size_t k = 0; k < (size_t)CHUNK * CHUNKS; k++) bytes[k] = (uint8_t)(k * k >> 5 ^ k >> 3);
    for (size_t k = 0; k < CHUNKS; k++) chunks[k] = (zf_wrapped_chunk){bytes + k * CHUNK, CHUNK, CHUNK};
    const zf_wrapped_column column = {.name = "c", .chunks = chunks, .chunk_count = CHUNKS};
    zf_status status = zf_program_load_text(compiler, "wrap.zf", text, sizeof text - 1, &program, &error);
    CHECK(status == ZF_OK, "%s (%s)", error.message, error.place);
    for (unsigned turn = 0; turn < 3 && status == ZF_OK; turn++) { // the first one compiles
        zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true, .threads = 1, .rows_per_block = BLOCK};
        zf_encode_stats stats = {ZF_INIT(zf_encode_stats)};
        options.zones = turn == 2;
        size_t before = peak = now;
        status = zf_wrap(program, "t", &column, 1, &options, path, &stats, &error);
        uint64_t taken = peak - before, most = 2 * BLOCK + CONSTANT;
        CHECK(status == ZF_OK && stats.blocks == CHUNKS * (CHUNK / 1024) / (BLOCK / 1024), "%s (%s), %llu blocks", error.message,
              error.place, (ull)stats.blocks);
        if (turn == 0) continue;
        printf("wrapped: %llu of at most %llu bytes\n", (ull)taken, (ull)most);
        CHECK(taken <= most, "wrapped: %llu bytes", (ull)taken);
    }
    zf_program_free(program);
    free(bytes);
}

int main(void) {
    char path[] = "/tmp/zf_test_memory_XXXXXX";
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_context_options options = {.cache_dir = "", .threads = 1};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    compile.optimise = 1; // LLVM at -O3 takes most of the time
    int fd = mkstemp(path);
    CHECK(fd >= 0, "no file");
    if (fd >= 0) close(fd);
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    if (check_failures > 0) return check_result();
    CHECK(zf_program_load(compiler, ZF_SOURCE_DIR "/tests/unit/compiler/encode_memory.zf", &program, &error) == ZF_OK, "%s (%s)",
          error.message, error.place);
    const zf_table *table = check_failures == 0 ? zf_spec_tables(program->spec) : NULL;
    for (; table != NULL; table = table->next) test_table(program, context, table, path);
    if (check_failures == 0) test_wrap(compiler, path);
    unlink(path);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
