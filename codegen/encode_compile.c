// From the encode bodies of a program's instances to functions.
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cg_encode.h"
#include "codegen/decoder.h"
#include "codegen/program.h"
#include "frontend/walk.h"
#include "runtime/error_codes.h"

typedef struct build {
    const zf_inst *inst;
} build;

static zf_status build_module(void *user, LLVMModuleRef module, zf_error *error) {
    const build *b = user;
    zf_arena *arena = zf_arena_create();
    if (arena == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory to compile an encoder");
    jmp_buf escape;
    zf_status status = ZF_OK;
    zf_cg cg;
    zf_diags diags;
    if (setjmp(escape) != 0) { // the builder is leaked with what LLVM holds; memory is out anyway
        zf_arena_destroy(arena);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory to compile an encoder");
    }
    zf_arena_set_escape(arena, &escape);
    zf_diags_init(&diags, arena);
    zf_cg_init(&cg, module, arena, &diags);
    zf_cg_encode(&cg, b->inst);
    if (cg.failed) {
        status = zf_program_error(zf_diags_first_error(&diags), ZF_ERR_UNSUPPORTED, error);
    }
    zf_cg_dispose(&cg);
    zf_arena_destroy(arena);
    return status;
}

// ---- The cache key: the algorithm's canonical text, its types, and where everything stands ---------------------

static void add_span(zf_text *key, zf_span span) {
    uint64_t place = zf_cg_encode_span(span);
    zf_text_add(key, (const char *)&place, sizeof place);
}

static bool key_expr(zf_visitor *visitor, zf_expr *expr) {
    add_span(visitor->user, expr->span);
    return true;
}

static bool key_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    add_span(visitor->user, stmt->span);
    return true;
}

static void make_key(zf_spec *spec, const zf_inst *inst, zf_text *key) {
    uint8_t sha256[32];
    zf_text_puts(key, "encode 4\n");
    zf_text_puts(key, inst->name);
    zf_text_puts(key, "\n");
    for (uint32_t g = 0; g < inst->algorithm->generic_count; g++) {
        zf_type type = inst->bindings[g];
        zf_text_printf(key, "%d %d %d\n", (int)type.kind, (int)type.nullable, (int)type.opaque);
    }
    if (!zf_canonical_algorithm(spec, inst->algorithm, key, sha256)) key->failed = true;
    zf_visitor visitor = {.user = key, .expr = key_expr, .stmt = key_stmt};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&inst->encode); // only looks
}

static zf_status compile(zf_program *program, zf_encoder *encoder, zf_error *error) {
    const zf_inst *inst = encoder->inst;
    if (inst->encode_extern != NULL) {
        encoder->reason = "no function of that name is registered";
        return ZF_OK;
    }
    if (!inst->encode.present) {
        encoder->reason = "it has no `encode`";
        return ZF_OK;
    }
    zf_text key = {0};
    make_key(program->spec, inst, &key);
    build b = {inst};
    const char *symbol = ZF_CG_ENCODE_NAME;
    zf_jit_request request = {.name = inst->name,
                              .key = key.failed ? NULL : key.data,
                              .key_length = key.length,
                              .build = build_module,
                              .user = &b,
                              .symbols = &symbol,
                              .symbol_count = 1};
    void *address = NULL;
    zf_status status = zf_jit_load(zf_compiler_jit(program->compiler), &request, &address, NULL, error);
    zf_text_free(&key);
    if (status != ZF_OK) return status;
    encoder->function = (zf_encode_fn)(uintptr_t)address;
    if (address == NULL) return zf_raise(error, ZF_E_INTERNAL, "the encoder of `%s` was not made", inst->name);
    return ZF_OK;
}

zf_status zf_encoder_print(zf_compiler *compiler, const zf_inst *inst, int stage, zf_text *out, zf_error *error) {
    build b = {inst};
    const char *symbol = ZF_CG_ENCODE_NAME;
    if (inst->encode_extern != NULL || !inst->encode.present) return ZF_OK;
    zf_jit_request request = {.name = inst->name, .build = build_module, .user = &b, .symbols = &symbol, .symbol_count = 1};
    return zf_jit_print(zf_compiler_jit(compiler), &request, (zf_jit_stage)stage, out, error);
}

// ---- All instances of a codec ---------------------------------------------------------------------------------

static zf_encoder *find(zf_program *program, const zf_inst *inst) {
    for (zf_encoder *e = program->encoders; e != NULL; e = e->next) {
        if (e->inst == inst) return e;
    }
    return NULL;
}

static zf_status compile_all(zf_program *program, const zf_codec_choice *choice, unsigned depth, zf_error *error) {
    enum { DEPTH_LIMIT = 256 };
    if (depth > DEPTH_LIMIT)
        return zf_raise_diag(error, ZF_ERR_INPUT, ZF_D_TOO_LARGE, "the codec is nested deeper than %d", DEPTH_LIMIT);
    for (uint32_t a = 0; a < choice->count; a++) {
        const zf_codec_node *node = choice->alternatives[a];
        if (find(program, node->inst) == NULL) {
            zf_encoder *encoder = calloc(1, sizeof *encoder);
            if (encoder == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for an encoder");
            encoder->inst = node->inst;
            zf_status status = compile(program, encoder, error);
            if (status != ZF_OK) {
                free(encoder);
                return status;
            }
            encoder->next = program->encoders;
            program->encoders = encoder;
        }
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            if (node->streams[s] != NULL) ZF_TRY(compile_all(program, node->streams[s], depth + 1, error));
        }
    }
    return ZF_OK;
}

zf_status zf_program_compile(zf_program *program, const zf_codec_choice *choice, zf_error *error) {
    pthread_mutex_lock(&program->lock);
    zf_status status = compile_all(program, choice, 0, error);
    pthread_mutex_unlock(&program->lock);
    return status;
}

const zf_encoder *zf_program_encoder(zf_program *program, const zf_inst *inst) {
    pthread_mutex_lock(&program->lock);
    const zf_encoder *encoder = find(program, inst);
    pthread_mutex_unlock(&program->lock);
    return encoder;
}
