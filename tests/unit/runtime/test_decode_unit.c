// Links: zipflow-runtime zipflow-emu
// Decoding on accelerators, with hand-written kernels on the emulated GPU: units, ranges of rows, failures, streams of the
// caller.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/decode/block_run.h"
#include "runtime/decode/decode_unit.h"
#include "runtime/device/device.h"
#include "tests/support/emulated.h"
#include "tests/support/walk_simt.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

static char directory[64] = "/tmp/zipflow-test-XXXXXX";
static zf_context *context;

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static zf_container *open_written(uint64_t rows, walk_damage damage) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(walk_write_damaged(path_of("a.zfd"), rows, 4096, true, damage, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path_of("a.zfd"), &container, &error) == ZF_OK, "%s %s", error.message, error.place);
    if (container == NULL) abort();
    return container;
}

static uint64_t wrong_rows(size_t column, const uint8_t *values, uint64_t begin, uint64_t count) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; column == 0 && i < count; i++) {
        uint32_t value;
        memcpy(&value, values + i * 4, 4);
        wrong += value != walk_value(begin + i);
    }
    for (uint64_t i = 0; column == 1 && i < (count + 7) / 8 * 8; i++)
        wrong += (values[i / 8] >> (i % 8) & 1) != (i < count && walk_bit(begin + i)); // spare bits are 0
    return wrong;
}

static uint64_t bytes_of(size_t column, uint64_t count) { return column == 0 ? count * 4 : (count + 7) / 8; }

// ---- Whole columns and ranges ---------------------------------------------------------------------------------

static void decode_and_compare(zf_container *container, size_t column, uint64_t begin, uint64_t count, zf_decode_stats *stats) {
    enum { GUARD = 64 };
    zf_error error = {0};
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count};
    uint64_t bytes = bytes_of(column, count);
    uint8_t *values = aligned_alloc(64, (bytes + 63) / 64 * 64 + 2 * GUARD);
    memset(values, 0xcd, bytes + 2 * GUARD);
    zf_decode_buffers buffers = {.values = values + GUARD, .values_bytes = bytes};
    zf_status status = zf_decode(container, column, "emu", &options, &buffers, stats, &error);
    CHECK(status == ZF_OK, "%s %s at %s", error.code, error.message, error.place);
    uint64_t wrong = wrong_rows(column, values + GUARD, begin, count), outside = 0;
    for (size_t i = 0; i < GUARD; i++) outside += values[i] != 0xcd || values[GUARD + bytes + i] != 0xcd;
    CHECK(wrong == 0 && outside == 0, "column %zu, rows %llu + %llu: %llu are wrong, %llu bytes outside", column, (ull)begin,
          (ull)count, (ull)wrong, (ull)outside);
    free(values);
}

static void test_sizes(void) {
    static const uint64_t sizes[] = {0, 1, 7, 8, 255, 256, 257, 4095, 4096, 4097, 8192, 8193, 20000, 70000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        zf_decode_stats stats = {0};
        zf_container *container = open_written(sizes[i], NULL);
        for (size_t column = 0; column < 2; column++) {
            decode_and_compare(container, column, 0, sizes[i], &stats);
            uint64_t blocks = (sizes[i] + 4095) / 4096;
            CHECK(stats.blocks_read == blocks && (stats.bytes_read > 0) == (blocks > 0), "%llu blocks", (ull)stats.blocks_read);
            // A kernel of each shape, however many blocks there are: one for even blocks, two for odd ones; one for booleans.
            uint64_t launches = column == 1 ? blocks > 0 : blocks > 1 ? 3 : blocks;
            CHECK(stats.launches == launches, "%llu rows, column %zu: %llu launches", (ull)sizes[i], column, (ull)stats.launches);
            CHECK(stats.kernel_variants == launches, "%llu variants", (ull)stats.kernel_variants);
        }
        zf_container_close(container);
    }
}

static void test_ranges(void) {
    static const uint64_t edges[] = {0, 1, 3, 8, 255, 256, 260, 1024, 4095, 4096, 4097, 5000, 8192, 12287, 12288, 13000};
    size_t count = sizeof edges / sizeof edges[0];
    zf_container *container = open_written(13000, NULL);
    for (size_t a = 0; a < count; a++) {
        for (size_t b = a; b < count; b++) {
            for (size_t column = 0; column < 2; column++) {
                zf_decode_stats stats = {0};
                decode_and_compare(container, column, edges[a], edges[b] - edges[a], &stats);
                uint64_t blocks = edges[a] == edges[b] ? 0 : (edges[b] - 1) / 4096 - edges[a] / 4096 + 1;
                CHECK(stats.blocks_read == blocks, "rows %llu..%llu read %llu blocks", (ull)edges[a], (ull)edges[b],
                      (ull)stats.blocks_read);
            }
        }
    }
    zf_container_close(container);
}

