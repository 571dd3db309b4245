// Programs: loading, checking, diagnostics.
#include "compiler/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"

zf_status zf_program_error(const zf_diag *diag, zf_status status, zf_error *error) {
    char code[8];
    if (diag == NULL) return zf_raise(error, ZF_E_INTERNAL, "a step failed without saying why");
    zf_diag_code_text(diag->code, code);
    zf_fail(error, status, code, "%s", diag->message);
    if (diag->span.source != NULL) {
        zf_position at = zf_source_position(diag->span.source, diag->span.begin);
        zf_fail_place(error, status, "%s:%u:%u", diag->span.source->path, at.line, at.column);
    }
    if (diag->hint != NULL) zf_fail_hint(error, status, "%s", diag->hint);
    return status;
}

zf_status zf_raise_diag(zf_error *error, zf_status status, zf_diag_code code, const char *format, ...) {
    char name[8], message[sizeof error->message];
    va_list arguments;
    zf_diag_code_text(code, name);
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return zf_fail(error, status, name, "%s", message);
}

zf_status zf_program_load(zf_compiler *compiler, const char *path, zf_program **out, zf_error *error) {
    if (out == NULL || compiler == NULL || path == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT, "zf_program_load wants a compiler, a path and a place for the program");
    }
    *out = NULL;
    zf_program *program = calloc(1, sizeof *program);
    if (program == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a program");
    if (pthread_mutex_init(&program->lock, NULL) != 0) {
        free(program);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a lock");
    }
    program->compiler = compiler;
    zf_spec_options options = {.std_dir = zf_compiler_options_of(compiler)->std_dir,
                               .passes = zf_context_passes(zf_compiler_context(compiler))};
    program->spec = zf_spec_create(&options);
    if (program->spec == NULL) {
        zf_program_free(program);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a program");
    }
    *out = program;
    bool added = zf_spec_add_file(program->spec, path);
    program->checked = zf_spec_check(program->spec) && added;
    if (program->checked) return ZF_OK;
    return zf_program_error(zf_diags_first_error(zf_spec_diags(program->spec)), ZF_ERR_INPUT, error);
}

static void free_decoder(zf_program_decoder *entry) {
    if (entry == NULL) return;
    zf_decoder_free(entry->decoder);
    free(entry->unfused);
    free(entry->branches);
    free(entry);
}

void zf_program_free(zf_program *program) {
    if (program == NULL) return;
    while (program->encoders != NULL) {
        zf_encoder *encoder = program->encoders;
        program->encoders = encoder->next;
        free(encoder);
    }
    while (program->decoders != NULL) {
        zf_program_decoder *entry = program->decoders;
        program->decoders = entry->next;
        free_decoder(entry);
    }
    for (size_t k = 0; k < sizeof program->texts / sizeof program->texts[0]; k++) free(program->texts[k]);
    if (program->spec != NULL) zf_spec_destroy(program->spec);
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

static bool same_text(const char *a, const char *b) { return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0; }

static zf_program_decoder *find_decoder(zf_program *program, const zf_column *column, const uint8_t *branches,
                                        const zf_decoder_states *states) {
    zf_program_decoder *entry = program->decoders;
    while (entry != NULL && (entry->column != column || entry->seek_interval != states->seek_interval ||
                             !same_text(entry->unfused, states->unfused) ||
                             (column->choice_count > 0 && memcmp(entry->branches, branches, column->choice_count) != 0))) {
        entry = entry->next;
    }
    return entry;
}

static zf_status make_decoder(zf_program *program, const zf_column *column, const uint8_t *branches,
                              const zf_decoder_states *states, zf_program_decoder **out, zf_error *error) {
    size_t count = column->choice_count;
    zf_program_decoder *entry = calloc(1, sizeof *entry);
    zf_status status = ZF_OK;
    if (entry != NULL) {
        *entry = (zf_program_decoder){.column = column, .seek_interval = states->seek_interval};
        entry->branches = calloc(1, count + 1);
        entry->unfused = states->unfused != NULL ? strdup(states->unfused) : NULL;
    }
    if (entry == NULL || entry->branches == NULL || (states->unfused != NULL && entry->unfused == NULL)) {
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a decoder");
    } else {
        if (count > 0) memcpy(entry->branches, branches, count);
        zf_plan_request request = *zf_compiler_request(program->compiler);
        request.states = *states;
        status = zf_decoder_create(program->compiler, column, entry->branches, count, &request, &entry->decoder, error);
    }
    if (status != ZF_OK) {
        free_decoder(entry);
        return status;
    }
    entry->next = program->decoders;
    program->decoders = *out = entry;
    return ZF_OK;
}

zf_status zf_program_decoder_for(zf_program *program, const zf_column *column, const uint8_t *branches,
                                 const zf_decoder_states *states, zf_decoder **out, zf_error *error) {
    *out = NULL;
    pthread_mutex_lock(&program->lock);
    zf_program_decoder *entry = find_decoder(program, column, branches, states);
    zf_status status = entry != NULL ? ZF_OK : make_decoder(program, column, branches, states, &entry, error);
    pthread_mutex_unlock(&program->lock);
    if (status == ZF_OK) *out = entry->decoder;
    return status;
}
