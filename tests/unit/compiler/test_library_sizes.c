// Links: zipflow-compiler m
// Encoders of the library choose well: they do not judge periodic data by one phase, their result is not far above the smallest
// that they could have chosen, and their work and memory are bounded.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/encode/encode_tree.h"
#include "compiler/program.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

static zf_program *program;
static uint64_t state = 1;

static uint64_t draw(uint64_t below) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

static double uniform(void) { return (double)((draw(1u << 31) << 22) | draw(1u << 22)) / 9007199254740992.0; }

static const zf_column *column_of(const char *name) {
    const zf_column *column = zf_spec_find_table(program->spec, NULL)->columns;
    while (strcmp(column->name, name) != 0) column = column->next;
    return column;
}

static zf_encode_fn find(void *user, const zf_inst *inst, const char **reason) {
    (void)user;
    const zf_encoder *encoder = zf_program_encoder(program, inst);
    *reason = encoder == NULL ? "not compiled" : encoder->reason;
    return encoder == NULL ? NULL : encoder->function;
}

/// Encodes rows of a column, which lie in pieces of `piece` each. NULL after a failed check.
static zf_encode_node *encode(const char *name, const void *values, uint64_t rows, uint64_t piece) {
    const zf_column *column = column_of(name);
    uint64_t count = (rows + piece - 1) / piece;
    uint64_t *parts = calloc(count + 1, sizeof *parts);
    for (uint64_t k = 0; k < count; k++) parts[k] = (k + 1) * piece < rows ? (k + 1) * piece : rows;
    zf_encode_input input = {
        .type = zf_type_strip(column->type), .values = values, .rows = rows, .parts = parts, .part_count = count};
    zf_encode_task task = {.find = find};
    zf_encode_node *node = NULL;
    zf_status status = zf_encode_tree(&task, column->codec, &input, &node);
    CHECK(status == ZF_OK, "%s, %llu rows: %s", name, (ull)rows, task.refusals[0].reason);
    free(parts);
    return node;
}

static uint64_t bytes_of(const char *name, const void *values, uint64_t rows, uint64_t piece) {
    zf_encode_node *node = encode(name, values, rows, piece);
    uint64_t bytes = node != NULL ? node->stored_bytes : 0;
    zf_encode_tree_free(node);
    return bytes;
}

// ---- Samples --------------------------------------------------------------------------------------------------

/// Two kinds of units, one of `period` is special: fills unit k.
typedef void (*fill_unit)(uint8_t *out, uint64_t bytes, bool special);

static void put(uint8_t *out, double value, uint64_t bytes) {
    float narrow = (float)value;
    memcpy(out, bytes == 8 ? (void *)&value : (void *)&narrow, bytes);
}

static void fill_prices(uint8_t *out, uint64_t bytes, bool special) {
    put(out, special ? (double)draw(50) : (double)draw(10000) / 100, bytes);
}

static void fill_results(uint8_t *out, uint64_t bytes, bool special) {
    put(out, special ? uniform() : (double)draw(100) / 10, bytes);
}

static void fill_numbers(uint8_t *out, uint64_t bytes, bool special) {
    int64_t value = special ? (int64_t)draw(1u << 30) - (1 << 29) : (int64_t)draw(100);
    int32_t narrow = (int32_t)value;
    memcpy(out, bytes == 8 ? (void *)&value : (void *)&narrow, bytes);
}

/// Words of one of two languages.
static void fill_text(uint8_t *out, uint64_t bytes, bool special) {
    static const char *const words[2][8] = {
        {"stratum ", "sample ", "phase ", "period ", "number ", "element ", "block ", "of "},
        {"AXQW-7731 ", "BZKJ-0042 ", "CVHG-9315 ", "DPLM-5528 ", "QQRT-6067 ", "XYZZ-1184 ", "KLMN-2949 ", "OPQR-3806 "}};
    uint64_t at = 0;
    while (at < bytes) {
        const char *word = words[special][draw(8)];
        for (; *word != 0 && at < bytes; word++) out[at++] = (uint8_t)*word;
    }
}

