// zf_table_writer: a table whose rows arrive in batches. A column's rows are copied until they fill a block. Full blocks wait
// until there are enough of them for the threads, and are then encoded and written.
//
// The file depends on the rows alone, not on batches or threads: blocks are cut, and written, in the order in which their rows
// are complete, looked at whenever a multiple of 4096 rows has arrived, and at a row with which too many bytes of strings wait.
#include <stdlib.h>
#include <string.h>

#include "compiler/compile_sized.h"
#include "compiler/encode/encode_check.h"
#include "compiler/encode/encode_cut.h"
#include "compiler/encode/encode_lists.h"
#include "compiler/encode/encode_pending.h"
#include "compiler/encode/encode_unfused.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"

enum {
    COLUMN_WAITING = 4, ///< full blocks of a column that wait, at most; more only where threads would idle
    THREAD_WAITING = 4, ///< full blocks that wait for each thread
};

struct zf_table_writer {
    zf_encode_table table;
    zf_encode_pending *columns; ///< in the table's order
    size_t *order;              ///< by place in a batch: the column
    size_t count;               ///< of a batch: the parts of lists are none of their own
    uint64_t rows;
    zf_encode_waiting *waiting; ///< full blocks in the order of the file
    size_t waiting_count, waiting_room;
    uint64_t waiting_bytes; ///< of strings
    bool failed, finished;
};

// ---- Creating -------------------------------------------------------------------------------------------------

/// The columns of the file, each part of lists being one.
static size_t all_columns(const zf_table_writer *writer) { return writer->table.table->column_count; }

/// The arguments of zf_table_writer_create.
typedef struct creation {
    zf_table_writer *writer;
    const zf_encode_column *columns;
    const char *path;
} creation;

static zf_status start(void *user, zf_error *error) {
    const creation *c = user;
    zf_encode_table *table = &c->writer->table;
    ZF_TRY(zf_unfused_check(table->options.unfused, table->table, error));
    for (size_t k = 0; k < c->writer->count; k++) {
        zf_encode_job *job;
        ZF_TRY(zf_encode_table_column(table, &c->columns[k], &job, error));
        c->writer->order[k] = job->index;
    }
    ZF_TRY(zf_encode_table_complete(table, error));
    for (size_t k = 0; k < all_columns(c->writer); k++) {
        zf_encode_cut_arriving(&table->jobs[k], &table->options);
        c->writer->columns[k].job = &table->jobs[k];
    }
    ZF_TRY(zf_encode_table_start(table, c->path, error));
    for (size_t k = 0; k < all_columns(c->writer); k++) table->jobs[k].data = (zf_encode_column){0}; // the caller's
    table->options.unfused = NULL;
    table->options.schema = NULL;
    table->options.metadata = NULL;
    return ZF_OK;
}

zf_status zf_table_writer_create(zf_program *program, const char *table, const zf_encode_column *columns, size_t column_count,
                                 const zf_encode_options *options, const char *path, zf_table_writer **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    if (program == NULL || path == NULL || columns == NULL || out == NULL)
        return zf_encode_usage(error, "zf_table_writer_create needs a program, columns, a path and a place for the writer%s", "");
    zf_table_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a writer");
    creation c = {writer, columns, path};
    zf_status status = zf_encode_table_create(program, table, options, &writer->table, error);
    writer->count = column_count;
    if (status == ZF_OK) {
        writer->columns = calloc(writer->table.table->column_count + 1, sizeof *writer->columns);
        writer->order = calloc(column_count + 1, sizeof *writer->order);
        writer->table.groups = calloc(writer->table.table->column_count + 1, sizeof *writer->table.groups);
        if (writer->columns == NULL || writer->order == NULL || writer->table.groups == NULL)
            status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a table's columns");
    }
    if (status == ZF_OK) status = zf_run_deep(start, &c, error); // encode bodies have local arrays of up to a MiB
    if (status != ZF_OK) {
        zf_table_writer_free(writer);
        return status;
    }
    *out = writer;
    return ZF_OK;
}

void zf_table_writer_free(zf_table_writer *writer) {
    if (writer == NULL) return;
    for (size_t k = 0; k < writer->waiting_count; k++) zf_encode_waiting_free(&writer->waiting[k]);
    for (size_t c = 0; writer->columns != NULL && c < all_columns(writer); c++) zf_encode_pending_free(&writer->columns[c]);
    free(writer->waiting);
    free(writer->order);
    free(writer->columns);
    zf_encode_table_free(&writer->table);
    free(writer);
}

// ---- Blocks ---------------------------------------------------------------------------------------------------

