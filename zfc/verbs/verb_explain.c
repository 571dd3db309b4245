// zfc explain: shows what becomes of a codec, and the stages of its compilation. The lines of a kernel are made by
// patterns/plan/explain.c.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "compiler/compiler.h"
#include "compiler/emit.h"
#include "compiler/program.h"
#include "frontend/spec/codec.h"
#include "patterns/plan/explain.h"
#include "patterns/plan/plan_target.h"
#include "runtime/module/tuple_count.h"
#include "zfc/driver_codes.h"
#include "zfc/module_text.h"
#include "zfc/program_operand.h"
#include "zfc/report.h"
#include "zfc/session.h"
#include "zfc/verbs/inspect_programs.h"
#include "zfc/verbs/kernel_forms.h"
#include "zfc/verbs/query_explain.h"

typedef struct target {
    const zf_table *table;   // all of its columns, or
    const zf_column *column; // this one, or
    const zf_query *query;   // this
    zf_container *container; // whose program this is, or NULL
} target;

static int no_such(const zf_spec *spec, const char *path, const char *name) {
    const char *names[512];
    size_t count = 0;
    for (const zf_table *t = zf_spec_tables(spec); t && count < 256; t = t->next) names[count++] = t->name;
    for (const zf_codec *c = zf_spec_codecs(spec); c && count < 400; c = c->next) names[count++] = c->name;
    for (const zf_query *q = zf_spec_queries(spec); q && count < 512; q = q->next) names[count++] = q->name;
    zf_report_no_such("explain", path);
    zf_print_line(stderr, "the program has no table, column, codec or query `%s`", name);
    if (zf_report_algorithm(spec, name)) return EXIT_BAD_INPUT;
    const char *dot = strchr(name, '.');
    const zf_table *table = NULL;
    for (const zf_table *t = zf_spec_tables(spec); dot && t; t = t->next) {
        if (strlen(t->name) == (size_t)(dot - name) && memcmp(t->name, name, (size_t)(dot - name)) == 0) table = t;
    }
    if (table) { // the table is right: what the column might be
        count = 0;
        for (const zf_column *c = table->columns; c && count < 512; c = c->next) names[count++] = c->name;
    }
    zf_report_names(table ? dot + 1 : name, names, count);
    return EXIT_BAD_INPUT;
}

// A program without tables may have codecs, one of which can be named.
static int no_table(const zf_spec *spec, const char *path) {
    const char *names[256];
    size_t count = 0;
    for (const zf_codec *c = zf_spec_codecs(spec); c && count < 256; c = c->next) names[count++] = c->name;
    zf_report_no_such("explain", path);
    fprintf(stderr, "the program has no table, but codecs; name one: FILE:CODEC\n");
    zf_print_names(names, count);
    return EXIT_BAD_INPUT;
}

// TABLE, TABLE.COLUMN, CODEC or QUERY.
static int find_target(zf_spec *spec, const char *path, const char *name, target *out) {
    if (!name && !zf_spec_tables(spec) && zf_spec_codecs(spec)) return no_table(spec, path);
    if (!name) {
        out->table = zf_find_table_or_report("explain", spec, path, NULL);
        return out->table ? EXIT_GOOD : EXIT_BAD_INPUT;
    }
    char table_name[256];
    const char *dot = strchr(name, '.');
    snprintf(table_name, sizeof table_name, "%.*s", dot ? (int)(dot - name) : 255, name);
    const zf_table *table = zf_spec_find_table(spec, table_name);
    const zf_codec *codec = dot ? NULL : zf_spec_find_codec(spec, name);
    if (codec)
        out->column = codec->column;
    else if (table && !dot)
        out->table = table;
    for (const zf_column *column = table && dot ? table->columns : NULL; column; column = column->next) {
        if (strcmp(column->name, dot + 1) == 0) out->column = column;
    }
    if (!out->table && !out->column && !dot) out->query = zf_spec_find_query(spec, name);
    return out->table || out->column || out->query ? EXIT_GOOD : no_such(spec, path, name);
}