// ---- Failures -------------------------------------------------------------------------------------------------

static void damage_states(size_t column, uint64_t block, zf_block_data *data) {
    uint64_t *states = column == 0 ? (uint64_t *)(uintptr_t)data->seeks[0].values : NULL;
    if (column == 0 && block == 4) states[7]++;
    if (column == 0 && block == 3) states[9]++, states[3]++; // the first of the first block is the one reported
}

static void damage_even_first(size_t column, uint64_t block, zf_block_data *data) {
    if (column == 0 && (block == 2 || block == 3)) ((uint64_t *)(uintptr_t)data->seeks[0].values)[0]++;
}

static void damage_length(size_t column, uint64_t block, zf_block_data *data) {
    if (column != 0 || block != 2) return;
    ((uint64_t *)(uintptr_t)data->counts)[1]--;
    zf_stream_data *stream = (zf_stream_data *)(uintptr_t)data->streams;
    stream->elements--;
    stream->bytes -= 4;
}

static void damage_backwards(size_t column, uint64_t block, zf_block_data *data) {
    if (column == 0 && block == 1) ((uint64_t *)(uintptr_t)data->seeks[0].values)[5] = 7;
}

/// Decodes on both devices, which must say the same.
static void fail_alike(walk_damage damage, const char *code, const char *place) {
    zf_error here = {0}, there = {0};
    zf_decode_stats stats = {0};
    zf_container *container = open_written(30000, damage);
    zf_decode_sizes sizes = {0};
    CHECK(zf_decode_size(container, 0, NULL, &sizes, &here) == ZF_OK, "%s", here.message);
    void *values = aligned_alloc(64, (sizes.values + 63) / 64 * 64), *work = aligned_alloc(64, (sizes.workspace + 63) / 64 * 64);
    zf_decode_buffers buffers = {.values = values, .workspace = work, ZF_DECODE_BYTES(sizes)};
    CHECK(zf_decode(container, 0, "cpu", NULL, &buffers, NULL, &here) == ZF_ERR_INPUT, "the CPU decodes it");
    CHECK(zf_decode(container, 0, "emu", NULL, &buffers, &stats, &there) == ZF_ERR_INPUT, "the emulator decodes it");
    CHECK(strcmp(there.code, code) == 0 && strstr(there.place, place) != NULL, "%s %s at %s", there.code, there.message,
          there.place);
    CHECK(strcmp(here.code, there.code) == 0 && strcmp(here.message, there.message) == 0 && strcmp(here.place, there.place) == 0,
          "cpu: %s at %s, emu: %s at %s", here.message, here.place, there.message, there.place);
    free(values);
    free(work);
    zf_container_close(container);
}

/// Groups that go back: the tile that does is not run, and told all the same.
static void test_groups(void) {
    static const zf_abi_field fields[] = {{8, "counts.begin", ZF_FIELD_GROUP}};
    static const zf_abi_tree trees[] = {{.edge = 0, .interval = WALK_INTERVAL, .field_count = 1, .fields = fields}};
    zf_error error = {0};
    zf_decode_stats stats = {0};
    zf_container *container = open_written(9000, damage_backwards);
    uint32_t *values = aligned_alloc(64, 36032);
    zf_decode_buffers buffers = {.values = values, .values_bytes = 36032};
    for (int k = 0; k < 2; k++) simt_plans[k].trees = trees;
    CHECK(zf_decode(container, 0, "emu", NULL, &buffers, &stats, &error) == ZF_ERR_INPUT, "groups that go back");
    CHECK(strcmp(error.code, "ZF1309") == 0 && strncmp(error.message, "V09: ", 5) == 0, "%s %s", error.code, error.message);
    CHECK(strstr(error.place, "block 1, row 5376, the column's codec (walk<u32>), walk.zf:7") != NULL, "%s", error.place);
    zf_container_close(container);
    container = open_written(9000, NULL);
    CHECK(zf_decode(container, 0, "emu", NULL, &buffers, &stats, &error) == ZF_OK, "%s", error.message);
    zf_container_close(container);
    for (int k = 0; k < 2; k++) simt_plans[k].trees = walk_plans[k].trees;
    free(values);
}

// ---- Units ----------------------------------------------------------------------------------------------------

enum { TAKEN_MOST = 32, QUEUED_MOST = 64, STREAMS_MOST = 8, RANGES_MOST = 5 };

