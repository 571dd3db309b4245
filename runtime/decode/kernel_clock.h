// Times of a column's single kernels on an accelerator, and what its driver made of them. For the tuner.
#ifndef ZF_RUNTIME_KERNEL_CLOCK_H
#define ZF_RUNTIME_KERNEL_CLOCK_H

#include "runtime/decode/decode_unit.h"

typedef struct zf_kernel_time {
    double seconds;  ///< of a launch: the median of the runs; 0: not launched
    uint64_t groups; ///< thread blocks of a launch
    zf_kernel_facts facts;
} zf_kernel_time;

/// Times kernels 0 to count - 1 of units that were uploaded, by the device's clock.
///
/// The emulator's clock is the host's, so its times say nothing about a GPU. Each kernel runs `warm` times untimed, then `runs`
/// times (1 to 15); kernels before it have run. All runs of a kernel are enqueued before the first wait. A kernel of less than
/// 50 us is measured again: `runs` rounds of launches that take 100 us together (64 at most); its time is that of one launch of
/// a round. The output is filled with `poison` first. Violations that kernels report are errors, as in zf_units_status. On
/// return, also after a failure, no work is under way.
ZF_PRIVATE_API zf_status zf_units_time_kernels(zf_units *units, void *stream, const zf_units_memory *memory, uint8_t poison,
                                               unsigned warm, unsigned runs, zf_kernel_time *out, uint32_t count,
                                               zf_error *error);

/// Measures a copy within the device's memory: bytes read and written per second, the median of nine copies of `bytes`.
ZF_PRIVATE_API zf_status zf_accelerator_copy_rate(zf_accelerator *accelerator, void *stream, uint64_t bytes, double *rate,
                                                  zf_error *error);

#endif
