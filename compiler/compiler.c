// The compiler as an object: a linker for generated code, and the context's source of code.
#include "compiler/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "codegen/codegen_encode.h"
#include "codegen/codegen_query.h"
#include "compiler/compile_sized.h"
#include "compiler/decoder/decoder_cache.h"
#include "runtime/base/cache.h"
#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"
#include "runtime/device/device.h"

#define ZF_STRUCT ZF_CHECK_SIZE
#include "compiler/compile_structs.def"

static const double COMPILE_BUDGET = 20; ///< processor seconds, by default

typedef struct symbols {
    zf_jit_symbol *table;
    size_t count, room; ///< beyond `room` they are counted only
} symbols;

static void add_symbol(void *user, const zf_device_symbol *symbol) {
    symbols *s = user;
    if (s->count < s->room) s->table[s->count] = (zf_jit_symbol){symbol->name, symbol->address};
    s->count++;
}

/// Lists the functions that generated code may call. The caller frees `s->table`.
static zf_status list_symbols(const zf_context *context, symbols *s, zf_error *error) {
    size_t own = zf_codegen_encode_symbols(NULL) + zf_codegen_query_symbols(NULL);
    *s = (symbols){.count = own};
    zf_context_each_symbol(context, add_symbol, s);
    while (s->count > s->room) { // again where another thread has added a device meanwhile
        free(s->table);
        s->room = s->count;
        s->table = calloc(s->room, sizeof(*s->table));
        if (s->table == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a compiler");
        s->count = zf_codegen_encode_symbols(s->table);
        s->count += zf_codegen_query_symbols(s->table + s->count);
        zf_context_each_symbol(context, add_symbol, s);
    }
    return ZF_OK;
}

static zf_status make_jit(zf_compiler *compiler, zf_error *error) {
    symbols s;
    ZF_TRY(list_symbols(compiler->context, &s, error));
    unsigned level = compiler->options.optimise == 0 ? 3 : compiler->options.optimise - 1;
#ifdef ZF_SANITIZE
    compiler->options.sanitize = true; // a build with sanitizers has them in all its code
#endif
    zf_jit_options options = {.optimise = level,
                              .sanitize = compiler->options.sanitize,
                              .cache_dir = zf_context_cache_dir(compiler->context),
                              .cache_bytes = zf_context_cache_bytes(compiler->context),
                              .passes = zf_context_passes(compiler->context),
                              .symbols = s.table,
                              .symbol_count = s.count};
    zf_status status = zf_jit_create(&options, &compiler->jit, error);
    free(s.table);
    return status;
}

/// A cache that cannot be used costs time only, but whoever looks for that time finds the reason in the log.
static void log_unusable_cache(const zf_compiler *compiler) {
    const char *directory = zf_context_cache_dir(compiler->context);
    if (directory[0] == 0) return;
    int fd = zf_cache_open(directory, "kernels");
    int failed = fd < 0 || faccessat(fd, ".", W_OK, AT_EACCESS) != 0 ? errno : 0;
    if (fd >= 0) close(fd);
    if (failed == 0) return;
    char buffer[128];
    const char *reason = failed == EPERM && fd < 0 ? "it is not ours alone" : strerror_r(failed, buffer, sizeof buffer);
    zf_context_log(compiler->context, ZF_LOG_WARNING, "the cache %s/kernels cannot be %s: %s; code is compiled again each time",
                   directory, fd < 0 ? "used" : "written", reason);
}

/// Hidden by what this build's LLVM is linked to.
static void log_missing_gate(const zf_compiler *compiler) {
    if (isinf(compiler->options.compile_budget) || zf_jit_ends_between_passes()) return;
    zf_context_log(compiler->context, ZF_LOG_WARNING,
                   "LLVM cannot be asked to end early: a compile budget ends only after a stage of LLVM, which may take long");
}

static void release(zf_compiler *compiler) {
    zf_provider_free(compiler->provider);
    zf_encoder_registry_free(compiler->encoders);
    zf_decoder_cache_free(compiler->cache);
    zf_jit_free(compiler->jit);
    pthread_mutex_destroy(&compiler->lock);
    zf_tuned_free(&compiler->shipped);
    for (zf_kept_tuned *kept = compiler->kept, *next; kept != NULL; kept = next) {
        next = kept->next;
        zf_tuned_free(&kept->table);
        free(kept->device);
        free(kept);
    }
    free(compiler->std_dir);
    free(compiler);
}

static zf_status read_choices(const char *text, zf_choices *out, zf_error *error) {
    zf_text message = {0};
    bool good = zf_choices_read(text, out, &message);
    if (!good) zf_raise(error, ZF_E_ARGUMENT, "choices: %s", message.data != NULL ? message.data : "");
    zf_text_free(&message);
    return good ? ZF_OK : ZF_ERR_USAGE;
}

/// For the log: kernels of a table that are left out, since another version chose for them.
static void note_unknown(zf_compiler *compiler, const zf_tuned *table, const char *of) {
    const zf_tuned_kernel *first;
    size_t count = zf_tuned_unknown(table, &first);
    if (count == 0) return;
    zf_compiler_note(compiler, ZF_LOG_DEBUG,
                     "%s: choices of %zu kernel%s are none of this version's, as %s of `%s`: such kernels are as by default", of,
                     count, count > 1 ? "s" : "", first->unknown, first->shape);
}

zf_status zf_compiler_create(zf_context *context, const zf_compiler_options *options, zf_compiler **out, zf_error *error) {
    return zf_compiler_create_with(context, options, NULL, out, error);
}

zf_status zf_compiler_create_with(zf_context *context, const zf_compiler_options *options, const zf_plan_request *request,
                                  zf_compiler **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    if (context == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_compiler_create needs a context and a place");
    zf_compiler_options own;
    ZF_TRY(ZF_TAKE(zf_compiler_options, &own, options, error));
    options = &own;
    if (options->optimise > 4) {
        return zf_raise(error, ZF_E_ARGUMENT, "optimise is 0 (the default) or 1..4, not %u", options->optimise);
    }
    if (options->chunk_threads > 1 && options->chunk_threads != 32) {
        return zf_raise(error, ZF_E_ARGUMENT, "chunk_threads is 0 (the default), 1 or 32, not %u", options->chunk_threads);
    }
    if (options->shaping_tuples > ZF_TUPLES_MOST) {
        return zf_raise(error, ZF_E_ARGUMENT, "shaping_tuples is 0 (the default, %d) or 1..%d, not %zu", ZF_TUPLES_DEFAULT,
                        ZF_TUPLES_MOST, options->shaping_tuples);
    }
    if (!(options->compile_budget >= 0)) // nor NaN
        return zf_raise(error, ZF_E_ARGUMENT, "compile_budget is a number of seconds from 0, not %g", options->compile_budget);
    if (options->tuned != NULL && options->untuned)
        return zf_raise(error, ZF_E_ARGUMENT, "`tuned` names a file, and `untuned` ignores it: give one of them");
    zf_choices choices = {0};
    if (options->choices != NULL) ZF_TRY(read_choices(options->choices, &choices, error));
    for (uint32_t k = 0; k < choices.count && options->chunk_threads > 0; k++) {
        if (zf_is_chosen(&choices.of[k], ZF_CHOICE_WALK))
            return zf_raise(error, ZF_E_ARGUMENT,
                            "WALK of kernel %u and `chunk_threads` both say who walks chunks: give one of them",
                            choices.kernels[k]);
    }
    zf_compiler *compiler = calloc(1, sizeof(*compiler));
    if (compiler == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a compiler");
    compiler->context = context;
    pthread_mutex_init(&compiler->lock, NULL);
    compiler->options = *options;
    if (options->compile_budget == 0) compiler->options.compile_budget = COMPILE_BUDGET;
    compiler->has_shipped = compiler->options.tuned != NULL;
    compiler->options.choices = compiler->options.tuned = NULL; // the caller's; `request` and `shipped` have their contents
    compiler->choices = choices;
    if (request != NULL) compiler->request = *request;
    compiler->request.choices = choices.count > 0 ? &compiler->choices : NULL;
    if (compiler->options.std_dir != NULL) compiler->options.std_dir = compiler->std_dir = strdup(compiler->options.std_dir);
    bool copied = compiler->std_dir != NULL || options->std_dir == NULL;
    compiler->encoders = zf_encoder_registry_create();
    bool made = copied && compiler->encoders != NULL;
    zf_status status = made ? make_jit(compiler, error) : zf_raise(error, ZF_E_NO_MEMORY, "no memory for a compiler");
    if (status == ZF_OK) log_unusable_cache(compiler);
    if (status == ZF_OK) log_missing_gate(compiler);
    if (status == ZF_OK && compiler->has_shipped) status = zf_tuned_read(options->tuned, &compiler->shipped, error);
    if (status == ZF_OK) {
        compiler->cache = zf_decoder_cache_create(compiler);
        if (compiler->cache == NULL) status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a compiler");
    }
    if (status == ZF_OK) status = zf_provider_create(compiler, &compiler->request, &compiler->provider, error);
    if (status == ZF_OK) {
        zf_abi_provider provider = zf_provider_abi(compiler->provider);
        if (!zf_context_claim_provider(context, &provider)) {
            zf_raise(error, ZF_E_ARGUMENT, "the context already has a compiler or another provider of code");
            status = zf_fail_hint(error, ZF_ERR_USAGE, "free that compiler first, or create another context");
        }
    }
    if (status != ZF_OK) {
        release(compiler);
        return status;
    }
    if (compiler->has_shipped) note_unknown(compiler, &compiler->shipped, options->tuned);
    *out = compiler;
    return ZF_OK;
}

void zf_compiler_free(zf_compiler *compiler) {
    if (compiler == NULL) return;
    zf_compiler_log_noted(compiler);
    release(compiler);
}

void zf_compiler_watch(zf_compiler *compiler, void (*watch)(void *user, const char *column, bool begins), void *user) {
    zf_jit_watch(compiler->jit, watch, user);
}

zf_jit *zf_compiler_jit(zf_compiler *compiler) { return compiler->jit; }
zf_context *zf_compiler_context(zf_compiler *compiler) { return compiler->context; }
const zf_plan_request *zf_compiler_request(const zf_compiler *compiler) { return &compiler->request; }

// ---- The log ----------------------------------------------------------------------------------------------------

// Who logs may use the library, and close containers: so lines wait until no lock of ours is held.
void zf_compiler_note(zf_compiler *compiler, zf_log_level level, const char *format, ...) {
    zf_text text = {0};
    zf_noted *noted = calloc(1, sizeof *noted);
    va_list values;
    va_start(values, format);
    zf_text_vprintf(&text, format, values);
    va_end(values);
    if (noted == NULL || text.failed) { // a line less
        zf_text_free(&text);
        free(noted);
        return;
    }
    *noted = (zf_noted){.level = level, .text = text.data};
    pthread_mutex_lock(&compiler->lock);
    zf_noted **last = &compiler->noted;
    while (*last != NULL) last = &(*last)->next;
    *last = noted;
    pthread_mutex_unlock(&compiler->lock);
}

void zf_compiler_log_noted(zf_compiler *compiler) {
    pthread_mutex_lock(&compiler->lock);
    zf_noted *noted = compiler->noted;
    compiler->noted = NULL;
    pthread_mutex_unlock(&compiler->lock);
    while (noted != NULL) {
        zf_noted *next = noted->next;
        zf_context_log(compiler->context, noted->level, "%s", noted->text);
        free(noted->text);
        free(noted);
        noted = next;
    }
}

// ---- Tuned results ----------------------------------------------------------------------------------------------

static zf_kept_tuned *find_kept(const zf_compiler *compiler, const char *device) {
    zf_kept_tuned *kept = compiler->kept;
    while (kept != NULL && strcmp(kept->device, device) != 0) kept = kept->next;
    return kept;
}

/// Reads what is kept of a device, without a lock; of two threads that do so one's stays. NULL: no memory.
static zf_kept_tuned *read_kept(zf_compiler *compiler, const char *device) {
    zf_kept_tuned *made = calloc(1, sizeof *made), *known;
    zf_text message = {0};
    if (made != NULL) made->device = strdup(device);
    if (made == NULL || made->device == NULL) {
        free(made);
        return NULL;
    }
    if (!zf_tuned_kept(compiler->context, device, &made->table, &message))
        zf_compiler_note(compiler, ZF_LOG_WARNING, "%s: kernels are as by default",
                         message.data != NULL ? message.data : "no memory");
    note_unknown(compiler, &made->table, device);
    zf_text_free(&message);
    pthread_mutex_lock(&compiler->lock);
    known = find_kept(compiler, device);
    if (known == NULL) {
        made->next = compiler->kept;
        compiler->kept = known = made;
        made = NULL;
    }
    pthread_mutex_unlock(&compiler->lock);
    if (made != NULL) {
        zf_tuned_free(&made->table);
        free(made->device);
        free(made);
    }
    return known;
}

const zf_tuned_device *zf_compiler_tuned(zf_compiler *compiler, zf_abi_device device) {
    if (compiler->options.untuned || device.target.family == ZF_TARGET_HOST || device.description == NULL) return NULL;
    if (compiler->has_shipped) return zf_tuned_find(&compiler->shipped, device.description);
    pthread_mutex_lock(&compiler->lock);
    const zf_kept_tuned *kept = find_kept(compiler, device.description);
    pthread_mutex_unlock(&compiler->lock);
    if (kept == NULL) kept = read_kept(compiler, device.description);
    return kept != NULL ? zf_tuned_find(&kept->table, device.description) : NULL;
}

const zf_compiler_options *zf_compiler_options_of(const zf_compiler *compiler) { return &compiler->options; }

uint32_t zf_compiler_tuples(const zf_compiler *compiler) {
    return compiler->options.shaping_tuples != 0 ? (uint32_t)compiler->options.shaping_tuples : ZF_TUPLES_DEFAULT;
}

// Static texts, made once.
static char version_text[ZF_CODEGEN_VERSION], targets_text[128];
static pthread_once_t texts_once = PTHREAD_ONCE_INIT;

static void make_texts(void) {
    zf_codegen_llvm_version(version_text);
    size_t count, length = 0;
    const zf_target *const *targets = zf_targets(&count);
    for (size_t k = 0; k < count && length < sizeof(targets_text); k++) {
        length +=
            (size_t)snprintf(targets_text + length, sizeof(targets_text) - length, "%s%s", k > 0 ? " " : "", targets[k]->name);
    }
}

const char *zf_compiler_llvm_version(void) {
    pthread_once(&texts_once, make_texts);
    return version_text;
}

const char *zf_compiler_targets(void) {
    pthread_once(&texts_once, make_texts);
    return targets_text;
}
