// Links: zipflow-compiler zipflow-emu
// Files whose seek states differ, by each of several modules: a good file decodes, or the error says which code is missing and
// how to make it, and never that the file is bad. A compiler behind the module decodes all of them. The same for files in which
// chunks of different stages are uneven.
#include <stdlib.h>
#include <string.h>

#include "runtime/module/module_format.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/uneven_chunks.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"
#include "zipflow/pipeline.h"

enum { BLOCK = 4096, ROWS = 2 * BLOCK + 100, COLUMNS = 4, FILES = 6 };

static const char text[] = "table t {\n"
                           "    nests:  i64 = rle(values: delta(bitpack), counts: bitpack);\n"
                           "    twice:  i64 = delta(deltas: delta(bitpack));\n"
                           "    either: i64 = bitpack | delta(deltas: delta(bitpack));\n"
                           "    coded:  u8  = bitpack(packed: u8[] = rans);\n" // chunks alone: their directory is no seek state
                           "}\n";
static const char *const names[COLUMNS] = {"nests", "twice", "either", "coded"};

static int64_t nests[ROWS], twice[ROWS], either[ROWS];
static uint8_t coded[ROWS];
static const zf_encode_column columns[COLUMNS] = {{.name = "nests", .values = nests},
                                                  {.name = "twice", .values = twice},
                                                  {.name = "either", .values = either},
                                                  {.name = "coded", .values = coded}};

/// The seek states of each file.
static const zf_module_states files[FILES] = {{0, NULL},    {0, "all"},    {0, "twice.deltas"},
                                              {1024, NULL}, {1024, "all"}, {8192, "nests.values,either.deltas"}};
enum { PROGRAM, SEVERAL, OF_FILE, MODULES = OF_FILE + FILES };
static const zf_module_states several[] = {{0, "all"}, {1024, NULL}, {1024, "all"}};

static zf_context *context;
static zf_compiler *compiler;

static const char *name_of(const char *stem, size_t number, const char *end) {
    static char name[4][32];
    static unsigned next;
    char *out = name[next++ % 4];
    snprintf(out, sizeof name[0], "%s%zu.%s", stem, number, end);
    return out;
}

static void make(void) {
    zf_program *program = NULL;
    zf_error error = {0};
    for (int64_t i = 0; i < ROWS; i++) {
        nests[i] = i / 5 * 3;
        twice[i] = i * (i % 3 + 1);
        either[i] = i < BLOCK ? i * 48271 % 65537 : i * 1000003; // the first alternative, then the second
        coded[i] = (uint8_t)(i * 31 % 7 % 3);
    }
    FILE *source = fopen(place("t.zf"), "w");
    fputs(text, source);
    fclose(source);
    demand(zf_program_load(compiler, place("t.zf"), &program, &error), &error);
    demand(zf_module_compile(program, "t", &(zf_module_options){.no_nvptx = true}, place("m0.zfm"), NULL, &error), &error);
    zf_module_options options = {ZF_INIT(zf_module_options), .no_nvptx = true, .states = several, .state_count = 3};
    zf_module_stats stats = {0};
    demand(zf_module_compile(program, "t", &options, place("m1.zfm"), &stats, &error), &error);
    // Fused and not, at two intervals: four plans of each vector with states, one of each without.
    CHECK(stats.general == 4 + 4 + 5 + 1, "%llu codes", (unsigned long long)stats.general);
    for (size_t f = 0; f < FILES; f++) {
        zf_container *container = NULL;
        zf_encode_options encoding = {
            .rows_per_block = BLOCK, .seek_interval = files[f].seek_interval, .unfused = files[f].unfused};
        demand(zf_encode(program, "t", columns, COLUMNS, ROWS, &encoding, place(name_of("f", f, "zfd")), NULL, &error), &error);
        demand(zf_container_open(context, place(name_of("f", f, "zfd")), &container, &error), &error);
        demand(zf_module_compile_for(compiler, container, &(zf_module_options){.no_nvptx = true},
                                     place(name_of("m", OF_FILE + f, "zfm")), NULL, &error),
               &error);
        zf_container_close(container);
    }
    static const zf_module_states wrong[] = {{300, NULL}, {0, "twice.sums"}, {0, "t.deltas"}, {0, ""}};
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        zf_module_options bad = {ZF_INIT(zf_module_options), .states = &wrong[k], .state_count = 1};
        CHECK(zf_module_compile(program, "t", &bad, place("bad.zfm"), NULL, &error) == ZF_ERR_USAGE, "%zu: %s", k, error.message);
    }
    zf_module_options bad = {ZF_INIT(zf_module_options), .state_count = 1};
    CHECK(zf_module_compile(program, "t", &bad, place("bad.zfm"), NULL, &error) == ZF_ERR_USAGE, "no states");
    bad.states = several;
    bad.state_count = 17;
    CHECK(zf_module_compile(program, "t", &bad, place("bad.zfm"), NULL, &error) == ZF_ERR_USAGE, "too many states");
    zf_program_free(program);
}

