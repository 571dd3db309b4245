// One thread block of the emulated GPU: its threads as fibers, where they meet, and what they may touch.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/emu_internal.h"
#include "runtime/base/error_codes.h"

typedef unsigned long long ull;

enum { SHARED_BYTE = 0xa7, ALIGNMENT = 256 };

// ---- Faults ---------------------------------------------------------------------------------------------------

/// A place as the reports of checks name it, FILE:LINE, behind `before`; nothing where there is none.
static void name_line(const zf_emu_block *block, uint32_t line, const char *before, char *out, size_t room) {
    const char *const *files = block->launch->kernel->files;
    const char *file = files != NULL ? files[ZF_ABI_PLACE_FILE(line)] : NULL;
    size_t length = file != NULL ? strlen(file) : 0, most = 120; // an error's place has room for the end of a path
    out[0] = 0;
    if (line == 0) return;
    if (file != NULL)
        snprintf(out, room, "%s%s:%u", before, length > most ? file + length - most : file, ZF_ABI_PLACE_LINE(line));
    else
        snprintf(out, room, "%s.zf line %u", before, ZF_ABI_PLACE_LINE(line));
}

static void place_fault(zf_emu_block *block, const zf_emu_thread_state *thread, uint32_t line) {
    char where[256];
    name_line(block, line, ", ", where, sizeof where);
    block->fault = block->error.status;
    zf_fail_place(&block->error, block->fault, "device emu: kernel %.96s, thread block %u, thread %u%s",
                  block->launch->kernel->name, block->group, thread->number, where);
}

/// Ends the launch: goes back to the host for good.
#define FAULT(thread, line, ...)                                                                                                 \
    do {                                                                                                                         \
        zf_raise(&(thread)->block->error, ZF_E_KERNEL_FAULT, __VA_ARGS__);                                                       \
        place_fault((thread)->block, (thread), (line));                                                                          \
        zf_fiber_switch(&(thread)->block->fibers[(thread)->number], &(thread)->block->host, true);                               \
        __builtin_unreachable();                                                                                                 \
    } while (0)

static const char *state_text(zf_emu_state state) {
    switch (state) {
    case ZF_EMU_READY: return "runs";
    case ZF_EMU_AT_BARRIER: return "waits at a barrier";
    case ZF_EMU_AT_SHUFFLE: return "waits at a shuffle";
    case ZF_EMU_AT_BALLOT: return "waits at a ballot";
    case ZF_EMU_AT_WARP_BARRIER: return "waits at a barrier of its warp";
    case ZF_EMU_AT_COUNTER: return "waits for a counter";
    case ZF_EMU_ENDED: return "has ended";
    }
    return "";
}

static bool waits_with(const zf_emu_thread_state *a, const zf_emu_thread_state *b) {
    return a->state == b->state && a->call == b->call && a->line == b->line;
}

static bool has_counted(const zf_emu_thread_state *thread) { return *(const uint32_t *)thread->counter >= thread->value; }

static zf_emu_counter *find_counter(zf_emu_block *block, const void *at) {
    for (unsigned k = 0; k < ZF_EMU_COUNTERS; k++) {
        if (block->counters[k].at == at) return &block->counters[k];
    }
    return NULL;
}

/// A warp learns what is known to who published the first value that it waited for. A later one may not have been there.
static void learn(zf_emu_block *block, const zf_emu_thread_state *thread, uint32_t warp) {
    const zf_emu_counter *counter = find_counter(block, thread->counter);
    if (counter == NULL) return;
    uint32_t k = counter->count > ZF_EMU_COUNTS ? counter->count - ZF_EMU_COUNTS : 0;
    while (k < counter->count && counter->values[k % ZF_EMU_COUNTS] < thread->value) k++;
    if (k == counter->count) return;
    uint32_t *known = block->known[warp];
    const uint32_t *more = counter->known[k % ZF_EMU_COUNTS];
    for (unsigned w = 0; w < ZF_EMU_WARPS; w++) {
        if (known[w] < more[w]) known[w] = more[w];
    }
}