// Names the alternative that is shown, and the others. `path` is of their edge.
static void print_alternatives(zf_spec *spec, const zf_codec_choice *choice, const char *path, zf_text *out) {
    if (!choice) return;
    if (choice->count > 1) {
        zf_text_printf(out, "%s: alternative 1 of %u is shown: ", path, choice->count);
        zf_codec_print_one(spec, choice, 0, out);
        zf_text_puts(out, choice->count > 2 ? "; the others: " : "; the other: ");
        for (uint32_t k = 1; k < choice->count; k++) {
            if (k > 1) zf_text_puts(out, " | ");
            zf_codec_print_one(spec, choice, k, out);
        }
        zf_text_puts(out, "\n");
    }
    const zf_codec_node *node = choice->alternatives[0];
    for (uint32_t slot = 0; slot < node->inst->stream_count; slot++) {
        const char *below = zf_arena_printf(zf_spec_arena(spec), "%s.%s", path, node->inst->streams[slot]->name);
        print_alternatives(spec, node->streams[slot], below, out);
    }
}

// Forms are of GPUs: those of the plan, or beside a plan of the host those of the GPU whose code is PTX.
static void add_forms(zf_arena *arena, const zf_plan_options *options, zf_explained *what) {
    if (!what->plan) return;
    what->forms = zf_kernel_forms(what->plan);
    if (what->forms) return;
    zf_plan_options of_gpu = {.target = zf_target_of_image(ZF_IMAGE_PTX)->name, .chunk_threads = options->chunk_threads};
    what->gpu_plan = zf_plan_build(arena, what->graph, &of_gpu, NULL);
    if (what->gpu_plan) what->gpu_forms = zf_kernel_forms(what->gpu_plan);
}

// The tuples of shaping values of a container's column.
static zf_status count_tuples(zf_container *container, const zf_column *column, zf_abi_target of, zf_tuple_count *out,
                              zf_error *error) {
    zf_column_info info = {.name = ""};
    size_t number = 0;
    ZF_TRY(zf_container_column(container, number, &info, error));
    while (strcmp(info.name, column->name) != 0) ZF_TRY(zf_container_column(container, ++number, &info, error));
    return zf_tuples_count(container, number, (zf_abi_device){.target = of}, false, out, error);
}

typedef struct explaining {
    const zf_column *column;
    const char *stage;
    const zf_plan_options *options;
    const zf_tuple_count *tuples; // of the column's file, or NULL
    zf_text *out;
    zf_status status;
    zf_error *error;
} explaining;

// One column under its first alternatives.
static zf_status explain_column(zf_spec *spec, const explaining *e) {
    const zf_column *column = e->column;
    const char *stage = e->stage;
    const zf_plan_options *options = e->options;
    zf_text *out = e->out;
    zf_arena *arena = zf_spec_arena(spec);
    uint8_t *branches = ZF_NEW_ARRAY(arena, uint8_t, column->choice_count + 1);
    zf_graph *graph = zf_graph_build(arena, column, branches);
    if (!graph) return ZF_OK;
    if (stage && strcmp(stage, "graph") == 0) {
        zf_graph_print(graph, out);
        return ZF_OK;
    }
    zf_plan *plan = zf_plan_build(arena, graph, options, zf_spec_diags(spec));
    zf_explained what = {.graph = graph, .plan = plan, .tuples = e->tuples};
    if (plan) ZF_TRY(zf_codegen_choices_check(plan, options->choices, e->error));
    if (stage && strcmp(stage, "choices") == 0) {
        if (plan) zf_codegen_choices_text(plan, out);
    } else if (stage && strcmp(stage, "choices json") == 0) {
        if (plan) zf_codegen_choices_json(plan, out);
    } else if (stage && strcmp(stage, "plan") == 0) {
        if (plan) zf_plan_print(plan, out);
    } else if (stage && strcmp(stage, "json") == 0) {
        add_forms(arena, options, &what);
        zf_explain_json(&what, out);
    } else {
        add_forms(arena, options, &what);
        if (column->choice_count > 0) print_alternatives(spec, column->codec, column->name, out);
        zf_explain_text(&what, out);
    }
    return ZF_OK;
}

static bool explain_guarded(zf_spec *spec, void *data) {
    explaining *e = data;
    e->status = explain_column(spec, e);
    return true;
}

static zf_status explain_with_memory(zf_spec *spec, explaining e) {
    return zf_spec_guard(spec, NULL, explain_guarded, &e) ? e.status : zf_fail_no_memory(e.error);
}

