#include "codegen/decoder.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cg_lines.h"
#include "codegen/cg_sites.h"
#include "codegen/lower.h"
#include "codegen/program.h"
#include "codegen/simt.h"
#include "runtime/error_codes.h"

enum { MOST_TUPLES = 8 }; ///< of shaping values that get code of their own

typedef enum code_state { CODE_BUILDING, CODE_READY, CODE_FAILED } code_state;

struct zf_decoder_code {
    uint64_t *shaping; ///< NULL: the general form
    code_state state;
    zf_error error; ///< FAILED
    zf_abi_code code;
    zf_jit_code *loaded;
    char (*names)[24];  ///< of the kernels of accelerators
    const char **files; ///< of places in emulated kernels
    zf_text image;      ///< PTX
    struct zf_decoder_code *next;
};

// What a decoder is beside what others see of it.
typedef struct decoder {
    zf_decoder base; ///< first
    zf_compiler *compiler;
    zf_arena *arena;
    pthread_mutex_t lock; ///< of base.codes
    pthread_cond_t changed;
    zf_abi_target target;
    unsigned tuples;
} decoder;

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code"); }

// ---- What the runtime sees ------------------------------------------------------------------------------------

static const char *joined(zf_arena *arena, const char *path, const char *name) {
    return path[0] == 0 ? zf_arena_copy(arena, name, strlen(name)) : zf_arena_printf(arena, "%s.%s", path, name);
}

static const char *field_name(zf_arena *arena, const zf_graph *graph, const zf_seek_field *field) {
    const char *path = graph->nodes[field->node].path;
    if (field->kind == ZF_SEEK_GROUP) return joined(arena, path, "group");
    if (field->kind == ZF_SEEK_OFFSET) return joined(arena, path, "offset");
    return joined(arena, path, zf_arena_printf(arena, "scan %u", field->reduce));
}

static zf_abi_check describe(zf_arena *arena, const zf_graph *graph, const zf_check *check) {
    zf_abi_check out = {.violation = check->violation, .path = "", .algorithm = "", .text = check->text, .file = "", .line = 0};
    if (check->node < graph->node_count) {
        out.path = graph->nodes[check->node].path;
        out.algorithm = graph->nodes[check->node].inst->name;
    }
    if (check->span.source != NULL) {
        zf_position at = zf_source_position(check->span.source, check->span.begin);
        out.file = zf_arena_copy(arena, check->span.source->path, strlen(check->span.source->path));
        out.line = at.line;
        out.column = at.column;
    }
    return out;
}

static uint32_t interval_of(const zf_plan *plan, uint32_t tree) {
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        if (plan->kernels[k].tree == (int32_t)tree) return plan->kernels[k].tile;
    }
    return 0;
}

