// Text to kernels: programs and blocks, of which kernels of the host and of an emulated GPU make what the interpreter makes, or
// all report a violation. An input has one of two forms:
//
// - A case as in tests/differential/cases: its first line, a program, a mark, a block. Changes are those of numbers and
//   operators.
// - Random numbers for the generator of tests/differential, which makes a program of them, and a block for it. Byte 0 says what
//   programs may have. Byte 1 says how many of 256 parts of the rest are the program's; the block's are behind them.
#include <string.h>

#include "tests/differential/diff_case.h"
#include "tests/differential/generator/gen_program.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_MADE = 1 << 10, MOST_CASE = 1 << 14, CHANGES = 4, TRIES = 64 };

static const char first_words[] = "// decode, seek interval ", unfused_mark[] = ", every ordered stage alone";
static const char block_mark[] = "---- block ----\n";
static diff_machine machine;

/// The settings of an input, beside its program and block.
typedef struct setting {
    uint32_t seek_interval;
    bool unfused;
    bool gpu_alone; ///< of the host the recorder alone, which takes half of the time
} setting;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    zf_text message = {0};
    FUZZ_DEMAND(diff_machine_open(&machine, NULL, &message), "%s", message.data);
    diff_set_case("an input of fuzz_kernels");
    return 0;
}

/// The checked program, or NULL.
static zf_spec *check_text(const char *program, size_t length) {
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.std_dir = ZF_SOURCE_DIR "/dsl/std"});
    if (spec == NULL) exit(2);
    if (zf_spec_add_text(spec, "made.zf", program, length) && zf_spec_check(spec)) return spec;
    zf_spec_destroy(spec);
    return NULL;
}

static interp *make_interp(void) {
    interp_options limits = {.fuel = 4000000, .max_elements = 1 << 18};
    return interp_create(&limits);
}

/// Compares kernels with the interpreter. `message` says how they differ, or what is not supported.
static diff_verdict compare(zf_spec *spec, const zf_column *column, interp *in, const interp_block *block, const setting *of,
                            zf_text *message) {
    diff_tally tally = {0};
    diff_case c = {.machine = &machine, .spec = spec, .column = column, .tuples = 1, .tally = &tally};
    c.states.seek_interval = of->seek_interval;
    c.states.unfused = of->unfused ? "all" : NULL;
    c.gpu_alone = of->gpu_alone;
    diff_verdict verdict = diff_check_block(&c, in, block, 1, message);
    diff_case_close(&c);
    return verdict;
}

static const zf_column *column_of(const zf_spec *spec) {
    const zf_table *table = zf_spec_find_table(spec, "t");
    return table != NULL ? table->columns : NULL;
}

// ---- Cases ----------------------------------------------------------------------------------------------------

static bool is_case(const uint8_t *data, size_t size) {
    return size >= sizeof first_words && memcmp(data, first_words, sizeof first_words - 1) == 0;
}

/// Returns -1 where the program or the block is none.
static int run_case(const uint8_t *data, size_t size) {
    char *text = strndup((const char *)data, size);
    if (text == NULL) exit(2);
    char *mark = strstr(text, block_mark), *line = strchr(text, '\n'), *alone = strstr(text, unfused_mark);
    int result = -1;
    setting of = {.gpu_alone = size % 2 == 0, .seek_interval = (uint32_t)strtoul(text + sizeof first_words - 1, NULL, 10)};
    of.unfused = alone != NULL && alone < line;
    zf_spec *spec = NULL;
    bool is_interval = of.seek_interval >= 256 && of.seek_interval <= 4096 && (of.seek_interval & (of.seek_interval - 1)) == 0;
    if (mark != NULL && is_interval) spec = check_text(text, (size_t)(mark - text));
    const zf_column *column = spec != NULL ? column_of(spec) : NULL;
    interp *in = make_interp();
    interp_block block;
    zf_text message = {0};
    if (column != NULL && gen_block_read(in, mark + strlen(block_mark), &block, &message)) {
        diff_verdict verdict = compare(spec, column, in, &block, &of, &message);
        bool misuse =
            message.data != NULL && strncmp(message.data, "the interpreter", 15) == 0; // the block is none of this program
        FUZZ_DEMAND(verdict != DIFF_DISAGREE || misuse, "%s: %s", diff_verdict_name(verdict), message.data);
        result = verdict == DIFF_UNSUPPORTED || misuse ? -1 : 0;
    }
    zf_text_free(&message);
    interp_destroy(in);
    zf_spec_destroy(spec);
    free(text);
    return result;
}

