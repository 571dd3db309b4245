// A loaded program, and the compiled encode bodies of its instances.
#ifndef ZF_COMPILER_PROGRAM_H
#define ZF_COMPILER_PROGRAM_H

#include <pthread.h>

#include "codegen/codegen_encode.h"
#include "compiler/decoder/decoder_cache.h"
#include "frontend/diag/diag_status.h"
#include "frontend/spec/spec.h"
#include "zipflow/compile.h"

typedef struct zf_encoder {
    const zf_inst *inst;
    zf_encode_fn function; ///< NULL: it has no encode body
    const char *reason;    ///< why it has none
    zf_jit_code *code;     ///< which has the function; NULL: none
    char *missing; ///< one outside of the language that cannot run, where another alternative took a block: why. Else NULL
    struct zf_encoder *next;
} zf_encoder;

struct zf_program {
    zf_compiler *compiler;
    zf_spec *spec;
    zf_codec_text *text;  ///< owns the spec
    bool checked;         ///< without errors
    char *texts[3];       ///< diagnostics by form, made on demand
    pthread_mutex_t lock; ///< of what follows, of texts, and of calls that allocate in the spec's arena
    zf_encoder *encoders;
};

/// Does what zf_program_load_text does. `alone`: a text that a file carries, which needs no standard library and sees none.
zf_status zf_program_read(zf_compiler *compiler, const char *name, const char *text, size_t length, bool alone, zf_program **out,
                          zf_error *error);

/// Returns the program's spec; it lives as long as the program.
static inline zf_spec *zf_program_spec(zf_program *program) { return program->spec; }

/// Compiles the encode bodies of all instances of some columns, with all alternatives, once for each program.
/// Uses up to `threads` threads. The columns' budgets are renewed; an instance is charged to the first column that has it. If
/// several fail, the first error in the order of columns is returned.
zf_status zf_program_compile(zf_program *program, const zf_column *const *columns, size_t count, unsigned threads,
                             zf_error *error);
/// Returns the encoder of an instance after zf_program_compile, or NULL if it was never compiled.
const zf_encoder *zf_program_encoder(zf_program *program, const zf_inst *inst);
/// Notes that an encoder cannot run, and that another alternative took a block. Returns whether it is the first note of this
/// instance. Any thread.
bool zf_program_note_missing(zf_program *program, const zf_inst *inst, const char *reason);
/// Calls `each` with the reasons that were noted. When no encode of the program runs.
void zf_program_missing(const zf_program *program, void (*each)(void *user, const char *reason), void *user);

/// Finds or makes the decoder of a column for a vector of branches (its choice_count bytes) and a request.
/// Release it with zf_program_decoder_release. Call both without locks. Any thread.
zf_status zf_program_decoder_for(zf_program *program, const zf_column *column, const uint8_t *branches,
                                 const zf_plan_request *request, zf_cached_decoder **out, zf_error *error);
/// Releases a decoder (NULL: nothing), which no decode uses any more.
void zf_program_decoder_release(zf_program *program, zf_cached_decoder *decoder);

/// Fills `*error` (may be NULL) with a diagnostic that has no place in a text, and returns `status`.
zf_status zf_raise_diag(zf_error *error, zf_status status, zf_diag_code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/// Appends LLVM IR or assembly of the encode body of an instance, if it has one. `budget`: of its column; `stage`: zf_jit_stage.
zf_status zf_encoder_print(zf_compiler *compiler, const zf_inst *inst, zf_compile_budget *budget, int stage, zf_text *out,
                           zf_error *error);

#endif
