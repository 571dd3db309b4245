// The plan as text, and back. A record a line:
//
//   plan "host" for "l_orderkey"
//   kernel 0 elements: node 2 makes edge 2 into work 0, steps [scan 2.0/0, map 2], nodes [2 3], tree 1, tile 4096, geometry [128
//   1 32], end 5 work 0 edge 2 i64 kernel 0 tree 0 edge 0: [group 0, offset 0, scan 2.0 i64] check 0 V01 node 2 site 3 hoisted
//   "bits of packed" hoisted 0 kernel 0 node 2 site 3 check 0 slots [param 1, offset 0, count 0, seek_offset 0.1, seek_width 0.1]
//   shaping [1 5]
//   edge 1 work 0: fused steps one level deep: materialised
//
// `scan 2.0/1` is scan 0 of node 2 along level 1, `expand 3/0>1` the groups of node 3, which are level 1, along level 0; a site
// is the number of a place that may fail in a node's bodies, in the order written. Behind the geometry stands what was chosen for
// the kernel, `chosen [L 8, THREADS 128]`, where anything was. A work buffer of `characters 0` holds those of
// the column; scan 0 of node 0 says where rows begin. One that is `packed 1` holds its elements, in so many bits each as param 1
// of the node says that reads it.
#include <string.h>

#include "patterns/graph/reader.h"
#include "patterns/plan/plan_internal.h"

static const char *const domains[] = {"elements", "groups", "chunks"};
static const char *const step_kinds[] = {"expand", "scan", "map"};
static const char *const seek_kinds[] = {"group", "offset", "scan", "chunk", "bytes", "output", "length"};
static const char *const slot_kinds[] = {"param", "offset", "count", "seek_offset", "seek_width", "characters", "chunks"};
enum { DOMAINS = 3, STEP_KINDS = 3, SEEK_KINDS = 7, SLOT_KINDS = 7, VIOLATIONS = 100 };

static bool same_span(zf_span a, zf_span b) { return a.source == b.source && a.begin == b.begin && a.end == b.end; }

/// The first site of a node with this violation and span; -1 for a check that stands at none (V09).
static int32_t site_of(const zf_sites *sites, uint32_t violation, zf_span span) {
    for (uint32_t k = 0; k < sites->site_count; k++) {
        if (sites->sites[k].violation == violation && same_span(sites->sites[k].span, span)) return (int32_t)k;
    }
    return -1;
}

static int32_t site_of_access(const zf_sites *sites, const zf_expr *access) {
    for (uint32_t k = 0; k < sites->site_count; k++) {
        if (sites->sites[k].expr == access) return (int32_t)k;
    }
    return -1;
}

// ---- Printing ----

static void print_kernel(const zf_kernel *kernel, zf_text *out) {
    zf_text_printf(out, "kernel %u %s: node %u makes ", kernel->index, domains[kernel->domain], kernel->root);
    if (kernel->prefix != NULL) zf_text_printf(out, "prefix sums %u along ", kernel->prefix->index);
    zf_text_printf(out, "edge %u into ", kernel->edge);
    if (kernel->sink < 0)
        zf_text_puts(out, "column");
    else
        zf_text_printf(out, "work %d", kernel->sink);
    zf_text_puts(out, ", steps [");
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        const zf_step *step = &kernel->steps[s];
        zf_text_printf(out, "%s%s %u", s == 0 ? "" : ", ", step_kinds[step->kind], step->node);
        if (step->kind == ZF_STEP_SCAN) zf_text_printf(out, ".%u/%u", step->reduce->index, step->level);
        if (step->kind == ZF_STEP_EXPAND) zf_text_printf(out, "/%u>%u", step->level, step->groups);
    }
    zf_text_puts(out, "], nodes [");
    for (uint32_t n = 0; n < kernel->node_count; n++) zf_text_printf(out, "%s%u", n == 0 ? "" : " ", kernel->nodes[n]);
    zf_text_printf(out, "], tree %d, tile %u, geometry [%u %u %u]", kernel->tree, kernel->tile, kernel->geometry.l,
                   kernel->geometry.s, kernel->geometry.c);
    if (kernel->choice.chosen != 0) {
        zf_text_puts(out, ", chosen [");
        zf_choice_print(&kernel->choice, out);
        zf_text_puts(out, "]");
    }
    zf_text_printf(out, ", end %d%s%s\n", kernel->end_check, kernel->store_first ? ", store first" : "",
                   kernel->by_warp ? ", by warp" : "");
}

