// Random blocks for a column. Lengths are wished for from the root down; then, from the leaves up, elements are made,
// and groups say how long their result is, so that most blocks are valid.
#include <string.h>

#include "tests/differential/generator/gen_program.h"
#include "tests/interp/data.h"
#include "tests/interp/interp_internal.h"

typedef struct maker {
    interp *in;
    const zf_column *column;
    data_random random;
    const gen_options *options;
    uint64_t most;
    interp_block *out;
    interp_graph *graph;
    uint8_t *branches;
    uint64_t *params, *counts, *wishes;
    interp_stored *streams;
    interp_directory *directories;
} maker;

static uint64_t below(maker *m, uint64_t bound) { return data_below(&m->random, bound); }
static bool chance(maker *m, unsigned percent) { return below(m, 100) < percent; }

static uint64_t some_length(maker *m) {
    static const uint64_t edges[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097};
    uint64_t length = chance(m, 30)   ? edges[below(m, sizeof edges / sizeof edges[0])]
                      : chance(m, 70) ? below(m, 200)
                                      : below(m, m->most);
    return length < m->most ? length : m->most;
}

// ---- Values ---------------------------------------------------------------------------------------------------

static uint64_t some_float(maker *m, zf_kind kind) {
    double value = (double)(int64_t)(below(m, 20001) - 10000) / (chance(m, 50) ? 100 : 1);
    if (chance(m, 4)) value = (double)(int64_t)data_next(&m->random) * 1e10;
    if (chance(m, 4)) value = -0.0;
    float single = (float)value;
    uint64_t bits = 0;
    if (kind == ZF_K_F64)
        memcpy(&bits, &value, 8);
    else
        memcpy(&bits, &single, 4);
    return bits;
}

static uint64_t some_value(maker *m, const zf_port *port, bool small) {
    zf_kind kind = port->type.kind;
    if (zf_kind_is_float(kind)) return some_float(m, kind);
    if (kind == ZF_K_BOOL) return below(m, 2);
    if (port->has_range && chance(m, port->is_param ? 98 : 999 > below(m, 1000) ? 100 : 0)) {
        zf_int128 span = port->range.hi - port->range.lo;
        uint64_t offset = span > (zf_int128)INT64_MAX ? data_next(&m->random) >> 1 : below(m, (uint64_t)span + 1);
        if ((small || chance(m, 70)) && span > 8) offset = below(m, 9);
        if (!small && chance(m, 5)) return interp_value_mask(kind, (uint64_t)port->range.hi);
        return interp_value_mask(kind, (uint64_t)(port->range.lo + offset));
    }
    if (small) return below(m, chance(m, 90) ? 5 : 40);
    switch (below(m, 6)) {
    case 0: return below(m, 4);
    case 1: return interp_value_mask(kind, 0 - below(m, 4));
    case 2: return interp_value_mask(kind, data_next(&m->random));
    case 3: return interp_value_mask(kind, UINT64_C(1) << below(m, 64));
    default: return interp_value_mask(kind, below(m, 200));
    }
}

// ---- Nodes ----------------------------------------------------------------------------------------------------

static void make_params(maker *m, const interp_node *node) {
    const zf_inst *inst = node->codec->inst;
    for (uint32_t p = 0; p < inst->param_count; p++) {
        bool given = node->codec->param_given && node->codec->param_given[p];
        m->params[node->first_param + p] = given ? node->codec->param_bits[p] : some_value(m, inst->params[p], chance(m, 70));
    }
}

// Params that a length names are known by now.
static uint64_t fixed_length(maker *m, const interp_node *node, const zf_port *port) {
    const zf_inst *inst = node->codec->inst;
    uint64_t *params = ZF_NEW_ARRAY(m->in->arena, uint64_t, inst->param_count + 1u);
    for (uint32_t p = 0; p < inst->param_count; p++) params[p] = m->params[node->first_param + p];
    interp_env env = {.in = m->in, .inst = inst, .path = node->path, .params = params, .work_limit = UINT64_MAX};
    uint64_t length = interp_eval(&env, port->length).bits;
    return length < 4 * m->most ? length : 4 * m->most;
}

