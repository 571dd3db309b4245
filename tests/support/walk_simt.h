// The codecs of walk_codec.h for accelerators: kernels as the emulated GPU runs them, and a provider that gives them.
#ifndef ZF_TESTS_WALK_SIMT_H
#define ZF_TESTS_WALK_SIMT_H

#include "emulator/emu.h"
#include "tests/support/walk_codec.h"

enum { SIMT_THREADS = 64 };

/// The tile that a thread block works on: its block's descriptor, and its number in the block.
typedef struct simt_tile {
    const uint64_t *words; ///< after the head: slots, then offsets of work buffers
    uint64_t number;
    bool exists;
} simt_tile;

static inline uint64_t simt_word(void *thread, const uint64_t *at) {
    zf_emu_check(thread, at, 8, 8, ZF_EMU_LOAD, 1);
    return *at;
}

/// Tile `k` of the thread block; `words` a descriptor; `sink`: the kernel fills a work buffer.
static inline simt_tile simt_find(void *thread, const uint64_t *blocks, const uint32_t *first, uint32_t block_count,
                                  uint32_t even, uint32_t tiles, uint32_t k, uint32_t words, bool sink) {
    uint64_t tile = (uint64_t)zf_emu_group(thread) * tiles + k;
    zf_emu_check(thread, first + block_count, 4, 4, ZF_EMU_LOAD, 2);
    if (tile >= first[block_count]) return (simt_tile){.exists = false};
    uint32_t block = even != 0 ? (uint32_t)(tile / even) : 0;
    while (even == 0 && tile >= first[block + 1]) block++;
    zf_emu_check(thread, first + block, 8, 4, ZF_EMU_LOAD, 3);
    if (tile < first[block] || tile >= first[block + 1]) block = UINT32_MAX; // `even` lies: the descriptor is nowhere
    const uint64_t *row = blocks + (uint64_t)block * words;
    uint64_t number = tile - first[block];
    if (!sink) number += simt_word(thread, row + ZF_SIMT_FIRST_TILE);
    return (simt_tile){row, number, true};
}

