// The emulated GPU as a device: the same launches as on a GPU, run on the CPU with every access checked. For tests, and for
// machines without a GPU; used only when it is named.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emulator/emu_internal.h"
#include "runtime/base/bits.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/container/zone.h"
#include "runtime/context/context.h"
#include "runtime/device/device.h"
#include "zipflow/emulator.h"

struct zf_accelerator_code {
    zf_abi_simt_kernel *kernels; ///< a copy: whoever made the code may free it, with the functions and the names of files
    uint32_t count;
    uint64_t references; ///< guarded by the emulator's lock
    zf_accelerator_code *next;
};

typedef struct emulator {
    zf_accelerator base; ///< first
    zf_emu_memory memory;
    unsigned threads, wave;
    atomic_uint_fast64_t seed;
    const zf_emu_hole *holes;
    uint32_t hole_count;
    pthread_mutex_t lock; ///< guards what follows
    zf_accelerator_code *codes;
    zf_emu_block *free;
} emulator;

static zf_abi_target target(const zf_accelerator *self) {
    return (zf_abi_target){.family = ZF_TARGET_EMU, .arch = ((const emulator *)self)->wave};
}

// ---- Memory ---------------------------------------------------------------------------------------------------

static zf_status allocate(zf_accelerator *self, uint64_t bytes, uint64_t *address, zf_error *error) {
    return zf_emu_allocate(&((emulator *)self)->memory, bytes, address, error);
}

static void release(zf_accelerator *self, uint64_t address) { zf_emu_release(&((emulator *)self)->memory, address); }

static zf_status host_allocate(zf_accelerator *self, uint64_t bytes, void **at, zf_error *error) {
    (void)self;
    uint64_t room;
    *at = zf_align_up(bytes != 0 ? bytes : 1, 64, &room) ? aligned_alloc(64, room) : NULL;
    return *at != NULL ? ZF_OK : zf_raise(error, ZF_E_NO_MEMORY, "no memory for %llu bytes", (unsigned long long)bytes);
}

static void host_release(zf_accelerator *self, void *at) {
    (void)self;
    free(at);
}

/// Finds the notes of a range of the device's memory (zf_emu_find). The emulator's own callers use memory that it allocated, so
/// memory of another kind comes from a caller of zf_decode_async.
static zf_status find_range(zf_accelerator *self, const char *what, uint64_t address, uint64_t bytes, uint8_t **written,
                            zf_error *error) {
    if (zf_emu_find(&((emulator *)self)->memory, address, bytes, written)) return ZF_OK;
    return zf_raise(error, ZF_E_BUFFER, "%s of %llu bytes is not memory of the device", what, (unsigned long long)bytes);
}

static zf_status copy_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes, zf_error *error) {
    (void)stream;
    uint8_t *written;
    ZF_TRY(find_range(self, "the destination of a copy", to, bytes, &written, error));
    if (bytes == 0) return ZF_OK;
    memcpy((void *)(uintptr_t)to, from, bytes);
    if (written != NULL) memset(written, 1, bytes);
    return ZF_OK;
}

static zf_status copy_out(zf_accelerator *self, void *stream, void *to, uint64_t from, uint64_t bytes, zf_error *error) {
    (void)stream;
    uint8_t *written;
    ZF_TRY(find_range(self, "the source of a copy", from, bytes, &written, error));
    if (bytes > 0) memcpy(to, (const void *)(uintptr_t)from, bytes);
    return ZF_OK;
}

static zf_status copy_within(zf_accelerator *self, void *stream, uint64_t to, uint64_t from, uint64_t bytes, zf_error *error) {
    (void)stream;
    uint8_t *written, *written_from;
    ZF_TRY(find_range(self, "the destination of a copy", to, bytes, &written, error));
    ZF_TRY(find_range(self, "the source of a copy", from, bytes, &written_from, error));
    if (bytes == 0) return ZF_OK;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    if (written != NULL && written_from != NULL) memmove(written, written_from, bytes);
    if (written != NULL && written_from == NULL) memset(written, 1, bytes);
    return ZF_OK;
}

