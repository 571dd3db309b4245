#include "tests/differential/diff_trials.h"

#include <string.h>

#include "patterns/graph.h"
#include "tests/differential/gen_program.h"
#include "tests/interp/interp_internal.h"

// A tile of a map on a GPU is so many rows; those of other kernels divide it.
static uint64_t tile_of(zf_type type) {
    if (type.kind == ZF_K_BOOL) return 8192;
    unsigned size = zf_kind_size(type.kind);
    return size == 1 ? 16384 : size == 2 ? 8192 : 4096;
}

diff_trial diff_trial_of(unsigned number, unsigned k, zf_type type) {
    uint64_t tile = tile_of(type);
    data_random random = {number * 1000 + k};
    uint64_t more = tile > 8192 ? 4096 : tile; // of the next tile
    const uint64_t sizes[] = {0, 1, tile - 1, tile, tile + 1, tile + more - 1, 64 + data_below(&random, more), tile + more + 1};
    diff_trial t = {.shape = (data_shape)((number * 5 + k) % DATA_SHAPES),
                    .rows = sizes[(number + k) % (sizeof sizes / sizeof sizes[0])],
                    .seed = number * 1000 + k};
    if (k == 9) t = (diff_trial){.shape = DATA_CONSTANT, .rows = tile + 1, .seed = t.seed};
    t.lines = k == 17 && type.kind != ZF_K_BOOL;
    if (t.lines) t.rows = tile + 1;
    t.narrow = t.rows > 1 && (k + k / 8) % 4 == 3;
    return t;
}

interp_stream *diff_trial_data(interp *in, const diff_trial *t, zf_type type) {
    if (!t->lines) return data_stream(in, type, t->shape, t->seed, t->rows);
    interp_stream *out = interp_stream_new(in, type);
    data_random random = {t->seed};
    uint64_t value = 0, step = 0, left = 0;
    for (uint64_t r = 0; r < t->rows; r++, left--) {
        if (left == 0) {
            left = 1 + data_below(&random, 400);
            step = 1 + data_below(&random, 3);
        }
        value += step;
        double number = (double)(value % 100000);
        float single = (float)number;
        uint64_t bits = value;
        if (type.kind == ZF_K_F64) memcpy(&bits, &number, 8);
        if (type.kind == ZF_K_F32) {
            bits = 0;
            memcpy(&bits, &single, 4);
        }
        interp_stream_push(out, zf_kind_is_float(type.kind) ? bits : interp_value_mask(type.kind, bits));
    }
    return out;
}

// ---- Damage ---------------------------------------------------------------------------------------------------

static void *copy(interp *in, const void *from, size_t size) {
    void *to = zf_arena_alloc(interp_arena(in), size + 8);
    if (size > 0) memcpy(to, from, size);
    return to;
}

static interp_stored *own_stream(interp *in, interp_block *block, uint32_t s, uint8_t **bytes) {
    interp_stored *streams = copy(in, block->streams, block->stream_count * sizeof *streams);
    block->streams = streams;
    streams[s].bytes = *bytes = copy(in, streams[s].bytes, (size_t)streams[s].size);
    return &streams[s];
}

static void set_count(interp *in, interp_block *block, uint32_t edge, uint64_t count) {
    uint64_t *counts = copy(in, block->counts, block->edge_count * sizeof *counts);
    counts[edge] = count;
    block->counts = counts;
}

static void set_param(interp *in, interp_block *block, uint32_t p, uint64_t value) {
    uint64_t *params = copy(in, block->params, block->param_count * sizeof *params);
    params[p] = value;
    block->params = params;
}

// A stream, and who pulls from it, have nothing.
static void empty_stream(interp *in, const zf_graph *graph, uint32_t s, interp_block *block) {
    uint8_t *bytes;
    interp_stored *stream = own_stream(in, block, s, &bytes);
    stream->size = stream->elements = 0;
    set_count(in, block, graph->stored_edges[s], 0);
}

// A stream that is what it says, and an element shorter than who pulls from it needs.
static void shorten_stream(interp *in, const zf_graph *graph, uint32_t s, interp_block *block) {
    uint8_t *bytes;
    interp_stored *stream = own_stream(in, block, s, &bytes);
    uint32_t edge = graph->stored_edges[s];
    if (stream->elements == 0 || block->counts[edge] != stream->elements) return;
    bool bits = graph->edges[edge].type.kind == ZF_K_BOOL;
    stream->size = bits ? (stream->elements + 6) / 8 : stream->size - stream->size / stream->elements;
    stream->elements--;
    set_count(in, block, edge, stream->elements);
}

// An edge that nothing stores has an element less than who pulls from it needs.
static bool shorten_edge(interp *in, const zf_graph *graph, uint64_t which, interp_block *block) {
    uint32_t edge = 1 + (uint32_t)(which % graph->edge_count);
    if (edge >= graph->edge_count || graph->edges[edge].stored >= 0 || block->counts[edge] == 0) return false;
    set_count(in, block, edge, block->counts[edge] - 1);
    return true;
}

