// The steps of query_rows.h as kernels, one each: (columns, sums). Compiled to PTX, which query_cuda.c loads and launches.
//
// A thread adds up in registers, a thread block in shared memory, and all blocks in `sums`, by atomic additions: of integers, so
// that the answer does not depend on their order.
#include "query_rows.h"

#ifdef __cplusplus
#define QUERY_KERNEL extern "C" __global__
#else
#define QUERY_KERNEL __global__ // tests compile this file as C, with threads of their own
#endif

typedef query_added (*query_row)(const query_columns *, uint64_t);

/// Every thread takes each `gridDim.x * blockDim.x`-th row.
__device__ __forceinline__ void add_rows(query_row row_of, const query_columns *columns, query_sums *sums, unsigned first,
                                         unsigned second) {
    __shared__ query_parts shared[QUERY_GROUPS * 2];
    query_sum mine[QUERY_GROUPS * 2];
    for (unsigned i = threadIdx.x; i < QUERY_GROUPS * 2; i += blockDim.x) shared[i].low = shared[i].middle = shared[i].high = 0;
#pragma unroll
    for (unsigned i = 0; i < QUERY_GROUPS * 2; i++) mine[i] = 0;
    __syncthreads();
    uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t row = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; row < columns->rows; row += stride) {
        query_added added = row_of(columns, row);
#pragma unroll
        for (unsigned g = 0; g < QUERY_GROUPS; g++) { // every index is a constant, so that sums stay in registers
            mine[2 * g] += g == added.group ? added.first : 0;
            mine[2 * g + 1] += g == added.group ? added.second : 0;
        }
    }
#pragma unroll
    for (unsigned i = 0; i < QUERY_GROUPS * 2; i++) {
        if (mine[i] == 0) continue;
        atomicAdd(&shared[i].low, (unsigned long long)mine[i] & 0xffffffff);
        atomicAdd(&shared[i].middle, (unsigned long long)mine[i] >> 32);
        atomicAdd(&shared[i].high, (unsigned long long)(mine[i] >> 64));
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < QUERY_GROUPS * 2; i += blockDim.x) {
        if (i % 2 == 1 && first == second) continue; // the step adds to one kind
        query_parts *to = &sums->of[i / 2][i % 2 == 0 ? first : second];
        unsigned long long middle = shared[i].middle + (shared[i].low >> 32);
        atomicAdd(&to->low, shared[i].low & 0xffffffff);
        atomicAdd(&to->middle, middle & 0xffffffff);
        atomicAdd(&to->high, shared[i].high + (middle >> 32));
    }
}

#define KERNEL(name, query, needs, first_kind, second_kind)                                                                      \
    QUERY_KERNEL void __launch_bounds__(256) name(query_columns columns, query_sums *sums) {                                     \
        add_rows(name##_row, &columns, sums, first_kind, second_kind);                                                           \
    }
QUERY_STEPS(KERNEL)
