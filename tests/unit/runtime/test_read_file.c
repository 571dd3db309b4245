// Links: zipflow-runtime
// Runs of a file into memory, of a file that is in the page cache, is not, or is in parts: all bytes, and nothing beside
// them; and that what is read past the page cache does not come into it, and nothing is read twice.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/container/read_file.h"
#include "tests/unit/check.h"

enum { PAGE = 4096, PAGES = 1500, BYTES = PAGES * PAGE + 256, GUARD = 2 * PAGE, POISON = 0xcd };

static char path[] = "/tmp/zipflow-test-XXXXXX";
static uint8_t *content;
static zf_byte_source file;

/// How much of the file lies in the page cache before a block is read.
typedef enum cached { ALL, NONE, EVERY_OTHER, FIRST_HALF, CACHES } cached;

static bool waits; ///< the file system cannot read without waiting

ssize_t __real_preadv2(int fd, const struct iovec *parts, int count, off_t at, int flags);
ssize_t __wrap_preadv2(int fd, const struct iovec *parts, int count, off_t at, int flags);
ssize_t __wrap_preadv2(int fd, const struct iovec *parts, int count, off_t at, int flags) {
    if (!waits) return __real_preadv2(fd, parts, count, at, flags);
    errno = EOPNOTSUPP;
    return -1;
}

static size_t resident(void) {
    unsigned char there[PAGES + 1];
    size_t count = 0;
    void *map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file.fd, 0);
    CHECK(map != MAP_FAILED && mincore(map, BYTES, there) == 0, "mincore");
    munmap(map, BYTES);
    for (size_t i = 0; i < sizeof there; i++) count += there[i] & 1;
    return count;
}

static void bring(size_t page, size_t pages) {
    static uint8_t sink[PAGES * PAGE];
    posix_fadvise(file.fd, 0, 0, POSIX_FADV_RANDOM); // no page more than those
    CHECK(pread(file.fd, sink, pages * PAGE, (off_t)(page * PAGE)) == (ssize_t)(pages * PAGE), "pread");
}

static void set_cached(cached how) {
    CHECK(fdatasync(file.fd) == 0 && posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "fadvise");
    if (how == ALL) bring(0, PAGES);
    if (how == FIRST_HALF) bring(0, PAGES / 2);
    for (size_t page = 0; how == EVERY_OTHER && page < PAGES; page += 128) bring(page, 64);
    posix_fadvise(file.fd, 0, 0, POSIX_FADV_NORMAL);
}

/// Reads bytes and looks at all memory that may, and may not, have been written.
static void read_one(uint64_t offset, uint64_t bytes, int how) {
    uint64_t room = bytes + 2 * GUARD + 2 * PAGE, before = offset % PAGE;
    uint8_t *memory = NULL;
    zf_error error = {0};
    CHECK(posix_memalign((void **)&memory, PAGE, room) == 0, "no memory");
    if (memory == NULL) return;
    memset(memory, POISON, room);
    uint8_t *to = memory + GUARD + before;
    CHECK(zf_read_file(&file, offset, bytes, to, NULL, &error) == ZF_OK, "%s", error.message);
    CHECK(memcmp(to, content + offset, bytes) == 0, "%d: %llu bytes at %llu", how, (unsigned long long)bytes,
          (unsigned long long)offset);
    bool kept = true;
    for (size_t i = 0; i < GUARD + before; i++) kept = kept && memory[i] == POISON;
    for (size_t i = GUARD + before + bytes; i < room; i++) kept = kept && memory[i] == POISON;
    CHECK(kept, "%d: memory beside %llu bytes at %llu was written to", how, (unsigned long long)bytes,
          (unsigned long long)offset);
    free(memory);
}

static void test_sizes(void) {
    enum { ONCE = 1 << 20 }; // that are read at once
    static const uint64_t offsets[] = {0, 256, PAGE - 256, PAGE, 70 * PAGE + 512};
    static const uint64_t sizes[] = {1, 256, PAGE - 256, PAGE, PAGE + 256, ONCE - 256, ONCE, ONCE + 256, 3 * ONCE, 1300 * PAGE};
    for (int how = 0; how < CACHES; how++) {
        for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                set_cached((cached)how);
                read_one(offsets[o], sizes[s], how);
            }
        }
        set_cached((cached)how);
        read_one(BYTES - 512, 512, how);
    }
}

