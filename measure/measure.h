// What `zfc bench` is made of: the device whose speed is asked for, plain columns to check against, one column's measurement,
// and the report.
#ifndef ZF_DRIVER_BENCH_H
#define ZF_DRIVER_BENCH_H

#include "runtime/device/device.h"
#include "runtime/device/host_pages.h"
#include "zfc/report.h"
#include "zfc/scratch.h"

// ---- Devices --------------------------------------------------------------------------------------------------

typedef struct zf_bench_device zf_bench_device;

typedef struct zf_bench_options {
    zf_context *context;
    zf_device chosen; ///< of the context
    const zf_bench_device *device;
    uint64_t bytes; ///< buffers of plain data are at least this large
    unsigned repeats, threads;
    bool checksums, general;
    bool unchecked; ///< kernels without checks of what streams hold: `context` has a compiler that makes such
    bool unfused;   ///< a kernel a stage: `context` has a compiler that makes such. Each kernel is timed alone, besides
} zf_bench_options;

/// A block of the column, and where it lies.
typedef struct zf_bench_block {
    zf_block_view view; ///< of the file; its base is the host's
    uint64_t stored;    ///< from where a copy of the column's blocks begins, a multiple of 256
    uint64_t plain;     ///< its first value, or the first byte of its strings, from where those of a copy begin
} zf_bench_block;

/// What a round decodes: every block, as often as there are copies. Memory is the device's, complete and touched.
typedef struct zf_bench_work {
    const zf_bench_options *options;
    zf_container *container;
    size_t column;
    zf_column_info info;
    const zf_bench_block *blocks;
    uint64_t block_count, copies;
    uint64_t stored_stride, plain_stride; ///< from a copy to the next, multiples of 256
    /// In a copy of the plain data: strings begin with their offsets, then come values or bytes, then validity.
    uint64_t values_at, validity_at;
    uint8_t *stored, *out;
} zf_bench_work;

/// A running clock of a device; whoever measures keeps it between `start` and `stop`.
typedef struct zf_bench_clock {
    double begin; ///< of a device that reads the host's clock
    void *own[2]; ///< of a device with a clock of its own
} zf_bench_clock;

/// How to measure on a device: its memory, its clock, the copy that decoding is compared with, and how it decodes.
/// One row in bench_device.c adds one.
struct zf_bench_device {
    const char *name;   ///< of its zf_device_ops
    const char *copy;   ///< what the copy is called, for people
    unsigned warm;      ///< untimed runs before each timed one: a GPU that waited takes a while to reach its clock
    bool checksums;     ///< they can be verified within the time
    bool own_blocks;    ///< `prepare` puts the stored blocks into the device's memory; zf_bench_work.stored is NULL
    unsigned comparers; ///< threads, of those that there are, that compare what was decoded. Of a device whose work is the host's
                        ///< own 1: more would heat and clock its cores otherwise before what is timed

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

    /// Seconds from `start` until everything that was started in between is complete. What `start` opens `stop` closes, also
    /// where something failed in between; a `start` that fails leaves nothing open.
    zf_status (*start)(void *self, zf_bench_clock *clock, zf_error *error);
    zf_status (*stop)(void *self, zf_bench_clock *clock, double *seconds, zf_error *error);
    /// What is timed as the limit, within the device's memory. It may still run on return.
    zf_status (*copy_bytes)(void *self, void *to, const void *from, size_t bytes, zf_error *error);

    /// Gets code and work memory, and whatever else comes before the clock starts. `*kernels`: of the plan, for a block.
    zf_status (*prepare)(void *self, const zf_bench_work *work, void **prepared, uint64_t *kernels, zf_error *error);
    /// A round. It may still run on return; then `stop` also reports what fails.
    zf_status (*decode)(void *self, void *prepared, zf_error *error);
    /// A round whose `count` kernels have each a time of its own, from the end of the one before it: seconds[k]. Complete on
    /// return. NULL: this device cannot tell kernels apart.
    zf_status (*decode_kernels)(void *self, void *prepared, uint32_t count, double *seconds, zf_error *error);
    void (*finish)(void *self, void *prepared); ///< undoes `prepare`; NULL is taken
};

extern const zf_bench_device zf_bench_device_cpu;
extern const zf_bench_device zf_bench_device_cuda, zf_bench_device_emu;

/// How to measure on a device of the runtime, or NULL after filling `error`.
const zf_bench_device *zf_bench_device_for(const zf_device *device, zf_error *error);

/// The code for a block, which the provider of the context makes: for its shaping values, or for all.
zf_status zf_bench_code(const zf_abi_provider *provider, const zf_abi_plan *plan, const zf_block_view *view, bool general,
                        const zf_abi_code **out, zf_error *error);

