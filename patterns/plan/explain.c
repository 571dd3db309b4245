#include "patterns/plan/explain.h"

#include <string.h>

#include "patterns/graph/decision.h"
#include "patterns/plan/plan_internal.h"
#include "patterns/plan/traffic.h"

static const char *const domain_names[] = {"elements", "groups", "chunks"};
static const char *const step_names[] = {"expand", "scan", "map"};
typedef unsigned long long ull;

static const char *const pattern_names[] = {"fully_parallel", "group_parallel", "non_parallel"};

static const char *shown(const char *path) { return *path == '\0' ? "column" : path; }

/// "counts.width".
static const char *param_path(const zf_graph *graph, uint32_t param) {
    uint32_t node = 0;
    const zf_port *port = zf_graph_param(graph, param, &node);
    const char *path = graph->nodes[node].path;
    return *path == '\0' ? port->name : zf_arena_printf(graph->arena, "%s.%s", path, port->name);
}

/// A number of bytes without needless digits.
static void put_bytes(zf_text *out, double bits) { zf_text_printf(out, "%.4g", bits / 8); }

/// "4", "width / 8", "2 * width / 8".
static void put_amount(zf_text *out, const zf_traffic *item) {
    if (item->param == NULL) {
        put_bytes(out, item->bits);
    } else if (item->bits == 1) {
        zf_text_printf(out, "%s / 8", item->param);
    } else {
        zf_text_printf(out, "%g * %s / 8", item->bits, item->param);
    }
}

/// Everything that kernels write: all of an element's bytes, into work buffers and the column.
/// Validity is a bit of the column, and a byte of a work buffer.
static double written_bits(const zf_graph_edge *edge) {
    return zf_kind_bits(edge->type.kind) + (!edge->type.nullable ? 0 : edge->index == 0 ? 1 : 8);
}

enum { OFFSET_BITS = 64, HANDLE_BITS = 128 }; // of a string of a column, of one in a work buffer

static double sink_bits(const zf_plan *plan, const zf_kernel *kernel) {
    if (kernel->prefix != NULL) return zf_kind_bits(kernel->prefix->term->type.kind);
    const zf_graph_edge *edge = &plan->graph->edges[kernel->edge];
    if (edge->type.kind == ZF_K_STRING) return written_bits(edge) + (kernel->sink < 0 ? OFFSET_BITS : HANDLE_BITS);
    return written_bits(edge);
}

/// Whether a kernel stores strings of the column, and their characters with them.
static bool stores_characters(const zf_plan *plan, const zf_kernel *kernel) {
    return kernel->sink < 0 && plan->graph->edges[kernel->edge].type.kind == ZF_K_STRING && zf_plan_characters(plan) == NULL;
}

static const char *buffer_kind(const zf_traffic *item) {
    return item->is_sums ? "prefix sums of " : item->is_work ? "work of " : "";
}

/// The limit of a kernel in elements a second, as a formula over the device's copy bandwidth B.
static void put_limit(const zf_plan *plan, const zf_kernel *kernel, const zf_traffic *reads, uint32_t count, zf_text *out) {
    zf_text_puts(out, "B / (");
    for (uint32_t k = 0; k < count; k++) {
        if (reads[k].per == ZF_PER_DATA) {
            zf_text_printf(out, "bytes read of %s%s", buffer_kind(&reads[k]), plan->graph->edges[reads[k].edge].path);
        } else {
            put_amount(out, &reads[k]);
            if (reads[k].per == ZF_PER_GROUP) zf_text_puts(out, " * groups / elements");
        }
        zf_text_puts(out, " + ");
    }
    put_bytes(out, sink_bits(plan, kernel));
    zf_text_puts(out, stores_characters(plan, kernel) ? " + characters / elements)" : ")");
}

/// The limit of the whole column, in which buffers between kernels are no excuse.
static void put_column_limit(const zf_graph *graph, zf_text *out) {
    bool is_text = graph->edges[0].type.kind == ZF_K_STRING;
    zf_text_puts(out, is_text ? "(stored bytes + characters + " : "(stored bytes + ");
    put_bytes(out, written_bits(&graph->edges[0]) + (is_text ? OFFSET_BITS : 0));
    zf_text_puts(out, " * elements) / B");
}

