// The choices of kernels: which combinations are legal, and lists of them. The forms give the values (simt/simt_choices.c).
#include "codegen/codegen.h"
#include "codegen/simt/memory/simt_staging.h"
#include "runtime/base/error_codes.h"

enum {
    REGISTERS_FILE = 65536, // of a multiprocessor, which a thread block must fit in
    REGISTERS_TOGETHER = 8, // are given to a thread
};

static bool is_allowed(const zf_choice_space *space, zf_choice_kind kind, uint32_t value, zf_text *reason) {
    for (uint32_t k = 0; k < space->counts[kind]; k++) {
        if (space->values[kind][k] == value) return true;
    }
    if (reason == NULL) return false;
    zf_text_printf(reason, "kernel %u (%s): %s cannot be %u", space->kernel, space->form, zf_choice_names[kind], value);
    const char *before = ", there is nothing to choose; what it has is ";
    for (unsigned k = 0; k < ZF_CHOICE_KINDS && space->counts[kind] == 0; k++) {
        if (space->counts[k] == 0) continue;
        zf_text_printf(reason, "%s%s", before, zf_choice_names[k]);
        before = ", ";
    }
    for (uint32_t k = 0; k < space->counts[kind]; k++) {
        zf_text_printf(reason, "%s%u", k == 0 ? ", only " : k + 1 == space->counts[kind] ? " or " : ", ", space->values[kind][k]);
    }
    return false;
}

// Returns the choice that several warps of a chunk cannot be beside, in words; NULL: nothing is wrong.
static const char *against_warps(const zf_choice *choice, const zf_choice *all) {
    if (!zf_is_chosen(choice, ZF_CHOICE_WARPS) || choice->values[ZF_CHOICE_WARPS] == 1) return NULL;
    if (all->values[ZF_CHOICE_WALK] == 1) return "a thread that walks alone (WALK=1) has no other";
    if (zf_is_chosen(choice, ZF_CHOICE_RECORDS) && choice->values[ZF_CHOICE_RECORDS] == 0)
        return "without records (RECORDS=0) a chunk has no other";
    return zf_is_chosen(choice, ZF_CHOICE_THREADS) ? "the warps of a chunk are a thread block, whose THREADS are no choice beside"
                                                   : NULL;
}

// Threads of a thread block: where they are chosen, and not the warps of a chunk, a chunk has one.
static uint32_t threads_of(const zf_choice_space *space, const zf_choice *choice, const zf_choice *all) {
    uint32_t warps = space->counts[ZF_CHOICE_WARPS] > 0 ? all->values[ZF_CHOICE_WARPS] : 1;
    bool one = warps == 1 || zf_is_chosen(choice, ZF_CHOICE_THREADS);
    return one ? all->values[ZF_CHOICE_THREADS] : warps * space->warp;
}

uint32_t zf_codegen_registers_within(uint32_t registers, uint32_t threads) {
    uint32_t most = REGISTERS_FILE / threads / REGISTERS_TOGETHER * REGISTERS_TOGETHER;
    return registers < most ? registers : most;
}

bool zf_choice_space_allows(const zf_choice_space *space, const zf_choice *choice, zf_text *reason) {
    zf_choice all = space->defaults;
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        if (!zf_is_chosen(choice, (zf_choice_kind)k)) continue;
        if (!is_allowed(space, (zf_choice_kind)k, choice->values[k], reason)) return false;
        zf_choose(&all, (zf_choice_kind)k, choice->values[k]);
    }
    uint32_t threads = threads_of(space, choice, &all), registers = all.values[ZF_CHOICE_REGISTERS];
    if (!zf_is_chosen(choice, ZF_CHOICE_REGISTERS)) registers = zf_codegen_registers_within(registers, threads);
    uint32_t tile = all.values[ZF_CHOICE_L] * threads * all.values[ZF_CHOICE_C];
    if (tile < space->least_tile) {
        if (reason != NULL) {
            zf_text_printf(reason, "kernel %u (%s): a tile of %u outputs has less than %u", space->kernel, space->form, tile,
                           space->least_tile);
        }
        return false;
    }
    uint32_t chunks = zf_is_chosen(choice, ZF_CHOICE_L) ? choice->values[ZF_CHOICE_L] : 1; // by default what is legal
    if (space->counts[ZF_CHOICE_WALK] > 0 && all.values[ZF_CHOICE_WALK] == 1 && chunks > 1) {
        if (reason != NULL) {
            zf_text_printf(reason, "kernel %u (%s): a thread that walks alone (WALK=1) has one chunk, not %u", space->kernel,
                           space->form, chunks);
        }
        return false;
    }
    const char *against = space->counts[ZF_CHOICE_WARPS] > 0 ? against_warps(choice, &all) : NULL;
    if (against != NULL) {
        if (reason != NULL)
            zf_text_printf(reason, "kernel %u (%s): %s WARPS=%u", space->kernel, space->form, against,
                           choice->values[ZF_CHOICE_WARPS]);
        return false;
    }
    uint32_t way = all.values[ZF_CHOICE_STAGE], together = way == ZF_STAGE_STEPS ? tile / all.values[ZF_CHOICE_L] : tile;
    if (way != ZF_STAGE_NONE && together < space->staged_outputs) {
        if (reason != NULL) {
            zf_text_printf(reason, "kernel %u (%s): the words of %u outputs are no whole pieces, those of %u are", space->kernel,
                           space->form, together, space->staged_outputs);
        }
        return false;
    }
    uint32_t given = (registers + REGISTERS_TOGETHER - 1) / REGISTERS_TOGETHER * REGISTERS_TOGETHER;
    if (threads * given <= REGISTERS_FILE) return true;
    if (reason != NULL) {
        zf_text_printf(reason, "kernel %u (%s): %u threads of %u registers do not fit into the %d of a multiprocessor",
                       space->kernel, space->form, threads, registers, REGISTERS_FILE);
    }
    return false;
}

