// Links: zipflow-patterns
// Graphs: numbering, the table of decisions, printing, reading back, and what the verifier rejects.
#include "patterns/graph/graph.h"
#include "tests/unit/compositions.h"

static void check_column(zf_spec *spec, const zf_column *column, const char *golden) {
    zf_arena *arena = zf_arena_create();
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    CHECK(graph != NULL, "%s: no graph", column->name);
    if (graph != NULL) {
        zf_text text = {0}, again = {0}, reason = {0};
        CHECK(zf_graph_verify(graph, &reason), "%s: %s", column->name, reason.data);
        zf_graph_print(graph, &text);
        golden_compare("graph", golden, text.data);

        zf_text message = {0};
        zf_graph *read = zf_graph_read(arena, spec, text.data, &message);
        CHECK(read != NULL, "%s: %s", column->name, message.data != NULL ? message.data : "");
        if (read != NULL) {
            CHECK(zf_graph_verify(read, &reason), "%s, read back: %s", column->name, reason.data);
            zf_graph_print(read, &again);
            CHECK(strcmp(text.data, again.data) == 0, "%s: reading changes it:\n%s\n%s", column->name, text.data, again.data);
        }
        zf_text_free(&text);
        zf_text_free(&again);
        zf_text_free(&reason);
        zf_text_free(&message);
    }
    zf_arena_destroy(arena);
}

static const zf_graph_edge *edge_at(const zf_graph *graph, const char *path) {
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        if (strcmp(graph->edges[e].path, path) == 0) return &graph->edges[e];
    }
    CHECK(false, "no edge %s", path);
    return &graph->edges[0];
}

/// Rows of the table of access and capability, each seen at an edge.
static void check_decisions(zf_spec *spec) {
    static const struct {
        const char *column, *path;
        zf_access access;
        zf_capability capability;
        zf_decision decision;
    } rows[] = {
        {"bitpack", "packed", ZF_ACCESS_GATHER, ZF_CAP_RANDOM, ZF_EDGE_STORED},
        {"dictionary_bitpack", "codes", ZF_ACCESS_ALIGNED_I, ZF_CAP_RANDOM, ZF_EDGE_INLINED},
        {"dictionary_both", "entries", ZF_ACCESS_GATHER, ZF_CAP_RANDOM, ZF_EDGE_INLINED},
        {"dictionary_delta", "codes", ZF_ACCESS_ALIGNED_I, ZF_CAP_ORDERED, ZF_EDGE_FUSED},
        {"rle_bitpack", "values", ZF_ACCESS_ALIGNED_G, ZF_CAP_RANDOM, ZF_EDGE_INLINED},
        {"rle_rle", "counts", ZF_ACCESS_ALIGNED_G, ZF_CAP_ORDERED, ZF_EDGE_FUSED},
        {"delta_bitpack", "deltas", ZF_ACCESS_ALIGNED_I, ZF_CAP_RANDOM, ZF_EDGE_INLINED},
        {"delta_dictionary_delta", "deltas", ZF_ACCESS_ALIGNED_I, ZF_CAP_ORDERED, ZF_EDGE_FUSED},
        {"picks_delta", "from", ZF_ACCESS_GATHER, ZF_CAP_ORDERED, ZF_EDGE_MATERIALISED},
        {"segments", "steps", ZF_ACCESS_ALIGNED_I, ZF_CAP_RANDOM, ZF_EDGE_INLINED},
        {"windows", "terms", ZF_ACCESS_GATHER, ZF_CAP_RANDOM, ZF_EDGE_INLINED},
    };
    zf_arena *arena = zf_arena_create();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const zf_column *column = find_column(spec, "tests", rows[k].column);
        if (column == NULL) continue;
        const zf_graph_edge *edge = edge_at(zf_graph_build(arena, column, NULL), rows[k].path);
        CHECK(edge->access == rows[k].access, "%s.%s: access %d", rows[k].column, rows[k].path, (int)edge->access);
        CHECK(edge->capability == rows[k].capability, "%s.%s: capability %d", rows[k].column, rows[k].path,
              (int)edge->capability);
        CHECK(edge->decision == rows[k].decision, "%s.%s: decision %d", rows[k].column, rows[k].path, (int)edge->decision);
        CHECK(edge->reason != NULL && *edge->reason != '\0', "%s.%s: no reason", rows[k].column, rows[k].path);
    }
    // A materialised input is as good as stored: picks(.., delta) is random, dictionary(delta) is not.
    zf_graph *picks = zf_graph_build(arena, find_column(spec, "tests", "picks_delta"), NULL);
    CHECK(picks->nodes[0].capability == ZF_CAP_RANDOM, "picks over a materialised child is random");
    zf_graph *fused = zf_graph_build(arena, find_column(spec, "tests", "dictionary_delta"), NULL);
    CHECK(fused->nodes[0].capability == ZF_CAP_ORDERED, "a map over a fused child is ordered");
    zf_graph *chunked = zf_graph_build(arena, find_column(spec, "tests", "chunked"), NULL);
    CHECK(chunked->nodes[0].capability == ZF_CAP_CHUNKED, "a non_parallel result is chunked");
    zf_arena_destroy(arena);
}

