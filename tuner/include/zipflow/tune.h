// zipflow: the tuner. Finds how the kernels of a column run fastest on a GPU.
//
// A kernel can be lowered in several ways that write the same bytes: with other numbers of vectors a thread, threads, registers
// and so on (docs/tuning.md). A tuner compiles such choices, times each kernel alone on the device, and compares every choice's
// bytes with those of the default. Its results are a table by device and shape of kernel. Compilers use the table in the
// context's cache (zf_tuner_keep), or that of a file (zf_tuner_write and zf_compiler_options.tuned).
//
// Structs begin with their size, as in zipflow.h. Those of callbacks have the library's size: a later version may append members.
// NULL for an object, a path or an output of a function that returns a status is ZF_ERR_USAGE (ZF1101), unless it may be NULL.
// Any of them may return ZF_ERR_MEMORY.
//
// Threads: a tuner is for one thread at a time. Other work on the device makes times longer, and results worse.
#ifndef ZIPFLOW_TUNE_H
#define ZIPFLOW_TUNE_H

#include "zipflow/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zf_tuner zf_tuner;

/// One measurement of one kernel. Strings are valid until the callback returns.
typedef struct zf_tuner_probe {
    size_t size; ///< of the library's struct
    const char *column;
    uint32_t kernel;    ///< its number in the column's plan
    const char *choice; ///< "L=8,THREADS=128", or "default"
    bool ran;           ///< false: the device or the compiler cannot run this choice
    double seconds;     ///< of a launch, a median; 0 where it did not run
    uint32_t registers; ///< of a thread; 0: not known
    uint32_t blocks;    ///< thread blocks that a multiprocessor holds at once; 0: not known
    const char *reason; ///< why the search asked for it: "twice the threads"
} zf_tuner_probe;

/// How to tune. Zeroes, or a NULL pointer in place of it, mean the defaults.
typedef struct zf_tuner_options {
    size_t size;        ///< ZF_INIT
    const char *device; ///< a GPU that zf_device_get lists; NULL: "auto"
    const char *known;  ///< a file of zf_tuner_write: searches begin at its results, and at those in the cache. NULL: no file
    uint64_t bytes;     ///< plain data of a measurement, at least; 0: 512 MiB, and of an emulator as little as possible
    uint32_t probes;    ///< choices measured of a kernel, at most 64; 0: 16
    bool exhaustive;    ///< measure every choice that can differ, in place of a search; `probes` is ignored
    /// Called after each measurement, on the thread that tunes. May be NULL.
    void (*progress)(void *user, const zf_tuner_probe *probe);
    void *progress_user;
} zf_tuner_options;

/// Creates a tuner and starts its device.
/// The compiler must outlive the tuner; its choices and its tuned files must be the defaults (zf_compiler_options.untuned), since
/// results are compared with the default. Options are copied, and files are read, during the call. Free it with zf_tuner_free.
/// Errors: ZF_ERR_DEVICE where the device is absent, ZF_ERR_USAGE (ZF2018) where its kernels have no choices, as on CPUs.
ZF_API zf_status zf_tuner_create(zf_compiler *compiler, const zf_tuner_options *options, zf_tuner **out, zf_error *error);
/// Frees a tuner, and the strings of its results. Call it before its compiler is freed. Results that were kept or written stay.
ZF_API void zf_tuner_free(zf_tuner *tuner);
/// Describes the device that is tuned for. Strings live as long as the context. Errors: ZF_ERR_USAGE.
ZF_API zf_status zf_tuner_device(const zf_tuner *tuner, zf_device_info *out, zf_error *error);

/// Tunes the kernels of a column and adds them to the results.
/// `seconds`: how long it may take; 0: until every search is done. A measurement is not interrupted, and at least one is made.
/// Kernels that an earlier column has too keep its results. `left`, which may be NULL: combinations of the column's alternatives
/// for which no time was left. The call is host-blocking, and uses a stream of the tuner. Errors: ZF_ERR_INTERNAL (ZF2019) where
/// a choice writes other bytes than the default; those of zf_decode for the column. Earlier results stay.
ZF_API zf_status zf_tuner_column(zf_tuner *tuner, zf_container *container, size_t column, double seconds, size_t *left,
                                 zf_error *error);