static zf_status fill(zf_accelerator *self, void *stream, uint64_t to, uint8_t byte, uint64_t bytes, zf_error *error) {
    (void)stream;
    uint8_t *written;
    ZF_TRY(find_range(self, "the filled range", to, bytes, &written, error));
    if (bytes == 0) return ZF_OK;
    memset((void *)(uintptr_t)to, byte, bytes);
    if (written != NULL) memset(written, 1, bytes);
    return ZF_OK;
}

// ---- Code -----------------------------------------------------------------------------------------------------

static bool same_kernel(const zf_abi_simt_kernel *a, const zf_abi_simt_kernel *b) {
    return a->emulated == b->emulated && a->threads == b->threads && a->warp == b->warp && a->tiles == b->tiles &&
           a->shared_bytes == b->shared_bytes && a->dynamic_bytes == b->dynamic_bytes && a->files == b->files &&
           strcmp(a->name, b->name) == 0;
}

static bool same_code(const zf_accelerator_code *known, const zf_abi_simt_kernel *kernels, uint32_t count) {
    if (known->count != count) return false;
    for (uint32_t k = 0; k < count; k++) {
        if (!same_kernel(&known->kernels[k], &kernels[k])) return false;
    }
    return true;
}

static void free_code(zf_accelerator_code *code) {
    for (uint32_t k = 0; code->kernels != NULL && k < code->count; k++) free((void *)(uintptr_t)code->kernels[k].name);
    free(code->kernels);
    free(code);
}

static zf_status check_kernel(const emulator *emu, const zf_abi_simt_kernel *kernel, zf_error *error) {
    if (kernel->threads == 0) return ZF_OK; // there is none
    if (kernel->emulated == NULL)
        return zf_raise(error, ZF_E_INTERNAL, "kernel `%s` was not made for the emulator", kernel->name);
    bool warps = kernel->warp >= ZF_EMU_LEAST_WARP && kernel->warp <= emu->wave && emu->wave % kernel->warp == 0;
    bool threads = warps && kernel->threads % emu->wave == 0 && kernel->threads <= ZF_EMU_THREADS_MOST;
    bool shared = kernel->dynamic_bytes == 0
                      ? kernel->shared_bytes <= ZF_EMU_SHARED_DECLARED
                      : kernel->shared_bytes == kernel->dynamic_bytes && kernel->dynamic_bytes <= ZF_EMU_SHARED_MOST;
    if (threads && kernel->tiles > 0 && shared) return ZF_OK;
    return zf_raise(error, ZF_E_INTERNAL,
                    "kernel `%s` has %u threads, warps of %u, %u tiles and %u bytes of shared memory, %u of them by its launches",
                    kernel->name, kernel->threads, kernel->warp, kernel->tiles, kernel->shared_bytes, kernel->dynamic_bytes);
}

static zf_accelerator_code *copy_code(const zf_abi_simt_kernel *kernels, uint32_t count) {
    zf_accelerator_code *code = calloc(1, sizeof *code);
    if (code == NULL) return NULL;
    code->kernels = calloc((size_t)count + 1, sizeof *code->kernels);
    code->count = code->kernels != NULL ? count : 0;
    bool good = code->kernels != NULL;
    for (uint32_t k = 0; good && k < count; k++) {
        code->kernels[k] = kernels[k];
        code->kernels[k].name = strdup(kernels[k].name);
        good = code->kernels[k].name != NULL;
        if (!good) code->count = k;
    }
    if (good) return code;
    free_code(code);
    return NULL;
}

static zf_status load(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code, zf_accelerator_code **out,
                      zf_error *error) {
    emulator *emu = (emulator *)self;
    *out = NULL;
    if (code->simt == NULL) return zf_raise(error, ZF_E_INTERNAL, "the source of code gave no kernels for the emulator");
    for (uint32_t k = 0; k < plan->kernel_count; k++) ZF_TRY(check_kernel(emu, &code->simt[k], error));
    pthread_mutex_lock(&emu->lock);
    zf_accelerator_code *found = emu->codes;
    while (found != NULL && !same_code(found, code->simt, plan->kernel_count)) found = found->next;
    if (found == NULL) {
        found = copy_code(code->simt, plan->kernel_count);
        if (found != NULL) {
            found->next = emu->codes;
            emu->codes = found;
        }
    }
    if (found != NULL) found->references++;
    pthread_mutex_unlock(&emu->lock);
    *out = found;
    return found != NULL ? ZF_OK : zf_raise(error, ZF_E_NO_MEMORY, "no memory for code");
}

