// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// A pipeline whose memory comes from the caller's functions: that all of it does, while the pipeline and its batches are made and
// never later; that all of it is given back, as it was given; and that each call that gives nothing, in turn, is an error that
// says what was wanted, after which nothing is left.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/pipeline/pipeline_internal.h"
#include "tests/support/emulated.h"
#include "tests/support/late_accelerator.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/short_strings.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

enum { ROWS = 9000, ROWS_PER_BLOCK = 4096, COLUMNS = 3, MOST = 256 };

static zf_context *context;
static zf_accelerator *emu;

// ---- An allocator that counts -------------------------------------------------------------------------------------

typedef struct given {
    uint64_t at, bytes;
    void *allocated;
    bool on_device, free;
} given;

typedef struct counter {
    pthread_mutex_t lock;
    long fail_in; ///< so many calls until one gives nothing; negative: none
    uint64_t off; ///< added to what the next calls give: it is not aligned then
    given all[MOST];
    size_t calls, outstanding;
    unsigned mistakes; ///< what was given back that was not given, or otherwise
} counter;

static uint64_t give(counter *c, bool on_device, uint64_t bytes, uint64_t alignment) {
    zf_error error;
    uint64_t at = 0;
    pthread_mutex_lock(&c->lock);
    CHECK(bytes > 0 && alignment == (on_device ? 256u : 4096u), "%llu bytes aligned to %llu", (ull)bytes, (ull)alignment);
    if (c->calls == MOST) abort();
    if (c->fail_in < 0 || c->fail_in-- > 0) {
        given *g = &c->all[c->calls++];
        *g = (given){.bytes = bytes, .on_device = on_device};
        if (on_device) {
            CHECK(emu->ops->allocate(emu, bytes, &g->at, &error) == ZF_OK, "%s", error.message);
        } else {
            g->allocated = aligned_alloc(alignment, (bytes + alignment + alignment - 1) / alignment * alignment);
            memset(g->allocated, 0xa5, bytes);
            g->at = (uint64_t)(uintptr_t)g->allocated;
        }
        g->at += c->off;
        at = g->at;
        c->outstanding++;
    }
    pthread_mutex_unlock(&c->lock);
    return at;
}

static void take_back(counter *c, bool on_device, uint64_t at, uint64_t bytes) {
    bool found = false;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->calls && !found; i++) {
        given *g = &c->all[i];
        found = g->at == at && g->bytes == bytes && g->on_device == on_device && !g->free;
        if (!found) continue;
        g->free = true;
        c->outstanding--;
        if (on_device)
            emu->ops->release(emu, at - c->off);
        else
            free(g->allocated);
    }
    c->mistakes += !found;
    pthread_mutex_unlock(&c->lock);
}

static uint64_t give_device(void *user, uint64_t bytes, uint64_t alignment) { return give(user, true, bytes, alignment); }
static void *give_host(void *user, uint64_t bytes, uint64_t alignment) {
    return (void *)(uintptr_t)give(user, false, bytes, alignment);
}
static void take_device(void *user, uint64_t address, uint64_t bytes) { take_back(user, true, address, bytes); }
static void take_host(void *user, void *at, uint64_t bytes) { take_back(user, false, (uint64_t)(uintptr_t)at, bytes); }

static void counter_begin(counter *c) {
    *c = (counter){.fail_in = -1};
    pthread_mutex_init(&c->lock, NULL);
}

static void counter_end(counter *c) {
    CHECK(c->outstanding == 0 && c->mistakes == 0, "%zu pieces are left, %u mistakes", c->outstanding, c->mistakes);
    pthread_mutex_destroy(&c->lock);
}

static zf_pipeline_options options_of(counter *c) {
    return (zf_pipeline_options){.device_staging = 1 << 20,
                                 .host_staging = 1 << 20,
                                 .readers = 2,
                                 .allocator = {c, give_device, take_device, give_host, take_host}};
}

// ---- A device that allocates nothing itself -----------------------------------------------------------------------

static unsigned asked; ///< calls for memory

