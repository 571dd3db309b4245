// Links: zipflow-emu
// The emulated GPU: kernels written by hand, right ones and ones with every fault that it must find.
#include <stdlib.h>
#include <string.h>

#include "tests/support/moved_bits.h"
#include "tests/unit/runtime/emu_machine.h"

// ---- Kernels without a fault ----------------------------------------------------------------------------------

static void copy(KERNEL_ARGS) {
    UNUSED_ARGS;
    uint32_t i = global_index(thread);
    store(thread, (uint32_t *)(void *)out + i, load(thread, (const uint32_t *)(const void *)base + i, 1), 2);
}

/// Sum of all values of the thread block up to the thread's own: through shared memory, shuffles and ballots.
static void scan(KERNEL_ARGS) {
    UNUSED_ARGS;
    uint32_t number = zf_emu_thread(thread), lane = number % warp_lanes, warp = number / warp_lanes;
    uint32_t *shared = zf_emu_shared(thread, 0, 0);
    uint32_t value = load(thread, (const uint32_t *)(const void *)base + global_index(thread), 1);
    for (uint32_t step = 1; step < warp_lanes; step *= 2) {
        uint32_t other = zf_emu_shuffle(thread, value, first_lane(thread) + (lane >= step ? lane - step : lane), 2, 2);
        if (lane >= step) value += other;
    }
    if (lane == warp_lanes - 1) store(thread, &shared[warp], value, 3);
    zf_emu_barrier(thread, 4, 4);
    for (uint32_t w = 0; w < warp; w++) value += load(thread, &shared[w], 5);
    uint64_t odd = zf_emu_ballot(thread, number % 2, 6, 6);
    if (odd != (UINT64_C(0xaaaaaaaaaaaaaaaa) & ALL_LANES)) value = 0; // of the whole wave, also where a warp is half of it
    zf_emu_barrier(thread, 7, 7);
    store(thread, &shared[number], value, 8); // another thread's word of before the barrier
    zf_emu_barrier(thread, 9, 9);
    value = load(thread, &shared[number ^ 1], 10);
    zf_emu_barrier(thread, 11, 11);
    store(thread, &shared[number ^ 1], value, 12);
    store(thread, (uint32_t *)(void *)out + (global_index(thread) ^ 1), value, 13);
}

static void atomics(KERNEL_ARGS) {
    UNUSED_ARGS;
    uint32_t *shared = zf_emu_shared(thread, 0, 0);
    if (zf_emu_thread(thread) == 0) store(thread, shared, 0, 1);
    zf_emu_barrier(thread, 2, 2);
    zf_emu_check(thread, shared, 4, 4, ZF_EMU_ATOMIC, 3);
    *shared += 1;
    zf_emu_barrier(thread, 4, 4);
    store(thread, (uint32_t *)(void *)out + global_index(thread), load(thread, shared, 5), 6);
}

/// Copies through shared memory, each warp in a part of its own, between barriers of the warp; warps take different numbers of
/// rounds.
static void warps(KERNEL_ARGS) {
    UNUSED_ARGS;
    uint32_t number = zf_emu_thread(thread), *shared = (uint32_t *)zf_emu_shared(thread, 0, 0) + number / warp_lanes * warp_lanes;
    uint32_t value = load(thread, (const uint32_t *)(const void *)base + global_index(thread), 1), lane = number % warp_lanes;
    for (uint32_t round = 0; round < 2 * (number / warp_lanes + 1); round++) {
        store(thread, &shared[lane], value, 2);
        zf_emu_warp_barrier(thread, 3, 3);
        value = load(thread, &shared[lane ^ 1], 4);
        zf_emu_warp_barrier(thread, 5, 5);
    }
    store(thread, (uint32_t *)(void *)out + global_index(thread), value, 6);
}

/// Copies that are under way come when the thread waits for them, and others' behind a barrier; what lanes store in global memory
/// is there behind one, too.
static void copies(KERNEL_ARGS) {
    UNUSED_ARGS;
    enum { PIECE = 16, PIECES = ELEMENTS * 4 / PIECE };
    const uint32_t empty = UINT32_C(0xa7a7a7a7);
    uint32_t number = zf_emu_thread(thread), *shared = (uint32_t *)zf_emu_shared(thread, 0, 0), *to = (uint32_t *)(void *)out;
    uint32_t *own = shared + number * (PIECE / 4), right = 0, i = global_index(thread);
    store(thread, own, empty, 10);
    zf_emu_copy(thread, own, base + (size_t)(i % PIECES) * PIECE, 1);
    zf_emu_await(thread, 1);
    right += load(thread, own, 2) == empty;
    zf_emu_await(thread, 1);
    zf_emu_warp_barrier(thread, 3, 3);
    uint32_t piece = (i ^ 1) % PIECES, value = load(thread, shared + (number ^ 1) * (PIECE / 4), 4);
    right += value == piece * (PIECE / 4) * 7 + 3;
    store(thread, to + i, right, 5);
    zf_emu_warp_barrier(thread, 6, 6);
    right = load(thread, to + (i ^ 1), 7);
    zf_emu_warp_barrier(thread, 8, 8);
    store(thread, to + i, right, 9);
}

// Halves of a wave: a ballot is the wave's, and lanes that are not there have no vote. Each thread computes its expected
// ballots, and stores how many were right.

