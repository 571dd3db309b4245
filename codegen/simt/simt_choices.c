#include "codegen/simt/simt_choices.h"

#include <string.h>

#include "codegen/body/cg_frame.h"
#include "codegen/simt/simt_staging.h"
#include "frontend/check/walk.h"
#include "runtime/base/error_codes.h"

enum {
    REGISTERS_FILE = 65536, // of a multiprocessor, which a thread block must fit in
    REGISTERS_TOGETHER = 8, // are given to a thread
    LEAST_STORED = 4,       // bytes that a thread stores at once: a warp fills lines of 128 bytes then, as it does with 16
};

static const char *form_name(const zf_choice_space *space) { return zf_form_of(space->form)->name; }

void zf_choice_allow(zf_choice_space *space, zf_choice_kind kind, uint32_t value) {
    if (space->counts[kind] < ZF_CHOICE_VALUES) space->values[kind][space->counts[kind]++] = value;
}

void zf_choice_allow_powers(zf_choice_space *space, zf_choice_kind kind, uint32_t least, uint32_t most) {
    for (uint32_t value = least; value <= most; value *= 2) zf_choice_allow(space, kind, value);
}

void zf_choice_allow_up_to(zf_choice_space *space, zf_choice_kind kind, uint32_t most) {
    for (uint32_t value = 0; value <= most; value++) zf_choice_allow(space, kind, value);
}

void zf_choice_allow_prefetch(zf_choice_space *space, const zf_simt_shape *shape) {
    zf_choice_allow_up_to(space, ZF_CHOICE_AHEAD, 1);
    zf_choose(&space->otherwise, ZF_CHOICE_AHEAD, shape->prefetch);
}

// More threads than make a tile's outputs in one row would have nothing to do.
uint32_t zf_choice_threads_of_tile(const zf_plan *plan, const zf_kernel *kernel, uint32_t least) {
    uint32_t most = plan->target->threads;
    while (most > least && most * kernel->geometry.c > kernel->tile) most /= 2;
    return most;
}

static bool see_place(zf_visitor *visitor, zf_expr *expr) {
    bool *found = visitor->user;
    *found = *found || (expr->kind == ZF_X_BITS && zf_cg_bit_place_in(expr));
    return !*found;
}

bool zf_simt_takes_places(const zf_plan *plan, const zf_kernel *kernel) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .expr = see_place};
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        zf_visit_body(&visitor, (zf_body *)(uintptr_t)&plan->graph->nodes[kernel->nodes[n]].inst->decode); // only looks
    }
    return found;
}

// Fewer neighbours a thread are words of the stream that a warp reads side by side; more of them share what finds them. Booleans
// share bytes, and validity and strings are brought together by warps that have as many lanes as they have.
void zf_choice_allow_together(zf_choice_space *space, zf_type type) {
    uint32_t size = zf_kind_size(type.kind), most = zf_simt_lane_count(type),
             least = size < LEAST_STORED ? LEAST_STORED / size : 1;
    if (type.nullable || type.kind == ZF_K_BOOL || type.kind == ZF_K_STRING) least = most;
    zf_choice_allow_powers(space, ZF_CHOICE_C, least, most);
    zf_choose(&space->otherwise, ZF_CHOICE_C, most);
}

void zf_choice_space_of(const zf_plan *plan, const zf_kernel *kernel, zf_choice_space *out) {
    static const uint32_t registers[] = {0, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 224, 255};
    zf_kernel bare = *kernel; // as it is where nothing is chosen; that decides about no tile of what is ordered
    bare.choice = (zf_choice){0};
    if (zf_is_chosen(&kernel->choice, ZF_CHOICE_WALK)) bare.by_warp = zf_kernel_is_shared_by_default(plan, kernel);
    bare.geometry = zf_kernel_default_geometry(plan, kernel);
    zf_simt_shape shape = zf_simt_shape_of(plan, &bare);
    *out = (zf_choice_space){.kernel = kernel->index, .form = shape.form};
    zf_choose(&out->otherwise, ZF_CHOICE_THREADS, shape.threads);
    for (unsigned k = 0; k < sizeof registers / sizeof *registers; k++) {
        if (registers[k] <= plan->target->registers) zf_choice_allow(out, ZF_CHOICE_REGISTERS, registers[k]);
    }
    zf_choose(&out->otherwise, ZF_CHOICE_REGISTERS, shape.registers);
    zf_form_of(shape.form)->choices(plan, &bare, &shape, out);
}

