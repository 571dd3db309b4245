#include "zfc/stack.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// `encode`, the verb with the deepest calls, was seen to use 280 KiB.
enum { STACK_BYTES = 1 << 20 };

/// A page that is touched makes the stack reach to it for good; page after page, so that none passes over the guard behind a
/// stack that ends. Not inline: the caller's frame stays small.
__attribute__((noinline)) static void reach(size_t bytes) {
    enum { PAGE = 4096 };
    volatile char *end = __builtin_alloca(bytes);
    for (size_t at = bytes; at >= PAGE; at -= PAGE) end[at - PAGE] = 0;
}

bool zf_stack_take(void) {
    size_t bytes = STACK_BYTES;
    struct rlimit limit;
    if (syscall(SYS_gettid) != (long)getpid()) return true; // stacks of other threads are there whole
    // Arguments and the calls so far have their part of a small one.
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur / 4 < bytes) bytes = limit.rlim_cur / 4;
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    munmap(room, bytes);
    reach(bytes);
    return true;
}