static void shuffle(uint8_t *values, uint64_t units, uint64_t bytes) {
    uint8_t other[1024];
    for (uint64_t k = units; k-- > 1;) {
        uint8_t *a = values + k * bytes, *b = values + draw(k + 1) * bytes;
        memcpy(other, a, bytes);
        memcpy(a, b, bytes);
        memcpy(b, other, bytes);
    }
}

/// Periodic data may take little more than the same data in another order.
static void test_period(const char *name, fill_unit fill, uint64_t unit, uint64_t units, uint64_t period, uint64_t phase,
                        uint64_t element, uint64_t piece, double factor) {
    uint8_t *values = malloc(unit * units);
    for (uint64_t k = 0; k < units; k++) fill(values + k * unit, unit, k % period == phase);
    uint64_t rows = unit * units / element;
    uint64_t periodic = bytes_of(name, values, rows, piece), again = period > 16 ? periodic : bytes_of(name, values, rows, piece);
    shuffle(values, units, unit);
    uint64_t shuffled = bytes_of(name, values, rows, piece);
    CHECK(periodic == again, "%s, period %llu, phase %llu: %llu, then %llu bytes", name, (ull)period, (ull)phase, (ull)periodic,
          (ull)again);
    CHECK((double)periodic <= factor * (double)shuffled + 256, "%s, period %llu, phase %llu: %llu bytes, in another order %llu",
          name, (ull)period, (ull)phase, (ull)periodic, (ull)shuffled);
    free(values);
}

static void test_samples(void) {
    for (uint64_t period = 2; period <= 4096; period *= 2) {
        const uint64_t phases[2] = {0, period - 1};
        for (unsigned p = 0; p < 2; p++) {
            // As many rows as make a sample of one in n see one phase; with the longest periods, few of them.
            uint64_t rows = (period < 64 ? period : 64) * 1024;
            test_period("alp64", fill_prices, 8, rows, period, phases[p], 8, rows, 1.03);
            test_period("alp64", fill_results, 8, rows, period, phases[p], 8, rows, 1.03);
            test_period("alp32", fill_results, 4, rows, period, phases[p], 4, rows, 1.03);
            rows = (period < 16 ? period : 16) * 4096;
            test_period("pfor64", fill_numbers, 8, rows, period, phases[p], 8, rows, 1.03);
            test_period("pfor32", fill_numbers, 4, rows, period, phases[p], 4, rows, 1.03);
        }
        if (period > 16) continue;
        for (unsigned p = 0; p < 2; p++) {
            test_period("fsst", fill_text, 512, 63 * period + 1, period, phases[p], 1, 512, 1.2);
            test_period("fsst_g", fill_text, 512, 63 * period + 1, period, phases[p], 1, 512, 1.2);
            test_period("words", fill_text, 512, 64 * period, period, phases[p], 1, 64 * 512 * period, 1.2);
            test_period("words", fill_text, 64, 512 * period, period, phases[p], 1, 64, 1.2);
        }
    }
}

// ---- alp is never larger than its values --------------------------------------------------------------------------

typedef double (*value_at)(uint64_t k, uint64_t rows, double part);

static double of_any(void) {
    double value = 0;
    uint64_t bits = draw(1u << 31) << 33 ^ draw(1u << 31) << 16 ^ draw(1u << 16);
    memcpy(&value, &bits, 8);
    return value;
}