/// Whether the inner stage of a column is unfused by these options.
static bool is_unfused(const zf_module_states *states, size_t column) {
    if (states->unfused == NULL) return false;
    return strcmp(states->unfused, "all") == 0 || strstr(states->unfused, names[column]) != NULL;
}

/// The code that a module must answer with for a column of a file; NULL: it decodes.
static const char *answer(size_t module, size_t file, size_t column) {
    const zf_module_states *has = module == SEVERAL ? several : module >= OF_FILE ? &files[module - OF_FILE] : &files[0];
    const char *code = "ZF1410";
    if (column == 3) return NULL;
    for (size_t k = 0; k < (module == SEVERAL ? 4 : 1); k++) {
        const zf_module_states *states = k == 3 ? &files[0] : &has[k];
        if (is_unfused(states, column) != is_unfused(&files[file], column)) continue;
        if (states->seek_interval == files[file].seek_interval) return NULL;
        code = "ZF1403";
    }
    return code;
}

static zf_status by_pipeline(zf_context *where, const zf_pipeline_request *request, zf_error *error) {
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    zf_status status = zf_pipeline_create(where, "cpu", NULL, &pipeline, error);
    if (status == ZF_OK) status = zf_batch_create(pipeline, request, 1, &batch, error);
    if (status == ZF_OK) status = zf_batch_start(batch, error);
    if (status == ZF_OK) status = zf_batch_wait(batch, 0, error);
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
    return status;
}

static void check_answer(zf_status status, const zf_error *error, const char *code, size_t module, size_t file, size_t column,
                         const char *call) {
    if (code == NULL) {
        CHECK(status == ZF_OK, "%s: module %zu, file %zu, %s: %s %s", call, module, file, names[column], error->code,
              error->message);
        return;
    }
    char where[80];
    snprintf(where, sizeof where, "f%zu.zfd: column %s", file, names[column]);
    CHECK(status == ZF_ERR_UNSUPPORTED && strcmp(error->code, code) == 0, "%s: module %zu, file %zu, %s: %s %s, not %s", call,
          module, file, names[column], error->code, error->message, code);
    CHECK(strstr(error->place, where) != NULL, "%s: %s", where, error->place);
    CHECK(strstr(error->message, "no code for this file's plan") != NULL && strstr(error->hint, "zfc compile ") != NULL &&
              strstr(error->hint, name_of("f", file, "zfd")) != NULL,
          "%s; %s", error->message, error->hint);
    char stage[40];
    snprintf(stage, sizeof stage, "%s.%s", names[column], column == 0 ? "values" : "deltas");
    bool named = strcmp(code, "ZF1403") == 0        ? strstr(error->message, "elements") != NULL
                 : is_unfused(&files[file], column) ? strstr(error->message, stage) != NULL
                                                    : strstr(error->message, "fused") != NULL;
    CHECK(named, "%s", error->message);
}

/// Decodes a column of a file by all calls.
static void check_column(zf_context *where, zf_container *container, const char *device, size_t module, size_t file,
                         size_t column, const char *code) {
    static _Alignas(64) uint8_t out[8 * ROWS + 64];
    size_t bytes = (column == 3 ? 1 : 8) * (size_t)ROWS;
    zf_decode_sizes sizes = {0};
    zf_error error = {0};
    zf_status status = zf_decode_size(container, column, NULL, &sizes, &error);
    check_answer(status, &error, strcmp(device, "cpu") == 0 ? code : NULL, module, file, column, "size");
    void *work = aligned_alloc(64, sizes.workspace / 64 * 64 + 64);
    zf_decode_buffers buffers = {.values = out, .workspace = work, ZF_DECODE_BYTES(sizes)};
    memset(out, 0xa5, sizeof out);
    status = zf_decode(container, column, device, NULL, &buffers, NULL, &error);
    check_answer(status, &error, code, module, file, column, "decode");
    bool same = memcmp(out, columns[column].values, bytes) == 0;
    CHECK(same == (code == NULL), "module %zu, file %zu, %s", module, file, names[column]);
    zf_code_request request = {.container = container, .column = column};
    status = zf_code_obtain(where, device, &request, 1, 1, NULL, NULL, &error); // leaves errors to the decode
    CHECK(status == ZF_OK, "obtain: module %zu, file %zu: %s %s", module, file, error.code, error.message);
    if (strcmp(device, "cpu") == 0) {
        memset(out, 0xa5, sizeof out);
        zf_pipeline_request piped = {.container = container, .column = column, .host = buffers};
        check_answer(by_pipeline(where, &piped, &error), &error, code, module, file, column, "pipeline");
        CHECK((memcmp(out, columns[column].values, bytes) == 0) == (code == NULL), "pipeline, module %zu, file %zu, %s", module,
              file, names[column]);
    }
    free(work);
}