// `--target` and `--shaping`: what code and plan are for.
static bool read_emit(const zf_arguments *arguments, const char *stage, zf_emit_options *out, uint64_t shaping[64]) {
    const char *name = zf_argument(arguments, "target"), *values = zf_argument(arguments, "shaping");
    const zf_target *of_ptx = zf_target_of_image(ZF_IMAGE_PTX), *known = name ? zf_target_find(name) : NULL;
    bool of_kernels = zf_argument(arguments, "choices") || zf_argument(arguments, "choose");
    if (!known && (of_kernels || (stage && strcmp(stage, "ptx") == 0))) known = of_ptx;
    if (of_kernels && known->wave == 0) {
        zf_report_usage("explain", "choices are for kernels of GPUs: --target %s or emu", of_ptx->name);
        return false;
    }
    if (stage && zf_argument(arguments, "choices")) {
        zf_report_usage("explain", "--choices goes without --emit");
        return false;
    }
    bool makes_ptx = known && known->image == ZF_IMAGE_PTX;
    if (stage && strcmp(stage, "ptx") == 0 && !makes_ptx) {
        zf_report_usage("explain", "PTX is of the target %s: for %s give --emit asm, or --target %s", of_ptx->name, known->name,
                        of_ptx->name);
        return false;
    }
    if (stage && strcmp(stage, "asm") == 0 && makes_ptx) {
        zf_report_usage("explain", "the assembler of the target %s is PTX: give --emit ptx", known->name);
        return false;
    }
    bool code = stage && (strcmp(stage, "llvm") == 0 || strcmp(stage, "asm") == 0 || strcmp(stage, "ptx") == 0);
    bool for_gpu = known && known->wave > 0;
    if (zf_argument(arguments, "no-lines") && !(code && for_gpu)) {
        zf_report_usage("explain",
                        "--no-lines is for code of GPU kernels: --emit ptx, or --emit llvm or asm with such a --target");
        return false;
    }
    if (zf_argument(arguments, "chunk-threads") && stage && !for_gpu) {
        zf_report_usage("explain", "--chunk-threads is for kernels of GPUs: with --emit it needs such a --target");
        return false;
    }
    const char *of_code = values ? "shaping" : zf_argument(arguments, "compile-budget") ? "compile-budget" : NULL;
    if (of_code && !code) {
        zf_report_usage("explain", "--%s goes with --emit llvm, asm or ptx", of_code);
        return false;
    }
    if (known) out->target = (zf_abi_target){known->family, known->arch};
    const char *arch = zf_argument(arguments, "arch");
    if (makes_ptx) {
        out->target = (zf_abi_target){.family = known->family, .arch = arch && strcmp(arch, "80") == 0 ? 80 : 90};
    } else if (arch) {
        zf_report_usage("explain", "--arch is of the target %s", of_ptx->name);
        return false;
    }
    if (!values) {
        out->shaping = NULL;
        return true;
    }
    for (const char *at = values; out->shaping_count < 64;) {
        char *end;
        errno = 0;
        const char *digits = at + (*at == '-');
        uint64_t value = strtoull(at, &end, 10);
        if (*digits < '0' || *digits > '9' || errno != 0 || (*end && *end != ',')) break;
        if (*at == '-' && value < (uint64_t)INT64_MIN) break; // below all that 64 bits hold
        shaping[out->shaping_count++] = value;
        if (!*end) return true;
        at = end + 1;
    }
    zf_report_usage("explain", "--shaping needs numbers separated by commas, not `%s`", values);
    return false;
}