static zf_status no_device_memory(zf_accelerator *self, uint64_t bytes, uint64_t *address, zf_error *error) {
    (void)self, (void)bytes, (void)address;
    asked++;
    return zf_fail(error, ZF_ERR_DEVICE, "ZF1108", "memory of the device that the allocator was not asked for");
}
static zf_status no_host_memory(zf_accelerator *self, uint64_t bytes, void **at, zf_error *error) {
    (void)self, (void)bytes, (void)at;
    asked++;
    return zf_fail(error, ZF_ERR_MEMORY, "ZF1102", "memory of the host that the allocator was not asked for");
}

// ---- A file -------------------------------------------------------------------------------------------------------

static char characters[4 * ROWS];
static int64_t offsets[ROWS + 1];
static uint8_t validity[(ROWS + 7) / 8], flags[ROWS], packed[(ROWS + 7) / 8]; ///< `packed`: the flags, as they are decoded
static uint32_t numbers[ROWS];

/// Columns of every kind: numbers, booleans, strings that may be null.
static void write_file(zf_compiler *compiler) {
    short_strings_fill(ROWS, characters, offsets, validity);
    for (uint64_t r = 0; r < ROWS; r++) {
        flags[r] = r % 3 == 0;
        if (flags[r]) packed[r / 8] |= (uint8_t)(1u << r % 8);
        numbers[r] = (uint32_t)(r * 7919 % 1000);
    }
    FILE *source = fopen(place("t.zf"), "w");
    fputs("table t { n: u32 = bitpack; f: bool = plain; s: string? = nullable(values: strings); }\n", source);
    fclose(source);
    zf_error error = {0};
    zf_program *program = NULL;
    CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s %s", error.message, error.place);
    zf_encode_column encoded[] = {{.name = "n", .values = numbers},
                                  {.name = "f", .values = flags},
                                  {.name = "s", .values = characters, .offsets = offsets, .validity = validity}};
    zf_encode_options options = {.rows_per_block = ROWS_PER_BLOCK};
    CHECK(zf_encode(program, "t", encoded, COLUMNS, ROWS, &options, place("t.zfd"), NULL, &error) == ZF_OK, "%s %s",
          error.message, error.place);
    zf_program_free(program);
}

static _Alignas(64) uint8_t made[COLUMNS][(4 * ROWS / 64 + 2) * 64], made_validity[ROWS / 8 + 64]; // each aligned
static int64_t made_offsets[ROWS + 1];

static void poison(void) {
    memset(made, 0xcd, sizeof made);
    memset(made_offsets, 0xcd, sizeof made_offsets);
    memset(made_validity, 0xcd, sizeof made_validity);
}

static bool all_there(void) {
    return memcmp(made[0], numbers, sizeof numbers) == 0 && memcmp(made[1], packed, sizeof packed) == 0 &&
           memcmp(made[2], characters, (size_t)offsets[ROWS]) == 0 && memcmp(made_offsets, offsets, sizeof offsets) == 0 &&
           memcmp(made_validity, validity, sizeof validity) == 0;
}

static void fill_requests(zf_container *container, zf_pipeline_request *requests) {
    for (size_t i = 0; i < COLUMNS; i++) {
        requests[i] = (zf_pipeline_request){
            .container = container, .column = i, .host = {.values = made[i], .values_bytes = sizeof made[i]}};
        if (i == 2)
            requests[i].host = (zf_decode_buffers){.values = made[i],
                                                   .offsets = made_offsets,
                                                   .validity = made_validity,
                                                   .values_bytes = sizeof made[i],
                                                   .offsets_bytes = sizeof made_offsets,
                                                   .validity_bytes = sizeof made_validity};
    }
}

