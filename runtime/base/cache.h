// The cache on disk, from one process to the next: directories of files, each written whole or not at all. A failure costs time
// only: the contents are made again.
//
// `kernels` has compiled code (objects of the host; a GPU's driver keeps what it makes of PTX), a file for each key. An entry
// holds its whole key, so two keys never share one, and a checksum, so a damaged one counts as missing. Its size is bounded
// (cache_limit.h). `rates` has measured speeds of devices (runtime/pipeline/rates_file.c), `tuned` results of tuning
// (compiler/tuned/tuned_file.c): a small file for each device, which stays.
#ifndef ZF_RUNTIME_CACHE_H
#define ZF_RUNTIME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum zf_cache_answer {
    ZF_CACHE_NONE,    ///< there is no entry
    ZF_CACHE_DAMAGED, ///< there is one, but it cannot be used
    ZF_CACHE_FOUND,
} zf_cache_answer;

/// Opens `directory`/`part`, made with mode 0700 (and its parents) where missing. Returns a descriptor, or -1 when it cannot be
/// used; errno says why, EPERM if it is not ours or others may write to it. Close it with close().
int zf_cache_open(const char *directory, const char *part);

/// Reads a file whole. On ZF_CACHE_FOUND `*bytes` is memory that the caller frees, with a 0 behind the `*size` bytes. One that
/// has more than `most` bytes, is not ours or no regular file is as good as damaged; on ZF_CACHE_DAMAGED errno says what it was:
/// EFBIG, EPERM, or why it could not be read this time.
zf_cache_answer zf_cache_read(int directory, const char *name, size_t most, void **bytes, size_t *size);

typedef struct zf_cache_piece {
    const void *bytes;
    size_t size;
} zf_cache_piece;

/// Writes a file of these pieces, under a temporary name, and renames it: readers see it whole or not at all.
bool zf_cache_write(int directory, const char *name, const zf_cache_piece *pieces, size_t count);

/// Locks an open file or directory of the cache against other threads and processes.
///
/// Waits `milliseconds` at most, since who holds the lock may hang. Returns false where it cannot be locked; errno is EWOULDBLOCK
/// if somebody still holds the lock.
bool zf_cache_lock(int fd, unsigned milliseconds);
/// Releases the lock. Call it before close(), which does not release it while a child process has the descriptor, too.
void zf_cache_unlock(int fd);

/// Finds the object of a key, and marks it as used now. On ZF_CACHE_FOUND `*object` is memory that the caller frees.
zf_cache_answer zf_cache_find(int directory, const void *key, size_t key_length, void **object, size_t *size);

/// Keeps an object. Where the entries of the directory then have more than `most` bytes, the least recently used ones are removed
/// until an eighth of that is free; the new one stays. False: it could not be written. Any thread, any process.
bool zf_cache_keep(int directory, const void *key, size_t key_length, const void *object, size_t size, uint64_t most);

#endif