// Sizes of groups, and what is likely to be an index of a stream that is gathered from.
static bool is_small(maker *m, const zf_inst *inst, const zf_port *port) {
    if (!zf_kind_is_unsigned(port->type.kind)) return false;
    if (inst->pattern == ZF_GROUP_PARALLEL) return port->access == ZF_ACCESS_ALIGNED_G;
    for (uint32_t s = 0; s < inst->stream_count; s++)
        if (inst->streams[s]->access == ZF_ACCESS_GATHER && inst->streams[s] != port) return chance(m, 80);
    return false;
}

static void make_stored(maker *m, const interp_node *node, const zf_port *port, uint32_t edge, uint64_t count) {
    interp_stream *stream = interp_stream_new(m->in, port->type);
    bool small = is_small(m, node->codec->inst, port);
    for (uint64_t k = 0; k < count; k++) {
        if (port->type.kind == ZF_K_STRING)
            interp_stream_push_string(stream, "zipflow codec", below(m, 14));
        else
            interp_stream_push(stream, some_value(m, port, small));
    }
    uint64_t *offsets = NULL;
    if (port->type.kind == ZF_K_STRING) {
        offsets = ZF_NEW_ARRAY(m->in->arena, uint64_t, (size_t)count + 1);
        for (uint64_t k = 0; k < count; k++) offsets[k + 1] = offsets[k] + stream->rows[k].length;
    }
    if (port->type.nullable) {
        for (uint64_t k = 0; k < count; k++) stream->nulls[k] = chance(m, 20);
    }
    m->streams[m->graph->stored[edge]] =
        (interp_stored){.bytes = stream->chars ? stream->chars->bytes : stream->bytes,
                        .size = stream->chars ? stream->chars->count : interp_stream_size(stream),
                        .elements = count,
                        .offsets = offsets,
                        .nulls = stream->nulls};
    m->counts[edge] = count;
}

static void make_directory(maker *m, const interp_node *node, const zf_port *port, uint32_t edge) {
    if (!port->per_chunk || port->fixed) return;
    uint64_t size = node->codec->chunk_size, out = m->counts[node->edge], chunks = out / size + (out % size != 0);
    uint64_t *starts = ZF_NEW_ARRAY(m->in->arena, uint64_t, (size_t)chunks + 1), count = m->counts[edge];
    for (uint64_t c = 1; c < chunks; c++) starts[c] = count * c / chunks;
    m->directories[edge] = (interp_directory){.starts = starts, .count = chunks};
}

// How long a leaf should be so that reads end where it does, most of the time.
static uint64_t leaf_length(maker *m, const zf_port *port, uint64_t aligned) {
    if (port->access == ZF_ACCESS_ALIGNED_I || port->access == ZF_ACCESS_ALIGNED_G)
        return chance(m, 97) ? aligned : some_length(m);
    if (port->per_chunk) return 2 * aligned + 40;
    if (port->bitwise && port->access == ZF_ACCESS_GATHER) {
        uint64_t bits = zf_kind_bits(port->type.kind);
        return (aligned * (chance(m, 70) ? 64 : 8) + bits - 1) / bits + below(m, 2);
    }
    if (port->type.kind == ZF_K_U8 && chance(m, 50)) return 8 * aligned + below(m, 3); // bytes of wider elements
    return chance(m, 80) ? aligned + below(m, 3) : some_length(m);
}

static void make_leaves(maker *m, const interp_node *node, zf_access access, bool others, uint64_t aligned) {
    const zf_inst *inst = node->codec->inst;
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_port *port = inst->streams[s];
        uint32_t edge = node->inputs[s];
        if (m->graph->stored[edge] < 0 || (port->access == access) == others) continue;
        uint64_t count = port->fixed ? fixed_length(m, node, port) : leaf_length(m, port, aligned);
        if (port->fixed && port->per_chunk) {
            uint64_t size = node->codec->chunk_size, out = m->counts[node->edge];
            count *= out / size + (out % size != 0);
        }
        make_stored(m, node, port, edge, count);
    }
}

