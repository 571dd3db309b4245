// Accelerators: devices with memory and kernels of their own, of which one launch covers all blocks of a unit
// (runtime/base/abi.h). An accelerator is a table of functions; `decode_unit.c` prepares units and launches for all of them
// alike. CUDA is one, the emulator another.
//
// Order: everything on one stream happens in the order of the calls, and streams are in order only by events. Memory belongs to
// whoever allocated it.
#ifndef ZF_RUNTIME_ACCELERATOR_H
#define ZF_RUNTIME_ACCELERATOR_H

#include <stdatomic.h>

#include "runtime/base/abi.h"
#include "runtime/container/container.h"

typedef struct zf_accelerator zf_accelerator;           ///< one opened device; any thread
typedef struct zf_accelerator_code zf_accelerator_code; ///< an image, loaded

/// Arguments of a launch, as runtime/base/abi.h has them. Addresses are of the device's memory.
typedef struct zf_simt_args {
    uint64_t base, blocks, first, work, out, validity, offsets, failure;
    uint32_t block_count, even;
    // No arguments of the kernel: how many bytes lie at these addresses, for accelerators that check every access; and where the
    // failure words of all kernels of the plan begin.
    uint64_t base_bytes, blocks_bytes, first_bytes, work_bytes, out_bytes, validity_bytes, offsets_bytes;
    uint64_t failures, failures_bytes;
} zf_simt_args;

/// A run of bits to move. `cleared` bits behind them become 0 at the destination.
typedef struct zf_bit_run {
    uint64_t from, to; ///< first bits, from those addresses
    uint64_t bits, cleared;
} zf_bit_run;

/// Runs of bits to move within the device's memory.
typedef struct zf_move_args {
    uint64_t runs;     ///< address of zf_bit_run[count]
    uint64_t from, to; ///< addresses, multiples of 4: whole words of 32 bits are read and written
    uint64_t longest;  ///< most bits of a run, cleared ones included
    uint32_t count;    ///< 1 .. ZF_SIMT_MOST_BLOCKS
    // For accelerators that check every access: bytes at these addresses; the failure words of the kernels that made the source,
    // and whether some of its tiles are not made, because their state is wrong. Where a kernel failed or tiles are missing, the
    // source may have bits that nothing wrote.
    uint64_t from_bytes, to_bytes;
    uint64_t failures, failures_bytes;
    bool tiles_missing;
} zf_move_args;

/// Zones of rows in the device's memory.
typedef struct zf_zones_args {
    uint64_t spans;                      ///< address of the first row and the number of rows of each zone, u64 each
    uint64_t values, offsets, validity;  ///< addresses; 0: there are none
    uint64_t skip, validity_skip;        ///< elements before row 0 in `values` (booleans: bits), and bits in `validity`
    uint64_t words;                      ///< address of the failure words of the kernels that made the rows
    uint64_t found;                      ///< address of a zf_zone_found for each zone. Not written where one of those failed
    uint32_t count, word_count, element; ///< zones, words, zf_element
    uint64_t values_bytes, offsets_bytes, validity_bytes; ///< at these addresses, for accelerators that check every access
} zf_zones_args;

/// Properties of a kernel after the device's driver compiled it.
typedef struct zf_kernel_facts {
    uint32_t threads;   ///< of a thread block; 0: code has no such kernel
    uint32_t registers; ///< of a thread
    uint32_t local;     ///< bytes of a thread that registers have no room for
    uint32_t shared;    ///< bytes of a thread block, with those that a launch gives
    uint32_t blocks;    ///< thread blocks that a multiprocessor holds at once
} zf_kernel_facts;

/// The resources of a multiprocessor.
typedef struct zf_multiprocessor_facts {
    uint32_t count, registers, threads, blocks, shared, warp; ///< `shared`: bytes, for all of its thread blocks
    uint32_t block_shared; ///< bytes that a launch may give a thread block (zf_abi_simt_kernel.dynamic_bytes); 0: not known
} zf_multiprocessor_facts;

