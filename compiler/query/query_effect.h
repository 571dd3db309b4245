// Whether rows can change a result of a query, or fail one of its checks: interval analysis of the statements of a row.
#ifndef ZF_COMPILER_QUERY_EFFECT_H
#define ZF_COMPILER_QUERY_EFFECT_H

#include "codegen/codegen_query.h"
#include "runtime/base/private.h"

/// A query with the values that hold for all rows. They live as long as it.
typedef struct zf_query_effect {
    const zf_query *query;
    const uint64_t *params;         ///< by slot
    const zf_query_stream *inputs;  ///< by slot; no `values`: they are not in the host's memory
    struct zf_effect_local *locals; ///< of the statements, by id
    uint32_t *present;              ///< by column: conditions around the place that say that it is not null
} zf_query_effect;

/// Makes room. False: no memory. Call zf_query_effect_close in any case.
ZF_PRIVATE_API bool zf_query_effect_open(const zf_query *query, const uint64_t *params, const zf_query_stream *inputs,
                                         zf_query_effect *out);
ZF_PRIVATE_API void zf_query_effect_close(zf_query_effect *effect);

/// Whether one of the rows begin .. end - 1 of the table may change a result or fail a check. True wherever it is not known.
///
/// `zones`: by column of the query, what a zone that has all of the rows holds; NULL: nothing is known of the column. One thread
/// at a time.
ZF_PRIVATE_API bool zf_query_may_matter(zf_query_effect *effect, uint64_t begin, uint64_t end, const zf_zone *const *zones);

#endif
