// The devices of a context. They are looked for kind by kind, in the order of the table and no further than somebody asks, so
// that a program that names the CPU does not wait for a GPU's driver to start.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/error_codes.h"

/// A device as it was found, with the memory of its strings.
typedef struct found_device {
    zf_device device;
    zf_device_info info;
    zf_text name, description, reason;
    zf_accelerator *accelerator; ///< NULL until it is used
    struct found_device *next;
} found_device;

struct zf_device_list {
    pthread_mutex_t lock; ///< guards everything; also held while an accelerator starts
    const zf_device_ops *const *kinds;
    size_t kind_count, looked; ///< the first `looked` kinds were looked for
    void **shared;             ///< of each kind: what `attach` gave
    found_device *first, **last;
    size_t count;
    bool failed; ///< there was no memory
};

zf_device_list *zf_device_list_create(void) {
    zf_device_list *list = calloc(1, sizeof *list);
    if (list == NULL) return NULL;
    list->kinds = zf_device_table(&list->kind_count);
    list->shared = calloc(list->kind_count, sizeof *list->shared);
    if (list->shared == NULL) {
        free(list);
        return NULL;
    }
    list->last = &list->first;
    pthread_mutex_init(&list->lock, NULL);
    return list;
}

void zf_device_list_free(zf_device_list *list) {
    if (list == NULL) return;
    for (found_device *found = list->first, *next; found != NULL; found = next) {
        next = found->next;
        if (found->accelerator != NULL) found->device.ops->stop(found->accelerator);
        zf_text_free(&found->name);
        zf_text_free(&found->description);
        zf_text_free(&found->reason);
        free(found);
    }
    for (size_t k = 0; k < list->looked; k++) {
        if (list->shared[k] != NULL) list->kinds[k]->detach(list->shared[k]);
    }
    pthread_mutex_destroy(&list->lock);
    free(list->shared);
    free(list);
}

static bool find_device(zf_device_list *list, size_t kind, unsigned index, bool numbered) {
    const zf_device_ops *ops = list->kinds[kind];
    found_device *found = calloc(1, sizeof *found);
    if (found == NULL) return false;
    *list->last = found;
    list->last = &found->next;
    found->device = (zf_device){ops, index, list->count++, kind};
    zf_text_puts(&found->name, ops->name);
    if (numbered) zf_text_printf(&found->name, ":%u", index);
    ops->describe(list->shared[kind], index, &found->info, &found->description, &found->reason);
    found->info.name = found->name.data != NULL ? found->name.data : "";
    found->info.description = found->description.data != NULL ? found->description.data : "";
    found->info.reason = found->reason.data != NULL ? found->reason.data : "";
    return !found->name.failed && !found->description.failed && !found->reason.failed;
}

static bool find_kind(zf_device_list *list, size_t kind) {
    const zf_device_ops *ops = list->kinds[kind];
    if (ops->attach != NULL) {
        list->shared[kind] = ops->attach();
        if (list->shared[kind] == NULL) return false;
    }
    if (ops->count == NULL) return find_device(list, kind, 0, false);
    unsigned count = ops->count(list->shared[kind]);
    bool good = count != 0 || find_device(list, kind, 0, false);
    for (unsigned i = 0; good && i < count; i++) good = find_device(list, kind, i, true);
    return good;
}

static bool is_of(const char *name, const char *kind) {
    size_t length = strcspn(name, ":");
    return strlen(kind) == length && memcmp(name, kind, length) == 0;
}

/// Looks for devices until the kind of that name was looked for; NULL: for all. Under the lock.
static void look(zf_device_list *list, const char *name) {
    for (size_t k = 0; name != NULL && k < list->looked; k++) {
        if (is_of(name, list->kinds[k]->name)) return;
    }
    while (list->looked < list->kind_count) {
        size_t kind = list->looked++;
        if (!find_kind(list, kind)) list->failed = true;
        if (name != NULL && is_of(name, list->kinds[kind]->name)) return;
    }
}

