#include "runtime/module/code_book.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"

/// Code for one tuple of shaping values, as the provider gave it.
struct zf_known_code {
    const zf_abi_plan *plan;
    uint64_t *values;
    const zf_abi_code *code;
    zf_known_code *next;
};

/// Beyond so many tuples one is remembered only when its code is new, so that variants are counted right; for the others the
/// provider is asked again. Providers make few codes a plan, whatever the tuples: the list stays short.
enum { MOST_KNOWN = 64 };

void zf_code_book_init(zf_code_book *book) {
    *book = (zf_code_book){.known = NULL};
    pthread_mutex_init(&book->lock, NULL);
}

void zf_code_book_free(zf_code_book *book) {
    for (zf_known_code *k = book->known, *next; k != NULL; k = next) {
        next = k->next;
        free(k->values);
        free(k);
    }
    book->known = NULL;
    pthread_mutex_destroy(&book->lock);
}

static bool same_values(const zf_known_code *known, const uint64_t *params) {
    for (uint32_t i = 0; i < known->plan->shaping_count; i++) {
        if (known->values[i] != params[known->plan->shaping[i]]) return false;
    }
    return true;
}

static const zf_abi_code *known_for(const zf_code_book *book, const zf_abi_plan *plan, const zf_block_view *view) {
    for (const zf_known_code *k = book->known; k != NULL; k = k->next) {
        if (k->plan == plan && (book->general || same_values(k, view->params))) return k->code;
    }
    return NULL;
}

/// Remembers the code of a tuple, and counts it if it is new. Under the lock. Without memory it is just not remembered.
static void remember(zf_code_book *book, const zf_abi_plan *plan, uint64_t *values, const zf_abi_code *code) {
    bool seen = false;
    for (const zf_known_code *k = book->known; k != NULL && !seen; k = k->next) seen = k->code == code;
    for (uint32_t k = 0; !seen && k < plan->kernel_count; k++)
        book->kernel_variants += code->simt == NULL || code->simt[k].threads != 0;
    book->codes += !seen;
    book->compiled += !seen && code->origin == ZF_CODE_COMPILED;
    book->cached += !seen && code->origin == ZF_CODE_CACHED;
    zf_known_code *entry = !seen || book->known_count < MOST_KNOWN ? malloc(sizeof *entry) : NULL;
    if (entry == NULL) {
        free(values);
        return;
    }
    *entry = (zf_known_code){plan, values, code, book->known};
    book->known = entry;
    book->known_count++;
}

/// Asks the provider, and takes the time.
static zf_status ask(zf_code_book *book, const zf_abi_provider *provider, const zf_abi_plan *plan, const uint64_t *values,
                     const zf_abi_code **out, zf_error *error) {
    pthread_mutex_lock(&book->lock);
    if (book->asking++ == 0) book->asked_at = zf_clock_seconds();
    pthread_mutex_unlock(&book->lock);
    zf_status status = provider->code(provider->self, plan, values, out, error);
    pthread_mutex_lock(&book->lock);
    if (--book->asking == 0) book->seconds += zf_clock_seconds() - book->asked_at;
    pthread_mutex_unlock(&book->lock);
    return status;
}

zf_status zf_code_book_find(zf_code_book *book, const zf_abi_provider *provider, const zf_abi_plan *plan,
                            const zf_block_view *view, const zf_abi_code **out, zf_error *error) {
    pthread_mutex_lock(&book->lock);
    *out = known_for(book, plan, view);
    pthread_mutex_unlock(&book->lock);
    if (*out != NULL) return ZF_OK;
    uint64_t *values = malloc(((size_t)plan->shaping_count + 1) * sizeof *values);
    if (values == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a tuple of params");
    for (uint32_t i = 0; i < plan->shaping_count; i++) values[i] = view->params[plan->shaping[i]];
    zf_status status = ask(book, provider, plan, book->general ? NULL : values, out, error);
    if (status == ZF_OK && *out == NULL) status = zf_raise(error, ZF_E_INTERNAL, "the code provider returned no code");
    if (status != ZF_OK) {
        free(values);
        return status;
    }
    pthread_mutex_lock(&book->lock);
    if (known_for(book, plan, view) == NULL)
        remember(book, plan, values, *out);
    else
        free(values); // another thread was faster
    pthread_mutex_unlock(&book->lock);
    return ZF_OK;
}
