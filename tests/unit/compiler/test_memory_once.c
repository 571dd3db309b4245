// Links: zipflow-compiler
// One allocation fails inside LLVM, at places all over a compilation: that call ends in words, and the next one makes the code.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/program.h"
#include "tests/unit/check.h"

#ifdef ZF_SANITIZE // which has a `new` of its own
int main(void) { return 77; }
#else

// operator new(size_t) and operator new(size_t, std::align_val_t), for LLVM and C++'s library too.
void *zf_test_new(size_t size) __asm__("_Znwm");
void *zf_test_new_aligned(size_t size, size_t align) __asm__("_ZnwmSt11align_val_t");
typedef void handler(void);
static handler *(*get_handler)(void); // std::get_new_handler

static _Atomic long left = -1; // allocations until one fails; below 0: none does
static _Atomic long seen;

static void *get(size_t size, size_t align) {
    seen++;
    while (left >= 0 && left-- == 0) get_handler()(); // does not return
    void *memory = align > 0 ? aligned_alloc(align, (size + align - 1) / align * align) : malloc(size > 0 ? size : 1);
    if (memory == NULL) abort();
    return memory;
}

__attribute__((visibility("default"))) void *zf_test_new(size_t size) { return get(size, 0); }
__attribute__((visibility("default"))) void *zf_test_new_aligned(size_t size, size_t align) { return get(size, align); }

static zf_compiler *compiler;

static zf_status compile(long fails_at, zf_error *error) {
    zf_program *program = NULL;
    zf_status status = zf_program_load(compiler, ZF_SOURCE_DIR "/tests/unit/compiler/intern.zf", &program, error);
    CHECK(status == ZF_OK, "%s", error->message);
    if (status != ZF_OK) exit(check_result());
    const zf_column *column = zf_spec_tables(program->spec)->columns;
    seen = 0;
    left = fails_at;
    status = zf_program_compile(program, &column, 1, 1, error);
    left = -1;
    zf_program_free(program);
    return status;
}

int main(void) {
    enum { PLACES = 24 };
    zf_error error = {0};
    zf_context *context = NULL;
    void *found = dlsym(RTLD_DEFAULT, "_ZSt15get_new_handlerv");
    memcpy(&get_handler, &found, sizeof found);
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK, "%s",
          error.message);
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 2};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    if (compiler == NULL || compile(-1, &error) != ZF_OK) return check_result();
    if (found == NULL || get_handler() == NULL) return 77;    // a static libLLVM, or a linker that leaves weak symbols NULL
    CHECK(compile(-1, &error) == ZF_OK, "%s", error.message); // LLVM's tables of the process exist now
    long all = seen;
    CHECK(all > 1000, "%ld allocations: LLVM does not use this `new`", all);
    for (int k = 0; k < PLACES; k++) {
        long place = k < 4 ? k : all * k / PLACES;
        CHECK(compile(place, &error) == ZF_ERR_MEMORY, "allocation %ld of %ld: %s %s", place, all, error.code, error.message);
        CHECK(strcmp(error.code, "ZF1102") == 0, "allocation %ld of %ld: %s %s", place, all, error.code, error.message);
        CHECK(compile(-1, &error) == ZF_OK, "after allocation %ld of %ld: %s %s", place, all, error.code, error.message);
    }
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
#endif
