// Where the standard library lies: given, named by the environment, or beside the program.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/spec/spec_internal.h"

/// From the directory of the program: this tree when it is built in build/PRESET/bin, and where it is installed.
static const char *const beside[] = {"../dsl/std", "../../../dsl/std", "../share/zipflow/std"};

static bool holds_std(zf_arena *arena, const char *directory) {
    return access(zf_arena_printf(arena, "%s/std.zf", directory), R_OK) == 0;
}

const char *zf_find_std(zf_arena *arena, const char *given) {
    // Who names a place means that place: when it is wrong, another must not be taken silently.
    const char *named = given != NULL && *given != '\0' ? given : getenv("ZIPFLOW_STD");
    if (named != NULL && *named != '\0') return zf_arena_copy(arena, named, strlen(named));

    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0 && (size_t)length < sizeof program - 1) {
        program[length] = '\0';
        char *slash = strrchr(program, '/');
        if (slash != NULL) {
            *slash = '\0';
            for (size_t k = 0; k < sizeof beside / sizeof *beside; k++) {
                char *directory = zf_arena_printf(arena, "%s/%s", program, beside[k]);
                if (!holds_std(arena, directory)) continue;
                char resolved[PATH_MAX]; // what diagnostics show should not be full of "../"
                return realpath(directory, resolved) != NULL ? zf_arena_copy(arena, resolved, strlen(resolved)) : directory;
            }
        }
    }
    return holds_std(arena, ZF_STD_DIR) ? ZF_STD_DIR : NULL;
}
