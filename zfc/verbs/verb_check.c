// zfc check, zfc fmt.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/spec/spec.h"
#include "patterns/plan/plan.h"
#include "patterns/plan/plan_target.h"
#include "zfc/driver_codes.h"
#include "zfc/output.h"
#include "zfc/report.h"
#include "zfc/verbs/kernel_forms.h"

static zf_spec *create(const char *verb, bool notes) {
    zf_spec_options options = {.notes = notes};
    zf_spec *spec = zf_spec_create(&options);
    if (!spec) fprintf(stderr, "zfc %s: error[%s]: no memory\n", verb, ZFC_NO_MEMORY);
    return spec;
}

static zf_diag_form form_of(const zf_arguments *arguments) {
    const char *form = zf_argument(arguments, "format");
    if (form && strcmp(form, "line") == 0) return ZF_DIAG_LINE;
    if (form && strcmp(form, "json") == 0) return ZF_DIAG_JSON;
    return ZF_DIAG_HUMAN;
}

enum { IGNORED_MOST = 64 };

// `--ignore`: returns how many codes it names, or -1 after printing an error.
static int read_ignored(const zf_arguments *arguments, zf_diag_code out[IGNORED_MOST]) {
    const char *text = zf_argument(arguments, "ignore");
    int count = 0;
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        size_t length = strcspn(at, ",");
        bool formed = length == 6 && strncmp(at, "ZF", 2) == 0 && strspn(at + 2, "0123456789") == 4;
        unsigned number = formed ? (unsigned)strtoul(at + 2, NULL, 10) : 0;
        const char *fault = !formed                        ? "a code of warnings, such as ZF0806 or ZF0804,ZF0806"
                            : !zf_diag_code_exists(number) ? "a code of this version's language"
                            : count == IGNORED_MOST        ? "one of at most 64 codes"
                                                           : NULL;
        if (fault) {
            zf_report_usage("check", "--ignore: `%.*s` is not %s", (int)(length < 64 ? length : 64), at, fault);
            return -1;
        }
        out[count++] = (zf_diag_code)number;
        at += length;
    }
    return count;
}

// ---- Columns that this version cannot compile -------------------------------------------------------------------------

// Whether some alternative stores numbers and booleans only: files hold no others.
static bool storable(const zf_codec_choice *choice) {
    for (uint32_t k = 0; k < choice->count; k++) {
        const zf_codec_node *node = choice->alternatives[k];
        bool all = true;
        for (uint32_t s = 0; all && s < node->inst->stream_count; s++) {
            all = node->streams[s] ? storable(node->streams[s]) : zf_type_storable(node->inst->streams[s]->type);
        }
        if (all) return true;
    }
    return false;
}

// The planning of a column under vectors of branches.
typedef struct planning {
    zf_spec *spec;
    const char *kind; // "column" or "codec"
    const zf_column *column;
    bool notes;              // are printed
    uint8_t *branches;       // the vector at hand
    zf_arena *arena;         // of its plans
    unsigned tried, refused; // vectors
} planning;

// Whether a stage is the library's and decodes only: `zfc wrap` knows such stages, and none can take its place.
static bool is_fixed(const zf_inst *inst) {
    return zf_algorithm_is_std(inst->algorithm) && !inst->encode.present && inst->encode_extern == NULL;
}

static bool column_is_parallel(const zf_plan *plan, const zf_explain_form *forms) {
    for (uint32_t k = 0; k < plan->kernel_count; k++)
        if (plan->kernels[k].edge == 0) return forms[k].parallel;
    return false;
}

