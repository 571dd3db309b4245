#include "tests/differential/diff_spread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/container/container_format.h"

enum { READ_BEHIND = 16, ALIGN = 256 };

typedef struct part {
    uint64_t *offset; // from the base: the old one until it is moved
    uint64_t from, bytes;
    uint64_t readable; // bytes behind it
    uint64_t align;
} part;

// On a GPU eight bytes are read where a state is; the host reads what a state has.
static part *parts_of(zf_block_view *view, bool pages, uint64_t *offsets, uint32_t *count) {
    const zf_shape *shape = view->shape;
    uint32_t most = shape->stored_count, fields = 0;
    for (uint32_t t = 0; t < shape->tree_count; t++) most += shape->trees[t].field_count;
    part *parts = calloc(most + 1u, sizeof *parts);
    *count = 0;
    for (uint32_t s = 0; s < shape->stored_count; s++) {
        zf_stream_view *stream = &view->streams[s];
        parts[(*count)++] = (part){&stream->offset, stream->offset, stream->bytes, READ_BEHIND, 8};
    }
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        zf_seek_view *seek = &view->seeks[t];
        for (uint32_t f = 0; f < shape->trees[t].field_count; f++) {
            uint64_t *offset = &offsets[fields + f];
            parts[(*count)++] = (part){offset, seek->offsets[f], seek->entries * seek->widths[f], pages ? 0 : READ_BEHIND, 1};
        }
        seek->offsets = offsets + fields;
        fields += shape->trees[t].field_count;
    }
    return parts;
}

static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

void diff_spread_make(zf_block_view *view, bool pages, uint8_t between, diff_spread *out) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = pages ? page : ALIGN, fields = 0;
    for (uint32_t t = 0; t < view->shape->tree_count; t++) fields += view->shape->trees[t].field_count;
    uint32_t count;
    *out = (diff_spread){.offsets = calloc(fields + 1, sizeof(uint64_t))};
    part *parts = parts_of(view, pages, out->offsets, &count);
    out->holes = calloc(count + 1u, sizeof *out->holes);
    for (uint32_t p = 0; p < count; p++) {
        uint64_t size = parts[p].bytes + parts[p].readable;
        if (pages) { // its pages, then one that nobody may touch
            uint64_t end = at + up(size, page);
            *parts[p].offset = (end - size) / parts[p].align * parts[p].align;
            at = end + page;
        } else {
            *parts[p].offset = up(at, ALIGN);
            out->holes[p] = (zf_emu_hole){p == 0 ? 0 : out->holes[p].begin, *parts[p].offset};
            out->holes[p + 1].begin = *parts[p].offset + size;
            at = *parts[p].offset + size + ALIGN;
        }
    }
    out->mapped = up(at, page);
    out->holes[count].end = out->mapped;
    out->hole_count = pages ? 0 : count + 1;
    out->map = mmap(NULL, out->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out->map == MAP_FAILED) abort();
    memset(out->map, between, out->mapped);
    for (uint32_t p = 0; p < count; p++) memcpy(out->map + *parts[p].offset, view->base + parts[p].from, parts[p].bytes);
    mprotect(out->map, out->mapped, PROT_READ);
    if (pages) mprotect(out->map, page, PROT_NONE);
    for (uint32_t p = 0; pages && p < count; p++) {
        uint64_t end = up(*parts[p].offset + parts[p].bytes + parts[p].readable, page);
        mprotect(out->map + end, page, PROT_NONE);
    }
    view->base = out->map;
    view->bytes = out->mapped;
    free(parts);
}

void diff_spread_free(diff_spread *spread) {
    if (spread->map != NULL) munmap(spread->map, spread->mapped);
    free(spread->offsets);
    free(spread->holes);
    *spread = (diff_spread){0};
}
