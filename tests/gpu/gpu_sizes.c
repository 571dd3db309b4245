// Every form of kernel that makes numbers, on an accelerator, at sizes around each of its edges: none, one, a vector, a warp, a
// tile, a block, several blocks; whole columns and ranges of rows, over poisoned memory between canaries. And the launches of a
// column, which are as many for 50 blocks as for one.
//   gpu_sizes --device emu|cuda --general 0|1 --sizes all|few --canary BYTES
#include <stdlib.h>
#include <string.h>

#include "emulator/emu.h"
#include "tests/gpu/gpu_decode.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

/// A block holds the largest tile (16384 elements of one byte), and a part of another.
enum { BLOCK = 5 * 4096, COUNTED_BLOCK = 4096, COUNTED_BLOCKS = 50 };

static const uint64_t sizes[] = {0,    1,    2,     31,    32,    33,        127,   128,       129,       255,          256,
                                 257,  1023, 1024,  1025,  2047,  2048,      2049,  4095,      4096,      4097,         8191,
                                 8192, 8193, 16383, 16384, 16385, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 3 * BLOCK + 5};
enum { SIZES = sizeof sizes / sizeof sizes[0], FEW = 5 };

static gpu_machine machine;
static const gpu_column *columns;
static size_t column_count;
static uint64_t launches[64][2]; ///< of each column, for one block and for many
static uint64_t canary = 4096, decodes, ranges, rows_decoded, seed;

static void decode_rows(zf_container *container, size_t c, uint64_t begin, uint64_t count, uint64_t period,
                        zf_decode_stats *stats) {
    gpu_decode d;
    zf_error error = {0};
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count};
    if (machine.emulated) zf_emu_set_seed(machine.accelerator, seed++ % 8);
    zf_status status = gpu_decode_open(&machine, container, c, &options, canary, NULL, &d, &error);
    if (status == ZF_OK) status = gpu_decode_queue(&d, &error);
    if (status == ZF_OK) status = gpu_decode_wait(&d, stats, &error);
    if (status == ZF_OK) status = gpu_decode_fetch(&d, &error);
    CHECK(status == ZF_OK, "column %s, rows %llu + %llu: %s %s (%s)", columns[c].name, (ull)begin, (ull)count, error.code,
          error.message, error.place);
    if (status == ZF_OK) {
        uint64_t bits = columns[c].bits, skip = bits == 1 ? d.sizes.skip : d.sizes.skip / (bits / 8);
        uint64_t wrong = gpu_column_wrong(&columns[c], begin, count, period, d.copy, skip, 1);
        const char *touched = gpu_decode_touched(&d);
        CHECK(wrong == 0, "column %s, rows %llu + %llu: %llu are wrong", columns[c].name, (ull)begin, (ull)count, (ull)wrong);
        CHECK(touched == NULL, "column %s, rows %llu + %llu: a canary of %s was touched", columns[c].name, (ull)begin, (ull)count,
              touched);
    }
    decodes++;
    rows_decoded += count;
    gpu_decode_close(&d);
}

static zf_container *encode_and_open(const char *path, uint64_t rows, uint64_t block, uint64_t period) {
    zf_error error = {0};
    zf_container *container = NULL;
    zf_status status = gpu_encode(&machine, "forms", rows, block, period, path, &error);
    if (status == ZF_OK) status = zf_container_open(machine.context, path, &container, &error);
    CHECK(status == ZF_OK, "%llu rows: %s %s (%s)", (ull)rows, error.code, error.message, error.place);
    if (status != ZF_OK) exit(check_result());
    return container;
}

