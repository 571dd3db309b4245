// Compiles the pieces of a module and puts their code into one image and one text of PTX.
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "compiler/compiler.h"
#include "compiler/module/module_build.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/imports.h"
#include "runtime/base/pool.h"
#include "runtime/context/context.h"

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module"); }

// ---- Compiling ------------------------------------------------------------------------------------------------

typedef struct work {
    zf_module_builder *builder;
    zf_module_piece **pieces;
} work;

static void compile_piece(void *user, uint64_t index, unsigned worker) {
    const work *w = user;
    zf_module_piece *piece = w->pieces[index];
    (void)worker;
    piece->status = zf_decoder_export(piece->decoder, piece->code->shaping, w->builder->cpu, &piece->exported, &piece->error);
}

static zf_status compile_all(zf_module_builder *b, zf_error *error) {
    work w = {.builder = b, .pieces = calloc(b->piece_count + 1, sizeof(zf_module_piece *))};
    if (w.pieces == NULL) return out_of_memory(error);
    size_t count = 0;
    for (zf_module_piece *piece = b->pieces; piece != NULL; piece = piece->next) w.pieces[count++] = piece;
    zf_parallel_for(zf_context_threads(zf_compiler_context(b->compiler), b->options.threads), count, compile_piece, &w);
    free(w.pieces);
    for (const zf_module_piece *piece = b->pieces; piece != NULL; piece = piece->next) {
        if (piece->status == ZF_OK || piece->status == ZF_ERR_UNSUPPORTED) continue;
        if (error != NULL) *error = piece->error;
        return piece->status;
    }
    return ZF_OK;
}

// ---- Linking --------------------------------------------------------------------------------------------------

/// A piece before this one with the same object: columns of one codec.
static const zf_module_piece *same_object(const zf_module_builder *b, const zf_module_piece *piece) {
    const zf_text *wanted = &piece->exported.object;
    for (const zf_module_piece *p = b->pieces; p != piece; p = p->next) {
        if (p->places == NULL || p->exported.object.length != wanted->length) continue;
        if (p->decoder->abi.kernel_count != piece->decoder->abi.kernel_count) continue;
        if (memcmp(p->exported.object.data, wanted->data, wanted->length) == 0) return p;
    }
    return NULL;
}

static zf_status link_native(zf_module_builder *b, zf_module_piece *piece, zf_error *error) {
    uint32_t count = piece->decoder->abi.kernel_count;
    const zf_module_piece *same = same_object(b, piece);
    if (same != NULL) {
        piece->places = same->places;
        return ZF_OK;
    }
    char(*names)[ZF_CODEGEN_NAME] = calloc(count + 1u, sizeof *names);
    const char **symbols = calloc(count + 1u, sizeof *symbols);
    uint64_t *places = ZF_NEW_ARRAY(b->arena, uint64_t, count + 1u);
    zf_status status;
    if (names != NULL && symbols != NULL && places != NULL) {
        for (uint32_t k = 0; k < count; k++) {
            zf_codegen_kernel_name(k, names[k]);
            symbols[k] = names[k];
        }
        const zf_text *object = &piece->exported.object;
        status = zf_native_image_add(&b->native, object->data, object->length, symbols, count, places, error);
        if (status == ZF_OK) piece->places = places;
    } else {
        status = out_of_memory(error);
    }
    free(names);
    free(symbols);
    return status;
}

static zf_status describe(zf_module_builder *b, zf_module_piece *piece, zf_error *error) {
    zf_module_code *code = piece->code;
    uint32_t count = piece->decoder->abi.kernel_count;
    if (piece->decoder->abi.target.family == ZF_TARGET_HOST) {
        ZF_TRY(link_native(b, piece, error));
        code->kernels = piece->places;
        code->stack_bytes = piece->exported.stack_bytes;
        for (uint32_t k = 0; k < count; k++) {
            if (piece->places[k] == UINT64_MAX) return zf_raise(error, ZF_E_INTERNAL, "the code of kernel %u is missing", k);
        }
        return ZF_OK;
    }
    code->simt = piece->exported.simt;
    code->image = b->images.length;
    code->image_bytes = piece->exported.image.length + 1; // its zero byte
    zf_text_add(&b->images, piece->exported.image.data, piece->exported.image.length + 1);
    return b->images.failed ? out_of_memory(error) : ZF_OK;
}

// ---- Missing code ---------------------------------------------------------------------------------------------

static const zf_module_piece *piece_of(const zf_module_builder *b, const zf_module_code *code) {
    const zf_module_piece *piece = b->pieces;
    while (piece->code != code) piece = piece->next;
    return piece;
}

/// Takes plans out that have no general form, and codes that are missing.
static void drop_missing(const zf_module_builder *b, const char *table, zf_module_column *column) {
    uint32_t kept = 0;
    for (uint32_t p = 0; p < column->plan_count; p++) {
        zf_module_plan *plan = &column->plans[p];
        const zf_module_piece *general = piece_of(b, &plan->codes[0]);
        if (general->status != ZF_OK) {
            zf_module_note(b, "table %s, column %s: no code for %s%s: %s", table, column->name,
                           zf_module_target_name(plan->abi.target, (char[ZF_MODULE_TARGET_ROOM]){0}),
                           plan->shape.branch_count > 0 ? " under some alternatives" : "", general->error.message);
            continue;
        }
        uint32_t codes = 0;
        for (uint32_t k = 0; k < plan->code_count; k++) {
            if (piece_of(b, &plan->codes[k])->status == ZF_OK) plan->codes[codes++] = plan->codes[k];
        }
        plan->code_count = codes;
        column->plans[kept++] = *plan;
    }
    column->plan_count = kept;
}

/// Native code, the machine that it is for, and what it calls.
static zf_status describe_native(zf_module_builder *b, zf_error *error) {
    size_t imports;
    const zf_import *known = zf_imports(&imports);
    b->content.imports = ZF_NEW_ARRAY(b->arena, const char *, imports + 1);
    if (b->content.imports == NULL) return out_of_memory(error);
    b->content.import_count = (uint32_t)imports;
    for (size_t i = 0; i < imports; i++) b->content.imports[i] = known[i].name;
    b->content.native = (const uint8_t *)b->native.code.data;
    b->content.native_bytes = b->native.code.length;
    b->content.machine = ZF_MACHINE_X86_64;
    b->content.cpu_level = zf_cpu_level(b->cpu);
    return ZF_OK;
}

zf_status zf_module_link(zf_module_builder *b, zf_error *error) {
    ZF_TRY(compile_all(b, error));
    for (zf_module_piece *piece = b->pieces; piece != NULL; piece = piece->next) {
        if (piece->status == ZF_OK) ZF_TRY(describe(b, piece, error));
    }
    for (uint32_t t = 0; t < b->content.table_count; t++) {
        for (uint32_t c = 0; c < b->content.tables[t].column_count; c++)
            drop_missing(b, b->content.tables[t].name, &b->content.tables[t].columns[c]);
    }
    b->content.images = (const uint8_t *)b->images.data;
    b->content.image_bytes = b->images.length;
    return b->native.code.length > 0 ? describe_native(b, error) : ZF_OK;
}
