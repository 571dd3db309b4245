// The rows of a batch on several threads of a CPU: each worker has results of its own, which are joined in the end. Sums of
// floats and selected rows depend on the order of rows: they are kept by slices of the batch and joined in their order.
#ifndef ZF_COMPILER_QUERY_THREADS_H
#define ZF_COMPILER_QUERY_THREADS_H

#include "compiler/query/query_running.h"

typedef struct zf_query_workers zf_query_workers;

/// Makes workers for a query over rows, behind zf_query_hold. `*out` is NULL where one thread runs it: there is no other, or
/// results are so large that each worker cannot have its own.
zf_status zf_query_workers_open(zf_query_running *running, zf_query_workers **out, zf_error *error);
/// Runs rows begin .. end - 1, which are those of the streams from row 0 on. Batches follow each other. The first row that fails
/// is reported.
zf_status zf_query_workers_run(zf_query_workers *workers, uint64_t begin, uint64_t end, zf_error *error);
/// Joins what the workers have with the results that are held. False: an element of a `set` has values of several workers.
bool zf_query_workers_join(zf_query_workers *workers);
/// NULL: nothing.
void zf_query_workers_close(zf_query_workers *workers);

#endif
