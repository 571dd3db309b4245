#include "zfc/data/files_read.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "zfc/driver_codes.h"

zf_status zf_files_note(zf_files_read *read, const char *path, zf_error *error) {
    struct stat status;
    if (stat(path, &status) != 0) return ZF_OK;
    if (read->count == read->capacity) {
        size_t capacity = 2 * read->capacity + 16;
        zf_file_read *files = realloc(read->files, capacity * sizeof *files);
        if (!files) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to read %.256s", path);
        read->files = files;
        read->capacity = capacity;
    }
    read->files[read->count++] = (zf_file_read){path, status};
    return ZF_OK;
}

static bool is_same(const struct stat *a, const struct stat *b) { return a->st_dev == b->st_dev && a->st_ino == b->st_ino; }

zf_status zf_files_guard(const zf_files_read *read, const char *path, zf_error *error) {
    struct stat status;
    if (!read || stat(path, &status) != 0) return ZF_OK;
    for (size_t i = 0; i < read->count; i++) {
        if (!is_same(&read->files[i].status, &status)) continue;
        zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "the output %.256s is also an input", path);
        zf_fail_place(error, ZF_ERR_USAGE, "%s", read->files[i].path);
        return zf_fail_hint(error, ZF_ERR_USAGE, "choose another place for the output");
    }
    return ZF_OK;
}

zf_status zf_files_unchanged(const zf_files_read *read, zf_error *error) {
    for (size_t i = 0; i < read->count; i++) {
        const zf_file_read *file = &read->files[i];
        const struct stat *was = &file->status;
        struct stat now;
        if (!S_ISREG(was->st_mode)) continue; // pipes and terminals have neither size nor age
        if (stat(file->path, &now) == 0 && is_same(was, &now) && was->st_size == now.st_size &&
            was->st_mtim.tv_sec == now.st_mtim.tv_sec && was->st_mtim.tv_nsec == now.st_mtim.tv_nsec) {
            continue;
        }
        zf_status status = zf_raise(error, ZF_E_FILE_CHANGED, "the file changed while it was read");
        zf_fail_place(error, status, "%s", file->path);
        return zf_fail_hint(error, status, "encode it when nobody writes to it");
    }
    return ZF_OK;
}

/// The directory of a path; false where there is none.
static bool stat_directory(const char *path, struct stat *out) {
    const char *slash = strrchr(path, '/');
    char *directory = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    bool found = directory != NULL && stat(directory, out) == 0;
    free(directory);
    return found;
}

bool zf_files_same(const char *one, const char *other) {
    struct stat a, b;
    bool has_one = stat(one, &a) == 0, has_other = stat(other, &b) == 0;
    if (has_one || has_other) return has_one && has_other && is_same(&a, &b);
    const char *one_slash = strrchr(one, '/'), *other_slash = strrchr(other, '/');
    const char *one_name = one_slash != NULL ? one_slash + 1 : one, *other_name = other_slash != NULL ? other_slash + 1 : other;
    if (strcmp(one_name, other_name) != 0) return false;
    return strcmp(one, other) == 0 || (stat_directory(one, &a) && stat_directory(other, &b) && is_same(&a, &b));
}

void zf_files_free(zf_files_read *read) {
    free(read->files);
    *read = (zf_files_read){0};
}
