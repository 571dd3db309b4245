// The tuner, inside: the kernels of a column, each with its space and its search; measuring what the searches ask for; records.
#ifndef ZF_TUNER_TUNER_H
#define ZF_TUNER_TUNER_H

#include "codegen/codegen.h"
#include "compiler/compiler.h"
#include "compiler/tuned/tuned.h"
#include "measure/measure_decoded.h"
#include "runtime/decode/kernel_clock.h"
#include "runtime/device/device.h"
#include "runtime/module/code_obtain.h"
#include "scheduler/search/search.h"
#include "zipflow/tune.h"

// ---- A kernel (tune_kernel.c) ---------------------------------------------------------------------------------

typedef struct zf_tune_kernel {
    char *column, *shape;  ///< from malloc, the record's; NULL until they are set
    uint32_t number;       ///< in its plan
    zf_search_space space; ///< axis k is choice k
    zf_search_try *tries;  ///< all that was measured, in order; the record's
    uint32_t count;
    zf_search_result result;
} zf_tune_kernel;

typedef struct zf_tune_record {
    zf_tune_kernel *kernels;
    size_t count;
    double copy_rate; ///< bytes a second, read and written ones; 0: not measured
} zf_tune_record;

/// Frees all memory of a record, and leaves it empty.
void zf_tune_record_free(zf_tune_record *record);
/// Appends a kernel of zeroes. The record owns the strings that its `column` and `shape` are set to. Pointers to kernels are
/// valid until the next one is added. NULL: no memory.
zf_tune_kernel *zf_tune_record_add(zf_tune_record *record, zf_error *error);
/// Adds a reading of a combination; its seconds are the median of all readings. A combination that failed once does not run.
/// Tries may move. `why` is static.
zf_status zf_tune_note(zf_tune_kernel *kernel, const zf_search_point *point, const zf_search_reading *reading, const char *why,
                       zf_error *error);
/// Returns the try at a point, or NULL. Pointers from this and the two functions below are valid until the kernel's next
/// zf_tune_note.
const zf_search_try *zf_tune_find(const zf_tune_kernel *kernel, const zf_search_point *point);
/// Returns the try with the least time, or NULL where none ran.
const zf_search_try *zf_tune_fastest(const zf_tune_kernel *kernel);
/// Returns a try whose code is the same: one with a lower bound on registers that its code did not reach; or NULL. Code without a
/// bound is other code: an assembler with a bound uses the registers that it may (ptxas 13.0 takes 48 for runs of u32 without a
/// bound, and 72 with a bound of 96).
const zf_search_try *zf_tune_same_code(const zf_tune_kernel *kernel, const zf_search_point *point);

/// Makes the axes of a kernel's choices. zf_tune_choice omits values that are the default, unless the point has another way to
/// walk, on which defaults depend.
void zf_tune_axes(const zf_choice_space *choices, zf_search_space *out);
zf_choice zf_tune_choice(const zf_search_space *space, const zf_search_point *point);
/// Returns the choice to keep for a point: all its values, since later versions may have other defaults; none for the default.
zf_choice zf_tune_choice_kept(const zf_search_space *space, const zf_search_point *point);
/// Finds the point of a choice. Returns false where the space has no such value.
bool zf_tune_point(const zf_search_space *space, const zf_choice *choice, zf_search_point *out);
/// Appends "L=8,THREADS=128", or "default".
void zf_tune_point_text(const zf_search_space *space, const zf_search_point *point, zf_text *out);

// ---- Every combination (tune_every.c) ---------------------------------------------------------------------------

/// The position among all combinations; zeroes at first.
typedef struct zf_tune_every {
    uint32_t pass, number;
} zf_tune_every;

/// Returns the next combination to measure, or false at the end: the default, the known one, then each that can differ
/// (zf_tune_same_code) once; the default, the known and the fastest one three times. Add each reading before the next call.
bool zf_tune_every_next(zf_tune_every *every, const zf_tune_kernel *kernel, zf_search_point *out);
/// Returns the number of combinations that will be measured next, at most `most`, as far as is known now. `every` is not changed.
uint32_t zf_tune_every_coming(const zf_tune_every *every, const zf_tune_kernel *kernel, zf_search_point *out, uint32_t most);

/// Returns the best try: the default, where nothing is faster by more than noise; NULL where none ran. A combination with one
/// reading does not count as faster: the least of hundreds of readings is too short by chance. It is valid as zf_tune_find's.
const zf_search_try *zf_tune_every_best(const zf_tune_kernel *kernel);

// ---- Columns of a program without data (tune_made.c) ------------------------------------------------------------

/// Generates `rows` rows of every column of a table and encodes them to `path`, which is overwritten.
zf_status zf_tune_make(zf_program *program, const zf_table *table, uint64_t rows, const char *path, zf_error *error);

// ---- Options, as resolved -----------------------------------------------------------------------------------------

