// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Decoders are found by their identity: ten thousand containers of one table are parsed, planned and lowered once, in constant
// memory. Other texts, columns, branches, states, targets and choices have decoders of their own. The least recently used go.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/decoder/decoder_cache.h"
#include "runtime/base/clock.h"
#include "runtime/context/context.h"
#include "runtime/device/device.h"
#include "runtime/device/kept_codes.h"
#include "tests/support/counted_device.h"
#include "tests/support/emulated.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum {
    ROWS = 8192,
    BLOCK = 4096,
    FILES = 4,
    OPENED = 10000, ///< containers, one after the other
    AT_ONCE = 200,  ///< containers that are open together
    THREADS = 4,
};

static char directory[64], files[FILES][96], other_file[96];
static int32_t values[FILES][ROWS];

typedef struct world {
    zf_context *context;
    zf_compiler *compiler;
} world;

static world begin(void) {
    world w = {0};
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &w.context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(w.context, &options, &w.compiler, &error) == ZF_OK, "%s", error.message);
    return w;
}

static void end(world *w) {
    zf_compiler_free(w->compiler);
    zf_context_free(w->context);
}

static zf_decoder_cache_stats stats(const world *w) { return zf_decoder_cache_stats_of(w->compiler->cache); }

static uint64_t lowered(const world *w) {
    zf_jit_stats jit = zf_jit_get_stats(w->compiler->jit);
    return jit.compiled + jit.cached;
}

static void write_files(const char *program_text, char (*names)[96], size_t count) {
    world w = begin();
    zf_error error = {0};
    zf_program *program = NULL;
    char source[96];
    snprintf(source, sizeof source, "%s/t.zf", directory);
    FILE *f = fopen(source, "w");
    CHECK(f != NULL && fputs(program_text, f) >= 0 && fclose(f) == 0, "%s", source);
    CHECK(zf_program_load(w.compiler, source, &program, &error) == ZF_OK, "%s", error.message);
    for (size_t k = 0; k < count; k++) {
        zf_encode_column columns[2] = {{.name = "a", .values = values[k]}, {.name = "b", .values = values[k]}};
        zf_encode_options options = {.rows_per_block = BLOCK, .overwrite = true};
        CHECK(zf_encode(program, "t", columns, 2, ROWS, &options, names[k], NULL, &error) == ZF_OK, "%s", error.message);
    }
    zf_decoder_cache_stats s = stats(&w);
    CHECK(s.planned == 2 && s.held == 0 && s.decoders == 2, "%llu planned by %zu encodes of two columns, %zu held",
          (ull)s.planned, count, s.held);
    zf_program_free(program);
    s = stats(&w);
    CHECK(s.decoders == 0 && s.evicted == 0, "%zu decoders of a program that is gone", s.decoders);
    end(&w);
}

static zf_container *open_file(const world *w, const char *path) {
    zf_container *container = NULL;
    zf_error error = {0};
    CHECK(zf_container_open(w->context, path, &container, &error) == ZF_OK, "%s", error.message);
    return container;
}

/// Decodes a column of a container, which holds these values.
static bool decode(zf_container *container, size_t column, const int32_t *wanted) {
    static _Thread_local int32_t out[ROWS] __attribute__((aligned(64)));
    static _Thread_local uint8_t work[1 << 20] __attribute__((aligned(64)));
    zf_decode_sizes sizes = {0};
    zf_error error = {0};
    zf_status status = zf_decode_size(container, column, NULL, &sizes, &error);
    CHECK(status == ZF_OK && sizes.workspace <= sizeof work, "%s", error.message);
    zf_decode_buffers buffers = {.values = out, .workspace = work, ZF_DECODE_BYTES(sizes)};
    memset(out, 0x5a, sizeof out);
    status = zf_decode(container, column, "cpu", NULL, &buffers, NULL, &error);
    CHECK(status == ZF_OK, "%s (%s)", error.message, error.place);
    return status == ZF_OK && memcmp(out, wanted, sizeof out) == 0;
}