static void unload(zf_accelerator *self, zf_accelerator_code *code) {
    emulator *emu = (emulator *)self;
    pthread_mutex_lock(&emu->lock);
    bool last = --code->references == 0;
    zf_accelerator_code **at = &emu->codes;
    while (last && *at != code) at = &(*at)->next;
    if (last) *at = code->next;
    pthread_mutex_unlock(&emu->lock);
    if (last) free_code(code);
}

// ---- Launches -------------------------------------------------------------------------------------------------

static zf_emu_block *take_block(emulator *emu) {
    pthread_mutex_lock(&emu->lock);
    zf_emu_block *block = emu->free;
    if (block != NULL) emu->free = block->next;
    pthread_mutex_unlock(&emu->lock);
    return block != NULL ? block : calloc(1, sizeof *block);
}

static void give_block(emulator *emu, zf_emu_block *block) {
    pthread_mutex_lock(&emu->lock);
    block->next = emu->free;
    emu->free = block;
    pthread_mutex_unlock(&emu->lock);
}

typedef struct running {
    emulator *emu;
    zf_emu_launch launch;
    uint32_t groups;
    zf_emu_block *blocks[ZF_THREADS_MOST]; ///< per worker
    atomic_uint_fast64_t failed;           ///< least thread block with a fault
    pthread_mutex_t lock;
    zf_status status;
    zf_error error;
} running;

static zf_status run_group(running *r, uint32_t group, unsigned worker, zf_error *error) {
    zf_emu_block *block = r->blocks[worker];
    if (block == NULL) {
        block = take_block(r->emu);
        if (block == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a thread block");
        zf_status ready = zf_emu_block_ready(block, &r->launch, error);
        if (ready != ZF_OK) {
            give_block(r->emu, block);
            return ready;
        }
        r->blocks[worker] = block; // only one that is ready: its launch is this one
    }
    zf_status status = zf_emu_block_run(block, group);
    if (status != ZF_OK) *error = block->error;
    return status;
}

static void run_one(void *user, uint64_t index, unsigned worker) {
    running *r = user;
    uint32_t group = (uint32_t)index;
    if (r->launch.seed % 2 == 1) group = r->groups - 1 - group; // thread blocks have no order either
    if (group > atomic_load(&r->failed)) return;
    zf_error error;
    zf_status status = run_group(r, group, worker, &error);
    if (status == ZF_OK) return;
    pthread_mutex_lock(&r->lock);
    if (group < atomic_load(&r->failed)) {
        atomic_store(&r->failed, group);
        r->status = status;
        r->error = error;
    }
    pthread_mutex_unlock(&r->lock);
}

/// Checks the launch's memory, and finds its notes.
static zf_status check_args(zf_accelerator *self, zf_emu_launch *launch, zf_error *error) {
    static const uint32_t alignments[ZF_EMU_OBJECTS] = {256, 8, 4, 256, 1, 1, 8, 8};
    for (unsigned i = 0; i < ZF_EMU_OBJECTS; i++) {
        zf_emu_object *object = &launch->objects[i];
        if (object->bytes == 0) continue;
        ZF_TRY(find_range(self, object->name, object->at, object->bytes, &object->written, error));
        if (object->at % alignments[i] == 0) continue;
        return zf_raise(error, ZF_E_INTERNAL, "`%s` of a launch is not aligned to %u bytes", object->name, alignments[i]);
    }
    return ZF_OK;
}

/// Whether no kernel of the plan has failed. One that did may have left elements out, and later kernels read them all the same.
static bool is_complete(uint64_t failures, uint64_t bytes) {
    const uint64_t *words = (const uint64_t *)(uintptr_t)failures;
    for (uint64_t k = 0; k < bytes / sizeof *words; k++) {
        if (words[k] != ZF_ABI_NO_FAILURE) return false;
    }
    return true;
}

static zf_status launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                        const zf_simt_args *args, zf_error *error) {
    (void)stream;
    emulator *emu = (emulator *)self;
    if (kernel >= code->count || code->kernels[kernel].threads == 0 || groups == 0 || groups > ZF_SIMT_MOST_TILES ||
        args->block_count == 0 || args->block_count > ZF_SIMT_MOST_BLOCKS) {
        return zf_raise(error, ZF_E_INTERNAL, "a launch of kernel %u with %u thread blocks for %u blocks", kernel, groups,
                        args->block_count);
    }
    running r = {.emu = emu,
                 .launch = {.kernel = &code->kernels[kernel],
                            .args = args,
                            .objects = {{"base", args->base, args->base_bytes, false, NULL},
                                        {"blocks", args->blocks, args->blocks_bytes, false, NULL},
                                        {"first", args->first, args->first_bytes, false, NULL},
                                        {"work", args->work, args->work_bytes, false, NULL},
                                        {"out", args->out, args->out_bytes, true, NULL},
                                        {"validity", args->validity, args->validity_bytes, true, NULL},
                                        {"offsets", args->offsets, args->offsets_bytes, true, NULL},
                                        {"failure", args->failures, args->failures_bytes, true, NULL}},
                            .holes = emu->holes,
                            .hole_count = emu->hole_count,
                            .wave = emu->wave,
                            .seed = atomic_load(&emu->seed)},
                 .groups = groups,
                 .status = ZF_OK};
    ZF_TRY(check_args(self, &r.launch, error));
    r.launch.complete = is_complete(args->failures, args->failures_bytes);
    atomic_init(&r.failed, UINT64_MAX);
    pthread_mutex_init(&r.lock, NULL);
    zf_parallel_for(emu->threads, groups, run_one, &r);
    pthread_mutex_destroy(&r.lock);
    for (unsigned i = 0; i < ZF_THREADS_MOST; i++) {
        if (r.blocks[i] != NULL) give_block(emu, r.blocks[i]);
    }
    if (r.status != ZF_OK && error != NULL) *error = r.error;
    return r.status;
}