static void each_half_votes(KERNEL_ARGS) {
    UNUSED_ARGS;
    uint32_t number = zf_emu_thread(thread), from = number ^ 31;
    uint32_t right = zf_emu_ballot(thread, number < HALF ? number % 2 : number % 4 == 0, 1, 1) == UINT64_C(0x11111111aaaaaaaa);
    right += zf_emu_shuffle(thread, number, from, 2, 2) == from;
    store(thread, (uint32_t *)(void *)out + global_index(thread), right, 3);
}

/// The lower half ends where the upper one goes on.
static void one_half_ends(KERNEL_ARGS) {
    UNUSED_ARGS;
    uint32_t right = zf_emu_ballot(thread, 1, 1, 1) == ALL_LANES, number = zf_emu_thread(thread);
    store(thread, (uint32_t *)(void *)out + global_index(thread), 2, 2);
    if (number < HALF) return;
    right += zf_emu_ballot(thread, number % 2, 3, 3) == (UINT64_C(0xaaaaaaaaaaaaaaaa) & UPPER_HALF);
    store(thread, (uint32_t *)(void *)out + global_index(thread), right, 4);
}

/// One half, then the other, takes a branch of its own, and they meet behind it.
static void halves_branch(KERNEL_ARGS) {
    UNUSED_ARGS;
    bool upper = zf_emu_thread(thread) >= HALF;
    uint32_t right = 0;
    if (!upper)
        right += zf_emu_ballot(thread, 1, 1, 1) == LOWER_HALF;
    else
        right += zf_emu_ballot(thread, 1, 2, 2) == UPPER_HALF;
    right += zf_emu_ballot(thread, 1, 3, 3) == ALL_LANES;
    store(thread, (uint32_t *)(void *)out + global_index(thread), right, 4);
}

/// The upper half takes more rounds; the lower one waits for it behind the loop.
static void halves_loop(KERNEL_ARGS) {
    UNUSED_ARGS;
    bool upper = zf_emu_thread(thread) >= HALF;
    uint32_t wrong = 0;
    for (uint32_t round = 0; round < (upper ? 7u : 3u); round++)
        wrong += zf_emu_ballot(thread, 1, 1, 1) != (round < 3 ? ALL_LANES : UPPER_HALF);
    wrong += zf_emu_ballot(thread, 1, 2, 2) != ALL_LANES;
    store(thread, (uint32_t *)(void *)out + global_index(thread), wrong == 0 ? 2 : 0, 3);
}

/// The lower half waits for all threads at a barrier, to which the upper one comes behind a ballot.
static void half_at_barrier(KERNEL_ARGS) {
    UNUSED_ARGS;
    uint32_t right = 0;
    if (zf_emu_thread(thread) >= HALF) right = zf_emu_ballot(thread, 1, 2, 2) == UPPER_HALF;
    zf_emu_barrier(thread, 1, 1);
    right += zf_emu_thread(thread) < HALF;
    right += zf_emu_ballot(thread, 1, 3, 3) == ALL_LANES;
    store(thread, (uint32_t *)(void *)out + global_index(thread), right, 4);
}

static void test_halves(void) {
    static const kernel_fn kernels[] = {each_half_votes, one_half_ends, halves_branch, halves_loop, half_at_barrier};
    machine m = start(2);
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        for (uint64_t seed = 0; seed < 6; seed++) {
            zf_error error;
            uint32_t got[ELEMENTS], wrong = 0;
            zf_emu_set_seed(m.emu, seed);
            CHECK(run(&m, kernels[k], THREADS, &error) == ZF_OK, "kernel %zu: %s at %s", k, error.message, error.place);
            m.emu->ops->copy_out(m.emu, NULL, got, m.out, sizeof got, &error);
            for (uint32_t i = 0; i < ELEMENTS; i++) wrong += got[i] != 2;
            CHECK(wrong == 0, "kernel %zu, seed %llu: %u threads are wrong", k, (unsigned long long)seed, wrong);
        }
    }
    stop(&m);
}

static void test_right(void) {
    static const uint64_t seeds[] = {0, 1, 2, 3, 12345, UINT64_MAX};
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        machine m = start(threads);
        zf_error error;
        for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
            uint32_t got[ELEMENTS];
            zf_emu_set_seed(m.emu, seeds[s]);
            CHECK(run(&m, copy, THREADS, &error) == ZF_OK, "%s at %s", error.message, error.place);
            CHECK(m.emu->ops->copy_out(m.emu, NULL, got, m.out, sizeof got, &error) == ZF_OK, "%s", error.message);
            CHECK(memcmp(got, m.values, sizeof got) == 0, "copy");
            CHECK(run(&m, warps, THREADS, &error) == ZF_OK, "%s at %s", error.message, error.place);
            m.emu->ops->copy_out(m.emu, NULL, got, m.out, sizeof got, &error);
            CHECK(memcmp(got, m.values, sizeof got) == 0, "copies of warps");
            CHECK(run(&m, copies, THREADS, &error) == ZF_OK, "%s at %s", error.message, error.place);
            m.emu->ops->copy_out(m.emu, NULL, got, m.out, sizeof got, &error);
            uint32_t sum = 0, wrong = 0;
            for (uint32_t i = 0; i < ELEMENTS; i++) wrong += got[i] != 2;
            CHECK(wrong == 0, "seed %llu: %u copies are wrong", (unsigned long long)seeds[s], wrong);
            CHECK(run(&m, scan, THREADS, &error) == ZF_OK, "%s at %s", error.message, error.place);
            m.emu->ops->copy_out(m.emu, NULL, got, m.out, sizeof got, &error);
            for (uint32_t i = 0; i < ELEMENTS; i++) {
                sum = (i % THREADS == 0 ? 0 : sum) + m.values[i];
                wrong += got[i] != sum;
            }
            CHECK(wrong == 0, "seed %llu: %u sums are wrong", (unsigned long long)seeds[s], wrong);
            CHECK(run(&m, atomics, THREADS, &error) == ZF_OK, "%s at %s", error.message, error.place);
            m.emu->ops->copy_out(m.emu, NULL, got, m.out, sizeof got, &error);
            CHECK(got[0] == THREADS && got[ELEMENTS - 1] == THREADS, "%u atomic additions", got[0]);
        }
        stop(&m);
    }
}

