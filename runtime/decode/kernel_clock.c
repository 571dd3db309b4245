#include "runtime/decode/kernel_clock.h"

#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/median.h"
#include "runtime/decode/decode_unit_internal.h"

enum { RUNS_MOST = 15, COPIES = 9 };

static const unsigned LAUNCHES_MOST = 64;

/// A device fills BUSY_BYTES in at least BUSY_SECONDS. Such fills keep it busy while the host enqueues the launches that follow,
/// QUEUE_SECONDS for each. Without them the host's enqueueing would be timed.
static const uint64_t BUSY_BYTES = UINT64_C(256) << 20;
static const double BUSY_SECONDS = 50e-6, QUEUE_SECONDS = 5e-6;

/// A round of a kernel is as many launches as take this long: events tell times of some hundredths of a microsecond apart, and a
/// launch alone takes a few tenths more or less by chance, which is several hundredths of a kernel of ten microseconds.
static const double ROUND_SECONDS = 100e-6;

/// Rounds that are enqueued one behind the other, with an event between each two, and waited for at the end. As long as earlier
/// work keeps the device busy while the next round is enqueued, a round's time has none of the host's in it.
typedef struct kernel_clock {
    zf_accelerator *accelerator;
    void *stream;
    void *events[RUNS_MOST + 1];
    unsigned opened;
    uint64_t busy; ///< memory for fills; 0: none yet
} kernel_clock;

static void close_clock(kernel_clock *clock) {
    if (clock->busy != 0) clock->accelerator->ops->release(clock->accelerator, clock->busy);
    while (clock->opened > 0) clock->accelerator->ops->event_close(clock->accelerator, clock->events[--clock->opened]);
}

static zf_status open_clock(kernel_clock *clock, zf_accelerator *accelerator, void *stream, unsigned rounds, zf_error *error) {
    *clock = (kernel_clock){.accelerator = accelerator, .stream = stream};
    while (clock->opened <= rounds) {
        zf_status status = accelerator->ops->event_open(accelerator, true, &clock->events[clock->opened], error);
        if (status != ZF_OK) {
            close_clock(clock);
            return status;
        }
        clock->opened++;
    }
    return ZF_OK;
}

/// Before the first round, and behind each.
static zf_status note(kernel_clock *clock, unsigned event, zf_error *error) {
    return clock->accelerator->ops->event_note(clock->accelerator, clock->stream, clock->events[event], error);
}

static zf_status median_of_rounds(kernel_clock *clock, unsigned rounds, double *seconds, zf_error *error) {
    double times[RUNS_MOST];
    for (unsigned r = 0; r < rounds; r++) {
        ZF_TRY(
            clock->accelerator->ops->event_seconds(clock->accelerator, clock->events[r], clock->events[r + 1], &times[r], error));
    }
    *seconds = zf_median(times, rounds);
    return ZF_OK;
}

static zf_status time_rounds(zf_units *units, uint32_t kernel, kernel_clock *clock, const zf_units_memory *memory,
                             unsigned launches, unsigned rounds, double *seconds, zf_error *error) {
    ZF_TRY(note(clock, 0, error));
    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned k = 0; k < launches; k++) ZF_TRY(zf_units_launch_kernel(units, kernel, clock->stream, memory, error));
        ZF_TRY(note(clock, r + 1, error));
    }
    ZF_TRY(median_of_rounds(clock, rounds, seconds, error));
    *seconds /= launches;
    return ZF_OK;
}

/// Enqueues fills, on devices that run work asynchronously. Without memory for fills there are none.
static zf_status keep_busy(kernel_clock *clock, unsigned launches, zf_error *error) {
    const zf_accelerator_ops *ops = clock->accelerator->ops;
    if (ops->kernel_facts == NULL) return ZF_OK; // the emulator runs them at once
    if (clock->busy == 0 && ops->allocate(clock->accelerator, BUSY_BYTES, &clock->busy, NULL) != ZF_OK) return ZF_OK;
    unsigned fills = 1 + (unsigned)(launches * QUEUE_SECONDS / BUSY_SECONDS);
    for (unsigned k = 0; k < fills; k++)
        ZF_TRY(ops->fill(clock->accelerator, clock->stream, clock->busy, (uint8_t)k, BUSY_BYTES, error));
    return ZF_OK;
}

/// A kernel that is over sooner than a round should be is measured again, with more launches a round.
static zf_status time_kernel(zf_units *units, uint32_t kernel, kernel_clock *clock, const zf_units_memory *memory, unsigned warm,
                             unsigned runs, double *out, zf_error *error) {
    for (unsigned r = 0; r < warm; r++) ZF_TRY(zf_units_launch_kernel(units, kernel, clock->stream, memory, error));
    ZF_TRY(time_rounds(units, kernel, clock, memory, 1, runs, out, error));
    if (!(*out > 0) || *out > ROUND_SECONDS / 2) return ZF_OK;
    double fit = ROUND_SECONDS / *out;
    unsigned launches = fit < LAUNCHES_MOST ? (unsigned)fit : LAUNCHES_MOST;
    ZF_TRY(keep_busy(clock, launches * runs, error));
    return time_rounds(units, kernel, clock, memory, launches, runs, out, error);
}

static zf_status look_at_kernel(const zf_units *units, uint32_t kernel, zf_kernel_facts *out, zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    for (uint32_t u = 0; u < units->unit_count; u++) { // units of other params have other code: the first that has the kernel
        const zf_unit *unit = &units->units[u];
        if (kernel >= unit->plan->kernel_count || unit->code->simt[kernel].threads == 0) continue;
        out->threads = unit->code->simt[kernel].threads;
        return ops->kernel_facts != NULL ? ops->kernel_facts(units->accelerator, unit->loaded, kernel, out, error) : ZF_OK;
    }
    return ZF_OK;
}

