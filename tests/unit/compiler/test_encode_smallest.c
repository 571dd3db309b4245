// Links: zf_llvm_headers zipflow-compiler
// The smallest alternative of a choice is kept, of equal ones the first, though bodies end as soon as they cannot be it.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/encode/encode_tree.h"
#include "compiler/program.h"
#include "tests/unit/check.h"

enum { ROWS = 70000, MIDDLE = 4000 }; // enough that a stretch of the middle says what is tried first

static zf_encode_fn real;
static unsigned bodies_run, bodies_ended; ///< of whole inputs: all, and those that ended as they were too large
static uint64_t most_pushed;              ///< elements of a stream of a body that ended

/// Runs a body and notes how it ends.
static void spy(zf_encode_frame *frame) {
    real(frame);
    if (frame->rows < MIDDLE) return;
    bodies_run++;
    bodies_ended += frame->outcome == ZF_ENCODE_MORE;
    for (uint32_t s = 0; frame->outcome == ZF_ENCODE_MORE && s < frame->stream_count; s++) {
        if (frame->streams[s].length > most_pushed) most_pushed = frame->streams[s].length;
    }
}

static zf_encode_fn find(void *user, const zf_inst *inst, const char **reason) {
    const zf_encoder *encoder = zf_program_encoder(user, inst);
    *reason = encoder == NULL ? "not compiled" : encoder->reason;
    real = encoder == NULL ? NULL : encoder->function;
    return real == NULL ? NULL : spy;
}

static zf_program *load(zf_compiler *compiler, const char *text) {
    zf_error error = {0};
    zf_program *program = NULL;
    char path[] = "/tmp/zf_test_smallest_XXXXXX";
    int fd = mkstemp(path);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    CHECK(written, "no file");
    if (fd >= 0) close(fd);
    zf_status status = zf_program_load(compiler, path, &program, &error);
    unlink(path);
    CHECK(status == ZF_OK, "%s: %s", text, error.message);
    if (status != ZF_OK) return NULL;
    const zf_column *column = zf_spec_find_table(program->spec, NULL)->columns;
    status = zf_program_compile(program, (const zf_column *[]){column}, 1, 1, &error);
    CHECK(status == ZF_OK, "%s: %s", text, error.message);
    return program;
}

// ---- Data -----------------------------------------------------------------------------------------------------

static uint64_t numbers[ROWS];
static uint64_t offsets[ROWS + 1];
static uint8_t validity[ROWS];
static uint8_t text[ROWS * 16];

static uint64_t mixed(uint64_t k) {
    k *= UINT64_C(0x9e3779b97f4a7c15);
    return (k ^ k >> 32) * UINT64_C(0xd6e8feb86659fd93) >> 20;
}

enum { SHAPES = 9 };

/// Shapes of which each is best with another alternative, and some whose middle is not as the rest.
static uint64_t value(unsigned shape, uint64_t k) {
    bool middle = k > ROWS / 2 - MIDDLE / 2 && k < ROWS / 2 + MIDDLE / 2;
    switch (shape) {
    case 0: return 7;
    case 1: return mixed(k) % 1000;
    case 2: return k * 1000 + mixed(k) % 100;
    case 3: return mixed(k / 50) % 100000;
    case 4: return mixed(mixed(k) % 10);
    case 5: return mixed(k);
    case 6: return mixed(k) % 100 == 0 ? mixed(k) : mixed(k) % 64;
    case 7: return middle ? 7 : mixed(k);                    // the stretch has one value
    default: return middle ? mixed(k) : mixed(mixed(k) % 3); // the stretch is random
    }
}

static void fill(unsigned shape) {
    for (uint64_t k = 0; k < ROWS; k++) {
        numbers[k] = value(shape, k);
        validity[k] = mixed(k + 1) % 10 != 0;
        uint64_t length = 1 + numbers[k] % 15;
        offsets[k + 1] = offsets[k] + length;
        for (uint64_t j = 0; j < length; j++) text[offsets[k] + j] = (uint8_t)('a' + mixed(numbers[k] + j) % 20);
    }
}

// ---- The smallest ---------------------------------------------------------------------------------------------

