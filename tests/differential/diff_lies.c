// Seek states that lie: whoever decodes what they belong to must notice.
#include "tests/differential/diff_case_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/differential/diff_text.h"

typedef unsigned long long ull;

// States as they stand in `records`, some of which lie: who decodes the rows begin..end must notice.
static diff_verdict tell_lie(diff_comparing *k, const diff_records *records, uint64_t begin, uint64_t end, const char *what) {
    diff_verdict verdict = DIFF_SAME_BYTES;
    diff_laid laid;
    diff_result got;
    if (!diff_lay_out(k->decoder, k->block, records, &laid, &got)) return diff_differ(k, "layout with a lying state", got.text);
    diff_call call = diff_call_of(k, &laid);
    call.begin = begin;
    call.end = end;
    diff_run(&call, &got);
    k->c->tally->runs++;
    k->c->tally->lies++;
    if (got.kind == DIFF_FAULT)
        verdict = diff_differ(k, what, got.text);
    else if (got.kind == DIFF_BYTES)
        verdict = diff_differ(k, what, "nobody noticed");
    diff_result_free(&got);
    free(laid.bytes);
    return verdict;
}

// One state: whoever decodes everything notices, and so does who decodes the tile alone that should end in it: unless it is of
// empty groups, of which the next tile alone knows.
static diff_verdict tell_one(diff_comparing *k, const diff_records *records, uint32_t tree, uint32_t field, uint64_t entry,
                             uint64_t lie) {
    const zf_abi_tree *abi = &k->decoder->abi.trees[tree];
    uint64_t *state = &records->values[tree][field * records->entries[tree] + entry], saved = *state;
    char what[120];
    if (lie == saved) return DIFF_SAME_BYTES;
    *state = lie;
    snprintf(what, sizeof what, "state %s of tile %llu changed from %llu to %llu", abi->fields[field].name, (ull)entry + 1,
             (ull)saved, (ull)lie);
    diff_verdict verdict = tell_lie(k, records, 0, UINT64_MAX, what);
    if (verdict != DIFF_DISAGREE && abi->edge == 0 && k->c->full_groups) {
        strcat(what, ", the tile before");
        verdict = tell_lie(k, records, entry * abi->interval, (entry + 1) * abi->interval, what);
    }
    // The tile of the column's groups that begins there notices, too, because it must end in another state.
    bool grouped = abi->fields[field].kind == ZF_FIELD_GROUP || abi->fields[field].kind == ZF_FIELD_OFFSET;
    grouped = grouped && strchr(abi->fields[field].name, '.') == NULL;
    if (verdict != DIFF_DISAGREE && abi->edge == 0 && k->c->full_groups && grouped && entry + 1 < records->entries[tree]) {
        snprintf(what, sizeof what, "state %s of tile %llu changed to %llu, that tile", abi->fields[field].name, (ull)entry + 1,
                 (ull)lie);
        verdict = tell_lie(k, records, (entry + 1) * abi->interval, (entry + 2) * abi->interval, what);
    }
    *state = saved;
    return verdict;
}

// How many elements a group but the last has beyond what its size says: an exception.
static uint64_t beyond_size(const zf_graph_node *made) {
    return strncmp(made->inst->name, "alp", 3) == 0 || strncmp(made->inst->name, "pfor", 4) == 0;
}

// The sizes of the groups of the column: a stored stream of u32 that adds up to its rows. *count: of groups.
static const uint8_t *sizes_of(const interp_block *block, uint64_t more, uint64_t *count) {
    *count = 0;
    for (uint32_t s = 0; s < block->stream_count; s++) {
        const interp_stored *stream = &block->streams[s];
        uint64_t sum = stream->elements > 0 ? more * (stream->elements - 1) : 0;
        if (stream->size != 4 * stream->elements) continue;
        for (uint64_t e = 0; e < stream->elements; e++) {
            uint32_t size;
            memcpy(&size, stream->bytes + 4 * e, 4);
            sum += size;
        }
        *count = stream->elements;
        if (sum == block->counts[0]) return stream->bytes;
    }
    return NULL;
}

// The number that `bitpack` packs at index e.
static uint64_t packed_at(const interp_stored *stream, uint64_t width, uint64_t e) {
    uint64_t value = 0;
    for (uint64_t bit = 0; bit < width; bit++)
        value |= (uint64_t)(stream->bytes[(e * width + bit) / 8] >> (e * width + bit) % 8 & 1) << bit;
    return value;
}