/// Something queued, and what comes before it, by number: on its stream, and on those that its stream followed.
typedef struct queued {
    uint64_t before;
    uint32_t unit; ///< launches: the tables that they take; 0: no launch
    struct {
        uint64_t begin, end;
    } touched[RANGES_MOST]; ///< of the device's memory, but for the rows that come out
} queued;

/// A stream, or an event: all that comes before what is queued there next.
typedef struct order {
    uint64_t before;
} order;

/// An accelerator that counts what it is asked for, in front of another. A GPU copies later: what it takes from the staging
/// memory must lie there apart from all else; and its streams run at any time: what touches the same memory must be in order.
typedef struct counting {
    zf_accelerator base; ///< first
    zf_accelerator_ops ops;
    zf_accelerator *inner;
    unsigned allocations, loads, waits, launches;
    uint64_t copied_in;
    const uint8_t *staging; ///< NULL: there is none
    uint64_t staging_bytes;
    struct {
        uint64_t begin, end; ///< of the staging memory; the first are those of the failure words
    } taken[TAKEN_MOST];
    unsigned taken_count;
    queued queue[QUEUED_MOST];
    unsigned queued_count, streams_open, events_open;
    unsigned streams_most; ///< further ones fail
    unsigned fails;        ///< the call, of those that queue, that fails; 0: none
    unsigned calls;
    uint64_t waited; ///< what was waited for, besides the caller's stream
    order caller, streams[STREAMS_MOST];
} counting;

/// Notes what is queued on a stream of the accelerator; NULL is the caller's.
static queued *note(counting *c, void *stream) {
    static queued none;
    CHECK(c->queued_count < QUEUED_MOST, "more is queued than a test can note");
    if (c->queued_count == QUEUED_MOST) return &none;
    order *on = stream == NULL ? &c->caller : stream;
    queued *q = &c->queue[c->queued_count];
    *q = (queued){.before = on->before};
    on->before |= UINT64_C(1) << c->queued_count++;
    return q;
}

/// Whether this call, which would queue something, is to fail.
static bool fails(zf_accelerator *self, zf_error *error) {
    counting *c = (counting *)self;
    if (++c->calls != c->fails) return false;
    zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "call %u", c->calls);
    return true;
}

static void touch(queued *q, unsigned range, uint64_t begin, uint64_t bytes) {
    q->touched[range].begin = begin;
    q->touched[range].end = begin + bytes;
}

static bool overlap(const queued *a, const queued *b) {
    for (unsigned i = 0; i < RANGES_MOST; i++) {
        for (unsigned k = 0; k < RANGES_MOST; k++) {
            if (a->touched[i].begin < b->touched[k].end && b->touched[k].begin < a->touched[i].end) return true;
        }
    }
    return false;
}

/// Whether launches of two units may run at a time. Launches that touch the same memory must be in order.
static bool check_order(const counting *c) {
    bool together = false;
    for (unsigned b = 0; b < c->queued_count; b++) {
        for (unsigned a = 0; a < b; a++) {
            bool ordered = (c->queue[b].before >> a & 1) != 0;
            CHECK(ordered || !overlap(&c->queue[a], &c->queue[b]), "what is queued %u-th and %u-th touches the same memory", a,
                  b);
            together |= !ordered && c->queue[a].unit != 0 && c->queue[b].unit != 0 && c->queue[a].unit != c->queue[b].unit;
        }
    }
    return together;
}

