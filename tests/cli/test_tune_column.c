// What kernels of a column are compared with where another column has such a kernel, too, and was tuned before. Times are made up
// here: what is chosen for a kernel makes it faster.
#include <stdlib.h>
#include <string.h>

#include "frontend/driver/tune.h"
#include "tests/support/scratch.h"
#include "tests/unit/check.h"

enum { ROWS = 9000, SHARED = 1 }; // the kernel that puts nulls in between

/// What is measured.
static struct {
    size_t refusing;        ///< the column in which that kernel runs by default only; SIZE_MAX: none
    unsigned calls, shared; ///< measurements of a column, and those of them with something chosen for that kernel
} fake;

zf_status __wrap_zf_tune_block_time(zf_tune_block *block, const zf_choices *choices, zf_kernel_time *times, zf_error *error);
zf_status __wrap_zf_tune_block_time(zf_tune_block *block, const zf_choices *choices, zf_kernel_time *times, zf_error *error) {
    bool chosen[16] = {false};
    if (!block->has_expected) fake.calls = fake.shared = 0;
    for (uint32_t k = 0; k < choices->count; k++) chosen[choices->kernels[k]] = true;
    fake.calls++;
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

static void test_columns(const zf_tune_options *options, size_t refusing) {
    zf_error error = {0};
    zf_tune_record record = {0};
    fake.refusing = refusing;
    CHECK(zf_tune_column(options, place("t.zfd"), 0, &record, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_tune_column(options, place("t.zfd"), 1, &record, &error) == ZF_OK, "%s", error.message);
    const zf_tune_kernel *first = find(&record, "a", SHARED), *own = find(&record, "b", 0);
    CHECK(record.count == 3 && first != NULL && own != NULL && own->number == 0, "%zu kernels", record.count);
    if (first == NULL || own == NULL) return;
    CHECK(!zf_search_same(&first->result.best, &(zf_search_point){{0}}) && first->result.seconds == 2e-3, "nothing was found");
    CHECK(own->result.found && own->result.default_seconds == 2e-3, "the default took %g s", own->result.default_seconds);
    CHECK(own->result.seconds == (refusing == 1 ? 1e-3 : 1e-4), "the best took %g s", own->result.seconds);
    CHECK(fake.calls > 2 && fake.shared == (refusing == 1 ? 1 : fake.calls - 1), "%u of %u with what the other column found",
          fake.shared, fake.calls);
    zf_tune_record_free(&record);
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_device device;
    zf_tuned known = {0};
    if (!scratch_begin("tune-column")) return 1;
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    write_file(compiler);
    zf_tune_options options = {.context = context, .compiler = compiler, .known = &known, .bytes = 1, .rows = ROWS, .runs = 1};
    options.info.description = "a test's";
    options.probes = 4;
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &options.accelerator, &error) == ZF_OK, "%s", error.message);
    CHECK(options.accelerator->ops->stream_open(options.accelerator, &options.stream, &error) == ZF_OK, "%s", error.message);
    test_columns(&options, SIZE_MAX);
    test_columns(&options, 1);
    options.exhaustive = true;
    test_columns(&options, SIZE_MAX);
    options.accelerator->ops->stream_close(options.accelerator, options.stream);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
