// A sample that a test takes of its cases, as its command line has it: one in so many, and which ones.
#ifndef ZF_TESTS_SAMPLE_H
#define ZF_TESTS_SAMPLE_H

#include <stdbool.h>
#include <stdlib.h>

/// All turns together take each case.
typedef struct sample {
    unsigned every, turn; ///< turn is any number: turns 0 to every - 1 are different samples
} sample;

/// "3:7", one in three at turn 7; "3" is "3:0". False: anything else.
static inline bool sample_read(const char *text, sample *out) {
    char *end;
    unsigned long every = strtoul(text, &end, 10), turn = 0;
    if (*end == ':') turn = strtoul(end + 1, &end, 10);
    *out = (sample){(unsigned)every, (unsigned)turn};
    return *end == 0 && out->every > 0;
}

static inline bool sample_has(sample s, unsigned number) { return number % s.every == s.turn % s.every; }

#endif