static void make_node(maker *m, uint32_t number) {
    const interp_node *node = &m->graph->nodes[number];
    const zf_inst *inst = node->codec->inst;
    uint64_t length = m->wishes[node->edge];
    if (inst->pattern == ZF_GROUP_PARALLEL) {
        make_leaves(m, node, ZF_ACCESS_ALIGNED_I, true, length / 3 + 1);
        for (uint32_t s = 0; s < inst->stream_count; s++) // not yet made: read by no size
            if (inst->streams[s]->access == ZF_ACCESS_ALIGNED_I && m->graph->stored[node->inputs[s]] >= 0)
                make_stored(m, node, inst->streams[s], node->inputs[s], 0);
        length = interp_group_total(m->in, m->graph, m->out, number, 4 * m->most);
        m->counts[node->edge] = chance(m, 98) ? length : some_length(m);
        make_leaves(m, node, ZF_ACCESS_ALIGNED_I, false, length);
        return;
    }
    for (uint32_t s = 0; s < inst->stream_count; s++) { // as many as the shortest of what is read in step
        uint64_t count = m->counts[node->inputs[s]];
        bool made = m->graph->stored[node->inputs[s]] < 0;
        if (made && inst->streams[s]->access == ZF_ACCESS_ALIGNED_I && count < length) length = count;
    }
    m->counts[node->edge] = length;
    make_leaves(m, node, ZF_ACCESS_NONE, true, length);
    make_leaves(m, node, ZF_ACCESS_NONE, false, length);
    for (uint32_t s = 0; s < inst->stream_count; s++) make_directory(m, node, inst->streams[s], node->inputs[s]);
}

static void wish(maker *m, uint32_t number) {
    const interp_node *node = &m->graph->nodes[number];
    const zf_inst *inst = node->codec->inst;
    uint64_t length = m->wishes[node->edge];
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_port *port = inst->streams[s];
        uint64_t *below_it = &m->wishes[node->inputs[s]];
        if (port->fixed)
            *below_it = fixed_length(m, node, port);
        else if (inst->pattern == ZF_GROUP_PARALLEL)
            *below_it = port->access == ZF_ACCESS_ALIGNED_I ? length : length / 3 + 1;
        else
            *below_it = leaf_length(m, port, length);
    }
}

static void make_block(void *argument) {
    maker *m = argument;
    zf_arena *arena = m->in->arena;
    const zf_codec_choice *codec = m->column->codec;
    m->branches = ZF_NEW_ARRAY(arena, uint8_t, m->column->choice_count + 1u);
    // Numbers of alternatives are not listed by choice: an unknown branch stops; all two-way choices take 0 or 1.
    for (uint32_t k = 0; k < m->column->choice_count; k++) m->branches[k] = (uint8_t)below(m, 2);
    uint32_t root = codec->count > 1 ? m->branches[codec->index] : 0;
    m->graph = interp_graph_of(m->in, codec, root, m->column->type, m->branches, m->column->choice_count);
    m->params = ZF_NEW_ARRAY(arena, uint64_t, m->graph->param_count + 1u);
    m->counts = ZF_NEW_ARRAY(arena, uint64_t, m->graph->edge_count);
    m->wishes = ZF_NEW_ARRAY(arena, uint64_t, m->graph->edge_count);
    m->streams = ZF_NEW_ARRAY(arena, interp_stored, m->graph->stored_count + 1u);
    m->directories = ZF_NEW_ARRAY(arena, interp_directory, m->graph->edge_count);
    *m->out = (interp_block){.branches = m->branches,
                             .branch_count = m->column->choice_count,
                             .params = m->params,
                             .param_count = m->graph->param_count,
                             .streams = m->streams,
                             .stream_count = m->graph->stored_count,
                             .counts = m->counts,
                             .directories = m->directories,
                             .edge_count = m->graph->edge_count};
    m->wishes[0] = some_length(m);
    for (uint32_t n = 0; n < m->graph->node_count; n++) {
        make_params(m, &m->graph->nodes[n]);
        wish(m, n);
    }
    for (uint32_t n = m->graph->node_count; n-- > 0;) make_node(m, n);
}

static void guarded(void *argument) {
    maker *m = argument;
    if (!interp_try(m->in, make_block, m)) interp_stop(m->in, INTERP_MISUSE, "params beyond their range");
}

bool gen_block(interp *in, const zf_column *column, uint64_t seed, const gen_options *options, interp_block *out) {
    maker m = {.in = in,
               .column = column,
               .random = {.state = seed, .bytes = options->bytes, .left = options->byte_count},
               .options = options,
               .out = out,
               .most = options->max_elements ? options->max_elements : 5000};
    if (interp_enter(in, guarded, &m) != INTERP_OK) return false;
    if (chance(&m, options->faults)) gen_damage(in, data_next(&m.random), out);
    return true;
}

