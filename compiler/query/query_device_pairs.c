// The pairs of a query on an accelerator: its kernels know a pair by its number among all.
#include <pthread.h>
#include <stdlib.h>

#include "compiler/compiler.h"
#include "compiler/program.h"
#include "compiler/query/query_device.h"
#include "runtime/base/error_codes.h"

static zf_status make(zf_query_pairs *p, const zf_query_running *r, zf_error *error) {
    if (p->function != NULL) return ZF_OK;
    pthread_mutex_lock(&r->program->lock);
    zf_status status = zf_codegen_query_bounds(zf_compiler_jit(r->program->compiler), r->query, &p->function, &p->code, error);
    pthread_mutex_unlock(&r->program->lock);
    return status;
}

static zf_status refuse_many(const zf_query_running *r, zf_error *error) {
    return zf_raise(error, ZF_E_TOO_LARGE, "`%s` has more pairs than a device runs: 2^26 first numbers, 2^62 pairs",
                    r->query->name);
}

zf_status zf_query_pairs_find(zf_query_pairs *p, const zf_query_running *r, bool *failed, zf_error *error) {
    ZF_TRY(make(p, r, error));
    p->domain.first = p->domain.count = p->domain.pairs = 0;
    zf_query_frame frame = {.streams = r->streams, .params = r->params, .held = r->holding.held, .domain = &p->domain};
    p->function(&frame);
    *failed = frame.violation != 0;
    if (frame.violation == ZF_QUERY_TOO_MANY) return refuse_many(r, error);
    if (frame.violation == ZF_QUERY_NO_MEMORY) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the pairs of a query");
    return ZF_OK;
}

uint64_t zf_query_pairs_first(const zf_query_pairs *p, uint64_t number) {
    uint64_t low = 0, high = p->domain.count;
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;
        if (p->domain.rows[middle].before <= number)
            low = middle;
        else
            high = middle;
    }
    return p->domain.first + low;
}

void zf_query_pairs_free(zf_query_pairs *p, zf_program *program) {
    if (p->code != NULL) zf_jit_unload(zf_compiler_jit(program->compiler), p->code);
    free(p->domain.rows);
}