/// Finds a warp that waits for a counter, all of it. Returns its first thread whose value has not come, or NULL.
static const zf_emu_thread_state *uncounted(const zf_emu_block *block, uint32_t count) {
    uint32_t lanes = block->launch->kernel->warp;
    for (uint32_t i = 0; i < count; i += lanes) {
        const zf_emu_thread_state *warp = &block->threads[i], *found = NULL;
        uint32_t there = 0;
        for (; warp->state == ZF_EMU_AT_COUNTER && there < lanes && waits_with(&warp[there], warp); there++)
            if (found == NULL && !has_counted(&warp[there])) found = &warp[there];
        if (there == lanes && found != NULL) return found;
    }
    return NULL;
}

/// No thread can go on, and not all have ended: names one that waits and one that does not come.
static void stuck(zf_emu_block *block, uint32_t count) {
    const zf_emu_thread_state *waits = NULL, *missing = NULL;
    uint32_t lanes = block->launch->kernel->warp;
    for (uint32_t i = 0; i < count && missing == NULL; i++) { // a warp's lanes wait for each other
        const zf_emu_thread_state *thread = &block->threads[i];
        if (thread->state == ZF_EMU_ENDED || thread->state == ZF_EMU_AT_BARRIER) continue;
        const zf_emu_thread_state *warp = &block->threads[i / lanes * lanes];
        for (uint32_t lane = 0; lane < lanes && missing == NULL; lane++) {
            if (waits_with(&warp[lane], thread)) continue;
            waits = thread;
            missing = &warp[lane];
        }
    }
    for (uint32_t i = 0; i < count && waits == NULL; i++) {
        if (block->threads[i].state != ZF_EMU_ENDED) waits = &block->threads[i];
    }
    const zf_emu_thread_state *counts = missing == NULL ? uncounted(block, count) : NULL;
    if (counts != NULL) {
        zf_raise(&block->error, ZF_E_KERNEL_FAULT, "the thread waits until a counter is %u, which stays %u",
                 (unsigned)counts->value, (unsigned)*(const uint32_t *)counts->counter);
        place_fault(block, counts, counts->line);
        return;
    }
    for (uint32_t i = 0; i < count && missing == NULL; i++) {
        if (!waits_with(&block->threads[i], waits)) missing = &block->threads[i];
    }
    char line[256] = "";
    if (missing->state != ZF_EMU_ENDED) name_line(block, missing->line, " of ", line, sizeof line);
    bool same_text = missing->state == waits->state && missing->line == waits->line; // which would say that nothing is wrong
    zf_raise(&block->error, ZF_E_KERNEL_FAULT, "the thread %s that thread %u does not come to: that one %s%s%s",
             state_text(waits->state), missing->number, state_text(missing->state), line, same_text ? ", another one" : "");
    place_fault(block, waits, waits->line);
}

// ---- Threads --------------------------------------------------------------------------------------------------

ZF_FIBER_LEAVES static void enter(void *user) {
    zf_emu_thread_state *thread = user;
    zf_emu_block *block = thread->block;
    zf_fiber *fiber = &block->fibers[thread->number];
    zf_fiber_entered(fiber, &block->host);
    const zf_simt_args *args = block->launch->args;
    block->launch->kernel->emulated(thread, (const uint8_t *)(uintptr_t)args->base, (const uint64_t *)(uintptr_t)args->blocks,
                                    (const uint32_t *)(uintptr_t)args->first, (const uint8_t *)(uintptr_t)args->work,
                                    (uint8_t *)(uintptr_t)args->out, (uint8_t *)(uintptr_t)args->validity,
                                    (int64_t *)(uintptr_t)args->offsets, (uint64_t *)(uintptr_t)args->failure, args->block_count,
                                    args->even);
    thread->state = ZF_EMU_ENDED;
    zf_fiber_end(fiber, &block->host);
}

/// Waits until the scheduler lets the thread go on.
static void wait_at(zf_emu_thread_state *thread, zf_emu_state state, uint32_t call, uint32_t line) {
    thread->state = state;
    thread->call = call;
    thread->line = line;
    zf_fiber_switch(&thread->block->fibers[thread->number], &thread->block->host, false);
}

