// Links: zipflow-compiler
// Damaged containers through modules: what is refused, its code, its message and its place are those of the compiler, on the CPU
// and on GPUs (a driver that is none), and what was hoisted is refused before any launch.
#include "runtime/base/abi.h"
#include "runtime/context/context.h"
#include "runtime/module/module_open.h"
#include "tests/hostile/mutate.h"
#include "tests/support/demand.h"
#include "tests/support/fake_cuda_open.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

enum { BLOCK = 4096, ROWS = BLOCK + 900, COLUMNS = 5, DATES = 1, RUNS = 2, PICKS = 3, CODED = 4 };
enum { CHUNK = 8192 }; // of coded: a block is one

static const char text[] = "// Lines of this file are not those of the text that a container carries.\n"
                           "\n"
                           "table t {\n"
                           "    widths: u32 = bitpack;\n"
                           "    dates:  i32 = dictionary(bitpack);\n"
                           "    runs:   i32 = rle(bitpack, bitpack);\n"
                           "    picks:  i32 = bitpack | plain;\n"
                           "    coded:  u8 = rans(chunk: 8192);\n"
                           "}\n";
static zf_fake_cuda *fake;
static zf_context *context, *with[2]; ///< with the compiler; with modules: of the program, of the file
static zf_module *modules[2];
static zf_compiler *compiler;

