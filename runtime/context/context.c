// The context: options as resolved, the log, and its providers of code. Its devices: device_list.c.
#include "runtime/context/context.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cache_limit.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/base/sized.h"
#include "runtime/base/text.h"
#include "runtime/device/device.h"
#include "zipflow/pipeline.h"

#define ZF_STRUCT ZF_CHECK_SIZE
#include "runtime/base/struct_sizes.def"

struct zf_context {
    zf_log_fn log;
    void *log_user;
    char *cache_dir;
    uint64_t cache_bytes;
    unsigned threads;
    zf_passes *passes; ///< where time is noted; NULL: nowhere
    zf_device_list *devices;
    pthread_mutex_t log_lock;    ///< one call of the log at a time; recursive, since the callback may come back here
    bool is_logging;             ///< under log_lock: the thread that holds it is within the callback
    _Atomic uint64_t containers; ///< that were made
    pthread_rwlock_t providers;  ///< guards what follows
    zf_abi_provider provider;
    bool has_provider;
    zf_abi_provider *added; ///< asked before `provider`, in order
    size_t added_count;
};

/// Copies a directory's name with an optional part behind it. NULL when there is no memory.
static char *join(const char *directory, const char *rest) {
    size_t length = strlen(directory) + strlen(rest) + 1;
    char *text = malloc(length);
    if (text != NULL) snprintf(text, length, "%s%s", directory, rest);
    return text;
}

/// Makes a caller's directory absolute, so that the cache stays where it is when the process changes its directory.
static zf_status make_absolute(const char *wanted, char **out, zf_error *error) {
    *out = NULL;
    if (wanted[0] == '/' || wanted[0] == 0) {
        *out = join(wanted, "");
        return ZF_OK;
    }
    char *here = getcwd(NULL, 0);
    if (here == NULL) {
        zf_status status =
            zf_raise(error, ZF_E_ARGUMENT, "cache_dir `%.200s` is relative, and there is no current directory", wanted);
        zf_fail_place(error, status, "zf_context_options.cache_dir");
        return zf_fail_hint(error, status, "give an absolute path, or \"\" for no cache");
    }
    char *base = join(here, "/");
    if (base != NULL) *out = join(base, wanted);
    free(base);
    free(here);
    return ZF_OK;
}

/// $ZIPFLOW_CACHE_DIR (empty: none), else $XDG_CACHE_HOME/zipflow, else $HOME/.cache/zipflow, else none. Relative ones are
/// ignored, as the XDG specification says. Code of the cache is run: a program with more rights than who starts it asks no
/// variable.
static char *default_cache_dir(void) {
    const char *own = secure_getenv("ZIPFLOW_CACHE_DIR");
    if (own != NULL && (own[0] == '/' || own[0] == 0)) return join(own, "");
    const char *xdg = secure_getenv("XDG_CACHE_HOME");
    if (xdg != NULL && xdg[0] == '/') return join(xdg, "/zipflow");
    const char *home = secure_getenv("HOME");
    if (home != NULL && home[0] == '/') return join(home, "/.cache/zipflow");
    return join("", "");
}

/// $ZIPFLOW_CACHE_SIZE, else the default.
static zf_status read_cache_size(uint64_t *out, zf_error *error) {
    const char *text = secure_getenv("ZIPFLOW_CACHE_SIZE");
    *out = ZF_CACHE_BYTES;
    if (text == NULL || text[0] == 0 || zf_cache_size_read(text, out)) return ZF_OK;
    zf_status status = zf_raise(error, ZF_E_ARGUMENT, "ZIPFLOW_CACHE_SIZE is `%.64s`, which is not a size", text);
    return zf_fail_hint(error, status,
                        "give bytes, at least 1, or a number with K, M or G (powers of 1024), such as 512M; an empty "
                        "ZIPFLOW_CACHE_DIR turns the cache off");
}