void zf_plan_print(const zf_plan *plan, zf_text *out) {
    const zf_sites *sites = zf_plan_sites(plan->arena, plan->graph);
    zf_text_puts(out, "plan ");
    zf_text_json(out, plan->target->name);
    zf_text_puts(out, " for ");
    zf_text_json(out, plan->graph->column->name);
    zf_text_puts(out, "\n");
    for (uint32_t k = 0; k < plan->kernel_count; k++) print_kernel(&plan->kernels[k], out);
    for (uint32_t w = 0; w < plan->work_count; w++) {
        const zf_work *work = &plan->works[w];
        zf_text_printf(out, "work %u edge %u %s kernel %u", w, work->edge, zf_type_name(plan->arena, work->type), work->kernel);
        if (work->prefix != NULL) zf_text_printf(out, " prefix sums %u", work->prefix->index);
        if (work->start != NULL) zf_text_printf(out, " characters %u", work->start->index);
        if (work->packed != NULL) zf_text_printf(out, " packed %u", work->packed->slot);
        if (work->short_strings) zf_text_puts(out, " short strings");
        zf_text_puts(out, "\n");
    }
    for (uint32_t t = 0; t < plan->tree_count; t++) {
        zf_text_printf(out, "tree %u edge %u: [", t, plan->trees[t].edge);
        for (uint32_t f = 0; f < plan->trees[t].field_count; f++) {
            const zf_seek_field *field = &plan->trees[t].fields[f];
            zf_text_printf(out, "%s%s %u", f == 0 ? "" : ", ", seek_kinds[field->kind], field->node);
            if (field->kind == ZF_SEEK_SCAN) zf_text_printf(out, ".%u %s", field->reduce, zf_kind_name(field->type));
            if (field->kind == ZF_SEEK_CHUNK || field->kind == ZF_SEEK_LENGTH) zf_text_printf(out, ".%u", field->stream);
        }
        zf_text_puts(out, "]\n");
    }
    for (uint32_t c = 0; c < plan->check_count; c++) {
        const zf_check *check = &plan->checks[c];
        zf_text_printf(out, "check %u V%02u node %u", c, check->violation, check->node);
        int32_t site = site_of(&sites[check->node], check->violation, check->span);
        if (site >= 0) zf_text_printf(out, " site %d", site);
        zf_text_puts(out, check->hoisted ? " hoisted " : " ");
        zf_text_json(out, check->text);
        zf_text_puts(out, "\n");
    }
    for (uint32_t h = 0; h < plan->hoisted_count; h++) {
        const zf_hoisted *hoisted = &plan->hoisted[h];
        zf_text_printf(out, "hoisted %u kernel %u node %u site %d check %u\n", h, hoisted->kernel, hoisted->node,
                       site_of_access(&sites[hoisted->node], hoisted->access), hoisted->check);
    }
    zf_text_puts(out, "slots [");
    for (uint32_t s = 0; s < plan->slot_count; s++) {
        const zf_abi_slot *slot = &plan->slots[s];
        zf_text_printf(out, "%s%s %u", s == 0 ? "" : ", ", slot_kinds[slot->kind], slot->a);
        if (slot->kind == ZF_SLOT_SEEK_OFFSET || slot->kind == ZF_SLOT_SEEK_WIDTH) zf_text_printf(out, ".%u", slot->b);
    }
    zf_text_puts(out, "]\nshaping [");
    for (uint32_t s = 0; s < plan->shaping_count; s++) zf_text_printf(out, "%s%u", s == 0 ? "" : " ", plan->shaping[s]);
    zf_text_puts(out, "]\n");
    for (uint32_t e = 0; e < plan->graph->edge_count; e++) {
        zf_text_printf(out, "edge %u work %d: %s\n", e, plan->edge_work[e], plan->edge_reason[e]);
    }
}

// ---- Reading ----

typedef struct plan_reader {
    zf_reader r;
    zf_plan *plan;
    const zf_graph *graph;
    const zf_sites *sites;
} plan_reader;

enum { RECORD_LIMIT = 1 << 16 };

/// Room for one more record of an array in an arena. Counts are small; doubling keeps copies few.
static void *grow(plan_reader *in, void *items, uint32_t count, size_t size) {
    if (count >= RECORD_LIMIT) {
        zf_reader_fail(&in->r, "more than %d records of a kind", RECORD_LIMIT);
        return items;
    }
    if (count != 0 && (count & (count - 1)) != 0) return items; // room up to the next power of two
    void *grown = zf_arena_alloc(in->plan->arena, size * (count == 0 ? 1 : 2 * (size_t)count));
    if (count > 0) memcpy(grown, items, size * count);
    return grown;
}

