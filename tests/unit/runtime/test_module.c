// Links: zipflow-compiler zipflow-emu
// Modules: every codec of the library through a module, general and specialised, bit for bit; which of the two codes ran; several
// providers of a context; every way in which a module is refused; mutated modules, of which no native code is run; PTX for a
// driver that is none, from a module without native code.
#include <stdlib.h>
#include <string.h>

#include "runtime/container/container_format.h"
#include "runtime/context/context.h"
#include "runtime/decode/block_check.h"
#include "runtime/module/module_open.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/fake_cuda_open.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

#include <xxhash.h>

typedef unsigned long long ull;

enum { BLOCK = 4096, MOST_ROWS = 3 * BLOCK + 1, COLUMNS = 9, CODED = 8 };

static const char text[] =
    "codec keys: i64 = delta_stride(start: delta(rle(bitpack, bitpack)), stride: bitpack, count: bitpack);\n"
    "table t {\n"
    "    widths: u32    = bitpack;\n"
    "    dates:  date32 = dictionary(bitpack);\n"
    "    steps:  i64    = delta(bitpack);\n"
    "    prices: f64    = float2int(bitpack);\n"
    "    runs:   i32    = rle(bitpack, bitpack);\n"
    "    nests:  i64    = rle(values: keys, counts: bitpack);\n"
    "    either: i32    = rle(bitpack, bitpack) | bitpack | plain;\n"
    "    bits:   bool   = plain;\n"
    "    coded:  u8     = bitpack(packed: u8[] = rans);\n"
    "}\n"
    "table other { widths: u32 = bitpack; }\n";

static uint32_t widths[MOST_ROWS];
static int32_t dates[MOST_ROWS], runs[MOST_ROWS], either[MOST_ROWS];
static int64_t steps[MOST_ROWS], nests[MOST_ROWS];
static double prices[MOST_ROWS];
static uint8_t bits[MOST_ROWS], coded[MOST_ROWS];
static const zf_encode_column columns[COLUMNS] = {
    {.name = "widths", .values = widths}, {.name = "dates", .values = dates}, {.name = "steps", .values = steps},
    {.name = "prices", .values = prices}, {.name = "runs", .values = runs},   {.name = "nests", .values = nests},
    {.name = "either", .values = either}, {.name = "bits", .values = bits},   {.name = "coded", .values = coded}};
static const size_t sizes[COLUMNS] = {4, 4, 8, 8, 4, 8, 4, 0, 1}; ///< of an element; 0: bits

static void fill(void) {
    for (uint64_t i = 0; i < MOST_ROWS; i++) {
        uint64_t block = i / BLOCK, k = i % BLOCK;
        widths[i] = (uint32_t)(k * 2654435761u >> (22 - 3 * block)) % (1u << (7 + 3 * block)); // another width in every block
        dates[i] = (int32_t)(8000 + k * 31 % 500);
        steps[i] = (int64_t)(i * 3 + i % 3);
        prices[i] = (double)(k * 7919 % 100000) / 100;
        runs[i] = (int32_t)(k / 9 * 17 % 300);
        nests[i] = (int64_t)(i / 20 * 4 + i / 5 % 4);
        either[i] = (int32_t)(block == 1 ? k / 100 : k * 40503 % 977); // runs in one block
        bits[i] = (uint8_t)(k * 31 % 7 < 3);
        coded[i] = (uint8_t)(k * 31 % 7 % (block == 0 ? 3 : block == 1 ? 7 : 2)); // of 2 bits, 3 bits, 1 bit, none
    }
}

// ---- Files and modules ----------------------------------------------------------------------------------------

static zf_context *context; ///< with the compiler
static zf_compiler *compiler;
static zf_program *program;

static void encode(uint64_t rows, const char *name) {
    zf_error error;
    zf_encode_options options = {.rows_per_block = BLOCK, .overwrite = true};
    demand(zf_encode(program, "t", columns, COLUMNS, rows, &options, place(name), NULL, &error), &error);
}

static void start(void) {
    zf_error error;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = place("cache")}, &context, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    FILE *source = fopen(place("t.zf"), "w");
    fputs(text, source);
    fclose(source);
    demand(zf_program_load(compiler, place("t.zf"), &program, &error), &error);
    encode(MOST_ROWS, "t.zfd");
    zf_module_stats stats = {0};
    demand(zf_module_compile(program, "t", NULL, place("general.zfm"), &stats, &error), &error);
    CHECK(stats.columns == COLUMNS && stats.general == 3 * (COLUMNS + 2) && stats.specialised == 0, "%llu columns, %llu, %llu",
          (ull)stats.columns, (ull)stats.general, (ull)stats.specialised);
    zf_container *container = NULL;
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
    demand(zf_module_compile_for(compiler, container, NULL, place("special.zfm"), &stats, &error), &error);
    CHECK(stats.columns == COLUMNS && stats.specialised > 3 * COLUMNS, "%llu specialised", (ull)stats.specialised);
    zf_container_close(container);
    demand(zf_module_compile(program, "other", &(zf_module_options){.no_nvptx = true, .cpu = "x86-64-v2"}, place("other.zfm"),
                             NULL, &error),
           &error);
    demand(zf_module_compile(program, "t", &(zf_module_options){.no_host = true}, place("gpu.zfm"), NULL, &error), &error);
}

static zf_context *bare(void) {
    zf_context *made = NULL;
    zf_error error;
    demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &made, &error), &error);
    return made;
}

static zf_container *open_in(zf_context *where, const char *name) {
    zf_container *container = NULL;
    zf_error error;
    demand(zf_container_open(where, place(name), &container, &error), &error);
    return container;
}

/// Decodes rows of a column into poisoned memory and compares them.
static zf_status decode(zf_container *container, size_t column, uint64_t begin, uint64_t count, const char *device,
                        zf_decode_stats *stats, zf_error *error) {
    uint8_t *out = aligned_alloc(64, 8 * MOST_ROWS / 64 * 64 + 128);
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count};
    zf_decode_sizes wanted = {0};
    memset(out, 0xa5, 8 * MOST_ROWS / 64 * 64 + 128);
    zf_status status = zf_decode_size(container, column, &options, &wanted, error);
    void *work = aligned_alloc(64, wanted.workspace / 64 * 64 + 64);
    zf_decode_buffers buffers = {.values = out, .workspace = work, ZF_DECODE_BYTES(wanted)};
    if (status == ZF_OK) status = zf_decode(container, column, device, &options, &buffers, stats, error);
    if (status == ZF_OK && strcmp(device, "cpu") == 0) {
        bool same = true;
        if (sizes[column] > 0)
            same = memcmp(out, (const uint8_t *)columns[column].values + begin * sizes[column], count * sizes[column]) == 0;
        for (uint64_t i = 0; i < count && sizes[column] == 0; i++) same = same && (out[i / 8] >> i % 8 & 1) == bits[begin + i];
        CHECK(same, "column %s, rows %llu and %llu more", columns[column].name, (ull)begin, (ull)count);
        CHECK(out[wanted.values] == 0xa5, "column %s: written behind its end", columns[column].name);
    }
    free(out);
    free(work);
    return status;
}

static zf_module *load(zf_context *where, const char *name) {
    zf_module *module = NULL;
    zf_error error;
    demand(zf_module_load(where, place(name), &module, &error), &error);
    return module;
}

static void test_columns(void) {
    static const uint64_t rows[] = {0, 1, 255, 256, 257, 1024, BLOCK - 1, BLOCK, BLOCK + 1, MOST_ROWS};
    static const char *const modules[] = {"general.zfm", "special.zfm"};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        encode(rows[r], "sizes.zfd");
        for (size_t m = 0; m < 2; m++) {
            zf_context *where = bare();
            zf_module *module = load(where, modules[m]);
            zf_container *container = open_in(where, "sizes.zfd");
            zf_error error;
            for (size_t c = 0; c < COLUMNS; c++) {
                demand(decode(container, c, 0, rows[r], "cpu", NULL, &error), &error);
                if (rows[r] > 300) demand(decode(container, c, 253, rows[r] - 300, "cpu", NULL, &error), &error);
            }
            zf_container_close(container);
            zf_module_free(module);
            zf_context_free(where);
        }
    }
}

// ---- Which code ran -------------------------------------------------------------------------------------------

typedef struct counting {
    zf_abi_provider inner;
    unsigned general, special; ///< codes given
} counting;

static zf_status counted_plan(void *self, zf_container *container, size_t column, const uint8_t *branches, size_t count,
                              zf_abi_device device, const zf_abi_plan **out, zf_error *error) {
    counting *c = self;
    return c->inner.plan(c->inner.self, container, column, branches, count, device, out, error);
}

static zf_status counted_code(void *self, const zf_abi_plan *plan, const uint64_t *shaping, const zf_abi_code **out,
                              zf_error *error) {
    counting *c = self;
    const zf_abi_code *general = NULL;
    zf_status status = c->inner.code(c->inner.self, plan, NULL, &general, error);
    if (status == ZF_OK) status = c->inner.code(c->inner.self, plan, shaping, out, error);
    if (status == ZF_OK && *out == general)
        __atomic_fetch_add(&c->general, 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&c->special, 1, __ATOMIC_RELAXED);
    return status;
}

static void test_which(void) {
    for (int special = 0; special < 2; special++) {
        zf_context *where = bare();
        zf_module *module = NULL;
        zf_error error;
        demand(zf_module_open(place(special ? "special.zfm" : "general.zfm"), &module, &error), &error);
        counting c = {.inner = zf_module_provider(module)};
        demand(zf_context_set_provider(where, &(zf_abi_provider){.self = &c, .plan = counted_plan, .code = counted_code}, &error),
               &error);
        zf_container *container = open_in(where, "t.zfd");
        zf_decode_stats stats = {0};
        for (size_t column = 0; column < COLUMNS; column++) {
            c.general = c.special = 0;
            demand(decode(container, column, 0, MOST_ROWS, "cpu", &stats, &error), &error);
            bool shaped = column != 7; // booleans as they are have no params
            bool good = special && shaped ? c.general == 0 && c.special > 0 : c.general > 0 && c.special == 0;
            if (column == 6) good = special ? c.special > 0 : c.special == 0; // some of its alternatives have params
            CHECK(good, "column %s, %s: %u general, %u special", columns[column].name, special ? "special" : "general", c.general,
                  c.special);
            // widths has another width in each of its first three blocks, and one row in the last
            if (column == 0) CHECK(stats.kernel_variants == (special ? 4u : 1u), "%llu variants", (ull)stats.kernel_variants);
        }
        zf_container_close(container);
        zf_context_free(where);
        zf_module_close(module);
    }
}

// ---- Several providers ----------------------------------------------------------------------------------------

static void expect(zf_context *where, size_t column, const char *device, const char *code, const char *words) {
    zf_container *container = open_in(where, "t.zfd");
    zf_error error = {0};
    zf_status status = decode(container, column, 0, MOST_ROWS, device, NULL, &error);
    if (code == NULL) {
        CHECK(status == ZF_OK, "%s %s", error.code, error.message);
    } else {
        CHECK(status != ZF_OK && strcmp(error.code, code) == 0, "%s: %s %s", code, error.code, error.message);
        CHECK(strstr(error.message, words) != NULL, "%s: %s", words, error.message);
        CHECK(strstr(error.place, "t.zfd: column ") != NULL && error.hint[0] != 0, "%s at %s: %s", code, error.place, error.hint);
    }
    zf_container_close(container);
}

/// A module with changes, written beside.
static void change(const char *from, const char *to, void (*edit)(zf_module_content *content)) {
    zf_module *module = NULL;
    zf_error error;
    zf_text bytes = {0};
    demand(zf_module_look(place(from), &module, &error), &error);
    zf_module_content content = *zf_module_content_of(module);
    edit(&content);
    demand(zf_module_write(&content, &bytes, &error), &error);
    FILE *file = fopen(place(to), "wb");
    fwrite(bytes.data, 1, bytes.length, file);
    fclose(file);
    zf_text_free(&bytes);
    zf_module_close(module);
}

static void drop_branches(zf_module_content *content) {
    zf_module_column *column = &content->tables[0].columns[6];
    uint32_t kept = 0;
    for (uint32_t p = 0; p < column->plan_count; p++) {
        if (column->plans[p].shape.branches[0] == 0) column->plans[kept++] = column->plans[p];
    }
    column->plan_count = kept;
}

static void drop_column(zf_module_content *content) { content->tables[0].column_count = 1; }

/// Seek points twice as far apart, as code for another interval would say.
static void stretch(zf_module_content *content) {
    zf_module_column *column = &content->tables[0].columns[2];
    for (uint32_t p = 0; p < column->plan_count; p++) {
        zf_module_plan *plan = &column->plans[p];
        zf_shape_tree *trees = (zf_shape_tree *)(uintptr_t)plan->shape.trees;
        zf_abi_tree *own = (zf_abi_tree *)(uintptr_t)plan->abi.trees;
        zf_abi_kernel *kernels = (zf_abi_kernel *)(uintptr_t)plan->abi.kernels;
        for (uint32_t t = 0; t < plan->abi.tree_count; t++) trees[t].interval = own[t].interval *= 2;
        for (uint32_t k = 0; k < plan->abi.kernel_count; k++) kernels[k].tile *= kernels[k].tree >= 0 ? 2 : 1;
    }
}

static void only_later_gpus(zf_module_content *content) {
    for (uint32_t c = 0; c < content->tables[0].column_count; c++) {
        for (uint32_t p = 0; p < content->tables[0].columns[c].plan_count; p++)
            content->tables[0].columns[c].plans[p].abi.target.arch += 100;
    }
}

