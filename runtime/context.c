// The context: options as resolved, the devices as found, the log, and where code comes from.
#include "runtime/context.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/pool.h"
#include "runtime/base/text.h"
#include "runtime/device.h"
#include "runtime/error_codes.h"

/// A device as it was found, with the memory of its strings.
typedef struct found_device {
    zf_device device;
    zf_device_info info;
    zf_text name, description, reason;
    zf_accelerator *accelerator; ///< NULL until it is used; guarded by the context's `starting`
} found_device;

struct zf_context {
    zf_log_fn log;
    void *log_user;
    char *cache_dir;
    unsigned threads;
    found_device *devices;
    size_t device_count;
    pthread_mutex_t log_lock; ///< one call of the log at a time
    pthread_mutex_t lock;     ///< guards the provider
    pthread_mutex_t starting; ///< one accelerator at a time
    zf_abi_provider provider;
    bool has_provider;
};

/// Copies a directory's name with an optional part behind it. NULL when there is no memory.
static char *join(const char *directory, const char *rest) {
    size_t length = strlen(directory) + strlen(rest) + 1;
    char *text = malloc(length);
    if (text != NULL) snprintf(text, length, "%s%s", directory, rest);
    return text;
}

/// $ZIPFLOW_CACHE_DIR, else $XDG_CACHE_HOME/zipflow, else $HOME/.cache/zipflow, else none. A relative XDG or HOME is
/// ignored, as the XDG specification says.
static char *resolve_cache_dir(const char *wanted) {
    if (wanted != NULL) return join(wanted, "");
    const char *own = getenv("ZIPFLOW_CACHE_DIR");
    if (own != NULL) return join(own, "");
    const char *xdg = getenv("XDG_CACHE_HOME");
    if (xdg != NULL && xdg[0] == '/') return join(xdg, "/zipflow");
    const char *home = getenv("HOME");
    if (home != NULL && home[0] == '/') return join(home, "/.cache/zipflow");
    return join("", "");
}

static bool find_device(zf_context *context, const zf_device_ops *ops, unsigned index, bool numbered) {
    found_device *found = &context->devices[context->device_count];
    found->device = (zf_device){ops, index, context->device_count};
    context->device_count++;
    zf_text_puts(&found->name, ops->name);
    if (numbered) zf_text_printf(&found->name, ":%u", index);
    ops->describe(index, &found->info, &found->description, &found->reason);
    if (found->name.failed || found->description.failed || found->reason.failed) return false;
    found->info.name = found->name.data;
    found->info.description = found->description.data != NULL ? found->description.data : "";
    found->info.reason = found->reason.data != NULL ? found->reason.data : "";
    return true;
}

static bool find_devices(zf_context *context) {
    size_t kinds, most = 0;
    const zf_device_ops *const *table = zf_device_table(&kinds);
    unsigned *counts = calloc(kinds, sizeof *counts);
    if (counts == NULL) return false;
    for (size_t k = 0; k < kinds; k++) {
        counts[k] = table[k]->count != NULL ? table[k]->count() : 1;
        most += counts[k] != 0 ? counts[k] : 1;
    }
    context->devices = calloc(most, sizeof *context->devices);
    bool good = context->devices != NULL;
    for (size_t k = 0; good && k < kinds; k++) {
        if (counts[k] == 0) good = find_device(context, table[k], 0, false);
        for (unsigned i = 0; good && i < counts[k]; i++) good = find_device(context, table[k], i, table[k]->count != NULL);
    }
    free(counts);
    return good;
}

