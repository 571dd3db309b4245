// Links: zipflow-compiler
// Forms of kernels on GPUs: which one a kernel has, and what is said of kernels that are sequential.
#include <stdlib.h>

#include "codegen/codegen.h"
#include "tests/unit/compositions.h"

/// The form of a column's first kernel. `why` and `hint` are parts of the texts; NULL: the form is parallel. `interval` is the
/// seek interval; 0: the default. `choices` may be NULL. `target` NULL: nvptx.
typedef struct expected {
    const char *column, *form, *why, *hint;
    uint32_t interval;
    const char *choices, *target;
} expected;

static const expected rows[] = {
    {.column = "map", .form = "map"},
    {.column = "scan", .form = "scan"},
    {.column = "patches", .form = "patches"},
    {.column = "warp", .form = "warp"},
    {.column = "warp", .form = "records", .choices = "0:RECORDS=1"},
    {.column = "lanes", .form = "lanes"},
    {.column = "groups", .form = "groups"},
    {.column = "deep", .form = "groups"},
    {.column = "odd_segments", .form = "sequential", .why = "segments that do not divide the rows", .hint = "a power of two"},
    {.column = "windows", .form = "prefix"},
    {.column = "varints", .form = "sequential", .why = "has chunks without lanes", .hint = "`lanes = 32`"},
    {.column = "warp", .form = "sequential", .why = "as WALK=1 says", .hint = "WALK=32", .choices = "0:WALK=1"},
    {.column = "warp",
     .form = "sequential",
     .why = "as WALK=1 says",
     .hint = "WALK=64",
     .choices = "0:WALK=1",
     .target = "emu64"},
    {.column = "flags", .form = "sequential", .why = "makes booleans in chunks", .hint = "make u8"},
    {.column = "lane_arms", .form = "sequential", .why = "in an arm of `?:`", .hint = "one read of each stream"},
    {.column = "lane_ifs", .form = "sequential", .why = "read in an `if`", .hint = "one read of each stream"},
    {.column = "lane_flags", .form = "sequential", .why = "lanes that make booleans", .hint = "make a number"},
    {.column = "strings", .form = "sequential", .why = "groups of strings", .hint = "--unfused"},
    {.column = "segment_runs", .form = "sequential", .why = "segments of a stream", .hint = "--unfused"},
    {.column = "bytes", .form = "sequential", .why = "does not divide into rows", .hint = "512 or more", .interval = 256},
    {.column = "deep", .form = "sequential", .why = "do not fit into shared memory", .hint = "a smaller", .interval = 65536},
};

static void check_row(const zf_spec *spec, const expected *row) {
    const zf_column *column = find_column(spec, "forms", row->column);
    if (column == NULL) return;
    zf_arena *arena = zf_arena_create();
    zf_choices choices = {0};
    zf_text message = {0};
    if (row->choices != NULL) CHECK(zf_choices_read(row->choices, &choices, &message), "`%s`: %s", row->choices, message.data);
    zf_plan_options options = {
        .target = row->target != NULL ? row->target : "nvptx", .seek_interval = row->interval, .choices = &choices};
    zf_plan *plan = zf_plan_build(arena, zf_graph_build(arena, column, NULL), &options, NULL);
    zf_codegen_form_info info;
    bool known = plan != NULL && zf_codegen_form(plan, &plan->kernels[0], &info);
    CHECK(known, "%s: no form", row->column);
    if (known) {
        CHECK(strcmp(info.name, row->form) == 0, "%s: %s, not %s", row->column, info.name, row->form);
        CHECK(info.parallel == (row->why == NULL), "%s: parallel %d", row->column, info.parallel);
        CHECK((info.why == NULL) == (row->why == NULL) && (row->why == NULL || strstr(info.why, row->why) != NULL), "%s: %s",
              row->column, info.why);
        CHECK((info.hint == NULL) == (row->hint == NULL) && (row->hint == NULL || strstr(info.hint, row->hint) != NULL), "%s: %s",
              row->column, info.hint);
        CHECK(info.node < plan->graph->node_count, "%s: node %u", row->column, info.node);
    }
    zf_text_free(&message);
    zf_arena_destroy(arena);
}

/// The kernels of a plan for the host have no form.
static void check_host(const zf_spec *spec) {
    const zf_column *column = find_column(spec, "forms", "map");
    if (column == NULL) return;
    zf_arena *arena = zf_arena_create();
    zf_plan_options options = {.target = "host"};
    zf_plan *plan = zf_plan_build(arena, zf_graph_build(arena, column, NULL), &options, NULL);
    zf_codegen_form_info info;
    CHECK(plan != NULL && !zf_codegen_form(plan, &plan->kernels[0], &info), "a kernel of the host has a form");
    zf_arena_destroy(arena);
}

int main(void) {
    zf_spec *spec = make_spec(ZF_SOURCE_DIR "/tests/unit/codegen/kernel_forms.zf", ZF_STD);
    if (spec == NULL) return check_result();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) check_row(spec, &rows[k]);
    check_host(spec);
    zf_spec_destroy(spec);
    return check_result();
}
