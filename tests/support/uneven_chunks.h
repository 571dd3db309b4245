// Files with uneven chunks, made of files with even ones: the same rows are encoded in chunks of several sizes, and chunks of all
// of them are put together in one block, with elements of no chunk between their parts.
#ifndef ZF_TESTS_UNEVEN_CHUNKS_H
#define ZF_TESTS_UNEVEN_CHUNKS_H

#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/decoder/decoder.h"
#include "compiler/program.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_open.h"
#include "runtime/container/element.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"

enum { UNEVEN_SIZES = 6, UNEVEN_STREAMS = 64, UNEVEN_TREES = 8 };

/// A column by its codec, in which %u is the outputs of a chunk.
typedef struct uneven_codec {
    const char *type, *codec;
} uneven_codec;

typedef struct uneven_file {
    const char *path;         ///< of the file that is made
    uint64_t chunks;          ///< of its only block
    uint64_t starts[1 << 16]; ///< of chunks, and behind them the outputs
    uint32_t tree, edge;      ///< of the directory
    zf_container *parts[UNEVEN_SIZES];
    zf_block_view views[UNEVEN_SIZES];
    unsigned sizes[UNEVEN_SIZES]; ///< of the chunks of `parts`
    unsigned size_count;
    bool first; ///< of two stages with chunks the first one has uneven ones; else the last
} uneven_file;

/// A stream that grows by elements of any width.
typedef struct uneven_stream {
    uint8_t *bytes;
    uint64_t elements;
} uneven_stream;

static inline void uneven_append(uneven_stream *to, unsigned bits, const uint8_t *from, uint64_t at, uint64_t count) {
    uint64_t bytes = ((to->elements + count) * bits + 7) / 8;
    to->bytes = realloc(to->bytes, bytes + 16);
    if (bits >= 8) {
        memcpy(to->bytes + to->elements * (bits / 8), from + at * (bits / 8), count * (bits / 8));
    } else {
        for (uint64_t k = 0; k < count; k++) {
            uint64_t bit = to->elements + k;
            if (bit % 8 == 0) to->bytes[bit / 8] = 0;
            to->bytes[bit / 8] |= (uint8_t)((from[(at + k) / 8] >> (at + k) % 8 & 1) << bit % 8);
        }
    }
    to->elements += count;
}

/// Elements of no chunk: whoever reads them decodes garbage.
static inline void uneven_gap(uneven_stream *to, unsigned bits, uint64_t count) {
    uint8_t garbage[64];
    memset(garbage, 0xee, sizeof garbage);
    for (uint64_t k = 0; k < count; k++) uneven_append(to, bits, garbage, 0, 1);
}

static inline uint64_t uneven_entry(const zf_block_view *view, uint32_t tree, uint32_t field, uint64_t entry) {
    uint64_t value = 0;
    const zf_seek_view *seek = &view->seeks[tree];
    memcpy(&value, view->base + seek->offsets[field] + entry * seek->widths[field], seek->widths[field]);
    return value;
}

/// The tree of a shape on an edge, or UINT32_MAX.
static inline uint32_t uneven_tree(const zf_shape *shape, uint32_t edge) {
    for (uint32_t t = 0; t < shape->tree_count; t++)
        if (shape->trees[t].edge == edge) return t;
    return UINT32_MAX;
}

/// Encodes rows with chunks of a size, as one block.
static inline void uneven_encode(zf_compiler *compiler, const char *imports, const uneven_codec *codec, unsigned size,
                                 const zf_encode_column *column, uint64_t rows, const char *path) {
    char text[2000], name[300];
    zf_error error = {0};
    zf_program *program = NULL;
    remove(path); // that of the codec before
    snprintf(name, sizeof name, codec->codec, size);
    int length = snprintf(text, sizeof text, "%s\ntable t { c: %s = %s; }\n", imports, codec->type, name);
    zf_status status = zf_program_read(compiler, "uneven.zf", text, (size_t)length, false, &program, &error);
    CHECK(status == ZF_OK, "%s: %s at %s", name, error.message, error.place);
    zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = UINT64_C(1) << 31, .overwrite = true};
    if (status == ZF_OK) status = zf_encode(program, NULL, column, 1, rows, &options, path, NULL, &error);
    CHECK(status == ZF_OK, "%s: %s at %s", name, error.message, error.place);
    zf_program_free(program);
}