// One number of those that `bitpack` packs becomes all ones.
static bool damage_packed(interp *in, const zf_graph *graph, uint64_t at, interp_block *block) {
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const zf_graph_node *node = &graph->nodes[n];
        if (strncmp(node->inst->name, "bitpack", 7) != 0 || graph->edges[node->inputs[0]].stored < 0) continue;
        uint64_t width = block->params[node->first_param], count = block->counts[node->output];
        uint32_t s = (uint32_t)graph->edges[node->inputs[0]].stored;
        if (width == 0 || width > 64 || count == 0 || count * width > 8 * block->streams[s].size) continue;
        uint8_t *bytes;
        own_stream(in, block, s, &bytes);
        for (uint64_t bit = at % count * width; bit < (at % count + 1) * width; bit++) bytes[bit / 8] |= (uint8_t)(1u << bit % 8);
        return true;
    }
    return false;
}

static void flip_bit(interp *in, uint32_t s, uint64_t at, interp_block *block) {
    uint8_t *bytes;
    const interp_stored *stream = own_stream(in, block, s, &bytes);
    if (stream->size > 0) bytes[at / 8 % stream->size] ^= (uint8_t)(1u << at % 8);
}

// Element `at` becomes all ones, or 0.
static void damage_element(interp *in, uint32_t s, uint64_t at, bool ones, interp_block *block) {
    uint8_t *bytes;
    interp_stored *stream = own_stream(in, block, s, &bytes);
    if (stream->elements == 0) return;
    size_t size = (size_t)(stream->size / stream->elements);
    if (size > 0) memset(bytes + at % stream->elements * size, ones ? 0xff : 0, size);
}

// ---- Damage of sizes of groups --------------------------------------------------------------------------------

static bool adds_up(const uint32_t *sizes, uint64_t count, uint64_t rows) {
    uint64_t sum = 0;
    for (uint64_t e = 0; e < count; e++) sum += sizes[e];
    return sum == rows;
}

// Numbers that `bitpack` packs into words of 32 bits, packed anew without any saving: as wide as they are, from 0 on. NULL: it
// cannot be.
static uint32_t *unpack(interp *in, const zf_graph *graph, uint32_t node, interp_block *block, uint64_t least, uint64_t *count) {
    const zf_graph_node *n = &graph->nodes[node];
    int32_t s = graph->edges[n->inputs[0]].stored;
    bool packs = strncmp(n->inst->name, "bitpack", 7) == 0 && graph->edges[n->output].type.kind == ZF_K_U32 && s >= 0;
    if (!packs || graph->edges[n->inputs[0]].type.kind != ZF_K_U32 || block->counts[n->output] < least) return NULL;
    uint64_t width = block->params[n->first_param], base = block->params[n->first_param + 1];
    *count = block->counts[n->output];
    if (width > 32 || *count * width > 8 * block->streams[s].size) return NULL;
    uint32_t *values = zf_arena_alloc(interp_arena(in), 4 * *count + 8);
    for (uint64_t e = 0; e < *count; e++) {
        uint64_t value = 0;
        for (uint64_t bit = 0; bit < width; bit++) {
            uint64_t at = e * width + bit;
            value |= (uint64_t)(block->streams[s].bytes[at / 8] >> at % 8 & 1) << bit;
        }
        values[e] = (uint32_t)(base + value);
    }
    if (!adds_up(values, *count, block->counts[0])) return NULL;
    interp_stored *streams = copy(in, block->streams, block->stream_count * sizeof *streams);
    streams[s] = (interp_stored){.bytes = (uint8_t *)values, .size = 4 * *count, .elements = *count};
    block->streams = streams;
    set_count(in, block, n->inputs[0], *count);
    set_param(in, block, n->first_param, 32);
    set_param(in, block, n->first_param + 1, 0);
    return values;
}

// A stream of u32 that adds up to the column's rows, stored as it is or packed, if there is one with so many groups.
static uint32_t *sizes_of(interp *in, const zf_graph *graph, interp_block *block, uint64_t least, uint64_t *count) {
    for (uint32_t s = 0; s < block->stream_count; s++) {
        const interp_stored *stream = &block->streams[s];
        if (stream->size != 4 * stream->elements || stream->elements < least) continue;
        uint32_t *sizes = copy(in, stream->bytes, (size_t)stream->size);
        if (!adds_up(sizes, stream->elements, block->counts[0])) continue;
        uint8_t *bytes;
        *count = own_stream(in, block, s, &bytes)->elements;
        return (uint32_t *)(void *)bytes;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t *sizes = graph->nodes[n].inst->param_count == 2 ? unpack(in, graph, n, block, least, count) : NULL;
        if (sizes != NULL) return sizes;
    }
    return NULL;
}

