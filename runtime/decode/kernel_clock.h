// The time that single kernels of a column take on an accelerator, and what its driver made of them: for whoever chooses how they
// are lowered.
#ifndef ZF_RUNTIME_KERNEL_CLOCK_H
#define ZF_RUNTIME_KERNEL_CLOCK_H

#include "runtime/decode/decode_unit.h"

typedef struct zf_kernel_time {
    double seconds;  ///< of a launch, the median of the runs; 0: nothing was launched
    uint64_t groups; ///< thread blocks of a launch
    zf_kernel_facts facts;
} zf_kernel_time;

/// Of kernels 0 to count - 1 of units that were uploaded, by the device's clock (the emulator's is the host's: such times say
/// nothing of a GPU). Each kernel runs `runs` times (1 to 15), behind `warm` times that do not count; those before it have run by
/// then. All of a kernel's runs are queued before one is waited for. One of less than 50 us is then measured again, in `runs`
/// rounds of as many launches one behind the other as take 100 us, 64 at most, and its time is a launch's part of a round. The
/// output is filled with `poison` before all of that. What kernels report is an error, as zf_units_status has it. Nothing of it
/// is under way any more when this returns, be that with a failure.
ZF_PRIVATE_API zf_status zf_units_time_kernels(zf_units *units, void *stream, const zf_units_memory *memory, uint8_t poison,
                                               unsigned warm, unsigned runs, zf_kernel_time *out, uint32_t count,
                                               zf_error *error);

/// The bytes a second of a copy within the device's memory, read and written ones together: the median of nine copies of `bytes`.
ZF_PRIVATE_API zf_status zf_accelerator_copy_rate(zf_accelerator *accelerator, void *stream, uint64_t bytes, double *rate,
                                                  zf_error *error);

#endif
