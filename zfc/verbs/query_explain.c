#include "zfc/verbs/query_explain.h"

#include <jansson.h>
#include <stdio.h>

#include "compiler/query/query.h"
#include "frontend/check/walk.h"
#include "frontend/spec/codec.h"
#include "patterns/plan/plan_target.h"
#include "zfc/report.h"
#include "zfc/verbs/kernel_forms.h"

typedef struct explaining {
    zf_spec *spec;
    const zf_query *query;
    const char *target;
    bool json;
    zf_text *out;
} explaining;

// How the kernels of the query have a column.
typedef struct shown {
    bool fused;
    bool by_entries;  // conditions on its strings may be evaluated once for each entry
    const char *form; // of the kernel that makes the column; NULL: no code is made for the codec
    const char *why;  // it is not fused
} shown;

static shown look_at(const explaining *e, uint32_t number) {
    const zf_column *column = e->query->columns[number];
    zf_arena *arena = zf_spec_arena(e->spec);
    uint8_t *branches = ZF_NEW_ARRAY(arena, uint8_t, column->choice_count + 1);
    zf_graph *graph = zf_graph_build(arena, column, branches);
    zf_plan_options options = {.target = e->target};
    zf_plan *plan = graph != NULL ? zf_plan_build(arena, graph, &options, zf_spec_diags(e->spec)) : NULL;
    if (plan == NULL) return (shown){.why = "its codec has no kernels"};
    const zf_explain_form *forms = zf_kernel_forms(plan);
    shown column_of = {.fused = zf_query_fuses(plan), .by_entries = zf_query_by_entries(e->query, number, plan)};
    if (!column_of.fused) column_of.why = "a row needs others, which the form makes together";
    // The form of strings is one that places characters, which a query does not do.
    bool copies = column_of.fused && column->type.kind == ZF_K_STRING;
    const zf_kernel *last = zf_plan_last_kernel(plan);
    if (forms != NULL && last != NULL && !copies) column_of.form = forms[last->index].name;
    return column_of;
}

static const char *codec_text(const explaining *e, const zf_column *column) {
    zf_text text = {0};
    zf_codec_print_one(e->spec, column->codec, 0, &text);
    const char *copy = zf_arena_printf(zf_spec_arena(e->spec), "%s", text.failed ? "" : text.data);
    zf_text_free(&text);
    return copy;
}

// Why a lane has one row at a time, or NULL: it has several.
static const char *order_of(const zf_query *query) {
    if (!zf_query_keeps_order(query)) return NULL;
    return query->selected_count > 0 ? "`select` keeps the order of rows" : "sums of floats are added in the order of rows";
}

// ---- Text -----------------------------------------------------------------------------------------------------

static void put_columns(const explaining *e, zf_text *out) {
    zf_arena *arena = zf_spec_arena(e->spec);
    for (uint32_t c = 0; c < e->query->column_count; c++) {
        const zf_column *column = e->query->columns[c];
        shown how = look_at(e, c);
        zf_text_printf(out, "  %s: %s = %s\n    ", column->name, zf_type_name(arena, column->type), codec_text(e, column));
        const char *form = how.form != NULL ? zf_arena_printf(arena, " (form %s)", how.form) : "";
        if (how.fused)
            zf_text_printf(out, "fused: the query's kernel makes its elements%s%s\n", form,
                           how.by_entries ? "; a condition on it alone may be evaluated once for each entry of a block" : "");
        else
            zf_text_printf(out, "decoded first%s: %s\n", form, how.why);
    }
}

static void put_text(const explaining *e, zf_text *out) {
    zf_arena *arena = zf_spec_arena(e->spec);
    const zf_query *query = e->query;
    zf_text_printf(out, "query %s(%s)\n\n", query->name, query->table != NULL ? query->table->name : "pairs");
    for (uint32_t p = 0; p < query->inst->param_count; p++)
        zf_text_printf(out, "param %s: %s%s\n", query->inst->params[p]->name, zf_type_name(arena, query->inst->params[p]->type),
                       query->inst->params[p]->given != NULL ? ", with a default" : "");
    for (uint32_t k = 0; k < query->input_count; k++)
        zf_text_printf(out, "input %s: %s[]\n", query->inst->streams[k]->name,
                       zf_type_name(arena, query->inst->streams[k]->type));
    for (uint32_t k = 0; k < query->result_count; k++) {
        const zf_query_result *result = &query->results[k];
        zf_text_printf(out, "result %s: %s", result->name, zf_type_name(arena, result->type));
        if (result->dimensions > 0)
            zf_text_printf(out, ", %u dimension%s", result->dimensions, result->dimensions > 1 ? "s" : "");
        zf_text_printf(out, ", %s\n", zf_result_kind_name(result->kind));
    }
    if (query->pairs != NULL) return;
    const char *why = order_of(query);
    zf_text_printf(out, "\nkernel on %s: tiles of %u rows a warp, %s%s\n", e->target, zf_query_tile(query),
                   why != NULL ? "a row at a time in a lane: "
                               : "eight rows at a time in a lane; rows that conditions leave may wait in queues",
                   why != NULL ? why : "");
    if (query->column_count > 0)
        zf_text_puts(out, "\ncolumns, by the first alternatives of the program's codecs (a file has its own)\n");
    put_columns(e, out);
}

// ---- JSON -----------------------------------------------------------------------------------------------------

static json_t *column_json(const explaining *e, uint32_t number) {
    const zf_column *column = e->query->columns[number];
    shown how = look_at(e, number);
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:s?, s:s?}", "name", column->name, "type",
                     zf_type_name(zf_spec_arena(e->spec), column->type), "codec", codec_text(e, column), "fused", how.fused,
                     "by_entries", how.by_entries, "form", how.form, "why", how.why);
}

static json_t *report_of(const explaining *e) {
    const zf_query *query = e->query;
    json_t *columns = json_array();
    bool good = columns != NULL;
    for (uint32_t c = 0; good && c < query->column_count; c++) good = json_array_append_new(columns, column_json(e, c)) == 0;
    if (!good) {
        json_decref(columns);
        return NULL;
    }
    json_t *tile = query->pairs != NULL ? json_null() : json_integer(zf_query_tile(query));
    return json_pack("{s:s, s:s, s:s, s:o, s:s?, s:o}", "query", query->name, "table",
                     query->table != NULL ? query->table->name : "pairs", "target", e->target, "tile", tile, "one_row_a_lane",
                     query->pairs != NULL ? NULL : order_of(query), "columns", columns);
}

// ---- Both -----------------------------------------------------------------------------------------------------

static bool explain_guarded(zf_spec *spec, void *data) {
    explaining *e = data;
    (void)spec;
    if (!e->json) {
        put_text(e, e->out);
        return true;
    }
    json_t *report = report_of(e);
    char *text = report != NULL ? json_dumps(report, JSON_COMPACT) : NULL;
    if (text != NULL) zf_text_printf(e->out, "%s\n", text);
    e->out->failed = e->out->failed || text == NULL;
    free(text);
    json_decref(report);
    return true;
}

zf_status zf_explain_query(zf_spec *spec, const zf_query *query, const char *target, bool json, zf_error *error) {
    zf_text text = {0};
    explaining e = {spec, query, target, json, &text};
    bool good = zf_spec_guard(spec, NULL, explain_guarded, &e) && !text.failed;
    if (good) fwrite(text.data, 1, text.length, stdout);
    zf_text_free(&text);
    return good ? ZF_OK : zf_fail_no_memory(error);
}