/// The result of one kernel. Strings live until the tuner is freed or another column is tuned.
typedef struct zf_tuner_result {
    size_t size; ///< ZF_INIT
    const char *column;
    uint32_t kernel;        ///< its number in the column's plan
    const char *shape;      ///< by which compilers find the result
    bool found;             ///< false: nothing ran, or the column failed; what follows is then zero or the default
    char choice[256];       ///< "L=8,THREADS=128"; "default" where nothing is faster
    double seconds;         ///< of a launch with this choice
    double default_seconds; ///< of a launch by default; 0: the default cannot run
    double copy_seconds;    ///< of a copy of the bytes that the kernel reads and writes; 0: not known
    uint32_t probes;        ///< choices that were measured
    const char *ended;      ///< why the search ended
} zf_tuner_result;

/// Returns how many kernels have results, in the order in which they were tuned; 0 for NULL.
ZF_API size_t zf_tuner_result_count(const zf_tuner *tuner);
/// Gets the result at `index`, below that number; others are ZF_ERR_USAGE.
ZF_API zf_status zf_tuner_result_get(const zf_tuner *tuner, size_t index, zf_tuner_result *out, zf_error *error);

/// Keeps the results in the context's cache, for compilers of this and later processes.
/// Errors: ZF_ERR_USAGE (ZF2022) where nothing was found, or the device is an emulator, whose times say nothing of a GPU;
/// ZF_ERR_IO (ZF2023) where the cache does not take them, which the log explains.
ZF_API zf_status zf_tuner_keep(zf_tuner *tuner, zf_error *error);
/// Writes the results to a file for zf_compiler_options.tuned. The file appears under its name when it is complete.
/// Errors: ZF_ERR_USAGE (ZF2022) where nothing was found; ZF_ERR_IO, also where the file exists and `overwrite` is false.
ZF_API zf_status zf_tuner_write(const zf_tuner *tuner, const char *path, bool overwrite, zf_error *error);
/// Writes every measurement to a file of JSON, for zf_tuner_replay. The file and errors are as for zf_tuner_write.
ZF_API zf_status zf_tuner_write_record(const zf_tuner *tuner, const char *path, bool overwrite, zf_error *error);

// ---- Replaying --------------------------------------------------------------------------------------------------

/// A kernel of a record that was searched again. Shares are the time of the fastest choice of the record by that of the result:
/// 1 where the search found the fastest. Strings are valid until the callback returns.
typedef struct zf_tuner_replayed {
    size_t size; ///< of the library's struct
    const char *column;
    uint32_t kernel;
    const char *choice; ///< that the search found
    double share;
    double default_share; ///< of the default; 0: it cannot run
    uint32_t probes;      ///< choices that the search asked for
    uint32_t recorded;    ///< choices that the record has
    const char *ended;
} zf_tuner_replayed;

/// All kernels of a record.
typedef struct zf_tuner_replay_stats {
    size_t size;      ///< ZF_INIT
    uint32_t kernels; ///< that can run
    double mean_share, least_share, mean_default_share, mean_probes;
} zf_tuner_replay_stats;

/// Searches the kernels of a record again; the record answers in place of a device.
/// `path`: a file of zf_tuner_write_record or of `zfc tune --json`, best of exhaustive tuning. `probes`: as in zf_tuner_options.
/// `report`, which may be NULL, is called for each kernel that can run. `out` is zero after an error. Errors: ZF_ERR_IO,
/// ZF_ERR_INPUT (ZF2021) where the file is not a record. It needs no device and no tuner. Any thread.
ZF_API zf_status zf_tuner_replay(const char *path, uint32_t probes, void (*report)(void *user, const zf_tuner_replayed *kernel),
                                 void *user, zf_tuner_replay_stats *out, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif
