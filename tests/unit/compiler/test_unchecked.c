// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime
// Kernels without checks (zf_plan_request.unchecked) have fewer instructions in every form that has checks; modules keep all
// checks. Decoded values are compared in tests/cli (`zfc bench --unchecked`).
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/decoder/decoder.h"
#include "compiler/program.h"
#include "tests/unit/check.h"

static const struct {
    const char *type, *codec;
} columns[] = {
    {"i32", "dictionary(bitpack)"},                                                           // a map
    {"i32", "rle(bitpack, bitpack)"},                                                         // groups
    {"i64", "delta(bitpack)"},                                                                // a scan
    {"i64", "delta(rle(bitpack, bitpack))"},                                                  // a tree
    {"f64", "alp(ints: bitpack)"},                                                            // patches
    {"u8", "rans(slots: rans_slots)"},                                                        // lanes
    {"u8", "tans(slots: tans_slots(tans_symbols))"},                                          // lanes that read ahead
    {"string", "strings(lengths: bitpack, bytes: words(tokens: bitpack, entries: strings))"}, // words
    {"string", "dictionary(codes: bitpack, entries: strings)"},                               // strings that are copied
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static zf_context *context;
static zf_compiler *compiler;
static char source[] = "/tmp/zf_unchecked_XXXXXX";

static zf_program *load(const char *type, const char *codec) {
    zf_program *program = NULL;
    zf_error error = {0};
    FILE *f = fopen(source, "w");
    fprintf(f, "import \"std.zf\";\ntable t { c: %s = %s; }\n", type, codec);
    fclose(f);
    CHECK(zf_program_load(compiler, source, &program, &error) == ZF_OK, "%s: %s (%s)", codec, error.message, error.place);
    return program;
}

static uint32_t instructions(const char *text) {
    uint32_t count = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (line[0] == '\t' && strchr(".{}/\n", line[1]) == NULL) count++;
        if (*line == 0) break;
    }
    return count;
}

/// A decoder of a column, with checks or without. NULL: it cannot be made.
static zf_decoder *make(const zf_column *column, bool unchecked) {
    uint8_t branches[8] = {0};
    zf_error error = {0};
    zf_decoder *decoder = NULL;
    zf_plan_request request = {.target = {.family = ZF_TARGET_NVPTX, .arch = 90}, .unchecked = unchecked};
    CHECK(zf_decoder_create(compiler, column, branches, column->choice_count, &request, &decoder, &error) == ZF_OK, "%s: %s",
          column->codec_text, error.message);
    return decoder;
}

static void print(zf_decoder *decoder, zf_text *out) {
    zf_error error = {0};
    CHECK(zf_decoder_print(decoder, NULL, ZF_JIT_ASSEMBLY, false, out, &error) == ZF_OK, "%s", error.message);
}

static void test_column(uint32_t k) {
    const char *codec = columns[k].codec;
    zf_program *program = load(columns[k].type, codec);
    const zf_column *column = zf_spec_tables(zf_program_spec(program))->columns;
    zf_decoder *checked = make(column, false), *unchecked = make(column, true);
    zf_error error = {0};
    zf_text with = {0}, without = {0};
    print(checked, &with);
    print(unchecked, &without);
    uint32_t all = instructions(with.data), fewer = instructions(without.data);
    CHECK(all > 20 && fewer > 10, "%s: %u and %u instructions", codec, all, fewer);
    CHECK(fewer < all, "%s: %u instructions without checks, %u with them", codec, fewer, all);
    printf("%-90s %6u instructions, %6u without checks\n", codec, all, fewer);
    zf_exported_code kept = {0};
    CHECK(zf_decoder_export(unchecked, NULL, "x86-64-v3", &kept, &error) == ZF_OK, "%s", error.message);
    CHECK(instructions(kept.image.data) == all, "%s: a module has %u instructions of %u", codec, instructions(kept.image.data),
          all);
    zf_exported_code_free(&kept);
    zf_text_free(&with);
    zf_text_free(&without);
    zf_decoder_free(checked);
    zf_decoder_free(unchecked);
    zf_program_free(program);
}

int main(void) {
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    int file = mkstemp(source);
    CHECK(file >= 0, "no file");
    close(file);
    if (zf_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) != ZF_OK ||
        zf_compiler_create(context, &options, &compiler, &error) != ZF_OK) {
        CHECK(false, "%s", error.message);
        return check_result();
    }
    for (uint32_t k = 0; k < COLUMNS; k++) test_column(k);
    zf_compiler_free(compiler);
    zf_context_free(context);
    unlink(source);
    return check_result();
}
