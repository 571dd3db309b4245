// Links: zipflow-compiler
// Shared libraries that may be absent: each is found once, by all threads, or the message has its name and its package.
#include <pthread.h>
#include <string.h>

#include "compiler/encoders/shared_library.h"
#include "tests/unit/check.h"

enum { THREADS = 8 };

typedef size_t length_fn(const char *text);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *const good[] = {"strcmp", "strlen"}, *const lacking[] = {"strlen", "no_such_function_of_libc"};

static void *open_and_use(void *library) {
    zf_shared_library *l = library;
    CHECK(zf_shared_library_open(l, &lock), "%s", l->why);
    CHECK(l->functions[1] != NULL && ((length_fn *)l->functions[1])("four") == 4, "not the function of the second symbol");
    return NULL;
}

static void test_found(void) {
    zf_shared_library library = {.file = "libc.so.6", .package = "libc6", .symbols = good, .count = 2};
    pthread_t threads[THREADS];
    for (size_t k = 0; k < THREADS; k++) CHECK(pthread_create(&threads[k], NULL, open_and_use, &library) == 0, "no thread");
    for (size_t k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
    zf_shared_library_close(&library);
    CHECK(library.handle == NULL, "it is open");
    zf_shared_library_close(&library);
}

static void check_missing(zf_shared_library *library, const char *reason, const char *package) {
    for (unsigned turn = 0; turn < 2; turn++) {
        CHECK(!zf_shared_library_open(library, &lock), "%s was opened", library->file);
        CHECK(strstr(library->why, library->file) != NULL && strstr(library->why, reason) != NULL, "%s", library->why);
        CHECK(strstr(library->why, package) != NULL, "%s", library->why);
    }
    zf_shared_library_close(library);
}

static void test_missing(void) {
    zf_shared_library absent = {.file = "libzipflow-absent.so.7", .package = "some-package-7", .symbols = good, .count = 2};
    check_missing(&absent, "cannot open shared object file", "(Debian's package some-package-7 has the library)");
    zf_shared_library older = {.file = "libc.so.6", .package = "libc6", .symbols = lacking, .count = 2};
    check_missing(&older, "has no function `no_such_function_of_libc`", "(Debian's package libc6 has it)");
}

int main(void) {
    test_found();
    test_missing();
    return check_result();
}
