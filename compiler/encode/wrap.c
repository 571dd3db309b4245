// zf_wrap: chunks that other programs compressed, into a container, as they are or taken apart. Each block is decoded before it
// is written.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/chunks/zstd_split.h"
#include "compiler/compile_sized.h"
#include "compiler/compiler.h"
#include "compiler/encode/encode_check.h"
#include "compiler/encode/encode_cut.h"
#include "compiler/encode/encode_table.h"
#include "runtime/base/clock.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/container/zone.h"

typedef unsigned long long ull;

/// The arguments of zf_wrap.
typedef struct wrapping {
    zf_encode_table *table;
    const zf_wrapped_column *columns;
    size_t column_count;
    const char *path;
    uint64_t rows; ///< of the table
} wrapping;

/// A column on its way.
typedef struct wrapped {
    const wrapping *all;
    zf_encode_job *job;
    const zf_wrapped_column *from;
    bool split; ///< chunks are frames of Zstandard, which are taken apart
    zf_zstd_edges edges;
    zf_zstd_dictionary dictionary; ///< if there is an edge for it
    const zf_decoder *decoder;
    const zf_abi_code *code;
    uint32_t shape;
} wrapped;

/// Chunks of one block.
typedef struct cut {
    size_t first, count;
    uint64_t first_row, rows, bytes;
    uint64_t block;
} cut;

// ---- Chunks ---------------------------------------------------------------------------------------------------

static zf_status refuse(const zf_column *column, const char *why, const char *hint, zf_error *error) {
    zf_status status = zf_raise(error, ZF_E_WRAP_CODEC, "column `%s` cannot take wrapped chunks: %s", column->name, why);
    return zf_fail_hint(error, status, "%s", hint);
}

static zf_status refuse_codec(const zf_column *column, const char *why, zf_error *error) {
    return refuse(column, why,
                  "the codec must be `non_parallel` with one stream `u8[] per chunk`, stored as it is, or `zstd_split(steps: "
                  "zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes))`, or so `zstd_split_dictionary`",
                  error);
}

static zf_status refuse_rows(const zf_column *column, const char *why, zf_error *error) {
    return refuse(column, why, "a column of wrapped chunks has rows of one size, which are neither null nor lists", error);
}

/// Whether the streams of an algorithm are called like those of `zstd_split`.
static bool looks_split(const zf_inst *inst) {
    return inst->stream_count >= 2 && strcmp(inst->streams[0]->name, "steps") == 0 &&
           strcmp(inst->streams[1]->name, "literals") == 0;
}

/// Whether a column's codec is a program of chunks over one stored stream of bytes, and nothing else, or is that of frames that
/// are taken apart (*split).
static zf_status check_codec(const zf_column *column, bool *split, zf_error *error) {
    if (column->part != ZF_LIST_NONE) return refuse_rows(column, "its rows are lists", error);
    if (column->choice_count > 0) return refuse(column, "its codec has alternatives", "name one codec, without `|`", error);
    const zf_codec_node *codec = column->codec->alternatives[0];
    const zf_inst *inst = codec->inst;
    // Such rows have bytes besides their values, for which blocks of chunks have no place.
    if (column->type.kind == ZF_K_STRING) return refuse_rows(column, "its rows are strings", error);
    if (column->type.nullable) return refuse_rows(column, "its rows may be null", error);
    if (inst->pattern != ZF_NON_PARALLEL) return refuse_codec(column, "its codec is no program of chunks", error);
    *split = looks_split(inst);
    if (*split) return ZF_OK; // the rest is seen when its edges are known
    if (inst->stream_count != 1) return refuse_codec(column, "its codec has not just one stream", error);
    const zf_port *port = inst->streams[0];
    bool bytes = port->per_chunk && !port->fixed && port->type.kind == ZF_K_U8 && !port->type.nullable;
    if (!bytes) return refuse_codec(column, "its codec's stream is no `u8[] per chunk`", error);
    for (uint32_t p = 0; p < inst->param_count; p++)
        if (!codec->param_given[p])
            return refuse(column, "its codec has a param without a value", "give it one in the codec: `NAME: VALUE`", error);
    return ZF_OK;
}

