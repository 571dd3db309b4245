#include "tests/differential/diff_wild.h"

#include <string.h>

#include "tests/differential/diff_trials.h"
#include "tests/interp/interp_internal.h"

typedef unsigned long long ull;

// ---- Leaves ---------------------------------------------------------------------------------------------------

static uint64_t ones(uint64_t bits) { return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1; }

static uint64_t bits_at(const uint8_t *bytes, uint64_t at, uint64_t width) {
    uint64_t value = 0;
    if (at % 8 == 0 && width % 8 == 0) {
        memcpy(&value, bytes + at / 8, width / 8);
        return value;
    }
    for (uint64_t bit = 0; bit < width; bit++) value |= (uint64_t)(bytes[(at + bit) / 8] >> (at + bit) % 8 & 1) << bit;
    return value;
}

static void put_bits(uint8_t *bytes, uint64_t at, uint64_t width, uint64_t value) {
    if (at % 8 == 0 && width % 8 == 0) {
        memcpy(bytes + at / 8, &value, width / 8);
        return;
    }
    for (uint64_t bit = 0; bit < width; bit++) {
        uint8_t mask = (uint8_t)(1u << (at + bit) % 8);
        if (value >> bit & 1)
            bytes[(at + bit) / 8] |= mask;
        else
            bytes[(at + bit) / 8] &= (uint8_t)~mask;
    }
}

static unsigned bits_of(zf_type type) { return type.kind == ZF_K_BOOL ? 1 : 8 * zf_kind_size(type.kind); }

static const zf_graph_node *packer(const zf_graph *graph, const diff_leaf *leaf) {
    return leaf->node < 0 ? NULL : &graph->nodes[leaf->node];
}

// The elements of stored stream s, or those that are packed into it. False: it has strings, or its length is a lie.
static bool read_leaf(interp *in, const zf_graph *graph, const interp_block *block, uint32_t s, diff_leaf *out) {
    const interp_stored *stream = &block->streams[s];
    const zf_graph_edge *edge = &graph->edges[graph->stored_edges[s]];
    if (stream->offsets != NULL || stream->nulls != NULL || edge->type.kind == ZF_K_STRING) return false;
    *out = (diff_leaf){
        .stored = s, .edge = edge->index, .node = -1, .sums_to = -1, .bits = bits_of(edge->type), .count = stream->elements};
    uint64_t width = out->bits, base = 0;
    const zf_graph_node *node = edge->consumer >= 0 ? &graph->nodes[edge->consumer] : NULL;
    if (node != NULL && strncmp(node->inst->name, "bitpack", 7) == 0 && node->inst->param_count == 2) {
        out->node = edge->consumer;
        out->edge = node->output;
        out->bits = bits_of(graph->edges[node->output].type);
        out->count = block->counts[node->output];
        width = block->params[node->first_param];
        base = block->params[node->first_param + 1];
    }
    if (width > 64 || out->count > UINT32_MAX || out->count * width > 8 * stream->size) return false;
    out->values = zf_arena_alloc(interp_arena(in), 8 * out->count + 8);
    for (uint64_t e = 0; e < out->count; e++)
        out->values[e] = (base + bits_at(stream->bytes, e * width, width)) & ones(out->bits);
    return true;
}

// Stores the values of a leaf, packed ones in so many bits from `base` on.
static void store_as(interp *in, const zf_graph *graph, const diff_leaf *leaf, const uint64_t *values, uint64_t width,
                     uint64_t base, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    interp_stored *stream = &streams[leaf->stored];
    const zf_graph_node *node = packer(graph, leaf);
    if (node != NULL) {
        unsigned word = bits_of(graph->edges[node->inputs[0]].type);
        stream->elements = (leaf->count * width + word - 1) / word;
        stream->size = stream->elements * (word / 8);
        diff_set_count(in, block, node->inputs[0], stream->elements);
        diff_set_param(in, block, node->first_param, width);
        diff_set_param(in, block, node->first_param + 1, base);
    }
    uint8_t *bytes = zf_arena_alloc(interp_arena(in), (size_t)stream->size + 8);
    memset(bytes, 0, (size_t)stream->size);
    for (uint64_t e = 0; e < leaf->count; e++) put_bits(bytes, e * width, width, values[e] - base);
    stream->bytes = bytes;
    block->streams = streams;
}