// ---- Orders ---------------------------------------------------------------------------------------------------

/// Each thread of the first block takes the next number. (The counter is the test's, not the emulator's: no check.)
static void numbers(KERNEL_ARGS) {
    UNUSED_ARGS;
    if (zf_emu_group(thread) != 0) return;
    uint32_t *counter = (uint32_t *)(void *)out + ELEMENTS - 1;
    if (*counter == 0xeeeeeeee) *counter = 0;
    ((uint32_t *)(void *)out)[zf_emu_thread(thread)] = (*counter)++;
}

static void test_orders(void) {
    machine m = start(1);
    zf_error error;
    uint32_t first[ELEMENTS], again[ELEMENTS], other[ELEMENTS];
    CHECK(run(&m, numbers, THREADS, &error) == ZF_OK, "%s", error.message);
    m.emu->ops->copy_out(m.emu, NULL, first, m.out, sizeof first, &error);
    for (uint32_t i = 0; i < THREADS; i++) CHECK(first[i] == i, "seed 0: thread %u runs as number %u", i, first[i]);
    zf_emu_set_seed(m.emu, 7);
    run(&m, numbers, THREADS, &error);
    m.emu->ops->copy_out(m.emu, NULL, again, m.out, sizeof again, &error);
    CHECK(memcmp(first, again, THREADS * 4) != 0, "seed 7 has the order of seed 0");
    run(&m, numbers, THREADS, &error);
    m.emu->ops->copy_out(m.emu, NULL, other, m.out, sizeof other, &error);
    CHECK(memcmp(other, again, THREADS * 4) == 0, "seed 7 has two orders");
    zf_emu_set_seed(m.emu, 8);
    run(&m, numbers, THREADS, &error);
    m.emu->ops->copy_out(m.emu, NULL, other, m.out, sizeof other, &error);
    CHECK(memcmp(other, again, THREADS * 4) != 0, "seeds 7 and 8 have the same order");
    stop(&m);
    setenv("ZIPFLOW_EMU_SEED", "8", 1);
    m = start(1);
    run(&m, numbers, THREADS, &error);
    m.emu->ops->copy_out(m.emu, NULL, again, m.out, sizeof again, &error);
    CHECK(memcmp(other, again, THREADS * 4) == 0, "the seed of the environment");
    unsetenv("ZIPFLOW_EMU_SEED");
    stop(&m);
}

// ---- Faults ---------------------------------------------------------------------------------------------------

FAULTY(barrier_missed, if (!is_chosen(thread)) zf_emu_barrier(thread, 10, 10);)
FAULTY(barriers_two, zf_emu_barrier(thread, 1, is_chosen(thread) ? 12 : 11);)
FAULTY(shuffle_missed, if (!is_chosen(thread)) zf_emu_shuffle(thread, 1, first_lane(thread), 13, 13);)
FAULTY(shuffle_at_barrier, if (is_chosen(thread)) zf_emu_barrier(thread, 14, 14);
       else zf_emu_shuffle(thread, 1, first_lane(thread), 15, 15);)
FAULTY(shuffle_lane, zf_emu_shuffle(thread, 1, is_chosen(thread) ? wave : first_lane(thread), 16, 16);)
// The other half of a wave may not be there; of a wave that is one warp, there is none.
FAULTY(shuffle_other_half, zf_emu_shuffle(thread, 1, is_chosen(thread) ? first_lane(thread) ^ HALF : first_lane(thread), 55, 55);)
FAULTY(ballot_missed, if (!is_chosen(thread)) zf_emu_ballot(thread, 1, 17, 17);)
FAULTY(load_beyond, if (is_chosen(thread)) load(thread, (const uint32_t *)(const void *)base + ELEMENTS, 20);)
FAULTY(load_across, if (is_chosen(thread)) zf_emu_check(thread, base + ELEMENTS * 4 - 4, 8, 4, ZF_EMU_LOAD, 21);)
FAULTY(store_before, if (is_chosen(thread)) store(thread, (uint32_t *)((uintptr_t)values - 4), 1, 22);)
FAULTY(store_base, if (is_chosen(thread)) store(thread, (uint32_t *)(uintptr_t)base, 1, 23);)
FAULTY(atomic_base, if (is_chosen(thread)) zf_emu_check(thread, base, 4, 4, ZF_EMU_ATOMIC, 24);)
FAULTY(misaligned, if (is_chosen(thread)) zf_emu_check(thread, out + 4, 16, 16, ZF_EMU_STORE, 25);)
FAULTY(shared_beyond, if (is_chosen(thread)) zf_emu_check(thread, shared + SHARED / 4 - 1, 8, 4, ZF_EMU_LOAD, 26);)
FAULTY(host_memory, static const uint32_t mine = 1; if (is_chosen(thread)) load(thread, &mine, 27);)
FAULTY(local_beyond, uint32_t array[4] = {number};
       if (is_chosen(thread)) zf_emu_check_local(thread, array + 3, 8, array, sizeof array, 4, 28);)
