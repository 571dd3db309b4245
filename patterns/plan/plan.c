// Cuts a graph into kernels, one per tree. A random node is inlined into its consumer. A node with a state (a group or a scan)
// that is read in order is a step of its consumer's tile. An earlier kernel makes every edge that the graph materialises, and
// every edge that would make a tree's state too large.
#include <string.h>

#include "patterns/graph/decision.h"
#include "patterns/plan/block_checks.h"
#include "patterns/plan/geometry.h"
#include "patterns/plan/plan_internal.h"

typedef struct planner {
    zf_plan *plan;
    const zf_graph *graph;
    const zf_plan_options *options;
    uint32_t interval; ///< A
    zf_sites *sites;   ///< by node
    bool *inlined;     ///< per edge: its producer is an expression, or a step, of its consumer's kernel
    uint32_t kernel_capacity, work_capacity;
    zf_diags *diags;
} planner;

static zf_diag *report(planner *p, zf_diag_code code, zf_span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static zf_diag *report(planner *p, zf_diag_code code, zf_span span, const char *format, ...) {
    if (p->diags == NULL) return NULL;
    va_list arguments;
    va_start(arguments, format);
    const char *text = zf_arena_vprintf(p->plan->arena, format, arguments);
    va_end(arguments);
    return zf_diag_error(p->diags, code, span, "%s", text);
}

static void hint(planner *p, zf_diag *diag, const char *text) {
    if (diag != NULL) zf_diag_hint(p->diags, diag, "%s", text);
}

// ---- Features that this target does not lower -----------------------------------------------------------------

/// Whether a stream without a producer can be stored: numbers and booleans can.
static bool storable(planner *p, const zf_graph_edge *edge, zf_span span) {
    if (edge->stored < 0 || zf_type_storable(edge->type)) return true;
    zf_diag *diag = report(p, ZF_D_NOT_LOWERED, span, "stream `%s` is of %s, which cannot be stored as it is", edge->path,
                           zf_type_name(p->plan->arena, edge->type));
    hint(p, diag,
         edge->type.nullable ? "let an algorithm make it of streams of numbers: `nullable` keeps which are null beside the values"
                             : "let an algorithm make it of streams of numbers: `strings` keeps lengths and bytes");
    return false;
}

static bool lowered_node(planner *p, const zf_graph_node *node) {
    const zf_inst *inst = node->inst;
    const zf_sites *sites = &p->sites[node->index];
    zf_span span = node->codec->span;
    const char *name = inst->name;
    zf_diag *diag = NULL;
    bool chunks = inst->pattern == ZF_NON_PARALLEL;
    if (chunks && (inst->result.nullable || inst->result.kind == ZF_K_STRING)) {
        diag = report(p, ZF_D_NOT_LOWERED, span, "`%s` makes %s in chunks, and this version compiles no such codec", name,
                      inst->result.nullable ? "nullable values" : "strings");
        hint(p, diag,
             inst->result.nullable ? "let the chunks make the values, as a stream of `nullable`"
                                   : "let the chunks make the bytes, as a stream of `strings`");
        return false;
    }
    if ((inst->reads_out && !chunks) || sites->unsupported != NULL) {
        const char *what = sites->unsupported != NULL ? sites->unsupported : "a body that reads `out`";
        diag = report(p, ZF_D_NOT_LOWERED, span, "`%s` uses %s, and this version compiles no such codec", name, what);
        if (diag != NULL && sites->unsupported != NULL) zf_diag_remark(p->diags, diag, sites->unsupported_at, "used here");
        return false;
    }
    if (sites->array_bytes > ZF_LOCAL_ARRAY_BYTES) {
        report(p, ZF_D_LOCAL_ARRAYS, span, "`%s` has %llu bytes of local arrays, more than %d", name,
               (unsigned long long)sites->array_bytes, ZF_LOCAL_ARRAY_BYTES);
        return false;
    }
    for (uint32_t k = 0; k < sites->scan_count; k++) {
        const zf_reduce *reduce = sites->scans[k].reduce;
        if (reduce == NULL || reduce->form != ZF_R_PREFIX) continue;
        if (zf_prefix_edge(node, reduce) >= 0) continue;
        diag = report(p, ZF_D_NOT_LOWERED, span,
                      "`%s` sums over a range that depends on data, and its term does not say which stream the prefix sums "
                      "run along",
                      name);
        if (diag != NULL) zf_diag_remark(p->diags, diag, sites->scans[k].expr->span, "this reduction");
        hint(p, diag, "read exactly one stream at the binder, and no other stream: `sum(k in a..b: s[k])`");
        return false;
    }
    return true;
}

bool zf_edge_gives_strings(const zf_graph_edge *edge) {
    return edge->port != NULL && edge->port->whole && edge->type.kind == ZF_K_U8 && !edge->type.nullable;
}

bool zf_delivers_strings(const zf_graph *graph, uint32_t node) {
    return graph->nodes[node].output == 0 && graph->edges[0].type.kind == ZF_K_STRING;
}

// ---- Inlining -------------------------------------------------------------------------------------------------

/// Whether a list of paths between commas has one.
static bool lists(const char *list, const char *path) {
    size_t length = strlen(path);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strcspn(at, ",") == length && memcmp(at, path, length) == 0) return true;
    }
    return false;
}