// Stores values as the block's are, if they fit so; else in all bits of their type.
static void store(interp *in, const zf_graph *graph, const diff_leaf *leaf, const uint64_t *values, interp_block *block) {
    const zf_graph_node *node = packer(graph, leaf);
    uint64_t width = node != NULL ? block->params[node->first_param] : leaf->bits;
    uint64_t base = node != NULL ? block->params[node->first_param + 1] & ones(leaf->bits) : 0;
    for (uint64_t e = 0; e < leaf->count; e++) {
        if (((values[e] - base) & ones(leaf->bits)) <= ones(width)) continue;
        width = leaf->bits;
        base = 0;
        break;
    }
    store_as(in, graph, leaf, values, width, base, block);
}

// ---- Making ---------------------------------------------------------------------------------------------------

static void find_sizes(diff_wild *w) {
    for (uint32_t n = 0; n < w->leaf_count; n++) {
        diff_leaf *leaf = &w->leaves[n];
        uint64_t sum = 0;
        for (uint64_t k = 0; k < leaf->count; k++) sum += leaf->values[k];
        for (uint32_t e = 0; e < w->block.edge_count && leaf->sums_to < 0 && leaf->bits == 32 && leaf->count > 1; e++) {
            uint64_t elements = w->block.counts[e]; // exceptions: a group but the last has an element more
            if (e != leaf->edge && (elements == sum || elements == sum + leaf->count - 1)) leaf->sums_to = (int32_t)e;
        }
    }
}

static void read_leaves(diff_wild *w) {
    w->leaves = zf_arena_alloc(interp_arena(w->in), (w->block.stream_count + 1u) * sizeof *w->leaves);
    w->leaf_count = 0;
    for (uint32_t s = 0; s < w->block.stream_count; s++)
        w->leaf_count += read_leaf(w->in, w->graph, &w->block, s, &w->leaves[w->leaf_count]);
    find_sizes(w);
}

static void pack(diff_wild *w, diff_packing packing) {
    enum { SPARED = 3 };
    for (uint32_t n = 0; n < w->leaf_count; n++) {
        const diff_leaf *leaf = &w->leaves[n];
        uint64_t width = leaf->bits - (packing == DIFF_NARROWER ? SPARED : 0), most = 0;
        for (uint64_t e = 0; e < leaf->count; e++) most = leaf->values[e] > most ? leaf->values[e] : most;
        if (leaf->node < 0) continue;
        interp_block other = w->block;
        store_as(w->in, w->graph, leaf, leaf->values, most > ones(width) ? leaf->bits : width, 0, &other);
        if (diff_decodes(w->in, w->column, &other)) w->block = other;
    }
}

// The elements of a leaf become one number, or two by turns: what is taken for its neighbour goes unseen but by its place.
static void level(diff_wild *w, const diff_leaf *leaf, uint64_t step) {
    if (leaf->count == 0 || leaf->sums_to >= 0) return;
    uint64_t *values = diff_copy(w->in, leaf->values, 8 * leaf->count);
    for (uint64_t e = 0; e < leaf->count; e++) values[e] = (leaf->values[leaf->count / 2] + step * (e % 2)) & ones(leaf->bits);
    interp_block other = w->block;
    store(w->in, w->graph, leaf, values, &other);
    if (diff_decodes(w->in, w->column, &other)) w->block = other;
}

// The last elements of a leaf become 0: of sizes and lengths what lies before them is the last that needs something.
static void empty_tail(diff_wild *w, data_random *random) {
    enum { MOST = 12 };
    if (w->leaf_count == 0) return;
    const diff_leaf *leaf = &w->leaves[data_below(random, w->leaf_count)];
    uint64_t count = 1 + data_below(random, MOST);
    if (leaf->count <= count) return;
    uint64_t *values = diff_copy(w->in, leaf->values, 8 * leaf->count);
    for (uint64_t e = leaf->count - count; e < leaf->count; e++) values[e] = 0;
    interp_block other = w->block;
    store(w->in, w->graph, leaf, values, &other);
    if (diff_decodes(w->in, w->column, &other)) w->block = other;
}