/// The plan of the file's codec for uneven chunks; `*held` is to be released, and the program freed.
static inline const zf_decoder *uneven_decoder(zf_compiler *compiler, uneven_file *file, const char *imports,
                                               const uneven_codec *codec, unsigned most, zf_program **program,
                                               zf_cached_decoder **held) {
    char text[2000], name[300];
    zf_error error = {0};
    uint32_t *edges = NULL, chunked = 0;
    static const uint8_t branches[64];
    snprintf(name, sizeof name, codec->codec, most);
    int length = snprintf(text, sizeof text, "%s\ntable t { c: %s = %s; }\n", imports, codec->type, name);
    zf_program_read(compiler, "uneven.zf", text, (size_t)length, false, program, &error);
    const zf_column *column = zf_spec_tables(zf_program_spec(*program))->columns;
    zf_plan_request request = {.target = {.family = ZF_TARGET_HOST}};
    zf_status status = zf_program_decoder_for(*program, column, branches, &request, held, &error);
    CHECK(status == ZF_OK, "%s: %s", name, error.message);
    if (status != ZF_OK) return NULL;
    const zf_plan *plan = (*held)->decoder->plan;
    for (uint32_t k = 0; k < plan->kernel_count; k++)
        if (plan->kernels[k].domain == ZF_DOMAIN_CHUNKS && (chunked == 0 || !file->first)) chunked = plan->kernels[k].edge;
    zf_program_decoder_release(*program, *held);
    zf_decoder_states_of(file->views[0].shape, &edges, &request.states);
    request.states.uneven_edges = &chunked;
    request.states.uneven_edge_count = 1;
    status = zf_program_decoder_for(*program, column, branches, &request, held, &error);
    CHECK(status == ZF_OK, "%s: %s", name, error.message);
    free(edges);
    file->edge = chunked;
    if (status != ZF_OK) return NULL;
    file->tree = uneven_tree(&(*held)->decoder->shape, chunked);
    return (*held)->decoder;
}

/// Cuts the outputs: each chunk begins where one of some size does, in turn.
static inline void uneven_cut(uneven_file *file, uint64_t outputs) {
    uint64_t at = 0, turn = 0;
    file->chunks = 0;
    while (at < outputs && file->chunks + 1 < sizeof file->starts / sizeof file->starts[0]) {
        unsigned s = 0;
        for (unsigned k = 0; k < file->size_count; k++) {
            s = (unsigned)((turn + k) % file->size_count);
            if (at % file->sizes[s] == 0) break;
        }
        turn++;
        file->starts[file->chunks++] = at;
        at = at + file->sizes[s] < outputs ? at + file->sizes[s] : outputs;
    }
    file->starts[file->chunks] = outputs;
}

/// The file whose chunks have those outputs.
static inline unsigned uneven_part(const uneven_file *file, uint64_t chunk) {
    uint64_t start = file->starts[chunk], length = file->starts[chunk + 1] - start, outputs = file->starts[file->chunks];
    for (unsigned s = 0; s < file->size_count; s++) {
        uint64_t end = start + file->sizes[s] < outputs ? start + file->sizes[s] : outputs;
        if (start % file->sizes[s] == 0 && end == start + length) return s;
    }
    CHECK(false, "a chunk of no file");
    return 0;
}

