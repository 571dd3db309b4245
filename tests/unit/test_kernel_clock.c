// Links: zipflow-codegen zipflow-scheduler zipflow-patterns zipflow-frontend zipflow-runtime
// Timing kernels: the whole output is poisoned before any of them runs, so that what one leaves out shows.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/emu.h"
#include "runtime/kernel_clock.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

enum { ROWS = 1003 };

static const char program[] = "table t {\n    s: string? = nullable(values: strings(lengths: bitpack));\n}\n";
static char text[] = "aabbcc";

static void check_poison(zf_accelerator *emu, const char *what, uint64_t at, uint64_t bytes, uint8_t poison) {
    zf_error error = {0};
    uint8_t *seen = calloc(bytes + 1, 1);
    CHECK(at != 0 && bytes > 0, "there are no %s", what);
    CHECK(emu->ops->copy_out(emu, NULL, seen, at, bytes, &error) == ZF_OK, "%s", error.message);
    CHECK(emu->ops->wait(emu, NULL, &error) == ZF_OK, "%s", error.message);
    uint64_t others = 0;
    for (uint64_t k = 0; k < bytes; k++) others += seen[k] != poison;
    CHECK(others == 0, "%s: %llu bytes of %llu are not poisoned", what, (unsigned long long)others, (unsigned long long)bytes);
    free(seen);
}

/// No kernel is timed, so that none stores.
static void test_poison(zf_container *container, uint8_t poison) {
    zf_error error = {0};
    zf_accelerator *emu = NULL;
    zf_units *units = NULL;
    zf_units_memory memory = {0};
    CHECK(zf_emu_create(1, &emu, &error) == ZF_OK, "%s", error.message);
    zf_units_options options = {.resident = true};
    bool good = zf_units_make(container, 0, NULL, &options, emu, &units, &error) == ZF_OK &&
                zf_units_allocate(units, &memory, &error) == ZF_OK && zf_units_upload(units, NULL, &memory, &error) == ZF_OK;
    CHECK(good, "%s (%s)", error.message, error.place);
    if (!good) exit(check_result());
    zf_kernel_time none;
    CHECK(zf_units_time_kernels(units, NULL, &memory, poison, 0, 1, &none, 0, &error) == ZF_OK, "%s", error.message);
    zf_units_sizes sizes = zf_units_sizes_of(units);
    check_poison(emu, "values", memory.values, sizes.values, poison);
    check_poison(emu, "offsets", memory.offsets, sizes.offsets, poison);
    check_poison(emu, "validity", memory.validity, sizes.validity, poison);
    CHECK(zf_units_time_kernels(units, NULL, &memory, poison, 0, 16, &none, 0, &error) == ZF_ERR_USAGE, "16 runs");
    zf_units_release(units, &memory);
    zf_units_free(units);
    zf_emu_free(emu);
}

int main(void) {
    char directory[64] = "/tmp/zf_clock_XXXXXX", source[96], file[96];
    CHECK(mkdtemp(directory) != NULL, "no directory");
    snprintf(source, sizeof source, "%s/t.zf", directory);
    snprintf(file, sizeof file, "%s/t.zfd", directory);
    FILE *f = fopen(source, "w");
    fputs(program, f);
    fclose(f);
    static int64_t offsets[ROWS + 1];
    static uint8_t validity[ROWS / 8 + 1];
    memset(validity, 0x5f, sizeof validity);
    for (uint32_t k = 0; k <= ROWS; k++) offsets[k] = k < sizeof text - 1 ? k : sizeof text - 1;
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *loaded = NULL;
    zf_container *container = NULL;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_encode_column column = {.name = "s", .values = text, .offsets = offsets, .validity = validity};
    bool good = zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK &&
                zf_compiler_create(context, &options, &compiler, &error) == ZF_OK &&
                zf_program_load(compiler, source, &loaded, &error) == ZF_OK &&
                zf_encode(loaded, "t", &column, 1, ROWS, NULL, file, NULL, &error) == ZF_OK &&
                zf_container_open(context, file, &container, &error) == ZF_OK;
    CHECK(good, "%s (%s)", error.message, error.place);
    if (good) {
        test_poison(container, 0x5a);
        test_poison(container, 0xa5);
    }
    zf_program_free(loaded);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    unlink(source);
    unlink(file);
    rmdir(directory);
    return check_result();
}
