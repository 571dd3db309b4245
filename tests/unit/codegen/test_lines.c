// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Lines of the program. In what the emulated GPU reports: generated kernels of the library, run where something is wrong around
// them (memory that is too short, a thread that stays away, one that writes where others do), must name the line that did it. In
// PTX: the lines of the text that the container carries, and nothing of where the container lies.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/compiler.h"
#include "compiler/decoder/decoder.h"
#include "emulator/emu.h"
#include "frontend/spec/spec.h"
#include "runtime/decode/decode_unit.h"
#include "tests/support/emulated.h"
#include "tests/unit/check.h"

enum { ROWS = 10000, COLUMNS = 4 };

static const char program[] = "table t {\n    a: u32 = dictionary(bitpack);\n    b: i64 = rle(bitpack, bitpack);\n"
                              "    c: i32 = delta(bitpack);\n    d: i32 = delta;\n}\n";
static uint32_t a[ROWS];
static int64_t b[ROWS];
static int32_t c[ROWS];

typedef struct bench {
    char directory[64], source[96], file[96];
    zf_context *context;
    zf_compiler *compiler;
    zf_container *container;
    zf_text text; ///< that lines are of
} bench;

static bench start(void) {
    bench t = {.directory = "/tmp/zf_lines_XXXXXX"};
    CHECK(mkdtemp(t.directory) != NULL, "no directory");
    snprintf(t.source, sizeof t.source, "%s/t.zf", t.directory);
    snprintf(t.file, sizeof t.file, "%s/t.zfd", t.directory);
    FILE *f = fopen(t.source, "w");
    fputs(program, f);
    fclose(f);
    for (uint32_t k = 0; k < ROWS; k++) {
        a[k] = k * 2654435761u % 100 * 1000; // a table that is too small to be copied to shared memory
        b[k] = k / 7 % 90;
        c[k] = (int32_t)(k * 3 + k % 4);
    }
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_program *loaded = NULL;
    zf_encode_column columns[COLUMNS] = {
        {.name = "a", .values = a}, {.name = "b", .values = b}, {.name = "c", .values = c}, {.name = "d", .values = c}};
    bool good = emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &t.context, &error) == ZF_OK &&
                zf_compiler_create(t.context, &options, &t.compiler, &error) == ZF_OK &&
                zf_program_load(t.compiler, t.source, &loaded, &error) == ZF_OK &&
                zf_encode(loaded, "t", columns, COLUMNS, ROWS, NULL, t.file, NULL, &error) == ZF_OK &&
                zf_container_open(t.context, t.file, &t.container, &error) == ZF_OK;
    CHECK(good, "%s (%s)", error.message, error.place);
    zf_program_free(loaded);
    if (!good) exit(check_result());
    size_t length;
    const char *unit = zf_container_unit(t.container, &length);
    zf_lay_out_text(unit, length, &t.text);
    return t;
}

static void stop(bench *t) {
    zf_text_free(&t->text);
    zf_container_close(t->container);
    zf_compiler_free(t->compiler);
    zf_context_free(t->context);
    unlink(t->source);
    unlink(t->file);
    rmdir(t->directory);
}

/// Where the text has `phrase`, as reports name it.
static void place_of(const bench *t, const char *phrase, char out[128]) {
    const char *at = strstr(t->text.data, phrase);
    CHECK(at != NULL, "no `%s` in\n%s", phrase, t->text.data);
    unsigned line = 1;
    for (const char *p = t->text.data; at != NULL && p < at; p++) line += *p == '\n';
    snprintf(out, 128, ", t.zf:%u", line); // the code is shared by all files of table t
}

// ---- Faults ---------------------------------------------------------------------------------------------------

#define ARGS                                                                                                                     \
    void *thread, const uint8_t *base, const uint64_t *blocks, const uint32_t *first, const uint8_t *work, uint8_t *out,         \
        uint8_t *validity, int64_t *offsets, uint64_t *failure, uint32_t block_count, uint32_t even
typedef void (*kernel_fn)(ARGS);