/// A chunk has rows, and no more than the codec allows, and a block has room for it.
static zf_status check_chunk(const zf_codec_node *codec, const zf_wrapped_column *from, size_t k, zf_error *error) {
    const zf_wrapped_chunk *chunk = &from->chunks[k];
    if (chunk->bytes == NULL && chunk->size > 0) return zf_encode_usage(error, "a chunk of column `%s` has no bytes", from->name);
    if (chunk->rows == 0) return zf_raise(error, ZF_E_WRAPPED_CHUNK, "chunk %zu of column `%s` has no rows", k, from->name);
    if (chunk->rows > codec->chunk_size) {
        zf_status status = zf_raise(error, ZF_E_WRAPPED_CHUNK, "chunk %zu of column `%s` has %llu rows; `%s` has at most %llu", k,
                                    from->name, (ull)chunk->rows, codec->inst->name, (ull)codec->chunk_size);
        return zf_fail_hint(error, status, "give the codec longer chunks: `chunk: N`, at most %d", ZF_UNEVEN_CHUNK_MOST);
    }
    if (chunk->size <= ZF_EDGE_ELEMENTS_MOST) return ZF_OK;
    return zf_raise(error, ZF_E_WRAPPED_CHUNK, "chunk %zu of column `%s` has more bytes than a block can have", k, from->name);
}

/// Adds up the rows of a column's chunks.
static zf_status count_rows(const zf_column *column, const zf_wrapped_column *from, uint64_t *rows, zf_error *error) {
    *rows = 0;
    for (size_t k = 0; k < from->chunk_count; k++) {
        zf_status status = check_chunk(column->codec->alternatives[0], from, k, error);
        if (status == ZF_OK && __builtin_add_overflow(*rows, from->chunks[k].rows, rows))
            status =
                zf_raise(error, ZF_E_WRAPPED_CHUNK, "column `%s` has more than 2^64 - 1 rows up to its chunk %zu", from->name, k);
        if (status != ZF_OK) return zf_fail_place(error, status, "column %.128s, chunk %zu", from->name, k);
    }
    return ZF_OK;
}

/// The chunks of the next block: until it has its rows.
static bool next_block(const wrapped *w, cut *at) {
    const zf_wrapped_column *from = w->from;
    uint64_t wanted = w->all->table->options.rows_per_block;
    if (wanted == 0) wanted = ZF_ENCODE_BLOCK_BYTES * UINT64_C(8) / zf_element_bits((zf_element)w->job->column->type.kind);
    *at = (cut){.first = at->first + at->count, .first_row = at->first_row + at->rows, .block = at->block + (at->count > 0)};
    for (size_t k = at->first; k < from->chunk_count && at->rows < wanted; k++) {
        const zf_wrapped_chunk *chunk = &from->chunks[k];
        bool fits = at->rows + chunk->rows <= ZF_ROWS_PER_BLOCK_MOST && at->bytes + chunk->size <= ZF_EDGE_ELEMENTS_MOST;
        if (!fits) break; // the first one does
        at->rows += chunk->rows;
        at->bytes += chunk->size;
        at->count++;
    }
    return at->count > 0;
}

/// Decides the rows per block: blocks are even where chunks happen to fill them alike.
static void cut_blocks(wrapped *w) {
    cut at = {0};
    uint64_t even = 0, last = 0;
    bool is_even = true;
    for (w->job->blocks = 0; next_block(w, &at); w->job->blocks++) {
        if (w->job->blocks == 0) even = at.rows;
        is_even = is_even && (w->job->blocks == 0 || last == even) && at.rows <= even;
        last = at.rows;
    }
    if (w->job->blocks <= 1) even = (even + ZF_ROWS_MULTIPLE - 1) / ZF_ROWS_MULTIPLE * ZF_ROWS_MULTIPLE;
    if (even == 0) even = ZF_ROWS_MULTIPLE;
    w->job->rows_per_block = is_even && even % ZF_ROWS_MULTIPLE == 0 && even <= ZF_ROWS_PER_BLOCK_MOST ? even : 0;
}