// The group that holds row `row`, which is less than all of them.
static uint64_t group_at(const uint32_t *sizes, uint64_t row, uint64_t *into) {
    uint64_t g = 0;
    while (row >= sizes[g]) row -= sizes[g++];
    *into = row;
    return g;
}

// Group g loses its elements to the one behind it: the sum stays, and what is wrong is a size of 0.
static bool merge(uint32_t *sizes, uint64_t count, uint64_t g) {
    if (g + 1 >= count) return false;
    sizes[g + 1] += sizes[g];
    sizes[g] = 0;
    return true;
}

// Two sizes that are too large, and whose sum is right modulo 2^32.
static bool wrap(uint32_t *sizes, uint64_t count, uint64_t a, uint64_t b) {
    if (a == b || a >= count || b >= count) return false;
    sizes[a] += UINT32_C(1) << 31;
    sizes[b] += UINT32_C(1) << 31;
    return true;
}

bool diff_trial_beside(const diff_trial *t, unsigned d) { return d == 5 && !t->narrow; } // damage_sizes, 3

enum { EACH = 4, STATES = 4096 }; // groups that a thread takes; rows between states

static bool damage_sizes(interp *in, const zf_graph *graph, unsigned number, unsigned k, unsigned d, interp_block *block) {
    data_random random = {number * 1000 + DIFF_DAMAGES * k + d + 700};
    uint64_t count, into, rows = block->counts[0];
    uint32_t *sizes = sizes_of(in, graph, block, 2, &count);
    if (sizes == NULL || rows < 2) return false;
    uint64_t lane = k % EACH, any = data_below(&random, count) / EACH * EACH + lane, last = (count - 1) / EACH * EACH;
    uint64_t bound = rows > STATES ? group_at(sizes, STATES, &into) : 0; // of a tile
    switch (d) { // groups that threads take together, among a tile's first, its last, the next tile's; of the same lane of two
                 // threads
    case 0: return merge(sizes, count, any);
    case 1: return merge(sizes, count, lane);
    case 2: return merge(sizes, count, count - 2 - data_below(&random, count - 1 < EACH ? count - 1 : EACH));
    case 3: // taken together with the next tile's first
        if (bound % EACH < 2) return bound >= EACH + 2 && merge(sizes, count, bound - 2 - data_below(&random, EACH - 1));
        return merge(sizes, count, bound - 2 - data_below(&random, bound % EACH - 1));
    case 4: return bound > 0 && merge(sizes, count, bound + 1 + data_below(&random, EACH - 1));
    case 5: return wrap(sizes, count, any, any + EACH);
    case 6: return wrap(sizes, count, lane, last >= 2 * EACH ? last - EACH + lane : count);
    case 7: return wrap(sizes, count, last, last + 1);
    default: // the tile ends with a group: no damage
        if (rows <= STATES || bound + 1 >= count) return false;
        group_at(sizes, STATES, &into);
        if (into == 0) return false;
        sizes[bound + 1] += sizes[bound] - (uint32_t)into;
        sizes[bound] = (uint32_t)into;
        return true;
    }
}

// ---- Damage of anything ---------------------------------------------------------------------------------------

bool diff_trial_damage(interp *in, const zf_column *column, unsigned number, unsigned k, unsigned d, interp_block *block) {
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, block->branches);
    if (d >= 2) return damage_sizes(in, graph, number, k, d - 2, block);
    data_random random = {number * 1000 + 2 * k + d + 500};
    unsigned turn = 2 * k + d;
    // Every lane of a thread in its turn, at places that are whole tiles' and at others.
    uint64_t at = (turn / 2 % 3 == 0 ? 0 : data_below(&random, 4096) / 16 * 16) + k % 16;
    uint32_t stream = block->stream_count > 0 ? (uint32_t)data_below(&random, block->stream_count) : 0;
    if (block->counts[0] <= 1 && d == 0 && block->param_count > 0) {
        set_param(in, block, k / 8 % block->param_count, UINT64_MAX);
    } else if (block->counts[0] <= 1 && block->stream_count > 0) { // widths that the block's elements do not ask for
        for (uint32_t p = 0; p < block->param_count; p++) set_param(in, block, p, 5);
        if (block->counts[0] == 1) empty_stream(in, graph, k / 8 % block->stream_count, block);
    } else if (turn % 4 == 1 || block->stream_count == 0) {
        gen_damage(in, data_next(&random), block);
    } else if (turn % 4 == 0) {
        damage_element(in, stream, at, turn % 8 != 0, block);
    } else if (turn % 4 == 2) {
        if (k % 4 == 1 && shorten_edge(in, graph, k / 4, block)) return true;
        shorten_stream(in, graph, k / 2 % block->stream_count, block);
    } else if (!damage_packed(in, graph, at + data_below(&random, 16), block)) {
        flip_bit(in, stream, data_next(&random), block);
    }
    return true;
}
