// The cache's size. The file `usage` beside the entries has the sum of their bytes, under a lock, so that keeping an entry need
// not look at the others. Only where the sum passes the limit are all entries looked at, which corrects it, too.
#include "runtime/base/cache_limit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cache_internal.h"

typedef unsigned long long ull;

enum {
    USAGE_DIGITS = 20,        ///< of the number in `usage`
    LOCK_MILLISECONDS = 1000, ///< a writer waits so long for others
    TEMPORARY_SECONDS = 3600  ///< a temporary file this old has lost its writer
};
static const char usage_name[] = "usage";

bool zf_cache_size_read(const char *text, uint64_t *out) {
    if (text[0] < '0' || text[0] > '9') return false;
    char *end;
    errno = 0;
    ull number = strtoull(text, &end, 10);
    if (errno != 0 || number == 0) return false;
    static const char suffixes[] = "KMG";
    unsigned shift = 0;
    if (*end != 0) {
        const char *suffix = strchr(suffixes, *end & ~0x20); // in upper or lower case
        if (suffix == NULL || *suffix == 0 || end[1] != 0) return false;
        shift = 10 * ((unsigned)(suffix - suffixes) + 1);
    }
    if (number > UINT64_MAX >> shift) return false;
    *out = number << shift;
    return true;
}

// ---- All entries ------------------------------------------------------------------------------------------------

typedef struct kept {
    char name[ZF_CACHE_NAME_LENGTH];
    uint64_t size;
    struct timespec used;
} kept;

typedef struct listing {
    kept *files;
    size_t count, room;
    uint64_t bytes;
} listing;

static int by_use(const void *left, const void *right) {
    const kept *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

static bool is_entry(const char *name) {
    size_t length = strlen(name);
    return length == ZF_CACHE_NAME_LENGTH - 1 && strcmp(name + length - 4, ".zfo") == 0;
}

static bool add(listing *all, const char *name, const struct stat *facts) {
    if (all->count == all->room) {
        size_t room = 2 * all->room + 256;
        kept *more = realloc(all->files, room * sizeof *more);
        if (more == NULL) return false;
        all->files = more;
        all->room = room;
    }
    kept *file = &all->files[all->count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->size = (uint64_t)facts->st_size;
    file->used = facts->st_mtim;
    all->bytes += file->size;
    return true;
}

/// Lists the entries, and removes temporary files that nobody will rename. False: not all could be read.
static bool list(int directory, listing *all) {
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); // a descriptor of its own has a position of its own
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0) close(fd);
        return false;
    }
    bool good = true;
    time_t now = time(NULL);
    for (const struct dirent *file; good && (file = readdir(dir)) != NULL;) {
        struct stat facts;
        bool temporary = strncmp(file->d_name, "tmp.", 4) == 0;
        if (!temporary && !is_entry(file->d_name)) continue;
        if (fstatat(directory, file->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode)) continue;
        if (!temporary)
            good = add(all, file->d_name, &facts);
        else if (now - facts.st_mtime > TEMPORARY_SECONDS)
            unlinkat(directory, file->d_name, 0);
    }
    closedir(dir);
    return good;
}

static bool holds(const listing *all, const char *name) {
    for (size_t k = 0; k < all->count; k++) {
        if (strcmp(all->files[k].name, name) == 0) return true;
    }
    return false;
}

/// Removes the least recently used entries, except `newest`, until an eighth of the limit is free. If another writer has removed
/// `newest`, the most recently used one stays in its place. Returns the bytes that are left.
static uint64_t evict(int directory, const char *newest, uint64_t most) {
    listing all = {0};
    if (list(directory, &all) && all.bytes > most) {
        qsort(all.files, all.count, sizeof *all.files, by_use);
        if (!holds(&all, newest)) newest = all.files[all.count - 1].name;
        for (size_t k = 0; k < all.count && all.bytes > most - most / 8; k++) {
            if (strcmp(all.files[k].name, newest) == 0) continue;
            if (unlinkat(directory, all.files[k].name, 0) == 0 || errno == ENOENT) all.bytes -= all.files[k].size;
        }
    }
    free(all.files);
    return all.bytes;
}

// ---- The sum ----------------------------------------------------------------------------------------------------

/// Opens and locks `usage`. -1: it cannot be used, or (`busy`) somebody holds the lock for too long.
static int lock_usage(int directory, bool *busy) {
    struct stat facts;
    *busy = false;
    int fd = openat(directory, usage_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    if (zf_cache_lock(fd, LOCK_MILLISECONDS)) {
        if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) return fd;
        zf_cache_unlock(fd);
    } else {
        *busy = errno == EWOULDBLOCK;
    }
    close(fd);
    return -1;
}

/// Reads the sum. False: there is none.
static bool read_usage(int fd, uint64_t *sum) {
    char text[USAGE_DIGITS + 2] = "";
    if (fd < 0 || pread(fd, text, USAGE_DIGITS + 1, 0) != USAGE_DIGITS + 1 || text[USAGE_DIGITS] != '\n') return false;
    text[USAGE_DIGITS] = 0;
    if (strspn(text, "0123456789") != USAGE_DIGITS) return false;
    *sum = strtoull(text, NULL, 10);
    return true;
}

void zf_cache_account(int directory, const char *name, uint64_t size, uint64_t most) {
    bool busy;
    int fd = lock_usage(directory, &busy);
    if (busy) { // the next writer makes another file, which nobody has locked, and counts this entry, too
        unlinkat(directory, usage_name, 0);
        return;
    }
    uint64_t sum = 0;
    bool known = read_usage(fd, &sum) && sum <= UINT64_MAX - size;
    sum += size;
    if (!known || sum > most) sum = evict(directory, name, most);
    char text[USAGE_DIGITS + 2];
    snprintf(text, sizeof text, "%0*llu\n", USAGE_DIGITS, (ull)sum);
    if (fd < 0) return;
    // A number that is not whole is unknown to the next writer, who counts again.
    if (pwrite(fd, text, USAGE_DIGITS + 1, 0) != USAGE_DIGITS + 1) unlinkat(directory, usage_name, 0);
    zf_cache_unlock(fd);
    close(fd);
}