static zf_encode_task task_of(zf_program *program, uint64_t skip) {
    return (zf_encode_task){.find = find, .user = program, .skip = skip};
}

/// Encodes by each alternative alone, and then by all.
static void compare(zf_program *program, const zf_encode_input *input, unsigned shape, const char *what) {
    const zf_codec_choice *choice = zf_spec_find_table(program->spec, NULL)->columns->codec;
    uint64_t least = UINT64_MAX;
    uint32_t branch = UINT32_MAX;
    for (uint32_t a = 0; a < choice->count; a++) {
        zf_encode_task task = task_of(program, ~(UINT64_C(1) << a));
        zf_encode_node *node = NULL;
        zf_encode_tree(&task, choice, input, &node);
        if (node != NULL && node->stored_bytes < least) {
            least = node->stored_bytes;
            branch = a;
        }
        zf_encode_tree_free(node);
    }
    zf_encode_task task = task_of(program, 0);
    zf_encode_node *node = NULL;
    zf_status status = zf_encode_tree(&task, choice, input, &node);
    CHECK((status == ZF_OK) == (branch != UINT32_MAX), "%s, shape %u: %s", what, shape, zf_status_name(status));
    CHECK(node == NULL || (node->branch == branch && node->stored_bytes == least),
          "%s, shape %u: alternative %u of %llu bytes, but %u alone has %llu", what, shape, node->branch,
          (unsigned long long)node->stored_bytes, branch, (unsigned long long)least);
    zf_encode_tree_free(node);
}

static void test_numbers(zf_compiler *compiler) {
    static const char *const codecs[] = {
        "u64 = constant | bitpack | delta(bitpack) | rle(values: bitpack | delta(bitpack), counts: bitpack)"
        " | dictionary(bitpack) | pfor(bitpack, bitpack) | plain",
        "u64 = plain | pfor(bitpack, bitpack) | dictionary(bitpack | rle(bitpack, bitpack), bitpack | plain) | rle(plain, "
        "bitpack)"
        " | bitpack | constant",
        "u64 = plain | plain(bitpack | plain) | bitpack", // two that are equal
        "u64? = nullable(rle(plain, bitpack) | plain, bitpack | dictionary(bitpack) | plain)",
    };
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        char program_text[512];
        snprintf(program_text, sizeof program_text, "table t { c: %s; }", codecs[c]);
        zf_program *program = load(compiler, program_text);
        if (program == NULL) return;
        zf_type type = zf_type_strip(zf_spec_find_table(program->spec, NULL)->columns->type);
        uint64_t rows = ROWS;
        for (unsigned shape = 0; shape < SHAPES; shape++) {
            fill(shape);
            zf_encode_input input = {
                .type = type, .values = (const uint8_t *)numbers, .rows = ROWS, .parts = &rows, .part_count = 1};
            if (type.nullable) input.validity = validity;
            compare(program, &input, shape, codecs[c]);
        }
        zf_program_free(program);
    }
    CHECK(bodies_ended > 100, "only %u of %u bodies ended early", bodies_ended, bodies_run);
}

static void test_strings(zf_compiler *compiler) {
    static const char *const codecs[] = {
        "string = dictionary(bitpack | rle(bitpack, bitpack), strings(bitpack)) | strings(bitpack, fsst_groups(symbols: "
        "fsst_symbols, "
        "rle))"
        " | strings(bitpack) | plain(strings)",
        "string = plain(strings) | strings(bitpack) | plain(plain(strings)) | dictionary(bitpack, plain(strings))",
        "string? = nullable(plain, plain(strings) | dictionary(bitpack, strings) | strings(bitpack))",
    };
    unsigned before = bodies_ended;
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        char program_text[512];
        snprintf(program_text, sizeof program_text, "table t { c: %s; }", codecs[c]);
        zf_program *program = load(compiler, program_text);
        if (program == NULL) return;
        zf_type type = zf_type_strip(zf_spec_find_table(program->spec, NULL)->columns->type);
        uint64_t rows = ROWS;
        for (unsigned shape = 0; shape < SHAPES; shape++) {
            fill(shape);
            zf_encode_input input = {
                .type = type, .values = text, .offsets = offsets, .rows = ROWS, .parts = &rows, .part_count = 1};
            if (type.nullable) input.validity = validity;
            compare(program, &input, shape, codecs[c]);
        }
        zf_program_free(program);
    }
    CHECK(bodies_ended > before + 10, "only %u bodies ended early", bodies_ended - before);
}