static void put_shaping(const zf_plan *plan, zf_text *out, void (*put)(zf_text *, const char *)) {
    for (uint32_t s = 0; s < plan->shaping_count; s++) {
        if (s > 0) zf_text_puts(out, ", ");
        put(out, param_path(plan->graph, plan->shaping[s]));
    }
}

/// How a place of a node is checked. Counted once per node and place.
typedef struct check_counts {
    uint32_t proved, hoisted, kept;
} check_counts;

static check_counts count_checks(const zf_graph *graph, const zf_plan *plan, const zf_sites *sites) {
    check_counts counts = {.hoisted = 0};
    for (uint32_t n = 0; n < graph->node_count; n++) {
        for (uint32_t k = 0; k < sites[n].site_count; k++) {
            if (!zf_site_needed(graph, &graph->nodes[n], &sites[n].sites[k])) counts.proved++;
        }
    }
    for (uint32_t c = 0; c < plan->check_count; c++) {
        if (plan->checks[c].hoisted)
            counts.hoisted++;
        else
            counts.kept++;
    }
    return counts;
}

/// How often a check that stays is made.
static const char *frequency(const zf_plan *plan, const zf_check *check) {
    if (check->hoisted) return "once per block";
    if (check->violation == 9) return "once per tile";
    const zf_inst *inst = plan->graph->nodes[check->node].inst;
    return inst->pattern == ZF_GROUP_PARALLEL ? "per element or group" : "per element";
}

static void put_place(zf_span span, zf_text *out) {
    if (span.source == NULL) return;
    zf_position at = zf_source_position(span.source, span.begin);
    zf_text_printf(out, "%s:%u:%u", span.source->path, at.line, at.column);
}

// ---- Text -----------------------------------------------------------------------------------------------------

/// Prints the decision for an edge with a producer: the plan's decision if there is a plan, else the decision that the graph
/// allows.
static void text_decision(const zf_plan *plan, const zf_graph_edge *edge, zf_text *out) {
    static const char suffix[] = ": materialised"; // of the plan's reasons
    if (plan == NULL || plan->edge_work[edge->index] < 0 || edge->decision == ZF_EDGE_MATERIALISED) {
        zf_text_puts(out, zf_decision_name(edge->decision));
        if (edge->index != 0) zf_text_printf(out, " (%s)", edge->reason);
        return;
    }
    const char *reason = plan->edge_reason[edge->index];
    size_t length = strlen(reason), end = sizeof suffix - 1;
    if (length >= end && strcmp(reason + length - end, suffix) == 0) length -= end;
    zf_text_printf(out, "%s (%.*s)", zf_decision_name(ZF_EDGE_MATERIALISED), (int)length, reason);
}

/// The rewrite that lets an edge fuse; NULL: none is known. A stream that is read beside the domain's index needs all elements of
/// its ordered producer first.
static const char *edge_rewrite(const zf_graph *graph, const zf_graph_edge *edge) {
    if (edge->producer < 0 || edge->decision != ZF_EDGE_MATERIALISED || edge->port == NULL || !edge->port->neighbours)
        return NULL;
    if (graph->nodes[edge->producer].capability != ZF_CAP_ORDERED) return NULL;
    const char *name = edge->port->name;
    const char *d = graph->nodes[edge->consumer].inst->pattern == ZF_GROUP_PARALLEL ? "g" : "i";
    return zf_arena_printf(graph->arena,
                           "store the differences of neighbours in `%s`: read `%s[%s]` for a difference, and "
                           "`sum(k in 0..=%s: %s[k])` for a value",
                           name, name, d, d, name);
}

