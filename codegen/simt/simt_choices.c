#include "codegen/simt/simt_choices.h"

#include <string.h>

#include "codegen/body/cg_frame.h"
#include "codegen/simt/memory/simt_staging.h"
#include "frontend/check/walk.h"

enum {
    LEAST_STORED = 4, // bytes that a thread stores at once: a warp fills lines of 128 bytes then, as it does with 16
};

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
    zf_choice_allow_up_to(space, ZF_CHOICE_PREFETCH, 1);
    zf_choose(&space->defaults, ZF_CHOICE_PREFETCH, shape->prefetch);
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
    zf_choose(&space->defaults, ZF_CHOICE_C, most);
}

zf_choice_space zf_codegen_space(const zf_plan *plan, const zf_kernel *kernel) {
    static const uint32_t registers[] = {0, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 224, 255};
    zf_kernel bare = *kernel; // as it is where nothing is chosen; that decides about no tile of what is ordered
    bare.choice = (zf_choice){0};
    if (zf_is_chosen(&kernel->choice, ZF_CHOICE_WALK)) bare.by_warp = zf_kernel_is_shared_by_default(plan, kernel);
    bare.geometry = zf_kernel_default_geometry(plan, kernel);
    zf_simt_shape shape = zf_simt_shape_of(plan, &bare);
    zf_choice_space space = {.kernel = kernel->index, .form = zf_form_of(shape.form)->name, .warp = plan->target->wave};
    zf_choose(&space.defaults, ZF_CHOICE_THREADS, shape.threads);
    for (unsigned k = 0; k < sizeof registers / sizeof *registers; k++) {
        if (registers[k] <= plan->target->registers) zf_choice_allow(&space, ZF_CHOICE_REGISTERS, registers[k]);
    }
    zf_choose(&space.defaults, ZF_CHOICE_REGISTERS, shape.registers);
    zf_form_of(shape.form)->choices(plan, &bare, &shape, &space);
    return space;
}
