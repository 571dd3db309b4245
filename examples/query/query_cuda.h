// Queries on an NVIDIA GPU: memory, a stream, and the kernels of query.cu, by CUDA's driver, which is loaded when the program
// runs. Functions that can fail print why, and return false or NULL.
#ifndef QUERY_CUDA_H
#define QUERY_CUDA_H

#include <stdbool.h>

#include "query_rows.h"

typedef struct query_gpu query_gpu;

/// GPU 0, which zipflow calls "cuda"; kernels from `query.ptx` beside the program.
query_gpu *query_gpu_open(void);
void query_gpu_close(query_gpu *gpu);
/// The stream that kernels run on: a CUstream of the primary context, as zf_batch_follow wants it.
void *query_gpu_stream(query_gpu *gpu);
/// Memory of the device, freed with `gpu`.
bool query_gpu_allocate(query_gpu *gpu, uint64_t bytes, uint64_t *address);
/// Queues a step behind what is on the stream, and returns. `columns` has addresses of the device.
bool query_gpu_run(query_gpu *gpu, const char *step, const query_columns *columns);
/// Waits for the stream, and gives what the steps added up.
bool query_gpu_sums(query_gpu *gpu, query_sums *out);

#endif
