// zf_encode: a table, column by column and block by block, over threads, into one container.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile_sized.h"
#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/encode/encode_block.h"
#include "compiler/encode/encode_cut.h"
#include "compiler/encode/encode_unfused.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/container/container_format.h"
#include "runtime/context/context.h"

typedef unsigned long long ull;

typedef struct task {
    zf_encode_job *jobs;
    size_t job_count;
    const zf_encode_options *options;
    zf_encode_stats *stats;
    uint64_t blocks;
    pthread_mutex_t lock;
    pthread_cond_t written;
    uint64_t next;    ///< block, of all columns, that is written next
    zf_status status; ///< of the first failure in order of blocks
    zf_error error;
} task;

// ---- Arguments ------------------------------------------------------------------------------------------------

static zf_status usage(zf_error *error, const char *format, const char *name) {
    zf_raise(error, ZF_E_ARGUMENT, format, name);
    return ZF_ERR_USAGE;
}

static zf_status check_strings(const zf_encode_column *data, uint64_t rows, zf_error *error) {
    if (data->offsets == NULL) return usage(error, "the strings of column `%s` have no offsets", data->name);
    if (data->offsets[0] < 0)
        return zf_raise(error, ZF_E_ARGUMENT, "the first offset of column `%s` is %lld, below 0", data->name,
                        (long long)data->offsets[0]);
    for (uint64_t k = 1; k <= rows; k++) {
        if (data->offsets[k] >= data->offsets[k - 1]) continue;
        return zf_raise(error, ZF_E_ARGUMENT, "the offsets of column `%s` decrease at row %llu: %lld, then %lld", data->name,
                        (ull)(k - 1), (long long)data->offsets[k - 1], (long long)data->offsets[k]);
    }
    if (data->values == NULL && data->offsets[rows] > data->offsets[0])
        return usage(error, "column `%s` has no values", data->name);
    return ZF_OK;
}

/// Booleans are bytes of 0 or 1; those of nulls are ignored.
static zf_status check_booleans(const zf_encode_column *data, uint64_t rows, zf_error *error) {
    const uint8_t *values = data->values;
    for (uint64_t k = 0; k < rows; k++) {
        if (values[k] <= 1 || (data->validity != NULL && (data->validity[k / 8] >> (k % 8) & 1) == 0)) continue;
        zf_status status =
            zf_raise(error, ZF_E_ARGUMENT, "column `%s` is of booleans, but row %llu is %u", data->name, (ull)k, values[k]);
        return zf_fail_hint(error, status, "a boolean is a byte, 0 or 1");
    }
    return ZF_OK;
}

/// The rows above which the column's array cannot be in memory. Sums and products of rows below it do not overflow.
static uint64_t rows_most(const zf_column *column) {
    if (column->type.kind == ZF_K_STRING) return PTRDIFF_MAX / sizeof(int64_t) - 1; // rows + 1 offsets
    return column->type.kind == ZF_K_BOOL ? PTRDIFF_MAX : PTRDIFF_MAX / zf_kind_size(column->type.kind);
}

/// Finds the data of each column of the table: every one exactly once.
static zf_status match_columns(const zf_table *table, const zf_encode_column *columns, size_t count, uint64_t rows,
                               zf_encode_job *jobs, zf_error *error) {
    for (size_t c = 0; c < count; c++) {
        if (columns[c].name == NULL) return usage(error, "a column is given without a name%s", "");
        size_t index = 0;
        const zf_column *column = table->columns;
        for (; column != NULL && strcmp(column->name, columns[c].name) != 0; column = column->next) index++;
        if (column == NULL) return usage(error, "the table has no column `%s`", columns[c].name);
        if (jobs[index].column != NULL) return usage(error, "column `%s` is given twice", columns[c].name);
        if (rows > rows_most(column)) {
            return zf_raise(error, ZF_E_ARGUMENT, "column `%s` cannot have %llu rows: memory holds at most %llu", columns[c].name,
                            (ull)rows, (ull)rows_most(column));
        }
        if (columns[c].values == NULL && rows > 0 && column->type.kind != ZF_K_STRING) {
            return usage(error, "column `%s` has no values", columns[c].name);
        }
        if (columns[c].validity != NULL && !column->type.nullable) {
            return usage(error, "column `%s` is not nullable, but a validity is given", columns[c].name);
        }
        if (columns[c].offsets != NULL && column->type.kind != ZF_K_STRING) {
            return usage(error, "column `%s` is not of strings, but offsets are given", columns[c].name);
        }
        if (column->type.kind == ZF_K_STRING) ZF_TRY(check_strings(&columns[c], rows, error));
        if (column->type.kind == ZF_K_BOOL) ZF_TRY(check_booleans(&columns[c], rows, error));
        jobs[index].column = column;
        jobs[index].data = columns[c];
        jobs[index].index = index;
    }
    size_t index = 0;
    for (const zf_column *column = table->columns; column != NULL; column = column->next, index++) {
        if (jobs[index].column == NULL) return usage(error, "column `%s` is missing", column->name);
    }
    return ZF_OK;
}

