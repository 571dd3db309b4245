// Groups made to measure. A thread of the emulated GPU takes four groups, whose first is a multiple of four; the host takes 64.
#include "tests/differential/diff_trials.h"
#include "tests/interp/interp_internal.h"

// Tiles begin at each place among four, within 64, and the last one among the block's last three.
const uint32_t diff_step_groups[DIFF_STEP_TILES + 1] = {0, 41, 86, 127, 188, 193, DIFF_STEP_GROUPS};

enum { LAST_ROWS = 1500, LONG_ROWS = 300 };

// One group of each tile is long, so that words of heads behind it have none, and lies across a multiple of 1024 rows.
void diff_step_sizes(uint64_t seed, uint32_t *sizes) {
    data_random random = {.state = seed};
    for (unsigned t = 0; t < DIFF_STEP_TILES; t++) {
        uint32_t first = diff_step_groups[t], groups = diff_step_groups[t + 1] - first;
        uint32_t rows = t + 1 < DIFF_STEP_TILES ? DIFF_STEP_ROWS : LAST_ROWS, least = 2;
        uint32_t middle = first + groups / 2, left = rows - groups * least;
        for (uint32_t g = 0; g < groups; g++) sizes[first + g] = least;
        sizes[middle] += LONG_ROWS;
        left -= LONG_ROWS;
        while (left > 0) {
            uint32_t more = 1 + (uint32_t)data_below(&random, left < 80 ? left : 80);
            sizes[first + (uint32_t)data_below(&random, groups)] += more;
            left -= more;
        }
    }
}

// ---- Nests: wrong sizes of one stage, while all else is right, its seek states among it -------------------------

// Rows that end tiles, and the begin of the last tile, for tiles of 1024 rows and of 4096. Groups before and behind an end are on
// different lanes of a thread.
static const struct {
    uint32_t ends[2], last;
} places[3] = {{{2048, 3072}, 7168}, {{4096, 6144}, 4096}, {{4096, 6144}, 4096}};

enum {
    LANES = 8, // groups that a thread takes together, at most
    BESIDE = 4 * LANES,
    AT_BEGIN = BESIDE, // of the last tile
    IN_MIDDLE = AT_BEGIN + LANES,
    AT_LAST = IN_MIDDLE + LANES,
    FIRST = AT_LAST + LANES, // the one that the last tile begins inside
    WAYS,                    // to choose a group
    LEAST = 64,              // groups
    SIZE_STAGES = 4,         // whose sizes are damaged; then values of the same, but for the first
    BORROWED = 300,          // more than a group has, and less than a tile
};

uint32_t diff_stage_rows(const diff_trial *t, uint64_t g) {
    static const uint8_t rows[3][10] = {
        {2, 1, 1, 2, 1, 1, 1, 2, 1, 1}, {3, 6, 4, 5, 4, 5, 3, 6, 4, 5}, {3, 6, 4, 5, 4, 5, 3, 6, 4, 5}};
    return rows[t->last][g % 10];
}

// The group that has element `at` of `all`.
static uint64_t group_of(const uint32_t *sizes, uint64_t count, uint64_t at) {
    uint64_t g = 0;
    while (g + 1 < count && at >= sizes[g]) at -= sizes[g++];
    return g;
}

// The group of a way, or `count`. Stages have other numbers of elements than the column: places are as far into them.
static uint64_t group_at(const diff_trial *t, const uint32_t *sizes, uint64_t count, uint64_t elements, unsigned way) {
    uint64_t last = places[t->last].last * elements / t->rows, lane = way % LANES;
    if (way < BESIDE) {
        uint64_t end = group_of(sizes, count, places[t->last].ends[way / 2 / LANES] * elements / t->rows);
        if (way / LANES % 2 == 1) return end + 1 + lane;
        return end < lane + 3 ? count : end - 3 - lane;
    }
    if (way == FIRST) return group_of(sizes, count, last);
    if (way >= AT_LAST) return count - 3 - lane;
    if (way >= IN_MIDDLE) return group_of(sizes, count, (last + elements) / 2) / LANES * LANES + lane;
    return group_of(sizes, count, last) + 1 + lane;
}

// The stage of damage d, its way, and whether a group is emptied; else one has less than no elements.
static unsigned stage_of(unsigned d) { return d / (2 * WAYS); }
static unsigned way_of(unsigned d) { return d % (2 * WAYS) / 2; }
static bool empties(unsigned d) { return d % 2 == 0; }

// The edge of a stage: 0 the column's, then those of other lengths that groups make whose sizes are known; edges of one length
// are one. There may be none.
static uint32_t edge_of(interp *in, const zf_graph *graph, const interp_block *block, unsigned stage) {
    uint64_t count, last = block->counts[0];
    if (stage == 0) return 0;
    for (uint32_t e = 1; e < graph->edge_count; e++) {
        interp_block other = *block;
        if (block->counts[e] == block->counts[0] || block->counts[e] == last) continue;
        if (diff_sizes_of(in, graph, block->counts[e], &other, LEAST, &count) == NULL) continue;
        last = block->counts[e];
        if (--stage == 0) return e;
    }
    return graph->edge_count;
}

