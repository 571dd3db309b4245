// The harness: measures how fast a device decodes one column, and compares every byte of every round.
#ifndef ZF_MEASURE_MEASURE_H
#define ZF_MEASURE_MEASURE_H

#include "measure/measure_codes.h"
#include "measure/measure_times.h"
#include "runtime/device/device.h"
#include "runtime/device/host_pages.h"
#include "runtime/module/tuple_count.h"
#include "zipflow/compile.h"

// ---- Devices --------------------------------------------------------------------------------------------------

typedef struct zf_measure_device zf_measure_device;

typedef struct zf_measure_options {
    zf_context *context;
    zf_device chosen; ///< of the context
    const zf_measure_device *device;
    uint64_t bytes; ///< buffers of plain data are at least this large
    unsigned repeats, threads;
    bool checksums, general;
    bool unchecked; ///< kernels without checks of what streams hold: `context` has a compiler that makes such
    bool unfused;   ///< a kernel a stage: `context` has a compiler that makes such. Each kernel is timed alone, besides
} zf_measure_options;

/// A block of the column, and where it lies.
typedef struct zf_measure_block {
    zf_block_view view; ///< of the file; its base is the host's
    uint64_t stored;    ///< from where a copy of the column's blocks begins, a multiple of 256
    uint64_t plain;     ///< its first value, or the first byte of its strings, from where those of a copy begin
} zf_measure_block;

/// The work of a round: every block, once for each copy. Memory is the device's, complete and touched.
typedef struct zf_measure_work {
    const zf_measure_options *options;
    zf_container *container;
    size_t column;
    zf_column_info info;
    const zf_measure_block *blocks;
    uint64_t block_count, copies;
    uint64_t stored_stride, plain_stride; ///< from a copy to the next, multiples of 256
    /// In a copy of the plain data: strings begin with their offsets, then come values or bytes, then validity.
    uint64_t values_at, validity_at;
    uint8_t *stored, *out;
} zf_measure_work;

/// A running clock of a device; whoever measures keeps it between `start` and `stop`.
typedef struct zf_measure_clock {
    double begin; ///< of a device that reads the host's clock
    void *own[2]; ///< of a device with a clock of its own
} zf_measure_clock;

/// How to measure on a device: its memory, its clock, the copy that decoding is compared with, and how it decodes.
/// One row in measure_device.c adds one.
struct zf_measure_device {
    const char *name;   ///< of its zf_device_ops
    const char *copy;   ///< what the copy is called, for people
    unsigned warm;      ///< untimed runs before each timed one: a GPU that waited takes a while to reach its clock
    bool checksums;     ///< they can be verified within the time
    bool own_blocks;    ///< `prepare` puts the stored blocks into the device's memory; zf_measure_work.stored is NULL
    unsigned comparers; ///< threads that compare output, at most. 1 where the host decodes: more would change the clock of its
                        ///< cores before the timed run

    /// `self` is the device's own business. `threads`: host threads that may decode.
    zf_status (*open)(zf_context *context, const zf_device *device, unsigned threads, void **self, zf_error *error);
    void (*close)(void *self);

    /// Memory of the device, aligned to 4096 and touched. `release` takes NULL.
    zf_status (*allocate)(void *self, size_t bytes, void **out, zf_error *error);
    void (*release)(void *self, void *memory);
    /// Between host and device. Complete on return.
    zf_status (*upload)(void *self, void *to, const void *from, size_t bytes, zf_error *error);
    zf_status (*download)(void *self, void *to, const void *from, size_t bytes, zf_error *error);
    /// Memory of the host to which `download`, which several threads may call, is fastest.
    zf_status (*land)(void *self, size_t bytes, zf_host_pages *out, zf_error *error);
    zf_status (*fill)(void *self, void *at, int byte, size_t bytes, zf_error *error);

    /// Seconds from `start` until everything that was started in between is complete. `stop` releases everything that `start`
    /// acquired, also after a failure in between. A `start` that fails leaves nothing acquired.
    zf_status (*start)(void *self, zf_measure_clock *clock, zf_error *error);
    zf_status (*stop)(void *self, zf_measure_clock *clock, double *seconds, zf_error *error);
    /// Copies within the device's memory: the limit that decoding is compared with. It may still run on return.
    zf_status (*copy_bytes)(void *self, void *to, const void *from, size_t bytes, zf_error *error);

