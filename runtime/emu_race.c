// Races for shared memory: two threads of a block touch a byte, one of them writes it (not both atomically), and no barrier
// orders the two.
#include "runtime/emu_internal.h"

/// A thread other than `now`'s that did so since the last barrier, or -1.
static int other_of(uint32_t time, const uint16_t threads[2], const zf_emu_when *now) {
    if (time != now->time) return -1;
    if (threads[0] != now->thread) return threads[0];
    return threads[1] != now->thread ? threads[1] : -1;
}

/// Adds a thread to those that did the same since the last barrier.
static void add(const zf_emu_when *now, uint32_t *time, uint16_t threads[2]) {
    if (*time != now->time)
        threads[0] = threads[1] = now->thread;
    else if (threads[0] == threads[1])
        threads[1] = now->thread;
    *time = now->time;
}

int zf_emu_race(zf_emu_shadow *byte, zf_emu_access access, const zf_emu_when *now) {
    int other = -1;
    bool both_atomic = access == ZF_EMU_ATOMIC && byte->atomic;
    if (!both_atomic) other = other_of(byte->write_time, byte->writers, now);
    if (access == ZF_EMU_LOAD) {
        add(now, &byte->read_time, byte->readers);
        return other;
    }
    if (other < 0) other = other_of(byte->read_time, byte->readers, now);
    if (!both_atomic) byte->write_time = 0; // what was written before is ordered before this
    add(now, &byte->write_time, byte->writers);
    byte->atomic = access == ZF_EMU_ATOMIC;
    return other;
}