static zf_status check_options(const zf_encode_options *options, zf_error *error) {
    if (options->seek_interval != 0 && !zf_tree_interval_valid(false, options->seek_interval))
        return usage(error, "a seek interval is a power of two from 256 to 65536%s", "");
    if (options->rows_per_block == 0) return ZF_OK;
    if (options->rows_per_block % ZF_ROWS_MULTIPLE == 0 && options->rows_per_block <= ZF_ROWS_PER_BLOCK_MOST) return ZF_OK;
    return usage(error, "rows per block must be a multiple of 4096, at most 2^31%s", "");
}

// ---- Columns --------------------------------------------------------------------------------------------------

/// Fails early where the codec's first choices cannot be decoded: before any block is encoded.
static zf_status check_decodes(zf_encode_job *job, zf_error *error) {
    uint8_t *branches = calloc(1, job->column->choice_count + 1u);
    if (branches == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a column");
    zf_cached_decoder *held = NULL;
    uint32_t shape;
    zf_status status = job->column->choice_count > 0 ? ZF_OK : zf_encode_decoder_for(job, branches, &held, error);
    if (status == ZF_OK && held != NULL) status = zf_writer_shape(job->writer, job->index, &held->decoder->shape, &shape, error);
    zf_program_decoder_release(job->program, held);
    free(branches);
    return status;
}

static zf_status start_jobs(zf_program *program, const zf_table *table, uint64_t rows, const zf_encode_options *options,
                            zf_encode_job *jobs, zf_error *error) {
    for (size_t c = 0; c < table->column_count; c++) {
        zf_encode_job *job = &jobs[c];
        job->program = program;
        job->rows = rows;
        job->format = options->format;
        job->seek_interval = options->seek_interval;
        zf_unfused_of_column(options->unfused, job->column, &job->unfused);
        if (job->unfused.failed) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a column");
        ZF_TRY(zf_encode_cut(job, options, error));
        if (job->blocks > 1) ZF_TRY(zf_encode_tuples_create(job->column, &job->tuples, error));
    }
    const zf_column **columns = calloc(table->column_count + 1u, sizeof *columns);
    if (columns == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a table's columns");
    for (size_t c = 0; c < table->column_count; c++) columns[c] = jobs[c].column;
    unsigned threads = zf_context_threads(zf_compiler_context(program->compiler), options->threads);
    zf_status status = zf_program_compile(program, columns, table->column_count, threads, error);
    free(columns);
    return status;
}

static zf_status make_writer(zf_program *program, const zf_table *table, const zf_encode_options *options, const char *path,
                             zf_encode_job *jobs, zf_writer **out, zf_error *error) {
    zf_text unit = {0};
    zf_arena *arena = zf_arena_create();
    zf_writer_column *columns = calloc(table->column_count + 1u, sizeof *columns);
    zf_status status = ZF_OK;
    if (arena == NULL || columns == NULL) {
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container");
        goto done;
    }
    pthread_mutex_lock(&program->lock);
    bool canonical = zf_canonical_table(program->spec, table, &unit);
    pthread_mutex_unlock(&program->lock);
    if (!canonical || unit.failed) {
        status = zf_raise(error, ZF_E_INTERNAL, "the canonical text of table `%s` could not be made", table->name);
        goto done;
    }
    for (size_t c = 0; c < table->column_count; c++) {
        const zf_column *column = jobs[c].column;
        zf_type type = column->type;
        const char *type_name = zf_type_name(arena, type);
        if (type_name == NULL) {
            status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container");
            goto done;
        }
        columns[c] = (zf_writer_column){.name = column->name,
                                        .type = zf_column_type_of(type),
                                        .type_name = type_name,
                                        .codec = column->codec_text,
                                        .rows_per_block = jobs[c].rows_per_block,
                                        .full_name = jobs[c].data.full_name};
    }
    const zf_writer_table all = {.name = table->name,
                                 .unit = unit.data != NULL ? unit.data : "",
                                 .columns = columns,
                                 .column_count = table->column_count,
                                 .version = options->format,
                                 .schema = options->schema,
                                 .schema_bytes = options->schema_bytes,
                                 .metadata = options->metadata,
                                 .metadata_count = options->metadata_count};
    status = zf_writer_create(path, options->overwrite, &all, out, error);
done:
    zf_text_free(&unit);
    free(columns);
    if (arena != NULL) zf_arena_destroy(arena);
    return status;
}

// ---- Blocks ---------------------------------------------------------------------------------------------------

/// Writes a finished block when its turn comes: blocks are handed out in order, so the first that is missing is being made.
static void write_in_turn(task *t, uint64_t index, zf_encode_job *job, zf_encode_result *result, zf_status status,
                          const zf_error *failure) {
    pthread_mutex_lock(&t->lock);
    while (t->next != index) pthread_cond_wait(&t->written, &t->lock);
    zf_error error = *failure;
    if (t->status == ZF_OK && status == ZF_OK) {
        status = zf_writer_block(job->writer, job->index, result->shape, result->bytes, result->size, &result->block, &error);
    }
    if (t->stats != NULL) {
        zf_encode_stats *stats = &t->stats[job->index];
        stats->encode_seconds += result->encode_seconds;
        stats->verify_seconds += result->verify_seconds;
        stats->plain_bytes += result->block.plain_bytes;
        stats->stored_bytes += result->size;
        stats->blocks++;
    }
    t->next++;
    if (t->status == ZF_OK && status == ZF_OK && t->options->progress != NULL &&
        !t->options->progress(t->options->progress_user, t->next, t->blocks)) {
        status = zf_raise(&error, ZF_E_CANCELLED, "the encoding was cancelled after %llu of %llu blocks", (ull)t->next,
                          (ull)t->blocks);
    }
    if (t->status == ZF_OK && status != ZF_OK) {
        t->status = status;
        t->error = error;
    }
    pthread_cond_broadcast(&t->written);
    pthread_mutex_unlock(&t->lock);
}

static bool stopped(task *t) {
    pthread_mutex_lock(&t->lock);
    bool result = t->status != ZF_OK;
    pthread_mutex_unlock(&t->lock);
    return result;
}

static void run_block(void *user, uint64_t index, unsigned worker) {
    task *t = user;
    (void)worker;
    uint64_t block = index;
    size_t c = 0;
    while (block >= t->jobs[c].blocks) block -= t->jobs[c++].blocks;
    zf_encode_result result = {0};
    zf_error error = {0};
    zf_passes *passes = zf_context_passes(zf_compiler_context(t->jobs[c].program->compiler));
    unsigned pass = zf_pass_begin(passes, ZF_PASS_ENCODE);
    zf_status status = ZF_OK;
    if (stopped(t))
        zf_encode_block_skip(&t->jobs[c], block);
    else
        status = zf_encode_block_run(&t->jobs[c], block, &result, &error);
    zf_pass_end(passes, pass);
    write_in_turn(t, index, &t->jobs[c], &result, status, &error);
    zf_encode_result_free(&result);
}

static zf_status run_blocks(zf_program *program, zf_encode_job *jobs, size_t count, const zf_encode_options *options,
                            zf_encode_stats *stats, zf_error *error) {
    task t = {.jobs = jobs, .job_count = count, .options = options, .stats = stats};
    for (size_t c = 0; c < count; c++) t.blocks += jobs[c].blocks;
    if (pthread_mutex_init(&t.lock, NULL) != 0) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a lock");
    if (pthread_cond_init(&t.written, NULL) != 0) {
        pthread_mutex_destroy(&t.lock);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a lock");
    }
    unsigned threads = zf_context_threads(zf_compiler_context(program->compiler), options->threads);
    zf_parallel_for(threads, t.blocks, run_block, &t);
    pthread_cond_destroy(&t.written);
    pthread_mutex_destroy(&t.lock);
    if (t.status != ZF_OK && error != NULL) *error = t.error;
    return t.status;
}

/// The arguments of zf_encode, checked.
typedef struct encoding {
    zf_program *program;
    const zf_table *table;
    const zf_encode_column *columns;
    size_t column_count;
    uint64_t rows;
    const zf_encode_options *options;
    const char *path;
    zf_encode_stats *stats;
} encoding;

static zf_status encode_table(void *user, zf_error *error) {
    const encoding *e = user;
    const zf_table *table = e->table;
    ZF_TRY(zf_unfused_check(e->options->unfused, table, error));
    zf_encode_job *jobs = calloc(table->column_count + 1u, sizeof *jobs);
    zf_encode_stats *taken = calloc(table->column_count + 1u, sizeof *taken);
    if (jobs == NULL || taken == NULL) {
        free(jobs);
        free(taken);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a table's columns");
    }
    zf_writer *writer = NULL;
    zf_status status = match_columns(table, e->columns, e->column_count, e->rows, jobs, error);
    if (status == ZF_OK) status = start_jobs(e->program, table, e->rows, e->options, jobs, error);
    if (status == ZF_OK) status = make_writer(e->program, table, e->options, e->path, jobs, &writer, error);
    for (size_t c = 0; c < table->column_count && status == ZF_OK; c++) {
        jobs[c].writer = writer;
        status = check_decodes(&jobs[c], error);
    }
    if (status == ZF_OK) status = run_blocks(e->program, jobs, table->column_count, e->options, taken, error);
    if (status == ZF_OK) status = zf_writer_finish(writer, e->rows, error);
    if (writer != NULL) zf_writer_free(writer);
    for (size_t c = 0; c < table->column_count; c++) {
        zf_text_free(&jobs[c].unfused);
        zf_encode_tuples_free(jobs[c].tuples);
        zf_encode_cut_free(&jobs[c]);
    }
    // Where the columns are not the table's, the caller has another number of entries than the table has columns.
    for (size_t c = 0; c < table->column_count && c < e->column_count && e->stats != NULL; c++)
        ZF_GIVE_AT(zf_encode_stats, e->stats, c, &taken[c]);
    free(taken);
    free(jobs);
    return status;
}

zf_status zf_encode(zf_program *program, const char *table_name, const zf_encode_column *columns, size_t column_count,
                    uint64_t rows, const zf_encode_options *options, const char *path, zf_encode_stats *stats, zf_error *error) {
    const zf_encode_stats none = {0};
    if (stats != NULL && column_count > 0) ZF_TRY(ZF_CHECK_GIVEN(zf_encode_stats, stats, error));
    for (size_t c = 0; c < column_count && stats != NULL; c++) ZF_GIVE_AT(zf_encode_stats, stats, c, &none);
    if (program == NULL || path == NULL || (columns == NULL && column_count > 0)) {
        return usage(error, "zf_encode needs a program, columns and a path%s", "");
    }
    if (!program->checked) return usage(error, "the program has errors%s", "");
    zf_encode_options own;
    ZF_TRY(ZF_TAKE(zf_encode_options, &own, options, error));
    options = &own;
    ZF_TRY(check_options(options, error));
    const zf_table *table = zf_spec_find_table(program->spec, table_name);
    if (table == NULL) {
        return table_name == NULL ? usage(error, "the program has no table, or several: name one%s", "")
                                  : usage(error, "the program has no table `%s`", table_name);
    }
    encoding e = {program, table, columns, column_count, rows, options, path, stats};
    return zf_run_deep(encode_table, &e, error); // encode bodies have local arrays of up to a MiB
}