// The sizes of the groups of the stage that makes edge `stage`: a stream of u32 below it, as it is or packed, that adds up to its
// elements. NULL: none is. The caller frees them. *stored: the stream, if it has them as they are; -1: it does not.
static uint32_t *sizes_below(const diff_comparing *k, uint32_t stage, uint64_t *count, int32_t *stored) {
    const zf_graph *graph = k->decoder->graph;
    const interp_block *block = k->block;
    const zf_graph_node *made = &graph->nodes[graph->edges[stage].producer];
    for (uint32_t n = 0; n < made->inst->stream_count; n++) {
        const zf_graph_edge *edge = &graph->edges[made->inputs[n]];
        const zf_graph_node *pack = edge->producer >= 0 ? &graph->nodes[edge->producer] : NULL;
        bool packed = pack != NULL && strncmp(pack->inst->name, "bitpack", 7) == 0 && graph->edges[pack->inputs[0]].stored >= 0;
        if (edge->type.kind != ZF_K_U32 || (edge->stored < 0 && !packed)) continue;
        int32_t from = packed ? graph->edges[pack->inputs[0]].stored : edge->stored;
        const interp_stored *stream = &block->streams[from];
        uint64_t width = packed ? block->params[pack->first_param] : 32, sum = 0;
        uint64_t base = packed ? block->params[pack->first_param + 1] : 0;
        *count = block->counts[edge->index];
        if (width > 32 || *count * width > 8 * stream->size) continue;
        uint32_t *sizes = calloc(*count + 1, sizeof *sizes);
        uint64_t more = beyond_size(made);
        for (uint64_t e = 0; e < *count; e++)
            sum += sizes[e] = (uint32_t)(base + packed_at(stream, width, e) + (e + 1 < *count ? more : 0));
        *stored = width == 32 && base == 0 ? from : -1;
        if (sum == block->counts[stage]) return sizes;
        free(sizes);
    }
    return NULL;
}

// A tile that begins with a group of a stage is said to begin behind the one before: the same place, by another name. Both tiles
// notice.
static diff_verdict tell_stage_behind(diff_comparing *k, const diff_records *records, uint32_t tree, uint32_t field,
                                      const uint32_t *sizes, uint64_t count) {
    const zf_abi_tree *abi = &k->decoder->abi.trees[tree];
    uint64_t entries = records->entries[tree], *groups = records->values[tree] + field * entries, *offsets = groups + entries;
    diff_verdict verdict = DIFF_SAME_BYTES;
    unsigned told = 0, most = k->c->thorough ? UINT32_MAX : k->c->states.seek_interval != 0 ? 4 : 1;
    uint64_t entry = data_below(&k->random, entries);
    for (uint64_t e = 0; e < entries && told < most && verdict != DIFF_DISAGREE; e++, entry = (entry + 1) % entries) {
        if (offsets[entry] != 0 || groups[entry] == 0) continue;
        if (groups[entry] > count) break; // another stream that happens to add up
        uint32_t size = sizes[groups[entry] - 1];
        groups[entry]--;
        offsets[entry] = size;
        uint64_t at = (entry + 1) * abi->interval, rows = k->block->counts[0];
        uint64_t end = at + abi->interval < rows ? at + abi->interval : rows;
        verdict = tell_lie(k, records, 0, UINT64_MAX, "a state behind its group");
        if (verdict != DIFF_DISAGREE && size > 0) // to who ends before an empty group it is no other place
            verdict = tell_lie(k, records, at - abi->interval, at, "a state behind its group, the tile before");
        if (verdict != DIFF_DISAGREE) verdict = tell_lie(k, records, at, end, "a state behind its group, the tile behind");
        groups[entry]++;
        offsets[entry] = 0;
        told++;
    }
    return verdict;
}

// The edge that a stage of a tree makes, whose fields are named by its path; -1: field f is not the first of a stage.
static int32_t stage_of(const diff_comparing *k, const zf_abi_tree *abi, uint32_t f) {
    const zf_graph *graph = k->decoder->graph;
    if (f + 1 >= abi->field_count || abi->fields[f].kind != ZF_FIELD_GROUP || abi->fields[f + 1].kind != ZF_FIELD_OFFSET)
        return -1;
    const char *name = abi->fields[f].name, *dot = strrchr(name, '.');
    size_t length = dot != NULL ? (size_t)(dot - name) : 0;
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        bool here = strlen(graph->edges[e].path) == length && memcmp(graph->edges[e].path, name, length) == 0;
        if (here && graph->edges[e].producer >= 0) return (int32_t)e;
    }
    return -1;
}

