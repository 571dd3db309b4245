// A prepared query: what it runs with, and the results of its last run.
#ifndef ZF_COMPILER_QUERY_PREPARED_H
#define ZF_COMPILER_QUERY_PREPARED_H

#include "compiler/query/query_running.h"

struct zf_prepared_query {
    zf_query_running running;
    zf_query_request request;    ///< as it was prepared
    zf_accelerator *accelerator; ///< that runs it; NULL: the CPU
    zf_query_device *device;     ///< its columns there
    zf_query_answers answers;    ///< of the last run
    bool ran;                    ///< there are answers
    bool nothing_read;           ///< no row of the last run could matter: its results are on the host alone
};

/// Gives a result of the last run its final form, on the host.
zf_status zf_query_finish(zf_prepared_query *query, size_t result, zf_error *error);

#endif
