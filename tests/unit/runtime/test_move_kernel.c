// Links: zipflow-runtime
// The text of the kernel that moves bits, run on the host: it gives the same bits as a loop over them, reads no byte of the
// source without a bit of its run, and leaves the other bits of the destination.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

// In place of nvptx.h.
#define ZF_RUNTIME_NVPTX_H
#define KERNEL static
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

enum { SOURCE = 600, PLACES = 900 };

static u32 current_thread, current_block, current_row, blocks;
static uint32_t source_words[SOURCE / 4];
static uint64_t known_begin, known_end; ///< bytes of the source
static unsigned strays;

static inline u32 thread_number(void) { return current_thread; }
static inline u32 block_number(void) { return current_block; }
static inline u32 block_row(void) { return current_row; }
static inline u32 grid_width(void) { return blocks; }

static void look(const void *at, uint64_t bytes) {
    uint64_t place = (uint64_t)((const uint8_t *)at - (const uint8_t *)source_words);
    strays += place < known_begin || place + bytes > known_end;
}

static u32 load_word(const u32 *at) {
    look(at, 4);
    return *at;
}

static u8 load_byte(const u8 *at) {
    look(at, 1);
    return *at;
}

#include "runtime/device/cuda/kernels/move_bits.c"

static unsigned bit_of(const uint8_t *bits, uint64_t at) { return bits[at / 8] >> at % 8 & 1u; }

static void set_bit(uint8_t *bits, uint64_t at, unsigned value) {
    bits[at / 8] = (uint8_t)((bits[at / 8] & ~(1u << at % 8)) | value << at % 8);
}

static void check_run(run of, uint8_t ground) {
    static uint32_t to[PLACES / 4], expected[PLACES / 4];
    uint8_t *bits = (uint8_t *)expected;
    const uint8_t *source = (const uint8_t *)source_words;
    memset(to, ground, sizeof to);
    memset(expected, ground, sizeof expected);
    for (uint64_t k = 0; k < of.bits; k++) set_bit(bits, of.to + k, bit_of(source, of.from + k));
    for (uint64_t k = 0; k < of.cleared; k++) set_bit(bits, of.to + of.bits + k, 0);
    known_begin = of.from / 8;
    known_end = (of.from + of.bits + 7) / 8;
    strays = 0;
    for (current_block = 0; current_block < blocks; current_block++) {
        for (current_thread = 0; current_thread < THREADS; current_thread++) zf_move_bits(&of, source_words, to);
    }
    CHECK(memcmp(to, expected, sizeof to) == 0, "%llu bits from %llu to %llu, %llu cleared: other bits",
          (unsigned long long)of.bits, (unsigned long long)of.from, (unsigned long long)of.to, (unsigned long long)of.cleared);
    CHECK(strays == 0, "%llu bits from %llu to %llu: %u reads of bytes without a bit", (unsigned long long)of.bits,
          (unsigned long long)of.from, (unsigned long long)of.to, strays);
}

int main(void) {
    static const uint64_t lengths[] = {0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 96, 200, 4097};
    static const uint64_t cleared[] = {0, 1, 31, 40};
    for (unsigned k = 0; k < SOURCE; k++) ((uint8_t *)source_words)[k] = (uint8_t)(k * 167 + (k >> 5));
    unsigned turn = 0;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (uint64_t from = 0; from < 40; from += l % 3 + 1) {
            for (uint64_t to = 0; to < 36; to++) {
                blocks = turn % 2 + 1;
                check_run((run){.from = from, .to = to, .bits = lengths[l], .cleared = cleared[turn % 4]},
                          turn % 3 == 0 ? 0xff : 0x00);
                turn += turn % 7 == 0 ? 2 : 1;
            }
        }
    }
    return check_result();
}