static bool are_legal(const zf_plan *plan, const zf_choices *choices, zf_text *reason) {
    if (choices == NULL || choices->count == 0 || plan->target->wave == 0) return true;
    for (uint32_t k = 0; k < choices->count; k++) {
        if (choices->kernels[k] < plan->kernel_count) continue;
        zf_text_printf(reason, "there is no kernel %u: there %s %u, numbered from 0", choices->kernels[k],
                       plan->kernel_count == 1 ? "is" : "are", plan->kernel_count);
        return false;
    }
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        zf_choice_space space = zf_codegen_space(plan, &plan->kernels[k]);
        if (!zf_choice_space_allows(&space, &plan->kernels[k].choice, reason)) return false;
    }
    return true;
}

zf_status zf_codegen_choices_check(const zf_plan *plan, const zf_choices *choices, zf_error *error) {
    zf_text reason = {0};
    bool legal = are_legal(plan, choices, &reason);
    if (!legal) {
        zf_raise(error, ZF_E_ARGUMENT, "column `%s`: %s", plan->graph->column->name, reason.data != NULL ? reason.data : "");
        zf_fail_hint(error, ZF_ERR_USAGE, "`zfc explain --choices` lists what each kernel may have");
    }
    zf_text_free(&reason);
    return legal ? ZF_OK : ZF_ERR_USAGE;
}

// ---- Listings ---------------------------------------------------------------------------------------------------

static void put_values(const zf_choice_space *space, unsigned kind, zf_text *out) {
    for (uint32_t v = 0; v < space->counts[kind]; v++) zf_text_printf(out, "%s%u", v == 0 ? "" : ", ", space->values[kind][v]);
}

void zf_codegen_choices_text(const zf_plan *plan, zf_text *out) {
    zf_text_printf(out, "%s, target %s\n", plan->graph->column->name, plan->target->name);
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        zf_choice_space space = zf_codegen_space(plan, kernel);
        zf_text_printf(out, "  kernel %u: %s (%s)", k, plan->graph->nodes[kernel->root].inst->name, space.form);
        if (kernel->choice.chosen != 0) {
            zf_text_puts(out, ", chosen: ");
            zf_choice_print(&kernel->choice, out);
        }
        zf_text_puts(out, "\n");
        for (unsigned kind = 0; kind < ZF_CHOICE_KINDS; kind++) {
            if (space.counts[kind] == 0) continue;
            zf_text_printf(out, "    %-9s  ", zf_choice_names[kind]);
            put_values(&space, kind, out);
            if (zf_is_chosen(&space.defaults, (zf_choice_kind)kind))
                zf_text_printf(out, " (default %u)", space.defaults.values[kind]);
            zf_text_puts(out, "\n");
        }
    }
}

void zf_codegen_choices_json(const zf_plan *plan, zf_text *out) {
    zf_text_puts(out, "{\"column\": ");
    zf_text_json(out, plan->graph->column->name);
    zf_text_printf(out, ", \"target\": \"%s\", \"kernels\": [", plan->target->name);
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        zf_choice_space space = zf_codegen_space(plan, kernel);
        zf_text_printf(out, "%s{\"kernel\": %u, \"algorithm\": ", k == 0 ? "" : ", ", k);
        zf_text_json(out, plan->graph->nodes[kernel->root].inst->name);
        zf_text_printf(out, ", \"form\": \"%s\", \"choices\": {", space.form);
        const char *between = "";
        for (unsigned kind = 0; kind < ZF_CHOICE_KINDS; kind++) {
            if (space.counts[kind] == 0) continue;
            zf_text_printf(out, "%s\"%s\": {\"values\": [", between, zf_choice_names[kind]);
            put_values(&space, kind, out);
            zf_text_puts(out, "]");
            if (zf_is_chosen(&space.defaults, (zf_choice_kind)kind))
                zf_text_printf(out, ", \"default\": %u", space.defaults.values[kind]);
            zf_text_puts(out, "}");
            between = ", ";
        }
        zf_text_puts(out, "}}");
    }
    zf_text_puts(out, "]}");
}