static found_device *entry_at(const zf_device_list *list, size_t entry) {
    found_device *found = list->first;
    while (found != NULL && found->device.entry != entry) found = found->next;
    return found;
}

size_t zf_device_count(const zf_context *context) {
    if (context == NULL) return 0;
    zf_device_list *list = zf_context_devices(context);
    pthread_mutex_lock(&list->lock);
    look(list, NULL);
    size_t count = list->count;
    pthread_mutex_unlock(&list->lock);
    return count;
}

zf_status zf_device_get(const zf_context *context, size_t index, zf_device_info *out, zf_error *error) {
    if (context == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_device_get needs a context and a place");
    size_t count = zf_device_count(context);
    if (index >= count) return zf_raise(error, ZF_E_ARGUMENT, "there is no device %zu: the context has %zu", index, count);
    zf_device_list *list = zf_context_devices(context);
    pthread_mutex_lock(&list->lock);
    *out = entry_at(list, index)->info;
    bool failed = list->failed;
    pthread_mutex_unlock(&list->lock);
    return failed ? zf_raise(error, ZF_E_NO_MEMORY, "no memory for a list of devices") : ZF_OK;
}

/// The device of that name; for "auto" the first that is present of the last kind that has one, emulators left out.
static const found_device *choose(const zf_device_list *list, const char *name) {
    bool any = strcmp(name, "auto") == 0;
    const found_device *chosen = NULL;
    for (const found_device *found = list->first; found != NULL; found = found->next) {
        if (any) {
            bool better = chosen == NULL || chosen->device.ops != found->device.ops;
            if (found->info.present && !found->info.emulated && better) chosen = found;
        } else if (strcmp(found->info.name, name) == 0 || (strcmp(found->device.ops->name, name) == 0 && chosen == NULL)) {
            chosen = found;
        }
    }
    return chosen;
}

/// What stands for a kind of which no device is there: it knows why, also when one of a number is asked for.
static const found_device *none_of_kind(const zf_device_list *list, const char *name) {
    for (const found_device *found = list->first; found != NULL; found = found->next) {
        const zf_device_ops *ops = found->device.ops;
        if (!found->info.present && ops->count != NULL && is_of(name, ops->name) && strcmp(found->info.name, ops->name) == 0)
            return found;
    }
    return NULL;
}

zf_status zf_device_find(const zf_context *context, const char *name, zf_device *out, zf_error *error) {
    *out = (zf_device){0};
    zf_device_list *list = zf_context_devices(context);
    pthread_mutex_lock(&list->lock);
    look(list, strcmp(name, "auto") == 0 ? NULL : name);
    const found_device *chosen = choose(list, name); // what is found stays until the context is freed
    if (chosen == NULL) chosen = none_of_kind(list, name);
    bool failed = list->failed;
    pthread_mutex_unlock(&list->lock);
    if (failed) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a list of devices");
    if (chosen == NULL) {
        zf_status status = zf_raise(error, ZF_E_UNKNOWN_DEVICE, "no device is called \"%.64s\"", name);
        return zf_fail_hint(error, status, "`auto` takes the best one; `zfc devices` lists them");
    }
    if (!chosen->info.present) {
        return zf_raise(error, ZF_E_DEVICE_ABSENT, "device `%.64s` is not present: %s", name, chosen->info.reason);
    }
    *out = chosen->device;
    return ZF_OK;
}

zf_status zf_device_accelerator(zf_context *context, const zf_device *device, zf_accelerator **out, zf_error *error) {
    zf_device_list *list = zf_context_devices(context);
    zf_status status = ZF_OK;
    pthread_mutex_lock(&list->lock);
    found_device *found = entry_at(list, device->entry);
    if (found->accelerator == NULL)
        status = device->ops->start(context, list->shared[device->kind], device->index, &found->accelerator, error);
    *out = found->accelerator;
    pthread_mutex_unlock(&list->lock);
    return status;
}
