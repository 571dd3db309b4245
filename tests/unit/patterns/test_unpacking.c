// Links: zipflow-patterns
// Which work buffers hold a column's elements as they are (unpacking.zf: columns whose names begin with `yes`; with `yes_alone`,
// those of which nothing else is needed), at which widths the kernel that makes them stores the column, and what is said of it.
#include "patterns/plan/explain.h"
#include "tests/unit/compositions.h"

static const zf_work *packed(const zf_plan *plan) {
    const zf_work *found = NULL;
    for (uint32_t w = 0; w < plan->work_count; w++) {
        if (plan->works[w].packed == NULL) continue;
        CHECK(found == NULL, "two buffers hold the column");
        found = &plan->works[w];
    }
    return found;
}

/// For each width: whether the code that knows it has a kernel less.
static void check_widths(const zf_column *column, const zf_plan *plan, const zf_work *work) {
    uint32_t last = plan->kernel_count - 1, bits = zf_kind_bits(work->type.kind), own = 0;
    uint64_t *shaping = ZF_NEW_ARRAY(plan->arena, uint64_t, plan->shaping_count + 1);
    const zf_graph_node *reader = &plan->graph->nodes[plan->graph->edges[work->edge].consumer];
    while (own < plan->shaping_count && plan->shaping[own] != reader->first_param + work->packed->slot) own++;
    CHECK(own < plan->shaping_count, "%s: the width shapes no code", column->name);
    for (uint64_t width = 0; width <= 64 && own < plan->shaping_count; width++) {
        shaping[own] = width;
        uint32_t wanted = width > 0 && bits % width == 0 ? bits / (uint32_t)width : 0;
        for (uint32_t k = 0; k <= last; k++) {
            uint32_t each = zf_plan_unpacks(plan, shaping, k);
            CHECK(each == (k == work->kernel ? wanted : 0), "%s, %u bits: kernel %u stores %u", column->name, (unsigned)width, k,
                  each);
            CHECK(zf_plan_unpacks(plan, NULL, k) == 0 && !zf_plan_leaves_out(plan, NULL, k), "%s: without a width", column->name);
            CHECK(zf_plan_leaves_out(plan, shaping, k) == (k == last && wanted > 0), "%s, %u bits: kernel %u", column->name,
                  (unsigned)width, k);
        }
    }
}

/// As text it is the same plan, and explained.
static void check_texts(const zf_column *column, const zf_plan *plan) {
    zf_text texts[3] = {{0}}, message = {0};
    zf_plan_print(plan, &texts[0]);
    zf_plan *read = zf_plan_read(plan->arena, plan->graph, texts[0].data, &message);
    CHECK(read != NULL && zf_plan_verify(read, &message), "%s: %s", column->name, message.data);
    if (read != NULL) zf_plan_print(read, &texts[1]);
    CHECK(read == NULL || strcmp(texts[0].data, texts[1].data) == 0, "%s: read as\n%s", column->name, texts[1].data);
    for (unsigned k = 0; k < 2; k++) zf_text_free(&texts[k]);
    const zf_work *work = packed(plan);
    bool yes = work != NULL, bytes = yes && (zf_kind_bits(work->type.kind) == 8 || work->packed->range.hi == 8); // at most
    zf_explained what = {.graph = plan->graph, .plan = plan};
    zf_explain_text(&what, &texts[0]);
    zf_explain_json(&what, &texts[1]);
    CHECK((strstr(texts[0].data, "stores  the column's elements, where ") != NULL) == yes, "%s:\n%s", column->name,
          texts[0].data);
    CHECK((strstr(texts[0].data, "width is 1, 2, 4 or 8: kernel ") != NULL) == bytes, "%s:\n%s", column->name, texts[0].data);
    CHECK((strstr(texts[1].data, "\"unpacks_at\": [1, 2, 4, 8]") != NULL) == bytes, "%s:\n%s", column->name, texts[1].data);
    CHECK((strstr(texts[1].data, "\"absent_at\": [1, 2, 4, 8") != NULL) == yes, "%s:\n%s", column->name, texts[1].data);
    for (unsigned k = 0; k < 3; k++) zf_text_free(&texts[k]);
    zf_text_free(&message);
}

static void check_column(const zf_column *column, const char *target) {
    zf_arena *arena = zf_arena_create();
    zf_diags diags;
    zf_diags_init(&diags, arena);
    zf_plan_options options = {.target = target};
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    zf_plan *plan = graph != NULL ? zf_plan_build(arena, graph, &options, &diags) : NULL;
    CHECK(plan != NULL, "%s: no plan for %s", column->name, target);
    if (plan != NULL) {
        bool host = strcmp(target, "host") == 0, yes = !host && strncmp(column->name, "yes", 3) == 0;
        const zf_work *work = packed(plan);
        CHECK((work != NULL) == yes, "%s, %s: %s", column->name, target, work != NULL ? "packed" : "not packed");
        if (work != NULL) {
            bool alone = strncmp(column->name, "yes_alone", 9) == 0;
            CHECK(zf_plan_packs_alone(plan, plan->kernels[work->kernel].sink) == alone, "%s: %s", column->name,
                  alone ? "its index has a part" : "its index has no part");
            check_widths(column, plan, work);
        }
        check_texts(column, plan);
        options.materialise_all = true;
        plan = zf_plan_build(arena, graph, &options, &diags);
        CHECK(plan == NULL || packed(plan) == NULL, "%s: packed, though everything was to be materialised", column->name);
    }
    zf_arena_destroy(arena);
}

/// The claims of a plan's text about such buffers are checked.
static void check_broken(const zf_column *column) {
    zf_arena *arena = zf_arena_create();
    zf_plan_options options = {.target = "emu"};
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    zf_plan *plan = zf_plan_build(arena, graph, &options, NULL);
    zf_text text = {0}, changed = {0}, message = {0};
    zf_plan_print(plan, &text);
    const char *at = strstr(text.data, "\nwork "), *end = at != NULL ? strchr(at + 1, '\n') : NULL;
    CHECK(end != NULL, "%s has no buffer", column->name);
    if (end != NULL) {
        zf_text_printf(&changed, "%.*s packed 0%s", (int)(end - text.data), text.data, end);
        zf_plan *read = zf_plan_read(arena, graph, changed.data, &message);
        CHECK(read != NULL, "%s: %s", column->name, message.data);
        CHECK(read == NULL || !zf_plan_verify(read, &message), "%s: believed", column->name);
    }
    zf_text_free(&text);
    zf_text_free(&changed);
    zf_text_free(&message);
    zf_arena_destroy(arena);
}

int main(void) {
    zf_spec *spec = make_spec(ZF_SOURCE_DIR "/tests/unit/patterns/unpacking.zf", ZF_STD);
    if (spec == NULL) return check_result();
    for (const zf_table *table = zf_spec_tables(spec); table != NULL; table = table->next) {
        for (const zf_column *c = table->columns; c != NULL; c = c->next) {
            check_column(c, "host");
            check_column(c, "emu");
            bool broken = strcmp(c->name, "no_again") == 0 || strcmp(c->name, "no_lanes") == 0 || strcmp(c->name, "no_bits") == 0;
            if (broken) check_broken(c);
        }
    }
    zf_spec_destroy(spec);
    return check_result();
}