static zf_container *open_file(bool loaded) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(zf_container_open(context, place("t.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    if (container == NULL) abort();
    if (loaded) CHECK(zf_container_load(container, "emu", &error) == ZF_OK, "%s", error.message);
    return container;
}

// ---- Tests --------------------------------------------------------------------------------------------------------

/// Each call in turn gives nothing, until none is left to. Then everything goes, twice, and nothing more is allocated.
static void test_each_call(bool loaded) {
    static const char *const wanted[] = {"a pipeline's staging",    "values",          "offsets", "validity",
                                         "a batch's failure words", "a batch's tables"};
    unsigned said[sizeof wanted / sizeof *wanted] = {0}, failed = 0;
    bool whole = false;
    zf_container *container = open_file(loaded);
    for (long call = 0; !whole && call < MOST; call++) {
        late l;
        counter c;
        zf_error error = {0};
        zf_pipeline *pipeline = NULL;
        zf_batch *batch = NULL;
        zf_pipeline_request requests[COLUMNS] = {0};
        counter_begin(&c);
        late_begin(&l, emu, 0);
        l.ops.allocate = no_device_memory;
        l.ops.host_allocate = no_host_memory;
        c.fail_in = call;
        zf_pipeline_options options = options_of(&c);
        fill_requests(container, requests);
        zf_status status = zf_pipeline_create_on(context, "emu", &l.base, &options, &pipeline, &error);
        if (status == ZF_OK) status = zf_batch_create(pipeline, requests, COLUMNS, &batch, &error);
        whole = status == ZF_OK;
        if (whole) {
            size_t calls = c.calls;
            CHECK(c.outstanding == calls, "%zu of %zu are kept", c.outstanding, calls);
            for (unsigned round = 0; round < 2; round++) {
                poison();
                CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
                for (size_t i = 0; i < COLUMNS; i++) CHECK(zf_batch_wait(batch, i, &error) == ZF_OK, "%s", error.message);
                CHECK(all_there(), "round %u: rows are wrong", round);
            }
            CHECK(c.calls == calls && c.outstanding == calls, "%zu calls on the way", c.calls - calls);
        } else {
            CHECK(status == ZF_ERR_MEMORY && strcmp(error.code, "ZF1116") == 0 && batch == NULL, "%s %s", error.code,
                  error.message);
            bool known = false;
            for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
                char end[64];
                snprintf(end, sizeof end, "for %s", wanted[i]);
                size_t length = strlen(error.message), tail = strlen(end);
                if (length < tail || strcmp(error.message + length - tail, end) != 0) continue;
                said[i]++;
                known = true;
                if (i >= 1 && i <= 3) CHECK(strstr(error.place, "t.zfd: column ") != NULL, "%s", error.place);
            }
            CHECK(known && strstr(error.message, " could not allocate ") != NULL, "%s", error.message);
            failed++;
        }
        zf_batch_free(batch);
        CHECK(pipeline == NULL || c.outstanding == (call == 0   ? 0
                                                    : call == 1 ? 1
                                                                : 2),
              "%zu pieces are a pipeline's", c.outstanding);
        zf_pipeline_free(pipeline);
        counter_end(&c);
        late_end(&l);
    }
    CHECK(asked == 0, "the device itself was asked %u times", asked);
    // Staging of both kinds; rows of three columns, of one of them offsets and validity; words; of loaded containers tables.
    CHECK(failed == (loaded ? 9 : 8) && said[0] == 2 && said[1] == 3 && said[2] == 1 && said[3] == 1 && said[4] == 1 &&
              said[5] == loaded,
          "%u failures", failed);
    zf_container_close(container);
}

/// Memory that is allocated but cannot be used is freed.
static void test_unaligned(void) {
    for (unsigned kind = 0; kind < 2; kind++) {
        counter c;
        zf_error error = {0};
        zf_pipeline *pipeline = NULL;
        counter_begin(&c);
        c.off = 64;
        zf_pipeline_options options = options_of(&c);
        if (kind == 0) options.allocator.host_allocate = NULL, options.allocator.host_free = NULL;
        CHECK(zf_pipeline_create(context, "emu", &options, &pipeline, &error) == ZF_ERR_MEMORY && pipeline == NULL &&
                  strcmp(error.code, "ZF1116") == 0 && strstr(error.message, "is not aligned") != NULL &&
                  strstr(error.message, kind == 0 ? "device memory" : "pinned") != NULL,
              "%s %s", error.code, error.message);
        CHECK(c.calls == 1, "%zu calls", c.calls);
        counter_end(&c);
    }
}

/// A pair of functions may be missing, a half may not; the CPU asks for none.
static void test_some_of_it(void) {
    zf_error error = {0};
    zf_pipeline *pipeline = NULL;
    zf_container *container = open_file(false);
    for (unsigned kind = 0; kind < 16; kind++) {
        counter c;
        counter_begin(&c);
        zf_pipeline_options options = options_of(&c);
        if (kind & 1) options.allocator.device_allocate = NULL;
        if (kind & 2) options.allocator.device_free = NULL;
        if (kind & 4) options.allocator.host_allocate = NULL;
        if (kind & 8) options.allocator.host_free = NULL;
        bool good = (kind & 3) % 3 == 0 && (kind & 12) % 12 == 0;
        CHECK((zf_pipeline_create(context, "emu", &options, &pipeline, &error) == ZF_OK) == good, "kind %u", kind);
        if (!good) CHECK(error.status == ZF_ERR_USAGE && pipeline == NULL && c.calls == 0, "kind %u: %s", kind, error.message);
        if (good) {
            zf_pipeline_request requests[COLUMNS] = {0};
            zf_batch *batch = NULL;
            fill_requests(container, requests);
            poison();
            CHECK(zf_batch_create(pipeline, requests, COLUMNS, &batch, &error) == ZF_OK, "%s", error.message);
            CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
            for (size_t i = 0; i < COLUMNS; i++) CHECK(zf_batch_wait(batch, i, &error) == ZF_OK, "%s", error.message);
            CHECK(all_there(), "kind %u: rows are wrong", kind);
            CHECK(c.calls == ((kind & 3) == 0 ? 6u : 0u) + ((kind & 12) == 0 ? 2u : 0u), "kind %u: %zu calls", kind, c.calls);
            zf_batch_free(batch);
            zf_pipeline_free(pipeline);
        }
        counter_end(&c);
    }
    counter unused;
    counter_begin(&unused);
    zf_pipeline_options host = options_of(&unused);
    CHECK(zf_pipeline_create(context, "cpu", &host, &pipeline, &error) == ZF_OK, "%s", error.message);
    CHECK(unused.calls == 0, "%zu calls", unused.calls);
    zf_pipeline_free(pipeline);
    counter_end(&unused);
    // More than can be: what the driver says, and what it was for.
    zf_pipeline_options much = {.host_staging = UINT64_MAX, .device_staging = 1 << 20};
    CHECK(zf_pipeline_create(context, "emu", &much, &pipeline, &error) == ZF_ERR_MEMORY && pipeline == NULL &&
              strstr(error.place, "staging") != NULL,
          "%s %s", error.message, error.place);
    zf_container_close(container);
}

typedef struct crowd {
    zf_pipeline *pipeline;
    zf_container *container;
} crowd;

static void *make_batches(void *user) {
    const crowd *one = user;
    zf_pipeline_request requests[COLUMNS] = {0};
    zf_error error = {0};
    fill_requests(one->container, requests);
    for (unsigned round = 0; round < 8; round++) {
        zf_batch *batch = NULL;
        CHECK(zf_batch_create(one->pipeline, requests, COLUMNS, &batch, &error) == ZF_OK, "%s", error.message);
        zf_batch_free(batch);
    }
    return NULL;
}

/// Threads that make batches of one pipeline at once.
static void test_at_once(void) {
    counter c;
    zf_error error = {0};
    pthread_t threads[3];
    counter_begin(&c);
    zf_pipeline_options options = options_of(&c);
    crowd one = {.container = open_file(false)};
    CHECK(zf_pipeline_create(context, "emu", &options, &one.pipeline, &error) == ZF_OK, "%s", error.message);
    for (size_t t = 0; t < 3; t++) CHECK(pthread_create(&threads[t], NULL, make_batches, &one) == 0, "a thread");
    for (size_t t = 0; t < 3; t++) pthread_join(threads[t], NULL);
    CHECK(c.calls == 2 + 3 * 8 * 6 && c.outstanding == 2, "%zu calls, %zu left", c.calls, c.outstanding);
    zf_pipeline_free(one.pipeline);
    zf_container_close(one.container);
    counter_end(&c);
}

int main(void) {
    zf_error error = {0};
    zf_compiler *compiler = NULL;
    zf_device device;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    if (!scratch_begin("allocator")) return 1;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &emu, &error) == ZF_OK, "%s", error.message);
    write_file(compiler);
    test_each_call(false);
    test_each_call(true);
    test_unaligned();
    test_some_of_it();
    test_at_once();
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