#define APPEND(in, items, count) ((items) = grow((in), (items), (count), sizeof *(items)), &(items)[(count)++])

static uint32_t read_node(plan_reader *in) { return zf_reader_number(&in->r, in->graph->node_count); }
static uint32_t read_edge(plan_reader *in) { return zf_reader_number(&in->r, in->graph->edge_count); }

/// A scan of a node by its number.
static const zf_reduce *find_scan(plan_reader *in, uint32_t node, uint32_t index) {
    const zf_sites *sites = &in->sites[node];
    if (index < sites->scan_count && sites->scans[index].reduce != NULL) return sites->scans[index].reduce;
    zf_reader_fail(&in->r, "node %u has no scan %u", node, index);
    return NULL;
}

static const zf_site *read_site(plan_reader *in, uint32_t node) {
    uint32_t site = zf_reader_number(&in->r, in->sites[node].site_count);
    return in->r.failed ? NULL : &in->sites[node].sites[site];
}

static void read_number(plan_reader *in, uint32_t expected) {
    uint32_t number = zf_reader_number(&in->r, RECORD_LIMIT);
    if (!in->r.failed && number != expected) zf_reader_fail(&in->r, "number %u where %u comes next", number, expected);
}

static void read_choice(zf_reader *r, zf_choice *choice) {
    do {
        zf_choice_kind kind = zf_reader_choice(r, zf_choice_names, ZF_CHOICE_KINDS, "a choice");
        if (!r->failed && zf_is_chosen(choice, kind)) zf_reader_fail(r, "%s is chosen twice", zf_choice_names[kind]);
        uint32_t value = zf_reader_number(r, ZF_CHOICE_MOST + 1);
        if (!r->failed) zf_choose(choice, kind, value);
    } while (zf_reader_accept(r, ","));
    zf_reader_expect(r, "]");
}

static void read_kernel(plan_reader *in) {
    zf_reader *r = &in->r;
    zf_plan *plan = in->plan;
    read_number(in, plan->kernel_count);
    zf_kernel *kernel = APPEND(in, plan->kernels, plan->kernel_count);
    *kernel = (zf_kernel){.index = plan->kernel_count - 1, .sink = -1};
    kernel->domain = zf_reader_choice(r, domains, DOMAINS, "a domain");
    zf_reader_expect(r, ":");
    zf_reader_expect(r, "node");
    kernel->root = read_node(in);
    zf_reader_expect(r, "makes");
    if (zf_reader_accept(r, "prefix sums")) {
        uint32_t index = zf_reader_number(r, RECORD_LIMIT);
        kernel->prefix = find_scan(in, kernel->root, index);
        zf_reader_expect(r, "along");
    }
    zf_reader_expect(r, "edge");
    kernel->edge = read_edge(in);
    zf_reader_expect(r, "into");
    if (zf_reader_accept(r, "work"))
        kernel->sink = (int32_t)zf_reader_number(r, RECORD_LIMIT);
    else
        zf_reader_expect(r, "column");
    zf_reader_expect(r, ", steps [");
    while (!r->failed && !zf_reader_accept(r, "]")) {
        if (kernel->step_count > 0) zf_reader_expect(r, ",");
        zf_step step = {.kind = zf_reader_choice(r, step_kinds, STEP_KINDS, "a step")};
        step.node = read_node(in);
        if (step.kind == ZF_STEP_SCAN) {
            zf_reader_expect(r, ".");
            step.reduce = find_scan(in, step.node, zf_reader_number(r, RECORD_LIMIT));
        }
        if (step.kind != ZF_STEP_MAP) {
            zf_reader_expect(r, "/");
            step.level = zf_reader_number(r, RECORD_LIMIT);
        }
        if (step.kind == ZF_STEP_EXPAND) {
            zf_reader_expect(r, ">");
            step.groups = zf_reader_number(r, RECORD_LIMIT);
        }
        // Every expansion opens a level.
        if (kernel->level_count == 0) kernel->level_count = 1;
        if (step.kind == ZF_STEP_EXPAND) kernel->level_count++;
        *APPEND(in, kernel->steps, kernel->step_count) = step;
    }
    zf_reader_expect(r, ", nodes [");
    while (!r->failed && !zf_reader_accept(r, "]")) *APPEND(in, kernel->nodes, kernel->node_count) = read_node(in);
    zf_reader_expect(r, ", tree");
    kernel->tree = (int32_t)zf_reader_integer(r, -1, RECORD_LIMIT);
    zf_reader_expect(r, ", tile");
    kernel->tile = zf_reader_number(r, UINT32_MAX);
    zf_reader_expect(r, ", geometry [");
    kernel->geometry.l = zf_reader_number(r, UINT32_MAX);
    kernel->geometry.s = zf_reader_number(r, UINT32_MAX);
    kernel->geometry.c = zf_reader_number(r, UINT32_MAX);
    zf_reader_expect(r, "]");
    if (zf_reader_accept(r, ", chosen [")) read_choice(r, &kernel->choice);
    zf_reader_expect(r, ", end");
    kernel->end_check = (int32_t)zf_reader_integer(r, -1, ZF_CHECK_LIMIT - 1);
    kernel->store_first = zf_reader_accept(r, ", store first");
    kernel->by_warp = zf_reader_accept(r, ", by warp");
}

