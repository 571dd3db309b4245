// Where the bytes of a container come from: a file, memory, or a function of the caller. Whoever reads a container reads it
// through a source. Blocks are used in place if the source has all bytes in memory (`map`). Other blocks, those of files
// included, are read into memory.
#ifndef ZF_RUNTIME_BYTE_SOURCE_H
#define ZF_RUNTIME_BYTE_SOURCE_H

#include <time.h>

#include "zipflow/zipflow.h"

typedef struct zf_byte_source zf_byte_source;

typedef struct zf_byte_source_ops {
    /// Reads `bytes` bytes at `offset` to `to`, all of them or none that counts. Errors name the first byte that is missing,
    /// behind `where` ("lines.zfd: column a, block 3"); NULL: behind the source's name. Any thread.
    zf_status (*read)(const zf_byte_source *source, uint64_t offset, uint64_t bytes, uint8_t *to, const char *where,
                      zf_error *error);
    /// The same for a run that is read once: `to` must be as far from a multiple of 4096 as `offset` is. NULL: `read` does it.
    zf_status (*read_run)(zf_byte_source *source, uint64_t offset, uint64_t bytes, uint8_t *to, const char *where,
                          zf_error *error);
    /// Brings a run into memory, so that reading it soon is faster. May fail silently. NULL: cannot.
    void (*prefetch)(zf_byte_source *source, uint64_t offset, uint64_t bytes);
    /// ZF1208 where the bytes changed since the source was opened. NULL: they cannot.
    zf_status (*unchanged)(const zf_byte_source *source, zf_error *error);
    void (*close)(zf_byte_source *source); ///< NULL: nothing to give back
} zf_byte_source_ops;

/// Instead of a descriptor. 0 is a descriptor where standard input is closed.
enum zf_direct { ZF_DIRECT_IMPOSSIBLE = -1, ZF_DIRECT_NOT_TRIED = -2 };

struct zf_byte_source {
    const zf_byte_source_ops *ops;
    const char *name; ///< the path, or what errors say in its place; the container's
    uint64_t size;
    const uint8_t *map; ///< all bytes, aligned to 256; NULL: they must be read
    // A file.
    int fd;
    _Atomic int direct_fd;   ///< read_file.c: the file, opened for reading past the page cache, or one of zf_direct
    void *_Atomic probe;     ///< read_file.c: addresses that tell of the page cache and are never read; NULL: not made
    struct timespec written; ///< time of the last change when it was opened
    // Memory.
    const uint8_t *bytes;
    void *copy; ///< the source's own; NULL: the caller's
    // A function of the caller.
    zf_byte_reader reader;
};

/// Opens a regular file, which is not mapped. Close it also after a failure.
zf_status zf_byte_source_open_file(zf_byte_source *source, const char *path, zf_error *error);
/// Maps an open file: its bytes are used in place from then on. One that cannot be read raises SIGBUS.
zf_status zf_byte_source_map_file(zf_byte_source *source, zf_error *error);
/// Bytes that stay as long as the source. They are used in place where they are aligned to 256.
void zf_byte_source_open_memory(zf_byte_source *source, const char *name, const void *bytes, uint64_t size);
void zf_byte_source_open_reader(zf_byte_source *source, const char *name, const zf_byte_reader *reader);
/// Reads all bytes into memory of the source's own, which it is from then on.
zf_status zf_byte_source_copy(zf_byte_source *source, zf_error *error);
/// A source of zeroes is closed, too.
void zf_byte_source_close(zf_byte_source *source);

// The operations, where a source may lack them.
zf_status zf_byte_source_read_run(zf_byte_source *source, uint64_t offset, uint64_t bytes, uint8_t *to, const char *where,
                                  zf_error *error);
/// Names `offset` as the place of an error, as `read` does. Returns `status`.
zf_status zf_byte_source_place(const zf_byte_source *source, uint64_t offset, const char *where, zf_status status,
                               zf_error *error);
zf_status zf_byte_source_unchanged(const zf_byte_source *source, zf_error *error);

#endif
