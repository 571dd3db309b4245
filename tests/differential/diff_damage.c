#include "tests/differential/diff_trials.h"

#include <string.h>

#include "patterns/graph/graph.h"
#include "tests/differential/diff_wild.h"
#include "tests/differential/generator/gen_program.h"
#include "tests/interp/interp_internal.h"

// ---- Damage ---------------------------------------------------------------------------------------------------

void *diff_copy(interp *in, const void *from, size_t size) {
    void *to = zf_arena_alloc(interp_arena(in), size + 8);
    if (size > 0) memcpy(to, from, size);
    return to;
}

static interp_stored *own_stream(interp *in, interp_block *block, uint32_t s, uint8_t **bytes) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    block->streams = streams;
    streams[s].bytes = *bytes = diff_copy(in, streams[s].bytes, (size_t)streams[s].size);
    return &streams[s];
}

void diff_set_count(interp *in, interp_block *block, uint32_t edge, uint64_t count) {
    uint64_t *counts = diff_copy(in, block->counts, block->edge_count * sizeof *counts);
    counts[edge] = count;
    block->counts = counts;
}

void diff_set_param(interp *in, interp_block *block, uint32_t p, uint64_t value) {
    uint64_t *params = diff_copy(in, block->params, block->param_count * sizeof *params);
    params[p] = value;
    block->params = params;
}

// A stream, and who pulls from it, have nothing.
static void empty_stream(interp *in, const zf_graph *graph, uint32_t s, interp_block *block) {
    uint8_t *bytes;
    interp_stored *stream = own_stream(in, block, s, &bytes);
    stream->size = stream->elements = 0;
    diff_set_count(in, block, graph->stored_edges[s], 0);
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
    diff_set_count(in, block, edge, stream->elements);
}

// An edge that nothing stores has an element less than who pulls from it needs.
static bool shorten_edge(interp *in, const zf_graph *graph, uint64_t which, interp_block *block) {
    uint32_t edge = 1 + (uint32_t)(which % graph->edge_count);
    if (edge >= graph->edge_count || graph->edges[edge].stored >= 0 || block->counts[edge] == 0) return false;
    diff_set_count(in, block, edge, block->counts[edge] - 1);
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

// `more`: elements that each group but the last has beyond what its size says, as exceptions.
static bool adds_up(const uint32_t *sizes, uint64_t count, uint64_t rows, uint64_t more) {
    uint64_t sum = count > 0 ? more * (count - 1) : 0;
    for (uint64_t e = 0; e < count; e++) sum += sizes[e];
    return sum == rows;
}

// The numbers that `bitpack` packs into words of 32 bits, and their count. NULL: the node packs none, or fewer than `least`.
static uint32_t *packed_numbers(interp *in, const zf_graph *graph, uint32_t node, const interp_block *block, uint64_t least,
                                uint64_t *count) {
    const zf_graph_node *n = &graph->nodes[node];
    if (strncmp(n->inst->name, "bitpack", 7) != 0 || n->inst->param_count != 2) return NULL;
    int32_t s = graph->edges[n->inputs[0]].stored;
    bool packs = graph->edges[n->output].type.kind == ZF_K_U32 && s >= 0;
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
    return values;
}

// Packs them anew without any saving: as wide as they are, from 0 on. They become the block's.
static void widen(interp *in, const zf_graph *graph, uint32_t node, uint32_t *values, uint64_t count, interp_block *block) {
    const zf_graph_node *n = &graph->nodes[node];
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    streams[graph->edges[n->inputs[0]].stored] =
        (interp_stored){.bytes = (uint8_t *)values, .size = 4 * count, .elements = count};
    block->streams = streams;
    diff_set_count(in, block, n->inputs[0], count);
    diff_set_param(in, block, n->first_param, 32);
    diff_set_param(in, block, n->first_param + 1, 0);
}

// Packed numbers that add up to so many rows, packed anew. NULL: the node packs none such.
static uint32_t *unpack(interp *in, const zf_graph *graph, uint32_t node, uint64_t rows, interp_block *block, uint64_t least,
                        uint64_t more, uint64_t *count) {
    uint32_t *values = packed_numbers(in, graph, node, block, least, count);
    if (values == NULL || !adds_up(values, *count, rows, more)) return NULL;
    widen(in, graph, node, values, *count, block);
    return values;
}

uint32_t *diff_values_of(interp *in, const zf_graph *graph, const uint32_t *sizes, uint64_t count, interp_block *block) {
    uint64_t found;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t *values = packed_numbers(in, graph, n, block, count, &found);
        if (values == NULL || found != count || memcmp(values, sizes, 4 * count) == 0) continue;
        widen(in, graph, n, values, count, block);
        return values;
    }
    for (uint32_t s = 0; s < block->stream_count; s++) {
        const interp_stored *stream = &block->streams[s];
        bool numbers = stream->elements == count && stream->size == 4 * count;
        if (!numbers || graph->edges[graph->stored_edges[s]].type.kind != ZF_K_U32 ||
            memcmp(stream->bytes, sizes, 4 * count) == 0)
            continue;
        uint8_t *bytes;
        own_stream(in, block, s, &bytes);
        return (uint32_t *)(void *)bytes;
    }
    return NULL;
}

