// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime
// Blocks that take the tuple of an earlier block: fewer tuples of shaping values for less than 1% of size, the same file whatever
// the number of threads; codecs whose fields cannot be wider; blocks that fail on the way.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/encode/encode_tuples.h"
#include "compiler/program.h"
#include "runtime/container/container.h"
#include "runtime/context/context.h"
#include "runtime/module/tuple_count.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { BLOCK = 49152, BLOCKS = 16, ROWS = BLOCK * BLOCKS, COLUMNS = 5 };

// Values of `odd` depend on the width of its fields: wider ones decode to others.
static const char program_text[] =
    "algorithm odd<T: unsigned>(packed: u32[], param width: u8 in 0..=8 * sizeof(T)) -> T[] fully_parallel {\n"
    "    decode(i) = packed.bits(i * width, width) as T + width as T;\n"
    "    encode(x) {\n"
    "        var most: T = 0;\n"
    "        for v in x { most = max(most, v); }\n"
    "        width = bit_width(most);\n"
    "        let w = bit_width(most) as T;\n"
    "        for v in x { packed.push_bits(v - w, width); }\n"
    "    }\n"
    "}\n"
    "table t {\n"
    "    few: i64 = dictionary(bitpack, bitpack);\n"
    "    patched: i64 = pfor(bitpack, bitpack, bitpack);\n"
    "    either: i64 = dictionary(bitpack, bitpack) | bitpack;\n"
    "    one: i64 = bitpack;\n"
    "    odd: u64 = dictionary(codes: bitpack, entries: odd);\n"
    "}\n";
static const char *const names[COLUMNS] = {"few", "patched", "either", "one", "odd"};

static int64_t values[COLUMNS][ROWS];
static char directory[] = "/tmp/zipflow-test-XXXXXX";
static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;

static uint64_t noise(uint64_t k) {
    uint64_t x = (k + 1) * 0x9e3779b97f4a7c15u;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 29;
}

static uint64_t below(uint64_t k, unsigned bits) { return noise(k) >> (64 - bits); }

/// Ranges that drift: what lies in the small streams of a block has another width in each of them, up and down.
static void make_values(void) {
    for (uint64_t k = 0; k < ROWS; k++) {
        uint64_t block = k / BLOCK, in = k % BLOCK;
        unsigned drift = 20 + (unsigned)(noise(block) % 42);
        uint64_t entry = 100 + (below(block * 50 + noise(k) % 50, drift) | UINT64_C(1) << (drift - 1)) * (in % 7 != 0);
        values[0][k] = values[4][k] = (int64_t)(100 + entry);
        values[1][k] = (int64_t)(in % 997 == 0 ? below(k, drift) | UINT64_C(1) << (drift - 1) : below(k, 9));
        values[2][k] = block % 3 == 0 ? (int64_t)below(k, 12) : (int64_t)entry;
        values[3][k] = in == 0 ? (int64_t)(UINT64_C(1) << drift) : (int64_t)below(k, drift);
    }
}

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

/// Encodes rows of all columns to `name`.
static zf_status encode(const char *name, uint64_t begin, uint64_t rows, unsigned threads, zf_encode_stats stats[COLUMNS],
                        zf_error *error) {
    zf_encode_column columns[COLUMNS] = {{0}};
    for (size_t c = 0; c < COLUMNS; c++) columns[c] = (zf_encode_column){.name = names[c], .values = values[c] + begin};
    zf_encode_options options = {.rows_per_block = BLOCK, .threads = threads, .overwrite = true};
    return zf_encode(program, "t", columns, COLUMNS, rows, &options, path_of(name), stats, error);
}

/// The number of tuples of a column of a file.
static uint64_t tuples_of(const char *name, size_t column) {
    zf_container *container = NULL;
    zf_tuple_count count = {0};
    zf_error error = {0};
    CHECK(zf_container_open(context, path_of(name), &container, &error) == ZF_OK, "%s", error.message);
    zf_abi_device host = {.target = {.family = ZF_TARGET_HOST}};
    CHECK(zf_tuples_count(container, column, host, false, &count, &error) == ZF_OK, "%s", error.message);
    zf_container_close(container);
    return count.tuples;
}

