// Blocks made by hand, for tests of kernels: every stream, every output and every array of seek states ends where readable (or
// writable) memory ends, so that a kernel which goes further dies at once.
#ifndef ZF_TESTS_KERNEL_BLOCK_H
#define ZF_TESTS_KERNEL_BLOCK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/decoder/decoder.h"
#include "runtime/decode/block_check.h"

enum { KB_PADDING = 16, KB_STREAMS = 16, KB_PARAMS = 16, KB_EDGES = 16, KB_TREES = 4, KB_FIELDS = 8 };

/// Memory whose last byte is followed by a page that nobody may touch.
typedef struct kb_memory {
    void *map;
    size_t mapped;
    uint8_t *data;
} kb_memory;

enum { KB_KEPT = 8, KB_KEPT_BYTES = 1 << 20 };

/// Small memory that was released, to be used again: tests of ranges take a few pages half a million times, and the kernel's
/// calls and page faults took most of their time.
static _Thread_local struct {
    kb_memory of[KB_KEPT];
    unsigned next;
} kb_kept;

static inline kb_memory kb_mapped(size_t mapped, size_t page) {
    for (unsigned k = 0; k < KB_KEPT; k++) {
        kb_memory m = kb_kept.of[k];
        if (m.map == NULL || m.mapped != mapped) continue;
        kb_kept.of[k].map = NULL;
        return m;
    }
    kb_memory m = {.mapped = mapped};
    m.map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m.map == MAP_FAILED || mprotect((uint8_t *)m.map + mapped - page, page, PROT_NONE) != 0) abort();
    return m;
}

static inline kb_memory kb_guarded(size_t bytes, size_t align) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = bytes / page + 2;
    kb_memory m = kb_mapped((pages + 1) * page, page);
    uint8_t *end = (uint8_t *)m.map + pages * page;
    m.data = (uint8_t *)((uintptr_t)(end - bytes) & ~(uintptr_t)(align - 1));
    memset(m.map, 0xa5, pages * page);
    return m;
}

static inline void kb_release(kb_memory *m) {
    if (m->map != NULL && m->mapped <= KB_KEPT_BYTES) {
        kb_memory *kept = &kb_kept.of[kb_kept.next++ % KB_KEPT], old = *kept;
        *kept = *m;
        *m = old;
    }
    if (m->map != NULL) munmap(m->map, m->mapped);
    *m = (kb_memory){0};
}

typedef struct kb_block {
    zf_decoder *decoder;
    uint64_t params[KB_PARAMS], counts[KB_EDGES];
    kb_memory streams[KB_STREAMS], fields[KB_TREES][KB_FIELDS];
    uint8_t widths[KB_TREES][KB_FIELDS];
    uint64_t *records[KB_TREES];
} kb_block;

static inline int kb_edge(const kb_block *b, const char *path) {
    for (uint32_t e = 0; e < b->decoder->graph->edge_count; e++) {
        if (strcmp(b->decoder->graph->edges[e].path, path) == 0) return (int)e;
    }
    printf("no edge %s\n", path);
    abort();
}

/// Elements of an edge; of the column: "".
static inline void kb_count(kb_block *b, const char *path, uint64_t count) { b->counts[kb_edge(b, path)] = count; }

static inline void kb_param(kb_block *b, const char *path, uint64_t value) {
    for (uint32_t p = 0; p < b->decoder->shape.param_count; p++) {
        if (strcmp(b->decoder->shape.params[p].path, path) == 0) {
            b->params[p] = value;
            return;
        }
    }
    printf("no param %s\n", path);
    abort();
}

/// A stored stream of `elements` elements in `bytes` bytes.
static inline void kb_stream(kb_block *b, const char *path, const void *data, uint64_t bytes, uint64_t elements) {
    int edge = kb_edge(b, path), stored = b->decoder->graph->edges[edge].stored;
    kb_release(&b->streams[stored]);
    b->streams[stored] = kb_guarded(bytes + KB_PADDING, 8);
    if (bytes > 0) memcpy(b->streams[stored].data, data, bytes);
    b->counts[edge] = elements;
}

/// Packs values of `width` bits as a stream of words.
static inline void kb_bits(kb_block *b, const char *path, const uint64_t *values, uint64_t count, unsigned width, unsigned word) {
    uint64_t words = (count * width + 8 * word - 1) / (8 * word);
    uint8_t *bytes = calloc(words * word + 16, 1);
    for (uint64_t k = 0; k < count; k++) {
        for (unsigned bit = 0; bit < width; bit++) {
            uint64_t at = k * width + bit;
            if (values[k] >> bit & 1) bytes[at / 8] |= (uint8_t)(1u << (at % 8));
        }
    }
    kb_stream(b, path, bytes, words * word, words);
    free(bytes);
}

static inline void kb_free(kb_block *b) {
    for (int s = 0; s < KB_STREAMS; s++) kb_release(&b->streams[s]);
    for (int t = 0; t < KB_TREES; t++) {
        for (int f = 0; f < KB_FIELDS; f++) kb_release(&b->fields[t][f]);
        free(b->records[t]);
    }
}

static inline uint64_t kb_tiles(const kb_block *b, const zf_abi_kernel *kernel) {
    uint64_t count = b->counts[kernel->edge];
    return count == 0 ? 1 : (count - 1) / kernel->tile + 1;
}

