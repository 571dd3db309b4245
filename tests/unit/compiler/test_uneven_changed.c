// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Directories of uneven chunks that change between their check and their use, in memory of the caller: a range of rows gives rows
// or an error, and writes nothing but its place.
#include "runtime/context/context.h"
#include "tests/hostile/mutate.h"
#include "tests/support/emulated.h"
#include "tests/support/uneven_chunks.h"

typedef unsigned long long ull;

static const char imports[] = "import \"" ZF_SOURCE_DIR "/tests/differential/chunk_lanes.zf\";\n"
                              "algorithm pieces(src: u8[] per chunk) -> u8[] non_parallel(chunk = 64) {\n"
                              "    decode { while out.pos < out.len { emit src.u8(); } }\n"
                              "    encode(x) { for c in chunks(x) { for v in c { src.push(v); } } }\n"
                              "}\n"
                              "algorithm runs_of(src: u8[] per chunk) -> u8[] non_parallel(chunk = 64) {\n"
                              "    decode { while !src.at_end() { let n = src.u8(); let v = src.u8(); emit k in 0..n: v; } }\n"
                              "    encode(x) { for c in chunks(x) { for v in c { src.push(1); src.push(v); } } }\n"
                              "}\n"
                              "algorithm steps(src: u8[] per chunk) -> u8[] non_parallel(chunk = 64) {\n"
                              "    decode {\n"
                              "        while out.pos < out.len {\n"
                              "            let step = src.u8();\n"
                              "            if out.pos == 0 { emit step; } else { emit out[out.pos - 1] + step; }\n"
                              "        }\n"
                              "    }\n"
                              "    encode(x) {\n"
                              "        for c in chunks(x) {\n"
                              "            var last: u8 = 0;\n"
                              "            for v in c { src.push(v - last); last = v; }\n"
                              "        }\n"
                              "    }\n"
                              "}\n"
                              "algorithm flips(src: u8[] per chunk) -> bool[] non_parallel(chunk = 64) {\n"
                              "    decode { while out.pos < out.len { emit src.u8() != 0; } }\n"
                              "    encode(x) { for c in chunks(x) { for v in c { src.push(v ? 1 : 0); } } }\n"
                              "}\n";

enum { ROWS = 200, AROUND = 512, WAYS = 40, PLACES = 3 };
static const unsigned mixed[UNEVEN_SIZES] = {64, 16, 4, 2}, ones[UNEVEN_SIZES] = {1}, eights[UNEVEN_SIZES] = {64, 16, 8};

