// Opening a container: header, footer and index are read into memory. Nothing that the file says is used before it was compared
// with the file's size and with the rest of what it says.
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/sized.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_open.h"
#include "runtime/context/context.h"
#include "runtime/module/module_format.h"

typedef unsigned long long ull;

#define REFUSE(c, code, byte, ...)                                                                                               \
    zf_fail_place(error, zf_raise(error, code, __VA_ARGS__), "%s: byte %llu", (c)->path, (ull)(byte))

// ---- Opening --------------------------------------------------------------------------------------------------

enum { TAIL_BYTES = 65536 };

/// The end of a container whose reader may be far away: it is requested once, and the rest of the index once more.
typedef struct file_end {
    uint8_t *bytes; ///< NULL: none, the source is near
    uint64_t at;    ///< in the file, whose end it reaches
} file_end;

static zf_status read_tail(const zf_container *c, file_end *out, zf_error *error) {
    *out = (file_end){0};
    if (c->source.reader.read == NULL || c->source.size == 0) return ZF_OK;
    uint64_t bytes = c->source.size < TAIL_BYTES ? c->source.size : TAIL_BYTES;
    out->at = c->source.size - bytes;
    out->bytes = malloc(bytes);
    if (out->bytes == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the end of a container");
    return c->source.ops->read(&c->source, out->at, bytes, out->bytes, NULL, error);
}

/// Reads bytes of the file: from the tail what it has.
static zf_status read_opening(const zf_container *c, const file_end *end, uint64_t offset, uint64_t bytes, uint8_t *to,
                              zf_error *error) {
    uint64_t before = bytes;
    if (end->bytes != NULL && offset + bytes > end->at) {
        before = offset < end->at ? end->at - offset : 0;
        memcpy(to + before, end->bytes + (offset + before - end->at), bytes - before);
    }
    return before == 0 ? ZF_OK : c->source.ops->read(&c->source, offset, before, to, NULL, error);
}

static zf_status check_version(zf_container *c, uint64_t at, uint32_t version, zf_error *error) {
    c->index.version = version;
    if (version >= ZF_FORMAT_OLDEST && version <= ZF_FORMAT_VERSION) return ZF_OK;
    zf_status status = REFUSE(c, ZF_E_CONTAINER_VERSION, at, "a container of version %u; this build reads versions %u to %u",
                              version, ZF_FORMAT_OLDEST, ZF_FORMAT_VERSION);
    return zf_fail_hint(error, status, "read it with the zipflow that wrote it, or a newer one");
}

static zf_status read_header(zf_container *c, const file_end *end, zf_error *error) {
    uint8_t header[ZF_FORMAT_HEADER_BYTES];
    uint64_t size = c->source.size < sizeof header ? c->source.size : sizeof header;
    ZF_TRY(read_opening(c, end, 0, size, header, error));
    if (size >= 8 && memcmp(header, ZF_MODULE_MAGIC, 8) == 0) {
        zf_status status = REFUSE(c, ZF_E_NOT_A_CONTAINER, 0, "%.256s is a module, not a container", c->path);
        return zf_fail_hint(error, status, "zfc takes modules with --module, beside the .zfd file that they decode");
    }
    if (size < 8 || memcmp(header, ZF_FORMAT_MAGIC, 8) != 0) {
        zf_status status = REFUSE(c, ZF_E_NOT_A_CONTAINER, 0, "%.256s is not a zipflow container", c->path);
        if (size == 0) return zf_fail_hint(error, status, "the file is empty");
        return status;
    }
    if (size < sizeof header) return REFUSE(c, ZF_E_CONTAINER_CUT, size, "the file ends within its header");
    ZF_TRY(check_version(c, 8, zf_load32(header + 8), error));
    for (size_t i = 12; i < sizeof header; i++) {
        if (header[i] != 0) return REFUSE(c, ZF_E_CONTAINER_FOOTER, i, "the header has bytes that are not 0");
    }
    return ZF_OK;
}

/// Finds the index by the footer.
static zf_status read_footer(zf_container *c, const file_end *end, uint64_t *checksum, zf_error *error) {
    uint8_t footer[ZF_FORMAT_FOOTER_BYTES];
    if (c->source.size < ZF_FORMAT_HEADER_BYTES + sizeof footer) {
        return REFUSE(c, ZF_E_CONTAINER_CUT, c->source.size, "the file ends before its footer");
    }
    uint64_t at = c->source.size - sizeof footer;
    ZF_TRY(read_opening(c, end, at, sizeof footer, footer, error));
    if (memcmp(footer + 56, ZF_FORMAT_END_MAGIC, 8) != 0) {
        return REFUSE(c, ZF_E_CONTAINER_CUT, c->source.size - 8, "the file was cut short, or has bytes behind its end");
    }
    if (zf_load64(footer + 48) != XXH3_64bits(footer, 48)) {
        return REFUSE(c, ZF_E_CONTAINER_FOOTER, at, "the footer's checksum does not match");
    }
    if (c->index.version == 0) ZF_TRY(check_version(c, at + 32, zf_load32(footer + 32), error));
    if (zf_load32(footer + 32) != c->index.version || zf_load32(footer + 36) != 0 || zf_load64(footer + 40) != 0) {
        return REFUSE(c, ZF_E_CONTAINER_VERSION, at + 32, "the footer is of another version than the header");
    }
    c->index_offset = zf_load64(footer);
    c->index_bytes = zf_load64(footer + 8);
    *checksum = zf_load64(footer + 16);
    if (zf_load64(footer + 24) != c->source.size) {
        return REFUSE(c, ZF_E_CONTAINER_CUT, at + 24, "the file has %llu bytes and was written with %llu", (ull)c->source.size,
                      (ull)zf_load64(footer + 24));
    }
    if (c->index_offset < ZF_FORMAT_HEADER_BYTES || c->index_offset % ZF_FORMAT_ALIGNMENT != 0 || c->index_offset > at ||
        c->index_bytes != at - c->index_offset) {
        return REFUSE(c, ZF_E_CONTAINER_FOOTER, at, "the index cannot have %llu bytes at byte %llu", (ull)c->index_bytes,
                      (ull)c->index_offset);
    }
    return ZF_OK;
}

/// Whether the end of a file that is far away shows that it is a container, so that its header need not be read.
static bool ends_as_container(const zf_container *c, const file_end *end) {
    if (end->bytes == NULL || end->at == 0) return false;
    return memcmp(end->bytes + (c->source.size - end->at) - 8, ZF_FORMAT_END_MAGIC, 8) == 0;
}

static zf_status read_index(zf_container *c, const file_end *end, uint64_t checksum, zf_error *error) {
    uint8_t *bytes = malloc(c->index_bytes == 0 ? 1 : c->index_bytes); // at most the file's size
    c->arena = zf_arena_create();
    zf_status status = ZF_OK;
    if (bytes == NULL || c->arena == NULL) status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for the index");
    if (status == ZF_OK) status = read_opening(c, end, c->index_offset, c->index_bytes, bytes, error);
    if (status == ZF_OK && XXH3_64bits(bytes, c->index_bytes) != checksum) {
        status = REFUSE(c, ZF_E_INDEX_CHECKSUM, c->index_offset, "the index's checksum does not match");
    }
    if (status == ZF_OK)
        status = zf_index_read(c->arena, c->index.version, bytes, c->index_bytes, c->index_offset, c->path, &c->index, error);
    if (status == ZF_OK) c->identity = zf_unit_identify(c->index.unit, c->index.unit_length);
    free(bytes);
    return status;
}

// ---- The three ways to open it --------------------------------------------------------------------------------

/// A container without a source, whose name is copied.
static zf_status new_container(zf_context *context, const char *name, const zf_open_options *how, zf_container **out,
                               zf_error *error) {
    if (how->programs > ZF_PROGRAMS_KNOWN)
        return zf_raise(error, ZF_E_ARGUMENT, "`programs` of the options is %zu, which is no zf_programs", how->programs);
    zf_container *c = calloc(1, sizeof *c);
    if (c != NULL) c->path = strdup(name);
    if (c == NULL || c->path == NULL) {
        free(c);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container");
    }
    c->context = context;
    c->known_only = how->programs == ZF_PROGRAMS_KNOWN;
    c->serial = zf_context_container_serial(context);
    *out = c;
    return ZF_OK;
}

/// Reads what is not blocks of a container whose source is open. Copies or maps the source if `how` says so, once its size is
/// known to be right. Closes the container after a failure.
static zf_status open_all(zf_container *c, zf_status opened, const zf_open_options *how, zf_container **out, zf_error *error) {
    uint64_t checksum = 0;
    file_end end = {0};
    zf_status status = opened;
    if (status == ZF_OK) status = read_tail(c, &end, error);
    if (status == ZF_OK && !ends_as_container(c, &end)) status = read_header(c, &end, error);
    if (status == ZF_OK) status = read_footer(c, &end, &checksum, error);
    if (status == ZF_OK && how->copy) status = zf_byte_source_copy(&c->source, error);
    if (status == ZF_OK) status = read_index(c, &end, checksum, error);
    free(end.bytes);
    if (status == ZF_OK && how->map != 0) status = zf_byte_source_map_file(&c->source, error);
    if (status != ZF_OK) {
        zf_container_close(c);
        return status;
    }
    c->open = true;
    zf_context_log(c->context, ZF_LOG_DEBUG, "opened %s: %llu rows, %u columns", c->path, (ull)c->index.rows,
                   c->index.column_count);
    *out = c;
    return ZF_OK;
}

/// `function`: what the caller called.
static zf_status open_file(zf_context *context, const char *path, const zf_open_options *options, const char *function,
                           zf_container **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    if (context == NULL || path == NULL || out == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT, "%s needs a context, a path and a place for the container", function);
    }
    zf_container *c = NULL;
    zf_open_options how;
    ZF_TRY(ZF_TAKE(zf_open_options, &how, options, error));
    if (how.name != NULL) return zf_raise(error, ZF_E_ARGUMENT, "the name of a file is its path: leave `name` NULL");
    if (how.copy && how.map != 0) return zf_raise(error, ZF_E_ARGUMENT, "a file is copied or mapped, not both");
    ZF_TRY(new_container(context, path, &how, &c, error));
    return open_all(c, zf_byte_source_open_file(&c->source, c->path, error), &how, out, error);
}

