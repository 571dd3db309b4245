// Links: zf_llvm_headers zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime
// The budget of a compilation, by a clock that goes on by a second whenever it is looked at: wherever time ends, the error is
// ZF1411, nothing is kept, and the next compilation works.
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "codegen/llvm/jit.h"
#include "codegen/target/codegen_target.h"
#include "patterns/plan/plan_target.h"
#include "runtime/module/module_format.h"
#include "tests/support/demand.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"

// ---- Modules --------------------------------------------------------------------------------------------------

typedef struct body {
    unsigned terms; ///< instructions of the function, about
    int builds;
} body;

/// A function of a loop, for which LLVM has passes of every kind.
static zf_status build_sum(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)compact, (void)error;
    body *b = user;
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(context);
    LLVMValueRef f = LLVMAddFunction(module, "answer", LLVMFunctionType(i64, &i64, 1, 0)), v_most = LLVMGetParam(f, 0);
    LLVMBasicBlockRef bb_entry = LLVMAppendBasicBlockInContext(context, f, "entry");
    LLVMBasicBlockRef bb_body = LLVMAppendBasicBlockInContext(context, f, "body");
    LLVMBasicBlockRef bb_end = LLVMAppendBasicBlockInContext(context, f, "end");
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, bb_entry);
    LLVMBuildBr(builder, bb_body);
    LLVMPositionBuilderAtEnd(builder, bb_body);
    LLVMValueRef v_i = LLVMBuildPhi(builder, i64, "i"), v_sum = LLVMBuildPhi(builder, i64, "sum"), v = v_i;
    for (unsigned k = 0; k < b->terms; k++) v = LLVMBuildXor(builder, v, LLVMBuildMul(builder, v, v_most, ""), "");
    LLVMValueRef v_zero = LLVMConstInt(i64, 0, 0), v_more = LLVMBuildAdd(builder, v_sum, v, "");
    LLVMValueRef v_next = LLVMBuildAdd(builder, v_i, LLVMConstInt(i64, 1, 0), "");
    LLVMAddIncoming(v_i, (LLVMValueRef[]){v_zero, v_next}, (LLVMBasicBlockRef[]){bb_entry, bb_body}, 2);
    LLVMAddIncoming(v_sum, (LLVMValueRef[]){v_zero, v_more}, (LLVMBasicBlockRef[]){bb_entry, bb_body}, 2);
    LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntULT, v_next, v_most, ""), bb_body, bb_end);
    LLVMPositionBuilderAtEnd(builder, bb_end);
    LLVMBuildRet(builder, v_more);
    LLVMDisposeBuilder(builder);
    b->builds++;
    return ZF_OK;
}

// ---- Outputs --------------------------------------------------------------------------------------------------

typedef enum output { LOADED, OBJECT, PTX, TEXT, OUTPUTS } output;
static const char *const output_names[OUTPUTS] = {"loaded code", "an object", "PTX", "assembly"};

/// Objects are for x86-64, which LLVM knows where it runs on that.
static bool is_made_here(int what) {
    uint32_t level;
    return what != OBJECT || zf_cpu_here(&level) == ZF_MACHINE_X86_64;
}

/// Compiles the body as that output. `budget` may be NULL.
static zf_status compile(zf_jit *jit, output what, body *of, zf_compile_budget *budget, zf_error *error) {
    static const char *const symbol = "answer";
    zf_jit_request request = {.name = "sum", .key = "", .build = build_sum, .user = of, .budget = budget};
    zf_text text = {0};
    void *address = NULL;
    zf_status status = ZF_OK;
    if (what == LOADED) {
        request.symbols = &symbol;
        request.symbol_count = 1;
        status = zf_jit_load(jit, &request, &address, NULL, error);
        CHECK((status == ZF_OK) == (address != NULL), "%p after status %d", address, (int)status);
        if (address != NULL) CHECK(((uint64_t (*)(uint64_t))(uintptr_t)address)(1) == 0, "wrong code");
    } else if (what == OBJECT) {
        request.cpu = "x86-64-v2";
        status = zf_jit_object(jit, &request, &text, error);
    } else if (what == PTX) {
        request.target = zf_cg_target_of(zf_target_find("nvptx"));
        request.abi_target = (zf_abi_target){.family = request.target->is->family, .arch = 90};
        status = zf_jit_assemble(jit, &request, &text, error);
    } else {
        status = zf_jit_print(jit, &request, ZF_JIT_ASSEMBLY, &text, error);
    }
    CHECK(what == LOADED || (status == ZF_OK) == (text.length > 0), "%zu bytes after status %d", text.length, (int)status);
    zf_text_free(&text);
    return status;
}

static unsigned looks; ///< at the clock

static double tick(void) { return ++looks; }
static double stand(void) { return ++looks, 0; }

static zf_jit *make_jit(const char *cache) {
    zf_jit *jit = NULL;
    zf_error error = {0};
    demand(zf_jit_create(&(zf_jit_options){.optimise = 3, .cache_dir = cache}, &jit, &error), &error);
    return jit;
}

static unsigned count_kept(void) {
    DIR *d = opendir(place("cache/kernels"));
    unsigned count = 0;
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) count += strstr(e->d_name, ".zfo") != NULL;
    if (d != NULL) closedir(d);
    return count;
}