FAULTY(local_before, uint32_t array[4] = {number};
       if (is_chosen(thread)) zf_emu_check_local(thread, (void *)((uintptr_t)array - 4), 4, array, sizeof array, 4, 29);)
FAULTY(write_write, if (is_chosen(thread) || (zf_emu_group(thread) == 3 && number == 2)) store(thread, shared, number, 30);)
FAULTY(write_read, if (is_chosen(thread)) store(thread, shared, 1, 31);
       else if (zf_emu_group(thread) == 3) load(thread, shared, 31);)
FAULTY(
    lanes_race, if (zf_emu_group(thread) == 3 && number >= 32) {
        store(thread, &shared[number], 1, 32);
        zf_emu_shuffle(thread, 1, first_lane(thread), 33, 33); // lets threads meet, but orders no memory
        load(thread, &shared[number ^ 1], 32);
    })
FAULTY(
    many_readers, if (zf_emu_group(thread) == 3) { // a write by one of several readers
        load(thread, shared, 35);
        zf_emu_shuffle(thread, 1, first_lane(thread), 18, 18); // the lanes of its warp have read
        if (is_chosen(thread)) store(thread, shared, 1, 35);
    })
FAULTY(
    first_reader, if (zf_emu_group(thread) == 3) { // in the order of numbers the writer was the first to read
        load(thread, shared, 34);
        zf_emu_shuffle(thread, 1, first_lane(thread), 19, 19);
        if (number == 0) store(thread, shared, 1, 34);
    })
FAULTY(
    mixed_atomics, if (zf_emu_group(thread) == 3) {
        if (is_chosen(thread))
            store(thread, shared, 1, 36);
        else
            zf_emu_check(thread, shared, 4, 4, ZF_EMU_ATOMIC, 36);
    })

FAULTY(
    atomic_after_store, if (zf_emu_group(thread) == 3) {
        if (number == 0)
            store(thread, shared, 1, 37);
        else
            zf_emu_check(thread, shared, 4, 4, ZF_EMU_ATOMIC, 37);
    })
// A later access of a thread to a byte does not hide that it wrote the byte.
FAULTY(
    store_then_atomic, if (zf_emu_group(thread) == 3) {
        if (number == 0) store(thread, shared, 1, 46);
        if (number == 0 || is_chosen(thread)) zf_emu_check(thread, shared, 4, 4, ZF_EMU_ATOMIC, 46);
    })
FAULTY(
    atomic_then_store, if (zf_emu_group(thread) == 3) {
        zf_emu_check(thread, shared, 4, 4, ZF_EMU_ATOMIC, 47);
        if (is_chosen(thread)) store(thread, shared, 1, 47);
    })
// A barrier of a warp orders nothing of others.
FAULTY(
    warps_race, if (zf_emu_group(thread) == 3 && number / 32 < 2) {
        if (number == 0) store(thread, shared, 1, 48);
        zf_emu_warp_barrier(thread, 1, 49);
        zf_emu_warp_barrier(thread, 2, 50);
        if (is_chosen(thread)) load(thread, shared, 48);
    })
FAULTY(
    warps_race_later, if (zf_emu_group(thread) == 3 && number / 32 < 2) { // nor do later reads of the warp hide its write
        if (number == 0) store(thread, shared, 1, 56);
        zf_emu_warp_barrier(thread, 1, 57);
        if (number == 0) load(thread, shared, 56);
        zf_emu_warp_barrier(thread, 2, 58);
        if (is_chosen(thread)) load(thread, shared, 56);
    })
FAULTY(
    warps_race_behind, if (zf_emu_group(thread) == 3 && number / 32 < 2) { // a warp's barrier hides nothing of what others did
        if (number == 0 || is_chosen(thread)) load(thread, shared, 51);
        zf_emu_warp_barrier(thread, 1, 52);
        if (number == 0) store(thread, shared, 1, 51);
    })
// A copy is made at any time until its thread waits for it: nobody may read there before, and others only behind a barrier.
FAULTY(
    copy_in_use, if (zf_emu_group(thread) == 3) {
        load(thread, shared, 59);
        zf_emu_shuffle(thread, 1, first_lane(thread), 60, 60);
        if (is_chosen(thread)) zf_emu_copy(thread, shared, base, 61);
    })
FAULTY(
    copy_unseen, if (zf_emu_group(thread) == 3) {
        if (is_chosen(thread)) zf_emu_copy(thread, shared, base, 62);
        zf_emu_barrier(thread, 63, 63);
        if (is_chosen(thread)) zf_emu_await(thread, 0);
        zf_emu_shuffle(thread, 1, first_lane(thread), 64, 64);
        load(thread, shared, 62);
    })