static int explain(const zf_arguments *arguments, const zf_session *session, zf_program *program, const target *what) {
    zf_spec *spec = zf_program_spec(program);
    const char *stage = zf_argument(arguments, "emit");
    bool as_json = zf_argument(arguments, "json") != NULL,
         code = stage && (strcmp(stage, "llvm") == 0 || strcmp(stage, "asm") == 0 || strcmp(stage, "ptx") == 0);
    uint64_t shaping[64];
    zf_emit_options emit = {.assembly = code && strcmp(stage, "llvm") != 0,
                            .no_lines = zf_argument(arguments, "no-lines") != NULL,
                            .shaping = shaping};
    if (!read_emit(arguments, stage, &emit, shaping)) return EXIT_BAD_USAGE;
    zf_plan_options options = {.target = zf_target_for(emit.target)->name,
                               .chunk_threads = zf_chunk_threads(arguments),
                               .choices = zf_compiler_request(session->compiler)->choices};
    const char *shown = as_json ? "json" : stage;
    if (zf_argument(arguments, "choices")) shown = as_json ? "choices json" : "choices";
    zf_text text = {0};
    zf_error error;
    zf_status status = ZF_OK;
    if (as_json) zf_text_puts(&text, "{\"columns\": [");
    bool first = true;
    for (const zf_column *column = what->table ? what->table->columns : what->column; column && status == ZF_OK;
         column = what->table ? column->next : NULL) {
        if (as_json && !first) zf_text_puts(&text, ", ");
        first = false;
        zf_tuple_count tuples;
        bool counts = what->container && (!shown || as_json);
        if (counts) status = count_tuples(what->container, column, emit.target, &tuples, &error);
        if (code)
            status = zf_emit_code(program, column, &emit, &text, &error);
        else if (status == ZF_OK)
            status =
                explain_with_memory(spec, (explaining){column, shown, &options, counts ? &tuples : NULL, &text, ZF_OK, &error});
        if (!as_json && what->table && column->next) zf_text_puts(&text, "\n");
    }
    if (as_json) zf_text_puts(&text, "]}\n");
    if (status == ZF_OK && text.failed) status = zf_fail_no_memory(&error);
    const zf_diags *diags = zf_spec_diags(spec);
    if (text.length > 0 && status == ZF_OK) fwrite(text.data, 1, text.length, stdout);
    zf_text_free(&text);
    if (status != ZF_OK) return zf_report("explain", &error);
    zf_report_diagnostics("explain", diags, ZF_DIAG_HUMAN);
    return diags->errors > 0 ? EXIT_BAD_INPUT : EXIT_GOOD;
}

// A query has plans of its columns, and no stages of its own.
static int explain_query(const zf_arguments *arguments, zf_spec *spec, const zf_query *query) {
    static const char *const of_columns[] = {"emit",     "choices",       "choose", "shaping",
                                             "no-lines", "chunk-threads", "arch",   "compile-budget"};
    for (size_t i = 0; i < sizeof of_columns / sizeof *of_columns; i++)
        if (zf_argument(arguments, of_columns[i]))
            return zf_report_usage("explain", "--%s is for columns and codecs, and `%s` is a query", of_columns[i], query->name);
    const char *name = zf_argument(arguments, "target");
    const zf_target *gpu = name ? zf_target_find(name) : zf_target_of_image(ZF_IMAGE_PTX);
    if (gpu->wave == 0) return zf_report_usage("explain", "a CPU decodes all columns of a query; give the --target of a GPU");
    zf_error error;
    if (zf_explain_query(spec, query, gpu->name, zf_argument(arguments, "json") != NULL, &error) != ZF_OK)
        return zf_report("explain", &error);
    zf_report_diagnostics("explain", zf_spec_diags(spec), ZF_DIAG_HUMAN);
    return zf_spec_diags(spec)->errors > 0 ? EXIT_BAD_INPUT : EXIT_GOOD;
}

/// Whether the operand can be an algorithm's name, and is no file.
static bool is_name(const char *operand) {
    size_t length = strspn(operand, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length > 0 && operand[length] == 0 && access(operand, F_OK) != 0;
}

/// Fills the error of a name that is neither a file's nor, in the library, an algorithm's.
static zf_status fail_name(const zf_program *library, const char *name, zf_error *error) {
    const char *names[1024];
    size_t count = zf_spec_algorithm_names(library->spec, names, sizeof names / sizeof *names);
    const char *nearest = zf_nearest_name(name, names, count);
    zf_status status = zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "there is no file and no algorithm `%.256s`", name);
    return nearest ? zf_fail_hint(error, status, "did you mean `%s`?", nearest) : status;
}

/// Loads a program with one codec: the library's algorithm of this name, for a type that it takes.
static zf_status load_algorithm(const zf_session *session, const char *name, zf_program **out, zf_error *error) {
    static const char any[] = "codec example: u32 = plain;\n";
    zf_program *library = NULL;
    zf_text text = {0};
    *out = NULL;
    zf_status status = zf_program_read(session->compiler, "library", any, sizeof any - 1, false, &library, error);
    zf_text_puts(&text, "codec example: ");
    bool found = status == ZF_OK && zf_spec_algorithm_use(zf_program_spec(library), name, &text);
    zf_text_puts(&text, ";\n");
    if (status == ZF_OK && !found) status = fail_name(library, name, error);
    zf_program_free(library);
    if (found && text.failed)
        status = zf_fail_no_memory(error);
    else if (found)
        status = zf_program_read(session->compiler, "library", text.data, text.length, false, out, error);
    zf_text_free(&text);
    return status;
}