static bool visit(const world *w, unsigned k, size_t column) {
    zf_container *container = open_file(w, files[k % FILES]);
    bool good = decode(container, column, values[k % FILES]);
    zf_container_close(container);
    return good;
}

// ---- Ten thousand containers ------------------------------------------------------------------------------------

static void test_many(void) {
    world w = begin();
    double first = zf_clock_seconds();
    CHECK(visit(&w, 0, 0), "the first container");
    double begun = zf_clock_seconds();
    first = begun - first;
    size_t before = 0;
    for (unsigned k = 1; k < OPENED; k++) {
        if (k == 100) before = mallinfo2().uordblks;
        if (visit(&w, k, 0)) continue;
        CHECK(false, "container %u", k);
        break;
    }
    double each = (zf_clock_seconds() - begun) / (OPENED - 1);
    size_t after = mallinfo2().uordblks;
    zf_decoder_cache_stats s = stats(&w);
    CHECK(s.parsed == 1 && s.planned == 1, "%llu texts parsed, %llu plans made", (ull)s.parsed, (ull)s.planned);
    CHECK(lowered(&w) == 1, "%llu lowerings", (ull)lowered(&w));
    CHECK(s.found == OPENED - 1, "%llu requests served", (ull)s.found);
    CHECK(s.texts == 1 && s.decoders == 1 && s.held == 0, "%zu texts, %zu decoders, %zu held", s.texts, s.decoders, s.held);
    CHECK(after < before + OPENED, "%zu bytes of memory after 100 containers, %zu after %d", before, after, OPENED);
    printf("%d containers of one table: the first took %.3f ms, each further one %.1f us\n", OPENED, first * 1e3, each * 1e6);
    end(&w);
}

static void test_together(void) {
    world w = begin();
    static zf_container *open[AT_ONCE];
    for (unsigned k = 0; k < AT_ONCE; k++) {
        open[k] = open_file(&w, files[k % FILES]);
        CHECK(decode(open[k], 0, values[k % FILES]), "container %u", k);
    }
    zf_decoder_cache_stats s = stats(&w);
    CHECK(s.parsed == 1 && s.planned == 1 && s.held == 1, "%llu parsed, %llu planned, %zu held", (ull)s.parsed, (ull)s.planned,
          s.held);
    for (unsigned k = 0; k < AT_ONCE; k += 2) zf_container_close(open[k]);
    for (unsigned k = 1; k < AT_ONCE; k += 2) CHECK(decode(open[k], 0, values[k % FILES]), "container %u, later", k);
    CHECK(stats(&w).found == s.found, "an open container asks the cache again");
    for (unsigned k = 1; k < AT_ONCE; k += 2) zf_container_close(open[k]);
    CHECK(stats(&w).held == 0, "%zu held", stats(&w).held);
    end(&w);
}

typedef struct visitor {
    const world *w;
    unsigned first;
    bool good;
} visitor;

static void *visit_some(void *user) {
    visitor *v = user;
    v->good = true;
    for (unsigned k = 0; k < 50; k++) v->good = visit(v->w, v->first + k, (v->first + k) % 2) && v->good;
    return NULL;
}

static void test_threads(void) {
    world w = begin();
    pthread_t threads[THREADS];
    visitor visitors[THREADS];
    for (unsigned k = 0; k < THREADS; k++) {
        visitors[k] = (visitor){.w = &w, .first = k};
        pthread_create(&threads[k], NULL, visit_some, &visitors[k]);
    }
    for (unsigned k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        CHECK(visitors[k].good, "thread %u", k);
    }
    zf_decoder_cache_stats s = stats(&w);
    CHECK(s.parsed == 1 && s.planned == 2, "%llu parsed, %llu planned", (ull)s.parsed, (ull)s.planned);
    CHECK(lowered(&w) == 2 && s.held == 0, "%llu lowerings, %zu held", (ull)lowered(&w), s.held);
    end(&w);
}

// ---- Identities -------------------------------------------------------------------------------------------------

