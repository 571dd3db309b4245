// Links: zipflow-patterns
// Plans: kernels per composition, checks, seek trees, printing, reading back, and what the verifier rejects.
#include "patterns/plan/plan.h"
#include "tests/unit/compositions.h"

static const zf_plan_options host = {.target = "host"};
static const zf_plan_options apart = {.target = "host", .unfused = "all"};

/// Plans a column. NULL after a CHECK.
static zf_plan *plan_column(zf_arena *arena, const zf_column *column, const zf_plan_options *options) {
    zf_diags diags;
    zf_diags_init(&diags, arena);
    zf_graph *graph = zf_graph_build(arena, column, NULL);
    zf_plan *plan = graph != NULL ? zf_plan_build(arena, graph, options, &diags) : NULL;
    CHECK(plan != NULL, "%s: no plan: %s", column->name, diags.first != NULL ? diags.first->message : "");
    if (plan == NULL) return NULL;
    CHECK(diags.errors == 0, "%s: a plan with errors", column->name);
    zf_text reason = {0};
    CHECK(zf_plan_verify(plan, &reason), "%s: %s", column->name, reason.data);
    zf_text_free(&reason);
    return plan;
}

static void check_column(const zf_column *column, const char *golden) {
    zf_arena *arena = zf_arena_create();
    zf_plan *plan = plan_column(arena, column, &host);
    if (plan != NULL) {
        zf_text text = {0}, again = {0}, message = {0};
        zf_plan_print(plan, &text);
        golden_compare("plan", golden, text.data);
        zf_plan *read = zf_plan_read(arena, plan->graph, text.data, &message);
        CHECK(read != NULL, "%s: %s", column->name, message.data != NULL ? message.data : "");
        if (read != NULL) {
            CHECK(zf_plan_verify(read, &message), "%s, read back: %s", column->name, message.data);
            zf_plan_print(read, &again);
            CHECK(strcmp(text.data, again.data) == 0, "%s: reading changes it:\n%s\n%s", column->name, text.data, again.data);
        }
        zf_text_free(&text);
        zf_text_free(&again);
        zf_text_free(&message);
    }
    zf_arena_destroy(arena);
}

/// Every node is a kernel of its own when nothing is fused.
static void check_materialise_all(const zf_column *column) {
    zf_arena *arena = zf_arena_create();
    zf_plan_options options = {.target = "host", .materialise_all = true, .seek_interval = 256};
    zf_plan *plan = plan_column(arena, column, &options);
    if (plan != NULL) {
        uint32_t prefix = 0;
        for (uint32_t k = 0; k < plan->kernel_count; k++) prefix += plan->kernels[k].prefix != NULL;
        CHECK(plan->kernel_count == plan->graph->node_count + prefix, "%s: %u kernels for %u nodes", column->name,
              plan->kernel_count, plan->graph->node_count);
    }
    zf_arena_destroy(arena);
}

// ---- Checks ---------------------------------------------------------------------------------------------------

/// How a violation of a node is checked: 0 not at all, 1 once per block, 2 in the kernel.
static int how(const zf_plan *plan, uint32_t node, uint32_t violation, const char *text) {
    for (uint32_t c = 0; c < plan->check_count; c++) {
        const zf_check *check = &plan->checks[c];
        if (check->node == node && check->violation == violation && strcmp(check->text, text) == 0) return check->hoisted ? 1 : 2;
    }
    return 0;
}

