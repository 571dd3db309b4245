// Functions of later versions of glibc than wheels are linked for (CMakeLists.txt). Archives of a newer system refer to them:
// LLVM's and the C++ runtime's. They are hidden, so that nothing else in the process sees them.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
/// The C++ runtime counts references without atomics where this is set. Whether the process has threads is not known here.
char __libc_single_threaded = 0;
#endif

#if __GLIBC_PREREQ(2, 33)
/// LLVM prints the memory in use with statistics, which nobody asks for here.
struct mallinfo2 mallinfo2(void) {
    struct mallinfo2 unknown = {0};
    return unknown;
}
#endif

#if __GLIBC_PREREQ(2, 36)
/// LLVM names temporary files and seeds hashes with it.
uint32_t arc4random(void) {
    uint32_t number;
    if (getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number) return number;
    struct timespec now; // a kernel without the call: names only have to differ
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_nsec * 2654435761u ^ (uint32_t)(uintptr_t)&number;
}
#endif

// LLVM and zstd refer to these where something else has them. Were they left open, any library of the process could answer.
void __morestack(void);
void __morestack(void) {} // of split stacks, which no code here has
unsigned long long ZSTD_trace_compress_begin(const void *context);
unsigned long long ZSTD_trace_compress_begin(const void *context) { return (void)context, 0; } // 0: no trace
void ZSTD_trace_compress_end(unsigned long long trace, const void *facts);
void ZSTD_trace_compress_end(unsigned long long trace, const void *facts) { (void)trace, (void)facts; }

/// A file that no caller has, in the place of `stdin` in jansson (CMakeLists.txt).
extern void *const zf_no_stdin;
void *const zf_no_stdin = NULL;