static void describe_plan(decoder *d) {
    const zf_plan *plan = d->base.plan;
    zf_arena *arena = d->arena;
    uint32_t extra;
    zf_once_check *block = zf_once_checks(arena, plan, &extra);
    zf_abi_kernel *kernels = ZF_NEW_ARRAY(arena, zf_abi_kernel, plan->kernel_count + 1);
    zf_abi_work *works = ZF_NEW_ARRAY(arena, zf_abi_work, plan->work_count + 1);
    zf_abi_tree *trees = ZF_NEW_ARRAY(arena, zf_abi_tree, plan->tree_count + 1);
    zf_abi_check *checks = ZF_NEW_ARRAY(arena, zf_abi_check, plan->check_count + extra + 1);
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        kernels[k] = (zf_abi_kernel){.name = plan->graph->nodes[kernel->root].inst->name,
                                     .edge = kernel->edge,
                                     .tile = kernel->tile,
                                     .sink = kernel->sink,
                                     .tree = kernel->tree};
    }
    for (uint32_t w = 0; w < plan->work_count; w++) {
        const zf_work *work = &plan->works[w];
        works[w] = (zf_abi_work){.edge = work->edge,
                                 .element = work->type.kind == ZF_K_BOOL ? 0 : zf_kind_size(work->type.kind),
                                 .extra = work->prefix != NULL ? 1 : 0};
    }
    static const zf_abi_field_kind field_kinds[] = {
        [ZF_SEEK_GROUP] = ZF_FIELD_GROUP, [ZF_SEEK_OFFSET] = ZF_FIELD_OFFSET, [ZF_SEEK_SCAN] = ZF_FIELD_SCAN};
    for (uint32_t t = 0; t < plan->tree_count; t++) {
        const zf_seek_tree *tree = &plan->trees[t];
        zf_abi_field *fields = ZF_NEW_ARRAY(arena, zf_abi_field, tree->field_count + 1);
        for (uint32_t f = 0; f < tree->field_count; f++) {
            const zf_seek_field *field = &tree->fields[f];
            fields[f] =
                (zf_abi_field){zf_kind_size(field->type), field_name(arena, plan->graph, field), field_kinds[field->kind]};
        }
        trees[t] = (zf_abi_tree){
            .edge = tree->edge, .interval = interval_of(plan, t), .field_count = tree->field_count, .fields = fields};
    }
    for (uint32_t c = 0; c < plan->check_count; c++) checks[c] = describe(arena, plan->graph, &plan->checks[c]);
    for (uint32_t c = 0; c < extra; c++) checks[plan->check_count + c] = describe(arena, plan->graph, &block[c].check);
    d->base.abi = (zf_abi_plan){.version = ZF_ABI_VERSION,
                                .slot_count = plan->slot_count,
                                .kernel_count = plan->kernel_count,
                                .work_count = plan->work_count,
                                .tree_count = plan->tree_count,
                                .shaping_count = plan->shaping_count,
                                .check_count = plan->check_count + extra,
                                .slots = plan->slots,
                                .kernels = kernels,
                                .works = works,
                                .trees = trees,
                                .shaping = plan->shaping,
                                .checks = checks,
                                .provider_data = d,
                                .target = d->target};
}

static void describe_shape(decoder *d, size_t branch_count) {
    const zf_graph *graph = d->base.graph;
    const zf_abi_plan *abi = &d->base.abi;
    zf_arena *arena = d->arena;
    zf_shape_param *params = ZF_NEW_ARRAY(arena, zf_shape_param, graph->param_count + 1);
    zf_shape_edge *edges = ZF_NEW_ARRAY(arena, zf_shape_edge, graph->edge_count + 1);
    zf_shape_tree *trees = ZF_NEW_ARRAY(arena, zf_shape_tree, abi->tree_count + 1);
    for (uint32_t p = 0; p < graph->param_count; p++) {
        uint32_t node;
        const zf_port *port = zf_graph_param(graph, p, &node);
        params[p] = (zf_shape_param){joined(arena, graph->nodes[node].path, port->name), (zf_element)port->type.kind};
    }
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        const zf_graph_edge *edge = &graph->edges[e];
        edges[e] = (zf_shape_edge){.path = edge->path,
                                   .type = (zf_element)edge->type.kind,
                                   .nullable = edge->type.nullable,
                                   .algorithm = edge->producer >= 0 ? graph->nodes[edge->producer].inst->name : "",
                                   .stored = edge->stored};
    }
    for (uint32_t t = 0; t < abi->tree_count; t++) {
        zf_shape_field *fields = ZF_NEW_ARRAY(arena, zf_shape_field, abi->trees[t].field_count + 1);
        for (uint32_t f = 0; f < abi->trees[t].field_count; f++) {
            fields[f] = (zf_shape_field){abi->trees[t].fields[f].name, abi->trees[t].fields[f].bytes};
        }
        trees[t] = (zf_shape_tree){.edge = abi->trees[t].edge,
                                   .field_count = abi->trees[t].field_count,
                                   .fields = fields,
                                   .interval = abi->trees[t].interval};
    }
    d->base.shape = (zf_shape){.branches = graph->branches,
                               .branch_count = (uint32_t)branch_count,
                               .param_count = graph->param_count,
                               .edge_count = graph->edge_count,
                               .stored_count = graph->stored_count,
                               .tree_count = abi->tree_count,
                               .params = params,
                               .edges = edges,
                               .trees = trees};
}

