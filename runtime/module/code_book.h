// The code that one decode has met so far: the provider is asked once for a tuple of shaping values.
#ifndef ZF_RUNTIME_CODE_BOOK_H
#define ZF_RUNTIME_CODE_BOOK_H

#include <pthread.h>

#include "runtime/container/container.h"

typedef struct zf_known_code zf_known_code;

typedef struct zf_code_book {
    bool general;         ///< ask for the general form whatever the values are
    pthread_mutex_t lock; ///< guards what follows
    zf_known_code *known;
    unsigned known_count;
    uint64_t kernel_variants; ///< distinct kernels: those of each code that was given
    uint64_t codes, compiled, cached;
    unsigned asking;          ///< threads that the provider serves just now
    double asked_at, seconds; ///< since when it serves any; how long it has, threads side by side counted once
} zf_code_book;

void zf_code_book_init(zf_code_book *book);
void zf_code_book_free(zf_code_book *book);

/// The code for a block under a plan, of the provider that gave the plan. Any thread; the provider may compile meanwhile, so it
/// is asked with no lock held.
zf_status zf_code_book_find(zf_code_book *book, const zf_abi_provider *provider, const zf_abi_plan *plan,
                            const zf_block_view *view, const zf_abi_code **out, zf_error *error);

#endif
