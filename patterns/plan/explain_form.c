// The parts of `zfc explain` that say how kernels run on a GPU. Here forms become text; zfc/verbs/kernel_forms.c asks codegen for
// them, which this room may not know.
#include "patterns/plan/explain.h"

static const char *makes(const zf_plan *plan, const zf_kernel *kernel) {
    const char *path = plan->graph->edges[kernel->edge].path;
    return *path == '\0' ? "column" : path;
}

/// "`delta<u8>` (deltas)": the algorithm that a reason is of.
static void put_subject(const zf_graph *graph, uint32_t node, zf_text *out) {
    const zf_graph_node *of = &graph->nodes[node];
    zf_text_printf(out, "`%s`", of->inst->name);
    if (*of->path != '\0') zf_text_printf(out, " (%s)", of->path);
}

void zf_explain_form_text(const zf_plan *plan, const zf_explain_form *form, unsigned indent, zf_text *out) {
    zf_text_printf(out, "%*sform    %s%s: %s\n", (int)indent, "", form->name, form->parallel ? ", parallel" : "", form->tile);
    if (form->walk != NULL)
        zf_text_printf(out, "%*swalks   %s%s%s\n", (int)indent, "", form->walk, form->slow != NULL ? ": " : "",
                       form->slow != NULL ? form->slow : "");
    if (form->warps == 1) zf_text_printf(out, "%*swarps   1 a chunk: %s\n", (int)indent, "", form->warps_why);
    if (form->warps > 1)
        zf_text_printf(out, "%*swarps   %u a chunk, of which one walks it: %s\n", (int)indent, "", form->warps, form->warps_why);
    if (form->parallel) return;
    zf_text_printf(out, "%*swhy     ", (int)indent, "");
    put_subject(plan->graph, form->node, out);
    zf_text_printf(out, " %s\n", form->why);
    if (form->hint != NULL) zf_text_printf(out, "%*srewrite %s\n", (int)indent, "", form->hint);
}

void zf_explain_form_json(const zf_plan *plan, const zf_explain_form *form, zf_text *out) {
    if (form == NULL) {
        zf_text_json_pair(out, "form", NULL);
        return;
    }
    zf_text_puts(out, "\"form\": {");
    zf_text_json_pair(out, "name", form->name);
    zf_text_printf(out, ", \"parallel\": %s, ", form->parallel ? "true" : "false");
    zf_text_json_pair(out, "tile", form->tile);
    zf_text_puts(out, ", ");
    zf_text_json_pair(out, "algorithm", form->parallel ? NULL : plan->graph->nodes[form->node].inst->name);
    zf_text_puts(out, ", ");
    zf_text_json_pair(out, "why", form->parallel ? NULL : form->why);
    zf_text_puts(out, ", ");
    zf_text_json_pair(out, "rewrite", form->parallel ? NULL : form->hint);
    zf_text_puts(out, ", ");
    zf_text_json_pair(out, "walks", form->walk);
    zf_text_puts(out, ", ");
    zf_text_json_pair(out, "walks_why", form->slow);
    if (form->warps > 0)
        zf_text_printf(out, ", \"warps\": %u, ", form->warps);
    else
        zf_text_puts(out, ", \"warps\": null, ");
    zf_text_json_pair(out, "warps_why", form->warps_why);
    zf_text_puts(out, "}");
}

void zf_explain_gpu_text(const zf_explained *what, zf_text *out) {
    const zf_plan *plan = what->gpu_plan;
    if (plan == NULL) return;
    zf_text_printf(out, "\nforms on a GPU (--target %s shows these kernels): %u\n", plan->target->name, plan->kernel_count);
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        zf_text_printf(out, "  kernel %u: %s%s\n", k, kernel->prefix != NULL ? "prefix sums along " : "", makes(plan, kernel));
        zf_explain_form_text(plan, &what->gpu_forms[k], 4, out);
    }
}

void zf_explain_gpu_json(const zf_explained *what, zf_text *out) {
    const zf_plan *plan = what->gpu_plan;
    if (plan == NULL) {
        zf_text_json_pair(out, "gpu", NULL);
        return;
    }
    zf_text_puts(out, "\"gpu\": {");
    zf_text_json_pair(out, "target", plan->target->name);
    zf_text_puts(out, ", \"kernels\": [");
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        zf_text_printf(out, "%s\n    {\"kernel\": %u, ", k == 0 ? "" : ",", k);
        zf_text_json_pair(out, "makes", plan->graph->edges[kernel->edge].path);
        zf_text_printf(out, ", \"prefix_sums\": %s, ", kernel->prefix != NULL ? "true" : "false");
        zf_explain_form_json(plan, &what->gpu_forms[k], out);
        zf_text_puts(out, "}");
    }
    zf_text_puts(out, "]}");
}