bool diff_are_grouped(const zf_graph *graph, const interp_block *block, uint64_t elements) {
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        int32_t producer = graph->edges[e].producer;
        if (block->counts[e] == elements && producer >= 0 && graph->nodes[producer].inst->pattern == ZF_GROUP_PARALLEL)
            return true;
    }
    return false;
}

// Whether an edge's numbers are lengths of strings. They add up to the characters, as sizes of groups that make those do.
static bool are_lengths(const zf_graph *graph, uint32_t edge) {
    int32_t consumer = graph->edges[edge].consumer;
    return consumer >= 0 && graph->edges[graph->nodes[consumer].output].type.kind == ZF_K_STRING;
}

// A stream of u32 that adds up to so many rows, if there is one with so many groups.
static uint32_t *stored_sizes(interp *in, const zf_graph *graph, uint64_t rows, interp_block *block, uint64_t least,
                              uint64_t more, uint64_t *count) {
    bool grouped = diff_are_grouped(graph, block, rows);
    for (uint32_t s = 0; s < block->stream_count; s++) {
        const interp_stored *stream = &block->streams[s];
        if (stream->size != 4 * stream->elements || stream->elements < least) continue;
        if (grouped && are_lengths(graph, graph->stored_edges[s])) continue;
        uint32_t *sizes = diff_copy(in, stream->bytes, (size_t)stream->size);
        if (!adds_up(sizes, stream->elements, rows, more)) continue;
        uint8_t *bytes;
        *count = own_stream(in, block, s, &bytes)->elements;
        return (uint32_t *)(void *)bytes;
    }
    return NULL;
}

// The same, stored as it is or packed. Where groups make so many elements, lengths of strings are none.
static uint32_t *sizes_of(interp *in, const zf_graph *graph, uint64_t rows, interp_block *block, uint64_t least, uint64_t more,
                          uint64_t *count) {
    uint32_t *stored = stored_sizes(in, graph, rows, block, least, more, count);
    bool grouped = diff_are_grouped(graph, block, rows);
    if (stored != NULL) return stored;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (grouped && are_lengths(graph, graph->nodes[n].output)) continue;
        uint32_t *sizes = unpack(in, graph, n, rows, block, least, more, count);
        if (sizes != NULL) return sizes;
    }
    return NULL;
}