// The stored stream of a leaf has so many elements: the same once more and again.
static void inflate(diff_wild *w, const diff_leaf *leaf, uint64_t bytes) {
    interp_block other = w->block;
    uint32_t edge = w->graph->stored_edges[leaf->stored];
    unsigned bits = bits_of(w->graph->edges[edge].type);
    uint64_t old = other.streams[leaf->stored].elements, now = 8 * bytes / bits;
    if (leaf->node >= 0 || bits < 8 || old == 0 || now <= old || other.counts[edge] != old) return;
    interp_stored *streams = diff_copy(w->in, other.streams, other.stream_count * sizeof *streams);
    uint8_t *all = zf_arena_alloc(interp_arena(w->in), now * bits / 8 + 8);
    for (uint64_t e = 0; e < now; e++) memcpy(all + e * bits / 8, streams[leaf->stored].bytes + e % old * bits / 8, bits / 8);
    streams[leaf->stored] = (interp_stored){.bytes = all, .size = now * bits / 8, .elements = now};
    other.streams = streams;
    diff_set_count(w->in, &other, edge, now);
    if (diff_decodes(w->in, w->column, &other)) w->block = other;
}

bool diff_wild_inflate(diff_wild *wild, uint64_t bytes) {
    const interp_stored *before = wild->block.streams;
    for (uint32_t n = 0; n < wild->leaf_count; n++) inflate(wild, &wild->leaves[n], bytes);
    read_leaves(wild);
    return wild->block.streams != before;
}

bool diff_wild_has_sizes(const diff_wild *wild) {
    for (uint32_t n = 0; n < wild->leaf_count; n++)
        if (wild->leaves[n].sums_to >= 0) return true;
    return false;
}

void diff_wild_open(interp *in, const zf_column *column, const interp_block *block, diff_wild *out) {
    *out = (diff_wild){.in = in, .column = column, .block = *block};
    out->graph = zf_graph_build(interp_arena(in), column, block->branches);
    read_leaves(out);
}

diff_packing diff_wild_packing(uint64_t seed) {
    static const diff_packing packings[] = {DIFF_PACKED, DIFF_FULL, DIFF_NARROWER, DIFF_NARROWER};
    return packings[seed / 3 % (sizeof packings / sizeof packings[0])];
}

void diff_wild_pack(diff_wild *wild, diff_packing packing, bool alike) {
    pack(wild, packing);
    for (uint32_t n = 0; alike && n < wild->leaf_count; n++) level(wild, &wild->leaves[n], 0);
    read_leaves(wild);
}

void diff_wild_shape(diff_wild *wild, diff_packing packing, uint64_t seed) {
    data_random random = {.state = seed};
    if (packing != DIFF_PACKED) pack(wild, packing);
    uint64_t way = data_below(&random, 8);
    uint64_t which = wild->leaf_count > 0 ? data_below(&random, wild->leaf_count) : 0, step = data_below(&random, 2);
    if ((way == 4 || way == 5) && wild->leaf_count > 0) level(wild, &wild->leaves[which], step);
    if (way == 1 && wild->leaf_count > 0) inflate(wild, &wild->leaves[which], UINT64_C(512) << data_below(&random, 7));
    if (way == 6 || way == 7) empty_tail(wild, &random);
    read_leaves(wild);
    if (way == 3 || way == 5 || way == 7) diff_cut_streams(wild->in, wild->column, &wild->block);
    read_leaves(wild);
}

// ---- Places and values ----------------------------------------------------------------------------------------

enum { NEAR = 10 };

// The group that has element `at`.
static uint64_t group_of(const diff_leaf *sizes, uint64_t more, uint64_t at) {
    uint64_t g = 0;
    while (g + 1 < sizes->count && at >= sizes->values[g] + more) at -= sizes->values[g++] + more;
    return g;
}

// An element that belongs to element `at` of an edge that has `all`.
static uint64_t element_of(const diff_wild *w, const diff_leaf *leaf, uint64_t at, uint64_t all, data_random *random) {
    for (uint32_t n = 0; n < w->leaf_count; n++) {
        const diff_leaf *sizes = &w->leaves[n];
        if (sizes->sums_to < 0 || sizes->count != leaf->count) continue;
        uint64_t made = w->block.counts[sizes->sums_to];
        if (made == leaf->count) continue;
        if (made != all) at = at < made && data_below(random, 2) == 0 ? at : made * at / all;
        uint64_t sum = 0;
        for (uint64_t k = 0; k < sizes->count; k++) sum += sizes->values[k];
        return group_of(sizes, sum != made, at);
    }
    if (leaf->count == all || (at < leaf->count && data_below(random, 2) == 0)) return at;
    return leaf->count * at / all;
}

