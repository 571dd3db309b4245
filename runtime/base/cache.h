// The cache of compiled code (objects of the host; what a GPU's driver makes of PTX, the driver keeps): a directory of files, one
// per key. An entry holds its whole key, so two keys never share one, and a checksum, so a damaged one is as good as none.
// Everything here may fail without harm: then the code is compiled again.
#ifndef ZF_BASE_CACHE_H
#define ZF_BASE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum zf_cache_answer {
    ZF_CACHE_NONE,    ///< there is no entry
    ZF_CACHE_DAMAGED, ///< there is one, but it cannot be used
    ZF_CACHE_FOUND,
} zf_cache_answer;

/// Opens `directory`/kernels, made with mode 0700 (and its parents) where missing. Returns a descriptor, or -1 when it cannot be
/// used: it is not ours, or others may write to it. Close it with close().
int zf_cache_open(const char *directory);

/// Finds the object of a key. On ZF_CACHE_FOUND `*object` is memory that the caller frees.
zf_cache_answer zf_cache_find(int directory, const void *key, size_t key_length, void **object, size_t *size);

/// Keeps an object: written under a temporary name and renamed, so that readers see it whole or not at all.
bool zf_cache_keep(int directory, const void *key, size_t key_length, const void *object, size_t size);

#endif
