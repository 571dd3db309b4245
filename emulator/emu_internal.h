// The emulated GPU inside: its memory (emu_memory.c), a thread block (emu_block.c), races (emu_race.c), launches (device_emu.c).
#ifndef ZF_EMULATOR_EMU_INTERNAL_H
#define ZF_EMULATOR_EMU_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "emulator/emu.h"
#include "emulator/emu_fiber.h"

// ---- Memory ---------------------------------------------------------------------------------------------------

typedef struct zf_emu_allocation {
    uint8_t *map; ///< a canary, the bytes, a canary
    uint8_t *at;
    uint8_t *written; ///< of each byte: 1 once a copy, a fill or a kernel wrote it; NULL: all count as written
    uint64_t bytes;
    struct zf_emu_allocation *next;
} zf_emu_allocation;

typedef struct zf_emu_memory {
    pthread_mutex_t lock;
    bool marks; ///< allocations get a `written`
    zf_emu_allocation *all;
} zf_emu_memory;

void zf_emu_memory_init(zf_emu_memory *memory);
void zf_emu_memory_destroy(zf_emu_memory *memory);
/// Aligned to 256, filled with a pattern, between canaries.
zf_status zf_emu_allocate(zf_emu_memory *memory, uint64_t bytes, uint64_t *address, zf_error *error);
void zf_emu_release(zf_emu_memory *memory, uint64_t address);
/// Finds where it is noted whether each of the bytes from `address` on is written, or NULL where nothing is noted. Returns false
/// unless all lie in one allocation.
bool zf_emu_find(zf_emu_memory *memory, uint64_t address, uint64_t bytes, uint8_t **written);
/// Whether all canaries are whole.
zf_status zf_emu_canaries(zf_emu_memory *memory, zf_error *error);

// ---- Races ----------------------------------------------------------------------------------------------------

/// The threads that touched a byte of shared memory since a barrier. The time of a thread block is its number of barriers, and
/// that of a warp the number of its own barriers. Barriers of a warp order the accesses of its threads as long as no other warp
/// touches the byte; another warp may race with accesses before them. Each kind of access records its own threads, because a
/// later access of another kind must not hide an earlier one.
typedef struct zf_emu_shadow {
    uint32_t time;       ///< barriers so far + 1, of what follows; 0: nobody touched it
    uint32_t warp_time;  ///< of `warp`
    uint16_t warp;       ///< whose threads did; ZF_EMU_WARPS: several
    uint16_t who[3][2];  ///< by zf_emu_access: two threads that did so, their numbers + 1; 0: there was no (other) one
    uint16_t earlier[3]; ///< likewise: a thread of `warp` that did so before a barrier of the warp
} zf_emu_shadow;

typedef struct zf_emu_when {
    uint16_t thread, warp;
    uint32_t time; ///< never 0
    uint32_t warp_time;
} zf_emu_when;

/// Notes an access, and returns a thread that it races with, or -1. `now` is a value, so that no caller has it in memory: threads
/// whose functions have nothing there need no second stack from AddressSanitizer.
int zf_emu_race(zf_emu_shadow *byte, zf_emu_access access, zf_emu_when now);

// ---- A thread block -------------------------------------------------------------------------------------------

enum { ZF_EMU_PIECE = 16, ZF_EMU_STORED = 1 << 12 };
enum { ZF_EMU_OBJECTS = 8, ZF_EMU_WARPS = ZF_EMU_THREADS_MOST / ZF_EMU_LEAST_WARP, ZF_EMU_COUNTERS = 4, ZF_EMU_COUNTS = 32 };

/// By warp: how many barriers of its own it had passed when others learned of what it did before.
typedef uint32_t zf_emu_known[ZF_EMU_WARPS];

/// A counter that warps publish: its last values, by turns, and what the warp knew that published each.
typedef struct zf_emu_counter {
    const void *at; ///< in shared memory; NULL: there is none
    uint32_t count; ///< values so far
    uint32_t values[ZF_EMU_COUNTS];
    zf_emu_known known[ZF_EMU_COUNTS];
} zf_emu_counter;