/// The code of a tuple whose coder stores the column itself: it is without the last kernel.
static const zf_module_code *storing(const zf_module_plan *plan) {
    uint32_t last = plan->abi.kernel_count - 1;
    for (uint32_t k = 0; k < plan->code_count && plan->abi.target.family == ZF_TARGET_NVPTX; k++) {
        if (plan->codes[k].simt[last].threads == 0) return &plan->codes[k];
    }
    return NULL;
}

/// The facts of a module's code about the column's kernels are checked when it is written, and again when it is read.
static void spoil_storing(unsigned way) {
    zf_module *module = NULL;
    zf_error error = {0};
    zf_text written = {0};
    demand(zf_module_look(place("special.zfm"), &module, &error), &error);
    zf_module_content content = *zf_module_content_of(module);
    const zf_module_column *column = &content.tables[0].columns[CODED];
    for (uint32_t p = 0; p < column->plan_count; p++) {
        const zf_module_code *code = storing(&column->plans[p]);
        if (code == NULL) continue;
        uint32_t last = column->plans[p].abi.kernel_count - 1;
        zf_abi_simt_kernel *kernels = (zf_abi_simt_kernel *)(uintptr_t)code->simt;
        if (way == 0) kernels[last - 1].to_column = 0; // nobody stores it
        if (way == 1) kernels[last].threads = 256;     // two do
        if (way == 2) kernels[last].to_column = 1;
        if (way == 3) kernels[last - 1].threads = 0;
    }
    bool good = zf_module_write(&content, &written, &error) == ZF_OK;
    CHECK(way < 4 ? !good && strcmp(error.code, "ZF1901") == 0 : good, "%u: %s %s", way, error.code, error.message);
    zf_text_free(&written);
    zf_module_close(module);
}

/// Kernels run on threads whose stacks have a known size.
static void test_stacks(void) {
    for (uint32_t over = 0; over < 2; over++) {
        zf_module *module = NULL;
        zf_error error = {0};
        zf_text written = {0};
        demand(zf_module_look(place("special.zfm"), &module, &error), &error);
        zf_module_content content = *zf_module_content_of(module);
        for (uint32_t p = 0; p < content.tables[0].columns[0].plan_count; p++) {
            const zf_module_plan *plan = &content.tables[0].columns[0].plans[p];
            if (plan->abi.target.family == ZF_TARGET_HOST) plan->codes[0].stack_bytes = ZF_ABI_STACK_MOST + over;
        }
        bool good = zf_module_write(&content, &written, &error) == ZF_OK;
        CHECK(over ? !good && strcmp(error.code, "ZF1901") == 0 : good, "%u: %s %s", over, error.code, error.message);
        zf_text_free(&written);
        zf_module_close(module);
    }
}

static void test_storing(void) {
    zf_module *module = NULL;
    zf_error error;
    unsigned plans = 0, codes = 0;
    demand(zf_module_look(place("special.zfm"), &module, &error), &error);
    const zf_module_column *column = &zf_module_content_of(module)->tables[0].columns[CODED];
    for (uint32_t p = 0; p < column->plan_count; p++) {
        const zf_module_plan *plan = &column->plans[p];
        if (plan->abi.target.family != ZF_TARGET_NVPTX) continue;
        plans++;
        uint32_t last = plan->abi.kernel_count - 1;
        for (uint32_t k = 0; k < plan->code_count; k++) {
            bool stores = plan->codes[k].simt[last - 1].to_column != 0;
            CHECK(stores == (plan->codes[k].simt[last].threads == 0), "code %u: stored by two kernels, or by none", k);
            CHECK(k > 0 || !stores, "the general form knows a width");
            codes += stores;
        }
    }
    CHECK(plans == 2 && codes == 4, "%u of %u plans' codes are without the last kernel", codes, plans); // of 2 bits and 1
    zf_module_close(module);
    for (unsigned way = 0; way <= 4; way++) spoil_storing(way);
}

