// Links: zipflow-compiler
// Programs from text in memory, their places in errors, and their columns.
#include <string.h>

#include "tests/support/demand.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

static const char text[] = "import \"defaults.zf\";\n"
                           "table t {\n"
                           "    price: decimal(15, 2)? = nullable(values: bitpack);\n"
                           "    name: string = default_string;\n"
                           "}\n"
                           "table u { flag: bool = plain; }\n";

static void check_columns(zf_program *program) {
    zf_error error = {0};
    zf_column_info info = {ZF_INIT(zf_column_info), .rows = 7};
    CHECK(zf_program_columns(program, "t") == 2 && zf_program_columns(program, "u") == 1, "columns");
    CHECK(zf_program_columns(program, NULL) == 0 && zf_program_columns(program, "v") == 0 && zf_program_columns(NULL, "t") == 0,
          "tables that are not there, or not the only one");
    demand(zf_program_column(program, "t", 0, &info, &error), &error);
    CHECK(strcmp(info.name, "price") == 0 && strcmp(info.full_name, "price") == 0 && info.rows == 0, "%s", info.name);
    CHECK(info.type.element == ZF_I64 && info.type.logical == ZF_LOGICAL_DECIMAL && info.type.precision == 15 &&
              info.type.scale == 2 && info.type.nullable,
          "the type of %s", info.name);
    CHECK(strcmp(info.type_name, "decimal(15, 2)?") == 0 && strcmp(info.codec, "nullable(values: bitpack)") == 0, "%s = %s",
          info.type_name, info.codec);
    demand(zf_program_column(program, "t", 1, &info, &error), &error);
    CHECK(info.type.element == ZF_STRING && !info.type.nullable && strstr(info.codec, "dictionary(") == info.codec, "%s",
          info.codec);
    zf_status status = zf_program_column(program, "t", 2, &info, &error);
    CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1105") == 0, "%s", error.code);
    status = zf_program_column(NULL, "t", 0, &info, &error);
    CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1101") == 0, "%s", error.code);
    info.size = 3;
    status = zf_program_column(program, "t", 0, &info, &error);
    CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1119") == 0, "%s", error.code);
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    const zf_context_options options = {.cache_dir = "", .threads = 1};
    const zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(zf_context_create(&options, &context, &error), &error);
    demand(zf_compiler_create(context, &compile, &compiler, &error), &error);

    zf_program *program = NULL;
    demand(zf_program_load_text(compiler, "mine.zf", text, sizeof text - 1, &program, &error), &error);
    if (program != NULL) check_columns(program);
    zf_program_free(program);

    // A part of the text is another text; an error has the name and the line.
    zf_status status = zf_program_load_text(compiler, "mine.zf", text, 40, &program, &error);
    CHECK(status == ZF_ERR_INPUT && strncmp(error.place, "mine.zf:3:", 10) == 0, "%s at %s", error.message, error.place);
    CHECK(program != NULL && zf_program_columns(program, "t") == 0, "a program with errors has columns");
    CHECK(program != NULL && strstr(zf_program_diagnostics(program, ZF_DIAGNOSTICS_LINE), "mine.zf:3:") != NULL,
          "no diagnostics");
    zf_program_free(program);

    program = (zf_program *)context;
    status = zf_program_load_text(compiler, "mine.zf", NULL, 1, &program, &error);
    CHECK(status == ZF_ERR_USAGE && program == NULL, "%s", error.message);
    status = zf_program_load_text(compiler, NULL, text, 1, &program, &error);
    CHECK(status == ZF_ERR_USAGE && program == NULL, "%s", error.message);
    status = zf_program_load_text(compiler, "empty.zf", NULL, 0, &program, &error);
    CHECK(status == ZF_OK && zf_program_columns(program, NULL) == 0, "an empty program: %s", error.message);
    zf_program_free(program);

    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
