#include "codegen/llvm/budget.h"

#include <math.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"

typedef unsigned long long ull;

// LLVM takes at least this long for an instruction of the module that is built. Measured, at all levels and for all targets:
// 1.8 us (large blocks that are not optimised) to 190 us (codegen/llvm/README.md).
static const double LEAST_NANOSECONDS = 1000;

static double thread_clock(void) { return zf_clock_thread_seconds(); }

/// Nanoseconds; UINT64_MAX where they do not fit.
static uint64_t nanoseconds(double seconds) { return seconds < 1e9 ? (uint64_t)(seconds * 1e9) : UINT64_MAX; }

void zf_compile_budget_init(zf_compile_budget *budget, const zf_column *column, double seconds) {
    *budget = (zf_compile_budget){.column = column, .seconds = seconds, .clock = thread_clock};
    atomic_init(&budget->most, nanoseconds(seconds));
    atomic_init(&budget->spent, 0);
}

void zf_compile_budget_renew(zf_compile_budget *budget) {
    uint64_t whole = nanoseconds(budget->seconds), spent = atomic_load(&budget->spent);
    atomic_store(&budget->most, whole < UINT64_MAX - spent ? spent + whole : UINT64_MAX);
}

zf_compile_charge zf_compile_charge_begin(zf_compile_budget *budget) {
    return (zf_compile_charge){.budget = budget, .since = budget != NULL ? budget->clock() : 0};
}

bool zf_compile_charge_is_in_time(zf_compile_charge *charge) {
    zf_compile_budget *budget = charge->budget;
    if (budget == NULL || charge->late) return !charge->late;
    double now = budget->clock();
    uint64_t more = now > charge->since ? nanoseconds(now - charge->since) : 0;
    charge->since = now;
    charge->late = atomic_fetch_add(&budget->spent, more) + more > atomic_load(&budget->most);
    return !charge->late;
}

bool zf_compile_charge_is_enough(const zf_compile_charge *charge, uint64_t instructions) {
    if (charge->budget == NULL) return true;
    uint64_t most = atomic_load(&charge->budget->most), spent = atomic_load(&charge->budget->spent);
    return most == UINT64_MAX || (double)instructions * LEAST_NANOSECONDS <= (double)most - (double)spent;
}

zf_status zf_compile_charge_fail(const zf_compile_charge *charge, const char *name, uint64_t instructions, zf_error *error) {
    const zf_column *column = charge->budget->column;
    const char *column_name = column != NULL && column->name != NULL ? column->name : name;
    bool kernels = strcmp(name, column_name) == 0;
    zf_raise(error, ZF_E_COMPILE_BUDGET,
             "compiling column `%s` takes more than its budget, %g s of a processor: %s%s%s has %llu instructions", column_name,
             charge->budget->seconds, kernels ? "its code" : "the encoder of `", kernels ? "" : name, kernels ? "" : "`",
             (ull)instructions);
    if (column != NULL && column->span.source != NULL) {
        zf_position at = zf_source_position(column->span.source, column->span.begin);
        zf_fail_place(error, ZF_ERR_UNSUPPORTED, "%s:%u:%u", column->span.source->path, at.line, at.column);
    }
    return zf_fail_hint(
        error, ZF_ERR_UNSUPPORTED,
        "zf_compiler_options.compile_budget, and --compile-budget of zfc, allow more; a module needs no compiler");
}
