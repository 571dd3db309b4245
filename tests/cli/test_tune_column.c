// The default output with which kernels of a column are compared, if another column has such a kernel, too, and was tuned
// before. Times are synthetic here: the choice of a kernel makes it faster.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "tuner/tuner.h"

enum { ROWS = 9000, SHARED = 1 }; // the kernel that puts nulls in between

/// The measured kernels.
static struct {
    size_t refusing;        ///< the column in which that kernel runs by default only; SIZE_MAX: none
    unsigned calls, shared; ///< measurements of a column, and those of them with something chosen for that kernel
    bool compiles;          ///< code is got ahead, and not only asked for
    unsigned ahead;         ///< those whose code was got before
    unsigned refused[2];    ///< the first measurement that the driver refuses, and the first behind it that it does not; 0: none
} fake;

zf_status __real_zf_code_obtain_from(zf_context *context, const char *device, const zf_code_request *requests,
                                     const zf_abi_provider *providers, size_t count, unsigned threads, zf_code_stats *each,
                                     zf_code_stats *all, zf_loaded_codes *loaded, zf_error *error);
zf_status __wrap_zf_code_obtain_from(zf_context *context, const char *device, const zf_code_request *requests,
                                     const zf_abi_provider *providers, size_t count, unsigned threads, zf_code_stats *each,
                                     zf_code_stats *all, zf_loaded_codes *loaded, zf_error *error);
zf_status __wrap_zf_code_obtain_from(zf_context *context, const char *device, const zf_code_request *requests,
                                     const zf_abi_provider *providers, size_t count, unsigned threads, zf_code_stats *each,
                                     zf_code_stats *all, zf_loaded_codes *loaded, zf_error *error) {
    return fake.compiles
               ? __real_zf_code_obtain_from(context, device, requests, providers, count, threads, each, all, loaded, error)
               : ZF_OK;
}

zf_status __real_zf_tune_block_time(zf_tune_block *block, const zf_choices *choices, zf_kernel_time *times, zf_error *error);

zf_status __wrap_zf_tune_block_time(zf_tune_block *block, const zf_choices *choices, zf_kernel_time *times, zf_error *error);
zf_status __wrap_zf_tune_block_time(zf_tune_block *block, const zf_choices *choices, zf_kernel_time *times, zf_error *error) {
    bool chosen[16] = {false};
    if (!block->has_expected) fake.calls = fake.shared = fake.ahead = 0;
    for (uint32_t k = 0; k < choices->count; k++) chosen[choices->kernels[k]] = true;
    fake.calls++;
    if (fake.calls >= fake.refused[0] && fake.calls < fake.refused[1])
        return zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "measurement %u is refused", fake.calls);
    zf_provider *got = zf_tune_block_take_ahead(block, choices);
    fake.ahead += got != NULL;
    zf_provider_free(got);
    fake.shared += chosen[SHARED];
    CHECK(block->has_expected || choices->count == 0, "column %zu: the first measurement is not by default", block->column);
    if (block->column == fake.refusing && chosen[SHARED]) return zf_fail(error, ZF_ERR_UNSUPPORTED, "ZF1104", "it does not run");
    block->has_expected = true;
    for (uint32_t k = 0; k < block->plan->kernel_count; k++)
        times[k] =
            (zf_kernel_time){.seconds = (chosen[k] ? 1 : 2) * (k + 1) * 1e-3 * (block->column > 0 && chosen[SHARED] ? 0.1 : 1)};
    return ZF_OK;
}

static void write_file(zf_compiler *compiler) {
    FILE *f = fopen(place("t.zf"), "w");
    fputs("table t { a: u32? = nullable(values: rle(values: bitpack, counts: bitpack));\n"
          "b: u32? = nullable(values: delta(bitpack)); }\n",
          f);
    fclose(f);
    static uint32_t values[ROWS];
    static uint8_t validity[ROWS / 8 + 1];
    for (uint32_t k = 0; k < ROWS; k++) values[k] = k / 5;
    memset(validity, 0xfe, sizeof validity);
    zf_error error = {0};
    zf_program *program = NULL;
    CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s", error.message);
    zf_encode_column columns[] = {{.name = "a", .values = values, .validity = validity},
                                  {.name = "b", .values = values, .validity = validity}};
    CHECK(zf_encode(program, NULL, columns, 2, ROWS, NULL, place("t.zfd"), NULL, &error) == ZF_OK, "%s", error.message);
    zf_program_free(program);
}