uint32_t zf_emu_thread(void *thread) { return ((const zf_emu_thread_state *)thread)->number; }
uint32_t zf_emu_group(void *thread) { return ((const zf_emu_thread_state *)thread)->block->group; }
void *zf_emu_shared(void *thread, uint32_t offset, uint32_t bytes) {
    (void)bytes; // where it ends is announced with each access
    return ((const zf_emu_thread_state *)thread)->block->shared + offset;
}
void zf_emu_barrier(void *thread, uint32_t call, uint32_t line) { wait_at(thread, ZF_EMU_AT_BARRIER, call, line); }

uint32_t zf_emu_shuffle(void *thread, uint32_t value, uint32_t lane, uint32_t call, uint32_t line) {
    zf_emu_thread_state *self = thread;
    uint32_t wave = self->block->launch->wave, warp = self->block->launch->kernel->warp;
    if (lane >= wave) FAULT(self, line, "a shuffle asks for lane %u of %u", lane, wave);
    if (lane - self->half >= warp) // the other half may not be here
        FAULT(self, line, "a shuffle asks for lane %u, where its half of the wave has the lanes %u to %u", lane, self->half,
              self->half + warp - 1);
    self->value = value;
    self->lane = lane;
    wait_at(self, ZF_EMU_AT_SHUFFLE, call, line);
    return (uint32_t)self->result;
}

uint64_t zf_emu_ballot(void *thread, uint32_t predicate, uint32_t call, uint32_t line) {
    zf_emu_thread_state *self = thread;
    self->value = predicate;
    wait_at(self, ZF_EMU_AT_BALLOT, call, line);
    return self->result;
}

void zf_emu_warp_barrier(void *thread, uint32_t call, uint32_t line) { wait_at(thread, ZF_EMU_AT_WARP_BARRIER, call, line); }

void zf_emu_publish(void *thread, void *counter, uint32_t value, uint32_t line) {
    zf_emu_thread_state *self = thread;
    zf_emu_block *block = self->block;
    uint32_t warp = self->number / block->launch->kernel->warp;
    zf_emu_check(thread, counter, sizeof value, sizeof value, ZF_EMU_ATOMIC, line);
    zf_emu_counter *found = find_counter(block, counter);
    if (found == NULL) found = find_counter(block, NULL);
    if (found == NULL) FAULT(self, line, "a thread block has more than %d counters", ZF_EMU_COUNTERS);
    found->at = counter;
    block->known[warp][warp] = block->warp_times[warp];
    memcpy(found->known[found->count % ZF_EMU_COUNTS], block->known[warp], sizeof block->known[warp]);
    found->values[found->count++ % ZF_EMU_COUNTS] = value;
    *(uint32_t *)counter = value;
}

void zf_emu_await_counter(void *thread, void *counter, uint32_t value, uint32_t call, uint32_t line) {
    zf_emu_thread_state *self = thread;
    zf_emu_check(thread, counter, sizeof value, sizeof value, ZF_EMU_ATOMIC, line);
    self->counter = counter;
    self->value = value;
    wait_at(self, ZF_EMU_AT_COUNTER, call, line);
}

/// Whether the lanes of a half (or of a whole wave), `count` from `lanes` on, are at the same operation, and can go on.
static bool half_meets(const zf_emu_thread_state *lanes, uint32_t count) {
    zf_emu_state state = lanes[0].state;
    bool counts = state == ZF_EMU_AT_COUNTER;
    if (state != ZF_EMU_AT_SHUFFLE && state != ZF_EMU_AT_BALLOT && state != ZF_EMU_AT_WARP_BARRIER && !counts) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!waits_with(&lanes[i], &lanes[0]) || (counts && !has_counted(&lanes[i]))) return false;
    }
    return true;
}

