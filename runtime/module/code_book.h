// The codes that one decode has used so far. A provider is asked once for each tuple of shaping values.
#ifndef ZF_RUNTIME_CODE_BOOK_H
#define ZF_RUNTIME_CODE_BOOK_H

#include <pthread.h>

#include "runtime/container/container.h"

typedef struct zf_known_code zf_known_code;

typedef struct zf_code_book {
    bool general;         ///< use the general form for all values
    pthread_mutex_t lock; ///< guards what follows
    zf_known_code *known;
    unsigned known_count;
    uint64_t kernel_variants; ///< kernels of all distinct codes
    uint64_t codes, compiled, cached;
    unsigned asking;          ///< threads that wait for the provider now
    double asked_at, seconds; ///< when the first of them began; wall time with any of them
} zf_code_book;

void zf_code_book_init(zf_code_book *book);
void zf_code_book_free(zf_code_book *book);

/// Finds the code for a block under a plan, or asks the provider of the plan for it.
///
/// Any thread. No lock is held while the provider compiles.
zf_status zf_code_book_find(zf_code_book *book, const zf_abi_provider *provider, const zf_abi_plan *plan,
                            const zf_block_view *view, const zf_abi_code **out, zf_error *error);

#endif
