// Races for shared memory: two threads of a block touch a byte, one of them writes it (not both atomically), and no barrier
// orders the two.
#include "emulator/emu_internal.h"

/// A thread other than `number` - 1 among those that did something, or -1.
static int other_of(const uint16_t who[2], uint16_t number) {
    for (unsigned k = 0; k < 2; k++) {
        if (who[k] != 0 && who[k] != number) return who[k] - 1;
    }
    return -1;
}

/// The warp passed a barrier of its own: what its threads did before is in order for them, but not for other warps.
static void start_epoch(zf_emu_shadow *byte, uint32_t warp_time) {
    for (unsigned kind = 0; kind < 3; kind++) {
        if (byte->who[kind][0] != 0) byte->earlier[kind] = byte->who[kind][0];
        byte->who[kind][0] = byte->who[kind][1] = 0;
    }
    byte->warp_time = warp_time;
}

int zf_emu_race(zf_emu_shadow *byte, zf_emu_access access, zf_emu_when now) {
    static const bool apart[3][3] = {// what two threads may not both do
                                     [ZF_EMU_LOAD] = {[ZF_EMU_STORE] = true, [ZF_EMU_ATOMIC] = true},
                                     [ZF_EMU_STORE] = {true, true, true},
                                     [ZF_EMU_ATOMIC] = {[ZF_EMU_LOAD] = true, [ZF_EMU_STORE] = true}};
    uint16_t number = (uint16_t)(now.thread + 1);
    if (byte->time != now.time) *byte = (zf_emu_shadow){.time = now.time, .warp = now.warp, .warp_time = now.warp_time};
    if (byte->warp == now.warp && byte->warp_time != now.warp_time) start_epoch(byte, now.warp_time);
    // Several warps that do not race all load, or all do atomics. Then `who` has a thread of that kind, and `earlier` adds
    // nothing.
    bool is_second_warp = byte->warp != now.warp && byte->warp != ZF_EMU_WARPS;
    int other = -1;
    for (unsigned kind = 0; kind < 3 && other < 0; kind++) {
        if (!apart[access][kind]) continue;
        other = other_of(byte->who[kind], number);
        if (other < 0 && is_second_warp) other = byte->earlier[kind] - 1;
    }
    if (is_second_warp) byte->warp = ZF_EMU_WARPS;
    uint16_t *who = byte->who[access];
    if (who[0] == 0)
        who[0] = number;
    else if (who[0] != number)
        who[1] = number;
    return other;
}