/// Tables that are called alike, with columns that are called alike, and other codecs.
static void test_texts(void) {
    world w = begin();
    zf_container *a = open_file(&w, files[0]), *b = open_file(&w, other_file);
    CHECK(decode(a, 0, values[0]) && decode(b, 0, values[0]) && decode(a, 1, values[0]), "values");
    zf_decoder_cache_stats s = stats(&w);
    CHECK(s.parsed == 2 && s.planned == 3 && s.texts == 2, "%llu parsed, %llu planned, %zu texts", (ull)s.parsed, (ull)s.planned,
          s.texts);
    zf_container_close(b);
    zf_container_close(a);
    end(&w);
}

/// Returns the decoder of column a for a request, which stays in the cache.
static const zf_decoder *ask(const world *w, zf_codec_text *text, const zf_plan_request *request) {
    zf_cached_decoder *held = NULL;
    zf_error error = {0};
    const zf_column *column = text->table->columns;
    CHECK(zf_cached_decoder_hold(w->compiler->cache, text, column, NULL, 0, request, &held, &error) == ZF_OK, "%s",
          error.message);
    const zf_decoder *decoder = held != NULL ? held->decoder : NULL;
    zf_cached_decoder_release(w->compiler->cache, held);
    zf_decoder_cache_sweep(w->compiler->cache);
    return decoder;
}

static void test_requests(void) {
    world w = begin();
    zf_container *container = open_file(&w, files[0]);
    zf_codec_text *text = NULL;
    zf_error error = {0};
    CHECK(zf_codec_text_hold(w.compiler->cache, container, &text, &error) == ZF_OK, "%s", error.message);
    zf_choices choices[2] = {{.count = 1}, {.count = 1}};
    zf_choose(&choices[0].of[0], ZF_CHOICE_THREADS, 64);
    zf_choose(&choices[1].of[0], ZF_CHOICE_THREADS, 128);
    const uint32_t edges[2] = {1, 2};
    zf_abi_target gpu = {.family = ZF_TARGET_NVPTX, .arch = 90};
    const zf_plan_request requests[] = {
        {.choices = NULL},
        {.target = gpu},
        {.target = {.family = ZF_TARGET_NVPTX, .arch = 80}},
        {.target = gpu, .choices = &choices[0]},
        {.target = gpu, .choices = &choices[1]},
        {.target = gpu, .unfused = true},
        {.target = gpu, .unchecked = true},
        {.target = gpu, .states = {.seek_interval = 512}},
        {.target = gpu, .states = {.unfused = "all"}},
        {.target = gpu, .states = {.unfused = "x"}},
        {.target = gpu, .states = {.tree_edges = edges, .tree_edge_count = 1}},
        {.target = gpu, .states = {.tree_edges = edges, .tree_edge_count = 2}},
    };
    enum { REQUESTS = sizeof requests / sizeof *requests };
    const zf_decoder *first[REQUESTS];
    for (unsigned k = 0; k < REQUESTS; k++) first[k] = ask(&w, text, &requests[k]);
    CHECK(stats(&w).planned == REQUESTS, "%llu decoders for %d requests", (ull)stats(&w).planned, REQUESTS);
    for (unsigned k = 0; k < REQUESTS; k++) CHECK(ask(&w, text, &requests[k]) == first[k], "request %u, again", k);
    CHECK(stats(&w).planned == REQUESTS, "%llu decoders, later", (ull)stats(&w).planned);
    zf_choices same = choices[0]; // elsewhere in memory
    CHECK(ask(&w, text, &(zf_plan_request){.target = gpu, .choices = &same}) == first[3], "equal choices");
    zf_codec_text_release(w.compiler->cache, text);
    zf_container_close(container);
    end(&w);
}

// ---- Eviction ---------------------------------------------------------------------------------------------------

static const zf_decoder *ask_for(const world *w, zf_codec_text *text, uint32_t arch) {
    return ask(w, text, &(zf_plan_request){.target = {.family = ZF_TARGET_NVPTX, .arch = arch}});
}