static void check_checks(zf_spec *spec) {
    static const struct {
        const char *column;
        uint32_t node, violation;
        const char *text;
        int how;
    } rows[] = {
        {"bitpack", 0, 1, "bits of packed", 1},              // i * width: affine
        {"dictionary_bitpack", 0, 1, "index of entries", 2}, // an index from data
        {"dictionary_bitpack", 0, 1, "index of codes", 1},   // i, and codes may have fewer elements
        {"dictionary_bitpack", 1, 1, "bits of packed", 1},
        {"float2int_bitpack", 0, 1, "index of POW10", 0}, // digits in 0..=18, 19 entries: proved
        {"float2int_bitpack", 0, 1, "index of ints", 1},
        {"rle_bitpack", 0, 1, "index of values", 1},   // counts in 1..: no group is empty
        {"rle_bitpack", 0, 5, "element of counts", 2}, // bitpack<u32> may give 0
        {"rle_bitpack", 0, 9, "state at a tile's end", 2},
        {"loose", 0, 1, "index of values", 2}, // the last group may be empty
        {"delta_bitpack", 0, 1, "index of deltas", 1},
        {"delta_bitpack", 0, 9, "state at a tile's end", 2},
        {"delta_stride_bitpack", 0, 1, "index of start", 1},
        {"byte_stream_split", 0, 1, "index of bytes", 1}, // k * out.len + i, k unrolled
        {"limited", 0, 5, "element of small", 2},
        {"remainder", 0, 7, "divisor", 2},   // m may be 0; 10 is not
        {"maybe", 0, 1, "index of rare", 2}, // only where its flag is set
        {"maybe", 0, 1, "index of flags", 1},
        {"twice", 0, 1, "index of v", 1},     // one place, inlined twice: one check
        {"sometimes", 0, 1, "index of v", 2}, // the same, but one of the two is conditional
        {"guarded", 0, 1, "index of v", 2},
        {"demands", 0, 6, "`e < 100`", 2},
        {"segments", 0, 9, "state at a tile's end", 0}, // segments of 128 never cross a tile
        {"segments", 0, 1, "index of steps", 1},        // up to i itself
        {"segments_after", 0, 1, "index of steps", 2},  // a segment's first element reads nothing
        {"odd_segments", 0, 9, "state at a tile's end", 2},
        {"given", 0, 1, "bits of packed", 1},
    };
    zf_arena *arena = zf_arena_create();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const zf_column *column = find_column(spec, "tests", rows[k].column);
        zf_plan *plan = column != NULL ? plan_column(arena, column, &host) : NULL;
        if (plan == NULL) continue;
        int is = how(plan, rows[k].node, rows[k].violation, rows[k].text);
        CHECK(is == rows[k].how, "%s: V%02u %s is %d, not %d", rows[k].column, rows[k].violation, rows[k].text, is, rows[k].how);
    }
    // One number for each divisor that may be 0: `% 10` has none.
    zf_plan *plan = plan_column(arena, find_column(spec, "tests", "remainder"), &host);
    uint32_t divisors = 0;
    for (uint32_t c = 0; plan != NULL && c < plan->check_count; c++) divisors += plan->checks[c].violation == 7;
    CHECK(divisors == 1, "%u divisors", divisors);
    zf_arena_destroy(arena);
}

// ---- Details --------------------------------------------------------------------------------------------------