// The same for each stage of a tree.
static diff_verdict tell_behind(diff_comparing *k, const diff_records *records, uint32_t tree) {
    const zf_abi_tree *abi = &k->decoder->abi.trees[tree];
    diff_verdict verdict = DIFF_SAME_BYTES;
    for (uint32_t f = 0; abi->edge == 0 && f < abi->field_count && verdict != DIFF_DISAGREE; f++) {
        int32_t stage = stage_of(k, abi, f), stored;
        uint64_t count = 0;
        uint32_t *sizes = stage >= 0 ? sizes_below(k, (uint32_t)stage, &count, &stored) : NULL;
        if (sizes != NULL) verdict = tell_stage_behind(k, records, tree, f, sizes, count);
        free(sizes);
    }
    return verdict;
}

// The parts of the streams that belong to the first `groups` groups, if a stream has an element for each.
static void keep_groups(const interp_block *block, uint64_t before, uint64_t groups, interp_block *out, interp_stored *streams,
                        uint64_t *counts) {
    for (uint32_t s = 0; s < block->stream_count; s++) {
        streams[s] = block->streams[s];
        if (streams[s].elements != before) continue;
        bool bits = streams[s].size < before;
        streams[s].size = bits ? (groups + 7) / 8 : streams[s].size / before * groups;
        streams[s].elements = groups;
    }
    for (uint32_t e = 0; e < block->edge_count; e++) counts[e] = block->counts[e] == before ? groups : block->counts[e];
    *out = *block;
    out->streams = streams;
    out->counts = counts;
}

// The last tile is said to begin inside a group, and the block's groups end before that one: the tile before it has no such
// group, though what lies behind the streams may look like it.
static diff_verdict tell_beyond(diff_comparing *k, const diff_records *records) {
    const zf_abi_tree *abi = &k->decoder->abi.trees[0];
    uint64_t entries = records->entries[0], *groups = records->values[0], *offsets = groups + entries, count = 0;
    uint64_t more = beyond_size(&k->decoder->graph->nodes[0]);
    const uint8_t *sizes = sizes_of(k->block, more, &count);
    bool grouped = abi->field_count >= 2 && abi->fields[0].kind == ZF_FIELD_GROUP && abi->fields[1].kind == ZF_FIELD_OFFSET;
    if (abi->edge != 0 || !grouped || sizes == NULL || entries == 0 || count == k->block->counts[0]) return DIFF_SAME_BYTES;
    uint64_t last = entries - 1, group = groups[last];
    if (offsets[last] != 0 || group < 2 || group > count) return DIFF_SAME_BYTES;
    const interp_block *whole = k->block;
    interp_block cut;
    interp_stored *streams = calloc(whole->stream_count + 1u, sizeof *streams);
    uint64_t *counts = calloc(whole->edge_count + 1u, sizeof *counts);
    uint32_t size;
    memcpy(&size, sizes + 4 * (group - 1), 4);
    keep_groups(whole, count, group - 1, &cut, streams, counts);
    groups[last]--;
    offsets[last] = size + more;
    k->block = &cut;
    diff_verdict verdict =
        tell_lie(k, records, last * abi->interval, (last + 1) * abi->interval, "a state in a group that is none");
    k->block = whole;
    groups[last]++;
    offsets[last] = 0;
    free(streams);
    free(counts);
    return verdict;
}

