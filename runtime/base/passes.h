// Where the time of a command went: its passes, named parts of the work, by wall time and as the sum over threads. It is the
// caller's object that all parts are handed; those that are handed none (NULL) take no time at all.
//
// A pass that begins within another one in the same thread interrupts that: every moment of a thread belongs to one pass, the
// innermost, so that the sums of what one thread did add up to no more than the whole. A group's wall time is that in which any
// of its passes ran in any thread.
#ifndef ZF_BASE_PASSES_H
#define ZF_BASE_PASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Passes; their names stand in passes.c.
typedef enum zf_pass {
    ZF_PASS_READ,         ///< reading files of programs
    ZF_PASS_PARSE,        ///< text to trees
    ZF_PASS_CHECK,        ///< names, types, ranges, codecs
    ZF_PASS_GRAPH,        ///< a column's codec to its graph
    ZF_PASS_PLAN,         ///< the graph to kernels; what the runtime is told of them
    ZF_PASS_LLVM,         ///< LLVM's start and its linker's; a context for each module, and its end
    ZF_PASS_LOWER,        ///< plans and encode bodies to LLVM's IR
    ZF_PASS_FIND,         ///< looking in the cache; making the key
    ZF_PASS_OPTIMISE,     ///< LLVM's verifier and passes
    ZF_PASS_EMIT,         ///< choosing instructions and registers, writing an object or PTX
    ZF_PASS_KEEP,         ///< writing to the cache
    ZF_PASS_LINK,         ///< an object to code in this process
    ZF_PASS_START,        ///< finding devices, starting one
    ZF_PASS_LOAD,         ///< code to the device; a GPU's driver compiles here, or looks into a cache of its own
    ZF_PASS_FIRST_COPY,   ///< the call that queues a device's first copy
    ZF_PASS_FIRST_LAUNCH, ///< the call that launches a device's first kernel
    ZF_PASS_DECODE,       ///< all else of decoding: blocks read and checked, kernels, copies
    ZF_PASS_ENCODE,       ///< encode bodies, laying out, decoding again, comparing
    ZF_PASS_COUNT
} zf_pass;

typedef struct zf_passes zf_passes;

/// NULL when there is no memory.
zf_passes *zf_passes_create(void);
void zf_passes_free(zf_passes *passes);

/// Begins a pass in this thread. What it returns is for zf_pass_end, in the same thread, which also ends what was begun since and
/// never ended: a jump out of a pass needs no care where somebody further out ends one. Any thread; NULL is taken by both.
unsigned zf_pass_start(zf_passes *passes, zf_pass pass);
void zf_pass_stop(zf_passes *passes, unsigned began);

static inline unsigned zf_pass_begin(zf_passes *passes, zf_pass pass) { return passes != NULL ? zf_pass_start(passes, pass) : 0; }
static inline void zf_pass_end(zf_passes *passes, unsigned began) {
    if (passes != NULL) zf_pass_stop(passes, began);
}

/// A line of the result: a pass, or a group of them, which comes before its passes.
typedef struct zf_pass_time {
    const char *name; ///< "code.optimise"; of a group "code"
    const char *text; ///< what it is, for people
    bool is_group;
    uint64_t count; ///< how often it began; of a group the sum
    double wall;    ///< seconds in which any thread was in it
    double sum;     ///< seconds of all threads
    double busy;    ///< seconds of those in which the thread had a processor, of what has ended
} zf_pass_time;

/// Copies what was measured so far into `out` (room for `most`) and returns how many lines there are; `*whole` gets the seconds
/// since creation, `*other` those in which no thread was in any pass. Passes that go on count up to now.
size_t zf_passes_read(zf_passes *passes, zf_pass_time *out, size_t most, double *whole, double *other);

#endif
