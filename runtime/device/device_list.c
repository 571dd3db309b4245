// The devices of a context. They are looked for kind by kind, in the order of the table and no further than somebody asks, so
// that a program that names the CPU does not wait for a GPU's driver to start.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/sized.h"
#include "runtime/context/context.h"
#include "runtime/device/device.h"
#include "runtime/device/kept_codes.h"
#include "runtime/pipeline/rates.h"

/// A device as it was found, with the memory of its strings.
typedef struct found_device {
    zf_device device;
    zf_device_info info;
    zf_text name, description, reason;
    zf_accelerator *accelerator; ///< NULL until it is used
    bool starting;               ///< by a thread, without the lock
    zf_rates *rates;             ///< NULL until somebody asks
    struct found_device *next;
} found_device;

/// The devices of one kind.
typedef struct found_kind {
    void *shared; ///< what `attach` gave
    found_device *first, **last;
    size_t begin, count; ///< numbers in the list: from `begin` on
} found_kind;

struct zf_device_list {
    pthread_mutex_t lock;   ///< guards everything; never held while a driver works, so that nobody waits for another's GPU
    pthread_cond_t changed; ///< a kind was looked for, or an accelerator started, with success or without
    const zf_device_ops **kinds;
    size_t kind_count, added; ///< kinds; those of them that were added
    size_t looked;            ///< the first `looked` kinds were looked for
    bool looking;             ///< a thread looks for the next one, without the lock
    void **shared;            ///< of each kind: what `attach` gave
    found_device *first, **last;
    size_t count;
};

zf_device_list *zf_device_list_create(void) {
    zf_device_list *list = calloc(1, sizeof *list);
    if (list == NULL) return NULL;
    const zf_device_ops *const *table = zf_device_table(&list->kind_count);
    list->kinds = malloc(list->kind_count * sizeof *list->kinds);
    list->shared = calloc(list->kind_count, sizeof *list->shared);
    if (list->kinds == NULL || list->shared == NULL) {
        free(list->kinds);
        free(list->shared);
        free(list);
        return NULL;
    }
    memcpy(list->kinds, table, list->kind_count * sizeof *list->kinds);
    list->last = &list->first;
    pthread_mutex_init(&list->lock, NULL);
    pthread_cond_init(&list->changed, NULL);
    return list;
}

static void free_devices(found_device *found) {
    for (found_device *next; found != NULL; found = next) {
        next = found->next;
        zf_kept_codes *kept = found->accelerator != NULL ? found->accelerator->kept : NULL;
        if (found->accelerator != NULL) found->device.ops->stop(found->accelerator);
        zf_kept_codes_free(kept);
        zf_rates_free(found->rates);
        zf_text_free(&found->name);
        zf_text_free(&found->description);
        zf_text_free(&found->reason);
        free(found);
    }
}

void zf_device_list_free(zf_device_list *list) {
    if (list == NULL) return;
    free_devices(list->first);
    for (size_t k = 0; k < list->looked; k++) {
        if (list->shared[k] != NULL) list->kinds[k]->detach(list->shared[k]);
    }
    pthread_cond_destroy(&list->changed);
    pthread_mutex_destroy(&list->lock);
    free(list->kinds);
    free(list->shared);
    free(list);
}

static bool find_device(const zf_device_ops *ops, size_t kind, unsigned index, bool numbered, found_kind *out) {
    found_device *found = calloc(1, sizeof *found);
    if (found == NULL) return false;
    *out->last = found;
    out->last = &found->next;
    found->device = (zf_device){ops, index, out->begin + out->count++, kind};
    zf_text_puts(&found->name, ops->name);
    if (numbered) zf_text_printf(&found->name, ":%u", index);
    ops->describe(out->shared, index, &found->info, &found->description, &found->reason);
    found->info.name = found->name.data != NULL ? found->name.data : "";
    found->info.description = found->description.data != NULL ? found->description.data : "";
    found->info.reason = found->reason.data != NULL ? found->reason.data : "";
    return !found->name.failed && !found->description.failed && !found->reason.failed;
}

/// All devices of a kind. False, and nothing: there was no memory.
static bool find_kind(const zf_device_ops *ops, size_t kind, size_t begin, found_kind *out) {
    *out = (found_kind){.begin = begin};
    out->last = &out->first;
    if (ops->attach != NULL) {
        out->shared = ops->attach();
        if (out->shared == NULL) return false;
    }
    unsigned count = ops->count != NULL ? ops->count(out->shared) : 0;
    bool good = count != 0 || find_device(ops, kind, 0, false, out);
    for (unsigned i = 0; good && i < count; i++) good = find_device(ops, kind, i, true, out);
    if (good) return true;
    free_devices(out->first);
    if (out->shared != NULL) ops->detach(out->shared);
    return false;
}

static bool is_of(const char *name, const char *kind) {
    size_t length = strcspn(name, ":");
    return strlen(kind) == length && memcmp(name, kind, length) == 0;
}

