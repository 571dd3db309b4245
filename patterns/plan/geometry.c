#include "patterns/plan/geometry.h"

typedef struct row {
    bool waves; ///< of targets whose threads run in waves
    zf_domain domain;
    zf_loop loop;
    zf_geometry geometry;
} row;

// Host elements: 128 iterations of 32 contiguous elements, one thread: 32 elements of any bit width begin on a word, so every
// shift in the inner loop is a constant. Groups and chunks: a tile is walked by one thread, group by group.
static const row rows[] = {
    {false, ZF_DOMAIN_ELEMENTS, ZF_LOOP_MAP, {.l = 128, .s = 1, .c = 32}},
    {false, ZF_DOMAIN_GROUPS, ZF_LOOP_MAP, {.l = 1, .s = 1, .c = 1}},
    {false, ZF_DOMAIN_CHUNKS, ZF_LOOP_MAP, {.l = 1, .s = 1, .c = 1}},
    // GPUs: C = 0 stands for as many elements as 16 bytes hold, S = 0 for one warp. Short tiles are faster where each element
    // is independent (by 2 to 4% on an H200: `tuned` of bench/results/h200/2026-11-24-speed.json). Where loads wait for one
    // another, longer tiles have more of them in flight. Small blocks do better than large ones for ordered kernels.
    {true, ZF_DOMAIN_ELEMENTS, ZF_LOOP_MAP, {.l = 2, .s = 256, .c = 0}},
    {true, ZF_DOMAIN_ELEMENTS, ZF_LOOP_GATHER, {.l = 4, .s = 256, .c = 0}},
    {true, ZF_DOMAIN_ELEMENTS, ZF_LOOP_SCAN, {.l = 1, .s = 0, .c = 0}},
    // Where short groups read as much as they make, and little is computed, each warp more begins the tile once more: runs of 1
    // to 4 elements of u32 reached 84 to 93% of the limit with 128 threads (2026-11-24-speed-tuning.json), 92 to 97% with 64
    // (2026-11-25-speed-tuning.json, where tuners take 128 for runs of 16 to 256, which are 3 to 5% faster with them).
    {true, ZF_DOMAIN_GROUPS, ZF_LOOP_MAP, {.l = 1, .s = 128, .c = 0}},
    {true, ZF_DOMAIN_GROUPS, ZF_LOOP_PLAIN, {.l = 1, .s = 64, .c = 0}},
    {true, ZF_DOMAIN_CHUNKS, ZF_LOOP_MAP, {.l = 1, .s = 0, .c = 0}},
};
enum { ROWS = sizeof rows / sizeof *rows };

const zf_geometry *zf_geometry_default(const zf_target *target, zf_domain domain, zf_loop loop) {
    const zf_geometry *found = NULL;
    for (int r = 0; r < ROWS; r++) {
        if (rows[r].domain != domain || rows[r].waves != (target->wave > 0)) continue;
        if (rows[r].loop == loop) return &rows[r].geometry;
        if (rows[r].loop == ZF_LOOP_MAP) found = &rows[r].geometry; // there is no other
    }
    return found;
}