#define INNER(self) (((counting *)(self))->inner)
static zf_abi_target count_target(const zf_accelerator *self) {
    const zf_accelerator *inner = ((const counting *)self)->inner;
    return inner->ops->target(inner);
}
static zf_status count_allocate(zf_accelerator *self, uint64_t bytes, uint64_t *address, zf_error *error) {
    ((counting *)self)->allocations++;
    return INNER(self)->ops->allocate(INNER(self), bytes, address, error);
}
static void count_release(zf_accelerator *self, uint64_t address) { INNER(self)->ops->release(INNER(self), address); }
static zf_status count_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes, zf_error *error) {
    if (fails(self, error)) return ZF_ERR_DEVICE;
    counting *c = (counting *)self;
    touch(note(c, stream), 0, to, bytes);
    c->copied_in += bytes;
    if (c->staging != NULL) {
        uint64_t begin = (uint64_t)((uintptr_t)from - (uintptr_t)c->staging), end = begin + bytes;
        CHECK(begin < c->staging_bytes && bytes <= c->staging_bytes - begin, "bytes %llu..%llu of %llu", (ull)begin, (ull)end,
              (ull)c->staging_bytes);
        for (unsigned i = 0; i < c->taken_count; i++) {
            CHECK(begin >= c->taken[i].end || end <= c->taken[i].begin, "bytes %llu..%llu of the staging memory stand on others",
                  (ull)begin, (ull)end);
        }
        CHECK(c->taken_count < TAKEN_MOST, "copies");
        if (c->taken_count < TAKEN_MOST) c->taken[c->taken_count].begin = begin, c->taken[c->taken_count++].end = end;
    }
    return INNER(self)->ops->copy_in(INNER(self), NULL, to, from, bytes, error);
}
static zf_status count_out(zf_accelerator *self, void *stream, void *to, uint64_t from, uint64_t bytes, zf_error *error) {
    if (fails(self, error)) return ZF_ERR_DEVICE;
    touch(note((counting *)self, stream), 0, from, bytes);
    return INNER(self)->ops->copy_out(INNER(self), NULL, to, from, bytes, error);
}
static zf_status count_fill(zf_accelerator *self, void *stream, uint64_t to, uint8_t byte, uint64_t bytes, zf_error *error) {
    if (fails(self, error)) return ZF_ERR_DEVICE;
    touch(note((counting *)self, stream), 0, to, bytes);
    return INNER(self)->ops->fill(INNER(self), NULL, to, byte, bytes, error);
}
static zf_status count_load(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code, zf_accelerator_code **out,
                            zf_error *error) {
    ((counting *)self)->loads++;
    return INNER(self)->ops->load(INNER(self), plan, code, out, error);
}
static zf_status count_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                              const zf_simt_args *args, zf_error *error) {
    if (fails(self, error)) return ZF_ERR_DEVICE;
    queued *q = note((counting *)self, stream);
    q->unit = (uint32_t)args->blocks; // where its tables stand
    touch(q, 0, args->blocks, args->blocks_bytes);
    touch(q, 1, args->first, args->first_bytes);
    touch(q, 2, args->base, args->base_bytes);
    touch(q, 3, args->work, args->work_bytes);
    touch(q, 4, args->failures, args->failures_bytes);
    ((counting *)self)->launches++;
    return INNER(self)->ops->launch(INNER(self), NULL, code, kernel, groups, args, error);
}
static zf_status count_wait(zf_accelerator *self, void *stream, zf_error *error) {
    ((counting *)self)->waits++;
    if (stream != NULL) ((counting *)self)->waited |= ((order *)stream)->before;
    return INNER(self)->ops->wait(INNER(self), NULL, error);
}
static zf_status count_stream_open(zf_accelerator *self, void **stream, zf_error *error) {
    counting *c = (counting *)self;
    if (c->streams_open == c->streams_most) return zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "no more streams");
    *stream = &c->streams[c->streams_open++];
    return ZF_OK;
}
static void count_stream_close(zf_accelerator *self, void *stream) {
    (void)stream;
    ((counting *)self)->streams_open--;
}
static zf_status count_event_open(zf_accelerator *self, bool timed, void **event, zf_error *error) {
    (void)error;
    CHECK(!timed, "a clock that nobody reads");
    ((counting *)self)->events_open++;
    *event = calloc(1, sizeof(order));
    return ZF_OK;
}
static void count_event_close(zf_accelerator *self, void *event) {
    ((counting *)self)->events_open--;
    free(event);
}
static zf_status count_event_note(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    if (fails(self, error)) return ZF_ERR_DEVICE;
    ((order *)event)->before = stream == NULL ? ((counting *)self)->caller.before : ((order *)stream)->before;
    return ZF_OK;
}
static zf_status count_stream_follow(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    if (fails(self, error)) return ZF_ERR_DEVICE;
    order *on = stream == NULL ? &((counting *)self)->caller : stream;
    on->before |= ((order *)event)->before;
    return ZF_OK;
}

static void count_on(counting *c, zf_accelerator *inner) {
    *c = (counting){.inner = inner,
                    .streams_most = STREAMS_MOST,
                    .ops = {.name = "counting",
                            .target = count_target,
                            .allocate = count_allocate,
                            .release = count_release,
                            .copy_in = count_in,
                            .copy_out = count_out,
                            .fill = count_fill,
                            .load = count_load,
                            .launch = count_launch,
                            .wait = count_wait,
                            .stream_open = count_stream_open,
                            .stream_close = count_stream_close,
                            .event_open = count_event_open,
                            .event_close = count_event_close,
                            .event_note = count_event_note,
                            .stream_follow = count_stream_follow}};
    c->base.ops = &c->ops;
}

static zf_accelerator *emulator(void) {
    zf_device device;
    zf_accelerator *emu = NULL;
    zf_error error;
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &emu, &error) == ZF_OK, "%s", error.message);
    return emu;
}

typedef struct unit_case {
    zf_units_options options;
    uint32_t units; ///< 0: not checked
    bool together;  ///< they run side by side
} unit_case;

