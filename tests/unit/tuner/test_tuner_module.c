// Links: zipflow-tuner
// A context with a module: the tuner plans by its compiler all the same. The driver is fake: nothing is measured.
#include <string.h>

#include "tests/support/fake_cuda_open.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "tuner/tuner.h"

enum { ROWS = 9000 };

static void write_files(zf_compiler *compiler) {
    static uint32_t values[ROWS];
    for (uint32_t k = 0; k < ROWS; k++) values[k] = k / 5;
    FILE *f = fopen(place("t.zf"), "w");
    CHECK(f != NULL && fputs("table t { a: u32 = delta(bitpack); }\n", f) >= 0 && fclose(f) == 0, "t.zf cannot be written");
    zf_error error = {0};
    zf_program *program = NULL;
    CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s", error.message);
    const zf_encode_column column = {.name = "a", .values = values};
    CHECK(zf_encode(program, NULL, &column, 1, ROWS, NULL, place("t.zfd"), NULL, &error) == ZF_OK, "%s", error.message);
    zf_module_options options = {ZF_INIT(zf_module_options), .no_host = true};
    CHECK(zf_module_compile(program, NULL, &options, place("t.zfm"), NULL, &error) == ZF_OK, "%s", error.message);
    zf_program_free(program);
}

/// The provider that the context asks first is the module, and it has a plan for the column.
static void check_module_answers(zf_context *context, zf_container *container, zf_accelerator *gpu) {
    zf_error error = {0};
    zf_abi_provider first, compilers;
    const zf_abi_plan *plan = NULL;
    const zf_shape *shape = zf_container_shape(container, 0, 0);
    CHECK(zf_context_plan(context, container, 0, shape->branches, shape->branch_count, zf_accelerator_device(gpu), &first, &plan,
                          &error) == ZF_OK,
          "%s", error.message);
    CHECK(zf_context_provider(context, &compilers) && compilers.self != first.self, "the module has no plan");
}

static void test_plan(zf_context *context, zf_compiler *compiler, zf_container *container) {
    zf_error error = {0};
    zf_device device;
    zf_tune_options options = {.context = context, .compiler = compiler, .bytes = 1, .rows = ROWS, .runs = 1};
    CHECK(zf_device_find(context, "cuda", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &options.accelerator, &error) == ZF_OK, "%s", error.message);
    check_module_answers(context, container, options.accelerator);
    zf_tune_block block = {.options = &options, .name = "a", .container = container};
    bool found = false;
    CHECK(zf_tune_block_find(&block, zf_container_shape(container, 0, 0), &found, &error) == ZF_OK && found, "%s", error.message);
    bool planned = block.plan != NULL && block.plan->kernel_count == 1;
    CHECK(planned, "this is not the compiler's plan");
    if (planned) CHECK(zf_tune_block_bytes(&block, &block.plan->kernels[0]) > 4 * ROWS, "the bytes of the kernel");
    zf_tune_block_free(&block);
}

int main(void) {
    zf_fake_cuda *fake = fake_cuda_open();
    if (fake == NULL || !scratch_begin("tuner-module")) return 2;
    *fake = (zf_fake_cuda){.version = 12040, .devices = 1, .major = 9, .minor = 0, .total = 1 << 28, .free = 1 << 28};
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_container *container = NULL;
    zf_module *module = NULL;
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK, "%s",
          error.message);
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .untuned = true};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    write_files(compiler);
    CHECK(zf_module_load(context, place("t.zfm"), &module, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, place("t.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    test_plan(context, compiler, container);
    zf_container_close(container);
    zf_module_free(module);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