static const char unfused_by_request[] = "unfused by request: materialised";

static bool has_edge(const uint32_t *edges, uint32_t count, uint32_t edge) {
    bool has = false;
    for (uint32_t k = 0; k < count; k++) has = has || edges[k] == edge;
    return has;
}

static bool is_unfused(const planner *p, const zf_graph_edge *edge) {
    if (has_edge(p->options->tree_edges, p->options->tree_edge_count, edge->index)) return true;
    const char *list = p->options->unfused;
    return list != NULL && (strcmp(list, ZF_UNFUSED_ALL) == 0 || lists(list, edge->path));
}

static bool has_uneven_chunks(const planner *p, uint32_t edge) {
    return has_edge(p->options->uneven_edges, p->options->uneven_edge_count, edge);
}

/// Decides an edge that has a producer, but for the size of its tree's state.
static void place(planner *p, const zf_graph_edge *edge) {
    const zf_inst *producer = p->graph->nodes[edge->producer].inst;
    const char **reason = &p->plan->edge_reason[edge->index];
    bool *inlined = &p->inlined[edge->index];
    if (edge->access == ZF_ACCESS_NONE) {
        *reason = "its elements are never read: not made";
    } else if (edge->decision == ZF_EDGE_MATERIALISED) {
        *reason = edge->reason;
    } else if (p->options->materialise_all) {
        *reason = "asked to materialise everything";
    } else if (edge->port->bitwise) {
        *reason = "bits are read from memory: materialised";
    } else if (producer->pattern == ZF_NON_PARALLEL) {
        *reason = "made in chunks: materialised";
    } else if (zf_edge_gives_strings(edge)) {
        *reason = "strings are slices of it: materialised";
    } else if (edge->decision == ZF_EDGE_FUSED && zf_keeps_state(producer) && is_unfused(p, edge)) {
        *reason = unfused_by_request;
    } else if (edge->decision == ZF_EDGE_FUSED && !zf_keeps_state(producer)) {
        *inlined = true;
        *reason = "a map over ordered inputs: an expression of its consumer";
    } else {
        *inlined = true;
        *reason = edge->reason;
    }
}

/// Appends a node and what is inlined into it, in pre-order.
static void gather_nodes(planner *p, uint32_t n, uint32_t *nodes, uint32_t *count) {
    const zf_graph_node *node = &p->graph->nodes[n];
    nodes[(*count)++] = n;
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        const zf_graph_edge *edge = &p->graph->edges[node->inputs[s]];
        if (edge->producer >= 0 && p->inlined[edge->index]) gather_nodes(p, (uint32_t)edge->producer, nodes, count);
    }
}

