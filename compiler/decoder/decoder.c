// A column's graph and plan, and what the runtime sees of them. Its code: decoder_code.c.
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/decoder/decoder_internal.h"
#include "compiler/program.h"
#include "patterns/plan/block_checks.h"
#include "patterns/plan/steps.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"
#include "runtime/decode/block_check.h"

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code"); }

// ---- The interface for the runtime ----------------------------------------------------------------------------

static const char *joined(zf_arena *arena, const char *path, const char *name) {
    return path[0] == 0 ? zf_arena_copy(arena, name, strlen(name)) : zf_arena_printf(arena, "%s.%s", path, name);
}

static const char *field_name(zf_arena *arena, const zf_graph *graph, const zf_seek_field *field) {
    const char *path = graph->nodes[field->node].path;
    if (field->kind == ZF_SEEK_GROUP) return joined(arena, path, "group");
    if (field->kind == ZF_SEEK_OFFSET) return joined(arena, path, "offset");
    if (field->kind == ZF_SEEK_CHUNK) return joined(arena, path, graph->nodes[field->node].inst->streams[field->stream]->name);
    if (field->kind == ZF_SEEK_BYTES) return joined(arena, path, "bytes");
    if (field->kind == ZF_SEEK_OUTPUT) return joined(arena, path, "out");
    if (field->kind == ZF_SEEK_LENGTH) {
        const char *stream = graph->nodes[field->node].inst->streams[field->stream]->name;
        return joined(arena, path, zf_arena_printf(arena, "%s length", stream));
    }
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
        // The text of a container is called by the container that is decoded, which need not be the one that it was read from.
        if (check->span.source->in_file)
            out.file = zf_arena_copy(arena, check->span.source->path, strlen(check->span.source->path));
        out.line = at.line;
        out.column = at.column;
    }
    return out;
}

static uint32_t interval_of(const zf_plan *plan, uint32_t tree) {
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        if (kernel->tree != (int32_t)tree) continue;
        bool chunks = kernel->domain == ZF_DOMAIN_CHUNKS;
        return chunks ? (uint32_t)plan->graph->nodes[kernel->root].codec->chunk_size : kernel->tile;
    }
    return 0;
}

static zf_status describe_plan(decoder *d, zf_error *error) {
    const zf_plan *plan = d->base.plan;
    zf_arena *arena = d->arena;
    const zf_block_checks *block = plan->block_checks;
    uint32_t extra = block->count;
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
                                     .tree = kernel->tree,
                                     .rereads = kernel->store_first && kernel->domain == ZF_DOMAIN_CHUNKS};
    }
    for (uint32_t w = 0; w < plan->work_count; w++) {
        const zf_work *work = &plan->works[w];
        works[w] = (zf_abi_work){.edge = work->edge,
                                 .element = work->type.kind == ZF_K_BOOL     ? 0
                                            : work->type.kind == ZF_K_STRING ? ZF_ABI_HANDLE_BYTES
                                                                             : zf_kind_size(work->type.kind),
                                 .extra = work->prefix != NULL ? 1 : 0,
                                 .nullable = work->type.nullable,
                                 .characters = zf_plan_may_go_to_column(plan, (int32_t)w)};
    }
    static const zf_abi_field_kind field_kinds[] = {
        [ZF_SEEK_GROUP] = ZF_FIELD_GROUP,  [ZF_SEEK_OFFSET] = ZF_FIELD_OFFSET, [ZF_SEEK_SCAN] = ZF_FIELD_SCAN,
        [ZF_SEEK_CHUNK] = ZF_FIELD_CHUNK,  [ZF_SEEK_BYTES] = ZF_FIELD_BYTES,   [ZF_SEEK_OUTPUT] = ZF_FIELD_OUTPUT,
        [ZF_SEEK_LENGTH] = ZF_FIELD_LENGTH};
    for (uint32_t t = 0; t < plan->tree_count; t++) {
        const zf_seek_tree *tree = &plan->trees[t];
        zf_abi_field *fields = ZF_NEW_ARRAY(arena, zf_abi_field, tree->field_count + 1);
        for (uint32_t f = 0; f < tree->field_count; f++) {
            const zf_seek_field *field = &tree->fields[f];
            fields[f] =
                (zf_abi_field){zf_kind_size(field->type), field_name(arena, plan->graph, field), field_kinds[field->kind]};
        }
        bool even = tree->fields[0].kind == ZF_SEEK_CHUNK;
        trees[t] = (zf_abi_tree){.edge = tree->edge,
                                 .interval = interval_of(plan, t),
                                 .directory = zf_tree_is_uneven(tree) ? ZF_DIRECTORY_UNEVEN
                                              : even                  ? ZF_DIRECTORY_EVEN
                                                                      : ZF_DIRECTORY_NONE,
                                 .field_count = tree->field_count,
                                 .fields = fields};
    }
    for (uint32_t c = 0; c < plan->check_count; c++) checks[c] = describe(arena, plan->graph, &plan->checks[c]);
    for (uint32_t c = 0; c < extra; c++) checks[plan->check_count + c] = describe(arena, plan->graph, &block->checks[c]);
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
                                .target = d->request.target,
                                .block_checks = block->program};
    const char *fault = zf_block_check_fault(&block->program, plan->slot_count, plan->check_count + extra);
    return fault == NULL ? ZF_OK : zf_raise(error, ZF_E_INTERNAL, "the plan has %s", fault);
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
            const zf_seek_field *field = &d->base.plan->trees[t].fields[f];
            fields[f] = (zf_shape_field){.name = abi->trees[t].fields[f].name, .bytes = abi->trees[t].fields[f].bytes};
            if (field->kind == ZF_SEEK_CHUNK || field->kind == ZF_SEEK_LENGTH)
                fields[f].edge = graph->nodes[field->node].inputs[field->stream];
            if (field->kind == ZF_SEEK_OUTPUT) fields[f].edge = abi->trees[t].edge;
        }
        trees[t] = (zf_shape_tree){.edge = abi->trees[t].edge,
                                   .field_count = abi->trees[t].field_count,
                                   .fields = fields,
                                   .interval = abi->trees[t].interval,
                                   .directory = (zf_abi_directory)abi->trees[t].directory};
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

