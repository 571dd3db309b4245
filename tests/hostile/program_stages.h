// Takes a program's text through every stage of the compiler that needs no data, and demands of each what it promises: errors
// with places, or results that hold.
#ifndef ZF_TESTS_PROGRAM_STAGES_H
#define ZF_TESTS_PROGRAM_STAGES_H

#include <time.h>

#include "patterns/graph/graph.h"
#include "patterns/plan/explain.h"
#include "patterns/plan/plan.h"
#include "tests/support/ast_equal.h"
#include "tests/unit/parse_text.h"

/// The subject of the test: for messages, and to run one again. Kept where a signal finds it.
static char stages_subject[4600];

/// Which language errors came up (by code below 1000), and the largest memory of a compilation, since somebody cleared them.
static bool stages_codes[1000];
static size_t stages_memory;

/// A CHECK that names the subject. A few failures are enough to see.
#define DEMAND(condition, ...)                                                                                                   \
    do {                                                                                                                         \
        bool demand_holds = (condition);                                                                                         \
        if (!demand_holds) printf("%s: ", stages_subject);                                                                       \
        CHECK(demand_holds, __VA_ARGS__);                                                                                        \
        if (check_failures >= 20) exit(check_result());                                                                          \
    } while (0)

static inline double stages_seconds(void) {
    struct timespec now; // of this process alone: other work on the machine is not the subject's fault
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// ---- Diagnostics ----------------------------------------------------------------------------------------------

static inline bool stages_no_stop(const char *text) {
    size_t length = strlen(text);
    return length > 0 && text[length - 1] != '.' && text[length - 1] != ' ';
}

/// A place that lies in its source.
static inline bool stages_has_place(zf_span span) {
    return span.source && span.begin <= span.end && span.end <= span.source->length;
}

static inline void stages_render(const zf_diags *diags, zf_diag_form form, bool colour) {
    zf_text text = {0};
    zf_text_puts(&text, "");
    zf_diags_render(diags, form, colour, &text);
    bool printable = !text.failed;
    for (size_t i = 0; i < text.length && printable;) {
        size_t step = zf_utf8_length(text.data + i, text.length - i);
        unsigned char c = (unsigned char)text.data[i];
        printable = step > 0 && (c >= 0x20 || c == '\n' || (colour && c == 0x1b)) && c != 0x7f;
        i += step;
    }
    DEMAND(printable, "rendered with bytes that drive a terminal");
    if (form == ZF_DIAG_LINE) { // whatever names and strings hold, one diagnostic is one line
        size_t lines = 0, count = 0;
        for (size_t i = 0; i < text.length; i++) lines += text.data[i] == '\n';
        for (const zf_diag *diag = diags->first; diag; diag = diag->next) count++;
        DEMAND(lines == count, "%zu lines for %zu diagnostics", lines, count);
    }
    zf_text_free(&text);
}

/// `failed`: a step said so; then there is an error, and else there is none.
static inline void stages_check_diags(zf_spec *spec, bool failed) {
    const zf_diags *diags = zf_spec_diags(spec);
    uint32_t errors = 0;
    for (const zf_diag *diag = diags->first; diag; diag = diag->next) {
        errors += diag->severity == ZF_ERROR;
        if (diag->severity == ZF_ERROR) stages_codes[diag->code % 1000] = true;
        bool placed = stages_has_place(diag->span) || (diag->code == ZF_D_IMPORT_FAILED && !diag->span.source);
        DEMAND(placed, "ZF%04u has no place: %s", (unsigned)diag->code, diag->message);
        DEMAND(stages_no_stop(diag->message), "ZF%04u is empty or ends with a stop: %s", (unsigned)diag->code, diag->message);
        DEMAND(diag->code != ZF_D_INTERNAL, "a fault of the compiler: %s", diag->message);
        for (const zf_remark *remark = diag->remarks; remark; remark = remark->next) {
            DEMAND(!remark->span.source || stages_has_place(remark->span), "a remark's place: %s", remark->text);
            DEMAND(stages_no_stop(remark->text), "a remark is empty or ends with a stop: %s", remark->text);
        }
        if (diag->hint)
            DEMAND(stages_no_stop(diag->hint) || strstr(diag->hint, "..."), "a hint is empty or ends with a stop: %s",
                   diag->hint);
    }
    DEMAND((errors > 0) == failed, "%u errors, and it %s", errors, failed ? "failed" : "did not fail");
    size_t used = zf_arena_used(zf_spec_arena(spec));
    if (used > stages_memory) stages_memory = used;
    stages_render(diags, ZF_DIAG_HUMAN, true);
    stages_render(diags, ZF_DIAG_LINE, false);
    stages_render(diags, ZF_DIAG_JSON, false);
}

// ---- Syntax ---------------------------------------------------------------------------------------------------

/// Parses alone. A text that parses has a layout that parses to the same tree and is its own layout. True when it parses.
static inline bool stages_syntax(const char *text, size_t length) {
    parsed first = parse_bytes(text, length);
    bool good = first.errors == 0;
    stages_check_diags(first.spec, !good);
    if (first.unit) {
        zf_text tree = {0};
        zf_ast_print(first.unit, &tree);
        zf_text_free(&tree);
    }
    if (good) {
        zf_text once = {0}, twice = {0};
        zf_text_puts(&once, "");
        zf_text_puts(&twice, "");
        zf_format_unit(first.unit, &once);
        parsed second = parse_bytes(once.data, once.length);
        DEMAND(second.errors == 0, "the layout does not parse:\n%s", once.data);
        if (second.errors == 0) {
            DEMAND(equal_trees(first.unit, second.unit), "the layout has another tree:\n%s", once.data);
            zf_format_unit(second.unit, &twice);
            DEMAND(strcmp(once.data, twice.data) == 0, "the layout of\n%s\nis\n%s", once.data, twice.data);
        }
        parsed_free(&second);
        zf_text_free(&once);
        zf_text_free(&twice);
    }
    parsed_free(&first);
    return good;
}

// ---- Graph and plan -------------------------------------------------------------------------------------------

static inline void stages_plan(zf_spec *spec, const zf_graph *graph, bool materialise_all) {
    zf_arena *arena = zf_spec_arena(spec);
    zf_diags *diags = zf_spec_diags(spec);
    zf_plan_options options = {.target = "host", .materialise_all = materialise_all};
    uint32_t errors = diags->errors;
    zf_plan *plan = zf_plan_build(arena, graph, &options, diags);
    DEMAND((plan == NULL) == (diags->errors > errors) || errors > 0, "a plan %s an error", plan ? "and" : "without");
    zf_text text = {0}, message = {0};
    zf_text_puts(&message, "");
    if (plan) {
        DEMAND(zf_plan_verify(plan, &message), "plan: %s", message.data);
        zf_plan_print(plan, &text);
        zf_plan *again = zf_plan_read(arena, graph, text.data, &message);
        DEMAND(again, "the plan cannot be read: %s", message.data);
        zf_text second = {0};
        if (again) zf_plan_print(again, &second);
        DEMAND(!again || strcmp(second.data, text.data) == 0, "the plan is read as another:\n%s\n%s", text.data, second.data);
        zf_text_free(&second);
    }
    zf_text explained = {0};
    zf_explained what = {.graph = graph, .plan = plan};
    zf_explain_text(&what, &explained);
    zf_explain_json(&what, &explained);
    DEMAND(explained.length > 0 && !explained.failed, "nothing is explained");
    zf_text_free(&explained);
    zf_text_free(&text);
    zf_text_free(&message);
}

/// The column for one vector of branches. False when there is no such branch.
static inline bool stages_graph(zf_spec *spec, const zf_column *column, const uint8_t *branches) {
    zf_graph *graph = zf_graph_build(zf_spec_arena(spec), column, branches);
    if (!graph) return false;
    zf_text text = {0}, message = {0}, second = {0};
    zf_text_puts(&message, "");
    DEMAND(zf_graph_verify(graph, &message), "graph: %s", message.data);
    zf_graph_print(graph, &text);
    zf_graph *again = zf_graph_read(zf_spec_arena(spec), spec, text.data, &message);
    DEMAND(again, "the graph cannot be read: %s\n%s", message.data, text.data);
    if (again) zf_graph_print(again, &second);
    DEMAND(!again || strcmp(second.data, text.data) == 0, "the graph is read as another:\n%s\n%s", text.data, second.data);
    stages_plan(spec, graph, false);
    stages_plan(spec, graph, true);
    zf_text_free(&text);
    zf_text_free(&second);
    zf_text_free(&message);
    return true;
}

static inline void stages_column(zf_spec *spec, const zf_column *column) {
    uint8_t *branches = calloc(column->choice_count + 1, 1);
    if (!branches) exit(2);
    DEMAND(stages_graph(spec, column, branches), "column `%s` has no graph", column->name);
    uint32_t seed = 1;
    for (int k = 0; k < 3 && column->choice_count > 0; k++) { // some of them exist
        for (uint32_t c = 0; c < column->choice_count; c++) branches[c] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 30);
        stages_graph(spec, column, branches);
    }
    free(branches);
}

