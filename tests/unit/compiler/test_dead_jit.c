// Links: zf_llvm_headers zipflow-compiler -Wl,--wrap=LLVMOrcLLJITAddObjectFileWithRT
// LLVM gives up while a compiler's code is linked, which it never should: the call ends in words, code from before goes on
// working, the compiler makes further code, and can be freed.
#include <llvm-c/LLJIT.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/encode/encode_tree.h"
#include "compiler/program.h"
#include "tests/unit/check.h"

#ifdef ZF_SANITIZE
#include <sanitizer/lsan_interface.h>
#else
static void __lsan_do_leak_check(void) {}
#endif

static zf_status compile_one(zf_program *program, const zf_column *column, zf_error *error) {
    return zf_program_compile(program, &column, 1, 1, error);
}

// How LLVM itself gives up: llvm::report_fatal_error(const char *, bool). C has no other name for it.
_Noreturn void zf_test_give_up(const char *reason, bool crash_report) __asm__("_ZN4llvm18report_fatal_errorEPKcb");

LLVMErrorRef __real_LLVMOrcLLJITAddObjectFileWithRT(LLVMOrcLLJITRef jit, LLVMOrcResourceTrackerRef tracker,
                                                    LLVMMemoryBufferRef object);
LLVMErrorRef __wrap_LLVMOrcLLJITAddObjectFileWithRT(LLVMOrcLLJITRef jit, LLVMOrcResourceTrackerRef tracker,
                                                    LLVMMemoryBufferRef object);

static bool give_up;

LLVMErrorRef __wrap_LLVMOrcLLJITAddObjectFileWithRT(LLVMOrcLLJITRef jit, LLVMOrcResourceTrackerRef tracker,
                                                    LLVMMemoryBufferRef object) {
    if (give_up) zf_test_give_up("a test needs it", false);
    return __real_LLVMOrcLLJITAddObjectFileWithRT(jit, tracker, object);
}

static zf_context *context;

static zf_program *load(zf_compiler **compiler) {
    zf_error error = {0};
    zf_program *program = NULL;
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &compile, compiler, &error) == ZF_OK, "%s %s", error.code, error.message);
    if (*compiler == NULL) exit(check_result());
    zf_status status = zf_program_load(*compiler, ZF_SOURCE_DIR "/tests/unit/compiler/intern.zf", &program, &error);
    CHECK(status == ZF_OK, "%s %s (%s)", error.code, error.message, error.place);
    if (status != ZF_OK) exit(check_result());
    return program;
}

static zf_encode_fn find(void *user, const zf_inst *inst, const char **reason) {
    const zf_encoder *encoder = zf_program_encoder(user, inst);
    *reason = encoder == NULL ? "not compiled" : encoder->reason;
    return encoder == NULL ? NULL : encoder->function;
}

static void encode_some(zf_program *program, const zf_column *column) {
    static const uint8_t values[64] = {1, 1, 2, 3, 3};
    static const uint64_t rows = 8;
    zf_encode_input input = {.type = column->type, .values = values, .rows = rows, .parts = &rows, .part_count = 1};
    zf_encode_task task = {.find = find, .user = program};
    zf_encode_node *node = NULL;
    CHECK(zf_encode_tree(&task, column->codec, &input, &node) == ZF_OK, "%s: %s %s", column->name, task.refusals[0].code,
          task.refusals[0].reason);
    CHECK(node != NULL && node->streams[0].length == rows, "%s: codes", column->name);
    zf_encode_tree_free(node);
}

static void refuses(zf_status status, const zf_error *error, const char *what, const char *reason) {
    CHECK(status == ZF_ERR_INTERNAL, "%s: status %d", what, (int)status);
    CHECK(strcmp(error->code, "ZF1903") == 0 && strstr(error->message, reason) != NULL, "%s: %s %s", what, error->code,
          error->message);
}

int main(void) {
    zf_error error = {0};
    zf_context_options options = {.cache_dir = "", .threads = 1};
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    __lsan_do_leak_check(); // the last one: LLVM's memory is abandoned when it gives up
    zf_compiler *compiler = NULL;
    zf_program *program = load(&compiler);
    const zf_column *first = zf_spec_tables(program->spec)->columns, *second = first->next;
    CHECK(compile_one(program, first, &error) == ZF_OK, "%s %s", error.code, error.message);

    give_up = true;
    refuses(compile_one(program, second, &error), &error, "the call inside which it happened", "a test needs it");
    give_up = false;

    encode_some(program, first);              // what was linked before is code like any other
    for (int again = 0; again < 2; again++) { // the next call links anew
        CHECK(compile_one(program, second, &error) == ZF_OK, "a later call: %s %s", error.code, error.message);
        encode_some(program, second);
        encode_some(program, first);
    }
    give_up = true;
    refuses(compile_one(program, second->next, &error), &error, "in the second session", "a test needs it");
    give_up = false;
    CHECK(compile_one(program, second->next, NULL) == ZF_OK, "in the third");
    zf_program_free(program);
    zf_compiler_free(compiler);

    zf_context_free(context);
    return check_result();
}
