#include "zfc/program_operand.h"

#include <string.h>
#include <unistd.h>

#include "frontend/check/type.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "zfc/driver_codes.h"
#include "zfc/module_text.h"

zf_status zf_program_name_split(const char *text, zf_program_name *out, zf_error *error) {
    const char *colon = strrchr(text, ':');
    if (colon && (strchr(colon, '/') || access(text, F_OK) == 0)) colon = NULL; // a colon in the path itself
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length >= sizeof out->path || length == 0)
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "not a program: %.256s", text);
    memcpy(out->path, text, length);
    out->path[length] = 0;
    out->name = colon ? colon + 1 : NULL;
    return ZF_OK;
}

zf_status zf_program_name_check(const char *verb, const char *text, zf_program_name *out, zf_error *error) {
    ZF_TRY(zf_program_name_split(text, out, error));
    bool is_container = zf_is_container(out->path);
    if (!is_container && !zf_is_module(out->path)) return ZF_OK;
    zf_status status = zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "%.256s is a %s, and `zfc %s` needs a program (.zf)",
                               out->path, is_container ? "container" : "module", verb);
    return is_container ? zf_fail_hint(error, status, "`zfc inspect --program` prints the program that it carries") : status;
}

bool zf_program_name_read(const char *verb, const char *text, zf_program_name *out) {
    zf_error error;
    if (zf_program_name_check(verb, text, out, &error) == ZF_OK) return true;
    zf_report(verb, &error);
    return false;
}

// A program made by a machine may have more tables than a terminal has lines.
void zf_print_names(const char *const *names, size_t count) {
    enum { MOST = 32 };
    for (size_t i = 0; i < count && i < MOST; i++) zf_print_line(stderr, "  %s", names[i]);
    if (count > MOST) fprintf(stderr, "  and %zu more\n", count - MOST);
}

void zf_report_names(const char *name, const char *const *names, size_t count) {
    const char *nearest = zf_nearest_name(name, names, count);
    if (nearest) zf_print_line(stderr, "  hint: did you mean `%s`?", nearest);
    if (count) fprintf(stderr, "  there is:\n");
    zf_print_names(names, count);
}

void zf_report_no_such(const char *verb, const char *path) {
    fprintf(stderr, "zfc %s: error[%s]: ", verb, ZFC_NO_SUCH_TABLE);
    zf_print_path(stderr, path);
    fprintf(stderr, ": ");
}

bool zf_report_algorithm(const zf_spec *spec, const char *name) {
    zf_text use = {0};
    bool found = zf_spec_algorithm_use(spec, name, &use);
    if (found && use.data)
        fprintf(stderr, "  hint: `%s` is an algorithm; name a codec that uses it for a type, such as `codec c: %s;`\n", name,
                use.data);
    zf_text_free(&use);
    return found;
}

// The hint is a table that the program could have: of its first codec, else of one of its algorithms.
static void report_no_table(zf_spec *spec, const char *name) {
    const zf_codec *codec = zf_spec_codecs(spec);
    const char *algorithm = zf_spec_an_algorithm(spec);
    zf_text use = {0};
    const char *type = codec ? zf_type_name(zf_spec_arena(spec), codec->column->type) : NULL;
    if (type)
        zf_text_printf(&use, "%s = %s", type, codec->name);
    else
        zf_spec_algorithm_use(spec, algorithm ? algorithm : "bitpack", &use);
    if (name)
        zf_print_line(stderr, "the program has no table `%s`, and no other", name);
    else
        fprintf(stderr, "the program has no table\n");
    if (use.data) fprintf(stderr, "  hint: columns are in tables: add one, such as `table t { c: %s; }`\n", use.data);
    zf_text_free(&use);
}

const zf_table *zf_find_table_or_report(const char *verb, zf_spec *spec, const char *path, const char *name) {
    const zf_table *table = zf_spec_find_table(spec, name);
    if (table) return table;
    const char *names[256];
    size_t count = 0;
    for (const zf_table *t = zf_spec_tables(spec); t && count < 256; t = t->next) names[count++] = t->name;
    zf_report_no_such(verb, path);
    if (count == 0) {
        report_no_table(spec, name);
        return NULL;
    }
    if (!name) {
        fprintf(stderr, "the program has several tables; name one: FILE:TABLE\n");
        zf_print_names(names, count);
        return NULL;
    }
    zf_print_line(stderr, "the program has no table `%s`", name);
    if (strchr(name, '.')) fprintf(stderr, "  hint: columns cannot be named here: FILE:TABLE\n");
    zf_report_names(name, names, count);
    return NULL;
}

const zf_table *zf_load_table_or_report(const char *verb, zf_compiler *compiler, const zf_program_name *name,
                                        zf_program **program, int *status) {
    zf_error error;
    *program = NULL;
    *status = EXIT_BAD_INPUT;
    if (zf_program_load(compiler, name->path, program, &error) == ZF_OK)
        return zf_find_table_or_report(verb, zf_program_spec(*program), name->path, name->name);
    if (*program != NULL)
        zf_report_diagnostics(verb, zf_spec_diags(zf_program_spec(*program)), ZF_DIAG_HUMAN);
    else
        *status = zf_report(verb, &error);
    return NULL;
}

zf_status zf_guard_output(const zf_spec *spec, const zf_files_read *inputs, const char *path, zf_error *error) {
    zf_files_read programs = {0};
    zf_status status = zf_files_guard(inputs, path, error);
    const char *file;
    for (size_t i = 0; status == ZF_OK && (file = zf_spec_file(spec, i)); i++) status = zf_files_note(&programs, file, error);
    if (status == ZF_OK) status = zf_files_guard(&programs, path, error);
    zf_files_free(&programs);
    return status;
}
