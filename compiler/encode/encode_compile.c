// From the encode bodies of a program's instances to functions.
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/encode/cg_encode.h"
#include "compiler/compiler.h"
#include "compiler/program.h"
#include "frontend/check/walk.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"

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
        status = zf_diag_status(zf_diags_first_error(&diags), ZF_ERR_UNSUPPORTED, error);
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

/// An encoder that is being made.
typedef struct job {
    zf_encoder *encoder;
    zf_text key;
    zf_status status;
    zf_error error;
    struct job *next;
} job;

typedef struct jobs {
    zf_program *program;
    job *first, **last;
    size_t count;
    job **all; ///< in their order
} jobs;

static zf_status compile(const zf_program *program, job *j) {
    zf_encoder *encoder = j->encoder;
    build b = {encoder->inst};
    const char *symbol = ZF_CG_ENCODE_NAME;
    zf_jit_request request = {.name = encoder->inst->name,
                              .key = j->key.failed ? NULL : j->key.data,
                              .key_length = j->key.length,
                              .build = build_module,
                              .user = &b,
                              .symbols = &symbol,
                              .symbol_count = 1};
    void *address = NULL;
    ZF_TRY(zf_jit_load(zf_compiler_jit(program->compiler), &request, &address, NULL, &j->error));
    encoder->function = (zf_encode_fn)(uintptr_t)address;
    if (address == NULL) return zf_raise(&j->error, ZF_E_INTERNAL, "the encoder of `%s` was not made", encoder->inst->name);
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

/// Adds an encoder; what has no body, or one that is not ours, needs no code. Keys are made here, since the spec makes them in
/// its arena.
static zf_status add(jobs *all, const zf_inst *inst, zf_error *error) {
    zf_program *program = all->program;
    zf_encoder *encoder = calloc(1, sizeof *encoder);
    job *j = calloc(1, sizeof *j);
    if (encoder == NULL || j == NULL) {
        free(encoder);
        free(j);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for an encoder");
    }
    encoder->inst = inst;
    encoder->next = program->encoders;
    program->encoders = encoder;
    if (inst->encode_extern != NULL)
        encoder->reason = "no function of that name is registered";
    else if (!inst->encode.present)
        encoder->reason = "it has no `encode`";
    if (encoder->reason != NULL) {
        free(j);
        return ZF_OK;
    }
    j->encoder = encoder;
    make_key(program->spec, inst, &j->key);
    *all->last = j;
    all->last = &j->next;
    all->count++;
    return ZF_OK;
}

static zf_status find_all(jobs *all, const zf_codec_choice *choice, unsigned depth, zf_error *error) {
    enum { DEPTH_LIMIT = 256 };
    if (depth > DEPTH_LIMIT)
        return zf_raise_diag(error, ZF_ERR_INPUT, ZF_D_TOO_LARGE, "the codec is nested deeper than %d", DEPTH_LIMIT);
    for (uint32_t a = 0; a < choice->count; a++) {
        const zf_codec_node *node = choice->alternatives[a];
        if (find(all->program, node->inst) == NULL) ZF_TRY(add(all, node->inst, error));
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            if (node->streams[s] != NULL) ZF_TRY(find_all(all, node->streams[s], depth + 1, error));
        }
    }
    return ZF_OK;
}

static void run(void *user, uint64_t index, unsigned worker) {
    (void)worker;
    jobs *all = user;
    all->all[index]->status = compile(all->program, all->all[index]);
}

static void take_out(zf_program *program, zf_encoder *encoder) {
    zf_encoder **at = &program->encoders;
    while (*at != encoder) at = &(*at)->next;
    *at = encoder->next;
    free(encoder);
}

/// Returns the first failure in the order of codecs. Codecs that failed or were not tried are not kept: the next call tries
/// again.
static zf_status end(jobs *all, zf_status status, zf_error *error) {
    bool tried = status == ZF_OK;
    while (all->first != NULL) {
        job *j = all->first;
        all->first = j->next;
        if (tried && j->status != ZF_OK && status == ZF_OK) {
            status = j->status;
            if (error != NULL) *error = j->error;
        }
        if (!tried || j->status != ZF_OK) take_out(all->program, j->encoder);
        zf_text_free(&j->key);
        free(j);
    }
    free(all->all);
    return status;
}

zf_status zf_program_compile(zf_program *program, const zf_codec_choice *const *choices, size_t count, unsigned threads,
                             zf_error *error) {
    jobs all = {.program = program};
    zf_status status = ZF_OK;
    all.last = &all.first;
    pthread_mutex_lock(&program->lock);
    for (size_t c = 0; c < count && status == ZF_OK; c++) status = find_all(&all, choices[c], 0, error);
    if (status == ZF_OK) {
        all.all = calloc(all.count + 1, sizeof(job *));
        if (all.all == NULL) status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for encoders");
    }
    if (status == ZF_OK) {
        size_t k = 0;
        for (job *j = all.first; j != NULL; j = j->next) all.all[k++] = j;
        zf_parallel_for(threads, all.count, run, &all);
    }
    status = end(&all, status, error);
    pthread_mutex_unlock(&program->lock);
    return status;
}

const zf_encoder *zf_program_encoder(zf_program *program, const zf_inst *inst) {
    pthread_mutex_lock(&program->lock);
    const zf_encoder *encoder = find(program, inst);
    pthread_mutex_unlock(&program->lock);
    return encoder;
}
