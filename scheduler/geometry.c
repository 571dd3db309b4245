#include "scheduler/geometry.h"

#include <string.h>

typedef struct row {
    const char *target;
    zf_domain domain;
    bool scan;
    zf_geometry geometry;
} row;

// Host elements: 128 iterations of 32 contiguous elements, one thread: 32 elements of any bit width begin on a word, so every
// shift in the inner loop is a constant. Groups and chunks: a tile is walked by one thread, group by group.
static const row rows[] = {
    {"host", ZF_DOMAIN_ELEMENTS, false, {.l = 128, .s = 1, .c = 32}},
    {"host", ZF_DOMAIN_GROUPS, false, {.l = 1, .s = 1, .c = 1}},
    {"host", ZF_DOMAIN_CHUNKS, false, {.l = 1, .s = 1, .c = 1}},
    // GPUs: C = 0 stands for as many elements as 16 bytes hold. Small blocks do better than large ones for what is ordered.
    {"nvptx", ZF_DOMAIN_ELEMENTS, false, {.l = 4, .s = 256, .c = 0}},
    {"nvptx", ZF_DOMAIN_ELEMENTS, true, {.l = 1, .s = 32, .c = 0}},
    {"nvptx", ZF_DOMAIN_GROUPS, false, {.l = 1, .s = 128, .c = 0}},
    {"nvptx", ZF_DOMAIN_CHUNKS, false, {.l = 1, .s = 32, .c = 0}},
    {"emu", ZF_DOMAIN_ELEMENTS, false, {.l = 4, .s = 256, .c = 0}},
    {"emu", ZF_DOMAIN_ELEMENTS, true, {.l = 1, .s = 32, .c = 0}},
    {"emu", ZF_DOMAIN_GROUPS, false, {.l = 1, .s = 128, .c = 0}},
    {"emu", ZF_DOMAIN_CHUNKS, false, {.l = 1, .s = 32, .c = 0}},
};
enum { ROWS = sizeof rows / sizeof *rows };

const zf_geometry *zf_geometry_default(const char *target, zf_domain domain, bool scan) {
    const zf_geometry *found = NULL;
    for (int r = 0; r < ROWS; r++) {
        if (rows[r].domain != domain || strcmp(rows[r].target, target) != 0) continue;
        if (rows[r].scan == scan) return &rows[r].geometry;
        if (!rows[r].scan) found = &rows[r].geometry;
    }
    return found;
}

bool zf_target_known(const char *target) {
    for (int r = 0; r < ROWS; r++) {
        if (strcmp(rows[r].target, target) == 0) return true;
    }
    return false;
}