zf_status zf_container_open(zf_context *context, const char *path, zf_container **out, zf_error *error) {
    return open_file(context, path, NULL, "zf_container_open", out, error);
}

zf_status zf_container_open_file(zf_context *context, const char *path, const zf_open_options *options, zf_container **out,
                                 zf_error *error) {
    return open_file(context, path, options, "zf_container_open_file", out, error);
}

/// Takes the options of a source that is not a file.
static zf_status take_options(const zf_open_options *options, zf_open_options *out, zf_error *error) {
    ZF_TRY(ZF_TAKE(zf_open_options, out, options, error));
    return out->map == 0 ? ZF_OK : zf_raise(error, ZF_E_ARGUMENT, "`map` is for files: zf_container_open_file");
}

zf_status zf_container_open_memory(zf_context *context, const void *bytes, uint64_t size, const zf_open_options *options,
                                   zf_container **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    if (context == NULL || (bytes == NULL && size > 0) || out == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT,
                        "zf_container_open_memory needs a context, the bytes and a place for the container");
    }
    if (size > INT64_MAX || size > UINTPTR_MAX - (uintptr_t)bytes)
        return zf_raise(error, ZF_E_ARGUMENT, "a container of %llu bytes: no memory is as large", (ull)size);
    zf_container *c = NULL;
    zf_open_options how;
    ZF_TRY(take_options(options, &how, error));
    ZF_TRY(new_container(context, how.name != NULL ? how.name : "(memory)", &how, &c, error));
    zf_byte_source_open_memory(&c->source, c->path, bytes, size);
    return open_all(c, ZF_OK, &how, out, error);
}