// The program that a container carries.
static zf_status load_container(const zf_arguments *arguments, const zf_session *session, const char *path,
                                zf_container **container, zf_program **out, zf_error *error) {
    zf_text name = {0}, text = {0};
    size_t length;
    ZF_TRY(zf_open_container(arguments, session->context, path, container, error));
    if (zf_container_known_only(*container)) {
        zf_file_programs programs;
        ZF_TRY(zf_file_programs_read(*container, &programs, error));
        zf_file_programs_free(&programs);
    }
    const char *unit = zf_container_unit(*container, &length);
    zf_text_printf(&name, "%s.zf", zf_container_table(*container)); // as errors of decodes name it
    zf_lay_out_text(unit, length, &text);
    bool made = !name.failed && !text.failed;
    zf_status status =
        made ? zf_program_read(session->compiler, name.data, text.data, text.length, true, out, error) : zf_fail_no_memory(error);
    zf_text_free(&name);
    zf_text_free(&text);
    return status;
}

int zf_run_explain(zf_arguments *arguments) {
    zf_program_name name;
    zf_error error;
    if (zf_program_name_split(arguments->operands[0], &name, &error) != ZF_OK) return zf_report("explain", &error);
    bool of_file = zf_is_container(name.path);
    if (!of_file && !zf_program_name_read("explain", arguments->operands[0], &name)) return EXIT_BAD_USAGE;
    if (zf_argument(arguments, "programs") && !of_file)
        return zf_report_usage("explain", "--programs is for files that are encoded, and this is a program");
    const char *stage = zf_argument(arguments, "emit");
    if (stage && zf_argument(arguments, "json")) {
        return zf_report_usage("explain", "--json goes without --emit: a stage is text of its own");
    }
    static const char *const of_plans[] = {"target",        "arch",   "shaping", "no-lines",
                                           "chunk-threads", "choose", "choices", "compile-budget"};
    bool before_plans = stage && (strcmp(stage, "ast") == 0 || strcmp(stage, "spec") == 0 || strcmp(stage, "graph") == 0);
    for (size_t i = 0; before_plans && i < sizeof of_plans / sizeof *of_plans; i++) {
        if (zf_argument(arguments, of_plans[i]))
            return zf_report_usage("explain", "--%s goes without --emit %s, a stage before plans and code", of_plans[i], stage);
    }
    zf_session session;
    int status;
    if (!zf_session_open(arguments, &session, &status)) return status;
    zf_program *program = NULL;
    target what = {0};
    bool of_library = is_name(arguments->operands[0]);
    zf_status loaded = ZF_OK;
    if (of_library) {
        loaded = load_algorithm(&session, name.path, &program, &error);
        name.name = "example";
    } else if (of_file) {
        loaded = load_container(arguments, &session, name.path, &what.container, &program, &error);
    } else {
        loaded = zf_program_load(session.compiler, name.path, &program, &error);
    }
    if (!program) {
        status = zf_report("explain", &error);
    } else if (stage && (strcmp(stage, "ast") == 0 || (strcmp(stage, "spec") == 0 && loaded == ZF_OK))) {
        zf_text text = {0}; // of the whole program, whatever was named
        if (strcmp(stage, "ast") == 0)
            zf_spec_print_ast(zf_program_spec(program), &text);
        else
            zf_spec_print(zf_program_spec(program), &text);
        status = loaded == ZF_OK ? EXIT_GOOD : EXIT_BAD_INPUT;
        if (text.failed) {
            zf_fail_no_memory(&error);
            status = zf_report("explain", &error);
        } else if (text.length > 0) {
            fwrite(text.data, 1, text.length, stdout);
        }
        zf_text_free(&text);
        if (loaded != ZF_OK) zf_report_diagnostics("explain", zf_spec_diags(zf_program_spec(program)), ZF_DIAG_HUMAN);
    } else if (loaded != ZF_OK) {
        zf_report_diagnostics("explain", zf_spec_diags(zf_program_spec(program)), ZF_DIAG_HUMAN);
        status = EXIT_BAD_INPUT;
    } else {
        status = find_target(zf_program_spec(program), name.path, name.name, &what);
        if (status == EXIT_GOOD && what.query)
            status = explain_query(arguments, zf_program_spec(program), what.query);
        else if (status == EXIT_GOOD)
            status = explain(arguments, &session, program, &what);
    }
    zf_program_free(program);
    zf_container_close(what.container);
    zf_session_close(&session);
    return status;
}
