// Preloaded into zfc: a call of the system on a file below the directory FAULT_UNDER goes wrong. Calls are counted whose names
// are in FAULT_CALLS (",read,write,"). Number FAULT_AT, and with FAULT_ON all behind it, goes wrong as FAULT_HOW says:
// - an error number: the call fails, and does nothing
// - "short": it moves half of the bytes, at least one
// - "kill": it is done, half of it if that can be, and the process is killed
// - "before": the process is killed before it
// At exit the number of counted calls is written to the file FAULT_COUNT. Without FAULT_AT calls are counted and none goes wrong.
// With FAULT_NAMED files without a name fail, as on file systems that have none.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static atomic_long calls;

enum { AS_EVER = -1, SHORT = -2, KILLED = -3 };

static bool is_below(const char *path) {
    const char *under = getenv("FAULT_UNDER");
    return under != NULL && strncmp(path, under, strlen(under)) == 0;
}

static bool path_of(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    return length > 0;
}

/// An error number, or one of the above. `path`: absolute.
static int fault_of(const char *name, const char *path) {
    const char *names = getenv("FAULT_CALLS"), *at = getenv("FAULT_AT"), *how = getenv("FAULT_HOW");
    char word[64];
    snprintf(word, sizeof word, ",%s,", name);
    if (names == NULL || strstr(names, word) == NULL || !is_below(path)) return AS_EVER;
    long number = ++calls, first = at != NULL ? atol(at) : LONG_MAX;
    if (how == NULL || (getenv("FAULT_ON") != NULL ? number < first : number != first)) return AS_EVER;
    if (strcmp(how, "before") == 0) raise(SIGKILL);
    return strcmp(how, "short") == 0 ? SHORT : strcmp(how, "kill") == 0 ? KILLED : atoi(how);
}

static int fault_on(const char *name, int fd) {
    char path[PATH_MAX];
    return path_of(fd, path) ? fault_of(name, path) : AS_EVER;
}

static int fault_at(const char *name, int directory, const char *path) {
    char whole[2 * PATH_MAX];
    if (path[0] == '/') return fault_of(name, path);
    if (directory == AT_FDCWD ? getcwd(whole, PATH_MAX) == NULL : !path_of(directory, whole)) return AS_EVER;
    strcat(strcat(whole, "/"), path);
    return fault_of(name, whole);
}

__attribute__((destructor)) static void write_count(void) {
    const char *path = getenv("FAULT_COUNT");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
}

static void end_if(int fault) {
    if (fault == KILLED) raise(SIGKILL);
}

static size_t part_of(int fault, size_t bytes) { return fault == AS_EVER || bytes < 2 ? bytes : bytes / 2; }

#define NEXT(name) (*(__typeof__(&name) *)next(#name))

/// Where the address of the function behind this one is.
static void *next(const char *name) {
    static _Thread_local void *found;
    found = dlsym(RTLD_NEXT, name);
    return &found;
}

#define FAIL_IF(fault)                                                                                                           \
    if ((fault) >= 0) return errno = (fault), -1

#define MOVES(name, parameters, fd, bytes, call)                                                                                 \
    ssize_t name parameters;                                                                                                     \
    ssize_t name parameters {                                                                                                    \
        int fault = fault_on(#name, fd);                                                                                         \
        FAIL_IF(fault);                                                                                                          \
        bytes = part_of(fault, bytes);                                                                                           \
        ssize_t moved = NEXT(name) call;                                                                                         \
        end_if(fault);                                                                                                           \
        return moved;                                                                                                            \
    }
MOVES(read, (int fd, void *to, size_t bytes), fd, bytes, (fd, to, bytes))
MOVES(pread, (int fd, void *to, size_t bytes, off_t at), fd, bytes, (fd, to, bytes, at))
MOVES(pread64, (int fd, void *to, size_t bytes, off_t at), fd, bytes, (fd, to, bytes, at))
MOVES(write, (int fd, const void *from, size_t bytes), fd, bytes, (fd, from, bytes))
MOVES(pwrite, (int fd, const void *from, size_t bytes, off_t at), fd, bytes, (fd, from, bytes, at))
MOVES(pwrite64, (int fd, const void *from, size_t bytes, off_t at), fd, bytes, (fd, from, bytes, at))

ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t at, int flags) {
    int fault = fault_on("preadv2", fd);
    FAIL_IF(fault);
    struct iovec part = parts[0];
    part.iov_len = part_of(fault, part.iov_len);
    return NEXT(preadv2)(fd, &part, count < 1 ? count : 1, at, flags);
}

size_t fread(void *to, size_t size, size_t count, FILE *file) {
    int fault = fault_on("fread", fileno(file));
    if (fault < 0) return NEXT(fread)(to, size, count, file);
    file->_flags |= 0x20; // what ferror looks at
    errno = fault;
    return 0;
}

#define DOES(name, parameters, found, call)                                                                                      \
    int name parameters;                                                                                                         \
    int name parameters {                                                                                                        \
        int fault = found;                                                                                                       \
        FAIL_IF(fault);                                                                                                          \
        int result = NEXT(name) call;                                                                                            \
        end_if(fault);                                                                                                           \
        return result;                                                                                                           \
    }
DOES(fsync, (int fd), fault_on("fsync", fd), (fd))
DOES(fchmod, (int fd, mode_t mode), fault_on("fchmod", fd), (fd, mode))
DOES(rename, (const char *from, const char *to), fault_at("rename", AT_FDCWD, to), (from, to))
DOES(renameat, (int a, const char *from, int b, const char *to), fault_at("rename", b, to), (a, from, b, to))
DOES(renameat2, (int a, const char *from, int b, const char *to, unsigned flags), fault_at("rename", b, to),
     (a, from, b, to, flags))
DOES(linkat, (int a, const char *from, int b, const char *to, int flags), fault_at("link", b, to), (a, from, b, to, flags))
DOES(mkdir, (const char *path, mode_t mode), fault_at("mkdir", AT_FDCWD, path), (path, mode))

int close(int fd) {
    int fault = fault_on("close", fd), result = NEXT(close)(fd);
    end_if(fault);
    FAIL_IF(fault); // the descriptor is free all the same
    return result;
}

static int open_with(const char *name, int directory, const char *path, int flags, mode_t mode) {
    if ((flags & O_TMPFILE) == O_TMPFILE && getenv("FAULT_NAMED") != NULL) return errno = EOPNOTSUPP, -1;
    int fault = fault_at(name, directory, path);
    FAIL_IF(fault);
    int opened = NEXT(openat)(directory, path, flags, mode);
    end_if(fault);
    return opened;
}

#define MAKES(flags) (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE)
#define MODE(flags)                                                                                                              \
    mode_t mode = 0;                                                                                                             \
    if (MAKES(flags)) {                                                                                                          \
        va_list more;                                                                                                            \
        va_start(more, flags);                                                                                                   \
        mode = va_arg(more, mode_t);                                                                                             \
        va_end(more);                                                                                                            \
    }

int open(const char *path, int flags, ...) {
    MODE(flags);
    return open_with(MAKES(flags) ? "create" : "open", AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
    MODE(flags);
    return open_with(MAKES(flags) ? "create" : "open", directory, path, flags, mode);
}

#pragma GCC visibility pop