static void test_eviction(void) {
    enum { OLDEST = 1000, USED, HELD, MORE = 10 };
    world w = begin();
    zf_container *container = open_file(&w, files[0]);
    zf_codec_text *text = NULL;
    zf_cached_decoder *held = NULL;
    zf_error error = {0};
    CHECK(zf_codec_text_hold(w.compiler->cache, container, &text, &error) == ZF_OK, "%s", error.message);
    zf_plan_request request = {.target = {.family = ZF_TARGET_NVPTX, .arch = HELD}};
    CHECK(zf_cached_decoder_hold(w.compiler->cache, text, text->table->columns, NULL, 0, &request, &held, &error) == ZF_OK, "%s",
          error.message);
    ask_for(&w, text, OLDEST);
    const zf_decoder *used = ask_for(&w, text, USED);
    for (uint32_t k = 0; k < ZF_DECODERS_MOST - 3; k++) ask_for(&w, text, k);
    CHECK(stats(&w).decoders == ZF_DECODERS_MOST && stats(&w).evicted == 0, "%zu decoders, %llu evicted", stats(&w).decoders,
          (ull)stats(&w).evicted);
    CHECK(ask_for(&w, text, USED) == used, "a decoder is lost");
    for (uint32_t k = 0; k < MORE; k++) ask_for(&w, text, 2000 + k);
    zf_decoder_cache_stats s = stats(&w);
    CHECK(s.decoders == ZF_DECODERS_MOST && s.evicted == MORE && s.held == 1, "%zu decoders, %llu evicted, %zu held", s.decoders,
          (ull)s.evicted, s.held);
    CHECK(ask_for(&w, text, USED) == used && stats(&w).planned == s.planned, "what was used since is evicted");
    CHECK(ask(&w, text, &request) == held->decoder && stats(&w).planned == s.planned, "what is held is evicted");
    ask_for(&w, text, MORE - 1);
    CHECK(stats(&w).planned == s.planned, "the eleventh in order of use is evicted");
    ask_for(&w, text, OLDEST);
    CHECK(stats(&w).planned == s.planned + 1, "the least recently used one is not evicted");
    zf_cached_decoder_release(w.compiler->cache, held);
    zf_codec_text_release(w.compiler->cache, text);
    zf_container_close(container);
    end(&w);
}

// ---- Failures -----------------------------------------------------------------------------------------------------

static zf_status failure; ///< of calls that generate code; ZF_OK: they are made
static atomic_uint builds;
static bool builds_empty; ///< kernels that are loaded and never run

static void run_nothing(void *thread, const uint8_t *base, const uint64_t *blocks, const uint32_t *first, const uint8_t *work,
                        uint8_t *out, uint8_t *validity, int64_t *offsets, uint64_t *failed, uint32_t block_count,
                        uint32_t even) {
    (void)thread, (void)base, (void)blocks, (void)first, (void)work, (void)out, (void)validity, (void)offsets, (void)failed;
    (void)block_count, (void)even;
}

/// Each build has kernels of other names, so that a device does not take them for the same code.
static zf_status build_empty(const zf_codegen_request *request, zf_codegen_code *out) {
    uint32_t count = request->plan->kernel_count;
    zf_abi_simt_kernel *kernels = calloc(count, sizeof *kernels);
    *out = (zf_codegen_code){.abi = {.simt = kernels}, .names = calloc(count, ZF_CODEGEN_NAME)};
    for (uint32_t k = 0; k < count; k++) {
        snprintf(out->names[k], ZF_CODEGEN_NAME, "k%u_%u", builds, k);
        kernels[k] = (zf_abi_simt_kernel){.name = out->names[k], .threads = 64, .tiles = 1, .warp = 32, .emulated = run_nothing};
    }
    return ZF_OK;
}

zf_status __real_zf_codegen_build(zf_jit *jit, const zf_codegen_request *request, zf_codegen_code *out, zf_error *error);
zf_status __wrap_zf_codegen_build(zf_jit *jit, const zf_codegen_request *request, zf_codegen_code *out, zf_error *error);