// ---- Creation -------------------------------------------------------------------------------------------------

// What is generated relies on the plan without looking again, and plans come from files.
static zf_status verify(const decoder *d, zf_error *error) {
    zf_text reason = {0};
    zf_status status = ZF_OK;
    if (!zf_graph_verify(d->base.graph, &reason)) {
        status = zf_raise(error, ZF_E_INTERNAL, "a graph that is none: %s", reason.data != NULL ? reason.data : "");
    } else if (!zf_plan_verify(d->base.plan, &reason)) {
        status = zf_raise(error, ZF_E_INTERNAL, "a plan that is none: %s", reason.data != NULL ? reason.data : "");
    }
    zf_text_free(&reason);
    return status;
}

// Even one element must end: what is checked of a block before it is decoded evaluates some.
static zf_status bound_steps(const decoder *d, zf_error *error) {
    const zf_graph *graph = d->base.graph;
    const zf_steps *steps = zf_plan_steps(d->arena, d->base.plan);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (steps[n].decode <= ZF_STEPS_BLOCK && steps[n].size <= ZF_STEPS_BLOCK && steps[n].groups <= ZF_STEPS_BLOCK) continue;
        return zf_raise_diag(error, ZF_ERR_UNSUPPORTED, ZF_D_NOT_LOWERED,
                             "one element of `%s`, with what it pulls, may run loops more than 2^36 times",
                             graph->nodes[n].inst->name);
    }
    return ZF_OK;
}

static zf_status build(decoder *d, const zf_column *column, const uint8_t *branches, size_t branch_count, zf_abi_target target,
                       uint32_t seek_interval, zf_error *error) {
    jmp_buf escape;
    if (setjmp(escape) != 0) return out_of_memory(error);
    zf_arena_set_escape(d->arena, &escape);
    zf_diags diags;
    zf_diags_init(&diags, d->arena);
    uint8_t *copy = ZF_NEW_ARRAY(d->arena, uint8_t, branch_count + 1);
    if (branch_count > 0) memcpy(copy, branches, branch_count);
    if (branch_count == column->choice_count) d->base.graph = zf_graph_build(d->arena, column, copy);
    if (d->base.graph == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT, "column `%s` has no such vector of branches", column->name);
    }
    zf_plan_options options = {.target = zf_cg_target_of(target)->name, .seek_interval = seek_interval};
    d->base.plan = zf_plan_build(d->arena, d->base.graph, &options, &diags);
    if (d->base.plan == NULL) return zf_program_error(zf_diags_first_error(&diags), ZF_ERR_UNSUPPORTED, error);
    ZF_TRY(verify(d, error));
    ZF_TRY(bound_steps(d, error));
    describe_plan(d);
    describe_shape(d, branch_count);
    zf_arena_set_escape(d->arena, NULL);
    return ZF_OK;
}

zf_status zf_decoder_create(zf_compiler *compiler, zf_spec *spec, const zf_column *column, const uint8_t *branches,
                            size_t branch_count, zf_abi_target target, uint32_t seek_interval, zf_decoder **out,
                            zf_error *error) {
    (void)spec; // holds the column and must outlive the decoder
    *out = NULL;
    decoder *d = calloc(1, sizeof(*d));
    if (d == NULL) return out_of_memory(error);
    d->compiler = compiler;
    d->target = target;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    d->arena = zf_arena_create();
    zf_status status =
        d->arena == NULL ? out_of_memory(error) : build(d, column, branches, branch_count, target, seek_interval, error);
    if (status != ZF_OK) {
        zf_decoder_free(&d->base);
        return status;
    }
    *out = &d->base;
    return ZF_OK;
}

static void free_code(decoder *d, struct zf_decoder_code *code);