static void read_work(plan_reader *in) {
    zf_reader *r = &in->r;
    zf_plan *plan = in->plan;
    read_number(in, plan->work_count);
    zf_work *work = APPEND(in, plan->works, plan->work_count);
    *work = (zf_work){.prefix = NULL};
    zf_reader_expect(r, "edge");
    work->edge = read_edge(in);
    work->type = zf_reader_type(r);
    zf_reader_expect(r, "kernel");
    work->kernel = zf_reader_number(r, plan->kernel_count);
    if (zf_reader_accept(r, "prefix sums")) {
        uint32_t index = zf_reader_number(r, RECORD_LIMIT);
        if (!r->failed) work->prefix = find_scan(in, plan->kernels[work->kernel].root, index);
    }
    if (zf_reader_accept(r, "characters")) work->start = find_scan(in, 0, zf_reader_number(r, RECORD_LIMIT));
    int32_t consumer = in->graph->edges[work->edge].consumer;
    if (consumer >= 0 && zf_reader_accept(r, "packed")) {
        const zf_inst *inst = in->graph->nodes[consumer].inst;
        uint32_t slot = zf_reader_number(r, inst->param_count);
        if (!r->failed) work->packed = inst->params[slot];
    }
    work->short_strings = zf_reader_accept(r, "short strings");
}

static void read_tree(plan_reader *in) {
    zf_reader *r = &in->r;
    zf_plan *plan = in->plan;
    read_number(in, plan->tree_count);
    zf_seek_tree *tree = APPEND(in, plan->trees, plan->tree_count);
    *tree = (zf_seek_tree){.fields = NULL};
    zf_reader_expect(r, "edge");
    tree->edge = read_edge(in);
    zf_reader_expect(r, ": [");
    while (!r->failed && !zf_reader_accept(r, "]")) {
        if (tree->field_count > 0) zf_reader_expect(r, ",");
        zf_seek_field field = {.kind = zf_reader_choice(r, seek_kinds, SEEK_KINDS, "a kind of field"), .type = ZF_K_U64};
        field.node = read_node(in);
        if (field.kind == ZF_SEEK_SCAN) {
            zf_reader_expect(r, ".");
            field.reduce = zf_reader_number(r, RECORD_LIMIT);
            field.type = zf_reader_type(r).kind;
        } else if (field.kind == ZF_SEEK_CHUNK || field.kind == ZF_SEEK_LENGTH) {
            zf_reader_expect(r, ".");
            field.stream = zf_reader_number(r, RECORD_LIMIT);
        }
        *APPEND(in, tree->fields, tree->field_count) = field;
    }
}

static void read_check(plan_reader *in) {
    zf_reader *r = &in->r;
    zf_plan *plan = in->plan;
    read_number(in, plan->check_count);
    zf_check *check = APPEND(in, plan->checks, plan->check_count);
    *check = (zf_check){.violation = 0};
    zf_reader_letter(r, 'V');
    check->violation = zf_reader_number(r, VIOLATIONS);
    zf_reader_expect(r, "node");
    check->node = read_node(in);
    if (zf_reader_accept(r, "site")) {
        const zf_site *site = read_site(in, check->node);
        if (site != NULL) check->span = site->span;
    } else {
        check->span = in->graph->nodes[check->node].codec->span;
    }
    check->hoisted = zf_reader_accept(r, "hoisted");
    check->text = zf_reader_quoted(r);
}