zf_status __wrap_zf_codegen_build(zf_jit *jit, const zf_codegen_request *request, zf_codegen_code *out, zf_error *error) {
    builds++;
    if (builds_empty) return build_empty(request, out);
    if (failure == ZF_OK) return __real_zf_codegen_build(jit, request, out, error);
    *out = (zf_codegen_code){.loaded = NULL};
    return zf_fail(error, failure, "ZF0000", "a test needs it");
}

/// A failure that is the codec's is kept; code is generated again after any other.
static void test_failures(void) {
    static const struct {
        zf_status status;
        bool is_kept;
    } failures[] = {{ZF_ERR_UNSUPPORTED, true}, {ZF_ERR_INPUT, true},   {ZF_ERR_MEMORY, false},
                    {ZF_ERR_INTERNAL, false},   {ZF_ERR_DEVICE, false}, {ZF_ERR_IO, false}};
    for (size_t k = 0; k < sizeof failures / sizeof *failures; k++) {
        world w = begin();
        zf_container *container = open_file(&w, files[0]);
        zf_codec_text *text = NULL;
        zf_cached_decoder *held = NULL;
        zf_error error = {0};
        zf_plan_request request = {.target = {.family = ZF_TARGET_HOST}};
        const zf_abi_code *code = NULL;
        CHECK(zf_codec_text_hold(w.compiler->cache, container, &text, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_cached_decoder_hold(w.compiler->cache, text, text->table->columns, NULL, 0, &request, &held, &error) == ZF_OK,
              "%s", error.message);
        failure = failures[k].status;
        builds = 0;
        for (int again = 0; again < 2; again++) {
            memset(&error, 0, sizeof error);
            CHECK(zf_decoder_code_for(held->decoder, NULL, &code, &error) == failure && error.status == failure, "status %d: %s",
                  (int)failure, error.message);
        }
        CHECK(builds == (failures[k].is_kept ? 1 : 2), "status %d: %u builds", (int)failure, builds);
        failure = ZF_OK;
        zf_status status = zf_decoder_code_for(held->decoder, NULL, &code, &error);
        CHECK((status == ZF_OK) == !failures[k].is_kept, "status %d, then %d", (int)failures[k].status, (int)status);
        zf_cached_decoder_release(w.compiler->cache, held);
        zf_codec_text_release(w.compiler->cache, text);
        zf_container_close(container);
        end(&w);
    }
}

// ---- Code on a device -------------------------------------------------------------------------------------------

/// A world with the device, which is started.
static world begin_counted(zf_accelerator **accelerator) {
    world w = {0};
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_status status = emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &w.context, &error);
    if (status == ZF_OK) status = counted_begin(w.context, accelerator, &error);
    if (status == ZF_OK) status = zf_compiler_create(w.context, &options, &w.compiler, &error);
    CHECK(status == ZF_OK, "%s", error.message);
    return w;
}

/// As a decode does with a program that nobody used before: `number` makes it another one.
static void use_program(const world *w, zf_codec_text *text, zf_accelerator *accelerator, uint32_t number) {
    zf_cached_decoder *held = NULL;
    const zf_abi_code *code = NULL;
    zf_error error = {0};
    zf_plan_request request = {.target = {.family = ZF_TARGET_EMU, .arch = 1000 + number}};
    zf_status status = zf_cached_decoder_hold(w->compiler->cache, text, text->table->columns, NULL, 0, &request, &held, &error);
    if (status == ZF_OK) status = zf_decoder_code_for(held->decoder, NULL, &code, &error);
    for (int times = 0; times < 2 && status == ZF_OK; times++) {
        zf_accelerator_code *loaded = NULL;
        status = accelerator->ops->load(accelerator, &held->decoder->abi, code, &loaded, &error);
        if (status == ZF_OK) zf_accelerator_keep(accelerator, code, loaded);
    }
    CHECK(status == ZF_OK, "%s", error.message);
    zf_cached_decoder_release(w->compiler->cache, held);
    zf_decoder_cache_sweep(w->compiler->cache);
}

