// Files read by several threads, into memory or through a pinned ring to a device, as one would without zipflow; and what of them
// lies in the page cache.
#ifndef ZF_BENCH_READ_RANGES_H
#define ZF_BENCH_READ_RANGES_H

#include "runtime/device/accelerator.h"

enum { READ_PAGE = 4096, READ_THREADS = 64, READ_SLOTS = 4 };

/// A file, open twice: `direct` reads past the page cache and is -1 where that cannot be had.
typedef struct read_file {
    char path[1024];
    int fd, direct;
    uint64_t bytes;
} read_file;

/// A run of bytes of a file, and where it goes: to an address of the device, or with 0 to memory of the host, where it is
/// `roomy` if what lies around it in the same pages may be overwritten and it lies as far from a multiple of 4096 as in the file.
typedef struct read_range {
    const read_file *file;
    uint64_t offset, bytes;
    uint64_t device;
    uint8_t *host;
    bool roomy;
} read_range;

/// Each thread has READ_SLOTS places of `piece` bytes, of pinned memory where there is an accelerator, and a stream.
typedef struct read_ring {
    zf_accelerator *accelerator; ///< NULL: there is none
    unsigned threads;
    uint64_t piece; ///< bytes of one read, a multiple of 4096
    void *memory;   ///< as it was allocated
    uint8_t *places;
    void *streams[READ_THREADS], *events[READ_THREADS][READ_SLOTS];
} read_ring;

zf_status read_file_open(read_file *file, const char *path, zf_error *error);
void read_file_close(read_file *file);

zf_status read_ring_open(read_ring *ring, zf_accelerator *accelerator, unsigned threads, uint64_t piece, zf_error *error);
void read_ring_close(read_ring *ring);
/// Reads all ranges, past the page cache where `direct`. The seconds are from when all threads are there, until all bytes are
/// where they should be.
zf_status read_ranges(read_ring *ring, const read_range *ranges, size_t count, bool direct, double *seconds, zf_error *error);

/// Drops files from the page cache. Maps of them keep what they have.
zf_status files_evict(const read_file *files, size_t count, zf_error *error);
/// Reads files into the page cache where they are not.
zf_status files_warm(const read_file *files, size_t count, zf_error *error);
/// The part of the files' bytes that lies in the page cache, 0 to 1; NAN where nobody tells.
double files_resident(const read_file *files, size_t count);

#endif
