#include "compiler/encoders/encoder_registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile_sized.h"
#include "compiler/compiler.h"
#include "compiler/encoders/library_encoders.h"
#include "runtime/base/error_codes.h"

enum { NAME_BYTES = 255 };

typedef struct registered {
    zf_extern_encoder encoder;
    struct registered *next;
    char name[NAME_BYTES + 1];
} registered;

struct zf_encoder_registry {
    pthread_mutex_t lock; ///< of `first`
    registered *first;    ///< the user's, in the order of their registration
    zf_library_set *libraries;
    zf_extern_encoder own[ZF_LIBRARY_ENCODERS]; ///< of libraries
};

zf_encoder_registry *zf_encoder_registry_create(void) {
    zf_encoder_registry *registry = calloc(1, sizeof *registry);
    if (registry == NULL) return NULL;
    registry->libraries = zf_library_set_create();
    if (registry->libraries == NULL || pthread_mutex_init(&registry->lock, NULL) != 0) {
        zf_library_set_free(registry->libraries);
        free(registry);
        return NULL;
    }
    zf_library_encoders(registry->libraries, registry->own);
    return registry;
}

void zf_encoder_registry_free(zf_encoder_registry *registry) {
    if (registry == NULL) return;
    for (registered *r = registry->first, *next; r != NULL; r = next) {
        next = r->next;
        if (r->encoder.free_user != NULL) r->encoder.free_user(r->encoder.user);
        free(r);
    }
    zf_library_set_free(registry->libraries);
    pthread_mutex_destroy(&registry->lock);
    free(registry);
}

/// The place of the encoder of a name, or the end of the list. Under the lock.
static registered **place_of(zf_encoder_registry *registry, const char *name) {
    registered **at = &registry->first;
    while (*at != NULL && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    return at;
}

zf_status zf_encoder_registry_add(zf_encoder_registry *registry, const zf_extern_encoder *encoder, zf_error *error) {
    if (encoder->name == NULL || encoder->bound == NULL || encoder->encode == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "an encoder needs a name, `bound` and `encode`");
    size_t length = strnlen(encoder->name, NAME_BYTES + 1);
    if (length == 0 || length > NAME_BYTES)
        return zf_raise(error, ZF_E_ARGUMENT, "the name of an encoder has 1 to %d bytes", NAME_BYTES);
    registered *made = calloc(1, sizeof *made);
    if (made == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for an encoder");
    made->encoder = *encoder;
    memcpy(made->name, encoder->name, length);
    made->encoder.name = made->name;
    pthread_mutex_lock(&registry->lock);
    registered **at = place_of(registry, made->name);
    bool known = *at != NULL;
    if (!known) *at = made;
    pthread_mutex_unlock(&registry->lock);
    if (!known) return ZF_OK;
    zf_status status = zf_raise(error, ZF_E_ARGUMENT, "an encoder `%s` is already registered", made->name);
    free(made);
    return status;
}

const zf_extern_encoder *zf_encoder_registry_find(zf_encoder_registry *registry, const char *name) {
    pthread_mutex_lock(&registry->lock);
    const registered *found = *place_of(registry, name);
    pthread_mutex_unlock(&registry->lock);
    if (found != NULL) return &found->encoder;
    for (size_t k = 0; k < ZF_LIBRARY_ENCODERS; k++)
        if (strcmp(registry->own[k].name, name) == 0) return &registry->own[k];
    return NULL;
}

void zf_encoder_registry_names(zf_encoder_registry *registry, zf_text *out) {
    const char *between = "";
    for (size_t k = 0; k < ZF_LIBRARY_ENCODERS; k++, between = ", ")
        zf_text_printf(out, "%s`%s`", between, registry->own[k].name);
    pthread_mutex_lock(&registry->lock);
    for (const registered *r = registry->first; r != NULL; r = r->next) zf_text_printf(out, "%s`%s`", between, r->name);
    pthread_mutex_unlock(&registry->lock);
}

zf_status zf_encoder_register(zf_compiler *compiler, const zf_extern_encoder *encoder, zf_error *error) {
    zf_extern_encoder whole;
    if (compiler == NULL || encoder == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_encoder_register needs a compiler and an encoder");
    ZF_TRY(ZF_TAKE(zf_extern_encoder, &whole, encoder, error));
    return zf_encoder_registry_add(compiler->encoders, &whole, error);
}