/// Memory that a launch gives to its kernel.
typedef struct zf_emu_object {
    const char *name;
    uintptr_t at;
    uint64_t bytes;
    bool writable;
    uint8_t *written; ///< as zf_emu_allocation has it
} zf_emu_object;

typedef struct zf_emu_launch {
    const zf_abi_simt_kernel *kernel;
    const zf_simt_args *args;
    zf_emu_object objects[ZF_EMU_OBJECTS]; ///< the first is the base
    const zf_emu_hole *holes;              ///< of the base
    uint32_t hole_count;
    uint32_t wave; ///< lanes of a wave: one warp of the kernel, or two
    bool complete; ///< no kernel of the plan has failed before: all that they make is written
    uint64_t seed;
} zf_emu_launch;

typedef enum zf_emu_state {
    ZF_EMU_READY,
    ZF_EMU_AT_BARRIER,
    ZF_EMU_AT_SHUFFLE,
    ZF_EMU_AT_BALLOT,
    ZF_EMU_AT_WARP_BARRIER,
    ZF_EMU_AT_COUNTER,
    ZF_EMU_ENDED
} zf_emu_state;

struct zf_emu_block;
/// A copy that a thread has started and not waited for.
typedef struct zf_emu_copy_state {
    uint8_t *to, bytes[ZF_EMU_PIECE];
    uint32_t turn; ///< the thread's waits before it
    uint32_t line;
} zf_emu_copy_state;

/// Those of one thread, the oldest first. The memory stays for the next thread block.
typedef struct zf_emu_copies {
    zf_emu_copy_state *all;
    uint32_t count, room, turn;
} zf_emu_copies;

/// The last store at a place of global memory, for those that read it. Others at its entry of the table replace it.
typedef struct zf_emu_stored {
    uintptr_t at;
    uint32_t run; ///< of the thread block; 0: none
    zf_emu_when when;
} zf_emu_stored;

typedef struct zf_emu_thread_state {
    struct zf_emu_block *block;
    uint32_t number;
    uint32_t warp, half; ///< its warp in the block; the first lane of its half of the wave
    zf_emu_state state;
    uint32_t call, line;  ///< where it waits
    uint32_t value, lane; ///< what it brings to an operation of its warp
    const void *counter;  ///< that it waits for
    uint64_t result;
    const zf_emu_object *last; ///< of its last access to global memory, if that has no holes; NULL: not known
} zf_emu_thread_state;

/// Room to run one thread block at a time. Used again by later launches.
typedef struct zf_emu_block {
    zf_fiber fibers[ZF_EMU_THREADS_MOST];
    zf_emu_thread_state threads[ZF_EMU_THREADS_MOST];
    uint16_t order[ZF_EMU_THREADS_MOST];
    uint32_t time, warp_times[ZF_EMU_WARPS];
    zf_emu_known known[ZF_EMU_WARPS]; ///< by warp: what it knows of others by counters
    zf_emu_counter counters[ZF_EMU_COUNTERS];
    unsigned fiber_count; ///< that have stacks
    uint8_t *shared;
    zf_emu_shadow *shadow, before; ///< of each byte of `shared`; and of the first byte of an access, before it
    uint32_t shared_room;
    zf_fiber host;
    const zf_emu_launch *launch;
    zf_emu_copies copies[ZF_EMU_THREADS_MOST];
    zf_emu_stored stored[ZF_EMU_STORED];
    uint32_t run; ///< thread blocks so far
    uint32_t group;
    uint64_t random;
    zf_status fault; ///< not ZF_OK: what `error` says
    zf_error error;
    struct zf_emu_block *next; ///< in the list of those that are free
} zf_emu_block;

/// Makes room for a launch. Called by the thread of the host that will run it.
zf_status zf_emu_block_ready(zf_emu_block *block, const zf_emu_launch *launch, zf_error *error);
/// Runs thread block `group` to its end or its first fault.
zf_status zf_emu_block_run(zf_emu_block *block, uint32_t group);
void zf_emu_block_free(zf_emu_block *block);

#endif