static bool decode_counted(zf_container *container, const int32_t *wanted) {
    static int32_t out[ROWS] __attribute__((aligned(64)));
    zf_error error = {0};
    zf_decode_buffers buffers = {.values = out, .values_bytes = sizeof out};
    memset(out, 0x5a, sizeof out);
    zf_status status = zf_decode(container, 0, "counted", NULL, &buffers, NULL, &error);
    CHECK(status == ZF_OK, "%s (%s)", error.message, error.place);
    return status == ZF_OK && memcmp(out, wanted, sizeof out) == 0;
}

/// A decoder that leaves the cache takes its code from the device; that of a container that is open stays.
static void test_device_code(void) {
    enum { PROGRAMS = 1000 };
    zf_accelerator *accelerator = NULL;
    world w = begin_counted(&accelerator);
    zf_container *container = open_file(&w, files[0]);
    zf_codec_text *text = NULL;
    zf_error error = {0};
    CHECK(zf_codec_text_hold(w.compiler->cache, container, &text, &error) == ZF_OK, "%s", error.message);
    CHECK(decode_counted(container, values[0]), "values");
    long own = counted_references();
    CHECK(own > 0, "a decode leaves no code on the device");
    CHECK(decode_counted(container, values[0]) && counted_references() == own, "%ld images, then %ld", own, counted_references());
    builds_empty = true;
    for (uint32_t k = 0; k < PROGRAMS; k++) use_program(&w, text, accelerator, k);
    builds_empty = false;
    CHECK(stats(&w).evicted > PROGRAMS - ZF_DECODERS_MOST - 10, "%llu evicted", (ull)stats(&w).evicted);
    CHECK(atomic_load(&counted.most) <= ZF_DECODERS_MOST + own + 2, "%ld images of %d programs", atomic_load(&counted.most),
          PROGRAMS);
    CHECK(decode_counted(container, values[0]), "values behind other programs");
    zf_codec_text_release(w.compiler->cache, text);
    zf_container_close(container);
    zf_compiler_free(w.compiler);
    CHECK(counted_references() == 0, "%ld images of no decoder", counted_references());
    zf_context_free(w.context);
}

// ---- Places -----------------------------------------------------------------------------------------------------

static void test_places(void) {
    static const struct {
        const char *before, *after;
    } places[] = {{"t.zf:3:5", ":3:5"}, {"t.zf", ""}, {"t.zfd: column a", NULL}, {"", NULL}};
    world w = begin();
    zf_container *container = open_file(&w, files[1]);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        zf_error error = {.status = ZF_ERR_INPUT};
        char wanted[sizeof error.place];
        snprintf(error.place, sizeof error.place, "%s", places[k].before);
        snprintf(wanted, sizeof wanted, "%s%s", places[k].after != NULL ? files[1] : places[k].before,
                 places[k].after != NULL ? places[k].after : "");
        zf_container_spec_place(container, "t.zf", &error);
        CHECK(strcmp(error.place, wanted) == 0, "%s became %s", places[k].before, error.place);
    }
    zf_container_close(container);
    end(&w);
}

int main(void) {
    snprintf(directory, sizeof directory, "/tmp/zf_decoders_XXXXXX");
    if (mkdtemp(directory) == NULL) return 1;
    for (unsigned f = 0; f < FILES; f++) {
        snprintf(files[f], sizeof files[f], "%s/%u.zfd", directory, f);
        for (uint32_t k = 0; k < ROWS; k++) // 0 and 1023 in each block, so that all have one width
            values[f][k] = k % BLOCK == 0 ? 1023 : k % BLOCK == 1 ? 0 : (int32_t)((k + f) * 2654435761u >> 22);
    }
    snprintf(other_file, sizeof other_file, "%s/other.zfd", directory);
    write_files("table t { a: i32 = bitpack; b: i32 = dictionary(bitpack); }\n", files, FILES);
    write_files("table t { a: i32 = dictionary(bitpack); b: i32 = bitpack; }\n", &other_file, 1);
    test_many();
    test_together();
    test_threads();
    test_texts();
    test_requests();
    test_eviction();
    test_failures();
    test_device_code();
    test_places();
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", directory);
    CHECK(system(command) == 0, "%s", command);
    return check_result();
}
