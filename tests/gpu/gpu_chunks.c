// Uneven chunks: programs of every form decode chunks of any length, with gaps between their parts, on a CPU and the device: all
// rows, ranges around chunks' borders, one chunk, thousands.
// Options: --device; --sample 3:1 (of the programs one in three, at turn 1); --all 1 (each program in chunks of all sizes).
#include "tests/gpu/gpu_machine.h"
#include "tests/support/sample.h"
#include "tests/support/uneven_chunks.h"

typedef unsigned long long ull;

enum { ROWS = 9000, MOST_ROWS = 20000, TEXT = 16 * ROWS };

static gpu_machine machine;
static const char *devices[] = {"cpu", "emu"};

static const char imports[] = "import \"" ZF_SOURCE_DIR "/tests/differential/chunks.zf\";\n"
                              "import \"" ZF_SOURCE_DIR "/tests/differential/chunk_calls.zf\";\n"
                              "import \"" ZF_SOURCE_DIR "/tests/differential/chunk_lanes.zf\";\n"
                              "import \"" ZF_SOURCE_DIR "/tests/differential/chunk_loops.zf\";\n"
                              "import \"" ZF_SOURCE_DIR "/tests/differential/chunk_ranges.zf\";\n"
                              "import \"" ZF_SOURCE_DIR "/tests/differential/chunk_walks.zf\";\n"
                              "algorithm same(v: u8[1] per chunk) -> u8[] non_parallel(chunk = 64) {\n"
                              "    decode { emit k in 0..out.len: v[0]; }\n"
                              "    encode(x) { for c in chunks(x) { v.push(c[0]); } }\n"
                              "}\n"
                              "algorithm next(s: i64[]) -> i64[] fully_parallel { decode(i) = s[i] + 1; encode(x) { for v in x "
                              "{ s.push(v - 1); } } }\n";

/// Sizes of chunks: the most, and others. Bits have chunks of whole bytes.
static const unsigned mixed[UNEVEN_SIZES] = {5000, 4095, 7, 1}, ones[UNEVEN_SIZES] = {5000, 1}, sevens[UNEVEN_SIZES] = {5000, 7},
                      below[UNEVEN_SIZES] = {5000, 4095}, above[UNEVEN_SIZES] = {5000, 4097}, whole[UNEVEN_SIZES] = {5000},
                      powers[UNEVEN_SIZES] = {4096, 512, 64, 8}, single[UNEVEN_SIZES] = {16384};

typedef enum rows_of { SMALL, BITS, CONSTANT } rows_of; ///< numbers; booleans, whose chunks have whole bytes; one number

static const struct {
    uneven_codec codec;
    rows_of rows;
} codecs[] = {
    {{"u8", "packbits(chunk: %u)"}, SMALL},
    {{"u8", "window(chunk: %u)"}, SMALL},
    {{"i64", "leb(chunk: %u)"}, SMALL},
    {{"u32", "rice(chunk: %u)"}, SMALL},
    {{"f64", "floats(chunk: %u)"}, SMALL},
    {{"bool", "turns(chunk: %u)"}, BITS},
    {{"bool", "roaring(chunk: %u)"}, BITS},
    {{"u8", "prefix(chunk: %u)"}, SMALL},
    {{"u8", "warp_rows(chunk: %u)"}, SMALL},
    {{"i32", "warp_i32(chunk: %u)"}, SMALL},
    {{"i32", "runs(chunk: %u)"}, SMALL},
    {{"i16", "ramps_of_rows(chunk: %u)"}, SMALL},
    {{"f64", "rows_of_floats(chunk: %u)"}, SMALL},
    {{"u8", "ring(chunk: %u)"}, SMALL},
    {{"u8", "same(chunk: %u)"}, CONSTANT},
    {{"u8", "huffman(chunk: %u)"}, SMALL},
    {{"u8", "rans(chunk: %u)"}, SMALL},
    {{"u8", "tans(chunk: %u)"}, SMALL},
    {{"u32", "bitpack(packed: u8[] = rans(chunk: %u))"}, SMALL},
    {{"u8", "lz4(chunk: %u)"}, SMALL},
    {{"u8", "snappy(chunk: %u)"}, SMALL},
    {{"u8", "lz_split(chunk: %u)"}, SMALL},
    {{"u8", "pieces(chunk: %u)"}, SMALL},
    {{"u16", "some_walked(chunk: %u)"}, SMALL},
    {{"u16", "wide_walked(chunk: %u)"}, SMALL},
    {{"u16", "by_turns(chunk: %u)"}, SMALL},
    {{"u32", "by_pairs(chunk: %u)"}, SMALL},
    {{"u8", "by_steps(chunk: %u)"}, SMALL},
    {{"u8", "gzip(check: 1, chunk: %u)"}, SMALL},
    {{"u8", "zstd(check: 1, chunk: %u)"}, SMALL},
    {{"i32", "orc_rle1(chunk: %u)"}, SMALL},
    {{"u64", "orc_rle2(chunk: %u)"}, SMALL},
    {{"u8", "orc_byte_rle(chunk: %u)"}, SMALL},
    {{"u16", "parquet_hybrid(chunk: %u)"}, SMALL},
    {{"i64", "delta_binary_packed(chunk: %u)"}, SMALL},
    {{"i64", "next(leb(chunk: %u))"}, SMALL},
    {{"i64", "delta(leb(chunk: %u))"}, SMALL},
    {{"string", "strings(lengths: plain, bytes: window(chunk: %u))"}, SMALL},
    {{"u8?", "nullable(values: window(chunk: %u))"}, SMALL},
};
enum { CODECS = sizeof codecs / sizeof codecs[0] };