/// Marks words that a run fills as written. Those that it does not fill were known before.
static void note_run(const zf_bit_run *run, uint8_t *written) {
    uint64_t begin = (run->to + 31) / 32 * 4, end = (run->to + run->bits + run->cleared) / 32 * 4;
    if (begin < end) memset(written + begin, 1, end - begin);
}

/// Demands that bytes of the source with a bit of the run were written.
static zf_status check_source(const zf_bit_run *run, const uint8_t *written, uint32_t number, zf_error *error) {
    for (uint64_t byte = run->from / 8; run->bits > 0 && byte * 8 < run->from + run->bits; byte++) {
        if (written[byte] != 0) continue;
        return zf_raise(error, ZF_E_KERNEL_FAULT, "run %u of a move reads byte %llu of its source, which nothing wrote", number,
                        (unsigned long long)byte);
    }
    return ZF_OK;
}

/// Demands that the first and the last word of a run were written, unless the run fills them.
static zf_status check_joined(const zf_bit_run *run, const uint8_t *written, uint32_t number, zf_error *error) {
    const uint64_t places[] = {run->to, run->to + run->bits + run->cleared};
    for (unsigned k = 0; k < 2 && places[0] != places[1]; k++) {
        for (uint64_t byte = places[k] / 32 * 4; places[k] % 32 != 0 && byte < places[k] / 32 * 4 + 4; byte++) {
            if (written[byte] != 0) continue;
            return zf_raise(error, ZF_E_KERNEL_FAULT, "run %u of a move joins a word, of which nothing wrote byte %llu", number,
                            (unsigned long long)byte);
        }
    }
    return ZF_OK;
}