static void read_hoisted(plan_reader *in) {
    zf_reader *r = &in->r;
    zf_plan *plan = in->plan;
    read_number(in, plan->hoisted_count);
    zf_hoisted *hoisted = APPEND(in, plan->hoisted, plan->hoisted_count);
    *hoisted = (zf_hoisted){.access = NULL};
    zf_reader_expect(r, "kernel");
    hoisted->kernel = zf_reader_number(r, plan->kernel_count);
    zf_reader_expect(r, "node");
    hoisted->node = read_node(in);
    zf_reader_expect(r, "site");
    const zf_site *site = read_site(in, hoisted->node);
    if (site != NULL) {
        hoisted->access = site->expr;
        hoisted->body = site->body;
        hoisted->reduces = site->reduces;
        hoisted->reduce_count = site->reduce_count;
    }
    zf_reader_expect(r, "check");
    hoisted->check = zf_reader_number(r, plan->check_count);
}

static void read_slots(plan_reader *in) {
    zf_reader *r = &in->r;
    zf_plan *plan = in->plan;
    zf_reader_expect(r, "[");
    while (!r->failed && !zf_reader_accept(r, "]")) {
        if (plan->slot_count > 0) zf_reader_expect(r, ",");
        zf_abi_slot slot = {.kind = zf_reader_choice(r, slot_kinds, SLOT_KINDS, "a kind of slot")};
        slot.a = zf_reader_number(r, RECORD_LIMIT);
        if (slot.kind == ZF_SLOT_SEEK_OFFSET || slot.kind == ZF_SLOT_SEEK_WIDTH) {
            zf_reader_expect(r, ".");
            slot.b = zf_reader_number(r, RECORD_LIMIT);
        }
        *APPEND(in, plan->slots, plan->slot_count) = slot;
    }
}

static void read_shaping(plan_reader *in) {
    zf_reader *r = &in->r;
    zf_reader_expect(r, "[");
    while (!r->failed && !zf_reader_accept(r, "]")) {
        *APPEND(in, in->plan->shaping, in->plan->shaping_count) = zf_reader_number(r, in->graph->param_count);
    }
}

static void read_edge_line(plan_reader *in) {
    zf_reader *r = &in->r;
    uint32_t edge = read_edge(in);
    zf_reader_expect(r, "work");
    in->plan->edge_work[edge] = (int32_t)zf_reader_integer(r, -1, (int64_t)in->plan->work_count - 1);
    zf_reader_expect(r, ":");
    in->plan->edge_reason[edge] = zf_reader_rest(r);
}

/// Records in the order in which they may come; each may refer to those before it.
static const struct {
    const char *word;
    void (*read)(plan_reader *in);
} records[] = {
    {"kernel", read_kernel},   {"work", read_work},   {"tree", read_tree},       {"check", read_check},
    {"hoisted", read_hoisted}, {"slots", read_slots}, {"shaping", read_shaping}, {"edge", read_edge_line},
};
enum { RECORDS = sizeof records / sizeof *records };

zf_plan *zf_plan_read(zf_arena *arena, const zf_graph *graph, const char *text, zf_text *message) {
    plan_reader reader = {.graph = graph}, *in = &reader;
    zf_reader_init(&in->r, arena, text, message);
    zf_plan *plan = ZF_NEW(arena, zf_plan);
    plan->arena = arena;
    plan->graph = graph;
    plan->edge_work = ZF_NEW_ARRAY(arena, int32_t, graph->edge_count);
    plan->edge_reason = ZF_NEW_ARRAY(arena, const char *, graph->edge_count);
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        plan->edge_work[e] = -1;
        plan->edge_reason[e] = "";
    }
    in->plan = plan;
    in->sites = zf_plan_sites(arena, graph);
    zf_reader_expect(&in->r, "plan");
    const char *target = zf_reader_quoted(&in->r);
    plan->target = in->r.failed ? NULL : zf_target_find(target);
    if (!in->r.failed && plan->target == NULL) zf_reader_fail(&in->r, "there is no target `%s`", target);
    zf_reader_expect(&in->r, "for");
    const char *name = zf_reader_quoted(&in->r);
    if (!in->r.failed && strcmp(name, graph->column->name) != 0) {
        zf_reader_fail(&in->r, "a plan for `%s`, not for `%s`", name, graph->column->name);
    }
    zf_reader_end_line(&in->r);
    int next = 0;
    while (!zf_reader_at_end(&in->r)) {
        while (next < RECORDS && !zf_reader_accept(&in->r, records[next].word)) next++;
        if (next == RECORDS) {
            zf_reader_fail(&in->r, "a record that is unknown or out of order");
            break;
        }
        records[next].read(in);
        zf_reader_end_line(&in->r);
    }
    return in->r.failed ? NULL : plan;
}
