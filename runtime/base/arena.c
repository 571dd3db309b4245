#include "runtime/base/arena.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A chunk of memory; its payload follows it, aligned for any type.
typedef struct chunk {
    struct chunk *next;
    size_t size;
} chunk;

enum { ALIGNMENT = alignof(max_align_t), CHUNK_SIZE = 64 << 10 };
#define HEADER ((sizeof(chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

struct zf_arena {
    chunk *chunks; // the newest first
    char *free;    // the free rest of the newest chunk of ordinary size
    size_t left;
    size_t used;
    jmp_buf *escape;
};

zf_arena *zf_arena_create(void) { return calloc(1, sizeof(zf_arena)); }

void zf_arena_destroy(zf_arena *arena) {
    if (!arena) return;
    for (chunk *c = arena->chunks; c;) {
        chunk *next = c->next;
        free(c);
        c = next;
    }
    free(arena);
}

void zf_arena_set_escape(zf_arena *arena, void *jump) { arena->escape = jump; }

size_t zf_arena_used(const zf_arena *arena) { return arena->used; }

static void *out_of_memory(zf_arena *arena) {
    if (arena->escape) longjmp(*arena->escape, 1);
    return NULL;
}

static char *add_chunk(zf_arena *arena, size_t size) {
    chunk *c = calloc(1, HEADER + size); // zeroed here, once, so that every allocation is
    if (!c) return NULL;
    c->size = size;
    c->next = arena->chunks;
    arena->chunks = c;
    return (char *)c + HEADER;
}

void *zf_arena_alloc(zf_arena *arena, size_t size) {
    if (size > SIZE_MAX / 2) return out_of_memory(arena);
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size == 0) size = ALIGNMENT;
    arena->used += size;
    if (size > arena->left) {
        if (size > CHUNK_SIZE / 4) { // a chunk of its own, so that the rest of the current one is not lost
            char *big = add_chunk(arena, size);
            return big ? big : out_of_memory(arena);
        }
        char *fresh = add_chunk(arena, CHUNK_SIZE);
        if (!fresh) return out_of_memory(arena);
        arena->free = fresh;
        arena->left = CHUNK_SIZE;
    }
    void *result = arena->free;
    arena->free += size;
    arena->left -= size;
    return result;
}

char *zf_arena_copy(zf_arena *arena, const char *text, size_t length) {
    char *copy = zf_arena_alloc(arena, length + 1);
    if (copy && length > 0) memcpy(copy, text, length);
    return copy;
}

char *zf_arena_vprintf(zf_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : zf_arena_alloc(arena, (size_t)length + 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *zf_arena_printf(zf_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = zf_arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}