static void check_branches(zf_spec *spec) {
    const zf_column *column = find_column(spec, "tests", "choice");
    if (column == NULL) return;
    CHECK(column->choice_count == 2, "%u choices", column->choice_count);
    zf_arena *arena = zf_arena_create();
    static const uint8_t vectors[][2] = {{0, 0}, {0, 1}, {1, 0}};
    static const uint32_t nodes[] = {2, 2, 1};
    for (int k = 0; k < 3; k++) {
        zf_graph *graph = zf_graph_build(arena, column, vectors[k]);
        CHECK(graph != NULL && graph->node_count == nodes[k], "vector %d", k);
        zf_text text = {0}, message = {0};
        zf_graph_print(graph, &text);
        CHECK(zf_graph_read(arena, spec, text.data, &message) != NULL, "vector %d: %s", k, message.data);
        zf_text_free(&text);
        zf_text_free(&message);
    }
    static const uint8_t beyond[] = {2, 0};
    CHECK(zf_graph_build(arena, column, beyond) == NULL, "a branch that does not exist");
    zf_arena_destroy(arena);
}

static void check_params(zf_spec *spec) {
    zf_arena *arena = zf_arena_create();
    zf_graph *graph = zf_graph_build(arena, find_column(spec, "tests", "rle_bitpack"), NULL);
    CHECK(graph->param_count == 4, "%u params", graph->param_count);
    uint32_t node = 0;
    CHECK(strcmp(zf_graph_param(graph, 0, &node)->name, "width") == 0 && node == 1, "param 0");
    CHECK(strcmp(zf_graph_param(graph, 3, &node)->name, "base") == 0 && node == 2, "param 3");
    CHECK(zf_graph_param(graph, 4, &node) == NULL, "param 4");
    zf_arena_destroy(arena);
}