/// The states that were recorded become the block's, in as few bytes as hold them.
static inline void kb_keep_records(kb_block *b) {
    const zf_plan *plan = b->decoder->plan;
    for (uint32_t t = 0; t < plan->tree_count; t++) {
        const zf_abi_kernel *kernel = NULL;
        for (uint32_t k = 0; k < plan->kernel_count; k++) {
            if (b->decoder->abi.kernels[k].tree == (int32_t)t) kernel = &b->decoder->abi.kernels[k];
        }
        uint64_t entries = kb_tiles(b, kernel) - 1;
        for (uint32_t f = 0; f < plan->trees[t].field_count; f++) {
            const uint64_t *from = b->records[t] + f * entries;
            uint64_t all = 0;
            for (uint64_t e = 0; e < entries; e++) all |= from[e];
            unsigned width = all == 0 ? 0 : all >> 8 == 0 ? 1 : all >> 16 == 0 ? 2 : all >> 32 == 0 ? 4 : 8;
            b->widths[t][f] = (uint8_t)width;
            kb_release(&b->fields[t][f]);
            b->fields[t][f] = kb_guarded(entries * width, 1);
            for (uint64_t e = 0; e < entries; e++) memcpy(b->fields[t][f].data + e * width, &from[e], width);
        }
    }
}

static inline uint64_t kb_slot(const kb_block *b, const zf_abi_slot *slot, const uint8_t *base) {
    switch (slot->kind) {
    case ZF_SLOT_PARAM: return b->params[slot->a];
    case ZF_SLOT_OFFSET: return (uint64_t)(b->streams[slot->a].data - base);
    case ZF_SLOT_COUNT: return b->counts[slot->a];
    case ZF_SLOT_SEEK_OFFSET: return (uint64_t)(b->fields[slot->a][slot->b].data - base);
    case ZF_SLOT_SEEK_WIDTH: return b->widths[slot->a][slot->b];
    case ZF_SLOT_CHARACTERS:
    case ZF_SLOT_CHUNKS: break; // strings and uneven chunks have no place here
    }
    return 0;
}

static inline size_t kb_bytes(unsigned element, uint64_t count) { return element == 0 ? (count + 7) / 8 : element * count; }

/// Runs the block: the checks of the whole block, every kernel but the last whole, the last one tile by tile, from the last tile
/// to the first, each into memory that ends with it; RECORD: in order, into one piece. `out` gets the elements. Returns the
/// failure word.
static inline uint64_t kb_run(kb_block *b, const zf_abi_code *code, zf_abi_mode mode, void *out, unsigned element) {
    const zf_plan *plan = b->decoder->plan;
    uint64_t slots[64], failure = ZF_ABI_NO_FAILURE;
    static _Alignas(256) const uint8_t base[256];
    void *work[KB_STREAMS];
    kb_memory memory[KB_STREAMS] = {{0}};
    if (plan->slot_count > 64) abort();
    for (uint32_t s = 0; s < plan->slot_count; s++) slots[s] = kb_slot(b, &plan->slots[s], base);
    for (uint32_t w = 0; w < plan->work_count; w++) {
        const zf_abi_work *at = &b->decoder->abi.works[w];
        memory[w] = kb_guarded(kb_bytes(at->element, b->counts[at->edge] + at->extra) + KB_PADDING, 64);
        work[w] = memory[w].data;
    }
    zf_abi_args args = {.base = base, .slots = slots, .work = work, .failure = &failure, .mode = (uint32_t)mode};
    uint32_t failed = zf_block_check_run(&b->decoder->abi.block_checks, slots);
    if (failed != ZF_CHECKS_HOLD) failure = failed;
    for (uint32_t k = 0; k < plan->kernel_count && failure == ZF_ABI_NO_FAILURE; k++) {
        const zf_abi_kernel *kernel = &b->decoder->abi.kernels[k];
        args.tiles = kb_tiles(b, kernel);
        if (mode == ZF_ABI_RECORD && kernel->tree >= 0) {
            free(b->records[kernel->tree]);
            b->records[kernel->tree] = calloc(args.tiles * KB_FIELDS, sizeof(uint64_t));
            args.record = b->records[kernel->tree];
        }
        if (kernel->sink >= 0) {
            args.out = work[kernel->sink];
            code->kernels[k](&args, 0, args.tiles);
            continue;
        }
        uint64_t count = b->counts[kernel->edge], step = mode == ZF_ABI_RECORD ? args.tiles : 1;
        for (uint64_t t = args.tiles; t > 0; t -= step) {
            uint64_t begin = t - step, lo = begin * kernel->tile, hi = t * kernel->tile < count ? t * kernel->tile : count;
            kb_memory to = kb_guarded(kb_bytes(element, hi - lo), element == 0 ? 1 : element);
            args.out = (uint8_t *)((uintptr_t)to.data - kb_bytes(element, lo));
            code->kernels[k](&args, begin, t);
            if (out != NULL) memcpy((uint8_t *)out + kb_bytes(element, lo), to.data, kb_bytes(element, hi - lo));
            kb_release(&to);
        }
    }
    for (uint32_t w = 0; w < plan->work_count; w++) kb_release(&memory[w]);
    return failure;
}

#endif