// ---- A block --------------------------------------------------------------------------------------------------

/// Memory of a block on its way.
typedef struct block_memory {
    zf_chunk_parts parts;
    zf_zstd_frames frames;
    uint8_t *out;
    void *work, *bytes;
    zf_zone *zones;
    bool undecoded; ///< the chunks are in a block that does not decode
} block_memory;

static void free_block(block_memory *m) {
    zf_chunk_parts_free(&m->parts);
    free(m->frames.sums);
    free(m->out);
    free(m->work);
    free(m->bytes);
    free(m->zones);
}

/// The rows are at most 2^31.
static uint64_t plain_bytes(const wrapped *w, const cut *at) {
    return (at->rows * zf_element_bits((zf_element)w->job->column->type.kind) + 7) / 8;
}

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a block of chunks"); }

static zf_status fail_chunk(const wrapped *w, const cut *at, size_t k, zf_status status, zf_error *error) {
    return zf_fail_place(error, status, "column %.128s, block %llu, chunk %zu", w->job->column->name, (ull)at->block,
                         at->first + k);
}

static bool has_dictionary(const wrapped *w) { return w->split && w->edges.dictionary != UINT32_MAX; }

/// Puts the chunks one behind the other, and says where each one is; or takes them apart.
static zf_status gather(const wrapped *w, const cut *at, block_memory *m, zf_error *error) {
    if (!zf_chunk_parts_begin(&m->parts, &w->decoder->shape)) return no_memory(error);
    zf_zstd_dictionary_parts given, *dictionary = has_dictionary(w) ? &given : NULL;
    if (!w->split) zf_chunk_parts_reserve(&m->parts, 0, at->bytes);
    if (dictionary != NULL) given = zf_zstd_split_begin(&w->dictionary, &w->edges, &m->parts);
    uint64_t row = 0, byte = 0;
    for (size_t k = 0; k < at->count; k++) {
        const zf_wrapped_chunk *chunk = &w->from->chunks[at->first + k];
        if (w->split) {
            zf_zstd_chunk frames = {chunk->bytes, chunk->size, chunk->rows, k};
            zf_status status = zf_zstd_split(&w->edges, dictionary, &frames, row, &m->parts, &m->frames, error);
            if (status != ZF_OK) return fail_chunk(w, at, k, status, error);
        } else {
            zf_chunk_parts_enter(&m->parts, 0, (uint64_t[]){row, byte, chunk->size});
            zf_chunk_parts_append(&m->parts, 0, chunk->bytes, chunk->size);
        }
        row += chunk->rows;
        byte += chunk->size;
    }
    m->parts.counts[0] = at->rows;
    return ZF_OK;
}

/// Compares the rows with the checksums of frames.
static zf_status check_rows(const wrapped *w, const cut *at, const block_memory *m, zf_error *error) {
    for (size_t k = 0; k < m->frames.count; k++) {
        const zf_zstd_sum *sum = &m->frames.sums[k];
        if (zf_zstd_sum_holds(sum, m->out)) continue;
        zf_status status = zf_raise(error, ZF_E_WRAPPED_CHUNK, "its bytes are not those of a frame's checksum");
        return fail_chunk(w, at, sum->chunk, status, error);
    }
    return ZF_OK;
}

static zf_status decode_block(const wrapped *w, const cut *at, const zf_block_view *view, const char *place, block_memory *m,
                              zf_error *error) {
    uint64_t work = 0, bytes = plain_bytes(w, at);
    zf_element element = (zf_element)w->job->column->type.kind;
    ZF_TRY(zf_block_work_bytes(&w->decoder->abi, view, &work, error));
    m->work = aligned_alloc(64, work / 64 * 64 + 64);
    m->out = aligned_alloc(64, bytes / 64 * 64 + 64);
    if (m->work == NULL || m->out == NULL) return no_memory(error);
    zf_block_run run = {.plan = &w->decoder->abi,
                        .code = w->code,
                        .view = view,
                        .element = element,
                        .out = m->out,
                        .end = view->rows,
                        .work = m->work,
                        .where = place,
                        .threads = w->all->table->threads};
    return zf_block_run_cpu(&run, error);
}

