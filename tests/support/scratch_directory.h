// A directory of a test's own under /tmp, paths in it, and its end.
#ifndef ZF_TESTS_SCRATCH_DIRECTORY_H
#define ZF_TESTS_SCRATCH_DIRECTORY_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static char scratch[64]; ///< the directory

static inline bool scratch_begin(const char *test) {
    snprintf(scratch, sizeof scratch, "/tmp/zf-test-%s-XXXXXX", test);
    return mkdtemp(scratch) != NULL;
}

/// A path in the directory, in one of eight buffers.
static inline const char *place(const char *name) {
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline int scratch_remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk) {
    (void)facts, (void)kind, (void)walk;
    return remove(path);
}

/// Removes a directory, this one or another, with all that is in it.
static inline void scratch_remove(const char *path) {
    if (nftw(path, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0) printf("cannot remove all of %s\n", path);
}

#endif
