// zf_encode: a table in memory into one container. Blocks are written column after column.
#include <stdlib.h>

#include "compiler/compile_sized.h"
#include "compiler/encode/encode_check.h"
#include "compiler/encode/encode_cut.h"
#include "compiler/encode/encode_table.h"
#include "compiler/encode/encode_unfused.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"

/// The arguments of zf_encode, checked.
typedef struct encoding {
    zf_encode_table *table;
    const zf_encode_column *columns;
    size_t column_count;
    uint64_t rows;
    const char *path;
} encoding;

/// Finds the data of each column of the table, every one exactly once, and decides its blocks.
static zf_status match_columns(const encoding *e, zf_error *error) {
    for (size_t c = 0; c < e->column_count; c++) {
        zf_encode_job *job;
        ZF_TRY(zf_encode_table_column(e->table, &e->columns[c], &job, error));
        ZF_TRY(zf_encode_check_data(job->column, &job->data, 0, e->rows, error));
        job->rows = e->rows;
    }
    ZF_TRY(zf_encode_table_complete(e->table, error));
    for (size_t c = 0; c < e->column_count; c++) {
        ZF_TRY(zf_encode_cut(&e->table->jobs[c], &e->table->options, error));
        e->table->blocks += e->table->jobs[c].blocks;
    }
    return ZF_OK;
}

static zf_status run_blocks(zf_encode_table *table, zf_error *error) {
    zf_encode_waiting *blocks = calloc(table->blocks + 1, sizeof *blocks);
    if (blocks == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the blocks of a table");
    size_t count = 0;
    for (size_t c = 0; c < table->table->column_count; c++) {
        zf_encode_job *job = &table->jobs[c];
        for (uint64_t block = 0; block < job->blocks; block++) {
            zf_encode_rows *rows = &blocks[count].rows;
            blocks[count++].job = job;
            *rows = (zf_encode_rows){.block = block, .data = job->data};
            zf_encode_cut_block(job, block, &rows->first, &rows->rows);
            rows->at = rows->first;
        }
    }
    zf_status status = zf_encode_table_run(table, blocks, count, error);
    free(blocks);
    return status;
}

static zf_status encode_table(void *user, zf_error *error) {
    const encoding *e = user;
    zf_encode_table *table = e->table;
    ZF_TRY(zf_unfused_check(table->options.unfused, table->table, error));
    ZF_TRY(match_columns(e, error));
    ZF_TRY(zf_encode_table_start(table, e->path, error));
    ZF_TRY(run_blocks(table, error));
    return zf_writer_finish(table->writer, e->rows, error);
}

static bool has_lists(const zf_table *table) {
    for (const zf_column *column = table->columns; column != NULL; column = column->next)
        if (column->part != ZF_LIST_NONE) return true;
    return false;
}

/// Encodes a table with columns of lists as one batch of a writer: the ends of its lists are made as they are copied.
static zf_status encode_batch(const encoding *e, zf_program *program, zf_encode_stats *stats, zf_error *error) {
    zf_table_writer *writer;
    ZF_TRY(zf_table_writer_create(program, e->table->table->name, e->columns, e->column_count, &e->table->options, e->path,
                                  &writer, error));
    zf_status status = zf_table_writer_append(writer, e->columns, e->column_count, e->rows, error);
    zf_error later; // after a failure it only says what was done until then
    zf_status finished = zf_table_writer_finish(writer, stats, status == ZF_OK ? error : &later);
    if (status == ZF_OK) status = finished;
    zf_table_writer_free(writer);
    return status;
}

zf_status zf_encode(zf_program *program, const char *table_name, const zf_encode_column *columns, size_t column_count,
                    uint64_t rows, const zf_encode_options *options, const char *path, zf_encode_stats *stats, zf_error *error) {
    const zf_encode_stats none = {0};
    if (stats != NULL && column_count > 0) ZF_TRY(ZF_CHECK_GIVEN(zf_encode_stats, stats, error));
    for (size_t c = 0; c < column_count && stats != NULL; c++) ZF_GIVE_AT(zf_encode_stats, stats, c, &none);
    if (program == NULL || path == NULL || (columns == NULL && column_count > 0))
        return zf_encode_usage(error, "zf_encode needs a program, columns and a path%s", "");
    zf_encode_table table;
    zf_status status = zf_encode_table_create(program, table_name, options, &table, error);
    encoding e = {&table, columns, column_count, rows, path};
    if (status == ZF_OK && has_lists(table.table)) {
        for (size_t c = 0; c < table.table->column_count && stats != NULL; c++) ZF_GIVE_AT(zf_encode_stats, stats, c, &none);
        status = encode_batch(&e, program, stats, error);
        zf_encode_table_free(&table);
        return status;
    }
    // Encode bodies have local arrays of up to a MiB.
    if (status == ZF_OK) status = zf_run_deep(encode_table, &e, error);
    // Where the columns are not the table's, the caller has another number of entries than the table has columns.
    for (size_t c = 0; table.stats != NULL && c < table.table->column_count && c < column_count && stats != NULL; c++)
        ZF_GIVE_AT(zf_encode_stats, stats, c, &table.stats[c]);
    for (size_t c = 0; table.jobs != NULL && c < table.table->column_count; c++) zf_encode_cut_free(&table.jobs[c]);
    zf_encode_table_free(&table);
    return status;
}