zf_status zf_context_create(const zf_context_options *options, zf_context **out, zf_error *error) {
    if (out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_context_create needs a place for the context");
    *out = NULL;
    zf_context_options own;
    ZF_TRY(ZF_TAKE(zf_context_options, &own, options, error));
    options = &own;
    uint64_t cache_bytes;
    ZF_TRY(read_cache_size(&cache_bytes, error));
    zf_context *context = calloc(1, sizeof *context);
    if (context == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a context");
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&context->log_lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_rwlock_init(&context->providers, NULL);
    context->cache_bytes = cache_bytes;
    context->log = options->log;
    context->log_user = options->log_user;
    context->threads = options->threads != 0 ? options->threads : zf_usable_cores();
    if (context->threads == 0) context->threads = 1;
    if (context->threads > ZF_THREADS_MOST) context->threads = ZF_THREADS_MOST;
    zf_status status = ZF_OK;
    if (options->cache_dir != NULL)
        status = make_absolute(options->cache_dir, &context->cache_dir, error);
    else
        context->cache_dir = default_cache_dir();
    context->devices = zf_device_list_create();
    if (status != ZF_OK) {
        zf_context_free(context);
        return status;
    }
    if (context->cache_dir == NULL || context->devices == NULL) {
        zf_context_free(context);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a context");
    }
    *out = context;
    return ZF_OK;
}

void zf_context_free(zf_context *context) {
    if (context == NULL) return;
    zf_device_list_free(context->devices);
    free(context->cache_dir);
    free(context->added);
    pthread_mutex_destroy(&context->log_lock);
    pthread_rwlock_destroy(&context->providers);
    free(context);
}

zf_device_list *zf_context_devices(const zf_context *context) { return context->devices; }

uint64_t zf_context_container_serial(zf_context *context) { return atomic_fetch_add(&context->containers, 1); }

void zf_context_set_passes(zf_context *context, zf_passes *passes) { context->passes = passes; }

zf_passes *zf_context_passes(const zf_context *context) { return context->passes; }

const char *zf_context_cache_dir(const zf_context *context) { return context->cache_dir; }

uint64_t zf_context_cache_bytes(const zf_context *context) { return context->cache_bytes; }

unsigned zf_context_threads(const zf_context *context, unsigned wanted) {
    if (wanted == 0) return context->threads;
    return wanted < ZF_THREADS_MOST ? wanted : ZF_THREADS_MOST;
}

void zf_context_log(zf_context *context, zf_log_level level, const char *format, ...) {
    if (context->log == NULL) return;
    zf_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    zf_text_vprintf(&text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&context->log_lock);
    // A line about what the callback itself does would call it without end.
    if (text.data != NULL && !context->is_logging) {
        context->is_logging = true;
        context->log(context->log_user, level, text.data);
        context->is_logging = false;
    }
    pthread_mutex_unlock(&context->log_lock);
    zf_text_free(&text);
}

// ---- Providers of code ----------------------------------------------------------------------------------------

zf_status zf_context_set_provider(zf_context *context, const zf_abi_provider *provider, zf_error *error) {
    if (context == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_context_set_provider needs a context");
    if (provider != NULL && (provider->plan == NULL || provider->code == NULL)) {
        return zf_raise(error, ZF_E_ARGUMENT, "a provider needs the functions `plan` and `code`");
    }
    pthread_rwlock_wrlock(&context->providers);
    context->has_provider = provider != NULL;
    context->provider = provider != NULL ? *provider : (zf_abi_provider){0};
    pthread_rwlock_unlock(&context->providers);
    return ZF_OK;
}

bool zf_context_claim_provider(zf_context *context, const zf_abi_provider *provider) {
    pthread_rwlock_wrlock(&context->providers);
    bool is_free = !context->has_provider;
    if (is_free) {
        context->has_provider = true;
        context->provider = *provider;
    }
    pthread_rwlock_unlock(&context->providers);
    return is_free;
}

bool zf_context_provider(zf_context *context, zf_abi_provider *out) {
    pthread_rwlock_rdlock(&context->providers);
    bool has = context->has_provider;
    *out = context->provider;
    pthread_rwlock_unlock(&context->providers);
    return has;
}

zf_status zf_context_add_provider(zf_context *context, const zf_abi_provider *provider, zf_error *error) {
    zf_status status = ZF_OK;
    pthread_rwlock_wrlock(&context->providers);
    zf_abi_provider *more = realloc(context->added, (context->added_count + 1) * sizeof *more);
    if (more != NULL) {
        context->added = more;
        more[context->added_count++] = *provider;
    } else {
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a code provider");
    }
    pthread_rwlock_unlock(&context->providers);
    return status;
}

void zf_context_remove_provider(zf_context *context, const void *self) {
    pthread_rwlock_wrlock(&context->providers);
    size_t kept = 0;
    for (size_t i = 0; i < context->added_count; i++) {
        if (context->added[i].self != self) context->added[kept++] = context->added[i];
    }
    context->added_count = kept;
    pthread_rwlock_unlock(&context->providers);
}

/// The provider that is asked as number `index`. False when there are no more. With the lock held.
static bool provider_locked(const zf_context *context, size_t index, zf_abi_provider *out) {
    bool there = index < context->added_count || (index == context->added_count && context->has_provider);
    if (there) *out = index < context->added_count ? context->added[index] : context->provider;
    return there;
}

static bool provider_at(zf_context *context, size_t index, zf_abi_provider *out) {
    pthread_rwlock_rdlock(&context->providers);
    bool there = provider_locked(context, index, out);
    pthread_rwlock_unlock(&context->providers);
    return there;
}

zf_status zf_context_plan(zf_context *context, zf_container *container, size_t column, const uint8_t *branches,
                          size_t branch_count, zf_abi_device device, zf_abi_provider *provider, const zf_abi_plan **plan,
                          zf_error *error) {
    zf_error closest = {0}, answer = {0};
    for (size_t index = 0; provider_at(context, index, provider); index++) {
        zf_status status = provider->plan(provider->self, container, column, branches, branch_count, device, plan, &answer);
        if (status == ZF_OK && *plan == NULL) return zf_raise(error, ZF_E_INTERNAL, "the code provider returned no plan");
        if (status == ZF_OK) return ZF_OK;
        // One that knows the column but not this device or these branches says more than one that does not know it.
        if (status != ZF_ERR_UNSUPPORTED || closest.status == ZF_OK || zf_error_is(&closest, ZF_E_NOT_IN_MODULE))
            closest = answer;
        if (status != ZF_ERR_UNSUPPORTED) break;
    }
    *plan = NULL;
    if (closest.status == ZF_OK) {
        zf_raise(&closest, ZF_E_NO_CODE, "no module and no compiler has code for the decode");
        zf_fail_hint(&closest, ZF_ERR_UNSUPPORTED, "load a module (zf_module_load) or make a compiler (zf_compiler_create)");
    }
    if (error != NULL) *error = closest;
    return closest.status;
}

void zf_context_forget(zf_context *context, zf_container *container) {
    pthread_rwlock_rdlock(&context->providers); // a removal would shift the list, and free a provider that is being called
    for (size_t index = 0; index < context->added_count; index++) {
        const zf_abi_provider *added = &context->added[index];
        if (added->forget != NULL) added->forget(added->self, container);
    }
    zf_abi_provider provider = context->provider;
    pthread_rwlock_unlock(&context->providers);
    // Without the lock: the compiler, which outlives its containers, may wait for a device that unloads code.
    if (provider.forget != NULL) provider.forget(provider.self, container);
}
