#include "compiler/encode/encode_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile_sized.h"
#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/encode/encode_check.h"
#include "compiler/encode/encode_cut.h"
#include "compiler/encode/encode_unfused.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/context/context.h"

typedef unsigned long long ull;

// ---- Columns --------------------------------------------------------------------------------------------------

zf_status zf_encode_table_create(zf_program *program, const char *table, const zf_encode_options *options, zf_encode_table *out,
                                 zf_error *error) {
    *out = (zf_encode_table){.program = program};
    if (!program->checked) return zf_encode_usage(error, "the program has errors%s", "");
    ZF_TRY(ZF_TAKE(zf_encode_options, &out->options, options, error));
    ZF_TRY(zf_encode_check_options(&out->options, error));
    out->table = zf_spec_find_table(program->spec, table);
    if (out->table == NULL) {
        return table == NULL ? zf_encode_usage(error, "the program has no table, or several: name one%s", "")
                             : zf_encode_usage(error, "the program has no table `%s`", table);
    }
    out->threads = zf_context_threads(zf_compiler_context(program->compiler), out->options.threads);
    out->jobs = calloc(out->table->column_count + 1u, sizeof *out->jobs);
    out->stats = calloc(out->table->column_count + 1u, sizeof *out->stats);
    out->pools = calloc(out->threads, sizeof *out->pools);
    out->has_lock = pthread_mutex_init(&out->rows_lock, NULL) == 0;
    if (out->jobs != NULL && out->stats != NULL && out->pools != NULL && out->has_lock) return ZF_OK;
    return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a table's columns");
}

static void empty_group(zf_encode_group *group) {
    for (size_t k = 0; k < group->count; k++) zf_encode_result_free(&group->blocks[k]);
    group->count = 0;
    group->bytes = 0;
}

static void empty_pools(const zf_encode_table *table) {
    for (unsigned k = 0; table->pools != NULL && k < table->threads; k++) zf_encode_pool_empty(&table->pools[k]);
}

void zf_encode_table_free(zf_encode_table *table) {
    zf_writer_free(table->writer);
    for (size_t c = 0; table->groups != NULL && c < table->table->column_count; c++) {
        empty_group(&table->groups[c]);
        free(table->groups[c].blocks);
    }
    free(table->groups);
    for (size_t c = 0; table->jobs != NULL && c < table->table->column_count; c++) {
        zf_text_free(&table->jobs[c].unfused);
        zf_encode_tuples_free(table->jobs[c].tuples);
    }
    empty_pools(table);
    free(table->pools);
    if (table->has_lock) {
        zf_encode_pool_empty(&table->rows_pool);
        pthread_mutex_destroy(&table->rows_lock);
    }
    free(table->stats);
    free(table->jobs);
    *table = (zf_encode_table){0};
}

static void make_job(zf_encode_table *table, const zf_column *column, size_t index, const zf_encode_column *data) {
    table->jobs[index] = (zf_encode_job){.program = table->program,
                                         .table = table,
                                         .column = column,
                                         .index = index,
                                         .data = *data,
                                         .format = table->options.format,
                                         .zoned = table->options.zones != 0,
                                         .seek_interval = table->options.seek_interval};
}

zf_status zf_encode_table_column(zf_encode_table *table, const zf_encode_column *data, zf_encode_job **out, zf_error *error) {
    if (data->name == NULL) return zf_encode_usage(error, "a column is given without a name%s", "");
    size_t index = 0;
    const zf_column *column = table->table->columns;
    for (; column != NULL && strcmp(column->name, data->name) != 0; column = column->next) index++;
    if (column == NULL) return zf_encode_usage(error, "the table has no column `%s`", data->name);
    if (column->part == ZF_LIST_VALIDITY || column->part == ZF_LIST_VALUES)
        return zf_encode_usage(error, "`%s` is a part of a column of lists, which gives it", data->name);
    if (table->jobs[index].column != NULL) return zf_encode_usage(error, "column `%s` is given twice", data->name);
    *out = &table->jobs[index];
    make_job(table, column, index, data);
    for (bool more = column->part == ZF_LIST_ENDS; more; more = column->part != ZF_LIST_VALUES) {
        column = column->next;
        make_job(table, column, ++index, &(zf_encode_column){.name = column->name});
    }
    return ZF_OK;
}

zf_status zf_encode_table_complete(const zf_encode_table *table, zf_error *error) {
    const zf_encode_job *job = table->jobs;
    for (const zf_column *column = table->table->columns; column != NULL; column = column->next, job++) {
        if (job->column == NULL) return zf_encode_usage(error, "column `%s` is missing", column->name);
    }
    return ZF_OK;
}

// ---- Start ----------------------------------------------------------------------------------------------------

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