// Warns of the kernels of a table's column that are not parallel on GPUs. Notes those that nobody can change, where the column's
// own kernel is parallel.
static void warn_sequential(const planning *p, const zf_graph *graph) {
    zf_plan_options options = {.target = zf_target_of_image(ZF_IMAGE_PTX)->name};
    const zf_plan *plan = zf_plan_build(p->arena, graph, &options, NULL);
    const zf_explain_form *forms = plan ? zf_kernel_forms(plan) : NULL;
    bool parallel = forms && column_is_parallel(plan, forms);
    const zf_column *column = p->column;
    for (uint32_t k = 0; forms && k < plan->kernel_count; k++) {
        if (forms[k].parallel) continue;
        const zf_graph_node *node = &graph->nodes[forms[k].node];
        bool fixed = parallel && is_fixed(node->inst);
        if (fixed && !p->notes) continue;
        bool here = node->codec->span.source == column->span.source; // else a codec of an imported file
        zf_diags *diags = zf_spec_diags(p->spec);
        zf_diag *diag = zf_diag_add(diags, fixed ? ZF_NOTE : ZF_WARNING, ZF_D_SEQUENTIAL, here ? node->codec->span : column->span,
                                    "%scolumn `%s.%s` is not parallel on GPUs: `%s` %s", fixed ? "a stage of " : "",
                                    column->table->name, column->name, node->inst->name, forms[k].why);
        if (forms[k].hint && !fixed) zf_diag_hint(diags, diag, "%s", forms[k].hint);
    }
}

// Plans a column under one vector of branches. Errors of the planner become warnings: the program is right, and another version
// may compile it. An error stays where each alternative stores what files cannot hold: no version can encode that.
static bool plan_guarded(zf_spec *spec, void *data) {
    planning *p = data;
    const zf_column *column = p->column;
    const char *kind = p->kind;
    zf_diags *diags = zf_spec_diags(spec), refused;
    zf_diags_init(&refused, p->arena);
    zf_graph *graph = zf_graph_build(p->arena, column, p->branches);
    const zf_plan *plan = graph ? zf_plan_build(p->arena, graph, NULL, &refused) : NULL;
    if (plan && column->table) warn_sequential(p, graph);
    p->tried++;
    p->refused += refused.errors > 0;
    for (const zf_diag *from = refused.first; from; from = from->next) {
        if (from->severity != ZF_ERROR) continue;
        zf_diag *to =
            zf_diag_add(diags, storable(column->codec) ? ZF_WARNING : ZF_ERROR, from->code, from->span, "%s `%s%s%s`: %s", kind,
                        column->table ? column->table->name : "", column->table ? "." : "", column->name, from->message);
        for (const zf_remark *remark = from->remarks; remark; remark = remark->next) {
            zf_diag_remark(diags, to, remark->span, "%s", remark->text);
        }
        if (column->choice_count == 0)
            zf_diag_remark(diags, to, (zf_span){0}, "`zfc encode` refuses this %s", kind);
        else
            zf_diag_remark(diags, to, (zf_span){0}, "`zfc encode` does not choose this alternative");
        if (from->hint) zf_diag_hint(diags, to, "%s", from->hint);
    }
    return true;
}

static void plan_under(planning *p) {
    p->arena = zf_arena_create();
    if (!p->arena) {
        zf_spec_out_of_memory(p->spec);
        return;
    }
    zf_spec_guard(p->spec, p->arena, plan_guarded, p);
    zf_arena_destroy(p->arena);
}

// Every alternative once, with those above it that lead there; elsewhere the first.
static void plan_choice(planning *p, const zf_codec_choice *choice) {
    for (uint32_t k = 0; choice && k < choice->count; k++) {
        if (choice->count > 1) p->branches[choice->index] = (uint8_t)k;
        if (k > 0) plan_under(p);
        const zf_codec_node *node = choice->alternatives[k];
        for (uint32_t s = 0; s < node->inst->stream_count; s++) plan_choice(p, node->streams[s]);
    }
    if (choice && choice->count > 1) p->branches[choice->index] = 0;
}

// True when this version cannot encode the column. With several choices not all vectors are planned: then it is not known, and
// false.
static bool is_refused(zf_spec *spec, const char *kind, const zf_column *column, bool notes) {
    planning p = {.spec = spec, .kind = kind, .column = column, .notes = notes, .branches = calloc(1, column->choice_count + 1u)};
    if (!p.branches) {
        zf_spec_out_of_memory(spec);
    } else if (column->codec) {
        plan_under(&p);
        plan_choice(&p, column->codec);
    }
    free(p.branches);
    return column->choice_count <= 1 && p.refused > 0 && p.refused == p.tried;
}

