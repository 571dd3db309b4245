#include "tests/gpu/damaged_state.h"

#include <stdlib.h>
#include <string.h>

#include "tests/hostile/mutate.h"

typedef struct seek_part {
    size_t column;
    uint64_t offset;
} seek_part;

static void note_seek(void *user, const zf_container_part *part) {
    seek_part *wanted = user;
    if (strcmp(part->kind, "seek") == 0 && part->column == (int64_t)wanted->column && part->block == 1 && part->bytes > 9)
        wanted->offset = part->offset;
}

void gpu_write_damaged(const char *path, zf_container *container, const char *column, const char *to) {
    zf_error error = {0};
    mutated m;
    seek_part part = {0};
    zf_status status = zf_container_find(container, column, &part.column, &error);
    if (status == ZF_OK) status = zf_container_account(container, note_seek, &part, &error);
    if (status != ZF_OK || part.offset == 0 || !mutate_read(path, &m)) {
        fprintf(stderr, "%s: %s %s; column %s has no seek states in block 1, or the file more than %d blocks\n", path, error.code,
                error.message, column, MUTATE_BLOCKS);
        exit(2);
    }
    m.bytes[part.offset + 9] ^= 1;
    mutate_repair(&m);
    close(open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    mutate_write(to, m.bytes, m.size);
    mutate_free(&m);
}