bool gen_encoded_block(interp *in, const zf_column *column, uint64_t seed, const gen_options *options, interp_block *out) {
    maker m = {
        .in = in, .random = {.state = seed}, .options = options, .most = options->max_elements ? options->max_elements : 5000};
    interp_stream *plain =
        data_stream(in, column->type, (data_shape)below(&m, DATA_SHAPES), data_next(&m.random), some_length(&m));
    interp_tree *tree;
    interp_report report;
    if (interp_encode(in, column, plain, &tree, &report) != INTERP_OK) return false;
    if (interp_flatten(in, column, tree, out) != INTERP_OK) return false;
    if (chance(&m, options->faults)) gen_damage(in, data_next(&m.random), out);
    return true;
}

// ---- Damage ---------------------------------------------------------------------------------------------------

static uint64_t odd_number(data_random *random, uint64_t old) {
    switch (data_below(random, 6)) {
    case 0: return 0;
    case 1: return old + 1;
    case 2: return old - 1;
    case 3: return old ^ UINT64_C(1) << data_below(random, 64);
    case 4: return data_below(random, 200);
    default: return data_next(random);
    }
}

static void *copy(interp *in, const void *from, size_t size) {
    void *to = zf_arena_alloc(in->arena, size + 8);
    if (size) memcpy(to, from, size);
    return to;
}

static void damage_stream(interp *in, data_random *random, interp_block *block) {
    interp_stored *streams = copy(in, block->streams, block->stream_count * sizeof *streams);
    interp_stored *stream = &streams[data_below(random, block->stream_count)];
    uint8_t *bytes = copy(in, stream->bytes, (size_t)stream->size);
    block->streams = streams;
    stream->bytes = bytes;
    if (stream->size == 0) return;
    uint64_t at = data_below(random, stream->size), run = 1 + data_below(random, 16);
    if (data_below(random, 2))
        bytes[at] ^= (uint8_t)(1u << data_below(random, 8));
    else
        for (uint64_t k = at; k < stream->size && k < at + run; k++) bytes[k] = (uint8_t)data_next(random);
}

// Another number of elements, with or without its bytes.
static void damage_count(interp *in, data_random *random, interp_block *block) {
    uint64_t *counts = copy(in, block->counts, block->edge_count * sizeof *counts);
    uint64_t edge = data_below(random, block->edge_count), old = counts[edge];
    uint64_t fresh = data_below(random, 3) ? odd_number(random, old) : old / 2;
    counts[edge] = fresh;
    block->counts = counts;
    if (block->stream_count == 0 || data_below(random, 3) == 0) return;
    // Most of the time a stored stream is cut so that it stays in step; which one has this edge is told by its length.
    interp_stored *streams = copy(in, block->streams, block->stream_count * sizeof *streams);
    for (uint32_t s = 0; s < block->stream_count; s++) {
        if (streams[s].elements != old || old == 0 || fresh > old || streams[s].offsets) continue;
        uint64_t bits = (streams[s].size * 8 + old - 1) / old; // of an element; bool: rounded up to one
        if (streams[s].size * 8 / old == 0 || streams[s].size * 8 % old) bits = 1;
        streams[s].elements = fresh;
        streams[s].size = (fresh * bits + 7) / 8;
        break;
    }
    block->streams = streams;
}

void gen_damage(interp *in, uint64_t seed, interp_block *block) {
    data_random random = {.state = seed};
    uint64_t kind = data_below(&random, 10);
    if (kind < 5 && block->stream_count)
        damage_stream(in, &random, block);
    else if (kind < 7 && block->param_count) {
        uint64_t *params = copy(in, block->params, block->param_count * sizeof *params);
        uint64_t p = data_below(&random, block->param_count);
        params[p] = odd_number(&random, params[p]);
        block->params = params;
    } else if (kind < 9 || !block->directories)
        damage_count(in, &random, block);
    else {
        interp_directory *directories = copy(in, block->directories, block->edge_count * sizeof *directories);
        interp_directory *directory = &directories[data_below(&random, block->edge_count)];
        uint64_t *starts = copy(in, directory->starts, (size_t)directory->count * sizeof *starts);
        if (directory->count) {
            uint64_t c = data_below(&random, directory->count);
            starts[c] = odd_number(&random, starts[c]);
        }
        directory->starts = starts;
        block->directories = directories;
    }
}
