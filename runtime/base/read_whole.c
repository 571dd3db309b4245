#include "runtime/base/read_whole.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// Why a file is not read; NULL: it is a regular one.
static const char *of_kind(const struct stat *facts) {
    if (S_ISREG(facts->st_mode)) return NULL;
    return S_ISDIR(facts->st_mode) ? "it is a directory" : "it is not a regular file";
}

int zf_regular_open(const char *path, const char **reason) {
    struct stat facts;
    *reason = stat(path, &facts) == 0 ? of_kind(&facts) : strerror(errno);
    if (*reason != NULL) return -1;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // should it have become a pipe since
    *reason = file >= 0 && fstat(file, &facts) == 0 ? of_kind(&facts) : strerror(errno);
    if (*reason == NULL) return file;
    if (file >= 0) close(file);
    return -1;
}

int zf_read_whole(int file, size_t most, zf_text *out) {
    char bytes[1 << 16];
    zf_text_add(out, "", 0);
    while (!out->failed) {
        ssize_t count = read(file, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        if (count == 0) return 0;
        if ((size_t)count > most || out->length > most - (size_t)count) return EFBIG;
        zf_text_add(out, bytes, (size_t)count);
    }
    return ENOMEM;
}