static void start(void) {
    static uint32_t widths[ROWS];
    static int32_t dates[ROWS], runs[ROWS];
    static uint8_t coded[ROWS];
    static const zf_encode_column columns[COLUMNS] = {{.name = "widths", .values = widths},
                                                      {.name = "dates", .values = dates},
                                                      {.name = "runs", .values = runs},
                                                      {.name = "picks", .values = runs},
                                                      {.name = "coded", .values = coded}};
    for (uint32_t i = 0; i < ROWS; i++) {
        widths[i] = i * 2654435761u >> 21;
        dates[i] = (int32_t)(8000 + i * 31 % 300); // nine bits an index: some are behind the dictionary's end
        runs[i] = (int32_t)(i / 9 * 17 % 300);
        coded[i] = (uint8_t)(i % 7 * (i % 5));
    }
    zf_error error;
    zf_program *program = NULL;
    zf_container *container = NULL;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(zf_context_create(&(zf_context_options){.cache_dir = place("cache")}, &context, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    FILE *source = fopen(place("t.zf"), "w");
    fputs(text, source);
    fclose(source);
    demand(zf_program_load(compiler, place("t.zf"), &program, &error), &error);
    zf_encode_options encoding = {.rows_per_block = BLOCK};
    demand(zf_encode(program, "t", columns, COLUMNS, ROWS, &encoding, place("t.zfd"), NULL, &error), &error);
    demand(zf_module_compile(program, "t", NULL, place("program.zfm"), NULL, &error), &error);
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
    demand(zf_module_compile_for(compiler, container, NULL, place("file.zfm"), NULL, &error), &error);
    zf_container_close(container);
    zf_program_free(program);
    for (int m = 0; m < 2; m++) {
        demand(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &with[m], &error), &error);
        demand(zf_module_load(with[m], place(m == 0 ? "program.zfm" : "file.zfm"), &modules[m], &error), &error);
    }
}

static zf_status decode(zf_context *where, size_t column, const char *device, zf_error *error) {
    static _Alignas(64) uint8_t out[4 * ROWS + 256];
    zf_container *container = NULL;
    zf_decode_options options = {0};
    zf_decode_sizes wanted = {0};
    memset(out, 0xa5, sizeof out);
    *error = (zf_error){0};
    ZF_TRY(zf_container_open(where, place("bad.zfd"), &container, error));
    zf_status status = zf_decode_size(container, column, &options, &wanted, error);
    void *work = aligned_alloc(64, wanted.workspace / 64 * 64 + 64);
    zf_decode_buffers buffers = {.values = out, .workspace = work, ZF_DECODE_BYTES(wanted)};
    if (status == ZF_OK) status = zf_decode(container, column, device, &options, &buffers, NULL, error);
    zf_container_close(container);
    free(work);
    return status;
}

// ---- Damage ---------------------------------------------------------------------------------------------------

static unsigned hoisted, inside; ///< violations that were seen

static bool same_error(const zf_error *a, const zf_error *b) {
    return a->status == b->status && strcmp(a->code, b->code) == 0 && strcmp(a->message, b->message) == 0 &&
           strcmp(a->place, b->place) == 0;
}

/// The report of a kernel: check 0 of element 5 of the unit's first block.
static void violate(const char *name, unsigned groups, unsigned threads, void **arguments) {
    (void)name, (void)groups, (void)threads;
    uint64_t *failure;
    memcpy(&failure, arguments[7], sizeof failure);
    *failure = UINT64_C(5) << 16;
}

/// Decodes a column of bad.zfd with the compiler and with each module, on the CPU and on a GPU whose kernels do nothing.
static void compare(size_t column, const char *what) {
    zf_error wanted, error;
    zf_status status = decode(context, column, "cpu", &wanted);
    bool is_hoisted = status != ZF_OK && strstr(wanted.place, "the whole block") != NULL;
    bool is_inside = status != ZF_OK && !is_hoisted && wanted.message[0] == 'V' && strstr(wanted.place, ": column ") != NULL &&
                     (strstr(wanted.place, ", row ") != NULL || strstr(wanted.place, ", element ") != NULL);
    hoisted += is_hoisted;
    inside += is_inside;
    if (is_hoisted || is_inside) { // where the container's text is at fault, not the program's
        char file[160];
        snprintf(file, sizeof file, ", %s:", place("bad.zfd"));
        CHECK(strstr(wanted.place, file) != NULL, "%s: %s", what, wanted.place);
    }
    for (int m = 0; m < 2; m++) {
        CHECK(decode(with[m], column, "cpu", &error) == status && (status == ZF_OK || same_error(&wanted, &error)),
              "%s, module %d: %s %s (%s), not %s %s (%s)", what, m, error.code, error.message, error.place, wanted.code,
              wanted.message, wanted.place);
        unsigned before = fake->launches;
        zf_status on_gpu = decode(with[m], column, "cuda", &error);
        if (is_hoisted) {
            CHECK(on_gpu == status && same_error(&wanted, &error), "%s, module %d on a GPU: %s %s (%s), not %s %s (%s)", what, m,
                  error.code, error.message, error.place, wanted.code, wanted.message, wanted.place);
            CHECK(fake->launches == before, "%s, module %d: %u launches before it is refused", what, m, fake->launches - before);
        }
    }
}

static void write_changed(mutated *m) {
    mutate_repair(m);
    FILE *file = fopen(place("bad.zfd"), "wb");
    CHECK(file != NULL && fwrite(m->bytes, 1, m->size, file) == m->size, "cannot write");
    if (file != NULL) fclose(file);
    memcpy(m->bytes, m->original, m->size);
}

static void test_damage(void) {
    static const uint64_t values[] = {0, 33, UINT64_MAX};
    mutated m;
    zf_container *container = NULL;
    zf_error error;
    char what[64];
    if (!mutate_read(place("t.zfd"), &m)) exit(2);
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
    for (size_t column = 0; column <= RUNS; column++) {
        for (uint64_t block = 0; block < 2; block++) {
            zf_block_view view;
            demand(zf_container_block(container, column, block, true, &view, &error), &error);
            uint64_t params = view.file_offset + ZF_BLOCK_FIXED_BYTES;
            for (uint32_t p = 0; p < view.shape->param_count; p++) {
                for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
                    zf_store64(m.bytes + params + 8 * p, values[v]);
                    snprintf(what, sizeof what, "column %zu, block %d, param %u, value %zu", column, (int)block, p, v);
                    write_changed(&m);
                    compare(column, what);
                }
            }
            for (uint32_t s = 0; s < view.shape->stored_count; s++) {
                const zf_stream_view *stream = &view.streams[s];
                memset(m.bytes + view.file_offset + stream->offset + stream->bytes / 2, 0xff, stream->bytes - stream->bytes / 2);
                snprintf(what, sizeof what, "column %zu, block %d, stream %u", column, (int)block, s);
                write_changed(&m);
                compare(column, what);
            }
            zf_block_view_free(&view);
        }
    }
    zf_container_close(container);
    CHECK(hoisted >= 8 && inside >= 2, "%u hoisted checks and %u within kernels were violated", hoisted, inside);
    // Reports of a GPU's kernels.
    write_changed(&m);
    mutate_free(&m);
    fake->kernel = violate;
    zf_error wanted;
    for (size_t column = DATES; column <= RUNS; column++) {
        CHECK(decode(context, column, "cuda", &wanted) == ZF_ERR_INPUT && strstr(wanted.place, "block 0") != NULL, "%s (%s)",
              wanted.message, wanted.place);
        for (int k = 0; k < 2; k++) {
            decode(with[k], column, "cuda", &error);
            CHECK(same_error(&wanted, &error), "column %zu, module %d on a GPU: %s %s (%s), not %s %s (%s)", column, k,
                  error.code, error.message, error.place, wanted.code, wanted.message, wanted.place);
        }
    }
    fake->kernel = NULL;
}

