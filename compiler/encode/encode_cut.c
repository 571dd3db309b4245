#include "compiler/encode/encode_cut.h"

#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"

enum { BLOCK_BYTES = 16 << 20 }; ///< of plain data, unless the caller says otherwise

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
static bool is_skewed(const zf_encode_job *job) {
    for (uint64_t row = 0; row < job->rows; row += job->rows_per_block) {
        if (characters(job, row, least(job->rows_per_block, job->rows - row)) > 2 * BLOCK_BYTES) return true;
    }
    return false;
}

/// The rows of a block at the start of `left` rows with these offsets: multiples of 4096, at most `most`, until one more would
/// exceed the bytes of a block.
static uint64_t rows_by_bytes(const int64_t *offsets, uint64_t left, uint64_t most) {
    uint64_t rows = least(ZF_ROWS_MULTIPLE, left);
    while (rows < left && rows < most) {
        uint64_t more = least(rows + ZF_ROWS_MULTIPLE, left);
        if (offsets[more] - offsets[0] > BLOCK_BYTES) break;
        rows = more;
    }
    return rows;
}

static zf_status cut_by_bytes(zf_encode_job *job, zf_error *error) {
    uint64_t most = (job->rows + ZF_ROWS_MULTIPLE - 1) / ZF_ROWS_MULTIPLE, row = 0;
    job->starts = calloc(most + 1, sizeof *job->starts);
    if (job->starts == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the blocks of a column");
    job->rows_per_block = job->blocks = 0;
    while (row < job->rows) {
        row += rows_by_bytes(job->data.offsets + row, job->rows - row, ZF_ROWS_PER_BLOCK_MOST);
        job->starts[++job->blocks] = row;
    }
    return ZF_OK;
}

zf_status zf_encode_cut(zf_encode_job *job, const zf_encode_options *options, zf_error *error) {
    job->rows_per_block = options->rows_per_block;
    if (job->rows_per_block == 0)
        job->rows_per_block = even_rows(job, job->rows, is_text(job) ? characters(job, 0, job->rows) : 0);
    job->blocks = (job->rows + job->rows_per_block - 1) / job->rows_per_block;
    bool free_to_cut = is_text(job) && options->rows_per_block == 0 && options->format != 1;
    return free_to_cut && is_skewed(job) ? cut_by_bytes(job, error) : ZF_OK;
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

enum { WAITING_ROWS = BLOCK_BYTES }; ///< at most: a block has as many rows if its strings are empty

void zf_encode_cut_arriving(zf_encode_job *job, const zf_encode_options *options) {
    bool given = options->rows_per_block != 0;
    job->cut = is_text(job) && !given ? ZF_CUT_UNDECIDED : ZF_CUT_EVEN;
    job->rows_per_block = given ? options->rows_per_block : even_rows(job, 0, 0);
}

uint64_t zf_encode_cut_next(zf_encode_job *job, const int64_t *offsets, uint64_t rows, bool all) {
    uint64_t even = least(job->rows_per_block, rows), text = offsets != NULL ? (uint64_t)(offsets[rows] - offsets[0]) : 0;
    if (job->cut == ZF_CUT_EVEN) return all || rows >= job->rows_per_block ? even : 0;
    if (job->cut == ZF_CUT_UNDECIDED) {
        if (!all && text < BLOCK_BYTES && rows < WAITING_ROWS) return 0;
        job->rows_per_block = even_rows(job, rows, text);
        job->cut = job->format == 1 ? ZF_CUT_EVEN : ZF_CUT_EVEN_TEXT;
        return zf_encode_cut_next(job, offsets, rows, all);
    }
    if (job->cut == ZF_CUT_EVEN_TEXT) {
        if (rows == 0 || offsets[even] - offsets[0] <= 2 * BLOCK_BYTES) return all || rows >= job->rows_per_block ? even : 0;
        job->cut = ZF_CUT_BY_BYTES;
        job->rows_per_block = 0;
    }
    if (!all && text <= BLOCK_BYTES && rows < WAITING_ROWS) return 0;
    return rows_by_bytes(offsets, rows, WAITING_ROWS);
}
