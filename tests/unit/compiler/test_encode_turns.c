// Links: zf_llvm_headers zipflow-compiler
// Blocks are written in order, but a thread whose block is done does not wait for an earlier one: it makes the next.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "zipflow/compile.h"

enum { ROWS = 4096, QUICK = 6, TRIES = 20 };

static char root[] = "/tmp/zf_test_turns_XXXXXX";
static unsigned quick_done, quick_before; ///< quick blocks that are made, now and when the slow one was

/// The first alternative refuses every block at its end, which the log tells. One call at a time.
static void on_log(void *user, zf_log_level level, const char *line) {
    (void)user;
    (void)level;
    if (strstr(line, "refuses: slow") != NULL) quick_before = quick_done;
    if (strstr(line, "refuses: quick") != NULL) quick_done++;
}

// The first value of the first column is 0, of others not.
static const char *const text =
    "algorithm uneven(s: u32[]) -> u32[] fully_parallel { decode(i) = s[i]; encode(x) {\n"
    "  if x[0] == 0 { var n: u32 = 1; for k in 0..100000000 { n = n * 31 ^ (n >> 7); } if n != 0 { refuse \"slow\"; } }\n"
    "  if x[0] != 0 { refuse \"quick\"; } s.append(x); } }\n"
    "codec two: u32 = uneven | plain;\n"
    "table t { slow: u32 = two; a: u32 = two; b: u32 = two; c: u32 = two; d: u32 = two; e: u32 = two; f: u32 = two; }\n";

static const char *place(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

/// Writes a column whose block takes long, and QUICK others.
static void write_file(zf_program *program, unsigned threads, const char *name) {
    static const char *const names[] = {"slow", "a", "b", "c", "d", "e", "f"};
    static uint32_t values[QUICK + 1][ROWS];
    zf_encode_column columns[QUICK + 1] = {0};
    for (uint32_t c = 0; c <= QUICK; c++) {
        for (uint32_t k = 0; k < ROWS; k++) values[c][k] = (c + k) * 2654435761u;
        columns[c].name = names[c];
        columns[c].values = values[c];
    }
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true, .threads = threads};
    zf_error error = {0};
    quick_done = quick_before = 0;
    zf_status status = zf_encode(program, "t", columns, QUICK + 1, ROWS, &options, place(name), NULL, &error);
    CHECK(status == ZF_OK && quick_done == QUICK, "%u threads: %s, %u quick blocks", threads, error.message, quick_done);
}

static size_t read_file(const char *name, uint8_t *out, size_t most) {
    FILE *file = fopen(place(name), "rb");
    size_t bytes = file != NULL ? fread(out, 1, most, file) : 0;
    if (file != NULL) fclose(file);
    unlink(place(name));
    return bytes;
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    if (mkdtemp(root) == NULL) return 1;
    zf_context_options options = {ZF_INIT(zf_context_options), .cache_dir = "", .threads = 2, .log = on_log};
    zf_compiler_options compile = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    FILE *file = fopen(place("t.zf"), "w");
    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
    CHECK(check_failures > 0 || zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s", error.message);
    unlink(place("t.zf"));
    if (check_failures == 0) {
        static uint8_t one[1 << 20], two[1 << 20];
        write_file(program, 1, "one.zfd");
        size_t bytes = read_file("one.zfd", one, sizeof one);
        unsigned most = 0; // the other thread may get no processor meanwhile: then again
        for (unsigned k = 0; k < TRIES && most < 2; k++) {
            write_file(program, 2, "two.zfd");
            if (quick_before > most) most = quick_before;
            CHECK(read_file("two.zfd", two, sizeof two) == bytes && bytes > 0 && memcmp(one, two, bytes) == 0, "files differ");
        }
        CHECK(most >= 2, "%u blocks were made beside the first one", most);
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    rmdir(root);
    return check_result();
}
