#include "compiler/encode/encode_cut.h"

#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"

enum {
    BLOCK_BYTES = ZF_ENCODE_BLOCK_BYTES,
    WAITING_ROWS = BLOCK_BYTES, ///< of strings at most: a block has as many rows if they are empty
};

/// Characters of rows `first` to `first + rows` - 1, nulls' included.
static uint64_t characters(const zf_encode_job *job, uint64_t first, uint64_t rows) {
    return (uint64_t)(job->data.offsets[first + rows] - job->data.offsets[first]);
}

static bool is_text(const zf_encode_job *job) { return job->column->type.kind == ZF_K_STRING; }

/// Rows of a block: 16 MiB of plain data; of strings by the mean length of `rows` rows with these characters.
static uint64_t even_rows(const zf_encode_job *job, uint64_t rows, uint64_t text) {
    uint64_t bits = job->column->type.kind == ZF_K_BOOL ? 1 : 8 * zf_kind_size(job->column->type.kind);
    if (is_text(job)) bits = 8 * (rows > 0 ? text / rows + 1 : 1);
    uint64_t wanted = (uint64_t)BLOCK_BYTES * 8 / bits / ZF_ROWS_MULTIPLE * ZF_ROWS_MULTIPLE;
    return wanted < ZF_ROWS_MULTIPLE ? ZF_ROWS_MULTIPLE : wanted;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/// Whether even blocks of strings differ so much that one has more than twice the bytes.
static bool is_skewed(const zf_encode_job *job, const int64_t *offsets, uint64_t rows) {
    for (uint64_t row = 0; row < rows; row += job->rows_per_block) {
        if (offsets[row + least(job->rows_per_block, rows - row)] - offsets[row] > 2 * BLOCK_BYTES) return true;
    }
    return false;
}

static uint64_t bytes_of(const int64_t *offsets, uint64_t rows) { return (uint64_t)(offsets[rows] - offsets[0]); }

/// The rows of the block from row `first` on, of which `rows` rows are there with these offsets; 0: more must arrive.
///
/// Blocks are whole multiples of 4096 rows, until one more would exceed the bytes of a block. A multiple that alone has more
/// than twice these bytes is cut within: the next multiple begins a block again.
static uint64_t rows_by_bytes(const int64_t *offsets, uint64_t first, uint64_t rows, bool all) {
    uint64_t unit = ZF_ROWS_MULTIPLE - first % ZF_ROWS_MULTIPLE, there = least(unit, rows), n = 1;
    if (there == 0) return 0;
    bool whole = rows >= unit || all; // the multiple is complete
    if (unit < ZF_ROWS_MULTIPLE || bytes_of(offsets, there) > 2 * BLOCK_BYTES) {
        while (n < there && bytes_of(offsets, n + 1) <= BLOCK_BYTES) n++;
        return n < there || whole ? n : 0;
    }
    if (!whole) return 0;
    for (n = there; n < WAITING_ROWS; n = there) {
        there = least(n + ZF_ROWS_MULTIPLE, rows);
        if (there == n) return all ? n : 0;
        if (bytes_of(offsets, there) > BLOCK_BYTES) return n;
        if (there < n + ZF_ROWS_MULTIPLE && !all) return 0;
    }
    return n;
}

static zf_status cut_by_bytes(zf_encode_job *job, zf_error *error) {
    uint64_t room = 0, row = 0;
    job->rows_per_block = job->blocks = 0;
    while (row < job->rows) {
        if (job->blocks + 1 >= room) {
            room = 2 * room + 64;
            uint64_t *grown = realloc(job->starts, room * sizeof *grown);
            if (grown == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the blocks of a column");
            job->starts = grown;
        }
        job->starts[job->blocks++] = row;
        row += rows_by_bytes(job->data.offsets + row, row, job->rows - row, true);
        job->starts[job->blocks] = row;
    }
    return ZF_OK;
}

zf_status zf_encode_cut(zf_encode_job *job, const zf_encode_options *options, zf_error *error) {
    job->rows_per_block = options->rows_per_block;
    if (job->rows_per_block == 0)
        job->rows_per_block = even_rows(job, job->rows, is_text(job) ? characters(job, 0, job->rows) : 0);
    job->blocks = (job->rows + job->rows_per_block - 1) / job->rows_per_block;
    bool free_to_cut = is_text(job) && options->rows_per_block == 0 && options->format != 1;
    return free_to_cut && is_skewed(job, job->data.offsets, job->rows) ? cut_by_bytes(job, error) : ZF_OK;
}

void zf_encode_cut_block(const zf_encode_job *job, uint64_t block, uint64_t *first, uint64_t *rows) {
    if (job->starts != NULL) {
        *first = job->starts[block];
        *rows = job->starts[block + 1] - *first;
    } else {
        *first = block * job->rows_per_block;
        *rows = least(job->rows_per_block, job->rows - *first);
    }
}

void zf_encode_cut_free(zf_encode_job *job) {
    free(job->starts);
    job->starts = NULL;
}

// ---- Rows as they arrive --------------------------------------------------------------------------------------

void zf_encode_cut_arriving(zf_encode_job *job, const zf_encode_options *options) {
    bool given = options->rows_per_block != 0;
    job->cut = is_text(job) && !given ? ZF_CUT_UNDECIDED : ZF_CUT_EVEN;
    job->rows_per_block = given ? options->rows_per_block : even_rows(job, 0, 0);
}

uint64_t zf_encode_cut_next(zf_encode_job *job, uint64_t first, const int64_t *offsets, uint64_t rows, bool all) {
    uint64_t even = least(job->rows_per_block, rows), text = offsets != NULL ? bytes_of(offsets, rows) : 0;
    if (job->cut == ZF_CUT_EVEN) return all || rows >= job->rows_per_block ? even : 0;
    if (job->cut == ZF_CUT_UNDECIDED) {
        bool early = text > ZF_ENCODE_WAITING_BYTES;
        if (!all && !early && (rows % ZF_ROWS_MULTIPLE != 0 || (text < BLOCK_BYTES && rows < WAITING_ROWS))) return 0;
        job->rows_per_block = even_rows(job, rows, text);
        job->cut = job->format == 1 ? ZF_CUT_EVEN : ZF_CUT_EVEN_TEXT;
        if (job->format != 1 && rows > 0 && (early || is_skewed(job, offsets, rows))) {
            job->cut = ZF_CUT_BY_BYTES;
            job->rows_per_block = 0;
        }
        return zf_encode_cut_next(job, first, offsets, rows, all);
    }
    if (job->cut == ZF_CUT_EVEN_TEXT) {
        if (rows == 0 || bytes_of(offsets, even) <= 2 * BLOCK_BYTES) return all || rows >= job->rows_per_block ? even : 0;
        job->cut = ZF_CUT_BY_BYTES;
        job->rows_per_block = 0;
    }
    return rows_by_bytes(offsets, first, rows, all);
}

uint64_t zf_encode_even_rows(const zf_encode_job *job) {
    return job->rows_per_block % ZF_ROWS_MULTIPLE == 0 ? job->rows_per_block : 0;
}
