#include "runtime/base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/error_codes.h"

struct zf_output_file {
    char *path;         ///< as given, for messages
    char *name;         ///< its last part
    char temporary[64]; ///< name of the file in `directory`; "" while it has none
    char *parked;       ///< path of the temporary name while no descriptor is open; NULL: they are
    int directory;      ///< where both names are
    int fd;
    unsigned mode; ///< of the file that it replaces, or 0
    bool overwrite;
    atomic_bool synced; ///< nothing was written since; writers of several threads clear it
};

/// Returns the path of the directory, which the caller frees; NULL if there is no memory.
static char *directory_of(const zf_output_file *file) {
    const char *slash = strrchr(file->path, '/');
    return slash == NULL ? strdup(".") : strndup(file->path, slash == file->path ? 1 : (size_t)(slash - file->path));
}

static zf_status open_directory(zf_output_file *file, zf_error *error) {
    char *directory = directory_of(file);
    if (directory == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a path");
    file->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int number = errno;
    free(directory);
    return file->directory >= 0 ? ZF_OK : zf_raise_system(error, ZF_E_CREATE_FAILED, "open the directory of", file->path, number);
}

/// Splits the path and opens its directory.
static zf_status start_path(zf_output_file *file, zf_error *error) {
    const char *slash = strrchr(file->path, '/');
    const char *name = slash != NULL ? slash + 1 : file->path;
    if (name[0] == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return zf_raise_system(error, ZF_E_CREATE_FAILED, "make a file called", file->path, EISDIR);
    }
    file->name = strdup(name);
    if (file->name == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a path");
    return open_directory(file, error);
}

static zf_status check_target(zf_output_file *file, zf_error *error) {
    struct stat status;
    if (fstatat(file->directory, file->name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? ZF_OK : zf_raise_system(error, ZF_E_CREATE_FAILED, "look at", file->path, errno);
    }
    // A link that leads to nothing with a name, a pipe perhaps, is no file that could be replaced.
    if (!S_ISREG(status.st_mode) && (file->overwrite || !S_ISLNK(status.st_mode))) {
        zf_status failure = zf_raise(error, ZF_E_EXISTS, "%.256s exists and is not a regular file", file->path);
        return zf_fail_place(error, failure, "%s", file->path);
    }
    if (S_ISREG(status.st_mode)) file->mode = status.st_mode & 07777;
    if (file->overwrite) return ZF_OK;
    zf_status failure = zf_raise(error, ZF_E_EXISTS, "%.256s exists already", file->path);
    zf_fail_place(error, failure, "%s", file->path);
    return zf_fail_hint(error, failure, "choose another name, or allow overwriting it (zfc: -f)");
}

/// A name that no other process makes at the same time: hidden, and random.
static bool make_temporary_name(zf_output_file *file) {
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) return false;
    snprintf(file->temporary, sizeof file->temporary, ".%.24s.%016llx.part", file->name, (unsigned long long)random);
    return true;
}

/// Whether a file without a name can be given one later: that goes through /proc.
static bool can_be_named(int fd) {
    char link[64];
    struct stat by_name, by_fd;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return stat(link, &by_name) == 0 && fstat(fd, &by_fd) == 0 && by_name.st_ino == by_fd.st_ino &&
           by_name.st_dev == by_fd.st_dev;
}

static zf_status open_file(zf_output_file *file, bool named, zf_error *error) {
    if (!named) {
        file->fd = openat(file->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
        if (file->fd >= 0 && can_be_named(file->fd)) return ZF_OK;
        if (file->fd >= 0) close(file->fd);
        // The file system has no such files, or something stands in the way that the next attempt will tell.
    }
    for (unsigned attempt = 0; attempt < 16; attempt++) {
        if (!make_temporary_name(file)) break;
        file->fd = openat(file->directory, file->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
        if (file->fd >= 0) return ZF_OK;
        if (errno != EEXIST) break;
    }
    int number = errno;
    file->temporary[0] = 0;
    return zf_raise_system(error, ZF_E_CREATE_FAILED, "make a file beside", file->path, number);
}

zf_status zf_output_create(const char *path, zf_output_options options, zf_output_file **out, zf_error *error) {
    *out = NULL;
    zf_output_file *file = calloc(1, sizeof *file);
    if (file == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a file");
    file->directory = file->fd = -1;
    file->overwrite = options.overwrite;
    // A link is followed: what it leads to is replaced, not the link.
    file->path = options.overwrite ? realpath(path, NULL) : NULL;
    if (file->path == NULL) file->path = strdup(path);
    zf_status status = file->path != NULL ? ZF_OK : zf_raise(error, ZF_E_NO_MEMORY, "no memory for a path");
    if (status == ZF_OK) status = start_path(file, error);
    if (status == ZF_OK) status = check_target(file, error);
    if (status == ZF_OK) status = open_file(file, options.named, error);
    if (status != ZF_OK) {
        zf_output_free(file);
        return status;
    }
    *out = file;
    return ZF_OK;
}

zf_status zf_output_write(zf_output_file *file, uint64_t offset, const void *bytes, size_t size, zf_error *error) {
    const char *from = bytes;
    file->synced = false;
    while (size > 0) {
        // The kernel takes at most 2 GiB at a time, and may take less.
        size_t part = size < ((size_t)1 << 30) ? size : (size_t)1 << 30;
        ssize_t written = pwrite(file->fd, from, part, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            int number = written < 0 ? errno : ENOSPC;
            zf_status status = zf_raise_system(error, ZF_E_WRITE_FAILED, "write", file->path, number);
            return zf_fail_place(error, status, "%s, byte %llu", file->path, (unsigned long long)offset);
        }
        from += written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
    return ZF_OK;
}

/// Gives the file without a name one that does not exist yet. Returns 0, or an error number.
static int name_file(const zf_output_file *file, const char *name) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file->fd);
    return linkat(AT_FDCWD, link, file->directory, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/// Renames without replacing. Where the file system cannot, a second link does the same in two steps.
static int rename_new(zf_output_file *file) {
    if (renameat2(file->directory, file->temporary, file->directory, file->name, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (linkat(file->directory, file->temporary, file->directory, file->name, 0) != 0) return errno;
    unlinkat(file->directory, file->temporary, 0);
    return 0;
}

/// Gives the file without a name a temporary one. Returns 0, or an error number.
static int name_temporarily(zf_output_file *file) {
    int number = make_temporary_name(file) ? name_file(file, file->temporary) : EAGAIN;
    if (number != 0) file->temporary[0] = 0;
    return number;
}

static int give_name(zf_output_file *file) {
    int number = 0;
    if (file->temporary[0] == 0) {
        number = name_file(file, file->name);
        if (number != EEXIST || !file->overwrite) return number;
        // To replace a file there must be a name to rename from.
        number = name_temporarily(file);
        if (number != 0) return number;
    }
    if (file->overwrite) {
        number = renameat(file->directory, file->temporary, file->directory, file->name) == 0 ? 0 : errno;
    } else {
        number = rename_new(file);
    }
    if (number == 0) file->temporary[0] = 0;
    return number;
}

zf_status zf_output_sync(zf_output_file *file, zf_error *error) {
    // A file keeps its mode when it is replaced; where that is not allowed, the usual one will do.
    if (file->mode != 0 && fchmod(file->fd, file->mode & 0777) != 0 && errno != EPERM) {
        return zf_raise_system(error, ZF_E_WRITE_FAILED, "set the mode of", file->path, errno);
    }
    if (fsync(file->fd) != 0) return zf_raise_system(error, ZF_E_WRITE_FAILED, "write", file->path, errno);
    file->synced = true;
    return ZF_OK;
}

zf_status zf_output_park(zf_output_file *file, zf_error *error) {
    if (file->parked != NULL) return ZF_OK;
    if (!file->synced) ZF_TRY(zf_output_sync(file, error));
    int number = file->temporary[0] == 0 ? name_temporarily(file) : 0;
    if (number != 0) return zf_raise_system(error, ZF_E_CREATE_FAILED, "make a file beside", file->path, number);
    char *directory = directory_of(file), *path = NULL;
    size_t size = directory != NULL ? strlen(directory) + sizeof file->temporary + 1 : 0;
    if (directory != NULL) path = malloc(size);
    if (path != NULL) snprintf(path, size, "%s/%s", directory, file->temporary);
    free(directory);
    if (path == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a path");
    file->parked = path;
    close(file->fd);
    close(file->directory);
    file->fd = file->directory = -1;
    return ZF_OK;
}

zf_status zf_output_commit(zf_output_file *file, zf_error *error) {
    if (file->parked != NULL) {
        ZF_TRY(open_directory(file, error));
        free(file->parked);
        file->parked = NULL;
    }
    if (!file->synced) ZF_TRY(zf_output_sync(file, error));
    int number = give_name(file);
    if (number == EEXIST) {
        zf_status status = zf_raise(error, ZF_E_EXISTS, "another process made %.256s meanwhile", file->path);
        return zf_fail_place(error, status, "%s", file->path);
    }
    if (number != 0) return zf_raise_system(error, ZF_E_COMMIT_FAILED, "rename the finished file to", file->path, number);
    // Network file systems report a full disk at the latest when a file is synced, so the result of closing is ignored.
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
    // The name must survive a crash, too. File systems that cannot sync a directory say EINVAL.
    int failed = fsync(file->directory) != 0 && errno != EINVAL ? errno : 0;
    close(file->directory);
    file->directory = -1;
    if (failed != 0) {
        zf_status status = zf_raise_system(error, ZF_E_NAME_NOT_SYNCED, "sync the directory of", file->path, failed);
        return zf_fail_hint(error, status, "the file is complete and has its name, but may lose it if the machine fails now");
    }
    return ZF_OK;
}

void zf_output_abandon(const zf_output_file *file) {
    if (file->parked != NULL)
        unlink(file->parked);
    else if (file->temporary[0] != 0)
        unlinkat(file->directory, file->temporary, 0);
}

void zf_output_free(zf_output_file *file) {
    if (file == NULL) return;
    zf_output_abandon(file);
    if (file->fd >= 0) close(file->fd);
    if (file->directory >= 0) close(file->directory);
    free(file->parked);
    free(file->name);
    free(file->path);
    free(file);
}