static const zf_tune_kernel *find(const zf_tune_record *record, const char *column, size_t nth) {
    for (size_t k = 0; k < record->count; k++) {
        if (strcmp(record->kernels[k].column, column) == 0 && nth-- == 0) return &record->kernels[k];
    }
    return NULL;
}

static zf_status tune(const zf_tune_options *options, size_t column, zf_tune_record *record, zf_error *error) {
    size_t left = 1;
    zf_container *container = NULL;
    ZF_TRY(zf_container_open(options->context, place("t.zfd"), &container, error));
    zf_status status = zf_tune_column(options, container, column, record, &left, error);
    CHECK(left == 0, "%zu vectors are left", left);
    zf_container_close(container);
    return status;
}

static void test_columns(const zf_tune_options *options, size_t refusing) {
    zf_error error = {0};
    zf_tune_record record = {0};
    fake.refusing = refusing;
    CHECK(tune(options, 0, &record, &error) == ZF_OK, "%s", error.message);
    CHECK(tune(options, 1, &record, &error) == ZF_OK, "%s", error.message);
    const zf_tune_kernel *first = find(&record, "a", SHARED), *own = find(&record, "b", 0);
    CHECK(record.count == 3 && first != NULL && own != NULL && own->number == 0, "%zu kernels", record.count);
    if (first == NULL || own == NULL) return;
    CHECK(!zf_search_same(&first->result.best, &(zf_search_point){{0}}) && first->result.seconds == 2e-3, "nothing was found");
    double by_default = options->exhaustive ? 2e-4 : 2e-3; // measured again, beside what the other column found
    CHECK(own->result.found && own->result.default_seconds == by_default, "the default took %g s", own->result.default_seconds);
    CHECK(own->result.seconds == (refusing == 1 ? 1e-3 : 1e-4), "the best took %g s", own->result.seconds);
    CHECK(fake.calls > 2 && fake.shared == (refusing == 1 ? 1 : fake.calls - 1), "%u of %u with what the other column found",
          fake.shared, fake.calls);
    CHECK(!options->exhaustive || fake.ahead * 2 > fake.calls, "%u of %u got their code ahead", fake.ahead, fake.calls);
    zf_tune_record_free(&record);
}

/// A choice that the driver refuses once cannot run. If the driver refuses all from then on, the column fails without a result.
static void test_refused(const zf_tune_options *options) {
    for (unsigned first = 1; first < 6; first++) {
        zf_error error = {0};
        zf_tune_record record = {0};
        fake.refusing = SIZE_MAX;
        fake.refused[0] = first, fake.refused[1] = UINT_MAX;
        CHECK(tune(options, 1, &record, &error) == ZF_ERR_DEVICE, "from %u on: no error", first);
        CHECK(strcmp(error.code, "ZF1110") == 0, "%s %s", error.code, error.message);
        for (size_t k = 0; k < record.count; k++) CHECK(!record.kernels[k].result.found, "from %u on: something is found", first);
        zf_tune_record_free(&record);
        fake.refused[1] = first + 1;
        zf_status status = tune(options, 1, &record, &error);
        CHECK(status == (first == 1 ? ZF_ERR_DEVICE : ZF_OK), "measurement %u alone: %s", first, error.message);
        for (size_t k = 0; k < record.count; k++)
            CHECK(record.kernels[k].result.found == (first > 1), "measurement %u alone: kernel %zu", first, k);
        zf_tune_record_free(&record);
    }
    fake.refused[0] = fake.refused[1] = 0;
}

// ---- Code that is got ahead -------------------------------------------------------------------------------------

static uint64_t compiled(const zf_tune_options *options) { return zf_jit_get_stats(zf_compiler_jit(options->compiler)).compiled; }

/// Whether measuring so compiles something.
static bool compiles(zf_tune_block *block, const zf_choices *choices) {
    zf_kernel_time times[16];
    zf_error error = {0};
    uint64_t before = compiled(block->options);
    zf_status status = __real_zf_tune_block_time(block, choices, times, &error);
    CHECK(status == ZF_OK, "%s %s", error.code, error.message);
    CHECK(times[0].seconds > 0 && block->has_expected, "nothing was measured");
    return compiled(block->options) > before;
}

/// References to loaded code.
static struct {
    const zf_accelerator_ops *ops; ///< the emulator's
    atomic_uint loads, unloads;
} counted;

static zf_status count_load(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code, zf_accelerator_code **out,
                            zf_error *error) {
    counted.loads++;
    return counted.ops->load(self, plan, code, out, error);
}

