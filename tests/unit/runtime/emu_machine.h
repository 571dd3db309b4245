// An emulated GPU, and kernels written by hand that run on it: what tests of the emulator share.
#ifndef ZF_TESTS_EMU_MACHINE_H
#define ZF_TESTS_EMU_MACHINE_H

#include <stdlib.h>
#include <string.h>

#include "emulator/emu.h"
#include "tests/unit/check.h"

/// Lanes of the emulated GPU's waves, and of the kernels' warps: a wave, or half of one.
static uint32_t wave = 32, warp_lanes = 32;

enum { THREADS = 64, GROUPS = 5, ELEMENTS = THREADS * GROUPS, SHARED = 1024 };

#define KERNEL_ARGS                                                                                                              \
    void *thread, const uint8_t *base, const uint64_t *blocks, const uint32_t *first, const uint8_t *work, uint8_t *out,         \
        uint8_t *validity, int64_t *offsets, uint64_t *failure, uint32_t block_count, uint32_t even
#define UNUSED_ARGS                                                                                                              \
    (void)thread, (void)base, (void)blocks, (void)first, (void)work, (void)out, (void)validity, (void)offsets, (void)failure,    \
        (void)block_count, (void)even
typedef void (*kernel_fn)(KERNEL_ARGS);

static inline uint32_t load(void *thread, const uint32_t *at, uint32_t line) {
    zf_emu_check(thread, at, 4, 4, ZF_EMU_LOAD, line);
    return *at;
}

static inline void store(void *thread, uint32_t *at, uint32_t value, uint32_t line) {
    zf_emu_check(thread, at, 4, 4, ZF_EMU_STORE, line);
    *at = value;
}

static inline uint32_t global_index(void *thread) { return zf_emu_group(thread) * THREADS + zf_emu_thread(thread); }

/// In the thread's wave: the first lane of its warp.
static inline uint32_t first_lane(void *thread) { return zf_emu_thread(thread) % wave / warp_lanes * warp_lanes; }

/// All of the wave's lanes, and of its halves where a warp is one.
#define ALL_LANES (UINT64_MAX >> (64 - wave))
enum { HALF = 32 };
#define LOWER_HALF UINT64_C(0xffffffff)
#define UPPER_HALF UINT64_C(0xffffffff00000000)

// ---- Running one ----------------------------------------------------------------------------------------------

typedef struct machine {
    zf_accelerator *emu;
    uint64_t base, out, failure;
    bool forgets; ///< `out` is new memory for each launch
    uint32_t values[ELEMENTS];
} machine;

static inline machine start(unsigned threads) {
    machine m = {0};
    zf_error error = {0};
    CHECK(zf_emu_create(threads, wave, &m.emu, &error) == ZF_OK, "%s", error.message);
    zf_emu_check_unwritten(m.emu, true);
    const zf_accelerator_ops *ops = m.emu->ops;
    CHECK(ops->target(m.emu).family == ZF_TARGET_EMU && ops->target(m.emu).arch == wave, "target");
    CHECK(ops->allocate(m.emu, ELEMENTS * 4, &m.base, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->allocate(m.emu, ELEMENTS * 4, &m.out, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->allocate(m.emu, 8, &m.failure, &error) == ZF_OK, "%s", error.message);
    CHECK(m.base % 256 == 0 && m.out % 256 == 0, "not aligned");
    for (uint32_t i = 0; i < ELEMENTS; i++) m.values[i] = i * 7 + 3;
    CHECK(ops->copy_in(m.emu, NULL, m.base, m.values, sizeof m.values, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->fill(m.emu, NULL, m.failure, 0xff, 8, &error) == ZF_OK, "%s", error.message);
    return m;
}

static inline zf_status run(machine *m, kernel_fn kernel, uint32_t threads, zf_error *error) {
    const zf_accelerator_ops *ops = m->emu->ops;
    zf_abi_simt_kernel simt = {
        .name = "k", .threads = threads, .tiles = 1, .warp = warp_lanes, .emulated = kernel, .shared_bytes = SHARED};
    zf_abi_plan plan = {.kernel_count = 1};
    zf_abi_code code = {.simt = &simt};
    zf_accelerator_code *loaded = NULL, *again = NULL;
    zf_simt_args args = {.base = m->base,
                         .out = m->out,
                         .failure = m->failure,
                         .failures = m->failure,
                         .failures_bytes = 8,
                         .block_count = 1,
                         .base_bytes = ELEMENTS * 4,
                         .out_bytes = ELEMENTS * 4};
    *error = (zf_error){0};
    zf_status status = ops->load(m->emu, &plan, &code, &loaded, error);
    if (status != ZF_OK) return status;
    CHECK(ops->load(m->emu, &plan, &code, &again, error) == ZF_OK && again == loaded, "the same code was loaded twice");
    ops->unload(m->emu, again); // the first reference keeps the code
    status = ops->fill(m->emu, NULL, m->out, 0xee, ELEMENTS * 4, error);
    if (m->forgets) zf_emu_forget(m->emu, m->out, ELEMENTS * 4);
    if (status == ZF_OK) status = ops->launch(m->emu, NULL, loaded, 0, GROUPS, &args, error);
    if (status == ZF_OK) status = ops->wait(m->emu, NULL, error);
    ops->unload(m->emu, loaded); // the next one loads it again
    return status;
}

static inline void stop(machine *m) {
    m->emu->ops->release(m->emu, m->base);
    zf_emu_free(m->emu); // what was not released goes with it
}

static inline bool is_chosen(void *thread) { return zf_emu_group(thread) == 3 && zf_emu_thread(thread) == 37; }

#define FAULTY(name, ...)                                                                                                        \
    static void name(KERNEL_ARGS) {                                                                                              \
        UNUSED_ARGS;                                                                                                             \
        uint32_t *shared = zf_emu_shared(thread, 0, 0), *values = (uint32_t *)(void *)out, number = zf_emu_thread(thread);       \
        (void)shared, (void)values, (void)number;                                                                                \
        __VA_ARGS__                                                                                                              \
    }

typedef struct fault {
    const char *name;
    kernel_fn kernel;
    const char *message, *place; ///< parts of them
} fault;

/// Each of `faults` is found, with what it says and where, on one thread and on two; `good` runs behind it.
static inline void check_faults(const fault *faults, size_t count, kernel_fn good) {
    for (unsigned threads = 1; threads <= 2; threads++) {
        machine m = start(threads);
        for (uint64_t seed = 0; seed < 6; seed++) {
            zf_emu_set_seed(m.emu, seed);
            for (size_t i = 0; i < count; i++) {
                zf_error error;
                zf_status status = run(&m, faults[i].kernel, THREADS, &error);
                CHECK(status == ZF_ERR_INTERNAL && strcmp(error.code, "ZF1904") == 0, "seed %llu: %s was not found",
                      (unsigned long long)seed, faults[i].name);
                CHECK(strstr(error.message, faults[i].message) != NULL, "%s: %s", faults[i].name, error.message);
                CHECK(strstr(error.place, "device emu: kernel k, thread block ") == error.place, "%s", error.place);
                CHECK(strstr(error.place, faults[i].place) != NULL || seed != 0, "%s: %s", faults[i].name, error.place);
                // The machine stays usable.
                CHECK(run(&m, good, THREADS, &error) == ZF_OK, "after %s: %s at %s", faults[i].name, error.message, error.place);
            }
        }
        stop(&m);
    }
}

#define CHOSEN "kernel k, thread block 3, thread 37, .zf line "
#define OTHER "kernel k, thread block 3, thread "

#endif
