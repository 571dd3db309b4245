// The generator: most programs are accepted, blocks are read back as printed, the interpreter gives a result or a
// violation for every one (and the same one twice), what the checker claims about values holds, and the reducer
// reduces. Arguments: first seed, number of seeds; with `-p` the programs are printed.
#include <stdlib.h>
#include <string.h>

#include "tests/differential/generator/gen_program.h"
#include "tests/interp/externs.h"
#include "tests/interp/load.h"
#include "tests/unit/check.h"

typedef struct tally {
    unsigned programs, rejected, blocks, valid, violated, hidden, limits, encoded;
} tally;

static const zf_column *column_of(const zf_spec *spec) {
    const zf_table *table = zf_spec_find_table(spec, "t");
    return table ? table->columns : NULL;
}

// Decodes a block twice, the second time after it went through text.
static void run_block(const zf_column *column, uint64_t seed, interp *in, const interp_block *block, bool print, tally *t) {
    interp_report report, again;
    interp_stream *out, *out_again;
    zf_text text = {0}, text_again = {0}, message = {0};
    interp_block read;
    interp_status status = interp_decode_stored(in, column, block, &out, &report);
    CHECK(status == INTERP_OK || status == INTERP_VIOLATION || status == INTERP_LIMIT, "seed %llu: %s: %s",
          (unsigned long long)seed, interp_status_name(status), report.message);
    t->blocks++;
    t->valid += status == INTERP_OK;
    t->violated += status == INTERP_VIOLATION;
    t->limits += status == INTERP_LIMIT;
    t->hidden += status == INTERP_OK && report.unreached;
    if (print) {
        zf_text line = {0};
        zf_text_printf(&line, "// %s, %llu elements", interp_status_name(status), (unsigned long long)block->counts[0]);
        if (status == INTERP_VIOLATION) zf_text_printf(&line, ", at %llu: ", (unsigned long long)report.root_position);
        if (status == INTERP_VIOLATION) interp_violation_text(&report.violation, &line);
        if (status == INTERP_OK && report.unreached) zf_text_puts(&line, ", unreached: ");
        if (status == INTERP_OK && report.unreached) interp_violation_text(&report.hidden, &line);
        printf("%s\n", line.data);
        zf_text_free(&line);
    }
    const interp_claims *claims = interp_claims_of(in);
    CHECK(!claims->range && !claims->proved, "seed %llu: the checker is wrong: %s", (unsigned long long)seed, claims->where);
    gen_block_print(block, &text);
    bool good = gen_block_read(in, text.data, &read, &message);
    CHECK(good, "seed %llu: %s", (unsigned long long)seed, message.data ? message.data : "");
    if (good) {
        gen_block_print(&read, &text_again);
        CHECK(strcmp(text.data, text_again.data) == 0, "seed %llu: a block is not read as it was printed",
              (unsigned long long)seed);
        interp_status second = interp_decode_stored(in, column, &read, &out_again, &again);
        CHECK(second == status && report.violation.number == again.violation.number &&
                  report.root_position == again.root_position,
              "seed %llu: another result the second time", (unsigned long long)seed);
        CHECK(status != INTERP_OK || interp_stream_equal(out, out_again, NULL), "seed %llu: other elements the second time",
              (unsigned long long)seed);
    }
    zf_text_free(&text);
    zf_text_free(&text_again);
    zf_text_free(&message);
}

static void run_seed(uint64_t seed, bool print, tally *t) {
    gen_options options = {.features = GEN_ALL | GEN_DELIVERED, .faults = 15, .max_elements = 600};
    if (seed % 3 == 0) options.features &= ~(unsigned)GEN_WILD;
    zf_text program = {0};
    gen_program(seed, &options, &program);
    if (print) printf("// seed %llu\n%s\n", (unsigned long long)seed, program.data);
    zf_spec_options spec_options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_spec *spec = zf_spec_create(&spec_options);
    bool good = zf_spec_add_text(spec, "made.zf", program.data, program.length) && zf_spec_check(spec);
    t->programs++;
    if (!good) {
        t->rejected++;
        zf_text text = {0};
        zf_diags_render(zf_spec_diags(spec), ZF_DIAG_LINE, false, &text);
        if (print) printf("%s\n", text.data ? text.data : "");
        zf_text_free(&text);
    }
    for (uint64_t k = 0; good && k < 4; k++) {
        interp_options limits = {.fuel = 30000000};
        interp *in = interp_create(&limits);
        interp_block block;
        const zf_column *column = column_of(spec);
        bool made = k == 3 ? gen_encoded_block(in, column, seed * 4 + k, &options, &block)
                           : gen_block(in, column, seed * 4 + k, &options, &block);
        t->encoded += k == 3 && made;
        if (made) run_block(column, seed, in, &block, print, t);
        interp_destroy(in);
    }
    zf_spec_destroy(spec);
    zf_text_free(&program);
}

// A fault that needs one multiplication and one byte of value 7.
static bool has_fault(void *user, const char *program, const char *block) {
    (void)user;
    return strstr(program, " * ") && strstr(program, "return") && strstr(block, "07");
}

static void test_reducer(void) {
    const char *program = "fn f() { return (1 + (2 * (x + 3))); }\nalgorithm other() {\n    decode(i) = (a + b);\n}\n";
    const char *block = "branches\nparams 3 9\ncounts 8 8\nstream 8 0102030405060708\n";
    zf_text small_program = {0}, small_block = {0};
    gen_reduce(program, block, has_fault, NULL, 1000, &small_program, &small_block);
    CHECK(strlen(small_program.data) < 40, "the program is small: %s", small_program.data);
    CHECK(strcmp(small_block.data, "branches\nparams 0 0\ncounts 7 7\nstream 7 00000000000007\n") == 0, "the block is plain: %s",
          small_block.data);
    CHECK(has_fault(NULL, small_program.data, small_block.data), "and the fault is still there");
    zf_text_free(&small_program);
    zf_text_free(&small_block);
}

int main(int count, char **arguments) {
    bool print = count > 1 && strcmp(arguments[1], "-p") == 0;
    uint64_t first = count > 1 + print ? strtoull(arguments[1 + print], NULL, 10) : 1;
    uint64_t seeds = count > 2 + print ? strtoull(arguments[2 + print], NULL, 10) : 400;
    tally t = {0};
    test_reducer();
    for (uint64_t k = 0; k < seeds; k++) run_seed(first + k, print, &t);
    printf("%u programs, %u rejected; %u blocks (%u encoded): %u valid (%u with unreached violations), %u violated, %u "
           "limits\n",
           t.programs, t.rejected, t.blocks, t.encoded, t.valid, t.hidden, t.violated, t.limits);
    CHECK(t.rejected * 5 <= t.programs, "too many programs are rejected");
    CHECK(seeds < 50 || t.valid * 3 > t.blocks, "too few blocks are valid");
    return check_result();
}
