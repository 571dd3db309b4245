// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// A driver that is slow to unload the code of an evicted decoder delays nobody else: not another plan of the container whose plan
// evicted it, not the program whose encode did, and no module beside a container that is being closed.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/compiler.h"
#include "compiler/decoder/decoder_cache.h"
#include "compiler/program.h"
#include "runtime/context/context.h"
#include "tests/support/counted_device.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"

enum { ROWS = 4096, PATIENCE = 20 /**< seconds until a thread that should not wait is found to wait */ };

static int32_t values[ROWS];
static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;
static zf_accelerator *accelerator;
static zf_container *container; ///< open in each case

// ---- The driver -----------------------------------------------------------------------------------------------------

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_unloading, may_unload, was_late;

static void set(bool *what) {
    pthread_mutex_lock(&lock);
    *what = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/// Waits until `what` is set. False: it was not in time.
static bool wait_for(const bool *what) {
    struct timespec until;
    bool in_time = true;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    pthread_mutex_lock(&lock);
    while (!*what && in_time) in_time = pthread_cond_timedwait(&changed, &lock, &until) == 0;
    pthread_mutex_unlock(&lock);
    return in_time;
}

static void slow_unload(void) {
    set(&is_unloading);
    if (!wait_for(&may_unload)) was_late = true;
}

// ---- The cases ------------------------------------------------------------------------------------------------------

/// Plans a column, and compiles nothing.
static void plan(size_t column, uint32_t arch) {
    zf_abi_provider provider;
    const zf_abi_plan *out = NULL;
    zf_error error = {0};
    zf_abi_device device = {.target = {.family = ZF_TARGET_NVPTX, .arch = arch}};
    zf_status status = zf_context_plan(context, container, column, NULL, 0, device, &provider, &out, &error);
    CHECK(status == ZF_OK, "%s", error.message);
}

static void open_container(zf_container **out) {
    zf_error error = {0};
    demand(zf_container_open(context, place("t.zfd"), out, &error), &error);
}

/// Decodes a column on the device, which keeps its code.
static void decode(zf_container *of) {
    static _Alignas(64) int32_t out[ROWS];
    zf_error error = {0};
    zf_decode_buffers buffers = {.values = out, .values_bytes = sizeof out};
    demand(zf_decode(of, 0, "counted", NULL, &buffers, NULL, &error), &error);
    CHECK(memcmp(out, values, sizeof out) == 0, "values");
}

/// As many decoders as stay, and that of column 0 on the device is the least recently used.
static void fill_cache(void) {
    zf_container *of;
    zf_codec_text *text;
    zf_error error = {0};
    open_container(&of);
    decode(of);
    CHECK(counted_references() > 0, "a decode leaves no code on the device");
    demand(zf_codec_text_hold(compiler->cache, of, &text, &error), &error);
    zf_container_close(of);
    for (uint32_t k = 0; zf_decoder_cache_stats_of(compiler->cache).decoders < ZF_DECODERS_MOST; k++) {
        zf_cached_decoder *held;
        zf_plan_request request = {.target = {.family = ZF_TARGET_NVPTX, .arch = 1000 + k}};
        demand(zf_cached_decoder_hold(compiler->cache, text, text->table->columns, NULL, 0, &request, &held, &error), &error);
        zf_cached_decoder_release(compiler->cache, held);
    }
    zf_codec_text_release(compiler->cache, text);
}

static void *plan_other(void *unused) {
    plan(1, 90);
    return unused;
}

static void plan_meanwhile(void) { plan(0, 91); }

static void *encode_other(void *unused) {
    zf_cached_decoder *held = NULL;
    zf_error error = {0};
    const zf_plan_request *request = zf_compiler_request(compiler);
    const zf_column *column = zf_spec_tables(zf_program_spec(program))->columns;
    zf_status status = zf_program_decoder_for(program, column, NULL, request, &held, &error);
    CHECK(status == ZF_OK, "%s", error.message);
    zf_program_decoder_release(program, held);
    return unused;
}

static void use_program(void) { CHECK(zf_program_diagnostics(program, ZF_DIAGNOSTICS_HUMAN)[0] == 0, "a warning"); }

static zf_container *closing; ///< holds the only decoder that may be evicted first

static void *close_other(void *unused) {
    zf_container_close(closing);
    return unused;
}

static zf_status no_plan(void *self, zf_container *of, size_t column, const uint8_t *branches, size_t branch_count,
                         zf_abi_device device, const zf_abi_plan **out, zf_error *error) {
    (void)self, (void)of, (void)column, (void)branches, (void)branch_count, (void)device, (void)out;
    return zf_fail(error, ZF_ERR_UNSUPPORTED, "ZF1407", "none");
}

/// As loading and freeing a module does.
static void add_and_remove(void) {
    zf_error error = {0};
    zf_abi_provider module = {.self = &closing, .plan = no_plan};
    demand(zf_context_add_provider(context, &module, &error), &error);
    zf_context_remove_provider(context, &closing);
}

/// One thread evicts, and its driver waits until `meanwhile` has returned.
static void check(const char *what, void *(*evict)(void *), void (*meanwhile)(void)) {
    pthread_t thread;
    is_unloading = may_unload = was_late = false;
    counted.on_unload = slow_unload;
    CHECK(pthread_create(&thread, NULL, evict, NULL) == 0, "no thread");
    CHECK(wait_for(&is_unloading), "%s: nothing is unloaded", what);
    meanwhile();
    set(&may_unload);
    pthread_join(thread, NULL);
    counted.on_unload = NULL;
    CHECK(!was_late, "%s: waits for the driver", what);
    CHECK(counted_references() == 0, "%s: %ld references", what, counted_references());
}

/// The closed container's decoder is evicted at once, since others are held.
static void hold_all_others(zf_cached_decoder *held[ZF_DECODERS_MOST], zf_codec_text **text) {
    zf_error error = {0};
    demand(zf_codec_text_hold(compiler->cache, container, text, &error), &error);
    for (uint32_t k = 0; k < ZF_DECODERS_MOST; k++) {
        zf_plan_request request = {.target = {.family = ZF_TARGET_NVPTX, .arch = 5000 + k}};
        demand(zf_cached_decoder_hold(compiler->cache, *text, (*text)->table->columns, NULL, 0, &request, &held[k], &error),
               &error);
    }
    zf_decoder_cache_sweep(compiler->cache);
}

static void begin(void) {
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error), &error);
    demand(counted_begin(context, &accelerator, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    FILE *source = fopen(place("t.zf"), "w");
    CHECK(source != NULL && fputs("table t { a: i32 = bitpack; b: i32 = bitpack; }\n", source) >= 0 && fclose(source) == 0,
          "the text");
    demand(zf_program_load(compiler, place("t.zf"), &program, &error), &error);
    for (int32_t k = 0; k < ROWS; k++) values[k] = k % 977;
    zf_encode_column columns[2] = {{.name = "a", .values = values}, {.name = "b", .values = values}};
    zf_encode_options encoding = {.overwrite = true};
    demand(zf_encode(program, "t", columns, 2, ROWS, &encoding, place("t.zfd"), NULL, &error), &error);
    zf_program_free(program); // with its decoders
    demand(zf_program_load(compiler, place("t.zf"), &program, &error), &error);
    fill_cache();
    open_container(&container);
}

static void end(void) {
    zf_container_close(container);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
}

int main(void) {
    static zf_cached_decoder *held[ZF_DECODERS_MOST];
    zf_codec_text *text;
    if (!scratch_begin("evicted-code")) return 1;
    begin();
    check("another plan of the container", plan_other, plan_meanwhile);
    end();
    begin();
    check("the program", encode_other, use_program);
    end();
    begin();
    open_container(&closing);
    decode(closing);
    hold_all_others(held, &text);
    check("a module", close_other, add_and_remove);
    for (uint32_t k = 0; k < ZF_DECODERS_MOST; k++) zf_cached_decoder_release(compiler->cache, held[k]);
    zf_codec_text_release(compiler->cache, text);
    end();
    scratch_remove(scratch);
    return check_result();
}
