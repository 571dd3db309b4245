// A profile of a command: its passes, named parts of the work, by wall time and summed over threads. The caller owns the object
// and hands it down; NULL costs nothing.
//
// A pass that begins within another one of the same thread interrupts it. Each moment of a thread thus belongs to one pass, the
// innermost, and the sums of a thread never exceed the whole. The wall time of a group is the time in which any of its passes
// ran in any thread.
#ifndef ZF_RUNTIME_PASSES_H
#define ZF_RUNTIME_PASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The passes; passes.c has their names.
typedef enum zf_pass {
    ZF_PASS_READ,         ///< reading files of programs
    ZF_PASS_PARSE,        ///< text to trees
    ZF_PASS_CHECK,        ///< names, types, ranges, codecs
    ZF_PASS_GRAPH,        ///< a column's codec to its graph
    ZF_PASS_PLAN,         ///< the graph to kernels, and their description for the runtime
    ZF_PASS_LLVM,         ///< start of LLVM and of its linker; a context for each module, and its end
    ZF_PASS_LOWER,        ///< plans and encode bodies to LLVM IR
    ZF_PASS_FIND,         ///< cache lookup and its key
    ZF_PASS_OPTIMISE,     ///< LLVM's verifier and optimisation passes
    ZF_PASS_EMIT,         ///< instruction selection, register allocation, writing an object or PTX
    ZF_PASS_KEEP,         ///< writing to the cache
    ZF_PASS_LINK,         ///< linking an object into this process
    ZF_PASS_START,        ///< finding devices, starting one
    ZF_PASS_LOAD,         ///< loading code on the device; a GPU's driver compiles here, or finds it in its own cache
    ZF_PASS_FIRST_COPY,   ///< the call that enqueues a device's first copy
    ZF_PASS_FIRST_LAUNCH, ///< the call that launches a device's first kernel
    ZF_PASS_DECODE,       ///< the rest of decoding: reading and checking blocks, kernels, copies
    ZF_PASS_ENCODE,       ///< encode bodies, layout, verification
    ZF_PASS_COUNT
} zf_pass;

typedef struct zf_passes zf_passes;

/// Creates a profile; NULL: no memory. The caller frees it.
zf_passes *zf_passes_create(void);
void zf_passes_free(zf_passes *passes);

/// Begins a pass in this thread; pass the result to zf_pass_end in the same thread. The end also ends passes that began since and
/// never ended, so a pass that is left without return needs no care. Any thread. Both accept NULL.
unsigned zf_pass_start(zf_passes *passes, zf_pass pass);
void zf_pass_stop(zf_passes *passes, unsigned began);

static inline unsigned zf_pass_begin(zf_passes *passes, zf_pass pass) { return passes != NULL ? zf_pass_start(passes, pass) : 0; }
static inline void zf_pass_end(zf_passes *passes, unsigned began) {
    if (passes != NULL) zf_pass_stop(passes, began);
}

/// A line of the result: a pass, or a group, which precedes its passes.
typedef struct zf_pass_time {
    const char *name; ///< "code.optimise"; of a group "code"
    const char *text; ///< a description for people
    bool is_group;
    uint64_t count; ///< number of times that it began; of a group the sum
    double wall;    ///< seconds in which any thread was in it
    double sum;     ///< seconds of all threads
    double busy;    ///< processor seconds of passes that have ended
} zf_pass_time;

/// Copies the lines so far into `out` (room for `most`) and returns their number. `*whole`: seconds since creation; `*other`:
/// seconds in which no thread was in a pass. Passes that go on count up to now.
size_t zf_passes_read(zf_passes *passes, zf_pass_time *out, size_t most, double *whole, double *other);

#endif
