// From the encode bodies of a program's instances to functions.
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen_encode.h"
#include "compiler/compiler.h"
#include "compiler/program.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"

/// An encoder that is being made.
typedef struct job {
    zf_encoder *encoder;
    zf_compile_budget *budget;
    zf_text key;
    zf_status status;
    zf_error error;
    struct job *next;
} job;

typedef struct jobs {
    zf_program *program;
    zf_compile_budget *budget; ///< of the column whose codec is looked at
    job *first, **last;
    size_t count;
    job **all; ///< in their order
} jobs;

zf_status zf_encoder_print(zf_compiler *compiler, const zf_inst *inst, zf_compile_budget *budget, int stage, zf_text *out,
                           zf_error *error) {
    if (inst->encode_extern != NULL || !inst->encode.present) return ZF_OK;
    return zf_codegen_encode_print(zf_compiler_jit(compiler), inst, budget, (zf_jit_stage)stage, out, error);
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
        encoder->reason = "it is encoded outside of the language";
    else if (!inst->encode.present)
        encoder->reason = "it has no `encode`";
    if (encoder->reason != NULL) {
        free(j);
        return ZF_OK;
    }
    j->encoder = encoder;
    j->budget = all->budget;
    zf_codegen_encode_key(program->spec, inst, &j->key);
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
    job *j = all->all[index];
    zf_encoder *encoder = j->encoder;
    zf_jit *jit = zf_compiler_jit(all->program->compiler);
    j->status = zf_codegen_encode_build(jit, encoder->inst, &j->key, j->budget, &encoder->function, &encoder->code, &j->error);
}

static void take_out(zf_program *program, zf_encoder *encoder) {
    zf_encoder **at = &program->encoders;
    while (*at != encoder) at = &(*at)->next;
    *at = encoder->next;
    zf_jit_unload(zf_compiler_jit(program->compiler), encoder->code);
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

zf_status zf_program_compile(zf_program *program, const zf_column *const *columns, size_t count, unsigned threads,
                             zf_error *error) {
    jobs all = {.program = program};
    zf_status status = ZF_OK;
    all.last = &all.first;
    pthread_mutex_lock(&program->lock);
    for (size_t c = 0; c < count && status == ZF_OK; c++) {
        all.budget = zf_codec_text_renew_budget(program->compiler->cache, program->text, columns[c]);
        status = all.budget != NULL ? find_all(&all, columns[c]->codec, 0, error)
                                    : zf_raise(error, ZF_E_NO_MEMORY, "no memory for encoders");
    }
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

bool zf_program_note_missing(zf_program *program, const zf_inst *inst, const char *reason) {
    pthread_mutex_lock(&program->lock);
    zf_encoder *encoder = find(program, inst);
    bool first = encoder != NULL && encoder->missing == NULL;
    if (first) encoder->missing = strdup(reason); // without memory: a line more in the log
    pthread_mutex_unlock(&program->lock);
    return first;
}

void zf_program_missing(const zf_program *program, void (*each)(void *user, const char *reason), void *user) {
    for (const zf_encoder *e = program->encoders; e != NULL; e = e->next)
        if (e->missing != NULL) each(user, e->missing);
}