static void count_unload(zf_accelerator *self, zf_accelerator_code *code) {
    counted.unloads++;
    counted.ops->unload(self, code);
}

static void test_ahead(const zf_tune_options *options) {
    enum { LANES = 5 };
    zf_error error = {0};
    zf_tune_block block = {.options = options, .column = 1, .name = "b"};
    zf_choices choices[LANES] = {{0}};
    bool found = false;
    for (uint32_t c = 1; c < LANES; c++) {
        choices[c].count = 1;
        zf_choose(&choices[c].of[0], ZF_CHOICE_THREADS, 32u << (c - 1)); // of the scan; nobody has so few as 2048
    }
    choices[4].of[0].values[ZF_CHOICE_THREADS] = 2048;
    CHECK(zf_container_open(options->context, place("t.zfd"), &block.container, &error) == ZF_OK, "%s", error.message);
    counted.ops = options->accelerator->ops;
    zf_accelerator_ops counting = *counted.ops;
    counting.load = count_load;
    counting.unload = count_unload;
    options->accelerator->ops = &counting;
    CHECK(zf_tune_block_find(&block, zf_container_shape(block.container, 1, 0), &found, &error) == ZF_OK && found, "%s",
          error.message);
    CHECK(!zf_tune_block_is_ahead(&block) && compiles(&block, &choices[0]), "the default was there");
    fake.compiles = true;
    zf_tune_block_get_ahead(&block, choices, LANES);
    fake.compiles = false;
    CHECK(zf_tune_block_is_ahead(&block) && !compiles(&block, &choices[0]) && !compiles(&block, &choices[2]), "it was not got");
    CHECK(zf_tune_block_is_ahead(&block), "what is last is lost");
    zf_provider *none = NULL;
    CHECK(zf_tune_block_take_ahead(&block, &choices[1]) == NULL, "what was passed over is kept");
    CHECK(zf_tune_block_open(&block, &choices[4], &none, &error) == ZF_ERR_USAGE && none == NULL, "2048 threads: %s",
          error.message);
    zf_tune_block_get_ahead(&block, choices + 3, 1);
    CHECK(zf_tune_block_take_ahead(&block, &choices[0]) == NULL && zf_tune_block_is_ahead(&block), "others were got");
    zf_tune_block_get_ahead(&block, NULL, 0);
    CHECK(!zf_tune_block_is_ahead(&block), "it is not dropped");
    zf_tune_block_free(&block);
    CHECK(counted.loads > 3 && counted.loads == counted.unloads, "%u references, %u given back", counted.loads, counted.unloads);
    options->accelerator->ops = counted.ops;
    zf_container_close(block.container);
}

// ---- Rows that differ -------------------------------------------------------------------------------------------

enum { COPIES = 5 };

/// A device whose kernels store another byte in one copy, when they are told to.
static struct {
    const zf_accelerator_ops *ops;
    bool lies;
    uint64_t away; ///< that byte's place behind the output's begin
    uint64_t sent; ///< bytes that came from the host
} liar;

static zf_status lying_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes, zf_error *error) {
    liar.sent += bytes;
    return liar.ops->copy_in(self, stream, to, from, bytes, error);
}

static zf_status lying_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                              const zf_simt_args *args, zf_error *error) {
    ZF_TRY(liar.ops->launch(self, stream, code, kernel, groups, args, error));
    if (!liar.lies || args->out == args->work) return ZF_OK; // it stores what another kernel reads
    return liar.ops->fill(self, stream, args->out + liar.away, 0xee, 1, error);
}

/// Measurements until one tells of the byte that is wrong in a copy; `most` + 1: none of them does.
static unsigned until_told(zf_tune_block *block, uint32_t copy, bool whole, unsigned most) {
    zf_choices threads = {.count = 1};
    zf_choose(&threads.of[0], ZF_CHOICE_THREADS, 64);
    liar.away = copy * block->units.copy_stride + 1;
    liar.lies = true;
    block->whole = whole;
    block->compared = 0;
    unsigned measured = 1;
    for (; measured <= most; measured++) {
        zf_kernel_time times[16];
        zf_error error = {0};
        zf_status status = __real_zf_tune_block_time(block, &threads, times, &error);
        if (status == ZF_OK) continue;
        char wanted[64];
        snprintf(wanted, sizeof wanted, "byte 1 of the values of copy %u of %u is ee", copy + 1, block->units.copies);
        CHECK(strcmp(error.code, "ZF2019") == 0 && strstr(error.message, wanted) != NULL, "%s %s", error.code, error.message);
        CHECK(strstr(error.place, "column b, by `--choose 0:THREADS=64`") != NULL, "%s", error.place);
        break;
    }
    liar.lies = block->whole = false;
    return measured;
}