static zf_status move_bits(zf_accelerator *self, void *stream, const zf_move_args *args, zf_error *error) {
    (void)stream;
    uint8_t *written_from, *written, *written_runs;
    const zf_bit_run *runs = (const zf_bit_run *)(uintptr_t)args->runs;
    if (args->count == 0 || args->count > ZF_SIMT_MOST_BLOCKS || args->from % 4 != 0 || args->to % 4 != 0)
        return zf_raise(error, ZF_E_INTERNAL, "a move of %u runs of bits", args->count);
    ZF_TRY(find_range(self, "the table of a move", args->runs, args->count * sizeof *runs, &written_runs, error));
    ZF_TRY(find_range(self, "the source of a move", args->from, args->from_bytes, &written_from, error));
    ZF_TRY(find_range(self, "the destination of a move", args->to, args->to_bytes, &written, error));
    for (uint32_t r = 0; r < args->count; r++) {
        const zf_bit_run *run = &runs[r];
        uint64_t all = run->bits + run->cleared, from_end = (run->from + run->bits + 31) / 32 * 4,
                 end = (run->to + all + 31) / 32 * 4;
        if (all > args->longest || from_end > args->from_bytes || end > args->to_bytes)
            return zf_raise(error, ZF_E_INTERNAL, "run %u of a move leaves its memory", r);
    }
    static const uint8_t zeroes[8] = {0};
    zf_status status = ZF_OK;
    pthread_mutex_lock(&((emulator *)self)->lock); // bytes may be shared with moves of other threads
    for (uint32_t r = 0; r < args->count && status == ZF_OK && written != NULL; r++)
        status = check_joined(&runs[r], written, r, error);
    bool complete = !args->tiles_missing && is_complete(args->failures, args->failures_bytes);
    for (uint32_t r = 0; r < args->count && status == ZF_OK && written_from != NULL && complete; r++)
        status = check_source(&runs[r], written_from, r, error);
    for (uint32_t r = 0; r < args->count && status == ZF_OK; r++) {
        const zf_bit_run *run = &runs[r];
        uint8_t *to = (uint8_t *)(uintptr_t)args->to;
        zf_copy_bits(to, run->to, (const uint8_t *)(uintptr_t)args->from, run->from, run->bits);
        for (uint64_t done = 0, now; done < run->cleared; done += now) {
            now = run->cleared - done < 64 ? run->cleared - done : 64;
            zf_copy_bits(to, run->to + run->bits + done, zeroes, 0, now);
        }
        if (written != NULL) note_run(run, written);
    }
    pthread_mutex_unlock(&((emulator *)self)->lock);
    return status;
}

static zf_status zones(zf_accelerator *self, void *stream, const zf_zones_args *args, zf_error *error) {
    (void)stream;
    uint8_t *written;
    const uint64_t *spans = (const uint64_t *)(uintptr_t)args->spans, *words = (const uint64_t *)(uintptr_t)args->words;
    zf_zone_found *found = (zf_zone_found *)(uintptr_t)args->found;
    ZF_TRY(find_range(self, "the spans of zones", args->spans, args->count * 2 * sizeof *spans, &written, error));
    if (args->values_bytes > 0)
        ZF_TRY(find_range(self, "the values of zones", args->values, args->values_bytes, &written, error));
    if (args->offsets_bytes > 0)
        ZF_TRY(find_range(self, "the offsets of zones", args->offsets, args->offsets_bytes, &written, error));
    if (args->validity_bytes > 0)
        ZF_TRY(find_range(self, "the validity of zones", args->validity, args->validity_bytes, &written, error));
    ZF_TRY(find_range(self, "the failure words of a decode", args->words, args->word_count * sizeof *words, &written, error));
    ZF_TRY(find_range(self, "the results of zones", args->found, args->count * sizeof *found, &written, error));
    for (uint32_t w = 0; w < args->word_count; w++) {
        if (words[w] != ZF_ABI_NO_FAILURE) return ZF_OK;
    }
    bool text = args->element == ZF_STRING, bits = args->element == ZF_BOOL;
    uint64_t size = text ? 0 : zf_element_bits((zf_element)args->element);
    const zf_zone_rows rows = {.element = (zf_element)args->element,
                               .values = (const void *)(uintptr_t)args->values,
                               .offsets = (const int64_t *)(uintptr_t)args->offsets,
                               .first_offset = text ? *(const int64_t *)(uintptr_t)args->offsets : 0,
                               .validity = (const uint8_t *)(uintptr_t)args->validity,
                               .validity_bit = args->validity_skip - (text ? 0 : args->skip)}; // rows count from `skip` on
    for (uint32_t z = 0; z < args->count; z++) {
        uint64_t first = spans[2 * z] + (text ? 0 : args->skip), end = first + spans[2 * z + 1];
        bool fits = text ? (end + 1) * sizeof(int64_t) <= args->offsets_bytes
                         : (bits ? (end + 7) / 8 : end * (size / 8)) <= args->values_bytes;
        if (!fits) return zf_raise(error, ZF_E_INTERNAL, "zone %u leaves the rows", z);
        zf_zone_find(&rows, first, end, &found[z]);
    }
    if (written != NULL) memset(written, 1, args->count * sizeof *found);
    return ZF_OK;
}