// ---- An index that contradicts the file -----------------------------------------------------------------------

/// The place of bytes that stand in the index once.
static uint64_t find_in_index(const mutated *m, const void *bytes, size_t size) {
    uint64_t found = 0;
    for (uint64_t at = m->index; at + size <= m->size; at++) {
        if (memcmp(m->original + at, bytes, size) != 0) continue;
        CHECK(found == 0, "twice in the index");
        found = at;
    }
    CHECK(found != 0, "not in the index");
    return found;
}

/// The compiler and both modules refuse the column alike.
static void refuse(mutated *m, size_t column, const char *words, const char *place_words) {
    zf_error error;
    write_changed(m);
    CHECK(decode(context, column, "cpu", &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1207") == 0, "%s: %s %s", words,
          error.code, error.message);
    CHECK(strstr(error.message, words) != NULL && strstr(error.place, place("bad.zfd")) != NULL &&
              strstr(error.place, place_words) != NULL,
          "%s (%s), not %s (%s)", error.message, error.place, words, place_words);
    compare(column, words);
}

static void test_index(void) {
    static const uint32_t intervals[] = {256, 2048, 8192, 65536};
    static const uint8_t branches[] = {2, 3, 255};
    mutated m;
    zf_container *container = NULL;
    zf_error error;
    if (!mutate_read(place("t.zfd"), &m)) exit(2);
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
    const zf_shape *picks = zf_container_shape(container, PICKS, 0);
    const uint32_t parts[] = {1, picks->param_count, picks->edge_count, picks->stored_count, picks->tree_count, 0};
    uint64_t at = find_in_index(&m, parts, 21);
    for (size_t k = 0; k < sizeof branches; k++) {
        m.bytes[at + 20] = branches[k];
        refuse(&m, PICKS, "took alternatives that its codec does not have", "column picks, block 0");
    }
    m.bytes[at + 20] = 1; // exists, and has other streams
    refuse(&m, PICKS, "describes other streams", "column picks");
    // Seek states: the index says one interval, blocks another.
    const uint32_t tree[] = {0, BLOCK, zf_container_shape(container, RUNS, 0)->trees[0].field_count};
    at = find_in_index(&m, tree, sizeof tree);
    for (size_t k = 0; k < sizeof intervals / sizeof intervals[0]; k++) {
        zf_store32(m.bytes + at + 4, intervals[k]);
        refuse(&m, RUNS, "seek tree 0 has an entry every", "column runs, block 0");
    }
    // Chunks: their size is the codec's, whatever index and blocks agree upon.
    const uint32_t directory[] = {0, CHUNK | ZF_FORMAT_DIRECTORY, 1};
    at = find_in_index(&m, directory, sizeof directory);
    for (int both = 0; both < 2; both++) {
        zf_store32(m.bytes + at + 4, 2 * CHUNK | ZF_FORMAT_DIRECTORY);
        for (uint64_t block = 0; block < 2 && both; block++) {
            zf_block_view view;
            demand(zf_container_block(container, CODED, block, true, &view, &error), &error);
            const zf_shape *shape = view.shape;
            uint64_t trees = view.file_offset + ZF_BLOCK_FIXED_BYTES + 8 * (shape->param_count + shape->edge_count) +
                             ZF_BLOCK_STREAM_BYTES * shape->stored_count;
            CHECK(zf_load32(m.bytes + trees) == (CHUNK | ZF_FORMAT_DIRECTORY), "no directory there");
            zf_store32(m.bytes + trees, 2 * CHUNK | ZF_FORMAT_DIRECTORY);
            zf_block_view_free(&view);
        }
        refuse(&m, CODED, "describes other streams", "column coded");
    }
    zf_container_close(container);
    mutate_free(&m);
}

int main(void) {
    uint32_t level;
    if (zf_cpu_here(&level) != ZF_MACHINE_X86_64 || level < 3) return 77; // modules hold code for x86-64
    fake = fake_cuda_open();
    if (fake == NULL || !scratch_begin("damage")) return 2;
    *fake = (zf_fake_cuda){.version = 12040, .devices = 1, .major = 8, .total = 1 << 26, .free = 1 << 26};
    start();
    test_damage();
    test_index();
    printf("%u hoisted checks and %u within kernels were violated\n", hoisted, inside);
    for (int m = 0; m < 2; m++) {
        zf_module_free(modules[m]);
        zf_context_free(with[m]);
    }
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