static void test_several(void) {
    change("general.zfm", "branches.zfm", drop_branches);
    change("general.zfm", "one.zfm", drop_column);
    change("general.zfm", "interval.zfm", stretch);
    zf_context *where = bare();
    expect(where, 0, "cpu", "ZF1401", "no module and no compiler");
    zf_module *modules[4] = {load(where, "other.zfm")};
    expect(where, 0, "cpu", "ZF1407", "other.zfm");
    modules[1] = load(where, "branches.zfm");
    expect(where, 0, "cpu", NULL, NULL); // the second knows it
    expect(where, 6, "cpu", "ZF1408", "branches.zfm");
    expect(where, 0, "emu", "ZF1409", "emulated");
    modules[2] = load(where, "one.zfm");
    expect(where, 6, "cpu", "ZF1408", "branches.zfm"); // says more than the one that does not know it
    modules[3] = load(where, "general.zfm");
    expect(where, 6, "cpu", NULL, NULL); // alternatives from two modules
    zf_module_free(modules[3]);
    expect(where, 6, "cpu", "ZF1408", "branches.zfm");
    for (int m = 0; m < 3; m++) zf_module_free(modules[m]);
    static const struct {
        const char *module;
        size_t column;
        const char *code, *words;
    } cases[] = {{"one.zfm", 6, "ZF1407", "this column"},
                 {"interval.zfm", 2, "ZF1403", "seek states every 512 elements"},
                 {"gpu.zfm", 0, "ZF1409", "the CPU"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        modules[0] = load(where, cases[i].module);
        expect(where, cases[i].column, "cpu", cases[i].code, cases[i].words);
        zf_module_free(modules[0]);
    }
    zf_context_free(where);
    // A module that does not know the table, and behind it the compiler that does.
    modules[0] = load(context, "other.zfm");
    expect(context, 5, "cpu", NULL, NULL);
    expect(context, 5, "emu", NULL, NULL);
    zf_module_free(modules[0]);
}

// ---- Refusals -------------------------------------------------------------------------------------------------

static uint8_t *bytes;
static size_t length;

static void read_bytes(const char *name) {
    FILE *file = fopen(place(name), "rb");
    fseek(file, 0, SEEK_END);
    length = (size_t)ftell(file);
    rewind(file);
    free(bytes);
    bytes = malloc(length);
    CHECK(fread(bytes, 1, length, file) == length, "%s", name);
    fclose(file);
}

static void mend(uint8_t *copy, size_t size) {
    zf_store64(copy + 24, XXH3_64bits(copy + ZF_MODULE_CHECKED_FROM, size - ZF_MODULE_CHECKED_FROM));
}

static void refused(const uint8_t *copy, size_t size, const char *code) {
    FILE *file = fopen(place("bad.zfm"), "wb");
    if (size > 0) fwrite(copy, 1, size, file);
    fclose(file);
    zf_context *where = bare();
    zf_module *module = NULL;
    zf_error error = {0};
    CHECK(zf_module_load(where, place("bad.zfm"), &module, &error) != ZF_OK && module == NULL, "%s: loaded", code);
    CHECK(strcmp(error.code, code) == 0 && strstr(error.place, "bad.zfm") != NULL, "%s: %s %s (%s)", code, error.code,
          error.message, error.place);
    zf_context_free(where);
}

/// Finds a text of the manifest.
static size_t find_text(const char *wanted) {
    size_t size = strlen(wanted);
    for (size_t at = zf_load64(bytes + 56); at + size <= length; at++) {
        if (memcmp(bytes + at, wanted, size) == 0) return at;
    }
    CHECK(false, "no %s in the manifest", wanted);
    return 0;
}

/// No name, type or codec has characters that would spoil a terminal or JSON.
static void test_texts(uint8_t *copy) {
    static const char *const texts[] = {"widths", "date32", "dictionary(", "packed"};
    static const char spoils[] = {'\x1b', '\x7f', '\xff', '\0', '\n'};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        for (size_t k = 0; k < sizeof spoils; k++) {
            if (spoils[k] == '\n' && t == 2) continue; // a codec may have several lines
            memcpy(copy, bytes, length);
            copy[find_text(texts[t]) + 1] = (uint8_t)spoils[k];
            mend(copy, length);
            refused(copy, length, "ZF1216");
        }
    }
}

/// The bytes between sections, if there are any.
static void test_padding(uint8_t *copy) {
    unsigned paddings = 0;
    for (int section = ZF_SECTION_MANIFEST; section <= ZF_SECTION_NATIVE; section++) {
        const uint8_t *row = bytes + 48 + ZF_MODULE_SECTION_BYTES * section;
        uint64_t end = zf_load64(row + 8) + zf_load64(row + 16);
        if (end % ZF_MODULE_ALIGNMENT == 0) continue;
        paddings++;
        memcpy(copy, bytes, length);
        copy[end] = 1;
        mend(copy, length);
        refused(copy, length, "ZF1216");
    }
    CHECK(paddings > 0, "no padding behind manifest and native code");
}