void zf_decoder_free(zf_decoder *base) {
    if (base == NULL) return;
    decoder *d = (decoder *)base;
    while (base->codes != NULL) {
        struct zf_decoder_code *code = base->codes;
        base->codes = code->next;
        free_code(d, code);
    }
    if (d->arena != NULL) zf_arena_destroy(d->arena);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->changed);
    free(d);
}

// ---- Code -----------------------------------------------------------------------------------------------------

/// Which functions a module has: host targets have all of them in one.
typedef enum module_part { PART_ALL, PART_CHECKS, PART_KERNELS } module_part;

typedef struct building {
    decoder *d;
    const uint64_t *shaping;
    zf_arena *arena;
    module_part part;
    bool no_lines;
    const char *const *files; ///< out: what the kernels' places mean, in the arena
} building;

// What a container's text is called where code names it. Its path would make other code, in every cache, of each copy of a file.
static const char *name_of_text(const building *b) {
    const zf_table *table = b->d->base.graph->column->table;
    return table == NULL ? NULL : zf_arena_printf(b->arena, "%s.zf", table->name);
}

static zf_status build_module(void *user, LLVMModuleRef module, zf_error *error) {
    building *b = user;
    jmp_buf escape;
    zf_diags diags;
    zf_cg cg;
    zf_diags_init(&diags, b->arena);
    zf_cg_init(&cg, module, b->arena, &diags);
    if (setjmp(escape) != 0) {
        zf_cg_dispose(&cg);
        return out_of_memory(error);
    }
    zf_arena_set_escape(b->arena, &escape);
    zf_lower_input input = {.plan = b->d->base.plan, .shaping = b->shaping};
    cg.sites = zf_compiler_sites(b->d->compiler);
    if (cg.sites != NULL) cg.sites->count = 0;
    cg.target = zf_cg_target_find("host"); // checks run before a launch
    if (b->part != PART_KERNELS) zf_lower_checks(&cg, &input);
    cg.target = zf_cg_target_of(b->d->target);
    cg.aligned_loads = cg.target->aligned_loads;
    bool lines = cg.target->simt != NULL && b->part != PART_CHECKS && !b->no_lines;
    if (lines) zf_cg_lines_begin(&cg, name_of_text(b));
    for (uint32_t k = 0; b->part != PART_CHECKS && k < input.plan->kernel_count; k++) {
        cg.target->kernel(&cg, &input, &input.plan->kernels[k]);
    }
    if (lines) b->files = zf_cg_lines_files(&cg);
    if (lines) zf_cg_lines_end(&cg, cg.target->simt->keeps_lines);
    zf_cg_dispose(&cg);
    zf_arena_set_escape(b->arena, NULL);
    return cg.failed ? zf_program_error(zf_diags_first_error(&diags), ZF_ERR_UNSUPPORTED, error) : ZF_OK;
}

static const char *module_name(const decoder *d) {
    return d->base.graph->column->name != NULL ? d->base.graph->column->name : "column";
}

// What is loaded into this process: the host's kernels or the emulator's, and the checks of every target. `addresses` has the
// kernels in order, then the checks.
static zf_status load_here(decoder *d, struct zf_decoder_code *code, building *b, char (*names)[24], void **addresses,
                           zf_error *error) {
    uint32_t count = d->base.plan->kernel_count;
    const char **symbols = calloc(count + 1, sizeof(*symbols));
    if (symbols == NULL) return out_of_memory(error);
    for (uint32_t k = 0; k < count; k++) symbols[k] = names[k];
    symbols[count] = ZF_LOWER_CHECK_NAME;
    zf_jit_request request = {
        .name = module_name(d), .key = "", .build = build_module, .user = b, .symbols = symbols, .symbol_count = count + 1};
    zf_status status = zf_jit_load(zf_compiler_jit(d->compiler), &request, addresses, &code->loaded, error);
    for (uint32_t k = 0; k < count && status == ZF_OK && b->part != PART_CHECKS; k++) {
        if (addresses[k] == NULL) status = zf_raise(error, ZF_E_INTERNAL, "the code of kernel %u is missing", k);
    }
    free(symbols);
    return status;
}