static bool is_one_of(char c, const char *set) { return c != 0 && strchr(set, c) != NULL; }

/// Changes one character where that may leave a case: a digit of a stream's bytes or of another number of the block, but for
/// numbers of elements; a digit or an operator of the program.
static bool change_one(char *text, size_t size, fuzz_random *random) {
    static const char hex[] = "0123456789abcdef", digits[] = "0123456789", operators[] = "+-*/%&|^<>";
    size_t at = fuzz_below(random, size), begin = at, mark = size;
    while (begin > 0 && text[begin - 1] != '\n') begin--;
    for (size_t k = 0; k + sizeof block_mark - 1 <= size && mark == size; k++) {
        if (memcmp(text + k, block_mark, sizeof block_mark - 1) == 0) mark = k;
    }
    const char *set = digits, *line = text + begin;
    size_t ahead = at - begin;
    if (begin == 0 || begin == mark) return false;
    if (at < mark) {
        if (is_one_of(text[at], operators)) set = operators;
        if (ahead > 1 && memcmp(line, "//", 2) == 0) return false;
    } else if (ahead > 7 && memcmp(line, "stream ", 7) == 0) {
        if (memchr(line + 7, ' ', ahead - 7) == NULL) return false;
        set = hex;
    } else if (ahead < 7 || (memcmp(line, "params ", 7) != 0 && memcmp(line, "counts ", 7) != 0 && line[0] != 'd')) {
        return false;
    }
    if (!is_one_of(text[at], set)) return false;
    text[at] = set[fuzz_below(random, strlen(set))];
    return true;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    if (!is_case(data, size)) return size > MOST_MADE ? size : LLVMFuzzerMutate(data, size, most < MOST_MADE ? most : MOST_MADE);
    fuzz_random random = {seed};
    uint64_t changes = 1 + fuzz_below(&random, CHANGES);
    for (unsigned k = 0; k < TRIES && changes > 0; k++) changes -= change_one((char *)data, size, &random);
    return size;
}

// ---- Made programs --------------------------------------------------------------------------------------------

static gen_options options_of(uint8_t byte) {
    static const uint64_t most[] = {200, 600, 1500, 5000};
    gen_options options = {.features = GEN_ALL | GEN_DELIVERED, .faults = 15, .nest = 2, .max_elements = most[byte % 4]};
    if ((byte & 4) != 0) options.features &= ~(unsigned)GEN_CHUNKS;
    if ((byte & 8) != 0) options.features &= ~(unsigned)GEN_WILD;
    if ((byte & 16) != 0) options.features &= ~(unsigned)GEN_DELIVERED;
    return options;
}

static void run_made(const char *program, zf_spec *spec, const gen_options *options, uint8_t byte) {
    const zf_column *column = column_of(spec);
    FUZZ_DEMAND(column != NULL, "a program without a column");
    interp *in = make_interp();
    setting of = {.seek_interval = (byte & 32) != 0 ? 256 : 4096, .unfused = (byte & 64) != 0, .gpu_alone = (byte & 128) == 0};
    interp_block block;
    zf_text message = {0}, text = {0};
    if (gen_block(in, column, 1, options, &block)) {
        diff_verdict verdict = compare(spec, column, in, &block, &of, &message);
        if (verdict == DIFF_DISAGREE || verdict == DIFF_UNSUPPORTED) { // as a file of tests/differential/cases
            gen_block_print(&block, &text);
            fprintf(stderr, "%s%u%s\n%s%s%s", first_words, of.seek_interval, of.unfused ? unfused_mark : "", program, block_mark,
                    text.data);
        }
        FUZZ_DEMAND(verdict != DIFF_DISAGREE && verdict != DIFF_UNSUPPORTED, "%s: %s", diff_verdict_name(verdict), message.data);
    }
    zf_text_free(&message);
    zf_text_free(&text);
    interp_destroy(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (is_case(data, size)) return size <= MOST_CASE ? run_case(data, size) : -1;
    if (size < 4 || size > MOST_MADE) return -1;
    gen_options options = options_of(data[0]);
    size_t left = size - 2, first = left * data[1] / 256;
    options.bytes = data + 2;
    options.byte_count = first;
    zf_text program = {0};
    gen_program(data[0], &options, &program);
    zf_spec *spec = check_text(program.data, program.length);
    options.bytes = data + 2 + first;
    options.byte_count = left - first;
    if (spec != NULL) run_made(program.data, spec, &options, data[0]); // the checker refuses few; those are no findings
    zf_spec_destroy(spec);
    zf_text_free(&program);
    return 0;
}