/// Whether the kind of that name was looked for, or all were (NULL: whether all were).
static bool has_looked(const zf_device_list *list, const char *name) {
    for (size_t k = 0; name != NULL && k < list->looked; k++) {
        if (is_of(name, list->kinds[k]->name)) return true;
    }
    return list->looked == list->kind_count;
}

/// Looks for devices until the kind of that name was looked for; NULL: for all. Under the lock, which it leaves meanwhile. False:
/// there was no memory for the next kind, which is looked for again when somebody asks again.
static bool look(zf_device_list *list, const char *name, zf_passes *passes) {
    bool good = true;
    while (good && !has_looked(list, name)) {
        if (list->looking) {
            pthread_cond_wait(&list->changed, &list->lock);
            continue;
        }
        size_t kind = list->looked, begin = list->count;
        const zf_device_ops *ops = list->kinds[kind]; // others may be added without the lock
        found_kind found;
        list->looking = true;
        pthread_mutex_unlock(&list->lock);
        unsigned pass = zf_pass_begin(passes, ZF_PASS_START);
        good = find_kind(ops, kind, begin, &found);
        zf_pass_end(passes, pass);
        pthread_mutex_lock(&list->lock);
        list->looking = false;
        if (good) {
            list->shared[kind] = found.shared;
            *list->last = found.first;
            list->last = found.last;
            list->count += found.count;
            list->looked++;
        }
        pthread_cond_broadcast(&list->changed);
    }
    return good;
}

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a list of devices"); }

static found_device *entry_at(const zf_device_list *list, size_t entry) {
    found_device *found = list->first;
    while (found != NULL && found->device.entry != entry) found = found->next;
    return found;
}

/// Room for more kinds, under the lock.
static bool grow(zf_device_list *list, size_t more) {
    const zf_device_ops **kinds = realloc(list->kinds, (list->kind_count + more) * sizeof *kinds);
    if (kinds != NULL) list->kinds = kinds;
    void **shared = realloc(list->shared, (list->kind_count + more) * sizeof *shared);
    if (shared != NULL) list->shared = shared;
    return kinds != NULL && shared != NULL;
}

/// Inserts a kind, for which there is room. Under the lock.
static void insert(zf_device_list *list, const zf_device_ops *ops) {
    // Behind the CPU, so that whoever names it does not wait for a GPU's driver; at the end where that was looked for already.
    size_t at = 1 + list->added;
    if (at < list->looked + list->looking)
        at = list->kind_count;
    else
        list->added++;
    memmove(&list->kinds[at + 1], &list->kinds[at], (list->kind_count - at) * sizeof *list->kinds);
    list->shared[list->kind_count++] = NULL; // no kind behind the new one has been looked for
    list->kinds[at] = ops;
}

zf_status zf_context_add_devices(zf_context *context, const zf_device_ops *const *kinds, size_t count, zf_error *error) {
    zf_device_list *list = zf_context_devices(context);
    const char *known = NULL;
    pthread_mutex_lock(&list->lock);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < list->kind_count; k++) {
            if (strcmp(list->kinds[k]->name, kinds[i]->name) == 0) known = kinds[i]->name;
        }
    }
    bool good = known == NULL && grow(list, count);
    for (size_t i = 0; good && i < count; i++) insert(list, kinds[i]);
    pthread_mutex_unlock(&list->lock);
    if (known != NULL) return zf_raise(error, ZF_E_ARGUMENT, "the context has a device `%s` already", known);
    return good ? ZF_OK : no_memory(error);
}

void zf_context_each_symbol(const zf_context *context, void (*visit)(void *user, const zf_device_symbol *symbol), void *user) {
    zf_device_list *list = zf_context_devices(context);
    pthread_mutex_lock(&list->lock);
    for (size_t k = 0; k < list->kind_count; k++) {
        size_t count = 0;
        const zf_device_symbol *symbols = list->kinds[k]->symbols != NULL ? list->kinds[k]->symbols(&count) : NULL;
        for (size_t s = 0; s < count; s++) visit(user, &symbols[s]);
    }
    pthread_mutex_unlock(&list->lock);
}

size_t zf_device_count(const zf_context *context) {
    if (context == NULL) return 0;
    zf_device_list *list = zf_context_devices(context);
    pthread_mutex_lock(&list->lock);
    look(list, NULL, zf_context_passes(context));
    size_t count = list->count;
    pthread_mutex_unlock(&list->lock);
    return count;
}

zf_status zf_device_get(const zf_context *context, size_t index, zf_device_info *out, zf_error *error) {
    if (context == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_device_get needs a context and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_device_info, out, error));
    zf_device_list *list = zf_context_devices(context);
    pthread_mutex_lock(&list->lock);
    bool good = look(list, NULL, zf_context_passes(context));
    const found_device *found = entry_at(list, index);
    size_t count = list->count;
    if (found != NULL) ZF_GIVE(zf_device_info, out, &found->info);
    pthread_mutex_unlock(&list->lock);
    if (found != NULL) return ZF_OK;
    if (!good) return no_memory(error);
    return zf_raise(error, ZF_E_ARGUMENT, "there is no device %zu: the context has %zu", index, count);
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

