// The tuner, inside: the kernels of a column, each with its space and its search; measuring what the searches ask for; records.
#ifndef ZF_TUNER_H
#define ZF_TUNER_H

#include "codegen/simt/simt_choices.h"
#include "compiler/compiler.h"
#include "compiler/tuned.h"
#include "measure/measure_decoded.h"
#include "runtime/decode/kernel_clock.h"
#include "runtime/device/device.h"
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

/// Frees all that the record has, names and tries of its kernels, too, and leaves it empty.
void zf_tune_record_free(zf_tune_record *record);
/// Adds a kernel of zeroes, behind the others; the record frees what `column` and `shape` are set to. All pointers to kernels of
/// the record hold until the next one is added, which may move them. NULL: no memory.
zf_tune_kernel *zf_tune_record_add(zf_tune_record *record, zf_error *error);
/// Notes a measurement; of a combination that was noted another reading, of all of which its seconds are the median. One that did
/// not run once does not run. Tries may move. `why` is kept: static.
zf_status zf_tune_note(zf_tune_kernel *kernel, const zf_search_point *point, const zf_search_reading *reading, const char *why,
                       zf_error *error);
/// The try at a point; NULL: none is there. What this and the two below return holds until the kernel's next zf_tune_note.
const zf_search_try *zf_tune_find(const zf_tune_kernel *kernel, const zf_search_point *point);
/// The one with the least time, or NULL where none ran.
const zf_search_try *zf_tune_fastest(const zf_tune_kernel *kernel);
/// What was measured of a lower bound on registers that its code did not come to, with which the point's code is the same; NULL:
/// nothing. Code without a bound is no such: an assembler that is given one uses what it may (ptxas 13.0 takes 48 registers of
/// runs of u32 by itself, and 72 where it may take 96).
const zf_search_try *zf_tune_same_code(const zf_tune_kernel *kernel, const zf_search_point *point);

/// The axes of a kernel's choices, each without an order with its own reason to try another value. What is so by default is left
/// out of choices that are made of points, unless another way to walk is chosen, on which defaults depend.
void zf_tune_axes(const zf_choice_space *choices, zf_search_space *out);
zf_choice zf_tune_choice(const zf_search_space *space, const zf_search_point *point);
/// What is kept of a point: all that it has, since defaults may be others when it is read; nothing where it is the default.
zf_choice zf_tune_choice_kept(const zf_search_space *space, const zf_search_point *point);
/// The other way; false where the space has no such value.
bool zf_tune_point(const zf_search_space *space, const zf_choice *choice, zf_search_point *out);
/// "L=8,THREADS=128"; "default".
void zf_tune_point_text(const zf_search_space *space, const zf_search_point *point, zf_text *out);

// ---- Every combination (tune_every.c) ---------------------------------------------------------------------------

/// How far it is; zeros at first.
typedef struct zf_tune_every {
    uint32_t pass, number;
} zf_tune_every;

/// The next combination to measure of a kernel, of which what was measured is noted before it is asked again: the default, what
/// is known, then each that can differ (zf_tune_same_code) once; the default, what is known and the fastest three times. False:
/// that was all.
bool zf_tune_every_next(zf_tune_every *every, const zf_tune_kernel *kernel, zf_search_point *out);
/// The next of those that were not measured, as far as is known before others are; `every` stays as it is: `most` at most.
/// Returns how many.
uint32_t zf_tune_every_coming(const zf_tune_every *every, const zf_tune_kernel *kernel, zf_search_point *out, uint32_t most);

/// The best of all that were measured so: the default, where nothing is faster by more than noise. Of what was not measured again
/// nothing counts as faster, since of hundreds of readings the least is too short by chance. NULL: none ran. It holds as
/// zf_tune_find's does.
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
    const zf_tuned *known; ///< what was found before
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
    const zf_plan *plan;
    zf_decode_options rows;
    zf_units_options units;
    zf_decoded expected, made; ///< the rows by default, and as they were made last
    bool has_expected;
    bool whole;               ///< all copies are compared with those rows, and not one
    zf_units_memory memory;   ///< of the measurement before
    uint64_t memory_sizes[4]; ///< its values, offsets, validity, workspace
    uint32_t compared;        ///< measurements whose rows were
    bool waited;              ///< the device did, longer than a measurement takes
    zf_tune_lowered *ahead;   ///< whose code was got, in the order in which it is to be measured
    uint32_t ahead_count, ahead_used;
} zf_tune_block;

/// Finds the first block of a shape; where there is none, `found` says so. What the options, the column and the
/// container are is said before. To be freed also after an error, and then used again.
zf_status zf_tune_block_find(zf_tune_block *block, const zf_shape *shape, bool *found, zf_error *error);
void zf_tune_block_free(zf_tune_block *block);
/// Times each kernel of the plan, lowered as is chosen, the first time by default, and compares the rows of a copy with
/// those, each time another one, or of all where the block is to be compared whole: others are an error that names the choices,
/// the copy and the byte.
zf_status zf_tune_block_time(zf_tune_block *block, const zf_choices *choices, zf_kernel_time *times, zf_error *error);
/// Compiles and loads, side by side, what is to be measured in that order; what was got before and not measured is dropped.
/// Nothing is told of: what fails does so again where it is measured.
void zf_tune_block_get_ahead(zf_tune_block *block, const zf_choices *choices, uint32_t count);
/// Whether there is something that was got ahead and is still to be measured.
bool zf_tune_block_is_ahead(const zf_tune_block *block);
/// Whether an error of that says that choices cannot run, and not that the default cannot, or that something else is wrong.
bool zf_tune_block_may_go_on(const zf_tune_block *block, const zf_error *error);
/// Creates a source of code that lowers the block's kernels under these choices, and plans the block. Free it with
/// zf_provider_free. ZF_ERR_USAGE where a kernel may not have its choice.
zf_status zf_tune_block_open(const zf_tune_block *block, const zf_choices *choices, zf_provider **out, zf_error *error);
/// The one that was got ahead for these choices, which is the caller's from then on; those before it are measured no more. NULL:
/// it was not.
zf_provider *zf_tune_block_take_ahead(zf_tune_block *block, const zf_choices *choices);
/// Bytes that a kernel reads and writes in a measurement, each once.
double zf_tune_block_bytes(const zf_tune_block *block, const zf_kernel *kernel);

// ---- A column (tune_column.c) ---------------------------------------------------------------------------------

/// Tunes the kernels of a column, for each vector of alternatives that its blocks took, and adds them to `record`. A choice that
/// makes other bytes than the default is an error. A kernel that several of the plan are like is searched once, by the time that
/// all of them take. `left`: vectors for which no time was left; there is time for the first one in any case.
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
