// Preloaded into zfc: cuts the file CUT_FILE to CUT_TO bytes right after somebody looked at it for the CUT_AT-th time (fstat),
// and makes files without a name fail, as on file systems that have none. A test can thus cut an open file at an exact place.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int fstat_function(int fd, struct stat *status);
typedef int openat_function(int directory, const char *path, int flags, ...);

static atomic_long looks;

__attribute__((visibility("default"))) int fstat(int fd, struct stat *status) {
    fstat_function *real;
    *(void **)&real = dlsym(RTLD_NEXT, "fstat");
    int result = real(fd, status);
    const char *file = getenv("CUT_FILE"), *at = getenv("CUT_AT"), *to = getenv("CUT_TO");
    char link[64], name[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (!file || !at || !to || length < 0) return result;
    name[length] = 0;
    if (strcmp(name, file) == 0 && ++looks == atol(at) && truncate(file, atol(to)) != 0) abort();
    return result;
}

__attribute__((visibility("default"))) int openat(int directory, const char *path, int flags, ...) {
    openat_function *real;
    *(void **)&real = dlsym(RTLD_NEXT, "openat");
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return real(directory, path, flags, mode);
}
