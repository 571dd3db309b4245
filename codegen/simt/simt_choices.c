#include "codegen/simt/simt_choices.h"

#include <string.h>

#include "codegen/body/cg_frame.h"
#include "codegen/simt/simt_later.h"
#include "codegen/simt/simt_lookup.h"
#include "codegen/simt/simt_staging.h"
#include "frontend/check/walk.h"
#include "runtime/base/error_codes.h"

enum {
    REGISTERS_FILE = 65536,  // of a multiprocessor, which a thread block must fit in
    REGISTERS_TOGETHER = 8,  // are given to a thread
    COUNTED_ROWS_LANES = 32, // rows times lanes of a tally, which counts 1,024 bits
    CHUNKS_MOST = 8,         // of a warp, one after the other
    LEAST_TILE = 64,         // outputs: whole words of bits, of columns of booleans and of validity
    TABLE_LEAST = 4,         // KiB of shared memory,
    TABLE_MOST = 32,         // likewise
    LEAST_STORED = 4,        // bytes that a thread stores at once: a warp fills lines of 128 bytes then, as it does with 16
};

static const char *const form_names[] = {
    [ZF_SIMT_MAP] = "map",         [ZF_SIMT_SCAN] = "scan",   [ZF_SIMT_GROUPS] = "groups",
    [ZF_SIMT_PATCHES] = "patches", [ZF_SIMT_WORDS] = "words", [ZF_SIMT_NUMBERS] = "numbers",
    [ZF_SIMT_LANES] = "lanes",     [ZF_SIMT_WARP] = "warp",   [ZF_SIMT_SEQUENTIAL] = "sequential",
};

const char *zf_simt_form_name(zf_simt_form form) { return form_names[form]; }

static void allow(zf_choice_space *space, zf_choice_kind kind, uint32_t value) {
    if (space->counts[kind] < ZF_CHOICE_VALUES) space->values[kind][space->counts[kind]++] = value;
}

// Powers of two.
static void allow_powers(zf_choice_space *space, zf_choice_kind kind, uint32_t least, uint32_t most) {
    for (uint32_t value = least; value <= most; value *= 2) allow(space, kind, value);
}

// More threads than make a tile's outputs in one row would have nothing to do.
static uint32_t threads_of_tile(const zf_target *target, const zf_kernel *kernel, uint32_t otherwise) {
    uint32_t most = target->threads;
    while (most > otherwise && most * kernel->geometry.c > kernel->tile) most /= 2;
    return most;
}

