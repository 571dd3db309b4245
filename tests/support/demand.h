// For what a test cannot go on without.
#ifndef ZF_TESTS_DEMAND_H
#define ZF_TESTS_DEMAND_H

#include <stdlib.h>

#include "tests/unit/check.h"
#include "zipflow/zipflow.h"

/// Ends the test, which has failed, unless `status` is ZF_OK.
static inline void demand(zf_status status, const zf_error *error) {
    CHECK(status == ZF_OK, "%s %s (%s)", error->code, error->message, error->place);
    if (status != ZF_OK) exit(check_result());
}

#endif
