#include "zfc/verbs/tune_operands.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/program.h"
#include "runtime/base/error.h"
#include "zfc/driver_codes.h"
#include "zfc/module_text.h"

/// Whether an operand is a program: FILE.zf or FILE.zf:TABLE, and no container of such a name.
static bool is_program(const char *operand) {
    if (zf_is_container(operand)) return false;
    const char *slash = strrchr(operand, '/'), *at = slash != NULL ? slash : operand;
    while ((at = strstr(at, ".zf")) != NULL) {
        at += strlen(".zf");
        if (*at == 0 || *at == ':') return true;
    }
    return false;
}

zf_status zf_tune_operands_read(zf_compiler *compiler, const zf_arguments *arguments, zf_tune_operands *out, zf_error *error) {
    *out = (zf_tune_operands){.items = calloc((size_t)arguments->operand_count + 1, sizeof *out->items)};
    if (out->items == NULL) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for the operands");
    for (int k = 0; k < arguments->operand_count; k++) {
        zf_tune_operand *operand = &out->items[out->count++];
        operand->text = arguments->operands[k];
        operand->is_program = is_program(operand->text);
        if (!operand->is_program) continue;
        ZF_TRY(zf_program_name_check("tune", operand->text, &operand->name, error));
        zf_program_load(compiler, operand->name.path, &operand->program, &operand->failure);
    }
    return ZF_OK;
}

void zf_tune_operands_free(zf_tune_operands *operands) {
    for (size_t k = 0; k < operands->count; k++) zf_program_free(operands->items[k].program);
    free(operands->items);
    *operands = (zf_tune_operands){0};
}

const zf_table *zf_tune_operand_table(const zf_tune_operand *operand, zf_error *error) {
    const zf_program_name *name = &operand->name;
    if (operand->failure.status != ZF_OK) {
        *error = operand->failure;
        return NULL;
    }
    const zf_table *table = zf_spec_find_table(zf_program_spec(operand->program), name->name);
    if (table == NULL && name->name != NULL)
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_TABLE, "%s: the program has no table `%.200s`", name->path, name->name);
    else if (table == NULL)
        zf_fail(error, ZF_ERR_INPUT, ZFC_NO_SUCH_TABLE, "%s: the program has several tables, or none: name one: FILE:TABLE",
                name->path);
    return table;
}

size_t zf_tune_operand_columns(zf_context *context, const zf_tune_operand *operand) {
    zf_error ignored;
    if (operand->is_program) {
        const zf_table *table = zf_tune_operand_table(operand, &ignored);
        return table != NULL ? table->column_count : 1;
    }
    zf_container *container = NULL;
    if (zf_container_open(context, operand->text, &container, &ignored) != ZF_OK) return 1;
    size_t columns = zf_container_columns(container);
    zf_container_close(container);
    return columns;
}

zf_status zf_tune_operands_guard(const zf_tune_operands *operands, const char *known, const char *output, zf_error *error) {
    zf_files_read read = {0};
    zf_status status = known != NULL ? zf_files_note(&read, known, error) : ZF_OK;
    for (size_t k = 0; k < operands->count && status == ZF_OK; k++) {
        const zf_tune_operand *operand = &operands->items[k];
        status = zf_files_note(&read, operand->is_program ? operand->name.path : operand->text, error);
    }
    if (status == ZF_OK) status = zf_files_guard(&read, output, error);
    for (size_t k = 0; k < operands->count && status == ZF_OK; k++) {
        zf_program *program = operands->items[k].program;
        if (program != NULL) status = zf_guard_output(zf_program_spec(program), NULL, output, error);
    }
    zf_files_free(&read);
    return status;
}
