// Links: zipflow-patterns
// Which chunks a warp walks (chunk_walk.zf: a table for each answer): by the rule, as asked, and read back.
#include "patterns/plan/plan.h"
#include "tests/unit/compositions.h"

typedef struct expected {
    const char *target;
    uint32_t asked;
    bool by_warp[3]; ///< of the tables by_warp, by_thread, never
} expected;

static const char *const tables[3] = {"by_warp", "by_thread", "never"};
static const expected answers[] = {
    {"host", 0, {false, false, false}},  {"host", 32, {false, false, false}}, {"emu", 0, {true, false, false}},
    {"emu", 1, {false, false, false}},   {"emu", 32, {true, true, false}},    {"nvptx", 0, {true, false, false}},
    {"nvptx", 1, {false, false, false}}, {"nvptx", 32, {true, true, false}},
};

static void check_column(const zf_column *column, const expected *e, bool by_warp) {
    zf_arena *arena = zf_arena_create();
    zf_plan_options options = {.target = e->target, .chunk_threads = e->asked};
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    zf_plan *plan = graph != NULL ? zf_plan_build(arena, graph, &options, NULL) : NULL;
    CHECK(plan != NULL && plan->kernel_count == 1, "%s: no plan for %s", column->name, e->target);
    if (plan == NULL) return;
    zf_text text = {0}, message = {0};
    CHECK(plan->kernels[0].by_warp == by_warp, "%s, %s, %u asked: %s", column->name, e->target, e->asked,
          by_warp ? "a thread" : "a warp");
    CHECK(zf_plan_verify(plan, &message), "%s: %s", column->name, message.data);
    zf_plan_print(plan, &text);
    zf_plan *read = zf_plan_read(arena, graph, text.data, &message);
    CHECK(read != NULL && read->kernels[0].by_warp == by_warp, "%s: reading changes who walks", column->name);
    zf_text_free(&text);
    zf_text_free(&message);
    zf_arena_destroy(arena);
}

/// A plan that has chunks walked by what cannot is refused.
static void check_refused(const zf_column *column, const char *target) {
    zf_arena *arena = zf_arena_create();
    zf_plan_options options = {.target = target};
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    zf_plan *plan = zf_plan_build(arena, graph, &options, NULL);
    zf_text message = {0};
    CHECK(plan != NULL && zf_plan_verify(plan, &message), "%s: %s", column->name, message.data);
    if (plan != NULL) {
        plan->kernels[0].by_warp = true;
        CHECK(!zf_plan_verify(plan, &message), "%s on %s: by a warp is believed", column->name, target);
    }
    zf_text_free(&message);
    zf_arena_destroy(arena);
}

int main(void) {
    zf_spec *spec = make_spec(ZF_SOURCE_DIR "/tests/unit/patterns/chunk_walk.zf", ZF_STD);
    if (spec == NULL) return check_result();
    unsigned seen = 0;
    for (const zf_table *table = zf_spec_tables(spec); table != NULL; table = table->next) {
        unsigned t = 0;
        while (t < 3 && strcmp(tables[t], table->name) != 0) t++;
        if (t == 3) continue; // std's
        for (const zf_column *c = table->columns; c != NULL; c = c->next, seen++) {
            for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) check_column(c, &answers[k], answers[k].by_warp[t]);
            check_refused(c, "host");
            if (t == 2) check_refused(c, "emu");
        }
    }
    CHECK(seen == 12, "%u columns of chunk_walk.zf", seen);
    zf_spec_destroy(spec);
    return check_result();
}
