#include "runtime/base/cache_internal.h"
#include "runtime/base/cache_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

// An entry: this head, then the key, then the object.
typedef struct entry_head {
    char magic[8];
    uint64_t key_length, size;
    uint64_t checksum; ///< XXH3-64 of key and object
} entry_head;

static const char entry_magic[8] = "zfobj\0\0\1";

static void name_of(const void *key, size_t length, char name[ZF_CACHE_NAME_LENGTH]) {
    XXH128_hash_t hash = XXH3_128bits(key, length);
    snprintf(name, ZF_CACHE_NAME_LENGTH, "%016llx%016llx.zfo", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

// Makes a directory and those above it. Those that we make are ours alone.
static bool make_directories(char *path) {
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL) *slash = 0;
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        if (slash == NULL) return made;
        *slash = '/';
        if (!made && errno != EROFS && errno != EACCES) return false; // a parent that exists may refuse mkdir
    }
}

int zf_cache_open(const char *directory, const char *part) {
    size_t length = strlen(directory) + strlen(part) + sizeof("/");
    char *path = malloc(length);
    if (path == NULL) return -1;
    snprintf(path, length, "%s/%s", directory, part);
    int fd = make_directories(path) ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    int failed = errno;
    free(path);
    errno = failed;
    if (fd < 0) return -1;
    struct stat facts;
    // Code that lies here will be run, so nobody else may be able to put it there.
    if (fstat(fd, &facts) != 0 || facts.st_uid != geteuid() || (facts.st_mode & 077) != 0) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

bool zf_cache_lock(int fd, unsigned milliseconds) {
    for (unsigned waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited++) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || waited == milliseconds) return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

void zf_cache_unlock(int fd) { flock(fd, LOCK_UN); }

static bool read_all(int fd, void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, (char *)bytes + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO; // it was longer when it was asked
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)bytes + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static uint64_t checksum_of(const void *key, size_t key_length, const void *object, size_t size) {
    return XXH3_64bits_withSeed(object, size, XXH3_64bits(key, key_length));
}

/// Opens a file of ours for reading, a regular one. -1: there is none, or, with `*there`, it is another kind of thing (EPERM) or
/// errno says what it was.
static int open_file(int directory, const char *name, uint64_t *size, bool *there) {
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); // a pipe must not hang here
    *there = fd >= 0 || errno != ENOENT;
    struct stat facts;
    if (fd < 0) return -1;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid()) {
        *size = (uint64_t)facts.st_size;
        return fd;
    }
    close(fd);
    errno = EPERM;
    return -1;
}

zf_cache_answer zf_cache_read(int directory, const char *name, size_t most, void **bytes, size_t *size) {
    uint64_t length = 0;
    bool there;
    int fd = open_file(directory, name, &length, &there);
    if (fd < 0) return there ? ZF_CACHE_DAMAGED : ZF_CACHE_NONE;
    char *text = length <= most ? malloc((size_t)length + 1) : NULL;
    bool good = text != NULL && read_all(fd, text, (size_t)length);
    int failed = length > most ? EFBIG : text == NULL ? ENOMEM : errno;
    close(fd);
    if (!good) {
        free(text);
        errno = failed;
        return ZF_CACHE_DAMAGED;
    }
    text[length] = 0;
    *bytes = text;
    *size = (size_t)length;
    return ZF_CACHE_FOUND;
}

zf_cache_answer zf_cache_find(int directory, const void *key, size_t key_length, void **object, size_t *size) {
    char name[ZF_CACHE_NAME_LENGTH];
    name_of(key, key_length, name);
    uint64_t file_size = 0;
    bool there;
    int fd = open_file(directory, name, &file_size, &there);
    if (fd < 0) return there ? ZF_CACHE_DAMAGED : ZF_CACHE_NONE;
    entry_head head;
    char *bytes = NULL;
    zf_cache_answer answer = ZF_CACHE_DAMAGED;
    if (!read_all(fd, &head, sizeof(head)) || memcmp(head.magic, entry_magic, sizeof(entry_magic)) != 0) goto done;
    uint64_t rest = file_size - sizeof(head);
    if (head.key_length != key_length || rest < key_length || head.size != rest - key_length) goto done;
    bytes = malloc((size_t)rest + 1);
    if (bytes == NULL || !read_all(fd, bytes, (size_t)rest)) goto done;
    if (memcmp(bytes, key, key_length) != 0) goto done;
    if (head.checksum != checksum_of(key, key_length, bytes + key_length, (size_t)head.size)) goto done;
    memmove(bytes, bytes + key_length, (size_t)head.size);
    *object = bytes;
    *size = (size_t)head.size;
    bytes = NULL;
    answer = ZF_CACHE_FOUND;
    futimens(fd, NULL); // it was used now: the least recently used entries go first
done:
    free(bytes);
    close(fd);
    return answer;
}

enum { TEMPORARY_LENGTH = 24 }; // "tmp.", 16 digits, 0

/// A file of a random name, which goes to `temporary`: containers that share the directory may all be process 1. -1: none can be
/// had.
static int open_temporary(int directory, char temporary[TEMPORARY_LENGTH]) {
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) return -1;
        snprintf(temporary, TEMPORARY_LENGTH, "tmp.%016llx", (unsigned long long)random);
        int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

bool zf_cache_write(int directory, const char *name, const zf_cache_piece *pieces, size_t count) {
    char temporary[TEMPORARY_LENGTH];
    int fd = open_temporary(directory, temporary);
    if (fd < 0) return false;
    bool written = true;
    for (size_t i = 0; i < count && written; i++) written = write_all(fd, pieces[i].bytes, pieces[i].size);
    written = close(fd) == 0 && written;
    if (written && renameat(directory, temporary, directory, name) == 0) return true;
    unlinkat(directory, temporary, 0);
    return false;
}

bool zf_cache_keep(int directory, const void *key, size_t key_length, const void *object, size_t size, uint64_t most) {
    char name[ZF_CACHE_NAME_LENGTH];
    entry_head head = {.key_length = key_length, .size = size, .checksum = checksum_of(key, key_length, object, size)};
    name_of(key, key_length, name);
    memcpy(head.magic, entry_magic, sizeof(entry_magic));
    const zf_cache_piece pieces[] = {{&head, sizeof head}, {key, key_length}, {object, size}};
    if (!zf_cache_write(directory, name, pieces, sizeof pieces / sizeof *pieces)) return false;
    zf_cache_account(directory, name, sizeof head + key_length + size, most);
    return true;
}