// ---- Rows -----------------------------------------------------------------------------------------------------

static uint8_t values[8 * MOST_ROWS];
static int64_t offsets[MOST_ROWS + 1];
static uint8_t valid[MOST_ROWS / 8 + 1];

/// Small numbers that repeat, so that all encoders take them.
static zf_encode_column fill(unsigned c) {
    const char *type = codecs[c].codec.type;
    unsigned size = strstr(type, "64") != NULL ? 8 : strstr(type, "32") != NULL ? 4 : strstr(type, "16") != NULL ? 2 : 1;
    uint64_t noise = 88172645463325252u, value = 0;
    memset(values, 0, sizeof values);
    memset(valid, 0, sizeof valid);
    for (uint64_t k = 0; k < MOST_ROWS; k++) {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        if (noise % 4 != 0) value = noise >> 8 & 15;
        if (codecs[c].rows == CONSTANT) value = 42;
        if (strcmp(type, "bool") == 0) value = noise % 16 == 0;
        memcpy(values + k * size, &value, size);
        offsets[k + 1] = offsets[k] + (int64_t)(noise >> 40 & 1);
        if (noise % 7 != 0) valid[k / 8] |= (uint8_t)(1u << k % 8);
    }
    zf_encode_column column = {.name = "c", .values = values};
    if (strcmp(type, "string") == 0) column.offsets = offsets;
    if (strchr(type, '?') != NULL) column.validity = valid;
    return column;
}

/// Whether decoded rows are those from `begin` on.
static bool same_rows(zf_column_type type, const zf_decode_buffers *got, uint64_t begin, uint64_t count) {
    unsigned bits = zf_element_bits(type.element);
    const int64_t *ends = got->offsets;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t row = begin + k;
        const uint8_t *bytes = got->values;
        if (type.nullable && (got->validity[k / 8] >> k % 8 & 1) != (valid[row / 8] >> row % 8 & 1)) return false;
        if (type.nullable && (valid[row / 8] >> row % 8 & 1) == 0) continue;
        if (type.element == ZF_STRING) {
            size_t length = (size_t)(offsets[row + 1] - offsets[row]);
            if (ends[k + 1] - ends[k] != (int64_t)length || memcmp(bytes + ends[k], values + offsets[row], length) != 0)
                return false;
        } else if (bits == 1) {
            if ((bytes[k / 8] >> k % 8 & 1) != values[row]) return false;
        } else if (memcmp(bytes + k * (bits / 8), values + row * (bits / 8), bits / 8) != 0) {
            return false;
        }
    }
    return true;
}

// ---- Decoding -------------------------------------------------------------------------------------------------

enum { CANARY = 64 };

/// `good`: whether the rows are right and nothing around them was written.
static zf_status decode(zf_container *container, const char *device, uint64_t begin, uint64_t count, unsigned threads, bool *good,
                        zf_error *error) {
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_decode_options options = {ZF_INIT(zf_decode_options), .some_rows = true, .row_begin = begin, .row_count = count,
                                 .threads = threads};
    zf_column_info info = {ZF_INIT(zf_column_info)};
    *error = (zf_error){0};
    zf_status status = zf_container_column(container, 0, &info, error);
    if (status == ZF_OK) status = zf_decode_size(container, 0, &options, &sizes, error);
    if (status != ZF_OK) return status;
    zf_decode_buffers to = {ZF_INIT(zf_decode_buffers), ZF_DECODE_BYTES(sizes)};
    size_t bytes[] = {sizes.values, sizes.offsets, sizes.validity, sizes.workspace};
    uint8_t *memory[4];
    for (unsigned m = 0; m < 4; m++) {
        memory[m] = aligned_alloc(64, (bytes[m] + 2 * CANARY + 63) / 64 * 64);
        memset(memory[m], 0xa5, (bytes[m] + 2 * CANARY + 63) / 64 * 64);
    }
    to.values = memory[0] + CANARY;
    to.offsets = (int64_t *)(void *)(memory[1] + CANARY);
    to.validity = memory[2] + CANARY;
    to.workspace = memory[3] + CANARY;
    status = zf_decode(container, 0, device, &options, &to, NULL, error);
    *good = status == ZF_OK && same_rows(info.type, &to, begin, count);
    for (unsigned m = 0; m < 4; m++) {
        for (unsigned k = 0; k < CANARY; k++) {
            bool kept = memory[m][k] == 0xa5 && memory[m][CANARY + bytes[m] + k] == 0xa5;
            CHECK(kept, "memory %u beside its %zu bytes was written on %s", m, bytes[m], device);
            *good = *good && kept;
        }
        free(memory[m]);
    }
    return status;
}

