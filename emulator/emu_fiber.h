// Fibers: stacks that a thread of the host switches between. A switch is a call that saves what the ABI's callees save.
#ifndef ZF_EMULATOR_EMU_FIBER_H
#define ZF_EMULATOR_EMU_FIBER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/// Functions that a fiber may leave by a switch and never come back to. ThreadSanitizer counts calls and returns of a thread of
/// the host, whichever stack they are on: those that do not return must not be counted.
#define ZF_FIBER_LEAVES
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef ZF_FIBER_LEAVES
#define ZF_FIBER_LEAVES __attribute__((disable_sanitizer_instrumentation))
#endif
#endif

typedef struct zf_fiber {
    void *sp; ///< while it does not run
    uint8_t *stack;
    size_t bytes;
    void *fake; ///< AddressSanitizer's other stack of a fiber that does not run
    bool ended; ///< by zf_fiber_end, and so with next to nothing left on its stack
} zf_fiber;

/// Stacks for `count` fibers, each with a page below it that nobody may touch. Filled are stack and bytes. Freed as one.
zf_status zf_fiber_stacks(zf_fiber *fibers, unsigned count, zf_error *error);
void zf_fiber_stacks_free(zf_fiber *fibers, unsigned count);

/// The fiber that runs now becomes `host`: its stack is the thread's own.
void zf_fiber_host(zf_fiber *host);

/// Makes the fiber begin at `entry(user)` when it is switched to. `entry` must not return. The fiber's previous work is
/// discarded.
void zf_fiber_start(zf_fiber *fiber, void (*entry)(void *user), void *user);

/// Leaves `from`, which runs, for `to`. Comes back when someone switches to `from`. `last`: nobody ever will.
void zf_fiber_switch(zf_fiber *from, zf_fiber *to, bool last);
/// The last thing that an entry calls.
void zf_fiber_end(zf_fiber *self, zf_fiber *to);
/// The first thing that a started fiber calls. `host` is who switched to it.
void zf_fiber_entered(zf_fiber *self, zf_fiber *host);

#endif