static void check_details(zf_spec *spec) {
    zf_arena *arena = zf_arena_create();
    zf_plan *plan = plan_column(arena, find_column(spec, "tests", "rle_bitpack"), &host);
    if (plan != NULL) {
        const zf_kernel *kernel = &plan->kernels[0];
        CHECK(kernel->domain == ZF_DOMAIN_GROUPS && kernel->tile == 4096 && kernel->node_count == 3, "the kernel of rle");
        CHECK(kernel->step_count == 2 && kernel->steps[0].kind == ZF_STEP_EXPAND && kernel->steps[1].kind == ZF_STEP_MAP,
              "its steps");
        CHECK(plan->tree_count == 1 && plan->trees[0].field_count == 2, "its seek tree");
        CHECK(plan->shaping_count == 2 && plan->shaping[0] == 0 && plan->shaping[1] == 2, "both widths shape code");
        CHECK(zf_plan_slot(plan, ZF_SLOT_PARAM, 1, 0) >= 0, "the base of values has a word");
        CHECK(zf_plan_slot(plan, ZF_SLOT_SEEK_WIDTH, 0, 1) >= 0, "the offset has a word");
        CHECK(zf_plan_slot(plan, ZF_SLOT_SEEK_WIDTH, 0, 2) < 0, "there is no third field");
        zf_span none = {.source = NULL};
        CHECK(zf_plan_check(plan, 0, none, 9) == kernel->end_check, "the check at a tile's end");
        CHECK(zf_plan_check(plan, 0, none, 8) < 0, "a check that does not exist");
    }
    zf_plan_options fine = {.target = "host", .seek_interval = 256};
    plan = plan_column(arena, find_column(spec, "tests", "delta_bitpack"), &fine);
    if (plan != NULL) {
        CHECK(plan->kernels[0].tile == 256, "tiles of the seek interval");
        CHECK(plan->trees[0].field_count == 1 && plan->trees[0].fields[0].type == ZF_K_I64, "an accumulator of i64");
        CHECK(plan->kernels[0].steps[0].kind == ZF_STEP_SCAN && plan->kernels[0].steps[0].reduce != NULL, "a scan step");
    }
    plan = plan_column(arena, find_column(spec, "tests", "given"), &host);
    if (plan != NULL) {
        CHECK(plan->shaping_count == 0, "a given param needs no tuple");
        CHECK(zf_plan_slot(plan, ZF_SLOT_PARAM, 0, 0) < 0, "and no word");
    }
    plan = plan_column(arena, find_column(spec, "tests", "windows"), &host);
    if (plan != NULL) {
        CHECK(plan->kernels[0].prefix != NULL && plan->works[0].prefix != NULL, "prefix sums first");
        CHECK(zf_plan_prefix_work(plan, 0, plan->kernels[0].prefix) == 0, "found again");
        CHECK(plan->kernels[1].tree < 0, "the differences need no state");
    }
    plan = plan_column(arena, find_column(spec, "tests", "dictionary_delta"), &host);
    if (plan != NULL) {
        CHECK(plan->graph->edges[1].decision == ZF_EDGE_FUSED && plan->edge_work[1] < 0, "a step of its consumer's tile");
        CHECK(plan->kernels[0].tree == 0 && plan->trees[0].edge == 0, "the map keeps its input's state");
    }
    plan = plan_column(arena, find_column(spec, "tests", "dictionary_delta"), &apart);
    if (plan != NULL) {
        CHECK(plan->graph->edges[1].decision == ZF_EDGE_FUSED && plan->edge_work[1] == 0, "materialised, as was asked");
        CHECK(strstr(plan->edge_reason[1], "unfused by request") != NULL, "with a reason: %s", plan->edge_reason[1]);
        CHECK(plan->kernels[1].tree < 0, "a map over a work buffer keeps no state");
    }
    // A scan over groups, over a map, over groups: one state.
    plan = plan_column(arena, find_column(spec, "tests", "four_stages"), &host);
    if (plan != NULL) {
        const zf_kernel *kernel = &plan->kernels[0];
        CHECK(plan->kernel_count == 1 && kernel->level_count == 3, "%u kernels, %u levels", plan->kernel_count,
              kernel->level_count);
        CHECK(plan->tree_count == 1 && plan->trees[0].field_count == 5, "%u fields", plan->trees[0].field_count);
        CHECK(plan->trees[0].fields[0].kind == ZF_SEEK_SCAN && plan->trees[0].fields[1].kind == ZF_SEEK_GROUP, "in pre-order");
    }
    // States beyond 256 bytes are kept by several trees.
    plan = plan_column(arena, find_column(spec, "tests", "deep"), &host);
    if (plan != NULL) {
        CHECK(plan->kernel_count == 2 && plan->tree_count == 2, "%u kernels, %u trees", plan->kernel_count, plan->tree_count);
        CHECK(plan->trees[0].field_count == 32 && plan->trees[1].field_count == 8, "%u and %u fields", plan->trees[0].field_count,
              plan->trees[1].field_count);
    }
    plan = plan_column(arena, find_column(spec, "tests", "twice"), &host);
    if (plan != NULL) {
        CHECK(plan->check_count == 2 && plan->hoisted_count == 3, "%u checks, %u hoisted", plan->check_count,
              plan->hoisted_count);
    }
    // A hoisted check has its place.
    plan = plan_column(arena, find_column(spec, "tests", "byte_stream_split"), &host);
    if (plan != NULL) {
        CHECK(plan->hoisted_count == 1, "%u hoisted", plan->hoisted_count);
        if (plan->hoisted_count == 1) {
            CHECK(plan->hoisted[0].reduce_count == 1, "inside one reduction");
            CHECK(plan->hoisted[0].body == &plan->graph->nodes[0].inst->decode, "in decode");
            CHECK(zf_plan_is_hoisted(plan, 0, plan->hoisted[0].access), "found again");
        }
    }
    zf_arena_destroy(arena);
}

static void check_refused(zf_spec *spec) {
    static const struct {
        const char *column;
        zf_plan_options options;
        zf_diag_code code;
        const char *says;
    } rows[] = {
        {"words", {.target = "nvptx"}, ZF_D_NOT_LOWERED, "of string, which cannot be stored"},
        {"gaps", {.target = "host"}, ZF_D_NOT_LOWERED, "cannot be stored"},
        {"gaps", {.target = "nvptx"}, ZF_D_NOT_LOWERED, "cannot be stored"},
        {"some_terms", {.target = "host"}, ZF_D_NOT_LOWERED, "prefix sums"},
        {"bitpack", {.target = "abacus"}, ZF_D_NOT_LOWERED, "abacus"},
        {"bitpack", {.target = "host", .seek_interval = 1000}, ZF_D_SEEK_STATE, "1000"},
        {"bitpack", {.target = "host", .seek_interval = 128}, ZF_D_SEEK_STATE, "128"},
    };
    zf_arena *arena = zf_arena_create();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const zf_column *column = find_column(spec, "tests", rows[k].column);
        if (column == NULL) continue;
        zf_diags diags;
        zf_diags_init(&diags, arena);
        zf_plan *plan = zf_plan_build(arena, zf_graph_build(arena, column, NULL), &rows[k].options, &diags);
        CHECK(plan == NULL && diags.errors == 1, "%s: a plan, or %u errors", rows[k].column, diags.errors);
        if (diags.first == NULL) continue;
        CHECK(diags.first->code == rows[k].code, "%s: ZF%04d", rows[k].column, (int)diags.first->code);
        CHECK(strstr(diags.first->message, rows[k].says) != NULL, "%s: %s", rows[k].column, diags.first->message);
        CHECK(diags.first->span.source != NULL, "%s: no place", rows[k].column);
    }
    zf_arena_destroy(arena);
}