// ---- Work that is saved ---------------------------------------------------------------------------------------

/// An alternative that cannot be the smallest ends before it has pushed everything, or does not begin.
static void test_early(zf_compiler *compiler) {
    fill(1);
    uint64_t rows = ROWS;
    zf_encode_input input = {
        .type = zf_type_of(ZF_K_U64), .values = (const uint8_t *)numbers, .rows = ROWS, .parts = &rows, .part_count = 1};
    zf_program *program = load(compiler, "table t { c: u64 = bitpack | plain; }");
    if (program == NULL) return;
    bodies_run = bodies_ended = 0;
    most_pushed = 0;
    compare(program, &input, 1, "early, numbers");
    CHECK(bodies_run == 4 && bodies_ended == 1 && most_pushed == 0, "%u bodies, %u ended, with %llu elements", bodies_run,
          bodies_ended, (unsigned long long)most_pushed);
    zf_program_free(program);

    fill(5);
    input.type = zf_type_of(ZF_K_STRING);
    input.values = text;
    input.offsets = offsets;
    program = load(compiler, "table t { c: string = dictionary(bitpack, strings)\n"
                             "| strings(bitpack, fsst_groups(symbols: fsst_symbols, lengths: rle)); }");
    if (program == NULL) return;
    bodies_run = bodies_ended = 0;
    most_pushed = 0;
    compare(program, &input, 5, "early, different strings"); // the stretch leads to the second
    CHECK(bodies_ended == 1 && most_pushed < ROWS, "%u ended, with %llu elements", bodies_ended, (unsigned long long)most_pushed);
    zf_program_free(program);

    fill(0);
    program = load(compiler, "table t { c: string = rle(plain(strings), bitpack) | plain(strings); }");
    if (program == NULL) return;
    zf_encode_task task = task_of(program, 0);
    zf_encode_node *node = NULL;
    bodies_run = bodies_ended = 0;
    zf_encode_tree(&task, zf_spec_find_table(program->spec, NULL)->columns->codec, &input, &node);
    CHECK(node != NULL && node->branch == 0 && bodies_run == 1, "%u bodies for one string", bodies_run);
    zf_encode_tree_free(node);
    zf_program_free(program);
}

/// Where all refuse, their reasons are in the order of the codec, though the second was tried first.
static void test_refusals(zf_compiler *compiler) {
    static double values[ROWS];
    for (uint64_t k = 0; k < ROWS; k++) values[k] = 1.0 / 3.0;
    values[0] = (double)NAN;
    uint64_t rows = ROWS;
    zf_encode_input input = {
        .type = zf_type_of(ZF_K_F64), .values = (const uint8_t *)values, .rows = ROWS, .parts = &rows, .part_count = 1};
    zf_program *program = load(compiler, "table t { c: f64 = float2int | constant; }");
    if (program == NULL) return;
    zf_encode_task task = task_of(program, 0);
    zf_encode_node *node = NULL;
    zf_status status = zf_encode_tree(&task, zf_spec_find_table(program->spec, NULL)->columns->codec, &input, &node);
    CHECK(status == ZF_ERR_INPUT && node == NULL && task.refusal_count == 2, "%u refusals", task.refusal_count);
    CHECK(strstr(task.refusals[0].reason, "`float2int<f64>` refuses") != NULL, "%s", task.refusals[0].reason);
    CHECK(strstr(task.refusals[1].reason, "`constant<f64>` refuses") != NULL, "%s", task.refusals[1].reason);
    zf_program_free(program);
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_context_options options = {.cache_dir = "", .threads = 1};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    if (check_failures == 0) {
        test_numbers(compiler);
        test_strings(compiler);
        test_early(compiler);
        test_refusals(compiler);
    }
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
