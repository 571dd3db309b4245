// Text to kernels: the bytes of the input are the random numbers of the generator of tests/differential, which makes a program of
// them, and a block for it. Kernels of the host and of an emulated GPU make what the interpreter makes, or all report a
// violation.
//
// Byte 0: what programs may have. Byte 1 of 256 parts of the rest: the program's; behind them the block's.
#include <string.h>

#include "tests/differential/diff_case.h"
#include "tests/differential/gen_program.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_SIZE = 1 << 12 };

static diff_machine machine;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    zf_text message = {0};
    FUZZ_DEMAND(diff_machine_open(&machine, NULL, &message), "%s", message.data);
    diff_set_case("an input of fuzz_kernels");
    return 0;
}

static gen_options options_of(uint8_t byte) {
    static const uint64_t most[] = {200, 600, 1500, 5000};
    gen_options options = {.features = GEN_ALL | GEN_DELIVERED, .faults = 15, .nest = 2, .max_elements = most[byte % 4]};
    if ((byte & 4) != 0) options.features &= ~(unsigned)GEN_CHUNKS;
    if ((byte & 8) != 0) options.features &= ~(unsigned)GEN_WILD;
    if ((byte & 16) != 0) options.features &= ~(unsigned)GEN_DELIVERED;
    return options;
}

static void run(const char *program, const zf_spec *spec, const gen_options *options, uint8_t byte) {
    const zf_table *table = zf_spec_find_table(spec, "t");
    FUZZ_DEMAND(table != NULL && table->columns != NULL, "a program without a column");
    interp_options limits = {.fuel = 4000000, .max_elements = 1 << 18};
    interp *in = interp_create(&limits);
    diff_tally tally = {0};
    diff_case c = {
        .machine = &machine, .spec = (zf_spec *)(uintptr_t)spec, .column = table->columns, .tuples = 1, .tally = &tally};
    c.states.seek_interval = (byte & 32) != 0 ? 256 : 4096;
    c.states.unfused = (byte & 64) != 0 ? "all" : NULL;
    c.gpu_alone = (byte & 128) == 0; // of the host the recorder alone, which takes half of the time
    interp_block block;
    zf_text message = {0}, text = {0};
    if (gen_block(in, c.column, 1, options, &block)) {
        diff_verdict verdict = diff_check_block(&c, in, &block, 1, &message);
        if (verdict == DIFF_DISAGREE || verdict == DIFF_UNSUPPORTED) {
            gen_block_print(&block, &text);
            fprintf(stderr, "// decode, seek interval %u%s\n%s---- block ----\n%s", c.states.seek_interval,
                    c.states.unfused != NULL ? ", unfused" : "", program, text.data);
        }
        FUZZ_DEMAND(verdict != DIFF_DISAGREE && verdict != DIFF_UNSUPPORTED, "%s: %s", diff_verdict_name(verdict), message.data);
    }
    zf_text_free(&message);
    zf_text_free(&text);
    diff_case_close(&c);
    interp_destroy(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4 || size > MOST_SIZE) return -1;
    gen_options options = options_of(data[0]);
    size_t left = size - 2, first = left * data[1] / 256;
    options.bytes = data + 2;
    options.byte_count = first;
    zf_text program = {0};
    gen_program(data[0], &options, &program);
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.std_dir = ZF_SOURCE_DIR "/dsl/std"});
    if (spec == NULL) exit(2);
    options.bytes = data + 2 + first;
    options.byte_count = left - first;
    // The checker refuses few; those are no findings.
    if (zf_spec_add_text(spec, "made.zf", program.data, program.length) && zf_spec_check(spec))
        run(program.data, spec, &options, data[0]);
    zf_spec_destroy(spec);
    zf_text_free(&program);
    return 0;
}