/// Every way to cut a column into units gives the same rows; memory is asked for before, and nothing is waited for. Units that
/// need less than one may are side by side, and nothing touches memory before what it waits for.
static void test_units(void) {
    static const unit_case cases[] = {
        {{0}, 2, true},
        {{.resident = true}, 2, true},
        {{.unit_blocks = 1}, 9, true}, // more than there are streams
        {{.unit_blocks = 2, .resident = true}, 5, true},
        {{.unit_bytes = 1}, 9, false},
        {{.unit_bytes = 1, .resident = true}, 9, true},
        {{.unit_bytes = 50000}, 0, false},
        {{.unit_blocks = 9}, 2, true},
        {{.general = true}, 2, true},
    };
    zf_error error = {0};
    zf_container *container = open_written(8 * 4096 + 100, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (unsigned staged = 0; staged < 2; staged++) {
            counting c;
            count_on(&c, emulator());
            zf_units *units = NULL;
            zf_decode_options options = {.some_rows = true, .row_begin = 77, .row_count = 8 * 4096};
            CHECK(zf_units_make(container, 0, &options, &cases[i].options, &c.base, &units, &error) == ZF_OK, "%s",
                  error.message);
            if (units == NULL) continue;
            CHECK(cases[i].units == 0 || zf_units_count(units) == cases[i].units, "case %zu: %u units", i, zf_units_count(units));
            CHECK(c.loads == zf_units_count(units) && c.allocations == 0 && c.launches == 0, "what making units does");
            zf_units_sizes sizes = zf_units_sizes_of(units);
            CHECK(sizes.values == sizes.skip + 8 * 4096 * 4 && sizes.skip == 77 * 4 % 256, "%llu bytes", (ull)sizes.values);
            zf_units_memory memory = {0};
            CHECK(c.inner->ops->allocate(c.inner, sizes.values, &memory.values, &error) == ZF_OK, "%s", error.message);
            CHECK(c.inner->ops->allocate(c.inner, sizes.workspace, &memory.workspace, &error) == ZF_OK, "%s", error.message);
            memory.staging = staged ? malloc(sizes.staging) : NULL;
            c.staging = memory.staging, c.staging_bytes = sizes.staging;
            c.taken[c.taken_count++].end = zf_units_words(units) * UINT64_C(8);
            uint64_t *words = calloc(zf_units_words(units), sizeof *words);
            uint8_t *values = malloc(sizes.values);
            unsigned rounds = cases[i].options.resident ? 3 : 1;
            for (unsigned round = 0; round < rounds; round++) {
                if (rounds == 1) {
                    CHECK(zf_units_enqueue(units, NULL, &memory, words, &error) == ZF_OK, "%s at %s", error.message, error.place);
                } else {
                    CHECK(round > 0 || zf_units_upload(units, NULL, &memory, &error) == ZF_OK, "%s", error.message);
                    CHECK(zf_units_start(units, NULL, &memory, &error) == ZF_OK, "%s", error.message);
                    CHECK(zf_units_launch(units, NULL, &memory, &error) == ZF_OK, "%s", error.message);
                    CHECK(zf_units_end(units, NULL, &memory, words, &error) == ZF_OK, "%s", error.message);
                }
                CHECK(c.inner->ops->wait(c.inner, NULL, &error) == ZF_OK, "%s", error.message);
                CHECK(zf_units_status(units, words, &error) == ZF_OK, "%s", error.message);
                c.inner->ops->copy_out(c.inner, NULL, values, memory.values, sizes.values, &error);
                c.inner->ops->fill(c.inner, NULL, memory.values, 0xee, sizes.values, &error);
                CHECK(wrong_rows(0, values + sizes.skip, 77, 8 * 4096) == 0, "case %zu: rows are wrong", i);
            }
            CHECK(c.allocations == 0 && c.waits == 0, "%u allocations, %u waits", c.allocations, c.waits);
            CHECK(c.copied_in < sizes.staging + 1 && c.copied_in >= sizes.stored, "%llu bytes were copied", (ull)c.copied_in);
            CHECK(zf_units_stats(units).launches == c.launches, "launches are counted");
            CHECK(check_order(&c) == cases[i].together, "case %zu: units are side by side where they should not, or not", i);
            c.inner->ops->release(c.inner, memory.values);
            c.inner->ops->release(c.inner, memory.workspace);
            free(memory.staging);
            free(words);
            free(values);
            zf_units_free(units);
            CHECK(c.streams_open == 0 && c.events_open == 0, "%u streams, %u events are left", c.streams_open, c.events_open);
        }
    }
    zf_container_close(container);
}