// Elements of a stage that are sizes of another's groups: a run has less than no elements each, and another as long has as many
// more. Their sum is right modulo 2^32.
static bool damage_values(interp *in, const zf_graph *graph, const diff_trial *t, unsigned stage, unsigned way,
                          interp_block *block) {
    uint32_t edge = edge_of(in, graph, block, stage);
    uint64_t count;
    if (edge == 0 || edge >= graph->edge_count) return false;
    const uint32_t *sizes = diff_sizes_of(in, graph, block->counts[edge], block, LEAST, &count);
    uint32_t *values = sizes != NULL ? diff_values_of(in, graph, sizes, count, block) : NULL;
    uint64_t g = values != NULL ? group_at(t, sizes, count, block->counts[edge], way) : count, other = g + 1;
    while (other < count && sizes[other] != sizes[g]) other++;
    if (other >= count) return false;
    values[g] -= BORROWED;
    values[other] += BORROWED;
    return true;
}

// The sizes still add up, those of a group that borrows modulo 2^32. The elements of an empty group go to the next but one,
// which is like it where every other group has no value: then as many rows as before have one.
bool diff_stage_damage(interp *in, const zf_graph *graph, const diff_trial *t, unsigned d, interp_block *block) {
    unsigned stage = stage_of(d);
    if (stage >= SIZE_STAGES) return !empties(d) && damage_values(in, graph, t, stage - SIZE_STAGES + 1, way_of(d), block);
    uint32_t edge = edge_of(in, graph, block, stage);
    uint64_t count;
    if (edge >= graph->edge_count) return false;
    if (!empties(d) && (way_of(d) < BESIDE || !diff_are_grouped(graph, block, block->counts[edge]))) return false;
    uint32_t *sizes = diff_sizes_of(in, graph, block->counts[edge], block, LEAST, &count);
    if (sizes == NULL) return false;
    uint64_t g = group_at(t, sizes, count, block->counts[edge], way_of(d));
    if (g + 2 >= count) return false;
    uint32_t moved = empties(d) ? sizes[g] : BORROWED;
    sizes[g] -= moved;
    sizes[empties(d) ? g + 2 : g + 1] += moved;
    return true;
}

// The values of runs become one number and the next, so that a run can be taken for its neighbour unseen: those that are fewer
// come first. Their sum stays.
static void level(uint32_t *values, const uint32_t *sizes, uint64_t count, uint64_t elements) {
    uint64_t sum = 0;
    for (uint64_t g = 0; g < count; g++) sum += (uint64_t)sizes[g] * values[g];
    uint64_t least = sum / elements, more = sum % elements;
    bool first = 2 * more < elements; // those that have one more
    for (uint64_t k = 0; k < count; k++) {
        uint64_t g = first ? k : count - 1 - k;
        bool one_more = sizes[g] <= more;
        values[g] = (uint32_t)(least + one_more);
        more -= one_more ? sizes[g] : 0;
    }
}

bool diff_stages_widen(interp *in, const zf_column *column, const diff_trial *t, interp_block *block) {
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, block->branches);
    bool some = false;
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        uint64_t count, elements = block->counts[e];
        const uint32_t *sizes = diff_sizes_of(in, graph, elements, block, LEAST, &count);
        some = sizes != NULL || some;
        if (sizes == NULL || e == 0 || elements == block->counts[0]) continue;
        if (diff_values_of(in, graph, sizes, count, block) == NULL || t->last != DIFF_LONE_ROWS) continue;
        interp_block alike = *block;
        level(diff_values_of(in, graph, sizes, count, &alike), sizes, count, elements);
        if (diff_decodes(in, column, &alike)) *block = alike;
    }
    return some;
}

bool diff_stage_neighbour(const diff_trial *t, unsigned d, uint64_t *guilty, uint64_t *innocent) {
    unsigned way = way_of(d);
    if (stage_of(d) != 0 || way >= BESIDE) return false;
    uint64_t end = places[t->last].ends[way / 2 / LANES];
    bool behind = way / LANES % 2 == 1;
    *guilty = behind ? end : end - 1;
    *innocent = behind ? end - 1 : end;
    return true;
}

// A size of 0 counts as 1 once it was reported: in a tile whose last row has the last value there is then a value too few.
diff_demand diff_stage_demand(const diff_trial *t, unsigned d) {
    if (stage_of(d) >= SIZE_STAGES) return DIFF_ANY;
    return !empties(d) ? DIFF_SUM : t->last == DIFF_LONE_ROWS ? DIFF_ANY : DIFF_FIRST;
}