static const struct {
    uneven_codec codec;
    const unsigned *sizes;
    bool whole; ///< GPUs store whole blocks
} programs[] = {
    {{"u8", "pieces(chunk: %u)"}, mixed, false},    {{"u8", "runs_of(chunk: %u)"}, mixed, false},
    {{"u8", "steps(chunk: %u)"}, mixed, true},      {{"bool", "flips(chunk: %u)"}, eights, true},
    {{"u8", "pieces(chunk: %u)"}, ones, false},     {{"u8", "steps(chunk: %u)"}, ones, true},
    {{"u8", "warp_rows(chunk: %u)"}, mixed, false},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static zf_context *context;
static zf_compiler *compiler;
static uint8_t rows[ROWS];
static uneven_file made;
static uint64_t directory_at;
static unsigned refused, decoded;

// ---- A directory that changes ---------------------------------------------------------------------------------

static uint8_t *stored; ///< the file, in memory of the caller
static uint8_t entries[ROWS];
static unsigned calls, change_at;

static void change(void) { memcpy(stored + directory_at, entries, made.chunks); }

/// Called before each block, before its upload or its kernels, and between tiles.
static bool change_in_time(void *user) {
    (void)user;
    if (++calls == change_at) change();
    return false;
}

/// Where chunks begin, in one of WAYS ways.
static void lie(unsigned way) {
    static uint32_t noise = 12345;
    for (uint64_t c = 0; c < made.chunks; c++) {
        noise = noise * 1664525 + 1013904223;
        uint8_t is = (uint8_t)made.starts[c], any = (uint8_t)(noise >> 24);
        entries[c] = way == 0   ? 0
                     : way == 1 ? 255
                     : way == 2 ? ROWS - 1
                     : way == 3 ? (uint8_t)(is + 1)
                     : way == 4 ? (uint8_t)(is - 1)
                     : way == 5 ? (uint8_t)(ROWS - is)
                     : way == 6 ? (uint8_t)(c * 64)
                     : way == 7 ? (uint8_t)(is + 63)
                     : way % 4  ? any
                                : (any < 64 ? any : is);
    }
}

static void note_part(void *user, const zf_container_part *part) {
    (void)user;
    if (directory_at == 0 && strcmp(part->kind, "directory") == 0) directory_at = part->offset;
}

// ---- Decoding -------------------------------------------------------------------------------------------------

/// Whether bytes that are not begin..end are as they were.
static bool kept(const uint8_t *memory, size_t bytes, size_t begin, size_t end) {
    for (size_t k = 0; k < bytes; k++)
        if ((k < begin || k >= end) && memory[k] != 0xa5) return false;
    return true;
}

static void check_status(zf_status status, const zf_error *error, const char *what) {
    CHECK(status == ZF_OK || status == ZF_ERR_INPUT, "%s: %s %s", what, error->code, error->message);
    if (status == ZF_OK)
        decoded++;
    else
        refused++;
}

static void decode(zf_container *container, const char *device, uint64_t begin, uint64_t end, const char *what) {
    zf_error error = {0};
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_decode_options options = {ZF_INIT(zf_decode_options), .some_rows = true, .row_begin = begin,
                                 .row_count = end - begin,   .threads = 1,      .cancelled = change_in_time};
    calls = 0;
    CHECK(zf_decode_size(container, 0, &options, &sizes, &error) == ZF_OK, "%s: %s", what, error.message);
    size_t bytes[] = {sizes.values, sizes.workspace};
    uint8_t *memory[2];
    for (unsigned m = 0; m < 2; m++) {
        size_t all = (bytes[m] + 2 * AROUND + 63) / 64 * 64;
        memory[m] = aligned_alloc(64, all);
        memset(memory[m], 0xa5, all);
    }
    zf_decode_buffers to = {ZF_INIT(zf_decode_buffers), .values = memory[0] + AROUND, .workspace = memory[1] + AROUND,
                            ZF_DECODE_BYTES(sizes)};
    check_status(zf_decode(container, 0, device, &options, &to, NULL, &error), &error, what);
    for (unsigned m = 0; m < 2; m++) {
        CHECK(kept(memory[m], bytes[m] + 2 * AROUND, AROUND, AROUND + bytes[m]), "%s: memory %u beside its %zu bytes", what, m,
              bytes[m]);
        free(memory[m]);
    }
}

/// Prepares a range before the change and decodes it behind. Its tiles alone are written, of a column that stores whole blocks
/// too.
static void decode_prepared(zf_container *container, unsigned p, uint64_t begin, uint64_t end, const char *what) {
    zf_error error = {0};
    zf_device device;
    zf_accelerator *emu = NULL;
    zf_prepared *prepared = NULL;
    zf_device_sizes sizes = {ZF_INIT(zf_device_sizes)};
    zf_decode_options options = {ZF_INIT(zf_decode_options), .some_rows = true, .row_begin = begin, .row_count = end - begin};
    zf_status status = zf_device_find(context, "emu", &device, &error);
    if (status == ZF_OK) status = zf_device_accelerator(context, &device, &emu, &error);
    if (status == ZF_OK) status = zf_decode_prepare(container, 0, "emu", &options, &prepared, &error);
    if (status == ZF_OK) status = zf_decode_device_size(prepared, &sizes, &error);
    CHECK(status == ZF_OK, "%s: %s %s", what, error.code, error.message);
    if (status != ZF_OK) exit(1);
    change();
    zf_device_buffers to = {ZF_INIT(zf_device_buffers), ZF_DEVICE_BYTES(sizes)};
    uint8_t *after = malloc(sizes.values + 1);
    to.staging = aligned_alloc(64, (sizes.staging + 64) / 64 * 64);
    status = emu->ops->allocate(emu, sizes.values + 1, &to.values, &error);
    if (status == ZF_OK) status = emu->ops->allocate(emu, sizes.workspace + 1, &to.workspace, &error);
    if (status == ZF_OK) status = emu->ops->fill(emu, NULL, to.values, 0xa5, sizes.values, &error);
    if (status == ZF_OK) status = zf_decode_async(prepared, NULL, &to, &error);
    if (status == ZF_OK) status = emu->ops->wait(emu, NULL, &error);
    if (status == ZF_OK) status = zf_decode_status(prepared, NULL, &error);
    check_status(status, &error, what);
    zf_status copied = emu->ops->copy_out(emu, NULL, after, to.values, sizes.values, &error);
    CHECK(copied == ZF_OK, "%s: %s", what, error.message);
    uint64_t first = 0, last = 0; // the chunks that hold the range
    while (made.starts[first + 1] <= begin) first++;
    while (made.starts[last] < end) last++;
    uint64_t from = made.starts[first], behind = made.starts[last];
    if (programs[p].codec.type[0] == 'b') from /= 8, behind = (behind + 7) / 8;
    if (programs[p].whole)
        CHECK(kept(after, sizes.values, from, behind), "%s: bytes beside %llu..%llu", what, (ull)from, (ull)behind);
    emu->ops->release(emu, to.values);
    emu->ops->release(emu, to.workspace);
    free(to.staging);
    free(after);
    zf_prepared_free(prepared);
}

static void check_program(unsigned p) {
    static const uint64_t ranges[][2] = {{10, 150}, {67, 82}, {17, 33}, {0, 9}, {90, ROWS}};
    zf_encode_column column = {.name = "c", .values = rows};
    zf_error error = {0};
    mutated m;
    for (unsigned k = 0; k < ROWS; k++) rows[k] = programs[p].codec.type[0] == 'b' ? k % 3 == 0 : (uint8_t)(k / 9);
    made.path = place("changed.zfd");
    uneven_make(context, compiler, imports, &programs[p].codec, programs[p].sizes, 0, 3, &column, ROWS, &made);
    CHECK(mutate_read(made.path, &m), "the file cannot be read");
    stored = aligned_alloc(256, (m.size + 255) / 256 * 256);
    memcpy(stored, m.original, m.size);
    zf_container *container = NULL;
    CHECK(zf_container_open_memory(context, stored, m.size, NULL, &container, &error) == ZF_OK, "%s", error.message);
    directory_at = 0;
    CHECK(zf_container_account(container, note_part, NULL, &error) == ZF_OK && directory_at != 0, "%s", error.message);
    for (unsigned way = 0; way < WAYS; way++) {
        lie(way);
        const uint64_t *range = ranges[way % (sizeof ranges / sizeof ranges[0])];
        for (unsigned r = 0; r < 2; r++, range = ranges[0]) {
            char what[200];
            for (unsigned d = 0; d < 2 * PLACES; d++) {
                static const char *const devices[] = {"cpu", "emu"};
                memcpy(stored, m.original, m.size);
                change_at = 2 + d / 2;
                snprintf(what, sizeof what, "%s of %u, way %u, rows %llu..%llu, call %u on %s", programs[p].codec.codec,
                         programs[p].sizes[0], way, (ull)range[0], (ull)range[1], change_at, devices[d % 2]);
                decode(container, devices[d % 2], range[0], range[1], what);
            }
            memcpy(stored, m.original, m.size);
            snprintf(what, sizeof what, "%s of %u, way %u, rows %llu..%llu, prepared", programs[p].codec.codec,
                     programs[p].sizes[0], way, (ull)range[0], (ull)range[1]);
            decode_prepared(container, p, range[0], range[1], what);
        }
    }
    zf_container_close(container);
    free(stored);
    mutate_free(&m);
    uneven_close(&made);
}

int main(void) {
    zf_error error = {0};
    CHECK(scratch_begin("changed"), "no directory");
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, NULL, &compiler, &error) == ZF_OK, "%s", error.message);
    for (unsigned p = 0; p < PROGRAMS; p++) check_program(p);
    printf("%u refused, %u decoded\n", refused, decoded);
    CHECK(refused > 500 && decoded > 500, "few directories changed in time");
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