    /// Gets code and a workspace, and whatever else comes before the clock starts. `*kernels`: of the plan, for a block.
    zf_status (*prepare)(void *self, const zf_measure_work *work, void **prepared, uint64_t *kernels, zf_error *error);
    /// A round. It may still run on return; then `stop` also reports what fails.
    zf_status (*decode)(void *self, void *prepared, zf_error *error);
    /// A round whose `count` kernels have each a time of its own, from the end of the one before it: seconds[k]. Complete on
    /// return. NULL: this device cannot tell kernels apart.
    zf_status (*decode_kernels)(void *self, void *prepared, uint32_t count, double *seconds, zf_error *error);
    void (*finish)(void *self, void *prepared); ///< undoes `prepare`; NULL is taken
};

extern const zf_measure_device zf_measure_device_cpu;
extern const zf_measure_device zf_measure_device_cuda, zf_measure_device_emu;

/// How to measure on a device of the runtime, or NULL after filling `error`.
const zf_measure_device *zf_measure_device_for(const zf_device *device, zf_error *error);

/// The code for a block, which the provider of the context makes: for its shaping values, or for all.
zf_status zf_measure_code(const zf_abi_provider *provider, const zf_abi_plan *plan, const zf_block_view *view, bool general,
                          const zf_abi_code **out, zf_error *error);

// ---- One column -----------------------------------------------------------------------------------------------

enum {
    ZF_MEASURE_REPEATS_LEAST = 5,
    ZF_MEASURE_REPEATS_MOST = 1001,
    ZF_MEASURE_COPIES_MOST = 4096, ///< of a column, to fill the buffers
    ZF_MEASURE_KERNELS_MOST = 16,  ///< that are timed alone; those of larger plans are not
};

/// A column's plain data from elsewhere: what decoding must give. `bytes` are all of zf_decode_sizes but the workspace: offsets
/// of strings, values, validity of nullable ones, one behind the other.
typedef struct zf_measure_plain {
    uint8_t *values;
    uint64_t bytes;
    const char *origin; ///< where they are from, for people
} zf_measure_plain;

typedef struct zf_measure_result {
    zf_column_info info;
    uint64_t blocks, kernels;
    uint64_t copies;         ///< how often the column was decoded in one round, each time to its own place
    uint64_t plain_bytes;    ///< written in a round
    uint64_t read_bytes;     ///< stored bytes read in a round: streams and seek states; whole blocks with checksums
    zf_measure_times decode; ///< seconds of a round
    zf_measure_times copy;   ///< seconds of the device's copy of as many plain bytes
    zf_code_stats code;      ///< got before; nothing where kernels are for all values
    zf_tuple_count tuples;   ///< of shaping values. With `general` none counts as without code
    double device_seconds;   ///< of starting it, where that was not done before
    uint32_t timed_kernels;  ///< `unfused`: how many kernels were timed alone; 0: none
    zf_measure_times kernel_times[ZF_MEASURE_KERNELS_MOST]; ///< seconds of a round
} zf_measure_result;

/// Measures a column of an open container, and compares every byte of every round with `plain`. A difference is
/// ZFM_DIFFERS. The strings of `out->info` live as long as the container.
zf_status zf_measure_column(zf_container *container, size_t column, const zf_measure_options *options,
                            const zf_measure_plain *plain, zf_measure_result *out, zf_error *error);

// ---- A reference ------------------------------------------------------------------------------------------------

/// A container decoded another way: on the CPU, with checksums, by code that is neither optimised nor specialised. It has a
/// context of its own.
typedef struct zf_measure_reference zf_measure_reference;

/// Opens the file at `path`. `options`: as for zf_container_open_file. After an error `*out` is NULL.
zf_status zf_measure_reference_open(const char *path, const zf_open_options *options, zf_measure_reference **out,
                                    zf_error *error);
/// Decodes a column. The caller frees `out->values`, also after an error.
zf_status zf_measure_reference_column(zf_measure_reference *reference, size_t column, zf_measure_plain *out, zf_error *error);
/// Frees a reference. May be NULL.
void zf_measure_reference_close(zf_measure_reference *reference);

#endif