static unsigned files, decodes;

static void check_range(zf_container *container, const char *what, uint64_t begin, uint64_t end) {
    zf_error error;
    for (unsigned d = 0; d < 2; d++) {
        for (unsigned threads = 1; threads <= (d == 0 ? 4u : 1u); threads += 3) {
            bool good = false;
            decodes++;
            zf_status status = decode(container, devices[d], begin, end - begin, threads, &good, &error);
            CHECK(status == ZF_OK && good, "%s, rows %llu..%llu on %s, %u threads: %s %s at %s", what, (ull)begin, (ull)end,
                  devices[d], threads, error.code, error.message, error.place);
        }
    }
}

/// All rows, and rows around the borders of some chunks.
static void check_file(const uneven_file *file, const char *what, uint64_t rows) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(zf_container_open(machine.context, file->path, &container, &error) == ZF_OK, "%s: %s at %s", what, error.message,
          error.place);
    if (error.status != ZF_OK) return;
    check_range(container, what, 0, rows);
    bool own = file->edge == 0; // else the directory counts other elements
    uint64_t few[] = {1, file->chunks / 3, file->chunks / 2, file->chunks - 1};
    for (unsigned k = 0; k < 4; k++) {
        uint64_t border = own ? file->starts[few[k] < file->chunks ? few[k] : 0] : rows / (k + 2), behind = border + 1;
        if (own && few[k] + 1 <= file->chunks) behind = file->starts[few[k] + 1];
        if (behind > rows) behind = rows;
        if (border > 0) check_range(container, what, border - 1, border);
        if (border > 0) check_range(container, what, border - 1, border + 1);
        check_range(container, what, border, behind);
        check_range(container, what, border, rows);
        if (behind < rows && k == 1) check_range(container, what, border / 2, behind + 1);
    }
    zf_container_close(container);
}

static uneven_file made;

static void try_codec(unsigned c, const unsigned *sizes, unsigned from, unsigned gap, uint64_t rows) {
    char what[200], of[120];
    snprintf(of, sizeof of, codecs[c].codec.codec, sizes[0]);
    snprintf(what, sizeof what, "%s in chunks of %u, %u apart", of, sizes[from], gap);
    zf_encode_column column = fill(c);
    made.path = place("uneven.zfd");
    uneven_make(machine.context, machine.compiler, imports, &codecs[c].codec, sizes, from, gap, &column, rows, &made);
    files++;
    check_file(&made, what, rows);
    uneven_close(&made);
}

/// With sanitizers LLVM takes minutes for the kernels of gzip, which cli.deflate decodes so in code that is not optimised.
static bool is_left_out(unsigned c) {
#ifdef ZF_SANITIZE
    return strncmp(codecs[c].codec.codec, "gzip", 4) == 0;
#else
    (void)c;
    return false;
#endif
}

/// `all`: else every codec has chunks of many sizes, and one of the others, which the turn decides.
static void test_codec(unsigned c, bool all, unsigned turn) {
    static const struct {
        const unsigned *sizes;
        unsigned from, gap;
        uint64_t rows;
    } others[] = {{ones, 1, 1, 1500},  {sevens, 1, 3, ROWS}, {below, 1, 0, ROWS},
                  {above, 1, 9, ROWS}, {whole, 0, 2, ROWS},  {single, 0, 4, ROWS}};
    enum { OTHERS = sizeof others / sizeof others[0] };
    try_codec(c, powers, 0, 5, ROWS);
    if (codecs[c].rows == BITS) {
        try_codec(c, powers, 3, 0, ROWS);
        return;
    }
    try_codec(c, mixed, 1, c % 2 * 5, ROWS);
    for (unsigned o = 0; o < OTHERS; o++)
        if (all || (c + turn) % OTHERS == o) try_codec(c, others[o].sizes, others[o].from, others[o].gap, others[o].rows);
}

int main(int count, char **arguments) {
    const char *sample_of = "1";
    uint64_t all = 0;
    sample of;
    const gpu_option options[] = {
        {"device", NULL, &devices[1]}, {"sample", NULL, &sample_of}, {"all", &all, NULL}, {NULL, NULL, NULL}};
    if (!gpu_options_read(count, arguments, options) || !sample_read(sample_of, &of)) return 2;
    gpu_machine_open(&machine, devices[1], false);
    CHECK(scratch_begin("chunks"), "no directory");
    for (unsigned c = 0; c < CODECS; c++)
        if (sample_has(of, c) && !is_left_out(c)) test_codec(c, all != 0, of.turn);
    printf("{\"device\": \"%s\", \"files\": %u, \"decodes\": %u}\n", devices[1], files, decodes);
    gpu_machine_close(&machine);
    scratch_remove(scratch);
    return check_result();
}
