// main of a fuzz target without libFuzzer: runs every file of the directories, and files, that are its arguments. Where the
// target has a mutator, also some changes of each file, always the same.
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

#ifndef FUZZ_CHANGES
#define FUZZ_CHANGES 2
#endif
enum { CHANGES = FUZZ_CHANGES, ROOM = 1 << 12 }; ///< changes of a file; bytes by which one may grow

__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static unsigned files, changes;
static fuzz_random random_bytes = {1};

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) {
    if (size < most && fuzz_below(&random_bytes, 4) == 0) data[size++] = 0;
    if (size > 0) data[fuzz_below(&random_bytes, size)] = (uint8_t)fuzz_next(&random_bytes);
    return size;
}

/// The input in memory of its own, so that a sanitizer sees a read behind it.
static void run_bytes(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) exit(2);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_file(const char *path, size_t size) {
    uint8_t *bytes = malloc(size + ROOM);
    FILE *file = fopen(path, "rb");
    if (bytes == NULL || file == NULL || fread(bytes, 1, size, file) != size) {
        printf("%s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    printf("%s\n", path); // before it is run: the last one printed is the one that failed
    fflush(stdout);
    files++;
    run_bytes(bytes, size);
    for (unsigned k = 0; k != CHANGES && LLVMFuzzerCustomMutator != NULL; k++) {
        size_t changed = LLVMFuzzerCustomMutator(bytes, size, size + ROOM, files * CHANGES + k);
        run_bytes(bytes, changed);
        changes++;
        size = changed < size ? changed : size;
    }
    free(bytes);
}

static void run_place(const char *path) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        printf("%s does not exist\n", path);
        exit(2);
    }
    if (!S_ISDIR(facts.st_mode)) {
        run_file(path, (size_t)facts.st_size);
        return;
    }
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') run_place(inside);
        free(entries[i]);
    }
    free(entries);
}

int main(int count, char **arguments) {
    LLVMFuzzerInitialize(&count, &arguments);
    for (int i = 1; i < count; i++) run_place(arguments[i]);
    printf("%u files, %u changes of them\n", files, changes);
    return files > 0 ? 0 : 1;
}