static void check_module(zf_context *where, size_t module, const char *device, bool with_compiler) {
    zf_module *loaded = NULL;
    zf_error error = {0};
    demand(zf_module_load(where, place(name_of("m", module, "zfm")), &loaded, &error), &error);
    for (size_t file = 0; file < FILES; file++) {
        zf_container *container = NULL;
        demand(zf_container_open(where, place(name_of("f", file, "zfd")), &container, &error), &error);
        for (size_t column = 0; column < COLUMNS; column++)
            check_column(where, container, device, module, file, column, with_compiler ? NULL : answer(module, file, column));
        zf_container_close(container);
    }
    zf_module_free(loaded);
}

/// Two stages have chunks. Either can be uneven in a file: code for one such file is none for the other.
static void test_uneven_stages(void) {
    static const char stages[] = "algorithm bytes(src: u8[] per chunk) -> u8[] non_parallel(chunk = 64) {\n"
                                 "    decode { while !src.at_end() { let v = src.u8(); emit v; } }\n"
                                 "    encode(x) { for c in chunks(x) { for v in c { src.push(v); } } }\n"
                                 "}\n"
                                 "algorithm both(a: u8[], b: u8[]) -> u8[] fully_parallel {\n"
                                 "    decode(i) = a[i] + b[i];\n"
                                 "    encode(x) { for v in x { a.push(v - 3); b.push(3); } }\n"
                                 "}\n";
    // The largest chunks are those of the other stage, so that both files have one text.
    static const uneven_codec codecs[] = {{"u8", "both(a: bytes(chunk: %u), b: bytes(chunk: 64))"},
                                          {"u8", "both(a: bytes(chunk: 64), b: bytes(chunk: %u))"}};
    static const unsigned sizes[UNEVEN_SIZES] = {64, 16, 4};
    static const zf_encode_column column = {.name = "c", .values = coded};
    static uneven_file made;
    zf_error error = {0};
    for (size_t f = 0; f < 2; f++) {
        zf_container *container = NULL;
        made = (uneven_file){.path = place(name_of("u", f, "zfd")), .first = f == 0};
        uneven_make(context, compiler, stages, &codecs[f], sizes, 0, 0, &column, ROWS, &made);
        uneven_close(&made);
        demand(zf_container_open(context, place(name_of("u", f, "zfd")), &container, &error), &error);
        demand(zf_module_compile_for(compiler, container, &(zf_module_options){.no_nvptx = true}, place(name_of("n", f, "zfm")),
                                     NULL, &error),
               &error);
        zf_container_close(container);
    }
    for (size_t k = 0; k < 4; k++) {
        static _Alignas(64) uint8_t out[ROWS + 64], work[1 << 20];
        zf_context *bare = NULL;
        zf_module *module = NULL;
        zf_container *container = NULL;
        zf_decode_sizes size = {0};
        demand(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &bare, &error), &error);
        demand(zf_module_load(bare, place(name_of("n", k % 2, "zfm")), &module, &error), &error);
        demand(zf_container_open(bare, place(name_of("u", k / 2, "zfd")), &container, &error), &error);
        memset(out, 0xa5, sizeof out);
        zf_status status = zf_decode_size(container, 0, NULL, &size, &error);
        CHECK(size.workspace <= sizeof work, "%zu bytes", size.workspace);
        zf_decode_buffers buffers = {.values = out, .workspace = work, ZF_DECODE_BYTES(size)};
        if (status == ZF_OK) status = zf_decode(container, 0, "cpu", NULL, &buffers, NULL, &error);
        if (k % 2 == k / 2) {
            CHECK(status == ZF_OK && memcmp(out, coded, ROWS) == 0, "file %zu: %s %s", k / 2, error.code, error.message);
        } else {
            CHECK(status == ZF_ERR_UNSUPPORTED && strcmp(error.code, "ZF1410") == 0, "file %zu: %s %s", k / 2, error.code,
                  error.message);
            CHECK(strstr(error.message, "chunks of any length") != NULL, "%s", error.message);
        }
        zf_container_close(container);
        zf_module_free(module);
        zf_context_free(bare);
    }
}

int main(void) {
    zf_error error = {0};
    uint32_t level;
    if (zf_cpu_here(&level) != ZF_MACHINE_X86_64 || level < 3) return 77; // modules hold code for x86-64
    if (!scratch_begin("module-states")) return 1;
    // Code of the fewest steps: compiling is most of this test's time.
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1, .general_only = true};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = place("cache"), .threads = 2}, &context, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    make();
    test_uneven_stages();
    for (size_t module = 0; module < MODULES; module++) {
        zf_context *bare = NULL;
        demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &bare, &error), &error);
        check_module(bare, module, "cpu", false);
        zf_context_free(bare);
    }
    check_module(context, PROGRAM, "cpu", true);
    check_module(context, PROGRAM, "emu", true);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