static double at_random(uint64_t k, uint64_t rows, double part) {
    (void)k, (void)rows;
    return uniform() < part ? uniform() : (double)draw(1000) / 100;
}
static double at_random_many_digits(uint64_t k, uint64_t rows, double part) {
    (void)k, (void)rows;
    return uniform() < part ? uniform() : (double)(draw(1u << 31) << 15) / 1e9;
}
static double at_random_equal(uint64_t k, uint64_t rows, double part) {
    (void)k, (void)rows;
    return uniform() < part ? -uniform() : 7;
}
static double in_one_stretch(uint64_t k, uint64_t rows, double part) {
    return (double)k < part * (double)rows ? uniform() : (double)draw(1000) / 100;
}
static double in_many_stretches(uint64_t k, uint64_t rows, double part) {
    return (double)(k % (rows / 16 + 1)) < part * (double)(rows / 16 + 1) ? uniform() : (double)draw(1000) / 100;
}
static double of_a_sine(uint64_t k, uint64_t rows, double part) {
    (void)rows;
    return sin((double)k * 0.001 * (part + 0.1)) * 100;
}
static double of_a_sum(uint64_t k, uint64_t rows, double part) {
    (void)k, (void)rows;
    return ((double)draw(100) / 10 + (double)draw(100) / 10 + 0.1) * (1 + part / 7);
}
static double of_all_bits(uint64_t k, uint64_t rows, double part) {
    (void)k, (void)rows;
    return uniform() < part ? of_any() : uniform() < 0.5 ? -0.0 : NAN;
}
static double of_large_and_small(uint64_t k, uint64_t rows, double part) {
    (void)k, (void)rows;
    return uniform() < part ? (double)(draw(1u << 31) << 31) : (double)draw(1000) / 1e6;
}

static void test_alp(void) {
    static const value_at sets[] = {at_random,      at_random_many_digits, at_random_equal,
                                    in_one_stretch, in_many_stretches,     of_a_sine,
                                    of_a_sum,       of_all_bits,           of_large_and_small};
    static const double parts[] = {0, 0.001, 0.05, 0.3, 0.7, 0.95, 0.99, 1};
    static const uint64_t sizes[] = {1, 3, 1000, 5000, 20000};
    static double wide[20000];
    static float narrow[20000];
    for (unsigned s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        for (unsigned p = 0; p < sizeof parts / sizeof parts[0]; p++) {
            for (unsigned z = 0; z < sizeof sizes / sizeof sizes[0]; z++) {
                uint64_t rows = sizes[z];
                for (uint64_t k = 0; k < rows; k++) {
                    wide[k] = sets[s](k, rows, parts[p]);
                    narrow[k] = (float)wide[k];
                }
                for (unsigned size = 4; size <= 8; size += 4) {
                    uint64_t bytes =
                        bytes_of(size == 8 ? "alp64" : "alp32", size == 8 ? (void *)wide : (void *)narrow, rows, rows);
                    CHECK((double)bytes <= 1.005 * (double)(rows * size) + 1024,
                          "alp of set %u, %g of them other, %llu rows of %u bytes: %llu", s, parts[p], (ull)rows, size,
                          (ull)bytes);
                }
            }
        }
    }
}

// ---- roaring takes the smallest form ------------------------------------------------------------------------------

static void test_roaring_of(const char *name, uint64_t chunk, uint64_t rows, double dense, uint64_t run) {
    static uint8_t flags[140000];
    for (uint64_t k = 0; k < rows; k += run) {
        bool flag = uniform() < dense;
        for (uint64_t j = k; j < k + run && j < rows; j++) flags[j] = flag;
    }
    uint64_t least = 0;
    for (uint64_t from = 0; from < rows; from += chunk) {
        uint64_t end = from + chunk < rows ? from + chunk : rows, ones = 0, runs = 0, bitmap = (end - from + 15) / 16;
        for (uint64_t k = from; k < end; k++) {
            ones += flags[k];
            runs += flags[k] && (k == from || !flags[k - 1]);
        }
        uint64_t form = ones < 2 * runs ? ones : 2 * runs;
        least += 2 * (form < bitmap ? form : bitmap);
    }
    zf_encode_node *node = encode(name, flags, rows, rows);
    if (node != NULL) {
        uint64_t bytes = node->streams[0].length * 2;
        CHECK(bytes == least, "%s, %llu rows, runs of %llu, %g: %llu bytes, and %llu is possible", name, (ull)rows, (ull)run,
              dense, (ull)bytes, (ull)least);
    }
    zf_encode_tree_free(node);
}

