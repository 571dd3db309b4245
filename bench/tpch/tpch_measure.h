// The interface between tpch_measure's files: a run of it, its columns, and where their rows go.
#ifndef ZF_BENCH_TPCH_MEASURE_H
#define ZF_BENCH_TPCH_MEASURE_H

#include "measure/measure_compare.h"
#include "measure/measure_times.h"
#include "runtime/base/clock.h"
#include "runtime/device/device.h"
#include "zipflow/compile.h"
#include "zipflow/pipeline.h"

enum { MOST_COLUMNS = 256, MOST_OF_SET = 64, MOST_FILES = 32, MOST_REPEATS = 100 };

/// A column, and its rows as a decode on the CPU gives them, in memory that the device copies from at full speed.
typedef struct column {
    char name[128]; ///< TABLE.COLUMN
    zf_container *container;
    size_t index;
    zf_column_info info;
    zf_decode_sizes sizes;
    uint8_t *values;
    int64_t *offsets;
    uint64_t raw_offsets; ///< bytes that offsets would take raw: four each
} column;

/// Where a column of a set goes: memory of the device, or of the host where the device has none.
typedef struct target {
    uint64_t values, offsets; ///< addresses
    void *host_values, *host_workspace;
    int64_t *host_offsets;
} target;

typedef struct bench {
    const char *device_name, *source;
    const char *sink; ///< sets are measured from files, and this is where `cp` copies to; NULL: from memory
    uint64_t piece_bytes;
    double end; ///< by zf_clock_seconds: no kind of run from files is begun later
    unsigned repeats;
    zf_pipeline_options options;
    zf_context *context;
    zf_compiler *compiler;
    zf_device device;
    zf_accelerator *accelerator; ///< NULL: the device is the CPU
    void *stream;
    zf_container *containers[MOST_FILES];
    size_t container_count;
    column columns[MOST_COLUMNS];
    size_t column_count;
    void *kept[2 * MOST_COLUMNS]; ///< memory of the host, to be given back: values and offsets of each column
    size_t kept_count;
    bool wanted[3];   ///< by zf_pipeline_order
    uint8_t *landing; ///< as large as the largest part of any column
    bool wrong;
} bench;

zf_status no_memory(zf_error *error);

// ---- Printing JSON --------------------------------------------------------------------------------------------

void print_text(const char *text);
/// `"NAME": {...}` with median, least and most of `times`, which it sorts.
void print_times(const char *name, double *times, unsigned count);

// ---- Rows where they went -------------------------------------------------------------------------------------

/// Poisons all of it.
zf_status fill_targets(bench *b, column **columns, const target *targets, size_t count, zf_error *error);
/// Compares a part of a column, at an address of the device or, on the CPU, in the host's memory, with what it should be.
zf_status compare(bench *b, const column *c, const char *part, uint64_t address, const void *host, const void *wanted,
                  uint64_t bytes, zf_error *error);
zf_status compare_all(bench *b, column **columns, const target *targets, size_t count, zf_error *error);

// ---- Measuring ------------------------------------------------------------------------------------------------

/// Until all columns are there, or failed: then the first failure.
zf_status wait_all(zf_batch *batch, size_t count, zf_error *error);
/// Prints "raw_seconds": plain rows copied from pinned memory. Accelerators only.
zf_status measure_raw(bench *b, column **columns, const target *targets, size_t count, zf_error *error);
/// Prints "files": a set from files, in all kinds that can be had (tpch_files.c).
zf_status measure_files(bench *b, column **columns, const target *targets, zf_pipeline_request *requests, size_t count,
                        zf_error *error);

#endif