static void check_broken(zf_spec *spec, const char *column, const zf_plan_options *options, const char *const (*changes)[2],
                         size_t count) {
    zf_arena *arena = zf_arena_create();
    zf_plan *plan = plan_column(arena, find_column(spec, "tests", column), options);
    zf_text good = {0};
    if (plan != NULL) zf_plan_print(plan, &good);
    for (size_t k = 0; plan != NULL && k < count; k++) {
        char *text = golden_replaced(good.data, changes[k][0], changes[k][1]);
        CHECK(text != NULL, "`%s` does not occur in\n%s", changes[k][0], good.data);
        if (text == NULL) continue;
        zf_text message = {0};
        zf_plan *read = zf_plan_read(arena, plan->graph, text, &message);
        bool rejected = read == NULL || !zf_plan_verify(read, &message);
        CHECK(rejected, "%s: `%s` instead of `%s` goes unnoticed", column, changes[k][1], changes[k][0]);
        CHECK(!rejected || message.length > 0, "`%s`: rejected without a reason", changes[k][1]);
        zf_text_free(&message);
        free(text);
    }
    for (size_t length = 0; length < good.length; length++) {
        zf_text message = {0};
        zf_plan *read = zf_plan_read(arena, plan->graph, zf_arena_copy(arena, good.data, length), &message);
        if (read == NULL)
            CHECK(message.length > 0, "cut at %zu: no message", length);
        else
            zf_plan_verify(read, &message); // must not crash; reasons of edges may be cut without harm
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
            zf_plan *read = zf_plan_read(inner, plan->graph, text, &message);
            if (read != NULL) zf_plan_verify(read, &message);
            CHECK(read != NULL || message.length > 0, "byte %zu: no message", at);
            zf_text_free(&message);
            zf_arena_destroy(inner);
        }
    }
    zf_text_free(&good);
    zf_arena_destroy(arena);
}

static const char *const broken_rle_rle[][2] = {
    {"kernel 0 groups", "kernel 0 elements"},
    {"kernel 0 groups: node 2", "kernel 0 groups: node 0"},
    {"makes edge 3 into work 0", "makes edge 3 into column"},
    {"makes edge 3 into work 0", "makes edge 1 into work 0"},
    {"steps [expand 2/0>1, map 2]", "steps [map 2]"},
    {"steps [expand 2/0>1, map 2]", "steps [map 2, expand 2/0>1]"},
    {"steps [expand 2/0>1, map 2]", "steps [expand 2/0>1, map 0]"},
    {"steps [expand 2/0>1, map 2]", "steps [expand 2/0>1, scan 2.0/0, map 2]"},
    {"steps [expand 2/0>1, map 2]", "steps [expand 2/1>1, map 2]"},
    {"steps [expand 2/0>1, map 2]", "steps [expand 2/0>0, map 2]"},
    {"nodes [2 3 4]", "nodes [2 3]"},
    {"nodes [2 3 4]", "nodes [2 4 3]"},
    {"nodes [2 3 4]", "nodes [2 3 4 4]"},
    {"tree 1, tile 4096", "tree 0, tile 4096"},
    {"tree 1, tile 4096", "tree -1, tile 4096"},
    {"tree 1, tile 4096", "tree 2, tile 4096"},
    {"tile 4096", "tile 4000"},
    {"tile 4096", "tile 128"},
    {"tile 4096", "tile 0"},
    {"geometry [1 1 1]", "geometry [0 1 1]"},
    {"geometry [1 1 1]", "geometry [+1 1 1]"},
    {"geometry [1 1 1]", "geometry [1 1\n1]"},
    {"work 0 edge 3 u32 kernel 0", "work 0 edge 3 u64 kernel 0"},
    {"work 0 edge 3 u32 kernel 0", "work 0 edge 3 u32 kernel 1"},
    {"work 0 edge 3 u32 kernel 0", "work 0 edge 1 u32 kernel 0"},
    {"tree 0 edge 0: [group 0, offset 0]", "tree 0 edge 0: [group 0]"},
    {"tree 0 edge 0: [group 0, offset 0]", "tree 0 edge 0: [offset 0, group 0]"},
    {"tree 0 edge 0: [group 0, offset 0]", "tree 0 edge 1: [group 0, offset 0]"},
    {"tree 0 edge 0: [group 0, offset 0]", "tree 0 edge 0: [group 2, offset 2]"},
    {"param 0, ", ""},
    {"offset 0, ", ""},
    {", count 0", ""},
    {"seek_width 1.1", "seek_width 1.0"},
    {"shaping [", "shaping [1 "},
    {"edge 3 work 0", "edge 3 work -1"},
    {"edge 1 work -1", "edge 1 work 0"},
    {"edge 2 work -1", "edge 2 work 0"},
    {"check 1 V01", "check 1 V02"},
    {"check 1 V01", "check 0 V01"},
    {"hoisted 0 kernel", "hoisted 1 kernel"},
    {"plan \"host\"", "plan host"},
    {"for \"rle_rle\"", "for \"bitpack\""},
    {"shaping", "shape"},
    {"V09", "V08"},
};

static const char *const broken_tree[][2] = {
    {"steps [expand 2/1>2, expand 0/0>1, map 0]", "steps [expand 0/0>1, expand 2/1>2, map 0]"},
    {"steps [expand 2/1>2, expand 0/0>1, map 0]", "steps [expand 2/0>2, expand 0/0>1, map 0]"},
    {"steps [expand 2/1>2, expand 0/0>1, map 0]", "steps [expand 2/1>1, expand 0/0>2, map 0]"},
    {"steps [expand 2/1>2, expand 0/0>1, map 0]", "steps [expand 0/0>1, map 0]"},
    {"nodes [0 1 2 3 4]", "nodes [0 1]"},
    {"[group 0, offset 0, group 2, offset 2]", "[group 0, offset 0]"},
    {"[group 0, offset 0, group 2, offset 2]", "[group 2, offset 2, group 0, offset 0]"},
    {"edge 3 work -1", "edge 3 work 0"},
};

static const char *const broken_maybe[][2] = {
    {" \"index of rare\"", " hoisted \"index of rare\""}, // an access that is not always made
};

static const char *const broken_windows[][2] = {
    {"makes prefix sums 0 along edge 3", "makes prefix sums 0 along edge 1"},
    {"makes prefix sums 0 along edge 3", "makes prefix sums 1 along edge 3"},
    {"makes prefix sums 0 along edge 3", "makes edge 0"},
    {"kernel 0 prefix sums 0", "kernel 0"},
    {"steps [scan 0.0/0]", "steps [map 0]"},
};

int main(void) {
    zf_spec *spec = make_spec(NULL, ZF_STD);
    if (spec == NULL) return check_result();
    for (int k = 0; k < COMPOSITIONS; k++) {
        const zf_column *column = find_column(spec, "tests", compositions[k].name);
        if (column == NULL) continue;
        check_column(column, compositions[k].name);
        check_materialise_all(column);
        zf_arena *arena = zf_arena_create();
        zf_plan *plan = plan_column(arena, column, &host);
        if (plan != NULL) {
            CHECK(plan->kernel_count == compositions[k].kernels, "%s: %u kernels, not %u", compositions[k].name,
                  plan->kernel_count, compositions[k].kernels);
        }
        zf_arena_destroy(arena);
    }
    check_checks(spec);
    check_details(spec);
    check_refused(spec);
    check_broken(spec, "rle_rle", &host, broken_tree, sizeof broken_tree / sizeof *broken_tree);
    check_broken(spec, "rle_rle", &apart, broken_rle_rle, sizeof broken_rle_rle / sizeof *broken_rle_rle);
    check_broken(spec, "maybe", &host, broken_maybe, sizeof broken_maybe / sizeof *broken_maybe);
    check_broken(spec, "windows", &host, broken_windows, sizeof broken_windows / sizeof *broken_windows);
    zf_spec_destroy(spec);

    spec = make_spec(ZF_SOURCE_DIR "/examples/tpch/tpch.zf", ZF_STD);
    if (spec == NULL) return check_result();
    for (const zf_table *table = zf_spec_tables(spec); table != NULL; table = table->next) {
        for (const zf_column *c = table->columns; c != NULL; c = c->next) {
            check_column(c, c->name);
            check_materialise_all(c);
        }
    }
    zf_spec_destroy(spec);
    return check_result();
}
