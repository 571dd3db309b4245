// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// GPUs of several models whose code has one target, in one context: decodes of one container use the tuned results of the model
// that runs them, whichever was started first.
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/tuned/kernel_shape.h"
#include "emulator/emu.h"
#include "runtime/context/context.h"
#include "runtime/device/device.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/pipeline.h"

enum { ROWS = 8192 };

static zf_context *context;
static zf_compiler *compiler;
static zf_container *container;

/// Made-up GPUs whose code has one target: each says which choice the kernels have that are loaded on it.
enum { MODELS = 3 };
static zf_accelerator *models[MODELS];
static zf_accelerator_ops model_ops[MODELS];
static zf_choice loaded_choice[MODELS];
static unsigned loads[MODELS];
static char shape[128];                         ///< of the kernel that was loaded last, where nothing was chosen for it
static const unsigned best[MODELS] = {2, 8, 0}; ///< L, as was found; GPU 2 was not tuned
static zf_status (*load_emulated)(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code,
                                  zf_accelerator_code **out, zf_error *error);

static void keep_shape(const zf_plan *plan) {
    zf_text text = {0};
    zf_block_view block;
    zf_error error = {0};
    demand(zf_container_block(container, 0, 0, true, &block, &error), &error);
    zf_kernel_shape_print(plan, &plan->kernels[0], &block, &text);
    snprintf(shape, sizeof shape, "%s", text.data);
    zf_block_view_free(&block);
    zf_text_free(&text);
}

static zf_status load_model(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code, zf_accelerator_code **out,
                            zf_error *error) {
    for (unsigned k = 0; k < MODELS; k++) {
        if (models[k] != self) continue;
        loads[k]++;
        const zf_plan *lowered = ((const zf_decoder *)plan->provider_data)->plan;
        loaded_choice[k] = lowered->kernels[0].choice;
        if (loaded_choice[k].chosen == 0) keep_shape(lowered);
    }
    return load_emulated(self, plan, code, out, error);
}

static void describe_model(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason) {
    (void)shared, (void)reason;
    zf_text_printf(description, "GPU %u, driver for tests 1.0", index);
    info->present = info->emulated = true;
}

static unsigned count_models(void *shared) {
    (void)shared;
    return MODELS;
}

static zf_status start_model(zf_context *owner, void *shared, unsigned index, zf_accelerator **out, zf_error *error) {
    (void)owner, (void)shared;
    ZF_TRY(zf_emu_create(1, 32, out, error));
    load_emulated = (*out)->ops->load;
    model_ops[index] = *(*out)->ops;
    model_ops[index].load = load_model;
    (*out)->ops = &model_ops[index];
    models[index] = *out;
    return ZF_OK;
}

/// Decodes column 0 on a model by a container that is open, alone or in a pipeline; returns L of the kernel, 0: nothing chosen.
static unsigned decode_on(unsigned model, bool piped) {
    static _Alignas(64) int32_t values[ROWS];
    char name[16];
    zf_error error = {0};
    zf_decode_buffers buffers = {.values = values, .values_bytes = sizeof values};
    snprintf(name, sizeof name, "model:%u", model);
    memset(values, 0xa5, sizeof values);
    loads[model] = 0;
    if (piped) {
        zf_pipeline *pipeline = NULL;
        zf_batch *batch = NULL;
        zf_pipeline_request request = {.container = container, .host = buffers};
        zf_status status = zf_pipeline_create(context, name, NULL, &pipeline, &error);
        if (status == ZF_OK) status = zf_batch_create(pipeline, &request, 1, &batch, &error);
        if (status == ZF_OK) status = zf_batch_start(batch, &error);
        if (status == ZF_OK) status = zf_batch_wait(batch, 0, &error);
        CHECK(status == ZF_OK, "%s", error.message);
        zf_batch_free(batch);
        zf_pipeline_free(pipeline);
    } else {
        CHECK(zf_decode(container, 0, name, NULL, &buffers, NULL, &error) == ZF_OK, "%s", error.message);
    }
    for (int k = 0; k < ROWS; k++) {
        if (values[k] == k * 7 % 1000) continue;
        CHECK(false, "%s: row %d", name, k);
        break;
    }
    CHECK(loads[model] > 0, "%s loads no code", name);
    return zf_choice_value(&loaded_choice[model], ZF_CHOICE_L, 0);
}

static void begin(zf_compiler_options options, const char *cache) {
    static const zf_device_ops model = {
        .name = "model", .count = count_models, .describe = describe_model, .start = start_model, .stop = zf_emu_free};
    zf_error error = {0};
    options.std_dir = ZF_SOURCE_DIR "/dsl/std";
    demand(emulated_context_create(&(zf_context_options){.cache_dir = cache, .threads = 1}, &context, &error), &error);
    demand(zf_context_add_devices(context, &(const zf_device_ops *){&model}, 1, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
}

static void end(void) {
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    container = NULL;
}

static void write_container(void) {
    static int32_t values[ROWS];
    zf_error error = {0};
    zf_program *program = NULL;
    for (int k = 0; k < ROWS; k++) values[k] = k * 7 % 1000;
    FILE *source = fopen(place("t.zf"), "w");
    fputs("table t { a: i32 = bitpack; }\n", source);
    fclose(source);
    begin((zf_compiler_options){0}, "");
    demand(zf_program_load(compiler, place("t.zf"), &program, &error), &error);
    zf_encode_column column = {.name = "a", .values = values};
    demand(zf_encode(program, "t", &column, 1, ROWS, NULL, place("t.zfd"), NULL, &error), &error);
    zf_program_free(program);
    end();
}

/// Names GPU 1 with another driver than it has: its model is what counts.
static void write_results(void) {
    FILE *f = fopen(place("tuned.txt"), "w");
    fputs("zipflow tuned kernels, format 1\n", f);
    fprintf(f, "device GPU 0, driver for tests 1.0\nkernel %s\nchoice L=2\n", shape);
    fprintf(f, "device GPU 1, driver for tests 0.9\nkernel %s\nchoice L=8\n", shape);
    fclose(f);
}

/// As `zfc tune` does on each GPU.
static void keep_results(void) {
    for (unsigned k = 0; k < 2; k++) {
        zf_tuned_kernel kernel = {.shape = shape};
        zf_choose(&kernel.choice, ZF_CHOICE_L, best[k]);
        zf_tuned_device of = {.description = k == 0 ? "GPU 0, driver for tests 1.0" : "GPU 1, driver for tests 1.0",
                              .kernels = &kernel,
                              .count = 1};
        CHECK(zf_tuned_keep(context, &of), "GPU %u is not kept", k);
    }
}

int main(void) {
    static const unsigned orders[2][MODELS] = {{0, 1, 2}, {2, 1, 0}};
    zf_error error = {0};
    if (!scratch_begin("tuned-models")) return 1;
    write_container();
    begin((zf_compiler_options){0}, "");
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
    CHECK(decode_on(2, false) == 0, "something is chosen");
    end();
    write_results();
    for (unsigned way = 0; way < 4; way++) { // results of a file, then of the cache; the GPUs in both orders
        begin((zf_compiler_options){.tuned = way < 2 ? place("tuned.txt") : NULL}, way < 2 ? "" : place("cache"));
        if (way == 2) keep_results();
        demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
        for (unsigned k = 0; k < 2 * MODELS; k++) {
            unsigned gpu = orders[way % 2][k % MODELS], l = decode_on(gpu, k >= MODELS);
            CHECK(l == best[gpu], "way %u: L is %u on GPU %u, not %u", way, l, gpu, best[gpu]);
        }
        end();
    }
    scratch_remove(scratch);
    return check_result();
}
