// SSB's query 1 over a file of lineorder, by the kernel of q1.cu.
//
//   tile_kernel IMAGE LINEORDER.zfd MODULE.zfm REPEAT FIRST_DAY LAST_DAY LEAST_DISCOUNT MOST_DISCOUNT LEAST_QUANTITY
//   MOST_QUANTITY
//
// IMAGE is q1.cu as nvcc made it, with a header for this file. MODULE has code for what zipflow decodes itself, so that the
// program needs no compiler. Prints the revenue, and the seconds of each run on the GPU.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zipflow/zipflow.h>

#include "q1.h"
#include "tile_gpu.h"

enum { MOST_RUNS = 1000 };

typedef struct query {
    zf_context *context;
    zf_module *module;
    zf_container *container;
    zf_prepared_tiles *tiles[Q1_COLUMNS];
    zf_tile_column columns[Q1_COLUMNS]; // as the kernel has them
    uint64_t sums;                      // of the device
    zf_error error;
} query;

static bool failed(const query *q) {
    fprintf(stderr, "tile_kernel: %s: %s: %s\n", q->error.code, q->error.place, q->error.message);
    if (q->error.hint[0] != 0) fprintf(stderr, "  %s\n", q->error.hint);
    return false;
}

static bool read_keys(query *q, gpu *g, char *keys, size_t bytes) {
    uint64_t at = 0;
    double seconds;
    void *arguments[] = {&at};
    if (zf_device_allocate(q->context, "cuda", NULL, bytes, &at, &q->error) != ZF_OK) return failed(q);
    bool done = gpu_run(g, "q1_keys", 1, Q1_THREADS, arguments, 1, NULL, NULL, &seconds);
    if (done) done = zf_device_copy_out(q->context, "cuda", NULL, keys, at, bytes, &q->error) == ZF_OK || failed(q);
    zf_device_release(q->context, "cuda", NULL, at);
    return done;
}

// The image says which codes its loaders are for; zipflow checks that the file has them, and copies its blocks to the GPU.
static bool open_columns(query *q, gpu *g, const char *file, const char *module) {
    static char keys[Q1_COLUMNS][Q1_KEY_BYTES];
    if (zf_context_create(NULL, &q->context, &q->error) != ZF_OK ||
        zf_module_load(q->context, module, &q->module, &q->error) != ZF_OK ||
        zf_container_open(q->context, file, &q->container, &q->error) != ZF_OK)
        return failed(q);
    if (!read_keys(q, g, keys[0], sizeof keys)) return false;
    for (unsigned k = 0; k < Q1_COLUMNS; k++) {
        keys[k][Q1_KEY_BYTES - 1] = 0;
        if (zf_tiles_prepare(q->container, keys[k], "cuda", &q->tiles[k], &q->error) != ZF_OK ||
            zf_tiles_column(q->tiles[k], &q->columns[k], &q->error) != ZF_OK)
            return failed(q);
    }
    return zf_device_allocate(q->context, "cuda", NULL, sizeof(q1_sums), &q->sums, &q->error) == ZF_OK || failed(q);
}

static void close_columns(query *q) {
    if (q->sums != 0) zf_device_release(q->context, "cuda", NULL, q->sums);
    for (unsigned k = 0; k < Q1_COLUMNS; k++) zf_tiles_free(q->tiles[k]);
    zf_container_close(q->container);
    zf_module_free(q->module);
    zf_context_free(q->context);
}

static bool clear_sums(void *user) {
    query *q = user;
    q1_sums zero = {0, 0};
    return zf_device_copy_in(q->context, "cuda", NULL, q->sums, &zero, sizeof zero, &q->error) == ZF_OK || failed(q);
}

static bool run(query *q, gpu *g, q1_params *params, unsigned repeat) {
    static double seconds[MOST_RUNS];
    void *arguments[] = {q->columns, params, &q->sums};
    q1_sums sums;
    if (!gpu_run(g, "q1", Q1_BLOCKS_EACH, Q1_THREADS, arguments, repeat, clear_sums, q, seconds)) return false;
    if (zf_device_copy_out(q->context, "cuda", NULL, &sums, q->sums, sizeof sums, &q->error) != ZF_OK) return failed(q);
    if (sums.failed != 0) return fprintf(stderr, "tile_kernel: the file is damaged\n"), false;
    printf("{\"revenue\": %llu, \"seconds\": [", sums.revenue);
    for (unsigned k = 0; k < repeat; k++) printf("%s%.9f", k > 0 ? ", " : "", seconds[k]);
    printf("]}\n");
    return true;
}

static bool read_number(const char *text, long least, long most, int *out) {
    char *end;
    long value = strtol(text, &end, 10);
    *out = (int)value;
    return *text != 0 && *end == 0 && value >= least && value <= most;
}

int main(int argc, char **argv) {
    q1_params params;
    int repeat, *numbers[] = {&params.first_day,     &params.last_day,       &params.least_discount,
                              &params.most_discount, &params.least_quantity, &params.most_quantity};
    bool given = argc == 11 && read_number(argv[4], 1, MOST_RUNS, &repeat);
    for (int k = 0; k < 6 && given; k++) given = read_number(argv[5 + k], -100000000, 100000000, numbers[k]);
    if (!given) {
        fprintf(stderr,
                "usage: tile_kernel IMAGE LINEORDER.zfd MODULE.zfm REPEAT FIRST_DAY LAST_DAY LEAST_DISCOUNT MOST_DISCOUNT "
                "LEAST_QUANTITY MOST_QUANTITY\n");
        return 2;
    }
    query q = {.module = NULL};
    gpu *g = gpu_open(argv[1]);
    bool done = g != NULL && open_columns(&q, g, argv[2], argv[3]) && run(&q, g, &params, (unsigned)repeat);
    close_columns(&q);
    gpu_close(g);
    return done ? 0 : 1;
}