// A place in a leaf that has elements. *what: its class.
static uint64_t place_in(const diff_wild *w, const diff_leaf *leaf, data_random *random, const char **what) {
    static const uint16_t edges[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096, 8192};
    uint64_t rows = w->block.counts[0], count = leaf->count, at, edge;
    const interp_directory *directory = w->block.directories != NULL ? &w->block.directories[leaf->edge] : NULL;
    switch (data_below(random, 8)) {
    case 0:
        *what = "begin";
        at = data_below(random, 2 * NEAR);
        break;
    case 1:
        *what = "end";
        at = count - 1 - data_below(random, 2 * NEAR);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        edge = edges[data_below(random, sizeof edges / sizeof edges[0])];
        if (directory != NULL && directory->count > 0) {
            *what = "chunk";
            at = directory->starts[data_below(random, directory->count)];
        } else if (rows > edge) {
            *what = edge >= 1024 ? "tile" : edge >= 128 ? "row of a warp" : "lanes";
            at = element_of(w, leaf, edge * (1 + data_below(random, (rows - 1) / edge)), rows, random);
        } else {
            *what = "edge";
            at = edge;
        }
        at += data_below(random, 2 * NEAR) - NEAR;
        break;
    default:
        *what = "any";
        at = data_below(random, count);
        break;
    }
    return at < count ? at : data_below(random, count);
}

static uint64_t value_for(const diff_wild *w, const diff_leaf *leaf, uint64_t old, data_random *random, const char **what) {
    uint64_t all = ones(leaf->bits), count = w->block.counts[data_below(random, w->block.edge_count)];
    switch (data_below(random, 12)) {
    case 0: *what = "ones"; return all;
    case 1: *what = "0"; return 0;
    case 2: *what = "1"; return 1;
    case 3: *what = "half"; return all >> 1;
    case 4: *what = "top bit"; return (all >> 1) + 1;
    case 5: *what = "one more"; return old + 1;
    case 6: *what = "one less"; return old - 1;
    case 7: *what = "a bit"; return old ^ UINT64_C(1) << data_below(random, leaf->bits);
    case 8: *what = "a count"; return count - data_below(random, 2);
    case 9: *what = "few"; return data_below(random, 64);
    case 10: *what = "more"; return old + data_below(random, 4096);
    default: *what = "any"; return data_next(random);
    }
}

// ---- Damage ---------------------------------------------------------------------------------------------------

typedef struct damage {
    const diff_wild *w;
    data_random random;
    interp_block *block;
    zf_text *said;
    unsigned most; // places
} damage;

static void say(damage *d, const diff_leaf *leaf, const char *text, const char *where, const char *what) {
    if (d->said == NULL) return;
    const char *path = d->w->graph->edges[leaf->edge].path;
    zf_text_printf(d->said, " [%s%s%s: %s at %s%s%s]", path, leaf->node >= 0 ? " packed" : "", leaf->sums_to >= 0 ? " sizes" : "",
                   text, where, what[0] != 0 ? ", " : "", what);
}

// The leaf as the block has it now. False: it has nothing.
static bool leaf_now(damage *d, uint32_t n, diff_leaf *out) {
    const diff_leaf *leaf = &d->w->leaves[n];
    if (!read_leaf(d->w->in, d->w->graph, d->block, leaf->stored, out) || out->count == 0) return false;
    out->sums_to = leaf->sums_to;
    return true;
}

static bool one_element(damage *d, const diff_leaf *leaf) {
    const char *where, *what;
    uint64_t at = place_in(d->w, leaf, &d->random, &where), run = 1;
    leaf->values[at] = value_for(d->w, leaf, leaf->values[at], &d->random, &what) & ones(leaf->bits);
    if (d->most > 1 && data_below(&d->random, 2) == 0) { // several alike
        run = 2 + data_below(&d->random, 40);
        for (uint64_t e = at + 1; e < leaf->count && e < at + run; e++) leaf->values[e] = leaf->values[at];
    }
    say(d, leaf, run > 1 ? "several" : "one", where, what);
    return true;
}