// What accelerators launch.
static zf_status describe_kernels(decoder *d, struct zf_decoder_code *code, building *b, char (*names)[24], void **addresses,
                                  zf_error *error) {
    const zf_plan *plan = d->base.plan;
    zf_abi_simt_kernel *kernels = calloc(plan->kernel_count + 1u, sizeof(*kernels));
    bool emulated = d->target.family == ZF_TARGET_EMU;
    code->names = names;
    code->code.simt = kernels;
    if (emulated) code->files = calloc(ZF_ABI_FILES_MOST + 1, sizeof(*code->files));
    if (kernels == NULL || (emulated && code->files == NULL)) return out_of_memory(error);
    if (emulated) memcpy(code->files, b->files, (ZF_ABI_FILES_MOST + 1) * sizeof(*code->files));
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        zf_simt_shape shape = zf_simt_shape_of(plan, &plan->kernels[k]);
        kernels[k] = (zf_abi_simt_kernel){.name = names[k],
                                          .threads = shape.threads,
                                          .tiles = shape.tiles,
                                          .shared_bytes = shape.shared_bytes,
                                          .files = code->files};
        if (!emulated) continue;
        memcpy(&kernels[k].emulated, &addresses[k], sizeof(addresses[k]));
    }
    if (d->target.family != ZF_TARGET_NVPTX) return ZF_OK;
    b->part = PART_KERNELS;
    zf_jit_request request = {.name = module_name(d),
                              .key = "",
                              .build = build_module,
                              .user = b,
                              .target = zf_cg_target_of(d->target),
                              .abi_target = d->target};
    ZF_TRY(zf_jit_assemble(zf_compiler_jit(d->compiler), &request, &code->image, error));
    code->code.image_kind = ZF_IMAGE_PTX;
    code->code.image = code->image.data;
    code->code.image_bytes = code->image.length + 1; // its zero byte
    return ZF_OK;
}

static zf_status compile(decoder *d, struct zf_decoder_code *code, zf_error *error) {
    uint32_t count = d->base.plan->kernel_count;
    char(*names)[24] = calloc(count + 1, sizeof(*names));
    void **addresses = calloc(count + 1, sizeof(*addresses));
    zf_abi_kernel_fn *kernels = calloc(count + 1, sizeof(*kernels));
    building b = {.d = d, .shaping = code->shaping, .arena = zf_arena_create()};
    if (d->target.family == ZF_TARGET_NVPTX) b.part = PART_CHECKS;
    zf_status status = ZF_OK;
    if (names == NULL || addresses == NULL || kernels == NULL || b.arena == NULL) {
        status = out_of_memory(error);
        goto done;
    }
    for (uint32_t k = 0; k < count; k++) zf_lower_kernel_name(k, names[k]);
    status = load_here(d, code, &b, names, addresses, error);
    if (status != ZF_OK) goto done;
    code->code.check = (zf_abi_check_fn)(uintptr_t)addresses[count];
    if (d->target.family == ZF_TARGET_HOST) {
        for (uint32_t k = 0; k < count; k++) kernels[k] = (zf_abi_kernel_fn)(uintptr_t)addresses[k];
        code->code.kernels = kernels;
        kernels = NULL;
    } else {
        status = describe_kernels(d, code, &b, names, addresses, error);
        names = NULL; // the code has them
    }
done:
    if (b.arena != NULL) zf_arena_destroy(b.arena);
    free(names);
    free(kernels);
    free(addresses);
    return status;
}

static void free_code(decoder *d, struct zf_decoder_code *code) {
    zf_jit_unload(zf_compiler_jit(d->compiler), code->loaded);
    free((void *)(uintptr_t)code->code.kernels);
    free((void *)(uintptr_t)code->code.simt);
    free(code->names);
    free(code->files);
    zf_text_free(&code->image);
    free(code->shaping);
    free(code);
}

