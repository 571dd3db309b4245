// The sequential form: one thread makes a tile, element by element, as the host does. It runs what no other form fits; why no
// other form fits, and which rewrite helps, is said here.
#include "codegen/codegen.h"
#include "codegen/simt/simt_choices.h"

enum {
    SEQUENTIAL_THREADS = 64,
    // A thread that walks a chunk may have so many, which is more than any of the library needs. With a limit, the driver's
    // assembler orders loads so that fewer wait for each other. Without one the steps of `zstd_split` took 1.2 times as long on
    // an H200.
    CHUNK_REGISTERS = 128,
};

bool zf_form_sequential_fits(const zf_plan *plan, const zf_kernel *kernel) {
    (void)plan, (void)kernel;
    return true;
}

zf_simt_shape zf_form_sequential_shape(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t threads = zf_choice_value(&kernel->choice, ZF_CHOICE_THREADS, SEQUENTIAL_THREADS);
    uint32_t most = plan->target->registers < CHUNK_REGISTERS ? plan->target->registers : CHUNK_REGISTERS;
    uint32_t registers = kernel->domain == ZF_DOMAIN_CHUNKS ? most : 0;
    return (zf_simt_shape){.threads = threads, .tiles = threads, .registers = registers};
}

void zf_form_sequential_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape,
                                zf_choice_space *space) {
    zf_choice_allow_powers(space, ZF_CHOICE_THREADS, plan->target->wave, plan->target->threads);
    zf_form_allow_walk(plan, kernel, shape, space);
}

void zf_form_sequential_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    (void)shape;
    lower->cg->target->lower[lower->kernel->domain](lower);
}

// ---- Why ------------------------------------------------------------------------------------------------------

static void because(zf_codegen_form_info *out, uint32_t node, const char *why, const char *hint) {
    out->node = node;
    out->why = why;
    out->hint = hint;
}

/// Returns how to have each chunk walked by a wave of the target.
static const char *walk_by_wave(const zf_plan *plan) {
    static const char *const hints[] = {"choose WALK=32", "choose WALK=64", "choose WALK=128"};
    uint32_t k = 0;
    while (k + 1 < sizeof hints / sizeof *hints && UINT32_C(32) << k < plan->target->wave) k++;
    return UINT32_C(32) << k == plan->target->wave ? hints[k] : NULL;
}

static void why_chunks(const zf_plan *plan, const zf_kernel *kernel, zf_codegen_form_info *out) {
    const zf_inst *inst = plan->graph->nodes[kernel->root].inst;
    bool stored = zf_type_storable(inst->result) && inst->result.kind != ZF_K_BOOL;
    if (inst->lanes > 0 && !stored)
        because(out, kernel->root, zf_form_lanes_refusal(inst),
                "make a number in the lanes and convert it in a fully_parallel algorithm");
    else if (inst->lanes > 0)
        because(out, kernel->root, zf_form_lanes_refusal(inst),
                "let every lane come to one read of each stream, without loops, slices or `return` around it");
    else if (zf_is_chosen(&kernel->choice, ZF_CHOICE_WALK))
        because(out, kernel->root, "walks each chunk by one thread, as WALK=1 says", walk_by_wave(plan));
    else if (!zf_kernel_can_be_shared(plan, kernel))
        because(out, kernel->root, "makes booleans in chunks, and neighbouring booleans share bytes",
                "make u8 in the chunks and compare them in a fully_parallel algorithm");
    else
        because(out, kernel->root, "has chunks without lanes and emits no long ranges, so one thread walks each chunk",
                "give it lanes (`lanes = 32`), or emit ranges (`emit k in 0..n: ...`)");
}

// Why no warp makes a scan; false: a warp does.
static bool why_scan(const zf_plan *plan, const zf_kernel *kernel, const zf_step *step, zf_codegen_form_info *out) {
    if (step->kind != ZF_STEP_SCAN || step->reduce->form != ZF_R_SEGMENTED) return false;
    if (step->level > 0)
        because(out, step->node, "scans segments of a stream that another algorithm reads in groups",
                "encode this stream unfused (`zfc encode --unfused`), or scan without segments");
    else if (!zf_simt_scans(plan, kernel, step->reduce))
        because(out, step->node, "scans segments that do not divide the rows of a warp",
                "use segments of a power of two of elements");
    else
        return false;
    return true;
}

static void why_steps(const zf_plan *plan, const zf_kernel *kernel, zf_codegen_form_info *out) {
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        const zf_step *step = &kernel->steps[s];
        zf_type type = plan->graph->edges[plan->graph->nodes[step->node].output].type;
        if (why_scan(plan, kernel, step, out)) return;
        if (step->kind == ZF_STEP_EXPAND && step->node != kernel->root && (type.nullable || type.kind == ZF_K_STRING)) {
            because(out, step->node, "makes groups of strings or nullable values for another algorithm of the same kernel",
                    "encode this stream unfused (`zfc encode --unfused`)");
            return;
        }
    }
    if (kernel->tile % zf_form_row(plan, kernel) != 0)
        because(out, kernel->root, "has a seek interval that does not divide into rows of a warp",
                "encode with a seek interval of a power of two, 512 or more");
    else
        because(out, kernel->root, "has tiles that do not fit into shared memory",
                "encode with a smaller seek interval, or some streams unfused");
}

bool zf_codegen_form(const zf_plan *plan, const zf_kernel *kernel, zf_codegen_form_info *out) {
    if (plan->target->wave == 0) return false;
    const zf_form *form = zf_form_of(zf_simt_shape_of(plan, kernel).form);
    *out = (zf_codegen_form_info){
        .name = form->name, .use = form->use, .tile = form->tile, .parallel = form->parallel, .node = kernel->root};
    if (kernel->domain == ZF_DOMAIN_CHUNKS && kernel->by_warp) zf_form_records_walk(plan, kernel, out);
    if (form->parallel) return true;
    if (kernel->domain == ZF_DOMAIN_CHUNKS)
        why_chunks(plan, kernel, out);
    else
        why_steps(plan, kernel, out);
    return true;
}