typedef struct zf_tune_options {
    zf_context *context;
    zf_compiler *compiler;
    zf_accelerator *accelerator;
    void *stream;
    zf_device_info info;
    zf_multiprocessor_facts processor;
    const zf_tuned *known; ///< earlier results
    uint64_t bytes;        ///< of plain data that a measurement makes, at least; less where 4096 copies of a block are less
    uint64_t rows;         ///< of a block that are used, at most
    unsigned warm, runs;
    uint32_t probes;                                           ///< most of a kernel; 0: the search's own
    double seconds;                                            ///< for the column; 0: no bound
    bool exhaustive;                                           ///< every combination is measured
    void (*progress)(void *user, const zf_tuner_probe *probe); ///< may be NULL
    void *progress_user;
} zf_tune_options;

// ---- The block of a column that is measured (tune_block.c, tune_lowered.c) --------------------------------------

/// A source of code that lowers the block's kernels under these choices.
typedef struct zf_tune_lowered {
    zf_choices choices;
    zf_provider *provider;
} zf_tune_lowered;

typedef struct zf_tune_block {
    const zf_tune_options *options;
    size_t column;
    const char *name;        ///< the column's
    zf_container *container; ///< whose plan has no choices
    zf_block_view view;
    zf_provider *by_default; ///< lowers the block without choices
    const zf_plan *plan;     ///< its
    zf_decode_options rows;
    zf_units_options units;
    zf_decoded expected, made; ///< the rows by default, and as they were made last
    bool has_expected;
    bool whole;               ///< compare all copies with those rows, not one copy
    zf_units_memory memory;   ///< of the measurement before
    uint64_t memory_sizes[4]; ///< its values, offsets, validity, workspace
    uint32_t compared;        ///< measurements whose rows were compared
    bool waited;              ///< the device was idle for longer than a measurement takes
    zf_tune_lowered *ahead;   ///< code compiled ahead, in the order of measurements
    uint32_t ahead_count, ahead_used;
    zf_loaded_codes loaded; ///< references to the code compiled ahead
} zf_tune_block;

/// Finds the first block of a shape; where there is none, `found` says so. The caller sets the options, the column and
/// the container. Free it also after an error; then it can be used again.
zf_status zf_tune_block_find(zf_tune_block *block, const zf_shape *shape, bool *found, zf_error *error);
void zf_tune_block_free(zf_tune_block *block);
/// Times each kernel of the plan under these choices, and compares the rows of one copy, each time another, or of all copies
/// (`whole`) with those of the first call, which must be by default. A difference is an error that names choices, copy and byte.
zf_status zf_tune_block_time(zf_tune_block *block, const zf_choices *choices, zf_kernel_time *times, zf_error *error);
/// Compiles and loads combinations in parallel, in the order in which they will be measured. Earlier code that was not measured
/// is dropped. Failures are not reported: they occur again in the measurement.
void zf_tune_block_get_ahead(zf_tune_block *block, const zf_choices *choices, uint32_t count);
/// Returns whether code was compiled ahead and is not measured yet.
bool zf_tune_block_is_ahead(const zf_tune_block *block);
/// Returns whether an error of zf_tune_block_time means that only these choices cannot run.
bool zf_tune_block_may_go_on(const zf_tune_block *block, const zf_error *error);
/// Creates a source of code that lowers the block's kernels under these choices, and plans the block. Free it with
/// zf_provider_free. ZF_ERR_USAGE where a kernel may not have its choice.
zf_status zf_tune_block_open(const zf_tune_block *block, const zf_choices *choices, zf_provider **out, zf_error *error);
/// Returns the code that was compiled ahead for these choices, which the caller then owns, and drops those before it. NULL: none.
zf_provider *zf_tune_block_take_ahead(zf_tune_block *block, const zf_choices *choices);
/// Returns the bytes that a kernel reads and writes in a measurement, each counted once.
double zf_tune_block_bytes(const zf_tune_block *block, const zf_kernel *kernel);

// ---- A column (tune_column.c) ---------------------------------------------------------------------------------

/// Tunes the kernels of a column, for each vector of alternatives of its blocks, and adds them to `record`. A choice that writes
/// other bytes than the default is an error. Kernels of one shape are searched once, by the sum of their times. `left`: vectors
/// for which no time was left; the first one is always tuned.
zf_status zf_tune_column(const zf_tune_options *options, zf_container *container, size_t column, zf_tune_record *record,
                         size_t *left, zf_error *error);

// ---- The tuner (tuner.c) -----------------------------------------------------------------------------------------

struct zf_tuner {
    zf_tune_options options;
    zf_tuned known;      ///< results in the cache, and those of the file over them
    zf_text known_fault; ///< what is wrong with those in the cache; empty: nothing
    zf_tune_record record;
};

/// Makes the table of what was found. Free it with zf_tuned_free. ZFT_NO_RESULTS where nothing was found.
zf_status zf_tuner_table(const zf_tuner *tuner, zf_tuned *out, zf_error *error);

// ---- Records (tune_record.c) ----------------------------------------------------------------------------------

/// Reads the kernels of a record.
zf_status zf_tune_record_read(const char *path, zf_tune_record *out, zf_error *error);

#endif