static void text_edge(const zf_graph *graph, const zf_plan *plan, const zf_graph_edge *edge, unsigned indent, zf_text *out) {
    zf_text_printf(out, "  %*s%s %s: ", (int)(2 * indent), "", edge->port != NULL ? edge->port->name : graph->column->name,
                   zf_type_name(graph->arena, edge->type));
    if (edge->producer < 0) {
        zf_text_printf(out, "stored; %s\n", zf_access_name(edge->access));
        return;
    }
    const zf_graph_node *node = &graph->nodes[edge->producer];
    zf_text_printf(out, "%s, %s, %s; %s, ", node->inst->name, pattern_names[node->inst->pattern],
                   zf_capability_name(node->capability), zf_access_name(edge->access));
    text_decision(plan, edge, out);
    zf_text_puts(out, "\n");
    const char *rewrite = edge_rewrite(graph, edge);
    if (rewrite != NULL) zf_text_printf(out, "  %*s  rewrite: %s\n", (int)(2 * indent), "", rewrite);
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        text_edge(graph, plan, &graph->edges[node->inputs[s]], indent + 1, out);
    }
}

/// All buffers that a kernel reads, in the plan's arena.
static uint32_t reads_of(const zf_plan *plan, const zf_sites *sites, const zf_kernel *kernel, zf_traffic **reads) {
    uint32_t count = zf_kernel_reads(plan, sites, kernel, NULL, 0);
    *reads = ZF_NEW_ARRAY(plan->arena, zf_traffic, count);
    return zf_kernel_reads(plan, sites, kernel, *reads, count);
}

/// The kernel whose elements may hold the column's; NULL: there is none.
static const zf_kernel *packing_kernel(const zf_plan *plan) {
    for (uint32_t w = 0; w < plan->work_count; w++) {
        if (plan->works[w].packed != NULL) return &plan->kernels[plan->works[w].kernel];
    }
    return NULL;
}

/// "width is 1, 2, 4 or 8": of the param by which `kernel`, a packing one, stores the column's elements.
static void put_widths(const zf_plan *plan, const zf_kernel *kernel, zf_text *out, bool named, const char *last) {
    const zf_work *work = &plan->works[kernel->sink];
    const zf_graph_node *node = &plan->graph->nodes[plan->graph->edges[work->edge].consumer];
    uint64_t widths[64];
    uint32_t count = 0;
    for (uint64_t width = 1; width <= 64; width++) {
        bool given = node->codec->param_given[work->packed->slot] && node->codec->param_bits[work->packed->slot] != width;
        bool inside = (zf_int128)width >= work->packed->range.lo && (zf_int128)width <= work->packed->range.hi;
        if (!given && inside && zf_work_unpacks(work, width) > 0) widths[count++] = width;
    }
    if (named) zf_text_printf(out, "%s is ", param_path(plan->graph, node->first_param + work->packed->slot));
    for (uint32_t k = 0; k < count; k++)
        zf_text_printf(out, "%s%llu", k == 0 ? "" : k + 1 == count ? last : ", ", (unsigned long long)widths[k]);
}

static void text_unpacking(const zf_plan *plan, const zf_kernel *kernel, zf_text *out) {
    const zf_kernel *packing = packing_kernel(plan);
    if (packing == NULL || (kernel != packing && kernel->sink >= 0)) return;
    zf_text_puts(out, kernel == packing ? "\n    stores  the column's elements, where " : "\n    absent  where ");
    put_widths(plan, packing, out, true, " or ");
    if (kernel != packing) zf_text_printf(out, ": kernel %u stores the column", packing->index);
}