FAULTY(
    store_unseen, if (zf_emu_group(thread) == 3) {
        if (is_chosen(thread)) store(thread, values, 1, 65);
        zf_emu_shuffle(thread, 1, first_lane(thread), 66, 66);
        if (number == 36) load(thread, values, 67);
    })
FAULTY(warp_barrier_missed, if (!is_chosen(thread)) zf_emu_warp_barrier(thread, 54, 54);)
FAULTY(shuffles_two, zf_emu_shuffle(thread, 1, first_lane(thread), 1, is_chosen(thread) ? 39 : 38);)
// As kernels have them: many of one line.
FAULTY(barriers_of_line, zf_emu_barrier(thread, is_chosen(thread) ? 2 : 1, 42);)
FAULTY(shuffles_of_line, zf_emu_shuffle(thread, 1, first_lane(thread), is_chosen(thread) ? 2 : 1, 43);)
FAULTY(ballots_of_line, zf_emu_ballot(thread, 1, is_chosen(thread) ? 2 : 1, 44);)
FAULTY(barrier_behind, if (!is_chosen(thread)) zf_emu_barrier(thread, 1, 45); zf_emu_barrier(thread, 2, 45);)

static const fault faults[] = {
    {"a barrier that a thread misses", barrier_missed, "does not come to: that one has ended", OTHER "0, .zf line 10"},
    {"two barriers", barriers_two, "thread 37 does not come to: that one waits at a barrier of .zf line 12",
     OTHER "0, .zf line 11"},
    {"a shuffle that a lane misses", shuffle_missed, "thread 37 does not come to", OTHER "32, .zf line 13"},
    {"a shuffle while a lane is at a barrier", shuffle_at_barrier, "that one waits at a barrier of .zf line 14", ".zf line 15"},
    {"a lane that no wave has", shuffle_lane, "a shuffle asks for lane ", CHOSEN "16"},
    {"a lane of another warp", shuffle_other_half, "a shuffle asks for lane ", CHOSEN "55"},
    {"a ballot that a lane misses", ballot_missed, "waits at a ballot that thread 37", ".zf line 17"},
    {"a load beyond the end", load_beyond, "reads 4 bytes where the launch has no memory", CHOSEN "20"},
    {"a load across the end", load_across, "reads 8 bytes at byte 1276 of `base`, which has 1280", CHOSEN "21"},
    {"a store before the start", store_before, "writes 4 bytes where", CHOSEN "22"},
    {"a store to an input", store_base, "`base`, which kernels only read", CHOSEN "23"},
    {"an atomic on an input", atomic_base, "changes 4 bytes at byte 0 of `base`", CHOSEN "24"},
    {"a misaligned store", misaligned, "4 beyond a multiple of 16", CHOSEN "25"},
    {"a load beyond shared memory", shared_beyond, "of shared memory, which has 1024", CHOSEN "26"},
    {"a load from the host", host_memory, "where the launch has no memory", CHOSEN "27"},
    {"beyond a local array", local_beyond, "at byte 12 of an array of 16", CHOSEN "28"},
    {"before a local array", local_before, "at byte -4 of an array of 16", CHOSEN "29"},
    {"two writes", write_write, "races with thread", ".zf line 30"},
    {"a write and reads", write_read, "races with thread", ".zf line 31"},
    {"lanes with a shuffle between", lanes_race, "races with thread", ".zf line 32"},
    {"a write after reads of other warps", many_readers, "races with thread", ".zf line 35"},
    {"a write by the first of several readers", first_reader, "races with thread", ".zf line 34"},
    {"a write among atomics", mixed_atomics, "races with thread", ".zf line 36"},
    {"atomics after a write", atomic_after_store, "races with thread", ".zf line 37"},
    {"atomics after a write and an atomic", store_then_atomic, "races with thread", ".zf line 46"},
    {"a write after atomics", atomic_then_store, "races with thread", ".zf line 47"},
    {"warps with a barrier of each between", warps_race, "races with thread", ".zf line 48"},
    {"warps with a read of the writer between", warps_race_later, "races with thread", ".zf line 56"},
    {"a write of a warp after reads of two", warps_race_behind, "races with thread", ".zf line 51"},
    {"a copy to where others read", copy_in_use, "races with thread", ".zf line 61"},
    {"a copy that others read too early", copy_unseen, "races with thread", ".zf line 62"},
    {"a store that others read too early", store_unseen, "reads what thread 37 wrote, and no barrier orders the two",
     OTHER "36, .zf line 67"},
    {"a barrier of a warp that a lane misses", warp_barrier_missed, "waits at a barrier of its warp that thread 37",
     ".zf line 54"},
    {"two shuffles", shuffles_two, "thread 37 does not come to: that one waits at a shuffle of .zf line 39",
     OTHER "32, .zf line 38"},
    {"two barriers of a line", barriers_of_line,
     "thread 37 does not come to: that one waits at a barrier of .zf line 42, another", OTHER "0, .zf line 42"},
    {"two shuffles of a line", shuffles_of_line,
     "thread 37 does not come to: that one waits at a shuffle of .zf line 43, another", OTHER "32, .zf line 43"},
    {"two ballots of a line", ballots_of_line, "thread 37 does not come to: that one waits at a ballot of .zf line 44, another",
     OTHER "32, .zf line 44"},
    {"a barrier too few", barrier_behind, "thread 37 does not come to: that one waits at a barrier of .zf line 45, another",
     OTHER "0, .zf line 45"},
};

