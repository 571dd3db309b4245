#include "tests/differential/diff_spread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/container/container_format.h"

enum { READ_BEHIND = 16, ALIGN = 256 };

typedef struct diff_spread_part {
    uint64_t *offset; // from the base: the old one until it is moved
    uint64_t from, bytes;
    uint64_t readable; // bytes behind it
    uint64_t align;
    uint64_t at; // where it is moved
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
        parts[(*count)++] = (part){&stream->offset, stream->offset, stream->bytes, READ_BEHIND, 8, 0};
    }
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        zf_seek_view *seek = &view->seeks[t];
        for (uint32_t f = 0; f < shape->trees[t].field_count; f++) {
            uint64_t *offset = &offsets[fields + f];
            parts[(*count)++] = (part){offset, seek->offsets[f], seek->entries * seek->widths[f], pages ? 0 : READ_BEHIND, 1, 0};
        }
        seek->offsets = offsets + fields;
        fields += shape->trees[t].field_count;
    }
    return parts;
}

static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Lays the parts out; gives the bytes of all.
static uint64_t lay(diff_spread *out, uint64_t page) {
    uint64_t at = out->pages ? page : ALIGN;
    for (uint32_t p = 0; p < out->count; p++) {
        part *moved = &out->parts[p];
        uint64_t size = moved->bytes + moved->readable;
        if (out->pages) { // its pages, then one that nobody may touch
            uint64_t end = at + up(size, page);
            moved->at = (end - size) / moved->align * moved->align;
            at = end + page;
        } else {
            moved->at = up(at, ALIGN);
            out->holes[p] = (zf_emu_hole){p == 0 ? 0 : out->holes[p].begin, moved->at};
            out->holes[p + 1].begin = moved->at + size;
            at = moved->at + size + ALIGN;
        }
        *moved->offset = moved->at;
    }
    return up(at, page);
}

static void fill(diff_spread *out, const uint8_t *base, uint64_t page) {
    out->map = mmap(NULL, out->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out->map == MAP_FAILED) abort();
    memset(out->map, out->between, out->mapped);
    for (uint32_t p = 0; p < out->count; p++) memcpy(out->map + out->parts[p].at, base + out->parts[p].from, out->parts[p].bytes);
    mprotect(out->map, out->mapped, PROT_READ);
    if (out->pages) mprotect(out->map, page, PROT_NONE);
    for (uint32_t p = 0; out->pages && p < out->count; p++) {
        uint64_t end = up(out->parts[p].at + out->parts[p].bytes + out->parts[p].readable, page);
        mprotect(out->map + end, page, PROT_NONE);
    }
}

// The copies before, with pages and without. A block is run in many ranges, and the kernel's calls took most of their time.
static _Thread_local diff_spread kept[2];

static bool is_same(const diff_spread *old, const diff_spread *new, const uint8_t *base) {
    bool same = old->map != NULL && old->mapped == new->mapped && old->between == new->between && old->count == new->count;
    for (uint32_t p = 0; p < new->count &&same; p++) {
        const part *a = &old->parts[p], *b = &new->parts[p];
        same = a->at == b->at && a->bytes == b->bytes && a->readable == b->readable &&
               memcmp(old->map + a->at, base + b->from, b->bytes) == 0;
    }
    return same;
}

static void drop(diff_spread *spread) {
    if (spread->map != NULL) munmap(spread->map, spread->mapped);
    free(spread->parts);
    free(spread->offsets);
    free(spread->holes);
    *spread = (diff_spread){0};
}

void diff_spread_make(zf_block_view *view, bool pages, uint8_t between, diff_spread *out) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), fields = 0;
    for (uint32_t t = 0; t < view->shape->tree_count; t++) fields += view->shape->trees[t].field_count;
    *out = (diff_spread){.offsets = calloc(fields + 1, sizeof(uint64_t)), .pages = pages, .between = between};
    out->parts = parts_of(view, pages, out->offsets, &out->count);
    out->holes = calloc(out->count + 1u, sizeof *out->holes);
    out->mapped = lay(out, page);
    out->holes[out->count].end = out->mapped;
    out->hole_count = pages ? 0 : out->count + 1;
    if (is_same(&kept[pages], out, view->base)) {
        out->map = kept[pages].map;
        kept[pages].map = NULL;
    } else {
        fill(out, view->base, page);
    }
    view->base = out->map;
    view->bytes = out->mapped;
}

void diff_spread_free(diff_spread *spread) {
    drop(&kept[spread->pages]);
    kept[spread->pages] = *spread;
    *spread = (diff_spread){0};
}
