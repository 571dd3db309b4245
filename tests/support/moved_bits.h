// Moves of bits by an accelerator, against the same moves bit by bit: runs of all lengths around words, at all places of a word,
// side by side in shared words, with cleared bits behind them.
#ifndef ZF_TESTS_MOVED_BITS_H
#define ZF_TESTS_MOVED_BITS_H

#include <string.h>

#include "runtime/device/accelerator.h"
#include "tests/unit/check.h"

enum { MOVED_BYTES = 4096, MOVED_RUNS = 400 };

static inline unsigned moved_bit(const uint8_t *bits, uint64_t at) { return bits[at / 8] >> at % 8 & 1u; }

static inline void set_moved_bit(uint8_t *bits, uint64_t at, unsigned value) {
    bits[at / 8] = (uint8_t)((bits[at / 8] & ~(1u << at % 8)) | value << at % 8);
}

/// Runs from places that nothing orders to places side by side, with gaps of 0 to 2 bits; returns how many fit.
static inline uint32_t make_moves(zf_bit_run *runs, uint64_t *longest) {
    uint64_t to = 3, state = 12345;
    uint32_t count = 0;
    *longest = 0;
    for (; count < MOVED_RUNS; count++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = count % 7 == 6 ? 900 + state % 300 : count % 70, cleared = count % 11 == 0 ? state % 40 : 0;
        if (to + bits + cleared + 32 > MOVED_BYTES * 8) break;
        runs[count] = (zf_bit_run){.from = (state >> 20) % (MOVED_BYTES * 8 - 1300), .to = to, .bits = bits, .cleared = cleared};
        to += bits + cleared + (state >> 40) % 3;
        if (bits + cleared > *longest) *longest = bits + cleared;
    }
    return count;
}

static inline void check_moved_bits(zf_accelerator *accelerator) {
    static uint8_t from[MOVED_BYTES], expected[MOVED_BYTES], back[MOVED_BYTES];
    static zf_bit_run runs[MOVED_RUNS];
    const zf_accelerator_ops *ops = accelerator->ops;
    zf_error error = {0};
    zf_move_args args = {.from_bytes = MOVED_BYTES, .to_bytes = MOVED_BYTES};
    void *stream = NULL;
    for (unsigned k = 0; k < MOVED_BYTES; k++) from[k] = (uint8_t)(k * 167 + (k >> 5));
    args.count = make_moves(runs, &args.longest);
    CHECK(args.count > 100, "only %u runs", args.count);
    memset(expected, 0xa5, sizeof expected);
    for (uint32_t r = 0; r < args.count; r++) {
        for (uint64_t k = 0; k < runs[r].bits; k++) set_moved_bit(expected, runs[r].to + k, moved_bit(from, runs[r].from + k));
        for (uint64_t k = 0; k < runs[r].cleared; k++) set_moved_bit(expected, runs[r].to + runs[r].bits + k, 0);
    }
    bool good = ops->stream_open(accelerator, &stream, &error) == ZF_OK &&
                ops->allocate(accelerator, MOVED_BYTES, &args.from, &error) == ZF_OK &&
                ops->allocate(accelerator, MOVED_BYTES, &args.to, &error) == ZF_OK &&
                ops->allocate(accelerator, sizeof runs, &args.runs, &error) == ZF_OK;
    good = good && ops->copy_in(accelerator, stream, args.from, from, MOVED_BYTES, &error) == ZF_OK &&
           ops->copy_in(accelerator, stream, args.runs, runs, sizeof runs, &error) == ZF_OK;
    // All at once, and once more by two calls.
    for (unsigned turn = 0; good && turn < 2; turn++) {
        zf_move_args first = args, second = args;
        first.count = turn == 0 ? args.count : args.count / 3;
        second.runs += first.count * sizeof *runs;
        second.count -= first.count;
        good = ops->fill(accelerator, stream, args.to, 0xa5, MOVED_BYTES, &error) == ZF_OK &&
               ops->move_bits(accelerator, stream, &first, &error) == ZF_OK &&
               (second.count == 0 || ops->move_bits(accelerator, stream, &second, &error) == ZF_OK) &&
               ops->copy_out(accelerator, stream, back, args.to, MOVED_BYTES, &error) == ZF_OK &&
               ops->wait(accelerator, stream, &error) == ZF_OK;
        for (uint64_t k = 0; good && k < MOVED_BYTES * 8; k++) {
            if (moved_bit(back, k) == moved_bit(expected, k)) continue;
            CHECK(false, "turn %u: bit %llu is %u", turn, (unsigned long long)k, moved_bit(back, k));
            break;
        }
    }
    CHECK(good, "%s %s", error.code, error.message);
    // Refused, and nothing is written: no runs, too many, addresses within words.
    const zf_move_args bad[] = {{.runs = args.runs, .from = args.from, .to = args.to, .count = 0},
                                {.runs = args.runs, .from = args.from, .to = args.to, .count = ZF_SIMT_MOST_BLOCKS + 1},
                                {.runs = args.runs, .from = args.from + 1, .to = args.to, .count = 1},
                                {.runs = args.runs, .from = args.from, .to = args.to + 2, .count = 1}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        CHECK(ops->move_bits(accelerator, stream, &bad[k], &error) == ZF_ERR_INTERNAL, "case %zu was moved", k);
    ops->release(accelerator, args.from);
    ops->release(accelerator, args.to);
    ops->release(accelerator, args.runs);
    ops->stream_close(accelerator, stream);
}

#endif
