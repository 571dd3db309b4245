// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Code that a device loaded for decodes that did not end well: each reference goes back once the decoders are gone. Batches that
// are cancelled before their first run and in a later one, launches and loads that fail, memory that ends.
#include <stdlib.h>
#include <string.h>

#include "runtime/context/context.h"
#include "runtime/device/kept_codes.h"
#include "runtime/module/code_obtain.h"
#include "tests/support/counted_device.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"
#include "zipflow/pipeline.h"

enum { BLOCK = 4096, BLOCKS = 4, ROWS = BLOCK * BLOCKS };

static int32_t even[ROWS], odd[ROWS];
static _Alignas(64) int32_t out[ROWS];

static zf_context *context;
static zf_compiler *compiler;
static zf_container *container;
static zf_accelerator *accelerator;
static zf_pipeline *pipeline;
static zf_batch *batch; ///< to cancel

// ---- Memory that ends ---------------------------------------------------------------------------------------------

static _Thread_local size_t short_malloc; ///< the size of which the next piece is not there; 0: none
static _Thread_local bool short_realloc;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size) {
    if (short_malloc == 0 || size != short_malloc) return __real_malloc(size);
    short_malloc = 0;
    return NULL;
}

void *__wrap_realloc(void *memory, size_t size) { return short_realloc ? NULL : __real_realloc(memory, size); }

// ---- A column -----------------------------------------------------------------------------------------------------

/// Column `even` has one code, column `odd` another one for every second block.
static void write_file(void) {
    zf_error error = {0};
    zf_program *program = NULL;
    for (uint32_t k = 0; k < ROWS; k++) {
        even[k] = (int32_t)(k % BLOCK == 0 ? 1023 : k % BLOCK == 1 ? 0 : k * 2654435761u >> 22);
        odd[k] = k / BLOCK % 2 == 0 ? even[k] : even[k] / 8;
    }
    FILE *source = fopen(place("t.zf"), "w");
    CHECK(source != NULL && fputs("table t { even: i32 = bitpack; odd: i32 = bitpack; }\n", source) >= 0 && fclose(source) == 0,
          "the text");
    demand(zf_program_load(compiler, place("t.zf"), &program, &error), &error);
    zf_encode_column columns[2] = {{.name = "even", .values = even}, {.name = "odd", .values = odd}};
    zf_encode_options options = {.rows_per_block = BLOCK, .overwrite = true};
    demand(zf_encode(program, "t", columns, 2, ROWS, &options, place("t.zfd"), NULL, &error), &error);
    zf_program_free(program);
}