static zf_status make_zones(const wrapped *w, const cut *at, block_memory *m, zf_error *error) {
    if (!w->job->zoned) return ZF_OK;
    const zf_zone_rows all = {.element = (zf_element)w->job->column->type.kind, .values = m->out};
    m->zones = zf_zones_make(&all, at->rows);
    return m->zones != NULL ? ZF_OK : no_memory(error);
}

static zf_status make_block(const wrapped *w, const cut *at, const char *place, block_memory *m, zf_block_data *block,
                            uint64_t *size, zf_error *error) {
    const zf_shape *shape = &w->decoder->shape;
    ZF_TRY(gather(w, at, m, error));
    *block = (zf_block_data){.rows = at->rows,
                             .plain_bytes = plain_bytes(w, at),
                             .first_row = at->first_row,
                             .shape = w->shape,
                             .params = w->job->column->codec->alternatives[0]->param_bits,
                             .version = w->job->format};
    zf_chunk_parts_data(&m->parts, block);
    if (m->parts.no_memory) return no_memory(error);
    ZF_TRY(zf_block_layout(shape, block, &m->bytes, size, error));
    zf_chunk_parts_free(&m->parts); // it is in the block now
    zf_block_view view;
    ZF_TRY(zf_block_check(shape, m->bytes, *size, false, place, &view, error)); // the checksum was just made
    view.first_row = at->first_row;
    zf_status status = decode_block(w, at, &view, place, m, error);
    m->undecoded = status == ZF_ERR_INPUT;
    zf_block_view_free(&view);
    if (status == ZF_OK) status = check_rows(w, at, m, error);
    if (status == ZF_OK) status = make_zones(w, at, m, error);
    block->zones = m->zones;
    block->counts = NULL;
    block->streams = NULL;
    block->seeks = NULL;
    return status;
}

/// A block does not decode: reports the first of its chunks that does not as a block of its own. A failure of a stage has an
/// element of the stage as its place, and no row that would tell the chunk.
static zf_status explain_chunk(const wrapped *w, const cut *at, zf_status status, zf_error *error) {
    cut one = {.first = at->first, .count = 1, .first_row = at->first_row, .block = at->block};
    for (; one.first < at->first + at->count; one.first++, one.first_row += one.rows) {
        const zf_wrapped_chunk *chunk = &w->from->chunks[one.first];
        char place[256];
        block_memory m = {0};
        zf_block_data block;
        uint64_t size;
        zf_error of_chunk = {0};
        one.rows = chunk->rows;
        one.bytes = chunk->size;
        snprintf(place, sizeof place, "column %.128s, block %llu, chunk %zu", w->job->column->name, (ull)at->block, one.first);
        zf_status found = make_block(w, &one, place, &m, &block, &size, &of_chunk);
        free_block(&m);
        if (found != ZF_ERR_INPUT) continue;
        if (error != NULL) *error = of_chunk;
        if (!m.undecoded) return ZF_ERR_INPUT;
        return zf_fail_hint(error, ZF_ERR_INPUT, "the chunk has %llu bytes for %llu rows: these sizes or its bytes are wrong",
                            (ull)chunk->size, (ull)chunk->rows);
    }
    return status;
}

static zf_status write_block(const wrapped *w, const cut *at, zf_error *error) {
    char place[256];
    block_memory m = {0};
    zf_block_data block;
    uint64_t size = 0;
    double before = zf_clock_seconds();
    snprintf(place, sizeof place, "column %.128s, block %llu", w->job->column->name, (ull)at->block);
    zf_status status = make_block(w, at, place, &m, &block, &size, error);
    if (m.undecoded) {
        free_block(&m); // each chunk takes as much again
        m = (block_memory){0};
        status = explain_chunk(w, at, status, error);
    }
    zf_encode_stats *stats = &w->all->table->stats[w->job->index];
    stats->verify_seconds += zf_clock_seconds() - before;
    if (status == ZF_OK) status = zf_writer_block(w->job->writer, w->job->index, w->shape, m.bytes, size, &block, error);
    if (status == ZF_OK) {
        stats->plain_bytes += block.plain_bytes;
        stats->stored_bytes += size;
        stats->blocks++;
    }
    free_block(&m);
    return status;
}