// Sizes and states whose sums are right modulo 2^32 alone: a tile that ends almost 2^32 elements into its last group, or that
// begins so far before the end of its first, and of whose other groups one is as much too large. `more`: as of beyond_size.
static diff_verdict tell_stage_wrapped(diff_comparing *k, const diff_records *records, uint32_t f, uint64_t more, int32_t stored,
                                       const uint32_t *found, uint64_t count) {
    const zf_abi_tree *abi = &k->decoder->abi.trees[0];
    uint64_t entries = records->entries[0], *groups = records->values[0] + f * entries, *offsets = groups + entries;
    const interp_block *honest = k->block;
    diff_verdict verdict = DIFF_SAME_BYTES;
    for (unsigned at_end = 0; at_end < 2 && verdict != DIFF_DISAGREE; at_end++) {
        uint64_t group = groups[0], offset = offsets[0], behind = entries > 1 ? groups[1] : count;
        uint64_t begin = at_end ? 0 : abi->interval, rows = honest->counts[0];
        if (group + 2 >= count || (at_end ? group < 2 : behind < group + 2)) continue;
        interp_block lying = *honest;
        interp_stored *streams = calloc(honest->stream_count + 1u, sizeof *streams);
        uint32_t *sizes = calloc(count + 1, sizeof *sizes);
        memcpy(sizes, found, 4 * count);
        memcpy(streams, honest->streams, honest->stream_count * sizeof *streams);
        streams[stored].bytes = (uint8_t *)sizes;
        lying.streams = streams;
        if (at_end) { // the group has 2^32 - 1, of which the tile is said to have 2^32 - 2
            sizes[group - 1] += (uint32_t)(offset + 2);
            offsets[0] = UINT32_MAX - 1;
        } else { // the group has 2^32 - 1, of which one is before the tile
            sizes[group + 1] += (uint32_t)(sizes[group] + more - offset + 2);
            offsets[0] = 1;
        }
        sizes[group] = UINT32_MAX - (uint32_t)more;
        k->block = &lying;
        uint64_t end = begin + abi->interval < rows ? begin + abi->interval : rows;
        verdict = tell_lie(k, records, begin, end, at_end ? "an end that wraps" : "a begin that wraps");
        k->block = honest;
        offsets[0] = offset;
        free(streams);
        free(sizes);
    }
    return verdict;
}

// The same for each stage whose sizes are stored as they are. In alp and pfor each group but the last has an element more.
static diff_verdict tell_wrapped(diff_comparing *k, const diff_records *records) {
    const zf_abi_tree *abi = &k->decoder->abi.trees[0];
    diff_verdict verdict = DIFF_SAME_BYTES;
    for (uint32_t f = 0; abi->edge == 0 && records->entries[0] > 0 && f < abi->field_count && verdict != DIFF_DISAGREE; f++) {
        int32_t stage = stage_of(k, abi, f), stored = -1;
        uint64_t count = 0;
        uint32_t *sizes = stage >= 0 ? sizes_below(k, (uint32_t)stage, &count, &stored) : NULL;
        const zf_graph *graph = k->decoder->graph;
        uint64_t more = sizes != NULL ? beyond_size(&graph->nodes[graph->edges[stage].producer]) : 0;
        for (uint64_t g = 0; sizes != NULL && g + 1 < count; g++) sizes[g] -= (uint32_t)more; // as they are stored
        if (sizes != NULL && stored >= 0) verdict = tell_stage_wrapped(k, records, f, more, stored, sizes, count);
        free(sizes);
    }
    return verdict;
}

// The last tile of a nullable column is said to have 2^32 more values before it than there are: it finds that they are none.
static diff_verdict tell_counted(diff_comparing *k, const diff_records *records) {
    const zf_abi_tree *abi = &k->decoder->abi.trees[0];
    uint64_t entries = records->entries[0], rows = k->block->counts[0], begin = entries * abi->interval, valid = 0;
    if (abi->edge != 0 || entries == 0 || strncmp(k->decoder->graph->nodes[0].inst->name, "nullable", 8) != 0)
        return DIFF_SAME_BYTES;
    for (uint64_t r = begin; r < rows; r++) {
        bool null;
        interp_stream_bits(k->wanted, r, &null);
        valid += !null;
    }
    diff_verdict verdict = DIFF_SAME_BYTES;
    for (uint32_t f = 0; f < abi->field_count && valid > 0 && verdict != DIFF_DISAGREE; f++) {
        if (abi->fields[f].kind != ZF_FIELD_SCAN || abi->fields[f].bytes < 8 || strchr(abi->fields[f].name, '.') != NULL)
            continue;
        uint64_t *state = &records->values[0][f * entries + entries - 1];
        *state += UINT64_C(1) << 32;
        verdict = tell_lie(k, records, begin, rows, "2^32 values more before the last tile");
        *state -= UINT64_C(1) << 32;
    }
    return verdict;
}

static uint64_t lie_of(diff_comparing *k, const zf_abi_field *field, uint64_t state, uint64_t kind) {
    uint64_t bits = 8 * (uint64_t)field->bytes;
    switch (kind) {
    case 0: return state ^ 1;
    case 1: return state ^ UINT64_C(1) << data_below(&k->random, bits);
    case 2: return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    default: return 0;
    }
}

