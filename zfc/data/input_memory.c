#include "zfc/data/input_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "zfc/driver_codes.h"

/// The limit of the process's control group, in version 2's file; UINT64_MAX: none, or it cannot be read.
static uint64_t group_limit(void) {
    unsigned long long limit;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re"); // that of a container; others' groups are not asked
    if (!file) return UINT64_MAX;
    bool found = fscanf(file, "%llu", &limit) == 1; // else it is "max"
    fclose(file);
    return found ? limit : UINT64_MAX;
}

uint64_t zf_input_memory_most(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX, group = group_limit();
    uint64_t least = group < machine ? group : machine;
    return least / 4 * 3;
}

void *zf_input_grow(zf_input_memory *memory, const char *path, void *buffer, size_t *capacity, size_t least, size_t wish,
                    zf_error *error) {
    uint64_t others = memory->held - *capacity, room = memory->most == 0 ? UINT64_MAX : memory->most;
    room = room > others ? room - others : 0;
    if (least > room) {
        zf_fail(error, ZF_ERR_MEMORY, ZFC_INPUT_LIMIT, "the inputs need more than the %llu bytes of memory that they may take",
                (unsigned long long)memory->most);
        zf_fail_place(error, ZF_ERR_MEMORY, "%s", path);
        zf_fail_hint(error, ZF_ERR_MEMORY, "--input-memory BYTES sets the limit; encode parts of the table as several files");
        return NULL;
    }
    // Near the limit buffers grow by small steps, so that one of them does not take what others need.
    size_t size = wish > room ? least + (size_t)(room - least) / 8 : wish;
    void *grown = realloc(buffer, size);
    if (!grown) {
        zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory to read %s", path);
        return NULL;
    }
    memory->held = others + size;
    *capacity = size;
    return grown;
}

void zf_input_release(zf_input_memory *memory, void *buffer, size_t capacity) {
    free(buffer);
    memory->held -= capacity;
}
