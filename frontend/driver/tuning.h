// What `zfc tune` is made of: the kernels of a column, each with its space and its search; measuring what their searches ask for;
// records of that.
#ifndef ZF_DRIVER_TUNING_H
#define ZF_DRIVER_TUNING_H

#include "codegen/simt_choices.h"
#include "codegen/tuned.h"
#include "frontend/driver/report.h"
#include "runtime/device.h"
#include "scheduler/tune/tune.h"

// ---- A kernel (tune_kernel.c) ---------------------------------------------------------------------------------

typedef struct zf_tuning_kernel {
    char *column, *shape; ///< NULL: it was tuned before, with another column
    uint32_t number;      ///< in its plan
    zf_tune_space space;  ///< axis k is choice k
    zf_tune_try *tries;   ///< all that was measured, in order
    uint32_t count;
    zf_tune_result result;
} zf_tuning_kernel;

typedef struct zf_tuning {
    zf_tuning_kernel *kernels;
    size_t count;
    double copy_rate; ///< bytes a second, read and written ones; 0: not measured
} zf_tuning;

void zf_tuning_free(zf_tuning *tuning);
zf_tuning_kernel *zf_tuning_add(zf_tuning *tuning, zf_error *error);
/// Notes a measurement; of a combination that was noted another reading.
zf_status zf_tuning_note(zf_tuning_kernel *kernel, const zf_tune_point *point, const zf_tune_reading *reading, const char *why,
                         zf_error *error);
const zf_tune_try *zf_tuning_find(const zf_tuning_kernel *kernel, const zf_tune_point *point);

/// The axes of a kernel's choices. What is so by default is left out of choices that are made of points, unless another way to
/// walk is chosen, on which defaults depend.
void zf_tuning_axes(const zf_choice_space *choices, zf_tune_space *out);
zf_choice zf_tuning_choice(const zf_tune_space *space, const zf_tune_point *point);
/// The other way; false where the space has no such value.
bool zf_tuning_point(const zf_tune_space *space, const zf_choice *choice, zf_tune_point *out);
/// "L=8,THREADS=128"; "default".
void zf_tuning_point_text(const zf_tune_space *space, const zf_tune_point *point, zf_text *out);

// ---- Columns of a program without data (tune_made.c) ------------------------------------------------------------

/// Makes `rows` rows of every column of a program's table (FILE.zf or FILE.zf:TABLE) and encodes them to `path`.
zf_status zf_tuning_make(zf_compiler *compiler, const char *name, uint64_t rows, const char *path, zf_error *error);

// ---- A column (tune_column.c) ---------------------------------------------------------------------------------

typedef struct zf_tuning_options {
    zf_context *context;
    zf_compiler *compiler;
    zf_accelerator *accelerator;
    void *stream;
    zf_device_info info;
    zf_multiprocessor_facts processor;
    const zf_tuned *known; ///< what was found before
    uint64_t bytes;        ///< of plain data that a measurement makes, at least
    uint64_t rows;         ///< of a block that are used, at most
    unsigned warm, runs;
    uint32_t probes; ///< most of a kernel; 0: the search's own
    double seconds;  ///< for the column; 0: no bound
    bool exhaustive; ///< every combination is measured
    FILE *told;      ///< where each probe is told of; NULL: nowhere
} zf_tuning_options;

/// Tunes the kernels of a column, for each vector of alternatives that its blocks took, and adds them to `tuning`. A choice that
/// makes other bytes than the default is an error.
zf_status zf_tune_column(const zf_tuning_options *options, const char *path, size_t column, zf_tuning *tuning, zf_error *error);

// ---- Records (tune_record.c) ----------------------------------------------------------------------------------

/// {"L": 8, "THREADS": 128}: what is chosen. NULL: no memory.
json_t *zf_tuning_choice_json(const zf_choice *choice);
/// What was measured, as JSON. NULL: no memory.
json_t *zf_tuning_json(const zf_tuning *tuning);
/// Reads the kernels of a record.
zf_status zf_tuning_read(const char *path, zf_tuning *out, zf_error *error);
/// Searches a recorded kernel again, which asks the record in place of a GPU. `best`: seconds of the fastest combination there.
zf_tune_result zf_tuning_replay(const zf_tuning_kernel *kernel, uint32_t probes, double *best);

#endif