// ---- Canonical text -------------------------------------------------------------------------------------------

/// Canonical text stands alone, means the same (all columns have the same codecs) and is its own canonical text.
static inline void stages_canonical(zf_spec *spec, const zf_table *table) {
    zf_text once = {0}, twice = {0};
    DEMAND(zf_canonical_table(spec, table, &once), "no canonical text of `%s`", table->name);
    zf_spec_options options = {.no_std = true};
    zf_spec *alone = zf_spec_create(&options);
    if (!alone) exit(2);
    bool good = zf_spec_add_text(alone, "canonical", once.data, once.length) && zf_spec_check(alone);
    const zf_diag *first = zf_spec_diags(alone)->first;
    DEMAND(good, "canonical text has errors: %s\n%s", first ? first->message : "?", once.data);
    const zf_table *same = good ? zf_spec_find_table(alone, NULL) : NULL;
    DEMAND(!good || same, "canonical text without a table:\n%s", once.data);
    if (same) {
        DEMAND(zf_canonical_table(alone, same, &twice) && strcmp(once.data, twice.data) == 0, "canonical text of\n%s\nis\n%s",
               once.data, twice.data);
        zf_declarations mine = {0}, theirs = {0};
        DEMAND(zf_table_declarations(spec, table, &mine) && zf_text_declarations(alone, false, &theirs), "no identities");
        DEMAND(mine.count == theirs.count, "%u declarations of `%s`, %u of its text", mine.count, table->name, theirs.count);
        for (uint32_t k = 0; k < mine.count && k < theirs.count; k++)
            DEMAND(strcmp(mine.items[k].name, theirs.items[k].name) == 0 &&
                       memcmp(mine.items[k].identity, theirs.items[k].identity, ZF_IDENTITY_BYTES) == 0,
                   "another identity of %s", mine.items[k].name);
    }
    zf_spec_destroy(alone);
    zf_text_free(&once);
    zf_text_free(&twice);
}

