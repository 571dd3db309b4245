// Groups made to measure. A thread of the emulated GPU takes four groups, whose first is a multiple of four; the host takes 64.
#include "tests/differential/diff_trials.h"

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