static void begin(void) {
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error), &error);
    demand(counted_begin(context, &accelerator, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    if (even[0] == 0) write_file();
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
}

static zf_status decode(size_t column, zf_error *error) {
    zf_decode_buffers buffers = {.values = out, .values_bytes = sizeof out};
    memset(out, 0x5a, sizeof out);
    return zf_decode(container, column, "counted", NULL, &buffers, NULL, error);
}

/// No decoder is left, so no code may be.
static void end(const char *what) {
    CHECK(atomic_load(&counted.loads) > 0, "%s: no code was loaded", what);
    zf_container_close(container);
    zf_compiler_free(compiler);
    CHECK(counted_references() == 0, "%s: %ld references of %ld are left", what, counted_references(),
          atomic_load(&counted.loads));
    zf_context_free(context);
}

// ---- Batches ------------------------------------------------------------------------------------------------------

static void cancel(void) { zf_batch_cancel(batch); }

/// `unit_bytes`: 1 for a unit of each block.
static void begin_batch(size_t column, uint64_t unit_bytes) {
    zf_error error = {0};
    zf_pipeline_options options = {
        .host_staging = 1 << 20, .device_staging = 1 << 20, .unit_bytes = unit_bytes, .readers = 1, .streams = 1};
    zf_pipeline_request request = {.container = container, .column = column, .host = {.values = out, .values_bytes = sizeof out}};
    demand(zf_pipeline_create(context, "counted", &options, &pipeline, &error), &error);
    demand(zf_batch_create(pipeline, &request, 1, &batch, &error), &error);
}

static zf_status run_batch(zf_error *error) {
    ZF_TRY(zf_batch_start(batch, error));
    return zf_batch_wait(batch, 0, error);
}

static void end_batch(void) {
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
}

/// A unit was read and loaded when its batch is cancelled: it is not enqueued.
static void test_cancelled(void) {
    zf_error error = {0};
    begin();
    begin_batch(0, 1);
    counted.on_load = cancel;
    CHECK(run_batch(&error) == ZF_ERR_CANCELLED, "%s %s", error.code, error.message);
    counted.on_load = NULL;
    CHECK(run_batch(&error) == ZF_OK && memcmp(out, even, sizeof out) == 0, "the next run: %s", error.message);
    end_batch();
    end("a batch that was cancelled");
}

/// Units of a loaded container stay on the device from one run to the next, in which they are left out.
static void test_restarted(void) {
    zf_error error = {0};
    begin();
    demand(zf_container_load(container, "counted", &error), &error);
    begin_batch(0, 1);
    CHECK(run_batch(&error) == ZF_OK && memcmp(out, even, sizeof out) == 0, "%s", error.message);
    long loads = atomic_load(&counted.loads);
    counted.on_copy = cancel;
    CHECK(run_batch(&error) == ZF_ERR_CANCELLED, "%s %s", error.code, error.message);
    CHECK(atomic_load(&counted.loads) == loads, "units did not stay");
    counted.on_copy = NULL;
    end_batch();
    end("a batch that was cancelled in its second run");
}

/// A launch behind others of its unit fails: nothing of the unit runs when it is freed.
static void test_launch_fails(void) {
    zf_error error = {0};
    begin();
    begin_batch(1, 0);
    atomic_store(&counted.failing_launch, 2);
    CHECK(run_batch(&error) == ZF_ERR_DEVICE, "%s %s", error.code, error.message);
    end_batch();
    end("a launch that failed");
}

// ---- Loads that fail ----------------------------------------------------------------------------------------------

static void test_second_load_fails(void) {
    zf_error error = {0};
    begin();
    atomic_store(&counted.failing_load, 2);
    CHECK(decode(1, &error) == ZF_ERR_DEVICE, "%s %s", error.code, error.message);
    CHECK(decode(1, &error) == ZF_OK && memcmp(out, odd, sizeof out) == 0, "the next decode: %s", error.message);
    end("a second load that failed");
    begin();
    begin_batch(1, 0);
    atomic_store(&counted.failing_load, 2);
    CHECK(run_batch(&error) == ZF_ERR_DEVICE, "%s %s", error.code, error.message);
    end_batch();
    end("a second load of a batch that failed");
}

// ---- Memory that ends ---------------------------------------------------------------------------------------------

static zf_accelerator_code *load(const zf_abi_code **code) {
    zf_error error = {0};
    zf_abi_provider provider;
    const zf_abi_plan *plan;
    zf_accelerator_code *loaded = NULL;
    demand(zf_context_plan(context, container, 0, NULL, 0, zf_accelerator_device(accelerator), &provider, &plan, &error), &error);
    demand(provider.code(provider.self, plan, NULL, code, &error), &error);
    demand(accelerator->ops->load(accelerator, plan, *code, &loaded, &error), &error);
    return loaded;
}

static void shorten(void) { short_malloc = 2 * sizeof(zf_accelerator_code *); }

static void test_no_memory(void) {
    const zf_abi_code *code;
    begin();
    zf_accelerator_code *loaded = load(&code);
    short_realloc = true;
    zf_accelerator_keep(accelerator, code, loaded);
    short_realloc = false;
    CHECK(counted_references() == 0, "without memory for the list a reference is lost");
    zf_kept_codes *kept = accelerator->kept;
    loaded = load(&code);
    accelerator->kept = NULL;
    zf_accelerator_keep(accelerator, code, loaded);
    accelerator->kept = kept;
    CHECK(counted_references() == 0, "without a list a reference is lost");
    zf_code_request request = {.container = container};
    zf_loaded_codes codes = {0};
    zf_error error = {0};
    counted.on_load = shorten;
    CHECK(zf_code_obtain_from(context, "counted", &request, NULL, 1, 1, NULL, NULL, &codes, &error) == ZF_OK, "%s",
          error.message);
    CHECK(short_malloc == 0 && codes.codes == NULL && codes.count == 0, "the list was made");
    short_malloc = 0;
    counted.on_load = NULL;
    zf_loaded_codes_unload(&codes);
    end("memory that ended");
}

int main(void) {
    if (!scratch_begin("device_code")) return 1;
    test_cancelled();
    test_restarted();
    test_launch_fails();
    test_second_load_fails();
    test_no_memory();
    scratch_remove(scratch);
    return check_result();
}