// Two elements whose sum stays, modulo 2^bits.
static bool two_elements(damage *d, const diff_leaf *leaf) {
    static const uint64_t behind[] = {1, 1, 1, 2, 3, 4, 8, 32};
    const char *where, *what;
    uint64_t a = place_in(d->w, leaf, &d->random, &where), all = ones(leaf->bits), moved;
    uint64_t b = a + behind[data_below(&d->random, sizeof behind / sizeof behind[0])];
    if (d->most == 1) b = a + 1; // before it, elements would be shifted into other tiles
    if (d->most > 1 && data_below(&d->random, 3) == 0) b = 2 * a - b;
    if (b >= leaf->count && d->most > 1) b = data_below(&d->random, leaf->count);
    if (a == b || b >= leaf->count) return false;
    switch (data_below(&d->random, 6)) {
    case 0: what = "all of one", moved = leaf->values[a]; break;
    case 1: what = "one", moved = 1; break;
    case 2: what = "300", moved = 300; break;
    case 3: what = "top bit", moved = (all >> 1) + 1; break;
    case 4: what = "swapped", moved = leaf->values[a] - leaf->values[b]; break;
    default: what = "thousands", moved = 1000 + data_below(&d->random, 8192); break;
    }
    leaf->values[a] = (leaf->values[a] - moved) & all;
    leaf->values[b] = (leaf->values[b] + moved) & all;
    say(d, leaf, "moved", where, what);
    return true;
}

// The stream of a leaf has more or fewer elements, and says so; or who has packed them says so alone.
static bool length(damage *d, const diff_leaf *leaf) {
    interp *in = d->w->in;
    interp_stored *streams = diff_copy(in, d->block->streams, d->block->stream_count * sizeof *streams);
    interp_stored *stream = &streams[leaf->stored];
    uint32_t stored_edge = d->w->graph->stored_edges[leaf->stored];
    unsigned bits = bits_of(d->w->graph->edges[stored_edge].type);
    uint64_t old = stream->elements, now = old;
    const char *where = "end", *what;
    uint64_t way = data_below(&d->random, 8);
    if (old == 0 || d->block->counts[stored_edge] != old) return false;
    switch (way) {
    case 0: what = "none", now = 0; break;
    case 1:
    case 2: what = "one less", now = old - 1; break;
    case 3: what = "some less", now = old - 1 - data_below(&d->random, old < 40 ? old : 40); break;
    case 4: what = "cut", now = place_in(d->w, leaf, &d->random, &where) * old / leaf->count; break;
    case 5: what = "one more", now = old + 1; break;
    default: what = "some more", now = old + 1 + data_below(&d->random, 40); break;
    }
    uint8_t *bytes = zf_arena_alloc(interp_arena(in), (size_t)(now * bits / 8) + 16), fill = (uint8_t)data_below(&d->random, 3);
    uint64_t size = (now * bits + 7) / 8;
    memset(bytes, fill == 0 ? 0 : fill == 1 ? 0xff : 0x5a, (size_t)size);
    memcpy(bytes, stream->bytes, (size_t)(size < stream->size ? size : stream->size));
    stream->bytes = bytes;
    stream->size = size;
    stream->elements = now;
    d->block->streams = streams;
    diff_set_count(in, d->block, stored_edge, now);
    if (leaf->node >= 0 && data_below(&d->random, 2) == 0) { // in step
        uint64_t width = d->block->params[d->w->graph->nodes[leaf->node].first_param];
        diff_set_count(in, d->block, leaf->edge, width == 0 ? 0 : now * bits / width);
    }
    const interp_directory *directory = d->block->directories != NULL ? &d->block->directories[stored_edge] : NULL;
    if (directory != NULL && directory->count > 0) { // no chunk begins behind the end
        interp_directory *directories = diff_copy(in, d->block->directories, d->block->edge_count * sizeof *directories);
        uint64_t *starts = diff_copy(in, directory->starts, (size_t)directory->count * sizeof *starts);
        for (uint64_t c = 0; c < directory->count; c++) starts[c] = starts[c] < now ? starts[c] : now;
        directories[stored_edge].starts = starts;
        d->block->directories = directories;
    }
    say(d, leaf, "length", where, what);
    return true;
}