// Generated code relies on the plan without checking it again, and plans come from files.
static zf_status verify(const decoder *d, zf_error *error) {
    zf_text reason = {0};
    zf_status status = ZF_OK;
    if (!zf_graph_verify(d->base.graph, &reason)) {
        status = zf_raise(error, ZF_E_INTERNAL, "an invalid graph: %s", reason.data != NULL ? reason.data : "");
    } else if (!zf_plan_verify(d->base.plan, &reason)) {
        status = zf_raise(error, ZF_E_INTERNAL, "an invalid plan: %s", reason.data != NULL ? reason.data : "");
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

bool zf_decoder_states_of(const zf_shape *shape, uint32_t **edges, zf_decoder_states *out) {
    *out = (zf_decoder_states){0};
    *edges = NULL;
    if (shape == NULL) return true;
    *edges = calloc(2u * shape->tree_count + 1, sizeof **edges);
    if (*edges == NULL) return false;
    uint32_t *uneven = *edges + shape->tree_count, count = 0;
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        (*edges)[t] = shape->trees[t].edge;
        if (shape->trees[t].directory == ZF_DIRECTORY_UNEVEN) uneven[count++] = shape->trees[t].edge;
    }
    *out = (zf_decoder_states){.seek_interval = zf_shape_interval(shape),
                               .tree_edges = *edges,
                               .tree_edge_count = shape->tree_count,
                               .uneven_edges = uneven,
                               .uneven_edge_count = count};
    return true;
}

static const uint32_t *copy_edges(decoder *d, const uint32_t *from, uint32_t count) {
    if (count == 0) return NULL;
    uint32_t *edges = ZF_NEW_ARRAY(d->arena, uint32_t, count);
    memcpy(edges, from, count * sizeof *edges);
    return edges;
}

/// Copies what the decoder keeps of a request, whose memory is the caller's.
static void copy_request(decoder *d, const zf_plan_request *request) {
    zf_decoder_states *states = &d->request.states;
    d->request = *request;
    if (states->unfused != NULL) states->unfused = zf_arena_copy(d->arena, states->unfused, strlen(states->unfused));
    states->tree_edges = copy_edges(d, states->tree_edges, states->tree_edge_count);
    states->uneven_edges = copy_edges(d, states->uneven_edges, states->uneven_edge_count);
    if (request->choices == NULL) return;
    zf_choices *choices = ZF_NEW(d->arena, zf_choices);
    *choices = *request->choices;
    d->request.choices = choices->count > 0 ? choices : NULL;
}

static zf_plan_options plan_options(const decoder *d) {
    const zf_plan_request *r = &d->request;
    return (zf_plan_options){.target = zf_target_for(r->target)->name,
                             .chunk_threads = zf_compiler_options_of(d->compiler)->chunk_threads,
                             .choices = r->choices,
                             .seek_interval = r->states.seek_interval,
                             .materialise_all = r->unfused,
                             .unfused = r->states.unfused,
                             .tree_edges = r->states.tree_edges,
                             .tree_edge_count = r->states.tree_edge_count,
                             .uneven_edges = r->states.uneven_edges,
                             .uneven_edge_count = r->states.uneven_edge_count};
}

static zf_status build(decoder *d, const zf_column *column, const uint8_t *branches, size_t branch_count,
                       const zf_plan_request *request, zf_error *error) {
    jmp_buf escape;
    if (setjmp(escape) != 0) return out_of_memory(error);
    zf_arena_set_escape(d->arena, &escape);
    zf_diags diags;
    zf_diags_init(&diags, d->arena);
    copy_request(d, request);
    uint8_t *copy = ZF_NEW_ARRAY(d->arena, uint8_t, branch_count + 1);
    if (branch_count > 0) memcpy(copy, branches, branch_count);
    zf_passes *passes = zf_context_passes(zf_compiler_context(d->compiler));
    unsigned pass = zf_pass_begin(passes, ZF_PASS_GRAPH);
    if (branch_count == column->choice_count) d->base.graph = zf_graph_build(d->arena, column, copy);
    zf_pass_end(passes, pass);
    if (d->base.graph == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT, "column `%s` has no such vector of branches", column->name);
    }
    const zf_plan_options options = plan_options(d);
    d->base.plan = zf_plan_build(d->arena, d->base.graph, &options, &diags);
    if (d->base.plan == NULL) return zf_diag_status(zf_diags_first_error(&diags), ZF_ERR_UNSUPPORTED, error);
    ZF_TRY(zf_codegen_choices_check(d->base.plan, options.choices, error));
    ZF_TRY(verify(d, error));
    ZF_TRY(bound_steps(d, error));
    ZF_TRY(describe_plan(d, error));
    describe_shape(d, branch_count);
    zf_arena_set_escape(d->arena, NULL);
    return ZF_OK;
}

