// A checked block, its parts apart: every stream and every array of seek states ends where reading may end, so that nobody reads
// the next one's bytes unseen.
#ifndef ZF_TESTS_DIFF_SPREAD_H
#define ZF_TESTS_DIFF_SPREAD_H

#include "emulator/emu.h"
#include "runtime/container/container.h"

typedef struct diff_spread {
    uint8_t *map;
    size_t mapped;
    uint64_t *offsets;  ///< of the view's seek states
    zf_emu_hole *holes; ///< what lies between the parts
    uint32_t hole_count;
    struct diff_spread_part *parts;
    uint32_t count;
    bool pages;
    uint8_t between;
} diff_spread;

/// Copies the parts of a view and lets the view point to the copy; the rest of the view stays. Bytes between the parts are
/// `between`. With `pages` the readable bytes behind a stream end with a page, and the next page cannot be touched; else `holes`
/// say where they end, and the copy can be read as a whole. Nobody can write there. The copy before this one is given again where
/// it is the same.
void diff_spread_make(zf_block_view *view, bool pages, uint8_t between, diff_spread *out);
void diff_spread_free(diff_spread *spread);

#endif