/// Fuses each stage again whose kernel would keep no state: a file names its unfused stages by their seek trees, and readers
/// would fuse this one. Children come before their consumers.
static void fuse_stateless(planner *p) {
    uint32_t *nodes = ZF_NEW_ARRAY(p->plan->arena, uint32_t, p->graph->node_count);
    for (uint32_t e = p->graph->edge_count; e-- > 1;) {
        const zf_graph_edge *edge = &p->graph->edges[e];
        if (p->plan->edge_reason[e] != unfused_by_request) continue;
        zf_kernel kernel = {.root = (uint32_t)edge->producer, .edge = e, .nodes = nodes};
        zf_seek_field *fields;
        gather_nodes(p, kernel.root, nodes, &kernel.node_count);
        zf_kernel_make_steps(p->plan, p->sites, &kernel);
        if (zf_kernel_seek_fields(p->plan, p->sites, &kernel, p->interval, &fields) > 0) continue;
        p->inlined[e] = true;
        p->plan->edge_reason[e] = edge->reason;
    }
}

/// Takes stages out of the tree at `n` whose states do not fit beside those before them, in pre-order.
static void bound_state(planner *p, uint32_t n, uint32_t *bytes) {
    const zf_graph_node *node = &p->graph->nodes[n];
    *bytes += zf_node_seek_bytes(node, &p->sites[n]);
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        const zf_graph_edge *edge = &p->graph->edges[node->inputs[s]];
        if (edge->producer < 0) continue;
        const zf_graph_node *child = &p->graph->nodes[edge->producer];
        uint32_t own = zf_node_seek_bytes(child, &p->sites[child->index]);
        if (p->inlined[edge->index] && own > 0 && *bytes + own > ZF_SEEK_STATE_BYTES) {
            p->inlined[edge->index] = false;
            p->plan->edge_reason[edge->index] = "the state of its tree would be too large: materialised";
        }
        uint32_t fresh = 0; // of a tree of its own
        bound_state(p, (uint32_t)edge->producer, p->inlined[edge->index] ? bytes : &fresh);
    }
}

// ---- Kernels --------------------------------------------------------------------------------------------------

static zf_kernel *add_kernel(planner *p, uint32_t root, uint32_t edge) {
    zf_kernel *kernel = &p->plan->kernels[p->plan->kernel_count];
    kernel->index = p->plan->kernel_count++;
    kernel->root = root;
    kernel->edge = edge;
    kernel->sink = -1;
    kernel->tree = -1;
    kernel->end_check = -1;
    const zf_choice *choice = zf_choices_find(p->options->choices, kernel->index);
    if (choice != NULL && p->plan->target->wave > 0) kernel->choice = *choice;
    return kernel;
}

static void add_work(planner *p, zf_kernel *kernel, zf_type type, const zf_reduce *prefix) {
    zf_work *work = &p->plan->works[p->plan->work_count];
    *work = (zf_work){.edge = kernel->edge, .type = zf_type_strip(type), .kernel = kernel->index, .prefix = prefix};
    kernel->sink = (int32_t)p->plan->work_count++;
    if (prefix == NULL) p->plan->edge_work[kernel->edge] = kernel->sink;
}

bool zf_kernel_is_ordered(const zf_plan *plan, const zf_kernel *kernel) {
    return kernel->prefix != NULL || kernel->step_count > 1 || zf_delivers_strings(plan->graph, kernel->root);
}

enum { NARROW = 4 }; // bytes

/// Whether groups of one stage make numbers of few bytes of streams that are not packed.
static bool is_plain(const zf_plan *plan, const zf_kernel *kernel) {
    zf_type type = plan->graph->edges[kernel->edge].type;
    if (type.nullable || type.kind == ZF_K_BOOL || zf_kind_size(type.kind) == 0 || zf_kind_size(type.kind) > NARROW) return false;
    uint32_t expansions = 0;
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        if (kernel->steps[s].kind == ZF_STEP_SCAN) return false;
        expansions += kernel->steps[s].kind == ZF_STEP_EXPAND;
    }
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        const zf_inst *inst = plan->graph->nodes[kernel->nodes[n]].inst;
        for (uint32_t s = 0; s < inst->stream_count; s++) {
            if (inst->streams[s]->bitwise) return false;
        }
    }
    return expansions == 1;
}

