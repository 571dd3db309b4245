#include "compiler/tuned/kernel_shape.h"

#include <string.h>

#include "codegen/codegen.h"

static void print_edge(const zf_plan *plan, const zf_graph_edge *edge, zf_text *out);

static void print_node(const zf_plan *plan, uint32_t n, zf_text *out) {
    const zf_graph_node *node = &plan->graph->nodes[n];
    const char *between = "(";
    zf_text_puts(out, node->inst->name);
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        const zf_graph_edge *edge = &plan->graph->edges[node->inputs[s]];
        if (edge->access == ZF_ACCESS_NONE) continue;
        zf_text_puts(out, between);
        print_edge(plan, edge, out);
        between = ", ";
    }
    if (*between == ',') zf_text_puts(out, ")");
}

static void print_edge(const zf_plan *plan, const zf_graph_edge *edge, zf_text *out) {
    bool work = plan->edge_work[edge->index] >= 0;
    if (edge->producer >= 0 && !work) {
        print_node(plan, (uint32_t)edge->producer, out);
        return;
    }
    zf_text_printf(out, "%s%s%s", work ? "work " : "", zf_kind_name(edge->type.kind), edge->type.nullable ? "?" : "");
}

static uint64_t class_of(uint64_t value) {
    uint64_t class = 1;
    while (class < value && class != UINT64_C(1) << 63) class *= 2;
    return value == 0 ? 0 : class;
}

static bool evaluates(const zf_kernel *kernel, uint32_t node) {
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        if (kernel->nodes[n] == node) return true;
    }
    return false;
}

/// How many elements a group of the node has on the mean; 0: there is none.
static uint64_t mean_group(const zf_graph *graph, const zf_graph_node *node, const uint64_t *counts) {
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        const zf_graph_edge *edge = &graph->edges[node->inputs[s]];
        uint64_t elements = counts[node->output], groups = counts[edge->index];
        if (edge->access == ZF_ACCESS_ALIGNED_G) return groups > 0 ? elements / groups + (elements % groups != 0) : 0;
    }
    return 0;
}

static void print_groups(const zf_plan *plan, const zf_kernel *kernel, const uint64_t *counts, zf_text *out) {
    const char *before = " groups of";
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        if (kernel->steps[s].kind != ZF_STEP_EXPAND) continue;
        uint64_t mean = mean_group(plan->graph, &plan->graph->nodes[kernel->steps[s].node], counts);
        zf_text_printf(out, "%s %llu", before, (unsigned long long)class_of(mean));
        before = "";
    }
}

void zf_kernel_shape_print(const zf_plan *plan, const zf_kernel *kernel, const zf_block_view *block, zf_text *out) {
    zf_type type = zf_codegen_stored_type(plan, kernel);
    zf_codegen_form_info form = {.name = ""};
    zf_codegen_form(plan, kernel, &form);
    zf_text_printf(out, "%s %s%s: ", form.name, zf_kind_name(type.kind), type.nullable ? "?" : "");
    if (kernel->prefix != NULL) zf_text_puts(out, "prefix sums of ");
    print_node(plan, kernel->root, out);
    zf_text_puts(out, ";");
    for (uint32_t p = 0; p < plan->shaping_count; p++) {
        uint32_t node = 0;
        zf_graph_param(plan->graph, plan->shaping[p], &node);
        if (evaluates(kernel, node)) zf_text_printf(out, " %llu", (unsigned long long)class_of(block->params[plan->shaping[p]]));
    }
    print_groups(plan, kernel, block->counts, out);
    bool own = kernel->domain != ZF_DOMAIN_CHUNKS && kernel->tile == kernel->geometry.l * kernel->geometry.s * kernel->geometry.c;
    if (!own) zf_text_printf(out, " tile %s%u", zf_kernel_is_uneven(plan, kernel) ? "uneven " : "", kernel->tile);
}

/// Whether the first bytes of both, up to and without one of these characters, are the same.
static bool same_up_to(const char *a, const char *b, const char *ends) {
    size_t length = strcspn(a, ends);
    return length == strcspn(b, ends) && memcmp(a, b, length) == 0;
}

unsigned zf_kernel_shape_nearness(const char *a, const char *b) {
    if (strcmp(a, b) == 0) return 5;
    if (same_up_to(a, b, ";")) return 4;
    if (same_up_to(a, b, "(;")) return 3;
    if (same_up_to(a, b, ":")) return 2;
    return same_up_to(a, b, " ") ? 1 : 0;
}
