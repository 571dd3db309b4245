// Programs: loading, checking, diagnostics.
#include "compiler/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/sized.h"
#include "runtime/context/context.h"

zf_status zf_raise_diag(zf_error *error, zf_status status, zf_diag_code code, const char *format, ...) {
    char name[8], message[sizeof error->message];
    va_list arguments;
    zf_diag_code_text(code, name);
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return zf_fail(error, status, name, "%s", message);
}

static zf_status create(zf_compiler *compiler, bool alone, zf_program **out, zf_error *error) {
    *out = NULL;
    zf_program *program = calloc(1, sizeof *program);
    if (program == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a program");
    if (pthread_mutex_init(&program->lock, NULL) != 0) {
        free(program);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a lock");
    }
    program->compiler = compiler;
    zf_spec_options options = {.std_dir = zf_compiler_options_of(compiler)->std_dir,
                               .no_std = alone,
                               .passes = zf_context_passes(zf_compiler_context(compiler))};
    program->spec = zf_spec_create(&options);
    if (program->spec != NULL) program->text = zf_codec_text_adopt(program->spec);
    if (program->text == NULL) {
        if (program->spec != NULL) zf_spec_destroy(program->spec);
        zf_program_free(program);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a program");
    }
    *out = program;
    return ZF_OK;
}

/// The text of a program: a file, or `text`.
typedef struct loading {
    zf_program *program;
    const char *path, *text; ///< NULL text: the file's
    size_t length;
} loading;

static zf_status read_and_check(void *user, zf_error *error) {
    const loading *l = user;
    zf_spec *spec = l->program->spec;
    bool added = l->text == NULL ? zf_spec_add_file(spec, l->path) : zf_spec_add_text(spec, l->path, l->text, l->length);
    l->program->checked = zf_spec_check(spec) && added;
    if (l->program->checked) return ZF_OK;
    return zf_diag_status(zf_diags_first_error(zf_spec_diags(spec)), ZF_ERR_INPUT, error);
}

static zf_status load(loading *l, zf_program **out, zf_error *error) {
    l->program = *out;
    zf_status status = zf_run_deep(read_and_check, l, error);
    if (status != ZF_ERR_MEMORY) return status;
    zf_program_free(*out); // there was no thread
    *out = NULL;
    return status;
}

zf_status zf_program_load(zf_compiler *compiler, const char *path, zf_program **out, zf_error *error) {
    if (out == NULL || compiler == NULL || path == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT, "zf_program_load needs a compiler, a path and a place for the program");
    }
    ZF_TRY(create(compiler, false, out, error));
    return load(&(loading){.path = path}, out, error);
}

zf_status zf_program_read(zf_compiler *compiler, const char *name, const char *text, size_t length, bool alone, zf_program **out,
                          zf_error *error) {
    ZF_TRY(create(compiler, alone, out, error));
    return load(&(loading){.path = name, .text = text, .length = length}, out, error);
}

zf_status zf_program_load_text(zf_compiler *compiler, const char *name, const char *text, size_t bytes, zf_program **out,
                               zf_error *error) {
    if (out != NULL) *out = NULL;
    if (out == NULL || compiler == NULL || name == NULL || (text == NULL && bytes > 0)) {
        return zf_raise(error, ZF_E_ARGUMENT,
                        "zf_program_load_text needs a compiler, a name, a text and a place for the program");
    }
    return zf_program_read(compiler, name, text != NULL ? text : "", bytes, false, out, error);
}

size_t zf_program_columns(const zf_program *program, const char *table) {
    const zf_table *found = program != NULL && program->checked ? zf_spec_find_table(program->spec, table) : NULL;
    return found != NULL ? found->column_count : 0;
}

zf_status zf_program_column(zf_program *program, const char *table, size_t index, zf_column_info *out, zf_error *error) {
    if (program == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_program_column needs a program and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_column_info, out, error));
    size_t count = zf_program_columns(program, table);
    if (index >= count) return zf_raise(error, ZF_E_UNKNOWN_COLUMN, "there is no column %zu: the table has %zu", index, count);
    const zf_column *column = zf_spec_find_table(program->spec, table)->columns;
    for (size_t k = 0; k < index; k++) column = column->next;
    pthread_mutex_lock(&program->lock);
    const char *type_name = zf_column_type_text(zf_spec_arena(program->spec), column);
    pthread_mutex_unlock(&program->lock);
    if (type_name == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the name of a type");
    const zf_column_info info = {.name = column->name,
                                 .type = zf_column_type_of(column->type),
                                 .type_name = type_name,
                                 .codec = column->codec_text,
                                 .full_name = column->name,
                                 .part = column->part};
    ZF_GIVE(zf_column_info, out, &info);
    return ZF_OK;
}

void zf_program_free(zf_program *program) {
    if (program == NULL) return;
    while (program->encoders != NULL) {
        zf_encoder *encoder = program->encoders;
        program->encoders = encoder->next;
        zf_jit_unload(program->compiler->jit, encoder->code);
        free(encoder->missing);
        free(encoder);
    }
    for (size_t k = 0; k < sizeof program->texts / sizeof program->texts[0]; k++) free(program->texts[k]);
    zf_codec_text_drop(program->compiler->cache, program->text);
    pthread_mutex_destroy(&program->lock);
    free(program);
}

const char *zf_program_diagnostics(zf_program *program, zf_diagnostic_form form) {
    if (program == NULL || (unsigned)form > ZF_DIAGNOSTICS_JSON) return "";
    static const zf_diag_form forms[] = {ZF_DIAG_HUMAN, ZF_DIAG_LINE, ZF_DIAG_JSON};
    pthread_mutex_lock(&program->lock);
    if (program->texts[form] == NULL) {
        zf_text text = {0};
        zf_diags_render(zf_spec_diags(program->spec), forms[form], false, &text);
        if (text.failed)
            zf_text_free(&text);
        else
            program->texts[form] = text.data; // NULL when there is nothing to say
    }
    const char *result = program->texts[form] != NULL ? program->texts[form] : "";
    pthread_mutex_unlock(&program->lock);
    return result;
}

zf_status zf_program_decoder_for(zf_program *program, const zf_column *column, const uint8_t *branches,
                                 const zf_plan_request *request, zf_cached_decoder **out, zf_error *error) {
    pthread_mutex_lock(&program->lock);
    zf_status status = zf_cached_decoder_hold(program->compiler->cache, program->text, column, branches, column->choice_count,
                                              request, out, error);
    pthread_mutex_unlock(&program->lock);
    zf_decoder_cache_sweep(program->compiler->cache);
    return status;
}

void zf_program_decoder_release(zf_program *program, zf_cached_decoder *decoder) {
    zf_cached_decoder_release(program->compiler->cache, decoder);
    zf_decoder_cache_sweep(program->compiler->cache);
}
