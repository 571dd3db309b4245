// The functions that a fuzz target defines. libFuzzer calls them in the preset `fuzz`, replay.c in all others.
#ifndef ZF_TESTS_FUZZ_H
#define ZF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/// Prepares the target, once.
int LLVMFuzzerInitialize(int *count, char ***arguments);
/// Runs one input. Returns 0, or -1 for an input that no corpus should keep. Ends the process after a finding.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/// Changes an input in place and returns its new size. Targets without a structure of their own do not define it.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
/// Changes bytes at random: libFuzzer's, or replay.c's.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/// A finding: says what is wrong and ends the process.
#define FUZZ_DEMAND(condition, ...)                                                                                              \
    do {                                                                                                                         \
        if (!(condition)) {                                                                                                      \
            fprintf(stderr, "FINDING %s:%d: %s: ", __FILE__, __LINE__, #condition);                                              \
            fprintf(stderr, __VA_ARGS__);                                                                                        \
            fprintf(stderr, "\n");                                                                                               \
            fflush(NULL);                                                                                                        \
            abort();                                                                                                             \
        }                                                                                                                        \
    } while (0)

/// Random numbers of a mutator: the same for the same seed.
typedef struct fuzz_random {
    uint64_t state;
} fuzz_random;

static inline uint64_t fuzz_next(fuzz_random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15; // splitmix64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static inline uint64_t fuzz_below(fuzz_random *random, uint64_t bound) { return fuzz_next(random) % bound; }

#endif
