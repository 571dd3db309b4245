// A file as a source: read by pread, and mapped only where the caller asked for it.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/read_file.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 // since Linux 5.14
#endif

typedef unsigned long long ull;

static zf_status read_at(const zf_byte_source *source, uint64_t offset, uint64_t bytes, uint8_t *to, const char *where,
                         zf_error *error) {
    while (bytes > 0) {
        ssize_t got = pread(source->fd, to, bytes < (1u << 30) ? bytes : 1u << 30, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            zf_status status = got < 0 ? zf_raise_system(error, ZF_E_READ_FAILED, "read", source->name, errno)
                                       : zf_raise(error, ZF_E_FILE_CHANGED, "the file became shorter while it was read");
            return zf_byte_source_place(source, offset, where, status, error);
        }
        to += got;
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return ZF_OK;
}

/// Bytes that cannot be read now are reported by the read that needs them.
static void prefetch(zf_byte_source *source, uint64_t offset, uint64_t bytes) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = offset / page * page;
    if (source->map != NULL && bytes > 0 &&
        madvise((void *)(uintptr_t)(source->map + begin), offset + bytes - begin, MADV_POPULATE_READ) == 0)
        return;
    if (bytes > 0) posix_fadvise(source->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_WILLNEED); // begins, and waits for nothing
    uint8_t scratch[1 << 16];
    for (uint64_t at = offset, end = offset + bytes; at < end;) {
        uint64_t part = end - at < sizeof scratch ? end - at : sizeof scratch;
        ssize_t got = zf_file_is_cached(source, at, part) ? (ssize_t)part : pread(source->fd, scratch, part, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return;
        at += (uint64_t)got;
    }
}

static zf_status unchanged(const zf_byte_source *source, zf_error *error) {
    struct stat now;
    if (fstat(source->fd, &now) != 0) return zf_raise_system(error, ZF_E_READ_FAILED, "look at", source->name, errno);
    if ((uint64_t)now.st_size == source->size && now.st_mtim.tv_sec == source->written.tv_sec &&
        now.st_mtim.tv_nsec == source->written.tv_nsec) {
        return ZF_OK;
    }
    zf_status status = (uint64_t)now.st_size == source->size
                           ? zf_raise(error, ZF_E_FILE_CHANGED, "the file was written to while it was open")
                           : zf_raise(error, ZF_E_FILE_CHANGED, "the file changed while it was open: from %llu bytes to %llu",
                                      (ull)source->size, (ull)now.st_size);
    zf_fail_place(error, status, "%s", source->name);
    return zf_fail_hint(error, status, "open it again");
}

zf_status zf_byte_source_map_file(zf_byte_source *source, zf_error *error) {
    void *at = mmap(NULL, source->size, PROT_READ, MAP_SHARED, source->fd, 0);
    if (at == MAP_FAILED) return zf_raise_system(error, ZF_E_OPEN_FAILED, "map", source->name, errno);
    source->map = at;
    return ZF_OK;
}

static void close_file(zf_byte_source *source) {
    if (source->map != NULL) munmap((void *)(uintptr_t)source->map, source->size);
    zf_file_forget_probe(source);
    if (source->direct_fd >= 0) close(source->direct_fd);
    if (source->fd >= 0) close(source->fd);
}

static const zf_byte_source_ops file_ops = {
    .read = read_at, .read_run = zf_read_file, .prefetch = prefetch, .unchanged = unchanged, .close = close_file};

zf_status zf_byte_source_open_file(zf_byte_source *source, const char *path, zf_error *error) {
    *source = (zf_byte_source){.ops = &file_ops, .name = path, .direct_fd = ZF_DIRECT_NOT_TRIED};
    source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe must not hang here; files do not care
    if (source->fd < 0) return zf_raise_system(error, ZF_E_OPEN_FAILED, "open", path, errno);
    struct stat status;
    if (fstat(source->fd, &status) != 0) return zf_raise_system(error, ZF_E_OPEN_FAILED, "look at", path, errno);
    if (S_ISDIR(status.st_mode)) return zf_raise_system(error, ZF_E_OPEN_FAILED, "open", path, EISDIR);
    if (!S_ISREG(status.st_mode))
        return zf_fail_place(error, zf_raise(error, ZF_E_OPEN_FAILED, "%.256s is not a regular file", path), "%s", path);
    source->size = (uint64_t)status.st_size;
    source->written = status.st_mtim;
    return ZF_OK;
}
