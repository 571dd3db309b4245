#include "tests/differential/diff_chunks.h"

#include <string.h>

#include "patterns/graph/graph.h"
#include "tests/differential/diff_trials.h"
#include "tests/differential/gen_program.h"
#include "tests/interp/interp_internal.h"

static bool is_foreign(const zf_codec_choice *choice) {
    bool found = false;
    for (uint32_t a = 0; choice != NULL && a < choice->count; a++) {
        const zf_codec_node *node = choice->alternatives[a];
        found = found || node->inst->encode_extern != NULL;
        for (uint32_t s = 0; s < node->inst->stream_count; s++) found = found || is_foreign(node->streams[s]);
    }
    return found;
}

bool diff_chunk_foreign(const zf_column *column) { return is_foreign(column->codec); }

static uint64_t chunk_of(const zf_codec_choice *choice) {
    const zf_codec_node *node = choice->alternatives[0];
    if (node->inst->pattern == ZF_NON_PARALLEL) return node->chunk_size;
    uint64_t size = 0;
    for (uint32_t s = 0; s < node->inst->stream_count && size == 0; s++)
        if (node->streams[s] != NULL) size = chunk_of(node->streams[s]);
    return size;
}

bool diff_chunk_trial_of(const zf_column *column, unsigned number, unsigned k, diff_chunk_trial *out) {
    uint64_t chunk = chunk_of(column->codec), largest = chunk < 1500 ? chunk : 1500;
    if (chunk >= 1500 && chunk <= 5000) largest = chunk;
    const uint64_t sizes[DIFF_CHUNK_TRIALS / 2] = {0, 1, largest - 1, largest, largest + 1, 3 * largest + 7, 33, 700, 2500};
    unsigned size = k / 2;
    if ((number + size) % DIFF_CHUNK_STEP != 0 || sizes[size] > 6000) return false;
    if (k % 2 == 1 && sizes[size] < 2) return false;
    data_shape shape = (number + size) % 2 == 0 ? DATA_ZIPF : DATA_UNIFORM;
    if (k % 2 == 0) shape = (data_shape)((number * 5 + size * 3) % DATA_SHAPES);
    // A chunk has so many bytes that what is read ahead goes round its ring.
    if (k % 2 == 1 && size == (chunk <= 5000 ? 3 : 5)) shape = DATA_FULL_RANGE;
    if (size == 8 && k % 2 == 0) shape = DATA_CONSTANT; // numbers of no bits
    *out = (diff_chunk_trial){
        .shape = shape, .rows = sizes[size], .seed = sizes[size] * 31 + (uint64_t)shape, .every = size == 6 || size == 7};
    return true;
}

// ---- Damage ---------------------------------------------------------------------------------------------------

// Where in the last chunk of a stream: from its begin, and from its end.
static const uint8_t places[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 17, 24};
enum { PLACES = sizeof places, ENDS = 3, WAYS = 4 * PLACES + ENDS + 3, PARAM_WAYS = 4, EDGE_WAYS = 4 };

static uint64_t *starts_of(interp *in, interp_block *block, uint32_t edge) {
    if (block->directories == NULL || block->directories[edge].count == 0) return NULL;
    interp_directory *directories = diff_copy(in, block->directories, block->edge_count * sizeof *directories);
    uint64_t *starts = diff_copy(in, directories[edge].starts, (size_t)directories[edge].count * sizeof *starts);
    directories[edge].starts = starts;
    block->directories = directories;
    return starts;
}

// The stream ends behind so many elements, and no chunk begins behind its end.
static bool cut(interp *in, uint32_t s, uint32_t edge, bool bits, uint64_t elements, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (elements >= streams[s].elements || streams[s].offsets != NULL) return false;
    streams[s].size = bits ? (elements + 7) / 8 : streams[s].size / streams[s].elements * elements;
    streams[s].elements = elements;
    block->streams = streams;
    diff_set_count(in, block, edge, elements);
    uint64_t *starts = starts_of(in, block, edge);
    for (uint64_t c = 0; starts != NULL && c < block->directories[edge].count; c++)
        if (starts[c] > elements) starts[c] = elements;
    return true;
}

// An element is all ones, or 0, or another by a bit.
static bool change(interp *in, uint32_t s, uint64_t at, unsigned how, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (at >= streams[s].elements) return false;
    uint8_t *bytes = diff_copy(in, streams[s].bytes, (size_t)streams[s].size);
    size_t size = (size_t)(streams[s].size / streams[s].elements);
    streams[s].bytes = bytes;
    block->streams = streams;
    if (how < 2)
        memset(bytes + at * size, how == 0 ? 0xff : 0, size);
    else
        bytes[at * size] ^= (uint8_t)(1u << at % 8);
    return true;
}