/// Fills the directory and the streams of chunks. `values`: entry e of field f at [f * chunks + e].
static inline void uneven_fill(const uneven_file *file, const zf_decoder *decoder, unsigned gap, uint64_t *values,
                               uneven_stream *streams) {
    const zf_graph_node *node = &decoder->graph->nodes[decoder->graph->edges[file->edge].producer];
    uint32_t field = 1, even = 0;
    for (uint64_t c = 0; c < file->chunks; c++) values[c] = file->starts[c];
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        const zf_port *port = node->inst->streams[s];
        if (!port->per_chunk) continue;
        uint32_t edge = node->inputs[s], stored = (uint32_t)decoder->shape.edges[edge].stored;
        unsigned bits = zf_element_bits(decoder->shape.edges[edge].type);
        uneven_stream *to = &streams[stored];
        for (uint64_t c = 0; c < file->chunks; c++) {
            unsigned p = uneven_part(file, c);
            const zf_block_view *view = &file->views[p];
            uint64_t number = file->starts[c] / file->sizes[p], all = view->counts[edge], first, end;
            if (port->fixed) {
                uint64_t chunks = (view->counts[file->edge] - 1) / file->sizes[p] + 1;
                first = all / chunks * number;
                end = first + all / chunks;
            } else {
                uint32_t tree = uneven_tree(view->shape, file->edge);
                first = number == 0 ? 0 : uneven_entry(view, tree, even, number - 1);
                end = number < view->seeks[tree].entries ? uneven_entry(view, tree, even, number) : all;
                if (gap > 0) uneven_gap(to, bits, (c * 7 + 3) % gap);
                values[field * file->chunks + c] = to->elements;
                values[(field + 1) * file->chunks + c] = end - first;
            }
            uneven_append(to, bits, view->base + view->streams[stored].offset, first, end - first);
        }
        if (port->fixed) continue;
        if (gap > 0) uneven_gap(to, bits, gap);
        field += 2;
        even++;
    }
}

/// Writes the file: one block.
static inline void uneven_write(const uneven_file *file, const zf_shape *shape, const zf_block_data *data, zf_error *error) {
    const zf_index *index = &file->parts[0]->index;
    const zf_index_column *from = &index->columns[0];
    zf_writer_column column = {.name = from->name, .type = from->type, .type_name = from->type_name, .codec = from->codec};
    zf_writer_table table = {.name = index->table, .unit = index->unit, .columns = &column, .column_count = 1};
    zf_writer *writer = NULL;
    void *bytes = NULL;
    uint64_t size = 0;
    zf_block_data block = *data;
    zf_status status = zf_writer_create(file->path, true, &table, &writer, error);
    if (status == ZF_OK) status = zf_writer_shape(writer, 0, shape, &block.shape, error);
    if (status == ZF_OK) status = zf_block_layout(shape, &block, &bytes, &size, error);
    if (status == ZF_OK) status = zf_writer_block(writer, 0, block.shape, bytes, size, &block, error);
    if (status == ZF_OK) status = zf_writer_finish(writer, block.rows, error);
    CHECK(status == ZF_OK, "%s at %s", error->message, error->place);
    zf_writer_free(writer);
    free(bytes);
}

