// Counts the bytes that are allocated. A program that includes this is linked with --wrap for the functions below
// (tests/unit/CMakeLists.txt).
#ifndef ZF_TESTS_COUNTED_MEMORY_H
#define ZF_TESTS_COUNTED_MEMORY_H

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNTED_LEAST = 1024, COUNTED_MOST = 4096 }; ///< bytes of a piece that counts; pieces

static struct {
    void *memory;
    size_t bytes;
} counted[COUNTED_MOST]; ///< what is allocated, but for small pieces
static size_t live, now, peak;

static void add(void *memory, size_t bytes) {
    if (memory == NULL || bytes < COUNTED_LEAST) return;
    if (live == COUNTED_MOST) { // without an allocation
        static const char text[] = "more live allocations than are counted\n";
        _exit(write(STDOUT_FILENO, text, sizeof text - 1) > 0 ? 1 : 2);
    }
    counted[live].memory = memory;
    counted[live++].bytes = bytes;
    now += bytes;
    if (now > peak) peak = now;
}

static void take_away(const void *memory) {
    for (size_t k = live; memory != NULL && k-- > 0;) {
        if (counted[k].memory != memory) continue;
        now -= counted[k].bytes;
        counted[k] = counted[--live];
        return;
    }
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__real_mremap(void *at, size_t size, size_t larger, int flags, ...);
int __real_munmap(void *at, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__wrap_mremap(void *at, size_t size, size_t larger, int flags, ...);
int __wrap_munmap(void *at, size_t size);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size) {
    void *memory = __real_malloc(size);
    add(memory, size);
    return memory;
}

void *__wrap_calloc(size_t count, size_t size) {
    void *memory = __real_calloc(count, size);
    add(memory, count * size);
    return memory;
}

void *__wrap_realloc(void *old, size_t size) {
    take_away(old);
    void *memory = __real_realloc(old, size);
    add(memory, size);
    return memory;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    void *memory = __real_aligned_alloc(alignment, size);
    add(memory, size);
    return memory;
}

void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset) {
    void *memory = __real_mmap(at, size, access, flags, fd, offset);
    if (memory != MAP_FAILED) now += size;
    if (now > peak) peak = now;
    return memory;
}

void *__wrap_mremap(void *at, size_t size, size_t larger, int flags, ...) {
    void *memory = __real_mremap(at, size, larger, flags);
    if (memory != MAP_FAILED) now += larger - size;
    if (now > peak) peak = now;
    return memory;
}

int __wrap_munmap(void *at, size_t size) {
    now -= size;
    return __real_munmap(at, size);
}

void __wrap_free(void *memory) {
    take_away(memory);
    __real_free(memory);
}

#endif
