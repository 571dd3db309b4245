// Links: zf_llvm_headers zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime
// The stack that generated code needs: what is said of it, also from the cache, and what happens at a stack's end.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/Core.h>

#include "codegen/llvm/jit.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"

enum { LOADS = 4000 };

/// "answer" has an array of so many bytes, and so many values at the same time.
typedef struct frame {
    uint64_t array;
    unsigned loads;
} frame;

static zf_status build(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)compact, (void)error;
    const frame *p = user;
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef i8 = LLVMInt8TypeInContext(context), i64 = LLVMInt64TypeInContext(context);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0);
    LLVMValueRef f = LLVMAddFunction(module, "answer", LLVMFunctionType(i64, &pointer, 1, 0)), v_from = LLVMGetParam(f, 0);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, f, "entry"));
    LLVMValueRef v_array = LLVMBuildAlloca(builder, LLVMArrayType2(i8, p->array + 8), "array"), v_loads[LOADS];
    LLVMValueRef v = LLVMBuildLoad2(builder, i64, v_from, "");
    v_array = LLVMBuildGEP2(builder, i8, v_array, &v, 1, ""); // an array of which each element may be used stays one
    LLVMSetVolatile(LLVMBuildStore(builder, LLVMConstInt(i64, 7, 0), v_array), 1);
    for (unsigned k = 0; k < p->loads; k++) {
        v_loads[k] = LLVMBuildLoad2(builder, i64, v_from, "");
        LLVMSetVolatile(v_loads[k], 1);
    }
    for (unsigned k = p->loads; k-- > 0;) v = LLVMBuildAdd(builder, LLVMBuildMul(builder, v, v, ""), v_loads[k], "");
    LLVMBuildRet(builder, v);
    LLVMDisposeBuilder(builder);
    return ZF_OK;
}

typedef uint64_t (*answer_fn)(const uint64_t *from);

static zf_status load(zf_jit *jit, frame *f, uint32_t *stack_bytes, answer_fn *answer, zf_error *error) {
    static const char *const name = "answer";
    void *address = NULL;
    zf_jit_request request = {
        .name = "test", .key = "", .build = build, .user = f, .stack_bytes = stack_bytes, .symbols = &name, .symbol_count = 1};
    zf_status status = zf_jit_load(jit, &request, &address, NULL, error);
    *answer = (answer_fn)(uintptr_t)address;
    return status;
}

static void test_sizes(const char *cache) {
    static const struct {
        frame frame;
        uint32_t least, most;
    } rows[] = {
        {{0, 0}, 0, 0},
        {{ZF_ABI_STACK_PLAIN - 512, 0}, 0, 0},
        {{64000, 0}, 64000, 80000},
        {{0, LOADS}, 8 * LOADS - 256, 64 * LOADS}, // no array: LLVM puts values for which there are no registers there
        {{ZF_ABI_STACK_MOST - 4096, 0}, ZF_ABI_STACK_MOST - 4096, ZF_ABI_STACK_MOST},
    };
    for (int round = 0; round < 2; round++) {
        zf_jit *jit = NULL;
        zf_error error = {0};
        zf_jit_options options = {.optimise = 3, .cache_dir = cache};
        CHECK(zf_jit_create(&options, &jit, &error) == ZF_OK, "%s", error.message);
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            frame f = rows[k].frame;
            uint32_t bytes = 77;
            answer_fn answer;
            CHECK(load(jit, &f, &bytes, &answer, &error) == ZF_OK, "row %zu: %s", k, error.message);
            CHECK(bytes >= rows[k].least && bytes <= rows[k].most, "round %d, row %zu: %u bytes of stack", round, k, bytes);
        }
        zf_jit_stats stats = zf_jit_get_stats(jit);
        CHECK(round == 0 ? stats.cached == 0 : stats.compiled == 0, "round %d: %llu compiled, %llu cached", round,
              (unsigned long long)stats.compiled, (unsigned long long)stats.cached);
        frame large = {ZF_ABI_STACK_MOST, 0};
        answer_fn answer;
        CHECK(load(jit, &large, NULL, &answer, &error) == ZF_ERR_UNSUPPORTED && strcmp(error.code, "ZF0805") == 0, "%s %s",
              error.code, error.message);
        zf_jit_free(jit);
    }
}

static answer_fn jumping;

static void *jump(void *user) {
    uint64_t lowest = 0;
    (void)user;
    return (void *)(uintptr_t)jumping(&lowest);
}

/// A frame that is larger than what is left of its stack ends in the page behind it, and not in the memory behind that.
static void test_guard(void) {
    enum { STACK = 64 << 10, GUARD = 16 << 10, BEHIND = 256 << 10 };
    zf_jit *jit = NULL;
    zf_error error = {0};
    frame f = {STACK + GUARD + BEHIND / 2, 0};
    CHECK(zf_jit_create(&(zf_jit_options){.optimise = 3}, &jit, &error) == ZF_OK, "%s", error.message);
    CHECK(load(jit, &f, NULL, &jumping, &error) == ZF_OK, "%s", error.message);
    char *behind = mmap(NULL, BEHIND + GUARD + STACK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(behind != MAP_FAILED && mprotect(behind + BEHIND, GUARD, PROT_NONE) == 0, "memory");
    pid_t child = fork();
    if (child == 0) {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, behind + BEHIND + GUARD, STACK);
        if (pthread_create(&thread, &attributes, jump, NULL) == 0) pthread_join(thread, NULL);
        _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status != 0, "the frame jumped over the guard page");
    for (int k = 0; k < BEHIND; k++) {
        if (behind[k] != 0) {
            CHECK(false, "byte %d of the memory behind the stack was written", k);
            break;
        }
    }
    munmap(behind, BEHIND + GUARD + STACK);
    zf_jit_free(jit);
}

int main(void) {
    if (!scratch_begin("frames")) return 1;
    test_sizes(scratch);
    test_guard();
    scratch_remove(scratch);
    CHECK(access(scratch, F_OK) != 0, "something is left in %s", scratch);
    return check_result();
}