// Returns how many columns and codecs this version cannot encode.
static unsigned warn_of_refused(zf_spec *spec, bool notes) {
    unsigned count = 0;
    for (const zf_table *table = zf_spec_tables(spec); table; table = table->next) {
        for (const zf_column *column = table->columns; column; column = column->next)
            count += is_refused(spec, "column", column, notes);
    }
    for (const zf_codec *codec = zf_spec_codecs(spec); codec; codec = codec->next) {
        if (codec->column) count += is_refused(spec, "codec", codec->column, notes);
    }
    return count;
}

// Each file is a program of its own: one that fails does not keep the next from being checked.
int zf_run_check(zf_arguments *arguments) {
    zf_diag_form form = form_of(arguments);
    bool quiet = zf_argument(arguments, "quiet") || form != ZF_DIAG_HUMAN;
    int status = EXIT_GOOD;
    if (form == ZF_DIAG_JSON && arguments->operand_count > 1) {
        return zf_report_usage("check", "--format json takes one file, so that its output is one array");
    }
    zf_diag_code ignored[IGNORED_MOST];
    int ignored_count = read_ignored(arguments, ignored);
    if (ignored_count < 0) return EXIT_BAD_USAGE;
    for (int i = 0; i < arguments->operand_count; i++) {
        bool notes = zf_argument(arguments, "notes") != NULL;
        zf_spec *spec = create("check", notes);
        if (!spec) return EXIT_BAD_INPUT;
        zf_spec_diags(spec)->ignored = ignored;
        zf_spec_diags(spec)->ignored_count = (uint32_t)ignored_count;
        bool read = zf_spec_add_file(spec, arguments->operands[i]);
        bool good = zf_spec_check(spec) && read; // what was read is checked, also after errors of syntax
        unsigned refused = good ? warn_of_refused(spec, notes) : 0;
        const zf_diags *diags = zf_spec_diags(spec);
        good = good && diags->errors == 0;
        bool reported = zf_report_diagnostics("check", diags, form);
        if (!good || !reported) status = EXIT_BAD_INPUT;
        if (!quiet) zf_print_path(good ? stdout : stderr, arguments->operands[i]);
        if (!quiet && good && refused == 0)
            printf(": good\n");
        else if (!quiet && good)
            printf(": good, but this version cannot encode %u of its columns and codecs\n", refused);
        else if (!quiet)
            fprintf(stderr, ": %u error%s\n", diags->errors, diags->errors == 1 ? "" : "s");
        zf_spec_destroy(spec);
    }
    return status;
}

static int format_one(const char *path, bool in_place, bool quiet) {
    zf_spec *spec = create("fmt", false);
    if (!spec) return EXIT_BAD_INPUT;
    zf_text text = {0};
    bool changed;
    int status = EXIT_GOOD;
    if (!zf_spec_format_file(spec, path, &text, &changed)) {
        zf_report_diagnostics("fmt", zf_spec_diags(spec), ZF_DIAG_HUMAN);
        status = EXIT_BAD_INPUT;
    } else if (!in_place) {
        if (text.length > 0) fwrite(text.data, 1, text.length, stdout);
    } else if (changed) {
        zf_error error;
        if (zf_write_file(path, text.data, text.length, true, &error) != ZF_OK) {
            status = zf_report("fmt", &error);
        } else if (!quiet) {
            zf_print_path(stdout, path);
            printf(": rewritten\n");
        }
    }
    zf_text_free(&text);
    zf_spec_destroy(spec);
    return status;
}

int zf_run_fmt(zf_arguments *arguments) {
    bool in_place = zf_argument(arguments, "in-place") != NULL, quiet = zf_argument(arguments, "quiet") != NULL;
    int status = EXIT_GOOD;
    for (int i = 0; i < arguments->operand_count; i++) {
        int one = format_one(arguments->operands[i], in_place, quiet);
        if (one != EXIT_GOOD) status = one;
    }
    return status;
}