typedef struct unit_run {
    counting c;
    zf_units *units;
    zf_units_memory memory;
    uint64_t *words;
    uint8_t *values;
    uint64_t bytes;
} unit_run;

/// Units of the whole column 0, and their memory, with no more streams than `streams`.
static bool run_open(unit_run *r, zf_container *container, const zf_units_options *options, unsigned streams) {
    zf_error error;
    *r = (unit_run){0};
    count_on(&r->c, emulator());
    r->c.streams_most = streams;
    CHECK(zf_units_make(container, 0, NULL, options, &r->c.base, &r->units, &error) == ZF_OK, "%s", error.message);
    if (r->units == NULL) return false;
    zf_units_sizes sizes = zf_units_sizes_of(r->units);
    r->bytes = sizes.values;
    CHECK(r->c.inner->ops->allocate(r->c.inner, sizes.values, &r->memory.values, &error) == ZF_OK, "%s", error.message);
    CHECK(r->c.inner->ops->allocate(r->c.inner, sizes.workspace, &r->memory.workspace, &error) == ZF_OK, "%s", error.message);
    r->words = calloc(zf_units_words(r->units), sizeof *r->words);
    r->values = malloc(sizes.values);
    return true;
}

static void run_close(unit_run *r) {
    zf_units_free(r->units);
    CHECK(r->c.streams_open == 0 && r->c.events_open == 0, "%u streams, %u events are left", r->c.streams_open, r->c.events_open);
    r->c.inner->ops->release(r->c.inner, r->memory.values);
    r->c.inner->ops->release(r->c.inner, r->memory.workspace);
    free(r->words);
    free(r->values);
}

