// The compiler object, inside: what other files of compiler/ and the tuner use beside compile.h.
#ifndef ZF_COMPILER_COMPILER_H
#define ZF_COMPILER_COMPILER_H

#include <pthread.h>

#include "compiler/decoder/decoder.h"
#include "compiler/encoders/encoder_registry.h"
#include "compiler/provider.h"
#include "compiler/tuned/tuned.h"
#include "runtime/base/private.h"

/// Tuned results of one device, read from the disk cache once.
typedef struct zf_kept_tuned {
    char *device; ///< its description
    zf_tuned table;
    struct zf_kept_tuned *next;
} zf_kept_tuned;

/// A line for the log.
typedef struct zf_noted {
    zf_log_level level;
    char *text;
    struct zf_noted *next;
} zf_noted;

struct zf_compiler {
    zf_context *context;
    zf_compiler_options options;
    char *std_dir; ///< copy of the caller's
    zf_jit *jit;
    pthread_mutex_t lock;    ///< of `kept` and `noted`
    zf_plan_request request; ///< what every plan starts from
    zf_choices choices;      ///< the memory of request.choices
    struct zf_decoder_cache *cache;
    zf_provider *provider;         ///< the context's source of code
    zf_encoder_registry *encoders; ///< outside of the language
    zf_tuned shipped;              ///< zf_compiler_options.tuned, in place of the disk cache
    bool has_shipped;              ///< there is such a file, with kernels or none
    zf_kept_tuned *kept;           ///< of the devices that were met
    zf_noted *noted;               ///< the first line that is to be logged
};

/// Creates a compiler whose plans start from `request`, which zf_compiler_options.choices completes. NULL: the defaults.
/// The target and the states of the request do not matter. Else as zf_compiler_create.
zf_status zf_compiler_create_with(zf_context *context, const zf_compiler_options *options, const zf_plan_request *request,
                                  zf_compiler **out, zf_error *error);
/// Has `watch` called when code of a column begins to be compiled and when that ends (zf_jit_watch). Before anything is compiled.
ZF_PRIVATE_API void zf_compiler_watch(zf_compiler *compiler, void (*watch)(void *user, const char *column, bool begins),
                                      void *user);
/// Returns the request that every plan starts from; it lives as long as the compiler.
ZF_PRIVATE_API const zf_plan_request *zf_compiler_request(const zf_compiler *compiler);

zf_jit *zf_compiler_jit(zf_compiler *compiler);
ZF_PRIVATE_API zf_context *zf_compiler_context(zf_compiler *compiler);
const zf_compiler_options *zf_compiler_options_of(const zf_compiler *compiler);
/// Returns the number of tuples of shaping values of a decoder that get code of their own.
uint32_t zf_compiler_tuples(const zf_compiler *compiler);

/// Returns the tuned results for the model of a device: from the file that the options name, else from the disk cache. NULL:
/// there are none, or the options exclude them. They live as long as the compiler. Any thread.
const struct zf_tuned_device *zf_compiler_tuned(zf_compiler *compiler, zf_abi_device device);

/// Keeps a line for the log. The log callback may use the library, so no lock of the compiler may be held when it runs. Any
/// thread.
void zf_compiler_note(zf_compiler *compiler, zf_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/// Logs the lines kept so far. Call it without locks.
void zf_compiler_log_noted(zf_compiler *compiler);

#endif
