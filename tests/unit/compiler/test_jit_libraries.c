// Links: zf_llvm_headers zipflow-compiler -Wl,--wrap=LLVMOrcJITDylibDefine
// Libraries of the linker cannot be removed: encoders give theirs back with their program, and so does a load that fails.
#include <llvm-c/Error.h>
#include <llvm-c/Orc.h>

#include "compiler/compiler.h"
#include "compiler/program.h"
#include "tests/support/demand.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"

LLVMErrorRef __real_LLVMOrcJITDylibDefine(LLVMOrcJITDylibRef library, LLVMOrcMaterializationUnitRef unit);
LLVMErrorRef __wrap_LLVMOrcJITDylibDefine(LLVMOrcJITDylibRef library, LLVMOrcMaterializationUnitRef unit);

static unsigned refusals; ///< so many definitions fail from here on

LLVMErrorRef __wrap_LLVMOrcJITDylibDefine(LLVMOrcJITDylibRef library, LLVMOrcMaterializationUnitRef unit) {
    if (refusals == 0) return __real_LLVMOrcJITDylibDefine(library, unit);
    refusals--;
    return LLVMCreateStringError("a test refuses it");
}

static zf_context *context;
static zf_compiler *compiler;

static uint64_t libraries(void) { return zf_jit_get_stats(zf_compiler_jit(compiler)).libraries; }

/// Loads a program, compiles the encoders of its first column, and frees it.
static zf_status cycle(uint64_t *encoders, zf_error *error) {
    zf_program *program = NULL;
    demand(zf_program_load(compiler, ZF_SOURCE_DIR "/tests/unit/compiler/intern.zf", &program, error), error);
    const zf_column *column = zf_spec_tables(program->spec)->columns;
    zf_status status = zf_program_compile(program, &column, 1, 1, error);
    *encoders = 0;
    for (const zf_encoder *encoder = program->encoders; encoder != NULL; encoder = encoder->next)
        *encoders += encoder->function != NULL;
    zf_program_free(program);
    return status;
}

int main(void) {
    zf_error error = {0};
    uint64_t encoders;
    if (!scratch_begin("jit-libraries")) return 1;
    zf_context_options options = {.cache_dir = scratch, .threads = 1};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(zf_context_create(&options, &context, &error), &error);
    demand(zf_compiler_create(context, &compile, &compiler, &error), &error);

    refusals = 5;
    for (int k = 0; k < 5; k++) {
        CHECK(cycle(&encoders, &error) == ZF_ERR_INTERNAL && strstr(error.message, "a test refuses it") != NULL, "%s %s",
              error.code, error.message);
    }
    CHECK(refusals == 0, "%u definitions less than expected", refusals);
    demand(cycle(&encoders, &error), &error);
    CHECK(encoders > 0, "the column has no encoder");
    CHECK(libraries() == encoders, "%llu libraries for %llu encoders after loads that failed", (unsigned long long)libraries(),
          (unsigned long long)encoders);

    for (int k = 0; k < 200; k++) demand(cycle(&encoders, &error), &error);
    CHECK(libraries() == encoders, "%llu libraries after 200 programs of %llu encoders", (unsigned long long)libraries(),
          (unsigned long long)encoders);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