static inline void simt_fail(void *thread, uint64_t *failure, const uint64_t *blocks, const simt_tile *tile, uint32_t words,
                             uint64_t position, uint64_t check) {
    zf_emu_check(thread, failure, 8, 8, ZF_EMU_ATOMIC, 4);
    uint64_t word = (uint64_t)(tile->words - blocks) / words << 48 | position << 16 | check;
    uint64_t least = __atomic_load_n(failure, __ATOMIC_RELAXED);
    while (word < least && !__atomic_compare_exchange_n(failure, &least, word, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static inline uint64_t simt_state(void *thread, const uint8_t *block, const uint64_t *slots, uint64_t tile) {
    uint64_t width = slots[4], value = 0;
    if (tile == 0) return 0;
    const uint8_t *at = block + slots[3] + (tile - 1) * width;
    if (width != 0) zf_emu_check(thread, at, (uint32_t)width, (uint32_t)width, ZF_EMU_LOAD, 5);
    memcpy(&value, at, width);
    return value;
}

/// "walk": a tile a thread block, the sum of a tile through shared memory.
static inline void simt_walk_tile(void *thread, const uint8_t *base, const uint64_t *blocks, const simt_tile *tile,
                                  const uint8_t *values, uint32_t words, uint8_t *out, uint64_t *failure) {
    const uint64_t *row = tile->words, *slots = row + ZF_SIMT_HEAD;
    const uint8_t *block = base + row[ZF_SIMT_BASE] * 256;
    uint64_t count = slots[1], first = tile->number * WALK_INTERVAL, *sums = zf_emu_shared(thread, 0, 0), sum = 0;
    uint32_t number = zf_emu_thread(thread);
    for (uint64_t i = first + number; i < first + WALK_INTERVAL && i < count; i += SIMT_THREADS) {
        uint32_t value;
        zf_emu_check(thread, values + i * 4, 4, 4, ZF_EMU_LOAD, 6);
        memcpy(&value, values + i * 4, 4);
        value += (uint32_t)slots[2];
        sum += value;
        if (i < row[ZF_SIMT_ROW_BEGIN] || i >= row[ZF_SIMT_ROW_END]) continue;
        uint8_t *to = (uint8_t *)((uintptr_t)out + row[ZF_SIMT_OUT] + i * 4);
        zf_emu_check(thread, to, 4, 4, ZF_EMU_STORE, 7);
        memcpy(to, &value, 4);
    }
    zf_emu_check(thread, &sums[number], 8, 8, ZF_EMU_STORE, 8);
    sums[number] = sum;
    zf_emu_barrier(thread, 1, 9);
    if (number == 0) {
        sum = simt_state(thread, block, slots, tile->number);
        zf_emu_check(thread, sums, 8 * SIMT_THREADS, 8, ZF_EMU_LOAD, 10);
        for (uint32_t i = 0; i < SIMT_THREADS; i++) sum += sums[i];
        bool last = first + WALK_INTERVAL >= count;
        if (!last && simt_state(thread, block, slots, tile->number + 1) != sum)
            simt_fail(thread, failure, blocks, tile, words, first, 0);
    }
    zf_emu_barrier(thread, 2, 11);
}

#define SIMT_ARGS                                                                                                                \
    void *thread, const uint8_t *base, const uint64_t *blocks, const uint32_t *first, const uint8_t *work, uint8_t *out,         \
        uint8_t *validity, int64_t *offsets, uint64_t *failure, uint32_t block_count, uint32_t even

enum { STORED_WORDS = ZF_SIMT_HEAD + 7, WORK_WORDS = ZF_SIMT_HEAD + 8, BITS_WORDS = ZF_SIMT_HEAD + 2 };

static inline void simt_walk_stored(SIMT_ARGS) {
    (void)work, (void)validity, (void)offsets;
    for (uint32_t k = 0; k < 3; k++) { // three tiles a thread block
        simt_tile tile = simt_find(thread, blocks, first, block_count, even, 3, k, STORED_WORDS, false);
        if (!tile.exists) return;
        const uint8_t *values = base + tile.words[ZF_SIMT_BASE] * 256 + tile.words[ZF_SIMT_HEAD];
        simt_walk_tile(thread, base, blocks, &tile, values, STORED_WORDS, out, failure);
    }
}

static inline void simt_walk_materialised(SIMT_ARGS) {
    (void)validity, (void)offsets;
    simt_tile tile = simt_find(thread, blocks, first, block_count, even, 1, 0, WORK_WORDS, false);
    if (!tile.exists) return;
    const uint8_t *values = work + tile.words[ZF_SIMT_HEAD + 7];
    simt_walk_tile(thread, base, blocks, &tile, values, WORK_WORDS, out, failure);
}

static inline void simt_double(SIMT_ARGS) {
    (void)work, (void)validity, (void)offsets, (void)failure;
    simt_tile tile = simt_find(thread, blocks, first, block_count, even, 1, 0, WORK_WORDS, true);
    if (!tile.exists) return;
    const uint64_t *slots = tile.words + ZF_SIMT_HEAD;
    const uint8_t *halves = base + tile.words[ZF_SIMT_BASE] * 256 + slots[0];
    for (uint64_t i = tile.number * 1024 + zf_emu_thread(thread); i < (tile.number + 1) * 1024 && i < slots[1];
         i += SIMT_THREADS) {
        uint32_t value;
        uint8_t *to = out + slots[7] + i * 4;
        zf_emu_check(thread, halves + i * 4, 4, 4, ZF_EMU_LOAD, 20);
        memcpy(&value, halves + i * 4, 4);
        value *= 2;
        zf_emu_check(thread, to, 4, 4, ZF_EMU_STORE, 21);
        memcpy(to, &value, 4);
    }
}

static inline void simt_bits(SIMT_ARGS) {
    (void)work, (void)validity, (void)offsets, (void)failure;
    simt_tile tile = simt_find(thread, blocks, first, block_count, even, 1, 0, BITS_WORDS, false);
    if (!tile.exists) return;
    const uint64_t *slots = tile.words + ZF_SIMT_HEAD;
    const uint8_t *packed = base + tile.words[ZF_SIMT_BASE] * 256 + slots[0];
    uint64_t bytes = (slots[1] + 7) / 8;
    for (uint64_t i = tile.number * 128 + zf_emu_thread(thread); i < (tile.number + 1) * 128 && i < bytes; i += SIMT_THREADS) {
        uint8_t *to = out + tile.words[ZF_SIMT_OUT] + i;
        zf_emu_check(thread, packed + i, 1, 1, ZF_EMU_LOAD, 30);
        uint8_t byte = packed[i];
        if (i + 1 == bytes && slots[1] % 8 != 0) byte &= (uint8_t)((1u << (slots[1] % 8)) - 1);
        zf_emu_check(thread, to, 1, 1, ZF_EMU_STORE, 31);
        *to = byte;
    }
}

static const zf_abi_simt_kernel simt_kernels[3][2] = {
    {{.name = "walk",
      .threads = SIMT_THREADS,
      .warp = 32,
      .tiles = 3,
      .emulated = simt_walk_stored,
      .shared_bytes = 8 * SIMT_THREADS}},
    {{.name = "double", .threads = SIMT_THREADS, .warp = 32, .tiles = 1, .emulated = simt_double},
     {.name = "walk",
      .threads = SIMT_THREADS,
      .warp = 32,
      .tiles = 1,
      .emulated = simt_walk_materialised,
      .shared_bytes = 8 * SIMT_THREADS}},
    {{.name = "bits", .threads = SIMT_THREADS, .warp = 32, .tiles = 1, .emulated = simt_bits}},
};
static const zf_abi_code simt_codes[3] = {{.simt = simt_kernels[0]}, {.simt = simt_kernels[1]}, {.simt = simt_kernels[2]}};
/// For targets that are not the host the same plans are used under other addresses, so that their code is told apart.
static zf_abi_plan simt_plans[3];

static inline zf_status simt_plan(void *self, zf_container *container, size_t column, const uint8_t *branches, size_t count,
                                  zf_abi_device device, const zf_abi_plan **out, zf_error *error) {
    zf_status status = walk_plan(self, container, column, branches, count, device, out, error);
    if (status == ZF_OK && device.target.family != ZF_TARGET_HOST) *out = &simt_plans[*out - walk_plans];
    return status;
}

static inline zf_status simt_code(void *self, const zf_abi_plan *plan, const uint64_t *shaping, const zf_abi_code **out,
                                  zf_error *error) {
    if (plan < simt_plans || plan >= simt_plans + 3) return walk_code(self, plan, shaping, out, error);
    *out = &simt_codes[plan - simt_plans];
    return ZF_OK;
}

static inline zf_abi_provider simt_provider(void) {
    memcpy(simt_plans, walk_plans, sizeof simt_plans);
    return (zf_abi_provider){.plan = simt_plan, .code = simt_code, .forget = walk_forget};
}

#endif