// ---- Tests ----------------------------------------------------------------------------------------------------

/// Time ends at every place where it may: at the end of building, before each pass, at the end.
static void test_every_place(void) {
    for (int o = 0; o < OUTPUTS; o++) {
        if (!is_made_here(o)) continue;
        zf_jit *jit = make_jit(place("cache"));
        unsigned kept = count_kept(), budgets = 0;
        body sum = {.terms = 3};
        for (unsigned seconds = 0;; seconds += 1 + seconds / 8, budgets++) { // each of the first, where stages follow each other
            zf_compile_budget budget;
            zf_error error = {0};
            zf_compile_budget_init(&budget, NULL, seconds + 0.5);
            budget.clock = tick;
            looks = 0;
            zf_status status = compile(jit, (output)o, &sum, &budget, &error);
            if (status == ZF_OK) CHECK(looks <= seconds + 1, "%s: %u looks in %u seconds", output_names[o], looks, seconds);
            if (status == ZF_OK) break;
            CHECK(status == ZF_ERR_UNSUPPORTED && strcmp(error.code, "ZF1411") == 0, "%s, %u seconds: %s %s", output_names[o],
                  seconds, error.code, error.message);
            CHECK(strstr(error.message, "`sum`") != NULL && strstr(error.hint, "compile_budget") != NULL, "%s (%s)",
                  error.message, error.hint);
            CHECK(count_kept() == kept && zf_jit_get_stats(jit).compiled == 0, "%s, %u seconds: half of it is kept",
                  output_names[o], seconds);
            if (strcmp(error.code, "ZF1411") != 0) break; // it never becomes enough
        }
        CHECK(budgets > 10 && looks > 40, "%s: %u budgets are too small, and the clock is looked at %u times", output_names[o],
              budgets, looks); // stages alone are three or four places
        CHECK(count_kept() == kept + (o != TEXT), "%s: %u entries, then %u", output_names[o], kept, count_kept());
        zf_jit_free(jit);
    }
}

/// A budget is what all compilations take together; it can be renewed.
static void test_sum(void) {
    zf_jit *jit = make_jit(NULL);
    zf_compile_budget budget;
    zf_error error = {0};
    body sum = {.terms = 3};
    zf_compile_budget_init(&budget, NULL, INFINITY);
    budget.clock = tick;
    looks = 0;
    CHECK(compile(jit, LOADED, &sum, &budget, &error) == ZF_OK, "%s", error.message);
    unsigned few = looks;
    zf_compile_budget_init(&budget, NULL, 1e6);
    budget.clock = tick;
    looks = 0;
    CHECK(compile(jit, LOADED, &sum, &budget, &error) == ZF_OK, "%s", error.message);
    unsigned one = looks;
    CHECK(one > few + 40, "without a limit %u looks at the clock, with one %u", few, one);
    zf_compile_budget_init(&budget, NULL, 1.5 * one);
    budget.clock = tick;
    CHECK(compile(jit, LOADED, &sum, &budget, &error) == ZF_OK, "%s", error.message);
    CHECK(compile(jit, TEXT, &sum, &budget, &error) == ZF_ERR_UNSUPPORTED, "two take more than one and a half");
    int builds = sum.builds;
    CHECK(compile(jit, LOADED, &sum, &budget, &error) == ZF_ERR_UNSUPPORTED && sum.builds == builds + 1, "nothing is left");
    zf_compile_budget_renew(&budget);
    CHECK(compile(jit, LOADED, &sum, &budget, &error) == ZF_OK, "%s", error.message);
    CHECK(compile(jit, LOADED, &sum, NULL, &error) == ZF_OK, "without a budget: %s", error.message);
    zf_jit_free(jit);
}

/// A module that is too large for the budget is refused before LLVM begins, whatever the clock says.
static void test_size(void) {
    static const struct {
        unsigned terms;
        double seconds;
        bool is_enough;
    } rows[] = {{1000, 1e-6, false}, {1000, 1, true}, {60000, 1e-2, false}};
    for (int o = 0; o < OUTPUTS; o++) {
        if (!is_made_here(o)) continue;
        zf_jit *jit = make_jit(NULL);
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            zf_compile_budget budget;
            zf_error error = {0};
            body sum = {.terms = rows[k].terms};
            zf_compile_budget_init(&budget, NULL, rows[k].seconds);
            budget.clock = stand;
            looks = 0;
            zf_status status = compile(jit, (output)o, &sum, &budget, &error);
            CHECK((status == ZF_OK) == rows[k].is_enough, "%s, row %zu: %s %s", output_names[o], k, error.code, error.message);
            CHECK(rows[k].is_enough == (looks > 40), "%s, row %zu: %u looks at the clock", output_names[o], k, looks);
            if (!rows[k].is_enough) CHECK(strcmp(error.code, "ZF1411") == 0, "%s %s", error.code, error.message);
        }
        zf_jit_free(jit);
    }
}

int main(void) {
    if (!scratch_begin("budget")) return 1;
    test_every_place();
    test_sum();
    test_size();
    scratch_remove(scratch);
    return check_result();
}