static zf_loop loop_of(const zf_plan *plan, const zf_kernel *kernel) {
    if (kernel->domain == ZF_DOMAIN_GROUPS && is_plain(plan, kernel)) return ZF_LOOP_PLAIN;
    if (kernel->domain != ZF_DOMAIN_ELEMENTS) return ZF_LOOP_MAP;
    if (zf_kernel_is_ordered(plan, kernel)) return ZF_LOOP_SCAN;
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        const zf_inst *inst = plan->graph->nodes[kernel->nodes[n]].inst;
        for (uint32_t s = 0; s < inst->stream_count; s++) {
            const zf_port *port = inst->streams[s];
            if (port->access == ZF_ACCESS_GATHER && !port->bitwise && !port->whole) return ZF_LOOP_GATHER;
        }
    }
    return ZF_LOOP_MAP;
}

zf_geometry zf_kernel_default_geometry(const zf_plan *plan, const zf_kernel *kernel) {
    zf_geometry geometry = *zf_geometry_default(plan->target, kernel->domain, loop_of(plan, kernel));
    if (geometry.s == 0) geometry.s = plan->target->wave;
    if (geometry.c == 0) { // elements that make 16 bytes; booleans that make one
        zf_type type = kernel->prefix != NULL ? kernel->prefix->term->type : plan->graph->edges[kernel->edge].type;
        unsigned size = zf_kind_size(type.kind);
        geometry.c = type.kind == ZF_K_BOOL || size == 0 ? 8 : 16 / size;
    }
    return geometry;
}

static void set_geometry(planner *p, zf_kernel *kernel) {
    kernel->geometry = zf_kernel_default_geometry(p->plan, kernel);
    kernel->geometry.l = zf_choice_value(&kernel->choice, ZF_CHOICE_L, kernel->geometry.l);
    kernel->geometry.s = zf_choice_value(&kernel->choice, ZF_CHOICE_THREADS, kernel->geometry.s);
    kernel->geometry.c = zf_choice_value(&kernel->choice, ZF_CHOICE_C, kernel->geometry.c);
    // A kernel with a state is tiled by its seek interval, whatever the geometry of the loop inside; chunks are tiles of their
    // own.
    if (kernel->domain == ZF_DOMAIN_CHUNKS)
        kernel->tile = zf_chunk_tile(p->graph, kernel->root, has_uneven_chunks(p, kernel->edge));
    else if (zf_kernel_is_ordered(p->plan, kernel))
        kernel->tile = p->interval;
    else
        kernel->tile = kernel->geometry.l * kernel->geometry.s * kernel->geometry.c;
}

static void make_prefix_kernel(planner *p, const zf_graph_node *node, const zf_reduce *reduce) {
    zf_kernel *kernel = add_kernel(p, node->index, (uint32_t)zf_prefix_edge(node, reduce));
    kernel->domain = ZF_DOMAIN_ELEMENTS;
    kernel->prefix = reduce;
    kernel->steps = ZF_NEW(p->plan->arena, zf_step);
    kernel->steps[kernel->step_count++] = (zf_step){.kind = ZF_STEP_SCAN, .node = node->index, .reduce = reduce};
    kernel->level_count = 1;
    kernel->nodes = ZF_NEW_ARRAY(p->plan->arena, uint32_t, p->graph->node_count);
    kernel->nodes[kernel->node_count++] = node->index;
    const zf_graph_edge *edge = &p->graph->edges[kernel->edge];
    if (edge->producer >= 0 && p->inlined[edge->index]) {
        gather_nodes(p, (uint32_t)edge->producer, kernel->nodes, &kernel->node_count);
    }
    add_work(p, kernel, reduce->term->type, reduce);
    set_geometry(p, kernel);
}

bool zf_kernel_can_be_shared(const zf_plan *plan, const zf_kernel *kernel) {
    return kernel->domain == ZF_DOMAIN_CHUNKS && zf_chunk_can_be_shared(&plan->graph->nodes[kernel->root]);
}

bool zf_kernel_is_shared_by_default(const zf_plan *plan, const zf_kernel *kernel) {
    return zf_kernel_can_be_shared(plan, kernel) && zf_chunk_emits_ranges(&plan->graph->nodes[kernel->root]);
}