/// The algorithm of a codec whose chunks are too long to be encoded, or NULL.
static const zf_codec_node *long_chunks(const zf_codec_choice *choice) {
    for (uint32_t k = 0; choice != NULL && k < choice->count; k++) {
        const zf_codec_node *codec = choice->alternatives[k], *found = NULL;
        if (codec->inst->pattern == ZF_NON_PARALLEL && codec->chunk_size > ZF_CHUNK_MOST) return codec;
        for (uint32_t s = 0; found == NULL && s < codec->inst->stream_count; s++) found = long_chunks(codec->streams[s]);
        if (found != NULL) return found;
    }
    return NULL;
}

static zf_status check_chunks(const zf_column *column, zf_error *error) {
    const zf_codec_node *codec = long_chunks(column->codec);
    if (codec == NULL) return ZF_OK;
    zf_encode_usage(error, "column `%s` has a codec with chunks of more elements than are encoded", column->name);
    return zf_fail_hint(error, ZF_ERR_USAGE, "give `%.64s` chunks of at most %d: longer ones are wrapped only",
                        codec->inst->algorithm->name, ZF_CHUNK_MOST);
}

static zf_status compile_encoders(const zf_encode_table *t, zf_error *error) {
    for (size_t c = 0; c < t->table->column_count; c++) {
        zf_encode_job *job = &t->jobs[c];
        ZF_TRY(check_chunks(job->column, error));
        zf_unfused_of_column(t->options.unfused, job->column, &job->unfused);
        if (job->unfused.failed) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a column");
        ZF_TRY(zf_encode_tuples_create(job->column, &job->tuples, error));
    }
    const zf_column **columns = calloc(t->table->column_count + 1u, sizeof *columns);
    if (columns == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a table's columns");
    for (size_t c = 0; c < t->table->column_count; c++) columns[c] = t->jobs[c].column;
    zf_status status = zf_program_compile(t->program, columns, t->table->column_count, t->threads, error);
    free(columns);
    return status;
}

static zf_status make_writer(const zf_encode_table *t, const char *path, zf_writer **out, zf_error *error) {
    zf_program *program = t->program;
    const zf_table *table = t->table;
    const zf_encode_options *options = &t->options;
    const zf_encode_job *jobs = t->jobs;
    zf_text unit = {0};
    zf_arena *arena = zf_arena_create();
    zf_writer_column *columns = calloc(table->column_count + 1u, sizeof *columns);
    zf_status status = ZF_OK;
    if (arena == NULL || columns == NULL) {
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container");
        goto done;
    }
    pthread_mutex_lock(&program->lock);
    zf_declarations declared = {0};
    bool canonical = zf_canonical_table(program->spec, table, &unit) && zf_table_declarations(program->spec, table, &declared);
    pthread_mutex_unlock(&program->lock);
    zf_stated_program *programs = canonical ? ZF_NEW_ARRAY(arena, zf_stated_program, declared.count + 1u) : NULL;
    if (programs == NULL || unit.failed) { // memory is all that it can lack
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for the canonical text of table `%s`", table->name);
        goto done;
    }
    for (uint32_t k = 0; k < declared.count; k++) {
        programs[k].name = declared.items[k].name;
        memcpy(programs[k].identity, declared.items[k].identity, sizeof programs[k].identity);
    }
    for (size_t c = 0; c < table->column_count; c++) {
        const zf_column *column = jobs[c].column;
        const char *type_name = zf_column_type_text(arena, column);
        if (type_name == NULL) {
            status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container");
            goto done;
        }
        columns[c] = (zf_writer_column){.name = column->name,
                                        .type = zf_column_type_of(column->type),
                                        .type_name = type_name,
                                        .codec = column->codec_text,
                                        .rows_per_block = zf_encode_even_rows(&jobs[c]),
                                        .full_name = jobs[c].data.full_name,
                                        .zoned = jobs[c].zoned,
                                        .part = column->part};
    }
    const zf_writer_table all = {.name = table->name,
                                 .unit = unit.data != NULL ? unit.data : "",
                                 .columns = columns,
                                 .column_count = table->column_count,
                                 .version = options->format,
                                 .schema = options->schema,
                                 .schema_bytes = options->schema_bytes,
                                 .metadata = options->metadata,
                                 .metadata_count = options->metadata_count,
                                 .programs = options->format == 1 ? NULL : programs,
                                 .program_count = declared.count};
    status = zf_writer_create(path, options->overwrite, &all, out, error);
done:
    zf_text_free(&unit);
    free(columns);
    if (arena != NULL) zf_arena_destroy(arena);
    return status;
}

zf_status zf_encode_table_open(zf_encode_table *table, const char *path, zf_error *error) {
    ZF_TRY(make_writer(table, path, &table->writer, error));
    for (size_t c = 0; c < table->table->column_count; c++) table->jobs[c].writer = table->writer;
    return ZF_OK;
}

zf_status zf_encode_table_start(zf_encode_table *table, const char *path, zf_error *error) {
    ZF_TRY(compile_encoders(table, error));
    ZF_TRY(zf_encode_table_open(table, path, error));
    for (size_t c = 0; c < table->table->column_count; c++) ZF_TRY(check_decodes(&table->jobs[c], error));
    return ZF_OK;
}

// ---- Blocks ---------------------------------------------------------------------------------------------------

/// A block that was encoded, or could not be, until it is its turn to be written.
typedef struct encoded {
    bool there;
    zf_encode_result result;
    zf_status status;
    zf_error error;
} encoded;

enum { THREAD_AHEAD = 4 }; ///< blocks a thread that may be behind the next one to be written: encoded, or being encoded

/// Blocks that are being encoded.
typedef struct run {
    zf_encode_table *table;
    zf_encode_waiting *blocks;
    pthread_mutex_t lock;
    pthread_cond_t written;
    uint64_t next;  ///< block that is written next
    encoded *ahead; ///< by number modulo `room`
    uint64_t room;
    zf_status status; ///< of the first failure in order of blocks
    zf_error error;
} run;

static zf_status write_block(const zf_encode_table *t, size_t column, const zf_encode_result *result, zf_error *error) {
    return zf_writer_block(t->writer, column, result->shape, result->bytes, result->size, &result->block, error);
}

static zf_status write_group(const zf_encode_table *t, size_t column, zf_error *error) {
    zf_encode_group *group = &t->groups[column];
    for (size_t k = 0; k < group->count; k++) ZF_TRY(write_block(t, column, &group->blocks[k], error));
    empty_group(group);
    return ZF_OK;
}

/// Takes an encoded block into its group, which is written if it is full.
static zf_status group_block(const zf_encode_table *t, size_t column, zf_encode_result *result, zf_error *error) {
    zf_encode_group *group = &t->groups[column];
    if (group->count == group->room) {
        size_t room = 2 * group->room + 4;
        zf_encode_result *blocks = realloc(group->blocks, room * sizeof *blocks);
        if (blocks == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the blocks of a column");
        group->blocks = blocks;
        group->room = room;
    }
    group->bytes += result->size;
    group->blocks[group->count++] = *result;
    *result = (zf_encode_result){0};
    return group->bytes < ZF_ENCODE_GROUP_BYTES ? ZF_OK : write_group(t, column, error);
}

zf_status zf_encode_table_write_groups(zf_encode_table *table, zf_error *error) {
    for (size_t c = 0; c < table->table->column_count; c++) ZF_TRY(write_group(table, c, error));
    return ZF_OK;
}

/// Asks the caller whether to go on after a block. Under the lock.
static zf_status report_progress(const zf_encode_table *t, zf_error *error) {
    const zf_encode_options *options = &t->options;
    if (options->progress == NULL || options->progress(options->progress_user, t->done, t->blocks)) return ZF_OK;
    if (t->blocks == 0) return zf_raise(error, ZF_E_CANCELLED, "the encoding was cancelled after %llu blocks", (ull)t->done);
    return zf_raise(error, ZF_E_CANCELLED, "the encoding was cancelled after %llu of %llu blocks", (ull)t->done, (ull)t->blocks);
}

/// Writes a block in its turn. Under the lock.
static void write_next(run *r, encoded *e) {
    zf_encode_table *t = r->table;
    const zf_encode_job *job = r->blocks[r->next].job;
    zf_status status = e->status;
    zf_encode_stats *stats = &t->stats[job->index];
    stats->encode_seconds += e->result.encode_seconds;
    stats->verify_seconds += e->result.verify_seconds;
    stats->plain_bytes += e->result.block.plain_bytes;
    stats->stored_bytes += e->result.size;
    stats->blocks++;
    if (r->status == ZF_OK && status == ZF_OK)
        status = t->groups != NULL ? group_block(t, job->index, &e->result, &e->error)
                                   : write_block(t, job->index, &e->result, &e->error);
    r->next++;
    t->done++;
    if (r->status == ZF_OK && status == ZF_OK) status = report_progress(t, &e->error);
    if (r->status == ZF_OK && status != ZF_OK) {
        r->status = status;
        r->error = e->error;
    }
    zf_encode_result_free(&e->result);
    e->there = false;
}

/// Waits until there is room for an encoded block. Blocks are handed out in order, so the next one to be written is being made.
static void wait_for_room(run *r, uint64_t index) {
    pthread_mutex_lock(&r->lock);
    while (index - r->next >= r->room) pthread_cond_wait(&r->written, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

/// Leaves a block for its turn, and writes those whose turn has come: no thread waits for another one to encode.
static void write_in_turn(run *r, uint64_t index, const encoded *e) {
    pthread_mutex_lock(&r->lock);
    r->ahead[index % r->room] = *e;
    r->ahead[index % r->room].there = true;
    if (index == r->next) {
        while (r->ahead[r->next % r->room].there) write_next(r, &r->ahead[r->next % r->room]);
        pthread_cond_broadcast(&r->written);
    }
    pthread_mutex_unlock(&r->lock);
}

static bool stopped(run *r) {
    pthread_mutex_lock(&r->lock);
    bool result = r->status != ZF_OK;
    pthread_mutex_unlock(&r->lock);
    return result;
}

void *zf_encode_rows_grow(zf_encode_table *table, void *old, size_t used, size_t bytes) {
    pthread_mutex_lock(&table->rows_lock);
    if (bytes > ZF_ENCODE_IDLE) zf_encode_pool_empty(&table->rows_pool); // long strings: blocks are large
    void *memory = zf_encode_pool_grow(&table->rows_pool, old, used, bytes);
    pthread_mutex_unlock(&table->rows_lock);
    return memory;
}

void zf_encode_rows_give(zf_encode_table *table, const void *memory) {
    if (memory == NULL) return;
    pthread_mutex_lock(&table->rows_lock);
    zf_encode_pool_give(&table->rows_pool, (void *)(uintptr_t)memory);
    zf_encode_pool_trim(&table->rows_pool, ZF_ENCODE_IDLE);
    pthread_mutex_unlock(&table->rows_lock);
}

void zf_encode_waiting_free(zf_encode_waiting *block) {
    if (!block->owned) return;
    zf_encode_rows_give(block->job->table, block->rows.data.values);
    zf_encode_rows_give(block->job->table, block->rows.data.offsets);
    free((void *)(uintptr_t)block->rows.data.validity);
    block->rows.data = (zf_encode_column){0};
    block->owned = false;
}

/// Makes booleans bytes, as encode bodies take them.
static zf_status unpack(zf_encode_waiting *block, zf_error *error) {
    if (!block->packed) return ZF_OK;
    const void *bits = block->rows.data.values;
    uint8_t *bytes = zf_encode_rows_grow(block->job->table, NULL, 0, block->rows.rows + 1);
    if (bytes == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a block of booleans");
    for (uint64_t k = 0; k < block->rows.rows; k++) bytes[k] = zf_bit_at(bits, k);
    zf_encode_rows_give(block->job->table, bits);
    block->rows.data.values = bytes;
    block->packed = false;
    return ZF_OK;
}

static void run_block(void *user, uint64_t index, unsigned worker) {
    run *r = user;
    zf_encode_waiting *block = &r->blocks[index];
    encoded e = {0};
    wait_for_room(r, index);
    zf_passes *passes = zf_context_passes(zf_compiler_context(r->table->program->compiler));
    unsigned pass = zf_pass_begin(passes, ZF_PASS_ENCODE);
    bool skipped = stopped(r);
    e.status = skipped ? ZF_OK : unpack(block, &e.error);
    if (skipped || e.status != ZF_OK)
        zf_encode_block_skip(block->job, block->rows.block);
    else
        e.status = zf_encode_block_run(block->job, &block->rows, &r->table->pools[worker], &e.result, &e.error);
    zf_encode_waiting_free(block);
    zf_pass_end(passes, pass);
    write_in_turn(r, index, &e);
}

static zf_status run_blocks(run *r, size_t count, zf_error *error) {
    r->room = THREAD_AHEAD * (uint64_t)r->table->threads;
    if (r->room > count) r->room = count + 1;
    r->ahead = calloc(r->room, sizeof *r->ahead);
    if (r->ahead == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for encoded blocks");
    if (pthread_mutex_init(&r->lock, NULL) != 0) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a lock");
    if (pthread_cond_init(&r->written, NULL) != 0) {
        pthread_mutex_destroy(&r->lock);
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a lock");
    }
    zf_parallel_for(r->table->threads, count, run_block, r);
    pthread_cond_destroy(&r->written);
    pthread_mutex_destroy(&r->lock);
    if (r->status != ZF_OK && error != NULL) *error = r->error;
    return r->status;
}

zf_status zf_encode_table_run(zf_encode_table *table, zf_encode_waiting *blocks, size_t count, zf_error *error) {
    run r = {.table = table, .blocks = blocks};
    zf_status status = run_blocks(&r, count, error);
    for (size_t k = 0; k < count; k++) zf_encode_waiting_free(&blocks[k]); // those that were not begun
    free(r.ahead);
    if (table->threads > 1) empty_pools(table); // a single thread has one block at a time, and the next one comes
    return status;
}
