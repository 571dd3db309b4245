// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Buffers of a caller of zf_decode: as small and as little aligned as the header allows, less than that, and missing.
#include <stdlib.h>
#include <string.h>

#include "tests/support/emulated.h"
#include "tests/support/string_file.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

enum { ROWS = 9000 * 2, ROWS_PER_BLOCK = 4096, THREADS = 2 }; // two blocks for each thread, so that each has its own

static char characters[4 * ROWS];
static int64_t offsets[ROWS + 1];
static uint8_t validity[(ROWS + 7) / 8];
// The destinations of decodes.
static _Alignas(64) uint8_t made[4 * ROWS + 64], made_offsets[(ROWS + 2) * 8], made_validity[ROWS / 8 + 64], work[1 << 22];

static int64_t offset_at(const void *at, uint64_t row) {
    int64_t offset;
    memcpy(&offset, (const uint8_t *)at + row * sizeof offset, sizeof offset);
    return offset;
}

static uint64_t wrong_rows(const zf_decode_buffers *b, uint64_t begin, uint64_t count) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t r = begin + i;
        int64_t length = offsets[r + 1] - offsets[r], at = offset_at(b->offsets, i);
        bool same = offset_at(b->offsets, i + 1) - at == length &&
                    memcmp((const uint8_t *)b->values + at, characters + offsets[r], (size_t)length) == 0;
        wrong += !same || ((b->validity[i / 8] >> (i % 8) & 1) != (validity[r / 8] >> (r % 8) & 1));
    }
    return wrong;
}

static void test_least_aligned(zf_container *container, const char *device, zf_decode_buffers buffers) {
    buffers.workspace_bytes = sizeof work; // rows that begin within a byte of bits take more than whole columns
    static const uint64_t ranges[][2] = {{0, ROWS}, {1, ROWS - 1}, {4095, 2}, {5003, 3001}};
    for (size_t k = 0; k < sizeof ranges / sizeof ranges[0]; k++) {
        zf_error error = {0};
        zf_decode_options options = {.some_rows = true, .row_begin = ranges[k][0], .row_count = ranges[k][1]};
        memset(made, 0xa5, sizeof made);
        memset(made_offsets, 0xa5, sizeof made_offsets);
        memset(made_validity, 0xa5, sizeof made_validity);
        CHECK(zf_decode(container, 0, device, &options, &buffers, NULL, &error) == ZF_OK, "%s %s", error.message, error.place);
        uint64_t wrong = wrong_rows(&buffers, ranges[k][0], ranges[k][1]);
        CHECK(wrong == 0, "%llu of %llu rows are wrong", (unsigned long long)wrong, (unsigned long long)ranges[k][1]);
    }
}