/// With fewer streams than there could be, or none, the same rows come out.
static void test_few_streams(void) {
    zf_error error = {0};
    zf_container *container = open_written(9 * 4096, NULL);
    zf_units_options options = {.unit_blocks = 1};
    for (unsigned most = 0; most <= STREAMS_MOST; most++) {
        unit_run r;
        if (!run_open(&r, container, &options, most)) continue;
        CHECK(r.c.streams_open == (most < 7 ? most : 7), "%u streams", r.c.streams_open);
        CHECK(zf_units_enqueue(r.units, NULL, &r.memory, r.words, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_units_status(r.units, r.words, &error) == ZF_OK, "%s", error.message);
        r.c.inner->ops->copy_out(r.c.inner, NULL, r.values, r.memory.values, r.bytes, &error);
        CHECK(wrong_rows(0, r.values, 0, 9 * 4096) == 0, "%u streams: rows are wrong", most);
        CHECK(check_order(&r.c) == (most > 0), "%u streams: units follow each other, or not", most);
        run_close(&r);
    }
    zf_container_close(container);
}

/// Whatever call fails, what was queued before is done when the caller's stream is: then its memory is given back.
static void test_failing_calls(void) {
    zf_container *container = open_written(8 * 4096, NULL);
    zf_units_options options = {.unit_blocks = 1};
    bool all = false;
    unsigned met = 0;
    for (unsigned n = 1; !all && n < 200; n++) {
        unit_run r;
        zf_error error = {0};
        char wanted[24];
        if (!run_open(&r, container, &options, STREAMS_MOST)) break;
        r.c.fails = n;
        zf_status status = zf_units_enqueue(r.units, NULL, &r.memory, r.words, &error);
        all = r.c.calls < n; // none failed any more
        snprintf(wanted, sizeof wanted, "call %u", n);
        CHECK(status == (all ? ZF_OK : ZF_ERR_DEVICE) && (all || strcmp(error.message, wanted) == 0), "%s: %s", wanted,
              error.message);
        uint64_t all_queued = (UINT64_C(1) << r.c.queued_count) - 1;
        CHECK(((r.c.caller.before | r.c.waited) & all_queued) == all_queued, "%s: what was queued may still run", wanted);
        met += !all;
        run_close(&r);
    }
    CHECK(all && met > 40, "%u calls", met);
    zf_container_close(container);
}

/// Bytes of a block and of the workspace that a decode of it takes.
static uint64_t needed(zf_container *container, uint64_t block) {
    zf_error error;
    zf_block_view view;
    CHECK(zf_container_block(container, 0, block, true, &view, &error) == ZF_OK, "%s", error.message);
    uint64_t work = block % 2 == 1 ? zf_work_buffer_bytes(&simt_plans[1].works[0], view.counts[1]) : 0;
    uint64_t bytes = view.bytes + (work + 255) / 256 * 256;
    zf_block_view_free(&view);
    return bytes;
}

/// Units have memory of their own as long as all of them need no more than one may.
static void test_apart(void) {
    zf_container *container = open_written(8 * 4096, NULL);
    uint64_t sum = 0;
    for (uint64_t block = 0; block < 8; block++) sum += needed(container, block);
    for (unsigned less = 0; less < 2; less++) {
        zf_units_options options = {.unit_blocks = 1, .unit_bytes = sum - less};
        unit_run r;
        if (!run_open(&r, container, &options, STREAMS_MOST)) continue;
        CHECK((r.c.streams_open > 0) == (less == 0), "%llu bytes of %llu: %u streams", (ull)(sum - less), (ull)sum,
              r.c.streams_open);
        CHECK((zf_units_sizes_of(r.units).workspace > sum) == (less == 0), "%llu bytes of memory",
              (ull)zf_units_sizes_of(r.units).workspace);
        run_close(&r);
    }
    zf_container_close(container);
}

/// A block in memory is a column of its own: one that begins elsewhere in its column is refused.
static void test_block(void) {
    zf_accelerator *emu = emulator();
    zf_container *container = open_written(3 * 4096, NULL);
    for (uint64_t block = 0; block < 3; block += 2) { // of the same shape
        zf_error error = {0};
        zf_block_view view;
        zf_units *units = NULL;
        CHECK(zf_container_block(container, 0, block, true, &view, &error) == ZF_OK, "%s", error.message);
        zf_status status = zf_units_make_block(&view, &simt_plans[0], &simt_codes[0], 0, view.rows, emu, &units, &error);
        CHECK((status == ZF_OK) == (block == 0) && (units != NULL) == (block == 0), "block %llu: %s", (ull)block, error.message);
        CHECK(block == 0 || (status == ZF_ERR_INTERNAL && strstr(error.message, "row 8192") != NULL), "%s", error.message);
        zf_units_free(units);
        zf_block_view_free(&view);
    }
    zf_container_close(container);
}

// ---- Streams of the caller ------------------------------------------------------------------------------------

static void test_async(void) {
    zf_error error = {0};
    zf_accelerator *emu = emulator();
    for (size_t column = 0; column < 2; column++) {
        for (unsigned damaged = 0; damaged < 2; damaged++) {
            zf_container *container = open_written(30000, damaged ? damage_states : NULL);
            zf_decode_options options = {.some_rows = true, .row_begin = 5001, .row_count = 20000};
            zf_prepared *prepared = NULL;
            zf_device_sizes sizes = {0};
            zf_decode_stats stats = {0};
            CHECK(zf_decode_prepare(container, column, "emu", &options, &prepared, &error) == ZF_OK, "%s", error.message);
            CHECK(zf_decode_device_size(prepared, &sizes, &error) == ZF_OK, "%s", error.message);
            CHECK(zf_decode_status(prepared, NULL, &error) == ZF_ERR_USAGE, "a status before anything was queued");
            zf_device_buffers buffers = {.staging = malloc(sizes.staging), ZF_DEVICE_BYTES(sizes)};
            CHECK(zf_decode_async(prepared, NULL, &buffers, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1107") == 0,
                  "no device memory");
            CHECK(emu->ops->allocate(emu, sizes.values, &buffers.values, &error) == ZF_OK, "%s", error.message);
            CHECK(emu->ops->allocate(emu, sizes.workspace, &buffers.workspace, &error) == ZF_OK, "%s", error.message);
            uint8_t *all = malloc(sizes.values), *values = calloc(1, 20000 * 4);
            for (unsigned round = 0; round < 2; round++) {
                CHECK(zf_decode_async(prepared, NULL, &buffers, &error) == ZF_OK, "%s", error.message);
                CHECK(emu->ops->wait(emu, NULL, &error) == ZF_OK, "%s", error.message);
                zf_status status = zf_decode_status(prepared, &stats, &error);
                CHECK(status == (damaged && column == 0 ? ZF_ERR_INPUT : ZF_OK), "%s", error.message);
                CHECK(stats.launches == (column == 0 ? 3 : 1) * (round + 1), "%llu launches", (ull)stats.launches);
                emu->ops->copy_out(emu, NULL, all, buffers.values, sizes.values, &error);
                for (uint64_t i = 0; column == 1 && i < 20000; i++) {
                    uint64_t bit = sizes.skip + i;
                    if (i % 8 == 0) values[i / 8] = 0;
                    values[i / 8] |= (uint8_t)((all[bit / 8] >> (bit % 8) & 1) << (i % 8));
                }
                if (column == 0) memcpy(values, all + sizes.skip, 20000 * 4);
                CHECK(status != ZF_OK || wrong_rows(column, values, 5001, 20000) == 0, "rows are wrong");
            }
            for (unsigned which = 0; which < 3; which++) {
                static const char *const says[] = {"`values`", "`workspace`", "`staging`"};
                zf_device_buffers small = buffers;
                --*(which == 0 ? &small.values_bytes : which == 1 ? &small.workspace_bytes : &small.staging_bytes);
                zf_status status = zf_decode_async(prepared, NULL, &small, &error);
                CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1117") == 0 && strstr(error.message, says[which]) != NULL,
                      "%s %s", error.code, error.message);
                CHECK(strstr(error.hint, "zf_decode_device_size") != NULL && strstr(error.place, "column ") != NULL,
                      "hint %s, place %s", error.hint, error.place);
            }
            // Memory of the host is none of the device, whichever buffer it is given for.
            static _Alignas(256) uint8_t of_host[1 << 20];
            for (unsigned which = 0; which < 2; which++) {
                zf_device_buffers wrong = buffers;
                *(which == 0 ? &wrong.values : &wrong.workspace) = (uint64_t)(uintptr_t)of_host;
                zf_status status = zf_decode_async(prepared, NULL, &wrong, &error);
                CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1107") == 0, "%s %s", error.code, error.message);
                CHECK(strstr(error.message, "not memory of the device") != NULL && strstr(error.hint, "`workspace`") != NULL,
                      "%s (%s)", error.message, error.hint);
                CHECK(zf_decode_status(prepared, NULL, &error) == ZF_ERR_USAGE, "the status of a call that failed");
            }
            free(all);
            free(values);
            emu->ops->release(emu, buffers.values);
            emu->ops->release(emu, buffers.workspace);
            free(buffers.staging);
            zf_prepared_free(prepared);
            zf_container_close(container);
        }
    }
    zf_container *container = open_written(10, NULL);
    zf_prepared *prepared;
    CHECK(zf_decode_prepare(container, 0, "cpu", NULL, &prepared, &error) == ZF_ERR_UNSUPPORTED && prepared == NULL, "the CPU");
    CHECK(strcmp(error.code, "ZF1406") == 0, "%s", error.code);
    CHECK(zf_decode_prepare(container, 7, "emu", NULL, &prepared, &error) == ZF_ERR_USAGE, "column 7");
    CHECK(zf_decode_prepare(NULL, 0, "emu", NULL, &prepared, &error) == ZF_ERR_USAGE, "no container");
    CHECK(zf_decode(container, 0, "emu", NULL, NULL, NULL, &error) == ZF_ERR_USAGE, "no buffers");
    zf_prepared_free(NULL);
    zf_container_close(container);
}

// A file that is cut between the two calls is an error, not a signal.
static void test_cut(void) {
    zf_error error = {0};
    zf_accelerator *emu = emulator();
    zf_container *container = open_written(30000, NULL);
    zf_prepared *prepared = NULL;
    zf_device_sizes sizes = {0};
    CHECK(zf_decode_prepare(container, 0, "emu", NULL, &prepared, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_decode_device_size(prepared, &sizes, &error) == ZF_OK, "%s", error.message);
    zf_device_buffers buffers = {.staging = malloc(sizes.staging), ZF_DEVICE_BYTES(sizes)};
    CHECK(emu->ops->allocate(emu, sizes.values, &buffers.values, &error) == ZF_OK, "%s", error.message);
    CHECK(emu->ops->allocate(emu, sizes.workspace, &buffers.workspace, &error) == ZF_OK, "%s", error.message);
    CHECK(truncate(path_of("a.zfd"), 256) == 0, "truncate");
    CHECK(zf_decode_async(prepared, NULL, &buffers, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1208") == 0, "%s %s",
          error.code, error.message);
    emu->ops->release(emu, buffers.values);
    emu->ops->release(emu, buffers.workspace);
    free(buffers.staging);
    zf_prepared_free(prepared);
    zf_container_close(container);
}

int main(void) {
    if (mkdtemp(directory) == NULL) return 1;
    zf_abi_provider provider = simt_provider();
    zf_error error;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 3}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    test_sizes();
    zf_emu_set_seed(emulator(), 3);
    test_ranges();
    fail_alike(damage_states, "ZF1309", "block 3, row 13056,");
    fail_alike(damage_even_first, "ZF1309", "block 2, row 8192,"); // units of both shapes fail, in either order
    fail_alike(damage_length, "ZF1321", "block 2, the whole block");
    test_groups();
    test_units();
    test_few_streams();
    test_failing_calls();
    test_apart();
    test_block();
    test_async();
    test_cut();
    zf_context_free(context);
    unlink(path_of("a.zfd"));
    CHECK(rmdir(directory) == 0, "something was left in %s", directory);
    return check_result();
}
