// Printed graphs and plans: the input is the text of one, of a column of examples/tpch or of tests/unit/compositions.h. The
// reader says what is wrong and in which line, or makes a graph or plan that is printed as a text which is read as itself.
#include <string.h>

#include "patterns/graph/graph.h"
#include "patterns/plan/plan.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/compositions.h"

enum { RUNS_EACH = 2000 }; ///< of one spec: reading adds instances to it

static zf_spec *spec;
static unsigned runs;

static void make(void) {
    zf_text text = {0};
    zf_spec_destroy(spec);
    spec = zf_spec_create(&(zf_spec_options){.std_dir = ZF_STD});
    zf_text_puts(&text, extra_algorithms);
    zf_text_puts(&text, "table tests {\n");
    for (int k = 0; k < COMPOSITIONS; k++)
        zf_text_printf(&text, "  %s: %s = %s;\n", compositions[k].name, compositions[k].type, compositions[k].codec);
    zf_text_puts(&text, "}\n");
    bool good = spec != NULL && zf_spec_add_file(spec, ZF_SOURCE_DIR "/examples/tpch/tpch.zf");
    good = good && zf_spec_add_text(spec, "tests.zf", text.data, text.length) && zf_spec_check(spec);
    FUZZ_DEMAND(good, "the spec has errors");
    zf_text_free(&text);
}

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    make();
    return 0;
}

/// The column whose name stands between the first quotes behind `key`.
static const zf_column *column_in(const char *text, const char *key) {
    const char *at = strstr(text, key), *end = at != NULL ? strchr(at + strlen(key), '"') : NULL;
    if (end == NULL) return NULL;
    size_t length = (size_t)(end - at) - strlen(key);
    for (const zf_table *table = zf_spec_tables(spec); table != NULL; table = table->next) {
        for (const zf_column *column = table->columns; column != NULL; column = column->next) {
            if (strlen(column->name) == length && memcmp(column->name, at + strlen(key), length) == 0) return column;
        }
    }
    return NULL;
}

static void check_message(const zf_text *message) {
    FUZZ_DEMAND(message->data != NULL && strncmp(message->data, "line ", 5) == 0, "an error without a line: %s",
                message->data != NULL ? message->data : "");
}

static void run_graph(zf_arena *arena, const char *text) {
    zf_text message = {0}, reason = {0}, once = {0}, twice = {0};
    zf_graph *graph = zf_graph_read(arena, spec, text, &message);
    if (graph == NULL) {
        check_message(&message);
    } else if (zf_graph_verify(graph, &reason)) {
        zf_graph_print(graph, &once);
        zf_graph *again = zf_graph_read(arena, spec, once.data, &message);
        FUZZ_DEMAND(again != NULL, "%s\n%s", message.data, once.data);
        zf_graph_print(again, &twice);
        FUZZ_DEMAND(strcmp(once.data, twice.data) == 0, "read as another:\n%s\n%s", once.data, twice.data);
    }
    zf_text_free(&message);
    zf_text_free(&reason);
    zf_text_free(&once);
    zf_text_free(&twice);
}

static void run_plan(zf_arena *arena, const zf_column *column, const char *text) {
    zf_text message = {0}, reason = {0}, once = {0}, twice = {0};
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    FUZZ_DEMAND(graph != NULL, "no graph of %s", column->name);
    zf_plan *plan = zf_plan_read(arena, graph, text, &message);
    if (plan == NULL) {
        check_message(&message);
    } else if (zf_plan_verify(plan, &reason)) {
        zf_plan_print(plan, &once);
        zf_plan *again = zf_plan_read(arena, graph, once.data, &message);
        FUZZ_DEMAND(again != NULL, "%s\n%s", message.data, once.data);
        zf_plan_print(again, &twice);
        FUZZ_DEMAND(strcmp(once.data, twice.data) == 0, "read as another:\n%s\n%s", once.data, twice.data);
    }
    zf_text_free(&message);
    zf_text_free(&reason);
    zf_text_free(&once);
    zf_text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (++runs % RUNS_EACH == 0) make();
    char *text = malloc(size + 1);
    zf_arena *arena = zf_arena_create();
    if (text == NULL || arena == NULL) exit(2);
    memcpy(text, data, size);
    text[size] = 0;
    if (strncmp(text, "plan ", 5) == 0) {
        const zf_column *column = column_in(text, "for \"");
        if (column != NULL) run_plan(arena, column, text);
    } else {
        run_graph(arena, text);
    }
    zf_arena_destroy(arena);
    free(text);
    return 0;
}