static uint64_t groups_of(const zf_units *units, uint32_t kernel) {
    uint64_t groups = 0;
    for (uint32_t u = 0; u < units->unit_count; u++) {
        const zf_unit *unit = &units->units[u];
        uint64_t tiles = kernel < unit->plan->kernel_count ? unit->code->simt[kernel].tiles : 0;
        if (tiles > 0) groups += (unit->tiles[kernel] + tiles - 1) / tiles;
    }
    return groups;
}

static zf_status check(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error) {
    uint64_t *words = malloc(((size_t)zf_units_words(units) + 1) * sizeof *words);
    if (words == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the kernels' reports");
    zf_status status = zf_units_end(units, stream, memory, words, error);
    zf_status waited = units->accelerator->ops->wait(units->accelerator, stream, status == ZF_OK ? error : NULL);
    if (status == ZF_OK) status = waited;
    if (status == ZF_OK) status = zf_units_status(units, words, error);
    free(words);
    return status;
}

/// Enqueues the work before the kernels.
static zf_status begin(zf_units *units, void *stream, const zf_units_memory *memory, uint8_t poison, zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    zf_units_sizes sizes = zf_units_sizes_of(units);
    const uint64_t outputs[][2] = {
        {memory->values, sizes.values}, {memory->offsets, sizes.offsets}, {memory->validity, sizes.validity}};
    for (int k = 0; k < 3; k++) {
        if (outputs[k][0] != 0 && outputs[k][1] > 0)
            ZF_TRY(ops->fill(units->accelerator, stream, outputs[k][0], poison, outputs[k][1], error));
    }
    return zf_units_start(units, stream, memory, error);
}

zf_status zf_units_time_kernels(zf_units *units, void *stream, const zf_units_memory *memory, uint8_t poison, unsigned warm,
                                unsigned runs, zf_kernel_time *out, uint32_t count, zf_error *error) {
    zf_accelerator *accelerator = units->accelerator;
    if (runs < 1 || runs > RUNS_MOST) return zf_raise(error, ZF_E_ARGUMENT, "a kernel is timed 1 to %d times", RUNS_MOST);
    kernel_clock clock;
    ZF_TRY(open_clock(&clock, accelerator, stream, runs, error));
    zf_status status = begin(units, stream, memory, poison, error);
    if (status != ZF_OK) { // there are no failure words to look at
        accelerator->ops->wait(accelerator, stream, NULL);
        close_clock(&clock);
        return status;
    }
    for (uint32_t k = 0; k < count && status == ZF_OK; k++) {
        out[k] = (zf_kernel_time){.groups = groups_of(units, k)};
        status = look_at_kernel(units, k, &out[k].facts, error);
        if (status == ZF_OK && out[k].facts.threads > 0)
            status = time_kernel(units, k, &clock, memory, warm, runs, &out[k].seconds, error);
    }
    zf_status good = check(units, stream, memory, status == ZF_OK ? error : NULL); // also waits for what was launched
    close_clock(&clock);
    return status != ZF_OK ? status : good;
}

static zf_status queue_copies(zf_accelerator *accelerator, kernel_clock *clock, const uint64_t at[2], uint64_t bytes,
                              double *rate, zf_error *error) {
    const zf_accelerator_ops *ops = accelerator->ops;
    for (int e = 0; e < 2; e++) ZF_TRY(ops->fill(accelerator, clock->stream, at[e], 1, bytes, error));
    ZF_TRY(ops->copy_within(accelerator, clock->stream, at[1], at[0], bytes, error));
    ZF_TRY(note(clock, 0, error));
    for (unsigned r = 0; r < COPIES; r++) {
        ZF_TRY(ops->copy_within(accelerator, clock->stream, at[1], at[0], bytes, error));
        ZF_TRY(note(clock, r + 1, error));
    }
    double seconds;
    ZF_TRY(median_of_rounds(clock, COPIES, &seconds, error));
    *rate = seconds > 0 ? 2 * (double)bytes / seconds : 0;
    return ZF_OK;
}

/// Returns when the enqueued work is done, also after a failure, because the caller then frees the memory.
static zf_status time_copies(zf_accelerator *accelerator, kernel_clock *clock, const uint64_t at[2], uint64_t bytes, double *rate,
                             zf_error *error) {
    zf_status status = queue_copies(accelerator, clock, at, bytes, rate, error);
    zf_status waited = accelerator->ops->wait(accelerator, clock->stream, status == ZF_OK ? error : NULL);
    return status != ZF_OK ? status : waited;
}

zf_status zf_accelerator_copy_rate(zf_accelerator *accelerator, void *stream, uint64_t bytes, double *rate, zf_error *error) {
    const zf_accelerator_ops *ops = accelerator->ops;
    uint64_t at[2] = {0};
    kernel_clock clock;
    *rate = 0;
    ZF_TRY(open_clock(&clock, accelerator, stream, COPIES, error));
    zf_status status = ops->allocate(accelerator, bytes, &at[0], error);
    if (status == ZF_OK) status = ops->allocate(accelerator, bytes, &at[1], error);
    if (status == ZF_OK) status = time_copies(accelerator, &clock, at, bytes, rate, error);
    for (int e = 0; e < 2; e++) {
        if (at[e] != 0) ops->release(accelerator, at[e]);
    }
    close_clock(&clock);
    return status;
}