static void test_roaring(void) {
    static const struct {
        const char *name;
        uint64_t chunk;
    } kinds[] = {{"roaring", 65536}, {"roaring1", 4096}, {"roaring2", 10000}};
    static const uint64_t sizes[] = {1, 15, 16, 17, 100, 4096, 8190, 20000, 65536, 70000, 140000};
    static const double densities[] = {0, 0.001, 0.03, 0.0625, 0.1, 0.5, 0.9, 1};
    static const uint64_t runs[] = {1, 2, 7, 100};
    for (unsigned k = 0; k < 3; k++) {
        for (unsigned z = 0; z < sizeof sizes / sizeof sizes[0]; z++) {
            for (unsigned d = 0; d < sizeof densities / sizeof densities[0]; d++) {
                for (unsigned r = 0; r < 4; r++) test_roaring_of(kinds[k].name, kinds[k].chunk, sizes[z], densities[d], runs[r]);
            }
        }
    }
}

// ---- multiples, by work and memory ---------------------------------------------------------------------------------

typedef struct amounts {
    uint64_t rows, largest;
    uint64_t step; ///< 0: prices times quantities; else every number, or random ones
} amounts;

static int64_t amount_at(const amounts *a, uint64_t k) {
    if (k == 0) return (int64_t)a->largest;
    if (a->step == 0) return (int64_t)((1 + k * 7919 % 97) * (a->largest / 5000 + k * 104729 % 31 + 1)) % (int64_t)a->largest;
    return (int64_t)(a->step == 1 ? k % (a->largest + 1) : draw(a->largest + 1));
}

/// Runs the body with as much work for each number up to the largest and each row, and as much memory for each of the block's
/// bytes, as its page says.
static void test_multiples_of(const char *name, const amounts *a) {
    const zf_column *column = column_of(name);
    const zf_inst *inst = column->codec->alternatives[0]->inst;
    unsigned size = zf_kind_size(column->type.kind);
    uint8_t *values = malloc(a->rows * size);
    for (uint64_t k = 0; k < a->rows; k++) {
        int64_t value = amount_at(a, k);
        memcpy(values + k * size, &value, size);
    }
    zf_encode_buffer streams[3], locals[16];
    const zf_local *local_of[16];
    uint32_t count = zf_encode_locals(inst, NULL);
    CHECK(inst->stream_count == 3 && count <= 16, "multiples has %u streams and %u arrays", inst->stream_count, count);
    if (inst->stream_count != 3 || count > 16) {
        free(values);
        return;
    }
    zf_encode_locals(inst, local_of);
    for (uint32_t k = 0; k < count; k++) zf_encode_buffer_init(&locals[k], local_of[k]->type);
    for (uint32_t k = 0; k < 3; k++) zf_encode_buffer_init(&streams[k], inst->streams[k]->type);
    uint64_t params[1] = {column->codec->alternatives[0]->param_bits[0]}, all = a->rows + a->largest;
    uint64_t memory = 24 * a->rows * size + 8192;
    zf_encode_frame frame = {.values = values,
                             .rows = a->rows,
                             .parts = &a->rows,
                             .part_count = 1,
                             .chunk_size = 65536,
                             .params = params,
                             .streams = streams,
                             .locals = locals,
                             .row = ZF_ENCODE_NO_ROW,
                             .work = 64 * all + 70000,
                             .bytes_left = memory,
                             .hash = zf_encode_hash_draw(),
                             .local_count = count,
                             .stream_count = 3};
    const char *reason;
    find(NULL, inst, &reason)(&frame);
    CHECK(frame.outcome == ZF_ENCODE_DONE, "%s of %llu rows up to %llu: outcome %llu, violation %llu", name, (ull)a->rows,
          (ull)a->largest, (ull)frame.outcome, (ull)frame.violation);
    bool same = frame.outcome == ZF_ENCODE_DONE;
    for (uint64_t k = 0; same && k < a->rows; k++) {
        int64_t value = 0;
        memcpy(&value, values + k * size, size);
        same = (int64_t)(zf_encode_word(&streams[2], zf_encode_word(&streams[1], k)) * zf_encode_word(&streams[0], k)) == value;
    }
    CHECK(same, "%s of %llu rows up to %llu: other numbers", name, (ull)a->rows, (ull)a->largest);
    zf_encode_clear(&frame);
    free(values);
}

