// zf_chunks_find: the parts of a file, one behind the other, become chunks. A chunk has rows, so parts without any go with
// others.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/chunks/chunk_finder.h"

zf_status zf_chunk_finder_refuse(const zf_chunk_finder *finder, uint64_t byte, zf_error *error, const char *format, ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    zf_status status = zf_raise(error, ZF_E_CHUNK_FILE, "%s", message);
    return zf_fail_place(error, status, "%.200s, byte %llu", finder->name, (unsigned long long)byte);
}

zf_status zf_chunk_finder_open(zf_chunk_finder *finder, const char *why, zf_error *error) {
    if (finder->plain != NULL) return ZF_OK;
    pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER; // nobody else sees the library's row
    finder->library = finder->format->library;
    if (!zf_shared_library_open(&finder->library, &alone)) {
        zf_status status =
            zf_raise(error, ZF_E_CHUNK_LIBRARY, "%s is needed to find %s: %s", finder->library.file, why, finder->library.why);
        zf_fail_place(error, status, "%.200s", finder->name);
        return zf_fail_hint(error, status, "install Debian's package %s, or the library by other means", finder->library.package);
    }
    finder->plain = malloc(ZF_CHUNK_FINDER_ROOM);
    return finder->plain != NULL ? ZF_OK : zf_raise_no_memory(error);
}

static const zf_chunk_format *format_of(const uint8_t *bytes, uint64_t size) {
    static const zf_chunk_format *const formats[] = {&zf_chunks_of_gzip, &zf_chunks_of_zstd};
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++)
        if (formats[k]->begins(bytes, size)) return formats[k];
    return NULL;
}

typedef struct chunk_list {
    zf_wrapped_chunk *chunks;
    size_t count, room;
} chunk_list;

static zf_status add_chunk(chunk_list *list, const uint8_t *bytes, uint64_t size, uint64_t rows, zf_error *error) {
    if (list->count == list->room) {
        size_t room = 2 * list->room + 64;
        zf_wrapped_chunk *grown = realloc(list->chunks, room * sizeof *grown);
        if (grown == NULL) return zf_raise_no_memory(error);
        list->chunks = grown;
        list->room = room;
    }
    list->chunks[list->count++] = (zf_wrapped_chunk){bytes, size, rows};
    return ZF_OK;
}

static zf_status find_chunks(zf_chunk_finder *finder, chunk_list *list, zf_error *error) {
    uint64_t begin = 0; // of the next chunk
    for (zf_chunk_part part = {0}; part.begin < finder->size; part.begin = part.end) {
        part.rows = 0;
        ZF_TRY(finder->format->find(finder, &part, error));
        if (part.rows == 0) continue;
        ZF_TRY(add_chunk(list, finder->bytes + begin, part.end - begin, part.rows, error));
        begin = part.end;
    }
    if (list->count == 0) return zf_chunk_finder_refuse(finder, 0, error, "the file decodes to no bytes: a chunk needs rows");
    list->chunks[list->count - 1].size += finder->size - begin;
    return ZF_OK;
}

zf_status zf_chunks_find(const char *name, const void *bytes, uint64_t size, const void *dictionary, uint64_t dictionary_size,
                         zf_wrapped_chunk **chunks, size_t *chunk_count, zf_error *error) {
    if (name == NULL || chunks == NULL || chunk_count == NULL || (bytes == NULL && size > 0))
        return zf_raise(error, ZF_E_ARGUMENT, "zf_chunks_find needs a name, bytes, and where the chunks go");
    *chunks = NULL;
    *chunk_count = 0;
    zf_chunk_finder finder = {
        .name = name, .bytes = bytes, .size = size, .dictionary = dictionary, .dictionary_size = dictionary_size};
    if (size == 0) return zf_chunk_finder_refuse(&finder, 0, error, "the file is empty");
    finder.format = format_of(bytes, size);
    if (finder.format == NULL) {
        zf_status status = zf_chunk_finder_refuse(&finder, 0, error, "the file begins neither as gzip nor as zstd");
        return zf_fail_hint(error, status, "chunks of other formats need their sizes");
    }
    chunk_list list = {0};
    zf_status status = find_chunks(&finder, &list, error);
    if (finder.decoder != NULL) finder.format->release(&finder);
    zf_shared_library_close(&finder.library);
    free(finder.plain);
    if (status != ZF_OK) {
        free(list.chunks);
        return status;
    }
    *chunks = list.chunks;
    *chunk_count = list.count;
    return ZF_OK;
}

void zf_chunks_free(zf_wrapped_chunk *chunks) { free(chunks); }
