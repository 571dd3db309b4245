// A CUDA driver (tests/support/fake_cuda.c) that runs the kernels of examples/query as C, a thread of the host for each of a
// thread block. Kernels that decode do nothing there: what they would leave in a column is read from files of $QUERY_PLAIN, when
// a step of the query is launched that needs it. A step that follows fewer columns than it needs ends the process.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda.h"

typedef struct dimension {
    unsigned x;
} dimension;
static dimension blockDim, gridDim;
static _Thread_local dimension blockIdx, threadIdx;
static pthread_barrier_t barrier;

#define __device__ static
#define __global__ static
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(threads)
#define __syncthreads() pthread_barrier_wait(&barrier)
#define atomicAdd(at, value) __atomic_fetch_add(at, value, __ATOMIC_RELAXED)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "examples/query/query.cu"
#pragma GCC diagnostic pop

static const struct kernel {
    const char *name;
    unsigned needs;
    void (*run)(query_columns columns, query_sums *sums);
} kernels[] = {
#define ROW(name, query, needs, first_kind, second_kind) {#name, needs, name},
    QUERY_STEPS(ROW)
#undef ROW
};

static struct {
    const struct kernel *kernel;
    query_columns columns;
    query_sums *sums;
} launched;

static void stop(const char *why, const char *name) {
    fprintf(stderr, "query_driver: %s: %s\n", name, why);
    _Exit(9);
}

static void *thread_of_block(void *index) {
    threadIdx.x = (unsigned)(uintptr_t)index;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
        launched.kernel->run(launched.columns, launched.sums);
        pthread_barrier_wait(&barrier); // the next block has the same shared memory
    }
    return NULL;
}

static void fill(const void *column, const char *file, uint64_t rows, size_t bytes) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("QUERY_PLAIN"), file);
    FILE *plain = fopen(path, "rb");
    void *at = (void *)(uintptr_t)column;
    if (plain == NULL || fread(at, bytes, rows, plain) != rows) stop("cannot be read", path);
    fclose(plain);
}

static _Thread_local unsigned followed;
static void called(const char *symbol) {
    if (strcmp(symbol, "cuStreamWaitEvent") == 0) followed++;
}

static void run(const char *name, unsigned groups, unsigned threads, void **arguments) {
    const struct kernel *kernel = NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (strcmp(kernels[i].name, name) == 0) kernel = &kernels[i];
    }
    if (kernel == NULL) return; // it decodes, by another thread
    launched.kernel = kernel;
    launched.columns = *(const query_columns *)arguments[0];
    launched.sums = *(query_sums **)arguments[1];
    const query_columns *c = &launched.columns;
    unsigned needs = kernel->needs;
    if (followed < (unsigned)__builtin_popcount(needs)) stop("does not follow all of its columns", name);
    followed = 0;
    if ((needs & QUERY_BIT(COLUMN_DATE)) != 0) fill(c->date, "l_shipdate.date32", c->rows, 4);
    if ((needs & QUERY_BIT(COLUMN_FLAG)) != 0) fill(c->flag, "l_returnflag.u8", c->rows, 1);
    if ((needs & QUERY_BIT(COLUMN_STATUS)) != 0) fill(c->status, "l_linestatus.u8", c->rows, 1);
    if ((needs & QUERY_BIT(COLUMN_QUANTITY)) != 0) fill(c->quantity, "l_quantity.decimal", c->rows, 8);
    if ((needs & QUERY_BIT(COLUMN_DISCOUNT)) != 0) fill(c->discount, "l_discount.decimal", c->rows, 8);
    if ((needs & QUERY_BIT(COLUMN_PRICE)) != 0) fill(c->price, "l_extendedprice.decimal", c->rows, 8);
    if ((needs & QUERY_BIT(COLUMN_TAX)) != 0) fill(c->tax, "l_tax.decimal", c->rows, 8);
    pthread_t ids[1024];
    blockDim.x = threads;
    gridDim.x = groups;
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned t = 0; t < threads; t++) {
        if (pthread_create(&ids[t], NULL, thread_of_block, (void *)(uintptr_t)t) != 0) stop("no thread", name);
    }
    for (unsigned t = 0; t < threads; t++) pthread_join(ids[t], NULL);
    pthread_barrier_destroy(&barrier);
}

__attribute__((constructor)) static void begin(void) {
    extern zf_fake_cuda zf_fake_cuda_state;
    zf_fake_cuda_state.multiprocessors = 2; // few thread blocks, each with many rows
    zf_fake_cuda_state.kernel = run;
    zf_fake_cuda_state.called = called;
}