/// Finds the entry of a kind without devices. It holds the reason, also for a request for a numbered device of that kind.
static const found_device *none_of_kind(const zf_device_list *list, const char *name) {
    for (const found_device *found = list->first; found != NULL; found = found->next) {
        const zf_device_ops *ops = found->device.ops;
        if (!found->info.present && ops->count != NULL && is_of(name, ops->name) && strcmp(found->info.name, ops->name) == 0)
            return found;
    }
    return NULL;
}

/// Whether a name begins as that of a kind whose devices have numbers, and goes on with what is no number.
static bool is_misnumbered(zf_device_list *list, const char *name) {
    size_t length = strcspn(name, ":");
    if (name[length] == 0) return false;
    const char *number = name + length + 1;
    bool is_number = *number != 0 && number[strspn(number, "0123456789")] == 0;
    bool found = false;
    pthread_mutex_lock(&list->lock);
    for (size_t k = 0; k < list->kind_count && !is_number; k++)
        found = found || (list->kinds[k]->count != NULL && is_of(name, list->kinds[k]->name));
    pthread_mutex_unlock(&list->lock);
    return found;
}

zf_status zf_device_find(const zf_context *context, const char *name, zf_device *out, zf_error *error) {
    *out = (zf_device){0};
    zf_device_list *list = zf_context_devices(context);
    if (is_misnumbered(list, name)) {
        int length = (int)strcspn(name, ":");
        zf_status status =
            zf_raise(error, ZF_E_ARGUMENT, "`%.64s` is not the name of a device: a number follows `%.*s:`, as in `%.*s:0`", name,
                     length, name, length, name);
        return zf_fail_hint(error, status, "`zfc devices` lists them");
    }
    pthread_mutex_lock(&list->lock);
    bool good = look(list, strcmp(name, "auto") == 0 ? NULL : name, zf_context_passes(context));
    const found_device *chosen = choose(list, name); // what is found stays until the context is freed
    if (chosen == NULL) chosen = none_of_kind(list, name);
    pthread_mutex_unlock(&list->lock);
    if (!good) return no_memory(error);
    if (chosen == NULL) {
        zf_status status = zf_raise(error, ZF_E_UNKNOWN_DEVICE, "no device is called \"%.64s\"", name);
        return zf_fail_hint(error, status,
                            "`auto` takes the best one; `zfc devices` lists them, in C zf_device_get; "
                            "zf_emulator_register adds `emu`");
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
    void *shared = list->shared[device->kind];
    while (found->starting) pthread_cond_wait(&list->changed, &list->lock);
    if (found->accelerator == NULL) {
        zf_accelerator *started = NULL;
        found->starting = true;
        pthread_mutex_unlock(&list->lock);
        unsigned pass = zf_pass_begin(zf_context_passes(context), ZF_PASS_START);
        status = device->ops->start(context, shared, device->index, &started, error);
        zf_pass_end(zf_context_passes(context), pass);
        if (started != NULL) {
            started->description = found->info.description; // lives as long as the list
            started->kept = zf_kept_codes_create();
        }
        pthread_mutex_lock(&list->lock);
        found->accelerator = started;
        found->starting = false;
        pthread_cond_broadcast(&list->changed);
    }
    *out = found->accelerator;
    pthread_mutex_unlock(&list->lock);
    return status;
}

void zf_context_drop_code(const zf_context *context, const zf_abi_code *code) {
    zf_device_list *list = zf_context_devices(context);
    pthread_mutex_lock(&list->lock);
    for (found_device *one = list->first; one != NULL; one = one->next) { // entries live as long as the list
        zf_accelerator *accelerator = one->accelerator;
        if (accelerator == NULL) continue;
        pthread_mutex_unlock(&list->lock);
        zf_accelerator_drop(accelerator, code);
        pthread_mutex_lock(&list->lock);
    }
    pthread_mutex_unlock(&list->lock);
}

/// Without the lock, since a file is read. Where the host decodes, its rates are those of so many threads.
static zf_rates *make_rates(zf_context *context, const found_device *found) {
    zf_text description = {0};
    zf_text_puts(&description, found->info.description);
    if (found->device.ops->start == NULL || found->info.emulated)
        zf_text_printf(&description, ", %u threads", zf_context_threads(context, 0));
    zf_rates *rates = description.failed ? NULL : zf_rates_create(context, found->info.name, description.data);
    zf_text_free(&description);
    return rates;
}

zf_rates *zf_device_rates(zf_context *context, const zf_device *device) {
    zf_device_list *list = zf_context_devices(context);
    pthread_mutex_lock(&list->lock);
    found_device *found = entry_at(list, device->entry);
    zf_rates *rates = found->rates;
    pthread_mutex_unlock(&list->lock);
    if (rates != NULL) return rates;
    zf_rates *made = make_rates(context, found);
    pthread_mutex_lock(&list->lock);
    if (found->rates == NULL) {
        found->rates = made;
        made = NULL;
    }
    rates = found->rates;
    pthread_mutex_unlock(&list->lock);
    zf_rates_free(made); // another thread was first
    return rates;
}