static bool walked_by_warp(const planner *p, const zf_kernel *kernel) {
    uint32_t asked = zf_choice_value(&kernel->choice, ZF_CHOICE_WALK, p->options->chunk_threads);
    if (p->plan->target->wave == 0 || !zf_kernel_can_be_shared(p->plan, kernel)) return false;
    return asked == 0 ? zf_kernel_is_shared_by_default(p->plan, kernel) : asked > 1;
}

/// Makes the kernels that a tree needs, then its own. Children come first, in the order of their streams.
static void make_kernels(planner *p, uint32_t root, uint32_t edge) {
    uint32_t *nodes = ZF_NEW_ARRAY(p->plan->arena, uint32_t, p->graph->node_count);
    uint32_t node_count = 0;
    gather_nodes(p, root, nodes, &node_count);
    for (uint32_t k = 0; k < node_count; k++) {
        const zf_graph_node *node = &p->graph->nodes[nodes[k]];
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            const zf_graph_edge *input = &p->graph->edges[node->inputs[s]];
            if (input->producer < 0 || p->inlined[input->index] || input->access == ZF_ACCESS_NONE) continue;
            make_kernels(p, (uint32_t)input->producer, input->index);
        }
    }
    // The prefix sums that they take differences of: of steps before their consumers'.
    for (uint32_t k = node_count; k-- > 0;) {
        const zf_sites *sites = &p->sites[nodes[k]];
        for (uint32_t r = 0; r < sites->scan_count; r++) {
            const zf_reduce *reduce = sites->scans[r].reduce;
            if (reduce != NULL && reduce->form == ZF_R_PREFIX) make_prefix_kernel(p, &p->graph->nodes[nodes[k]], reduce);
        }
    }
    const zf_graph_node *node = &p->graph->nodes[root];
    zf_kernel *kernel = add_kernel(p, root, edge);
    kernel->domain = node->inst->pattern == ZF_GROUP_PARALLEL ? ZF_DOMAIN_GROUPS
                     : node->inst->pattern == ZF_NON_PARALLEL ? ZF_DOMAIN_CHUNKS
                                                              : ZF_DOMAIN_ELEMENTS;
    kernel->nodes = nodes;
    kernel->node_count = node_count;
    kernel->store_first = node->inst->reads_out;
    kernel->by_warp = walked_by_warp(p, kernel);
    zf_kernel_make_steps(p->plan, p->sites, kernel);
    if (edge != 0) add_work(p, kernel, p->graph->edges[edge].type, NULL);
    set_geometry(p, kernel);
}

// ---- Seek trees -----------------------------------------------------------------------------------------------

static bool make_trees(planner *p) {
    zf_plan *plan = p->plan;
    plan->trees = ZF_NEW_ARRAY(plan->arena, zf_seek_tree, plan->kernel_count);
    // Numbered by the roots' pre-order, as everything in the file is; a node's prefix sums before the node itself.
    for (uint32_t n = 0; n < p->graph->node_count; n++) {
        for (uint32_t k = 0; k < plan->kernel_count; k++) {
            zf_kernel *kernel = &plan->kernels[k];
            if (kernel->root != n) continue;
            zf_seek_tree tree = {.edge = kernel->edge};
            if (kernel->prefix != NULL) {
                tree.fields = ZF_NEW(plan->arena, zf_seek_field);
                tree.fields[tree.field_count++] = (zf_seek_field){
                    .kind = ZF_SEEK_SCAN, .node = n, .reduce = kernel->prefix->index, .type = kernel->prefix->term->type.kind};
            } else if (kernel->domain == ZF_DOMAIN_CHUNKS) {
                tree.field_count = zf_chunk_fields(plan, n, has_uneven_chunks(p, kernel->edge), &tree.fields);
            } else {
                tree.field_count = zf_kernel_seek_fields(plan, p->sites, kernel, p->interval, &tree.fields);
            }
            if (tree.field_count == 0) continue;
            uint32_t bytes = 0;
            for (uint32_t f = 0; f < tree.field_count; f++) bytes += zf_kind_size(tree.fields[f].type);
            if (bytes > ZF_SEEK_STATE_BYTES && kernel->domain != ZF_DOMAIN_CHUNKS) {
                zf_diag *diag = report(p, ZF_D_SEEK_STATE, p->graph->nodes[n].codec->span,
                                       "the seek state of `%s` has %u bytes, more than %d", p->graph->nodes[n].inst->name, bytes,
                                       ZF_SEEK_STATE_BYTES);
                hint(p, diag, "use fewer scans in one algorithm");
                return false;
            }
            kernel->tree = (int32_t)plan->tree_count;
            plan->trees[plan->tree_count++] = tree;
        }
    }
    return true;
}

