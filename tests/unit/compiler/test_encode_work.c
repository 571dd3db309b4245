// Links: zf_llvm_headers zipflow-compiler
// What an encode body may do is limited: each primitive that goes through more than one element takes its share. A body that
// calls one of them over and over ends with an error at that call, long before its loop does.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/encode/cg_encode.h"
#include "compiler/encode/encode_tree.h"
#include "compiler/program.h"
#include "tests/unit/check.h"

enum { ROWS = 200000, STRINGS = 2, CHARACTERS = 1 << 18 };

typedef struct body {
    const char *what, *text;
    bool ends; ///< its work is within the limit
} body;

#define NUMBERS(statements)                                                                                                      \
    "algorithm a(s: u32[]) -> u32[] fully_parallel { decode(i) = s[i]; encode(x) { " statements " } }\n"                         \
    "table t { c: u32 = a; }"
#define BITS(statements)                                                                                                         \
    "algorithm a(s: u64[], param w: u8) -> u32[] fully_parallel { decode(i) = (s[i] & 255) as u32; encode(x) { w = "             \
    "64; " statements " } }\n"                                                                                                   \
    "table t { c: u32 = a; }"
#define TEXTS(statements)                                                                                                        \
    "algorithm a(s: string[], param p: u64) -> string[] fully_parallel { decode(i) = s[i]; encode(x) { var n: u64 = "            \
    "0; " statements " p = n; s.append(x); } }\n"                                                                                \
    "table t { c: string = a(strings); }"

// Loops that run a hundred million times: few enough to be within the limit by themselves.
static const body bodies[] = {
    {"reverse", NUMBERS("s.append(x); for k in 0..100000000 { s.reverse(); }"), false},
    {"reverse, as often as is needed", NUMBERS("s.append(x); for k in 0..100 { s.reverse(); }"), true},
    {"sort", NUMBERS("var t: u32[]; t.append(x); for k in 0..100000000 { sort(t); } s.append(x);"), false},
    {"append", NUMBERS("for k in 0..100000000 { var t: u32[]; t.append(x); } s.append(x);"), false},
    {"code_lengths",
     NUMBERS("var h: u32[256]; var l: u8[256]; for v in x { h[v % 256] += 1; }\n"
             "for k in 0..100000000 { code_lengths(h, l, 12); } s.append(x);"),
     false},
    {"code_lengths, as often as is needed",
     NUMBERS("var h: u32[256]; var l: u8[256]; for v in x { h[v % 256] += 1; }\n"
             "for k in 0..100 { code_lengths(h, l, 12); } s.append(x);"),
     true},
    {"array",
     NUMBERS(
         "var n: u32 = 0; for k in 0..100000000 { var h: u8[500000]; h[x[k % x.len] % 500000] = 1; n += h[k % 500000] as u32; }\n"
         "s.append(x); s.push(n);"),
     false},
    // Room for what such loops push is 0 modulo 2^64: they must end before their first push.
    {"two pushes, 2^63 times", NUMBERS("for k in 0..9223372036854775808 { s.push(1); s.push(2); } s.append(x);"), false},
    {"a push, 2^64 times", NUMBERS("for k in 0..=18446744073709551615 { s.push(1); } s.append(x);"), false},
    {"64 bits, 2^58 times", BITS("for k in 0..288230376151711744 { s.push_bits(k, w); }"), false},
    {"equality", TEXTS("for k in 0..100000000 { if x[k % 2] == x[(k + 1) % 2] { n += 1; } }"), false},
    {"equality, once", TEXTS("if x[0] == x[1] { n += 1; }"), true},
};

static zf_encode_fn find(void *user, const zf_inst *inst, const char **reason) {
    const zf_encoder *encoder = zf_program_encoder(user, inst);
    *reason = encoder == NULL ? "not compiled" : encoder->reason;
    return encoder == NULL ? NULL : encoder->function;
}

