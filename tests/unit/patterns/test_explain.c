// Links: zipflow-patterns
// What `zfc explain` shows: every column of TPC-H and every composition, as text and as JSON.
#include "patterns/plan/explain.h"
#include "tests/unit/compositions.h"

/// The end of one JSON value that begins at `at`, or NULL: enough of a parser to see that brackets, strings and commas are right.
static const char *json_end(const char *at, unsigned depth) {
    while (*at == ' ' || *at == '\n') at++;
    if (depth > 32) return NULL;
    if (*at == '"') {
        for (at++; *at != '"'; at++) {
            if (*at == '\0') return NULL;
            if (*at == '\\') at++;
        }
        return at + 1;
    }
    if (*at == '{' || *at == '[') {
        char close = *at == '{' ? '}' : ']';
        bool object = *at == '{';
        for (at++; *at == ' ' || *at == '\n'; at++) {
        }
        while (*at != close) {
            if (object) {
                at = *at == '"' ? json_end(at, depth + 1) : NULL;
                if (at == NULL || *at++ != ':') return NULL;
            }
            at = json_end(at, depth + 1);
            if (at == NULL) return NULL;
            while (*at == ' ' || *at == '\n') at++;
            if (*at == ',') {
                for (at++; *at == ' ' || *at == '\n'; at++) {
                }
                if (*at == close) return NULL;
            } else if (*at != close) {
                return NULL;
            }
        }
        return at + 1;
    }
    size_t length = strspn(at, "0123456789.-+eabcdefghijklmnopqrstuvwxyz");
    return length == 0 ? NULL : at + length;
}

static void explain(const zf_column *column, bool planned, zf_text *text, zf_text *json) {
    zf_arena *arena = zf_arena_create();
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    zf_plan *plan = planned ? zf_plan_build(arena, graph, NULL, NULL) : NULL;
    CHECK(!planned || plan != NULL, "%s: no plan", column->name);
    zf_explained what = {.graph = graph, .plan = plan};
    zf_explain_text(&what, text);
    zf_explain_json(&what, json);
    const char *end = json_end(json->data, 0);
    CHECK(end != NULL && strcmp(end, "\n") == 0, "%s: not one JSON value:\n%s", column->name, json->data);
    zf_arena_destroy(arena);
}

static void check_contains(const zf_spec *spec, const char *column, bool json, const char *wanted) {
    const zf_column *found = find_column(spec, "tests", column);
    if (found == NULL) return;
    zf_text texts[2] = {{0}, {0}};
    explain(found, true, &texts[0], &texts[1]);
    CHECK(strstr(texts[json].data, wanted) != NULL, "%s: no `%s` in\n%s", column, wanted, texts[json].data);
    zf_text_free(&texts[0]);
    zf_text_free(&texts[1]);
}

int main(void) {
    zf_spec *spec = make_spec(NULL, ZF_STD);
    if (spec == NULL) return check_result();
    const zf_table *table = zf_spec_find_table(spec, "tests");
    for (const zf_column *c = table->columns; c != NULL; c = c->next) {
        static const char *const refused[] = {"chunked", "words", "gaps", "some_terms"};
        bool lowered = true;
        for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) lowered = lowered && strcmp(c->name, refused[k]) != 0;
        zf_text text = {0}, json = {0};
        explain(c, lowered, &text, &json);
        CHECK(text.length > 0, "%s: nothing", c->name);
        zf_text_free(&text);
        zf_text_free(&json);
    }
    // Bytes per element where they are known, and by which param where they are not.
    check_contains(spec, "plain", false, "reads   values: 4 bytes per element");
    check_contains(spec, "plain", false, "limit   B / (4 + 4) elements per second, by memory\n");
    check_contains(
        spec, "plain", false,
        "limit on a GPU: at least (stored bytes + 4 * elements) / B seconds, where B is its copy bandwidth in bytes per "
        "second; a CPU is bound by instructions\n");
    check_contains(spec, "bitpack", false, "packed: width / 8 bytes per element (width is chosen for each block)");
    check_contains(spec, "bitpack", false, "limit   B / (width / 8 + 4)");
    check_contains(spec, "given", false, "packed: 0.875 bytes per element");
    check_contains(spec, "byte_stream_split", false, "bytes: 8 bytes per element");
    check_contains(spec, "rle_bitpack", false, "values.packed: values.width / 8 bytes per group");
    check_contains(spec, "dictionary_bitpack", false, "entries: an amount that depends on the data");
    check_contains(spec, "constant", false, "reads   nothing");
    check_contains(spec, "kept_index", false, "reads   v: 4 bytes per element");
    check_contains(spec, "cut_index", false, "reads   v: an amount that depends on the data"); // the first 256, again and again
    check_contains(spec, "rle_rle", false, "fused (ordered, and read in order: a step of the same tile)");
    check_contains(spec, "rle_rle", false, "steps   expand counts, expand column, map column\n");
    check_contains(spec, "rle_rle", true, "\"steps\": [{\"step\": \"expand\", \"path\": \"counts\"}, ");
    check_contains(spec, "picks_delta", false, "materialised (gathered from an ordered child)");
    check_contains(spec, "picks_delta", false, "work of from: an amount that depends on the data");
    // Prefix sums are read by the kernel that has the node, wherever the node is fused; the terms by the sums' kernel alone.
    check_contains(spec, "windows", false,
                   "reads   ends.packed: ends.width / 8 bytes per element (ends.width is chosen for each "
                   "block), prefix sums of terms: an amount that depends on the data\n");
    check_contains(spec, "delta_windows", false, "prefix sums of deltas.terms: an amount that depends on the data\n");
    check_contains(spec, "delta_windows", true, "{\"stream\": \"deltas.terms\", \"work\": true, \"prefix_sums\": true, ");
    // One decision an edge: the plan's.
    check_contains(spec, "map_of_chunks", false, "chunked; aligned i, materialised (made in chunks)\n");
    check_contains(spec, "bitpack", false, "for each tuple of (width)");
    check_contains(spec, "bitpack", false, "V01 column, bits of packed: once per block, ");
    check_contains(spec, "bitpack", true, "\"kernels\": [\n    {\"kernel\": 0, \"domain\": \"elements\"");
    check_contains(spec, "bitpack", true, "\"per\": \"element\", \"bytes\": null, \"bits_param\": \"width\"");
    check_contains(spec, "rle_rle", true, "\"shaping\": [\"values.width\", \"counts.values.width\", \"counts.counts.width\"]");
    zf_spec_destroy(spec);
    return check_result();
}