static void allow_threads(zf_choice_space *space, const zf_target *target, const zf_kernel *kernel, const zf_simt_shape *shape,
                          zf_type type) {
    switch (shape->form) {
    case ZF_SIMT_MAP:
    case ZF_SIMT_WARP:
    case ZF_SIMT_SEQUENTIAL: allow_powers(space, ZF_CHOICE_THREADS, target->wave, target->threads); return;
    case ZF_SIMT_SCAN: // of strings a warp has the thread block's shared memory
        allow_powers(space, ZF_CHOICE_THREADS, target->wave,
                     zf_simt_delivers_text(type, kernel) ? target->wave : target->threads);
        return;
    case ZF_SIMT_GROUPS: // of several stages a warp makes a tile
        if (shape->threads == target->wave)
            allow(space, ZF_CHOICE_THREADS, target->wave);
        else
            allow_powers(space, ZF_CHOICE_THREADS, target->wave, threads_of_tile(target, kernel, shape->threads));
        return;
    case ZF_SIMT_PATCHES:
        allow_powers(space, ZF_CHOICE_THREADS, target->wave, threads_of_tile(target, kernel, shape->threads));
        return;
    case ZF_SIMT_WORDS: // share shared memory in a way that is laid out for so many
    case ZF_SIMT_NUMBERS:
    case ZF_SIMT_LANES: allow(space, ZF_CHOICE_THREADS, shape->threads); return;
    }
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
static void allow_together(zf_choice_space *space, uint32_t wave, zf_type type, const zf_simt_shape *shape) {
    bool shared = shape->form == ZF_SIMT_GROUPS && shape->threads > wave; // else a warp makes the tile, by windows
    if (shape->form != ZF_SIMT_MAP && shape->form != ZF_SIMT_PATCHES && !shared) return;
    uint32_t size = zf_kind_size(type.kind), most = zf_simt_lane_count(type),
             least = size < LEAST_STORED ? LEAST_STORED / size : 1;
    if (type.nullable || type.kind == ZF_K_BOOL || type.kind == ZF_K_STRING) least = most;
    allow_powers(space, ZF_CHOICE_C, least, most);
    zf_choose(&space->otherwise, ZF_CHOICE_C, most);
}

void zf_choice_space_of(const zf_plan *plan, const zf_kernel *kernel, zf_choice_space *out) {
    static const uint32_t registers[] = {0, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 224, 255};
    zf_kernel bare = *kernel; // as it is where nothing is chosen; that decides about no tile of what is ordered
    bare.choice = (zf_choice){0};
    if (zf_is_chosen(&kernel->choice, ZF_CHOICE_WALK)) bare.by_warp = zf_kernel_is_shared_by_default(plan, kernel);
    bare.geometry = zf_kernel_default_geometry(plan, kernel);
    zf_simt_shape shape = zf_simt_shape_of(plan, &bare);
    zf_type type = zf_simt_type_of(plan, kernel);
    *out = (zf_choice_space){.kernel = kernel->index, .form = shape.form};
    allow_threads(out, plan->target, &bare, &shape, type);
    allow_together(out, plan->target->wave, type, &shape);
    zf_choose(&out->otherwise, ZF_CHOICE_THREADS, shape.threads);
    for (unsigned k = 0; k < sizeof registers / sizeof *registers; k++) {
        if (registers[k] <= plan->target->registers) allow(out, ZF_CHOICE_REGISTERS, registers[k]);
    }
    zf_choose(&out->otherwise, ZF_CHOICE_REGISTERS, shape.registers);
    if (shape.form == ZF_SIMT_MAP) {
        allow_powers(out, ZF_CHOICE_L, 1, 16);
        zf_choose(&out->otherwise, ZF_CHOICE_L, bare.geometry.l);
        for (uint32_t way = 0; way < (zf_simt_takes_bits(plan, kernel) ? ZF_STAGE_WAYS : 1); way++)
            allow(out, ZF_CHOICE_STAGE, way);
        zf_choose(&out->otherwise, ZF_CHOICE_STAGE, ZF_STAGE_NONE);
        if (zf_simt_looks_up(plan, kernel)) {
            allow(out, ZF_CHOICE_TABLE, 0);
            allow_powers(out, ZF_CHOICE_TABLE, TABLE_LEAST, TABLE_MOST);
            zf_choose(&out->otherwise, ZF_CHOICE_TABLE, ZF_LOOKUP_DEFAULT);
        }
    }
    if (shape.form == ZF_SIMT_PATCHES) {
        bool fits = zf_simt_patches_fit(plan, kernel);
        for (uint32_t way = 0; way < (fits ? 2 : 1); way++) allow(out, ZF_CHOICE_STAGE, way);
        zf_choose(&out->otherwise, ZF_CHOICE_STAGE, zf_simt_patches_staged(plan, kernel));
    }
    // How many rows are best by default follows from what is scanned. Rows of strings are made one by one; of counted bits so
    // many are known at once.
    if (shape.form == ZF_SIMT_SCAN && type.kind != ZF_K_STRING) {
        uint32_t rows = COUNTED_ROWS_LANES / zf_simt_lane_count(type);
        allow_powers(out, ZF_CHOICE_L, 1, rows < ZF_SIMT_BATCH ? rows : ZF_SIMT_BATCH);
    }
    bool by_rows = shape.form == ZF_SIMT_SCAN && type.kind != ZF_K_STRING;
    if (by_rows) { // of a whole tile or not at all: each warp has one
        for (uint32_t way = 0; way <= (zf_simt_takes_bits(plan, kernel) ? ZF_STAGE_TILE : 0); way++)
            allow(out, ZF_CHOICE_STAGE, way);
        zf_choose(&out->otherwise, ZF_CHOICE_STAGE, shape.stage);
    }
    bool by_groups = shape.form == ZF_SIMT_GROUPS && type.kind != ZF_K_STRING;
    bool looks_up = shape.form == ZF_SIMT_MAP && zf_simt_looks_up(plan, kernel);
    bool by_places = shape.form == ZF_SIMT_MAP && zf_simt_takes_places(plan, kernel);
    bool later = shape.form == ZF_SIMT_MAP && zf_simt_later_fits(plan, kernel);
    if (by_rows || looks_up || by_places || later || by_groups || shape.form == ZF_SIMT_PATCHES) {
        for (uint32_t ahead = 0; ahead < 2; ahead++) allow(out, ZF_CHOICE_AHEAD, ahead);
        zf_choose(&out->otherwise, ZF_CHOICE_AHEAD, shape.ahead);
    }
    if (zf_kernel_can_be_shared(plan, kernel)) {
        if (zf_simt_warp_walks_several(plan, kernel)) {
            allow_powers(out, ZF_CHOICE_L, 1, CHUNKS_MOST);
            zf_choose(&out->otherwise, ZF_CHOICE_L, bare.by_warp ? shape.span : 1);
        }
        allow(out, ZF_CHOICE_WALK, 1);
        allow(out, ZF_CHOICE_WALK, plan->target->wave);
        zf_choose(&out->otherwise, ZF_CHOICE_WALK, bare.by_warp ? plan->target->wave : 1);
    }
}

static bool is_allowed(const zf_choice_space *space, zf_choice_kind kind, uint32_t value, zf_text *reason) {
    for (uint32_t k = 0; k < space->counts[kind]; k++) {
        if (space->values[kind][k] == value) return true;
    }
    if (reason == NULL) return false;
    zf_text_printf(reason, "kernel %u (%s): %s cannot be %u", space->kernel, form_names[space->form], zf_choice_names[kind],
                   value);
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
    if (space->form == ZF_SIMT_MAP && tile < LEAST_TILE) {
        if (reason != NULL) {
            zf_text_printf(reason, "kernel %u (map): a tile of %u outputs has less than %d", space->kernel, tile, LEAST_TILE);
        }
        return false;
    }
    uint32_t chunks = zf_is_chosen(choice, ZF_CHOICE_L) ? choice->values[ZF_CHOICE_L] : 1; // by default what is legal
    if (space->counts[ZF_CHOICE_WALK] > 0 && all.values[ZF_CHOICE_WALK] == 1 && chunks > 1) {
        if (reason != NULL) {
            zf_text_printf(reason, "kernel %u (%s): a thread that walks alone (WALK=1) has one chunk, not %u", space->kernel,
                           form_names[space->form], chunks);
        }
        return false;
    }
    uint32_t way = all.values[ZF_CHOICE_STAGE], together = way == ZF_STAGE_STEPS ? tile / all.values[ZF_CHOICE_L] : tile;
    if (space->form == ZF_SIMT_MAP && way != ZF_STAGE_NONE && together < ZF_STAGED_OUTPUTS) {
        if (reason != NULL) {
            zf_text_printf(reason, "kernel %u (map): the words of %u outputs are no whole pieces, those of %d are", space->kernel,
                           together, ZF_STAGED_OUTPUTS);
        }
        return false;
    }
    uint32_t given = (registers + REGISTERS_TOGETHER - 1) / REGISTERS_TOGETHER * REGISTERS_TOGETHER;
    if (threads * given <= REGISTERS_FILE) return true;
    if (reason != NULL) {
        zf_text_printf(reason, "kernel %u (%s): %u threads of %u registers do not fit into the %d of a multiprocessor",
                       space->kernel, form_names[space->form], threads, registers, REGISTERS_FILE);
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
        zf_text_printf(out, "  kernel %u: %s (%s)", k, plan->graph->nodes[kernel->root].inst->name, form_names[space.form]);
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
        zf_text_printf(out, ", \"form\": \"%s\", \"choices\": {", form_names[space.form]);
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