// Bits behind the last element are set.
static bool spare_bits(damage *d, const diff_leaf *leaf) {
    interp *in = d->w->in;
    const zf_graph_node *node = packer(d->w->graph, leaf);
    uint64_t width = node != NULL ? d->block->params[node->first_param] : leaf->bits;
    interp_stored *streams = diff_copy(in, d->block->streams, d->block->stream_count * sizeof *streams);
    interp_stored *stream = &streams[leaf->stored];
    uint64_t used = leaf->count * width, all = 8 * stream->size;
    if (used >= all) return false;
    uint8_t *bytes = diff_copy(in, stream->bytes, (size_t)stream->size);
    for (uint64_t bit = used; bit < all; bit++) bytes[bit / 8] |= (uint8_t)(1u << bit % 8);
    stream->bytes = bytes;
    d->block->streams = streams;
    say(d, leaf, "spare bits", "end", "");
    return true;
}

// A byte, whatever it is part of.
static bool one_byte(damage *d, const diff_leaf *leaf) {
    interp *in = d->w->in;
    interp_stored *streams = diff_copy(in, d->block->streams, d->block->stream_count * sizeof *streams);
    interp_stored *stream = &streams[leaf->stored];
    const char *where;
    if (stream->size == 0) return false;
    uint8_t *bytes = diff_copy(in, stream->bytes, (size_t)stream->size);
    uint64_t at = place_in(d->w, leaf, &d->random, &where) * stream->size / leaf->count;
    if (at >= stream->size) at = stream->size - 1;
    if (data_below(&d->random, 2) == 0)
        bytes[at] ^= (uint8_t)(1u << data_below(&d->random, 8));
    else
        bytes[at] = (uint8_t)data_next(&d->random);
    stream->bytes = bytes;
    d->block->streams = streams;
    say(d, leaf, "byte", where, "");
    return true;
}

static bool damage_leaf(damage *d) {
    diff_leaf leaf;
    if (d->w->leaf_count == 0 || !leaf_now(d, (uint32_t)data_below(&d->random, d->w->leaf_count), &leaf)) return false;
    uint64_t way = data_below(&d->random, 16);
    if (way < 8) {
        bool good = way < 5 && (leaf.sums_to < 0 || way == 0) ? one_element(d, &leaf) : two_elements(d, &leaf);
        if (good) store(d->w->in, d->w->graph, &leaf, leaf.values, d->block);
        return good;
    }
    if (way < 13) return length(d, &leaf);
    return way == 13 ? spare_bits(d, &leaf) : one_byte(d, &leaf);
}

// An edge says another length.
static bool damage_count(damage *d) {
    uint32_t edge = (uint32_t)data_below(&d->random, d->block->edge_count);
    uint64_t old = d->block->counts[edge], now = old;
    const char *what;
    switch (data_below(&d->random, 6)) {
    case 0:
    case 1: what = "one less", now = old - 1; break;
    case 2: what = "one more", now = old + 1; break;
    case 3: what = "some less", now = old - data_below(&d->random, old < 4096 ? old + 1 : 4096); break;
    case 4: what = "half", now = old / 2; break;
    default: what = "some more", now = old + data_below(&d->random, 64); break;
    }
    if (now == old || old == 0) return false;
    diff_set_count(d->w->in, d->block, edge, now);
    if (d->said != NULL) zf_text_printf(d->said, " [count of '%s': %s]", d->w->graph->edges[edge].path, what);
    return true;
}

static bool damage_param(damage *d) {
    if (d->block->param_count == 0) return false;
    uint32_t p = (uint32_t)data_below(&d->random, d->block->param_count);
    uint64_t old = d->block->params[p], now;
    const char *what;
    switch (data_below(&d->random, 9)) {
    case 0: what = "ones", now = UINT64_MAX; break;
    case 8: what = "1", now = 1; break;
    case 1: what = "0", now = 0; break;
    case 2: what = "one more", now = old + 1; break;
    case 3: what = "one less", now = old - 1; break;
    case 4: what = "64 more", now = old + 64; break;
    case 5: what = "few", now = data_below(&d->random, 70); break;
    case 6: what = "a bit", now = old ^ UINT64_C(1) << data_below(&d->random, 64); break;
    default: what = "any", now = data_next(&d->random); break;
    }
    diff_set_param(d->w->in, d->block, p, now);
    if (d->said != NULL) zf_text_printf(d->said, " [param %u: %s]", p, what);
    return now != old;
}