// Every field, each kind of lie, of any tile.
static diff_verdict check_all_lies(diff_comparing *k, const diff_records *records) {
    diff_verdict verdict = DIFF_SAME_BYTES;
    verdict = tell_beyond(k, records);
    if (verdict != DIFF_DISAGREE) verdict = tell_wrapped(k, records);
    if (verdict != DIFF_DISAGREE) verdict = tell_counted(k, records);
    for (uint32_t t = 0; t < records->trees && verdict != DIFF_DISAGREE; t++) {
        const zf_abi_tree *abi = &k->decoder->abi.trees[t];
        uint64_t entries = abi->directory != 0 ? 0 : records->entries[t]; // a directory is part of the block
        for (uint64_t way = 0; entries > 0 && way < 4 * abi->field_count; way++) {
            uint32_t field = (uint32_t)(way / 4);
            uint64_t entry = data_below(&k->random, entries), state = records->values[t][field * entries + entry];
            verdict = tell_one(k, records, t, field, entry, lie_of(k, &abi->fields[field], state, way % 4));
            if (verdict == DIFF_DISAGREE) return verdict;
        }
    }
    return verdict;
}

// The bytes of all strings are said to be others than they are: one more, one less, all but those of the last tile's first row,
// which the others then just fill, or all but those of the last string that has any.
static diff_verdict tell_characters(diff_comparing *k, const diff_records *records) {
    const interp_block *honest = k->block;
    uint64_t rows = honest->counts[0], tile = 1, length = 0;
    diff_verdict verdict = DIFF_SAME_BYTES;
    if (k->c->column->type.kind != ZF_K_STRING || rows == 0) return verdict;
    for (uint32_t n = 0; n < k->decoder->abi.kernel_count; n++)
        if (k->decoder->abi.kernels[n].sink < 0) tile = k->decoder->abi.kernels[n].tile;
    diff_text_of(k->wanted, (rows - 1) / tile * tile, &length);
    uint64_t last = 0;
    for (uint64_t r = rows; r-- > 0 && last == 0;) diff_text_of(k->wanted, r, &last);
    const uint64_t less[] = {UINT64_MAX, 1, length, last}; // modulo 2^64
    for (unsigned n = 0; n < 4 && verdict != DIFF_DISAGREE; n++) {
        interp_block lying = *honest;
        lying.characters -= less[n];
        if (less[n] == 0 || (n > 0 && less[n] > honest->characters)) continue;
        k->block = &lying;
        verdict = tell_lie(k, records, 0, UINT64_MAX, "another number of characters");
        k->block = honest;
    }
    return verdict;
}

// Seek states that lie must be found: a random one, the one before, which is nearly right (an empty group, say), and others.
diff_verdict diff_check_lies(diff_comparing *k, const diff_records *records) {
    if (records->trees == 0) return DIFF_SAME_BYTES;
    if (tell_characters(k, records) == DIFF_DISAGREE) return DIFF_DISAGREE;
    uint32_t tree = (uint32_t)data_below(&k->random, records->trees);
    const zf_abi_tree *abi = &k->decoder->abi.trees[tree];
    uint64_t entries = records->entries[tree];
    if (entries == 0 || abi->field_count == 0 || abi->directory != 0) return DIFF_SAME_BYTES;
    uint32_t field = (uint32_t)data_below(&k->random, abi->field_count);
    uint64_t entry = data_below(&k->random, entries), state = records->values[tree][field * entries + entry];
    uint64_t bits_first = 8 * (uint64_t)abi->fields[0].bytes;
    uint64_t lie = lie_of(k, &abi->fields[field], state, data_below(&k->random, 4));
    diff_verdict verdict = tell_one(k, records, tree, field, entry, lie);
    entry = data_below(&k->random, entries);
    state = records->values[tree][entry];
    if (verdict != DIFF_DISAGREE && state > 0) verdict = tell_one(k, records, tree, 0, entry, state - 1);
    if (verdict != DIFF_DISAGREE) verdict = tell_behind(k, records, tree);
    if (verdict != DIFF_DISAGREE && k->c->thorough) verdict = check_all_lies(k, records);
    if (abi->edge != 0) return verdict;
    // The last far beyond. A tile whose groups would decrease is not run on accelerators.
    entry = entries - 1;
    state = records->values[tree][entry] + (1u << 20);
    if (verdict != DIFF_DISAGREE) verdict = tell_one(k, records, tree, 0, entry, state & (UINT64_MAX >> (64 - bits_first)));
    return verdict;
}