/// Lets the lanes of a wave go on that are at its next operation, as a wave with an execution mask does. If halves are at
/// different ones, the half with the lower call goes first: it may come to where the other waits. Lanes that are not there are
/// masked: they have no vote, and nobody waits for them.
static bool finish_wave(zf_emu_block *block, uint32_t number) {
    uint32_t wave = block->launch->wave, count = block->launch->kernel->warp;
    zf_emu_thread_state *lanes = &block->threads[number * wave];
    const zf_emu_thread_state *next = NULL; // a lane of the half that goes first
    bool meets[2] = {false};                // of each half
    uint64_t votes = 0, mask = 0;
    for (uint32_t half = 0; half * count < wave; half++) {
        const zf_emu_thread_state *first = &lanes[half * count];
        meets[half] = half_meets(first, count);
        if (meets[half] && (next == NULL || first->call < next->call)) next = first;
    }
    if (next == NULL) return false;
    zf_emu_state state = next->state;
    for (uint32_t half = 0; half * count < wave; half++) {
        if (!meets[half] || !waits_with(&lanes[half * count], next)) continue;
        for (uint32_t i = half * count; i < (half + 1) * count; i++) {
            mask |= UINT64_C(1) << i;
            votes |= (uint64_t)(lanes[i].value != 0) << i;
        }
    }
    for (uint32_t i = 0; i < wave; i++) {
        if ((mask >> i & 1) == 0) continue;
        lanes[i].result = state == ZF_EMU_AT_SHUFFLE ? lanes[lanes[i].lane].value : votes;
        lanes[i].state = ZF_EMU_READY;
        if (state == ZF_EMU_AT_WARP_BARRIER && i % count == 0) block->warp_times[lanes[i].number / count]++;
        if (state == ZF_EMU_AT_COUNTER) learn(block, &lanes[i], lanes[i].number / count);
    }
    return true;
}

/// Lets all threads go on if they are at the same barrier.
static bool finish_barrier(zf_emu_block *block, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (block->threads[i].state != ZF_EMU_AT_BARRIER || !waits_with(&block->threads[i], &block->threads[0])) return false;
    }
    for (uint32_t i = 0; i < count; i++) block->threads[i].state = ZF_EMU_READY;
    block->time++;
    return true;
}

/// A generator of the kind "xorshift"; its state is never 0.
static uint32_t random_below(zf_emu_block *block, uint32_t limit) {
    uint64_t x = block->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    block->random = x;
    return (uint32_t)((x >> 32) * limit >> 32);
}

static void shuffle_order(zf_emu_block *block, uint32_t count) {
    if (block->launch->seed == 0) return;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t k = random_below(block, i);
        uint16_t other = block->order[k];
        block->order[k] = block->order[i - 1];
        block->order[i - 1] = other;
    }
}

// Shared memory begins with what others left there: bytes that are no number of a kernel, or, by the seed, numbers that might be
// its own. `shared_room` is a multiple of words.
static void fill_shared(zf_emu_block *block) {
    enum { SMALL = 1024 };
    uint32_t bytes = block->launch->kernel->shared_bytes;
    uint64_t random = block->random;
    if (random % 2 == 0) {
        memset(block->shared, SHARED_BYTE, bytes);
        return;
    }
    for (uint32_t at = 0; at < bytes; at += sizeof(uint32_t)) {
        random = random * UINT64_C(6364136223846793005) + 1;
        uint32_t word = (uint32_t)(random >> 32) % SMALL;
        memcpy(block->shared + at, &word, sizeof word);
    }
}

zf_status zf_emu_block_run(zf_emu_block *block, uint32_t group) {
    const zf_abi_simt_kernel *kernel = block->launch->kernel;
    uint32_t count = kernel->threads, waves = count / block->launch->wave, warp = kernel->warp, left = count;
    block->group = group;
    block->fault = ZF_OK;
    block->time = 1;
    memset(block->warp_times, 0, sizeof block->warp_times);
    memset(block->known, 0, sizeof block->known);
    for (unsigned k = 0; k < ZF_EMU_COUNTERS; k++) block->counters[k].at = NULL, block->counters[k].count = 0;
    block->random = (block->launch->seed * UINT64_C(0x9e3779b97f4a7c15)) ^ ((group + 1) * UINT64_C(0xbf58476d1ce4e5b9));
    if (block->random == 0) block->random = 1;
    if (++block->run == 0) block->run = 1;
    fill_shared(block);
    memset(block->shadow, 0, kernel->shared_bytes * sizeof *block->shadow);
    for (uint32_t i = 0; i < count; i++) {
        block->order[i] = (uint16_t)i;
        block->threads[i] =
            (zf_emu_thread_state){.block = block, .number = i, .warp = i / warp, .half = i % block->launch->wave / warp * warp};
        block->copies[i].count = block->copies[i].turn = 0;
        zf_fiber_start(&block->fibers[i], enter, &block->threads[i]);
    }
    while (left > 0) {
        shuffle_order(block, count);
        for (uint32_t i = 0; i < count; i++) {
            zf_emu_thread_state *thread = &block->threads[block->order[i]];
            if (thread->state != ZF_EMU_READY) continue;
            zf_fiber_switch(&block->host, &block->fibers[thread->number], false);
            if (block->fault != ZF_OK) return block->fault;
            left -= thread->state == ZF_EMU_ENDED;
        }
        bool some = false;
        for (uint32_t wave = 0; wave < waves; wave++) some |= finish_wave(block, wave);
        if (some || left == 0 || finish_barrier(block, count)) continue;
        stuck(block, count);
        return block->fault;
    }
    return ZF_OK;
}