static void test_faults(void) { check_faults(faults, sizeof faults / sizeof faults[0], scan); }

static void load_base(KERNEL_ARGS) {
    UNUSED_ARGS;
    if (is_chosen(thread)) load(thread, (const uint32_t *)(const void *)base + 25, 41);
}

// Byte 100 to 104 is read; holes that touch it, and others.
static void test_holes(void) {
    const struct {
        zf_emu_hole holes[2];
        bool found;
    } rows[] = {{{{0, 100}, {104, 1280}}, false}, {{{0, 1}, {103, 104}}, true},       {{{0, 101}, {200, 300}}, true},
                {{{50, 60}, {100, 104}}, true},   {{{102, 103}, {1000, 1280}}, true}, {{{0, 0}, {0, 0}}, false}};
    machine m = start(1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zf_error error = {0};
        zf_emu_set_holes(m.emu, rows[i].holes, 2);
        zf_status status = run(&m, load_base, THREADS, &error);
        CHECK(status == (rows[i].found ? ZF_ERR_INTERNAL : ZF_OK), "holes %zu: %s", i, error.message);
        CHECK(!rows[i].found ||
                  strstr(error.message, "reads 4 bytes at byte 100 of `base`, of which nothing may be read") != NULL,
              "holes %zu: %s", i, error.message);
        zf_emu_set_holes(m.emu, NULL, 0);
        CHECK(run(&m, load_base, THREADS, &error) == ZF_OK, "without holes: %s", error.message);
    }
    stop(&m);
}

static void change_out(KERNEL_ARGS) {
    UNUSED_ARGS;
    if (is_chosen(thread)) zf_emu_check(thread, (uint32_t *)(void *)out + 25, 4, 4, ZF_EMU_ATOMIC, 42);
}

static void store_then_load(KERNEL_ARGS) {
    UNUSED_ARGS;
    uint32_t *at = (uint32_t *)(void *)out + 26;
    if (is_chosen(thread)) store(thread, at, 1, 43);
    if (is_chosen(thread)) load(thread, at, 44);
}