static void run_body(zf_compiler *compiler, const body *b, const zf_encode_input *numbers, const zf_encode_input *texts) {
    zf_error error = {0};
    zf_program *program = NULL;
    char path[] = "/tmp/zf_test_work_XXXXXX";
    int fd = mkstemp(path);
    bool written = fd >= 0 && write(fd, b->text, strlen(b->text)) == (ssize_t)strlen(b->text);
    CHECK(written, "%s: no file", b->what);
    if (fd >= 0) close(fd);
    zf_status status = zf_program_load(compiler, path, &program, &error);
    unlink(path);
    CHECK(status == ZF_OK, "%s: %s", b->what,
          program != NULL ? zf_program_diagnostics(program, ZF_DIAGNOSTICS_HUMAN) : error.message);
    if (status != ZF_OK) {
        zf_program_free(program);
        return;
    }
    const zf_column *column = zf_spec_find_table(program->spec, NULL)->columns;
    status = zf_program_compile(program, (const zf_column *[]){column}, 1, 1, &error);
    CHECK(status == ZF_OK, "%s: %s (%s)", b->what, error.message, error.place);
    zf_encode_task task = {.find = find, .user = program};
    zf_encode_node *node = NULL;
    status = zf_encode_tree(&task, column->codec, column->type.kind == ZF_K_STRING ? texts : numbers, &node);
    if (b->ends) {
        CHECK(status == ZF_OK, "%s: %s %s", b->what, task.refusals[0].code, task.refusals[0].reason);
    } else {
        CHECK(status == ZF_ERR_INPUT, "%s: %s", b->what, zf_status_name(status));
        CHECK(strstr(task.refusals[0].reason, "takes too long") != NULL, "%s: %s", b->what, task.refusals[0].reason);
        CHECK(task.refusals[0].span.source != NULL, "%s: no place", b->what);
    }
    zf_encode_tree_free(node);
    zf_program_free(program);
}

static void test_bodies(zf_compiler *compiler) {
    static uint32_t values[ROWS];
    static uint64_t offsets[STRINGS + 1];
    char *text = malloc(STRINGS * CHARACTERS);
    for (uint32_t k = 0; k < ROWS; k++) values[k] = k * 2654435761u;
    memset(text, 'a', STRINGS * CHARACTERS);
    for (uint64_t k = 0; k <= STRINGS; k++) offsets[k] = k * CHARACTERS;
    zf_encode_input numbers = {.type = zf_type_of(ZF_K_U32), .values = (const uint8_t *)values, .rows = ROWS};
    zf_encode_input texts = {
        .type = zf_type_of(ZF_K_STRING), .values = (const uint8_t *)text, .offsets = offsets, .rows = STRINGS};
    for (size_t b = 0; b < sizeof bodies / sizeof bodies[0]; b++) run_body(compiler, &bodies[b], &numbers, &texts);
    free(text);
}

#define LIMITED(call, ...)                                                                                                       \
    do {                                                                                                                         \
        frame.outcome = ZF_ENCODE_DONE;                                                                                          \
        frame.violation = 0;                                                                                                     \
        frame.work = 10;                                                                                                         \
        CHECK((call) == 0 && frame.outcome == ZF_ENCODE_LIMIT && frame.violation == 10, __VA_ARGS__);                            \
    } while (0)

/// The functions that generated code calls, one by one, with work for ten iterations.
static void test_functions(void) {
    static const uint8_t text[4096];
    static uint8_t words[4096];
    static const uint64_t offsets[65];
    zf_encode_frame frame = {.rows = 1, .bytes_left = 1 << 20, .hash = zf_encode_hash_draw()};
    zf_encode_buffer buffer, numbers;
    zf_encode_buffer_init(&buffer, zf_type_of(ZF_K_STRING));
    zf_encode_buffer_init(&numbers, zf_type_of(ZF_K_U32));
    LIMITED(zf_cg_push_text(&frame, &buffer, text, sizeof text, 1), "a long text is pushed");
    LIMITED(zf_cg_intern_text(&frame, &buffer, text, sizeof text, 1), "a long text is interned");
    LIMITED(zf_cg_append_texts(&frame, &buffer, text, offsets, NULL, 64), "texts are appended");
    LIMITED(zf_cg_append(&frame, &numbers, text, NULL, 1024), "numbers are appended");
    LIMITED(zf_cg_sort(&frame, words, 1024, 4), "numbers are sorted");
    LIMITED(zf_cg_code_lengths(&frame, text, 4, 64, words, 1, 64, 12), "code lengths");
    numbers.length = 64;
    LIMITED(zf_cg_reverse(&frame, &numbers, 0), "numbers are reversed");
    // Memory that is only needed meanwhile counts as well.
    frame.work = UINT64_MAX;
    frame.bytes_left = 1000;
    frame.violation = 0;
    frame.outcome = ZF_ENCODE_DONE;
    CHECK(zf_cg_sort(&frame, words, 1024, 4) == 0 && frame.outcome == ZF_ENCODE_LIMIT, "a sort of more than there may be");
    frame.outcome = ZF_ENCODE_DONE;
    words[0] = 1;
    CHECK(zf_cg_code_lengths(&frame, words, 1, 512, words + 512, 1, 512, 12) == 0 && frame.outcome == ZF_ENCODE_LIMIT,
          "code lengths of more than there may be");
    CHECK(frame.bytes_left == 1000 && frame.violation == 0, "what was not taken is still there");
    zf_encode_clear(&frame);
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
        test_bodies(compiler);
        test_functions();
    }
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