/// The alternatives and shaping values of the first block of a column of a file, as text.
static void tuple_text(const char *name, size_t column, char out[256]) {
    zf_container *container = NULL;
    zf_error error = {0};
    zf_block_view view;
    zf_abi_provider provider;
    const zf_abi_plan *plan = NULL;
    CHECK(zf_container_open(context, path_of(name), &container, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_block_header(container, column, 0, &view, &error) == ZF_OK, "%s", error.message);
    zf_abi_device host = {.target = {.family = ZF_TARGET_HOST}};
    CHECK(zf_context_plan(context, container, column, view.shape->branches, view.shape->branch_count, host, &provider, &plan,
                          &error) == ZF_OK,
          "%s", error.message);
    size_t length = 0;
    for (size_t k = 0; k < view.shape->branch_count; k++)
        length += (size_t)snprintf(out + length, 256 - length, "%u|", view.shape->branches[k]);
    for (uint32_t k = 0; k < plan->shaping_count; k++)
        length += (size_t)snprintf(out + length, 256 - length, " %llu", (ull)view.params[plan->shaping[k]]);
    zf_block_view_free(&view);
    zf_container_close(container);
}

static bool same_files(const char *left, const char *right) {
    char command[300], a[128];
    snprintf(a, sizeof a, "%s", path_of(left));
    snprintf(command, sizeof command, "cmp '%s' '%s'", a, path_of(right));
    return system(command) == 0;
}

/// Blocks of a file of one block have their own tuples. In a file of all blocks there are fewer, for less than 1% of size.
static void test_tuples(void) {
    static const uint64_t most[COLUMNS] = {4, 4, 4, UINT64_MAX, UINT64_MAX};
    static char texts[BLOCKS][256];
    zf_encode_stats all[COLUMNS] = {0}, alone[COLUMNS] = {0};
    uint64_t own[COLUMNS] = {0}, bytes[COLUMNS] = {0};
    zf_error error = {0};
    CHECK(encode("all.zfd", 0, ROWS, 1, all, &error) == ZF_OK, "%s %s", error.code, error.message);
    for (size_t c = 0; c < COLUMNS; c++) own[c] = 0;
    for (uint64_t block = 0; block < BLOCKS; block++) {
        char name[32];
        snprintf(name, sizeof name, "alone%llu.zfd", (ull)block);
        CHECK(encode(name, block * BLOCK, BLOCK, 1, alone, &error) == ZF_OK, "%s", error.message);
        for (size_t c = 0; c < COLUMNS; c++) bytes[c] += alone[c].stored_bytes;
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        for (uint64_t block = 0; block < BLOCKS; block++) {
            char name[32];
            snprintf(name, sizeof name, "alone%llu.zfd", (ull)block);
            tuple_text(name, c, texts[block]);
            uint64_t before = 0;
            while (before < block && strcmp(texts[before], texts[block]) != 0) before++;
            own[c] += before == block;
        }
        uint64_t tuples = tuples_of("all.zfd", c);
        printf("%-8s %2llu tuples instead of %2llu, %llu bytes instead of %llu: %+.2f%%\n", names[c], (ull)tuples, (ull)own[c],
               (ull)all[c].stored_bytes, (ull)bytes[c], 100 * ((double)all[c].stored_bytes / (double)bytes[c] - 1));
        CHECK(all[c].stored_bytes * 100 < bytes[c] * 101, "%s has grown", names[c]);
        CHECK(own[c] > 7, "%s: only %llu tuples", names[c], (ull)own[c]);
        if (most[c] < UINT64_MAX)
            CHECK(tuples <= most[c], "%s: %llu tuples", names[c], (ull)tuples);
        else // one stream grows by more than 1%, and `odd` decodes to other values
            CHECK(tuples == own[c] && all[c].stored_bytes == bytes[c], "%s has changed: %llu tuples", names[c], (ull)tuples);
    }
    for (unsigned threads = 2; threads <= 7; threads += 5) {
        CHECK(encode("threads.zfd", 0, ROWS, threads, NULL, &error) == ZF_OK, "%s", error.message);
        CHECK(same_files("all.zfd", "threads.zfd"), "%u threads make another file", threads);
    }
}

/// A block that its codec refuses ends the encode, whichever thread has later ones.
static void test_failure(void) {
    static double prices[ROWS];
    static const char text[] = "table p { price: f64 = float2int(dictionary(bitpack, bitpack)); }\n";
    static volatile double zero;
    zf_program *other = NULL;
    zf_error error = {0};
    CHECK(zf_program_read(compiler, "p.zf", text, sizeof text - 1, false, &other, &error) == ZF_OK, "%s", error.message);
    for (uint64_t k = 0; k < ROWS; k++) prices[k] = (double)(k % 100) / 4;
    for (uint64_t bad = 0; bad < BLOCKS; bad += 5) {
        prices[bad * BLOCK + 7] = 0.0 / zero;
        zf_encode_column column = {.name = "price", .values = prices};
        zf_encode_options options = {.rows_per_block = BLOCK, .threads = 4, .overwrite = true};
        CHECK(zf_encode(other, "p", &column, 1, ROWS, &options, path_of("p.zfd"), NULL, &error) == ZF_ERR_INPUT, "%llu",
              (ull)bad);
        CHECK(strstr(error.message, "not a decimal fraction") != NULL, "%s", error.message);
        prices[bad * BLOCK + 7] = 0;
    }
    zf_program_free(other);
}

/// In the library `bitpack` alone has a param that makes fields wider and does nothing else.
static void test_params(void) {
    const zf_spec *spec = zf_program_spec(program);
    const zf_table *table = zf_spec_find_table(spec, "t");
    for (const zf_column *column = table->columns; column != NULL; column = column->next) {
        const zf_inst *inst = column->codec->alternatives[0]->inst;
        for (uint32_t p = 0; p < inst->param_count; p++) {
            bool packs = strncmp(inst->name, "bitpack", 7) == 0 && strcmp(inst->params[p]->name, "width") == 0;
            CHECK((zf_encode_widens(inst, p) != UINT32_MAX) == packs, "%s, %s", inst->name, inst->params[p]->name);
        }
    }
}

int main(void) {
    zf_error error = {0};
    if (mkdtemp(directory) == NULL) return 77;
    zf_context_options options = {.cache_dir = path_of("cache"), .threads = 2};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1};
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_read(compiler, "t.zf", program_text, sizeof program_text - 1, false, &program, &error) == ZF_OK, "%s %s",
          error.message, error.place);
    if (check_failures == 0) {
        make_values();
        test_params();
        test_tuples();
        test_failure();
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    CHECK(system(command) == 0, "%s stays", directory);
    return check_result();
}
