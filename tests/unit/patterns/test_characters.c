// Links: zipflow-patterns
// Which columns of strings are a stream's bytes as they are (characters.zf: their names begin with `yes`, or `host` where only
// CPUs have it).
#include "patterns/plan/plan.h"
#include "tests/unit/compositions.h"

static void check_column(const zf_column *column, const char *target) {
    zf_arena *arena = zf_arena_create();
    zf_diags diags;
    zf_diags_init(&diags, arena);
    zf_plan_options options = {.target = target};
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    zf_plan *plan = graph != NULL ? zf_plan_build(arena, graph, &options, &diags) : NULL;
    CHECK(plan != NULL, "%s: no plan for %s", column->name, target);
    if (plan != NULL) {
        const zf_work *work = zf_plan_characters(plan);
        bool wanted =
            strncmp(column->name, "yes", 3) == 0 || (strcmp(target, "host") == 0 && strncmp(column->name, "host", 4) == 0);
        CHECK((work != NULL) == wanted, "%s, %s: %s", column->name, target, work != NULL ? "characters" : "no characters");
        for (uint32_t w = 0; w < plan->work_count; w++) {
            CHECK(zf_plan_may_go_to_column(plan, (int32_t)w) == (work == &plan->works[w]), "%s, %s: work %u", column->name,
                  target, w);
        }
        CHECK(!zf_plan_may_go_to_column(plan, -1), "%s: the column's own", column->name);
    }
    zf_arena_destroy(arena);
}

/// The claims of a plan's text about characters are checked.
/// Which work buffers have short strings in their handles: on accelerators those of which groups are made, a string each, or rows
/// of the column.
static void check_short_strings(const zf_column *column) {
    zf_arena *arena = zf_arena_create();
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    for (int host = 0; host < 2; host++) {
        zf_plan_options options = {.target = host ? "host" : "emu"};
        const zf_plan *plan = zf_plan_build(arena, graph, &options, NULL);
        unsigned found = 0;
        for (uint32_t w = 0; w < plan->work_count; w++) {
            found += plan->works[w].short_strings;
            CHECK(!plan->works[w].short_strings || plan->works[w].type.kind == ZF_K_STRING, "work %u", w);
        }
        bool has = strcmp(column->name, "yes_words") == 0 || strcmp(column->name, "no_null") == 0 ||
                   strcmp(column->name, "no_root") == 0;
        CHECK(found == (unsigned)(!host && has), "%s: %u buffers of short strings", column->name, found);
    }
    zf_arena_destroy(arena);
}

static void check_broken(const zf_column *column, const char *from, const char *to) {
    zf_arena *arena = zf_arena_create();
    zf_plan_options options = {.target = "emu"};
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    zf_plan *plan = zf_plan_build(arena, graph, &options, NULL);
    zf_text text = {0}, changed = {0}, message = {0};
    zf_plan_print(plan, &text);
    const char *at = strstr(text.data, from);
    CHECK(at != NULL, "%s has no `%s`", column->name, from);
    if (at != NULL) {
        zf_text_printf(&changed, "%.*s%s%s", (int)(at - text.data), text.data, to, at + strlen(from));
        zf_plan *read = zf_plan_read(arena, graph, changed.data, &message);
        CHECK(read != NULL, "%s: %s", column->name, message.data);
        CHECK(read == NULL || !zf_plan_verify(read, &message), "%s: `%s` is believed", column->name, to);
    }
    zf_text_free(&text);
    zf_text_free(&changed);
    zf_text_free(&message);
    zf_arena_destroy(arena);
}

int main(void) {
    zf_spec *spec = make_spec(ZF_SOURCE_DIR "/tests/unit/patterns/characters.zf", ZF_STD);
    if (spec == NULL) return check_result();
    for (const zf_table *table = zf_spec_tables(spec); table != NULL; table = table->next) {
        for (const zf_column *c = table->columns; c != NULL; c = c->next) {
            check_column(c, "host");
            check_column(c, "emu");
            check_short_strings(c);
            if (strcmp(c->name, "yes_words") == 0) check_broken(c, " short strings\n", "\n");
            if (strcmp(c->name, "no_root") == 0) check_broken(c, "u8 kernel 0\n", "u8 kernel 0 short strings\n");
            if (strcmp(c->name, "host_echoes") == 0) check_broken(c, "u8 kernel 0\n", "u8 kernel 0 characters 0\n");
            if (strcmp(c->name, "no_longer") == 0) check_broken(c, "u8 kernel 0\n", "u8 kernel 0 characters 0\n");
            if (strcmp(c->name, "no_behind") == 0) check_broken(c, "u8 kernel 0\n", "u8 kernel 0 characters 0\n");
        }
    }
    zf_spec_destroy(spec);
    return check_result();
}