static bool is_allowed(const zf_choice_space *space, zf_choice_kind kind, uint32_t value, zf_text *reason) {
    for (uint32_t k = 0; k < space->counts[kind]; k++) {
        if (space->values[kind][k] == value) return true;
    }
    if (reason == NULL) return false;
    zf_text_printf(reason, "kernel %u (%s): %s cannot be %u", space->kernel, form_name(space), zf_choice_names[kind], value);
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

bool zf_choice_is_legal(const zf_choice_space *space, const zf_choice *choice, zf_text *reason) {
    zf_choice all = space->otherwise;
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        if (!zf_is_chosen(choice, (zf_choice_kind)k)) continue;
        if (!is_allowed(space, (zf_choice_kind)k, choice->values[k], reason)) return false;
        zf_choose(&all, (zf_choice_kind)k, choice->values[k]);
    }
    uint32_t threads = all.values[ZF_CHOICE_THREADS], registers = all.values[ZF_CHOICE_REGISTERS];
    uint32_t tile = all.values[ZF_CHOICE_L] * threads * all.values[ZF_CHOICE_C];
    if (tile < space->least_tile) {
        if (reason != NULL) {
            zf_text_printf(reason, "kernel %u (%s): a tile of %u outputs has less than %u", space->kernel, form_name(space), tile,
                           space->least_tile);
        }
        return false;
    }
    uint32_t chunks = zf_is_chosen(choice, ZF_CHOICE_L) ? choice->values[ZF_CHOICE_L] : 1; // by default what is legal
    if (space->counts[ZF_CHOICE_WALK] > 0 && all.values[ZF_CHOICE_WALK] == 1 && chunks > 1) {
        if (reason != NULL) {
            zf_text_printf(reason, "kernel %u (%s): a thread that walks alone (WALK=1) has one chunk, not %u", space->kernel,
                           form_name(space), chunks);
        }
        return false;
    }
    uint32_t way = all.values[ZF_CHOICE_STAGE], together = way == ZF_STAGE_STEPS ? tile / all.values[ZF_CHOICE_L] : tile;
    if (way != ZF_STAGE_NONE && together < space->staged_outputs) {
        if (reason != NULL) {
            zf_text_printf(reason, "kernel %u (%s): the words of %u outputs are no whole pieces, those of %u are", space->kernel,
                           form_name(space), together, space->staged_outputs);
        }
        return false;
    }
    uint32_t given = (registers + REGISTERS_TOGETHER - 1) / REGISTERS_TOGETHER * REGISTERS_TOGETHER;
    if (threads * given <= REGISTERS_FILE) return true;
    if (reason != NULL) {
        zf_text_printf(reason, "kernel %u (%s): %u threads of %u registers do not fit into the %d of a multiprocessor",
                       space->kernel, form_name(space), threads, registers, REGISTERS_FILE);
    }
    return false;
}

bool zf_choices_are_legal(const zf_plan *plan, const zf_choices *choices, zf_text *reason) {
    if (choices == NULL || choices->count == 0 || plan->target->wave == 0) return true;
    for (uint32_t k = 0; k < choices->count; k++) {
        if (choices->kernels[k] < plan->kernel_count) continue;
        zf_text_printf(reason, "there is no kernel %u: there %s %u, numbered from 0", choices->kernels[k],
                       plan->kernel_count == 1 ? "is" : "are", plan->kernel_count);
        return false;
    }
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        zf_choice_space space;
        zf_choice_space_of(plan, &plan->kernels[k], &space);
        if (!zf_choice_is_legal(&space, &plan->kernels[k].choice, reason)) return false;
    }
    return true;
}

zf_status zf_choices_check(const zf_plan *plan, const zf_choices *choices, zf_error *error) {
    zf_text reason = {0};
    bool legal = zf_choices_are_legal(plan, choices, &reason);
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

void zf_choices_text(const zf_plan *plan, zf_text *out) {
    zf_text_printf(out, "%s, target %s\n", plan->graph->column->name, plan->target->name);
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        zf_choice_space space;
        zf_choice_space_of(plan, kernel, &space);
        zf_text_printf(out, "  kernel %u: %s (%s)", k, plan->graph->nodes[kernel->root].inst->name, form_name(&space));
        if (kernel->choice.chosen != 0) {
            zf_text_puts(out, ", chosen: ");
            zf_choice_print(&kernel->choice, out);
        }
        zf_text_puts(out, "\n");
        for (unsigned kind = 0; kind < ZF_CHOICE_KINDS; kind++) {
            if (space.counts[kind] == 0) continue;
            zf_text_printf(out, "    %-9s  ", zf_choice_names[kind]);
            put_values(&space, kind, out);
            if (zf_is_chosen(&space.otherwise, (zf_choice_kind)kind))
                zf_text_printf(out, " (default %u)", space.otherwise.values[kind]);
            zf_text_puts(out, "\n");
        }
    }
}

void zf_choices_json(const zf_plan *plan, zf_text *out) {
    zf_text_puts(out, "{\"column\": ");
    zf_text_json(out, plan->graph->column->name);
    zf_text_printf(out, ", \"target\": \"%s\", \"kernels\": [", plan->target->name);
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        zf_choice_space space;
        zf_choice_space_of(plan, kernel, &space);
        zf_text_printf(out, "%s{\"kernel\": %u, \"algorithm\": ", k == 0 ? "" : ", ", k);
        zf_text_json(out, plan->graph->nodes[kernel->root].inst->name);
        zf_text_printf(out, ", \"form\": \"%s\", \"choices\": {", form_name(&space));
        const char *between = "";
        for (unsigned kind = 0; kind < ZF_CHOICE_KINDS; kind++) {
            if (space.counts[kind] == 0) continue;
            zf_text_printf(out, "%s\"%s\": {\"values\": [", between, zf_choice_names[kind]);
            put_values(&space, kind, out);
            zf_text_puts(out, "]");
            if (zf_is_chosen(&space.otherwise, (zf_choice_kind)kind))
                zf_text_printf(out, ", \"default\": %u", space.otherwise.values[kind]);
            zf_text_puts(out, "}");
            between = ", ";
        }
        zf_text_puts(out, "}}");
    }
    zf_text_puts(out, "]}");
}