zf_status zf_context_create(const zf_context_options *options, zf_context **out, zf_error *error) {
    if (out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_context_create needs a place for the context");
    *out = NULL;
    zf_context_options defaults = {0};
    if (options == NULL) options = &defaults;
    zf_context *context = calloc(1, sizeof *context);
    if (context == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a context");
    pthread_mutex_init(&context->log_lock, NULL);
    pthread_mutex_init(&context->lock, NULL);
    pthread_mutex_init(&context->starting, NULL);
    context->log = options->log;
    context->log_user = options->log_user;
    context->threads = options->threads != 0 ? options->threads : zf_usable_cores();
    if (context->threads == 0) context->threads = 1;
    if (context->threads > ZF_THREADS_MOST) context->threads = ZF_THREADS_MOST;
    context->cache_dir = resolve_cache_dir(options->cache_dir);
    if (context->cache_dir == NULL || !find_devices(context)) {
        zf_context_free(context);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a context");
    }
    *out = context;
    return ZF_OK;
}

void zf_context_free(zf_context *context) {
    if (context == NULL) return;
    for (size_t i = 0; i < context->device_count; i++) {
        if (context->devices[i].accelerator != NULL) context->devices[i].device.ops->stop(context->devices[i].accelerator);
        zf_text_free(&context->devices[i].name);
        zf_text_free(&context->devices[i].description);
        zf_text_free(&context->devices[i].reason);
    }
    free(context->devices);
    free(context->cache_dir);
    pthread_mutex_destroy(&context->log_lock);
    pthread_mutex_destroy(&context->lock);
    pthread_mutex_destroy(&context->starting);
    free(context);
}

const char *zf_context_cache_dir(const zf_context *context) { return context->cache_dir; }

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
    if (text.data != NULL) context->log(context->log_user, level, text.data);
    pthread_mutex_unlock(&context->log_lock);
    zf_text_free(&text);
}

zf_status zf_context_set_provider(zf_context *context, const zf_abi_provider *provider, zf_error *error) {
    if (context == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_context_set_provider needs a context");
    if (provider != NULL && (provider->plan == NULL || provider->code == NULL)) {
        return zf_raise(error, ZF_E_ARGUMENT, "a provider needs the functions `plan` and `code`");
    }
    pthread_mutex_lock(&context->lock);
    context->has_provider = provider != NULL;
    context->provider = provider != NULL ? *provider : (zf_abi_provider){0};
    pthread_mutex_unlock(&context->lock);
    return ZF_OK;
}

bool zf_context_provider(zf_context *context, zf_abi_provider *out) {
    pthread_mutex_lock(&context->lock);
    bool has = context->has_provider;
    *out = context->provider;
    pthread_mutex_unlock(&context->lock);
    return has;
}

size_t zf_device_count(const zf_context *context) { return context != NULL ? context->device_count : 0; }

zf_status zf_device_get(const zf_context *context, size_t index, zf_device_info *out, zf_error *error) {
    if (context == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_device_get needs a context and a place");
    if (index >= context->device_count) {
        return zf_raise(error, ZF_E_ARGUMENT, "there is no device %zu: the context has %zu", index, context->device_count);
    }
    *out = context->devices[index].info;
    return ZF_OK;
}

zf_status zf_device_find(const zf_context *context, const char *name, zf_device *out, zf_error *error) {
    *out = (zf_device){0};
    bool any = strcmp(name, "auto") == 0;
    const found_device *chosen = NULL;
    for (size_t i = 0; i < context->device_count; i++) {
        const found_device *found = &context->devices[i];
        if (any) { // of the best kind the first
            bool better = chosen == NULL || chosen->device.ops != found->device.ops;
            if (found->info.present && !found->info.emulated && better) chosen = found;
        } else if (strcmp(found->info.name, name) == 0 || (strcmp(found->device.ops->name, name) == 0 && chosen == NULL)) {
            chosen = found;
        }
    }
    if (chosen == NULL) {
        zf_status status = zf_raise(error, ZF_E_UNKNOWN_DEVICE, "no device is called \"%.64s\"", name);
        return zf_fail_hint(error, status, "`auto` takes the best one; `zfc devices` lists them");
    }
    if (!chosen->info.present) {
        return zf_raise(error, ZF_E_DEVICE_ABSENT, "device `%s` is not present: %s", chosen->info.name, chosen->info.reason);
    }
    *out = chosen->device;
    return ZF_OK;
}

zf_status zf_device_accelerator(zf_context *context, const zf_device *device, zf_accelerator **out, zf_error *error) {
    found_device *found = &context->devices[device->entry];
    zf_status status = ZF_OK;
    pthread_mutex_lock(&context->starting);
    if (found->accelerator == NULL) status = device->ops->start(context, device->index, &found->accelerator, error);
    *out = found->accelerator;
    pthread_mutex_unlock(&context->starting);
    return status;
}
