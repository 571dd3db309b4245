// The space, and what is known of times before they are measured: how many thread blocks a multiprocessor holds.
#include "scheduler/search/search_internal.h"

enum {
    REGISTERS_TOGETHER = 256, // are given to a warp
    SHARED_TOGETHER = 128,    // bytes that are given to a thread block
    SHARED_OWN = 1024,        // and that the system takes of each
};

zf_search_point zf_search_default(const zf_search_space *space) {
    zf_search_point point = {{0}};
    for (uint32_t a = 0; a < space->axis_count; a++) point.at[a] = (uint8_t)space->axes[a].default_index;
    return point;
}

bool zf_search_same(const zf_search_point *a, const zf_search_point *b) {
    for (uint32_t k = 0; k < ZF_SEARCH_AXES; k++) {
        if (a->at[k] != b->at[k]) return false;
    }
    return true;
}

bool zf_search_combination(const zf_search_space *space, uint32_t number, zf_search_point *out) {
    *out = (zf_search_point){{0}};
    for (uint32_t a = 0; a < space->axis_count; a++) {
        if (space->axes[a].count == 0) continue;
        out->at[a] = (uint8_t)(number % space->axes[a].count);
        number /= space->axes[a].count;
    }
    return number == 0;
}

uint32_t zf_search_value(const zf_search_space *space, const zf_search_point *point, zf_search_role role, uint32_t missing) {
    for (uint32_t a = 0; a < space->axis_count; a++) {
        const zf_search_axis *axis = &space->axes[a];
        if (axis->role == role && axis->count > 0) return axis->values[point->at[a]];
    }
    return missing;
}

// In 64 bits, because the numbers of a record may be anything.
static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

static uint64_t warps_of(const zf_search_machine *machine, uint32_t threads) {
    return ((uint64_t)threads + machine->warp - 1) / machine->warp;
}

static uint64_t less(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint32_t zf_search_blocks(const zf_search_machine *machine, uint32_t threads, uint32_t registers, uint32_t shared) {
    if (machine->warp == 0 || machine->threads == 0 || threads == 0) return 0;
    uint64_t warps = warps_of(machine, threads);
    uint64_t blocks = machine->threads / (warps * machine->warp);
    if (machine->blocks > 0) blocks = less(blocks, machine->blocks);
    if (machine->registers > 0 && registers > 0)
        blocks = less(blocks, machine->registers / round_up((uint64_t)registers * machine->warp, REGISTERS_TOGETHER) / warps);
    if (machine->shared_bytes > 0)
        blocks = less(blocks, machine->shared_bytes / (round_up(shared, SHARED_TOGETHER) + SHARED_OWN));
    return (uint32_t)blocks;
}

uint32_t zf_search_warps(const zf_search *search, const zf_search_try *seen, const zf_search_point *point) {
    const zf_search_machine *machine = &search->space.machine;
    uint32_t threads = zf_search_value(&search->space, point, ZF_SEARCH_THREADS, 0), registers = seen->reading.registers;
    uint32_t bound = zf_search_value(&search->space, point, ZF_SEARCH_REGISTERS, 0);
    if (machine->warp == 0 || machine->threads == 0 || threads == 0 || registers == 0) return ZF_SEARCH_UNKNOWN;
    if (bound > 0 && bound < registers) registers = bound;
    return (uint32_t)(zf_search_blocks(machine, threads, registers, seen->reading.shared) * warps_of(machine, threads));
}

bool zf_search_all_at_once(const zf_search *search, const zf_search_try *seen, uint32_t registers) {
    const zf_search_machine *machine = &search->space.machine;
    uint32_t threads = zf_search_value(&search->space, &seen->point, ZF_SEARCH_THREADS, 0);
    uint64_t blocks = zf_search_blocks(machine, threads, registers, seen->reading.shared);
    return seen->reading.groups > 0 && blocks * machine->count >= seen->reading.groups;
}

bool zf_search_comes_to(const zf_search_reading *seen, uint32_t bound) {
    enum { TOGETHER = 8 }; // registers that are given to a thread at once
    return (uint64_t)seen->registers + TOGETHER > bound;
}