// ---- A table --------------------------------------------------------------------------------------------------

static zf_status report_progress(zf_encode_table *table, zf_error *error) {
    const zf_encode_options *options = &table->options;
    table->done++;
    if (options->progress == NULL || options->progress(options->progress_user, table->done, table->blocks)) return ZF_OK;
    return zf_raise(error, ZF_E_CANCELLED, "the wrapping was cancelled after %llu of %llu blocks", (ull)table->done,
                    (ull)table->blocks);
}

/// Whether the one stream is stored as it is, and nothing else is.
static bool is_single(const zf_decoder *decoder, const zf_codec_node *codec) {
    const zf_shape *shape = &decoder->shape;
    return shape->edge_count == 2 && shape->stored_count == 1 && shape->edges[1].stored == 0 &&
           shape->param_count == codec->inst->param_count && shape->tree_count == 1 &&
           shape->trees[0].directory == ZF_DIRECTORY_UNEVEN && shape->trees[0].field_count == 3;
}

/// Finds the decoder of blocks whose chunks at these edges are uneven.
static zf_status find_decoder(wrapped *w, const uint32_t *edges, uint32_t edge_count, zf_cached_decoder **held, zf_error *error) {
    static const uint8_t branches[1];
    zf_program *program = w->all->table->program;
    zf_plan_request request = *zf_compiler_request(program->compiler);
    request.states = (zf_decoder_states){.uneven_edges = edges, .uneven_edge_count = edge_count};
    ZF_TRY(zf_program_decoder_for(program, w->job->column, branches, &request, held, error));
    w->decoder = (*held)->decoder;
    return ZF_OK;
}

static zf_status read_dictionary(wrapped *w, zf_error *error) {
    const zf_wrapped_column *from = w->from;
    if (!has_dictionary(w)) return ZF_OK;
    if (from->dictionary == NULL)
        return refuse(w->job->column, "its codec needs a dictionary", "give the one that its chunks were compressed with", error);
    zf_status status = zf_zstd_dictionary_read(from->dictionary, from->dictionary_size, &w->dictionary, error);
    return status == ZF_OK ? ZF_OK : zf_fail_place(error, status, "column %.128s", from->name);
}

/// The decoder of frames that are taken apart: its edges first.
static zf_status find_split(wrapped *w, zf_cached_decoder **held, zf_error *error) {
    ZF_TRY(find_decoder(w, NULL, 0, held, error));
    bool split = zf_zstd_split_edges(w->decoder->graph, &w->edges);
    zf_program_decoder_release(w->all->table->program, *held);
    *held = NULL;
    if (!split) return refuse_codec(w->job->column, "it is no codec of chunks that can be wrapped", error);
    ZF_TRY(read_dictionary(w, error));
    const uint32_t edges[] = {0, w->edges.steps, w->edges.literals};
    return find_decoder(w, edges, 3, held, error);
}

/// Writes all blocks of a column.
static zf_status write_column(wrapped *w, zf_error *error) {
    static const uint64_t none[1];
    static const uint32_t column_edge = 0;
    zf_program *program = w->all->table->program;
    zf_cached_decoder *held = NULL;
    ZF_TRY(w->split ? find_split(w, &held, error) : find_decoder(w, &column_edge, 1, &held, error));
    bool known = w->split || is_single(w->decoder, w->job->column->codec->alternatives[0]);
    zf_status status = known ? ZF_OK : refuse_codec(w->job->column, "its stream has a codec of its own", error);
    if (status == ZF_OK && w->from->dictionary != NULL && !has_dictionary(w))
        status = refuse(w->job->column, "its codec has no dictionary", "name `zstd_split_dictionary`, or give none", error);
    const zf_shape *shape = &w->decoder->shape;
    if (status == ZF_OK) status = zf_writer_shape(w->job->writer, w->job->index, shape, &w->shape, error);
    if (status == ZF_OK) status = zf_decoder_code_for(held->decoder, none, &w->code, error);
    for (cut at = {0}; status == ZF_OK && next_block(w, &at);) {
        status = write_block(w, &at, error);
        if (status == ZF_OK) status = report_progress(w->all->table, error);
    }
    zf_program_decoder_release(program, held);
    return status;
}