static zf_status wait_for(zf_accelerator *self, void *stream, zf_error *error) {
    (void)stream; // launches return when they are done
    return zf_emu_canaries(&((emulator *)self)->memory, error);
}

static zf_status stream_open(zf_accelerator *self, void **stream, zf_error *error) {
    (void)self, (void)error;
    *stream = NULL;
    return ZF_OK;
}

static void stream_close(zf_accelerator *self, void *stream) { (void)self, (void)stream; }

static zf_status event_open(zf_accelerator *self, bool timed, void **event, zf_error *error) {
    (void)self, (void)timed;
    *event = calloc(1, sizeof(struct timespec));
    return *event != NULL ? ZF_OK : zf_raise(error, ZF_E_NO_MEMORY, "no memory for an event");
}

static void event_close(zf_accelerator *self, void *event) {
    (void)self;
    free(event);
}

static zf_status event_note(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    (void)self, (void)stream, (void)error;
    clock_gettime(CLOCK_MONOTONIC, event);
    return ZF_OK;
}

static zf_status stream_follow(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    (void)self, (void)stream, (void)event, (void)error; // what was queued before is done
    return ZF_OK;
}

static zf_status event_wait(zf_accelerator *self, void *event, zf_error *error) {
    (void)event; // it happened when it was noted
    return wait_for(self, NULL, error);
}

static zf_status event_seconds(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error) {
    (void)self, (void)error;
    const struct timespec *a = from, *b = to;
    *seconds = (double)(b->tv_sec - a->tv_sec) + (double)(b->tv_nsec - a->tv_nsec) / 1e9;
    return ZF_OK;
}

// ---- The device -----------------------------------------------------------------------------------------------

static zf_status multiprocessor_facts(zf_accelerator *self, zf_multiprocessor_facts *out, zf_error *error) {
    (void)self, (void)error;
    *out = (zf_multiprocessor_facts){.count = ZF_EMU_MULTIPROCESSORS, .block_shared = ZF_EMU_SHARED_MOST};
    return ZF_OK;
}

static const zf_accelerator_ops operations = {
    .name = "emu",
    .target = target,
    .allocate = allocate,
    .release = release,
    .host_allocate = host_allocate,
    .host_release = host_release,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy_within = copy_within,
    .fill = fill,
    .load = load,
    .unload = unload,
    .launch = launch,
    .move_bits = move_bits,
    .zones = zones,
    .multiprocessor_facts = multiprocessor_facts,
    .wait = wait_for,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .event_open = event_open,
    .event_close = event_close,
    .event_note = event_note,
    .stream_follow = stream_follow,
    .event_wait = event_wait,
    .event_seconds = event_seconds,
};

/// Reads $ZIPFLOW_EMU_SEED: a number in decimal, octal (0...) or hexadecimal (0x...). An invalid number is an error, because it
/// must not silently select the default order.
static zf_status read_seed(uint64_t *seed, zf_error *error) {
    const char *text = getenv("ZIPFLOW_EMU_SEED");
    *seed = 0;
    if (text == NULL || text[0] == 0) return ZF_OK;
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 0);
    if (text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0) return ZF_OK;
    zf_status status = zf_raise(error, ZF_E_ARGUMENT, "ZIPFLOW_EMU_SEED is `%.64s`, which is not a number of 64 bits", text);
    return zf_fail_hint(error, status, "0, or nothing, is the order by number; others shuffle");
}