static void text_kernel(const zf_plan *plan, const zf_sites *sites, const zf_kernel *kernel, const zf_explain_form *form,
                        zf_text *out) {
    const zf_graph *graph = plan->graph;
    zf_text_printf(out, "  kernel %u: %s -> %s%s\n", kernel->index, domain_names[kernel->domain],
                   kernel->prefix != NULL ? "prefix sums along " : "", shown(graph->edges[kernel->edge].path));
    zf_text_puts(out, "    fused   ");
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        zf_text_printf(out, "%s%s", n == 0 ? "" : ", ", graph->nodes[kernel->nodes[n]].inst->name);
    }
    if (zf_plan_may_go_to_column(plan, kernel->sink))
        zf_text_puts(out, plan->target->wave == 0
                              ? "\n    stores  the column's characters, where all of a block's are wanted; else a buffer"
                              : "\n    stores  the column's characters");
    text_unpacking(plan, kernel, out);
    zf_text_puts(out, "\n    steps   ");
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        const zf_step *step = &kernel->steps[s];
        zf_text_printf(out, "%s%s %s", s == 0 ? "" : ", ", step_names[step->kind], shown(graph->nodes[step->node].path));
    }
    zf_text_printf(out, "\n    tile    %u outputs, <L,S,C> = <%u,%u,%u>", kernel->tile, kernel->geometry.l, kernel->geometry.s,
                   kernel->geometry.c);
    if (kernel->choice.chosen != 0) {
        zf_text_puts(out, ", chosen: ");
        zf_choice_print(&kernel->choice, out);
    }
    if (kernel->domain == ZF_DOMAIN_CHUNKS) {
        zf_text_printf(out, "; chunks of %s%u", zf_kernel_is_uneven(plan, kernel) ? "at most " : "",
                       (unsigned)graph->nodes[kernel->root].codec->chunk_size);
        if (kernel->tree >= 0) {
            uint32_t streams = plan->trees[kernel->tree].field_count;
            if (zf_kernel_is_uneven(plan, kernel)) streams = (streams - 1) / 2;
            zf_text_printf(out, ", a directory of %u stream%s", streams, streams == 1 ? "" : "s");
        }
        const zf_graph_node *root = &graph->nodes[kernel->root];
        if (plan->target->wave > 0 && root->inst->lanes == 0) {
            zf_text_printf(out, "\n    walked  by a %s a chunk: %s", kernel->by_warp ? "warp" : "thread",
                           zf_chunk_walk_reason(root, kernel->by_warp));
        }
    } else if (kernel->tree >= 0) {
        const zf_seek_tree *tree = &plan->trees[kernel->tree];
        uint32_t bytes = 0;
        for (uint32_t f = 0; f < tree->field_count; f++) bytes += zf_kind_size(tree->fields[f].type);
        zf_text_printf(out, "; a seek point of %u field%s (at most %u bytes) each", tree->field_count,
                       tree->field_count == 1 ? "" : "s", bytes);
    }
    zf_text_puts(out, "\n");
    if (form != NULL) zf_explain_form_text(plan, form, 4, out);
    zf_traffic *reads;
    uint32_t count = reads_of(plan, sites, kernel, &reads);
    zf_text_puts(out, "    reads   ");
    if (count == 0) zf_text_puts(out, "nothing");
    for (uint32_t k = 0; k < count; k++) {
        zf_text_printf(out, "%s%s%s: ", k == 0 ? "" : ", ", buffer_kind(&reads[k]), graph->edges[reads[k].edge].path);
        if (reads[k].per == ZF_PER_DATA) {
            zf_text_puts(out, "an amount that depends on the data");
        } else {
            put_amount(out, &reads[k]);
            zf_text_puts(out, reads[k].per == ZF_PER_GROUP ? " bytes per group" : " bytes per element");
            if (reads[k].param != NULL) zf_text_printf(out, " (%s is chosen for each block)", reads[k].param);
        }
    }
    zf_text_puts(out, "\n    writes  ");
    put_bytes(out, sink_bits(plan, kernel));
    zf_text_puts(out, stores_characters(plan, kernel) ? " bytes per element, and characters" : " bytes per element");
    zf_text_puts(out, "\n    limit   ");
    put_limit(plan, kernel, reads, count, out);
    zf_text_puts(out, " elements per second, by memory\n");
}

// ---- Tuples of shaping values -----------------------------------------------------------------------------------