// ---- One column -----------------------------------------------------------------------------------------------

enum {
    ZF_BENCH_REPEATS_LEAST = 5,
    ZF_BENCH_REPEATS_MOST = 1001,
    ZF_BENCH_COPIES_MOST = 4096, ///< of a column, to fill the buffers
    ZF_BENCH_KERNELS_MOST = 16,  ///< that are timed alone; those of larger plans are not
};

/// A column's plain data from elsewhere: what decoding must give. `bytes` are all of zf_decode_sizes but the workspace: offsets
/// of strings, values, validity of nullable ones, one behind the other.
typedef struct zf_bench_plain {
    uint8_t *values;
    uint64_t bytes;
    const char *origin; ///< where they are from, for people
} zf_bench_plain;

typedef struct zf_bench_result {
    zf_column_info info;
    uint64_t blocks, kernels;
    uint64_t copies;      ///< how often the column was decoded in one round, each time to its own place
    uint64_t plain_bytes; ///< written in a round
    uint64_t read_bytes;  ///< stored bytes read in a round: streams and seek states; whole blocks with checksums
    double decode_median, decode_least, decode_most; ///< seconds a round
    double copy_median, copy_least, copy_most;       ///< of the device's copy of as many plain bytes
    zf_code_stats code;                              ///< got before; nothing where kernels are for all values
    double device_seconds;                           ///< of starting it, where that was not done before
    uint32_t timed_kernels;                          ///< `unfused`: how many kernels were timed alone; 0: none
    struct {
        double median, least, most; ///< seconds a round
    } kernel_times[ZF_BENCH_KERNELS_MOST];
} zf_bench_result;

/// Measures a column of an open container, and compares every byte of every round with `plain`. A difference is
/// ZFC_BENCH_DIFFERS. The strings of `out->info` live as long as the container.
zf_status zf_bench_column(zf_container *container, size_t column, const zf_bench_options *options, const zf_bench_plain *plain,
                          zf_bench_result *out, zf_error *error);

/// Decodes a column of the file at `path` another way: on the CPU, by code that is neither optimised nor made for the block's
/// shaping values, with checksums. Free `out->values`.
zf_status zf_bench_reference(const char *path, size_t column, zf_bench_plain *out, zf_error *error);

// ---- Generators -----------------------------------------------------------------------------------------------

typedef struct zf_generator zf_generator;

/// Calls `take` for every generator that `names` selects: names, parts of names up to a dash ("bitpack" stands for
/// "bitpack-7-u32"), or `all`, separated by commas. False when a name selects none; `*unknown` then points at it.
bool zf_generators_select(const char *names, bool (*take)(void *user, const zf_generator *generator), void *user,
                          const char **unknown);
const char *zf_generator_name(const zf_generator *generator);
void zf_generators_print(FILE *out); ///< all names

/// Makes at most `bytes` of plain data (and at most 16 MiB, one block) and encodes them to the scratch directory's container,
/// in place of one that is there. Free `plain->values`.
zf_status zf_generate(const zf_generator *generator, zf_compiler *compiler, uint64_t bytes, const zf_scratch *scratch,
                      zf_bench_plain *plain, zf_error *error);

// ---- The report -----------------------------------------------------------------------------------------------

/// The figures of a result, as text and JSON show them.
typedef struct zf_bench_figures {
    double ratio;           ///< plain by stored bytes, every byte of the file that belongs to the column counted
    double gigabytes;       ///< plain gigabytes (1e9) a second
    double copy_gigabytes;  ///< of the copy, plain bytes counted once
    double percent_of_copy; ///< plain bytes a second, decoding by copying
    double fraction;        ///< (bytes read + bytes written) a second by the copy's, which reads and writes
} zf_bench_figures;
zf_bench_figures zf_bench_figures_of(const zf_bench_result *result);

void zf_bench_print_head(const zf_bench_options *options);
void zf_bench_print_row(const char *name, const zf_bench_result *result);

/// A report without results. NULL when it could not be made.
json_t *zf_bench_json(const zf_bench_options *options, const zf_arguments *arguments);
zf_status zf_bench_json_add(json_t *report, const char *source, const char *name, const zf_bench_result *result,
                            const zf_bench_plain *plain, zf_error *error);
zf_status zf_bench_json_fail(json_t *report, const char *source, const char *name, const zf_error *failure, zf_error *error);
zf_status zf_bench_json_finish(json_t *report, zf_error *error); ///< adds what is known at the end, and prints

#endif
