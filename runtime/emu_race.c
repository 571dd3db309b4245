// Races for shared memory: two threads of a block touch a byte, one of them writes it (not both atomically), and nothing orders
// the two: no barrier of the block between them, and, where they are of one warp, no barrier of the warp.
#include "runtime/emu_internal.h"

/// Whether an access of `thread` at a time happened for certain before `now`.
static bool before(uint16_t thread, uint32_t time, uint32_t warp_time, const zf_emu_when *now) {
    if (time != now->time) return true;
    return thread / ZF_EMU_WARP == now->thread / ZF_EMU_WARP && warp_time < now->warp_time;
}

static int race_with_read(const zf_emu_shadow *byte, const zf_emu_when *now) {
    if (byte->read_time == 0 || byte->read_time != now->time) return -1;
    if (byte->readers == ZF_EMU_WARPS) return byte->reader;
    if (before(byte->reader, byte->read_time, byte->read_warp_time, now)) return -1;
    return byte->readers == ZF_EMU_LANES || byte->reader != now->thread ? byte->reader : -1;
}

static int race_with_write(const zf_emu_shadow *byte, const zf_emu_when *now) {
    if (byte->write_time == 0 || byte->write_time != now->time) return -1;
    if (byte->writers == ZF_EMU_WARPS) return byte->writer;
    if (before(byte->writer, byte->write_time, byte->write_warp_time, now)) return -1;
    return byte->writers == ZF_EMU_LANES || byte->writer != now->thread ? byte->writer : -1;
}

/// Adds a thread to those that did the same since the last barrier.
static void add(const zf_emu_when *now, uint32_t *time, uint32_t *warp_time, uint16_t *thread, uint8_t *several) {
    if (*time == now->time && *several == ZF_EMU_WARPS) return;
    if (*time != now->time || before(*thread, *time, *warp_time, now)) {
        *several = ZF_EMU_ONE;
    } else if (*thread / ZF_EMU_WARP != now->thread / ZF_EMU_WARP) {
        *several = ZF_EMU_WARPS;
    } else if (*thread != now->thread) {
        *several = ZF_EMU_LANES;
    }
    *time = now->time;
    *warp_time = now->warp_time;
    *thread = now->thread;
}

int zf_emu_race(zf_emu_shadow *byte, zf_emu_access access, const zf_emu_when *now) {
    int other = -1;
    bool both_atomic = access == ZF_EMU_ATOMIC && byte->atomic;
    if (!both_atomic) other = race_with_write(byte, now);
    if (access == ZF_EMU_LOAD) {
        add(now, &byte->read_time, &byte->read_warp_time, &byte->reader, &byte->readers);
        return other;
    }
    if (other < 0) other = race_with_read(byte, now);
    if (!both_atomic) byte->write_time = 0; // what was written before is ordered before this
    add(now, &byte->write_time, &byte->write_warp_time, &byte->writer, &byte->writers);
    byte->atomic = access == ZF_EMU_ATOMIC;
    return other;
}
