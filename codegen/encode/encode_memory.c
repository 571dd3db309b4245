// Memory of frames: large pieces are mapped, and kept in a pool for the next one, since the system clears every page that it
// gives.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codegen/encode/encode_support.h"

enum {
    ALIGNMENT = 64,
    HUGE_PAGE = 2 << 20, ///< bytes; where pages have another size it is only an alignment
    LARGE = HUGE_PAGE,   ///< pieces of so many bytes are mapped
    IDLE_MOST = 48 << 20,
    PIECE_MOST = 20 << 20, ///< larger ones, which blocks of long texts have, are not kept
};

/// In front of every piece.
struct zf_encode_block {
    _Alignas(ALIGNMENT) zf_encode_block *next;
    uint64_t mapped; ///< bytes of the mapping that this begins; 0: it is from aligned_alloc
    bool used;       ///< it may have bytes other than 0
};

/// Rounds bytes up to whole pages, which have 4 KiB, or 64 KiB on some machines with AArch64.
static uint64_t whole_pages(uint64_t bytes) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/// Maps a large piece, in huge pages where the system has them: with small ones, encoding would spend its time on page faults and
/// misses of the TLB. NULL on failure.
static zf_encode_block *map_large(uint64_t bytes) {
    if (bytes > SIZE_MAX - 2 * (uint64_t)HUGE_PAGE) return NULL;
    uint64_t wanted = whole_pages(bytes), whole = wanted + HUGE_PAGE;
    uint8_t *start = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    uint64_t before = (HUGE_PAGE - (uintptr_t)start % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) munmap(start, before);
    if (before < HUGE_PAGE) munmap(start + before + wanted, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(start + before, wanted, MADV_HUGEPAGE); // the system may ignore it: code is then slower
#endif
    zf_encode_block *block = (zf_encode_block *)(void *)(start + before);
    block->mapped = wanted;
    block->used = false;
    return block;
}

static void free_block(zf_encode_block *block) {
    if (block->mapped > 0)
        munmap(block, block->mapped);
    else
        free(block);
}

/// Takes the smallest idle piece of at least so many bytes, unless it has far more.
static zf_encode_block *take_idle(zf_encode_pool *pool, uint64_t bytes) {
    zf_encode_block **best = NULL;
    for (zf_encode_block **at = &pool->idle; *at != NULL; at = &(*at)->next) {
        if ((*at)->mapped >= bytes && (best == NULL || (*at)->mapped < (*best)->mapped)) best = at;
    }
    if (best == NULL || (*best)->mapped / 4 > bytes) return NULL;
    zf_encode_block *block = *best;
    *best = block->next;
    pool->idle_bytes -= block->mapped;
    block->used = true;
    return block;
}

/// A piece with room for so many bytes behind its head; NULL on failure.
static zf_encode_block *take_block(zf_encode_pool *pool, uint64_t bytes) {
    zf_encode_block *block = NULL;
    if (bytes >= UINT64_MAX / 2) return NULL;
    bytes += sizeof *block;
    if (bytes < LARGE) {
        block = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        if (block != NULL) *block = (zf_encode_block){.used = true};
        return block;
    }
    if (bytes > PIECE_MOST) zf_encode_pool_trim(pool, 0); // long texts: what is idle would come on top
    if (pool != NULL) block = take_idle(pool, bytes);
    return block != NULL ? block : map_large(bytes);
}

/// Keeps a piece for the next one, or frees it.
static void give_block(zf_encode_pool *pool, zf_encode_block *block) {
    if (pool == NULL || block->mapped == 0 || block->mapped > PIECE_MOST) {
        free_block(block);
        return;
    }
    block->next = pool->idle;
    pool->idle = block;
    pool->idle_bytes += block->mapped;
    zf_encode_pool_trim(pool, IDLE_MOST);
}

void *zf_encode_pool_grow(zf_encode_pool *pool, void *memory, uint64_t used, uint64_t bytes) {
    zf_encode_block *block = memory != NULL ? (zf_encode_block *)memory - 1 : NULL;
    if (block != NULL && block->mapped > 0 && bytes < UINT64_MAX / 2) {
        uint64_t wanted = whole_pages(sizeof *block + bytes);
        if (wanted <= block->mapped) return memory;
        zf_encode_block *larger = mremap(block, block->mapped, wanted, MREMAP_MAYMOVE);
        if (larger == MAP_FAILED) return NULL;
        larger->mapped = wanted;
        return larger + 1;
    }
    void *larger = zf_encode_pool_take(pool, bytes);
    if (larger == NULL) return NULL;
    if (used > 0) memcpy(larger, memory, used);
    zf_encode_pool_give(pool, memory);
    return larger;
}

void zf_encode_pool_shrink(void *memory, uint64_t bytes) {
    enum { WORTH = 2 * HUGE_PAGE };
    zf_encode_block *block = (zf_encode_block *)memory - 1;
    uint64_t kept = whole_pages(sizeof *block + bytes);
    if (block->mapped < kept + WORTH) return;
    if (munmap((uint8_t *)block + kept, block->mapped - kept) == 0) block->mapped = kept;
}

void zf_encode_pool_trim(zf_encode_pool *pool, uint64_t most) {
    while (pool != NULL && pool->idle_bytes > most) { // the least recently used piece first
        zf_encode_block **last = &pool->idle;
        while ((*last)->next != NULL) last = &(*last)->next;
        pool->idle_bytes -= (*last)->mapped;
        free_block(*last);
        *last = NULL;
    }
}

void *zf_encode_pool_take(zf_encode_pool *pool, uint64_t bytes) {
    zf_encode_block *block = take_block(pool, bytes);
    return block != NULL ? block + 1 : NULL;
}

void zf_encode_pool_give(zf_encode_pool *pool, void *memory) {
    if (memory != NULL) give_block(pool, (zf_encode_block *)memory - 1);
}

void zf_encode_pool_empty(zf_encode_pool *pool) { zf_encode_pool_trim(pool, 0); }

// ---- Frames ---------------------------------------------------------------------------------------------------

void *zf_encode_alloc(zf_encode_frame *frame, uint64_t bytes) {
    if (bytes > frame->bytes_left) {
        frame->outcome = ZF_ENCODE_LIMIT;
        return NULL;
    }
    zf_encode_block *block = take_block(frame->pool, bytes);
    if (block == NULL) {
        frame->outcome = ZF_ENCODE_MEMORY;
        return NULL;
    }
    frame->bytes_left -= bytes;
    block->next = frame->garbage;
    frame->garbage = block;
    return block + 1;
}

void *zf_encode_alloc_zeroed(zf_encode_frame *frame, uint64_t bytes) {
    void *memory = zf_encode_alloc(frame, bytes);
    if (memory != NULL && ((zf_encode_block *)memory - 1)->used) memset(memory, 0, bytes);
    return memory;
}

void *zf_encode_scratch(zf_encode_frame *frame, uint64_t bytes) {
    void *memory = bytes > frame->bytes_left ? NULL : malloc(bytes + 1);
    if (memory == NULL) frame->outcome = bytes > frame->bytes_left ? ZF_ENCODE_LIMIT : ZF_ENCODE_MEMORY;
    return memory;
}

/// Whether memory is that of a buffer now.
static bool has_memory(const zf_encode_buffer *buffer, const void *memory) {
    const void *parts[] = {buffer->data, buffer->validity, buffer->text, buffer->starts, buffer->parts};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (parts[k] == memory) return true;
    }
    return false;
}

void zf_encode_clear_but(zf_encode_frame *frame, const zf_encode_buffer *const *kept, uint32_t count) {
    zf_encode_block **at = &frame->garbage;
    while (*at != NULL) {
        zf_encode_block *block = *at;
        bool keep = false;
        for (uint32_t k = 0; k < count && !keep; k++) keep = has_memory(kept[k], block + 1);
        if (keep) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        give_block(frame->pool, block);
    }
}

void zf_encode_clear(zf_encode_frame *frame) { zf_encode_clear_but(frame, NULL, 0); }