// ---- Accesses -------------------------------------------------------------------------------------------------

static const char *verb_of(uint32_t access) {
    return access == ZF_EMU_LOAD ? "reads" : access == ZF_EMU_STORE ? "writes" : "changes";
}

static zf_emu_when now_of(const zf_emu_thread_state *thread) {
    const zf_emu_block *block = thread->block;
    return (zf_emu_when){(uint16_t)thread->number, (uint16_t)thread->warp, block->time, block->warp_times[thread->warp]};
}

/// Word by word: a sanitizer intercepts memcmp, which is slow where it is called for each byte.
static bool is_same(const zf_emu_shadow *a, const zf_emu_shadow *b) {
    enum { WORDS = sizeof *a / sizeof(uint32_t) };
    _Static_assert(sizeof *a % sizeof(uint32_t) == 0, "whole words");
    const uint32_t *x = (const uint32_t *)(const void *)a, *y = (const uint32_t *)(const void *)b;
    uint32_t differs = 0;
    for (unsigned k = 0; k < WORDS; k++) differs |= x[k] ^ y[k];
    return differs == 0;
}

static void check_shared(zf_emu_thread_state *thread, uint64_t begin, uint32_t bytes, uint32_t access, uint32_t line) {
    zf_emu_block *block = thread->block;
    zf_emu_when now = now_of(thread);
    zf_emu_shadow *first = &block->shadow[begin], *before = &block->before; // see zf_emu_race about locals in memory
    for (uint32_t i = 0; i < bytes; i++) {
        zf_emu_shadow *byte = &first[i];
        if (i > 0 && is_same(byte, before)) { // as the first byte was, which did not race
            *byte = *first;
            continue;
        }
        if (i == 0) *before = *byte;
        int other = zf_emu_race(byte, (zf_emu_access)access, now);
        if (other >= 0) {
            FAULT(thread, line, "races with thread %d: it %s byte %llu of shared memory, and no barrier orders the two", other,
                  verb_of(access), (ull)(begin + i));
        }
    }
}

static void check_holes(zf_emu_thread_state *thread, uint64_t offset, uint32_t bytes, uint32_t access, uint32_t line) {
    const zf_emu_launch *launch = thread->block->launch;
    for (uint32_t h = 0; h < launch->hole_count && launch->holes[h].begin < offset + bytes; h++) {
        if (launch->holes[h].end <= offset) continue;
        FAULT(thread, line, "%s %u bytes at byte %llu of `base`, of which nothing may be read between %llu and %llu",
              verb_of(access), bytes, (ull)offset, (ull)launch->holes[h].begin, (ull)launch->holes[h].end);
    }
}

/// Whether an access lies in the object, and is of a kind that it allows.
static bool allows(const zf_emu_object *object, uintptr_t address, uint32_t bytes, uint32_t access) {
    uint64_t offset = address - object->at;
    return offset < object->bytes && bytes <= object->bytes - offset && (access == ZF_EMU_LOAD || object->writable);
}