typedef struct creation {
    decoder *decoder;
    const zf_column *column;
    const uint8_t *branches;
    size_t branch_count;
    const zf_plan_request *request;
} creation;

static zf_status build_deep(void *user, zf_error *error) {
    const creation *c = user;
    zf_passes *passes = zf_context_passes(zf_compiler_context(c->decoder->compiler));
    unsigned pass = zf_pass_begin(passes, ZF_PASS_PLAN);
    zf_status status = build(c->decoder, c->column, c->branches, c->branch_count, c->request, error);
    zf_pass_end(passes, pass);
    return status;
}

zf_status zf_decoder_create(zf_compiler *compiler, const zf_column *column, const uint8_t *branches, size_t branch_count,
                            const zf_plan_request *request, zf_decoder **out, zf_error *error) {
    static const zf_plan_request defaults = {.choices = NULL};
    *out = NULL;
    decoder *d = calloc(1, sizeof(*d));
    if (d == NULL) return out_of_memory(error);
    d->compiler = compiler;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    d->arena = zf_arena_create();
    creation c = {d, column, branches, branch_count, request != NULL ? request : &defaults};
    zf_status status = d->arena != NULL ? zf_run_deep(build_deep, &c, error) : out_of_memory(error);
    if (status != ZF_OK) {
        zf_decoder_free(&d->base);
        return status;
    }
    *out = &d->base;
    return ZF_OK;
}

void zf_decoder_free(zf_decoder *base) {
    if (base == NULL) return;
    decoder *d = (decoder *)base;
    zf_decoder_codes_free(base);
    if (d->arena != NULL) zf_arena_destroy(d->arena);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->changed);
    free(d);
}