static void test_sizes(bool few) {
    // The file with most branches taken is first, and serves the others with code.
    char path[300];
    snprintf(path, sizeof path, "%s", gpu_machine_path(&machine, "model.zfd"));
    zf_container_close(encode_and_open(path, 3 * BLOCK + 5, BLOCK, 0));
    gpu_model_open(&machine, path);
    for (unsigned s = 0; s < SIZES; s++) {
        if (few && s % FEW != 1) continue;
        zf_container *container = encode_and_open(gpu_machine_path(&machine, "sizes.zfd"), sizes[s], BLOCK, 0);
        for (size_t c = 0; c < column_count; c++) {
            zf_decode_stats stats = {0};
            decode_rows(container, c, 0, sizes[s], 0, &stats);
            uint64_t blocks = (sizes[s] + BLOCK - 1) / BLOCK;
            CHECK(stats.blocks_read == blocks && (stats.launches > 0) == (blocks > 0), "%llu rows: %llu blocks, %llu launches",
                  (ull)sizes[s], (ull)stats.blocks_read, (ull)stats.launches);
        }
        zf_container_close(container);
    }
}

static void test_ranges(bool few) {
    static const uint64_t edges[] = {0,     1,         1023,  1025,      4096,          16383,
                                     16385, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7, 3 * BLOCK + 5};
    enum { EDGES = sizeof edges / sizeof edges[0] };
    zf_container *container = encode_and_open(gpu_machine_path(&machine, "ranges.zfd"), 3 * BLOCK + 5, BLOCK, 0);
    for (size_t c = 0; c < column_count; c++) {
        for (unsigned a = 0; a < EDGES; a++) {
            for (unsigned b = a; b < EDGES; b++) {
                if ((a * EDGES + b + c) % (few ? 16 : 4) != 0) continue;
                zf_decode_stats stats = {0};
                decode_rows(container, c, edges[a], edges[b] - edges[a], 0, &stats);
                ranges++;
            }
        }
    }
    zf_container_close(container);
}

static void test_launches(void) {
    zf_container *one = encode_and_open(gpu_machine_path(&machine, "one.zfd"), COUNTED_BLOCK, COUNTED_BLOCK, 0);
    zf_container *many =
        encode_and_open(gpu_machine_path(&machine, "many.zfd"), COUNTED_BLOCKS * COUNTED_BLOCK, COUNTED_BLOCK, COUNTED_BLOCK);
    for (size_t c = 0; c < column_count; c++) {
        zf_decode_stats of_one = {0}, of_many = {0};
        decode_rows(one, c, 0, COUNTED_BLOCK, 0, &of_one);
        decode_rows(many, c, 0, COUNTED_BLOCKS * COUNTED_BLOCK, COUNTED_BLOCK, &of_many);
        launches[c][0] = of_one.launches, launches[c][1] = of_many.launches;
        CHECK(of_one.launches == of_many.launches && of_one.launches == of_one.kernels && of_many.blocks_read == COUNTED_BLOCKS,
              "column %s: %llu launches for a block, %llu for %llu blocks, %llu kernels", columns[c].name, (ull)of_one.launches,
              (ull)of_many.launches, (ull)of_many.blocks_read, (ull)of_one.kernels);
    }
    zf_container_close(one);
    zf_container_close(many);
}

int main(int argc, char **argv) {
    const char *device = "emu", *which = "all";
    uint64_t general = 0;
    const gpu_option options[] = {
        {"device", NULL, &device}, {"general", &general, NULL}, {"sizes", NULL, &which}, {"canary", &canary, NULL}, {0}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    double begin = gpu_seconds();
    bool few = strcmp(which, "few") == 0;
    columns = gpu_columns(&column_count);
    gpu_machine_open(&machine, device, general != 0);
    test_sizes(few);
    test_ranges(few);
    test_launches();
    printf("{\"launches_for_1_and_%d_blocks\": {", COUNTED_BLOCKS);
    for (size_t c = 0; c < column_count; c++)
        printf("%s\"%s\": [%llu, %llu]", c > 0 ? ", " : "", columns[c].name, (ull)launches[c][0], (ull)launches[c][1]);
    printf("}, \"program\": \"gpu_sizes\", \"device\": \"%s\", \"general\": %s, \"columns\": %zu, \"decodes\": %llu, \"ranges\": "
           "%llu, "
           "\"rows\": %llu, \"seconds\": %.2f, \"failures\": %d}\n",
           device, general != 0 ? "true" : "false", column_count, (ull)decodes, (ull)ranges, (ull)rows_decoded,
           gpu_seconds() - begin, check_failures);
    gpu_machine_close(&machine);
    return check_result();
}