static void test_multiples(void) {
    for (unsigned n = 0; n < 3; n++) {
        static const char *const names[3] = {"few", "many", "wide"};
        for (uint64_t rows = 100; rows <= 100000; rows *= 10) {
            for (uint64_t step = 0; step < 3; step++) {
                for (uint64_t times = 1; times <= 16; times *= 4) {
                    test_multiples_of(names[n], &(amounts){.rows = rows, .largest = times * rows - 1, .step = step});
                }
            }
        }
    }
}

// ---- words of rows without blanks ----------------------------------------------------------------------------------

/// A row without blanks: noise of 4 bits a byte, then zeros.
static void fill_row(uint8_t *out, uint64_t row, uint64_t noise) {
    for (uint64_t k = 0; k < row; k++) {
        uint64_t digit = k < noise ? draw(16) : 0;
        out[k] = (uint8_t)(digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
}

static void test_words(void) {
    enum { BYTES = 1 << 19 };
    static uint8_t values[BYTES], other[BYTES];
    for (uint64_t row = 8192; row <= BYTES; row *= 4) {
        for (uint64_t bytes = row; bytes <= BYTES; bytes *= 4) { // all of it is sampled; a part is
            for (uint64_t k = 0; k < bytes; k += row) {
                fill_row(values + k, row, row / 20);
                memcpy(other + k, values + k, row);
                other[k + row / 20] = ' ';
            }
            uint64_t without = bytes_of("words", values, bytes, row), with = bytes_of("words", other, bytes, row);
            CHECK((double)without <= 0.2 * (double)bytes + 1024, "%llu bytes in rows of %llu: %llu; with blanks %llu", (ull)bytes,
                  (ull)row, (ull)without, (ull)with);
        }
        // Rows that are long and all alike: as words of their own they take least.
        fill_row(values, row, row);
        for (uint64_t k = row; k < BYTES; k += row) memcpy(values + k, values, row);
        uint64_t alike = bytes_of("words", values, BYTES, row);
        CHECK(alike <= row + 1024, "rows of %llu bytes, all alike: %llu", (ull)row, (ull)alike);
    }
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_context_options options = {.cache_dir = "", .threads = 1};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
#ifdef ZF_SANITIZE
    compile.optimise = 1; // LLVM at -O3 takes most of the time
#endif
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    if (check_failures > 0) return check_result();
    CHECK(zf_program_load(compiler, ZF_SOURCE_DIR "/tests/unit/compiler/library_sizes.zf", &program, &error) == ZF_OK, "%s (%s)",
          error.message, error.place);
    const zf_column *columns[32];
    size_t count = 0;
    for (const zf_column *column = check_failures == 0 ? zf_spec_find_table(program->spec, NULL)->columns : NULL; column != NULL;
         column = column->next) {
        columns[count++] = column;
    }
    if (check_failures == 0) {
        CHECK(zf_program_compile(program, columns, count, 1, &error) == ZF_OK, "%s (%s)", error.message, error.place);
    }
    if (check_failures == 0) {
        test_samples();
        test_alp();
        test_roaring();
        test_multiples();
        test_words();
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