/// The wrong of the launch that is being made; kernels have no other argument. One thread of the host runs them.
static struct {
    kernel_fn real, instead;
    bool cut_base, no_shared;
    uint64_t base_bytes;
    uint32_t away, away_end; ///< threads
} wrong;

static void stay_away(ARGS) {
    uint32_t number = zf_emu_thread(thread);
    if (number >= wrong.away && number < wrong.away_end) return;
    wrong.real(thread, base, blocks, first, work, out, validity, offsets, failure, block_count, even);
}

/// Thread 0, which runs first, writes all shared memory and goes on: what the others touch before the first barrier races.
static void write_first(ARGS) {
    if (zf_emu_thread(thread) == 0) zf_emu_check(thread, zf_emu_shared(thread, 0, 0), 256, 4, ZF_EMU_STORE, 0);
    wrong.real(thread, base, blocks, first, work, out, validity, offsets, failure, block_count, even);
}

static const zf_accelerator_ops *emu_ops;

static zf_status load(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code, zf_accelerator_code **out,
                      zf_error *error) {
    zf_abi_simt_kernel kernel = code->simt[0];
    zf_abi_code changed = *code;
    CHECK(plan->kernel_count == 1, "%u kernels", plan->kernel_count);
    changed.simt = &kernel;
    wrong.real = kernel.emulated;
    if (wrong.instead != NULL) kernel.emulated = wrong.instead;
    if (wrong.no_shared) kernel.shared_bytes = 0;
    return emu_ops->load(self, plan, &changed, out, error);
}

static zf_status launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                        const zf_simt_args *args, zf_error *error) {
    zf_simt_args changed = *args;
    if (wrong.cut_base) changed.base_bytes = wrong.base_bytes;
    wrong.base_bytes = args->base_bytes;
    return emu_ops->launch(self, stream, code, kernel, groups, &changed, error);
}

/// Decodes a column of the container on an emulated GPU to which `wrong` happens.
static zf_status decode(const bench *t, size_t column, zf_error *error) {
    zf_accelerator *emu = NULL;
    zf_units *units = NULL;
    uint64_t words[8] = {0};
    *error = (zf_error){0};
    CHECK(zf_emu_create(1, 32, &emu, error) == ZF_OK, "%s", error->message);
    emu_ops = emu->ops;
    zf_accelerator_ops changed = *emu_ops;
    changed.load = load;
    changed.launch = launch;
    emu->ops = &changed;
    zf_status status = zf_units_make(t->container, column, NULL, NULL, emu, &units, error);
    CHECK(status == ZF_OK, "%s (%s)", error->message, error->place);
    if (status == ZF_OK) {
        zf_units_sizes sizes = zf_units_sizes_of(units);
        zf_units_memory memory = {0};
        CHECK(zf_units_words(units) <= 8, "%u words", zf_units_words(units));
        status = emu_ops->allocate(emu, sizes.values, &memory.values, error);
        if (status == ZF_OK) status = emu_ops->allocate(emu, sizes.workspace, &memory.workspace, error);
        if (status == ZF_OK) status = zf_units_enqueue(units, NULL, &memory, words, error);
        if (status == ZF_OK) status = emu_ops->wait(emu, NULL, error);
        if (status == ZF_OK) status = zf_units_status(units, words, error);
    }
    zf_units_free(units);
    emu->ops = emu_ops;
    zf_emu_free(emu); // with what it allocated
    return status;
}

static void expect(const bench *t, const char *what, size_t column, const char *message, const char *phrase) {
    zf_error error;
    char place[128];
    place_of(t, phrase, place);
    zf_status status = decode(t, column, &error);
    CHECK(status != ZF_OK && strcmp(error.code, "ZF1904") == 0, "%s: %s %s", what, error.code, error.message);
    CHECK(strstr(error.message, message) != NULL, "%s: %s", what, error.message);
    size_t length = strlen(error.place), tail = strlen(place);
    CHECK(length > tail && strcmp(error.place + length - tail, place) == 0, "%s: \"%s\", not \"%s\": %s", what, error.place,
          place, error.message);
}