static inline void stages_algorithm(zf_spec *spec, const zf_algorithm *algorithm) {
    zf_text text = {0};
    DEMAND(zf_canonical_algorithm(spec, algorithm, &text), "no canonical text of `%s`", algorithm->name);
    zf_text_free(&text);
    // As a codec of some column, with every stream stored: types that do not fit are errors, at a place.
    static const zf_kind kinds[] = {ZF_K_U8, ZF_K_I32, ZF_K_I64, ZF_K_F64, ZF_K_BOOL, ZF_K_STRING};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        zf_column *column = zf_spec_resolve_codec(spec, "c", zf_type_of(kinds[k]), algorithm->name);
        if (column) stages_column(spec, column);
    }
    zf_type bindings[16];
    if (algorithm->generic_count > sizeof bindings / sizeof bindings[0]) return;
    for (uint32_t k = 0; k < algorithm->generic_count; k++) bindings[k] = (zf_type){.kind = ZF_K_I16, .nullable = true};
    zf_inst *inst = zf_spec_instantiate(spec, algorithm, bindings, algorithm->decl->name_span);
    zf_text tree = {0};
    zf_inst_fault found = {0};
    zf_text_puts(&found.reason, "");
    if (inst) {
        DEMAND(zf_inst_verify(inst, &found), "%s", found.reason.data);
        zf_inst_print(inst, &tree);
    }
    zf_text_free(&tree);
    zf_text_free(&found.reason);
}

// ---- Everything -----------------------------------------------------------------------------------------------

/// Checks a text as if it were the file `path`, and takes what is right through the later stages. True when it is right.
static inline bool stages_check(const char *path, const char *text, size_t length, bool no_std) {
    zf_spec_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .no_std = no_std, .notes = length % 2 == 0};
    zf_spec *spec = zf_spec_create(&options);
    if (!spec) exit(2);
    bool added = zf_spec_add_text(spec, path, text, length);
    bool good = zf_spec_check(spec) && added;
    stages_check_diags(spec, !good);
    if (good) {
        zf_text tree = {0};
        zf_spec_print_ast(spec, &tree);
        zf_spec_print(spec, &tree);
        zf_text_free(&tree);
        for (const zf_table *table = zf_spec_tables(spec); table; table = table->next) {
            stages_canonical(spec, table);
            for (const zf_column *column = table->columns; column; column = column->next) stages_column(spec, column);
        }
        for (const zf_codec *codec = zf_spec_codecs(spec); codec; codec = codec->next) {
            if (codec->column) stages_column(spec, codec->column);
        }
        for (size_t k = 0; k < spec->algorithm_count; k++) {
            if (!spec->algorithms[k]->module->is_std) stages_algorithm(spec, spec->algorithms[k]);
        }
        stages_check_diags(spec, zf_spec_diags(spec)->errors > 0);
    }
    zf_spec_destroy(spec);
    return good;
}

#endif