// ---- Descriptor words and shaping params ----------------------------------------------------------------------

static void add_slot(zf_plan *plan, zf_abi_slot_kind kind, uint32_t a, uint32_t b) {
    plan->slots[plan->slot_count++] = (zf_abi_slot){.kind = kind, .a = a, .b = b};
}

static void make_slots(planner *p) {
    zf_plan *plan = p->plan;
    const zf_graph *graph = p->graph;
    uint32_t fields = 0;
    for (uint32_t t = 0; t < plan->tree_count; t++) fields += plan->trees[t].field_count;
    plan->slots = ZF_NEW_ARRAY(plan->arena, zf_abi_slot,
                               graph->param_count + graph->stored_count + graph->edge_count + 2 * fields + plan->tree_count + 1);
    plan->shaping = ZF_NEW_ARRAY(plan->arena, uint32_t, graph->param_count + 1);
    bool *evaluated = ZF_NEW_ARRAY(plan->arena, bool, graph->node_count);
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        for (uint32_t n = 0; n < plan->kernels[k].node_count; n++) evaluated[plan->kernels[k].nodes[n]] = true;
    }
    // A given param is a constant of the code: it needs no word. Others are checked once per block, used or not.
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const zf_graph_node *node = &graph->nodes[n];
        for (uint32_t s = 0; s < node->inst->param_count; s++) {
            if (node->codec->param_given[s]) continue;
            add_slot(plan, ZF_SLOT_PARAM, node->first_param + s, 0);
            if (evaluated[n] && node->inst->params[s]->shapes) plan->shaping[plan->shaping_count++] = node->first_param + s;
        }
    }
    for (uint32_t s = 0; s < graph->stored_count; s++) add_slot(plan, ZF_SLOT_OFFSET, s, 0);
    for (uint32_t e = 0; e < graph->edge_count; e++) add_slot(plan, ZF_SLOT_COUNT, e, 0);
    for (uint32_t t = 0; t < plan->tree_count; t++) {
        for (uint32_t f = 0; f < plan->trees[t].field_count; f++) {
            add_slot(plan, ZF_SLOT_SEEK_OFFSET, t, f);
            add_slot(plan, ZF_SLOT_SEEK_WIDTH, t, f);
        }
        if (zf_tree_is_uneven(&plan->trees[t])) add_slot(plan, ZF_SLOT_CHUNKS, t, 0);
    }
    if (graph->edges[0].type.kind == ZF_K_STRING) add_slot(plan, ZF_SLOT_CHARACTERS, 0, 0);
}

// ---- Building -------------------------------------------------------------------------------------------------

static bool check_options(planner *p) {
    zf_span span = p->graph->column->span;
    if (p->plan->target == NULL) {
        report(p, ZF_D_NOT_LOWERED, span, "there is no target `%s`", p->options->target);
        return false;
    }
    uint32_t a = p->interval;
    if (a < ZF_SEEK_INTERVAL_LEAST || a > ZF_SEEK_INTERVAL_MOST || (a & (a - 1)) != 0) {
        report(p, ZF_D_SEEK_STATE, span, "a seek interval of %u is not a power of two in %d..=%d", a, ZF_SEEK_INTERVAL_LEAST,
               ZF_SEEK_INTERVAL_MOST);
        return false;
    }
    return true;
}

static bool check_lowered(planner *p) {
    const zf_graph *graph = p->graph;
    bool good = true;
    for (uint32_t n = 0; n < graph->node_count && good; n++) {
        const zf_graph_node *node = &graph->nodes[n];
        good = lowered_node(p, node);
        for (uint32_t s = 0; s < node->inst->stream_count && good; s++) {
            const zf_graph_edge *edge = &graph->edges[node->inputs[s]];
            good = storable(p, edge, node->codec->span);
        }
    }
    return good;
}