static zf_status run_waiting(void *user, zf_error *error) {
    zf_table_writer *writer = user;
    size_t count = writer->waiting_count;
    writer->waiting_count = 0; // the run frees their rows
    writer->waiting_bytes = 0;
    return zf_encode_table_run(&writer->table, writer->waiting, count, error);
}

/// Room for one more block that waits.
static zf_status make_room(zf_table_writer *writer, zf_error *error) {
    if (writer->waiting_count < writer->waiting_room) return ZF_OK;
    size_t room = 2 * writer->waiting_room + 16;
    zf_encode_waiting *waiting = realloc(writer->waiting, room * sizeof *waiting);
    if (waiting == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the blocks of a table");
    writer->waiting = waiting;
    writer->waiting_room = room;
    return ZF_OK;
}

static bool is_values(const zf_encode_pending *column) { return column->job->column->part == ZF_LIST_VALUES; }

/// The rows that decide about a block. The values of lists do not arrive by multiples of 4096: they are decided up to the last.
static uint64_t deciding(const zf_encode_pending *column, bool all) {
    if (all || !is_values(column) || column->job->cut == ZF_CUT_EVEN) return column->rows;
    uint64_t last = (column->first + column->rows) / ZF_ROWS_MULTIPLE * ZF_ROWS_MULTIPLE;
    return last > column->first ? last - column->first : 0;
}

/// Takes the full blocks of a column, and with `all` what is left.
static zf_status take_blocks(zf_table_writer *writer, zf_encode_pending *column, bool all, zf_error *error) {
    zf_encode_job *job = column->job;
    for (;;) {
        uint64_t before = job->rows_per_block;
        uint64_t rows = zf_encode_cut_next(job, column->first, column->offsets, deciding(column, all), all);
        if (job->rows_per_block != before) zf_writer_rows_per_block(writer->table.writer, job->index, zf_encode_even_rows(job));
        if (rows == 0) return ZF_OK;
        ZF_TRY(make_room(writer, error));
        if (column->offsets != NULL) writer->waiting_bytes += (uint64_t)column->offsets[rows];
        ZF_TRY(zf_encode_pending_take(column, rows, &writer->waiting[writer->waiting_count], error));
        writer->waiting_count++;
    }
}

/// Whether blocks keep all threads busy, or some column has as many as it may.
static bool has_enough(const zf_table_writer *writer) {
    uint64_t threads = writer->table.threads, columns = all_columns(writer), most = (threads + columns - 1) / columns;
    if (threads == 1 && writer->waiting_count > 0) return true; // it has nothing to choose from
    if (most < COLUMN_WAITING) most = COLUMN_WAITING;
    if (writer->waiting_count >= THREAD_WAITING * threads) return true;
    if (writer->waiting_bytes >= THREAD_WAITING * threads * ZF_ENCODE_BLOCK_BYTES) return true; // of long strings
    for (size_t c = 0; c < columns && writer->waiting_count >= most; c++) {
        uint64_t waiting = 0;
        for (size_t k = 0; k < writer->waiting_count; k++) waiting += writer->waiting[k].job == writer->columns[c].job;
        if (waiting >= most) return true;
    }
    return false;
}

// ---- Appending ------------------------------------------------------------------------------------------------

static zf_status check_batch(const zf_table_writer *writer, const zf_encode_column *columns, size_t count, uint64_t rows,
                             zf_error *error) {
    if (writer->failed || writer->finished)
        return zf_raise(error, ZF_E_WRITER_STOPPED, "the table cannot be written after %s",
                        writer->finished ? "its end" : "an earlier failure");
    if (rows == 0) return ZF_OK;
    if (columns == NULL || count != writer->count) {
        return zf_raise(error, ZF_E_ARGUMENT, "a batch of %zu columns for a table of %zu", columns == NULL ? 0 : count,
                        writer->count);
    }
    for (size_t c = 0; c < count; c++) {
        const zf_column *column = writer->columns[writer->order[c]].job->column;
        zf_encode_column data = columns[c];
        if (data.name != NULL && strcmp(data.name, column->name) != 0) {
            return zf_raise(error, ZF_E_ARGUMENT, "column %zu of a batch is `%.128s`, but the writer was created with `%s` there",
                            c, data.name, column->name);
        }
        data.name = column->name;
        ZF_TRY(zf_encode_check_data(column, &data, writer->rows, rows, error));
    }
    return ZF_OK;
}

/// Whether too many bytes of a column's strings, or of the values of its lists, wait with `more` bytes in `rows` rows: a block
/// can then be cut.
static bool is_heavy(const zf_encode_pending *column, uint64_t more, uint64_t rows) {
    if (column->used + more <= ZF_ENCODE_WAITING_BYTES) return false;
    return column->job->cut > ZF_CUT_EVEN || (is_values(column) && column->rows + rows >= column->job->rows_per_block);
}

/// The same of a column of a batch, with some of its rows.
static bool gets_heavy(const zf_encode_pending *column, const zf_encode_column *data, uint64_t at, uint64_t rows) {
    if (column->job->column->part == ZF_LIST_ENDS) {
        const zf_encode_pending *values = &column[zf_lists_validity(column->job->column) != NULL ? 2 : 1];
        return is_heavy(values, zf_encode_lists_bytes(column, data, at, rows), zf_encode_lists_count(data, at, rows));
    }
    return data->offsets != NULL && is_heavy(column, (uint64_t)(data->offsets[at + rows] - data->offsets[at]), rows);
}

/// How many of a batch's rows from `at` on are appended together: up to the next multiple of 4096, or to a row with which too
/// many bytes wait.
static uint64_t rows_together(const zf_table_writer *writer, const zf_encode_column *columns, uint64_t at, uint64_t rows) {
    uint64_t some = ZF_ROWS_MULTIPLE - writer->rows % ZF_ROWS_MULTIPLE;
    if (some > rows - at) some = rows - at;
    for (size_t c = 0; c < writer->count; c++) {
        const zf_encode_pending *column = &writer->columns[writer->order[c]];
        if (!gets_heavy(column, &columns[c], at, some)) continue;
        uint64_t first = 1;
        while (first < some && !gets_heavy(column, &columns[c], at, first)) first++;
        some = first;
    }
    return some;
}

/// Appends rows, and cuts blocks where the rows until now decide.
static zf_status append_some(zf_table_writer *writer, const zf_encode_column *columns, uint64_t at, uint64_t rows,
                             zf_error *error) {
    bool heavy = false;
    for (size_t c = 0; c < writer->count; c++) {
        zf_encode_pending *column = &writer->columns[writer->order[c]];
        ZF_TRY(column->job->column->part == ZF_LIST_ENDS ? zf_encode_lists_add(column, &columns[c], at, rows, error)
                                                         : zf_encode_pending_add(column, &columns[c], at, rows, error));
    }
    for (size_t c = 0; c < all_columns(writer) && !heavy; c++) heavy = is_heavy(&writer->columns[c], 0, 0);
    writer->rows += rows;
    if (writer->rows % ZF_ROWS_MULTIPLE != 0 && !heavy) return ZF_OK;
    size_t before = writer->waiting_count;
    for (size_t c = 0; c < all_columns(writer); c++) ZF_TRY(take_blocks(writer, &writer->columns[c], false, error));
    if (writer->waiting_count == before || !has_enough(writer)) return ZF_OK;
    return zf_run_deep(run_waiting, writer, error);
}

zf_status zf_table_writer_append(zf_table_writer *writer, const zf_encode_column *columns, size_t column_count, uint64_t rows,
                                 zf_error *error) {
    if (writer == NULL) return zf_encode_usage(error, "zf_table_writer_append needs a writer%s", "");
    ZF_TRY(check_batch(writer, columns, column_count, rows, error));
    zf_status status = ZF_OK;
    for (uint64_t at = 0; at < rows && status == ZF_OK;) {
        uint64_t some = rows_together(writer, columns, at, rows);
        status = append_some(writer, columns, at, some, error);
        at += some;
    }
    writer->failed = status != ZF_OK;
    return status;
}

uint64_t zf_table_writer_rows(const zf_table_writer *writer) { return writer != NULL ? writer->rows : 0; }

static zf_status finish(void *user, zf_error *error) {
    zf_table_writer *writer = user;
    for (size_t c = 0; c < all_columns(writer); c++) ZF_TRY(take_blocks(writer, &writer->columns[c], true, error));
    ZF_TRY(run_waiting(writer, error));
    ZF_TRY(zf_encode_table_write_groups(&writer->table, error));
    return zf_writer_finish(writer->table.writer, writer->rows, error);
}

zf_status zf_table_writer_finish(zf_table_writer *writer, zf_encode_stats *stats, zf_error *error) {
    if (writer == NULL) return zf_encode_usage(error, "zf_table_writer_finish needs a writer%s", "");
    if (stats != NULL) ZF_TRY(ZF_CHECK_GIVEN(zf_encode_stats, stats, error));
    zf_status status = check_batch(writer, NULL, 0, 0, error);
    if (status == ZF_OK) status = zf_run_deep(finish, writer, error);
    writer->finished = status == ZF_OK || writer->finished;
    writer->failed = !writer->finished;
    for (size_t c = 0; stats != NULL && c < all_columns(writer); c++)
        ZF_GIVE_AT(zf_encode_stats, stats, c, &writer->table.stats[c]);
    return status;
}