// A chunk begins elsewhere.
static bool damage_start(damage *d) {
    if (d->block->directories == NULL) return false;
    uint32_t edge = (uint32_t)data_below(&d->random, d->block->edge_count);
    if (d->block->directories[edge].count == 0) return false;
    interp_directory *directories = diff_copy(d->w->in, d->block->directories, d->block->edge_count * sizeof *directories);
    uint64_t chunks = directories[edge].count, *starts = diff_copy(d->w->in, directories[edge].starts, (size_t)chunks * 8);
    uint64_t c = data_below(&d->random, chunks), way = data_below(&d->random, 5);
    starts[c] = way == 0   ? starts[c] - 1
                : way == 1 ? starts[c] + 1
                : way == 2 ? 0
                : way == 3 ? d->block->counts[edge]
                           : data_next(&d->random);
    directories[edge].starts = starts;
    d->block->directories = directories;
    if (d->said != NULL)
        zf_text_printf(d->said, " [start of a chunk of '%s': way %llu]", d->w->graph->edges[edge].path, (ull)way);
    return true;
}

// ---- Sweeps ---------------------------------------------------------------------------------------------------

enum {
    SWEEP_LANES = 8, // of a thread; of small elements twice as many
    SWEEP_WAYS = 2,
    SWEEP_BORROWED = 300,
    SWEEP_ROWS = 4096, // of a tile
};

bool diff_wild_sweep(const diff_wild *wild, unsigned d, interp_block *block) {
    unsigned lanes = SWEEP_LANES * (zf_kind_size(wild->column->type.kind) < 4 && wild->column->type.kind != ZF_K_STRING ? 2 : 1);
    unsigned middle = lanes, tile = middle + lanes, end = tile + 2 * lanes, all_places = end + 2 * lanes;
    uint32_t n = d / (SWEEP_WAYS * all_places);
    unsigned place = d / SWEEP_WAYS % all_places;
    bool far = d % SWEEP_WAYS == 0;
    if (n >= wild->leaf_count) return false;
    const diff_leaf *leaf = &wild->leaves[n];
    uint64_t at = place, rows = wild->block.counts[0], all = ones(leaf->bits);
    data_random random = {.state = 1};
    if (place >= end)
        at = leaf->count - 1 - (place - end);
    else if (place >= tile)
        at = rows > SWEEP_ROWS ? element_of(wild, leaf, SWEEP_ROWS, rows, &random) + place - tile - lanes : leaf->count;
    else if (place >= middle)
        at = 5 * lanes + place - middle;
    if (at >= leaf->count) return false;
    uint64_t *values = diff_copy(wild->in, leaf->values, 8 * leaf->count);
    if (leaf->sums_to >= 0) {
        uint64_t other = at + 1, moved = far ? values[at] : SWEEP_BORROWED;
        if (other == leaf->count) return false;
        values[at] = (values[at] - moved) & all;
        values[other] = (values[other] + moved) & all;
    } else {
        values[at] = far ? all : leaf->bits == 1 ? 0 : all >> 1;
    }
    store(wild->in, wild->graph, leaf, values, block);
    return true;
}

unsigned diff_wild_places(uint64_t seed) {
    data_random random = {.state = seed};
    uint64_t turn = data_below(&random, 10);
    return turn < 7 ? 1 : turn < 9 ? 2 : 3;
}

bool diff_wild_damage(const diff_wild *wild, uint64_t seed, interp_block *block, zf_text *said) {
    damage d = {.w = wild, .random = {.state = seed}, .block = block, .said = said};
    unsigned places = 0;
    d.most = diff_wild_places(seed);
    data_next(&d.random); // which has said so
    for (unsigned tries = 0; places < d.most && tries < 8; tries++) {
        uint64_t way = data_below(&d.random, 20);
        places += way < 15 ? damage_leaf(&d) : way < 17 ? damage_count(&d) : way < 19 ? damage_param(&d) : damage_start(&d);
    }
    return places > 0;
}