uint32_t *diff_sizes_of(interp *in, const zf_graph *graph, uint64_t rows, interp_block *block, uint64_t least, uint64_t *count) {
    uint32_t *sizes = sizes_of(in, graph, rows, block, least, 0, count);
    return sizes != NULL ? sizes : sizes_of(in, graph, rows, block, least, 1, count);
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

// One size that is less than none, and another that is as much larger: the sum is right modulo 2^32.
static bool borrow(uint32_t *sizes, uint64_t count, uint64_t a, uint64_t b) {
    enum { BORROWED = 300 };
    if (a == b || a >= count || b >= count) return false;
    sizes[a] -= BORROWED;
    sizes[b] += BORROWED;
    return true;
}

enum { EACH = 4, STATES = DIFF_STEP_ROWS, SIZE_DAMAGES = 9 }; // groups that a thread takes; rows between states; ways

static bool damage_sizes(interp *in, const zf_graph *graph, unsigned number, unsigned k, unsigned d, interp_block *block) {
    data_random random = {.state = number * 1000 + (SIZE_DAMAGES + 2) * k + d + 700};
    uint64_t count, into, rows = block->counts[0];
    uint32_t *sizes = sizes_of(in, graph, rows, block, 2, 0, &count);
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

static bool damage_anything(interp *in, const zf_graph *graph, unsigned number, unsigned k, unsigned d, interp_block *block) {
    data_random random = {.state = number * 1000 + 2 * k + d + 500};
    unsigned turn = 2 * k + d;
    // Every lane of a thread in its turn, at places that are whole tiles' and at others.
    uint64_t at = (turn / 2 % 3 == 0 ? 0 : data_below(&random, 4096) / 16 * 16) + k % 16;
    uint32_t stream = block->stream_count > 0 ? (uint32_t)data_below(&random, block->stream_count) : 0;
    if (block->counts[0] <= 1 && d == 0 && block->param_count > 0) {
        diff_set_param(in, block, k / 8 % block->param_count, UINT64_MAX);
    } else if (block->counts[0] <= 1 && block->stream_count > 0) { // widths that the block's elements do not ask for
        for (uint32_t p = 0; p < block->param_count; p++) diff_set_param(in, block, p, 5);
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

enum { LANES = 16, STREAMS = 6, EDGES = 3, PARAMS = 3 };

// ---- Damage where it is wanted --------------------------------------------------------------------------------

// A number of the column's rows that is all ones: packed, or an element of a stream that has one a row.
static bool damage_row(interp *in, const zf_graph *graph, uint64_t row, interp_block *block) {
    if (row >= block->counts[0]) return false;
    if (damage_packed(in, graph, row, block)) return true;
    for (uint32_t s = 0; s < block->stream_count; s++) {
        if (block->streams[s].elements != block->counts[0]) continue;
        damage_element(in, s, row, true, block);
        return true;
    }
    return false;
}

// The same of the other streams that have one a row: an element of the `which`-th.
static bool damage_row_of(interp *in, unsigned which, uint64_t row, interp_block *block) {
    if (row >= block->counts[0]) return false;
    for (uint32_t s = 0; s < block->stream_count; s++) {
        if (block->streams[s].elements != block->counts[0] || which-- > 0) continue;
        damage_element(in, s, row, true, block);
        return true;
    }
    return false;
}

// A block without rows that keeps its params.
static bool empty_block(interp *in, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    for (uint32_t s = 0; s < block->stream_count; s++) streams[s].size = streams[s].elements = 0;
    block->streams = streams;
    for (uint32_t e = 0; e < block->edge_count; e++) diff_set_count(in, block, e, 0);
    return true;
}

static bool damage_stream(interp *in, const zf_graph *graph, unsigned d, interp_block *block) {
    if (d / 2 >= block->stream_count) return false;
    if (d % 2 == 0)
        empty_stream(in, graph, d / 2, block);
    else
        shorten_stream(in, graph, d / 2, block);
    return true;
}

// A param that is the length of a stream becomes 1, and so does the stream, whose element is as large as can be.
static bool shorten_measured(interp *in, const zf_graph *graph, unsigned which, interp_block *block) {
    for (uint32_t p = 0; p < block->param_count; p++)
        for (uint32_t s = 0; s < block->stream_count; s++) {
            interp_stored *stream;
            uint8_t *bytes;
            uint32_t edge = graph->stored_edges[s];
            if (block->params[p] < 2 || block->streams[s].elements != block->params[p]) continue;
            if (block->counts[edge] != block->params[p] || graph->edges[edge].type.kind == ZF_K_BOOL || which-- > 0) continue;
            stream = own_stream(in, block, s, &bytes);
            stream->size /= stream->elements;
            stream->elements = 1;
            memset(bytes, 0xff, (size_t)stream->size);
            diff_set_count(in, block, edge, 1);
            diff_set_param(in, block, p, 1);
            return true;
        }
    return false;
}

// Streams of one element have none, and a row needs one alone: its element of the first stream that has one a row is far away.
static bool ask_for_none(interp *in, const zf_graph *graph, uint64_t row, interp_block *block) {
    bool some = false;
    if (row >= block->counts[0]) return false;
    for (uint32_t s = 0; s < block->stream_count; s++) {
        if (block->streams[s].elements != 1 || block->counts[0] == 1) continue;
        empty_stream(in, graph, s, block);
        some = true;
    }
    return some && damage_row_of(in, 0, row, block);
}

static bool damage_lane(interp *in, const zf_graph *graph, unsigned d, interp_block *block) {
    if (d < LANES) return damage_row(in, graph, 5 * LANES + d, block);                        // of whole rows
    if (d < 2 * LANES) return damage_row(in, graph, block->counts[0] - 2 * LANES + d, block); // of the last, which is cut
    d -= 2 * LANES;
    if (d < 2 * STREAMS) return damage_stream(in, graph, d, block);
    d -= 2 * STREAMS;
    if (d == 0) return empty_block(in, block);
    if (d <= EDGES) return shorten_edge(in, graph, d - 1, block);
    d -= 1 + EDGES;
    if (d < LANES) return damage_row_of(in, 1, 5 * LANES + d, block);
    d -= LANES;
    // Outside any range; by so much that a shift by it is none, though the type may have it; and 0, by which widths read no bits.
    if (d >= PARAMS * block->param_count) {
        d -= PARAMS * block->param_count;
        if (d < LANES) return ask_for_none(in, graph, 5 * LANES + d, block);
        if (d < 2 * LANES) return ask_for_none(in, graph, block->counts[0] - 2 * LANES + d, block);
        return shorten_measured(in, graph, d - 2 * LANES, block);
    }
    uint64_t param = block->params[d / PARAMS];
    diff_set_param(in, block, d / PARAMS, d % PARAMS == 0 ? UINT64_MAX : d % PARAMS == 1 ? param + 64 : 0);
    return true;
}

// Places of groups that threads take together, on each lane of a thread: at a tile's begin, in its middle, at its end, at the
// next tile's begin, at the end of all.
enum {
    AT_BEGIN,
    IN_MIDDLE,
    AT_END,
    BEHIND_END,
    AT_LAST,
    STAGE_PLACES,
    STAGE_LANES = 8,
    STAGE_WAYS = 2 * STAGE_PLACES * STAGE_LANES
};

static uint64_t stage_group(const uint32_t *sizes, uint64_t count, uint64_t elements, unsigned place, unsigned lane) {
    uint64_t into, bound = elements > STATES ? group_at(sizes, STATES, &into) : count; // of a tile
    switch (place) {
    case AT_BEGIN: return lane;
    case IN_MIDDLE: return bound * 5 / 8 / STAGE_LANES * STAGE_LANES + lane; // of smaller tiles, too
    case AT_END: return bound < lane + 2 ? count : bound - 2 - lane;
    case BEHIND_END: return bound + 1 + lane;
    default: return count < lane + 2 ? count : count - 2 - lane;
    }
}

// Sizes of the groups that make an edge: a group loses its elements to the next, or two are too large and add up modulo 2^32.
static bool damage_stage(interp *in, const zf_graph *graph, uint32_t edge, unsigned way, interp_block *block) {
    uint64_t count = 0;
    if (edge >= graph->edge_count || block->counts[edge] < 16 * EACH) return false;
    if (edge > 0 && block->counts[edge] == block->counts[0]) return false; // the sizes of the column's groups would be found
    uint32_t *sizes = sizes_of(in, graph, block->counts[edge], block, 16 * EACH, 0, &count);
    if (sizes == NULL) return false;
    uint64_t g = stage_group(sizes, count, block->counts[edge], way / 2 / STAGE_LANES, way / 2 % STAGE_LANES);
    if (way % 2 == 0) return merge(sizes, count, g);
    return wrap(sizes, count, g, g + STAGE_LANES < count ? g + STAGE_LANES : g >= STAGE_LANES ? g - STAGE_LANES : count);
}

enum { DEEP = 8, DEEP_STAGES = 5 * DEEP }; // ways to damage anything deep; the first way to damage a stage

// An edge has one element less, or half of them; an element in the middle, and the last, of each stream is as large as can be;
// a stream has none at all; sizes of a stage are wrong.
static bool damage_deep(interp *in, const zf_graph *graph, unsigned d, interp_block *block) {
    if (d >= 4 * DEEP) {
        d -= 4 * DEEP;
        if (d >= DEEP) return damage_stage(in, graph, (d - DEEP) / STAGE_WAYS, (d - DEEP) % STAGE_WAYS, block);
        if (d >= block->stream_count) return false;
        empty_stream(in, graph, d, block);
        return true;
    }
    if (d < DEEP) return shorten_edge(in, graph, d, block);
    d -= DEEP;
    if (d < DEEP) {
        if (d + 1 >= graph->edge_count || graph->edges[d + 1].stored >= 0 || block->counts[d + 1] < 2) return false;
        diff_set_count(in, block, d + 1, block->counts[d + 1] / 2);
        return true;
    }
    d -= DEEP;
    if (d / 2 >= block->stream_count || block->streams[d / 2].elements == 0 || d >= 2 * DEEP) return false;
    uint64_t count = block->streams[d / 2].elements;
    damage_element(in, d / 2, d % 2 == 0 ? count / 2 : count - 1, true, block);
    return true;
}

// Sizes that are twice a tile add up to 0 modulo 2^32, and the last is the tile's.
static bool flood(interp *in, interp_block *block) {
    enum { GROUPS = (1 << 19) + 1 };
    uint32_t *sizes = zf_arena_alloc(interp_arena(in), 4 * GROUPS + 8),
             *values = zf_arena_alloc(interp_arena(in), 4 * GROUPS + 8);
    for (uint32_t g = 0; g < GROUPS; g++) sizes[g] = 2 * DIFF_STEP_ROWS;
    sizes[GROUPS - 1] = DIFF_STEP_ROWS;
    memset(values, 0, 4 * GROUPS);
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    for (uint32_t s = 0; s < block->stream_count; s++) {
        uint32_t first;
        memcpy(&first, streams[s].bytes, 4);
        bool is_sizes = streams[s].size == 4 && first == DIFF_STEP_ROWS;
        streams[s] = (interp_stored){.bytes = (uint8_t *)(is_sizes ? sizes : values), .size = 4 * GROUPS, .elements = GROUPS};
    }
    block->streams = streams;
    for (uint32_t e = 1; e < block->edge_count; e++) diff_set_count(in, block, e, GROUPS);
    return true;
}

// In the tile before a bound the last group loses its elements, or the first group of the tile behind it.
static bool empty_beside(uint32_t *sizes, unsigned tile, bool behind) {
    uint32_t g = diff_step_groups[tile];
    if (!behind) g--;
    sizes[behind ? g + 1 : g - 1] += sizes[g];
    sizes[g] = 0;
    return true;
}

enum { STEP_BOUNDS = 2 * (DIFF_STEP_TILES - 1), STEP_DAMAGES = STEP_BOUNDS + 8 * EACH + 1 };

// For each lane in its turn.
static bool damage_steps(interp *in, const zf_graph *graph, unsigned d, bool patches, interp_block *block) {
    uint64_t count, all = DIFF_STEP_GROUPS;
    uint32_t *sizes = patches ? sizes_of(in, graph, block->counts[0], block, all, 1, &count)
                              : stored_sizes(in, graph, block->counts[0], block, all, 0, &count);
    if (sizes == NULL || count != all) return false;
    if (d < STEP_BOUNDS) return empty_beside(sizes, 1 + d / 2, d % 2 == 1);
    d -= STEP_BOUNDS;
    unsigned lane = d % EACH;
    switch (d / EACH) {
    case 0: return wrap(sizes, count, 2 * EACH + lane, 5 * EACH + lane);                       // within a tile
    case 1: return wrap(sizes, count, diff_step_groups[lane], diff_step_groups[lane + 1] - 1); // at a tile's ends
    case 2: return merge(sizes, count, 6 * EACH + lane);
    case 3: return merge(sizes, count, lane);
    case 4: return borrow(sizes, count, 6 * EACH + lane, 6 * EACH + (lane + 1) % EACH);
    case 5: return borrow(sizes, count, lane, EACH);                                             // a tile's first
    case 6: return borrow(sizes, count, diff_step_groups[lane + 1] - 1, diff_step_groups[lane]); // its last
    case 7: return borrow(sizes, count, all - 1 - lane % 2, all - 2 + lane % 2);
    default: return d == 8 * EACH && wrap(sizes, count, all - 2, all - 1);
    }
}

// The same for groups with exceptions; and streams that are shorter, or have an element as large as can be.
static bool damage_patches(interp *in, const zf_graph *graph, unsigned d, interp_block *block) {
    if (d < STEP_DAMAGES) return damage_steps(in, graph, d, true, block);
    d -= STEP_DAMAGES;
    if (d < 2 * STREAMS) return damage_stream(in, graph, d, block);
    d -= 2 * STREAMS;
    if (d >= 2 * STREAMS || d / 2 >= block->stream_count || block->streams[d / 2].elements == 0) return false;
    uint64_t count = block->streams[d / 2].elements;
    damage_element(in, d / 2, d % 2 == 0 ? count / 2 : count - 1, true, block);
    return true;
}

bool diff_trial_beside(const diff_trial *t, unsigned d) {
    return t->kind == DIFF_RANDOM && d == 5 && !t->narrow && !t->wild; // damage_sizes, 3
}

bool diff_trial_several(const diff_trial *t, unsigned d) { return t->wild && diff_wild_places(t->seed + d) > 1; }

diff_demand diff_trial_demand(const diff_trial *t, unsigned d) {
    return t->kind == DIFF_STAGES && !t->wild ? diff_stage_demand(t, d) : DIFF_ANY;
}

bool diff_trial_neighbour(const diff_trial *t, unsigned d, uint64_t *guilty, uint64_t *innocent) {
    if (t->wild) return false;
    if (t->kind == DIFF_STAGES) return diff_stage_neighbour(t, d, guilty, innocent);
    if (t->kind == DIFF_DEEP && d >= DEEP_STAGES && d < DEEP_STAGES + STAGE_WAYS && d % 2 == DEEP_STAGES % 2) {
        unsigned place = (d - DEEP_STAGES) / 2 / STAGE_LANES; // of groups that add up to the rows
        *guilty = place == AT_END ? 0 : DIFF_STEP_ROWS;
        *innocent = DIFF_STEP_ROWS - *guilty;
        return place == AT_END || place == BEHIND_END;
    }
    if ((t->kind != DIFF_STEPS && t->kind != DIFF_WIDE) || d >= 2 * (DIFF_STEP_TILES - 1)) return false;
    uint64_t bound = (1 + d / 2) * (uint64_t)DIFF_STEP_ROWS;
    *guilty = d % 2 == 0 ? bound - DIFF_STEP_ROWS : bound;
    *innocent = d % 2 == 0 ? bound : bound - DIFF_STEP_ROWS;
    return true;
}

bool diff_widen_sizes(interp *in, const zf_column *column, interp_block *block) {
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, block->branches);
    uint64_t count;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (unpack(in, graph, n, block->counts[0], block, 2, 0, &count) != NULL) return true;
    return false;
}

// ---- Streams without anything more ----------------------------------------------------------------------------

// A stream that is what it says, and has so many elements alone.
static bool cut_stream(interp *in, const zf_graph *graph, uint32_t s, uint64_t elements, interp_block *block) {
    uint8_t *bytes;
    interp_stored *stream = own_stream(in, block, s, &bytes);
    uint32_t edge = graph->stored_edges[s];
    if (stream->elements < elements || stream->elements == 0 || block->counts[edge] != stream->elements) return false;
    if (graph->edges[edge].type.kind == ZF_K_BOOL) return false;
    stream->size = stream->size / stream->elements * elements;
    stream->elements = elements;
    diff_set_count(in, block, edge, elements);
    return true;
}

bool diff_decodes(interp *in, const zf_column *column, const interp_block *block) {
    interp_report report;
    interp_stream *out;
    return interp_decode_stored(in, column, block, &out, &report) == INTERP_OK && !report.unreached;
}

bool diff_cut_streams(interp *in, const zf_column *column, interp_block *block) {
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, block->branches);
    bool some = false;
    for (uint32_t s = 0; s < block->stream_count; s++) {
        uint64_t few = 0, enough = block->streams[s].elements;
        interp_block cut = *block;
        if (enough == 0 || !cut_stream(in, graph, s, enough - 1, &cut) || !diff_decodes(in, column, &cut)) continue;
        for (enough--; few < enough;) {
            uint64_t middle = (few + enough) / 2;
            cut = *block;
            cut_stream(in, graph, s, middle, &cut);
            if (diff_decodes(in, column, &cut))
                enough = middle;
            else
                few = middle + 1;
        }
        some = cut_stream(in, graph, s, enough, block) || some;
    }
    return some;
}

// An element becomes so large that it is the place of nothing, and is not at the end of its type, where one more would be 0.
static bool go_far(interp *in, uint32_t s, uint64_t at, interp_block *block) {
    uint8_t *bytes;
    if (s >= block->stream_count || at >= block->streams[s].elements) return false;
    interp_stored *stream = own_stream(in, block, s, &bytes);
    size_t size = (size_t)(stream->size / stream->elements);
    if (size == 0) return false;
    memset(bytes + at * size, 0xff, size);
    bytes[(at + 1) * size - 1] = 0x7f;
    return true;
}

// A stream has one element less; each element of a stream that has few is far away.
enum { MOST_WILD = 134 };

static bool damage_tight(interp *in, const zf_graph *graph, unsigned d, interp_block *block) {
    if (d < STREAMS) return d < block->stream_count && damage_stream(in, graph, 2 * d + 1, block);
    d -= STREAMS;
    for (uint32_t s = 0; s < block->stream_count; s++) {
        if (block->streams[s].elements >= MOST_WILD) continue;
        if (d < block->streams[s].elements) return go_far(in, s, d, block);
        d -= (unsigned)block->streams[s].elements;
    }
    return false;
}

bool diff_trial_damage(interp *in, const zf_column *column, unsigned number, unsigned k, const diff_trial *t, unsigned d,
                       interp_block *block) {
    if (t->wild) {
        diff_wild wild;
        if (d >= DIFF_WILD_DAMAGES) return false;
        diff_wild_open(in, column, block, &wild);
        return diff_wild_damage(&wild, t->seed + d, block, NULL);
    }
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, block->branches);
    switch (t->kind) {
    case DIFF_RANDOM:
        if (d < 2) return damage_anything(in, graph, number, k, d, block);
        return d < 2 + SIZE_DAMAGES && damage_sizes(in, graph, number, k, d - 2, block);
    case DIFF_SWEPT: {
        diff_wild wild;
        diff_wild_open(in, column, block, &wild);
        return diff_wild_sweep(&wild, d, block);
    }
    case DIFF_LANES: return damage_lane(in, graph, d, block);
    case DIFF_SLOPES: return d < 2 * STREAMS && damage_stream(in, graph, d, block);
    case DIFF_STAGES: return diff_stage_damage(in, graph, t, d, block);
    case DIFF_DEEP: return damage_deep(in, graph, d, block);
    case DIFF_FLOOD: return d == 0 && flood(in, block);
    case DIFF_PATCHES: return damage_patches(in, graph, d, block);
    case DIFF_EQUAL:
    case DIFF_HUGE: return false;
    case DIFF_TIGHT: return damage_tight(in, graph, d, block);
    case DIFF_LAST: return d < EDGES ? shorten_edge(in, graph, d, block) : damage_stream(in, graph, 2 * (d - EDGES) + 1, block);
    default: return damage_steps(in, graph, d, false, block);
    }
}
