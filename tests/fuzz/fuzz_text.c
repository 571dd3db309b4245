// `.zf` text: the input is a program. It is parsed and laid out; the layout is its own layout and has the same tree. Then it is
// checked, and taken through graph and plan, each with its reader, as tests/hostile/program_stages.h demands it. The standard
// library is there where the input begins with "//std": reading it takes most of the time.
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/hostile/program_stages.h"

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    snprintf(stages_subject, sizeof stages_subject, "input");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (text == NULL) exit(2);
    memcpy(text, data, size);
    text[size] = 0;
    bool with_std = size >= 5 && memcmp(text, "//std", 5) == 0;
    stages_syntax(text, size);
    stages_check("t.zf", text, size, !with_std);
    free(text);
    FUZZ_DEMAND(check_failures == 0, "the stages' demands above");
    return 0;
}