static struct zf_decoder_code *find(decoder *d, const uint64_t *shaping) {
    size_t bytes = sizeof(*shaping) * d->base.plan->shaping_count;
    for (struct zf_decoder_code *code = d->base.codes; code != NULL; code = code->next) {
        if ((code->shaping == NULL) != (shaping == NULL)) continue;
        if (shaping == NULL || memcmp(code->shaping, shaping, bytes) == 0) return code;
    }
    return NULL;
}

// Adds an entry that is being built. With the lock held.
static struct zf_decoder_code *add(decoder *d, const uint64_t *shaping) {
    size_t bytes = sizeof(*shaping) * d->base.plan->shaping_count;
    struct zf_decoder_code *code = calloc(1, sizeof(*code));
    if (code == NULL) return NULL;
    if (shaping != NULL) {
        code->shaping = malloc(bytes + 1);
        if (code->shaping == NULL) {
            free(code);
            return NULL;
        }
        memcpy(code->shaping, shaping, bytes);
        d->tuples++;
    }
    code->next = d->base.codes;
    d->base.codes = code;
    return code;
}

// The entry for a tuple, in any state; after MOST_TUPLES that of the general form, and `*shaping` says so. With the lock held.
static struct zf_decoder_code *look_up(decoder *d, const uint64_t **shaping) {
    struct zf_decoder_code *code = find(d, *shaping);
    if (code != NULL || *shaping == NULL || d->tuples < MOST_TUPLES) return code;
    *shaping = NULL;
    return find(d, NULL);
}

// Compiles what an entry stands for. Without memory the entry is dropped: the next call tries again.
static zf_status fill(decoder *d, struct zf_decoder_code *code, zf_error *error) {
    zf_error failure = {0};
    zf_status status = compile(d, code, &failure); // with no lock held: others go on
    if (status != ZF_OK && error != NULL) *error = failure;
    pthread_mutex_lock(&d->lock);
    code->error = failure;
    code->state = status == ZF_OK ? CODE_READY : CODE_FAILED;
    if (status == ZF_ERR_MEMORY) {
        struct zf_decoder_code **at = &d->base.codes;
        while (*at != code) at = &(*at)->next;
        *at = code->next;
        if (code->shaping != NULL) d->tuples--;
        free_code(d, code);
    }
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return status;
}

zf_status zf_decoder_code_for(zf_decoder *base, const uint64_t *shaping, const zf_abi_code **out, zf_error *error) {
    decoder *d = (decoder *)base;
    *out = NULL;
    if (base->plan->shaping_count == 0 || zf_compiler_options_of(d->compiler)->general_only) shaping = NULL;
    pthread_mutex_lock(&d->lock);
    struct zf_decoder_code *code = look_up(d, &shaping);
    while (code != NULL && code->state == CODE_BUILDING) {
        pthread_cond_wait(&d->changed, &d->lock);
        code = look_up(d, &shaping); // it may have been dropped
    }
    bool ours = code == NULL;
    if (ours) code = add(d, shaping);
    pthread_mutex_unlock(&d->lock);
    if (code == NULL) return out_of_memory(error);
    if (ours) {
        ZF_TRY(fill(d, code, error));
    } else if (code->state == CODE_FAILED) {
        if (error != NULL) *error = code->error;
        return code->error.status;
    }
    *out = &code->code;
    return ZF_OK;
}

zf_status zf_decoder_print(zf_decoder *base, const uint64_t *shaping, zf_jit_stage stage, bool lines, zf_text *out,
                           zf_error *error) {
    decoder *d = (decoder *)base;
    building b = {.d = d, .shaping = shaping, .arena = zf_arena_create(), .no_lines = !lines};
    if (b.arena == NULL) return out_of_memory(error);
    zf_jit_request request = {.name = module_name(d), .build = build_module, .user = &b};
    if (d->target.family == ZF_TARGET_NVPTX) {
        b.part = PART_KERNELS;
        request.target = zf_cg_target_of(d->target);
        request.abi_target = d->target;
    }
    zf_status status = zf_jit_print(zf_compiler_jit(d->compiler), &request, stage, out, error);
    zf_arena_destroy(b.arena);
    return status;
}