void zf_explain_tuples_text(const zf_tuple_count *t, zf_text *out) {
    if (t->general_blocks == 0) return;
    zf_text_printf(out, "%llu tuples of shaping values occur, %llu without code of %s own: ", (ull)t->tuples,
                   (ull)t->general_tuples, t->general_tuples == 1 ? "its" : "their");
    zf_text_printf(out, "%llu of %llu blocks (%llu of %llu rows) %s the general code, which is slower; ", (ull)t->general_blocks,
                   (ull)t->blocks, (ull)t->general_rows, (ull)t->rows, t->general_blocks == 1 ? "runs" : "run");
    if (t->limit == 0)
        zf_text_puts(out, "the module has no other");
    else if (t->most <= ZF_TUPLES_MOST)
        zf_text_printf(out, "--shaping-tuples %llu gives each tuple its own", (ull)t->most);
    else
        zf_text_printf(out, "--shaping-tuples %d gives most tuples their own", ZF_TUPLES_MOST);
    zf_text_puts(out, "\n");
}

static void json_tuples(const zf_tuple_count *t, zf_text *out) {
    zf_text_puts(out, "\"tuples\": ");
    if (t == NULL)
        zf_text_puts(out, "null");
    else
        zf_text_printf(out,
                       "{\"occur\": %llu, \"limit\": %llu, \"general_tuples\": %llu, \"general_blocks\": %llu, "
                       "\"general_rows\": %llu}",
                       (ull)t->tuples, (ull)t->limit, (ull)t->general_tuples, (ull)t->general_blocks, (ull)t->general_rows);
}

static void plain_put(zf_text *out, const char *text) { zf_text_puts(out, text); }

void zf_explain_text(const zf_explained *what, zf_text *out) {
    const zf_graph *graph = what->graph;
    const zf_plan *plan = what->plan;
    const zf_column *column = graph->column;
    zf_text_printf(out, "%s: %s = %s\n", column->name, zf_type_name(graph->arena, column->type), column->codec_text);
    zf_text_puts(out, "\ngraph (stream: producer; access, decision)\n");
    text_edge(graph, plan, &graph->edges[0], 0, out);
    if (plan == NULL) return;

    const zf_sites *sites = zf_plan_sites(plan->arena, graph);
    zf_text_printf(out, "\nkernels on %s: %u", plan->target->name, plan->kernel_count);
    if (plan->shaping_count > 0) {
        zf_text_puts(out, " for each tuple of (");
        put_shaping(plan, out, plain_put);
        zf_text_puts(out, ")");
    }
    const zf_kernel *packing = packing_kernel(plan);
    if (packing != NULL) {
        zf_text_printf(out, "; %u where ", plan->kernel_count - 1);
        put_widths(plan, packing, out, true, " or ");
    }
    zf_text_puts(out, "\n");
    if (what->tuples != NULL) zf_explain_tuples_text(what->tuples, out);
    zf_text_puts(out, "limit on a GPU: at least ");
    put_column_limit(graph, out);
    zf_text_puts(out, " seconds, where B is its copy bandwidth in bytes per second; a CPU is bound by instructions\n");
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        text_kernel(plan, sites, &plan->kernels[k], what->forms != NULL ? &what->forms[k] : NULL, out);
    }
    zf_explain_gpu_text(what, out);

    check_counts counts = count_checks(graph, plan, sites);
    zf_text_printf(out, "\nchecks: %u proved, %u once per block, %u in kernels\n", counts.proved, counts.hoisted, counts.kept);
    for (uint32_t c = 0; c < plan->check_count; c++) {
        const zf_check *check = &plan->checks[c];
        const zf_graph_node *node = &graph->nodes[check->node];
        zf_text_printf(out, "  V%02u %s, %s: %s, ", check->violation, shown(node->path), check->text, frequency(plan, check));
        put_place(check->span, out);
        zf_text_puts(out, "\n");
    }
}

// ---- JSON -----------------------------------------------------------------------------------------------------

