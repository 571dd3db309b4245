// Switching stacks on x86-64 and AArch64, the two that zipflow supports. The C library's swapcontext does the same with two
// calls of the kernel a switch, which would be most of the emulator's time.
#include "emulator/emu_fiber.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/error_codes.h"

#if defined(ZF_SANITIZE)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// zf_fiber_swap(from, to): pushes the registers that a callee must keep, stores the stack pointer at *from, takes `to` and pops.
// zf_fiber_begin: where a fresh stack returns to: calls the entry with its argument, both from saved registers.
void zf_fiber_swap(void **from, void *to);
void zf_fiber_begin(void);

#if defined(__x86_64__)
// Kernels change no control words of the floating-point units, so all threads of the emulator share those of the host's thread.
enum { SAVED_WORDS = 7 }; // r15, r14, r13, r12, rbx, rbp, return address
__asm__(".text\n"
        ".globl zf_fiber_swap\n.hidden zf_fiber_swap\n.type zf_fiber_swap,@function\n"
        "zf_fiber_swap:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
        "ret\n"
        ".size zf_fiber_swap,.-zf_fiber_swap\n"
        ".globl zf_fiber_begin\n.hidden zf_fiber_begin\n.type zf_fiber_begin,@function\n"
        "zf_fiber_begin:\n"
        ".cfi_startproc\n.cfi_undefined rip\n"
        "movq %r13,%rdi\ncall *%r12\nud2\n"
        ".cfi_endproc\n"
        ".size zf_fiber_begin,.-zf_fiber_begin\n");

static void *fresh_stack(uint8_t *top, void (*entry)(void *user), void *user) {
    // Behind the frame the stack is aligned to 16, as it is before a call.
    uint64_t *frame = (uint64_t *)(void *)(top - 16) - SAVED_WORDS;
    memset(frame, 0, SAVED_WORDS * sizeof *frame);
    frame[2] = (uint64_t)(uintptr_t)user;  // r13
    frame[3] = (uint64_t)(uintptr_t)entry; // r12
    frame[6] = (uint64_t)(uintptr_t)zf_fiber_begin;
    return frame;
}
#elif defined(__aarch64__)
enum { SAVED_WORDS = 20 }; // x19..x30, d8..d15
__asm__(".text\n"
        ".globl zf_fiber_swap\n.hidden zf_fiber_swap\n.type zf_fiber_swap,%function\n"
        "zf_fiber_swap:\n"
        "sub sp,sp,#160\n"
        "stp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\n"
        "stp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\n"
        "stp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
        "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
        "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
        "ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\n"
        "ldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\nldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\n"
        "add sp,sp,#160\n"
        "ret\n"
        ".size zf_fiber_swap,.-zf_fiber_swap\n"
        ".globl zf_fiber_begin\n.hidden zf_fiber_begin\n.type zf_fiber_begin,%function\n"
        "zf_fiber_begin:\n"
        ".cfi_startproc\n.cfi_undefined x30\n"
        "mov x0,x20\nblr x19\nbrk #1\n"
        ".cfi_endproc\n"
        ".size zf_fiber_begin,.-zf_fiber_begin\n");

static void *fresh_stack(uint8_t *top, void (*entry)(void *user), void *user) {
    uint64_t *frame = (uint64_t *)(void *)top - SAVED_WORDS;
    memset(frame, 0, SAVED_WORDS * sizeof *frame);
    frame[0] = (uint64_t)(uintptr_t)entry; // x19
    frame[1] = (uint64_t)(uintptr_t)user;  // x20
    frame[11] = (uint64_t)(uintptr_t)zf_fiber_begin;
    return frame;
}
#else
#error "fibers are written for x86-64 and AArch64"
#endif

// Address space: pages that are not touched cost nothing. Local arrays take 16 KiB of it (codegen/body/cg_stmt.c); at -O0 the
// values of a large kernel take the rest, each a place of its own.
enum { STACK_BYTES = 1 << 20 };

zf_status zf_fiber_stacks(zf_fiber *fibers, unsigned count, zf_error *error) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), each = STACK_BYTES + page, bytes = each * count;
    uint8_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the stacks of %u threads", count);
    for (unsigned i = 0; i < count; i++) {
        fibers[i] = (zf_fiber){.stack = map + i * each + page, .bytes = STACK_BYTES};
        if (mprotect(map + i * each, page, PROT_NONE) == 0) continue;
        munmap(map, bytes);
        return zf_raise(error, ZF_E_NO_MEMORY, "no pages to guard the stacks of %u threads", count);
    }
    return ZF_OK;
}

void zf_fiber_stacks_free(zf_fiber *fibers, unsigned count) {
    if (count == 0) return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
#if defined(ZF_SANITIZE) // whoever gets these pages next must not find what ended in the middle of a call
    for (unsigned i = 0; i < count; i++) ASAN_UNPOISON_MEMORY_REGION(fibers[i].stack, fibers[i].bytes);
#endif
    munmap(fibers[0].stack - page, (STACK_BYTES + page) * count);
}

void zf_fiber_host(zf_fiber *host) { *host = (zf_fiber){0}; }

void zf_fiber_start(zf_fiber *fiber, void (*entry)(void *user), void *user) {
#if defined(ZF_SANITIZE)
    size_t dirty = fiber->ended ? 8192 : fiber->bytes; // redzones of calls that did not return
    ASAN_UNPOISON_MEMORY_REGION(fiber->stack + fiber->bytes - dirty, dirty);
#endif
    fiber->ended = false;
    fiber->fake = NULL;
    fiber->sp = fresh_stack(fiber->stack + fiber->bytes, entry, user);
}

void zf_fiber_entered(zf_fiber *self, zf_fiber *host) {
#if defined(ZF_SANITIZE)
    const void *stack;
    __sanitizer_finish_switch_fiber(self->fake, &stack, &host->bytes);
    host->stack = (uint8_t *)(uintptr_t)stack;
#else
    (void)self;
    (void)host;
#endif
}

ZF_FIBER_LEAVES void zf_fiber_switch(zf_fiber *from, zf_fiber *to, bool last) {
#if defined(ZF_SANITIZE)
    __sanitizer_start_switch_fiber(last ? NULL : &from->fake, to->stack, to->bytes);
#else
    (void)last;
#endif
    zf_fiber_swap(&from->sp, to->sp);
#if defined(ZF_SANITIZE)
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

ZF_FIBER_LEAVES void zf_fiber_end(zf_fiber *self, zf_fiber *to) {
    self->ended = true;
    zf_fiber_switch(self, to, true);
}