typedef struct zf_accelerator_ops {
    const char *name;

    /// Returns the target of the device's code; known once the device is open.
    zf_abi_target (*target)(const zf_accelerator *self);

    /// Memory of the device, aligned to 256. ZF_ERR_DEVICE with the sizes wanted and free where there is not enough.
    zf_status (*allocate)(zf_accelerator *self, uint64_t bytes, uint64_t *address, zf_error *error);
    void (*release)(zf_accelerator *self, uint64_t address);
    /// The same for callers, in the order of `stream`: the memory is usable by work that is enqueued on it after
    /// `allocate_ordered`, and used by others after the work that was enqueued on it before `release_ordered`. NULL: callers get
    /// no memory.
    zf_status (*allocate_ordered)(zf_accelerator *self, void *stream, uint64_t bytes, uint64_t *address, zf_error *error);
    void (*release_ordered)(zf_accelerator *self, void *stream, uint64_t address);
    /// Waits for all work on the device, of whatever stream. NULL: as `allocate_ordered`.
    zf_status (*wait_for_all)(zf_accelerator *self, zf_error *error);
    /// Memory of the host that the device copies from and to at full speed, aligned to 64 at least.
    zf_status (*host_allocate)(zf_accelerator *self, uint64_t bytes, void **at, zf_error *error);
    void (*host_release)(zf_accelerator *self, void *at);

    /// Queued on `stream` (CUDA: a CUstream; the emulator has none, NULL). From pageable memory they may wait.
    zf_status (*copy_in)(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes, zf_error *error);
    zf_status (*copy_out)(zf_accelerator *self, void *stream, void *to, uint64_t from, uint64_t bytes, zf_error *error);
    zf_status (*copy_within)(zf_accelerator *self, void *stream, uint64_t to, uint64_t from, uint64_t bytes, zf_error *error);
    zf_status (*fill)(zf_accelerator *self, void *stream, uint64_t to, uint8_t byte, uint64_t bytes, zf_error *error);

    /// Loads an image and takes a reference to it; the same code again gives the same object and one more reference. An image
    /// lives until its last reference is given back by `unload`. Decodes hand theirs to the accelerator (kept_codes.h). The
    /// device then holds, for each decoder of the compiler's cache, at most an image for each of
    /// zf_compiler_options.shaping_tuples and one of the general form, and those of loaded modules.
    zf_status (*load)(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code, zf_accelerator_code **out,
                      zf_error *error);
    /// Gives back a reference of `load`, whose launches have ended. The last one unloads the image. NULL: the device keeps all
    /// images.
    void (*unload)(zf_accelerator *self, zf_accelerator_code *code);
    /// Queues kernel `kernel` of the plan with `groups` thread blocks.
    zf_status (*launch)(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                        const zf_simt_args *args, zf_error *error);
    /// Queues moves of bits. Runs have different bits at `to`, but may share words with each other and with runs of calls that
    /// run at the same time: those words are joined by atomic operations. A word that a run does not fill must have been written
    /// before, and so must bytes of the source that have a bit of a run.
    zf_status (*move_bits)(zf_accelerator *self, void *stream, const zf_move_args *args, zf_error *error);
    /// Queues a search for what zones hold (runtime/container/zone.h).
    zf_status (*zones)(zf_accelerator *self, void *stream, const zf_zones_args *args, zf_error *error);
    /// Describes a kernel and the device, by the driver. NULL: both are unknown.
    zf_status (*kernel_facts)(zf_accelerator *self, zf_accelerator_code *code, uint32_t kernel, zf_kernel_facts *out,
                              zf_error *error);
    zf_status (*multiprocessor_facts)(zf_accelerator *self, zf_multiprocessor_facts *out, zf_error *error);
    /// Waits for the stream. A fault of a kernel that was launched before is reported here at the latest.
    zf_status (*wait)(zf_accelerator *self, void *stream, zf_error *error);

    /// A stream apart from those of others (the emulator's is NULL): not even the default one waits for it, only `wait` and
    /// streams that `stream_follow` an event on it. It may be closed before its work is done: enqueued work still runs.
    zf_status (*stream_open)(zf_accelerator *self, void **stream, zf_error *error);
    void (*stream_close)(zf_accelerator *self, void *stream);

    /// An event. `event_note` enqueues it on a stream. A stream that calls `stream_follow` runs its later work after everything
    /// that was enqueued before the event. A `timed` event records the device's time: `event_seconds` waits for `to` and
    /// returns the time between two events. An event may be closed while streams still follow it, as CUDA allows: they wait all
    /// the same.
    zf_status (*event_open)(zf_accelerator *self, bool timed, void **event, zf_error *error);
    void (*event_close)(zf_accelerator *self, void *event);
    zf_status (*event_note)(zf_accelerator *self, void *stream, void *event, zf_error *error);
    zf_status (*stream_follow)(zf_accelerator *self, void *stream, void *event, zf_error *error);
    zf_status (*event_wait)(zf_accelerator *self, void *event, zf_error *error); ///< until it happened
    zf_status (*event_seconds)(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error);
} zf_accelerator_ops;

/// First member of every accelerator.
struct zf_accelerator {
    const zf_accelerator_ops *ops;
    const char *description;      ///< of the device, by the context; NULL: unknown
    struct zf_kept_codes *kept;   ///< code that no decode uses (kept_codes.h), by the context; NULL: images stay
    atomic_bool copied, launched; ///< once: what comes first takes longer, and is a pass of its own (runtime/base/passes.h)
};

/// Returns the device that plans for an accelerator are for.
static inline zf_abi_device zf_accelerator_device(const zf_accelerator *accelerator) {
    return (zf_abi_device){accelerator->ops->target(accelerator), accelerator->description};
}

#endif
