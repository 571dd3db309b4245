// A small container with every byte changed, and cut at every byte. Decoding it must give an error with a code and a place, or
// the right answer. Then the same with all checksums made right again, so that what stands behind them is reached: there
// other answers may be right, too, but nothing may be touched outside the buffers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/context/context.h"
#include "tests/hostile/mutate.h"
#include "tests/support/walk_codec.h"
#include "tests/unit/check.h"

enum { ROWS = 4096 + 700 };

static char path[64];
static zf_context *context;

/// Whether a decode of a column gives the right answer: 1 yes, 0 no, -1 it failed.
static int decode_column(zf_container *container, size_t column, const zf_decode_options *options, zf_error *error) {
    zf_decode_sizes sizes = {0};
    if (zf_decode_size(container, column, options, &sizes, error) != ZF_OK) return -1;
    if (sizes.values > 1 << 24 || sizes.workspace > 1 << 26) return 0; // a caller would not give so much
    // Exactly as large as asked for, so that the sanitizer sees the first byte outside.
    void *values = NULL, *work = NULL;
    if (posix_memalign(&values, 64, sizes.values ? sizes.values : 1) != 0) abort();
    if (posix_memalign(&work, 64, sizes.workspace ? sizes.workspace : 1) != 0) abort();
    zf_decode_buffers buffers = {.values = values, .workspace = work, ZF_DECODE_BYTES(sizes)};
    int result = -1;
    if (zf_decode(container, column, "cpu", options, &buffers, NULL, error) == ZF_OK) {
        zf_column_info info = {0};
        uint64_t begin = options->row_begin, rows = zf_container_rows(container) - begin;
        if (options->some_rows && options->row_count < rows) rows = options->row_count;
        result = zf_container_column(container, column, &info, error) == ZF_OK &&
                 (options->some_rows || zf_container_rows(container) == ROWS);
        for (uint64_t i = 0; i < rows && result == 1; i++) {
            uint32_t value = 0;
            if (info.type.element == ZF_BOOL) {
                result = (((uint8_t *)values)[i / 8] >> (i % 8) & 1) == walk_bit(begin + i);
            } else if ((i + 1) * 4 <= sizes.values) {
                memcpy(&value, (uint8_t *)values + i * 4, 4);
                result = value == walk_value(begin + i);
            } else {
                result = 0;
            }
        }
    }
    free(values);
    free(work);
    return result;
}

static void ignore_part(void *user, const zf_container_part *part) {
    uint64_t *next = user;
    *next = part->offset + part->bytes;
}

static unsigned errors, answers, others;

static void check_error(const zf_error *error, const char *what, size_t at) {
    errors++;
    if (strncmp(error->code, "ZF", 2) != 0 || error->message[0] == 0 || error->place[0] == 0) {
        CHECK(false, "%s at byte %zu: an error without code, message or place: %s %s", what, at, error->code, error->message);
    }
}

/// Opens the file as it is now and decodes everything. `honest`: another answer than the right one is a failure.
static void attack(const char *what, size_t at, bool honest, bool checksums) {
    zf_error error = {0};
    zf_container *container;
    if (zf_container_open(context, path, &container, &error) != ZF_OK) {
        check_error(&error, what, at);
        return;
    }
    uint64_t end = 0;
    if (zf_container_account(container, ignore_part, &end, &error) != ZF_OK) {
        check_error(&error, what, at);
    } else if (end != zf_container_bytes(container)) {
        CHECK(false, "%s at byte %zu: %llu bytes accounted for", what, at, (unsigned long long)end);
    }
    size_t columns = zf_container_columns(container);
    for (size_t column = 0; column < columns && column < 4; column++) {
        const zf_decode_options ranges[] = {
            {.threads = 1, .skip_checksums = !checksums},
            {.some_rows = true, .row_begin = 4000, .row_count = 301, .threads = 1, .skip_checksums = !checksums},
        };
        for (size_t r = 0; r < 2; r++) {
            int result = decode_column(container, column, &ranges[r], &error);
            if (result == 1) answers++;
            if (result == 0) others++;
            if (result == 0 && honest) CHECK(false, "%s at byte %zu: a wrong answer for column %zu", what, at, column);
            if (result >= 0) continue;
            // Rows that a lying index does not have are the caller's mistake then, not the file's: that one has a place, too.
            check_error(&error, what, at);
        }
    }
    zf_container_close(container);
}

