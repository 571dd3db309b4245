// Links: zipflow-emu
// Counters that order warps of the emulated GPU: kernels that are right, and every fault that it must find.
#include "tests/unit/runtime/emu_machine.h"

/// Warps add to a word one after the other, in an order that a counter gives them: each sees what all before it stored.
static void counted(KERNEL_ARGS) {
    UNUSED_ARGS;
    uint32_t number = zf_emu_thread(thread), warp = number / warp_lanes, last = THREADS / warp_lanes - 1;
    uint32_t *counter = (uint32_t *)zf_emu_shared(thread, 0, 0) + 1, *to = (uint32_t *)(void *)out + global_index(thread);
    if (number == 0) store(thread, counter, 0, 1);
    zf_emu_barrier(thread, 2, 2);
    zf_emu_await_counter(thread, counter, last - warp, 3, 3); // the last warp is the first
    store(thread, to, warp < last ? load(thread, to + (warp_lanes - 1) - 2 * (number % warp_lanes) + warp_lanes, 4) + 1 : 1, 5);
    zf_emu_warp_barrier(thread, 6, 6);
    if (number % warp_lanes == 0) zf_emu_publish(thread, counter, last - warp + 1, 7);
}

static void test_right(void) {
    static const uint64_t seeds[] = {0, 1, 2, 3, 12345, UINT64_MAX};
    machine m = start(1);
    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
        uint32_t got[ELEMENTS], wrong = 0;
        zf_error error;
        zf_emu_set_seed(m.emu, seeds[s]);
        CHECK(run(&m, counted, THREADS, &error) == ZF_OK, "%s at %s", error.message, error.place);
        CHECK(m.emu->ops->copy_out(m.emu, NULL, got, m.out, sizeof got, &error) == ZF_OK, "%s", error.message);
        for (uint32_t i = 0; i < ELEMENTS; i++) wrong += got[i] != THREADS / warp_lanes - i % THREADS / warp_lanes;
        CHECK(wrong == 0, "seed %llu: %u words are wrong", (unsigned long long)seeds[s], wrong);
    }
    stop(&m);
}

// Who awaits a counter sees what was stored before it, up to the last barrier of the warp that published it.
FAULTY(
    counter_early, if (zf_emu_group(thread) == 3) {
        if (is_chosen(thread)) store(thread, values, 1, 68);
        if (number == 36) zf_emu_publish(thread, shared, 1, 69);
        if (number / 32 == 0) zf_emu_await_counter(thread, shared, 1, 70, 70);
        if (number == 5) load(thread, values, 71);
    })
FAULTY(
    counter_low, if (zf_emu_group(thread) == 3) {
        if (is_chosen(thread)) zf_emu_publish(thread, shared, 1, 72);
        if (is_chosen(thread)) store(thread, values, 1, 72);
        if (number / 32 == 1) zf_emu_warp_barrier(thread, 73, 73);
        if (is_chosen(thread)) zf_emu_publish(thread, shared, 2, 74);
        if (number / 32 == 0) zf_emu_await_counter(thread, shared, 1, 75, 75);
        if (number == 5) load(thread, values, 76);
    })
FAULTY(counter_missed, if (!is_chosen(thread)) zf_emu_await_counter(thread, shared, 0, 77, 77);)
FAULTY(
    counter_waits, if (zf_emu_group(thread) == 3) {
        if (is_chosen(thread)) zf_emu_publish(thread, shared, 1, 78);
        zf_emu_await_counter(thread, shared, 2, 79, 79);
    })
FAULTY(counter_beyond, if (is_chosen(thread)) zf_emu_publish(thread, shared + SHARED / 4, 1, 80);)
FAULTY(
    counters_many, if (is_chosen(thread)) {
        for (uint32_t k = 0; k < 5; k++) zf_emu_publish(thread, &shared[k], 1, 81);
    })
FAULTY(
    counter_stored, if (zf_emu_group(thread) == 3) {
        if (is_chosen(thread)) zf_emu_publish(thread, shared, 1, 82);
        if (number == 5) store(thread, shared, 1, 82);
    })

static const fault faults[] = {
    {"a counter before its warp's barrier", counter_early, "reads what thread 37 wrote, and no barrier orders the two",
     OTHER "5, .zf line 71"},
    {"a counter that is awaited too low", counter_low, "reads what thread 37 wrote, and no barrier orders the two",
     OTHER "5, .zf line 76"},
    {"a counter that a lane does not await", counter_missed, "waits for a counter that thread 37", ".zf line 77"},
    {"a counter that nobody raises", counter_waits, "waits until a counter is 2, which stays 1", ".zf line 79"},
    {"a counter beyond shared memory", counter_beyond, "changes 4 bytes where the launch has no memory", CHOSEN "80"},
    {"too many counters", counters_many, "more than 4 counters", CHOSEN "81"},
    {"a counter that a thread stores", counter_stored, "races with thread", ".zf line 82"},
};

static void test_faults(void) { check_faults(faults, sizeof faults / sizeof faults[0], counted); }

int main(void) {
    test_right();
    test_faults();
    wave = warp_lanes = 64;
    test_right();
    warp_lanes = 32; // half a wave
    test_right();
    test_faults();
    return check_result();
}