/// Elements that threads of a block give to each other by global memory: a barrier must order the store and the load.
static void check_given(zf_emu_thread_state *thread, uintptr_t address, uint32_t access, uint32_t line) {
    zf_emu_block *block = thread->block;
    zf_emu_when now = now_of(thread);
    zf_emu_stored *stored = &block->stored[(address ^ address >> 12) % ZF_EMU_STORED];
    if (access == ZF_EMU_STORE) {
        *stored = (zf_emu_stored){address, block->run, now};
        return;
    }
    if (access != ZF_EMU_LOAD || stored->at != address || stored->run != block->run) return;
    if (stored->when.thread == now.thread || stored->when.time != now.time) return;
    if (stored->when.warp == now.warp && stored->when.warp_time != now.warp_time) return;
    if (stored->when.warp_time < block->known[now.warp][stored->when.warp]) return;
    FAULT(thread, line, "reads what thread %u wrote, and no barrier orders the two", (unsigned)stored->when.thread);
}

/// Notes what an access of the object writes. One that reads must find its bytes written, by whichever thread.
static void check_written(zf_emu_thread_state *thread, const zf_emu_object *object, uintptr_t address, uint32_t bytes,
                          uint32_t access, uint32_t line) {
    if (object->written == NULL) return;
    uint64_t offset = address - object->at;
    uint8_t *written = object->written + offset;
    bool complete = thread->block->launch->complete;
    for (uint32_t i = 0; i < bytes; i++) { // threads of other thread blocks may write the same bytes
        if (access == ZF_EMU_STORE)
            __atomic_store_n(&written[i], 1, __ATOMIC_RELAXED);
        else if (complete && __atomic_load_n(&written[i], __ATOMIC_RELAXED) == 0)
            FAULT(thread, line, "%s %u bytes at byte %llu of `%s`, of which nothing wrote byte %llu", verb_of(access), bytes,
                  (ull)offset, object->name, (ull)(offset + i));
    }
}

void zf_emu_check(void *pointer, const void *at, uint32_t bytes, uint32_t align, uint32_t access, uint32_t line) {
    zf_emu_thread_state *thread = pointer;
    const zf_emu_block *block = thread->block;
    const zf_emu_launch *launch = block->launch;
    uintptr_t address = (uintptr_t)at;
    if (align != 0 && (address & (align - 1)) != 0) { // a power of two
        FAULT(thread, line, "%s %u bytes at an address that is %u beyond a multiple of %u", verb_of(access), bytes,
              (uint32_t)(address & (align - 1)), align);
    }
    uint32_t shared = launch->kernel->shared_bytes;
    uint64_t begin = address - (uintptr_t)block->shared;
    if (begin < shared) {
        if (bytes > shared - begin) {
            FAULT(thread, line, "%s %u bytes at byte %llu of shared memory, which has %u", verb_of(access), bytes, (ull)begin,
                  shared);
        }
        check_shared(thread, begin, bytes, access, line);
        return;
    }
    if (thread->last != NULL && allows(thread->last, address, bytes, access)) { // most accesses are near the one before
        if (thread->last->writable) check_given(thread, address, access, line);
        check_written(thread, thread->last, address, bytes, access, line);
        return;
    }
    const zf_emu_object *near = NULL;
    for (unsigned i = 0; i < ZF_EMU_OBJECTS; i++) {
        const zf_emu_object *object = &launch->objects[i];
        uint64_t offset = address - object->at;
        if (offset >= object->bytes) continue;
        if (i == 0) check_holes(thread, offset, bytes, access, line);
        if (allows(object, address, bytes, access)) {
            if (i > 0 || launch->hole_count == 0) thread->last = object;
            if (object->writable) check_given(thread, address, access, line);
            check_written(thread, object, address, bytes, access, line);
            return;
        }
        if (near == NULL || object->writable) near = object;
    }
    if (near == NULL) FAULT(thread, line, "%s %u bytes where the launch has no memory", verb_of(access), bytes);
    uint64_t offset = address - near->at;
    if (bytes <= near->bytes - offset) {
        FAULT(thread, line, "%s %u bytes at byte %llu of `%s`, which kernels only read", verb_of(access), bytes, (ull)offset,
              near->name);
    }
    FAULT(thread, line, "%s %u bytes at byte %llu of `%s`, which has %llu", verb_of(access), bytes, (ull)offset, near->name,
          (ull)near->bytes);
}

