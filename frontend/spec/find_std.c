// Where the standard library lies: given, named by the environment, beside the program, or beside this library.
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/spec/spec_internal.h"

/// From the directory of the program: this tree when it is built in build/PRESET/bin, and an installed one.
static const char *const beside_program[] = {"../dsl/std", "../../../dsl/std", "../share/zipflow/std", NULL};
/// From the directory of an installed library: lib, or one folder below it for each architecture.
static const char *const beside_library[] = {"../share/zipflow/std", "../../share/zipflow/std", NULL};

static bool holds_std(zf_arena *arena, const char *directory) {
    return access(zf_arena_printf(arena, "%s/std.zf", directory), R_OK) == 0;
}

/// Returns the first of `places` that holds the library, seen from the directory of `file`, or NULL.
static const char *find_from(zf_arena *arena, const char *file, const char *const *places) {
    const char *slash = strrchr(file, '/');
    if (slash == NULL) return NULL;
    for (; *places != NULL; places++) {
        char *directory = zf_arena_printf(arena, "%.*s/%s", (int)(slash - file), file, *places);
        if (!holds_std(arena, directory)) continue;
        char resolved[PATH_MAX]; // diagnostics show it: without "../"
        return realpath(directory, resolved) != NULL ? zf_arena_copy(arena, resolved, strlen(resolved)) : directory;
    }
    return NULL;
}

const char *zf_find_std(zf_arena *arena, const char *given) {
    // Who names a place means that place: when it is wrong, another must not be taken silently.
    const char *named = given != NULL && *given != '\0' ? given : getenv("ZIPFLOW_STD");
    if (named != NULL && *named != '\0') return zf_arena_copy(arena, named, strlen(named));

    const char *found = NULL;
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0 && (size_t)length < sizeof program - 1) {
        program[length] = '\0';
        found = find_from(arena, program, beside_program);
    }
    Dl_info library; // an installed tree may have been moved, or installed with another prefix than it was configured for
    if (found == NULL && dladdr(beside_library, &library) != 0 && library.dli_fname != NULL)
        found = find_from(arena, library.dli_fname, beside_library);
    if (found == NULL && holds_std(arena, ZF_STD_DIR)) found = ZF_STD_DIR;
    return found;
}
