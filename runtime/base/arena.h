// Arenas: memory owned by a lifetime. Everything that a compilation builds is allocated from one arena and goes with it.
#ifndef ZF_BASE_ARENA_H
#define ZF_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zf_arena zf_arena;

/// A new arena, or NULL when there is no memory.
zf_arena *zf_arena_create(void);
void zf_arena_destroy(zf_arena *arena);

/// `size` zeroed bytes aligned for any type, which live as long as the arena. When memory runs out the arena calls its
/// escape (see `zf_arena_set_escape`); without one it returns NULL.
void *zf_arena_alloc(zf_arena *arena, size_t size);

/// Where to go when memory runs out: a `jmp_buf *` (as void *) that the owner of the arena has set. May be NULL.
void zf_arena_set_escape(zf_arena *arena, void *jump);

/// Copies of text, with a 0 behind it.
char *zf_arena_copy(zf_arena *arena, const char *text, size_t length);
char *zf_arena_printf(zf_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *zf_arena_vprintf(zf_arena *arena, const char *format, va_list arguments);

/// Bytes handed out so far: what limits on input are measured by.
size_t zf_arena_used(const zf_arena *arena);

#define ZF_NEW(arena, type) ((type *)zf_arena_alloc((arena), sizeof(type)))
#define ZF_NEW_ARRAY(arena, type, count) ((type *)zf_arena_alloc((arena), sizeof(type) * (count)))

#endif
