// Moves runs of bits (zf_accelerator_ops.move_bits). Thread block (x, y) moves words of run y; a thread moves every
// 256 * grid_width()-th word of the destination. Words that the run does not fill are joined by atomic operations, because other
// kernels may be filling their other bits.
#include "runtime/device/cuda/kernels/nvptx.h"

enum { THREADS = 256 };

typedef struct run {
    u64 from, to, bits, cleared; ///< zf_bit_run
} run;

static inline u64 least(u64 a, u64 b) { return a < b ? a : b; }
static inline u64 most(u64 a, u64 b) { return a > b ? a : b; }

/// The lowest `count` bits, 1 to 32 of them.
static inline u32 ones(u64 count) { return 0xffffffffu >> (32 - count); }

KERNEL void zf_move_bits(const run *runs, const u32 *from, u32 *to) {
    run r = runs[block_row()];
    u64 values_end = r.to + r.bits, end = values_end + r.cleared, step = (u64)THREADS * grid_width();
    for (u64 w = r.to / 32 + (u64)block_number() * THREADS + thread_number(); w * 32 < end; w += step) {
        u64 first = most(w * 32, r.to), behind = least(w * 32 + 32, end), count = least(w * 32 + 32, values_end);
        u32 mask = ones(behind - first) << first % 32, value = 0;
        if (count > first) {
            u64 bit = r.from + (first - r.to);
            count -= first;
            value = from[bit / 32] >> bit % 32;
            if (bit % 32 + count > 32) value |= from[bit / 32 + 1] << (32 - bit % 32); // bit % 32 is not 0
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