// A warp makes a scan's tile: short tiles allow more resident warps. Elements of eight bytes in 5 bits each reach 88% of the
// limit of an H200 with 1024 (bench/results/h200/2026-11-24-speed.json); with 512 three hundredths more, seen once, for 0.6% of
// the ratio.
static uint32_t usual_interval(const zf_graph *graph) {
    const zf_inst *root = graph->nodes[0].inst;
    if (root->pattern != ZF_FULLY_PARALLEL || !zf_inst_has_scan(root)) return ZF_SEEK_INTERVAL_DEFAULT;
    zf_type type = graph->edges[0].type;
    bool wide = zf_kind_size(type.kind) == 8 && !type.nullable;
    for (uint32_t n = 1; n < graph->node_count; n++) wide = wide && graph->nodes[n].inst->pattern == ZF_FULLY_PARALLEL;
    return wide ? ZF_SEEK_INTERVAL_SCAN_WIDE : ZF_SEEK_INTERVAL_SCAN;
}

zf_plan *zf_plan_build(zf_arena *arena, const zf_graph *graph, const zf_plan_options *options, zf_diags *diags) {
    static const zf_plan_options defaults = {.target = NULL};
    if (options == NULL) options = &defaults;
    zf_plan *plan = ZF_NEW(arena, zf_plan);
    plan->arena = arena;
    plan->graph = graph;
    plan->target = options->target != NULL ? zf_target_find(options->target) : &zf_target_host;
    plan->edge_work = ZF_NEW_ARRAY(arena, int32_t, graph->edge_count);
    plan->edge_reason = ZF_NEW_ARRAY(arena, const char *, graph->edge_count);
    planner p = {.plan = plan, .graph = graph, .options = options, .diags = diags};
    p.interval = options->seek_interval;
    if (p.interval == 0) p.interval = usual_interval(graph);
    p.inlined = ZF_NEW_ARRAY(arena, bool, graph->edge_count);
    p.sites = zf_plan_sites(arena, graph);
    if (!check_options(&p) || !check_lowered(&p)) return NULL;

    uint32_t most = graph->node_count;
    for (uint32_t n = 0; n < graph->node_count; n++) most += p.sites[n].scan_count;
    plan->kernels = ZF_NEW_ARRAY(arena, zf_kernel, most);
    plan->works = ZF_NEW_ARRAY(arena, zf_work, most);
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        plan->edge_work[e] = -1;
        if (graph->edges[e].producer < 0 || e == 0)
            plan->edge_reason[e] = graph->edges[e].reason;
        else
            place(&p, &graph->edges[e]);
    }
    fuse_stateless(&p);
    uint32_t bytes = 0;
    bound_state(&p, 0, &bytes);
    make_kernels(&p, 0, 0);
    if (!make_trees(&p)) return NULL;
    zf_plan_find_characters(plan);
    zf_plan_find_short_strings(plan);
    make_slots(&p);
    if (!zf_plan_add_checks(plan, p.sites, diags)) return NULL;
    plan->block_checks = zf_plan_block_checks(arena, plan, diags);
    if (plan->block_checks == NULL) return NULL;
    if (!options->materialise_all) zf_plan_find_packed(plan);
    return plan;
}

int32_t zf_plan_slot(const zf_plan *plan, zf_abi_slot_kind kind, uint32_t a, uint32_t b) {
    for (uint32_t s = 0; s < plan->slot_count; s++) {
        if (plan->slots[s].kind == kind && plan->slots[s].a == a && plan->slots[s].b == b) return (int32_t)s;
    }
    return -1;
}

int32_t zf_plan_prefix_work(const zf_plan *plan, uint32_t node, const zf_reduce *prefix) {
    for (uint32_t w = 0; w < plan->work_count; w++) {
        const zf_work *work = &plan->works[w];
        // Equal reductions share an index, not always their address.
        if (work->prefix != NULL && work->prefix->index == prefix->index && plan->kernels[work->kernel].root == node) {
            return (int32_t)w;
        }
    }
    return -1;
}