/// Every device says the same, but that accelerators want no workspace.
static void test_refused(zf_container *container, const char *device, const zf_decode_buffers *good) {
    const struct {
        void *values;
        int64_t *offsets;
        uint8_t *validity;
        void *workspace;
        const char *says;
    } rows[] = {
        {made, (int64_t *)(void *)(made_offsets + 4), good->validity, work, "`offsets` is not aligned to 8 bytes"},
        {made, (int64_t *)(void *)(made_offsets + 1), good->validity, work, "`offsets` is not aligned to 8 bytes"},
        {made, good->offsets, good->validity, work + 32, "`workspace` is not aligned to 64 bytes"},
        {NULL, good->offsets, good->validity, work, "`values` is missing"},
        {made, NULL, good->validity, work, "`offsets` is missing"},
        {made, good->offsets, NULL, work, "`validity` is missing"},
        {made, good->offsets, good->validity, NULL, "`workspace` is missing"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        zf_error error = {0};
        bool work_only = strstr(rows[k].says, "workspace") != NULL && strcmp(device, "cpu") != 0;
        zf_decode_buffers bad = *good;
        bad.values = rows[k].values;
        bad.offsets = rows[k].offsets;
        bad.validity = rows[k].validity;
        bad.workspace = rows[k].workspace;
        zf_status status = zf_decode(container, 0, device, NULL, &bad, NULL, &error);
        CHECK(status == (work_only ? ZF_OK : ZF_ERR_USAGE), "%s: %s", device, rows[k].says);
        if (work_only) continue;
        CHECK(strcmp(error.code, "ZF1107") == 0 && strstr(error.message, rows[k].says) != NULL, "%s: %s, not %s", device,
              error.message, rows[k].says);
    }
}

/// Each buffer one byte short: refused before anything is written, with what it has and needs.
static void test_small(zf_container *container, const char *device, const zf_decode_buffers *good) {
    static const char *const names[] = {"values", "offsets", "validity", "workspace"};
    for (size_t k = 0; k < 4; k++) {
        zf_error error = {0};
        zf_decode_buffers small = *good;
        size_t *has[] = {&small.values_bytes, &small.offsets_bytes, &small.validity_bytes, &small.workspace_bytes};
        char says[128];
        snprintf(says, sizeof says, "the buffer `%s` has %zu bytes; the decode needs %zu", names[k], *has[k] - 1, *has[k]);
        --*has[k];
        memset(made, 0xa5, sizeof made);
        zf_status status = zf_decode(container, 0, device, NULL, &small, NULL, &error);
        if (k == 3 && strcmp(device, "cpu") != 0) {
            CHECK(status == ZF_OK, "%s takes a workspace: %s", device, error.message);
            continue;
        }
        CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1117") == 0 && strcmp(error.message, says) == 0,
              "%s: %s %s, not %s", device, error.code, error.message, says);
        CHECK(strstr(error.hint, "zf_decode_size") != NULL && strstr(error.place, "column ") != NULL, "%s: hint %s, place %s",
              device, error.hint, error.place);
        CHECK(made[0] == 0xa5 && made[1] == 0xa5, "%s wrote into a buffer that is too small", device);
    }
}

/// A workspace for one thread is too small for several, which have one each.
static void test_threads(zf_container *container) {
    zf_error error = {0};
    zf_decode_options one = {.threads = 1, .row_count = UINT64_MAX};
    zf_decode_sizes sizes = {0};
    CHECK(zf_decode_size(container, 0, &one, &sizes, &error) == ZF_OK, "%s", error.message);
    zf_decode_buffers buffers = {.values = made,
                                 .offsets = (int64_t *)(void *)(made_offsets + 8),
                                 .validity = made_validity + 1,
                                 .workspace = work,
                                 ZF_DECODE_BYTES(sizes)};
    zf_decode_options more = {.threads = THREADS, .row_count = UINT64_MAX};
    zf_status status = zf_decode(container, 0, "cpu", &more, &buffers, NULL, &error);
    CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1117") == 0 && strstr(error.message, "`workspace`") != NULL, "%s %s",
          error.code, error.message);
    CHECK(strstr(error.hint, "`threads`") != NULL, "hint: %s", error.hint);
    CHECK(zf_decode(container, 0, "cpu", &one, &buffers, NULL, &error) == ZF_OK, "%s", error.message);
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_container *container = NULL;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    if (!scratch_begin("buffers")) return 1;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    string_file_write(compiler, ROWS, ROWS_PER_BLOCK, characters, offsets, validity);
    bool open = zf_container_open(context, place("t.zfd"), &container, &error) == ZF_OK;
    CHECK(open, "%s", error.message);
    zf_decode_sizes sizes = {0};
    bool fits = open && zf_decode_size(container, 0, NULL, &sizes, &error) == ZF_OK && sizes.workspace <= sizeof work;
    CHECK(fits, "%s: %zu bytes of workspace", error.message, sizes.workspace);
    const zf_decode_buffers least = {.values = made + 1, // characters: any address
                                     .offsets = (int64_t *)(void *)(made_offsets + 8),
                                     .validity = made_validity + 1,
                                     .workspace = work,
                                     ZF_DECODE_BYTES(sizes)};
    static const char *const devices[] = {"cpu", "emu"};
    for (size_t d = 0; d < 2 && fits; d++) {
        test_least_aligned(container, devices[d], least);
        test_refused(container, devices[d], &least);
        test_small(container, devices[d], &least);
        CHECK(zf_decode(container, 0, devices[d], NULL, NULL, NULL, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1107") == 0,
              "no buffers at all");
    }
    if (fits) test_threads(container);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