// ---- PTX ------------------------------------------------------------------------------------------------------

/// The PTX of column a of the container: the general form.
static const char *ptx_of(const bench *t, zf_container *container) {
    zf_abi_provider provider = zf_provider_abi(t->compiler->provider);
    zf_abi_device device = {.target = {.family = ZF_TARGET_NVPTX, .arch = 90}};
    const zf_abi_plan *plan = NULL;
    const zf_abi_code *code = NULL;
    zf_error error = {0};
    zf_status status = provider.plan(provider.self, container, 0, NULL, 0, device, &plan, &error);
    if (status == ZF_OK) status = provider.code(provider.self, plan, NULL, &code, &error);
    CHECK(status == ZF_OK, "%s (%s)", error.message, error.place);
    return status == ZF_OK ? code->image : "";
}

static void test_ptx(const bench *t) {
    char line[32], place[128], copy[96], command[256];
    const char *ptx = ptx_of(t, t->container);
    place_of(t, "decode(i) = entries", place);
    snprintf(line, sizeof line, "\t.loc\t1 %s ", strrchr(place, ':') + 1);
    CHECK(strstr(ptx, "\t.file\t1 \"t.zf\"\n") != NULL && strstr(ptx, ".file\t2") == NULL, "%s", ptx);
    CHECK(strstr(ptx, line) != NULL, "no `%s` in %s", line, ptx);
    CHECK(strstr(ptx, "\n.target sm_90\n") != NULL, "%s", ptx);
    // The same file elsewhere has the same code.
    snprintf(copy, sizeof copy, "%s/other.zfd", t->directory);
    snprintf(command, sizeof command, "cp %s %s", t->file, copy);
    CHECK(system(command) == 0, "%s", command);
    zf_container *other = NULL;
    zf_error error = {0};
    CHECK(zf_container_open(t->context, copy, &other, &error) == ZF_OK, "%s", error.message);
    CHECK(other == NULL || strcmp(ptx_of(t, other), ptx) == 0, "a copy of the file has other code");
    zf_container_close(other);
    unlink(copy);
}

int main(void) {
    bench t = start();
    zf_error error;
    uint64_t bytes[COLUMNS];
    for (size_t column = 0; column < COLUMNS; column++) { // nothing is wrong
        wrong.cut_base = false;
        CHECK(decode(&t, column, &error) == ZF_OK, "column %zu: %s (%s)", column, error.message, error.place);
        bytes[column] = wrong.base_bytes;
    }
    // The stored bytes end too early: for the dictionary's entries, which lie last, and for all.
    wrong.cut_base = true;
    wrong.base_bytes = bytes[0] - 300;
    expect(&t, "no entries", 0, "reads 4 bytes where the launch has no memory", "decode(i) = entries[codes[i]]");
    wrong.base_bytes = 0;
    expect(&t, "no codes", 0, "reads 4 bytes where the launch has no memory", "decode(i) = base + packed.bits");
    wrong.cut_base = false;

    wrong.no_shared = true;
    expect(&t, "no shared memory", 1, "writes 4 bytes", "algorithm rle");
    wrong.no_shared = false;
    wrong.instead = stay_away;
    wrong.away = 5, wrong.away_end = 6;
    expect(&t, "staged words that a lane misses", 2, "waits at a barrier of its warp that thread 5 does not come to",
           "algorithm delta");
    expect(&t, "a shuffle that a lane misses", 3, "waits at a shuffle that thread 5 does not come to", "decode(i) = first + sum");
    wrong.away = 32, wrong.away_end = 64; // a whole warp, so that no shuffle misses one of its lanes
    expect(&t, "a barrier that a warp misses", 1, "waits at a barrier that thread 32 does not come to", "algorithm rle");
    wrong.instead = write_first;
    expect(&t, "a write that no barrier orders", 1, "races with thread 0", "algorithm rle");
    test_ptx(&t);
    stop(&t);
    return check_result();
}
