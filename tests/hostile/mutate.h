// Changing a container, and making its checksums right again so that what stands behind them is reached.
#ifndef ZF_TESTS_MUTATE_H
#define ZF_TESTS_MUTATE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/container/container_format.h"
#include "tests/unit/check.h"

enum { MUTATE_BLOCKS = 1024 };

/// A file, and a copy of it to change. `blocks` and `rows` are the places of blocks and of their rows in the index.
typedef struct mutated {
    uint8_t *original, *bytes;
    size_t size, block_count;
    uint64_t index, blocks[MUTATE_BLOCKS], rows[MUTATE_BLOCKS];
} mutated;

/// The name of a new file: in memory where that is possible, since tens of thousands will be written.
static inline bool mutate_path(char *path, size_t size) {
    static const char *const places[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, size, "%s/zipflow-hostile-XXXXXX", places[i]);
        int fd = mkstemp(path);
        if (fd < 0) continue;
        close(fd);
        return true;
    }
    return false;
}

static inline void mutate_write(const char *path, const uint8_t *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) CHECK(false, "cannot write %s", path);
    if (fd >= 0) close(fd);
}

/// Reads a container and finds its blocks: rows of the index by the checksums that both hold.
static inline bool mutate_read(const char *path, mutated *m) {
    *m = (mutated){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) return false;
    m->size = (size_t)status.st_size;
    m->original = malloc(m->size);
    m->bytes = malloc(m->size);
    ssize_t got = read(fd, m->original, m->size);
    close(fd);
    CHECK(got == (ssize_t)m->size && m->size > ZF_FORMAT_FOOTER_BYTES, "%zd bytes", got);
    if (got != (ssize_t)m->size) return false;
    m->index = zf_load64(m->original + m->size - ZF_FORMAT_FOOTER_BYTES);
    for (uint64_t at = ZF_FORMAT_HEADER_BYTES; at < m->index; at += zf_load64(m->original + at + 16)) {
        if (m->block_count == MUTATE_BLOCKS) return false;
        m->blocks[m->block_count] = at;
        for (uint64_t i = m->index; i + 8 <= m->size - ZF_FORMAT_FOOTER_BYTES; i++) {
            if (zf_load64(m->original + i) == zf_load64(m->original + at)) m->rows[m->block_count] = i - 32;
        }
        CHECK(m->rows[m->block_count] != 0, "block %zu has no row in the index", m->block_count);
        m->block_count++;
    }
    memcpy(m->bytes, m->original, m->size);
    return true;
}

static inline void mutate_free(mutated *m) {
    free(m->original);
    free(m->bytes);
}

/// Makes all checksums of `bytes` right: of blocks at their original places, of the index, of the footer.
static inline void mutate_repair(mutated *m) {
    for (size_t b = 0; b < m->block_count; b++) {
        uint64_t end = b + 1 < m->block_count ? m->blocks[b + 1] : m->index;
        uint64_t sum = XXH3_64bits(m->bytes + m->blocks[b] + 8, end - m->blocks[b] - 8);
        zf_store64(m->bytes + m->blocks[b], sum);
        zf_store64(m->bytes + m->rows[b] + 32, sum);
    }
    uint8_t *footer = m->bytes + m->size - ZF_FORMAT_FOOTER_BYTES;
    zf_store64(footer + 16, XXH3_64bits(m->bytes + m->index, m->size - ZF_FORMAT_FOOTER_BYTES - m->index));
    zf_store64(footer + 48, XXH3_64bits(footer, 48));
}

/// The next byte worth changing: all but the insides of long blocks, of which every 151st.
static inline size_t mutate_next(const mutated *m, size_t at) {
    at++;
    for (size_t b = 0; b < m->block_count; b++) {
        uint64_t end = b + 1 < m->block_count ? m->blocks[b + 1] : m->index;
        if (at > m->blocks[b] + 320 && at + 320 < end && end - m->blocks[b] > 1000) return at + 150;
    }
    return at;
}

/// A byte of a fixed sequence.
static inline uint8_t mutate_random(void) {
    static uint32_t seed = 12345;
    seed = seed * 1664525u + 1013904223u;
    return (uint8_t)(seed >> 24);
}

#endif
