// Preloaded into `zfc`: memory ends at an exact allocation. Allocations and maps are counted from the start of main: those that
// the program itself makes or, with ZF_SHORT_OF=llvm, those of the libraries of LLVM and C++. ZF_SHORT_OF=statics counts the
// first allocation of the latter for each static variable of a function: who comes next waits for ever for a half built one.
// Number ZF_SHORT_AT, from 0, fails, and with ZF_SHORT_ON all behind it, too. With ZF_SHORT_SPACE the address space ends there:
// nothing gets new pages, nor does the stack of main. At exit the count is written to the file ZF_SHORT_COUNT; where there is no
// such library, no file is. With ZF_SHORT_STACKS nobody may touch the stack of a thread that was joined, nor is it used again.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

typedef int main_function(int, char **, char **);

#pragma GCC visibility push(default) // what it takes the place of
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
char *strdup(const char *text);
char *strndup(const char *text, size_t most);
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *mremap(void *memory, size_t size, size_t larger, int flags, ...);
int __cxa_guard_acquire(int64_t *guard);
void __cxa_guard_release(int64_t *guard);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *user);
int pthread_join(pthread_t thread, void **result);
int __libc_start_main(main_function *program, int argc, char **argv, main_function *init, void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end);
#pragma GCC visibility pop

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

enum { RANGES = 8 };
static struct {
    uintptr_t first, end;
} ranges[RANGES]; ///< of code whose allocations count
static int range_count;
static bool of_llvm, of_statics;
static _Thread_local bool begins; ///< a static variable does: nothing was allocated for it yet
static atomic_bool started;
static atomic_ulong seen;
static unsigned long at = -1UL;
static bool on, space_ends;

/// The program is the first of all objects.
static int note_object(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size, (void)user;
    bool is_llvm = strstr(info->dlpi_name, "libLLVM") != NULL || strstr(info->dlpi_name, "libstdc++") != NULL;
    if (of_llvm && !is_llvm) return 0;
    for (int k = 0; k < info->dlpi_phnum && range_count < RANGES; k++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[k];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
        ranges[range_count].first = info->dlpi_addr + segment->p_vaddr;
        ranges[range_count].end = ranges[range_count].first + segment->p_memsz;
        range_count++;
    }
    return !of_llvm;
}

static void write_count(void) {
    const char *path = getenv("ZF_SHORT_COUNT");
    atomic_store(&started, false);
    FILE *file = path != NULL && range_count > 0 ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "%lu\n", atomic_load(&seen));
    fclose(file);
}

static bool counts(const void *caller) {
    for (int k = 0; k < range_count; k++) {
        if ((uintptr_t)caller >= ranges[k].first && (uintptr_t)caller < ranges[k].end) return true;
    }
    return false;
}

static bool fails(const void *caller) {
    if (!atomic_load(&started) || (of_statics && !begins) || !counts(caller)) return false;
    begins = false;
    unsigned long number = atomic_fetch_add(&seen, 1);
    bool short_now = on ? number >= at : number == at;
    if (short_now && space_ends) setrlimit(RLIMIT_AS, &(struct rlimit){0, 0});
    if (short_now) errno = ENOMEM;
    return short_now;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) { return fails(CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(CALLER) ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return fails(CALLER) ? NULL : __libc_realloc(memory, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails(CALLER) ? NULL : __libc_memalign(alignment, size); }

static char *copy_of(const char *text, size_t length, const void *caller) {
    char *copy = fails(caller) ? NULL : __libc_malloc(length + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *strdup(const char *text) { return copy_of(text, strlen(text), CALLER); }
char *strndup(const char *text, size_t most) { return copy_of(text, strnlen(text, most), CALLER); }

void *mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset) {
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "mmap");
    return fails(CALLER) ? MAP_FAILED : real(where, size, protection, flags, fd, offset);
}

void *mremap(void *memory, size_t size, size_t larger, int flags, ...) {
    static void *(*real)(void *, size_t, size_t, int, ...);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "mremap");
    return fails(CALLER) ? MAP_FAILED : real(memory, size, larger, flags); // nobody here says where
}

// C++ calls these before and after it builds a static variable of a function. The first returns whether the caller is to build
// it.
int __cxa_guard_acquire(int64_t *guard) {
    static int (*real)(int64_t *);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "__cxa_guard_acquire");
    int builds = real(guard);
    if (builds) begins = true;
    return builds;
}

void __cxa_guard_release(int64_t *guard) {
    static void (*real)(int64_t *);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "__cxa_guard_release");
    begins = false;
    real(guard);
}

enum { THREADS = 256 };
static pthread_mutex_t stacks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool lives;
    pthread_t thread;
    void *stack;
    size_t size;
} stacks[THREADS]; ///< of threads that were not joined. One that is never joined keeps its place
static bool stacks_end;

static int create_on_new_stack(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *user) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    int place = 0;
    while (place < THREADS && stacks[place].lives) place++;
    if (!stacks_end || attributes == NULL || place == THREADS) return real(thread, attributes, body, user);
    size_t size;
    int detached;
    pthread_attr_t own;
    pthread_attr_getstacksize(attributes, &size);
    pthread_attr_getdetachstate(attributes, &detached);
    void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) return EAGAIN;
    pthread_attr_init(&own);
    pthread_attr_setstack(&own, stack, size);
    pthread_attr_setdetachstate(&own, detached);
    int status = real(thread, &own, body, user);
    pthread_attr_destroy(&own);
    stacks[place].lives = status == 0;
    stacks[place].thread = *thread;
    stacks[place].stack = stack;
    stacks[place].size = size;
    return status;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *user) {
    pthread_mutex_lock(&stacks_lock);
    int status = create_on_new_stack(thread, attributes, body, user);
    pthread_mutex_unlock(&stacks_lock);
    return status;
}

int pthread_join(pthread_t thread, void **result) {
    static int (*real)(pthread_t, void **);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_join");
    int status = real(thread, result);
    pthread_mutex_lock(&stacks_lock);
    for (int k = 0; status == 0 && k < THREADS; k++) {
        if (!stacks[k].lives || !pthread_equal(stacks[k].thread, thread)) continue;
        mprotect(stacks[k].stack, stacks[k].size, PROT_NONE);
        stacks[k].lives = false;
    }
    pthread_mutex_unlock(&stacks_lock);
    return status;
}

static main_function *real_main;

static int counted_main(int argc, char **argv, char **environment) {
    const char *number = getenv("ZF_SHORT_AT"), *of = getenv("ZF_SHORT_OF");
    of_statics = of != NULL && strcmp(of, "statics") == 0;
    of_llvm = of_statics || (of != NULL && strcmp(of, "llvm") == 0);
    dl_iterate_phdr(note_object, NULL);
    if (number != NULL) at = strtoul(number, NULL, 10);
    on = getenv("ZF_SHORT_ON") != NULL;
    space_ends = getenv("ZF_SHORT_SPACE") != NULL;
    stacks_end = getenv("ZF_SHORT_STACKS") != NULL;
    atexit(write_count);
    atomic_store(&started, true);
    return real_main(argc, argv, environment);
}

int __libc_start_main(main_function *program, int argc, char **argv, main_function *init, void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end) {
    __typeof__(__libc_start_main) *real;
    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = program;
    return real(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}
