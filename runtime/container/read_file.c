#include "runtime/container/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/error.h"

/// Bytes of one call, of the page cache and past it.
enum { PAGE = 4096, CACHED_MOST = 1 << 20, DIRECT_MOST = 8 << 20 };

/// The same file, opened for reading past the page cache, or ZF_DIRECT_IMPOSSIBLE.
static int direct_of(zf_byte_source *file) {
    int known = atomic_load(&file->direct_fd);
    if (known != ZF_DIRECT_NOT_TRIED) return known;
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file->fd); // whatever its path names by now
    int opened = open(name, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (opened < 0) opened = ZF_DIRECT_IMPOSSIBLE;
    if (atomic_compare_exchange_strong(&file->direct_fd, &known, opened)) return opened;
    if (opened >= 0) close(opened); // another thread was first
    return known;
}

/// A mapping for mincore, which nobody reads: it has no access. NULL: there is none.
static const uint8_t *probe_of(zf_byte_source *file) {
    void *known = atomic_load(&file->probe);
    if (known == NULL) {
        void *made = mmap(NULL, file->size, PROT_NONE, MAP_SHARED, file->fd, 0);
        if (atomic_compare_exchange_strong(&file->probe, &known, made)) return made != MAP_FAILED ? made : NULL;
        if (made != MAP_FAILED) munmap(made, file->size); // another thread was first
    }
    return known != MAP_FAILED ? known : NULL;
}

void zf_file_forget_probe(zf_byte_source *file) {
    void *known = atomic_load(&file->probe);
    if (known != NULL && known != MAP_FAILED) munmap(known, file->size);
}

/// To ask by reading would not do: where a page is missing, even a read that must not wait has the kernel bring it and what lies
/// behind it, which would then be read twice.
bool zf_file_is_cached(zf_byte_source *file, uint64_t at, uint64_t bytes) {
    unsigned char there[64];
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = bytes < file->size - at ? at + bytes : file->size;
    const uint8_t *probe = probe_of(file);
    for (at = at / page * page; at < end && probe != NULL;) {
        uint64_t pages = (end - at + page - 1) / page;
        if (pages > sizeof there) pages = sizeof there;
        if (mincore((void *)(uintptr_t)(probe + at), pages * page, there) != 0) return true; // where nobody tells, reading does
        for (uint64_t i = 0; i < pages; i++) {
            if ((there[i] & 1) == 0) return false;
        }
        at += pages * page;
    }
    return true;
}

/// Bytes that were copied from the page cache; 0: the first one is not there.
static uint64_t read_cached(zf_byte_source *file, uint64_t at, uint64_t bytes, uint8_t *to) {
    if (at < file->size && !zf_file_is_cached(file, at, 1)) return 0;
    struct iovec part = {to, bytes < CACHED_MOST ? bytes : CACHED_MOST};
    ssize_t got = preadv2(file->fd, &part, 1, (off_t)at, RWF_NOWAIT);
    // Where a file system cannot read without waiting, the first page at least is there.
    if (got < 0 && errno == EOPNOTSUPP) got = pread(file->fd, to, part.iov_len, (off_t)at);
    return got > 0 ? (uint64_t)got : 0;
}

/// Reads past the page cache and returns the number of bytes; 0: that is impossible. If only a part of a page is needed, the
/// rest is discarded: bytes that others have read and checked may lie beside `to`.
static uint64_t read_direct(zf_byte_source *file, uint64_t at, uint64_t bytes, uint8_t *to) {
    _Alignas(PAGE) uint8_t page[PAGE];
    uint64_t before = at % PAGE, whole = bytes / PAGE * PAGE;
    bool in_part = before != 0 || whole == 0;
    int fd = direct_of(file);
    if (fd == ZF_DIRECT_IMPOSSIBLE) return 0;
    if (whole > DIRECT_MOST) whole = DIRECT_MOST;
    ssize_t got = in_part ? pread(fd, page, PAGE, (off_t)(at - before)) : pread(fd, to, whole, (off_t)at);
    if (got <= (ssize_t)before) return 0;
    uint64_t there = (uint64_t)got - before;
    if (there > bytes) there = bytes;
    if (in_part) memcpy(to, page + before, there);
    return there;
}

zf_status zf_read_file(zf_byte_source *file, uint64_t offset, uint64_t bytes, uint8_t *to, const char *where, zf_error *error) {
    while (bytes > 0) {
        uint64_t got = read_cached(file, offset, bytes, to);
        if (got == 0) got = read_direct(file, offset, bytes, to);
        if (got == 0) {
            got = bytes < CACHED_MOST ? bytes : CACHED_MOST;
            ZF_TRY(file->ops->read(file, offset, got, to, where, error));
        }
        to += got;
        offset += got;
        bytes -= got;
    }
    return ZF_OK;
}