int main(void) {
    if (!mutate_path(path, sizeof path)) return 1;
    zf_error error = {0};
    zf_abi_provider provider = {.plan = walk_plan, .code = walk_code};
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    CHECK(walk_write(path, ROWS, 4096, true, &error) == ZF_OK, "%s", error.message);
    mutated m;
    if (!mutate_read(path, &m)) return check_result();
    const uint8_t *original = m.original;
    uint8_t *bytes = m.bytes;
    size_t size = m.size;
    CHECK(m.block_count == 4, "%zu blocks", m.block_count);
    attack("nothing", 0, true, true);
    CHECK(errors == 0 && answers == 4, "%u errors, %u answers", errors, answers);
    if (check_failures > 0) return check_result();

    for (size_t at = 0; at < size; at = mutate_next(&m, at)) {
        const uint8_t values[] = {(uint8_t)~original[at], (uint8_t)(original[at] + 1), mutate_random()};
        for (size_t v = 0; v < 3; v++) {
            if (values[v] == original[at]) continue;
            memcpy(bytes, original, size);
            bytes[at] = values[v];
            mutate_write(path, bytes, size);
            attack("a changed byte", at, true, true);
            attack("a changed byte, no checksums", at, false, false);
            mutate_repair(&m);
            mutate_write(path, bytes, size);
            attack("a changed byte with right checksums", at, false, true);
        }
    }
    unsigned refused = errors;
    for (size_t at = 0; at < size; at = mutate_next(&m, at)) {
        mutate_write(path, original, at);
        attack("a cut", at, true, true);
        CHECK(errors == ++refused, "a file of %zu of %zu bytes was not refused", at, size);
        errors = refused;
    }
    // Numbers at their limits in every 4 and 8 bytes of block headers, index and footer.
    static const uint64_t limits[] = {0,         1,          0x7fffffff,      0x80000000, UINT32_MAX, UINT64_C(1) << 32,
                                      INT64_MAX, UINT64_MAX, UINT64_MAX - 255};
    for (size_t at = 0; at + 8 <= size; at = mutate_next(&m, at)) {
        if (at < m.index && at % 4 != 0) continue; // the index alone has numbers that are not aligned
        for (size_t v = 0; v < sizeof limits / sizeof limits[0]; v++) {
            memcpy(bytes, original, size);
            memcpy(bytes + at, &limits[v], limits[v] > UINT32_MAX ? 8 : 4);
            mutate_repair(&m);
            mutate_write(path, bytes, size);
            attack("a number at its limit", at, false, true);
        }
    }
    // Several bytes at once, of what describes the data.
    for (unsigned round = 0; round < 2000; round++) {
        memcpy(bytes, original, size);
        for (unsigned changes = 2 + mutate_random() % 5; changes > 0; changes--) {
            size_t from = mutate_random() % 2 == 0 ? m.index : m.blocks[mutate_random() % m.block_count];
            size_t room = from == m.index ? size - m.index : 256;
            bytes[from + ((size_t)mutate_random() << 8 | mutate_random()) % room] =
                mutate_random() % 4 == 0 ? mutate_random() : mutate_random() % 8;
        }
        mutate_repair(&m);
        mutate_write(path, bytes, size);
        attack("several bytes, round", round, false, true);
    }
    printf("%u errors, %u right answers, %u others\n", errors, answers, others);
    unlink(path);
    mutate_free(&m);
    zf_context_free(context);
    return check_result();
}