static void json_edges(const zf_graph *graph, const zf_plan *plan, zf_text *out) {
    zf_text_puts(out, "\"edges\": [");
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        const zf_graph_edge *edge = &graph->edges[e];
        const zf_inst *inst = edge->producer >= 0 ? graph->nodes[edge->producer].inst : NULL;
        zf_text_printf(out, "%s\n    {\"edge\": %u, ", e == 0 ? "" : ",", e);
        zf_text_json_pair(out, "path", edge->path);
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "type", zf_type_name(graph->arena, edge->type));
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "producer", inst != NULL ? inst->name : NULL);
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "pattern", inst != NULL ? pattern_names[inst->pattern] : NULL);
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "access", zf_access_name(edge->access));
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "capability", zf_capability_name(edge->capability));
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "decision", zf_decision_name(edge->decision));
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "reason", edge->reason);
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "rewrite", edge_rewrite(graph, edge));
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "planned", plan == NULL || edge->producer < 0 ? NULL : plan->edge_reason[e]);
        zf_text_printf(out, ", \"materialised\": %s}", plan != NULL && plan->edge_work[e] >= 0 ? "true" : "false");
    }
    zf_text_puts(out, "]");
}

static void json_reads(const zf_plan *plan, const zf_traffic *reads, uint32_t count, zf_text *out) {
    static const char *const pers[] = {"element", "group", "data"};
    zf_text_puts(out, "\"reads\": [");
    for (uint32_t k = 0; k < count; k++) {
        zf_text_puts(out, k == 0 ? "{" : ", {");
        zf_text_json_pair(out, "stream", plan->graph->edges[reads[k].edge].path);
        zf_text_printf(out, ", \"work\": %s, \"prefix_sums\": %s, ", reads[k].is_work ? "true" : "false",
                       reads[k].is_sums ? "true" : "false");
        zf_text_json_pair(out, "per", pers[reads[k].per]);
        bool known = reads[k].per != ZF_PER_DATA && reads[k].param == NULL;
        zf_text_puts(out, ", \"bytes\": ");
        if (known)
            put_bytes(out, reads[k].bits);
        else
            zf_text_puts(out, "null");
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "bits_param", reads[k].param);
        zf_text_puts(out, "}");
    }
    zf_text_puts(out, "]");
}

static void json_choice(const zf_choice *choice, zf_text *out) {
    zf_text_puts(out, "\"chosen\": {");
    for (unsigned k = 0, count = 0; k < ZF_CHOICE_KINDS; k++) {
        if (!zf_is_chosen(choice, (zf_choice_kind)k)) continue;
        zf_text_printf(out, "%s\"%s\": %u", count++ == 0 ? "" : ", ", zf_choice_names[k], choice->values[k]);
    }
    zf_text_puts(out, "}, ");
}

static void json_kernel(const zf_plan *plan, const zf_sites *sites, const zf_kernel *kernel, const zf_explain_form *form,
                        zf_text *out) {
    const zf_graph *graph = plan->graph;
    zf_text_printf(out, "{\"kernel\": %u, ", kernel->index);
    zf_text_json_pair(out, "domain", domain_names[kernel->domain]);
    zf_text_puts(out, ", ");
    zf_text_json_pair(out, "makes", graph->edges[kernel->edge].path);
    zf_text_printf(out, ", \"prefix_sums\": %s, ", kernel->prefix != NULL ? "true" : "false");
    zf_text_json_pair(out, "into", kernel->sink < 0 || zf_plan_may_go_to_column(plan, kernel->sink) ? "column" : "work");
    const zf_kernel *packing = packing_kernel(plan);
    if (packing != NULL && (kernel == packing || kernel->sink < 0)) {
        zf_text_printf(out, ", \"%s\": [", kernel == packing ? "unpacks_at" : "absent_at");
        put_widths(plan, packing, out, false, ", ");
        zf_text_puts(out, "]");
    }
    zf_text_puts(out, ", \"fused\": [");
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        if (n > 0) zf_text_puts(out, ", ");
        zf_text_json(out, graph->nodes[kernel->nodes[n]].inst->name);
    }
    zf_text_puts(out, "], \"steps\": [");
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        zf_text_puts(out, s > 0 ? ", {" : "{");
        zf_text_json_pair(out, "step", step_names[kernel->steps[s].kind]);
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "path", graph->nodes[kernel->steps[s].node].path);
        zf_text_puts(out, "}");
    }
    zf_text_printf(out,
                   "], \"tile\": %u, \"geometry\": {\"l\": %u, \"s\": %u, \"c\": %u}, \"by_warp\": %s, \"seek_fields\": %u, ",
                   kernel->tile, kernel->geometry.l, kernel->geometry.s, kernel->geometry.c, kernel->by_warp ? "true" : "false",
                   kernel->tree >= 0 ? plan->trees[kernel->tree].field_count : 0);
    json_choice(&kernel->choice, out);
    zf_explain_form_json(plan, form, out);
    zf_text_puts(out, ", ");
    zf_traffic *reads;
    uint32_t count = reads_of(plan, sites, kernel, &reads);
    json_reads(plan, reads, count, out);
    zf_text_puts(out, ", \"bytes_out\": ");
    put_bytes(out, sink_bits(plan, kernel));
    zf_text_puts(out, ", \"limit\": \"");
    put_limit(plan, kernel, reads, count, out); // paths and numbers: nothing to escape
    zf_text_puts(out, "\"}");
}