/// Byte 100 to 104 of the base is read after a part of it was forgotten and written again in several ways.
static void test_unwritten(void) {
    machine m = start(1);
    const zf_accelerator_ops *ops = m.emu->ops;
    zf_error error = {0};
    CHECK(run(&m, load_base, THREADS, &error) == ZF_OK, "a copy wrote it: %s", error.message);
    for (unsigned forgotten = 98; forgotten < 106; forgotten++) {
        zf_emu_forget(m.emu, m.base + forgotten, 1);
        bool read = forgotten >= 100 && forgotten < 104;
        char text[100];
        snprintf(text, sizeof text, "reads 4 bytes at byte 100 of `base`, of which nothing wrote byte %u", forgotten);
        zf_status status = run(&m, load_base, THREADS, &error);
        CHECK(status == (read ? ZF_ERR_INTERNAL : ZF_OK) && (!read || strstr(error.message, text) != NULL), "byte %u: %s",
              forgotten, error.message);
        CHECK(!read || strstr(error.place, ".zf line 41") != NULL, "byte %u: %s", forgotten, error.place);
        CHECK(ops->fill(m.emu, NULL, m.base + forgotten, 1, 1, &error) == ZF_OK && run(&m, load_base, THREADS, &error) == ZF_OK,
              "byte %u, filled: %s", forgotten, error.message);
    }
    // A copy within the device writes what is written where it comes from.
    zf_emu_forget(m.emu, m.base + 100, 4);
    CHECK(ops->copy_within(m.emu, NULL, m.base + 96, m.base + 98, 4, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->copy_within(m.emu, NULL, m.base + 100, m.base + 98, 4, &error) == ZF_OK, "%s", error.message);
    CHECK(run(&m, load_base, THREADS, &error) == ZF_ERR_INTERNAL && strstr(error.message, "wrote byte 100") != NULL, "%s",
          error.message);
    CHECK(ops->copy_within(m.emu, NULL, m.base + 100, m.base, 4, &error) == ZF_OK && run(&m, load_base, THREADS, &error) == ZF_OK,
          "copied: %s", error.message);
    stop(&m);
}

/// Kernels read what they wrote, and nothing else of new memory, unless a kernel has failed.
static void test_unwritten_by_kernels(void) {
    machine m = start(1);
    zf_error error = {0};
    m.forgets = true;
    CHECK(run(&m, store_then_load, THREADS, &error) == ZF_OK, "%s", error.message);
    CHECK(run(&m, change_out, THREADS, &error) == ZF_ERR_INTERNAL &&
              strstr(error.message, "changes 4 bytes at byte 100 of `out`, of which nothing wrote byte 100") != NULL,
          "%s", error.message);
    CHECK(m.emu->ops->fill(m.emu, NULL, m.failure, 0, 8, &error) == ZF_OK && run(&m, change_out, THREADS, &error) == ZF_OK,
          "behind a failure: %s", error.message);
    stop(&m);
}

/// An application's device lets kernels read memory that nothing wrote, also after a part of it was forgotten.
static void test_unwritten_by_default(void) {
    machine m = start(1);
    zf_error error = {0};
    zf_emu_free(m.emu);
    CHECK(zf_emu_create(1, wave, &m.emu, &error) == ZF_OK, "%s", error.message);
    const zf_accelerator_ops *ops = m.emu->ops;
    CHECK(ops->allocate(m.emu, ELEMENTS * 4, &m.base, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->allocate(m.emu, ELEMENTS * 4, &m.out, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->allocate(m.emu, 8, &m.failure, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->fill(m.emu, NULL, m.failure, 0xff, 8, &error) == ZF_OK, "%s", error.message);
    CHECK(run(&m, load_base, THREADS, &error) == ZF_OK, "%s", error.message);
    zf_emu_forget(m.emu, m.base, ELEMENTS * 4);
    CHECK(run(&m, load_base, THREADS, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->copy_within(m.emu, NULL, m.base, m.base + 8, 8, &error) == ZF_OK, "%s", error.message);
    stop(&m);
}

/// Writes where no check is made, as a launcher with wrong sizes would.
static void silent_behind(KERNEL_ARGS) {
    UNUSED_ARGS;
    if (is_chosen(thread)) out[ELEMENTS * 4] = 1;
}

static void silent_before(KERNEL_ARGS) {
    UNUSED_ARGS;
    if (is_chosen(thread)) ((uint8_t *)((uintptr_t)out - 1))[0] = 1;
}

/// Moves leave no memory, and what was written where they come from is written where they go.
static void test_moves(void) {
    machine m = start(1);
    zf_error error = {0};
    check_moved_bits(m.emu);
    zf_bit_run run_of = {.from = 8, .to = 801, .bits = 31, .cleared = 0};
    zf_move_args args = {.from = m.base, .to = m.base, .longest = 31, .count = 1, .from_bytes = 400, .to_bytes = 400};
    CHECK(m.emu->ops->copy_in(m.emu, NULL, m.out, &run_of, sizeof run_of, &error) == ZF_OK, "%s", error.message);
    args.runs = m.out;
    for (unsigned k = 0; k < 3; k++) { // the last word lies outside; the run is longer than was said; it fits
        args.to_bytes = k == 0 ? 100 : 104;
        args.longest = k == 1 ? 30 : 31;
        zf_status status = m.emu->ops->move_bits(m.emu, NULL, &args, &error);
        CHECK(status == (k == 2 ? ZF_OK : ZF_ERR_INTERNAL), "case %u: %s", k, error.message);
    }
    // A word that a run joins was written before, at both of its ends; what it was joined to stays.
    const struct {
        zf_bit_run run;
        uint64_t forgotten;
        const char *message;
    } joined[] = {{{.from = 8, .to = 801, .bits = 31}, 103, "nothing wrote byte 103"},
                  {{.from = 8, .to = 800, .bits = 33}, 107, "nothing wrote byte 107"},
                  {{.from = 8, .to = 800, .bits = 8, .cleared = 3}, 102, "nothing wrote byte 102"},
                  {{.from = 8, .to = 800, .bits = 32}, 104, NULL},
                  {{.from = 8, .to = 800, .bits = 8, .cleared = 24}, 100, NULL},
                  {{.from = 8, .to = 801}, 100, NULL}};
    args.to_bytes = 400;
    args.longest = 64;
    for (size_t k = 0; k < sizeof joined / sizeof *joined; k++) {
        CHECK(m.emu->ops->copy_in(m.emu, NULL, m.base, m.values, sizeof m.values, &error) == ZF_OK, "%s", error.message);
        CHECK(m.emu->ops->copy_in(m.emu, NULL, m.out, &joined[k].run, sizeof run_of, &error) == ZF_OK, "%s", error.message);
        zf_emu_forget(m.emu, m.base + joined[k].forgotten, 1);
        zf_status status = m.emu->ops->move_bits(m.emu, NULL, &args, &error);
        CHECK(joined[k].message == NULL ? status == ZF_OK : status == ZF_ERR_INTERNAL && strstr(error.message, joined[k].message),
              "case %zu: %s", k, error.message);
    }
    // Bytes of the source that have a bit of a run were written; others need not be.
    const struct {
        uint64_t forgotten;
        const char *message;
    } sources[] = {{0, NULL}, {1, "reads byte 1 of its source"}, {5, "reads byte 5 of its source"}, {6, NULL}};
    run_of = (zf_bit_run){.from = 15, .to = 800, .bits = 32};
    CHECK(m.emu->ops->copy_in(m.emu, NULL, m.out, &run_of, sizeof run_of, &error) == ZF_OK, "%s", error.message);
    for (size_t k = 0; k < sizeof sources / sizeof *sources; k++) {
        CHECK(m.emu->ops->copy_in(m.emu, NULL, m.base, m.values, sizeof m.values, &error) == ZF_OK, "%s", error.message);
        zf_emu_forget(m.emu, m.base + sources[k].forgotten, 1);
        zf_status status = m.emu->ops->move_bits(m.emu, NULL, &args, &error);
        const char *message = sources[k].message;
        CHECK(message == NULL ? status == ZF_OK : status == ZF_ERR_INTERNAL && strstr(error.message, message) != NULL,
              "source %zu: %s", k, error.message);
    }
    // They need not be where a kernel failed, or tiles are missing.
    run_of = (zf_bit_run){.from = 8, .to = 800, .bits = 32};
    CHECK(m.emu->ops->copy_in(m.emu, NULL, m.base, m.values, sizeof m.values, &error) == ZF_OK, "%s", error.message);
    CHECK(m.emu->ops->copy_in(m.emu, NULL, m.out, &run_of, sizeof run_of, &error) == ZF_OK, "%s", error.message);
    zf_emu_forget(m.emu, m.base + 4, 1);
    args.failures = m.failure;
    args.failures_bytes = 8;
    for (unsigned k = 0; k < 3; k++) {
        args.tiles_missing = k == 1;
        CHECK(m.emu->ops->fill(m.emu, NULL, m.failure, k == 2 ? 0 : 0xff, 8, &error) == ZF_OK, "%s", error.message);
        zf_status status = m.emu->ops->move_bits(m.emu, NULL, &args, &error);
        CHECK(k > 0 ? status == ZF_OK : status == ZF_ERR_INTERNAL && strstr(error.message, "reads byte 4 of its source") != NULL,
              "case %u: %s", k, error.message);
    }
    stop(&m);
}

static void test_canaries(void) {
    const struct {
        kernel_fn kernel;
        const char *message;
    } rows[] = {{silent_behind, "behind an allocation of 1280 bytes"}, {silent_before, "before an allocation of 1280 bytes"}};
    for (size_t i = 0; i < 2; i++) {
        machine m = start(1);
        zf_error error;
        CHECK(run(&m, rows[i].kernel, THREADS, &error) == ZF_ERR_INTERNAL, "a canary was touched");
        CHECK(strstr(error.message, rows[i].message) != NULL, "%s", error.message);
        stop(&m);
    }
}

/// Loads a kernel that needs so much shared memory, `given` of it by its launches.
static zf_status load_sharing(machine *m, uint32_t bytes, uint32_t given, zf_error *error) {
    zf_abi_simt_kernel simt = {.name = "k",
                               .threads = THREADS,
                               .tiles = 1,
                               .warp = warp_lanes,
                               .emulated = copy,
                               .shared_bytes = bytes,
                               .dynamic_bytes = given};
    zf_abi_plan plan = {.kernel_count = 1};
    zf_abi_code code = {.simt = &simt};
    zf_accelerator_code *loaded = NULL;
    return m->emu->ops->load(m->emu, &plan, &code, &loaded, error);
}

static void test_misuse(void) {
    machine m = start(1);
    zf_error error;
    uint64_t address;
    uint8_t bytes[8];
    const zf_accelerator_ops *ops = m.emu->ops;
    CHECK(run(&m, copy, 33, &error) == ZF_ERR_INTERNAL, "33 threads");
    warp_lanes = 64;
    CHECK(run(&m, copy, THREADS, &error) == ZF_ERR_INTERNAL, "a warp of two waves");
    warp_lanes = 32;
    CHECK(run(&m, copy, 2048, &error) == ZF_ERR_INTERNAL, "2048 threads");
    CHECK(run(&m, NULL, 32, &error) == ZF_ERR_INTERNAL && strstr(error.message, "not made for"), "%s", error.message);
    CHECK(load_sharing(&m, 48 * 1024, 0, &error) == ZF_OK, "%s", error.message);
    CHECK(load_sharing(&m, 48 * 1024 + 16, 0, &error) == ZF_ERR_INTERNAL, "more shared memory than code for a GPU may declare");
    CHECK(load_sharing(&m, 232448, 232448, &error) == ZF_OK, "%s", error.message);
    CHECK(load_sharing(&m, 232448 + 16, 232448 + 16, &error) == ZF_ERR_INTERNAL, "more than a launch may give");
    CHECK(load_sharing(&m, 232448, 232448 - 16, &error) == ZF_ERR_INTERNAL, "some declared and some given");
    zf_multiprocessor_facts facts;
    CHECK(ops->multiprocessor_facts(m.emu, &facts, &error) == ZF_OK && facts.block_shared == 232448, "%u", facts.block_shared);
    CHECK(ops->allocate(m.emu, UINT64_MAX - 100, &address, &error) == ZF_ERR_DEVICE && strcmp(error.code, "ZF1108") == 0, "%s",
          error.code);
    CHECK(ops->copy_in(m.emu, NULL, m.out + ELEMENTS * 4 - 4, bytes, 8, &error) == ZF_ERR_USAGE, "a copy beyond the end");
    CHECK(ops->copy_out(m.emu, NULL, bytes, m.out - 8, 8, &error) == ZF_ERR_USAGE, "a copy before the start");
    CHECK(ops->fill(m.emu, NULL, 0, 0, 8, &error) == ZF_ERR_USAGE, "filling nothing");
    uint64_t out = m.out;
    m.out += 4;
    CHECK(run(&m, copy, THREADS, &error) == ZF_ERR_USAGE, "an argument that leaves its allocation");
    m.out = out;
    stop(&m);
}

int main(void) {
    test_right();
    wave = warp_lanes = 64;
    test_right();
    warp_lanes = 32; // half a wave
    test_right();
    test_halves();
    test_faults();
    wave = 32;
    test_orders();
    test_faults();
    test_holes();
    test_unwritten();
    test_unwritten_by_kernels();
    test_unwritten_by_default();
    test_moves();
    test_canaries();
    test_misuse();
    return check_result();
}
