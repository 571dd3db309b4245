// Sources that are no files: memory, and a function of the caller.
#include "runtime/container/byte_source.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"

typedef unsigned long long ull;

// ---- Memory ---------------------------------------------------------------------------------------------------

static zf_status read_memory(const zf_byte_source *source, uint64_t offset, uint64_t bytes, uint8_t *to, const char *where,
                             zf_error *error) {
    if (offset > source->size || bytes > source->size - offset) {
        zf_status status = zf_raise(error, ZF_E_INTERNAL, "a read of %llu bytes leaves the container", (ull)bytes);
        return zf_byte_source_place(source, offset, where, status, error);
    }
    if (bytes > 0) memcpy(to, source->bytes + offset, bytes);
    return ZF_OK;
}

static void close_memory(zf_byte_source *source) { free(source->copy); }

static const zf_byte_source_ops memory_ops = {.read = read_memory, .close = close_memory};

void zf_byte_source_open_memory(zf_byte_source *source, const char *name, const void *bytes, uint64_t size) {
    *source = (zf_byte_source){.ops = &memory_ops, .name = name, .size = size, .bytes = bytes};
    if ((uintptr_t)bytes % ZF_FORMAT_ALIGNMENT == 0) source->map = bytes; // as blocks must be to be used in place
}

zf_status zf_byte_source_copy(zf_byte_source *source, zf_error *error) {
    uint64_t room = 0;
    uint8_t *copy = NULL;
    if (zf_align_up(source->size, ZF_FORMAT_ALIGNMENT, &room)) copy = aligned_alloc(ZF_FORMAT_ALIGNMENT, room);
    if (copy == NULL) {
        zf_status status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a copy of %llu bytes", (ull)source->size);
        return zf_fail_place(error, status, "%s", source->name);
    }
    zf_status status = source->ops->read(source, 0, source->size, copy, NULL, error);
    if (status != ZF_OK) {
        free(copy);
        return status;
    }
    const char *name = source->name;
    uint64_t size = source->size;
    zf_byte_source_close(source);
    zf_byte_source_open_memory(source, name, copy, size);
    source->copy = copy;
    return ZF_OK;
}

// ---- A function of the caller ---------------------------------------------------------------------------------

static zf_status read_by_caller(const zf_byte_source *source, uint64_t offset, uint64_t bytes, uint8_t *to, const char *where,
                                zf_error *error) {
    while (bytes > 0) {
        zf_error reason = {0};
        int64_t got = source->reader.read(source->reader.user, offset, to, bytes, &reason);
        zf_status status = ZF_OK;
        if (got < 0) {
            reason.message[sizeof reason.message - 1] = 0;
            status = zf_raise(error, ZF_E_READ_FAILED, "the caller's reader failed%s%.256s", reason.message[0] != 0 ? ": " : "",
                              reason.message);
        } else if (got == 0) {
            status = zf_raise(error, ZF_E_READ_FAILED, "the caller's reader ended before the %llu bytes that it announced",
                              (ull)source->size);
        } else if ((uint64_t)got > bytes) {
            status = zf_raise(error, ZF_E_READER, "the caller's reader returned %lld bytes for a read of %llu", (long long)got,
                              (ull)bytes);
        }
        if (status != ZF_OK) return zf_byte_source_place(source, offset, where, status, error);
        to += got;
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return ZF_OK;
}

static const zf_byte_source_ops reader_ops = {.read = read_by_caller};

void zf_byte_source_open_reader(zf_byte_source *source, const char *name, const zf_byte_reader *reader) {
    *source = (zf_byte_source){.ops = &reader_ops, .name = name, .size = reader->bytes, .reader = *reader};
}

// ---- Any ------------------------------------------------------------------------------------------------------

void zf_byte_source_close(zf_byte_source *source) {
    if (source->ops != NULL && source->ops->close != NULL) source->ops->close(source);
    *source = (zf_byte_source){0};
}

zf_status zf_byte_source_read_run(zf_byte_source *source, uint64_t offset, uint64_t bytes, uint8_t *to, const char *where,
                                  zf_error *error) {
    if (source->ops->read_run != NULL) return source->ops->read_run(source, offset, bytes, to, where, error);
    return source->ops->read(source, offset, bytes, to, where, error);
}

zf_status zf_byte_source_place(const zf_byte_source *source, uint64_t offset, const char *where, zf_status status,
                               zf_error *error) {
    if (where != NULL) return zf_fail_place(error, status, "%s, byte %llu", where, (ull)offset);
    return zf_fail_place(error, status, "%s: byte %llu", source->name, (ull)offset);
}

zf_status zf_byte_source_unchanged(const zf_byte_source *source, zf_error *error) {
    return source->ops->unchanged != NULL ? source->ops->unchanged(source, error) : ZF_OK;
}