zf_status zf_emu_create(unsigned threads, unsigned wave, zf_accelerator **out, zf_error *error) {
    *out = NULL;
    uint64_t seed;
    ZF_TRY(read_seed(&seed, error));
    emulator *emu = calloc(1, sizeof *emu);
    if (emu == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the emulator");
    emu->base.ops = &operations;
    emu->threads = threads;
    emu->wave = wave;
    atomic_init(&emu->seed, seed);
    zf_emu_memory_init(&emu->memory);
    pthread_mutex_init(&emu->lock, NULL);
    *out = &emu->base;
    return ZF_OK;
}

void zf_emu_free(zf_accelerator *accelerator) {
    emulator *emu = (emulator *)accelerator;
    if (emu == NULL) return;
    while (emu->codes != NULL) {
        zf_accelerator_code *code = emu->codes;
        emu->codes = code->next;
        free_code(code);
    }
    while (emu->free != NULL) {
        zf_emu_block *block = emu->free;
        emu->free = block->next;
        zf_emu_block_free(block);
    }
    zf_emu_memory_destroy(&emu->memory);
    pthread_mutex_destroy(&emu->lock);
    free(emu);
}

void zf_emu_set_seed(zf_accelerator *emu, uint64_t seed) { atomic_store(&((emulator *)emu)->seed, seed); }

void zf_emu_set_holes(zf_accelerator *emu, const zf_emu_hole *holes, uint32_t count) {
    ((emulator *)emu)->holes = holes;
    ((emulator *)emu)->hole_count = count;
}

void zf_emu_check_unwritten(zf_accelerator *emu, bool checks) {
    zf_emu_memory *memory = &((emulator *)emu)->memory;
    pthread_mutex_lock(&memory->lock);
    memory->marks = checks;
    pthread_mutex_unlock(&memory->lock);
}

void zf_emu_forget(zf_accelerator *emu, uint64_t address, uint64_t bytes) {
    uint8_t *written;
    if (zf_emu_find(&((emulator *)emu)->memory, address, bytes, &written) && written != NULL) memset(written, 0, bytes);
}

static void describe(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason) {
    (void)shared, (void)index;
    zf_device_cpu_ops()->describe(NULL, 0, info, description, reason);
    zf_text_free(description);
    *description = (zf_text){0};
    zf_text_puts(description, "a GPU emulated on the CPU, for tests: every access is checked; used only when it is named");
    info->emulated = true;
}

static void describe_wide(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason) {
    describe(shared, index, info, description, reason);
    zf_text_puts(description, "; waves of 64 lanes");
}

static zf_status start(zf_context *context, void *shared, unsigned index, zf_accelerator **out, zf_error *error) {
    (void)shared, (void)index;
    return zf_emu_create(zf_context_threads(context, 0), 32, out, error);
}

static zf_status start_wide(zf_context *context, void *shared, unsigned index, zf_accelerator **out, zf_error *error) {
    (void)shared, (void)index;
    return zf_emu_create(zf_context_threads(context, 0), 64, out, error);
}

static const zf_device_symbol *symbols(size_t *count) {
    static const zf_device_symbol table[] = {
#define X(name, returns, arguments) {#name, (const void *)(uintptr_t)name},
        ZF_EMU_FUNCTIONS(X)
#undef X
    };
    *count = sizeof table / sizeof *table;
    return table;
}

static const zf_device_ops narrow = {
    .name = "emu", .describe = describe, .start = start, .stop = zf_emu_free, .symbols = symbols};
static const zf_device_ops wide = {.name = "emu64", .describe = describe_wide, .start = start_wide, .stop = zf_emu_free};

zf_status zf_emulator_register(zf_context *context, zf_error *error) {
    if (context == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_emulator_register needs a context");
    return zf_context_add_devices(context, (const zf_device_ops *const[]){&narrow, &wide}, 2, error);
}