static void json_checks(const zf_graph *graph, const zf_plan *plan, const zf_sites *sites, zf_text *out) {
    check_counts counts = count_checks(graph, plan, sites);
    zf_text_printf(out, "\"checks\": {\"proved\": %u, \"hoisted\": %u, \"kept\": %u, \"list\": [", counts.proved, counts.hoisted,
                   counts.kept);
    for (uint32_t c = 0; c < plan->check_count; c++) {
        const zf_check *check = &plan->checks[c];
        zf_text_printf(out, "%s\n    {\"code\": \"V%02u\", ", c == 0 ? "" : ",", check->violation);
        zf_text_json_pair(out, "path", graph->nodes[check->node].path);
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "what", check->text);
        zf_text_puts(out, ", ");
        zf_text_json_pair(out, "when", frequency(plan, check));
        if (check->span.source != NULL) {
            zf_position at = zf_source_position(check->span.source, check->span.begin);
            zf_text_puts(out, ", ");
            zf_text_json_pair(out, "file", check->span.source->path);
            zf_text_printf(out, ", \"line\": %u, \"column\": %u", at.line, at.column);
        }
        zf_text_puts(out, "}");
    }
    zf_text_puts(out, "]}");
}

void zf_explain_json(const zf_explained *what, zf_text *out) {
    const zf_graph *graph = what->graph;
    const zf_plan *plan = what->plan;
    const zf_column *column = graph->column;
    zf_text_puts(out, "{");
    zf_text_json_pair(out, "column", column->name);
    zf_text_puts(out, ", ");
    zf_text_json_pair(out, "type", zf_type_name(graph->arena, column->type));
    zf_text_puts(out, ", ");
    zf_text_json_pair(out, "codec", column->codec_text);
    zf_text_puts(out, ", \"seconds_at_least\": \"");
    put_column_limit(graph, out);
    zf_text_puts(out, "\",\n  ");
    json_edges(graph, plan, out);
    zf_text_puts(out, ",\n  \"kernels\": [");
    const zf_sites *sites = plan != NULL ? zf_plan_sites(plan->arena, graph) : NULL;
    for (uint32_t k = 0; plan != NULL && k < plan->kernel_count; k++) {
        zf_text_puts(out, k == 0 ? "\n    " : ",\n    ");
        json_kernel(plan, sites, &plan->kernels[k], what->forms != NULL ? &what->forms[k] : NULL, out);
    }
    zf_text_puts(out, "]");
    if (plan != NULL) {
        zf_text_puts(out, ",\n  ");
        zf_text_json_pair(out, "target", plan->target->name);
        zf_text_puts(out, ", \"shaping\": [");
        put_shaping(plan, out, zf_text_json);
        zf_text_puts(out, "],\n  ");
        json_tuples(what->tuples, out);
        zf_text_puts(out, ",\n  ");
        zf_explain_gpu_json(what, out);
        zf_text_puts(out, ",\n  ");
        json_checks(graph, plan, sites, out);
    }
    zf_text_puts(out, "}\n");
}