static zf_status match_column(wrapping *all, size_t c, wrapped *w, zf_error *error) {
    const zf_encode_column column = {.name = all->columns[c].name, .full_name = all->columns[c].full_name};
    uint64_t rows;
    *w = (wrapped){.all = all, .from = &all->columns[c]};
    if (w->from->chunks == NULL && w->from->chunk_count > 0)
        return zf_encode_usage(error, "column `%s` has no array of chunks", column.name != NULL ? column.name : "");
    ZF_TRY(zf_encode_table_column(all->table, &column, &w->job, error));
    ZF_TRY(check_codec(w->job->column, &w->split, error));
    ZF_TRY(count_rows(w->job->column, w->from, &rows, error));
    if (c > 0 && rows != all->rows) {
        return zf_raise(error, ZF_E_WRAPPED_CHUNK, "column `%s` has %llu rows, column `%s` %llu", column.name, (ull)rows,
                        all->columns[0].name, (ull)all->rows);
    }
    w->job->rows = all->rows = rows;
    cut_blocks(w);
    all->table->blocks += w->job->blocks;
    return ZF_OK;
}

static zf_status wrap_table(void *user, zf_error *error) {
    wrapping *all = user;
    zf_encode_table *table = all->table;
    wrapped *columns = calloc(all->column_count + 1, sizeof *columns);
    if (columns == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a table's columns");
    zf_status status = ZF_OK;
    for (size_t c = 0; c < all->column_count && status == ZF_OK; c++) status = match_column(all, c, &columns[c], error);
    if (status == ZF_OK) status = zf_encode_table_complete(table, error);
    if (status == ZF_OK) status = zf_encode_table_open(table, all->path, error);
    for (size_t c = 0; c < all->column_count && status == ZF_OK; c++) status = write_column(&columns[c], error);
    if (status == ZF_OK) status = zf_writer_finish(table->writer, all->rows, error);
    free(columns);
    return status;
}

static zf_status check_options(const zf_encode_options *options, zf_error *error) {
    if (options->format == 1) return zf_encode_usage(error, "version 1 of the format has no wrapped chunks%s", "");
    if (options->seek_interval != 0 || options->unfused != NULL)
        return zf_encode_usage(error, "wrapped chunks have no seek states: neither `seek_interval` nor `unfused` applies%s", "");
    return ZF_OK;
}

zf_status zf_wrap(zf_program *program, const char *table_name, const zf_wrapped_column *columns, size_t column_count,
                  const zf_encode_options *options, const char *path, zf_encode_stats *stats, zf_error *error) {
    const zf_encode_stats none = {0};
    if (stats != NULL && column_count > 0) ZF_TRY(ZF_CHECK_GIVEN(zf_encode_stats, stats, error));
    for (size_t c = 0; c < column_count && stats != NULL; c++) ZF_GIVE_AT(zf_encode_stats, stats, c, &none);
    if (program == NULL || path == NULL || (columns == NULL && column_count > 0))
        return zf_encode_usage(error, "zf_wrap needs a program, columns and a path%s", "");
    zf_encode_table table;
    zf_status status = zf_encode_table_create(program, table_name, options, &table, error);
    if (status == ZF_OK) status = check_options(&table.options, error);
    wrapping all = {&table, columns, column_count, path, 0};
    if (status == ZF_OK) status = zf_run_deep(wrap_table, &all, error);
    for (size_t c = 0; table.stats != NULL && c < table.table->column_count && c < column_count && stats != NULL; c++)
        ZF_GIVE_AT(zf_encode_stats, stats, c, &table.stats[c]);
    zf_encode_table_free(&table);
    return status;
}