/// Makes `file->path` of `rows` rows: with `sizes[0]` as the most of a chunk, and chunks of sizes[from] and following ones, up to
/// `gap` elements apart. Free what it opened with uneven_close.
static inline void uneven_make(zf_context *context, zf_compiler *compiler, const char *imports, const uneven_codec *codec,
                               const unsigned *sizes, unsigned from, unsigned gap, const zf_encode_column *column, uint64_t rows,
                               uneven_file *file) {
    zf_error error = {0};
    zf_program *program = NULL;
    zf_cached_decoder *held = NULL;
    uneven_stream streams[UNEVEN_STREAMS] = {0};
    zf_stream_data stored[UNEVEN_STREAMS];
    zf_seek_data seeks[UNEVEN_TREES] = {0};
    unsigned count = 0;
    while (count < UNEVEN_SIZES && sizes[count] != 0) count++;
    // The first file has the text of the codec; chunks are taken from it only where `from` says so.
    for (unsigned s = 0; s < count; s++) {
        char name[32];
        snprintf(name, sizeof name, "even_%u.zfd", s);
        uneven_encode(compiler, imports, codec, sizes[s], column, rows, place(name));
        zf_status status = zf_container_open(context, place(name), &file->parts[s], &error);
        if (status == ZF_OK) status = zf_container_block(file->parts[s], 0, 0, true, &file->views[s], &error);
        CHECK(status == ZF_OK, "%s at %s", error.message, error.place);
        if (status != ZF_OK) exit(1);
        file->sizes[s] = sizes[s];
    }
    file->size_count = count;
    const zf_decoder *decoder = uneven_decoder(compiler, file, imports, codec, sizes[0], &program, &held);
    if (decoder == NULL) exit(1);
    uneven_file cut = {.size_count = 0};
    uneven_file *own = malloc(sizeof *own);
    *own = cut;
    for (unsigned s = from; s < count; s++) own->sizes[own->size_count++] = sizes[s];
    uneven_cut(own, file->views[0].counts[file->edge]);
    file->chunks = own->chunks;
    memcpy(file->starts, own->starts, sizeof file->starts);
    free(own);
    const zf_shape *shape = &decoder->shape;
    const zf_block_view *view = &file->views[0];
    CHECK(shape->stored_count <= UNEVEN_STREAMS && shape->tree_count <= UNEVEN_TREES, "%s is too large", codec->codec);
    uint64_t *counts = calloc(shape->edge_count + 1, sizeof *counts);
    memcpy(counts, view->counts, shape->edge_count * sizeof *counts);
    uint64_t *directory = calloc(file->chunks * shape->trees[file->tree].field_count + 1, sizeof *directory);
    uneven_fill(file, decoder, gap, directory, streams);
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        int32_t s = shape->edges[e].stored;
        if (s < 0) continue;
        const zf_stream_view *was = &view->streams[s];
        stored[s] = (zf_stream_data){view->base + was->offset, was->bytes, was->elements};
        if (streams[s].bytes == NULL) continue;
        counts[e] = streams[s].elements;
        stored[s] = (zf_stream_data){streams[s].bytes, 0, streams[s].elements};
        zf_elements_bytes(streams[s].elements, zf_element_bits(shape->edges[e].type), &stored[s].bytes);
    }
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        if (t == file->tree) {
            seeks[t] = (zf_seek_data){sizes[0], file->chunks, directory, 0};
            continue;
        }
        uint32_t of = uneven_tree(view->shape, shape->trees[t].edge), fields = shape->trees[t].field_count;
        const zf_seek_view *seek = &view->seeks[of];
        uint64_t *values = calloc(seek->entries * fields + 1, sizeof *values);
        for (uint32_t f = 0; f < fields; f++)
            for (uint64_t e = 0; e < seek->entries; e++) values[f * seek->entries + e] = uneven_entry(view, of, f, e);
        seeks[t] = (zf_seek_data){seek->interval, seek->entries, values, seek->most_groups};
    }
    zf_block_data data = {.rows = view->rows,
                          .plain_bytes = view->plain_bytes,
                          .params = view->params,
                          .counts = counts,
                          .streams = stored,
                          .seeks = seeks};
    uneven_write(file, shape, &data, &error);
    for (uint32_t t = 0; t < shape->tree_count; t++) free((void *)(uintptr_t)seeks[t].values);
    for (uint32_t s = 0; s < UNEVEN_STREAMS; s++) free(streams[s].bytes);
    free(counts);
    zf_program_decoder_release(program, held);
    zf_program_free(program);
}

static inline void uneven_close(uneven_file *file) {
    for (unsigned s = 0; s < file->size_count; s++) {
        zf_block_view_free(&file->views[s]);
        zf_container_close(file->parts[s]);
    }
    file->size_count = 0;
}

#endif