// The stream goes on and ends with a number of seven bits a byte that has more than 64.
static bool fill(interp *in, uint32_t s, uint32_t edge, uint64_t from, interp_block *block) {
    enum { BYTES = 11 };
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (streams[s].size != streams[s].elements || from > streams[s].size) return false;
    uint8_t *bytes = zf_arena_alloc(interp_arena(in), (size_t)from + BYTES);
    memcpy(bytes, streams[s].bytes, (size_t)from);
    memset(bytes + from, 0xff, BYTES);
    bytes[from + BYTES - 1] = 0;
    streams[s] = (interp_stored){.bytes = bytes, .size = from + BYTES, .elements = from + BYTES};
    block->streams = streams;
    diff_set_count(in, block, edge, from + BYTES);
    return true;
}

// An element more than anybody asked for: the first once more.
static bool lengthen(interp *in, uint32_t s, uint32_t edge, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (streams[s].offsets != NULL) return false;
    size_t size = (size_t)(streams[s].size / streams[s].elements), all = (size_t)streams[s].size;
    uint8_t *bytes = zf_arena_alloc(interp_arena(in), all + size + 8);
    memcpy(bytes, streams[s].bytes, all);
    memcpy(bytes + all, bytes, size);
    streams[s].bytes = bytes;
    streams[s].size += size;
    streams[s].elements++;
    block->streams = streams;
    diff_set_count(in, block, edge, streams[s].elements);
    return true;
}

static bool damage_stream(interp *in, const zf_graph *graph, uint32_t s, unsigned way, interp_block *block) {
    uint32_t edge = graph->stored_edges[s];
    const interp_directory *directory = block->directories != NULL ? &block->directories[edge] : NULL;
    uint64_t count = block->streams[s].elements, last = 0;
    bool bits = graph->edges[edge].type.kind == ZF_K_BOOL;
    if (count == 0 || block->counts[edge] != count) return false;
    if (directory != NULL && directory->count > 0) last = directory->starts[directory->count - 1];
    if (way < PLACES) return cut(in, s, edge, bits, last + places[way], block);
    way -= PLACES;
    if (way < 3 * PLACES) return !bits && change(in, s, last + places[way / 3], way % 3, block);
    way -= 3 * PLACES;
    if (way < ENDS) return count > way && cut(in, s, edge, bits, count - 1 - way, block);
    way -= ENDS;
    if (bits) return false;
    return way == 0 ? lengthen(in, s, edge, block) : fill(in, s, edge, last + way - 1, block);
}

static bool damage_param(interp *in, uint32_t p, unsigned way, interp_block *block) {
    uint64_t value = block->params[p];
    diff_set_param(in, block, p, way == 0 ? UINT64_MAX : way == 1 ? 0 : way == 2 ? value + 1 : value - 1);
    return true;
}

// An edge that nothing stores has an element less, or half of them; a chunk begins an element before or behind its place.
static bool damage_edge(interp *in, const zf_graph *graph, uint32_t edge, unsigned way, interp_block *block) {
    if (way < 2) {
        if (edge == 0 || graph->edges[edge].stored >= 0 || block->counts[edge] == 0) return false;
        diff_set_count(in, block, edge, way == 0 ? block->counts[edge] - 1 : block->counts[edge] / 2);
        return true;
    }
    uint64_t *starts = starts_of(in, block, edge);
    if (starts == NULL) return false;
    uint64_t chunks = block->directories[edge].count, *start = &starts[way == 2 ? chunks - 1 : chunks / 2];
    if (way == 2 ? *start == 0 : *start >= block->counts[edge]) return false;
    *start += way == 2 ? UINT64_MAX : 1;
    return true;
}

unsigned diff_chunk_damages(const diff_chunk_trial *t, const interp_block *block) {
    if (!t->every) return DIFF_CHUNK_RANDOM;
    return DIFF_CHUNK_RANDOM + WAYS * block->stream_count + PARAM_WAYS * block->param_count + EDGE_WAYS * block->edge_count;
}

bool diff_chunk_damage(interp *in, const zf_column *column, const diff_chunk_trial *t, unsigned d, interp_block *block) {
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, block->branches);
    if (d < DIFF_CHUNK_RANDOM) {
        gen_damage(in, t->seed * DIFF_CHUNK_RANDOM + d, block);
        return true;
    }
    d -= DIFF_CHUNK_RANDOM;
    if (d < WAYS * block->stream_count) return damage_stream(in, graph, d / WAYS, d % WAYS, block);
    d -= WAYS * block->stream_count;
    if (d < PARAM_WAYS * block->param_count) return damage_param(in, d / PARAM_WAYS, d % PARAM_WAYS, block);
    d -= PARAM_WAYS * block->param_count;
    return damage_edge(in, graph, d / EDGE_WAYS, d % EDGE_WAYS, block);
}
