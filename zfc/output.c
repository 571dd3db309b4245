#include "zfc/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "runtime/base/error_codes.h"
#include "zfc/driver_codes.h"
#include "zfc/signals.h"

zf_status zf_sink_open(const char *path, bool overwrite, zf_sink *out, zf_error *error) {
    *out = (zf_sink){0};
    return zf_output_create(path, (zf_output_options){.overwrite = overwrite}, &out->file, error);
}

zf_status zf_sink_write(zf_sink *sink, const void *bytes, size_t length, zf_error *error) {
    ZF_TRY(zf_output_write(sink->file, sink->offset, bytes, length, error));
    sink->offset += length;
    return ZF_OK;
}

// ---- Groups ----

static zf_status add_output(zf_outputs *outputs, const char *path, zf_sink *out, zf_error *error) {
    if (outputs->count == outputs->capacity) {
        size_t capacity = outputs->capacity * 2 + 16;
        zf_output_file **files = realloc(outputs->files, capacity * sizeof *files);
        if (!files) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to write %.256s", path);
        outputs->files = files;
        outputs->capacity = capacity;
    }
    ZF_TRY(zf_files_guard(outputs->read, path, error));
    ZF_TRY(zf_sink_open(path, outputs->overwrite, out, error));
    outputs->files[outputs->count++] = out->file;
    return ZF_OK;
}

zf_status zf_outputs_open(zf_outputs *outputs, const char *path, zf_sink *out, zf_error *error) {
    sigset_t before;
    zf_signals_pause(&before);
    zf_status status = add_output(outputs, path, out, error);
    zf_signals_resume(&before);
    return status;
}

/// Files of a group that may hold descriptors: half of all descriptors are for others.
static size_t open_most(void) {
    enum { DESCRIPTORS = 2, MOST = 4096 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / 2 / DESCRIPTORS > MOST) return MOST;
    return (size_t)limit.rlim_cur / 2 / DESCRIPTORS;
}

zf_status zf_outputs_finished(zf_outputs *outputs, zf_error *error) {
    if (outputs->count - outputs->parked < open_most()) return ZF_OK;
    sigset_t before;
    zf_signals_pause(&before);
    zf_status status = ZF_OK;
    while (outputs->parked < outputs->count && status == ZF_OK) {
        status = zf_output_park(outputs->files[outputs->parked], error);
        if (status == ZF_OK) outputs->parked++;
    }
    zf_signals_resume(&before);
    return status;
}

zf_status zf_outputs_commit(zf_outputs *outputs, zf_error *error) {
    sigset_t before;
    zf_signals_pause(&before); // also so that no interrupt leaves some with their names and some without
    zf_status status = ZF_OK;
    // A full disk shows here, before any file has its name.
    for (size_t i = outputs->parked; i < outputs->count && status == ZF_OK; i++)
        status = zf_output_sync(outputs->files[i], error);
    zf_status unsynced = ZF_OK; // of the first name that may be lost; the files are complete, and so the others get theirs
    for (size_t i = 0; i < outputs->count && status == ZF_OK; i++) {
        zf_error failure;
        status = zf_output_commit(outputs->files[i], &failure);
        bool is_lasting = status != ZF_OK && !zf_error_is(&failure, ZF_E_NAME_NOT_SYNCED);
        if (status != ZF_OK && (is_lasting || unsynced == ZF_OK)) *error = failure;
        if (status == ZF_OK || is_lasting) continue;
        unsynced = status;
        status = ZF_OK;
    }
    if (status == ZF_OK) status = unsynced;
    zf_signals_resume(&before);
    return status;
}

void zf_outputs_free(zf_outputs *outputs) {
    sigset_t before;
    zf_signals_pause(&before);
    for (size_t i = 0; i < outputs->count; i++) zf_output_free(outputs->files[i]);
    free(outputs->files);
    *outputs = (zf_outputs){0};
    zf_signals_resume(&before);
}

void zf_allow_many_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); // where it is refused, a table of many columns tells when files run out
}

zf_status zf_output_directory(const char *directory, bool *made, zf_error *error) {
    sigset_t before;
    zf_signals_pause(&before);
    *made = mkdir(directory, 0777) == 0;
    int number = errno;
    if (*made) zf_signals_remove_directory(directory);
    zf_signals_resume(&before);
    if (*made) return ZF_OK;
    struct stat existing;
    if (number == EEXIST && stat(directory, &existing) == 0 && !S_ISDIR(existing.st_mode))
        return zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_WRITE, "%s is a file: -o names a directory", directory);
    if (number == EEXIST) return ZF_OK;
    return zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_WRITE, "cannot make directory %s: %s", directory, strerror(number));
}

zf_status zf_write_file(const char *path, const void *bytes, size_t length, bool overwrite, zf_error *error) {
    zf_sink sink;
    zf_status status = zf_sink_open(path, overwrite, &sink, error);
    if (status == ZF_OK) status = zf_sink_write(&sink, bytes, length, error);
    if (status == ZF_OK) status = zf_output_commit(sink.file, error);
    zf_output_free(sink.file);
    return status;
}
