// A column with more plain bytes than 32 bits count (at --bytes above 4 GiB; of one-byte elements also more rows), made row by
// row by a generator, encoded, decoded into the accelerator's memory, and compared there in pieces; then ranges of rows at its
// end and around the 4 GiB, and the same through the host's memory.
//   gpu_large --device emu|cuda --column thin_u8|thin_i64|scan_i64|groups_i64 --bytes N --block BYTES --piece BYTES --canary
//   BYTES
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/gpu/gpu_decode.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { RANGE = 100001 };

static gpu_machine machine;
static const gpu_column *column;
static uint64_t canary = 4096, piece_bytes = 256 << 20, range_count;

static uint64_t element(void) { return column->bits / 8; }

static void must(zf_status status, const zf_error *error, const char *what) {
    if (status == ZF_OK) return;
    CHECK(false, "%s: %s %s (%s)", what, error->code, error->message, error->place);
    exit(check_result());
}

/// Compares `count` rows in the accelerator's memory, a piece at a time.
static uint64_t wrong_rows(const gpu_decode *d, uint64_t begin, uint64_t count) {
    const zf_accelerator_ops *ops = machine.accelerator->ops;
    zf_error error;
    void *piece = NULL;
    uint64_t wrong = 0, most = piece_bytes / element();
    must(ops->host_allocate(machine.accelerator, piece_bytes, &piece, &error), &error, "memory for a piece");
    for (uint64_t at = 0; at < count; at += most) {
        uint64_t rows = count - at < most ? count - at : most;
        uint64_t from = d->values.at + d->sizes.skip + at * element();
        must(ops->copy_out(machine.accelerator, d->stream, piece, from, rows * element(), &error), &error, "copying");
        must(ops->wait(machine.accelerator, d->stream, &error), &error, "waiting");
        wrong += gpu_column_wrong(column, begin + at, rows, 0, piece, 0, machine.threads);
    }
    ops->host_release(machine.accelerator, piece);
    return wrong;
}

/// Decodes rows into the accelerator's memory; gives the seconds of the decode alone.
static double decode_rows(zf_container *container, uint64_t begin, uint64_t count, uint64_t *launches) {
    gpu_decode d;
    zf_error error;
    zf_decode_stats stats = {0};
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count};
    must(gpu_decode_open(&machine, container, 0, &options, canary, NULL, &d, &error), &error, "preparing");
    double start = gpu_seconds();
    must(gpu_decode_queue(&d, &error), &error, "queueing");
    must(gpu_decode_wait(&d, &stats, &error), &error, "decoding");
    double seconds = gpu_seconds() - start;
    uint64_t wrong = wrong_rows(&d, begin, count);
    const char *touched = gpu_decode_touched(&d);
    CHECK(wrong == 0, "rows %llu + %llu: %llu are wrong", (ull)begin, (ull)count, (ull)wrong);
    CHECK(touched == NULL, "rows %llu + %llu: a canary of %s was touched", (ull)begin, (ull)count, touched);
    *launches = stats.launches;
    gpu_decode_close(&d);
    return seconds;
}

/// The same into the host's memory.
static void decode_to_host(zf_container *container, uint64_t begin, uint64_t count) {
    zf_error error;
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count};
    void *values = aligned_alloc(64, count * element() / 64 * 64 + 64);
    memset(values, 0xa5, count * element());
    zf_decode_buffers buffers = {.values = values, .values_bytes = count * element()};
    must(zf_decode(container, 0, machine.device, &options, &buffers, NULL, &error), &error, "decoding to the host");
    uint64_t wrong = gpu_column_wrong(column, begin, count, 0, values, 0, machine.threads);
    CHECK(wrong == 0, "rows %llu + %llu, to the host: %llu are wrong", (ull)begin, (ull)count, (ull)wrong);
    free(values);
}

static void test_ranges(zf_container *container, uint64_t rows) {
    // Around 2^32 bytes and 2^32 rows, where the column is as long, else around its middle; and at its end.
    const uint64_t places[] = {(UINT64_C(1) << 32) / element(), UINT64_C(1) << 32, rows / 2, rows};
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
        if (places[p] > rows) continue;
        uint64_t count = rows < RANGE ? rows : RANGE, before = places[p] == rows ? count : count / 2 + 3, launches;
        uint64_t begin = places[p] > before ? places[p] - before : 0;
        if (begin + count > rows) count = rows - begin;
        decode_rows(container, begin, count, &launches);
        decode_to_host(container, begin, count);
        if (places[p] + 77 + 4096 <= rows) decode_rows(container, places[p] + 77, 4096, &launches); // all of it beyond
        range_count++;
    }
}

int main(int argc, char **argv) {
    const char *device = "emu", *name = "thin_u8";
    uint64_t bytes = 1 << 20, block_bytes = 16 << 20;
    const gpu_option options[] = {{"device", NULL, &device},
                                  {"column", NULL, &name},
                                  {"bytes", &bytes, NULL},
                                  {"block", &block_bytes, NULL},
                                  {"piece", &piece_bytes, NULL},
                                  {"canary", &canary, NULL},
                                  {0}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    column = gpu_column_find(name);
    if (column == NULL || column->bits < 8) {
        fprintf(stderr, "no column %s of whole bytes\n", name);
        return 2;
    }
    double start = gpu_seconds();
    zf_error error = {0};
    zf_container *container = NULL;
    struct stat status;
    char table[64], path[300];
    uint64_t rows = bytes / element(), launches, block = (block_bytes / element() + 4095) / 4096 * 4096;
    snprintf(table, sizeof table, "large_%s", name);
    gpu_machine_open(&machine, device, false);
    snprintf(path, sizeof path, "%s", gpu_machine_path(&machine, "large.zfd"));
    must(gpu_encode(&machine, table, rows, block, 0, path, &error), &error, "encoding");
    double encoded = gpu_seconds();
    must(zf_container_open(machine.context, path, &container, &error), &error, path);
    double seconds = decode_rows(container, 0, rows, &launches);
    double decoded = gpu_seconds();
    test_ranges(container, rows);
    uint64_t stored = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    printf("{\"program\": \"gpu_large\", \"device\": \"%s\", \"column\": \"%s\", \"rows\": %llu, \"plain_bytes\": %llu, "
           "\"file_bytes\": %llu, \"blocks\": %llu, \"launches\": %llu, \"ranges\": %llu, \"encode_seconds\": %.2f, "
           "\"decode_seconds\": %.4f, \"decode_and_verify_seconds\": %.2f, \"seconds\": %.2f, \"failures\": %d}\n",
           device, name, (ull)rows, (ull)(rows * element()), (ull)stored, (ull)((rows + block - 1) / block), (ull)launches,
           (ull)range_count, encoded - start, seconds, decoded - encoded, gpu_seconds() - start, check_failures);
    zf_container_close(container);
    gpu_machine_close(&machine);
    return check_result();
}