/// Bytes that this process had a disk read.
static uint64_t disk_bytes(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage");
    return (uint64_t)usage.ru_inblock * 512;
}

/// Whether the system tells of a mapping without access which pages are in memory. qemu-user does not.
static bool tells_of_probe(void) {
    unsigned char there[PAGES + 1];
    void *map = mmap(NULL, BYTES, PROT_NONE, MAP_SHARED, file.fd, 0);
    bool tells = map != MAP_FAILED && mincore(map, BYTES, there) == 0;
    munmap(map, BYTES);
    return tells;
}

/// Reading past the page cache brings nothing into it, and what is there is not read from the disk.
static void test_cache(void) {
    set_cached(NONE);
    uint64_t before = disk_bytes();
    if (resident() > 0) {
        printf("files cannot be dropped from memory here\n");
        return;
    }
    if (!tells_of_probe()) {
        printf("a mapping without access does not show what is in memory here\n");
        return;
    }
    read_one(256, 1200 * PAGE, NONE);
    if (file.direct_fd < 0 || disk_bytes() == before) {
        printf("files cannot be read past the page cache here\n");
        return;
    }
    CHECK(resident() == 0, "%zu pages came into the page cache", resident());
    CHECK(disk_bytes() - before < 1216 * PAGE, "%llu bytes were read", (unsigned long long)(disk_bytes() - before));
    set_cached(ALL);
    size_t all = resident();
    before = disk_bytes();
    read_one(256, 1200 * PAGE, ALL);
    CHECK(resident() == all, "warm: %zu pages, and %zu before", resident(), all);
    CHECK(disk_bytes() == before, "warm: %llu bytes were read", (unsigned long long)(disk_bytes() - before));
}

static void test_short(void) {
    for (int how = 0; how < 4; how++) { // the file ends within, or before
        uint64_t offset = how < 2 ? BYTES - 256 : BYTES + 512;
        uint8_t *memory = NULL;
        zf_error error = {0};
        set_cached(how % 2 == 0 ? ALL : NONE);
        CHECK(posix_memalign((void **)&memory, PAGE, 4 * PAGE) == 0, "no memory");
        zf_status status = zf_read_file(&file, offset, 512, memory + offset % PAGE, "here", &error);
        CHECK(status != ZF_OK && strcmp(error.code, "ZF1208") == 0, "%d: %s %s", how, error.code, error.message);
        free(memory);
    }
}

static size_t descriptors(void) {
    size_t count = 0;
    for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/// Without standard input the file is opened as descriptor 0 for reading past the page cache, and is closed again. Last: it
/// closes standard input.
static void test_descriptor_zero(void) {
    zf_error error = {0};
    close(STDIN_FILENO);
    int kept = open("/dev/null", O_RDONLY); // number 0
    size_t before = descriptors();
    CHECK(kept == 0 && zf_byte_source_open_file(&file, path, &error) == ZF_OK, "%s", error.message);
    close(kept);
    set_cached(NONE);
    for (int k = 0; k < 3; k++) read_one(0, 100 * PAGE, NONE);
    if (file.direct_fd < 0) printf("files cannot be read past the page cache here\n");
    zf_byte_source_close(&file);
    CHECK(descriptors() == before - 1, "%zu descriptors are open, and %zu before", descriptors(), before - 1);
}

int main(void) {
    zf_error error = {0};
    int made = mkstemp(path);
    content = malloc(BYTES);
    if (made < 0 || content == NULL) return 1;
    for (size_t i = 0; i < BYTES; i++) content[i] = (uint8_t)(i * 2654435761u >> 11);
    CHECK(write(made, content, BYTES) == BYTES, "write");
    close(made);
    bool open = zf_byte_source_open_file(&file, path, &error) == ZF_OK;
    CHECK(open, "%s", error.message);
    if (!open) return check_result();
    test_sizes();
    test_cache();
    test_short();
    waits = true;
    test_sizes();
    test_cache();
    test_short();
    zf_byte_source_close(&file);
    waits = false;
    test_descriptor_zero();
    unlink(path);
    free(content);
    return check_result();
}