/// A large file is refused by its header, without the memory for all of it.
static void test_large(void) {
    static const struct {
        size_t at;
        uint32_t to;
        const char *code;
    } cases[] = {{0, 0, "ZF1211"}, {8, ZF_MODULE_VERSION + 1, "ZF1212"}, {12, 99, "ZF1213"}, {16, 77, "ZF1214"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const off_t size = (off_t)1 << 42; // no machine has the memory
        uint8_t header[ZF_MODULE_HEADER_BYTES];
        memcpy(header, bytes, sizeof header);
        zf_store64(header + 16, (uint64_t)size);
        zf_store32(header + cases[i].at, cases[i].to);
        FILE *file = fopen(place("large.zfm"), "wb");
        fwrite(header, 1, sizeof header, file);
        fflush(file);
        bool made = ftruncate(fileno(file), size) == 0;
        fclose(file);
        if (!made) return; // a file system without such files
        zf_module *module = NULL;
        zf_error error = {0};
        CHECK(zf_module_load(context, place("large.zfm"), &module, &error) != ZF_OK && strcmp(error.code, cases[i].code) == 0,
              "%s: %s %s", cases[i].code, error.code, error.message);
    }
}

static void test_refused(void) {
    read_bytes("special.zfm");
    uint8_t *copy = malloc(length + 1);
    memcpy(copy, bytes, length);
    refused(copy, 0, "ZF1211");
    refused(copy, 7, "ZF1211");
    refused((const uint8_t *)text, sizeof text, "ZF1211");
    refused(copy, 8, "ZF1214");
    refused(copy, ZF_MODULE_HEADER_BYTES - 1, "ZF1214");
    refused(copy, length - 1, "ZF1214");
    copy[length] = 0;
    refused(copy, length + 1, "ZF1214");
    struct {
        size_t at;
        uint8_t to;
        bool mended;
        const char *code;
    } changes[] = {{8, 0x41, false, "ZF1212"},
                   {12, 0x42, false, "ZF1213"},
                   {16, 0x40, false, "ZF1214"},
                   {24, (uint8_t)(bytes[24] ^ 0x40), false, "ZF1215"},
                   {200, (uint8_t)(bytes[200] ^ 0x40), false, "ZF1215"},
                   {32, 0, true, "ZF1216"}, // no machine, though there is code
                   {32, 2, true, "ZF1216"}, // a machine that there is not
                   {36, 0, true, "ZF1216"},
                   {36, 1, true, "ZF1216"}, // levels that modules are not made for
                   {36, 5, true, "ZF1216"},
                   {40, 4, true, "ZF1216"},
                   {48, 2, true, "ZF1216"},
                   {56, 0xc0, true, "ZF1216"},
                   // Bytes without a meaning.
                   {44, 1, true, "ZF1216"},
                   {47, 1, true, "ZF1216"},
                   {52, 1, true, "ZF1216"},
                   {76, 1, true, "ZF1216"},
                   {103, 1, true, "ZF1216"},
                   {120, 1, true, "ZF1216"},
                   {127, 1, true, "ZF1216"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        memcpy(copy, bytes, length);
        CHECK(copy[changes[i].at] != changes[i].to, "%zu is no change", i);
        copy[changes[i].at] = changes[i].to;
        if (changes[i].mended) mend(copy, length);
        refused(copy, length, changes[i].code);
    }
    // Code for more than this CPU has.
    uint32_t level;
    zf_cpu_here(&level);
    if (level < 4) {
        memcpy(copy, bytes, length);
        zf_store32(copy + 36, level + 1);
        mend(copy, length);
        refused(copy, length, "ZF1113");
    }
    test_texts(copy);
    test_padding(copy);
    free(copy);
    test_large();
    zf_error error = {0};
    zf_module *module = NULL;
    CHECK(zf_module_load(context, place("nowhere.zfm"), &module, &error) == ZF_ERR_IO, "%s", error.code);
    CHECK(zf_module_load(context, scratch, &module, &error) != ZF_OK && strcmp(error.code, "ZF1211") == 0, "%s", error.code);
    CHECK(zf_module_load(NULL, "a", &module, &error) == ZF_ERR_USAGE, "no context");
    // A CPU of a lower level, and another machine.
    CHECK(zf_cpu_fits(ZF_MACHINE_X86_64, 3, ZF_MACHINE_X86_64, 3, "m", &error) == ZF_OK, "the same level");
    CHECK(zf_cpu_fits(ZF_MACHINE_NONE, 0, ZF_MACHINE_NONE, 0, "m", &error) == ZF_OK, "no native code");
    CHECK(zf_cpu_fits(ZF_MACHINE_X86_64, 4, ZF_MACHINE_X86_64, 3, "m", &error) == ZF_ERR_DEVICE, "a higher level");
    CHECK(strcmp(error.code, "ZF1113") == 0 && strstr(error.message, "x86-64-v4; this one is of level x86-64-v3") != NULL, "%s",
          error.message);
    CHECK(strstr(error.hint, "--cpu x86-64-v3") != NULL, "%s", error.hint);
    CHECK(zf_cpu_fits(ZF_MACHINE_X86_64, 2, ZF_MACHINE_X86_64, 1, "m", &error) == ZF_ERR_DEVICE, "a lower level than any");
    CHECK(strstr(error.hint, "--cpu") == NULL && strstr(error.hint, "x86-64-v2 and later") != NULL, "%s", error.hint);
    CHECK(zf_cpu_fits(ZF_MACHINE_X86_64, 2, ZF_MACHINE_NONE, 0, "m", &error) == ZF_ERR_DEVICE, "another machine");
    CHECK(strstr(error.message, "x86-64, which this machine is not") != NULL, "%s", error.message);
    // Impossible requests.
    const char *path = place("never.zfm");
    CHECK(zf_module_compile(program, "t", &(zf_module_options){.cpu = "i486"}, path, NULL, &error) == ZF_ERR_USAGE, "i486");
    CHECK(zf_module_compile(program, "u", NULL, path, NULL, &error) == ZF_ERR_USAGE, "no such table");
    CHECK(zf_module_compile(program, "t", &(zf_module_options){.no_host = true, .no_nvptx = true}, path, NULL, &error) ==
              ZF_ERR_USAGE,
          "no target");
    CHECK(zf_module_compile(program, "other", NULL, place("other.zfm"), NULL, &error) == ZF_ERR_IO &&
              strcmp(error.code, "ZF1501") == 0,
          "%s", error.code);
    CHECK(access(path, F_OK) != 0, "a module that could not be made is there");
}

// ---- Mutated modules ------------------------------------------------------------------------------------------

static uint64_t state = 88172645463325252u;
static uint64_t random_word(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/// Runs the block checks of all plans on made-up descriptors that end where their memory ends.
static void run_checks(const zf_module_content *content) {
    for (uint32_t c = 0; content->table_count > 0 && c < content->tables[0].column_count; c++) {
        const zf_module_column *column = &content->tables[0].columns[c];
        for (uint32_t p = 0; p < column->plan_count; p++) {
            const zf_abi_plan *plan = &column->plans[p].abi;
            uint64_t *slots = malloc(plan->slot_count * sizeof *slots + 1);
            for (uint32_t s = 0; s < plan->slot_count; s++) slots[s] = random_word() >> random_word() % 64;
            uint32_t failed = zf_block_check_run(&plan->block_checks, slots);
            CHECK(failed == ZF_CHECKS_HOLD || failed < plan->check_count, "check %u of %u", failed, plan->check_count);
            free(slots);
        }
    }
}

/// Changes the manifest, whose numbers could lead a loader astray. A module that is still good is written again, which touches
/// all of it, and its block checks are run.
static void test_mutated(void) {
    enum { ROUNDS = 6000 };
    unsigned good = 0, bad = 0;
    uint64_t begin = zf_load64(bytes + 56), end = begin + zf_load64(bytes + 64);
    uint8_t *copy = malloc(length);
    for (unsigned round = 0; round < ROUNDS; round++) {
        memcpy(copy, bytes, length);
        unsigned changes = 1 + (unsigned)(random_word() % 3);
        for (unsigned k = 0; k < changes; k++) {
            uint64_t at = round % 8 == 0 ? 32 + random_word() % 96 : begin + random_word() % (end - begin - 8);
            uint64_t kind = random_word() % 4;
            if (kind == 0) copy[at] ^= (uint8_t)(1u << random_word() % 8);
            if (kind == 1) copy[at] = (uint8_t)random_word();
            if (kind == 2) zf_store32(copy + at, UINT32_MAX - (uint32_t)(random_word() % 4));
            if (kind == 3) zf_store32(copy + at, (uint32_t)(random_word() % 1000));
        }
        mend(copy, length);
        zf_arena *arena = zf_arena_create();
        zf_module_content content;
        zf_error error = {0};
        if (zf_module_parse(arena, copy, length, "mutated", &content, &error) == ZF_OK) {
            zf_text again = {0};
            CHECK(zf_module_write(&content, &again, &error) == ZF_OK, "round %u: %s", round, error.message);
            zf_text_free(&again);
            run_checks(&content);
            good++;
        } else {
            CHECK(strcmp(error.code, "ZF1216") == 0, "round %u: %s %s", round, error.code, error.message);
            bad++;
        }
        zf_arena_destroy(arena);
    }
    printf("%u mutated modules: %u are refused, %u still good\n", ROUNDS, bad, good);
    CHECK(good > ROUNDS / 20 && bad > ROUNDS / 4, "%u good, %u bad", good, bad);
    // The manifest cut at every place.
    for (uint64_t cut = 0; cut < end - begin; cut += cut < 600 ? 1 : 61) {
        zf_arena *arena = zf_arena_create();
        zf_module_content content = {0};
        uint8_t *exact = malloc(cut + 1); // so that a sanitizer sees a read behind it
        memcpy(exact, bytes + begin, cut);
        CHECK(zf_module_manifest_read(arena, exact, cut, &content) != NULL, "a manifest of %llu bytes", (ull)cut);
        free(exact);
        zf_arena_destroy(arena);
    }
    free(copy);
}

// ---- GPUs -----------------------------------------------------------------------------------------------------

static zf_fake_cuda *fake;

/// A module for GPUs alone holds nothing that depends on the host's machine, so that every host takes it.
static void test_without_host(void) {
    zf_module *module = NULL;
    zf_error error;
    demand(zf_module_look(place("gpu.zfm"), &module, &error), &error);
    const zf_module_content *content = zf_module_content_of(module);
    CHECK(content->native_bytes == 0 && content->import_count == 0, "%llu bytes of native code, %u imports",
          (ull)content->native_bytes, content->import_count);
    CHECK(content->machine == ZF_MACHINE_NONE && content->cpu_level == 0, "for machine %u, level %u", content->machine,
          content->cpu_level);
    CHECK(zf_cpu_fits(content->machine, content->cpu_level, ZF_MACHINE_NONE, 0, "m", &error) == ZF_OK, "refused elsewhere");
    uint32_t checked = 0;
    for (uint32_t c = 0; c < content->tables[0].column_count; c++) {
        const zf_module_column *column = &content->tables[0].columns[c];
        for (uint32_t p = 0; p < column->plan_count; p++) checked += column->plans[p].abi.block_checks.step_count > 0;
    }
    CHECK(checked > COLUMNS, "%u plans check blocks", checked);
    zf_module_close(module);
}

static void test_gpu(void) {
    static const struct {
        int major, minor;
        const char *target;
    } gpus[] = {{8, 0, ".target sm_80"}, {8, 6, ".target sm_80"}, {9, 0, ".target sm_90"}, {10, 0, ".target sm_90"}};
    change("gpu.zfm", "later.zfm", only_later_gpus);
    for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++) {
        *fake = (zf_fake_cuda){
            .version = 12040, .devices = 1, .major = gpus[g].major, .minor = gpus[g].minor, .total = 1 << 26, .free = 1 << 26};
        for (int special = 0; special < 2; special++) {
            zf_context *where = bare();
            zf_module *module = load(where, special ? "special.zfm" : "gpu.zfm");
            zf_container *container = open_in(where, "t.zfd");
            zf_error error;
            fake->newest = ""; // code that is already there is not loaded again
            for (size_t c = 0; c < COLUMNS; c++) {
                zf_decode_stats stats = {0};
                unsigned before = fake->launches;
                zf_status status = decode(container, c, 0, MOST_ROWS, "cuda", &stats, &error);
                CHECK(status == ZF_OK, "%s: %s %s", columns[c].name, error.code, error.message);
                CHECK(stats.launches > 0 && fake->launches - before == stats.launches, "%u launches", fake->launches - before);
                CHECK(strstr(fake->newest, gpus[g].target) != NULL, "%s on %d.%d: no %s", columns[c].name, gpus[g].major,
                      gpus[g].minor, gpus[g].target);
                // By code of its own the coder's kernel stores the blocks of 2 bits and of 1, without one that unpacks.
                if (c == CODED) CHECK(stats.launches == (special ? 6u : 2u), "%llu launches", (ull)stats.launches);
                if (c == 0) CHECK(stats.kernel_variants == (special ? 4u : 1u), "%llu variants", (ull)stats.kernel_variants);
            }
            zf_container_close(container);
            CHECK(fake->loads > fake->unloads, "no code of the module is left on the GPU");
            zf_module_free(module);
            CHECK(fake->loads == fake->unloads, "%u modules of %u are left on the GPU", fake->loads - fake->unloads, fake->loads);
            zf_context_free(where);
        }
    }
    zf_context *where = bare();
    zf_module *module = load(where, "later.zfm");
    expect(where, 0, "cuda", "ZF1409", "10.0");
    zf_module_free(module);
    module = load(where, "other.zfm");
    expect(where, 0, "cuda", "ZF1407", "these codecs");
    zf_module_free(module);
    zf_context_free(where);
}

int main(void) {
    uint32_t level;
    if (zf_cpu_here(&level) != ZF_MACHINE_X86_64 || level < 3) return 77; // modules hold code for x86-64
    fake = fake_cuda_open();
    if (fake == NULL || !scratch_begin("module")) return 2;
    fill();
    start();
    test_columns();
    test_which();
    test_storing();
    test_stacks();
    test_several();
    test_refused();
    test_mutated();
    test_without_host();
    test_gpu();
    free(bytes);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
