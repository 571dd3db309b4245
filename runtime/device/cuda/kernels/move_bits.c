// Moves runs of bits (zf_accelerator_ops.move_bits). Thread block (x, y) moves words of run y; a thread moves every
// 256 * grid_width()-th word of the destination. Words that the run does not fill are joined by atomic operations, because other
// kernels may be filling their other bits. Bytes of the source without a bit of the run are not read: they may never have been
// written.
#include "runtime/device/cuda/kernels/nvptx.h"

enum { THREADS = 256 };

typedef struct run {
    u64 from, to, bits, cleared; ///< zf_bit_run
} run;

static inline u64 least(u64 a, u64 b) { return a < b ? a : b; }
static inline u64 most(u64 a, u64 b) { return a > b ? a : b; }

/// The lowest `count` bits, 1 to 32 of them.
static inline u32 ones(u64 count) { return 0xffffffffu >> (32 - count); }

/// Bits of the run `r` in word `w` of the source. Others are undefined.
static inline u32 bits_of(const run *r, const u32 *from, u64 w) {
    u64 end = r->from + r->bits;
    if (w * 32 >= r->from && w * 32 + 32 <= end) return load_word(&from[w]);
    u32 value = 0;
    for (u64 b = 0; b < 4; b++) {
        u64 bit = w * 32 + b * 8;
        if (bit + 8 > r->from && bit < end) value |= (u32)load_byte((const u8 *)from + bit / 8) << b * 8;
    }
    return value;
}

KERNEL void zf_move_bits(const run *runs, const u32 *from, u32 *to) {
    run r = runs[block_row()];
    if (r.bits + r.cleared == 0) return;
    u64 values_end = r.to + r.bits, end = values_end + r.cleared, step = (u64)THREADS * grid_width();
    for (u64 w = r.to / 32 + (u64)block_number() * THREADS + thread_number(); w * 32 < end; w += step) {
        u64 first = most(w * 32, r.to), behind = least(w * 32 + 32, end), count = least(w * 32 + 32, values_end);
        u32 mask = ones(behind - first) << first % 32, value = 0;
        if (count > first) {
            u64 bit = r.from + (first - r.to);
            count -= first;
            value = bits_of(&r, from, bit / 32) >> bit % 32;
            if (bit % 32 + count > 32) value |= bits_of(&r, from, bit / 32 + 1) << (32 - bit % 32); // bit % 32 is not 0
            value = (value & ones(count)) << first % 32;
        }
        if (mask == 0xffffffffu) {
            to[w] = value;
        } else {
            __atomic_fetch_and(&to[w], ~mask, __ATOMIC_RELAXED);
            __atomic_fetch_or(&to[w], value, __ATOMIC_RELAXED);
        }
    }
}
