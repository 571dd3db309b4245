// Links: zipflow-compiler -Wl,--wrap=zf_decoder_create
// Structs of the caller that a module cannot be compiled with are refused before anything is planned.
#include <string.h>

#include "compiler/decoder/decoder.h"
#include "tests/support/demand.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"

zf_status __real_zf_decoder_create(zf_compiler *compiler, const zf_column *column, const uint8_t *branches, size_t branch_count,
                                   const zf_plan_request *request, zf_decoder **out, zf_error *error);
zf_status __wrap_zf_decoder_create(zf_compiler *compiler, const zf_column *column, const uint8_t *branches, size_t branch_count,
                                   const zf_plan_request *request, zf_decoder **out, zf_error *error);

static unsigned plans;

zf_status __wrap_zf_decoder_create(zf_compiler *compiler, const zf_column *column, const uint8_t *branches, size_t branch_count,
                                   const zf_plan_request *request, zf_decoder **out, zf_error *error) {
    plans++;
    return __real_zf_decoder_create(compiler, column, branches, branch_count, request, out, error);
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    if (!scratch_begin("module-options")) return 1;
    zf_context_options options = {.cache_dir = "", .threads = 1};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(zf_context_create(&options, &context, &error), &error);
    demand(zf_compiler_create(context, &compile, &compiler, &error), &error);
    demand(zf_program_load(compiler, ZF_SOURCE_DIR "/tests/unit/compiler/intern.zf", &program, &error), &error);

    zf_module_stats stats = {.size = 3};
    zf_status status = zf_module_compile(program, NULL, NULL, place("a.zfm"), &stats, &error);
    CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1119") == 0, "%s %s", error.code, error.message);
    zf_module_options module = {.size = 3};
    status = zf_module_compile(program, NULL, &module, place("a.zfm"), NULL, &error);
    CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1119") == 0, "%s %s", error.code, error.message);
    CHECK(plans == 0, "%u plans were made", plans);

    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
