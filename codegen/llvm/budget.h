// The processor time that making code for a column may take. Columns come from files, and LLVM can take minutes over one.
#ifndef ZF_CODEGEN_BUDGET_H
#define ZF_CODEGEN_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "frontend/spec/spec.h"
#include "runtime/base/error.h"

/// The time that a column may take, and has taken. Compilations that run at the same time share it. Any thread.
typedef struct zf_compile_budget {
    const zf_column *column;   ///< for errors
    double seconds;            ///< INFINITY: no limit
    atomic_ullong most, spent; ///< nanoseconds of processor time; most: UINT64_MAX: no limit
    double (*clock)(void);     ///< processor seconds of this thread; tests have their own
} zf_compile_budget;

/// `seconds`: of processor time; INFINITY: no limit.
void zf_compile_budget_init(zf_compile_budget *budget, const zf_column *column, double seconds);
/// From now on the whole time is left again.
void zf_compile_budget_renew(zf_compile_budget *budget);

/// The work of one thread that is charged to a budget.
typedef struct zf_compile_charge {
    zf_compile_budget *budget; ///< NULL: nothing is charged
    double since;              ///< the thread's clock when it was charged last
    bool late;                 ///< the budget was spent when it was looked at
} zf_compile_charge;

zf_compile_charge zf_compile_charge_begin(zf_compile_budget *budget);
/// Charges what this thread did since the last call. Returns false if the budget is spent, from then on always.
bool zf_compile_charge_is_in_time(zf_compile_charge *charge);
/// Returns whether LLVM can make code of so many instructions in what is left, at the best rate that was measured.
bool zf_compile_charge_is_enough(const zf_compile_charge *charge, uint64_t instructions);
/// Fills the error of a budget that is spent, or is not enough (ZF1411). `name`: of the column, or of the algorithm whose encoder
/// it is; `instructions`: of its module.
zf_status zf_compile_charge_fail(const zf_compile_charge *charge, const char *name, uint64_t instructions, zf_error *error);

#endif
