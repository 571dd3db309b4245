// Arenas: memory owned by a lifetime. Everything that a compilation builds is allocated from one arena and goes with it.
#ifndef ZF_RUNTIME_ARENA_H
#define ZF_RUNTIME_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zf_arena zf_arena;

/// Creates an arena; NULL: no memory. The caller destroys it.
zf_arena *zf_arena_create(void);
/// Frees the arena and everything that was allocated from it.
void zf_arena_destroy(zf_arena *arena);

/// Allocates `size` zeroed bytes, aligned for any type; they live as long as the arena. Without memory it jumps to the arena's
/// escape
/// (`zf_arena_set_escape`), or returns NULL where there is none.
void *zf_arena_alloc(zf_arena *arena, size_t size);

/// Sets the `jmp_buf *` (as void *) to jump to when memory runs out; NULL: none.
void zf_arena_set_escape(zf_arena *arena, void *jump);

/// Copy or format a text; the result ends with a 0 and lives as long as the arena.
char *zf_arena_copy(zf_arena *arena, const char *text, size_t length);
char *zf_arena_printf(zf_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *zf_arena_vprintf(zf_arena *arena, const char *format, va_list arguments);

/// Returns the bytes allocated so far, the measure of limits on input.
size_t zf_arena_used(const zf_arena *arena);

#define ZF_NEW(arena, type) ((type *)zf_arena_alloc((arena), sizeof(type)))
#define ZF_NEW_ARRAY(arena, type, count) ((type *)zf_arena_alloc((arena), sizeof(type) * (count)))

#endif
