// Links: zipflow-patterns
// No algorithm is known by its name: every algorithm, stream, param, function, constant and codec of the standard library and of
// TPC-H's codecs is renamed by a seeded map, and graphs, plans and explanations stay the same but for the names.
#include <sys/stat.h>

#include "patterns/plan/explain.h"
#include "tests/support/renaming.h"
#include "tests/unit/compositions.h"

/// Everything that later stages see of every column of a spec.
static void print_all(const zf_spec *spec, zf_text *out) {
    for (const zf_table *table = zf_spec_tables(spec); table != NULL; table = table->next) {
        for (const zf_column *c = table->columns; c != NULL; c = c->next) {
            zf_arena *arena = zf_arena_create();
            zf_graph *graph = zf_graph_build(arena, c, NULL);
            zf_plan *plan = zf_plan_build(arena, graph, NULL, NULL);
            CHECK(plan != NULL, "%s: no plan", c->name);
            zf_graph_print(graph, out);
            if (plan != NULL) zf_plan_print(plan, out);
            zf_arena_destroy(arena);
        }
    }
}

static void check_seed(uint64_t seed, const zf_text *original, const char *root) {
    char path[512];
    char *program = golden_read(ZF_SOURCE_DIR "/examples/tpch/tpch.zf");
    CHECK(program != NULL, "no tpch.zf");
    if (program == NULL) return;
    renaming *map = renaming_make(seed, program);
    renaming_write_std(map, root);
    snprintf(path, sizeof path, "%s/renamed.zf", root);
    renaming_write(map, program, path);
    zf_spec *spec = make_spec(path, root);
    if (spec != NULL) {
        zf_text renamed = {0}, back = {0};
        print_all(spec, &renamed);
        CHECK(strstr(renamed.data, "bitpack") == NULL && strstr(renamed.data, "counts") == NULL, "a name stayed");
        renaming_back(map, renamed.data, &back);
        size_t at = 0;
        while (back.data[at] != '\0' && back.data[at] == original->data[at]) at++;
        CHECK(strcmp(back.data, original->data) == 0, "seed %llu: they differ at:\n%.300s\nshould be:\n%.300s",
              (unsigned long long)seed, back.data + at, original->data + at);
        zf_text_free(&renamed);
        zf_text_free(&back);
        zf_spec_destroy(spec);
    }
    unlink(path);
    renaming_remove_std(map, root);
    renaming_free(map);
    free(program);
}

int main(void) {
    zf_spec *spec = make_spec(ZF_SOURCE_DIR "/examples/tpch/tpch.zf", ZF_STD);
    if (spec == NULL) return check_result();
    zf_text original = {0};
    print_all(spec, &original);
    zf_spec_destroy(spec);
    char root[] = "/tmp/zf_test_rename_XXXXXX";
    CHECK(mkdtemp(root) != NULL, "no temporary directory");
    for (uint64_t seed = 1; seed <= 3; seed++) check_seed(seed * 0x9e3779b9u, &original, root);
    rmdir(root);
    zf_text_free(&original);
    return check_result();
}