/// Every one of these must be noticed, by the reader or by the verifier.
static void check_broken(zf_spec *spec) {
    static const char *const changes[][2] = {
        {"makes 0 from [1 3]", "makes 1 from [1 3]"},
        {"makes 0 from [1 3]", "makes 0 from [3 1]"},
        {"makes 1 from [2], random", "makes 1 from [2], ordered"},
        {"node 0 to column", "node 1 to column"},
        {"\"codes\"", "\"code\""},
        {"\"codes.packed\"", "\"entries.packed\""},
        {"node 1 to node 0", "stored 0 to node 0"},
        {"node 1 to node 0", "node 1 to node 1"},
        {"aligned i, random, inlined", "gather, random, inlined"},
        {"aligned i, random, inlined", "aligned i, ordered, inlined"},
        {"aligned i, random, inlined", "aligned i, random, fused"},
        {"aligned i, random, inlined", "aligned i, random, materialised"},
        {"stored 0 to node 1", "stored 1 to node 1"},
        {"stored 1 to node 0", "stored 0 to node 0"},
        {"gather, random, stored", "gather, chunked, stored"},
        {"edge 1 \"codes\" u32", "edge 1 \"codes\" u64"},
        {"edge 1 \"codes\"", "edge 2 \"codes\""},
        {"param 0 of node 1", "param 1 of node 1"},
        {"\"width\"", "\"height\""},
        {"u8, shapes", "u8"},
        {"node 1 \"bitpack<u32, u32>\"", "node 1 \"bitpack<u32, u64>\""},
        {"branches []", "branches [0]"},
        {"branches []", "branches [300]"},
        {"dictionary(codes: bitpack)", "bitpack"},
        {"dictionary(codes: bitpack)", "no_such_codec"},
        {"dictionary(codes: bitpack)", "dictionary("},
        {"i32 =", "f64 ="},
        {"i32 =", "words ="},
        {"graph", "tree"},
        {"edge 3", "edge 99999999999999999999"},
        {"edge 3", "edge -1"},
    };
    zf_arena *arena = zf_arena_create();
    zf_text good = {0};
    zf_graph_print(zf_graph_build(arena, find_column(spec, "tests", "dictionary_bitpack"), NULL), &good);
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        char *text = golden_replaced(good.data, changes[k][0], changes[k][1]);
        CHECK(text != NULL, "`%s` does not occur in\n%s", changes[k][0], good.data);
        if (text == NULL) continue;
        zf_text message = {0};
        zf_graph *graph = zf_graph_read(arena, spec, text, &message);
        bool rejected = graph == NULL || !zf_graph_verify(graph, &message);
        CHECK(rejected, "`%s` instead of `%s` goes unnoticed", changes[k][1], changes[k][0]);
        CHECK(!rejected || message.length > 0, "`%s`: rejected without a reason", changes[k][1]);
        zf_text_free(&message);
        free(text);
    }
    // Cut anywhere: an error with a line, or (at the end of the text only) the graph.
    for (size_t length = 0; length < good.length; length++) {
        char *text = zf_arena_copy(arena, good.data, length);
        zf_text message = {0};
        zf_graph *graph = zf_graph_read(arena, spec, text, &message);
        if (graph == NULL)
            CHECK(message.length > 0, "cut at %zu: no message", length);
        else
            CHECK(length + 1 >= good.length || zf_graph_verify(graph, NULL), "cut at %zu", length);
        zf_text_free(&message);
    }
    // Any byte changed: whatever is read then, neither reader nor verifier may stumble over it.
    static const char bytes[] = "0 9]\"Z";
    for (size_t at = 0; at < good.length; at += 1 + good.length / 1500) {
        for (size_t b = 0; b + 1 < sizeof bytes; b++) {
            zf_arena *inner = zf_arena_create();
            char *text = zf_arena_copy(inner, good.data, good.length);
            text[at] = bytes[b];
            zf_text message = {0};
            zf_graph *read = zf_graph_read(inner, spec, text, &message);
            if (read != NULL) zf_graph_verify(read, &message);
            CHECK(read != NULL || message.length > 0, "byte %zu: no message", at);
            zf_text_free(&message);
            zf_arena_destroy(inner);
        }
    }
    zf_text_free(&good);
    zf_arena_destroy(arena);
}

int main(void) {
    zf_spec *spec = make_spec(NULL, ZF_STD);
    if (spec == NULL) return check_result();
    for (int k = 0; k < COMPOSITIONS; k++) {
        const zf_column *column = find_column(spec, "tests", compositions[k].name);
        if (column != NULL) check_column(spec, column, compositions[k].name);
    }
    check_decisions(spec);
    check_branches(spec);
    check_params(spec);
    check_broken(spec);
    zf_spec_destroy(spec);

    spec = make_spec(ZF_SOURCE_DIR "/examples/tpch/tpch.zf", ZF_STD);
    if (spec == NULL) return check_result();
    for (const zf_table *table = zf_spec_tables(spec); table != NULL; table = table->next) {
        for (const zf_column *c = table->columns; c != NULL; c = c->next) check_column(spec, c, c->name);
    }
    zf_spec_destroy(spec);
    return check_result();
}