/// Whichever copy is wrong, some measurement tells, and at once if all of them are compared.
static void test_copies(const zf_tune_options *options) {
    zf_error error = {0};
    zf_tune_options several = *options;
    several.bytes = (COPIES - 1) * (ROWS * sizeof(uint32_t) + 2);
    zf_tune_block block = {.options = &several, .column = 1, .name = "b"};
    bool found = false;
    CHECK(zf_container_open(options->context, place("t.zfd"), &block.container, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_tune_block_find(&block, zf_container_shape(block.container, 1, 0), &found, &error) == ZF_OK && found, "%s",
          error.message);
    CHECK(block.units.copies == COPIES, "%u copies", block.units.copies);
    liar.ops = several.accelerator->ops;
    zf_accelerator_ops ops = *liar.ops;
    ops.launch = lying_launch, ops.copy_in = lying_in;
    several.accelerator->ops = &ops;
    zf_kernel_time times[16];
    liar.lies = true;
    liar.away = 2 * block.units.copy_stride;
    block.whole = true;
    CHECK(__real_zf_tune_block_time(&block, &(zf_choices){0}, times, &error) == ZF_ERR_INTERNAL, "the default's copies differ");
    liar.lies = block.has_expected = block.whole = false;
    liar.sent = 0;
    CHECK(__real_zf_tune_block_time(&block, &(zf_choices){0}, times, &error) == ZF_OK, "%s", error.message);
    CHECK(liar.sent >= block.view.bytes && liar.sent < 2 * block.view.bytes, "%llu bytes came from the host for %llu",
          (unsigned long long)liar.sent, (unsigned long long)block.view.bytes);
    for (uint32_t copy = 0; copy < COPIES; copy++) {
        unsigned told = until_told(&block, copy, false, COPIES);
        CHECK(told == copy + 1, "copy %u is told of by measurement %u", copy, told);
        CHECK(until_told(&block, copy, true, 1) == 1, "copy %u is not compared", copy);
    }
    several.accelerator->ops = liar.ops;
    zf_tune_block_free(&block);
    zf_container_close(block.container);
}

/// Whether points of a space are choices of their own: what is kept of one that may be measured is found again, and no two are
/// alike.
static void check_points(const zf_choice_space *choices) {
    zf_search_space space = {0};
    zf_tune_axes(choices, &space);
    zf_search_point point, other, again;
    unsigned several = 0;
    for (uint32_t a = 0; zf_search_combination(&space, a, &point); a++) {
        zf_choice choice = zf_tune_choice(&space, &point), kept = zf_tune_choice_kept(&space, &point);
        if (!zf_choice_space_allows(choices, &choice, NULL)) continue;
        several += choice.values[ZF_CHOICE_WARPS] > 1;
        CHECK(zf_choice_space_allows(choices, &kept, NULL) && zf_tune_point(&space, &kept, &again), "point %u cannot be kept", a);
        CHECK(zf_search_same(&again, &point), "point %u is kept as another", a);
        for (uint32_t b = 0; b < a && zf_search_combination(&space, b, &other); b++) {
            zf_choice before = zf_tune_choice(&space, &other);
            if (zf_choice_space_allows(choices, &before, NULL))
                CHECK(memcmp(&before, &choice, sizeof choice) != 0, "points %u and %u are one", b, a);
        }
    }
    CHECK(several > 0, "no point has several warps");
}

/// Chunks with records, which by default have one warp, or several.
static void test_warps(uint32_t by_default) {
    zf_choice_space chunks = {.form = "records", .warp = 32};
    static const uint32_t values[][5] = {[ZF_CHOICE_THREADS] = {2, 64, 128},
                                         [ZF_CHOICE_WALK] = {2, 32, 1},
                                         [ZF_CHOICE_RECORDS] = {3, 2, 1, 0},
                                         [ZF_CHOICE_WARPS] = {4, 1, 2, 4, 8}};
    for (unsigned k = 0; k <= ZF_CHOICE_WARPS; k++) {
        chunks.counts[k] = values[k][0];
        for (uint32_t v = 0; v < values[k][0]; v++) chunks.values[k][v] = values[k][v + 1];
        if (values[k][0] > 0) zf_choose(&chunks.defaults, (zf_choice_kind)k, chunks.values[k][0]);
    }
    zf_choose(&chunks.defaults, ZF_CHOICE_WARPS, by_default);
    zf_choose(&chunks.defaults, ZF_CHOICE_THREADS, by_default > 1 ? 32 * by_default : 128);
    check_points(&chunks);
}

/// A space of chunks, by default walked by one thread, or by a warp four at a time: whatever may be measured is another choice
/// at each point, and what is kept of one says all that it has.
static void test_choices(bool by_warp) {
    zf_choice_space chunks = {.form = by_warp ? "warp" : "sequential"};
    static const uint32_t values[][5] = {[ZF_CHOICE_L] = {4, 1, 2, 4, 8},
                                         [ZF_CHOICE_THREADS] = {2, 32, 64},
                                         [ZF_CHOICE_REGISTERS] = {2, 0, 64},
                                         [ZF_CHOICE_WALK] = {2, 1, 32}};
    for (unsigned k = 0; k <= ZF_CHOICE_WALK; k++) {
        chunks.counts[k] = values[k][0];
        for (uint32_t v = 0; v < values[k][0]; v++) chunks.values[k][v] = values[k][v + 1];
        if (values[k][0] > 0) zf_choose(&chunks.defaults, (zf_choice_kind)k, chunks.values[k][0]);
    }
    if (by_warp) zf_choose(&chunks.defaults, ZF_CHOICE_WALK, 32);
    if (by_warp) zf_choose(&chunks.defaults, ZF_CHOICE_L, 4);
    zf_search_space space = {0};
    zf_tune_axes(&chunks, &space);
    zf_search_point point, other, again, by_default = zf_search_default(&space);
    for (uint32_t a = 0; zf_search_combination(&space, a, &point); a++) {
        zf_choice choice = zf_tune_choice(&space, &point), kept = zf_tune_choice_kept(&space, &point);
        if (!zf_choice_space_allows(&chunks, &choice, NULL)) continue;
        CHECK(zf_choice_space_allows(&chunks, &kept, NULL) && zf_tune_point(&space, &kept, &again), "point %u cannot be kept", a);
        CHECK(zf_search_same(&again, &point), "point %u is kept as another", a);
        bool alone = point.at[ZF_CHOICE_WALK] == 0 && point.at[ZF_CHOICE_L] == by_default.at[ZF_CHOICE_L];
        uint32_t all =
            1u << ZF_CHOICE_THREADS | 1u << ZF_CHOICE_REGISTERS | 1u << ZF_CHOICE_WALK | (alone ? 0 : 1u << ZF_CHOICE_L);
        CHECK(kept.chosen == (zf_search_same(&point, &by_default) ? 0 : all), "of point %u %x is kept", a, kept.chosen);
        CHECK(alone || choice.chosen == 0 || point.at[ZF_CHOICE_WALK] == space.axes[ZF_CHOICE_WALK].default_index ||
                  zf_is_chosen(&choice, ZF_CHOICE_L),
              "point %u does not say how many chunks a warp walks", a);
        for (uint32_t b = 0; b < a && zf_search_combination(&space, b, &other); b++) {
            zf_choice before = zf_tune_choice(&space, &other);
            if (zf_choice_space_allows(&chunks, &before, NULL))
                CHECK(memcmp(&before, &choice, sizeof choice) != 0, "points %u and %u are one", b, a);
        }
    }
}

int main(void) {
    test_choices(false);
    test_choices(true);
    test_warps(1);
    test_warps(4);
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_device device;
    zf_tuned known = {0};
    if (!scratch_begin("tune-column")) return 1;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    write_file(compiler);
    zf_tune_options options = {.context = context, .compiler = compiler, .known = &known, .bytes = 1, .rows = ROWS, .runs = 1};
    options.info.description = "a test's";
    options.info.name = "emu";
    options.probes = 4;
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &options.accelerator, &error) == ZF_OK, "%s", error.message);
    CHECK(options.accelerator->ops->stream_open(options.accelerator, &options.stream, &error) == ZF_OK, "%s", error.message);
    test_columns(&options, SIZE_MAX);
    test_columns(&options, 1);
    test_ahead(&options);
    test_copies(&options);
    test_refused(&options);
    options.exhaustive = true;
    test_columns(&options, SIZE_MAX);
    test_refused(&options);
    options.accelerator->ops->stream_close(options.accelerator, options.stream);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
