// The harness of unit tests: CHECK reports and counts, `check_result` is what main returns.
#ifndef ZF_TESTS_CHECK_H
#define ZF_TESTS_CHECK_H

#include <stdatomic.h>
#include <stdio.h>

static atomic_int check_failures, check_count; // tests may check from several threads

#define CHECK(condition, ...)                                                                                                    \
    do {                                                                                                                         \
        check_count++;                                                                                                           \
        if (!(condition)) {                                                                                                      \
            check_failures++;                                                                                                    \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                                               \
            printf(__VA_ARGS__);                                                                                                 \
            printf("\n");                                                                                                        \
        }                                                                                                                        \
    } while (0)

/// 0 when every check held. A test that checked nothing has failed.
static inline int check_result(void) {
    printf("%d checks, %d failed\n", check_count, check_failures);
    return check_failures == 0 && check_count > 0 ? 0 : 1;
}

#endif
