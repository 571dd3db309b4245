#include "runtime/device/kept_codes.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct kept_code {
    const zf_abi_code *code; ///< only compared: it may be freed
    zf_accelerator_code *loaded;
} kept_code;

struct zf_kept_codes {
    pthread_mutex_t lock;
    kept_code *codes;
    size_t count, room;
};

zf_kept_codes *zf_kept_codes_create(void) {
    zf_kept_codes *kept = calloc(1, sizeof *kept);
    if (kept != NULL) pthread_mutex_init(&kept->lock, NULL);
    return kept;
}

void zf_kept_codes_free(zf_kept_codes *kept) {
    if (kept == NULL) return;
    pthread_mutex_destroy(&kept->lock);
    free(kept->codes);
    free(kept);
}

/// Adds a reference; false if there is one for the same code already, or no memory. With the lock held.
static bool add(zf_kept_codes *kept, const zf_abi_code *code, zf_accelerator_code *loaded) {
    for (size_t k = 0; k < kept->count; k++) {
        if (kept->codes[k].code == code && kept->codes[k].loaded == loaded) return false;
    }
    if (kept->count == kept->room) {
        size_t room = kept->room == 0 ? 64 : 2 * kept->room;
        kept_code *grown = realloc(kept->codes, room * sizeof *grown);
        if (grown == NULL) return false;
        kept->codes = grown;
        kept->room = room;
    }
    kept->codes[kept->count++] = (kept_code){code, loaded};
    return true;
}

void zf_accelerator_keep(zf_accelerator *accelerator, const zf_abi_code *code, zf_accelerator_code *loaded) {
    zf_kept_codes *kept = accelerator->kept;
    bool added = false;
    if (loaded == NULL || accelerator->ops->unload == NULL) return;
    if (kept != NULL) {
        pthread_mutex_lock(&kept->lock);
        added = add(kept, code, loaded);
        pthread_mutex_unlock(&kept->lock);
    }
    if (!added) accelerator->ops->unload(accelerator, loaded); // one is kept, or none can be: no launch uses it
}

void zf_accelerator_drop(zf_accelerator *accelerator, const zf_abi_code *code) {
    zf_kept_codes *kept = accelerator->kept;
    zf_accelerator_code *loaded;
    if (kept == NULL) return;
    do {
        loaded = NULL;
        pthread_mutex_lock(&kept->lock);
        for (size_t k = 0; k < kept->count && loaded == NULL; k++) {
            if (kept->codes[k].code != code) continue;
            loaded = kept->codes[k].loaded;
            kept->codes[k] = kept->codes[--kept->count];
        }
        pthread_mutex_unlock(&kept->lock);
        if (loaded != NULL) accelerator->ops->unload(accelerator, loaded); // without the lock: the driver may wait
    } while (loaded != NULL);
}