void zf_emu_check_local(void *pointer, const void *at, uint32_t bytes, const void *object, uint32_t object_bytes, uint32_t align,
                        uint32_t line) {
    zf_emu_thread_state *thread = pointer;
    uint64_t offset = (uintptr_t)at - (uintptr_t)object;
    if (offset > object_bytes || bytes > object_bytes - offset) {
        FAULT(thread, line, "touches %u bytes at byte %lld of an array of %u", bytes, (long long)offset, object_bytes);
    }
    if (align != 0 && (uintptr_t)at % align != 0) {
        FAULT(thread, line, "touches %u bytes of an array at an address that is %u beyond a multiple of %u", bytes,
              (uint32_t)((uintptr_t)at % align), align);
    }
}

// ---- Copies ---------------------------------------------------------------------------------------------------

// A copy may be made at once, so its place must be free already; it is made as late as can be.
void zf_emu_copy(void *pointer, void *to, const void *from, uint32_t line) {
    zf_emu_thread_state *thread = pointer;
    zf_emu_copies *copies = &thread->block->copies[thread->number];
    zf_emu_check(thread, from, ZF_EMU_PIECE, ZF_EMU_PIECE, ZF_EMU_LOAD, line);
    zf_emu_check(thread, to, ZF_EMU_PIECE, ZF_EMU_PIECE, ZF_EMU_STORE, line);
    if (copies->count == copies->room) {
        uint32_t room = 2 * copies->room + 8;
        zf_emu_copy_state *all = realloc(copies->all, room * sizeof *all);
        if (all == NULL) FAULT(thread, line, "no memory for %u copies", room);
        copies->all = all;
        copies->room = room;
    }
    zf_emu_copy_state *copy = &copies->all[copies->count++];
    *copy = (zf_emu_copy_state){.to = to, .turn = copies->turn, .line = line};
    memcpy(copy->bytes, from, ZF_EMU_PIECE);
}

void zf_emu_await(void *pointer, uint32_t pending) {
    zf_emu_thread_state *thread = pointer;
    zf_emu_copies *copies = &thread->block->copies[thread->number];
    uint32_t made = 0, turns = ++copies->turn;
    for (; made < copies->count && copies->all[made].turn + pending < turns; made++) {
        const zf_emu_copy_state *copy = &copies->all[made];
        zf_emu_check(thread, copy->to, ZF_EMU_PIECE, ZF_EMU_PIECE, ZF_EMU_STORE, copy->line);
        memcpy(copy->to, copy->bytes, ZF_EMU_PIECE);
    }
    copies->count -= made;
    if (made > 0) memmove(copies->all, copies->all + made, copies->count * sizeof *copies->all);
}

// ---- Room -----------------------------------------------------------------------------------------------------

zf_status zf_emu_block_ready(zf_emu_block *block, const zf_emu_launch *launch, zf_error *error) {
    uint32_t threads = launch->kernel->threads, shared = launch->kernel->shared_bytes;
    if (threads > block->fiber_count) {
        zf_fiber_stacks_free(block->fibers, block->fiber_count);
        block->fiber_count = 0;
        ZF_TRY(zf_fiber_stacks(block->fibers, threads, error));
        block->fiber_count = threads;
    }
    if (shared > block->shared_room || block->shared == NULL) {
        uint32_t room = (shared + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
        free(block->shared);
        free(block->shadow);
        block->shared_room = 0;
        block->shared = aligned_alloc(ALIGNMENT, room);
        block->shadow = calloc(room, sizeof *block->shadow);
        if (block->shared == NULL || block->shadow == NULL) {
            return zf_raise(error, ZF_E_NO_MEMORY, "no memory for %u bytes of shared memory", shared);
        }
        block->shared_room = room;
    }
    block->launch = launch;
    zf_fiber_host(&block->host);
    return ZF_OK;
}

void zf_emu_block_free(zf_emu_block *block) {
    zf_fiber_stacks_free(block->fibers, block->fiber_count);
    free(block->shared);
    free(block->shadow);
    for (uint32_t i = 0; i < ZF_EMU_THREADS_MOST; i++) free(block->copies[i].all);
    free(block);
}