zf_status zf_container_open_reader(zf_context *context, const zf_byte_reader *reader, const zf_open_options *options,
                                   zf_container **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    zf_byte_reader own;
    ZF_TRY(ZF_TAKE(zf_byte_reader, &own, reader, error));
    if (context == NULL || own.read == NULL || out == NULL) {
        return zf_raise(error, ZF_E_ARGUMENT,
                        "zf_container_open_reader needs a context, a reader with a function and a place for the container");
    }
    if (own.bytes > INT64_MAX)
        return zf_raise(error, ZF_E_ARGUMENT, "a reader of %llu bytes: offsets are below 2^63", (ull)own.bytes);
    zf_container *c = NULL;
    zf_open_options how;
    ZF_TRY(take_options(options, &how, error));
    ZF_TRY(new_container(context, how.name != NULL ? how.name : "(reader)", &how, &c, error));
    zf_byte_source_open_reader(&c->source, c->path, &own);
    return open_all(c, ZF_OK, &how, out, error);
}

void zf_container_close(zf_container *c) {
    if (c == NULL) return;
    if (c->open) zf_context_forget(c->context, c);
    zf_byte_source_close(&c->source);
    if (c->loaded) zf_container_unload(c);
    if (c->arena != NULL) zf_arena_destroy(c->arena);
    free(c->path);
    free(c);
}
